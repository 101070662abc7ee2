"""Rigid bodies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import rotations
from gyrod.model.errors import Description, Problems, frozen, new_name, numbers, positive, shown, vector
from gyrod.rotations.conversions import require_rotation

Array = NDArray[np.float64]

#: Relative rounding that an inertia may show in symmetry, signs and triangle inequality.
INERTIA_SLACK = 1e-9
#: A quaternion is normalised if its norm is this close to 1; R'R of a matrix may differ from 1 by ten times as much.
UNIT_SLACK = 1e-6
#: Largest angle of a rotation vector or an Euler angle, in rad: beyond, its digits are turns.
LARGEST_ANGLE = 1e6

_ORIGIN = (0.0, 0.0, 0.0)


@dataclass(frozen=True, init=False, eq=False)
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

    >>> top = Body("top", mass=2.0, inertia=(1.0, 1.0, 0.5), orientation=("313", (0.0, 0.3, 0.0)))
    >>> top.inertia.shape, top.orientation.round(3).tolist()
    ((3, 3), [0.989, 0.149, 0.0, 0.0])
    """

    name: str
    mass: float
    #: (3, 3), symmetric.
    inertia: Array
    position: Array
    #: Unit quaternion, scalar first, (4,).
    orientation: Array
    velocity: Array
    angular_velocity: Array

    def __init__(
        self,
        name: str,
        mass: float,
        inertia: ArrayLike,
        position: ArrayLike = _ORIGIN,
        orientation: Any = None,
        velocity: ArrayLike = _ORIGIN,
        angular_velocity: ArrayLike = _ORIGIN,
    ) -> None:
        problems = Problems(f"Body {shown(name)}")
        self._set(
            name=problems.check(new_name, name),
            mass=problems.check(positive, "mass", mass),
            inertia=problems.check(_inertia, inertia),
            position=problems.check(vector, "position", position),
            orientation=problems.check(rotation, "orientation", orientation),
            velocity=problems.check(vector, "velocity", velocity),
            angular_velocity=problems.check(vector, "angular_velocity", angular_velocity),
        )
        problems.finish()

    @property
    def matrix(self) -> Array:
        """Rotation matrix at the start, body to space; its columns are the directors, (3, 3)."""
        return rotations.matrix_from_quaternion(self.orientation)


def massless(name: str, inertia: Array, position: Array, velocity: Array, angular_velocity: Array) -> Body:
    """A body that joins rods: it has a rotary inertia, but no mass of its own, which nobody can give."""
    body = object.__new__(Body)
    body._set(
        name=name, mass=0.0, inertia=frozen(inertia), position=frozen(position), orientation=rotation(name, None),
        velocity=frozen(velocity), angular_velocity=frozen(angular_velocity),
    )  # fmt: skip
    return body


def _inertia(value: ArrayLike) -> Array:
    given = numbers("inertia", value, (3,), (3, 3))
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
        principal = f"its principal moments are {shown(moments * scale)}"
        if moments[0] < -INERTIA_SLACK:
            raise ValueError(f"inertia = {shown(given)} must not have a negative principal moment; {principal}.")
        if moments[2] > moments[0] + moments[1] + INERTIA_SLACK:
            raise ValueError(
                f"inertia = {shown(given)} breaks the triangle inequality; {principal}, and none may exceed the sum "
                "of the other two."
            )
    result = 0.5 * (J + J.T)
    result.flags.writeable = False
    return result


def rotation(field: str, value: Any) -> Array:
    """Return the unit quaternion of an orientation in any of its forms, read-only; None is the identity."""
    p = np.array(_quaternion(field, value))
    norm = np.linalg.norm(p)
    if abs(norm - 1.0) > 4.0 * np.finfo(float).eps:  # what is normalised already stays as it is, to the last bit
        p /= norm
    p.flags.writeable = False
    return p


def _quaternion(field: str, value: Any) -> Array:
    """Quaternion, of norm 1 up to rounding, of all that an orientation may be given as."""
    if value is None:
        return np.array([1.0, 0.0, 0.0, 0.0])
    if isinstance(value, (tuple, list)) and len(value) == 2:
        if not isinstance(value[0], str):
            raise ValueError(f"{field} must be (sequence, angles) if it is a pair, got {shown(value)}.")
        return rotations.quaternion_from_euler(_angles(f"{field}[1]", value[1]), value[0])
    if hasattr(value, "as_quat") and not isinstance(value, type):
        p = rotations.from_scipy(value)
        if p.shape != (4,):
            raise ValueError(f"{field} must be one rotation, got {len(p)} of them.")
        return p
    x = numbers(field, value, (3,), (4,), (3, 3))
    if x.shape == (3,):
        return rotations.exp(_angles(field, x))
    if x.shape == (3, 3):
        if np.max(np.abs(x)) > 2.0:
            raise ValueError(f"{field} is not a rotation matrix: it has an entry of size {np.max(np.abs(x)):.6g}.")
        require_rotation(field, x, 10.0 * UNIT_SLACK)
        return rotations.as_quaternion(x)
    norm = math.hypot(*x)
    if abs(norm - 1.0) > UNIT_SLACK:
        raise ValueError(
            f"{field} = {shown(x)} is a quaternion of norm {norm:.9g}; it must be 1 to within {UNIT_SLACK:g} "
            "(gyrod.rotations.normalize makes it so)."
        )
    return x


def _angles(field: str, value: ArrayLike) -> Array:
    angles = vector(field, value)
    if np.max(np.abs(angles)) > LARGEST_ANGLE:
        raise ValueError(f"{field} = {shown(angles)} must hold angles in rad of at most {LARGEST_ANGLE:g}.")
    return angles
