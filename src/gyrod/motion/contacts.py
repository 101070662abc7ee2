"""What touches over a motion: forces, gaps and slip of contacts, of all their stations and as sums."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod._check import Array
from gyrod.equations import Compiled
from gyrod.equations.contacts import Crossed, Touching
from gyrod.model.contacts import Contact
from gyrod.motion.by_name import ByName

if TYPE_CHECKING:
    from gyrod.model import System
    from gyrod.motion.motion import Motion


#: Columns of what the core says about stations that hold forces: a vector, and its part along the normal.
LOADS = [6, 7, 8, 13]


@dataclass(frozen=True)
class Stations:
    """Points that can touch, of one rod or one body against one surface; (n,) of them."""

    #: Name of the rod or body, and of the body that has the surface; None: it stands in space.
    of: str
    on: str | None
    #: Fractions of the length of a rod, (n,), or places in body axes, (n, 3).
    places: Array
    #: Lengths of a rod that they stand for, m, or 1 for each of a body, (n,).
    weights: Array
    #: Where they touch, or would, in space (..., n, 3).
    point: Array
    #: From the surface, space axes (..., n, 3).
    direction: Array
    #: On the rod or body, space axes (..., n, 3).
    force: Array
    #: Velocity along the surface at the point of contact, space axes (..., n, 3); zero where nothing touches.
    slip: Array
    #: m, negative where they press, (..., n).
    gap: Array
    #: Normal force, N, (..., n).
    normal: Array

    @property
    def pressure(self) -> Array:
        """Normal force per length of a rod, N/m, (..., n); of a body that of each station, N."""
        return self.normal / self.weights


@dataclass(frozen=True)
class Pair:
    """Where a rod touches another one, or itself, at one time."""

    of: str
    on: str
    #: Fractions of the lengths.
    at: tuple[float, float]
    #: Between them in space, the direction from b to a, and the force on a, (3,).
    point: Array
    direction: Array
    force: Array
    #: m, negative where they press; N.
    gap: float
    normal: float
    #: Velocity of a against b along their sides, (3,).
    slip: Array


@dataclass(frozen=True, eq=False)
class Crossings:
    """Two rods that may touch each other, over time; (...,) sums over where they do."""

    of: str
    on: str
    #: On the first one, space axes, N (..., 3); nothing where a rod touches itself. And what of it is friction.
    force: Array
    friction: Array
    #: Sum of the normal forces, N; the least gap, m: infinite where nothing is about to touch.
    normal: Array
    gap: Array
    count: NDArray[np.intp]
    #: The largest speed along their sides, m/s.
    slip: Array
    #: Of each time what touches there.
    pairs: tuple[tuple[Pair, ...], ...] = field(repr=False)


@dataclass(frozen=True, eq=False)
class ContactTrack:
    """A contact over time; sums over its stations. A single time has the same fields without the time axis."""

    contact: Contact = field(repr=False)
    #: All its stations, one entry for each pair of a rod or body and a surface.
    stations: tuple[Stations, ...] = field(repr=False)
    #: Elastic energy, and the power that friction and the damping of impacts take, (...).
    energy: Array
    friction_power: Array
    impact_power: Array
    #: Rods among themselves, one entry for each two of them.
    crossings: tuple[Crossings, ...] = field(repr=False, default=())

    @property
    def pairs(self) -> tuple[tuple[Pair, ...], ...] | tuple[Pair, ...]:
        """Where rods touch each other: for each time, or at the single one."""
        rows = range(max((len(part.pairs) for part in self.crossings), default=0))
        found = tuple(tuple(pair for part in self.crossings for pair in part.pairs[k]) for k in rows)
        return found if self.energy.shape or not found else found[0]

    @property
    def force(self) -> Array:
        """On all that is a of the contact, space axes (..., 3), N."""
        first = [p for p in self.stations if p.of in self._members]
        back = [p for p in self.stations if p.of not in self._members]
        found = sum((p.force.sum(axis=-2) for p in first), np.zeros((*self.energy.shape, 3)))
        found = sum((self._sign(p) * p.force for p in self.crossings), found)
        return np.asarray(found - sum((p.force.sum(axis=-2) for p in back), np.zeros(3)))

    @cached_property
    def _members(self) -> frozenset[str]:
        of = {*(p.of for p in self.stations), *(p.of for p in self.crossings)}
        return frozenset(of) if self.contact.a == ("all",) else frozenset(self.contact.a)

    def _sign(self, two: Crossings) -> int:
        """Of two rods: which one is a of the contact, or 0, both."""
        return (two.of in self._members) - (two.on in self._members)

    @property
    def normal(self) -> Array:
        """Sum of the normal forces, (...), N."""
        pressed = sum((part.normal for part in self.crossings), np.zeros(self.energy.shape))
        return np.asarray(sum((part.normal.sum(axis=-1) for part in self.stations), pressed))

    @property
    def friction(self) -> Array:
        """Size of the sum of the forces along the surfaces, (...), N."""
        none = sum((self._sign(p) * p.friction for p in self.crossings), np.zeros((*self.energy.shape, 3)))
        along = sum(((p.force - p.direction * p.normal[..., None]).sum(axis=-2) for p in self.stations), none)
        return np.asarray(np.linalg.norm(along, axis=-1))

    @property
    def gap(self) -> Array:
        """The least gap, (...), m; negative where something presses; between rods infinite far from each other."""
        gaps = [*(part.gap for part in self.stations), *(part.gap[..., None] for part in self.crossings)]
        return np.asarray(np.min(np.concatenate(gaps, axis=-1), axis=-1))

    @property
    def count(self) -> NDArray[np.intp]:
        """How many stations and pairs of rods' places press, (...)."""
        count = sum((part.count for part in self.crossings), np.zeros(self.energy.shape, dtype=np.intp))
        return np.asarray(sum((np.count_nonzero(p.normal > 0.0, axis=-1) for p in self.stations), count))

    @property
    def slip(self) -> Array:
        """The largest slip speed, (...), m/s."""
        speeds = [np.linalg.norm(part.slip, axis=-1) for part in self.stations]
        speeds += [part.slip[..., None] for part in self.crossings]
        return np.asarray(np.max(np.concatenate(speeds, axis=-1), axis=-1))


class Contacts(ByName[ContactTrack]):
    """The contacts of a motion by name; those without one by what touches what."""

    what, remedy = "contacts", "System(contacts=[Contact(...)])"

    def __init__(self, motion: Motion) -> None:
        super().__init__(motion, keys(motion.compiled.system))

    def _find(self, name: str) -> ContactTrack:
        return track(self._motion, self.names.index(name))


def keys(system: System) -> list[str]:
    """Names of the contacts of a system; of those without one what touches what, and a number where that is told."""
    found: list[str] = []
    for contact in system.contacts:
        key, n = contact.key, 1
        while key in found:
            n += 1
            key = f"{contact.key} {n}"
        found.append(key)
    return found


def track(motion: Motion, index: int) -> ContactTrack:
    """A contact of a motion, read off the states; forces between steps are found as those of rods are."""
    compiled, shape, near = motion.compiled, motion.t.shape, motion._near
    parts, sums = [], np.zeros((*shape, 4))
    for k, pair in enumerate(compiled.touching):
        if pair.contact != index:
            continue
        rows, budget = compiled.contact_states(k, motion.t, motion.y, project=False)
        if near is not None:
            beside, around = compiled.contact_states(k, near.t, near.y, project=False)
            rows[..., LOADS] = motion._along(beside[..., LOADS], rows[..., LOADS])
            rows[..., 13] = np.maximum(rows[..., 13], 0.0)
            budget = motion._along(around, budget)
        parts.append(_stations(pair, rows.reshape(*shape, *rows.shape[1:])))
        sums = sums + budget.reshape(*shape, 4)
    crossings = []
    if own := [k for k, two in enumerate(compiled.crossed) if two.contact == index]:
        touches, powers = compiled.crossing_states(motion.t, motion.y)
        loads = _loads(touches, own)
        if near is not None:
            others, around = compiled.crossing_states(near.t, near.y)
            loads, powers = motion._along(_loads(others, own), loads), motion._along(around, powers)
            loads[..., 3] = np.maximum(loads[..., 3], 0.0)
        for i, k in enumerate(own):
            found = [rows[rows[:, 0] == k, 1:] for rows in touches]
            crossings.append(_crossings(compiled.crossed[k], found, loads[:, i].reshape(*shape, 7), shape))
        sums[..., :3] += powers[:, own].sum(axis=1).reshape(*shape, 3)
    energy, friction, impact, _ = np.moveaxis(sums, -1, 0)
    return ContactTrack(compiled.system.contacts[index], tuple(parts), energy, friction, impact, tuple(crossings))


def _loads(touches: list[Array], pairs: list[int]) -> Array:
    """Of each time and pair of rods sums of the forces, of the normal ones, and of friction, (k, pairs, 7)."""
    found = np.zeros((len(touches), len(pairs), 7))
    for sums, rows in zip(found, touches, strict=True):
        force, normal = rows[:, 9:12], rows[:, 13, None]
        each = np.hstack([force, normal, force - normal * rows[:, 6:9]])
        for i, k in enumerate(pairs):
            sums[i] = each[rows[:, 0] == k].sum(axis=0)
    return found


def _crossings(two: Crossed, found: list[Array], loads: Array, shape: tuple[int, ...]) -> Crossings:
    pairs = tuple(
        tuple(
            Pair(two.of, two.on, (r[0], r[1]), r[2:5], r[5:8], r[8:11], float(r[11]), float(r[12]), r[13:])
            for r in rows
        )
        for rows in found
    )
    gap = np.array([rows[:, 11].min(initial=np.inf) for rows in found]).reshape(shape)
    count = np.array([np.count_nonzero(rows[:, 12] > 0.0) for rows in found], dtype=np.intp).reshape(shape)
    slip = np.array([np.linalg.norm(rows[:, 13:], axis=1).max(initial=0.0) for rows in found]).reshape(shape)
    other = two.of != two.on
    return Crossings(
        two.of, two.on, loads[..., :3] * other, loads[..., 4:] * other, loads[..., 3], gap, count, slip, pairs
    )


def _stations(pair: Touching, rows: Array) -> Stations:
    point, direction, force, slip = (rows[..., 3 * i : 3 * i + 3] for i in range(4))
    return Stations(
        pair.of, pair.on, pair.places, pair.weights, point, direction, force, slip, rows[..., 12], rows[..., 13]
    )


def budgets(compiled: Compiled, t: Array, y: Array, *, project: bool = False) -> Array:
    """Elastic energy of all contacts, and powers of friction, impacts and moving bodies, at rows (t, y), (k, 4)."""
    total = np.zeros((np.size(t), 4))
    for k in range(len(compiled.touching)):
        total += compiled.contact_states(k, t, y, project=project)[1]
    if compiled.crossed:
        total[:, :3] += compiled.crossing_states(t, y, project=project)[1].sum(axis=1)
    return total
