"""The tennis racket theorem: spin about the axis of the medial moment of inertia turns over, again and again.

A racket spins at 50 rad/s about each of its axes with a disturbance of 1e-3 rad/s about the other two. About the axes
of the smallest and the largest moment it goes on as it began; about the medial one it somersaults. The smaller the
disturbance, the longer it waits, and the harder the problem: Lang 2010, example B.
Run: python examples/tennis_racket.py [folder]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gyrod as gd

SPIN, DISTURBANCE = 50.0, 1e-3  # rad/s
MOMENTS = {"smallest": (11.6, 1), "medial": (41.6, 0), "largest": (50.0, 2)}  # and the axis each belongs to
DURATION = 5.0  # s


@dataclass(frozen=True)
class Outcome:
    """Spin about one axis: times of the reversals in s, largest angle of the axis from its start in degrees."""

    reversals: tuple[float, ...]
    wobble: float


def racket(axis: int) -> gd.System:
    """The racket, free in space, spinning about one of its axes."""
    Omega = np.full(3, DISTURBANCE)
    Omega[axis] = SPIN
    body = gd.Body("racket", mass=1.0, inertia=(41.6, 11.6, 50.0), angular_velocity=Omega)
    return gd.System([body], gravity=(0.0, 0.0, 0.0))


def simulate(axis: int) -> gd.Motion:
    """Five seconds with the reversals of the spin as events."""
    reversal = gd.Event(lambda _, m: float(m["racket"].Omega[axis]))
    times = np.linspace(0.0, DURATION, 2001)
    return gd.simulate(racket(axis), DURATION, method="dop853", rtol=1e-12, output=times, events=[reversal])


def run() -> dict[str, Outcome]:
    """What becomes of the spin about each axis."""
    outcomes = {}
    for name, (_, axis) in MOMENTS.items():
        motion = simulate(axis)
        direction = motion["racket"].matrix[:, :, axis]
        wobble = np.rad2deg(np.arccos(np.clip(direction @ direction[0], -1.0, 1.0)).max())
        outcomes[name] = Outcome(tuple(e.t for e in motion.events), float(wobble))
    return outcomes


def plot(file: Path) -> None:
    """Angular velocity over time for each axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    for ax, (name, (_, axis)) in zip(figure.subplots(1, 3, sharey=True), MOMENTS.items(), strict=True):
        motion = simulate(axis)
        ax.plot(motion.t, motion["racket"].Omega, lw=1.0, label=["Omega1", "Omega2", "Omega3"])
        ax.set(title=f"about the {name} moment", xlabel="time [s]")
    figure.axes[0].set(ylabel="angular velocity [rad/s]")
    figure.axes[0].legend(fontsize=8)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)


def main(folder: str = "demo") -> None:
    """Print what happens about each axis, write the picture."""
    print(f"Racket at {SPIN:g} rad/s, disturbed by {DISTURBANCE:g} rad/s, for {DURATION:g} s")
    for name, o in run().items():
        times = ", ".join(f"{t:.3f}" for t in o.reversals) or "never"
        print(f"{name:9} moment: turns over at {times}{' s' if o.reversals else ''}; axis moves {o.wobble:.3g} deg")
    file = Path(folder) / "tennis_racket.png"
    plot(file)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
