"""The way from stop to stop: increments, arc length, limit points, bifurcations, branches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from gyrod._check import Array
from gyrod.motion import Motion, Rest
from gyrod.solve.paths.corrector import FINER, ITERATIONS, Point, Solver, Stuck
from gyrod.solve.paths.result import PathEvent
from gyrod.solve.statics import RELAXATIONS, failure

LIMIT_POINT, BIFURCATION = "limit point", "bifurcation"
#: Newton iterations that increments aim at. Their number says more than the first contraction, which stiff extension
#: spoils long before the increment is too large.
TARGET = 6
#: Ratio of an increment to the last one up to which the predictor looks back.
FAR = 2.0
#: Increments over the span of the stops: first, largest, where plain ones give up for the arc length, smallest.
FIRST, LARGEST, TURN, SMALLEST = 0.05, 0.1, 1e-3, 1e-8
#: So many increments must come on by this share of the span each, or of the largest increment if that is small.
CREEPING, LEAST = 60, 1e-4
#: Arc length: the largest step over the scales and the largest angle between tangents, in rad.
LONGEST, SHARPEST = 0.2, 0.35
#: Events are located to this, relative to the value.
LOCATED = 1e-7
#: Amplitudes, over the scales, at which a new branch is looked for.
AMPLITUDES = (0.02, 0.05, 0.01, 0.1, 0.005)


class Tracer:
    """Walks from stop to stop and keeps what it finds."""

    def __init__(
        self, solver: Solver, largest: float, increments: int | None, arc: str, branch: int | None, bifurcations: bool,
        most: int, tick: Callable[[float, float], None],
    ) -> None:  # fmt: skip
        self.solver, self.largest, self.increments, self.arc = solver, largest, increments, arc
        self.branch, self.bifurcations, self.most, self.tick = branch, bifurcations, most, tick
        self.points: list[Point] = []
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
    def here(self) -> Point:
        """The last point."""
        return self.points[-1]

    def begin(self, value: float, guess: Rest | Motion | None) -> None:
        """Find the equilibrium at the first stop."""
        statics, t = self.solver.at(value)
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
        self.points.append(self.solver.hold(self.solver.finish(Point(value, found, 0, history, method))))

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
                raise Stuck(f"an increment of {abs(values[1] - values[0]):.3g} is too large")
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
                    raise Stuck(f"increments fell below {SMALLEST:g} of the span")
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
                raise Stuck(f"the last {CREEPING} increments came on by {way:.2g} only")

    def _finer(self, h: float) -> None:
        """After an increment that failed: the tangent by finer differences, if they were coarse beside it."""
        s = self.solver
        if FINER * h < s.difference and not s.family.linear:
            s.difference = FINER * h
            self.points[-1] = s.finish(self.here)

    def _increment(self, value: float, iterations: int, far: float | None = None) -> Point | None:
        """The point at a value, or None if Newton's method fails or, for automatic increments, leads elsewhere."""
        s, here = self.solver, self.here
        guess = self._predict(value, FAR if far is None else far)
        status, y, _, self.last = s.correct(guess, value, None, iterations)
        if status != "converged":
            return None
        found = s.finish(Point(value, y, 0, self.last, heading=here.heading))
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
                raise Stuck(f"{self.most} points (max_points) did not lead there")
            here, ds = self.here, self._ds
            if ds < fewest:
                raise Stuck(f"steps along the path fell below {fewest:g} of the scales")
            dq, dv = s.tangent(here)
            ds = min(ds, self.largest / max(abs(dv), 1e-300))
            status, y, value, self.last = s.correct(*self._ahead(ds), (dq, dv))
            found = None
            if status == "converged":
                found = s.finish(Point(value, y, 0, self.last), towards=(dq, dv))
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

    def _land(self, a: Point, b: Point, stop: float) -> tuple[bool, Point | None]:
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
            return True, s.finish(Point(stop, y, 0, history), towards=chord)
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

    def _accept(self, point: Point) -> bool:
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
        self.points.append(self.solver.hold(point))
        return False

    def _record(self, kind: str, at: Point, change: tuple[int, int], beyond: tuple[Point, bool] | None = None) -> Array:
        _, mode = self.solver.mode(at) if beyond is None else self.solver.mode(*beyond)
        rest = self.solver.family.rest(at.value, at.y, at.unstable, at.history, "newton")
        self.events.append(PathEvent(kind, at.value, rest, mode, change, len(self.points) - 1))
        return mode

    def _between(self, a: Point, b: Point, share: float) -> Point | None:
        """The point of the path on the plane across the chord from a to b."""
        s = self.solver
        chord = b.y - a.y, b.value - a.value
        if share <= 0.0 or share >= 1.0:
            return a if share <= 0.0 else b
        status, y, value, history = s.correct(a.y + share * chord[0], a.value + share * chord[1], chord)
        if status != "converged":
            return None
        return s.finish(Point(value, y, 0, history), towards=chord)

    def _limit(self, a: Point, b: Point) -> tuple[float, Point]:
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

    def _search(self, a: Point, b: Point, skip: float | None = None) -> bool:
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

    def _crossing(self, a: Point, b: Point, start: float, count: int) -> tuple[float, Point, int, bool]:
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

    def _leave(self, at: Point, mode: Array) -> None:
        """Step from a bifurcation to the branch along its mode."""
        s, side = self.solver, float(self.branch or 1)
        self.branch, self.arc = None, "always"
        for amplitude in AMPLITUDES:
            push = side * amplitude * mode
            status, y, value, self.last = s.correct(at.y + push, at.value, (mode, 0.0), 30)
            if status != "converged" or abs(value - at.value) > 0.3 * s.span:
                continue
            found = s.finish(Point(value, y, 0, self.last), towards=(y - at.y, value - at.value))
            self.points += [at, found]
            self._smooth = len(self.points)
            self._ds = amplitude
            return
        self.points.append(at)
        raise Stuck(f"no branch was found along the critical mode at {at.value:.10g}")


def _growth(history: Array, most: float) -> float:
    """Factor of the next increment by the iterations of this one."""
    return float(np.clip(2.0 ** (0.5 * (TARGET - len(history))), 0.3, most))


def _cubic(a: Array, b: Array, da: Array, db: Array, x: float) -> Array:
    """At 1 + x the cubic with values and derivatives a, da at 0 and b, db at 1."""
    bend = a - b + db
    twist = da - db + 2.0 * bend
    return np.asarray(b + x * db + x * x * (bend + twist) + x**3 * twist)
