"""Constant steps: cost of one step of one body in both coordinates, of a million steps, of chains and of rods.

CPU time, best of several runs; ratios within one run. Targets: a step of one body at most 2 us (quaternion) and 10 us
(directors), a million quaternion steps in about 2 s, a cost of chains that grows with the number of links, and a step
of a rod of 20 segments at most twice that of RODAS.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from timing import best  # type: ignore[import-not-found]

import gyrod as gd
from gyrod.equations.variational import COORDINATES, compile_stepped

STEP = 0.00175


def fast_top() -> gd.System:
    """The fast top of Xu and Zhong 2016, section 5.1."""
    half = np.pi / 12.0
    place = (0.0, -0.04 * np.sin(2.0 * half), 0.04 * np.cos(2.0 * half))
    body = gd.Body(
        "top", mass=1.0, inertia=(0.0004, 0.0004, 0.0008), position=place,
        orientation=(np.cos(half), np.sin(half), 0.0, 0.0), angular_velocity=(0.0, 0.0, 40.0 * np.pi),
    )  # fmt: skip
    return gd.System([body], [gd.Spherical("ground", "top", at=(0, 0, 0))])


def one_body() -> None:
    print("one body, us a step (iterations of Newton's method): node kept at the end only; every node kept")
    count = 100_000
    cases = [
        (method, c, p, r)
        for method, p in (("variational", "midpoint"), ("variational", "nodes"), ("energy-momentum", None))
        for c in COORDINATES
        for r in (True, False)
        if r or p == "midpoint"
    ]
    for method, coordinates, potential, reduce in cases:
        solve = partial(
            gd.simulate, fast_top(), count * STEP, method=method, step=STEP, coordinates=coordinates,
            potential=potential, formulation=gd.Formulation(reduce=reduce),
        )  # fmt: skip
        end, motion = best(partial(solve, output=count), 3)
        every, _ = best(solve, 2)
        what = f"{method}, {coordinates}, {potential or '-'}{'' if reduce else ', with its joint'}"
        mean = motion.stats.newton / count
        print(f"  {what:52s}{end / count * 1e6:8.2f} ({mean:.1f}){every / count * 1e6:8.2f}")


def million() -> None:
    print("a million steps of the fast top, every 100th node kept")
    for coordinates in COORDINATES:
        seconds, motion = best(
            lambda c=coordinates: gd.simulate(
                fast_top(), 1e6 * STEP, method="variational", step=STEP, coordinates=c, output=100
            ),
            2,
        )
        E = motion.energy.total
        slope = np.polyfit(motion.t, E, 1)[0] * motion.t[-1] / np.ptp(E)
        print(f"  {coordinates:12s}{seconds:7.2f} s, energy within {np.ptp(E):.2g} J, trend over that {slope:.1e}")


def chains() -> None:
    print("chain on ball joints, us a step and link")
    for coordinates in COORDINATES:
        for n in (10, 100, 1000, 4000):
            s = compile_stepped(
                gd.problems.chain(n).system, 1e-3, coordinates=coordinates, sigma="mean", potential="midpoint",
                conserving=False, reduce=True,
            )  # fmt: skip
            steps = max(20, 20_000 // n)
            seconds, _ = best(partial(s.core.run, s.start, steps, 1e-3 * steps, [steps], None, False), 3)
            print(f"  {coordinates:12s}{n:6d} links{seconds / steps / n * 1e6:8.2f}")


def rods() -> None:
    print("a rubber hose that falls about its clamp, us a step of 1 ms (iterations), and that of RODAS over it")
    for what, segments, degree in (("20 segments", 20, None), ("100 segments", 100, None), ("7 cubic elements", 7, 3)):
        hose = gd.Rod(
            "hose", length=1.0, section=gd.Circle(radius=5e-3),
            material=gd.Material(young=5e6, poisson=0.5, density=1100), damping=gd.Damping(viscosities=(2e4, 1e4)),
            initial=gd.Straight((0, 0, 0), (0, 1, 0)), start=gd.Clamped("ground"), segments=segments, degree=degree,
        )  # fmt: skip
        system, steps = gd.System(rods=[hose]), 1000
        run = partial(gd.simulate, system, 1.0, step=1e-3, output=[0.0, 1.0])
        seconds, motion = best(partial(run, method="variational"), 3)
        other, _ = best(partial(run, method="rodas"), 3)
        print(
            f"  {what:20s}{seconds / steps * 1e6:8.1f} ({motion.stats.newton / steps:.1f}){other / steps * 1e6:8.1f}"
            f"{seconds / other:7.2f}"
        )


if __name__ == "__main__":
    one_body()
    million()
    chains()
    rods()
