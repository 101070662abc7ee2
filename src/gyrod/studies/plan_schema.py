"""The JSON Schema of plan files, for editors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gyrod import files
from gyrod.studies import design
from gyrod.studies.plan_files import DISTRIBUTIONS, RANGE
from gyrod.studies.plan_values import FIELDS
from gyrod.studies.solving import STARTS

if TYPE_CHECKING:
    from gyrod._check import Data

NUMBER: Data = {"$ref": "#/$defs/quantity"}
TEXT: Data = {"type": "string"}
WHOLE: Data = {"type": "integer", "minimum": 1}


def _fields(names: tuple[str, ...], required: tuple[str, ...], **kinds: object) -> Data:
    properties = {name: kinds.get(name, NUMBER) for name in names}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _outputs() -> list[Data]:
    """A quantity, or one of the outputs with its quantity and what may stand beside it."""
    times = {"anyOf": [WHOLE, {"type": "array", "items": NUMBER}]}
    places = {"anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}, "minItems": 1}]}
    beside = {
        "of": TEXT, "at": places, "over": {"enum": ["rod"]}, "give": {"enum": ["value", "place"]}, "times": times,
        "direction": {"enum": [-1, 0, 1]}, "which": {"type": "integer"},
    }  # fmt: skip
    found = [TEXT]
    for key, names in FIELDS.items():
        long = _fields(names, ("of", "times") if key == "history" else ("of",), **beside)
        found.append(_fields((key,), (key,), **{key: long if key == "history" else {"anyOf": [TEXT, long]}}))
    return found


def plan_schema() -> Data:
    """JSON Schema of plan files, for editors that complete and check YAML."""
    model = files.json_schema()

    def pair(names: tuple[str, str]) -> Data:
        items = {
            "type": "array",
            "items": NUMBER,
            "minItems": 2,
            "maxItems": 2,
            "description": ", ".join(names),
        }
        return {"anyOf": [items, _fields(names, names)]}

    values = {"type": "array", "minItems": 1}
    vary = [values, _fields(("values",), ("values",), values=values)]
    vary.append(_fields(RANGE, RANGE[:3], steps=WHOLE, spacing={"enum": ["even", "log"]}))
    vary += [_fields((key,), (key,), **{key: pair(names)}) for key, (_, names, _) in DISTRIBUTIONS.items()]
    inline = {k: x for k, x in model.items() if k not in ("$schema", "$defs", "title", "required")}
    return {
        "$schema": model["$schema"],
        "title": "gyrod plan",
        "description": "A study: a model, what varies in it, and what is kept of every run.",
        "type": "object",
        "required": ["model", "vary", "outputs"],
        "additionalProperties": False,
        "properties": {
            "gyrod": {"const": 1, "description": "Version of the format."},
            "model": {
                "anyOf": [{**TEXT, "description": "Path of a model file, from the folder of the plan on."}, inline]
            },
            "until": {**NUMBER, "description": "Time to simulate, s; else as the model says."},
            "run": {"$ref": "#/$defs/run_of_a_model"},
            "vary": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"anyOf": vary},
                "description": "Fields of the model, as hose.material.young: lists of values or distributions.",
            },
            "samples": {**WHOLE, "description": "How often to draw from the distributions."},
            "sampler": {"enum": list(design.SAMPLERS)},
            "seed": {"type": "integer", "minimum": 0},
            "design": {"enum": list(design.LAYOUTS), "description": "All combinations of lists, or row by row."},
            "outputs": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"anyOf": _outputs()},
                "description": "What is kept of every run, by name.",
            },
            "chunk": {**WHOLE, "description": "Runs in a file."},
            "engine": {**TEXT, "description": "local, threads, processes, serial, dask, or tcp://address:port."},
            "workers": WHOLE,
            "lanes": WHOLE,
            "at_rest": {"type": "boolean", "description": "Equilibria in place of motions."},
            "start": {"enum": list(STARTS), "description": "Where motions start: as the model says, or at rest."},
            "folder": {**TEXT, "description": "Where results go, from the folder of the plan on."},
        },
        "$defs": model["$defs"],
    }
