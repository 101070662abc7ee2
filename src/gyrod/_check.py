"""Checks of arguments: each failure is one sentence that names the argument, what was given and what is allowed."""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gyrod._words import meant

Array = NDArray[np.float64]
#: An array of any kind: columns of numbers, words or flags, whose kind only their data say.
AnyArray = NDArray[np.generic]
#: Plain data, nested, of a file or for one: what reads it knows what it holds.
Data = dict[str, object]
#: Keyword arguments on their way to a function that knows them.
Keywords = Mapping[str, object]
T = TypeVar("T")

#: Up to so many numbers are looked at one by one: that is faster than NumPy.
FEW = 64


def shown(value: object) -> str:
    """Short repr of a value, in one line and without addresses; of objects whose repr fails their type."""
    try:
        text = " ".join(re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value)).split())
    except Exception:
        return f"a {type(value).__name__}"
    return text if len(text) <= 120 else f"{text[:80]} ... ({len(text)} characters)"


def warn(text: str, category: type[Warning] = RuntimeWarning) -> None:
    """A warning at the line of the caller's own that led to it, however deep gyrod is at."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "gyrod":
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def renamed(old: str, new: str) -> None:
    """Say what an old name, which still works, is called now."""
    warn(f"{old} will be removed in the next version; write {new}.", DeprecationWarning)


def old_argument(call: str, given: Mapping[str, T], old: str, new: str, value: T) -> T:
    """The value of an argument that may be given by its old name; other names are refused."""
    for name in given:
        if name != old:
            raise TypeError(f"{call}() got an unexpected keyword argument {name!r}")
        renamed(f"{old}= of {call}", f"{new}={given[old]!r}")
    return given.get(old, value)


def choice(argument: str, value: object, allowed: Iterable[str]) -> str:
    """Return ``value`` if it is one of the allowed names; suggest the nearest one if it is not."""
    names = list(allowed)
    if isinstance(value, str) and value in names:
        return value
    word = value if isinstance(value, str) else shown(value)
    listed = ", ".join(map(repr, names))
    raise ValueError(f"{argument} = {shown(value)} is unknown; it can be {listed}.{meant(word, names)}")


def array(argument: str, value: object, trailing: tuple[int, ...]) -> Array:
    """Return a finite float array whose last axes are ``trailing``; a view where no conversion is needed."""
    try:
        raw = np.asarray(value)
        result = None if np.iscomplexobj(raw) else np.asarray(raw, dtype=float)
    except Exception:  # of objects that answer with errors of their own, too
        result = None
    if result is None or result.shape[max(result.ndim - len(trailing), 0) :] != trailing:
        shape = f"(..., {', '.join(map(str, trailing))})"
        if result is None:
            raise ValueError(f"{argument} must be an array of real numbers of shape {shape}, got {shown(value)}.")
        raise ValueError(f"{argument} must have the shape {shape}, got {result.shape}.")
    finite(argument, result)
    return result


def finite(argument: str, value: Array) -> None:
    """Refuse NaN and infinity, and say where the first one is."""
    if value.size <= FEW and all(map(math.isfinite, value.ravel().tolist())):
        return
    # The sum is finite unless an entry is not (or the numbers are absurd): one pass without a temporary.
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.sum(value)
    if not np.isfinite(total):
        bad = np.argwhere(~np.isfinite(value))
        if len(bad):
            place = f"[{', '.join(map(str, bad[0]))}]" if value.ndim else ""
            raise ValueError(
                f"{argument}{place} = {value[tuple(bad[0])]} is not finite; {argument} must hold finite numbers."
            )


def _float(value: Any) -> float:
    """As float; integers beyond its range are infinite. Only TypeError is raised."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except Exception:  # of objects that answer with errors of their own, too
        raise TypeError from None


def number(argument: str, value: object) -> float:
    """A finite number."""
    try:
        x = _float(value)
    except TypeError:
        raise ValueError(f"{argument} = {shown(value)} must be a number.") from None
    if not np.isfinite(x):
        raise ValueError(f"{argument} = {shown(value)} must be finite.")
    return x


def positive(argument: str, value: object) -> float:
    """Return a finite positive number."""
    try:
        number = _float(value)
    except TypeError:
        raise ValueError(f"{argument} must be a positive number, got {shown(value)}.") from None
    if not 0.0 < number < np.inf:
        raise ValueError(f"{argument} must be a positive finite number, got {number}.")
    return number


def whole(argument: str, value: object, least: int, most: int) -> int:
    """Return a whole number between bounds."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise ValueError(f"{argument} = {shown(value)} must be a whole number from {least} to {most}.")
    return int(value)


def flag(argument: str, value: object) -> bool:
    """Return True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{argument} = {shown(value)} must be True or False.")
    return bool(value)


def path(argument: str, value: object) -> Path:
    """Return the path of a file or folder."""
    try:
        found = Path(value) if isinstance(value, str) or not isinstance(value, type) else None  # type: ignore[arg-type]
    except Exception:
        found = None
    if found is None:
        raise ValueError(f"{argument} must be the path of a file or folder, got {shown(value)}.")
    try:
        found.lstat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass  # for the one who opens it
    except (OSError, ValueError) as error:  # there are names that no file can have
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"{argument} = {shown(str(value))} cannot be a path: {why}.") from None
    return found


def kind(argument: str, value: object, wanted: Callable[..., T]) -> T:
    """Return an object of a class."""
    if not isinstance(value, wanted):  # type: ignore[arg-type]  # a class, also an abstract one
        raise ValueError(f"{argument} must be a {wanted.__name__} of gyrod, got {shown(value)}.")
    return value  # type: ignore[return-value]


def times(argument: str, value: object) -> Array:
    """Return a one-dimensional, finite, increasing array of times."""
    try:
        result = np.ascontiguousarray(value, dtype=float)
    except Exception:
        raise ValueError(f"{argument} must be a one-dimensional array of times, got {shown(value)}.") from None
    shape = np.asarray(value).shape  # ascontiguousarray makes a row of a number
    if not result.size or len(shape) != 1:
        raise ValueError(f"{argument} must be a one-dimensional array of times, got the shape {shape}.")
    finite(argument, result)
    bad = result[1:] <= result[:-1]
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"{argument} must increase, but {argument}[{i}] = {result[i]:g} is followed by "
            f"{argument}[{i + 1}] = {result[i + 1]:g}."
        )
    return result


def in_short(self: object) -> str:
    """A ``__repr__`` for what holds arrays: values of short ones, shapes of others."""
    parts = []
    for f in fields(self):  # type: ignore[arg-type]
        value = getattr(self, f.name)
        if not f.repr:
            continue
        if isinstance(value, np.ndarray):
            few = value.size <= 6 and value.dtype.kind in "biuf"
            value = np.array2string(value, precision=6, separator=", ") if few else value.shape
            parts.append(f"{f.name} {value}".replace("\n", ""))
        else:
            parts.append(f"{f.name} {value!r}")
    return f"<{type(self).__name__}: {', '.join(parts)}>"
