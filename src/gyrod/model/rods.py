"""Geometrically exact (Cosserat) rods."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import _check, rotations
from gyrod.model.ends import End, Free
from gyrod.model.errors import (
    Derived,
    Description,
    Problems,
    called,
    constant_or_function,
    field_names,
    frozen,
    given,
    instance,
    new_name,
    numbers,
    positive,
    sampled,
    shown,
    turned,
    vector,
)
from gyrod.model.jumps import jumps
from gyrod.model.meshes import DEGREES, NEAREST_ENDS, Elements, Grid, Mesh, apply, apply_frames, divided
from gyrod.model.sections import CrossSection, Damping, Material, SectionValues, diagonal
from gyrod.model.shapes import Bent, Shape, Straight
from gyrod.rotations.vectors import cross, norms

Array = NDArray[np.float64]
#: Three numbers, or a function of s in [0, 1] that returns them.
Field = ArrayLike | Callable[[float], ArrayLike]

#: Discrete curvatures: 2 sin(φ/2), 4 sin(φ/4), 2 tan(φ/2), 4 tan(φ/4), φ over the length, φ the angle between frames.
CURVATURES = ("sine", "half-sine", "tangent", "half-tangent", "angle")
#: Generators m sin(φ/m), m tan(φ/m) with any real m >= 1; "sine" is ("sine", 2), "half-tangent" ("tangent", 4).
FAMILIES = ("sine", "tangent")
INERTIAS = ("disc", "cylinder")
MASSES = ("lumped", "blended")
STRAINS = ("cosserat", "stretch", "kirchhoff", "inextensible")
DISCRETIZATIONS = ("staggered", "elements")
#: What a rod gets that says nothing about it: degree and number of elements, which grows with the turns of its shape.
DEFAULT_DEGREE = 3
DEFAULT_ELEMENTS = 8

#: Relative difference that the length may have from that of the shape, and an end from where it is held.
LENGTH_SLACK = 1e-6
#: Most segments of a rod.
MOST_SEGMENTS = 1_000_000
#: Most that the frame may turn in an element at the start, in rad, and least norm of its interpolated quaternions.
MOST_TURN = math.pi
LEAST_NORM = 0.5
#: Relative rounding that a stiffness may show in symmetry, and the smallest eigenvalue that is one.
STIFFNESS_SLACK = 1e-9
SMALLEST_EIGENVALUE = 1e-12

#: What a rod may have a limit of.
LIMITS = ("bend_radius", "stress")

#: Fields that may be functions of s, at whose jumps elements end.
_JUMPING = ("stiffness", "density_per_length", "rotary_inertia", "precurvature", "prestrain")
_ORIGIN = (0.0, 0.0, 0.0)
_UNIT = np.eye(6)


class Limits(Mapping[str, float]):
    """Limits of a rod by their names; read-only."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = tuple((name, values[name]) for name in LIMITS if name in values)

    def __getitem__(self, name: str) -> float:
        return dict(self._values)[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(dict(self._values))


def _fractions(s: ArrayLike) -> Array:
    """Fractions of the length as an array (n,)."""
    found = np.atleast_1d(_check.array("s", s, ()))
    if found.ndim > 1:
        raise ValueError(f"s must be a number or a one-dimensional array, got the shape {found.shape}.")
    return found


@dataclass(frozen=True, init=False, eq=False)
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
        with ``segments`` or ``grid`` and neither of these has the grid; one that says nothing has elements of degree 3.
        ``curvature``, ``inertia`` and ``mass`` choose among variants of the grid. In a `System`, elements are split
        where a load, a mass or a string sets in and where the rod's properties jump; ``system.notes`` tells it.
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

    name: str
    length: float
    segments: int
    section: CrossSection | None
    material: Material | None
    start: End
    end: End
    curvature: str | tuple[str, float]
    inertia: str
    mass: str | float
    damping: Damping | None
    initial: Shape | None
    stiffness: Any
    density_per_length: Any
    rotary_inertia: Any
    precurvature: Any
    prestrain: Any
    strain: str
    velocity: Any
    angular_velocity: Any
    grid: Any
    discretization: str
    #: None of the staggered grid.
    degree: int | None
    #: A number, a function of time, or None.
    rest_stretch: Any
    limits: Limits | None

    #: Ends of elements beside those of segments or grid: where something sets in, which the system knows.
    _extra: ClassVar[tuple[float, ...]] = ()

    def __init__(
        self,
        name: str,
        length: float | None = None,
        segments: int | None = None,
        section: CrossSection | None = None,
        material: Material | None = None,
        start: End | None = None,
        end: End | None = None,
        *,
        curvature: str | tuple[str, float] = "angle",
        inertia: str = "disc",
        mass: str | float = "lumped",
        damping: Damping | None = None,
        initial: Shape | None = None,
        stiffness: Field | None = None,
        density_per_length: float | Callable[[float], float] | None = None,
        rotary_inertia: Field | None = None,
        precurvature: Field | None = None,
        prestrain: Field | None = None,
        strain: str = "cosserat",
        velocity: Field = _ORIGIN,
        angular_velocity: Field = _ORIGIN,
        grid: ArrayLike | None = None,
        discretization: str | None = None,
        degree: int | None = None,
        rest_stretch: float | Callable[[float], float] | None = None,
        limits: Mapping[str, float] | None = None,
    ) -> None:
        arguments = locals()
        self._fill({field: arguments[field] for field in _CHECKS}, set(_STAGES))

    def _fill(self, values: Mapping[str, Any], stages: set[str]) -> None:
        """Check and set fields, and go through the checks of what belongs together that they matter for."""
        problems = Problems(f"Rod {shown(values.get('name', self.__dict__.get('name')))}")
        sound = {*_CHECKS, *_STAGES} - stages
        for field, value in values.items():
            absent = given(value) is None and field not in _REQUIRED
            found = None if absent else problems.check(_CHECKS[field], field, given(value))
            self._set(**{field: found})
            if found is None and not absent:
                sound.discard(field)
        self._set(start=self.start or Free(), end=self.end or Free())
        for stage, (check, needs) in _STAGES.items():
            if stage in stages and sound.issuperset(needs) and problems.passes(check, self):
                sound.add(stage)
        problems.finish()

    def _remade(self, new: Mapping[str, Any]) -> Self:
        """What does not follow from the new values has been checked, and stays."""
        if type(self) is not Rod:
            return super()._remade(new)
        touched = set(new)
        if isinstance(self.length, Derived) and not touched.isdisjoint(("initial", "prestrain")):
            touched.add("length")
        # Degree and discretization follow from each other.
        if new.get("discretization") is not None:
            touched.add("degree")
        elif new.get("degree") is not None:
            touched.add("discretization")
        return self._again({field: new.get(field) for field in _CHECKS if field in touched}, touched)

    def _split(self, fractions: Iterable[float]) -> Self:
        """The same with ends of elements at these fractions, too, and no others beside those of segments or grid."""
        if self.degree is None:
            return self
        own, inner = self._own_ends, list[float]()
        for s in sorted(fractions):
            if NEAREST_ENDS <= s <= 1.0 - NEAREST_ENDS and not (inner and s - inner[-1] < NEAREST_ENDS):
                inner.append(float(s))
        new = [s for s in inner if np.abs(own - s).min() >= NEAREST_ENDS]
        # An equal division gives way to what must be an end: all of that must be known then.
        extra = tuple(inner if new and self.grid is None else new)
        return self if extra == self._extra else self._again({}, {"a grid"}, extra)

    def _again(self, values: Mapping[str, Any], touched: set[str], extra: tuple[float, ...] | None = None) -> Self:
        """A copy with other values, in which what they matter for is checked and found anew."""
        for stage, (_, needs) in _STAGES.items():  # each comes after those that it needs
            if not touched.isdisjoint(needs):
                touched.add(stage)
        made = object.__new__(type(self))
        for cached in _SHARED:
            getattr(self, cached)
        made.__dict__.update(self.__dict__)
        for stage in touched.intersection(_FOLLOWS):
            for cached in _FOLLOWS[stage]:
                made.__dict__.pop(cached, None)
        if extra is not None or "a grid" in touched:
            made._set(_extra=extra or ())
        made._fill(values, touched.intersection(_STAGES))
        return made

    # --- the mesh ---

    @cached_property
    def mesh(self) -> Mesh:
        """Where positions, frames, strains and curvatures live, and how they are interpolated."""
        if self.degree is None:
            return Grid(self._own_ends)
        if self._extra and self.grid is None:
            return Elements(self.degree, divided(self._extra, self.segments))
        return Elements(self.degree, np.sort(np.concatenate([self._own_ends, self._extra])))

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
        """Fractions of the length at which functions of s jump that tell what the rod is made of, by their fields."""
        told: dict[str, Any] = {field: getattr(self, field) for field in _JUMPING}
        if self.section is not None:
            told |= {f"section.{f}": getattr(self.section, f) for f in field_names(type(self.section))}
        if isinstance(self.initial, Bent):
            told["initial.curvature"] = self.initial.curvature
        found = {field: self._jumps_of(value) for field, value in told.items() if callable(value)}
        return {field: places for field, places in found.items() if places}

    def _jumps_of(self, function: Any) -> tuple[float, ...]:
        """Where a function of s jumps; searched once."""
        known, places = self._known_jumps.get(id(function), (None, ()))
        if known is not function:
            places = jumps(function)
            self._known_jumps[id(function)] = function, places
        return places

    @cached_property
    def _known_jumps(self) -> dict[int, tuple[Any, tuple[float, ...]]]:
        """Functions that were searched, by their identity, and what was found; the copies of a rod share it."""
        return {}

    def refine(self, tolerance: float, state: Any = None) -> Rod:
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
                f"Rod {self.name!r}: lumped_inertia is that of elements, and this rod has segments; inertia_at tells "
                "what it has along its length."
            )
        places = [s for found in self.jumps.values() for s in found]
        return self.length * self.mesh.lumped(self.inertia_at, places)

    # --- what it is made of ---

    def stiffness_at(self, s: ArrayLike) -> Array:
        """Stiffness at fractions s, in the order Γ1, Γ2, Γ3, K1, K2, K3, (n, 6, 6)."""
        s = _fractions(s)
        if self._known_stiffness is not None:
            return sampled("stiffness", self._known_stiffness, s, _stiffness)
        return self._stiffness_of(self._section_at(s))

    @cached_property
    def _known_stiffness(self) -> Any:
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
        if self.section is not None and self.material is not None:
            v = self._section_at(s)
            with np.errstate(over="ignore"):
                parts[:] = self.material.density * np.stack([v.area, v.I1, v.I2, v.polar], axis=-1)
        if self.density_per_length is not None:
            parts[:, 0] = sampled("density_per_length", self.density_per_length, s, positive)
        if self.rotary_inertia is not None:
            parts[:, 1:] = sampled("rotary_inertia", self.rotary_inertia, s, _all_positive)
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
        return self.section.everywhere or _within("section", self.section.at, s)

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
        x, q = _within("initial", self.shape.place, s, self.length)
        turned = np.add.reduce(q[1:] * q[:-1], axis=1) < 0.0
        if not turned.any():
            return frozen(x), frozen(q)
        sides = np.where(turned, -1.0, 1.0)
        return frozen(x), frozen(q * np.cumprod(np.append(1.0, sides))[:, None])

    @cached_property
    def _shape_notes(self) -> dict[Any, Any]:
        """What others find out about how the rod lies at the start, by what they ask for."""
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

    def point(self, s: float, offset: ArrayLike = (0.0, 0.0)) -> Array:
        """Point in space at the start, at a fraction s and an offset along d1 and d2 of the frame there, (3,).

        The frame of the grid is that of the segment; elements interpolate theirs.
        """
        a1, a2 = numbers("offset", offset, (2,))
        if self.degree is not None:
            at = self.mesh.vertex_at([s])
            turned = rotations.rotate(apply_frames(*at, self.quaternions)[0], np.array([a1, a2, 0.0]))
            return np.asarray(apply(*at, self.positions)[0] + turned)
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


# --- checks of single fields -----------------------------------------------------------------------------------------


def _within(owner: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call a part of the rod; its complaint, which begins with a field, gets the name of the part."""
    try:
        return function(*args)
    except ValueError as error:
        raise ValueError(f"{owner}.{error}") from error


def _as_given(field: str, value: Any) -> Any:  # noqa: ARG001
    """Checked when it is known whether there are segments or elements."""
    return value


def _degree(field: str, value: Any) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value in DEGREES:
        return int(value)
    raise ValueError(f"{field} must be {', '.join(map(str, DEGREES[:-1]))} or {DEGREES[-1]}, got {shown(value)}.")


def _segments(field: str, value: Any, least: int) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and least <= value <= MOST_SEGMENTS:
        return int(value)
    raise ValueError(f"{field} must be an integer from {least} to {MOST_SEGMENTS}, got {shown(value)}.")


def _grid(field: str, value: Any, fewest: int) -> Array:
    try:
        count = len(value)
    except TypeError:
        raise ValueError(f"{field} must be increasing fractions from 0 to 1, got {shown(value)}.") from None
    if not fewest <= count <= MOST_SEGMENTS + 1:
        raise ValueError(f"{field} must have {fewest} to {MOST_SEGMENTS + 1} fractions, got {count}.")
    s = numbers(field, value, (count,))
    if s[0] != 0.0 or s[-1] != 1.0:
        raise ValueError(f"{field} must reach from 0 to 1, got {s[0]:.12g} to {s[-1]:.12g}.")
    bad = np.flatnonzero(np.diff(s) <= 1e-12)
    if len(bad):
        i = int(bad[0])
        raise ValueError(
            f"{field} must increase, but {field}[{i}] = {s[i]:.12g} is followed by {field}[{i + 1}] = {s[i + 1]:.12g}."
        )
    return s


def _curvature(field: str, value: Any) -> str | tuple[str, float]:
    if not isinstance(value, (tuple, list)):
        try:
            return _check.choice(field, value, CURVATURES)
        except ValueError as error:
            raise ValueError(f"{error} Or ('sine', m), ('tangent', m) with m >= 1.") from None
    if len(value) != 2:
        raise ValueError(f"{field} = {shown(value)} must be a name, or a pair such as ('sine', 3.0).")
    m = float(numbers(f"{field}[1]", value[1], ()))
    if m < 1.0:
        raise ValueError(f"{field}[1] = {shown(value[1])} must be a number m >= 1.")
    return _check.choice(f"{field}[0]", value[0], FAMILIES), m


def _mass(field: str, value: Any) -> str | float:
    if isinstance(value, str):
        return _check.choice(field, value, MASSES)
    try:
        share = float(numbers(field, value, ()))
    except ValueError:
        share = math.nan
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"{field} must be 'lumped', 'blended' or a number from 0 to 1, got {shown(value)}.")
    return share


def _all_positive(field: str, value: ArrayLike) -> Array:
    x = vector(field, value)
    if np.any(x <= 0.0):
        raise ValueError(f"{field} must be three positive numbers, got {shown(value)}.")
    return x


def _rest_stretch(field: str, value: Any) -> Any:
    if not callable(value):
        return positive(field, value)
    called(field, value, "t", 0.0, positive)
    return value


def _limits(field: str, value: Any) -> Limits | None:
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"{field} must be a dictionary with {' or '.join(map(repr, LIMITS))}, got {shown(value)}.")
    names = [_check.choice(field, name, LIMITS) for name in value]
    return Limits({name: positive(f"{field}[{name!r}]", value[name]) for name in names})


def _stiffness(field: str, value: ArrayLike) -> Array:
    """Symmetric positive definite 6x6 of a matrix or its diagonal."""
    C = numbers(field, value, (6,), (6, 6))
    d = C if C.ndim == 1 else np.diag(C)
    bad = np.flatnonzero(d <= 0.0)
    if len(bad):
        i = int(bad[0])
        place = i if C.ndim == 1 else f"{i}, {i}"
        raise ValueError(f"{field}[{place}] = {d[i]:.12g} must be positive.")
    if C.ndim == 1:
        return frozen(np.diag(C))
    size = np.sqrt(d)
    with np.errstate(over="ignore"):  # entries have several units, symmetry and definiteness have none
        defect = np.abs(C - C.T) / size[:, None] / size
        unit = np.clip(0.5 * (C + C.T) / size[:, None] / size, -1e6, 1e6)
    i, j = (int(k) for k in np.unravel_index(np.argmax(defect), (6, 6)))
    if defect[i, j] > STIFFNESS_SLACK:
        raise ValueError(
            f"{field} must be symmetric, got {field}[{i}, {j}] = {C[i, j]:.12g} and {field}[{j}, {i}] = {C[j, i]:.12g}."
        )
    smallest = float(np.linalg.eigvalsh(unit)[0])
    if smallest < SMALLEST_EIGENVALUE:
        raise ValueError(
            f"{field} must be positive definite; scaled to a unit diagonal, its smallest eigenvalue is {smallest:.6g}."
        )
    return frozen(0.5 * (C + C.T))


def _kind(kind: type[Any], wanted: str) -> Callable[[str, Any], Any]:
    return lambda field, value: instance(field, value, kind, wanted)


def _choice(names: tuple[str, ...]) -> Callable[[str, Any], Any]:
    return lambda field, value: _check.choice(field, value, names)


def _or_function(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda field, value: constant_or_function(field, value, check)


_END = _kind(End, "an end: Free, Hinged, Clamped or Guided")
_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "name": new_name,
    "length": positive,
    "segments": _as_given,
    "section": _kind(CrossSection, "a section such as Circle"),
    "material": _kind(Material, "a Material"),
    "start": _END,
    "end": _END,
    "curvature": _curvature,
    "inertia": _choice(INERTIAS),
    "mass": _mass,
    "damping": _kind(Damping, "a Damping"),
    "initial": _kind(Shape, "a shape such as Straight"),
    "stiffness": _or_function(_stiffness),
    "density_per_length": _or_function(positive),
    "rotary_inertia": _or_function(_all_positive),
    "precurvature": _or_function(vector),
    "prestrain": _or_function(vector),
    "strain": _choice(STRAINS),
    "velocity": _or_function(vector),
    "angular_velocity": _or_function(vector),
    "grid": _as_given,
    "discretization": _choice(DISCRETIZATIONS),
    "degree": _degree,
    "rest_stretch": _rest_stretch,
    "limits": _limits,
}
#: Fields for which None is no value.
_REQUIRED = frozenset({"name", "curvature", "inertia", "mass", "strain", "velocity", "angular_velocity"})


# --- checks of what belongs together ---------------------------------------------------------------------------------


def _check_kind(rod: Rod) -> None:
    """Which discretization it is, said or not."""
    if rod.discretization == "staggered" and rod.degree is not None:
        raise ValueError(
            f"degree = {rod.degree} is for elements, but discretization = 'staggered'; leave degree out, or take "
            "discretization = 'elements'."
        )
    if rod.discretization is None:
        plain = rod.degree is None and (rod.segments is not None or rod.grid is not None)
        rod._set(discretization="staggered" if plain else "elements")
    if rod.discretization == "elements" and rod.degree is None:
        rod._set(degree=DEFAULT_DEGREE)


def _check_segments(rod: Rod) -> None:
    if rod.segments is not None:
        rod._set(segments=_segments("segments", rod.segments, 2 if rod.degree is None else 1))
    elif rod.grid is None and rod.degree is None:
        raise ValueError("segments is missing; give their number, or a grid.")
    elif rod.grid is None:
        rod._set(segments=_usual_elements(rod))


def _check_grid(rod: Rod) -> None:
    if rod.grid is not None:
        rod._set(grid=_grid("grid", rod.grid, 3 if rod.degree is None else 2))


def _check_mesh(rod: Rod) -> None:
    if rod.segments is None:
        rod._set(segments=len(rod.grid) - 1)
    elif rod.grid is not None and len(rod.grid) != rod.segments + 1:
        raise ValueError(
            f"grid has {len(rod.grid)} fractions, but segments = {rod.segments} need {rod.segments + 1}; "
            "leave segments out."
        )
    if rod.degree is not None and rod.degree * rod.segments > MOST_SEGMENTS:
        raise ValueError(
            f"segments = {rod.segments} elements of degree = {rod.degree} have {rod.degree * rod.segments + 1} nodes; "
            f"at most {MOST_SEGMENTS + 1} are allowed."
        )


def _check_variants(rod: Rod) -> None:
    """Elements interpolate positions, frames and strains: there is nothing to choose."""
    if rod.degree is None:
        return
    for field, only in (("curvature", "angle"), ("inertia", "disc"), ("mass", "lumped")):
        value = getattr(rod, field)
        if value != only:
            raise ValueError(
                f"{field} = {shown(value)} is a variant of the staggered grid; elements have {field} = {only!r} only. "
                f"Leave {field} out, or take discretization = 'staggered'."
            )


def _check_material(rod: Rod) -> None:
    """There is something that gives stiffness and inertia."""
    missing = [field for field in ("section", "material") if getattr(rod, field) is None]
    if rod.stiffness is None and missing:
        are = "is" if len(missing) == 1 else "are"
        raise ValueError(
            f"{' and '.join(missing)} {are} missing; give section and material, or stiffness with density_per_length "
            "and rotary_inertia."
        )
    lacking = [field for field in ("density_per_length", "rotary_inertia") if getattr(rod, field) is None]
    if missing and lacking:
        are = "is" if len(lacking) == 1 else "are"
        raise ValueError(
            f"{' and '.join(lacking)} {are} missing: stiffness says nothing about inertia; give both, or section and "
            "material."
        )


def _points(rod: Rod) -> Array:
    return np.concatenate([rod.fractions, rod.mesh.strains])


def _check_section(rod: Rod) -> None:
    if rod.section is not None and rod.section.everywhere is None:
        with np.errstate(over="ignore"):
            rod._section_at(_points(rod))


def _check_thickness(rod: Rod) -> None:
    """Sections wider than twice the length are dimensions in mm."""
    if rod.section is None:
        return
    half = float(rod.section.half_sizes([0.5]).max())
    if half > rod.length:
        raise ValueError(
            f"section = {shown(rod.section)} is {2.0 * half:.6g} m across, but the rod is {rod.length:.6g} m long; all "
            "dimensions are in metres, so that 5 mm is 5e-3."
        )


def _check_stiffness(rod: Rod) -> None:
    s = rod.fractions[:1] if isinstance(rod._known_stiffness, np.ndarray) else _points(rod)
    _require_positive("stiffness", np.einsum("nii->ni", rod.stiffness_at(s)), s)


def _check_inertia(rod: Rod) -> None:
    s = _points(rod) if rod._known_inertia is None else rod.fractions[:1]
    _require_positive("inertia", rod.inertia_at(s), s)


def _require_positive(what: str, values: Array, s: Array) -> None:
    good = (values > 0.0) & np.isfinite(values)
    if not good.all():
        i = int(np.flatnonzero(~good.all(axis=1))[0])
        raise ValueError(
            f"section and material give the {what} {shown(values[i].tolist())} at s = {s[i]:.6g}, which is not "
            "positive and finite in double precision; take dimensions and moduli of a sensible size."
        )


def _check_damping(rod: Rod) -> None:
    if rod.damping is not None and rod.damping.needs_section and rod.section is None:
        raise ValueError("damping has viscosities, which need a section; give section, or c directly.")


def _check_limits(rod: Rod) -> None:
    if rod.limits is not None and "stress" in rod.limits and rod.section is None:
        raise ValueError("limits['stress'] needs a section, which says where stress is largest; give section.")


def _check_stretch(rod: Rod) -> None:
    if rod.rest_stretch is not None and rod.strain == "inextensible":
        raise ValueError(
            f"rest_stretch = {shown(rod.rest_stretch)} is for rods that can be stretched, but strain = 'inextensible'; "
            "take another strain, or change length."
        )


def _check_length(rod: Rod) -> None:
    curve = None if rod.initial is None else _within("initial", lambda: rod.initial.length)  # type: ignore[union-attr]
    if rod.length is None:
        if curve is None:
            raise ValueError("length is missing; it is needed unless initial is a Straight, an Arc or a Curve.")
        rod._set(length=Derived(curve))
    elif curve is not None and rod.prestrain is None and abs(rod.length - curve) > LENGTH_SLACK * curve:
        raise ValueError(
            f"length = {rod.length:.12g} disagrees with the length of initial, {curve:.12g}; leave length out, or "
            "give prestrain if the rod is stretched or compressed at the start."
        )


def _check_placed(rod: Rod) -> None:
    """Neighbouring frames differ by less than a half turn, or their difference would be taken the wrong way round."""
    _, q = rod._placed
    if isinstance(rod.mesh, Elements):
        _check_turns(rod, rod.mesh, q)
        return
    bad = np.add.reduce(q[1:-2:2] * q[3::2], axis=1) <= 0.0
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"segments = {rod.segments} are too few for initial: its frame turns by more than half a turn between "
            f"s = {rod.midpoints[i]:.6g} and s = {rod.midpoints[i + 1]:.6g}."
        )


def _check_turns(rod: Rod, mesh: Elements, q: Array) -> None:
    """No element turns by more than half a turn, and none has an interpolated quaternion that is near zero."""
    steps = 2.0 * np.arccos(np.minimum(np.add.reduce(q[1:] * q[:-1], axis=1), 1.0))
    turns = np.add.reduce(steps.reshape(mesh.cells, -1), axis=1)
    nodes = mesh.nodes_of(np.arange(mesh.cells))
    P = np.einsum("ki,eic->ekc", mesh.rule.values, q[::2][nodes])
    least = norms(P).min(axis=1)
    bad = np.flatnonzero((turns > MOST_TURN * (1.0 + 1e-9)) | (least <= LEAST_NORM))
    if not len(bad):
        return
    e = int(bad[0])
    enough = f"{_enough(rod.shape, rod.length, MOST_TURN)} elements" + ("" if rod.grid is None else " of one size")
    raise ValueError(
        f"segments = {rod.segments} are too few for initial: the frame turns by {np.rad2deg(turns[e]):.3g} degrees in "
        f"element {e}, between s = {mesh.ends[e]:.6g} and s = {mesh.ends[e + 1]:.6g}; an element can represent at most "
        f"{np.rad2deg(MOST_TURN):.3g}. Use at least {enough}."
    )


def _usual_elements(rod: Rod) -> int:
    """What a rod gets that says nothing: none turns by more than a quarter turn, at the start or free of stress."""
    found = DEFAULT_ELEMENTS
    try:
        length = rod.length or (rod.initial.length if rod.initial is not None else None) or 1.0
        if rod.initial is not None:
            found = max(found, _enough(rod.initial, length, 0.5 * MOST_TURN))
        if rod.precurvature is not None:
            bends = sampled("precurvature", rod.precurvature, np.linspace(0.0, 1.0, 201), vector)
            found = max(found, math.ceil(length * float(norms(bends).max()) / (0.5 * MOST_TURN)))
    except (TypeError, ValueError):  # which another check tells
        pass
    return min(found, MOST_SEGMENTS // DEFAULT_DEGREE)


def _enough(shape: Shape, length: float, most: float) -> int:
    """Fewest equal elements none of which turns by more than ``most``."""
    s = np.linspace(0.0, 1.0, 4097)
    q = shape.place(s, length)[1]
    steps = 2.0 * np.arccos(np.minimum(np.abs(np.add.reduce(q[1:] * q[:-1], axis=1)), 1.0))
    turned = np.append(0.0, np.cumsum(steps))
    count = max(1, int(turned[-1] / most))
    while np.diff(np.interp(np.arange(count + 1.0) / count, s, turned)).max() > most * (1.0 + 1e-9) and count < len(s):
        count += 1
    return count


def _check_place(rod: Rod, field: str) -> None:
    """The end is held where the initial shape has it."""
    end: End = getattr(rod, field)
    x = rod.positions[0 if field == "start" else -1]
    at = _within(field, end.position_at, 0.0)
    _within(field, end.velocity_at, 0.0)
    if at is not None and math.dist(at, x) > LENGTH_SLACK * rod.length:
        raise ValueError(
            f"{field} = {type(end).__name__} holds at = {shown(at)}, but initial has its {field} at {shown(x)}, "
            f"{math.dist(at, x):.6g} m away; move one of them, or leave at out. What has to be bent to reach it can be "
            "brought there by gd.follow, with an at that is a function of time."
        )


def _check_frame(rod: Rod, field: str) -> None:
    """The end is held nearly as the initial shape has it: beyond a right angle no curvature can represent the bend."""
    end: End = getattr(rod, field)
    q = rod.end_frames[0 if field == "start" else 1]
    frame = _within(field, end.frame_at, 0.0)
    _within(field, end.angular_velocity_at, 0.0)
    angle = 0.0 if frame is None else float(rotations.distance(frame, q))
    if angle > 0.5 * np.pi:
        raise ValueError(
            f"{field} = {type(end).__name__} holds frame = {shown(frame)}, but initial has {shown(q)} at its {field}, "
            f"{turned(angle)} away; it must be less than a right angle (d3 is the tangent). Turn one of them, or leave "
            "frame out."
        )


def _check_motion(rod: Rod) -> None:
    """An end that ground holds and does not lead does not move; what holds the others, the system knows."""
    v = rod.velocities
    fastest = float(norms(v).max())
    for field, side in (("start", 0), ("end", -1)):
        end: End = getattr(rod, field)
        if end.holds_position and not end.attached and not callable(end.at) and norms(v[side]) > LENGTH_SLACK * fastest:
            raise ValueError(
                f"velocity at the {field} is {shown(v[side])}, but {field} = {type(end).__name__} holds it; give a "
                "velocity that vanishes there, or at as a function of time."
            )


#: Each check with the fields and the other checks that must have passed before.
_STAGES: dict[str, tuple[Callable[[Rod], object], set[str]]] = {
    "a kind": (_check_kind, {"discretization", "degree"}),
    "segments of a kind": (_check_segments, {"segments", "a kind"}),
    "grid of a kind": (_check_grid, {"grid", "a kind"}),
    "a grid": (_check_mesh, {"segments of a kind", "grid of a kind"}),
    "a variant": (_check_variants, {"a kind", "curvature", "inertia", "mass"}),
    "a material": (_check_material, {"section", "material", "stiffness", "density_per_length", "rotary_inertia"}),
    "section at s": (_check_section, {"a grid", "section"}),
    "stiffness at s": (_check_stiffness, {"a material", "section at s"}),
    "inertia at s": (_check_inertia, {"a material", "section at s"}),
    "damping at s": (_check_damping, {"damping", "section"}),
    "limits of stress": (_check_limits, {"limits", "section"}),
    "a stretch": (_check_stretch, {"rest_stretch", "strain"}),
    "a length": (_check_length, {"length", "initial", "prestrain"}),
    "a thickness": (_check_thickness, {"section at s", "a length"}),
    "placed": (_check_placed, {"a grid", "a length"}),
    "start at": (lambda rod: _check_place(rod, "start"), {"start", "placed"}),
    "start frame": (lambda rod: _check_frame(rod, "start"), {"start", "placed"}),
    "end at": (lambda rod: _check_place(rod, "end"), {"end", "placed"}),
    "end frame": (lambda rod: _check_frame(rod, "end"), {"end", "placed"}),
    "velocity at s": (lambda rod: rod.velocities, {"velocity", "angular_velocity", "placed"}),
    "angular velocity at s": (lambda rod: rod.spins, {"angular_velocity", "placed"}),
    "motion": (_check_motion, {"start", "end", "velocity at s"}),
    "precurvature at s": (lambda rod: rod.precurvatures, {"precurvature", "a grid"}),
    "prestrain at s": (lambda rod: rod.prestrains, {"prestrain", "a grid"}),
}
#: What is found here, not in each of the copies that lie the same.
_SHARED = ("lengths", "_shape_notes", "_known_jumps")
#: What is kept of each check, and is found anew when it is repeated.
_FOLLOWS: dict[str, tuple[str, ...]] = {
    "a grid": ("mesh", "fractions", "midpoints"),
    "stiffness at s": ("_known_stiffness",),
    "inertia at s": ("_known_inertia",),
    "placed": ("vertices", "lengths", "_placed", "_shape_notes", "positions", "quaternions", "end_frames"),
    "velocity at s": ("velocities",),
    "angular velocity at s": ("spins",),
    "precurvature at s": ("precurvatures",),
    "prestrain at s": ("prestrains",),
}
