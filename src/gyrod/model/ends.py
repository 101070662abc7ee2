"""Ends of rods: what is held there, and where."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check, rotations
from gyrod._check import Array
from gyrod.model.derivatives import slope
from gyrod.model.errors import GROUND, Description, Problems, called, constant_or_function, reference, shown, vector
from gyrod.model.fields import Kept, description, field, holds
from gyrod.model.force_checks import fraction
from gyrod.model.inputs import Input
from gyrod.model.orientations import rotation
from gyrod.model.samples import Samples, fitting

#: A point in space, or a function of time that returns one.
Point = ArrayLike | Callable[[float], ArrayLike]
#: A function of time that returns three numbers.
Rate = Callable[[float], ArrayLike]

#: What the two ends of a rod are called.
SIDES = ("start", "end")


# --- checks ----------------------------------------------------------------------------------------------------------


@holds(form="name")
def _ground(field: str, value: object) -> str:
    name = reference(field, value)
    if name != GROUND:
        raise ValueError(
            f"{field} = {name!r}: only ground can hold a frame and leave the position free; {field} must be 'ground'."
        )
    return name


def _elsewhere(body: object) -> bool:
    return isinstance(body, str) and body not in ("", GROUND)


@holds(shapes=((), (3,)), variable="t", words=SIDES)
def _point(field: str, value: object, body: object) -> object:
    if _elsewhere(body):
        if callable(value):
            _for_ground(field, value)
        if isinstance(value, str):
            return _check.choice(field, value, SIDES)
        if np.ndim(value) == 0:  # type: ignore[arg-type]
            s = fraction(field, value)
            return s if 0.0 < s < 1.0 else SIDES[int(s)]
    return constant_or_function(field, fitting(field, value, "vector"), vector)


@holds(form="orientation", shapes=((3,), (4,), (3, 3)), variable="t")
def _frame(field: str, value: object, body: object) -> object:
    if _elsewhere(body) and callable(value):
        _for_ground(field, value)
    if isinstance(value, Samples) and value.kind == "vector":
        return value.as_rotations()
    return constant_or_function(field, fitting(field, value, "rotation"), rotation)


def _one_rotation(field: str, value: object) -> Array:
    if value is None:
        raise ValueError(f"{field} must be a quaternion or a rotation matrix, got None.")
    return rotation(field, value)


@holds(shapes=((3,),), variable="t", needs_function=True)
def _rate_function(field: str, value: object, body: object) -> object:
    if _elsewhere(body):
        _for_ground(field, value)
    if not callable(value):
        raise ValueError(f"{field} must be a function of time that returns three numbers, got {shown(value)}.")
    return fitting(field, value, "vector")


def _for_ground(field: str, value: object) -> None:
    """Refuse what leads an end that moves with something already."""
    raise ValueError(
        f"{field} = {shown(value)} is for ends on 'ground'; on a body or a rod the end moves with it, and its place "
        f"there is constant. Leave {field} out (a joint with drive leads a body)."
    )


# --- ends -------------------------------------------------------------------------------------------------------------


class End(Description, ABC):
    """Base of the ends: position and frame of the end section are each free, or held, or led as functions of time.

    ``body`` is "ground", the name of a body, or the name of a rod, which may be the same one: a ring. Without ``at``
    and ``frame`` the end is held as it lies at the start.

    - On ground ``at`` is a point in space and ``frame`` an orientation of the end section (d1, d2, d3), both constant
      or functions of time. ``velocity`` (of the point, in space) and ``angular_velocity`` (spatial) are the time
      derivatives of functions; without them they are found numerically. An `ExpressionVector` brings its own: three
      components of ``at``, of ``frame`` three of a rotation vector or four of a unit quaternion. So do `Samples`:
      vectors as ``at``, rotations (or rotation vectors) as ``frame``.
    - On a body ``at`` is a point in body axes from its centre of mass, ``frame`` an orientation in body axes.
    - On a rod ``at`` is "start" or "end", by default the one that lies there at the start, or a fraction of its length,
      and ``frame`` is the orientation of this end section in the axes d1, d2, d3 of the other one.
    """

    holds_position: ClassVar[bool] = False
    holds_frame: ClassVar[bool] = False

    body: str = GROUND
    at: Any = None
    frame: Any = None
    velocity: Rate | None = None
    angular_velocity: Rate | None = None

    @property
    def attached(self) -> bool:
        """Whether a body or a rod is to hold it; `System.rod_ends` says where."""
        return self.body != GROUND

    def position_at(self, t: float) -> Array | None:
        """Point of space that the end is held at, (3,); None for the initial one, or if it is free or attached."""
        if self.attached:
            return None
        return called("at", self.at, "t", t, vector) if callable(self.at) else self.at

    def frame_at(self, t: float) -> Array | None:
        """Frame that the end is held in, a unit quaternion (4,); None as `position_at`."""
        if self.attached:
            return None
        return called("frame", self.frame, "t", t, _one_rotation) if callable(self.frame) else self.frame

    @property
    def rate(self) -> Rate | None:
        """Velocity of a led point: the function that was given, or the derivative that ``at`` brings, or None."""
        return slope(self.at) if self.velocity is None else self.velocity

    @property
    def acceleration(self) -> Rate | None:
        """Acceleration of a led point if ``at`` brings it, else None."""
        return slope(self.at, 2) if self.velocity is None else None

    @property
    def angular_rate(self) -> Rate | None:
        """Spatial angular velocity of a led frame: as it was given, or as ``frame`` brings it, or None."""
        return _turning(self.frame) if self.angular_velocity is None else self.angular_velocity

    def velocity_at(self, t: float) -> Array | None:
        """Velocity of the held point in space, (3,): 0 for a constant, None if it is to be found numerically."""
        return _rate("velocity", self.at, self.rate, t)

    def angular_velocity_at(self, t: float) -> Array | None:
        """Spatial angular velocity of the held frame, (3,): 0 for a constant, None if to be found numerically."""
        return _rate("angular_velocity", self.frame, self.angular_rate, t)

    def _agree(self, problems: Problems, bad: set[str]) -> None:  # noqa: ARG002
        for rate, place in () if self.attached else (("velocity", "at"), ("angular_velocity", "frame")):
            held = getattr(self, place)
            if getattr(self, rate) is not None and not callable(held):
                problems.add(f"{rate} goes with {place} as a function of time, got {place} = {shown(held)}.")


@description
class Free(End):
    """A free end."""


@description
class Hinged(End):
    """Position held, rotation free, by ground, a body or a point of a rod; alias ``Pinned``.

    >>> import numpy as np
    >>> shaken = Hinged("ground", at=lambda t: (0.0, 0.0, 0.01 * np.sin(50.0 * t)))
    >>> on_a_body, on_a_rod = Hinged("bob", at=(0, 0, 0.05)), Hinged("hose", at="end")
    >>> between = Hinged("hose", at=0.25)
    """

    holds_position: ClassVar[bool] = True

    body: str = field(reference, default=GROUND)
    #: (3,), a function of time, "start" or "end", a fraction of a rod's length, or None.
    at: Kept[Array | Rate | str | float | None, Point | str | None] = field(_point, "m", default=None, of="body")
    _: KW_ONLY
    velocity: Rate | None = field(_rate_function, "m/s", default=None, of="body")


@description
class Clamped(End):
    """Position and frame held, by ground, a body or a point of a rod.

    The frame is that of the section (d3 the tangent), in any form of an orientation; ``("along", (1, 0, 0))`` gives the
    direction of d3 alone, d1 is as vertical as can be.
    """

    holds_position: ClassVar[bool] = True
    holds_frame: ClassVar[bool] = True

    body: str = field(reference, default=GROUND)
    #: (3,), a function of time, "start" or "end", a fraction of a rod's length, or None.
    at: Kept[Any, Point | str | None] = field(_point, "m", default=None, of="body")
    #: Unit quaternion (4,), a function of time, or None.
    frame: Any = field(_frame, default=None, of="body")
    _: KW_ONLY
    velocity: Rate | None = field(_rate_function, "m/s", default=None, of="body")
    angular_velocity: Rate | None = field(_rate_function, "rad/s", default=None, of="body")


@description
class Guided(End):
    """Frame held by ground, position free."""

    holds_frame: ClassVar[bool] = True

    #: Unit quaternion (4,), a function of time, or None.
    frame: Kept[Array | Rate | None, object] = field(_frame, default=None, of="body")
    body: str = field(_ground, default=GROUND)
    _: KW_ONLY
    angular_velocity: Rate | None = field(_rate_function, "rad/s", default=None, of="body")


Pinned = Hinged

#: All ends.
ENDS: tuple[type[End], ...] = (Free, Hinged, Clamped, Guided)


def _turning(frame: Any) -> Rate | None:
    """Spatial angular velocity of a frame whose derivative is known: of a rotation vector or of a quaternion."""
    rate = None if isinstance(frame, Input) else slope(frame)
    if rate is None or isinstance(frame, Samples):
        return rate
    if len(frame) == 3:
        return lambda t: rotations.rotation_vector_tangent(frame(t)) @ rate(t)

    def of_quaternion(t: float) -> Array:
        p = frame(t)
        return np.asarray(2.0 * rotations.multiply(rate(t), rotations.conjugate(p))[1:] / (p @ p))

    return of_quaternion


def _rate(field: str, place: object, rate: Rate | None, t: float) -> Array | None:
    if not callable(place):
        return np.zeros(3)
    return None if rate is None else called(field, rate, "t", t, vector)
