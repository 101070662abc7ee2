"""Joint space: mass matrices, Jacobians of points and inverse dynamics of bodies with joints, by names of joints.

Velocities V of all bodies that the joints allow are V = B u: B has the columns of the null space of the tree,
restricted to those that leave loops closed.
Rates of the chosen coordinates are r = C V, so that V = W r with
W = B (C B)^-1; then M = W^T diag(m, J) W. Efforts are M (r' - r'_free), where r'_free is what the mechanism would do
without them: forces, springs, friction, gravity and gyroscopic terms are those of the equations of motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check, rotations
from gyrod._check import Array
from gyrod._words import listed, suggests
from gyrod.equations.bodies import drive_values
from gyrod.model import Spherical, System
from gyrod.model.errors import shown, unknown, vector
from gyrod.motion import Motion, Rest
from gyrod.solve.joint_rates import Space, given_rows


@dataclass(frozen=True)
class MassMatrix:
    """A mass matrix by names: the kinetic energy is r^T M r / 2, with the rates r of ``names``."""

    #: Joints; "joint.coordinate" where one has several; "body.velocity[0]", "body.Omega[0]" of bodies that move freely.
    names: tuple[str, ...]
    #: (k, k), or (n, k, k) for the rows of a motion.
    matrix: Array

    def __getitem__(self, names: tuple[str, str]) -> Array:
        """One entry, ``M["shoulder", "elbow"]``, for each row."""
        i, j = (self.names.index(_check.choice("name", name, self.names)) for name in names)
        return np.asarray(self.matrix[..., i, j])


@dataclass(frozen=True)
class Jacobian:
    """Velocity of a point and angular velocity of its body, by the rates of ``names``, in space axes."""

    #: As those of `MassMatrix`.
    names: tuple[str, ...]
    #: Velocity of the point for a unit rate of each, (3, k), or (n, 3, k) for the rows of a motion.
    linear: Array
    #: Angular velocity of the body for a unit rate of each, (3, k) or (n, 3, k).
    angular: Array

    def __getitem__(self, name: str) -> Array:
        """The column of a rate: linear, then angular part, (6,) or (n, 6)."""
        i = self.names.index(_check.choice("name", name, self.names))
        return np.concatenate([self.linear[..., i], self.angular[..., i]], axis=-1)


@suggests
def mass_matrix(
    system: System | Rest | Motion,
    coordinates: Sequence[str] | None = None,
    *,
    positions: Mapping[str, ArrayLike] | None = None,
) -> MassMatrix:
    """The mass matrix of bodies with joints: at the start of a `System`, at a `Rest`, or at the rows of a `Motion`.

    Parameters
    ----------
    system
        Bodies and joints, without rods. Drives do not matter: what they lead counts as free.
    coordinates
        Names of joints ("joint.coordinate" where a joint has several), by default all of a tree. With closed loops, as
        many as there are degrees of freedom; the others follow from them.
    positions
        For a `System`: coordinates of joints, by name, in place of those at the start.

    >>> from gyrod.model import Body, Revolute, System
    >>> arm = Body("arm", mass=2.0, inertia=(0.1, 0.1, 0.1), position=(1, 0, 0))
    >>> hinge = Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), name="hinge")
    >>> mass_matrix(System([arm], [hinge])).matrix.round(12).tolist()
    [[2.1]]
    """
    space = Space.of(system, positions)
    names, W = space.velocities(coordinates)
    M = np.einsum("nik,ij,njl->nkl", W, space.mechanism.inertia, W)
    return MassMatrix(names, M if space.rows else M[0])


@suggests
def jacobian(
    system: System | Rest | Motion,
    body: str,
    at: ArrayLike = (0.0, 0.0, 0.0),
    coordinates: Sequence[str] | None = None,
    *,
    positions: Mapping[str, ArrayLike] | None = None,
) -> Jacobian:
    """The Jacobian of the point ``at`` of a body, in its axes from its centre of mass; others as for `mass_matrix`."""
    space = Space.of(system, positions)
    if body not in space.system.names:
        raise ValueError(unknown("body", body, space.system.names))
    point = vector("at", at)
    names, W = space.velocities(coordinates)
    i = space.system.names.index(body)
    R = space.bodies[1][:, i]
    v, Omega = W[:, 6 * i : 6 * i + 3], W[:, 6 * i + 3 : 6 * i + 6]
    linear, angular = v - R @ rotations.skew(point) @ Omega, R @ Omega
    return Jacobian(names, linear if space.rows else linear[0], angular if space.rows else angular[0])


@suggests
def inverse_dynamics(
    system: System,
    motion: Motion | None = None,
    *,
    q: Mapping[str, ArrayLike] | None = None,
    qd: Mapping[str, ArrayLike] | None = None,
    qdd: Mapping[str, ArrayLike] | None = None,
    t: ArrayLike = 0.0,
    coordinates: Sequence[str] | None = None,
) -> dict[str, Array]:
    """Efforts that joints need for a motion: torques (N m) along angles and forces (N) along displacements, by name.

    They include what springs, dampers and friction of the joints take, and equal ``motion["joint"].effort`` of a run in
    which drives lead the joints.

    Parameters
    ----------
    system
        Bodies and joints, without rods.
    motion
        A motion of bodies of the same names, as of the same robot with other masses or forces.
    q, qd, qdd
        Or: coordinates, rates and accelerations by name of the joint, numbers or (n,); (k,) or (n, k) for joints with
        several coordinates. Joints that are not named follow their drive, or stay where they start; in closed loops
        they follow the named ones.
    t
        Times, a number or (n,), for drives and all that depends on time.
    coordinates
        With closed loops: the joints that have efforts, as many as there are degrees of freedom; by default those that
        are named in ``q`` or driven.

    >>> from gyrod.model import Body, Revolute, System
    >>> arm = Body("arm", mass=2.0, inertia=(0.1, 0.1, 0.1), position=(1, 0, 0))
    >>> hinge = Revolute("ground", "arm", at=(0, 0, 0), axis=(0, -1, 0), damping=0.5, name="hinge")
    >>> float(inverse_dynamics(System([arm], [hinge]), qd={"hinge": 2.0}, qdd={"hinge": 1.0})["hinge"].round(9))
    22.72
    """
    if motion is not None:
        if q is not None or qd is not None or qdd is not None or np.any(np.asarray(t) != 0.0):
            raise ValueError("motion gives coordinates and times; leave q, qd, qdd and t out, or motion.")
        return _of_motion(system, motion, coordinates)
    return _of_coordinates(system, {"q": q or {}, "qd": qd or {}, "qdd": qdd or {}}, t, coordinates)


def _of_motion(system: System, motion: Motion, coordinates: Sequence[str] | None) -> dict[str, Array]:
    start = Space.start(system)
    if not isinstance(motion, Motion):
        raise ValueError(f"motion must be a Motion, got {shown(motion)}.")
    missing = [name for name in start.system.names if name not in motion.compiled.system.names]
    if missing:
        raise ValueError(f"motion has no bodies {listed(missing)}, which the system has; it must move all of them.")
    at = [motion.compiled.system._number[name] for name in start.system.names]
    t = np.ascontiguousarray(np.atleast_1d(motion.t))
    bodies = tuple(np.ascontiguousarray(a[:, at]) for a in motion._motions)
    space = replace(start, t=t, bodies=bodies, rows=motion.t.ndim > 0)  # type: ignore[arg-type]
    y = np.ascontiguousarray(np.atleast_2d(motion.y))
    wanted = motion.compiled.body_accelerations(t, y)[:, at].reshape(len(t), -1)
    names, W = space.velocities(coordinates or (_driven(space, system) if space.mechanism.closed else None))
    lack = wanted - space.compiled.body_accelerations(t, space.y).reshape(len(t), -1)
    return _by_joint(space, names, np.einsum("nik,ij,nj->nk", W, space.mechanism.inertia, lack))


def _of_coordinates(
    system: System, given: Mapping[str, Mapping[str, ArrayLike]], t: ArrayLike, coordinates: Sequence[str] | None
) -> dict[str, Array]:
    start = Space.start(system)
    _refuse_free(start)
    times = np.asarray(t, dtype=float)
    if times.ndim > 1 or not np.isfinite(times).all():
        raise ValueError(f"t = {shown(t)} must be a finite number or a one-dimensional array of such.")
    parts, n = given_rows(start, given, len(times) if times.ndim else None)
    times = np.ascontiguousarray(np.broadcast_to(times, (n or 1,)))
    for label in _driven(start, system):
        if label not in parts["q"]:
            values = drive_values(system.joint(label), times)
            for k, part in enumerate(("q", "qd", "qdd")):
                parts[part][label] = values[:, k : k + 1]
    names = start.mechanism.tree
    if start.mechanism.closed:
        names = start.chosen(coordinates or list(parts["q"]))
    space = replace(start.placed(parts["q"], times), rows=n is not None)
    _, W = space.velocities(names)
    rates, wanted = (_stacked(space, parts[part], names) for part in ("qd", "qdd"))
    V = np.einsum("nik,nk->ni", W, rates).reshape(len(times), -1, 2, 3)
    moving = replace(space, bodies=(*space.bodies[:2], V[:, :, 0], V[:, :, 1]))
    M = np.einsum("nik,ij,njl->nkl", W, space.mechanism.inertia, W)
    return _by_joint(space, names, np.einsum("nkl,nl->nk", M, wanted - _free_accelerations(space, moving, names)))


def _free_accelerations(space: Space, moving: Space, names: tuple[str, ...]) -> Array:
    """Accelerations of coordinates without efforts, (n, k), of a configuration that moves."""
    bodies = space.compiled.body_accelerations(moving.t, moving.y).reshape(len(moving.t), -1, 1)
    rows = [space.mechanism.row[name] for name in names]
    return np.asarray((space.rates(names) @ bodies)[:, :, 0] + space.mechanism.bias(moving.bodies)[:, rows])


def _driven(space: Space, system: System) -> list[str]:
    """Names of joints that the system leads."""
    joints = zip(space.mechanism.labels, system.joints, strict=True)
    return [label for label, joint in joints if getattr(joint, "drive", None) is not None]


def _refuse_free(space: Space) -> None:
    """Coordinates do not determine how bodies without a joint, or on a ball joint, move."""
    tree = space.system.tree()
    loose = [name for name, joint in tree.joint.items() if joint is None or isinstance(joint, Spherical)]
    if loose:
        raise ValueError(
            f"bodies {listed(loose)} are free, or hang on a ball joint: coordinates of joints do not determine their "
            "motion. Hold them by other joints, or give a motion in place of q, qd, qdd."
        )
    led = [joint.label for joint in space.system.joints if joint.driven]
    if led:
        raise ValueError(f"the length of {listed(led)} is led; give a motion in place of q, qd, qdd.")


def _stacked(space: Space, values: Mapping[str, Array], names: tuple[str, ...]) -> Array:
    """Values of names, (n, k), zero where they are not given."""
    found = np.zeros((len(space.t), len(names)))
    for label, array in values.items():
        for k, name in enumerate(space.mechanism.names[label]):
            if name in names:
                found[:, names.index(name)] = array[:, k]
    return found


def _by_joint(space: Space, names: tuple[str, ...], efforts: Array) -> dict[str, Array]:
    found = {}
    for label in space.mechanism.labels:
        own = [names.index(name) for name in space.mechanism.names[label] if name in names]
        if own:
            value = efforts[:, own[0]] if len(space.mechanism.names[label]) == 1 else efforts[:, own]
            found[label] = np.asarray(value if space.rows else value[0])
    return found
