"""Benchmark problems with trusted values: how exact a run is, what it keeps and what it costs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from gyrod import problems
from gyrod.motion import SimulationError
from gyrod.problems import MechanismProblem
from gyrod.solve import simulate

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
    """One run; values are None where there is nothing to tell, ``note`` says why."""

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


#: Sets of problems by the name that the command line knows.
SUITES: dict[str, Callable[[Callable[[str], None]], list[Outcome]]] = {"iftomm": iftomm}


def save_json(outcomes: list[Outcome], file: str) -> None:
    """Write the outcomes as JSON, to standard output for "-"."""
    text = json.dumps([asdict(o) for o in outcomes], indent=1)
    if file == "-":
        print(text)
    else:
        Path(file).write_text(text + "\n", encoding="utf-8")
