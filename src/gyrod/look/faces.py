"""Flat faces of solids, for drawings without a graphics card."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gyrod._check import Array
from gyrod.model.appearance import Box, Capsule, Cone, Cylinder, Mesh, Solid, Sphere, equivalent_box
from gyrod.model.bodies import Body
from gyrod.model.surfaces import Boundary, Bowl, Eyelet, HeightField, Pipe, Plane, Shaft

#: Corners of round faces, and faces of a mesh that are drawn at most.
ROUND, MOST = 20, 20_000


def faces_of(body: Body, thickness: float) -> list[Array]:
    """Faces of a body in its axes, (corners, 3) each, seen counter-clockwise from outside.

    Without a shape those of the box of the same inertia, at least of a ``thickness``.
    """
    if not body.shapes:
        size, axes = equivalent_box(body.mass, body.inertia) if body.mass > 0.0 else (np.zeros(3), np.eye(3))
        return [face @ axes.T for face in _box(np.maximum(size, thickness))]
    return [face for solid in body.shapes for face in faces_of_solid(solid)]


def faces_of_solid(solid: Solid) -> list[Array]:
    """Faces of a solid in the axes of its body."""
    if isinstance(solid, Box):
        own = _box(solid.size)
    elif isinstance(solid, Sphere):
        own = _sphere(solid.radius)
    elif isinstance(solid, Cone):
        own = _round(solid.radius, 0.0, solid.length)
    elif isinstance(solid, Cylinder):
        own = _round(solid.radius, solid.radius, solid.length)
    elif isinstance(solid, Capsule):
        own = _revolved(*_capped(solid.radius, solid.length))
    elif isinstance(solid, Mesh):
        every = -(-len(solid.faces) // MOST)
        own = list(solid.vertices[solid.faces[::every]])
    else:
        raise TypeError(f"{type(solid).__name__} cannot be drawn; look.faces must learn it.")
    back = solid.turn.T
    return [face @ back + solid.offset for face in own]


def faces_of_surface(surface: Boundary | Solid, middle: Array, length: float) -> list[Array]:
    """Faces of what contacts touch, in space; of the inside of pipes and bowls those that look inwards.

    What has no end is drawn about ``middle``, for a system of a ``length``.
    """
    if isinstance(surface, Solid):
        return faces_of_solid(surface)
    if isinstance(surface, Plane | Shaft):
        return faces_of_solid(surface.solid(middle, length))
    if isinstance(surface, Pipe):
        piece = Shaft(surface.radius, surface.point, surface.axis).solid(middle, length)
        return [face[::-1] for face in faces_of_solid(piece)[:ROUND]]
    if isinstance(surface, Bowl):
        own = [face[::-1] for face in _sphere(surface.radius)]
    elif isinstance(surface, Eyelet):
        angle = np.linspace(0.0, 2.0 * np.pi, ROUND // 2 + 1)
        own = _revolved(surface.radius + surface.wire * np.cos(angle), surface.wire * np.sin(angle))
    elif isinstance(surface, HeightField):
        own = _ground(surface)
    else:
        raise TypeError(f"{type(surface).__name__} cannot be drawn; look.faces must learn it.")
    return [face @ surface.turn.T + surface.offset for face in own]


def triangles(faces: list[Array]) -> tuple[Array, NDArray[np.int32]]:
    """Corners (n, 3) and triangles (m, 3) of flat faces."""
    first, found = 0, []
    for face in faces:
        found += [(first, first + i, first + i + 1) for i in range(1, len(face) - 1)]
        first += len(face)
    return np.concatenate(faces), np.array(found, dtype=np.int32)


def _ground(field: HeightField) -> list[Array]:
    """Cells of a height field, fewer than there are where they are many."""
    z = field.heights
    every = max(1, int(np.ceil(np.sqrt(z.size / MOST))))
    i, j = (np.unique([*range(0, n, every), n - 1]) for n in z.shape)
    x = np.stack([*np.meshgrid(i * field.spacing[0], j * field.spacing[1], indexing="ij"), z[np.ix_(i, j)]], axis=-1)
    return [
        np.array([x[a, b], x[a + 1, b], x[a + 1, b + 1], x[a, b + 1]])
        for a in range(len(i) - 1)
        for b in range(len(j) - 1)
    ]


def _box(size: Array) -> list[Array]:
    square = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    found = []
    for k in range(3):
        for sign in (1.0, -1.0):
            face = np.empty((4, 3))
            face[:, k] = sign
            face[:, (k + 1) % 3], face[:, (k + 2) % 3] = square[:: int(sign)].T
            found.append(0.5 * size * face)
    return found


def _round(bottom: float, top: float, length: float) -> list[Array]:
    """A cylinder or a cone about z: sides, and the ends that have a size."""
    angle = np.linspace(0.0, 2.0 * np.pi, ROUND + 1)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def ring(radius: float, z: float) -> Array:
        return np.column_stack([radius * circle, np.full(ROUND + 1, z)])

    low, high = ring(bottom, -0.5 * length), ring(top, 0.5 * length)
    found = [np.array([low[i], low[i + 1], high[i + 1], high[i]]) for i in range(ROUND)]
    found += [x[:-1] for x, radius in ((low[::-1], bottom), (high, top)) if radius > 0.0]
    return found


def _sphere(radius: float) -> list[Array]:
    return _revolved(*_capped(radius, 0.0))


def _capped(radius: float, length: float) -> tuple[Array, Array]:
    """Distances from z and heights of a ball that is cut in half, with the halves apart by a length."""
    lat = np.linspace(-0.5 * np.pi, 0.5 * np.pi, ROUND // 2 + 1)
    if length:
        half = len(lat) // 2
        lat = np.concatenate([lat[: half + 1], lat[half:]])
    away = np.where(np.arange(len(lat)) < len(lat) // 2, -0.5, 0.5) * length
    return radius * np.cos(lat), radius * np.sin(lat) + away


def _revolved(rho: Array, z: Array) -> list[Array]:
    """Faces of a profile turned about z; it goes upwards outside."""
    lon = np.linspace(0.0, 2.0 * np.pi, ROUND + 1)
    x = np.stack([np.outer(rho, np.cos(lon)), np.outer(rho, np.sin(lon)), np.outer(z, np.ones(len(lon)))], axis=-1)
    return [
        np.array([x[i, j], x[i, j + 1], x[i + 1, j + 1], x[i + 1, j]])
        for i in range(len(rho) - 1)
        for j in range(ROUND)
    ]
