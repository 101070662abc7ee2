"""Plots of a motion with matplotlib, which is imported only when one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gyrod import _check


def plot(motion: Any, what: str = "energy", *, names: Sequence[str] | None = None, file: str | None = None) -> Any:
    """Draw one of `PLOTS` and return the matplotlib Figure; ``file`` saves it."""
    _check.choice("what", what, PLOTS)
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'gyrod[plot]'.") from None
    figure = Figure(figsize=(8.0, 4.0), layout="constrained")
    PLOTS[what](figure, motion, list(names or motion.names))
    if file is not None:
        figure.savefig(file, dpi=130)
    return figure


def _energy(figure: Any, motion: Any, _: list[str]) -> None:
    left, right = figure.subplots(1, 2)
    for label in ("kinetic", "potential", "total"):
        left.plot(motion.t, getattr(motion.energy, label), label=label)
    left.set(xlabel="t [s]", ylabel="energy [J]")
    left.legend()
    total = motion.energy.total
    right.plot(motion.t, total - total[0])
    right.set(xlabel="t [s]", ylabel="total energy - initial [J]")


def _path(figure: Any, motion: Any, names: list[str]) -> None:
    ax = figure.add_subplot(projection="3d")
    for name in names:
        ax.plot(*motion[name].position.T, label=name)
    ax.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    ax.legend()


def _components(field: str, unit: str) -> Callable[[Any, Any, list[str]], None]:
    def draw(figure: Any, motion: Any, names: list[str]) -> None:
        ax = figure.subplots()
        for name in names:
            for k, values in enumerate(np.atleast_2d(getattr(motion[name], field)).T):
                ax.plot(motion.t, values, label=f"{name} {k}")
        ax.set(xlabel="t [s]", ylabel=f"{field} {unit}".strip())
        ax.legend(fontsize=8)

    return draw


def _drift(figure: Any, motion: Any, _: list[str]) -> None:
    ax = figure.subplots()
    for label in ("position", "velocity"):
        values = getattr(motion.drift, label)
        if values.max() > 0.0:
            ax.semilogy(motion.t, np.maximum(values, 1e-18), label=label)
    ax.set(xlabel="t [s]", ylabel="constraint residual")
    if ax.lines:
        ax.legend()


def _steps(figure: Any, motion: Any, _: list[str]) -> None:
    ax = figure.subplots()
    ax.semilogy(motion.steps[1:], np.diff(motion.steps), drawstyle="steps-pre")
    ax.set(xlabel="t [s]", ylabel="step [s]")


PLOTS: dict[str, Callable[[Any, Any, list[str]], None]] = {
    "energy": _energy,
    "path": _path,
    "position": _components("position", "[m]"),
    "velocity": _components("velocity", "[m/s]"),
    "quaternion": _components("quaternion", ""),
    "Omega": _components("Omega", "[rad/s]"),
    "omega": _components("omega", "[rad/s]"),
    "euler": _components("euler", "[rad]"),
    "drift": _drift,
    "steps": _steps,
}
