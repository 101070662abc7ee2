"""The system: everything together, checked together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod.model.bodies import Body
from gyrod.model.errors import GROUND, Description, ModelError, Problems, shown, vector
from gyrod.model.forces import Bushing, ForceLaw, SpringDamper, UserForce
from gyrod.model.joints import Joint
from gyrod.model.rods import Rod

Array = NDArray[np.float64]
T = TypeVar("T")

#: An inertia whose smallest principal moment is below this fraction of the largest is singular.
SINGULAR = 1e-13
#: Relative difference that the velocity of a pinned body may have from the one its rotation demands.
VELOCITY_SLACK = 1e-9


@dataclass(frozen=True, init=False, eq=False)
class System(Description):
    """Bodies, joints, rods and forces under gravity; free bodies need no joint.

    Everything is checked when it is made, and one `ModelError` tells all problems.

    >>> from gyrod.model import Body, Spherical, System
    >>> top = Body("top", mass=1.0, inertia=(1.0, 1.0, 0.5), position=(0, 0, 1), angular_velocity=(0.2, 0, 50))
    >>> system = System(bodies=[top], joints=[Spherical("ground", "top", at=(0, 0, 0))])
    >>> system.names, system.initial_velocities["top"].tolist()
    (('top',), [0.0, -0.2, 0.0])
    """

    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    rods: tuple[Rod, ...]
    forces: tuple[ForceLaw, ...]
    #: (3,).
    gravity: Array

    def __init__(
        self,
        bodies: Iterable[Body] = (),
        joints: Iterable[Joint] = (),
        rods: Iterable[Rod] = (),
        forces: Iterable[Any] = (),
        gravity: ArrayLike = (0.0, 0.0, -9.81),
    ) -> None:
        problems = Problems("System")
        self._set(
            bodies=_members(problems, "bodies", bodies, Body),
            joints=_members(problems, "joints", joints, Joint),
            rods=_members(problems, "rods", rods, Rod),
            forces=_members(problems, "forces", forces, ForceLaw),
            gravity=problems.check(vector, "gravity", gravity),
        )
        _check_names(problems, self)
        _check_joints(problems, self)
        _check_motion(problems, self)
        _check_forces(problems, self)
        problems.finish()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bodies, in order."""
        return tuple(body.name for body in self.bodies)

    @property
    def rod_names(self) -> tuple[str, ...]:
        """Names of the rods, in order."""
        return tuple(rod.name for rod in self.rods)

    def body(self, name: str) -> Body:
        """Return the body of that name."""
        if name not in self._index:
            raise ValueError(_unknown("name", name, self._index))
        return self._index[name]

    def rod(self, name: str) -> Rod:
        """Return the rod of that name."""
        if name not in self._rod_index:
            raise ValueError(_unknown("name", name, self._rod_index, "rods"))
        return self._rod_index[name]

    @cached_property
    def _index(self) -> dict[str, Body]:
        return {body.name: body for body in self.bodies}

    @cached_property
    def _rod_index(self) -> dict[str, Rod]:
        return {rod.name: rod for rod in self.rods}

    @cached_property
    def fixed_points(self) -> dict[str, Array]:
        """For each body that is pinned to ground, the point in space, (3,)."""
        pairs = [(joint.at, name) for joint in self.joints for name in joint.bodies if GROUND in joint.bodies]
        return {name: at for at, name in pairs if name in self._index}

    @cached_property
    def initial_velocities(self) -> dict[str, Array]:
        """Velocity of each body's centre of mass at the start, (3,): as given, or omega x (position - fixed point)."""
        at = self.fixed_points
        return {b.name: _turning(b, at[b.name]) if b.name in at else b.velocity for b in self.bodies}

    def point(self, name: str, at: ArrayLike) -> Array:
        """Point ``at`` of a body (body axes from its centre of mass; space axes for "ground") in space at the start."""
        local = vector("at", at)
        if name == GROUND:
            return local
        body = self.body(name)
        return np.asarray(body.position + body.matrix @ local)

    def spring_length(self, spring: SpringDamper) -> float:
        """Unstretched length of a spring: the given one, or its length at the start."""
        if spring.length is not None:
            return spring.length
        return math.dist(self.point(spring.a, spring.at_a), self.point(spring.b, spring.at_b))


# --- checks ----------------------------------------------------------------------------------------------------------


def _members(problems: Problems, field: str, values: Any, kind: type[T]) -> tuple[T, ...]:
    """The members of a list that are what they should be; the others are problems."""
    wanted = {
        Body: "a Body",
        Joint: "a joint such as Spherical",
        Rod: "a Rod",
        ForceLaw: "a force such as Force",
    }[kind]
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
    bearers: dict[str, list[str]] = {}
    for field in ("bodies", "joints", "rods", "forces"):
        for i, member in enumerate(getattr(system, field)):
            if member.name is not None:
                bearers.setdefault(member.name, []).append(f"{field}[{i}]")
    for name, places in bearers.items():
        if len(places) > 1:
            problems.add(f"name = {name!r} is borne by {' and '.join(places)}; each name may be used once.")
    for field in ("joints", "forces"):
        for i, member in enumerate(getattr(system, field)):
            owner = f"{field}[{i}], {member.label}"
            for name in getattr(member, "rods", ()):
                if name not in system._rod_index:
                    problems.add(_unknown("rod", name, system._rod_index, "rods"), owner)
            if not member.bodies:
                continue
            single = len(member.bodies) == 1
            for argument, name in zip(("body",) if single else ("a", "b"), member.bodies, strict=True):
                if name not in system._index and (single or name != GROUND):
                    allowed = [*system._index] if single else [GROUND, *system._index]
                    problems.add(_unknown(argument, name, allowed), owner)


def _unknown(argument: str, name: object, names: Iterable[str], kind: str = "bodies") -> str:
    """Sentence about a name that does not exist: what does, and the nearest."""
    known = list(names)
    if not known:
        return f"{argument} = {name!r} is unknown; the system has no {kind}."
    listed = ", ".join(map(repr, known[:12])) + (f" and {len(known) - 12} more" if len(known) > 12 else "")
    near = get_close_matches(str(name), known, n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{argument} = {name!r} is unknown; it can be {listed}.{hint}"


def _check_joints(problems: Problems, system: System) -> None:
    """One joint at most for each body, and to ground, for now."""
    count: dict[str, list[str]] = {}
    for i, joint in enumerate(system.joints):
        owner = f"joints[{i}], {joint.label}"
        if joint.a == joint.b:
            problems.add(f"it connects {joint.a!r} with itself; a and b must differ.", owner)
            continue
        if GROUND not in joint.bodies:
            problems.add("joints between two bodies are not available yet; a or b must be 'ground'.", owner)
        for name in joint.bodies:
            if name in system._index:
                count.setdefault(name, []).append(f"joints[{i}]")
    for name, places in count.items():
        if len(places) > 1:
            problems.add(f"it has {len(places)} joints ({', '.join(places)}); at most one is supported yet.", _of(name))


def _check_motion(problems: Problems, system: System) -> None:
    """Rotation is determined by the inertia, and the velocity of a pinned body fits its rotation."""
    pins = system.fixed_points
    for body in system.bodies:
        at = pins.get(body.name)
        moments = np.linalg.eigvalsh(_inertia_about(body, at))
        if moments[0] <= SINGULAR * moments[2]:
            where = "the centre of mass" if at is None else f"its fixed point at = {shown(at)}"
            cure = (
                "give it three positive moments, or a joint that makes a smaller inertia meaningful"
                if at is None
                else "its rotation is not determined: give it a larger inertia"
            )
            problems.add(
                f"inertia about {where} is singular (principal moments {shown(moments)}); {cure}.", _of(body.name)
            )
        if at is None or not np.any(body.velocity):
            continue
        needed = _turning(body, at)
        speed = math.hypot(*body.angular_velocity)
        rounding = 1e-15 * speed * (math.hypot(*body.position) + math.hypot(*at))
        largest = max(math.hypot(*needed), math.hypot(*body.velocity))
        if math.dist(body.velocity, needed) > VELOCITY_SLACK * largest + rounding:
            problems.add(
                f"velocity = {shown(body.velocity)} does not fit its rotation about the fixed point at = {shown(at)}, "
                f"which demands {shown(needed)}; give that or leave velocity out.",
                _of(body.name),
            )


def _of(name: str) -> str:
    return f"Body {name!r}"


def _turning(body: Body, at: Array) -> Array:
    """Velocity of the centre of mass in a rotation about a fixed point: omega x (position - at)."""
    result = np.cross(body.matrix @ body.angular_velocity, body.position - at) + 0.0  # no -0
    result.flags.writeable = False
    return np.asarray(result)


def _inertia_about(body: Body, at: Array | None) -> Array:
    if at is None:
        return body.inertia
    c = body.matrix.T @ (body.position - at)
    return np.asarray(body.inertia + body.mass * (c @ c * np.eye(3) - np.outer(c, c)))


def _check_forces(problems: Problems, system: System) -> None:
    """Springs and bushings connect two different things, and a spring has a direction at the start."""
    known = {*system._index, GROUND}
    for i, force in enumerate(system.forces):
        if not isinstance(force, (SpringDamper, Bushing)) or not known.issuperset(force.bodies):
            continue
        owner = f"forces[{i}], {force.label}"
        if force.a == force.b:
            problems.add(f"it connects {force.a!r} with itself, which does nothing; a and b must differ.", owner)
        elif isinstance(force, SpringDamper):
            _check_direction(problems, system, force, owner)


def _check_direction(problems: Problems, system: System, spring: SpringDamper, owner: str) -> None:
    a, b = system.point(spring.a, spring.at_a), system.point(spring.b, spring.at_b)
    size = max(1e-300, *np.abs(a), *np.abs(b), *np.abs(spring.at_a), *np.abs(spring.at_b))
    smooth = spring.length == 0.0 and spring.damping == 0.0
    idle = spring.stiffness == 0.0 and spring.damping == 0.0
    if math.dist(a, b) <= 1e-14 * size and not smooth and not idle:
        problems.add(
            f"its ends coincide at the start: at_a = {shown(spring.at_a)} of {spring.a!r} and at_b = "
            f"{shown(spring.at_b)} of {spring.b!r} both lie at {shown(a)} in space, so it has no direction; "
            "move an end, or use a Bushing.",
            owner,
        )
