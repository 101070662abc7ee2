"""What came of a run of the core: its motion, or the sentence why it cannot continue."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from gyrod.equations import Compiled, ForceError, mechanisms
from gyrod.model import Clamped, Hinged
from gyrod.motion import Motion, MotionStats, SimulationError, SimulationInterrupted
from gyrod.motion.between import hermite
from gyrod.solve import touches
from gyrod.solve.recording import raise_interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

    from gyrod import _core
    from gyrod._check import Array


#: Distance of the ends of a rod over its length from which on it counts as straight.
TAUT = 1.0 - 1e-6
#: What to do about it.
LOOSE = "Keep its ends within its length, or let it extend (strain='kirchhoff' or 'cosserat')"


def motion_of(
    run: _core.Run, compiled: Compiled, method: str, seconds: float, dense: bool, projected: bool, names: list[str],
    rtol: float = 0.0,
) -> Motion:  # fmt: skip
    """The motion of a run that has ended; where it had to, an error that holds it."""
    stats = MotionStats(method, compiled.formulation, **run.stats, seconds=seconds)
    known: Callable[[Array], Array] | None = run.evaluate if dense and len(run.step_ends) > 1 else None
    t, y, steps, knots = run.t, run.y, run.step_ends, (run.knots_t, run.knots_y)  # each of them a copy
    accepted = np.array_equal(t, steps)
    notes = touches.notes(compiled, t, y, rtol)
    if run.dense_given_up:
        known = partial(hermite, compiled, t, y) if accepted else None
        notes = (*notes, _given_up(method, known is not None))
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
        fail(run, motion)
    return motion


def fail_at_start(error: Exception, compiled: Compiled, method: str, seconds: float = 0.0) -> NoReturn:
    """Raise what a user's function did before the first step, or what the core says of the start."""
    stats = MotionStats(method, compiled.formulation, seconds=seconds)
    start = Motion(np.zeros(1), compiled.y0[None], stats, "failed", np.zeros(1), _compiled=compiled)
    sentence = str(error) if isinstance(error, ForceError) else f"at t = 0 {error}"
    raise SimulationError(sentence, 0.0, compiled.y0, start) from error.__cause__ or error


def fail(run: _core.Run, motion: Motion) -> None:
    """Raise why a run has stopped, with the motion up to there."""
    t, method = run.t_stop, motion.stats.method
    where = f"t = {t:.10g}"
    if run.status == "interrupted":
        raise_interrupted(run.raise_failure, where, motion)
    cause: BaseException | None = None
    blocked, remedy = None, mechanisms.BLOCKED
    if run.status in ("underflow", "refused"):
        blocked = motion.compiled.blocked(t, run.y_stop)
        if not blocked and (blocked := taut(motion.compiled, t, run.y_stop)):
            remedy = LOOSE
    if run.status == "underflow" and not blocked and run.h_stop > 3e-15 * t:  # above rounding: a constant step
        message = (
            f"{method} finds no solution of its stages at {where} with the constant step of {run.h_stop:.3g} s; give a "
            "smaller step, or leave step out."
        )
    elif run.status == "underflow":
        message = f"{method} cannot meet the tolerance at {where}: the step falls below rounding (h = {run.h_stop:.2g})"
        message += (
            f", since {blocked}. {remedy}."
            if blocked
            else ". Loosen rtol, look for a singularity or a discontinuity there, or try another method."
        )
    elif run.status == "not-finite":
        message = f"the state is not finite after {where}; the motion up to there is in .motion."
    elif run.status == "refused":
        message = f"at {where} {run.reason}" + (f"; {blocked}. {remedy}." if blocked else ".")
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
            message, cause = f"at {where} {_paired(str(error), motion.compiled)}", error
        except Exception as error:
            message, cause = f"{type(error).__name__} at {where}: {error}", error
        else:
            message = f"the run failed at {where}."
    raise SimulationError(message, t, run.y_stop, motion) from cause


def taut(compiled: Compiled, t: float, y: Array) -> str | None:
    """Which inextensible rod is pulled straight between its ends, where what pulls it is not determined."""
    rods = compiled.system.rods
    ends = (Clamped, Hinged)
    held = [
        i
        for i, rod in enumerate(rods)
        if rod.strain == "inextensible" and isinstance(rod.start, ends) and isinstance(rod.end, ends)
    ]
    if not held or not np.isfinite(y).all():
        return None
    try:
        states = compiled.rod_states(np.array([t]), y)
    except RuntimeError as error:  # a sentence of the core on the same, with the remedy behind it
        return str(error).partition(";")[0]
    for i in held:
        x = states[i]["positions"][0]
        if np.linalg.norm(x[-1] - x[0]) > TAUT * np.linalg.norm(np.diff(x, axis=0), axis=1).sum():
            return f"rod {rods[i].name!r}, which is inextensible, is pulled straight between its ends"
    return None


def _paired(sentence: str, compiled: Compiled) -> str:
    """A sentence of the core on a pair of what touches, with its names."""
    found = re.match(r"pair (\d+): ", sentence)
    if found is None:
        return sentence
    pair = compiled.touching[int(found[1])]
    on = "a surface" if pair.on is None else f"{pair.on!r}"
    return f"{compiled.system.all_contacts[pair.contact].label}, {pair.of!r} on {on}: {sentence[found.end() :]}."


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
