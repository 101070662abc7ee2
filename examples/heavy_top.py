"""A heavy top about a fixed point in five formulations: what each costs, how exact it is, how well it keeps energy.

The top of Lang 2010 (example A) nutates and precesses for a minute. All runs have the same tolerance; the end state is
known to 20 digits. Run: python examples/heavy_top.py [folder]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gyrod as gd

RTOL = 1e-8


@dataclass(frozen=True)
class Outcome:
    """One formulation: evaluations, CPU seconds, attitude error at the end in rad, largest relative energy error."""

    evaluations: int
    seconds: float
    error: float
    energy: float


def run() -> dict[str, Outcome]:
    """What each formulation makes of the minute."""
    problem = gd.problems.heavy_top()
    truth = problem.reference[problem.t_end]["quaternion"]
    outcomes = {}
    for formulation in gd.FORMULATIONS:
        motion = gd.simulate(
            problem.system, problem.t_end, formulation=formulation, method="dop853", rtol=RTOL, dense=False
        )
        error = float(gd.rotations.distance(motion["top"].quaternion[-1], truth))
        total = motion.energy.total
        energy = float(np.abs(total / total[0] - 1.0).max())
        outcomes[formulation] = Outcome(motion.stats.rhs, motion.stats.seconds, error, energy)
    return outcomes


def plot(file: Path) -> None:
    """Path of the centre of mass and tilt of the axis during the first ten seconds."""
    from matplotlib.figure import Figure

    problem = gd.problems.heavy_top()
    motion = gd.simulate(problem.system, 10.0, rtol=RTOL, output=np.linspace(0.0, 10.0, 2001))
    x, y, z = motion["top"].position.T
    figure = Figure(figsize=(8.0, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(x, y, lw=1.0)
    left.set(title="centre of mass from above", xlabel="x [m]", ylabel="y [m]", aspect="equal")
    right.plot(motion.t, np.rad2deg(np.arccos(z)), lw=1.0)
    right.set(title="nutation", xlabel="time [s]", ylabel="tilt of the axis [deg]")
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)


def main(folder: str = "demo") -> None:
    """Print the table, write the picture."""
    print(f"Heavy top for 60 s, DOP853 with rtol = {RTOL:g}")
    print(f"{'formulation':22}{'evaluations':>12}{'CPU':>11}{'attitude error':>20}{'energy error':>14}")
    for formulation, o in run().items():
        print(f"{formulation:22}{o.evaluations:12}{1e3 * o.seconds:8.2f} ms{o.error:16.1e} rad{o.energy:14.1e}")
    file = Path(folder) / "heavy_top.png"
    plot(file)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
