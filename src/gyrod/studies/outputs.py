"""What is kept of a run: final values, extremes, averages, times of crossings, whole curves.

Steps of good integrators are long: between their ends a quantity may rise by percents. Extremes, averages and crossings
are therefore found on the dense output, extremes and crossings only in those steps where the rows say that there may be
one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from gyrod import _check
from gyrod._check import Array
from gyrod._words import suggests
from gyrod.model import System
from gyrod.model.errors import shown
from gyrod.motion import Motion, Rest
from gyrod.motion.between import DEGREES
from gyrod.motion.readings import Quantity, quantity
from gyrod.quantities import MATRIX, ROD
from gyrod.studies.identity import function_data, plain

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "OUTPUTS",
    "Average",
    "Crossing",
    "Custom",
    "Final",
    "History",
    "Maximum",
    "Measured",
    "Minimum",
    "Needs",
    "Output",
    "Quantity",
    "output",
    "quantity",
]

Needs = Literal["end", "rows", "steps", "dense"]

#: Parts of a step at whose ends a curve is looked at, at least: as many as the dense output has degrees, if these are
#: more.
PARTS = 4


@dataclass(frozen=True)
class Measured:
    """A quantity that a function of the user reads."""

    function: Callable[[Motion], ArrayLike]
    unit: str = ""
    kinematic: bool = False
    dense: bool = True
    linked: bool = True

    def read(self, motion: Motion) -> Array:
        """Its values, (n, ...)."""
        values = np.asarray(self.function(motion), dtype=float)
        if motion.t.ndim and values.shape[:1] != motion.t.shape:
            raise ValueError(f"the quantity must have one entry for each of {len(motion.t)} times, got {values.shape}.")
        return values

    def describe(self) -> object:
        """What identifies it."""
        return function_data(self.function)


# --- outputs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Output:
    """Base of what is kept of a run.

    A new one

    1. says in `needs` of which times it needs rows: "end" the last only, "rows" those in ``times``, "steps" the ends of
       all accepted steps, "dense" also times between them;
    2. implements `reduce`, from the values of its quantity at rows to what is kept;
    3. may override `evaluate`, where more is known than rows, `shape`, and `at_rest` and `check_rest`, for
       what it is of an equilibrium;
    4. joins `OUTPUTS`, over which tests run. Further fields are numbers or arrays.
    """

    #: Text, or a function of a `Motion` that returns an array, time first; in a plan what it was read as.
    quantity: Any
    _: KW_ONLY
    #: Of a field along a rod: a fraction of the length, or several, at which it is taken, whatever the mesh.
    at: ArrayLike | None = None
    #: In a plan the name that it was given there.
    name: str = ""

    @property
    def needs(self) -> Needs:
        """What it needs of a run."""
        return "dense"

    def bound(self, name: str, system: System, t_end: float) -> Self:  # noqa: ARG002
        """The same under a name, for the quantities of a system."""
        given = self.quantity
        found = Measured(given) if callable(given) else quantity(given, system)
        return replace(self, name=name, quantity=found if self.at is None else _placed(found, self.at))

    def evaluate(self, motion: Motion) -> Array:
        """What is kept of a motion; its shape is the same for all."""
        return self.reduce(motion.t, self.quantity.read(motion))

    def of(self, run: Motion | Rest) -> Array:
        """What is kept of a motion or of an equilibrium."""
        return self.at_rest(run) if isinstance(run, Rest) else self.evaluate(run)

    def at_rest(self, rest: Rest) -> Array:
        """What is kept of an equilibrium, in the same shape."""
        raise NotImplementedError

    def check_rest(self) -> None:
        """Raise a sentence unless it can be taken of an equilibrium."""
        what = type(self).__name__
        raise ValueError(f"{what} is of a motion, and these runs are at rest; take Final, or Maximum with over='rod'.")

    def reduce(self, t: Array, values: Array) -> Array:
        """What is kept, of the values (n, ...) at rows, whose times are (n,)."""
        raise NotImplementedError

    def shape(self, entry: tuple[int, ...]) -> tuple[int, ...]:
        """Its shape, where ``entry`` is that of the quantity at one time."""
        return entry

    def describe(self) -> dict[str, object]:
        """What identifies it, in plain types."""
        more = {f.name: plain(getattr(self, f.name)) for f in fields(self) if f.name not in ("quantity", "name")}
        more = {key: x for key, x in more.items() if x is not None}
        told = self.quantity.describe() if hasattr(self.quantity, "describe") else plain(self.quantity)
        return {"output": type(self).__name__, "quantity": told, **more}


@suggests
@dataclass(frozen=True)
class Final(Output):
    """The value of a quantity at the end of a run: ``gd.Final("hose.positions[-1]")``.

    A run that an event has ended has its values there. Quaternions of bodies are on the side of that at the start.
    """

    @property
    def needs(self) -> Needs:
        """Only the end, unless the quantity is summed over the steps."""
        return "dense" if self.quantity.dense else "end"

    def check_rest(self) -> None:
        """Nothing is missing."""

    def at_rest(self, rest: Rest) -> Array:
        """The value there."""
        return np.asarray(self.quantity.read(rest.motion))

    def evaluate(self, motion: Motion) -> Array:
        """The last row."""
        if isinstance(self.quantity, Measured):
            return self.reduce(motion.t, self.quantity.read(motion))
        last = _last(motion)
        return self.reduce(last.t, self.quantity.read(last))

    def reduce(self, t: Array, values: Array) -> Array:  # noqa: ARG002
        """The last entry."""
        return np.asarray(values[-1])


@dataclass(frozen=True)
class _Extreme(Output):
    """An extreme over time, entry by entry, and over a whole rod if requested; ``sign`` is 1 for the largest."""

    #: "rod": of a field along a rod, the extreme of all places.
    over: str | None = None
    #: With ``over``: "value", or "place", the fraction of the length at which it is.
    give: str | None = None

    sign: ClassVar[float]

    def __post_init__(self) -> None:
        if self.over not in (None, "rod"):
            raise ValueError(f"over = {self.over!r} must be 'rod', or be left out.")
        if self.give not in (None, "value", "place"):
            raise ValueError(f"give = {self.give!r} must be 'value' or 'place'.")
        if self.over is None and self.give is not None:
            raise ValueError(f"give = {self.give!r} needs over='rod'.")
        if self.over is not None and self.at is not None:
            raise ValueError(f"at = {shown(self.at)} cannot be given with over='rod'; leave out one of them.")

    def bound(self, name: str, system: System, t_end: float) -> Self:
        """The same for all places of a rod."""
        found = super().bound(name, system, t_end)
        return found if self.over is None else replace(found, quantity=_everywhere(found.quantity))

    def shape(self, entry: tuple[int, ...]) -> tuple[int, ...]:
        """Without the axis along the rod."""
        return entry[1:] if self.over else entry

    def check_rest(self) -> None:
        """Only over a rod."""
        if self.over is None:
            super().check_rest()

    def at_rest(self, rest: Rest) -> Array:
        """The extreme over the rod."""
        return self._over(rest.motion, self.quantity.read(rest.motion))

    def evaluate(self, motion: Motion) -> Array:
        """Extremes of polynomials through the points of a step."""
        tops = self.sign * _largest(motion, lambda m: self.sign * self.quantity.read(m), linked=self.quantity.linked)
        return self._over(motion, tops) if self.over else tops

    def _over(self, motion: Motion, tops: Array) -> Array:
        """Of the extremes (k, ...) at the places of a rod."""
        if self.give == "place":
            return np.asarray(self.quantity.stations(motion)[np.argmax(self.sign * tops, axis=0)])
        return np.asarray(self.sign * np.max(self.sign * tops, axis=0))

    def reduce(self, t: Array, values: Array) -> Array:  # noqa: ARG002
        """The row that is the extreme."""
        return np.asarray(self.sign * (self.sign * values).max(axis=0))


@suggests
@dataclass(frozen=True)
class Maximum(_Extreme):
    """The largest value of a quantity in a run, entry by entry, found on the dense output.

    ``over="rod"`` takes the largest of all places of a rod, ``give="place"`` the fraction of its length where that is:
    ``gd.Maximum("norm hose.moment", over="rod")``.
    """

    sign: ClassVar[float] = 1.0


@suggests
@dataclass(frozen=True)
class Minimum(_Extreme):
    """The smallest value of a quantity in a run, as `Maximum`: ``gd.Minimum("hose.bend_radius", over="rod")``."""

    sign: ClassVar[float] = -1.0


@suggests
@dataclass(frozen=True)
class Average(Output):
    """The mean over time of a quantity in a run, entry by entry, integrated over the dense output."""

    def evaluate(self, motion: Motion) -> Array:
        """Gauss's rule with three points in each step."""
        if motion._dense is None:
            return super().evaluate(motion)
        x, w = np.polynomial.legendre.leggauss(3)
        ends, h = motion.steps[:-1], np.diff(motion.steps)
        t = (ends[:, None] + 0.5 * h[:, None] * (1.0 + x)).ravel()
        weights = (0.5 * h[:, None] * w).ravel()
        return np.asarray(np.tensordot(weights, self.quantity.read(motion(t)), axes=1) / weights.sum())

    def reduce(self, t: Array, values: Array) -> Array:
        """Integral of the lines between rows, over the time."""
        return np.asarray(np.trapezoid(values, t, axis=0) / (t[-1] - t[0]))


@suggests
@dataclass(frozen=True)
class Crossing(Output):
    """The time at which a quantity, a single number, passes ``value``, in s; NaN if it does not.

    ``direction`` +1 takes rising passages only, -1 falling ones, 0 all; ``which`` counts them from 0, -1 is the last.
    """

    value: float = 0.0
    direction: int = 0
    which: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _check.number("value", self.value))
        if self.direction not in (-1, 0, 1):
            raise ValueError(f"direction = {self.direction!r} must be 1 (rising), -1 (falling) or 0 (all).")
        if isinstance(self.which, bool) or not isinstance(self.which, int):
            raise ValueError(f"which = {self.which!r} must be an integer: 0 is the first, -1 the last.")

    def shape(self, entry: tuple[int, ...]) -> tuple[int, ...]:
        """A number."""
        if entry != ():
            raise ValueError(f"Crossing takes a single number, but the quantity has the shape {entry}; add indices.")
        return ()

    def evaluate(self, motion: Motion) -> Array:
        """The time, located on the dense output."""
        if motion._dense is None:
            return super().evaluate(motion)
        t, gap = _inside(motion, self._gap, _near_zero, linked=self.quantity.linked)
        place = self._place(gap)
        if place is None:
            return np.asarray(np.nan)
        k, i = divmod(place, gap.shape[1] - 1)
        return np.asarray(self._located(motion, t[k, i : i + 2].tolist(), gap[k, i : i + 2].tolist()))

    def reduce(self, t: Array, values: Array) -> Array:
        """The time, on lines between rows."""
        gap = values - self.value
        i = self._place(gap[None])
        if i is None:
            return np.asarray(np.nan)
        return np.asarray(t[i] + (t[i + 1] - t[i]) * gap[i] / (gap[i] - gap[i + 1]))

    def _gap(self, motion: Motion) -> Array:
        return np.asarray(self.quantity.read(motion) - self.value)

    def _place(self, gap: Array) -> int | None:
        """Number of the part, of pieces (c, m), in which it passes; who starts at the value has not passed it yet."""
        before, after = np.sign(gap[:, :-1]).ravel(), np.sign(gap[:, 1:]).ravel()
        found = np.flatnonzero((before != 0.0) & (before * after <= 0.0) & (before != self.direction))
        return int(found[self.which]) if -len(found) <= self.which < len(found) else None

    def _located(self, motion: Motion, ends: list[float], gaps: list[float]) -> float:
        from scipy.optimize import brentq

        known = dict(zip(ends, gaps, strict=True))  # by rows, whose signs are certain

        def gap(t: float) -> float:
            return known[t] if t in known else float(self._gap(motion(np.array([t])))[0])

        return float(brentq(gap, *ends, xtol=1e-15 * ends[1], rtol=1e-12))


@suggests
@dataclass(frozen=True, eq=False)
class History(Output):
    """The whole curve of a quantity at ``times``, an array, or a number of equal parts of the run.

    NaN at times that a run, ended by an event, has not reached.
    """

    times: Any

    @property
    def needs(self) -> Needs:
        """Rows, unless the quantity needs more."""
        return "dense" if self.quantity.dense else "rows"

    def bound(self, name: str, system: System, t_end: float) -> Self:
        """The same with the times of the run."""
        return replace(super().bound(name, system, t_end), times=_times(self.times, t_end))

    def shape(self, entry: tuple[int, ...]) -> tuple[int, ...]:
        """Time first."""
        return (len(self.times), *entry)

    def evaluate(self, motion: Motion) -> Array:
        """Rows of the motion where it has them, the dense output otherwise."""
        end = motion.steps[-1] if motion.status == "event" else np.inf
        times = self.times[self.times <= end]
        if not len(times):
            return np.full(self.shape(self.quantity.read(_last(motion)).shape[1:]), np.nan)
        at = np.clip(np.searchsorted(motion.t, times - self._slack), 0, len(motion.t) - 1)
        if np.all(np.abs(motion.t[at] - times) <= self._slack):
            return self.reduce(times, self.quantity.read(motion.at_rows(at)))
        return self.reduce(times, self.quantity.read(motion(times)))

    @property
    def _slack(self) -> float:
        """Rows of constant steps are multiples of the step, but for rounding."""
        return 1e-12 * float(self.times[-1])

    def reduce(self, t: Array, values: Array) -> Array:  # noqa: ARG002
        """These rows, and NaN for those that are missing at the end."""
        missing = np.full((len(self.times) - len(values), *values.shape[1:]), np.nan)
        return np.concatenate([values, missing])


@dataclass(frozen=True)
class Custom(Output):
    """What a function of the user makes of a motion: ``quantity`` is that function."""

    def bound(self, name: str, system: System, t_end: float) -> Self:  # noqa: ARG002
        """The same under a name."""
        if self.at is not None:
            raise ValueError("at is for fields along a rod, not for functions; take the places in the function.")
        return replace(self, name=name, quantity=Measured(self.quantity))

    def check_rest(self) -> None:
        """Nothing is missing."""

    def at_rest(self, rest: Rest) -> Array:
        """What it makes of the `Rest`."""
        return self._numbers(rest)

    def evaluate(self, motion: Motion) -> Array:
        """What it makes of the motion."""
        return self._numbers(motion)

    def _numbers(self, given: Motion | Rest) -> Array:
        found = self.quantity.function(given)
        try:
            return np.array(found, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"it returned {shown(found)}; it must return a number or an array of numbers.") from None


def _placed(found: Quantity | Measured, given: object) -> Quantity:
    """A field along a rod at fractions of its length, or at one."""
    if not isinstance(found, Quantity) or not found.place:
        what = repr(found.text) if isinstance(found, Quantity) else "a function"
        raise ValueError(f"at = {shown(given)} is for fields along a rod, such as 'hose.positions', not for {what}.")
    try:
        s = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        s = np.full(1, np.nan)
    if s.ndim > 1 or not s.size or not ((s >= 0.0) & (s <= 1.0)).all():
        raise ValueError(f"at = {shown(given)} must be a fraction of the length from 0 to 1, or a list of them.")
    return replace(found, at=float(s) if s.ndim == 0 else tuple(s.tolist()))


def _everywhere(found: Quantity | Measured) -> Quantity:
    """A field along a rod at all its places."""
    if not isinstance(found, Quantity) or not found.place:
        what = repr(found.text) if isinstance(found, Quantity) else "a function"
        raise ValueError(f"over = 'rod' is for fields along a rod, such as 'hose.bend_radius', not for {what}.")
    if found.index and found.index[0] != (None, None, None):
        raise ValueError(f"{found.text!r} takes some places, and over = 'rod' all; write the first index as ':'.")
    components = ROD[found.field].components
    left = (len(components) > 0) + (len(components) == len(MATRIX)) - sum(isinstance(i, int) for i in found.index)
    if found.measure == "norm" and not left:
        raise ValueError(f"{found.text!r} is the norm over the places; with over = 'rod' leave norm out.")
    return replace(found, everywhere=True)


def output(given: object) -> Output:
    """An output as it may be given: as such, as text, or as a function of a motion."""
    if isinstance(given, Output):
        return given
    if isinstance(given, str):
        return Final(given)
    if callable(given):
        return Custom(given)
    raise ValueError(
        f"{shown(given)} must be a quantity such as 'bob.position[2]', an output such as gd.Maximum('energy.kinetic'), "
        "or a function of a motion."
    )


def _times(given: object, t_end: float) -> Array:
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        if given < 1:
            raise ValueError(f"times = {given} must be at least 1, the number of equal parts of the run.")
        return np.linspace(0.0, t_end, int(given) + 1)
    times = _check.times("times", given)
    if times[0] < 0.0 or times[-1] > t_end:
        raise ValueError(f"times must lie in [0, {t_end:g}], got {times[0]:g} ... {times[-1]:g}.")
    return times


#: All of them; tests run over them.
OUTPUTS: tuple[type[Output], ...] = (Final, Maximum, Minimum, Average, Crossing, History, Custom)


# --- between rows ----------------------------------------------------------------------------------------------------


def _last(motion: Motion) -> Motion:
    """The last row; an event ends a run between the output times."""
    if motion.status == "event" and (not len(motion.t) or motion.t[-1] < motion.events[-1].t):
        end = motion.events[-1]
        return replace(motion, t=np.array([end.t]), y=end.state.y[None], events=())
    return motion.at_rows(slice(-1, None))


def _inside(
    motion: Motion,
    read: Callable[[Motion], Array],
    wanted: Callable[[Array, Array], NDArray[np.bool_]],
    *,
    linked: bool,
) -> tuple[Array, Array]:
    """Times (c, p + 1) and values (c, p + 1, ...) in p parts of those steps that rows and their reach make wanted.

    The reach of a step is how far a curve may leave what it has at the ends: four times that of a parabola with the
    curvature of the neighbouring rows.
    """
    ends, points = motion.steps, _points(max(DEGREES.get(motion.stats.method, 0), PARTS))
    rows = motion if np.array_equal(motion.t, ends) else motion(ends)
    values = read(rows)
    steps = np.arange(len(ends) - 1) if linked else np.flatnonzero(wanted(values, _reach(ends, values)))
    h = np.diff(ends)[steps]
    t = ends[steps, None] + h[:, None] * points
    t[:, -1] = ends[steps + 1]
    found = np.empty((*t.shape, *values.shape[1:]))
    if linked:  # all rows in one, so that each finds the one before
        every = np.unique(t)
        return t, read(motion(every))[np.searchsorted(every, t)]
    found[:, 0], found[:, -1] = values[steps], values[steps + 1]
    if len(steps):
        inner = read(motion(t[:, 1:-1].ravel()))
        found[:, 1:-1] = inner.reshape(len(steps), len(points) - 2, *values.shape[1:])
    return t, found


def _reach(t: Array, values: Array) -> Array:
    """How far a curve may leave its values at the ends of a step, (n - 1, ...)."""
    if len(t) < 3:
        return np.full((len(t) - 1, *values.shape[1:]), np.inf)
    h = np.diff(t).reshape(-1, *[1] * (values.ndim - 1))
    with np.errstate(invalid="ignore"):
        bend = np.abs(np.diff(np.diff(values, axis=0) / h, axis=0)) * 2.0 / (h[1:] + h[:-1])
    bend = np.concatenate([bend[:1], bend, bend[-1:]])
    return np.asarray(0.5 * h**2 * np.maximum(bend[1:], bend[:-1]))


def _near_zero(values: Array, reach: Array) -> NDArray[np.bool_]:
    a, b = values[:-1], values[1:]
    return np.asarray((np.sign(a) != np.sign(b)) | (np.minimum(np.abs(a), np.abs(b)) <= reach))


def _near_top(values: Array, reach: Array) -> NDArray[np.bool_]:
    # What is not finite is near.
    far = np.maximum(values[:-1], values[1:]) + reach < values.max(axis=0)
    return ~np.asarray(far.reshape(len(far), -1).all(axis=1))


def _largest(motion: Motion, read: Callable[[Motion], Array], *, linked: bool) -> Array:
    """Largest values over time, entry by entry."""
    if motion._dense is None:
        return np.asarray(read(motion).max(axis=0))
    _, found = _inside(motion, read, _near_top, linked=linked)
    shape = found.shape[2:]
    found = found.reshape(*found.shape[:2], -1)
    # The polynomial through the points of a step on a finer grid, and the parabola through the best three of these.
    with np.errstate(all="ignore"):
        fine, x = _finer(found.shape[1] - 1) @ found, _points(8 * (found.shape[1] - 1))
        step, at = np.unravel_index(np.argmax(fine.reshape(-1, fine.shape[2]), axis=0), fine.shape[:2])
        entry, at = np.arange(fine.shape[2]), np.clip(at, 1, len(x) - 2)
        a, b, c = (fine[step, at + k, entry] for k in (-1, 0, 1))
        h, k = x[at] - x[at - 1], x[at + 1] - x[at]
        left, right = (b - a) / h, (c - b) / k
        slope, bend = (left * k + right * h) / (h + k), (right - left) / (h + k)
        s = -0.5 * slope / bend
        top = np.where((bend < 0.0) & (-h <= s) & (s <= k), b + 0.5 * slope * s, b)
    return np.asarray(np.fmax(top, found.max(axis=(0, 1))).reshape(shape))


@cache
def _points(parts: int) -> Array:
    """Chebyshev points of [0, 1] with its ends, (parts + 1,)."""
    return np.asarray(0.5 - 0.5 * np.cos(np.arange(parts + 1) * np.pi / parts))


@cache
def _finer(parts: int) -> Array:
    """From values at `_points` to those of the polynomial through them at eight times as many, (8 p + 1, p + 1)."""
    x, z = _points(8 * parts), _points(parts)
    columns = [
        np.prod([(x - z[j]) / (z[i] - z[j]) for j in range(parts + 1) if j != i], axis=0) for i in range(parts + 1)
    ]
    return np.stack(columns, axis=1)
