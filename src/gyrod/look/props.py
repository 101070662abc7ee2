"""What else a drawing shows: springs, cables and tendons as lines, what contacts touch as faces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gyrod import rotations
from gyrod._check import Array
from gyrod.look.curves import Curve
from gyrod.look.faces import faces_of_surface
from gyrod.look.scene import describe
from gyrod.model import System
from gyrod.motion import Motion

if TYPE_CHECKING:
    from gyrod.look.tracks import Anchor


def lines(motion: Motion) -> list[Array]:
    """Springs, rigid distances, cables and tendons over time, (n, points, 3) each."""
    return [
        np.stack([_place(motion, anchor) for anchor in line["points"]], axis=1)
        for line in describe(motion.compiled)["lines"]
    ]


def _place(motion: Motion, anchor: Anchor) -> Array:
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


def obstacles(system: System, middle: Array, length: float) -> list[list[Array]]:
    """Faces of what contacts touch in space; what has no end is as long as the system."""
    return [faces_of_surface(surface, middle, length) for surface in system.touched]
