"""Simulated curves and their derivatives by the parameters of a fit: batches of runs through the engine of studies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gyrod._check import Array
from gyrod.studies import least_squares
from gyrod.studies.batches import Runner
from gyrod.studies.design import Design
from gyrod.studies.measured import Curve, Parameter
from gyrod.studies.plan import Plan

#: Relative steps of central and of one-sided differences: these err by step² and by step, and by the part of the runs'
#: errors that changes from run to run over the step. docs/identification.md has the measurement behind the numbers.
STEPS = {"central": 1e-3, "forward": 3e-4}
#: Steps in a direction that seems to change nothing, so long that the noise of runs is small against them.
PROBE = 0.1


@dataclass(eq=False)
class Point:
    """What is known at one place of the search."""

    #: Coordinates of the parameters, (p,).
    u: Array
    #: Simulated values at the measured ones, (n,); None where the run failed.
    simulated: Array | None
    #: Its sentence then.
    error: str = ""
    #: Derivatives by u, by the number of the parameter, (n,) each.
    columns: dict[int, Array] = field(default_factory=dict)

    def jacobian(self, which: Sequence[int]) -> Array:
        """Derivatives by some of the parameters, (n, len(which))."""
        assert self.simulated is not None
        return np.stack([self.columns[k] for k in which], axis=1) if which else np.zeros((len(self.simulated), 0))


class Sensitivity:
    """The map from parameters to all measured values, with its derivatives."""

    def __init__(
        self, plan: Plan, parameters: Sequence[Parameter], curves: Sequence[Curve], runner: Runner, jacobian: str
    ) -> None:
        self.plan, self.curves, self.runner = plan, curves, runner
        self.kind, self.step = jacobian, STEPS[jacobian]
        self.measured = np.concatenate([c.values[c.present] for c in curves])
        #: Runs so far.
        self.runs = 0
        self.measure(parameters)

    def measure(self, parameters: Sequence[Parameter]) -> None:
        """Take the coordinates of these parameters from now on."""
        self.parameters = parameters
        self.low = np.array([p.coordinate(p.low) for p in parameters])
        self.high = np.array([p.coordinate(p.high) for p in parameters])
        self._points: dict[bytes, Point] = {}

    @property
    def rtol(self) -> float:
        """Accuracy of the runs; that of equilibria is a thousand times their tolerance, as rounding may end Newton."""
        if self.plan.at_rest:
            return 1e3 * float(self.plan.options.get("tolerance", 1e-11))
        return float(self.plan.options.get("rtol", 1e-6))

    @property
    def guess(self) -> Array:
        """Where the search begins, (p,)."""
        return np.array([p.coordinate(p.guess) for p in self.parameters])

    def values(self, u: Array) -> dict[str, float]:
        """Parameters by path."""
        return {p.path: p.value(float(x)) for p, x in zip(self.parameters, u, strict=True)}

    def point(self, u: Array, which: Sequence[int]) -> Point:
        """The curves and their derivatives by some of the parameters, all runs in one batch; kept for the next time."""
        known = self._points.get(u.tobytes())
        wanted = [k for k in which if known is None or k not in known.columns]
        if known is not None and (known.simulated is None or not wanted):
            return known
        stencils = {k: self._stencil(u, k) for k in wanted}
        rows = [] if known is not None else [u]
        rows += [_moved(u, k, h) for k, steps in stencils.items() for h in steps]
        found, errors = self.run(rows)
        if known is None:
            known = self._points[u.tobytes()] = Point(np.array(u), found[0], errors[0])
            found, errors = found[1:], errors[1:]
        if known.simulated is not None:
            for k, steps in stencils.items():
                mine, found, told, errors = found[:2], found[len(steps) :], errors[: len(steps)], errors[len(steps) :]
                known.columns[k] = self._difference(k, known.simulated, steps, mine[: len(steps)], told)
        return known

    def run(self, rows: Sequence[Array]) -> tuple[list[Array | None], list[str]]:
        """Simulated values at the measured ones for each row of coordinates, in one batch."""
        table = np.array([list(self.values(u).values()) for u in rows])
        names = tuple(p.path for p in self.parameters)
        lists = {name: np.ascontiguousarray(column) for name, column in zip(names, table.T, strict=True)}
        outputs, errors = self.runner(replace(self.plan, design=Design(names, lists, {}, "together")))
        self.runs += len(rows)
        parts = [outputs[c.name][:, c.present] for c in self.curves]
        found = np.concatenate(parts, axis=1)
        told = list(errors)
        for i, row in enumerate(found):
            if not told[i] and not np.isfinite(row).all():
                told[i] = "the run ended before the last measurement, or gave values that are not finite."
        return [None if told[i] else row for i, row in enumerate(found)], told

    def noise(self, sigma: Array, simulated: Array) -> float:
        """About what the errors of runs may contribute to the length of a column of the scaled Jacobian."""
        # Runs beside each other share most of their error.
        return 0.1 * self.rtol * float(np.linalg.norm(simulated / sigma)) / self.step

    def error(self, sigma: Array, simulated: Array, J: Array) -> float:
        """The same with what differences leave out, of a scaled Jacobian."""
        left_out = self.step**2 if self.kind == "central" else self.step
        return self.noise(sigma, simulated) + left_out * float(np.linalg.norm(J, axis=0).max(initial=0.0))

    def blind(self, point: Point, sigma: Array) -> tuple[Array, Array]:
        """The scaled Jacobian, (n, p), and the directions in u that the data do not determine, (p, k).

        Directions whose effect could be noise of the differences are looked at with long steps, whose noise is less.
        """
        assert point.simulated is not None
        J = point.jacobian(range(len(self.parameters))) / sigma[:, None]
        noise = 3.0 * self.noise(sigma, point.simulated)
        doubtful = least_squares.blind(J, 3.0 * self.error(sigma, point.simulated, J))
        steps = [self._room(point.u, v) for v in doubtful.T]
        if not steps or min(steps) <= self.step:
            return J, least_squares.blind(J, noise)
        ways = [way for v, h in zip(doubtful.T, steps, strict=True) for way in self._ways(point.u, h * v)]
        found, _ = self.run([end for way in ways for end in way])
        looked = J
        for v, h, *ends in zip(doubtful.T, steps, *(found[i::4] for i in range(4)), strict=True):
            if any(end is None for end in ends):
                return J, least_squares.blind(J, noise)
            effects = [(right - left) / (2.0 * h) / sigma for right, left in (ends[:2], ends[2:])]
            effect = min(effects, key=np.linalg.norm)
            change = effect - J @ v
            looked = looked + np.outer(change, v)
            if np.linalg.norm(change) > 0.5 * np.linalg.norm(effect):  # it was noise
                J = J + np.outer(change, v)
        return J, least_squares.blind(looked, noise * self.step / min(steps))

    def _ways(self, u: Array, d: Array) -> list[tuple[Array, Array]]:
        """To both sides of u, by factors and by differences: products or sums that stay the same are straight there."""
        log = np.array([p.log for p in self.parameters])
        by_factors, by_differences = [], []
        for s in (1.0, -1.0):
            rate = np.divide(s * d, u, out=np.zeros_like(u), where=~log & (np.abs(d) < 0.3 * np.abs(u)))
            by_factors.append(np.where(rate == 0.0, u + s * d, u * np.exp(rate)))
            by_differences.append(u + np.where(log, np.log1p(s * np.clip(d, -0.9, 0.9)), s * d))
        return [(by_factors[0], by_factors[1]), (by_differences[0], by_differences[1])]

    def _room(self, u: Array, v: Array) -> float:
        """Largest step, up to PROBE, both ways along a direction, and a little less for what is bent."""
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(np.abs(v) > 1e-12, np.minimum(u - self.low, self.high - u) / np.abs(v), np.inf)
        return float(min(PROBE, 0.9 * room.min()))

    def _stencil(self, u: Array, k: int) -> list[float]:
        """Steps in one coordinate, inside of its bounds."""
        size = 1.0 if self.parameters[k].log else max(1.0, abs(float(u[k])))
        h = min(self.step * size, 0.25 * float(self.high[k] - self.low[k]))
        up, down = u[k] + h <= self.high[k], u[k] - h >= self.low[k]
        if self.kind == "forward":
            return [h if up else -h]
        if up and down:
            return [h, -h]
        return [h, 2.0 * h] if up else [-h, -2.0 * h]

    def _difference(self, k: int, base: Array, steps: list[float], found: list[Array | None], told: list[str]) -> Array:
        """A derivative from what the runs of a stencil gave; with half of it if the others failed."""
        ends = [(h, row) for h, row in zip(steps, found, strict=True) if row is not None]
        if not ends:
            path = self.parameters[k].path
            raise ValueError(f"{path!r} cannot be changed by {100.0 * steps[0]:.2g} % from here: {told[0]}")
        (h, first), *more = ends
        if not more:
            return np.asarray((first - base) / h)
        (other, second), *_ = more
        if other == -h:
            return np.asarray((first - second) / (2.0 * h))
        return np.asarray((4.0 * first - second - 3.0 * base) / (2.0 * h))


def _moved(u: Array, k: int, h: float) -> Array:
    moved = np.array(u)
    moved[k] += h
    return moved
