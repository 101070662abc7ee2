"""follow: equilibria along a path of a load, a length or a pseudo-time, through limit points and bifurcations.

One corrector serves all: Newton's method on (F(q, λ), <c, z - z0>) with z = (q, λ), bordered by two solves with the
same factors (Keller 1977). c = (0, 1) is a plain increment, c the tangent the arc length, c a mode the first step on a
new branch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from itertools import pairwise
from os import PathLike
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import _check, look
from gyrod.equations import ForceError
from gyrod.model import System
from gyrod.model.errors import shown
from gyrod.motion import Beside, Motion, MotionStats, Rest, errors
from gyrod.solve.companions import of_path, with_errors
from gyrod.solve.eigen import first_largest
from gyrod.solve.loads import Growing, scaled
from gyrod.solve.statics import RELAXATIONS, Statics, failure, prepare, reachable

Array = NDArray[np.float64]

PARAMETERS = ("time", "load", "gravity")
LIMIT_POINT, BIFURCATION = "limit point", "bifurcation"

#: Newton iterations that increments aim at. Their number says more than the first contraction, which stiff extension
#: spoils long before the increment is too large.
TARGET = 6
#: Iterations after which an increment counts as too large.
ITERATIONS = 15
#: Ratio of an increment to the last one up to which the predictor looks back.
FAR = 2.0
#: Increments over the span of the stops: first, largest, where plain ones give up for the arc length, smallest.
FIRST, LARGEST, TURN, SMALLEST = 0.05, 0.1, 1e-3, 1e-8
#: So many increments must come on by this share of the span each, or of the largest increment if that is small.
CREEPING, LEAST = 60, 1e-4
#: Arc length: the largest step over the scales and the largest angle between tangents, in rad.
LONGEST, SHARPEST = 0.2, 0.35
#: Step of the differences in the parameter, over the span and, where an increment has failed, over that: a led end must
#: not move by a part of a segment meanwhile, which is stiff.
DIFFERENCE, FINER = 1e-5, 1e-2
#: Share of a way that the trapezoidal rule over its tangents may leave out.
DEFECT = 0.2
#: Factor of the shift: along motions without stiffness, as a buckled round column has one, rounding is amplified less.
STIFFEN = 10.0
#: Events are located to this, relative to the value.
LOCATED = 1e-7
#: Amplitudes, over the scales, at which a new branch is looked for.
AMPLITUDES = (0.02, 0.05, 0.01, 0.1, 0.005)


# --- the result ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PathEvent:
    """A limit point, where the parameter turns, or a bifurcation, where another branch crosses."""

    #: "limit point" or "bifurcation".
    kind: str
    #: Of the parameter.
    value: float
    #: The equilibrium there.
    rest: Rest = field(repr=False)
    #: The critical mode as an increment of the unknowns (velocities zero), of root mean square 1 over the scales.
    mode: Array = field(repr=False)
    #: Negative eigenvalues of the tangent stiffness before and after.
    unstable: tuple[int, int]
    #: Number of the path's point before it.
    after: int


@dataclass(frozen=True)
class Path:
    """Equilibria along a parameter: ``path.value`` (n,), ``path["hose"].positions`` (n, N+1, 3), ``path.stable`` (n,).

    ``path.rests[k]`` and ``path.at(0.5)`` are single ones.
    """

    #: "time", "load", "gravity" or the name of the function.
    parameter: str
    #: Of the parameter, (n,).
    value: Array
    #: Unknowns, (n, N).
    y: Array
    #: Negative eigenvalues of the tangent stiffness, (n,).
    unstable: NDArray[np.int64]
    #: Newton iterations that each point took, (n,).
    iterations: NDArray[np.int64]
    #: Limit points and bifurcations in the order of the path.
    events: tuple[PathEvent, ...]
    _family: _Family = field(repr=False)
    _histories: tuple[tuple[str, Array], ...] = field(repr=False)
    _beside: Beside = field(default_factory=Beside, repr=False)

    @cached_property
    def error(self) -> errors.ErrorReport:
        """Errors by quantity, the largest along the path; rough ones, unless it was followed with ``error``."""
        return errors.of_path(self)

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Whether the equilibria are stable, (n,)."""
        return np.asarray(self.unstable == 0)

    def __len__(self) -> int:
        return len(self.value)

    def __getstate__(self) -> dict[str, Any]:
        """The fields; of a path over a function the systems at its points, since functions rarely go with a pickle."""
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        return state | {"_family": self._family.portable(self.value)}

    @cached_property
    def rests(self) -> Sequence[Rest]:
        """The equilibria one by one; made when asked for."""
        return _Rests(self)

    def at(self, value: float) -> Rest:
        """The equilibrium at a stop, or at another point of the path; the last one where the path has several."""
        number = _check.number("value", value)
        span = float(np.ptp(self.value)) or 1.0
        found = np.flatnonzero(np.abs(self.value - number) <= 1e-12 * max(span, abs(number)))
        if not len(found):
            near = float(self.value[np.argmin(np.abs(self.value - number))])
            raise ValueError(
                f"value = {number:g} is no point of the path; the nearest is {near:g}. Make it one of the stops."
            )
        return self.rests[int(found[-1])]

    @cached_property
    def motion(self) -> Motion:
        """The points as the times of a motion; not for a path over a function, whose systems differ."""
        compiled = self._family.whole
        if compiled is None:
            raise ValueError(f"the systems along {self.parameter!r} differ; use path[name] and path.rests.")
        stats = MotionStats("follow", compiled.formulation, steps=len(self.value) - 1)
        return Motion(self.value, self.y, stats, steps=self.value, _compiled=compiled)

    def __getitem__(self, name: str) -> Any:
        """A body, a rod or a joint by its name, with the points of the path as first axis."""
        if self._family.whole is not None:
            return self.motion[name]
        return _stacked([rest[name] for rest in self.rests])

    def plot(
        self,
        what: str = "response",
        *,
        names: str | Sequence[str] | None = None,
        file: str | PathLike[str] | None = None,
        figure: Any = None,
        size: tuple[float, float] | None = None,
    ) -> Any:
        """A matplotlib Figure: displacements against the parameter ("response"), or what a motion draws ("shape")."""
        return look.plot_path(self, what, names=names, file=file, figure=figure, size=size)


class _Rests(Sequence[Rest]):
    """The equilibria of a path, made when asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._made: dict[int, Rest] = {}

    def __len__(self) -> int:
        return len(self._path.value)

    @overload
    def __getitem__(self, index: int) -> Rest: ...
    @overload
    def __getitem__(self, index: slice) -> list[Rest]: ...
    def __getitem__(self, index: int | slice) -> Rest | list[Rest]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        if i not in self._made:
            p = self._path
            method, history = p._histories[i]
            self._made[i] = p._family.rest(float(p.value[i]), p.y[i], int(p.unstable[i]), history, method)
        return self._made[i]


def _stacked(tracks: list[Any]) -> Any:
    """Tracks without a first axis as one that has it."""
    first = tracks[0]
    same = ("start",)  # the sign convention of quaternions
    arrays = [f.name for f in fields(first) if isinstance(getattr(first, f.name), np.ndarray) and f.name not in same]
    return replace(first, **{name: np.stack([getattr(track, name) for track in tracks]) for name in arrays})


class PathError(RuntimeError):
    """A path that cannot go on: ``path`` holds what was reached, ``history`` the last Newton steps over the scales."""

    def __init__(self, message: str, path: Path, history: Array) -> None:
        super().__init__(message)
        self.path, self.history = path, history


class PathInterrupted(KeyboardInterrupt):
    """Ctrl-C on the way; ``path`` holds what was reached."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


# --- what the parameter does -----------------------------------------------------------------------------------------


class _Family(ABC):
    """Systems along a parameter: ``at`` gives the equations for a value and the time to ask them at."""

    #: The compiled system where one serves all values, with the value as time.
    whole: Any = None
    #: Whether forces are linear in the parameter.
    linear: bool = False

    @abstractmethod
    def at(self, value: float) -> tuple[Statics, float]:
        """Equations and time."""

    @abstractmethod
    def system(self, value: float) -> tuple[System, float]:
        """The system that is at rest at this value, and the time of its functions."""

    @abstractmethod
    def portable(self, values: Array) -> _Family:
        """One that can be pickled and serves these values."""

    def rest(self, value: float, y: Array, unstable: int, history: Array, method: str) -> Rest:
        """An equilibrium, of the system as it is at this value."""
        system, t = self.system(value)
        statics, _ = self.at(value)
        if statics.compiled.system is not system:
            statics = prepare(system)
        return Rest(statics.motion(y, t), unstable, method, history)


def _prepared(system: System) -> Statics:
    """Statics with a larger shift: free motions are followed for long."""
    found = prepare(system)
    return replace(found, shift=STIFFEN * found.shift)


class _Timed(_Family):
    """One system whose time is the parameter; ``then`` makes the one that is at rest at a value, if it is another."""

    def __init__(self, system: System, then: Callable[[float], System] | None = None) -> None:
        self._given, self._then = system, then
        self._statics = _prepared(system)
        self.whole, self.linear = self._statics.compiled, then is not None

    def __reduce__(self) -> Any:
        return _Timed, (self._given, self._then)

    def portable(self, values: Array) -> _Family:  # noqa: ARG002
        return self

    def at(self, value: float) -> tuple[Statics, float]:
        return self._statics, value

    def system(self, value: float) -> tuple[System, float]:
        return (self._given, value) if self._then is None else (self._then(value), 0.0)


class _Made(_Family):
    """A system for each value, compiled anew; ``kept`` are values that are asked for again and again."""

    def __init__(self, name: str, make: Callable[[float], Any], kept: tuple[float, ...] = ()) -> None:
        self._name, self._make, self._kept = name, make, kept
        self._recent: dict[float, Statics] = {}
        self._first: Statics | None = None
        self.linear = bool(kept)

    def __reduce__(self) -> Any:
        return _Made, (self._name, self._make, self._kept)

    def portable(self, values: Array) -> _Family:
        if isinstance(self._make, partial):  # of loads
            return self
        return _Made(self._name, _Listed({float(v): self._make(float(v)) for v in values}))

    def at(self, value: float) -> tuple[Statics, float]:
        if value not in self._recent:
            found = _prepared(self.system(value)[0])
            self._first = first = self._first or found
            if found.compiled.kinds != first.compiled.kinds:
                raise ValueError(
                    f"{self._name}({value:g}) returns a system with {found.compiled.size} unknowns, before it were "
                    f"{first.compiled.size}; bodies, joints, rods, segments and kinds of ends must stay the same."
                )
            if len(self._recent) > 7:
                del self._recent[next(v for v in self._recent if v not in self._kept)]
            # One length for all: sizes along the path are compared.
            self._recent[value] = replace(found, scale=first.scale)
        return self._recent[value], 0.0

    def system(self, value: float) -> tuple[System, float]:
        system = self._make(value)
        if not isinstance(system, System):
            raise ValueError(f"{self._name}({value:g}) must return a gyrod.System, got {type(system).__name__}.")
        return system, 0.0


@dataclass(frozen=True)
class _Listed:
    """Systems by values of a parameter, in place of the function that made them."""

    systems: dict[float, System]

    def __call__(self, value: float) -> System:
        """The system at a point of the path."""
        return self.systems[value]


def _family(system: System | None, parameter: str | Callable[[float], System], stops: Array) -> _Family:
    if callable(parameter):
        return _Made(_name(parameter), parameter)
    if not isinstance(system, System):
        raise ValueError(f"system must be a gyrod.System, got {type(system).__name__}.")
    if _check.choice("parameter", parameter, PARAMETERS) == "time":
        return _Timed(system)
    forces = parameter == "load"
    then = partial(scaled, system, forces=forces)
    then(2.0)  # what cannot be scaled is told now
    growing = _growing(system, forces)
    ends = float(stops.min()), float(stops.max())
    return _Made(parameter, then, ends) if growing is None else _Timed(growing, then)


def _name(parameter: str | Callable[[float], System]) -> str:
    return parameter if isinstance(parameter, str) else str(getattr(parameter, "__name__", "parameter"))


def _growing(system: System, forces: bool) -> System | None:
    """The system with its loads times t, so that it need not be compiled for each value; None where that fails.

    Functions of time of its own stand in the way, and so do bodies, whose weight is constant.
    """
    timed = system.gravity_function is not None
    timed |= any(callable(getattr(force, field)) for force in system.forces for field in force.loads)
    for rod in system.rods:
        timed |= callable(rod.rest_stretch) or any(callable(x) for e in (rod.start, rod.end) for x in (e.at, e.frame))
    if timed or system.bodies or system.junctions:
        return None

    def growing(value: Any) -> Callable[[float], Any]:
        return Growing(np.array(value, dtype=float))

    gravity: Any = growing(system.gravity)
    kept = tuple(force.times(growing) for force in system.forces) if forces else system.forces
    return replace(system, forces=kept, gravity=gravity)


# --- one point -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Point:
    """An equilibrium on the path; the tangent (slope, 1) times ``heading`` points along it."""

    value: float
    y: Array
    unstable: int
    history: Array
    method: str = "newton"
    #: dq/dλ after (32).
    slope: Array = field(default_factory=lambda: np.zeros(0))
    #: +1 where the parameter grows along the path, -1 where it falls.
    heading: float = 1.0


class _Stuck(Exception):
    """No way on: a sentence."""


class _Folded(_Stuck):
    """A rod turns further than its mesh can tell: a sentence of the core, with its remedy."""


class _Solver:
    """Newton's method in (q, λ), tangents and modes, in the norm of the scales; λ over the span of the stops."""

    def __init__(self, family: _Family, low: float, high: float, tolerance: float) -> None:
        self.family, self.low, self.high, self.tolerance = family, low, high, tolerance
        self.span = high - low
        #: Step of the differences in the parameter.
        self.difference = DIFFERENCE * self.span
        statics, _ = family.at(low)
        self.mask = statics.scale > 0.0
        self._weight = np.divide(1.0, statics.scale**2, out=np.zeros_like(statics.scale), where=self.mask)
        self._weight /= np.count_nonzero(self.mask)

    def dot(self, a: Array, b: Array) -> float:
        """Mean product of increments over the scales."""
        return float(np.sum(a * b * self._weight))

    def size(self, dq: Array, dvalue: float = 0.0) -> float:
        """Root mean square of an increment over the scales, and over the span."""
        return float(np.sqrt(self.dot(dq, dq) + (dvalue / self.span) ** 2))

    def place(self, y: Array, value: float) -> Array:
        """The unknowns back on the constraints at this value, at rest."""
        statics, t = self.family.at(value)
        return statics.place(y, t)

    def plain(self, y: Array, value: float, iterations: int, relaxations: int = 0) -> tuple[str, Array, Array]:
        """Equilibrium at a value of the parameter."""
        statics, t = self.family.at(value)
        found = statics.newton(
            self.place(y, value), t, tolerance=self.tolerance, iterations=iterations, relaxations=relaxations
        )
        return found[0], found[1], found[2]

    def linearise(self, y: Array, value: float) -> bool:
        """Factor the tangent stiffness at a point."""
        statics, t = self.family.at(value)
        return bool(statics.compiled.core.linearise(t, y, statics.shift))

    def slope(self, y: Array, value: float) -> Array:
        """dq/dλ after (32), with the factors of `linearise` at the same point."""
        d = self.difference
        if self.family.linear:
            points = [(self.high - value, 1.0 / self.span), (self.low - value, -1.0 / self.span)]
        # Functions of the user are not asked beyond the stops, unless the path itself goes there.
        elif self.low + d <= value <= self.high - d:
            points = [(d, 0.5 / d), (-d, -0.5 / d)]
        else:
            d = -d if value > self.high - d else d
            points = [(0.0, -1.5 / d), (d, 2.0 / d), (2.0 * d, -0.5 / d)]
        moved, by = self.family.at(value)[0].slope(y, [(w, *self.family.at(value + step)) for step, w in points])
        return np.where(self.mask, moved + by, 0.0)

    def correct(
        self, y: Array, value: float, normal: tuple[Array, float] | None = None, iterations: int = ITERATIONS
    ) -> tuple[str, Array, float, Array]:
        """Equilibrium at a value, or in the plane through (y, value) with that normal: status, y, value, history.

        Not damped: on the way, the first step takes the strain out of the guess and may well be followed by a longer
        one, which a monotonicity test would cut; what is reached is judged by where it lies.
        """
        y = y0 = self.place(y, value)
        value0, sizes = value, [np.inf]
        for _ in range(iterations):
            statics, t = self.family.at(value)
            b = np.array(statics.compiled.core.rhs(t, y))
            if not self.linearise(y, value):
                return "singular", y, value, _history(sizes)
            b[self.mask] = 0.0
            step, by = np.where(self.mask, statics.compiled.core.solve(b), 0.0), 0.0
            if normal is not None:
                (cq, cl), slope = normal, self.slope(y, value)
                off = self.dot(cq, y - y0 + step) + cl * (value - value0) / self.span**2
                by = -off / (self.dot(cq, slope) + cl / self.span**2)
                step = step + by * slope
            size = self.size(step, by)
            if not size <= 1.0:
                return "failed", y, value, _history([*sizes, size])
            value += by
            y = self.place(y + step, value)
            stalled = size < 1e3 * self.tolerance and size > 0.1 * sizes[-1]
            sizes.append(size)
            if size <= self.tolerance or stalled:
                return "converged", y, value, _history(sizes)
        return "failed", y, value, _history(sizes)

    def finish(self, point: _Point, towards: tuple[Array, float] | None = None) -> _Point:
        """The point with its stability and its tangent, which looks along ``towards``, or as it did."""
        statics, t = self.family.at(point.value)
        unstable = statics.unstable(point.y, t)
        folded = statics.compiled.core.trouble(t, np.ascontiguousarray(point.y))
        if folded:
            raise _Folded(folded)
        if not self.linearise(point.y, point.value):
            raise _Stuck("the tangent stiffness is singular")
        slope = self.slope(point.y, point.value)
        heading = point.heading
        if towards is not None:
            heading = np.sign(self.dot(slope, towards[0]) + towards[1] / self.span**2) or 1.0
        return replace(point, unstable=unstable, slope=slope, heading=float(heading))

    def tangent(self, point: _Point) -> tuple[Array, float]:
        """Unit tangent (dq/ds, dλ/ds)."""
        by = point.heading / self.size(point.slope, 1.0)
        return by * point.slope, by

    def angle(self, a: _Point, b: _Point) -> float:
        """Between the tangents of two points."""
        (p, v), (q, w) = self.tangent(a), self.tangent(b)
        return float(np.arccos(np.clip(self.dot(p, q) + v * w / self.span**2, -1.0, 1.0)))

    def joined(self, a: _Point, b: _Point) -> bool:
        """Whether the tangents of two points account for the way between them; if not, it leads to another branch."""
        (p, v), (q, w) = self.tangent(a), self.tangent(b)
        way, change = b.y - a.y, b.value - a.value
        plain = a.heading == b.heading and min(abs(v), abs(w)) > 0.0
        mean = 0.5 * change * (a.slope + b.slope) if plain else 0.5 * self.size(way, change) * (p + q)
        if self.size(way - mean) <= DEFECT * self.size(way) + 1e-7:
            return True
        rest = way - mean
        for mode in self._neutral(b):  # there the path wanders without any force
            rest = rest - self.dot(rest, mode) * mode
        return self.size(rest) <= DEFECT * self.size(way) + 1e-7

    def critical(self, point: _Point, count: int, up: bool, most: int) -> float:
        """Of all eigenvalues in order the one that turns negative as the count leaves ``count`` upwards, or positive.

        0 if it is not among those next to zero.
        """
        statics, t = self.family.at(point.value)
        squares = np.sort(statics.modes(point.y, t, most + 3)[0])
        negative = int(np.count_nonzero(squares < -(statics.shift**2)))
        k = count - (0 if up else 1) - (point.unstable - negative)
        return float(squares[k]) if 0 <= k < len(squares) else 0.0

    def _neutral(self, point: _Point) -> list[Array]:
        """Motions without stiffness, orthonormal increments of the positions."""
        statics, t = self.family.at(point.value)
        squares, shapes = statics.modes(point.y, t, 6)
        found: list[Array] = []
        for shape in shapes[np.abs(squares) <= statics.shift**2]:
            b = np.zeros_like(point.y)
            b[statics.velocities] = shape
            mode = np.where(self.mask, statics.compiled.core.solve(b), 0.0)
            mode = mode - sum((self.dot(mode, other) * other for other in found), np.zeros_like(mode))
            found.append(mode / self.size(mode))
        return found

    def mode(self, point: _Point, negative: bool | None = None) -> tuple[float, Array]:
        """Eigenvalue of the tangent stiffness next to zero (the square of a frequency) and its mode in positions.

        With ``negative`` it is the next one of that sign that is no motion without stiffness.
        """
        statics, t = self.family.at(point.value)
        squares, shapes = statics.modes(point.y, t, 1 if negative is None else 6)
        k = 0
        if negative is not None:
            found = np.flatnonzero((np.abs(squares) > statics.shift**2) & ((squares < 0.0) == negative))
            k = int(found[np.argmin(np.abs(squares[found]))]) if len(found) else 0
        b = np.zeros_like(point.y)
        b[statics.velocities] = shapes[k]
        mode = np.where(self.mask, statics.compiled.core.solve(b), 0.0)
        mode /= self.size(mode)
        largest = mode[first_largest(np.abs(mode) * np.sqrt(self._weight))]
        return float(squares[k]), mode * np.sign(largest)


def _history(sizes: list[float]) -> Array:
    rows = np.array(sizes[1:])
    return np.stack([rows, np.ones_like(rows), np.zeros_like(rows)], axis=1)


def _growth(history: Array, most: float) -> float:
    """Factor of the next increment by the iterations of this one."""
    return float(np.clip(2.0 ** (0.5 * (TARGET - len(history))), 0.3, most))


def _cubic(a: Array, b: Array, da: Array, db: Array, x: float) -> Array:
    """At 1 + x the cubic with values and derivatives a, da at 0 and b, db at 1."""
    bend = a - b + db
    twist = da - db + 2.0 * bend
    return np.asarray(b + x * db + x * x * (bend + twist) + x**3 * twist)


# --- the way ---------------------------------------------------------------------------------------------------------


class _Tracer:
    """Walks from stop to stop and keeps what it finds."""

    def __init__(
        self, solver: _Solver, largest: float, increments: int | None, arc: str, branch: int | None, bifurcations: bool,
        most: int, tick: Callable[[float, float], None],
    ) -> None:  # fmt: skip
        self.solver, self.largest, self.increments, self.arc = solver, largest, increments, arc
        self.branch, self.bifurcations, self.most, self.tick = branch, bifurcations, most, tick
        self.points: list[_Point] = []
        self.events: list[PathEvent] = []
        self.last = np.zeros((0, 3))
        self._h = FIRST * solver.span
        self._ds = 0.0
        #: Where the increments of this walk began.
        self._past: list[float] = []
        #: Points from which on the predictor may look back; a branch begins with a kink.
        self._smooth = 1
        self.marching = False

    @property
    def here(self) -> _Point:
        """The last point."""
        return self.points[-1]

    def begin(self, value: float, guess: Rest | Motion | None) -> None:
        """Find the equilibrium at the first stop."""
        statics, t = self.solver.family.at(value)
        y = statics.y if guess is None else np.array(guess.y)
        if y.shape != statics.y.shape:
            raise ValueError(f"guess has {y.size} unknowns, the system {statics.y.size}; take a Rest of the same one.")
        method = "newton"
        status, found, history = self.solver.plain(y, value, 60)
        if status != "converged":
            method = "relaxation"
            status, found, history = self.solver.plain(y, value, 60, RELAXATIONS)
        if status != "converged":
            raise failure(statics, status, found, t, history, method)
        self.points.append(self.solver.finish(_Point(value, found, 0, history, method)))

    def go(self, stop: float) -> None:
        """From the last point to a stop."""
        self.marching = False
        self.points[-1] = replace(self.here, heading=1.0 if stop > self.here.value else -1.0)
        if self.increments is not None:
            self._count(stop, self.increments)
        elif self.arc != "always":
            self._walk(stop)
        else:
            self._march(stop)

    # Plain increments.

    def _count(self, stop: float, n: int) -> None:
        values = np.linspace(self.here.value, stop, n + 1).tolist()
        for value in values[1:]:
            # The tangent as in the paper; the cubic reaches farther where the path is smooth, and less far elsewhere.
            found = self._increment(value, 60, far=0.0) or self._increment(value, 60, far=FAR)
            if found is None:
                raise _Stuck(f"an increment of {abs(values[1] - values[0]):.3g} is too large")
            self._accept(found)

    def _walk(self, stop: float) -> None:
        span, tried = self.solver.span, 0
        self._h = min(self._h, self.largest)
        self._past = []
        while (left := abs(stop - self.here.value)) > 0.0:
            h = left if left <= 1.01 * self._h else min(self._h, 0.5 * left) if left < 2.0 * self._h else self._h
            self._watch(tried := tried + 1)
            found = self._increment(stop if h == left else self.here.value + self.here.heading * h, ITERATIONS)
            if found is None:
                self._finer(h)
                self._h = 0.5 * h if h > 0.02 * span or self.arc == "auto" else 0.25 * h
                if self.arc == "auto" and self._h < TURN * span:
                    self._ds, self._h = 0.0, FIRST * span
                    return self._march(stop)
                if self._h < SMALLEST * span:
                    raise _Stuck(f"increments fell below {SMALLEST:g} of the span")
                continue
            self._h = min(max(h, 0.0) * _growth(found.history, 3.0), self.largest)
            if self._accept(found):
                return self._march(stop)
        return None

    def _watch(self, tried: int) -> None:
        """Stop a walk whose increments stay small: it would not end."""
        self._past.append(self.here.value)
        if tried > CREEPING:
            way = abs(self.here.value - self._past[tried - 1 - CREEPING])
            if way < CREEPING * min(LEAST * self.solver.span, 0.1 * self.largest):
                raise _Stuck(f"the last {CREEPING} increments came on by {way:.2g} only")

    def _finer(self, h: float) -> None:
        """After an increment that failed: the tangent by finer differences, if they were coarse beside it."""
        s = self.solver
        if FINER * h < s.difference and not s.family.linear:
            s.difference = FINER * h
            self.points[-1] = s.finish(self.here)

    def _increment(self, value: float, iterations: int, far: float | None = None) -> _Point | None:
        """The point at a value, or None if Newton's method fails or, for automatic increments, leads elsewhere."""
        s, here = self.solver, self.here
        guess = self._predict(value, FAR if far is None else far)
        status, y, _, self.last = s.correct(guess, value, None, iterations)
        if status != "converged":
            return None
        found = s.finish(_Point(value, y, 0, self.last, heading=here.heading))
        return found if far is not None or s.joined(here, found) else None

    def _predict(self, value: float, far: float) -> Array:
        """By the tangent (32), or by the cubic through the last two points and their tangents if that is not far."""
        b, h = self.here, value - self.here.value
        if len(self.points) > self._smooth:
            a, back = self.points[-2], b.value - self.points[-2].value
            if 0.0 < h / back <= far:
                return _cubic(a.y, b.y, back * a.slope, back * b.slope, h / back)
        return np.asarray(b.y + h * b.slope)

    # Arc length.

    def _march(self, stop: float) -> None:
        s, fewest = self.solver, 10.0 * SMALLEST
        self.marching = True
        if self._ds == 0.0:
            self._ds = min(s.size(self.here.slope * FIRST * s.span, FIRST * s.span), 0.25 * LONGEST)
        while True:
            if len(self.points) >= self.most:
                raise _Stuck(f"{self.most} points (max_points) did not lead there")
            here, ds = self.here, self._ds
            if ds < fewest:
                raise _Stuck(f"steps along the path fell below {fewest:g} of the scales")
            dq, dv = s.tangent(here)
            ds = min(ds, self.largest / max(abs(dv), 1e-300))
            status, y, value, self.last = s.correct(*self._ahead(ds), (dq, dv))
            found = None
            if status == "converged":
                found = s.finish(_Point(value, y, 0, self.last), towards=(dq, dv))
                if s.angle(here, found) > 2.0 * SHARPEST or not s.joined(here, found):
                    found = None
            if found is None:
                self._ds = 0.4 * ds
                continue
            landed, there = self._land(here, found, stop)
            if landed and there is None:  # the stop is here, but too far from both points
                self._ds = 0.4 * ds
                continue
            turn = s.angle(here, found)
            self._ds = min(ds * min(_growth(self.last, 2.0), SHARPEST / max(turn, 1e-3)), LONGEST)
            left = self._accept(found if there is None else there)
            if there is not None and not left:
                return

    def _land(self, a: _Point, b: _Point, stop: float) -> tuple[bool, _Point | None]:
        """Whether the stop lies between two points, and the point there if Newton's method finds it."""
        s = self.solver
        knots = [a, *([self._limit(a, b)[1]] if a.heading != b.heading else []), b]
        for c, d in pairwise(knots):
            if (c.value - stop) * (d.value - stop) > 0.0 or c.value == stop:
                continue
            chord = d.y - c.y, d.value - c.value
            guess = c.y + (stop - c.value) / chord[1] * chord[0]
            status, y, _, history = s.correct(guess, stop)
            if status != "converged" or s.size(y - guess) > s.size(*chord):
                return True, None
            return True, s.finish(_Point(stop, y, 0, history), towards=chord)
        return False, None

    def _ahead(self, ds: float) -> tuple[Array, float]:
        """The same along the path."""
        s, b = self.solver, self.here
        dq, dv = s.tangent(b)
        if len(self.points) > self._smooth:
            a = self.points[-2]
            (pq, pv), back = s.tangent(a), s.size(b.y - a.y, b.value - a.value)
            if s.angle(a, b) < 2.0 * SHARPEST and ds <= FAR * back:
                x = ds / back
                value = _cubic(np.array(a.value), np.array(b.value), np.array(back * pv), np.array(back * dv), x)
                return _cubic(a.y, b.y, back * pq, back * dq, x), float(value)
        return b.y + ds * dq, b.value + ds * dv

    # Events.

    def _accept(self, point: _Point) -> bool:
        """Keep a point and what lies before it; true if the path has turned into another branch."""
        a = self.here
        turned = a.heading != point.heading
        self.tick(point.value, abs(point.value - a.value))
        if turned:
            before, at = self._limit(a, point)
            self._record(LIMIT_POINT, at, (a.unstable, point.unstable))
            explained = abs(point.unstable - a.unstable) == 1
            if not explained and self.bifurcations and before > 0.0:
                self._search(a, point, skip=before)
        elif point.unstable != a.unstable and self.bifurcations and self._search(a, point):
            return True
        self.points.append(point)
        return False

    def _record(
        self, kind: str, at: _Point, change: tuple[int, int], beyond: tuple[_Point, bool] | None = None
    ) -> Array:
        _, mode = self.solver.mode(at) if beyond is None else self.solver.mode(*beyond)
        rest = self.solver.family.rest(at.value, at.y, at.unstable, at.history, "newton")
        self.events.append(PathEvent(kind, at.value, rest, mode, change, len(self.points) - 1))
        return mode

    def _between(self, a: _Point, b: _Point, share: float) -> _Point | None:
        """The point of the path on the plane across the chord from a to b."""
        s = self.solver
        chord = b.y - a.y, b.value - a.value
        if share <= 0.0 or share >= 1.0:
            return a if share <= 0.0 else b
        status, y, value, history = s.correct(a.y + share * chord[0], a.value + share * chord[1], chord)
        if status != "converged":
            return None
        return s.finish(_Point(value, y, 0, history), towards=chord)

    def _limit(self, a: _Point, b: _Point) -> tuple[float, _Point]:
        """Where dλ/ds is zero between two points: share of the chord, and the point."""
        s = self.solver
        lo, hi, at = 0.0, 1.0, b if abs(s.tangent(b)[1]) < abs(s.tangent(a)[1]) else a
        f_lo, f_hi = s.tangent(a)[1], s.tangent(b)[1]
        share, side = 0.5, 0
        for _ in range(40):  # Illinois
            share = lo + (hi - lo) * f_lo / (f_lo - f_hi)
            found = self._between(a, b, share)
            if found is None:
                share = 0.5 * (lo + hi)
                found = self._between(a, b, share)
            if found is None:
                break
            at, f = found, s.tangent(found)[1]
            if abs(f) * (hi - lo) < 1e-9 * s.span:
                break
            if f * f_lo > 0.0:
                lo, f_lo, f_hi = share, f, f_hi * (0.5 if side == 1 else 1.0)
                side = 1
            else:
                hi, f_hi, f_lo = share, f, f_lo * (0.5 if side == -1 else 1.0)
                side = -1
        return share, at

    def _search(self, a: _Point, b: _Point, skip: float | None = None) -> bool:
        """Locate all bifurcations between two points; true if the path leaves at the first one."""
        share, count = 0.0, a.unstable
        for _ in range(8):
            if count == b.unstable:
                break
            share, at, after, hidden = self._crossing(a, b, share, count)
            if skip is None or abs(share - skip) > 1e-3:
                change = count, after
                mode = self._record(BIFURCATION, at, change, (b, after > count) if hidden else None)
                if self.branch is not None:
                    self._leave(replace(at, unstable=count), mode)
                    return True
            count = after
        return False

    def _crossing(self, a: _Point, b: _Point, start: float, count: int) -> tuple[float, _Point, int, bool]:
        """The first change of the inertia behind a share of the chord, by bisection and secants of the eigenvalue."""
        s = self.solver
        lo, hi, at, after, side = start, 1.0, b, b.unstable, 0
        up, most = after > count, abs(after - count)
        f_lo, f_hi = (s.critical(self._between(a, b, share) or a, count, up, most) for share in (lo, hi))
        # A motion without stiffness hides the eigenvalue that changes its sign: the count alone must do then. It takes
        # an eigenvalue for negative only below -shift².
        least = s.family.at(b.value)[0].shift ** 2
        hidden = f_lo * f_hi >= 0.0 or min(abs(f_lo), abs(f_hi)) <= least
        width = max(abs(b.value - a.value), LOCATED * s.span)
        goal = LOCATED * max(abs(a.value), abs(b.value), 1e-3 * s.span) / width
        for _ in range(60):
            share = lo + (hi - lo) * (0.5 if hidden else f_lo / (f_lo - f_hi))
            found = self._between(a, b, share)
            if found is None:  # near the crossing Newton's method may wander: a little beside
                share = lo + 0.382 * (hi - lo)
                found = self._between(a, b, share)
            if found is None:
                break
            at, changed, off = found, found.unstable != count, 1.0
            if not hidden:  # Illinois
                f = s.critical(found, count, up, most)
                changed = (f < 0.0) == up
                other = f_lo if changed else f_hi
                off = abs(f / (f - other)) * (share - lo if changed else hi - share) if f != other else 1.0
                f_lo *= 0.5 if changed and side == 1 else 1.0
                f_hi *= 0.5 if not changed and side == -1 else 1.0
                f_lo, f_hi, side = (f_lo, f, 1) if changed else (f, f_hi, -1)
            if changed:
                hi, after = share, found.unstable if found.unstable != count else after
            else:
                lo = share
            if min(off, hi - lo) <= goal:
                break
        # What changes at the same place, as both planes of a round column do, is one bifurcation.
        step = 100.0 * goal
        while hi < 1.0:
            hi, step = min(hi + step, 1.0), 4.0 * step
            found = self._between(a, b, hi)
            if found is not None and found.unstable != count:
                return hi, at, found.unstable, hidden
        return hi, at, after, hidden

    def _leave(self, at: _Point, mode: Array) -> None:
        """Step from a bifurcation to the branch along its mode."""
        s, side = self.solver, float(self.branch or 1)
        self.branch, self.arc = None, "always"
        for amplitude in AMPLITUDES:
            push = side * amplitude * mode
            status, y, value, self.last = s.correct(at.y + push, at.value, (mode, 0.0), 30)
            if status != "converged" or abs(value - at.value) > 0.3 * s.span:
                continue
            found = s.finish(_Point(value, y, 0, self.last), towards=(y - at.y, value - at.value))
            self.points += [at, found]
            self._smooth = len(self.points)
            self._ds = amplitude
            return
        self.points.append(at)
        raise _Stuck(f"no branch was found along the critical mode at {at.value:.10g}")


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
    error: str = "rough",
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
    family = _family(system, parameter, values)
    solver = _Solver(family, float(values.min()), float(values.max()), tolerance)
    with _progress_bar(progress, _name(parameter), values) as tick:
        tracer = _Tracer(solver, most, count, arc, branch, bool(bifurcations), int(max_points), tick)
        stop = float(values[0])

        def so_far() -> Path:
            return _path(tracer, family, _name(parameter))

        try:
            tracer.begin(stop, guess)
            for stop in values[1:].tolist():
                tracer.go(stop)
        except _Stuck as error:
            raise PathError(_told(error, tracer, _name(parameter), stop, arc), so_far(), tracer.last) from None
        except ForceError as error:
            if not tracer.points:
                raise
            raise PathError(str(error), so_far(), tracer.last) from error
        except KeyboardInterrupt:
            if not tracer.points:
                raise
            raise PathInterrupted(f"interrupted at {tracer.here.value:.10g}; .path holds the way", so_far()) from None
    return so_far()


def _path(tracer: _Tracer, family: _Family, name: str) -> Path:
    points = tracer.points
    return Path(
        name, np.array([p.value for p in points]), np.array([p.y for p in points]),
        np.array([p.unstable for p in points]), np.array([len(p.history) for p in points]), tuple(tracer.events),
        family, tuple((p.method, p.history) for p in points),
    )  # fmt: skip


def _told(error: _Stuck, tracer: _Tracer, name: str, stop: float, arc: str) -> str:
    where = f"the path over {name!r} stops at {tracer.here.value:.10g} on the way to {stop:g}"
    kept = f".path holds {len(tracer.points)} points."
    if isinstance(error, _Folded):
        return f"{where}: {error}; {kept}"
    loose = _loose(tracer)
    if loose:
        return (
            f"{where}: nothing holds the system there, {loose}, and the first load moves it far away. Start where it "
            f"is held, at a value of {name!r} that is not {tracer.here.value:.10g}, or follow the path from {stop:g} "
            f"backwards; {kept}"
        )
    sizes = ", ".join(f"{row[0]:.2g}" for row in tracer.last[-4:]) or "none"
    tries = ["a smaller largest increment", "more segments"]
    if tracer.increments is not None:
        tries.insert(0, 'increments = "auto"')
    elif arc == "never" and not tracer.marching:
        tries.insert(0, 'arc_length = "auto" (there may be a limit point)')
    return f"{where}: {error}. The last Newton steps over the scales are {sizes}. Try {', '.join(tries)}; {kept}"


def _loose(tracer: _Tracer) -> str:
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
