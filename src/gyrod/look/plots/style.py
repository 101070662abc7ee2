"""How pictures look: one style, colours that the colour-blind can distinguish, units with prefixes, fewer points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import _check
from gyrod._check import Array
from gyrod.motion import Motion

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from gyrod.model import System

#: Okabe and Ito's colours without yellow, which is lost on white; black comes last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F4F24", "#000000")
#: Colour maps: signed values about zero, and sizes.
SIGNED, SIZES = "RdBu_r", "viridis"
GREY = "0.45"

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.labelsize": 9.0,
    "axes.titlesize": 9.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "legend.borderaxespad": 0.2,
    "legend.columnspacing": 1.2,
    "legend.handlelength": 1.4,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.0,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-3, 6),
    "axes.formatter.use_mathtext": True,
    "grid.color": "0.88",
    "grid.linewidth": 0.5,
    "xtick.direction": "out",
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "agg.path.chunksize": 10000,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "savefig.dpi": 150,
    "image.cmap": SIZES,
}

#: Things that a picture shows unless they are named.
MANY = 8
#: Rows that are looked at for what moves.
LOOKED = 60
#: Bins over the width of a picture: a line keeps the smallest and the largest value of each.
BINS = 1500
#: Times between which the dense output fills in, and rows up to which it does.
FINE, ROWS = 801, 20_000

_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_PREFIXED = ("m", "m/s", "m/s²", "N", "N m", "J", "s", "Pa", "W")


@dataclass(frozen=True)
class Unit:
    """A unit for a picture: SI values times ``factor`` are in ``name``."""

    factor: float
    name: str

    def label(self, text: str) -> str:
        """The label of an axis."""
        return f"{text} [{self.name}]" if self.name else text


def unit(si: str, *values: ArrayLike) -> Unit:
    """The unit in which the largest of the values reads best: mm, kN, µs, degrees, percent."""
    largest = max((float(np.max(np.abs(v), initial=0.0)) for v in map(np.asarray, values)), default=0.0)
    if si in ("rad", "rad/s"):
        return _angle(si, largest)
    if si == "strain":
        return Unit(100.0, "%") if largest >= 1e-3 or largest < 1e-12 else Unit(1e6, "µm/m")
    if si not in _PREFIXED or not 0.0 < largest < 1e300:
        return Unit(1.0, si)
    for size, prefix in _PREFIXES:
        if (si in ("s", "m", "m/s") and size > 1e3) or (si == "s" and size > 1.0):
            continue  # nobody reads ks or Mm
        if largest >= (size if size > 1.0 else 0.1 * size):
            return Unit(1.0 / size, prefix + si)
    return Unit(1.0, si)  # rounding: the axis says 10^-15


def _angle(si: str, largest: float) -> Unit:
    if si == "rad/s":
        return Unit(1.0, si)
    if largest >= np.deg2rad(0.1) or largest < 1e-9:
        return Unit(180.0 / np.pi, "°")
    return Unit(1e3, "mrad") if largest >= 1e-4 else Unit(1e6, "µrad")


def thinned(x: Array, y: Array, bins: int = BINS) -> NDArray[np.intp]:
    """Rows that show the same line: first, smallest, largest and last value of each of ``bins`` equal parts of x.

    All rows where there are few, or where x does not increase.
    """
    n = len(x)
    if n <= 4 * bins or not (np.diff(x) >= 0.0).all():
        return np.arange(n)
    edges = np.searchsorted(x, np.linspace(x[0], x[-1], bins + 1)[:-1])
    starts = np.unique(edges)
    counts = np.diff(np.append(starts, n))
    kept = [starts, starts + counts - 1]
    for ufunc in (np.minimum, np.maximum):
        extreme = np.flatnonzero(y == np.repeat(ufunc.reduceat(y, starts), counts))
        _, first = np.unique(np.searchsorted(starts, extreme, side="right"), return_index=True)
        kept.append(extreme[first])
    return np.unique(np.concatenate(kept))


def thinned_path(points: Array, cells: int = 3000) -> Array:
    """A curve in space without the points that lie in the same cell of a fine grid as the one before."""
    if len(points) <= 4 * cells:
        return points
    width = float(np.ptp(points, axis=0).max())
    cell = np.floor((points - points.min(axis=0)) / (width or 1.0) * cells)
    keep = np.append(True, (np.diff(cell, axis=0) != 0.0).any(axis=1))
    keep[-1] = True
    return np.asarray(points[keep])


def require_matplotlib() -> None:
    """A sentence where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'gyrod[plot]'.") from None


def require_folder(file: Path) -> None:
    """A sentence where the folder of a file is missing, or the file is a folder."""
    if file.is_dir():
        raise IsADirectoryError(f"file = {str(file)!r} is a folder; give the name of a file in it.")
    if not file.absolute().parent.is_dir():
        raise FileNotFoundError(f"file = {str(file)!r}: the folder {str(file.parent)!r} does not exist; make it first.")


@dataclass
class Picture:
    """What a drawing works on: the figure, the motion, the options."""

    figure: Figure
    motion: Motion
    what: str
    #: None: all that there are.
    names: list[str] | None
    #: Whether the figure may be given another size.
    own: bool = True
    #: Name of the abscissa where it is not the time.
    along: str | None = None

    @property
    def system(self) -> System:
        """The system that moves."""
        return self.motion.compiled.system

    @cached_property
    def t(self) -> Array:
        """Times, (n,), also of a single one."""
        return np.atleast_1d(self.motion.t)

    @property
    def single(self) -> bool:
        """Whether there is one time only."""
        return len(self.t) == 1

    @cached_property
    def clock(self) -> Unit:
        """The unit of time."""
        return Unit(1.0, "") if self.along else unit("s", np.ptp(self.t) or self.t)

    @property
    def time_label(self) -> str:
        """The label of the time axis."""
        return self.along or self.clock.label("time")

    def rows(self, values: ArrayLike) -> Array:
        """Values with a time axis, also for a single time."""
        array = np.asarray(values)
        return array[None] if np.ndim(self.motion.t) == 0 else array

    def size(self, width: float, height: float) -> None:
        """Inches, unless the figure is the caller's."""
        if self.own:
            self.figure.set_size_inches(width, height)

    def note(self, text: str) -> None:
        """A small remark above the picture."""
        self.figure.suptitle(text, x=0.01, ha="left", fontsize=7.5, color=GREY)

    def choose(self, kind: str, known: Sequence[str], everything: Sequence[str] | None = None) -> list[str]:
        """Names of this kind among those given; where none were, of many the eight that move most."""
        if self.names is not None:
            for name in self.names:
                _check.choice("names", name, everything or dict.fromkeys([*self.motion.names, *known]))
        chosen = [name for name in known if self.names is None or name in self.names]
        if not chosen:
            names = self.names if self.names is not None else list(self.motion.names)
            among = f"there are none among {', '.join(map(repr, names))}" if names else "the system has none"
            raise ValueError(f"what = {self.what!r} is for {kind}, and {among}.")
        if self.names is None and len(chosen) > MANY:
            self.note(f"The {MANY} of {len(chosen)} {kind} that move most; others by names=.")
            spans = {name: self._span(kind, name) for name in chosen}
            most = sorted(chosen, key=lambda name: -spans[name])[:MANY]  # stable: of equal ones the first
            chosen = [name for name in chosen if name in most]
        return chosen

    @cached_property
    def _few(self) -> Motion:
        """A few rows, which show what moves."""
        n = len(self.t)
        return self.motion if n <= LOOKED else self.motion.at_rows(np.linspace(0, n - 1, LOOKED).astype(int))

    def _span(self, kind: str, name: str) -> float:
        """How far something goes: a body or rod in space, a joint along its coordinates, a sensor in its values."""
        few = self._few
        if kind == "sensors":
            values = few.sensors[name]
        elif kind == "joints":
            labels = [joint.name or joint.label for joint in self.system.joints]
            values = few.joint_motions[labels.index(name)].coordinates
        else:
            track = few[name]
            values = track.positions if name in self.system.rod_names else track.position
        values = self.rows(values) if len(self.t) <= LOOKED else np.asarray(values)
        # Digits beyond the sixth are rounding: of those that move alike the first ones are taken.
        return float(f"{np.ptp(values, axis=0).max(initial=0.0):.5e}") if values.size else 0.0

    @property
    def bodies(self) -> list[str]:
        """All bodies but those that stand for junctions of rods."""
        return [name for name in self.system.names if name not in self.system.junction_bodies]

    @cached_property
    def smooth(self) -> Picture:
        """The same with more times from the dense output, where steps or output times are too far apart to look at."""
        m, t = self.motion, self.t
        if self.single or self.along or len(t) > ROWS or getattr(m, "_dense", None) is None:
            return self
        steps = np.asarray(m.steps)
        steps = steps[(steps > t[0]) & (steps < t[-1])]
        times = np.union1d(t, np.linspace(t[0], t[-1], FINE))
        # All steps, lest turns are missed.
        return replace(self, motion=m(np.union1d(times, steps) if len(steps) <= ROWS else times))

    def line(self, ax: Axes, values: Array, *, label: str | None = None, **style: Any) -> None:
        """Values over time as a line of as many points as can be seen, or as a bar for a single time."""
        if self.single:
            bar = ax.bar([(label or self.what).replace(", ", ",\n")], values, color=style.get("color"), width=0.5)
            ax.bar_label(bar, fmt=lambda v: f"{v:.4g}" if abs(v) > 1e-12 else "0", fontsize=7.5, padding=2)
            ax.margins(y=0.15)
            ax.axhline(0.0, color=GREY, linewidth=0.6)
            return
        keep = thinned(self.t, values)
        ax.plot(self.clock.factor * self.t[keep], values[keep], label=label, **style)

    def time_axis(self, *axes: Axes) -> None:
        """Label the time below the axes; limits are those of the times."""
        if self.single:
            return
        for ax in axes:
            ax.set_xlabel(self.time_label)
            if np.ptp(self.t) > 0.0:
                ax.set_xlim(self.clock.factor * self.t.min(), self.clock.factor * self.t.max())


def hide_rounding(ax: Axes, largest: float) -> None:
    """Limits of an axis that shows nothing but the rounding of quantities of this size."""
    if largest > 0.0 and max(map(abs, ax.dataLim.intervaly)) < 1e-9 * largest:
        ax.set_ylim(-largest, largest)


def plain_log(axis: Axis) -> None:
    """A logarithmic axis with plain numbers, at least a decade long."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if high < 10.0 * low:
        middle = (low * high) ** 0.5
        axis.axes.set_ylim(middle / 3.5, middle * 3.5)
    few = high < 1e3 * low
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def legend(ax: Axes, *, right: bool = False) -> None:
    """Outside the data: above the axes in a few lines where the labels are short, to the right otherwise."""
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    width = ax.get_position().width * ax.figure.bbox.width / ax.figure.dpi
    room = 16.0 * width  # letters
    longest = max(len(label) + 4 for label in labels)
    fits = sum(len(label) + 4 for label in labels) < room
    columns = len(labels) if fits else max(int(room // longest), 1)
    if right or len(labels) > 3 * columns:
        ax.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    else:
        ax.legend(handles, labels, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns)


class LineStyle(TypedDict, total=False):
    """What distinguishes a line from others."""

    color: str | tuple[float, ...]
    linestyle: str


def cycle(k: int) -> LineStyle:
    """Colour of the k-th line; dashes distinguish those that share one."""
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": ("-", "--", ":", "-.")[k // len(COLOURS) % 4]}
