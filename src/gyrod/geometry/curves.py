"""Curves with a radius: rows of polynomials by their Bernstein coefficients, (..., cells, degree + 1, 4).

The last axis is x, y, z, radius.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import _core
from gyrod._check import Array
from gyrod.geometry.surfaces import Surface

#: Guaranteed: nothing is nearer than what was found by more than this part of the length of a curve.
TOLERANCE = 1e-6


# --- making them -----------------------------------------------------------------------------------------------------


def along_grid(ends: ArrayLike, points: ArrayLike) -> Array:
    """Cubics through points (..., n + 1, 3) at places ``ends`` (n + 1,): (..., n, 4, 3) of degree 3.

    Tangents at a point are those of the parabola through it and its neighbours; the curve differs from the smooth one
    by the third power of the distance of the points.
    """
    s, x = np.asarray(ends, dtype=float), np.asarray(points, dtype=float)
    h = np.diff(s)[:, None]
    secant = np.diff(x, axis=-2) / h
    slope = np.empty_like(x)
    if len(s) == 2:
        slope[...] = secant
    else:
        slope[..., 1:-1, :] = (h[1:] * secant[..., :-1, :] + h[:-1] * secant[..., 1:, :]) / (h[1:] + h[:-1])
        slope[..., 0, :] = 2.0 * secant[..., 0, :] - slope[..., 1, :]
        slope[..., -1, :] = 2.0 * secant[..., -1, :] - slope[..., -2, :]
    a, b, third = x[..., :-1, :], x[..., 1:, :], h / 3.0
    return np.stack([a, a + third * slope[..., :-1, :], b - third * slope[..., 1:, :], b], axis=-2)


@cache
def _from_nodes(nodes: tuple[float, ...]) -> Array:
    """Bernstein coefficients of a polynomial by its values at nodes in [0, 1], (p + 1, p + 1)."""
    p = len(nodes) - 1
    x = np.array(nodes)[:, None]
    k = np.arange(p + 1)
    values = np.array([comb(p, int(j)) for j in k]) * x**k * (1.0 - x) ** (p - k)
    return np.asarray(np.linalg.inv(values))


def of_elements(nodes: ArrayLike, points: ArrayLike) -> Array:
    """Polynomials through points (..., p E + 1, 3): (..., E, p + 1, 3); ``nodes`` (p + 1,) of one element in [0, 1]."""
    at, x = tuple(np.asarray(nodes, dtype=float).tolist()), np.asarray(points, dtype=float)
    p = len(at) - 1
    rows = p * np.arange((x.shape[-2] - 1) // p)[:, None] + np.arange(p + 1)
    found = np.einsum("ij,...ejc->...eic", _from_nodes(at), x[..., rows, :])
    # Neighbours share their ends to the last bit.
    found[..., 0, :], found[..., -1, :] = x[..., rows[:, 0], :], x[..., rows[:, -1], :]
    return np.asarray(found)


def with_radius(cells: Array, radii: ArrayLike) -> Array:
    """The radius as fourth number: ``radii`` (cells + 1,) at the ends of the cells, linear in between."""
    r = np.asarray(radii, dtype=float)
    x = np.linspace(0.0, 1.0, cells.shape[-2])
    spread = (1.0 - x) * r[:-1, None] + x * r[1:, None]
    return np.concatenate([cells, np.broadcast_to(spread[..., None], (*cells.shape[:-1], 1))], axis=-1)


def placed(cells: Array, at: ArrayLike, turn: ArrayLike) -> Array:
    """Curves (n, ...) in axes with the origin ``at`` (n, 3) or (3,) and directors ``turn`` (n, 3, 3) or (3, 3)."""
    x, R = np.asarray(at, dtype=float), np.asarray(turn, dtype=float)
    found = np.empty_like(cells)
    shape = cells.shape
    flat = cells[..., :3].reshape(shape[0], -1, 3) - x.reshape(-1, 1, 3)
    found[..., :3] = np.matmul(flat, R.reshape(-1, 3, 3)).reshape(*shape[:-1], 3)
    found[..., 3] = cells[..., 3]
    return found


def _bernstein(degree: int, u: Array) -> Array:
    k = np.arange(degree + 1)
    powers = u[:, None] ** k * (1.0 - u[:, None]) ** (degree - k)
    return np.asarray(np.array([comb(degree, int(j)) for j in k]) * powers)


def point_at(cells: Array, cell: NDArray[np.intp], u: Array) -> Array:
    """Place and radius, (n, 4), of curves (n, ...) each at its own cell and u in [0, 1]."""
    rows = cells[np.arange(len(cells)), cell]
    return np.asarray(np.einsum("nk,nkc->nc", _bernstein(rows.shape[1] - 1, u), rows))


def slope_at(cells: Array, cell: NDArray[np.intp], u: Array) -> Array:
    """Derivatives by u, (n, 4), as `point_at`."""
    rows = cells[np.arange(len(cells)), cell]
    degree = rows.shape[1] - 1
    return np.asarray(degree * np.einsum("nk,nkc->nc", _bernstein(degree - 1, u), np.diff(rows, axis=1)))


# --- nearest points --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Closest:
    """Where curves come nearest to something, frame by frame."""

    #: Distance of the surfaces, negative where they overlap, (n,).
    gap: Array
    #: Cell of the curve and place in it, u in [0, 1], (n,) each.
    cell: NDArray[np.intp]
    u: Array
    #: From the other towards the curve, of unit length, (n, 3).
    normal: Array
    #: On the other surface; of two curves on the centreline of the other, (n, 3).
    point: Array
    #: Triangle of a mesh; cell and place on another curve, (n,) each.
    part: NDArray[np.intp]
    v: Array

    @classmethod
    def of(cls, rows: Array) -> Closest:
        """From rows of the core."""
        cell, part = rows[:, 1].astype(np.intp), rows[:, 9].astype(np.intp)
        return cls(rows[:, 0], cell, rows[:, 2], rows[:, 3:6], rows[:, 6:9], part, rows[:, 10])


def _tolerance(cells: Array) -> float:
    """From the longest row of chords in the first frame."""
    ends = np.diff(cells[:1, :, [0, -1], :3], axis=2)
    return TOLERANCE * max(float(np.sum(np.linalg.norm(ends, axis=-1))), 1e-300)


def closest(surface: Surface, curves: Array) -> Closest:
    """Where curves (n, cells, degree + 1, 4) come nearest to a surface, in its axes.

    Of a mesh that is not closed both sides are outside, and the gap is not below -radius.
    """
    if not len(curves):
        return Closest.of(np.zeros((0, 11)))
    return Closest.of(surface.core.closest(np.ascontiguousarray(curves), _tolerance(curves)))


def between_curves(a: Array, b: Array) -> Closest:
    """Where curves come nearest to others, frame by frame."""
    if not len(a):
        return Closest.of(np.zeros((0, 11)))
    tolerance = min(_tolerance(a), _tolerance(b))
    return Closest.of(_core.closest_curves(np.ascontiguousarray(a), np.ascontiguousarray(b), tolerance))
