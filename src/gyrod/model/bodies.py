"""Rigid bodies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gyrod import rotations
from gyrod._check import Array
from gyrod.model.appearance import Solid, color_of, merged, solids
from gyrod.model.errors import Description, ModelError, Problems, frozen, new_name, numbers, positive, shown, vector
from gyrod.model.fields import Kept, description, field, holds
from gyrod.model.orientations import rotation

#: Relative rounding that an inertia may show in symmetry, signs and triangle inequality.
INERTIA_SLACK = 1e-9

_ORIGIN = (0.0, 0.0, 0.0)


@holds(shapes=((3,), (3, 3)))
def _inertia(field: str, value: object) -> Array:
    given = numbers(field, value, (3,), (3, 3))
    J = np.diag(given) if given.ndim == 1 else given
    scale = np.max(np.abs(J))
    if scale > 0.0:
        i, j = np.unravel_index(np.argmax(np.abs(J - J.T)), (3, 3))
        if abs(J[i, j] - J[j, i]) > INERTIA_SLACK * scale:
            raise ValueError(
                f"inertia must be symmetric, got inertia[{i}, {j}] = {J[i, j]:.12g} "
                f"and inertia[{j}, {i}] = {J[j, i]:.12g}."
            )
        moments = np.linalg.eigvalsh(0.5 * (J / scale + J.T / scale))
        if moments[0] < -INERTIA_SLACK:
            principal = f"its principal moments are {shown(moments * scale)}"
            raise ValueError(f"inertia = {shown(given)} must not have a negative principal moment; {principal}.")
        if moments[2] > moments[0] + moments[1] + INERTIA_SLACK:
            principal = f"its principal moments are {shown(moments * scale)}"
            raise ValueError(
                f"inertia = {shown(given)} breaks the triangle inequality; {principal}, and none may exceed the sum "
                "of the other two."
            )
    result = 0.5 * (J + J.T)
    result.flags.writeable = False
    return result


@description
class Body(Description):
    """A rigid body: its mass and inertia, and where it is and how it moves at the start.

    Parameters
    ----------
    name
        Any non-empty text without "/"; "ground" is taken.
    mass
        > 0.
    inertia
        About the centre of mass in the body's own axes: three moments or a symmetric 3x3 matrix. No principal moment
        may be negative or exceed the sum of the other two; zeros (thin rods, point masses) are for bodies whose joint
        makes them meaningful.
    position, velocity
        Of the centre of mass, in space. For a body with a fixed point, a velocity of zero means the one that the
        rotation about the point demands.
    orientation
        Body to space: unit quaternion (scalar first), rotation matrix, SciPy Rotation, rotation vector (three numbers)
        or Euler angles ``(sequence, angles)`` such as ``("313", (0.1, 0.2, 0.3))``; by default the identity.
    angular_velocity
        Material (body axes).
    shape, color
        What pictures show: a solid such as ``Box(size=(1, 2, 3))``, or a list of them, placed from the centre of mass
        in body axes, and a colour such as "#4477aa", "red" or three numbers from 0 to 1. Mass and inertia do not
        follow from the shape (`Body.solid` finds them); without one, pictures show the box that has this inertia.

    >>> top = Body("top", mass=2.0, inertia=(1.0, 1.0, 0.5), orientation=("313", (0.0, 0.3, 0.0)))
    >>> top.inertia.shape, top.orientation.round(3).tolist()
    ((3, 3), [0.989, 0.149, 0.0, 0.0])
    """

    name: str = field(new_name)
    mass: float = field(positive, "kg")
    #: (3, 3), symmetric.
    inertia: Kept[Array, ArrayLike] = field(_inertia, "kg m^2")
    position: Kept[Array, ArrayLike] = field(vector, "m", default=_ORIGIN)
    #: Unit quaternion, scalar first, (4,).
    orientation: Kept[Array, object] = field(rotation, default=None, always=True)
    velocity: Kept[Array, ArrayLike] = field(vector, "m/s", default=_ORIGIN)
    angular_velocity: Kept[Array, ArrayLike] = field(vector, "rad/s", default=_ORIGIN)
    _: KW_ONLY
    #: A solid, a tuple of them, or None.
    shape: Kept[Solid | tuple[Solid, ...] | None, Solid | Iterable[Solid] | None] = field(solids, default=None)
    #: "#rrggbb", or None.
    color: Kept[str | None, object] = field(color_of, default=None)

    _follows: ClassVar[dict[str, tuple[str, ...]]] = {"orientation": ("matrix",)}

    @classmethod
    def solid(
        cls,
        name: str,
        shape: Solid | Iterable[Solid],
        *,
        density: float | None = None,
        mass: float | None = None,
        position: ArrayLike = _ORIGIN,
        orientation: object = None,
        velocity: ArrayLike = _ORIGIN,
        angular_velocity: ArrayLike = _ORIGIN,
        color: object = None,
    ) -> Body:
        """A homogeneous body: mass and inertia follow from its shape and its ``density`` in kg/m³, or its ``mass``.

        ``position`` is that of the centre of mass, and offsets of the shape are moved to count from it. Several solids
        make one body; where they overlap, both count.

        >>> from gyrod.model import Body, Cylinder
        >>> wheel = Body.solid("wheel", Cylinder(radius=0.1, length=0.02), mass=2.0)
        >>> wheel.inertia.diagonal().round(6).tolist()
        [0.005067, 0.005067, 0.01]
        """
        problems = Problems(f"Body {shown(name)}")
        parts = problems.check(solids, "shape", shape)
        if (density is None) == (mass is None):
            found = "neither" if mass is None else f"density = {shown(density)}, mass = {shown(mass)}"
            problems.add(f"exactly one of density and mass is needed, got {found}.")
        for what, value in (("density", density), ("mass", mass)):
            if value is not None:
                problems.check(positive, what, value)
        whole = None if parts is None else problems.check(merged, parts)
        try:
            body = cls(
                name, 1.0, np.eye(3), position, orientation, velocity, angular_velocity, shape=parts, color=color
            )
        except ModelError as error:
            problems.sentences += [s for s in error.problems if s not in problems.sentences]
        problems.finish()
        assert whole is not None
        volume, moments, shifted = whole
        dense = float(density) if density is not None else float(mass or 0.0) / volume
        inertia = dense * (np.trace(moments) * np.eye(3) - moments)
        return cls(
            body.name, dense * volume if mass is None else mass, 0.5 * (inertia + inertia.T), body.position,
            body.orientation, body.velocity, body.angular_velocity, shape=shifted, color=body.color,
        )  # fmt: skip

    @property
    def shapes(self) -> tuple[Solid, ...]:
        """The solids of its shape, none without one."""
        return () if self.shape is None else (self.shape,) if isinstance(self.shape, Solid) else self.shape

    @cached_property
    def matrix(self) -> Array:
        """Rotation matrix at the start, body to space; its columns are the directors, (3, 3)."""
        R = rotations.matrix_from_quaternion(self.orientation)
        R.flags.writeable = False
        return R


def massless(name: str, inertia: Array, position: Array, velocity: Array, angular_velocity: Array) -> Body:
    """A body that joins rods: it has a rotary inertia, but no mass of its own, which nobody can give."""
    body = object.__new__(Body)
    body._set(
        name=name, mass=0.0, inertia=frozen(inertia), position=frozen(position), orientation=rotation(name, None),
        velocity=frozen(velocity), angular_velocity=frozen(angular_velocity), shape=None, color=None,
    )  # fmt: skip
    return body
