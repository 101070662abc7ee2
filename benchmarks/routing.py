"""Routes between random poses: how many are found, how well, and what they cost.

python benchmarks/routing.py [pairs] [young ...], and a harness at rest.

The poses are those of `gyrod.problems.routes`. A route is sound if it is stable and its smallest bend radius is that of
64 elements to 1 %; it is best if none of twenty random ways to lay the cable ends in an equilibrium of less energy.
CPU time is that of the one call that an engineer makes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np
from timing import best  # type: ignore[import-not-found]

import gyrod as gd
from gyrod.model.paths import smallest_rotation
from gyrod.problems.routes import HOSE, LENGTH, RUBBER, laid, poses

STARTS = 20


def measure(count: int, young: float) -> None:
    """Print a line about all pairs of one stiffness."""
    made = {"section": HOSE, "material": RUBBER.with_(young=young)}
    first = gd.route(LENGTH, *next(poses(1)), **made)  # type: ignore[arg-type]
    bent = float(first.rod.stiffness_at(0.5)[0, 3, 3]) / LENGTH  # J
    seconds, sound, lowest, wrong = [], 0, 0, []
    for k, (start, end) in enumerate(poses(count)):
        begin = time.process_time()
        route = gd.route(LENGTH, start, end, **made)  # type: ignore[arg-type]
        seconds.append(time.process_time() - begin)
        fine = gd.route(LENGTH, start, end, segments=64, guess=route.rod.initial, **made)  # type: ignore[arg-type]
        wrong.append(abs(route.bend_radius / fine.bend_radius - 1.0))
        sound += route.stable and wrong[-1] < 0.01
        rng, least = np.random.default_rng(1000 + k), np.inf
        for _ in range(STARTS):
            try:
                other = gd.route(LENGTH, start, end, guess=laid(start, end, rng), **made)  # type: ignore[arg-type]
            except (gd.EquilibriumError, gd.ModelError):
                continue
            least = min(least, float(other.energy.total))
        energy, slack = float(route.energy.total), 1e-3 * abs(least) + 1e-2 * bent  # of meshes that differ
        lowest += energy <= least + slack
        if energy > least + slack:
            print(f"  pair {k}: {energy:.6g} J, a random start {least:.6g} J")
    middle, most = 1e3 * np.median(seconds), 1e3 * max(seconds)
    print(
        f"{young:8.0e} Pa: {sound} of {count} stable and to 1 % (largest {100 * max(wrong):.2g} %), {lowest} with the "
        f"least energy of {STARTS} starts, median {middle:.1f}, largest {most:.1f} ms CPU"
    )


def pose(at: Sequence[float], way: Sequence[float]) -> gd.Clamped:
    """A clamp at a point in a direction."""
    d3 = np.asarray(way, dtype=float)
    return gd.Clamped(at=at, frame=smallest_rotation(np.array([0.0, 0.0, 1.0]), d3 / np.linalg.norm(d3)))


def harness() -> gd.System:
    """A trunk of two pieces with five branches and twelve clips, which hold it some millimetres from where it lies."""
    first, second = (0.4, 0.0, 0.0), (0.8, 0.05, 0.0)
    parts: dict[str, tuple[gd.Clamped, gd.Clamped, float, str, tuple[float, ...]]] = {
        "trunk": (pose((0, 0, 0), (1, 0, 0)), pose(first, (1, 0.1, 0)), 0.43, "", (0.35, 0.7)),
        "middle": (pose(first, (1, 0.1, 0)), pose(second, (1, 0, 0)), 0.43, "trunk", (0.3, 0.7)),
        "lamp": (pose(first, (1, 1, 0)), pose((0.6, 0.4, 0.1), (0, 1, 0)), 0.5, "trunk", (0.3, 0.7)),
        "horn": (pose(first, (1, -1, 0)), pose((0.6, -0.35, 0.05), (0, -1, 0)), 0.45, "trunk", (0.3, 0.7)),
        "fan": (pose(second, (1, 1, 0)), pose((1.1, 0.45, 0.1), (1, 1, 0)), 0.55, "middle", (0.3, 0.7)),
        "sensor": (pose(second, (1, 0, 0)), pose((1.3, 0.05, -0.1), (1, 0, 0)), 0.55, "middle", (0.5,)),
        "pump": (pose(second, (1, -1, 0)), pose((1.1, -0.4, 0), (1, -1, 0)), 0.58, "middle", (0.5,)),
    }
    rng = np.random.default_rng(5)
    rods: list[gd.Rod] = []
    clips: list[gd.Clip] = []
    for name, (start, end, length, on, places) in parts.items():
        made = {"section": gd.Circle(radius=4e-3), "material": RUBBER.with_(young=8e7, density=2000)}
        rod = gd.route(length, start, end, name=name, segments=4, gravity=(0, 0, 0), **made).rod  # type: ignore[arg-type]
        rod = rod.with_(start=gd.Clamped(on, at="end")) if on else rod
        rods.append(rod.with_(end=gd.Free()) if name in ("trunk", "middle") else rod)
        for s in places:
            near = rods[-1].point(s) + rng.uniform(-3e-3, 3e-3, 3)
            clips.append(gd.Clip(name, s, point=near, kind=("fixed", "swivel", "ball")[len(clips) % 3]))
    return gd.System(rods=rods, forces=clips)


if __name__ == "__main__":
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for young in map(float, sys.argv[2:] or ["5e7"]):
        measure(pairs, young)
    system = harness()
    seconds, rest = best(lambda: gd.equilibrium(system), 9)
    print(f"harness of 5 branches and 12 clips at rest: {1e3 * seconds:.1f} ms CPU, {rest.iterations} iterations")
