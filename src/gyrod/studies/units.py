"""SI units of parameters and outputs, as texts for labels: "" where none is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gyrod.files.kinds import Kind
from gyrod.files.registry import fields_of
from gyrod.model import Rod, System, changes
from gyrod.model.errors import Description, ModelError
from gyrod.motion.readings import quantity

if TYPE_CHECKING:
    from gyrod._check import Data
    from gyrod.studies.plan import Described

#: What has fields: a system, or the arguments by which cables are laid.
Whole = System | Mapping[str, object]

_RAISED = str.maketrans({"2": "²", "3": "³", "4": "⁴"})


def units(description: Described, fields: Whole | None, system: System | None) -> dict[str, str]:
    """Units of the parameters, which are ``fields`` of a model, and outputs of a study, as far as they are known."""
    if system is None or fields is None:
        return {}
    found = {name: parameter_unit(fields, name) for name in description["vary"]}
    found |= {name: output_unit(told, system) for name, told in description["outputs"].items()}
    return {name: unit for name, unit in found.items() if unit}


def kind_of(whole: Whole, path: str) -> Kind | None:
    """What a field of a system, or of cables, holds in a file; None where a path leads to nothing that a file has."""
    kind: Kind | None = None
    value: object = getattr(whole, "original", whole)
    try:
        for step in changes.address(value, path):
            if isinstance(step, str):
                kind = _field(value, step)
            value = changes._child(value, step, path)
    except (ModelError, ValueError):
        return None
    return kind


def _field(value: object, name: str) -> Kind | None:
    owner = type(value) if isinstance(value, Description) else Rod  # arguments of a route are fields of its rod
    field = fields_of(owner).get(name) if isinstance(value, Description | Mapping) else None
    return None if field is None else field.kind


def parameter_unit(whole: Whole, path: str) -> str:
    """The unit of a field of a system, or of cables."""
    kind = kind_of(whole, path)
    units = () if kind is None or kind.form not in ("numbers", "law", "limits", "place") else kind.units or ()
    return units[0].replace("^", "").translate(_RAISED) if len(units) == 1 else ""


def output_unit(told: Data, system: System) -> str:
    """The unit of what an output keeps, from its description."""
    if told["output"] == "Crossing":
        return "s"
    if not isinstance(told["quantity"], str) or told.get("give") == "place":  # a function of the user, a fraction
        return ""
    try:
        return quantity(told["quantity"], system).unit
    except ValueError:
        return ""
