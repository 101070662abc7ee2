"""Parameters from measured curves: against closed forms, SciPy's curve_fit, and noise that is known."""

from __future__ import annotations

import pickle
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import optimize, stats

import gyrod as gd
from gyrod.studies import least_squares
from gyrod.studies.batches import batches
from gyrod.studies.measured import Parameter, read_curves
from gyrod.studies.outputs import History
from gyrod.studies.plan import make_plan
from gyrod.studies.searching import Search
from gyrod.studies.sensitivity import Sensitivity

ROOT = Path(__file__).parent.parent
TIMES = np.linspace(0.02, 3.0, 150)
K, C = "spring.stiffness", "spring.damping"
X = "block.position[0]"
FREE = {K: (5.0, 1.0, 20.0), C: (0.1, 0.01, 1.0)}
EXACT = {"method": "dop853", "rtol": 1e-9}


def oscillator(stiffness=5.0, damping=0.1, mass=0.2, **options):
    """A block on a spring, pushed with 3 m/s."""
    block = gd.Body("block", mass=mass, inertia=(1, 1, 1), velocity=(3.0, 0, 0))
    spring = {"name": "spring", "stiffness": stiffness, "damping": damping}
    slide = gd.Prismatic("ground", "block", at=(0, 0, 0), axis=(1, 0, 0), **spring, **options)
    return gd.System([block], [slide], gravity=(0, 0, 0))


def swing(t, k, c, m=0.2):
    """Its displacement."""
    d = c / (2.0 * m)
    w = np.sqrt(k / m - d * d)
    return 3.0 / w * np.exp(-d * t) * np.sin(w * t)


def noisy(seed=0, sigma=0.02, k=6.0, c=0.15):
    return swing(TIMES, k, c) + np.random.default_rng(seed).normal(0.0, sigma, TIMES.shape)


def ball():
    return gd.System([gd.Body("ball", mass=1.0, inertia=(1, 1, 1))])


# --- against what is known -------------------------------------------------------------------------------------------


def test_a_falling_ball_gives_the_closed_form_of_least_squares():
    t = np.linspace(0.1, 1.0, 10)
    z = -0.5 * 9.81 * t**2 + np.random.default_rng(3).normal(0.0, 0.01, 10)
    found = gd.fit(ball(), {"gravity[2]": -5.0}, {"ball.position[2]": (t, z)})
    x = 0.5 * t**2
    g = (x @ z) / (x @ x)
    left = z - g * x
    sigma = np.sqrt(left @ left / 9)
    error = sigma / np.sqrt(x @ x)
    assert found.values["gravity[2]"] == pytest.approx(g, rel=1e-10)
    assert found.standard_errors["gravity[2]"] == pytest.approx(error, rel=1e-8)
    assert found.sigma["ball.position[2]"] == pytest.approx(np.full(10, sigma), rel=1e-8)
    assert found.residuals["ball.position[2]"] == pytest.approx(-left / sigma, abs=1e-8)
    reach = stats.t(9).ppf(0.975) * error
    assert found.intervals["gravity[2]"] == pytest.approx((g - reach, g + reach), rel=1e-9)
    assert found.chi2 == pytest.approx(1.0, rel=1e-8)
    assert found.freedom == 9
    assert found.converged


@pytest.mark.parametrize("known", [False, True])
def test_an_oscillator_gives_what_curve_fit_gives_on_its_formula(known):
    x = noisy()
    sigma = np.linspace(0.01, 0.03, 150)
    found = gd.fit(oscillator(), FREE, {X: (TIMES, x, sigma) if known else (TIMES, x)}, **EXACT)
    values, covariance = optimize.curve_fit(
        swing, TIMES, x, (5.0, 0.1), sigma=sigma if known else None, absolute_sigma=known, xtol=1e-13, ftol=1e-13
    )
    errors = np.sqrt(np.diag(covariance))
    assert np.abs(np.array(list(found.values.values())) - values).max() < 1e-3 * errors.min()
    assert found.covariance == pytest.approx(covariance, rel=5e-4)
    correlation = covariance[0, 1] / errors.prod()
    assert found.correlation == pytest.approx(np.array([[1.0, correlation], [correlation, 1.0]]), abs=1e-4)
    factor = stats.norm.ppf(0.975) if known else stats.t(148).ppf(0.975)
    for i, path in enumerate(FREE):
        reach = np.exp(factor * errors[i] / values[i])
        assert found.intervals[path] == pytest.approx((values[i] / reach, values[i] * reach), rel=1e-4)
    r = (swing(TIMES, *values) - x) / sigma
    assert not known or found.chi2 == pytest.approx(r @ r / 148, rel=1e-5)


@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan"])
def test_robust_losses_give_what_scipy_gives_and_bear_outliers(loss):
    x = noisy()
    x[::20] += 0.5
    found = gd.fit(oscillator(5.5, 0.13), {K: 5.5, C: 0.13}, {X: (TIMES, x, 0.02)}, loss=loss, **EXACT)
    direct = optimize.least_squares(lambda p: (swing(TIMES, *p) - x) / 0.02, (5.5, 0.13), x_scale=(5, 0.1), loss=loss)
    errors = np.array(list(found.standard_errors.values()))
    assert (np.abs(np.array(list(found.values.values())) - direct.x) < 1e-2 * errors).all()
    assert found.cost == pytest.approx(direct.cost, rel=1e-5)
    assert (np.abs(direct.x - [6.0, 0.15]) < 4.0 * errors).all()


@pytest.mark.parametrize("loss", ["huber", "cauchy"])
def test_the_noise_is_found_in_spite_of_outliers(loss):
    x = noisy()
    x[::20] += 0.5
    plain = gd.fit(oscillator(), FREE, {X: (TIMES, x)}, method="dop853")
    found = gd.fit(oscillator(5.5, 0.13), {K: 5.5, C: 0.13}, {X: (TIMES, x)}, loss=loss, method="dop853")
    assert plain.standard_errors[K] > 2.0 * found.standard_errors[K]
    assert found.sigma[X][0] == pytest.approx(0.02, rel=0.2)
    assert found.values[K] == pytest.approx(6.0, abs=3.0 * found.standard_errors[K])
    assert found.values[C] == pytest.approx(0.15, abs=3.0 * found.standard_errors[C])


def test_intervals_cover_the_truth_as_often_as_they_say():
    # Four values and one parameter: Student's quantile is 3.18, the normal one would cover 85 %.
    t = np.array([0.4, 0.6, 0.8, 1.0])
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(100):
        z = -0.5 * 9.81 * t**2 + rng.normal(0.0, 0.02, 4)
        fit = gd.fit(ball(), {"gravity[2]": -9.0}, {"ball.position[2]": (t, z)}, engine="serial", method="dopri5")
        low, high = fit.intervals["gravity[2]"]
        covered += low <= -9.81 <= high
    # Binomial, 95 +- 2.2.
    assert 90 <= covered < 100


@pytest.mark.slow
def test_two_intervals_of_an_oscillator_cover_the_truth():
    covered = np.zeros(2, int)
    scaled = []
    for seed in range(25):
        fit = gd.fit(oscillator(), FREE, {X: (TIMES[::5], noisy(seed)[::5])}, engine="serial", method="dop853")
        covered += [fit.intervals[p][0] <= v <= fit.intervals[p][1] for p, v in ((K, 6.0), (C, 0.15))]
        scaled.append([(fit.values[p] - v) / fit.standard_errors[p] for p, v in ((K, 6.0), (C, 0.15))])
    # Binomial, 23.8 +- 1.1; errors over standard errors have the variance 1 +- 0.28 each.
    assert (covered >= 20).all()
    assert (np.mean(np.square(scaled), axis=0) < 2.0).all()
    assert (np.mean(np.square(scaled), axis=0) > 0.4).all()


def hose(young=4e6, factor=1e-2):
    rubber = gd.Material(young=young, poisson=0.5, density=1100)
    rod = gd.Rod(
        "hose", 1.0, 8, gd.Circle(radius=1e-2), rubber, damping=gd.Damping(factor=factor), start=gd.Clamped(),
        mass="blended", initial=gd.Straight((0, 0, 0), (0, 1, 0)),
    )  # fmt: skip
    return gd.System(rods=[rod])


def test_modulus_and_damping_of_a_swinging_hose():
    t = 0.01 * np.arange(1, 151)
    tip = gd.simulate(hose(5e6, 2e-2), 1.5, method="radau5", rtol=1e-7, output=t)["hose"].positions[:, -1]
    tip = tip + np.random.default_rng(11).normal(0.0, 2e-3, tip.shape)
    free = {"hose.material.young": (4e6, 1e5, 1e8), "hose.damping.factor": (1e-2, 1e-4, 1.0)}
    found = gd.fit(hose(), free, {"hose.positions[-1]": (t, tip)}, method="rodas", rtol=1e-4)
    assert found.values == pytest.approx({"hose.material.young": 5e6, "hose.damping.factor": 2e-2}, rel=0.02)
    assert found.standard_errors["hose.material.young"] < 5e3
    assert found.standard_errors["hose.damping.factor"] < 1e-4
    assert found.sigma["hose.positions[-1]"][0, 0] == pytest.approx(2e-3, rel=0.1)
    assert found.evaluations < 50
    assert found.system.rod("hose").material.young == found.values["hose.material.young"]


@pytest.mark.slow
def test_intervals_of_the_hose_cover_the_truth():
    benchmark = runpy.run_path(str(ROOT / "benchmarks" / "fit.py"))
    errors, covered, _ = benchmark["repeats"](100)
    assert (np.abs(errors) < 0.02).all()
    assert (covered.sum(axis=0) >= 90).all()


# --- derivatives -----------------------------------------------------------------------------------------------------


def sensitivity(free, jacobian="central", system=None, **run):
    problems: list[str] = []
    curves = read_curves({X: (TIMES, noisy())}, None, problems)
    vary = {p.path: [p.guess] for p in free}
    plan = make_plan(system or oscillator(), vary, {X: History(X, times=TIMES)}, 3.0, design="together", **run)
    with batches("serial", None, plan) as runner:
        return Sensitivity(plan, free, curves, runner, jacobian)


def slopes(k, c, step=1e-6):
    return np.stack(
        [(swing(TIMES, k + a, c + b) - swing(TIMES, k - a, c - b)) / (2 * step) for a, b in np.eye(2) * step]
    ).T


@pytest.mark.parametrize(("jacobian", "error"), [("central", 3e-5), ("forward", 2e-3)])
def test_derivatives_are_those_of_the_formula(jacobian, error):
    free = [Parameter(K, 5.0, 1.0, 20.0), Parameter(C, 0.1)]
    problem = sensitivity(free, jacobian, rtol=1e-6)
    J = problem.point(problem.guess, range(2)).jacobian(range(2))
    exact = slopes(5.0, 0.1) * [5.0, 0.1]  # by ln k and by c / 0.1
    assert (np.linalg.norm(J - exact, axis=0) < error * np.linalg.norm(exact, axis=0)).all()
    assert problem.runs == (5 if jacobian == "central" else 3)
    problem.point(problem.guess, range(2))
    assert problem.runs == (5 if jacobian == "central" else 3)  # known


@pytest.mark.parametrize("side", ["low", "high"])
def test_derivatives_at_a_bound_stay_inside(side):
    bounds = (5.0, 20.0) if side == "low" else (1.0, 5.0)
    problem = sensitivity([Parameter(K, 5.0, *bounds), Parameter(C, 0.1)], rtol=1e-9)
    seen = []
    runner = problem.runner
    problem.runner = lambda plan: (seen.extend(plan.parameters(0, plan.size)[K]), runner(plan))[1]
    J = problem.point(problem.guess, range(2)).jacobian(range(2))
    exact = slopes(5.0, 0.1) * [5.0, 0.1]
    assert (np.linalg.norm(J - exact, axis=0) < 1e-4 * np.linalg.norm(exact, axis=0)).all()  # of second order
    assert bounds[0] <= min(seen) <= max(seen) <= bounds[1]


def test_forward_differences_find_the_same_with_fewer_runs():
    found = {kind: gd.fit(oscillator(), FREE, {X: (TIMES, noisy())}, jacobian=kind) for kind in ("central", "forward")}
    for path in FREE:
        near = pytest.approx(found["central"].values[path], abs=0.01 * found["central"].standard_errors[path])
        assert found["forward"].values[path] == near
    assert found["forward"].evaluations < 0.7 * found["central"].evaluations


# --- measurements ----------------------------------------------------------------------------------------------------


def test_values_that_are_missing_do_not_count():
    x = noisy()
    gaps = np.where(np.arange(150) % 3 == 1, np.nan, x)
    rows = np.isfinite(gaps)
    found = gd.fit(oscillator(), FREE, {X: (TIMES, gaps)}, **EXACT)
    same = gd.fit(oscillator(), FREE, {X: (TIMES[rows], x[rows])}, **EXACT)
    assert found.values == pytest.approx(same.values, rel=1e-6)
    assert found.covariance == pytest.approx(same.covariance, rel=1e-4)
    assert np.isnan(found.residuals[X][~rows]).all()
    assert found.freedom == rows.sum() - 2


def test_quantities_with_their_own_times_and_noise():
    rng = np.random.default_rng(2)
    late = np.linspace(0.5, 2.5, 40)
    speed = np.gradient(swing(np.linspace(0, 3, 30001), 6.0, 0.15), 1e-4)[np.round(late * 1e4).astype(int)]
    measured = {X: (TIMES, noisy()), "block.velocity[0]": (late, speed + rng.normal(0.0, 0.3, 40))}
    found = gd.fit(oscillator(), FREE, measured, **EXACT)
    assert found.sigma[X][0] == pytest.approx(0.02, rel=0.15)
    assert found.sigma["block.velocity[0]"][0] == pytest.approx(0.3, rel=0.3)
    assert found.freedom == 188
    # With the noise that was found, given as known, nothing changes.
    known = {name: (*pair, found.sigma[name]) for name, pair in measured.items()}
    again = gd.fit(oscillator(), FREE, known, **EXACT)
    for path in FREE:
        assert again.values[path] == pytest.approx(found.values[path], abs=0.01 * found.standard_errors[path])
        assert again.standard_errors[path] == pytest.approx(found.standard_errors[path], rel=0.01)
    assert again.chi2 == pytest.approx(1.0, abs=0.01)
    # The worse quantity adds little to the better one, and takes nothing away.
    alone = gd.fit(oscillator(), FREE, {X: measured[X]}, **EXACT)
    assert 0.85 < found.standard_errors[K] / alone.standard_errors[K] < 1.01


def test_noise_free_curves_fit_exactly():
    found = gd.fit(oscillator(), FREE, {X: (TIMES, swing(TIMES, 6.0, 0.15))}, **EXACT)
    assert found.values == pytest.approx({K: 6.0, C: 0.15}, rel=1e-7)
    assert found.converged


def test_functions_files_and_systems_are_models_alike(tmp_path):
    file = tmp_path / "oscillator.yaml"
    oscillator().save(file)
    measured = {X: (TIMES, noisy())}
    by_system = gd.fit(oscillator(), FREE, measured, **EXACT)
    by_file = gd.fit(file, FREE, measured, **EXACT)
    by_function = gd.fit(oscillator, {"stiffness": FREE[K], "damping": FREE[C]}, measured, **EXACT)
    assert by_file.values == by_system.values
    assert list(by_function.values.values()) == pytest.approx(list(by_system.values.values()), rel=1e-9)
    assert by_function.system.joints[0].stiffness == by_function.values["stiffness"]

    def reading(motion):
        return motion["block"].position[:, 0]

    by_reading = gd.fit(oscillator(), FREE, {reading: (TIMES, noisy())}, **EXACT)
    assert by_reading.values == pytest.approx(by_system.values, rel=1e-6)
    assert list(by_reading.residuals) == ["reading"]


def test_engines_agree_to_the_last_bit():
    found = [gd.fit(oscillator(), FREE, {X: (TIMES, noisy())}, engine=e, workers=2) for e in ("serial", "threads")]
    assert found[0].values == found[1].values
    assert (found[0].covariance == found[1].covariance).all()


@pytest.mark.slow
def test_processes_agree_to_the_last_bit():
    found = [gd.fit(oscillator(), FREE, {X: (TIMES, noisy())}, engine=e, workers=2) for e in ("serial", "processes")]
    assert found[0].values == found[1].values
    assert (found[0].covariance == found[1].covariance).all()


def test_forces_in_python_are_fitted_too():
    def pulled(pull):
        force = gd.Force("ball", force=lambda t: np.array([0.0, 0.0, pull]))
        return gd.System([gd.Body("ball", mass=2.0, inertia=(1, 1, 1))], forces=[force], gravity=(0, 0, 0))

    t = np.linspace(0.1, 1.0, 10)
    found = gd.fit(pulled, {"pull": 1.0}, {"ball.position[2]": (t, 0.75 * t**2)}, method="dopri5")
    assert found.values["pull"] == pytest.approx(3.0, rel=1e-9)


# --- what data do not tell -------------------------------------------------------------------------------------------


def test_combinations_that_the_data_do_not_tell():
    free = {K: (5.0, 1.0, 20.0), C: (0.1, 0.01, 1.0), "block.mass": (0.25, 0.01, 5.0)}
    found = gd.fit(oscillator(), free, {X: (TIMES, noisy())})
    assert found.converged
    for path in free:  # the motion depends on the two ratios only
        assert found.standard_errors[path] == np.inf
        assert found.intervals[path] == (0.0, np.inf)
    two = gd.fit(oscillator(), FREE, {X: (TIMES, noisy())})
    mass = found.values["block.mass"]
    assert found.values[K] / mass == pytest.approx(two.values[K] / 0.2, abs=0.05 * two.standard_errors[K] / 0.2)
    assert found.values[C] / mass == pytest.approx(two.values[C] / 0.2, abs=0.05 * two.standard_errors[C] / 0.2)
    assert any(all(repr(path) in note for path in free) and "+1 %, +1 %, +1 %" in note for note in found.notes)
    assert found.freedom == 148
    held = [path for path, (guess, *_) in free.items() if found.values[path] == pytest.approx(guess, rel=1e-12)]
    assert len(held) == 1
    assert any("held as guessed" in note and held[0] in note for note in found.notes)
    assert "inf" in str(found)


def test_products_and_sums_that_the_data_do_not_tell():
    # The axis of a symmetric top depends on the spin times its moment, and on ratios to the mass.
    def top(spin=115.0, across=0.021, along=0.0105, mass=1.1):
        where = {"position": (0, -0.1, 0.2), "orientation": ("313", (0, np.arctan(0.5), 0))}
        inertia = (across, across, along)
        body = gd.Body("top", mass=mass, inertia=inertia, angular_velocity=(0, 0, spin), **where)
        return gd.System([body], [gd.Spherical("ground", "top", at=(0, 0, 0))])

    t = np.linspace(0.0, 0.3, 31)
    x = gd.simulate(top(120.0, 0.02, 0.01, 1.0), 0.3, rtol=1e-9, output=t)["top"].position
    x = x + np.random.default_rng(0).normal(0.0, 1e-3, x.shape)
    free = {"spin": 115.0, "across": (0.021, 1e-3, 0.1), "along": (0.0105, 1e-3, 0.1), "mass": 1.1}
    found = gd.fit(top, free, {"top.position": (t, x)}, rtol=1e-8, engine="serial")
    assert found.converged
    assert found.freedom == 91
    assert np.isinf(list(found.standard_errors.values())).all()
    spun = found.values["spin"] * found.values["along"] / found.values["across"]
    assert spun == pytest.approx(60.0, rel=0.03)
    assert found.values["mass"] / found.values["across"] == pytest.approx(50.0, rel=0.03)
    assert sum("cannot distinguish" in note for note in found.notes) == 2

    def ball(one, two):
        return gd.System([gd.Body("ball", mass=1.0, inertia=(1, 1, 1), velocity=(one + two, 0, 0))])

    line = 3.0 * t + 1e-3 * np.random.default_rng(1).normal(size=31)
    for free in ({"one": 1.0, "two": 0.5}, {"one": (1.0, 0.1, 10.0), "two": (0.5, 0.1, 10.0)}):
        found = gd.fit(ball, free, {"ball.position[0]": (t, line)}, engine="serial")
        assert sum(found.values.values()) == pytest.approx(3.0, rel=0.01)
        assert np.isinf(list(found.standard_errors.values())).all()
        assert "distinguish 'one' and 'two':" in found.notes[0]


def test_a_parameter_without_effect():
    found = gd.fit(oscillator(), {**FREE, "block.inertia[0, 0]": 1.0}, {X: (TIMES, noisy())})
    alone = gd.fit(oscillator(), FREE, {X: (TIMES, noisy())})
    assert found.values["block.inertia[0, 0]"] == 1.0
    assert found.intervals["block.inertia[0, 0]"] == (-np.inf, np.inf)
    for path in FREE:
        assert found.intervals[path] == pytest.approx(alone.intervals[path], rel=1e-6)
    assert any("determine nothing about 'block.inertia[0, 0]'" in note for note in found.notes)


def test_nothing_that_tells():
    found = gd.fit(oscillator(), {"block.inertia[0, 0]": 1.0}, {X: (TIMES, noisy())})
    assert found.values == {"block.inertia[0, 0]": 1.0}
    assert found.standard_errors["block.inertia[0, 0]"] == np.inf


def test_a_parameter_at_its_bound_is_told():
    found = gd.fit(oscillator(), {K: (5.0, 1.0, 5.5), C: (0.1, 0.01, 1.0)}, {X: (TIMES, noisy(), 0.02)})
    assert found.values[K] == pytest.approx(5.5, rel=1e-3)
    assert found.intervals[K][1] <= 5.5
    assert any("upper bound 5.5" in note for note in found.notes)
    assert any("times as large as sigma says" in note for note in found.notes)
    fine = gd.fit(oscillator(), FREE, {X: (TIMES, noisy(), 0.02)})
    assert fine.notes == ()


def test_a_wrong_valley_is_told():
    found = gd.fit(oscillator(), {K: (60.0, 40.0, 100.0)}, {X: (TIMES, noisy())})
    assert any("wrong valley" in note for note in found.notes)


# --- guesses at which a parameter has no effect ----------------------------------------------------------------------

FRAMES = 0.02 * np.arange(1, 26)
YOUNG, FACTOR = "hose.material.young", "hose.damping.factor"


def filmed(factor=2e-2, sigma=None):
    tip = gd.simulate(hose(5e6, factor), 0.5, method="rodas", rtol=1e-6, output=FRAMES)["hose"].positions[:, -1]
    tip = tip + np.random.default_rng(0).normal(0.0, 2e-3, tip.shape)
    return {"hose.positions[-1]": (FRAMES, tip) if sigma is None else (FRAMES, tip, sigma)}


@pytest.mark.spread(0)
@pytest.mark.parametrize(
    ("young", "damping"),
    [
        (4e6, (1e-4, 1e-5, 1.0)),  # by factors of ten, up
        (1e8, (1e-4, 1e-5, 1.0)),
        (4e6, (1e-6, 1e-9, None)),
        (4e6, (1e-6, 0.0, 1.0)),  # by parts of the range
        (4e6, (0.0, 0.0, 1.0)),  # at its bound
    ],
)
def test_a_parameter_without_effect_at_a_guess_far_off_is_found_within_its_bounds(young, damping):
    options = {"method": "rodas", "rtol": 1e-4, "engine": "serial"}
    found = gd.fit(hose(), {YOUNG: (young, 1e5, 1e10), FACTOR: damping}, filmed(), **options)
    near = gd.fit(hose(), {YOUNG: (5e6, 1e5, 1e10), FACTOR: (2e-2, 1e-5, 1.0)}, filmed(), **options)
    assert found.converged
    assert found.notes == ()
    for path, truth in ((YOUNG, 5e6), (FACTOR, 2e-2)):
        assert found.values[path] == pytest.approx(near.values[path], abs=0.05 * near.standard_errors[path])
        assert found.standard_errors[path] == pytest.approx(near.standard_errors[path], rel=0.01)
        assert found.intervals[path][0] < truth < found.intervals[path][1]


@pytest.mark.spread
@pytest.mark.parametrize(
    ("damping", "sentence"),
    [
        ((1e-6, 1e-7, 1e-5), "determine nothing about 'hose.damping.factor': within its bounds it changes no curve"),
        (1e-6, "near the guess (no bounds were given) it changes no curve"),
    ],
)
@pytest.mark.parametrize("sigma", [None, 2e-3])
def test_curves_that_do_not_fit_with_something_held_are_doubtful(damping, sentence, sigma):
    found = gd.fit(hose(), {YOUNG: (4e6, 1e5, 1e10), FACTOR: damping}, filmed(sigma=sigma), method="rodas", rtol=1e-4)
    assert found.values[FACTOR] == pytest.approx(1e-6)
    assert found.status == "doubtful"
    assert not found.converged
    assert "converged" not in str(found)
    assert "do not fit" in found.message
    assert any(sentence in note for note in found.notes)
    assert any("not independent noise" in note for note in found.notes)
    assert any("times as large as sigma says" in note for note in found.notes) is (sigma is not None)


@pytest.mark.spread(0)
@pytest.mark.parametrize("guess", [1e-6, 1e-2])
def test_a_damping_that_is_too_small_to_be_seen(guess):
    # From 1e-2 the search leads to where damping has no effect any more; it is held there, not at the guess.
    free = {YOUNG: (4e6, 1e5, 1e10), FACTOR: (guess, 1e-7, 1.0)}
    found = gd.fit(hose(), free, filmed(1e-9), method="rodas", rtol=1e-4)
    assert found.converged
    assert found.values[FACTOR] < 1e-3
    assert found.values[YOUNG] == pytest.approx(5e6, abs=3.0 * found.standard_errors[YOUNG])
    assert found.sigma["hose.positions[-1]"][0, 0] == pytest.approx(2e-3, rel=0.15)
    assert "It does at 0.0" in found.notes[0]
    assert "no better fit was found" in found.notes[0]
    assert ("held as guessed" in found.notes[1]) is (guess == 1e-6)


def test_residuals_that_follow_each_other_are_told():
    drift = 0.05 * np.sin(2.0 * TIMES)  # nothing of the spring
    found = gd.fit(oscillator(), FREE, {X: (TIMES, noisy() + drift)})
    assert any("are not independent noise" in note and repr(X) in note for note in found.notes)
    assert found.converged  # nothing is held
    for seed in range(5):
        assert gd.fit(oscillator(), FREE, {X: (TIMES, noisy(seed))}, method="dop853").notes == ()


def test_parameters_that_are_hardly_told_have_a_sentence_each():
    t = np.linspace(0.1, 1.0, 10)
    z = -0.5 * 9.81 * t**2 + np.random.default_rng(3).normal(0.0, 0.01, 10)
    pushed = {"ball.velocity[0]": (0.5, 0.01, 10.0), "ball.velocity[1]": (0.5, 0.01, 10.0)}
    measured = {"ball.position[2]": (t, z), "ball.position[0]": (t, t, 20.0), "ball.position[1]": (t, t, 20.0)}
    found = gd.fit(ball(), {"gravity[2]": -9.0, **pushed}, measured)
    vague = [note for note in found.notes if "hardly determine" in note]
    assert [next(path for path in pushed if path in note) for note in vague] == list(pushed)
    assert all("times as large and" in note and note.endswith("within one standard error.") for note in vague)


# --- runs that fail --------------------------------------------------------------------------------------------------


def fragile(stiffness, damping=0.15):
    if not 3.0 <= stiffness <= 6.2:
        raise ValueError(f"a stiffness of {stiffness:g} breaks it.")
    return oscillator(stiffness, damping)


def test_runs_that_fail_make_the_search_step_back():
    found = gd.fit(fragile, {"stiffness": 4.5}, {X: (TIMES, noisy())}, **EXACT)
    assert found.values["stiffness"] == pytest.approx(6.0, abs=4.0 * found.standard_errors["stiffness"])
    at_the_edge = gd.fit(fragile, {"stiffness": 6.2}, {X: (TIMES, noisy())}, **EXACT)  # one side only
    assert at_the_edge.values["stiffness"] == pytest.approx(found.values["stiffness"], rel=1e-5)
    with pytest.raises(ValueError, match="cannot be made with the guess: a stiffness of 7 breaks it"):
        gd.fit(fragile, {"stiffness": 7.0}, {X: (TIMES, noisy())})
    with pytest.raises(ValueError, match=r"the run with the guess, block.mass = -1, fails: .*mass"):
        gd.fit(oscillator(), {"block.mass": -1.0}, {X: (TIMES, noisy())})


def test_runs_that_end_too_early():
    with pytest.raises(ValueError, match="ended before the last measurement"):
        gd.fit(oscillator(limits=(-2.0, 0.3)), FREE, {X: (TIMES, noisy())})


def test_a_search_that_is_cut_short_says_so():
    found = gd.fit(oscillator(), FREE, {X: (TIMES, noisy())}, iterations=1)
    assert not found.converged
    assert found.status == "stopped"
    assert "raise iterations" in found.message
    assert gd.fit(oscillator(), FREE, {X: (TIMES, noisy())}).status == "converged"


# --- what comes out --------------------------------------------------------------------------------------------------


def test_the_result_predicts_prints_draws_and_travels(tmp_path):
    pytest.importorskip("matplotlib")
    measured = {X: (TIMES, noisy())}
    found = gd.fit(oscillator(), FREE, measured, **EXACT)
    values = found.values[K], found.values[C]
    assert found.predict()[X] == pytest.approx(swing(TIMES, *values), abs=1e-7)
    later = np.array([0.0, 1.0, 4.0])
    assert found.predict(later)[X] == pytest.approx(swing(later, *values), abs=1e-7)
    assert found.motion["block"].position[-1, 0] == pytest.approx(swing(3.0, *values), abs=1e-7)
    sigma = found.sigma[X][0]
    assert found.predict()[X] - measured[X][1] == pytest.approx(sigma * found.residuals[X], abs=1e-6)
    text = str(found)
    assert "2 parameters from 150 measured values" in text
    assert K in text
    assert "95 % interval" in text
    assert "(estimated)" in text
    found.plot(file=tmp_path / "fit.png")
    assert (tmp_path / "fit.png").stat().st_size > 10_000
    with pytest.raises(ValueError, match=r"Did you mean 'block.position\[0\]'"):
        found.plot(names="block.positon[0]")
    with pytest.raises(ValueError, match="before the start"):
        found.predict([-1.0, 1.0])
    assert pickle.loads(pickle.dumps(found)).values == found.values


def test_several_quantities_are_drawn_side_by_side(tmp_path):
    pytest.importorskip("matplotlib")
    wide = np.full((150, 3), np.nan)
    wide[:, 0] = noisy(1)
    measured = {X: (TIMES, noisy()), "block.position": (TIMES, wide), "norm block.velocity": ([0.1, 0.2], [2.0, 1.0])}
    found = gd.fit(oscillator(), FREE, measured, method="dop853")
    figure = found.plot()
    assert sum(ax.get_visible() for ax in figure.axes) == 6
    assert len(found.plot(names=X).axes) == 2


# --- bad input -------------------------------------------------------------------------------------------------------


def test_a_column_is_a_curve_of_numbers():
    x, sigma = noisy(), np.linspace(0.01, 0.03, 150)
    plain = gd.fit(oscillator(), FREE, {X: (TIMES, x, sigma)})
    for values, noise in ((x[:, None], sigma), (x[:, None], sigma[:, None]), (x, sigma[:, None])):
        found = gd.fit(oscillator(), FREE, {X: (TIMES, values, noise)})
        assert found.values == plain.values
        assert found.residuals[X].shape == (150,)


def test_progress_shows_iterations_cost_and_rate(capsys):
    gd.fit(oscillator(), FREE, {X: (TIMES, noisy())})
    assert capsys.readouterr().err == ""
    shown = []
    Search(sensitivity([Parameter(K, 5.0, 1.0, 20.0), Parameter(C, 0.1)]), "linear", 50, shown.append).rounds()
    assert shown[0] == "the first runs, to t = 3, with the guess"
    form = r"(\d+) iterations, cost (\S+), residuals (\S+) sigma, (\d+) runs, (\S+) runs/s"
    rows = np.array([[float(x) for x in re.fullmatch(form, line).groups()] for line in shown[1:]])
    assert (np.diff(rows[:, [0, 3]], axis=0) >= 0).all()
    assert rows[-1, 0] > 2
    assert (rows[:, 4] > 0).all()
    gd.fit(oscillator(), FREE, {X: (TIMES, noisy())}, progress=True)
    assert "to t = 3" in capsys.readouterr().err


def test_sentences_name_things_once_and_as_they_were_given():
    with pytest.raises(ValueError, match=r".") as caught:
        gd.fit(oscillator(), {"spring.stifness": 5.0}, {X: (TIMES[::-1], noisy()), "block.position[1]": GOOD})
    first, second = caught.value.problems
    assert first == f"measurements[{X!r}]: times must increase, but times[0] = 3 is followed by times[1] = 2.98."
    assert second.startswith("free['spring.stifness']: 'stifness' is unknown")


GOOD = (TIMES, noisy())
BAD = {
    "empty measurements": ({}, FREE, {}, "measurements must be a dictionary"),
    "no dictionary": ([1], FREE, {}, "measurements must be a dictionary"),
    "empty free": ({X: GOOD}, {}, {}, "free must be a dictionary"),
    "no pair": ({X: TIMES}, FREE, {}, "must be (times, values) or (times, values, sigma)"),
    "unsorted": ({X: (TIMES[::-1], GOOD[1])}, FREE, {}, "must increase"),
    "before": ({X: (TIMES - 1.0, GOOD[1])}, FREE, {}, "lies before the start"),
    "beyond": ({X: GOOD}, FREE, {"t_end": 2.0}, "the time 3 lies beyond t_end = 2"),
    "lengths": ({X: (TIMES, GOOD[1][:-1])}, FREE, {}, "150 times, but 149 values"),
    "shapes": ({"block.position": GOOD}, FREE, {}, "the quantity at these times has (150, 3)"),
    "words": ({X: (TIMES, ["a"] * 150)}, FREE, {}, "values must be real numbers"),
    "infinite": ({X: (TIMES, np.full(150, np.inf))}, FREE, {}, "NaN stands for one that is missing"),
    "all missing": ({X: (TIMES, np.full(150, np.nan))}, FREE, {}, "all values are missing"),
    "negative sigma": ({X: (*GOOD, -1.0)}, FREE, {}, "must be positive"),
    "zero sigma": ({X: (*GOOD, np.zeros(150))}, FREE, {}, "must be positive"),
    "sigma's shape": ({X: (*GOOD, np.ones(7))}, FREE, {}, "have the shape (150,)"),
    "too few": ({X: ([1.0], [0.1], 1.0)}, FREE, {}, "1 values cannot determine 2 parameters"),
    "no noise left": ({X: ([1.0, 2.0], [0.1, 0.2])}, FREE, {}, "and the noise; give sigma"),
    "guess outside": ({X: GOOD}, {K: (30.0, 1.0, 20.0)}, {}, "the guess 30 lies outside of its bounds 1 and 20"),
    "bounds": ({X: GOOD}, {K: (3.0, 5.0, 2.0)}, {}, "the lower bound 5 must be less"),
    "two numbers": ({X: GOOD}, {K: (3.0, 5.0)}, {}, "must be a guess, or (guess, low, high)"),
    "a zero guess": ({X: GOOD}, {C: 0.0}, {}, "give (0, low, high)"),
    "a word": ({X: GOOD}, {K: "big"}, {}, "must be a guess"),
    "nan": ({X: GOOD}, {K: np.nan}, {}, "must be finite"),
    "unknown path": ({X: GOOD}, {"spring.stifness": 5.0}, {}, "Did you mean 'stiffness'?"),
    "unknown quantity": ({"block.positon[0]": GOOD}, FREE, {}, "Did you mean 'position'?"),
    "unknown option": ({X: GOOD}, FREE, {"metod": "dop853"}, "Did you mean 'method'?"),
    "loss": ({X: GOOD}, FREE, {"loss": "hubr"}, "Did you mean 'huber'?"),
    "jacobian": ({X: GOOD}, FREE, {"jacobian": "backward"}, "Did you mean 'forward'?"),
    "confidence": ({X: GOOD}, FREE, {"confidence": 95}, "between 0 and 1"),
    "iterations": ({X: GOOD}, FREE, {"iterations": 0}, "at least 1"),
    "engine": ({X: GOOD}, FREE, {"engine": "thread"}, "Did you mean 'threads'?"),
    "workers": ({X: GOOD}, FREE, {"workers": 0}, "workers = 0"),
    "t_end": ({X: GOOD}, FREE, {"t_end": "long"}, "t_end must be a positive number"),
    "at the start": ({X: ([0.0], [0.0], 1.0)}, {K: 5.0}, {}, "all times are 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_told(case):
    measured, free, options, sentence = BAD[case]
    with pytest.raises(ValueError, match=r".") as caught:
        gd.fit(oscillator(), free, measured, **options)
    assert sentence in str(caught.value)


def test_all_problems_come_at_once():
    with pytest.raises(ValueError, match=r".") as caught:
        gd.fit(
            oscillator(), {K: (30.0, 1.0, 20.0), "spring.dampin": 1.0, C: "x"},
            {X: (TIMES, noisy(), -1.0), "block.speed": GOOD, "block.velocity": (TIMES[::-1], 1.0)}, loss="none",
        )  # fmt: skip
    for part in ("outside of its bounds", "'dampin'", "must be a guess", "must be positive", "'speed'", "must increase",
                 "the number 1", "loss = 'none'"):  # fmt: skip
        assert part in str(caught.value)


ANYTHING = st.one_of(
    st.none(), st.booleans(), st.floats(), st.text(max_size=4), st.lists(st.floats(), max_size=4), st.just({}),
    hnp.arrays(float, hnp.array_shapes(max_dims=3, max_side=4)),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.tuples(ANYTHING, ANYTHING) | st.tuples(ANYTHING, ANYTHING, ANYTHING) | ANYTHING, ANYTHING)
def test_whatever_is_given_gets_a_sentence(measured, guess):
    try:
        found = gd.fit(ball(), {"gravity[2]": guess}, {"ball.position[2]": measured}, iterations=2, method="dopri5")
    except ValueError as error:
        assert str(error).strip().endswith((".", "?"))  # noqa: PT017
    else:
        assert np.isfinite(found.values["gravity[2]"])


# --- least squares without a model -----------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", least_squares.LOSSES)
def test_losses_are_those_of_scipy(loss):
    r = np.random.default_rng(0).normal(0.0, 3.0, 50)
    direct = optimize.least_squares(lambda p: r + p, [0.3], loss=loss, max_nfev=1)
    assert least_squares.cost(r + 0.3, loss) == pytest.approx(direct.cost, rel=1e-12)
    z = r * r
    slope, bend = (
        (least_squares.LOSSES[loss](z + 1e-6)[k] - least_squares.LOSSES[loss](z - 1e-6)[k]) / 2e-6 for k in (0, 1)
    )
    assert least_squares.weights(r, loss) == pytest.approx(slope, abs=1e-8)
    assert least_squares.LOSSES[loss](z)[2] == pytest.approx(bend, abs=1e-8)


@given(st.integers(1, 5), st.integers(0, 3), st.integers(0, 10**6))
def test_blind_directions_are_found_and_held(seen, unseen, seed):
    rng = np.random.default_rng(seed)
    p = seen + unseen
    Q = np.linalg.qr(rng.normal(size=(p, p)))[0]
    J = rng.normal(size=(30, seen)) @ Q[:, :seen].T
    blind = least_squares.blind(J, 1e-8)
    assert blind.shape == (p, unseen)
    assert np.abs(J @ blind).max(initial=0.0) < 1e-10
    held = least_squares.pivots(blind)
    assert len(set(held)) == unseen
    free = [k for k in range(p) if k not in held]
    assert np.linalg.matrix_rank(J[:, free], tol=1e-9) == seen
    assert least_squares.leverages(J, blind).sum() == pytest.approx(seen)


def test_the_covariance_of_a_robust_loss_is_that_of_many_repeats():
    rng = np.random.default_rng(4)
    J = np.stack([np.ones(60), np.linspace(-1.0, 1.0, 60)], axis=1)
    found, expected = [], []
    for _ in range(400):
        noise = rng.standard_t(2.5, 60)
        solved = optimize.least_squares(lambda p, e=noise: J @ p - e, [0.0, 0.0], loss="soft_l1")
        found.append(solved.x)
        expected.append(least_squares.spread(solved.fun, "soft_l1", 2))
    plain = np.diag(least_squares.covariance(J, np.zeros((2, 0))))
    assert plain == pytest.approx(np.diag(np.linalg.inv(J.T @ J)), rel=1e-12)
    assert np.mean(expected) * plain == pytest.approx(np.var(found, axis=0), rel=0.2)
