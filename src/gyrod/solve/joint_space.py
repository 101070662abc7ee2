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
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import _check, rotations
from gyrod.equations import Compiled, compile_system, drive_values, mechanisms
from gyrod.model import Distance, Helical, Joint, ModelError, Spherical, System
from gyrod.model.errors import GROUND, Problems, shown, unknown, vector
from gyrod.motion import Motion, Rest
from gyrod.motion.joints import accelerations, kinematics
from gyrod.solve.assemble import assemble

Array = NDArray[np.float64]
Bodies = tuple[Array, Array, Array, Array]
"""Positions (n, b, 3), matrices (n, b, 3, 3), velocities (n, b, 3) and Omega (n, b, 3)."""

#: Longest way of a coordinate of a loop in one go, rad or parts of the size of the mechanism.
STRIDE = 0.2
#: Rates that determine the motion worse than this, relative to the best, do not.
DETERMINED = 1e-9


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
    space = _Space.of(system, positions)
    names, W = space.velocities(coordinates)
    M = np.einsum("nik,ij,njl->nkl", W, space.inertia, W)
    return MassMatrix(names, M if space.rows else M[0])


def jacobian(
    system: System | Rest | Motion,
    body: str,
    at: ArrayLike = (0.0, 0.0, 0.0),
    coordinates: Sequence[str] | None = None,
    *,
    positions: Mapping[str, ArrayLike] | None = None,
) -> Jacobian:
    """The Jacobian of the point ``at`` of a body, in its axes from its centre of mass; others as for `mass_matrix`."""
    space = _Space.of(system, positions)
    if body not in space.system.names:
        raise ValueError(unknown("body", body, space.system.names))
    point = vector("at", at)
    names, W = space.velocities(coordinates)
    i = space.system.names.index(body)
    R = space.bodies[1][:, i]
    v, Omega = W[:, 6 * i : 6 * i + 3], W[:, 6 * i + 3 : 6 * i + 6]
    linear, angular = v - R @ rotations.skew(point) @ Omega, R @ Omega
    return Jacobian(names, linear if space.rows else linear[0], angular if space.rows else angular[0])


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


# --- rows of a mechanism ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Space:
    """Configurations of a mechanism whose drives are taken out."""

    compiled: Compiled
    t: Array
    bodies: Bodies
    #: Whether there is an axis of rows.
    rows: bool = True

    @staticmethod
    def of(given: System | Rest | Motion, positions: Mapping[str, ArrayLike] | None) -> _Space:
        """At the start of a system or at positions, at a rest, or at the rows of a motion."""
        if isinstance(given, System):
            space = _Space.start(given)
            if not positions:
                return replace(space, rows=False)
            q, n = _given(space, {"positions": positions})
            return replace(space.placed(q["positions"], np.zeros(n or 1)), rows=n is not None)
        if not isinstance(given, Rest | Motion):
            raise ValueError(f"system must be a System, a Rest or a Motion, got {shown(given)}.")
        if positions is not None:
            raise ValueError("positions go with a System; a Rest or a Motion has its own.")
        motion = given.motion if isinstance(given, Rest) else given
        start = _Space.start(motion.system)
        return replace(start, t=np.atleast_1d(motion.t), bodies=motion._motions, rows=motion.t.ndim > 0)

    @staticmethod
    def start(system: System) -> _Space:
        """One row, at the start."""
        if not isinstance(system, System):
            raise ValueError(f"system must be a System, got {shown(system)}.")
        if system.rods:
            raise ValueError(
                f"rods have a motion of their own ({', '.join(map(repr, system.rod_names))}), so that joints alone "
                "do not determine the motion; lead the joints by drive=..., simulate, and read motion['joint'].effort."
            )
        if not system.joints:
            raise ValueError("the system has no joints; mass matrices, Jacobians and efforts are about joints.")
        compiled = compile_system(_free(system), reduce=False)
        return _Space(compiled, np.zeros(1), compiled.motions(compiled.y0))

    @property
    def system(self) -> System:
        """Without drives."""
        return self.compiled.system

    @cached_property
    def y(self) -> Array:
        """Unknowns, (n, N)."""
        return self.compiled.states(self.t, self.bodies)

    @cached_property
    def inertia(self) -> Array:
        """Of all bodies, (6 b, 6 b), by velocity in space and Omega."""
        found = np.zeros((6 * len(self.system.bodies),) * 2)
        for i, body in enumerate(self.system.bodies):
            found[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = body.mass * np.eye(3)
            found[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = body.inertia
        return found

    @cached_property
    def labels(self) -> dict[str, Joint]:
        """Joints by name, or by their place in the list."""
        return {j.name or f"joints[{i}]": j for i, j in enumerate(self.system.joints)}

    def names(self, label: str) -> tuple[str, ...]:
        """What the rates of a joint are called."""
        joint = self.labels[label]
        own = () if isinstance(joint, Distance) else joint.coordinate_names
        return (label,) if len(own) == 1 else tuple(f"{label}.{name}" for name in own)

    @cached_property
    def tree(self) -> tuple[str, ...]:
        """All rates of the tree."""
        tree, label = self.system.tree(), {id(joint): label for label, joint in self.labels.items()}
        found: list[str] = []
        for name in tree.order:
            joint = tree.joint[name]
            if joint is None:
                found += [f"{name}.velocity[{k}]" for k in range(3)]
            if joint is None or isinstance(joint, Spherical):
                found += [f"{name}.Omega[{k}]" for k in range(3)]
            else:
                found += self.names(label[id(joint)])
        return tuple(found)

    @property
    def closed(self) -> bool:
        """Whether there are loops."""
        return bool(self.system.tree().cuts)

    @property
    def freedoms(self) -> int:
        """Degrees of freedom."""
        assert self.compiled.mobility is not None
        return self.compiled.mobility.freedoms

    def chosen(self, coordinates: Sequence[str] | None) -> tuple[str, ...]:
        """Names of rates that determine the motion."""
        known = [*self.tree, *(n for label in self.labels for n in self.names(label) if n not in self.tree)]
        if coordinates is None:
            if not self.closed:
                return self.tree
            raise ValueError(
                f"the joints form closed loops, with a mobility of {self.freedoms}; name as many coordinates that "
                f"the others follow, coordinates = [...] of {_listed(known)}."
            )
        names = (coordinates,) if isinstance(coordinates, str) else tuple(coordinates)
        problems = [unknown("coordinates", name, known, "coordinates") for name in names if name not in known]
        problems += [f"coordinates: {name!r} is named twice." for name in {n for n in names if names.count(n) > 1}]
        if not problems and self.closed and len(names) != self.freedoms:
            problems.append(
                f"coordinates = {list(names)} are {len(names)}, but the closed loops have a mobility of "
                f"{self.freedoms}; name as many."
            )
        if problems:
            raise ModelError(problems)
        return names

    def velocities(self, coordinates: Sequence[str] | None = None) -> tuple[tuple[str, ...], Array]:
        """Names of rates, and velocities (v in space, Omega) of all bodies for a unit of each, (n, 6 b, k)."""
        names = self.chosen(coordinates)
        ruling = names if self.closed else self.tree
        columns = [ruling.index(name) for name in names]
        found = [self._velocities(row, ruling)[:, columns] for row in range(len(self.t))]
        return names, np.array(found).reshape(len(self.t), 6 * len(self.system.bodies), len(names))

    def _velocities(self, row: int, names: tuple[str, ...]) -> Array:
        t, y = float(self.t[row]), self.y[row]
        B = self.compiled.nullspace(t, y)
        if self.closed:
            G = self.compiled.core.loop_gradient(t, y, True)
            _, s, Vt = np.linalg.svd(G)
            B = B @ Vt[int(np.sum(s > mechanisms.RANK * s.max(initial=0.0))) :].T
        rates = self._rates(row, B, names)
        if rates.shape[0] != rates.shape[1] or np.linalg.cond(rates) > 1.0 / DETERMINED:
            raise ValueError(
                f"the rates of {_listed(names)} do not determine the motion of the mechanism in the configuration at "
                f"t = {t:g}, which is singular, or they are of parts that do not move each other; name others."
            )
        return np.asarray(B @ np.linalg.inv(rates))

    def _rates(self, row: int, B: Array, names: tuple[str, ...]) -> Array:
        """Rates of names for each column of velocities, (k, columns)."""
        V = np.moveaxis(B.reshape(len(self.system.bodies), 2, 3, -1), -1, 0)
        x, R = (np.broadcast_to(a[row], (len(V), *a.shape[1:])) for a in self.bodies[:2])
        found: dict[str, Array] = {}
        for label, joint in self.labels.items():
            own = self.names(label)
            if not set(own).isdisjoint(names):
                rates = kinematics(self.compiled, joint, (x, R, V[:, :, 0], V[:, :, 1]))[1]
                found |= dict(zip(own, rates.T, strict=True))
        for i, body in enumerate(self.system.names):
            found |= {f"{body}.velocity[{k}]": V[:, i, 0, k] for k in range(3)}
            found |= {f"{body}.Omega[{k}]": V[:, i, 1, k] for k in range(3)}
        return np.array([found[name] for name in names])

    # --- other configurations ---

    def placed(self, q: Mapping[str, Array], t: Array) -> _Space:
        """At rest, with coordinates (n, k) of joints; the others as at the start, or as loops demand."""
        if self.closed:
            x, R = self._closed(q, len(t))
        else:
            x, R = self._forward(q, len(t))
        return replace(self, t=t, bodies=(x, R, np.zeros_like(x), np.zeros_like(x)))

    def _forward(self, q: Mapping[str, Array], n: int) -> tuple[Array, Array]:
        """Forward kinematics of a tree: positions (n, b, 3) and matrices (n, b, 3, 3)."""
        system, number = self.system, self.system._number
        label = {id(joint): name for name, joint in self.labels.items()}
        x = np.repeat(self.bodies[0][:1], n, axis=0)
        R = np.repeat(self.bodies[1][:1], n, axis=0)
        x0, R0 = np.array(x[0]), np.array(R[0])
        tree = system.tree()

        def side(body: str, at: Array, frame: Array, xs: Array = x0, Rs: Array = R0) -> tuple[Array, Array]:
            if body == GROUND:
                return at, frame
            j = number[body]
            return xs[..., j, :] + Rs[..., j, :, :] @ at, Rs[..., j, :, :] @ frame

        for name in tree.order:
            joint, parent = tree.joint[name], tree.parent[name]
            if joint is None or parent is None:
                continue
            place, i = system.attachment(joint), number[name]

            a, b = (joint.a, place.at_a, place.frame_a), (joint.b, place.at_b, place.frame_b)
            (P_a, E_a), (P_b, E_b) = side(*a), side(*b)
            turn, shift = E_a.T @ E_b, E_a.T @ (P_b - P_a)
            if label[id(joint)] in q:
                turn, shift = _relative(joint, q[label[id(joint)]], turn, shift)
            if joint.b == name:
                P, E = side(*a, x, R)
                R[:, i] = E @ turn @ place.frame_b.T
                x[:, i] = P + np.einsum("...ij,...j->...i", E, shift) - R[:, i] @ place.at_b
            else:
                P, E = side(*b, x, R)
                E = E @ np.swapaxes(turn, -1, -2)
                R[:, i] = E @ place.frame_a.T
                x[:, i] = P - np.einsum("...ij,...j->...i", E, shift) - R[:, i] @ place.at_a
        return x, R

    def _closed(self, q: Mapping[str, Array], n: int) -> tuple[Array, Array]:
        """Configurations of loops: one after the other, by short ways of the named coordinates."""
        x, R = [], []
        system = self.system
        size = self.compiled._length()
        now = {name: float(kinematics(self.compiled, self.labels[name], self.bodies)[0][0, 0]) for name in q}
        for row in range(n):
            goal = {name: float(values[min(row, len(values) - 1), 0]) for name, values in q.items()}
            way = {name: goal[name] - now[name] for name in goal}
            units = {name: size if self.labels[name].effort_units[0] == "N" else 1.0 for name in goal}
            parts = max(1, int(np.ceil(max((abs(way[m]) / units[m] for m in way), default=0.0) / STRIDE)))
            for part in range(1, parts + 1):
                there = {name: now[name] + part / parts * way[name] for name in goal}
                system = _led(system, {id(self.labels[name]): value for name, value in there.items()}, self.system)
            now = goal
            x.append([body.position for body in system.bodies])
            R.append([body.matrix for body in system.bodies])
        return np.array(x), np.array(R)


def _led(system: System, values: Mapping[int, float], free: System) -> System:
    """The system with joints at other coordinates, at rest and without drives again."""
    joints: list[Any] = list(free.joints)
    held = [replace(j, drive=values[id(j)]) if id(j) in values else j for j in joints]
    bodies = [b.with_(velocity=np.zeros(3), angular_velocity=np.zeros(3)) for b in system.bodies]
    places = tuple(system.attachment(j) for j in system.joints)
    try:
        found = assemble(replace(free, bodies=tuple(bodies), joints=tuple(held), attachments=places))
    except ModelError as error:
        raise ModelError(f"positions: {sentence}" for sentence in error.problems) from error
    return replace(found, joints=tuple(joints))  # with_ would place them anew


def _relative(joint: Joint, q: Array, turn: Array, shift: Array) -> tuple[Array, Array]:
    """Rotation (n, 3, 3) and displacement (n, 3) of b against a for coordinates (n, k)."""
    value = dict(zip(joint.coordinate_names, q.T, strict=True))
    if "angle" in value:
        turn = rotations.matrix_from_rotation_vector(value["angle"][:, None] * np.array([0.0, 0.0, 1.0]))
    if "angle2" in value:
        turn = turn @ rotations.matrix_from_rotation_vector(value["angle2"][:, None] * np.array([1.0, 0.0, 0.0]))
    shift = np.array(np.broadcast_to(shift, (len(q), 3)))
    for k, names in enumerate((("x",), ("y",), ("z", "displacement"))):
        for name in set(names) & set(value):
            shift[:, k] = value[name]
    if isinstance(joint, Helical):
        shift[:, 2] = joint.pitch / (2.0 * np.pi) * value["angle"]
    return turn, shift


def _free(system: System) -> System:
    """The system at rest and without drives; lengths of bars stay led."""
    joints: list[Any] = list(system.joints)
    still = [b.with_(velocity=np.zeros(3), angular_velocity=np.zeros(3)) for b in system.bodies]
    free = [j if getattr(j, "drive", None) is None else replace(j, drive=None) for j in joints]
    return replace(system, bodies=tuple(still), joints=tuple(free))


# --- inverse dynamics ------------------------------------------------------------------------------------------------


def _of_motion(system: System, motion: Motion, coordinates: Sequence[str] | None) -> dict[str, Array]:
    start = _Space.start(system)
    if not isinstance(motion, Motion):
        raise ValueError(f"motion must be a Motion, got {shown(motion)}.")
    missing = [name for name in start.system.names if name not in motion.compiled.system.names]
    if missing:
        raise ValueError(f"motion has no bodies {_listed(missing)}, which the system has; it must move all of them.")
    at = [motion.compiled.system._number[name] for name in start.system.names]
    t = np.ascontiguousarray(np.atleast_1d(motion.t))
    bodies = tuple(np.ascontiguousarray(a[:, at]) for a in motion._motions)
    space = replace(start, t=t, bodies=bodies, rows=motion.t.ndim > 0)  # type: ignore[arg-type]
    y = np.ascontiguousarray(np.atleast_2d(motion.y))
    wanted = motion.compiled.body_accelerations(t, y)[:, at].reshape(len(t), -1)
    names, W = space.velocities(coordinates or (_driven(space, system) if space.closed else None))
    lack = wanted - space.compiled.body_accelerations(t, space.y).reshape(len(t), -1)
    return _by_joint(space, names, np.einsum("nik,ij,nj->nk", W, space.inertia, lack))


def _of_coordinates(
    system: System, given: Mapping[str, Mapping[str, ArrayLike]], t: ArrayLike, coordinates: Sequence[str] | None
) -> dict[str, Array]:
    start = _Space.start(system)
    _refuse_free(start)
    times = np.asarray(t, dtype=float)
    if times.ndim > 1 or not np.isfinite(times).all():
        raise ValueError(f"t = {shown(t)} must be a finite number or a one-dimensional array of such.")
    parts, n = _given(start, given, len(times) if times.ndim else None)
    times = np.ascontiguousarray(np.broadcast_to(times, (n or 1,)))
    for label in _driven(start, system):
        if label not in parts["q"]:
            values = drive_values(system.joint(label), times)
            for k, part in enumerate(("q", "qd", "qdd")):
                parts[part][label] = values[:, k : k + 1]
    names = start.tree
    if start.closed:
        names = start.chosen(coordinates or list(parts["q"]))
    space = replace(start.placed(parts["q"], times), rows=n is not None)
    _, W = space.velocities(names)
    rates, wanted = (_stacked(space, parts[part], names) for part in ("qd", "qdd"))
    V = np.einsum("nik,nk->ni", W, rates).reshape(len(times), -1, 2, 3)
    moving = replace(space, bodies=(*space.bodies[:2], V[:, :, 0], V[:, :, 1]))
    M = np.einsum("nik,ij,njl->nkl", W, space.inertia, W)
    return _by_joint(space, names, np.einsum("nkl,nl->nk", M, wanted - _free_accelerations(moving, names)))


def _free_accelerations(space: _Space, names: tuple[str, ...]) -> Array:
    """Accelerations of coordinates without efforts, (n, k)."""
    bodies = space.compiled.body_accelerations(space.t, space.y)
    found: dict[str, Array] = {}
    for label, joint in space.labels.items():
        own = space.names(label)
        if not set(own).isdisjoint(names):
            found |= dict(zip(own, accelerations(space.compiled, joint, space.bodies, bodies).T, strict=True))
    return np.stack([found[name] for name in names], axis=1)


def _driven(space: _Space, system: System) -> list[str]:
    """Names of joints that the system leads."""
    joints = zip(space.labels, system.joints, strict=True)
    return [label for label, joint in joints if getattr(joint, "drive", None) is not None]


def _refuse_free(space: _Space) -> None:
    """Coordinates do not determine how bodies without a joint, or on a ball joint, move."""
    tree = space.system.tree()
    loose = [name for name, joint in tree.joint.items() if joint is None or isinstance(joint, Spherical)]
    if loose:
        raise ValueError(
            f"bodies {_listed(loose)} are free, or hang on a ball joint: coordinates of joints do not determine their "
            "motion. Hold them by other joints, or give a motion in place of q, qd, qdd."
        )
    led = [joint.label for joint in space.system.joints if joint.driven]
    if led:
        raise ValueError(f"the length of {_listed(led)} is led; give a motion in place of q, qd, qdd.")


def _given(
    space: _Space, parts: Mapping[str, Mapping[str, ArrayLike]], n: int | None = None
) -> tuple[dict[str, dict[str, Array]], int | None]:
    """Coordinates, rates and so on by joint, (n, k) or (1, k), and the number n of rows, None for single values."""
    problems = Problems("joints")
    found: dict[str, dict[str, Array]] = {part: {} for part in parts}
    movable = [label for label in space.labels if space.names(label)]
    for part, values in parts.items():
        problems.owner = part
        if not isinstance(values, Mapping):
            problems.add(f"it must be a dict from names of joints to numbers, got {shown(values)}.")
            continue
        for label, value in values.items():
            if label not in movable:
                problems.add(unknown("joint", label, movable, "joints with coordinates"))
                continue
            k = len(space.names(label))
            row = problems.check(_row, f"[{label!r}]", value, k)
            if row is None:
                continue
            found[part][label], many = row
            if many and n is not None and len(row[0]) != n:
                problems.add(f"[{label!r}] has {len(row[0])} rows, others, or t, have {n}; give as many.")
            n = len(row[0]) if many and n is None else n
            if part in ("q", "positions") and space.closed and k > 1:
                problems.add(
                    f"[{label!r}]: {space.labels[label].label} has {k} coordinates; in loops name joints of one."
                )
    problems.finish()
    return found, n


def _row(place: str, value: ArrayLike, k: int) -> tuple[Array, bool]:
    """Values (n, k) of a joint, and whether they have an axis of rows."""
    try:
        x = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        x = np.full(1, np.nan)
    one = () if k == 1 else (k,)
    if not np.isfinite(x).all() or x.shape[x.ndim - len(one) :] != one or x.ndim > 1 + len(one):
        wanted = "a number or (n,)" if k == 1 else f"({k},) or (n, {k})"
        raise ValueError(f"{place} = {shown(value)} must be {wanted}, finite.")
    return x.reshape(-1, k), x.ndim > len(one)


def _stacked(space: _Space, values: Mapping[str, Array], names: tuple[str, ...]) -> Array:
    """Values of names, (n, k), zero where they are not given."""
    found = np.zeros((len(space.t), len(names)))
    for label, array in values.items():
        for k, name in enumerate(space.names(label)):
            if name in names:
                found[:, names.index(name)] = array[:, k]
    return found


def _by_joint(space: _Space, names: tuple[str, ...], efforts: Array) -> dict[str, Array]:
    found = {}
    for label in space.labels:
        own = [names.index(name) for name in space.names(label) if name in names]
        if own:
            value = efforts[:, own[0]] if len(space.names(label)) == 1 else efforts[:, own]
            found[label] = np.asarray(value if space.rows else value[0])
    return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:12])) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
