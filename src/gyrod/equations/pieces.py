"""Rods as the core has them: in pieces, where others are joined between their ends.

A rod of the model is cut at the vertices where others are joined, and junctions clamp the ends of its pieces. What
belongs to such a vertex belongs to the piece before it. All others see the whole rod: that there are pieces is known
here alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gyrod import _core
from gyrod._check import Array
from gyrod.equations.rods import measured

if TYPE_CHECKING:
    from gyrod.equations.rods import RodTable
    from gyrod.model import Rod


@dataclass(frozen=True)
class Layout:
    """Where the unknowns of a rod are, as the core's own of a piece: -1 for what is held."""

    p: list[int]
    w: list[int]
    x: list[int]
    v: list[int]


#: Of a rod, or of one in pieces.
RodLayout = _core.RodLayout | Layout


@dataclass(frozen=True)
class Pieces:
    """What the core has in place of the rods of a system."""

    #: For each rod the vertices at which its pieces begin and end, and whether it has elements.
    marks: tuple[tuple[int, ...], ...]
    elements: tuple[bool, ...]
    #: For each piece what the core takes.
    tables: tuple[RodTable, ...]

    @classmethod
    def of(
        cls, rods: Sequence[Rod], tables: Sequence[RodTable], held: Mapping[tuple[str, int], _core.RodEnd]
    ) -> Pieces:
        """Cut rods where their vertices are ``held``, by the name of the rod and the number of the vertex."""
        marks: list[tuple[int, ...]] = []
        found: list[RodTable] = []
        for rod, table in zip(rods, tables, strict=True):
            ends = {n: end for (name, n), end in held.items() if name == rod.name}
            marks.append((0, *sorted(ends), len(rod.lengths)))
            found += [_piece(rod, table, a, b, ends) for a, b in pairwise(marks[-1])] if ends else [table]
        return cls(tuple(marks), tuple(rod.degree is not None for rod in rods), tuple(found))

    def numbers(self, rod: int) -> range:
        """Those of the pieces of a rod."""
        first = sum(len(marks) - 1 for marks in self.marks[:rod])
        return range(first, first + len(self.marks[rod]) - 1)

    def between(self, rod: int) -> list[tuple[int, tuple[int, int]]]:
        """The pieces of a rod, each with the vertices at which it begins and ends."""
        return [*zip(self.numbers(rod), pairwise(self.marks[rod]), strict=True)]

    def gap(self, rod: int, j: int) -> tuple[int, int]:
        """The piece that has what is between two vertices, and which of its own that is."""
        return self._in(rod, j, bisect_left(self.marks[rod], j + 1) - 1)

    def vertex(self, rod: int, n: int) -> tuple[int, int]:
        """The piece that has a vertex, and which of its own that is."""
        return self._in(rod, n, max(bisect_left(self.marks[rod], n) - 1, 0))

    def _in(self, rod: int, n: int, k: int) -> tuple[int, int]:
        return self.numbers(rod)[k], n - self.marks[rod][k]

    def frames(self, rod: int, values: Array) -> list[Array]:
        """What the frames of a rod have, for each of its pieces."""
        return [values[a : b + self.elements[rod]] for a, b in pairwise(self.marks[rod])]

    # --- from pieces to rods ---

    def layouts(self, found: Sequence[_core.RodLayout]) -> list[RodLayout]:
        """Where the unknowns of each rod are, from those of its pieces."""

        def layout(rod: int) -> RodLayout:
            parts = [found[k] for k in self.numbers(rod)]
            if len(parts) == 1:
                return parts[0]
            nodes = self.elements[rod]
            turned = [_listed(x, nodes) for x in ([part.p for part in parts], [part.w for part in parts])]
            moved = [_listed(x, True) for x in ([part.x for part in parts], [part.v for part in parts])]
            return Layout(*turned, *moved)

        return [layout(rod) for rod in range(len(self.marks))]

    def cells(self, found: Sequence[list[int]]) -> list[list[int]]:
        """What the cells of each rod have, from those of its pieces; the first one of a piece has nothing."""
        return [_listed([found[k] for k in self.numbers(rod)], True) for rod in range(len(self.marks))]

    def states(self, found: Sequence[dict[str, Array]]) -> list[dict[str, Array]]:
        """Everything about each rod, from that about its pieces."""
        return [self._state(rod, [found[k] for k in self.numbers(rod)]) for rod in range(len(self.marks))]

    def _state(self, rod: int, parts: list[dict[str, Array]]) -> dict[str, Array]:
        if len(parts) == 1:
            return parts[0]
        elements = self.elements[rod]

        def of(key: str) -> Array:
            values = [part[key] for part in parts]
            if key == "measures":
                return np.asarray(sum(values))
            if key == "reactions":
                return np.concatenate([values[0][:, :6], values[-1][:, 6:]], axis=1)
            shared = key in _AT_VERTICES or (elements and key in _AT_FRAMES)
            if not elements and key in _AT_BENDS:  # of both sides
                for a, b in pairwise(values):
                    a[:, -1] = 0.5 * (a[:, -1] + b[:, 0])
                shared = True
            return np.concatenate([values[0], *(x[:, int(shared) :] for x in values[1:])], axis=1)

        return {key: of(key) for key in parts[0]}


#: Shares of a load: frame, vertex, weight of each component.
_Shares = list[tuple[int, int, Array]]

_AT_VERTICES = ("positions", "velocities", "vertex_quaternions")
_AT_FRAMES = ("quaternions", "Omega", "multipliers")
_AT_BENDS = ("curvature", "moment")


def _listed(parts: Sequence[Sequence[int]], shared: bool) -> list[int]:
    """Lists behind each other, in which the first of one may be the last of the one before."""
    return [*parts[0], *(x for part in parts[1:] for x in part[int(shared) :])]


# --- cutting ---------------------------------------------------------------------------------------------------------

#: Arrays of a rod for the core: between vertices; where frames are; where curvatures are; of vertices.
_GAPS = ("ds", "off", "G0", "CG", "CX", "cG")
_FRAMES = ("J", "lengths", "drag", "spin_drag")
_BENDS = ("CK", "cK", "K0")
_VERTICES = ("mass", "tributary", "foundation")


def _piece(rod: Rod, table: RodTable, a: int, b: int, ends: Mapping[int, _core.RodEnd]) -> RodTable:
    """The arrays of a rod from vertex a to vertex b."""
    elements = rod.degree is not None
    found = dict(table) | {key: np.array(table[key][a:b]) for key in _GAPS}
    found |= {key: np.array(table[key][a : b + elements]) for key in _FRAMES if table[key] is not None}
    found |= {key: np.array(table[key][a : b + (not elements)]) for key in _BENDS}
    for key in _VERTICES:
        if table[key] is not None:
            found[key] = np.array(table[key][a : b + 1])
            found[key][: a > 0] = 0.0
    found["anchor"] = np.array(table["anchor"][a : b + 1])
    outer = (*((-1,) if a not in ends else ()), *((-2,) if b not in ends else ()))
    found["loads"] = [_part_of_load(load, a, b, elements, outer) for load in table["loads"]]
    found["start"], found["end"] = ends.get(a, table["start"]), ends.get(b, table["end"])
    if elements:
        found["lengths"][: a > 0] = 0.0
        return found
    found["span"], found["weight"] = np.array(table["span"][a : b + 1]), np.array(table["weight"][a : b + 1])
    bent = found["K0"] if rod.precurvatures is not None else _bent(rod, found, a, b)
    for n, k in ((a, 0), (b, -1)):
        if n in ends:  # bent against the frame of the junction
            found["span"][k], found["weight"][k], found["K0"][k] = found["ds"][k], 0.5 * found["ds"][k], bent[k]
    return found


def _bent(rod: Rod, table: RodTable, a: int, b: int) -> Array:
    """Curvature of the initial shape of a piece of a grid, against the frames that hold it."""
    frames = [table[side].motion(0.0)[9:13] for side in ("start", "end")]
    clamped = table["start"].clamped, table["end"].clamped
    return measured(table, rod.positions[a : b + 1], rod.quaternions[a:b], frames, clamped)[1]


def _part_of_load(load: _core.RodLoad, a: int, b: int, nodes: bool, outer: tuple[int, ...]) -> _core.RodLoad:
    """Shares of a load on a piece, by its frames; ``outer``: clamps of the rod that it has."""
    mine = range(a + (nodes and a > 0), b + nodes)

    def part(shares: _Shares) -> _Shares:
        return [(j - a if j >= 0 else j, n - a, w) for j, n, w in shares if j in mine or j in outer]

    return load.shared(part(load.force), part(load.moment))
