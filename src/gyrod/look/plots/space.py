"""Curves in space: paths of points, shapes of rods; in a plane where they lie in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gyrod._check import Array
from gyrod.look.curves import FINE, Curve
from gyrod.look.plots.series import points
from gyrod.look.plots.style import COLOURS, SIZES, Picture, cycle, legend, thinned_path, unit

#: Shapes of a rod that are drawn at most.
SHAPES = 11


def plane(x: Array) -> list[int] | None:
    """The two axes of the coordinate plane that the points lie in, (..., 3); None: in none."""
    widths = np.ptp(x.reshape(-1, 3), axis=0)
    flat = int(np.argmin(widths))
    return [k for k in range(3) if k != flat] if widths[flat] <= 1e-6 * widths.max() else None


def space(p: Picture, curves: Sequence[Array]) -> tuple[Any, list[int], float]:
    """Axes in space or in the plane of the points, the coordinates that they show, and the factor of the unit."""
    every = np.concatenate([x.reshape(-1, 3) for x in curves])
    shown = plane(every)
    scale = unit("m", every)
    axes = list(shown or range(3))
    if shown is not None:
        p.size(*_flat_size(np.ptp(every[:, shown], axis=0)))
        ax = p.figure.subplots()
    else:
        p.size(6.0, 4.6)
        ax = p.figure.add_subplot(projection="3d")
        for side in (ax.xaxis, ax.yaxis, ax.zaxis):
            side.set_pane_color((1.0, 1.0, 1.0, 0.0))
        ax.tick_params(labelsize=7.5, pad=1)
        ax.locator_params(nbins=5)
    labels = [scale.label("xyz"[k]) for k in axes]
    ax.set(**dict(zip(("xlabel", "ylabel", "zlabel"), labels, strict=False)))
    return ax, axes, scale.factor


def _flat_size(widths: Array) -> tuple[float, float]:
    """Inches for equal axes: room for the curves, for labels and a legend."""
    ratio = float(np.clip(widths[1] / widths[0] if widths[0] > 0.0 else 3.0, 0.35, 1.6))
    height = min(5.2, 0.9 + 4.2 * ratio)
    return 2.0 + (height - 0.9) / ratio, height


def equal(ax: Any, x: Array) -> None:
    """Equal scales on all axes, no axis thinner than a fifth of the widest."""
    low, high = x.min(axis=0), x.max(axis=0)
    widest = float((high - low).max()) or 1.0
    half = np.maximum(0.5 * (high - low), 0.1 * widest) + 0.04 * widest
    middle = 0.5 * (high + low)
    for name, lo, hi in zip("xyz", middle - half, middle + half, strict=False):
        getattr(ax, f"set_{name}lim")(lo, hi)
    if len(middle) == 3:
        ax.set_box_aspect(half, zoom=0.92)
    else:
        ax.set_aspect("equal")


def path(p: Picture) -> None:
    """Paths of the centres of mass, and of the ends of rods that move; a dot marks the start."""
    curves = dict(points(p.smooth, "position", "positions"))
    ax, axes, factor = space(p, list(curves.values()))
    for k, (name, x) in enumerate(curves.items()):
        curve = factor * thinned_path(x)[:, axes]
        ax.plot(*curve.T, label=name, **cycle(k))
        ax.plot(*curve[:1].T, "o", color=cycle(k)["color"])
    equal(ax, factor * np.concatenate(list(curves.values()))[:, axes])
    if len(axes) == 3 and len(curves) <= 4:  # that corner of a box is empty
        ax.legend(loc="upper left", bbox_to_anchor=(0.0, 1.0))
    else:
        legend(ax, right=True)


def shape(p: Picture) -> None:
    """Centrelines of rods at eleven times at most, by colour."""
    from matplotlib import colormaps

    names = p.choose("rods", p.system.rod_names)
    p = _spread(p)
    curves = {name: Curve(p.system.rod(name), FINE) for name in names}
    lines = {name: curve.vertices(p.rows(p.motion[name].positions)) for name, curve in curves.items()}
    ax, axes, factor = space(p, list(lines.values()))
    last = max(len(p.t) - 1, 1)
    for i, time in enumerate(p.t):
        colour = COLOURS[0] if p.single else colormaps[SIZES](0.93 * i / last)
        text = f"{p.clock.factor * time:.3g} {p.clock.name}".strip()
        for name, x in lines.items():
            label = None if p.single or name != names[0] else text
            ax.plot(*(factor * x[i][:, axes]).T, color=colour, linewidth=1.4, label=label)
    equal(ax, factor * np.concatenate([x.reshape(-1, 3) for x in lines.values()])[:, axes])
    legend(ax, right=True)
    if p.along and ax.get_legend() is not None:
        ax.get_legend().set_title(p.along, prop={"size": 8.0})


def _spread(p: Picture) -> Picture:
    """The same at times that are equally far apart, or at rows where there is nothing between them."""
    if len(p.t) <= SHAPES:
        return p
    if getattr(p.motion, "_dense", None) is not None and not p.along:
        return replace(p, motion=p.motion(np.linspace(p.t[0], p.t[-1], SHAPES)))
    wanted = np.linspace(p.t[0], p.t[-1], SHAPES)
    increasing = bool((np.diff(p.t) > 0.0).all())
    rows = np.searchsorted(p.t, wanted) if increasing else np.linspace(0, len(p.t) - 1, SHAPES).round().astype(int)
    return replace(p, motion=p.motion.at_rows(np.unique(rows)))
