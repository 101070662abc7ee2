"""Bad input to attitude: a ValueError whose sentence names the argument, what was given and what is allowed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import gyrod as gd
from gyrod import gyro

T = np.linspace(0.0, 1.0, 11)
W = np.zeros((11, 3))


def bad(value, index=(3, 1)):
    w = W.copy()
    w[index] = value
    return w


CASES = {
    "times not an array": (("abc", W), {}, r"t must be a one-dimensional array"),
    "times of two dimensions": ((T[:, None], W), {}, r"t must be a one-dimensional .* \(11, 1\)"),
    "no times": (([], np.zeros((0, 3))), {}, r"t must be a one-dimensional"),
    "times that fall": ((T[::-1], W), {}, r"t must increase, but t\[0\] = 1 is followed by t\[1\] = 0.9"),
    "times that repeat": (([0.0, 1.0, 1.0], W[:3]), {}, r"t\[1\] = 1 is followed by t\[2\] = 1"),
    "a time that is NaN": (([0.0, np.nan, 1.0], W[:3]), {}, r"t\[1\] = nan is not finite"),
    "rates of words": ((T, [["a"] * 3] * 11), {}, r"rates must be an array of numbers or a function"),
    "too few rates": ((T, W[:10]), {}, r"rates must have the shape \(11, 3\) .* got \(10, 3\)"),
    "transposed rates": ((T, W.T), {}, r"got \(3, 11\)\. Transpose it"),
    "wrong count of increments": (
        (T, W[:8]),
        {"increments": True},
        r"shape \(10, 3\) \(increments for 11 times\)",
    ),
    "NaN in the rates": ((T, bad(np.nan)), {}, r"rates\[3, 1\] = nan is not finite"),
    "infinity in the rates": ((T, bad(np.inf)), {}, r"rates\[3, 1\] = inf is not finite"),
    "unknown method": (
        (T, W),
        {"method": "magnus5"},
        r"method = 'magnus5' is unknown; .* Did you mean 'magnus[46]'",
    ),
    "unknown frame": ((T, W), {"frame": "bdoy"}, r"frame = 'bdoy' .* Did you mean 'body'"),
    "unknown parametrisation": ((T, W), {"parametrization": "quaternions"}, r"Did you mean 'quaternion'"),
    "zero quaternion": ((T, W), {"initial": [0.0, 0, 0, 0]}, r"zero norm"),
    "matrix far from orthogonal": ((T, W), {"initial": np.ones((3, 3))}, r"initial is not a rotation matrix"),
    "reflection": ((T, W), {"initial": -np.eye(3)}, r"initial has determinant -1"),
    "initial of a wrong shape": ((T, W), {"initial": [1.0, 0.0, 0.0]}, r"initial must be a quaternion"),
    "initial of several rotations": (
        (T, W),
        {"initial": np.tile(np.eye(3), (2, 1, 1))},
        r"initial must be one rotation",
    ),
    "initial of words": ((T, W), {"initial": "north"}, r"initial must be a quaternion .* 'north'"),
    "NaN in initial": ((T, W), {"initial": [np.nan, 0, 0, 1]}, r"initial\[0\] = nan"),
    "negative rtol": ((T, W), {"method": "ode45", "rtol": -1.0}, r"rtol must be a positive"),
    "rtol below rounding": ((T, W), {"method": "ode45", "rtol": 1e-18}, r"rtol = 1e-18 is below what double"),
    "atol of words": (
        (T, W),
        {"method": "ode45", "atol": "small"},
        r"atol must be a positive number, got 'small'",
    ),
    "step for samples": ((T, W), {"step": 0.1}, r"step = 0.1 applies to functions"),
    "step with many times": ((T, lambda t: np.zeros(3)), {"step": 0.1}, r"needs an interval"),
    "negative step": (((0.0, 1.0), lambda t: np.zeros(3)), {"step": -0.1}, r"step must be a positive"),
    "an interval without a step": (
        ((0.0, 1.0), lambda t: np.zeros(3)),
        {"method": "midpoint-matrix"},
        r"step is missing: method = 'midpoint-matrix' takes constant steps",
    ),
    "increments of a function": (
        (T, lambda t: np.zeros(3)),
        {"increments": True},
        r"increments = True needs an array",
    ),
    "a function of wrong shape": ((T, lambda t: np.zeros(4)), {}, r"rates\(0\) must return three numbers"),
    "a function that returns NaN": (
        (T, lambda t: np.full(3, np.nan if t > 0.5 else 0.0)),
        {"method": "midpoint-matrix"},
        r"rates\(0\.6\) = \[nan nan nan\] is not finite",
    ),
    "one time for ode45": (([0.0], W[:1]), {"method": "ode45"}, r"needs at least two times"),
}


@pytest.mark.parametrize("case", CASES)
def test_sentences(case):
    arguments, options, sentence = CASES[case]
    with pytest.raises(ValueError, match=sentence):
        gd.attitude(*arguments, **options)


def test_a_function_that_raises_is_heard():
    def rates(t):
        if np.any(np.asarray(t) > 0.5):
            raise RuntimeError("sensor unplugged")
        return np.zeros((*np.shape(t), 3))

    for method in gyro.ORDERS:
        with pytest.raises(RuntimeError, match="sensor unplugged"):
            gd.attitude(T, rates, method=method)


def test_rl2_error_checks_shapes():
    with pytest.raises(ValueError, match=r"exact \(11, 3\) and approximate \(10, 3\)"):
        gd.rl2_error(T, W, W[:10])


def test_stream_checks_its_arguments():
    stream = gd.AttitudeStream()
    with pytest.raises(ValueError, match="rates must be"):
        stream.push(0.0, [1.0, 2.0])
    with pytest.raises(ValueError, match="Did you mean 'magnus6'"):
        gd.AttitudeStream(method="magnus")
    with pytest.raises(ValueError, match="method = 'ode45' is unknown"):
        gd.AttitudeStream(method="ode45")


def test_problem_names_are_suggested():
    with pytest.raises(ValueError, match="Did you mean 'coning'"):
        gd.problems.get("conning")


anything = st.one_of(
    arrays(
        np.float64,
        array_shapes(max_dims=3, max_side=12),
        elements=st.floats(allow_nan=True, allow_infinity=True),
    ),
    st.text(max_size=5),
    st.none(),
    st.lists(st.floats(), max_size=12),
)


@given(t=anything, rates=anything, method=st.sampled_from(list(gyro.ORDERS)), increments=st.booleans())
def test_anything_gives_a_sentence_or_rotations(t, rates, method, increments):
    try:
        R = gd.attitude(t, rates, method=method, increments=increments)
    except (ValueError, ArithmeticError) as error:
        assert len(str(error)) > 20  # a sentence  # noqa: PT017
    else:
        assert np.isfinite(R.quaternion).all()


@given(
    t=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30, unique=True).map(sorted),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([0.0, 1e-300, 1e-6, 1.0, 1e3, 1e150]),
    method=st.sampled_from([m for m in gyro.ORDERS if not m.startswith("ode")]),
    frame=st.sampled_from(["body", "space"]),
)
def test_finite_samples_give_unit_quaternions(t, seed, scale, method, frame):
    rates = scale * np.random.default_rng(seed).normal(size=(len(t), 3))
    try:
        R = gd.attitude(t, rates, method=method, frame=frame)
    except ArithmeticError as error:
        assert "too large" in str(error)  # noqa: PT017
    else:
        assert np.abs(np.linalg.norm(R.quaternion, axis=1) - 1.0).max() < 1e-12
