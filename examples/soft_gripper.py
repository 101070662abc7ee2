"""Two soft fingers wrap a cylinder: tendons close them, and then press their tips on.

A tendon under the tension T at the distance e from the axis bends a finger to a circle: between guides, l apart, its
curvature is T e/B' with B' = EI - T l^2/12, and as the finger is shorter by the factor c = 1 - T/EA, the circle has the
curvature K = T e/(c B'). The finger closes where this is k = 1/(a + r), that of its way round the cylinder. Pulled
harder it touches with its tip alone, and bulges off elsewhere: wrapped by the angle w = c L k, below 121 degrees, it
presses with (K - k) (1 - cos w)/(R s/(c B') + (u/GA + s/EA)/R), s and u = w/2 -+ sin(2 w)/4, R = 1/k, as a circular
beam that bends, shears and is stretched.
Run: python examples/soft_gripper.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

import gyrod as gd

RADIUS, OFFSET, CYLINDER, WRAP = 4e-3, 3e-3, 0.02, np.radians(100.0)  # m, m, m, rad
GUIDES, STRONGEST = 20, 1.4  # an element between two guides; of the tension that closes
SILICONE = gd.Material(young=1e6, poisson=0.49, density=1070)
BENDING, STRETCH = SILICONE.young * np.pi * RADIUS**4 / 4.0, SILICONE.young * np.pi * RADIUS**2  # N m^2, N
SHEAR = SILICONE.shear_modulus * np.pi * RADIUS**2  # N
ROUND = CYLINDER + RADIUS
LENGTH = WRAP * ROUND / (1.0 - BENDING / (ROUND * OFFSET * STRETCH))


def bent(tension: float) -> tuple[float, float, float]:
    """Of the finger alone: c, B' and K of above."""
    shorter, stiffness = 1.0 - tension / STRETCH, BENDING - tension * (LENGTH / GUIDES) ** 2 / 12.0
    return shorter, stiffness, tension * OFFSET / stiffness / shorter


def closes() -> float:
    """The tension at which the finger lies round the cylinder, N."""
    alone = BENDING / (ROUND * OFFSET)
    return float(brentq(lambda tension: bent(tension)[2] - 1.0 / ROUND, 0.5 * alone, 1.5 * alone))


def pressed(tension: float) -> float:
    """What the tip presses with, N."""
    shorter, stiffness, curvature = bent(tension)
    w = shorter * LENGTH / ROUND
    s, u = w / 2.0 + np.array([-1.0, 1.0]) * np.sin(2.0 * w) / 4.0
    gives = ROUND * s / (shorter * stiffness) + (u / SHEAR + s / STRETCH) / ROUND
    return float(max((curvature - 1.0 / ROUND) * (1.0 - np.cos(w)) / gives, 0.0))


def gripper() -> gd.System:
    """Two fingers on a palm, open; the cylinder lies between them. Weight is left out."""
    guides = [(k / GUIDES, (OFFSET, 0.0)) for k in range(GUIDES + 1)]
    fingers = []
    for name, side in (("left", -1.0), ("right", 1.0)):
        frame = np.column_stack([(0, 0, 1), (0, -side, 0), (side, 0, 0)])  # d1 looks at the cylinder
        shape = gd.Straight(
            (0, 0, -ROUND), (side * LENGTH, 0, -ROUND), orientation=gd.rotations.quaternion_from_matrix(frame)
        )
        fingers.append(
            gd.Rod(name, None, GUIDES, gd.Circle(RADIUS), SILICONE, initial=shape, degree=3, start=gd.Clamped())
        )
    law = {"stiffness": 1e8, "smoothing": 1e-7}
    contacts = [
        gd.Contact(rod.name, gd.Shaft(CYLINDER, axis=(0, 1, 0)), name=f"{rod.name} grip", **law) for rod in fingers
    ]
    tendons = [gd.Tendon(rod.name, guides, tension=STRONGEST * closes()) for rod in fingers]
    return gd.System(rods=fingers, forces=tendons, contacts=contacts, gravity=(0, 0, 0))


def run() -> gd.Path:
    """The fingers while the tension grows from 0 to the strongest."""
    return gd.follow(gripper(), "load", np.linspace(0.0, 1.0, 16))


def grip(path: gd.Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Tension, and what one finger presses on the cylinder with, N."""
    found = [float(np.linalg.norm(rest.contacts["left grip"].force)) for rest in path.rests]
    return STRONGEST * closes() * np.asarray(path.value), np.array(found)


def main(folder: str = "demo") -> None:
    """Print what the fingers press with, draw them as they close and their force."""
    from matplotlib.figure import Figure

    path = run()
    tension, found = grip(path)
    print(f"closes at {closes():.4f} N, the open fingers lie round the cylinder")
    print(f"tension {tension[-1]:.4f} N: {found[-1]:.5f} N   circular beam {pressed(tension[-1]):.5f} N")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    angle = np.linspace(0.0, 2.0 * np.pi, 100)
    left.fill(1e3 * CYLINDER * np.cos(angle), 1e3 * CYLINDER * np.sin(angle), color="0.85")
    for value in (0.0, 0.2, 0.4, 0.6, 1.0):
        for name in ("left", "right"):
            x = 1e3 * path.at(value)[name].positions
            left.plot(x[:, 0], x[:, 2], color="C0", lw=3.0, alpha=0.25 + 0.75 * value, solid_capstyle="butt")
    left.set(title="the hand closes", xlabel="x [mm]", ylabel="z [mm]", aspect="equal")
    right.plot(tension, [pressed(T) for T in tension], "k-", lw=0.8, label="circular beam")
    right.plot(tension, found, "C0o", ms=4, label="gyrod")
    right.set(title="force of a finger on the cylinder", xlabel="tension of its tendon [N]", ylabel="force [N]")
    right.legend(frameon=False)
    file = Path(folder) / "soft_gripper.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
