"""Quantities of a motion by text.

"hose.positions[-1]" is a field of a body, a rod or a joint by its name; indices count without the time axis, and are
integers or slices such as 0:3 or ::2; [-1][2] is [-1, 2]. "energy.total", "drift.position", "momentum",
"angular_momentum" and "t" are of the whole motion; "sensors.tip[2]", or "tip[2]", is a sensor. "norm " before it takes
the Euclidean norm over the last axis, "abs " absolute values. A function of a `Motion` that returns an array, time
first, serves as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gyrod.model import JointSensor, RotationSensor, System
from gyrod.model.errors import shown, unknown
from gyrod.motion import Motion
from gyrod.studies.identity import function_data

Array = NDArray[np.float64]

BODY = ("position", "quaternion", "matrix", "directors", "euler", "velocity", "Omega", "omega")
ROD = (
    "positions", "velocities", "quaternions", "vertex_quaternions", "directors", "Omega", "omega", "strain",
    "curvature", "bend_radius", "force", "force_space", "moment", "moment_space", "stress", "start_force",
    "start_moment", "end_force", "end_moment", "multipliers",
)  # fmt: skip
JOINT = ("coordinate", "coordinates", "rate", "rates", "rotation", "force", "torque", "effort")
FLOWS = ("dissipated", "work", "balance")
ENERGY = ("total", "kinetic", "potential", "extension_shear", "bending_torsion", *FLOWS)
DRIFT = ("position", "velocity")
WHOLE = ("momentum", "angular_momentum", "t")
FIELDS = {"body": BODY, "rod": ROD, "joint": JOINT, "energy": ENERGY, "drift": DRIFT}
#: Fields that follow from a row of unknowns without anything that lies before it.
KINEMATIC = {
    "body": ("position", "matrix", "directors", "velocity", "Omega", "omega"),
    "rod": ("positions", "velocities", "quaternions", "directors", "Omega", "omega"),
}

_REST = re.compile(r"(?:\.(\w+))?\s*((?:\[[^\[\]]*\]\s*)*)", re.ASCII)
_INDEX = re.compile(r"(-?\d{1,9})|(-?\d{1,9})?\s*:\s*(-?\d{1,9})?(?:\s*:\s*(-?\d{1,9})?)?", re.ASCII)


# --- quantities ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Quantity:
    """A named quantity of a motion, read by `read` as an array with time first."""

    text: str
    #: "body", "rod", "joint", "sensor", "energy", "drift" or "motion".
    kind: str
    name: str
    field: str
    index: tuple[Any, ...] = ()
    #: "", "norm" or "abs".
    measure: str = ""
    #: Whether it needs the dense output, as what is summed or counted over the steps does.
    dense: bool = False
    #: Whether a row depends on the one before, as the sign of a quaternion does.
    linked: bool = False

    @property
    def kinematic(self) -> bool:
        """Whether it follows from the unknowns of a row alone, and the places and axes that the model fixes."""
        return self.field in KINEMATIC.get(self.kind, ())

    def read(self, motion: Motion) -> Array:
        """Its values, (n, ...)."""
        values = np.asarray(self._whole(motion), dtype=float)
        if self.index:
            values = values[(slice(None), *(slice(*i) if isinstance(i, tuple) else i for i in self.index))]
        if self.measure == "norm":
            return np.asarray(np.linalg.norm(values, axis=-1)) if values.ndim > 1 else np.abs(values)
        return np.abs(values) if self.measure == "abs" else values

    def _whole(self, motion: Motion) -> Any:
        kind, name, field = self.kind, self.name, self.field
        if kind == "motion":
            return getattr(motion, field)
        if kind in ("energy", "drift"):
            return getattr(getattr(motion, kind), field)
        if kind == "sensor":
            return motion.sensors[name]
        if kind == "rod" and field == "stress":
            return motion.stress(name)
        if kind != "joint":
            return getattr(motion[name], field)
        number = next(i for i, joint in enumerate(motion.compiled.system.joints) if joint.name == name)
        track = (motion.joints if field in ("force", "torque", "effort") else motion._joint_motions)[number]
        return getattr(track, f"{field}s")[:, 0] if field in ("coordinate", "rate") else getattr(track, field)

    def describe(self) -> Any:
        """What identifies it."""
        return self.text


@dataclass(frozen=True)
class Measured:
    """A quantity that a function of the user reads."""

    function: Callable[[Motion], Any]
    kinematic: bool = False
    dense: bool = True
    linked: bool = True

    def read(self, motion: Motion) -> Array:
        """Its values, (n, ...)."""
        values = np.asarray(self.function(motion), dtype=float)
        if values.shape[:1] != motion.t.shape:
            raise ValueError(f"the quantity must have one entry for each of {len(motion.t)} times, got {values.shape}.")
        return values

    def describe(self) -> Any:
        """What identifies it."""
        return function_data(self.function)


def quantity(text: Any, system: System) -> Quantity | Measured:
    """Read a quantity of a system; a `ValueError` tells what is there instead."""
    if callable(text):
        return Measured(text)
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{shown(text)} is no quantity; write it as 'hose.positions[-1]' or 'energy.total'.")
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
    return replace(found, dense=_summed(found, system), linked=_linked(found, system))


def _head(rest: str, system: System) -> tuple[str, str, int]:
    """Kind and name of what a quantity belongs to, and where its name ends; the longest name wins."""
    members = {sensor.name: ("sensor", sensor.name) for sensor in system.sensors}
    members |= {f"sensors.{name}": ("sensor", name) for name in members}
    members |= {name: ("body", name) for name in system.names} | {name: ("rod", name) for name in system.rod_names}
    members |= {joint.name: ("joint", joint.name) for joint in system.joints if joint.name is not None}
    own = {"energy": ("energy", ""), "drift": ("drift", "")} | {name: ("motion", name) for name in WHOLE}
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
        raise ValueError(f"{text!r} needs a field, such as {f'{head}.{fields[0]}'!r}; it can be {_listed(fields)}.")
    if field not in fields:
        raise ValueError(f"{text!r}: {_unknown(field, fields, f'of {head!r} it can be')}")
    if kind == "joint" and field in ("coordinate", "rate"):
        names = system.joint(name).coordinate_names
        if len(names) != 1:
            has = f"has the coordinates {_listed(names)}" if names else "has no coordinates"
            raise ValueError(f"{text!r}: joint {name!r} {has}; take {f'{name}.{field}s[0]'!r}, or its force or torque.")
    return field


def _indices(text: str, brackets: str) -> tuple[Any, ...]:
    """Integers, and slices as begin, end and step."""
    first, *more = brackets.strip().removeprefix("[").removesuffix("]").split("]")
    if not brackets:
        return ()
    if more and ":" in brackets.rpartition("[")[0]:
        raise ValueError(f"{text!r}: after a slice brackets cannot follow; write one pair, as [0:3, 2].")
    found: list[Any] = []
    for part in ",".join([first, *(x.strip().removeprefix("[") for x in more)]).split(","):
        match = _INDEX.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"{text!r}: {part.strip()!r} is no index; write integers or slices, as [-1], [0:3, 2].")
        number, *ends = match.groups()
        if ends[2] is not None and int(ends[2]) == 0:
            raise ValueError(f"{text!r}: the step of {part.strip()!r} must not be 0.")
        found.append(int(number) if number is not None else tuple(None if x is None else int(x) for x in ends))
    return tuple(found)


def _summed(found: Quantity, system: System) -> bool:
    """Whether it is summed or counted over the steps: flows of energy, and angles over turns."""
    joint = found.name if found.kind == "joint" and found.field in ("coordinate", "coordinates") else None
    if found.kind == "sensor":
        sensor = next(s for s in system.sensors if s.name == found.name)
        joint = sensor.joint if isinstance(sensor, JointSensor) and sensor.quantity == "coordinate" else None
    if joint is not None:
        return any(name.startswith("angle") for name in system.joint(joint).coordinate_names)
    return found.kind == "energy" and found.field in FLOWS


def _linked(found: Quantity, system: System) -> bool:
    """Whether the sign of a row follows that of the row before."""
    if found.kind == "sensor":
        sensor = next(s for s in system.sensors if s.name == found.name)
        return isinstance(sensor, RotationSensor) and sensor.quantity == "quaternion"
    return found.kind == "body" and found.field == "quaternion"


def _unknown(name: str, known: Sequence[str], where: str) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.4) or get_close_matches(name.lower(), known, n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{shown(name)} is unknown; {where} {_listed(known)}.{hint}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 24} more" if len(names) > 24 else ""
    return ", ".join(map(repr, names[:24])) + more
