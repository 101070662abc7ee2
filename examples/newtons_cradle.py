"""Newton's cradle: five steel balls on strings, the first is let go.

Balls touch as Hertz found in 1882, F = k d^1.5. Such a chain does not do what rigid balls would: the wave that runs
through it leaves a little of the momentum in every ball, and the first one bounces back. How much does not depend on
the stiffness, so that an integration of six lines by SciPy gives what must come out. Run: python
examples/newtons_cradle.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import gyrod as gd

BALLS, RADIUS, STRING = 5, 0.02, 0.2  # m
STEEL = gd.Material(young=2.1e11, poisson=0.3, density=7850)
#: Hertz: two equal balls of one material, N/m^1.5.
STIFFNESS = np.sqrt(0.5 * RADIUS) * STEEL.young / (1.0 - STEEL.poisson**2) * 2.0 / 3.0  # type: ignore[operator]


def cradle(angle: float = 30.0) -> gd.System:
    """Balls side by side, each on a string; the first is turned aside by an angle in degrees."""
    bodies: list[gd.Body] = []
    joints: list[gd.Revolute | gd.Fixed] = []
    contacts: list[gd.Contact] = []
    for i in range(BALLS):
        hook = np.array([2.0 * RADIUS * i, 0.0, STRING])
        turn = np.radians(angle) if i == 0 else 0.0
        down = STRING * np.array([-np.sin(turn), 0.0, -np.cos(turn)])
        orientation = gd.rotations.exp((0.0, turn, 0.0))
        ball = gd.Body.solid(
            f"ball{i}", gd.Sphere(RADIUS), density=STEEL.density, position=hook + down, orientation=orientation,
            color="steel",
        )  # fmt: skip
        bodies.append(ball)
        joints.append(gd.Revolute("ground", ball.name, at=hook, axis=(0, 1, 0), name=f"hook{i}"))
        # To be seen: a contact is with all shapes of a body, so that a string is one of its own, with next to no mass.
        line = gd.Cylinder(0.02 * RADIUS, STRING - RADIUS, axis=(0, 0, 1), offset=(0, 0, 0.5 * (STRING + RADIUS)))
        string = gd.Body(
            f"string{i}", 1e-8, (1e-10,) * 3, position=hook + down, orientation=orientation, shape=line, color="gray"
        )
        bodies.append(string)
        joints.append(gd.Fixed(ball.name, string.name, at=hook + down))
        if i:
            name = f"touch{i}"
            contacts.append(gd.Contact(f"ball{i - 1}", ball.name, stiffness=STIFFNESS, exponent=1.5, name=name))
    return gd.System(bodies, joints, contacts=contacts)


def run(duration: float = 2.0) -> gd.Motion:
    """Two swings to and fro."""
    return gd.simulate(cradle(), duration, method="dop853", rtol=1e-10)


def chain() -> NDArray[np.float64]:
    """Speeds of the balls of a chain after a ball of unit speed has hit it, by SciPy; any stiffness has the same."""

    def rates(_: float, y: NDArray[np.float64]) -> NDArray[np.float64]:
        force = np.maximum(-np.diff(y[:BALLS]), 0.0) ** 1.5
        return np.concatenate([y[BALLS:], np.append(0.0, force) - np.append(force, 0.0)])

    start = np.zeros(2 * BALLS)
    start[BALLS] = 1.0
    found = solve_ivp(rates, (0.0, 60.0), start, method="DOP853", rtol=1e-11, atol=1e-13)
    return np.asarray(found.y[BALLS:, -1])


def impact(motion: gd.Motion) -> NDArray[np.float64]:
    """Rates of the strings after the first impact over that of the first string before it."""
    rates = np.column_stack([motion[f"hook{i}"].rates[:, 0] for i in range(BALLS)])
    touched = np.array([motion.contacts[f"touch{i}"].normal for i in range(1, BALLS)]) > 0.0
    first = int(np.argmax(touched[0]))
    last = first + int(np.argmin(np.any(touched, axis=0)[first:]))
    return np.asarray(rates[last] / rates[np.abs(rates[: first + 1, 0]).argmax(), 0])


def main(folder: str = "demo") -> None:
    """Print the speeds after the impact and draw how the balls swing."""
    from matplotlib.figure import Figure

    motion = run()
    for i, (here, wanted) in enumerate(zip(impact(motion), chain(), strict=True)):
        print(f"ball {i}: {here:10.6f} of the speed of the first, chain of Hertz {wanted:10.6f}")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    t = np.linspace(0.0, motion.t[-1], 2000)
    swings = motion(t)
    hit = motion.t[int(np.argmax(motion.contacts["touch1"].normal > 0.0))]
    close = np.linspace(hit - 2e-5, hit + 4e-4, 400)
    during = motion(close)
    for i in range(BALLS):
        away = swings[f"ball{i}"].position[:, 0] - 2.0 * RADIUS * i
        left.plot(t, np.degrees(np.arcsin(away / STRING)), lw=1.2, label=f"ball {i + 1}")
        right.plot(1e6 * (close - hit), during[f"ball{i}"].velocity[:, 0], lw=1.2)
    left.set(title="angles of the strings", xlabel="t [s]", ylabel="angle [°]")
    right.set(title="the first impact", xlabel="time since the touch [µs]", ylabel="speed [m/s]")
    left.legend(frameon=False, fontsize=8, ncols=5, columnspacing=0.8, handlelength=1.0)
    left.set_ylim(-35.0, 42.0)
    file = Path(folder) / "newtons_cradle.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
