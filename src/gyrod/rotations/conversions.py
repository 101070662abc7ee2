"""Quaternions, and the ways between them and every other description of a rotation.

The quaternion is the hub: scalar first, body to space, p and -p the same rotation. Functions broadcast over leading
axes; quaternions need not be normalised, only non-zero, where a rotation is meant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check
from gyrod._check import Array
from gyrod.rotations import removable
from gyrod.rotations.vectors import cross, norms, unit

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

#: Names of the descriptions that `convert` knows.
PARAMETRIZATIONS = ("quaternion", "matrix", "rotation-vector", "tangential", "euler")

#: Shape of one rotation in each of them.
TRAILING: dict[str, tuple[int, ...]] = {
    "quaternion": (4,),
    "matrix": (3, 3),
    "rotation-vector": (3,),
    "tangential": (3,),
    "euler": (3,),
}

#: The twelve intrinsic sequences; "313" is Z-X*-Z**. "ZXZ" means the same, "zxz" the extrinsic one, as in SciPy.
SEQUENCES = ("313", "323", "121", "131", "212", "232", "123", "132", "213", "231", "312", "321")

#: A matrix counts as a rotation if no entry of R'R - 1 exceeds this; beyond, use `project`.
ORTHOGONALITY = 1e-3

_IDENTITY = np.eye(3)


# --- algebra -------------------------------------------------------------------------------------------------------


def multiply(p: ArrayLike, q: ArrayLike) -> Array:
    """Quaternion product p q; as rotations, q first and then p (Lang 2010, eq. 30)."""
    p, q = _check.array("p", p, (4,)), _check.array("q", q, (4,))
    one = p.ndim == q.ndim == 1  # number by number, which is much faster
    p0, p1, p2, p3 = p.tolist() if one else (p[..., i] for i in range(4))
    q0, q1, q2, q3 = q.tolist() if one else (q[..., i] for i in range(4))
    product = (
        p0 * q0 - (p1 * q1 + p2 * q2 + p3 * q3),
        p0 * q1 + p1 * q0 + (p2 * q3 - p3 * q2),
        p0 * q2 + p2 * q0 + (p3 * q1 - p1 * q3),
        p0 * q3 + p3 * q0 + (p1 * q2 - p2 * q1),
    )
    return np.array(product) if one else np.stack(product, axis=-1)


def conjugate(p: ArrayLike) -> Array:
    """p0 - (p1, p2, p3); the inverse rotation."""
    return np.asarray(_check.array("p", p, (4,)) * np.array([1.0, -1.0, -1.0, -1.0]))


def inverse(p: ArrayLike) -> Array:
    """conj(p) / |p|², so that p inverse(p) = 1."""
    scaled, scale = by_largest("p", p)
    return np.asarray(conjugate(scaled) / np.sum(scaled * scaled, axis=-1, keepdims=True) / scale)


def normalize(p: ArrayLike) -> Array:
    """p / |p|: the projection onto the unit sphere (Lang 2010, eq. 63)."""
    return _unit("p", p)


def _unit(argument: str, p: ArrayLike) -> Array:
    scaled, _ = by_largest(argument, p)
    return unit(scaled)


def by_largest(argument: str, p: ArrayLike) -> tuple[Array, Array]:
    """p over its largest entry, and that entry: 1e-200 and 1e200 have a direction too."""
    p = _check.array(argument, p, (4,))
    scale = np.maximum.reduce(np.abs(p), axis=-1, keepdims=True)
    if not scale.all():
        place = tuple(int(i) for i in np.argwhere(scale == 0.0)[0][:-1])
        where = f" at index {place}" if place else ""
        raise ValueError(
            f"a quaternion of zero norm{where} is not a rotation; give four numbers that are not all zero."
        )
    return p / scale, scale


def rotate(p: ArrayLike, x: ArrayLike) -> Array:
    """R(p) x: body components to space components; use `conjugate` for the way back."""
    p, x = normalize(p), _check.array("x", x, (3,))
    v = p[..., 1:]
    t = 2.0 * cross(v, x)
    return np.asarray(x + p[..., :1] * t + cross(v, t))


def slerp(p: ArrayLike, q: ArrayLike, s: ArrayLike) -> Array:
    """The rotation a fraction s of the (shorter) way from p to q; s broadcasts over leading axes."""
    p, q = _unit("p", p), _unit("q", q)
    s = _check.array("s", s, ())
    return multiply(p, exp(s[..., None] * log(multiply(conjugate(p), q))))


def distance(a: object, b: object) -> Array:
    """Geodesic distance in [0, pi]: the angle of the rotation from a to b (quaternions, matrices or Rotations)."""
    d = multiply(conjugate(as_quaternion(a, "a")), as_quaternion(b, "b"))
    return np.asarray(2.0 * np.arctan2(norms(d[..., 1:]), np.abs(d[..., 0])))


def exp(rotation_vector: ArrayLike) -> Array:
    """Unit quaternion of a rotation vector: cos(|v|/2) + sin(|v|/2) v/|v|."""
    v = _check.array("rotation_vector", rotation_vector, (3,))
    scale = np.maximum(np.max(np.abs(v), axis=-1), 1.0)
    half = scale * (0.5 * np.linalg.norm(v / scale[..., None], axis=-1))
    return np.concatenate([np.cos(half)[..., None], 0.5 * removable.sinc(half)[..., None] * v], axis=-1)


def log(p: ArrayLike) -> Array:
    """Rotation vector of a quaternion, of length at most pi."""
    p = normalize(p)
    p = np.where(p[..., :1] < 0.0, -p, p)
    s = np.linalg.norm(p[..., 1:], axis=-1)
    return np.asarray(2.0 * removable.angle_over_sine(s, p[..., 0])[..., None] * p[..., 1:])


# --- quaternion <-> the others -------------------------------------------------------------------------------------

quaternion_from_rotation_vector = exp
rotation_vector_from_quaternion = log


def matrix_from_quaternion(p: ArrayLike) -> Array:
    """Rotation matrix; its columns are the directors (Lang 2010, eq. 26, for any |p| > 0)."""
    p = normalize(p)
    w, x, y, z = (p[..., i] for i in range(4))
    xx, yy, zz = 2.0 * x * x, 2.0 * y * y, 2.0 * z * z
    xy, xz, yz = 2.0 * x * y, 2.0 * x * z, 2.0 * y * z
    wx, wy, wz = 2.0 * w * x, 2.0 * w * y, 2.0 * w * z
    R = np.empty((*w.shape, 3, 3))
    R[..., 0, 0], R[..., 0, 1], R[..., 0, 2] = 1.0 - (yy + zz), xy - wz, xz + wy
    R[..., 1, 0], R[..., 1, 1], R[..., 1, 2] = xy + wz, 1.0 - (xx + zz), yz - wx
    R[..., 2, 0], R[..., 2, 1], R[..., 2, 2] = xz - wy, yz + wx, 1.0 - (xx + yy)
    return R


def quaternion_from_matrix(R: ArrayLike) -> Array:
    """Unit quaternion with p0 >= 0 by the algorithm of Spurrier and Klumpp (Lang 2010, section 6).

    The largest of trace and diagonal decides which component is found first, so that none is found by division by
    a small number. Rounding defects of R are welcome; a matrix further than `ORTHOGONALITY` from SO(3) is refused.
    """
    R = _check.array("R", R, (3, 3))
    require_rotation("R", R)
    return spurrier_klumpp(R)


def spurrier_klumpp(R: Array) -> Array:
    """The extraction itself, without the check: works in a neighbourhood of SO(3)."""
    batch = R.shape[:-2]
    R = R.reshape(-1, 3, 3)
    diagonal = np.einsum("nii->ni", R)
    trace = diagonal.sum(axis=1)
    if len(R) == 1:
        p = unit(np.array([_largest_first(R[0].tolist(), float(trace[0]))]))
        return np.where(p[:, :1] < 0.0, -p, p).reshape(*batch, 4)
    n = np.argmax(np.column_stack([trace, diagonal]), axis=1)
    p = np.empty((len(R), 4))
    m = n == 0
    if m.any():
        A = R[m]
        p0 = 0.5 * np.sqrt(1.0 + trace[m])
        p[m, 0] = p0
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            p[m, 1 + i] = (A[:, k, j] - A[:, j, k]) / (4.0 * p0)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        m = n == 1 + i
        if not m.any():
            continue
        A = R[m]
        # 1 + R_ii - R_jj - R_kk rather than the paper's d/2 + (1 - trace)/4: the same with one rounding less.
        pi = 0.5 * np.sqrt(1.0 + A[:, i, i] - A[:, j, j] - A[:, k, k])
        p[m, 0] = (A[:, k, j] - A[:, j, k]) / (4.0 * pi)
        p[m, 1 + i] = pi
        p[m, 1 + j] = (A[:, j, i] + A[:, i, j]) / (4.0 * pi)
        p[m, 1 + k] = (A[:, k, i] + A[:, i, k]) / (4.0 * pi)
    p = unit(p)
    return np.where(p[:, :1] < 0.0, -p, p).reshape(*batch, 4)


def _largest_first(R: list[list[float]], trace: float) -> list[float]:
    """The same for one matrix, number by number, which is much faster there: a quaternion, not normalised."""
    p = [0.0, 0.0, 0.0, 0.0]
    if trace >= max(R[0][0], R[1][1], R[2][2]):
        p0 = p[0] = 0.5 * math.sqrt(1.0 + trace)
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            p[1 + i] = (R[k][j] - R[j][k]) / (4.0 * p0)
        return p
    i = max(range(3), key=lambda axis: R[axis][axis])
    j, k = (i + 1) % 3, (i + 2) % 3
    pi = 0.5 * math.sqrt(1.0 + R[i][i] - R[j][j] - R[k][k])
    p[0] = (R[k][j] - R[j][k]) / (4.0 * pi)
    p[1 + i] = pi
    p[1 + j] = (R[j][i] + R[i][j]) / (4.0 * pi)
    p[1 + k] = (R[k][i] + R[i][k]) / (4.0 * pi)
    return p


def require_rotation(argument: str, R: Array, tolerance: float = ORTHOGONALITY) -> None:
    """Refuse a matrix that is far from orthogonal, or a reflection."""
    bounded = np.minimum(np.maximum(R, -1e100), 1e100)  # R'R of huge numbers would overflow, or be inf - inf
    worst = float(np.abs(np.swapaxes(bounded, -1, -2) @ bounded - _IDENTITY).max(initial=0.0))
    if worst > tolerance:
        raise ValueError(
            f"{argument} is not a rotation matrix: {argument}'{argument} differs from the identity by {worst:.2g}, "
            f"at most {tolerance:g} is allowed; gyrod.rotations.project finds the nearest rotation."
        )
    if np.any(np.add.reduce(R[..., 0, :] * cross(R[..., 1, :], R[..., 2, :]), axis=-1) < 0.0):
        raise ValueError(f"{argument} has determinant -1: a reflection, not a rotation.")


def tangential_from_quaternion(p: ArrayLike) -> Array:
    """Argyris' tangential vector psi = tan(angle/2) n = (p1, p2, p3)/p0; refused at a half-turn (infinite)."""
    p = normalize(p)
    if np.any(np.abs(p[..., 0]) < 1e-15):
        raise ValueError(
            "a rotation by pi (to within 2e-15) has no tangential vector tan(angle/2) n; "
            "use the quaternion or the rotation vector there."
        )
    return np.asarray(p[..., 1:] / p[..., :1])


def quaternion_from_tangential(psi: ArrayLike) -> Array:
    """(1, psi) / sqrt(1 + |psi|²)."""
    psi = _check.array("psi", psi, (3,))
    return normalize(np.concatenate([np.ones((*psi.shape[:-1], 1)), psi], axis=-1))


# --- Euler angles --------------------------------------------------------------------------------------------------


def parse_sequence(sequence: str) -> tuple[tuple[int, int, int], bool]:
    """Axes (0, 1, 2) in intrinsic order, and whether the angles are to be read backwards (extrinsic)."""
    digits = str(sequence).replace("-", "")
    extrinsic = digits.isalpha() and digits.islower()
    if digits.isalpha() and (digits.islower() or digits.isupper()):
        digits = digits.lower().translate(str.maketrans("xyz", "123"))
    if digits not in SEQUENCES:
        _check.choice("sequence", sequence, [*SEQUENCES, "ZXZ", "ZYX", "XYZ", "zxz", "zyx", "xyz"])
    axes = tuple(int(c) - 1 for c in (digits[::-1] if extrinsic else digits))
    return (axes[0], axes[1], axes[2]), extrinsic


def quaternion_from_euler(angles: ArrayLike, sequence: str = "313") -> Array:
    """Quaternion of three Euler angles, R = R_i(a1) R_j(a2) R_k(a3) for the intrinsic sequence "ijk"."""
    angles = _check.array("angles", angles, (3,))
    axes, extrinsic = parse_sequence(sequence)
    if extrinsic:
        angles = angles[..., ::-1]
    factors = []
    for position, axis in enumerate(axes):
        half = 0.5 * angles[..., position]
        factor = np.zeros((*half.shape, 4))
        factor[..., 0] = np.cos(half)
        factor[..., 1 + axis] = np.sin(half)
        factors.append(factor)
    return multiply(multiply(factors[0], factors[1]), factors[2])


def euler_from_quaternion(p: ArrayLike, sequence: str = "313") -> Array:
    """Euler angles; the outer two in (-pi, pi], at gimbal lock the last one is zero.

    The middle angle lies in [0, pi] for sequences such as 3-1-3, in [-pi/2, pi/2] for those such as 3-2-1
    (Bernardes and Viollet 2022: half sums and half differences of the outer angles, nothing cancels at the lock).
    """
    p = normalize(p)
    (i, j, k), extrinsic = parse_sequence(sequence)
    proper = i == k
    if proper:
        k = 3 - i - j
    sign = float((i - j) * (j - k) * (k - i) // 2)
    a, b, c, d = p[..., 0], p[..., 1 + i], p[..., 1 + j], sign * p[..., 1 + k]
    if not proper:
        h = np.sqrt(0.5)
        a, b, c, d = h * (a - c), h * (b - d), h * (c + a), h * (d + b)
    even, odd = np.hypot(a, b), np.hypot(c, d)
    half_sum, half_difference = np.arctan2(b, a), np.arctan2(d, c)
    tiny = 4.0 * np.finfo(float).eps
    half_difference = np.where(odd <= tiny, half_sum, half_difference)
    half_sum = np.where(even <= tiny, half_difference, half_sum)
    odd, even = np.where(odd <= tiny, 0.0, odd), np.where(even <= tiny, 0.0, even)
    first = half_sum + half_difference
    third = half_sum - half_difference
    # At the second lock (even = 0) only the difference is known: third = 0 needs half_sum = half_difference, as set.
    middle = 2.0 * np.arctan2(odd, even)
    if not proper:
        middle = middle - 0.5 * np.pi
        third = -sign * third
    angles = np.stack([_wrap(first), middle, _wrap(third)], axis=-1)
    if extrinsic:
        angles = angles[..., ::-1]
    return angles


def _wrap(angle: Array) -> Array:
    return np.where(angle > np.pi, angle - 2.0 * np.pi, np.where(angle <= -np.pi, angle + 2.0 * np.pi, angle))


# --- from anything to anything -------------------------------------------------------------------------------------


def convert(x: object, source: str, target: str, *, sequence: str = "313") -> Array:
    """Convert between any two of `PARAMETRIZATIONS`; ``sequence`` is that of Euler angles on either side."""
    _check.choice("source", source, PARAMETRIZATIONS)
    _check.choice("target", target, PARAMETRIZATIONS)
    x = _check.array("x", x, TRAILING[source])
    if source == "matrix":
        require_rotation("x", x)
    into: dict[str, Callable[[Array], Array]] = {
        "quaternion": normalize,
        "matrix": spurrier_klumpp,
        "rotation-vector": exp,
        "tangential": quaternion_from_tangential,
        "euler": lambda a: quaternion_from_euler(a, sequence),
    }
    out: dict[str, Callable[[Array], Array]] = {
        "quaternion": lambda p: p,
        "matrix": matrix_from_quaternion,
        "rotation-vector": log,
        "tangential": tangential_from_quaternion,
        "euler": lambda p: euler_from_quaternion(p, sequence),
    }
    return np.asarray(out[target](into[source](x)))


def matrix_from_rotation_vector(rotation_vector: ArrayLike) -> Array:
    """Rodrigues' formula (Zupan and Saje 2011, eq. 6), through the quaternion."""
    return matrix_from_quaternion(exp(rotation_vector))


def rotation_vector_from_matrix(R: ArrayLike) -> Array:
    """Logarithm of a rotation matrix."""
    return log(quaternion_from_matrix(R))


def from_scipy(rotation: Rotation) -> Array:
    """Quaternion, scalar first, of a SciPy Rotation."""
    if not hasattr(rotation, "as_quat"):
        raise ValueError(f"rotation must be a SciPy Rotation, got {type(rotation).__name__}.")
    return np.asarray(np.roll(rotation.as_quat(), 1, axis=-1), dtype=float)


def to_scipy(p: ArrayLike) -> Rotation:
    """SciPy Rotation of a quaternion (or an array of them)."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(np.roll(normalize(p), -1, axis=-1))


def as_quaternion(rotation: object, argument: str = "rotation") -> Array:
    """Unit quaternion of a quaternion, a rotation matrix or a SciPy Rotation: what arguments may be given as."""
    if hasattr(rotation, "as_quat"):
        return from_scipy(rotation)
    try:
        x = np.asarray(rotation)
        x = np.empty(0) if np.iscomplexobj(x) else np.asarray(x, dtype=float)
    except (TypeError, ValueError, OverflowError):
        x = np.empty(0)
    if x.shape[-2:] == (3, 3):
        _check.finite(argument, x)
        require_rotation(argument, x)
        return spurrier_klumpp(x)
    if x.shape[-1:] == (4,):
        return _unit(argument, x)
    raise ValueError(
        f"{argument} must be a quaternion (..., 4), scalar first, a rotation matrix (..., 3, 3) or a SciPy Rotation, "
        f"got {f'an array of shape {x.shape}' if x.size else repr(rotation)}."
    )
