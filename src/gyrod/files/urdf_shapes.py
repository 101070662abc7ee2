"""What links of a URDF look like: boxes, cylinders and spheres of their <visual>; meshes are other files, not read.

Nothing here is mechanics, so nothing here is an error: what cannot be read is not drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from gyrod import rotations
from gyrod.model import Box, Cylinder, Solid, Sphere
from gyrod.model.appearance import color_of

Array = NDArray[np.float64]
Frame = tuple[Array, Array]

#: Most solids of a link.
MOST = 1000


def materials(robot: ElementTree.Element) -> dict[str, str]:
    """Colours by name of the materials that the robot declares."""
    found = ((element.get("name", ""), _color(element)) for element in robot.findall("material"))
    return {name: color for name, color in found if color is not None}


def visuals(link: ElementTree.Element, known: dict[str, str]) -> tuple[list[Solid], str | None]:
    """Solids of a link in its own frame, and its colour."""
    solids, color = [], None
    for visual in link.findall("visual")[:MOST]:
        try:
            solid = _solid(visual)
        except (ValueError, AttributeError):  # a ModelError is a ValueError
            continue
        if solid is None:
            continue
        solids.append(solid)
        material = visual.find("material")
        if material is not None and color is None:
            color = _color(material) or known.get(material.get("name", ""))
    return solids, color


def placed(solids: Iterable[Solid], link: Frame, body: Frame) -> list[Solid]:
    """Solids that move with a link, told in the axes of a body: both frames are in space."""
    (x, R), (c, B) = link, body
    turn = rotations.quaternion_from_matrix(B.T @ R)
    return [
        replace(  # type: ignore[type-var]
            solid,
            offset=B.T @ (x + R @ solid.offset - c),
            orientation=rotations.multiply(turn, solid.orientation),
        )
        for solid in solids
    ]


def _solid(visual: ElementTree.Element) -> Solid | None:
    geometry = visual.find("geometry")
    shape = None if geometry is None or not len(geometry) else geometry[0]
    if shape is None:
        return None
    origin = visual.find("origin")
    xyz, rpy = ("0 0 0" if origin is None else origin.get(key, "0 0 0") for key in ("xyz", "rpy"))
    roll, pitch, yaw = _numbers(rpy)
    at, turn = _numbers(xyz), rotations.quaternion_from_euler((yaw, pitch, roll), "321")
    if shape.tag == "box":
        return Box(_numbers(shape.get("size", "")), offset=at, orientation=turn)
    if shape.tag == "sphere":
        return Sphere(float(shape.get("radius", "")), offset=at, orientation=turn)
    if shape.tag == "cylinder":
        return Cylinder(float(shape.get("radius", "")), float(shape.get("length", "")), offset=at, orientation=turn)
    return None


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.split()]


def _color(material: ElementTree.Element) -> str | None:
    color = material.find("color")
    if color is None:
        return None
    try:
        return color_of("rgba", _numbers(color.get("rgba", ""))[:3])
    except ValueError:
        return None
