"""A load on a steel cable under a trolley: it does not swing if the trolley takes its time, to the second.

The period of the swing comes from `gd.modes`; that of a mass on a heavy string is a root of Bessel functions. A trolley
that speeds up smoothly for the time r to the speed v, with the acceleration v/r (1 - cos(2 pi t/r)), leaves a swing of
2 v/(r w²) |sin(w r/2)/(1 - (w r/2 pi)²)| behind: none if r is two periods.
Run: python examples/cable_on_a_crane.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import j0, j1, y0, y1

import gyrod as gd

LENGTH, RADIUS, LOAD, SPEED, GRAVITY = 10.0, 5e-3, 500.0, 1.0, 9.81  # m, m, kg, m/s, m/s²
STEEL = gd.Material(young=2.1e11, poisson=0.3, density=7850)


def crane(ramp: float = 10.0) -> gd.System:
    """Trolley, cable and load; the trolley reaches its speed after ``ramp`` seconds."""
    a, W = SPEED / ramp, 2.0 * np.pi / ramp
    drive = (  # place, speed and acceleration
        lambda t: a * (0.5 * t**2 + (np.cos(W * t) - 1.0) / W**2) if t < ramp else SPEED * (t - 0.5 * ramp),
        lambda t: a * (t - np.sin(W * t) / W) if t < ramp else SPEED,
        lambda t: a * (1.0 - np.cos(W * t)) if t < ramp else 0.0,
    )
    trolley = gd.Body("trolley", mass=200.0, inertia=(20, 20, 20))
    load = gd.Body("load", mass=LOAD, inertia=(50, 50, 50), position=(0, 0, -LENGTH))
    track = gd.Prismatic("ground", "trolley", at=(0, 0, 0), axis=(1, 0, 0), drive=drive, name="track")
    cable = gd.Rod(
        "cable",
        LENGTH,
        section=gd.Circle(radius=RADIUS),
        material=STEEL,
        start=gd.Hinged("trolley", at=(0, 0, 0)),
        end=gd.Hinged("load", at=(0, 0, 0)),
        initial=gd.Straight((0, 0, 0), (0, 0, -LENGTH)),
    )
    return gd.System([trolley, load], [track], [cable], gravity=(0, 0, -GRAVITY))


def swing_rate() -> tuple[float, float]:
    """Rate of the swing in rad/s, by `gd.modes` and by Bessel functions for the stretched length."""
    rest = gd.equilibrium(crane())
    omega = gd.modes(rest, n=6).omega  # the first four are turns that nothing holds
    mass = STEEL.density * np.pi * RADIUS**2 * LENGTH
    low = LOAD / mass * -rest["load"].position[2]  # length of cable that weighs as much as the load
    ends = np.array([low, low - rest["load"].position[2]])

    def mismatch(w: float) -> float:
        (z, top), rate = 2.0 * w * np.sqrt(ends / GRAVITY), w / np.sqrt(GRAVITY * low)
        y = j0(z) * y0(top) - y0(z) * j0(top)
        return float(w**2 * y - GRAVITY * rate * (j1(z) * y0(top) - y1(z) * j0(top)))

    return float(omega[omega > 0.1][0]), float(brentq(mismatch, 0.5, 1.5, xtol=1e-14))


def left_over(ramp: float, omega: float) -> float:
    """The swing by the formula above, m; for one period its limit."""
    x = omega * ramp / (2.0 * np.pi)
    shape = 0.5 * np.pi if abs(x - 1.0) < 1e-6 else abs(np.sin(np.pi * x) / (1.0 - x**2))
    return float(2.0 * SPEED / (ramp * omega**2) * shape)


def run(ramp: float) -> tuple[gd.Motion, NDArray[np.float64]]:
    """The motion for 20 s from rest, and how far the load is behind or before the trolley, in m."""
    motion = gd.simulate(gd.equilibrium(crane(ramp)), 20.0, rtol=1e-7, output=np.linspace(0.0, 20.0, 801))
    return motion, motion["load"].position[:, 0] - motion["trolley"].position[:, 0]


def main(folder: str = "demo") -> None:
    """Print the period and what swing is left, draw it."""
    from matplotlib.figure import Figure

    omega, bessel = swing_rate()
    period = 2.0 * np.pi / omega
    print(f"period of the swing: {period:.5f} s, Bessel functions: {2.0 * np.pi / bessel:.5f} s")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, periods in enumerate((1.0, 1.5, 2.0)):
        ramp = periods * period
        motion, swing = run(ramp)
        rest = np.abs(swing[motion.t > ramp]).max()
        print(f"{periods:g} periods: swing {rest:.4f} m, formula {left_over(ramp, omega):.4f} m")
        left.plot(motion.t, swing, f"C{k}", lw=1.2, label=f"{periods:g} period{'s' * (periods > 1)}")
        if k != 1:  # the cable every half second, pulled apart in height
            for x in motion["cable"].positions[::20]:
                right.plot(x[:, 0], x[:, 2] - 6.0 * k, f"C{k}", lw=0.7)
    left.set(title="load before the trolley", xlabel="t [s]", ylabel="[m]")
    left.legend(frameon=False, title="to full speed in", fontsize=8, title_fontsize=8)
    right.set(title="cable every half second", xlabel="x [m]", yticks=[])
    file = Path(folder) / "cable_on_a_crane.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
