"""URDF, the Unified Robot Description Format: trees of links and joints in XML."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check, rotations
from gyrod._check import Array
from gyrod._words import listed
from gyrod.files.urdf_reading import (
    SINGLE,
    SUGGESTIONS,
    Edge,
    Frame,
    Link,
    Robot,
    body_of,
    folders,
    frame_of,
    parsed,
    robot_of,
    source_and_text,
    unknown,
)
from gyrod.files.urdf_shapes import Meshes, placed
from gyrod.model import Fixed, Joint, ModelError, Planar, Prismatic, Revolute, Solid, System
from gyrod.model.errors import GROUND, Problems, numbers, shown, vector

#: What becomes of the root link.
BASES = ("fixed", "free")
GRAVITY = (0.0, 0.0, -9.81)


def load_urdf(
    path_or_text: str | os.PathLike[str],
    *,
    base: str = "fixed",
    gravity: ArrayLike = GRAVITY,
    positions: Mapping[str, float] | None = None,
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
) -> System:
    """Read a robot from a URDF file, or from a text that begins with "<".

    Each link becomes a `Body` of its name whose axes are those of its inertial frame; the frame of the root link is
    that of space. Joints keep their names: revolute and continuous become `Revolute`, prismatic `Prismatic`, fixed
    `Fixed`, planar `Planar`; a floating joint leaves its child free.

    A link without inertial (or of mass and inertia zero) that a fixed joint connects to its parent, or else to a child,
    is merged into it, and the fixed joint vanishes. With ``base="fixed"`` a root link without inertial is ground.

    Limits ``lower`` and ``upper`` of revolute and prismatic joints are kept, ``damping`` and ``friction`` too. Angles
    of gyrod count from the start: at positions other than zero the limits of revolute joints are shifted. A limit that
    lies half a turn or more from the start is left out, for an angle is known up to a full turn only; so are limits of
    effort and velocity, and ``<mimic>``. Boxes, cylinders, spheres and meshes (STL, OBJ) of ``<visual>`` become the
    shapes of the bodies. ``system.notes`` lists all that was changed or left out.

    Parameters
    ----------
    path_or_text
        Path of a file, or the text itself.
    base
        "fixed" holds the root link to ground, "free" lets it move.
    gravity
        (3,), in space.
    positions
        Start at these angles (rad) and displacements (m) by name of the joint; 0 for the others.
    packages
        Folders by name, for meshes at "package://name/..."; without, folders of that name beside or above the file.

    Raises
    ------
    ModelError
        It lists all problems of the file.

    >>> system = load_urdf('''<robot name="pendulum">
    ...   <link name="world"/>
    ...   <link name="bob"><inertial><origin xyz="0 0 -1"/><mass value="2"/>
    ...     <inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
    ...   <joint name="pivot" type="continuous"><parent link="world"/><child link="bob"/><axis xyz="0 1 0"/></joint>
    ... </robot>''', positions={"pivot": 0.5})
    >>> system.body("bob").position.round(3).tolist(), system.joint("pivot").axis.tolist()
    ([-0.479, 0.0, -0.878], [0.0, 1.0, 0.0])
    """
    source, text = source_and_text(path_or_text)
    problems = Problems(source)
    if base not in BASES:
        problems.add(f"base = {shown(base)} is unknown; it can be 'fixed', 'free'.")
    root = parsed(problems, text)
    meshes = Meshes(None if source == "URDF text" else Path(source).parent, problems.check(folders, packages) or {})
    robot = robot_of(problems, root, meshes) if root is not None else Robot()
    carrier = _carriers(problems, robot, base) if _connected(problems, robot) else {}
    start = _positions(problems, robot, {} if positions is None else positions) if root is not None else {}
    problems.check(vector, "gravity", gravity)
    problems.finish()
    try:
        system = _system(robot, carrier, base, gravity, start)
        return system._noted((*robot.notes, *meshes.notes))
    except ModelError as error:
        raise ModelError(f"{source}: {sentence}" for sentence in error.problems) from error


def read_urdf(path_or_text: str | os.PathLike[str], **options: Any) -> System:
    """The old name of `gyrod.load` for URDF."""
    _check.renamed("gd.read_urdf", "gd.load")
    return load_urdf(path_or_text, **options)


# --- the tree --------------------------------------------------------------------------------------------------------


def _connected(problems: Problems, robot: Robot) -> bool:
    """Whether the joints connect the links to one tree; it is kept, and what is wrong with it is noted."""
    source, before = problems.owner, len(problems.sentences)
    robot.below = {name: [] for name in robot.links}
    for edge in robot.edges.values():
        owner = f"{source}, joint {edge.name!r}"
        for what, name in (("parent", edge.parent), ("child", edge.child)):
            if name and name not in robot.links:
                hint = len(problems.sentences) < SUGGESTIONS
                problems.add(unknown(f"{what} link", name, robot.links, hint), owner)
        if edge.parent not in robot.links or edge.child not in robot.links:
            continue
        if edge.child in robot.above:
            problems.add(
                f"child link = {edge.child!r} is that of joint {robot.above[edge.child].name!r} too; a URDF is a tree, "
                "add further joints to the system that gd.load returns.",
                owner,
            )
            continue
        robot.above[edge.child] = edge
        robot.below[edge.parent].append(edge)
    if not robot.links or not robot.complete or len(problems.sentences) > before:
        return False
    roots = [name for name in robot.links if name not in robot.above]
    if len(roots) > 1:
        problems.add(f"it has several root links, {', '.join(map(repr, roots[:12]))}; connect them by joints.")
    stack = roots[::-1]
    while stack:
        name = stack.pop()
        robot.order.append(name)
        stack.extend(edge.child for edge in reversed(robot.below[name]))
    reached = set(robot.order)
    lost = [name for name in robot.links if name not in reached]
    if lost:
        loop = _loop(robot, lost[0])
        problems.add(f"its joints form a loop, {' - '.join(map(repr, loop))}; a URDF is a tree, take one of them out.")
    robot.root = roots[0] if roots else ""
    return len(problems.sentences) == before


def _loop(robot: Robot, name: str) -> list[str]:
    """Links of the loop that lies above a link which hangs on no root."""
    seen: dict[str, int] = {}
    path: list[str] = []
    while name not in seen:
        seen[name] = len(path)
        path.append(name)
        name = robot.above[name].parent
    return [*path[seen[name] :], name][::-1]


def _positions(problems: Problems, robot: Robot, given: object) -> dict[str, float]:
    if not isinstance(given, Mapping):
        problems.add(f"positions must be a dict from names of joints to numbers, got {shown(given)}.")
        return {}
    found = {}
    movable = [edge.name for edge in robot.edges.values() if edge.type in SINGLE]
    for name, value in given.items():
        edge = robot.edges.get(name)
        if edge is None:
            problems.add(unknown("positions: joint", name, movable))
        elif edge.type not in SINGLE:
            problems.add(
                f"positions[{name!r}]: a {edge.type} joint has not one coordinate; move its bodies in the system."
            )
        else:
            q = problems.check(numbers, f"positions[{name!r}]", value, ())
            found[name] = 0.0 if q is None else float(q)
            if q is not None and edge.limits is not None and not edge.limits[0] <= q <= edge.limits[1]:
                problems.add(f"positions[{name!r}] = {q:.6g} lies outside the limits {edge.limits} of the joint.")
    return found


# --- the system ------------------------------------------------------------------------------------------------------


def _system(robot: Robot, carrier: dict[str, str], base: str, gravity: ArrayLike, start: dict[str, float]) -> System:
    frames = _forward(robot, start)
    _tell_merged(robot, carrier)
    bodies = [body_of(link, frames[link.name], _looks(robot, carrier, link, frames)) for link in _heavy(robot)]
    joints: list[Joint] = []
    if base != "free" and robot.links[robot.root].inertial is not None:
        joints.append(Fixed(GROUND, robot.root, at=frames[robot.root][0]))
    for edge in robot.edges.values():
        a, b = carrier[edge.parent], carrier[edge.child]
        if a != b and edge.type != "floating":
            joints.append(_joint(edge, a, b, robot, frames, start.get(edge.name, 0.0)))
    return System(bodies, joints, gravity=gravity)


def _tell_merged(robot: Robot, carrier: dict[str, str]) -> None:
    merged: dict[str, list[str]] = {}
    for name in robot.order:
        if carrier.get(name, name) != name:
            merged.setdefault(carrier[name], []).append(name)
    for body, names in merged.items():
        whole = "ground" if body == GROUND else f"body {body!r}"
        robot.notes.append(f"links without mass and inertia are part of {whole}: {listed(names, 6)}.")
    for edge in robot.edges.values():
        if edge.type == "floating":
            robot.notes.append(
                f"joint {edge.name!r} is floating: body {carrier[edge.child]!r} is free, without a joint."
            )


def _forward(robot: Robot, start: dict[str, float]) -> dict[str, Frame]:
    """Forward kinematics: the frame of each link in space."""
    frames = {robot.root: (np.zeros(3), np.eye(3))}
    for name in robot.order[1:]:
        edge = robot.above[name]
        x, R = _joint_frame(edge, frames)
        q = start.get(edge.name, 0.0)
        if q != 0.0:
            n = edge.axis / np.linalg.norm(edge.axis)
            if edge.type == "prismatic":
                x = x + R @ (q * n)
            else:
                R = R @ rotations.matrix_from_rotation_vector(math.remainder(q, 2.0 * math.pi) * n)
        frames[name] = x, R
    return frames


def _joint_frame(edge: Edge, frames: dict[str, Frame]) -> Frame:
    """Frame of a joint at its zero, fixed in the parent."""
    x, R = frames[edge.parent]
    return x + R @ edge.origin[0], R @ edge.origin[1]


def _carriers(problems: Problems, robot: Robot, base: str) -> dict[str, str]:
    """For each link the body it is part of: itself, or what it is merged into."""
    carrier = {name: name for name, link in robot.links.items() if link.inertial is not None}
    if not carrier:
        problems.add("no link has an <inertial>, so nothing moves; give at least one.")
        return carrier
    for name in robot.order:
        if name in carrier:
            continue
        if name == robot.root and base != "free":
            carrier[name] = GROUND
            continue
        above = robot.above.get(name)
        if above is not None and above.type == "fixed" and above.parent in carrier:
            carrier[name] = carrier[above.parent]
            continue
        if above is not None and above.type == "fixed":
            continue  # reported at its parent, which has no body either
        found = _fixed_below(robot, name)
        if found is not None:
            carrier[name] = found
        else:
            cure = " or base='fixed'" if name == robot.root else ""
            problems.add(
                "it has no <inertial> (mass and inertia) and no fixed joint to a link that has one; give it one"
                f"{cure}.",
                f"{problems.owner}, link {name!r}",
            )
    return carrier


def _fixed_below(robot: Robot, name: str) -> str | None:
    """First link with inertia that hangs on a link by fixed joints."""
    stack = [name]
    while stack:
        here = stack.pop()
        if robot.links[here].inertial is not None:
            return here
        stack.extend(edge.child for edge in reversed(robot.below[here]) if edge.type == "fixed")
    return None


def _heavy(robot: Robot) -> list[Link]:
    """Links that are bodies."""
    return [link for link in robot.links.values() if link.inertial is not None]


def _looks(robot: Robot, carrier: dict[str, str], link: Link, frames: dict[str, Frame]) -> list[Solid]:
    """Solids of a link and of those that are merged into it, in the axes of its body."""
    body = frame_of(link, frames[link.name])
    carried = [other for other in robot.links.values() if carrier.get(other.name) == link.name]
    return [solid for other in carried for solid in placed(other.solids, frames[other.name], body)]


def _joint(edge: Edge, a: str, b: str, robot: Robot, frames: dict[str, Frame], q: float) -> Joint:
    at, R = frames[edge.child]
    axis, losses = R @ edge.axis, {"damping": edge.damping, "friction": edge.friction}
    if edge.type == "fixed":
        return Fixed(a, b, at=at, name=edge.name)
    if edge.type == "planar":
        return Planar(a, b, at=at, axis=axis, name=edge.name)
    if edge.type == "prismatic":
        # The point of each side, so that the displacement counts from the zero of the file.
        at_a, at_b = (_local(robot, frames, name, p) for name, p in ((a, _joint_frame(edge, frames)[0]), (b, at)))
        place = (at, None, None) if q == 0.0 else (None, at_a, at_b)
        return Prismatic(
            a, b, at=place[0], at_a=place[1], at_b=place[2], axis=axis, limits=edge.limits, **losses, name=edge.name
        )
    limits = None
    if edge.limits is not None:
        lower, upper = (x - q if abs(x - q) < math.pi else None for x in edge.limits)
        limits = (lower, upper)
        robot.notes += _shifted(edge, limits, q)
    return Revolute(a, b, at=at, axis=axis, limits=limits, **losses, name=edge.name)


def _shifted(edge: Edge, limits: tuple[float | None, float | None], q: float) -> list[str]:
    """What became of the limits of a revolute joint that starts at q."""
    assert edge.limits is not None
    lost = [f"{x:.6g}" for x, kept in zip(edge.limits, limits, strict=True) if kept is None]
    found = (
        [f"joint {edge.name!r}: limits count from its start at {q:.6g} rad: {limits}."] if q and len(lost) < 2 else []
    )
    if lost:
        what = f"limit {lost[0]} lies" if len(lost) == 1 else f"limits {' and '.join(lost)} lie"
        found.append(f"joint {edge.name!r}: {what} half a turn or more from its start, and is left out.")
    return found


def _local(robot: Robot, frames: dict[str, Frame], name: str, point: Array) -> Array:
    """A point of space in the axes of a body, from its centre of mass."""
    if name == GROUND:
        return point
    link = robot.links[name]
    assert link.inertial is not None
    _, _, (c, turn) = link.inertial
    x, R = frames[name]
    return np.asarray((R @ turn).T @ (point - x - R @ c))
