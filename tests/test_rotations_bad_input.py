"""Wrong arguments of gyrod.rotations: one sentence with the argument's name, no other exception, no NaN."""

import inspect
import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gyrod import rotations as rot

P, Q = np.array([0.5, -0.1, 0.7, 0.5]), np.array([0.9, 0.1, -0.2, 0.3])
V = np.array([0.3, 1.1, -0.4])
R = rot.matrix_from_quaternion(P)
D = rot.directors_from_matrix(R)

# Every public function with a valid call.
VALID = {
    "angular_velocity": {"parametrization": "quaternion", "x": P, "x_dot": Q},
    "as_quaternion": {"rotation": P},
    "conjugate": {"p": P},
    "convert": {"x": P, "source": "quaternion", "target": "matrix"},
    "director_constraint": {"d": D},
    "director_constraint_gradient": {"d": D},
    "director_nullspace": {"d": D},
    "directors_from_matrix": {"R": R},
    "distance": {"a": P, "b": Q},
    "drift_skew_scale": {"exact": R, "approximate": R},
    "euler_differential": {"p": P},
    "euler_differential_pinv": {"p": P},
    "euler_from_quaternion": {"p": P},
    "euler_map": {"p": P},
    "euler_tangent": {"angles": V},
    "euler_tangent_inverse": {"angles": V},
    "exp": {"rotation_vector": V},
    "inverse": {"p": P},
    "log": {"p": P},
    "matrix_from_directors": {"d": D},
    "matrix_from_quaternion": {"p": P},
    "matrix_from_rotation_vector": {"rotation_vector": V},
    "multiply": {"p": P, "q": Q},
    "normalize": {"p": P},
    "project": {"R": R},
    "quaternion_from_euler": {"angles": V},
    "quaternion_from_matrix": {"R": R},
    "quaternion_from_rotation_vector": {"rotation_vector": V},
    "quaternion_from_tangential": {"psi": V},
    "quaternion_matrix": {"p": P},
    "quaternion_nullspace": {"p": P},
    "rates": {"parametrization": "quaternion", "x": P, "velocity": V},
    "rotate": {"p": P, "x": V},
    "rotation_vector_from_matrix": {"R": R},
    "rotation_vector_from_quaternion": {"p": P},
    "rotation_vector_tangent": {"theta": V},
    "rotation_vector_tangent_inverse": {"theta": V},
    "skew": {"v": V},
    "slerp": {"p": P, "q": Q, "s": 0.25},
    "tangential_from_quaternion": {"p": P},
    "tangential_tangent": {"psi": V},
    "tangential_tangent_inverse": {"psi": V},
    "to_scipy": {"p": P},
    "vee": {"S": R},
}
NO_FUNCTION = {"FRAMES", "PARAMETRIZATIONS", "PROJECTIONS", "SEQUENCES", "removable"}
ARRAYS = [
    (name, argument)
    for name, arguments in VALID.items()
    for argument, value in arguments.items()
    if not isinstance(value, str)
]
# The same for the other parametrisations of the functions that serve all of them.
DESCRIPTIONS = {name: rot.convert(P, "quaternion", name) for name in rot.PARAMETRIZATIONS}


def sentence(argument):
    """The message names the argument as a word and ends as a sentence does."""
    return re.compile(rf"(?<![\w.]){re.escape(argument)}(?!\w).*[.?]$", re.DOTALL)


def refused(function, arguments, argument):
    """A ValueError whose sentence names the argument; any other exception, a warning too, fails the test."""
    with pytest.raises(ValueError, match=sentence(argument)) as caught:
        function(**arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def attempt(function, *arguments):
    """The result, or the sentence of the refusal."""
    try:
        return function(*arguments), ""
    except ValueError as refusal:
        return None, str(refusal)


def test_every_public_function_is_in_the_table():
    assert set(VALID) == set(rot.__all__) - NO_FUNCTION - {"from_scipy"}


@pytest.mark.parametrize("name", VALID)
def test_the_valid_calls_are_valid(name):
    function = getattr(rot, name)
    assert list(VALID[name]) == list(inspect.signature(function).parameters)[: len(VALID[name])]
    result = function(**VALID[name])
    if name != "to_scipy":
        assert np.all(np.isfinite(result))


# --- arrays -------------------------------------------------------------------------------------------------


@pytest.mark.spread
@pytest.mark.parametrize(("name", "argument"), [case for case in ARRAYS if case != ("slerp", "s")])
@pytest.mark.parametrize(
    "wrong", [np.ones(5), np.ones((2, 5)), 1.0, np.ones((4, 1)), np.ones((2, 2)), []], ids=lambda x: str(np.shape(x))
)
def test_wrong_shape(name, argument, wrong):
    message = refused(getattr(rot, name), VALID[name] | {argument: wrong}, argument)
    assert "(..., " in message
    assert str(np.shape(wrong)) in message or "[]" in message


@pytest.mark.parametrize(("name", "argument"), ARRAYS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite(name, argument, bad):
    value = np.array(VALID[name][argument], dtype=float)
    value.flat[-1] = bad
    message = refused(getattr(rot, name), VALID[name] | {argument: value}, argument)
    assert str(bad) in message
    assert "finite" in message


@pytest.mark.spread
@pytest.mark.parametrize(("name", "argument"), ARRAYS)
@pytest.mark.parametrize(
    "wrong",
    ["text", None, [[1.0, 2.0], [3.0]], object(), {"p": 1}, ["a", "b", "c", "d"], [1j, 0, 0, 0]],
    ids=["text", "none", "ragged", "object", "dict", "letters", "complex list"],
)
def test_no_numbers(name, argument, wrong):
    refused(getattr(rot, name), VALID[name] | {argument: wrong}, argument)


@pytest.mark.parametrize(("name", "argument"), ARRAYS)
def test_complex_numbers_do_not_lose_their_imaginary_part(name, argument):
    value = np.asarray(VALID[name][argument]) + 0.5j
    refused(getattr(rot, name), VALID[name] | {argument: value}, argument)


@pytest.mark.parametrize(("name", "argument"), ARRAYS)
def test_integers_beyond_the_doubles(name, argument):
    value = np.asarray(VALID[name][argument]).astype(object)
    value = value.tolist() if value.ndim else None
    if value is None:
        value = 10**400
    elif isinstance(value[0], list):
        value[0][0] = 10**400
    else:
        value[0] = 10**400
    refused(getattr(rot, name), VALID[name] | {argument: value}, argument)


@pytest.mark.parametrize("source", rot.PARAMETRIZATIONS)
@pytest.mark.parametrize("wrong", [np.ones(5), np.full(4, np.nan), "text"], ids=["shape", "nan", "text"])
def test_convert_names_its_argument(source, wrong):
    refused(rot.convert, {"x": wrong, "source": source, "target": "quaternion"}, "x")


@pytest.mark.parametrize("parametrization", rot.PARAMETRIZATIONS)
@pytest.mark.parametrize("wrong", [np.ones(5), np.full(4, np.nan), "text"], ids=["shape", "nan", "text"])
def test_rates_name_their_arguments(parametrization, wrong):
    x = DESCRIPTIONS[parametrization]
    for function, rate, value in ((rot.rates, "velocity", V), (rot.angular_velocity, "x_dot", x)):
        arguments = {"parametrization": parametrization, "x": x, rate: value}
        refused(function, arguments | {rate: wrong}, rate)
        refused(function, arguments | {"x": wrong}, "x")


def test_the_place_of_the_bad_number_is_told():
    p = np.ones((3, 5, 4))
    p[1, 4, 2] = np.nan
    with pytest.raises(ValueError, match=r"p\[1, 4, 2\] = nan is not finite"):
        rot.normalize(p)


@pytest.mark.parametrize("name", ["multiply", "rotate", "distance", "rates", "angular_velocity"])
def test_leading_axes_that_do_not_match(name):
    arguments = dict(VALID[name])
    numbers = [key for key, value in arguments.items() if not isinstance(value, str)]
    for n, key in enumerate(numbers):
        arguments[key] = np.tile(arguments[key], (2 + n, 1))
    with pytest.raises(ValueError, match=r"\D[23],.*\D[23],"):
        getattr(rot, name)(**arguments)


def test_only_rotations_come_from_scipy():
    for wrong in (P, "text", None):
        refused(rot.from_scipy, {"rotation": wrong}, "rotation")


# --- no rotation --------------------------------------------------------------------------------------------

NEED_NORM = [
    "angular_velocity",
    "as_quaternion",
    "convert",
    "distance",
    "euler_differential_pinv",
    "euler_from_quaternion",
    "inverse",
    "log",
    "matrix_from_quaternion",
    "normalize",
    "rotate",
    "rotation_vector_from_quaternion",
    "slerp",
    "tangential_from_quaternion",
    "to_scipy",
]


@pytest.mark.parametrize("name", NEED_NORM)
def test_zero_quaternion(name):
    quaternions = [key for key, value in VALID[name].items() if np.shape(value) == (4,) and key != "x_dot"]
    assert quaternions
    for argument in quaternions:
        with pytest.raises(ValueError, match=r"quaternion.* not (all )?zero\.$"):
            getattr(rot, name)(**VALID[name] | {argument: np.zeros(4)})
        with pytest.raises(ValueError, match=r"quaternion.* not (all )?zero\.$"):
            getattr(rot, name)(**VALID[name] | {argument: np.stack([P, 0.0 * P, P])})


def test_zero_quaternion_is_found_among_many():
    p = np.ones((2, 3, 4))
    p[1, 2] = 0.0
    with pytest.raises(ValueError, match=r"zero norm at index \(1, 2\)"):
        rot.normalize(p)


NEED_ROTATION = [
    ("as_quaternion", "rotation", {}),
    ("convert", "x", {"source": "matrix", "target": "quaternion"}),
    ("distance", "a", {"b": Q}),
    ("distance", "b", {"a": Q}),
    ("quaternion_from_matrix", "R", {}),
    ("rotation_vector_from_matrix", "R", {}),
]


@pytest.mark.parametrize(("name", "argument", "others"), NEED_ROTATION)
@pytest.mark.parametrize(
    "wrong",
    [2.0 * R, R + 0.01, np.ones((3, 3)), np.zeros((3, 3)), np.diag([1.0, 1.0, 1.01]), 1e-200 * R, 1e100 * R],
    ids=["stretched", "shifted", "ones", "zeros", "diagonal", "tiny", "large"],
)
def test_matrix_far_from_a_rotation(name, argument, others, wrong):
    message = refused(getattr(rot, name), others | {argument: wrong}, argument)
    assert "is not a rotation matrix" in message
    assert "0.001" in message
    assert "project" in message


@pytest.mark.parametrize(("name", "argument", "others"), NEED_ROTATION)
def test_matrix_whose_square_overflows(name, argument, others):
    """R'R is inf here, and without fused multiply-add inf - inf = nan, which `worst > tolerance` would let pass."""
    huge = 1e200 * np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, -1.0]])
    with np.errstate(all="ignore"):
        refused(getattr(rot, name), others | {argument: huge}, argument)


@pytest.mark.parametrize(("name", "argument", "others"), NEED_ROTATION)
@pytest.mark.parametrize("wrong", [-R, -np.eye(3), np.diag([1.0, 1.0, -1.0])], ids=["-R", "-1", "mirror"])
def test_reflection(name, argument, others, wrong):
    message = refused(getattr(rot, name), others | {argument: wrong}, argument)
    assert "reflection" in message


def test_rounding_defects_are_welcome():
    nearly = R + 1e-5 * np.array([[1.0, -1.0, 0.5], [0.2, 1.0, -0.7], [-1.0, 0.3, 0.9]])
    assert rot.distance(nearly, P) < 2e-5


@pytest.mark.parametrize("method", rot.PROJECTIONS)
@pytest.mark.parametrize("wrong", [-R, np.zeros((3, 3)), np.ones((3, 3)), np.diag([1.0, 1.0, -1.0])], ids=str)
def test_projection_of_what_has_no_neighbour(method, wrong):
    message = refused(rot.project, {"R": wrong, "method": method}, "R")
    assert "determinant" in message


def test_errors_of_what_is_near_no_rotation():
    assert "determinant" in refused(rot.drift_skew_scale, {"exact": R, "approximate": -R}, "approximate")


# --- names --------------------------------------------------------------------------------------------------

X_DOT = {"x": P, "x_dot": Q}
NAMES = [  # function, other arguments, argument, wrong name, what is meant
    ("project", {"R": R}, "method", "polr", "polar"),
    ("project", {"R": R}, "method", "Gram-Schmidt", "gram-schmidt"),
    ("project", {"R": R}, "method", "spurier", "spurrier"),
    ("convert", {"x": P, "target": "matrix"}, "source", "quaternions", "quaternion"),
    ("convert", {"x": P, "source": "quaternion"}, "target", "rotation_vector", "rotation-vector"),
    ("convert", {"x": P, "source": "quaternion", "target": "euler"}, "sequence", "ZXZZ", "ZXZ"),
    ("rates", {"x": P, "velocity": V}, "parametrization", "Quaternion", "quaternion"),
    ("rates", {"parametrization": "quaternion", "x": P, "velocity": V}, "frame", "Body", "body"),
    ("rates", {"parametrization": "euler", "x": V, "velocity": V}, "sequence", "3113", "313"),
    ("angular_velocity", X_DOT, "parametrization", "tangent", "tangential"),
    ("angular_velocity", {"parametrization": "quaternion", **X_DOT}, "frame", "spatial", "space"),
    ("angular_velocity", {"parametrization": "euler", "x": V, "x_dot": V}, "sequence", "zxzz", "zxz"),
    ("quaternion_matrix", {"p": P}, "side", "Left", "left"),
    ("quaternion_nullspace", {"p": P}, "frame", "spac", "space"),
    ("director_nullspace", {"d": D}, "frame", "bod", "body"),
    ("director_constraint", {"d": D}, "frame", "spaces", "space"),
    ("director_constraint_gradient", {"d": D}, "frame", "bodies", "body"),
    ("quaternion_from_euler", {"angles": V}, "sequence", "3131", "313"),
    ("euler_from_quaternion", {"p": P}, "sequence", "zxzx", "zxz"),
    ("euler_tangent", {"angles": V}, "sequence", "Xyz", "xyz"),
    ("euler_tangent_inverse", {"angles": V}, "sequence", "xyzz", "xyz"),
]


def test_every_choice_is_in_the_list():
    """A new function with a name to choose must join."""
    choices = {"frame", "side", "sequence", "method", "source", "target", "parametrization"}
    offered = {(name, key) for name in VALID for key in inspect.signature(getattr(rot, name)).parameters}
    assert {(name, argument) for name, _, argument, _, _ in NAMES} == {case for case in offered if case[1] in choices}


@pytest.mark.parametrize(("name", "others", "argument", "wrong", "meant"), NAMES)
def test_unknown_name_suggests_the_nearest(name, others, argument, wrong, meant):
    message = refused(getattr(rot, name), others | {argument: wrong}, argument)
    assert repr(wrong) in message
    assert "it can be " in message
    assert message.endswith(f"Did you mean {meant!r}?")


@pytest.mark.parametrize(("name", "others", "argument"), [case[:3] for case in NAMES])
@pytest.mark.parametrize("wrong", [None, 7, "", "nonsense", ["body"], np.ones(3), "ζξζ"], ids=repr)
def test_a_name_of_any_kind(name, others, argument, wrong):
    message = refused(getattr(rot, name), others | {argument: wrong}, argument)
    assert "it can be " in message


@given(st.text(max_size=6))
def test_any_text_is_a_sequence_or_refused(text):
    p, refusal = attempt(rot.quaternion_from_euler, V, text)
    if p is None:
        assert sentence("sequence").search(refusal)
    else:
        assert text.replace("-", "").lower().translate(str.maketrans("xyz", "123")) in rot.SEQUENCES
        assert np.linalg.norm(p) == pytest.approx(1.0)


# --- any finite number --------------------------------------------------------------------------------------

FINITE = st.floats(allow_nan=False, allow_infinity=False)
EXTREME = st.sampled_from([0.0, 5e-324, 1e-310, 1e-300, 1e-160, 1e-8, 1.0, 1e8, 1e160, 1e300, 1.7e308])
SIGNED = st.builds(lambda size, sign: sign * size, EXTREME, st.sampled_from([-1.0, 1.0]))


def vectors(size, elements=FINITE | SIGNED):
    return arrays.arrays(np.float64, size, elements=elements)


QUATERNIONS = vectors(4).filter(np.any)
#: 1/|p| is a number, so that the inverse is one too.
INVERTIBLE = QUATERNIONS.filter(lambda p: 1e-300 < np.abs(p).max() < 1e300)


@given(QUATERNIONS)
def test_normalize_any_quaternion(p):
    unit = rot.normalize(p)
    assert np.linalg.norm(unit) == pytest.approx(1.0, abs=4e-16)
    largest = int(np.argmax(np.abs(p)))
    with np.errstate(under="ignore"):
        np.testing.assert_allclose(unit / unit[largest], p / p[largest], rtol=1e-15, atol=1e-300)


@given(QUATERNIONS)
def test_matrix_of_any_quaternion_is_a_rotation(p):
    matrix = rot.matrix_from_quaternion(p)
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(3), rtol=0.0, atol=3e-15)
    assert np.linalg.det(matrix) > 0.0
    assert rot.distance(rot.quaternion_from_matrix(matrix), p) < 3e-15


@given(QUATERNIONS, st.sampled_from([name for name in rot.PARAMETRIZATIONS if name != "tangential"]))
def test_convert_any_quaternion(p, target):
    x = rot.convert(p, "quaternion", target)
    assert np.all(np.isfinite(x))
    assert rot.distance(rot.convert(x, target, "quaternion"), p) < 3e-15


@given(QUATERNIONS, st.sampled_from(rot.SEQUENCES))
def test_euler_angles_of_any_quaternion(p, sequence):
    angles = rot.euler_from_quaternion(p, sequence)
    assert np.all(np.isfinite(angles))
    assert rot.distance(rot.quaternion_from_euler(angles, sequence), p) < 3e-15


@given(QUATERNIONS)
def test_tangential_vector_of_any_quaternion_or_none(p):
    psi, refusal = attempt(rot.tangential_from_quaternion, p)
    if psi is None:
        assert "rotation by pi" in refusal
        assert abs(p[0]) <= 1e-15 * np.abs(p).max() * 2.0
    else:
        assert np.all(np.isfinite(psi))
        assert rot.distance(rot.quaternion_from_tangential(psi), p) < 3e-15


@given(QUATERNIONS, QUATERNIONS, st.floats(-2.0, 3.0))
def test_distance_and_slerp_of_any_quaternions(p, q, s):
    d = rot.distance(p, q)
    assert 0.0 <= d <= np.pi
    assert np.linalg.norm(rot.slerp(p, q, s)) == pytest.approx(1.0, abs=2e-15)


@given(QUATERNIONS, vectors(3, st.floats(-1e150, 1e150)))
def test_rotate_by_any_quaternion(p, x):
    assert np.linalg.norm(rot.rotate(p, x)) == pytest.approx(np.linalg.norm(x), rel=5e-15, abs=1e-300)


@given(INVERTIBLE)
def test_inverse_of_any_quaternion(p):
    inverse = rot.inverse(p)
    assert np.all(np.isfinite(inverse))
    scale = np.abs(p).max()
    product = rot.multiply(p / scale, inverse * scale)
    np.testing.assert_allclose(product, [1.0, 0.0, 0.0, 0.0], rtol=0.0, atol=1e-15)


@given(INVERTIBLE)
def test_pseudoinverse_of_the_euler_differential_of_any_quaternion(p):
    scale = np.abs(p).max()
    product = (rot.euler_differential_pinv(p) * scale) @ rot.euler_differential(p / scale)
    np.testing.assert_allclose(product, np.eye(4), rtol=0.0, atol=3e-15)


@given(INVERTIBLE, vectors(3, st.floats(-10.0, 10.0)), st.sampled_from(rot.FRAMES))
def test_angular_velocity_of_any_quaternion(p, w, frame):
    assume(np.abs(p).max() > 1e-290)  # p' w is not yet subnormal
    p_dot = rot.rates("quaternion", p, w, frame=frame)
    back = rot.angular_velocity("quaternion", p, p_dot, frame=frame)
    np.testing.assert_allclose(back, w, rtol=0.0, atol=1e-13)


@given(vectors(3))
def test_any_rotation_vector(v):
    """A unit quaternion, or refused if the angle is so large that it means nothing."""
    p, refusal = attempt(rot.exp, v)
    if p is None:
        assert np.abs(v).max() > 1e15
        assert sentence("rotation_vector").search(refusal)
    else:
        assert np.linalg.norm(p) == pytest.approx(1.0, abs=1e-15)


@given(vectors(3), st.sampled_from(rot.SEQUENCES))
def test_any_euler_angles(angles, sequence):
    p = rot.quaternion_from_euler(angles, sequence)
    assert np.linalg.norm(p) == pytest.approx(1.0, abs=2e-15)


@given(vectors(3))
def test_any_tangential_vector(psi):
    p = rot.quaternion_from_tangential(psi)
    assert np.linalg.norm(p) == pytest.approx(1.0, abs=4e-16)


@given(vectors(3, st.floats(-1e100, 1e100)))
def test_tangent_maps_of_any_vector(v):
    """Refused at full turns only; nothing else is lost."""
    assert np.all(np.isfinite(rot.rotation_vector_tangent(v)))
    assert np.all(np.isfinite(rot.tangential_tangent(v)))
    assert np.all(np.isfinite(rot.tangential_tangent_inverse(v)))
    inverse, refusal = attempt(rot.rotation_vector_tangent_inverse, v)
    if inverse is None:
        assert "2 pi k" in refusal
        assert np.linalg.norm(v) > 6.0
    else:
        assert np.all(np.isfinite(inverse))


@given(arrays.arrays(np.float64, (3, 3), elements=st.floats(-4.0, 4.0)), st.sampled_from(sorted(rot.PROJECTIONS)))
def test_projection_of_any_matrix_is_a_rotation_or_refused(A, method):
    assume(np.linalg.cond(A) < 1e6)
    projected, refusal = attempt(rot.project, A, method)
    if projected is None:
        assert sentence("R").search(refusal)
    else:
        np.testing.assert_allclose(projected.T @ projected, np.eye(3), rtol=0.0, atol=1e-13)
        assert np.linalg.det(projected) > 0.0


@given(vectors((3, 3)))
def test_any_matrix_is_a_rotation_or_refused(A):
    p, refusal = attempt(rot.quaternion_from_matrix, A)
    if p is None:
        assert sentence("R").search(refusal)
    else:
        assert rot.distance(p, A) < 2e-3
