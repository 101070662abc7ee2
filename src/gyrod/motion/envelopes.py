"""What rods sweep in a motion: the volume as a closed surface of triangles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gyrod import _check, geometry
from gyrod._check import Array
from gyrod._words import suggests
from gyrod.files.meshes import write_mesh
from gyrod.model import Mesh
from gyrod.model.errors import shown, unknown
from gyrod.motion.distances import BLOCK, cells, radii
from gyrod.motion.motion import Motion
from gyrod.motion.rest import Rest

#: Depth in resolutions that is lost between the frames, at most; and the most frames.
LOST, FRAMES = 0.05, 50_000


@dataclass(frozen=True, eq=False)
class Envelope:
    """The volume that rods have swept: a closed surface of triangles, turned outwards, good to the resolution."""

    #: (n, 3), m; and numbers of vertices, (m, 3).
    vertices: Array
    faces: NDArray[np.int32]
    resolution: float
    #: Frames that it is the union of.
    frames: int

    def __repr__(self) -> str:
        return (
            f"<Envelope: {self.volume:.6g} m³, {len(self.faces)} triangles, {self.frames} frames, "
            f"resolution {self.resolution:g} m>"
        )

    @cached_property
    def volume(self) -> float:
        """m³."""
        return geometry.volume(self.vertices, self.faces)

    @property
    def bounds(self) -> Array:
        """Lowest and highest coordinates, (2, 3), m."""
        return np.array([self.vertices.min(axis=0), self.vertices.max(axis=0)])

    @cached_property
    def mesh(self) -> Mesh:
        """As a solid: for the shape of a body, or for `Motion.distance` of other rods."""
        return Mesh(self.vertices, self.faces)

    def save(self, file: str | PathLike[str]) -> Path:
        """Write an STL (binary), PLY (binary) or OBJ file, in m; return its path."""
        return write_mesh(file, self.vertices, self.faces)


@suggests
def envelope(
    motions: Motion | Rest | Iterable[Motion | Rest],
    rods: str | Sequence[str],
    *,
    resolution: float,
    radius: float | None = None,
) -> Envelope:
    """What rods sweep in one motion or in several, such as the runs of a study.

    Parameters
    ----------
    motions
        A `Motion` or a `Rest`, or several.
    rods
        Name of a rod, or several.
    resolution
        Distance of the points of the grid, in m; details that are finer are lost.
    radius
        Of rods without a section, or in place of it.

    Between the rows of a motion with dense output as many times are taken as it needs to lose a twentieth of the
    resolution at most; of others the rows alone count.
    """
    h = _check.positive("resolution", resolution)
    several = [motions] if isinstance(motions, (Motion, Rest)) else list(motions)
    if not several or not all(isinstance(x, (Motion, Rest)) for x in several):
        raise ValueError(f"motions must be a Motion or several, got {shown(motions)}.")
    names = [rods] if isinstance(rods, str) else list(rods)
    count = [0]

    def frames() -> Iterator[Array]:
        for one in several:
            motion = one.motion if isinstance(one, Rest) else one
            known = motion.compiled.system.rod_names
            for name in names:
                if name not in known:
                    raise ValueError(unknown("rods", name, known, "rods"))
                for block in _frames(motion, name, radius, h):
                    count[0] += len(block)
                    yield block

    try:
        swept = geometry.sweep(frames(), h)
    except geometry.TooFine as error:
        raise ValueError(f"resolution = {h:g} m is too fine: {error}; take {2.0 * h:g} m or more.") from None
    return Envelope(swept.vertices, swept.faces, h, count[0])


def _frames(motion: Motion, name: str, radius: float | None, h: float) -> Iterator[Array]:
    """Curves of a rod, block by block, close enough to each other that no more than a part of the grid is lost."""
    rod = motion.compiled.system.rod(name)
    own = radii(rod, radius)
    if motion.t.ndim == 0:
        yield cells(rod, motion[name].positions[None], own)
        return
    # Circles of radius r at a distance d leave a cusp of d² / 8 r; they must overlap, too.
    apart = min(np.sqrt(8.0 * LOST * h * own.min()), own.min())
    moving = motion
    if motion._dense is not None and len(motion.t) > 1:
        lo, hi = motion._span
        t = motion.t[(motion.t >= lo) & (motion.t <= hi)]
        x = motion[name].positions[(motion.t >= lo) & (motion.t <= hi)]
        for _ in range(8):
            moved = np.linalg.norm(np.diff(x, axis=0), axis=-1).max(axis=1, initial=0.0)
            parts = np.minimum(np.ceil(moved / apart), 64).astype(int)
            if parts.max(initial=1) <= 1 or parts.sum() > FRAMES:
                break
            t = np.unique(np.concatenate([a + (b - a) * np.arange(k + 1) / max(k, 1) for a, b, k in _pairs(t, parts)]))
            moving = motion(t)
            x = moving[name].positions
    positions = moving[name].positions
    for k in range(0, len(positions), BLOCK):
        yield cells(rod, positions[k : k + BLOCK], own)


def _pairs(t: Array, parts: NDArray[np.intp]) -> Iterator[tuple[float, float, int]]:
    return zip(t[:-1].tolist(), t[1:].tolist(), np.maximum(parts, 1).tolist(), strict=True)
