"""A rod on a shaft that spins up: it lags behind, catches up, and is stretched by its own weight in the end.

Simo and Vu-Quoc 1986: 10 m of rod on a hub that comes up to 6 rad/s in 15 s. A linear theory loses the stiffness that
the tension gives and lets the rod run away. At full speed it is longer by L (tan(k L)/(k L) - 1), k² = rho A w²/EA.
Run: python examples/spin_up.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gyrod as gd

LENGTH, RATE, RISE = 10.0, 6.0, 15.0  # m, rad/s, s
EA, GA, EI, MASS = 2.8e7, 1e7, 1.4e4, 1.2  # N, N, N m², kg/m


def angle(t: float) -> float:
    """Of the shaft, rad."""
    if t >= RISE:
        return RATE * (t - 0.5 * RISE)
    return float(RATE / RISE * (0.5 * t**2 + (RISE / (2 * np.pi)) ** 2 * (np.cos(2 * np.pi * t / RISE) - 1.0)))


def rate(t: float) -> float:
    """Of the shaft, rad/s."""
    return RATE if t >= RISE else float(RATE / RISE * (t - RISE / (2 * np.pi) * np.sin(2 * np.pi * t / RISE)))


def acceleration(t: float) -> float:
    """Of the shaft, rad/s²."""
    return 0.0 if t >= RISE else float(RATE / RISE * (1.0 - np.cos(2 * np.pi * t / RISE)))


def machine() -> gd.System:
    """A driven hub with the rod clamped to it."""
    hub = gd.Body("hub", mass=1.0, inertia=(1, 1, 1))
    shaft = gd.Revolute("ground", "hub", at=(0, 0, 0), axis=(0, 0, 1), drive=(angle, rate, acceleration), name="shaft")
    rod = gd.Rod(
        "rod",
        LENGTH,
        start=gd.Clamped("hub", at=(0, 0, 0)),
        initial=gd.Straight((0, 0, 0), (LENGTH, 0, 0)),
        stiffness=(GA, GA, EA, EI, EI, EI),
        density_per_length=MASS,
        rotary_inertia=(6e-4, 6e-4, 1.2e-3),
    )
    return gd.System([hub], [shaft], [rod], gravity=(0, 0, 0))


def run() -> tuple[gd.Motion, NDArray[np.float64]]:
    """Eighteen seconds, and the free end as the turning hub sees it, (n, 3)."""
    motion = gd.simulate(machine(), 18.0, method="rodas", rtol=1e-4, output=np.linspace(0.0, 18.0, 361))
    return motion, np.einsum("tji,tj->ti", motion["hub"].matrix, motion["rod"].positions[:, -1])


def extension() -> float:
    """In the steady state, m."""
    k = RATE * np.sqrt(MASS / EA)
    return float(np.tan(k * LENGTH) / k - LENGTH)


def main(folder: str = "demo") -> None:
    """Print lag and extension, draw them."""
    from matplotlib.figure import Figure

    motion, end = run()
    late = end[motion.t > RISE]
    print(f"largest lag {-end[:, 1].min():.4f} m at {motion.t[end[:, 1].argmin()]:.2f} s")
    print(f"mean extension at full speed {late[:, 0].mean() - LENGTH:.4e} m, closed form {extension():.4e} m")
    print(f"vibration that remains: {np.ptp(late[:, 1]):.1e} m")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(motion.t, end[:, 1], "C0", lw=1.2, label="end, across")
    left.plot(motion.t, 100 * (end[:, 0] - LENGTH), "C1", lw=1.2, label="end, along: 100 times")
    left.axhline(100 * extension(), color="k", ls=":", lw=1.0, label="closed form, 100 times")
    left.set(title="the end as the hub sees it", xlabel="t [s]", ylabel="[m]", ylim=(-0.65, 0.25))
    left.legend(frameon=False, fontsize=8)
    for t in (3.0, 5.0, 7.0, 9.0, 15.0):
        shape = motion(t)["rod"].positions @ motion(t)["hub"].matrix
        right.plot(shape[:, 0], shape[:, 1], lw=1.2, label=f"{t:g} s")
    right.set(title="the rod as the hub sees it", xlabel="along [m]", ylabel="across [m]")
    right.legend(frameon=False, fontsize=8)
    file = Path(folder) / "spin_up.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
