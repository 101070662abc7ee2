"""What links of a URDF look like: boxes, cylinders, spheres and meshes of their <visual>.

Nothing here is mechanics, so nothing here is an error: what cannot be read is not drawn, and noted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from gyrod import rotations
from gyrod._check import Array
from gyrod.files.meshes import read_mesh
from gyrod.model import Box, Cylinder, Mesh, Solid, Sphere
from gyrod.model.appearance import color_of

Frame = tuple[Array, Array]

#: Most solids of a link.
MOST = 1000


class Meshes:
    """Meshes of a file in a folder, each read once; ``notes`` lists those that are not, and why."""

    def __init__(self, folder: Path | None, packages: Mapping[str, Path]) -> None:
        self.folder, self.packages = folder, packages
        self.notes: list[str] = []
        #: What notes call the link at hand.
        self.owner = ""
        self._known: dict[Path, Mesh] = {}

    def read(self, name: str, scale: list[float], offset: list[float], orientation: Array) -> Mesh | None:
        """The mesh of a file name as URDF has it, or None, noted."""
        try:
            file = self._file(name)
            mesh = self._known.get(file) or self._known.setdefault(file, read_mesh(file))
            # A mirror turns faces inside out.
            faces = mesh.faces if np.prod(scale) > 0.0 else mesh.faces[:, ::-1]
            return Mesh(mesh.vertices * np.array(scale), faces, offset=offset, orientation=orientation)
        except (OSError, ValueError) as error:
            self.notes.append(f"{self.owner}: mesh {name!r} is not drawn: {error}")
            return None

    def _file(self, name: str) -> Path:
        scheme, _, rest = name.rpartition("://")
        if scheme == "package":
            package, _, inner = rest.partition("/")
            if package in self.packages:
                return self.packages[package] / inner
            above = [] if self.folder is None else [self.folder.resolve(), *self.folder.resolve().parents]
            places = [p / inner for p in above if p.name == package] + [p / package / inner for p in above]
            found = next((place for place in places if place.is_file()), None)
            if found is None:
                raise ValueError(
                    f"package {package!r} is not found; name its folder in packages = {{{package!r}: ...}}."
                )
            return found
        if scheme not in ("", "file"):
            raise ValueError(f"{scheme}:// is not a place on this computer.")
        if self.folder is None and not Path(rest).is_absolute():
            raise ValueError("a text has no folder; read the URDF from a file.")
        return (self.folder or Path()) / rest


def materials(robot: ElementTree.Element) -> dict[str, str]:
    """Colours by name of the materials that the robot declares."""
    found = ((element.get("name", ""), _color(element)) for element in robot.findall("material"))
    return {name: color for name, color in found if color is not None}


def visuals(link: ElementTree.Element, known: dict[str, str], meshes: Meshes) -> tuple[list[Solid], str | None]:
    """Solids of a link in its own frame, and its colour."""
    solids, color = [], None
    for visual in link.findall("visual")[:MOST]:
        try:
            solid = _solid(visual, meshes)
        except (ValueError, AttributeError) as error:  # a ModelError is a ValueError
            meshes.notes.append(f"{meshes.owner}: a <visual> is not drawn: {error}")
            continue
        if solid is None:
            continue
        solids.append(solid)
        material = visual.find("material")
        if material is not None and color is None:
            color = _color(material) or known.get(material.get("name", ""))
    return solids, color


def placed(solids: Iterable[Solid], link: Frame, body: Frame) -> list[Solid]:
    """Solids that move with a link, in the axes of a body: both frames are in space."""
    (x, R), (c, B) = link, body
    turn = rotations.quaternion_from_matrix(B.T @ R)
    return [
        replace(
            solid,
            offset=B.T @ (x + R @ solid.offset - c),
            orientation=rotations.multiply(turn, solid.orientation),
        )
        for solid in solids
    ]


def _solid(visual: ElementTree.Element, meshes: Meshes) -> Solid | None:
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
    if shape.tag == "mesh":
        return meshes.read(shape.get("filename", ""), _numbers(shape.get("scale", "1 1 1")), at, turn)
    raise ValueError(f"<{shape.tag}> is unknown; it can be box, cylinder, sphere or mesh.")


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
