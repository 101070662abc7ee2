"""Elements on rods: point masses, elastic foundations, cables, tendons and obstacles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gyrod._check import Array
from gyrod.model.appearance import Solid, Sphere
from gyrod.model.clips import Clip
from gyrod.model.contacts import Contact
from gyrod.model.errors import (
    called,
    direction,
    new_name,
    not_negative,
    positive,
    reference,
    rod_reference,
    shown,
    vector,
)
from gyrod.model.fields import Kept, description, field, holds
from gyrod.model.force_checks import RodPoint, fraction, link_place, per_axis, rod_point, scalar, span_of
from gyrod.model.forces import ForceLaw, Link, RodForce
from gyrod.model.surfaces import Boundary, Plane, Shaft

if TYPE_CHECKING:
    from gyrod.model.force_checks import LinkPlace


@holds(form="points")
def _points(field: str, value: object) -> tuple[RodPoint, ...]:
    listed = value if not isinstance(value, np.ndarray) or value.ndim > 0 else None
    if not isinstance(listed, (tuple, list, np.ndarray)) or len(listed) < 2:
        raise ValueError(f"{field} must be a list of at least two (fraction, (a1, a2)), got {shown(value)}.")
    found = tuple(rod_point(f"{field}[{i}]", point) for i, point in enumerate(listed))
    for i in range(len(found) - 1):
        if found[i] == found[i + 1]:
            raise ValueError(f"{field}[{i}] and {field}[{i + 1}] are both {found[i]}; neighbours must differ.")
    return found


@holds(variable="t")
def _tension(field: str, value: object) -> object:
    if not callable(value):
        return scalar(field, value)
    called(field, value, "t", 0.0, not_negative)
    return value


@holds(form="names")
def _rods(field: str, value: object) -> tuple[str, ...]:
    if value is None or (isinstance(value, tuple) and not value):
        return ()
    names = [value] if isinstance(value, str) else value if isinstance(value, (tuple, list)) else []
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"{field} must be names of rods, or None for all of them, got {shown(value)}.")
    return tuple(map(str, names))


# --- masses and supports ----------------------------------------------------------------------------------------------


@description
class PointMass(RodForce):
    """A mass in kg on a rod, at a fraction of its length; shared by the vertices beside it as by a lever."""

    rod: str = field(rod_reference)
    at: float = field(fraction)
    mass: float = field(positive, "kg")
    name: str | None = field(new_name, default=None)

    @property
    def has_potential(self) -> bool:
        """That of its weight."""
        return True

    @property
    def places(self) -> tuple[tuple[str, float], ...]:
        """Its point."""
        return ((self.rod, self.at),)


@description
class Foundation(RodForce):
    """Elastic support of a rod towards its initial positions: force -stiffness·(x - x0) - damping·x', per length.

    ``stiffness`` in N/m per m of rod and ``damping`` in N s/m per m are one number, or three along the axes of space;
    ``span`` is the part of the rod that is supported, as fractions of its length.
    """

    rod: str = field(rod_reference)
    #: (3,).
    stiffness: Kept[Array, ArrayLike] = field(per_axis, "N/m^2")
    #: (3,).
    damping: Kept[Array, ArrayLike] = field(per_axis, "N s/m^2", default=0.0)
    #: (2,).
    span: Kept[Array, ArrayLike] = field(span_of, default=(0.0, 1.0))
    name: str | None = field(new_name, default=None)

    @property
    def has_potential(self) -> bool:
        """That of the springs."""
        return True

    @property
    def places(self) -> tuple[tuple[str, float], ...]:
        """The ends of its span."""
        return tuple((self.rod, s) for s in self.span.tolist())


# --- strings ---------------------------------------------------------------------------------------------------------


@description
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

    law = "cable"
    a: str = field(reference)
    b: str = field(reference)
    #: (3,), a fraction and its offset, or None.
    at_a: Kept[LinkPlace, object] = field(link_place, "m", default=None, of="a", always=True)
    at_b: Kept[LinkPlace, object] = field(link_place, "m", default=None, of="b", always=True)
    _: KW_ONLY
    stiffness: float = field(positive, "N/m")
    length: float | None = field(scalar, "m", default=None)
    damping: float = field(scalar, "N s/m", default=0.0)
    smoothing: float = field(scalar, "m", default=0.0)
    name: str | None = field(new_name, default=None)


@description
class Tendon(RodForce):
    """A string without friction through points of a rod, of a given tension in N.

    ``points`` are at least two (fraction, (a1, a2)), with an offset along d1 and d2 of the section; the string is
    straight between them. ``tension`` >= 0 is a number or a function of time.

    >>> guides = [(s, (0.004, 0.0)) for s in (0.0, 0.25, 0.5, 0.75, 1.0)]
    >>> pull = Tendon("finger", guides, tension=lambda t: 2.0 * t)
    """

    loads: ClassVar[tuple[str, ...]] = ("tension",)

    rod: str = field(rod_reference)
    #: Fractions, each with its offset.
    points: Kept[tuple[RodPoint, ...], object] = field(_points)
    #: A number, or a function of time.
    tension: float | Callable[[float], float] = field(_tension, "N")
    name: str | None = field(new_name, default=None)

    @property
    def symmetric(self) -> bool:
        """The derivatives are those of the tension times the length."""
        return True

    @property
    def places(self) -> tuple[tuple[str, float], ...]:
        """Its guides."""
        return tuple((self.rod, s) for s, _ in self.points)


@description
class RotatingFrame(ForceLaw):
    """Everything is described in a frame that turns with a constant angular velocity (rad/s) about the origin.

    Centrifugal and Coriolis forces act on all bodies and rods; "ground" turns with the frame, and so does ``gravity``:
    one that keeps its direction in space is a function of time here. A blade that turns steadily is at rest in it, and
    `equilibrium` and `modes` support it. Several frames add their angular velocities.

    >>> frame = RotatingFrame((0, 0, 6.0))
    """

    angular_velocity: Kept[Array, ArrayLike] = field(vector, "rad/s")
    _: KW_ONLY
    name: str | None = field(new_name, default=None)

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


@description
class Obstacle(ForceLaw, ABC):
    """Base of the obstacles: contacts of rods without friction, with a surface in space; see `Contact`.

    ``stiffness`` in N/m per m of rod is the force by penetration, and ``smoothing`` in m the distance over which it
    sets in, so that the rod feels the obstacle a little before it touches it. A rod at rest sinks in by about its
    load per length over ``stiffness``, give or take ``smoothing``: make the one large and the other small until
    neither matters; stiffer contact takes smaller steps. ``thickness`` in m is half that of the rod, by default the
    largest half size of its section (0 without one). ``rods`` are names, by default all rods of the system. Vertices
    of a grid and points of elements are held off: an obstacle that is smaller than a segment slips through. Rods may
    start inside.
    """

    _: KW_ONLY
    stiffness: float = field(positive, "N/m^2")
    smoothing: float = field(positive, "m")
    thickness: float | None = field(scalar, "m", default=None)
    name: str | None = field(new_name, default=None)

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
        rods = self.rods if isinstance(self.rods, tuple) else ()  # as they were given they may be anything
        return f"{kind}({', '.join(map(shown, rods)) or 'all rods'})"

    def acts_on(self, rod: str) -> bool:
        """Whether the rod of that name feels it."""
        return not self.rods or rod in self.rods

    @property
    @abstractmethod
    def surface(self) -> Boundary | Solid:
        """What rods are kept out of."""

    def contact(self, rods: Iterable[str]) -> Contact:
        """What it is with rods of these names: a contact without friction."""
        return Contact(
            [name for name in rods if self.acts_on(name)], self.surface, stiffness=self.stiffness,
            smoothing=self.smoothing, thickness=self.thickness, name=self.name,
        )  # fmt: skip

    @property
    def symmetric(self) -> bool:
        """The derivatives are those of the energy of the penalty."""
        return True


@description
class PlaneObstacle(Obstacle):
    """A half space without friction: rods are kept on the side to which ``normal`` points.

    Contact is a smooth penalty: a rod at rest sinks in by its weight per length / ``stiffness``, give or take about
    ``smoothing``. The other arguments are those of `Obstacle`.

    >>> floor = PlaneObstacle((0, 0, 0), (0, 0, 1), stiffness=1e4, smoothing=1e-4)
    """

    point: Kept[Array, ArrayLike] = field(vector, "m")
    #: Unit vector, (3,).
    normal: Kept[Array, ArrayLike] = field(direction)
    #: Names; none: all rods of the system.
    rods: Kept[tuple[str, ...], str | Iterable[str] | None] = field(_rods, default=None, always=True)

    @property
    def surface(self) -> Plane:
        """The plane."""
        return Plane(self.point, self.normal)


@description
class SphereObstacle(Obstacle):
    """A ball without friction: rods are kept out of it.

    Contact is a smooth penalty: a rod at rest sinks in by its weight per length / ``stiffness``, give or take about
    ``smoothing``. The other arguments are those of `Obstacle`.
    """

    center: Kept[Array, ArrayLike] = field(vector, "m")
    radius: float = field(positive, "m")
    #: Names; none: all rods of the system.
    rods: Kept[tuple[str, ...], str | Iterable[str] | None] = field(_rods, default=None, always=True)

    @property
    def surface(self) -> Sphere:
        """The ball."""
        return Sphere(self.radius, offset=self.center)


@description
class CylinderObstacle(Obstacle):
    """An endless cylinder without friction: rods are kept out of it.

    Contact is a smooth penalty: a rod at rest sinks in by its weight per length / ``stiffness``, give or take about
    ``smoothing``. ``point`` is any point of the ``axis``. The other arguments are those of `Obstacle`.
    """

    point: Kept[Array, ArrayLike] = field(vector, "m")
    #: Unit vector, (3,).
    axis: Kept[Array, ArrayLike] = field(direction)
    radius: float = field(positive, "m")
    #: Names; none: all rods of the system.
    rods: Kept[tuple[str, ...], str | Iterable[str] | None] = field(_rods, default=None, always=True)

    @property
    def surface(self) -> Shaft:
        """The cylinder."""
        return Shaft(self.radius, self.point, self.axis)


#: All obstacles.
OBSTACLES: tuple[type[Obstacle], ...] = (PlaneObstacle, SphereObstacle, CylinderObstacle)
#: All elements.
ELEMENTS: tuple[type[ForceLaw], ...] = (PointMass, Foundation, Cable, Tendon, Clip, *OBSTACLES)
