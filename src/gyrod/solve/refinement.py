"""refine: a tolerance in metres to a mesh, by solving, estimating the error, and dividing elements."""

from __future__ import annotations

import math
import textwrap
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check
from gyrod._check import Array
from gyrod.equations import compile_system
from gyrod.model import System
from gyrod.model.errors import shown
from gyrod.model.meshes import Elements, apply, apply_frames
from gyrod.model.refinement import Parts, divided, elements, expected, folded, parts
from gyrod.motion import Motion, Rest, RodTrack, SimulationError, of_rows
from gyrod.solve.simulate import simulate
from gyrod.solve.statics import EquilibriumError, RestOptions, equilibrium, prepare

#: What is compared of a solution on two meshes.
Quantity = Callable[[Any], ArrayLike]

#: Difference from the mesh of halves to error, 1/(1 - 2^-q): enough down to the order q = 1.6; after loads that set in
#: with a jump it is about 2.
SAFETY = 1.5
#: Share of the tolerance that the next mesh is made for.
SHARE = 0.8
#: Most pieces of an element in one round.
MOST_PARTS = 4
#: Error over that of the round before from which on all elements are halved; and how often in a row that is tried.
STALLED, MOST_STALLED = 0.7, 3
#: Solutions that fail, in a row.
MOST_FAILED = 3
#: Fractions of an element at which positions are compared.
LOOKS = np.arange(8) / 8.0
#: Times at which motions are compared, unless given.
TIMES = 50
#: Tolerance of the integrator over that in space and over the size of the system, its range, and what the second mesh
#: has of it: the difference shows the error in time too.
IN_TIME, LEAST_RTOL, MOST_RTOL, TIGHTER = 0.1, 1e-11, 1e-3, 0.1
#: Characters of what a solution that failed has to say.
MOST_TOLD = 90
#: Options of `equilibrium`; options of `simulate` that would make the two runs differ, or are chosen here.
_AT_REST = frozenset({"guess", "load", "t", "relax"})
_REFUSED = frozenset({"dense", "events", "save", "resume", "view", "progress"})


@dataclass(frozen=True)
class Round:
    """One mesh on the way: how many elements it has, the error there (None if nothing was found), CPU seconds."""

    elements: int
    error: float | None
    seconds: float
    #: Why there is no error, or what is peculiar.
    note: str = ""


@dataclass(frozen=True)
class Refinement:
    """A mesh for a tolerance: the system that has it, the solution there, and how it was found; print it."""

    #: The system with its rods so refined.
    system: System
    #: The solution on this mesh: a `Rest`, or a `Motion`.
    result: Rest | Motion
    #: What was asked for, and the error that was found, in m (or in the unit of ``quantity``).
    tolerance: float
    error: float
    #: Tolerance of the integrator with which that holds; None at rest.
    rtol: float | None
    #: Mesh after mesh.
    history: tuple[Round, ...] = field(repr=False)

    @property
    def elements(self) -> dict[str, int]:
        """Number of elements of each rod."""
        return {rod.name: rod.mesh.cells for rod in self.system.rods}

    @property
    def seconds(self) -> float:
        """CPU seconds of it all."""
        return sum(one.seconds for one in self.history)

    def __str__(self) -> str:
        counts = ", ".join(f"{count} of {name!r}" for name, count in self.elements.items())
        timed = "" if self.rtol is None else f", with rtol = {self.rtol:.1e}"
        lines = [f"error {self.error:.2g} of {self.tolerance:.2g} allowed{timed}: elements {counts}"]
        return "\n".join([*lines, *_table(self.history)])


class RefinementError(RuntimeError):
    """No mesh within bounds is exact to the tolerance; ``refinement`` is the best one, None if all have failed."""

    def __init__(self, message: str, refinement: Refinement | None) -> None:
        super().__init__(message)
        self.refinement = refinement


def refine(
    system: System | Rest,
    tolerance: float,
    t_end: float | None = None,
    *,
    quantity: Quantity | None = None,
    most: int = 200,
    progress: Callable[[str], object] | None = None,
    **options: Any,
) -> Refinement:
    """Find elements of rods with which positions are exact to ``tolerance`` in m, at rest or up to the time ``t_end``.

    Every mesh is solved twice, as it is and with all elements halved; the largest difference of positions, of rods
    at nine places of each element and of bodies, at rest or at all compared times, estimates the error. Elements in
    which more error is expected than in others are divided, until it is below the tolerance. It begins with the
    elements that the rods have, and takes none away: one or two of them make the smallest mesh.

    Parameters
    ----------
    system
        A `System` whose rods all have elements; or a `Rest`, if motions are to start from there: it is found anew on
        every mesh.
    t_end
        End of a motion from t = 0; None for the equilibrium.
    quantity
        A function of a `Rest` or `Motion` to numbers that are to be exact in place of positions, such as
        ``lambda motion: motion.sensors["tip"]``, and ``tolerance`` in their unit.
    most
        Most elements of all rods together.
    progress
        Called with a sentence after each mesh.
    options
        Passed on to `simulate` or to `equilibrium`. ``output`` has the times at which motions are compared, by default
        50 evenly. ``rtol`` follows from the tolerance; the halved elements have a tenth of it, so that the difference
        shows the error in time too.

    Raises `RefinementError` if ``most`` elements are not enough, or if more of them do not help.
    """
    if not isinstance(system, System | Rest):
        raise ValueError(f"system must be a gyrod.System or a Rest, got {type(system).__name__}.")
    limit = _check.positive("tolerance", tolerance)
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise ValueError(f"most = {most!r} must be an integer of at least 1.")
    if quantity is not None and not callable(quantity):
        raise ValueError(f"quantity = {_check.shown(quantity)} must be a function of a Rest or a Motion.")
    whole = (system.system if isinstance(system, Rest) else system).original
    if not whole.rods:
        raise ValueError("the system has no rods, so there is no mesh to refine.")
    for rod in whole.rods:
        elements(f"rod {rod.name!r}", rod.mesh)
    if _count(whole) > most:
        raise ValueError(f"most = {most} elements are allowed, and the system has {_count(whole)}; it takes none away.")
    solver = _solver(system, limit, t_end, options)
    return _Search(whole, limit, solver, quantity, most, progress or (lambda _: None)).run()


# --- solving ---------------------------------------------------------------------------------------------------------


def _solver(
    system: System | Rest, tolerance: float, t_end: float | None, options: dict[str, Any]
) -> _Static | _Dynamic:
    if t_end is None:
        return _Static({"guess": system, **options} if isinstance(system, Rest) else options)
    t_end = _check.positive("t_end", t_end)
    refused = sorted(_REFUSED & options.keys())
    if refused:
        raise ValueError(f"{', '.join(refused)} cannot be given: simulate with it on the mesh that refine has found.")
    rest, whole = (system, system.system) if isinstance(system, Rest) else (None, system)
    size = compile_system(whole)._length()
    return _Dynamic(t_end, rest, tolerance / size, dict(options))


class _Static:
    """Equilibria, each from the one before."""

    rtol: float | None = None

    def __init__(self, options: dict[str, Any]) -> None:
        foreign = sorted(options.keys() - _AT_REST)
        if foreign:
            raise ValueError(
                f"{', '.join(foreign)} cannot be given at rest, only {', '.join(sorted(_AT_REST))}; give t_end if a "
                "motion is wanted."
            )
        self.options = cast("RestOptions", {name: value for name, value in options.items() if name != "guess"})
        self.guess: Rest | Motion | None = options.get("guess")
        guess = self.guess.motion if isinstance(self.guess, Rest) else self.guess
        if guess is not None and (not isinstance(guess, Motion) or guess.t.ndim):
            raise ValueError(f"guess must be a Rest or a Motion at one time, got {shown(self.guess)}.")

    def solve(self, system: System, fine: bool) -> Rest:  # noqa: ARG002
        """The equilibrium."""
        self.guess = rest_on(system, self.guess, self.options)
        return self.guess

    def tighten(self) -> None:
        """Newton's method is exact."""


class _Dynamic:
    """Motions, from the start of the system or from an equilibrium."""

    def __init__(self, t_end: float, rest: Rest | None, tolerance: float, options: dict[str, Any]) -> None:
        times = options.pop("output", None)
        self.t_end, self.rest, self.options = t_end, rest, options
        self.times = np.linspace(0.0, t_end, TIMES + 1) if times is None else times
        self.given = "rtol" in options
        rtol = options.pop("rtol", min(max(IN_TIME * tolerance, LEAST_RTOL), MOST_RTOL))
        self.rtol: float | None = _check.positive("rtol", rtol)

    def solve(self, system: System, fine: bool) -> Motion:
        """The motion; that of the halved elements is more exact in time too."""
        assert self.rtol is not None
        start = system if self.rest is None else rest_on(system, self.rest, {})
        rtol = self.rtol * (TIGHTER if fine else 1.0)
        return simulate(start, self.t_end, rtol=rtol, output=self.times, dense=not fine, **self.options)

    def tighten(self) -> None:
        """Where more elements do not help, the error may be one in time."""
        assert self.rtol is not None
        if not self.given:
            self.rtol = max(TIGHTER * self.rtol, LEAST_RTOL)


def rest_on(system: System, guess: Rest | Motion | None, options: RestOptions) -> Rest:
    """An equilibrium, from that on another mesh if there is one; what sticks counts from where the system starts."""
    if guess is None:
        return equilibrium(system, **options)
    if sticks(system):
        with suppress(EquilibriumError):  # as where the guess was followed there
            return equilibrium(system, **options)
    try:
        return equilibrium(system, guess=carried(guess, system), **options)
    except EquilibriumError:  # the other mesh may have misled it
        return equilibrium(system, **options)


def sticks(system: System) -> bool:
    """Whether friction at rest depends on the way there."""
    return any(contact.friction is not None and contact.friction.sticking for contact in system.contacts)


def carried(state: Rest | Motion, system: System) -> Motion:
    """A configuration at a single time, of the same system with other meshes, on the meshes of this one."""
    statics = prepare(system)
    names = (*statics.compiled.system.names, *statics.compiled.system.rod_names)
    if names != state.names:
        raise ValueError(f"guess is of {', '.join(state.names)}, the system of {', '.join(names)}; they must agree.")
    y, first = np.array(statics.y), statics._bodies
    y[:first] = state.y[:first]
    for rod, layout in zip(statics.compiled.system.rods, statics.compiled.layouts(), strict=True):
        track: RodTrack = state[rod.name]
        x = apply(*track.mesh.vertex_at(rod.mesh.vertices), track.positions)
        p = apply_frames(*track.mesh.frame_at(rod.mesh.frames), track.quaternions)
        for places, values in ((layout.x, x), (layout.p, p)):
            for at, value in zip(places, values, strict=True):
                if at >= 0:
                    y[at : at + len(value)] = value
    return statics.motion(y, float(state.t))


# --- estimating ------------------------------------------------------------------------------------------------------


def _apart(coarse: Rest | Motion, fine: Rest | Motion, quantity: Quantity | None) -> float:
    """Largest difference of what is compared, over all common times."""
    if quantity is not None:
        a, b = (np.asarray(quantity(result), dtype=float) for result in (coarse, fine))
        if a.shape != b.shape:
            raise ValueError(
                f"quantity must not depend on the mesh, but has the shape {a.shape} on one and {b.shape} on another; "
                "take sensors, or interpolate at given s."
            )
        for values in (a, b):
            _check.finite("quantity", values)
        return float(np.max(np.abs(a - b), initial=0.0))
    a, b = _places(coarse, coarse), _places(fine, coarse)
    if isinstance(coarse, Motion) and isinstance(fine, Motion):  # an event ends them at times of their own
        n = min(len(coarse.t), len(fine.t))
        same = np.flatnonzero(np.abs(coarse.t[:n] - fine.t[:n]) <= 1e-12 * np.abs(coarse.t[:n]))
        a, b = a[same], b[same]
    return float(np.max(np.linalg.norm(a - b, axis=-1), initial=0.0))


def _places(result: Rest | Motion, on: Rest | Motion) -> Array:
    """Positions of bodies, and of rods at fractions of the elements of another solution, (..., k, 3)."""
    motion = result.motion if isinstance(result, Rest) else result
    system = motion.compiled.system
    found = [motion[name].position[..., None, :] for name in system.names]
    for name in system.rod_names:
        track: RodTrack = motion[name]
        ends = on[name].mesh.ends
        s = np.append((ends[:-1, None] + np.diff(ends)[:, None] * LOOKS).ravel(), 1.0)
        found.append(apply(*track.mesh.vertex_at(s), track.positions))
    return np.concatenate(found, axis=-2)


# --- dividing --------------------------------------------------------------------------------------------------------


def _count(system: System) -> int:
    return sum(rod.mesh.cells for rod in system.rods)


def with_parts(system: System, pieces: list[Parts]) -> System:
    """The system with elements of its rods in pieces."""
    new: dict[str, object] = {}
    for i, (rod, k) in enumerate(zip(system.rods, pieces, strict=True)):
        if k.max() > 1:
            new |= {f"rods[{i}].{name}": value for name, value in divided(rod.mesh, k).items()}
    return system.with_(new) if new else system


def halves(system: System) -> list[Parts]:
    """Two pieces for each element."""
    return [np.full(rod.mesh.cells, 2) for rod in system.rods]


def _tracks(system: System, result: Rest | Motion) -> list[tuple[Elements, Array, Array]]:
    """Mesh, positions and quaternions of each rod, (n, ...)."""
    tracks = [(rod.mesh, result[rod.name]) for rod in system.rods]
    return [
        (mesh, t.positions.reshape(-1, *t.positions.shape[-2:]), t.quaternions.reshape(-1, *t.quaternions.shape[-2:]))
        for mesh, t in tracks
        if isinstance(mesh, Elements)
    ]


def _folds(system: System, result: Rest | Motion) -> list[Parts]:
    """Two pieces for each element that turns too far."""
    return [np.where(folded(mesh, q).any(axis=0), 2, 1) for mesh, _, q in _tracks(system, result)]


def pieces(system: System, result: Rest | Motion, ratio: float, order: float) -> list[Parts]:
    """Pieces of all elements: those with the largest expected error as the whole demands, others less.

    ``ratio``: what is allowed over the error of the whole, which falls with that order.
    """
    tracks = _tracks(system, result)
    shares = [expected(mesh, x, q).max(axis=0) for mesh, x, q in tracks]
    largest = max(float(share.max()) for share in shares)
    if not largest > 0.0:  # nothing to see in the shape, as where only what is joined to a rod moves
        return halves(system)
    found = []
    for (mesh, _, _), share in zip(tracks, shares, strict=True):
        q = min(max(order, 1.0), mesh.degree + 1.0)
        found.append(np.minimum(parts(share, largest * ratio, q), MOST_PARTS))
    return [np.maximum(k, fold) for k, fold in zip(found, _folds(system, result), strict=True)]


class _Search:
    """Mesh after mesh."""

    def __init__(
        self, system: System, tolerance: float, solver: _Static | _Dynamic, quantity: Quantity | None, most: int,
        progress: Callable[[str], object],
    ) -> None:  # fmt: skip
        self.system, self.tolerance, self.solver, self.quantity = system, tolerance, solver, quantity
        self.most, self.progress = most, progress
        self.history: list[Round] = []
        self.best: Refinement | None = None

    def run(self) -> Refinement:
        """Solve, estimate, divide."""
        failed = stalled = 0
        before: tuple[int, float] | None = None
        while True:
            count = _count(self.system)
            try:
                result, error = self._solved()
            except (SimulationError, EquilibriumError) as trouble:
                failed += 1
                self._next(self._after(trouble, failed))
                continue
            failed = 0
            if error <= self.tolerance:
                assert self.best is not None
                return self.best
            slow = before is not None and error > STALLED * before[1]
            stalled = stalled + 1 if slow else 0
            if stalled == MOST_STALLED:
                self._give_up("more elements do not help")
            cut = pieces(self.system, result, SHARE * self.tolerance / error, self._order(before, count, error))
            if slow:
                self.solver.tighten()
                cut = halves(self.system)
            before = count, error
            self._next(cut)

    def _solved(self) -> tuple[Rest | Motion, float]:
        """The solution on this mesh, and its error by that on halved elements."""
        started, count = time.process_time(), _count(self.system)
        try:
            result = self.solver.solve(self.system, False)
            error = SAFETY * _apart(
                result, self.solver.solve(with_parts(self.system, halves(self.system)), True), self.quantity
            )
        except (SimulationError, EquilibriumError) as trouble:
            self._note(Round(count, None, time.process_time() - started, _brief(str(trouble))))
            raise
        self._note(Round(count, error, time.process_time() - started))
        if self.best is None or error < self.best.error:
            how = self.tolerance, error, self.solver.rtol
            self.best = Refinement(self.system, result, *how, tuple(self.history))
        return result, error

    def _note(self, one: Round) -> None:
        self.history.append(one)
        self.progress(_row(one).strip())

    def _after(self, trouble: SimulationError | EquilibriumError, failed: int) -> list[Parts]:
        """Where to divide after a solution has failed: in motion elements that turn too far, at rest all."""
        if failed > MOST_FAILED:
            raise trouble
        if isinstance(trouble, EquilibriumError):  # where Newton's method has strayed to means nothing
            return halves(self.system)
        last = of_rows(trouble.motion.compiled, np.array([trouble.time]), np.asarray(trouble.state)[None])
        mine = all(last[rod.name].mesh.cells == rod.mesh.cells for rod in self.system.rods)
        pieces = _folds(self.system, last) if mine else halves(self.system)
        if all(k.max() == 1 for k in pieces):
            raise trouble
        return pieces

    def _order(self, before: tuple[int, float] | None, count: int, error: float) -> float:
        """Order at which the error has fallen; infinite if there is nothing to see it by."""
        if before is None or count <= before[0]:
            return math.inf
        return math.log(before[1] / error) / math.log(count / before[0])

    def _next(self, pieces: list[Parts]) -> None:
        count = sum(int(k.sum()) for k in pieces)
        if count > self.most:
            self._give_up(f"the next mesh would have {count} elements, and most = {self.most} are allowed")
        self.system = with_parts(self.system, pieces)

    def _give_up(self, why: str) -> NoReturn:
        least = "nothing was found" if self.best is None else f"the least error is {self.best.error:.3g}"
        advice = "give a larger tolerance or a larger most"
        if isinstance(self.solver, _Dynamic):
            advice += ", a shorter time, or loads that set in smoothly; motions that are chaotic have no such mesh"
        rounds = "\n".join(_table(self.history))
        raise RefinementError(
            f"tolerance = {self.tolerance:g} is not reached: {why}; {least}. Remedies: {advice}.\n{rounds}", self.best
        )


# --- telling ---------------------------------------------------------------------------------------------------------


def _row(one: Round) -> str:
    error = "" if one.error is None else f"{one.error:.3g}"
    return f"{one.elements:9d} {error:>10} {one.seconds:8.3g}  {one.note}".rstrip()


def _brief(sentence: str) -> str:
    """The beginning of a sentence."""
    return textwrap.shorten(sentence, MOST_TOLD, placeholder=" ...")


def _table(history: tuple[Round, ...] | list[Round]) -> list[str]:
    return [f"{'elements':>9} {'error':>10} {'CPU s':>8}", *map(_row, history)]
