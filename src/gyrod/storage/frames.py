"""The part of a result file that ParaView reads: rods as lines, bodies as points and surfaces, over time.

One PolyData of the VTKHDF format, version 2.0. Its cells are written once; points and what is known at them follow
frame by frame, in float32. Elements of rods are drawn as the curves that they are, in several pieces each. Numbers to
compute with are in ``/gyrod``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod import rotations
from gyrod._check import Array
from gyrod.equations import Compiled
from gyrod.look.curves import Curve
from gyrod.model import Body
from gyrod.motion import Motion, MotionStats
from gyrod.motion.contacts import on_bodies, on_rod
from gyrod.storage.layout import Series

if TYPE_CHECKING:
    import h5py

    from gyrod._check import AnyArray

#: Kinds of cells in the order of the format.
CELLS = ("Vertices", "Lines", "Polygons", "Strips")
#: Points of all surfaces of bodies at most; bodies beyond are single points.
MESH = 2000
#: Least thickness of a body without shape, against its size.
FLAT = 0.02


class Scene:
    """What is drawn of a system: points, cells, and arrays over frames."""

    def __init__(self, compiled: Compiled) -> None:
        system = compiled.system
        self.compiled = compiled
        self.rods = system.rods
        self.curves = [Curve(rod) for rod in self.rods]
        self.bodies = [i for i, name in enumerate(system.names) if name not in system.junction_bodies]
        self.names = [*system.rod_names, *(system.names[i] for i in self.bodies)]
        counts = [len(curve.s) for curve in self.curves]
        ends = np.cumsum([0, *counts])
        centres = int(ends[-1]) + np.arange(len(self.bodies))
        #: Places of the surfaces' points in their bodies, and which of the bodies.
        self.corners, self.owner, faces, of_face = _surfaces([system.bodies[i] for i in self.bodies])
        first = int(ends[-1]) + len(self.bodies)
        self.points = first + len(self.owner)
        self.cells = {
            "Vertices": list(centres[:, None]),
            "Lines": [np.arange(a, b) for a, b in pairwise(ends)],
            "Polygons": [first + face for face in faces],
        }
        rods, bodies = np.arange(len(self.rods)), len(self.rods) + np.arange(len(self.bodies))
        self.object = np.concatenate([np.repeat(rods, counts), bodies, bodies[self.owner]]).astype(np.int32)
        # Cells come in the order of the kinds: the points of the bodies, the lines of the rods, the faces.
        self.cell_object = np.concatenate([bodies, rods, bodies[of_face]]).astype(np.int32)
        radii = [_radii(curve) for curve in self.curves]
        self.radius = np.concatenate([*radii, np.zeros(self.points - int(ends[-1]))]).astype(np.float32)

    def motion(self, t: Array, y: Array) -> Motion:
        """Rows as a motion."""
        return Motion(t, y, MotionStats("", self.compiled.formulation), _compiled=self.compiled)

    def arrays(self, motion: Motion) -> tuple[dict[str, Array], dict[str, Array]]:
        """Positions and point data (k, points, 3), and what is known of the whole system (k, components)."""
        k = len(motion.t)
        found: dict[str, list[Array]] = {"Points": [], "velocity": [], "frames": []}
        sections: dict[str, list[Array]] = {"force": [], "moment": [], "curvature": []}
        for curve in self.curves:
            track = motion[curve.rod.name]
            found["Points"].append(curve.vertices(track.positions))
            found["velocity"].append(curve.vertices(track.velocities))
            found["frames"].append(rotations.matrix_from_quaternion(curve.frames(track)))
            for name, parts in sections.items():
                parts.append(curve.sections(getattr(track, name)))
        x, R, v, Omega = (part[:, self.bodies] for part in motion._motions)
        arm = (R[:, self.owner] @ self.corners[:, :, None])[..., 0]
        omega = (R @ Omega[..., None])[..., 0]
        found["Points"] += [x, x[:, self.owner] + arm]
        found["velocity"] += [v, v[:, self.owner] + np.cross(omega[:, self.owner], arm)]
        found["frames"] += [R, R[:, self.owner]]
        none = np.zeros((k, len(self.bodies) + len(self.owner), 3))
        joined = {name: np.concatenate(parts, axis=1) for name, parts in found.items()}
        if self.rods:
            joined |= {name: np.concatenate([*parts, none], axis=1) for name, parts in sections.items()}
        if self.compiled.system.all_contacts:
            tracks, forces, nothing = motion.contacts.values(), on_bodies(motion), np.zeros((k, 3))
            parts = [on_rod(tracks, curve.rod.name, curve.s, (k,)) for curve in self.curves]
            parts += [forces.get(name, nothing)[:, None] for name in self.names[len(self.rods) :]]
            joined["contact force"] = np.concatenate([*parts, np.zeros((k, len(self.owner), 3))], axis=1)
        frames = joined.pop("frames")
        joined |= {f"d{i + 1}": frames[..., i] for i in range(3)}
        return joined, _whole(motion)


def _surfaces(bodies: Sequence[Body]) -> tuple[Array, NDArray[np.intp], list[NDArray[np.intp]], NDArray[np.intp]]:
    """Corners of all bodies in their axes (n, 3), the body of each, the faces, and the body of each face."""
    corners, faces = [np.zeros((0, 3))], []
    owner: list[int] = []
    of_face: list[int] = []
    for k, body in enumerate(bodies):
        points, cells = _surface(body, MESH - len(owner))
        faces += [len(owner) + cell for cell in cells]
        of_face += [k] * len(cells)
        owner += [k] * len(points)
        corners.append(points)
    return np.concatenate(corners), np.array(owner, dtype=np.intp), faces, np.array(of_face, dtype=np.intp)


def _surface(body: Body, most: int) -> tuple[Array, list[NDArray[np.intp]]]:
    """Corners (n, 3) and faces of a body in its axes; none where they would be more than ``most``."""
    from gyrod.look.faces import faces_of

    faces = faces_of(body, 0.0)
    corners = np.concatenate([np.zeros((0, 3)), *faces])
    size = float(np.abs(corners).max(initial=0.0))
    if not size or len(corners) > 20 * most:
        return np.zeros((0, 3)), []
    if not body.shapes:  # the box of its inertia, a flat one made visible
        faces = faces_of(body, FLAT * size)
        corners = np.concatenate(faces)
    # Neighbouring faces share their corners, but for rounding.
    _, first, back = np.unique(np.round(corners / size, 9), axis=0, return_index=True, return_inverse=True)
    if len(first) > most:
        return np.zeros((0, 3)), []
    ends = np.cumsum([len(face) for face in faces])[:-1]
    return corners[first], np.split(back.ravel(), ends)


def _radii(curve: Curve) -> Array:
    """Radius of the tube that shows a rod, m, (D,)."""
    rod = curve.rod
    if rod.section is None:
        return np.full(len(curve.s), 0.01 * rod.length)
    return np.asarray(np.asarray(rod.section.half_sizes(curve.s)).mean(axis=1))


def _whole(motion: Motion) -> dict[str, Array]:
    """Energies and sensors, (k, components)."""
    energy, k = motion.energy, len(motion.t)
    found = {"kinetic energy": energy.kinetic, "potential energy": energy.potential, "total energy": energy.total}
    for name in motion.sensors.names:
        found[f"sensor {name}".replace("/", "|")] = np.asarray(motion.sensors[name])
    return {name: np.asarray(value, dtype=float).reshape(k, -1) for name, value in found.items()}


class Frames:
    """The group ``/VTKHDF`` of an open file, to which frames are added."""

    def __init__(self, group: h5py.Group, scene: Scene, series: dict[str, Series]) -> None:
        self.group, self.scene, self.series = group, scene, series

    @classmethod
    def create(cls, file: h5py.File, compiled: Compiled, expected: int | None = None) -> Frames:
        """The group in a new file, without frames."""
        scene = Scene(compiled)
        group = _create(file, scene)
        first = scene.motion(np.zeros(1), compiled.y0[None])
        return cls(group, scene, _series(group, scene, scene.arrays(first), expected))

    @classmethod
    def found(cls, file: h5py.File, compiled: Compiled) -> Frames:
        """The group of a file that is gone on with."""
        group, scene = file["VTKHDF"], Scene(compiled)
        growing = {name: data for name, data in _datasets(group) if data.maxshape[0] is None}
        fields = [name.removeprefix("FieldData/") for name in growing if name.startswith("FieldData/")]
        sizes = {name: growing[f"FieldData/{name}"].shape[1] for name in fields}
        points = [name.removeprefix("PointData/") for name in growing if name.startswith("PointData/")]
        series = {}
        for name, data in growing.items():
            unit = scene.points if name == "Points" or name.startswith("PointData/") else 1
            series[name] = Series(data, "frames", unit, law=_law(name, scene.points, points, sizes))
        return cls(group, scene, series)

    def items(self, t: Array, y: Array) -> dict[str, AnyArray]:
        """Values of the series for more frames."""
        P, k = self.scene.points, len(t)
        found: dict[str, AnyArray] = {}
        with np.errstate(over="ignore", invalid="ignore"):  # a run that blows up says so itself
            points, whole = self.scene.arrays(self.scene.motion(t, y))
            for name, value in points.items():
                place = "Points" if name == "Points" else f"PointData/{name}"
                if place in self.series:  # files of older versions know nothing of some
                    found[place] = value.reshape(k * P, 3).astype(np.float32)
        return found | {f"FieldData/{name}": value for name, value in whole.items()} | {"Steps/Values": t}

    def count(self, frames: int, times: AnyArray) -> None:
        """Tell readers how many frames there are and the times of the last; VTK wants exactly so many times."""
        values = self.series["Steps/Values"]
        if frames != values.capacity:
            values.resize(frames)
            self.group["Steps"].attrs.modify("NSteps", np.int64(frames))
        values.write(frames - len(times), times)


def _series(
    group: h5py.Group, scene: Scene, arrays: tuple[dict[str, Array], dict[str, Array]], expected: int | None
) -> dict[str, Series]:
    """Series for everything that frames have."""
    points, whole = arrays
    kinds: dict[str, tuple[tuple[int, ...], str]] = {}
    for name in points:
        kinds["Points" if name == "Points" else f"PointData/{name}"] = ((3,), "f4")
    moving = set(kinds)
    kinds |= {f"FieldData/{name}": (value.shape[1:], "f8") for name, value in whole.items()}
    kinds |= {f"Steps/{name}": ((), "i8") for name in ("PartOffsets", "NumberOfParts", "PointOffsets")}
    kinds |= {"Steps/CellOffsets": ((len(CELLS),), "i8"), "Steps/Values": ((), "f8")}
    first = {value.shape[1]: name for name, value in reversed(whole.items())}
    kinds |= {f"Steps/FieldDataSizes/{name}": ((2,), "i8") for name in first.values()}
    kinds[f"Steps/FieldDataOffsets/{next(iter(whole))}"] = ((), "i8")
    sizes = {name: value.shape[1] for name, value in whole.items()}
    found = {}
    for name, (shape, kind) in kinds.items():
        law, unit = _law(name, scene.points, list(points), sizes), scene.points if name in moving else 1
        found[name] = Series.create(group, name, "frames", shape, kind, unit=unit, expected=expected, law=law)
    # Where a frame finds its values is the same for many arrays: one dataset under several names.
    steps = group["Steps"]
    same = {"ConnectivityIdOffsets": "CellOffsets"}
    same |= {f"PointDataOffsets/{n}": "PointOffsets" if n in points else "PartOffsets" for n in group["PointData"]}
    same |= {f"CellDataOffsets/{n}": "PartOffsets" for n in group["CellData"]}
    same |= {f"FieldDataOffsets/{n}": f"FieldDataOffsets/{next(iter(whole))}" for n in whole}
    same |= {f"FieldDataSizes/{n}": f"FieldDataSizes/{first[sizes[n]]}" for n in whole}
    for name, other in same.items():
        if name not in steps:
            steps[name] = steps[other]
    return found


def _law(name: str, P: int, points: list[str], sizes: dict[str, int]) -> Callable[[int, int], AnyArray] | None:
    """Where a frame finds its points and values: what does not change is read from the same place in every frame."""
    if not name.startswith("Steps/") or name == "Steps/Values":
        return None
    what, _, inner = name.removeprefix("Steps/").partition("/")
    if what == "PointOffsets" or (what == "PointDataOffsets" and inner in points):
        return lambda a, b: P * np.arange(a, b)
    if what == "FieldDataOffsets":
        return np.arange
    if what == "FieldDataSizes":
        return lambda a, b: np.tile([sizes[inner], 1], (b - a, 1))
    if what in ("CellOffsets", "ConnectivityIdOffsets"):
        return lambda a, b: np.zeros((b - a, len(CELLS)))
    return lambda a, b: np.full(b - a, int(what == "NumberOfParts"))


def _datasets(group: h5py.Group) -> list[tuple[str, h5py.Dataset]]:
    """All datasets below a group by their paths."""
    found: list[tuple[str, h5py.Dataset]] = []
    group.visititems(lambda name, item: found.append((name, item)) if hasattr(item, "maxshape") else None)
    return found


def _create(file: h5py.File, scene: Scene) -> h5py.Group:
    """The group with everything that does not move."""
    group = file.create_group("VTKHDF")
    group.attrs["Version"] = np.array([2, 0], dtype=np.int64)
    group.attrs.create("Type", np.bytes_("PolyData"))
    group["NumberOfPoints"] = np.array([scene.points], dtype=np.int64)
    for kind in CELLS:
        cells = scene.cells.get(kind, [])
        inner = group.create_group(kind)
        inner["NumberOfCells"] = np.array([len(cells)], dtype=np.int64)
        inner["NumberOfConnectivityIds"] = np.array([sum(map(len, cells))], dtype=np.int64)
        inner["Offsets"] = np.cumsum([0, *map(len, cells)]).astype(np.int64)
        inner["Connectivity"] = np.concatenate([np.zeros(0), *cells]).astype(np.int64)
    group["PointData/object"] = scene.object
    if scene.rods:
        group["PointData/radius"] = scene.radius
    group["CellData/object"] = scene.cell_object
    group.create_group("FieldData")
    steps = group.create_group("Steps")
    steps.attrs["NSteps"] = np.int64(0)
    return group
