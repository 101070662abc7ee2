"""A brake hose between chassis and steered wheel: its length is chosen at rest, then the wheel is driven as measured.

The wheel turns by up to 35 degrees about its kingpin and moves by 50 mm up and down; nine poses bound what it does. For
each length `gd.route` lays the hose between the bracket and all nine, from the poses alone. The shortest that keeps its
bend radius goes through a series of 4 s at 100 Hz (brake_hose.csv, made by `series`, with 0.1 mm and 0.05 degrees of
noise), which leads its end.
Run: python examples/brake_hose.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gyrod as gd
from gyrod import rotations

Array = NDArray[np.float64]

HOSE = {
    "section": gd.Ring(radius=5.1e-3, inner=1.6e-3),
    "material": gd.Material(young=1.2e7, poisson=0.45, density=1300),
    "damping": gd.Damping(factor=0.02),
}
LOCK, BUMP = np.deg2rad(35.0), 0.05  # rad, m
KINGPIN, FITTING = np.array([-0.02, 0.24, -0.06]), np.array([-0.07, -0.04, 0.0])
BRACKET = gd.Clamped(at=(0, 0, 0), frame=rotations.exp((-0.5 * np.pi, 0, 0)))  # it leaves outwards, along y
ROLL = np.deg2rad(120.0)  # as it is screwed in, so that the hose is hardly twisted straight ahead
LENGTHS = np.linspace(0.31, 0.37, 7)
LIMIT = 0.04  # m
SERIES = Path(__file__).with_suffix(".csv")


def wheel(steer: float, bump: float) -> tuple[Array, Array]:
    """Where the hose ends on the caliper, and the frame of its fitting, into which it runs forwards and outwards."""
    turn = rotations.exp((0.0, 0.0, steer))
    fitting = rotations.multiply(rotations.exp((0, 0, -np.deg2rad(30.0))), rotations.exp((-0.5 * np.pi, 0, 0)))
    fitting = rotations.multiply(fitting, rotations.exp((0, 0, ROLL)))
    return KINGPIN + rotations.rotate(turn, FITTING) + (0.0, 0.0, bump), rotations.multiply(turn, fitting)


def series() -> Array:
    """Times, points (mm) and quaternions of the fitting, as a camera would have them: 100 Hz, with noise."""
    rng, t = np.random.default_rng(24), np.linspace(0.0, 4.0, 401)
    start = np.clip(t / 0.5, 0.0, 1.0) ** 2 * (3.0 - 2.0 * np.clip(t / 0.5, 0.0, 1.0))
    steer, bump = LOCK * np.sin(np.pi * t) * start, BUMP * np.sin(3.0 * np.pi * t) * start
    poses = [wheel(a, z) for a, z in zip(steer, bump, strict=True)]
    x = np.array([x for x, _ in poses]) + 1e-4 * rng.standard_normal((len(t), 3)) * (t > 0.0)[:, None]
    shaken = rotations.exp(np.deg2rad(0.05) * rng.standard_normal((len(t), 3)) * (t > 0.0)[:, None])
    return np.column_stack([t, 1e3 * x, rotations.multiply(shaken, np.array([q for _, q in poses]))])


def radius(length: float) -> float:
    """Smallest bend radius of a hose of this length in all nine poses, m."""
    ends = [wheel(a, z) for a in (-LOCK, 0.0, LOCK) for z in (-BUMP, 0.0, BUMP)]
    return min(gd.route(length, BRACKET, gd.Clamped(at=x, frame=q), turns=0, **HOSE).bend_radius for x, q in ends)  # type: ignore[arg-type]


def solve() -> tuple[Array, float]:
    """Smallest bend radius by length, and the shortest length that keeps the limit."""
    radii = np.array([radius(length) for length in LENGTHS])
    return radii, float(LENGTHS[np.argmax(radii > LIMIT)])


def hose(length: float) -> gd.System:
    """The hose as it lies at the start of the series, with its end led by it."""
    at = gd.read_samples(SERIES, ["x", "y", "z"], noise=1e-4, outside="held")
    frame = gd.read_samples(SERIES, ["qw", "qx", "qy", "qz"], noise=np.deg2rad(0.05), outside="held")
    led = gd.Clamped(at=at, frame=frame)
    route = gd.route(length, BRACKET, led, name="hose", limits={"bend_radius": 0.04}, **HOSE)  # type: ignore[arg-type]
    return gd.System(rods=[route.rod])


def run(length: float) -> gd.Motion:
    """Four seconds of driving."""
    return gd.simulate(hose(length), 4.0, rtol=1e-3)


def main(folder: str = ".") -> None:
    """Choose the length, drive, print, plot."""
    import matplotlib.pyplot as plt

    radii, best = solve()
    kept = 1e3 * radii[np.argmax(radii > LIMIT)]
    motion = run(best)
    bent = 1e3 * motion["hose"].bend_radius.min(axis=1)
    print(f"length {1e3 * best:.0f} mm: bend radius {kept:.1f} mm in nine poses")
    print(f"over the series: {bent.min():.1f} mm at t = {motion.t[np.argmin(bent)]:.2f} s")
    figure, (a, b) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    a.plot(1e3 * LENGTHS, 1e3 * radii, "o-")
    a.axhline(1e3 * LIMIT, color="0.7")
    a.set(xlabel="length in mm", ylabel="smallest bend radius in mm", title="at rest, worst of nine poses")
    b.plot(motion.t, bent)
    b.axhline(kept, color="0.7")
    b.set(xlabel="t in s", ylabel="smallest bend radius in mm", title="driven")
    file = Path(folder) / "brake_hose.png"
    figure.savefig(file, dpi=120)
    plt.close(figure)
    print(f"wrote {file}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
