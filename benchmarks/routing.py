"""Routes between random poses: how many are found, how well, and what they cost.

python benchmarks/routing.py [pairs] [young ...]

The poses are those of `gyrod.problems.routes`. A route is sound if it is stable and its smallest bend radius is that of
64 elements to 1 %; it is best if none of twenty random ways to lay the cable ends in an equilibrium of less energy.
CPU time is that of the one call that an engineer makes.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import gyrod as gd
from gyrod.problems.routes import HOSE, LENGTH, RUBBER, laid, poses

STARTS = 20


def measure(count: int, young: float) -> None:
    """Print a line about all pairs of one stiffness."""
    made = {"section": HOSE, "material": RUBBER.with_(young=young)}
    gd.route(LENGTH, *next(poses(1)), **made)  # type: ignore[arg-type]
    seconds, sound, best, wrong = [], 0, 0, []
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
        best += float(route.energy.total) <= least + 1e-3 * abs(least)
        if float(route.energy.total) > least + 1e-3 * abs(least):
            print(f"  pair {k}: {float(route.energy.total):.6g} J, a random start {least:.6g} J")
    middle, most = 1e3 * np.median(seconds), 1e3 * max(seconds)
    print(
        f"{young:8.0e} Pa: {sound} of {count} stable and to 1 % (largest {100 * max(wrong):.2g} %), {best} with the "
        f"least energy of {STARTS} starts, median {middle:.1f}, largest {most:.1f} ms CPU"
    )


if __name__ == "__main__":
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for young in map(float, sys.argv[2:] or ["5e7"]):
        measure(pairs, young)
