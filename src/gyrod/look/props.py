"""What else a drawing shows: springs, cables and tendons as lines, obstacles as solids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gyrod import rotations
from gyrod.look.curves import Curve
from gyrod.look.faces import faces_of_solid
from gyrod.look.scene import describe
from gyrod.model import CylinderObstacle, PlaneObstacle
from gyrod.model.appearance import Box, Cylinder, Sphere
from gyrod.model.elements import Obstacle
from gyrod.motion import Motion

Array = NDArray[np.float64]


def lines(motion: Motion) -> list[Array]:
    """Springs, rigid distances, cables and tendons over time, (n, points, 3) each."""
    return [
        np.stack([_place(motion, anchor) for anchor in line["points"]], axis=1)
        for line in describe(motion.compiled)["lines"]
    ]


def _place(motion: Motion, anchor: dict[str, Any]) -> Array:
    """A point over time, (n, 3): of ground, of a body, or at a fraction of a rod."""
    system, n = motion.compiled.system, len(motion.t)
    if "rod" in anchor:
        rod = system.rods[anchor["rod"]]
        track, curve, s = motion[rod.name], Curve(rod), anchor["s"]
        offset = np.array([*anchor["offset"], 0.0])
        return np.asarray(curve.point(track, s) + rotations.rotate(curve.frame(track, s), offset))
    at = np.array(anchor["at"])
    if "body" not in anchor:
        return np.broadcast_to(at, (n, 3))
    track = motion[system.names[anchor["body"]]]
    return np.asarray(track.position + track.matrix @ at)


def obstacles(system: Any, middle: Array, length: float) -> list[list[Array]]:
    """Faces of obstacles; planes and cylinders, which have no end, about ``middle`` and as long as the system."""
    found = []
    for force in system.forces:
        if not isinstance(force, Obstacle):
            continue
        point, direction, radius = (np.asarray(x, dtype=float) for x in force.parts())
        if isinstance(force, PlaneObstacle):
            at = middle - ((middle - point) @ direction) * direction
            thin = 0.004 * length
            solid: Any = Box((length, length, thin), offset=at - 0.5 * thin * direction, orientation=_turn(direction))
        elif isinstance(force, CylinderObstacle):
            at = point + ((middle - point) @ direction) * direction
            solid = Cylinder(float(radius), 0.6 * length, axis=direction, offset=at)
        else:
            solid = Sphere(float(radius), offset=point)
        found.append(faces_of_solid(solid))
    return found


def _turn(direction: Array) -> Array:
    """The smallest rotation vector that takes z to a direction, (3,)."""
    axis = np.cross((0.0, 0.0, 1.0), direction)
    size = float(np.linalg.norm(axis))
    angle = float(np.arctan2(size, direction[2]))
    return np.asarray(angle * axis / size if size > 1e-12 else np.array([angle, 0.0, 0.0]))
