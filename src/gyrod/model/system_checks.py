"""Checks of a system: names, joints, inertias and forces, all together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gyrod._check import Array
from gyrod.model.appearance import Sphere
from gyrod.model.bodies import Body
from gyrod.model.clips import Clip
from gyrod.model.contacts import Contact
from gyrod.model.elements import Cable, Obstacle
from gyrod.model.errors import GROUND, ModelError, Problems, called, positive, real, shown, unknown
from gyrod.model.forces import ForceLaw, Link, SpringDamper, UserForce
from gyrod.model.joints import Distance, Joint, Universal
from gyrod.model.meshes import NEAREST_ENDS
from gyrod.model.places import places_of
from gyrod.model.rods import Rod
from gyrod.model.sensors import Sensor
from gyrod.rotations.vectors import norms

if TYPE_CHECKING:
    from gyrod.model.system import System

T = TypeVar("T")

#: An inertia whose smallest principal moment is below this fraction of the largest is singular.
SINGULAR = 1e-13
#: Names beyond so many unknown ones get no suggestion: each is compared with all names.
SUGGESTIONS = 20

#: What the members of a list are.
MEMBERS: dict[str, type] = {
    "bodies": Body,
    "joints": Joint,
    "rods": Rod,
    "forces": ForceLaw,
    "sensors": Sensor,
    "contacts": Contact,
}
_WANTED: dict[type, str] = {
    Body: "a Body",
    Joint: "a joint such as Spherical",
    Rod: "a Rod",
    ForceLaw: "a force such as Force",
    Sensor: "a sensor such as PointSensor",
    Contact: "a Contact",
}


def members(problems: Problems, field: str, values: object, kind: type[T]) -> tuple[T, ...]:
    """The members of a list that are what they should be; the others are problems."""
    wanted = _WANTED[kind]
    try:
        if isinstance(values, str) or not isinstance(values, Iterable):
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


def _user_force(problems: Problems, place: str, function: Callable[..., object]) -> list[Any]:
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


def check_names(problems: Problems, system: System) -> None:
    """Names are unique, and what is named exists."""
    for i, body in enumerate(system.bodies):
        if body.mass == 0.0:
            problems.add(
                f"bodies[{i}] = {body.name!r} is a junction of an assembled system; change the system that it was "
                "assembled from."
            )
    bearers: dict[str, list[str]] = {}
    for listed in MEMBERS:
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
            if isinstance(member, Clip):
                strange += _check_clip_names(problems, system, member, owner, strange)
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
                if name in system._rod_index:
                    instead = "take RodLoad" if single else "clamp its end in a small body and join that, or hinge it"
                    problems.add(f"{argument} = {shown(name)} is a rod, and this acts on bodies; {instead}.", owner)
                elif name not in system._index and (single or name != GROUND):
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


def _check_clip_names(problems: Problems, system: System, clip: Clip, owner: str, before: int) -> int:
    """Rod and what holds it exist, and the point is that of the latter; returns the number of unknown names."""
    strange, on_rod = 0, isinstance(clip.point, float)
    if clip.rod not in system._rod_index:
        strange += 1
        problems.add(unknown("rod", clip.rod, system._rod_index, "rods", before + strange <= SUGGESTIONS), owner)
    if clip.to in system._rod_index and not on_rod:
        given = "is missing" if clip.point is None else f"= {shown(clip.point)} is a point"
        problems.add(f"point {given}, but {clip.to!r} is a rod; give a fraction of its length, from 0 to 1.", owner)
    elif clip.to in system._index and on_rod:
        problems.add(
            f"point = {shown(clip.point)} is a fraction of a rod, but {clip.to!r} is a body; give three numbers in its "
            "axes, or leave point out.",
            owner,
        )
    elif clip.to not in (GROUND, *system._index, *system._rod_index):
        strange += 1
        known = [GROUND, *system._index, *system._rod_index]
        problems.add(unknown("to", clip.to, known, hint=before + strange <= SUGGESTIONS), owner)
    return strange


def _check_clips(problems: Problems, system: System) -> None:
    """No two rigid clips, and no clip and an end, hold the same section."""
    held: dict[str, list[tuple[float, str]]] = {}
    for rod in system.rods:
        ends = ((0.0, "start", rod.start), (1.0, "end", rod.end))
        held[rod.name] = [(s, f"{side} = {type(end).__name__}") for s, side, end in ends if end.holds_position]
    for i, clip in enumerate(system.forces):
        if not isinstance(clip, Clip) or clip.rod not in held:
            continue
        owner = f"forces[{i}], {clip.label}"
        if clip.to == clip.rod and isinstance(clip.point, float) and abs(clip.at - clip.point) < NEAREST_ENDS:
            problems.add(f"it holds s = {clip.at:g} of {clip.rod!r} to itself, which does nothing.", owner)
        if clip.slides and clip.rod in {name for name, _ in system.rod_points}:
            problems.add(
                f"rod {clip.rod!r} slides through it and has other rods joined between its ends, which no ring lets "
                "pass; take kind = 'ball', or hold the others to it with a Bushing.",
                owner,
            )
        if clip.stiffness is not None:  # elastic ones share what they bear
            continue
        other = next((what for s, what in held[clip.rod] if abs(s - clip.at) < NEAREST_ENDS), None)
        if other is not None:
            problems.add(
                f"it holds {clip.rod!r} at s = {clip.at:g}, where {other} holds it already; leave one of them out, or "
                "give the clip a stiffness.",
                owner,
            )
        held[clip.rod].append((clip.at, clip.label))


def check_joints(problems: Problems, system: System) -> None:
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
    field = joint.leading
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


def check_inertias(problems: Problems, system: System) -> None:
    """The inertia determines the rotation of bodies that are free or pinned; other joints may do it in its place."""
    pins, count = system.fixed_points, joints_of(system)
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


def check_forces(problems: Problems, system: System) -> None:
    """What connects two things connects different ones, and springs, cables and obstacles have a direction."""
    for i, force in enumerate(system.forces):
        owner = f"forces[{i}], {force.label}"
        if isinstance(force, Link):
            _check_link(problems, system, force, owner)
        elif isinstance(force, Obstacle):
            _check_obstacle(problems, system, force, owner)
    if any(isinstance(force, Clip) for force in system.forces):
        _check_clips(problems, system)


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
    around, radius = obstacle.surface, getattr(obstacle, "radius", math.inf)
    for rod in system.rods:
        if not obstacle.acts_on(rod.name):
            continue
        depth = -around.surface.nearest((rod.positions - around.offset) @ around.turn).distance
        k = int(np.argmax(depth))
        if depth[k] >= (1.0 - 1e-9) * radius:
            where = "at its centre" if isinstance(around, Sphere) else "on its axis"
            problems.add(
                f"rod {rod.name!r} starts {where}, at s = {rod.fractions[k]:.6g}, {shown(rod.positions[k])} in space; "
                "move it out of the obstacle.",
                owner,
            )


def joints_of(system: System) -> dict[str, int]:
    """For each body with joints, their number."""
    count: dict[str, int] = {}
    for joint in system.joints:
        for name in joint.bodies:
            if name in system._index:
                count[name] = count.get(name, 0) + 1
    return count
