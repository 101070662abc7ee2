"""A flexible rod that is thrown and spun by a force and a moment at one end: flying spaghetti.

Simo and Vu-Quoc 1988: a rod of 10 m from (6, 0, 0) to (0, 0, 8), without gravity. Force and moments at its first end
grow for 2.5 s, fade for 2.5 s, and it flies on alone. What it has got is known: the impulse of the force, 50 N s, moves
10 kg with 5 m/s; energy and angular momentum stay as they are from then on.
Run: python examples/flying_spaghetti.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import gyrod as gd

LOADED, PEAK = 5.0, 200.0  # s, N m


def pulse(t: float) -> float:
    """A triangle."""
    return PEAK * max(0.0, 1.0 - abs(2.0 * t / LOADED - 1.0))


def spaghetti() -> gd.System:
    """The rod with its loads: a force along x, moments about z and y."""
    rod = gd.Rod(
        "rod",
        10.0,
        initial=gd.Straight((6, 0, 0), (0, 0, 8)),
        stiffness=(1e4, 1e4, 1e4, 500, 500, 500),
        density_per_length=1.0,
        rotary_inertia=(10, 10, 10),
    )
    load = gd.RodLoad(
        "rod", at=0.0, force=lambda t: (pulse(t) / 10, 0, 0), moment=lambda t: (0, -pulse(t) / 2, -pulse(t))
    )
    return gd.System(rods=[rod], forces=[load], gravity=(0, 0, 0))


def run() -> gd.Motion:
    """Seven seconds: five with loads, two without."""
    return gd.simulate(spaghetti(), 7.0, rtol=1e-6, output=np.linspace(0.0, 7.0, 141))


def main(folder: str = "demo") -> None:
    """Print what it got and keeps, draw its flight."""
    from matplotlib.figure import Figure

    motion = run()
    alone = motion.t > LOADED
    energy, spin = motion.energy.total[alone], motion.angular_momentum[alone]
    print(f"momentum after the loads {motion.momentum[-1].round(4) + 0.0} N s, impulse (50, 0, 0)")
    print(f"energy {energy[-1]:.3f} J, kept to {np.ptp(energy):.0e} J from then on")
    print(f"angular momentum {spin[-1].round(3) + 0.0}, kept to {np.ptp(spin, axis=0).max():.0e}")
    print(f"ends at 7 s: {motion['rod'].positions[-1, 0].round(3)} and {motion['rod'].positions[-1, -1].round(3)} m")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.6, 1))
    for k in range(0, len(motion.t), 10):
        x, _, z = motion["rod"].positions[k].T
        left.plot(x, z, color="C1" if motion.t[k] < LOADED else "C0", lw=1.5)
        left.plot(x[0], z[0], "k.", ms=4)
    left.set(title="from the side, every half second", xlabel="x [m]", ylabel="z [m]", aspect="equal")
    for name, colour in (("kinetic", "C0"), ("bending_torsion", "C1"), ("extension_shear", "C2"), ("total", "k")):
        right.plot(motion.t, getattr(motion.energy, name), colour, lw=1.2, label=name.replace("_", " and "))
    right.axvline(LOADED, color="0.6", lw=0.8, ls=":")
    right.set(title="energy", xlabel="t [s]", ylabel="[J]")
    right.legend(frameon=False, fontsize=8)
    file = Path(folder) / "flying_spaghetti.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
