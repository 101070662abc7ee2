"""The two figures of docs/variational.md: error against CPU time of all methods, and energy over a million steps.

The fast top of Xu and Zhong 2016, whose motion is known in elliptic functions. CPU time, best of five runs.
Run: python benchmarks/variational_figures.py [folder, docs/images unless given]
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from timing import best  # type: ignore[import-not-found]

import gyrod as gd
from gyrod.reproduce.xu_zhong_2016 import fast_top

TOP = fast_top()
#: 1000 turns at 20 a second, judged at 500 times.
TURNS, POINTS = 1000.0, 500
T_END = TURNS * 2.0 * np.pi / TOP.exact.spin
TIMES = np.linspace(0.0, T_END, POINTS + 1)
TRUTH = TOP.exact.axis(TIMES)

TOLERANCES = tuple(10.0**-k for k in range(3, 13))
#: Steps between two of the times: from 6 ms to 0.1 ms.
PARTS = tuple(2**k for k in range(4, 11))
STEPPED: dict[str, dict[str, Any]] = {
    "variational, quaternion": {},
    "variational, quaternion, U at nodes": {"potential": "nodes"},
    "variational, directors": {"coordinates": "directors"},
    "variational, quaternion, sigma = 0": {"sigma": 0.0},
    "energy-momentum, quaternion": {"method": "energy-momentum"},
    "energy-momentum, directors": {"method": "energy-momentum", "coordinates": "directors"},
}
#: A million steps of the energy plot, of which every tenth is looked at.
MANY, STEP, THIN = 1_000_000, 0.0035, 10
#: Adaptive methods dashed, the others not.
COLOURS = ("C0", "C1", "C2", "C3", "C4", "C5", "C9", "k", "C6", "C7", "#c09000", "#205020")
STYLES = dict(
    zip((*gd.METHODS, *STEPPED), zip(COLOURS, 6 * ["o--"] + 4 * ["s-"] + 2 * ["^-"], strict=True), strict=True)
)

Points = NDArray[np.float64]


def axis_error(motion: gd.Motion) -> float:
    """Largest angle between the top's axis and the exact one, rad."""
    axis = motion["top"].matrix[:, :, 2]
    return float(2.0 * np.arcsin(0.5 * np.linalg.norm(axis - TRUTH, axis=1).clip(max=2.0)).max())


def measure(label: str, **options: Any) -> tuple[float, float, float] | None:
    """CPU seconds, error of the axis, largest relative error of the energy; None if the run cannot be done."""
    try:
        seconds, motion = best(partial(gd.simulate, TOP.system, T_END, **options), 5)
    except gd.SimulationError as error:
        print(f"{label}: {error}")
        return None
    total = motion.energy.total
    return seconds, axis_error(motion), float(np.abs(total / total[0] - 1.0).max())


def work() -> dict[str, Points]:
    """Rows (CPU seconds, error, energy error) of every method."""
    curves = {}
    for method, kind in gd.METHODS.items():
        # Stiff methods at tighter tolerances take seconds, for nothing.
        tolerances = [rtol for rtol in TOLERANCES if rtol > 2e-10 or not kind.stiff]
        points = [
            measure(f"{method} at {rtol:g}", method=method, rtol=rtol, output=TIMES, dense=False) for rtol in tolerances
        ]
        curves[method] = np.array([p for p in points if p is not None])
    for name, options in STEPPED.items():
        given = {"method": "variational", "dense": False, **options}
        steps = {parts: T_END / (POINTS * parts) for parts in PARTS}
        points = [measure(f"{name}, step {h:.3g}", step=h, output=parts, **given) for parts, h in steps.items()]
        curves[name] = np.array([p for p in points if p is not None])
    return curves


def tell(curves: dict[str, Points]) -> None:
    for name, points in curves.items():
        print(name)
        for seconds, error, energy in points:
            print(f"  {1e3 * seconds:9.2f} ms   axis {error:9.2e} rad   energy {energy:9.2e}")


def long_runs() -> dict[str, tuple[Points, Points]]:
    """Energy errors, relative, over a million steps of the variational integrator and as long by others."""
    t_end = MANY * STEP
    constant = {"step": STEP, "output": THIN, "dense": False}
    adaptive = {"output": np.linspace(0.0, t_end, MANY // THIN + 1), "dense": False}
    runs: dict[str, dict[str, Any]] = {
        "variational, quaternion": {"method": "variational", **constant},
        "variational, directors": {"method": "variational", "coordinates": "directors", **constant},
        "energy-momentum, quaternion": {"method": "energy-momentum", **constant},
        "dopri5, rtol 1e-6": {"method": "dopri5", "rtol": 1e-6, **adaptive},
        "dop853, rtol 1e-6": {"method": "dop853", "rtol": 1e-6, **adaptive},
        "dop853, rtol 1e-12": {"method": "dop853", "rtol": 1e-12, **adaptive},
    }
    found = {}
    for name, options in runs.items():
        motion = gd.simulate(TOP.system, t_end, **options)
        t, total, stats = motion.t, motion.energy.total, motion.stats
        error = total / total[0] - 1.0
        growth = np.polyfit(t, error, 1)[0] * t_end
        label = f"{name}: {stats.steps / 1e6:.2g} million steps, {stats.seconds:.1f} s"
        print(
            f"{label}, largest error {np.abs(error).max():.2e}, fitted growth {growth:.1e}, swing {np.ptp(error):.1e}"
        )
        found[label] = t, error
    return found


def envelope(t: Points, error: Points) -> tuple[Points, Points]:
    """Largest absolute error between times whose logarithms are equally spaced."""
    edges = np.unique(np.searchsorted(t, np.geomspace(0.15, t[-1], 200)))
    return t[edges[1:-1]], np.array([np.abs(error[i:j]).max() for i, j in pairwise(edges[:-1])])


def swing() -> tuple[Points, Points]:
    """Every node of the first and the last 0.6 s of a million steps: energy error over time."""
    window = STEP * np.concatenate([np.arange(171), MANY - np.arange(171)[::-1]])
    motion = gd.simulate(TOP.system, MANY * STEP, method="variational", step=STEP, output=window, dense=False)
    total = motion.energy.total
    return motion.t, total / total[0] - 1.0


def draw_work(curves: dict[str, Points], file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 5.2), layout="constrained")
    axes = figure.subplots(1, 2)
    for name, points in curves.items():
        colour, style = STYLES[name]
        for ax, column in zip(axes, (1, 2), strict=True):
            ax.loglog(1e3 * points[:, 0], points[:, column], style, color=colour, lw=1.0, ms=3, label=name)
    for ax, what in zip(axes, ("largest error of the axis [rad]", "largest relative error of the energy"), strict=True):
        ax.set(xlabel="CPU time [ms]", ylabel=what)
        ax.grid(alpha=0.3)
    figure.suptitle("Fast top, 1000 turns")
    figure.legend(*axes[0].get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=4)
    figure.savefig(file, dpi=110)


def draw_energy(runs: dict[str, tuple[Points, Points]], file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    for k, (label, (t, error)) in enumerate(runs.items()):
        left.loglog(*envelope(t, error), f"C{k}", lw=1.0, label=label)
    left.set(xlabel="t [s]", ylabel="relative error of the energy, envelope")
    left.set(title="Fast top, 3500 s: a million steps of 3.5 ms")
    left.grid(alpha=0.3)
    t, error = swing()
    half = len(t) // 2
    right.plot(t[:half], error[:half], "C0", lw=0.9, label="first 0.6 s")
    right.plot(t[half:] - t[half], error[half:], "C3--", lw=0.9, label="last 0.6 s")
    right.set(xlabel="t [s] from the start of the window", ylabel="relative error of the energy")
    right.set(title="variational, quaternion, every node")
    right.grid(alpha=0.3)
    right.legend(fontsize=8, loc="center left")
    figure.legend(*left.get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=2)
    figure.savefig(file, dpi=110)


def main(folder: str = "docs/images") -> None:
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    draw_energy(long_runs(), where / "variational_energy.png")
    curves = work()
    tell(curves)
    draw_work(curves, where / "variational_work.png")
    print(f"wrote variational_energy.png and variational_work.png to {folder}")


if __name__ == "__main__":
    main(*sys.argv[1:])
