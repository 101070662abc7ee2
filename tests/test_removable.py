"""Functions with a removable singularity: 4 ulp on [0, pi] against mpmath, in NumPy and in C++."""

import inspect
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from gyrod import _core
from gyrod.rotations import removable

ULP = 4.0

# (t - sin t)/t³ and its kin cancel up to 60 digits at t = 1e-12; 400 bits leave 60 more.
mp = mpmath.MPContext()
mp.prec = 400

# name: (reference, value at zero)
REFERENCE = {
    "sinc": (lambda t: mp.sin(t) / t, Fraction(1)),
    "cosc": (lambda t: (1 - mp.cos(t)) / t**2, Fraction(1, 2)),
    "sinc3": (lambda t: (t - mp.sin(t)) / t**3, Fraction(1, 6)),
    "dsinc": (lambda t: (t * mp.cos(t) - mp.sin(t)) / t**3, Fraction(-1, 3)),
    "dcosc": (lambda t: (t * mp.sin(t) - 2 * (1 - mp.cos(t))) / t**4, Fraction(-1, 12)),
    "dsinc3": (lambda t: (3 * mp.sin(t) - 2 * t - t * mp.cos(t)) / t**5, Fraction(-1, 60)),
    "cotc": (lambda t: (1 - t / 2 * mp.cot(t / 2)) / t**2, Fraction(1, 12)),
    "sinc_inverse": (lambda t: t / mp.sin(t), Fraction(1)),
    "tanc": (lambda t: mp.tan(t) / t, Fraction(1)),
    "cos": (mp.cos, Fraction(1)),
}
# angle_over_sine has two arguments and its own tests below.
NUMPY = sorted(
    name
    for name, f in inspect.getmembers(removable, inspect.isfunction)
    if not name.startswith("_") and name != "angle_over_sine"
)
CPP = sorted(name for name, _ in _core.rotation_functions() if name.endswith("_sq"))

_rng = np.random.default_rng(2010)
_marks = [1.0, 2.0, 0.5 * np.pi, removable.SWITCH, np.pi]
ANGLES = np.concatenate(
    [
        [0.0, *_marks, *np.nextafter(_marks, 0.0), *np.nextafter(_marks[:-1], 4.0)],
        10.0 ** _rng.uniform(-12.0, np.log10(np.pi), 250),
        _rng.uniform(0.0, np.pi, 350),
        np.pi - 10.0 ** _rng.uniform(-12.0, 0.0, 50),
    ]
)


def exact(name, t):
    """The function at an angle given as an mpmath number."""
    function, at_zero = REFERENCE[name]
    return function(t) if t else mp.mpf(at_zero.numerator) / at_zero.denominator


def ulps(got, want):
    """Error in units of the last place of the true value."""
    return float(abs(mp.mpf(float(got)) - want) / mp.mpf(float(np.spacing(abs(float(want))))))


def assert_accurate(points, got, want, limit=ULP):
    errors = np.array([ulps(g, w) for g, w in zip(got, want, strict=True)])
    worst = int(np.argmax(errors))
    assert errors[worst] <= limit, (
        f"{errors[worst]:.3g} ulp at {points[worst]!r}; {np.sum(errors > limit)} of {len(errors)} are above"
    )


def test_every_function_has_a_reference():
    assert set(NUMPY) <= set(REFERENCE)
    assert {name.removesuffix("_sq") for name in CPP} <= set(REFERENCE)


@pytest.mark.parametrize("name", NUMPY)
def test_numpy_to_4_ulp(name):
    got = getattr(removable, name)(ANGLES)
    assert_accurate(ANGLES, got, [exact(name, mp.mpf(float(t))) for t in ANGLES])


@pytest.mark.parametrize("name", CPP)
def test_cpp_to_4_ulp(name):
    x = ANGLES**2
    got = _core.rotation(name, x[:, None])[:, 0]
    want = [exact(name.removesuffix("_sq"), mp.sqrt(mp.mpf(float(v)))) for v in x]
    assert_accurate(ANGLES, got, want)


@pytest.mark.parametrize("name", NUMPY)
def test_just_beyond_pi(name):
    t = np.array([np.nextafter(np.pi, 4.0), np.pi + 1e-9, np.pi + 1e-3, 3.2, 3.5])
    assert_accurate(t, getattr(removable, name)(t), [exact(name, mp.mpf(float(v))) for v in t])


@pytest.mark.parametrize("name", NUMPY)
def test_even(name):
    f = getattr(removable, name)
    np.testing.assert_array_equal(f(-ANGLES), f(ANGLES))


@pytest.mark.parametrize("name", NUMPY)
def test_value_at_zero(name):
    f, at_zero = getattr(removable, name), float(REFERENCE[name][1])
    assert f(0.0) == pytest.approx(at_zero, rel=2.3e-16, abs=0.0)
    assert f(-0.0) == f(0.0)
    assert f(1e-200) == f(0.0)
    assert f(5e-324) == f(0.0)


@pytest.mark.parametrize("name", CPP)
def test_cpp_value_at_zero(name):
    at_zero = float(REFERENCE[name.removesuffix("_sq")][1])
    got = _core.rotation(name, np.array([[0.0], [5e-324], [1e-300]]))
    np.testing.assert_allclose(got, at_zero, rtol=2.3e-16, atol=0.0)


@pytest.mark.parametrize("name", NUMPY)
def test_shape_is_kept(name):
    f = getattr(removable, name)
    grid = ANGLES[:12].reshape(3, 4)
    assert np.shape(f(1.0)) == ()
    assert f(np.empty((0, 2))).shape == (0, 2)
    np.testing.assert_array_equal(f(grid), np.vectorize(f)(grid))


def test_angle_over_sine_to_4_ulp():
    half = np.concatenate([0.5 * ANGLES[ANGLES > 0.0], ANGLES[ANGLES > 1.6]])
    s, c = np.sin(half), np.cos(half)
    pairs = [(mp.mpf(float(a)), mp.mpf(float(b))) for a, b in zip(s, c, strict=True)]
    assert_accurate(half, removable.angle_over_sine(s, c), [mp.atan2(a, b) / a for a, b in pairs])


@pytest.mark.parametrize("c", [1.0, 0.5, np.nextafter(1.0, 0.0)])
def test_angle_over_sine_limit(c):
    assert removable.angle_over_sine(0.0, c) == 1.0 / c
    assert removable.angle_over_sine(1e-170, c) == pytest.approx(1.0 / c, rel=3e-16)


def test_angle_over_sine_at_a_half_turn():
    assert removable.angle_over_sine(1.0, 0.0) == 0.5 * np.pi
