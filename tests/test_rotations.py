"""Rotations in NumPy: round trips, group, SciPy, tangent maps, Lang's identities, projections, shapes."""

import itertools

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.transform import Rotation, Slerp

from gyrod import rotations as rot

EXTENDED = np.longdouble
PI = 4 * np.arctan(EXTENDED(1))
LETTERS = str.maketrans("123", "XYZ")
INTRINSIC = [sequence.translate(LETTERS) for sequence in rot.SEQUENCES]
EXTRINSIC = [sequence.lower() for sequence in INTRINSIC]
ANGLES = {"identity": 0.0, "1e-7": 1e-7, "generic": 1.3, "near pi": np.pi - 1e-7}
INERTIA = np.array([50.0, 42.0, 10.0])  # Lang 2010, Ex. A


def rng_of(*key):
    """A generator that depends on the case, the same in every run."""
    return np.random.default_rng([ord(c) for c in "/".join(map(str, key))])


def random_quaternions(rng, *shape):
    return rot.normalize(rng.normal(size=(*shape, 4)))


def quaternions_of_angle(rng, angle, n):
    axes = rng.normal(size=(n, 3))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    half = 0.5 * np.broadcast_to(angle, (n,))[:, None]
    return np.concatenate([np.cos(half), np.sin(half) * axes], axis=-1)


def transpose(A):
    return np.swapaxes(A, -1, -2)


def apply(A, x):
    return (A @ x[..., None])[..., 0]


def close(got, want, tolerance):
    """Absolute agreement."""
    np.testing.assert_allclose(got, want, rtol=0.0, atol=tolerance)


def same_rotation(p, q, tolerance):
    """Quaternions agree up to sign."""
    error = np.minimum(np.abs(p - q).max(axis=-1), np.abs(p + q).max(axis=-1))
    assert np.max(error, initial=0.0) <= tolerance


# --- matrices of every parametrisation, written once more: exact scalars (longdouble) and complex steps -----


def skew(v):
    z = np.zeros_like(v[..., 0])
    x, y, w = np.moveaxis(v, -1, 0)
    return np.stack([z, -w, y, w, z, -x, -y, x, z], axis=-1).reshape(*v.shape, 3)


def multiply_matrices(A, B):
    return np.einsum("...ij,...jk->...ik", A, B)


def matrix_of_quaternion(p):
    S = skew(p[..., 1:])
    squared = np.sum(p * p, axis=-1)[..., None, None]
    return np.eye(3) + 2 * (p[..., :1, None] * S + multiply_matrices(S, S)) / squared


def matrix_of_tangential(psi):
    return matrix_of_quaternion(np.concatenate([np.ones_like(psi[..., :1]), psi], axis=-1))


def matrix_of_rotation_vector(v):
    if np.iscomplexobj(v):
        return scipy.linalg.expm(skew(v))
    t = np.sqrt(np.sum(v * v, axis=-1))[..., None, None]
    t = np.where(t == 0, EXTENDED(1e-300), t)
    S = skew(v)
    return np.eye(3) + np.sin(t) / t * S + 2 * (np.sin(t / 2) / t) ** 2 * multiply_matrices(S, S)


def elementary(angle, axis):
    R = np.zeros((*angle.shape, 3, 3), dtype=angle.dtype)
    j, k = (axis + 1) % 3, (axis + 2) % 3
    R[..., axis, axis] = 1
    R[..., j, j] = R[..., k, k] = np.cos(angle)
    R[..., k, j], R[..., j, k] = np.sin(angle), -np.sin(angle)
    return R


def matrix_of_euler(angles, sequence):
    """R_i(a1) R_j(a2) R_k(a3) for digits or capitals (intrinsic); reversed for small letters (extrinsic)."""
    order = str(sequence).lower().translate(str.maketrans("xyz", "123"))
    factors = [elementary(angles[..., n], int(axis) - 1) for n, axis in enumerate(order)]
    if str(sequence).islower():
        factors.reverse()
    return multiply_matrices(multiply_matrices(factors[0], factors[1]), factors[2])


MATRIX = {
    "quaternion": lambda x, _: matrix_of_quaternion(x),
    "matrix": lambda x, _: x,
    "rotation-vector": lambda x, _: matrix_of_rotation_vector(x),
    "tangential": lambda x, _: matrix_of_tangential(x),
    "euler": matrix_of_euler,
}


def matrix_of(parametrization, x, sequence="313"):
    return MATRIX[parametrization](x, sequence)


def matrix_rate(parametrization, x, x_dot, sequence="313"):
    """dR/dt by a complex step, free of cancellation."""
    h = 1e-40
    return matrix_of(parametrization, x + 1j * h * x_dot, sequence).imag / h


def test_every_parametrization_has_a_matrix():
    assert set(MATRIX) == set(rot.PARAMETRIZATIONS)


# --- (a) round trips ----------------------------------------------------------------------------------------

ROUND_TRIP = 3e-15
PAIRS = list(itertools.product(rot.PARAMETRIZATIONS, repeat=2))
CASES = [(s, t, "313") for s, t in PAIRS if "euler" not in (s, t)] + [
    (s, t, sequence) for s, t in PAIRS if "euler" in (s, t) for sequence in rot.SEQUENCES
]
PLAIN, EULER = 26_000, 6_000  # of a million; a fifth of them in the quick test
assert PLAIN * (len(PAIRS) - 9) + EULER * 9 * len(rot.SEQUENCES) >= 1_000_000

extended_precision = pytest.mark.skipif(
    np.finfo(EXTENDED).eps > 2e-19, reason="long double is no better than double: the measurement would blur"
)


def exact_product(p, q):
    p0, p1, p2, p3 = p.T
    q0, q1, q2, q3 = q.T
    return np.stack(
        [
            p0 * q0 - p1 * q1 - p2 * q2 - p3 * q3,
            p0 * q1 + p1 * q0 + p2 * q3 - p3 * q2,
            p0 * q2 + p2 * q0 + p3 * q1 - p1 * q3,
            p0 * q3 + p3 * q0 + p1 * q2 - p2 * q1,
        ],
        axis=-1,
    )


def sampled_quaternions(rng, n, half_turns):
    """Angles from 1e-12 to pi - 1e-12, 0 and pi themselves; axes anywhere, in the planes and on the axes."""
    axes = rng.normal(size=(n, 3))
    axes[: n // 8] = np.eye(3)[rng.integers(0, 3, n // 8)] * rng.choice([-1.0, 1.0], (n // 8, 1))
    axes[n // 8 : n // 4, rng.integers(0, 3)] = 0.0
    axes = axes.astype(EXTENDED)
    axes /= np.sqrt(np.sum(axes * axes, axis=-1, keepdims=True))
    third = n // 3
    angle = np.concatenate(
        [
            EXTENDED(10) ** rng.uniform(-12.0, 0.0, third),
            PI - EXTENDED(10) ** rng.uniform(-12.0, 0.0, third),
            rng.uniform(0.0, np.pi, n - 2 * third).astype(EXTENDED),
        ]
    )[rng.permutation(n)]
    angle[0], angle[1] = 1e-12, PI - EXTENDED(1e-12)
    angle[2::40] = 0
    if half_turns:
        angle[3::40] = PI
    p = np.concatenate([np.cos(angle / 2)[:, None], np.sin(angle / 2)[:, None] * axes], axis=-1)
    if half_turns:
        p[3::40, 0] = 0
    return p * rng.choice([-1.0, 1.0], (n, 1))


def locked_angles(rng, n, sequence):
    """Euler angles at gimbal lock: a third of them exactly, the others within 1e-9."""
    locks = (0, PI) if sequence[0] == sequence[2] else (-PI / 2, PI / 2)
    angles = rng.uniform(-np.pi, np.pi, (n, 3)).astype(EXTENDED)
    offset = rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-17.0, -9.0, n)
    offset[::3], offset[1] = 0.0, 1e-9
    angles[:, 1] = np.array(locks)[rng.integers(0, 2, n)] + offset
    return angles


def quaternion_of_angles(angles, sequence):
    product = np.zeros((len(angles), 4), dtype=EXTENDED)
    product[:, 0] = 1
    for n, axis in enumerate(sequence):
        factor = np.zeros_like(product)
        factor[:, 0], factor[:, int(axis)] = np.cos(angles[:, n] / 2), np.sin(angles[:, n] / 2)
        product = exact_product(product, factor)
    return product


def source_values(rng, source, target, sequence, share):
    """Rotations described by ``source``, rounded once; no half-turns where psi is involved."""
    tangential = "tangential" in (source, target)
    n = (EULER if "euler" in (source, target) else PLAIN) // share
    p = sampled_quaternions(rng, n, half_turns=not tangential)
    if "euler" in (source, target):
        locked = locked_angles(rng, n // 3, sequence)
        free = rng.uniform(-np.pi, np.pi, (n // 3, 3)).astype(EXTENDED)
        angles = np.concatenate([locked, free])
        of_angles = quaternion_of_angles(angles, sequence)
        keep = np.abs(of_angles[:, 0]) > (5e-13 if tangential else -1.0)
        if source == "euler":
            found = rot.euler_from_quaternion(p[: n // 3].astype(float), sequence)
            return np.concatenate([angles[keep].astype(float), found])
        p = np.concatenate([of_angles[keep], p[: n - len(angles)]])
    if source == "matrix":
        return matrix_of_quaternion(p).astype(float)
    if source == "tangential":
        return (p[:, 1:] / p[:, :1]).astype(float)
    if source == "rotation-vector":
        p = np.where(p[:, :1] < 0, -p, p)
        sine = np.sqrt(np.sum(p[:, 1:] ** 2, axis=-1))
        angle = 2 * np.arctan2(sine, p[:, 0])
        return ((angle / np.where(sine == 0, 1, sine))[:, None] * p[:, 1:]).astype(float)
    return p.astype(float)


def exact_distance(A, B):
    """Angle between rotation matrices in extended precision; their defects enter at second order only."""
    C = np.einsum("nji,njk->nik", A, B)
    axial = np.stack([C[:, 2, 1] - C[:, 1, 2], C[:, 0, 2] - C[:, 2, 0], C[:, 1, 0] - C[:, 0, 1]], axis=-1) / 2
    return np.arctan2(np.sqrt(np.sum(axial * axial, axis=-1)), (np.einsum("nii->n", C) - 1) / 2)


def check_round_trip(source, target, sequence, share):
    x = source_values(rng_of(source, target, sequence), source, target, sequence, share)
    there = rot.convert(x, source, target, sequence=sequence)
    back = rot.convert(there, target, source, sequence=sequence)
    R = matrix_of(source, x.astype(EXTENDED), sequence)
    for description, y in ((target, there), (source, back)):
        error = exact_distance(R, matrix_of(description, y.astype(EXTENDED), sequence))
        worst = int(np.argmax(error))
        assert error[worst] <= ROUND_TRIP, f"{error[worst]:.2g} in {description} for {x[worst].tolist()}"


@pytest.mark.spread
@extended_precision
@pytest.mark.parametrize(("source", "target", "sequence"), CASES)
def test_round_trip(source, target, sequence):
    check_round_trip(source, target, sequence, share=5)


@pytest.mark.slow
@extended_precision
def test_a_million_round_trips():
    for case in CASES:
        check_round_trip(*case, share=1)


@pytest.mark.parametrize("source", ["quaternion", "matrix", "rotation-vector", "euler"])
def test_half_turn_has_no_tangential_vector(source):
    for p in np.eye(4)[1:]:
        x = rot.convert(p, "quaternion", source)
        with pytest.raises(ValueError, match=r"rotation by pi .* has no tangential vector .*use the quaternion"):
            rot.convert(x, source, "tangential")


def test_one_half_turn_among_many_is_refused():
    p = np.tile([1.0, 0.0, 0.0, 0.0], (5, 1))
    p[3] = [0.0, 0.6, 0.0, 0.8]
    with pytest.raises(ValueError, match="no tangential vector"):
        rot.tangential_from_quaternion(p)


@pytest.mark.parametrize("sequence", rot.SEQUENCES)
def test_euler_ranges(sequence):
    p = random_quaternions(rng_of("ranges", sequence), 2000)
    p[:8] = list(itertools.product([1.0, -1.0], [1.0, -1.0], [0.0, 1.0], [0.0]))
    first, middle, third = rot.euler_from_quaternion(p, sequence).T
    low, high = (0.0, np.pi) if sequence[0] == sequence[2] else (-0.5 * np.pi, 0.5 * np.pi)
    for outer in (first, third):
        assert np.all(outer > -np.pi)
        assert np.all(outer <= np.pi)
    assert np.all(middle >= low)
    assert np.all(middle <= high)
    np.testing.assert_allclose(np.ptp(first), 2.0 * np.pi, rtol=0.02)


@pytest.mark.parametrize("through", ["quaternion", "matrix", "rotation-vector"])
@pytest.mark.parametrize("sequence", rot.SEQUENCES)
def test_last_angle_is_zero_at_gimbal_lock(sequence, through):
    """Also if the rotation comes from elsewhere and has its rounding errors."""
    locks = (0.0, np.pi) if sequence[0] == sequence[2] else (-0.5 * np.pi, 0.5 * np.pi)
    angles = rng_of("lock", sequence).uniform(-np.pi, np.pi, (2000, 3))
    angles[:, 1] = np.repeat(locks, 1000)
    x = rot.convert(angles, "euler", through, sequence=sequence)
    _, middle, last = rot.convert(x, through, "euler", sequence=sequence).T
    close(middle, angles[:, 1], 2e-15)
    assert np.sum(last != 0.0) == 0


def test_canonical_sign():
    p = random_quaternions(rng_of("sign"), 1000)
    R = rot.matrix_from_quaternion(p)
    assert np.all(rot.quaternion_from_matrix(R)[:, 0] >= 0.0)
    assert np.all(np.linalg.norm(rot.log(p), axis=-1) <= np.pi)
    np.testing.assert_array_equal(rot.log(-p), rot.log(p))
    np.testing.assert_array_equal(rot.matrix_from_quaternion(-p), R)


def test_matrix_columns_are_the_directors():
    p = random_quaternions(rng_of("directors"), 20)
    R = rot.matrix_from_quaternion(p)
    for n, e in enumerate(np.eye(3)):
        close(R[..., n], rot.rotate(p, e), 1e-15)
    close(rot.directors_from_matrix(R), rot.euler_map(p), 2e-15)
    np.testing.assert_array_equal(rot.matrix_from_directors(rot.directors_from_matrix(R)), R)
    # a quarter turn about the third axis takes e1 to e2
    quarter = rot.exp([0.0, 0.0, 0.5 * np.pi])
    close(rot.rotate(quarter, [1.0, 0.0, 0.0]), [0.0, 1.0, 0.0], 1e-15)


# --- (b) the group ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("region", ANGLES)
def test_group_axioms(region):
    rng = rng_of("group", region)
    p, q, r = (quaternions_of_angle(rng, ANGLES[region], 200) for _ in range(3))
    x = rng.normal(size=(200, 3))
    one = np.array([1.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(rot.multiply(p, one), p)
    np.testing.assert_array_equal(rot.multiply(one, p), p)
    close(rot.multiply(p, rot.inverse(p)), np.tile(one, (200, 1)), 1e-15)
    close(rot.multiply(rot.inverse(p), p), np.tile(one, (200, 1)), 1e-15)
    left, right = rot.multiply(rot.multiply(p, q), r), rot.multiply(p, rot.multiply(q, r))
    close(left, right, 1e-15)
    np.testing.assert_allclose(np.linalg.norm(rot.multiply(p, q), axis=-1), 1.0, rtol=1e-15)
    matrix = rot.matrix_from_quaternion
    close(matrix(rot.multiply(p, q)), matrix(p) @ matrix(q), 3e-15)
    close(matrix(rot.conjugate(p)), transpose(matrix(p)), 1e-15)
    close(rot.rotate(p, x), apply(matrix(p), x), 1e-14)
    close(rot.rotate(rot.multiply(p, q), x), rot.rotate(p, rot.rotate(q, x)), 1e-14)
    close(rot.rotate(rot.conjugate(p), rot.rotate(p, x)), x, 1e-14)


@pytest.mark.parametrize("region", ANGLES)
def test_exp_and_log_are_inverse(region):
    p = quaternions_of_angle(rng_of("exp", region), ANGLES[region], 200)
    v = rot.log(p)
    np.testing.assert_allclose(np.linalg.norm(v, axis=-1), ANGLES[region], rtol=1e-15, atol=0.0)
    same_rotation(rot.exp(v), p, 1e-15)
    close(rot.log(rot.exp(v)), v, 2e-15 * ANGLES[region])
    close(rot.exp(2.0 * v), rot.multiply(p, p), 3e-15)


def test_product_does_not_commute():
    i, j, k = np.eye(4)[1:]
    np.testing.assert_array_equal(rot.multiply(i, j), k)
    np.testing.assert_array_equal(rot.multiply(j, i), -k)
    for unit in (i, j, k):
        np.testing.assert_array_equal(rot.multiply(unit, unit), [-1.0, 0.0, 0.0, 0.0])


def test_inverse_of_stretched_quaternions():
    rng = rng_of("inverse")
    p = rng.normal(size=(50, 4)) * 10.0 ** rng.uniform(-100.0, 100.0, (50, 1))
    close(rot.multiply(p, rot.inverse(p)), np.tile([1.0, 0.0, 0.0, 0.0], (50, 1)), 1e-15)


@pytest.mark.parametrize("region", ANGLES)
def test_distance_is_bi_invariant(region):
    rng = rng_of("distance", region)
    p, g = random_quaternions(rng, 2, 200)
    q = rot.multiply(p, quaternions_of_angle(rng, ANGLES[region], 200))
    d = rot.distance(p, q)
    close(d, ANGLES[region], 2e-15)
    close(rot.distance(rot.multiply(g, p), rot.multiply(g, q)), d, 2e-15)
    close(rot.distance(rot.multiply(p, g), rot.multiply(q, g)), d, 2e-15)
    close(rot.distance(rot.conjugate(p), rot.conjugate(q)), d, 2e-15)
    close(rot.distance(-p, q), d, 2e-15)
    close(rot.distance(q, p), d, 2e-15)
    close(rot.distance(rot.matrix_from_quaternion(p), q), d, 2e-15)
    assert np.all(d <= rot.distance(p, g) + rot.distance(g, q) + 1e-15)


@pytest.mark.parametrize("region", ANGLES)
def test_slerp_goes_straight_with_constant_speed(region):
    rng = rng_of("slerp", region)
    p = random_quaternions(rng, 100)
    q = rot.multiply(p, quaternions_of_angle(rng, ANGLES[region], 100))
    same_rotation(rot.slerp(p, q, 0.0), p, 1e-15)
    same_rotation(rot.slerp(p, q, 1.0), q, 2e-15)
    for s in (0.1, 0.5, 0.75):
        r = rot.slerp(p, q, s)
        close(rot.distance(p, r), s * ANGLES[region], 2e-15)
        close(rot.distance(r, q), (1.0 - s) * ANGLES[region], 2e-15)
        same_rotation(rot.slerp(p, -q, s), r, 2e-15)
        same_rotation(rot.slerp(q, p, 1.0 - s), r, 2e-15)
        assert rot.slerp(p[0], q[0], [0.2, s]).shape == (2, 4)


# --- (c) SciPy ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair():
    """Quaternions and the same as SciPy rotations; some small, some near pi."""
    rng = rng_of("scipy")
    special = [quaternions_of_angle(rng, angle, 20) for angle in ANGLES.values()]
    p = np.concatenate([random_quaternions(rng, 300), *special])
    return p, Rotation.from_quat(p[:, [1, 2, 3, 0]])


def test_scipy_matrix(pair):
    p, r = pair
    close(rot.matrix_from_quaternion(p), r.as_matrix(), 2e-15)
    same_rotation(rot.quaternion_from_matrix(r.as_matrix()), p, 2e-15)


def test_scipy_rotation_vector(pair):
    p, r = pair
    generic = np.abs(p[:, 0]) > 1e-10
    close(rot.log(p)[generic], r.as_rotvec()[generic], 3e-15)
    v = rng_of("rotvec").normal(scale=5.0, size=(200, 3))
    same_rotation(rot.exp(v), np.roll(Rotation.from_rotvec(v).as_quat(), 1, axis=-1), 3e-15)
    close(rot.matrix_from_rotation_vector(v), Rotation.from_rotvec(v).as_matrix(), 5e-15)
    close(rot.rotation_vector_from_matrix(r.as_matrix())[generic], r.as_rotvec()[generic], 1e-8)


@pytest.mark.parametrize("sequence", INTRINSIC + EXTRINSIC)
def test_scipy_euler(sequence):
    p = random_quaternions(rng_of("euler", sequence), 500)
    ours, theirs = rot.euler_from_quaternion(p, sequence), rot.to_scipy(p).as_euler(sequence)
    # angles near the lock are ill conditioned: compare where they are not
    middle = theirs[:, 1]
    safe = np.abs(np.sin(middle) if sequence[0] == sequence[2] else np.cos(middle)) > 0.1
    assert np.sum(safe) > 400
    close(np.sin(0.5 * (ours - theirs))[safe], 0.0, 2e-14)
    angles = rng_of("angles", sequence).uniform(-4.0, 4.0, (200, 3))
    theirs = rot.from_scipy(Rotation.from_euler(sequence, angles))
    same_rotation(rot.quaternion_from_euler(angles, sequence), theirs, 2e-15)


@pytest.mark.parametrize("sequence", rot.SEQUENCES)
def test_names_of_sequences(sequence):
    angles = np.array([0.3, -0.8, 2.1])
    want = rot.quaternion_from_euler(angles, sequence)
    for name in ("-".join(sequence), sequence.translate(LETTERS)):
        np.testing.assert_array_equal(rot.quaternion_from_euler(angles, name), want)
    extrinsic = sequence[::-1].translate(LETTERS).lower()
    np.testing.assert_array_equal(rot.quaternion_from_euler(angles[::-1], extrinsic), want)


def test_scipy_product_and_action(pair):
    p, r = pair
    q = random_quaternions(rng_of("product"), len(p))
    x = rng_of("action").normal(size=(len(p), 3))
    same_rotation(rot.multiply(p, q), rot.from_scipy(r * rot.to_scipy(q)), 1e-15)
    same_rotation(rot.inverse(p), rot.from_scipy(r.inv()), 1e-15)
    close(rot.rotate(p, x), r.apply(x), 1e-14)
    close(rot.distance(p, q), (r.inv() * rot.to_scipy(q)).magnitude(), 1e-14)


def test_scipy_slerp():
    p, q = random_quaternions(rng_of("scipy slerp"), 2)
    s = np.linspace(0.0, 1.0, 21)
    theirs = Slerp([0.0, 1.0], rot.to_scipy(np.stack([p, q])))(s)
    same_rotation(rot.slerp(p, q, s), rot.from_scipy(theirs), 2e-15)


# --- (d) tangent maps ---------------------------------------------------------------------------------------

# name: (tangent map, its inverse, frame of the angular velocity)
TANGENTS = {
    "rotation-vector": (rot.rotation_vector_tangent, rot.rotation_vector_tangent_inverse, "space"),
    "tangential": (rot.tangential_tangent, rot.tangential_tangent_inverse, "space"),
    "euler": (rot.euler_tangent, rot.euler_tangent_inverse, "body"),
}
TANGENT_CASES = [("rotation-vector", ""), ("tangential", "")] + [
    ("euler", sequence) for sequence in [*rot.SEQUENCES, *EXTRINSIC]
]
MOTIONS = [(name, "313") for name in rot.PARAMETRIZATIONS if name != "euler"] + [
    ("euler", sequence) for sequence in [*rot.SEQUENCES, *EXTRINSIC]
]

GENTLE = 72  # points before those near pi and beyond, which are ill conditioned


def points_of(parametrization, sequence=""):
    """Where tangent maps are tested: at zero, close to it, anywhere, near pi (for vectors also beyond)."""
    rng = rng_of("points", parametrization, sequence)
    if parametrization == "euler":
        angles = rng.uniform(-3.0, 3.0, (40, 3))
        proper = sequence[0] == sequence[2]
        angles[:, 1] = rng.uniform(0.3, 2.8, 40) if proper else rng.uniform(-1.3, 1.3, 40)
        angles[0, ::2] = 0.0
        return angles
    angles = (0.0, 1e-12, 1e-7, 1e-3, 0.1, 1.3, 2.4, 2.6, 3.1, np.pi - 1e-3)
    p = np.concatenate([quaternions_of_angle(rng, angle, 8) for angle in angles])
    if parametrization == "rotation-vector":
        return np.concatenate([rot.log(p), rng.normal(scale=3.0, size=(30, 3))])
    if parametrization == "quaternion":
        return p * rng.uniform(0.5, 2.0, (len(p), 1))
    return rot.convert(p, "quaternion", parametrization)


def velocities_of(R, R_dot):
    return {"body": rot.vee(transpose(R) @ R_dot), "space": rot.vee(R_dot @ transpose(R))}


def scale_of(A, axes):
    return np.abs(A).max(axis=axes, keepdims=True)


@pytest.mark.parametrize(("name", "sequence"), TANGENT_CASES)
def test_tangent_map_is_the_derivative_of_the_matrix(name, sequence):
    tangent, inverse, frame = TANGENTS[name]
    extra = (sequence,) if sequence else ()
    x = points_of(name, sequence)
    R = matrix_of(name, x.astype(complex), sequence).real
    columns = [velocities_of(R, matrix_rate(name, x, e, sequence)) for e in np.eye(3)]
    want = np.stack([column[frame] for column in columns], axis=-1)
    got = tangent(x, *extra)
    assert np.all(np.abs(got - want) <= 1e-14 * scale_of(want, (-1, -2)))
    if name != "euler":  # the transpose serves the other frame
        body = np.stack([column["body"] for column in columns], axis=-1)
        assert np.all(np.abs(transpose(got) - body) <= 1e-14 * scale_of(want, (-1, -2)))
    product = inverse(x, *extra) @ want
    size = scale_of(inverse(x, *extra), (-1, -2)) * scale_of(want, (-1, -2))
    assert np.all(np.abs(product - np.eye(3)) <= 1e-14 * np.maximum(size, 1.0))


def test_euler_tangent_313_as_printed():
    """Lang 2010, (65) and (66)."""
    angles = points_of("euler", "313")
    s2, c2, s3, c3 = np.sin(angles[:, 1]), np.cos(angles[:, 1]), np.sin(angles[:, 2]), np.cos(angles[:, 2])
    zero, one = np.zeros_like(s2), np.ones_like(s2)
    W = np.stack([s3 * s2, c3, zero, c3 * s2, -s3, zero, c2, zero, one], axis=-1).reshape(-1, 3, 3)
    T = np.stack([s3 / s2, c3 / s2, zero, c3, -s3, zero, -c2 * s3 / s2, -c2 * c3 / s2, one], axis=-1)
    close(rot.euler_tangent(angles), W, 1e-15)
    close(rot.euler_tangent_inverse(angles), T.reshape(-1, 3, 3), 2e-14)


@pytest.mark.parametrize(("name", "sequence"), MOTIONS)
@pytest.mark.parametrize("frame", rot.FRAMES)
def test_rates_move_the_matrix(name, sequence, frame):
    x = points_of(name, sequence)
    w = rng_of("rates", name, frame).normal(size=(len(x), 3))
    x_dot = rot.rates(name, x, w, frame=frame, sequence=sequence)
    assert x_dot.shape == x.shape
    R = matrix_of(name, x.astype(complex), sequence).real
    moved = velocities_of(R, matrix_rate(name, x, x_dot, sequence))
    close(moved[frame], w, 1e-10)
    close(moved[frame][:GENTLE], w[:GENTLE], 2e-13)


@pytest.mark.parametrize(("name", "sequence"), MOTIONS)
@pytest.mark.parametrize("frame", rot.FRAMES)
def test_angular_velocity_inverts_rates(name, sequence, frame):
    x = points_of(name, sequence)
    rng = rng_of("velocity", name, frame)
    w = rng.normal(size=(len(x), 3))
    x_dot = rot.rates(name, x, w, frame=frame, sequence=sequence)
    got = rot.angular_velocity(name, x, x_dot, frame=frame, sequence=sequence)
    close(got, w, 1e-10)
    close(got[:GENTLE], w[:GENTLE], 2e-13)
    if x.shape[1:] == (3,):
        x_dot = rng.normal(size=x.shape)
        w = rot.angular_velocity(name, x, x_dot, frame=frame, sequence=sequence)
        back = rot.rates(name, x, w, frame=frame, sequence=sequence)
        close(back, x_dot, 1e-9)


@pytest.mark.parametrize(("name", "sequence"), MOTIONS)
def test_spatial_velocity_is_R_times_the_material_one(name, sequence):
    x = points_of(name, sequence)
    x_dot = rot.rates(name, x, rng_of("frames", name).normal(size=(len(x), 3)), sequence=sequence)
    Omega = rot.angular_velocity(name, x, x_dot, sequence=sequence)
    omega = rot.angular_velocity(name, x, x_dot, frame="space", sequence=sequence)
    R = rot.matrix_from_quaternion(rot.convert(x, name, "quaternion", sequence=sequence))
    close(omega, apply(R, Omega), 1e-10)
    close(omega[:GENTLE], apply(R, Omega)[:GENTLE], 2e-13)


def test_velocity_of_a_stretched_quaternion_ignores_stretching():
    rng = rng_of("stretch")
    p, w = 3.0 * random_quaternions(rng, 50), rng.normal(size=(50, 3))
    v = rot.rates("quaternion", p, w) + rng.normal(size=(50, 1)) * p
    close(rot.angular_velocity("quaternion", p, v), w, 1e-14)


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_rotation_vector_rate_is_refused_at_full_turns(turns):
    theta = 2.0 * np.pi * turns * np.array([0.6, 0.0, 0.8])
    with pytest.raises(ValueError, match=r"theta .* 2 pi k"):
        rot.rotation_vector_tangent_inverse(theta)
    assert np.all(np.isfinite(rot.rotation_vector_tangent_inverse(1.0001 * theta)))


@pytest.mark.parametrize("sequence", [*rot.SEQUENCES, *EXTRINSIC])
def test_euler_rates_are_refused_at_gimbal_lock(sequence):
    locks = (0.0, np.pi) if sequence[0] == sequence[2] else (-0.5 * np.pi, 0.5 * np.pi)
    for middle in locks:
        with pytest.raises(ValueError, match=rf"{sequence}.*gimbal lock.*use quaternions"):
            rot.euler_tangent_inverse([0.4, middle, -1.0], sequence)
        assert np.all(np.isfinite(rot.euler_tangent_inverse([0.4, middle + 1e-6, -1.0], sequence)))


def test_skew_and_vee():
    rng = rng_of("skew")
    v, w = rng.normal(size=(2, 50, 3))
    close(apply(rot.skew(v), w), np.cross(v, w), 1e-15)
    np.testing.assert_array_equal(rot.vee(rot.skew(v)), v)
    symmetric = rng.normal(size=(50, 3, 3))
    symmetric += transpose(symmetric)
    np.testing.assert_array_equal(rot.vee(symmetric), np.zeros((50, 3)))


# --- (e) Lang's identities ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unit():
    return random_quaternions(rng_of("unit"), 60)


@pytest.fixture(scope="module")
def stretched():
    """Quaternions of norm 0.5 to 2."""
    rng = rng_of("stretched")
    return random_quaternions(rng, 60) * rng.uniform(0.5, 2.0, (60, 1))


def director_mass():
    """M_d of (17) from the Euler tensor (18)."""
    E = 0.5 * np.sum(INERTIA) - INERTIA
    return np.diag(np.repeat(E, 3))


def quaternion_mass(p, I0=0.0):
    """M_p = 4 Q(p) I Q(p)' of (31)."""
    Q = rot.quaternion_matrix(p)
    return 4.0 * Q @ np.diag([I0, *INERTIA]) @ transpose(Q)


def directors(p):
    return rot.directors_from_matrix(rot.matrix_from_quaternion(p))


@pytest.mark.parametrize("frame", rot.FRAMES)
def test_director_nullspace_is_the_null_space(unit, frame):
    d = directors(unit)
    G, T = rot.director_constraint_gradient(d, frame), rot.director_nullspace(d, frame)
    assert G.shape == (60, 6, 9)
    assert T.shape == (60, 9, 3)
    close(G @ T, 0.0, 1e-15)
    assert np.all(np.linalg.matrix_rank(G) == 6)
    assert np.all(np.linalg.matrix_rank(T) == 3)
    assert np.linalg.cond(G).max() < 2.0


@pytest.mark.parametrize("frame", rot.FRAMES)
def test_constraint_gradient_is_the_derivative(frame):
    rng = rng_of("gradient", frame)
    d, v = rng.normal(size=(2, 30, 9))  # anywhere, not only on SO(3); g is quadratic: one difference is exact
    G = rot.director_constraint_gradient(d, frame)
    difference = 0.5 * (rot.director_constraint(d + v, frame) - rot.director_constraint(d - v, frame))
    close(apply(G, v), difference, 2e-14)


def test_director_constraint_as_printed():
    d = rng_of("constraint").normal(size=9)
    R = d.reshape(3, 3).T
    for frame, rows in (("body", R), ("space", R.T)):
        a, b, c = rows
        want = [(a @ a - 1) / 2, (b @ b - 1) / 2, (c @ c - 1) / 2, a @ b, c @ a, b @ c]
        close(rot.director_constraint(d, frame), want, 1e-14)
    close(rot.director_constraint(directors(random_quaternions(rng_of(1), 9))), 0.0, 1e-15)


@pytest.mark.parametrize("frame", rot.FRAMES)
def test_director_nullspace_gives_director_rates(unit, frame):
    w = rng_of("director rates").normal(size=(60, 3))
    R = rot.matrix_from_quaternion(unit)
    want = rot.directors_from_matrix(R @ rot.skew(w) if frame == "body" else rot.skew(w) @ R)
    close(apply(rot.director_nullspace(directors(unit), frame), w), want, 2e-15)


def test_reduced_director_mass_is_the_inertia(unit):
    """T_d' M_d T_d = diag(I), proof of Lemma 3.1; the spatial matrix gives R diag(I) R'."""
    T, T_space = (rot.director_nullspace(directors(unit), frame) for frame in rot.FRAMES)
    R = rot.matrix_from_quaternion(unit)
    want = np.broadcast_to(np.diag(INERTIA), (60, 3, 3))
    close(transpose(T) @ director_mass() @ T, want, 1e-13)
    spatial = transpose(T_space) @ director_mass() @ T_space
    close(spatial, R @ want @ transpose(R), 1e-13)


def test_reduced_quaternion_mass_is_the_inertia(unit):
    """T_p' M_p T_p = diag(I), proof of Lemma 4.2; I0 plays no role here."""
    T = rot.quaternion_nullspace(unit)
    want = np.broadcast_to(np.diag(INERTIA), (60, 3, 3))
    for I0 in (0.0, 51.0):
        close(transpose(T) @ quaternion_mass(unit, I0) @ T, want, 1e-13)


def test_quaternion_mass_eigenvectors(unit):
    """The columns of Q(p) are eigenvectors of M_p to 0, 4 I1, 4 I2, 4 I3."""
    Q = rot.quaternion_matrix(unit)
    want = Q * (4.0 * np.array([0.0, *INERTIA]))
    close(quaternion_mass(unit) @ Q, want, 5e-13)


@pytest.mark.parametrize("frame", rot.FRAMES)
def test_quaternion_nullspace(stretched, frame):
    """(41), (46): p' T_p = 0, rank 3, T_p W = p W/2 or w p/2; (43)."""
    T = rot.quaternion_nullspace(stretched, frame)
    close(stretched[:, None, :] @ T, 0.0, 1e-15)
    assert np.all(np.linalg.matrix_rank(T) == 3)
    rng = rng_of("null space", frame)
    w = np.concatenate([np.zeros((60, 1)), rng.normal(size=(60, 3))], axis=-1)
    half = 0.5 * (rot.multiply(stretched, w) if frame == "body" else rot.multiply(w, stretched))
    close(apply(T, w[:, 1:]), half, 2e-15)
    x, bar = rng.normal(size=(60, 4)), rot.conjugate(stretched)
    back = 0.5 * (rot.multiply(bar, x) if frame == "body" else rot.multiply(x, bar))[:, 1:]
    close(apply(transpose(T), x), back, 2e-15)


def test_quaternion_matrices(stretched):
    """(30), (Z 14): products from the left and from the right; Q Q' = |p|², det Q = |p|⁴; they commute."""
    q = rng_of("Q").normal(size=(60, 4))
    left, right = (rot.quaternion_matrix(stretched, side) for side in ("left", "right"))
    close(apply(left, q), rot.multiply(stretched, q), 2e-15)
    close(apply(right, q), rot.multiply(q, stretched), 2e-15)
    other = rot.quaternion_matrix(q)
    product = rot.quaternion_matrix(rot.multiply(stretched, q))
    close(product, left @ other, 5e-15)
    reverse = rot.quaternion_matrix(rot.multiply(q, stretched), "right")
    close(reverse, right @ rot.quaternion_matrix(q, "right"), 5e-15)
    close(right @ other, other @ right, 1e-14)
    squared = np.sum(stretched**2, axis=-1)
    for Q in (left, right):
        want = squared[:, None, None] * np.eye(4)
        close(Q @ transpose(Q), want, 2e-15)
        np.testing.assert_allclose(np.linalg.det(Q), squared**2, rtol=1e-14)
    bar = rot.conjugate(stretched)
    np.testing.assert_array_equal(rot.quaternion_matrix(bar), transpose(left))


def test_euler_map_is_homogeneous(stretched):
    """(47), (26): phi(s p) = s² phi(p), and on the unit sphere the directors."""
    for s in (-1.0, 0.5, 3.0):
        close(rot.euler_map(s * stretched), s**2 * rot.euler_map(stretched), 1e-13)
    squared = np.sum(stretched**2, axis=-1, keepdims=True)
    close(rot.euler_map(stretched), squared * directors(stretched), 5e-15)
    w, v = stretched[:, :1, None], stretched[:, 1:]
    printed = (2.0 * w**2 - squared[..., None]) * np.eye(3) + 2.0 * v[:, :, None] * v[:, None, :]
    printed += 2.0 * w * skew(v)
    close(rot.matrix_from_directors(rot.euler_map(stretched)), printed, 5e-15)


def test_euler_differential_is_the_derivative(stretched):
    """(48); phi is quadratic: the central difference is exact for any step."""
    v = rng_of("Dphi").normal(size=(60, 4))
    difference = 0.5 * (rot.euler_map(stretched + v) - rot.euler_map(stretched - v))
    close(apply(rot.euler_differential(stretched), v), difference, 2e-14)


def test_euler_differential_pseudoinverse(stretched):
    """Lemma 5.1 against LAPACK, and Dphi^nat Dphi = 1."""
    D, D_nat = rot.euler_differential(stretched), rot.euler_differential_pinv(stretched)
    close(D_nat, np.linalg.pinv(D), 2e-15)
    close(D_nat @ D, np.broadcast_to(np.eye(4), (60, 4, 4)), 2e-15)
    close(D @ D_nat, transpose(D @ D_nat), 1e-15)


def test_euler_differential_gram_matrix(stretched):
    """(56): Dphi' Dphi = 4 (2 |p|² + p p')."""
    D = rot.euler_differential(stretched)
    squared = np.sum(stretched**2, axis=-1)[:, None, None]
    want = 4.0 * (2.0 * squared * np.eye(4) + stretched[:, :, None] * stretched[:, None, :])
    close(transpose(D) @ D, want, 5e-14)


@pytest.mark.parametrize("frame", rot.FRAMES)
def test_tangents_are_mapped_to_tangents(stretched, frame):
    """(53), and remark 5.2 for the spatial matrices: Dphi T_p = T_d, T_p = Dphi^nat T_d; also (51), (52)."""
    T_p = rot.quaternion_nullspace(stretched, frame)
    T_d = rot.director_nullspace(rot.euler_map(stretched), frame)
    close(rot.euler_differential(stretched) @ T_p, T_d, 1e-14)
    close(rot.euler_differential_pinv(stretched) @ T_d, T_p, 2e-15)


def test_zeroth_moment_of_inertia(stretched):
    """Remark 5.3: Dphi' M_d Dphi = M_p with I0 half the trace of the inertia, and with no other I0."""
    D = rot.euler_differential(stretched)
    reduced = transpose(D) @ director_mass() @ D
    half_trace = 0.5 * np.sum(INERTIA)
    close(reduced, quaternion_mass(stretched, half_trace), 2e-12)
    assert np.abs(reduced - quaternion_mass(stretched, 0.0)).max() > 10.0


def test_pulled_back_constraint(stretched):
    """(49) and the gradient below (51): only |p| = 1 is left of six constraints."""
    squared = np.sum(stretched**2, axis=-1, keepdims=True)
    ones = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    d = rot.euler_map(stretched)
    close(rot.director_constraint(d), 0.5 * (squared**2 - 1.0) * ones, 2e-14)
    gradient = rot.director_constraint_gradient(d) @ rot.euler_differential(stretched)
    want = 2.0 * squared[..., None] * ones[:, None] * stretched[:, None, :]
    close(gradient, want, 1e-13)


# --- (f) projections ----------------------------------------------------------------------------------------


def drifted(defect, n=8):
    """Rotations by less than 2.8, and the same with a defect of that size in every entry."""
    rng = rng_of("drift")
    R = rot.matrix_from_quaternion(quaternions_of_angle(rng, rng.uniform(0.1, 2.8, n), n))
    return R, R + defect * rng.uniform(-1.0, 1.0, (n, 3, 3))


def frobenius(A):
    return np.linalg.norm(A, axis=(-2, -1))


def is_rotation(R, tolerance=1e-14):
    close(transpose(R) @ R, np.broadcast_to(np.eye(3), R.shape), tolerance)
    close(np.linalg.det(R), 1.0, tolerance)


@pytest.mark.parametrize("method", rot.PROJECTIONS)
@pytest.mark.parametrize("defect", [1e-12, 1e-6, 1e-3, 0.1])
def test_projection_is_a_nearby_rotation(method, defect):
    R, A = drifted(defect)
    projected = rot.project(A, method)
    is_rotation(projected)
    assert frobenius(projected - R).max() < 10.0 * defect
    close(rot.project(projected, method), projected, 2e-14)


@pytest.mark.parametrize("method", rot.PROJECTIONS)
def test_projection_reproduces_rotations(method):
    R, _ = drifted(0.0)
    close(rot.project(R, method), R, 2e-14)
    close(rot.project(np.eye(3), method), np.eye(3), 1e-15)


@pytest.mark.parametrize("method", [m for m in rot.PROJECTIONS if m != "logarithm"])
def test_projection_reproduces_half_turns(method):
    R = rot.matrix_from_quaternion(quaternions_of_angle(rng_of("half turns"), np.pi, 30))
    close(rot.project(R, method), R, 3e-15)


def test_logarithm_is_refused_at_half_turns():
    with pytest.raises(ValueError, match=r"turns by pi.*polar"):
        rot.project(np.diag([-1.0, -1.0, 1.0]), "logarithm")


@pytest.mark.parametrize("defect", [1e-3, 0.1, 0.3])
def test_polar_is_the_nearest_rotation(defect):
    _, A = drifted(defect)
    rng = rng_of("nearest")
    nearest = rot.project(A)
    least = frobenius(nearest - A)
    for method in rot.PROJECTIONS:
        assert np.all(frobenius(rot.project(A, method) - A) >= least * (1.0 - 1e-14))
    for size in (1e-4, 1e-2, 1.0):
        turn = rot.matrix_from_rotation_vector(size * rng.normal(size=(200, len(A), 3)))
        assert np.all(frobenius(turn @ nearest - A) > least)


def test_polar_is_the_only_stationary_projection():
    """The optimality condition: R' A is symmetric for the polar factor, and for no other method."""
    _, A = drifted(0.1)
    for method in rot.PROJECTIONS:
        torque = np.abs(rot.vee(transpose(rot.project(A, method)) @ A)).max()
        assert torque < 1e-14 if method == "polar" else torque > 1e-4


def test_polar_does_not_prefer_a_direction():
    _, A = drifted(0.1)
    B, C = (rot.matrix_from_quaternion(random_quaternions(rng_of(name), len(A))) for name in "BC")
    close(rot.project(B @ A @ C), B @ rot.project(A) @ C, 5e-15)


def test_a_rotation_has_drift_alone():
    R, _ = drifted(0.0)
    turns = rng_of("drift alone").normal(size=(len(R), 3))
    errors = rot.drift_skew_scale(R, R @ rot.matrix_from_rotation_vector(turns))
    close(errors[..., 0, :], turns, 1e-14)
    close(errors[..., 1:, :], np.zeros((len(R), 2, 3)), 3e-15)
    other = rot.matrix_from_quaternion(random_quaternions(rng_of("other"), len(R)))
    close(np.linalg.norm(rot.drift_skew_scale(R, other)[..., 0, :], axis=-1), rot.distance(R, other), 1e-13)


def test_drift_skew_and_scale_make_the_matrix():
    R, A = drifted(0.2)
    drift, skew, scale = np.moveaxis(rot.drift_skew_scale(R, A), -2, 0)
    S = np.zeros((len(R), 3, 3))
    for k, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
        S[:, i, j] = S[:, j, i] = skew[:, k]
        S[:, k, k] = scale[:, k]
    close(R @ rot.matrix_from_rotation_vector(drift) @ (np.eye(3) + S), A, 1e-14)
    # Stretched along the body's axes, and sheared by a small angle.
    close(
        rot.drift_skew_scale(R, R * (1.1, 0.9, 1.0))[..., 2, :], np.broadcast_to((0.1, -0.1, 0.0), (len(R), 3)), 1e-14
    )


def test_drift_skew_and_scale_are_mortensens_to_first_order():
    gaps = []
    for defect in (1e-3, 1e-4):
        R, A = drifted(defect)
        E = transpose(R) @ A - np.eye(3)
        symmetric = 0.5 * (E + transpose(E))
        linear = np.stack(
            [rot.vee(E - symmetric), symmetric[:, (1, 2, 0), (2, 0, 1)], symmetric[:, (0, 1, 2), (0, 1, 2)]], axis=-2
        )
        gaps.append(np.abs(rot.drift_skew_scale(R, A) - linear).max())
    assert np.log10(gaps[0] / gaps[1]) == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize(("method", "order"), [("spurrier", 1), ("gram-schmidt", 1), ("logarithm", 2)])
def test_order_of_the_distance_to_the_nearest_rotation(method, order):
    """Spurrier and Gram-Schmidt differ from the polar factor at first order of the defect, Lemma 6.2 errs."""
    defects = 10.0 ** np.arange(-5.0, -1.0)
    gaps = [frobenius(rot.project(A, method) - rot.project(A)).mean() for _, A in map(drifted, defects)]
    slope = np.polyfit(np.log(defects), np.log(gaps), 1)[0]
    assert slope == pytest.approx(order, abs=0.05)
    assert gaps[0] > 0.05 * defects[0] ** order


def test_gram_schmidt_depends_on_the_order_of_columns():
    _, A = drifted(0.05)
    cyclic = [1, 2, 0]
    gaps = {
        method: frobenius(rot.project(A[..., cyclic], method) - rot.project(A, method)[..., cyclic]).mean()
        for method in rot.PROJECTIONS
    }
    assert gaps["gram-schmidt"] > 0.01
    assert gaps["polar"] < 1e-14
    first = A[..., 0] / np.linalg.norm(A[..., 0], axis=-1, keepdims=True)
    close(rot.project(A, "gram-schmidt")[..., 0], first, 1e-15)


def test_velocity_projection_is_orthogonal(unit):
    """Lemma 6.2 (V): Dphi (1 - p p') Dphi^nat projects orthogonally onto the tangent space."""
    D, D_nat = rot.euler_differential(unit), rot.euler_differential_pinv(unit)
    P = D @ (np.eye(4) - unit[:, :, None] * unit[:, None, :]) @ D_nat
    d = directors(unit)
    T, G = rot.director_nullspace(d), rot.director_constraint_gradient(d)
    close(P @ P, P, 2e-15)
    close(transpose(P), P, 1e-15)
    close(P @ T, T, 2e-15)
    close(P @ transpose(G), 0.0, 3e-15)
    np.testing.assert_allclose(np.trace(P, axis1=-2, axis2=-1), 3.0, rtol=1e-14)


# --- (g) SciPy in and out -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (7,)])
def test_to_scipy_and_back(shape):
    p = random_quaternions(rng_of("in and out"), *shape)
    r = rot.to_scipy(p)
    assert isinstance(r, Rotation)
    assert r.single == (shape == ())
    close(r.as_matrix(), rot.matrix_from_quaternion(p), 1e-15)
    same_rotation(rot.from_scipy(r), p, 3e-16)
    same_rotation(rot.from_scipy(rot.to_scipy(5.0 * p)), p, 3e-16)
    same_rotation(rot.as_quaternion(r), p, 3e-16)


def test_arguments_may_be_rotations_of_any_kind():
    p, q = random_quaternions(rng_of("any kind"), 2, 5)
    want = rot.distance(p, q)
    for a in (p, 2.0 * p, p.tolist(), rot.matrix_from_quaternion(p), rot.to_scipy(p)):
        same_rotation(rot.as_quaternion(a), p, 2e-15)
        close(rot.distance(a, q), want, 2e-15)
        close(rot.distance(q, a), want, 2e-15)


# --- (h) broadcasting ---------------------------------------------------------------------------------------

REGISTRIES = {"FRAMES", "PARAMETRIZATIONS", "PROJECTIONS", "SEQUENCES"}
NO_ARRAY_FUNCTION = REGISTRIES | {"removable", "from_scipy", "to_scipy"}
QUATERNION, VECTOR, MATRIX_SHAPE, DIRECTORS, NUMBER = (4,), (3,), (3, 3), (9,), ()
# name: (shapes of the arguments, shape of the result); a leading string is passed on as it is
ARRAY_FUNCTIONS = {
    "angular_velocity": (["quaternion", QUATERNION, QUATERNION], VECTOR),
    "as_quaternion": ([QUATERNION], QUATERNION),
    "conjugate": ([QUATERNION], QUATERNION),
    "convert": ([QUATERNION, "quaternion", "matrix"], MATRIX_SHAPE),
    "director_constraint": ([DIRECTORS], (6,)),
    "director_constraint_gradient": ([DIRECTORS], (6, 9)),
    "director_nullspace": ([DIRECTORS], (9, 3)),
    "directors_from_matrix": ([MATRIX_SHAPE], DIRECTORS),
    "distance": ([QUATERNION, QUATERNION], NUMBER),
    "drift_skew_scale": ([MATRIX_SHAPE, MATRIX_SHAPE], MATRIX_SHAPE),
    "euler_differential": ([QUATERNION], (9, 4)),
    "euler_differential_pinv": ([QUATERNION], (4, 9)),
    "euler_from_quaternion": ([QUATERNION], VECTOR),
    "euler_map": ([QUATERNION], DIRECTORS),
    "euler_tangent": ([VECTOR], MATRIX_SHAPE),
    "euler_tangent_inverse": ([VECTOR], MATRIX_SHAPE),
    "exp": ([VECTOR], QUATERNION),
    "inverse": ([QUATERNION], QUATERNION),
    "log": ([QUATERNION], VECTOR),
    "matrix_from_directors": ([DIRECTORS], MATRIX_SHAPE),
    "matrix_from_quaternion": ([QUATERNION], MATRIX_SHAPE),
    "matrix_from_rotation_vector": ([VECTOR], MATRIX_SHAPE),
    "multiply": ([QUATERNION, QUATERNION], QUATERNION),
    "normalize": ([QUATERNION], QUATERNION),
    "project": ([MATRIX_SHAPE], MATRIX_SHAPE),
    "quaternion_from_euler": ([VECTOR], QUATERNION),
    "quaternion_from_matrix": ([MATRIX_SHAPE], QUATERNION),
    "quaternion_from_rotation_vector": ([VECTOR], QUATERNION),
    "quaternion_from_tangential": ([VECTOR], QUATERNION),
    "quaternion_matrix": ([QUATERNION], (4, 4)),
    "quaternion_nullspace": ([QUATERNION], (4, 3)),
    "rates": (["quaternion", QUATERNION, VECTOR], QUATERNION),
    "rotate": ([QUATERNION, VECTOR], VECTOR),
    "rotation_vector_from_matrix": ([MATRIX_SHAPE], VECTOR),
    "rotation_vector_from_quaternion": ([QUATERNION], VECTOR),
    "rotation_vector_tangent": ([VECTOR], MATRIX_SHAPE),
    "rotation_vector_tangent_inverse": ([VECTOR], MATRIX_SHAPE),
    "skew": ([VECTOR], MATRIX_SHAPE),
    "slerp": ([QUATERNION, QUATERNION, NUMBER], QUATERNION),
    "tangential_from_quaternion": ([QUATERNION], VECTOR),
    "tangential_tangent": ([VECTOR], MATRIX_SHAPE),
    "tangential_tangent_inverse": ([VECTOR], MATRIX_SHAPE),
    "vee": ([MATRIX_SHAPE], VECTOR),
}


def argument(rng, shape, leading):
    """A random argument; a pair of square axes means a rotation matrix, a string stays."""
    if isinstance(shape, str):
        return shape
    if shape == MATRIX_SHAPE:
        return rot.matrix_from_quaternion(random_quaternions(rng, *leading))
    return rng.uniform(0.2, 0.9, (*leading, *shape))


def test_every_public_function_is_in_the_table():
    assert set(ARRAY_FUNCTIONS) == set(rot.__all__) - NO_ARRAY_FUNCTION


@pytest.mark.spread
@pytest.mark.parametrize("name", ARRAY_FUNCTIONS)
@pytest.mark.parametrize("leading", [(), (5,), (2, 3), (0,)], ids=str)
def test_leading_axes(name, leading):
    f, (shapes, result) = getattr(rot, name), ARRAY_FUNCTIONS[name]
    arguments = [argument(rng_of(name), shape, leading) for shape in shapes]
    got = f(*arguments)
    assert got.shape == (*leading, *result)
    assert got.dtype == np.float64
    for index in np.ndindex(*leading):
        single = f(*(a if isinstance(a, str) else a[index] for a in arguments))
        close(got[index], single, 2e-15)


SEVERAL_ARRAYS = [name for name, (shapes, _) in ARRAY_FUNCTIONS.items() if len(shapes) > 1 and name != "convert"]


@pytest.mark.parametrize("name", SEVERAL_ARRAYS)
def test_arguments_broadcast_against_each_other(name):
    f, (shapes, result) = getattr(rot, name), ARRAY_FUNCTIONS[name]
    rng = rng_of("mixed", name)
    arrays = [i for i, shape in enumerate(shapes) if not isinstance(shape, str)]
    for alone in arrays:
        arguments = [argument(rng, shape, () if i == alone else (2, 3)) for i, shape in enumerate(shapes)]
        got = f(*arguments)
        assert got.shape == (2, 3, *result)
        one = [a if isinstance(a, str) or i == alone else a[1, 2] for i, a in enumerate(arguments)]
        close(got[1, 2], f(*one), 2e-15)


@pytest.mark.parametrize("name", ARRAY_FUNCTIONS)
def test_lists_are_welcome_and_arguments_stay_untouched(name):
    f, (shapes, _) = getattr(rot, name), ARRAY_FUNCTIONS[name]
    arguments = [argument(rng_of("lists", name), shape, (3,)) for shape in shapes]
    copies = [a if isinstance(a, str) else a.copy() for a in arguments]
    want = f(*arguments)
    for a, copy in zip(arguments, copies, strict=True):
        if not isinstance(a, str):
            np.testing.assert_array_equal(a, copy)
    np.testing.assert_array_equal(f(*(a if isinstance(a, str) else a.tolist() for a in arguments)), want)


@pytest.mark.parametrize("name", rot.PARAMETRIZATIONS)
@pytest.mark.parametrize("leading", [(), (5,), (2, 3)], ids=str)
def test_rates_of_every_parametrization_broadcast(name, leading):
    rng = rng_of("rates", name)
    p, w = random_quaternions(rng, *leading), rng.normal(size=(*leading, 3))
    x = rot.convert(p, "quaternion", name)
    for frame in rot.FRAMES:
        x_dot = rot.rates(name, x, w, frame=frame)
        assert x_dot.shape == x.shape
        assert rot.angular_velocity(name, x, x_dot, frame=frame).shape == w.shape
