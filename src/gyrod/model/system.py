"""The system: everything together, checked together."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check, rotations
from gyrod._check import Array
from gyrod.model import changes as changes_
from gyrod.model.appearance import Solid
from gyrod.model.attachments import Holds, Junction, Key, RodEndPlace, junction_parts, resolve
from gyrod.model.bodies import Body
from gyrod.model.clips import Clip
from gyrod.model.contacts import Contact
from gyrod.model.elements import Cable, Obstacle
from gyrod.model.ends import End
from gyrod.model.errors import (
    GROUND,
    Description,
    Led,
    Problems,
    called,
    field_names,
    frozen,
    led,
    shown,
    unknown,
    vector,
)
from gyrod.model.fields import Kept, description, field, holds
from gyrod.model.forces import ForceLaw, Link, SpringDamper
from gyrod.model.joints import Attachment, Joint, Spherical
from gyrod.model.meshes import apply, apply_frames
from gyrod.model.paths import align_tangent
from gyrod.model.places import Places, Start, attached_places, cross_of_two, places_of, start_of
from gyrod.model.rods import Rod
from gyrod.model.sensors import Sensor
from gyrod.model.splits import notes, split
from gyrod.model.surfaces import Boundary
from gyrod.model.system_checks import (
    MEMBERS,
    check_forces,
    check_inertias,
    check_joints,
    check_names,
    joints_of,
    members,
)
from gyrod.model.tree import Tree, spanning_forest

if TYPE_CHECKING:
    from typing import SupportsIndex

    from gyrod.equations.mechanisms import Mobility
    from gyrod.files.options import RunOptions


@holds(shapes=((3,),), variable="t")
def _gravity(field: str, value: object) -> Array:
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
    Everything is checked when it is made, and one `ModelError` lists all problems. Whether the partners of joints meet
    at the start is what `residuals` and `check_consistent` report.

    >>> from gyrod.model import Body, Spherical, System
    >>> top = Body("top", mass=1.0, inertia=(1.0, 1.0, 0.5), position=(0, 0, 1), angular_velocity=(0.2, 0, 50))
    >>> system = System(bodies=[top], joints=[Spherical("ground", "top", at=(0, 0, 0))])
    >>> system.names, system.initial_velocities["top"].tolist()
    (('top',), [0.0, -0.2, 0.0])
    """

    bodies: Kept[tuple[Body, ...], Iterable[Body]] = field(None, default=())
    joints: Kept[tuple[Joint, ...], Iterable[Joint]] = field(None, default=())
    rods: Kept[tuple[Rod, ...], Iterable[Rod]] = field(None, default=())
    forces: Kept[tuple[ForceLaw, ...], Iterable[ForceLaw | Callable[..., object]]] = field(None, default=())
    #: (3,); of a function of time the value at t = 0.
    gravity: Kept[Array, ArrayLike | Callable[[float], ArrayLike]] = field(_gravity, "m/s^2", default=(0.0, 0.0, -9.81))
    #: Where the joints sit, if that does not follow from the start: what `assemble` has moved keeps its joints.
    attachments: Kept[tuple[Attachment, ...] | None, Sequence[Attachment] | None] = field(None, default=None)
    #: Named outputs, which act on nothing.
    sensors: Kept[tuple[Sensor, ...], Iterable[Sensor]] = field(None, default=())
    #: What may touch what.
    contacts: Kept[tuple[Contact, ...], Iterable[Contact]] = field(None, default=())
    #: What a reader of files changed or left out.
    _read_notes: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        problems = Problems("System")
        attachments, gravity = self.attachments, problems.check(_gravity, "gravity", self.gravity)
        lists: dict[str, tuple[object, ...]] = {
            name: members(problems, name, getattr(self, name), kind) for name, kind in MEMBERS.items()
        }
        self._set(**lists, gravity=gravity, attachments=None)
        self._set(rods=split(self.rods, self.forces, problems))
        if attachments is not None:
            sound = isinstance(attachments, (tuple, list)) and all(isinstance(x, Attachment) for x in attachments)
            if sound and len(attachments) == len(self.joints):
                self._set(attachments=tuple(attachments))
            else:
                problems.add(f"attachments must be one Attachment for each joint, or None, got {shown(attachments)}.")
        check_names(problems, self)
        check_joints(problems, self)
        check_inertias(problems, self)
        check_forces(problems, self)
        for i, sensor in enumerate(self.sensors):
            for sentence in sensor.problems(self):
                problems.add(sentence, f"sensors[{i}], {sensor.label}")
        for i, contact in enumerate(self.contacts):
            for sentence in contact.problems(self):
                problems.add(sentence, f"contacts[{i}], {contact.label}")
        self._set(_holds=resolve(self, problems))
        problems.finish()

    def _remade(self, new: Mapping[str, object]) -> Self:
        """Everything is checked together; what says how bodies stand and move is kept if none of them moves."""
        parts = {name: getattr(self, name) for name in field_names(type(self))}
        parts.update(new)
        made = object.__new__(type(self))
        if self.joints and _stands(self, parts):
            made.__dict__.update({name: getattr(self, name) for name in _OF_THE_START})
            if "_gaps_without_drives" in vars(self):
                made.__dict__["_gaps_without_drives"] = self._gaps_without_drives
        type(self).__init__(made, **parts)
        return made._noted(self._read_notes)

    def _noted(self, sentences: tuple[str, ...]) -> Self:
        """Itself, with what a reader of files has to report."""
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

        What a reader of files changed or left out, rods of elements that have ends where something sets in, and clips
        that draw a rod away from where it lies.
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
    def clips(self) -> tuple[Clip, ...]:
        """The clips among the forces."""
        return tuple(force for force in self.forces if isinstance(force, Clip))

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

    def __getstate__(self) -> dict[str, object]:
        """The fields without what was derived from them: that is found by identity, which a copy does not share."""
        kept = {"_read_notes": self._read_notes} if self._read_notes else {}
        return {f.name: getattr(self, f.name) for f in fields(self)} | kept

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
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
    def rod_points(self) -> Mapping[tuple[str, int], RodEndPlace]:
        """Where junctions hold rods between their ends, where others are joined: (name, vertex) -> place."""
        return self._holds.points

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

    def mobility(self) -> Mobility:
        """Return degrees of freedom, redundant constraints and the joints they belong to; print it."""
        from gyrod import equations

        return equations.mobility(self)

    # --- files ---

    def save(self, path: str | os.PathLike[str], run: RunOptions | None = None) -> None:
        """Write a model file, YAML or JSON by its extension, of which `gyrod.load` makes an equal system.

        ``run``, a `gyrod.files.RunOptions`, is written along. Python functions cannot be written: a `ModelError` names
        them all (`Expression` takes their place).
        """
        from gyrod import files

        files.save(self, path, run)

    # --- changed copies ---

    def with_(self, changes: Mapping[str, object] | None = None, /, **values: object) -> System:
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
        """Return the value at a path, as in `with_`."""
        return changes_.value_at(self, path)

    def paths(self) -> dict[str, ArrayLike]:
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
        count = joints_of(self)
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

        Driven joints are taken at t = 0. Unnamed joints of the same label are distinguished by their place in the list.
        """
        from gyrod.equations import gaps

        return gaps.residuals(self)

    @cached_property
    def joint_labels(self) -> tuple[str, ...]:
        """What errors call the joints; those of the same label are named with their place in the list."""
        labels = [joint.label for joint in self.joints]
        count = Counter(labels)
        return tuple(x if count[x] == 1 else f"joints[{i}], {x}" for i, x in enumerate(labels))

    def check_consistent(self, *, velocities: bool = True) -> None:
        """Raise a `ModelError` that lists all joints, and ends of rods, whose partners do not meet at the start."""
        from gyrod.equations import gaps

        gaps.check_consistent(self, velocities=velocities)

    def _gaps(self) -> Array:
        from gyrod.equations import gaps

        # Drives are functions of the user, which may return something else the next time.
        return gaps.gaps_of(self) if self._driven else self._gaps_without_drives

    @property
    def _driven(self) -> bool:
        return any(joint.driven for joint in self.joints)

    @cached_property
    def _gaps_without_drives(self) -> Array:
        from gyrod.equations import gaps

        return gaps.gaps_of(self)

    def point(self, name: str, at: ArrayLike) -> Array:
        """Point ``at`` of a body (body axes from its centre of mass; space axes for "ground") in space at the start."""
        local = vector("at", at)
        if name == GROUND:
            return local
        i = self._number[self.body(name).name]
        return np.asarray(self._start.position[i] + self._start.matrix[i] @ local)

    @property
    def linked(self) -> bool:
        """Whether a cable, a spring or a bushing links a body with a rod, or a body may touch something."""
        return self.touching or any(
            force.rods and any(name != GROUND for name in force.bodies) for force in self.forces
        )

    @property
    def touched(self) -> tuple[Boundary | Solid, ...]:
        """Surfaces and solids in space that something may touch, each once."""
        return tuple({x.b: None for x in self.all_contacts if not isinstance(x.b, tuple)})

    @cached_property
    def all_contacts(self) -> tuple[Contact, ...]:
        """Its contacts, and behind them those that its obstacles are."""
        obstacles = (x for x in self.forces if isinstance(x, Obstacle))
        return (*self.contacts, *(x.contact(self.rod_names) for x in obstacles))

    @property
    def touching(self) -> bool:
        """Whether a body may touch something."""
        return any(
            name in self._index
            for contact in self.contacts
            for name in (*contact.members(self), *(contact.b if isinstance(contact.b, tuple) else ()))
        )

    @cached_property
    def joined_rods(self) -> frozenset[frozenset[str]]:
        """Pairs of rods of which ends meet in a junction."""
        meet = ({name for name, _, _ in junction.members} for junction in (self._origin or self).junctions)
        return frozenset(frozenset(pair) for names in meet for pair in combinations(names, 2))

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

    def clip_place(self, clip: Clip) -> tuple[Any, Array]:
        """Where and how a clip holds its rod, in the axes of what it is on: point and axes d1, d2, d3 as columns.

        The point on another rod is a fraction of its length and an offset in its section, (3,).
        """
        x, q = _section(self.rod(clip.rod), clip.at)
        on_rod = isinstance(clip.point, float)
        origin, turn = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
        if on_rod:
            origin, turn = _section(self.rod(clip.to), clip.point)
        elif clip.to != GROUND:
            origin, turn = self.body(clip.to).position, self.body(clip.to).orientation
        back = rotations.conjugate(turn)
        local, frame = rotations.rotate(back, x - origin), rotations.multiply(back, q)
        if clip.frame is not None:
            frame = clip.frame
        elif clip.axis is not None:
            frame = align_tangent(frame, clip.axis)
        place = (clip.point, local) if on_rod else local if clip.point is None else clip.point
        return place, rotations.matrix_from_quaternion(frame)


# --- the start -------------------------------------------------------------------------------------------------------


def _section(rod: Rod, s: float) -> tuple[Array, Array]:
    """Point and frame of a rod at the start, at a fraction of its length; of a grid the frame of the segment."""
    if rod.degree is None:
        return rod.point(s), rod.quaternions[rod.segment_at(s)[0]]
    at = rod.mesh.vertex_at([s])
    return apply(*at, rod.positions)[0], apply_frames(*at, rod.quaternions)[0]


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


def _stands(system: System, parts: Mapping[str, object]) -> bool:
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
