"""An overhand knot is pulled tight and let go again: what bending, contact and friction make of it.

A loose knot is a circle of radius R with straight tails; where they pass each other they wind round each other. Without
friction the pull is T = B/(2 R^2), with the stiffness B against bending; with friction it is mu P larger while the knot
is tightened, and mu P smaller while it opens, where P is what the strands press on each other with in all (Audoly,
Clauvelin, Neukirch, Phys. Rev. Lett. 99, 164301, 2007). Run: python examples/overhand_knot.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gyrod as gd

THICK, LOOP, TAIL = 5e-3, 1.0 / 6.0, 2.6 / 6.0  # m: radii of the rope and of the loop, length of a tail
SEGMENTS, FRICTION, PULL = 200, 0.1, 8e-3  # -, -, m
RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)
BENDING = RUBBER.young * np.pi * THICK**4 / 4.0  # N m^2


def tied() -> NDArray[np.float64]:
    """Points of a loose knot: a tail, three half turns about the other strand, the loop, back, the other tail."""
    wide = LOOP * np.sin(0.9)
    x = np.linspace(-wide, wide, 61)
    u = np.clip(0.5 + x / (8.0 * np.sqrt(THICK * LOOP)), 0.0, 1.0)
    angle = np.pi * (3.0 * u * u * (3.0 - 2.0 * u) - 0.5)
    apart = 0.5 * np.hypot(2.2 * THICK, x * x / (2.0 * LOOP))
    rises = LOOP - np.sqrt(LOOP**2 - x * x)
    y, z = apart * np.sin(angle), apart * np.cos(angle)
    first = np.column_stack([x, x * x / (4.0 * LOOP) + y, z])
    second = np.column_stack([x, x * x / (4.0 * LOOP) - y, -z])
    off = rises - x * x / (2.0 * LOOP)  # from the parabola to the circle
    first[:, 1] += np.where(x > 0.0, off, 0.0)
    second[:, 1] += np.where(x < 0.0, off, 0.0)
    turn = np.linspace(0.9, 2.0 * np.pi - 0.9, 81)[1:-1]
    loop = np.column_stack([LOOP * np.sin(turn), LOOP - LOOP * np.cos(turn), 0.0 * turn])
    tail = np.column_stack([np.linspace(-TAIL, -wide, 9)[:-1], np.zeros(8), np.zeros(8)])
    return np.vstack([tail, first, loop, second, -tail[::-1]])


def knot(friction: float = FRICTION) -> gd.System:
    """The rope, held at both ends, one of which moves outwards for a second and back."""
    end = gd.ExpressionVector((f"{TAIL} + {PULL}*(1 - abs(t - 1))", "0", "0"))
    rope = gd.Rod(
        "rope", segments=SEGMENTS, discretization="staggered", section=gd.Circle(THICK), material=RUBBER,
        initial=gd.Curve(position=tied()), precurvature=(0, 0, 0), prestrain=(0, 0, 0),
        start=gd.Clamped("ground"), end=gd.Clamped("ground", at=end),
    )  # fmt: skip
    grip = gd.Friction(friction, presliding=0.1 * THICK)
    touch = gd.Contact("rope", "rope", stiffness=1e5, friction=grip, name="knot")
    return gd.System(rods=[rope], contacts=[touch], gravity=(0, 0, 0))


def run() -> tuple[gd.Rest, gd.Path]:
    """The knot at rest as if it were frictionless, then pulled and let go."""
    loose = gd.equilibrium(knot(friction=1e-9))
    return loose, gd.follow(knot(), "time", (0, 1, 2), increments=20, bifurcations=False, guess=loose)


def pull(rest: gd.Rest) -> float:
    """Tension of the tails, N."""
    return float(np.linalg.norm(rest["rope"].end_force))


def radius(rest: gd.Rest) -> float:
    """Half the height of the loop, m."""
    y = rest["rope"].positions[:, 1]
    return float(0.5 * (y.max() - y.min()))


def main(folder: str = "demo") -> None:
    """Print pulls, draw the knot and its hysteresis."""
    from matplotlib.figure import Figure

    loose, path = run()
    rests = path.rests
    pulls, way = np.array([pull(rest) for rest in rests]), PULL * (1.0 - np.abs(np.asarray(path.value) - 1.0))
    bare = BENDING / (2.0 * radius(loose) ** 2)
    print(f"without friction: {pull(loose):.5f} N   B/(2 R^2) = {bare:.5f} N, R = {1e3 * radius(loose):.1f} mm")
    pressed = 0.5 * sum(float(rest.contacts["knot"].normal) for rest in (rests[10], rests[-1]))
    print(f"tighter less looser: {pulls[10:21].mean() - pulls[-1]:.5f} N   2 mu P = {2 * FRICTION * pressed:.5f} N")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for rest, style, label in ((loose, "C0--", "loose"), (rests[20], "C3", "pulled")):
        x = 1e3 * rest["rope"].positions
        left.plot(x[:, 0], x[:, 1], style, lw=1.5, label=label)
    left.set(title="the knot from above", xlabel="x [mm]", ylabel="y [mm]", aspect="equal")
    left.legend(frameon=False, fontsize=8)
    right.plot(1e3 * way, pulls, "C3", label="friction 0.1")
    right.axhline(pull(loose), color="C0", lw=1.0, ls="--", label="without friction")
    right.set(title="pulled tight, and let go", xlabel="way of the end [mm]", ylabel="pull [N]", ylim=(0.0, None))
    right.legend(frameon=False, fontsize=8)
    file = Path(folder) / "overhand_knot.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
