"""simulate: a model, a formulation and a method to a motion."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from gyrod import _check, storage
from gyrod._check import Array
from gyrod._words import suggests
from gyrod.equations import Compiled, ForceError, mechanisms
from gyrod.model import DistanceSensor, ModelError, System
from gyrod.model.conservation import flowing
from gyrod.motion import Motion, MotionStats, Rest
from gyrod.motion.between import passes_over
from gyrod.runs.formulations import Formulation
from gyrod.runs.methods import PEERS, STEPPED
from gyrod.runs.options import DEFAULTS, MOST_STEPS, TIME, Options, documented, read, refuse_foreign, whole
from gyrod.solve import peers
from gyrod.solve.actions import acting, refuse_actions
from gyrod.solve.assemble import assemble as solve_assembly
from gyrod.solve.budget import EVERY, Forecast, memory_limits
from gyrod.solve.choose import choose_method
from gyrod.solve.companions import of_motion
from gyrod.solve.limits import find_limits
from gyrod.solve.methods import handed, output_times, run_options
from gyrod.solve.options import check_index, check_step, core_options, stepping
from gyrod.solve.outcome import fail, fail_at_start, motion_of
from gyrod.solve.progress import Watcher, ticking
from gyrod.solve.reach import reach
from gyrod.solve.recording import Recording, Session, Target, told
from gyrod.solve.starts import First, begin, from_rest

if TYPE_CHECKING:
    from gyrod.solve.methods import RunValues, StepValues, Watched

#: Tolerance from which on the steps of any method are as long as the motion itself.
UNRESOLVED = 0.05


@suggests
@dataclass(frozen=True)
class Event:
    """A function of time and motion whose zeros are located: ``Event(lambda t, m: m["ball"].position[2])``.

    ``terminal`` ends the run there; ``direction`` +1 takes rising zeros only, -1 falling ones, 0 all. ``action``
    changes velocities there, and the run goes on: a function of time and motion that returns velocities by name,
    ``{"ball": (0, 0, 2)}`` or ``{"ball": {"velocity": (0, 0, 2), "angular_velocity": (0, 0, 0)}}`` of bodies, those of
    all vertices of rods, or None.
    """

    function: Callable[[float, Motion], float]
    terminal: bool = False
    direction: int = 0
    name: str = ""
    action: Callable[[float, Motion], Mapping[str, object] | None] | None = None


@documented(Options)
def simulate(system: System | Rest, t_end: float, **options: Unpack[Options]) -> Motion:
    """Simulate a system from t = 0 to ``t_end``.

    Parameters
    ----------
    system
        A `System`, from its initial configuration, or a `Rest`, from there.
    OPTIONS

    Joints with ``limits`` end the run where one is reached (status "event"); ``motion.events[-1]`` says which. A joint
    that is led goes on, and ``motion.events`` says where it passed.
    """
    given = read("simulate", options, Options, t_end=(TIME, t_end))
    if "accuracy" in given:
        from gyrod.solve.accuracy import accurate

        return accurate(simulate, system, float(t_end), given)
    return of_motion(_solved, system, given, _solved(system, float(t_end), given))


def _solved(system: System | Rest, t_end: float, given: Options) -> Motion:
    """The run itself, of options that are checked."""
    started = time.process_time()
    run = whole(given)
    method = run["method"]
    first, moving = from_rest(system) if isinstance(system, Rest) else (None, system)
    try:
        run["events"] = tuple(run["events"])
    except TypeError:
        raise ValueError(f"events = {_check.shown(run['events'])} must be a list of Event.") from None
    if run["assemble"] and isinstance(moving, System) and moving.joints:
        moving = solve_assembly(moving)
    if isinstance(moving, System):
        t_end, run["output"] = reach(moving, t_end, run["output"])
        run["events"] = (*run["events"], *map(_limit, limited(moving)))
    target = _target(run)
    refuse_foreign(given, method)
    if method in STEPPED:
        return _stepped(moving, first, t_end, run, target, started)
    check_index(Formulation.of(run["formulation"]), method)
    check_step(method, run["step"])
    if method in PEERS:
        peers.require(method)
    compiled = _equations(moving, first, run)
    _check_limited(compiled)
    steps, wanted = stepping(compiled, run), output_times(run["output"], 0.0, t_end)
    if steps["rtol"] >= UNRESOLVED and run["step"] is None:
        _warn_unresolved(steps["rtol"])
    try:
        method = choose_method(method, compiled, steps["rtol"], t_end)
        if method in PEERS:
            return _by_peer(compiled, t_end, method, run, steps, wanted, target, started)
    except ForceError as error:  # outside of the core's own loop
        fail_at_start(error, compiled, method, time.process_time() - started)
    return _by_core(compiled, t_end, method, run, steps, wanted, target, started)


def limited(system: System) -> list[DistanceSensor]:
    """Sensors with a limit, which end a run."""
    return [sensor for sensor in system.sensors if isinstance(sensor, DistanceSensor) and sensor.limit is not None]


def _limit(sensor: DistanceSensor) -> Event:
    def left(_t: float, motion: Motion) -> float:
        return float(motion.sensors[sensor.name]) - float(sensor.limit or 0.0)

    return Event(left, terminal=True, direction=-1, name=f"limit of {sensor.label}")


def _check_limited(compiled: Compiled) -> None:
    """A start beyond a limit is refused."""
    start = Motion(np.asarray(0.0), compiled.y0, MotionStats("", compiled.formulation), _compiled=compiled)
    problems = [
        f"{sensor.label}: limit = {sensor.limit:g} does not hold at the start, where the distance is "
        f"{float(start.sensors[sensor.name]):.6g} m."
        for sensor in limited(compiled.system)
        if float(start.sensors[sensor.name]) < float(sensor.limit or 0.0)
    ]
    if problems:
        raise ModelError(problems)


def _stepped(
    system: System, first: First | None, t_end: float, run: Options, target: Target | None, started: float
) -> Motion:
    """With constant steps."""
    from gyrod.solve import variational

    refuse_actions([event for event in run["events"] if isinstance(event, Event)], run["method"])
    return variational.solve(
        system, t_end, run=run,
        events=lambda compiled: [
            *((e.name, _event(e, compiled, i)) for i, e in enumerate(run["events"])),
            *find_limits(compiled, rods=False).events(),
        ],
        started=started, record=target, first=first,
    )  # fmt: skip


def _equations(system: System, first: First | None, run: Options) -> Compiled:
    """The system in its formulation; joints with their multipliers, where the method keeps these."""
    form = Formulation.of(run["formulation"])
    options = core_options(form, run["method"])
    if run["method"] == "bdf-dae" and isinstance(system, System):
        options |= {"level": 1} if mechanisms.joined(system.assembled()) else {}
    return begin(system, first, form.name, **options)


def _refuse_own(run: Options, method: str, *names: str) -> None:
    """Refuse options that only integrators of the core have."""
    for name, value in ((name, run.get(name)) for name in names):
        if value != DEFAULTS.get(name):
            raise ValueError(f"{name} = {value!r} is for gyrod's own methods, not for {method!r}.")


def _by_peer(
    compiled: Compiled, t_end: float, method: str, run: Options, steps: StepValues, wanted: Array | None,
    target: Target | None, started: float,
) -> Motion:  # fmt: skip
    """By an integrator of others, which writes when it is done."""
    save = run["save"]
    _refuse_own(run, method, "max_steps", "threads")
    if target is not None:
        target.refuse(method)
    with contextlib.nullcontext() if save is None else storage.hold(save) as lock:
        with ticking(run["progress"], t_end) as tick:
            watched = (*run["events"], *find_limits(compiled).names)
            motion = peers.solve(compiled, t_end, method, steps, wanted, watched, started, tick)
        if save is not None:
            storage.save(motion, save, lock=lock)
    return motion


def _by_core(
    compiled: Compiled, t_end: float, method: str, run: Options, steps: StepValues, wanted: Array | None,
    target: Target | None, started: float,
) -> Motion:  # fmt: skip
    """By an integrator of the core, into memory or into a file."""
    events, limits, form = run["events"], find_limits(compiled), Formulation.of(run["formulation"])
    asked = [_event(e, compiled, i) for i, e in enumerate(events)]
    names = [*(e.name for e in events), *limits.names]
    how = run_options(
        project=form.projection == "step", output=wanted, events=asked, max_steps=run["max_steps"] or MOST_STEPS,
        limits=limits.core, threads=run["threads"],
    )  # fmt: skip
    if target is not None:
        info = {
            "method": method, "rtol": run["rtol"], "atol": told(steps["atol"]), "norm": run["norm"], "t_end": t_end,
            "projection": form.projection, "step": run["step"], "first_step": run["first_step"],
            "max_step": run["max_step"], "step_control": run["step_control"], "output": told(wanted), "events": names,
        }  # fmt: skip
        return _recorded(target, compiled, t_end, method, steps, how, info, run["progress"], started)
    knots = (wanted is not None or bool(names)) and passes_over(method, compiled)
    progress, dense = run["progress"], run["dense"]
    with ticking(progress, t_end) as tick:
        how |= {"dense": dense, "knots": knots, "progress": Forecast(t_end, tick)}
        how |= memory_limits()
        how["every"] = 0.0 if progress else EVERY
        found = compiled.core.integrate(
            method, 0.0, compiled.y0, t_end, *handed(steps, how),
            compiled.python or bool(events) or bool(progress),
        )  # fmt: skip
    seconds = time.process_time() - started
    return motion_of(found, compiled, method, seconds, dense, form.projection == "step", names, steps["rtol"])


def _target(run: Options) -> Target | None:
    save, resume, view = run["save"], run["resume"], run["view"]
    if save is None and resume:
        raise ValueError("resume = True needs save, the file whose run is to go on.")
    return None if save is None and not view else Target(save, resume, view)


def _recorded(
    target: Target, compiled: Compiled, t_end: float, method: str, steps: StepValues, how: RunValues,
    info: Mapping[str, Any], progress: bool | Watcher, started: float,
) -> Motion:  # fmt: skip
    """A run of one of the core's own methods into a file."""
    # Dense output, a block at a time, for the flows of energy and for the file where it is small enough.
    kept = bool(storage.keeps_dense(method, compiled.size))
    knots = how["output"] is not None and passes_over(method, compiled) and not kept
    dense = flowing(compiled.system) or kept

    def source() -> Session:
        python = compiled.python or bool(how["events"])
        given = handed(steps, how | {"dense": dense, "knots": knots})
        core = compiled.core.start(method, 0.0, compiled.y0, t_end, *given, python)
        return Session(core, (160 if dense else 16) * compiled.size)

    rows = None if how["output"] is None else len(how["output"])
    with ticking(progress, t_end) as tick, target.showing(compiled, t_end) as live:
        recording = Recording(
            target.file, compiled, t_end, method, info, rows, how["project"], info["events"], tick, live, started, knots
        )
        motion, run = recording.run(source, resume=target.resume)
    if run is not None and run.status not in ("finished", "event"):
        fail(run, motion)
    return motion


def _warn_unresolved(rtol: float) -> None:
    _check.warn(
        f"rtol = {rtol:g} allows an error of {100.0 * rtol:.3g} % of the system's size and speed in every step: "
        "nothing is resolved, and energy may come from nowhere; 1e-3 is coarse, 1e-6 the default."
    )


def _event(event: Event, compiled: Compiled, number: int) -> Watched:
    if not isinstance(event, Event) or not callable(event.function) or event.direction not in (-1, 0, 1):
        raise ValueError(
            f"events[{number}] = {_check.shown(event)} must be an Event(function, terminal, direction in -1, 0, 1)."
        )
    stats = MotionStats("", compiled.formulation)

    def g(t: float, y: Array) -> float:
        try:
            result = event.function(t, Motion(np.asarray(t), y, stats, _compiled=compiled))
        except Exception as error:
            hint = ". An event is a function of time and motion." if "positional argument" in str(error) else ""
            raise ForceError(f"events[{number}] raised {type(error).__name__} at t = {t:g}: {error}{hint}") from error
        try:
            value = float(result)
        except (TypeError, ValueError, OverflowError):
            raise ForceError(
                f"events[{number}] returned {_check.shown(result)} at t = {t:g}; it must return a number."
            ) from None
        if not np.isfinite(value):
            raise ForceError(f"events[{number}] returned {value} at t = {t:g}.")
        return value

    return g, bool(event.terminal), int(event.direction), acting(event.action, compiled, number)
