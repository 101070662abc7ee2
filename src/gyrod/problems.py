"""Named reference problems with trusted solutions: tests, documentation and benchmarks share them.

>>> import gyrod as gd
>>> sorted(gd.problems.ROTATIONS)[:3]
['coning', 'constant-rate', 'free-symmetric-top']
>>> gd.problems.get("coning").quaternion(0.0).round(6).tolist()
[0.999962, 0.008727, 0.0, 0.0]
>>> top = gd.problems.get("lang-a")
>>> top.t_end, sorted(top.reference[60.0])
(60.0, ['Omega', 'energy', 'quaternion'])
>>> string = gd.problems.get("steel-string")
>>> string.system.rods[0].segments, string.reference[1.0]["end"]
(20, (0.0, 0.92588, -0.34938))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import _check, rotations
from gyrod.model import (
    Arc,
    Body,
    Circle,
    Clamped,
    Damping,
    Hinged,
    Material,
    Rod,
    RodLoad,
    Spherical,
    Straight,
    System,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RotationProblem:
    """A rotation known in closed form together with its angular velocity; functions of time broadcast."""

    name: str
    #: One sentence with the source.
    about: str
    #: End of the usual time interval, which starts at 0.
    t_end: float
    #: Exact quaternion (continuous in time), (..., 4).
    quaternion: Callable[[ArrayLike], Array]
    #: Exact angular velocity in body axes, (..., 3).
    body_rates: Callable[[ArrayLike], Array]
    #: The rotation vector the problem is defined by, where it is.
    rotation_vector: Callable[[ArrayLike], Array] | None = None

    def rates(self, t: ArrayLike, frame: str = "body") -> Array:
        """Angular velocity, material ("body") or spatial ("space")."""
        _check.choice("frame", frame, rotations.FRAMES)
        w = self.body_rates(t)
        return w if frame == "body" else rotations.rotate(self.quaternion(t), w)


def coning(angle: float = np.deg2rad(1.0), rate: float = 20.0 * np.pi) -> RotationProblem:
    """Classical coning: an axis in the plane, tilted by ``angle``, goes round with ``rate`` (rad/s)."""
    s, c = np.sin(0.5 * angle), np.cos(0.5 * angle)

    def quaternion(t: ArrayLike) -> Array:
        t = np.asarray(t, dtype=float)
        return np.stack([np.full_like(t, c), s * np.cos(rate * t), s * np.sin(rate * t), np.zeros_like(t)], axis=-1)

    def body_rates(t: ArrayLike) -> Array:
        t = np.asarray(t, dtype=float)
        w = rate * np.sin(angle)
        return np.stack([-w * np.sin(rate * t), w * np.cos(rate * t), np.full_like(t, -2.0 * rate * s * s)], axis=-1)

    about = f"coning with a half-angle of {np.rad2deg(angle):g} deg at {rate / (2 * np.pi):g} Hz; Savage 1998"
    return RotationProblem("coning", about, 1.0, quaternion, body_rates)


def constant_rate(rate: ArrayLike = (0.3, -0.5, 1.1)) -> RotationProblem:
    """Rotation about a fixed axis with constant rate."""
    w = _check.array("rate", rate, (3,))
    return RotationProblem(
        "constant-rate",
        "rotation about a fixed axis",
        10.0,
        lambda t: rotations.exp(np.asarray(t, dtype=float)[..., None] * w),
        lambda t: np.broadcast_to(w, (*np.shape(t), 3)),
    )


def free_symmetric_top(
    moments: tuple[float, float] = (1.0, 0.5), angular_velocity: ArrayLike = (0.4, 0.0, 2.0)
) -> RotationProblem:
    """Free top with the moments (I1 = I2, I3): regular precession, R(0) = 1, Omega(0) given."""
    i1, i3 = (_check.positive("moments", m) for m in moments)
    w0 = _check.array("angular_velocity", angular_velocity, (3,))
    momentum = np.array([i1, i1, i3]) * w0
    spin = (1.0 - i3 / i1) * w0[2]

    def quaternion(t: ArrayLike) -> Array:
        t = np.asarray(t, dtype=float)[..., None]
        return rotations.multiply(rotations.exp(t * momentum / i1), rotations.exp(t * spin * np.array([0.0, 0.0, 1.0])))

    def body_rates(t: ArrayLike) -> Array:
        a = spin * np.asarray(t, dtype=float)
        x, y = w0[0] * np.cos(a) + w0[1] * np.sin(a), w0[1] * np.cos(a) - w0[0] * np.sin(a)
        return np.stack([x, y, np.full_like(a, w0[2])], axis=-1)

    return RotationProblem("free-symmetric-top", "Euler's regular precession", 10.0, quaternion, body_rates)


def from_rotation_vector(
    name: str,
    about: str,
    t_end: float,
    vector: Callable[[Array], list[Array]],
    rate: Callable[[Array], list[Array]],
) -> RotationProblem:
    """A problem given by its rotation vector theta(t) and theta'(t): Omega = T(theta)' theta'."""

    def stacked(f: Callable[[Array], list[Array]], t: ArrayLike) -> Array:
        t = np.asarray(t, dtype=float)
        return np.stack([np.broadcast_to(x, t.shape) for x in f(t)], axis=-1)

    def theta(t: ArrayLike) -> Array:
        return stacked(vector, t)

    def body_rates(t: ArrayLike) -> Array:
        return rotations.angular_velocity("rotation-vector", theta(t), stacked(rate, t))

    return RotationProblem(name, about, t_end, lambda t: rotations.exp(theta(t)), body_rates, theta)


_ZERO = np.zeros(())

_PROBLEMS = [
    coning(),
    constant_rate(),
    free_symmetric_top(),
    from_rotation_vector(
        "zupan-saje-1",
        "bounded planar rotation; Zupan and Saje 2011, example 1",
        100.0,
        lambda t: [np.sin(2 * t) ** 2, _ZERO, np.cos(2 * t)],
        lambda t: [2 * np.sin(4 * t), _ZERO, -2 * np.sin(2 * t)],
    ),
    from_rotation_vector(
        "zupan-saje-2-planar",
        "two frequencies; Zupan and Saje 2011, eq. (27)",
        10.0,
        lambda t: [np.sin(2 * t) ** 2, _ZERO, np.sin(t) + 0.08 * np.cos(100 * t)],
        lambda t: [2 * np.sin(4 * t), _ZERO, np.cos(t) - 8.0 * np.sin(100 * t)],
    ),
    from_rotation_vector(
        "zupan-saje-2-spatial",
        "two frequencies in space; Zupan and Saje 2011, eq. (28)",
        100.0,
        lambda t: [
            np.sin(2 * t) ** 2,
            np.cos(t) + 0.08 * np.sin(100 * t),
            np.sin(t) + 0.08 * np.cos(100 * t),
        ],
        lambda t: [2 * np.sin(4 * t), -np.sin(t) + 8.0 * np.cos(100 * t), np.cos(t) - 8.0 * np.sin(100 * t)],
    ),
    from_rotation_vector(
        "zupan-saje-3",
        "large rotations; Zupan and Saje 2011, eq. (29)",
        10.0,
        lambda t: [2.0 + np.sin(2 * t) ** 2, t, 5.0 * t**3 - 4.0 * t],
        lambda t: [2 * np.sin(4 * t), np.ones_like(t), 15.0 * t**2 - 4.0],
    ),
    from_rotation_vector(
        "zupan-saje-3-axis",
        "159 full turns about a fixed axis; Zupan and Saje 2011, figure 6",
        10.0,
        lambda t: [_ZERO, _ZERO, 100.0 * t + 0.01],
        lambda t: [_ZERO, _ZERO, np.full_like(t, 100.0)],
    ),
    from_rotation_vector(
        "zupan-saje-3-line",
        "five full turns about a moving axis; Zupan and Saje 2011, section 5.4",
        10.0,
        lambda t: [t + 1.0, 2.0 * t, 3.0 * t],
        lambda t: [np.ones_like(t), np.full_like(t, 2.0), np.full_like(t, 3.0)],
    ),
]

#: Rotation from angular velocity: all problems with their usual data, by name.
ROTATIONS: dict[str, RotationProblem] = {p.name: p for p in _PROBLEMS}


# --- rigid bodies ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RigidProblem:
    """A system of rigid bodies with trusted values at some times; ``system.names[0]`` is the body they are of."""

    name: str
    #: One sentence with the source.
    about: str
    system: System
    #: End of the usual time interval, which starts at 0.
    t_end: float
    #: Where the trusted values come from.
    source: str = ""
    #: Time to trusted values: "quaternion", "Omega", "position", "velocity", "energy", "cos_theta", "phi" (precession).
    reference: Mapping[float, Mapping[str, float | tuple[float, ...]]] = field(default_factory=dict)
    #: Trusted periods in s, by what they are the period of.
    periods: Mapping[str, float] = field(default_factory=dict)


_TAYLOR = "113-bit Taylor series and extrapolation, which agree to 20 digits"


def heavy_top(spin: float = 20.0) -> RigidProblem:
    """Lang 2010, example A: slightly unsymmetric top; its moments 50, 42, 10 are about the fixed point."""
    arm, mass = 1.0, 11.09  # the paper gives their product
    orientation = (0.5 * np.sqrt(3.0), 0.5, 0.0, 0.0)
    top = Body(
        "top",
        mass=mass,
        inertia=(50.0 - mass * arm**2, 42.0 - mass * arm**2, 10.0),
        position=rotations.rotate(orientation, (0.0, 0.0, arm)),
        orientation=orientation,
        angular_velocity=(0.0, 0.0, spin),
    )
    usual: dict[float, dict[str, float | tuple[float, ...]]] = {
        60.0: {
            "quaternion": (-0.18732629467259282, 0.507964761380994, 0.26684559302759603, 0.7972917220196992),
            "Omega": (0.7560099780452241, -0.27599588076720194, 20.006758534296225),
            "energy": 2054.39645,
        }
    }
    about = "heavy, slightly unsymmetric top; Lang 2010, example A"
    reference = usual if spin == 20.0 else {}
    return RigidProblem("lang-a", about, _pinned(top), 60.0, _TAYLOR if reference else "", reference)


def tennis_racket(disturbance: float = 1e-3) -> RigidProblem:
    """Lang 2010, example B: rotation about the axis of the medial moment, pinned at the centre of mass."""
    racket = Body(
        "racket",
        mass=1.0,
        inertia=(41.6, 11.6, 50.0),
        orientation=("313", (np.pi / 3.0, np.pi / 4.0, np.pi / 2.0)),
        angular_velocity=(50.0, disturbance, disturbance),
    )
    known: dict[float, tuple[float, float, dict[str, float | tuple[float, ...]]]] = {
        1e-1: (
            0.4,
            1.003382714578098,
            {
                "quaternion": (0.19119978991493936, 0.8762250763142138, -0.10822804676018422, -0.428904355152881),
                "Omega": (-49.999888082757685, 0.137039063308772, 0.13143292056665506),
                "energy": 52000.308,
            },
        ),
        1e-3: (
            2.0,
            1.562304870309641,
            {
                "quaternion": (0.8287893359879687, -0.3823394154241182, 0.40813801951079365, 0.01865917992765646),
                "Omega": (-49.79004360706634, 4.054150553259507, 3.6903270104668295),
                "energy": 52000.0000308,
            },
        ),
    }
    about = f"tennis racket with a disturbance of {disturbance:g} rad/s; Lang 2010, example B"
    system = _pinned(racket, gravity=(0.0, 0.0, 0.0))
    if disturbance not in known:
        return RigidProblem("lang-b", about, system, 1.0)
    t_end, period, values = known[disturbance]
    return RigidProblem("lang-b", about, system, t_end, _TAYLOR, {t_end: values}, {"Omega": period})


def bruls_top() -> RigidProblem:
    """Fast heavy top whose symmetry axis is the second of the body, horizontal at the start."""
    top = Body(
        "top",
        mass=15.0,
        inertia=(0.234375, 0.46875, 0.234375),
        position=(0.0, 1.0, 0.0),
        angular_velocity=(0.0, 150.0, -4.61538),
    )
    about = "fast heavy top of O. Brüls, A. Cardona and M. Arnold, Mech. Mach. Theory 48 (2012) 121-137"
    return RigidProblem(
        "bruls-top",
        about,
        _pinned(top),
        2.0,
        "recomputed with independent code; the position at t = 2 to 8 digits, the rest to 12",
        {
            1.0: {"position": (0.173343964098, 0.640088592070, -0.748490791134), "energy": 5435.6967908654},
            2.0: {
                "position": (-0.15041682, -0.72416559, -0.67302227),
                "quaternion": (0.122947135042, -0.491079892551, 0.350430030343, -0.787986887550),
                "energy": 5435.6967908654,
            },
        },
    )


def lagrange_top() -> RigidProblem:
    """Symmetric heavy top, released with its spin alone: I1 = 1 and I3 = 1/2 about the fixed point, m g l = 1."""
    tilt, arm, mass = np.pi / 3.0, 0.5, 2.0
    top = Body(
        "top",
        mass=mass,
        inertia=(1.0 - mass * arm**2, 1.0 - mass * arm**2, 0.5),
        position=(0.0, -arm * np.sin(tilt), arm * np.cos(tilt)),
        orientation=("313", (0.0, tilt, 0.0)),
        angular_velocity=(0.0, 0.0, 4.0),
    )
    return RigidProblem(
        "lagrange-top",
        "Lagrange's top, I1 = 1, I3 = 1/2, m g l = 1, from a tilt of 60 deg with psi' = 4, theta' = phi' = 0",
        _pinned(top, gravity=(0.0, 0.0, -1.0)),
        10.0,
        "elliptic integrals",
        {
            1.0: {"cos_theta": 0.1945497278032147, "phi": 0.24884636033185864},
            10.0: {"cos_theta": 0.495094238862824, "phi": 5.056753265135053},
        },
        {"nutation": 3.371500709625192},
    )


def free_top(moments: tuple[float, float] = (1.0, 0.5), angular_velocity: ArrayLike = (0.4, 0.0, 2.0)) -> RigidProblem:
    """Symmetric top thrown in the air: `free_symmetric_top` in rotation, a parabola in translation."""
    rotation = free_symmetric_top(moments, angular_velocity)
    velocity, gravity = np.array([1.0, -2.0, 30.0]), np.array([0.0, 0.0, -9.81])
    body = Body(
        "top",
        mass=2.0,
        inertia=(moments[0], moments[0], moments[1]),
        velocity=velocity,
        angular_velocity=rotation.body_rates(0.0),
    )
    reference: dict[float, dict[str, float | tuple[float, ...]]] = {
        t: {
            "quaternion": tuple(rotation.quaternion(t).tolist()),
            "Omega": tuple(rotation.body_rates(t).tolist()),
            "position": tuple((t * velocity + 0.5 * t**2 * gravity).tolist()),
            "velocity": tuple((velocity + t * gravity).tolist()),
        }
        for t in (1.0, rotation.t_end)
    }
    system = System([body], gravity=gravity)
    return RigidProblem(
        "free-top", "Euler's regular precession in free flight", system, rotation.t_end, "closed form", reference
    )


def _pinned(body: Body, gravity: ArrayLike = (0.0, 0.0, -9.81)) -> System:
    """The body with the origin as its fixed point."""
    return System([body], [Spherical("ground", body.name, at=(0.0, 0.0, 0.0))], gravity=gravity)


#: Rigid bodies: all problems with their usual data, by name.
RIGID: dict[str, RigidProblem] = {
    p.name: p for p in (heavy_top(), tennis_racket(), bruls_top(), lagrange_top(), free_top())
}


# --- rods ------------------------------------------------------------------------------------------------------------


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


def lla_test1(segments: int = 10, **options: Any) -> RodProblem:
    """Lang, Linn, Arnold 2011, Test 1: the undamped rubber pendulum with curvature (ii); options are those of `Rod`."""
    given: dict[str, Any] = {"curvature": "half-sine", **options}
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
    return RodProblem("lla-test1", about, system, 1.0, _GRID if usual else "", reference if usual else {})


def lla_rubber(data: str = "as-computed", segments: int = 10, **options: Any) -> RodProblem:
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
    return RodProblem(name, about, system, 10.0, _GRID if usual else "", references[data] if usual else {})


def lla_steel(data: str = "as-computed", segments: int = 10, **options: Any) -> RodProblem:
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
    return RodProblem(name, about, system, 10.0, _GRID if usual else "", reference if usual else {})


def steel_string(segments: int = 20, **options: Any) -> RodProblem:
    """The steel string without damping; options are those of `Rod`."""
    return RodProblem(
        "steel-string",
        f"{_STRING}, undamped",
        _rod(segments, Circle(radius=1e-3), STEEL, Clamped(), options),
        1.0,
        "continuum, to 5 digits",
        {0.5: {"end": (0.0, 0.98002, -0.18731)}, 1.0: {"end": (0.0, 0.92588, -0.34938)}},
    )


def rubber_pendulum(segments: int = 40, **options: Any) -> RodProblem:
    """The pendulum of Test 1 in the continuum; options are those of `Rod`."""
    return RodProblem(
        "rubber-pendulum",
        f"{_PENDULUM}, undamped",
        _rod(segments, Circle(radius=5e-3), RUBBER, Hinged(), options),
        1.0,
        "continuum, to 5 digits",
        {0.5: {"end": (0.0, -0.23312, -0.91944)}, 1.0: {"end": (0.0, -0.94010, -0.09910)}},
    )


def spin_up(segments: int = 20, **options: Any) -> RodProblem:
    """Simo and Vu-Quoc's beam, clamped to a shaft that comes up to 6 rad/s in 15 s; options are those of `Rod`."""

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
        **options,
    )
    about = "beam on a shaft that is spun up to 6 rad/s; Simo and Vu-Quoc 1986"
    steady: _References = {20.0: {"extension": 5.143174550e-4}}
    source = "closed form of the steady state; a small vibration remains"
    return RodProblem("spin-up", about, System(rods=[rod], gravity=(0.0, 0.0, 0.0)), 20.0, source, steady)


def bend_45(force: float = 600.0, segments: int = 20, **options: Any) -> RodProblem:
    """Bathe and Bolourchi's cantilever, an arc of 45 deg under a dead force at its end; an equilibrium."""
    tips = {300.0: (58.77912249, 22.24478095, 40.19189167), 600.0: (47.15043857, 15.68480053, 53.47485879)}
    rod = Rod(
        "rod",
        segments=segments,
        start=Clamped(),
        initial=Arc((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), 100.0, 0.25 * np.pi),
        stiffness=(5e6, 5e6, 1e7, 1e7 / 12.0, 1e7 / 12.0, 5e6 / 6.0),
        density_per_length=1.0,
        rotary_inertia=(1.0 / 12.0, 1.0 / 12.0, 1.0 / 6.0),
        **options,
    )
    load = RodLoad("rod", force=(0.0, 0.0, force))
    known: _References = {0.0: {"end": tips[force]}} if force in tips else {}
    about = f"45-degree bend under a force of {force:g}; Bathe and Bolourchi 1979"
    system = System(rods=[rod], forces=[load], gravity=(0.0, 0.0, 0.0))
    return RodProblem("bend-45", about, system, 0.0, "continuum" if known else "", known)


_GRID = "of this grid, by independent code; its methods agree to 1e-9 or better"


def _rod(segments: int, section: Circle, material: Material, start: Any, options: Mapping[str, Any]) -> System:
    """A rod of 1 m from the origin along y, under gravity."""
    line = Straight((0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    return System(rods=[Rod("rod", 1.0, segments, section, material, start, initial=line, **options)])


def _performance(data: str) -> dict[str, Any]:
    """What the two data sets of the performance examples differ in, and what they share."""
    printed = _check.choice("data", data, DATA_SETS) == "as-printed"
    return {
        "curvature": "tangent",
        "inertia": "disc" if printed else "cylinder",
        "damping": Damping(shear=0.1, extension=200.0 if printed else 2.0, bending=2e-4, torsion=8e-6),
    }


#: Rods: all problems with their usual data, by name.
RODS: dict[str, RodProblem] = {
    p.name: p
    for p in (
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
}


@overload
def get(name: Literal["lang-a", "lang-b", "bruls-top", "lagrange-top", "free-top"]) -> RigidProblem: ...
@overload
def get(
    name: Literal[
        "lla-test1",
        "lla-rubber",
        "lla-rubber-as-printed",
        "lla-steel",
        "lla-steel-as-printed",
        "steel-string",
        "rubber-pendulum",
        "spin-up",
        "bend-45",
    ],
) -> RodProblem: ...
@overload
def get(name: str) -> Any: ...
def get(name: str) -> RotationProblem | RigidProblem | RodProblem:
    """The problem of that name, of `ROTATIONS`, `RIGID` or `RODS`, with its usual data."""
    everything: dict[str, Any] = {**ROTATIONS, **RIGID, **RODS}
    return everything[_check.choice("name", name, everything)]  # type: ignore[no-any-return]
