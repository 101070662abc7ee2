"""Where a drawing is seen from: an orthographic projection."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gyrod import _check
from gyrod._check import Array

PLANES = ("xy", "xz", "yz", "yx", "zx", "zy")


@dataclass(frozen=True)
class Eye:
    """Where the picture is seen from: unit vectors to the right, up, and towards the eye, (3,)."""

    right: Array
    up: Array
    back: Array
    #: The coordinate plane that is seen, as "xz".
    plane: str | None = None

    def flat(self, x: Array) -> Array:
        """Points on the picture, (..., 2)."""
        return np.stack([x @ self.right, x @ self.up], axis=-1)

    def depth(self, x: Array) -> Array:
        """How near points are, (...)."""
        return np.asarray(x @ self.back)


def eye_of(view: str | Iterable[float] | None, planar: str | None) -> Eye:
    """The eye of a view: a plane, azimuth and elevation in degrees, or what suits the motion."""
    if view is None:
        view = planar or (-60.0, 20.0)
    if isinstance(view, str):
        _check.choice("view", view, PLANES)
        right, up = (np.eye(3)["xyz".index(axis)] for axis in view)
        return Eye(right, up, np.cross(right, up), view)
    try:
        azimuth, elevation = (float(x) for x in view)
    except (TypeError, ValueError, OverflowError):
        azimuth = elevation = np.nan
    if not (np.isfinite(azimuth) and -90.0 <= elevation <= 90.0):
        raise ValueError(
            f"view = {view!r} must be a plane ({', '.join(map(repr, PLANES))}) or azimuth and elevation in degrees, "
            "as (-60, 20), the elevation from -90 to 90."
        )
    a, e = np.deg2rad([azimuth, elevation])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    back = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    return Eye(right, np.cross(back, right), back)
