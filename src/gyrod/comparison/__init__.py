"""compare: one system in many formulations and by many methods; what each costs, how exact it is, what it keeps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gyrod import _check
from gyrod.comparison.discretizations import Discretization, parse
from gyrod.comparison.resting import compare_rests
from gyrod.comparison.results import ORDERS, Comparison, Reference, Trial
from gyrod.comparison.running import Runner
from gyrod.model import System
from gyrod.motion import Motion
from gyrod.runs.formulations import DEFAULT, FORMULATIONS, Formulation
from gyrod.runs.methods import CONSTANT, GROUPS, NAMES, STEPPED
from gyrod.runs.options import APART, OPTIONS, TRIED, warn_old

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gyrod._check import Data

__all__ = ["ORDERS", "Comparison", "Reference", "Trial", "compare"]

#: CPU seconds for each run unless given; rods have many hopeless combinations.
LIMIT, LIMIT_RODS = 10.0, 3.0
#: Times at which motions are compared, at most.
MOST_POINTS = 10**6
#: Options of `simulate` that are on trial, or that a comparison needs for itself.
CHOSEN = {*TRIED, "events", *APART}


def compare(
    system: System,
    t_end: float | None = None,
    *,
    at_rest: bool = False,
    start: str = "model",
    formulations: str | Formulation | Sequence[str | Formulation] | None = None,
    methods: str | Sequence[str] | None = None,
    discretizations: str | Sequence[str] | None = None,
    rtols: float | Sequence[float] = (1e-3, 1e-6),
    steps: float | Sequence[float] | None = None,
    limit: float | None = None,
    points: int = 101,
    reference: Motion | str | None = None,
    progress: Callable[[str], None] | None = None,
    **options: object,
) -> Comparison:
    """Simulate a system in many formulations, by many methods, with many discretisations, and measure each.

    Parameters
    ----------
    at_rest
        Compare equilibria of ``discretizations`` in place of motions: there is no ``t_end``, and ``options`` are those
        of `equilibrium`.
    start
        "model": runs start as the model says; "rest": each at the equilibrium of its discretisation, which formulations
        other than "nullspace-quaternion" refuse.
    formulations, methods
        Names (of a formulation with variants a `Formulation`), or "all"; methods also by group: "explicit", "stiff",
        "constant" (constant steps), "scipy", or "auto", which is what `simulate` takes. By default all; with
        ``discretizations`` "nullspace-quaternion" and "auto".
    discretizations
        Of all rods: texts such as "staggered:40", "elements:8" or "elements:4x6" (degree times number), or "model" for
        the rods as they are. Errors are those in space and in time.
    rtols
        Tolerances of the methods that have one.
    steps
        Constant steps in s for those that have none, each a part of ``t_end``; by default two that suit the tolerances.
    limit
        CPU seconds for each run, by default 10, with rods 3; one that needs more is stopped, and one without
        hope before; its trial estimates the whole cost.
    points
        Number of times, evenly over the run, at which motions are compared; fewer where ``steps`` do not meet in as
        many.
    reference
        A `Motion` of the same system to measure against; by default a run of the tightest tolerance that three times
        the limit allows, checked by another method. With ``discretizations`` one with fine elements, checked with
        coarser ones; a text such as "elements:4x30" chooses them.
    progress
        Called with a sentence before each run.
    options
        Passed on to `simulate`, such as ``norm``, ``atol``, ``projection``.
    """
    if not isinstance(system, System):
        raise ValueError(f"system must be a gyrod.System, got {type(system).__name__}.")
    _check.choice("start", start, ("model", "rest"))
    if at_rest:
        moving = {"t_end": t_end, "formulations": formulations, "methods": methods, "steps": steps}
        return _at_rest(system, discretizations, reference, moving, options, progress or (lambda _: None))
    t_end = _check.positive("t_end", t_end)
    limit = _check.positive("limit", (LIMIT_RODS if system.rods else LIMIT) if limit is None else limit)
    _check.whole("points", points, 2, MOST_POINTS)
    refused = sorted(CHOSEN & options.keys())
    if refused:
        raise ValueError(f"{', '.join(refused)} cannot be given: compare chooses it (formulations, methods, rtols...).")
    warn_old("compare", options)
    spaces = _discretizations(system, discretizations)
    if formulations is None:
        formulations = DEFAULT if spaces or start == "rest" else "all"
    if methods is None:
        methods = "auto" if spaces else "all"
    forms = _formulations(formulations)
    chosen = _names("methods", methods, GROUPS, NAMES)
    tolerances = sorted((_check.positive("rtols", r) for r in np.atleast_1d(rtols).tolist()), reverse=True)
    given = None if steps is None else [_check.positive("steps", h) for h in np.atleast_1d(steps).tolist()]
    if not tolerances or given == []:
        raise ValueError("rtols and steps must hold at least one number.")
    parts = points - 1
    if given is not None and any(method in CONSTANT for method in chosen):
        parts = _common(t_end, given, parts)
    times = np.linspace(0.0, t_end, parts + 1)
    runner = Runner(system, t_end, times, limit, options, progress or (lambda _: None), start, forms)
    fine = parse("reference", reference) if isinstance(reference, str) else None
    if fine is not None and not system.rods:
        raise ValueError(f"reference = {reference!r} is for rods, and the system has none.")
    runner.refer(None if isinstance(reference, str) else reference, tolerances[-1], spaces, fine)
    plan = [(space, *pair) for space in (spaces or (None,)) for pair in _plan(forms, chosen)]
    trials: list[Trial] = []
    for i, (space, formulation, method) in enumerate(plan):
        stages = runner.steps(tolerances, given) if method in CONSTANT else tolerances
        trials += runner.pair(formulation, method, stages, f"{i + 1} of {len(plan)}", space)
    return Comparison(t_end, runner.length, runner.kinetic, limit, runner.reference, tuple(trials))


def _common(t_end: float, steps: Sequence[float], parts: int) -> int:
    """Parts of the time, as many as wanted or fewer, that are multiples of all steps."""
    counts = [round(t_end / h) for h in steps]
    odd = [h for h, n in zip(steps, counts, strict=True) if n < 1 or abs(n * h - t_end) > 1e-9 * t_end]
    if odd:
        near = ", ".join(f"{t_end / max(1, round(t_end / h)):.6g}" for h in odd)
        raise ValueError(
            f"steps = {', '.join(f'{h:g}' for h in odd)}: a run of t_end = {t_end:g} s is not a multiple of these; "
            f"take {near}, or another t_end."
        )
    common = math.gcd(*counts)
    return max(n for n in range(1, min(parts, common) + 1) if common % n == 0)


def _at_rest(
    system: System, discretizations: str | Iterable[str] | None, reference: object, moving: Mapping[str, object],
    options: Data,
    progress: Callable[[str], None],
) -> Comparison:  # fmt: skip
    """The comparison of equilibria, once its arguments are sound."""
    for name, value in moving.items():
        if value is not None:
            raise ValueError(f"{name} = {value!r} is for motions; with at_rest=True leave it out.")
    spaces = _discretizations(system, discretizations)
    if not spaces:
        raise ValueError("at_rest=True compares discretizations; write some, such as ['staggered:40', 'elements:3x8'].")
    if reference is not None and not isinstance(reference, str):
        raise ValueError("reference must be a text such as 'elements:4x30' with at_rest=True, or be left out.")
    fine = None if reference is None else parse("reference", reference)
    return compare_rests(system, spaces, fine, options, progress)


def _discretizations(system: System, given: str | Iterable[str] | None) -> list[Discretization]:
    """Discretisations by their texts, each once; none where none were given."""
    if given is None:
        return []
    if not system.rods:
        raise ValueError(f"discretizations = {given!r} are for rods, and the system has none.")
    found = [parse("discretizations", text) for text in ([given] if isinstance(given, str) else list(given))]
    if not found:
        raise ValueError("discretizations is empty; write some, such as ['staggered:40', 'elements:3x8'].")
    return list(dict.fromkeys(found))


def _names(
    argument: str, given: str | Iterable[str], groups: dict[str, tuple[str, ...]], known: Iterable[str]
) -> list[str]:
    """Names and groups as a list of names, each once."""
    found: list[str] = []
    for name in [given] if isinstance(given, str) else list(given):
        _check.choice(argument, name, [*groups, *known])
        found += groups.get(name, (name,))
    if not found:
        raise ValueError(f"{argument} is empty; it can be {', '.join(map(repr, [*groups, *known]))}.")
    return list(dict.fromkeys(found))


def _formulations(given: str | Formulation | Sequence[str | Formulation]) -> dict[str, Formulation]:
    """Formulations by what they are called in the table, each once."""
    listed = [given] if isinstance(given, (str, Formulation)) else list(given)
    names = [x for x in listed if not isinstance(x, Formulation)]
    known = _names("formulations", names, {"all": tuple(FORMULATIONS)}, FORMULATIONS) if names or not listed else []
    found = [Formulation(name) for name in known] + [x for x in listed if isinstance(x, Formulation)]
    return {form.label: form for form in found}


def _plan(forms: Mapping[str, Formulation], methods: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs to run; constant steps know no formulation, only which coordinates a rotation has."""
    endings = [form.name for form in forms.values()]
    coordinates = [c for c in OPTIONS["coordinates"].words if any(name.endswith(c) for name in endings)]
    return [(f, m) for m in methods for f in (coordinates if m in STEPPED else forms)]
