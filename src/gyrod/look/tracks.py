"""How a scene moves: bodies, rods, their colours, arrows and curves as arrays over the frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from gyrod import rotations
from gyrod._check import Array
from gyrod.equations import Compiled
from gyrod.look.curves import Curve
from gyrod.look.packing import Track, track
from gyrod.model import ClipSensor, ContactSensor, Force, RodLoad, RotationSensor, Sensor, System, Torque
from gyrod.model.errors import GROUND
from gyrod.motion import Motion
from gyrod.motion.contacts import among_rods, keys
from gyrod.quantities import CLIP, COLOURS, CONTACT, DIRECTORS, ROD, ROTATION, SPAN, XYZ, coordinate_unit

if TYPE_CHECKING:
    from gyrod._check import Data


class Line(TypedDict):
    """A line of a plot: its label, and the column of a track."""

    label: str
    track: str
    column: int


class Plot(TypedDict):
    """What the page learns about a plot."""

    title: str
    unit: str
    lines: list[Line]


class Static(TypedDict):
    """All that does not change in time, as plain JSON values."""

    version: int
    title: str
    formulation: str
    gravity: list[float]
    bodies: list[Data]
    rods: list[DrawnRod]
    joints: list[Data]
    lines: list[DrawnLine]
    points: list[Data]
    obstacles: list[Data]
    arrows: list[Data]
    fields: dict[str, Data]
    series: list[Plot]
    #: Of a motion: its method, its errors in a line, what it sweeps, the plots that are shown first.
    method: NotRequired[str]
    errors: NotRequired[str]
    swept: NotRequired[dict[str, str]]
    first: NotRequired[list[int]]


class DrawnLine(TypedDict):
    """A spring, a cable, a tendon or a bar."""

    name: str
    kind: str
    points: list[Anchor]


class DrawnRod(TypedDict):
    """A rod as the page draws it."""

    name: str
    color: str
    vertices: int
    fractions: list[float] | None
    round: bool
    half: list[list[float]]
    fields: list[str]


class Anchor(TypedDict, total=False):
    """What a point moves with, by its number, and where it is there; of ground ``at`` alone."""

    rod: int
    s: float
    offset: list[float]
    body: int
    at: list[float]


#: Systems with more joints than this are shown without the forces of joints, which cost much to find.
MOST_FORCES = 200
#: Arrows of a distributed load, and of a contact of a rod or body at most.
STATIONS, TOUCHES = 7, 41
#: Plots that are shown first, and what counts as no change.
PLOTS, STILL = 3, 1e-9


def anchor_of(system: System, name: str, at: Any) -> Anchor:
    """Where a point moves with: ``at`` is a point of a body or of ground, or a place in a rod."""
    if name in system.rod_names:
        s, offset = at if isinstance(at, tuple) else (at, (0.0, 0.0))
        return {"rod": system.rod_names.index(name), "s": float(s), "offset": [float(x) for x in offset]}
    point = [0.0, 0.0, 0.0] if at is None else [float(x) for x in at]
    return {"at": point} if name == GROUND else {"body": system.names.index(name), "at": point}


# --- arrows ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arrow:
    """An arrow: what it stands for, what it moves with, and what finds its vectors in space."""

    name: str
    #: "force", "torque", "reaction", "contact", or "force per length", "torque per length".
    group: str
    unit: str
    anchor: Anchor
    #: From a motion to (n, 3).
    vectors: Callable[[Motion], Array]

    def told(self) -> Data:
        """What the page learns."""
        return {"name": self.name, "group": self.group, "unit": self.unit, "anchor": self.anchor}


def arrows(compiled: Compiled) -> list[Arrow]:
    """Forces and torques on bodies and rods, and what joints, ends of rods and contacts carry."""
    system = compiled.system
    found = []
    for force in system.forces:
        if isinstance(force, (Force, Torque)):
            found.append(_body_arrow(system, force))
        elif isinstance(force, RodLoad):
            found += _load_arrows(system, force)
    joints = system.original.joints if len(system.joints) <= MOST_FORCES else ()
    for i, joint in enumerate(joints):
        anchor = anchor_of(system, joint.b, system.attachment(joint).at_b)
        found.append(Arrow(joint.name or joint.label, "reaction", "N", anchor, partial(_joint_force, i)))
    for rod in system.rods:
        for e, side in enumerate(("start", "end")):
            if _held(system, rod.name, e):
                anchor, force_of = anchor_of(system, rod.name, e), partial(_end_force, rod.name, side)
                found.append(Arrow(f"{side} of {rod.name}", "reaction", "N", anchor, force_of))
    return found + _contact_arrows(compiled)


def _contact_arrows(compiled: Compiled) -> list[Arrow]:
    """Forces of contacts where stations are; those of neighbours are added where they are many."""
    system, found, seen = compiled.system, [], Counter[int]()
    names = keys(system)
    for pair in compiled.touching:
        part, n = seen[pair.contact], len(pair.places)
        seen[pair.contact] += 1
        on_rod = pair.of in system.rod_names
        groups = np.array_split(np.arange(n), min(n, TOUCHES)) if on_rod or n <= TOUCHES else [np.arange(n)]
        for group in groups if n else ():
            middle = pair.places[group].mean(axis=0)
            anchor = anchor_of(system, pair.of, float(middle) if on_rod else middle)
            force = partial(_contact_force, names[pair.contact], part, group)
            found.append(Arrow(names[pair.contact], "contact", "N", anchor, force))
    for k in dict.fromkeys(two.contact for two in compiled.crossed):
        mine = [two for two in compiled.crossed if two.contact == k]
        for name in dict.fromkeys(x for two in mine for x in (two.of, two.on)):
            s = np.linspace(0.0, 1.0, min(TOUCHES, len(system.rod(name).fractions)))
            for i, at in enumerate(s.tolist()):
                force = partial(_crossing_force, names[k], name, s, i)
                found.append(Arrow(names[k], "contact", "N", anchor_of(system, name, at), force))
    return found


def _crossing_force(contact: str, name: str, s: Array, i: int, motion: Motion) -> Array:
    """Of other rods, and of the rod itself, at the places next to s[i]."""
    return np.asarray(among_rods([motion.contacts[contact]], name, s, motion.t.shape)[..., i, :])


def _contact_force(name: str, part: int, group: NDArray[np.intp], motion: Motion) -> Array:
    return np.asarray(motion.contacts[name].stations[part].force[..., group, :].sum(axis=-2))


def _joint_force(i: int, motion: Motion) -> Array:
    return np.asarray(motion.joints[i].force)


def _end_force(name: str, side: str, motion: Motion) -> Array:
    return np.asarray(getattr(motion[name], f"{side}_force"))


def _held(system: System, name: str, e: int) -> bool:
    """Whether anything holds the start (0) or end (1) of a rod in its place."""
    rod = system.rod(name)
    return (name, e) in system.rod_ends or (rod.end if e else rod.start).holds_position


def _at_times(value: object, t: Array) -> Array:
    """Vectors of a constant or a function of time, (n, 3)."""
    if callable(value):
        return np.array([np.asarray(value(float(x)), dtype=float) for x in t]).reshape(-1, 3)
    return np.broadcast_to(np.asarray(value, dtype=float), (len(t), 3))


def _body_arrow(system: System, force: Force | Torque) -> Arrow:
    value, at = (force.force, force.at) if isinstance(force, Force) else (force.torque, None)
    group, unit = ("force", "N") if isinstance(force, Force) else ("torque", "N m")

    def vectors(motion: Motion) -> Array:
        found = _at_times(value, np.atleast_1d(motion.t))
        if force.frame == "space":
            return found
        return np.asarray(np.einsum("nij,nj->ni", motion[force.body].matrix.reshape(-1, 3, 3), found))

    return Arrow(force.name or group, group, unit, anchor_of(system, force.body, at), vectors)


def _load_arrows(system: System, load: RodLoad) -> list[Arrow]:
    spread = load.span is not None
    stations = np.linspace(load.span[0], load.span[1], STATIONS) if spread else np.array([load.at])
    curve = Curve(system.rod(load.rod))

    def vectors(value: object, s: float, factor: Array, motion: Motion) -> Array:
        vector = _at_times(value, np.atleast_1d(motion.t)) * factor
        if not load.follow:
            return vector
        return rotations.rotate(curve.frame(motion[load.rod], s).reshape(-1, 4), vector)

    found = []
    units = ("N/m", "N") if spread else ("N", "N m")
    for value, group, unit in ((load.force, "force", units[0]), (load.moment, "torque", units[1])):
        title = f"{group} per length" if spread else group
        for s, factor in zip(stations.tolist(), load.profile_at(stations), strict=True):
            if value is not None:
                anchor, found_by = anchor_of(system, load.rod, s), partial(vectors, value, s, factor)
                found.append(Arrow(load.name or "load", title, unit, anchor, found_by))
    return found


# --- how it moves ----------------------------------------------------------------------------------------------------


def tracks(motion: Motion, static: Static) -> dict[str, Track]:
    """Arrays over the frames of a motion whose system was described."""
    compiled, t = motion.compiled, np.atleast_1d(motion.t)
    n, system = len(t), compiled.system
    found = {"t": track(t, "f8")}
    if system.bodies:
        x = [motion[b.name].position.reshape(n, 3) for b in system.bodies]
        p = [motion[b.name].quaternion.reshape(n, 4) for b in system.bodies]
        found["x"] = track(np.stack(x, axis=1))
        found["p"] = track(np.stack(p, axis=1), "fine")
    for i, rod in enumerate(system.rods):
        one, curve = motion[rod.name], Curve(rod)
        found[f"rod{i}.x"] = track(curve.vertices(one.positions).reshape(n, -1))
        # Round rods need their frames for small axes and tendons only.
        kind = "rough" if static["rods"][i]["round"] else "coarse"
        found[f"rod{i}.p"] = track(_continuous(curve.frames(one).reshape(n, -1, 4)), kind)
    found |= _colours(motion, static, n)
    pointed = arrows(compiled)
    if pointed:
        found["arrows"] = track(np.stack([arrow.vectors(motion).reshape(n, 3) for arrow in pointed], axis=1))
    columns = [c.values(motion).reshape(n, len(c.labels)) for c in curves(system) if c.values is not None]
    found["series"] = track(np.concatenate(columns, axis=1))
    return found


def _colours(motion: Motion, static: Static, n: int) -> dict[str, Track]:
    """All numbers by which rods are coloured."""
    found: dict[str, Track] = {}
    curves = [Curve(rod) for rod in motion.compiled.system.rods]
    for key, known in COLOURS.items():
        rods = [i for i, rod in enumerate(static["rods"]) if key in rod["fields"]]
        values = {i: colour(key, motion, i, curves[i]).reshape(n, -1) for i in rods}
        limit = most([*values.values()]) if known.inverse and values else np.inf
        found |= {f"rod{i}.{key}": track(np.minimum(v, limit), "coarse") for i, v in values.items()}
    return found


def _continuous(p: Array) -> Array:
    """Quaternions (n, k, 4) each on the side of its neighbour, first along the rod, then in time."""
    along = np.cumprod(np.where(np.sum(p[0, 1:] * p[0, :-1], axis=-1) < 0.0, -1.0, 1.0))
    first = p[:1] * np.append(1.0, along)[:, None]
    whole = np.concatenate([first, p[1:]])
    flips = np.where(np.sum(whole[1:] * np.concatenate([first, p[1:-1]])[: len(p) - 1], axis=-1) < 0.0, -1.0, 1.0)
    return np.concatenate([first, p[1:] * np.cumprod(flips, axis=0)[..., None]])


def colour(key: str, motion: Motion, i: int, curve: Curve) -> Array:
    """A number of `COLOURS` where rod i is drawn, (..., D)."""
    rod, known = motion[curve.rod.name], COLOURS[key]
    if known.field == "stress":
        return curve.stress(rod)
    if known.field == "contact":
        return _pressed(motion, curve)
    if known.field:
        moving = ROD[known.field].place == "vertices"
        number = known.number(curve.vertices(rod.velocities) if moving else curve.held(rod, known.field))
        return _inverse(number) if known.inverse else number
    densities = energy_densities(motion, motion.compiled, i)
    strains, curvatures = (curve.sections(x[..., None])[..., 0] for x in densities)
    density = curvatures + strains
    # A polynomial through positive values may dip below zero.
    return density if curve.rod.degree is None else np.maximum(density, 0.0)


def _pressed(motion: Motion, curve: Curve) -> Array:
    """Size of the contact forces per length where a rod is drawn, (..., D), N/m."""
    name, s, tracks = curve.rod.name, curve.s, [*motion.contacts.values()]
    belongs = np.gradient(s) * np.where(np.isin(np.arange(len(s)), (0, len(s) - 1)), 0.5, 1.0) * curve.rod.length
    found = np.linalg.norm(among_rods(tracks, name, s, motion.t.shape), axis=-1) / belongs
    for part in (part for contact in tracks for part in contact.stations if part.of == name):
        density = np.linalg.norm(part.force, axis=-1) / part.weights
        right = np.clip(np.searchsorted(part.places, s), 1, len(part.places) - 1)
        share = (s - part.places[right - 1]) / (part.places[right] - part.places[right - 1])
        here = (s >= part.places[0]) & (s <= part.places[-1])
        found += here * (density[..., right - 1] * (1.0 - share) + density[..., right] * share)
    return np.asarray(found)


def _inverse(number: Array) -> Array:
    return np.asarray(np.divide(1.0, number, out=np.full(number.shape, np.inf), where=number > 0.0))


def most(values: Sequence[Array]) -> float:
    """Up to where colours of inverse numbers reach: `SPAN` times the least; where all are infinite 1."""
    least = min(float(v.min(initial=np.inf)) for v in values)
    return SPAN * least if np.isfinite(least) else 1.0


def coloured_pieces(key: str, motion: Motion, i: int, curve: Curve) -> Array:
    """A number of `COLOURS` for each piece between two stations of rod i, (..., D - 1)."""
    known = COLOURS[key]
    if known.field not in ("", "stress", "contact"):
        number = curve.pieces(motion[curve.rod.name], known.field, known.number)
        return _inverse(number) if known.inverse else number
    ends = colour(key, motion, i, curve)
    return np.asarray(0.5 * (ends[..., 1:] + ends[..., :-1]))


def energy_densities(motion: Motion, compiled: Compiled, i: int) -> tuple[Array, Array]:
    """Elastic energy per length of a rod, J/m: of its strains (..., n) and of its curvatures (..., m).

    From strains, as the core counts it, and not from section forces, which hold what damping takes as well.
    """
    rod, table = motion[compiled.system.rod_names[i]], compiled.rods[i]
    stretch, G0 = compiled.system.rods[i].rest_stretch, np.array(table["G0"])
    factor = np.ones(np.shape(motion.t))
    if stretch is not None:
        factor = np.vectorize(stretch, otypes=[float])(motion.t) if callable(stretch) else factor * stretch
    E = rod.strain + np.array([0.0, 0.0, 1.0]) - G0
    E[..., 2] -= (factor[..., None] - 1.0) * G0[:, 2]
    K = rod.curvature - table["K0"]
    strains = 0.5 * np.einsum("...ki,kij,...kj->...k", E, table["CG"], E)
    if compiled.system.rods[i].degree is None:  # half of the curvature at either end of a segment
        held = K * (table["weight"] > 0.0)[:, None]
        beside = held[..., :-1, :] + held[..., 1:, :]
    else:
        beside = 2.0 * K
    strains += 0.5 * np.einsum("...ki,kij,...kj->...k", E, table["CX"], beside)
    return np.asarray(strains), 0.5 * np.einsum("...ki,kij,...kj->...k", K, table["CK"], K)


# --- plots beside it -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curves:
    """A plot: its title and unit, and its lines in a track of the scene, or what finds their values."""

    title: str
    unit: str
    labels: tuple[str, ...]
    #: From a motion to (n, k).
    values: Callable[[Motion], Array] | None = None
    track: str = "series"
    column: int = 0
    #: "motion" (how something moves), "load" (what is carried), or "" for all else.
    kind: str = ""


def curves(system: System) -> list[Curves]:
    """Everything that can be plotted."""
    found = [Curves("energy", "J", ("kinetic", "potential", "total"), _energies)]
    for rod in system.rods:
        held = tuple(side for e, side in enumerate(("start", "end")) if _held(system, rod.name, e))
        if held:
            found.append(Curves(f"{rod.name}: end forces", "N", held, _end_forces(rod.name, held), kind="load"))
    joints = system.original.joints
    if len(joints) <= MOST_FORCES:
        for i, joint in enumerate(joints):
            for k, name in enumerate(joint.coordinate_names):
                title, unit = f"{joint.name or joint.label}: {name}", coordinate_unit(name)
                found.append(Curves(title, unit, (name,), _coordinate(i, k), kind="motion"))
        if joints:
            labels = tuple(joint.name or joint.label for joint in joints)
            found.append(Curves("joint forces", "N", labels, _joint_forces, kind="load"))
    if system.all_contacts:
        found.append(Curves("contacts: normal force", "N", tuple(keys(system)), _normal_forces, kind="load"))
    for sensor in system.sensors:
        found += _readings(sensor, system)
    for i, body in enumerate(system.bodies):
        if body.name not in system.junction_bodies:
            found.append(Curves(f"{body.name}: position", "m", XYZ, track="x", column=3 * i, kind="motion"))
    for i, rod in enumerate(system.rods):
        word, at = _moving_place(system, rod.name)
        column = 3 * int(np.argmin(np.abs(Curve(rod).s - at)))
        found.append(Curves(f"{rod.name}: {word} position", "m", XYZ, track=f"rod{i}.x", column=column, kind="motion"))
    return found


def _moving_place(system: System, name: str) -> tuple[str, float]:
    """A place of a rod that is not fixed to ground: its end, its start, or else its middle."""
    rod = system.rod(name)
    for e, word in ((1, "end"), (0, "start")):
        place = system.rod_ends.get((name, e))
        fixed = (rod.end if e else rod.start).holds_position if place is None else place.host == GROUND
        if not fixed:
            return word, float(e)
    return "middle", 0.5


def first_shown(system: System, found: dict[str, Track]) -> list[int]:
    """Numbers of the plots that are shown first: what moves most, what is carried, the energy, what moves next.

    Displacements count over the largest one of all, angles in half turns.
    """
    shown = {k: _span(plot, found) for k, plot in enumerate(series(system))}
    plots = curves(system)
    longest = max((shown[k] for k, plot in enumerate(plots) if plot.unit == "m" and plot.kind == "motion"), default=0.0)
    moves = {
        k: shown[k] / (longest or 1.0) if plot.unit == "m" else shown[k] / np.pi
        for k, plot in enumerate(plots)
        if plot.kind == "motion" and shown[k] > STILL
    }
    order = sorted(moves, key=lambda k: -min(moves[k], 1.0))
    loads = [k for k, plot in enumerate(plots) if plot.kind == "load" and shown[k] > STILL]
    return list(dict.fromkeys([*order[:1], *loads[:1], 0, *order[1:]]))[:PLOTS] if order else []


def _span(plot: Plot, found: dict[str, Track]) -> float:
    """How far the lines of a plot go up and down, at most."""
    columns = (found[line["track"]].values[:, line["column"]] for line in plot["lines"])
    return max(float(np.ptp(column)) for column in columns)


def series(system: System) -> list[Plot]:
    """What the page learns about the plots: titles, units, and the columns of the lines in their tracks."""
    found: list[Plot] = []
    at = 0
    for plot in curves(system):
        first = plot.column if plot.values is None else at
        lines: list[Line] = [{"label": x, "track": plot.track, "column": first + k} for k, x in enumerate(plot.labels)]
        found.append({"title": plot.title, "unit": plot.unit, "lines": lines})
        at += 0 if plot.values is None else len(plot.labels)
    return found


def _energies(motion: Motion) -> Array:
    energy = motion.energy
    return np.stack([energy.kinetic, energy.potential, energy.total], axis=-1)


def _end_forces(name: str, sides: tuple[str, ...]) -> Callable[[Motion], Array]:
    def values(motion: Motion) -> Array:
        ends = (getattr(motion[name], f"{side}_force") for side in sides)
        return np.stack([np.linalg.norm(end, axis=-1) for end in ends], axis=-1)

    return values


def _coordinate(i: int, k: int) -> Callable[[Motion], Array]:
    return lambda motion: motion.joints[i].coordinates[..., k : k + 1]


def _joint_forces(motion: Motion) -> Array:
    shown = motion.joints[: len(motion.compiled.system.original.joints)]
    return np.stack([np.linalg.norm(joint.force, axis=-1) for joint in shown], axis=-1)


def _normal_forces(motion: Motion) -> Array:
    return np.stack([contact.normal for contact in motion.contacts.values()], axis=-1)


def _readings(sensor: Sensor, system: System) -> list[Curves]:
    """Plots of what a sensor reads: one, or of coordinates with different units one each, as an axis has one unit."""
    labels, values = _reading(sensor, system)
    units = sensor.unit(system).split(", ")
    if len(set(units)) == 1:
        return [Curves(f"sensor {sensor.name}", units[0], labels, values)]

    def part(k: int, motion: Motion) -> Array:
        return values(motion).reshape(-1, len(labels))[:, k : k + 1]

    titles = [f"sensor {sensor.name}: {label}" for label in labels]
    pairs = enumerate(zip(titles, units, labels, strict=True))
    return [Curves(title, unit, (label,), partial(part, k)) for k, (title, unit, label) in pairs]


def _reading(sensor: Sensor, system: System) -> tuple[tuple[str, ...], Callable[[Motion], Array]]:
    """Labels of what a sensor reads, and its values."""
    if sensor.quantity in ("coordinate", "rate", "effort", "distance"):
        chosen = getattr(sensor, "coordinate", None)
        joint = getattr(sensor, "joint", None)
        names = system.joint(joint).coordinate_names if joint is not None and chosen is None else (chosen or "",)
        labels = tuple(names)
    elif isinstance(sensor, RotationSensor):
        labels = ROTATION[sensor.quantity].components
    elif isinstance(sensor, ClipSensor | ContactSensor):
        table = CLIP if isinstance(sensor, ClipSensor) else CONTACT
        labels = table[sensor.quantity].components or ("",)
    else:
        own = getattr(sensor, "axes", getattr(sensor, "frame", "space")) == "body"
        labels = DIRECTORS if own else XYZ
    return labels, lambda motion: motion.sensors[sensor.name]
