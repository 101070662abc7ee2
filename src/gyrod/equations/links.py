"""Links between points of rods, bodies and ground for the core: cables, tendons, springs and bushings."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gyrod import _core
from gyrod.equations.rods import node_at
from gyrod.equations.signals import Signals
from gyrod.model import Bushing, Cable, SpringDamper, System, Tendon
from gyrod.model.errors import GROUND, not_negative
from gyrod.model.forces import ForceLaw, Link

if TYPE_CHECKING:
    from gyrod.model.force_checks import LinkPlace

Array = NDArray[np.float64]


def link_ends(force: ForceLaw) -> list[tuple[str, LinkPlace]]:
    """What a link or a tendon touches: names, each with the place on it; nothing of another force."""
    if isinstance(force, Link):
        return [(name, at) for _, name, at in force.ends]
    return [(force.rod, at) for at in force.points] if isinstance(force, Tendon) else []


def links(system: System, index: dict[str, int], axes: Array, signals: Signals) -> list[_core.RodLink]:
    """Cables, tendons, springs and bushings for the core, of those that touch a rod."""
    rods = {name: i for i, name in enumerate(system.rod_names)}

    def point(name: str, at: Any) -> _core.LinkPoint:
        if name in rods:
            (s, offset), rod = at, system.rod(name)
            segment, xi = (node_at(rod, s), 0.0) if rod.mesh.degree else rod.segment_at(s)
            return _core.LinkPoint(rod=rods[name], segment=segment, xi=xi, offset=np.array([*offset, 0.0]))
        x = np.zeros(3) if at is None else np.array(at)
        if name == GROUND:
            return _core.LinkPoint(offset=x)
        return _core.LinkPoint(offset=axes[index[name]].T @ x, body=index[name])

    found: list[_core.RodLink] = []
    for f in system.forces:
        if not f.rods or not (ends := link_ends(f)):
            continue
        points = [point(name, at) for name, at in ends]
        if isinstance(f, Tendon):
            tension = signals.signal(f"{f.label}.tension", f.tension, 1, least=("tension", not_negative))
            found += [_core.RodLink.tendon(a=a, b=b, tension=tension) for a, b in pairwise(points)]
            continue
        a, b = points
        if isinstance(f, Cable):
            found.append(
                _core.RodLink.cable(
                    a=a, b=b, stiffness=f.stiffness, damping=f.damping, length=system.cable_length(f),
                    smoothing=f.smoothing,
                )
            )  # fmt: skip
        elif isinstance(f, SpringDamper):
            length = system.spring_length(f)
            found.append(_core.RodLink.spring(a=a, b=b, stiffness=f.stiffness, damping=f.damping, length=length))
        elif isinstance(f, Bushing):
            A = axes[index[f.a]] if f.a in index else np.eye(3)
            found.append(_core.RodLink.bushing(a=a, b=b, stiffness=f.stiffness, damping=f.damping, axes=A))
    return found
