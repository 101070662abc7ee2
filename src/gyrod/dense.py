"""Between steps and rows: dense output as data, for pickles and files, and cubics where there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gyrod.equations import Compiled

Array = NDArray[np.float64]

#: Degrees of the dense output of the core's methods; those of the extrapolation methods at their highest order.
DEGREES = {"dopri5": 4, "dop853": 7, "radau5": 3, "rodas": 3, "odex": 20, "seulex": 14}
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


def hermite(compiled: Compiled, ts: Array, y: Array, times: Array) -> Array:
    """Cubic Hermite interpolation between steps, with the right-hand side as slopes."""
    i = np.clip(np.searchsorted(ts, times, side="right") - 1, 0, len(ts) - 2)
    h = ts[i + 1] - ts[i]
    x = ((times - ts[i]) / h)[:, None]
    used = np.unique(np.concatenate([i, i + 1]))
    slope = {int(k): compiled.core.rhs(ts[k], np.ascontiguousarray(y[k])) for k in used}
    fa, fb = (h[:, None] * np.array([slope[int(k)] for k in j]).reshape(len(times), -1) for j in (i, i + 1))
    return cubic(x, y[i], y[i + 1], fa, fb)
