"""A gyro on a coning body measures a rotation that never happens: the solid angle of the cone.

The body's axis goes round a cone of the half-angle a and is back after each turn. The rate about that axis, summed up,
has grown by the solid angle 2 pi (1 - cos a) all the same (Goodman and Robinson 1958): rates about moving axes do not
add up to angles. `gd.attitude` integrates the rotation instead. Run: python examples/coning_gyro.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gyrod as gd

ANGLE, RATE = np.deg2rad(5.0), 2.0 * np.pi  # half-angle of the cone, one turn a second
SAMPLES, TURNS = 50, 20  # a turn


def run() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Times, the summed rate about the body's axis, and the error of `gd.attitude`, in rad, (n,) each."""
    motion = gd.problems.coning(angle=ANGLE, rate=RATE)
    t = np.linspace(0.0, TURNS, SAMPLES * TURNS + 1)
    rates = motion.rates(t)
    summed = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(t) * (rates[1:, 2] + rates[:-1, 2]))])
    attitude = gd.attitude(t, rates, initial=motion.quaternion(0.0))
    return t, summed, gd.rotations.distance(attitude.quaternion, motion.quaternion(t))


def solid_angle() -> float:
    """Of the cone, in steradian."""
    return float(2.0 * np.pi * (1.0 - np.cos(ANGLE)))


def main(folder: str = "demo") -> None:
    """Print both and draw them."""
    from matplotlib.figure import Figure

    t, summed, error = run()
    print(f"Summed rate after {TURNS} turns: {summed[-1]:.8f} rad; solid angle: {TURNS * solid_angle():.8f} sr")
    print(f"Largest error of gd.attitude:    {error.max():.1e} rad")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(t, summed, "C0", lw=1.5, label="sum of the rate about the axis")
    left.plot(t, -solid_angle() * t, "k:", label="solid angle of the cone, with sign")
    left.set(title="a rotation that never happens", xlabel="turns", ylabel="angle [rad]")
    left.legend(frameon=False, loc="lower left")
    right.semilogy(t[1:], np.abs(summed[1:]), "C0", lw=1.2, label="sum of the rate")
    right.semilogy(t[1:], error[1:], "C1", lw=1.2, label="gd.attitude")
    right.set(title="error of the attitude", xlabel="turns", ylabel="[rad]")
    right.legend(frameon=False)
    file = Path(folder) / "coning_gyro.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
