"""follow: equilibria along a path of a load, a length or a pseudo-time, through limit points and bifurcations.

One corrector for all: Newton's method on (F(q, λ), <c, z - z0>) with z = (q, λ), bordered by two solves with the
same factors (Keller 1977). c = (0, 1) is a plain increment, c the tangent the arc length, c a mode the first step on a
new branch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from gyrod._check import Array
from gyrod.solve.eigen import first_largest
from gyrod.solve.paths.family import Family
from gyrod.solve.statics import Statics

#: Iterations after which an increment counts as too large.
ITERATIONS = 15
#: Step of the differences in the parameter, over the span and, where an increment has failed, over that: a led end must
#: not move by a part of a segment meanwhile, which is stiff.
DIFFERENCE, FINER = 1e-5, 1e-2
#: Share of a way that the trapezoidal rule over its tangents may leave out.
DEFECT = 0.2


@dataclass(frozen=True)
class Point:
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


class Stuck(Exception):
    """No way on: a sentence."""


class Folded(Stuck):
    """A rod turns further than its mesh can resolve: a sentence of the core, with its remedy."""


class Solver:
    """Newton's method in (q, λ), tangents and modes, in the norm of the scales; λ over the span of the stops."""

    def __init__(self, family: Family, low: float, high: float, tolerance: float) -> None:
        self.family, self.low, self.high, self.tolerance = family, low, high, tolerance
        self.span = high - low
        #: Step of the differences in the parameter.
        self.difference = DIFFERENCE * self.span
        #: Time and unknowns of the last point, where contacts remember it, and which equations count from there.
        self._held: tuple[float, Array] | None = None
        self._counted: dict[int, tuple[float, Array]] = {}
        statics, _ = family.at(low)
        self.mask = statics.scale > 0.0
        self._weight = np.divide(1.0, statics.scale**2, out=np.zeros_like(statics.scale), where=self.mask)
        self._weight /= np.count_nonzero(self.mask)

    def at(self, value: float) -> tuple[Statics, float]:
        """The equations at a value and the time; what sticks there is counted from the last point of the path."""
        statics, t = self.family.at(value)
        if self._held is not None and self._counted.get(id(statics.compiled.core)) is not self._held:
            statics.compiled.core.rest(self._held[0], self._held[1], False)
            self._counted[id(statics.compiled.core)] = self._held
        return statics, t

    def hold(self, point: Point) -> Point:
        """A point of the path, with what its contacts remember, from which the next one counts."""
        statics, t = self.at(point.value)
        if not statics.compiled.contacts:
            return point
        y = statics.remembered(point.y, t)
        self._held = t, np.ascontiguousarray(y)
        self._counted[id(statics.compiled.core)] = self._held
        return replace(point, y=y)

    def dot(self, a: Array, b: Array) -> float:
        """Mean product of increments over the scales."""
        return float(np.sum(a * b * self._weight))

    def size(self, dq: Array, dvalue: float = 0.0) -> float:
        """Root mean square of an increment over the scales, and over the span."""
        return float(np.sqrt(self.dot(dq, dq) + (dvalue / self.span) ** 2))

    def place(self, y: Array, value: float) -> Array:
        """The unknowns back on the constraints at this value, at rest."""
        statics, t = self.at(value)
        return statics.place(y, t)

    def plain(self, y: Array, value: float, iterations: int, relaxations: int = 0) -> tuple[str, Array, Array]:
        """Equilibrium at a value of the parameter."""
        statics, t = self.at(value)
        found = statics.newton(
            self.place(y, value), t, tolerance=self.tolerance, iterations=iterations, relaxations=relaxations
        )
        return found[0], found[1], found[2]

    def linearise(self, y: Array, value: float) -> bool:
        """Factor the tangent stiffness at a point."""
        statics, t = self.at(value)
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
        moved, by = self.at(value)[0].slope(y, [(w, *self.at(value + step)) for step, w in points])
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
            statics, t = self.at(value)
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

    def finish(self, point: Point, towards: tuple[Array, float] | None = None) -> Point:
        """The point with its stability and its tangent, which looks along ``towards``, or as it did."""
        statics, t = self.at(point.value)
        unstable = statics.unstable(point.y, t)
        folded = statics.compiled.core.trouble(t, np.ascontiguousarray(point.y))
        if folded:
            raise Folded(folded)
        if not self.linearise(point.y, point.value):
            raise Stuck("the tangent stiffness is singular")
        slope = self.slope(point.y, point.value)
        heading = point.heading
        if towards is not None:
            heading = np.sign(self.dot(slope, towards[0]) + towards[1] / self.span**2) or 1.0
        return replace(point, unstable=unstable, slope=slope, heading=float(heading))

    def tangent(self, point: Point) -> tuple[Array, float]:
        """Unit tangent (dq/ds, dλ/ds)."""
        by = point.heading / self.size(point.slope, 1.0)
        return by * point.slope, by

    def angle(self, a: Point, b: Point) -> float:
        """Between the tangents of two points."""
        (p, v), (q, w) = self.tangent(a), self.tangent(b)
        return float(np.arccos(np.clip(self.dot(p, q) + v * w / self.span**2, -1.0, 1.0)))

    def joined(self, a: Point, b: Point) -> bool:
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

    def critical(self, point: Point, count: int, up: bool, most: int) -> float:
        """Of all eigenvalues in order the one that turns negative as the count leaves ``count`` upwards, or positive.

        0 if it is not among those next to zero.
        """
        statics, t = self.at(point.value)
        squares = np.sort(statics.modes(point.y, t, most + 3)[0])
        negative = int(np.count_nonzero(squares < -(statics.shift**2)))
        k = count - (0 if up else 1) - (point.unstable - negative)
        return float(squares[k]) if 0 <= k < len(squares) else 0.0

    def _neutral(self, point: Point) -> list[Array]:
        """Motions without stiffness, orthonormal increments of the positions."""
        statics, t = self.at(point.value)
        squares, shapes = statics.modes(point.y, t, 6)
        found: list[Array] = []
        for shape in shapes[np.abs(squares) <= statics.shift**2]:
            b = np.zeros_like(point.y)
            b[statics.velocities] = shape
            mode = np.where(self.mask, statics.compiled.core.solve(b), 0.0)
            mode = mode - sum((self.dot(mode, other) * other for other in found), np.zeros_like(mode))
            found.append(mode / self.size(mode))
        return found

    def mode(self, point: Point, negative: bool | None = None) -> tuple[float, Array]:
        """Eigenvalue of the tangent stiffness next to zero (the square of a frequency) and its mode in positions.

        With ``negative`` it is the next one of that sign that is not a motion without stiffness.
        """
        statics, t = self.at(point.value)
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
