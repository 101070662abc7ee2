"""Rods for the core: a description on its mesh as plain arrays.

On the staggered grid segments carry frames and strains, vertices positions and curvatures (Lang, Linn, Arnold 2011,
section 3); nodes of elements carry positions and frames, their Gauss points strains and curvatures. The only place
where masses, weights and shares of loads are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod import _core, rotations
from gyrod._check import Array
from gyrod.equations.coordinates import unknowns
from gyrod.equations.signals import INPUTS, Signals
from gyrod.model import Drag, Foundation, PointMass, Rod, RodLoad, RotatingFrame, System
from gyrod.model.attachments import RodEndPlace, section_inertia
from gyrod.model.ends import End
from gyrod.model.errors import GROUND, positive
from gyrod.model.expressions import ExpressionVector
from gyrod.model.forces import StateLoad
from gyrod.model.meshes import Elements, rule
from gyrod.model.samples import Samples

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gyrod.equations.pieces import RodLayout


#: Share of the consistent in the blended mass; docs/rods.md says why.
BLEND = 2.0 / 3.0
#: Strains that Kirchhoff rods hold at rest: both shears, and the extension.
HELD = {"kirchhoff": 2, "inextensible": 3}

#: A rod as the core takes it: arrays, numbers, ends, loads, by the keywords of its `Rod`, which checks each of them.
RodTable = dict[str, Any]


def compile_rod(rod: Rod, system: System, signals: Signals) -> RodTable:
    """The core's dictionary of a rod."""
    held = held_frames(rod, system)
    table = _table(rod, system, held)
    reference = _reference(rod, table, held)
    table["G0"] = reference["strain"] + np.array([0.0, 0.0, 1.0])
    table["K0"] = np.array(reference["curvature"])
    if rod.prestrains is not None:
        table["G0"] = rod.prestrains + np.array([0.0, 0.0, 1.0])
    if rod.precurvatures is not None:
        table["K0"] = np.array(rod.precurvatures)
    table["start"], table["end"] = (_end(rod, e, system, signals) for e in (0, 1))
    loads = [f for f in system.forces if rod.name in f.rods]
    table["loads"] = [_load(rod, f, held, signals) for f in loads if isinstance(f, RodLoad | StateLoad)]
    drags = [f for f in loads if isinstance(f, Drag)]
    table["drag"] = table["spin_drag"] = None
    for key, field in (("drag", "coefficient"), ("spin_drag", "rotational")) if drags else ():
        total = sum((getattr(f, field) for f in drags), np.zeros(3))
        table[key] = np.tile(total, (len(rod.mesh.frames), 1)) if np.any(total) else None
    if system.gravity_function is not None:
        table["gravity"] = np.zeros(3)
        table["loads"].append(_weight(rod, table["tributary"], system, signals))
    return table | _surroundings(rod, system) | _stretch(rod, signals)


def initial_state(rod: Rod, formulation: str, layout: RodLayout, y: list[float], kinds: list[str]) -> None:
    """Write a rod's initial state into y, and the kinds of its unknowns."""
    turned, spins = unknowns(formulation, rod.quaternions, rod.spins)
    for where, rows, kind in (
        (layout.p, turned, "rotation"),
        (layout.w, spins, "spin"),
        (layout.x, rod.positions, "position"),
        (layout.v, rod.velocities, "velocity"),
    ):
        width = rows.shape[1]
        names = [kind] * width
        for i, row in zip(where, rows.tolist(), strict=True):
            if i >= 0:
                y[i : i + width], kinds[i : i + width] = row, names


def fundamental(rod: Rod) -> float:
    """About the lowest frequency of bending, rad/s: 3.5 sqrt(EI/(rho A L⁴)) of a cantilever."""
    C, m = rod.stiffness_at([0.5])[0], rod.inertia_at([0.5])[0, 0]
    return float(bending_frequency(rod, C[3, 3], C[4, 4], m))


def bending_frequency(rod: Rod, EI1: ArrayLike, EI2: ArrayLike, m: ArrayLike) -> Array:
    """The same from bending stiffnesses and mass per length, numbers or arrays."""
    return 3.516 * np.sqrt(np.minimum(EI1, EI2) / m) / rod.length**2


def stiffest(table: RodTable) -> tuple[float, float]:
    """About the largest frequency and the largest damping rate of a rod, 1/s, from the entries of its matrices."""
    C, c, move, turn, bend = (_of_elements if table["degree"] else _of_segments)(table)
    squares, rates = (
        [(G * move).max(), (G[:, :2].max(axis=1)[:, None] * turn[:, :2]).max(), (K * bend).max()] for G, K in (C, c)
    )
    return float(np.sqrt(max(squares))), float(max(rates))


#: Entries of the stiffness and of the damping by cells, each of strain and of curvature.
_Entries = tuple[tuple[Array, Array], tuple[Array, Array], Array, Array, Array]


def _of_segments(table: RodTable) -> _Entries:
    """What a strain does to the vertices, a strain and a curvature to the frames."""
    ds, m, J = table["ds"], table["mass"].min(), table["J"]
    CG, CK = (np.abs(table[key]).max(axis=2) for key in ("CG", "CK"))
    damping = 2.0 * table["cG"], 2.0 * table["cK"][1:]
    return (CG, CK[1:]), damping, 4.0 / (m * ds[:, None]), ds[:, None] / J, 4.0 / (ds[:, None] * J)


def _of_elements(table: RodTable) -> _Entries:
    """The same by elements, whose largest frequency alone is a bound for that of all of them together."""
    p, reach = table["degree"], table["lengths"]
    h = table["ds"].reshape(-1, p).sum(axis=1)[:, None]
    nodes = p * np.arange(len(h))[:, None] + np.arange(p + 1)
    J = np.where(table["J"] > 0.0, table["J"], np.inf)  # none where a junction has it
    line, j = (table["mass"] / reach)[nodes].min(axis=1)[:, None], (J / reach[:, None])[nodes].min(axis=1)
    C = [np.abs(table[key]).max(axis=2).reshape(-1, p, 3).max(axis=1) for key in ("CG", "CK")]
    c = [2.0 * table[key].reshape(-1, p, 3).max(axis=1) for key in ("cG", "cK")]
    wave = _wave(p) / h**2
    return (C[0], C[1]), (c[0], c[1]), wave / line, 1.0 / j, wave / j


@cache
def _wave(degree: int) -> float:
    """Largest square of a frequency of a bar of one element with unit length, stiffness and mass per length."""
    at, powers = rule(degree), np.arange(degree + 1)
    raised = at.points[:, None] ** np.maximum(powers - 1, 0) * powers
    slopes = raised @ np.linalg.inv(at.nodes[:, None] ** powers) / np.sqrt(at.weights)
    return 4.0 * float(np.linalg.eigvalsh(slopes.T * at.point_weights @ slopes)[-1])


# --- mesh ------------------------------------------------------------------------------------------------------------


def held_frames(rod: Rod, system: System) -> tuple[bool, bool]:
    """Whether the frames at start and end are held, by whatever it may be."""
    places = [system.rod_ends.get((rod.name, e)) for e in (0, 1)]
    ends = (rod.start, rod.end)
    start, end = (x.holds_frame if at is None else at.clamped for x, at in zip(ends, places, strict=True))
    return start, end


def held_positions(rod: Rod, system: System) -> tuple[bool, bool]:
    """Whether start and end are held in their place, by whatever it may be."""
    start, end = ((rod.name, e) in system.rod_ends or x.holds_position for e, x in enumerate((rod.start, rod.end)))
    return start, end


def _table(rod: Rod, system: System, holds: tuple[bool, bool]) -> RodTable:
    """What the rod is made of, where its mesh has strains, curvatures, frames and vertices."""
    mesh = rod.mesh
    stiffness = rod.stiffness_at(mesh.strains), rod.stiffness_at(mesh.curvatures)
    damping = rod.damping_at(mesh.strains), rod.damping_at(mesh.curvatures)
    found = {**stresses(rod, holds, *stiffness, *damping), **masses(rod, system, _inertia(rod))}
    CG, CK, CX = (found[key] for key in ("CG", "CK", "CX"))
    across = 1.0 - np.eye(3)
    name, number = rod.curvature if isinstance(rod.curvature, tuple) else (rod.curvature, 0.0)
    return {
        "name": rod.name,
        "degree": mesh.degree or 0,
        **(_gaps(rod) if mesh.degree else _spans(rod, holds)),
        **found,
        "damped": bool(found["cG"].any() or found["cK"].any()),
        "coupled": bool(CX.any() or (CG * across).any() or (CK * across).any()),
        "blended": bool(found["off"].any()),
        "strain": rod.strain,
        "curvature": name if number == 0.0 else f"{name}-family", "number": float(number),
        "gravity": np.array(system.gravity),
    }  # fmt: skip


def _spans(rod: Rod, holds: tuple[bool, bool]) -> dict[str, Array]:
    """Lengths on the grid: of segments, between frames, and of what bends at a vertex."""
    ds = np.array(rod.lengths)
    span = np.empty(len(ds) + 1)
    span[1:-1] = 0.5 * (ds[1:] + ds[:-1])
    span[0], span[-1] = ds[0], ds[-1]  # the full distance to the ghost
    weight = span.copy()
    weight[0], weight[-1] = 0.5 * ds[0] * holds[0], 0.5 * ds[-1] * holds[1]
    return {"ds": ds, "span": span, "weight": weight, "lengths": ds}


def _gaps(rod: Rod) -> dict[str, Array]:
    """Lengths of elements: between nodes, and what belongs to each of them."""
    gaps, none = np.array(rod.lengths), np.zeros(0)
    return {"ds": gaps, "span": none, "weight": none, "lengths": rod.length * rod.mesh.frame_weights}


def _inertia(rod: Rod) -> Array:
    """Inertia per length of what belongs to the frames, (Q, 4); at a node between elements it may jump."""
    if rod.mesh.degree and rod._known_inertia is None:
        return np.asarray(rod.lumped_inertia() / (rod.length * rod.mesh.frame_weights)[:, None])
    return rod.inertia_at(rod.mesh.frames)


def stresses(
    rod: Rod, holds: tuple[bool, bool], C_strains: Array, C_curvatures: Array, c_strains: Array, c_curvatures: Array
) -> dict[str, Array]:
    """Stiffness and damping for the core, from those where strains and curvatures are: C (..., n, 6, 6), c (..., n, 6).

    Leading axes are members of an ensemble that share the mesh.
    """
    CG, CX = np.array(C_strains[..., :3, :3]), np.array(C_strains[..., :3, 3:])
    CK = np.array(C_curvatures[..., 3:, 3:])
    cG, cK = np.array(c_strains[..., :3]), np.array(c_curvatures[..., 3:])
    free = HELD.get(rod.strain, 0)
    CG[..., :free, :] = CG[..., :, :free] = CX[..., :free, :] = cG[..., :free] = 0.0  # held strains have no stiffness
    if CX.any() and not rod.mesh.degree:
        for end, held in zip((0, -1), holds, strict=True):
            if not held:  # no moment there: the curvature of the last half cell follows from its strain
                X = CX[..., end, :, :]
                CG[..., end, :, :] -= 0.5 * X @ np.linalg.solve(CK[..., end, :, :], np.swapaxes(X, -1, -2))
    return {"CG": CG, "CK": CK, "CX": CX, "cG": cG, "cK": cK}


def masses(rod: Rod, system: System, inertia: Array) -> dict[str, Array]:
    """Masses and moments of inertia for the core, from those per length where the frames are, (..., Q, 4)."""
    mesh = rod.mesh
    lengths = rod.length * mesh.frame_weights
    m = inertia[..., 0] * lengths
    J = inertia[..., 1:] * lengths[:, None]
    if rod.inertia == "cylinder":
        J[..., :2] += (m * lengths**2 / 12.0)[..., None]
    half, off = (m, np.zeros_like(m[..., 1:])) if mesh.degree else _lumped(rod, m)
    for e in (0, 1):
        place = system.rod_ends.get((rod.name, e))
        if place is not None and place.host != GROUND:  # what moves with a body is lumped there
            off[..., -e] = 0.0
        if place is not None and place.clamped and place.host in system.junction_bodies:
            _leave_inertia(rod, e * (len(mesh.vertices) - 1), J)
    for name, n in system.rod_points:
        if name == rod.name:
            off[..., n - 1 : n + 1] = 0.0
            _leave_inertia(rod, n, J)
    for f in system.forces:
        if isinstance(f, PointMass) and f.rod == rod.name:
            for n, share in _lever(rod, f.at):
                half[..., n] += f.mass * share
    mass = half.copy()
    mass[..., :-1] -= off
    mass[..., 1:] -= off
    return {"J": J, "mass": mass, "tributary": half, "off": off}


def _leave_inertia(rod: Rod, n: int, J: Array) -> None:
    """Take from the frames what the junction at a vertex has."""
    for j, inertia in section_inertia(rod, n):
        J[..., j, :] = 0.0 if rod.mesh.degree else J[..., j, :] - inertia


def _lumped(rod: Rod, m: Array) -> tuple[Array, Array]:
    """Halves of the segments' masses at the vertices, and what a consistent mass takes from both to between them."""
    share = {"lumped": 0.0, "blended": BLEND}[rod.mass] if isinstance(rod.mass, str) else float(rod.mass)
    half = np.zeros((*m.shape[:-1], m.shape[-1] + 1))
    half[..., :-1] += 0.5 * m
    half[..., 1:] += 0.5 * m
    return half, share * m / 6.0


def _lever(rod: Rod, s: float) -> list[tuple[int, float]]:
    """Vertices that bear what is at a fraction of the length, and their shares: a node, or the ends of a segment."""
    if rod.mesh.degree:
        return [(rod.mesh.nearest(s), 1.0)]
    j, xi = rod.segment_at(s)
    return [(j, 1.0 - xi), (j + 1, xi)]


def _reference(rod: Rod, table: RodTable, held: tuple[bool, bool]) -> dict[str, Array]:
    """Strain and curvature of the initial shape, by the core's own measures; once for all rods that lie the same."""
    key = ("reference", held, rod.strain, rod.curvature)
    if key not in rod._shape_notes:
        rod._shape_notes[key] = _measured(rod, table, held)
    return rod._shape_notes[key]


def _measured(rod: Rod, table: RodTable, held: tuple[bool, bool]) -> dict[str, Array]:
    strain, curvature = measured(table, rod.positions, rod.quaternions, rod.end_frames, held)
    if not rod.mesh.degree:
        _bend_on(curvature, rod.fractions, held)
    return {"strain": strain, "curvature": curvature}


def measured(
    table: RodTable, x: Array, p: Array, end_frames: Sequence[Array] | Array, held: tuple[bool, bool]
) -> tuple[Array, Array]:
    """Strain and curvature of a rod that lies at vertices x with frames p, against a straight one."""
    still = [
        _core.RodEnd(held=False, clamped=clamped, place=np.zeros(3), frame=np.array(q))
        for clamped, q in zip(held, end_frames, strict=True)
    ]
    bare = {**table, "G0": np.tile([0.0, 0.0, 1.0], (len(table["CG"]), 1)), "K0": np.zeros((len(table["CK"]), 3))}
    bare |= {"start": still[0], "end": still[1], "loads": [], "drag": None, "spin_drag": None}
    bare |= {"foundation": None, "anchor": x, "spin": np.zeros(3)}
    if table["degree"] and table["strain"] in HELD:
        bare["strain"] = "cosserat"  # measured alike, and nothing need be held
    strain, curvature = _core.measure(_core.Rod(**bare), np.array(x), np.array(p))
    return np.asarray(strain), np.asarray(curvature)


def _bend_on(K: Array, s: Array, held: tuple[bool, bool]) -> None:
    """At an end without clamp nothing bends against anything: the value there is that of the shape, from inside."""
    N = len(s) - 1
    inside = [n for n in range(N + 1) if 0 < n < N or held[n == N]]
    for end, near in ((0, inside[:2]), (N, inside[:-3:-1])):
        if end not in near:
            slope = (K[near[0]] - K[near[-1]]) / ((s[near[0]] - s[near[-1]]) or 1.0)
            K[end] = K[near[0]] + (s[end] - s[near[0]]) * slope


# --- ends ------------------------------------------------------------------------------------------------------------


def _end(rod: Rod, e: int, system: System, signals: Signals) -> _core.RodEnd:
    place = system.rod_ends.get((rod.name, e))
    if place is not None and place.host != GROUND:
        return section_held(system, place)
    end = (rod.start, rod.end)[e] if place is None else system.ground_ends[rod.name, e]
    position = end.position_at(0.0) if end.holds_position else None
    frame = end.frame_at(0.0) if end.holds_frame else None
    label = f"Rod {rod.name!r}, {'end' if e else 'start'}"
    return _core.RodEnd(
        held=end.holds_position, clamped=end.holds_frame, label=label,
        place=np.array(rod.positions[-e] if position is None else position),
        frame=np.array(rod.end_frames[e] if frame is None else frame), **_led(label, end, signals),
    )  # fmt: skip


def section_held(system: System, place: RodEndPlace) -> _core.RodEnd:
    """A section that a body holds, where it is at the start: the body moves it."""
    host = system.body(place.host)
    x, p = host.position + host.matrix @ place.at, rotations.multiply(host.orientation, place.frame)
    return _core.RodEnd(held=True, clamped=place.clamped, place=x, frame=p)


def _led(label: str, end: End, signals: Signals) -> dict[str, _core.Signal]:
    """What leads an end: signals of its place, its frame and its angular velocity."""
    found = {}
    if isinstance(end.at, ExpressionVector | Samples | INPUTS):
        found["places"] = signals.signal(f"{label}.at", end.at, 3)
    elif callable(end.at):
        law = () if end.velocity is None else ((f"{label}.velocity", end.velocity_at),)
        found["places"] = signals.signal(f"{label}.at", end.at, 3, read=end.position_at, law=law)
    if isinstance(end.frame, ExpressionVector | Samples):
        size = end.frame.size if isinstance(end.frame, Samples) else len(end.frame)
        found["frames"] = signals.signal(f"{label}.frame", end.frame, size)
    elif callable(end.frame):
        found["frames"] = signals.signal(f"{label}.frame", end.frame, 4, read=end.frame_at, unit=True)
        if end.angular_velocity is not None:
            read, name = end.angular_velocity_at, f"{label}.angular_velocity"
            found["spins"] = signals.signal(name, end.angular_velocity, 3, read=read)
    return found


# --- loads -----------------------------------------------------------------------------------------------------------

Share = tuple[int, int, Array]


def _load(rod: Rod, load: RodLoad | StateLoad, held: tuple[bool, bool], signals: Signals) -> _core.RodLoad:
    if rod.mesh.degree:
        force = moment = _on_nodes(rod, load)
    elif load.span is None:
        at = float(load.at or 0.0)
        force, moment = _force_at(rod, at, load.follow), _moment_at(rod, at, held)
    else:
        force, moment = _spread(rod, load)
    given = [(field, getattr(load, field)) for field in load.loads]
    vectors = [None if x is None else signals.signal(f"{load.label}.{field}", x, 3) for field, x in given]
    if isinstance(load, RodLoad):
        return _core.RodLoad(follow=load.follow, force=force, moment=moment, F=vectors[0], M=vectors[1])
    F = vectors[0] if vectors else None
    return _core.RodLoad(follow=False, force=force, moment=[], F=F, M=None, law=load.law, numbers=load.numbers)


def _force_at(rod: Rod, s: float, follow: bool) -> list[Share]:
    """A point force: on the ends of its segment by the lever rule, along frames interpolated between midpoints."""
    j, xi = rod.segment_at(s)
    ones = np.ones(3)
    if not follow:
        return [(j, j, (1.0 - xi) * ones), (j, j + 1, xi * ones)]
    # The neighbour's frame has its share of the vertex between the two: the core links neighbours only. Beyond the last
    # midpoint the frame is extrapolated.
    other, near = (j + 1, j + 1) if xi > 0.5 else (j - 1, j)
    if other == rod.mesh.cells:
        other = j - 1
    shares = {j: 1.0 - xi, j + 1: xi}
    eta = 0.0
    if other >= 0:
        eta = float((s - rod.midpoints[j]) / (rod.midpoints[other] - rod.midpoints[j]))
    out = [(j, n, (w - (eta if n == near else 0.0)) * ones) for n, w in shares.items()]
    return out if eta == 0.0 else [*out, (other, near, eta * ones)]


def _moment_at(rod: Rod, s: float, held: tuple[bool, bool]) -> list[Share]:
    """A point moment: on the neighbouring frames; beyond the last midpoint a clamp has a share (segments -1, -2)."""
    mid = rod.midpoints
    k = int(np.searchsorted(mid, s))
    ones = np.ones(3)
    if k == 0:
        w = s / mid[0] if held[0] else 1.0
        return [(0, 0, w * ones), (-1, 0, (1.0 - w) * ones)][: 2 if w < 1.0 else 1]
    if k == rod.mesh.cells:
        w = (1.0 - s) / (1.0 - mid[-1]) if held[1] else 1.0
        return [(k - 1, k, w * ones), (-2, k, (1.0 - w) * ones)][: 2 if w < 1.0 else 1]
    w = float((s - mid[k - 1]) / (mid[k] - mid[k - 1]))
    return [(k - 1, k, (1.0 - w) * ones), (k, k, w * ones)]


def _spread(rod: Rod, load: RodLoad | StateLoad) -> tuple[list[Share], list[Share]]:
    """A distributed load: Gauss quadrature over the part of each segment that it covers."""
    points, weights = np.polynomial.legendre.leggauss(4)
    force: list[Share] = []
    moment: list[Share] = []
    for j in range(rod.mesh.cells):
        lo, hi = rod.fractions[j], rod.fractions[j + 1]
        a, b = max(lo, load.span[0]), min(hi, load.span[1])
        if b <= a:
            continue
        s = 0.5 * (a + b) + 0.5 * (b - a) * points
        w = (0.5 * (b - a) * rod.length * weights)[:, None] * load.profile_at(s)
        xi = ((s - lo) / (hi - lo))[:, None]
        force += [(j, j, np.sum((1.0 - xi) * w, axis=0)), (j, j + 1, np.sum(xi * w, axis=0))]
        moment.append((j, j, np.sum(w, axis=0)))
    return force, moment


def _on_nodes(rod: Rod, load: RodLoad | StateLoad) -> list[Share]:
    """A load on elements, which end where it sets in: on a node, or by Gauss quadrature on the elements it covers."""
    mesh = rod.mesh
    assert isinstance(mesh, Elements)
    if load.span is None:
        k = rod.mesh.nearest(float(load.at or 0.0))
        return [(k, k, np.ones(3))]
    middles, p = 0.5 * (mesh.ends[1:] + mesh.ends[:-1]), mesh.degree
    covered = np.flatnonzero((load.span[0] < middles) & (middles < load.span[1]))
    w = rod.length * mesh.point_weights.reshape(-1, p)[covered]
    factors = load.profile_at(mesh.strains.reshape(-1, p)[covered].ravel()).reshape(*w.shape, 3)
    nodes = mesh.nodes_of(covered)
    total = np.zeros((len(mesh.vertices), 3))
    np.add.at(total, nodes, np.einsum("ek,ki,ekc->eic", w, mesh.rule.values, factors))
    return [(k, k, total[k]) for k in np.unique(nodes).tolist()]


def _weight(rod: Rod, tributary: Array, system: System, signals: Signals) -> _core.RodLoad:
    """Weight under a gravity that is a function of time, as a load on the vertices."""
    last = len(rod.mesh.frames) - 1
    shares = [(min(n, last), n, np.full(3, m)) for n, m in enumerate(tributary)]
    gravity = signals.signal("System.gravity", system.gravity_function, 3)
    return _core.RodLoad(follow=False, force=shares, moment=[], F=gravity, M=None)


# --- surroundings ----------------------------------------------------------------------------------------------------


def _surroundings(rod: Rod, system: System) -> RodTable:
    """What supports a rod, by vertices."""
    supports = [f for f in system.forces if isinstance(f, Foundation) and f.rod == rod.name]
    rows = [np.outer(_belongs(rod, *f.span), [*f.stiffness, *f.damping]) for f in supports]
    return {
        "foundation": np.sum(rows, axis=0) if rows else None,
        "anchor": np.array(rod.positions),
        "spin": frame_spin(system),
    }


def frame_spin(system: System) -> Array:
    """Angular velocity of the frame in which a system is described."""
    spins = [f.angular_velocity for f in system.forces if isinstance(f, RotatingFrame)]
    return np.asarray(sum(spins, np.zeros(3)))


def _belongs(rod: Rod, start: float = 0.0, end: float = 1.0) -> Array:
    """Length in m that belongs to each vertex, of the part between two fractions; on the grid by the lever rule."""
    if isinstance(rod.mesh, Elements):
        return rod.length * rod.mesh.lumped(np.ones_like, span=(start, end))
    lo, hi = rod.fractions[:-1], rod.fractions[1:]
    a, b = np.clip(start, lo, hi), np.clip(end, lo, hi)
    xi = (0.5 * (a + b) - lo) / (hi - lo)
    out = np.zeros(rod.mesh.cells + 1)
    out[:-1] += rod.length * (b - a) * (1.0 - xi)
    out[1:] += rod.length * (b - a) * xi
    return out


def _stretch(rod: Rod, signals: Signals) -> RodTable:
    """Factor of the length without tension: none, a number, or one over time."""
    stretch = rod.rest_stretch
    if not callable(stretch):
        return {} if stretch is None else {"stretch": float(stretch)}
    label = f"Rod {rod.name!r}.rest_stretch"
    return {"stretches": signals.signal(label, stretch, 1, least=("rest_stretch", positive))}
