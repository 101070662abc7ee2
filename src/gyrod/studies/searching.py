"""The search of a fit: trust-region steps, estimates of the noise, parameters that are held."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gyrod._check import Array
from gyrod.studies import least_squares
from gyrod.studies.measured import Curve
from gyrod.studies.reach import Reach, places, words
from gyrod.studies.sensitivity import Point, Sensitivity

#: The search ends where the parameters are off by less than this part of their standard errors.
SETTLED = 1e-3
#: Off by more than this part where steps have become too small, it is stuck.
STUCK = 0.1
#: Rounds in which the noise is estimated and parameters without effect are held; change of sigma that ends them.
ROUNDS, SIGMA_CHANGE = 8, 0.01
#: Distance from a bound, in u, within which a parameter that is drawn to it stays out of the test for the end.
AT_BOUND = 1e-3
#: Distance from a bound at which a search begins that leads away from it.
OFF_BOUND = 1e-2
#: Change of the curves that large changes of a parameter must cause, over rtol: runs far apart share no errors.
FELT = 10.0


class _Settled(Exception):
    """Nothing that matters is left to gain."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Where a search ended."""

    point: Point
    #: Of every value, (n,).
    sigma: Array
    #: Scaled by sigma, (n, p).
    jacobian: Array
    #: Directions that the data do not determine, (p, k), and the parameters that were held for them.
    blind: Array
    held: tuple[int, ...]
    #: What large changes did of those that change nothing by themselves.
    reach: Mapping[int, Reach]
    #: "converged", "stopped" by the number of iterations, or "stuck".
    status: str
    iterations: int


class Search:
    """Trust-region steps of SciPy's least_squares, on points whose derivatives come with them."""

    def __init__(self, problem: Sensitivity, loss: str, iterations: int, tell: Callable[[str], object]) -> None:
        self.problem, self.loss, self.most, self.tell = problem, loss, iterations, tell
        self.everything = range(len(problem.parameters))
        self.known = all(curve.sigma is not None for curve in problem.curves)
        self.iterations = 0
        self.reach: dict[int, Reach] = {}
        self.began = time.perf_counter()

    def rounds(self) -> Outcome:
        """Search; estimate the noise, hold what cannot be determined, and search again until neither changes."""
        problem = self.problem
        until = "at rest" if problem.plan.at_rest else f"to t = {problem.plan.t_end:g}"
        self.tell(f"the first runs, {until}, with the guess")
        start = point = problem.point(problem.guess, self.everything)
        if start.simulated is None:
            values = ", ".join(f"{path} = {value:g}" for path, value in problem.values(start.u).items())
            raise ValueError(f"the run with the guess, {values}, fails: {start.error}")
        sigma = first_sigma(problem.curves)
        _, blind = problem.blind(start, sigma)
        held = tuple(sorted(least_squares.pivots(blind)))
        for left in reversed(range(ROUNDS)):
            point, status = self.run(point, held, sigma)
            point = problem.point(point.u, self.everything)
            before = sigma
            J, blind = problem.blind(point, sigma)
            better = self._elsewhere(point, held, blind, sigma)
            if better is not None:
                held, start, point, status = better
                J, blind = problem.blind(point, sigma)
            sigma = self._sigma(point, J, blind, sigma)
            J = J * (before / sigma)[:, None]
            again = held if blind.shape[1] == len(held) else tuple(sorted(least_squares.pivots(blind)))
            if not left or (again == held and (self._alike(before, sigma) or status != "converged")):
                break
            new = set(again) - set(held)
            if not new <= set(least_squares.alone(blind)):
                point = start  # what is held is held as guessed, but for what lost its effect on the way
            held = again
        if again != held and status == "converged":  # held and let go by turns
            status = "stuck"
        return Outcome(point, sigma, J, blind, again, self.reach, status, self.iterations)

    def _elsewhere(
        self, at: Point, held: Sequence[int], blind: Array, sigma: Array
    ) -> tuple[tuple[int, ...], Point, Point, str] | None:
        """Try large changes of what is held since small ones change nothing; continue from the best, if that is better.

        Then: what is still held, where this began, where it ended, and how.
        """
        problem = self.problem
        assert at.simulated is not None
        asked = [k for k in least_squares.alone(blind) if k in held and k not in self.reach]
        noise = problem.rtol * float(np.linalg.norm(at.simulated / sigma))
        r = (at.simulated - problem.measured) / sigma
        least = least_squares.cost(r, self.loss) - noise * float(np.linalg.norm(r))
        begins = sorted(
            (x for k in asked if (x := self._felt(at, k, sigma, FELT * noise)) is not None), key=lambda x: x[0]
        )
        for _, k, u in begins:
            left = tuple(h for h in held if h != k)
            scales = problem.parameters
            try:
                begin = problem.point(self._scaled(k, u), self.everything)
                end, status = self.run(begin, left, sigma)
                end = problem.point(end.u, self.everything)
            except ValueError:  # the model cannot be changed a little from there
                problem.measure(scales)
                continue
            if end.simulated is not None and self._cost(end.simulated, sigma) < least:
                del self.reach[k]
                return left, begin, end, status
            problem.measure(scales)
        return None

    def _scaled(self, k: int, u: Array) -> Array:
        """Measure a parameter by where it is now instead of by its guess, which may be 0.001 of it; u in that scale."""
        parameters = list(self.problem.parameters)
        value = parameters[k].value(float(u[k]))
        parameters[k] = replace(parameters[k], unit=abs(value) or parameters[k].scale)
        self.problem.measure(parameters)
        return np.where(np.arange(len(u)) == k, parameters[k].coordinate(value), u)

    def _felt(self, at: Point, k: int, sigma: Array, noise: float) -> tuple[float, int, Array] | None:
        """Large changes of a parameter: the least cost with one that changes a curve, the parameter, its place."""
        problem, p, here = self.problem, self.problem.parameters[k], at.simulated
        assert here is not None
        tried = places(p, float(at.u[k]), float(problem.low[k]), float(problem.high[k]))
        rows = [np.where(np.arange(len(at.u)) == k, x, at.u) for x in tried]
        found = problem.run(rows)[0] if rows else []
        changed = [
            (self._cost(row, sigma), u)
            for u, row in zip(rows, found, strict=True)
            if row is not None and float(np.linalg.norm((row - here) / sigma)) > noise
        ]
        nearest = min((float(u[k]) for _, u in changed), key=lambda x: abs(x - float(at.u[k])), default=None)
        felt = None if nearest is None else p.value(nearest)
        self.reach[k] = Reach(felt, words(p, any(row is None for row in found)))
        best = min(changed, key=lambda x: x[0], default=None)
        return None if best is None else (best[0], k, best[1])

    def _cost(self, simulated: Array, sigma: Array) -> float:
        return least_squares.cost((simulated - self.problem.measured) / sigma, self.loss)

    def run(self, start: Point, held: Sequence[int], sigma: Array) -> tuple[Point, str]:
        """One search from a point, with some parameters held; where it ended, and how."""
        from scipy.optimize import least_squares as steps

        problem = self.problem
        moving = [k for k in self.everything if k not in held]
        if not moving:
            return start, "converged"
        current, begun = start, False

        def place(x: Array) -> Array:
            u = np.array(start.u)
            u[moving] = x
            return u

        def residuals(x: Array) -> Array:
            u = place(x)
            if begun and u.tobytes() != current.u.tobytes() and self._negligible(current, u, moving, sigma):
                raise _Settled
            found = problem.point(u, moving)
            if found.simulated is None:
                return np.full(len(sigma), np.inf)  # from which least_squares steps back
            r = (found.simulated - problem.measured) / sigma
            self._told(r)
            return np.asarray(r)

        def derivatives(x: Array) -> Array:
            nonlocal current, begun
            begun = True
            current = problem.point(place(x), moving)
            self.iterations += 1
            if self.offset(current, moving, sigma) <= SETTLED:
                raise _Settled
            return np.asarray(current.jacobian(moving) / sigma[:, None])

        bounds = (problem.low[moving], problem.high[moving])
        try:
            found = steps(
                residuals, self._inside(start, moving, sigma), derivatives, bounds, loss=self.loss,
                ftol=1e-15, xtol=1e-10, gtol=1e-15, max_nfev=self.most,
            )  # fmt: skip
        except _Settled:
            pass
        else:
            current = problem.point(place(found.x), moving)
            if found.status <= 0:
                return current, "stopped"
        return current, "stuck" if self.offset(current, moving, sigma) > STUCK else "converged"

    def _inside(self, start: Point, moving: Sequence[int], sigma: Array) -> Array:
        """Where steps begin: a little off a bound that the data draw away from, where they would be tiny."""
        assert start.simulated is not None
        r = (start.simulated - self.problem.measured) / sigma
        slope = start.jacobian(moving).T @ (least_squares.weights(r, self.loss) * r / sigma)
        u, low, high = start.u[list(moving)], self.problem.low[list(moving)], self.problem.high[list(moving)]
        off = np.minimum(OFF_BOUND, 0.25 * (high - low))
        u = np.where((slope < 0.0) & (u - low < AT_BOUND), low + off, u)
        return np.asarray(np.where((slope > 0.0) & (high - u < AT_BOUND), high - off, u))

    def offset(self, at: Point, moving: Sequence[int], sigma: Array) -> float:
        """How far the parameters are off, in standard errors: the relative offset of Bates and Watts (1981).

        That is the part of the residuals that lies along the derivatives, over the part that does not.
        """
        assert at.simulated is not None
        r = (at.simulated - self.problem.measured) / sigma
        J = at.jacobian(moving) / sigma[:, None]
        w = np.sqrt(least_squares.weights(r, self.loss))
        r, J = w * r, w[:, None] * J
        slope, u = J.T @ r, at.u[list(moving)]
        low, high = self.problem.low[list(moving)], self.problem.high[list(moving)]
        drawn = ((slope > 0.0) & (u - low < AT_BOUND)) | ((slope < 0.0) & (high - u < AT_BOUND))
        U, sizes, _ = np.linalg.svd(J[:, ~drawn], full_matrices=False)
        along = U[:, sizes > self.problem.error(sigma, at.simulated, J)].T @ r
        freedom = len(r) - len(along)
        scale = float(r @ r) / freedom if freedom else 0.0
        scale = max(scale, 1.0) if self.known else scale
        return math.sqrt(float(along @ along) / (max(len(along), 1) * max(scale, 1e-300)))

    def _negligible(self, at: Point, u: Array, moving: Sequence[int], sigma: Array) -> bool:
        """Whether a step is small, and a small part of the standard errors by the derivatives where it begins."""
        assert at.simulated is not None
        step = (u - at.u)[list(moving)]
        r = (at.simulated - self.problem.measured) / sigma
        w = least_squares.weights(r, self.loss)
        change = at.jacobian(moving) @ step / sigma
        small = float(w @ (change * change)) <= SETTLED**2 * float(w @ (r * r)) / len(r)
        return small and float(np.abs(step).max()) < SETTLED

    def _told(self, r: Array) -> None:
        n = max(len(r) - len(self.everything), 1)
        rate = self.problem.runs / max(time.perf_counter() - self.began, 1e-9)
        self.tell(
            f"{self.iterations} iterations, cost {least_squares.cost(r, self.loss):.4g}, residuals "
            f"{math.sqrt(r @ r / n):.4g} sigma, {self.problem.runs} runs, {rate:.3g} runs/s"
        )

    def _sigma(self, point: Point, J: Array, blind: Array, sigma: Array) -> Array:
        """The noise: as given, or for each quantity from its own residuals, less what the parameters take of them."""
        assert point.simulated is not None
        r = point.simulated - self.problem.measured
        taken = least_squares.leverages(J, blind)
        found = np.array(sigma)
        for part, curve in parts(self.problem.curves):
            if curve.sigma is None:
                left = max(curve.count - float(taken[part].sum()), 1.0)
                if self.loss == "linear":
                    size = math.sqrt(float(r[part] @ r[part]) / left)
                else:  # the median of normal noise; outliers do not move it
                    size = 1.4826 * float(np.median(np.abs(r[part]))) * math.sqrt(curve.count / left)
                # Curves that fit exactly: rounding is the noise.
                found[part] = max(size, 1e-12 * float(np.abs(point.simulated[part]).max()), 1e-300)
        return found

    def _alike(self, before: Array, after: Array) -> bool:
        """Whether weights stayed; a common factor does not matter to plain squares."""
        ratio = after / before
        if self.loss == "linear" and all(curve.sigma is None for curve in self.problem.curves):
            ratio = ratio / ratio[0]
        return bool(np.abs(ratio - 1.0).max() < SIGMA_CHANGE)


def parts(curves: Sequence[Curve]) -> list[tuple[slice, Curve]]:
    """Where the values of each curve are among all."""
    ends = np.cumsum([0, *(c.count for c in curves)])
    return [(slice(int(a), int(b)), c) for a, b, c in zip(ends[:-1], ends[1:], curves, strict=True)]


def first_sigma(curves: Sequence[Curve]) -> Array:
    """The noise as given; before the first search that of curves without one is their own size."""
    found = []
    for curve in curves:
        values = curve.values[curve.present]
        size = float(np.std(values)) or float(np.abs(values).max()) or 1.0
        found.append(np.full(curve.count, size) if curve.sigma is None else curve.sigma[curve.present])
    return np.concatenate(found)
