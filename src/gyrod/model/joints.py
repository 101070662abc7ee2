"""Joints."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gyrod._check import Array
from gyrod.model.derivatives import slope
from gyrod.model.errors import (
    Description,
    Problems,
    direction,
    field_names,
    new_name,
    not_negative,
    numbers,
    positive,
    reference,
    shown,
    vector,
)
from gyrod.model.fields import Kept, description, field, holds
from gyrod.model.samples import fitting

#: A function of time.
Function = Callable[[float], float]
#: What leads a coordinate: a constant, a function of time, or a function with its first and second derivative.
Drive = float | Function | tuple[Function, Function, Function]

#: Two axes that are perpendicular to within this angle in rad are made so; others are refused.
RIGHT_ANGLE_SLACK = 1e-6
#: Fields that are written only if they are not zero.
_IDLE = ("stiffness", "damping", "rest", "friction")


# --- checks -----------------------------------------------------------------------------------------------------------


def _law(value: object) -> tuple[Function, Function | None, Function | None] | None:
    if value is None:
        return None
    if isinstance(value, float):
        return (lambda _t: value), (lambda _t: 0.0), (lambda _t: 0.0)
    return value if isinstance(value, tuple) else (value, slope(value), slope(value, 2))


def _one_way(way: tuple[str, ...], values: list[object]) -> None:
    """One way to give a point or an axis is taken, and in space excludes in body axes."""
    space, *local = way
    given = [i for i, value in enumerate(values) if value is not None]
    if not given:
        raise ValueError(
            f"{space} is missing; give {space} in space at the start, or {' or '.join(local)} in body axes."
        )
    if given[0] == 0 and len(given) > 1:
        told = " and ".join(f"{way[i]} = {shown(values[i])}" for i in given)
        raise ValueError(f"{told} exclude each other; give {space} or {' and '.join(local)}.")


@holds(form="law", variable="t")
def _led(field: str, value: object) -> object:
    """A constant, a function of time, or three of them."""
    if callable(value):
        return fitting(field, value, "number")
    if isinstance(value, (tuple, list)) and len(value) == 3 and all(map(callable, value)):
        return tuple(value)
    if isinstance(value, (int, float, np.number)):
        return float(numbers(field, value, ()))
    raise ValueError(
        f"{field} must be a number, a function of time or three functions (f, f', f''), got {shown(value)}."
    )


@holds(form="law", variable="t")
def _length(field: str, value: object) -> object:
    led = _led(field, value)
    return positive(field, led) if isinstance(led, float) else led


def _pitch(field: str, value: object) -> float:
    pitch = float(numbers(field, value, ()))
    if pitch == 0.0:
        raise ValueError(f"{field} = 0 is not a screw; it must be metres per turn, > 0 or < 0 (or use Revolute).")
    return pitch


@holds(form="limits")
def _limits(field: str, value: object) -> tuple[float | None, float | None] | None:
    try:
        lo, hi = value if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) else ()
    except (TypeError, ValueError):
        raise ValueError(f"{field} must be two numbers (lowest, highest) or None, got {shown(value)}.") from None
    lo = None if lo is None else float(numbers(f"{field}[0]", lo, ()))
    hi = None if hi is None else float(numbers(f"{field}[1]", hi, ()))
    if lo is not None and hi is not None and lo >= hi:
        raise ValueError(f"{field} = ({lo:.12g}, {hi:.12g}) must increase: the lowest first.")
    return None if lo is None and hi is None else (lo, hi)


@holds(shapes=((2,),), units=None)
def _pair(field: str, value: object) -> Array:
    x = numbers(field, value, (), (2,))
    if x.shape == () and x != 0.0:
        raise ValueError(f"{field} = {shown(value)} must be a pair (of the angle, of the displacement), or 0.")
    result = np.full(2, x)
    result.flags.writeable = False
    return result


@holds(shapes=((2,),), units=None)
def _moduli(field: str, value: object) -> Array:
    not_negative(field, value, (), (2,))
    return _pair(field, value)


def _number(field: str, value: object) -> float:
    return 0.0 if _is_zero(value) else float(numbers(field, value, ()))


def _not_negative(field: str, value: object) -> float:
    return 0.0 if _is_zero(value) else float(not_negative(field, value))


def _is_zero(value: object) -> bool:
    """Whether a value is what almost all joints have; the full check would take a third of their time."""
    return isinstance(value, float) and value == 0.0


# --- joints -----------------------------------------------------------------------------------------------------------


@description
class Attachment(Description):
    """Where a joint sits in its two partners, in body axes from the centre of mass (space axes for "ground").

    The columns of the frames are the axes e1, e2, e3 of the joint, right-handed; e3 is its axis. The first axis of a
    universal joint is e3 of ``frame_a``, the second one e1 of ``frame_b``.
    """

    #: (3,).
    at_a: Array = field(None, "m", shapes=((3,),))
    #: (3,).
    at_b: Array = field(None, "m", shapes=((3,),))
    #: (3, 3).
    frame_a: Array = field(None, shapes=((3, 3),))
    #: (3, 3).
    frame_b: Array = field(None, shapes=((3, 3),))
    #: What a `Distance` holds at t = 0, in m; 0 for the other joints.
    length: float = field(None, "m")


@description
class Joint(Description, ABC):
    """Base of the joints between two bodies, or between a body and "ground".

    ``at`` is the point of the joint in space at the initial configuration. In its place ``at_a`` and ``at_b`` give the
    point in the axes of a and b, from the centre of mass (space axes for "ground"). One of the two is enough: the
    other is the same point of space. If both are given, they must meet at the start. Axes, of any length > 0, are
    given in the same three ways.

    A coordinate says how b stands against a; it is zero where the axes of the joint in a and in b coincide.

    Rules for a new joint:

    1. Its description is a frozen class here: what it takes, how many velocities are ``free``, whether it ``slides``,
       and ``coordinate_names``, in the order of the motion subspace. It computes nothing.
    2. Its mechanics is one file of the core, in director form: constraint g(x, d), gradient G, and motion subspace T
       with G T = 0 and ``free`` columns. Its name there is that of the class in lower case. Quaternions, minimal
       velocities, coordinates and gaps follow from these.
    3. It joins `JOINTS`, over which the property tests run.
    """

    #: Relative velocities that it leaves if it is not driven.
    free: ClassVar[int]
    #: Whether it may carry a body in the tree; otherwise it always closes a loop.
    carries: ClassVar[bool] = True
    #: Whether b moves along a: it is then drawn on a, where the guide is.
    slides: ClassVar[bool] = False
    #: The field that may lead its coordinate.
    leading: ClassVar[str] = "drive"
    #: Ways to give each point and axis: the first is in space and excludes the others, one is needed.
    ways: ClassVar[tuple[tuple[str, ...], ...]] = (("at", "at_a", "at_b"),)

    a: str = field(reference)
    b: str = field(reference)
    _: KW_ONLY
    #: (3,), or None.
    at: Kept[Array | None, ArrayLike | None] = field(vector, "m", default=None)
    #: (3,), or None.
    at_a: Kept[Array | None, ArrayLike | None] = field(vector, "m", default=None)
    #: (3,), or None.
    at_b: Kept[Array | None, ArrayLike | None] = field(vector, "m", default=None)
    name: str | None = field(new_name, default=None)

    def _agree(self, problems: Problems, bad: set[str]) -> None:
        for way in self.ways:
            if bad.isdisjoint(way):
                problems.check(_one_way, way, [getattr(self, field) for field in way])
        if not bad:
            self._fit(problems)

    def _fit(self, problems: Problems) -> None:
        """Note where fields that are sound by themselves do not go together."""

    @property
    @abstractmethod
    def coordinate_names(self) -> tuple[str, ...]:
        """What its coordinates are called."""

    @property
    def driven(self) -> bool:
        """Whether a coordinate is led."""
        return self.law is not None

    @property
    def law(self) -> tuple[Function, Function | None, Function | None] | None:
        """What leads a coordinate: the function of time and its derivatives, None where they are not given."""
        return _law(getattr(self, "drive", None))

    @property
    def wraps(self) -> bool:
        """Whether a coordinate is an angle that is known but for full turns."""
        return any(name.startswith("angle") for name in self.coordinate_names)

    @property
    def lead(self) -> float:
        """Metres that b advances in a radian; 0 where one does not follow from the other."""
        return 0.0

    @property
    def freedoms(self) -> int:
        """Number of relative velocities that the joint leaves."""
        return self.free - self.driven

    @property
    def constraints(self) -> int:
        """Number of relative velocities that the joint takes away."""
        return 6 - self.freedoms

    @property
    def effort_units(self) -> tuple[str, ...]:
        """Units of its effort, one for each coordinate: N m along angles, N along displacements."""
        return tuple("N m" if name.startswith("angle") else "N" for name in self.coordinate_names)

    @property
    def kind(self) -> str:
        """Its class, in lower case."""
        return type(self).__name__.lower()

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of what it connects, "ground" among them."""
        return (self.a, self.b)

    @property
    def label(self) -> str:
        """What errors call it."""
        kind = type(self).__name__
        return f"{kind}({shown(self.a)}, {shown(self.b)})" if self.name is None else f"{kind} {shown(self.name)}"

    def __repr__(self) -> str:
        parts = [repr(self.a), repr(self.b)]
        frictionless = () if getattr(self, "friction", 0.0) else ("slip",)
        for name in field_names(type(self)):
            value = getattr(self, name)
            if name not in ("a", "b", *frictionless) and value is not None and (np.any(value) or name not in _IDLE):
                parts.append(f"{name}={value.tolist() if isinstance(value, np.ndarray) else value!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


@description
class Fixed(Joint):
    """Holds b to a: no motion is left. Force and moment are those at ``at``."""

    free: ClassVar[int] = 0
    coordinate_names = ()


@description
class Spherical(Joint):
    """Ball joint: the point ``at`` of both partners stays the same, all rotations are free.

    With "ground" it makes a top: ``Spherical("ground", "top", at=(0, 0, 0))``, in either order.
    """

    free: ClassVar[int] = 3
    coordinate_names = ()


@description
class Translational(Joint):
    """b moves freely but does not turn against a: for points where rods are hinged to each other."""

    free: ClassVar[int] = 3
    coordinate_names = ("x", "y", "z")


@description
class _Axial(Joint):
    """Joints with an axis."""

    ways: ClassVar[tuple[tuple[str, ...], ...]] = (("at", "at_a", "at_b"), ("axis", "axis_a", "axis_b"))

    _: KW_ONLY
    #: Unit vector (3,), or None.
    axis: Kept[Array | None, ArrayLike | None] = field(direction, default=None)
    #: Unit vector (3,), or None.
    axis_a: Kept[Array | None, ArrayLike | None] = field(direction, default=None)
    #: Unit vector (3,), or None.
    axis_b: Kept[Array | None, ArrayLike | None] = field(direction, default=None)


@description
class Planar(_Axial):
    """The point ``at`` of b stays in the plane through that of a; ``axis`` is its normal.

    Coordinates are the displacements x and y along e1 and e2 of a, and the angle about the normal.
    """

    free: ClassVar[int] = 3
    slides = True
    coordinate_names = ("x", "y", "angle")


@description
class Cylindrical(_Axial):
    """b turns about the axis and slides along it.

    ``stiffness``, ``damping`` and ``rest`` are pairs, for the angle (N m/rad, in (-pi, pi]) and for the displacement
    (N/m); 0 stands for two zeros.
    """

    free: ClassVar[int] = 2
    slides = True
    coordinate_names = ("angle", "displacement")

    _: KW_ONLY
    #: (2,).
    stiffness: Kept[Array, ArrayLike] = field(_moduli, default=0.0)
    #: (2,).
    damping: Kept[Array, ArrayLike] = field(_moduli, default=0.0)
    #: Coordinates without spring force, (2,).
    rest: Kept[Array, ArrayLike] = field(_pair, default=0.0)


@description
class _Single(_Axial):
    """Joints with one coordinate that may be led, sprung, damped and limited."""

    free: ClassVar[int] = 1

    _: KW_ONLY
    #: A number, a function of time, three functions, or None.
    drive: Drive | None = field(_led, "rad", default=None)
    stiffness: float = field(_not_negative, "N m/rad", default=0.0)
    damping: float = field(_not_negative, "N m s/rad", default=0.0)
    #: Dry friction at rates far above ``slip``.
    friction: float = field(_not_negative, "N m", default=0.0)
    #: Rate below which friction falls to zero: it is friction * rate / sqrt(rate² + slip²).
    slip: float = field(positive, "rad/s", default=0.01)
    #: Coordinate without spring force.
    rest: float = field(_number, "rad", default=0.0)
    #: Lowest and highest coordinate, either may be None.
    limits: tuple[float | None, float | None] | None = field(_limits, "rad", default=None)


@description
class Revolute(_Single):
    """Hinge: b turns about the axis.

    Parameters
    ----------
    a, b
        Names of bodies, or "ground".
    at, axis
        Point and direction in space at the start; ``at_a``, ``at_b``, ``axis_a``, ``axis_b`` give them in body axes.
    drive
        Leads the angle of b against a (rad): a number, a function of time, or three functions (f, f', f'').
    stiffness, damping, rest
        Of a spring and damper that act on the angle, in N m/rad and N m s/rad; the angle is taken in (-pi, pi].
    friction, slip
        Dry friction in N m, which acts against the rate: friction * rate / sqrt(rate² + slip²), ``slip`` in rad/s. A
        joint that would stick creeps instead, at a rate below ``slip``.
    limits
        Lowest and highest angle inside (-pi, pi), either may be None. They end a run; of a joint that is led, which
        nothing stops, they are recorded in ``motion.events``.

    Spring, damper and friction of a joint that is led act against its drive, and count in its effort.

    >>> Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 2, 0), damping=0.1).axis.tolist()
    [0.0, 1.0, 0.0]
    """

    coordinate_names = ("angle",)

    def _fit(self, problems: Problems) -> None:
        if any(x is not None and abs(x) >= math.pi for x in self.limits or ()):
            problems.add(
                f"limits = {self.limits} must lie inside (-pi, pi), in rad; write None for a side without limit."
            )


@description
class Prismatic(_Single):
    """Slider: b slides along the axis; ``drive``, ``limits`` and the spring act on the displacement (m)."""

    slides = True
    coordinate_names = ("displacement",)
    field_units: ClassVar[dict[str, str]] = {
        "drive": "m", "stiffness": "N/m", "damping": "N s/m", "friction": "N", "slip": "m/s", "rest": "m", "limits": "m"
    }  # fmt: skip


@description
class Helical(_Single):
    """Screw: b turns about the axis and advances along it by ``pitch`` metres in a full turn.

    ``drive``, ``limits`` and the spring act on the angle, as for `Revolute`. A negative pitch is a left-handed screw.
    """

    slides = True
    coordinate_names = ("angle",)
    wraps = False  # the displacement counts the turns

    _: KW_ONLY
    pitch: float = field(_pitch, "m")

    @property
    def lead(self) -> float:
        """Metres per radian."""
        return self.pitch / (2.0 * math.pi)


@description
class Universal(Joint):
    """Cardan joint: the first axis is fixed in a, the second one in b; they stay perpendicular and meet in ``at``.

    ``axis`` and ``axis2`` are in space at the start; ``axis_a`` is the first one in the axes of a, ``axis_b`` the
    second one in those of b.
    """

    free: ClassVar[int] = 2
    ways: ClassVar[tuple[tuple[str, ...], ...]] = (("at", "at_a", "at_b"), ("axis", "axis_a"), ("axis2", "axis_b"))
    coordinate_names = ("angle", "angle2")

    _: KW_ONLY
    #: Unit vector (3,), or None.
    axis: Kept[Array | None, ArrayLike | None] = field(direction, default=None)
    #: Unit vector (3,), or None.
    axis2: Kept[Array | None, ArrayLike | None] = field(direction, default=None)
    #: Unit vector (3,), or None.
    axis_a: Kept[Array | None, ArrayLike | None] = field(direction, default=None)
    #: Unit vector (3,), or None.
    axis_b: Kept[Array | None, ArrayLike | None] = field(direction, default=None)

    def _fit(self, problems: Problems) -> None:
        if self.axis is None or self.axis2 is None:
            return
        n, m = self.axis, self.axis2
        angle = math.atan2(float(np.linalg.norm(np.cross(n, m))), float(n @ m))
        if abs(angle - 0.5 * math.pi) > RIGHT_ANGLE_SLACK:
            problems.add(
                f"axis = {shown(n)} and axis2 = {shown(m)} must be perpendicular, but enclose "
                f"{math.degrees(angle):.6g} degrees; turn one of them."
            )


@description
class Distance(Joint):
    """Massless bar with ball joints: the distance from ``at``, a point of a, to ``to``, a point of b, is ``length``.

    ``at`` and ``to`` are in space at the start; ``at_a`` and ``at_b`` give the points in body axes. ``length`` is a
    number > 0, a function of time, or three functions (f, f', f''); None is the distance at the start.
    """

    free: ClassVar[int] = 5
    carries: ClassVar[bool] = False
    leading: ClassVar[str] = "length"
    ways: ClassVar[tuple[tuple[str, ...], ...]] = (("at", "at_a"), ("to", "at_b"))
    coordinate_names = ("length",)

    _: KW_ONLY
    #: (3,), or None.
    to: Kept[Array | None, ArrayLike | None] = field(vector, "m", default=None)
    #: A number, a function of time, three functions, or None.
    length: Drive | None = field(_length, "m", default=None)

    @property
    def driven(self) -> bool:
        """Whether the length is a function of time."""
        return self.length is not None and not isinstance(self.length, float)

    @property
    def law(self) -> tuple[Function, Function | None, Function | None] | None:
        """What leads the length, if it is led."""
        return _law(self.length) if self.driven else None

    @property
    def freedoms(self) -> int:
        """Five, whether the length is constant or led."""
        return self.free


#: All joints.
JOINTS: tuple[type[Joint], ...] = (
    Fixed,
    Spherical,
    Revolute,
    Prismatic,
    Cylindrical,
    Planar,
    Helical,
    Universal,
    Distance,
)
