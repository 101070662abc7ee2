"""Limits of joints and rods: what ends a run where it is passed, watched by the core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gyrod import _core
from gyrod.equations import Compiled
from gyrod.equations.rods import held_frames
from gyrod.model import Helical, ModelError, Prismatic, Revolute, Rod, System

if TYPE_CHECKING:
    from gyrod.solve.methods import Watched

#: Rad or m by which a coordinate passes its limit before the run ends.
SLACK = 1e-9


@dataclass(frozen=True)
class Limits:
    """Limits of a compiled system: the core's object, None where there are none, and a name for each edge."""

    core: _core.Limits | None
    names: tuple[str, ...]
    #: Of each edge: whether the run ends there, and +1 where it is passed upwards, -1 downwards.
    edges: tuple[tuple[bool, int], ...] = ()

    def __bool__(self) -> bool:
        return self.core is not None

    def events(self) -> list[tuple[str, Watched]]:
        """The same as event functions of time and unknowns, for runs outside of the core: (name, event)."""
        core = self.core
        if core is None:
            return []
        each = zip(self.names, self.edges, strict=True)
        return [
            (name, ((lambda t, y, i=i: float(core.values(t, np.ascontiguousarray(y))[i])), *edge, None))
            for i, (name, edge) in enumerate(each)
        ]


#: Joints that may have limits.
Limited = Revolute | Prismatic | Helical


class Edge(NamedTuple):
    """One side of a limit."""

    name: str
    #: +1 where it is passed upwards, -1 downwards.
    side: int
    #: Whether the run ends there: nothing stops a joint that is led, and the run goes on.
    ends: bool
    #: What is said of a start that is so far beyond.
    outside: Callable[[float], str]


def find_limits(compiled: Compiled, rods: bool = True) -> Limits:
    """Limits of the joints and, unless they are left out, of the rods; a start beyond one is refused."""
    system = compiled.system
    joints = [_joint(i, x) for i, x in enumerate(system.joints) if isinstance(x, Limited) and x.limits]
    strained = [
        (rod, piece, marks, what)
        for i, rod in enumerate(system.rods)
        if rods
        for what in rod.limits or ()
        for piece, marks in compiled.pieces.between(i)
    ]
    if not joints and not strained:
        return Limits(None, ())
    core = _core.Limits(
        compiled.core, formulation=compiled.formulation, joints=[limit for limit, _ in joints],
        rods=[_rod(system, rod, piece, marks, what) for rod, piece, marks, what in strained],
    )  # fmt: skip
    edges = [edge for _, found in joints for edge in found]
    edges += [_strained(rod, what) for rod, *_, what in strained]
    values = core.values(0.0, compiled.y0)
    problems = [e.outside(float(x)) for x, e in zip(values, edges, strict=True) if x * e.side > 0.0]
    if problems:
        raise ModelError(problems)
    return Limits(core, tuple(edge.name for edge in edges), tuple((edge.ends, edge.side) for edge in edges))


def _joint(number: int, joint: Limited) -> tuple[_core.JointLimit, list[Edge]]:
    """A joint's limits for the core, and its edges."""
    assert joint.limits is not None

    def outside(place: float, passed: float) -> str:
        return (
            f"{joint.label}: limits = {joint.limits} do not hold its {joint.coordinate_names[0]} at the start, "
            f"{place + passed:.6g}; coordinates count from the start unless both at_a, at_b or axis_a, axis_b are "
            "given."
        )

    # A joint may start at its limit: what leaves by less than the slack has not left.
    places = [
        side * np.inf if x is None else float(x) + side * SLACK for side, x in zip((-1, 1), joint.limits, strict=True)
    ]
    edges = [
        Edge(f"{word} limit of {joint.label}", side, not joint.driven, partial(outside, place))
        for word, side, place in zip(("lower", "upper"), (-1, 1), places, strict=True)
        if np.isfinite(place)
    ]
    limit = _core.JointLimit(joint=number, lower=places[0], upper=places[1], ends=not joint.driven)
    return limit, edges


def _strained(rod: Rod, what: str) -> Edge:
    assert rod.limits is not None
    limit = rod.limits[what]

    def outside(passed: float) -> str:
        found = limit * (1.0 + passed) if what == "stress" else limit / (1.0 + passed)
        return f"Rod {rod.name!r}: limits[{what!r}] = {limit:g} does not hold at the start, where it is {found:.3g}."

    return Edge(f"{what.replace('_', ' ')} of rod {rod.name!r}", 1, True, outside)


def _rod(system: System, rod: Rod, piece: int, marks: tuple[int, int], what: str) -> _core.RodLimit:
    """The limit of a piece of a rod for the core, with what its sections and, of elements, its ends need."""
    assert rod.limits is not None
    mesh, none, (a, b) = rod.mesh, np.zeros((0, 0)), marks
    s, weights, compliance = mesh.curvatures[a : b + (not mesh.degree)], [np.zeros(0)] * 2, [none, none]
    if mesh.degree:
        s = np.concatenate([mesh.vertices[[a]], s, mesh.vertices[[b]]])
        weights = [np.ascontiguousarray(row) for row in mesh.curvature_at([0.0, 1.0])[1]]
        if any(held_frames(rod, system)) or b - a < len(rod.lengths):
            compliance = [np.ascontiguousarray(np.linalg.inv(C)[3:]) for C in rod.stiffness_at(s[[0, -1]])]
    factors, round_ = None, False
    if what == "stress":
        assert rod.section is not None
        factors, round_ = rod.section.stress_factors(s), rod.section.round
    return _core.RodLimit(
        rod=piece, allowed=float(rod.limits[what]), factors=factors, round=round_,
        weights=(weights[0], weights[1]), compliance=(compliance[0], compliance[1]),
    )  # fmt: skip
