"""Between steps and rows: dense output as data, for pickles and files, and cubics where there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gyrod._check import Array
from gyrod.equations import Compiled
from gyrod.runs.methods import ALL_METHODS

#: Degrees of the dense output of the core's methods; those of the extrapolation methods at their highest order.
DEGREES = {name: method.degree for name, method in ALL_METHODS.items() if method.degree is not None}
#: Steps that are evaluated at a time.
BLOCK = 4096


@dataclass(frozen=True)
class Polynomials:
    """Unknowns between the ends of steps, (m + 1,), from values (m, degree + 1, N) at Chebyshev points of each."""

    steps: Array
    values: Array

    def __call__(self, times: Array) -> Array:
        """Unknowns at times, (k, N)."""
        i = np.clip(np.searchsorted(self.steps, times, side="right") - 1, 0, len(self.steps) - 2)
        return within(self.values[i], (times - self.steps[i]) / (self.steps[i + 1] - self.steps[i]))


def within(values: Array, x: Array) -> Array:
    """Polynomials (k, degree + 1, N) by their values at Chebyshev points, each at its own x in [0, 1]: (k, N)."""
    z, w = _points(values.shape[1] - 1)
    gap = x[:, None] - z
    hit = gap == 0.0
    c = np.where(hit.any(axis=1, keepdims=True), hit, w / np.where(hit, 1.0, gap))  # barycentric
    return np.asarray(np.einsum("ki,kin->kn", c / c.sum(axis=1, keepdims=True), values))


def sampled(dense: Callable[[Array], Array], steps: Array, method: str) -> Polynomials | None:
    """The dense output of one of the core's methods as data; None for others."""
    if method not in DEGREES or len(steps) < 2:
        return None
    z, _ = _points(DEGREES[method])
    parts = []
    for begin in range(0, len(steps) - 1, BLOCK):
        ends = steps[begin : begin + BLOCK + 1]
        times = ends[:-1, None] + np.diff(ends)[:, None] * z
        parts.append(np.asarray(dense(np.ascontiguousarray(times.ravel()))).reshape(*times.shape, -1))
    return Polynomials(np.array(steps), np.concatenate(parts))


def _points(degree: int) -> tuple[Array, Array]:
    """Chebyshev points in (0, 1), off the ends where neighbouring steps meet, and their barycentric weights."""
    angle = (2.0 * np.arange(degree + 1) + 1.0) * np.pi / (2.0 * degree + 2.0)
    return 0.5 - 0.5 * np.cos(angle), (-1.0) ** np.arange(degree + 1) * np.sin(angle)


def cubic(x: Array, a: Array, b: Array, fa: Array, fb: Array) -> Array:
    """Cubic Hermite polynomials at x in [0, 1]: values a and b, slopes fa and fb (times the length) at the ends."""
    return np.asarray(
        (1 + 2 * x) * (1 - x) ** 2 * a + x * (1 - x) ** 2 * fa + x**2 * (3 - 2 * x) * b + x**2 * (x - 1) * fb
    )


def passes_over(method: str, compiled: Compiled) -> bool:
    """Whether there are rods whose vibrations the steps of a method pass over.

    Its dense output is then good to the tolerance in positions, but not in strains, which a stiffness of say 1e7 N
    multiplies.
    """
    return method in ALL_METHODS and ALL_METHODS[method].stiff and bool(compiled.rods)


@dataclass(frozen=True)
class Knots:
    """Accepted states: forces at other times lie between theirs, they are not those of interpolated unknowns."""

    #: Times, (m,).
    t: Array
    #: Unknowns (k, N) of some of them, by their numbers.
    rows: Callable[[NDArray[np.intp]], Array]

    def beside(self, times: Array) -> tuple[Array, Array]:
        """Times and unknowns of those from which `along` finds values at ``times``: two on either side."""
        i = np.searchsorted(self.t, times, side="right")[:, None] - 1
        used = np.unique(np.clip(i + np.arange(-1, 3), 0, len(self.t) - 1))
        return self.t[used], self.rows(used)


def along(t: Array, values: Array, times: Array, own: Array | None = None) -> Array:
    """Values (k, ...) at times, from those at the knots t, (m,) and (m, ...), by cubics without overshoot at kinks.

    The slopes at the ends of an interval are those of the parabolas to its left and right, the sharper of which bends
    at most twice as much as the other: beside a jump, or a short step with noise, it is a line, and so at either end.
    ``own``: what interpolated unknowns say, (k, ...). It is taken where it differs by less than the knots next to it
    from the lines between their neighbours, half of that: what the knots resolve is better known there.
    """
    flat, m = values.reshape(len(t), -1), len(t)
    if m < 2:
        return np.asarray(np.broadcast_to(values, (len(times), *values.shape[1:])))
    h = np.diff(t)[:, None]
    secant = np.diff(flat, axis=0) / h
    bend = np.zeros((m, flat.shape[1]))
    bend[1:-1] = np.diff(secant, axis=0) / (h[1:] + h[:-1])
    i = np.clip(np.searchsorted(t, times, side="right") - 1, 0, m - 2)
    off = np.zeros_like(bend)
    off[1:-1] = np.abs(bend[1:-1]) * h[1:] * h[:-1]
    h, secant = h[i], secant[i]
    left, right = _even(bend[i], bend[i + 1])
    x = (times - t[i])[:, None] / h
    found = cubic(x, flat[i], flat[i + 1], h * (secant - h * left), h * (secant + h * right))
    if own is not None:
        band = 0.5 * np.maximum(off[i], off[i + 1])
        found = found + np.clip(own.reshape(found.shape) - found, -band, band)
    return np.asarray(found.reshape(len(times), *values.shape[1:]))


def _even(left: Array, right: Array) -> tuple[Array, Array]:
    """Bends at both ends of intervals, the sharper one at most twice the other."""
    most = 2.0 * np.minimum(np.abs(left), np.abs(right))
    return np.clip(left, -most, most), np.clip(right, -most, most)


def integrals(t: Array, begins: Array, ends: Array) -> Array:
    """Integrals, (m, k), over the intervals of t, (m + 1,), of the cubics of `along` from their values at both ends.

    The values at the begin of an interval and at the end of the one before differ where they jump.
    """
    h = np.diff(t)[:, None]
    bend = np.zeros((len(t), begins.shape[1]))
    bend[1:-1] = np.diff((ends - begins) / h, axis=0) / (h[1:] + h[:-1])
    left, right = _even(bend[:-1], bend[1:])
    return np.asarray(h / 2.0 * (begins + ends) - h**3 / 12.0 * (left + right))


def parabola(t: Array, y: Array) -> Array:
    """Slope, (k, N), at the second of three rows, t (k, 3) and y (k, 3, N), of the parabola through them."""
    gap = np.diff(t, axis=1)[:, :, None]
    secant = np.diff(y, axis=1) / np.where(gap > 0.0, gap, np.inf)
    left, right = gap[:, 0], gap[:, 1]
    total = np.where(left + right > 0.0, left + right, 1.0)
    inside = (left > 0.0) & (right > 0.0)  # at the ends, where one gap is 0, the only secant
    return np.where(inside, (right * secant[:, 0] + left * secant[:, 1]) / total, secant.sum(axis=1))


def hermite(compiled: Compiled, ts: Array, y: Array, times: Array) -> Array:
    """Cubic Hermite interpolation between steps, with the right-hand side as slopes."""
    i = np.clip(np.searchsorted(ts, times, side="right") - 1, 0, len(ts) - 2)
    h = ts[i + 1] - ts[i]
    x = ((times - ts[i]) / h)[:, None]
    used = np.unique(np.concatenate([i, i + 1]))
    slope = {int(k): compiled.core.rhs(ts[k], np.ascontiguousarray(y[k])) for k in used}
    fa, fb = (h[:, None] * np.array([slope[int(k)] for k in j]).reshape(len(times), -1) for j in (i, i + 1))
    return cubic(x, y[i], y[i + 1], fa, fb)
