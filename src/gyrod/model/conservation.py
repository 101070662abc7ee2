"""Whether anything in a model takes or gives energy; what cannot be told for sure counts as if it did."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from gyrod.model.elements import Cable, Foundation, PointMass
from gyrod.model.forces import Bushing, Force, ForceLaw, RodLoad, SpringDamper
from gyrod.model.system import System

#: Forces that have an energy, where they do not dissipate and do not depend on time.
WITH_POTENTIAL = (SpringDamper, Bushing, PointMass, Foundation, Cable)


def conservative(system: System) -> bool:
    """Whether nothing in a system takes or gives energy: no damping, no drives, only forces with a potential."""
    for thing in (*system.joints, *system.forces, *system.rods):
        if any(acts(getattr(thing, name, None)) for name in ("damping", "drive", "friction", "rates")):
            return False
    ends = [end for rod in system.rods for end in (rod.start, rod.end)]
    led = any(callable(getattr(end, name, None)) for end in ends for name in ("at", "frame"))
    led = led or any(callable(rod.rest_stretch) for rod in system.rods)
    return system.gravity_function is None and not led and all(map(_has_potential, system.forces))


def flowing(system: System) -> bool:
    """Whether energy can flow into rods or out of them, as by damping, loads without potential, ends that move."""
    return bool(system.rods) and (bool(system.rod_ends) or not conservative(system))


def _has_potential(force: ForceLaw) -> bool:
    if any(callable(getattr(force, field.name)) for field in fields(force)):  # type: ignore[arg-type]
        return False
    if isinstance(force, Force):
        return force.frame == "space"
    if isinstance(force, RodLoad):
        return not force.follow and force.moment is None
    return isinstance(force, WITH_POTENTIAL)


def acts(value: Any) -> bool:
    """Whether a damping, a drive or the like is there and not zero; a function counts as if it was not."""
    if value is None or value is False:
        return False
    try:
        return bool(np.any(np.asarray(value, dtype=float)))
    except (TypeError, ValueError):
        return True
