"""Ends of rods: what is held there, and where."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod.model.bodies import rotation
from gyrod.model.errors import GROUND, Description, Problems, called, constant_or_function, reference, shown, vector

Array = NDArray[np.float64]
#: A point in space, or a function of time that returns one.
Point = ArrayLike | Callable[[float], ArrayLike]
#: A function of time that returns three numbers.
Rate = Callable[[float], ArrayLike]


class End(Description, ABC):
    """Base of the ends: position and frame of the end section are each free, or held, or led as functions of time.

    ``at`` is a point in space and ``frame`` an orientation of the end section (d1, d2, d3), both constant or functions
    of time; None is the initial place. ``velocity`` (of the point, in space) and ``angular_velocity`` (spatial) are
    the time derivatives of functions; without them they are found numerically.
    """

    holds_position: ClassVar[bool] = False
    holds_frame: ClassVar[bool] = False

    body: str = GROUND
    at: Any = None
    frame: Any = None
    velocity: Rate | None = None
    angular_velocity: Rate | None = None

    def position_at(self, t: float) -> Array | None:
        """Point that the end is held at, (3,); None for the initial one, or if it is free."""
        return called("at", self.at, "t", t, vector) if callable(self.at) else self.at

    def frame_at(self, t: float) -> Array | None:
        """Frame that the end is held in, a unit quaternion (4,); None for the initial one, or if it is free."""
        return called("frame", self.frame, "t", t, _one_rotation) if callable(self.frame) else self.frame

    def velocity_at(self, t: float) -> Array | None:
        """Velocity of the held point in space, (3,): 0 for a constant, None if it is to be found numerically."""
        return _rate("velocity", self.at, self.velocity, t)

    def angular_velocity_at(self, t: float) -> Array | None:
        """Spatial angular velocity of the held frame, (3,): 0 for a constant, None if to be found numerically."""
        return _rate("angular_velocity", self.frame, self.angular_velocity, t)

    def _fill(self, **values: Any) -> None:
        """Check and set the fields."""
        problems = Problems(type(self).__name__)
        checks = {"body": _ground, "at": _point, "frame": _frame, "velocity": _function, "angular_velocity": _function}
        self._set(**{field: problems.check(checks[field], field, value) for field, value in values.items()})
        for rate, place in (("velocity", "at"), ("angular_velocity", "frame")):
            if values.get(rate) is not None and not callable(values.get(place)):
                problems.add(f"{rate} goes with {place} as a function of time, got {place} = {shown(values[place])}.")
        problems.finish()


@dataclass(frozen=True, init=False, eq=False)
class Free(End):
    """A free end."""

    def __init__(self) -> None:
        self._fill()


@dataclass(frozen=True, init=False, eq=False)
class Hinged(End):
    """Position held, rotation free; alias ``Pinned``.

    >>> import numpy as np
    >>> shaken = Hinged("ground", at=lambda t: (0.0, 0.0, 0.01 * np.sin(50.0 * t)))
    """

    holds_position: ClassVar[bool] = True

    body: str
    #: (3,), a function of time, or None.
    at: Any
    velocity: Rate | None

    def __init__(self, body: str = GROUND, at: Point | None = None, *, velocity: Rate | None = None) -> None:
        self._fill(body=body, at=at, velocity=velocity)


@dataclass(frozen=True, init=False, eq=False)
class Clamped(End):
    """Position and frame held; the frame is that of the section (d3 the tangent), in any form of an orientation."""

    holds_position: ClassVar[bool] = True
    holds_frame: ClassVar[bool] = True

    body: str
    #: (3,), a function of time, or None.
    at: Any
    #: Unit quaternion (4,), a function of time, or None.
    frame: Any
    velocity: Rate | None
    angular_velocity: Rate | None

    def __init__(
        self,
        body: str = GROUND,
        at: Point | None = None,
        frame: Any = None,
        *,
        velocity: Rate | None = None,
        angular_velocity: Rate | None = None,
    ) -> None:
        self._fill(body=body, at=at, frame=frame, velocity=velocity, angular_velocity=angular_velocity)


@dataclass(frozen=True, init=False, eq=False)
class Guided(End):
    """Frame held, position free."""

    holds_frame: ClassVar[bool] = True

    #: Unit quaternion (4,), a function of time, or None.
    frame: Any
    body: str
    angular_velocity: Rate | None

    def __init__(self, frame: Any = None, body: str = GROUND, *, angular_velocity: Rate | None = None) -> None:
        self._fill(frame=frame, body=body, angular_velocity=angular_velocity)


Pinned = Hinged

#: All ends.
ENDS: tuple[type[End], ...] = (Free, Hinged, Clamped, Guided)


# --- checks ----------------------------------------------------------------------------------------------------------


def _ground(field: str, value: object) -> str:
    name = reference(field, value)
    if name != GROUND:
        raise ValueError(f"{field} = {name!r}: rods on bodies are not available yet; {field} must be 'ground'.")
    return name


def _point(field: str, value: Any) -> Any:
    return None if value is None else constant_or_function(field, value, vector)


def _frame(field: str, value: Any) -> Any:
    return None if value is None else constant_or_function(field, value, rotation)


def _one_rotation(field: str, value: Any) -> Array:
    if value is None:
        raise ValueError(f"{field} must be a quaternion or a rotation matrix, got None.")
    return rotation(field, value)


def _function(field: str, value: Any) -> Any:
    if value is not None and not callable(value):
        raise ValueError(f"{field} must be a function of time that returns three numbers, got {shown(value)}.")
    return value


def _rate(field: str, place: Any, rate: Rate | None, t: float) -> Array | None:
    if not callable(place):
        return np.zeros(3)
    return None if rate is None else called(field, rate, "t", t, vector)
