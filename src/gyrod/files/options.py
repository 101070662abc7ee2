"""What a model file says about a run: the options of `gyrod.simulate`, all of them optional."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gyrod.files.kinds import Kind
from gyrod.model.errors import Description, Problems, not_negative, numbers, positive, shown

Array = NDArray[np.float64]

#: Rows of output beyond so many are refused.
MOST_ROWS = 10_000_000

FORMULATIONS = (
    "nullspace-quaternion", "nullspace-directors", "absolute-quaternion", "absolute-directors", "euler",
)  # fmt: skip


@dataclass(frozen=True, init=False, eq=False)
class RunOptions(Description):
    """The section ``run`` of a model file; names and meanings are those of `gyrod.simulate`.

    ``until`` is the time to simulate, ``output`` the time between two rows in s, or a list of times. What is not given
    is None, and `options` leaves it out.
    """

    until: float | None
    method: str | None
    formulation: str | None
    rtol: float | None
    #: A number, or numbers by kind.
    atol: Any
    norm: str | None
    projection: str | None
    step: float | None
    first_step: float | None
    max_step: float | None
    max_steps: int | None
    #: Seconds between rows, or times, (n,).
    output: Any
    dense: bool | None
    baumgarte: tuple[float, float] | None
    velocity: str | None
    equation: str | None
    fictive_moment: str | None
    director_projection: str | None
    index: int | None
    null_space: str | None
    reduce: bool | None
    assemble: bool | None
    coordinates: str | None
    sigma: Any
    potential: str | None
    order: int | None
    error: str | None
    #: A number, or numbers by quantity.
    accuracy: Any

    def __init__(
        self,
        until: float | None = None,
        method: str | None = None,
        formulation: str | None = None,
        rtol: float | None = None,
        atol: Any = None,
        norm: str | None = None,
        projection: str | None = None,
        step: float | None = None,
        first_step: float | None = None,
        max_step: float | None = None,
        max_steps: int | None = None,
        output: Any = None,
        dense: bool | None = None,
        baumgarte: tuple[float, float] | None = None,
        velocity: str | None = None,
        equation: str | None = None,
        fictive_moment: str | None = None,
        director_projection: str | None = None,
        index: int | None = None,
        null_space: str | None = None,
        reduce: bool | None = None,
        assemble: bool | None = None,
        coordinates: str | None = None,
        sigma: Any = None,
        potential: str | None = None,
        order: int | None = None,
        error: str | None = None,
        accuracy: Any = None,
    ) -> None:
        given = dict(locals())
        problems = Problems("run")
        for field in fields(self):
            value = given[field.name]
            check = _CHECKS.get(field.name)
            found = value if value is None or check is None else problems.check(check, field.name, value)
            self._set(**{field.name: found})
        if isinstance(self.output, float) and self.until is not None and self.until / self.output > MOST_ROWS:
            problems.add(f"output = {self.output:g} s gives more than {MOST_ROWS} rows until {self.until:g} s.")
        problems.finish()

    def options(self) -> dict[str, Any]:
        """Keyword arguments for `gyrod.simulate` but its time, without what is not given; ``output`` as times."""
        found = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}
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

    @classmethod
    def kinds(cls) -> dict[str, Kind]:
        """What each of them is in a file."""
        seconds = Kind(units=("s",), positive=True)
        return {
            "until": seconds, "method": Kind("name"), "formulation": Kind("word", words=FORMULATIONS),
            "rtol": Kind(positive=True), "atol": Kind("table", shapes=((), (-1,))),
            "norm": Kind("word", words=("physical", "plain")), "projection": Kind("word", words=("step", "none")),
            "step": seconds, "first_step": seconds, "max_step": seconds, "max_steps": Kind("whole"),
            "output": Kind(shapes=((), (-1,)), units=("s",)), "dense": Kind("flag"),
            "baumgarte": Kind(shapes=((2,),), units=("1/s",)), "velocity": Kind("word", words=("material", "spatial")),
            "equation": Kind("word", words=("exact", "printed")),
            "fictive_moment": Kind("word", words=("zero", "half-trace")),
            "director_projection": Kind("word", words=("spurrier", "polar")), "index": Kind("whole"),
            "null_space": Kind("word", words=("analytic", "qr")), "reduce": Kind("flag"),
            "assemble": Kind("flag"),
            "coordinates": Kind("word", words=("quaternion", "directors")),
            "sigma": Kind("table", shapes=((), (-1,)), words=("mean",)),
            "potential": Kind("word", words=("midpoint", "nodes")), "order": Kind("whole"),
            "error": Kind("word", words=("rough", "total", "parts", "finer")),
            "accuracy": Kind("table", shapes=((),)),
        }  # fmt: skip


def _output(field: str, value: Any) -> Any:
    if np.ndim(value) == 0:
        return positive(field, value)
    times = numbers(field, value, (len(value),))
    if not len(times) or np.any(times < 0.0) or np.any(np.diff(times) <= 0.0):
        raise ValueError(f"{field} must be a time between rows, or increasing times from 0 on, got {shown(value)}.")
    return times


def _tolerance(field: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: float(not_negative(f"{field}.{name}", x)) for name, x in value.items()}
    return float(not_negative(field, value)) if np.ndim(value) == 0 else not_negative(field, value, (len(value),))


def _accuracy(field: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: float(positive(f"{field}.{name}", x)) for name, x in value.items()}
    return float(positive(field, value))


def _pair(field: str, value: Any) -> tuple[float, float]:
    a, b = numbers(field, value, (2,)).tolist()
    return a, b


_CHECKS: dict[str, Any] = {
    **dict.fromkeys(("until", "rtol", "step", "first_step", "max_step"), positive),
    "output": _output,
    "atol": _tolerance,
    "accuracy": _accuracy,
    "baumgarte": _pair,
}
