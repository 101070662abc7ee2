"""Cross-sections, materials and damping of rods.

d1 and d2 are the axes of the section, d3 is the tangent; I1 = ∫ ξ2² dA is about d1, I2 = ∫ ξ1² dA about d2. Every
dimension may be a function of s in [0, 1], arc length over length.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check
from gyrod._check import Array
from gyrod.model.errors import (
    Derived,
    Description,
    Problems,
    constant_or_function,
    field_names,
    frozen,
    given,
    not_negative,
    numbers,
    positive,
    positive_or_derived,
    sampled,
    shown,
)
from gyrod.model.fields import Kept, description, field, holds

#: A number, or a function of s in [0, 1].
Dimension = float | Callable[[float], float]


# --- checks ----------------------------------------------------------------------------------------------------------


@holds(positive=True, variable="s")
def _dimension(field: str, value: object) -> object:
    return constant_or_function(field, value, positive)


@holds(positive=True, variable="s")
def _inner(field: str, value: object) -> object:
    return constant_or_function(field, value, not_negative)


def _poisson(field: str, value: object) -> float:
    nu = float(numbers(field, value, ()))
    if not -1.0 < nu <= 0.5:
        raise ValueError(f"{field} = {shown(value)} must lie in (-1, 0.5].")
    return nu


def _scalar(field: str, value: object) -> float:
    return float(not_negative(field, value))


@holds(shapes=((2,),))
def _two(field: str, value: object) -> Array:
    return not_negative(field, value, (2,))


@holds(shapes=((), (2,)), spread=True)
def _pair(field: str, value: object) -> Array:
    return frozen(np.full(2, not_negative(field, value, (), (2,))))


@holds(shapes=((), (2,)), spread=True)
def _shear(field: str, value: object) -> Array:
    k = frozen(np.full(2, numbers(field, value, (), (2,))))
    if np.any(k <= 0.0):
        raise ValueError(f"{field} must be positive, got {shown(value)}; the shear factor is 1 or a little less.")
    return k


# --- sections and materials -------------------------------------------------------------------------------------------


@description
class Material(Description):
    """Linear elastic material: moduli in Pa, density in kg/m³; exactly one of ``poisson`` and ``shear_modulus``.

    ``poisson`` lies in (-1, 0.5]. ``shear_modulus`` is E / (2 (1 + poisson)) if it is not given.

    >>> Material(young=5e6, poisson=0.25, density=1100).shear_modulus
    2000000.0
    """

    young: float = field(positive, "Pa")
    poisson: float | None = field(_poisson, default=None)
    shear_modulus: Kept[float, float | None] = field(
        positive_or_derived, "Pa", default=None, follows=("young", "poisson")
    )
    _: KW_ONLY
    density: float = field(positive, "kg/m^3")

    def _agree(self, problems: Problems, bad: set[str]) -> None:
        nu, shear = self.poisson, given(self.shear_modulus)
        if bad.isdisjoint(("poisson", "shear_modulus")) and (nu is None) == (shear is None):
            found = "neither" if nu is None else f"poisson = {shown(nu)}, shear_modulus = {shown(shear)}"
            problems.add(f"exactly one of poisson and shear_modulus is needed, got {found}.")
        elif nu is not None and self.young is not None:
            self._set(shear_modulus=Derived(0.5 * self.young / (1.0 + nu)))


@dataclass(frozen=True, eq=False)
class SectionValues:
    """What a section is worth at n places: areas in m², moments in m⁴, shear factors; each (n,)."""

    area: Array
    I1: Array
    I2: Array
    #: Polar moment, for the inertia.
    polar: Array
    #: Saint-Venant's constant, for the torsional stiffness G·torsion.
    torsion: Array
    k1: Array
    k2: Array


class CrossSection(Description, ABC):
    """Base of the cross-sections: ``at(s)`` says what the section is worth at fractions s of the length.

    Rules for a new section: it is a frozen class here whose dimensions are positive numbers or functions of s, it
    has ``shear``, the factors (k1, k2) of G A, and it joins `SECTIONS`, over which the property tests run.
    """

    #: Whether its outer fibre lies at the same distance in all directions.
    round: ClassVar[bool] = False

    shear: Array

    @abstractmethod
    def at(self, s: ArrayLike) -> SectionValues:
        """Areas, moments and shear factors at the fractions s, (n,)."""

    @abstractmethod
    def half_sizes(self, s: ArrayLike) -> Array:
        """Largest distances from the axis along d1 and d2 at the fractions s, in m, (n, 2)."""

    def stress(self, force: ArrayLike, moment: ArrayLike, *, s: ArrayLike | None = None) -> Array:
        """Largest axial stress in Pa, |N|/A + bending at the outer fibre, from section force and moment.

        ``force`` and ``moment`` are (..., 3) in the axes d1, d2, d3, the result is (...). Sections that taper need the
        fractions s, (n,), of the last axis but one. Exact for circles, rings and rectangles (at their corners); any
        other `Section` is taken as the rectangle with its radii of gyration.
        """
        F, M = (_check.array(name, x, (3,)) for name, x in (("force", force), ("moment", moment)))
        tapered = [name for name in field_names(type(self)) if callable(getattr(self, name))]
        if s is None and tapered:
            raise ValueError(f"s is missing: {tapered[0]} varies along the rod; give the fractions of the sections.")
        there = np.array([0.5] if s is None else s, dtype=float, ndmin=1)
        if s is not None and len(there) > 1 and F.shape[-2:-1] != there.shape:
            raise ValueError(f"force must be (..., {len(there)}, 3), as many as s, got the shape {F.shape}.")
        factors = self.stress_factors(there).T
        w0, w1, w2 = factors[:, 0] if len(there) == 1 else factors
        about1, about2 = np.abs(M[..., 0]) * w1, np.abs(M[..., 1]) * w2
        bending = np.hypot(about1, about2) if self.round else about1 + about2
        return np.asarray(np.abs(F[..., 2]) * w0 + bending)

    def stress_factors(self, s: ArrayLike) -> Array:
        """Stress by axial force and by the moments about d1 and d2 at the fractions s, 1/m² and 1/m³, (n, 3)."""
        v, half = self.at(s), self.half_sizes(s)
        return np.stack([1.0 / v.area, half[:, 1] / v.I1, half[:, 0] / v.I2], axis=1)

    @cached_property
    def everywhere(self) -> SectionValues | None:
        """What it is worth at any place, (1,), if that is the same for all; None if it tapers."""
        if type(self) not in SECTIONS or any(callable(getattr(self, x)) for x in field_names(type(self))):
            return None
        with np.errstate(over="ignore"):
            return self.at(np.array([0.5]))

    def _values(self, area: Array, I1: Array, I2: Array, torsion: Array, polar: Array | None = None) -> SectionValues:
        k1, k2 = (np.full_like(area, k) for k in self.shear)
        return SectionValues(area, I1, I2, I1 + I2 if polar is None else polar, torsion, k1, k2)


@description
class Circle(CrossSection):
    """Full circle of a radius in m; ``shear`` is the shear factor (1 as in the paper), or two of them for d1 and d2.

    >>> Circle(radius=lambda s: 0.02 - 0.01 * s).at([0.0, 1.0]).area.round(6).tolist()
    [0.001257, 0.000314]
    """

    round: ClassVar[bool] = True

    radius: Dimension = field(_dimension, "m")
    #: (2,).
    shear: Kept[Array, ArrayLike] = field(_shear, default=1.0)

    def at(self, s: ArrayLike) -> SectionValues:
        """Areas, moments and shear factors at the fractions s, (n,)."""
        r = sampled("radius", self.radius, s, positive)
        I = 0.25 * np.pi * r**4  # noqa: E741
        return self._values(np.pi * r**2, I, I, 2.0 * I)

    def half_sizes(self, s: ArrayLike) -> Array:
        """The radius twice, (n, 2)."""
        return np.repeat(sampled("radius", self.radius, s, positive)[:, None], 2, axis=1)


@description
class Ring(CrossSection):
    """Circular tube between the radii ``inner`` and ``radius``, in m."""

    round: ClassVar[bool] = True

    radius: Dimension = field(_dimension, "m")
    inner: Dimension = field(_inner, "m")
    #: (2,).
    shear: Kept[Array, ArrayLike] = field(_shear, default=1.0)

    def _agree(self, problems: Problems, bad: set[str]) -> None:
        if not bad and not callable(self.inner) and not callable(self.radius):
            problems.check(_require_wall, np.zeros(1), self.radius, self.inner, "")

    def at(self, s: ArrayLike) -> SectionValues:
        """Areas, moments and shear factors at the fractions s, (n,)."""
        r = sampled("radius", self.radius, s, positive)
        i = sampled("inner", self.inner, s, not_negative)
        _require_wall(np.asarray(s, dtype=float), r, i, "(s = {:.6g})")
        area = np.pi * (r - i) * (r + i)
        I = 0.25 * area * (r**2 + i**2)  # noqa: E741
        return self._values(area, I, I, 2.0 * I)

    def half_sizes(self, s: ArrayLike) -> Array:
        """The outer radius twice, (n, 2)."""
        return np.repeat(sampled("radius", self.radius, s, positive)[:, None], 2, axis=1)


@description
class Rectangle(CrossSection):
    """Rectangle with ``width`` along d1 and ``height`` along d2, in m: I1 = width height³ / 12.

    >>> square = Rectangle(width=1.0, height=1.0).at([0.0])
    >>> square.torsion.round(6).tolist(), square.polar.round(6).tolist()
    ([0.140577], [0.166667])
    """

    width: Dimension = field(_dimension, "m")
    height: Dimension = field(_dimension, "m")
    #: (2,).
    shear: Kept[Array, ArrayLike] = field(_shear, default=1.0)

    def at(self, s: ArrayLike) -> SectionValues:
        """Areas, moments and shear factors at the fractions s, (n,)."""
        w = sampled("width", self.width, s, positive)
        h = sampled("height", self.height, s, positive)
        return self._values(w * h, w * h**3 / 12.0, h * w**3 / 12.0, _saint_venant(w, h))

    def half_sizes(self, s: ArrayLike) -> Array:
        """Half of width and height, (n, 2)."""
        return 0.5 * np.stack([sampled(x, getattr(self, x), s, positive) for x in ("width", "height")], axis=1)


@description
class Section(CrossSection):
    """Any section by its numbers: area in m², moments in m⁴.

    ``polar`` (for the inertia) is I1 + I2 and ``torsion`` (Saint-Venant's constant) is ``polar`` if not given.
    """

    area: Dimension = field(_dimension, "m^2")
    I1: Dimension = field(_dimension, "m^4")
    I2: Dimension = field(_dimension, "m^4")
    polar: Dimension | None = field(_dimension, "m^4", default=None)
    torsion: Dimension | None = field(_dimension, "m^4", default=None)
    #: (2,).
    shear: Kept[Array, ArrayLike] = field(_shear, default=1.0)

    def at(self, s: ArrayLike) -> SectionValues:
        """Areas, moments and shear factors at the fractions s, (n,)."""
        area, I1, I2 = (sampled(name, getattr(self, name), s, positive) for name in ("area", "I1", "I2"))
        polar = I1 + I2 if self.polar is None else sampled("polar", self.polar, s, positive)
        torsion = polar if self.torsion is None else sampled("torsion", self.torsion, s, positive)
        return self._values(area, I1, I2, torsion, polar)

    def half_sizes(self, s: ArrayLike) -> Array:
        """Those of the rectangle with the same radii of gyration, sqrt(3 I / area), (n, 2)."""
        v = self.at(s)
        return np.stack([np.sqrt(3.0 * v.I2 / v.area), np.sqrt(3.0 * v.I1 / v.area)], axis=1)


#: All sections.
SECTIONS: tuple[type[CrossSection], ...] = (Circle, Ring, Rectangle, Section)


@description
class Damping(Description):
    """Viscous damping of a rod, the paper's c: section force C Γ + 2 c Γ', section moment C K + 2 c K'.

    ``shear`` and ``extension`` are c^Γ in kg m/s, ``bending`` and ``torsion`` c^K in kg m³/s; shear and bending are
    one number, or two for d1 and d2. `viscous` and `ratio` derive c from the section and the stiffness. Where the
    stiffness has couplings, only its diagonal counts.

    ``viscosities`` = (η_E, η_G) and ``factor`` = β are what `viscous` and `ratio` set; all parts add up.
    """

    #: (2,).
    shear: Kept[Array, ArrayLike] = field(_pair, "kg m/s", default=0.0)
    extension: float = field(_scalar, "kg m/s", default=0.0)
    #: (2,).
    bending: Kept[Array, ArrayLike] = field(_pair, "kg m^3/s", default=0.0)
    torsion: float = field(_scalar, "kg m^3/s", default=0.0)
    _: KW_ONLY
    #: (η_E, η_G) in Pa s, (2,).
    viscosities: Kept[Array, ArrayLike] = field(_two, "Pa s", default=(0.0, 0.0))
    #: β in s: 2 c = β C.
    factor: float = field(_scalar, "s", default=0.0)

    @classmethod
    def viscous(cls, extension: float, shear: float) -> Damping:
        """From the viscosities η_E and η_G of the material, in Pa s: 2 c as the stiffness with η for E and G."""
        problems = Problems("Damping.viscous")
        eta = [problems.check(_scalar, "extension", extension), problems.check(_scalar, "shear", shear)]
        problems.finish()
        return cls(viscosities=np.array(eta, dtype=float))

    @classmethod
    def ratio(cls, ratio: float, frequency: float) -> Damping:
        """Proportional to the stiffness, 2 c = β C, so that a mode of ``frequency`` Hz has the damping ``ratio``.

        β = ratio / (π frequency); other modes are damped in proportion to their frequency.
        """
        problems = Problems("Damping.ratio")
        zeta = problems.check(_scalar, "ratio", ratio)
        f = problems.check(positive, "frequency", frequency)
        problems.finish()
        assert zeta is not None
        assert f is not None
        return cls(factor=zeta / (np.pi * f))

    @property
    def needs_section(self) -> bool:
        """Whether it has viscosities, which act on areas and moments."""
        return bool(np.any(self.viscosities))

    def at(self, stiffness: ArrayLike, section: SectionValues | None = None) -> Array:
        """c at n places, in the order Γ1, Γ2, Γ3, K1, K2, K3, from the stiffness there, (n, 6, 6): (n, 6)."""
        c = np.array([*self.shear, self.extension, *self.bending, self.torsion])
        c = c + 0.5 * self.factor * np.einsum("nii->ni", np.asarray(stiffness, dtype=float))
        if section is not None:
            c = c + 0.5 * diagonal(section, *self.viscosities)
        return np.asarray(c)


def diagonal(section: SectionValues, young: float | Array, shear: float | Array) -> Array:
    """Stiffness (k1 G A, k2 G A, E A, E I1, E I2, G torsion), (n, 6); with viscosities for moduli, 2 c."""
    a, E, G = section.area, young, shear
    out = np.empty((*a.shape, 6))
    out[..., 0], out[..., 1], out[..., 2] = section.k1 * G * a, section.k2 * G * a, E * a
    out[..., 3], out[..., 4], out[..., 5] = E * section.I1, E * section.I2, G * section.torsion
    return out


def _require_wall(s: Array, radius: object, inner: object, where: str) -> None:
    """Refuse an inner radius that leaves nothing; ``where`` is filled with the place."""
    thin = np.flatnonzero(np.atleast_1d(np.asarray(inner) >= np.asarray(radius)))
    if len(thin):
        k = int(thin[0])
        place = where.format(s[k])
        i, r = np.atleast_1d(np.asarray(inner))[k], np.atleast_1d(np.asarray(radius))[k]
        raise ValueError(f"inner{place} = {i:g} must be smaller than radius{place} = {r:g}.")


def _saint_venant(width: Array, height: Array) -> Array:
    """Torsion constant of a rectangle, a ≥ b: a b³ (1/3 - 64/π⁵ b/a Σ tanh(n π a / 2b) / n⁵), n odd.

    With tanh x = 1 - 2 / (1 + exp 2x) the slow part of the sum is 31/32 ζ(5), and ten terms give 1e-16.
    """
    a, b = np.maximum(width, height), np.minimum(width, height)
    n = np.arange(1.0, 21.0, 2.0)[:, None]
    with np.errstate(over="ignore"):  # of the exponential for thin strips, where its term vanishes
        rest = np.sum(2.0 / (1.0 + np.exp(n * np.pi * a / b)) / n**5, axis=0)
    total = 31.0 / 32.0 * 1.0369277551433699263 - rest
    return np.asarray(a * b**3 * (1.0 / 3.0 - 64.0 / np.pi**5 * (b / a) * total))
