"""Systems as statics needs them: with loads scaled, without what depends on velocities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import is_
from typing import Any

import numpy as np

from gyrod.model import CForce, Drag, Force, RodLoad, System, Tendon, Torque, UserForce
from gyrod.model.forces import ForceLaw

#: Fields of the loads that a factor scales. Springs, supports, obstacles and drag are no loads.
_FIELDS: dict[type[ForceLaw], tuple[str, ...]] = {
    Force: ("force",),
    Torque: ("torque",),
    RodLoad: ("force", "moment"),
    Tendon: ("tension",),
    UserForce: ("function", "derivative"),
}


def scaled(system: System, factor: float, *, forces: bool = True) -> System:
    """The system with gravity and, unless ``forces`` is False, all applied forces times a factor."""
    if factor == 1.0:
        return system
    kept: list[Any] = []
    for force in system.forces:
        fields = _FIELDS.get(type(force), ()) if forces else ()
        if forces and isinstance(force, CForce):
            raise ValueError(f"{force.label} is a C function, which a load factor cannot scale; use a UserForce.")
        changes = {field: _times(getattr(force, field), factor) for field in fields}
        whole: Any = force
        kept.append(replace(whole, **changes) if changes else force)
    gravity = system.gravity_function or system.gravity
    return replace(system, forces=tuple(kept), gravity=_times(gravity, factor))


def undamped(system: System) -> System:
    """The system without damping, friction and drag: they carry nothing at rest, but would enter Newton's matrix."""

    def still(part: Any) -> Any:
        idle = {name: 0.0 for name in ("damping", "friction") if np.any(getattr(part, name, 0.0))}
        return replace(part, **idle) if idle else part

    parts: dict[str, Any] = {
        "rods": tuple(rod if rod.damping is None else replace(rod, damping=None) for rod in system.rods),
        "joints": tuple(map(still, system.joints)),
        "forces": tuple(still(force) for force in system.forces if not isinstance(force, Drag)),
    }
    same = all(
        len(new) == len(old) and all(map(is_, new, old))
        for new, old in ((new, getattr(system, name)) for name, new in parts.items())
    )
    return system if same else replace(system, **parts)


def frictionless(system: System) -> System:
    """The system without dry friction, which has no slope at rest; itself if it has none."""
    if not any(getattr(joint, "friction", 0.0) for joint in system.joints):
        return system
    whole: Any = system.original
    smooth = [replace(joint, friction=0.0) if getattr(joint, "friction", 0.0) else joint for joint in whole.joints]
    return replace(system.original, joints=tuple(smooth))


def _times(value: Any, factor: float) -> Any:
    if value is None:
        return None
    return Times(value, factor) if callable(value) else factor * np.asarray(value, dtype=float)


@dataclass(frozen=True)
class Times:
    """A function times a factor; a class, so that it can be pickled."""

    function: Callable[..., Any]
    factor: float

    def __call__(self, *args: Any) -> Any:
        """The product; of each part of a tuple."""
        value = self.function(*args)
        if isinstance(value, tuple):
            return tuple(self.factor * np.asarray(part, dtype=float) for part in value)
        return self.factor * np.asarray(value, dtype=float)


@dataclass(frozen=True, eq=False)
class Growing:
    """A constant times t."""

    constant: Any

    def __call__(self, t: float) -> Any:
        """The product."""
        return t * self.constant
