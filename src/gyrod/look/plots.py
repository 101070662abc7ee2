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
    parts = ["kinetic", "potential", "total"]
    if motion.compiled.rods:
        parts += ["extension_shear", "bending_torsion"]
    for label in parts:
        left.plot(motion.t, getattr(motion.energy, label), lw=1.0, label=label.replace("_", ", "))
    left.set(xlabel="t [s]", ylabel="energy [J]")
    left.legend(fontsize=8)
    total = motion.energy.total
    right.plot(motion.t, total - total[0])
    right.set(xlabel="t [s]", ylabel="total energy - initial [J]")


def _of(kind: str, what: str, motion: Any, names: list[str]) -> list[str]:
    """Those of the names that are bodies or rods."""
    system = motion.compiled.system
    chosen = [name for name in names if name in (system.rod_names if kind == "rods" else system.names)]
    if not chosen:
        raise ValueError(f"what = {what!r} is for {kind}, and there are none among {', '.join(map(repr, names))}.")
    return chosen


def _shape(figure: Any, motion: Any, names: list[str]) -> None:
    """The centreline at ten times at most, in the plane of its two widest directions or in space."""
    from matplotlib import colormaps

    rods = _of("rods", "shape", motion, names)
    lines = {name: motion[name].positions.reshape(-1, *motion[name].positions.shape[-2:]) for name in rods}
    times = np.atleast_1d(motion.t)
    widths = np.ptp(np.concatenate([x.reshape(-1, 3) for x in lines.values()]), axis=0)
    flat = int(np.argmin(widths))
    plane = [k for k in range(3) if k != flat]
    planar = widths[flat] < 1e-6 * widths.max()
    ax = figure.subplots() if planar else figure.add_subplot(projection="3d")
    shown = np.unique(np.searchsorted(times, np.linspace(times[0], times[-1], 10)))
    for k in shown:
        color = colormaps["viridis"](0.95 * (times[k] - times[0]) / max(float(np.ptp(times)), 1e-300))
        for name, x in lines.items():
            points = x[k].T[plane] if planar else x[k].T
            ax.plot(*points, color=color, lw=1.2, label=f"{times[k]:.3g} s" if name == rods[0] else None)
    labels = [f"{'xyz'[k]} [m]" for k in (plane if planar else range(3))]
    ax.set(**dict(zip(("xlabel", "ylabel", "zlabel"), labels, strict=False)), aspect="equal")
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.02 if planar else 1.15, 0.5))


def _resultants(field: str, unit: str) -> Callable[[Any, Any, list[str]], None]:
    """Section force or moment of rods at the start, the middle and the end over time, in the axes d1, d2, d3."""

    def draw(figure: Any, motion: Any, names: list[str]) -> None:
        rods = _of("rods", field, motion, names)
        axes = figure.subplots(1, 3, sharex=True)
        largest = max(float(np.abs(getattr(motion[name], field)).max()) for name in rods)
        for name in rods:
            values = getattr(motion[name], field)
            last = values.shape[-2] - 1
            for place, k in (("start", 0), ("middle", last // 2), ("end", last)):
                label = place if len(rods) == 1 else f"{name} {place}"
                for i, ax in enumerate(axes):
                    ax.plot(motion.t, values[..., k, i], lw=1.0, label=label)
        for i, ax in enumerate(axes):
            ax.set(xlabel="t [s]", title=f"{field}, d{i + 1} [{unit}]")
            if max(map(abs, ax.get_ylim())) < 1e-9 * largest:  # nothing but rounding
                ax.set_ylim(-largest, largest)
        axes[0].legend(fontsize=8)

    return draw


def _path(figure: Any, motion: Any, names: list[str]) -> None:
    bodies = _of("bodies", "path", motion, names)
    ax = figure.add_subplot(projection="3d")
    for name in bodies:
        ax.plot(*motion[name].position.T, label=name)
    ax.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    ax.legend()


def _components(field: str, unit: str) -> Callable[[Any, Any, list[str]], None]:
    def draw(figure: Any, motion: Any, names: list[str]) -> None:
        bodies = _of("bodies", field, motion, names)
        ax = figure.subplots()
        for name in bodies:
            for k, values in enumerate(np.atleast_2d(getattr(motion[name], field)).T):
                ax.plot(motion.t, values, label=f"{name} {k}")
        ax.set(xlabel="t [s]", ylabel=f"{field} {unit}".strip())
        ax.legend(fontsize=8)

    return draw


def _joints(figure: Any, motion: Any, names: list[str]) -> None:
    """Coordinates of joints and the size of the forces that they carry; the first eight unless some are named."""
    joints = motion.compiled.system.joints
    if not joints:
        raise ValueError("what = 'joints' is for joints, and the system has none.")
    known = {*motion.names, *(j.name for j in joints if j.name is not None)}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"names = {unknown} are no joints; they can be {', '.join(map(repr, sorted(known)))}.")
    chosen = [i for i, j in enumerate(joints) if j.name in names] or list(range(min(8, len(joints))))
    moving = any(motion.joints[i].names for i in chosen)
    axes = np.atleast_1d(figure.subplots(1, 2 if moving else 1))
    left, right = axes[0], axes[-1]
    for i in chosen:
        track, label = motion.joints[i], joints[i].name or joints[i].label
        for k, name in enumerate(track.names):
            left.plot(motion.t, track.coordinates[..., k], lw=1.0, label=f"{label}: {name}")
        right.plot(motion.t, np.linalg.norm(track.force, axis=-1), lw=1.0, label=label)
    right.set(xlabel="t [s]", ylabel="force [N]")
    right.legend(fontsize=8)
    if moving:
        left.set(xlabel="t [s]", ylabel="coordinate [rad or m]")
        left.legend(fontsize=8)


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
    "shape": _shape,
    "force": _resultants("force", "N"),
    "moment": _resultants("moment", "N m"),
    "joints": _joints,
    "drift": _drift,
    "steps": _steps,
}
