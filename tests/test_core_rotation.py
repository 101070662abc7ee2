"""rotation.hpp and removable.hpp against NumPy, their dual numbers against differences, both instruction sets."""

import itertools

import numpy as np
import pytest

from gyrod import _core, _cpu
from gyrod import rotations as rot
from gyrod.rotations import removable
from gyrod.rotations.conversions import spurrier_klumpp

FUNCTIONS = dict(_core.rotation_functions())
CORES = ["baseline", "v3"]


def rng_of(*key):
    return np.random.default_rng([ord(c) for c in "/".join(map(str, key))])


def core(isa):
    """The compiled module of that instruction set, if it is installed and this machine runs it."""
    if isa == "v3" and not _cpu.has_v3:
        pytest.skip("this processor does not run x86-64-v3 code")
    return pytest.importorskip(f"gyrod._core_{isa}")


# --- input: what each function is defined on ----------------------------------------------------------------

ANGLES = (0.0, 1e-12, 1e-8, 1e-4, 0.03, 0.7, 1.3, 1.99, 2.01, 2.49, 2.51, 3.0, np.pi - 1e-6, np.pi - 1e-12)


def unit_quaternions(rng):
    """Small angles, angles on both sides of the switches, near pi, and uniformly distributed ones."""
    axes = rng.normal(size=(len(ANGLES), 10, 3))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    half = 0.5 * np.array(ANGLES)[:, None, None] * np.ones((1, 10, 1))
    special = np.concatenate([np.cos(half), np.sin(half) * axes], axis=-1).reshape(-1, 4)
    return np.concatenate([special, rot.normalize(rng.normal(size=(200, 4)))])


def any_quaternions(rng):
    p = unit_quaternions(rng)
    return p * rng.uniform(0.3, 3.0, (len(p), 1))


def rotation_vectors(rng):
    return np.concatenate([rot.log(unit_quaternions(rng)), rng.uniform(-3.5, 3.5, (200, 3))])


def vectors(rng):
    return rng.normal(size=(300, 3)) * 10.0 ** rng.uniform(-8.0, 1.0, (300, 1))


def matrices(rng):
    """Rotations and matrices close to them, row by row."""
    R = rot.matrix_from_quaternion(unit_quaternions(rng))
    return np.concatenate([R, R + rng.uniform(-0.05, 0.05, R.shape)]).reshape(-1, 9)


def directors(rng):
    return np.concatenate([rot.euler_map(unit_quaternions(rng)), rng.normal(size=(200, 9))])


def euler_angles(rng):
    angles = rng.uniform(-3.0, 3.0, (300, 3))
    angles[:, 1] = rng.uniform(0.05, 3.09, 300) * rng.choice([-1.0, 1.0], 300)
    return angles


def squared_angles(rng):
    return np.concatenate([np.square(ANGLES), rng.uniform(0.0, np.pi, 300) ** 2])[:, None]


def two_quaternions(rng):
    return np.concatenate([any_quaternions(rng), any_quaternions(rng)], axis=-1)


def quaternion_and_vector(rng):
    p = unit_quaternions(rng)
    return np.concatenate([p, rng.normal(size=(len(p), 3))], axis=-1)


def of_angle(f):
    return lambda x: f(np.sqrt(x))


# name: (the same in NumPy, input); the C++ matrix of a quaternion is stretched by |p|², as the Euler map is.
TWINS = {
    "conjugate": (rot.conjugate, any_quaternions),
    "cos_sq": (of_angle(np.cos), squared_angles),
    "cosc_sq": (of_angle(removable.cosc), squared_angles),
    "cotc_sq": (of_angle(removable.cotc), squared_angles),
    "director_nullspace": (rot.director_nullspace, directors),
    "director_nullspace_space": (lambda d: rot.director_nullspace(d, "space"), directors),
    "dsinc_sq": (of_angle(removable.dsinc), squared_angles),
    "euler_differential": (rot.euler_differential, any_quaternions),
    "euler_differential_pinv": (rot.euler_differential_pinv, any_quaternions),
    "euler_map": (rot.euler_map, any_quaternions),
    "euler_tangent_inverse": (lambda a: rot.euler_tangent_inverse(a, "313"), euler_angles),
    "exp_quaternion": (rot.exp, rotation_vectors),
    "log_quaternion": (rot.log, unit_quaternions),
    "matrix_from_quaternion": (lambda p: rot.matrix_from_directors(rot.euler_map(p)), any_quaternions),
    "multiply": (lambda x: rot.multiply(x[:, :4], x[:, 4:]), two_quaternions),
    "normalize": (rot.normalize, any_quaternions),
    "quaternion_matrix": (rot.quaternion_matrix, any_quaternions),
    "quaternion_matrix_right": (lambda p: rot.quaternion_matrix(p, "right"), any_quaternions),
    "quaternion_nullspace": (rot.quaternion_nullspace, any_quaternions),
    "quaternion_nullspace_space": (lambda p: rot.quaternion_nullspace(p, "space"), any_quaternions),
    "rotate": (lambda x: rot.rotate(x[:, :4], x[:, 4:]), quaternion_and_vector),
    "rotation_vector_tangent": (rot.rotation_vector_tangent, rotation_vectors),
    "rotation_vector_tangent_inverse": (rot.rotation_vector_tangent_inverse, rotation_vectors),
    "sinc3_sq": (of_angle(removable.sinc3), squared_angles),
    "sinc_sq": (of_angle(removable.sinc), squared_angles),
    "skew": (rot.skew, vectors),
    "spurrier_klumpp": (lambda x: spurrier_klumpp(x.reshape(-1, 3, 3)), matrices),
    "tangential_tangent": (rot.tangential_tangent, vectors),
    "tangential_tangent_inverse": (rot.tangential_tangent_inverse, vectors),
}


def twin(name, x):
    return np.asarray(TWINS[name][0](x)).reshape(len(x), -1)


def points(name):
    return np.ascontiguousarray(TWINS[name][1](rng_of("points", name)))


def near(got, want, tolerance):
    """Relative to the largest entry of each row; for numbers to the largest of all."""
    axis = -1 if want.shape[-1] > 1 else None
    scale = np.abs(want).max(axis=axis, keepdims=True)
    excess = np.abs(got - want) / np.where(scale == 0.0, 1.0, scale)
    assert np.all(np.isfinite(got))
    assert excess.max() <= tolerance, f"{excess.max():.2g} in row {int(np.argmax(excess.max(axis=-1)))}"


def test_every_function_has_a_twin():
    assert set(TWINS) == set(FUNCTIONS)


@pytest.mark.parametrize("isa", CORES)
def test_both_builds_offer_the_same(isa):
    assert dict(core(isa).rotation_functions()) == FUNCTIONS
    assert core(isa).isa() == {"baseline": "baseline", "v3": "x86-64-v3"}[isa]


@pytest.mark.parametrize("isa", CORES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_agrees_with_numpy(name, isa):
    x = points(name)
    assert x.shape[1] == FUNCTIONS[name]
    got, want = core(isa).rotation(name, x), twin(name, x)
    assert got.shape == want.shape
    near(got, want, 1e-14)


# --- derivatives by dual numbers ----------------------------------------------------------------------------


def richardson(f, x, v, h=0.02):
    """Derivative of f at x along v: central differences, extrapolated three times (error of order h⁸)."""
    table = [(f(x + s * v) - f(x - s * v)) / (2.0 * s) for s in h * 0.5 ** np.arange(4)]
    for order in (4.0, 16.0, 64.0):
        table = [(order * b - a) / (order - 1.0) for a, b in itertools.pairwise(table)]
    return table[0]


def smooth_points(name):
    """Points whose neighbourhood of 0.02 is free of kinks: no change of sign or of branch."""
    x = points(name)
    if name == "log_quaternion":
        return x[np.abs(x[:, 0]) > 0.1]
    if name == "spurrier_klumpp":
        trace = x[:, 0] + x[:, 4] + x[:, 8]
        candidates = np.sort(np.column_stack([trace, x[:, 0], x[:, 4], x[:, 8]]), axis=-1)
        scalar = np.abs(spurrier_klumpp(x.reshape(-1, 3, 3))[:, 0])
        return x[(candidates[:, -1] - candidates[:, -2] > 0.2) & (scalar > 0.1)]
    if name == "euler_tangent_inverse":
        return x[np.abs(np.sin(x[:, 1])) > 0.5]
    if name == "normalize" or name == "euler_differential_pinv":
        return x[np.linalg.norm(x, axis=-1) > 0.6]
    if name == "rotation_vector_tangent_inverse":
        return x[np.linalg.norm(x, axis=-1) < 4.0]
    if name.endswith("_sq"):
        return x[(x[:, 0] > 0.1) & (x[:, 0] < 9.8)]
    return x


def unit_directions(name, x):
    v = rng_of("directions", name).normal(size=x.shape)
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_dual_numbers_differentiate(name):
    x = np.ascontiguousarray(smooth_points(name))
    assert len(x) > 50
    v = unit_directions(name, x)
    got = _core.rotation_derivative(name, x, v)
    want = richardson(lambda y: _core.rotation(name, np.ascontiguousarray(y)), x, v)
    near(got, want, 1e-9)


ZERO_ANGLE = {  # the point of angle zero, where a naive derivative is 0/0
    4: np.array([1.0, 0.0, 0.0, 0.0]),
    3: np.zeros(3),
    1: np.zeros(1),
    7: np.array([1.0, 0.0, 0.0, 0.0, 0.4, -0.3, 1.2]),
    8: np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
    9: np.eye(3).ravel(),
}


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "euler_tangent_inverse"])
@pytest.mark.parametrize("angle", [0.0, 1e-9])
def test_dual_numbers_differentiate_at_zero_angle(name, angle):
    x = np.tile(ZERO_ANGLE[FUNCTIONS[name]], (20, 1))
    v = unit_directions(name, x)
    x = x + angle * unit_directions("offset", x)
    got = _core.rotation_derivative(name, x, v)
    want = richardson(lambda y: _core.rotation(name, np.ascontiguousarray(y)), x, v)
    near(got, want, 1e-9)


def test_known_derivatives_at_zero():
    """d exp = v/2, d log = 2 v, d T = E(v)/2, d T⁻¹ = -E(v)/2; cos, sinc, ... in x = t²: -1/2, -1/6, ..."""
    v = rng_of("known").normal(size=(5, 3))
    zero, one = np.zeros((5, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (5, 1))
    padded = np.concatenate([np.zeros((5, 1)), v], axis=-1)
    half = 0.5 * rot.skew(v).reshape(5, 9)
    derivative = _core.rotation_derivative
    np.testing.assert_allclose(derivative("exp_quaternion", zero, v), 0.5 * padded, rtol=0.0, atol=1e-16)
    np.testing.assert_allclose(derivative("log_quaternion", one, padded), 2.0 * v, rtol=1e-15)
    np.testing.assert_allclose(derivative("rotation_vector_tangent", zero, v), half, rtol=0.0, atol=1e-16)
    np.testing.assert_allclose(derivative("rotation_vector_tangent_inverse", zero, v), -half, rtol=0.0, atol=1e-16)
    series = {"cos": -1 / 2, "sinc": -1 / 6, "cosc": -1 / 24, "sinc3": -1 / 120, "dsinc": 1 / 30, "cotc": 1 / 720}
    for name, want in series.items():
        got = derivative(f"{name}_sq", np.zeros((1, 1)), np.ones((1, 1)))
        np.testing.assert_allclose(got, want, rtol=1e-15)


def test_derivative_of_the_logarithm_on_both_sides_of_its_series():
    """The logarithm changes from a series to atan2 at tan²(angle/2) = 1e-3; exp and log stay inverse in duals."""
    half = np.arctan(np.sqrt(1e-3)) * np.array([0.99, 0.999999, 1.000001, 1.01])
    v = np.array([2.0, -1.0, 2.0]) / 3.0 * 2.0 * half[:, None]
    direction = rng_of("switch").normal(size=v.shape)
    p, p_dot = _core.rotation("exp_quaternion", v), _core.rotation_derivative("exp_quaternion", v, direction)
    np.testing.assert_allclose(_core.rotation("log_quaternion", p), v, rtol=1e-14)
    np.testing.assert_allclose(_core.rotation_derivative("log_quaternion", p, p_dot), direction, rtol=1e-13)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivative_is_linear_in_the_direction(name):
    x = np.ascontiguousarray(smooth_points(name)[:50])
    v, w = unit_directions(name, x), unit_directions(name + "2", x)
    together = _core.rotation_derivative(name, x, 2.0 * v - 3.0 * w)
    apart = 2.0 * _core.rotation_derivative(name, x, v) - 3.0 * _core.rotation_derivative(name, x, w)
    near(together, apart, 1e-13)
    assert np.all(_core.rotation_derivative(name, x, np.zeros_like(x)) == 0.0)


# --- instruction sets, and what is refused ------------------------------------------------------------------


@pytest.mark.parametrize("name", FUNCTIONS)
def test_instruction_sets_agree(name):
    fast, plain, x = core("v3"), core("baseline"), points(name)
    near(fast.rotation(name, x), plain.rotation(name, x), 5e-15)
    y = np.ascontiguousarray(smooth_points(name))
    v = unit_directions(name, y)
    near(fast.rotation_derivative(name, y, v), plain.rotation_derivative(name, y, v), 1e-13)


@pytest.mark.parametrize("isa", CORES)
def test_wrong_calls_are_refused(isa):
    module, x = core(isa), np.ones((2, 4))
    with pytest.raises(ValueError, match="no rotation function nonsense"):
        module.rotation("nonsense", x)
    with pytest.raises(ValueError, match="skew: wrong number of columns"):
        module.rotation("skew", x)
    with pytest.raises(ValueError, match="direction must have the shape of x"):
        module.rotation_derivative("conjugate", x, np.ones((3, 4)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_rows(name):
    assert len(_core.rotation(name, np.empty((0, FUNCTIONS[name])))) == 0
