"""How long a spinning handle waits before it turns over: the Dzhanibekov effect against its disturbance.

A T-handle spins about its stem, the axis of the medial moment of inertia, with a small rate beside it. Until the spin
changes its sign passes the time K(m)/n, a complete elliptic integral: (1/λ) ln(4 Ω/(c ε)) for small disturbances ε, so
that each power of ten less costs the same time more. A study runs through nine powers of ten; a second one lets go of
the handle a thousand times with an unsteady hand. Run: python examples/flip_time.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import elliprf

import gyrod as gd

# A bar of 60 g and 80 mm with a stem of 25 g and 40 mm: moments about bar, stem and the axis across both, kg m².
MOMENTS = (1.04e-5, 3.20e-5, 4.24e-5)
SPIN, DURATION = 20.0, 5.0  # rad/s, s
HAND = 0.2  # rad/s: 1 % of the spin about each of the other axes
THROWS = 1000
RUN: dict[str, Any] = {"method": "dop853", "rtol": 1e-12}

Array = NDArray[np.float64]


def handle() -> gd.System:
    """The handle, free in space, spinning about its stem."""
    body = gd.Body("handle", mass=0.085, inertia=MOMENTS, angular_velocity=(0.0, SPIN, 0.0))
    return gd.System([body], gravity=(0.0, 0.0, 0.0))


def exact(Omega: Array) -> Array:
    """Time of the first reversal from the angular velocities Omega, (n, 3), by Jacobi's elliptic functions, in s.

    Landau and Lifshitz, Mechanics, § 37; differences that nearly vanish are written out, so that no digit is lost.
    """
    (I1, I2, I3), (w1, w2, w3) = MOMENTS, np.moveaxis(Omega, -1, 0)
    beside = I3 * (I3 - I2) * w3**2 - I1 * (I2 - I1) * w1**2  # L² - 2 T I2: on which side of the separatrix
    swap = beside < 0.0
    A, C = np.where(swap, I3, I1), np.where(swap, I1, I3)
    a, c = np.where(swap, w3, w1), np.where(swap, w1, w3)
    high, low = A * (C - A) * a**2 + I2 * (C - I2) * w2**2, I2 * (I2 - A) * w2**2 + C * (C - A) * c**2
    cn2 = A * (C - A) * a**2 / high
    m1 = (I3 - I1) * np.abs(beside) / np.abs((C - I2) * low)  # 1 - m
    n = np.sqrt(np.abs((C - I2) * low) / (I1 * I2 * I3))
    K = elliprf(0.0, m1, 1.0)
    u = np.sqrt(1.0 - cn2) * elliprf(cn2, cn2 + m1 * (1.0 - cn2), 1.0)
    return np.asarray(np.where(w1 * w3 > 0.0, 2.0 * K - u, u) / n)  # it rises first, or falls at once


def rate() -> float:
    """λ: disturbances grow as exp(λ t), 1/s."""
    I1, I2, I3 = MOMENTS
    return float(SPIN * np.sqrt((I2 - I1) * (I3 - I2) / (I1 * I3)))


def logarithm(epsilon: Array) -> Array:
    """The law for small disturbances about the bar, s."""
    I1, I2, I3 = MOMENTS
    c = np.sqrt(I1 * (I3 - I1) / (I2 * (I3 - I2)))
    return np.asarray(np.log(4.0 * SPIN / (c * epsilon)) / rate())


def ladder() -> gd.Study:
    """Disturbances from 1e-8 rad/s to the spin itself, about the bar."""
    values = np.geomspace(1e-8, SPIN, 41)
    flip = {"flip": gd.Crossing("handle.Omega[1]")}
    return gd.study(handle(), {"handle.angular_velocity[0]": values}, flip, DURATION, **RUN)


def throws(samples: int = THROWS) -> gd.Study:
    """An unsteady hand: normal disturbances about both other axes."""
    vary = {f"handle.angular_velocity[{i}]": gd.Normal(0.0, HAND) for i in (0, 2)}
    flip = {"flip": gd.Crossing("handle.Omega[1]")}
    return gd.study(handle(), vary, flip, DURATION, samples=samples, sampler="random", seed=1, **RUN)


def started(study: gd.Study) -> Array:
    """Angular velocities at the start of all runs, (n, 3)."""
    Omega = np.tile((0.0, SPIN, 0.0), (study.size, 1))
    for name in study.names:
        Omega[:, int(name[-2])] = study[name]
    return Omega


def run() -> tuple[gd.Study, gd.Study]:
    """Both studies."""
    return ladder(), throws()


def main(folder: str = "demo") -> None:
    """Print the law and how far the runs are from it, draw both studies."""
    from matplotlib.figure import Figure

    rungs, thrown = run()
    epsilon, flip = rungs["handle.angular_velocity[0]"], rungs["flip"]
    print(f"λ = {rate():.4f} 1/s: each tenfold smaller disturbance costs {np.log(10.0) / rate():.4f} s")
    for name, study in (("nine powers of ten", rungs), ("a thousand throws", thrown)):
        off = np.abs(study["flip"] - exact(started(study))).max()
        print(f"{name}: {study.size} runs, largest distance from the elliptic functions {off:.0e} s")
    for k in (0, 20, 40):
        print(f"  {epsilon[k]:8.2g} rad/s: {flip[k]:.9f} s, logarithm {logarithm(epsilon[k]):.9f} s")
    low, half, high = np.quantile(thrown["flip"], (0.05, 0.5, 0.95))
    print(f"by hand: half of the flips before {half:.3f} s, nine of ten between {low:.3f} and {high:.3f} s")

    figure = Figure(figsize=(8.0, 3.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    closed = exact(started(rungs))
    left.semilogx(epsilon, closed, lw=1.2, label="elliptic functions")
    left.semilogx(epsilon, flip, "o", ms=3.0, label=f"{rungs.size} runs")
    left.set(title="one disturbance", xlabel="disturbance [rad/s]", ylabel="time of the flip [s]", ylim=0)
    left.legend(frameon=False, fontsize=8)
    middle.loglog(epsilon, np.abs(flip - logarithm(epsilon)), "o", ms=3.0, color="C2", label="logarithm")
    middle.loglog(epsilon, np.abs(flip - closed), "o", ms=3.0, color="C1", label="elliptic functions")
    middle.set(title="distance of the runs from", xlabel="disturbance [rad/s]", ylabel="[s]")
    middle.legend(frameon=False, fontsize=8)
    bins = np.linspace(0.25, 0.8, 34)
    right.hist(thrown["flip"], bins, alpha=0.6, color="C1", label=f"{THROWS} runs")
    many = np.tile((0.0, SPIN, 0.0), (200_000, 1))
    many[:, ::2] = np.random.default_rng(0).normal(0.0, HAND, (len(many), 2))
    counts, _ = np.histogram(exact(many), bins)
    right.stairs(counts * THROWS / len(many), bins, color="C0", label="elliptic functions")
    right.set(title="an unsteady hand", xlabel="time of the flip [s]", ylabel="throws")
    right.legend(frameon=False, fontsize=8)
    file = Path(folder) / "flip_time.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
