"""What touches over a motion: forces, gaps and slip of contacts, of all their stations and as sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod._check import Array
from gyrod.equations import Compiled
from gyrod.equations.contacts import Touching
from gyrod.model.contacts import Contact
from gyrod.model.errors import unknown

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

    @property
    def force(self) -> Array:
        """On all that is a of the contact, space axes (..., 3), N."""
        first = [p for p in self.stations if p.of in self._members]
        back = [p for p in self.stations if p.of not in self._members]
        found = sum((p.force.sum(axis=-2) for p in first), np.zeros((*self.energy.shape, 3)))
        return np.asarray(found - sum((p.force.sum(axis=-2) for p in back), np.zeros(3)))

    @cached_property
    def _members(self) -> frozenset[str]:
        return frozenset(p.of for p in self.stations) if self.contact.a == ("all",) else frozenset(self.contact.a)

    @property
    def normal(self) -> Array:
        """Sum of the normal forces, (...), N."""
        return np.asarray(sum(part.normal.sum(axis=-1) for part in self.stations))

    @property
    def friction(self) -> Array:
        """Size of the sum of the forces along the surfaces, (...), N."""
        along = sum((part.force - part.direction * part.normal[..., None]).sum(axis=-2) for part in self.stations)
        return np.asarray(np.linalg.norm(along, axis=-1))

    @property
    def gap(self) -> Array:
        """The least gap, (...), m; negative where something presses."""
        return np.asarray(np.min(np.concatenate([part.gap for part in self.stations], axis=-1), axis=-1))

    @property
    def count(self) -> NDArray[np.intp]:
        """How many stations press, (...)."""
        return np.asarray(sum(np.count_nonzero(part.normal > 0.0, axis=-1) for part in self.stations))

    @property
    def slip(self) -> Array:
        """The largest slip speed, (...), m/s."""
        speeds = [np.linalg.norm(part.slip, axis=-1) for part in self.stations]
        return np.asarray(np.max(np.concatenate(speeds, axis=-1), axis=-1))


class Contacts(Mapping[str, ContactTrack]):
    """The contacts of a motion by name; those without one by what touches what."""

    def __init__(self, motion: Motion) -> None:
        self._motion, self._made = motion, {}  # type: ignore[var-annotated]
        self._index = {name: i for i, name in enumerate(keys(motion.compiled.system))}

    def __getitem__(self, name: str) -> ContactTrack:
        if name not in self._index:
            raise KeyError(unknown("name", name, self._index, "contacts"))
        if name not in self._made:
            self._made[name] = track(self._motion, self._index[name])
        return self._made[name]  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)


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
    energy, friction, impact, _ = np.moveaxis(sums, -1, 0)
    return ContactTrack(compiled.system.contacts[index], tuple(parts), energy, friction, impact)


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
    return total
