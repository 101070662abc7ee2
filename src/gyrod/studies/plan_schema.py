"""The JSON Schema of plan files, for editors."""

from __future__ import annotations

from typing import Any

from gyrod import files
from gyrod.studies import design
from gyrod.studies.plan_files import DISTRIBUTIONS, RANGE
from gyrod.studies.plan_values import FIELDS
from gyrod.studies.solving import STARTS


def plan_schema() -> dict[str, Any]:
    """JSON Schema of plan files, for editors that complete and check YAML."""
    model = files.json_schema()
    number_or_text = {"$ref": "#/$defs/quantity"}
    text, whole = {"type": "string"}, {"type": "integer", "minimum": 1}

    def fields(names: tuple[str, ...], required: tuple[str, ...], **kinds: Any) -> dict[str, Any]:
        properties = {name: kinds.get(name, number_or_text) for name in names}
        return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}

    def pair(names: tuple[str, str]) -> dict[str, Any]:
        items = {
            "type": "array",
            "items": number_or_text,
            "minItems": 2,
            "maxItems": 2,
            "description": ", ".join(names),
        }
        return {"anyOf": [items, fields(names, names)]}

    values = {"type": "array", "minItems": 1}
    vary = [values, fields(("values",), ("values",), values=values)]
    vary.append(fields(RANGE, RANGE[:3], steps=whole, spacing={"enum": ["even", "log"]}))
    vary += [fields((key,), (key,), **{key: pair(names)}) for key, (_, names, _) in DISTRIBUTIONS.items()]
    times = {"anyOf": [whole, {"type": "array", "items": number_or_text}]}
    places = {"anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}, "minItems": 1}]}
    beside = {
        "of": text, "at": places, "over": {"enum": ["rod"]}, "give": {"enum": ["value", "place"]}, "times": times,
        "direction": {"enum": [-1, 0, 1]}, "which": {"type": "integer"},
    }  # fmt: skip
    kept = [text]
    for key, names in FIELDS.items():
        whole_form = fields(names, ("of", "times") if key == "history" else ("of",), **beside)
        form = whole_form if key == "history" else {"anyOf": [text, whole_form]}
        kept.append(fields((key,), (key,), **{key: form}))
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
                "anyOf": [{**text, "description": "Path of a model file, from the folder of the plan on."}, inline]
            },
            "until": {**number_or_text, "description": "Time to simulate, s; else as the model says."},
            "run": {"$ref": "#/$defs/run_of_a_model"},
            "vary": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"anyOf": vary},
                "description": "Fields of the model, as hose.material.young: lists of values or distributions.",
            },
            "samples": {**whole, "description": "How often to draw from the distributions."},
            "sampler": {"enum": list(design.SAMPLERS)},
            "seed": {"type": "integer", "minimum": 0},
            "design": {"enum": list(design.LAYOUTS), "description": "All combinations of lists, or row by row."},
            "outputs": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"anyOf": kept},
                "description": "What is kept of every run, by name.",
            },
            "chunk": {**whole, "description": "Runs in a file."},
            "engine": {**text, "description": "local, threads, processes, serial, dask, or tcp://address:port."},
            "workers": whole,
            "lanes": whole,
            "at_rest": {"type": "boolean", "description": "Equilibria in place of motions."},
            "start": {"enum": list(STARTS), "description": "Where motions start: as the model says, or at rest."},
            "folder": {**text, "description": "Where results go, from the folder of the plan on."},
        },
        "$defs": model["$defs"],
    }
