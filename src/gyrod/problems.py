"""Named reference problems with trusted solutions: tests, documentation and benchmarks share them.

>>> import gyrod as gd
>>> sorted(gd.problems.ROTATIONS)[:3]
['coning', 'constant-rate', 'free-symmetric-top']
>>> gd.problems.get("coning").quaternion(0.0).round(6).tolist()
[0.999962, 0.008727, 0.0, 0.0]
>>> top = gd.problems.get("lang-a")
>>> top.t_end, sorted(top.reference[60.0])
(60.0, ['Omega', 'energy', 'quaternion'])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import _check, rotations
from gyrod.model import Body, Spherical, System

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


@overload
def get(name: Literal["lang-a", "lang-b", "bruls-top", "lagrange-top", "free-top"]) -> RigidProblem: ...
@overload
def get(name: str) -> Any: ...
def get(name: str) -> RotationProblem | RigidProblem:
    """The problem of that name, of `ROTATIONS` or of `RIGID`, with its usual data."""
    _check.choice("name", name, [*ROTATIONS, *RIGID])
    return ROTATIONS[name] if name in ROTATIONS else RIGID[name]
