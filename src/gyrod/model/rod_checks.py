"""Checks of rods: of single fields, and of what belongs together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sized
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from gyrod import _check, rotations
from gyrod._check import Array
from gyrod.model.ends import End, Free
from gyrod.model.errors import (
    Derived,
    called,
    constant_or_function,
    frozen,
    instance,
    numbers,
    positive,
    sampled,
    shown,
    turned,
    vector,
)
from gyrod.model.fields import Check, Kind, holds
from gyrod.model.meshes import DEGREES, Elements
from gyrod.model.shapes import Shape
from gyrod.rotations.vectors import norms

if TYPE_CHECKING:
    from gyrod.model.rods import Rod

T = TypeVar("T")

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


# --- checks of single fields -----------------------------------------------------------------------------------------


def within(owner: str, function: Callable[..., T], *args: object) -> T:
    """Call a part of the rod; its complaint, which begins with a field, gets the name of the part."""
    try:
        return function(*args)
    except ValueError as error:
        raise ValueError(f"{owner}.{error}") from error


@holds(form="whole")
def degree(field: str, value: object) -> int:
    """Return a degree of elements."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value in DEGREES:
        return int(value)
    raise ValueError(f"{field} must be {', '.join(map(str, DEGREES[:-1]))} or {DEGREES[-1]}, got {shown(value)}.")


def _segments(field: str, value: object, least: int) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and least <= value <= MOST_SEGMENTS:
        return int(value)
    raise ValueError(f"{field} must be an integer from {least} to {MOST_SEGMENTS}, got {shown(value)}.")


def _grid(field: str, value: object, fewest: int) -> Array:
    try:
        count = len(value) if isinstance(value, Sized) else None
    except TypeError:  # an array without axes
        count = None
    if count is None:
        raise ValueError(f"{field} must be increasing fractions from 0 to 1, got {shown(value)}.")
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


@holds(form="family", words=CURVATURES)
def curvature(field: str, value: object) -> str | tuple[str, float]:
    """Return the name of a discrete curvature, or of a family with its number."""
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


@holds(words=MASSES)
def mass(field: str, value: object) -> str | float:
    """Return a name, or the share of the consistent mass."""
    if isinstance(value, str):
        return _check.choice(field, value, MASSES)
    try:
        share = float(numbers(field, value, ()))
    except ValueError:
        share = math.nan
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"{field} must be 'lumped', 'blended' or a number from 0 to 1, got {shown(value)}.")
    return share


@holds(shapes=((3,),))
def all_positive(field: str, value: object) -> Array:
    """Return three numbers > 0."""
    x = vector(field, value)
    if np.any(x <= 0.0):
        raise ValueError(f"{field} must be three positive numbers, got {shown(value)}.")
    return x


@holds(variable="t", positive=True)
def rest_stretch(field: str, value: object) -> object:
    """Return a number > 0, or a function of time that returns one at t = 0."""
    if not callable(value):
        return positive(field, value)
    called(field, value, "t", 0.0, positive)
    return value


@holds(form="table", shapes=(), words=())
def limits(field: str, value: object) -> Limits | None:
    """Return limits by their names."""
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"{field} must be a dictionary with {' or '.join(map(repr, LIMITS))}, got {shown(value)}.")
    names = [_check.choice(field, name, LIMITS) for name in value]
    return Limits({name: positive(f"{field}[{name!r}]", value[name]) for name in names})


@holds(shapes=((6,), (6, 6)))
def stiffness(field: str, value: object) -> Array:
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


def kind(wanted: type, told: str, group: str) -> Check:
    """Return a check for an object of a class."""
    return holds(form="object", group=group)(lambda field, value: instance(field, value, wanted, told))


@holds(form="object", group="end")
def end(field: str, value: object) -> End:
    """Return an end, a free one for None."""
    return Free() if value is None else instance(field, value, End, "an end: Free, Hinged, Clamped or Guided")


def or_function(check: Check) -> Check:
    """Return a check for what passes another one, or a function of s."""
    told: Check = lambda field, value: constant_or_function(field, value, check)  # noqa: E731
    return holds(**{**vars(getattr(check, "kind", Kind())), "variable": "s"})(told)


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
    if not missing:
        return
    needed = ("density_per_length",) if rod.section is not None else ("density_per_length", "rotary_inertia")
    lacking = [field for field in needed if getattr(rod, field) is None]
    if lacking:
        are = "is" if len(lacking) == 1 else "are"
        raise ValueError(
            f"{' and '.join(lacking)} {are} missing: stiffness says nothing about inertia; give density_per_length and "
            "a section or rotary_inertia, or section and material."
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
    curve = None if rod.initial is None else within("initial", lambda: rod.initial.length)  # type: ignore[union-attr]
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
    """Default elements of a rod: none turns by more than a quarter turn, at the start or free of stress."""
    found = DEFAULT_ELEMENTS
    try:
        length = rod.length or (rod.initial.length if rod.initial is not None else None) or 1.0
        if rod.initial is not None:
            found = max(found, _enough(rod.initial, length, 0.5 * MOST_TURN))
        if rod.precurvature is not None:
            bends = sampled("precurvature", rod.precurvature, np.linspace(0.0, 1.0, 201), vector)
            found = max(found, math.ceil(length * float(norms(bends).max()) / (0.5 * MOST_TURN)))
    except (TypeError, ValueError):  # which another check reports
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
    at = within(field, end.position_at, 0.0)
    within(field, end.velocity_at, 0.0)
    if at is not None and math.dist(at, x) > LENGTH_SLACK * rod.length:
        raise ValueError(
            f"{field} = {type(end).__name__} holds at = {shown(at)}, but initial has its {field} at {shown(x)}, "
            f"{math.dist(at, x):.6g} m away; move one of them, or leave at out. gd.route finds how a rod lies between "
            "its ends; it can also be brought there by gd.follow, with an at that is a function of time."
        )


def _check_frame(rod: Rod, field: str) -> None:
    """The end is held nearly as the initial shape has it: beyond a right angle no curvature can represent the bend."""
    end: End = getattr(rod, field)
    q = rod.end_frames[0 if field == "start" else 1]
    frame = within(field, end.frame_at, 0.0)
    within(field, end.angular_velocity_at, 0.0)
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
STAGES: dict[str, tuple[Callable[[Rod], object], set[str]]] = {
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
#: What is kept of each check, and is found anew when it is repeated.
FOLLOWS: dict[str, tuple[str, ...]] = {
    "": ("_known_jumps",),
    "a grid": ("mesh", "fractions", "midpoints", "_extra"),
    "stiffness at s": ("_known_stiffness",),
    "inertia at s": ("_known_inertia",),
    "placed": ("vertices", "lengths", "_placed", "_shape_notes", "positions", "quaternions", "end_frames"),
    "velocity at s": ("velocities",),
    "angular velocity at s": ("spins",),
    "precurvature at s": ("precurvatures",),
    "prestrain at s": ("prestrains",),
}
