"""Plots of a motion with matplotlib, which is imported only when one is drawn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gyrod import _check
from gyrod.look.plots import contacts, paths, rods, series, space
from gyrod.look.plots.style import STYLE, Picture, require_folder, require_matplotlib
from gyrod.motion import Motion
from gyrod.motion.contacts import keys

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gyrod.solve.modal import Modes
    from gyrod.solve.paths.result import Path as LoadPath

#: Drawings by name; "force" and "moment" are short for "section forces" and "section moments".
PLOTS: dict[str, Callable[[Picture], None]] = {
    "energy": series.energy,
    "balance": series.balance,
    "path": space.path,
    "shape": space.shape,
    "position": series.position,
    "velocity": series.velocity,
    "orientation": series.orientation,
    "quaternion": series.quaternion,
    "euler": series.euler,
    "Omega": series.Omega,
    "omega": series.omega,
    "momentum": series.momentum,
    "joints": series.joints,
    "joint forces": series.joint_forces,
    "effort": series.effort,
    "phase": series.phase,
    "sensors": series.sensors,
    "section forces": rods.FORCE,
    "section moments": rods.MOMENT,
    "force": rods.FORCE,
    "moment": rods.MOMENT,
    "curvature": rods.CURVATURE,
    "strain": rods.STRAIN,
    "stress": rods.STRESS,
    "bend radius": rods.bend_radius,
    "reactions": rods.reactions,
    "contact": contacts.contact,
    "drift": series.drift,
    "steps": series.steps,
}


def plot(
    motion: Motion,
    what: str = "energy",
    *,
    names: str | Sequence[str] | None = None,
    file: str | os.PathLike[str] | None = None,
    figure: Figure | None = None,
    size: tuple[float, float] | None = None,
    along: str | None = None,
) -> Figure:
    """Draw one of `PLOTS` and return the matplotlib Figure.

    Parameters
    ----------
    names
        Bodies, rods, joints or sensors; by default all, of many the eight that move most.
    file
        Saves the picture; its ending chooses the format (png, pdf, svg, ...).
    figure
        A matplotlib Figure or SubFigure to draw into.
    size
        Width and height in inches.
    along
        Label of the abscissa of a motion whose times are not times.
    """
    _check.choice("what", what, PLOTS)
    return drawn(lambda picture: PLOTS[what](picture), motion, what, names, file, figure, size, along)


def plot_path(
    path: LoadPath,
    what: str = "response",
    *,
    names: str | Sequence[str] | None = None,
    file: str | os.PathLike[str] | None = None,
    figure: Figure | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Draw equilibria along a parameter: "response", or what `plot` draws with the parameter in place of the time."""
    _check.choice("what", what, ["response", *PLOTS])
    if what == "response":
        motion = path.rests[0].motion
        return drawn(lambda p: paths.response(p, path), motion, what, names, file, figure, size, path.parameter)
    return plot(path.motion, what, names=names, file=file, figure=figure, size=size, along=path.parameter)


def plot_modes(
    modes: Modes,
    numbers: int | Sequence[int] | None = None,
    *,
    file: str | os.PathLike[str] | None = None,
    figure: Figure | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Draw mode shapes, by default of the first six."""
    if not len(modes):
        raise ValueError("there are no modes to draw: everything is held.")
    given = range(min(paths.MODES, len(modes))) if numbers is None else np.atleast_1d(np.asarray(numbers)).tolist()
    for number in given:
        if not isinstance(number, int) or not 0 <= number < len(modes):
            raise ValueError(f"numbers = {numbers!r}: there are {len(modes)} modes, counted from 0.")
    chosen = list(given)
    if not chosen:
        raise ValueError("numbers = [] chooses nothing; leave it out for the first six.")
    return drawn(lambda p: paths.mode_shapes(p, modes, chosen), modes.rest.motion, "modes", None, file, figure, size)


def drawn(
    draw: Callable[[Picture], None],
    motion: Motion,
    what: str,
    names: str | Sequence[str] | None = None,
    file: str | os.PathLike[str] | None = None,
    figure: Figure | None = None,
    size: tuple[float, float] | None = None,
    along: str | None = None,
) -> Figure:
    """A figure of a motion, drawn by a function and saved."""
    chosen = [names] if isinstance(names, str) else None if names is None else list(names)
    if chosen is not None and not chosen:
        raise ValueError("names = [] chooses nothing; name bodies, rods or joints, or leave it out.")

    def paint(figure: Figure, own: bool) -> None:
        draw(Picture(figure, motion, what, chosen, own, along))
        for name in chosen or ():  # of those that draw the whole system: the others have looked at them
            _check.choice("names", name, _nameable(motion))

    return figured(paint, file, figure, size)


def figured(
    draw: Callable[[Figure, bool], None],
    file: str | os.PathLike[str] | None,
    figure: Figure | None,
    size: tuple[float, float] | None,
) -> Figure:
    """A figure in the style of gyrod, saved; ``draw`` gets it, and whether it may choose the size."""
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    target = None if file is None else picture_path(file)
    with matplotlib.rc_context(STYLE):
        own = figure is None
        if figure is None:
            figure = Figure(figsize=(7.2, 3.4), layout="constrained")
        elif not hasattr(figure, "subplots"):
            raise ValueError(f"figure must be a matplotlib Figure or SubFigure, got {type(figure).__name__}.")
        if own and size is not None:
            figure.set_size_inches(*size_of(size))
        draw(figure, own and size is None)
        if target is not None:
            save(figure.get_figure(root=True) if hasattr(figure, "get_figure") else figure, target)
    return figure


def _nameable(motion: Motion) -> list[str]:
    """Names of all plots."""
    system = motion.compiled.system
    joints = [joint.name or joint.label for joint in system.joints]
    sensors = [sensor.name for sensor in getattr(system, "sensors", ())]
    return list(dict.fromkeys([*motion.names, *joints, *sensors, *keys(system)]))


def save(figure: Figure, file: Path) -> None:
    """Write a figure; problems of the disk as a sentence."""
    try:
        figure.savefig(file)
    except OSError as error:
        raise OSError(f"file = {str(file)!r} cannot be written: {error.strerror or error}.") from error


def picture_path(file: str | os.PathLike[str]) -> Path:
    """The path of a picture, of a kind that matplotlib writes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    path = Path(file)
    known = sorted(FigureCanvasAgg.get_supported_filetypes())
    if path.suffix.lower().lstrip(".") not in known:
        raise ValueError(
            f"file = {str(path)!r} has no ending that pictures know; it can be {', '.join('.' + k for k in known)}."
        )
    require_folder(path)
    return path


def size_of(size: Iterable[float]) -> tuple[float, float]:
    """Width and height in inches."""
    try:
        width, height = (float(x) for x in size)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"size = {size!r} must be width and height in inches, as (7.2, 3.4).") from None
    if not (0.5 <= width <= 100.0 and 0.5 <= height <= 100.0):
        raise ValueError(f"size = {size!r} must be width and height between 0.5 and 100 inches.")
    return width, height
