"""The system: everything together, checked together."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import _check
from gyrod.model import changes as changes_
from gyrod.model.attachments import Holds, Junction, Key, RodEndPlace, check_velocities, junction_parts, resolve
from gyrod.model.bodies import Body
from gyrod.model.elements import Cable, Obstacle
from gyrod.model.ends import End
from gyrod.model.errors import (
    GROUND,
    Description,
    Led,
    ModelError,
    Problems,
    called,
    field_names,
    frozen,
    led,
    positive,
    real,
    shown,
    unknown,
    vector,
)
from gyrod.model.fields import Kept, description, field, holds
from gyrod.model.forces import ForceLaw, Link, SpringDamper, UserForce
from gyrod.model.gaps import GAPS, Gaps, gaps_of, labels, remedy
from gyrod.model.joints import Attachment, Distance, Joint, Spherical, Universal
from gyrod.model.places import Places, Start, attached_places, cross_of_two, places_of, start_of
from gyrod.model.rods import Rod
from gyrod.model.sensors import Sensor
from gyrod.model.splits import notes, split
from gyrod.model.tree import Tree, spanning_forest
from gyrod.rotations.vectors import norms

Array = NDArray[np.float64]
T = TypeVar("T")

#: An inertia whose smallest principal moment is below this fraction of the largest is singular.
SINGULAR = 1e-13
#: Names beyond so many unknown ones get no suggestion: each is compared with all names.
SUGGESTIONS = 20


@holds(shapes=((3,),), variable="t")
def _gravity(field: str, value: Any) -> Array:
    """Gravity, or its value at t = 0."""
    function = value.function if isinstance(value, Led) else value
    if not callable(function):
        return vector(field, value)
    return led(called(field, function, "t", 0.0, vector), function)


@description
class System(Description):
    """Bodies, joints, rods and forces under gravity; free bodies need no joint.

    Joints connect any two bodies, or a body and "ground"; a body may have any number of them, and loops are allowed.
    Ends of rods hang on bodies and on one another. ``gravity`` is constant or a function of time.
    Everything is checked when it is made, and one `ModelError` tells all problems. Whether the partners of joints meet
    at the start is told by `residuals` and `check_consistent`.

    >>> from gyrod.model import Body, Spherical, System
    >>> top = Body("top", mass=1.0, inertia=(1.0, 1.0, 0.5), position=(0, 0, 1), angular_velocity=(0.2, 0, 50))
    >>> system = System(bodies=[top], joints=[Spherical("ground", "top", at=(0, 0, 0))])
    >>> system.names, system.initial_velocities["top"].tolist()
    (('top',), [0.0, -0.2, 0.0])
    """

    bodies: Kept[tuple[Body, ...], Iterable[Body]] = field(None, default=())
    joints: Kept[tuple[Joint, ...], Iterable[Joint]] = field(None, default=())
    rods: Kept[tuple[Rod, ...], Iterable[Rod]] = field(None, default=())
    forces: Kept[tuple[ForceLaw, ...], Iterable[Any]] = field(None, default=())
    #: (3,); of a function of time the value at t = 0.
    gravity: Kept[Array, ArrayLike | Callable[[float], ArrayLike]] = field(_gravity, "m/s^2", default=(0.0, 0.0, -9.81))
    #: Where the joints sit, if that does not follow from the start: what `assemble` has moved keeps its joints.
    attachments: Kept[tuple[Attachment, ...] | None, Sequence[Attachment] | None] = field(None, default=None)
    #: Named outputs, which act on nothing.
    sensors: Kept[tuple[Sensor, ...], Iterable[Sensor]] = field(None, default=())
    #: What a reader of files changed or left out.
    _read_notes: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        problems = Problems("System")
        attachments, gravity = self.attachments, problems.check(_gravity, "gravity", self.gravity)
        members = {name: _members(problems, name, getattr(self, name), kind) for name, kind in _KINDS.items()}
        self._set(**members, gravity=gravity, attachments=None)
        self._set(rods=split(self.rods, self.forces, problems))
        if attachments is not None:
            sound = isinstance(attachments, (tuple, list)) and all(isinstance(x, Attachment) for x in attachments)
            if sound and len(attachments) == len(self.joints):
                self._set(attachments=tuple(attachments))
            else:
                problems.add(f"attachments must be one Attachment for each joint, or None, got {shown(attachments)}.")
        _check_names(problems, self)
        _check_joints(problems, self)
        _check_inertias(problems, self)
        _check_forces(problems, self)
        for i, sensor in enumerate(self.sensors):
            for sentence in sensor.problems(self):
                problems.add(sentence, f"sensors[{i}], {sensor.label}")
        self._set(_holds=resolve(self, problems))
        problems.finish()

    def _remade(self, new: Mapping[str, Any]) -> Self:
        """Everything is checked together; what tells how bodies stand and move is kept if none of them moves."""
        parts = {name: getattr(self, name) for name in field_names(type(self))}
        parts.update(new)
        made = object.__new__(type(self))
        if self.joints and _stands(self, parts):
            names = _OF_THE_START if self._driven else (*_OF_THE_START, "_gaps_without_drives")
            made.__dict__.update({name: getattr(self, name) for name in names})
        type(self).__init__(made, **parts)
        return made._noted(self._read_notes)

    def _noted(self, sentences: tuple[str, ...]) -> Self:
        """Itself, with what a reader of files has to tell."""
        self._set(**({"_read_notes": sentences} if sentences else {}))
        return self

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the bodies, in order."""
        return tuple(body.name for body in self.bodies)

    @cached_property
    def rod_names(self) -> tuple[str, ...]:
        """Names of the rods, in order."""
        return tuple(rod.name for rod in self.rods)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What was done to make the system what it is.

        What a reader of files changed or left out, and rods of elements that have ends where something sets in.
        """
        return (*self._read_notes, *notes(self))

    @property
    def gravity_function(self) -> Callable[[float], ArrayLike] | None:
        """Gravity as the function of time that it was given as; None if it is constant."""
        return self.gravity.function if isinstance(self.gravity, Led) else None

    def body(self, name: str) -> Body:
        """Return the body of that name."""
        if not isinstance(name, str) or name not in self._index:
            raise ValueError(unknown("name", name, self._index))
        return self._index[name]

    def rod(self, name: str) -> Rod:
        """Return the rod of that name."""
        if not isinstance(name, str) or name not in self._rod_index:
            raise ValueError(unknown("name", name, self._rod_index, "rods"))
        return self._rod_index[name]

    @cached_property
    def _index(self) -> dict[str, Body]:
        return {body.name: body for body in self.bodies}

    @cached_property
    def _rod_index(self) -> dict[str, Rod]:
        return {rod.name: rod for rod in self.rods}

    def joint(self, name: str) -> Joint:
        """Return the joint of that name."""
        if not isinstance(name, str) or name not in self._joint_index:
            raise ValueError(unknown("name", name, self._joint_index, "joints with a name"))
        return self._joint_index[name]

    @cached_property
    def _joint_index(self) -> dict[str, Joint]:
        return {joint.name: joint for joint in self.joints if joint.name is not None}

    @cached_property
    def _number(self) -> dict[str, int]:
        """Rows of the bodies in the arrays of the start; ground has the last one."""
        return {name: i for i, name in enumerate((*self.names, GROUND))}

    @cached_property
    def _start(self) -> Start:
        return start_of(self.bodies)

    def __getstate__(self) -> dict[str, Any]:
        """The fields without what was derived from them: that is found by identity, which a copy does not share."""
        kept = {"_read_notes": self._read_notes} if self._read_notes else {}
        return {f.name: getattr(self, f.name) for f in fields(self)} | kept

    def __reduce_ex__(self, protocol: Any) -> Any:
        """What was assembled is assembled anew from the system that it was made of."""
        return super().__reduce_ex__(protocol) if self._origin is None else (System.assembled, (self._origin,))

    # --- what the ends of rods hang on ---

    #: The system that this one was assembled from.
    _origin: ClassVar[System | None] = None

    @cached_property
    def _holds(self) -> Holds:
        return resolve(self, Problems("System")) if self._origin is None else self._origin._holds

    @property
    def rod_ends(self) -> Mapping[Key, RodEndPlace]:
        """Where ends of rods are held by bodies, junctions, or by ground through other rods: (name, 0 or 1) -> place.

        Ends that are given as held by ground itself are not among them.
        """
        return self._holds.places

    @property
    def ground_ends(self) -> Mapping[Key, End]:
        """For each end that ground holds through another rod the `End` on ground that does the same."""
        return self._holds.on_ground

    @property
    def junctions(self) -> tuple[Junction, ...]:
        """Points where ends of rods meet that no body holds; an `assembled` system has bodies in their place."""
        return self._holds.junctions if self._origin is None else ()

    def assembled(self) -> System:
        """Return the same system with a body for each junction, and ball joints for those that something holds."""
        return self if self._origin is not None or not self.junctions else self._assembled

    @cached_property
    def _assembled(self) -> System:
        bodies, joints = junction_parts(self)
        whole = object.__new__(System)
        parts = {f.name: getattr(self, f.name) for f in fields(self)}
        parts |= {"bodies": (*self.bodies, *bodies), "joints": (*self.joints, *joints), "attachments": None}
        whole._set(**parts, _origin=self)
        if self.attachments is not None:
            whole._set(attachments=(*self.attachments, *places_of(whole, joints).attachments()))
        return whole

    @property
    def original(self) -> System:
        """What an `assembled` system was made of; itself otherwise."""
        return self if self._origin is None else self._origin

    @property
    def junction_bodies(self) -> frozenset[str]:
        """Names of the bodies that `assembled` has made of junctions; they have no mass of their own."""
        return frozenset() if self._origin is None else frozenset(x.name for x in self._origin.junctions)

    @property
    def point_bodies(self) -> frozenset[str]:
        """Those of the `junction_bodies` to which rods are hinged only: their rotation means nothing."""
        return frozenset() if self._origin is None else frozenset(x.name for x in self._origin.junctions if not x.turns)

    def attachment(self, joint: Joint) -> Attachment:
        """Return points and frames of a joint in its two partners; the joint may be one that is not in the system."""
        row = self._joint_number.get(id(_check.kind("joint", joint, Joint)))
        return self._places.attachment(row) if row is not None else places_of(self, [joint]).attachment(0)

    @cached_property
    def _joint_number(self) -> dict[int, int]:
        # By identity: joints without a name all have the same hash.
        return {id(joint): i for i, joint in enumerate(self.joints)}

    @cached_property
    def _places(self) -> Places:
        found = places_of(self, self.joints)
        return found if self.attachments is None else attached_places(self, found, self.attachments)

    def mobility(self) -> Any:
        """Return degrees of freedom, redundant constraints and the joints they belong to; print it."""
        from gyrod import equations

        return equations.mobility(self)

    # --- files ---

    def save(self, path: str | os.PathLike[str], run: Any = None) -> None:
        """Write a model file, YAML or JSON by its extension, of which `gyrod.load` makes an equal system.

        ``run``, a `gyrod.files.RunOptions`, is written along. Python functions cannot be written: a `ModelError` names
        them all (`Expression` takes their place).
        """
        from gyrod import files

        files.save(self, path, run)

    # --- changed copies ---

    def with_(self, changes: Mapping[str, Any] | None = None, /, **values: Any) -> System:
        """A copy with other values, by paths or by fields of the system; checked anew, all problems at once.

        A path begins with the name of a body, rod, joint, force or sensor, with a list and an index, or with a field
        of the system. What followed from changed values follows anew.

        >>> from gyrod.model import Body, System
        >>> system = System([Body("bob", mass=0.2, inertia=(1, 1, 1))])
        >>> moon = system.with_({"bob.mass": 0.3, "bob.position[2]": 1.0}, gravity=(0, 0, -1.62))
        >>> moon.get("bob.mass"), moon.get("bob.position").tolist(), system.get("bob.mass")
        (0.3, [0.0, 0.0, 1.0], 0.2)
        """
        return changes_.changed_system(self, changes, **values)

    def get(self, path: str) -> Any:
        """Return what stands at a path, as in `with_`."""
        return changes_.value_at(self, path)

    def paths(self) -> dict[str, Any]:
        """Return all paths with numbers that can be changed, and these numbers; of arrays the whole."""
        return changes_.numeric_paths(self)

    def tree(self) -> Tree:
        """Return the spanning forest of the bodies: breadth first from ground over the joints, in their order.

        A `Distance` is never in it. What is not connected to ground hangs on its first body.
        """
        return self._tree

    @cached_property
    def _tree(self) -> Tree:
        return spanning_forest(self)

    @cached_property
    def fixed_points(self) -> dict[str, Array]:
        """For each body whose only joint is a `Spherical` to ground, the point in space, (3,)."""
        count = _joints_of(self)
        pins = [joint for joint in self.joints if isinstance(joint, Spherical) and GROUND in joint.bodies]
        pairs = [(name, joint) for joint in pins for name in joint.bodies if count.get(name) == 1]
        return {name: _pin(self, joint) for name, joint in pairs}

    @cached_property
    def initial_velocities(self) -> dict[str, Array]:
        """Velocity of each body's centre of mass at the start, (3,).

        As given; where it is zero and the body hangs on a joint of the `tree`, the one that its rotation and the
        motion of its parent demand if nothing slides.
        """
        found = {body.name: body.velocity for body in self.bodies}
        tree, number = self.tree(), self._number
        for name in tree.order:
            joint, parent = tree.joint[name], tree.parent[name]
            if joint is None or parent is None or np.any(found[name]):
                continue
            row = self._joint_number[id(joint)]
            P = self._places.point_b[row] if joint.b == name else self._places.point_a[row]
            i, start, omega = number[name], self._start, self._start.omega
            v = -cross_of_two(omega[i], P - start.position[i])
            if parent != GROUND:
                p = number[parent]
                v = v + found[parent] + cross_of_two(omega[p], P - start.position[p])
            found[name] = frozen(v)
        return found

    def residuals(self) -> dict[str, tuple[float, float]]:
        """For each joint, by its label, the largest gap at the start: of position (m or rad), of velocity (m/s, rad/s).

        Driven joints are taken at t = 0. Unnamed joints of the same label are told apart by their place in the list.
        """
        gaps = self._gaps()
        position = np.maximum(gaps.shift, gaps.turn)
        velocity = np.maximum(gaps.slide, gaps.spin)
        return {x: (float(p), float(v)) for x, p, v in zip(labels(self), position, velocity, strict=True)}

    def check_consistent(self, *, velocities: bool = True) -> None:
        """Raise a `ModelError` that tells all joints, and ends of rods, whose partners do not meet at the start."""
        problems = Problems("System")
        for i, found in enumerate(zip(*self._gaps().told(), strict=True)) if self.joints else ():
            for (what, of), (gap, slack) in zip(GAPS, found, strict=True):
                if gap > slack and (velocities or what != "velocity"):
                    told = f"{what} gap at the start of {gap:.6g} {of}: {remedy(self.joints[i], what, of)}."
                    problems.add(told, labels(self)[i])
        if velocities:
            check_velocities(problems, self)
        problems.finish()

    def _gaps(self) -> Gaps:
        # Drives are functions of the user, which may tell something else the next time.
        return gaps_of(self) if self._driven else self._gaps_without_drives

    @property
    def _driven(self) -> bool:
        return any(joint.driven for joint in self.joints)

    @cached_property
    def _gaps_without_drives(self) -> Gaps:
        return gaps_of(self)

    def point(self, name: str, at: ArrayLike) -> Array:
        """Point ``at`` of a body (body axes from its centre of mass; space axes for "ground") in space at the start."""
        local = vector("at", at)
        if name == GROUND:
            return local
        i = self._number[self.body(name).name]
        return np.asarray(self._start.position[i] + self._start.matrix[i] @ local)

    @property
    def linked(self) -> bool:
        """Whether a cable, a spring or a bushing links a body with a rod."""
        return any(force.rods and any(name != GROUND for name in force.bodies) for force in self.forces)

    def spring_length(self, spring: SpringDamper) -> float:
        """Unstretched length of a spring: the given one, or its length at the start."""
        length = _check.kind("spring", spring, SpringDamper).length
        return length if length is not None else math.dist(*self.link_points(spring))

    def cable_length(self, cable: Cable) -> float:
        """Length at which a cable gets taut: the given one, or its length at the start."""
        length = _check.kind("cable", cable, Cable).length
        return length if length is not None else math.dist(*self.link_points(cable))

    def link_points(self, link: Link) -> tuple[Array, Array]:
        """Both ends of a spring, a bushing or a cable in space at the start."""
        a, b = (
            self.rod(name).point(*at) if isinstance(at, tuple) else self.point(name, np.zeros(3) if at is None else at)
            for _, name, at in _check.kind("link", link, Link).ends
        )
        return a, b


# --- checks ----------------------------------------------------------------------------------------------------------


#: What the members of a list are.
_KINDS: dict[str, type[Any]] = {"bodies": Body, "joints": Joint, "rods": Rod, "forces": ForceLaw, "sensors": Sensor}
_WANTED: dict[type[Any], str] = {
    Body: "a Body",
    Joint: "a joint such as Spherical",
    Rod: "a Rod",
    ForceLaw: "a force such as Force",
    Sensor: "a sensor such as PointSensor",
}


def _members(problems: Problems, field: str, values: Any, kind: type[T]) -> tuple[T, ...]:
    """The members of a list that are what they should be; the others are problems."""
    wanted = _WANTED[kind]
    try:
        if isinstance(values, str):
            raise TypeError
        listed = list(values)
    except TypeError:
        problems.add(f"{field} must be a list, each member {wanted}, got {shown(values)}.")
        return ()
    members = []
    for i, value in enumerate(listed):
        if isinstance(value, kind):
            members.append(value)
        elif kind is ForceLaw and callable(value) and not isinstance(value, type):
            members += _user_force(problems, f"forces[{i}]", value)
        else:
            problems.add(f"{field}[{i}] must be {wanted}, got {shown(value)}.")
    return tuple(members)


def _user_force(problems: Problems, place: str, function: Any) -> list[Any]:
    """A function that carries the name of its body becomes a user force; others need one."""
    if not hasattr(function, "body"):
        problems.add(
            f"{place} = {shown(function)} is a function that does not say on which body it acts; "
            "wrap it as UserForce(body, function)."
        )
        return []
    try:
        return [UserForce(function.body, function)]
    except ModelError as error:
        problems.add(f"{place}, a function with the attribute body, fails: {error}")
        return []


def _check_names(problems: Problems, system: System) -> None:
    """Names are unique, and what is named exists."""
    for i, body in enumerate(system.bodies):
        if body.mass == 0.0:
            problems.add(
                f"bodies[{i}] = {body.name!r} is a junction of an assembled system; change the system that it was "
                "assembled from."
            )
    bearers: dict[str, list[str]] = {}
    for listed in _KINDS:
        for i, member in enumerate(getattr(system, listed)):
            if member.name is not None:
                bearers.setdefault(member.name, []).append(f"{listed}[{i}]")
    for name, places in bearers.items():
        if len(places) > 1:
            problems.add(f"name = {name!r} is borne by {' and '.join(places)}; each name may be used once.")
    strange = 0
    for listed in ("joints", "forces"):
        for i, member in enumerate(getattr(system, listed)):
            owner = f"{listed}[{i}], {member.label}"
            if isinstance(member, Link):
                strange += _check_link_names(problems, system, member, owner, strange)
                continue
            if isinstance(member, Obstacle) and not system.rods:
                problems.add("it is an obstacle for rods; the system has no rods.", owner)
                continue
            for name in getattr(member, "rods", ()):
                if name not in system._rod_index:
                    strange += 1
                    problems.add(unknown("rod", name, system._rod_index, "rods", strange <= SUGGESTIONS), owner)
            if not member.bodies:
                continue
            single = len(member.bodies) == 1
            for argument, name in zip(("body",) if single else ("a", "b"), member.bodies, strict=True):
                if name not in system._index and (single or name != GROUND):
                    strange += 1
                    allowed = [*system._index] if single else [GROUND, *system._index]
                    problems.add(unknown(argument, name, allowed, hint=strange <= SUGGESTIONS), owner)


def _check_link_names(problems: Problems, system: System, link: Link, owner: str, before: int) -> int:
    """Ends of a link exist and are given as what they are; returns the number of unknown names."""
    strange = 0
    for argument, name, at in link.ends:
        field, on_rod = f"at_{argument}", isinstance(at, tuple)
        if name in system._index and on_rod:
            problems.add(
                f"{field} = {shown(at)} is a place in a rod, but {name!r} is a body; give a point in its axes, three "
                "numbers, or leave it out for the centre of mass.",
                owner,
            )
        elif name in system._rod_index and not on_rod:
            given = "is missing" if at is None else f"= {shown(at)} is a point"
            problems.add(
                f"{field} {given}, but {name!r} is a rod; give a fraction of its length, from 0 to 1, or "
                "(fraction, (a1, a2)).",
                owner,
            )
        elif name != GROUND and name not in system._index and name not in system._rod_index:
            strange += 1
            known = [GROUND, *system._index, *system._rod_index]
            problems.add(unknown(argument, name, known, hint=before + strange <= SUGGESTIONS), owner)
    return strange


def _check_joints(problems: Problems, system: System) -> None:
    """Joints connect two different things, their drives work at t = 0, and those with a direction have one."""
    sound = []
    for i, joint in enumerate(system.joints):
        owner = f"joints[{i}], {joint.label}"
        if joint.a == joint.b:
            problems.add(f"it connects {joint.a!r} with itself; a and b must differ.", owner)
            continue
        drive_works = _drive_works(problems, owner, joint)
        known = all(name == GROUND or name in system._index for name in joint.bodies)
        if known and drive_works and isinstance(joint, (Distance, Universal)):
            sound.append((owner, joint))
    if not sound:
        return
    places = places_of(system, [joint for _, joint in sound])
    size = 1e-14 * (places.sizes(system) + 1e-286)
    apart = norms(places.point_b - places.point_a)
    # The second axis of a universal joint has a part perpendicular to the first one.
    lean = np.abs(np.einsum("ki,ki->k", places.frame_a[:, :, 2], places.frame_b[:, :, 0]))
    for (owner, joint), gap, tiny, n, m, cosine in zip(
        sound, apart, size, places.frame_a[:, :, 2], places.frame_b[:, :, 0], lean, strict=True
    ):
        if isinstance(joint, Distance) and gap <= tiny:
            problems.add(
                "at and to coincide at the start, so it has no direction; move a point, or use Spherical.", owner
            )
        elif isinstance(joint, Universal) and cosine > 1.0 - 1e-9:
            problems.add(
                f"its axes must be perpendicular, but are parallel at the start: {shown(n)} and {shown(m)} in space "
                "enclose 0 or 180 degrees; turn one of them.",
                owner,
            )


def _drive_works(problems: Problems, owner: str, joint: Joint) -> bool:
    """Whether the functions of a drive return numbers at t = 0."""
    before = len(problems.sentences)
    field = "length" if isinstance(joint, Distance) else "drive"
    law = joint.law or (None, None, None)
    for i, function in enumerate(law):
        if function is None:
            continue
        given = isinstance(getattr(joint, field), tuple)
        place = f"{field}[{i}]" if given else field + ("", " (derivative)", " (second derivative)")[i]
        check = positive if isinstance(joint, Distance) and i == 0 else real
        try:
            called(place, function, "t", 0.0, check)
        except ValueError as error:
            problems.add(str(error), owner)
            if not given:  # the derivatives of what fails fail too
                break
    return len(problems.sentences) == before


def _check_inertias(problems: Problems, system: System) -> None:
    """The inertia determines the rotation of bodies that are free or pinned; other joints may do it in its place."""
    pins, count = system.fixed_points, _joints_of(system)
    checked = [body for body in system.bodies if body.name in pins or not count.get(body.name)]
    if not checked:
        return
    moments = np.linalg.eigvalsh([_inertia_about(body, pins.get(body.name)) for body in checked])
    for i in np.flatnonzero(moments[:, 0] <= SINGULAR * moments[:, 2]):
        at = pins.get(checked[i].name)
        where = "the centre of mass" if at is None else f"its fixed point at = {shown(at)}"
        cure = (
            "give it three positive moments, or a joint that makes a smaller inertia meaningful"
            if at is None
            else "its rotation is not determined: give it a larger inertia"
        )
        problems.add(
            f"inertia about {where} is singular (principal moments {shown(moments[i])}); {cure}.", _of(checked[i].name)
        )


def _of(name: str) -> str:
    return f"Body {name!r}"


def _inertia_about(body: Body, at: Array | None) -> Array:
    if at is None:
        return body.inertia
    c = body.matrix.T @ (body.position - at)
    return np.asarray(body.inertia + body.mass * (c @ c * np.eye(3) - np.outer(c, c)))


def _check_forces(problems: Problems, system: System) -> None:
    """What connects two things connects different ones, and springs, cables and obstacles have a direction."""
    for i, force in enumerate(system.forces):
        owner = f"forces[{i}], {force.label}"
        if isinstance(force, Link):
            _check_link(problems, system, force, owner)
        elif isinstance(force, Obstacle):
            _check_obstacle(problems, system, force, owner)


def _check_link(problems: Problems, system: System, link: Link, owner: str) -> None:
    known = {GROUND, *system._index}
    if not known.issuperset(link.bodies) or not set(system._rod_index).issuperset(link.rods):
        return
    if link.a == link.b and not link.rods:
        problems.add(f"it connects {link.a!r} with itself, which does nothing; a and b must differ.", owner)
        return
    a, b = system.link_points(link)
    arms = [np.abs(at) for _, _, at in link.ends if isinstance(at, np.ndarray)]
    if math.dist(a, b) > 1e-14 * max(1e-300, *np.abs([a, b, *arms]).flat):
        return
    if isinstance(link, SpringDamper):
        smooth = link.length == 0.0 and link.damping == 0.0
        idle = link.stiffness == 0.0 and link.damping == 0.0
        if not smooth and not idle:
            problems.add(
                f"its ends coincide at the start: at_a = {shown(link.at_a)} of {link.a!r} and at_b = "
                f"{shown(link.at_b)} of {link.b!r} both lie at {shown(a)} in space, so it has no direction; "
                "move an end, or use a Bushing.",
                owner,
            )
    elif isinstance(link, Cable) and not link.length:
        problems.add(
            f"its ends coincide at the start, at {shown(a)} in space, so it has no direction; move an end, or give a "
            "length at which it gets taut.",
            owner,
        )


def _check_obstacle(problems: Problems, system: System, obstacle: Obstacle, owner: str) -> None:
    """No vertex starts where an obstacle cannot say to which side it should push."""
    point, axis, radius = obstacle.parts()
    for rod in system.rods:
        if radius == 0.0 or not obstacle.acts_on(rod.name):
            continue
        arm = rod.positions - point
        apart = np.linalg.norm(arm - np.outer(arm @ axis, axis), axis=1)
        k = int(np.argmin(apart))
        if apart[k] <= 1e-9 * radius:
            where = "on its axis" if axis.any() else "at its centre"
            problems.add(
                f"rod {rod.name!r} starts {where}, at s = {rod.fractions[k]:.6g}, {shown(rod.positions[k])} in space; "
                "move it out of the obstacle.",
                owner,
            )


# --- the start -------------------------------------------------------------------------------------------------------


def _joints_of(system: System) -> dict[str, int]:
    """For each body with joints, their number."""
    count: dict[str, int] = {}
    for joint in system.joints:
        for name in joint.bodies:
            if name in system._index:
                count[name] = count.get(name, 0) + 1
    return count


def _pin(system: System, joint: Spherical) -> Array:
    """Point of a joint with ground, in space."""
    if joint.at is not None:
        return joint.at
    ground, (other, local) = joint.at_a, (joint.b, joint.at_b)
    if joint.a != GROUND:
        ground, (other, local) = joint.at_b, (joint.a, joint.at_a)
    if ground is not None:
        return ground
    assert local is not None
    return frozen(system.point(other, local))


def _stands(system: System, parts: Mapping[str, Any]) -> bool:
    """Whether bodies stand, move and are joined at the start as those of a system: what stays is the same object."""
    bodies, joints = parts["bodies"], parts["joints"]
    if not isinstance(bodies, tuple) or not isinstance(joints, tuple) or parts["attachments"] is not system.attachments:
        return False
    if len(bodies) != len(system.bodies) or len(joints) != len(system.joints):
        return False
    told = ("name", "position", "orientation", "velocity", "angular_velocity")
    pairs = zip(bodies, system.bodies, strict=True)
    return all(a is b for a, b in zip(joints, system.joints, strict=True)) and all(
        a is b or all(getattr(a, field, None) is getattr(b, field) for field in told) for a, b in pairs
    )


#: What follows from how bodies stand and move at the start, and from their joints, alone.
_OF_THE_START = (
    "_number", "_start", "_joint_number", "_places", "_tree", "fixed_points", "initial_velocities"
)  # fmt: skip
