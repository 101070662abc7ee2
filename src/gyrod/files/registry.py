"""Which classes a model file knows, by which names, and of which kind their fields are.

Names and defaults of fields come from the constructors. A class joins a file format by its place in one of the
tuples of the model; a field by its line in `KINDS`, under its own name or under class and name.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from gyrod import model
from gyrod.files.kinds import Kind
from gyrod.files.options import RunOptions
from gyrod.files.options import kinds as run_kinds
from gyrod.model import inputs
from gyrod.model.fields import kinds
from gyrod.rotations import FRAMES

#: Version of the format.
VERSION = 1

_FORCES: tuple[type[Any], ...] = (*model.FORCES, *model.LOADS, *model.ELEMENTS, model.RotatingFrame)

#: Classes that may stand in a place.
GROUPS: dict[str, tuple[type[Any], ...]] = {
    "bodies": (model.Body,),
    "joints": model.JOINTS,
    "rods": (model.Rod,),
    "forces": tuple(c for c in _FORCES if c not in (model.UserForce, model.CForce)),
    "sensors": model.SENSORS,
    "attachments": (model.Attachment,),
    "section": model.SECTIONS,
    "material": (model.Material,),
    "damping": (model.Damping,),
    "end": model.ENDS,
    "initial": model.SHAPES,
    "shape": model.SOLIDS,
    "input": (inputs.Input, inputs.Recorded),
    "run": (RunOptions,),
}
#: Places where one class only can stand, so that its name is not written.
PLAIN = ("bodies", "rods", "attachments", "material", "damping", "run")
#: Lists of the system.
LISTS = ("bodies", "joints", "rods", "forces", "sensors", "attachments")
#: What exists in Python only.
PYTHON_ONLY = ("user_force", "c_force")


def _number(*units: str, variable: str | None = None, positive: bool = False) -> Kind:
    return Kind(units=units or ("",), variable=variable, positive=positive)


def _vector(*units: str, variable: str | None = None, needs_function: bool = False) -> Kind:
    return Kind(shapes=((3,),), units=units or ("",), variable=variable, needs_function=needs_function)


def _axes(*units: str, count: int = 3) -> Kind:
    """One number for all axes, or one for each."""
    return Kind(shapes=((), (count,)), units=units or ("",), spread=True)


def _words(*words: str) -> Kind:
    return Kind("word", words=words)


def _object(group: str) -> Kind:
    return Kind("object", group=group)


NAME, FLAG, WHOLE = Kind("name"), Kind("flag"), Kind("whole")
ORIENTATION = Kind("orientation", shapes=((3,), (4,), (3, 3)))
SPAN = Kind(shapes=((2,),))

#: Kinds of fields by name; where a name means several things, by class and name.
KINDS: dict[str, Kind] = {
    # names
    "name": NAME, "a": NAME, "b": NAME, "body": NAME, "rod": NAME, "rods": Kind("names"),
    "mass": _number("kg", positive=True), "angular_velocity": _vector("rad/s"),
    # joints
    "at": _vector("m"), "at_a": _vector("m"), "at_b": _vector("m"), "axis": _vector(), "stiffness": _number("N m/rad"),
    # forces
    "force": _vector("N", variable="t"), "torque": _vector("N m", variable="t"), "frame": _words(*FRAMES),
    "length": _number("m", positive=True), "SpringDamper.stiffness": _number("N/m"),
    "SpringDamper.damping": _number("N s/m"), "Bushing.stiffness": _axes("N/m"), "Bushing.damping": _axes("N s/m"),
    "RodLoad.at": _number(), "RodLoad.force": _vector("N", "N/m", variable="t"),
    "RodLoad.moment": _vector("N m", "N", variable="t"), "follow": FLAG, "span": SPAN,
    "profile": Kind(shapes=((), (3,)), variable="s", needs_function=True),
    "coefficient": _axes("N s/m^2"), "rotational": _axes("N s"), "PointMass.at": _number(),
    "Foundation.stiffness": _axes("N/m^2"), "Foundation.damping": _axes("N s/m^2"),
    **{f"{c}.{x}": Kind("place", shapes=((3,),), units=("m",))
       for c in ("Cable", "SpringDamper", "Bushing") for x in ("at_a", "at_b")},
    "Cable.stiffness": _number("N/m"), "Cable.damping": _number("N s/m"), "smoothing": _number("m"),
    "points": Kind("points"), "tension": _number("N", variable="t"),
    "point": _vector("m"), "normal": _vector(), "center": _vector("m"), "radius": _number("m", positive=True),
    "thickness": _number("m"),
    **{f"{c.__name__}.stiffness": _number("N/m^2") for c in model.OBSTACLES},
}  # fmt: skip
KINDS |= {f"RunOptions.{name}": kind for name, kind in run_kinds().items()}
ANYTHING = Kind("anything")


@dataclass(frozen=True)
class Field:
    """A field of a class: name, kind, default, and whether it must be given."""

    name: str
    kind: Kind
    default: Any
    required: bool


_FIELDS: dict[type[Any], dict[str, Field]] = {}


def fields_of(cls: type[Any]) -> dict[str, Field]:
    """Fields of a class as its constructor has them, by name."""
    if cls in _FIELDS:
        return _FIELDS[cls]
    found = _FIELDS[cls] = {}
    declared = kinds(cls)
    for name, parameter in inspect.signature(cls).parameters.items():
        kind = declared.get(name) or KINDS.get(f"{cls.__name__}.{name}") or KINDS.get(name, ANYTHING)
        required = parameter.default is inspect.Parameter.empty
        found[name] = Field(name, kind, None if required else parameter.default, required)
    return found


def key_of(cls: type[Any]) -> str:
    """Name of a class in a file: RodLoad is rod_load."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


@cache
def classes(group: str) -> dict[str, type[Any]]:
    """Classes of a group by their names in a file."""
    return {key_of(cls): cls for cls in GROUPS[group]}
