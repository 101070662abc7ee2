"""Rods: section quantities over arc length and time, what holds the ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gyrod import quantities
from gyrod._check import Array
from gyrod.look.curves import Curve
from gyrod.look.plots.series import sizes_or_components
from gyrod.look.plots.style import COLOURS, GREY, SIGNED, SIZES, Picture, Unit, cycle, legend, unit
from gyrod.motion import Motion
from gyrod.quantities import ROD, Colour, Field

#: Columns of a map, and times up to which curves are drawn instead.
COLUMNS, CURVES = 600, 5
#: Rows of a motion that are turned into section quantities at once.
BLOCK = 20_000
#: Components below this part of the largest are left out.
NOTHING = 1e-6


@dataclass(frozen=True)
class Quantity:
    """A quantity along rods, drawn when it is called.

    One rod: a map of each component over time and arc length, with the envelope next to it. Several: the component that
    is read first. A few times: curves over the arc length.
    """

    known: Field
    #: Of several rods.
    first: Colour

    @property
    def si(self) -> str:
        """Its unit; strains are read in percent."""
        return "strain" if self.known.unit == "1" else self.known.unit

    def __call__(self, p: Picture) -> None:
        """Draw."""
        names = p.choose("rods", p.system.rod_names)
        p = p.smooth if len(p.t) > CURVES else p
        tables = {name: self._table(p, name) for name in names}
        if len(names) == 1:
            table, parts = tables[names[0]], self.known.parts
            kept = _significant(table, len(parts))
            rows = [(parts[k], table.part(k)) for k in kept]
            if len(kept) < len(parts):
                gone = ", ".join(parts[k] for k in range(len(parts)) if k not in kept)
                p.note(f"{names[0]}; not shown, as good as zero: {gone}")
            else:
                p.note(names[0])
        else:
            rows = [(f"{name}: {self.first.title}", tables[name].part(0)) for name in names]
        if len(p.t) <= CURVES:
            scale = unit(self.si, *(v for _, table in rows for v in (table.low, table.high)))
            _curves(p, self.known.title, rows, scale, one=len(names) == 1)
        else:
            _maps(p, rows, self.si)

    def _table(self, p: Picture, name: str) -> Table:
        curve = Curve(p.system.rod(name))
        several = len(p.names or p.system.rod_names) > 1 and len(self.known.parts) > 1
        reduce = self.first.number if several else None
        starts = _bins(p.t)
        found = []
        for block, s, known in _blocks(p, curve, starts, self.known.name):
            values = known if reduce is None else reduce(known)[..., None]
            found.append((s, *(f.reduceat(values, block, axis=0) for f in (np.minimum, np.maximum))))
        low, high = (np.concatenate([part[k] for part in found]) for k in (1, 2))
        return Table(found[0][0], curve.rod.length, starts, low, high)


@dataclass(frozen=True)
class Table:
    """Smallest and largest values in columns of rows that begin at ``starts``; (columns, stations, components)."""

    s: Array
    length: float
    starts: NDArray[np.intp]
    low: Array
    high: Array

    def part(self, k: int) -> Table:
        """One component."""
        return replace(self, low=self.low[..., k], high=self.high[..., k])

    @property
    def values(self) -> Array:
        """The value of larger size in each column."""
        return np.where(np.abs(self.low) > np.abs(self.high), self.low, self.high)


def _significant(table: Table, parts: int) -> list[int]:
    sizes = np.maximum(np.abs(table.low), np.abs(table.high)).max(axis=(0, 1))
    return [k for k in range(parts) if sizes[k] > NOTHING * sizes.max()] or [parts - 1]


def _bins(t: Array) -> NDArray[np.intp]:
    """First rows of at most `COLUMNS` columns that are equally wide in time; one for each row where there are few."""
    if len(t) <= COLUMNS or not (np.diff(t) >= 0.0).all():
        return np.arange(len(t))
    return np.unique(np.searchsorted(t, np.linspace(t[0], t[-1], COLUMNS + 1)[:-1]))


def _blocks(
    p: Picture, curve: Curve, starts: NDArray[np.intp], field: str
) -> Iterator[tuple[NDArray[np.intp], Array, Array]]:
    """Blocks of whole columns: first rows of the columns in the block, arc lengths, values (rows, stations, k)."""
    n = len(p.t)
    if n <= BLOCK:
        yield starts, *_values(p.motion, curve, field, p.rows)
        return
    cuts = np.unique(np.searchsorted(starts, np.arange(0, n, BLOCK)))
    for lo, hi in zip(cuts, [*cuts[1:], len(starts)], strict=True):
        if lo == hi:
            continue
        begin, end = starts[lo], starts[hi] if hi < len(starts) else n
        part = p.motion.at_rows(slice(int(begin), int(end)))
        yield starts[lo:hi] - begin, *_values(part, curve, field, np.asarray)


def _values(motion: Motion, curve: Curve, field: str, rows: Callable[[Array], Array]) -> tuple[Array, Array]:
    s, values = curve.profile(motion[curve.rod.name], field)
    return s, rows(values)


def _edges(x: Array, low: float, high: float) -> Array:
    return np.concatenate([[low], 0.5 * (x[1:] + x[:-1]), [high]])


def _maps(p: Picture, rows: list[tuple[str, Table]], si: str) -> None:
    """For each row a map over time and arc length, its colours, and the envelope over time next to it."""
    p.size(7.2, 0.9 + (2.3 if len(rows) == 1 else 1.85) * len(rows))
    axes = p.figure.subplots(len(rows), 2, sharey="row", squeeze=False, width_ratios=(3.2, 1.0))
    for (label, table), (ax, side) in zip(rows, axes, strict=True):
        scale = unit(si, table.low, table.high)
        times = p.clock.factor * p.t[table.starts]
        last = p.clock.factor * p.t[-1]
        edges = np.append(times, last) if len(times) < len(p.t) else _edges(times, times[0], last)
        length = unit("m", table.length)
        s = length.factor * table.s
        values = scale.factor * table.values
        biggest = float(np.abs(values).max()) or 1.0
        signed = bool(values.min() < -1e-3 * biggest)
        look = {"cmap": SIGNED, "vmin": -biggest, "vmax": biggest} if signed else {"cmap": SIZES}
        mesh = ax.pcolormesh(edges, _edges(s, 0.0, length.factor * table.length), values.T, rasterized=True, **look)
        bar = p.figure.colorbar(mesh, ax=ax, pad=0.01, aspect=12)
        bar.set_label(scale.label(label))
        bar.outline.set_linewidth(0.5)
        ax.grid(False)
        ax.set_ylabel(length.label("s"))
        low, high = scale.factor * table.low.min(axis=0), scale.factor * table.high.max(axis=0)
        side.fill_betweenx(s, low, high, color=COLOURS[0], alpha=0.15, linewidth=0.0)
        side.plot(low, s, color=COLOURS[0], linewidth=1.0)
        side.plot(high, s, color=COLOURS[0], linewidth=1.0)
        side.axvline(0.0, color=GREY, linewidth=0.6)
        side.set_ylim(0.0, length.factor * table.length)
        side.set_xlabel(f"min, max [{scale.name}]" if scale.name else "min, max")
        side.locator_params(axis="x", nbins=4)
        p.time_axis(ax)
    for ax in axes[:-1, 0]:
        ax.set_xlabel("")


def _curves(p: Picture, label: str, rows: list[tuple[str, Table]], scale: Unit, one: bool) -> None:
    """Values over the arc length, one panel for each component of a rod; of several rods together in one."""
    panels = [[row] for row in rows] if one else [rows]
    if one and p.single:
        panels = [rows]  # components share one diagram
    axes = np.atleast_1d(p.figure.subplots(1, len(panels), sharey=True))
    for ax, panel in zip(axes, panels, strict=True):
        length = unit("m", max(table.length for _, table in panel))
        for i, (name, table) in enumerate(panel):
            for k, row in enumerate(table.starts):
                time = f"{p.along or 't'} = {p.clock.factor * p.t[row]:.3g} {p.clock.name}".strip()
                text = name if p.single else time if one else f"{name}, {time}"
                ax.plot(length.factor * table.s, scale.factor * table.high[k], label=text, **cycle(i + k))
        ax.axhline(0.0, color=GREY, linewidth=0.6)
        ax.set_xlabel(length.label("s"))
        ax.set_ylabel(scale.label(panel[0][0] if one and not p.single else label))
    legend(axes[-1], right=not p.single)


def _along(field: str, colour: str) -> Quantity:
    return Quantity(ROD[field], quantities.COLOURS[colour])


FORCE, MOMENT, CURVATURE = _along("force", "force"), _along("moment", "moment"), _along("curvature", "curvature")
STRAIN, STRESS = _along("strain", "strain"), _along("stress", "stress")


def reactions(p: Picture) -> None:
    """Forces and moments in space axes that hold the ends of rods: components of one end, sizes of several."""
    p, things = p.smooth, []
    for name in p.choose("rods", p.system.rod_names):
        track = p.motion[name]
        for end in ("start", "end"):
            force, moment = (p.rows(getattr(track, f"{end}_{kind}")) for kind in ("force", "moment"))
            if np.abs(force).max() > 0.0 or np.abs(moment).max() > 0.0:
                things.append((f"{name} {end}", force, moment))
    if not things:
        raise ValueError("what = 'reactions' is for rods whose ends are held, and these are free.")
    sizes_or_components(p, things)


def bend_radius(p: Picture) -> None:
    """Smallest bend radius of each rod, and the limit that it has; up to ten times the smallest of all."""
    p = p.smooth
    names = p.choose("rods", p.system.rod_names)
    smallest = {name: p.rows(p.motion[name].bend_radius).min(axis=-1) for name in names}
    least = min(float(values.min()) for values in smallest.values())
    if not np.isfinite(least):
        raise ValueError("what = 'bend radius' is for rods that bend, and these are straight.")
    limits = {name: known.get("bend_radius") if (known := p.system.rod(name).limits) else None for name in names}
    scale, ax = unit("m", least), p.figure.subplots()
    for i, (name, values) in enumerate(smallest.items()):
        p.line(ax, scale.factor * np.where(values < 10.0 * least, values, np.nan), label=name, **cycle(i))
        if limit := limits[name]:
            ax.axhline(scale.factor * limit, color=COLOURS[i % len(COLOURS)], linewidth=0.8, linestyle=":")
    ax.set_ylim(bottom=0.0)
    ax.set_ylabel(scale.label("smallest bend radius"))
    legend(ax)
    p.time_axis(ax)
