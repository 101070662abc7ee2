"""Sobol indices: which share of an output's variance comes from which parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gyrod import _check
from gyrod._check import Array
from gyrod._words import listed
from gyrod.look.plots.study_panels import named
from gyrod.studies.columns import parted

if TYPE_CHECKING:
    from os import PathLike

    import xarray as xr
    from matplotlib.figure import Figure

    from gyrod._check import AnyArray

#: Fewer runs (base samples of a Saltelli design) are not enough.
FEWEST = 16
#: Variation that is rounding, over the largest value.
ROUNDING = 1e-12
#: Highest degree of the regression, and runs for each of its coefficients.
DEGREE, RUNS_PER_DEGREE = 12, 8
#: Numbers that resampling works on at once.
AT_ONCE = 4_000_000
#: Rows of the table.
ROWS = 24


@dataclass(frozen=True)
class SobolIndices:
    """First-order and total Sobol indices of a study, for each output (rows) and each parameter (columns).

    The first-order index of a parameter is the share of the variance that would vanish if it were known; the total
    index the share that would stay if all others were known.
    """

    #: Outputs, entry by entry: "flip", "tip[0]", "tip[1]".
    outputs: tuple[str, ...]
    parameters: tuple[str, ...]
    #: (outputs, parameters); NaN where an output does not vary.
    first: Array
    #: The same; None where the samples do not determine it: it takes the sampler "saltelli".
    total: Array | None
    #: Confidence intervals by "first" and "total", (outputs, parameters, 2).
    intervals: dict[str, Array]
    confidence: float
    #: "saltelli", or "regression" for samples of another design.
    method: str
    #: Base samples (of "regression": runs) that were used, for each output.
    used: tuple[int, ...]
    #: What was left out, and why.
    notes: tuple[str, ...] = ()
    #: Times of the entries where all outputs are one of a curve, s.
    times: Array | None = field(default=None, repr=False)

    def __getitem__(self, output: str) -> dict[str, float]:
        """First-order indices of one output by parameter."""
        row = self.first[self.outputs.index(_check.choice("output", output, self.outputs))]
        return dict(zip(self.parameters, row.tolist(), strict=True))

    def __str__(self) -> str:
        return table(self)

    def plot(
        self,
        *,
        file: str | PathLike[str] | None = None,
        figure: Figure | None = None,
        size: tuple[float, float] | None = None,
    ) -> Figure:
        """Bars with their intervals, over time for a curve; a matplotlib Figure, which ``file`` saves."""
        from gyrod.look.plots.studies import plot_indices

        return plot_indices(self, file=file, figure=figure, size=size)


def sobol(
    dataset: xr.Dataset,
    parameters: Sequence[str],
    sampler: str,
    output: str | Sequence[str] | None = None,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    lists: Sequence[str] = (),
) -> SobolIndices:
    """Sobol indices of the outputs of a study.

    For the sampler "saltelli" first-order indices by Saltelli et al. 2010, total ones by Jansen 1999, intervals by
    resampling the base samples. For other samples first-order indices by regression on each parameter.

    Parameters
    ----------
    dataset
        Runs along "run", whose coordinate is the number of each in the design.
    parameters
        Those with a distribution, in the order of the design.
    output
        Names of outputs, or of entries of them as "tip[2]"; None for all but curves.
    lists
        Parameters with lists of values, which the indices cannot distinguish from chance: there must be none.
    """
    names = list(parameters)
    if not names:
        raise ValueError("Sobol indices are for sampled studies, and here no parameter has a distribution.")
    if lists:
        raise ValueError(
            f"Sobol indices are for studies in which every parameter has a distribution, and "
            f"{', '.join(map(repr, lists))} has a list of values; give it a distribution, or leave it out."
        )
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence = {confidence!r} must lie between 0 and 1.")
    labels, columns, times = entries(dataset, output)
    found: _Found
    if sampler == "saltelli":
        found = _saltelli(np.asarray(dataset["run"]), columns, len(names), confidence, resamples, seed)
    else:
        inputs = np.stack([_scalar(dataset, name) for name in names], axis=1)
        found = _given(inputs, columns, confidence)
    first, total, intervals, used, whole = found
    notes = _notes(labels, first, used, whole, "base samples" if sampler == "saltelli" else "runs")
    method = "saltelli" if sampler == "saltelli" else "regression"
    return SobolIndices(
        tuple(labels), tuple(names), first, total, intervals, confidence, method, tuple(used), tuple(notes), times
    )


def entries(dataset: xr.Dataset, output: str | Sequence[str] | None) -> tuple[list[str], Array, Array | None]:
    """Labels and values of all entries of outputs, (runs, entries), and their times if they are one curve."""
    known = named(dataset, "outputs") or [
        str(name) for name, x in dataset.data_vars.items() if x.dims[:1] == ("run",) and x.dtype.kind == "f"
    ]
    plain = [name for name in known if not _is_curve(dataset, name)] or known
    chosen = plain if output is None else [output] if isinstance(output, str) else list(output)
    if not chosen:
        raise ValueError(f"output = {output!r} chooses nothing; it can be {', '.join(map(repr, known))}.")
    shapes = {name: dataset[name].shape[1:] for name in known}
    parts = [parted(name, shapes) for name in chosen]
    for name, _ in parts:
        _check.choice("output", name, known)
    labels: list[str] = []
    columns: list[Array] = []
    for name, entry in parts:
        values = np.asarray(dataset[name], dtype=float).reshape(dataset.sizes["run"], -1)
        places = list(np.ndindex(shapes[name]))
        mine = [k for k, i in enumerate(places) if i[: len(entry)] == entry]
        labels += [name + _place(places[k]) for k in mine]
        # Entries that vary by rounding only, beside the others, do not vary.
        sound = np.isfinite(values)
        most = np.max(values, axis=0, initial=-np.inf, where=sound) - np.min(
            values, axis=0, initial=np.inf, where=sound
        )
        still = most <= ROUNDING * np.max(np.abs(values), initial=0.0, where=sound)
        columns.append(np.where(still & sound, 0.0, values)[:, mine])
    times = None
    only = dataset[chosen[0]] if len(chosen) == 1 and chosen[0] in shapes else None
    if only is not None and only.ndim == 2 and _is_curve(dataset, chosen[0]):
        times = np.asarray(dataset[only.dims[1]], dtype=float)
    return labels, np.concatenate(columns, axis=1), times


def _is_curve(dataset: xr.Dataset, name: str) -> bool:
    return dataset[name].ndim > 1 and dataset[name].dims[1] in dataset.coords


def _place(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]" if index else ""


def _scalar(dataset: xr.Dataset, name: str) -> Array:
    values = np.asarray(dataset[name], dtype=float)
    if values.ndim != 1:
        raise ValueError(f"{name} is a vector; Sobol indices are for numbers, so give each of its entries separately.")
    return values


# --- designs of Saltelli ---------------------------------------------------------------------------------------------

_Found = tuple[Array, Array | None, dict[str, Array], list[int], int]


def _saltelli(
    runs: AnyArray, columns: Array, d: int, confidence: float, resamples: int, seed: int
) -> tuple[Array, Array, dict[str, Array], list[int], int]:
    """Runs come in groups of d + 2 for each base sample: A, B, and A with one parameter of B at a time."""
    if not isinstance(resamples, int) or resamples < 10:
        raise ValueError(f"resamples = {resamples!r} must be an integer from 10 on.")
    group = d + 2
    base, place = np.divmod(runs.astype(np.int64), group)
    numbers, row = np.unique(base, return_inverse=True)
    f = np.full((len(numbers), group, columns.shape[1]), np.nan)
    f[row, place] = columns  # what is not there yet stays NaN
    sound = np.isfinite(f).all(axis=1)
    m = columns.shape[1]
    first, total = np.full((m, d), np.nan), np.full((m, d), np.nan)
    bounds = {"first": np.full((m, d, 2), np.nan), "total": np.full((m, d, 2), np.nan)}
    tail = 50.0 * (1.0 - confidence)
    for k in range(m):
        rows = f[sound[:, k], :, k]
        _enough(len(rows), len(numbers), "base samples")
        # About the mean: the estimator of the first order loses digits, and certainty, to a large one.
        scale = np.ptp(rows[:, :2])
        if not scale > ROUNDING * np.abs(rows).max():
            continue
        moments = _moments((rows - rows[:, :2].mean()) / scale)
        first[k], total[k] = (x[0] for x in _indices(moments.mean(axis=0)[None], d))
        drawn = [_indices(x, d) for x in _resampled(moments, resamples, seed)]
        for name, part in zip(("first", "total"), zip(*drawn, strict=True), strict=True):
            bounds[name][k] = np.percentile(np.concatenate(part), (tail, 100.0 - tail), axis=0).T
    return first, total, bounds, sound.sum(axis=0).tolist(), len(numbers)


def _moments(f: Array) -> Array:
    """All means that the indices are made of, sample by sample, (n, 3 + 3 d)."""
    a, b, ab = f[:, 0], f[:, 1], f[:, 2:]
    change = ab - a[:, None]
    level = np.stack([0.5 * (a + b), 0.5 * (a * a + b * b), b], axis=1)
    return np.concatenate([level, change, b[:, None] * change, 0.5 * change**2], axis=1)


def _indices(means: Array, d: int) -> tuple[Array, Array]:
    """First-order and total indices from means, (k, 3 + 3 d)."""
    mean, square = means[:, :1], means[:, 1:2]
    change, product, jansen = (means[:, 3 + i * d : 3 + (i + 1) * d] for i in range(3))
    variance = np.maximum(square - mean**2, 1e-300)
    return (product - mean * change) / variance, jansen / variance


def _resampled(moments: Array, resamples: int, seed: int) -> list[Array]:
    """Means of samples drawn with replacement, in parts of (k, 3 + 3 d)."""
    rng = np.random.default_rng(seed)
    n = len(moments)
    step = max(1, min(resamples, AT_ONCE // n))
    parts = []
    for begin in range(0, resamples, step):
        count = min(step, resamples - begin)
        drawn = rng.integers(n, size=(count, n)) + n * np.arange(count)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=count * n).reshape(count, n)
        parts.append(weights @ moments / n)
    return parts


# --- other samples ---------------------------------------------------------------------------------------------------


def _given(inputs: Array, columns: Array, confidence: float) -> tuple[Array, None, dict[str, Array], list[int], int]:
    """First-order indices from samples of any design, by regression on one parameter at a time."""
    from scipy.stats import norm

    m, d = columns.shape[1], inputs.shape[1]
    first, bounds = np.full((m, d), np.nan), np.full((m, d, 2), np.nan)
    z = float(norm.ppf(0.5 + 0.5 * confidence))
    sound = np.isfinite(columns)
    bases: dict[bytes, list[Array]] = {}
    for k in range(m):
        use = sound[:, k]
        y = columns[use, k]
        _enough(len(y), len(columns), "runs")
        scale = np.ptp(y)
        if not scale > ROUNDING * np.abs(y).max():
            continue
        y = (y - y.mean()) / scale
        basis = bases.setdefault(use.tobytes(), [_basis(inputs[use, i]) for i in range(d)])
        for i in range(d):
            first[k, i], error = _explained(basis[i], y)
            bounds[k, i] = first[k, i] - z * error, first[k, i] + z * error
    return first, None, {"first": bounds}, sound.sum(axis=0).tolist(), len(columns)


def _basis(x: Array) -> Array:
    """Orthonormal columns, (n, p): polynomials of the ranks, which are uniform whatever the distribution is."""
    from numpy.polynomial import legendre
    from scipy.stats import rankdata

    n = len(x)
    u = (2.0 * rankdata(x) - 1.0) / n - 1.0
    degree = min(DEGREE, n // RUNS_PER_DEGREE, len(np.unique(x)) - 1)
    q, _ = np.linalg.qr(legendre.legvander(u, max(degree, 0)))
    return np.asarray(q)


def _explained(q: Array, y: Array) -> tuple[float, float]:
    """Share of the variance of y that a polynomial explains, and its standard error.

    The degree is that of the least leave-one-out error. The share is 1 - s^2/v with unbiased variances about the
    polynomial and about the mean, so that coefficients without a meaning add nothing to it. The error is that of the
    mean of the influence function, which no estimator of the index falls below (Da Veiga, Gamboa 2013).
    """
    n = len(y)
    c = q.T @ y
    leverage = np.cumsum(q**2, axis=1)
    residual = y[:, None] - np.cumsum(q * c, axis=1)  # (n, p): of degrees 0 to p - 1
    left_out = np.mean((residual / np.maximum(1.0 - leverage, 1e-12)) ** 2, axis=0)
    p = int(np.argmin(left_out)) + 1
    r = residual[:, p - 1]
    variance = float(y @ y) / (n - 1)
    share = 1.0 - float(r @ r) / (n - p) / variance
    influence = ((1.0 - share) * y**2 - r**2) / variance
    # The second term is what remains where nothing is explained.
    error = np.sqrt(influence.var() / n + 2.0 * max(p - 1, 1) * ((1.0 - share) / n) ** 2)
    return share, float(error)


# --- text ------------------------------------------------------------------------------------------------------------


def _enough(n: int, whole: int, what: str) -> None:
    if n < FEWEST:
        lost = f" of {whole}" if n < whole else ""
        raise ValueError(
            f"Sobol indices need {FEWEST} {what} with results, and there are {n}{lost}; take more samples."
        )


def _notes(labels: Sequence[str], first: Array, used: Sequence[int], whole: int, what: str) -> list[str]:
    notes = []
    if min(used) < whole:
        which = (
            f"{whole - max(used)}"
            if min(used) == max(used)
            else f"{whole - max(used)} to {whole - min(used)}, depending on the output,"
        )
        notes.append(f"{which} of {whole} {what} left out: a run is missing, failed, or has no value.")
    still = [label for label, row in zip(labels, first, strict=True) if np.isnan(row).all()]
    if still:
        notes.append(f"No variance in {listed(still, 6, str)}.")
    return notes


def table(indices: SobolIndices) -> str:
    """The indices as text, the strongest parameter of each output first."""
    head = ["output", "parameter", "first", f"{100.0 * indices.confidence:g} %"]
    head += [] if indices.total is None else ["total", f"{100.0 * indices.confidence:g} %"]
    rows = [head]
    for k, output in enumerate(indices.outputs):
        strength = indices.first[k] if indices.total is None else indices.total[k]
        for place, i in enumerate(np.argsort(-np.nan_to_num(strength), kind="stable")):
            row = [output if place == 0 else "", indices.parameters[i]]
            row += _cells(indices.first[k, i], indices.intervals["first"][k, i])
            if indices.total is not None:
                row += _cells(indices.total[k, i], indices.intervals["total"][k, i])
            rows.append(row)
    shown = rows[: 1 + max(ROWS, len(indices.parameters))]
    sizes = [max(len(row[i]) for row in shown) for i in range(len(head))]
    lines = [
        "  ".join(c.ljust(n) if i < 2 else c.rjust(n) for i, (c, n) in enumerate(zip(row, sizes, strict=True))).rstrip()
        for row in shown
    ]
    if len(rows) > len(shown):
        lines.append(f"... and {len(rows) - len(shown)} more rows")
    how = "Saltelli 2010, Jansen 1999" if indices.method == "saltelli" else "regression on one parameter at a time"
    what = "base samples" if indices.method == "saltelli" else "runs"
    return "\n".join([*lines, "", f"{max(indices.used)} {what}; {how}.", *indices.notes])


def _cells(value: float, interval: Array) -> list[str]:
    if np.isnan(value):
        return ["-", "-"]
    value, low, high = (round(float(x), 3) + 0.0 for x in (value, *interval))
    return [f"{value:.3f}", f"{low:.3f} .. {high:.3f}"]
