"""Contacts for the core: stations of rods and bodies, points with a radius, against surfaces."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np

from gyrod import _core
from gyrod._check import Array
from gyrod.model import Body, ModelError, Rod, System
from gyrod.model.appearance import Solid
from gyrod.model.contacts import Contact, Friction, impact_damping
from gyrod.model.meshes import Elements, lagrange
from gyrod.model.surfaces import Boundary

if TYPE_CHECKING:
    from gyrod.equations.pieces import Pieces

#: Cells that a station of the core has at most.
CELLS = 5
#: Radius of edges over the least size of a solid.
ROUNDING = 0.01
#: Onset of the force over the radius of a rod; radius of one without section over its length.
ONSET, THIN = 0.01, 1e-3
#: Over the size of the system: how far a body may fall to count as at rest, and how deep a touch may be found.
REST, SLACK = 1e-6, 1e-9
#: Damping of bristles, over the time in which the weight slides their length.
BRISTLES = 1.4
#: Gravity where there is none, for what needs a scale.
GRAVITY = 9.81
#: Slip of rigid contacts that counts as none, m/s.
STUCK = 1e-8
#: Slip of friction without memory among rods, m/s: they are thin and hit each other while they slide, and steps follow
#: each change of its direction.
SLOW = 1e-3


class Touching(NamedTuple):
    """A pair of the core: what of a contact of the model touches what."""

    #: Which of the contacts of the system.
    contact: int
    #: Name of the rod or body whose stations they are, and of the carrier of the surface; None: space.
    of: str
    on: str | None
    #: Of rods the fractions of the length, of bodies places in body axes, (n,) or (n, 3).
    places: Array
    #: Lengths of a rod that they stand for, m, or 1 for each of a body, (n,).
    weights: Array
    #: Radii of the stations, how much deeper they may start inside than by these, as rods may in obstacles, and how
    #: deep a step may end there, m.
    radii: Array
    free: float
    reach: float

    def inside(self, gaps: Array, share: float = 1.0, least: float = 0.0) -> tuple[int, str] | None:
        """The contact, and a sentence on what starts too deep inside the surface; None: nothing does.

        Deeper than a share of half its radius, and than the least depth.
        """
        over = gaps + np.maximum(share * np.maximum(0.5 * self.radii, 0.1 * self.reach), least) + self.free
        k = int(np.argmin(over)) if len(over) else 0
        if not len(over) or over[k] >= 0.0:
            return None
        at, on = self.places[k], "the surface" if self.on is None else f"body {self.on!r}"
        place = f"s = {at:.3g}" if np.ndim(at) == 0 else f"({', '.join(f'{x:.3g}' for x in at)}) of it"
        kind = "rod" if np.ndim(at) == 0 else "body"
        depth = -1e3 * gaps[k]
        return self.contact, (
            f"{kind} {self.of!r} starts {depth:.3g} mm inside of {on} at {place}; move it, or give a negative margin."
        )


@dataclass(frozen=True)
class Crossed:
    """Two rods of the core that may touch each other, or one that may touch itself."""

    #: Which of the contacts of the model.
    contact: int
    of: str
    on: str
    #: m, how deep they may start inside each other.
    allowed: float

    def inside(self, rows: Array) -> tuple[int, str] | None:
        """The contact, and a sentence on what starts too deep inside; None: nothing does."""
        k = int(np.argmin(rows[:, 11])) if len(rows) else 0
        if not len(rows) or rows[k, 11] >= -self.allowed:
            return None
        at, on, gap = rows[k, 0], rows[k, 1], rows[k, 11]
        other = "itself" if self.of == self.on else f"rod {self.on!r}"
        return self.contact, (
            f"rod {self.of!r} starts {-1e3 * gap:.3g} mm inside of {other}, s = {at:.3g} at s = {on:.3g}; move it."
        )


class _Law(TypedDict):
    stiffness: float
    exponent: float
    damping: float
    smoothing: float
    impact: float
    slow: float
    slack: float
    gravity: float
    friction: _core.Friction | None
    hard: bool
    restitution: float


@dataclass(frozen=True)
class _Stations:
    places: Array
    radii: Array
    weights: Array
    cells: Array
    shares: Array
    turns: Array
    offsets: Array


@dataclass(frozen=True)
class _Surface:
    core: _core.Surface
    at: Array
    turn: Array
    least: float


def contacts(
    system: System, pieces: Pieces, index: dict[str, int], axes: Array, length: float, *, hard: bool = False
) -> tuple[_core.ContactSet, tuple[Touching, ...], tuple[Crossed, ...]]:
    """The contacts of a system for the core, and what they are; ``length``: about the size of the system.

    ``hard``: nothing yields, forces are impulses of `gyrod.runs.methods.IMPACTS`.
    """
    problems = [
        f"{contact.label}: {sentence}"
        for contact in system.all_contacts
        for sentence in (contact.rigid(system) if hard else contact.soft(system))
    ]
    if problems:
        raise ModelError(dict.fromkeys(problems))
    crossings: list[_core.RodPair] = []
    crossed: list[Crossed] = []
    rods = {name: i for i, name in enumerate(system.rod_names)}
    gravity = float(np.linalg.norm(system.gravity))
    for k, contact in enumerate(system.all_contacts):
        pairs = contact.crossings(system)
        tubes = {name: _tube(contact, system, name) for name in {name for pair in pairs for name in pair}}
        for a, b in pairs:
            of_core = [pieces.numbers(rods[name])[0] for name in (a, b)]
            crossings.append(_crossing(contact, gravity, tubes[a], tubes[b], *of_core))
            crossed.append(Crossed(k, a, b, 0.5 * (min(tubes[a].radius, tubes[b].radius) - 0.5 * contact.margin)))
    met = _Meetings(system, pieces, index, axes, length, hard)
    for k, contact in enumerate(system.all_contacts):
        met.add(k, contact)
    core = _core.ContactSet(
        stations=met.stations, surfaces=met.surfaces, pairs=met.pairs, reaches=met.reaches, among_rods=crossings
    )
    return core, tuple(met.touching), tuple(crossed)


class _Meetings:
    """Stations and surfaces, each once, and which of them may touch."""

    def __init__(
        self, system: System, pieces: Pieces, index: dict[str, int], axes: Array, length: float, hard: bool
    ) -> None:
        self._system, self._index, self._axes, self._length, self._hard = system, index, axes, length, hard
        self._stations_of = cache(lambda name: [*_stations(system, pieces, name, index.get(name, -1), axes)])
        self.stations: list[_core.Stations] = []
        self.surfaces: list[_core.Touched] = []
        self.pairs: list[tuple[int, int]] = []
        self.reaches: list[float] = []
        self.touching: list[Touching] = []

    def add(self, k: int, contact: Contact) -> None:
        """Pairs of a contact, of which many have the same stations or surfaces."""
        groups: dict[str, tuple[float, list[tuple[int, _Stations, float]]]] = {}
        surfaces: dict[str | None, list[tuple[int, float]]] = {}
        free = math.inf if k >= len(self._system.contacts) and not self._hard else contact.margin
        for of, on in contact.pairs(self._system):
            if of not in groups:
                groups[of] = _least(self._system, of), self._feel(contact, of)
            if on not in surfaces:
                surfaces[on] = self._place(contact, on)
            size, mine = groups[of]
            for number, width in surfaces[on]:
                least = min(width, size)
                for group, x, radius in mine:
                    reach = max(0.5 * radius, 0.05 * least if least < math.inf else 0.0)
                    reach = reach or 0.5 * THIN * self._length  # without any, steps before a touch would halve for ever
                    self.pairs.append((group, number))
                    self.reaches.append(reach)
                    self.touching.append(Touching(k, of, on, x.places, x.weights, x.radii, free, reach))

    def _feel(self, contact: Contact, of: str) -> list[tuple[int, _Stations, float]]:
        """Numbers of the stations of a rod or body, these, and their largest radius."""
        given = contact, self._system
        law = _rigid(*given, self._length) if self._hard else _law(*given, of, self._length)
        found = []
        for rod, x in self._stations_of(of):
            if rod >= 0 and contact.thickness is not None:
                x = replace(x, radii=np.full(len(x.radii), contact.thickness))
            found.append((len(self.stations), x, float(x.radii.max(initial=0.0))))
            self.stations.append(
                _core.Stations(
                    **law, rod=rod, on=self._index.get(of, -1), cells=x.cells, shares=x.shares, turns=x.turns,
                    offsets=x.offsets, radii=x.radii + contact.margin, weights=x.weights,
                )
            )  # fmt: skip
        return found

    def _place(self, contact: Contact, on: str | None) -> list[tuple[int, float]]:
        """Numbers of the surfaces of a body, or of one in space, and their least sizes."""
        found = []
        for x in _surfaces(contact, self._system, on, self._index, self._axes):
            found.append((len(self.surfaces), x.least))
            body = -1 if on is None else self._index[on]
            self.surfaces.append(_core.Touched(surface=x.core, body=body, at=x.at, turn=x.turn))
        return found


def too_deep(
    touching: Sequence[Touching], gaps: Array, share: float = 1.0, least: Callable[[Touching], float] | None = None
) -> list[tuple[int, str]]:
    """Contacts, and sentences on what starts too deep inside their surfaces; ``gaps``: of all stations."""
    ends = np.cumsum([len(pair.places) for pair in touching])
    most = max(0.0, *(-pair.free for pair in touching))
    found = []
    for k in np.unique(np.searchsorted(ends, np.flatnonzero(gaps < most), side="right")).tolist():
        pair = touching[k]
        own = gaps[ends[k] - len(pair.places) : ends[k]]
        found.append(pair.inside(own, share, least(pair) if least else 0.0))
    return [sentence for sentence in found if sentence is not None]


def _radius(rod: Rod) -> float:
    """Of the tube that touches other rods."""
    found = 0.0 if rod.section is None else float(rod.section.half_sizes(np.linspace(0.0, 1.0, 17)).max())
    return found or THIN * rod.length


@dataclass(frozen=True)
class _Tube:
    """A rod as others feel it; its half of the margin is part of its radius."""

    radius: float
    length: float
    mesh: list[float]
    compliance: float
    friction: _core.Friction | None


def _tube(contact: Contact, system: System, name: str) -> _Tube:
    rod = system.rod(name)
    radius = _radius(rod) + 0.5 * contact.margin
    gravity = float(np.linalg.norm(system.gravity)) or GRAVITY
    return _Tube(
        radius, rod.length, rod.mesh.vertices.tolist(), 1.0 / (_flat_stiffness(rod) or math.inf),
        _friction(contact.friction, gravity, rod.length, radius, SLOW),
    )  # fmt: skip


def _crossing(contact: Contact, gravity: float, a: _Tube, b: _Tube, of: int, on: int) -> _core.RodPair:
    least = min(a.radius, b.radius)
    return _core.RodPair(
        a=of, b=on, radius_a=a.radius, radius_b=b.radius, mesh_a=a.mesh, mesh_b=b.mesh, length_a=a.length,
        length_b=b.length, damping=contact.damping or 0.0, gravity=gravity, friction=a.friction,
        stiffness=1.0 / (a.compliance + b.compliance) if contact.stiffness is None else contact.stiffness,
        smoothing=ONSET * least if contact.smoothing is None else contact.smoothing,
        apart=max(4.0 * a.radius / a.length, 3.0 / (min(len(a.mesh), len(b.mesh)) - 1)),
    )  # fmt: skip


def _flat_stiffness(rod: Rod) -> float:
    """Of a rod of a material pressed against a rigid plane, N/m per m."""
    if rod.material is None:
        return 0.0
    return 0.25 * math.pi * rod.material.young / (1.0 - (rod.material.poisson or 0.0) ** 2)


def _least(system: System, of: str) -> float:
    """The smallest size of a body that touches; of a rod none."""
    return (
        math.inf
        if of in system.rod_names
        else min((solid.least for solid in _solids(system.body(of))), default=math.inf)
    )


def _solids(body: Body) -> tuple[Solid, ...]:
    shape = body.shape
    return (shape,) if isinstance(shape, Solid) else tuple(shape or ())


def _surfaces(
    contact: Contact, system: System, on: str | None, index: dict[str, int], axes: Array
) -> Iterator[_Surface]:
    """In the axes of their carrier, which are principal ones of a body."""
    if on is None and isinstance(contact.b, Boundary):
        yield _Surface(contact.b.surface.core, np.array(contact.b.offset), np.array(contact.b.turn), np.inf)
        return
    A = np.eye(3) if on is None else axes[index[on]]
    solids = (contact.b,) if isinstance(contact.b, Solid) else _solids(system.body(on or ""))
    for solid in solids:
        rounded = solid.rounded(ROUNDING * solid.least)
        yield _Surface(rounded.core, A.T @ solid.offset, A.T @ solid.turn, solid.least)


def _stations(system: System, pieces: Pieces, of: str, body: int, axes: Array) -> Iterator[tuple[int, _Stations]]:
    """Stations of a body, or of the pieces of a rod with the number of each."""
    none = np.zeros((0, 3))
    if body < 0:
        number = system.rod_names.index(of)
        stations, parts = _of_rod(system.rod(of)), pieces.between(number)
        for rod, marks in parts:
            yield rod, stations if len(parts) == 1 else _of_piece(stations, *marks)
        return
    for solid in _solids(system.body(of)):
        points, radii = solid.stations(ROUNDING * solid.least)
        at = solid.offset + points @ solid.turn.T
        empty = np.full((len(points), CELLS), -1.0)
        offsets = np.ascontiguousarray(at @ axes[body]) if len(at) else none
        flat = _Stations(at, radii, np.ones(len(at)), empty, np.zeros_like(empty), np.zeros_like(empty), offsets)
        yield -1, flat


def _of_piece(stations: _Stations, a: int, b: int) -> _Stations:
    """Stations of a rod from vertex a to b; at a vertex between two pieces those of the first."""
    here, cells = stations.shares != 0.0, stations.cells
    first, last = np.where(here, cells, np.inf).min(axis=1), np.where(here, cells, -np.inf).max(axis=1)
    mine = (first >= a) & (last <= b) & ((last > a) | (a == 0))
    whole = stations.places, stations.radii, stations.weights, stations.shares
    places, radii, weights, shares = (x[mine] for x in whole)
    cells, turns = cells[mine], np.where(cells[mine] > b, 0.0, stations.turns[mine])
    turns = turns / np.where((total := turns.sum(axis=1, keepdims=True)) > 0.0, total, 1.0)
    cells = np.where((cells < 0) | (cells > b), -1.0, cells - a)
    return _Stations(places, radii, weights, cells, shares, turns, stations.offsets)


def _of_rod(rod: Rod) -> _Stations:
    """Vertices of a grid, which turn with the frames beside them; points of elements with all their nodes."""
    mesh = rod.mesh
    if isinstance(mesh, Elements):
        s, weights, cells, shares, turns = _of_elements(mesh)
    else:
        n = len(mesh.vertices)
        s, weights = np.array(mesh.vertices), np.zeros(n)
        weights[:-1] += 0.5 * np.diff(s)
        weights[1:] += 0.5 * np.diff(s)
        cells = np.full((n, CELLS), -1.0)
        shares, turns = np.zeros((n, CELLS)), np.zeros((n, CELLS))
        cells[:, 0], shares[:, 0], turns[1:, 0] = np.arange(n), 1.0, 0.5
        cells[:-1, 1], turns[:-1, 1] = np.arange(1, n), 0.5  # cell n + 1 has the frame behind vertex n
        turns[0, 1], turns[-1, 0] = 1.0, 1.0
    radii = np.zeros(len(s)) if rod.section is None else rod.section.half_sizes(s).max(axis=1)
    return _Stations(s, np.ascontiguousarray(radii), rod.length * weights, cells, shares, turns, np.zeros((0, 3)))


def _of_elements(mesh: Elements) -> tuple[Array, Array, Array, Array, Array]:
    """Points of a Lobatto rule of twice the degree in each element; those at the ends belong to both."""
    p = mesh.degree
    inner = np.polynomial.legendre.Legendre.basis(2 * p).deriv().roots()
    x = np.concatenate([[-1.0], inner, [1.0]])
    w = 2.0 / (2 * p * (2 * p + 1) * np.polynomial.legendre.Legendre.basis(2 * p)(x) ** 2)
    values = lagrange(mesh.rule.nodes, x)
    n, each = len(mesh.ends) - 1, 2 * p
    s, weights = np.zeros(n * each + 1), np.zeros(n * each + 1)
    cells, shares = np.full((len(s), CELLS), -1.0), np.zeros((len(s), CELLS))
    for e, (a, b) in enumerate(zip(mesh.ends[:-1], mesh.ends[1:], strict=True)):
        at = slice(e * each, e * each + each + 1)
        s[at] = a + 0.5 * (b - a) * (x + 1.0)
        weights[at] += 0.5 * (b - a) * w
        cells[at, : p + 1], shares[at, : p + 1] = e * p + np.arange(p + 1), values
    shares[np.abs(shares) < 1e-14] = 0.0
    cells[shares == 0.0] = -1.0
    return s, weights, cells, shares, shares.copy()


def _law(contact: Contact, system: System, of: str, length: float) -> _Law:
    rod = system._rod_index.get(of)
    radius = 0.0
    stiffness, smoothing, damping = contact.stiffness, contact.smoothing, contact.damping or 0.0
    if rod is not None and rod.section is not None:
        radius = float(rod.section.half_sizes(np.array([0.5])).max())
    if stiffness is None:
        assert rod is not None
        stiffness = _flat_stiffness(rod)
    if smoothing is None:
        smoothing = 0.0 if rod is None else ONSET * (radius or THIN * rod.length)
    gravity = float(np.linalg.norm(system.gravity))
    speed = math.sqrt(2.0 * (gravity or GRAVITY) * REST * length)
    impact = 0.0 if contact.restitution is None else impact_damping(contact.restitution)
    return {
        "stiffness": float(stiffness), "exponent": contact.exponent, "damping": damping, "smoothing": float(smoothing),
        "impact": impact, "slow": speed, "slack": SLACK * length, "gravity": gravity,
        "friction": _friction(contact.friction, gravity or GRAVITY, length, radius), "hard": False, "restitution": 0.0,
    }  # fmt: skip


def _rigid(contact: Contact, system: System, length: float) -> _Law:
    gravity = float(np.linalg.norm(system.gravity)) or GRAVITY
    return {
        "stiffness": 0.0, "exponent": 1.0, "damping": 0.0, "smoothing": SLACK * length, "impact": 0.0,
        "slow": math.sqrt(2.0 * gravity * REST * length), "slack": 0.0, "gravity": gravity,
        "friction": _friction(contact.friction, gravity, length, 0.0, stribeck=STUCK), "hard": True,
        "restitution": contact.restitution or 0.0,
    }  # fmt: skip


def _friction(
    friction: Friction | None, gravity: float, length: float, radius: float, slow: float = 1e-6, stribeck: float = 1e-3
) -> _core.Friction | None:
    if friction is None:
        return None
    static = friction.coefficient if friction.static is None else friction.static
    z0 = friction.presliding or max(1e-6, 1e-5 * length)
    slip = friction.slip_speed or slow
    return _core.Friction(
        sticks=friction.sticking, coefficient=static, kinetic=friction.coefficient / static if static else 1.0,
        stribeck=friction.stribeck or stribeck, presliding=z0,
        damping=BRISTLES * math.sqrt(z0 / (static * gravity)) if static else 0.0, slip_speed=slip,
        rolling=friction.rolling, spinning=friction.spinning, spin_speed=slip / (radius or 0.1 * length),
    )  # fmt: skip
