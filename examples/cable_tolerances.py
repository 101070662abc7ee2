"""Which tolerance matters: a cable between a bracket and a slide, 256 cables from the tolerances of a drawing.

A slide is pulled home by a spring and a damper, and the loop of the cable that follows it swings past the bracket,
towards a wall, and bends. Length, stiffness and density of the cable and the damper of the slide vary as they do in a
series; of each cable are kept how far it swings, its smallest bend radius and its largest pull at the bracket. Which
share of the series keeps the limits, and which parameter should be held closer?
Run: python examples/cable_tolerances.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

import gyrod as gd

WIDE, HOME = 0.45, 0.12  # m, from bracket to slide
RADIUS, SEGMENTS, DURATION = 4e-3, 16, 1.0  # m, -, s
SAMPLES = 256
#: What the drawing says: length 800 mm within 8 mm, and what comes from the makers of cable and damper.
TOLERANCES = {
    "length": gd.Uniform(0.792, 0.808),  # m
    "young": gd.LogNormal(2e7, 1.15),  # Pa
    "density": gd.Normal(1300.0, 30.0),  # kg/m³
    "damper": gd.Uniform(180.0, 220.0),  # N s/m
}
WALL, TIGHTEST = 0.15, 0.09  # m: from the bracket to the wall, and the least bend radius, about eleven diameters


def catenary(length: float) -> gd.Curve:
    """The curve in which a chain of that length hangs before the slide moves."""
    a = 0.5 * WIDE / brentq(lambda x: np.sinh(x) / x - length / WIDE, 1e-6, 50.0)
    depth = np.cosh(0.5 * WIDE / a)

    def place(s: float) -> tuple[float, float, float]:
        u = (s - 0.5) * length / a
        return 0.5 * WIDE + a * np.arcsinh(u), 0.0, a * (np.hypot(1.0, u) - depth)

    return gd.Curve(place)


def machine(length: float = 0.8, young: float = 2e7, density: float = 1300.0, damper: float = 200.0) -> gd.System:
    """Cable, slide and rail."""
    cable = gd.Rod(
        "cable",
        length,
        SEGMENTS,
        gd.Circle(radius=RADIUS),
        gd.Material(young=young, poisson=0.4, density=density),
        start=gd.Hinged("ground"),
        end=gd.Hinged("slide", at=(0, 0, 0)),
        damping=gd.Damping(factor=0.02),
        initial=catenary(length),
        precurvature=(0, 0, 0),
    )
    slide = gd.Body("slide", mass=10.0, inertia=(0.1, 0.1, 0.1), position=(WIDE, 0, 0))
    spring: dict[str, Any] = {"stiffness": 1000.0, "damping": damper, "rest": HOME - WIDE}
    rail = gd.Prismatic("ground", "slide", at=(WIDE, 0, 0), axis=(1, 0, 0), name="rail", **spring)
    return gd.System([slide], [rail], [cable])


def reach(motion: gd.Motion) -> NDArray[np.float64]:
    """How far the cable is beyond the bracket, m, (n,)."""
    return np.asarray(-motion["cable"].positions[..., 0].min(axis=-1))


def tightest(motion: gd.Motion) -> NDArray[np.float64]:
    """Smallest bend radius along the cable, m, (n,)."""
    return np.asarray(motion["cable"].bend_radius.min(axis=-1))


def run(samples: int = SAMPLES, **options: Any) -> gd.Study:
    """The series."""
    outputs = {"reach": gd.Maximum(reach), "radius": gd.Minimum(tightest), "pull": gd.Maximum("norm cable.start_force")}
    run = {"method": "rodas", "rtol": 1e-3, **options}
    return gd.study(machine, TOLERANCES, outputs, DURATION, samples=samples, **run)


def good(study: gd.Study) -> dict[str, float]:
    """Share of cables that stay clear of the wall, that are not bent too much, and that do both."""
    clear, wide = study["reach"] < WALL, study["radius"] > TIGHTEST
    return {"clear of the wall": clear.mean(), "bent little enough": wide.mean(), "both": (clear & wide).mean()}


def main(folder: str = "demo") -> None:
    """Print quantiles, shares and Sobol indices, draw them."""
    from matplotlib.figure import Figure

    study = run()
    for name, unit, factor in (("reach", "mm", 1e3), ("radius", "mm", 1e3), ("pull", "N", 1.0)):
        low, middle, high = factor * np.quantile(study[name], (0.025, 0.5, 0.975))
        print(f"{name:7} {middle:8.4g} {unit}, 95 % between {low:.4g} and {high:.4g} {unit}")
    for name, share in good(study).items():
        print(f"{name}: {100.0 * share:.1f} %")
    indices = study.sobol()
    print(indices)

    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    place, histogram, shares = figure.subplots(1, 3, width_ratios=(1.5, 1.0, 1.0))
    nominal = gd.simulate(machine(), DURATION, method="rodas", rtol=1e-3)
    for x in nominal(np.linspace(0.0, DURATION, 21))["cable"].positions:
        place.plot(x[:, 0], x[:, 2], "C0", lw=0.7)
    place.axvline(-WALL, color="C3", lw=1.5)
    place.set(title="as drawn, every 50 ms", xlabel="x [m]", ylabel="z [m]", aspect="equal")
    bins = 1e3 * WALL + 1.5 * np.arange(-18, 8)
    for part, colour in ((study["reach"] < WALL, "C0"), (study["reach"] >= WALL, "C3")):
        histogram.hist(1e3 * study["reach"][part], bins, color=colour, alpha=0.7)
    histogram.set(title=f"{study.size} cables", xlabel="swing beyond the bracket [mm]", ylabel="cables")
    at = np.arange(len(indices.parameters))
    for k, output in enumerate(indices.outputs):
        shares.barh(at + 0.27 * (k - 1), indices.first[k], 0.25, color=f"C{k}", label=output)
    shares.set(title="first Sobol indices", yticks=at, yticklabels=indices.parameters, xlabel="share of the variance")
    shares.invert_yaxis()
    shares.legend(frameon=False, fontsize=8, loc="upper right")
    file = Path(folder) / "cable_tolerances.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
