"""Companions: the same model once more on half the mesh with a looser tolerance, to see how wrong a result is.

`simulate`, `equilibrium`, `modes` and `follow` carry the decorator `with_errors`, which handles their option ``error``:
"rough", no companion; "total", one on half the mesh with a looser tolerance; "parts", a second one on half the mesh
with the same tolerance, which separates the error in time from that of the mesh; "finer", one on twice the mesh, which
is nearer to the truth than the run itself. `gyrod.motion.errors` makes numbers of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from gyrod import storage
from gyrod._check import Array
from gyrod._words import meant
from gyrod.model import Rod, System
from gyrod.model.refinement import coarser, finer, lower
from gyrod.motion import Beside, Motion, Rest, SimulationError, SimulationInterrupted
from gyrod.motion.errors import NO_MESH
from gyrod.runs.methods import METHODS, STEPPED
from gyrod.runs.options import APART, OPTIONS, Options, whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gyrod._check import Keywords
    from gyrod.solve.modal import Modes
    from gyrod.solve.paths.result import Path

P = ParamSpec("P")
T = TypeVar("T")

#: Shares of the mesh that companions have; where one fails, as when its elements turn too far, the next is tried, and a
#: finer mesh at last, which costs more than the run.
SHARES = (0.5, 0.75, 2.0)
#: At rest a finer mesh costs hardly more than a coarser one, a few steps from the rest that is known, and shows more.
AT_REST = (2.0, 0.5, 0.75)
#: Share of its elements that a companion may have at most: what six of seven are.
MOST_SHARE = 0.86
#: Tolerance of a companion over that of the run, where another mesh is compared: errors in time that are four times as
#: large stay within ten times the error when multiplied by a constant. The largest one; how many times looser it must
#: be at least, or else it is tighter than that of the run, by how much.
LOOSER, LOOSEST, LEAST, TIGHTER = 4.0, 0.04, 4.0, 10.0
#: Rows of a run that are compared, at most; of more, those evenly spread.
MOST_ROWS = 2000
#: Points of a path that are solved again.
MOST_POINTS = 20
#: Share of these rows that a companion must reach.
REACHED = 0.9
#: Options that companions do without: what becomes of a run, and what they are themselves.
_WITHOUT = (*APART, "events", "error", "accuracy")

#: The row of what has one.
_ONE = np.zeros(1, np.intp)


class Changes(TypedDict, total=False):
    """Options in which a companion differs."""

    step: float
    rtol: float
    atol: ArrayLike | Mapping[str, float] | None
    max_step: float | None


class NoCompanion(Exception):
    """Why there is none: a sentence."""


def with_errors(
    beside: Callable[[Callable[..., Any], dict[str, Any], Any], Any],
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorator of a solver with the option ``error``: ``beside`` solves the companions of its result and adds them."""

    def decorate(solve: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(solve)
        names = signature.parameters.keys()
        defaults = {name: p.default for name, p in signature.parameters.items() if p.default is not p.empty}
        places = [name for name, p in signature.parameters.items() if p.kind is not p.KEYWORD_ONLY]

        @wraps(solve)
        def solved(*args: P.args, **kwargs: P.kwargs) -> T:
            given = defaults | dict(zip(places, args, strict=False)) | kwargs
            if given.keys() != names or len(args) > len(places) or not kwargs.keys().isdisjoint(places[: len(args)]):
                _bound(solve, signature, args, kwargs)
            OPTIONS["error"].check("error", given["error"])
            found: T = beside(solve, given, solve(*args, **kwargs))
            return found

        return solved

    return decorate


def _bound(
    solve: Callable[..., object], signature: inspect.Signature, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> None:
    """A sentence where the arguments are not those of a solver; it takes longer to find than some runs."""
    for unknown in kwargs:
        if unknown not in signature.parameters:
            hint = meant(unknown, list(signature.parameters))
            raise TypeError(f"{solve.__name__}() got an unexpected keyword argument '{unknown}'{hint and '.' + hint}")
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{solve.__name__}() {error}") from None


# --- motions ---------------------------------------------------------------------------------------------------------


#: A run of options that are checked.
Solve = Callable[[System | Rest, float, Options], Motion]


def of_motion(solve: Solve, system: System | Rest, given: Options, motion: Motion) -> Motion:
    """A run with its companions, in its file too."""
    run = whole(given)
    rtol = None if run["step"] is not None else run["rtol"]
    kept = motion._beside  # of a finished run that was only opened
    finer = kept.share > 1.0 if motion.system.rods else kept.looser < 1.0
    enough = {"total": True, "parts": kept.half is not None, "finer": finer}
    if run["error"] == "rough" or (kept.coarse is not None and enough[run["error"]]):
        return motion if kept.coarse is not None else _attached(motion, Beside(rtol=rtol))
    try:
        found = _motions(solve, system, given, motion, rtol)
    except NoCompanion as why:
        found = Beside(rtol=rtol, failure=str(why))
    except KeyboardInterrupt:
        raise SimulationInterrupted("interrupted while its companion ran; .motion holds the run", motion) from None
    if run["save"] is not None:
        storage.keep_beside(run["save"], found)
    return _attached(motion, found)


def _attached(motion: Motion, beside: Beside) -> Motion:
    object.__setattr__(motion, "_beside", beside)
    motion.__dict__.pop("error", None)
    return motion


def _motions(solve: Solve, system: System | Rest, given: Options, motion: Motion, rtol: float | None) -> Beside:
    """Both companions, or one."""
    t, run = motion.t, whole(given)
    if not len(t) or not t[-1] > 0.0:
        raise NoCompanion("the run has no rows behind its start.")
    rows = np.unique(np.linspace(0, len(t) - 1, min(len(t), MOST_ROWS)).astype(np.intp))
    bodies = not motion.system.rods
    loose = _changed(run, motion, bodies)

    def companions(share: float) -> tuple[Motion, Motion | None]:
        start = _start(system, share)
        coarse = _run(solve, given, start, motion, rows, loose)
        if run["error"] != "parts":
            return coarse, None
        return coarse, motion if bodies else _run(solve, given, start, motion, rows, {})

    coarse, half = _first(companions, SHARES[:1] if bodies else _shares_for(run))[1]
    rows, coarse, half = _common(motion, rows, coarse, half)
    looser = loose["rtol"] / rtol if rtol else min(loose["step"] / cast("float", run["step"]), 1.0)
    cells = _shares(coarse.system, motion.system)
    return Beside(rtol, rows, coarse, half, cells, looser, _told(coarse.system, motion.system, loose))


def _shares_for(given: Mapping[str, object] | Options) -> tuple[float, ...]:
    return SHARES[-1:] if given["error"] == "finer" else SHARES


def _first(solve: Callable[[float], T], shares: tuple[float, ...]) -> tuple[float, T]:
    """The first share of the mesh with which there is a companion."""
    why = ""
    for share in shares:
        try:
            return share, solve(share)
        except (SimulationError, RuntimeError, ValueError, ArithmeticError) as error:
            if isinstance(error, SimulationInterrupted):
                raise
            why = why or str(error)
    raise NoCompanion(f"the companion to compare with failed: {why.splitlines()[0].rstrip('.')}.")


def _run(
    solve: Solve, given: Options, start: System | Rest, motion: Motion, rows: NDArray[np.intp],
    changes: Changes,
) -> Motion:  # fmt: skip
    """The run from a coarser start, at rows of the run."""
    times, t_end = motion.t[rows], float(motion.t[-1])
    options = cast("Options", {name: value for name, value in given.items() if name not in _WITHOUT})
    options |= cast("Options", {"method": motion.stats.method, "output": times, "dense": False, **changes})
    if motion.stats.method in STEPPED:  # rows are nodes of the longer steps
        step = cast("float", options["step"])
        t_end, options["output"] = step * np.floor(t_end / step * (1.0 + 1e-9)), None
    found = solve(start, t_end, options)
    if found.t[-1] < REACHED * t_end:
        raise RuntimeError(f"it ended at t = {found.t[-1]:.4g} s ({found.status})")
    return found


def _common(
    motion: Motion, rows: NDArray[np.intp], coarse: Motion, half: Motion | None
) -> tuple[NDArray[np.intp], Motion, Motion | None]:
    """The rows that all have, and the companions at these."""
    for other in (coarse, half):
        if other is not None:
            rows = rows[_at(other, motion.t[rows])[1]]

    def common(other: Motion) -> Motion:
        return other.at_rows(_at(other, motion.t[rows])[0])

    return rows, common(coarse), None if half is None else common(half)


def _at(motion: Motion, times: Array) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Rows of a motion at times, and whether it has them."""
    slack = 1e-9 * float(motion.t[-1])
    found = np.minimum(np.searchsorted(motion.t, times - slack), len(motion.t) - 1)
    return found, np.abs(motion.t[found] - times) <= slack


def _changed(given: Options, motion: Motion, bodies: bool) -> Changes:
    """Options of a run that is less exact in time; of bodies alone, without a finer mesh, more exact if requested."""
    tighter = bodies and given["error"] == "finer"
    longer = None if given["max_step"] is None else 2.0 * given["max_step"]
    if given["step"] is not None:
        return {"step": (0.5 if tighter else 2.0) * given["step"]}
    method = METHODS.get(motion.stats.method)
    factor = 2.0 ** ((method and method.order) or 5) if bodies else LOOSER
    rtol = min(factor * float(given["rtol"]), LOOSEST)
    if tighter or rtol < LEAST * float(given["rtol"]):  # which would be hardly less exact, and agree
        rtol, longer = float(given["rtol"]) / TIGHTER, given["max_step"]
    atol, factor = given["atol"], rtol / float(given["rtol"])
    if isinstance(atol, Mapping):
        atol = {name: factor * value for name, value in atol.items()}
    elif atol is not None:
        if np.ndim(atol) and not bodies:
            raise NoCompanion("atol is given for each unknown, of which a coarser mesh has fewer; give it by kind.")
        atol = factor * np.asarray(atol)
    return {"rtol": rtol, "atol": atol, "max_step": longer}


def _start(system: System | Rest, share: float) -> System | Rest:
    """The system on a share of its mesh; a rest is found anew there."""
    from gyrod.solve.refinement import rest_on

    if isinstance(system, Rest):
        return rest_on(resized(system.system.original, share), system, {}) if system.system.rods else system
    return resized(system, share)


def resized(system: System, share: float) -> System:
    """The system on a share of its mesh, every rod on a coarser one than its own, or on a finer one.

    Elements end where something sets in, as at the guides of a tendon: where these are so many that hardly an element
    could be left out, all are kept with a degree less.
    """

    def changed(system: System, changes: Mapping[int, dict[str, object]]) -> System:
        new = {f"rods[{i}].{name}": value for i, fields in changes.items() for name, value in fields.items()}
        return system.with_(new) if new else system

    if share > 1.0:
        return changed(system, {i: finer(rod, int(share)) for i, rod in enumerate(system.rods)})
    found = changed(system, {i: coarser(rod, share) for i, rod in enumerate(system.rods)})
    alike = {
        i: {"segments": own.segments, "grid": own.grid, **lower(own)}
        for i, (rod, own) in enumerate(zip(found.rods, system.rods, strict=True))
        if rod.degree == own.degree and _share(rod, own) > MOST_SHARE
    }
    return changed(found, alike)


def _share(rod: Rod, own: Rod) -> float:
    """Of the cells of a rod that its companion has."""
    return rod.mesh.cells / own.mesh.cells


def _shares(coarse: System, system: System) -> float:
    """Share of the cells that companions of the same degree have, the largest; the usual one if there are none."""
    same = ((rod, own) for rod, own in zip(coarse.rods, system.rods, strict=True) if rod.degree == own.degree)
    return max((_share(rod, own) for rod, own in same), default=SHARES[0])


def _told(coarse: System, system: System, loose: Mapping[str, object]) -> str:
    """Mesh and tolerance of a companion in words."""
    told = [
        f"{rod.mesh.cells} {'of' if rod.mesh.cells <= own.mesh.cells else 'in place of'} {own.mesh.cells} "
        f"{'elements' if own.degree else 'segments'} of {rod.name!r}"
        + (f" with degree {rod.degree} of {own.degree}" if rod.degree != own.degree else "")
        for rod, own in zip(coarse.rods, system.rods, strict=True)
    ]
    told += [f"{name} = {loose[name]:.2g}" for name in ("rtol", "step") if name in loose]
    return ", ".join(told)


# --- at rest ---------------------------------------------------------------------------------------------------------


def of_rest(solve: Callable[..., Rest], given: Keywords, rest: Rest) -> Rest:  # noqa: ARG001
    """An equilibrium with that on twice the mesh, next to it."""
    if given["error"] == "rough":
        return rest
    try:
        found = _rest_beside(rest)
    except NoCompanion as why:
        found = Beside(failure=str(why))
    _attached(rest.motion, found)
    return rest


def _rest_beside(rest: Rest) -> Beside:
    # Newton's method is exact: all of the error is that of the mesh.
    coarse = _beside_rest(rest, lambda rest: rest.motion)
    return _beside(_ONE, coarse, rest, coarse.system)


def _beside(
    rows: NDArray[np.intp], companion: Motion | Modes | tuple[Motion, ...], rest: Rest, coarse: System
) -> Beside:
    """A companion that has no time."""
    share, told = _shares(coarse, rest.motion.system), _told(coarse, rest.motion.system, {})
    return Beside(None, rows, companion, companion, share, told=told)


def _beside_rest(rest: Rest, then: Callable[[Rest], T]) -> T:
    """What follows from the equilibrium on another mesh."""
    from gyrod.solve.refinement import rest_on

    whole = rest.system.original
    if not whole.rods:
        raise NoCompanion(NO_MESH)
    return _first(lambda share: then(rest_on(resized(whole, share), rest, {"t": rest.t})), AT_REST)[1]


def of_modes(solve: Callable[..., Modes], given: Keywords, found: Modes) -> Modes:
    """Modes with those on twice the mesh."""
    if given["error"] == "rough":
        return found
    try:
        modes = _beside_rest(found.rest, lambda rest: solve(rest, n=given["n"]))
        beside = _beside(_ONE, modes, found.rest, modes.rest.motion.system)
    except NoCompanion as why:
        beside = Beside(failure=str(why))
    object.__setattr__(found, "_beside", beside)
    return found


def of_path(solve: Callable[..., Path], given: Keywords, path: Path) -> Path:
    """A path with equilibria on half the mesh at some of its points, each next to the path's own.

    Where it has limit points or bifurcations, the whole path is followed there: they are at other values.
    """
    every = _points(path)
    beside = Beside(rows=every)
    if given["error"] != "rough":
        try:
            share, beside = _path_beside(solve, given, path, every)
            beside = replace(beside, critical=_criticals(solve, given, share) if path.events else ())
        except NoCompanion as why:
            beside = Beside(rows=every, failure=str(why))
    object.__setattr__(path, "_beside", beside)
    return path


def _points(path: Path) -> NDArray[np.intp]:
    """Some points of a path, those among them where forces and curvatures are largest: errors are given with these."""
    found = np.linspace(0, len(path) - 1, min(len(path), MOST_POINTS)).astype(np.intp).tolist()
    for rod in path.rests[0].system.rods if len(path) > MOST_POINTS else ():
        track = path[rod.name]
        sizes = [np.linalg.norm(v, axis=-1) for v in (track.start_force, track.end_force, track.force)]
        found += [int(np.argmax(v.reshape(len(path), -1).max(axis=1))) for v in (*sizes, -track.bend_radius)]
    return np.unique(np.array(found, np.intp))


def _path_beside(
    solve: Callable[..., Path], given: Keywords, path: Path, every: NDArray[np.intp]
) -> tuple[float, Beside]:
    from gyrod.solve.refinement import sticks

    shares = _shares_for(given)
    if not path.rests[0].system.rods:
        raise NoCompanion(NO_MESH)
    if sticks(path.rests[0].system):
        return _path_again(solve, given, path, every, shares)
    share, first = _first(lambda share: _next_to(path.rests[0], share), shares)
    found: dict[int, Motion] = {0: first}
    for k in every[1:].tolist():
        try:
            found[k] = _next_to(path.rests[k], share)
        except (
            RuntimeError,
            ValueError,
            ArithmeticError,
        ):  # as beyond a limit point, which the coarser mesh has earlier
            continue
    if len(found) < 0.5 * len(every):
        raise NoCompanion(
            f"on a coarser mesh only {len(found)} of {len(every)} points of the path have an equilibrium."
        )
    motions, rows = tuple(found.values()), np.array(list(found), dtype=np.intp)
    return share, _beside(rows, motions, path.rests[0], first.system)


def _path_again(
    solve: Callable[..., Path], given: Keywords, path: Path, every: NDArray[np.intp], shares: tuple[float, ...]
) -> tuple[float, Beside]:
    """The whole path on another mesh, where friction makes each point depend on those before it."""
    if given["arc_length"] is True or given["branch"] is not None:
        raise NoCompanion("friction depends on the way, and paths by arc length have other points on another mesh.")
    values = np.asarray(path.value)[every]
    share, other = _first(lambda share: _followed(solve, given, share, stops=values), shares)
    rows, at = list[int](), 0
    for value in values:
        at += int(np.argmax(np.asarray(other.value)[at:] == value))
        rows.append(at)
    motions = tuple(other.rests[k].motion for k in rows)
    return share, _beside(every, motions, path.rests[0], motions[0].system)


def _criticals(solve: Callable[..., Path], given: Keywords, share: float) -> tuple[tuple[str, float], ...]:
    """Kind and value of the limit points and bifurcations on a share of the mesh, up to where its path ends."""
    from gyrod.solve.paths.result import PathError

    try:
        path = _followed(solve, given, share)
    except PathError as error:
        path = error.path
    return tuple((event.kind, event.value) for event in path.events)


def _followed(solve: Callable[..., Path], given: Keywords, share: float, **changes: object) -> Path:
    """The path on a share of the mesh."""
    system = cast("System | None", given["system"])
    of, guess = given["parameter"], cast("Rest | Motion | None", given["guess"])
    coarse = None if system is None else resized(system, share)
    options = {**given, "error": "rough", "progress": False, "system": coarse, **changes}
    if callable(of):
        options["parameter"] = lambda value: resized(of(value), share)
    if guess is not None and coarse is not None:
        from gyrod.solve.refinement import carried

        options["guess"] = carried(guess, coarse)
    return solve(**options)


def _next_to(rest: Rest, share: float) -> Motion:
    """The equilibrium on a share of the mesh, by Newton's method from a given one, without looking elsewhere."""
    from gyrod.solve.refinement import carried
    from gyrod.solve.statics import equilibrium

    system = resized(rest.system.original, share)
    return equilibrium(system, guess=carried(rest, system), t=rest.t, relax=False).motion
