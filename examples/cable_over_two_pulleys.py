"""A winch lifts a load by a cable over two fixed pulleys.

The pulleys do not turn: the cable slides over a quarter of each, and friction makes the winch pull e^(mu pi) times the
weight, as Euler and Eytelwein say of half a turn in all. What comes on top bends the cable, which is damped. Run:
python examples/cable_over_two_pulleys.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gyrod as gd

RADIUS, SPAN, HANGS, DOWN = 0.1, 0.4, 0.5, 0.2  # m: pulleys, between them, to the load, to the winch
MASS, FRICTION, LIFT, DURATION, G = 5.0, 0.1, 0.2, 2.0, 9.81  # kg, -, m, s, m/s^2
ARC = 0.5 * np.pi * RADIUS
LENGTH = HANGS + 2.0 * ARC + SPAN + DOWN
SEGMENTS, EA = 80, 2e4  # -, N


def along(s: float) -> NDArray[np.float64]:
    """Up from the load, over the left pulley, across, over the right one, down to the winch; z = 0: axes of both."""
    x = s * LENGTH - HANGS
    first, second = np.clip([x / RADIUS, (x - ARC - SPAN) / RADIUS], 0.0, 0.5 * np.pi)
    across = np.clip(x - ARC, 0.0, SPAN)
    low = min(x, 0.0) - max(x - 2.0 * ARC - SPAN, 0.0)
    right = RADIUS * (1.0 - np.cos(first) + np.sin(second)) + across
    return np.array([right, 0.0, RADIUS * (np.sin(first) - 1.0 + np.cos(second)) + low])


def winch() -> gd.System:
    """The cable, as long as its load stretches it, the load, and the way of the winch."""
    size = 0.12
    load = gd.Body.solid(
        "load", gd.Box((size, size, size)), mass=MASS, position=(0, 0, -HANGS - 0.5 * size), color="blue"
    )
    # From rest to the speed LIFT / DURATION within half a second.
    way = f"{LIFT / DURATION}*(t - 0.25*(1 - exp(-4*t)))"
    end = along(1.0)
    damping = gd.Damping(extension=20.0, shear=20.0, bending=1e-5, torsion=1e-5)
    cable = gd.Rod(
        "cable", length=LENGTH / (1.0 + MASS * G / EA), prestrain=(0, 0, 0),
        segments=SEGMENTS, discretization="staggered",
        stiffness=(EA, EA, EA, 1e-3, 1e-3, 1e-3), density_per_length=0.01, rotary_inertia=(1e-7,) * 3,
        initial=gd.Curve(position=along), precurvature=(0, 0, 0), damping=damping,
        start=gd.Hinged("load", at=(0, 0, 0.5 * size)),
        end=gd.Hinged("ground", at=gd.ExpressionVector((f"{end[0]}", "0", f"{end[2]} - {way}"))),
    )  # fmt: skip
    slides = gd.Friction(FRICTION, sticking=False, slip_speed=1e-3)
    pulleys = {name: gd.Shaft(RADIUS, (x, 0, 0), (0, 1, 0)) for name, x in (("left", RADIUS), ("right", RADIUS + SPAN))}
    contacts = [
        gd.Contact("cable", pulley, stiffness=1e6, damping=1.0, smoothing=1e-4, friction=slides, name=name)
        for name, pulley in pulleys.items()
    ]
    return gd.System([load], rods=[cable], contacts=contacts)


def run(duration: float = DURATION) -> gd.Motion:
    """From the load at rest."""
    return gd.simulate(winch(), duration, rtol=1e-4)


def pulls(motion: gd.Motion) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Tension at the load and at the winch, N."""
    cable = motion["cable"]
    return np.linalg.norm(cable.start_force, axis=-1), np.linalg.norm(cable.end_force, axis=-1)


def expected() -> float:
    """e^(mu pi)."""
    return float(np.exp(FRICTION * np.pi))


def main(folder: str = "demo") -> None:
    """Print the pull of the winch, draw tensions and the way of the load."""
    from matplotlib.figure import Figure

    fine = run()(np.linspace(0.0, DURATION, 1000))
    load, winch_pull = pulls(fine)
    late = fine.t > 0.5 * DURATION
    ratio = winch_pull[late].mean() / load[late].mean()
    print(f"the winch pulls {ratio:.4f} times the tension at the load; Euler and Eytelwein {expected():.4f}")
    print(f"the load has been lifted by {1e3 * np.ptp(fine['load'].position[:, 2]):.1f} mm")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(fine.t, winch_pull, label="at the winch")
    left.plot(fine.t, load, label="at the load")
    left.axhline(MASS * G * expected(), color="k", lw=0.8, ls="--", label="weight times e^(µπ)")
    left.set(title="tension of the cable", xlabel="t [s]", ylabel="force [N]", ylim=(0.0, 1.3 * winch_pull.max()))
    left.legend(frameon=False, fontsize=8)
    place = fine["load"].position[:, 2]
    right.plot(fine.t, 1e3 * (place - place[0]), label="load")
    winch_way = fine["cable"].positions[:, -1, 2]
    right.plot(fine.t, 1e3 * (winch_way[0] - winch_way), "k--", lw=0.8, label="winch")
    right.set(title="ways", xlabel="t [s]", ylabel="way [mm]")
    right.legend(frameon=False, fontsize=8)
    file = Path(folder) / "cable_over_two_pulleys.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
