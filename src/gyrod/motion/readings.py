"""Values of quantities by text: ``quantity("hose.positions[-1]", system).read(motion)``.

"hose.positions[-1]" is a field of a body, a rod, a joint, a clip or a contact by its name, of the tables in
`gyrod.quantities`; indices count without the time axis, and are integers or slices such as 0:3 or ::2; [-1][2] is
[-1, 2]. "energy.total", "drift.position", "momentum", "angular_momentum" and "t" are of the whole motion;
"sensors.tip[2]", or "tip[2]", is a sensor. "norm " before it takes the Euclidean norm over the last axis, "abs "
absolute values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from gyrod import quantities, rotations
from gyrod._check import Array, renamed
from gyrod._words import listed, meant
from gyrod.model import JointSensor, RotationSensor, System
from gyrod.model.errors import shown, unknown
from gyrod.model.meshes import Elements, apply
from gyrod.motion import Motion, bend_radius
from gyrod.quantities import FIELDS, ROD

#: Parts of an element, for each of its degrees, between which extremes are looked for.
PIECES = 4

_REST = re.compile(r"(?:\.(\w+))?\s*((?:\[[^\[\]]*\]\s*)*)", re.ASCII)
_INDEX = re.compile(r"(-?\d{1,9})|(-?\d{1,9})?\s*:\s*(-?\d{1,9})?(?:\s*:\s*(-?\d{1,9})?)?", re.ASCII)


# --- quantities ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Quantity:
    """A named quantity of a motion, read by `read` as an array with time first."""

    text: str
    #: "body", "rod", "joint", "clip", "contact", "sensor", "energy", "drift" or "motion".
    kind: str
    name: str
    field: str
    index: tuple[int | tuple[int | None, ...], ...] = ()
    #: "", "norm" or "abs".
    measure: str = ""
    #: SI unit, "" where there is none.
    unit: str = ""
    #: Fractions of a rod's length at which a field along it is taken, or one, which leaves no axis; None: those of the
    #: mesh.
    at: tuple[float, ...] | float | None = None
    #: Whether a field along a rod is taken at all its `stations`.
    everywhere: bool = False
    #: Whether it needs the dense output, as what is summed or counted over the steps does.
    dense: bool = False
    #: Whether a row depends on the one before, as the sign of a quaternion does.
    linked: bool = False

    @property
    def kinematic(self) -> bool:
        """Whether it follows from the unknowns of a row alone, and the places and axes that the model fixes."""
        fixed = self.at is None or self.place == "vertices"
        return (
            self.kind in ("body", "rod") and FIELDS[self.kind][self.field].kinematic and fixed and not self.everywhere
        )

    @property
    def place(self) -> str:
        """Where in the mesh of a rod it is known, a key of `quantities.PLACES`; "" if it is not a field along one."""
        return ROD[self.field].place if self.kind == "rod" else ""

    def read(self, motion: Motion) -> Array:
        """Its values, (n, ...), without the time axis for a single time."""
        values = np.asarray(self._whole(motion), dtype=float)
        if self.index:
            time = (slice(None),) * motion.t.ndim
            values = values[(*time, *(slice(*i) if isinstance(i, tuple) else i for i in self.index))]
        if self.measure == "norm":
            return np.asarray(np.linalg.norm(values, axis=-1)) if values.ndim > motion.t.ndim else np.abs(values)
        return np.abs(values) if self.measure == "abs" else values

    def shape(self, motion: Motion) -> tuple[int, ...]:
        """Its shape at one time; a `ValueError` where the indices do not fit."""
        try:
            shape = self.read(motion).shape[motion.t.ndim :]
        except IndexError:
            whole = replace(self, index=(), measure="").read(motion).shape[motion.t.ndim :]
            has = f"has the shape {whole} at each time" if whole else "is a single number"
            raise ValueError(f"{self.text!r}: the indices do not fit; without them it {has}.") from None
        if 0 in shape:
            raise ValueError(f"{self.text!r} selects nothing; its shape is {shape}.")
        return shape

    def _whole(self, motion: Motion) -> object:
        kind, name, field = self.kind, self.name, self.field
        if kind == "motion":
            return getattr(motion, field)
        if kind in ("energy", "drift"):
            return getattr(getattr(motion, kind), field)
        if kind == "sensor":
            return motion.sensors[name]
        if kind == "clip":
            return getattr(motion.clips[name], field)
        if kind == "contact":
            return getattr(motion.contacts[name], field)
        if self.at is not None:
            found = along(motion, name, field, self.at)
            return found if isinstance(self.at, tuple) else np.take(found, 0, axis=motion.t.ndim)
        if self.everywhere and motion[name].mesh.degree is not None:
            return along(motion, name, field, self.stations(motion))
        if kind == "rod" and field == "stress":
            return motion.stress(name)
        if kind != "joint":
            return getattr(motion[name], field)
        number = next(i for i, joint in enumerate(motion.compiled.system.joints) if joint.name == name)
        track = (motion.joints if FIELDS["joint"][field].carried else motion.joint_motions)[number]
        return getattr(track, f"{field}s")[..., 0] if field in ("coordinate", "rate") else getattr(track, field)

    def stations(self, motion: Motion) -> Array:
        """Fractions of the length at which extremes of a field along a rod are looked for, (k,).

        On a grid those where it is known. In elements also between the nodes, or between the Gauss points of each
        element, where the polynomials are good, and at the ends where they follow from what holds them.
        """
        mesh, inside = motion[self.name].mesh, self.place not in ("vertices", "frames")
        known = getattr(mesh, "curvatures" if self.place == "sections" else self.place)
        if not isinstance(mesh, Elements):
            return np.asarray(known)
        first, last = mesh.rule.points[[0, -1]] if inside else (-1.0, 1.0)
        x = np.linspace(first, last, PIECES * mesh.degree + 1)
        fine = mesh.ends[:-1, None] + 0.5 * np.diff(mesh.ends)[:, None] * (1.0 + x)
        ends = [0.0, 1.0] if ROD[self.field].ends else []
        return np.unique(np.concatenate([fine.ravel(), known, ends]))

    def describe(self) -> object:
        """What identifies it."""
        return self.text


def along(motion: Motion, name: str, field: str, s: ArrayLike) -> Array:
    """A field of a rod at fractions s of its length, (..., k) or (..., k, c), interpolated as its mesh does.

    At held ends of elements section forces, moments and curvatures are those of what holds them.
    """
    at, track = np.array(s, dtype=float, ndmin=1), motion[name]
    if field == "bend_radius":
        return bend_radius(along(motion, name, "curvature", at))
    if field == "stress":
        rod = motion.compiled.system.rod(name)
        if rod.section is None:
            raise ValueError(f"rod {name!r} has no section, so its stress is not known.")
        return np.asarray(rod.section.stress(*(along(motion, name, x, at) for x in ("force", "moment")), s=at))
    if field in ("quaternions", "vertex_quaternions"):
        rows = motion.sensors.rows
        frames = np.stack([rows.section(name, x) for x in at.tolist()], axis=-2)
        return frames if motion.t.ndim else np.asarray(frames[0])
    if field in ("directors", "matrices", "rotation_vectors"):
        made = rotations.log if field == "rotation_vectors" else rotations.matrix_from_quaternion
        return made(along(motion, name, "quaternions", at))
    inner = {"omega": "Omega", "force_space": "force", "moment_space": "moment"}.get(field)
    if inner is not None:
        return rotations.rotate(along(motion, name, "quaternions", at), along(motion, name, inner, at))
    values, mesh, known = getattr(track, field), track.mesh, ROD[field]
    find = {"vertices": mesh.vertex_at, "frames": mesh.frame_at, "strains": mesh.strain_at}
    rows, weights = find.get(known.place, mesh.curvature_at)(at)
    if not known.components:
        return np.asarray(apply(rows, weights, values[..., None])[..., 0])
    found = apply(rows, weights, values)
    ends = (at == 0.0) | (at == 1.0)
    if known.ends and mesh.degree and ends.any():
        held = dict(zip(("force", "moment", "curvature"), track._end_sections, strict=True))[field]
        found[..., ends, :] = held[..., at[ends].astype(int), :]
    return found


def quantity(text: object, system: System) -> Quantity:
    """The quantity of a system that a text names; a `ValueError` says what is there instead."""
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{shown(text)} is not a quantity; write it as 'hose.positions[-1]' or 'energy.total'.")
    words = text.strip()
    measure, _, rest = words.partition(" ")
    measure, rest = (measure, rest.strip()) if measure in ("norm", "abs") and rest.strip() else ("", words)
    kind, name, at = _head(rest, system)
    match = _REST.fullmatch(rest, at)
    if match is None:
        raise ValueError(f"{text!r} cannot be read at {rest[at:]!r}; write it as 'name.field[0, 1]'.")
    field, brackets = match.groups()
    field = _field(text, rest[:at], kind, name, field, system)
    found = Quantity(text.strip(), kind, name, field, _indices(text, brackets), measure)
    return replace(found, unit=_unit(found, system), dense=_summed(found, system), linked=_linked(found, system))


def _head(rest: str, system: System) -> tuple[str, str, int]:
    """Kind and name of what a quantity belongs to, and where its name ends; the longest name wins."""
    members = {sensor.name: ("sensor", sensor.name) for sensor in system.sensors}
    members |= {f"sensors.{name}": ("sensor", name) for name in members}
    members |= {name: ("body", name) for name in system.names} | {name: ("rod", name) for name in system.rod_names}
    members |= {joint.name: ("joint", joint.name) for joint in system.joints if joint.name is not None}
    members |= {clip.name: ("clip", clip.name) for clip in system.clips if clip.name is not None}
    members |= {contact.name: ("contact", contact.name) for contact in system.all_contacts if contact.name is not None}
    own = {"energy": ("energy", ""), "drift": ("drift", "")} | {name: ("motion", name) for name in quantities.MOTION}
    known = {**own, **members}
    fitting = [name for name in known if rest.startswith(name) and rest[len(name) : len(name) + 1] in ("", ".", "[")]
    if not fitting:
        head = re.split(r"[.\[]", rest, maxsplit=1)[0]
        if head == "sensors":
            name = rest.removeprefix("sensors").lstrip(".").partition("[")[0]
            raise ValueError(unknown(f"{rest!r}: sensor", name, [s.name for s in system.sensors], "sensors"))
        raise ValueError(f"{rest!r}: {_unknown(head, [*members, *own], 'it can be')}")
    longest = max(fitting, key=len)
    return *known[longest], len(longest)


def _field(text: str, head: str, kind: str, name: str, field: str | None, system: System) -> str:
    fields = FIELDS.get(kind)
    if fields is None:
        if field is not None:
            raise ValueError(f"{text!r}: {head!r} has no fields; write {head!r}, or {head + '[0]'!r} for an entry.")
        return name if kind == "motion" else ""
    if field is None:
        first = f"{head}.{next(iter(fields))}"
        raise ValueError(f"{text!r} needs a field, such as {first!r}; it can be {listed(fields, 24)}.")
    if kind == "joint" and field == "rotation":  # its name in the version before
        renamed(f"{name}.rotation", f"{name}.quaternion")
        return "quaternion"
    if field not in fields:
        raise ValueError(f"{text!r}: {_unknown(field, fields, f'of {head!r} it can be')}")
    if kind == "joint" and field in ("coordinate", "rate"):
        names = system.joint(name).coordinate_names
        if len(names) != 1:
            has = f"has the coordinates {listed(names, 24)}" if names else "has no coordinates"
            raise ValueError(f"{text!r}: joint {name!r} {has}; take {f'{name}.{field}s[0]'!r}, or its force or torque.")
    return field


def _indices(text: str, brackets: str) -> tuple[int | tuple[int | None, ...], ...]:
    """Integers, and slices as begin, end and step."""
    first, *more = brackets.strip().removeprefix("[").removesuffix("]").split("]")
    if not brackets:
        return ()
    if more and ":" in brackets.rpartition("[")[0]:
        raise ValueError(f"{text!r}: after a slice brackets cannot follow; write one pair, as [0:3, 2].")
    found: list[int | tuple[int | None, ...]] = []
    for part in ",".join([first, *(x.strip().removeprefix("[") for x in more)]).split(","):
        match = _INDEX.fullmatch(part.strip())
        if match is None:
            raise ValueError(
                f"{text!r}: {part.strip()!r} is not an index; write integers or slices, as [-1], [0:3, 2]."
            )
        number, *ends = match.groups()
        if ends[2] is not None and int(ends[2]) == 0:
            raise ValueError(f"{text!r}: the step of {part.strip()!r} must not be 0.")
        found.append(int(number) if number is not None else tuple(None if x is None else int(x) for x in ends))
    return tuple(found)


def _unit(found: Quantity, system: System) -> str:
    """SI unit; "" for none, and for several."""
    if found.kind == "sensor":
        unit = next(s for s in system.sensors if s.name == found.name).unit(system)
    elif found.kind == "joint" and not FIELDS["joint"][found.field].unit:
        joint, rate = system.joint(found.name), found.field.startswith("rate")
        units = {quantities.coordinate_unit(name, rate=rate) for name in joint.coordinate_names}
        units = set(joint.effort_units) if found.field == "effort" else units
        unit = units.pop() if len(units) == 1 else ""
    elif found.kind == "joint" and found.field == "effort":
        units = set(system.joint(found.name).effort_units)
        unit = units.pop() if len(units) == 1 else ""
    else:
        unit = (quantities.MOTION if found.kind == "motion" else FIELDS[found.kind])[found.field].unit
    return "" if unit == "1" or "," in unit else unit


def _summed(found: Quantity, system: System) -> bool:
    """Whether it is summed or counted over the steps: flows of energy, and angles over turns."""
    joint = found.name if found.kind == "joint" and found.field in ("coordinate", "coordinates") else None
    if found.kind == "sensor":
        sensor = next(s for s in system.sensors if s.name == found.name)
        joint = sensor.joint if isinstance(sensor, JointSensor) and sensor.quantity == "coordinate" else None
    if joint is not None:
        return any(name.startswith("angle") for name in system.joint(joint).coordinate_names)
    return found.kind == "energy" and FIELDS["energy"][found.field].summed


def _linked(found: Quantity, system: System) -> bool:
    """Whether the sign of a row follows that of the row before."""
    if found.kind == "sensor":
        sensor = next(s for s in system.sensors if s.name == found.name)
        return isinstance(sensor, RotationSensor) and sensor.quantity == "quaternion"
    return found.kind == "body" and found.field == "quaternion"


def _unknown(name: str, known: Iterable[str], where: str) -> str:
    return f"{shown(name)} is unknown; {where} {listed(known, 24)}.{meant(name, list(known))}"
