"""A fast top for an hour, 72 000 turns: what becomes of its energy and momentum with constant and adaptive steps.

The variational integrator takes a million steps of 3.6 ms, 14 a turn; the adaptive methods take about as much CPU time.
The energy of the first swings and stays, that of the others drifts.
Run: python examples/top_for_an_hour.py [folder]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gyrod as gd

STEP = 0.0036
RUNS: dict[str, dict[str, Any]] = {
    "variational": {"method": "variational", "step": STEP, "potential": "nodes"},
    "variational, directors": {"method": "variational", "step": STEP, "coordinates": "directors"},
    "energy-momentum": {"method": "energy-momentum", "step": STEP},
    "dopri5, rtol 1e-6": {"method": "dopri5", "rtol": 1e-6},
    "dop853, rtol 1e-7": {"method": "dop853", "rtol": 1e-7},
}


@dataclass(frozen=True)
class Outcome:
    """One method: steps, CPU seconds, times, relative errors of the energy and of the momentum about the vertical."""

    steps: int
    seconds: float
    t: NDArray[np.float64]
    energy: NDArray[np.float64]
    momentum: NDArray[np.float64]


def top() -> gd.System:
    """The fast top of Xu and Zhong 2016: 20 turns a second, released at a tilt of 30 degrees."""
    tilt, arm = np.pi / 6.0, 0.04
    body = gd.Body(
        "top",
        mass=1.0,
        inertia=(4e-4, 4e-4, 8e-4),
        position=(0.0, -arm * np.sin(tilt), arm * np.cos(tilt)),
        orientation=("313", (0.0, tilt, 0.0)),
        angular_velocity=(0.0, 0.0, 40.0 * np.pi),
    )
    return gd.System([body], [gd.Spherical("ground", "top", at=(0.0, 0.0, 0.0))])


def run(t_end: float = 3600.0) -> dict[str, Outcome]:
    """What each method makes of it."""
    system, outcomes = top(), {}
    # Nodes of the constant steps, at all phases of the nutation.
    times = STEP * np.arange(0, round(t_end / STEP) + 1, 53)
    for name, options in RUNS.items():
        motion = gd.simulate(system, t_end, output=times, dense=False, **options)
        energy, momentum = motion.energy.total, motion.angular_momentum[:, 2]
        outcomes[name] = Outcome(
            motion.stats.steps, motion.stats.seconds, motion.t, energy / energy[0] - 1.0, momentum / momentum[0] - 1.0
        )
    return outcomes


def plot(outcomes: dict[str, Outcome], file: Path) -> None:
    """Energy errors over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.8), layout="constrained")
    ax = figure.subplots()
    for name, outcome in outcomes.items():
        largest = [np.abs(part).max() for part in np.array_split(outcome.energy, 100)]
        ax.semilogy(np.linspace(0.0, outcome.t[-1], 100), largest, lw=1.0, label=name)
    ax.set(title="Fast top", xlabel="t [s]", ylabel="relative error of the energy")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8)
    figure.savefig(file, dpi=110)


def main(folder: str = "demo", t_end: float = 3600.0) -> None:
    """Print the table, write the picture."""
    outcomes = run(t_end)
    print(f"Fast top for {t_end:g} s")
    print(f"{'':24} {'steps':>8} {'CPU':>8} {'energy error':>24} {'momentum':>10}")
    print(f"{'':24} {'':>8} {'':>8} {'first tenth':>12}{'last tenth':>12}")
    for name, o in outcomes.items():
        tenth = len(o.t) // 10
        first, last = np.abs(o.energy[:tenth]).max(), np.abs(o.energy[-tenth:]).max()
        print(f"{name:24} {o.steps:8d} {o.seconds:6.2f} s {first:12.1e}{last:12.1e} {np.abs(o.momentum).max():10.1e}")
    file = Path(folder) / "top_for_an_hour.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    plot(outcomes, file)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "demo")
