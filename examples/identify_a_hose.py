"""How stiff and how damped is this hose? Its free end was filmed while it fell; the film determines both.

The film is made up: a hose with a modulus of 5 MPa and a damping time of 20 ms, seen 100 times a second with 2 mm of
noise. The search begins 20 % and a factor of two beside the truth.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gyrod as gd

TRUTH = {"hose.material.young": 5e6, "hose.damping.factor": 2e-2}
TIMES = 0.01 * np.arange(1, 151)
NOISE = 2e-3


def hose(young: float = 4e6, factor: float = 1e-2) -> gd.System:
    """A rubber hose of 1 m, clamped at one end, horizontal at the start."""
    rod = gd.Rod(
        "hose",
        length=1.0,
        segments=8,
        section=gd.Circle(radius=1e-2),
        material=gd.Material(young=young, poisson=0.5, density=1100),
        damping=gd.Damping(factor=factor),
        start=gd.Clamped(),
        mass="blended",
        initial=gd.Straight((0, 0, 0), (0, 1, 0)),
    )
    return gd.System(rods=[rod])


def film(seed: int = 0) -> NDArray[np.float64]:
    """What the camera saw of the free end, (150, 3)."""
    motion = gd.simulate(hose(*TRUTH.values()), float(TIMES[-1]), rtol=1e-7, output=TIMES, method="radau5")
    exact = motion["hose"].positions[:, -1]
    return np.asarray(exact + np.random.default_rng(seed).normal(0.0, NOISE, exact.shape))


def run(seed: int = 0) -> gd.Fit:
    """The fit. Rodas has smooth errors, so that differences of runs are exact enough at a coarse tolerance."""
    free = {"hose.material.young": (4e6, 1e5, 1e8), "hose.damping.factor": (1e-2, 1e-4, 1.0)}
    return gd.fit(hose(), free, {"hose.positions[-1]": (TIMES, film(seed))}, method="rodas", rtol=1e-4)


def main(folder: str = "demo") -> None:
    """Print the table and draw the fit."""
    found = run()
    print(found)
    for path, value in TRUTH.items():
        low, high = found.intervals[path]
        print(f"{path} was {value:g}: {'inside' if low <= value <= high else 'outside'} of the interval")
    Path(folder).mkdir(parents=True, exist_ok=True)
    file = Path(folder) / "identify_a_hose.png"
    found.plot(file=file)
    print(f"wrote {file}")


if __name__ == "__main__":
    main(*sys.argv[1:])
