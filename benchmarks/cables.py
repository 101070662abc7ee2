"""A cable between two robots, its ends led by series with noise, and what a step with led ends costs: CPU time."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from timing import best  # type: ignore[import-not-found]

import gyrod as gd
from gyrod import rotations
from gyrod.model.paths import smallest_rotation

Array = NDArray[np.float64]

STEP = 1e-3
LENGTH, NOISE, SPEED = 1.035, 5e-4, 0.8  # m, m, m/s
MADE = {
    "section": gd.Circle(radius=5e-3),
    "material": gd.Material(young=5e6, poisson=0.5, density=1100),
    "damping": gd.Damping(factor=0.02),
}


def smooth(rng: np.random.Generator, t: Array, speed: float) -> Array:
    """A wandering motion below 1 Hz with this largest speed, (n, 3)."""
    f, phase = rng.uniform(0.2, 0.9, (6, 3)), rng.uniform(0.0, 2.0 * np.pi, (6, 3))
    angle = 2.0 * np.pi * f * t[:, None, None] + phase
    x = np.sum((np.sin(angle) - np.sin(phase)) / f, axis=1)
    v = np.linalg.norm(np.sum(2.0 * np.pi * np.cos(angle), axis=1), axis=1).max()
    return np.asarray(speed / v * x)


def between_robots() -> gd.System:
    """The cable, routed between the first poses of both grippers: 100 Hz, 0.5 mm and 0.1 degrees of noise."""
    rng, t = np.random.default_rng(24), np.linspace(0.0, 5.0, 501)
    ends = []
    for x, side in (((0.0, 0.0, 0.0), 1.0), ((0.3, 0.0, 0.0), -1.0)):
        way = rotations.multiply(
            rotations.exp(0.8 * smooth(rng, t, SPEED)), smallest_rotation(np.array([0, 0, 1.0]), np.array([side, 0, 0]))
        )
        if side < 0.0:  # the cable runs into the second gripper
            way = rotations.multiply(way, rotations.exp((np.pi, 0.0, 0.0)))
        shaken = rotations.multiply(rotations.exp(np.deg2rad(0.1) * rng.standard_normal((len(t), 3))), way)
        at = np.array(x) + smooth(rng, t, SPEED) + NOISE * rng.standard_normal((len(t), 3))
        ends.append(gd.Clamped(at=gd.Samples(t, at, noise=NOISE), frame=gd.Samples(t, shaken, noise=np.deg2rad(0.1))))
    return gd.System(rods=[gd.route(LENGTH, *ends, name="cable", segments=10, degree=2, **MADE).rod])  # type: ignore[arg-type]


def led(kind: str, segments: int, degree: int) -> gd.System:
    """A hose of 1 m between two clamps that stand still or follow samples."""
    t = np.linspace(0.0, 20.0, 2001)
    lift = np.stack([0 * t, 0 * t, 0.01 * (1.0 - np.cos(3.0 * t))], axis=-1)
    turn = gd.Samples(t, rotations.exp(np.multiply.outer(0.1 * np.sin(2.0 * t) ** 2, [0.0, 1.0, 0.0])))

    def end(z: float) -> gd.Clamped:
        return gd.Clamped(at=gd.Samples(t, lift + np.array([0, 0, z])), frame=turn) if kind == "led" else gd.Clamped()

    mesh = {"degree": degree} if degree else {}
    shape = gd.Straight((0, 0, 0), (0, 0, 1))
    rod = gd.Rod("hose", segments=segments, initial=shape, start=end(0.0), end=end(1.0), **MADE, **mesh)  # type: ignore[arg-type]
    return gd.System(rods=[rod])


def steps(system: gd.System) -> Callable[[int], float]:
    """A function that measures so many steps."""

    def run(n: int) -> float:
        begin = time.process_time()
        gd.simulate(system, STEP * n, step=STEP, output=[STEP * n], dense=False, method="rodas")
        return time.process_time() - begin

    return run


def compare(segments: int, degree: int) -> None:
    """Print what a step takes with fixed and with led ends: both take turns, what setting up takes is subtracted."""
    runs = {kind: steps(led(kind, segments, degree)) for kind in ("fixed", "led")}
    few, many = dict.fromkeys(runs, np.inf), dict.fromkeys(runs, np.inf)
    for _ in range(15):
        for kind, run in runs.items():
            few[kind], many[kind] = min(few[kind], run(200)), min(many[kind], run(1700))
    fixed, moved = (1e6 * (many[kind] - few[kind]) / 1500 for kind in ("fixed", "led"))
    what = f"{segments} elements of degree {degree}" if degree else f"{segments} segments"
    print(
        f"RODAS step, {what}: fixed ends {fixed:.1f} us, both led by samples {moved:.1f} us, {moved / fixed:.2f} times"
    )


if __name__ == "__main__":
    system = between_robots()
    for side in ("start", "end"):
        speed = getattr(system.rods[0], side).at.extremes()
        print(f"{side}: up to {speed.speed:.2f} m/s, {speed.acceleration:.1f} m/s^2")
    for young in (5e6, 5e7, 1e9):
        made = system.with_({"cable.material.young": young})
        seconds, motion = best(lambda made=made: gd.simulate(made, 5.0, rtol=1e-3))
        x = motion["cable"].positions
        reach = np.linalg.norm(x[:, -1] - x[:, 0], axis=1)
        print(
            f"5 s between two robots, {young:.0e} Pa: {seconds:.3f} s CPU, {motion.stats.method}, {motion.stats.steps} "
            f"steps, ends {reach.min():.2f} to {reach.max():.2f} m apart"
        )
    for mesh in ((20, 0), (10, 2), (7, 3)):
        compare(*mesh)
