"""A rubber hose released from the horizontal: shapes over time, with lumped and with blended mass.

Test 1 of Lang, Linn and Arnold 2011. The blended mass reaches the error of the lumped one with half the segments.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import gyrod as gd

TIMES = np.linspace(0.0, 1.0, 21)
#: Free end at 1 s, converged in the number of segments (y, z).
END = np.array([-0.94010, -0.09910])


def hose(segments: int, mass: str) -> gd.System:
    """A hinged rubber hose of 1 m, horizontal at the start."""
    rubber = gd.Material(young=5e6, poisson=0.5, density=1100)
    rod = gd.Rod(
        "hose",
        length=1.0,
        segments=segments,
        section=gd.Circle(radius=5e-3),
        material=rubber,
        start=gd.Hinged(),
        mass=mass,
        initial=gd.Straight((0, 0, 0), (0, 1, 0)),
    )
    return gd.System(rods=[rod])


def run() -> dict[tuple[str, int], tuple[float, gd.Motion]]:
    """Error of the free end at 1 s and the motion, for both masses and three grids."""
    outcomes = {}
    for mass in ("lumped", "blended"):
        for segments in (10, 20, 40):
            motion = gd.simulate(hose(segments, mass), 1.0, rtol=1e-4, output=TIMES)
            error = float(np.linalg.norm(motion["hose"].positions[-1, -1, 1:] - END))
            outcomes[mass, segments] = error, motion
    return outcomes


def main(folder: str = "demo") -> None:
    """Print the table and draw the shapes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    outcomes = run()
    print("mass      segments  error of the end   steps   CPU")
    for (mass, segments), (error, motion) in outcomes.items():
        cost = f"{motion.stats.steps:6d}  {1e3 * motion.stats.seconds:4.0f} ms"
        print(f"{mass:9} {segments:8d}  {1e3 * error:13.2f} mm  {cost}")
    positions = outcomes["blended", 20][1]["hose"].positions
    fig, ax = plt.subplots(figsize=(8.0, 4.6), layout="constrained")
    colours = plt.colormaps["viridis"](np.linspace(0.0, 0.95, len(TIMES)))
    for x, colour in zip(positions, colours, strict=True):
        ax.plot(x[:, 1], x[:, 2], color=colour, lw=1.5)
    ax.plot(positions[:, -1, 1], positions[:, -1, 2], ".", color="0.3", ms=4)
    ax.set(xlabel="y [m]", ylabel="z [m]", title="A rubber hose in its first second, every 50 ms", aspect="equal")
    Path(folder).mkdir(parents=True, exist_ok=True)
    file = Path(folder) / "swinging_hose.png"
    fig.savefig(file, dpi=110)
    print(f"wrote {file}")


if __name__ == "__main__":
    main(*sys.argv[1:])
