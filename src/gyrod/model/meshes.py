"""Where the unknowns of a rod live: a staggered grid, or Gauss-Lobatto elements. The one place that asks which.

Everything is in fractions s of the length. A field that is known at some of the points is interpolated at any s with
the rows and weights of the mesh::

    rows, weights = mesh.vertex_at([0.3, 0.7])
    x = apply(rows, weights, track.positions)

Rules for a new mesh: it is a final class here with what `Mesh` declares abstract, and ``Rod.mesh`` makes it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod._check import Array
from gyrod.model.errors import frozen

Rows = NDArray[np.intp]

#: Degrees of elements.
DEGREES = (2, 3, 4)
#: Ends of elements, in fractions of the length, that are nearer to one another are one.
NEAREST_ENDS = 1e-9
#: Part of an element by which others may be longer than asked for, before there is one more.
SLACK = 0.125


# --- interpolation ---------------------------------------------------------------------------------------------------


def apply(rows: Rows, weights: Array, field: ArrayLike) -> Array:
    """Field (..., V, c) at k fractions: Σ_j weights[k, j] field[..., rows[k, j], :], (..., k, c)."""
    known = np.asarray(field)
    found = weights[:, :1] * known[..., rows[:, 0], :]
    for j in range(1, rows.shape[1]):
        found = found + weights[:, j, None] * known[..., rows[:, j], :]
    return np.asarray(found)


def apply_frames(rows: Rows, weights: Array, quaternions: ArrayLike) -> Array:
    """Unit quaternions (..., Q, 4) at k fractions: Σ_j w_j p_j, normalised, each p_j on the side of the one before."""
    known = np.asarray(quaternions)
    last = known[..., rows[:, 0], :]
    found = weights[:, :1] * last
    for j in range(1, rows.shape[1]):
        here = known[..., rows[:, j], :]
        side = np.where(np.sum(last * here, axis=-1) < 0.0, -1.0, 1.0)[..., None]
        last = side * here
        found = found + weights[:, j, None] * last
    return np.asarray(found / np.linalg.norm(found, axis=-1, keepdims=True))


def lagrange(nodes: Array, x: ArrayLike) -> Array:
    """Lagrange polynomials of the nodes at x, (k, nodes)."""
    at = np.asarray(x, dtype=float)[:, None]
    columns = []
    for i, here in enumerate(nodes.tolist()):
        others = np.delete(nodes, i)
        columns.append(np.prod((at - others) / (here - others), axis=1))
    return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class Rule:
    """Gauss-Lobatto nodes and Gauss points of an element of degree p on [-1, 1]; weights add up to 2."""

    #: Zeros of (1 - x²) P'_p, (p + 1,), and their weights.
    nodes: Array
    weights: Array
    #: Zeros of P_p, (p,), and their weights.
    points: Array
    point_weights: Array
    #: Lagrange polynomials of the nodes at the points, (p, p + 1).
    values: Array


@cache
def rule(degree: int) -> Rule:
    """The rule of a degree."""
    inner = {2: (0.0,), 3: (-math.sqrt(0.2), math.sqrt(0.2)), 4: (-math.sqrt(3.0 / 7.0), 0.0, math.sqrt(3.0 / 7.0))}
    weights = {2: (1 / 3, 4 / 3, 1 / 3), 3: (1 / 6, 5 / 6, 5 / 6, 1 / 6), 4: (0.1, 49 / 90, 32 / 45, 49 / 90, 0.1)}
    nodes = frozen([-1.0, *inner[degree], 1.0])
    points, point_weights = np.polynomial.legendre.leggauss(degree)
    values = lagrange(nodes, points)
    return Rule(nodes, frozen(weights[degree]), frozen(points), frozen(point_weights), frozen(values))


def divided(inner: Sequence[float], elements: int) -> Array:
    """Ends of elements, those between given ones equal and about as long as asked for: none is a sliver by chance."""
    ends = [0.0, *inner, 1.0]
    parts = [np.zeros(1)]
    for a, b in pairwise(ends):
        count = max(1, math.ceil((b - a) * elements - SLACK))
        parts.append(a + (b - a) * np.arange(1.0, count + 1.0) / count)
        parts[-1][-1] = b
    return np.concatenate(parts)


# --- meshes ----------------------------------------------------------------------------------------------------------


class Mesh(ABC):
    """Points of a rod as fractions of its length, and how fields between them are found.

    The functions ``..._at(s)`` return rows (k, m) and weights (k, m) for k fractions, to be given to `apply`, and those
    of frames to `apply_frames`.
    """

    #: Degree of the elements; None of the staggered grid.
    degree: int | None
    #: Ends of the segments or elements, (E + 1,).
    ends: Array

    @property
    @abstractmethod
    def vertices(self) -> Array:
        """Where positions are, (V,)."""

    @property
    @abstractmethod
    def frames(self) -> Array:
        """Where frames and spins are, (Q,)."""

    @property
    @abstractmethod
    def strains(self) -> Array:
        """Where strains and section forces are, (n,)."""

    @property
    @abstractmethod
    def curvatures(self) -> Array:
        """Where curvatures and section moments are, (m,)."""

    @property
    @abstractmethod
    def weights(self) -> Array:
        """Fraction of the length that belongs to each vertex, (V,)."""

    @property
    @abstractmethod
    def frame_weights(self) -> Array:
        """Fraction of the length that belongs to each frame, (Q,)."""

    @property
    @abstractmethod
    def point_weights(self) -> Array:
        """Fraction of the length that belongs to each strain, (n,)."""

    @abstractmethod
    def vertex_at(self, s: ArrayLike) -> tuple[Rows, Array]:
        """Rows and weights of a field of the vertices at fractions s."""

    @abstractmethod
    def frame_at(self, s: ArrayLike) -> tuple[Rows, Array]:
        """Rows and weights of a field of the frames."""

    @abstractmethod
    def strain_at(self, s: ArrayLike) -> tuple[Rows, Array]:
        """Rows and weights of a field of the strains."""

    @abstractmethod
    def curvature_at(self, s: ArrayLike) -> tuple[Rows, Array]:
        """Rows and weights of a field of the curvatures."""

    def nearest(self, s: float) -> int:
        """The vertex that is nearest to a fraction."""
        return int(np.argmin(np.abs(self.vertices - s)))

    #: `apply` and `apply_frames`, for those who have a mesh at hand.
    interpolate = staticmethod(apply)
    interpolate_frames = staticmethod(apply_frames)

    @property
    def cells(self) -> int:
        """Number of segments or elements."""
        return len(self.ends) - 1


class Grid(Mesh):
    """The staggered grid: positions and curvatures at vertices, frames and strains at the midpoints of segments.

    In between everything is linear; what is known at midpoints is extrapolated to the ends.
    """

    degree = None

    def __init__(self, ends: ArrayLike) -> None:
        self.ends = frozen(ends)

    @property
    def vertices(self) -> Array:
        """The ends of the segments."""
        return self.ends

    @cached_property
    def frames(self) -> Array:
        """The midpoints of the segments."""
        return frozen(0.5 * (self.ends[1:] + self.ends[:-1]))

    @property
    def strains(self) -> Array:
        """The midpoints."""
        return self.frames

    @property
    def curvatures(self) -> Array:
        """The vertices."""
        return self.ends

    @cached_property
    def weights(self) -> Array:
        """Halves of the segments beside a vertex."""
        half = 0.5 * self.frame_weights
        return frozen(np.append(half, 0.0) + np.append(0.0, half))

    @cached_property
    def frame_weights(self) -> Array:
        """The segments."""
        return frozen(np.diff(self.ends))

    @property
    def point_weights(self) -> Array:
        """The segments."""
        return self.frame_weights

    def vertex_at(self, s: ArrayLike) -> tuple[Rows, Array]:
        """Linear between the two ends of a segment."""
        return _line(self.ends, s)

    def frame_at(self, s: ArrayLike) -> tuple[Rows, Array]:
        """Linear between two midpoints."""
        return _line(self.frames, s)

    strain_at = frame_at
    curvature_at = vertex_at


class Elements(Mesh):
    """Gauss-Lobatto elements of degree p: nodes with position and frame, strain and curvature at p Gauss points each.

    Positions and quaternions are polynomials of degree p in an element; strains and curvatures are interpolated by
    those of degree p - 1 through its Gauss points, and may jump between elements: at an end the right one counts.
    """

    def __init__(self, degree: int, ends: ArrayLike) -> None:
        self.degree: int = degree
        self.ends = frozen(ends)

    @cached_property
    def rule(self) -> Rule:
        """Nodes and points of one element."""
        return rule(self.degree)

    @cached_property
    def vertices(self) -> Array:
        """The nodes, (p E + 1,)."""
        return frozen(np.append(self._spread(self.rule.nodes[:-1]), 1.0))

    @property
    def frames(self) -> Array:
        """The nodes."""
        return self.vertices

    @cached_property
    def strains(self) -> Array:
        """The Gauss points, (p E,)."""
        return frozen(self._spread(self.rule.points))

    @property
    def curvatures(self) -> Array:
        """The Gauss points."""
        return self.strains

    @cached_property
    def weights(self) -> Array:
        """Gauss-Lobatto weights; nodes between two elements have a share of both."""
        found = np.zeros(self.degree * self.cells + 1)
        parts = 0.5 * np.diff(self.ends)[:, None] * self.rule.weights
        np.add.at(found, self.nodes_of(np.arange(self.cells)), parts)
        return frozen(found)

    @property
    def frame_weights(self) -> Array:
        """Those of the vertices."""
        return self.weights

    @cached_property
    def point_weights(self) -> Array:
        """Gauss weights."""
        return frozen((0.5 * np.diff(self.ends)[:, None] * self.rule.point_weights).ravel())

    def nodes_of(self, cells: Rows) -> Rows:
        """Rows of the nodes of elements, (k, p + 1)."""
        return np.asarray(self.degree * np.asarray(cells)[:, None] + np.arange(self.degree + 1))

    def vertex_at(self, s: ArrayLike) -> tuple[Rows, Array]:
        """Lagrange polynomials of the nodes of an element; at a node its own value and no other."""
        at = np.array(s, dtype=float, ndmin=1)
        cell, xi = _cell(self.ends, at)
        rows = self.nodes_of(cell)
        there = self.vertices[rows] == at[:, None]
        hit = there.any(axis=1)
        if hit.all():
            return rows, there.astype(float)
        weights = lagrange(self.rule.nodes, 2.0 * xi - 1.0)
        weights[hit] = there[hit]
        return rows, weights

    def strain_at(self, s: ArrayLike) -> tuple[Rows, Array]:
        """Lagrange polynomials of the Gauss points of an element."""
        cell, xi = _cell(self.ends, np.array(s, dtype=float, ndmin=1))
        rows = self.degree * cell[:, None] + np.arange(self.degree)
        return np.asarray(rows), lagrange(self.rule.points, 2.0 * xi - 1.0)

    frame_at = vertex_at
    curvature_at = strain_at

    def lumped(self, density: Callable[[Array], Array], jumps: ArrayLike = (), span: ArrayLike = (0.0, 1.0)) -> Array:
        """Gauss-Lobatto sums: what a density per length is worth at each node, as fraction of the length, (V, ...).

        ``density`` is a function of fractions, (k,) -> (k, ...). Where it jumps, at ends of elements, each element has
        the value on its own side. Only the elements inside of ``span`` count.
        """
        cells = np.flatnonzero(
            (self.ends[:-1] > np.min(span) - NEAREST_ENDS) & (self.ends[1:] < np.max(span) + NEAREST_ENDS)
        )
        nodes = self.nodes_of(cells)
        s = self.vertices[nodes]
        there = np.abs(s[..., None] - np.asarray(jumps, dtype=float)).min(axis=-1, initial=1.0) < NEAREST_ENDS
        s[:, 0] += 2.0 * NEAREST_ENDS * there[:, 0]
        s[:, -1] -= 2.0 * NEAREST_ENDS * there[:, -1]
        values = np.asarray(density(s.ravel()))
        values = values.reshape(*s.shape, *values.shape[1:])
        parts = 0.5 * np.diff(self.ends)[cells, None] * self.rule.weights
        found = np.zeros((len(self.vertices), *values.shape[2:]))
        np.add.at(found, nodes, parts.reshape(parts.shape + (1,) * (values.ndim - 2)) * values)
        return found

    def _spread(self, x: Array) -> Array:
        """Points of [-1, 1] in all elements, one after the other."""
        lo, hi = self.ends[:-1, None], self.ends[1:, None]
        return np.asarray((0.5 * (1.0 - x) * lo + 0.5 * (1.0 + x) * hi).ravel())


def _cell(ends: Array, s: Array) -> tuple[Rows, Array]:
    j = np.clip(np.searchsorted(ends, s, side="right") - 1, 0, len(ends) - 2)
    return j, (s - ends[j]) / (ends[j + 1] - ends[j])


def _line(nodes: Array, s: ArrayLike) -> tuple[Rows, Array]:
    j, xi = _cell(nodes, np.array(s, dtype=float, ndmin=1))
    return np.stack([j, j + 1], axis=1), np.stack([1.0 - xi, xi], axis=1)
