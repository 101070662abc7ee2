"""Inputs: values that the user of a stepper sets from step to step, where a model takes a function of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check
from gyrod._check import Array
from gyrod.model.errors import Description, ModelError, Problems, field_names, new_name, numbers, shown, vector
from gyrod.model.fields import Kept, description, field, holds, kinds

if TYPE_CHECKING:
    from gyrod.model.system import System

T = TypeVar("T")

#: Numbers of a recorded input that a file takes.
MOST_NUMBERS = 1_000_000


def _value(value: object, shape: tuple[int, ...] | None, field: str) -> float | Array:
    found = numbers(field, value, *(((), (3,)) if shape is None else (shape,)))
    return float(found) if found.shape == () else found


@holds(shapes=((), (3,)), units=None)
def _start_value(field: str, value: object, along: object) -> object:
    return _value(value, None if along is None else (), field)


def _series(field: str, value: object, *trailing: tuple[int, ...]) -> Array:
    """One number or more, or rows of them."""
    try:
        count = len(value) if isinstance(value, Sized) else 0
    except TypeError:  # of a number that is an array
        count = 0
    if not count:
        raise ValueError(f"{field} must be a list of one number or more, got {shown(value)}.")
    return numbers(field, value, (count,), *((count, *shape) for shape in trailing))


@holds(shapes=((-1,),))
def _times(field: str, value: object) -> Array:
    return _check.times(field, _series(field, value))


@holds(shapes=((-1,), (-1, 3)), units=None)
def _values(field: str, value: object, along: object) -> Array:
    return _series(field, value, *(() if along is not None else ((3,),)))


@holds(shapes=((-1,), (-1, 3)), units=None)
def _rates(field: str, value: object, along: object) -> Array | None:
    return None if value is None else _series(field, value, *(() if along is not None else ((3,),)))


def hermite(h: Array, x: Array, v: Array, x_end: Array, v_end: Array) -> Array:
    """Coefficients (..., 4), the highest power first, of the cubic with values and rates at both ends of h."""
    rise = (x_end - x) / h
    return np.stack([(v + v_end - 2.0 * rise) / h**2, (3.0 * rise - 2.0 * v - v_end) / h, v, x], axis=-1)


def polynomials(coefficients: Array, u: float, order: int) -> Array:
    """Values of polynomials (n, 4), or of their derivatives, at u."""
    return np.array([np.polyval(np.polyder(c, order) if order else c, u) for c in coefficients])


@description
class Input(Description):
    """A value that `gyrod.stepper` lets its user set, in place of a function of time: forces, tensions, places, drives.

    What acts takes a new value at once. What leads, an end of a rod or a joint, goes to it over the next step: along
    the cubic that begins with the place and the velocity of now and ends there with the mean velocity of the step,
    continuous in the first derivative. A value that is set again holds it at rest from the end of that step on.

    Parameters
    ----------
    name
        ``sim.set(name, value)``; several places may take the same input.
    along
        Three numbers that the value multiplies: the direction of a force, the axis of a torque. Without it the value
        itself is taken, a number or three of them.
    value
        At the start, a number or three; also what `gyrod.simulate` takes, all the time.

    >>> Input("motor", along=(0, 0, 1), value=0.5)(0.0).tolist()
    [0.0, 0.0, 0.5]
    """

    name: str = field(new_name)
    #: (3,), or None.
    along: Kept[Array | None, ArrayLike | None] = field(vector, default=None, units=None)
    #: A number, or (3,).
    value: Kept[float | Array, ArrayLike] = field(_start_value, default=0.0, of="along")

    def __call__(self, t: float) -> float | Array:  # noqa: ARG002
        """The value at the start, whatever the time."""
        return self.of(self.value)

    def of(self, value: float | Array) -> float | Array:
        """What a value of this input means where it is taken."""
        return value if self.along is None else value * self.along

    def derivative(self, t: float, order: int) -> float | Array:  # noqa: ARG002
        """None: it stands."""
        return 0.0 * self.of(self.value)

    @property
    def _remedy(self) -> str:
        """What a sentence about its value ends with."""
        return f" Give the one at the start: gd.Input({self.name!r}, value=...)."

    def checked(self, value: object) -> float | Array:
        """A new value: of the same shape as the one at the start."""
        return _value(value, np.shape(self.value), f"input {self.name!r}")


@description
class Recorded(Description):
    """An input as it was over time, constant between the times at which it was set, or, where it leads, along cubics.

    Of ``Stepper.motion()``. Unlike a Python function it can be written to a file: the motion of a controlled run goes
    there with its inputs.

    Parameters
    ----------
    name
        That of the `Input`.
    times
        From which each value acts, increasing (n,).
    values
        Numbers (n,), or three each (n, 3); values[k] acts after times[k] up to and at times[k + 1], the first one also
        before, the last one for ever.
    along
        Three numbers that the values multiply, as of the `Input`.
    rates
        Of an input that leads, as many: values and rates are those at the times, with cubics between; before and after
        it stands.

    >>> motor = Recorded("motor", times=(0, 0.1), values=(2, 3), along=(0, 0, 1))
    >>> [motor(t)[2].item() for t in (0.0, 0.1, 0.2)]
    [2.0, 2.0, 3.0]
    """

    name: str = field(new_name)
    times: Kept[Array, ArrayLike] = field(_times, "s")
    values: Kept[Array, ArrayLike] = field(_values, of="along")
    #: (3,), or None.
    along: Kept[Array | None, ArrayLike | None] = field(vector, default=None, units=None)
    rates: Kept[Array | None, ArrayLike | None] = field(_rates, default=None, of="along")

    def _agree(self, problems: Problems, bad: set[str]) -> None:
        if not bad and len(self.times) != len(self.values):
            problems.add(f"there are {len(self.times)} times and {len(self.values)} values; each value needs its time.")
        if (
            not bad
            and self.rates is not None
            and (np.shape(self.rates) != np.shape(self.values) or len(self.times) < 2)
        ):
            problems.add("rates must be as many as values, at two times or more.")

    @property
    def coefficients(self) -> Array:
        """Of the cubics between the times, (pieces, numbers, 4), the highest power of the time since first."""
        assert self.rates is not None
        x, v = (np.reshape(rows, (len(self.times), -1)) for rows in (self.values, self.rates))
        return hermite(np.diff(self.times)[:, None], x[:-1], v[:-1], x[1:], v[1:])

    def _along_cubic(self, t: float, order: int) -> float | Array:
        at = min(max(t, self.times[0]), self.times[-1])
        k = min(max(int(np.searchsorted(self.times, at, side="right")) - 1, 0), len(self.times) - 2)
        found = polynomials(self.coefficients[k], at - self.times[k], order if at == t else max(order, 4 * order))
        number = found if self.values.ndim > 1 else float(found[0])
        return number if self.along is None else np.asarray(number * self.along)

    def derivative(self, t: float, order: int) -> float | Array:
        """Of the first or second order."""
        return 0.0 * self(t) if self.rates is None else self._along_cubic(t, order)

    def __call__(self, t: float) -> float | Array:
        """The value that acted up to t."""
        if self.rates is not None:
            return self._along_cubic(t, 0)
        value = self.values[max(int(np.searchsorted(self.times, t, side="left")) - 1, 0)]
        if self.along is not None:
            return np.asarray(value * self.along)
        return np.asarray(value) if value.ndim else float(value)

    @classmethod
    def of(cls, source: Input, times: Array, values: Array) -> Recorded:
        """What an input was over time; values that were set again to the same are left out."""
        bits = np.ascontiguousarray(values).view(np.int64).reshape(len(values), -1)
        new = np.append(True, np.any(bits[1:] != bits[:-1], axis=1))
        return cls(source.name, times[new], values[new], source.along)

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return int(self.times.size + self.values.size + (0 if self.rates is None else self.rates.size))


class Settings:
    """Values of inputs by name, in arrays that the core reads while it goes on."""

    def __init__(self, values: Mapping[str, object], leading: Iterable[str] = ()) -> None:
        self._arrays = {name: np.array(value, dtype=float) for name, value in values.items()}
        #: Of those that lead: the begin of the step in hand, and of each number a cubic of the time since.
        self.curves = {name: np.zeros(1 + 4 * self._arrays[name].size) for name in leading}
        self.stand()

    def stand(self) -> None:
        """What leads stands where the values are."""
        self.span, self.start = (0.0, 1.0), self.now()
        for name, curve in self.curves.items():
            curve[:] = 0.0
            curve[1:].reshape(-1, 4)[:, 3] = np.ravel(self._arrays[name])

    def aim(self, t: float, t_end: float) -> None:
        """What leads goes from where it is at t, with the rate that it has, to the values."""
        self.span = (t, t_end)
        for name, curve in self.curves.items():
            x, v = self.at(name, t)
            goal = np.ravel(self._arrays[name])
            curve[0] = t
            h = np.array(t_end - t)
            curve[1:] = hermite(h, x, v, goal, (goal - x) / h).ravel()

    def at(self, name: str, t: float) -> tuple[Array, Array]:
        """Value and rate of what leads."""
        c, u = self.curves[name][1:].reshape(-1, 4), t - self.curves[name][0]
        return polynomials(c, u, 0), polynomials(c, u, 1)

    def update(self, values: Mapping[str, object]) -> None:
        """Set some of them."""
        for name, value in values.items():
            self._arrays[name][...] = value

    def array(self, name: str) -> Array:
        """Where a value is kept."""
        return self._arrays[name]

    def now(self) -> dict[str, float | Array]:
        """All of them as they are now."""
        return {name: np.array(x) if x.ndim else float(x) for name, x in self._arrays.items()}


class Live:
    """An input whose value is where its stepper keeps it."""

    def __init__(self, source: Input, settings: Settings, leads: bool = False) -> None:
        self.source, self.array, self.settings = source, settings.array(source.name), settings
        #: Where it leads: the cubic of the step in hand.
        self.curve = settings.curves[source.name] if leads else None

    def __call__(self, t: float) -> float | Array:
        """The value now."""
        if self.curve is not None:
            return self.derivative(t, 0)
        return self.source.of(np.array(self.array) if self.array.ndim else float(self.array))

    def derivative(self, t: float, order: int) -> float | Array:
        """Of an order: of what leads that of the step in hand, of what acts none."""
        if self.curve is None:
            return 0.0 * self(t)
        found = polynomials(self.curve[1:].reshape(-1, 4), t - self.curve[0], order)
        return self.source.of(found if self.array.ndim else float(found[0]))

    @property
    def now(self) -> Input | Recorded:
        """The input with the value of now, or where it leads as it is over the step in hand."""
        if self.curve is not None:
            name, times = self.source.name, np.array(self.settings.span)
            rows = [self.settings.at(name, t) for t in times]
            if times[0] > 0.0:  # models begin where they begin
                times = np.append(0.0, times)
                rows.insert(0, (np.ravel(self.settings.start[name]), np.zeros(self.array.size)))
            values, rates = (np.reshape(part, (-1, *self.array.shape)) for part in zip(*rows, strict=True))
            return Recorded(name, times, values, self.source.along, rates)
        return Input(self.source.name, self.source.along, self.array)


def find_inputs(system: System) -> dict[str, Input]:
    """The inputs of a system by name; those of the same name must begin with the same value."""
    found: dict[str, Input] = {}
    problems = Problems("System")
    for path, source, _ in functions(system, Input):
        if path.endswith(("frame", "velocity")):
            problems.add(
                f"{path} = {source!r}: an input leads the place of an end or a joint, and acts as a force, a tension, "
                "gravity or rest_stretch; a frame and a velocity are functions of time."
            )
        other = found.setdefault(source.name, source)
        if not np.array_equal(other.value, source.value):
            problems.add(f"input {source.name!r} begins with {shown(other.value)} and with {shown(source.value)}.")
    problems.finish()
    return found


def leads(path: str) -> bool:
    """Whether what is taken there is a place, which cannot jump, and no force."""
    return not path.startswith(("forces", "gravity")) and not path.endswith("rest_stretch")


def leading(system: System) -> list[str]:
    """Names of the inputs that lead something."""
    return list(dict.fromkeys(source.name for path, source, _ in functions(system, Input) if leads(path)))


def bind(system: System, make: Callable[[Input, bool], object]) -> System:
    """The system with another function of time in place of each input, of which is said whether it leads."""
    places = {path: make(source, leads(path)) for path, source, _ in functions(system, Input)}
    return system.with_(places) if places else system


def functions(system: System, kind: type[T]) -> Iterator[tuple[str, T, str]]:
    """Functions of time of a kind in a system: where they are taken, themselves, and the unit there."""
    for listed in ("bodies", "joints", "rods", "forces"):
        for i, member in enumerate(getattr(system, listed)):
            yield from _inside(f"{listed}[{i}]", member, kind)
    if isinstance(system.gravity_function, kind):
        yield "gravity", system.gravity_function, "m/s^2"


def _inside(path: str, value: object, kind: type[T]) -> Iterator[tuple[str, T, str]]:
    for name in field_names(type(value)):
        part = getattr(value, name)
        if isinstance(part, kind):
            yield f"{path}.{name}", part, (kinds(type(value))[name].units or ("",))[0]
        elif isinstance(part, Description):
            yield from _inside(f"{path}.{name}", part, kind)


def check_values(inputs: Mapping[str, Input], values: Mapping[str, object]) -> dict[str, float | Array | None]:
    """Values by name, checked; all problems at once."""
    if not isinstance(values, Mapping):
        raise ValueError(f"inputs = {_check.shown(values)} must be values by name, as {{'motor': 0.3}}.")
    problems = Problems("inputs")
    found = {}
    for name, value in values.items():
        if name not in inputs:
            known = ", ".join(map(repr, inputs)) or "nothing: the system has no Input"
            problems.add(f"name = {name!r} is unknown; it can be {known}.")
        else:
            found[name] = problems.check(inputs[name].checked, value)
    if problems.sentences:
        raise ModelError(problems.sentences)
    return found
