"""X. Xu, W. Zhong: On the numerical influences of inertia representation (2016): Figures 3 to 7, error estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import rotations

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LagrangeTop:
    """Symmetric heavy top in closed form, from a turning point of its nutation: theta' = 0, phi = psi = 0 at t = 0.

    With u = cos theta, u'^2 = beta (u - u1)(u2 - u)(u3 - u), so that u = u1 + (u2 - u1) sn^2; precession and spin are
    elliptic integrals of the third kind. ``moments`` (J1 = J2, J3) are about the fixed point, ``weight`` is m g l.
    """

    moments: tuple[float, float]
    weight: float
    tilt: float
    #: Omega3, constant.
    spin: float
    #: phi' at the start.
    precession: float = 0.0

    @property
    def _constants(self) -> tuple[float, float, float, float, float, bool]:
        """a, b, the roots u1 <= u2 < u3, and whether the motion starts at u2."""
        (J1, J3), u0 = self.moments, np.cos(self.tilt)
        a = J3 * self.spin / J1
        b = self.precession * (1.0 - u0**2) + a * u0
        beta = 2.0 * self.weight / J1
        alpha = self.precession**2 * (1.0 - u0**2) + beta * u0
        # The cubic without its root u0: beta u^2 - s u + c.
        s = alpha + a**2 - beta * u0
        c = 2.0 * a * b - beta - s * u0
        u3 = (s + np.sqrt(s**2 - 4.0 * beta * c)) / (2.0 * beta)
        other = c / (beta * u3)
        return a, b, min(u0, other), max(u0, other), u3, bool(u0 > other)

    @property
    def nutation_period(self) -> float:
        """Time from a turning point to the next one of its kind."""
        from scipy.special import ellipk

        _, _, u1, u2, u3, _ = self._constants
        return float(2.0 * ellipk((u2 - u1) / (u3 - u1)) / self._pace)

    @property
    def _pace(self) -> float:
        _, _, u1, _, u3, _ = self._constants
        return float(np.sqrt(0.5 * self.weight / self.moments[0] * (u3 - u1)))

    def angles(self, t: ArrayLike) -> Array:
        """Precession, nutation and spin angle (sequence 3-1-3), (..., 3); precession and spin grow beyond 2 pi."""
        from scipy.special import ellipj, ellipk

        a, b, u1, u2, u3, upper = self._constants
        t = np.asarray(t, dtype=float)
        m = (u2 - u1) / (u3 - u1)
        start = ellipk(m) if upper else 0.0
        sn, _, _, am = ellipj(self._pace * t + start, m)
        u = u1 + (u2 - u1) * sn**2
        origin = 0.5 * np.pi if upper else 0.0
        inner, outer = (
            (_third_kind(n, am, m) - _third_kind(n, np.asarray(origin), m)) * (b + sign * a) / (1.0 + sign * u1)
            for sign, n in ((-1.0, (u2 - u1) / (1.0 - u1)), (1.0, -(u2 - u1) / (1.0 + u1)))
        )
        phi = 0.5 * (inner + outer) / self._pace
        psi = (self.spin - a) * t + 0.5 * (outer - inner) / self._pace
        return np.stack([phi, np.arccos(u), psi], axis=-1)

    def quaternion(self, t: ArrayLike) -> Array:
        """Orientation, (..., 4)."""
        return rotations.quaternion_from_euler(self.angles(t), "313")

    def axis(self, t: ArrayLike) -> Array:
        """The symmetry axis d3 in space, (..., 3)."""
        phi, theta, _ = np.moveaxis(self.angles(t), -1, 0)
        return np.stack([np.sin(theta) * np.sin(phi), -np.sin(theta) * np.cos(phi), np.cos(theta)], axis=-1)


def _third_kind(n: float, phi: Array, m: float) -> Array:
    """Elliptic integral Pi(n; phi | m) for any phi, by Carlson's forms."""
    from scipy.special import elliprf, elliprj

    turns = np.round(phi / np.pi)
    s = np.sin(phi - np.pi * turns)
    c2, d, e = 1.0 - s**2, 1.0 - m * s**2, 1.0 - n * s**2
    part = s * elliprf(c2, d, 1.0) + n / 3.0 * s**3 * elliprj(c2, d, 1.0, e)
    whole = elliprf(0.0, 1.0 - m, 1.0) + n / 3.0 * elliprj(0.0, 1.0 - m, 1.0, 1.0 - n)
    return np.asarray(2.0 * turns * whole + part)
