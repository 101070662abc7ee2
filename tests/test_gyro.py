"""Attitude from angular velocity: orders, agreement with the literature, dense output, streams, increments."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import gyrod as gd
from gyrod import _core, gyro
from gyrod import rotations as ro

REFERENCE = json.loads((Path(__file__).parent / "data" / "zupan_saje_2011.json").read_text())
SYMBOL = {"th": "rotation-vector", "psi": "tangential", "q": "quaternion"}
CONSTANT_STEP = [m for m in gyro.ORDERS if not m.startswith("ode")]
ADAPTIVE = ["ode45", "ode23"]
FRAMES = ro.FRAMES


def largest_error(R: gd.Attitude, problem: gd.problems.RotationProblem) -> float:
    return float(ro.distance(R.quaternion, problem.quaternion(R.t)).max())


def sampled(name: str, n: int, frame: str = "body", t_end: float | None = None):
    p = gd.problems.get(name)
    t = np.linspace(0.0, t_end or p.t_end, n)
    return p, t, p.rates(t, frame)


def slope(steps, errors) -> float:
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


# --- problems --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", gd.problems.ROTATIONS)
def test_problem_rates_are_the_derivative_of_its_rotation(name):
    p = gd.problems.get(name)
    t = np.random.default_rng(0).uniform(0.0, min(p.t_end, 2.0), 50)
    # five-point central difference of the quaternion
    h = 1e-4
    d = (8 * (p.quaternion(t + h) - p.quaternion(t - h)) - (p.quaternion(t + 2 * h) - p.quaternion(t - 2 * h))) / (
        12 * h
    )
    for frame in FRAMES:
        w = ro.angular_velocity("quaternion", p.quaternion(t), d, frame=frame)
        scale = 1.0 + np.abs(w).max()
        assert np.abs(w - p.rates(t, frame)).max() < 1e-7 * scale


def test_free_symmetric_top_obeys_eulers_equations():
    p = gd.problems.free_symmetric_top((1.3, 0.4), (0.3, -0.2, 1.7))
    moments = np.array([1.3, 1.3, 0.4])
    t = np.linspace(0.0, 5.0, 7)
    h = 1e-4
    rate = (p.rates(t + h) - p.rates(t - h)) / (2 * h)
    w = p.rates(t)
    assert np.abs(moments * rate + np.cross(w, moments * w)).max() < 1e-7
    momentum = ro.rotate(p.quaternion(t), moments * w)
    assert np.abs(momentum - momentum[0]).max() < 1e-14


# --- order -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("method", CONSTANT_STEP)
def test_order_on_functions(method, frame):
    p = gd.problems.get("zupan-saje-3-line")
    steps = 0.1 * 0.5 ** np.arange(4)
    errors = []
    for h in steps:
        R = gd.attitude(
            (0.0, 2.0),
            lambda t: p.rates(t, frame),
            method=method,
            frame=frame,
            step=h,
            initial=p.quaternion(0.0),
        )
        errors.append(largest_error(R, p))
    assert slope(steps, errors) == pytest.approx(gyro.ORDERS[method], abs=0.2)


@pytest.mark.spread
@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("method", "expected"),
    [("magnus6", 6), ("magnus4", 4), ("midpoint-matrix", 2), ("midpoint-quaternion", 2)],
)
def test_order_on_samples(method, expected, frame, uniform):
    # Fast spin, slow change of the body rates: the commutators decide, not the interpolation. For spatial rates the
    # conjugate rotation, whose spatial rates are minus the body rates.
    p = gd.problems.free_symmetric_top((1.0, 1.02), (4.0, 1.0, 60.0))
    counts = np.array([200, 283, 400, 566]) * (20 if expected == 2 else 1)
    errors = []
    for n in counts:
        s = np.linspace(0.0, 1.0, n + 1)
        t = 2.0 * (s if uniform else s + 0.05 * np.sin(2 * np.pi * s))
        exact = p.quaternion(t)
        if frame == "body":
            R = gd.attitude(t, p.rates(t), method=method)
        else:
            R = gd.attitude(t, -p.rates(t), method=method, frame="space")
            exact = ro.conjugate(exact)
        errors.append(ro.distance(R.quaternion, exact).max())
    assert slope(1.0 / counts, errors) == pytest.approx(expected, abs=0.2)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_order_of_the_pairs(method):
    """With a tolerance that accepts everything the controller takes ten equal steps: its limit of the step."""
    p = gd.problems.get("zupan-saje-3-line")
    errors, lengths = [], 4.0 * 0.7 ** np.arange(5)
    for length in lengths:
        t0 = 0.5
        args = ("quaternion", method, "body", t0, t0 + length, p.quaternion(t0), 1e3, 1e6)
        run = _core.solve_function(p.rates, *args)
        assert len(run.t) == 11
        errors.append(np.abs(run.y[-1] - p.quaternion(t0 + length)).max())
    # ten steps: the local order
    assert slope(lengths, errors) == pytest.approx(gyro.ORDERS[method] + 1, abs=0.2)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_dense_output_of_the_pairs_has_its_order(method):
    p = gd.problems.get("zupan-saje-3-line")
    errors, lengths = [], 0.4 * 0.5 ** np.arange(4)
    for h in lengths:
        t0 = 0.5
        run = _core.solve_function(p.rates, "quaternion", method, "body", t0, t0 + 10 * h, p.quaternion(t0), 1e3, 1e6)
        assert len(run.t) == 11
        tt = run.t[0] + h * np.linspace(0.0, 1.0, 21)
        y = getattr(_core, f"dense_{method}")(run.t, run.y, run.stages, tt)
        errors.append(np.abs(y - p.quaternion(tt)).max())
    # local error of the interpolant: one more than its order (4 for ode45, 3 for ode23)
    assert slope(lengths, errors) == pytest.approx({"ode45": 5, "ode23": 4}[method], abs=0.3)


@pytest.mark.parametrize("parametrization", gyro.PARAMETRIZATIONS)
def test_pairs_agree_with_scipy(parametrization):
    p = gd.problems.get("zupan-saje-1")
    R = gd.attitude((0.0, 5.0), p.rates, method="ode45", parametrization=parametrization, initial=p.quaternion(0.0))
    y0 = ro.convert(p.quaternion(0.0), "quaternion", parametrization)
    s = solve_ivp(lambda t, y: ro.rates(parametrization, y, p.rates(t)), (0.0, 5.0), y0, rtol=1e-10, atol=1e-10)
    assert np.abs(s.y[:, -1] - R.parameters[-1]).max() < 1e-8


# --- the paper -------------------------------------------------------------------------------------------------------


@pytest.mark.spread
@pytest.mark.parametrize(("table", "name"), [("table2", "zupan-saje-1"), ("table3", "zupan-saje-2-planar")])
@pytest.mark.parametrize("par", SYMBOL)
def test_ode45_takes_matlabs_steps(table, name, par):
    """The paper's 'time steps' are four output points a step: 3061 = 4 x 765 + 1 and so on."""
    (row,) = [r for r in REFERENCE[table] if r["method"] == "matlab-like ode45" and r["par"] == par]
    p = gd.problems.get(name)
    start = p.quaternion(0.0)
    R = gd.attitude(
        (0.0, p.t_end),
        p.rates,
        method="ode45",
        parametrization=SYMBOL[par],
        rtol=1e-10,
        atol=1e-6,
        initial=start,
    )
    assert R.stats.steps == pytest.approx(row["steps"], rel=0.005)
    assert R.stats.evaluations == pytest.approx(row["nf"], rel=0.005)
    exact = p.quaternion(R.t) if par == "q" else ro.convert(p.quaternion(R.t), "quaternion", SYMBOL[par])
    assert gd.rl2_error(R.t, exact, R.parameters) == pytest.approx(row["RL2"], rel=0.02)


@pytest.mark.parametrize("par", ["q", *(pytest.param(p, marks=pytest.mark.slow) for p in SYMBOL if p != "q")])
def test_ode23_takes_about_matlabs_steps(par):
    (row,) = [r for r in REFERENCE["table2"] if r["method"] == "matlab-like ode23" and r["par"] == par]
    p = gd.problems.get("zupan-saje-1")
    R = gd.attitude(
        (0.0, 100.0),
        p.rates,
        method="ode23",
        parametrization=SYMBOL[par],
        rtol=1e-4,
        atol=1e-6,
        initial=p.quaternion(0.0),
    )
    assert R.stats.steps == pytest.approx(row["steps"], rel=0.01)


@pytest.mark.parametrize(
    ("table", "name", "step"), [("table2", "zupan-saje-1", 0.033), ("table3", "zupan-saje-2-planar", 0.0025)]
)
@pytest.mark.parametrize(
    ("method", "label"),
    [("midpoint-matrix", "MP-R correct 1/4"), ("midpoint-quaternion", "MP-q body q o w_G (correct)")],
)
def test_rl2_of_the_midpoint_rules(table, name, step, method, label):
    p = gd.problems.get(name)
    R = gd.attitude((0.0, p.t_end), p.rates, method=method, step=step, initial=p.quaternion(0.0))
    rows = [r for r in REFERENCE[table] if r["method"] == label and r["steps"] == R.stats.steps]
    assert rows
    for row in rows:
        exact = ro.convert(p.quaternion(R.t), "quaternion", SYMBOL[row["par"]])
        ours = ro.convert(R.quaternion, "quaternion", SYMBOL[row["par"]])
        if row["par"] == "q":
            exact, ours = p.quaternion(R.t), R.quaternion
        assert gd.rl2_error(R.t, exact, ours) == pytest.approx(row["RL2"], rel=0.01)


def test_midpoint_quaternion_is_not_twice_as_accurate():
    """The paper says that MP-q has half the error of MP-R; it is 0.6 to 0.9 of it."""
    p = gd.problems.get("zupan-saje-1")
    errors = [
        gd.rl2_error(R.t, p.quaternion(R.t), R.quaternion)
        for R in (
            gd.attitude((0.0, 100.0), p.rates, method=m, step=0.033, initial=p.quaternion(0.0))
            for m in ("midpoint-matrix", "midpoint-quaternion")
        )
    ]
    ratio = errors[1] / errors[0]
    assert ratio.min() > 0.55
    assert ratio.max() < 0.95


@pytest.mark.parametrize(("parametrization", "when"), [("rotation-vector", 1.2966088), ("tangential", 0.5375767)])
def test_singularities_are_reported_with_their_time(parametrization, when):
    p = gd.problems.get("zupan-saje-3")
    with pytest.raises(gd.SingularRotationError, match="singular") as caught:
        gd.attitude(
            (0.0, 10.0),
            p.rates,
            method="ode45",
            parametrization=parametrization,
            rtol=1e-10,
            atol=1e-6,
            initial=p.quaternion(0.0),
        )
    assert caught.value.time == pytest.approx(when, abs=1e-4)
    partial = caught.value.partial
    assert partial.t[-1] == caught.value.time
    good = partial.t < when - 0.01
    assert ro.distance(partial.quaternion[good], p.quaternion(partial.t[good])).max() < 1e-5


def test_tangential_output_is_refused_at_a_half_turn():
    t = np.linspace(0.0, 4.0, 401)
    rates = np.tile([0.0, 0.0, 1.0], (401, 1))
    with pytest.raises(gd.SingularRotationError, match=r"angle of pi at t = 3\.14159") as caught:
        gd.attitude(t, rates, parametrization="tangential")
    assert caught.value.time == pytest.approx(np.pi, abs=1e-3)
    assert len(caught.value.partial.t) == 315
    psi = gd.attitude(t[:300], rates[:300], parametrization="tangential").parameters
    assert psi[-1] == pytest.approx([0.0, 0.0, np.tan(0.5 * t[299])], rel=1e-12)


def test_rotation_vector_passes_full_turns_about_a_fixed_axis():
    p = gd.problems.get("zupan-saje-3-axis")
    R = gd.attitude((0.0, 10.0), p.rates, method="ode45", parametrization="rotation-vector", initial=p.quaternion(0.0))
    assert R.parameters[-1] == pytest.approx([0.0, 0.0, 1000.01], abs=1e-9)


# --- accuracy and meaning --------------------------------------------------------------------------------------------


def test_the_headline():
    """1e5 samples of eq. (28): the default is below 1e-8 rad; magnus4 with 6 points is near 1e-5."""
    p, t, rates = sampled("zupan-saje-2-spatial", 100_001)
    R = gd.attitude(t, rates, initial=p.quaternion(0.0))
    assert R.stats.method == "magnus6"
    assert largest_error(R, p) < 1e-8
    assert largest_error(gd.attitude(t, rates, method="magnus4", initial=p.quaternion(0.0)), p) < 1e-5


@pytest.mark.spread
@pytest.mark.parametrize("method", gyro.ORDERS)
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", ["coning", "constant-rate", "free-symmetric-top"])
def test_every_method_on_samples(name, frame, method):
    p, t, rates = sampled(name, 4001, frame)
    R = gd.attitude(t, rates, frame=frame, method=method, initial=p.quaternion(0.0))
    assert R.quaternion.shape == (4001, 4)
    assert np.abs(np.linalg.norm(R.quaternion, axis=1) - 1.0).max() < 1e-14
    bound = {"magnus6": 1e-10, "magnus4": 1e-8, "ode45": 1e-8, "ode23": 1e-5}.get(method, 1e-4)
    assert largest_error(R, p) < bound


@pytest.mark.parametrize("method", ["magnus6", "magnus4"])
def test_constant_rate_is_exact(method):
    p, t, rates = sampled("constant-rate", 1001)
    assert largest_error(gd.attitude(t, rates, method=method), p) < 1e-13


@pytest.mark.parametrize("n", range(1, 12))
@pytest.mark.parametrize("increments", [False, True])
def test_few_samples(n, increments):
    """Fewer samples than a stencil has points: a lower degree, exact for rates of that degree about an axis."""
    t = np.linspace(0.0, 1.0, n)
    degree = min(n - 1, 7) if not increments else max(min(n - 2, 7), 0)
    axis = np.array([1.0, 2.0, -2.0]) / 3.0
    angle = t ** (degree + 1) / (degree + 1)
    values = np.diff(angle)[:, None] * axis if increments else (t**degree)[:, None] * axis
    R = gd.attitude(t, values, increments=increments)
    assert ro.distance(R.quaternion, ro.exp(angle[:, None] * axis)).max() < 1e-14


@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("method", ["magnus6", "magnus4"])
def test_increments_carry_coning_terms(method, uniform):
    p = gd.problems.get("coning")
    s = np.linspace(0.0, 1.0, 501)
    t = s if uniform else s + 0.02 * np.sin(2 * np.pi * s)
    # exact integrals of the rate in closed form
    W, a = 20 * np.pi, np.deg2rad(1.0)
    integral = np.stack(
        [np.sin(a) * np.cos(W * t), np.sin(a) * np.sin(W * t), -2 * W * np.sin(a / 2) ** 2 * t], axis=-1
    )
    R = gd.attitude(t, np.diff(integral, axis=0), increments=True, method=method, initial=p.quaternion(0.0))
    naive = gd.attitude(
        t, np.diff(integral, axis=0), increments=True, method="midpoint-quaternion", initial=p.quaternion(0.0)
    )
    assert largest_error(R, p) < {"magnus6": 2e-11, "magnus4": 5e-8}[method]
    assert largest_error(naive, p) > 1e-5
    # a row for every time: the first one, before t[0], is not used
    rows = np.vstack([[7.0, 7.0, 7.0], np.diff(integral, axis=0)])
    again = gd.attitude(t, rows, increments=True, method=method, initial=p.quaternion(0.0))
    assert np.array_equal(again.quaternion, R.quaternion)


@pytest.mark.parametrize(("method", "expected"), [("magnus6", 7), ("magnus4", 5)])
def test_increments_keep_the_order(method, expected):
    p = gd.problems.free_symmetric_top((1.0, 1.9), (4.0, 1.0, 6.0))
    spin = (1.0 - 1.9) * 6.0
    errors, counts = [], np.array([200, 280, 400])
    for n in counts:
        t = np.linspace(0.0, 10.0, n + 1)
        x = 4.0 * np.sin(spin * t) / spin - 1.0 * np.cos(spin * t) / spin
        y = 1.0 * np.sin(spin * t) / spin + 4.0 * np.cos(spin * t) / spin
        integral = np.stack([x, y, 6.0 * t], axis=-1)
        errors.append(largest_error(gd.attitude(t, np.diff(integral, axis=0), increments=True, method=method), p))
    assert slope(1.0 / counts, errors) == pytest.approx(expected, abs=1.2)


@pytest.mark.parametrize("initial", ["quaternion", "matrix", "scipy"])
def test_initial_rotation_in_every_form(initial):
    q = ro.exp([0.3, -0.2, 0.9])
    given = {"quaternion": 2.5 * q, "matrix": ro.matrix_from_quaternion(q), "scipy": ro.to_scipy(q)}[initial]
    p, t, rates = sampled("constant-rate", 101)
    R = gd.attitude(t, rates, initial=given)
    assert ro.distance(R.quaternion, ro.multiply(q, p.quaternion(t))).max() < 1e-14
    S = gd.attitude(t, p.rates(t, "space"), frame="space", initial=given)
    assert ro.distance(S.quaternion, ro.multiply(p.quaternion(t), q)).max() < 1e-14


def test_views_of_the_result():
    p, t, rates = sampled("coning", 201)
    R = gd.attitude(t, rates, initial=p.quaternion(0.0), parametrization="rotation-vector")
    assert R.matrix.shape == (201, 3, 3)
    assert ro.distance(R.matrix, R.quaternion).max() < 1e-14
    assert np.array_equal(R.parameters, R.rotation_vector)
    assert np.allclose(R.rotation.as_matrix(), R.matrix, atol=1e-15)


# --- between the samples ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["samples", "irregular", "increments", "function"])
@pytest.mark.parametrize("method", gyro.ORDERS)
def test_dense_evaluation(method, source):
    p = gd.problems.get("free-symmetric-top")
    t = np.linspace(0.0, 10.0, 1001)
    if source == "irregular":
        t = t + 0.003 * np.sin(7 * t) * (t * (10.0 - t) > 0)
    options = {"method": method, "initial": p.quaternion(0.0)}
    if source == "function":
        R = gd.attitude(t, p.rates, **options)
    elif source == "increments":
        fine = np.linspace(0.0, 1.0, 41)
        tt = t[:-1, None] + np.diff(t)[:, None] * fine
        weights = np.full(41, 1.0)
        weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
        values = np.einsum("ikc,k->ic", p.rates(tt), weights) / 120.0 * np.diff(t)[:, None]
        R = gd.attitude(t, values, increments=True, **options)
    else:
        R = gd.attitude(t, p.rates(t), **options)
    times = np.random.default_rng(3).uniform(0.0, 10.0, 500)
    bound = {"magnus6": 1e-11, "magnus4": 1e-9, "ode45": 1e-8, "ode23": 1e-7}.get(method, 2e-3)
    assert ro.distance(R(times), p.quaternion(times)).max() < bound
    assert ro.distance(R(t), R.quaternion).max() < 1e-13
    assert R(5.0).shape == (4,)
    assert R(np.full((2, 3), 5.0)).shape == (2, 3, 4)
    with pytest.raises(ValueError, match=r"known on \[0, 10\]"):
        R(10.5)


@pytest.mark.parametrize(("method", "expected"), [("magnus6", 6), ("magnus4", 4)])
def test_dense_evaluation_has_the_order_of_the_method(method, expected):
    p = gd.problems.free_symmetric_top((1.0, 1.02), (4.0, 1.0, 60.0))
    errors, counts = [], np.array([200, 283, 400])
    times = np.random.default_rng(3).uniform(0.0, 2.0, 300)
    for n in counts:
        t = np.linspace(0.0, 2.0, n + 1)
        errors.append(ro.distance(gd.attitude(t, p.rates(t), method=method)(times), p.quaternion(times)).max())
    assert slope(1.0 / counts, errors) == pytest.approx(expected, abs=0.25)


# --- functions of time -----------------------------------------------------------------------------------------------


@pytest.mark.spread
@pytest.mark.parametrize("method", ["magnus6", "magnus4"])
@pytest.mark.parametrize("name", ["zupan-saje-1", "zupan-saje-2-planar", "zupan-saje-3"])
def test_functions_are_refined_to_the_tolerance(name, method):
    p = gd.problems.get(name)
    for atol in (1e-6, 1e-9):
        R = gd.attitude((0.0, p.t_end), p.rates, method=method, atol=atol, initial=p.quaternion(0.0))
        assert largest_error(R, p) < atol
    grid = np.linspace(0.0, p.t_end, 7)
    R = gd.attitude(grid, p.rates, atol=1e-9, initial=p.quaternion(0.0))
    assert np.array_equal(R.t, grid)
    assert largest_error(R, p) < 1e-9


def test_a_function_of_one_number_serves_too():
    calls = []

    def rates(t):
        calls.append(t)
        return (0.0, 0.0, float(t))

    R = gd.attitude((0.0, 1.0), rates)
    assert R.rotation_vector[-1] == pytest.approx([0.0, 0.0, 0.5], abs=1e-14)
    assert R.stats.evaluations < len(calls) <= R.stats.evaluations + 3


def test_rough_rates_end_with_a_sentence():
    def rates(t):
        t = np.asarray(t)
        return np.stack([np.sin(1e9 * t * t), np.cos(1e9 * t), 1.0 + t], axis=-1) * 1e3

    with pytest.raises(ArithmeticError, match=r"more than 1000000 steps .* still miss atol = 1e-12; loosen"):
        gd.attitude((0.0, 1.0), rates, atol=1e-12)


def test_a_jump_in_the_rates_is_found():
    R = gd.attitude((0.0, 1.0), lambda t: np.array([0.0, 0.0, 3.0 if t > 0.4 else 1.0]), atol=1e-9)
    assert R.rotation_vector[-1, 2] == pytest.approx(2.2, abs=1e-7)


# --- error estimate --------------------------------------------------------------------------------------------------


@pytest.mark.spread
@pytest.mark.parametrize("source", ["samples", "function"])
@pytest.mark.parametrize("method", gyro.ORDERS)
@pytest.mark.parametrize("name", ["coning", "zupan-saje-1", "zupan-saje-2-planar"])
def test_error_estimate(name, method, source):
    p = gd.problems.get(name)
    t = np.linspace(0.0, p.t_end, 5001)
    if source == "samples":
        R = gd.attitude(t, p.rates(t), method=method, initial=p.quaternion(0.0))
    else:
        tol = 1e-5 if method == "ode23" else 1e-7
        R = gd.attitude((0.0, p.t_end), p.rates, method=method, initial=p.quaternion(0.0), rtol=tol, atol=tol,
                        **({} if method.startswith("ode") else {"step": t[1]}))  # fmt: skip
    true = largest_error(R, p)
    assert true / 4 < R.error < 20 * true + 1e-12


def test_error_estimate_does_not_take_noise_for_convergence():
    p, t, rates = sampled("coning", 12_001, t_end=60.0)
    noisy = rates + np.random.default_rng(0).normal(scale=1e-3, size=rates.shape)
    R = gd.attitude(t, noisy, initial=p.quaternion(0.0))
    assert R.error > 0.1 * largest_error(R, p)


def test_error_estimate_of_the_pairs_counts_the_interpolation():
    p, t, rates = sampled("coning", 101)
    R = gd.attitude(t, rates, method="ode45", initial=p.quaternion(0.0))
    assert R.error > 0.3 * largest_error(R, p)


@pytest.mark.parametrize("method", gyro.ORDERS)
def test_results_can_be_pickled(method):
    _, t, rates = sampled("coning", 101)
    R = pickle.loads(pickle.dumps(gd.attitude(t, rates, method=method)))
    assert R(0.5).shape == (4,)
    assert R.error > 0.0
    stop = pickle.loads(pickle.dumps(gd.SingularRotationError("message", 1.0, R)))
    assert (str(stop), stop.time, len(stop.partial.t)) == ("message", 1.0, 101)


# --- streams ---------------------------------------------------------------------------------------------------------


@pytest.mark.spread
@pytest.mark.parametrize("increments", [False, True])
@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("method", CONSTANT_STEP)
def test_stream_equals_batch(method, frame, uniform, increments):
    p = gd.problems.get("zupan-saje-1")
    s = np.linspace(0.0, 1.0, 333)
    t = 5.0 * (s if uniform else s + 0.02 * np.sin(20 * s))
    values = p.rates(t, frame)
    if increments:
        values = np.vstack([np.zeros(3), 0.5 * np.diff(t)[:, None] * (values[1:] + values[:-1])])
    start = p.quaternion(0.0)
    batch = gd.attitude(t, values, method=method, frame=frame, increments=increments, initial=start)
    stream = gd.AttitudeStream(method=method, frame=frame, increments=increments, initial=start)
    times, quaternions, latency = [], [], 0
    for time, value in zip(t, values, strict=True):
        ts, qs = stream.push(time, value)
        times.extend(ts)
        quaternions.extend(qs)
        latency = max(latency, stream.waiting) if time > t[20] else 0
    settled = len(times)
    ts, qs = stream.finish()
    times.extend(ts)
    quaternions.extend(qs)
    assert np.array_equal(times, t)
    assert np.abs(np.array(quaternions) - batch.quaternion).max() < 1e-13
    half = {"magnus6": 3, "magnus4": 2}.get(method, 0)
    assert latency == len(t) - settled == half
    assert stream.waiting == 0
    assert np.abs(stream.latest - batch.quaternion[-1]).max() < 1e-13


def test_stream_takes_chunks_and_tells_the_latest():
    p, t, rates = sampled("coning", 1001)
    stream = gd.AttitudeStream(initial=p.quaternion(0.0))
    assert np.array_equal(stream.latest, p.quaternion(0.0))
    stream.push(t[:700], rates[:700])
    assert ro.distance(stream.latest, p.quaternion(t[699])) < 1e-9
    with pytest.raises(ValueError, match="come after the previous"):
        stream.push(t[699], rates[699])
    with pytest.raises(ValueError, match="not finite"):
        stream.push(t[700], [np.nan, 0.0, 0.0])
    stream.push(t[700:], rates[700:])
    assert ro.distance(stream.latest, p.quaternion(t[-1])) < 1e-9


def gapped(p, frame="body"):
    """Two stretches of 1 kHz data with a gap of 0.2 s between them."""
    t = np.concatenate([np.linspace(0.0, 0.4, 401), np.linspace(0.6, 1.0, 401)])
    return t, p.rates(t, frame)


@pytest.mark.parametrize("method", ["magnus6", "magnus4"])
def test_a_gap_in_the_data_costs_no_more_than_linear_interpolation(method):
    p = gd.problems.free_symmetric_top((1.0, 0.5), (1.0, 0.0, 2.0))
    t, rates = gapped(p)
    R = gd.attitude(t, rates, method=method)
    before, after = R.t <= 0.4, R.t >= 0.6
    assert ro.distance(R.quaternion, p.quaternion(t))[before].max() < 1e-11
    jump = ro.distance(R.quaternion, p.quaternion(t))[after]
    assert jump.max() < 1.1 * 0.2**3 / 12  # trapezoidal rule over the gap, |w''| <= 1
    assert np.ptp(jump) < 1e-4 * jump.max()  # and nothing is lost beyond it
    stream = gd.AttitudeStream(method=method)
    final = [stream.push(*sample) for sample in zip(t, rates, strict=True)] + [stream.finish()]
    assert np.abs(np.concatenate([q for _, q in final]) - R.quaternion).max() < 1e-13


# --- cost ------------------------------------------------------------------------------------------------------------


def test_instruction_sets_agree():
    baseline = pytest.importorskip("gyrod._core_baseline")
    p, t, rates = sampled("zupan-saje-2-spatial", 20_001, t_end=20.0)
    for method in CONSTANT_STEP:
        a, b = (
            c.integrate_samples(t, rates, False, t[1], method, "body", p.quaternion(0.0)) for c in (baseline, _core)
        )
        assert np.abs(a - b).max() < 1e-12


def test_long_records_stay_normalised_and_accurate():
    p, t, rates = sampled("constant-rate", 1_000_001, t_end=1000.0)
    R = gd.attitude(t, rates)
    assert np.abs(np.linalg.norm(R.quaternion, axis=1) - 1.0).max() < 1e-14
    assert largest_error(R, p) < 1e-11


def test_large_angles_in_a_step():
    """More than the series of the fast path covers: falls back to the closed form."""
    t = np.linspace(0.0, 500.0, 501)
    rates = np.tile([0.0, 2.9, 0.0], (501, 1))
    R = gd.attitude(t, rates)
    assert ro.distance(R.quaternion, ro.exp(t[:, None] * [0.0, 2.9, 0.0])).max() < 1e-11
