"""The picture of a fit: measured points, fitted curves, and below them the residuals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gyrod import _check
from gyrod._check import Array
from gyrod.look import plots
from gyrod.look.plots.style import FINE, GREY, cycle, legend, unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gyrod.studies.fit_results import Fit
    from gyrod.studies.measured import Curve

#: Entries of a quantity that are drawn; quantities side by side.
ENTRIES, ABREAST = 8, 2
#: Entries that vary by less than this part of the largest are left out, unless nothing else is there.
STILL = 1e-9


def plot(
    fit: Fit,
    *,
    names: str | Sequence[str] | None = None,
    file: str | os.PathLike[str] | None = None,
    figure: Figure | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Draw the quantities of a `gyrod.Fit`, or some of them by name."""
    known = [curve.name for curve in fit.curves]
    chosen = known if names is None else [names] if isinstance(names, str) else list(names)
    if not chosen:
        raise ValueError("names = [] chooses nothing; name measured quantities, or leave it out.")
    for name in chosen:
        _check.choice("names", name, known)
    curves = [curve for curve in fit.curves if curve.name in chosen]
    return plots.figured(lambda figure, own: _draw(figure, own, fit, curves), file, figure, size)


def _draw(figure: Figure, own: bool, fit: Fit, curves: Sequence[Curve]) -> None:
    columns = min(len(curves), ABREAST)
    rows = -(-len(curves) // columns)
    if own:
        figure.set_size_inches(7.2 if columns == 1 else 9.6, 3.8 * rows)
    ends = [t for curve in curves for t in (curve.times[0], curve.times[-1])]
    clock = unit("s", np.ptp(ends) or ends)
    heights = [3.0, 1.2] * rows
    axes = figure.subplots(2 * rows, columns, squeeze=False, sharex=True, height_ratios=heights)
    for i, curve in enumerate(curves):
        row, column = divmod(i, columns)
        upper, lower = axes[2 * row, column], axes[2 * row + 1, column]
        if fit.plan.at_rest:
            _at_rest(upper, lower, fit, curve)
        else:
            _curve(upper, fit, curve, clock.factor)
            _residuals(lower, fit, curve, clock.factor)
        upper.tick_params(labelbottom=False)
        lower.tick_params(labelbottom=True)
        lower.set_xlabel("entry" if fit.plan.at_rest else clock.label("time"))
        upper.set_ylabel(f"{curve.name} [{fit.units[curve.name]}]" if curve.name in fit.units else curve.name)
        if column == 0:
            lower.set_ylabel("residual / $\\sigma$")
    for i in range(len(curves), rows * columns):
        for k in (0, 1):
            axes[2 * (i // columns) + k, i % columns].set_visible(False)


def _entries(curve: Curve) -> list[int]:
    """Which entries of a quantity are drawn: those that were measured, and vary."""
    values = curve.values.reshape(len(curve.values), -1)
    measured = [k for k in range(values.shape[1]) if np.isfinite(values[:, k]).any()]
    spread = {k: float(np.nanmax(values[:, k]) - np.nanmin(values[:, k])) for k in measured}
    largest = max(spread.values())
    return [k for k in measured if spread[k] > STILL * largest][:ENTRIES] or measured[:ENTRIES]


def _label(curve: Curve, k: int) -> str:
    shape = curve.values.shape[1:]
    if not shape:
        return "fit"
    return ("x", "y", "z")[k] if shape == (3,) else "[" + ", ".join(map(str, np.unravel_index(k, shape))) + "]"


def _curve(ax: Axes, fit: Fit, curve: Curve, clock: float) -> None:
    times = np.union1d(curve.times, np.linspace(curve.times[0], curve.times[-1], FINE))
    fitted = fit.predict(times)[curve.name].reshape(len(times), -1)
    values = curve.values.reshape(len(curve.values), -1)
    for i, k in enumerate(_entries(curve)):
        style = cycle(i)
        ax.plot(clock * curve.times, values[:, k], ".", color=style["color"], ms=5.0, alpha=0.35, mew=0.0)
        ax.plot(clock * times, fitted[:, k], label=_label(curve, k), **style)
    ax.plot([], [], ".", color=GREY, ms=4.0, label="measured")
    legend(ax)


def _at_rest(upper: Axes, lower: Axes, fit: Fit, curve: Curve) -> None:
    """Measured and fitted values side by side, entry by entry."""
    values, fitted, r = (x[curve.name].ravel() for x in ({curve.name: curve.values}, fit.predict(), fit.residuals))
    entries = np.arange(values.size)
    upper.plot(entries, values, ".", color=GREY, ms=7.0, label="measured")
    upper.plot(entries, fitted, "x", ms=5.0, label="fit", **cycle(0))
    legend(upper)
    _band(lower, r)
    lower.plot(entries, r, ".", color=cycle(0)["color"], ms=4.0, alpha=0.6, mew=0.0)
    lower.set_xticks(entries if values.size <= ENTRIES else entries[:: -(-values.size // ENTRIES)])


def _band(ax: Axes, r: Array) -> None:
    """Where residuals of noise are, and limits that hold all of them."""
    ax.axhspan(-1.96, 1.96, color="0.92", lw=0.0, zorder=0)
    ax.axhline(0.0, color=GREY, lw=0.6)
    largest = float(np.nanmax(np.abs(r), initial=0.0))
    ax.set_ylim(-max(1.1 * largest, 2.5), max(1.1 * largest, 2.5))


def _residuals(ax: Axes, fit: Fit, curve: Curve, clock: float) -> None:
    r = fit.residuals[curve.name].reshape(len(curve.values), -1)
    _band(ax, r)
    for i, k in enumerate(_entries(curve)):
        ax.plot(clock * curve.times, r[:, k], ".", color=cycle(i)["color"], ms=4.0, alpha=0.6, mew=0.0)
