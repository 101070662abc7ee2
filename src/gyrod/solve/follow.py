"""follow: equilibria along a path of a load, a length or a pseudo-time, through limit points and bifurcations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check
from gyrod._check import Array
from gyrod._moved import old_names
from gyrod.equations import ForceError
from gyrod.model import System
from gyrod.model.errors import shown
from gyrod.motion import Motion, Rest
from gyrod.solve.companions import of_path, with_errors
from gyrod.solve.paths.corrector import Folded, Solver, Stuck
from gyrod.solve.paths.family import Family, family_of, name_of
from gyrod.solve.paths.result import Path, PathError, PathInterrupted
from gyrod.solve.paths.tracer import LARGEST, Tracer
from gyrod.solve.statics import reachable

#: Lowest frequency over that at the first point below which a path that does not come on has lost its stiffness.
SOFT = 0.05

old_names(__name__)


@with_errors(of_path)
def follow(
    system: System | None,
    parameter: str | Callable[[float], System] = "time",
    stops: ArrayLike = (0.0, 1.0),
    *,
    increments: str | int = "auto",
    largest: float | None = None,
    arc_length: bool | str = False,
    branch: int | None = None,
    bifurcations: bool = True,
    tolerance: float = 1e-11,
    guess: Rest | Motion | None = None,
    max_points: int = 1000,
    progress: bool = False,
    error: str = "rough",  # noqa: ARG001
) -> Path:
    """Follow an equilibrium along a parameter, from stop to stop.

    Parameters
    ----------
    parameter
        "time": pseudo-time of all functions of time (moving ends, drives, loads, lengths); "load": factor of gravity
        and of all forces; "gravity": factor of gravity alone; or a function of the value that returns a `System` of
        the same bodies, joints, rods and segments (``system`` may then be None). Functions of time stand still at
        t = 0 unless the parameter is "time".
    stops
        Values that are reached exactly, in this order; they may turn back. The first one is where the path starts.
    increments
        "auto": tangent predictor (32) of Lang, Linn, Arnold 2011, and as long as Newton's method contracts well; or
        the number of equal ones from stop to stop.
    largest
        Largest increment of the parameter; a tenth of the span of the stops by default.
    arc_length
        True: steps along the path, which pass limit points; "auto": where plain increments fail. The parameter may
        then leave the range of the stops.
    branch
        +1 or -1: leave at the first bifurcation along the critical mode, to this side, by arc length.
    bifurcations
        Whether to locate them where the number of unstable directions changes. Couples about axes fixed in space and
        loads that follow the rod have no potential: for them the number says where the tangent is singular, no more.
    tolerance
        Of the last Newton step, over the size of the system and over 1 rad.
    guess
        A `Rest`, or a `Motion` at a single time, near the equilibrium at the first stop.
    max_points
        Most points of a path by arc length.
    progress
        Show a progress bar.
    error
        "rough" figures in ``path.error``, or "total" errors, by equilibria on half the mesh at some of its
        points, or on a "finer" one.
    """
    values = _stops(stops)
    arc = _arc(arc_length, branch)
    count = _increments(increments, arc, branch)
    tolerance = reachable("tolerance", tolerance)
    if not (isinstance(max_points, int | np.integer) and max_points >= 2):
        raise ValueError(f"max_points = {max_points!r} must be an integer of at least 2.")
    span = float(np.ptp(values))
    most = LARGEST * span if largest is None else _check.positive("largest", largest)
    if guess is not None and not isinstance(guess, Rest | Motion):
        raise ValueError(f"guess must be a Rest or a Motion at one time, got {type(guess).__name__}.")
    family = family_of(system, parameter, values)
    solver = Solver(family, float(values.min()), float(values.max()), tolerance)
    with _progress_bar(progress, name_of(parameter), values) as tick:
        tracer = Tracer(solver, most, count, arc, branch, bool(bifurcations), int(max_points), tick)
        stop = float(values[0])

        def so_far() -> Path:
            return _path(tracer, family, name_of(parameter))

        try:
            tracer.begin(stop, guess)
            for stop in values[1:].tolist():
                tracer.go(stop)
        except Stuck as stuck:
            raise PathError(_told(stuck, tracer, name_of(parameter), stop, arc), so_far(), tracer.last) from None
        except ForceError as failed:
            if not tracer.points:
                raise
            raise PathError(str(failed), so_far(), tracer.last) from failed
        except KeyboardInterrupt:
            if not tracer.points:
                raise
            raise PathInterrupted(f"interrupted at {tracer.here.value:.10g}; .path holds the way", so_far()) from None
    return so_far()


def _path(tracer: Tracer, family: Family, name: str) -> Path:
    points = tracer.points
    return Path(
        name, np.array([p.value for p in points]), np.array([p.y for p in points]),
        np.array([p.unstable for p in points]), np.array([len(p.history) for p in points]), tuple(tracer.events),
        family, tuple((p.method, p.history) for p in points),
    )  # fmt: skip


def _told(error: Stuck, tracer: Tracer, name: str, stop: float, arc: str) -> str:
    where = f"the path over {name!r} stops at {tracer.here.value:.10g} on the way to {stop:g}"
    kept = f".path holds {len(tracer.points)} points."
    if isinstance(error, Folded):
        return f"{where}: {error}; {kept}"
    loose = _loose(tracer)
    if loose:
        return (
            f"{where}: nothing holds the system there, {loose}, and the first load moves it far away. Start where it "
            f"is held, at a value of {name!r} that is not {tracer.here.value:.10g}, or follow the path from {stop:g} "
            f"backwards; {kept}"
        )
    sizes = ", ".join(f"{row[0]:.2g}" for row in tracer.last[-4:]) or "none"
    soft = "" if tracer.marching else _soft(tracer)
    tries = ["a smaller largest increment", "more segments"]
    if soft:
        tries = [f"another equilibrium, with stops that begin beyond {tracer.here.value:.4g}", "gd.simulate"]
    if tracer.increments is not None:
        tries.insert(0, 'increments = "auto"')
    elif arc == "never" and not tracer.marching and not (soft and name == "time"):  # it would turn back in time
        tries.insert(0, 'arc_length = "auto" (there may be a limit point)')
    return f"{where}: {error}.{soft} The last Newton steps over the scales are {sizes}. Try {', '.join(tries)}; {kept}"


def _loose(tracer: Tracer) -> str:
    """Motions without stiffness at the first point, in words, if the path has not left it."""
    if len(tracer.points) > 1:
        return ""
    here = tracer.here
    statics, t = tracer.solver.family.at(here.value)
    try:
        free = statics.free(here.y, t)
    except (ValueError, RuntimeError, np.linalg.LinAlgError):
        return ""
    return " and ".join(dict.fromkeys(statics.directions(free, here.y, t)))


def _soft(tracer: Tracer) -> str:
    """A sentence if the lowest frequency has all but vanished since the first point."""
    try:
        slow = []
        for point in (tracer.points[0], tracer.here):
            statics, t = tracer.solver.family.at(point.value)
            squares = np.abs(statics.modes(point.y, t, 1)[0])
            slow.append(float(np.sqrt(squares.min(initial=np.inf))) / (2.0 * np.pi))
    except (ValueError, RuntimeError, IndexError, np.linalg.LinAlgError):
        return ""
    before, now = slow
    if not (np.isfinite(before) and now < SOFT * before):
        return ""
    return (
        f" The stiffness against one motion vanishes there, whose frequency falls from {before:.2g} to {now:.2g} Hz: "
        "equilibria meet or end, in a bifurcation or a limit point."
    )


# --- arguments -------------------------------------------------------------------------------------------------------


def _stops(stops: ArrayLike) -> Array:
    values = _check.array("stops", stops, ())
    if values.ndim != 1 or len(values) < 2:
        raise ValueError(f"stops must be at least two values of the parameter, got {shown(stops)}.")
    same = np.flatnonzero(np.diff(values) == 0.0)
    if len(same):
        i = int(same[0])
        raise ValueError(f"stops[{i}] and stops[{i + 1}] are both {values[i]:g}; neighbours must differ.")
    return values


def _arc(arc_length: bool | str, branch: int | None) -> str:
    if branch not in (None, 1, -1) or isinstance(branch, bool):
        raise ValueError(f"branch = {branch!r} is unknown; it can be 1, -1 or None.")
    if isinstance(arc_length, bool | np.bool_):
        return "always" if arc_length else "never"
    if arc_length != "auto":
        raise ValueError(f"arc_length = {arc_length!r} is unknown; it can be True, False or 'auto'.")
    return "auto"


def _increments(increments: str | int, arc: str, branch: int | None) -> int | None:
    if increments == "auto":
        return None
    if isinstance(increments, bool) or not isinstance(increments, int | np.integer) or increments < 1:
        raise ValueError(f"increments = {increments!r} must be 'auto' or a positive integer.")
    if arc != "never" or branch is not None:
        raise ValueError(f"increments = {increments!r} are of the parameter; arc_length and branch go with 'auto'.")
    return int(increments)


@contextmanager
def _progress_bar(wanted: bool, name: str, values: Array) -> Iterator[Callable[[float, float], None]]:
    if not wanted:
        yield lambda *_: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    label = name + " = {task.fields[value]:.4g}"
    columns = (TextColumn(label), BarColumn(), TextColumn("increment {task.fields[h]:.2g}"), TimeRemainingColumn())
    with Progress(*columns) as bar:
        total = float(np.abs(np.diff(values)).sum())
        task = bar.add_task("follow", total=total, value=float(values[0]), h=0.0)
        yield lambda value, h: bar.update(task, advance=h, value=value, h=h)
        bar.update(task, completed=total)
