"""A wiring harness on a wall: a trunk, five branches and twelve clips at rest, before anything is built.

Each cable is known by where it begins and ends, its length and the clips on the way. `gd.route` lays them one after the
other, branches on the ends of the trunk; `gd.equilibrium` finds how all of them rest together. What is bent too
sharply, and how much wire has to be cut off or added between its last clip and its plug? What does each clip hold?
Run: python examples/harness.py [folder]
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gyrod as gd

Array = NDArray[np.float64]
Place = tuple[float, float, float]

WIRES = gd.Material(young=6e7, poisson=0.4, density=2200)  # a taped bundle
GRIP = (2e4, 2e4, 2e3)  # of a clip across and along the bundle, N/m
SHARPEST = 10.0  # least bend radius, in radii of the bundle
CHANGES = np.arange(-0.02, 0.035, 0.01)  # of the length of a branch, m


@dataclass(frozen=True)
class Cable:
    """A piece of the harness. Directions are degrees along the wall, 0 to the right and 90 upwards."""

    radius: float  # of the bundle, m
    length: float  # m
    start: tuple[str | Place, float]  # the cable that it begins on and by how much it turns there, or the first plug
    end: tuple[Place, float] | None  # its plug
    clips: tuple[tuple[float, Place, float], ...]  # length up to there, point, direction


CABLES = {
    "trunk": Cable(8e-3, 0.45, ((0.0, 0.02, 0.5), 0.0), None,
                   ((0.18, (0.18, 0.02, 0.5), 0.0), (0.38, (0.38, 0.02, 0.5), 0.0))),
    "middle": Cable(6.5e-3, 0.45, ("trunk", 0.0), None,
                    ((0.181, (0.63, 0.02, 0.5), 0.0), (0.381, (0.83, 0.02, 0.5), 0.0))),
    "lamp": Cable(4e-3, 0.46, ("trunk", 60.0), ((0.6, 0.05, 0.87), 90.0),
                  ((0.16, (0.5, 0.02, 0.635), 70.0), (0.32, (0.555, 0.025, 0.775), 70.0))),
    "horn": Cable(4e-3, 0.46, ("trunk", -60.0), ((0.59, 0.05, 0.11), -90.0),
                  ((0.155, (0.5, 0.02, 0.365), -70.0), (0.31, (0.55, 0.025, 0.225), -70.0))),
    "fan": Cable(4e-3, 0.5, ("middle", 45.0), ((1.15, 0.06, 0.88), 70.0),
                 ((0.175, (0.99, 0.02, 0.63), 55.0), (0.35, (1.08, 0.03, 0.77), 55.0))),
    "sensor": Cable(3e-3, 0.5, ("middle", 0.0), ((1.36, 0.06, 0.45), 0.0), ((0.25, (1.14, 0.025, 0.48), -5.0),)),
    "pump": Cable(4e-3, 0.52, ("middle", -50.0), ((1.13, 0.07, 0.07), -90.0), ((0.26, (1.03, 0.025, 0.28), -60.0),)),
}  # fmt: skip
BRANCHES = tuple(name for name, cable in CABLES.items() if cable.end is not None)


def frame(degrees: float) -> Place:
    """The rotation vector of a section whose cable runs in a direction."""
    return 0.0, float(np.deg2rad(90.0 - degrees)), 0.0


def laid(name: str, around: list[gd.Rod], change: float = 0.0) -> gd.Route:
    """A cable on those that lie already."""
    cable = CABLES[name]
    length, (on, direction) = cable.length + change, cable.start
    if isinstance(on, str):
        start = gd.Clamped(on, at="end", frame=(0.0, -np.deg2rad(direction), 0.0))
    else:
        start = gd.Clamped(at=on, frame=frame(direction))
    end = None if cable.end is None else gd.Clamped(at=cable.end[0], frame=frame(cable.end[1]))
    kind = "fixed" if end is None else "swivel"  # wires turn in the clips of branches
    clips = [
        gd.Clip(name, s / length, point=x, axis=(np.cos(np.deg2rad(a)), 0.0, np.sin(np.deg2rad(a))), kind=kind,
                stiffness=GRIP, name=f"{name} {k}")
        for k, (s, x, a) in enumerate(cable.clips, 1)
    ]  # fmt: skip
    given: dict[str, Any] = {"section": gd.Circle(cable.radius), "material": WIRES, "bodies": around}
    return gd.route(length, start, end, name=name, clips=clips, **given)


def harness(changes: Mapping[str, float]) -> gd.System:
    """All cables as they were laid, some of another length."""
    rods: list[gd.Rod] = []
    clips: list[gd.Clip] = []
    for name in CABLES:
        route = laid(name, rods, changes.get(name, 0.0))
        rods.append(route.rod)
        clips += route.clips
    return gd.System(rods=rods, forces=clips)


def run(improved: bool = True) -> gd.Rest:
    """The harness at rest, as it was drawn or with the lengths that were found."""
    return gd.equilibrium(harness(solve()[1] if improved else {}))


def solve() -> tuple[dict[str, Array], dict[str, float]]:
    """Bend radius over the least one of each branch by the change of its length, and the change that is made.

    The smallest that is good by a tenth; else the best one.
    """
    trunk: list[gd.Rod] = []
    for name in ("trunk", "middle"):
        trunk.append(laid(name, trunk).rod)
    radii, made = {}, {}
    for name in BRANCHES:
        radii[name] = np.full(len(CHANGES), np.nan)
        for k, change in enumerate(CHANGES):
            with contextlib.suppress(ValueError):  # too short
                radii[name][k] = laid(name, trunk, change).bend_radius / (SHARPEST * CABLES[name].radius)
        good = np.flatnonzero(radii[name] > 1.1)
        best = good[np.argmin(np.abs(CHANGES[good]))] if len(good) else np.nanargmax(radii[name])
        made[name] = float(CHANGES[best])
    return radii, made


def sharpness(rest: gd.Rest) -> dict[str, float]:
    """Bend radius over the least one of each cable."""
    return {name: rest[name].bend_radius.min() / (SHARPEST * cable.radius) for name, cable in CABLES.items()}


def main(folder: str = ".") -> None:
    """Print what each cable and clip does, draw the wall and what decides the lengths."""
    import matplotlib.pyplot as plt
    from matplotlib.collections import LineCollection
    from matplotlib.patheffects import withStroke

    radii, made = solve()
    drawn, rest = sharpness(run(False)), run()
    found = sharpness(rest)
    for name, cable in CABLES.items():
        change = 1e3 * made.get(name, 0.0)
        print(
            f"{name:>6}: {1e3 * cable.length:.0f} {change:+.0f} mm, bend radius {drawn[name]:.2f} -> {found[name]:.2f} "
            "of the least"
        )
    figure, (a, b) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained", width_ratios=(1.9, 1))
    lines, halo = None, [withStroke(linewidth=2.5, foreground="white")]
    for name, cable in CABLES.items():
        track = rest[name]
        x = 1e3 * track.positions[:, [0, 2]]
        bent = np.interp(np.linspace(0, 1, len(x) - 1), np.linspace(0, 1, len(track.bend_radius)), track.bend_radius)
        lines = LineCollection(
            [*np.stack([x[:-1], x[1:]], axis=1)],
            cmap=plt.get_cmap("plasma", 10),
            lw=450.0 * cable.radius,
            capstyle="round",
        )
        lines.set_array(SHARPEST * cable.radius / bent)
        lines.set_clim(0.0, 1.0)
        a.add_collection(lines)
        if cable.end is not None:
            a.annotate(name, x[-1], (7, 0), textcoords="offset points", va="center", fontsize=8, path_effects=halo)
    for clip in rest.system.forces:
        if isinstance(clip, gd.Clip) and clip.point is not None:
            a.plot(1e3 * clip.point[0], 1e3 * clip.point[2], "o", color="0.2", ms=4)
            force = np.linalg.norm(rest[str(clip.name)].force)
            spot = 1e3 * clip.point[0], 1e3 * clip.point[2]
            a.annotate(f"{force:.1f} N", spot, (8, 6), textcoords="offset points", fontsize=7, path_effects=halo)
    a.set(xlim=(-40, 1560), ylim=(20, 930), xlabel="x in mm", ylabel="z in mm", title="forces of the clips")
    a.set_aspect("equal")
    assert lines is not None
    figure.colorbar(lines, ax=a, label="least bend radius / bend radius", location="bottom", shrink=0.6, aspect=30)
    for (name, values), mark in zip(radii.items(), "osv^D", strict=True):
        (line,) = b.plot(1e3 * CHANGES, values, mark + "-", ms=3, label=name)
        b.plot(1e3 * made[name], np.interp(made[name], CHANGES, values), mark, ms=8, color=line.get_color())
    b.axhline(1.0, color="0.4", lw=0.8, ls="--")
    b.set(xlabel="longer by, in mm", ylabel="bend radius / least bend radius", title="lengths of the branches")
    b.legend(fontsize=8)
    file = Path(folder) / "harness.png"
    figure.savefig(file, dpi=120)
    plt.close(figure)
    print(f"wrote {file}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
