"""From a system to plain data, and from data to text that people read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod.files.kinds import Kind
from gyrod.files.options import RunOptions
from gyrod.files.reading import Path, dotted
from gyrod.files.registry import GROUPS, LISTS, PLAIN, VERSION, Field, fields_of, key_of
from gyrod.model import SOLIDS, Bent, Body, CForce, Free, ModelError, Rod, RodLoad, Samples, System, UserForce
from gyrod.model.errors import Derived, Description
from gyrod.model.expressions import LONGEST, Expression, ExpressionVector
from gyrod.model.inputs import MOST_NUMBERS, Input, Live, Recorded
from gyrod.runs.formulations import Formulation

if TYPE_CHECKING:
    from gyrod._check import AnyArray, Data

#: Widest line of a file.
WIDTH = 100

_IDENTITY = (1.0, 0.0, 0.0, 0.0)


#: Anything; a method hides the name of the class.
Thing = object


def to_data(system: System, run: RunOptions | None = None) -> Data:
    """The system as plain data (dictionaries, lists, numbers, texts), of which `from_data` makes an equal one.

    Only what differs from the defaults is there. Python functions cannot be written: a `ModelError` names them all.
    Of an assembled system it is the one that it was assembled from.
    """
    if not isinstance(system, System):
        raise ValueError(f"system must be a System, got {type(system).__name__}.")
    system = system.original
    writer = _Writer()
    data: Data = {"gyrod": VERSION}
    gravity = system.gravity if system.gravity_function is None else system.gravity_function
    if not _same(gravity, (0.0, 0.0, -9.81)):
        data["gravity"] = writer.value(gravity, fields_of(System)["gravity"].kind, ("gravity",))
    for name in ("bodies", "rods", "joints", "forces", "contacts", "sensors", "attachments"):
        members = getattr(system, name)
        if members:
            data[name] = [writer.object(x, name, (name, i)) for i, x in enumerate(members)]
    if run is not None and (options := writer.object(run, "run", ("run",))):
        data["run"] = options
    if writer.problems:
        raise ModelError(writer.problems)
    return data


class _Writer:
    def __init__(self) -> None:
        self.problems: list[str] = []

    def object(self, thing: Thing, group: str, path: Path) -> Thing:
        cls = type(thing)
        if isinstance(thing, (UserForce, CForce)) or cls not in GROUPS[group]:
            label = getattr(thing, "label", cls.__name__)
            self.problems.append(
                f"{dotted(path)}, {label}: it exists in Python only, and a file cannot hold it; take a force of gyrod "
                "with gd.Expression, or keep the model in Python."
            )
            return None
        fields = {
            name: self.value(getattr(thing, name), field.kind, (*path, name))
            for name, field in fields_of(cls).items()
            if not _implied(thing, field)
        }
        return fields if group in PLAIN else {key_of(cls): fields}

    def value(self, value: Any, kind: Kind, path: Path) -> Thing:
        if kind.instead is not None and not isinstance(value, Description):
            return self.value(value, kind.instead, path)
        if kind.form in ("object", "objects") and value is not None:
            if isinstance(value, tuple):
                return [self.object(x, kind.group, (*path, i)) for i, x in enumerate(value)]
            return self.object(value, kind.group, path)
        if isinstance(value, (Input, Live, Recorded)):
            return self.input(value, path)
        if isinstance(value, Samples):
            return self.samples(value, path)
        if isinstance(value, (Expression, ExpressionVector)):
            return self.expression(value, kind, path)
        if callable(value):
            wanted = "gd.ExpressionVector" if () not in kind.shapes else "gd.Expression"
            self.problems.append(
                f"{dotted(path)} is a Python function, which a file cannot hold; write it as "
                f"{wanted}, a function of {kind.variable or 't'} as text."
            )
            return None
        if isinstance(value, np.ndarray):
            return _compact(np.asarray(value), kind)
        if isinstance(value, Formulation):
            value = {"name": value.name, **value.parts}
        if isinstance(value, Mapping):
            return {str(key): self.value(x, Kind(), (*path, key)) for key, x in value.items()}
        if kind.form == "names" and isinstance(value, tuple) and len(value) == 1:
            return str(value[0])
        if isinstance(value, (tuple, list)):
            return [self.value(x, kind, (*path, i)) for i, x in enumerate(value)]
        if isinstance(value, (bool, int, str)) or value is None:
            return str(value) if isinstance(value, str) else value
        return float(value)

    def input(self, value: Input | Live | Recorded, path: Path) -> Thing:
        """An input, as it is, as it is now in a stepper, or as it was over time."""
        if isinstance(value, Recorded) and value.size > MOST_NUMBERS:
            self.problems.append(
                f"{dotted(path)}, the recorded input {value.name!r}, has {value.size} numbers; a file takes "
                f"{MOST_NUMBERS}. Record fewer steps."
            )
            return None
        return self.object(value.now if isinstance(value, Live) else value, "input", path)

    def samples(self, value: Samples, path: Path) -> Thing:
        """A series, number by number: the file needs no other one."""
        if value.count > MOST_NUMBERS:
            self.problems.append(
                f"{dotted(path)} = {value!r} has {value.count} numbers; a file takes {MOST_NUMBERS}. Leave out samples."
            )
            return None
        return self.object(value, "input", path)

    def expression(self, value: Expression | ExpressionVector, kind: Kind, path: Path) -> Thing:
        if kind.variable is not None and value.variable != kind.variable and not _constant(value):
            self.problems.append(
                f"{dotted(path)} = {value!r} is a function of {value.variable!r}; in a file it must be one of "
                f"{kind.variable!r}."
            )
        parts = (value,) if isinstance(value, Expression) else value.components
        for part in parts:
            if isinstance(part, Expression) and len(part.text) > LONGEST:
                self.problems.append(
                    f"{dotted(path)} is an expression of {len(part.text)} characters; a file takes {LONGEST}."
                )
        if isinstance(value, Expression):
            return value.text
        return [x.text if isinstance(x, Expression) else x for x in value.components]


def _constant(value: Expression | ExpressionVector) -> bool:
    if isinstance(value, Expression):
        return value.constant is not None
    return not any(isinstance(x, Expression) for x in value.components)


def _implied(thing: object, field: Field) -> bool:
    """Whether a field is what it is without being given."""
    value = getattr(thing, field.name)
    if value is None or isinstance(value, Derived):
        return True
    if isinstance(thing, Rod) and field.name in ("start", "end"):
        return isinstance(value, Free)
    if isinstance(thing, Rod) and field.name == "segments":
        return thing.grid is not None
    if isinstance(thing, Rod) and field.name == "discretization":
        return True  # that with a degree, or that without
    if isinstance(thing, RodLoad) and field.name == "at":
        return thing.span is None and _same(value, 1.0)
    if field.name == "orientation" and isinstance(thing, (Body, *SOLIDS)):
        return _same(value, _IDENTITY)
    if field.name == "orientation" and isinstance(thing, Bent):
        return _same(value, Bent((0.0, 0.0, 0.0)).orientation)
    if field.required:
        return False
    return isinstance(value, tuple) and not value if field.default is None else _same(value, field.default)


def _same(value: object, default: object) -> bool:
    """Whether a value is the default to the last bit."""
    if callable(value):
        return False
    if isinstance(value, np.ndarray):
        wanted = np.broadcast_to(np.asarray(default, dtype=float), value.shape)
        return np.asarray(value).tobytes() == wanted.tobytes()
    return repr(value) == repr(default) if isinstance(value, float) else bool(value == default)


def _compact(value: AnyArray, kind: Kind) -> object:
    """A diagonal in place of a diagonal matrix, one number in place of equal ones, where that means the same."""
    if kind.spread and len({x.tobytes() for x in value}) == 1:
        return value[0].item()
    n = len(value) if value.ndim else 0
    if kind.form == "numbers" and value.ndim == 2 and {(n,), (n, n)} <= set(kind.shapes):
        diagonal = np.diag(value)
        if np.diag(diagonal).tobytes() == value.tobytes():
            return diagonal.tolist()
    return value.tolist()


# --- text ------------------------------------------------------------------------------------------------------------

_PLAIN_TEXT = re.compile(r"[A-Za-z_](?:[\w .-]*[\w-])?", re.ASCII)
_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


def yaml_text(data: dict[str, Any]) -> str:
    """YAML: one line for each field, vectors and short objects in brackets."""
    lines: list[str] = []
    for key, value in data.items():
        if key in LISTS:
            lines += ["", f"{key}:"]
            for item in value:
                lines += _item(item, 2)
        elif key == "run":
            lines += ["", *_entry(key, value, 0)]
        else:
            lines += _entry(key, value, 0)
    return "\n".join(lines) + "\n"


def _item(value: object, indent: int) -> list[str]:
    """A member of a list, behind a dash."""
    short = _flow(value)
    if not isinstance(value, dict):
        return [f"{' ' * indent}- {short}"]
    tagged = len(value) == 1 and isinstance(next(iter(value.values())), dict)
    if not tagged and indent + 2 + len(short) <= WIDTH:
        return [f"{' ' * indent}- {short}"]
    lines = [line for key, part in value.items() for line in _entry(key, part, indent + 2)]
    return [f"{' ' * indent}- {lines[0][indent + 2 :]}", *lines[1:]]


def _entry(key: str, value: object, indent: int) -> list[str]:
    """A key with its value, in one line if it fits."""
    begin = f"{' ' * indent}{_scalar(key)}:"
    short = _flow(value)
    if len(begin) + 1 + len(short) <= WIDTH or not value or not isinstance(value, (dict, list)):
        return [f"{begin} {short}"]
    if isinstance(value, dict):
        return [begin, *(line for k, part in value.items() for line in _entry(k, part, indent + 2))]
    return [begin, *(line for part in value for line in _item(part, indent + 2))]


def _flow(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(k)}: {_flow(x)}" for k, x in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _scalar(value)


def _scalar(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, int):
        return str(value)
    text = str(value)
    if _PLAIN_TEXT.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def _number(value: float) -> str:
    """The shortest text that reads back as the same number, in a form that is one for every reader of YAML."""
    if value == int(value) and abs(value) < 1e5 and (value != 0.0 or math.copysign(1.0, value) > 0.0):
        return str(int(value))
    if 1e-3 <= abs(value) < 1e5 or value == 0.0:
        return repr(value)
    return np.format_float_scientific(value, trim="0", exp_digits=1)


def _escaped(c: str) -> str:
    if c in '"\\':
        return f"\\{c}"
    if c.isprintable():
        return c
    return f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"


def json_text(data: Data) -> str:
    """JSON, with short values in one line."""
    return _json(data, 0) + "\n"


def _json(value: object, indent: int) -> str:
    short = _short_json(value)
    if not isinstance(value, (dict, list)) or not value or (indent and indent + len(short) <= WIDTH):
        return short
    pad = " " * (indent + 2)
    if isinstance(value, dict):
        parts = [f"{pad}{_quoted(k)}: {_json(x, indent + 2)}" for k, x in value.items()]
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    return "[\n" + ",\n".join(pad + _json(x, indent + 2) for x in value) + "\n" + " " * indent + "]"


def _short_json(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(k)}: {_short_json(x)}" for k, x in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_short_json, value)) + "]"
    if isinstance(value, str):
        return _quoted(value)
    return _number(value) if isinstance(value, float) else json.dumps(value)


def _quoted(text: str) -> str:
    """A text as JSON: readable as it is, but for what no text file holds."""
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else json.dumps(c)[1:-1] for c in text) + '"'
