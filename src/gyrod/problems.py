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
>>> pendulum = gd.problems.get("pendulum")
>>> pendulum.freedoms, pendulum.reference[1.0]["mass"]["position"]
(1, (-0.9862917511318753, -0.1650108531255412, 0.0))
>>> column = gd.problems.get("self-weight-column")
>>> column.kind, round(column.reference["critical load"], 6)
('follow', 7.837347)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import _check, rotations
from gyrod.model import (
    Arc,
    Body,
    Bushing,
    Circle,
    Clamped,
    Cylindrical,
    Damping,
    Distance,
    Fixed,
    Free,
    Helical,
    Hinged,
    Joint,
    Material,
    Planar,
    Prismatic,
    Revolute,
    Rod,
    RodLoad,
    RotatingFrame,
    Spherical,
    Straight,
    System,
    Torque,
    Universal,
)

Array = NDArray[np.float64]
T = TypeVar("T")


class _Named(Mapping[str, T]):
    """Problems by name, made when they are asked for the first time: importing them costs nothing."""

    def __init__(self, make: Callable[[], Iterable[T]]) -> None:
        self._make = make

    @cached_property
    def _all(self) -> dict[str, T]:
        return {problem.name: problem for problem in self._make()}  # type: ignore[attr-defined]

    def __getitem__(self, name: str) -> T:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


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


#: Links of a chain, loops of a linkage.
MOST = 100_000


def coning(angle: float = np.deg2rad(1.0), rate: float = 20.0 * np.pi) -> RotationProblem:
    """Classical coning: an axis in the plane, tilted by ``angle``, goes round with ``rate`` (rad/s)."""
    angle, rate = _check.number("angle", angle), _check.number("rate", rate)
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
    i1, i3 = (_check.positive("moments", m) for m in _check.array("moments", moments, (2,)).reshape(2))
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
    spin = _check.number("spin", spin)
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
    disturbance = _check.number("disturbance", disturbance)
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


def fast_top() -> RigidProblem:
    """Xu and Zhong 2016, section 5.1: 20 turns a second, from rest of the axis; J1 = J2 = 0.002, J3 = 0.0008."""
    return RigidProblem(
        "xu-zhong-fast",
        "fast symmetric top, released with its spin alone; Xu and Zhong 2016, section 5.1",
        _pinned(_symmetric_top(1.0, 0.04, (0.002, 0.0008), np.pi / 6.0, 0.0, 40.0 * np.pi)),
        1.4,
        "elliptic functions, quadrature with 40 digits",
        {
            0.7: {
                "quaternion": (0.929982694477993623, -0.25160650179967408, 0.10304559543127841, 0.247402428213214324),
                "position": (0.00268660487950381419, 0.0207586738414574269, 0.0340860618811475118),
                "cos_theta": 0.852151547028687796,
                "phi": 3.01288723249816586,
                "energy": 6.65637518514220324,
            },
            1.4: {
                "quaternion": (0.832670966081034264, 0.192512953860570316, -0.224439285873318609, 0.468214514723998893),
                "position": (-0.00773973741798104898, -0.0212308542875497114, 0.0330052615642042152),
                "cos_theta": 0.825131539105105381,
                "phi": 5.93360638020540451,
                "energy": 6.65637518514220324,
            },
        },
        {"nutation": 0.1449934566037027122},
    )


def regular_precession() -> RigidProblem:
    """Xu and Zhong 2016, section 5.2: a cone on its tip that precesses with 10 rad/s at a constant tilt of 60 deg."""
    density, height, tilt, rate = 2700.0, 0.1, np.pi / 3.0, 10.0
    r, arm = 0.5 * height, 0.75 * height
    mass = density * np.pi * r**2 * height / 3.0
    J1, J3 = 0.6 * mass * (0.25 * r**2 + height**2), 0.3 * mass * r**2
    # (80), with J3 where J2 is printed: 135.6.
    psi_rate = mass * 9.81 * arm / (J3 * rate) + (J1 - J3) / J3 * rate * np.cos(tilt)
    top = _symmetric_top(mass, arm, (J1, J3), tilt, rate, psi_rate + rate * np.cos(tilt))

    def at(t: float) -> dict[str, float | tuple[float, ...]]:
        phi, s, c = rate * t, np.sin(tilt), np.cos(tilt)
        return {
            "position": (arm * s * np.sin(phi), -arm * s * np.cos(phi), arm * c),
            "quaternion": tuple(rotations.quaternion_from_euler((phi, tilt, psi_rate * t), "313").tolist()),
            "cos_theta": c,
            "phi": phi,
        }

    about = "regular precession of a cone; Xu and Zhong 2016, section 5.2"
    return RigidProblem("xu-zhong-precession", about, _pinned(top), 2.0, "closed form", {t: at(t) for t in (0.5, 2.0)})


def _symmetric_top(
    mass: float, arm: float, moments: tuple[float, float], tilt: float, precession: float, spin: float
) -> Body:
    """A top about the origin with (J1 = J2, J3) about it, from phi = psi = 0, theta' = 0; Omega3 is the spin."""
    about_centre = moments[0] - mass * arm**2
    return Body(
        "top",
        mass=mass,
        inertia=(about_centre, about_centre, moments[1]),
        position=(0.0, -arm * np.sin(tilt), arm * np.cos(tilt)),
        orientation=("313", (0.0, tilt, 0.0)),
        angular_velocity=(0.0, precession * np.sin(tilt), spin),
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
RIGID: Mapping[str, RigidProblem] = _Named(
    lambda: (
        heavy_top(),
        tennis_racket(),
        bruls_top(),
        lagrange_top(),
        free_top(),
        fast_top(),
        regular_precession(),
    )
)


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
RODS: Mapping[str, RodProblem] = _Named(
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


# --- mechanisms ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MechanismProblem:
    """Bodies and joints with trusted values at some times; without any it is known by its constant energy."""

    name: str
    #: One sentence with the source.
    about: str
    system: System
    #: End of the usual time interval, which starts at 0.
    t_end: float
    #: Motions left, and constraints that say nothing new, at a configuration in general position.
    freedoms: int
    redundant: int = 0
    #: Where the trusted values come from.
    source: str = ""
    #: Time to body to trusted values: "position", "velocity", "quaternion", "Omega".
    reference: Mapping[float, Mapping[str, Mapping[str, tuple[float, ...]]]] = field(default_factory=dict)
    #: Trusted total energy, if there is one; gravity's is zero at the origin.
    energy: float | None = None
    #: Trusted periods in s, by what they are the period of.
    periods: Mapping[str, float] = field(default_factory=dict)
    #: Whether the energy stays what it is.
    conservative: bool = True


_Bodies = dict[float, dict[str, dict[str, tuple[float, ...]]]]
_DOWN = (0.0, -9.81, 0.0)
_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def pendulum() -> MechanismProblem:
    """IFToMM A01: a point mass on a massless link of 1 m, from rest in the horizontal."""
    path = {
        1.0: (-0.9862917511318753, -0.1650108531255412),
        10.0: (0.2750874625761169, -0.9614192050991250),
        100.0: (0.1815133514270314, -0.9833884803340575),
        2000.0: (-0.8146030685890322, -0.5800188278369355),
    }
    mass = Body("mass", mass=1.0, inertia=(0.0, 0.0, 0.0), position=_X)
    return MechanismProblem(
        "pendulum",
        "point mass on a massless link, from rest in the horizontal; IFToMM benchmark A01",
        System([mass], [Revolute("ground", "mass", at=(0.0, 0.0, 0.0), axis=_Z, name="pivot")], gravity=_DOWN),
        2000.0,
        1,
        source="elliptic functions",
        reference={t: {"mass": {"position": (x, y, 0.0)}} for t, (x, y) in path.items()},
        energy=0.0,
        periods={"swing": 2.3678419475762374},
    )


def four_bar(loops: int = 2) -> MechanismProblem:
    """IFToMM A02: parallelograms of uniform links of 1 m and 1 kg side by side, from upright with 1 m/s at the top."""
    loops = _check.whole("loops", loops, 1, MOST)
    tips = {
        2: {
            1.0: (-0.1950203019494351, -0.9807992056621738),
            4.0: (0.1176161023768086, 0.9930591384513251),
            10.0: (0.3284581115408154, 0.9445185381786010),
        },
        40: {10.0: (0.1805122266867284, 0.9835727405823116), 20.0: (0.4109011537629452, 0.9116799009719806)},
    }
    path = tips.get(loops, {})
    return MechanismProblem(
        "four-bar",
        f"{loops} parallelograms in a row, singular when they lie flat; IFToMM benchmark A02",
        _parallelograms(loops),
        max(path, default=10.0),
        1,
        3 * loops,
        source="one equation for the angle, by independent code" if path else "",
        # The trusted path is that of the first upright's upper end.
        reference={t: {"upright0": {"position": (0.5 * x, 0.5 * y, 0.0)}} for t, (x, y) in path.items()},
        energy=0.5 * (loops + (loops + 1) / 3.0) + 9.81 * (loops + 0.5 * (loops + 1)),
    )


def driven_four_bar(amplitude: float = 1.0) -> MechanismProblem:
    """One parallelogram whose first upright is led: its angle from the vertical is amplitude sin(t)."""
    amplitude = _check.number("amplitude", amplitude)

    def place(angle: float) -> dict[str, dict[str, tuple[float, ...]]]:
        s, c = np.sin(angle), np.cos(angle)
        at = {"upright0": (0.5 * s, 0.5 * c), "upright1": (1.0 + 0.5 * s, 0.5 * c), "coupler0": (0.5 + s, c)}
        return {name: {"position": (float(x), float(y), 0.0)} for name, (x, y) in at.items()}

    drive = (
        lambda t: -amplitude * np.sin(t),
        lambda t: -amplitude * np.cos(t),
        lambda t: amplitude * np.sin(t),
    )
    return MechanismProblem(
        "four-bar-driven",
        "parallelogram whose crank swings as prescribed",
        _parallelograms(1, amplitude, drive),
        10.0,
        0,
        3,
        source="closed form",
        reference={t: place(amplitude * np.sin(t)) for t in (1.0, 4.0, 10.0)},
        conservative=False,
    )


def _parallelograms(loops: int, speed: float = 1.0, drive: Any = None) -> System:
    """Uprights on ground at x = 0, 1, ..., couplers over them; the upper ends have the speed in x."""
    tall = {"mass": 1.0, "inertia": (1.0 / 12.0, 1e-4, 1.0 / 12.0)}
    flat = {"mass": 1.0, "inertia": (1e-4, 1.0 / 12.0, 1.0 / 12.0)}
    bodies = [
        Body(
            f"upright{i}",
            **tall,  # type: ignore[arg-type]
            position=(i, 0.5, 0.0),
            velocity=(0.5 * speed, 0.0, 0.0),
            angular_velocity=(0.0, 0.0, -speed),
        )
        for i in range(loops + 1)
    ] + [
        Body(f"coupler{i}", **flat, position=(i + 0.5, 1.0, 0.0), velocity=(speed, 0.0, 0.0))  # type: ignore[arg-type]
        for i in range(loops)
    ]
    joints = [
        Revolute("ground", f"upright{i}", at=(i, 0.0, 0.0), axis=_Z, name=f"foot{i}", drive=None if i else drive)
        for i in range(loops + 1)
    ]
    for i in range(loops):
        joints += [
            Revolute(f"upright{i + k}", f"coupler{i}", at=(i + k, 1.0, 0.0), axis=_Z, name=f"{side}{i}")
            for k, side in enumerate(("left", "right"))
        ]
    return System(bodies, joints, gravity=_DOWN)


def slider_crank() -> MechanismProblem:
    """IFToMM's spatial slider-crank; the crank turns about x, the slider moves on the x axis."""
    along = np.array([0.2, -0.1, -0.2]) / 0.3
    across = np.array([0.0, 2.0, -1.0]) / np.sqrt(5.0)
    frame = np.column_stack([along, across, np.cross(along, across)])
    omega = np.array([1.92, -0.96, 0.48])
    top, end = np.array([0.0, 0.1, 0.2]), np.array([0.2, 0.0, 0.0])
    bodies = [
        Body(
            "crank",
            mass=0.12,
            inertia=(1e-4, 1e-4, 1e-4),
            position=(0.0, 0.1, 0.16),
            velocity=(0.0, -0.24, 0.0),
            angular_velocity=(6.0, 0.0, 0.0),
        ),
        Body(
            "rod",
            mass=0.5,
            inertia=(4e-4, 4e-3, 4e-3),
            position=0.5 * (top + end),
            orientation=frame,
            velocity=np.array([0.0, -0.48, 0.0]) + np.cross(omega, 0.15 * along),
            angular_velocity=frame.T @ omega,
        ),
        Body("slider", mass=2.0, inertia=(1e-4, 1e-4, 1e-4), position=end, velocity=(0.24, 0.0, 0.0)),
    ]
    joints = [
        Revolute("ground", "crank", at=(0.0, 0.1, 0.12), axis=_X, name="bearing"),
        Spherical("crank", "rod", at=top, name="ball"),
        Universal("slider", "rod", at=end, axis=_X, axis2=across, name="cross"),
        Prismatic("ground", "slider", at=end, axis=_X, name="guide"),
    ]
    path = {
        0.1: 0.2267871885529,
        0.5: 0.1849526297778,
        1.0: 0.2117216613935,
        2.0: 0.2890851970670,
        5.0: 0.2407195737321,
    }
    return MechanismProblem(
        "slider-crank",
        "spatial slider-crank from a crank rate of 6 rad/s; IFToMM benchmark",
        System(bodies, joints),
        5.0,
        1,
        source="recomputed with independent code",
        reference={t: {"slider": {"position": (x, 0.0, 0.0)}} for t, x in path.items()},
    )


def top_on_a_stand() -> MechanismProblem:
    """`bruls_top` on a body that is fixed to ground, so that its ball is a joint between two bodies."""
    known = bruls_top()
    body = known.system.body("top")
    stand = Body("stand", mass=1.0, inertia=(1.0, 1.0, 1.0), position=(0.0, 0.0, -0.5))
    joints = [
        Fixed("ground", "stand", at=(0.0, 0.0, -1.0), name="foot"),
        Spherical("stand", "top", at=(0.0, 0.0, 0.0), name="ball"),
    ]
    values: _Bodies = {
        t: {"top": {k: x for k, x in row.items() if isinstance(x, tuple)}} for t, row in known.reference.items()
    }
    # The stand's own potential energy comes on top.
    return MechanismProblem(
        "bruls-top-on-a-stand",
        f"{known.about}, on a stand",
        System([stand, body], joints),
        2.0,
        3,
        source=known.source,
        reference=values,
        energy=5435.6967908654 - 0.5 * 9.81,
    )


def chain(links: int = 10) -> MechanismProblem:
    """Slender links of 0.1 m and 0.1 kg on ball joints, hinged at the origin, from rest along x."""
    links = _check.whole("links", links, 1, MOST)
    length, mass, radius = 0.1, 0.1, 5e-3
    transverse = mass * (3.0 * radius**2 + length**2) / 12.0
    inertia = (0.5 * mass * radius**2, transverse, transverse)
    bodies = [
        Body(f"link{i}", mass=mass, inertia=inertia, position=((i + 0.5) * length, 0.0, 0.0)) for i in range(links)
    ]
    names = ["ground", *(b.name for b in bodies)]
    joints = [Spherical(names[i], names[i + 1], at=(i * length, 0.0, 0.0), name=f"ball{i}") for i in range(links)]
    about = f"chain of {links} links, hinged at one end, from rest in the horizontal"
    return MechanismProblem("chain", about, System(bodies, joints), 1.0, 3 * links, energy=0.0)


def two_bodies() -> MechanismProblem:
    """Lang 2010, example C: two bodies on a ball joint, the first held to the origin by a bushing."""
    orientation = (0.5 * np.sqrt(3.0), 0.5, 0.0, 0.0)
    arms = np.array([1.0, 2.0, -3.0]), np.array([5.0, -6.0, -7.0])
    Omegas = np.array([3.0, 2.0, 1.0]), np.array([24.0, 15.0, 12.0])
    joint = rotations.rotate(orientation, arms[0])
    bodies = [
        Body(
            name,
            mass=m,
            inertia=(41.6, 11.6, 50.0),
            position=x,
            orientation=orientation,
            velocity=v,
            angular_velocity=Omega,
        )
        for name, m, x, v, Omega in (
            ("first", 10.0, np.zeros(3), np.zeros(3), Omegas[0]),
            (
                "second",
                20.0,
                joint - rotations.rotate(orientation, arms[1]),
                rotations.rotate(orientation, np.cross(Omegas[0], arms[0]) - np.cross(Omegas[1], arms[1])),
                Omegas[1],
            ),
        )
    ]
    system = System(
        bodies,
        [Spherical("first", "second", at_a=arms[0], at_b=arms[1], name="ball")],
        forces=[Bushing("ground", "first", stiffness=1e4)],
        gravity=(0.0, 0.0, 0.0),
    )
    reference: _Bodies = {
        0.25: {
            "first": {
                "position": (-1.1108898471960835, 0.7158132452392706, 0.8350439764817705),
                "velocity": (-33.34498094169382, -10.128952763448165, 5.236221777637195),
                "quaternion": (0.7643758929465447, -0.28582405679274525, 0.4815773950186273, -0.319558000131092),
                "Omega": (-0.6203615342899547, 1.2835276813746996, 80.54661250636681),
            },
            "second": {
                "position": (4.147079264864119, -2.0067040297379606, -9.34801388623602),
                "velocity": (-10.908567593777793, 279.0011994575125, 55.89500586019626),
                "quaternion": (0.13541598312610903, -0.7957467972062088, -0.27436309580394425, -0.5226609205889855),
                "Omega": (0.7823938089597322, 18.412117815546136, 9.865597814486286),
            },
        }
    }
    return MechanismProblem(
        "lang-c",
        "two bodies on a ball joint, held by a bushing, chaotic; Lang 2010, example C",
        system,
        0.25,
        9,
        source="two runs of Taylor series with 320 bits, which agree in all digits shown",
        reference=reference,
        energy=995901.2,
    )


def joint_tree() -> MechanismProblem:
    """Every kind of joint once: three branches from ground, and a rod of fixed length between two of them."""
    J = np.array([[0.05, 0.01, -0.005], [0.01, 0.07, 0.008], [-0.005, 0.008, 0.04]])
    place = {
        "arm": (0.5, 0.0, 0.0),
        "wrist": (1.1, 0.2, 0.0),
        "plunger": (1.4, 0.1, -0.4),
        "sleeve": (0.0, 1.0, 0.0),
        "nut": (0.3, 1.3, 0.2),
        "plate": (0.5, 1.5, 0.1),
        "puck": (0.0, -1.0, 0.0),
        "bob": (0.2, -1.1, -0.6),
    }
    bodies = [
        Body(name, mass=0.8 + 0.1 * i, inertia=(1.0 + 0.1 * i) * J, position=x, orientation=(0.3 * i, -0.2, 0.1 * i))
        for i, (name, x) in enumerate(place.items())
    ]
    joints = [
        Revolute("ground", "arm", at=(0.0, 0.0, 0.0), axis=(0.2, 1.0, 0.1), stiffness=60.0, rest=0.2, name="revolute"),
        Universal("arm", "wrist", at=(0.8, 0.1, 0.0), axis=_Z, axis2=_Y, name="universal"),
        Prismatic("wrist", "plunger", at=(1.3, 0.1, -0.2), axis=(0.1, 0.2, 1.0), stiffness=80.0, name="prismatic"),
        Cylindrical(
            "ground",
            "sleeve",
            at=(0.0, 1.0, 0.1),
            axis=_X,
            stiffness=(40.0, 30.0),
            rest=(0.1, -0.1),
            name="cylindrical",
        ),
        Helical("sleeve", "nut", at=(0.1, 1.1, 0.1), axis=(0.0, 1.0, 0.3), pitch=0.3, stiffness=40.0, name="helical"),
        Fixed("nut", "plate", at=(0.4, 1.4, 0.1), name="fixed"),
        Planar("ground", "puck", at=(0.0, -1.0, 0.0), axis=_Z, name="planar"),
        Spherical("puck", "bob", at=(0.1, -1.0, -0.2), name="spherical"),
        Distance("bob", "plunger", at=(0.2, -1.1, -0.6), to=(1.4, 0.1, -0.4), name="distance"),
    ]
    return MechanismProblem(
        "joint-tree", "every kind of joint once, from rest, with springs in some", System(bodies, joints), 10.0, 12
    )


def rssr() -> MechanismProblem:
    """Spatial crank and rocker, skew axes, a coupler between two balls that may spin about itself."""
    c, r = np.array([0.0, 0.0, 0.5]), np.array([1.6, 0.3, 1.0])
    foot = np.array([1.6, 0.3, 0.0])
    line = (r - c) / np.linalg.norm(r - c)
    across = np.cross(line, _Y) / np.linalg.norm(np.cross(line, _Y))
    frame = np.column_stack([line, np.cross(across, line), across])
    bodies = [
        Body("crank", mass=1.0, inertia=(0.03, 0.03, 0.002), position=0.5 * c),
        Body("coupler", mass=1.5, inertia=(0.004, 0.4, 0.4), position=0.5 * (c + r), orientation=frame),
        Body("rocker", mass=1.2, inertia=(0.1, 0.1, 0.004), position=0.5 * (foot + r)),
    ]
    joints = [
        Revolute("ground", "crank", at=(0.0, 0.0, 0.0), axis=_Y, name="drive shaft"),
        Spherical("crank", "coupler", at=c, name="first ball"),
        Spherical("coupler", "rocker", at=r, name="second ball"),
        Revolute("rocker", "ground", at=foot, axis=(0.3, 1.0, 0.2), name="rocker shaft"),
    ]
    # Upright it would stand still: gravity leans.
    system = System(bodies, joints, gravity=(2.0, 1.0, -9.6))
    return MechanismProblem("rssr", "spatial four-bar linkage RSSR, from rest", system, 10.0, 2)


def bennett(ratio: float = 2.0, twist: float = 0.4) -> MechanismProblem:
    """Bennett's linkage: four skew hinges that move though they should not, since a/sin(alpha) = b/sin(beta)."""
    ratio, twist = _check.positive("ratio", ratio), _check.positive("twist", twist)
    if not ratio * np.sin(twist) <= 1.0:
        raise ValueError(f"ratio = {ratio:g} and twist = {twist:g} make no linkage: ratio sin(twist) is above 1.")
    a, alpha = 1.0, twist
    b = ratio * a
    beta = np.pi - np.arcsin(ratio * np.sin(alpha))
    angle = 1.9
    # Angles at the hinges of opposite corners are equal; those of neighbours obey Bennett's relation.
    half = np.sin(0.5 * (beta + alpha)) / np.sin(0.5 * (beta - alpha))
    other = 2.0 * np.arctan2(half, np.tan(0.5 * angle))
    frames = [np.eye(4)]
    for length, turn, joint in ((a, alpha, angle), (b, beta, other), (a, alpha, -angle), (b, beta, -other)):
        frames.append(frames[-1] @ _denavit(length, turn, joint))
    at, axes = [f[:3, 3] for f in frames[:4]], [f[:3, 2] for f in frames[:4]]
    names = ["ground", "short", "long", "rocker"]
    bodies = []
    for i, name in enumerate(names[1:]):
        middle = 0.5 * (at[i] + at[(i + 1) % 4])
        bodies.append(Body(name, mass=1.0, inertia=(0.1, 0.12, 0.15), position=middle))
    corners = ((0, "ground", "short"), (1, "short", "long"), (2, "long", "rocker"), (3, "rocker", "ground"))
    joints = [Revolute(p, q, at=at[i], axis=axes[i], name=f"hinge{i}") for i, p, q in corners]
    return MechanismProblem(
        "bennett", "Bennett's overconstrained linkage, from rest", System(bodies, joints), 10.0, 1, 3
    )


def _denavit(length: float, twist: float, angle: float) -> Array:
    """From one hinge to the next: a turn by ``angle`` about z, then ``length`` along x and a twist about it."""
    ca, sa, ct, st = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
    return np.array(
        [
            [ca, -sa * ct, sa * st, length * ca],
            [sa, ca * ct, -ca * st, length * sa],
            [0.0, st, ct, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def platform() -> MechanismProblem:
    """Stewart's platform on six legs with springs: universal joint, slider, ball."""
    bodies = [
        Body("platform", mass=5.0, inertia=(0.2, 0.2, 0.4), position=(0.0, 0.0, 1.0), angular_velocity=(0.0, 0.0, 0.0))
    ]
    joints: list[Joint] = []
    for i in range(6):
        low, high = np.pi / 3.0 * (i + 0.2 * (-1) ** i), np.pi / 3.0 * (i + 0.35 * (-1) ** (i + 1))
        foot = np.array([np.cos(low), np.sin(low), 0.0])
        head = np.array([0.6 * np.cos(high), 0.6 * np.sin(high), 1.0])
        line = head - foot
        across = np.cross(line, (-np.sin(low), np.cos(low), 0.0))
        first = np.cross(across, line)
        frame = np.column_stack([v / np.linalg.norm(v) for v in (first, across, np.cross(first, across))])
        for part, fraction, mass in (("barrel", 0.3, 0.6), ("piston", 0.75, 0.3)):
            bodies.append(
                Body(
                    f"{part}{i}",
                    mass=mass,
                    inertia=mass * np.array([0.02, 0.02, 0.002]),
                    position=foot + fraction * line,
                    orientation=frame,
                )
            )
        joints += [
            Universal("ground", f"barrel{i}", at=foot, axis=first, axis2=across, name=f"foot{i}"),
            Prismatic(
                f"barrel{i}",
                f"piston{i}",
                at=foot + 0.5 * line,
                axis=line,
                stiffness=200.0 + 40.0 * i,
                name=f"slider{i}",
            ),
            Spherical(f"piston{i}", "platform", at=head, name=f"ball{i}"),
        ]
    return MechanismProblem("platform", "Stewart's platform on springs, from rest", System(bodies, joints), 10.0, 6)


#: Mechanisms: all problems with their usual data, by name.
MECHANISMS: Mapping[str, MechanismProblem] = _Named(
    lambda: (
        pendulum(),
        four_bar(),
        driven_four_bar(),
        slider_crank(),
        top_on_a_stand(),
        chain(),
        two_bodies(),
        joint_tree(),
        rssr(),
        bennett(),
        platform(),
    )
)


# --- rods at rest ----------------------------------------------------------------------------------------------------


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
    quantities: Callable[[Any], dict[str, Any]] = field(repr=False)
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


def _unit_rod(segments: int, options: Mapping[str, Any], **given: Any) -> Rod:
    """A rod of 1 m along x with EI = 1 N m² in every plane that hardly shears or stretches, clamped at its start."""
    usual: dict[str, Any] = {
        "start": Clamped(),
        "initial": Straight((0.0, 0.0, 0.0), _X),
        "stiffness": (_STIFF, _STIFF, _STIFF, 1.0, 1.0, 1.0),
        "density_per_length": 1.0,
        "rotary_inertia": (1e-4, 1e-4, 2e-4),
    }
    return Rod("rod", segments=segments, **{**usual, **given, **options})


def elastica(load: float = 10.0, segments: int = 100, **options: Any) -> StaticProblem:
    """Cantilever under a dead force across its end, load = P L²/EI; options are those of `Rod`."""
    load = _check.number("load", load)
    known = {
        1.0: (0.30172077379981, 0.056433236283377),
        2.0: (0.49345748039671, 0.16064172082517),
        5.0: (0.71379152361191, 0.38762836072443),
        10.0: (0.8106090248803, 0.55499559775375),
    }
    rod = _unit_rod(segments, options)

    def quantities(rest: Any) -> dict[str, Any]:
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


def post_buckling(angle: float = 60.0, segments: int = 100, **options: Any) -> StaticProblem:
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
    bent = Arc((0.0, 0.0, 0.0), _X, _Y, 1.0 / turn, turn)
    rod = _unit_rod(segments, options, initial=bent, precurvature=(0.0, 0.0, 0.0), stiffness=_FLAT)

    def quantities(rest: Any) -> dict[str, Any]:
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


def roll_up(turns: float = 1.0, segments: int = 20, **options: Any) -> StaticProblem:
    """Cantilever that a moment at its end, ``turns`` 2π EI/L, rolls up into a circle; options are those of `Rod`."""
    turns = _check.number("turns", turns)
    phi = 2.0 * np.pi * turns
    rod = _unit_rod(segments, options)

    def quantities(rest: Any) -> dict[str, Any]:
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


def bend_45_at_rest(force: float = 600.0, segments: int = 100, **options: Any) -> StaticProblem:
    """The 45-degree bend of `bend_45` as a problem of statics; the end in m."""
    dynamic = bend_45(force, segments, **options)

    def quantities(rest: Any) -> dict[str, Any]:
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


def euler_column(segments: int = 100, **options: Any) -> StaticProblem:
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


def self_weight_column(segments: int = 100, **options: Any) -> StaticProblem:
    """Clamped column under its own weight; the critical load is that of w L³/EI."""
    rod = _unit_rod(segments, options, initial=Straight((0.0, 0.0, 0.0), _Z), stiffness=_FLAT)
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


def twist_buckling(segments: int = 100, **options: Any) -> StaticProblem:
    """Shaft on two hinges under couples about its line at both ends; the critical load is that of M L/EI."""
    rod = _unit_rod(segments, {"stiffness": _TWISTED, **options}, start=Clamped("hub"), end=Hinged())
    hub = Body("hub", mass=1e-2, inertia=(1e-4, 1e-4, 1e-4))
    forces = [
        Torque("hub", (-1.0, 0.0, 0.0), frame="space"),
        RodLoad("rod", moment=(1.0, 0.0, 0.0)),
        # Nothing else keeps the shaft from turning about its line.
        Bushing("ground", "hub", at_a=_Y, at_b=_Y, stiffness=(0.0, 0.0, 1e-3)),
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


def cardan_shaft(segments: int = 60, **options: Any) -> StaticProblem:
    """Shaft between two universal joints under a torque; the critical load is that of M L/EI.

    A universal joint turns the torque towards the shaft in one plane only: the shaft buckles before 2π. The first axes
    of the joints are parallel before the shaft is twisted, by M L/GJ with GJ = 4 EI.
    """
    rod = _unit_rod(segments, {"stiffness": _TWISTED, **options}, start=Clamped("fork"), end=Clamped("far fork"))
    small = {"mass": 1e-2, "inertia": (1e-4, 1e-4, 1e-4)}
    bodies = [
        Body("fork", **small, position=(0.0, 0.0, 0.0)),  # type: ignore[arg-type]
        Body("far fork", **small, position=_X),  # type: ignore[arg-type]
        Body("shaft", **small, position=_X),  # type: ignore[arg-type]
    ]
    joints = [
        Universal("ground", "fork", at=(0.0, 0.0, 0.0), axis=_Y, axis2=_Z, name="near joint"),
        Cylindrical("ground", "shaft", at=_X, axis=_X, name="bearing"),
        Universal("shaft", "far fork", at=_X, axis=_Y, axis2=_Z, name="far joint"),
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


def _first_bifurcation(path: Any) -> dict[str, Any]:
    """Value of the parameter where the path first loses its stability."""
    return {"critical load": next((float(e.value) for e in path.events if e.kind == "bifurcation"), np.nan)}


#: Ends, slenderness r/L and omega sqrt(rho A L^4/EI) of the first three bending modes; nu = 0.3, kappa = 5/6.
_TIMOSHENKO: dict[str, tuple[float, tuple[float, float, float]]] = {
    "cantilever": (0.02, (3.50264107031, 21.4698241797, 58.1498317065)),
    "free-free": (0.05, (20.3374179403, 48.9272793771, 83.1538947822)),
    "pinned-pinned": (0.02, (9.79053586029, 38.2667607342, 83.0865210446)),
    "clamped-clamped": (0.05, (18.8370827747, 44.329997783, 75.0768134207)),
}
_ENDS: dict[str, dict[str, Any]] = {
    "cantilever": {"start": Clamped()},
    "free-free": {"start": Free()},
    "pinned-pinned": {"start": Hinged(), "end": Hinged()},
    "clamped-clamped": {"start": Clamped(), "end": Clamped()},
}


def timoshenko(ends: str = "cantilever", segments: int = 100, **options: Any) -> StaticProblem:
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


def euler_bernoulli(segments: int = 100, **options: Any) -> StaticProblem:
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


def _planar_rod(segments: int, r: float, ends: Mapping[str, Any], options: Mapping[str, Any]) -> Rod:
    """EI = rho A = L = 1, slenderness r; bending about d1 alone is soft, so that its modes come first."""
    GA, other = 5.0 / 6.0 / 2.6 / r**2, 1e4
    return _unit_rod(
        segments,
        options,
        **ends,
        stiffness=(other * GA, GA, other / r**2, 1.0, other, other),
        rotary_inertia=(r**2, r**2, 2.0 * r**2),
    )


def _three_frequencies(modes: Any) -> dict[str, Any]:
    """The first three natural frequencies that are not those of a rigid motion."""
    omega = np.sort(np.abs(np.asarray(modes.omega)))
    found = omega[omega > 0.1]
    return {name: float(w) for name, w in zip(_NUMBERED, found, strict=False)}


def spinning_rod(segments: int = 40, **options: Any) -> StaticProblem:
    """The steady state of `spin_up`, at rest in a frame that turns at 6 rad/s; the extension in m."""
    rod = Rod(
        "rod",
        10.0,
        segments,
        start=Clamped(),
        initial=Straight((0.0, 0.0, 0.0), (10.0, 0.0, 0.0)),
        stiffness=(1e7, 1e7, 2.8e7, 1.4e4, 1.4e4, 1.4e4),
        density_per_length=1.2,
        rotary_inertia=(6e-4, 6e-4, 1.2e-3),
        **options,
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


def lla_test2(segments: int = 10, **options: Any) -> StaticProblem:
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
        initial=Straight((0.0, 0.0, 0.0), _Y),
        **given,
    )

    def quantities(path: Any) -> dict[str, Any]:
        return {f"x(t = {t:g})": path.at(t)["rod"].positions[:6] for t in _TEST_2}

    usual = segments == 10 and given == {"curvature": "half-sine"}
    return StaticProblem(
        "lla-test2",
        "rubber rod bent and twisted by its clamps, vertices 0 to 5 in m; Lang, Linn, Arnold 2011, Test 2",
        System(rods=[rod]),
        "follow",
        quantities,
        _GRID if usual else "",
        {f"x(t = {t:g})": np.array(x) for t, x in _TEST_2.items()} if usual else {},
        "time",
        (0.0, *_TEST_2),
    )


#: Rods at rest: all problems with their usual data, by name.
STATICS: Mapping[str, StaticProblem] = _Named(
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


@overload
def get(
    name: Literal[
        "coning",
        "constant-rate",
        "free-symmetric-top",
        "zupan-saje-1",
        "zupan-saje-2-planar",
        "zupan-saje-2-spatial",
        "zupan-saje-3",
        "zupan-saje-3-axis",
        "zupan-saje-3-line",
    ],
) -> RotationProblem: ...
@overload
def get(
    name: Literal[
        "lang-a",
        "lang-b",
        "bruls-top",
        "lagrange-top",
        "free-top",
        "xu-zhong-fast",
        "xu-zhong-precession",
    ],
) -> RigidProblem: ...
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
def get(
    name: Literal[
        "pendulum",
        "four-bar",
        "four-bar-driven",
        "slider-crank",
        "bruls-top-on-a-stand",
        "chain",
        "lang-c",
        "joint-tree",
        "rssr",
        "bennett",
        "platform",
    ],
) -> MechanismProblem: ...
@overload
def get(
    name: Literal[
        "elastica-1",
        "elastica-2",
        "elastica-5",
        "elastica-10",
        "post-buckling-20",
        "post-buckling-60",
        "post-buckling-120",
        "roll-up",
        "bend-45-300",
        "bend-45-600",
        "lla-test2",
        "euler-column",
        "self-weight-column",
        "twist-buckling",
        "cardan-shaft",
        "timoshenko-cantilever",
        "timoshenko-free-free",
        "timoshenko-pinned-pinned",
        "timoshenko-clamped-clamped",
        "euler-bernoulli",
        "spinning-rod",
    ],
) -> StaticProblem: ...
@overload
def get(name: str) -> Any: ...
def get(name: str) -> RotationProblem | RigidProblem | RodProblem | MechanismProblem | StaticProblem:
    """The problem of that name, of `ROTATIONS`, `RIGID`, `RODS`, `MECHANISMS` or `STATICS`, with its usual data."""
    everything: dict[str, Any] = {**ROTATIONS, **RIGID, **RODS, **MECHANISMS, **STATICS}
    return everything[_check.choice("name", name, everything)]  # type: ignore[no-any-return]
