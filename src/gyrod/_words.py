"""Names in sentences: the nearest of some, the first of many; without NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import TypeVar, cast

C = TypeVar("C", bound=Callable[..., object])


def meant(word: str, names: Sequence[str]) -> str:
    """The nearest of some names as a question with a space before it; empty if none is near."""
    near = get_close_matches(word, names, n=1, cutoff=0.5) or get_close_matches(word.lower(), names, n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else ""


def listed(names: Iterable[object], most: int = 12, each: Callable[[object], str] = repr) -> str:
    """The first of them, and how many more."""
    known = list(names)
    return ", ".join(map(each, known[:most])) + (f" and {len(known) - most} more" if len(known) > most else "")


def suggests(call: C) -> C:
    """A function or a class that names the nearest argument where it is given one that it does not have."""
    if isinstance(call, type):
        call.__init__ = suggests(call.__init__)  # type: ignore[misc]
        return call

    @wraps(call)
    def asked(*args: object, **given: object) -> object:
        try:
            return call(*args, **given)
        except TypeError as error:
            known = [name for name, x in signature(call).parameters.items() if x.kind is not x.VAR_KEYWORD]
            unknown = next((name for name in given if name not in known), "")
            hint = meant(unknown, known)
            if not hint or not str(error).endswith(f"argument {unknown!r}"):  # later versions of Python suggest, too
                raise
            sentence = f"{error}.{hint}"
        raise TypeError(sentence)

    return cast("C", asked)
