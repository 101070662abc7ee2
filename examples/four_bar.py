"""A crank drives a four-bar linkage: what is left to move, the path of a point, what a bearing carries.

Four spatial hinges hold a planar linkage three times more than needed; gyrod finds that and goes on. The drawing of the
bodies is rough on purpose: `assemble` closes the loop and gives all bodies the velocities of the turning crank.
Run: python examples/four_bar.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import gyrod as gd

LENGTHS = {"crank": 0.3, "coupler": 0.9, "rocker": 0.7}
RATE = 2.0 * np.pi
AXIS = (0, -1, 0)  # a positive angle turns from x to z


def linkage() -> gd.System:
    """Links of 2 kg/m in the x-z plane, ground hinges 1 m apart; the crank makes a turn a second."""
    places = {"crank": (0.1, 0.1, 60.0), "coupler": (0.6, 0.4, 22.0), "rocker": (1.0, 0.3, -85.0)}
    bodies = []
    for name, (x, z, angle) in places.items():
        mass, length = 2.0 * LENGTHS[name], LENGTHS[name]
        moment = mass * length**2 / 12.0
        turn = (0.0, -np.deg2rad(angle), 0.0)
        bodies.append(gd.Body(name, mass=mass, inertia=(1e-4, moment, moment), position=(x, 0, z), orientation=turn))
    half = {name: np.array([0.5 * length, 0.0, 0.0]) for name, length in LENGTHS.items()}
    drive = (lambda t: RATE * t, lambda _: RATE, lambda _: 0.0)
    joints = [
        gd.Revolute("ground", "crank", at_a=(0, 0, 0), at_b=-half["crank"], drive=drive, name="motor", axis=AXIS),
        gd.Revolute("crank", "coupler", at_a=half["crank"], at_b=-half["coupler"], name="pin", axis=AXIS),
        gd.Revolute("coupler", "rocker", at_a=half["coupler"], at_b=-half["rocker"], name="knee", axis=AXIS),
        gd.Revolute("rocker", "ground", at_a=half["rocker"], at_b=(1, 0, 0), name="bearing", axis=AXIS),
    ]
    return gd.assemble(gd.System(bodies, joints))


def run() -> tuple[gd.System, gd.Motion]:
    """One turn of the crank."""
    system = linkage()
    return system, gd.simulate(system, 1.0, rtol=1e-9, output=np.linspace(0.0, 1.0, 9))


def plot(file: Path, system: gd.System) -> None:
    """Links at eight moments with the path of the coupler point, and the force in the bearing."""
    from matplotlib.figure import Figure

    motion = gd.simulate(system, 1.0, rtol=1e-9, output=np.linspace(0.0, 1.0, 201))
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, (name, length) in enumerate(LENGTHS.items()):
        middle, along = motion[name].position, 0.5 * length * motion[name].matrix[:, :, 0]
        ends = np.stack([middle - along, middle + along])[:, :-1:25]
        left.plot(ends[..., 0], ends[..., 2], f"C{k}", lw=1.0)
    path = motion["coupler"].position + motion["coupler"].matrix @ (0.0, 0.0, 0.3)
    left.plot(path[:, 0], path[:, 2], "k", lw=1.5)
    left.set(title="path of a point on the coupler", xlabel="x [m]", ylabel="z [m]", aspect="equal")
    right.plot(motion.t, motion["bearing"].force[:, [0, 2]], lw=1.2, label=["x", "z"])
    right.set(title="force in the fixed bearing", xlabel="t [s]", ylabel="[N]")
    right.legend(frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)


def main(folder: str = "demo") -> None:
    """Print what there is to know, write the picture."""
    system, motion = run()
    print(system.mobility())
    coupler, force = motion["coupler"], motion["bearing"].force
    path = coupler.position + coupler.matrix @ (0.0, 0.0, 0.3)  # a point above the middle of the coupler
    print("   t     coupler point [m]     bearing force [N]   motor torque [N m]")
    for t, p, f, m in zip(motion.t, path, force, motion["motor"].torque, strict=True):
        print(f"{t:5.3f}{p[0]:12.4f}{p[2]:10.4f}{f[0]:12.2f}{f[2]:10.2f}{-m[1]:14.3f}")
    print(f"largest gap in a joint: {motion.drift.position.max():.0e}")
    file = Path(folder) / "four_bar.png"
    plot(file, system)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
