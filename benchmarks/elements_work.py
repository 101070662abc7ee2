"""Work against error of rods on the staggered grid and of elements: six problems, and the figure of docs/elements.md.

The error is the largest distance from a reference of four points at ten times, of the end of a rod at rest. References
are made here, by elements of degree 4. CPU time is that of a whole call, the best of several; the method is the one
that is taken by default, at tolerances that are tightened until the error of the mesh shows.
Run: python benchmarks/elements_work.py [folder, docs/images unless given]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from timing import best  # type: ignore[import-not-found]

import gyrod as gd

Array = NDArray[np.float64]

POINTS = np.array([0.25, 0.5, 0.75, 1.0])
#: What is compared: options of the rod, and numbers of segments or elements.
FAMILIES: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "grid": ({}, (10, 14, 20, 28, 40, 56, 80, 160)),
    "grid, blended": ({"mass": "blended"}, (10, 14, 20, 28, 40, 56, 80, 160)),
    "degree 2": ({"degree": 2}, (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)),
    "degree 3": ({"degree": 3}, (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)),
    "degree 4": ({"degree": 4}, (1, 2, 3, 4, 5, 6, 8, 10, 12)),
}
STYLES = {"grid": "ks-", "grid, blended": "ks--", "degree 2": "C0o-", "degree 3": "C3^-", "degree 4": "C2D-"}
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
#: Seconds that a run may take, and those in which it is repeated.
LONGEST, REPEATED = 2.0, 0.2
#: Errors over the length below which no finer mesh is tried.
FINEST = 1e-5


@dataclass(frozen=True)
class Problem:
    """A rod whose mesh is chosen, up to a time, or at rest if that is 0."""

    name: str
    make: Callable[..., gd.System] = field(repr=False)
    t_end: float
    #: Elements of degree 4 of the reference.
    elements: int

    @property
    def times(self) -> Array:
        """At which the error is taken."""
        return np.linspace(0.1, 1.0, 10) * self.t_end

    def solve(self, system: gd.System, rtol: float) -> tuple[Array, int]:
        """Points (n, 3) by which a solution is judged, and the tries of the integrator or the iterations."""
        if not self.t_end:
            rest = gd.equilibrium(system)
            return rest["rod"].positions[-1:], rest.iterations
        motion = gd.simulate(system, self.t_end, rtol=rtol, output=self.times, dense=False)
        mesh = system.rods[0].mesh
        points = mesh.interpolate(*mesh.vertex_at(POINTS), motion["rod"].positions)
        return points.reshape(-1, 3), motion.stats.steps + motion.stats.rejected

    @cached_property
    def truth(self) -> Array:
        """The reference."""
        return self.solve(self.make(self.elements, degree=4), 1e-7)[0]

    @cached_property
    def doubt(self) -> float:
        """How far a reference of two thirds as many elements is from it."""
        coarse = self.solve(self.make(2 * self.elements // 3, degree=4), 1e-6)[0]
        return float(np.linalg.norm(coarse - self.truth, axis=1).max())

    @cached_property
    def length(self) -> float:
        """Of the rod."""
        return self.make(self.elements, degree=4).rods[0].length


@dataclass(frozen=True)
class Run:
    """What one mesh at one tolerance costs, in s of CPU a simulated second or an equilibrium, and its error in m."""

    number: int
    nodes: int
    rtol: float
    seconds: float
    error: float
    tries: int


# --- problems --------------------------------------------------------------------------------------------------------


def pulse(t: float) -> float:
    """A triangle of 5 s."""
    return 200.0 * max(0.0, 1.0 - abs(0.4 * t - 1.0))


def spaghetti(segments: int, **options: Any) -> gd.System:
    """Simo and Vu-Quoc 1988: a rod of 10 m, thrown and spun by a force and a moment at one end."""
    rod = gd.Rod(
        "rod",
        10.0,
        segments,
        initial=gd.Straight((6, 0, 0), (0, 0, 8)),
        stiffness=(1e4, 1e4, 1e4, 500, 500, 500),
        density_per_length=1.0,
        rotary_inertia=(10, 10, 10),
        **options,
    )
    load = gd.RodLoad(
        "rod", at=0.0, force=lambda t: (pulse(t) / 10, 0, 0), moment=lambda t: (0, -pulse(t) / 2, -pulse(t))
    )
    return gd.System(rods=[rod], forces=[load], gravity=(0, 0, 0))


def helix(segments: int, force: float = 0.05, **options: Any) -> gd.System:
    """Two turns of a spring, 1 m in radius and height, clamped below and pulled up to twice its height; EI = 1."""
    radius, slope = 1.0, 0.5 / (2.0 * np.pi)  # rise over an angle of 1 rad
    reach = np.hypot(radius, slope)
    tangent, normal = np.array([0.0, radius, slope]) / reach, np.array([-1.0, 0.0, 0.0])
    frame = np.stack([normal, np.cross(tangent, normal), tangent], axis=1)
    rod = gd.Rod(
        "rod",
        4.0 * np.pi * reach,
        segments,
        start=gd.Clamped(),
        initial=gd.Bent((0.0, radius / reach**2, slope / reach**2), (radius, 0.0, 0.0), frame),
        stiffness=(1e4, 1e4, 1e4, 1.0, 1.0, 0.8),
        density_per_length=1.0,
        rotary_inertia=(1e-3, 1e-3, 2e-3),
        **options,
    )
    return gd.System(rods=[rod], forces=[gd.RodLoad("rod", force=(0.0, 0.0, force))], gravity=(0, 0, 0))


def angle(t: float) -> float:
    """Of a shaft that comes up to 6 rad/s in 15 s, rad."""
    return float(0.4 * (0.5 * t**2 + (7.5 / np.pi) ** 2 * (np.cos(2.0 * np.pi * t / 15.0) - 1.0)))


def rate(t: float) -> float:
    """Of the shaft, rad/s."""
    return float(0.4 * (t - 7.5 / np.pi * np.sin(2.0 * np.pi * t / 15.0)))


def acceleration(t: float) -> float:
    """Of the shaft, rad/s²."""
    return float(0.4 * (1.0 - np.cos(2.0 * np.pi * t / 15.0)))


def spin_up(segments: int, **options: Any) -> gd.System:
    """Simo and Vu-Quoc 1986: a rod of 10 m on a hub that is spun up. A led clamp would cost more than the rod."""
    hub = gd.Body("hub", mass=1.0, inertia=(1, 1, 1))
    shaft = gd.Revolute("ground", "hub", at=(0, 0, 0), axis=(0, 0, 1), drive=(angle, rate, acceleration), name="shaft")
    rod = gd.Rod(
        "rod",
        10.0,
        segments,
        start=gd.Clamped("hub", at=(0, 0, 0)),
        initial=gd.Straight((0, 0, 0), (10, 0, 0)),
        stiffness=(1e7, 1e7, 2.8e7, 1.4e4, 1.4e4, 1.4e4),
        density_per_length=1.2,
        rotary_inertia=(6e-4, 6e-4, 1.2e-3),
        **options,
    )
    return gd.System([hub], [shaft], [rod], gravity=(0, 0, 0))


def _system(make: Callable[..., Any]) -> Callable[..., gd.System]:
    """From a function of `gyrod.problems` to one that makes its system."""
    return lambda segments, **options: make(segments=segments, **options).system


PROBLEMS = (
    Problem("rubber pendulum", _system(gd.problems.rubber_pendulum), 1.0, 24),
    Problem("steel string", _system(gd.problems.steel_string), 1.0, 16),
    Problem("flying spaghetti", spaghetti, 7.0, 32),
    Problem("spin-up", spin_up, 6.0, 16),
    Problem("45-degree bend", _system(gd.problems.bend_45), 0.0, 24),
    Problem("helix", helix, 0.0, 32),
)


# --- runs ------------------------------------------------------------------------------------------------------------


def measure(problem: Problem, options: dict[str, Any], number: int) -> list[Run]:
    """Runs of one mesh, at tolerances that are tightened until the error stays within a fifth.

    Errors of time and of the mesh may cancel: an error counts that no tighter run exceeds.
    """
    try:
        system = problem.make(number, **options)
    except ValueError:  # too few elements for its turn
        return []
    runs: list[Run] = []
    for rtol in TOLERANCES if problem.t_end else (0.0,):
        call = partial(problem.solve, system, rtol)
        seconds, (points, tries) = best(call, 1)
        if seconds < LONGEST:
            seconds = min(seconds, best(call, int(np.clip(REPEATED / seconds, 1, 60)))[0])
        error = float(np.linalg.norm(points - problem.truth, axis=1).max())
        nodes = len(system.rods[0].fractions) - 1
        runs.append(Run(number, nodes, rtol, seconds / (problem.t_end or 1.0), error, tries))
        if seconds > LONGEST or (len(runs) > 1 and runs[-2].error < 1.2 * error):
            break
    worst = np.maximum.accumulate([r.error for r in runs][::-1])[::-1]
    return [replace(r, error=float(e)) for r, e in zip(runs, worst, strict=True)]


def front(runs: list[Run]) -> list[Run]:
    """Those that no other one beats in both, from cheap to exact."""
    kept: list[Run] = []
    for run in sorted(runs, key=lambda r: r.seconds):
        if not kept or run.error < kept[-1].error:
            kept.append(run)
    return kept


def cheapest(runs: list[Run], limit: float) -> Run | None:
    """The one with the least cost whose error is below a limit."""
    return min((r for r in runs if r.error <= limit), key=lambda r: r.seconds, default=None)


def families(problem: Problem) -> dict[str, list[Run]]:
    """All runs of a problem by the family of its mesh; at rest no mass matters."""
    found: dict[str, list[Run]] = {}
    for name, (options, numbers) in FAMILIES.items():
        if not problem.t_end and "mass" in options:
            continue
        runs = found[name] = list[Run]()
        for n in numbers:
            runs += measure(problem, options, n)
            if runs and runs[-1].error < FINEST * problem.length:
                break
    return found


# --- printed and drawn ------------------------------------------------------------------------------------------------


def tell(problem: Problem, runs: dict[str, list[Run]]) -> None:
    """Every run that no other of its family beats, and what given errors cost."""
    unit = "ms a simulated second" if problem.t_end else "ms"
    print(f"{problem.name}, {problem.length:.4g} m, reference good to {problem.doubt:.0e} m, CPU in {unit}")
    for name, found in runs.items():
        shown = (f"{r.nodes}: {r.error:.1e} m {1e3 * r.seconds:.2f} ({r.rtol:g})" for r in front(found))
        print(f"  {name:14}" + ", ".join(shown))
    for share in (1e-2, 1e-3, 1e-4, 1e-5):
        limit = share * problem.length
        cells = []
        for name, found in runs.items():
            run = cheapest(found, limit)
            cells.append(f"{name} " + (f"{1e3 * run.seconds:.2f} ms, {run.nodes} nodes" if run else "-"))
        print(f"  {share:g} of the length: " + "; ".join(cells))


def draw(all_runs: dict[str, dict[str, list[Run]]], file: Path) -> None:
    """One panel for each problem: relative error against CPU time."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    figure = Figure(figsize=(10.5, 6.4), layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    for ax, problem in zip(panels, PROBLEMS, strict=True):
        for name, found in all_runs[problem.name].items():
            line = front(found)
            cost, error = [1e3 * r.seconds for r in line], [r.error / problem.length for r in line]
            ax.loglog(cost, error, STYLES[name], lw=1.1, ms=3.5, label=name)
        ax.axhline(1e-3, color="0.6", lw=0.8, ls=":")
        ax.set(title=problem.name, xlabel="CPU [ms a simulated second]" if problem.t_end else "CPU [ms]")
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.grid(alpha=0.3)
    for ax in panels[::3]:
        ax.set_ylabel("error over length")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, fontsize=9, loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(file, dpi=110)


def main(folder: str = "docs/images") -> None:
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    found = {}
    for problem in PROBLEMS:
        found[problem.name] = families(problem)
        tell(problem, found[problem.name])
    draw(found, where / "elements_work.png")
    print(f"wrote elements_work.png to {folder}")


if __name__ == "__main__":
    main(*sys.argv[1:])
