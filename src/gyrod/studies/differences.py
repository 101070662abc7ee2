"""What differs between two descriptions in plain types, in words."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator

#: Differences that are listed.
TOLD = 4


def differences(there: object, here: object) -> str:
    """Where two descriptions differ: ``"samples 100 there, 200 here; t_end 1.0 there, 2.0 here"``; "" if nowhere."""
    found = list(_walk("", there, here))
    more = [f"and {len(found) - TOLD} more"] if len(found) > TOLD else []
    return "; ".join(found[:TOLD] + more)


def _walk(path: str, there: object, here: object) -> Iterator[str]:
    if isinstance(there, dict) and isinstance(here, dict):
        for key in [*there, *(k for k in here if k not in there)]:
            at = f"{path}.{key}" if path else str(key)
            if key not in here:
                yield f"{at} {_told(there[key])} there, missing here"
            elif key not in there:
                yield f"{at} missing there, {_told(here[key])} here"
            else:
                yield from _walk(at, there[key], here[key])
    elif isinstance(there, list) and isinstance(here, list):
        if len(there) != len(here):
            yield f"{path} has {len(there)} entries there, {len(here)} here"
            return
        for i, (a, b) in enumerate(zip(there, here, strict=True)):
            yield from _walk(f"{path}[{i}]", a, b)
    elif type(there) is not type(here) or (there != here and not (there != there and here != here)):
        yield f"{path} {_told(there)} there, {_told(here)} here"


def _told(value: object) -> str:
    short = reprlib.Repr()
    short.maxstring = short.maxother = 60
    return short.repr(value)
