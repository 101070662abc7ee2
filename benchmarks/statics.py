"""Rods at rest: a steel cantilever under its weight from straight, frequencies of long rods, the cost of a segment.

CPU time, best of several runs, compilation of the equations included. What peers need for the cantilever was measured
separately on a 2.8 GHz core: Exudyn 80 to 150 ms, cardillo 3.6 s.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from timing import best  # type: ignore[import-not-found]

import gyrod as gd
from gyrod import _core


def cantilever(segments: int, radius: float = 1e-3) -> gd.System:
    """A clamped steel string of 1 m, straight along y: the steel of Lang, Linn, Arnold 2011."""
    rod = gd.Rod(
        "rod",
        1.0,
        segments,
        gd.Circle(radius=radius),
        gd.problems.STEEL,
        start=gd.Clamped(),
        initial=gd.Straight((0, 0, 0), (0, 1, 0)),
    )
    return gd.System(rods=[rod])


def equilibria() -> None:
    print("steel cantilever under its weight, from straight (target: 50 segments in 5 ms)")
    print(f"  {'radius':>8}{'segments':>10}{'CPU':>12}{'per segment':>14}{'iterations':>12}{'deflection':>14}")
    for radius in (1e-3, 5e-4):
        for n in (10, 50, 200, 1000):
            seconds, rest = best(partial(gd.equilibrium, cantilever(n, radius)), 7 if n < 1000 else 3)
            deflection = -rest["rod"].positions[-1, 2]
            print(
                f"  {1e3 * radius:5.1f} mm{n:10d}{1e3 * seconds:9.2f} ms{1e6 * seconds / n:11.1f} us"
                f"{rest.iterations:12d}{deflection:12.6f} m   {rest.method}"
            )


def frequencies() -> None:
    print("ten modes about that equilibrium (target: 1000 segments in 1 s), equilibrium not included")
    for n in (10, 100, 1000, 4000):
        rest = gd.equilibrium(cantilever(n))
        seconds, modes = best(partial(gd.modes, rest, n=10), 3)
        shown = ", ".join(f"{f:.4f}" for f in np.asarray(modes.frequencies)[:4])
        print(f"  {n:6d} segments {1e3 * seconds:9.1f} ms   {shown}, ... Hz")


def paths() -> None:
    problem = gd.problems.get("lla-test2")
    seconds, path = best(partial(gd.follow, problem.system, problem.parameter, problem.stops), 3)
    iterations = np.asarray(path.iterations)[1:]
    print("load path of Test 2, Lang, Linn, Arnold 2011")
    print(f"  {1e3 * seconds:.1f} ms, {len(iterations)} increments, {iterations.mean():.1f} iterations each")


def main() -> None:
    print(f"core for {_core.isa()}")
    equilibria()
    frequencies()
    paths()


if __name__ == "__main__":
    main()
