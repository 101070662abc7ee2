"""Which classes a model file knows, by which names, and of which kind their fields are.

A class joins the file format by its place in one of the tuples of the model; its fields declare what they hold.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from functools import cache

from gyrod import model
from gyrod.files.kinds import Kind
from gyrod.files.options import RunOptions
from gyrod.files.options import kinds as run_kinds
from gyrod.files.series import SampleFile
from gyrod.model import inputs
from gyrod.model.fields import kinds

#: Version of the format.
VERSION = 1

_FORCES: tuple[type, ...] = (*model.FORCES, *model.LOADS, *model.ELEMENTS, model.RotatingFrame)

#: Classes that may stand in a place.
GROUPS: dict[str, tuple[type, ...]] = {
    "bodies": (model.Body,),
    "joints": model.JOINTS,
    "rods": (model.Rod,),
    "forces": tuple(c for c in _FORCES if c not in (model.UserForce, model.CForce)),
    "sensors": model.SENSORS,
    "attachments": (model.Attachment,),
    "contacts": (model.Contact,),
    "section": model.SECTIONS,
    "material": (model.Material,),
    "damping": (model.Damping,),
    "end": model.ENDS,
    "initial": model.SHAPES,
    "shape": model.SOLIDS,
    "surface": (*model.BOUNDARIES, *model.SOLIDS),
    "friction": (model.Friction,),
    "input": (inputs.Input, inputs.Recorded, model.Samples, SampleFile),
    "run": (RunOptions,),
}
#: Places where one class only can stand, so that its name is not written.
PLAIN = ("bodies", "rods", "attachments", "contacts", "material", "damping", "friction", "run")
#: Lists of the system.
LISTS = ("bodies", "joints", "rods", "forces", "sensors", "attachments", "contacts")
#: What exists in Python only.
PYTHON_ONLY = ("user_force", "c_force")


@dataclass(frozen=True)
class Field:
    """A field of a class: name, kind, default, and whether it must be given."""

    name: str
    kind: Kind
    default: object
    required: bool


_FIELDS: dict[type, dict[str, Field]] = {}


def fields_of(cls: type) -> dict[str, Field]:
    """Fields of a class as its constructor has them, by name."""
    if cls in _FIELDS:
        return _FIELDS[cls]
    found = _FIELDS[cls] = {}
    known = run_kinds() if cls is RunOptions else kinds(cls)
    for name, parameter in inspect.signature(cls).parameters.items():
        required = parameter.default is inspect.Parameter.empty
        found[name] = Field(name, known[name], None if required else parameter.default, required)
    return found


def key_of(cls: type) -> str:
    """Name of a class in a file: RodLoad is rod_load."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


@cache
def classes(group: str) -> dict[str, type]:
    """Classes of a group by their names in a file."""
    return {key_of(cls): cls for cls in GROUPS[group]}
