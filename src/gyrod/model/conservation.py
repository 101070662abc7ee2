"""Whether anything in a model takes or gives energy; what is not certain counts as if it did."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from gyrod.model.forces import ForceLaw
from gyrod.model.system import System


def conservative(system: System, *, touching: bool = True) -> bool:
    """Whether nothing in a system takes or gives energy: no damping, no drives, only forces with a potential.

    ``touching``: its contacts are asked too.
    """
    if touching and _rubs(system):
        return False
    for thing in (*system.joints, *system.forces, *system.rods):
        if any(acts(getattr(thing, name, None)) for name in ("damping", "drive", "friction", "rates")):
            return False
    ends = [end for rod in system.rods for end in (rod.start, rod.end)]
    led = any(callable(getattr(end, name, None)) for end in ends for name in ("at", "frame"))
    led = led or any(callable(rod.rest_stretch) for rod in system.rods)
    return system.gravity_function is None and not led and all(map(_has_potential, system.forces))


def flowing(system: System) -> bool:
    """Whether energy can flow into rods or out of them, as by damping, loads without potential, ends that move."""
    return bool(system.rods) and (bool(system.rod_ends) or system.linked or not conservative(system))


def _rubs(system: System) -> bool:
    """Whether contacts take energy."""
    return any(acts(x.damping) or acts(x.friction) or x.restitution not in (None, 1.0) for x in system.contacts)


def _has_potential(force: ForceLaw) -> bool:
    led = any(callable(getattr(force, field.name)) for field in fields(force))  # type: ignore[arg-type]
    return force.has_potential and not led


def acts(value: object) -> bool:
    """Whether a damping, a drive or the like is there and not zero; a function counts as if it was not."""
    if value is None or value is False:
        return False
    try:
        return bool(np.any(np.asarray(value, dtype=float)))
    except (TypeError, ValueError):
        return True
