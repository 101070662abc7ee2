"""URDF, the Unified Robot Description Format: trees of links and joints in XML."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import rotations
from gyrod.files.urdf_shapes import Meshes, materials, placed, visuals
from gyrod.model import Body, Fixed, Joint, ModelError, Planar, Prismatic, Revolute, Solid, System
from gyrod.model.errors import GROUND, Problems, new_name, numbers, shown, vector

Array = NDArray[np.float64]

#: Larger files are refused.
LARGEST_FILE = 50_000_000
#: After so many problems unknown names get no suggestion: each is compared with all names.
SUGGESTIONS = 20
#: Types of joints.
TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
#: Those that have one coordinate.
SINGLE = ("revolute", "continuous", "prismatic")
#: What becomes of the root link.
BASES = ("fixed", "free")


def read_urdf(
    path_or_text: str | os.PathLike[str],
    *,
    base: str = "fixed",
    gravity: ArrayLike = (0.0, 0.0, -9.81),
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

    >>> system = read_urdf('''<robot name="pendulum">
    ...   <link name="world"/>
    ...   <link name="bob"><inertial><origin xyz="0 0 -1"/><mass value="2"/>
    ...     <inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
    ...   <joint name="pivot" type="continuous"><parent link="world"/><child link="bob"/><axis xyz="0 1 0"/></joint>
    ... </robot>''', positions={"pivot": 0.5})
    >>> system.body("bob").position.round(3).tolist(), system.joint("pivot").axis.tolist()
    ([-0.479, 0.0, -0.878], [0.0, 1.0, 0.0])
    """
    source, text = _text(path_or_text)
    problems = Problems(source)
    if base not in BASES:
        problems.add(f"base = {shown(base)} is unknown; it can be 'fixed', 'free'.")
    root = _parsed(problems, text)
    meshes = Meshes(None if source == "URDF text" else Path(source).parent, problems.check(_folders, packages) or {})
    robot = _read(problems, root, meshes) if root is not None else _Robot()
    carrier = _carriers(problems, robot, base) if _connected(problems, robot) else {}
    start = _positions(problems, robot, {} if positions is None else positions) if root is not None else {}
    problems.check(vector, "gravity", gravity)
    problems.finish()
    try:
        system = _system(robot, carrier, base, gravity, start)
        return system._noted((*robot.notes, *meshes.notes))
    except ModelError as error:
        raise ModelError(f"{source}: {sentence}" for sentence in error.problems) from error


# --- text and XML ----------------------------------------------------------------------------------------------------


def _text(given: Any) -> tuple[str, str | bytes]:
    """Name of the source, and its text."""
    if isinstance(given, str) and given.lstrip("\ufeff \t\r\n").startswith("<"):
        text: str | bytes = given.lstrip("\ufeff \t\r\n")
        source = "URDF text"
    elif isinstance(given, (str, os.PathLike)) and given:
        source = str(given) if len(str(given)) < 300 else shown(str(given))
        try:
            with Path(given).open("rb") as stream:
                text = stream.read(LARGEST_FILE + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ModelError(f"{source}: it cannot be read ({reason}); give the path of a URDF file.") from error
    else:
        raise ModelError(f"path_or_text must be the path of a URDF file or its text, got {shown(given)}.")
    if len(text) > LARGEST_FILE:
        raise ModelError(f"{source}: it is larger than {LARGEST_FILE // 10**6} MB; a URDF holds no meshes, only paths.")
    return source, text


class _Doctype(Exception):
    """A document type was declared."""


class _Builder(ElementTree.TreeBuilder):
    """Refuses document types before anything in them is expanded."""

    def doctype(self, _name: str, _pubid: str | None, _system: str | None) -> None:
        """Stop."""
        raise _Doctype


def _parsed(problems: Problems, text: str | bytes) -> ElementTree.Element | None:
    try:
        root = ElementTree.fromstring(text, ElementTree.XMLParser(target=_Builder()))
    except _Doctype:
        problems.add("it declares a document type (DOCTYPE), which may hide entities; remove that line.")
        return None
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        problems.add(f"it is not well-formed XML ({error}); mend it there.")
        return None
    if root.tag != "robot":
        problems.add(f"its root element is <{root.tag}>; a URDF has <robot>.")
        return None
    for element in root.iter():
        if isinstance(element.tag, str) and "xacro" in element.tag:
            problems.add(f"<{element.tag.split('}')[-1]}> is a macro of xacro; expand the file with xacro first.")
            return None
    return root


# --- links and joints ------------------------------------------------------------------------------------------------

Frame = tuple[Array, Array]
"""Origin and rotation matrix."""


@dataclass
class _Link:
    name: str
    #: Mass, inertia and frame of the inertial; None for a link without.
    inertial: tuple[float, Array, Frame] | None
    #: What it looks like, in its own frame.
    solids: list[Solid] = field(default_factory=list)
    color: str | None = None


@dataclass
class _Edge:
    """A joint."""

    name: str
    type: str
    parent: str
    child: str
    origin: Frame
    axis: Array
    limits: tuple[float, float] | None
    damping: float
    friction: float


@dataclass
class _Robot:
    links: dict[str, _Link] = field(default_factory=dict)
    edges: dict[str, _Edge] = field(default_factory=dict)
    #: Whether all joints are there, each with both ends.
    complete: bool = False
    root: str = ""
    #: For each link but the root, the joint above; for each link those below.
    above: dict[str, _Edge] = field(default_factory=dict)
    below: dict[str, list[_Edge]] = field(default_factory=dict)
    #: Names of the links, parents first.
    order: list[str] = field(default_factory=list)
    #: What is changed or left out.
    notes: list[str] = field(default_factory=list)


def _read(problems: Problems, root: ElementTree.Element, meshes: Meshes) -> _Robot:
    robot = _Robot()
    source, colors = problems.owner, materials(root)
    for tag in ("link", "joint"):
        for i, element in enumerate(root.findall(tag)):
            name = element.get("name", "").strip()
            if not name:
                problems.add("name is missing; give it one.", f"{source}, {tag}[{i}]")
                continue
            problems.owner = f"{source}, {tag} {name!r}"
            if name in (robot.links if tag == "link" else robot.edges):
                problems.add(f"name = {name!r} is used by several {tag}s; each may be used once.")
            elif tag == "link":
                meshes.owner = f"link {name!r}"
                robot.links[name] = _link(problems, name, element, colors, meshes)
            else:
                if name in robot.links:
                    problems.add(f"name = {name!r} is that of a link too; gyrod needs different names, rename one.")
                problems.check(new_name, "name", name)
                robot.edges[name] = _edge(problems, name, element, robot.notes)
    problems.owner = source
    sound = all(edge.parent and edge.child for edge in robot.edges.values())
    robot.complete = sound and len(robot.edges) == len(root.findall("joint"))
    if not robot.links:
        problems.add("it has no <link>; a robot needs one.")
    robot.notes += _ignored(root)
    return robot


def _ignored(root: ElementTree.Element) -> list[str]:
    """What is reported once for the whole robot."""
    found = []
    limited = [j.get("name", "") for j in root.findall("joint") if _has(j.find("limit"), "effort", "velocity")]
    if limited:
        found.append(f"limits of effort and velocity are left out ({_some(limited)}); compare motion['name'].effort.")
    hit = [x.get("name", "") for x in root.findall("link") if x.find("collision") is not None]
    if hit:
        found.append(f"<collision> is left out ({_some(hit)}): bodies do not touch each other.")
    tags = dict.fromkeys(str(x.tag) for x in root if isinstance(x.tag, str))
    others = [f"<{tag}>" for tag in tags if tag not in ("link", "joint", "material")]
    inner = ("calibration", "safety_controller")
    others += [f"<{tag}>" for tag in inner if any(j.find(tag) is not None for j in root.findall("joint"))]
    if others:
        found.append(f"{', '.join(others[:12])} {'is' if len(others) == 1 else 'are'} left out.")
    return found


def _has(element: ElementTree.Element | None, *keys: str) -> bool:
    return element is not None and bool({*keys} & {*element.keys()})


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return ", ".join(map(repr, names[:6])) + more


def _folders(packages: Any) -> dict[str, Path]:
    if packages is None:
        return {}
    if not isinstance(packages, Mapping) or not all(isinstance(x, (str, os.PathLike)) for x in packages.values()):
        raise ValueError(f"packages must be a dict from names to folders, got {shown(packages)}.")
    return {str(name): Path(folder) for name, folder in packages.items()}


def _link(problems: Problems, name: str, element: ElementTree.Element, colors: dict[str, str], meshes: Meshes) -> _Link:
    before = len(problems.sentences)
    link = _Link(name, _inertial(problems, element), *visuals(element, colors, meshes))
    if link.inertial is not None and len(problems.sentences) == before:
        try:
            _body(link, (np.zeros(3), np.eye(3)))
        except ModelError as error:
            for sentence in error.problems:
                problems.add(sentence.removeprefix(f"Body {shown(name)}: "))
    return link


def _inertial(problems: Problems, link: ElementTree.Element) -> tuple[float, Array, Frame] | None:
    element = link.find("inertial")
    if element is None:
        return None
    frame = _origin(problems, element)
    mass = _attribute(problems, element, "mass", "value", None)
    keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    entries = [_attribute(problems, element, "inertia", key, None if key[1] == key[2] else 0.0) for key in keys]
    xx, yy, zz, xy, xz, yz = entries
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if mass == 0.0 and not np.any(J):
        return None
    return mass, J, frame


def _edge(problems: Problems, name: str, element: ElementTree.Element, notes: list[str]) -> _Edge:
    kind = element.get("type", "")
    if kind not in TYPES:
        problems.add(_unknown("type", kind, TYPES))
    mimic = element.find("mimic")
    if mimic is not None:
        at = f"{mimic.get('multiplier', '1')} * q + {mimic.get('offset', '0')}"
        notes.append(
            f"joint {name!r}: <mimic joint={mimic.get('joint', '')!r}> is left out and the joint is free; it should be "
            f"at {at} of that one: start it there by positions= and drive it so, or hold it."
        )
    ends = {}
    for tag in ("parent", "child"):
        found = element.find(tag)
        ends[tag] = "" if found is None else found.get("link", "").strip()
        if not ends[tag]:
            problems.add(f"<{tag} link=...> is missing; name the link.")
    axis = np.array([1.0, 0.0, 0.0])
    given = element.find("axis")
    if given is not None:
        before = len(problems.sentences)
        axis = _triple(problems, "axis xyz", given.get("xyz", "1 0 0"))
        if not np.any(axis) and kind in (*SINGLE, "planar") and len(problems.sentences) == before:
            problems.add("axis xyz = (0, 0, 0) has the length zero; give it a direction.")
    losses = {}
    for loss in ("damping", "friction"):
        losses[loss] = _attribute(problems, element, "dynamics", loss, 0.0)
        if losses[loss] < 0.0:
            problems.add(f"dynamics {loss} = {losses[loss]:.6g} must not be negative.")
        elif losses[loss] > 0.0 and kind not in SINGLE:
            notes.append(f"joint {name!r}: dynamics {loss} = {losses[loss]:.6g} of a {kind} joint is left out.")
    return _Edge(
        name,
        kind,
        ends["parent"],
        ends["child"],
        _origin(problems, element),
        axis,
        _limits(problems, element, kind),
        **losses,
    )


def _limits(problems: Problems, element: ElementTree.Element, kind: str) -> tuple[float, float] | None:
    limit = element.find("limit")
    if kind not in ("revolute", "prismatic") or limit is None or not {"lower", "upper"} & set(limit.keys()):
        return None
    lower = _attribute(problems, element, "limit", "lower", 0.0)
    upper = _attribute(problems, element, "limit", "upper", 0.0)
    if lower >= upper:
        problems.add(f"limit lower = {lower:.6g} must lie below upper = {upper:.6g}.")
        return None
    return lower, upper


def _origin(problems: Problems, element: ElementTree.Element) -> Frame:
    origin = element.find("origin")
    xyz = "0 0 0" if origin is None else origin.get("xyz", "0 0 0")
    rpy = "0 0 0" if origin is None else origin.get("rpy", "0 0 0")
    roll, pitch, yaw = _triple(problems, "origin rpy", rpy)
    R = rotations.matrix_from_quaternion(rotations.quaternion_from_euler((yaw, pitch, roll), "321"))
    return _triple(problems, "origin xyz", xyz), R


def _triple(problems: Problems, place: str, text: str) -> Array:
    found = problems.check(_numbers, place, text, 3)
    return np.zeros(3) if found is None else found


def _attribute(problems: Problems, element: ElementTree.Element, tag: str, key: str, default: float | None) -> float:
    """A number of a child element; what is wrong is noted, and 1 stands for it."""
    child = element.find(tag)
    text = None if child is None else child.get(key)
    if text is None:
        if default is None:
            problems.add(f"<{tag} {key}=...> is missing; give it.")
            return 1.0
        return default
    found = problems.check(_numbers, f"{tag} {key}", text, 1)
    return 1.0 if found is None else float(found[0])


def _numbers(place: str, text: str, count: int) -> Array:
    try:
        values = [float(part) for part in text.split()]
    except ValueError:
        values = []
    if len(values) != count:
        wanted = "a number" if count == 1 else "three numbers"
        raise ValueError(f"{place} = {shown(text)} must be {wanted}.")
    return numbers(place, values, (count,))


def _unknown(what: str, name: object, known: Iterable[str], hint: bool = True) -> str:
    names = list(known)
    listed = ", ".join(map(repr, names[:12])) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    near = get_close_matches(str(name), names, n=1, cutoff=0.4) if hint else []
    suggestion = f" Did you mean {near[0]!r}?" if near else ""
    return f"{what} = {shown(name)} is unknown; it can be {listed or 'nothing'}.{suggestion}"


# --- the tree --------------------------------------------------------------------------------------------------------


def _connected(problems: Problems, robot: _Robot) -> bool:
    """Whether the joints connect the links to one tree; it is kept, and what is wrong with it is noted."""
    source, before = problems.owner, len(problems.sentences)
    robot.below = {name: [] for name in robot.links}
    for edge in robot.edges.values():
        owner = f"{source}, joint {edge.name!r}"
        for what, name in (("parent", edge.parent), ("child", edge.child)):
            if name and name not in robot.links:
                hint = len(problems.sentences) < SUGGESTIONS
                problems.add(_unknown(f"{what} link", name, robot.links, hint), owner)
        if edge.parent not in robot.links or edge.child not in robot.links:
            continue
        if edge.child in robot.above:
            problems.add(
                f"child link = {edge.child!r} is that of joint {robot.above[edge.child].name!r} too; a URDF is a tree, "
                "add further joints to the system that read_urdf returns.",
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


def _loop(robot: _Robot, name: str) -> list[str]:
    """Links of the loop that lies above a link which hangs on no root."""
    seen: dict[str, int] = {}
    path: list[str] = []
    while name not in seen:
        seen[name] = len(path)
        path.append(name)
        name = robot.above[name].parent
    return [*path[seen[name] :], name][::-1]


def _positions(problems: Problems, robot: _Robot, given: Any) -> dict[str, float]:
    if not isinstance(given, Mapping):
        problems.add(f"positions must be a dict from names of joints to numbers, got {shown(given)}.")
        return {}
    found = {}
    movable = [edge.name for edge in robot.edges.values() if edge.type in SINGLE]
    for name, value in given.items():
        edge = robot.edges.get(name)
        if edge is None:
            problems.add(_unknown("positions: joint", name, movable))
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


def _system(robot: _Robot, carrier: dict[str, str], base: str, gravity: ArrayLike, start: dict[str, float]) -> System:
    frames = _forward(robot, start)
    _tell_merged(robot, carrier)
    bodies = [_body(link, frames[link.name], _looks(robot, carrier, link, frames)) for link in _heavy(robot)]
    joints: list[Joint] = []
    if base != "free" and robot.links[robot.root].inertial is not None:
        joints.append(Fixed(GROUND, robot.root, at=frames[robot.root][0]))
    for edge in robot.edges.values():
        a, b = carrier[edge.parent], carrier[edge.child]
        if a != b and edge.type != "floating":
            joints.append(_joint(edge, a, b, robot, frames, start.get(edge.name, 0.0)))
    return System(bodies, joints, gravity=gravity)


def _tell_merged(robot: _Robot, carrier: dict[str, str]) -> None:
    merged: dict[str, list[str]] = {}
    for name in robot.order:
        if carrier.get(name, name) != name:
            merged.setdefault(carrier[name], []).append(name)
    for body, names in merged.items():
        whole = "ground" if body == GROUND else f"body {body!r}"
        robot.notes.append(f"links without mass and inertia are part of {whole}: {_some(names)}.")
    for edge in robot.edges.values():
        if edge.type == "floating":
            robot.notes.append(
                f"joint {edge.name!r} is floating: body {carrier[edge.child]!r} is free, without a joint."
            )


def _forward(robot: _Robot, start: dict[str, float]) -> dict[str, Frame]:
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


def _joint_frame(edge: _Edge, frames: dict[str, Frame]) -> Frame:
    """Frame of a joint at its zero, fixed in the parent."""
    x, R = frames[edge.parent]
    return x + R @ edge.origin[0], R @ edge.origin[1]


def _carriers(problems: Problems, robot: _Robot, base: str) -> dict[str, str]:
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
            continue  # told at its parent, which has no body either
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


def _fixed_below(robot: _Robot, name: str) -> str | None:
    """First link with inertia that hangs on a link by fixed joints."""
    stack = [name]
    while stack:
        here = stack.pop()
        if robot.links[here].inertial is not None:
            return here
        stack.extend(edge.child for edge in reversed(robot.below[here]) if edge.type == "fixed")
    return None


def _heavy(robot: _Robot) -> list[_Link]:
    """Links that are bodies."""
    return [link for link in robot.links.values() if link.inertial is not None]


def _looks(robot: _Robot, carrier: dict[str, str], link: _Link, frames: dict[str, Frame]) -> list[Solid]:
    """Solids of a link and of those that are merged into it, in the axes of its body."""
    body = _frame_of(link, frames[link.name])
    carried = [other for other in robot.links.values() if carrier.get(other.name) == link.name]
    return [solid for other in carried for solid in placed(other.solids, frames[other.name], body)]


def _frame_of(link: _Link, frame: Frame) -> Frame:
    """Centre of mass and axes of the body of a link in space."""
    assert link.inertial is not None
    _, _, (c, turn) = link.inertial
    x, R = frame
    return x + R @ c, R @ turn


def _body(link: _Link, frame: Frame, solids: list[Solid] | None = None) -> Body:
    assert link.inertial is not None
    mass, inertia, _ = link.inertial
    x, R = _frame_of(link, frame)
    turn = rotations.quaternion_from_matrix(R)
    shape = None if not solids else solids[0] if len(solids) == 1 else solids
    return Body(link.name, mass, inertia, position=x, orientation=turn, shape=shape, color=link.color)


def _joint(edge: _Edge, a: str, b: str, robot: _Robot, frames: dict[str, Frame], q: float) -> Joint:
    at, R = frames[edge.child]
    axis, losses = R @ edge.axis, {"damping": edge.damping, "friction": edge.friction}
    if edge.type == "fixed":
        return Fixed(a, b, at=at, name=edge.name)
    if edge.type == "planar":
        return Planar(a, b, at=at, axis=axis, name=edge.name)
    if edge.type == "prismatic":
        # The point of each side, so that the displacement counts from the zero of the file.
        at_a, at_b = (_local(robot, frames, name, p) for name, p in ((a, _joint_frame(edge, frames)[0]), (b, at)))
        place: dict[str, Any] = {"at": at} if q == 0.0 else {"at_a": at_a, "at_b": at_b}
        return Prismatic(a, b, **place, axis=axis, limits=edge.limits, **losses, name=edge.name)
    limits = None
    if edge.limits is not None:
        lower, upper = (x - q if abs(x - q) < math.pi else None for x in edge.limits)
        limits = (lower, upper)
        robot.notes += _shifted(edge, limits, q)
    return Revolute(a, b, at=at, axis=axis, limits=limits, **losses, name=edge.name)


def _shifted(edge: _Edge, limits: tuple[float | None, float | None], q: float) -> list[str]:
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


def _local(robot: _Robot, frames: dict[str, Frame], name: str, point: Array) -> Array:
    """A point of space in the axes of a body, from its centre of mass."""
    if name == GROUND:
        return point
    link = robot.links[name]
    assert link.inertial is not None
    _, _, (c, turn) = link.inertial
    x, R = frames[name]
    return np.asarray((R @ turn).T @ (point - x - R @ c))
