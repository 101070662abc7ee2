"""Pictures of many runs: parameters against outputs, histograms, maps, curves, Sobol indices.

All are drawn from an xarray.Dataset with the dimension "run": parameters are coordinates on it, outputs variables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gyrod import _check
from gyrod.look.plots import study_panels as panels
from gyrod.look.plots.style import COLOURS, GREY, MANY, STYLE, Unit, cycle, require_matplotlib, unit

Array = NDArray[np.float64]

#: Variables that tell how a run went, not what came out.
COSTS = ("status", "error", "t", "seconds", "steps", "rejected", "rhs", "jacobians")
#: Runs beyond which evenly spread ones are taken.
MOST = 200_000
#: Points in a panel, runs that quantiles of curves are taken from, single curves.
POINTS, CURVES, SINGLE = 4000, 20_000, 40
#: Entries that are smaller beside the largest are rounding.
ROUNDING = 1e-12
#: Most columns of a scatter matrix: parameters and outputs.
PARAMETERS, OUTPUTS = 5, 4


@dataclass(frozen=True)
class Column:
    """A number for each run: label, values in the unit of the picture, and that unit."""

    name: str
    values: Array
    unit: Unit

    @property
    def label(self) -> str:
        """The label of an axis."""
        return self.unit.label(panels.broken(self.name))

    @cached_property
    def levels(self) -> Array:
        """The values that occur, sorted; without NaN."""
        return np.unique(self.values[np.isfinite(self.values)])

    @property
    def listed(self) -> bool:
        """Whether a few values occur again and again, as those of a list."""
        return len(self.levels) <= 200 and 2 * len(self.levels) <= len(self.values)

    @property
    def log(self) -> bool:
        """Whether a logarithmic axis shows it better: positive over orders of magnitude."""
        return panels.logarithmic(self.levels)


class Runs:
    """Columns of a dataset by name; those that failed; what a picture says about its size."""

    def __init__(self, dataset: Any) -> None:
        if "run" not in getattr(dataset, "dims", ()):
            raise ValueError("dataset must be an xarray.Dataset with the dimension 'run'.")
        self.whole = int(dataset.sizes["run"])
        if self.whole == 0:
            raise ValueError("the study has no runs, so there is nothing to draw.")
        # Beyond so many nothing new can be seen, and columns are read from files.
        self.dataset = dataset if self.whole <= MOST else dataset.isel(run=panels.thin(self.whole, MOST))
        self.size = int(self.dataset.sizes["run"])
        if self.missing.all():
            raise ValueError("no run of the study is done yet, so there is nothing to draw.")

    @cached_property
    def parameters(self) -> list[str]:
        """Names of the parameters."""
        given = self.dataset.attrs.get("parameters")
        if given is not None:
            return [str(name) for name in given]
        return [str(n) for n, x in self.dataset.coords.items() if n != "run" and x.dims[:1] == ("run",)]

    @cached_property
    def outputs(self) -> list[str]:
        """Names of the outputs."""
        given = self.dataset.attrs.get("outputs")
        if given is not None:
            return [str(name) for name in given]
        return [
            str(n)
            for n, x in self.dataset.data_vars.items()
            if n not in COSTS and x.dims[:1] == ("run",) and x.dtype.kind in "fiu"
        ]

    @cached_property
    def failed(self) -> NDArray[np.bool_]:
        """Runs that ended with an error, (n,)."""
        if "status" in self.dataset:
            return np.isin(np.asarray(self.dataset["status"]), ("failed", "refused"))
        errors = self.dataset["error"].values if "error" in self.dataset else [""] * self.size
        return np.array([bool(x) for x in errors])

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Runs that are not there yet, (n,)."""
        if "status" not in self.dataset:
            return np.zeros(self.size, dtype=bool)
        return np.asarray(np.asarray(self.dataset["status"]) == "missing")

    def is_curve(self, name: str) -> bool:
        """Whether an output is a curve over time."""
        x = self.dataset[name]
        return x.ndim > 1 and x.dims[1] in self.dataset.coords

    def columns(self, name: str) -> list[Column]:
        """A parameter or an output entry by entry."""
        x = self.dataset[name]
        values = np.asarray(x, dtype=float)
        scale = self.scale(name, values)
        return [
            Column(name + panels.place(i), scale.factor * values[(slice(None), *i)], scale)
            for i in np.ndindex(values.shape[1:])
        ]

    def scale(self, name: str, values: Array) -> Unit:
        """The unit that values are drawn in."""
        si = str(self.dataset[name].attrs.get("units", ""))
        known = values[np.isfinite(values)]
        if si:
            return unit(si, known)
        largest = float(np.abs(known).max(initial=0.0))
        if 1e-3 <= largest < 1e5 or largest == 0.0 or panels.logarithmic(np.unique(known)):
            return Unit(1.0, "")
        power = 3 * int(np.floor(np.log10(largest) / 3.0))
        return Unit(10.0**-power, f"$10^{{{power}}}$")

    def several(self, names: Sequence[str], argument: str, known: Sequence[str]) -> list[Column]:
        """Columns of names, of which each may be one entry ("tip[2]")."""
        found = []
        for name in names:
            whole = name if name in known else name.split("[")[0]
            whole = whole if whole in known else _check.choice(argument, name, known)
            fitting = [c for c in self.columns(whole) if name in (whole, c.name)]
            if not fitting:
                raise ValueError(f"{argument} = {name!r} has no such entry; it has {len(self.columns(whole))}.")
            found += fitting
        return found

    def one(self, name: str | None, argument: str, known: Sequence[str]) -> Column:
        """One column: the first if none is named."""
        if not known:
            raise ValueError(f"there is no {argument} to draw.")
        return self.several([known[0] if name is None else name], argument, known)[0]

    def numbers(self, output: str | Sequence[str] | None, kind: str) -> list[Column]:
        """Columns of the outputs that were asked for; of all those that are no curves."""
        names = [output] if isinstance(output, str) else list(output) if output is not None else None
        names = names if names is not None else [n for n in self.outputs if not self.is_curve(n)]
        if not names:
            raise ValueError(f"kind = {kind!r} draws outputs that are numbers, and the study has none.")
        found = self.several(names, "output", self.outputs)
        if output is None:  # entries that are nothing but rounding beside the others say nothing
            sizes = {c.name: float(np.abs(c.levels).max(initial=0.0)) for c in found}
            largest = max(sizes.values())
            found = [c for c in found if sizes[c.name] > ROUNDING * largest or "[" not in c.name] or found
        if len(found) > MANY and output is not None:
            raise ValueError(
                f"output = {output!r} has {len(found)} entries; name at most {MANY}, as '{found[0].name}'."
            )
        return found

    def told(self, *more: str) -> str:
        """How many runs there are, how many failed, and what else there is to say."""
        failed, missing = int(self.failed.sum()), int(self.missing.sum())
        parts = [f"{self.whole} run{'s' if self.whole != 1 else ''}"]
        parts += [f"{self.size} of them taken"] if self.size < self.whole else []
        parts += [f"{failed} failed"] if failed else []
        parts += [f"{missing} not done yet"] if missing else []
        parts += more
        return ", ".join(part for part in parts if part)


@dataclass
class Sheet:
    """What a drawing works on: the figure, the runs, and what was asked for."""

    figure: Any
    runs: Runs
    output: Any
    parameter: str | None
    by: str | None
    names: list[str] | None
    own: bool

    def size(self, width: float, height: float) -> None:
        """Inches, unless the figure is the caller's."""
        if self.own:
            self.figure.set_size_inches(width, height)

    def note(self, text: str) -> None:
        """A small remark above the picture."""
        self.figure.suptitle(text, x=0.01, ha="left", fontsize=7.5, color=GREY)

    def panels(self, count: int, width: float = 3.6, height: float = 2.7) -> list[Any]:
        """Axes side by side, at most three in a row; the figure gets a size that suits them."""
        across = min(count, 3) if count != 4 else 2
        down = -(-count // across)
        self.size(max(width * across, 5.4), height * down + 0.3 + (0.6 if count == 1 else 0.0))
        axes = np.atleast_1d(self.figure.subplots(down, across, squeeze=False)).ravel()
        for ax in axes[count:]:
            ax.remove()
        return list(axes[:count])


# --- kinds -----------------------------------------------------------------------------------------------------------


def _matrix(sheet: Sheet) -> None:
    runs = sheet.runs
    if sheet.names is not None:
        columns = runs.several(sheet.names, "names", [*runs.parameters, *runs.outputs])
        left = 0
    else:
        inputs = [c for name in runs.parameters for c in runs.columns(name) if len(c.levels) > 1]
        results = runs.numbers(sheet.output, "matrix")
        left = max(len(inputs) - PARAMETERS, 0) + max(len(results) - OUTPUTS, 0)
        columns = inputs[:PARAMETERS] + results[:OUTPUTS]
    n = len(columns)
    if n < 2 or n > 12:
        raise ValueError(f"kind = 'matrix' draws 2 to 12 columns, and there are {n}; choose them by names=.")
    sheet.size(1.55 * n + 0.7, 1.45 * n + 0.5)
    keep = panels.thin(runs.size, POINTS // 2)
    panels.matrix(sheet.figure, columns, set(runs.parameters), runs.failed, keep)
    shown = f"{len(keep)} of them drawn" if len(keep) < runs.size else ""
    sheet.note(runs.told(shown, f"{left} more column{'s' if left > 1 else ''} by names=" if left else ""))


def _response(sheet: Sheet) -> None:
    runs = sheet.runs
    results = runs.numbers(sheet.output, "response")[:MANY]
    x = runs.one(sheet.parameter, "parameter", runs.parameters)
    others = [name for name in runs.parameters if not x.name.startswith(name)]
    by = None
    if sheet.by is not None:
        by = runs.one(sheet.by, "by", runs.parameters)
        if not by.listed:
            raise ValueError(f"by = {sheet.by!r} takes {len(by.levels)} values; lines are drawn for those of a list.")
    elif x.listed:
        found = [c for name in others for c in runs.columns(name)[:1] if c.listed and len(c.levels) > 1]
        by = found[0] if found else None
    keep = panels.thin(runs.size, POINTS)
    notes = [f"{len(keep)} of them drawn" if len(keep) < runs.size else ""]
    for ax, y in zip(sheet.panels(len(results)), results, strict=True):
        notes.append(panels.response(ax, x, y, by, keep))
        panels.failures(ax, x.values[runs.failed])
        ax.set(xlabel=x.label, ylabel=y.label)
        panels.scales(ax, x.log, y.log)
    sheet.note(runs.told(*dict.fromkeys(notes)))


def _histogram(sheet: Sheet) -> None:
    runs = sheet.runs
    results = runs.numbers(sheet.output, "histogram")
    notes = [f"the first {MANY} of {len(results)} outputs" if len(results) > MANY else ""]
    for ax, y in zip(sheet.panels(min(len(results), MANY)), results, strict=False):
        notes.append(panels.histogram(ax, y))
        ax.set(xlabel=y.label, ylabel="runs")
    sheet.note(runs.told(*dict.fromkeys(notes)))


def _map(sheet: Sheet) -> None:
    runs = sheet.runs
    results = runs.numbers(sheet.output, "map")[:MANY]
    varied = [c.name for name in runs.parameters for c in runs.columns(name) if len(c.levels) > 1]
    if len(varied) < 2 and None in (sheet.parameter, sheet.by):
        raise ValueError(f"kind = 'map' needs two parameters, and {len(varied)} varies; take kind = 'response'.")
    first = sheet.parameter or next(n for n in varied if n != sheet.by)
    x = runs.one(first, "parameter", runs.parameters)
    y = runs.one(sheet.by or next(n for n in varied if n != x.name), "by", runs.parameters)
    if x.name == y.name:
        raise ValueError(f"parameter and by are both {x.name!r}; a map needs two of them.")
    notes = []
    for ax, z in zip(sheet.panels(len(results), 4.2, 3.2), results, strict=True):
        notes.append(panels.heat(sheet.figure, ax, x, y, z, runs.failed))
        ax.set(xlabel=x.label, ylabel=y.label)
        panels.scales(ax, x.log, y.log)
    sheet.note(runs.told(*dict.fromkeys(notes)))


def _curves(sheet: Sheet) -> None:
    runs = sheet.runs
    curves = [name for name in runs.outputs if runs.is_curve(name)]
    if not curves:
        raise ValueError("kind = 'curves' is for outputs over time, gd.History, and the study has none.")
    name = _check.choice("output", curves[0] if sheet.output is None else sheet.output, curves)
    values = runs.dataset[name]
    keep = panels.thin(runs.size, CURVES)
    y = np.asarray(values if len(keep) == runs.size else values.isel(run=keep), dtype=float)
    t = np.asarray(runs.dataset[values.dims[1]], dtype=float)
    scale, clock = runs.scale(name, y), unit("s", t)
    places = list(np.ndindex(y.shape[2:]))
    for ax, place in zip(sheet.panels(min(len(places), MANY)), places, strict=False):
        panels.fan(ax, clock.factor * t, scale.factor * y[(slice(None), slice(None), *place)], SINGLE)
        ax.set(xlabel=clock.label("time"), ylabel=scale.label(panels.broken(name + panels.place(place))))
    many = f"quantiles of {len(keep)} of them" if len(keep) < runs.size else ""
    more = f"the first {MANY} of {len(places)} entries" if len(places) > MANY else ""
    sheet.note(runs.told(many, more, f"{min(SINGLE, len(y))} drawn one by one"))


#: Drawings by name; "sobol" is drawn of indices.
KINDS: dict[str, Callable[[Sheet], None]] = {
    "matrix": _matrix,
    "response": _response,
    "histogram": _histogram,
    "map": _map,
    "curves": _curves,
}


def plot(
    dataset: Any,
    kind: str = "matrix",
    *,
    output: str | Sequence[str] | None = None,
    parameter: str | None = None,
    by: str | None = None,
    names: Sequence[str] | None = None,
    file: str | os.PathLike[str] | None = None,
    figure: Any = None,
    size: tuple[float, float] | None = None,
) -> Any:
    """Draw one of `KINDS` and return the matplotlib Figure.

    Parameters
    ----------
    output
        Outputs, or entries of them as "tip[2]"; by default all that the kind can draw.
    parameter, by
        What goes to the right, and for "response" and "map" a second one: lines, or upwards.
    names
        Columns of "matrix".
    file, figure, size
        As for `Motion.plot`.
    """
    _check.choice("kind", kind, [*KINDS, "sobol"])
    if kind == "sobol":
        raise ValueError("kind = 'sobol' is drawn of indices: study.sobol().plot().")
    runs = Runs(dataset)
    chosen = None if names is None else [names] if isinstance(names, str) else list(names)

    def draw(figure: Any, own: bool) -> None:
        KINDS[kind](Sheet(figure, runs, output, parameter, by, chosen, own))

    return _drawn(draw, file, figure, size)


def plot_indices(
    indices: Any,
    *,
    file: str | os.PathLike[str] | None = None,
    figure: Any = None,
    size: tuple[float, float] | None = None,
) -> Any:
    """Draw Sobol indices: bars with their intervals; lines over time where they are those of a curve."""

    def draw(figure: Any, own: bool) -> None:
        sheet = Sheet(figure, None, None, None, None, None, own)  # type: ignore[arg-type]
        (_indices_over_time if indices.times is not None else _bars)(sheet, indices)

    return _drawn(draw, file, figure, size)


def _bars(sheet: Sheet, indices: Any) -> None:
    count, d = min(len(indices.outputs), MANY), len(indices.parameters)
    axes = sheet.panels(count, 3.6, 1.1 + 0.34 * d)
    kinds = [("first order", "first", indices.first)]
    kinds += [] if indices.total is None else [("total", "total", indices.total)]
    for k, ax in enumerate(axes):
        strength = np.nan_to_num(kinds[-1][2][k])
        order = np.argsort(strength, kind="stable")  # the strongest on top
        panels.bars(ax, k, order, indices, kinds)
        ax.set_xlabel(f"share of the variance of {indices.outputs[k]}")
    axes[0].legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    more = [f"the first {MANY} of {len(indices.outputs)} outputs"] if count < len(indices.outputs) else []
    sheet.note("; ".join([*more, *(note.rstrip(".") for note in indices.notes)]))


def _indices_over_time(sheet: Sheet, indices: Any) -> None:
    clock = unit("s", indices.times)
    kinds = [("first order", "first", indices.first)]
    kinds += [] if indices.total is None else [("total", "total", indices.total)]
    for ax, (title, name, values) in zip(
        sheet.panels(len(kinds), 4.6 if len(kinds) > 1 else 7.2, 3.0), kinds, strict=True
    ):
        for i, parameter in enumerate(indices.parameters):
            low, high = np.moveaxis(indices.intervals[name][:, i], -1, 0)
            x = clock.factor * indices.times
            ax.fill_between(x, low, high, color=COLOURS[i % len(COLOURS)], alpha=0.15, linewidth=0)
            ax.plot(x, values[:, i], label=parameter, **cycle(i))
        ax.set(xlabel=clock.label("time"), ylabel=f"share of the variance, {title}", ylim=(-0.05, 1.05))
    sheet.figure.legend(*ax.get_legend_handles_labels(), loc="outside right upper")
    sheet.note("; ".join(note.rstrip(".") for note in indices.notes))


def _drawn(draw: Callable[[Any, bool], None], file: Any, figure: Any, size: Any) -> Any:
    """A figure in the style of gyrod, drawn by a function and saved."""
    from gyrod.look.plots import _inches, _target, save

    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    target = None if file is None else _target(file)
    with matplotlib.rc_context(STYLE):
        own = figure is None
        if own:
            figure = Figure(figsize=(7.2, 3.4), layout="constrained")
        elif not hasattr(figure, "subplots"):
            raise ValueError(f"figure must be a matplotlib Figure or SubFigure, got {type(figure).__name__}.")
        if own and size is not None:
            figure.set_size_inches(*_inches(size))
        draw(figure, own and size is None)
        if target is not None:
            save(figure.get_figure(root=True) if hasattr(figure, "get_figure") else figure, target)
    return figure
