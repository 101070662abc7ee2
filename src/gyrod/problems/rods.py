"""Rods in motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check, rotations
from gyrod.model import (
    Arc,
    Circle,
    Clamped,
    Damping,
    Hinged,
    Material,
    Rod,
    RodLoad,
    Straight,
    System,
)
from gyrod.problems.named import Named

if TYPE_CHECKING:
    from typing import Unpack

    from gyrod._check import Data
    from gyrod.model import CrossSection, End, Shape
    from gyrod.model.rods import Field


@dataclass(frozen=True)
class RodProblem:
    """A rod with trusted values at some times; ``system.rods[0]`` is the rod they are of."""

    name: str
    #: One sentence with the source.
    about: str
    system: System
    #: End of the usual time interval, which starts at 0; 0 for an equilibrium.
    t_end: float
    #: Where the trusted values come from, and whether they are those of this grid or of the continuum.
    source: str = ""
    #: Time to trusted values: "end" and "middle" (positions), "d1" (of the last segment), "extension" (m); in Test 1
    #: also "M2" at the middle, "F1" and "F3" in the segment before it.
    reference: Mapping[float, Mapping[str, float | tuple[float, ...]]] = field(default_factory=dict)


#: The materials of Lang, Linn, Arnold 2011, section 4; no shear correction, as there.
RUBBER = Material(young=5e6, poisson=0.5, density=1100.0)
STEEL = Material(young=2.1e11, poisson=0.2, density=7850.0)
#: Data of the performance examples: what is printed, and what the paper's step counts come from; see docs/errata.md.
DATA_SETS = ("as-computed", "as-printed")

_References = dict[float, dict[str, float | tuple[float, ...]]]
_PENDULUM = "swinging rubber rod, hinged, horizontal at the start"
_STRING = "clamped steel string, horizontal at the start"


class RodOptions(TypedDict, total=False):
    """Fields of a `Rod` that a problem may be given in place of its own."""

    section: CrossSection | None
    material: Material | None
    start: End | None
    end: End | None
    curvature: str | tuple[str, float]
    inertia: str
    mass: str | float
    damping: Damping | None
    initial: Shape | None
    stiffness: Field | None
    density_per_length: float | Callable[[float], float] | None
    rotary_inertia: Field | None
    precurvature: Field | None
    prestrain: Field | None
    strain: str
    velocity: Field
    angular_velocity: Field
    grid: ArrayLike | None
    discretization: str | None
    degree: int | None
    rest_stretch: float | Callable[[float], float] | None
    limits: Mapping[str, float] | None


def lla_test1(segments: int = 10, **options: Unpack[RodOptions]) -> RodProblem:
    """Lang, Linn, Arnold 2011, Test 1: the undamped rubber pendulum with curvature (ii); options are those of `Rod`."""
    given: Data = {"curvature": "half-sine", **options}
    reference: _References = {
        0.5: {
            "end": (0.0, -0.22663840884332206, -0.9169593203753669),
            "middle": (0.0, 0.0017361094880752467, -0.5022047167378888),
            "d1": (0.0, 0.5819819977408959, -0.8132016689023185),
            "M2": -0.001562722603745985,
            "F1": 0.02143813535221245,
            "F3": 1.501773304776955,
        },
        1.0: {
            "end": (0.0, -0.9331001258822736, -0.13497959208614357),
            "middle": (0.0, -0.4812106857462613, -0.011217848898119661),
            "d1": (0.0, 0.6649845448924689, -0.7468571182322334),
            "M2": 0.001461619507905828,
            "F1": -0.018514035719641764,
            "F3": -0.20212350543659804,
        },
    }
    usual = segments == 10 and given == {"curvature": "half-sine"}
    system = _rod(segments, Circle(radius=5e-3), RUBBER, Hinged(), given)
    about = f"{_PENDULUM}; Lang, Linn, Arnold 2011, Test 1"
    return RodProblem("lla-test1", about, system, 1.0, GRID if usual else "", reference if usual else {})


def lla_rubber(data: str = "as-computed", segments: int = 10, **options: Unpack[RodOptions]) -> RodProblem:
    """Lang, Linn, Arnold 2011, damped rubber pendulum with curvature (iii); options are those of `Rod`."""
    references: dict[str, _References] = {
        "as-computed": {
            1.0: {"end": (0.0, -0.97930548245, -0.0239352652565), "d1": (0.0, -0.023681905774, -0.999719544342)},
            5.0: {"end": (0.0, -0.436293797447, -0.860739998988), "d1": (0.0, 0.588334458754, -0.808617687565)},
            10.0: {"end": (0.0, -0.86179780779, -0.502007967511), "d1": (0.0, 0.481232886784, -0.876592783838)},
        },
        "as-printed": {
            1.0: {"end": (0.0, -0.976095854605, -0.0145057044638), "d1": (0.0, -0.0815651067651, -0.996668015619)},
            5.0: {"end": (0.0, -0.340359901869, -0.919157726154), "d1": (0.0, 0.753756247607, -0.657154106122)},
            10.0: {"end": (0.0, -0.853958282505, -0.512438741945), "d1": (0.0, 0.475089512497, -0.879937472276)},
        },
    }
    given = {**_performance(data), **options}
    usual = segments == 10 and not options
    system = _rod(segments, Circle(radius=5e-3), RUBBER, Hinged(), given)
    about = f"{_PENDULUM}, damped, data {data}; Lang, Linn, Arnold 2011, section 4"
    name = "lla-rubber" + ("" if data == "as-computed" else f"-{data}")
    return RodProblem(name, about, system, 10.0, GRID if usual else "", references[data] if usual else {})


def lla_steel(data: str = "as-computed", segments: int = 10, **options: Unpack[RodOptions]) -> RodProblem:
    """Lang, Linn, Arnold 2011, damped steel string with curvature (iii); options are those of `Rod`."""
    reference: _References = {
        1.0: {"end": (0.0, 0.934302238325, -0.332195337944), "d1": (0.0, 0.44347424683, 0.896287114935)},
        5.0: {"end": (0.0, 0.971887149829, -0.220361890959), "d1": (0.0, 0.292813269361, 0.956169644617)},
    }
    given = {**_performance(data), **options}
    usual = segments == 10 and not options and data == "as-computed"
    system = _rod(segments, Circle(radius=1e-3), STEEL, Clamped(), given)
    about = f"{_STRING}, damped, data {data}; Lang, Linn, Arnold 2011, section 4"
    name = "lla-steel" + ("" if data == "as-computed" else f"-{data}")
    return RodProblem(name, about, system, 10.0, GRID if usual else "", reference if usual else {})


def steel_string(segments: int = 20, **options: Unpack[RodOptions]) -> RodProblem:
    """The steel string without damping; options are those of `Rod`."""
    return RodProblem(
        "steel-string",
        f"{_STRING}, undamped",
        _rod(segments, Circle(radius=1e-3), STEEL, Clamped(), options),
        1.0,
        "continuum, to 5 digits",
        {0.5: {"end": (0.0, 0.98002, -0.18731)}, 1.0: {"end": (0.0, 0.92588, -0.34938)}},
    )


def rubber_pendulum(segments: int = 40, **options: Unpack[RodOptions]) -> RodProblem:
    """The pendulum of Test 1 in the continuum; options are those of `Rod`."""
    return RodProblem(
        "rubber-pendulum",
        f"{_PENDULUM}, undamped",
        _rod(segments, Circle(radius=5e-3), RUBBER, Hinged(), options),
        1.0,
        "continuum, to 5 digits",
        {0.5: {"end": (0.0, -0.23312, -0.91944)}, 1.0: {"end": (0.0, -0.94010, -0.09910)}},
    )


def spin_up(segments: int = 20, **options: Unpack[RodOptions]) -> RodProblem:
    """Simo and Vu-Quoc's beam, clamped to a shaft that comes up to 6 rad/s in 15 s; options are those of `Rod`."""
    fields: Mapping[str, Any] = options  # the rod says which are given twice

    def angle(t: float) -> float:
        if t > 15.0:
            return 6.0 * t - 45.0
        return float(0.4 * (0.5 * t**2 + (7.5 / np.pi) ** 2 * (np.cos(2.0 * np.pi * t / 15.0) - 1.0)))

    def rate(t: float) -> tuple[float, float, float]:
        return 0.0, 0.0, 6.0 if t > 15.0 else 0.4 * (t - 7.5 / np.pi * np.sin(2.0 * np.pi * t / 15.0))

    line = Straight((0.0, 0.0, 0.0), (10.0, 0.0, 0.0))
    start = line.place([0.0], 10.0)[1][0]
    rod = Rod(
        "rod",
        10.0,
        segments,
        start=Clamped(
            frame=lambda t: rotations.multiply(rotations.exp((0.0, 0.0, angle(t))), start), angular_velocity=rate
        ),
        initial=line,
        stiffness=(1e7, 1e7, 2.8e7, 1.4e4, 1.4e4, 1.4e4),
        density_per_length=1.2,
        rotary_inertia=(6e-4, 6e-4, 1.2e-3),
        **fields,
    )
    about = "beam on a shaft that is spun up to 6 rad/s; Simo and Vu-Quoc 1986"
    steady: _References = {20.0: {"extension": 5.143174550e-4}}
    source = "closed form of the steady state; a small vibration remains"
    return RodProblem("spin-up", about, System(rods=[rod], gravity=(0.0, 0.0, 0.0)), 20.0, source, steady)


def bend_45(force: float = 600.0, segments: int = 20, **options: Unpack[RodOptions]) -> RodProblem:
    """Bathe and Bolourchi's cantilever, an arc of 45 deg under a dead force at its end; an equilibrium."""
    fields: Mapping[str, Any] = options  # the rod says which are given twice
    force = _check.number("force", force)
    tips = {300.0: (58.77912249, 22.24478095, 40.19189167), 600.0: (47.15043857, 15.68480053, 53.47485879)}
    rod = Rod(
        "rod",
        segments=segments,
        start=Clamped(),
        initial=Arc((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), 100.0, 0.25 * np.pi),
        stiffness=(5e6, 5e6, 1e7, 1e7 / 12.0, 1e7 / 12.0, 5e6 / 6.0),
        density_per_length=1.0,
        rotary_inertia=(1.0 / 12.0, 1.0 / 12.0, 1.0 / 6.0),
        **fields,
    )
    load = RodLoad("rod", force=(0.0, 0.0, force))
    known: _References = {0.0: {"end": tips[force]}} if force in tips else {}
    about = f"45-degree bend under a force of {force:g}; Bathe and Bolourchi 1979"
    system = System(rods=[rod], forces=[load], gravity=(0.0, 0.0, 0.0))
    return RodProblem("bend-45", about, system, 0.0, "continuum" if known else "", known)


GRID = "of this grid, by independent code; its methods agree to 1e-9 or better"


def _rod(segments: int, section: Circle, material: Material, start: End, options: Mapping[str, Any]) -> System:
    """A rod of 1 m from the origin along y, under gravity."""
    line = Straight((0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    return System(rods=[Rod("rod", 1.0, segments, section, material, start, initial=line, **options)])


def _performance(data: str) -> Data:
    """What the two data sets of the performance examples differ in, and what they share."""
    printed = _check.choice("data", data, DATA_SETS) == "as-printed"
    return {
        "curvature": "tangent",
        "inertia": "disc" if printed else "cylinder",
        "damping": Damping(shear=0.1, extension=200.0 if printed else 2.0, bending=2e-4, torsion=8e-6),
    }


#: Rods: all problems with their usual data, by name.
RODS: Mapping[str, RodProblem] = Named(
    lambda: (
        lla_test1(),
        lla_rubber(),
        lla_rubber("as-printed"),
        lla_steel(),
        lla_steel("as-printed"),
        steel_string(),
        rubber_pendulum(),
        spin_up(),
        bend_45(),
    )
)
