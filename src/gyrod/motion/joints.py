"""Joints over time: coordinates, rates and the forces that they carry, from the motion of the bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gyrod import _check, rotations
from gyrod._check import Array, in_short
from gyrod.equations import Compiled, mechanisms
from gyrod.rotations import vectors

#: A joint whose forces have a smaller part in the self-stress of the mechanism than this is unique.
UNIQUE = 1e-7
#: Rows of a motion of which joint forces are solved for together.
_ROWS_AT_A_TIME = 256


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
    quaternion: Array
    #: Force of a on b at the joint point of b, space axes, (n, 3).
    force: Array
    #: Torque of a on b, space axes, (n, 3).
    torque: Array
    #: What the drive gives, in N m along angles and N along displacements and lengths, (n,), or (n, k) of several
    #: coordinates. Spring, damper and friction of the joint act against it. Zero where nothing leads the joint.
    effort: Array
    #: False where constraints are redundant: force and torque are then those of least norm.
    unique: bool

    __repr__ = in_short

    # --- names of the version before ---

    def __setstate__(self, state: Mapping[str, object]) -> None:
        self.__dict__.update({"quaternion" if name == "rotation" else name: x for name, x in state.items()})

    @property
    def rotation(self) -> Array:
        """The old name of ``quaternion``."""
        _check.renamed("JointTrack.rotation", "JointTrack.quaternion")
        return self.quaternion


Sides = tuple[Array, Array, Array, Array]


def kinematics(compiled: Compiled, joints: Sequence[int], motions: Sides) -> tuple[Array, Array]:
    """Coordinates (n, k) and rates (n, k) of joints, by their numbers, one after the other; angles in (-pi, pi]."""
    found = compiled.joint_set.coordinates(list(joints), *map(np.ascontiguousarray, motions))
    return found[:, :, 0], found[:, :, 1]


def tracks(compiled: Compiled, t: Array, y: Array, motions: Sides, loads: bool = True) -> list[JointTrack]:
    """All joints of a system at rows (t, y); without ``loads`` their forces are left zero."""
    joints = compiled.system.joints
    if not joints:
        return []
    forces, unique = _loads(compiled, t, y, motions) if loads else (np.zeros((len(t), len(joints), 6)), None)
    sides = tuple(map(np.ascontiguousarray, motions))
    q, rates = kinematics(compiled, range(len(joints)), motions)
    turns = rotations.conversions.spurrier_klumpp(compiled.joint_set.turns(*sides))
    found, last = [], 0
    for i, joint in enumerate(joints):
        names = joint.coordinate_names
        own = slice(last, last := last + len(names))
        for k, name in enumerate(names, own.start):
            if name.startswith("angle") and len(q):
                q[:, k] = np.unwrap(q[:, k])
        found.append(
            JointTrack(
                names,
                q[:, own],
                rates[:, own],
                turns[:, i],
                forces[:, i, :3],
                forces[:, i, 3:],
                _effort(compiled, i, motions, forces[:, i]),
                unique is None or bool(unique[i]),
            )
        )
    return found


def _effort(compiled: Compiled, number: int, motions: Sides, loads: Array) -> Array:
    """Power of what a joint carries for a unit rate of each coordinate: only a drive, or a bar, has any."""
    joint = compiled.system.joints[number]
    if not joint.driven and joint.carries:
        return (
            np.zeros(len(loads))
            if len(joint.coordinate_names) == 1
            else np.zeros((len(loads), len(joint.coordinate_names)))
        )
    axes = compiled.joint_set.axes([number], *map(np.ascontiguousarray, motions))
    return np.asarray(np.einsum("ni,ni->n", loads, axes[:, 0]))


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

    found, stressed, parts = np.zeros_like(forces), np.zeros(len(pairs)), _connected(pairs, bodies)
    length = max(compiled._length(), 1e-300)
    for first in range(0, len(t), _ROWS_AT_A_TIME):
        rows = slice(first, first + _ROWS_AT_A_TIME)
        table = np.array(
            [core.joint_rows(float(time), motion) for time, motion in zip(t[rows], motions[rows], strict=True)]
        )
        owner = table[0, :, 0].astype(int)  # which joint a row belongs to does not change with time
        weights = np.empty(table.shape[:2])
        for part in parts:
            of = np.flatnonzero(np.isin(owner, part))
            among = np.unique(pairs[part])
            weights[:, of], tension = _balanced(
                table[:, of], pairs[owner[of]], among[among >= 0], wrench[rows], 1.0 / length
            )
            np.maximum.at(stressed, owner[of], tension)
        on_side = np.where(on_b[owner, None], -table[:, :, 10:16], table[:, :, 4:10])
        np.add.at(found[rows].swapaxes(0, 1), owner, (weights[:, :, None] * on_side).swapaxes(0, 1))
    at = x[:, np.where(on_b, pairs[:, 1], pairs[:, 0])]
    found[:, :, 3:] -= vectors.cross(P - at, found[:, :, :3])
    return found, stressed < UNIQUE


def _connected(pairs: NDArray[np.intp], bodies: int) -> list[NDArray[np.intp]]:
    """Joints between bodies that hang together, of which ground is none."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    a, b = pairs[(pairs >= 0).all(axis=1)].T
    _, part = connected_components(coo_array((np.ones(len(a)), (a, b)), shape=(bodies, bodies)), directed=False)
    mine = part[pairs.max(axis=1)]
    return [np.flatnonzero(mine == k) for k in np.unique(mine)]


def _balanced(
    table: Array, sides: NDArray[np.intp], bodies: NDArray[np.intp], wrench: Array, over_length: float
) -> tuple[Array, Array]:
    """Multipliers of rows that balance the wrenches on bodies, the smallest ones, and how far rows can be stressed."""
    G = np.zeros((*table.shape[:2], len(bodies), 6))
    for side in (0, 1):
        of = np.flatnonzero(sides[:, side] >= 0)
        G[:, of, np.searchsorted(bodies, sides[of, side])] += table[:, of, 4 + 6 * side : 10 + 6 * side]
    size = np.linalg.norm(table[:, :, [4, 5, 6, 10, 11, 12]], axis=2)
    # A row without force part is a torque: over a length it becomes a force.
    scale = np.where(size > 1e-9, 1.0, over_length)
    U, s, Vt = np.linalg.svd((G.reshape(*table.shape[:2], -1) * scale[:, :, None]).swapaxes(1, 2))
    part = np.einsum("nik,ni->nk", U[:, :, : s.shape[1]], -wrench[:, bodies].reshape(len(table), -1))
    held = s > mechanisms.RANK * s[:, :1]
    part = np.divide(part, s, out=np.zeros_like(s), where=held)
    free = np.ones(Vt.shape[:2], dtype=bool)
    free[:, : s.shape[1]] = ~held
    tension = np.abs(Vt * free[:, :, None]).max(axis=(0, 1), initial=0.0)
    return scale * np.einsum("nkj,nk->nj", Vt[:, : s.shape[1]], part), tension


def counted(
    compiled: Compiled, dense: Callable[[Array], Array], steps: Array, times: Array, found: list[JointTrack]
) -> None:
    """Count angles over all steps, in place: output times may be turns apart."""
    turning = [i for i, track in enumerate(found) if any(name.startswith("angle") for name in track.names)]
    if not turning or not len(steps):
        return
    every = np.union1d(steps, times)
    motions = compiled.motions(dense(np.ascontiguousarray(every)), every)
    at = np.searchsorted(every, times)
    for i in turning:
        track = found[i]
        all_q = kinematics(compiled, [i], motions)[0]
        for k, name in enumerate(track.names):
            if name.startswith("angle"):
                turns = np.round((np.unwrap(all_q[:, k])[at] - track.coordinates[:, k]) / (2.0 * np.pi))
                track.coordinates[:, k] += 2.0 * np.pi * turns
