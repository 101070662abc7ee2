"""A gyroscope in two gimbals: it precesses under a weight, and nutates when it is nudged.

The rotor spins at w and has the moment C about its axis. A weight that pulls on the inner gimbal by the torque M makes
the axis go round by M/(C w), horizontally. Nudged, it nutates with C w/sqrt(I1 I2), I1 and I2 the inertias that turn
with the inner and with the outer gimbal. Run: python examples/gyroscope_in_a_gimbal.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import gyrod as gd

SPIN, C, A = 200.0, 2e-3, 1.1e-3  # rad/s; moments of the rotor along and across its axis, kg m²
INNER, OUTER = (2e-4, 3e-4, 2e-4), (4e-4, 4e-4, 5e-4)  # moments of the gimbals about x, y, z
WEIGHT, ARM, NUDGE = 0.05, 0.1, 0.02  # kg and m on the rotor's axis; rad/s about it


def gyroscope(weight: float = WEIGHT, nudge: float = 0.0) -> gd.System:
    """Outer gimbal about z, inner one about x, rotor about y; the weight hangs on the axis of the rotor."""
    outer = gd.Body("outer", mass=0.5, inertia=OUTER)
    inner = gd.Body("inner", mass=0.4, inertia=INNER, angular_velocity=(nudge, 0, 0))
    rotor = gd.Body("rotor", mass=1.0, inertia=(A, C, A), angular_velocity=(nudge, SPIN, 0))
    joints = [
        gd.Revolute("ground", "outer", at=(0, 0, 0), axis=(0, 0, 1), name="vertical"),
        gd.Revolute("outer", "inner", at=(0, 0, 0), axis=(1, 0, 0), name="horizontal"),
        gd.Revolute("inner", "rotor", at=(0, 0, 0), axis=(0, 1, 0), name="bearing"),
    ]
    pull = gd.Force("inner", force=(0, 0, -9.81 * weight), at=(0, ARM, 0))
    return gd.System([outer, inner, rotor], joints, forces=[pull])


def run() -> tuple[float, float]:
    """Rates of precession under the weight and of nutation after a nudge, in rad/s."""
    motion = gd.simulate(gyroscope(), 2.0, rtol=1e-8, output=np.linspace(0.0, 2.0, 1001))
    turned = motion["vertical"].coordinates[:, 0]
    level = gd.Event(lambda _, m: float(m["inner"].matrix[2, 1]), direction=1)
    nudged = gd.simulate(gyroscope(weight=0.0, nudge=NUDGE), 0.2, rtol=1e-10, events=[level])
    times = np.array([event.t for event in nudged.events])
    return float(np.polyfit(motion.t, turned, 1)[0]), float(2.0 * np.pi / np.diff(times).mean())


def expected() -> tuple[float, float]:
    """The formulas above."""
    tilting, turning = A + INNER[0], A + INNER[2] + OUTER[2]
    return 9.81 * WEIGHT * ARM / (C * SPIN), C * SPIN / np.sqrt(tilting * turning)


def main(folder: str = "demo") -> None:
    """Print both rates, draw both motions."""
    from matplotlib.figure import Figure

    for name, here, formula in zip(("precession", "nutation"), run(), expected(), strict=True):
        print(f"{name:10} {here:12.6f} rad/s, formula {formula:12.6f} rad/s")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    fallen = gd.simulate(gyroscope(), 0.25, rtol=1e-8, output=np.linspace(0.0, 0.25, 1001))
    left.plot(1e3 * fallen["vertical"].coordinates, 1e3 * fallen["horizontal"].coordinates, "C0", lw=1.2)
    left.set(title="released with the weight", xlabel="turn about the vertical [mrad]", ylabel="tilt [mrad]")
    nudged = gd.simulate(gyroscope(weight=0.0, nudge=NUDGE), 0.1, rtol=1e-8, output=np.linspace(0.0, 0.1, 501))
    right.plot(nudged.t, 1e6 * nudged["horizontal"].coordinates, "C0", lw=1.2, label="tilt")
    right.plot(nudged.t, 1e6 * nudged["vertical"].coordinates, "C1", lw=1.2, label="turn")
    right.set(title="nudged, without weight", xlabel="t [s]", ylabel="[µrad]", ylim=(-140, 120))
    right.legend(frameon=False, ncols=2)
    file = Path(folder) / "gyroscope_in_a_gimbal.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
