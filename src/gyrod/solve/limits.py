"""Limits of joints and rods: what ends a run where it is passed, watched by the core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod import _core
from gyrod.equations import Compiled
from gyrod.equations.rods import held_frames
from gyrod.model import ModelError, Rod, System

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
            (name, ((lambda t, y, i=i: float(core.values(t, np.ascontiguousarray(y))[i])), *edge))
            for i, (name, edge) in enumerate(each)
        ]


#: Name, side, joint or rod, and the coordinate there or the name of what is limited.
Edge = tuple[str, int, Any, Any]


def find_limits(compiled: Compiled, rods: bool = True) -> Limits:
    """Limits of the joints and, unless they are left out, of the rods; a start beyond one is refused."""
    system = compiled.system
    joints = [_joint(i, joint) for i, joint in enumerate(system.joints) if getattr(joint, "limits", None)]
    strained = [(rod, i, what) for i, rod in enumerate(system.rods) if rods for what in rod.limits or ()]
    if not joints and not strained:
        return Limits(None, ())
    core = _core.Limits(
        compiled.core, formulation=compiled.formulation, joints=[limit for limit, _ in joints],
        rods=[_rod(system, rod, i, what) for rod, i, what in strained],
    )  # fmt: skip
    edges: list[Edge] = [edge for _, found in joints for edge in found]
    edges += [(f"{what.replace('_', ' ')} of rod {rod.name!r}", 1, rod, what) for rod, _, what in strained]
    problems: list[str] = []
    for passed, (_, side, owner, of) in zip(core.values(0.0, compiled.y0), edges, strict=True):
        if passed * side > 0.0:
            problems.append(_outside(owner, of, float(passed)))
    if problems:
        raise ModelError(problems)
    # Nothing stops a joint that is led: that it passes is reported, and the run goes on.
    ends = tuple((not getattr(owner, "driven", False), side) for _, side, owner, _ in edges)
    return Limits(core, tuple(edge[0] for edge in edges), ends)


def _joint(number: int, joint: Any) -> tuple[_core.JointLimit, list[Edge]]:
    """A joint's limits for the core, and its edges: name, side, joint, place."""
    # A joint may start at its limit: what leaves by less than the slack has not left.
    places = [
        side * np.inf if x is None else float(x) + side * SLACK for side, x in zip((-1, 1), joint.limits, strict=True)
    ]
    edges: list[Edge] = [
        (f"{word} limit of {joint.label}", side, joint, place)
        for word, side, place in zip(("lower", "upper"), (-1, 1), places, strict=True)
        if np.isfinite(place)
    ]
    limit = _core.JointLimit(joint=number, lower=places[0], upper=places[1], ends=not joint.driven)
    return limit, edges


def _outside(owner: Any, of: Any, passed: float) -> str:
    if isinstance(owner, Rod):
        assert owner.limits is not None
        return f"Rod {owner.name!r}: limits[{of!r}] = {owner.limits[of]:g} does not hold at the start."
    return (
        f"{owner.label}: limits = {owner.limits} do not hold its {owner.coordinate_names[0]} at the start, "
        f"{of + passed:.6g}; coordinates count from the start unless both at_a, at_b or axis_a, axis_b are given."
    )


def _rod(system: System, rod: Rod, number: int, what: str) -> _core.RodLimit:
    """A rod's limit for the core, with what its sections and, of elements, its ends need."""
    assert rod.limits is not None
    mesh, none = rod.mesh, np.zeros((0, 0))
    s, weights, compliance = mesh.curvatures, [np.zeros(0)] * 2, [none, none]
    if mesh.degree:
        s = np.concatenate([[0.0], s, [1.0]])
        weights = [np.ascontiguousarray(row) for row in mesh.curvature_at([0.0, 1.0])[1]]
        if any(held_frames(rod, system)):
            compliance = [np.ascontiguousarray(np.linalg.inv(C)[3:]) for C in rod.stiffness_at([0.0, 1.0])]
    factors, round_ = None, False
    if what == "stress":
        assert rod.section is not None
        factors, round_ = rod.section.stress_factors(s), rod.section.round
    return _core.RodLimit(
        rod=number, allowed=float(rod.limits[what]), factors=factors, round=round_,
        weights=(weights[0], weights[1]), compliance=(compliance[0], compliance[1]),
    )  # fmt: skip
