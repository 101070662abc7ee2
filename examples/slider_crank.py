"""A crank that pushes a slider out of its plane: the spatial slider-crank of the IFToMM benchmarks.

The crank turns about x, the slider moves along x, and the connecting rod between them has a ball joint at the crank and
a universal joint at the slider. Gravity alone drives it, from a crank rate of 6 rad/s.
Run: python examples/slider_crank.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import gyrod as gd

#: Place of the slider in m, trusted to all digits: recomputed by independent code.
TRUSTED = {0.5: 0.1849526297778, 1.0: 0.2117216613935, 2.0: 0.2890851970670, 5.0: 0.2407195737321}


def mechanism() -> gd.System:
    """Crank of 0.08 m, rod of 0.3 m, a slider of 2 kg; the start is drawn with all its velocities."""
    bearing, ball, cross = np.array([0, 0.1, 0.12]), np.array([0, 0.1, 0.2]), np.array([0.2, 0, 0])
    along = (cross - ball) / 0.3
    across = np.array([0.0, 2.0, -1.0]) / np.sqrt(5.0)  # second axis of the universal joint, perpendicular to x
    frame = np.column_stack([along, across, np.cross(along, across)])
    omega = np.array([1.92, -0.96, 0.48])  # of the rod, in space
    small = (1e-4, 1e-4, 1e-4)
    crank = gd.Body(
        "crank",
        mass=0.12,
        inertia=small,
        position=0.5 * (bearing + ball),
        velocity=(0, -0.24, 0),
        angular_velocity=(6, 0, 0),
    )
    rod = gd.Body(
        "rod",
        mass=0.5,
        inertia=(4e-4, 4e-3, 4e-3),
        position=0.5 * (ball + cross),
        orientation=frame,
        velocity=np.array([0, -0.48, 0]) + np.cross(omega, 0.15 * along),
        angular_velocity=frame.T @ omega,
    )
    slider = gd.Body("slider", mass=2.0, inertia=small, position=cross, velocity=(0.24, 0, 0))
    joints = [
        gd.Revolute("ground", "crank", at=bearing, axis=(1, 0, 0), name="bearing"),
        gd.Spherical("crank", "rod", at=ball, name="ball"),
        gd.Universal("slider", "rod", at=cross, axis=(1, 0, 0), axis2=across, name="cross"),
        gd.Prismatic("ground", "slider", at=cross, axis=(1, 0, 0), name="guide"),
    ]
    return gd.System([crank, rod, slider], joints)


def run() -> gd.Motion:
    """Five seconds."""
    return gd.simulate(mechanism(), 5.0, rtol=1e-9, output=np.linspace(0.0, 5.0, 1001))


def main(folder: str = "demo") -> None:
    """Print the slider beside the trusted values, draw its way and what the bearing carries."""
    from matplotlib.figure import Figure

    motion = run()
    print(mechanism().mobility())
    for t, trusted in TRUSTED.items():
        print(f"t = {t:g} s: slider at {motion(t)['slider'].position[0]:.10f} m, trusted {trusted:.10f} m")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(motion.t, motion["slider"].position[:, 0], "C0", lw=1.2)
    left.plot(list(TRUSTED), list(TRUSTED.values()), "ko", ms=4)
    left.set(title="slider, and the trusted places", xlabel="t [s]", ylabel="x [m]")
    right.plot(motion.t, motion["bearing"].force, lw=1.0, label=["x", "y", "z"])
    right.set(title="force on the crank in its bearing", xlabel="t [s]", ylabel="[N]", ylim=(-75, 40))
    right.legend(frameon=False, ncols=3, loc="lower right")
    file = Path(folder) / "slider_crank.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
