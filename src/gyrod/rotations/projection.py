"""Back to SO(3): four ways to make a drifted matrix a rotation again (Lang 2010, section 6); errors of matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check
from gyrod._check import Array
from gyrod.rotations.conversions import exp, log, matrix_from_quaternion, quaternion_from_matrix, spurrier_klumpp
from gyrod.rotations.kinematics import vee


def project(R: ArrayLike, method: str = "polar") -> Array:
    """Return a rotation near R.

    - ``"polar"``: the nearest rotation in the Frobenius norm, hence *the* projection; isotropic;
    - ``"spurrier"``: quaternion by Spurrier and Klumpp, normalised; explicit and fast, differs from the nearest
      rotation at first order of the defect (the paper's Lemma 6.2 says otherwise and errs);
    - ``"gram-schmidt"``: the first column keeps its direction; depends on the order of the columns;
    - ``"logarithm"``: exponential of the skew part of log R; agrees with the nearest one to second order; slow.
    """
    _check.choice("method", method, METHODS)
    R = _check.array("R", R, (3, 3))
    if np.any(np.linalg.det(R) <= 0.0):
        raise ValueError("R has a determinant that is not positive: it has no neighbourhood to a rotation.")
    return METHODS[method](R)


def drift_skew_scale(exact: ArrayLike, approximate: ArrayLike) -> Array:
    """Errors of a rotation matrix in body axes, (..., 3, 3) with the rows drift, skew and scale.

    By the polar decomposition R' R~ = exp(drift) (1 + S), S symmetric: the skew errors are S_23, S_31, S_12, the
    scale errors S_11, S_22, S_33. To first order these are the parts of R' R~ - 1 (Mortensen 1974). Where R~ is a
    rotation there is drift alone, as long as the geodesic distance.
    """
    R, A = _check.array("exact", exact, (3, 3)), _check.array("approximate", approximate, (3, 3))
    if np.any(np.linalg.det(A) <= 0.0):
        raise ValueError("approximate has a determinant that is not positive: it is near no rotation.")
    B = np.swapaxes(R, -1, -2) @ A
    turn = _polar(B)
    S = np.swapaxes(turn, -1, -2) @ B - np.eye(3)
    drift = log(quaternion_from_matrix(turn))
    return np.stack([drift, S[..., (1, 2, 0), (2, 0, 1)], S[..., (0, 1, 2), (0, 1, 2)]], axis=-2)


def _polar(R: Array) -> Array:
    U, _, Vt = np.linalg.svd(R)
    return np.asarray(U @ Vt)


def _spurrier(R: Array) -> Array:
    return matrix_from_quaternion(spurrier_klumpp(R))


def _gram_schmidt(R: Array) -> Array:
    d1 = R[..., :, 0] / np.linalg.norm(R[..., :, 0], axis=-1, keepdims=True)
    d2 = R[..., :, 1] - np.sum(d1 * R[..., :, 1], axis=-1, keepdims=True) * d1
    d2 /= np.linalg.norm(d2, axis=-1, keepdims=True)
    return np.stack([d1, d2, np.cross(d1, d2)], axis=-1)


def _logarithm(R: Array) -> Array:
    from scipy.linalg import logm

    flat = R.reshape(-1, 3, 3)
    logs = [np.asarray(logm(A)) for A in flat]
    if any(np.abs(L.imag).max() > 1e-8 for L in logs):
        raise ValueError("R turns by pi, where it has no real logarithm; project with method='polar'.")
    skews = np.array([L.real for L in logs]).reshape(R.shape)
    result = matrix_from_quaternion(exp(vee(skews)))
    nearest = np.linalg.norm(_polar(R) - R, axis=(-1, -2))
    if np.any(np.linalg.norm(result - R, axis=(-1, -2)) > 4.0 * nearest + 1e-6):
        raise ValueError("R turns by nearly pi, where its logarithm jumps; project with method='polar'.")
    return result


METHODS = {"polar": _polar, "spurrier": _spurrier, "gram-schmidt": _gram_schmidt, "logarithm": _logarithm}
