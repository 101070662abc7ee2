"""Rotation and angular velocity: tangent maps, null-space matrices and the Euler map.

Omega is the material (body) angular velocity, omega = R Omega the spatial one. Equation numbers: Lang 2010 (L),
Zupan and Saje 2011 (Z), with their misprints corrected.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check
from gyrod._check import Array
from gyrod.rotations import removable
from gyrod.rotations.conversions import PARAMETRIZATIONS, TRAILING, by_largest, multiply, parse_sequence

FRAMES = ("body", "space")


def skew(v: ArrayLike) -> Array:
    """E(v) with E(v) w = v x w (Z 3)."""
    v = _check.array("v", v, (3,))
    S = np.zeros((*v.shape, 3))
    S[..., 2, 1], S[..., 0, 2], S[..., 1, 0] = v[..., 0], v[..., 1], v[..., 2]
    return S - np.swapaxes(S, -1, -2)


def vee(S: ArrayLike) -> Array:
    """Axial vector of the skew part of S; vee(skew(v)) = v."""
    S = _check.array("S", S, (3, 3))
    A = 0.5 * (S - np.swapaxes(S, -1, -2))
    return np.stack([A[..., 2, 1], A[..., 0, 2], A[..., 1, 0]], axis=-1)


def _scaled(c: Array, A: Array) -> Array:
    return np.asarray(c[..., None, None] * A)


# --- rotation vector and tangential vector ---------------------------------------------------------------------------
# Both have tangent maps of the form a + b E(v) + c E(v)²; the transpose, for body rates, changes the sign of b.


def _rotation_vector_coefficients(theta: Array) -> tuple[Array, Array, Array]:
    t = np.linalg.norm(theta, axis=-1)
    return np.ones_like(t), removable.cosc(t), removable.sinc3(t)


def _rotation_vector_inverse_coefficients(theta: Array) -> tuple[Array, Array, Array]:
    t = np.linalg.norm(theta, axis=-1)
    turns = np.rint(t / (2.0 * np.pi))
    if np.any((turns > 0) & (np.abs(t - 2.0 * np.pi * turns) < 1e-14 * t)):
        raise ValueError(
            "theta has the length 2 pi k, k >= 1: the rate of the rotation vector is not determined there."
        )
    return np.ones_like(t), np.full_like(t, -0.5), removable.cotc(t)


def _tangential_coefficients(psi: Array) -> tuple[Array, Array, Array]:
    a = 2.0 / (1.0 + np.sum(psi * psi, axis=-1))
    return a, a, np.zeros_like(a)


def _tangential_inverse_coefficients(psi: Array) -> tuple[Array, Array, Array]:
    a = 0.5 * (1.0 + np.sum(psi * psi, axis=-1))
    return a, np.full_like(a, -0.5), np.full_like(a, 0.5)


_TANGENT = {"rotation-vector": _rotation_vector_coefficients, "tangential": _tangential_coefficients}
_INVERSE_TANGENT = {
    "rotation-vector": _rotation_vector_inverse_coefficients,
    "tangential": _tangential_inverse_coefficients,
}


def _rodrigues_matrix(coefficients: tuple[Array, Array, Array], v: Array) -> Array:
    a, b, c = coefficients
    S = skew(v)
    return np.asarray(_scaled(a, np.eye(3)) + _scaled(b, S) + _scaled(c, S @ S))


def _rodrigues(a: Array, b: Array, c: Array, v: Array, w: Array) -> Array:
    """(a + b E(v) + c E(v)²) w without the matrix; component by component, which np.cross is slow at."""
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    p, q, r = w[..., 0], w[..., 1], w[..., 2]
    s, t, u = y * r - z * q, z * p - x * r, x * q - y * p
    return np.stack(
        [
            a * p + b * s + c * (y * u - z * t),
            a * q + b * t + c * (z * s - x * u),
            a * r + b * u + c * (x * t - y * s),
        ],
        axis=-1,
    )


def rotation_vector_tangent(theta: ArrayLike) -> Array:
    """T with omega = T theta'; Omega = T' theta' (below Z 8)."""
    theta = _check.array("theta", theta, (3,))
    return _rodrigues_matrix(_rotation_vector_coefficients(theta), theta)


def rotation_vector_tangent_inverse(theta: ArrayLike) -> Array:
    """T⁻¹ of (Z 8); refused at |theta| = 2 pi, 4 pi, ..., where T is singular."""
    theta = _check.array("theta", theta, (3,))
    return _rodrigues_matrix(_rotation_vector_inverse_coefficients(theta), theta)


def tangential_tangent(psi: ArrayLike) -> Array:
    """U with omega = U psi': U = 2/(1 + |psi|²) (1 + E(psi)); Omega = U' psi'."""
    psi = _check.array("psi", psi, (3,))
    return _rodrigues_matrix(_tangential_coefficients(psi), psi)


def tangential_tangent_inverse(psi: ArrayLike) -> Array:
    """U⁻¹ of (Z 11)."""
    psi = _check.array("psi", psi, (3,))
    return _rodrigues_matrix(_tangential_inverse_coefficients(psi), psi)


# --- Euler angles ----------------------------------------------------------------------------------------------------


def euler_tangent(angles: ArrayLike, sequence: str = "313") -> Array:
    """W with Omega = W angles' (L 65, for every sequence)."""
    angles = _check.array("angles", angles, (3,))
    (i, j, k), extrinsic = parse_sequence(sequence)
    if extrinsic:
        angles = angles[..., ::-1]
    e = np.eye(3)
    back3, back2 = (_elementary(-angles[..., 2], k), _elementary(-angles[..., 1], j))
    columns = [back3 @ back2 @ e[i], back3 @ e[j], np.broadcast_to(e[k], angles.shape)]
    if extrinsic:
        columns.reverse()
    return np.stack(columns, axis=-1)


def euler_tangent_inverse(angles: ArrayLike, sequence: str = "313") -> Array:
    """T_theta with angles' = T_theta Omega (L 66); refused at gimbal lock."""
    W = euler_tangent(angles, sequence)
    determinant = np.abs(np.linalg.det(W))
    if np.any(determinant < 1e-14):
        raise ValueError(
            f"the Euler angles {sequence!r} are in gimbal lock (|det W| = {float(np.min(determinant)):.1g}): "
            "their rates are not determined; use quaternions or another sequence."
        )
    return np.asarray(np.linalg.inv(W))


def _elementary(angle: Array, axis: int) -> Array:
    R = np.zeros((*angle.shape, 3, 3))
    j, k = (axis + 1) % 3, (axis + 2) % 3
    R[..., axis, axis] = 1.0
    R[..., j, j] = R[..., k, k] = np.cos(angle)
    R[..., k, j] = np.sin(angle)
    R[..., j, k] = -R[..., k, j]
    return R


# --- quaternions -----------------------------------------------------------------------------------------------------


def quaternion_matrix(p: ArrayLike, side: str = "left") -> Array:
    """Q(p) with Q(p) q = p q (L 30), or for ``side="right"`` the matrix with Q q = q p (Z 14)."""
    _check.choice("side", side, ("left", "right"))
    p = _check.array("p", p, (4,))
    sign = 1.0 if side == "left" else -1.0
    w, x, y, z = np.moveaxis(p, -1, 0)
    a, b, c = sign * x, sign * y, sign * z
    rows = [w, -x, -y, -z, x, w, -c, b, y, c, w, -a, z, -b, a, w]
    return np.stack(rows, axis=-1).reshape(*p.shape, 4)


def quaternion_nullspace(p: ArrayLike, frame: str = "body") -> Array:
    """T_p (L 41): p' = T_p Omega = p Omega/2; for ``frame="space"`` T_p* (L 46): p' = T_p* omega = omega p/2."""
    _check.choice("frame", frame, FRAMES)
    return 0.5 * quaternion_matrix(p, "left" if frame == "body" else "right")[..., 1:]


def euler_map(p: ArrayLike) -> Array:
    """phi(p): the nine components of the (stretched) directors, d¹ first (L 47); phi(s p) = s² phi(p)."""
    p = _check.array("p", p, (4,))
    return np.asarray(0.5 * (euler_differential(p) @ p[..., None])[..., 0])


def euler_differential(p: ArrayLike) -> Array:
    """Dphi(p), (9, 4): d' = Dphi p' (L 48)."""
    w, x, y, z = np.moveaxis(_check.array("p", p, (4,)), -1, 0)
    rows = [
        [w, x, -y, -z],
        [z, y, x, w],
        [-y, z, -w, x],
        [-z, y, x, -w],
        [w, -x, y, -z],
        [x, w, z, y],
        [y, z, w, x],
        [-x, -w, z, y],
        [w, -x, -y, z],
    ]
    return 2.0 * np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def euler_differential_pinv(p: ArrayLike) -> Array:
    """Moore-Penrose inverse of Dphi(p), (4, 9), in closed form (L 55)."""
    p, scale = by_largest("p", p)
    n = np.sum(p * p, axis=-1)
    factor = 0.5 * np.eye(4) - _scaled(1.0 / (6.0 * n), p[..., :, None] * p[..., None, :])
    return _scaled(0.25 / n, factor @ np.swapaxes(euler_differential(p), -1, -2)) / scale[..., None]


# --- directors -------------------------------------------------------------------------------------------------------


def directors_from_matrix(R: ArrayLike) -> Array:
    """d = (d¹, d², d³): the columns of R one after the other, (..., 9)."""
    R = _check.array("R", R, (3, 3))
    return np.swapaxes(R, -1, -2).reshape(*R.shape[:-2], 9)


def matrix_from_directors(d: ArrayLike) -> Array:
    """R with the columns d¹, d², d³."""
    d = _check.array("d", d, (9,))
    return np.swapaxes(d.reshape(*d.shape[:-1], 3, 3), -1, -2)


def director_nullspace(d: ArrayLike, frame: str = "body") -> Array:
    """T_d (L 24), (9, 3): d' = T_d Omega; for ``frame="space"`` T_d* (L 45): d' = T_d* omega."""
    _check.choice("frame", frame, FRAMES)
    R = matrix_from_directors(d)
    if frame == "space":
        return np.concatenate([-skew(R[..., :, n]) for n in range(3)], axis=-2)
    # column m of the block of director n is R (e_m x e_n)
    blocks = [R @ -skew(np.eye(3)[n]) for n in range(3)]
    return np.concatenate(blocks, axis=-2)


_PAIRS = ((0, 1), (2, 0), (1, 2))


def director_constraint(d: ArrayLike, frame: str = "body") -> Array:
    """g_d of (L 19): the rows of R are orthonormal; for ``frame="space"`` the columns, (L 44)."""
    _check.choice("frame", frame, FRAMES)
    R = matrix_from_directors(d)
    C = R @ np.swapaxes(R, -1, -2) if frame == "body" else np.swapaxes(R, -1, -2) @ R
    diagonal = [0.5 * (C[..., m, m] - 1.0) for m in range(3)]
    return np.stack(diagonal + [C[..., m, n] for m, n in _PAIRS], axis=-1)


def director_constraint_gradient(d: ArrayLike, frame: str = "body") -> Array:
    """G_d of (L 20), (6, 9); for ``frame="space"`` the gradient of (L 44)."""
    _check.choice("frame", frame, FRAMES)
    R = matrix_from_directors(d)
    G = np.zeros((*R.shape[:-2], 6, 3, 3))  # last axes: director n, component m
    # row m of R (space component m of every director) for "body"; director m for "space"
    for row, (m, n) in enumerate([(0, 0), (1, 1), (2, 2), *_PAIRS]):
        if frame == "body":
            G[..., row, :, m] += R[..., n, :]
            G[..., row, :, n] += R[..., m, :]
        else:
            G[..., row, m, :] += R[..., :, n]
            G[..., row, n, :] += R[..., :, m]
    G[..., :3, :, :] *= 0.5
    return G.reshape(*R.shape[:-2], 6, 9)


# --- one entry for all parametrisations ------------------------------------------------------------------------------


def rates(
    parametrization: str, x: ArrayLike, velocity: ArrayLike, *, frame: str = "body", sequence: str = "313"
) -> Array:
    """x' of a rotation described by x that turns with the given angular velocity.

    ``frame`` says whether ``velocity`` is material ("body") or spatial ("space").
    """
    _check.choice("parametrization", parametrization, PARAMETRIZATIONS)
    _check.choice("frame", frame, FRAMES)
    x = _check.array("x", x, TRAILING[parametrization])
    w = _check.array("velocity", velocity, (3,))
    if parametrization == "quaternion":
        return np.asarray((quaternion_nullspace(x, frame) @ w[..., None])[..., 0])
    if parametrization == "matrix":
        R = _check.array("x", x, (3, 3))
        return R @ skew(w) if frame == "body" else skew(w) @ R
    if parametrization == "euler":
        A = euler_tangent_inverse(x, sequence)
        if frame == "space":
            A = A @ np.swapaxes(_euler_matrix(x, sequence), -1, -2)
        return np.asarray((A @ w[..., None])[..., 0])
    a, b, c = _INVERSE_TANGENT[parametrization](v := _check.array("x", x, (3,)))
    return _rodrigues(a, -b if frame == "body" else b, c, v, w)


def angular_velocity(
    parametrization: str, x: ArrayLike, x_dot: ArrayLike, *, frame: str = "body", sequence: str = "313"
) -> Array:
    """Angular velocity of a rotation described by x with the rate x'; the inverse of `rates`."""
    _check.choice("parametrization", parametrization, PARAMETRIZATIONS)
    _check.choice("frame", frame, FRAMES)
    x = _check.array("x", x, TRAILING[parametrization])
    if parametrization == "quaternion":
        p, scale = by_largest("x", x)
        v = _check.array("x_dot", x_dot, (4,)) / scale
        bar = p * np.array([1.0, -1.0, -1.0, -1.0])
        product = multiply(bar, v) if frame == "body" else multiply(v, bar)
        return np.asarray(2.0 * product[..., 1:] / np.sum(p * p, axis=-1, keepdims=True))
    if parametrization == "matrix":
        R, V = _check.array("x", x, (3, 3)), _check.array("x_dot", x_dot, (3, 3))
        Rt = np.swapaxes(R, -1, -2)
        return vee(Rt @ V if frame == "body" else V @ Rt)
    v = _check.array("x_dot", x_dot, (3,))
    if parametrization == "euler":
        A = euler_tangent(x, sequence)
        if frame == "space":
            A = _euler_matrix(x, sequence) @ A
        return np.asarray((A @ v[..., None])[..., 0])
    a, b, c = _TANGENT[parametrization](y := _check.array("x", x, (3,)))
    return _rodrigues(a, -b if frame == "body" else b, c, y, v)


def _euler_matrix(angles: ArrayLike, sequence: str) -> Array:
    angles = _check.array("angles", angles, (3,))
    (i, j, k), extrinsic = parse_sequence(sequence)
    if extrinsic:
        angles = angles[..., ::-1]
    first, second, third = (_elementary(angles[..., n], axis) for n, axis in enumerate((i, j, k)))
    return np.asarray(first @ second @ third)
