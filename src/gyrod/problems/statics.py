"""Rods at rest: equilibria, load paths, frequencies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod import _check, rotations
from gyrod._check import Array
from gyrod.model import (
    Arc,
    Body,
    Bushing,
    Circle,
    Clamped,
    Cylindrical,
    End,
    Free,
    Hinged,
    Rod,
    RodLoad,
    RotatingFrame,
    Spherical,
    Straight,
    System,
    Torque,
    Universal,
)
from gyrod.problems.named import Named, X, Y, Z
from gyrod.problems.rods import GRID, RUBBER, bend_45

if TYPE_CHECKING:
    from typing import Unpack

    from gyrod._check import Data, Keywords
    from gyrod.motion import Rest
    from gyrod.problems.rods import RodOptions
    from gyrod.solve.modal import Modes
    from gyrod.solve.paths.result import Path

#: Numbers of a solution by name.
Values = dict[str, float | Array]


@dataclass(frozen=True)
class StaticProblem:
    """Rods at rest with trusted values of a shape, of natural frequencies, of a critical load or along a load path."""

    name: str
    #: One sentence with the source.
    about: str
    system: System
    #: What solves it: "equilibrium", "follow" or "modes".
    kind: str
    #: From what that returns to values under the names of ``reference``.
    quantities: Callable[[Any], Values] = field(repr=False)
    #: Where the trusted values come from.
    source: str = ""
    #: Trusted values by name; numbers without dimension unless ``about`` says otherwise.
    reference: Mapping[str, Any] = field(default_factory=dict)
    #: What `follow` leads, and where it stops.
    parameter: str = "load"
    stops: tuple[float, ...] = ()
    #: How many modes are asked for.
    modes: int = 0


#: Of a rod that hardly shears or stretches, over EI/L²: a wire as thin as 1/1600 of its length.
_STIFF = 1e7
#: Columns buckle about d1: in every plane at once they could turn about their axis for nothing.
_FLAT = (_STIFF, _STIFF, _STIFF, 1.0, 4.0, 1.0)


def _unit_rod(segments: int, options: Keywords, **given: Any) -> Rod:
    """A rod of 1 m along x with EI = 1 N m² in every plane that hardly shears or stretches, clamped at its start."""
    usual: Data = {
        "start": Clamped(),
        "initial": Straight((0.0, 0.0, 0.0), X),
        "stiffness": (_STIFF, _STIFF, _STIFF, 1.0, 1.0, 1.0),
        "density_per_length": 1.0,
        "rotary_inertia": (1e-4, 1e-4, 2e-4),
    }
    return Rod("rod", segments=segments, **{**usual, **given, **options})


def elastica(load: float = 10.0, segments: int = 100, **options: Unpack[RodOptions]) -> StaticProblem:
    """Cantilever under a dead force across its end, load = P L²/EI; options are those of `Rod`."""
    load = _check.number("load", load)
    known = {
        1.0: (0.30172077379981, 0.056433236283377),
        2.0: (0.49345748039671, 0.16064172082517),
        5.0: (0.71379152361191, 0.38762836072443),
        10.0: (0.8106090248803, 0.55499559775375),
    }
    rod = _unit_rod(segments, options)

    def quantities(rest: Rest) -> Values:
        x = rest["rod"].positions[-1]
        return {"w/L": float(-x[2]), "u/L": float(1.0 - x[0])}

    return StaticProblem(
        f"elastica-{load:g}",
        f"elastica, cantilever under a force across its end, P L²/EI = {load:g}; Bisshopp and Drucker 1945",
        System(rods=[rod], forces=[RodLoad("rod", force=(0.0, 0.0, -load))], gravity=(0.0, 0.0, 0.0)),
        "equilibrium",
        quantities,
        "elliptic integrals" if load in known else "",
        dict(zip(("w/L", "u/L"), known[load], strict=True)) if load in known else {},
    )


def post_buckling(angle: float = 60.0, segments: int = 100, **options: Unpack[RodOptions]) -> StaticProblem:
    """Clamped column under the dead force that turns its free end by ``angle`` in degrees; it starts bent."""
    known = {
        20.0: (1.0153968655397, 0.96973090736352, 0.2194130423956),
        60.0: (1.1517196204691, 0.74101960607633, 0.59320764616489),
        120.0: (1.8848008689781, 0.12315997240512, 0.80317099000746),
    }
    angle = _check.number("angle", angle)
    if angle not in known:
        raise ValueError(f"angle = {angle!r} has no trusted load; it can be {', '.join(f'{a:g}' for a in known)}.")
    ratio, x_end, y_end = known[angle]
    turn = float(np.deg2rad(angle))
    bent = Arc((0.0, 0.0, 0.0), X, Y, 1.0 / turn, turn)
    rod = _unit_rod(segments, options, initial=bent, precurvature=(0.0, 0.0, 0.0), stiffness=_FLAT)

    def quantities(rest: Rest) -> Values:
        x = rest["rod"].positions[-1]
        tangent = rotations.matrix_from_quaternion(rest["rod"].vertex_quaternions[-1])[:, 2]
        return {"x/L": float(x[0]), "y/L": float(x[1]), "angle": float(np.rad2deg(np.arctan2(tangent[1], tangent[0])))}

    return StaticProblem(
        f"post-buckling-{angle:g}",
        f"clamped column under {ratio:.4f} of Euler's load, whose end turns by {angle:g} degrees; Timoshenko and Gere",
        System(rods=[rod], forces=[RodLoad("rod", force=(-ratio * np.pi**2 / 4.0, 0.0, 0.0))], gravity=(0.0, 0.0, 0.0)),
        "equilibrium",
        quantities,
        "elliptic integrals",
        {"x/L": x_end, "y/L": y_end, "angle": angle},
    )


def roll_up(turns: float = 1.0, segments: int = 20, **options: Unpack[RodOptions]) -> StaticProblem:
    """Cantilever that a moment at its end, ``turns`` 2π EI/L, rolls up into a circle; options are those of `Rod`."""
    turns = _check.number("turns", turns)
    phi = 2.0 * np.pi * turns
    rod = _unit_rod(segments, options)

    def quantities(rest: Rest) -> Values:
        x = rest["rod"].positions[-1]
        return {"x/L": float(x[0]), "z/L": float(x[2])}

    return StaticProblem(
        "roll-up",
        f"cantilever rolled up by an end moment of {turns:g} times 2π EI/L",
        System(rods=[rod], forces=[RodLoad("rod", moment=(0.0, -phi, 0.0))], gravity=(0.0, 0.0, 0.0)),
        "equilibrium",
        quantities,
        "closed form",
        {"x/L": float(np.sin(phi) / phi), "z/L": float((1.0 - np.cos(phi)) / phi)},
    )


def bend_45_at_rest(force: float = 600.0, segments: int = 100, **options: Unpack[RodOptions]) -> StaticProblem:
    """The 45-degree bend of `bend_45` as a problem of statics; the end in m."""
    dynamic = bend_45(force, segments, **options)

    def quantities(rest: Rest) -> Values:
        return dict(zip(("x", "y", "z"), rest["rod"].positions[-1].tolist(), strict=True))

    known = dynamic.reference.get(0.0)
    return StaticProblem(
        f"bend-45-{force:g}",
        dynamic.about,
        dynamic.system,
        "equilibrium",
        quantities,
        dynamic.source,
        dict(zip(("x", "y", "z"), known["end"], strict=True)) if known else {},  # type: ignore[arg-type]
    )


def euler_column(segments: int = 100, **options: Unpack[RodOptions]) -> StaticProblem:
    """Clamped column; the critical load is that of P L²/EI."""
    rod = _unit_rod(segments, options, stiffness=_FLAT)
    return StaticProblem(
        "euler-column",
        "buckling of a clamped column under a force at its free end, P L²/EI; Euler 1744",
        System(rods=[rod], forces=[RodLoad("rod", force=(-1.0, 0.0, 0.0))], gravity=(0.0, 0.0, 0.0)),
        "follow",
        _first_bifurcation,
        "closed form",
        {"critical load": np.pi**2 / 4.0},
        stops=(0.0, 3.5),
    )


def self_weight_column(segments: int = 100, **options: Unpack[RodOptions]) -> StaticProblem:
    """Clamped column under its own weight; the critical load is that of w L³/EI."""
    rod = _unit_rod(segments, options, initial=Straight((0.0, 0.0, 0.0), Z), stiffness=_FLAT)
    return StaticProblem(
        "self-weight-column",
        "buckling of a clamped column under its own weight, w L³/EI; Greenhill 1881",
        System(rods=[rod], gravity=(0.0, 0.0, -1.0)),
        "follow",
        _first_bifurcation,
        "first zero of a Bessel function of order -1/3",
        {"critical load": 7.837347438943484},
        stops=(0.0, 9.0),
    )


def twist_buckling(segments: int = 100, **options: Unpack[RodOptions]) -> StaticProblem:
    """Shaft on two hinges under couples about its line at both ends; the critical load is that of M L/EI."""
    rod = _unit_rod(segments, {"stiffness": _TWISTED, **options}, start=Clamped("hub"), end=Hinged())
    hub = Body("hub", mass=1e-2, inertia=(1e-4, 1e-4, 1e-4))
    forces = [
        Torque("hub", (-1.0, 0.0, 0.0), frame="space"),
        RodLoad("rod", moment=(1.0, 0.0, 0.0)),
        # Nothing else keeps the shaft from turning about its line.
        Bushing("ground", "hub", at_a=Y, at_b=Y, stiffness=(0.0, 0.0, 1e-3)),
    ]
    ball = Spherical("ground", "hub", at=(0.0, 0.0, 0.0))
    return StaticProblem(
        "twist-buckling",
        "buckling of a shaft on hinges under couples about its line, M L/EI; Greenhill 1883",
        System([hub], [ball], [rod], forces, gravity=(0.0, 0.0, 0.0)),
        "follow",
        _first_bifurcation,
        "closed form",
        {"critical load": 2.0 * np.pi},
        stops=(0.0, 6.6),
    )


#: A shaft that turns by a quarter of M L/EI under a torque M.
_TWISTED = (_STIFF, _STIFF, _STIFF, 1.0, 1.0, 4.0)


def cardan_shaft(segments: int = 60, **options: Unpack[RodOptions]) -> StaticProblem:
    """Shaft between two universal joints under a torque; the critical load is that of M L/EI.

    A universal joint turns the torque towards the shaft in one plane only: the shaft buckles before 2π. The first axes
    of the joints are parallel before the shaft is twisted, by M L/GJ with GJ = 4 EI.
    """
    rod = _unit_rod(segments, {"stiffness": _TWISTED, **options}, start=Clamped("fork"), end=Clamped("far fork"))
    small = {"mass": 1e-2, "inertia": (1e-4, 1e-4, 1e-4)}
    bodies = [
        Body("fork", **small, position=(0.0, 0.0, 0.0)),  # type: ignore[arg-type]
        Body("far fork", **small, position=X),  # type: ignore[arg-type]
        Body("shaft", **small, position=X),  # type: ignore[arg-type]
    ]
    joints = [
        Universal("ground", "fork", at=(0.0, 0.0, 0.0), axis=Y, axis2=Z, name="near joint"),
        Cylindrical("ground", "shaft", at=X, axis=X, name="bearing"),
        Universal("shaft", "far fork", at=X, axis=Y, axis2=Z, name="far joint"),
    ]
    torque = Torque("shaft", (1.0, 0.0, 0.0), frame="space")
    return StaticProblem(
        "cardan-shaft",
        "buckling of a shaft between universal joints under a torque, M L/EI",
        System(bodies, joints, rods=[rod], forces=[torque], gravity=(0.0, 0.0, 0.0)),
        "follow",
        _first_bifurcation,
        "first zero of the determinant of the linear theory, an 8 x 8 matrix of closed forms",
        {"critical load": 3.95497116579637},
        stops=(0.0, 4.1),
    )


def _first_bifurcation(path: Path) -> Values:
    """Value of the parameter where the path first loses its stability."""
    return {"critical load": next((float(e.value) for e in path.events if e.kind == "bifurcation"), np.nan)}


#: Ends, slenderness r/L and omega sqrt(rho A L^4/EI) of the first three bending modes; nu = 0.3, kappa = 5/6.
_TIMOSHENKO: dict[str, tuple[float, tuple[float, float, float]]] = {
    "cantilever": (0.02, (3.50264107031, 21.4698241797, 58.1498317065)),
    "free-free": (0.05, (20.3374179403, 48.9272793771, 83.1538947822)),
    "pinned-pinned": (0.02, (9.79053586029, 38.2667607342, 83.0865210446)),
    "clamped-clamped": (0.05, (18.8370827747, 44.329997783, 75.0768134207)),
}
_ENDS: dict[str, dict[str, End]] = {
    "cantilever": {"start": Clamped()},
    "free-free": {"start": Free()},
    "pinned-pinned": {"start": Hinged(), "end": Hinged()},
    "clamped-clamped": {"start": Clamped(), "end": Clamped()},
}


def timoshenko(ends: str = "cantilever", segments: int = 100, **options: Unpack[RodOptions]) -> StaticProblem:
    """Bending modes of a Timoshenko beam in one plane; options are those of `Rod`."""
    r, known = _TIMOSHENKO[_check.choice("ends", ends, _TIMOSHENKO)]
    return StaticProblem(
        f"timoshenko-{ends}",
        f"bending frequencies of a {ends} Timoshenko beam, r/L = {r:g}, omega sqrt(rho A L^4/EI)",
        System(rods=[_planar_rod(segments, r, _ENDS[ends], options)], gravity=(0.0, 0.0, 0.0)),
        "modes",
        _three_frequencies,
        "roots of the characteristic equation",
        dict(zip(_NUMBERED, known, strict=True)),
        modes=12 if ends == "free-free" else 5,
    )


def euler_bernoulli(segments: int = 100, **options: Unpack[RodOptions]) -> StaticProblem:
    """Bending modes of a cantilever so slender that shear and rotary inertia do nothing, omega sqrt(rho A L^4/EI)."""
    roots = (1.8751040687119611, 4.694091132974175, 7.854757438237613)
    return StaticProblem(
        "euler-bernoulli",
        "bending frequencies of a slender cantilever, omega sqrt(rho A L^4/EI) = (beta L)^2",
        System(rods=[_planar_rod(segments, 1e-4, _ENDS["cantilever"], options)], gravity=(0.0, 0.0, 0.0)),
        "modes",
        _three_frequencies,
        "roots of cos x cosh x = -1",
        {name: x**2 for name, x in zip(_NUMBERED, roots, strict=True)},
        modes=5,
    )


_NUMBERED = ("omega 1", "omega 2", "omega 3")


def _planar_rod(segments: int, r: float, ends: Mapping[str, object], options: Mapping[str, object]) -> Rod:
    """EI = rho A = L = 1, slenderness r; bending about d1 alone is soft, so that its modes come first."""
    GA, other = 5.0 / 6.0 / 2.6 / r**2, 1e4
    return _unit_rod(
        segments,
        options,
        **ends,
        stiffness=(other * GA, GA, other / r**2, 1.0, other, other),
        rotary_inertia=(r**2, r**2, 2.0 * r**2),
    )


def _three_frequencies(modes: Modes) -> Values:
    """The first three natural frequencies that are not those of a rigid motion."""
    omega = np.sort(np.abs(np.asarray(modes.omega)))
    found = omega[omega > 0.1]
    return {name: float(w) for name, w in zip(_NUMBERED, found, strict=False)}


def spinning_rod(segments: int = 40, **options: Unpack[RodOptions]) -> StaticProblem:
    """The steady state of `spin_up`, at rest in a frame that turns at 6 rad/s; the extension in m."""
    fields: Mapping[str, Any] = options  # the rod says which are given twice
    rod = Rod(
        "rod",
        10.0,
        segments,
        start=Clamped(),
        initial=Straight((0.0, 0.0, 0.0), (10.0, 0.0, 0.0)),
        stiffness=(1e7, 1e7, 2.8e7, 1.4e4, 1.4e4, 1.4e4),
        density_per_length=1.2,
        rotary_inertia=(6e-4, 6e-4, 1.2e-3),
        **fields,
    )
    return StaticProblem(
        "spinning-rod",
        "extension of a rod of 10 m that turns at 6 rad/s, in m; Simo and Vu-Quoc 1986",
        System(rods=[rod], forces=[RotatingFrame((0.0, 0.0, 6.0))], gravity=(0.0, 0.0, 0.0)),
        "equilibrium",
        lambda rest: {"extension": float(rest["rod"].positions[-1, 0] - 10.0)},
        "closed form, L (tan(k L)/(k L) - 1), (k L)² = rho A (omega L)²/EA",
        {"extension": 5.143174550e-4},
    )


#: Vertices 0 to 5 of Test 2 of Lang, Linn, Arnold 2011 at pseudo-times.
_TEST_2: dict[float, tuple[tuple[float, float, float], ...]] = {
    0.2: (
        (0.0, 0.1, 0.0),
        (-0.0015142900717746344, 0.18159371355078033, -0.05794609142934103),
        (-0.0026456969516773883, 0.24666104342009537, -0.13398215634878174),
        (-0.002744530771869549, 0.31693373621897325, -0.20522022636136092),
        (-0.0017616580050823225, 0.40198100016749566, -0.25790787350330946),
        (0.0, 0.5, -0.27783739863216),
    ),
    0.6: (
        (0.0, 0.3, 0.0),
        (-0.01481603612736414, 0.36049944802799094, -0.07832218108885373),
        (-0.03056933334280104, 0.3771240567704705, -0.17573946964359186),
        (-0.039956311870450144, 0.38692097309862933, -0.27486856856512193),
        (-0.03314184908067814, 0.41963792300751646, -0.3691462983481604),
        (0.0, 0.5, -0.4185611407529288),
    ),
    1.0: (
        (0.0, 0.5, 0.0),
        (0.0, 0.571332523533501, -0.07019458152381257),
        (0.0, 0.6051050506693928, -0.1643995460509242),
        (0.0, 0.6148488532607058, -0.26397901227034265),
        (0.0, 0.5865436094553814, -0.35991776481119603),
        (0.0, 0.5, -0.4100066500531292),
    ),
}


def lla_test2(segments: int = 10, **options: Unpack[RodOptions]) -> StaticProblem:
    """Lang, Linn, Arnold 2011, Test 2: both clamps pushed together and turned by half a turn; options as of `Rod`."""
    given: dict[str, Any] = {"curvature": "half-sine", **options}
    first, last = np.array([0.5, -0.5, -0.5, -0.5]), np.array([0.5, -0.5, 0.5, 0.5])

    def between(t: float, q: Array) -> Array:
        """Spherical interpolation as in the paper; the two quaternions are perpendicular, theta = pi/2."""
        return np.asarray(np.cos(0.5 * np.pi * t) * first + np.sin(0.5 * np.pi * t) * q)

    rod = Rod(
        "rod",
        1.0,
        segments,
        Circle(radius=5e-3),
        RUBBER,
        Clamped(at=lambda t: (0.0, 0.5 * t, 0.0), frame=lambda t: between(t, last)),
        Clamped(at=lambda t: (0.0, 1.0 - 0.5 * t, 0.0), frame=lambda t: between(t, -last)),
        initial=Straight((0.0, 0.0, 0.0), Y),
        **given,
    )

    def quantities(path: Path) -> Values:
        return {f"x(t = {t:g})": path.at(t)["rod"].positions[:6] for t in _TEST_2}

    usual = segments == 10 and given == {"curvature": "half-sine"}
    return StaticProblem(
        "lla-test2",
        "rubber rod bent and twisted by its clamps, vertices 0 to 5 in m; Lang, Linn, Arnold 2011, Test 2",
        System(rods=[rod]),
        "follow",
        quantities,
        GRID if usual else "",
        {f"x(t = {t:g})": np.array(x) for t, x in _TEST_2.items()} if usual else {},
        "time",
        (0.0, *_TEST_2),
    )


#: Rods at rest: all problems with their usual data, by name.
STATICS: Mapping[str, StaticProblem] = Named(
    lambda: (
        *(elastica(load) for load in (1.0, 2.0, 5.0, 10.0)),
        *(post_buckling(angle) for angle in (20.0, 60.0, 120.0)),
        roll_up(),
        bend_45_at_rest(300.0),
        bend_45_at_rest(600.0),
        lla_test2(),
        euler_column(),
        self_weight_column(),
        twist_buckling(),
        cardan_shaft(),
        *(timoshenko(ends) for ends in _TIMOSHENKO),
        euler_bernoulli(),
        spinning_rod(),
    )
)
