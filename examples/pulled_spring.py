"""A steel spring of three turns, clamped below and pulled up by its free end: the grid beside elements of degree 3.

Its height under the force converges with the square of the number of segments on the staggered grid, with the sixth
power of the number of elements at their ends. Between nodes an element is a polynomial: drawn here at 200 points.
Run: python examples/pulled_spring.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gyrod as gd

RADIUS, TURNS, RISE, WIRE = 0.02, 3, 0.03, 1e-3  # m
FORCE = 20.0  # N, up


def spring(force: float = FORCE, **mesh: Any) -> gd.System:
    """A helix of wire about the z axis; ``mesh`` are segments, degree."""
    slope = RISE / (2.0 * np.pi * TURNS)  # rise over an angle of 1 rad
    reach = np.hypot(RADIUS, slope)
    tangent, inwards = np.array([0.0, RADIUS, slope]) / reach, np.array([-1.0, 0.0, 0.0])
    rod = gd.Rod(
        "spring",
        length=2.0 * np.pi * TURNS * reach,
        section=gd.Circle(radius=WIRE),
        material=gd.Material(young=2.1e11, poisson=0.3, density=7850),
        start=gd.Clamped(),
        initial=gd.Bent(
            (0.0, RADIUS / reach**2, slope / reach**2),
            (RADIUS, 0.0, 0.0),
            np.stack([inwards, np.cross(tangent, inwards), tangent], axis=1),
        ),
        **mesh,
    )
    return gd.System(rods=[rod], forces=[gd.RodLoad("spring", force=(0.0, 0.0, force))], gravity=(0, 0, 0))


def height(**mesh: Any) -> float:
    """Of the free end at rest, m."""
    return float(gd.equilibrium(spring(**mesh))["spring"].positions[-1, 2])


def run() -> tuple[float, dict[str, dict[int, float]]]:
    """The height in the limit, and errors by the number of segments or elements."""
    exact = height(degree=4, segments=24)
    return exact, {
        "segments": {n: height(segments=n) - exact for n in (30, 60, 120, 240)},
        "elements": {n: height(degree=3, segments=n) - exact for n in (6, 8, 12, 16)},
    }


def shape(force: float) -> NDArray[np.float64]:
    """The wire at rest at 200 points, in mm, from eight elements."""
    system = spring(force, degree=3, segments=8)
    mesh = system.rods[0].mesh
    s = np.linspace(0.0, 1.0, 200)
    return 1e3 * mesh.interpolate(*mesh.vertex_at(s), gd.equilibrium(system)["spring"].positions)


def main(folder: str = "demo") -> None:
    """Print the errors, draw the spring and how they fall."""
    from matplotlib.figure import Figure

    exact, errors = run()
    print(f"height under {FORCE:g} N: {1e3 * exact:.4f} mm, {1e3 * RISE:g} mm without")
    for what, found in errors.items():
        print(f"{what}: " + ", ".join(f"{n}: {1e3 * e:+.1e} mm" for n, e in found.items()))
    figure = Figure(figsize=(8.0, 3.8), layout="constrained")
    left, right = figure.add_subplot(121, projection="3d"), figure.add_subplot(122)
    for force, colour in ((0.0, "0.6"), (0.5 * FORCE, "C0"), (FORCE, "C1")):
        left.plot(*shape(force).T, color=colour, lw=1.8, label=f"{force:g} N")
    left.set(xlabel="x [mm]", ylabel="y [mm]", zlabel="z [mm]", aspect="equal")
    left.legend(frameon=False, fontsize=8, loc="upper left")
    for (what, found), nodes, colour in zip(errors.items(), (1, 3), ("k", "C3"), strict=True):
        label = what if nodes == 1 else f"{what} of degree {nodes}"
        right.loglog(
            [nodes * n for n in found], [1e3 * abs(e) for e in found.values()], "o-", color=colour, label=label
        )
    right.set(xlabel="nodes", ylabel="error of the height [mm]", xlim=(15, 300))
    right.set_xticks([20, 50, 100, 200], ["20", "50", "100", "200"])
    right.set_xticks([], minor=True)
    right.legend(frameon=False, fontsize=8)
    file = Path(folder) / "pulled_spring.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
