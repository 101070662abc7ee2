"""The partials of a guitar string: stiffness makes them sharper than the harmonics, and more so the higher they are.

A plain steel string of 0.46 mm tuned to the G below middle C, on two hinges. Fletcher's formula for the stiff string is
f_n = n f_1 sqrt(1 + B n²), f_1 = sqrt(T/mu)/(2 L), B = pi² E I/(T L²).
Run: python examples/guitar_string.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gyrod as gd

LENGTH, RADIUS, PITCH = 0.648, 0.23e-3, 196.0  # m, m, Hz
STEEL = gd.Material(young=2.1e11, poisson=0.3, density=7850)
AREA, INERTIA = np.pi * RADIUS**2, 0.25 * np.pi * RADIUS**4
MU = STEEL.density * AREA
TENSION = MU * (2.0 * LENGTH * PITCH) ** 2  # of the ideal string, N


def string(segments: int = 24) -> gd.System:
    """The string, tuned by making it shorter at rest than the distance of its hinges."""
    rod = gd.Rod(
        "string",
        LENGTH,
        segments,
        gd.Circle(radius=RADIUS),
        STEEL,
        start=gd.Hinged(),
        end=gd.Hinged(),
        initial=gd.Straight((0, 0, 0), (LENGTH, 0, 0)),
        rest_stretch=1.0 - TENSION / (STEEL.young * AREA),
        degree=4,
    )
    return gd.System(rods=[rod], gravity=(0, 0, 0))


def run(count: int = 12) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Frequencies of the first partials in Hz, (count,), and their shapes, (count, N+1, 3)."""
    modes = gd.modes(string(), n=2 * count + 8)
    shapes = np.array([modes.shape(k, "string") for k in range(len(modes))])
    moves = np.abs(shapes).max(axis=(1, 2)) > 1e-3  # the others only turn about the axis of the string
    return modes.frequencies[moves][::2][:count], shapes[moves][::2][:count]  # each comes twice: in y and in z


def stiff_string(n: NDArray[np.int64]) -> NDArray[np.float64]:
    """Fletcher's formula."""
    B = np.pi**2 * STEEL.young * INERTIA / (TENSION * LENGTH**2)
    return np.asarray(n * PITCH * np.sqrt(1.0 + B * n**2))


def main(folder: str = "demo") -> None:
    """Print the table and draw it."""
    from matplotlib.figure import Figure

    frequencies, shapes = run()
    n = np.arange(1, len(frequencies) + 1)
    print(f"Tension {TENSION:.1f} N\n n   here, Hz   stiff string   ideal string   sharp by, cents")
    for k, f, g in zip(n, frequencies, stiff_string(n), strict=True):
        print(f"{k:2d}{f:11.3f}{g:15.3f}{k * PITCH:15.1f}{1200.0 * np.log2(f / (k * PITCH)):18.3f}")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    place = LENGTH * string().rods[0].mesh.vertices
    for i in range(4):
        wave = np.linalg.norm(shapes[i], axis=1) * np.sign(shapes[i] @ shapes[i][5])
        left.plot(place, 0.45 * wave / np.abs(wave).max() + i + 1, "C0")
    left.set(title="shapes of the first partials", xlabel="x [m]", ylabel="n", yticks=n[:4])
    fine = np.linspace(0, n[-1], 200)
    right.plot(
        fine[1:], 1200 * np.log2(stiff_string(fine[1:]) / (fine[1:] * PITCH)), "k-", lw=0.8, label="stiff string"
    )
    right.plot(n, 1200 * np.log2(frequencies / (n * PITCH)), "C0o", ms=4, label="gyrod, 24 elements")
    right.set(title="sharp of the harmonic by", xlabel="n", ylabel="cents")
    right.legend(frameon=False)
    file = Path(folder) / "guitar_string.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
