"""Where something sets in on a rod of elements, elements end, or their order would be lost.

Where another rod is joined, segments of a grid end, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gyrod.model.clips import Clip
from gyrod.model.errors import ModelError, Problems
from gyrod.model.forces import ForceLaw
from gyrod.model.meshes import NEAREST_ENDS
from gyrod.model.rods import Rod

if TYPE_CHECKING:
    from gyrod.model.system import System

#: Distance of a clip from where its rod lies that a note reports, over the length.
FAR = 1e-4
#: Places of one cause that a note lists.
MOST_TOLD = 4
#: What else there may be, in a rod without and with others that are joined to it.
_BESIDE = ("what was there", "cells between them")


def split(rods: Sequence[Rod], forces: Sequence[ForceLaw], problems: Problems) -> tuple[Rod, ...]:
    """The same rods, those of elements with ends where something sets in, all where others are joined."""
    joints = _joints(rods)
    if all(rod.degree is None and rod.name not in joints and not rod._extra for rod in rods):
        return tuple(rods)
    found = []
    for rod in rods:
        try:
            places = [s for s, _ in _causes(rod, forces, joints)]
            found.append(rod._split([*places, *_between(rod._split(places), joints.get(rod.name, ()), rods)]))
        except ModelError as error:
            found.append(rod)
            problems.sentences += error.problems
    return tuple(found)


def notes(system: System) -> tuple[str, ...]:
    """A sentence for each rod that has other elements than were asked for."""
    joints = _joints(system.rods)
    told = [
        _note(rod, [*_causes(rod, system.forces, joints)], _BESIDE[rod.name in joints])
        for rod in system.rods
        if rod._extra
    ]
    told += [_drawn(system, force) for force in system.forces if isinstance(force, Clip)]
    return tuple(filter(None, told))


def _drawn(system: System, clip: Clip) -> str:
    """A sentence about a clip that holds its rod elsewhere than it lies at the start."""
    rod = system.rod(clip.rod)
    if clip.point is None or isinstance(clip.point, float):
        return ""
    at = system.point(clip.to, clip.point)
    if clip.slides:  # between vertices it may be nearer
        gap = min(math.dist(at, x) for x in rod.positions) - 0.5 * float(rod.lengths.max())
    else:
        gap = math.dist(at, rod.point(clip.at))
    if gap <= FAR * rod.length:
        return ""
    return (
        f"{clip.label} holds rod {rod.name!r} {gap:.3g} m away from where it lies at the start: an equilibrium draws "
        "it there, a motion begins with a jerk."
    )


def _between(rod: Rod, joints: Sequence[tuple[float, str]], rods: Sequence[Rod]) -> Iterator[float]:
    """More ends, where there are too few cells between places at which others are joined."""
    marks = sorted({0.0, 1.0, *(s for s, _ in joints)}) if joints else ()
    ends, fewest = rod.mesh.ends, 3 if rod.degree is None else 2
    held = any(end.body == rod.name and not isinstance(end.at, float) for x in rods for end in (x.start, x.end))
    for a, b in pairwise(marks):
        outer = (a == 0.0 and not rod.start.attached) or (b == 1.0 and not rod.end.attached)
        least = fewest - (outer and not held)
        if np.count_nonzero((ends > a - NEAREST_ENDS) & (ends < b + NEAREST_ENDS)) <= least:
            yield from (a + (b - a) * k / least for k in range(1, least))


def _joints(rods: Sequence[Rod]) -> dict[str, list[tuple[float, str]]]:
    """Where ends of rods are joined between the ends of others, by the names of these, and what it is."""
    found: dict[str, list[tuple[float, str]]] = {}
    for rod in rods:
        for side, end in (("start", rod.start), ("end", rod.end)):
            if isinstance(end.at, float):
                found.setdefault(end.body, []).append((end.at, f"the {side} of {rod.name!r}"))
    return found


def _causes(
    rod: Rod, forces: Sequence[ForceLaw], joints: dict[str, list[tuple[float, str]]]
) -> Iterator[tuple[float, str]]:
    """Fractions at which something sets in, and what it is."""
    yield from joints.get(rod.name, ())
    if rod.degree is None:
        return
    for field, places in rod.jumps.items():
        yield from ((s, f"a jump of {field}") for s in places)
    for force in forces:
        yield from ((float(s), force.label) for name, s in force.places if name == rod.name)


def _note(rod: Rod, causes: list[tuple[float, str]], beside: str) -> str:
    causes = sorted(causes, key=lambda cause: cause[0])
    told: dict[str, list[str]] = {}
    for s in rod._extra:
        what = next((what for at, what in causes if abs(at - s) < NEAREST_ENDS), beside)
        told.setdefault(what, []).append(f"{s:.6g}")
    parts = [f"s = {_listed(places)} for {what}" for what, places in told.items()]
    cell = "a segment" if rod.degree is None else "an element"
    cells = cell.split()[1] + "s"
    ends = f"{cell} end" if len(rod._extra) == 1 else f"{cells[:-1]} ends"
    count = f"{rod.mesh.cells} {cells} in place of {rod.segments}"
    if rod.mesh.cells == rod.segments:
        count = f"{rod.segments} {cells}, not of one length"
    return f"Rod {rod.name!r} has {ends} at {_listed(parts)}: {count}."


def _listed(texts: list[str]) -> str:
    if len(texts) > MOST_TOLD:
        texts = [*texts[: MOST_TOLD - 1], f"{len(texts) - MOST_TOLD + 1} more"]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
