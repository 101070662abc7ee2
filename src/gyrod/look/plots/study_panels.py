"""Single panels of pictures of studies: what is drawn into one pair of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod._check import Array
from gyrod.look.plots.style import COLOURS, GREY, SIGNED, SIZES, LineStyle, cycle, legend

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gyrod.look.plots.study_runs import Column
    from gyrod.studies.indices import SobolIndices

POINT, FAILED, LINE = COLOURS[0], COLOURS[1], COLOURS[-1]
#: Quantiles that are marked, and bands of them.
QUANTILES = (0.05, 0.5, 0.95)
#: Lines of different colours in a panel.
LINES = 7
#: Runs in a window of the running mean, at least, and windows over the whole width.
WINDOW, WINDOWS = 20, 25


def place(index: tuple[int, ...]) -> str:
    """An entry of an array, in brackets."""
    return f"[{', '.join(map(str, index))}]" if index else ""


def named(dataset: xr.Dataset, key: str) -> list[str] | None:
    """Names that an attribute of a dataset lists, those that it has; None if there is no such attribute.

    They are in one text, with commas, which may stand in names as well: "ring.inertia[0, 1]".
    """
    given = dataset.attrs.get(key)
    if given is None or not isinstance(given, str):
        return None if given is None else [str(name) for name in given]
    parts, found = given.split(", "), []
    while parts:
        ends = [k for k in range(1, len(parts) + 1) if ", ".join(parts[:k]) in dataset]
        found += [", ".join(parts[: ends[0]])] if ends else []
        parts = parts[ends[0] if ends else 1 :]
    return found


def within(shape: tuple[int, ...], at: tuple[int, ...]) -> set[tuple[int, ...]] | None:
    """Entries of an array whose first indices are given; None if there is no such one."""
    if len(at) > len(shape) or any(not -n <= i < n for i, n in zip(at, shape, strict=False)):
        return None
    first = tuple(i % n for i, n in zip(at, shape, strict=False))
    return {i for i in np.ndindex(shape) if i[: len(first)] == first}


def counted(shape: tuple[int, ...]) -> str:
    """How many entries there are, in words."""
    return " x ".join(map(str, shape)) if shape else "none, being a number"


def broken(name: str, longest: int = 22) -> str:
    """A long path in two lines."""
    cut = name.rfind(".")
    return f"{name[: cut + 1]}\n{name[cut + 1 :]}" if len(name) > longest and cut > 0 else name


def thin(count: int, most: int) -> NDArray[np.intp]:
    """Runs to draw: all, or evenly spread ones of them."""
    return np.arange(count) if count <= most else np.unique(np.linspace(0, count - 1, most).astype(np.intp))


def logarithmic(levels: Array) -> bool:
    """Whether values are positive and lie over two orders of magnitude, many of them far below the largest."""
    if len(levels) < 3 or not levels[0] > 0.0 or levels[-1] < 50.0 * levels[0]:
        return False
    if levels[0] < 1e-250 or levels[-1] > 1e250:  # matplotlib's margins would leave the range of numbers
        return False
    return bool(np.median(levels) < 0.2 * levels[-1])


def scales(ax: Axes, x: bool, y: bool) -> None:
    """Logarithmic axes where they are wanted, and not more numbers than fit elsewhere."""
    for name, log in (("x", x), ("y", y)):
        if log:
            getattr(ax, f"set_{name}scale")("log")
    if not x:
        ax.locator_params(axis="x", nbins=6)


def _alpha(count: int) -> float:
    return float(np.clip(30.0 / np.sqrt(max(count, 1)), 0.15, 0.8))


# --- scatter matrix --------------------------------------------------------------------------------------------------


def matrix(
    figure: Figure, columns: Sequence[Column], parameters: set[str], failed: NDArray[np.bool_], keep: NDArray[np.intp]
) -> None:
    """Scatter below the diagonal, histograms on it, rank correlations above it."""
    n = len(columns)
    axes = figure.subplots(n, n, squeeze=False)
    lost = keep[failed[keep]]
    for i, y in enumerate(columns):
        for j, x in enumerate(columns):
            ax = axes[i, j]
            if i < j:
                _correlation(ax, x.values, y.values)
                continue
            if i == j:
                _counts(ax, x)
                ax.set_yticks([])
            else:
                ax.scatter(
                    x.values[keep], y.values[keep], s=4.0, color=POINT, alpha=_alpha(len(keep)), linewidths=0,
                    rasterized=True,
                )  # fmt: skip
                if (
                    len(lost)
                    and {x.name.split("[")[0], x.name} & parameters
                    and {y.name.split("[")[0], y.name} & parameters
                ):
                    ax.scatter(x.values[lost], y.values[lost], s=14.0, color=FAILED, marker="x", linewidths=0.8)
            scales(ax, x.log, y.log and i != j)
            ax.set_xlim(_limits(x))
            _few(ax, i == n - 1, j == 0 and i > 0)
            if i == n - 1:
                ax.set_xlabel(x.unit.label(broken(x.name, 12)), fontsize=7.5)
            if j == 0:
                ax.set_ylabel(y.unit.label(broken(y.name, 12)), fontsize=7.5)
    figure.align_labels()


def _limits(column: Column) -> tuple[float, float]:
    """Ends of an axis that leave a margin, also for the bins of a list."""
    levels = column.levels if len(column.levels) else np.array([0.0, 1.0])
    edges = _cell_edges(levels, column.log) if column.heaps else _edges(levels, column.log, 30)
    low, high = (float(x) for x in (np.log10(edges[[0, -1]]) if column.log else edges[[0, -1]]))
    margin = 0.04 * (high - low)
    return (10.0 ** (low - margin), 10.0 ** (high + margin)) if column.log else (low - margin, high + margin)


def _few(ax: Axes, below: bool, left: bool) -> None:
    """Few ticks, with numbers at the border of the matrix only."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    for axis, told in ((ax.xaxis, below), (ax.yaxis, left)):
        if axis.get_scale() == "log":
            axis.set_major_locator(LogLocator(numticks=4))
            axis.set_minor_locator(NullLocator())
        elif len(axis.get_majorticklocs()):
            axis.set_major_locator(MaxNLocator(3))
        axis.set_tick_params(labelsize=7.0, labelleft=told, labelbottom=told)


def _counts(ax: Axes, column: Column, most: int = 30) -> None:
    """How often values occur: in bins, or one by one with gaps between the bars."""
    values = column.values[np.isfinite(column.values)]
    if not column.heaps:
        ax.hist(values, bins=_edges(values, column.log, most).tolist(), color=POINT, alpha=0.65)
        return
    shown = np.log10(column.levels) if column.log else column.levels
    half = max(0.38 * float(np.diff(shown).min()), 0.004 * float(shown[-1] - shown[0]))
    low, high = ((10.0**x if column.log else x) for x in (shown - half, shown + half))
    counts = [np.count_nonzero(values == level) for level in column.levels]
    ax.bar(low, counts, width=high - low, align="edge", color=POINT, alpha=0.65)


def _correlation(ax: Axes, x: Array, y: Array) -> None:
    ax.axis("off")
    both = np.isfinite(x) & np.isfinite(y)
    rho = _rank_correlation(x[both], y[both])
    if np.isnan(rho):
        return
    strength = abs(rho)
    colour = LINE if strength > 0.1 else "0.6"
    text = f"{rho:+.2f}".replace("-", "\N{MINUS SIGN}") if strength >= 0.005 else "0"
    ax.text(
        0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes,
        fontsize=7.5 + 6.0 * strength, color=colour,
    )  # fmt: skip


def _rank_correlation(x: Array, y: Array) -> float:
    """Spearman's coefficient; NaN where something does not vary."""
    if len(x) < 3 or not np.ptp(x) > 0.0 or not np.ptp(y) > 0.0:
        return float("nan")
    from scipy.stats import rankdata

    return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])


def _edges(values: Array, log: bool, most: int) -> Array:
    """Edges of bins: as many as the numbers bear, between 8 and ``most``; even on the axis that shows them."""
    if len(values) == 0:
        return np.linspace(0.0, 1.0, 9)
    shown = np.log10(values) if log else values
    low, high = float(shown.min()), float(shown.max())
    if not high > low:
        width = max(1e-3 * abs(low), 1e-12)
        return np.linspace(low - width, high + width, 9)
    spread = float(np.subtract(*np.percentile(shown, (75, 25)))) or high - low
    # Freedman and Diaconis; more where two heaps make the middle half broad.
    least = min(max(8, int(0.4 * len(values) ** 0.5)), most)
    count = int(np.clip((high - low) / (2.0 * spread * len(values) ** (-1.0 / 3.0)), least, most))
    edges = np.linspace(low, high, count + 1)
    return np.asarray(10.0**edges if log else edges)


# --- response --------------------------------------------------------------------------------------------------------


def response(ax: Axes, x: Column, y: Column, by: Column | None, keep: NDArray[np.intp]) -> str:
    """One output against one parameter; says what there is to know."""
    if x.listed:
        return _lines(ax, x, y, by)
    if by is not None:
        return _coloured(ax, x, y, by, keep)
    _points(ax, x.values[keep], y.values[keep], POINT, len(keep))
    middle, mean, band = _running(x.values, y.values)
    if len(middle):
        ax.fill_between(middle, *band, color=GREY, alpha=0.25, linewidth=0, label="5 to 95 %")
        ax.plot(middle, mean, color=LINE, label="running mean")
    return ""


def _points(ax: Axes, x: Array, y: Array, colour: object, count: int) -> None:
    ax.scatter(x, y, s=7.0, color=colour, alpha=0.6 * _alpha(count), linewidths=0, rasterized=True)


def _coloured(ax: Axes, x: Column, y: Column, by: Column, keep: NDArray[np.intp]) -> str:
    """Samples in a colour for each value of a list, with running means and bands."""
    groups, lines = _groups(by), False
    for k, (value, rows) in enumerate(groups):
        style = _ordered(k, len(by.levels))
        chosen = keep[rows[keep]]
        _points(ax, x.values[chosen], y.values[chosen], style["color"], len(chosen))
        middle, mean, band = _running(x.values[rows], y.values[rows])
        lines = lines or len(middle) > 0
        ax.fill_between(middle, *band, color=style["color"], alpha=0.12, linewidth=0)
        label = f"{by.name} = {value:.4g} {by.unit.name}".rstrip()
        ax.plot(middle, mean, label=label, marker="o", markersize=3.0, markevery=[], **style)  # dots in the legend
    some = [f"{len(groups)} of {len(by.levels)} values of {by.name}"] if len(groups) < len(by.levels) else []
    return "; ".join([*some, *(["lines: running means, shades: 5 to 95 %"] if lines else [])])


def _running(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Mean and quantiles of y in windows along x that hold equally many runs."""
    both = np.isfinite(x) & np.isfinite(y)
    order = np.argsort(x[both], kind="stable")
    x, y = x[both][order], y[both][order]
    window = max(WINDOW, len(x) // WINDOWS)
    if len(x) < 2 * window:
        return np.zeros(0), np.zeros(0), np.zeros((2, 0))
    starts = np.unique(np.linspace(0, len(x) - window, 4 * WINDOWS).astype(int))
    parts = [slice(s, s + window) for s in starts]
    band = np.array([np.quantile(y[p], (QUANTILES[0], QUANTILES[-1])) for p in parts]).T
    return np.array([x[p].mean() for p in parts]), np.array([y[p].mean() for p in parts]), band


def _groups(by: Column) -> list[tuple[float, NDArray[np.bool_]]]:
    levels = by.levels[np.unique(np.linspace(0, len(by.levels) - 1, LINES).astype(int))]
    return [(float(value), by.values == value) for value in levels]


def _ordered(k: int, count: int) -> LineStyle:
    """Style of the k-th line: many are distinguished by shades in the order of their values."""
    if count <= 3:
        return cycle(k)
    from matplotlib import colormaps

    return {"color": colormaps[SIZES](0.92 * k / (min(count, LINES) - 1))}


def _lines(ax: Axes, x: Column, y: Column, by: Column | None) -> str:
    """Values of a list: means over all else, with bars from the least to the largest."""
    groups = [(None, np.ones(len(x.values), dtype=bool))] if by is None else _groups(by)
    spread = False
    for k, (value, rows) in enumerate(groups):
        found = []
        for level in x.levels:
            values = y.values[rows & (x.values == level)]
            values = values[np.isfinite(values)]
            found.append((values.mean(), values.min(), values.max()) if len(values) else (np.nan,) * 3)
        mean, low, high = np.array(found).T
        label = None if by is None or value is None else f"{by.name} = {value:.4g} {by.unit.name}".rstrip()
        style = {"color": POINT} if by is None else _ordered(k, len(groups))
        ax.plot(x.levels, mean, marker="o", markersize=3.0, label=label, **style)
        if np.any(high - low > 1e-9 * np.nanmax(np.abs([high, low, [1e-300] * len(low)]))):
            spread = True
            ax.fill_between(x.levels, low, high, color=style["color"], alpha=0.15, linewidth=0)
    parts = []
    if by is not None and len(groups) < len(by.levels):
        parts = [f"{len(groups)} of {len(by.levels)} values of {by.name}"]
    return "; ".join([*parts, "lines: means over the other parameters, shades: all values"] if spread else parts)


def failures(ax: Axes, x: Array) -> None:
    """Marks on the lower border where runs failed."""
    if len(x):
        ax.plot(
            x, np.full(len(x), 0.015), "x", color=FAILED, markersize=4.0, markeredgewidth=0.8, clip_on=False,
            transform=ax.get_xaxis_transform(),
        )  # fmt: skip


# --- histogram -------------------------------------------------------------------------------------------------------


def histogram(ax: Axes, y: Column) -> str:
    """How often values occur, with quantiles; says how many runs have none."""
    values = y.values[np.isfinite(y.values)]
    if not len(values):
        ax.text(0.5, 0.5, "no values", ha="center", va="center", transform=ax.transAxes, color=GREY)
        return ""
    _counts(ax, y, 60)
    scales(ax, y.log, False)
    if np.ptp(values) > 0.0:
        _quantiles(ax, np.quantile(values, QUANTILES))
    ax.margins(y=0.12)
    return ""


def _quantiles(ax: Axes, values: Array) -> None:
    for q, value in zip(QUANTILES, values, strict=True):
        ax.axvline(value, color=LINE, linewidth=0.9, linestyle="-" if q == 0.5 else "--")
    text = "5, 50, 95 %: " + ", ".join(f"{value:.4g}" for value in values)
    ax.set_title(text, loc="left", fontsize=7.5, color=GREY)


def limited(ax: Axes, value: float) -> None:
    """A line where an output passes what it should keep."""
    ax.axhline(value, color=FAILED, linewidth=1.8, linestyle="--")


# --- maps ------------------------------------------------------------------------------------------------------------


def heat(
    figure: Figure, ax: Axes, x: Column, y: Column, z: Column, failed: NDArray[np.bool_], limit: float | None = None
) -> str:
    """An output over two parameters: cells of a grid, or bins of samples, with a line at a limit; says which."""
    # Samples of which every combination of lists has the same are so many points, not more.
    binned = [c for c in (x, y) if not c.listed]
    points = min(len(z.values), *(len(c.levels) for c in binned)) if binned else 0
    count = int(np.clip((points / 8.0) ** (1.0 / max(len(binned), 1)), 5, 60))
    edges = [_cell_edges(c.levels, c.log) if c.listed else _even_edges(c.levels, c.log, count) for c in (x, y)]
    note = "means of bins" if binned else ""
    mean, most = _binned(x.values, y.values, z.values, edges)
    if most > 1 and not note:
        note = "means over the other parameters"
    low, high = np.nanmin(mean, initial=np.inf), np.nanmax(mean, initial=-np.inf)
    signed = low < 0.0 < high and min(-low, high) > 0.05 * max(-low, high)
    reach = max(-low, high)
    kwargs = {"cmap": SIGNED, "vmin": -reach, "vmax": reach} if signed else {"cmap": SIZES}
    mesh = ax.pcolormesh(edges[0], edges[1], mean.T, shading="flat", rasterized=mean.size > 2000, **kwargs)
    ax.grid(False)
    ax.set_facecolor("0.93")  # cells without a value
    bar = figure.colorbar(mesh, ax=ax)
    bar.set_label(z.label.replace("\n", ""))
    bar.outline.set_visible(False)
    if limit is not None and low < limit < high and min(mean.shape) > 1:
        middles = [c.levels if c.listed else 0.5 * (e[1:] + e[:-1]) for c, e in zip((x, y), edges, strict=True)]
        ax.contour(*middles, mean.T, [limit], colors=FAILED, linewidths=1.8, linestyles="--")
        limited(bar.ax, limit)
    if failed.any():
        ax.plot(x.values[failed], y.values[failed], "x", color=FAILED, markersize=4.0, markeredgewidth=0.9)
    return note


def _cell_edges(levels: Array, log: bool) -> Array:
    """Edges of cells about the values of a list, in the middle on the axis that shows them."""
    shown = np.log10(levels) if log else levels
    if len(shown) == 1:
        edges = np.array([shown[0] - 0.5, shown[0] + 0.5])
    else:
        middles = 0.5 * (shown[1:] + shown[:-1])
        edges = np.concatenate([[2 * shown[0] - middles[0]], middles, [2 * shown[-1] - middles[-1]]])
    return np.asarray(10.0**edges if log else edges)


def _even_edges(levels: Array, log: bool, count: int) -> Array:
    if len(levels) < 2:
        return _cell_edges(levels, log)
    shown = np.log10(levels[[0, -1]]) if log else levels[[0, -1]]
    edges = np.linspace(shown[0], shown[1], count + 1)
    return np.asarray(10.0**edges if log else edges)


def _binned(x: Array, y: Array, z: Array, edges: Sequence[Array]) -> tuple[Array, int]:
    """Means of z in cells, NaN in empty ones, (nx, ny), and the largest number of values in a cell."""
    sound = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    x, y, z = x[sound], y[sound], z[sound]
    nx, ny = len(edges[0]) - 1, len(edges[1]) - 1
    i = np.clip(np.searchsorted(edges[0], x, side="right") - 1, 0, nx - 1)
    j = np.clip(np.searchsorted(edges[1], y, side="right") - 1, 0, ny - 1)
    cell = i * ny + j
    counts = np.bincount(cell, minlength=nx * ny)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(cell, weights=z, minlength=nx * ny) / np.where(counts, counts, np.nan)
    return mean.reshape(nx, ny), int(counts.max(initial=0))


# --- curves and indices ----------------------------------------------------------------------------------------------


def fan(ax: Axes, t: Array, y: Array, single: int) -> None:
    """Quantiles of curves, (runs, times), and a few of the curves themselves."""
    sound = y[np.isfinite(y).any(axis=1)]
    if not len(sound):
        ax.text(0.5, 0.5, "no values", ha="center", va="center", transform=ax.transAxes, color=GREY)
        return
    levels = np.nanquantile(sound, (0.05, 0.25, 0.5, 0.75, 0.95), axis=0)
    ax.fill_between(t, levels[0], levels[4], color=POINT, alpha=0.18, linewidth=0, label="5 to 95 %")
    ax.fill_between(t, levels[1], levels[3], color=POINT, alpha=0.35, linewidth=0, label="25 to 75 %")
    chosen = sound[thin(len(sound), single)]
    ax.plot(t, chosen.T, color=GREY, linewidth=0.4, alpha=0.5)
    ax.plot(t, levels[2], color=LINE, linewidth=1.4, label="median")
    ax.set_xlim(t[0], t[-1])
    legend(ax)


def bars(
    ax: Axes, k: int, order: NDArray[np.intp], indices: SobolIndices, kinds: Sequence[tuple[str, str, Array]]
) -> None:
    """Indices of one output, the parameters from below in the given order."""
    height = 0.8 / len(kinds)
    at = np.arange(len(order), dtype=float)
    for i, (label, name, values) in enumerate(kinds):
        value = values[k, order]
        low, high = indices.intervals[name][k, order].T
        error = np.nan_to_num(np.abs(np.stack([value - low, high - value])))
        shift = (0.5 * (len(kinds) - 1) - i) * height
        ax.barh(
            at + shift, value, height=0.92 * height, xerr=error, label=label, color=COLOURS[i],
            error_kw={"elinewidth": 0.9, "ecolor": "0.25", "capsize": 2.0}, alpha=0.85,
        )  # fmt: skip
    ax.set_yticks(at, [broken(indices.parameters[i], 30) for i in order])
    ax.axvline(0.0, color=GREY, linewidth=0.6)
    ax.grid(False, axis="y")
    ax.set_xlim(min(0.0, *ax.get_xlim()), max(1.0, ax.get_xlim()[1]))
