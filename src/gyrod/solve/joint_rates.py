"""Configurations of bodies with joints, whose drives are taken out: rates of joints, velocities that they allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from gyrod._check import Array
from gyrod._words import listed
from gyrod.equations import Compiled, compile_system, mechanisms
from gyrod.model import Joint, ModelError, Spherical, System
from gyrod.model.errors import GROUND, Problems, shown, unknown
from gyrod.motion import Motion, Rest
from gyrod.motion.joints import kinematics
from gyrod.solve.assemble import assemble

Bodies = tuple[Array, Array, Array, Array]
"""Positions (n, b, 3), matrices (n, b, 3, 3), velocities (n, b, 3) and Omega (n, b, 3)."""

#: Longest way of a coordinate of a loop in one go, rad or parts of the size of the mechanism.
STRIDE = 0.2
#: Rates that determine the motion worse than this, relative to the best, do not.
DETERMINED = 1e-9


class JointRates:
    """What does not change from one configuration of a system to another: made once, and kept with the system."""

    def __init__(self, system: System) -> None:
        self.compiled: Compiled = compile_system(_free(system), reduce=False)
        #: Without drives.
        self.system = self.compiled.system
        self.bodies: Bodies = self.compiled.motions(self.compiled.y0)
        #: Joints by name, or by their place in the list.
        self.labels: dict[str, Joint] = {j.name or f"joints[{i}]": j for i, j in enumerate(self.system.joints)}
        #: What the rates of a joint are called.
        self.names = {label: _rates_of(label, joint) for label, joint in self.labels.items()}
        #: All rates of the tree.
        self.tree = self._tree()
        #: Whether there are loops.
        self.closed = bool(self.system.tree().cuts)
        self.inertia = self._inertia()
        self._arms()

    @staticmethod
    def of(system: System) -> JointRates:
        """That of a system, or a sentence on why it has none."""
        if not isinstance(system, System):
            raise ValueError(f"system must be a System, got {shown(system)}.")
        if system.rods:
            raise ValueError(
                f"rods have a motion of their own ({', '.join(map(repr, system.rod_names))}), so that joints alone do "
                "not determine the motion; lead the joints by drive=..., simulate, and read motion['joint'].effort."
            )
        if not system.joints:
            raise ValueError("the system has no joints; mass matrices, Jacobians and efforts are about joints.")
        kept = vars(system)  # frozen, so that what follows from it can stay with it
        if "_mechanism" not in kept:
            kept["_mechanism"] = JointRates(system)
        return cast("JointRates", kept["_mechanism"])

    @property
    def freedoms(self) -> int:
        """Degrees of freedom."""
        assert self.compiled.mobility is not None
        return self.compiled.mobility.freedoms

    def _tree(self) -> tuple[str, ...]:
        tree, label = self.system.tree(), {id(joint): label for label, joint in self.labels.items()}
        found: list[str] = []
        for name in tree.order:
            joint = tree.joint[name]
            if joint is None:
                found += [f"{name}.velocity[{k}]" for k in range(3)]
            if joint is None or isinstance(joint, Spherical):
                found += [f"{name}.Omega[{k}]" for k in range(3)]
            else:
                found += self.names[label[id(joint)]]
        return tuple(found)

    def _inertia(self) -> Array:
        """Of all bodies, (6 b, 6 b), by velocity in space and Omega."""
        found = np.zeros((6 * len(self.system.bodies),) * 2)
        for i, body in enumerate(self.system.bodies):
            found[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = body.mass * np.eye(3)
            found[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = body.inertia
        return found

    def _arms(self) -> None:
        """Numbers of the joints with rates, bodies of every coordinate, and which row has which name."""
        joints = [(i, joint) for i, (label, joint) in enumerate(self.labels.items()) if self.names[label]]
        self._which = [i for i, _ in joints]
        pairs = mechanisms.pairs(self.system)
        self._bodies = np.array(
            [pairs[i] for i, joint in joints for _ in joint.coordinate_names], dtype=np.intp
        ).reshape(-1, 2)
        own = [name for label in self.labels for name in self.names[label]]
        own += [f"{n}.{part}[{k}]" for n in self.system.names for part in ("velocity", "Omega") for k in range(3)]
        #: Rows of `rates`.
        self.row = {name: i for i, name in enumerate(own)}

    def _gradients(self, bodies: Bodies) -> Array:
        return np.asarray(self.compiled.joint_set.gradients(self._which, *map(np.ascontiguousarray, bodies)))

    def rates(self, bodies: Bodies) -> Array:
        """Rates of all coordinates by velocities (v in space, Omega) of all bodies, (n, k + 6 b, 6 b)."""
        table = self._gradients(bodies)
        b, n, k = len(self.system.bodies), *table.shape[:2]
        found = np.zeros((n, k + 6 * b, b + 1, 6))  # ground is one more body
        for side, columns in ((0, slice(1, 7)), (1, slice(7, 13))):
            found[:, np.arange(k), self._bodies[:, side]] += table[:, :, columns]
        flat = found[:, :, :b].reshape(n, k + 6 * b, 6 * b)
        flat[:, k:] = np.eye(6 * b)
        return flat

    def bias(self, bodies: Bodies) -> Array:
        """Second derivatives of all coordinates of joints where no body has an acceleration, (n, k)."""
        return self._gradients(bodies)[:, :, 0]


def _rates_of(label: str, joint: Joint) -> tuple[str, ...]:
    own = joint.coordinate_names if joint.carries else ()
    return (label,) if len(own) == 1 else tuple(f"{label}.{name}" for name in own)


@dataclass(frozen=True)
class Space:
    """Configurations of a mechanism whose drives are taken out."""

    mechanism: JointRates
    t: Array
    bodies: Bodies
    #: Whether there is an axis of rows.
    rows: bool = True

    @staticmethod
    def of(given: System | Rest | Motion, positions: Mapping[str, ArrayLike] | None) -> Space:
        """At the start of a system or at positions, at a rest, or at the rows of a motion."""
        if isinstance(given, System):
            space = Space.start(given)
            if not positions:
                return replace(space, rows=False)
            q, n = given_rows(space, {"positions": positions})
            return replace(space.placed(q["positions"], np.zeros(n or 1)), rows=n is not None)
        if not isinstance(given, Rest | Motion):
            raise ValueError(f"system must be a System, a Rest or a Motion, got {shown(given)}.")
        if positions is not None:
            raise ValueError("positions go with a System; a Rest or a Motion has its own.")
        motion = given.motion if isinstance(given, Rest) else given
        start = Space.start(motion.system)
        return replace(start, t=np.atleast_1d(motion.t), bodies=motion._motions, rows=motion.t.ndim > 0)

    @staticmethod
    def start(system: System) -> Space:
        """One row, at the start."""
        found = JointRates.of(system)
        return Space(found, np.zeros(1), found.bodies)

    @property
    def compiled(self) -> Compiled:
        """The equations."""
        return self.mechanism.compiled

    @property
    def system(self) -> System:
        """Without drives."""
        return self.mechanism.system

    @cached_property
    def y(self) -> Array:
        """Unknowns, (n, N)."""
        return self.compiled.states(self.t, self.bodies)

    @cached_property
    def _every_rate(self) -> Array:
        return self.mechanism.rates(self.bodies)

    def rates(self, names: tuple[str, ...]) -> Array:
        """Rates of names by velocities of all bodies, (n, k, 6 b)."""
        return self._every_rate[:, [self.mechanism.row[name] for name in names]]

    def chosen(self, coordinates: Sequence[str] | None) -> tuple[str, ...]:
        """Names of rates that determine the motion."""
        own = (name for names in self.mechanism.names.values() for name in names)
        known = list(dict.fromkeys([*self.mechanism.tree, *own]))
        if coordinates is None:
            if not self.mechanism.closed:
                return self.mechanism.tree
            raise ValueError(
                f"the joints form closed loops, with a mobility of {self.mechanism.freedoms}; name as many coordinates "
                f"that the others follow, coordinates = [...] of {listed(known)}."
            )
        names = (coordinates,) if isinstance(coordinates, str) else tuple(coordinates)
        problems = [unknown("coordinates", name, known, "coordinates") for name in names if name not in known]
        problems += [f"coordinates: {name!r} is named twice." for name in {n for n in names if names.count(n) > 1}]
        if not problems and self.mechanism.closed and len(names) != self.mechanism.freedoms:
            problems.append(
                f"coordinates = {list(names)} are {len(names)}, but the closed loops have a mobility of "
                f"{self.mechanism.freedoms}; name as many."
            )
        if problems:
            raise ModelError(problems)
        return names

    def velocities(self, coordinates: Sequence[str] | None = None) -> tuple[tuple[str, ...], Array]:
        """Names of rates, and velocities (v in space, Omega) of all bodies for a unit of each, (n, 6 b, k)."""
        names = self.chosen(coordinates)
        ruling = names if self.mechanism.closed else self.mechanism.tree
        columns = [ruling.index(name) for name in names]
        rates = self.rates(ruling)
        found = [self._velocities(row, rates[row], ruling)[:, columns] for row in range(len(self.t))]
        return names, np.array(found).reshape(len(self.t), 6 * len(self.system.bodies), len(names))

    def _velocities(self, row: int, C: Array, names: tuple[str, ...]) -> Array:
        t, y = float(self.t[row]), self.y[row]
        B = self.compiled.nullspace(t, y)
        if self.mechanism.closed:
            G = self.compiled.core.loop_gradient(t, y, True)
            _, s, Vt = np.linalg.svd(G)
            B = B @ Vt[int(np.sum(s > mechanisms.RANK * s.max(initial=0.0))) :].T
        rates = C @ B
        if rates.shape[0] != rates.shape[1] or np.linalg.cond(rates) > 1.0 / DETERMINED:
            raise ValueError(
                f"the rates of {listed(names)} do not determine the motion of the mechanism in the configuration at "
                f"t = {t:g}, which is singular, or they are of parts that do not move each other; name others."
            )
        return np.asarray(B @ np.linalg.inv(rates))

    # --- other configurations ---

    def placed(self, q: Mapping[str, Array], t: Array) -> Space:
        """At rest, with coordinates (n, k) of joints; the others as at the start, or as loops demand."""
        if self.mechanism.closed:
            x, R = self._closed(q, len(t))
        else:
            x, R = self._forward(q, len(t))
        return replace(self, t=t, bodies=(x, R, np.zeros_like(x), np.zeros_like(x)))

    def _forward(self, q: Mapping[str, Array], n: int) -> tuple[Array, Array]:
        """Forward kinematics of a tree: positions (n, b, 3) and matrices (n, b, 3, 3)."""
        system, number = self.system, self.system._number
        label = {id(joint): name for name, joint in self.mechanism.labels.items()}
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
                values = np.ascontiguousarray(q[label[id(joint)]])
                turn, shift = self.compiled.joint_set.pose(system._joint_number[id(joint)], values, turn, shift)
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
        system, labels = self.system, self.mechanism.labels
        size, number = self.compiled._length(), {name: i for i, name in enumerate(labels)}
        now = {name: float(kinematics(self.compiled, [number[name]], self.bodies)[0][0, 0]) for name in q}
        for row in range(n):
            goal = {name: float(values[min(row, len(values) - 1), 0]) for name, values in q.items()}
            way = {name: goal[name] - now[name] for name in goal}
            units = {name: size if labels[name].effort_units[0] == "N" else 1.0 for name in goal}
            parts = max(1, int(np.ceil(max((abs(way[m]) / units[m] for m in way), default=0.0) / STRIDE)))
            for part in range(1, parts + 1):
                there = {name: now[name] + part / parts * way[name] for name in goal}
                system = _led(system, {id(labels[name]): value for name, value in there.items()}, self.system)
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


def _free(system: System) -> System:
    """The system at rest and without drives; lengths of bars stay led."""
    joints: list[Any] = list(system.joints)
    still = [b.with_(velocity=np.zeros(3), angular_velocity=np.zeros(3)) for b in system.bodies]
    free = [j if getattr(j, "drive", None) is None else replace(j, drive=None) for j in joints]
    return replace(system, bodies=tuple(still), joints=tuple(free))


def given_rows(
    space: Space, parts: Mapping[str, Mapping[str, ArrayLike]], n: int | None = None
) -> tuple[dict[str, dict[str, Array]], int | None]:
    """Coordinates, rates and so on by joint, (n, k) or (1, k), and the number n of rows, None for single values."""
    problems = Problems("joints")
    found: dict[str, dict[str, Array]] = {part: {} for part in parts}
    movable = [label for label in space.mechanism.labels if space.mechanism.names[label]]
    for part, values in parts.items():
        problems.owner = part
        if not isinstance(values, Mapping):
            problems.add(f"it must be a dict from names of joints to numbers, got {shown(values)}.")
            continue
        for label, value in values.items():
            if label not in movable:
                problems.add(unknown("joint", label, movable, "joints with coordinates"))
                continue
            k = len(space.mechanism.names[label])
            row = problems.check(_row, f"[{label!r}]", value, k)
            if row is None:
                continue
            found[part][label], many = row
            if many and n is not None and len(row[0]) != n:
                problems.add(f"[{label!r}] has {len(row[0])} rows, others, or t, have {n}; give as many.")
            n = len(row[0]) if many and n is None else n
            if part in ("q", "positions") and space.mechanism.closed and k > 1:
                problems.add(
                    f"[{label!r}]: {space.mechanism.labels[label].label} has {k} coordinates; in loops name joints of "
                    "one."
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
