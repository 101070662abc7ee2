"""Joints over time: coordinates, rates and the forces that they carry, from the motion of the bodies."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gyrod import rotations
from gyrod.equations import Compiled, mechanisms
from gyrod.model import Distance, Helical, Joint
from gyrod.model.errors import GROUND
from gyrod.rotations import vectors

Array = NDArray[np.float64]

#: A joint whose forces have a smaller part in the self-stress of the mechanism than this is unique.
UNIQUE = 1e-7

_STILL = np.zeros(3)


@dataclass(frozen=True)
class JointTrack:
    """One joint over time; the time axis comes first and is missing for a single time."""

    #: Names of the coordinates, as of the joint.
    names: tuple[str, ...]
    #: How b stands against a: angles in rad, counted over turns, and displacements in m, (n, k).
    coordinates: Array
    #: Their rates, (n, k).
    rates: Array
    #: Rotation of b against a in the axes of the joint, unit quaternions, (n, 4).
    rotation: Array
    #: Force of a on b at the joint point of b, space axes, (n, 3).
    force: Array
    #: Torque of a on b, space axes, (n, 3).
    torque: Array
    #: What the drive gives, in N m along angles and N along displacements and lengths, (n,), or (n, k) of several
    #: coordinates. Spring, damper and friction of the joint act against it. Zero where nothing leads the joint.
    effort: Array
    #: False where constraints are redundant: force and torque are then those of least norm.
    unique: bool


Sides = tuple[Array, Array, Array, Array]


def kinematics(compiled: Compiled, joint: Joint, motions: Sides) -> tuple[Array, Array, Array]:
    """Coordinates (n, k), rates (n, k) and relative rotations (n, 4) of a joint; angles in (-pi, pi]."""
    place = compiled.system.attachment(joint)
    index = {name: i for i, name in enumerate(compiled.system.names)}
    n = len(motions[0])

    def side(name: str, at: Array, frame: Array) -> tuple[Array, Array, Array, Array]:
        if name not in index:
            still = np.zeros((n, 3))
            return still + at, np.broadcast_to(frame, (n, 3, 3)), still, still
        x, R, v, Omega = (a[:, index[name]] for a in motions)
        omega = np.einsum("nij,nj->ni", R, Omega)
        arm = R @ at
        return x + arm, R @ frame, v + np.cross(omega, arm), omega

    P_a, E_a, v_a, w_a = side(joint.a, place.at_a, place.frame_a)
    P_b, E_b, v_b, w_b = side(joint.b, place.at_b, place.frame_b)
    offset, T = P_b - P_a, np.swapaxes(E_a, 1, 2) @ E_b
    slip = np.einsum("nji,nj->ni", E_a, v_b - v_a - np.cross(w_a, offset))
    spin = np.einsum("nji,nj->ni", E_a, w_b - w_a)
    moved = np.einsum("nji,nj->ni", E_a, offset)
    turn = rotations.conversions.spurrier_klumpp(T)
    about = np.arctan2(T[:, 1, 0], T[:, 0, 0])
    if isinstance(joint, Helical):
        near = 2.0 * np.pi * moved[:, 2] / joint.pitch
        about = about + 2.0 * np.pi * np.round((near - about) / (2.0 * np.pi))
    if isinstance(joint, Distance):
        length = np.linalg.norm(offset, axis=1)
        rate = np.einsum("ni,ni->n", offset, v_b - v_a) / length
        return length[:, None], rate[:, None], turn
    values = {
        "angle": (about, spin[:, 2]),
        "angle2": (np.arctan2(T[:, 2, 1], T[:, 2, 2]), np.einsum("ni,ni->n", E_b[:, :, 0], w_b - w_a)),
        "displacement": (moved[:, 2], slip[:, 2]),
        "x": (moved[:, 0], slip[:, 0]),
        "z": (moved[:, 2], slip[:, 2]),
        "y": (moved[:, 1], slip[:, 1]),
    }
    names = joint.coordinate_names
    found = [values[name] for name in names]
    empty = np.zeros((n, 0))
    q = np.stack([q for q, _ in found], axis=1) if found else empty
    r = np.stack([r for _, r in found], axis=1) if found else empty
    return q, r, turn


def kinematics_now(compiled: Compiled, joint: Joint, motions: Sides) -> tuple[Array, Array]:
    """Coordinates and rates, (k,) each, of a joint in a single row: the same, for loops that go step by step."""
    places = compiled.__dict__.setdefault("_places_of_joints", {})
    if id(joint) not in places:
        places[id(joint)] = compiled.system.attachment(joint)
    place = places[id(joint)]

    def side(name: str, at: Array, frame: Array) -> tuple[Array, Array, Array, Array]:
        if name == GROUND:
            return at, frame, _STILL, _STILL
        x, R, v, Omega = (a[0, compiled.system._number[name]] for a in motions)
        omega, arm = R @ Omega, R @ at
        return x + arm, R @ frame, v + _cross(omega, arm), omega

    P_a, E_a, v_a, w_a = side(joint.a, place.at_a, place.frame_a)
    P_b, E_b, v_b, w_b = side(joint.b, place.at_b, place.frame_b)
    offset = P_b - P_a
    if isinstance(joint, Distance):
        length = math.hypot(*offset)
        return np.array([length]), np.array([offset @ (v_b - v_a) / length])
    T = E_a.T @ E_b
    slip, moved = E_a.T @ (v_b - v_a - _cross(w_a, offset)), E_a.T @ offset
    q, rates = [], []
    for name in joint.coordinate_names:
        if name == "angle":
            angle = math.atan2(T[1, 0], T[0, 0])
            if isinstance(joint, Helical):
                angle += 2.0 * math.pi * round(moved[2] / joint.pitch - angle / (2.0 * math.pi))
            q.append(angle)
            rates.append(E_a[:, 2] @ (w_b - w_a))
        elif name == "angle2":
            q.append(math.atan2(T[2, 1], T[2, 2]))
            rates.append(E_b[:, 0] @ (w_b - w_a))
        else:
            axis = {"x": 0, "y": 1}.get(name, 2)
            q.append(moved[axis])
            rates.append(slip[axis])
    return np.array(q), np.array(rates)


def _cross(a: Array, b: Array) -> Array:
    # np.cross takes ten times as long for three numbers.
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def tracks(compiled: Compiled, t: Array, y: Array, motions: Sides, loads: bool = True) -> list[JointTrack]:
    """All joints of a system at rows (t, y); without ``loads`` their forces are left zero."""
    joints = compiled.system.joints
    if not joints:
        return []
    forces, unique = _loads(compiled, t, y, motions) if loads else (np.zeros((len(t), len(joints), 6)), None)
    found = []
    for i, joint in enumerate(joints):
        q, rates, turn = kinematics(compiled, joint, motions)
        for k, name in enumerate(joint.coordinate_names):
            if name.startswith("angle") and len(q):
                q[:, k] = np.unwrap(q[:, k])
        found.append(
            JointTrack(
                joint.coordinate_names,
                q,
                rates,
                turn,
                forces[:, i, :3],
                forces[:, i, 3:],
                _effort(compiled, joint, motions, forces[:, i]),
                unique is None or bool(unique[i]),
            )
        )
    return found


def _effort(compiled: Compiled, joint: Joint, motions: Sides, loads: Array) -> Array:
    """Power of what a joint carries for a unit rate of each coordinate: only a drive, or a bar, has any."""
    n, k = len(loads), len(joint.coordinate_names)
    if not joint.driven and not isinstance(joint, Distance):
        return np.zeros(n) if k == 1 else np.zeros((n, k))
    (P_a, E_a), (P_b, _) = (joint_frames(compiled, joint, motions, side) for side in (0, 1))
    force, torque, e = loads[:, :3], loads[:, 3:], E_a[:, :, 2]
    if isinstance(joint, Distance):
        bar = P_b - P_a
        return np.asarray(np.einsum("ni,ni->n", force, bar) / np.linalg.norm(bar, axis=1))
    pull, turn = np.einsum("ni,ni->n", force, e), np.einsum("ni,ni->n", torque, e)
    if isinstance(joint, Helical):
        return np.asarray(turn + joint.pitch / (2.0 * np.pi) * pull)
    return np.asarray(turn if joint.coordinate_names == ("angle",) else pull)


def joint_frames(compiled: Compiled, joint: Joint, motions: Sides, side: int) -> tuple[Array, Array]:
    """Point (n, 3) and axes (n, 3, 3) of a joint in space, as its partner a (side 0) or b (1) carries them."""
    place = compiled.system.attachment(joint)
    name, at, frame = ((joint.a, place.at_a, place.frame_a), (joint.b, place.at_b, place.frame_b))[side]
    n = len(motions[0])
    if name == GROUND:
        return np.broadcast_to(at, (n, 3)), np.broadcast_to(frame, (n, 3, 3))
    number = compiled.system._number[name]
    x, R = motions[0][:, number], motions[1][:, number]
    return x + R @ at, R @ frame


def _loads(compiled: Compiled, t: Array, y: Array, motions: Sides) -> tuple[Array, NDArray[np.bool_]]:
    """Forces and torques of all joints, (n, joints, 6), and which are unique."""
    joints = len(compiled.system.joints)
    if compiled.whole is not compiled:  # ball joints eliminated, or other unknowns
        compiled = compiled.whole
        y = compiled.states(t, motions)
    forces = np.asarray(compiled.core.reactions(t, y))
    unique = np.ones(joints, dtype=bool)
    if compiled.mobility is not None and compiled.mobility.redundant:
        forces, unique = _least_norm(compiled, t, y, forces)
    return forces, unique


def _least_norm(compiled: Compiled, t: Array, y: Array, forces: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Of all joint forces that do the same to the bodies the smallest; torques count by a length of the system."""
    core, pairs, bodies = compiled.core, compiled.pairs, len(compiled.system.bodies)
    motions = core.motions(t, y, False)
    x, R = motions[:, :, :3], motions[:, :, 3:12].reshape(len(t), bodies, 3, 3)
    points = np.array([compiled.system.attachment(joint).at_b for joint in compiled.system.joints])
    on_b = pairs[:, 1] >= 0  # what ground carries is read off a
    own = np.einsum("jki,jk->ji", compiled.axes[pairs[:, 1]], points)
    P = np.where(on_b[:, None], x[:, pairs[:, 1]] + np.einsum("njik,jk->nji", R[:, pairs[:, 1]], own), points)

    wrench = np.zeros((len(t), bodies, 6))  # of the joints on each body
    for side, sign in ((0, -1.0), (1, 1.0)):
        there = pairs[:, side] >= 0
        body, f, m = pairs[there, side], forces[:, there, :3], forces[:, there, 3:]
        arm = P[:, there] - x[:, body]
        felt = sign * np.concatenate([f, m + vectors.cross(arm, f)], axis=2)
        np.add.at(wrench.swapaxes(0, 1), body, felt.swapaxes(0, 1))

    found, stressed = np.zeros_like(forces), np.zeros(len(pairs))
    for row in range(len(t)):
        table = core.joint_rows(float(t[row]), motions[row])
        owner = table[:, 0].astype(int)
        G = np.zeros((len(table), bodies, 6))
        for side in (0, 1):
            body = pairs[owner, side]
            of = np.flatnonzero(body >= 0)
            G[of, body[of]] += table[of, 4 + 6 * side : 10 + 6 * side]
        size = np.linalg.norm(table[:, [4, 5, 6, 10, 11, 12]], axis=1)
        # A row without force part is a torque: over a length it becomes a force.
        scale = np.where(size > 1e-9, 1.0, 1.0 / max(compiled._length(), 1e-300))
        U, s, Vt = np.linalg.svd((G.reshape(len(table), -1) * scale[:, None]).T)
        rank = int(np.sum(s > mechanisms.RANK * s[0]))
        weights = scale * (Vt[:rank].T @ ((U[:, :rank].T @ -wrench[row].ravel()) / s[:rank]))
        np.maximum.at(stressed, owner, np.abs(Vt[rank:]).max(axis=0, initial=0.0))
        parts = np.where(on_b[owner, None], -table[:, 10:16], table[:, 4:10])
        np.add.at(found[row], owner, weights[:, None] * parts)
    at = x[:, np.where(on_b, pairs[:, 1], pairs[:, 0])]
    found[:, :, 3:] -= vectors.cross(P - at, found[:, :, :3])
    return found, stressed < UNIQUE
