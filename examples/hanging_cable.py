"""Cables of 10 m between two points 9 m apart: shape, sag and end forces, beside the catenary.

The catenary knows neither bending nor stretch (its elastic form knows stretch): a thin wire follows it, a rope is too
stiff for it and a hose too soft.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq

import gyrod as gd

LENGTH, SPAN, GRAVITY = 10.0, 9.0, 9.81
STEEL = gd.Material(young=2.1e11, poisson=0.3, density=7850)
RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)
CABLES: dict[str, tuple[gd.Material, float]] = {
    "steel wire, 1 mm": (STEEL, 0.5e-3),
    "steel rod, 10 mm": (STEEL, 5e-3),
    "rubber hose, 20 mm": (RUBBER, 10e-3),
}


def catenary(weight: float, stiffness: float = np.inf) -> tuple[Any, float, float]:
    """Shape x(s), z(s), sag and horizontal force of a cable without bending stiffness; EA is ``stiffness`` in N."""
    V = 0.5 * weight

    def shape(s: Any, H: float) -> tuple[Any, Any]:
        tail = (V - weight * s / LENGTH) / H
        x = H * s / stiffness + H * LENGTH / weight * (np.arcsinh(V / H) - np.arcsinh(tail))
        z = weight * s / stiffness * (V / weight - 0.5 * s / LENGTH)
        return x, -z - H * LENGTH / weight * (np.hypot(1.0, V / H) - np.hypot(1.0, tail))

    H = float(brentq(lambda H: shape(LENGTH, H)[0] - SPAN, 1e-3 * weight, 1e3 * weight, xtol=1e-14, rtol=1e-14))
    return lambda s: shape(s, H), float(-shape(0.5 * LENGTH, H)[1]), H


def run(segments: int = 24) -> dict[str, Any]:
    """Every cable at rest, hinged at (0, 0, 0) and (9, 0, 0)."""
    return {
        name: gd.hang(
            LENGTH,
            between=((0.0, 0.0, 0.0), (SPAN, 0.0, 0.0)),
            section=gd.Circle(radius=radius),
            material=material,
            segments=segments,
            degree=3,
            gravity=(0.0, 0.0, -GRAVITY),
        )
        for name, (material, radius) in CABLES.items()
    }


def main(folder: str = "demo") -> None:
    """Print the table and draw the shapes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    cables = run()
    print("                      sag, m: here  catenary   elastic   force, N: here  catenary   elastic")
    fig, (ax, gap) = plt.subplots(1, 2, figsize=(8.0, 3.4), layout="constrained")
    s = np.linspace(0.0, LENGTH, 401)
    for k, (name, cable) in enumerate(cables.items()):
        material, radius = CABLES[name]
        area = np.pi * radius**2
        weight = material.density * area * GRAVITY * LENGTH
        plain, sag, H = catenary(weight)
        elastic, elastic_sag, elastic_H = catenary(weight, material.young * area)
        force = float(np.linalg.norm(cable.start_force))
        forces = "".join(f"{x:10.4f}" for x in (force, np.hypot(H, 0.5 * weight), np.hypot(elastic_H, 0.5 * weight)))
        sags = "".join(f"{x:10.5f}" for x in (cable.sag, sag, elastic_sag))
        print(f"{name:20}     {sags}      {forces}")
        x, z = cable.cable.positions[:, [0, 2]].T
        ax.plot(x, z, f"C{k}", lw=1.5, label=name)
        gap.plot(x, 1e3 * (z - np.interp(x, *plain(s))), f"C{k}", lw=1.5, label=name)
        x, z = elastic(s)
        gap.plot(x, 1e3 * (z - np.interp(x, *plain(s))), "k:", lw=1.0, label="elastic catenary" if k == 2 else None)
    ax.plot(*plain(s), "k--", lw=1.0, label="catenary")
    ax.set(xlabel="x [m]", ylabel="z [m]", title="Cables of 10 m over 9 m")
    gap.set(xlabel="x [m]", ylabel="[mm]", title="Height above the catenary")
    ax.legend(fontsize=8)
    gap.legend(fontsize=8)
    Path(folder).mkdir(parents=True, exist_ok=True)
    file = Path(folder) / "hanging_cable.png"
    fig.savefig(file, dpi=110)
    print(f"wrote {file}")


if __name__ == "__main__":
    main(*sys.argv[1:])
