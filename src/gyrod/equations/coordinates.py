"""Rotations as unknowns: coordinates q and velocities v of a formulation against quaternion and angular velocity."""

from __future__ import annotations

import numpy as np

from gyrod import rotations
from gyrod._check import Array


def unknowns(formulation: str, p: Array, Omega: Array) -> tuple[Array, Array]:
    """(q, v) of unit quaternions (..., 4) that turn with the material Omega (..., 3)."""
    absolute = formulation.startswith("absolute")
    if formulation == "euler":
        return rotations.euler_from_quaternion(p, "313"), Omega
    if formulation.endswith("-quaternion"):
        return p, rotations.rates("quaternion", p, Omega) if absolute else Omega
    R = rotations.matrix_from_quaternion(p)
    rates = rotations.directors_from_matrix(R @ rotations.skew(Omega)) if absolute else Omega
    return rotations.directors_from_matrix(R), rates


def turns(formulation: str, q: Array, v: Array) -> tuple[Array, Array]:
    """(p, Omega) of coordinates and velocities; Omega is linear in v, and with v' for v it is Omega'."""
    absolute = formulation.startswith("absolute")
    if formulation == "euler":
        return rotations.quaternion_from_euler(q, "313"), v
    if formulation.endswith("-quaternion"):
        return q, 2.0 * rotations.multiply(rotations.conjugate(q), v)[..., 1:] if absolute else v
    R = rotations.matrix_from_directors(q)
    p = rotations.conversions.spurrier_klumpp(R)
    if not absolute:
        return p, v
    W = 0.5 * (np.swapaxes(R, -1, -2) @ rotations.matrix_from_directors(v))
    return p, np.stack([W[..., 2, 1] - W[..., 1, 2], W[..., 0, 2] - W[..., 2, 0], W[..., 1, 0] - W[..., 0, 1]], -1)
