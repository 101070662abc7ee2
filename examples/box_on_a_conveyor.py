"""Boxes on a conveyor: put down on a running belt, each slips until it has the speed of the belt.

Friction accelerates a box by mu g, so that it slips for v/(mu g) and lags by v^2/(2 mu g); from then on it sticks,
and of the energy that it has cost half is in its motion, half lost. Run: python examples/box_on_a_conveyor.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gyrod as gd

SPEED, G = 1.0, 9.81  # m/s, m/s^2
SIZE, HEIGHT, MASS, STIFFNESS = 0.2, 0.1, 2.0, 1e5  # m, m, kg, N/m
#: Coefficient of friction of each box.
BOXES = {"rubber": 0.6, "wood": 0.3, "plastic": 0.15}
COLOURS = dict(zip(BOXES, ("gray", "gold", "blue"), strict=True))


def conveyor() -> gd.System:
    """A belt of four metres that runs along x, and boxes side by side that stand still at the start."""
    belt = gd.Body(
        "belt", 10.0, (1.0, 1.0, 1.0), position=(0.6, 0.0, -0.025), velocity=(SPEED, 0, 0),
        shape=gd.Box((3.2, 1.2, 0.05)), color="steel",
    )  # fmt: skip
    motor = gd.Prismatic(
        "ground", "belt", axis=(1, 0, 0), at=(0, 0, 0), drive=gd.Expression(f"{SPEED}*t"), name="motor"
    )
    sunk = MASS * G / (4.0 * STIFFNESS)  # on four corners
    bodies, contacts = [belt], []
    for i, (name, friction) in enumerate(BOXES.items()):
        place = (0.0, 0.35 * (i - 1), 0.5 * HEIGHT - sunk)
        inertia = MASS / 12.0 * np.array([SIZE**2 + HEIGHT**2, SIZE**2 + HEIGHT**2, 2.0 * SIZE**2])
        box = gd.Body(name, MASS, inertia, position=place, shape=gd.Box((SIZE, SIZE, HEIGHT)), color=COLOURS[name])
        bodies.append(box)
        grip = gd.Friction(friction, presliding=1e-6)
        contacts.append(gd.Contact(name, "belt", stiffness=STIFFNESS, damping=2.0, friction=grip, name=f"{name} grip"))
    return gd.System(bodies, [motor], contacts=contacts)


def run(duration: float = 1.0) -> gd.Motion:
    """Until all of them stick."""
    return gd.simulate(conveyor(), duration, rtol=1e-6)


def lags(motion: gd.Motion) -> NDArray[np.float64]:
    """How far the boxes have fallen behind the belt, m, (boxes, times)."""
    return np.array([SPEED * motion.t - motion[name].position[:, 0] for name in BOXES])


def expected() -> NDArray[np.float64]:
    """v^2/(2 mu g)."""
    return np.array([SPEED**2 / (2.0 * friction * G) for friction in BOXES.values()])


def main(folder: str = "demo") -> None:
    """Print the lags and draw the speeds."""
    from matplotlib.figure import Figure

    motion = run()
    for name, lag, wanted in zip(BOXES, lags(motion)[:, -1], expected(), strict=True):
        print(f"{name:8} lags by {1e3 * lag:8.3f} mm   v²/(2 µ g) = {1e3 * wanted:8.3f} mm")
    lost = motion.energy.dissipated[-1]
    print(f"lost: {lost:.4f} J   3 m v²/2 = {1.5 * MASS * SPEED**2:.4f} J")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    fine = motion(np.linspace(0.0, motion.t[-1], 1000))
    for name, friction in BOXES.items():
        left.plot(fine.t, fine[name].velocity[:, 0], label=f"{name}, µ = {friction:g}")
        right.plot(fine.t, fine.contacts[f"{name} grip"].friction)
    left.axhline(SPEED, color="k", lw=0.8, label="belt")
    left.set(title="speed of the boxes", xlabel="t [s]", ylabel="speed [m/s]")
    right.set(title="friction on each", xlabel="t [s]", ylabel="force [N]")
    left.legend(frameon=False, fontsize=8)
    file = Path(folder) / "box_on_a_conveyor.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
