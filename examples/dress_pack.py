"""The dress pack of a six-axis arm: how long must the hose be from the last clip to the flange?

The arm is read from six_axis_arm.urdf; its joints are led by the angles that its controller recorded at 100 Hz
(dress_pack.csv, made by `series`). `gd.route` lays the hose between its ends and through the clips on three links; then
the arm works for four seconds, and the hose goes along. A piece that is too short is drawn across the wrist.
Run: python examples/dress_pack.py [folder]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gyrod as gd

Array = NDArray[np.float64]

ARM = Path(__file__).with_name("six_axis_arm.urdf")
SERIES = Path(__file__).with_suffix(".csv")
JOINTS = tuple(f"joint_{k}" for k in range(1, 7))
#: Poses of the arm in degrees, at 0, 1, 2, 3 and 4 s: ready, at the press, lifted, at the conveyor, ready.
POSES = (
    (0, 0, 0, 0, 0, 0),
    (35, 38, 12, 20, 35, 60),
    (-10, 5, 10, -25, 10, -20),
    (-55, 30, 30, -30, 25, -60),
    (0,) * 6,
)


HOSE = {
    "section": gd.Ring(radius=14e-3, inner=10e-3),
    "material": gd.Material(young=1.0e7, poisson=0.45, density=1150),
    "damping": gd.Damping(factor=0.03),
}
#: What holds the hose: a link, a point in space and the slope of the hose there with the arm at zero (0 upwards, 90
#: degrees forwards), and how long it is from there to the next one, in m.
HELD = (
    ("shoulder", (-0.16, 0.16, 0.42), -30.0, 0.70),
    ("upper_arm", (0.02, 0.13, 0.92), 0.0, 0.60),
    ("elbow", (0.12, 0.13, 1.40), 70.0, 0.56),
    ("forearm", (0.60, 0.0, 1.37), 90.0, np.nan),
    ("flange", (0.96, 0.0, 1.35), 100.0, 0.0),
)
LOOPS = (0.40, 0.43, 0.46)  # m, from the forearm to the flange: what is to be chosen
NEAR = ("upper_arm", "elbow", "forearm", "wrist")
RADIUS, CLEARANCE = 0.07, 0.01  # m, wanted


def series() -> Array:
    """Times and angles in degrees: from pose to pose at rest, with quintics in between."""
    t = np.linspace(0.0, 4.0, 401)
    k = np.minimum(t.astype(int), 3)
    u = (t - k)[:, None]
    poses, blend = np.array(POSES, dtype=float), u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
    return np.column_stack([t, poses[k] + blend * (poses[k + 1] - poses[k])])


def arm() -> gd.System:
    """The arm, its joints led by the series."""
    drives = {f"{name}.drive": gd.read_samples(SERIES, name) for name in JOINTS}
    return gd.load(ARM).with_(drives)


def dressed(loop: float) -> gd.System:
    """The arm with its hose as it hangs at the start."""
    robot = arm()
    pieces = np.nan_to_num([piece for *_, piece in HELD], nan=loop)
    length = float(pieces.sum())
    ends, clips = [], []
    for k, (link, point, slope, _) in enumerate(HELD):
        # With the arm at zero all links have the axes of space.
        at, angle = np.array(point) - robot.body(link).position, np.deg2rad(slope)
        if k in (0, len(HELD) - 1):
            ends.append(gd.Clamped(link, at=at, frame=(0.0, angle, 0.0)))
        else:
            s, way = pieces[:k].sum() / length, (np.sin(angle), 0.0, np.cos(angle))
            clips.append(gd.Clip("hose", s, link, at, axis=way, kind="swivel", name=f"{link} clip"))
    limits = {"bend_radius": RADIUS}  # which the report shows
    route = gd.route(length, *ends, name="hose", clips=clips, bodies=robot, limits=limits, **HOSE)  # type: ignore[arg-type]
    return gd.assemble(gd.System(robot.bodies, robot.joints, forces=route.clips, rods=[route.rod]))


def run(loop: float) -> gd.Motion:
    """Four seconds of work."""
    return gd.simulate(dressed(loop), 4.0, rtol=1e-3)


@dataclass(frozen=True)
class Worked:
    """What an engineer reads of a run."""

    motion: gd.Motion
    gaps: gd.Distances
    radius: Array  # least bend radius over time, m


def solve() -> dict[float, Worked]:
    """The runs by the length of the last piece."""
    found = {}
    for loop in LOOPS:
        motion = run(loop)
        found[loop] = Worked(motion, motion.distance("hose", list(NEAR)), motion["hose"].bend_radius.min(axis=1))
    return found


def chosen(runs: dict[float, Worked]) -> float:
    """The shortest piece that keeps the clearance and the bend radius."""
    return next(x for x, one in runs.items() if one.gaps.minimum > CLEARANCE and one.radius.min() > RADIUS)


def main(folder: str = ".") -> None:
    """Compare the lengths, print, plot, and write report and envelope of the one that is chosen."""
    import matplotlib.pyplot as plt

    runs = solve()
    best = chosen(runs)
    for loop, one in runs.items():
        pull = np.linalg.norm(one.motion["forearm clip"].force, axis=1).max()
        print(
            f"{1e3 * loop:.0f} mm: {1e3 * one.gaps.minimum:6.1f} mm to the links at {one.gaps.smallest.t:.2f} s, "
            f"bend radius {1e3 * one.radius.min():.1f} mm, last clip holds {pull:.0f} N"
        )
    figure, (a, b) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    lengths = 1e3 * np.array(list(runs))
    a.plot(lengths, [1e3 * one.gaps.minimum for one in runs.values()], "o-", label="distance to the links")
    a.plot(lengths, [1e3 * one.radius.min() for one in runs.values()], "s-", label="bend radius")
    a.axhline(1e3 * CLEARANCE, color="C0", lw=0.8, ls="--")
    a.axhline(1e3 * RADIUS, color="C1", lw=0.8, ls="--")
    a.set(xlabel="last piece in mm", ylabel="smallest over the motion in mm")
    a.legend()
    for loop, one in runs.items():
        b.plot(one.motion.t, 1e3 * one.gaps.distance, lw=2.0 if loop == best else 1.0, label=f"{1e3 * loop:.0f} mm")
    b.axhline(1e3 * CLEARANCE, color="0.4", lw=0.8, ls="--")
    b.set(xlabel="t in s", ylabel="distance to the links in mm")
    b.legend(title="last piece")
    file = Path(folder) / "dress_pack.png"
    figure.savefig(file, dpi=120)
    plt.close(figure)
    motion = runs[best].motion
    swept = motion.envelope("hose", resolution=14e-3)
    written = [file, swept.save(Path(folder) / "dress_pack.stl")]
    written.append(motion.report(Path(folder) / "dress_pack.html", to=list(NEAR), clearance=CLEARANCE))
    print(f"{1e3 * best:.0f} mm are enough; the hose needs {1e3 * swept.volume:.1f} litres")
    print("wrote " + ", ".join(map(str, written)))


if __name__ == "__main__":
    main(*sys.argv[1:2])
