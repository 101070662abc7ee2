"""Pictures of equilibria along a parameter, and of modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gyrod._check import Array
from gyrod.look.curves import FINE, Curve
from gyrod.look.plots.space import equal, plane
from gyrod.look.plots.style import COLOURS, GREY, Picture, cycle, legend, unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gyrod.model import Rod
    from gyrod.motion import RodTrack
    from gyrod.solve.modal import Modes
    from gyrod.solve.paths.result import Path

#: Modes that are drawn unless some are chosen.
MODES = 6


def response(p: Picture, path: Path) -> None:
    """Displacements of bodies and of ends of rods against the parameter; dashes are unstable, dots are events."""
    things: list[tuple[str, Array]] = []
    for name in p.choose("bodies and rods", [*p.bodies, *p.system.rod_names]):
        track = path[name]
        if name not in p.system.rod_names:
            things.append((name, track.position))
            continue
        x = track.positions
        size = float(np.ptp(x, axis=(0, 1)).max())
        ends = [k for k in (0, -1) if np.ptp(x[:, k], axis=0).max() > 1e-9 * size]
        if ends:
            things += [(f"{name} {'end' if k else 'start'}", x[:, k]) for k in ends]
        else:
            things.append((f"{name} middle", _middle(p.system.rod(name), track)))
    moved = [(name, x - x[0]) for name, x in things]
    largest = max(float(np.abs(x).max()) for _, x in moved)
    shown = [k for k in range(3) if max(float(np.abs(x[:, k]).max()) for _, x in moved) > 1e-6 * largest] or [2]
    scale = unit("m", largest)
    axes = np.atleast_1d(p.figure.subplots(1, len(shown), sharex=True))
    for ax, k in zip(axes, shown, strict=True):
        for i, (name, x) in enumerate(moved):
            _branch(ax, path, scale.factor * x[:, k], label=name, **cycle(i))
            for event in path.events:
                after = event.after
                between = path.value[after : after + 2]
                share = (event.value - between[0]) / (np.ptp(between) * np.sign(between[-1] - between[0]) or 1.0)
                value = x[after, k] + np.clip(share, 0.0, 1.0) * (x[min(after + 1, len(x) - 1), k] - x[after, k])
                marker = "s" if event.kind == "bifurcation" else "o"
                ax.plot(event.value, scale.factor * value, marker, color="black", mfc="white", ms=4.5, zorder=3)
        ax.set(xlabel=path.parameter, ylabel=scale.label(f"displacement {'xyz'[k]}"))
    legend(axes[0])
    kinds = sorted({event.kind for event in path.events})
    notes = ["dashed: unstable"] if not path.stable.all() else []
    notes += [{"bifurcation": "square: bifurcation", "limit point": "circle: limit point"}[kind] for kind in kinds]
    if notes:
        p.note("; ".join(notes))


def _middle(rod: Rod, track: RodTrack) -> Array:
    """The vertex in the middle of a rod, of elements the point there, (n, 3)."""
    if rod.degree is not None:
        return Curve(rod).point(track, 0.5)
    return np.asarray(track.positions[:, len(rod.fractions) // 2])


def _branch(ax: Axes, path: Path, values: Array, label: str, color: str | tuple[float, ...], linestyle: str) -> None:
    """A line whose unstable parts are dashed."""
    stable = np.asarray(path.stable)
    cuts = np.flatnonzero(np.diff(stable)) + 1
    first = True
    for lo, hi in zip([0, *cuts], [*cuts, len(values)], strict=True):
        rows = slice(int(lo), int(hi) + 1)
        style = linestyle if stable[lo] else (0, (3, 2))
        ax.plot(path.value[rows], values[rows], color=color, ls=style, label=label if first else None)
        first = False


def mode_shapes(p: Picture, modes: Modes, numbers: list[int]) -> None:
    """Mode shapes in small pictures, each with its frequency; the equilibrium is grey."""
    system = p.system
    curves = {name: Curve(system.rod(name), FINE) for name in system.rod_names}
    rest = {name: curve.vertices(modes.rest[name].positions) for name, curve in curves.items()}
    rest |= {name: modes.rest[name].position[None] for name in p.bodies}
    every = np.concatenate(list(rest.values()))
    size = float(np.ptp(every, axis=0).max()) or 1.0
    moves = {k: {name: modes.shape(k, name).reshape(-1, 3) for name in rest} for k in numbers}
    for shapes in moves.values():
        shapes.update({name: curve.vertices(shapes[name]) for name, curve in curves.items()})
    for shapes in moves.values():
        largest = max(float(np.abs(x).max()) for x in shapes.values())
        for name in shapes:
            shapes[name] = shapes[name] * (0.15 * size / largest if largest > 0.0 else 0.0)
    both = np.concatenate([rest[n] + s * x for shapes in moves.values() for n, x in shapes.items() for s in (1, -1)])
    flat = plane(both) or list(range(3))
    scale = unit("m", every)
    columns = min(len(numbers), 3)
    lines = -(-len(numbers) // columns)
    p.size(7.2, 0.6 + 2.2 * lines)
    kind = {"projection": "3d"} if len(flat) == 3 else {}
    axes = p.figure.subplots(lines, columns, squeeze=False, subplot_kw=kind).ravel()
    for ax, k in zip(axes, numbers, strict=False):
        for name, x in rest.items():
            style = {"marker": "o"} if len(x) == 1 else {}
            ax.plot(*(scale.factor * x[:, flat]).T, color=GREY, lw=0.9, **style)
            for sign, width in ((1.0, 1.4), (-1.0, 0.6)):
                moved = scale.factor * (x + sign * moves[k][name])[:, flat]
                ax.plot(*moved.T, color=COLOURS[0], lw=width, **style)
        ax.set_title(_frequency(modes, k))
        equal(ax, scale.factor * both[:, flat])
        ax.locator_params(nbins=4)
        if kind:  # too small for numbers
            for side in (ax.xaxis, ax.yaxis, ax.zaxis):
                side.set_pane_color((1.0, 1.0, 1.0, 0.0))
                side.set_ticklabels([])
            ax.tick_params(length=0.0)
    labels = ["xyz"[k] if kind else scale.label("xyz"[k]) for k in flat]
    for ax in axes[: len(numbers)]:
        for side, label in zip("xyz", labels, strict=False):
            getattr(ax, f"set_{side}label")(label, labelpad=-12.0 if kind else 4.0)
    if kind:
        p.note(f"Boxes are {scale.factor * size:.3g} {scale.name} long; displacements enlarged.")
    for ax in axes[len(numbers) :]:
        ax.remove()


def _frequency(modes: Modes, k: int) -> str:
    if k < modes.unstable:
        return f"{k}: grows with {modes.growth[k]:.4g} /s"
    damping = f", {100.0 * modes.damping[k]:.2g} %" if abs(modes.damping[k]) > 1e-6 else ""
    frequency = modes.frequencies[k] if modes.frequencies[k] > 1e-9 * modes.frequencies.max() else 0.0
    return f"{k}: {frequency:.4g} Hz{damping if frequency else ''}"
