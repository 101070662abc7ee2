"""How an option is declared: one line with default, help, form and words, of which all else follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from textwrap import fill, indent
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gyrod._check import Data


@dataclass(frozen=True)
class Option:
    """What a run may be given: how it is checked, written in files and on the command line, and described.

    ``form`` says how it is checked and read: "positive" (a number > 0), "word" (one of ``words``), "flag", "whole" (a
    whole number from ``least`` to ``most``), "pair" (two numbers > 0), "method", "formulation", "numbers" (of
    ``shapes``; -1 is any number), "table" (the same, or numbers by name), "any" (what the code that uses it takes).
    """

    default: object
    #: Sentences; the first is the help of the command line.
    help: str
    form: str = "positive"
    words: tuple[str, ...] = ()
    unit: str = ""
    shapes: tuple[tuple[int, ...], ...] = ((),)
    least: int = 0
    most: int = 10**9
    #: The methods whose own it is; empty if it is of all.
    only: tuple[str, ...] = ()
    #: Whether constant steps do without.
    adaptive: bool = False
    #: Whether it says what becomes of a run and not how it goes: studies choose it.
    apart: bool = False
    #: Whether model files and the command line have it.
    in_files: bool = True

    @property
    def short(self) -> str:
        """The first sentence of the help."""
        return self.help.split(". ")[0].rstrip(".") + "."

    def check(self, name: str, value: object) -> Any:
        """The value, or a ValueError with a sentence; of "numbers" and "table" whoever knows their number says more."""
        from gyrod import _check

        if value is None and self.default is None:
            return None
        match self.form:
            case "positive":
                return _check.positive(name, value)
            case "word":
                return _check.choice(name, value, self.words)
            case "flag":
                return _check.flag(name, value)
            case "whole":
                return _check.whole(name, value, self.least, self.most)
            case "pair":
                return _pair(name, value)
            case "method":
                from gyrod.runs.methods import known_method

                return known_method(name, value)
            case "formulation":
                from gyrod.runs.formulations import Formulation

                return Formulation.of(value)
        return value


def _pair(name: str, value: object) -> tuple[float, float]:
    from gyrod import _check

    try:
        a, b = value if isinstance(value, Iterable) else ()
    except (TypeError, ValueError):
        raise ValueError(f"{name} = {_check.shown(value)} must be two numbers.") from None
    return _check.positive(f"{name}[0]", a), _check.positive(f"{name}[1]", b)


def checked(given: Mapping[str, object], declared: Mapping[str, Option]) -> Data:
    """Values that were given, checked by their declarations, without those that are None; all problems at once."""
    found: Data = {}
    problems: list[str] = []
    for name in (name for name in declared if name in given):
        try:
            value = declared[name].check(name, given[name])
        except ValueError as error:
            problems += getattr(error, "problems", (str(error),))
        else:
            found |= {} if value is None else {name: value}
    refuse(problems)
    return found


def refuse(problems: list[str]) -> None:
    """Raise what was found: one sentence as a ValueError, several at once."""
    from gyrod.model import ModelError

    if problems:
        raise ValueError(problems[0]) if len(problems) == 1 else ModelError(problems)


def with_rows(docstring: str | None, options: Mapping[str, Option]) -> str:
    """A docstring with options in place of its line OPTIONS."""
    rows = ((name, fill(option.help, 112, break_on_hyphens=False)) for name, option in options.items())
    text = "\n".join(f"    {name}\n{indent(text, ' ' * 8)}" for name, text in rows)
    return (docstring or "").replace("    OPTIONS", text)
