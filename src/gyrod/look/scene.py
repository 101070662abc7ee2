"""From a motion to a scene: what does not change, once, and how it moves, frame by frame.

Points are given by what they move with: a body and a point in its axes, a rod and a fraction of its length, or ground.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod import _check, rotations
from gyrod._check import Array
from gyrod._words import listed
from gyrod.equations import Compiled
from gyrod.look.curves import Curve
from gyrod.look.faces import faces_of_solid, faces_of_surface, triangles
from gyrod.look.packing import Track, pack
from gyrod.look.tracks import DrawnLine, DrawnRod, Static, anchor_of, arrows, first_shown, series, tracks
from gyrod.model import (
    Boundary,
    Bowl,
    Bushing,
    Cable,
    Clip,
    Distance,
    Joint,
    Pipe,
    Plane,
    PointMass,
    Rod,
    Shaft,
    Solid,
    SpringDamper,
    System,
    Tendon,
)
from gyrod.model.appearance import COLORS, Box, Cone, Cylinder, Mesh, Sphere, equivalent_box
from gyrod.model.errors import GROUND
from gyrod.model.forces import Link
from gyrod.motion import Motion
from gyrod.motion.contacts import touchable
from gyrod.motion.envelopes import Envelope
from gyrod.quantities import COLOURS

if TYPE_CHECKING:
    from gyrod._check import Data

#: Version of what the page reads.
VERSION = 1
#: Frames for a second of motion, and the bounds of their number.
FPS = 30.0
LEAST_FRAMES, MOST_FRAMES = 121, 601
_PALETTE = list(COLORS.values())[:8]
#: What the page calls links.
LINKS: dict[type[Link], str] = {SpringDamper: "spring", Bushing: "bushing", Cable: "cable"}


@dataclass(frozen=True)
class Scene:
    """What the page shows: ``static`` holds plain JSON values, ``tracks`` arrays over the frames."""

    static: Static
    tracks: dict[str, Track]

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.tracks["t"].values)

    def packed(self) -> bytes:
        """The tracks as the page reads them."""
        return pack(self.tracks)


def scene(motion: Motion, *, fps: float = FPS, title: str | None = None, envelope: Envelope | None = None) -> Scene:
    """The scene of a motion, resampled evenly in time: ``fps`` frames a second, 121 to 601 of them."""
    _check.positive("fps", fps)
    compiled = motion.compiled
    static = describe(compiled, title)
    static |= {"method": motion.stats.method, "errors": _errors(motion)}
    if envelope is not None:
        static["swept"] = _triangles(envelope.vertices, envelope.faces)
    found = tracks(resampled(motion, fps), static)
    static["first"] = first_shown(compiled.system, found)
    return Scene(static, found)


def _errors(motion: Motion) -> str:
    """How wrong it is, in a line; nothing where that is not known."""
    return "" if motion.error.failure or not np.size(motion.t) else f"errors: {motion.error.line()}"


def resampled(motion: Motion, fps: float) -> Motion:
    """The motion at even times; without dense output its own rows that lie nearest to them."""
    if motion.t.ndim == 0 or len(motion.t) < 2:
        return motion
    first, last = float(motion.t[0]), float(motion.t[-1])
    count = int(np.clip(np.ceil(fps * (last - first)) + 1, LEAST_FRAMES, MOST_FRAMES))
    times = np.linspace(first, last, count)
    if motion._dense is not None:
        return motion(times)
    nearest = np.unique(np.searchsorted(0.5 * (motion.t[1:] + motion.t[:-1]), times))
    return motion.at_rows(nearest)


# --- what stands there -----------------------------------------------------------------------------------------------


def describe(compiled: Compiled, title: str | None = None) -> Static:
    """Everything about a system that does not change in time, as plain JSON values."""
    system = compiled.system
    names = [*(b.name for b in system.original.bodies), *system.rod_names]
    names_of = {x.b: x.name for x in reversed(system.all_contacts)}
    return {
        "version": VERSION,
        "title": title or listed(names, 3, str),
        "formulation": compiled.formulation,
        "gravity": system.gravity.tolist(),
        "bodies": _bodies(system),
        "rods": [_rod(rod, system, i) for i, rod in enumerate(system.rods)],
        "joints": [*_joints(system), *_supports(system)],
        "lines": _lines(system),
        "points": _points(system),
        "obstacles": [_touched(x, names_of[x]) for x in system.touched],
        "arrows": [arrow.told() for arrow in arrows(compiled)],
        "fields": {
            key: {"title": c.title, "unit": c.unit, "signed": c.signed, "inverse": c.inverse}
            for key, c in COLOURS.items()
        },
        "series": series(system),
    }


def _bodies(system: System) -> list[Data]:
    found: list[Data] = []
    hung: dict[str, list[list[float]]] = {name: [] for name in system.names}
    for joint in system.joints:
        place = system.attachment(joint)
        for name, at in ((joint.a, place.at_a), (joint.b, place.at_b)):
            if name in hung:
                hung[name].append(at.tolist())
    for (_, _), end in system.rod_ends.items():
        if end.host in hung:
            hung[end.host].append(end.at.tolist())
    for i, body in enumerate(system.bodies):
        parts = [_part(solid) for solid in body.shapes]
        junction = body.name in system.junction_bodies
        if not parts and not junction:
            size, axes = equivalent_box(body.mass, body.inertia)
            turn = rotations.quaternion_from_matrix(axes).tolist()
            # Thin rods and points have a box without thickness: the page gives it one.
            parts = [{"kind": "box", "size": size.tolist(), "at": [0.0, 0.0, 0.0], "turn": turn}]
        found.append(
            {
                "name": body.name,
                "color": body.color or _PALETTE[i % len(_PALETTE)],
                "parts": parts,
                "guessed": not body.shapes,
                "hidden": junction,
                "hangs": [] if body.shapes else hung[body.name],
            }
        )
    return found


def _part(solid: Solid) -> Data:
    at = {"at": solid.offset.tolist(), "turn": rotations.quaternion_from_matrix(solid.turn).tolist()}
    if isinstance(solid, Box):
        return {"kind": "box", "size": solid.size.tolist(), **at}
    if isinstance(solid, Sphere):
        return {"kind": "sphere", "size": [2.0 * solid.radius] * 3, **at}
    if isinstance(solid, (Cylinder, Cone)):
        kind = "cylinder" if isinstance(solid, Cylinder) else "cone"
        return {"kind": kind, "size": [2.0 * solid.radius, 2.0 * solid.radius, solid.length], **at}
    if isinstance(solid, Mesh):
        return {"kind": "mesh", "size": [1.0, 1.0, 1.0], **_triangles(solid.vertices, solid.faces), **at}
    corners, faces = triangles(faces_of_solid(solid))
    still = {"at": [0.0, 0.0, 0.0], "turn": [1.0, 0.0, 0.0, 0.0]}
    return {"kind": "mesh", "size": [1.0, 1.0, 1.0], **_triangles(corners, faces), **still}


def _triangles(vertices: Array, faces: NDArray[np.int32]) -> dict[str, str]:
    parts = {"vertices": vertices.astype("<f4").tobytes(), "faces": faces.astype("<u4").tobytes()}
    return {key: base64.b64encode(value).decode() for key, value in parts.items()}


def _rod(rod: Rod, system: System, i: int) -> DrawnRod:
    s = Curve(rod).s
    if rod.section is not None:
        half = rod.section.half_sizes(s)
    else:  # that of the round rod whose bending and extension have this ratio
        C = rod.stiffness_at(s)
        half = np.sqrt(np.clip(4.0 * C[:, [3, 4], [3, 4]] / C[:, [2], [2]], 0.0, (0.05 * rod.length) ** 2))
        half = np.repeat(half.min(axis=1, keepdims=True), 2, axis=1)
    is_round = rod.section is None or rod.section.round
    constant = bool(np.ptp(half, axis=0).max() < 1e-9 * half.max())
    return {
        "name": rod.name,
        "color": _PALETTE[(len(system.bodies) + i) % len(_PALETTE)],
        "vertices": len(s),
        "fractions": None if rod.grid is None and rod.degree is None else s.tolist(),
        "round": is_round,
        "half": (half[:1] if constant else half).tolist(),
        "fields": [
            key
            for key in COLOURS
            if (key != "stress" or rod.section is not None) and (key != "contact" or rod.name in touchable(system))
        ],
    }


def _joints(system: System) -> list[Data]:
    made = len(system.joints) - len(system.original.joints)  # those of junctions come last
    shown = system.joints[: len(system.joints) - made]
    return [_joint(system, joint) for joint in shown if not isinstance(joint, Distance)]


def _joint(system: System, joint: Joint) -> Data:
    place = system.attachment(joint)
    moves = joint.b if joint.b != GROUND else joint.a
    at, frame = (place.at_b, place.frame_b) if moves == joint.b else (place.at_a, place.frame_a)
    if joint.slides:  # drawn where the guide is
        moves, at, frame = joint.a, place.at_a, place.frame_a
    return {
        "name": joint.name or f"{joint.kind} {joint.a} - {joint.b}",
        "kind": joint.kind,
        "anchor": anchor_of(system, moves, at),
        "axis": frame[:, 2].tolist() if hasattr(joint, "axis") else None,
    }


def _supports(system: System) -> list[Data]:
    """How ends of rods are held, and clips."""
    found: list[Data] = []
    for clip in system.forces:
        if isinstance(clip, Clip):
            kind = "clamped" if clip.kind == "fixed" else "hinged"
            anchor = anchor_of(system, clip.rod, clip.at)
            if clip.slides:  # it is where the ring is, not where the rod was in it
                place, _ = system.clip_place(clip)
                anchor = anchor_of(system, clip.to, (place[0], place[1][:2]) if isinstance(place, tuple) else place)
            found.append({"name": clip.name or f"{clip.kind} clip", "kind": kind, "anchor": anchor, "axis": None})
    for rod in system.rods:
        for s, side in ((0.0, "start"), (1.0, "end")):
            end = getattr(rod, side)
            place = system.rod_ends.get((rod.name, int(s)))
            position = end.holds_position if place is None else True
            frame = end.holds_frame if place is None else place.clamped
            if position or frame:
                kind = "clamped" if position and frame else "hinged" if position else "guided"
                anchor = anchor_of(system, rod.name, s)
                found.append({"name": f"{side} of {rod.name}", "kind": kind, "anchor": anchor, "axis": None})
    return found


def _lines(system: System) -> list[DrawnLine]:
    """Springs, cables, tendons and rigid distances."""
    found: list[DrawnLine] = []
    for joint in system.joints:
        if isinstance(joint, Distance):
            place = system.attachment(joint)
            ends = [anchor_of(system, joint.a, place.at_a), anchor_of(system, joint.b, place.at_b)]
            found.append({"name": joint.name or "distance", "kind": "bar", "points": ends})
    for force in system.forces:
        if isinstance(force, Link):
            kind = LINKS.get(type(force), "spring")
            ends = [anchor_of(system, name, at) for _, name, at in force.ends]
            found.append({"name": force.name or kind, "kind": kind, "points": ends})
        elif isinstance(force, Tendon):
            ends = [anchor_of(system, force.rod, point) for point in force.points]
            found.append({"name": force.name or "tendon", "kind": "tendon", "points": ends})
    return found


def _points(system: System) -> list[Data]:
    """Masses on rods, and sensors that sit at a point."""
    found: list[Data] = []
    for force in system.forces:
        if isinstance(force, PointMass):
            anchor = anchor_of(system, force.rod, force.at)
            found.append({"name": force.name or f"{force.mass:g} kg", "kind": "mass", "anchor": anchor})
    for sensor in system.sensors:
        name = getattr(sensor, "on", getattr(sensor, "rod", None))
        if name is None:
            continue
        at = getattr(sensor, "at", None)
        at = (0.5 if at is None else at) if name in system.rod_names else at
        found.append({"name": sensor.name, "kind": "sensor", "anchor": anchor_of(system, name, at)})
    return found


def _touched(surface: Boundary | Solid, name: str | None) -> Data:
    """A surface that a contact of a name touches: a plane, a ball or a cylinder without end, else its faces."""
    name = name or type(surface).__name__.lower()
    if isinstance(surface, Sphere):
        parts = {"point": surface.offset.tolist(), "direction": [0.0] * 3, "radius": surface.radius}
        return {"name": name, "kind": "sphere", **parts}
    if isinstance(surface, Plane):
        parts = {"point": surface.point.tolist(), "direction": surface.normal.tolist(), "radius": 0.0}
        return {"name": name, "kind": "plane", **parts}
    if isinstance(surface, Shaft | Pipe):
        parts = {"point": surface.point.tolist(), "direction": surface.axis.tolist(), "radius": surface.radius}
        return {"name": name, "kind": "cylinder", **parts, "hollow": isinstance(surface, Pipe)}
    found = faces_of_surface(surface, np.zeros(3), 1.0)
    return {"name": name, "kind": "mesh", **_triangles(*triangles(found)), "hollow": isinstance(surface, Bowl)}
