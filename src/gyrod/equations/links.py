"""Links between points of rods, bodies and ground for the core: cables, tendons, springs and bushings."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gyrod import _core
from gyrod._check import Array
from gyrod.equations.signals import Signals
from gyrod.model import Bushing, Clip, System, Tendon
from gyrod.model.errors import GROUND, not_negative
from gyrod.model.forces import ForceLaw, Link

if TYPE_CHECKING:
    from gyrod.equations.pieces import Pieces
    from gyrod.model.force_checks import LinkPlace


def link_ends(force: ForceLaw) -> list[tuple[str, LinkPlace]]:
    """What a link or a tendon touches: names, each with the place on it; nothing of another force."""
    if isinstance(force, Link):
        return [(name, at) for _, name, at in force.ends]
    if isinstance(force, Clip):
        return [(force.to, force.point), (force.rod, force.at)]
    return [(force.rod, at) for at in force.points] if isinstance(force, Tendon) else []


def line_numbers(link: Link, law: str, system: System) -> dict[str, float]:
    """Numbers of the law of a link; a length that is not given is that at the start."""
    numbers = {name: getattr(link, name) for name in _core.line_laws()[law]}
    if "length" in numbers and numbers["length"] is None:
        numbers["length"] = math.dist(*system.link_points(link))
    return numbers


def links(system: System, pieces: Pieces, index: dict[str, int], axes: Array, signals: Signals) -> list[_core.RodLink]:
    """Cables, tendons, springs and bushings for the core, of those that touch a rod."""
    rods = {name: i for i, name in enumerate(system.rod_names)}

    def point(name: str, at: Any) -> _core.LinkPoint:
        if name in rods:
            (s, offset), rod = at, system.rod(name)
            j, xi = (rod.mesh.nearest(s), 0.0) if rod.mesh.degree else rod.segment_at(s)
            piece, segment = (pieces.vertex if rod.mesh.degree else pieces.gap)(rods[name], j)
            return _core.LinkPoint(rod=piece, segment=segment, xi=xi, offset=np.array([*offset, 0.0][:3]))
        x = np.zeros(3) if at is None else np.array(at)
        if name == GROUND:
            return _core.LinkPoint(offset=x)
        return _core.LinkPoint(offset=axes[index[name]].T @ x, body=index[name])

    found: list[_core.RodLink] = []
    for f in system.forces:
        if not f.rods or not (ends := link_ends(f)):
            continue
        if isinstance(f, Clip):
            found += _clip(f, system, pieces, point, axes[index[f.to]] if f.to in index else np.eye(3))
            continue
        points = [point(name, at) for name, at in ends]
        if isinstance(f, Tendon):
            tension = signals.signal(f"{f.label}.tension", f.tension, 1, least=("tension", not_negative))
            found += [_core.RodLink.tendon(a=a, b=b, tension=tension) for a, b in pairwise(points)]
            continue
        a, b = points
        if isinstance(f, Link) and f.law is not None:
            found.append(_core.RodLink.line(law=f.law, numbers=line_numbers(f, f.law, system), a=a, b=b))
        elif isinstance(f, Bushing):
            A = axes[index[f.a]] if f.a in index else np.eye(3)
            found.append(_core.RodLink.bushing(a=a, b=b, stiffness=f.stiffness, damping=f.damping, axes=A))
    return found


#: A sleeve is so many rings in a row: of a moment at one end a fiftieth bends the rod behind the other one.
RINGS = 4


def sliding(system: System) -> list[tuple[Clip, float]]:
    """Clips through which a rod slides, and where along its axis, m: the rings of the core."""
    return [(clip, offset) for clip in system.clips if clip.slides for offset in ring_offsets(clip)]


def ring_offsets(clip: Clip) -> tuple[float, ...]:
    """Places of the rings of a clip along its axis, m."""
    return (0.0,) if clip.length is None else tuple(clip.length * (k / (RINGS - 1) - 0.5) for k in range(RINGS))


def ring_stiffness(clip: Clip, system: System) -> float:
    """Of each ring of a clip, N/m."""
    rod = system.rod(clip.rod)
    return float(clip.stiffnesses(rod.stiffness_at([clip.at])[0], rod.length)[0][0]) / len(ring_offsets(clip))


def _clip(
    clip: Clip, system: System, pieces: Pieces, point: Callable[[str, Any], _core.LinkPoint], axes: Array
) -> list[_core.RodLink]:
    """A clip as bushings between points on the axes of its frame and on those of the section, or as rings."""
    place, F = system.clip_place(clip)

    def at(offset: Array) -> _core.LinkPoint:
        on_rod = isinstance(place, tuple)
        return point(clip.to, (place[0], place[1] + F @ offset) if on_rod else place + F @ offset)

    if clip.slides:
        rod = system.rod(clip.rod)
        given = {"mesh": rod.mesh.vertices.tolist(), "stiffness": ring_stiffness(clip, system), "name": clip.label}
        return [
            _core.RodLink.ring(
                a=at(np.array([0.0, 0.0, offset])), rod=pieces.numbers(system.rod_names.index(clip.rod))[0],
                at=clip.at + offset / rod.length, smooth=clip.kind == "sleeve", **given,
            )
            for offset in ring_offsets(clip)
        ]  # fmt: skip
    return [
        _core.RodLink.bushing(
            a=at(spring.offset), b=point(clip.rod, (clip.at, spring.offset)), stiffness=spring.k, damping=spring.c,
            axes=F.T @ axes,
        )
        for spring in clip_springs(clip, system)
    ]  # fmt: skip


class ClipSpring(NamedTuple):
    """A bushing of a clip between points at an offset along d1, d2, d3, in the clip and in the section."""

    #: (3,) each: m, N/m, N s/m.
    offset: Array
    k: Array
    c: Array


def clip_springs(clip: Clip, system: System) -> list[ClipSpring]:
    """What a clip is made of.

    Two of stiffness k at a distance r on both sides along an axis d pull d to its place with k r² |d - D|², and the
    point with 2 k; what the latter is too much or too little, a bushing at the point itself makes up for.
    """
    rod = system.rod(clip.rod)
    K, bend, twist = clip.stiffnesses(rod.stiffness_at([clip.at])[0], rod.length)
    holds = np.array([0.5 * twist, 0.5 * twist, bend - 0.5 * twist])
    if clip.kind == "fixed" and clip.rotational is None:  # as rigid by two axes as by three
        holds = np.array([bend, bend, 0.0])
    total = float(np.abs(holds).sum())
    reach = np.sqrt(total / K.max()) if total and K.max() else 1.0
    none, found = np.zeros(3), []
    for axis, c in zip(reach * np.eye(3), holds.tolist(), strict=True):
        each = np.full(3, 0.5 * c / reach**2)
        found += [ClipSpring(way, each, none) for way in ((axis, -axis) if c else ())]
    rest = K - holds.sum() / reach**2
    if np.abs(rest).max() > 1e-12 * K.max(initial=0.0) or clip.damping.any():
        found.append(ClipSpring(none, rest, clip.damping))
    return found
