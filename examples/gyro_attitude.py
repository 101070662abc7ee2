"""Attitude of a coning sensor from clean and noisy gyro samples, by four methods.

A body whose axis cones by 1 degree ten times a second for a minute is the classical test of a strapdown algorithm:
the small cone makes every second-order method drift. Run: python examples/gyro_attitude.py [folder]
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gyrod as gd

METHODS = ("midpoint-matrix", "midpoint-quaternion", "magnus4", "magnus6")
RATE = 200.0  # samples per second
DURATION = 60.0  # s
NOISE = 1e-3  # rad/s in each sample


@dataclass(frozen=True)
class Outcome:
    """Geodesic errors over time with clean and noisy samples, estimated error of the former, CPU seconds."""

    clean: NDArray[np.float64]
    noisy: NDArray[np.float64]
    estimate: float
    seconds: float


def solve() -> tuple[NDArray[np.float64], dict[str, Outcome]]:
    """Sample times, and what each method makes of the samples."""
    motion = gd.problems.coning()
    t = np.linspace(0.0, DURATION, int(RATE * DURATION) + 1)
    clean = motion.rates(t)
    noisy = clean + np.random.default_rng(1).normal(scale=NOISE, size=clean.shape)
    truth = motion.quaternion(t)
    outcomes = {}
    for method in METHODS:
        seconds = []
        for _ in range(5):
            begin = time.process_time()
            R = gd.attitude(t, clean, method=method, initial=truth[0])
            seconds.append(time.process_time() - begin)
        N = gd.attitude(t, noisy, method=method, initial=truth[0])
        clean_error, noisy_error = (gd.rotations.distance(x.quaternion, truth) for x in (R, N))
        outcomes[method] = Outcome(clean_error, noisy_error, R.error, min(seconds))
    return t, outcomes


def plot(file: Path, t: NDArray[np.float64], outcomes: dict[str, Outcome]) -> None:
    """Growth of the errors with time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for (method, outcome), style in zip(outcomes.items(), ("-", "--", "-", "--"), strict=True):
        left.semilogy(t[1:], outcome.clean[1:], style, lw=1.2, label=method)
        right.semilogy(t[1:], outcome.noisy[1:], style, lw=1.2, label=method)
    left.set(title="clean samples", xlabel="time [s]", ylabel="geodesic error [rad]")
    right.set(title=f"noise of {NOISE:g} rad/s a sample", xlabel="time [s]")
    for ax in (left, right):
        ax.grid(alpha=0.3)
    right.legend(loc="lower right")
    figure.suptitle(f"Coning by 1 degree at 10 Hz, sampled at {RATE:g} Hz")
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)


def main(folder: str = "demo") -> None:
    """Print the table, write the picture."""
    t, outcomes = solve()
    print(f"Coning by 1 degree at 10 Hz for {DURATION:g} s, {len(t)} gyro samples ({RATE:g} Hz)")
    print(f"{'method':22}{'error, clean':>14}{'estimated':>12}{'error, noisy':>14}{'CPU':>11}")
    for method, o in outcomes.items():
        print(f"{method:22}{o.clean[-1]:10.1e} rad{o.estimate:12.1e}{o.noisy[-1]:10.1e} rad{1e3 * o.seconds:8.2f} ms")
    file = Path(folder) / "gyro_attitude.png"
    plot(file, t, outcomes)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
