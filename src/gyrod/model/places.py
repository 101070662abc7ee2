"""Where bodies stand and joints sit at the start: points and frames of all of them in arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod import rotations
from gyrod._check import Array
from gyrod.model.bodies import Body
from gyrod.model.errors import called, positive, unknown
from gyrod.model.joints import Attachment, Distance, Joint, Universal
from gyrod.rotations.vectors import cross, norms, unit

if TYPE_CHECKING:
    from gyrod.model.system import System


@dataclass(frozen=True, eq=False)
class Start:
    """All bodies at the start, and ground in the last row."""

    #: (n + 1, 3).
    position: Array
    #: (n + 1, 3, 3).
    matrix: Array
    #: Angular velocity in space, (n + 1, 3).
    omega: Array


def start_of(bodies: Sequence[Body]) -> Start:
    """Return all bodies at the start."""
    zero = np.zeros((1, 3))
    position = np.concatenate([*(b.position[None] for b in bodies), zero])
    p = np.concatenate([*(b.orientation[None] for b in bodies), [[1.0, 0.0, 0.0, 0.0]]])
    Omega = np.concatenate([*(b.angular_velocity[None] for b in bodies), zero])
    matrix = rotations.matrix_from_quaternion(p)
    return Start(position, matrix, np.einsum("kij,kj->ki", matrix, Omega))


def cross_of_two(a: Array, b: Array) -> Array:
    """Return the product of two vectors, (3,)."""
    # np.cross takes ten times as long for three numbers.
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


@dataclass(frozen=True, eq=False)
class Places:
    """Points and frames of some joints; all together, since small arrays one by one would take long."""

    #: Rows of the partners in the arrays of the start, (k,).
    a: NDArray[np.intp]
    b: NDArray[np.intp]
    #: Points in space, (k, 3).
    point_a: Array
    point_b: Array
    #: Points in body axes, (k, 3).
    at_a: Array
    at_b: Array
    #: Frames in space, columns e1, e2, e3, (k, 3, 3).
    frame_a: Array
    frame_b: Array
    #: Frames in body axes, (k, 3, 3).
    local_a: Array
    local_b: Array
    #: Lengths of distances, 0 for other joints, (k,).
    length: Array

    def attachment(self, i: int) -> Attachment:
        """Points and frames of a joint in its partners."""
        return Attachment(self.at_a[i], self.at_b[i], self.local_a[i], self.local_b[i], float(self.length[i]))

    def attachments(self) -> list[Attachment]:
        """Those of all."""
        return [self.attachment(i) for i in range(len(self.a))]

    def sizes(self, system: System) -> Array:
        """Largest coordinates from which the points are found, (k,)."""
        x = system._start.position
        parts = (x[self.a], x[self.b], self.point_a, self.point_b)
        return np.asarray(np.max([norms(part) for part in parts], axis=0))


def places_of(system: System, joints: Sequence[Joint]) -> Places:
    """Return points and frames of joints, which need not be in the system."""
    start, number = system._start, system._number
    for joint in joints:
        for name in joint.bodies:
            if name not in number:
                raise ValueError(f"{joint.label}: {unknown('body', name, system._number)}")
    a = np.array([number[joint.a] for joint in joints], dtype=np.intp)
    b = np.array([number[joint.b] for joint in joints], dtype=np.intp)
    R_a, R_b = start.matrix[a], start.matrix[b]

    # Points: in space if they are given so; else from body axes; else that of the other partner.
    point_a, point_b, at_a, at_b = _two_sides(
        [joint.at for joint in joints],
        [joint.to if isinstance(joint, Distance) else joint.at for joint in joints],
        [joint.at_a for joint in joints],
        [joint.at_b for joint in joints],
        (start.position[a], R_a),
        (start.position[b], R_b),
    )
    # Axes, by the same rule; z where there is none.
    z, zero = np.array([0.0, 0.0, 1.0]), np.zeros((len(joints), 3))
    second = np.array([isinstance(joint, Universal) for joint in joints], dtype=bool)
    axial = np.array([hasattr(joint, "axis") for joint in joints], dtype=bool)
    axis_a, axis_b, _, _ = _two_sides(
        [getattr(joint, "axis", z) for joint in joints],
        [joint.axis2 if isinstance(joint, Universal) else getattr(joint, "axis", z) for joint in joints],
        [getattr(joint, "axis_a", None) for joint in joints],
        [getattr(joint, "axis_b", None) for joint in joints],
        (zero, R_a),
        (zero, R_b),
    )
    frame_a = _frames(axis_a, np.where(second[:, None], axis_b, 0.0))
    frame_a[~axial] = np.eye(3)
    frame_b = _turned(frame_a, np.where(second[:, None], axis_a, axis_b))
    for i, joint in enumerate(joints):
        if not isinstance(joint, Universal):
            continue
        in_space = joint.axis is not None and joint.axis2 is not None  # perpendicular but for the digits they have
        e1 = frame_a[i, :, 0] if in_space else axis_b[i]
        e2 = frame_a[i, :, 1]
        frame_b[i] = np.column_stack([e1, e2, np.cross(e1, e2)])

    length = np.zeros(len(joints))
    for i, joint in enumerate(joints):
        if isinstance(joint, Distance):
            length[i] = _length_at_start(joint, math.dist(point_a[i], point_b[i]))
    local_a, local_b = R_a.transpose(0, 2, 1) @ frame_a, R_b.transpose(0, 2, 1) @ frame_b
    places = Places(a, b, point_a, point_b, at_a, at_b, frame_a, frame_b, local_a, local_b, length)
    for field in fields(places):
        getattr(places, field.name).flags.writeable = False
    return places


def attached_places(system: System, places: Places, attachments: Sequence[Attachment]) -> Places:
    """The same joints with given points and frames in their bodies."""
    start = system._start
    at_a, at_b = np.array([x.at_a for x in attachments]), np.array([x.at_b for x in attachments])
    local_a, local_b = np.array([x.frame_a for x in attachments]), np.array([x.frame_b for x in attachments])
    R_a, R_b = start.matrix[places.a], start.matrix[places.b]
    return Places(
        places.a, places.b,
        start.position[places.a] + np.einsum("kij,kj->ki", R_a, at_a),
        start.position[places.b] + np.einsum("kij,kj->ki", R_b, at_b),
        at_a, at_b, R_a @ local_a, R_b @ local_b, local_a, local_b, np.array([x.length for x in attachments]),
    )  # fmt: skip


def _length_at_start(joint: Distance, apart: float) -> float:
    law = joint.law
    if law is not None:
        return called("length", law[0], "t", 0.0, positive)
    return joint.length if isinstance(joint.length, float) else apart


Rows = Sequence[Array | None]
Pose = tuple[Array, Array]


def _two_sides(
    space_a: Rows, space_b: Rows, local_a: Rows, local_b: Rows, pose_a: Pose, pose_b: Pose
) -> tuple[Array, Array, Array, Array]:
    """Points (or directions) of both sides, in space and in body axes, from what is given of them."""
    nan = np.full(3, np.nan)

    def rows(values: Rows) -> Array:
        return np.array([nan if x is None else x for x in values]).reshape(-1, 3)

    def side(space: Array, local: Array, pose: Pose) -> Array:
        there = pose[0] + np.einsum("kij,kj->ki", pose[1], local)
        return np.where(np.isnan(space), there, space)

    a, b, in_a, in_b = rows(space_a), rows(space_b), rows(local_a), rows(local_b)
    a, b = side(a, in_a, pose_a), side(b, in_b, pose_b)
    a, b = np.where(np.isnan(a), b, a), np.where(np.isnan(b), a, b)
    back_a = np.einsum("kji,kj->ki", pose_a[1], a - pose_a[0])
    back_b = np.einsum("kji,kj->ki", pose_b[1], b - pose_b[0])
    return a, b, np.where(np.isnan(in_a), back_a, in_a), np.where(np.isnan(in_b), back_b, in_b)


def _frames(axis: Array, first: Array) -> Array:
    """Right-handed frames whose e3 is the axis; e1 is the perpendicular part of ``first``, or any if that is zero."""
    k = np.arange(len(axis))
    other = np.zeros_like(axis)
    other[k, np.argmin(np.abs(axis), axis=1)] = 1.0
    e1 = first - np.einsum("ki,ki->k", first, axis)[:, None] * axis
    e1 = np.where(norms(e1)[:, None] > 1e-9, e1, other)
    e1 -= np.einsum("ki,ki->k", e1, axis)[:, None] * axis
    e1 = unit(e1)
    return np.stack([e1, cross(axis, e1), axis], axis=2) + 0.0


def _turned(frame: Array, axis: Array) -> Array:
    """Frames after the smallest rotation that takes their e3 to the axis."""
    # If the axis points backwards, half a turn about e1 first: the formula divides by 1 + cosine.
    opposite = np.einsum("ki,ki->k", frame[:, :, 2], axis) < -1.0 + 1e-5
    flipped = frame * np.where(opposite[:, None, None], np.array([1.0, -1.0, -1.0]), 1.0)
    e3 = flipped[:, :, 2]
    v = cross(e3, axis)
    c = np.einsum("ki,ki->k", e3, axis)
    S = rotations.skew(v)
    turned = flipped + S @ flipped + S @ (S @ flipped) / (1.0 + c)[:, None, None]
    return np.asarray(turned)
