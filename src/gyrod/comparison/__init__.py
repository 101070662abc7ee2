"""compare: one system in many formulations and by many methods; what each costs, how exact it is, what it keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gyrod import _check
from gyrod.comparison.results import ORDERS, Comparison, Reference, Trial
from gyrod.comparison.running import CONSTANT, Runner
from gyrod.equations import FORMULATIONS
from gyrod.model import System
from gyrod.motion import Motion
from gyrod.solve import METHODS

__all__ = ["GROUPS", "ORDERS", "SCIPY", "Comparison", "Reference", "Trial", "compare"]

#: CPU seconds for each run unless given; rods have many hopeless combinations.
LIMIT, LIMIT_RODS = 10.0, 3.0
SCIPY = tuple(f"scipy:{name}" for name in ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"))
#: Names that stand for several methods.
GROUPS: dict[str, tuple[str, ...]] = {
    "all": (*METHODS, "bdf", "bdf-dae", *CONSTANT),
    "explicit": tuple(name for name, method in METHODS.items() if not method.stiff),
    "stiff": tuple(name for name, method in METHODS.items() if method.stiff),
    "constant": CONSTANT,
    "scipy": SCIPY,
}


def compare(
    system: System,
    t_end: float,
    *,
    formulations: str | Sequence[str] = "all",
    methods: str | Sequence[str] = "all",
    rtols: float | Sequence[float] = (1e-3, 1e-6),
    steps: float | Sequence[float] | None = None,
    limit: float | None = None,
    points: int = 101,
    reference: Motion | None = None,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Comparison:
    """Simulate a system in many formulations and by many methods, and measure each against a tight reference.

    Parameters
    ----------
    formulations, methods
        Names, or "all"; methods also by group: "explicit", "stiff", "constant" (constant steps), "scipy".
    rtols
        Tolerances of the methods that have one.
    steps
        Constant steps in s for those that have none; by default two that suit the tolerances.
    limit
        CPU seconds for each run, by default 10, with rods 3; one that needs more is stopped, and one without
        hope before; its trial tells what the whole would take.
    points
        Number of times, evenly over the run, at which motions are compared.
    reference
        A `Motion` of the same system to measure against; by default a run of the tightest tolerance that three times
        the limit allows, checked by another method.
    progress
        Called with a sentence before each run.
    options
        Passed on to `simulate`, such as ``norm``, ``atol``, ``projection``.
    """
    t_end = _check.positive("t_end", t_end)
    if not isinstance(system, System):
        raise ValueError(f"system must be a gyrod.System, got {type(system).__name__}.")
    limit = _check.positive("limit", (LIMIT_RODS if system.rods else LIMIT) if limit is None else limit)
    if isinstance(points, bool) or not isinstance(points, int) or points < 2:
        raise ValueError(f"points = {points!r} must be an integer of at least 2.")
    refused = sorted({"formulation", "method", "rtol", "step", "output", "dense", "events"} & options.keys())
    if refused:
        raise ValueError(f"{', '.join(refused)} cannot be given: compare chooses it (formulations, methods, rtols...).")
    wanted = _names("formulations", formulations, {"all": tuple(FORMULATIONS)}, FORMULATIONS)
    chosen = _names("methods", methods, GROUPS, (*GROUPS["all"], *SCIPY))
    tolerances = sorted((_check.positive("rtols", r) for r in np.atleast_1d(rtols).tolist()), reverse=True)
    given = None if steps is None else [_check.positive("steps", h) for h in np.atleast_1d(steps).tolist()]
    if not tolerances or given == []:
        raise ValueError("rtols and steps must hold at least one number.")
    runner = Runner(system, t_end, np.linspace(0.0, t_end, points), limit, options, progress or (lambda _: None))
    runner.refer(reference, tolerances[-1])
    plan = _plan(wanted, chosen)
    trials: list[Trial] = []
    for i, (formulation, method) in enumerate(plan):
        stages = runner.steps(tolerances, given) if method in CONSTANT else tolerances
        trials += runner.pair(formulation, method, stages, f"{i + 1} of {len(plan)}")
    return Comparison(t_end, runner.length, runner.kinetic, limit, runner.reference, tuple(trials))


def _names(argument: str, given: Any, groups: dict[str, tuple[str, ...]], known: Any) -> list[str]:
    """Names and groups as a list of names, each once."""
    found: list[str] = []
    for name in [given] if isinstance(given, str) else list(given):
        _check.choice(argument, name, [*groups, *known])
        found += groups.get(name, (name,))
    if not found:
        raise ValueError(f"{argument} is empty; it can be {', '.join(map(repr, [*groups, *known]))}.")
    return list(dict.fromkeys(found))


def _plan(formulations: Sequence[str], methods: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs to run; constant steps know no formulation, only which coordinates a rotation has."""
    coordinates = [c for c in ("quaternion", "directors") if any(f.endswith(c) for f in formulations)]
    return [(f, m) for m in methods for f in (coordinates if m in CONSTANT else formulations)]
