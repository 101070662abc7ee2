"""Elements on rods: point masses, elastic foundations, cables, tendons and obstacles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod.model.errors import (
    Problems,
    called,
    frozen,
    not_negative,
    optional_name,
    positive,
    reference,
    shown,
    vector,
)
from gyrod.model.forces import (
    ForceLaw,
    Link,
    RodForce,
    RodPoint,
    fraction,
    link_place,
    per_axis,
    rod_name,
    rod_point,
    scalar,
    span_of,
)

Array = NDArray[np.float64]

#: The shortest direction, relative to its largest component in other units.
SHORTEST = 1e-150


@dataclass(frozen=True, init=False, eq=False)
class PointMass(RodForce):
    """A mass in kg on a rod, at a fraction of its length; shared by the vertices beside it as by a lever."""

    rod: str
    at: float
    mass: float
    name: str | None

    def __init__(self, rod: str, at: float, mass: float, name: str | None = None) -> None:
        self._set(rod=rod, name=name)
        problems = Problems(self.label)
        self._set(
            rod=problems.check(rod_name, rod),
            at=problems.check(fraction, "at", at),
            mass=problems.check(positive, "mass", mass),
            name=problems.check(optional_name, name),
        )
        problems.finish()

    @property
    def has_potential(self) -> bool:
        """That of its weight."""
        return True

    @property
    def places(self) -> tuple[tuple[str, float], ...]:
        """Its point."""
        return ((self.rod, self.at),)


@dataclass(frozen=True, init=False, eq=False)
class Foundation(RodForce):
    """Elastic support of a rod towards its initial positions: force -stiffness·(x - x0) - damping·x', per length.

    ``stiffness`` in N/m per m of rod and ``damping`` in N s/m per m are one number, or three along the axes of space;
    ``span`` is the part of the rod that is supported, as fractions of its length.
    """

    rod: str
    #: (3,).
    stiffness: Array
    #: (3,).
    damping: Array
    #: (2,).
    span: Array
    name: str | None

    def __init__(
        self,
        rod: str,
        stiffness: ArrayLike,
        damping: ArrayLike = 0.0,
        span: ArrayLike = (0.0, 1.0),
        name: str | None = None,
    ) -> None:
        self._set(rod=rod, name=name)
        problems = Problems(self.label)
        self._set(
            rod=problems.check(rod_name, rod),
            stiffness=problems.check(per_axis, "stiffness", stiffness),
            damping=problems.check(per_axis, "damping", damping),
            span=problems.check(span_of, span),
            name=problems.check(optional_name, name),
        )
        problems.finish()

    @property
    def has_potential(self) -> bool:
        """That of the springs."""
        return True

    @property
    def places(self) -> tuple[tuple[str, float], ...]:
        """The ends of its span."""
        return tuple((self.rod, s) for s in self.span.tolist())


# --- strings ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, init=False, eq=False)
class Cable(Link):
    """A straight cable between two points that pulls and never pushes: tension k (l - length) + c l' if l > length.

    Parameters
    ----------
    a, b
        "ground", names of bodies or names of rods.
    at_a, at_b
        Of "ground" a point in space; of a body a point in body axes (by default its centre of mass); of a rod a
        fraction of its length, or (fraction, (a1, a2)) with an offset along d1 and d2 of the section.
    stiffness, damping
        k in N/m and c in N s/m.
    length
        In m, at which it gets taut; by default that at the start.
    smoothing
        Extension in m over which the stiffness sets in; 0: all at once.

    >>> Cable("ground", "hose", at_a=(0, 0, 1), at_b=0.5, stiffness=1e4).at_b
    (0.5, (0.0, 0.0))
    """

    a: str
    b: str
    #: (3,), a fraction and its offset, or None.
    at_a: Any
    at_b: Any
    stiffness: float
    length: float | None
    damping: float
    smoothing: float
    name: str | None

    def __init__(
        self,
        a: str,
        b: str,
        at_a: Any = None,
        at_b: Any = None,
        *,
        stiffness: float,
        length: float | None = None,
        damping: float = 0.0,
        smoothing: float = 0.0,
        name: str | None = None,
    ) -> None:
        self._set(a=a, b=b, name=name)
        problems = Problems(self.label)
        self._set(
            a=problems.check(reference, "a", a),
            b=problems.check(reference, "b", b),
            at_a=problems.check(link_place, "at_a", at_a, a),
            at_b=problems.check(link_place, "at_b", at_b, b),
            stiffness=problems.check(positive, "stiffness", stiffness),
            length=None if length is None else problems.check(scalar, "length", length),
            damping=problems.check(scalar, "damping", damping),
            smoothing=problems.check(scalar, "smoothing", smoothing),
            name=problems.check(optional_name, name),
        )
        problems.finish()


@dataclass(frozen=True, init=False, eq=False)
class Tendon(RodForce):
    """A string without friction through points of a rod, of a given tension in N.

    ``points`` are at least two (fraction, (a1, a2)), with an offset along d1 and d2 of the section; the string is
    straight between them. ``tension`` >= 0 is a number or a function of time.

    >>> guides = [(s, (0.004, 0.0)) for s in (0.0, 0.25, 0.5, 0.75, 1.0)]
    >>> pull = Tendon("finger", guides, tension=lambda t: 2.0 * t)
    """

    loads: ClassVar[tuple[str, ...]] = ("tension",)

    rod: str
    #: Fractions, each with its offset.
    points: tuple[RodPoint, ...]
    #: A number, or a function of time.
    tension: Any
    name: str | None

    def __init__(
        self, rod: str, points: Any, tension: float | Callable[[float], float], name: str | None = None
    ) -> None:
        self._set(rod=rod, name=name)
        problems = Problems(self.label)
        self._set(
            rod=problems.check(rod_name, rod),
            points=problems.check(_points, points),
            tension=problems.check(_tension, tension),
            name=problems.check(optional_name, name),
        )
        problems.finish()

    @property
    def symmetric(self) -> bool:
        """The derivatives are those of the tension times the length."""
        return True

    @property
    def places(self) -> tuple[tuple[str, float], ...]:
        """Its guides."""
        return tuple((self.rod, s) for s, _ in self.points)


@dataclass(frozen=True, init=False, eq=False)
class RotatingFrame(ForceLaw):
    """Everything is told in a frame that turns with a constant angular velocity (rad/s) about the origin.

    Centrifugal and Coriolis forces act on all bodies and rods; "ground" turns with the frame, and so does ``gravity``:
    one that keeps its direction in space is a function of time here. A blade that turns steadily is at rest in it, and
    `equilibrium` and `modes` serve it. Several frames add their angular velocities.

    >>> frame = RotatingFrame((0, 0, 6.0))
    """

    angular_velocity: Array
    name: str | None

    def __init__(self, angular_velocity: ArrayLike, *, name: str | None = None) -> None:
        self._set(name=name)
        problems = Problems("RotatingFrame")
        self._set(
            angular_velocity=problems.check(vector, "angular_velocity", angular_velocity),
            name=problems.check(optional_name, name),
        )
        problems.finish()

    @property
    def bodies(self) -> tuple[str, ...]:
        """None by name: it acts on all."""
        return ()

    @property
    def on_rods(self) -> bool:
        """On all of them."""
        return True

    @property
    def label(self) -> str:
        """What errors call it."""
        return "RotatingFrame" if self.name is None else f"RotatingFrame {shown(self.name)}"


# --- obstacles -------------------------------------------------------------------------------------------------------


class Obstacle(ForceLaw, ABC):
    """Base of the obstacles: they push rods away without friction, by a smooth penalty, which is an approximation.

    ``stiffness`` in N/m per m of rod is the force by penetration, and ``smoothing`` in m the distance over which it
    sets in, so that the rod feels the obstacle a little before it touches it. A rod at rest sinks in by about its
    load per length over ``stiffness``, give or take ``smoothing``: make the one large and the other small until
    neither matters; stiffer contact takes smaller steps. ``thickness`` in m is half that of the rod, by default the
    largest half size of its section (0 without one). ``rods`` are names, by default all rods of the system. Only the
    vertices of a rod are held off: an obstacle that is smaller than a segment slips through.
    """

    kind: ClassVar[str]

    #: Names; none: all rods of the system.
    rods: tuple[str, ...] = ()
    stiffness: float
    smoothing: float
    thickness: float | None

    @property
    def bodies(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def on_rods(self) -> bool:
        """On those that are named, or on all."""
        return True

    @property
    def label(self) -> str:
        """What errors call it."""
        kind = type(self).__name__
        if self.name is not None:
            return f"{kind} {shown(self.name)}"
        return f"{kind}({', '.join(map(shown, self.rods)) or 'all rods'})"

    def acts_on(self, rod: str) -> bool:
        """Whether the rod of that name feels it."""
        return not self.rods or rod in self.rods

    @abstractmethod
    def parts(self) -> tuple[Array, Array, float]:
        """A point, a unit vector (zero if there is none) and a radius (zero if there is none)."""

    def _fill(self, name: Any, rods: Any, **values: Any) -> None:
        """Check and set the fields."""
        self._set(name=name)
        problems = Problems(self.label)
        self._set(
            **{field: problems.check(_OBSTACLE[field], field, value) for field, value in values.items()},
            rods=problems.check(_rods, rods),
            name=problems.check(optional_name, name),
        )
        problems.finish()

    @property
    def symmetric(self) -> bool:
        """The derivatives are those of the energy of the penalty."""
        return True


@dataclass(frozen=True, init=False, eq=False)
class PlaneObstacle(Obstacle):
    """A half space, without friction and approximate: rods are kept on the side to which ``normal`` points.

    Contact is a smooth penalty: a rod at rest sinks in by its weight per length / ``stiffness``, give or take about
    ``smoothing``. The other arguments are those of `Obstacle`.

    >>> floor = PlaneObstacle((0, 0, 0), (0, 0, 1), stiffness=1e4, smoothing=1e-4)
    """

    kind: ClassVar[str] = "plane"

    point: Array
    #: Unit vector, (3,).
    normal: Array
    rods: tuple[str, ...]
    stiffness: float
    smoothing: float
    thickness: float | None
    name: str | None

    def __init__(
        self,
        point: ArrayLike,
        normal: ArrayLike,
        rods: str | Iterable[str] | None = None,
        *,
        stiffness: float,
        smoothing: float,
        thickness: float | None = None,
        name: str | None = None,
    ) -> None:
        self._fill(
            name, rods, point=point, normal=normal, stiffness=stiffness, smoothing=smoothing, thickness=thickness
        )

    def parts(self) -> tuple[Array, Array, float]:
        """Point, normal and no radius."""
        return self.point, self.normal, 0.0


@dataclass(frozen=True, init=False, eq=False)
class SphereObstacle(Obstacle):
    """A ball, without friction and approximate: rods are kept out of it.

    Contact is a smooth penalty: a rod at rest sinks in by its weight per length / ``stiffness``, give or take about
    ``smoothing``. The other arguments are those of `Obstacle`.
    """

    kind: ClassVar[str] = "sphere"

    center: Array
    radius: float
    rods: tuple[str, ...]
    stiffness: float
    smoothing: float
    thickness: float | None
    name: str | None

    def __init__(
        self,
        center: ArrayLike,
        radius: float,
        rods: str | Iterable[str] | None = None,
        *,
        stiffness: float,
        smoothing: float,
        thickness: float | None = None,
        name: str | None = None,
    ) -> None:
        self._fill(
            name, rods, center=center, radius=radius, stiffness=stiffness, smoothing=smoothing, thickness=thickness
        )

    def parts(self) -> tuple[Array, Array, float]:
        """Centre, no direction and radius."""
        return self.center, np.zeros(3), self.radius


@dataclass(frozen=True, init=False, eq=False)
class CylinderObstacle(Obstacle):
    """An endless cylinder, without friction and approximate: rods are kept out of it.

    Contact is a smooth penalty: a rod at rest sinks in by its weight per length / ``stiffness``, give or take about
    ``smoothing``. ``point`` is any point of the ``axis``. The other arguments are those of `Obstacle`.
    """

    kind: ClassVar[str] = "cylinder"

    point: Array
    #: Unit vector, (3,).
    axis: Array
    radius: float
    rods: tuple[str, ...]
    stiffness: float
    smoothing: float
    thickness: float | None
    name: str | None

    def __init__(
        self,
        point: ArrayLike,
        axis: ArrayLike,
        radius: float,
        rods: str | Iterable[str] | None = None,
        *,
        stiffness: float,
        smoothing: float,
        thickness: float | None = None,
        name: str | None = None,
    ) -> None:
        self._fill(
            name, rods, point=point, axis=axis, radius=radius, stiffness=stiffness, smoothing=smoothing,
            thickness=thickness,
        )  # fmt: skip

    def parts(self) -> tuple[Array, Array, float]:
        """Point and direction of the axis, radius."""
        return self.point, self.axis, self.radius


#: All obstacles.
OBSTACLES: tuple[type[Obstacle], ...] = (PlaneObstacle, SphereObstacle, CylinderObstacle)
#: All elements.
ELEMENTS: tuple[type[ForceLaw], ...] = (PointMass, Foundation, Cable, Tendon, *OBSTACLES)


# --- checks ----------------------------------------------------------------------------------------------------------


def _points(value: Any) -> tuple[RodPoint, ...]:
    listed = isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim > 0)
    if not listed or len(value) < 2:
        raise ValueError(f"points must be a list of at least two (fraction, (a1, a2)), got {shown(value)}.")
    found = tuple(rod_point(f"points[{i}]", point) for i, point in enumerate(value))
    for i in range(len(found) - 1):
        if found[i] == found[i + 1]:
            raise ValueError(f"points[{i}] and points[{i + 1}] are both {found[i]}; neighbours must differ.")
    return found


def _tension(value: Any) -> Any:
    if not callable(value):
        return scalar("tension", value)
    called("tension", value, "t", 0.0, not_negative)
    return value


def _direction(field: str, value: Any) -> Array:
    x = vector(field, value)
    size = float(np.max(np.abs(x)))
    if size <= SHORTEST:
        raise ValueError(f"{field} must not be zero, got {shown(value)}.")
    length = float(np.linalg.norm(x / size)) * size
    return x if abs(length - 1.0) <= 4.0 * np.finfo(float).eps else frozen(x / length)


def _rods(value: Any) -> tuple[str, ...]:
    if value is None or (isinstance(value, tuple) and not value):
        return ()
    names = [value] if isinstance(value, str) else value
    sound = isinstance(names, (tuple, list)) and len(names) > 0
    if not sound or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"rods must be names of rods, or None for all of them, got {shown(value)}.")
    return tuple(map(str, names))


def _or_none(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda field, value: None if value is None else check(field, value)


_OBSTACLE: dict[str, Callable[[str, Any], Any]] = {
    "point": vector,
    "center": vector,
    "normal": _direction,
    "axis": _direction,
    "radius": positive,
    "stiffness": positive,
    "smoothing": positive,
    "thickness": _or_none(scalar),
}
