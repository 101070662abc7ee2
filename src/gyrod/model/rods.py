"""Geometrically exact (Cosserat) rods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check, rotations
from gyrod._check import Array
from gyrod.model import rod_checks as checks
from gyrod.model.ends import End
from gyrod.model.errors import (
    Description,
    choice,
    field_names,
    frozen,
    new_name,
    numbers,
    positive,
    positive_or_derived,
    sampled,
    vector,
)
from gyrod.model.fields import Kept, description, field
from gyrod.model.jumps import jumps
from gyrod.model.meshes import NEAREST_ENDS, Elements, Grid, Mesh, apply, apply_frames, divided
from gyrod.model.rod_checks import DISCRETIZATIONS, INERTIAS, STRAINS
from gyrod.model.sections import CrossSection, Damping, Material, SectionValues, diagonal
from gyrod.model.shapes import Bent, Shape, Straight
from gyrod.rotations.vectors import cross

#: Three numbers, or a function of s in [0, 1] that returns them.
Field = ArrayLike | Callable[[float], ArrayLike]

_ORIGIN = (0.0, 0.0, 0.0)
_UNIT = np.eye(6)
#: Fields that may be functions of s, at whose jumps elements end.
_JUMPING = ("stiffness", "density_per_length", "rotary_inertia", "precurvature", "prestrain")


def _fractions(s: ArrayLike) -> Array:
    """Fractions of the length as an array (n,)."""
    found = np.atleast_1d(_check.array("s", s, ()))
    if found.ndim > 1:
        raise ValueError(f"s must be a number or a one-dimensional array, got the shape {found.shape}.")
    return found


@description
class Rod(Description):
    """A rod: its sections, what it is made of, how its ends are held, its grid, and how it lies and moves at the start.

    s in [0, 1] is arc length over length; d1 and d2 are the axes of the section, d3 is the tangent.

    Parameters
    ----------
    name
        Any non-empty text without "/"; "ground" is taken.
    length
        In m, > 0; by default that of ``initial``. It must agree with it unless ``prestrain`` is given.
    segments
        Number of segments, at least 2, or of elements, at least 1.
    section, material
        Such as ``Circle(radius=5e-3)`` and ``Material(young=5e6, poisson=0.5, density=1100)``.
    start, end
        `Free` (default), `Hinged`, `Clamped` or `Guided`.
    curvature
        "sine", "half-sine", "tangent", "half-tangent" or "angle"; or ("sine", m), ("tangent", m) with real m >= 1.
    inertia
        Of a segment against rotation: "disc" or "cylinder".
    mass
        "lumped", "blended", or the share in [0, 1] of the consistent mass.
    damping
        A `Damping`; none by default.
    initial
        `Straight`, `Arc`, `Curve` or `Bent`; by default straight from the origin along x.
    stiffness
        In place of that of section and material: six numbers or a symmetric positive definite 6x6 matrix in the order
        Γ1, Γ2, Γ3, K1, K2, K3 (shear, shear, extension in N; bending, bending, torsion in N m²), or a function of s.
    density_per_length, rotary_inertia
        kg/m, and (ρ I1, ρ I2, ρ J) in kg m, or functions of s; they take the place of what section and material give.
        Without a material the rotary inertia is that of the section with this mass.
    precurvature, prestrain
        K0 in 1/m and Γ0, material, three numbers or functions of s, at which the rod is free of stress; None: those of
        the initial shape.
    strain
        "cosserat", "stretch" (|x'| - 1 in place of Γ3), "kirchhoff" or "inextensible".
    velocity, angular_velocity
        Two vectors make a rigid motion x' = velocity + angular_velocity × (x - x(0)); functions of s are taken as they
        are, without the product. In space axes; the angular velocity is spatial. Without them a rod stands, or follows
        ends that move at the start.
    grid
        Fractions of the vertices, or of the ends of elements, from 0 to 1, in place of equal ones.
    discretization, degree
        "staggered", the grid of second order, or "elements" of ``degree`` 2, 3 or 4, whose order is one more. A rod
        with ``segments`` or ``grid`` and neither of these has the grid; the default is elements of degree 3.
        ``curvature``, ``inertia`` and ``mass`` choose among variants of the grid. In a `System`, elements are split
        where a load, a mass or a string sets in and where the rod's properties jump, and both where another rod is
        joined; ``system.notes`` says so.
    rest_stretch
        A positive number or a function of time: the factor of the length at which the rod is free of tension (winch,
        pre-tension, heat). Its mass stays.
    limits
        What the rod should bear: ``{"bend_radius": m, "stress": Pa}``, one of them or both; the stress is the largest
        axial one, which needs a section.

    >>> from gyrod.model import Circle, Clamped, Material, Rod
    >>> rubber = Material(young=5e6, poisson=0.5, density=1100)
    >>> hose = Rod("hose", 1.0, 10, Circle(radius=5e-3), rubber, start=Clamped("ground"))
    >>> hose.positions.shape, hose.quaternions.shape, hose.stiffness_at([0.0])[0, 2, 2].round(3)
    ((11, 3), (10, 4), np.float64(392.699))
    """

    name: str = field(new_name)
    length: Kept[float, float | None] = field(positive_or_derived, "m", default=None, follows=("initial", "prestrain"))
    segments: Kept[int, int | None] = field(None, default=None, form="whole")
    section: CrossSection | None = field(checks.kind(CrossSection, "a section such as Circle", "section"), default=None)
    material: Material | None = field(checks.kind(Material, "a Material", "material"), default=None)
    start: Kept[End, End | None] = field(checks.end, default=None, always=True)
    end: Kept[End, End | None] = field(checks.end, default=None, always=True)
    _: KW_ONLY
    curvature: str | tuple[str, float] = field(checks.curvature, default="angle")
    inertia: str = field(choice(INERTIAS), default="disc")
    mass: str | float = field(checks.mass, default="lumped")
    damping: Damping | None = field(checks.kind(Damping, "a Damping", "damping"), default=None)
    initial: Shape | None = field(checks.kind(Shape, "a shape such as Straight", "initial"), default=None)
    stiffness: Kept[Array | Callable[[float], ArrayLike] | None, Field | None] = field(
        checks.or_function(checks.stiffness), default=None, units=None
    )
    density_per_length: float | Callable[[float], float] | None = field(
        checks.or_function(positive), "kg/m", default=None
    )
    rotary_inertia: Kept[Array | Callable[[float], ArrayLike] | None, Field | None] = field(
        checks.or_function(checks.all_positive), "kg m", default=None
    )
    precurvature: Kept[Array | Callable[[float], ArrayLike] | None, Field | None] = field(
        checks.or_function(vector), "1/m", default=None
    )
    prestrain: Kept[Array | Callable[[float], ArrayLike] | None, Field | None] = field(
        checks.or_function(vector), default=None
    )
    strain: str = field(choice(STRAINS), default="cosserat")
    velocity: Kept[Array | Callable[[float], ArrayLike], Field] = field(
        checks.or_function(vector), "m/s", default=_ORIGIN
    )
    angular_velocity: Kept[Array | Callable[[float], ArrayLike], Field] = field(
        checks.or_function(vector), "rad/s", default=_ORIGIN
    )
    grid: Kept[Array | None, ArrayLike | None] = field(None, default=None, shapes=((-1,),))
    discretization: Kept[str, str | None] = field(choice(DISCRETIZATIONS), default=None)
    #: None of the staggered grid.
    degree: int | None = field(checks.degree, default=None)
    #: A number, a function of time, or None.
    rest_stretch: float | Callable[[float], float] | None = field(checks.rest_stretch, default=None)
    limits: Kept[checks.Limits | None, Mapping[str, float] | None] = field(checks.limits, default=None)

    _stages: ClassVar[Mapping[str, tuple[Callable[..., object], set[str]]]] = checks.STAGES
    _follows: ClassVar[Mapping[str, tuple[str, ...]]] = checks.FOLLOWS
    _shared: ClassVar[tuple[str, ...]] = ("lengths", "_shape_notes", "_known_jumps")
    #: Ends of cells beside those of segments or grid: where something sets in, which the system knows.
    _extra: ClassVar[tuple[float, ...]] = ()

    def _again(self, new: Mapping[str, object], touched: set[str]) -> Self:
        # Degree and discretization follow from each other.
        if new.get("discretization") is not None:
            new = {"degree": None, **new}
        elif new.get("degree") is not None:
            new = {"discretization": None, **new}
        return super()._again(new, touched)

    def _split(self, fractions: Iterable[float]) -> Self:
        """The same with ends of cells at these fractions, too, and no others beside those of segments or grid."""
        own, inner = self._own_ends, list[float]()
        for s in sorted(fractions):
            if NEAREST_ENDS <= s <= 1.0 - NEAREST_ENDS and not (inner and s - inner[-1] < NEAREST_ENDS):
                inner.append(float(s))
        new = [s for s in inner if np.abs(own - s).min() >= NEAREST_ENDS]
        # An equal division gives way to what must be an end: all of that must be known then.
        extra = tuple(inner if new and self.grid is None else new)
        return self if extra == self._extra else self._again({"_extra": extra}, {"a grid"})

    # --- the mesh ---

    @cached_property
    def mesh(self) -> Mesh:
        """Where positions, frames, strains and curvatures live, and how they are interpolated."""
        ends = self._own_ends
        if self._extra:
            even = self.grid is None
            ends = divided(self._extra, self.segments) if even else np.sort(np.concatenate([ends, self._extra]))
        return Grid(ends) if self.degree is None else Elements(self.degree, ends)

    @property
    def _own_ends(self) -> Array:
        """Ends of segments or elements as they were given."""
        return np.asarray(np.arange(self.segments + 1.0) / self.segments if self.grid is None else self.grid)

    @cached_property
    def fractions(self) -> Array:
        """Vertices as fractions of the length, (V,): N + 1 ends of segments, or p E + 1 nodes of elements."""
        return self.mesh.vertices

    @cached_property
    def vertices(self) -> Array:
        """Arc lengths of the vertices in m, (V,)."""
        return frozen(self.length * self.fractions)

    @cached_property
    def midpoints(self) -> Array:
        """Midpoints between neighbouring vertices as fractions of the length, (V - 1,)."""
        return self.mesh.frames if self.degree is None else frozen(0.5 * (self.fractions[1:] + self.fractions[:-1]))

    @cached_property
    def lengths(self) -> Array:
        """Lengths between neighbouring vertices in m, (V - 1,)."""
        return frozen(self.length * np.diff(self.fractions))

    def segment_at(self, s: float) -> tuple[int, float]:
        """Segment or element in which a fraction of the length lies, and the fraction of that segment."""
        ends, s = self.mesh.ends, _check.number("s", s)
        j = int(np.clip(np.searchsorted(ends, s, side="right") - 1, 0, len(ends) - 2))
        lo, hi = ends[j], ends[j + 1]
        return j, float((s - lo) / (hi - lo))

    @property
    def jumps(self) -> dict[str, tuple[float, ...]]:
        """Fractions of the length at which functions of s jump that say what the rod is made of, by their fields."""
        told: dict[str, object] = {field: getattr(self, field) for field in _JUMPING}
        if self.section is not None:
            told |= {f"section.{f}": getattr(self.section, f) for f in field_names(type(self.section))}
        if isinstance(self.initial, Bent):
            told["initial.curvature"] = self.initial.curvature
        found = {field: self._jumps_of(value) for field, value in told.items() if callable(value)}
        return {field: places for field, places in found.items() if places}

    def _jumps_of(self, function: Callable[[float], object]) -> tuple[float, ...]:
        """Where a function of s jumps; searched once."""
        known, places = self._known_jumps.get(id(function), (None, ()))
        if known is not function:
            places = jumps(function)
            self._known_jumps[id(function)] = function, places
        return places

    @cached_property
    def _known_jumps(self) -> dict[int, tuple[object, tuple[float, ...]]]:
        """Functions that were searched, by their identity, and what was found; the copies of a rod share it."""
        return {}

    def refine(self, tolerance: float, state: object = None) -> Rod:
        """The same rod with more elements where positions are expected to be wrong by more than ``tolerance`` in m.

        ``state`` is the rod at rest or over time, such as ``motion["hose"]``, whose largest indicator counts; None: how
        it lies at the start. Elements that turn too far to be represented are divided too. The same rod where nothing
        is to be done. What is expected is local: `gyrod.refine` measures the error of the whole.
        """
        from gyrod.model.refinement import refined  # it knows this class

        return refined(self, tolerance, state)

    def lumped_inertia(self) -> Array:
        """Mass in kg and rotary inertia in kg m² of each node of elements, (V, 4); those of a jump have both sides."""
        if not isinstance(self.mesh, Elements):
            raise ValueError(
                f"Rod {self.name!r}: lumped_inertia is that of elements, and this rod has segments; inertia_at gives "
                "what it has along its length."
            )
        places = [s for found in self.jumps.values() for s in found]
        return self.length * self.mesh.lumped(self.inertia_at, places)

    # --- what it is made of ---

    def stiffness_at(self, s: ArrayLike) -> Array:
        """Stiffness at fractions s, in the order Γ1, Γ2, Γ3, K1, K2, K3, (n, 6, 6)."""
        s = _fractions(s)
        if self._known_stiffness is not None:
            return sampled("stiffness", self._known_stiffness, s, checks.stiffness)
        return self._stiffness_of(self._section_at(s))

    @cached_property
    def _known_stiffness(self) -> Array | Callable[[float], ArrayLike] | None:
        """The stiffness that was given, or that of a section that is the same everywhere, (6, 6); None if it tapers."""
        if self.stiffness is not None:
            return self.stiffness
        assert self.section is not None
        return None if self.section.everywhere is None else self._stiffness_of(self.section.everywhere)[0]

    def _stiffness_of(self, section: SectionValues) -> Array:
        assert self.material is not None
        with np.errstate(over="ignore", invalid="ignore"):
            entries = diagonal(section, self.material.young, self.material.shear_modulus)
        return np.asarray(entries[:, :, None] * _UNIT)

    def inertia_at(self, s: ArrayLike) -> Array:
        """Mass per length in kg/m and ρ I1, ρ I2, ρ J (J the polar moment) in kg m at fractions s, (n, 4)."""
        s = _fractions(s)
        if self._known_inertia is not None:
            return sampled("inertia", self._known_inertia, s, numbers)
        return self._inertia_from_sections(s)

    @cached_property
    def _known_inertia(self) -> Array | None:
        """The inertia of a rod that is the same everywhere, (4,); None of one that tapers."""
        tapers = self.section is not None and self.section.everywhere is None
        if tapers or callable(self.density_per_length) or callable(self.rotary_inertia):
            return None
        return np.asarray(self._inertia_from_sections([0.5])[0])

    def _inertia_from_sections(self, s: ArrayLike) -> Array:
        parts = np.empty((np.size(s), 4))
        if self.density_per_length is not None:
            parts[:, 0] = sampled("density_per_length", self.density_per_length, s, positive)
        if self.section is not None:
            v = self._section_at(s)
            density = parts[:, 0] / v.area if self.material is None else self.material.density
            with np.errstate(over="ignore"):
                parts[:, 1:] = (density * np.stack([v.I1, v.I2, v.polar])).T
                if self.density_per_length is None:
                    parts[:, 0] = density * v.area
        if self.rotary_inertia is not None:
            parts[:, 1:] = sampled("rotary_inertia", self.rotary_inertia, s, checks.all_positive)
        return parts

    def damping_at(self, s: ArrayLike) -> Array:
        """The paper's c at fractions s, in the order Γ1, Γ2, Γ3 (kg m/s), K1, K2, K3 (kg m³/s), (n, 6)."""
        if self.damping is None:
            return np.zeros((np.size(s), 6))
        damping = self.damping
        section = self._section_at(s) if damping.needs_section else None
        return damping.at(self.stiffness_at(s), section)

    def _section_at(self, s: ArrayLike) -> SectionValues:
        """What the section is worth at fractions s, (n,), or (1,) if it is the same everywhere."""
        assert self.section is not None
        return self.section.everywhere or checks.within("section", self.section.at, s)

    # --- how it lies and moves at the start ---

    @property
    def shape(self) -> Shape:
        """The initial shape: as given, or straight from the origin along x."""
        return self.initial or Straight(_ORIGIN, (self.length, 0.0, 0.0))

    @cached_property
    def _placed(self) -> tuple[Array, Array]:
        """Points and aligned quaternions at vertices and strains in turn, (2 V - 1, 3) and (2 V - 1, 4)."""
        s = np.empty(2 * len(self.fractions) - 1)
        s[::2], s[1::2] = self.fractions, self.mesh.strains
        x, q = checks.within("initial", self.shape.place, s, self.length)
        turned = np.add.reduce(q[1:] * q[:-1], axis=1) < 0.0
        if not turned.any():
            return frozen(x), frozen(q)
        sides = np.where(turned, -1.0, 1.0)
        return frozen(x), frozen(q * np.cumprod(np.append(1.0, sides))[:, None])

    @cached_property
    def _shape_notes(self) -> dict[object, dict[str, Array]]:
        """Arrays by name that others find out about how the rod lies at the start, by what they ask for."""
        return {}

    @cached_property
    def positions(self) -> Array:
        """Vertices in space, m, (V, 3)."""
        return frozen(self._placed[0][::2])

    @cached_property
    def quaternions(self) -> Array:
        """Frames at ``mesh.frames``, unit quaternions, each on the side of its predecessor, (Q, 4)."""
        return frozen(self._placed[1][1::2] if self.degree is None else self._placed[1][::2])

    @cached_property
    def end_frames(self) -> Array:
        """Frames of the initial shape at s = 0 and s = 1, on the side of their neighbours, (2, 4)."""
        return frozen(self._placed[1][[0, -1]])

    def vertex_frame(self, n: int) -> Array:
        """The frame of the initial shape at a vertex, (4,)."""
        return np.asarray(self._placed[1][2 * n])

    def point(self, s: float, offset: ArrayLike = (0.0, 0.0)) -> Array:
        """Point in space at the start, at a fraction s and an offset along d1 and d2 of the frame there, (3,).

        The frame of the grid is that of the segment; elements interpolate theirs.
        """
        a1, a2 = numbers("offset", offset, (2,))
        if self.degree is not None:
            at = self.mesh.vertex_at([s])
            centre = apply(*at, self.positions)[0]
            if not (a1 or a2):
                return np.asarray(centre)
            turned = rotations.rotate(apply_frames(*at, self.quaternions)[0], np.array([a1, a2, 0.0]))
            return np.asarray(centre + turned)
        j, xi = self.segment_at(s)
        arm = rotations.rotate(self.quaternions[j], np.array([a1, a2, 0.0]))
        return np.asarray((1.0 - xi) * self.positions[j] + xi * self.positions[j + 1] + arm)

    @cached_property
    def velocities(self) -> Array:
        """Velocities of the vertices in space, m/s, (V, 3)."""
        v = sampled("velocity", self.velocity, self.fractions, vector)
        if not callable(self.velocity) and not callable(self.angular_velocity) and self.angular_velocity.any():
            v = v + cross(self.angular_velocity, self.positions - self.positions[0])
        return frozen(v)

    @cached_property
    def spins(self) -> Array:
        """Material angular velocities Rᵀ ω at ``mesh.frames``, rad/s, (Q, 3)."""
        omega = sampled("angular_velocity", self.angular_velocity, self.mesh.frames, vector)
        if not omega.any():
            return frozen(omega)
        return frozen(rotations.rotate(rotations.conjugate(self.quaternions), omega))

    @cached_property
    def precurvatures(self) -> Array | None:
        """K0 at ``mesh.curvatures``, 1/m, (m, 3); None if it is that of the initial shape."""
        if self.precurvature is None:
            return None
        return frozen(sampled("precurvature", self.precurvature, self.mesh.curvatures, vector))

    @cached_property
    def prestrains(self) -> Array | None:
        """Γ0 at ``mesh.strains``, (n, 3); None if it is that of the initial shape."""
        if self.prestrain is None:
            return None
        return frozen(sampled("prestrain", self.prestrain, self.mesh.strains, vector))
