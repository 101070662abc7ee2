"""Contacts: normal forces over time, and along rods how hard they press where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gyrod.look.plots.style import SIZES, Picture, cycle, legend, unit
from gyrod.motion.contacts import Stations, keys

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Rods whose pressure is drawn at most, and columns of a map.
MOST, COLUMNS = 3, 600


def contact(p: Picture) -> None:
    """Normal force of each contact, and of rods the force per length over time and arc length."""
    p = p.smooth
    names = p.choose("contacts", keys(p.system))
    tracks = {name: p.motion.contacts[name] for name in names}
    pairs = [(name, part) for name in names for part in tracks[name].stations if part.of in p.system.rod_names]
    pairs = sorted(pairs, key=lambda x: -float(x[1].normal.max()))[:MOST]
    p.size(7.2, 3.0 + 1.9 * len(pairs))
    axes = p.figure.subplots(1 + len(pairs), 1, squeeze=False)[:, 0]
    normals = {name: p.rows(track.normal) for name, track in tracks.items()}
    scale = unit("N", *normals.values())
    for i, (name, values) in enumerate(normals.items()):
        p.line(axes[0], scale.factor * values, label=name, **cycle(i))
    axes[0].set_ylabel(scale.label("normal force"))
    legend(axes[0])
    p.time_axis(axes[0])
    for ax, (name, part) in zip(axes[1:], pairs, strict=True):
        _pressure(p, ax, f"{name}: {part.of}" if len(pairs) > 1 else part.of, part)


def _pressure(p: Picture, ax: Axes, label: str, part: Stations) -> None:
    """Force per length of a rod: a map over time and arc length, or a curve."""
    values, rod = p.rows(part.pressure), p.system.rod(part.of)
    scale, length = unit("N/m", values), unit("m", rod.length)
    s = length.factor * rod.length * part.places
    if p.single:
        ax.plot(s, scale.factor * values[0], **cycle(0))
        ax.set_xlabel(length.label("s"))
        ax.set_ylabel(scale.label(f"pressure on {label}"))
        return
    rows = np.unique(np.linspace(0, len(p.t) - 1, min(len(p.t), COLUMNS)).astype(int))
    mesh = ax.pcolormesh(
        p.clock.factor * p.t[rows], s, scale.factor * values[rows].T, cmap=SIZES, shading="nearest", rasterized=True
    )
    bar = p.figure.colorbar(mesh, ax=ax, pad=0.01, aspect=12)
    bar.set_label(scale.label(f"pressure on {label}"))
    bar.outline.set_linewidth(0.5)
    ax.grid(False)
    ax.set_ylabel(length.label("s"))
    p.time_axis(ax)
