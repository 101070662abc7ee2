"""What a fit is given: parameters that are free, curves that were measured; all problems at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from gyrod import _check
from gyrod._check import Array
from gyrod.model import ModelError
from gyrod.model.errors import shown


@dataclass(frozen=True)
class Parameter:
    """A free parameter and its coordinate u: p = guess exp(u) where its lower bound is positive, else p = scale u."""

    path: str
    guess: float
    low: float = -math.inf
    high: float = math.inf
    #: Scale of the coordinate where that of the guess turned out to be far off; 0 for that of the guess.
    unit: float = 0.0

    @property
    def log(self) -> bool:
        """Whether it is searched for on a logarithmic scale."""
        return self.low > 0.0

    @property
    def scale(self) -> float:
        """What a change of 1 in u is at the guess; the range of the bounds where the guess is zero."""
        return self.unit or abs(self.guess) or self.high - self.low

    def value(self, u: float) -> float:
        """From the coordinate."""
        if not self.log:
            return self.scale * u
        return min(max(self.guess * math.exp(u), self.low), self.high)  # rounding stays inside

    def coordinate(self, value: float) -> float:
        """To the coordinate; bounds may be infinite."""
        if not self.log:
            return value / self.scale
        return math.log(value / self.guess) if math.isfinite(value) else value

    def slope(self, value: float) -> float:
        """dp/du."""
        return value if self.log else self.scale

    def interval(self, value: float, error: float) -> tuple[float, float]:
        """From ``error`` in u below to as much above, cut at the bounds; without any where u is not determined."""
        if not math.isfinite(error):
            return (0.0 if self.log else -math.inf), math.inf
        if not self.log:
            ends = value - self.scale * error, value + self.scale * error
        else:
            ends = value * math.exp(-min(error, 700.0)), value * math.exp(min(error, 700.0))
        return max(ends[0], self.low), min(ends[1], self.high)


@dataclass(frozen=True, eq=False)
class Curve:
    """A measured quantity: values (k, ...) at times (k,), NaN where one is missing."""

    #: Text, or a function of a motion.
    quantity: Any
    name: str
    times: Array
    values: Array
    #: Standard deviation of the noise, of the shape of the values; None: from the residuals.
    sigma: Array | None

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which values there are."""
        return np.isfinite(self.values)

    @property
    def count(self) -> int:
        """How many values there are."""
        return int(self.present.sum())

    def shaped(self, shape: tuple[int, ...]) -> Curve:
        """The same where axes of length 1 are all that differs: a column of a table is a curve of numbers."""
        first, wanted = self.values.shape, shape
        if first == wanted or first[0] != wanted[0] or _longer(first) != _longer(wanted):
            return self
        sigma = None if self.sigma is None else self.sigma.reshape(shape)
        return replace(self, values=self.values.reshape(shape), sigma=sigma)


def _longer(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape[1:] if n != 1)


def read_parameters(free: object, problems: list[str]) -> tuple[Parameter, ...]:
    """Parameters of a dictionary: path to a guess, or to (guess, low, high)."""
    if not isinstance(free, Mapping) or not free:
        problems.append("free must be a dictionary from paths to guesses, such as {'hose.material.young': 5e6}.")
        return ()
    return tuple(_told(problems, partial(_parameter, path, given)) for path, given in free.items())


def read_curves(measurements: object, t_end: object, problems: list[str], resting: bool = False) -> tuple[Curve, ...]:
    """Curves of a dictionary: quantity to (times, values) or (times, values, sigma); at rest without times."""
    if not isinstance(measurements, Mapping) or not measurements:
        wanted = "values or (values, sigma)" if resting else "(times, values) or (times, values, sigma)"
        example = "(x, 1e-3)" if resting else "(t, x, 1e-3)"
        problems.append(
            f"measurements must be a dictionary from quantities to {wanted}, such as "
            f"{{'hose.positions[-1]': {example}}}."
        )
        return ()
    found: list[Curve] = []
    for quantity, given in measurements.items():
        name = quantity if isinstance(quantity, str) else getattr(quantity, "__name__", "curve")
        while any(curve is not None and curve.name == name for curve in found):
            name += "'"
        read = partial(_resting, quantity, name, given) if resting else partial(_curve, quantity, name, given, t_end)
        found.append(_told(problems, read))
    return tuple(found)


def _told(problems: list[str], read: Callable[[], object]) -> Any:
    try:
        return read()
    except ModelError as error:
        problems += error.problems
    except ValueError as error:
        problems.append(str(error))
    return None


def _parameter(path: object, given: Any) -> Parameter:
    if not isinstance(path, str) or not path:
        raise ValueError(f"free: {shown(path)} must be text such as 'hose.material.young'.")
    label = f"free[{path!r}]"
    if isinstance(given, str) or np.ndim(given) > 1 or np.size(given) not in (1, 3):
        raise ValueError(f"{label} = {shown(given)} must be a guess, or (guess, low, high).")
    parts = [given] if np.ndim(given) == 0 else list(given)
    guess = _check.number(label, parts[0])
    low, high = (_bound(label, x, e) for x, e in zip((*parts[1:], None, None)[:2], (-math.inf, math.inf), strict=True))
    if not low < high:
        raise ValueError(f"{label}: the lower bound {low:g} must be less than the upper one, {high:g}.")
    if not low <= guess <= high:
        raise ValueError(f"{label}: the guess {guess:g} lies outside of its bounds {low:g} and {high:g}.")
    if guess == 0.0 and not math.isfinite(high - low):
        raise ValueError(f"{label} = 0 does not say how large it may become; give (0, low, high).")
    return Parameter(path, guess, low, high)


def _bound(label: str, value: SupportsFloat | None, default: float) -> float:
    if value is None:
        return default
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if math.isnan(found):
        raise ValueError(f"{label}: the bound {value!r} must be a number, or None.")
    return found


def _curve(quantity: object, name: str, given: object, t_end: object) -> Curve:
    label = f"measurements[{name!r}]"
    if not isinstance(given, (tuple, list)) or len(given) not in (2, 3):
        raise ValueError(f"{label} must be (times, values) or (times, values, sigma), got {shown(given)}.")
    problems: list[str] = []
    times = _told(problems, lambda: _times(label, given[0], t_end))
    values = _told(problems, lambda: _values(label, given[1]))
    if times is not None and values is not None and len(values) != len(times):
        problems.append(f"{label}: there are {len(times)} times, but {len(values)} values; give one row for each time.")
    sigma = None if len(given) == 2 or given[2] is None or values is None else given[2]
    if sigma is not None:
        sigma = _told(problems, lambda: _sigma(label, sigma, values))
    if problems:
        raise ModelError(problems)
    return Curve(quantity, name, times, values, sigma)


def _resting(quantity: object, name: str, given: object) -> Curve:
    """Values at rest, as a curve of one point."""
    label = f"measurements[{name!r}]"
    values, sigma = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    if isinstance(given, tuple) and len(given) != 2:
        raise ValueError(f"{label} must be values or the tuple (values, sigma), got {shown(given)}.")
    try:
        rows = [np.asarray(values, dtype=float)]
    except (TypeError, ValueError):
        raise ValueError(f"{label}: values must be real numbers, got {shown(values)}.") from None
    read = _values(label, rows)
    return Curve(quantity, name, np.zeros(1), read, None if sigma is None else _sigma(label, sigma, read))


def _times(label: str, given: object, t_end: object) -> Array:
    try:
        times = _check.times("times", given)
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None
    if times[0] < 0.0:
        raise ValueError(f"{label}: the time {times[0]:g} lies before the start, t = 0.")
    if t_end is not None and times[-1] > t_end:
        raise ValueError(f"{label}: the time {times[-1]:g} lies beyond t_end = {t_end:g}.")
    return times


def _values(label: str, given: object) -> Array:
    try:
        values = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{label}: values must be real numbers, one row for each time, got {shown(given)}.") from None
    if values.ndim == 0:
        raise ValueError(f"{label}: values must have one row for each time, got the number {values:g}.")
    if np.isinf(values).any():
        raise ValueError(f"{label}: values must be finite; NaN stands for one that is missing.")
    if not np.isfinite(values).any():
        raise ValueError(f"{label}: all values are missing.")
    return values


def _sigma(label: str, given: object, values: Array) -> Array:
    try:
        sigma = np.asarray(given, dtype=float)
        if sigma.ndim == 1 and values.ndim > 1 and len(sigma) == len(values) != values.shape[-1]:
            sigma = sigma.reshape(-1, *[1] * (values.ndim - 1))  # one for each time
        elif sigma.shape == (*values.shape, 1):  # a column
            sigma = sigma[..., 0]
        sigma = np.array(np.broadcast_to(sigma, values.shape))
    except (TypeError, ValueError):
        raise ValueError(
            f"{label}: sigma must be a number, or have the shape {values.shape} of the values, got {shown(given)}."
        ) from None
    if not (np.isfinite(sigma) & (sigma > 0.0))[np.isfinite(values)].all():
        raise ValueError(f"{label}: sigma, the standard deviation of the noise, must be positive, got {shown(given)}.")
    return np.where(np.isfinite(values), sigma, np.nan)
