"""Clips over time: what they hold, and by how much a rod gives way in them."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gyrod import rotations
from gyrod._check import Array, in_short
from gyrod.equations.links import clip_springs, ring_stiffness, sliding
from gyrod.model import Clip, System
from gyrod.model.errors import GROUND
from gyrod.motion.by_name import ByName

if TYPE_CHECKING:
    from gyrod.motion.motion import Motion
    from gyrod.motion.sensors import Rows


@dataclass(frozen=True)
class ClipTrack:
    """One clip over time; the time axis comes first and is missing for a single time."""

    #: Force and moment of the clip on the rod at its centreline, space axes, (n, 3).
    force: Array
    moment: Array
    #: How far the rod is from where the clip holds it, m, (n,): of a rigid one the error of holding it.
    gap: Array
    #: Angle by which what the clip holds is turned, the section, or the direction of swivels and sleeves, rad, (n,); of
    #: balls and rings 0.
    turn: Array
    #: The fraction of the length that it holds, (n,): of a ring or sleeve that which is in it now.
    at: Array

    __repr__ = in_short


class Clips(ByName[ClipTrack]):
    """The clips of a motion: ``motion.clips["p-clip"].force``; those without a name by their number, "0", "1", ..."""

    what, remedy = "clips", "System(forces=[Clip(...)])"

    def __init__(self, motion: Motion) -> None:
        super().__init__(motion, named(motion.compiled.system))

    def _find(self, name: str) -> ClipTrack:
        values = of_rows(self._motion.sensors.rows, name)
        single = self._motion.t.ndim == 0
        return ClipTrack(*(x[0] if single else x for x in astuple(values)))


def of_rows(rows: Rows, name: str) -> ClipTrack:
    """A clip at rows of a motion, with a time axis; forces between steps are found as those of rods are."""
    own = _of_states(rows, named(rows.system)[name])
    if rows._near is None:
        return own
    near = of_rows(rows._near, name)
    force, moment = (np.asarray(rows.motion._along(getattr(near, x), getattr(own, x))) for x in ("force", "moment"))
    return replace(own, force=force, moment=moment)


def named(system: System) -> dict[str, Clip]:
    """The clips of a system by their names, or their numbers."""
    return {clip.name or str(i): clip for i, clip in enumerate(system.clips)}


def _of_states(rows: Rows, clip: Clip) -> ClipTrack:
    system = rows.system
    place, F = system.clip_place(clip)
    n = len(rows.t)
    if isinstance(place, tuple):
        y, w, S, spin = _section(rows, clip.to, place[0])
        at = place[1]
    elif clip.to == GROUND:
        y, w, S, spin = np.zeros((n, 3)), np.zeros((n, 3)), np.broadcast_to(np.eye(3), (n, 3, 3)), np.zeros((n, 3))
        at = place
    else:
        y, S, w, spin = rows.body(clip.to)
        at = place
    if clip.slides:
        rings = [i for i, (other, _) in enumerate(sliding(system)) if other is clip]
        own = rows.compiled.slide_states(rows.t, rows.y)[:, rings]
        return _of_rings(own, (S @ F)[:, :, 2], ring_stiffness(clip, system))
    x, v, R, Omega = _section(rows, clip.rod, clip.at)
    force, moment = np.zeros((n, 3)), np.zeros((n, 3))
    for offset, k, c in clip_springs(clip, system):
        there, arm = at + F @ offset, R @ offset
        d = x + arm - y - S @ there
        pull = np.einsum("nji,nj->ni", S @ F, d) * k
        if c.any():
            moves = v + _turned(R, np.cross(Omega, offset)) - w - _turned(S, np.cross(spin, there))
            rate = np.einsum("nji,nj->ni", S, moves) - np.cross(spin, np.einsum("nji,nj->ni", S, d))
            pull = pull + (rate @ F) * c
        f = -_turned(S @ F, pull)
        force += f
        moment += np.cross(arm, f)
    gap = np.linalg.norm(x - y - S @ at, axis=1)
    turn = np.zeros(n)
    held = S @ F
    if clip.kind == "swivel":
        turn = np.arctan2(np.linalg.norm(np.cross(R[:, :, 2], held[:, :, 2]), axis=1),
                          np.sum(R[:, :, 2] * held[:, :, 2], axis=1))  # fmt: skip
    elif clip.kind != "ball":
        turn = np.linalg.norm(rotations.log(rotations.conversions.spurrier_klumpp(held.transpose(0, 2, 1) @ R)), axis=1)
    return ClipTrack(force, moment, gap, turn, np.full(n, clip.at))


def _of_rings(own: Array, axis: Array, stiffness: float) -> ClipTrack:
    """Of a ring, or of those of a sleeve: place, point and force of each, (n, rings, 7)."""
    at, x, F = own[..., 0], own[..., 1:4], own[..., 4:]
    pull = F.sum(axis=1)
    if at.shape[1] == 1:
        return ClipTrack(
            pull, np.zeros_like(pull), np.linalg.norm(pull, axis=1) / stiffness, np.zeros(len(at)), at[:, 0]
        )
    centre, way = x.mean(axis=1), x[:, -1] - x[:, 0]
    moment = np.cross(x - centre[:, None], F).sum(axis=1)
    turn = np.arctan2(np.linalg.norm(np.cross(axis, way), axis=1), np.sum(axis * way, axis=1))
    return ClipTrack(pull, moment, np.linalg.norm(pull, axis=1) / (at.shape[1] * stiffness), turn, at.mean(axis=1))


def _section(rows: Rows, name: str, s: float) -> tuple[Array, Array, Array, Array]:
    """Place, velocity, axes and Omega of the section that a clip holds: of a node, or of a segment."""
    rod, state = rows.system.rod(name), rows.rod(name)
    j, xi = (rod.mesh.nearest(s), 0.0) if rod.mesh.degree else rod.segment_at(s)
    rest = min(j + 1, len(rod.fractions) - 1)
    x, v = ((1.0 - xi) * state[key][:, j] + xi * state[key][:, rest] for key in ("positions", "velocities"))
    return x, v, rotations.matrix_from_quaternion(state["quaternions"][:, j]), state["Omega"][:, j]


def _turned(R: Array, x: Array) -> Array:
    return np.asarray((R @ np.broadcast_to(x, (len(R), 3))[..., None])[..., 0])
