"""Checks of arguments: each failure is one sentence that names the argument, what was given and what is allowed."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Up to so many numbers are looked at one by one: that is faster than NumPy.
FEW = 64


def plain(value: object) -> str:
    """The repr of a value, without addresses of objects, which tell nobody anything."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def choice(argument: str, value: object, allowed: Iterable[str]) -> str:
    """Return ``value`` if it is one of the allowed names; suggest the nearest one if it is not."""
    names = list(allowed)
    if isinstance(value, str) and value in names:
        return value
    near = get_close_matches(str(value), names, n=1, cutoff=0.4)
    near = near or get_close_matches(str(value).lower(), names, n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{argument} = {plain(value)} is unknown; it can be {', '.join(map(repr, names))}.{hint}")


def array(argument: str, value: Any, trailing: tuple[int, ...]) -> Array:
    """Return a finite float array whose last axes are ``trailing``; a view where no conversion is needed."""
    try:
        raw = np.asarray(value)
        result = None if np.iscomplexobj(raw) else np.asarray(raw, dtype=float)
    except (TypeError, ValueError, OverflowError):
        result = None
    if result is None or result.shape[max(result.ndim - len(trailing), 0) :] != trailing:
        shape = f"(..., {', '.join(map(str, trailing))})"
        if result is None:
            raise ValueError(
                f"{argument} must be an array of real numbers of shape {shape}, got {reprlib.repr(value)}."
            )
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
    """As float; integers beyond its range are infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def number(argument: str, value: Any) -> float:
    """A finite number."""
    try:
        x = _float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{argument} = {plain(value)} must be a number.") from None
    if not np.isfinite(x):
        raise ValueError(f"{argument} = {value!r} must be finite.")
    return x


def positive(argument: str, value: Any) -> float:
    """Return a finite positive number."""
    try:
        number = _float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{argument} must be a positive number, got {plain(value)}.") from None
    if not 0.0 < number < np.inf:
        raise ValueError(f"{argument} must be a positive finite number, got {number}.")
    return number


def times(argument: str, value: Any) -> Array:
    """Return a one-dimensional, finite, increasing array of times."""
    try:
        result = np.ascontiguousarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{argument} must be a one-dimensional array of times, got {reprlib.repr(value)}.") from None
    if not result.size or np.ndim(value) != 1:
        raise ValueError(f"{argument} must be a one-dimensional array of times, got the shape {np.shape(value)}.")
    finite(argument, result)
    bad = result[1:] <= result[:-1]
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"{argument} must increase, but {argument}[{i}] = {result[i]:g} is followed by "
            f"{argument}[{i + 1}] = {result[i + 1]:g}."
        )
    return result
