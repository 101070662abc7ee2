"""Which runs a study has: lists of values, distributions, samplers, and from the number of a run its parameters.

Runs are numbered: every combination of the lists, and for each of them all samples, so that run number = combination *
samples + sample. Of a grid the last list changes fastest. What a run gets depends on its number alone: nothing is drawn
one after the other, and nothing but the permutations of "latin hypercube" grows with the number of runs.

The sampler "saltelli" is for Sobol indices. Of d distributions and n samples it makes n (d + 2) runs for each
combination. With A and B, n points each, the first and the last d columns of one Sobol sequence of 2 d columns, sample
j (d + 2) + k takes for k = 0 row j of A, for k = 1 row j of B, and for k = 1 + i row j of A with column i, counted from
1, of B in place of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gyrod import _check
from gyrod._check import Array
from gyrod._words import suggests
from gyrod.model.errors import ModelError, shown
from gyrod.studies.samplers import BITS, SAMPLERS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gyrod._check import Data

__all__ = [
    "DISTRIBUTIONS",
    "LAYOUTS",
    "SAMPLERS",
    "Design",
    "LogNormal",
    "LogUniform",
    "Normal",
    "Uniform",
    "make_design",
]

Column = NDArray[Any]

LAYOUTS = ("grid", "together")
#: Runs beyond so many are refused; floats are not all whole numbers beyond.
MOST = 2**53
#: Probabilities at which a distribution is looked at, the outermost of all samplers among them.
PROBED = np.array([2.0**-BITS / 2.0, 0.25, 0.5, 0.75, 1.0 - 2.0**-BITS / 2.0])


class Distribution(Protocol):
    """One of those below, of `scipy.stats`, or of the user: values at probabilities."""

    def ppf(self, u: Array, /) -> ArrayLike:
        """Values at the probabilities u in (0, 1)."""


# --- distributions ---------------------------------------------------------------------------------------------------


@suggests
@dataclass(frozen=True)
class Uniform:
    """Every value between ``low`` and ``high`` alike."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _settle(self)
        _rising(self, self.low, self.high)

    def ppf(self, u: ArrayLike) -> Array:
        """Values at the probabilities u in (0, 1)."""
        return np.asarray(self.low + (self.high - self.low) * np.asarray(u, dtype=float))

    @property
    def mean(self) -> float:
        """Mean value."""
        return 0.5 * (self.low + self.high)


@suggests
@dataclass(frozen=True)
class Normal:
    """Bell curve about ``mean`` with the standard deviation ``std``."""

    mean: float
    std: float

    def __post_init__(self) -> None:
        _settle(self)
        _check.positive("Normal: std", self.std)

    def ppf(self, u: ArrayLike) -> Array:
        """Values at the probabilities u in (0, 1)."""
        return np.asarray(self.mean + self.std * _normal(u))


@suggests
@dataclass(frozen=True)
class LogUniform:
    """Every order of magnitude between ``low`` and ``high``, both positive, alike."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _settle(self)
        _check.positive("LogUniform: low", self.low)
        _rising(self, self.low, self.high)

    def ppf(self, u: ArrayLike) -> Array:
        """Values at the probabilities u in (0, 1)."""
        return np.asarray(self.low * np.exp(math.log(self.high / self.low) * np.asarray(u, dtype=float)))

    @property
    def mean(self) -> float:
        """Mean value."""
        return (self.high - self.low) / math.log(self.high / self.low)


@suggests
@dataclass(frozen=True)
class LogNormal:
    """The logarithm is normal: half of the values lie below ``median``, 68 % within a ``factor`` > 1 of it."""

    median: float
    factor: float

    def __post_init__(self) -> None:
        _settle(self)
        _check.positive("LogNormal: median", self.median)
        if not self.factor > 1.0:
            raise ValueError(f"LogNormal: factor = {self.factor:g} must be larger than 1; 1.1 is a spread of 10 %.")

    def ppf(self, u: ArrayLike) -> Array:
        """Values at the probabilities u in (0, 1)."""
        return np.asarray(self.median * np.exp(math.log(self.factor) * _normal(u)))

    @property
    def mean(self) -> float:
        """Mean value."""
        return self.median * math.exp(0.5 * math.log(self.factor) ** 2)


DISTRIBUTIONS = (Uniform, Normal, LogUniform, LogNormal)


def _settle(distribution: Uniform | Normal | LogUniform | LogNormal) -> None:
    """Fields as finite floats."""
    kind = type(distribution).__name__
    for f in fields(distribution):
        object.__setattr__(distribution, f.name, _check.number(f"{kind}: {f.name}", getattr(distribution, f.name)))


def _rising(distribution: Distribution, low: float, high: float) -> None:
    if not low < high:
        raise ValueError(f"{type(distribution).__name__}: low = {low:g} must be below high = {high:g}.")
    if not math.isfinite(high - low):
        raise ValueError(f"{type(distribution).__name__}: {low:g} and {high:g} are too far apart.")


def _normal(u: ArrayLike) -> Array:
    from scipy.special import ndtri

    return np.asarray(ndtri(np.asarray(u, dtype=float)))


# --- the design ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Design:
    """All runs of a study: which parameters, which values, in which order."""

    #: Parameters in the order in which they were given.
    names: tuple[str, ...]
    #: Values by name, (k,) or (k, ...).
    lists: Mapping[str, Column]
    #: Distributions by name: they have ``ppf``.
    distributions: Mapping[str, Distribution]
    #: "grid": all combinations of the lists; "together": row by row.
    layout: str = "grid"
    #: For each combination; of "saltelli" the number of base samples. None without distributions.
    samples: int | None = None
    sampler: str | None = None
    seed: int = 0
    #: Draws rows of it; there with distributions only.
    _sample: Callable[[int, int], Array] = field(default=None, repr=False)  # type: ignore[assignment]

    @property
    def lengths(self) -> tuple[int, ...]:
        """Lengths of the axes of the lists: one each for a grid, a single one for "together"."""
        found = tuple(len(x) for x in self.lists.values())
        return found if self.layout == "grid" or not found else found[:1]

    @property
    def combinations(self) -> int:
        """Number of combinations of the lists."""
        return math.prod(self.lengths)

    @property
    def repeats(self) -> int:
        """Number of runs for each combination."""
        if self.samples is None:
            return 1
        return self.samples * (len(self.distributions) + 2 if self.sampler == "saltelli" else 1)

    @property
    def size(self) -> int:
        """Number of runs."""
        return self.combinations * self.repeats

    def parameters(self, start: int, stop: int) -> dict[str, Column]:
        """Columns of the runs start to stop, (n,) or (n, ...)."""
        if not 0 <= start <= stop <= self.size:
            raise ValueError(f"runs {start} to {stop} are not all there; the study has {self.size}.")
        if start == stop:
            return {name: self._empty(name) for name in self.names}
        found = {**self._listed(start, stop), **self._sampled(start, stop)}
        return {name: found[name] for name in self.names}

    def _empty(self, name: str) -> Column:
        return self.lists[name][:0] if name in self.lists else np.zeros(0, int if self.whole(name) else float)

    def whole(self, name: str) -> bool:
        """Whether all values of a parameter are whole numbers, and its column integers."""
        return self.lists[name].dtype.kind == "i" if name in self.lists else _whole(self.distributions[name])

    def _listed(self, start: int, stop: int) -> dict[str, Column]:
        if not self.lists:
            return {}
        combination = np.arange(start, stop) // self.repeats
        if self.layout == "together":
            return {name: values[combination] for name, values in self.lists.items()}
        places = np.unravel_index(combination, self.lengths)
        return {name: values[at] for (name, values), at in zip(self.lists.items(), places, strict=True)}

    def _sampled(self, start: int, stop: int) -> dict[str, Column]:
        if not self.distributions:
            return {}
        n = self.repeats
        first, last = start % n, (stop - 1) % n + 1
        if stop - start >= n:
            u = self._sample(0, n)[np.arange(start, stop) % n]
        elif first < last:
            u = self._sample(first, last)
        else:
            u = np.concatenate([self._sample(first, n), self._sample(0, last)])
        # Contiguous: NumPy computes strided numbers by other means, and rounds them otherwise.
        columns = np.ascontiguousarray(u.T)
        found = {name: np.asarray(x.ppf(c)) for (name, x), c in zip(self.distributions.items(), columns, strict=True)}
        return {name: x.astype(np.int64) if self.whole(name) else x for name, x in found.items()}

    def describe(self) -> Data:
        """All of it in plain types."""
        vary: Data = {}
        for name in self.names:
            values = self.lists.get(name)
            vary[name] = _distribution_data(self.distributions[name]) if values is None else values.tolist()
        found: Data = {"vary": vary, "design": self.layout}
        if self.distributions:
            found |= {"samples": self.samples, "sampler": self.sampler, "seed": self.seed}
        return found


def _distribution_data(distribution: Distribution) -> Data:
    if isinstance(distribution, DISTRIBUTIONS):
        values = {f.name: getattr(distribution, f.name) for f in fields(distribution)}
        return {"distribution": type(distribution).__name__, **values}
    name = getattr(getattr(distribution, "dist", None), "name", type(distribution).__name__)
    args = [np.asarray(x).tolist() for x in getattr(distribution, "args", ())]
    kwds = {k: np.asarray(x).tolist() for k, x in getattr(distribution, "kwds", {}).items()}
    # Numbers distinguish what names do not, such as histograms and distributions of the user.
    quantiles = np.asarray(distribution.ppf(np.array([0.1, 0.25, 0.5, 0.75, 0.9]))).tolist()
    return {"distribution": f"scipy.stats.{name}", "args": args, "kwds": kwds, "quantiles": quantiles}


def make_design(
    vary: Mapping[str, object],
    *,
    layout: str = "grid",
    samples: int | None = None,
    sampler: str = "sobol",
    seed: int = 0,
) -> Design:
    """Check everything about the values and put them into order; all problems in one `ModelError`."""
    if not isinstance(vary, Mapping) or not vary:
        raise ModelError("vary must be a dictionary from names to values, such as {'bob.mass': [1, 2, 5]}.")
    problems: list[str] = []
    lists: dict[str, Column] = {}
    distributions: dict[str, Distribution] = {}
    for name, given in vary.items():
        try:
            if not isinstance(name, str) or not name:
                raise ValueError(f"vary: {shown(name)} must be text such as 'bob.mass'.")
            if hasattr(given, "ppf"):
                distributions[name] = _distribution(name, given)
            else:
                lists[name] = _values(name, given)
        except ValueError as error:
            problems.append(str(error))
    sampling = any(hasattr(given, "ppf") for given in vary.values())
    for check in (
        lambda: _check.choice("design", layout, LAYOUTS),
        lambda: _check_lengths(lists) if layout == "together" else None,
        lambda: _check.choice("sampler", sampler, SAMPLERS),
        lambda: _check_whole("seed", seed, 0),
        lambda: _check_samples(samples, sampling),
    ):
        try:
            check()
        except ValueError as error:
            problems.append(str(error))
    if problems:
        raise ModelError(problems)
    names = tuple(vary)
    if not distributions:
        return _bounded(Design(names, lists, {}, layout))
    assert samples is not None
    samples, seed = int(samples), int(seed)
    sized = _bounded(Design(names, lists, distributions, layout, samples, sampler, seed))
    try:
        sample = SAMPLERS[sampler](len(distributions), samples, seed)
    except ValueError as error:
        raise ModelError(str(error)) from None
    return Design(names, lists, distributions, layout, sized.samples, sampler, seed, sample)


def _values(name: str, given: object) -> Column:
    """A list of numbers or of arrays of one shape."""
    label = f"vary[{name!r}]"
    if isinstance(given, (str, bytes, Mapping)) or not hasattr(given, "__iter__"):
        raise ValueError(f"{label} = {shown(given)} must be a list of values or a distribution such as gd.Normal.")
    try:
        values = np.array(given if hasattr(given, "__array__") else list(given))
    except (TypeError, ValueError):
        raise ValueError(f"{label} = {shown(given)} must hold numbers, or arrays of one shape.") from None
    if not len(values):
        raise ValueError(f"{label} is empty; give at least one value.")
    if values.dtype.kind not in "iuf":
        raise ValueError(f"{label} = {shown(given)} must hold numbers, or arrays of one shape.")
    values = values.astype(float if values.dtype.kind == "f" else np.int64)
    if values.dtype.kind == "f":
        _check.finite(label, values)
    values.flags.writeable = False
    return values


def _distribution(name: str, given: Any) -> Distribution:
    """Something with finite values at probabilities inside of (0, 1)."""
    label = f"vary[{name!r}]"
    kind = type(given)
    if hasattr(given, "freeze") and kind.__module__.startswith("scipy.stats.") and kind.__name__.endswith("_gen"):
        parameters = f"{given.shapes}, " if given.shapes else ""
        numbers = f"{parameters}loc" if _discrete(given) else f"{parameters}loc, scale"
        raise ValueError(
            f"{label}: scipy.stats.{given.name} has no numbers yet; give scipy.stats.{given.name}({numbers})."
        )
    u = PROBED
    try:
        single = np.shape(given.ppf(u[:1])) == (1,)
        values = np.asarray(given.ppf(u), dtype=float) if single else u
    except Exception as error:  # whatever it is, it is of the user
        raise ValueError(f"{label}: its ppf raises {type(error).__name__}: {error}.") from None
    if not single or values.shape != u.shape:
        raise ValueError(
            f"{label} must be the distribution of a number; give one for each of 'path[0]', 'path[1]'... of a vector."
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{label} = {shown(given)} has values that are not finite; bound or mend it.")
    found: Distribution = given
    return found


def _discrete(distribution: Distribution) -> bool:
    kind = type(getattr(distribution, "dist", distribution))
    return any(x.__name__ == "rv_discrete" for x in kind.__mro__)


def _whole(distribution: Distribution) -> bool:
    """Whether a distribution has whole numbers only: it is discrete, and not shifted by a fraction."""
    if not _discrete(distribution):
        return False
    ends = np.asarray(distribution.ppf(PROBED))
    listed = np.asarray(getattr(getattr(distribution, "dist", distribution), "xk", ends))
    values = np.concatenate([ends.ravel(), listed.ravel()])
    return bool(np.all(values == np.rint(values)) and np.all(np.abs(values) < MOST))


def _check_lengths(lists: Mapping[str, Column]) -> None:
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name!r} has {n}" for name, n in lengths.items())
        raise ValueError(f"design = 'together' takes lists of one length, but {told}; design = 'grid' combines them.")


def _check_samples(samples: object, sampling: bool) -> None:
    if not sampling:
        if samples is not None:
            raise ValueError(f"samples = {samples!r} needs a distribution to sample; vary has only lists of values.")
    elif samples is None:
        raise ValueError("vary has distributions, and samples says how often to draw from them; give samples=256.")
    else:
        _check_whole("samples", samples, 1)


def _check_whole(argument: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{argument} = {value!r} must be an integer of at least {least}.")


def _bounded(design: Design) -> Design:
    if design.size > MOST:
        raise ModelError(f"the study has {design.size} runs; at most {MOST} can be numbered.")
    return design
