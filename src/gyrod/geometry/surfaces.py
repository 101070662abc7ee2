"""Surfaces in axes of their own: signed distance (negative inside), normal and nearest point of any points.

Rules for a new surface: its distance is exact and in `cpp/gyrod/geometry/surface.cpp`, which says what the search along
curves asks of it; one function here makes it, and it joins the list over which `tests/test_geometry.py` runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import _core
from gyrod._check import Array, Data


@dataclass(frozen=True)
class Nearest:
    """What of a surface lies nearest to points (..., 3)."""

    #: (...), negative inside; never of a mesh that is not closed.
    distance: Array
    #: Its gradient, of unit length, (..., 3).
    normal: Array
    #: On the surface, (..., 3).
    point: Array
    #: Number of the triangle of a mesh, (...).
    part: NDArray[np.intp]


class Surface:
    """A surface by what makes it, which pickles; the core's object is made on first use."""

    def __init__(self, kind: str, *values: float | Array | NDArray[np.int32], closed: bool = True) -> None:
        self.kind, self.values = kind, values
        #: Whether it has an inside.
        self.closed = closed

    def __getstate__(self) -> Data:
        return {key: value for key, value in self.__dict__.items() if key != "core"}

    @cached_property
    def core(self) -> _core.Surface:
        """The core's surface, of a mesh with the hierarchy of its triangles."""
        made: _core.Surface = getattr(_core.Surface, self.kind)(*self.values)
        return made

    def nearest(self, points: ArrayLike) -> Nearest:
        """What lies nearest to points (..., 3)."""
        x = np.asarray(points, dtype=float)
        found = self.core.near(np.ascontiguousarray(x.reshape(-1, 3))).reshape(*x.shape[:-1], 8)
        return Nearest(found[..., 0], found[..., 1:4], found[..., 4:7], found[..., 7].astype(np.intp))

    def bend(self, points: ArrayLike) -> Array:
        """Second derivative of the distance at points (..., 3), (..., 3, 3); one-sided where it jumps."""
        x = np.asarray(points, dtype=float)
        return np.asarray(self.core.bend(np.ascontiguousarray(x.reshape(-1, 3)))).reshape(*x.shape[:-1], 3, 3)

    def inside(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Whether points (..., 3) lie inside."""
        if not self.closed:
            raise ValueError(
                "the mesh is not closed, so that it has no inside; close it in a mesh editor (vertices at the same "
                "place must be one)."
            )
        return np.asarray(self.nearest(points).distance < 0.0)


def plane(normal: ArrayLike = (0.0, 0.0, 1.0), offset: float = 0.0) -> Surface:
    """All points with normal · p = offset; what lies behind is inside."""
    n = np.asarray(normal, dtype=float)
    return Surface("half_space", n / np.linalg.norm(n), float(offset))


def ball(radius: float, *, hollow: bool = False) -> Surface:
    """A ball about the origin; ``hollow``, a bowl: its outside is inside of it."""
    return Surface("ball", float(radius), hollow)


def cylinder(
    radius: float, length: float | None = None, *, hollow: bool = False, rounding: float = 0.0
) -> Surface:  # fmt: skip
    """A cylinder about z, from -length / 2 to length / 2, or without end; ``hollow``, a pipe, only without end."""
    if length is None:
        return Surface("endless_cylinder", float(radius), hollow)
    return Surface("frustum", float(radius), float(radius), 0.5 * float(length), float(rounding))


def capsule(radius: float, length: float) -> Surface:
    """All points at a radius from a segment of z, from -length / 2 to length / 2."""
    return Surface("capsule", float(radius), 0.5 * float(length))


def cone(radius: float, length: float) -> Surface:
    """A cone about z, its base at -length / 2 and its tip at length / 2."""
    return Surface("frustum", float(radius), 0.0, 0.5 * float(length))


def box(size: ArrayLike, *, rounding: float = 0.0) -> Surface:
    """A box with edges of a size (3,) about the origin; edges and corners may be rounded by a radius."""
    return Surface("box", 0.5 * np.asarray(size, dtype=float), float(rounding))


def ring(radius: float, wire: float) -> Surface:
    """All points within ``wire`` of a circle about z: an eyelet."""
    return Surface("ring", float(radius), float(wire))


def height_field(heights: ArrayLike, spacing: ArrayLike) -> Surface:
    """Ground z = f(x, y), bicubic between heights (nx, ny) from the origin on, flat beyond.

    Its distance is exact on the surface alone; so are its normal and its second derivative.
    """
    dx, dy = np.broadcast_to(np.asarray(spacing, dtype=float), 2).tolist()
    return Surface("height_field", 0.0, 0.0, dx, dy, np.ascontiguousarray(heights, dtype=float))


def mesh(vertices: ArrayLike, faces: ArrayLike) -> Surface:
    """Triangles: vertices (n, 3), faces (m, 3). It has an inside where every edge has two faces, turned alike."""
    x, f = np.ascontiguousarray(vertices, dtype=float), np.ascontiguousarray(faces, dtype=np.int32)
    closed = open_edges(f, len(x)) == 0
    return Surface("triangles", x, f, closed, closed=closed)


def open_edges(faces: ArrayLike, vertices: int) -> int:
    """Number of edges that do not have exactly one face on each side, turned the same way."""
    f = np.asarray(faces).astype(np.int64)
    edges = np.concatenate([f[:, [0, 1]], f[:, [1, 2]], f[:, [2, 0]]])
    key, back = (edges[:, i] * vertices + edges[:, 1 - i] for i in (0, 1))
    _, counts = np.unique(key, return_counts=True)
    return int(np.sum(counts > 1) + np.sum(~np.isin(key, back)))
