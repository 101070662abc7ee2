"""What curves with a radius sweep: the union of all frames as a distance on a grid, and its surface of triangles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gyrod import _core
from gyrod._check import Array

#: Points of the grid of a block, and the most memory of all, in bytes.
BLOCK, MEMORY = 512, 1_000_000_000


class TooFine(ValueError):
    """A grid that would not fit into the memory that is allowed."""


@dataclass(frozen=True)
class Swept:
    """A closed surface of triangles, turned outwards."""

    #: (n, 3), (m, 3).
    vertices: Array
    faces: NDArray[np.int32]


def sweep(curves: Iterable[Array], spacing: float) -> Swept:
    """The union of curves, blocks of frames (n, cells, degree + 1, 4), on a grid with a spacing."""
    field = _core.DistanceField(spacing, MEMORY // (4 * BLOCK))
    for block in curves:
        # What one frame alone fills; the core counts the rest.
        chords = np.linalg.norm(block[:1, :, -1, :3] - block[:1, :, 0, :3], axis=-1)
        least = float(np.sum(np.pi * block[:1, :, :, 3].min(axis=-1) ** 2 * chords)) / spacing**3
        if 4.0 * least > MEMORY:
            raise TooFine(f"the grid would take more than {MEMORY / 1e9:g} GB")
        if np.max(np.abs(block[..., :3]), initial=0.0) / spacing > 2**22:
            raise TooFine("the grid would have more than four million points along an axis")
        if len(block) and not field.add(np.ascontiguousarray(block)):
            raise TooFine(f"the grid would take more than {MEMORY / 1e9:g} GB")
    vertices, faces = field.surface()
    return Swept(vertices, faces.astype(np.int32))


def volume(vertices: Array, faces: NDArray[np.int32]) -> float:
    """Volume of a closed surface, by the divergence theorem."""
    if not len(faces):
        return 0.0
    x = (vertices - vertices.mean(axis=0))[faces]
    return float(np.einsum("fi,fi->", x[:, 0], np.cross(x[:, 1], x[:, 2]))) / 6.0
