"""Systems with their loads scaled, for statics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gyrod.model import CForce, Force, RodLoad, System, Tendon, Torque, UserForce
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


def _times(value: Any, factor: float) -> Any:
    if value is None:
        return None
    return _function(value, factor) if callable(value) else factor * np.asarray(value, dtype=float)


def _function(function: Callable[..., Any], factor: float) -> Callable[..., Any]:
    def times(*args: Any) -> Any:
        value = function(*args)
        if isinstance(value, tuple):
            return tuple(factor * np.asarray(part, dtype=float) for part in value)
        return factor * np.asarray(value, dtype=float)

    return times
