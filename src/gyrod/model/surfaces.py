"""Surfaces in space that rods and bodies may touch, also those without an end or a volume."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from gyrod import geometry, rotations
from gyrod._check import Array
from gyrod.model.appearance import Box, Cylinder, Solid, towards
from gyrod.model.errors import Description, Problems, direction, frozen, numbers, positive, shown, vector
from gyrod.model.fields import Kept, description, field, holds

_ORIGIN = (0.0, 0.0, 0.0)
_UP = (0.0, 0.0, 1.0)
#: Most heights of a field.
LARGEST_FIELD = 4_000_000


@holds(shapes=((-1, -1),))
def _heights(field: str, value: object) -> Array:
    try:
        found = np.array(value, dtype=float)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim != 2 or min(found.shape) < 2 or found.size > LARGEST_FIELD or not np.isfinite(found).all():
        raise ValueError(
            f"{field} must be a table of at least 2 x 2 and at most {LARGEST_FIELD} finite numbers, got {shown(value)}."
        )
    return frozen(found)


@holds(shapes=((), (2,)), spread=True, positive=True)
def _spacing(field: str, value: object) -> Array:
    found = np.full(2, numbers(field, value, (), (2,)))
    if np.any(found <= 0.0):
        raise ValueError(f"{field} must be > 0, got {shown(value)}.")
    return frozen(found)


@description
class Boundary(Description, ABC):
    """Base of the surfaces that stand in space; solids such as `Box` stand there too, at their ``offset``.

    Rules for a new one: it is a class here with a ``surface`` in its own axes, the ``offset`` of their origin and their
    ``turn``, and joins `BOUNDARIES`; `look.faces` says how it is drawn.
    """

    @abstractmethod
    def _surface(self) -> geometry.Surface:
        """In its own axes."""

    @cached_property
    def surface(self) -> geometry.Surface:
        """Its surface in its own axes: distances, normals, nearest points."""
        return self._surface()

    @property
    @abstractmethod
    def offset(self) -> Array:
        """Origin of its axes, (3,)."""

    @property
    def turn(self) -> Array:
        """Rotation from its own axes to those of space, (3, 3)."""
        return np.eye(3)


@description
class Plane(Boundary):
    """A half space: what touches it is kept on the side to which ``normal`` points.

    >>> Plane((0, 0, 1), (0, 0, 2)).normal.tolist()
    [0.0, 0.0, 1.0]
    """

    point: Kept[Array, ArrayLike] = field(vector, "m", default=_ORIGIN)
    #: Unit vector, (3,).
    normal: Kept[Array, ArrayLike] = field(direction, default=_UP)

    def _surface(self) -> geometry.Surface:
        return geometry.plane()

    @property
    def offset(self) -> Array:
        """Its point."""
        return self.point

    @property
    def turn(self) -> Array:
        """Takes z to the normal."""
        return towards(self.normal)

    def solid(self, middle: Array, length: float) -> Solid:
        """A thin plate about ``middle``, as long as the system."""
        thin = 0.004 * length
        at = middle - ((middle - self.point) @ self.normal) * self.normal
        turn = rotations.log(rotations.quaternion_from_matrix(self.turn))
        return Box((length, length, thin), offset=at - 0.5 * thin * self.normal, orientation=turn)


@description
class _Axial(Boundary):
    radius: float = field(positive, "m")
    #: Any point of the axis.
    point: Kept[Array, ArrayLike] = field(vector, "m", default=_ORIGIN)
    #: Unit vector, (3,).
    axis: Kept[Array, ArrayLike] = field(direction, default=_UP)

    @property
    def offset(self) -> Array:
        """Its point."""
        return self.point

    @property
    def turn(self) -> Array:
        """Takes z to the axis."""
        return towards(self.axis)


class Shaft(_Axial):
    """A cylinder without end, of a ``radius`` in m about an ``axis`` through ``point``."""

    def _surface(self) -> geometry.Surface:
        return geometry.cylinder(self.radius)

    def solid(self, middle: Array, length: float) -> Solid:
        """A piece of it about ``middle``, for a system of a length."""
        at = self.point + ((middle - self.point) @ self.axis) * self.axis
        return Cylinder(self.radius, 0.6 * length, axis=self.axis, offset=at)


class Pipe(_Axial):
    """The inside of a pipe without end: what touches it is kept within ``radius`` of its ``axis``."""

    def _surface(self) -> geometry.Surface:
        return geometry.cylinder(self.radius, hollow=True)


@description
class Bowl(Boundary):
    """The inside of a ball: what touches it is kept within ``radius`` of its ``center``."""

    radius: float = field(positive, "m")
    center: Kept[Array, ArrayLike] = field(vector, "m", default=_ORIGIN)

    def _surface(self) -> geometry.Surface:
        return geometry.ball(self.radius, hollow=True)

    @property
    def offset(self) -> Array:
        """Its centre."""
        return self.center


@description
class Eyelet(Boundary):
    """A ring of round wire through which a rod may run: a circle of ``radius``, and ``wire``, half the thickness of it.

    ``radius`` is that of the middle of the wire; what is left open is radius - wire.
    """

    radius: float = field(positive, "m")
    wire: float = field(positive, "m")
    center: Kept[Array, ArrayLike] = field(vector, "m", default=_ORIGIN)
    #: Unit vector, (3,).
    axis: Kept[Array, ArrayLike] = field(direction, default=_UP)

    def _agree(self, problems: Problems, bad: set[str]) -> None:
        if not bad and self.wire >= self.radius:
            problems.add(f"wire = {self.wire:g} leaves no opening; it must be below radius = {self.radius:g}.")

    def _surface(self) -> geometry.Surface:
        return geometry.ring(self.radius, self.wire)

    @property
    def offset(self) -> Array:
        """Its centre."""
        return self.center

    @property
    def turn(self) -> Array:
        """Takes z to the axis."""
        return towards(self.axis)


@description
class HeightField(Boundary):
    """Ground of given heights: z = f(x, y), bicubic between ``heights`` (nx, ny) in m on a grid, flat beyond.

    The first height is that of the ``corner`` (x, y, z of zero height), the others follow at ``spacing`` in m, one
    number or two, along x (rows) and y (columns).
    """

    heights: Kept[Array, ArrayLike] = field(_heights, "m")
    #: (2,).
    spacing: Kept[Array, ArrayLike] = field(_spacing, "m")
    _: KW_ONLY
    corner: Kept[Array, ArrayLike] = field(vector, "m", default=_ORIGIN)

    def _surface(self) -> geometry.Surface:
        return geometry.height_field(self.heights, self.spacing)

    @property
    def offset(self) -> Array:
        """Its corner."""
        return self.corner


#: All surfaces of space.
BOUNDARIES: tuple[type[Boundary], ...] = (Plane, Shaft, Pipe, Bowl, Eyelet, HeightField)
