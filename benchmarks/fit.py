"""Identification of a swinging rubber hose: errors of the derivatives, cost of a fit, and how often intervals cover.

Young's modulus and damping from the free end, 2 mm of noise at 100 Hz; CPU time.

    python benchmarks/fit.py [repeats]
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gyrod as gd

Array = NDArray[np.float64]

TRUTH = {"hose.material.young": 5e6, "hose.damping.factor": 2e-2}
FREE = {"hose.material.young": (4e6, 1e5, 1e8), "hose.damping.factor": (1e-2, 1e-4, 1.0)}
TIMES = 0.01 * np.arange(1, 151)
NOISE = 2e-3
QUICK: dict[str, Any] = {"method": "rodas", "rtol": 1e-4}


def hose(young: float = 4e6, factor: float = 1e-2) -> gd.System:
    """A hose of 1 m, clamped at one end, released from the horizontal."""
    rubber = gd.Material(young=young, poisson=0.5, density=1100)
    rod = gd.Rod(
        "hose", 1.0, 8, gd.Circle(radius=1e-2), rubber, damping=gd.Damping(factor=factor), start=gd.Clamped(),
        mass="blended", initial=gd.Straight((0, 0, 0), (0, 1, 0)),
    )  # fmt: skip
    return gd.System(rods=[rod])


def tip(u: Array, **run: Any) -> Array:
    """The free end at the times, for changes u of the logarithms of both parameters, (450,)."""
    young, factor = (value * np.exp(x) for value, x in zip(TRUTH.values(), u, strict=True))
    motion = gd.simulate(hose(young, factor), float(TIMES[-1]), output=TIMES, dense=False, **run)
    return np.asarray(motion["hose"].positions[:, -1].ravel())


def differences(step: float, kind: str, **run: Any) -> Array:
    """Derivatives by the logarithms of both parameters, (450, 2)."""
    columns = []
    for e in step * np.eye(2):
        other = -e if kind == "central" else 0.0 * e
        columns.append((tip(e, **run) - tip(other, **run)) / np.linalg.norm(e - other))
    return np.stack(columns, axis=1)


def derivatives() -> None:
    """Relative errors of differences, against a tight run and Richardson's extrapolation."""
    tight: dict[str, Any] = {"method": "radau5", "rtol": 1e-12}
    exact = (4.0 * differences(1e-3, "central", **tight) - differences(2e-3, "central", **tight)) / 3.0
    sizes = np.linalg.norm(exact, axis=0)
    steps = {"central": (1e-2, 1e-3, 1e-4), "forward": (3e-3, 3e-4, 3e-5)}
    print("errors of differences, by modulus / damping")
    told = "".join(f"{kind + f' {h:g}':>20}" for kind in steps for h in steps[kind])
    print(f"{'':14}{told}")
    for method, rtols in {"rodas": (1e-3, 1e-4, 1e-6), "radau5": (1e-3, 1e-4, 1e-6)}.items():
        for rtol in rtols:
            cells = []
            for kind in steps:
                for h in steps[kind]:
                    wrong = differences(h, kind, method=method, rtol=rtol) - exact
                    cells.append(" / ".join(f"{x:.0e}" for x in np.linalg.norm(wrong, axis=0) / sizes))
            print(f"{method:8}{rtol:.0e} " + "".join(f"{cell:>20}" for cell in cells))


def repeats(count: int) -> tuple[Array, NDArray[np.bool_], Array]:
    """Relative errors (count, 2), whether the intervals cover the truth (count, 2), CPU seconds and runs (count, 2)."""
    exact = tip(np.zeros(2), method="radau5", rtol=1e-9).reshape(-1, 3)
    errors, covered, cost = [], [], []
    for seed in range(count):
        measured = exact + np.random.default_rng(seed).normal(0.0, NOISE, exact.shape)
        began = time.process_time()
        found = gd.fit(hose(), FREE, {"hose.positions[-1]": (TIMES, measured)}, engine="serial", **QUICK)
        cost.append([time.process_time() - began, found.evaluations])
        errors.append([found.values[path] / value - 1.0 for path, value in TRUTH.items()])
        covered.append([found.intervals[path][0] <= value <= found.intervals[path][1] for path, value in TRUTH.items()])
    return np.array(errors), np.array(covered), np.array(cost)


def main(count: int = 100) -> None:
    """Print all."""
    derivatives()
    errors, covered, cost = repeats(count)
    print(f"\n{count} fits, {np.median(cost[:, 1]):.0f} runs and {np.median(cost[:, 0]):.2f} s CPU each")
    for i, path in enumerate(TRUTH):
        spread, largest = 100.0 * np.sqrt(np.mean(errors[:, i] ** 2)), 100.0 * np.abs(errors[:, i]).max()
        print(
            f"{path:20} errors {spread:.3f} % (rms), {largest:.3f} % (largest; target: 2 %); "
            f"the 95 % interval covers {covered[:, i].sum()} of {count} (target: 90 %)"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
