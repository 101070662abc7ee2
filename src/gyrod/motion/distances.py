"""Smallest distance of a rod's surface to bodies, solids, contacts in space and other rods, over a motion.

A rod is its centreline, give or take its radius. Between the points of its mesh the centreline is that of the
discretisation: in elements their polynomials, on the grid the cubic through the vertices, which differs from a smooth
curve by the third power of the length of the segments, the grid itself by the second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod import _check, geometry
from gyrod._check import Array
from gyrod.model import Rod, Solid, System
from gyrod.model.errors import GROUND, shown, unknown
from gyrod.model.meshes import Elements

if TYPE_CHECKING:
    from gyrod.motion.motion import Motion
    from gyrod.motion.sensors import Rows

#: Frames that are looked at together.
BLOCK = 4096
#: The most steps whose ends are looked at, lowest rows around which times in between are searched, and rounds of that.
STEPS, DIPS, ROUNDS = 20_000, 8, 9


# --- rods as curves --------------------------------------------------------------------------------------------------


def radii(rod: Rod, given: float | None = None) -> Array:
    """Radius at the ends of the cells of a rod's mesh, (E + 1,): that of the circle around the section."""
    ends = rod.mesh.ends
    if given is not None:
        return np.full(len(ends), _check.positive("radius", given))
    if rod.section is None:
        raise ValueError(
            f"Rod {rod.name!r} has a stiffness and no section, so that its radius is not known; give radius= in m."
        )
    half = np.asarray(rod.section.half_sizes(ends))
    return np.asarray(half.max(axis=1) if rod.section.round else np.hypot(half[:, 0], half[:, 1]))


def cells(rod: Rod, values: Array, radius: Array) -> Array:
    """A field of a rod's vertices, (n, V, 3), as curves with a radius: (n, E, degree + 1, 4)."""
    mesh = rod.mesh
    if isinstance(mesh, Elements):
        return geometry.with_radius(geometry.of_elements(0.5 * (1.0 + mesh.rule.nodes), values), radius)
    return geometry.with_radius(geometry.along_grid(mesh.ends, values), radius)


# --- what a rod may be near to ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fixture:
    """A surface in axes of its own, which stand in space or in a body."""

    name: str
    surface: geometry.Surface
    at: Array
    turn: Array
    body: str = GROUND


@dataclass(frozen=True)
class OtherRod:
    """Another rod."""

    name: str
    radius: Array


Target = Fixture | OtherRod
#: What a user gives for it: the name of a body, a rod or a contact in space, a solid, or several of them.
To = str | Solid | Sequence[str | Solid]


def of_solids(name: str, body: str, solids: Sequence[Solid]) -> list[Target]:
    """Solids in the axes of a body, or in space."""
    return [Fixture(name, solid.surface, solid.offset, solid.turn, body) for solid in solids]


def of_point(name: str, body: str, at: object) -> list[Target]:
    """A point of a body, or in space."""
    place = np.zeros(3) if at is None else np.asarray(at, dtype=float)
    return [Fixture(name, geometry.ball(0.0), place, np.eye(3), body)]


def targets(system: System, rod: str, to: object, on: str | None, radius: float | None) -> list[Target]:
    """What ``to`` names; a `ValueError` says what is there instead."""
    if isinstance(to, Solid):
        body = GROUND if on is None else on
        if body != GROUND and body not in system.names:
            raise ValueError(unknown("on", body, (GROUND, *system.names), "bodies"))
        return of_solids(type(to).__name__.lower(), body, [to])
    if on is not None:
        raise ValueError(
            f"on = {shown(on)} says which body carries a solid, but to = {shown(to)} is not a solid; leave it out."
        )
    if not isinstance(to, str):
        parts = list(to) if isinstance(to, (list, tuple)) else []
        if not parts:
            raise ValueError(
                "to must be the name of a body, a rod or a contact in space, a solid such as Mesh or Box, or a list of "
                f"them, got {shown(to)}."
            )
        return [x for part in parts for x in targets(system, rod, part, None, radius)]
    space = {x.name: x.b for x in system.all_contacts if x.name is not None and not isinstance(x.b, tuple)}
    if to in system.rod_names:
        if to == rod:
            raise ValueError(f"to = {to!r} is the rod itself; its distance to itself is not looked for.")
        return [OtherRod(to, radii(system.rod(to), radius))]
    if to in system.names:
        shapes = system.body(to).shapes
        if not shapes:
            raise ValueError(
                f"to = {to!r}: the body has no shape; give Body(..., shape=Box(...)) or a solid with on={to!r}."
            )
        return of_solids(to, to, shapes)
    if to in space:
        surface = space[to]
        return [Fixture(to, surface.surface, surface.offset, surface.turn)]
    known = (*system.names, *system.rod_names, *space)
    raise ValueError(unknown("to", to, known, "bodies, rods and contacts in space"))


@dataclass(frozen=True)
class Gaps:
    """Smallest distances at rows."""

    distance: Array
    s: Array
    point: Array
    other: Array
    #: Fraction of another rod's length; nan where it is none.
    other_s: Array
    #: Number of the target, and what moves it apart: the rate of the distance.
    which: NDArray[np.intp]
    rate: Array


def gaps(rows: Rows, rod: Rod, radius: Array, near: Sequence[Target], *, rates: bool = False) -> Gaps:
    """Smallest distance of a rod to any of several, at rows of a motion."""
    n = len(rows.t)
    parts = [_block(rows, slice(k, min(k + BLOCK, n)), rod, radius, near, rates) for k in range(0, n, BLOCK)]
    if not parts:
        none, places = np.zeros(0), np.zeros((0, 3))
        return Gaps(none, none, places, places, none, np.zeros(0, np.intp), none)
    return Gaps(*(np.concatenate([getattr(p, x) for p in parts]) for x in Gaps.__dataclass_fields__))


def _block(rows: Rows, some: slice, rod: Rod, radius: Array, near: Sequence[Target], rates: bool) -> Gaps:
    state = rows.rod(rod.name)
    curve = cells(rod, state["positions"][some], radius)
    best: Gaps | None = None
    for number, target in enumerate(near):
        if isinstance(target, OtherRod):
            found = _to_rod(rows, some, rod, curve, target, rates)
        else:
            found = _to_surface(rows, some, rod, curve, target, rates)
        found = Gaps(**{**found.__dict__, "which": np.full(len(curve), number)})
        if best is None:
            best = found
        else:
            nearer = found.distance < best.distance
            best = Gaps(*(
                np.where(nearer.reshape(-1, *[1] * (a.ndim - 1)), a, b)
                for a, b in ((getattr(found, x), getattr(best, x)) for x in Gaps.__dataclass_fields__)
            ))  # fmt: skip
    assert best is not None
    return best


def _fraction(rod: Rod, cell: NDArray[np.intp], u: Array) -> Array:
    ends = rod.mesh.ends
    return np.asarray(ends[cell] + u * (ends[cell + 1] - ends[cell]))


def _moving(rows: Rows, some: slice, rod: Rod, cell: NDArray[np.intp], u: Array) -> Array:
    """Velocity of a rod's points, (n, 3)."""
    speeds = cells(rod, rows.rod(rod.name)["velocities"][some], np.zeros(len(rod.mesh.ends)))
    return geometry.point_at(speeds, cell, u)[:, :3]


def _to_surface(rows: Rows, some: slice, rod: Rod, curve: Array, target: Fixture, rates: bool) -> Gaps:
    at, turn = target.at, target.turn
    if target.body != GROUND:
        x, R, v, Omega = (part[some] for part in rows.body(target.body))
        at, turn = x + R @ target.at, R @ target.turn
    found = geometry.closest(target.surface, geometry.placed(curve, at, turn))
    turns = np.broadcast_to(turn, (len(curve), 3, 3))
    normal, other = (np.einsum("nij,nj->ni", turns, y) for y in (found.normal, found.point))
    other = other + at
    here = geometry.point_at(curve, found.cell, found.u)
    rate = np.zeros(len(curve))
    if rates:
        speed = _moving(rows, some, rod, found.cell, found.u)
        if target.body != GROUND:
            speed = speed - v - np.cross(np.einsum("nij,nj->ni", R, Omega), other - x)
        rate = np.einsum("ni,ni->n", normal, speed)
    point = here[:, :3] - here[:, 3:] * normal
    s = _fraction(rod, found.cell, found.u)
    return Gaps(found.gap, s, point, other, np.full(len(curve), np.nan), found.part, rate)


def _to_rod(rows: Rows, some: slice, rod: Rod, curve: Array, target: OtherRod, rates: bool) -> Gaps:
    second = rows.system.rod(target.name)
    others = cells(second, rows.rod(target.name)["positions"][some], target.radius)
    found = geometry.between_curves(curve, others)
    here, there = geometry.point_at(curve, found.cell, found.u), geometry.point_at(others, found.part, found.v)
    rate = np.zeros(len(curve))
    if rates:
        speed = _moving(rows, some, rod, found.cell, found.u) - _moving(rows, some, second, found.part, found.v)
        rate = np.einsum("ni,ni->n", found.normal, speed)
    return Gaps(
        found.gap, _fraction(rod, found.cell, found.u), here[:, :3] - here[:, 3:] * found.normal,
        found.point + there[:, 3:] * found.normal, _fraction(second, found.part, found.v), found.part, rate,
    )  # fmt: skip


# --- over a motion ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Approach:
    """Where and when a rod comes nearest."""

    #: m, negative where surfaces overlap.
    distance: float
    t: float
    #: Fraction of the rod's length.
    s: float
    #: On the rod's surface and on the other, (3,).
    point: Array
    other: Array
    #: What it comes near to.
    to: str

    def __str__(self) -> str:
        return f"{self.distance:.6g} m from {self.to!r} at t = {self.t:.6g} s, s = {self.s:.4g}"


@dataclass(frozen=True, eq=False)
class Distances:
    """Smallest distance of a rod over a motion; of a single time, as at rest, without the time axis.

    A rod is round: its surface is at the radius of its section from the centreline, of a rectangle at that of the
    circle around it. Where it overlaps a closed surface the distance is negative: how deep it is inside, with its
    radius. Of a mesh that is not closed both sides are outside, so that it is never below -radius.
    """

    rod: str
    to: str
    #: Times, (n,).
    t: Array
    #: m, negative where surfaces overlap, (n,).
    distance: Array
    #: Where along the rod, fractions of its length, (n,).
    s: Array
    #: Nearest points on the surface of the rod and on the other, (n, 3) each.
    point: Array
    other: Array
    #: Where along another rod, (n,); nan of others.
    other_s: Array
    #: What is to be known about it, such as meshes that are not closed: sentences.
    notes: tuple[str, ...]
    _names: tuple[str, ...] = field(repr=False)
    _motion: Motion = field(repr=False)
    _of: Callable[[Rows], Gaps] = field(repr=False)

    def __repr__(self) -> str:
        return f"<Distances of {self.rod!r} to {self.to}: smallest {self.smallest}>"

    @cached_property
    def smallest(self) -> Approach:
        """The smallest one, between the rows too: by the dense output, around the lowest rows."""
        times, found = np.atleast_1d(self.t), self._of(self._motion.sensors.rows)
        if not len(times):
            raise ValueError("the motion has no rows.")
        motion = self._motion
        if motion.t.ndim and motion._dense is not None and len(times) > 1:
            lo, hi = motion._span
            steps = motion.steps[(motion.steps >= lo) & (motion.steps <= hi)]
            extra = steps[:: max(1, len(steps) // STEPS)]
            times = np.unique(np.concatenate([times[(times >= lo) & (times <= hi)], extra]))
            found = self._at(times)
            times, found = _refined(self._at, times, found)
        k = int(np.argmin(found.distance))
        name = self._names[int(found.which[k])]
        return Approach(
            float(found.distance[k]), float(times[k]), float(found.s[k]), found.point[k], found.other[k], name
        )

    def _at(self, times: Array) -> Gaps:
        return self._of(self._motion(times).sensors.rows)

    @property
    def minimum(self) -> float:
        """The smallest distance, m."""
        return self.smallest.distance

    @cached_property
    def error(self) -> float:
        """Error of the distances, m: of the places of the rod (`Motion.error`) and of the search; nan if unknown."""
        from gyrod.motion.errors import EstimateError

        try:
            places = float(np.max(self._motion.error[f"{self.rod}.positions"].total))
        except EstimateError:
            return float("nan")
        return places + geometry.curves.TOLERANCE * self._motion.compiled.system.rod(self.rod).length


def _refined(at: Callable[[Array], Gaps], times: Array, found: Gaps) -> tuple[Array, Gaps]:
    """The lowest dips again, with ever closer times around them."""
    d = found.distance
    left, right = np.append(d[1], d[:-1]), np.append(d[1:], d[-2])
    low = np.flatnonzero((d <= left) & (d <= right))
    # A dip that may go below all rows: by as much again as its neighbours are higher.
    low = low[d[low] - np.maximum(np.abs(left - d), np.abs(right - d))[low] <= d.min()]
    low = low[np.argsort(d[low], kind="stable")][:DIPS]
    a, b = times[np.maximum(low - 1, 0)], times[np.minimum(low + 1, len(times) - 1)]
    x = np.linspace(0.0, 1.0, 9)
    for _ in range(ROUNDS):
        tried = a[:, None] + x * (b - a)[:, None]
        values = at(np.clip(tried, times[0], times[-1]).ravel()).distance.reshape(tried.shape)
        best = np.argmin(values, axis=1)
        rows = np.arange(len(a))
        a, b = tried[rows, np.maximum(best - 1, 0)], tried[rows, np.minimum(best + 1, 8)]
    last = np.clip(tried[rows, best], times[0], times[-1])
    again = at(last)
    if again.distance.min() < d.min():
        return last, again
    return times, found


def distances(motion: Motion, rod: str, to: To, *, on: str | None = None, radius: float | None = None) -> Distances:
    """See `Motion.distance`."""
    system = motion.compiled.system
    if rod not in system.rod_names:
        raise ValueError(unknown("rod", rod, system.rod_names, "rods"))
    one = system.rod(rod)
    near, own = targets(system, rod, to, on, radius), radii(one, radius)

    def of(rows: Rows) -> Gaps:
        return gaps(rows, one, own, near)

    found = of(motion.sensors.rows)
    names = tuple(target.name for target in near)
    parts = {x: getattr(found, x) for x in ("distance", "s", "point", "other", "other_s")}
    if motion.t.ndim == 0:
        parts = {x: value[0] for x, value in parts.items()}
    told = " and ".join(dict.fromkeys(names))
    return Distances(rod, told, motion.t, **parts, notes=_open(near), _names=names, _motion=motion, _of=of)


def _open(near: Sequence[Target]) -> tuple[str, ...]:
    """A sentence about each surface without an inside."""
    names = dict.fromkeys(x.name for x in near if isinstance(x, Fixture) and not x.surface.closed)
    return tuple(
        f"{name!r} is a mesh that is not closed: it has no inside, so that a rod that has passed through it is outside "
        "again. Close it in a mesh editor."
        for name in names
    )
