"""What a model file says about a run: the options of `gyrod.simulate`, all of them optional."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod._check import Array
from gyrod.files.kinds import Kind
from gyrod.model.errors import Problems, not_negative, numbers, positive, shown
from gyrod.runs.declared import Option, with_rows
from gyrod.runs.formulations import FORMULATIONS, OLD, PARTS, Formulation
from gyrod.runs.options import IN_FILES, folded, warn_old

if TYPE_CHECKING:
    from collections.abc import Callable


#: Rows of output beyond so many are refused.
MOST_ROWS = 10_000_000


class RunOptions:
    """The section ``run`` of a model file; names and meanings are those of `gyrod.simulate`.

    ``until`` is the time to simulate, ``output`` the time between two rows in s, or a list of times. What is not given
    is None, and `options` leaves it out.

    Parameters
    ----------
    OPTIONS
    """

    def __init__(self, **given: object) -> None:
        problems = Problems("run")
        found = {name: value for name, value in given.items() if value is not None}
        for name in found.keys() - {*IN_FILES, *OLD}:
            raise TypeError(f"RunOptions() got an unexpected keyword argument {name!r}")
        self.__dict__.update(dict.fromkeys(IN_FILES))
        warn_old("RunOptions", found)
        found = folded(found)
        for name in (name for name in IN_FILES if name in found):
            self.__dict__[name] = problems.check(_CHECKS.get(name, IN_FILES[name].check), name, found[name])
        if isinstance(self.formulation, Formulation):
            self.__dict__["formulation"] = self.formulation.short
        if isinstance(self.output, float) and self.until is not None and self.until / self.output > MOST_ROWS:
            problems.add(f"output = {self.output:g} s gives more than {MOST_ROWS} rows until {self.until:g} s.")
        problems.finish()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"RunOptions has no option {name!r}.")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"RunOptions is frozen: make another one in place of setting {name} = {shown(value)}.")

    def __setstate__(self, state: Mapping[str, object]) -> None:
        self.__init__(**folded({k: x for k, x in state.items() if x is not None}))  # type: ignore[misc]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RunOptions):
            return NotImplemented
        return all(np.array_equal(value, getattr(other, name)) for name, value in self.__dict__.items())

    def __hash__(self) -> int:
        return hash((self.until, self.method))

    def __repr__(self) -> str:
        given = (f"{name}={value!r}" for name, value in self.__dict__.items() if value is not None)
        return f"RunOptions({', '.join(given)})"

    def options(self) -> dict[str, Any]:
        """Keyword arguments for `gyrod.simulate` but its time, without what is not given; ``output`` as times."""
        found = {name: value for name, value in self.__dict__.items() if value is not None}
        until = found.pop("until", None)
        if isinstance(self.output, float):
            if until is None:
                found.pop("output")
            else:
                found["output"] = self.times(until)
        return found

    def times(self, until: float) -> Array | None:
        """Times of the rows of a run until some time; None if every step is one."""
        if self.output is None:
            return None
        if not isinstance(self.output, float):
            return np.asarray(self.output[self.output <= until])
        rows = int(until / self.output * (1.0 + 1e-12))
        times = self.output * np.arange(rows + 1.0)
        # The last row is that of the end, exactly.
        return np.append(times[times < until * (1.0 - 1e-12)], until)


RunOptions.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in IN_FILES]
)
RunOptions.__doc__ = with_rows(RunOptions.__doc__, IN_FILES)


def renewed(data: object) -> object:
    """The section of an older file: what belongs to the formulation stood beside it."""
    if not isinstance(data, dict) or not any(name in OLD for name in data):
        return data
    found = folded(data)
    text = ", ".join(f"{name}: {value}" for name, value in found["formulation"].items())
    warn_old("the section run", data, f"formulation: {{{{{text}}}}}")
    return found


def kinds() -> dict[str, Kind]:
    """What each option is in a file."""
    return {name: _kind(option) for name, option in IN_FILES.items()}


def _kind(option: Option) -> Kind:
    if option.form == "formulation":
        return Kind("named", words=tuple(FORMULATIONS), parts={name: _kind(part) for name, part in PARTS.items()})
    form = {"positive": "numbers", "pair": "numbers", "method": "name"}.get(option.form, option.form)
    shapes = ((2,),) if option.form == "pair" else option.shapes
    return Kind(form, shapes, (option.unit,), words=option.words, positive=option.form == "positive")


def _output(field: str, value: object) -> object:
    if np.asarray(value).ndim == 0:
        return positive(field, value)
    times = numbers(field, value, np.asarray(value).shape[:1])
    if not len(times) or np.any(times < 0.0) or np.any(np.diff(times) <= 0.0):
        raise ValueError(f"{field} must be a time between rows, or increasing times from 0 on, got {shown(value)}.")
    return times


def _tolerance(field: str, value: object) -> object:
    if isinstance(value, Mapping):
        return {name: float(not_negative(f"{field}.{name}", x)) for name, x in value.items()}
    return (
        float(not_negative(field, value))
        if np.asarray(value).ndim == 0
        else not_negative(field, value, np.asarray(value).shape[:1])
    )


def _accuracy(field: str, value: object) -> object:
    if isinstance(value, Mapping):
        return {name: float(positive(f"{field}.{name}", x)) for name, x in value.items()}
    return float(positive(field, value))


#: Checks of what a file writes in another way than Python does.
_CHECKS: dict[str, Callable[[str, object], object]] = {"output": _output, "atol": _tolerance, "accuracy": _accuracy}
