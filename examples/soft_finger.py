"""A soft finger that a tendon curls: a constant moment makes a circle.

A string under the tension T at the distance e from the axis bends a rod by the moment T e everywhere. Between guides,
l apart, the string is straight and the rod bulges away from it, which adds T l²/12 to the curvature's share of the
moment: the curvature is T e/(EI - T l²/12). Run: python examples/soft_finger.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gyrod as gd

LENGTH, RADIUS, OFFSET = 0.12, 8e-3, 6e-3  # m
PULL, GUIDES = 10.0, 20  # N; an element between two guides
SILICONE = gd.Material(young=1e6, poisson=0.49, density=1070)


def finger() -> gd.System:
    """The finger, pointing up, with a tendon through guides on the side of d1; its weight is left out."""
    rod = gd.Rod(
        "finger",
        LENGTH,
        GUIDES,
        gd.Circle(radius=RADIUS),
        SILICONE,
        start=gd.Clamped(),
        initial=gd.Straight((0, 0, 0), (0, 0, LENGTH)),
        degree=3,
    )
    guides = [(k / GUIDES, (OFFSET, 0.0)) for k in range(GUIDES + 1)]
    return gd.System(rods=[rod], forces=[gd.Tendon("finger", guides, tension=PULL)], gravity=(0, 0, 0))


def run() -> gd.Path:
    """The finger while the tension grows from 0 to PULL."""
    return gd.follow(finger(), "load", np.linspace(0.0, 1.0, 6))


def curvature(path: gd.Path) -> NDArray[np.float64]:
    """Mean curvature in 1/m between a tenth and nine tenths of the length, away from both ends, (n,)."""
    frames = path["finger"].vertex_quaternions
    tenth = (frames.shape[1] - 1) // 10
    turn = gd.rotations.distance(frames[:, tenth], frames[:, -1 - tenth])
    return np.asarray(turn / (0.8 * LENGTH))


def expected(tension: NDArray[np.float64]) -> NDArray[np.float64]:
    """The formula above."""
    EI = SILICONE.young * 0.25 * np.pi * RADIUS**4
    return np.asarray(tension * OFFSET / (EI - tension * (LENGTH / GUIDES) ** 2 / 12.0))


def main(folder: str = "demo") -> None:
    """Print the curvatures and draw the shapes."""
    from matplotlib.figure import Figure

    path = run()
    tension, found = PULL * path.value, curvature(path)
    for T, here, formula in zip(tension, found, expected(tension), strict=True):
        print(f"tension {T:6.3f} N   curvature {here:8.4f} 1/m   formula {formula:8.4f} 1/m")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for value in np.linspace(0.0, 1.0, 6):
        x = 1e3 * path.at(value)["finger"].positions
        left.plot(x[:, 0], x[:, 2], color="C0", lw=3.0, alpha=0.25 + 0.75 * value, solid_capstyle="butt")
        left.annotate(f"{PULL * value:g} N", x[-1, [0, 2]], (4, 2), textcoords="offset points", fontsize=8)
    left.set(title="finger under the tension of its tendon", xlabel="x [mm]", ylabel="z [mm]", aspect="equal")
    left.margins(0.12, 0.08)
    right.plot(tension, expected(tension), "k-", lw=0.8, label="closed form")
    right.plot(tension, found, "C0o", ms=4, label="gyrod")
    right.set(title="curvature", xlabel="tension [N]", ylabel="curvature [1/m]")
    right.legend(frameon=False)
    file = Path(folder) / "soft_finger.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
