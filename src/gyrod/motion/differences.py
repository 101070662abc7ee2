"""Differences of two results whose meshes differ: values at the same places, what is the same in both left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gyrod._check import Array
from gyrod.model import System
from gyrod.model.meshes import Mesh
from gyrod.model.sensors import Sensor
from gyrod.motion import Motion
from gyrod.motion.readings import Quantity

if TYPE_CHECKING:
    from gyrod.motion import RodTrack


def read(q: Quantity, rows: Motion | tuple[Motion, ...]) -> Array:
    """Values of a quantity, (n, ...), also of a single time or of several motions."""
    if isinstance(rows, tuple):
        return np.stack([q.read(one) for one in rows])
    values = q.read(rows)
    return values if rows.t.ndim else values[None]


def along(q: Quantity, rows: Motion | tuple[Motion, ...], s: Array) -> Array:
    """A field along a rod at fractions of its length.

    A grid is read by cubic splines through its points: straight lines between them would add an error of their own.
    """
    one = rows[0] if isinstance(rows, tuple) else rows
    mesh: Mesh = one[q.name].mesh
    if mesh.degree or q.field in ("quaternions", "vertex_quaternions", "directors"):
        return read(replace(q, at=tuple(s.tolist())), rows)
    from scipy.interpolate import make_interp_spline

    values, points = read(q, rows), places(q, mesh)
    bent = q.field == "bend_radius"
    found = make_interp_spline(points, 1.0 / values if bent else values, k=min(3, len(points) - 1), axis=1)(s)
    return _inverse(np.maximum(found, 0.0)) if bent else np.asarray(found)


def places(q: Quantity, mesh: Mesh) -> Array:
    """Fractions of the length at which a mesh has a quantity."""
    if q.place != "sections":
        return np.asarray(getattr(mesh, q.place))
    return np.concatenate([[0.0], mesh.curvatures, [1.0]]) if mesh.degree else mesh.curvatures


def _inverse(x: Array) -> Array:
    return np.asarray(np.divide(1.0, x, out=np.full(x.shape, np.inf), where=x > 0.0))


def field_of(q: Quantity, system: System) -> str:
    """The field of a thing, or what a sensor measures."""
    sensor = sensor_of(q, system)
    return sensor.quantity if sensor else q.field


def sensor_of(q: Quantity, system: System) -> Sensor | None:
    """The sensor that it names, if it does."""
    return next((s for s in system.sensors if q.kind == "sensor" and s.name == q.name), None)


def chosen(q: Quantity, values: Array) -> Array:
    """The entries that a quantity names, and their measure."""
    found = values[(slice(None), *(slice(*i) if isinstance(i, tuple) else i for i in q.index))]
    if q.measure == "norm":
        return np.asarray(np.linalg.norm(found, axis=-1)) if found.ndim > 1 else np.abs(found)
    return np.abs(found) if q.measure == "abs" else found


def difference(q: Quantity, x: Array, y: Array, system: System) -> Array:
    """Difference; of quaternions on one side, of angles less whole turns, which companions do not count."""
    if q.field in ("quaternion", "quaternions", "vertex_quaternions") or q.linked:
        return x - np.where(np.sum(x * y, axis=-1, keepdims=True) < 0.0, -y, y)
    if not q.dense:
        return less(x, y)
    names = system.joint(q.name).coordinate_names if q.kind == "joint" else ("angle",)
    turns = np.round((x - y) / (2.0 * np.pi))
    if q.field == "coordinates":
        turns = turns * np.array([name.startswith("angle") for name in names])
    return x - y - 2.0 * np.pi * turns


def radii(q: Quantity, x: Array, y: Array) -> tuple[Array, Array]:
    """Error of the smallest radius over the run at each place, by the curvatures there: R² |ΔK|."""
    a, b = 1.0 / x, 1.0 / y
    tight = a.max(axis=0)
    changes = np.abs(a - b).max(axis=0), np.abs(tight - b.max(axis=0))
    found = [np.divide(c, tight**2, out=np.where(c > 0.0, np.inf, 0.0), where=tight > 0.0) for c in changes]
    return chosen(q, found[0][None])[0], chosen(q, found[1][None])[0]


def largest_turn(track: RodTrack) -> float:
    """Largest angle by which the frame turns in a cell; on a grid, with frames in the middle, also next to an end."""
    p, per = np.asarray(track.quaternions), track.mesh.degree
    if not per:
        ends = track.vertex_quaternions
        p = np.concatenate([ends[..., :1, :], p, ends[..., -1:, :]], axis=-2)
    angles = 2.0 * np.arccos(np.minimum(np.abs(np.sum(p[..., 1:, :] * p[..., :-1, :], axis=-1)), 1.0))
    if not per:
        angles[..., [0, -1]] *= 2.0  # half a cell
    return float(angles.reshape(*angles.shape[:-1], -1, per or 1).sum(axis=-1).max(initial=0.0))


def less(x: Array, y: Array) -> Array:
    """x - y, and nothing where both are infinite, as gaps are of rods that are far from each other."""
    return np.asarray(np.subtract(x, y, out=np.zeros(np.broadcast(x, y).shape), where=x != y))


def largest(values: Array) -> float:
    """The largest finite value; 0 where there is none."""
    return float(values[np.isfinite(values)].max(initial=0.0))
