"""Rods: kernels, the performance examples of Lang, Linn, Arnold 2011, CPU time to a given error, growth with segments.

CPU time, best of several runs, all through the public API. Peers are measured in the same run if they are installed
(pip install -e '.[bench]').
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import rods_peers  # type: ignore[import-not-found]
from timing import best  # type: ignore[import-not-found]

import gyrod as gd
from gyrod import _core
from gyrod.equations import compile_system

FORMS: dict[str, dict[str, Any]] = {
    "nullspace-quaternion": {"formulation": "nullspace-quaternion"},
    "absolute-quaternion": {
        "formulation": gd.Formulation("absolute-quaternion", baumgarte=(100.0, 100.0), projection="none"),
        "norm": "plain",
    },
}

#: Undamped steel string: times and the free end (y, z) in the continuum, to 5 digits.
STRING_TIMES = (0.5, 1.0)
STRING = np.array([(0.98002, -0.18731), (0.92588, -0.34938)])

#: Undamped rubber pendulum: (y, z) of the middle and of the free end at these times in the continuum. gyrod's own, by
#: Richardson's extrapolation of 160 and 320 segments, good to 1e-5 m: python -c "import rods; rods.converge()", run in
#: this folder; about 20 s.
PENDULUM_TIMES = (0.25, 0.5, 0.75, 1.0)
PENDULUM = np.array(
    [
        [(0.387294, -0.303573), (0.885162, -0.309614)],
        [(0.012860, -0.500596), (-0.233118, -0.919442)],
        [(-0.480709, -0.133765), (-0.916132, -0.372764)],
        [(-0.472288, -0.036330), (-0.940096, -0.099101)],
    ]
)


def converge() -> None:
    points = []
    for n in (160, 320):
        system = gd.problems.rubber_pendulum(n, mass=2.0 / 3.0).system
        motion = gd.simulate(system, 1.0, method="radau5", rtol=1e-6, output=PENDULUM_TIMES, dense=False)
        points.append(motion["rod"].positions[:, [n // 2, n], 1:])
    print(((4.0 * points[1] - points[0]) / 3.0).round(6).tolist())


def kernels() -> None:
    print("kernels on the damped rubber rod, data as computed, us (and us a segment)")
    print(f"  {'':22}{'segments':>9}{'f':>16}{'Jacobian':>18}{'factorisation':>20}{'solve':>18}")
    for form in FORMS:
        for n in (10, 100, 1000, 10_000):
            c = compile_system(gd.problems.lla_rubber(segments=n).system, form)
            f = min(c.core.time_rhs(c.y0, max(200_000 // n, 20)) for _ in range(9))
            stage = np.min([c.core.time_stage(c.y0, max(20_000 // n, 5)) for _ in range(9)], axis=0)
            cells = (f"{1e6 * v:12.2f} ({1e6 * v / n:.3f})" for v in (f, *stage))
            print(f"  {form:22}{n:9d}" + "".join(cells))


def performance_examples() -> None:
    print("damped rubber rod, 10 segments, rodas at 1e-2 for 10 s (targets: as-computed 30 ms, as-printed 200 ms)")
    for data in gd.problems.DATA_SETS:
        system = gd.problems.lla_rubber(data).system
        for form, options in FORMS.items():
            run = partial(gd.simulate, system, 10.0, method="rodas", rtol=1e-2, dense=False, **options)
            seconds, motion = best(run)
            tries = motion.stats.steps + motion.stats.rejected
            print(f"  {data:12}{form:22}{1e3 * seconds:8.1f} ms{10.0 / seconds:7.0f} times real time{tries:8d} tries")


def to_accuracy(
    name: str, make: Any, cases: Any, times: Any, truth: Any, places: Any, limit: float, goals: Any
) -> None:
    print(f"{name}, one simulated second, rodas, error <= {limit:g} m (targets: {goals})")
    passed: dict[str, tuple[float, str]] = {}
    for mass, n, rtol in cases:
        system = make(n, mass=mass).system
        run = partial(gd.simulate, system, 1.0, method="rodas", rtol=rtol, output=times, dense=False)
        seconds, motion = best(run)
        error = np.linalg.norm(motion["rod"].positions[:, places(n), 1:] - truth, axis=-1).max()
        label = f"{mass:8} N = {n:3d}, rtol {rtol:g}"
        good = bool(error <= limit)
        print(f"  {label:32}{1e3 * seconds:8.1f} ms{error:10.1e} m   {'ok' if good else '-'}")
        if good and seconds < passed.get(mass, (np.inf, ""))[0]:
            passed[mass] = seconds, label
    for mass, (seconds, label) in passed.items():
        print(f"  {mass}: smallest CPU time that reaches it {1e3 * seconds:.1f} ms ({label.strip()})")


def steel_string() -> None:
    cases = [("lumped", n, rtol) for n in (40, 44, 48) for rtol in (2e-3, 1e-3)]
    cases += [("blended", n, rtol) for n in (28, 32, 36, 40) for rtol in (2e-3, 1e-3)]
    make, goals = gd.problems.steel_string, "lumped 70 ms, blended 45 ms"
    to_accuracy("undamped steel string", make, cases, STRING_TIMES, STRING, lambda n: n, 5e-4, goals)


def rubber_pendulum() -> None:
    cases = [("lumped", n, rtol) for n in (40, 42, 46) for rtol in (1e-2, 3e-3)]
    cases += [("blended", n, rtol) for n in (16, 18, 20, 24) for rtol in (1e-2, 3e-3)]
    make = gd.problems.rubber_pendulum
    places = lambda n: [n // 2, n]  # noqa: E731
    to_accuracy("undamped rubber pendulum", make, cases, PENDULUM_TIMES, PENDULUM, places, 3e-3, "30 ms")


def stiff_step() -> None:
    system = gd.problems.lla_rubber(segments=50).system
    seconds, motion = best(partial(gd.simulate, system, 10.0, method="rodas", rtol=1e-2, dense=False), 3)
    tries = motion.stats.steps + motion.stats.rejected
    print("one stiff step, damped rubber rod, data as computed")
    print(f"  50 segments, rodas at 1e-2 for 10 s: {1e3 * seconds / tries:.3f} ms a try ({tries}; target 0.2 ms)")
    print("  rodas with constant steps of 1e-3 s, without setting up")
    for n in (10, 50, 100, 1000, 10_000):
        system, steps = gd.problems.lla_rubber(segments=n).system, max(10_000 // n, 10)
        few, many = (
            best(partial(gd.simulate, system, 1e-3 * k, method="rodas", step=1e-3, output=[1e-3 * k], dense=False))[0]
            for k in (steps, 3 * steps)
        )
        step = (many - few) / (2 * steps)
        print(f"  {n:6d} segments {1e3 * step:9.3f} ms a step {1e6 * step / n:8.2f} us a step and segment")


def main() -> None:
    print(f"core for {_core.isa()}")
    kernels()
    performance_examples()
    steel_string()
    rubber_pendulum()
    stiff_step()
    rods_peers.compare(PENDULUM_TIMES, PENDULUM, STRING_TIMES, STRING)


if __name__ == "__main__":
    main()
