"""Links and joints of a robot as a URDF file has them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from gyrod import rotations
from gyrod._check import Array
from gyrod._words import listed, meant
from gyrod.files.urdf_shapes import Meshes, materials, visuals
from gyrod.model import Body, ModelError, Solid
from gyrod.model.errors import Problems, new_name, numbers, shown

#: Larger files are refused.
LARGEST_FILE = 50_000_000
#: After so many problems unknown names get no suggestion: each is compared with all names.
SUGGESTIONS = 20
#: Types of joints.
TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
#: Those that have one coordinate.
SINGLE = ("revolute", "continuous", "prismatic")


# --- text and XML ----------------------------------------------------------------------------------------------------


def source_and_text(given: object) -> tuple[str, str | bytes]:
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


def parsed(problems: Problems, text: str | bytes) -> ElementTree.Element | None:
    """Root of the XML; what cannot be read is a problem."""
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
class Link:
    """A link."""

    name: str
    #: Mass, inertia and frame of the inertial; None for a link without.
    inertial: tuple[float, Array, Frame] | None
    #: What it looks like, in its own frame.
    solids: list[Solid] = field(default_factory=list)
    color: str | None = None


@dataclass
class Edge:
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
class Robot:
    """All links and joints, and how they hang together."""

    links: dict[str, Link] = field(default_factory=dict)
    edges: dict[str, Edge] = field(default_factory=dict)
    #: Whether all joints are there, each with both ends.
    complete: bool = False
    root: str = ""
    #: For each link but the root, the joint above; for each link those below.
    above: dict[str, Edge] = field(default_factory=dict)
    below: dict[str, list[Edge]] = field(default_factory=dict)
    #: Names of the links, parents first.
    order: list[str] = field(default_factory=list)
    #: What is changed or left out.
    notes: list[str] = field(default_factory=list)


def robot_of(problems: Problems, root: ElementTree.Element, meshes: Meshes) -> Robot:
    """Links and joints of a robot; all that is wrong with them is reported."""
    robot = Robot()
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
        names = listed(limited, 6)
        found.append(f"limits of effort and velocity are left out ({names}); compare motion['name'].effort.")
    hit = [x.get("name", "") for x in root.findall("link") if x.find("collision") is not None]
    if hit:
        found.append(f"<collision> is left out ({listed(hit, 6)}): bodies do not touch each other.")
    tags = dict.fromkeys(str(x.tag) for x in root if isinstance(x.tag, str))
    others = [f"<{tag}>" for tag in tags if tag not in ("link", "joint", "material")]
    inner = ("calibration", "safety_controller")
    others += [f"<{tag}>" for tag in inner if any(j.find(tag) is not None for j in root.findall("joint"))]
    if others:
        found.append(f"{', '.join(others[:12])} {'is' if len(others) == 1 else 'are'} left out.")
    return found


def _has(element: ElementTree.Element | None, *keys: str) -> bool:
    return element is not None and bool({*keys} & {*element.keys()})


def folders(packages: object) -> dict[str, Path]:
    """Folders of packages by name."""
    if packages is None:
        return {}
    if not isinstance(packages, Mapping) or not all(isinstance(x, (str, os.PathLike)) for x in packages.values()):
        raise ValueError(f"packages must be a dict from names to folders, got {shown(packages)}.")
    return {str(name): Path(folder) for name, folder in packages.items()}


def _link(problems: Problems, name: str, element: ElementTree.Element, colors: dict[str, str], meshes: Meshes) -> Link:
    before = len(problems.sentences)
    link = Link(name, _inertial(problems, element), *visuals(element, colors, meshes))
    if link.inertial is not None and len(problems.sentences) == before:
        try:
            body_of(link, (np.zeros(3), np.eye(3)))
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


def _edge(problems: Problems, name: str, element: ElementTree.Element, notes: list[str]) -> Edge:
    kind = element.get("type", "")
    if kind not in TYPES:
        problems.add(unknown("type", kind, TYPES))
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
    return Edge(
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


def unknown(what: str, name: object, known: Iterable[str], hint: bool = True) -> str:
    """Sentence about a name that does not exist."""
    names = list(known)
    near = meant(str(name), names) if hint else ""
    return f"{what} = {shown(name)} is unknown; it can be {listed(names) or 'nothing'}.{near}"


def frame_of(link: Link, frame: Frame) -> Frame:
    """Centre of mass and axes of the body of a link in space."""
    assert link.inertial is not None
    _, _, (c, turn) = link.inertial
    x, R = frame
    return x + R @ c, R @ turn


def body_of(link: Link, frame: Frame, solids: list[Solid] | None = None) -> Body:
    """The body of a link."""
    assert link.inertial is not None
    mass, inertia, _ = link.inertial
    x, R = frame_of(link, frame)
    turn = rotations.quaternion_from_matrix(R)
    shape = None if not solids else solids[0] if len(solids) == 1 else solids
    return Body(link.name, mass, inertia, position=x, orientation=turn, shape=shape, color=link.color)
