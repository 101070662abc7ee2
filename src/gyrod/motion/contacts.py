"""What touches over a motion: forces, gaps and slip of contacts, of all their stations and as sums."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod._check import Array, in_short
from gyrod.equations import Compiled
from gyrod.equations.contacts import Crossed, Touching
from gyrod.model.contacts import Contact
from gyrod.motion.by_name import ByName

if TYPE_CHECKING:
    from gyrod.model import System
    from gyrod.motion.motion import Motion


#: Columns of what the core says about stations that hold forces: a vector, and its part along the normal.
LOADS = [6, 7, 8, 13]

#: How many stations times rows are read together at most: 60 MB.
NUMBERS = 500_000


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

    __repr__ = in_short

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

    __repr__ = in_short

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

    @cached_property
    def _exerted(self) -> dict[str, tuple[NDArray[np.intp], Array, Array]]:
        """Of each rod that others touch, or itself: number of the time, fraction, force of each place."""
        found: dict[str, list[tuple[int, float, Array]]] = {}
        for two in self.crossings:
            for k, pairs in enumerate(two.pairs):
                for pair in pairs:
                    for name, at, sign in zip((pair.of, pair.on), pair.at, (1.0, -1.0), strict=True):
                        found.setdefault(name, []).append((k, at, sign * pair.force))
        columns = ((name, zip(*places, strict=True)) for name, places in found.items())
        return {name: tuple(np.array(part) for part in parts) for name, parts in columns}  # type: ignore[misc]

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
        group = next(g for g in self._groups if self.names.index(name) in g)
        self._found.update(zip([self.names[i] for i in group], tracks(self._motion, group), strict=True))
        return self._found[name]

    @cached_property
    def _groups(self) -> list[range]:
        """Contacts that are read together: each reading finds all rods at all times, whatever it asks for."""
        compiled = self._motion.compiled
        sizes = [0] * len(self.names)
        for pair in compiled.touching:
            sizes[pair.contact] += len(pair.places) * np.size(self._motion.t)
        groups, total = [range(0)], 0
        for i, size in enumerate(sizes):
            total += size
            if total > NUMBERS and groups[-1]:
                groups, total = [*groups, range(i, i)], size
            groups[-1] = range(groups[-1].start, i + 1)
        return groups


def keys(system: System) -> list[str]:
    """Names of the contacts of a system; of those without one what touches what, and a number where that is told."""
    found: list[str] = []
    for contact in system.all_contacts:
        key, n = contact.key, 1
        while key in found:
            n += 1
            key = f"{contact.key} {n}"
        found.append(key)
    return found


def tracks(motion: Motion, indices: range) -> list[ContactTrack]:
    """Contacts of a motion, read off the states; forces between steps are found as those of rods are."""
    compiled, shape, near = motion.compiled, motion.t.shape, motion._near
    sums = np.zeros((*shape, len(compiled.system.all_contacts), 3))
    parts: dict[int, list[Stations]] = {i: [] for i in indices}
    if pairs := [k for k, pair in enumerate(compiled.touching) if pair.contact in indices]:
        states, budgets = compiled.contact_states(pairs, motion.t, motion.y)
        if near is not None:
            beside, around = compiled.contact_states(pairs, near.t, near.y)
            budgets = motion._along(around, budgets)
            for rows, others in zip(states, beside, strict=True):
                rows[..., LOADS] = motion._along(others[..., LOADS], rows[..., LOADS])
                rows[..., 13] = np.maximum(rows[..., 13], 0.0)
        for k, rows in zip(pairs, states, strict=True):
            pair = compiled.touching[k]
            parts[pair.contact].append(_stations(pair, rows.reshape(*shape, *rows.shape[1:])))
            sums[..., pair.contact, :] += budgets[:, k, :3].reshape(*shape, 3)
    crossings: dict[int, list[Crossings]] = {i: [] for i in indices}
    if own := [k for k, two in enumerate(compiled.crossed) if two.contact in indices]:
        touches, powers = compiled.crossing_states(motion.t, motion.y)
        loads = _loads(touches, own)
        if near is not None:
            aside, powers_there = compiled.crossing_states(near.t, near.y)
            loads, powers = motion._along(_loads(aside, own), loads), motion._along(powers_there, powers)
            loads[..., 3] = np.maximum(loads[..., 3], 0.0)
        for i, (k, found) in enumerate(zip(own, _by_pair(touches, own), strict=True)):
            two = compiled.crossed[k]
            crossings[two.contact].append(_crossings(two, found, loads[:, i].reshape(*shape, 7), shape))
            sums[..., two.contact, :] += powers[:, k].reshape(*shape, 3)
    return [
        ContactTrack(
            compiled.system.all_contacts[i],
            tuple(parts[i]),
            sums[..., i, 0],
            sums[..., i, 1],
            sums[..., i, 2],
            tuple(crossings[i]),
        )
        for i in indices
    ]


def _by_pair(touches: list[Array], pairs: list[int]) -> list[list[Array]]:
    """Of each pair of rods what touches at each time, without its number."""
    found: list[list[Array]] = [[] for _ in pairs]
    for rows in touches:
        order = np.argsort(rows[:, 0], kind="stable")
        ends = np.searchsorted(rows[order, 0], pairs, side="right")
        begins = np.searchsorted(rows[order, 0], pairs, side="left")
        for part, a, b in zip(found, begins, ends, strict=True):
            part.append(rows[order[a:b], 1:])
    return found


def _loads(touches: list[Array], pairs: list[int]) -> Array:
    """Of each time and pair of rods sums of the forces, of the normal ones, and of friction, (k, pairs, 7)."""
    found = np.zeros((len(touches), len(pairs), 7))
    for sums, every in zip(found, touches, strict=True):
        rows = every[np.isin(every[:, 0], pairs)]
        force, normal = rows[:, 9:12], rows[:, 13, None]
        np.add.at(sums, np.searchsorted(pairs, rows[:, 0]), np.hstack([force, normal, force - normal * rows[:, 6:9]]))
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
    if compiled.touching and not compiled.hard:  # of rigid ones nothing yields, and `Compiled.costs` are in the state
        total += compiled.contact_states((), t, y, project=project)[1].sum(axis=1)
    if compiled.crossed:
        total[:, :3] += compiled.crossing_states(t, y, project=project)[1].sum(axis=1)
    return total


# --- pictures --------------------------------------------------------------------------------------------------------


def on_rod(tracks: Iterable[ContactTrack], name: str, s: Array, shape: tuple[int, ...]) -> Array:
    """Forces that contacts exert on a rod, each at the nearest of ascending fractions s of its length, (..., k, 3)."""
    found = among_rods(tracks := list(tracks), name, s, shape)
    middles = 0.5 * (s[1:] + s[:-1])
    for part in (part for contact in tracks for part in contact.stations if part.of == name):
        nearest = np.arange(len(s))[:, None] == np.searchsorted(middles, part.places)
        found += nearest.astype(float) @ part.force
    return found


def among_rods(tracks: Iterable[ContactTrack], name: str, s: Array, shape: tuple[int, ...]) -> Array:
    """Those of them that other rods and the rod itself exert."""
    found = np.zeros((*shape, len(s), 3))
    middles = 0.5 * (s[1:] + s[:-1])
    for contact in tracks:
        if name in contact._exerted:
            rows, at, force = contact._exerted[name]
            np.add.at(found.reshape(-1, len(s), 3), (rows, np.searchsorted(middles, at)), force)
    return found


def on_bodies(motion: Motion) -> dict[str, Array]:
    """The forces that contacts exert on the bodies that have some, (..., 3)."""
    found: dict[str, Array] = {}
    for contact in motion.contacts.values():
        for part in contact.stations:
            force = part.force.sum(axis=-2)
            for name, sign in ((part.of, 1.0), (part.on, -1.0)):
                if name is not None:
                    found[name] = found.get(name, 0.0) + sign * force
    return found


def where(motion: Motion) -> list[tuple[Array, Array]]:
    """For each time points of contact in space and the forces on what is a there, (n, 3) both."""
    n = motion.t.size
    points: list[list[Array]] = [[np.zeros((0, 3))] for _ in range(n)]
    forces: list[list[Array]] = [[np.zeros((0, 3))] for _ in range(n)]
    for contact in motion.contacts.values():
        for part in contact.stations:
            size = (n, -1, 3)
            for k, (x, F, N) in enumerate(
                zip(part.point.reshape(size), part.force.reshape(size), part.normal.reshape(n, -1), strict=True)
            ):
                points[k].append(x[N > 0.0])
                forces[k].append(F[N > 0.0])
        for two in contact.crossings:
            for k, pairs in enumerate(two.pairs):
                points[k] += [pair.point[None] for pair in pairs]
                forces[k] += [pair.force[None] for pair in pairs]
    return [(np.concatenate(x), np.concatenate(F)) for x, F in zip(points, forces, strict=True)]


def touchable(system: System) -> frozenset[str]:
    """Names of rods and bodies that contacts may act on."""
    found: set[str] = set()
    for contact in system.all_contacts:
        found.update(contact.members(system), contact.b if isinstance(contact.b, tuple) else ())
    return frozenset(found)
