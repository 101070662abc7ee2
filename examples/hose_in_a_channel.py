"""A hose laid into a channel: it comes off a drum with a bend, and the walls straighten it.

The hose falls into the channel, rests on its floor and presses against both walls, with its ends against the outer one
and with its middle against the inner one. Beams of small slope say how hard: with the bend k of the drum, the length L
and the clearance g the middle bears 48 B (k L^2/8 - g)/L^3, and each end half of that, as long as g > k L^2/24.
Run: python examples/hose_in_a_channel.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import gyrod as gd

LENGTH, RADIUS, DRUM, CLEARANCE = 0.8, 6e-3, 4.0, 0.01  # m
SEGMENTS, SECONDS = 40, 3.0
RUBBER = gd.Material(young=200e6, poisson=0.5, density=1100)
BENDING = RUBBER.young * np.pi * RADIUS**4 / 4.0  # N m^2


def laid() -> gd.System:
    """The hose 2 cm above the floor of the channel, straight, bent back by its own set."""
    hose = gd.Rod(
        "hose", segments=SEGMENTS, discretization="staggered", section=gd.Circle(RADIUS), material=RUBBER,
        initial=gd.Straight((0, 0, RADIUS + 0.02), (LENGTH, 0, RADIUS + 0.02)),
        precurvature=(1.0 / DRUM, 0, 0), damping=gd.Damping(bending=4e-3, torsion=1e-3, shear=1.0, extension=1.0),
    )  # fmt: skip
    law = {"stiffness": 1e5, "damping": 1.0}
    half = 0.5 * CLEARANCE + RADIUS
    return gd.System(
        rods=[hose],
        contacts=[
            gd.Contact("hose", gd.Plane(), name="floor", **law),
            gd.Contact("hose", gd.Plane((0, half, 0), (0, -1, 0)), name="left", **law),
            gd.Contact("hose", gd.Plane((0, -half, 0), (0, 1, 0)), name="right", **law),
        ],
    )


def run() -> gd.Motion:
    """It falls and comes to rest."""
    return gd.simulate(laid(), SECONDS, rtol=1e-4, output=np.linspace(0.0, SECONDS, 151))


def beam() -> float:
    """What the middle presses with, N: a beam of small slope."""
    return float(48.0 * BENDING / LENGTH**3 * (LENGTH**2 / (8.0 * DRUM) - CLEARANCE))


def main(folder: str = "demo") -> None:
    """Print what walls and floor bear, draw the hose in its channel and the forces as it comes to rest."""
    from matplotlib.figure import Figure

    motion = run()
    for name in ("left", "right"):
        print(f"{name} wall: {motion.contacts[name].normal[-1]:.4f} N   beam {beam():.4f} N")
    weight = RUBBER.density * np.pi * RADIUS**2 * LENGTH * 9.81
    print(f"floor: {motion.contacts['floor'].normal[-1]:.4f} N   weight {weight:.4f} N")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for row, style in ((0, "C0--"), (-1, "C0")):
        x = 1e3 * motion["hose"].positions[row]
        left.plot(x[:, 0], x[:, 1], style, label="at the start" if row == 0 else "at rest")
    for side in (-1.0, 1.0):
        left.axhline(side * 0.5e3 * CLEARANCE, color="k", lw=0.8)
    left.set(title="centre line between the walls", xlabel="x [mm]", ylabel="y [mm]")
    left.legend(loc="center", frameon=False, fontsize=8)
    for name in ("left", "right"):
        right.plot(motion.t, motion.contacts[name].normal, label=f"{name} wall")
    right.axhline(beam(), color="k", lw=0.8, ls="--", label="beam")
    right.set(title="what they bear", xlabel="time [s]", ylabel="force [N]", xlim=(0.0, 0.5))
    right.legend(frameon=False, fontsize=8)
    file = Path(folder) / "hose_in_a_channel.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
