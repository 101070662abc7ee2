"""Rods as curves: where they are drawn, and what is known there.

A staggered grid is drawn from vertex to vertex. An element is a polynomial, of which its few nodes show little: it is
drawn in several pieces, through the nodes. Section quantities of elements are known best at the Gauss points. Inside
an element the polynomial through them is drawn, and from its last one to the first of the next element a line: what the
polynomials of neighbours, drawn to the end, would differ by is not a jump in the rod.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod._check import Array
from gyrod.model import Rod
from gyrod.model.meshes import Elements, apply, apply_frames
from gyrod.quantities import ROD

if TYPE_CHECKING:
    from gyrod.motion import RodTrack

#: Rows and weights of an interpolation.
Mix = tuple[NDArray[np.intp], Array]

#: Pieces of which a drawn element consists, about; and in pictures, where bends are seen that tubes hide.
PIECES, FINE = 8, 16


class Curve:
    """A rod as it is drawn: at fractions ``s`` of its length, (D,), through all vertices.

    Everything is read from a `RodTrack`, with or without a time axis.
    """

    def __init__(self, rod: Rod, pieces: int = PIECES) -> None:
        self.rod, self.mesh = rod, rod.mesh
        #: The elements, None of a staggered grid.
        self._elements = self.mesh if isinstance(self.mesh, Elements) else None
        self.s: Array = self.mesh.vertices if self._elements is None else _stations(self._elements, pieces)

    # --- at the stations ---

    @cached_property
    def _nodes(self) -> Mix:
        return self.mesh.vertex_at(self.s)

    @cached_property
    def _points(self) -> Mix:
        assert self._elements is not None
        return _between(self._elements, self.s)

    def vertices(self, values: Array) -> Array:
        """What is known at the vertices, (..., V, c), as (..., D, c)."""
        return values if self._elements is None else apply(*self._nodes, values)

    def frames(self, track: RodTrack) -> Array:
        """Unit quaternions, (..., D, 4)."""
        known: Array = track.vertex_quaternions
        return known if self._elements is None else apply_frames(*self._nodes, known)

    def sections(self, values: Array) -> Array:
        """What is known where strains or where curvatures are, (..., n, c), as (..., D, c).

        On a grid the value of a vertex lies between those of the segments beside it; at an end it is that of the last.
        """
        if self._elements is not None:
            return apply(*self._points, values)
        if values.shape[-2] == len(self.s):
            return values
        middle = 0.5 * (values[..., 1:, :] + values[..., :-1, :])
        return np.concatenate([values[..., :1, :], middle, values[..., -1:, :]], axis=-2)

    def held(self, track: RodTrack, field: str) -> Array:
        """A section quantity, (..., D, c); at held ends of elements that of what holds them."""
        values = self.sections(getattr(track, field))
        if self._elements is not None and ROD[field].ends:
            values[..., [0, -1], :] = self._known(track)[field]
        return values

    @staticmethod
    def _known(track: RodTrack) -> dict[str, Array]:
        """What is known at both ends of elements, (..., 2, 3), which no polynomial inside reaches."""
        return dict(zip(("force", "moment", "curvature"), track._end_sections, strict=True))

    def stress(self, track: RodTrack) -> Array:
        """Largest axial stress of the sections, Pa, (..., D)."""
        return self._stress(self.held(track, "force"), self.held(track, "moment"), self.s)

    def _stress(self, force: Array, moment: Array, s: Array) -> Array:
        if self.rod.section is None:
            raise ValueError(f"rod {self.rod.name!r} has no section, so its stress is not known.")
        return np.asarray(self.rod.section.stress(force, moment, s=s))

    # --- between the stations ---

    def pieces(self, track: RodTrack, field: str, reduce: Callable[[Array], Array]) -> Array:
        """A number from the components of a field, for each piece between two stations, (..., D - 1)."""
        values: Array = getattr(track, field)
        if self._elements is not None:
            middle = 0.5 * (self.s[1:] + self.s[:-1])
            of_vertices = field in ("positions", "velocities")
            mix = self.mesh.vertex_at(middle) if of_vertices else _between(self._elements, middle)
            return reduce(apply(*mix, values))
        found = reduce(values)
        return found if found.shape[-1] == len(self.s) - 1 else np.asarray(0.5 * (found[..., 1:] + found[..., :-1]))

    # --- at any place ---

    def point(self, track: RodTrack, s: float) -> Array:
        """The point at a fraction s, (..., 3)."""
        return np.asarray(apply(*self.mesh.vertex_at([s]), track.positions)[..., 0, :])

    def frame(self, track: RodTrack, s: float) -> Array:
        """The frame at a fraction s, of a grid that of the segment, (..., 4)."""
        if self._elements is None:
            return np.asarray(track.quaternions[..., self.rod.segment_at(s)[0], :])
        return np.asarray(apply_frames(*self.mesh.frame_at([s]), track.quaternions)[..., 0, :])

    # --- section quantities over the arc length ---

    def profile(self, track: RodTrack, field: str) -> tuple[Array, Array]:
        """Arc lengths in m, (m,), at which a section quantity or the "stress" is drawn, and it there, (..., m, c).

        On a grid where it is known. Of elements from the first to the last Gauss point of each, and at both ends.
        """
        mesh, rod = self._elements, self.rod
        if mesh is None:
            if field == "stress":
                return rod.vertices, self.stress(track)[..., None]
            values: Array = getattr(track, field)
            middles = 0.5 * (rod.vertices[1:] + rod.vertices[:-1])
            return (rod.vertices if values.shape[-2] == len(self.s) else middles), values
        s = self._profile
        at = _between(mesh, s)
        known = self._known(track)

        def drawn(name: str) -> Array:
            values = apply(*at, getattr(track, name))
            if name in known:
                values[..., [0, -1], :] = known[name]
            return values

        if field != "stress":
            return rod.length * s, drawn(field)
        return rod.length * s, self._stress(drawn("force"), drawn("moment"), s)[..., None]

    @cached_property
    def _profile(self) -> Array:
        mesh = self._elements
        assert mesh is not None
        pieces = np.tile([*[PIECES // 2] * (mesh.degree - 1), 1], mesh.cells)[:-1]
        return np.concatenate([[0.0], _refined(mesh.strains, pieces), [1.0]])


def _stations(mesh: Elements, pieces: int) -> Array:
    """The nodes, and between them equal pieces, about so many an element."""
    shares = np.rint(0.5 * pieces * np.diff(mesh.rule.nodes)).astype(int)
    return _refined(mesh.vertices, np.tile(shares, mesh.cells))


def _refined(x: Array, pieces: NDArray[np.intp]) -> Array:
    """Increasing points, with the gaps between them cut in so many equal pieces each."""
    first = np.repeat(np.cumsum(pieces) - pieces, pieces)
    share = (np.arange(len(first)) - first) / np.repeat(pieces, pieces)
    return np.append(np.repeat(x[:-1], pieces) + np.repeat(np.diff(x), pieces) * share, x[-1])


def _between(mesh: Elements, s: ArrayLike) -> Mix:
    """Rows and weights of a section quantity: polynomials of the Gauss points, lines from one element to the next."""
    at, g, p = np.array(s, dtype=float, ndmin=1), mesh.strains, mesh.degree
    rows, weights = mesh.strain_at(at)
    after = np.searchsorted(g, at)
    line = (after % p == 0) & (after > 0) & (after < len(g))
    right = after[line]
    share = (at[line] - g[right - 1]) / (g[right] - g[right - 1])
    rows[line] = right[:, None]
    rows[line, 0] = right - 1
    weights[line] = 0.0
    weights[line, 0], weights[line, 1] = 1.0 - share, share
    return rows, weights
