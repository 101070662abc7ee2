"""Benchmark problems with trusted values: how exact a run is, what it keeps and what it costs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gyrod import problems
from gyrod.motion import SimulationError
from gyrod.problems import MechanismProblem, StaticProblem
from gyrod.solve import equilibrium, follow, modes, simulate

if TYPE_CHECKING:
    from gyrod.motion import Rest
    from gyrod.solve.modal import Modes
    from gyrod.solve.paths.result import Path as LoadPath

#: How each problem is solved: formulation, method, relative tolerance.
RUNS: tuple[tuple[str, str, float], ...] = (
    ("nullspace-quaternion", "dop853", 1e-9),
    ("nullspace-directors", "dop853", 1e-9),
    ("absolute-quaternion", "dop853", 1e-9),
    ("absolute-directors", "dop853", 1e-9),
    ("nullspace-quaternion", "radau5", 1e-7),
)
#: The pendulum, whose point mass absolute forms refuse: 2000 s need a finer tolerance.
PENDULUM_RUNS = (
    ("nullspace-quaternion", "dop853", 1e-9),
    ("nullspace-directors", "dop853", 1e-9),
    ("nullspace-quaternion", "dop853", 1e-12),
    ("nullspace-quaternion", "radau5", 1e-7),
)
#: 81 bodies in 40 loops, where a run takes seconds; in "absolute-quaternion" rounding decides on which branch it ends.
LARGE_RUNS = (
    ("nullspace-quaternion", "dop853", 1e-6),
    ("nullspace-directors", "dop853", 1e-6),
    ("absolute-directors", "dop853", 1e-6),
    ("nullspace-quaternion", "dop853", 1e-8),
)


@dataclass(frozen=True)
class Outcome:
    """One run; values are None where there is nothing to report, ``note`` says why."""

    problem: str
    formulation: str
    method: str
    rtol: float
    #: Largest error of a position at the last trusted time, m.
    error: float | None = None
    #: Largest change of the total energy over the largest kinetic energy.
    energy: float | None = None
    #: Largest residual of a constraint, m or rad.
    gap: float | None = None
    steps: int | None = None
    #: CPU time of the run.
    seconds: float | None = None
    note: str = ""


def iftomm(progress: Callable[[str], None] = lambda _: None) -> list[Outcome]:
    """Mechanisms of the IFToMM library and others of `problems.MECHANISMS`, all that have trusted positions."""
    outcomes = []
    cases = {name: (p, RUNS) for name, p in problems.MECHANISMS.items() if p.reference}
    cases["pendulum"] = (problems.get("pendulum"), PENDULUM_RUNS)
    cases["four-bar, 40 loops"] = (problems.four_bar(40), LARGE_RUNS)
    run(problems.get("four-bar"), *RUNS[0])  # what is loaded at the first run is not its cost
    for name, (problem, runs) in cases.items():
        for formulation, method, rtol in runs:
            progress(f"{name}, {formulation}, {method}, {rtol:g}")
            outcomes.append(run(problem, formulation, method, rtol, name))
    return outcomes


def run(problem: MechanismProblem, formulation: str, method: str, rtol: float, name: str | None = None) -> Outcome:
    """Simulate a problem up to its last trusted time and compare; a run that cannot be done is an outcome too."""
    name, t_end = name or problem.name, max(problem.reference)
    try:
        motion = simulate(problem.system, t_end, formulation=formulation, method=method, rtol=rtol, dense=False)
    except (ValueError, SimulationError) as failure:
        return Outcome(name, formulation, method, rtol, note=str(failure))
    error = max(
        float(np.abs(motion[body].position[-1] - values["position"]).max())
        for body, values in problem.reference[t_end].items()
    )
    total = motion.energy.total
    change = float(np.abs(total - total[0]).max() / motion.energy.kinetic.max())
    return Outcome(
        name,
        formulation,
        method,
        rtol,
        error,
        change if problem.conservative else None,
        float(motion.drift.position.max()),
        motion.stats.steps,
        motion.stats.seconds,
    )


# --- rods at rest ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StaticOutcome:
    """One value of a problem of `problems.STATICS` beside the trusted one; None where there is none, with a note."""

    problem: str
    quantity: str
    segments: int
    #: "lumped" or "blended".
    mass: str = "lumped"
    value: float | None = None
    reference: float | None = None
    #: Of lengths and angles that may be zero the difference over their unit, else the relative one.
    error: float | None = None
    #: CPU time of the whole solution, compilation included; of all values of a problem together.
    seconds: float | None = None
    note: str = ""


#: Problems with the numbers of segments at which they are solved, and with which mass.
Builds = tuple[tuple[Callable[..., StaticProblem], tuple[int, ...], tuple[str, ...]], ...]
STATIC_RUNS: Builds = (
    *((partial(problems.elastica, a), (50, 200), ("lumped",)) for a in (1.0, 2.0, 5.0, 10.0)),
    *((partial(problems.post_buckling, a), (50, 200), ("lumped",)) for a in (20.0, 60.0, 120.0)),
    (problems.roll_up, (20,), ("lumped",)),
    *((partial(problems.bend_45_at_rest, f), (50, 200), ("lumped",)) for f in (300.0, 600.0)),
    (problems.lla_test2, (10,), ("lumped",)),
    (problems.euler_column, (50,), ("lumped",)),
    (problems.self_weight_column, (50,), ("lumped",)),
    (problems.twist_buckling, (100,), ("lumped",)),
    (problems.cardan_shaft, (60,), ("lumped",)),
    *(
        (partial(problems.timoshenko, ends), (50, 100), ("lumped", "blended"))
        for ends in ("cantilever", "free-free", "pinned-pinned", "clamped-clamped")
    ),
    (problems.euler_bernoulli, (100,), ("lumped", "blended")),
    (problems.spinning_rod, (40,), ("lumped",)),
)


def rods(progress: Callable[[str], None] = lambda _: None) -> list[StaticOutcome]:
    """Equilibria, load paths, critical loads and frequencies of rods: all of `problems.STATICS`."""
    outcomes = []
    run_static(problems.elastica(segments=4))  # what is loaded at the first run is not its cost
    run_static(problems.timoshenko(segments=40))
    for build, numbers, masses in STATIC_RUNS:
        for mass in masses:
            for segments in numbers:
                problem = build(segments=segments) if mass == "lumped" else build(segments=segments, mass=mass)
                progress(f"{problem.name}, {segments} segments, {mass}")
                outcomes += run_static(problem, mass)
    return outcomes


def solve_static(problem: StaticProblem) -> Rest | LoadPath | Modes:
    """A `Rest`, a `Path` or `Modes`, as the problem requires."""
    if problem.kind == "equilibrium":
        return equilibrium(problem.system)
    if problem.kind == "follow":
        return follow(problem.system, problem.parameter, problem.stops)
    return modes(problem.system, n=problem.modes)


def run_static(problem: StaticProblem, mass: str = "lumped") -> list[StaticOutcome]:
    """Solve a problem and compare; what cannot be solved is an outcome too."""
    segments = problem.system.rods[0].segments
    assert segments is not None
    begin = time.process_time()
    try:
        values = problem.quantities(solve_static(problem))
    except (ValueError, RuntimeError) as failure:
        return [StaticOutcome(problem.name, name, segments, mass, note=str(failure)) for name in problem.reference]
    seconds = time.process_time() - begin
    outcomes = []
    for name, trusted in (problem.reference or dict.fromkeys(values)).items():
        value = values.get(name, np.nan)
        if not isinstance(value, float):  # points: their largest distance
            gap = None if trusted is None else float(np.linalg.norm(value - trusted, axis=-1).max())
            outcomes.append(StaticOutcome(problem.name, name, segments, mass, error=gap, seconds=seconds))
            continue
        error = None if trusted is None else abs(value - trusted) / (abs(trusted) if abs(trusted) > 1e-9 else 1.0)
        outcomes.append(StaticOutcome(problem.name, name, segments, mass, value, trusted, error, seconds))
    return outcomes


#: Sets of problems by the name that the command line knows.
SUITES: dict[str, Callable[[Callable[[str], None]], Sequence[Outcome] | Sequence[StaticOutcome]]] = {
    "iftomm": iftomm,
    "rods": rods,
}


def save_json(outcomes: Sequence[Outcome] | Sequence[StaticOutcome], file: str) -> None:
    """Write the outcomes as JSON, to standard output for "-"."""
    text = json.dumps([asdict(o) for o in outcomes], indent=1)
    if file == "-":
        print(text)
    else:
        Path(file).write_text(text + "\n", encoding="utf-8")
