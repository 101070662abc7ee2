"""The pydantic schema of a model file: one model for each class, made of its constructor when it is first needed."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from gyrod.files.kinds import Faults, Kind, read, torn, unknown, wanted
from gyrod.files.reading import Path
from gyrod.files.registry import GROUPS, LISTS, PLAIN, VERSION, Field, classes, fields_of, key_of
from gyrod.files.series import SampleFile
from gyrod.model import ModelError, Samples, System
from gyrod.model.inputs import MOST_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    from gyrod._check import Data


_MODELS: dict[type, type[BaseModel]] = {}
#: Forms that have no unit.
PLAIN_FORMS = ("name", "word", "named", "flag", "whole")


def model_of(cls: type) -> type[BaseModel]:
    """The pydantic model of a class, made on first use."""
    from pydantic import ConfigDict, create_model

    if cls in _MODELS:
        return _MODELS[cls]

    arguments: dict[str, Any] = {
        name: (_annotation(cls, f), ... if f.required else None) for name, f in fields_of(cls).items()
    }
    _MODELS[cls] = create_model(cls.__name__, __config__=ConfigDict(extra="forbid", title=key_of(cls)), **arguments)
    return _MODELS[cls]


def _annotation(cls: type, field: Field) -> object:
    from pydantic import PlainValidator, WithJsonSchema
    from pydantic_core import PydanticCustomError

    def checked(value: object) -> object:
        if value is None and not field.required:
            return None
        try:
            return function_of_time(field.kind, value)
        except Faults as faults:
            raise PydanticCustomError("model_file", "{sentence}", {"sentence": "", "faults": faults.problems}) from None

    return Annotated[object, PlainValidator(checked), WithJsonSchema(_field_schema(cls, field))]


def function_of_time(kind: Kind, value: object) -> object:
    """What a field holds; functions of time may be inputs, of now or recorded, or samples."""
    if isinstance(value, dict) and kind.variable == "t":
        for key, cls in classes("input").items():
            if key in value:
                return _input(key, cls, value, kind)
    return read(kind, value)


def _input(key: str, cls: type, value: Mapping[str, object], kind: Kind) -> object:
    """An input, samples or a file of them in place of a function of time."""
    inside = value[key]
    if len(value) > 1 or not isinstance(inside, dict):
        raise Faults(((), f"an input is written as {{{key}: {{{next(iter(fields_of(cls)))}: ...}}}}."))
    long = [part for part in (inside.get("times"), inside.get("values")) if isinstance(part, list)]
    count = sum(len(x) if isinstance(x, list) else 1 for part in long for x in part)
    if count > MOST_NUMBERS:
        raise Faults(((key,), f"there are {count} numbers; at most {MOST_NUMBERS} are allowed."))
    values, problems = validate(cls, inside)
    problems += _measured(cls, inside, units_of(kind))
    if problems:
        raise Faults(*(((key, *path), sentence) for path, sentence in problems))
    try:
        return cls(**values)
    except ModelError as error:
        raise Faults(*(((key,), sentence) for sentence in error.problems)) from None


def units_of(kind: Kind) -> tuple[str, ...] | None:
    """Units of what a function of time returns; angles of orientations."""
    return ("rad",) if kind.form == "orientation" else kind.units


def _measured(cls: type, inside: Mapping[str, object], units: tuple[str, ...] | None) -> list[tuple[Path, str]]:
    """What is wrong with the units of samples: they are those of the place that takes them."""
    problems: list[tuple[Path, str]] = []
    for name in ("values", "noise") if cls in (Samples, SampleFile) else ():
        try:
            if inside.get(name) is not None and name in fields_of(cls):
                read(replace(fields_of(cls)[name].kind, units=units), inside[name])
        except Faults as faults:
            problems += [((name, *path), sentence) for path, sentence in faults.problems]
    return problems


def validate(cls: type, data: Mapping[str, object]) -> tuple[dict[str, Any], list[tuple[Path, str]]]:
    """Values of the fields that are given and sound, and all problems with their paths."""
    from pydantic import ValidationError

    known = fields_of(cls)
    given = {key: value for key, value in data.items() if value is not None or key not in known}
    try:
        made = model_of(cls).model_validate(given)
    except ValidationError as error:
        problems: list[tuple[Path, str]] = []
        for item in error.errors(include_url=False):
            problems += _sentences(cls, item, any(map(torn, given.values())))
        return {}, problems
    return {name: getattr(made, name) for name in given}, []


def _sentences(cls: type, item: ErrorDetails, cut: bool) -> list[tuple[Path, str]]:
    path = tuple(item["loc"])
    if item["type"] == "missing":
        field = fields_of(cls)[str(path[0])]
        return [((), f"{path[0]} is missing{_expected(field.kind)}.")]
    if item["type"] == "extra_forbidden":
        hint = " An expression with a comma needs quotes." if cut else ""
        return [(path, "the key " + unknown(path[-1], list(fields_of(cls))) + hint)]
    return [((*path, *inner), sentence) for inner, sentence in item["ctx"]["faults"]]


def _expected(kind: Kind) -> str:
    if kind.form in ("numbers", "law"):
        return f"; it must be {wanted(kind)}"
    return "; it must be a name" if kind.form == "name" else ""


# --- for editors -----------------------------------------------------------------------------------------------------


def json_schema() -> Data:
    """JSON Schema of model files, for editors that complete and check YAML."""
    definitions: Data = {
        "quantity": {
            "description": "A number in SI units, a quantity such as '12 mm', or a constant expression such as 'pi/2'.",
            "anyOf": [{"type": "number"}, {"type": "string"}],
        },
        "function": {
            "description": "A number in SI units, a quantity, or an expression such as '0.1*sin(2*pi*t)'.",
            "anyOf": [{"type": "number"}, {"type": "string"}],
        },
    }
    for group in GROUPS:
        for cls in GROUPS[group]:
            definitions[cls.__name__] = _class_schema(cls)
        definitions[f"{group}_of_a_model"] = _group_schema(group)
    lists = {
        name: {"type": "array", "items": {"$ref": f"#/$defs/{name}_of_a_model"}, "description": _LISTS[name]}
        for name in LISTS
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gyrod model",
        "description": "Rigid bodies and rods: what exists, and how it is to be simulated.",
        "type": "object",
        "required": ["gyrod"],
        "additionalProperties": False,
        "properties": {
            "gyrod": {"const": VERSION, "description": "Version of the format."},
            "gravity": {
                **_linked(_numbers_schema(fields_of(System)["gravity"].kind)),
                "description": "In m/s^2, constant or expressions of t.",
                "default": [0, 0, -9.81],
            },
            **lists,
            "run": {"$ref": "#/$defs/run_of_a_model"},
        },
        "$defs": definitions,
    }


_LISTS = {
    "bodies": "Rigid bodies.",
    "joints": "Joints between bodies, or a body and ground.",
    "rods": "Geometrically exact rods.",
    "forces": "What acts on bodies and rods.",
    "sensors": "Named outputs.",
    "attachments": "Where joints sit in their bodies, if that does not follow from the start.",
    "contacts": "What may touch what.",
}


def _group_schema(group: str) -> Data:
    refs: dict[str, Data] = {key: {"$ref": f"#/$defs/{cls.__name__}"} for key, cls in classes(group).items()}
    if group in PLAIN:
        return next(iter(refs.values()))
    return {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "properties": refs,
    }


def _class_schema(cls: type) -> Data:
    schema: dict[str, Any] = _linked(model_of(cls).model_json_schema())
    schema["description"] = summary(cls)
    for name, field in fields_of(cls).items():
        part = schema["properties"][name]
        part.pop("title", None)
        part.pop("default", None)
        default = plain_default(field)
        if default is not None:
            part["default"] = default
    return schema


def _linked(schema: object) -> Any:
    """The schema with its references: pydantic would look for what they lead to."""
    if isinstance(schema, list):
        return [_linked(x) for x in schema]
    if not isinstance(schema, dict):
        return schema
    if "x-ref" in schema:
        schema = {**schema, "$ref": f"#/$defs/{schema['x-ref']}"}
    return {key: _linked(x) for key, x in schema.items() if key != "x-ref"}


def plain_default(field: Field) -> object:
    """The default of a field as a file would have it; None if there is none."""
    default = field.default
    if isinstance(default, tuple):
        return list(default) or None
    return str(default) if isinstance(default, str) else default


def _field_schema(cls: type, field: Field) -> Data:
    kind = field.kind
    schema: Data
    if kind.form in ("object", "objects"):
        schema = {"x-ref": f"{kind.group}_of_a_model"}
        if kind.form == "objects":
            schema = {"anyOf": [schema, {"type": "array", "items": dict(schema)}]}
        if kind.instead is not None:
            schema = {"anyOf": [schema, _form_schema(kind.instead)]}
    else:
        schema = _form_schema(kind)
    about = description(cls, field.name)
    units = " or ".join(u for u in kind.units or () if u) if kind.form not in PLAIN_FORMS else ""
    text = " ".join(x for x in (about, f"[{units}]" if units else "") if x)
    return {**schema, "description": text} if text else schema


_PAIR = {"type": "array", "minItems": 2, "maxItems": 2}


def _form_schema(kind: Kind) -> Data:
    text: Data = {"type": "string"}
    number = {"x-ref": "quantity"}
    numbers = _numbers_schema(kind)
    euler, along = (
        {"type": "object", "properties": {name: form}, "required": [name], "additionalProperties": False}
        for name, form in (("euler", _PAIR), ("along", numbers))
    )
    words: Data = {"enum": list(kind.words)}
    forms: dict[str, Data] = {
        "numbers": numbers,
        "law": {
            "anyOf": [{"x-ref": "function"}, {"type": "array", "items": text, "minItems": 3, "maxItems": 3},
                      {"x-ref": "input_of_a_model"}]
        },
        "limits": {**_PAIR, "items": {"anyOf": [number, {"type": "null"}]}},
        "word": words,
        "name": text,
        "names": {"anyOf": [text, {"type": "array", "items": text}]},
        "flag": {"type": "boolean"},
        "whole": {"type": "integer"},
        "orientation": {"anyOf": [numbers, euler, along]},
        "place": {"anyOf": [number, {"type": "array"}]},
        "points": {"type": "array", "minItems": 2},
        "family": {"anyOf": [words, _PAIR]},
        "named": {"anyOf": [words, _parts_schema(kind)]},
        "table": {"anyOf": [numbers, {"type": "object", "additionalProperties": number}]} if kind.shapes else
        {"type": "object", "additionalProperties": number},
        "color": {"anyOf": [text, {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}]},
        "anything": {},
    }  # fmt: skip
    return forms[kind.form]


def _parts_schema(kind: Kind) -> Data:
    parts = {name: _form_schema(part) for name, part in (kind.parts or {}).items()}
    return {"type": "object", "properties": parts, "additionalProperties": False}


def _numbers_schema(kind: Kind) -> Data:
    leaf: Data = {"x-ref": "quantity" if kind.variable is None else "function"}
    if kind.positive:
        leaf = {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string"}]}
    options: list[Data] = [{"enum": list(kind.words)}] if kind.words else []
    for shape in kind.shapes:
        part = leaf
        for count in reversed(shape):
            part = {"type": "array", "items": part}
            if count >= 0:
                part |= {"minItems": count, "maxItems": count}
        options.append(part)
    if kind.variable == "t":
        options.append({"x-ref": "input_of_a_model"})
    return options[0] if len(options) == 1 else {"anyOf": options}


# --- from docstrings -------------------------------------------------------------------------------------------------


def summary(cls: type) -> str:
    """The first paragraph of a docstring, without its markup."""
    return _clean((inspect.getdoc(cls) or "").split("\n\n")[0])


def description(cls: type, name: str) -> str:
    """What the section of parameters in a docstring says about a field; empty if it says nothing."""
    match = re.search(r"Parameters\n-+\n(.*?)(?:\n\n|\Z)", inspect.getdoc(cls) or "", re.DOTALL)
    if match is None:
        return ""
    entries = re.findall(r"^(\w[\w, ]*)\n((?:    .*\n?)+)", match[1], re.MULTILINE)
    return next((_clean(text) for names, text in entries if name in re.split(r",\s*", names)), "")


def _clean(text: str) -> str:
    return " ".join(text.replace("`", "").split())


# --- for the manual --------------------------------------------------------------------------------------------------

_TITLES = {
    "bodies": "Bodies", "rods": "Rods", "section": "Sections: `section`", "material": "Materials: `material`",
    "initial": "Initial shapes: `initial`", "end": "Ends: `start` and `end`", "damping": "Damping: `damping`",
    "joints": "Joints", "forces": "Forces", "sensors": "Sensors", "shape": "What bodies look like: `shape`",
    "contacts": "Contacts", "friction": "Friction of contacts: `friction`",
    "surface": "What contacts touch: `b`, one of these or of `shape`",
    "input": "Inputs and samples", "attachments": "Attachments", "run": "The run: `run`",
}  # fmt: skip


def reference() -> str:
    """All keys of the format as tables of Markdown."""
    parts: list[str] = []
    told: set[type] = set()
    for group, title in _TITLES.items():
        parts += [f"### {title}", "", "| key | fields | |", "|---|---|---|"]
        for key, cls in classes(group).items():
            if cls in told:
                continue
            told.add(cls)
            fields = ", ".join(map(_told, fields_of(cls).values())) or "none"
            about = (inspect.getdoc(cls) or "").split("\n\n")[0]
            about = " ".join(about.split()).replace("``", "`").replace("|", r"\|")
            parts.append(f"| `{group if group in PLAIN else key}` | {fields} | {about} |")
        parts.append("")
    return "\n".join(parts)


def _told(field: Field) -> str:
    """A field with its unit and variable."""
    kind = field.kind
    plain = kind.form in (*PLAIN_FORMS, "object", "objects")
    units = "" if plain else " or ".join(u for u in kind.units or () if u)
    words = " / ".join(kind.words)
    if kind.parts is not None:
        words += f", or with parts: {{{', '.join(kind.parts)}}}"
    notes = [x for x in (words, units, f"f({kind.variable})" if kind.variable else "") if x]
    name = f"**`{field.name}`**" if field.required else f"`{field.name}`"
    return f"{name} ({', '.join(notes)})" if notes else name
