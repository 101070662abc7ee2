"""Solids: what bodies look like, and what a homogeneous one weighs."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import KW_ONLY
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import geometry, rotations
from gyrod._check import Array
from gyrod.model.errors import Description, Problems, direction, frozen, numbers, positive, shown, vector
from gyrod.model.fields import Kept, description, field, holds
from gyrod.model.orientations import rotation

#: Most vertices and faces of a mesh.
LARGEST_MESH = 1_000_000
#: A closed mesh whose volume is below this fraction of its box is flat.
FLAT = 1e-12

#: Places of a rim at which it can touch a surface.
RIM = 24

_ORIGIN = (0.0, 0.0, 0.0)
_UP = np.array([0.0, 0.0, 1.0])

#: Colours by name; those of bodies without one are taken from the first eight in turn.
COLORS = {
    "blue": "#4477aa", "orange": "#ee7733", "teal": "#009988", "red": "#cc3311", "yellow": "#ddaa33",
    "purple": "#aa3377", "cyan": "#33bbee", "green": "#228833", "black": "#222222", "grey": "#888888",
    "gray": "#888888", "silver": "#c0c4c8", "white": "#f5f5f5", "brown": "#8c564b", "pink": "#ee99aa",
    "gold": "#c9a227", "steel": "#7a8794", "copper": "#b87333",
}  # fmt: skip


# --- checks ----------------------------------------------------------------------------------------------------------


@holds(shapes=((3,),))
def _size(field: str, value: object) -> Array:
    size = vector(field, value)
    if np.any(size <= 0.0):
        raise ValueError(f"{field} must be three numbers > 0, got {shown(value)}.")
    return size


def _rows(field: str, value: object, least: int) -> Array:
    shape = (
        np.asarray(value).shape
        if isinstance(value, np.ndarray)
        else (len(value), 3)
        if hasattr(value, "__len__")
        else ()
    )
    if len(shape) != 2 or shape[1] != 3 or not least <= shape[0] <= LARGEST_MESH:
        raise ValueError(
            f"{field} must be {least} to {LARGEST_MESH} rows of three numbers, got {shown(value)}"
            + (f" of shape {shape}." if shape else ".")
        )
    return numbers(field, value, shape)


@holds(shapes=((-1, 3),))
def _vertices(field: str, value: object) -> Array:
    return _rows(field, value, 3)


@holds(shapes=((-1, 3),))
def _faces(field: str, value: object) -> NDArray[np.int32]:
    found = _rows(field, value, 1)
    if np.any(found != np.rint(found)) or np.any(found < 0.0) or np.any(found >= 2**31):
        raise ValueError(f"{field} must hold numbers of vertices, counted from 0, got {shown(value)}.")
    result = found.astype(np.int32)
    result.flags.writeable = False
    return result


# --- solids -----------------------------------------------------------------------------------------------------------


@description
class Solid(Description, ABC):
    """Base of the solids, placed at ``offset`` from the centre of mass of their body, turned by ``orientation``.

    Both are in body axes; ``orientation`` takes all forms that the orientation of a body takes.

    Rules for a new solid: it is a frozen class here that knows its volume, its centre, its second moments and its
    surface in its own axes, and it joins `SOLIDS`, over which the tests run; `look.scene` says how it is drawn.
    """

    _: KW_ONLY
    #: (3,).
    offset: Kept[Array, ArrayLike] = field(vector, "m", default=_ORIGIN)
    #: Unit quaternion (4,).
    orientation: Kept[Array, object] = field(rotation, default=None, always=True)

    @abstractmethod
    def _own(self) -> tuple[float, Array, Array]:
        """Volume, centre (3,) and second moments ∫ (x - c)(x - c)ᵀ dV (3, 3) in its own axes."""

    @abstractmethod
    def _surface(self) -> geometry.Surface:
        """Its surface in its own axes."""

    @cached_property
    def surface(self) -> geometry.Surface:
        """Its surface in its own axes: distances, normals, nearest points."""
        return self._surface()

    def rounded(self, by: float) -> geometry.Surface:  # noqa: ARG002
        """The same with edges rounded by a radius in m, where it has edges that can be."""
        return self.surface

    def stations(self, rounding: float) -> tuple[Array, Array]:  # noqa: ARG002
        """Points (n, 3) in its own axes and radii (n,) of what of it can touch a surface."""
        raise ValueError(f"a {type(self).__name__} cannot touch a surface; it can be touched.")

    @property
    def least(self) -> float:
        """The smallest of its sizes, m."""
        raise NotImplementedError

    @property
    def turn(self) -> Array:
        """Rotation from its own axes to those of the body, (3, 3)."""
        return rotations.matrix_from_quaternion(self.orientation)

    def moments(self) -> tuple[float, Array, Array]:
        """Volume in m³, centre (3,) and second moments about the centre (3, 3), in body axes."""
        volume, center, second = self._own()
        R = self.turn
        return volume, self.offset + R @ center, R @ second @ R.T

    def moved(self, by: ArrayLike) -> Solid:
        """The same solid with its offset changed by a vector."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, offset=frozen(self.offset + np.asarray(by)))
        return other


@description
class Box(Solid):
    """A box with edges of ``size`` (x, y, z), in m, about its middle."""

    size: Kept[Array, ArrayLike] = field(_size, "m")

    def _surface(self) -> geometry.Surface:
        return geometry.box(self.size)

    def rounded(self, by: float) -> geometry.Surface:
        """The same with rounded edges and corners."""
        return geometry.box(self.size, rounding=by)

    def stations(self, rounding: float) -> tuple[Array, Array]:
        """Its eight corners, balls of the rounding."""
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
        return signs * (0.5 * self.size - rounding), np.full(8, rounding)

    @property
    def least(self) -> float:
        """The shortest edge."""
        return float(self.size.min())

    def _own(self) -> tuple[float, Array, Array]:
        volume = float(np.prod(self.size))
        return volume, np.zeros(3), volume * np.diag(self.size**2) / 12.0


@description
class Sphere(Solid):
    """A ball of a ``radius`` in m."""

    radius: float = field(positive, "m")

    def _surface(self) -> geometry.Surface:
        return geometry.ball(self.radius)

    def stations(self, rounding: float) -> tuple[Array, Array]:  # noqa: ARG002
        """Its centre, with its radius."""
        return np.zeros((1, 3)), np.array([self.radius])

    @property
    def least(self) -> float:
        """Its radius."""
        return self.radius

    def _own(self) -> tuple[float, Array, Array]:
        volume = 4.0 / 3.0 * np.pi * self.radius**3
        return volume, np.zeros(3), volume * self.radius**2 / 5.0 * np.eye(3)


@description
class _Round(Solid):
    """Solids with an axis, d3 of the body unless ``axis`` is given."""

    radius: float = field(positive, "m")
    length: float = field(positive, "m")
    #: Unit vector (3,), or None.
    axis: Kept[Array | None, ArrayLike | None] = field(direction, default=None)

    @property
    def least(self) -> float:
        """Radius or length."""
        return min(self.radius, self.length)

    @property
    def turn(self) -> Array:
        """Rotation from its own axes to those of the body, (3, 3): first to ``axis``, then by ``orientation``."""
        R = rotations.matrix_from_quaternion(self.orientation)
        return R if self.axis is None else R @ towards(self.axis)


class Cylinder(_Round):
    """A cylinder of ``radius`` and ``length`` in m along ``axis`` (by default d3), about its middle."""

    def _surface(self) -> geometry.Surface:
        return geometry.cylinder(self.radius, self.length)

    def rounded(self, by: float) -> geometry.Surface:
        """The same with rounded rims."""
        return geometry.cylinder(self.radius, self.length, rounding=by)

    def stations(self, rounding: float) -> tuple[Array, Array]:
        """Both rims, balls of the rounding at `RIM` places each."""
        return _rims(self.radius - rounding, 0.5 * self.length - rounding), np.full(2 * RIM, rounding)

    def _own(self) -> tuple[float, Array, Array]:
        r, h = self.radius**2, self.length**2
        volume = np.pi * r * self.length
        return volume, np.zeros(3), volume * np.diag([r / 4.0, r / 4.0, h / 12.0])


class Capsule(_Round):
    """All points within ``radius`` of a segment of ``length`` in m along ``axis`` (by default d3), about its middle."""

    def _surface(self) -> geometry.Surface:
        return geometry.capsule(self.radius, self.length)

    def stations(self, rounding: float) -> tuple[Array, Array]:  # noqa: ARG002
        """The ends of its segment, with its radius."""
        return 0.5 * self.length * np.array([-_UP, _UP]), np.full(2, self.radius)

    def _own(self) -> tuple[float, Array, Array]:
        r, h = self.radius, self.length
        tube, ball = np.pi * r**2 * h, 4.0 / 3.0 * np.pi * r**3
        # Half balls have their centres 3/8 r beyond the ends.
        along = tube * h**2 / 12.0 + ball * (0.2 * r**2 + 0.25 * h**2 + 0.375 * r * h)
        across = tube * r**2 / 4.0 + ball * 0.2 * r**2
        return tube + ball, np.zeros(3), np.diag([across, across, along])


class Cone(_Round):
    """A cone whose tip points along ``axis`` (by default d3); ``offset`` is that of the middle between tip and base."""

    def _surface(self) -> geometry.Surface:
        return geometry.cone(self.radius, self.length)

    def stations(self, rounding: float) -> tuple[Array, Array]:  # noqa: ARG002
        """The rim of its base and its tip."""
        base = _rims(self.radius, 0.5 * self.length)[:RIM]
        return np.concatenate([base, [0.5 * self.length * _UP]]), np.zeros(RIM + 1)

    def _own(self) -> tuple[float, Array, Array]:
        r, h = self.radius**2, self.length**2
        volume = np.pi * r * self.length / 3.0
        return volume, -0.25 * self.length * _UP, volume * np.diag([0.15 * r, 0.15 * r, 0.0375 * h])


@description
class Mesh(Solid):
    """Triangles: ``vertices`` (n, 3) in m, and ``faces`` (m, 3), three numbers of vertices each; see `gyrod.read_mesh`.

    >>> corner = Mesh(vertices=[(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)],
    ...     faces=[(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
    >>> round(corner.moments()[0], 6)
    0.166667
    """

    vertices: Kept[Array, ArrayLike] = field(_vertices, "m")
    faces: Kept[NDArray[np.int32], ArrayLike] = field(_faces)

    def _agree(self, problems: Problems, bad: set[str]) -> None:
        if not bad and int(self.faces.max()) >= len(self.vertices):
            problems.add(
                f"faces name vertex {int(self.faces.max())}, but there are {len(self.vertices)}, counted from 0."
            )

    def open_edges(self) -> int:
        """Number of edges that do not have exactly one face on each side, turned the same way."""
        return geometry.open_edges(self.faces, len(self.vertices))

    def degenerate(self) -> int:
        """Number of faces without area."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        size = float(np.max(np.ptp(self.vertices, axis=0)))
        return int(np.sum(np.linalg.norm(np.cross(b - a, c - a), axis=1) <= FLAT * size**2))

    def _surface(self) -> geometry.Surface:
        return geometry.mesh(self.vertices, self.faces)

    def stations(self, rounding: float) -> tuple[Array, Array]:  # noqa: ARG002
        """Its vertices."""
        return np.array(self.vertices), np.zeros(len(self.vertices))

    @property
    def least(self) -> float:
        """The shortest edge of its box."""
        return float(np.ptp(self.vertices, axis=0).min())

    def _own(self) -> tuple[float, Array, Array]:
        """By the divergence theorem: every face makes a tetrahedron with the middle of the vertices."""
        if (gaps := self.open_edges()) > 0:
            raise ValueError(
                f"the mesh is not closed: {gaps} edges lack a neighbour or have several; close it (vertices at the "
                "same place must be one), or give mass and inertia to Body itself."
            )
        middle = 0.5 * (self.vertices.max(axis=0) + self.vertices.min(axis=0))
        corners = (self.vertices - middle)[self.faces]
        six = np.linalg.det(corners)
        total = float(np.sum(six))
        if abs(total) / 6.0 <= FLAT * float(np.max(np.ptp(self.vertices, axis=0))) ** 3:
            raise ValueError("the mesh encloses no volume; give mass and inertia to Body itself.")
        sums = corners.sum(axis=1)
        center = np.einsum("f,fi->i", six, sums) / (4.0 * total)
        second = np.einsum("f,fvi,fvj->ij", six, corners, corners) + np.einsum("f,fi,fj->ij", six, sums, sums)
        # Faces that all look inwards have the volume negative: it is the same solid.
        sign = np.sign(total)
        volume = abs(total) / 6.0
        return volume, middle + center, sign * second / 120.0 - volume * np.outer(center, center)


#: All solids.
SOLIDS: tuple[type[Solid], ...] = (Box, Sphere, Cylinder, Capsule, Cone, Mesh)


@holds(form="objects", group="shape")
def solids(field: str, value: object) -> Solid | tuple[Solid, ...]:
    """Return a solid, or a tuple of at least one."""
    if isinstance(value, Solid):
        return value
    try:
        found = tuple(value) if isinstance(value, Iterable) and not isinstance(value, (str, dict)) else ()
    except TypeError:  # an array without axes
        found = ()
    if not found or not all(isinstance(x, Solid) for x in found):
        raise ValueError(
            f"{field} must be a solid such as Box, Sphere, Cylinder, or a list of them, got {shown(value)}."
        )
    return found


def merged(value: Solid | Iterable[Solid]) -> tuple[float, Array, Solid | tuple[Solid, ...]]:
    """Volume and second moments (3, 3) of all solids about their common centre, and the solids moved to it."""
    alone = isinstance(value, Solid)
    parts: tuple[Solid, ...] = (value,) if isinstance(value, Solid) else tuple(value)
    found = [part.moments() for part in parts]
    volume = sum(v for v, _, _ in found)
    center = sum((v * c for v, c, _ in found), np.zeros(3)) / volume
    second = sum((s + v * np.outer(c - center, c - center) for v, c, s in found), np.zeros((3, 3)))
    moved = tuple(part.moved(-center) for part in parts)
    return volume, np.asarray(second), moved[0] if alone else moved


@holds(form="color")
def color_of(field: str, value: object) -> str:
    """Return a colour as "#rrggbb"."""
    if isinstance(value, str):
        text = COLORS.get(value.strip().lower(), value.strip().lower())
        digits = text[1:]
        if text.startswith("#") and len(digits) in (3, 6) and all(c in "0123456789abcdef" for c in digits):
            return text if len(digits) == 6 else "#" + "".join(2 * c for c in digits)
        raise ValueError(f"{field} = {shown(value)} is unknown; it can be '#rrggbb' or one of {', '.join(COLORS)}.")
    parts = numbers(field, value, (3,))
    if np.any(parts < 0.0) or np.any(parts > 1.0):
        raise ValueError(f"{field} must be '#rrggbb', a name, or three numbers from 0 to 1, got {shown(value)}.")
    return "#" + "".join(f"{round(255.0 * x):02x}" for x in parts)


def equivalent_box(mass: float, inertia: Array) -> tuple[Array, Array]:
    """Edges (3,) and axes (3, 3) of the box that has this mass and inertia: a² = 6 (I2 + I3 - I1) / m."""
    moments, axes = np.linalg.eigh(inertia)
    # Axes that are as good as those of the body are those of the body: symmetric bodies have no others.
    order = np.argmax(np.abs(axes), axis=0)
    if len(set(order.tolist())) == 3:
        moments, axes = moments[np.argsort(order)], axes[:, np.argsort(order)]
        axes = axes * np.sign(np.diag(axes))
    if np.linalg.det(axes) < 0.0:
        axes = axes * np.array([1.0, 1.0, -1.0])
    size = np.sqrt(np.maximum(6.0 * (np.sum(moments) - 2.0 * moments) / mass, 0.0))
    return size, axes


def _rims(radius: float, half: float) -> Array:
    """Places of two rims, (2 RIM, 3): that at -half first."""
    angle = 2.0 * np.pi * np.arange(RIM) / RIM
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros(RIM)], axis=1)
    return np.concatenate([ring - half * _UP, ring + half * _UP])


def towards(axis: Array) -> Array:
    """Return the smallest rotation that takes d3 to an axis, (3, 3)."""
    v, c = np.cross(_UP, axis), float(axis[2])
    if c < -1.0 + 1e-9:
        return np.diag([1.0, -1.0, -1.0])
    S = rotations.skew(v)
    return np.asarray(np.eye(3) + S + S @ S / (1.0 + c))
