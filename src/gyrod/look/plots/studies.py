"""Pictures of many runs: parameters against outputs, histograms, maps, curves, Sobol indices.

All are drawn from an xarray.Dataset with the dimension "run": parameters are coordinates on it, outputs variables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod import _check
from gyrod.look.plots import figured
from gyrod.look.plots import study_panels as panels
from gyrod.look.plots.study_runs import Column, Runs
from gyrod.look.plots.style import COLOURS, GREY, MANY, cycle, legend, unit

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gyrod.studies.indices import SobolIndices

#: Points in a panel, runs that quantiles of curves are taken from, single curves.
POINTS, CURVES, SINGLE = 4000, 20_000, 40
#: Most columns of a scatter matrix: parameters and outputs.
PARAMETERS, OUTPUTS = 5, 4


@dataclass
class Sheet:
    """What a drawing works on: the figure, the runs, and the options."""

    figure: Figure
    runs: Runs
    output: str | Sequence[str] | None
    parameter: str | None
    by: str | None
    names: list[str] | None
    own: bool
    #: What outputs should keep, by name: lines are drawn where they are that large.
    limits: Mapping[str, float] = field(default_factory=dict)

    def limit(self, column: Column) -> float | None:
        """The limit of an output in the unit of the picture; None if it has none."""
        found = self.limits.get(column.name, self.limits.get(column.source))
        return None if found is None else column.unit.factor * _check.number(f"limits[{column.name!r}]", found)

    def size(self, width: float, height: float) -> None:
        """Inches, unless the figure is the caller's."""
        if self.own:
            self.figure.set_size_inches(width, height)

    def note(self, text: str) -> None:
        """A small remark above the picture."""
        self.figure.suptitle(text, x=0.01, ha="left", fontsize=7.5, color=GREY)

    def panels(self, count: int, width: float = 3.6, height: float = 2.7) -> list[Axes]:
        """Axes side by side, at most three in a row; the figure gets a size that suits them."""
        across = min(count, 3) if count != 4 else 2
        down = -(-count // across)
        self.size(max(width * across, 5.4), height * down + 0.3 + (0.6 if count == 1 else 0.0))
        axes = np.atleast_1d(self.figure.subplots(down, across, squeeze=False)).ravel()
        for ax in axes[count:]:
            ax.remove()
        return list(axes[:count])

    def legend(self, axes: Sequence[Axes]) -> None:
        """One for all panels, below them, where it takes no width from any."""
        found = {label: h for ax in axes for h, label in zip(*ax.get_legend_handles_labels(), strict=True) if label}
        if not found:
            return
        if self.figure.get_layout_engine() is None:  # a figure of the caller in which nothing makes room
            legend(axes[0])
            return
        across = self.figure.bbox.width / self.figure.get_figure(root=True).dpi
        columns = max(int(across / (0.068 * max(map(len, found)) + 0.45)), 1)
        self.figure.legend(
            list(found.values()), list(found), loc="outside lower center", ncols=min(columns, len(found))
        )


# --- kinds -----------------------------------------------------------------------------------------------------------


def _matrix(sheet: Sheet) -> None:
    runs = sheet.runs
    if sheet.names is not None:
        columns = runs.several(sheet.names, "names", [*runs.parameters, *runs.outputs])
        left, still = 0, []
    else:
        inputs = [c for name in runs.parameters for c in runs.columns(name)]
        still = [c.name for c in inputs if not c.varies]
        inputs = [c for c in inputs if c.varies]
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
    more = f"{left} more column{'s' if left > 1 else ''} by names=" if left else ""
    same = f"constant and left out: {', '.join(still[:3])}{' ...' if len(still) > 3 else ''}" if still else ""
    sheet.note(runs.told([c for c in columns if c.source in runs.outputs], shown, more, same))


def _response(sheet: Sheet) -> None:
    runs = sheet.runs
    results = runs.numbers(sheet.output, "response")[:MANY]
    xs = runs.varied(sheet.parameter, "parameter")
    by = _lines_by(sheet, xs[0])
    drawn = [(x, y) for y in results for x in xs][:MANY]
    keep = panels.thin(runs.size, POINTS)
    notes = [f"{len(keep)} of them drawn" if len(keep) < runs.size else ""]
    axes = sheet.panels(len(drawn))
    for ax, (x, y) in zip(axes, drawn, strict=True):
        notes.append(panels.response(ax, x, y, by, keep))
        panels.failures(ax, x.values[runs.failed])
        if (limit := sheet.limit(y)) is not None:
            panels.limited(ax, limit)
        ax.set(xlabel=x.label, ylabel=y.label)
        panels.scales(ax, x.log, y.log)
    sheet.legend(axes)
    sheet.note(runs.told(results, *dict.fromkeys(notes)))


def _lines_by(sheet: Sheet, x: Column) -> Column | None:
    """The parameter that colours stand for: as asked; else a list, of few values if there is one."""
    runs = sheet.runs
    if sheet.by is not None:
        by = runs.varied(sheet.by, "by")[0]
        if not by.listed:
            raise ValueError(f"by = {sheet.by!r} takes {len(by.levels)} values; lines are drawn for those of a list.")
        return by
    if not x.listed and x.sampled is None:
        return None
    others = [c for name in runs.parameters if name != x.source for c in runs.columns(name)]
    found = [c for c in others if c.listed and c.repeated and c.varies]
    few = [c for c in found if len(c.levels) <= panels.LINES]
    return next(iter(few + (found if x.listed else [])), None)


def _histogram(sheet: Sheet) -> None:
    runs = sheet.runs
    results = runs.numbers(sheet.output, "histogram")
    notes = [f"the first {MANY} of {len(results)} outputs" if len(results) > MANY else ""]
    for ax, y in zip(sheet.panels(min(len(results), MANY)), results, strict=False):
        notes.append(panels.histogram(ax, y))
        ax.set(xlabel=y.label, ylabel="runs")
    sheet.note(runs.told(results[:MANY], *dict.fromkeys(notes)))


def _map(sheet: Sheet) -> None:
    runs = sheet.runs
    results = runs.numbers(sheet.output, "map")[:MANY]
    varied = [c for name in runs.parameters for c in runs.columns(name) if c.varies]
    if len(varied) < 2 and None in (sheet.parameter, sheet.by):
        raise ValueError(f"kind = 'map' needs two parameters, and {len(varied)} varies; take kind = 'response'.")
    varied.sort(key=lambda c: not c.sampled)  # those that were sampled first
    y = None if sheet.by is None else runs.varied(sheet.by, "by")[0]
    free = [c for c in varied if y is None or c.name != y.name]
    x = runs.varied(sheet.parameter, "parameter")[0] if sheet.parameter is not None else free[0]
    y = y if y is not None else next(c for c in varied if c.name != x.name)
    if x.name == y.name:
        raise ValueError(f"parameter and by are both {x.name!r}; a map needs two of them.")
    notes = []
    for ax, z in zip(sheet.panels(len(results), 4.2, 3.2), results, strict=True):
        notes.append(panels.heat(sheet.figure, ax, x, y, z, runs.failed, sheet.limit(z)))
        ax.set(xlabel=x.label, ylabel=y.label)
        panels.scales(ax, x.log, y.log)
    sheet.note(runs.told(results, *dict.fromkeys(notes)))


def _curves(sheet: Sheet) -> None:
    runs = sheet.runs
    curves = [name for name in runs.outputs if runs.is_curve(name)]
    if not curves:
        raise ValueError("kind = 'curves' is for outputs over time, gd.History, and the study has none.")
    asked = sheet.output if sheet.output is None or isinstance(sheet.output, str) else list(sheet.output)
    asked = asked[0] if isinstance(asked, list) and len(asked) == 1 else asked
    if isinstance(asked, list):
        raise ValueError(f"kind = 'curves' draws one output, and output names {len(asked)}.")
    name, at = runs.entry(curves[0] if asked is None else asked, "output", curves)
    values = runs.dataset[name]
    keep = panels.thin(runs.size, CURVES)
    y = np.asarray(values if len(keep) == runs.size else values.isel(run=keep), dtype=float)
    t = np.asarray(runs.dataset[values.dims[1]], dtype=float)
    scale, clock = runs.scale(name, y), unit("s", t)
    found = panels.within(y.shape[2:], at)
    if found is None:
        raise ValueError(f"output = {asked!r} has no such entry; it has {panels.counted(y.shape[2:])}.")
    places: list[tuple[Any, ...]] = sorted(found)
    for ax, place in zip(sheet.panels(min(len(places), MANY)), places, strict=False):
        panels.fan(ax, clock.factor * t, scale.factor * y[(slice(None), slice(None), *place)], SINGLE)
        ax.set(xlabel=clock.label("time"), ylabel=scale.label(panels.broken(name + panels.place(place))))
    many = f"quantiles of {len(keep)} of them" if len(keep) < runs.size else ""
    more = f"the first {MANY} of {len(places)} entries" if len(places) > MANY else ""
    whole = Column(name, np.asarray(values, dtype=float) if len(keep) < runs.size else y, scale, name)
    sound = int(np.isfinite(y).reshape(len(y), -1).any(axis=1).sum())
    sheet.note(runs.told([whole], many, more, f"{min(SINGLE, sound)} drawn one by one"))


#: Drawings by name; "sobol" is drawn of indices.
KINDS: dict[str, Callable[[Sheet], None]] = {
    "matrix": _matrix,
    "response": _response,
    "histogram": _histogram,
    "map": _map,
    "curves": _curves,
}


def plot(
    dataset: xr.Dataset,
    what: str = "matrix",
    *,
    output: str | Sequence[str] | None = None,
    parameter: str | None = None,
    by: str | None = None,
    names: Sequence[str] | None = None,
    limits: Mapping[str, float] | None = None,
    sampled: Sequence[str] | None = None,
    file: str | os.PathLike[str] | None = None,
    figure: Figure | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Draw one of `KINDS` and return the matplotlib Figure.

    Parameters
    ----------
    output
        Outputs, or entries of them as "tip[2]"; by default all that the kind can draw.
    parameter, by
        What goes to the right, and for "response" and "map" a second one: lines, or upwards.
    names
        Columns of "matrix".
    limits
        Of outputs by name: "response" and "map" draw lines where they have these values.
    sampled
        Parameters that have a distribution, the others being lists; None: guessed from their values.
    file, figure, size
        As for `Motion.plot`.
    """
    _check.choice("what", what, [*KINDS, "sobol"])
    if what == "sobol":
        raise ValueError("what = 'sobol' is drawn of indices: study.sobol().plot().")
    runs = Runs(dataset, sampled)
    chosen = None if names is None else [names] if isinstance(names, str) else list(names)
    lines = {} if limits is None else limits
    if not isinstance(lines, Mapping):
        raise ValueError(
            f"limits = {_check.shown(limits)} must be values of outputs by name, such as {{'radius': 0.05}}."
        )
    for name in lines:
        runs.entry(name, "limits", runs.outputs)

    def draw(figure: Figure, own: bool) -> None:
        KINDS[what](Sheet(figure, runs, output, parameter, by, chosen, own, lines))

    return figured(draw, file, figure, size)


def plot_indices(
    indices: SobolIndices,
    *,
    file: str | os.PathLike[str] | None = None,
    figure: Figure | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Draw Sobol indices: bars with their intervals; lines over time where they are those of a curve."""

    def draw(figure: Figure, own: bool) -> None:
        sheet = Sheet(figure, None, None, None, None, None, own)  # type: ignore[arg-type]
        (_indices_over_time if indices.times is not None else _bars)(sheet, indices)

    return figured(draw, file, figure, size)


def _bars(sheet: Sheet, indices: SobolIndices) -> None:
    # What does not vary has no shares; the note names it.
    chosen = np.flatnonzero(~np.isnan(indices.first).all(axis=1))
    if not len(chosen):
        raise ValueError("no output varies, so there are no shares of a variance to draw.")
    count, d = min(len(chosen), MANY), len(indices.parameters)
    axes = sheet.panels(count, 3.6, 1.1 + 0.34 * d)
    kinds = [("first order", "first", indices.first)]
    kinds += [] if indices.total is None else [("total", "total", indices.total)]
    for k, ax in zip(chosen.tolist(), axes, strict=False):
        strength = np.nan_to_num(kinds[-1][2][k])
        order = np.argsort(strength, kind="stable")  # the strongest on top
        panels.bars(ax, k, order, indices, kinds)
        ax.set_xlabel(f"share of the variance of {indices.outputs[k]}")
    axes[0].legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    more = [f"the first {MANY} of {len(chosen)} outputs"] if count < len(chosen) else []
    sheet.note("; ".join([*more, *(note.rstrip(".") for note in indices.notes)]))


def _indices_over_time(sheet: Sheet, indices: SobolIndices) -> None:
    times = np.asarray(indices.times)
    clock = unit("s", times)
    kinds = [("first order", "first", indices.first)]
    kinds += [] if indices.total is None else [("total", "total", indices.total)]
    for ax, (title, name, values) in zip(
        sheet.panels(len(kinds), 4.6 if len(kinds) > 1 else 7.2, 3.0), kinds, strict=True
    ):
        for i, parameter in enumerate(indices.parameters):
            low, high = np.moveaxis(indices.intervals[name][:, i], -1, 0)
            x = clock.factor * times
            ax.fill_between(x, low, high, color=COLOURS[i % len(COLOURS)], alpha=0.15, linewidth=0)
            ax.plot(x, values[:, i], label=parameter, **cycle(i))
        ax.set(xlabel=clock.label("time"), ylabel=f"share of the variance, {title}", ylim=(-0.05, 1.05))
    sheet.figure.legend(*ax.get_legend_handles_labels(), loc="outside right upper")
    sheet.note("; ".join(note.rstrip(".") for note in indices.notes))
