"""What identifies a model and its functions, in plain types: the same in every process, whatever file it lies in."""

from __future__ import annotations

import ast
import dis
import functools
import hashlib
import inspect
import linecache
import math
import textwrap
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

#: Parts inside of parts beyond so many are named by their type.
DEPTH = 12


def plain(value: Any, depth: int = 0) -> Any:
    """Plain JSON types that tell a value from others; of what cannot be told only the type."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else str(float(value))  # JSON has no infinity
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if depth > DEPTH:
        return {"type": kind}
    deeper = depth + 1
    if isinstance(value, np.ndarray):
        function = getattr(value, "function", None)
        numbers = value.tolist() if value.dtype.kind in "iufb" else repr(value)
        return numbers if function is None else {"start": numbers, "function": plain(function, deeper)}
    if isinstance(value, Mapping):
        return {str(key): plain(x, deeper) for key, x in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(x, deeper) for x in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {"type": kind, **{f.name: plain(getattr(value, f.name), deeper) for f in fields(value)}}
    return function_data(value, deeper) if callable(value) else {"type": kind}


def function_data(function: Any, depth: int = 0) -> dict[str, Any]:
    """A function by module, qualified name, source, and what it carries with it."""
    deeper = depth + 1
    if isinstance(function, functools.partial):
        carried = {"args": function.args, "keywords": function.keywords}
        return {"partial": plain(function.func, deeper), **plain(carried, deeper)}
    if isinstance(function, types.MethodType):
        return {"method": function_data(function.__func__, deeper), "of": _object(function.__self__, deeper)}
    if isinstance(function, type) or not hasattr(function, "__qualname__"):
        return _object(function, deeper)
    # Processes that are spawned call the script by another name.
    module = str(function.__module__).replace("__mp_main__", "__main__")
    found = {"module": module, "name": function.__qualname__, "source": source(function)}
    if isinstance(function, types.FunctionType):
        carried = {
            "defaults": [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items()],
            "closure": [_content(cell) for cell in function.__closure__ or ()],
        }
        found |= {key: plain(value, deeper) for key, value in carried.items() if value}
    return found


def _object(value: Any, depth: int) -> dict[str, Any]:
    """A class, or an object by its class and what it holds."""
    cls = value if isinstance(value, type) else type(value)
    found = {"type": f"{cls.__module__}.{cls.__qualname__}", "source": source(cls)}
    held = {} if isinstance(value, type) else getattr(value, "__dict__", {})
    return found | ({"holds": plain(held, depth + 1)} if held else {})


def _content(cell: Any) -> Any:
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
