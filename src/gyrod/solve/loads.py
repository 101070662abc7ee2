"""Systems as statics needs them: with loads scaled, without what depends on velocities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod.model import System

if TYPE_CHECKING:
    from gyrod._check import Array


def scaled(system: System, factor: float, *, forces: bool = True) -> System:
    """The system with gravity and, unless ``forces`` is False, all applied forces times a factor."""
    if factor == 1.0:
        return system

    def times(value: object) -> Any:
        return Times(value, factor) if callable(value) else factor * np.asarray(value, dtype=float)

    kept = tuple(force.times(times) for force in system.forces) if forces else system.forces
    return replace(system, forces=kept, gravity=times(system.gravity_function or system.gravity))


def undamped(system: System) -> System:
    """The system without damping, friction and drag: they carry nothing at rest, but would enter Newton's matrix."""

    def still(part: Any) -> Any:
        idle = {name: 0.0 for name in ("damping", "friction") if np.any(getattr(part, name, 0.0))}
        return replace(part, **idle) if idle else part

    parts: dict[str, tuple[Any, ...]] = {
        "rods": tuple(rod if rod.damping is None else replace(rod, damping=None) for rod in system.rods),
        "joints": tuple(map(still, system.joints)),
        "forces": tuple(still(force) for force in system.forces if not force.only_damps),
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
    joints: tuple[Any, ...] = system.original.joints
    smooth = [replace(joint, friction=0.0) if getattr(joint, "friction", 0.0) else joint for joint in joints]
    return replace(system.original, joints=tuple(smooth))


@dataclass(frozen=True)
class Times:
    """A function times a factor; a class, so that it can be pickled."""

    function: Callable[..., object]
    factor: float

    def __call__(self, *args: object) -> object:
        """The product; of each part of a tuple."""
        value = self.function(*args)
        if isinstance(value, tuple):
            return tuple(self.factor * np.asarray(part, dtype=float) for part in value)
        return self.factor * np.asarray(value, dtype=float)


@dataclass(frozen=True, eq=False)
class Growing:
    """A constant times t."""

    constant: Array

    def __call__(self, t: float) -> Array:
        """The product."""
        return t * self.constant
