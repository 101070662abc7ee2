"""Space curves as piecewise polynomials: arc length, its inverse, tangents and parallel transport.

A path is resolved once, by Chebyshev polynomials on panels that are halved where the curve needs it (or by the
pieces of a cubic spline through samples); everything else is quadrature on these panels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev, legendre
from numpy.typing import NDArray

from gyrod import _core, rotations
from gyrod._check import Array
from gyrod.model.errors import shown

#: Degree of the panels, their number at first and at most, and how often one may be halved (kinks stop there).
_DEGREE, _PANELS, _MOST_PANELS, _DEEPEST = 16, 16, 4096, 24
_GAUSS, _WEIGHTS = legendre.leggauss(12)
#: Steps of parallel transport in each panel: a panel may hold nearly a turn, a step must hold less than a half.
_SUBSTEPS = 4


class Path:
    """A curve x(u) on panels between ``breaks``, with its arc length.

    Parameters
    ----------
    breaks
        Ends of the panels, increasing, (m + 1,).
    coefficients
        Chebyshev coefficients on each panel, (m, degree + 1, 3).
    """

    def __init__(self, breaks: Array, coefficients: Array) -> None:
        self.breaks = breaks
        self._coefficients = [coefficients]
        for _ in range(2):
            slopes = chebyshev.chebder(self._coefficients[-1], axis=1) * (2.0 / np.diff(breaks))[:, None, None]
            self._coefficients.append(np.concatenate([slopes, np.zeros_like(coefficients[:, :1])], axis=1))
        pieces = self._arcs(np.arange(len(breaks) - 1), breaks[1:])
        self._lengths = np.concatenate([[0.0], np.cumsum(pieces)])
        if not self.length > 1e-12 * float(np.max(np.abs(coefficients[:, 0]))):
            raise ValueError(f"position is the same point, {shown(coefficients[0, 0])}, for all s; its length is zero.")

    @property
    def length(self) -> float:
        """Arc length."""
        return float(self._lengths[-1])

    def point(self, u: Array, derivative: int = 0) -> Array:
        """x(u), x'(u) or x''(u), (..., 3)."""
        return evaluate(self.breaks, self._coefficients[derivative], u)

    def tangent(self, u: Array) -> Array:
        """Unit tangents, (n, 3); a curve that stands still somewhere is refused."""
        slope = self.point(u, 1)
        speed = np.linalg.norm(slope, axis=-1, keepdims=True)
        still = np.flatnonzero(speed <= 1e-9 * self.length)
        if len(still):
            raise ValueError(f"position(s = {u[still[0]]:.6g}) has no tangent: the curve stands still there.")
        return np.asarray(slope / speed)

    def parameter(self, fractions: Array) -> Array:
        """The parameters u at which the given fractions of the arc length are reached; Newton, safeguarded."""
        target = fractions * self.length
        i = np.clip(np.searchsorted(self._lengths, target, side="right") - 1, 0, len(self.breaks) - 2)
        low, high = self.breaks[i], self.breaks[i + 1]
        share = (target - self._lengths[i]) / np.maximum(np.diff(self._lengths)[i], 1e-300)
        u = low + np.clip(share, 0.0, 1.0) * (high - low)
        for _ in range(60):
            miss = self._lengths[i] + self._arcs(i, u) - target
            low, high = np.where(miss <= 0.0, u, low), np.where(miss >= 0.0, u, high)
            speed = np.linalg.norm(_evaluate(self.breaks, self._coefficients[1], i, u), axis=-1)
            newton = u - miss / np.maximum(speed, 1e-300)
            u = np.where((newton >= low) & (newton <= high), newton, 0.5 * (low + high))
            if np.max(np.abs(miss), initial=0.0) <= 1e-14 * self.length:
                break
        return np.asarray(u)

    def transport(self, u: Array, start: Array) -> Array:
        """Quaternions at increasing u, u[0] = breaks[0], of the frame ``start`` carried along without twist.

        Over a step from a to b the smallest rotation that takes t(a) to t(u) twists about t at the rate
        -t'·(t(a) × t) / (1 + t(a)·t), whose integral is taken back.
        """
        panels = self.breaks[:-1, None] + np.diff(self.breaks)[:, None] * np.arange(_SUBSTEPS) / _SUBSTEPS
        nodes = np.union1d(np.append(panels, self.breaks[-1]), u)
        t = self.tangent(nodes)
        first, last, half = t[:-1, None], t[1:], 0.5 * np.diff(nodes)[:, None]
        inner = nodes[:-1, None] + half * (1.0 + _GAUSS)
        slope = self.point(inner, 1)
        along = np.linalg.norm(slope, axis=-1, keepdims=True)
        between, bend = slope / along, self.point(inner, 2) / along  # t' is bend without its part along t
        facing = 1.0 + np.sum(first * np.concatenate([between, last[:, None]], axis=1), axis=-1)
        back = np.flatnonzero(np.min(facing, axis=1) < 1e-6)
        if len(back):
            raise ValueError(
                f"position(s = {nodes[back[0]]:.6g}) turns back on itself; give orientation along the curve."
            )
        rate = np.sum(bend * np.cross(first, between), axis=-1) / facing[:, :-1]
        twist = np.sum(half * _WEIGHTS * rate, axis=-1)
        turns = rotations.multiply(rotations.exp(twist[:, None] * last), smallest_rotation(t[:-1], last))
        carried = _core.compose(np.ascontiguousarray(start), np.ascontiguousarray(turns), "space")
        at = np.searchsorted(nodes, u)
        return align_tangent(np.asarray(carried)[at], t[at])

    def _arcs(self, panel: NDArray[np.intp], u: Array) -> Array:
        """Arc lengths from the begin of each panel to u."""
        begin = self.breaks[panel][:, None]
        half = 0.5 * (u[:, None] - begin)
        slopes = _evaluate(self.breaks, self._coefficients[1], panel[:, None], begin + half * (1.0 + _GAUSS))
        speed = np.linalg.norm(slopes, axis=-1)
        return np.asarray(np.sum(half * _WEIGHTS * speed, axis=-1))


def resolve(function: Callable[[Array], Array]) -> Path:
    """Path of a function on [0, 1] that maps (k,) to (k, 3)."""
    breaks, c = panels(function, _DEEPEST)
    path = Path(breaks, c)
    chords = np.linalg.norm(np.diff(path.point(breaks), axis=0), axis=1)
    jumps = np.where(np.diff(breaks) < 1.5 / (_PANELS * 2.0**_DEEPEST), chords, 0.0)
    if np.max(jumps) > 1e-3 * path.length:
        raise ValueError(
            f"position(s = {breaks[np.argmax(jumps)]:.6g}) jumps by {np.max(jumps):.6g}; a rod has no gaps."
        )
    return path


def panels(function: Callable[[Array], Array], deepest: int) -> tuple[Array, Array]:
    """Breaks (m + 1,) in [0, 1] and coefficients (m, degree + 1, 3) of a function that maps (k,) to (k, 3).

    Panels are halved until their last coefficients vanish, up to ``deepest`` times: kinks and jumps end up in short
    ones. Both ends of a panel are among its nodes, so that none can hide there.
    """
    ends = np.linspace(0.0, 1.0, _PANELS + 1)
    a, b = ends[:-1], ends[1:]
    done: list[tuple[Array, Array]] = []
    count, tolerance = 0, 0.0
    for level in range(deepest + 1):
        c = _fit(function, a, b, _DEGREE)
        if level == 0:
            means = c[:, 0]
            rounding = 8.0 * np.finfo(float).eps * float(np.max(np.abs(means)))
            tolerance = 1e-13 * float(np.max(np.ptp(means, axis=0))) + rounding
        rough = np.max(np.abs(c[:, -2:]), axis=(1, 2)) > tolerance
        if level == deepest or count + 2 * len(a) > _MOST_PANELS:
            rough[:] = False
        done.append((a[~rough], c[~rough]))
        count += int(np.sum(~rough))
        a, b = a[rough], b[rough]
        if not len(a):
            break
        middle = 0.5 * (a + b)
        a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
    begins = np.concatenate([part for part, _ in done])
    order = np.argsort(begins)
    return np.append(begins[order], 1.0), np.concatenate([part for _, part in done])[order]


def evaluate(breaks: Array, coefficients: Array, u: Array) -> Array:
    """Values of piecewise polynomials at u of any shape, (..., 3)."""
    return _evaluate(breaks, coefficients, _panel(breaks, u), u).reshape(*np.shape(u), 3)


def _panel(breaks: Array, u: Array) -> NDArray[np.intp]:
    return np.clip(np.searchsorted(breaks, u, side="right") - 1, 0, len(breaks) - 2)


def _evaluate(breaks: Array, coefficients: Array, panel: NDArray[np.intp], u: Array) -> Array:
    a, b = breaks[panel], breaks[panel + 1]
    basis = chebyshev.chebvander((2.0 * u - a - b) / (b - a), coefficients.shape[1] - 1)
    return np.asarray(np.einsum("...d,...dc->...c", basis, coefficients[panel]))


def through(u: Array, samples: Array) -> Path:
    """Path through samples at increasing u: the cubic spline with continuous second derivatives (not-a-knot)."""
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(u, samples)
    return Path(u, _fit(spline, u[:-1], u[1:], 3))


def _fit(function: Callable[[Array], Array], a: Array, b: Array, degree: int) -> Array:
    """Chebyshev coefficients on the panels from a to b, (m, degree + 1, 3)."""
    z = chebyshev.chebpts2(degree + 1)
    nodes = 0.5 * ((a + b)[:, None] + (b - a)[:, None] * z)
    nodes[:, 0], nodes[:, -1] = a, b
    values = np.asarray(function(nodes.ravel())).reshape(len(a), degree + 1, 3)
    return np.asarray(np.linalg.inv(chebyshev.chebvander(z, degree)) @ values)


def smallest_rotation(a: Array, b: Array) -> Array:
    """Quaternions of the smallest rotations that take the unit vectors a to b, which must not be opposite, (n, 4)."""
    scalar = 1.0 + np.sum(a * b, axis=-1, keepdims=True)
    return rotations.normalize(np.concatenate([scalar, np.cross(a, b)], axis=-1))


def align_tangent(frames: Array, tangents: Array) -> Array:
    """Frames turned by as little as possible so that their d3 is the tangent."""
    d3 = rotations.rotate(frames, np.array([0.0, 0.0, 1.0]))
    return rotations.multiply(smallest_rotation(d3, tangents), frames)
