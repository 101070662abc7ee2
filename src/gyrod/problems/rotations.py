"""Rotations over time with exact angular velocities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check, rotations
from gyrod._check import Array


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
