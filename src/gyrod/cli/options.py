"""Options of a run on the command line, as they are declared."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from gyrod.runs.declared import Option
from gyrod.runs.options import IN_FILES

if TYPE_CHECKING:
    from collections.abc import Mapping


F = TypeVar("F", bound=Callable[..., None])

#: Type and metavar of an option by its form; texts are read as in a model file.
_TYPES: dict[str, tuple[type, str | None]] = {
    "positive": (float, "X"), "numbers": (float, "X"), "whole": (int, "N"), "flag": (bool, None), "word": (str, "WORD"),
    "method": (str, "NAME"), "formulation": (str, "NAME"), "table": (float, "X"),
}  # fmt: skip


def with_run_options(names: Iterable[str] = tuple(IN_FILES)) -> Callable[[F], F]:
    """Decorator of a command with ``**given``: what the line gives of these options, and None of the others."""

    def decorate(command: F) -> F:
        own = inspect.signature(command, eval_str=True)
        fixed = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [_parameter(name, IN_FILES[name]) for name in names]
        first = [p for p in fixed if p.default is p.empty]
        parameters = [*first, *more, *(p for p in fixed if p.default is not p.empty)]
        command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorate


def _parameter(name: str, option: Option) -> inspect.Parameter:
    kind, metavar = _TYPES[option.form]
    kind, metavar = str if option.words else kind, "S" if option.unit == "s" else metavar
    words = f" {', '.join(option.words)}." if option.form == "word" and option.words[0] not in option.short else ""
    flag = f"--{name.replace('_', '-')}"
    flags = f"{flag}/--no-{flag[2:]}" if kind is bool else flag
    about = typer.Option(flags, metavar=metavar, help=option.short.replace('"', "").replace("`", "") + words)
    place = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, place, default=None, annotation=Annotated[kind | None, about])


def read(given: Mapping[str, object]) -> dict[str, Any]:
    """What was given, texts as in a model file: words, numbers with units, a formulation as {name: ..., index: 2}."""
    from gyrod.cli.frame import Problem
    from gyrod.files.kinds import Faults
    from gyrod.files.kinds import read as read_kind
    from gyrod.files.options import kinds
    from gyrod.files.reading import compose, plain

    found = {name: value for name, value in given.items() if value is not None}
    for name, value in found.items():
        if isinstance(value, str):
            try:
                found[name] = read_kind(kinds()[name], plain(compose(value)[0]) if value.startswith("{") else value)
            except Faults as faults:
                raise Problem(f"--{name.replace('_', '-')}: {faults.problems[0][1]}") from None
    return found
