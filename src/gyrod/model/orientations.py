"""Orientations in all the forms in which a model takes them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable

import numpy as np

from gyrod import rotations
from gyrod._check import Array
from gyrod._words import meant
from gyrod.model.errors import direction, frozen, numbers, shown, vector
from gyrod.model.fields import holds
from gyrod.rotations.conversions import require_rotation, spurrier_klumpp
from gyrod.rotations.vectors import cross, length

#: A quaternion is normalised if its norm is this close to 1; R'R of a matrix may differ from 1 by ten times as much.
UNIT_SLACK = 1e-6
#: Largest angle of a rotation vector or an Euler angle, in rad: beyond, its digits are turns.
LARGEST_ANGLE = 1e6
#: A direction is vertical if its horizontal part is smaller.
VERTICAL = 1e-6


@holds(form="orientation", shapes=((3,), (4,), (3, 3)))
def rotation(field: str, value: object) -> Array:
    """Return the unit quaternion of an orientation in any of its forms, read-only; None is the identity."""
    p = np.array(_quaternion(field, value))
    norm = length(p)
    if abs(norm - 1.0) > 4.0 * np.finfo(float).eps:  # what is normalised already stays as it is, to the last bit
        p /= norm
    p.flags.writeable = False
    return p


def rotations_of(field: str, values: object) -> Array:
    """The same of many, (m, 4) or (m, 3, 3): at once, unless one of them is at fault and must be named."""
    x = np.asarray(values)
    if x.dtype == np.float64 and x.ndim == 3 and np.max(np.abs(x)) <= 2.0:
        with contextlib.suppress(ValueError):
            require_rotation(field, x, 10.0 * UNIT_SLACK)
            return frozen(spurrier_klumpp(x))
    if x.dtype == np.float64 and x.ndim == 2 and x.shape[1] == 4:
        norms = np.sqrt(np.sum(x * x, axis=1))
        if np.all(np.abs(norms - 1.0) <= UNIT_SLACK):  # what is normalised already stays as it is, to the last bit
            return frozen(np.where((np.abs(norms - 1.0) > 4.0 * np.finfo(float).eps)[:, None], x / norms[:, None], x))
    return frozen(
        [rotation(f"{field}[{i}]", value) for i, value in enumerate(values if isinstance(values, Iterable) else ())]
    )


def _quaternion(field: str, value: object) -> Array:
    """Quaternion, of norm 1 up to rounding, of all that an orientation may be given as."""
    if value is None:
        return np.array([1.0, 0.0, 0.0, 0.0])
    if isinstance(value, (tuple, list)) and len(value) == 2:
        if not isinstance(value[0], str):
            raise ValueError(
                f"{field} must be (sequence, angles) or ('along', direction) if it is a pair, got {shown(value)}."
            )
        if value[0] == "along":
            return upright(direction(f"{field}[1]", value[1]))
        if hint := meant(value[0], ["along"]):
            raise ValueError(f"{field} = {shown(value)} begins with neither 'along' nor a sequence of axes.{hint}")
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


def upright(d3: Array) -> Array:
    """Quaternion of axes with the unit vector d3 and d1 as vertical as can be (e1 if d3 is vertical)."""
    up = np.array([1.0, 0.0, 0.0] if math.hypot(d3[0], d3[1]) < VERTICAL else [0.0, 0.0, 1.0])
    d2 = unit(cross(d3, up))
    return rotations.quaternion_from_matrix(np.stack([cross(d2, d3), d2, d3], axis=-1))


def unit(x: Array) -> Array:
    """Return a vector of length 1."""
    scaled = x / max(map(abs, x.tolist()))
    return np.asarray(scaled / math.sqrt(scaled.dot(scaled)))


def _angles(field: str, value: object) -> Array:
    angles = vector(field, value)
    if np.max(np.abs(angles)) > LARGEST_ANGLE:
        raise ValueError(f"{field} = {shown(angles)} must hold angles in rad of at most {LARGEST_ANGLE:g}.")
    return angles
