"""Flat faces of solids, for drawings without a graphics card."""

from __future__ import annotations

import numpy as np

from gyrod._check import Array
from gyrod.model.appearance import Box, Cone, Cylinder, Mesh, Solid, Sphere, equivalent_box
from gyrod.model.bodies import Body

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
    elif isinstance(solid, Mesh):
        every = -(-len(solid.faces) // MOST)
        own = list(solid.vertices[solid.faces[::every]])
    else:
        raise TypeError(f"{type(solid).__name__} cannot be drawn; look.faces must learn it.")
    return [face @ solid.turn.T + solid.offset for face in own]


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
    lon = np.linspace(0.0, 2.0 * np.pi, ROUND + 1)
    lat = np.linspace(-0.5 * np.pi, 0.5 * np.pi, ROUND // 2 + 1)
    x = np.stack(
        [
            np.outer(np.cos(lat), np.cos(lon)),
            np.outer(np.cos(lat), np.sin(lon)),
            np.outer(np.sin(lat), np.ones(len(lon))),
        ],
        axis=-1,
    )
    return [
        radius * np.array([x[i, j], x[i, j + 1], x[i + 1, j + 1], x[i + 1, j]])
        for i in range(len(lat) - 1)
        for j in range(ROUND)
    ]
