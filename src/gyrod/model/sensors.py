"""Sensors: named outputs of a model, read from a motion, from a rest or from a stepper."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from gyrod import quantities, rotations
from gyrod._check import Array
from gyrod.model.appearance import Solid, solids
from gyrod.model.errors import (
    GROUND,
    Description,
    Problems,
    choice,
    name_of,
    new_name,
    numbers,
    positive,
    rod_reference,
    shown,
    unknown,
    vector,
)
from gyrod.model.fields import Kept, description, field, holds
from gyrod.model.force_checks import fraction

if TYPE_CHECKING:
    from gyrod.model.system import System


# --- checks ----------------------------------------------------------------------------------------------------------


@holds(form="name")
def _bearer(field: str, value: object) -> str:
    if value == GROUND:
        raise ValueError(f"{field} must be the name of a body or a rod, got {shown(value)}.")
    return name_of("a body or a rod")(field, value)


#: A point of space or of a body, a fraction of a rod, or None: where that is by default.
Place = float | Array | None


@holds(shapes=((), (3,)))
def _place(field: str, value: object) -> object:
    """A fraction of a rod, or a point of a body."""
    return fraction(field, value) if numbers(field, value, (), (3,)).shape == () else vector(field, value)


def _misplaced(system: System, argument: str, name: str, field: str, at: object) -> Iterator[str]:
    """What is wrong with a place on something."""
    allowed = (GROUND, *system.names, *system.rod_names) if argument != "on" else (*system.names, *system.rod_names)
    if name not in allowed:
        yield unknown(argument, name, allowed, "bodies and rods")
    elif name in system.rod_names and not isinstance(at, float):
        given = "is missing" if at is None else f"= {shown(at)} is a point"
        yield f"{field} {given}, but {name!r} is a rod; give a fraction of its length, from 0 to 1."
    elif name not in system.rod_names and isinstance(at, float):
        what = "ground is not a rod" if name == GROUND else f"{name!r} is a body"
        yield f"{field} = {at:g} is a fraction of a rod, but {what}; give a point, three numbers, or leave it out."


# --- sensors ---------------------------------------------------------------------------------------------------------


class Sensor(Description, ABC):
    """Base of the sensors.

    Rules for a new sensor:

    1. It is a frozen class here with a ``name``, a ``quantity``, a ``unit`` and plain fields; it computes nothing.
    2. ``problems`` reports what it refers to and the system does not have.
    3. Its value is one function of `gyrod.motion.sensors`, and it joins `SENSORS`, over which the tests run.
    """

    name: str
    quantity: str

    @abstractmethod
    def unit(self, system: System) -> str:
        """SI unit of what it measures, "1" for none."""

    @abstractmethod
    def problems(self, system: System) -> Iterator[str]:
        """Sentences about what it refers to and the system does not have."""

    @property
    def label(self) -> str:
        """What errors call it."""
        return f"{type(self).__name__} {shown(self.name)}"


@description
class PointSensor(Sensor):
    """Position, velocity, acceleration or specific force of a point of a body or a rod.

    Parameters
    ----------
    name
        Of the sensor.
    on
        Name of a body or of a rod.
    at
        Of a body a point in its axes from the centre of mass (by default that), of a rod a fraction of its length.
    quantity
        "position", "velocity", "acceleration", or "specific force": acceleration less gravity, what an accelerometer
        measures.
    frame
        Axes of the components: "space" (default) or "body" (default of the specific force); of a rod the axes d1, d2,
        d3 of the section.

    >>> PointSensor("imu", "drone", at=(0.1, 0, 0), quantity="specific force").axes
    'body'
    """

    name: str = field(new_name)
    on: str = field(_bearer)
    #: (3,), a fraction of a rod, or None.
    at: Kept[float | Array | None, float | ArrayLike | None] = field(_place, "m", "", default=None)
    quantity: str = field(choice(quantities.POINT), default="position")
    #: "space", "body", or None for that of the quantity.
    frame: str | None = field(choice(rotations.FRAMES), default=None)

    @property
    def axes(self) -> str:
        """The axes of its components: ``frame``, or the usual ones of the quantity."""
        return self.frame or ("body" if self.quantity == "specific force" else "space")

    def unit(self, system: System) -> str:  # noqa: ARG002
        """Of the quantity."""
        return quantities.POINT[self.quantity].unit

    def problems(self, system: System) -> Iterator[str]:
        """Whether there is such a body or rod, and the place is one of it."""
        yield from _misplaced(system, "on", self.on, "at", self.at)


@description
class RotationSensor(Sensor):
    """Rotation of a body, or of the section of a rod at a fraction ``at`` of its length (default 1, its end).

    ``quantity`` is "quaternion" (scalar first, body to space), "matrix", "Omega" (angular velocity in body axes),
    "omega" (in space axes), "gyro" (Omega and the turning of a `RotatingFrame`: what a gyro measures) or "angular
    acceleration" (Omega', in body axes).
    """

    name: str = field(new_name)
    on: str = field(_bearer)
    #: A fraction of a rod, or None.
    at: float | None = field(fraction, default=None)
    quantity: str = field(choice(quantities.ROTATION), default="quaternion")

    def unit(self, system: System) -> str:  # noqa: ARG002
        """Of the quantity."""
        return quantities.ROTATION[self.quantity].unit

    def problems(self, system: System) -> Iterator[str]:
        """Whether there is such a body or rod."""
        if self.on in system.names and self.at is not None:
            yield f"at = {self.at:g} is a fraction of a rod, but {self.on!r} is a body; leave at out."
        elif self.on not in system.names and self.on not in system.rod_names:
            yield unknown("on", self.on, (*system.names, *system.rod_names), "bodies and rods")


@description
class JointSensor(Sensor):
    """Coordinates, rates, effort, force or torque of a joint, which needs a name.

    Force and torque are those of a on b in space axes, (3,). A coordinate, its rate, and the effort, which is what a
    drive gives along it, are numbers where the joint has one coordinate, or where ``coordinate`` picks one of several
    by its name ("angle", "displacement", "x", ...).
    """

    name: str = field(new_name)
    joint: str = field(name_of("a joint"))
    quantity: str = field(choice(quantities.JOINT_SENSOR), default="coordinate")
    coordinate: str | None = field(name_of("a coordinate of the joint"), default=None)

    def _agree(self, problems: Problems, bad: set[str]) -> None:  # noqa: ARG002
        if self.coordinate is not None and self.quantity in ("force", "torque"):
            told = f"coordinate = {shown(self.coordinate)}"
            problems.add(f"{told} goes with quantity = 'coordinate', 'rate' or 'effort'; leave it out.")

    def unit(self, system: System) -> str:
        """Of the quantity; of several coordinates one after the other."""
        if self.quantity in ("force", "torque"):
            return quantities.JOINT_SENSOR[self.quantity].unit
        joint = system.joint(self.joint)
        names = joint.coordinate_names if self.coordinate is None else (self.coordinate,)
        if self.quantity == "effort":
            units = dict(zip(joint.coordinate_names, joint.effort_units, strict=True))
            return ", ".join(units[name] for name in names)
        return ", ".join(quantities.coordinate_unit(name, rate=self.quantity == "rate") for name in names)

    def problems(self, system: System) -> Iterator[str]:
        """Whether there is such a joint, and it has such a coordinate."""
        if self.joint not in system._joint_index:
            yield unknown("joint", self.joint, system._joint_index, "joints with a name")
            return
        names = system.joint(self.joint).coordinate_names
        if self.coordinate is not None and self.coordinate not in names:
            known = ", ".join(map(repr, names)) or "nothing: it has no coordinates"
            yield f"coordinate = {self.coordinate!r} is unknown; of {self.joint!r} it can be {known}."
        elif self.quantity not in ("force", "torque") and not names:
            kind = type(system.joint(self.joint)).__name__
            yield (
                f"quantity = {self.quantity!r}: {self.joint!r} is a {kind}, which has no coordinates; use a "
                "RotationSensor on its bodies, or the quantities 'force' and 'torque'."
            )


@description
class SectionSensor(Sensor):
    """Force, moment, strain or curvature of the section of a rod at a fraction ``at`` of its length.

    ``frame`` says in which axes: "body", d1, d2, d3 of the section, or "space".
    """

    name: str = field(new_name)
    rod: str = field(rod_reference)
    at: float = field(fraction)
    quantity: str = field(choice(quantities.SECTION), default="force")
    frame: str = field(choice(rotations.FRAMES), default="body")

    def unit(self, system: System) -> str:  # noqa: ARG002
        """Of the quantity."""
        return quantities.SECTION[self.quantity].unit

    def problems(self, system: System) -> Iterator[str]:
        """Whether there is such a rod."""
        if self.rod not in system.rod_names:
            yield unknown("rod", self.rod, system.rod_names, "rods")


@description
class DistanceSensor(Sensor):
    """Distance of two points, or of the surface of a rod to what is near it; or its rate.

    Each is of "ground" (in space), of a body (in its axes) or of a rod. ``at_a`` and ``at_b`` are points, by default
    the centre of mass or the origin, or fractions of the length of rods. A rod without one is taken with its surface,
    all along: the smallest distance to a body by its shape, to another rod, to the solids ``shape`` (in space or in the
    axes of the body), or to a point where one is given. ``radius`` is that of rods without a section, in m. A run ends
    where the distance falls below ``limit``, in m.

    >>> from gyrod.model import Box
    >>> DistanceSensor("gap", "hose", "ground", shape=Box((1, 1, 0.1))).unit(None)
    'm'
    """

    name: str = field(new_name)
    a: str = field(name_of("a body or a rod, or 'ground'"))
    b: str = field(name_of("a body or a rod, or 'ground'"))
    #: (3,), a fraction of a rod, or None.
    at_a: Kept[float | Array | None, float | ArrayLike | None] = field(_place, "m", "", default=None)
    at_b: Kept[float | Array | None, float | ArrayLike | None] = field(_place, "m", "", default=None)
    quantity: str = field(choice(quantities.DISTANCE), default="distance")
    #: What stands for b, or for a where b is the rod.
    shape: Kept[Solid | tuple[Solid, ...] | None, Solid | Iterable[Solid] | None] = field(solids, default=None)
    radius: float | None = field(positive, "m", default=None)
    limit: float | None = field(positive, "m", default=None)

    def _agree(self, problems: Problems, bad: set[str]) -> None:  # noqa: ARG002
        if self.limit is not None and self.quantity != "distance":
            problems.add(f"limit = {self.limit:g} is of the distance, but quantity = {self.quantity!r}; leave it out.")

    def unit(self, system: System) -> str:  # noqa: ARG002
        """Of the quantity."""
        return quantities.DISTANCE[self.quantity].unit

    @property
    def shapes(self) -> tuple[Solid, ...]:
        """The solids, none or several."""
        return () if self.shape is None else (self.shape,) if isinstance(self.shape, Solid) else self.shape

    def ends(self, system: System) -> tuple[tuple[str, Place], tuple[str, Place]] | None:
        """The rod whose surface is meant and what it is near to, name and place each; None between two points."""
        pairs = ((self.a, self.at_a), (self.b, self.at_b))
        for one, other in (pairs, pairs[::-1]):
            if one[0] in system.rod_names and one[1] is None and self._has_surface(system, *other):
                return one, other
        return None

    def _has_surface(self, system: System, name: str, at: object) -> bool:
        if name in system.rod_names:
            return at is None and self.shape is None
        if self.shape is not None or at is not None:
            return at is None or not (isinstance(at, float) or self.shape is not None)
        return name in system.names and bool(system.body(name).shapes)

    def problems(self, system: System) -> Iterator[str]:
        """Whether there are such things, and the places are of them."""
        if (found := self.ends(system)) is None:
            yield from _misplaced(system, "a", self.a, "at_a", self.at_a)
            yield from _misplaced(system, "b", self.b, "at_b", self.at_b)
            if self.shape is not None:
                yield "shape goes with a rod without at_a or at_b, and 'ground' or a body; leave it out."
            return
        (rod, _), (name, _) = found
        if name not in (GROUND, *system.names, *system.rod_names):
            yield unknown("b", name, (GROUND, *system.names, *system.rod_names), "bodies and rods")
        elif name == rod:
            yield f"a and b are both {rod!r}; the distance of a rod to itself is not looked for."
        elif self.radius is None:
            for one in {rod, name} & {*system.rod_names}:
                if system.rod(one).section is None:
                    yield f"radius is missing: rod {one!r} has a stiffness and no section; give radius in m."


@description
class ClipSensor(Sensor):
    """Force or moment of a clip on its rod, in space axes, how far it gives way ("gap", "turn"), what it holds ("at").

    The clip needs a name.
    """

    name: str = field(new_name)
    clip: str = field(name_of("a clip"))
    quantity: str = field(choice(quantities.CLIP), default="force")

    def unit(self, system: System) -> str:  # noqa: ARG002
        """Of the quantity."""
        return quantities.CLIP[self.quantity].unit

    def problems(self, system: System) -> Iterator[str]:
        """Whether there is such a clip."""
        names = [clip.name for clip in system.clips if clip.name is not None]
        if self.clip not in names:
            yield unknown("clip", self.clip, names, "clips with a name")


@description
class ContactSensor(Sensor):
    """What a contact, which needs a name, does to all that is its a: force in space axes, normal force or friction.

    Or "gap", the least one, negative where something presses; "slip", the largest speed along the surface; "count", the
    number of stations that press.
    """

    name: str = field(new_name)
    contact: str = field(name_of("a contact"))
    quantity: str = field(choice(quantities.CONTACT), default="force")

    def unit(self, system: System) -> str:  # noqa: ARG002
        """Of the quantity."""
        return quantities.CONTACT[self.quantity].unit

    def problems(self, system: System) -> Iterator[str]:
        """Whether there is such a contact."""
        names = [contact.name for contact in system.all_contacts if contact.name is not None]
        if self.contact not in names:
            yield unknown("contact", self.contact, names, "contacts with a name")


#: All sensors.
SENSORS: tuple[type[Sensor], ...] = (
    PointSensor,
    RotationSensor,
    JointSensor,
    SectionSensor,
    DistanceSensor,
    ClipSensor,
    ContactSensor,
)
