"""What the parameter of a path does to a system."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gyrod import _check
from gyrod._check import Array
from gyrod.model import System
from gyrod.motion import Rest
from gyrod.solve.loads import Growing, scaled
from gyrod.solve.statics import Statics, prepare

if TYPE_CHECKING:
    from gyrod.equations import Compiled

PARAMETERS = ("time", "load", "gravity")
#: Factor of the shift: along motions without stiffness, as a buckled round column has one, rounding is amplified less.
STIFFEN = 10.0


class Family(ABC):
    """Systems along a parameter: ``at`` gives the equations for a value and the time to ask them at."""

    #: The compiled system where one does for all values, with the value as time.
    whole: Compiled | None = None
    #: Whether forces are linear in the parameter.
    linear: bool = False

    @abstractmethod
    def at(self, value: float) -> tuple[Statics, float]:
        """Equations and time."""

    @abstractmethod
    def system(self, value: float) -> tuple[System, float]:
        """The system that is at rest at this value, and the time of its functions."""

    @abstractmethod
    def portable(self, values: Array) -> Family:
        """One that can be pickled and covers these values."""

    def rest(self, value: float, y: Array, unstable: int, history: Array, method: str) -> Rest:
        """An equilibrium, of the system as it is at this value."""
        system, t = self.system(value)
        statics, _ = self.at(value)
        if statics.compiled.system is not system:
            statics = prepare(system)
        return Rest(statics.motion(y, t), unstable, method, history)


def _prepared(system: System) -> Statics:
    """Statics with a larger shift: free motions are followed for long."""
    found = prepare(system)
    return replace(found, shift=STIFFEN * found.shift)


class Timed(Family):
    """One system whose time is the parameter; ``then`` makes the one that is at rest at a value, if it is another."""

    def __init__(self, system: System, then: Callable[[float], System] | None = None) -> None:
        self._given, self._then = system, then
        self._statics = _prepared(system)
        self.whole, self.linear = self._statics.compiled, then is not None

    def __reduce__(self) -> tuple[object, ...]:
        return Timed, (self._given, self._then)

    def portable(self, values: Array) -> Family:  # noqa: ARG002
        """Itself: it can be pickled as it is."""
        return self

    def at(self, value: float) -> tuple[Statics, float]:
        """Equations and time."""
        return self._statics, value

    def system(self, value: float) -> tuple[System, float]:
        """The system that is at rest at this value, and the time of its functions."""
        return (self._given, value) if self._then is None else (self._then(value), 0.0)


class Made(Family):
    """A system for each value, compiled anew; ``kept`` are values that are used again and again."""

    def __init__(self, name: str, make: Callable[[float], System], kept: tuple[float, ...] = ()) -> None:
        self._name, self._make, self._kept = name, make, kept
        self._recent: dict[float, Statics] = {}
        self._first: Statics | None = None
        self.linear = bool(kept)

    def __reduce__(self) -> tuple[object, ...]:
        return Made, (self._name, self._make, self._kept)

    def portable(self, values: Array) -> Family:
        """One that can be pickled and covers these values."""
        if isinstance(self._make, partial):  # of loads
            return self
        return Made(self._name, Listed({float(v): self._make(float(v)) for v in values}))

    def at(self, value: float) -> tuple[Statics, float]:
        """Equations and time."""
        if value not in self._recent:
            found = _prepared(self.system(value)[0])
            self._first = first = self._first or found
            if found.compiled.kinds != first.compiled.kinds:
                raise ValueError(
                    f"{self._name}({value:g}) returns a system with {found.compiled.size} unknowns, before it were "
                    f"{first.compiled.size}; bodies, joints, rods, segments and kinds of ends must stay the same."
                )
            if len(self._recent) > 7:
                del self._recent[next(v for v in self._recent if v not in self._kept)]
            # One length for all: sizes along the path are compared.
            self._recent[value] = replace(found, scale=first.scale)
        return self._recent[value], 0.0

    def system(self, value: float) -> tuple[System, float]:
        """The system that is at rest at this value, and the time of its functions."""
        system = self._make(value)
        if not isinstance(system, System):
            raise ValueError(f"{self._name}({value:g}) must return a gyrod.System, got {type(system).__name__}.")
        return system, 0.0


@dataclass(frozen=True)
class Listed:
    """Systems by values of a parameter, in place of the function that made them."""

    systems: dict[float, System]

    def __call__(self, value: float) -> System:
        """The system at a point of the path."""
        return self.systems[value]


def family_of(system: System | None, parameter: str | Callable[[float], System], stops: Array) -> Family:
    """What a parameter does to a system."""
    if callable(parameter):
        return Made(name_of(parameter), parameter)
    if not isinstance(system, System):
        raise ValueError(f"system must be a gyrod.System, got {type(system).__name__}.")
    if _check.choice("parameter", parameter, PARAMETERS) == "time":
        return Timed(system)
    forces = parameter == "load"
    then = partial(scaled, system, forces=forces)
    then(2.0)  # what cannot be scaled is reported now
    growing = _growing(system, forces)
    ends = float(stops.min()), float(stops.max())
    return Made(parameter, then, ends) if growing is None else Timed(growing, then)


def name_of(parameter: str | Callable[[float], System]) -> str:
    """The name of a parameter."""
    return parameter if isinstance(parameter, str) else str(getattr(parameter, "__name__", "parameter"))


def _growing(system: System, forces: bool) -> System | None:
    """The system with its loads times t, so that it need not be compiled for each value; None where that fails.

    Functions of time of its own stand in the way, and so do bodies, whose weight is constant.
    """
    timed = system.gravity_function is not None
    timed |= any(callable(getattr(force, field)) for force in system.forces for field in force.loads)
    for rod in system.rods:
        timed |= callable(rod.rest_stretch) or any(callable(x) for e in (rod.start, rod.end) for x in (e.at, e.frame))
    if timed or system.bodies or system.junctions:
        return None

    def growing(value: object) -> Growing:
        return Growing(np.array(value, dtype=float))

    gravity = growing(system.gravity)
    kept = tuple(force.times(growing) for force in system.forces) if forces else system.forces
    return replace(system, forces=kept, gravity=gravity)
