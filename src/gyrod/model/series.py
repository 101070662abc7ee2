"""Curves through numbers that were measured over time: splines of degree five, through them or smoothed by their noise.

Degree five because what is led needs accelerations: they are then twice continuously differentiable themselves, and can
begin and end at rest together with the velocity. SciPy is imported when the first curve is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod._check import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DEGREE = 5
#: What a curve does outside of its times.
OUTSIDE = ("refused", "ended", "held", "periodic")

# Smoothing: knots within a window; how much smoother than the least expected error, which sometimes follows the noise
# (Gu's factor); ratio of windows that are tried, and how many are worse before the search ends.
_KNOTS, _CAUTION, _RATIO, _WORSE = 4, 1.4, 1.5, 3


@dataclass(frozen=True, eq=False)
class Pieces:
    """A piecewise polynomial: piece k holds from breaks[k] to breaks[k + 1]."""

    #: (m + 1,)
    breaks: Array
    #: Of powers of the time since the break, the highest first, (m, numbers, powers).
    coefficients: Array
    #: Time over which it was smoothed: what is faster than that is taken for noise; 0 if it goes through the samples.
    window: float = 0.0

    def __call__(self, t: Array, order: int = 0) -> Array:
        """Values at times (n,) within the breaks, or derivatives of some order, (n, numbers)."""
        k = np.clip(np.searchsorted(self.breaks, t, side="right") - 1, 0, len(self.breaks) - 2)
        u = (t - self.breaks[k])[:, None]
        c = self.coefficients
        for _ in range(order):
            c = c[..., :-1] * np.arange(c.shape[-1] - 1, 0, -1)
        x = np.zeros((len(t), c.shape[1]))
        for j in range(c.shape[-1]):
            x = x * u + c[k, :, j]
        return x


@dataclass(frozen=True)
class Ends:
    """How a curve begins and ends: at rest, with velocity and acceleration zero, or anyhow; or closed."""

    rest: tuple[bool, bool] = (False, False)
    closed: bool = False


def through(times: Array, values: Array, ends: Ends) -> Pieces:
    """The spline through values (n, numbers)."""
    from scipy.interpolate import make_interp_spline

    x = times - times[0]
    if ends.closed:
        spline = make_interp_spline(x, values, DEGREE, bc_type="periodic")
        return _pieces(spline.t, np.asarray(spline.c), DEGREE, times[0], x[-1])
    k = min(DEGREE, len(x) - 1 + 2 * sum(ends.rest))
    free = [0 if rest else (k - 1) // 2 for rest in ends.rest]  # samples next to an end at which pieces do not meet
    inner = x[1 + free[0] : len(x) - 1 - free[1]] if k == DEGREE else x[:0]
    knots = np.concatenate([np.zeros(k + 1), inner, np.full(k + 1, x[-1])])
    still = [(1, np.zeros(values.shape[1])), (2, np.zeros(values.shape[1]))]
    left, right = (still if rest else None for rest in ends.rest)
    spline = make_interp_spline(x, values, k, t=knots, bc_type=(left, right))
    return _pieces(knots, np.asarray(spline.c), k, times[0], x[-1])


def smoothed(times: Array, values: Array, ends: Ends, variance: float) -> Pieces:
    """The spline that balances roughness, the integral of the squared third derivative, against the distance to values.

    ``variance`` is that of the noise of all numbers of a row together. Of all windows it is the one with the least
    expected error of the values (Mallows' criterion with Gu's factor).
    """
    x, n = times - times[0], len(times)
    span = float(x[-1])
    found: dict[float, tuple[float, Array, Array]] = {}

    def risk(window: float) -> float:
        if window not in found:
            knots, c, rest = _fitted(x, values, window, ends)
            found[window] = rest + 2.0 * _CAUTION * variance * _freedoms(span / window, n, ends), knots, c
        return found[window][0]

    window = _least(risk, 0.5 * span, 0.5 * span / n)
    _, knots, c = found[window]
    return _pieces(knots, c, DEGREE, times[0], span, window)


def _least(risk: Callable[[float], float], widest: float, narrowest: float) -> float:
    """Where a risk is least, from wide windows to narrow ones, then more closely."""
    best, window, worse = widest, widest, 0
    while window > narrowest and worse < _WORSE:
        worse = worse + 1 if risk(window) > risk(best) else 0
        best = window if not worse else best
        window /= _RATIO
    for step in (_RATIO**0.5, _RATIO**0.25):
        best = min((best, best * step, best / step), key=risk)
    return best


def _freedoms(windows: float, count: int, ends: Ends) -> float:
    """How many parameters a smoothed curve is worth: the trace of the matrix that smooths.

    An integral over frequencies, of 1/(1 + (window omega)^6), and what the ends add, which is found numerically.
    """
    more = 0.0 if ends.closed else sum(0.085 if rest else 0.75 for rest in ends.rest)
    least = 1.0 if ends.closed or any(ends.rest) else 3.0
    return min(max(windows / 3.0 + more, least), float(count))


def _fitted(x: Array, values: Array, window: float, ends: Ends) -> tuple[Array, Array, float]:
    """Knots, coefficients and the sum of squared distances of the smooth spline of a window."""
    from scipy.interpolate import BSpline
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import spsolve

    span, k = float(x[-1]), DEGREE
    m = int(np.clip(np.ceil(_KNOTS * span / window), 1, len(x) - 1))
    m = max(m, k + 1) if ends.closed else m
    inner, step = np.linspace(0.0, span, m + 1), span / m
    if ends.closed:
        beyond = step * np.arange(1, k + 1)
        knots = np.concatenate([-beyond[::-1], inner, span + beyond])
    else:
        knots = np.concatenate([np.zeros(k), inner, np.full(k, span)])
    size = m + k
    # Coefficients that are one: at an end that comes to rest the first three, of a closed curve those a period apart.
    one = np.arange(size)
    if ends.closed:
        one = one % m
    else:
        one = np.maximum(one - 2, 0) if ends.rest[0] else one
        one = np.minimum(one, one[-3]) if ends.rest[1] else one

    def rows(design: csr_array, width: int) -> tuple[Array, NDArray[np.int32]]:
        return design.data.reshape(-1, width), design.indices.reshape(-1, width)

    value, at = rows(BSpline.design_matrix(x, knots, k), k + 1)
    points, weights = np.polynomial.legendre.leggauss(3)
    places = (inner[:-1, None] + 0.5 * step * (points + 1.0)).ravel()
    bend, first = rows(BSpline.design_matrix(places, knots[3:-3], k - 3), k - 2)
    steep, above = _third(knots), first[:, :1] + np.arange(k + 1)
    rough = np.zeros((len(places), k + 1))
    for i in range(k - 2):
        rough[:, i : i + 4] += bend[:, i, None] * steep[first[:, i]]
    # Frequencies with window omega < 1 pass: the integral of a squared wave against the sum over so many samples.
    rough *= np.sqrt(np.tile(0.5 * step * weights, m) * len(x) / span * window**6)[:, None]
    a, where = np.concatenate([value, rough]), one[np.concatenate([at, above])]
    count, height = int(one.max()) + 1, len(a)
    index = np.repeat(np.arange(height), k + 1)
    matrix = coo_array((a.ravel(), (index, where.ravel())), shape=(height, count)).tocsr()
    right = matrix[: len(x)].T @ values
    c = np.asarray(spsolve((matrix.T @ matrix).tocsc(), right)).reshape(count, -1)
    rest = float(np.sum((values - matrix[: len(x)] @ c) ** 2))
    return knots, c[one], rest


def _third(knots: Array) -> Array:
    """Third derivatives of a spline by its coefficients: row i takes the four from i on."""
    k = DEGREE
    d = np.ones((len(knots) - k - 1, 1))
    for j in range(k, k - 3, -1):
        t = knots[k - j : len(knots) - (k - j)]
        n = len(d)
        w = (j / (t[j + 1 : j + n] - t[1:n]))[:, None]
        d = w * (np.pad(d[1:], ((0, 0), (1, 0))) - np.pad(d[:-1], ((0, 0), (0, 1))))
    return d


def _pieces(knots: Array, c: Array, k: int, start: float, span: float, window: float = 0.0) -> Pieces:
    """A spline as polynomials between its knots, from 0 to its span."""
    from scipy.interpolate import BSpline

    breaks = np.unique(knots[(knots >= 0.0) & (knots <= span)])
    spline, parts, factor = BSpline(knots, c, k), [], 1.0
    for order in range(k + 1):
        parts.append(spline(breaks[:-1], nu=order) / factor)
        factor *= order + 1
    return Pieces(start + breaks, np.ascontiguousarray(np.stack(parts[::-1], axis=-1)), window)
