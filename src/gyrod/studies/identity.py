"""What identifies a model and its functions, in plain types: the same in every process, whatever file it lies in."""

from __future__ import annotations

import ast
import dis
import enum
import functools
import hashlib
import inspect
import json
import linecache
import math
import sys
import textwrap
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod.motion import Motion

if TYPE_CHECKING:
    from gyrod._check import AnyArray, Data

#: Parts inside of parts beyond so many are named by their type.
DEPTH = 12
#: What functions carry with them is given by a checksum if it is longer than so many characters.
LONG = 2000


#: Anything; a method hides the name of the class.
Thing = object


def plain(value: object) -> object:
    """Plain JSON types that identify a value; of what cannot be identified only the type."""
    return _Walk().plain(value)


def function_data(function: object) -> Data:
    """A function by module, qualified name, source, and what it carries with it or reads of its module."""
    return _Walk().function(function)


class _Walk:
    """One walk through a value and all that belongs to it: what is met again is not written again."""

    def __init__(self) -> None:
        #: By id, with the things themselves: an id is free again once its thing is gone.
        self.seen: dict[int, Thing] = {}

    def plain(self, value: Thing, depth: int = 0) -> Any:
        if isinstance(value, np.generic) and value.dtype.kind in "biufcSU":
            value = value.item()
        if isinstance(value, enum.Enum):
            return {"type": _kind(type(value)), "name": value.name, "value": self.plain(value.value, depth + 1)}
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else str(float(value))  # JSON has no infinity
        if isinstance(value, (complex, bytes, range, slice, Path, Fraction, Decimal, date, time, timedelta)):
            return {"type": _kind(type(value)), "value": str(value)}
        if depth > DEPTH:
            return {"type": _kind(type(value))}
        if isinstance(value, np.ndarray):
            function = getattr(value, "function", None)
            numbers = self._array(value, depth)
            return numbers if function is None else {"start": numbers, "function": self.plain(function, depth + 1)}
        return self._parts(value, depth + 1)

    def _array(self, value: AnyArray, depth: int) -> Thing:
        return value.tolist() if value.dtype.kind in "iufb" else self.plain(value.tolist(), depth + 1)

    def _parts(self, value: Any, depth: int) -> Thing:
        """What has parts: collections, descriptions, functions, objects of the user."""
        if isinstance(value, Mapping):
            return {_key(self.plain(key, depth)): self.plain(x, depth) for key, x in value.items()}
        if isinstance(value, (tuple, list)):
            return [self.plain(x, depth) for x in value]
        if isinstance(value, (set, frozenset)):
            return {"set": sorted((self.plain(x, depth) for x in value), key=_key)}
        if isinstance(value, types.ModuleType):
            return {"module": _module(value.__name__)}
        kind = _kind(type(value))
        if isinstance(value, Motion):  # not how long it took
            return {"type": kind, "t": _checksum(value.t), "y": _checksum(value.y)}
        if is_dataclass(value) and not isinstance(value, type):
            held = {f.name: self.plain(getattr(value, f.name, None), depth) for f in fields(value)}
            own = {"class": self.cls(type(value))} if _own(type(value).__module__) else {}
            return {"type": kind, **own, **held}
        if callable(value):
            return self.function(value, depth)
        if _own(type(value).__module__) or isinstance(value, types.SimpleNamespace):
            return self.object(value, depth)
        if hasattr(value, "ppf") and hasattr(value, "kwds"):  # a distribution of SciPy
            return {
                "type": kind,
                "name": value.dist.name,
                **self.plain({"args": value.args, "kwds": value.kwds}, depth),
            }
        return {"type": kind}

    def function(self, function: Thing, depth: int = 0) -> Data:
        """A function, a class, or an object that can be called."""
        if isinstance(function, functools.partial):
            carried = {"args": function.args, "keywords": function.keywords}
            return {"partial": self.plain(function.func, depth), **self.plain(carried, depth)}
        if isinstance(function, types.MethodType):
            return {"method": self.function(function.__func__, depth), "of": self.object(function.__self__, depth)}
        if isinstance(function, type) or not hasattr(function, "__qualname__"):
            return self.object(function, depth)
        found = {"module": _module(function.__module__), "name": function.__qualname__}
        if self._met(function):
            return found
        found["source"] = source(function)
        inner = getattr(function, "__wrapped__", None)  # behind a cache
        if isinstance(function, types.FunctionType):
            return found | self.carried(function)
        return found if inner is None else found | {"wraps": self.function(inner)}

    def carried(self, function: types.FunctionType) -> Data:
        """Defaults, variables around a function, and what it names of its module."""
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items()]
        found = {
            "defaults": [self.named(x) for x in defaults],
            "closure": [self.named(_content(cell)) for cell in function.__closure__ or ()],
            "globals": {name: self.named(x) for name, x in _globals(function).items()},
        }
        return {key: told for key, told in found.items() if told}

    def named(self, value: Thing, depth: int = 0) -> Thing:
        """What a function names: code of installed packages by its name, long data by a checksum."""
        if isinstance(value, type) or (callable(value) and not is_dataclass(value)):
            module = getattr(value, "__module__", None) or type(value).__module__
            name = str(getattr(value, "__qualname__", None) or getattr(value, "__name__", ""))
            made = "<locals>" in name or isinstance(value, types.MethodType)  # it may carry values of the user
            return (
                {"module": _module(module), "name": name}
                if name and not made and not _own(module)
                else self.function(value, depth)
            )
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufc" and getattr(value, "function", None) is None:
            return self.plain(value, depth) if value.size < 16 and np.isfinite(value).all() else _checksum(value)
        found = self.plain(value, depth)
        text = _key(found)
        return found if len(text) < LONG else {"type": _kind(type(value)), "sha256": _sha(text.encode())}

    def object(self, value: Thing, depth: int) -> Data:
        """A class, or an object by its class and what it holds."""
        found = self.cls(value if isinstance(value, type) else type(value))
        if isinstance(value, type) or self._met(value):
            return found
        held = dict(getattr(value, "__dict__", {}))
        for cls in type(value).__mro__:
            slots = cls.__dict__.get("__slots__", ())
            names = (slots,) if isinstance(slots, str) else slots
            held |= {x: getattr(value, x) for x in names if not x.startswith("__") and hasattr(value, x)}
        if _own(type(value).__module__):
            return found | ({"holds": self.plain(held, depth)} if held else {})
        return found | {"holds": {name: self.named(x, depth) for name, x in held.items()}}

    def cls(self, cls: type) -> Data:
        """A class; of the user's own with what its functions carry, its values and its bases."""
        found: Data = {"type": _kind(cls)}
        if not _own(cls.__module__) or self._met(cls):
            return found
        found["source"] = source(cls)
        parts: Data = {}
        for name, value in cls.__dict__.items():
            inner = next((x for key in ("fget", "func", "__func__") if (x := getattr(value, key, None))), value)
            if isinstance(inner, types.FunctionType):
                parts |= {name: told} if (told := self.carried(inner)) else {}
            elif not name.startswith("__") and not name.endswith("_") and name != "_abc_impl":
                parts[name] = self.named(value)
        bases = [self.cls(x) for x in cls.__bases__ if _own(x.__module__)]
        return found | ({"parts": parts} if parts else {}) | ({"bases": bases} if bases else {})

    def _met(self, thing: Thing) -> bool:
        """Whether it has been written before."""
        met = id(thing) in self.seen
        self.seen[id(thing)] = thing
        return met


def _module(name: object) -> str:
    return str(name).replace("__mp_main__", "__main__")  # so do spawned processes call the script


def _kind(cls: type) -> str:
    return f"{_module(cls.__module__)}.{cls.__qualname__}"


def _key(data: object) -> str:
    return data if isinstance(data, str) else json.dumps(data, sort_keys=True)


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _checksum(array: AnyArray) -> Data:
    return {"array": list(array.shape), "dtype": array.dtype.str, "sha256": _sha(np.ascontiguousarray(array).tobytes())}


@functools.lru_cache(maxsize=1024)
def _own(name: object) -> bool:
    """Whether a module is the user's: not of Python, not of gyrod, not of an installed package."""
    top = str(name).partition(".")[0]
    if top in ("__main__", "__mp_main__"):
        return True
    if top == "gyrod" or top in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(str(name)), "__file__", None)
    return file is None or not {"site-packages", "dist-packages"} & set(Path(file).parts)


def _globals(function: types.FunctionType) -> Data:
    """What a function names of its module, and of modules of the user; not what it sets itself."""
    there, found = function.__globals__, {}
    read, written = _names(function.__code__)
    for name, attribute in sorted(read):
        if name not in there or name in written or name.startswith("__"):
            continue
        value = there[name]
        if isinstance(value, types.ModuleType) and _own(value.__name__) and hasattr(value, attribute):
            found[f"{name}.{attribute}"] = getattr(value, attribute)
        else:
            found[name] = value
    return found


@functools.lru_cache(maxsize=1024)
def _names(code: types.CodeType) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
    """Globals that code reads, each with the attribute that it takes of it or "", and those that it sets."""
    read, written = set(), set()
    last = ""
    for x in dis.get_instructions(code):
        if last:
            read.add((last, str(x.argval) if x.opname in ("LOAD_ATTR", "LOAD_METHOD") else ""))
        last = str(x.argval) if x.opname in ("LOAD_GLOBAL", "LOAD_NAME") else ""
        if x.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            written.add(str(x.argval))
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            more = _names(inner)
            read |= more[0]
            written |= more[1]
    return frozenset(read), frozenset(written)


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def source(thing: Any) -> str:
    """Text of a function or a class; where there is none, the checksum of its instructions."""
    code = getattr(thing, "__code__", None)
    if code is not None and code.co_name == "<lambda>":
        return _lambda(code) or _instructions(code)
    try:
        return textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError):
        return "" if code is None else _instructions(code)


def _lambda(code: types.CodeType) -> str | None:
    """Text of a lambda alone: the lines that it stands in say more, such as whether a study is resumed."""
    try:
        tree = _parsed("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno:
            text = ast.unparse(node)
            if _instructions(_made(text)) == _instructions(code):
                return text
    return None


@functools.lru_cache(maxsize=8)
def _parsed(text: str) -> ast.AST:
    return ast.parse(text)


def _made(text: str) -> types.CodeType:
    code = compile(text, "", "eval")
    return next(x for x in code.co_consts if isinstance(x, types.CodeType))


def _instructions(code: types.CodeType) -> str:
    """Checksum of what a function does, without the places of its text."""
    parts = [(x.opname, x.argval if not isinstance(x.argval, types.CodeType) else _instructions(x.argval))
             for x in dis.get_instructions(code)]  # fmt: skip
    return "sha256:" + hashlib.sha256(repr((code.co_varnames[: code.co_argcount], parts)).encode()).hexdigest()
