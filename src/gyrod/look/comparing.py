"""A comparison as a table and as a work-precision diagram."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gyrod import _check
from gyrod.look.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gyrod.comparison.results import Comparison, Trial

#: Title and field of the columns.
COLUMNS = {
    "discretization": "rods",
    "formulation": "formulation",
    "method": "method",
    "stage": "rtol",
    "ms": "CPU ms",
    "unknowns": "unknowns",
    "steps": "steps",
    "micros": "us/step",
    "rejected": "rejected",
    "rhs": "f",
    "jacobians": "J",
    "error": "error",
    "position": "position",
    "rotation": "rotation",
    "energy": "energy",
    "drift": "drift",
    "drift_velocity": "drift'",
}
#: What is left out first where the table is too broad.
SPARED = ("rejected", "drift_velocity", "position", "rotation", "jacobians", "rhs", "steps", "drift")
#: With discretisations; what is left out first where the table is too broad, and what is if there is only one.
SPACE = ("discretization", "unknowns", "micros")
SPARED_SPACE = (*SPARED, "energy", "micros", "unknowns")
SAME = ("formulation", "method")
#: What equilibria do not have.
MOVING = ("stage", "rejected", "rhs", "jacobians", "energy", "drift", "drift_velocity")
#: Columns of words.
WORDS = ("discretization", "formulation", "method")


def table(comparison: Comparison, by: str = "error", width: int = 120) -> str:
    """The trials as text; those on the front, cheapest for what they give, bear a star."""
    trials, front = comparison.sorted(by), comparison.front()
    spaces = any(trial.discretization for trial in comparison)
    alike = [name for name in SAME if spaces and len({getattr(trial, name) for trial in trials}) == 1]
    names = [name for name in COLUMNS if name not in alike and (spaces or name not in SPACE)]
    if not comparison.t_end:
        names = [name for name in names if name not in MOVING]
    for spared in (None, *(SPARED_SPACE if spaces else SPARED)):
        names = [name for name in names if name != spared]
        rows = [[COLUMNS[name] for name in names]]
        rows += [[_cell(comparison, trial, name) for name in names] for trial in trials]
        sizes = [max(len(row[i]) for row in rows) for i in range(len(names))]
        if sum(sizes) + 2 * len(sizes) <= width:
            break
    lines = []
    for i, row in enumerate(rows):
        columns = zip(names, row, sizes, strict=True)
        cells = [c.ljust(n) if name in WORDS else c.rjust(n) for name, c, n in columns]
        star = "*" if i and trials[i - 1] in front else " "
        lines.append(f"{star} {'  '.join(cells)}".rstrip())
    if not trials:
        lines = ["No run reached the end."]
    if alike and trials:
        lines += ["", *_wrapped(f"All of them: {', '.join(getattr(trials[0], name) for name in alike)}.", width)]
    text = [*lines, "", *_told(comparison, width)]
    others = _others(comparison, width)
    return "\n".join([*text, "", *others] if others else text)


def _short(value: float) -> str:
    """1e-03, 2.5e-03: three digits at most, and no zeros."""
    digits, power = f"{value:.2e}".split("e")
    return f"{digits.rstrip('0').rstrip('.')}e{power}"


def _cell(comparison: Comparison, trial: Trial, name: str) -> str:
    if name == "stage":
        return f"h={_short(trial.step)}" if trial.step is not None else _short(trial.rtol) if trial.rtol else "-"
    if name == "ms":
        return "-" if trial.seconds is None else f"{1e3 * trial.seconds:.{1 if trial.seconds < 1.0 else 0}f}"
    if name == "micros":
        return "-" if trial.per_step is None else f"{1e6 * trial.per_step:.3g}"
    value = getattr(trial, name)
    if value is None:
        return "-"
    if isinstance(value, float):
        below = name in ("error", "position", "rotation") and value < comparison.floor
        return f"<{comparison.floor:.0e}" if below else f"{value:.0e}" if value else "0"
    return str(value)


def _told(comparison: Comparison, width: int) -> list[str]:
    """What the columns mean, what they are measured against, and what to choose."""
    r = comparison.reference
    lines = []
    if r is None:
        lines.append("No reference: no run of a tight tolerance reached the end in time, so errors are not known.")
    else:
        how = f"{r.seconds:.2g} s" if not comparison.t_end else "as given"
        how = how if r.rtol is None else f"rtol = {r.rtol:.0e}, {r.seconds:.2g} s"
        checked = f"; {r.check} differs from it by {r.error:.0e}" if r.check else ""
        space = f"{r.discretization}, " if r.discretization else ""
        lines.append(f"Reference: {space}{r.method}, {r.formulation}, {how}{checked}.")
        error = f"error: largest of positions over {comparison.length:.3g} m and of rotations in rad, "
        energy = (
            f"energy: over the largest kinetic energy, {comparison.kinetic:.3g} J; drift: residual of the constraints."
        )
        error += f"up to t = {comparison.t_end:g} s; {energy}" if comparison.t_end else "at rest."
        lines.append(f"{error} CPU time of the whole call. *: none is both cheaper and as exact.")
        lines += _advice(comparison)
    return [x for line in lines for x in _wrapped(line, width)]


def _advice(comparison: Comparison) -> list[str]:
    """The cheapest trial for every so many digits."""
    best = [comparison.best(error) for error in (1e-2, 1e-4, 1e-6, 1e-8)]
    found = [
        f"{trial.label}: {_cell(comparison, trial, 'error')} in {_duration(trial.seconds or 0.0)}"
        for trial in dict.fromkeys(best)
        if trial is not None
    ]
    return [f"Cheapest: {'; '.join(found)}."] if found else []


def _duration(seconds: float) -> str:
    return (
        f"{1e3 * seconds:.2g} ms" if seconds < 0.0995 else f"{seconds:.2g} s" if seconds < 99.5 else f"{seconds:.0f} s"
    )


def _others(comparison: Comparison, width: int) -> list[str]:
    """What did not reach the end, one entry for each reason."""
    slow = [t for t in comparison if t.status == "limit"]
    lines = []
    if slow:
        told = "; ".join(f"{t.label}: {_estimate(t.seconds)}" for t in slow)
        left = " Their finer tolerances were left out." if any(t.status == "left out" for t in comparison) else ""
        lines.append(f"over the limit of {comparison.limit:g} s: {told}.{left}")
    reasons: dict[tuple[str, str], list[Trial]] = {}
    for trial in comparison:
        if trial.status in ("failed", "refused"):
            # The same reason for another formulation or another method reads the same but for their names.
            reason = trial.note.replace(repr(trial.formulation), "").replace(repr(trial.method), "")
            reasons.setdefault((trial.status, reason), []).append(trial)
    lines += [f"{status}: {_called(trials)}: {trials[0].note}" for (status, _), trials in reasons.items()]
    return [x for line in lines for x in _wrapped(line, width, "    ")]


def _estimate(seconds: float | None) -> str:
    return "nothing reached" if seconds is None else f"about {_duration(seconds)}"


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)


def _called(trials: Sequence[Trial]) -> str:
    """Several trials in few words."""
    if len(trials) == 1:
        return str(trials[0].label)
    words = ([*dict.fromkeys(getattr(t, k) for t in trials)] for k in WORDS)
    spaces, formulations, methods = (", ".join(filter(None, found)) for found in words)
    return f"{methods} in {formulations}{' with ' if spaces else ''}{spaces}"


#: What errors are drawn over, and its label.
COSTS = {"seconds": "CPU time [s]", "rhs": "right-hand sides", "steps": "steps", "unknowns": "unknowns"}


def plot(comparison: Comparison, cost: str = "seconds", file: str | Path | None = None) -> Figure:
    """Error over cost, one line for each method and formulation, or sort of discretisation; the front as a band."""
    _check.choice("cost", cost, COSTS)
    if not any(trial.error is not None for trial in comparison.finished):
        raise ValueError("no trial has an error to draw: none has finished, or there is no reference.")
    style.require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator

    target = None if file is None else Path(file)
    if target is not None:
        style.require_folder(target)
    series = _series(comparison, cost)
    with matplotlib.rc_context(style.STYLE):
        figure = Figure(figsize=(7.2, 4.2), layout="constrained")
        axes = figure.subplots()
        _draw(axes, comparison, series, cost)
        axes.set(xscale="log", yscale="log", xlabel=COSTS[cost], ylabel="largest error [lengths, rad]")
        axes.xaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))  # others would overlap
        axes.xaxis.set_minor_formatter(LogFormatterSciNotation(minor_thresholds=(2.5, 2.5)))
        figure.legend(loc="outside right upper")
        if target is not None:
            figure.savefig(target)
    return figure


def _series(comparison: Comparison, cost: str) -> dict[tuple[str, str], list[Trial]]:
    """Lines by what gives them colour and marker; points from coarse to fine.

    Over tolerances: method and formulation. Over discretisations of one sort: that sort, and how time was integrated.
    """
    trials = [t for t in comparison.finished if t.error is not None and getattr(t, cost)]
    found: dict[tuple[str, str], list[Trial]] = {}
    if not any(t.discretization for t in comparison):
        for t in trials:
            found.setdefault((t.method, t.formulation), []).append(t)
        return found
    alike = len({t.formulation for t in trials}) == 1
    for t in trials:
        stage = f"h = {t.step:.0e} s" if t.step is not None else f"rtol = {t.rtol:.0e}" if t.rtol else ""
        how = ", ".join(x for x in (t.method, "" if alike else t.formulation, stage) if x)
        found.setdefault((t.family, how), []).append(t)
    return {key: sorted(line, key=lambda t: t.unknowns or 0) for key, line in found.items()}


def _draw(axes: Axes, comparison: Comparison, series: dict[tuple[str, str], list[Trial]], cost: str) -> None:
    # Colours for the methods, markers for the formulations; or for sorts of discretisations and for methods.
    colours = (*style.COLOURS, "#999933", "#44AA99", "#882255")
    methods, formulations = ([*dict.fromkeys(key[i] for key in series)] for i in (0, 1))
    markers = dict(zip(formulations, "osD^vPX", strict=False))
    floor = comparison.floor
    front = comparison.front() if cost == "seconds" else ()
    if len(front) > 1:
        points = [(getattr(t, cost), max(t.error or 0.0, floor) or 1e-16) for t in front]
        axes.plot(*zip(*points, strict=True), lw=7.0, alpha=0.25, color="#999999", solid_capstyle="round", zorder=0)
    for (method, formulation), trials in series.items():
        points = [(getattr(t, cost), max(t.error or 0.0, floor) or 1e-16) for t in trials]  # coarse to fine
        colour = colours[methods.index(method) % len(colours)]
        axes.plot(*zip(*points, strict=True), color=colour, marker=markers.get(formulation, "."), ms=5, lw=1.0)
    for i, method in enumerate(methods):
        axes.plot([], [], color=colours[i % len(colours)], lw=2.0, label=method)
    for formulation in formulations:
        axes.plot([], [], color="0.3", marker=markers.get(formulation, "."), ls="", ms=5, label=formulation)
    if len(front) > 1:
        axes.plot([], [], lw=7.0, alpha=0.25, color="#999999", label="cheapest")
    if floor > 0.0:
        axes.axhline(floor, color="0.5", lw=0.8, ls=":", label="reference")
