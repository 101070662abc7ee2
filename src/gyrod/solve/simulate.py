"""simulate: a model, a formulation and a method to a motion."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import _check, storage
from gyrod.equations import FORMULATIONS, Compiled, ForceError, mechanisms
from gyrod.model import ModelError, System
from gyrod.model.conservation import flowing
from gyrod.motion import Motion, MotionStats, Rest, SimulationError, SimulationInterrupted
from gyrod.motion.between import hermite, passes_over
from gyrod.solve.assemble import assemble as solve_assembly
from gyrod.solve.budget import EVERY, Forecast, memory_limits
from gyrod.solve.companions import of_motion, with_errors
from gyrod.solve.limits import find_limits
from gyrod.solve.methods import METHODS, handed, most_steps, output_times, run_options, step_options
from gyrod.solve.progress import Watcher, ticking
from gyrod.solve.recording import Recording, Session, Target, raise_interrupted, told
from gyrod.solve.starts import begin, from_rest

Array = NDArray[np.float64]

NORMS = ("physical", "plain")
PROJECTIONS = ("step", "none")
#: All that ``method`` may be, but "scipy:...".
ALL_METHODS = ("auto", *METHODS, "bdf", "bdf-dae", "variational", "energy-momentum")
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
        With constant steps, for rigid bodies: "variational" (symplectic) and "energy-momentum" (conserving).
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
    coordinates, sigma, potential
        For "variational" (the first also for "energy-momentum"): "quaternion" or "directors"; the part of the inertia
        that is taken with a constant mass matrix, "mean" (of the principal moments), a number, one for each body, or a
        dictionary by name; the potential at the "midpoint" of a step or at its "nodes".
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
    stepped = {"coordinates": coordinates, "sigma": sigma, "potential": potential}
    target = _target(save, resume, view)
    if method in ("variational", "energy-momentum"):
        from gyrod.solve import variational

        if first is not None:
            raise ValueError(f"method = {method!r} starts from a System, not from a Rest.")

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
            bar=ticking(progress, t_end), started=started, record=target,
        )  # fmt: skip
    for name, value in stepped.items():
        if value is not None:
            raise ValueError(f"{name} = {value!r} belongs to method = 'variational', not to {method!r}; leave it out.")
    if isinstance(method, str) and method.startswith("bdf"):
        from gyrod.solve import peers

        peers.require(method)
    options = _variants(formulation, baumgarte, velocity, equation, fictive_moment, director_projection)
    options |= _constraint_options(index, null_space, method)
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
    steps = step_options(compiled.size, rtol, _atol(atol, compiled), scale, step, first_step, max_step)
    most = most_steps(max_steps)
    if steps["rtol"] >= UNRESOLVED and step is None:
        _warn_unresolved(steps["rtol"])
    try:
        method = _method(method, compiled, rtol, t_end)
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
    return _motion(run, compiled, method, seconds, dense, projection == "step", names)


def _sound(t_end: Any, formulation: Any, method: Any, rtol: Any, norm: Any, projection: Any) -> float:
    """Check what stands by itself, all of it at once."""
    found = []
    for check, *arguments in (
        (_check.positive, "t_end", t_end),
        (_check.choice, "formulation", formulation, FORMULATIONS),
        (_known, method),
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
        _raise(run, motion)
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


def _motion(
    run: Any, compiled: Compiled, method: str, seconds: float, dense: bool, projected: bool, names: list[str],
) -> Motion:  # fmt: skip
    stats = MotionStats(method, compiled.formulation, **run.stats, seconds=seconds)
    known: Any = run.evaluate if dense and len(run.step_ends) > 1 else None
    t, y, steps, knots = run.t, run.y, run.step_ends, (run.knots_t, run.knots_y)  # each of them a copy
    accepted = np.array_equal(t, steps)
    notes: tuple[str, ...] = ()
    if run.dense_given_up:
        known = partial(hermite, compiled, t, y) if accepted else None
        notes = (_given_up(method, known is not None),)
    beyond = None
    if run.status == "event" and len(knots[0]) and knots[0][-1] > run.t_stop:
        beyond = float(knots[0][-1]), knots[1][-1]
        if accepted:  # the rows, but the last
            knots = np.append(t[:-1], beyond[0]), np.concatenate([y[:-1], beyond[1][None]])
    elif accepted:
        knots = t[:0], y[:0]
    motion = Motion(
        t=t,
        y=y,
        stats=stats,
        status=run.status,
        steps=steps,
        _compiled=compiled,
        notes=notes,
        _dense=known,
        _accepted=knots if known is None and len(knots[0]) > 1 else None,
        _beyond=beyond,
        _projected=projected,
    )
    found = [(int(e), t, y, names[int(e)]) for e, t, y in run.crossings]
    object.__setattr__(motion, "events", motion._recorded(found))
    if run.status not in ("finished", "event"):
        _raise(run, motion)
    return motion


def _raise(run: Any, motion: Motion) -> None:
    t, method = run.t_stop, motion.stats.method
    where = f"t = {t:.10g}"
    if run.status == "interrupted":
        raise_interrupted(run.raise_failure, where, motion)
    cause: BaseException | None = None
    blocked = motion.compiled.blocked(t, run.y_stop) if run.status in ("underflow", "refused") else None
    if run.status == "underflow":
        message = f"{method} cannot meet the tolerance at {where}: the step falls below rounding (h = {run.h_stop:.2g})"
        message += (
            f", since {blocked}. {mechanisms.BLOCKED}."
            if blocked
            else ". Loosen rtol, look for a singularity or a discontinuity there, or try another method."
        )
    elif run.status == "not-finite":
        message = f"the state is not finite after {where}; the motion up to there is in .motion."
    elif run.status == "refused":
        message = f"at {where} {run.reason}" + (f"; {blocked}. {mechanisms.BLOCKED}." if blocked else ".")
    elif run.status == "too-many-steps":
        message = (
            f"{method} took {motion.stats.steps} steps, as many as max_steps allows, and stopped at {where}; .motion "
            "holds the motion up to there. Give more, a larger rtol or another method, or check the units of the model."
        )
    elif run.status == "too-many-rows":
        message = _too_large(motion, where, "its rows would fill the memory")
    else:
        try:
            run.raise_failure()
        except KeyboardInterrupt:
            raise SimulationInterrupted(f"interrupted at {where}; .motion holds what was computed", motion) from None
        except ForceError as error:
            message, cause = str(error), error.__cause__ or error
        except MemoryError as error:
            message, cause = _too_large(motion, where, "the memory is exhausted"), error
        except RuntimeError as error:  # a sentence of the core
            message, cause = f"at {where} {error}", error
        except Exception as error:
            message, cause = f"{type(error).__name__} at {where}: {error}", error
        else:
            message = f"the run failed at {where}."
    raise SimulationError(message, t, run.y_stop, motion) from cause


def _given_up(method: str, rows: bool) -> str:
    between = "motion(t) interpolates its rows by cubics" if rows else "motion(t) is not available"
    return (
        f"the dense output of {method} would have taken more than an eighth of the free memory and was given up: "
        f"{between}. save= keeps it in a file; max_steps= bounds a run."
    )


def _too_large(motion: Motion, where: str, why: str) -> str:
    return (
        f"the run stops at {where} after {motion.stats.steps} steps: {why} ({len(motion.t)} rows of "
        f"{motion.compiled.size} numbers, {motion.y.nbytes / 1e9:.2g} GB). save= writes them into a file meanwhile, "
        "output= keeps fewer; .motion holds the motion up to there."
    )


def _warn_unresolved(rtol: float) -> None:
    _check.warn(
        f"rtol = {rtol:g} allows an error of {100.0 * rtol:.3g} % of the system's size and speed in every step: "
        "nothing is resolved, and energy may come from nowhere; 1e-3 is coarse, 1e-6 the default."
    )


def _variants(
    formulation: str,
    baumgarte: tuple[float, float] | None,
    velocity: str,
    equation: str,
    fictive_moment: str,
    director_projection: str,
) -> dict[str, Any]:
    options: dict[str, Any] = {
        "spatial": _check.choice("velocity", velocity, ("material", "spatial")) == "spatial",
        "printed": _check.choice("equation", equation, ("exact", "printed")) == "printed",
        "fictive_moment": _check.choice("fictive_moment", fictive_moment, ("zero", "half-trace")) == "half-trace",
        "polar": _check.choice("director_projection", director_projection, ("spurrier", "polar")) == "polar",
    }
    supported = {
        "spatial": ("velocity = 'spatial'", "nullspace-", "the nullspace formulations"),
        "printed": ("equation = 'printed'", "absolute-quaternion", "'absolute-quaternion'"),
        "fictive_moment": ("fictive_moment = 'half-trace'", "absolute-quaternion", "'absolute-quaternion'"),
        "polar": ("director_projection = 'polar'", "-directors", "the director formulations"),
    }
    for key, (what, part, which) in supported.items():
        if options[key] and part not in str(formulation):
            raise ValueError(f"{what} works with {which} only, not with {formulation!r}.")
    if baumgarte is not None:
        if not str(formulation).startswith("absolute"):
            raise ValueError(f"baumgarte = {baumgarte!r} serves the absolute formulations, not {formulation!r}.")
        try:
            omega, r = baumgarte
        except (TypeError, ValueError):
            raise ValueError(f"baumgarte = {baumgarte!r} must be two numbers (omega, r).") from None
        options["baumgarte_omega"] = _check.positive("baumgarte[0] (omega)", omega)
        options["baumgarte_r"] = _check.positive("baumgarte[1] (r)", r)
    return options


def _constraint_options(index: int, null_space: str, method: str) -> dict[str, Any]:
    if index not in (0, 1, 2, 3) or isinstance(index, bool):
        raise ValueError(f"index = {index!r} is unknown; it can be 0, 1, 2 or 3.")
    _check.choice("null_space", null_space, ("analytic", "qr"))
    if index and null_space == "qr":
        raise ValueError("null_space = 'qr' eliminates the multipliers, index = 0; leave one of them out.")
    serves = ("auto", "radau5", "bdf-dae") if index == 1 else ("auto", "radau5")
    if index and method not in serves:
        raise ValueError(
            f"index = {index} is a differential-algebraic system, which method = {method!r} does not serve; use "
            f"{' or '.join(map(repr, serves[1:]))}, or index = 0."
        )
    return {"level": index, "qr": True} if null_space == "qr" else {"level": index} if index else {}


def _atol(atol: Any, compiled: Compiled) -> ArrayLike | None:
    if not isinstance(atol, Mapping):
        return atol  # type: ignore[no-any-return]
    for kind, value in atol.items():
        _check.choice("atol", kind, ("position", "rotation", "velocity", "spin"))
        _check.positive(f"atol[{kind!r}]", value)
    if not atol:
        raise ValueError("atol = {} is empty; give tolerances by kind, a number, or leave it out.")
    return np.array([float(atol.get(kind, min(atol.values()))) for kind in compiled.kinds])


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


def _known(method: Any) -> str:
    scipy = [f"scipy:{m}" for m in ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA")]
    named = isinstance(method, str) and method.startswith("scipy:")
    return _check.choice("method", method, scipy if named else ALL_METHODS)


def _method(method: str, compiled: Compiled, rtol: float, t_end: float) -> str:
    """The method asked for, or one chosen by the eigenvalues of the Jacobian at the start against the time scale."""
    if _known(method) != "auto":
        return method
    if compiled.rods:
        # Measured: an implicit method wins unless the fast waves of the rod are to be resolved anyway.
        resolved = rtol <= 1e-7 and max(compiled.rod_spectrum()) * t_end <= 1e5
        return "dop853" if resolved else "radau5" if rtol < 1e-3 else "rodas"
    explicit, stiff = ("dop853", "radau5") if rtol < 1e-4 else ("dopri5", "rodas")
    sprung = any(np.any(getattr(j, k, 0.0)) for j in compiled.system.joints for k in ("stiffness", "damping"))
    if not compiled.system.forces and not sprung:
        return explicit  # nothing but gravity and spin
    fastest, damping = _spectrum(compiled)
    spins = max(float(np.linalg.norm(b.angular_velocity)) for b in compiled.system.bodies)
    scales = compiled.scales()
    slow = max(spins, float(scales[-1]) if compiled.kinds[-1] == "spin" else 1.0)
    # An explicit method resolves oscillations anyway; damping, or an oscillation far beyond everything else, is stiff.
    # A step of a mechanism costs 50 right-hand sides (docs/mechanisms.md): stiffness must be larger to pay.
    damped, swinging = (30.0 if compiled.mechanism is None else 400.0), 1000.0
    return stiff if damping > damped * max(slow, fastest) or fastest > swinging * slow else explicit


def _spectrum(compiled: Compiled) -> tuple[float, float]:
    """Largest frequency and largest damping rate of the linearised system at the start."""
    if compiled.size <= 600:
        try:
            jacobian = compiled.core.jacobian(0.0, compiled.y0)
        except ValueError:
            jacobian = np.full(1, np.nan)
        if not np.isfinite(jacobian).all():
            raise ValueError(
                "method = 'auto' cannot choose: the Jacobian at the start is not finite: numbers of the model are "
                "too large or too far apart. Check their units, or name a method."
            )
        eigenvalues = np.linalg.eigvals(jacobian)
        return float(np.abs(eigenvalues.imag).max()), float(max(0.0, -eigenvalues.real.min()))
    # Large systems: power iteration with differences of the right-hand side, no dense matrix.
    y, f = compiled.y0, compiled.core.rhs(0.0, compiled.y0)
    v = np.random.default_rng(0).normal(size=len(y))
    growth, real = 0.0, 0.0
    for _ in range(60):
        v /= np.linalg.norm(v)
        w = (compiled.core.rhs(0.0, y + 1e-7 * v) - f) / 1e-7
        growth, real = float(np.linalg.norm(w)), float(v @ w)
        if growth == 0.0:
            break
        v = w
    return (0.0, growth) if -real > 0.9 * growth else (growth, 0.0)
