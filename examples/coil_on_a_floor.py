"""A rope laid in coils on a floor: it comes out of a nozzle, and its bending and its weight choose the radius.

In units of the length (B/q)^(1/3), with the stiffness B against bending and the weight q per length, the radius of a
slow coil depends on the height of the nozzle alone (Mahadevan and Keller, Proc. R. Soc. A 452, 1679, 1996; Jawed,
Da, Joo, Grinspun and Reis, PNAS 111, 14663, 2014). In axes that turn with the coil the rope stands still, which is a
boundary value problem: its curvature is continuous where it meets the floor, and nothing twists it as its upper end may
spin. The run starts from that shape with half a coil on the floor, and lays ten more, which do not feel each other.
Run: python examples/coil_on_a_floor.py [folder]
"""

from __future__ import annotations

import sys
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_bvp

import gyrod as gd

THICK, HIGH, RATE, LAID, TURNS = 1e-3, 3.5, 1.0, 0.5, 10.0  # m, -, 1/s, coils, coils
PIECES = 50  # segments of a coil
RUBBER = gd.Material(young=1e7, poisson=0.5, density=1100)
BENDING, WEIGHT = RUBBER.young * np.pi * THICK**4 / 4.0, RUBBER.density * np.pi * THICK**2 * 9.81  # N m^2, N/m
UNIT = (BENDING / WEIGHT) ** (1.0 / 3.0)  # m


@cache
def steady() -> tuple[float, NDArray[np.float64]]:
    """Radius of a steady coil, and points of the rope from the floor up to the nozzle, in units of length."""
    inertia = RATE**2 * UNIT / 9.81

    def along(_: NDArray[np.float64], y: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
        x, t, n, m = y.reshape(4, 3, -1)
        turns, flat = np.cross(m, t, axis=0), np.array([[1.0], [1.0], [0.0]])
        n_s = inertia * (p[0] ** 2 * turns - 2.0 * p[0] * flat * [-t[1], t[0], t[2]] - flat * x) + [[0.0], [0.0], [1.0]]
        return np.asarray(p[1] * np.vstack([t, turns, n_s, np.cross(n, t, axis=0)]))

    def ends(high: float, a: NDArray[np.float64], b: NDArray[np.float64], p: NDArray[np.float64]) -> list[float]:
        floor = [a[0] - p[0], a[1], a[2], a[3], a[4] - 1.0, a[5], a[9], a[10], a[11] - 1.0 / p[0]]
        return [*floor, b[0], b[1], b[2] - high, b[3], b[4]]

    s = np.linspace(0.0, 1.0, 60)  # a guess for a nozzle that is not high
    x = np.array([0.6 * (1 - s) ** 2 * (1 + 2 * s), 0.7 * s * (1 - s) ** 2, s**1.5])
    t = np.gradient(x, s, axis=1)
    up, down = np.array([[0.0], [0.0], [1.0]]), (1.0 - s) / 0.6
    guess = s, np.vstack([x, t / np.linalg.norm(t, axis=0), up * (1.7 * s - 0.5), up * down]), np.array([0.6, 1.7])
    for high in (1.0, 2.0, HIGH):
        found = solve_bvp(along, partial(ends, high), *guess, tol=1e-6, max_nodes=5000)
        guess = found.x, found.y, found.p
    return float(found.p[0]), np.asarray(found.sol(np.linspace(0.0, 1.0, 100))[:3].T)


def lowered(turns: float) -> gd.System:
    """The rope with half a coil on the floor, in a nozzle of four walls, led down at its upper end."""
    radius, hangs = steady()
    angle = 2.0 * np.pi * np.linspace(-LAID, 0.0, 41)[:-1]
    lies = radius * np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
    above = 2.0 * np.pi * radius * (turns + 0.1)
    straight = np.array([0.0, 0.0, 1.0]) * (HIGH + np.linspace(0.0, above, 61)[1:, None])
    points = UNIT * np.vstack([lies, hangs, straight]) + [0.0, 0.0, THICK]
    top, speed = points[-1, 2], radius * UNIT * RATE
    loss = 5e-3 * BENDING * np.array([1.0, 4e5])  # N m^2 s, N s
    rope = gd.Rod(
        "rope", segments=round(PIECES * (turns + LAID + HIGH / (2.0 * np.pi))), discretization="staggered",
        section=gd.Circle(THICK), material=RUBBER, initial=gd.Curve(position=points), precurvature=(0, 0, 0),
        prestrain=(0, 0, 0), end=gd.Hinged("ground", at=gd.ExpressionVector(("0", "0", f"{top} - {speed}*t"))),
        damping=gd.Damping(bending=loss[0], torsion=loss[0], shear=loss[1], extension=loss[1]),
    )  # fmt: skip
    law = {"stiffness": 1e4, "damping": 30.0}
    floor = gd.Contact("rope", gd.Plane(), friction=gd.Friction(1.0, presliding=0.1 * THICK), name="floor", **law)
    nozzle, tall = [], UNIT
    for name, (x, y) in {"right": (1, 0), "left": (-1, 0), "behind": (0, 1), "before": (0, -1)}.items():
        away = THICK + 0.01
        wall = gd.Box((0.02, 0.02, tall), offset=(away * x, away * y, THICK + UNIT * HIGH + 0.5 * tall))
        nozzle.append(gd.Contact("rope", wall, name=name, **law))
    return gd.System(rods=[rope], contacts=[floor, *nozzle])


def run(turns: float = TURNS) -> gd.Motion:
    """The coils as they are laid."""
    seconds = turns * 2.0 * np.pi / RATE
    output = np.linspace(0.0, seconds, round(40 * turns) + 1)
    return gd.simulate(lowered(turns), seconds, method="rodas", rtol=1e-2, output=output, dense=False)


def radius(motion: gd.Motion) -> float:
    """Mean radius of what lies on the floor, without the start and the last tenth of a coil, m."""
    x = motion["rope"].positions[-1]
    lies = np.flatnonzero(x[:, 2] < 2.0 * THICK)[round((LAID + 0.3) * PIECES) : -round(0.1 * PIECES)]
    return float(np.linalg.norm(x[lies, :2], axis=1).mean())


def main(folder: str = "demo") -> None:
    """Print the radius, draw the coils from above and one from the side."""
    from matplotlib.figure import Figure

    motion = run()
    print(f"radius: {1e3 * radius(motion):.2f} mm   boundary value problem {1e3 * UNIT * steady()[0]:.2f} mm")
    x = 1e3 * motion["rope"].positions[-1]
    lies = x[:, 2] < 2e3 * THICK
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(x[lies, 0], x[lies, 1], "C0", lw=0.8, label="coils")
    round_, hangs = np.linspace(0.0, 2.0 * np.pi, 100), 1e3 * UNIT * steady()[1]
    size = 1e3 * UNIT * steady()[0]
    left.plot(size * np.cos(round_), size * np.sin(round_), "k--", lw=0.8, label="boundary value problem")
    left.set(title="what lies on the floor", xlabel="x [mm]", ylabel="y [mm]", aspect="equal")
    left.legend(loc="center", frameon=False, fontsize=8)
    away = np.linalg.norm(x[:, :2], axis=1)
    shown = x[:, 2] < 1e3 * UNIT * 1.2 * HIGH
    right.plot(away[shown], x[shown, 2], "C0", label="rope")
    right.plot(
        np.linalg.norm(hangs[:, :2], axis=1), hangs[:, 2] + 1e3 * THICK, "k--", lw=0.8, label="boundary value problem"
    )
    right.set(title="how it comes down", xlabel="distance from the axis [mm]", ylabel="z [mm]")
    right.legend(frameon=False, fontsize=8)
    file = Path(folder) / "coil_on_a_floor.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
