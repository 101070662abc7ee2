"""What a plan is checked for, before anything runs: options, names that vary, outputs and their shapes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod import _check
from gyrod._words import meant
from gyrod.equations import compile_system
from gyrod.model import ModelError, System, changes
from gyrod.model.errors import shown
from gyrod.motion import Motion, MotionStats, Rest, SimulationError
from gyrod.runs.formulations import DEFAULT, Formulation
from gyrod.runs.methods import STEPPED, rigid
from gyrod.runs.options import APART, OPTIONS, folded, warn_old
from gyrod.solve.assemble import assemble
from gyrod.solve.members import members
from gyrod.solve.simulate import Event
from gyrod.solve.statics import EquilibriumError, equilibrium
from gyrod.studies.design import Design
from gyrod.studies.outputs import Custom, Measured, Output, output
from gyrod.studies.solving import STARTS, solved

if TYPE_CHECKING:
    from gyrod.studies.plan import Plan

#: Runs that are tried for one that shows the shapes of outputs.
TRIES = 10
Shapes = dict[str, tuple[int, ...]]


def called(function: object) -> str:
    """How a function is named in sentences."""
    return f"{getattr(function, '__qualname__', None) or type(function).__name__}()"


# --- options and names -----------------------------------------------------------------------------------------------


def starts(at_rest: object, start: object, lanes: object) -> list[str]:
    """What is wrong with where runs start."""
    problems = []
    if not isinstance(at_rest, (bool, np.bool_)):
        problems.append(f"at_rest = {shown(at_rest)} must be True or False.")
    try:
        _check.choice("start", start, STARTS)
    except ValueError as error:
        problems.append(str(error))
    if at_rest is True and start == "rest":
        problems.append("start = 'rest' is for motions; with at_rest=True leave it out.")
    elif (at_rest is True or start == "rest") and lanes != 1:
        problems.append(f"lanes = {shown(lanes)}: equilibria are found one by one; leave it out.")
    return problems


def options(run: Mapping[str, object], problems: list[str], *, at_rest: bool = False) -> dict[str, object]:
    """Options of `simulate`, or of `equilibrium`, known by name; their values are for these to judge."""
    chosen = ("guess",) if at_rest else APART
    own = [x.name for x in inspect.signature(equilibrium).parameters.values() if x.kind is x.KEYWORD_ONLY]
    known = [name for name in (own if at_rest else OPTIONS) if name not in chosen]
    found: dict[str, object] = {}
    if not at_rest:
        warn_old("a study", run)
    for name, value in (run if at_rest else folded(run)).items():
        if at_rest and name == "guess":
            problems.append("guess cannot be given: each run of a study has a model of its own.")
        elif name in chosen:
            problems.append(f"{name} = {shown(value)} cannot be given: what a study keeps follows from its outputs.")
        elif name not in known:
            hint = meant(name, known)
            problems.append(f"{name} = {shown(value)} is unknown; it can be {', '.join(map(repr, known))}.{hint}")
        elif name == "events":
            if isinstance(value, (tuple, list)) and all(isinstance(x, Event) for x in value):
                found[name] = tuple(value)
            else:
                problems.append(f"events = {shown(value)} must be a list of Event.")
        elif name == "formulation" and not at_rest:
            try:
                found[name] = Formulation.of(value).short
            except ValueError as error:
                problems += getattr(error, "problems", (str(error),))
        else:
            found[name] = value
    return found


def paths(whole: System | Mapping[str, object], vary: object, runs: Design | None) -> list[str]:
    """What a system, or arguments, say to the paths that vary, and to the shapes of their values."""
    names, problems = _names(vary), []
    try:
        changes._collected(whole, dict.fromkeys(names), {}, lambda path: changes.address(whole, path))
    except ModelError as error:
        problems = [f"vary: {sentence}" for sentence in error.problems]
    return problems if runs is None else problems + [x for name in names if (x := _unfit(whole, name, runs))]


def _names(vary: object) -> list[str]:
    return [name for name in vary if isinstance(name, str) and name] if isinstance(vary, Mapping) else []


def _unfit(whole: System | Mapping[str, object], name: str, runs: Design) -> str | None:
    """Why values cannot stand at a path; None if they can."""
    try:
        there = changes.value_at(whole, name)
    except ModelError:  # its path is reported already
        return None
    if there is None or callable(there) or getattr(there, "function", None) is not None:
        return None
    if isinstance(there, bool) or not isinstance(there, (int, float, np.number, np.ndarray)):
        return f"vary[{name!r}]: {shown(there)} is not a number; vary numbers in it, or take a function as the model."
    shape = runs.lists[name].shape[1:] if name in runs.lists else ()
    if shape == np.shape(there):
        return _fractions(name, runs) if isinstance(there, int) else None
    wanted = "numbers" if np.shape(there) == () else f"arrays of shape {np.shape(there)}"
    given = "numbers" if shape == () else f"arrays of shape {shape}"
    return f"vary[{name!r}] must hold {wanted}, as {shown(there)} is one, not {given}."


def _fractions(name: str, runs: Design) -> str | None:
    """Why values cannot stand where a whole number does; None if they can."""
    if runs.whole(name):
        return None
    label = f"vary[{name!r}] must hold whole numbers"
    if name in runs.lists:
        values = runs.lists[name]
        other = values[values != np.rint(values)]
        return (
            f"{label}, not {other[0]:g}." if len(other) else f"{label}; write {values[0]:.0f} in place of {values[0]}."
        )
    return f"{label}; take a list of them, or a discrete distribution such as scipy.stats.randint(6, 9)."


def signature(function: Any, vary: object) -> list[str]:
    """Arguments that a function does not have, and those that it needs and does not get."""
    names = _names(vary)
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C
        return []
    known = [x.name for x in arguments if x.kind in (x.POSITIONAL_OR_KEYWORD, x.KEYWORD_ONLY)]
    problems = []
    if not any(x.kind is x.VAR_KEYWORD for x in arguments):
        has = f"has the arguments {', '.join(map(repr, known))}" if known else "has no arguments"
        for name in names:
            if name not in known:
                problems.append(f"vary[{name!r}]: the model, {called(function)}, {has}.{meant(name, known)}")
    for x in arguments:
        needed = x.default is x.empty and x.kind not in (x.VAR_KEYWORD, x.VAR_POSITIONAL)
        if needed and x.name not in names:
            problems.append(f"the model, {called(function)}, needs {x.name!r}; vary it, or give it a default.")
    return problems


def outputs(given: object, problems: list[str]) -> dict[str, Output]:
    """Outputs by name, as they may be given."""
    if not isinstance(given, Mapping) or not given:
        problems.append("outputs must be a dictionary from names to quantities, such as {'tip': 'hose.positions[-1]'}.")
        return {}
    found = {}
    for name, x in given.items():
        if not isinstance(name, str) or not name.strip():
            problems.append(f"outputs: {shown(name)} must be the name of an output, text.")
            continue
        try:
            found[name] = output(x)
        except ValueError as error:
            problems.append(f"outputs[{name!r}]: {error}")
    return found


# --- shapes ----------------------------------------------------------------------------------------------------------


def shapes(plan: Plan, wanted: Mapping[str, Output], problems: list[str]) -> tuple[tuple[Output, ...], Shapes]:
    """Outputs as the model has them, and the shape of each without the axis of the runs."""
    try:
        model, start = _start(plan)
    except ModelError as error:
        raise ModelError([*problems, *error.problems]) from error.__cause__
    bound: dict[str, Output] = {}
    found: Shapes = {}
    for name, given in wanted.items():
        try:
            bound[name] = made = given.bound(name, start.compiled.system, plan.t_end)
            if plan.at_rest:
                made.check_rest()
            if not isinstance(made.quantity, Measured):
                found[name] = made.shape(made.quantity.shape(start))
        except ValueError as error:
            problems.append(f"outputs[{name!r}]: {error}")
    problems += [] if problems else _refused(plan, model, start)
    if problems:
        raise ModelError(problems)
    measured = [x for x in bound.values() if x.name not in found]
    if measured:
        found |= _measured(replace(plan, outputs=tuple(bound.values())), measured)
    return tuple(bound.values()), {name: found[name] for name in bound}


def _runs(plan: Plan) -> Iterator[dict[str, object]]:
    """Parameters of the first runs, one after the other."""
    count = min(TRIES, plan.size)
    columns = plan.parameters(0, count)
    for i in range(count):
        yield {name: column[i] for name, column in columns.items()}


def _start(plan: Plan) -> tuple[System | Rest, Motion]:
    """The model and its start, as a motion of one row: if it is made anew those of the first run that can be made."""
    if plan.model.system is not None:
        return plan.model.system, _first_row(plan, plan.model.system)
    problem: Exception | None = None
    for values in _runs(plan):
        try:
            made = plan.made(values)
            return made, _first_row(plan, made.system if isinstance(made, Rest) else made)
        except Exception as error:  # it is the user's function: it may raise anything
            problem = problem or error
    assert problem is not None
    told = str(problem) if isinstance(problem, ValueError) else f"{type(problem).__name__}: {problem}"
    raise ModelError(f"none of the first runs can be made; the first says: {told}") from problem


def _first_row(plan: Plan, system: System) -> Motion:
    formulation = Formulation.of(plan.options.get("formulation", DEFAULT)).name
    try:
        ready = assemble(system) if plan.options.get("assemble") is True and system.joints else system
        compiled = compile_system(
            ready, formulation, at_rest=plan.at_rest or plan.start == "rest", hard=rigid(plan.options.get("method"))
        )
    except ModelError:
        raise
    except (ValueError, RuntimeError) as error:
        raise ModelError(str(error)) from error
    none = np.zeros(1)
    return Motion(
        none, compiled.y0[None], MotionStats("", formulation), steps=none, _compiled=compiled,
        _flows=lambda: (none, none, none),
    )  # fmt: skip


def _refused(plan: Plan, made: System | Rest, start: Motion) -> list[str]:
    """Options that would refuse every run, found by a run that is one step long."""
    step, method = plan.options.get("step"), plan.options.get("method")
    try:
        if plan.at_rest:
            solved(made, 0.0, dict(plan.options), at_rest=True, start=plan.start)
            return []
        compiled = start.compiled
        short = 1e-6 * min(plan.t_end, compiled._time(compiled._length()))
        if step is not None:
            short = min(_check.positive("step", step), plan.t_end)
        if step is not None and method in STEPPED:
            from gyrod.solve.variational import steps_of

            steps_of(plan.t_end, short)
        solved(made, short, {"dense": False, **plan.options}, at_rest=False, start=plan.start)
    except (SimulationError, EquilibriumError):
        return []  # what happens in a run is for the run to report
    except ModelError as error:
        return list(error.problems)
    except (ValueError, TypeError, ImportError) as error:
        return [str(error)]
    return []


def _measured(plan: Plan, measured: list[Output]) -> Shapes:
    """Shapes of outputs that functions of the user make: those of the first run that succeeds."""
    problem: Exception | None = None
    for values in _runs(plan):
        try:
            motion = plan.solved(values)
        except Exception as error:  # a model may be a function of the user
            problem = problem or error
            continue
        problems: list[str] = []
        found: Shapes = {}
        for x in measured:
            try:
                found[x.name] = x.of(motion).shape
                if not isinstance(x, Custom) and isinstance(motion, Motion):
                    x.shape(x.quantity.read(motion).shape[1:])
            except Exception as error:  # it is the user's function: it may raise anything
                told = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
                problems.append(f"outputs[{x.name!r}]: {told}")
        if problems:
            raise ModelError(problems)
        return found
    raise ModelError(f"none of the first runs succeeds, and outputs need one; the first says: {problem}") from problem


# --- lanes -----------------------------------------------------------------------------------------------------------


def lanes(plan: Plan) -> None:
    """Refuse lanes for runs that cannot go in them."""
    system = plan.model.system
    found = None if system is None else members(system, plan.names, plan.t_end, **plan.run_options())
    reason = (
        "more than stiffness, damping, masses and gravity of rods varies, or Python is called while they run"
        if found is None
        else found.apart()
    )
    if reason is not None:
        raise ModelError(f"lanes = {plan.lanes}: these runs cannot be integrated together: {reason}; leave it out.")
