"""A ring that flips: bend a straight rod to a ring, twist its ends against each other, and it jumps out of its plane.

Michell 1889: the flat ring loses its stability when the twist reaches 2 pi sqrt(3) EI/GJ: there a natural frequency
falls to zero. Beyond, the ring throws itself into a figure of eight, passes through itself (gyrod knows no contact of a
rod with itself) and is a ring again, with two turns of twist less: its energy is pi EI + GJ (twist - 4 pi)²/(4 pi).
Run: python examples/flipping_ring.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import gyrod as gd

EI, GJ = 1.0, 0.75  # N m²
MICHELL = 2.0 * np.pi * np.sqrt(3.0) * EI / GJ  # rad


def ring(twist: float, damping: gd.Damping | None = None, **options: Any) -> gd.System:
    """A rod that would be straight, held as a ring of 1 m radius, its end turned by ``twist`` against its start."""

    def place(s: float) -> ArrayLike:
        a = 2.0 * np.pi * s
        return 0.0, 1.0 - np.cos(a), np.sin(a)

    def frame(s: float) -> ArrayLike:
        a = 2.0 * np.pi * s
        flat = np.array([[1, 0, 0], [0, np.cos(a), np.sin(a)], [0, -np.sin(a), np.cos(a)]])
        return flat @ gd.rotations.matrix_from_rotation_vector((0, 0, twist * s))

    rod = gd.Rod(
        "ring",
        2.0 * np.pi,
        24,
        start=gd.Clamped(),
        end=gd.Clamped(),
        initial=gd.Curve(place, frame),
        precurvature=(0, 0, 0),
        prestrain=(0, 0, 0),
        stiffness=(1e3, 1e3, 1e3, EI, EI, GJ),
        density_per_length=1.0,
        rotary_inertia=(1e-3, 1e-3, 2e-3),
        damping=damping,
        degree=3,
    )
    return gd.System(rods=[rod], **{"gravity": (0, 0, 0), **options})


def frequency_squared(twist: float) -> float:
    """Of the flat ring's pair of modes that goes unstable, in (rad/s)²; the third mode is a turn that nothing holds."""
    eigenvalues = gd.modes(gd.equilibrium(ring(twist)), n=3).eigenvalues
    return float(max(-(eigenvalues**2).real, key=abs))


def run() -> float:
    """Critical twist over Michell's, where a parabola through three squared frequencies is zero."""
    twists = np.array([0.94, 0.96, 0.98])
    roots = np.roots(np.polyfit(twists, [frequency_squared(x * MICHELL) for x in twists], 2))
    return float(min(roots.real, key=lambda root: abs(root - 0.98)))


def flip(twist: float = 1.1 * MICHELL) -> gd.Motion:
    """Beyond the critical twist, damped, with a breath of wind to start it."""
    damping = gd.Damping(shear=5.0, extension=5.0, bending=0.02, torsion=0.02)
    system = ring(twist, damping, gravity=(0.01, 0, 0), forces=[gd.Drag("ring", coefficient=0.5)])
    return gd.simulate(system, 40.0, rtol=1e-3, output=np.linspace(0.0, 40.0, 161))


def energy(twist: float) -> float:
    """Of a flat ring, J."""
    return float(np.pi * EI + GJ * twist**2 / (4.0 * np.pi))


def main(folder: str = "demo") -> None:
    """Print the critical twist and the energies, draw the flip."""
    from matplotlib.figure import Figure

    motion, twist = flip(), 1.1 * MICHELL
    stored = motion.energy.bending_torsion
    print(f"critical twist over Michell's: {run():.5f}")
    print(f"energy before {stored[0]:.3f} J, flat ring {energy(twist):.3f} J")
    print(f"energy after  {stored[-1]:.3f} J, two turns less {energy(twist - 4.0 * np.pi):.3f} J")
    figure = Figure(figsize=(8.0, 4.6), layout="constrained")
    axes = figure.subplot_mosaic("AAA;BBC", height_ratios=(1.2, 1.0))
    for k, t in enumerate((0.0, 18.0, 21.5, 22.5, 23.0, 23.5, 36.0)):
        x, y, z = (motion(t)["ring"].positions - motion(t)["ring"].positions.mean(axis=0)).T
        axes["A"].plot(0.8 * y - 0.6 * x + 2.6 * k, z, "C0", lw=1.5)
        axes["A"].annotate(f"{t:g} s", (2.6 * k, -1.5), ha="center", fontsize=8)
    axes["A"].set(aspect="equal", ylim=(-1.7, 1.4))
    axes["A"].axis("off")
    axes["B"].plot(motion.t, stored, "C0", lw=1.5)
    for level in (twist, twist - 4.0 * np.pi):
        axes["B"].axhline(energy(level), color="k", ls=":", lw=0.8)
    axes["B"].set(title="energy of bending and torsion", xlabel="t [s]", ylabel="[J]", ylim=(0, 20))
    twists = np.array([0.7, 0.8, 0.9, 0.95, 1.05, 1.1])
    axes["C"].plot(twists, [frequency_squared(x * MICHELL) for x in twists], "C0o-", ms=4, lw=1.0)
    axes["C"].axhline(0.0, color="k", lw=0.8)
    axes["C"].axvline(1.0, color="k", ls=":", lw=0.8)
    axes["C"].set(title="frequency², flat ring", xlabel="twist over Michell's", ylabel="[(rad/s)²]")
    file = Path(folder) / "flipping_ring.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
