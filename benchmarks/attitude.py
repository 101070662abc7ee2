"""Rotation from angular velocity: gyrod beside its peers, CPU time and error measured in one run.

Problem: eq. (28) of Zupan and Saje on [0, 100], 1e5 samples. Peers are measured if they are installed
(pip install -e '.[bench]'). CPU time, best of several runs.
"""

from __future__ import annotations

import resource
from typing import Any

import numpy as np
from timing import best  # type: ignore[import-not-found]

import gyrod as gd
from gyrod import _core

PROBLEM = gd.problems.get("zupan-saje-2-spatial")
T = np.linspace(0.0, PROBLEM.t_end, 100_001)
RATES = PROBLEM.rates(T)
TRUTH = PROBLEM.quaternion(T)


def row(name: str, seconds: float, quaternions: Any) -> None:
    error = float(np.max(gd.rotations.distance(quaternions, TRUTH)))
    print(f"{name:44}{1e3 * seconds:12.2f} ms{error:12.1e} rad")


def gyrod_rows() -> None:
    jitter = np.random.default_rng(0).uniform(-0.2, 0.2, len(T)) * (T[1] - T[0])
    jitter[[0, -1]] = 0.0
    t = T + jitter
    rates, truth = PROBLEM.rates(t), PROBLEM.quaternion(t)
    for method in ("magnus6", "magnus4", "midpoint-quaternion", "midpoint-matrix"):
        seconds, R = best(lambda m=method: gd.attitude(T, RATES, method=m, initial=TRUTH[0]), 20)
        row(f"gyrod {method}", seconds, R.quaternion)
    seconds, R = best(lambda: gd.attitude(t, rates, initial=TRUTH[0]), 10)
    error = float(np.max(gd.rotations.distance(R.quaternion, truth)))
    print(f"{'gyrod magnus6, times not uniform':44}{1e3 * seconds:12.2f} ms{error:12.1e} rad")
    seconds, R = best(lambda: gd.attitude((0.0, 100.0), PROBLEM.rates, initial=TRUTH[0]), 3)
    error = float(np.max(gd.rotations.distance(R.quaternion, PROBLEM.quaternion(R.t))))
    print(f"{'gyrod magnus6, function, atol 1e-10':44}{1e3 * seconds:12.2f} ms{error:12.1e} rad")


def scipy_row() -> None:
    from scipy.spatial.transform import Rotation

    def run() -> Any:
        h = np.diff(T)[:, None]
        steps = Rotation.from_rotvec(0.5 * h * (RATES[1:] + RATES[:-1]))
        R = Rotation.from_quat(np.roll(TRUTH[0], -1))
        out = [R.as_quat()]
        for i in range(len(h)):
            R = R * steps[i]
            out.append(R.as_quat())
        return np.roll(np.array(out), 1, axis=1)

    seconds, q = best(run, 1)
    row("SciPy Rotation, mean rate in a loop", seconds, q)


def numpy_quaternion_rows() -> None:
    try:
        import quaternion
    except ImportError:
        print(f"{'numpy-quaternion':44}{'not installed':>15}")
        return
    R0, space = quaternion.quaternion(*TRUTH[0]), PROBLEM.rates(T, "space")
    for tolerance in (1e-6, 1e-12):

        def run(tolerance: float = tolerance) -> Any:
            return quaternion.integrate_angular_velocity((T, space), 0.0, PROBLEM.t_end, R0=R0, tolerance=tolerance)

        seconds, (t, R) = best(run, 1)
        error = float(np.max(gd.rotations.distance(quaternion.as_float_array(R), PROBLEM.quaternion(np.asarray(t)))))
        print(f"{f'numpy-quaternion, tolerance {tolerance:g}':44}{1e3 * seconds:12.2f} ms{error:12.1e} rad")


def ahrs_row() -> None:
    try:
        from ahrs.filters import AngularRate
    except ImportError:
        print(f"{'ahrs':44}{'not installed':>15}")
        return
    seconds, filtered = best(lambda: AngularRate(gyr=RATES, q0=TRUTH[0], Dt=T[1] - T[0]), 1)
    row("ahrs AngularRate", seconds, filtered.Q)


def scaling() -> None:
    print("\nScaling of gyrod magnus6")
    for n in (10**5, 10**6, 10**7):
        t = np.linspace(0.0, 1e-3 * n, n + 1)
        rates = gd.problems.coning().rates(t)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds, R = best(lambda t=t, rates=rates: gd.attitude(t, rates), 3)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / R.quaternion.nbytes
        print(f"n = {n:9d}  {1e9 * seconds / n:8.1f} ns a sample, peak memory grew by {grown:.2f} outputs")


def main() -> None:
    print(f"{len(T) - 1} samples of Zupan and Saje's eq. (28) on [0, 100]; core for {_core.isa()}")
    gyrod_rows()
    scipy_row()
    numpy_quaternion_rows()
    ahrs_row()
    scaling()


if __name__ == "__main__":
    main()
