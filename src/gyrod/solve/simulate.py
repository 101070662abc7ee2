"""simulate: a model, a formulation and a method to a motion."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import _check, storage
from gyrod.equations import FORMULATIONS, Compiled, ForceError, mechanisms
from gyrod.model import ModelError, System
from gyrod.model.conservation import flowing
from gyrod.motion import Motion, MotionStats, Rest, SimulationError
from gyrod.motion.between import passes_over
from gyrod.solve.assemble import assemble as solve_assembly
from gyrod.solve.budget import EVERY, Forecast, memory_limits
from gyrod.solve.choose import choose_method, known_method
from gyrod.solve.companions import of_motion, with_errors
from gyrod.solve.limits import find_limits
from gyrod.solve.methods import handed, most_steps, output_times, run_options, step_options
from gyrod.solve.options import atol_of, constraint_options, variants
from gyrod.solve.outcome import fail, motion_of
from gyrod.solve.progress import Watcher, ticking
from gyrod.solve.recording import Recording, Session, Target, told
from gyrod.solve.starts import begin, from_rest

Array = NDArray[np.float64]

NORMS = ("physical", "plain")
PROJECTIONS = ("step", "none")
#: Tolerance from which on the steps of any method are as long as the motion itself.
UNRESOLVED = 0.05


class _Rtol(float):
    """The tolerance that was not given: constant steps refuse one that was."""


class _Norm(str):
    """The norm that was not given."""

    __slots__ = ()


@dataclass(frozen=True)
class Event:
    """A function of time and motion whose zeros are located: ``Event(lambda t, m: m["ball"].position[2])``.

    ``terminal`` ends the run there; ``direction`` +1 takes rising zeros only, -1 falling ones, 0 all.
    """

    function: Callable[[float, Motion], float]
    terminal: bool = False
    direction: int = 0
    name: str = ""


@with_errors(of_motion)
def simulate(
    system: System | Rest,
    t_end: float,
    *,
    formulation: str = "nullspace-quaternion",
    method: str = "auto",
    rtol: float = _Rtol(1e-6),
    atol: float | ArrayLike | Mapping[str, float] | None = None,
    norm: str = _Norm("physical"),
    projection: str = "step",
    step: float | None = None,
    first_step: float | None = None,
    max_step: float | None = None,
    max_steps: int | None = None,
    output: ArrayLike | None = None,
    events: Sequence[Event] = (),
    dense: bool = True,
    baumgarte: tuple[float, float] | None = None,
    velocity: str = "material",
    equation: str = "exact",
    fictive_moment: str = "zero",
    director_projection: str = "spurrier",
    index: int = 0,
    null_space: str = "analytic",
    reduce: bool = True,
    assemble: bool = False,
    coordinates: str | None = None,
    sigma: Any = None,
    potential: str | None = None,
    order: int | None = None,
    progress: bool | Watcher = False,
    save: str | os.PathLike[str] | None = None,
    resume: bool = False,
    view: bool = False,
    error: str = "rough",
    accuracy: float | Mapping[str, float] | None = None,  # noqa: ARG001
) -> Motion:
    """Simulate a system from t = 0 to ``t_end``.

    Parameters
    ----------
    system
        A `System`, from its initial configuration, or a `Rest`, from there.
    formulation
        "nullspace-quaternion", "nullspace-directors", "absolute-quaternion", "absolute-directors" or "euler".
    method
        "dopri5", "dop853", "odex" (explicit); "radau5", "rodas", "seulex" (stiff); "bdf" (SUNDIALS CVODE, an extra) and
        "bdf-dae" (IDA on the index-1 form of the absolute formulations, multipliers kept); "scipy:RK45" and the other
        methods of ``solve_ivp``; or "auto", which estimates stiffness and says in ``motion.stats.method`` what it took.
        With constant steps: "variational" (symplectic) and, for rigid bodies, "energy-momentum" (conserving).
    rtol, atol
        Tolerances. With ``norm="plain"`` the error of a component is measured against atol + rtol |y| (atol = rtol
        unless given), as in the published codes; with "physical" against its scale (a length, 1, their rates) times
        atol + rtol. ``atol`` may be a number, one for each unknown, or by kind ("position", "rotation", "velocity",
        "spin").
    projection
        "step": back to the constraint manifold after every accepted step; "none".
    step, first_step, max_step
        Constant step; limits of the automatic one. The methods that need a constant step refuse a ``t_end`` that is no
        multiple of it. "radau5" solves its stages to ``rtol`` with a constant step too.
    max_steps
        Accepted steps after which the run stops with a `SimulationError`, which keeps the motion up to there.
    output
        Times at which the motion is wanted; every accepted step otherwise, the last exactly at ``t_end``. The methods
        with constant steps keep nodes: times that are multiples of the step, or an integer for every so many steps.
    events
        Event functions, located on the projected dense output.
    dense
        Keep what ``motion(t)`` needs. Where it would take more than an eighth of the free memory it is given up, and
        ``motion.notes`` says so; rows may take a sixth, then the run stops.
    baumgarte
        (omega, r) in 1/s for the absolute forms: g'' + 2 r g' + omega² g = 0.
    velocity, equation, fictive_moment, director_projection
        Variants: "material" or "spatial" velocities of the null-space forms; "exact" or "printed" eq. (40); "zero" or
        "half-trace" for I0; "spurrier" or "polar".
    index
        For bodies with joints in absolute coordinates: 0, the multipliers eliminated (an ordinary differential
        equation); 1, 2, 3, accelerations and multipliers kept as unknowns and the constraint imposed on the level of
        acceleration, velocity or position, for "radau5" (and "bdf-dae" with 1).
    null_space
        "qr": accelerations of the absolute forms by a numerical null space of all constraints; dense.
    reduce
        Whether bodies whose only joint is a `Spherical` to ground turn about that point, without position coordinates.
    assemble
        Whether a start whose joints do not meet, or do not move as their drives say, is mended as by `gyrod.assemble`.
    coordinates, sigma, potential, order
        For "variational" (the first also for "energy-momentum"): "quaternion" or "directors"; the part of the inertia
        that is taken with a constant mass matrix, "mean" (of the principal moments), a number, one for each body, or a
        dictionary by name; the potential at the "midpoint" of a step or at its "nodes"; 2 or 4, five steps in one.
    progress
        Show a progress bar; or a function of a `Progress` that is called now and then, and may raise to end the run.
    save
        File (HDF5, see `gyrod.open`) into which the run is written while it goes on: a kill, a full disk or an error
        keeps what was written, and memory does not grow with the run. The motion that is returned reads from it.
    resume
        With ``save``: go on from the checkpoint of a run that was interrupted or killed, bit for bit as if it had not
        been (on the same build; forces of the user must be functions of their arguments alone). A run that was finished
        is only opened; where there is none, it begins.
    view
        Open the viewer in the browser and show the motion while it is computed.
    error
        What ``motion.error`` says: "rough" figures, which cost nothing; "total" errors of all quantities, by a second
        run on half the mesh with a looser tolerance (about 1.5 times the cost); their "parts", in time and by the mesh,
        by a third one (about twice); or by one on a "finer" mesh, twice that of the run (two to two and a half times),
        which are far nearer to the truth.
    accuracy
        Errors that are allowed, in place of ``rtol`` and the mesh, which are chosen by these estimates, from the mesh
        of the rods on: a share of the size of the system, for positions, and of the largest value, for forces at ends
        and joints; or by quantity in its unit, as ``{"hose.start_force": 0.1}``. ``motion.error`` says what was chosen.

    Joints with ``limits`` end the run where one is reached (status "event"); ``motion.events[-1]`` tells which. A joint
    that is led goes on, and ``motion.events`` tells where it passed.
    """
    started = time.process_time()
    t_end = _sound(t_end, formulation, method, rtol, norm, projection)
    first, system = from_rest(system) if isinstance(system, Rest) else (None, system)
    try:
        events = tuple(events)
    except TypeError:
        raise ValueError(f"events = {_check.shown(events)} must be a list of Event.") from None
    for name, flag in (("reduce", reduce), ("assemble", assemble), ("dense", dense), ("resume", resume)):
        _check.flag(name, flag)
    if assemble and isinstance(system, System) and system.joints:
        system = solve_assembly(system)
    stepped = {"coordinates": coordinates, "sigma": sigma, "potential": potential, "order": order}
    target = _target(save, resume, view)
    if method in ("variational", "energy-momentum"):
        from gyrod.solve import variational

        _refuse_adaptive(
            method,
            rtol=(rtol, rtol if isinstance(rtol, _Rtol) else None),
            norm=(norm, norm if isinstance(norm, _Norm) else None),
            atol=(atol, None), first_step=(first_step, None), max_step=(max_step, None),
            max_steps=(max_steps, None), baumgarte=(baumgarte, None),
            formulation=(formulation, "nullspace-quaternion"), projection=(projection, "step"),
            velocity=(velocity, "material"), equation=(equation, "exact"), fictive_moment=(fictive_moment, "zero"),
            director_projection=(director_projection, "spurrier"), null_space=(null_space, "analytic"),
            index=(index, 0),
        )  # fmt: skip
        return variational.solve(
            system, t_end, method=method, step=step, **stepped, reduce=reduce, output=output, dense=dense,
            events=lambda compiled: [
                *((e.name, _event(e, compiled, i)) for i, e in enumerate(events)),
                *find_limits(compiled, rods=False).events(),
            ],
            bar=ticking(progress, t_end), started=started, record=target, first=first,
        )  # fmt: skip
    for name, value in stepped.items():
        if value is not None:
            raise ValueError(f"{name} = {value!r} belongs to method = 'variational', not to {method!r}; leave it out.")
    if isinstance(method, str) and method.startswith("bdf"):
        from gyrod.solve import peers

        peers.require(method)
    options = variants(formulation, baumgarte, velocity, equation, fictive_moment, director_projection)
    options |= constraint_options(index, null_space, method)
    options |= {} if reduce else {"reduce": False}
    if method == "bdf-dae" and isinstance(system, System):
        whole = system.assembled()
        options |= {"level": 1} if mechanisms.joined(whole) or mechanisms.hosted(whole) else {}
    if options.get("level"):
        method = "radau5" if method == "auto" else method
    compiled = begin(system, first, formulation, **options)
    scale = compiled.scales() if norm == "physical" else None
    limits = find_limits(compiled)
    wanted = output_times(output, 0.0, t_end)
    steps = step_options(compiled.size, rtol, atol_of(atol, compiled), scale, step, first_step, max_step)
    most = most_steps(max_steps)
    if steps["rtol"] >= UNRESOLVED and step is None:
        _warn_unresolved(steps["rtol"])
    try:
        method = choose_method(method, compiled, rtol, t_end)
        if method.startswith(("bdf", "scipy:")):
            from gyrod.solve import peers

            if max_steps is not None:
                raise ValueError(f"max_steps = {max_steps!r} is for gyrod's own methods, not for {method!r}.")
            if target is not None:
                target.refuse(method)
            with contextlib.nullcontext() if save is None else storage.hold(save) as lock:
                with ticking(progress, t_end) as tick:
                    watched = (*events, *limits.names)
                    motion = peers.solve(compiled, t_end, method, steps, wanted, watched, started, tick)
                if save is not None:
                    storage.save(motion, save, lock=lock)
            return motion
    except ForceError as error:  # outside of the core's own loop
        stats = MotionStats(method, formulation, seconds=time.process_time() - started)
        start = Motion(np.zeros(1), compiled.y0[None], stats, "failed", np.zeros(1), _compiled=compiled)
        raise SimulationError(str(error), 0.0, compiled.y0, start) from error.__cause__ or error
    asked = [_event(e, compiled, i) for i, e in enumerate(events)]
    names = [*(e.name for e in events), *limits.names]
    how = run_options(project=projection == "step", output=wanted, events=asked, max_steps=most, limits=limits.core)
    if target is not None:
        info = {
            "method": method, "rtol": float(rtol), "atol": told(steps["atol"]), "norm": str(norm), "t_end": t_end,
            "projection": projection, "step": step, "first_step": first_step, "max_step": max_step,
            "output": told(wanted), "events": names,
        }  # fmt: skip
        return _recorded(target, compiled, t_end, method, steps, how, info, progress, started)
    knots = (wanted is not None or bool(names)) and passes_over(method, compiled)
    with ticking(progress, t_end) as tick:
        how |= {"dense": dense, "knots": knots, "progress": Forecast(t_end, tick), **memory_limits()}
        how["every"] = 0.0 if progress else EVERY
        run = compiled.core.integrate(
            method, 0.0, compiled.y0, t_end, *handed(steps, how),
            compiled.python or bool(events) or bool(progress),
        )  # fmt: skip
    seconds = time.process_time() - started
    return motion_of(run, compiled, method, seconds, dense, projection == "step", names)


def _sound(t_end: Any, formulation: Any, method: Any, rtol: Any, norm: Any, projection: Any) -> float:
    """Check what stands by itself, all of it at once."""
    found = []
    for check, *arguments in (
        (_check.positive, "t_end", t_end),
        (_check.choice, "formulation", formulation, FORMULATIONS),
        (known_method, method),
        (_check.positive, "rtol", rtol),
        (_check.choice, "norm", norm, NORMS),
        (_check.choice, "projection", projection, PROJECTIONS),
    ):
        try:
            check(*arguments)
        except ValueError as error:
            found.append(str(error))
    if found:
        raise ValueError(found[0]) if len(found) == 1 else ModelError(found)
    return float(t_end)


def _target(save: str | os.PathLike[str] | None, resume: bool, view: bool) -> Target | None:
    if save is None and resume:
        raise ValueError("resume = True needs save, the file whose run is to go on.")
    return None if save is None and not view else Target(save, resume, view)


def _recorded(
    target: Target, compiled: Compiled, t_end: float, method: str, steps: dict[str, Any], how: dict[str, Any],
    info: dict[str, Any], progress: bool | Watcher, started: float,
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


def _refuse_adaptive(method: str, **given: tuple[Any, Any]) -> None:
    """Constant steps have no tolerances and their own equations: what differs from its default is refused."""

    def differs(value: Any, default: Any) -> bool:
        return value is not default and (default is None or bool(value != default))

    names = [f"{name} = {value!r}" for name, (value, default) in given.items() if differs(value, default)]
    if names:
        raise ValueError(
            f"{', '.join(names)} cannot be given with method = {method!r}: its steps are constant (step) and its "
            "equations its own (coordinates). Leave out, or choose another method."
        )


def _warn_unresolved(rtol: float) -> None:
    _check.warn(
        f"rtol = {rtol:g} allows an error of {100.0 * rtol:.3g} % of the system's size and speed in every step: "
        "nothing is resolved, and energy may come from nowhere; 1e-3 is coarse, 1e-6 the default."
    )


def _event(event: Event, compiled: Compiled, number: int) -> tuple[Callable[[float, Array], float], bool, int]:
    if not isinstance(event, Event) or not callable(event.function) or event.direction not in (-1, 0, 1):
        raise ValueError(
            f"events[{number}] = {_check.shown(event)} must be an Event(function, terminal, direction in -1, 0, 1)."
        )
    stats = MotionStats("", compiled.formulation)

    def g(t: float, y: Array) -> float:
        try:
            result = event.function(t, Motion(np.asarray(t), y, stats, _compiled=compiled))
        except Exception as error:
            raise ForceError(f"events[{number}] raised {type(error).__name__} at t = {t:g}: {error}") from error
        try:
            value = float(result)
        except (TypeError, ValueError, OverflowError):
            raise ForceError(
                f"events[{number}] returned {_check.shown(result)} at t = {t:g}; it must return a number."
            ) from None
        if not np.isfinite(value):
            raise ForceError(f"events[{number}] returned {value} at t = {t:g}.")
        return value

    return g, bool(event.terminal), int(event.direction)
