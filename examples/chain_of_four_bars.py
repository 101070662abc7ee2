"""Forty parallelograms in a row, 81 bodies in 40 closed loops: they move as one pendulum, and lie flat twice a turn.

Uniform links of 1 m and 1 kg start upright with 1 m/s at the top (IFToMM benchmark A02). All uprights stay parallel, so
that one angle describes everything: phi'' = g (N + (N + 1)/2)/(N + (N + 1)/3) sin(phi). Where the links lie flat, other
motions branch off; a solver that drifts takes one of them. Run: python examples/chain_of_four_bars.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import gyrod as gd

LOOPS, DURATION, GRAVITY = 40, 10.0, 9.81


def linkage() -> gd.System:
    """Uprights at x = 0, 1, ..., couplers over them, hinges about z; gravity is along -y."""
    upright = {"mass": 1.0, "inertia": (1 / 12, 1e-4, 1 / 12), "angular_velocity": (0, 0, -1)}
    coupler = {"mass": 1.0, "inertia": (1e-4, 1 / 12, 1 / 12), "velocity": (1, 0, 0)}
    bodies, joints = [], []
    for i in range(LOOPS + 1):
        bodies.append(gd.Body(f"upright {i}", position=(i, 0.5, 0), velocity=(0.5, 0, 0), **upright))  # type: ignore[arg-type]
        joints.append(gd.Revolute("ground", f"upright {i}", at=(i, 0, 0), axis=(0, 0, 1)))
    for i in range(LOOPS):
        bodies.append(gd.Body(f"coupler {i}", position=(i + 0.5, 1, 0), **coupler))  # type: ignore[arg-type]
        for k in (i, i + 1):
            joints.append(gd.Revolute(f"upright {k}", f"coupler {i}", at=(k, 1, 0), axis=(0, 0, 1)))
    return gd.System(bodies, joints, gravity=(0, -GRAVITY, 0))


def run() -> gd.Motion:
    """Ten seconds, from which the first upright comes back after some turns."""
    return gd.simulate(linkage(), DURATION, rtol=1e-8, output=np.linspace(0.0, DURATION, 401))


def angle(motion: gd.Motion) -> NDArray[np.float64]:
    """Of the first upright from the vertical, in rad, (n,)."""
    x, y, _ = 2.0 * motion["upright 0"].position.T
    return np.unwrap(np.arctan2(x, y))


def pendulum(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """The angle from its own equation, by SciPy."""
    factor = GRAVITY * (LOOPS + 0.5 * (LOOPS + 1)) / (LOOPS + (LOOPS + 1) / 3.0)
    s = solve_ivp(lambda _, y: (y[1], factor * np.sin(y[0])), (0, t[-1]), (0, 1), "DOP853", t, rtol=1e-12, atol=1e-12)
    return np.asarray(s.y[0])


def main(folder: str = "demo") -> None:
    """Print the mobility and the error, draw the angle and some of the links."""
    from matplotlib.figure import Figure

    motion = run()
    found, expected = angle(motion), pendulum(motion.t)
    print(str(linkage().mobility()).splitlines()[0])
    print(f"angle after {DURATION:g} s: {found[-1]:.8f} rad, from one equation: {expected[-1]:.8f} rad")
    print(f"largest gap in a joint: {motion.drift.position.max():.0e} m; CPU {motion.stats.seconds:.2f} s")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    for n, k in enumerate((0, 30, 40, 52)):
        feet = np.arange(6.0)
        tips = feet + np.sin(found[k])
        height = np.full(6, np.cos(found[k]))
        left.plot(np.vstack([feet, tips]), np.vstack([0 * feet, height]), f"C{n}", lw=1.0)
        left.plot(tips, height, f"C{n}o-", lw=1.0, ms=3)
        left.annotate(f"{motion.t[k]:.1f} s", (tips[-1] + 0.1, height[-1] + 0.05), fontsize=8, color=f"C{n}")
    left.set(title="the first five of 40 loops", xlabel="x [m]", ylabel="y [m]", aspect="equal", xlim=(-1.2, 6.4))
    right.plot(motion.t, expected, "k-", lw=0.8, label="one equation")
    right.plot(motion.t[::8], found[::8], "C0o", ms=3, label="81 bodies, 122 hinges")
    right.set(title="angle of the uprights", xlabel="t [s]", ylabel="[rad]")
    right.legend(frameon=False)
    file = Path(folder) / "chain_of_four_bars.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
