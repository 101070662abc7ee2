"""A column buckles: Euler's load, and the large bending beyond it, where the load still grows.

`follow` raises the load, finds the bifurcation and leaves along the bent branch. The elastica in elliptic integrals:
when the free end of a clamped column has turned by alpha, P/P_E = (2 K(sin²(alpha/2))/pi)², P_E = pi² E I/(4 L²).
Run: python examples/post_buckling.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ellipk

import gyrod as gd

LENGTH = 1.0  # m
STEEL = gd.Material(young=2.1e11, poisson=0.3, density=7850)
STRIP = gd.Rectangle(width=0.02, height=1e-3)
EULER = 0.25 * np.pi**2 * STEEL.young * (0.02 * 1e-3**3 / 12.0) / LENGTH**2  # N


def column() -> gd.System:
    """A steel strip, clamped at its foot, with Euler's load on its head."""
    rod = gd.Rod(
        "column",
        LENGTH,
        section=STRIP,
        material=STEEL,
        start=gd.Clamped(),
        initial=gd.Straight((0, 0, 0), (0, 0, LENGTH)),
    )
    return gd.System(rods=[rod], forces=[gd.RodLoad("column", force=(0, 0, -EULER))], gravity=(0, 0, 0))


def run() -> gd.Path:
    """Equilibria up to twice Euler's load, on the bent branch."""
    return gd.follow(column(), "load", (0.0, 2.0), branch=1)


def elastica(alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """Load over Euler's load at which the end has turned by alpha."""
    return np.asarray((2.0 / np.pi * ellipk(np.sin(0.5 * alpha) ** 2)) ** 2)


def end_angle(path: gd.Path) -> NDArray[np.float64]:
    """Angle of the free end from the vertical, rad, (n,)."""
    tangent = path["column"].directors[:, -1, :, 2]
    return np.asarray(np.arctan2(np.hypot(tangent[:, 0], tangent[:, 1]), tangent[:, 2]))


def main(folder: str = "demo") -> None:
    """Print the critical load and the error along the branch, draw both."""
    from matplotlib.figure import Figure

    path = run()
    alpha = end_angle(path)
    print(f"Euler's load {EULER:.4f} N; the straight column loses its stability at {path.events[0].value:.6f} of it")
    for k in range(0, len(path), 4):
        bent = f"  elastica: {elastica(alpha[k]):.5f}" if alpha[k] > 1e-3 else "  straight"
        print(f"end turned by {np.rad2deg(alpha[k]):6.2f} deg at {path.value[k]:.5f}{bent}")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k in range(0, len(path), 2):
        x = path["column"].positions[k]
        left.plot(np.copysign(np.hypot(x[:, 0], x[:, 1]), x[-1] @ (1, 1, 0)), x[:, 2], color="C0", lw=1.0)
    left.set(title="shapes", xlabel="deflection [m]", ylabel="height [m]", aspect="equal")
    fine = np.linspace(0.0, alpha.max(), 200)
    right.plot(np.rad2deg(fine), elastica(fine), "k-", lw=0.8, label="elastica")
    right.plot(np.rad2deg(alpha), path.value, "C0o", ms=4, label="gyrod")
    right.set(title="load over Euler's load", xlabel="turn of the free end [deg]", ylim=(0.0, 2.1))
    right.legend(frameon=False)
    file = Path(folder) / "post_buckling.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
