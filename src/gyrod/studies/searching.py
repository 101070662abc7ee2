"""The search of a fit: trust-region steps, estimates of the noise, parameters that are held."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gyrod.studies import least_squares
from gyrod.studies.measured import Curve
from gyrod.studies.sensitivity import Point, Sensitivity

Array = NDArray[np.float64]

#: The search ends where the parameters are off by less than this part of their standard errors.
SETTLED = 1e-3
#: Off by more than this part where steps have become too small, it is stuck.
STUCK = 0.1
#: Rounds in which the noise is estimated and parameters that tell nothing are held; change of sigma that ends them.
ROUNDS, SIGMA_CHANGE = 8, 0.01
#: Distance from a bound, in u, within which a parameter that is drawn to it stays out of the test for the end.
AT_BOUND = 1e-3


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
    #: Directions that the data do not tell, (p, k), and the parameters that were held for them.
    blind: Array
    held: tuple[int, ...]
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

    def rounds(self) -> Outcome:
        """Search; estimate the noise, hold what cannot be told, and search again until neither changes."""
        problem = self.problem
        start = point = problem.point(problem.guess, self.everything)
        if start.simulated is None:
            values = ", ".join(f"{path} = {value:g}" for path, value in problem.values(start.u).items())
            raise ValueError(f"the run with the guess, {values}, fails: {start.error}")
        sigma = first_sigma(problem.curves)
        _, blind = problem.blind(start, sigma)
        held = tuple(sorted(least_squares.pivots(blind)))
        for _ in range(ROUNDS):
            point, status = self.run(point, held, sigma)
            point = problem.point(point.u, self.everything)
            before = sigma
            J, blind = problem.blind(point, sigma)
            sigma = self._sigma(point, J, blind, sigma)
            J = J * (before / sigma)[:, None]
            again = held if blind.shape[1] == len(held) else tuple(sorted(least_squares.pivots(blind)))
            if again == held and (self._alike(before, sigma) or status != "converged"):
                break
            if not set(again) <= set(held):
                point = start  # what is held is held as guessed
            held = again
        return Outcome(point, sigma, J, blind, held, status, self.iterations)

    def run(self, start: Point, held: Sequence[int], sigma: Array) -> tuple[Point, str]:
        """One search from a point, with some parameters held; where it ended, and how."""
        from scipy.optimize import least_squares as steps

        problem = self.problem
        moving = [k for k in self.everything if k not in held]
        if not moving:
            return start, "converged"
        current = start

        def place(x: Array) -> Array:
            u = np.array(start.u)
            u[moving] = x
            return u

        def residuals(x: Array) -> Array:
            u = place(x)
            if u.tobytes() != current.u.tobytes() and self._negligible(current, u, moving, sigma):
                raise _Settled
            found = problem.point(u, moving)
            if found.simulated is None:
                return np.full(len(sigma), np.inf)  # from which least_squares steps back
            r = (found.simulated - problem.measured) / sigma
            self._told(r)
            return np.asarray(r)

        def derivatives(x: Array) -> Array:
            nonlocal current
            current = problem.point(place(x), moving)
            self.iterations += 1
            if self.offset(current, moving, sigma) <= SETTLED:
                raise _Settled
            return np.asarray(current.jacobian(moving) / sigma[:, None])

        bounds = (problem.low[moving], problem.high[moving])
        try:
            found = steps(
                residuals, start.u[moving], derivatives, bounds, loss=self.loss,
                ftol=1e-15, xtol=1e-10, gtol=1e-15, max_nfev=self.most,
            )  # fmt: skip
        except _Settled:
            pass
        else:
            current = problem.point(place(found.x), moving)
            if found.status <= 0:
                return current, "stopped"
        return current, "stuck" if self.offset(current, moving, sigma) > STUCK else "converged"

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
        self.tell(f"{self.iterations} iterations, {self.problem.runs} runs, residuals {math.sqrt(r @ r / n):.4g} sigma")

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
