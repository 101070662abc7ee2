"""Samples: functions of time from data, in the core, in files and on the command line."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gyrod as gd
from gyrod import rotations
from gyrod.cli import main
from gyrod.equations import compile_system
from gyrod.equations.signals import Signals
from gyrod.files import dumps, load_model, loads
from gyrod.model.errors import ModelError

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)


def of_core(samples: gd.Samples, t: float) -> tuple[np.ndarray, ...]:
    """Value, first and second derivative of each number as the core finds them."""
    return tuple(np.array(Signals().signal("here", samples, samples.size).jets(t)).T)


def wave(t):
    """A path with its velocity and its acceleration."""
    w, phase = np.array([2.0, 3.0, 1.3]), np.array([0.3, 0.0, 1.0])
    x = np.multiply.outer(t, w) + phase
    return np.sin(x), w * np.cos(x), -w * w * np.sin(x)


# --- curves ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outside", ["refused", "held", "periodic"])
def test_values_and_derivatives_converge_with_the_order_of_the_spline(outside):
    """Errors fall with the powers 6, 5 and 4 of the step; at samples the values are those given."""

    def path(t):
        if outside == "refused":
            return [np.stack(part, axis=-1) for part in ((x[..., 0], x[..., 1], x[..., 2]) for x in wave(t))]
        # In rest at the end t = 3 and at the begin, of which "held" asks; periodic as well.
        u, w = 2.0 * np.pi * t / 3.0, 2.0 * np.pi / 3.0
        f = [u / w - np.sin(u) / w, 1.0 - np.cos(u), w * np.sin(u)]
        if outside == "held":
            return [np.stack([f[k], *np.zeros((2, *np.shape(t)))], axis=-1) for k in range(3)]
        g = [np.cos(u), -w * np.sin(u), -w * w * np.cos(u)]
        return [np.stack([g[k], w**k * np.sin(u + k * np.pi / 2), 0 * u], axis=-1) for k in range(3)]

    errors = []
    between = np.linspace(0.001, 2.999, 501)
    for n in (24, 48):
        t = np.linspace(0.0, 3.0, n + 1)
        samples = gd.Samples(t, path(t)[0], outside=outside)
        assert_allclose(samples(t), path(t)[0], atol=1e-13)
        found = samples(between), samples.velocity(between), samples.acceleration(between)
        errors.append([np.abs(x - y).max() for x, y in zip(found, path(between), strict=True)])
    orders = np.log2(errors[0]) - np.log2(errors[1])
    # "held": the third derivative of this motion jumps at its end, where the curve is one order less.
    assert (orders > np.array([5.5, 4.5, 3.5]) - (2.1 if outside == "held" else 0.0)).all(), orders


def test_the_core_evaluates_the_same_curve_with_exact_derivatives():
    t = np.sort(np.random.default_rng(3).uniform(0.0, 2.0, 40))
    samples = gd.Samples(t, wave(t)[0])
    for x in (t[0], t[7], 1.2345, t[-1]):
        value, rate, second = of_core(samples, x)
        assert_allclose(value, samples(x), rtol=0, atol=1e-12)
        assert_allclose(rate, samples.velocity(x), rtol=0, atol=1e-9)
        assert_allclose(second, samples.acceleration(x), rtol=1e-9, atol=1e-7)
    h = 1e-4
    assert_allclose(samples.velocity(1.1), (samples(1.1 + h) - samples(1.1 - h)) / (2 * h), rtol=0, atol=1e-6)


def test_accelerations_have_no_corner_at_a_sample():
    t = np.linspace(0.0, 1.0, 11)
    samples = gd.Samples(t, np.random.default_rng(0).normal(size=11))
    for inner in t[3:-3]:
        before, after = samples.acceleration([inner - 1e-9, inner + 1e-9])
        assert abs(before - after) < 1e-3 * np.abs(samples.acceleration(t)).max() * 1e-3


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
def test_few_samples_make_a_polynomial(n):
    t = np.linspace(0.0, 1.0, n)
    samples = gd.Samples(t, t ** (n - 1) if n < 7 else t**5)
    assert samples(0.3) == pytest.approx(0.3 ** (n - 1 if n < 7 else 5), abs=1e-14)
    held = gd.Samples(t, t, outside="held")
    assert held.velocity(1.0) == pytest.approx(0.0, abs=1e-12)
    assert held.acceleration(1.0) == pytest.approx(0.0, abs=1e-10)


def test_rotations_follow_exact_coning():
    """The axis of the body goes round a cone: rate and acceleration of the rotation are known exactly."""
    cone, w, spin = 0.5, 3.0, 1.0
    tilt, up = rotations.exp(np.array([cone, 0.0, 0.0])), np.array([0.0, 0.0, 1.0])

    def exact(t):
        turned = rotations.multiply(rotations.exp(np.multiply.outer(w * t, up)), tilt)
        p = rotations.multiply(turned, rotations.exp(np.multiply.outer(spin * t, up)))
        axis = rotations.matrix_from_quaternion(turned) @ up
        omega = w * up + spin * axis
        return p, omega, spin * np.cross(w * up, axis)

    between, errors = np.linspace(0.0, 4.0, 333), []
    for n in (40, 80):
        t = np.linspace(0.0, 4.0, n + 1)
        signs = np.where(np.random.default_rng(1).random(n + 1) < 0.5, -1.0, 1.0)  # of no meaning
        samples = gd.Samples(t, signs[:, None] * exact(t)[0])
        p, omega, alpha = exact(between)
        angle = rotations.log(rotations.multiply(rotations.conjugate(p), samples(between)))
        errors.append(
            [np.abs(x).max() for x in (angle, samples.velocity(between) - omega, samples.acceleration(between) - alpha)]
        )
    orders = np.log2(errors[0]) - np.log2(errors[1])
    assert (orders > [5.5, 4.5, 3.5]).all(), orders
    assert errors[1][2] < 1e-3 * w
    # The core normalises jets: they are those of a unit quaternion.
    value, rate, second = of_core(samples, 1.234)
    assert_allclose(value, samples(1.234), atol=1e-13)
    assert value @ value == pytest.approx(1.0, abs=1e-14)
    assert value @ rate == pytest.approx(0.0, abs=1e-12)
    assert value @ second + rate @ rate == pytest.approx(0.0, abs=1e-10)
    found = 2.0 * rotations.multiply(rate, rotations.conjugate(value))[1:]
    assert_allclose(found, samples.velocity(1.234), atol=1e-12)


def test_rotations_do_not_depend_on_axes_and_forms():
    t = np.linspace(0.0, 1.0, 21)
    v = np.stack([np.sin(3 * t), t, np.cos(t)], axis=-1)
    p = rotations.exp(v)
    turn = rotations.exp(np.array([0.4, -0.3, 1.0]))
    there = 0.4567
    samples = gd.Samples(t, p)
    assert_allclose(
        np.abs(gd.Samples(t, rotations.multiply(turn, p))(there) @ rotations.multiply(turn, samples(there))), 1.0
    )
    assert_allclose(np.abs(gd.Samples(t, rotations.matrix_from_quaternion(p))(there) @ samples(there)), 1.0)
    assert_allclose(np.abs(gd.Samples(t, rotations.to_scipy(p))(there) @ samples(there)), 1.0)
    end = gd.Clamped(at=(0, 0, 0), frame=gd.Samples(t, v))
    assert_allclose(np.abs(end.frame_at(there) @ samples(there)), 1.0)


def test_outside_of_the_samples():
    t = np.linspace(0.5, 2.0, 16)
    held = gd.Samples(t, np.cos(t), outside="held")
    assert held(0.0) == held(0.5) == pytest.approx(np.cos(0.5))
    assert of_core(held, 0.0)[1] == of_core(held, 9.0)[1] == of_core(held, 9.0)[2] == 0.0
    assert of_core(held, 9.0)[0] == pytest.approx(np.cos(2.0))
    assert_allclose([held.velocity(0.5), held.acceleration(2.0)], 0.0, atol=1e-9)
    u = np.linspace(0.0, 2.0, 17)
    round_ = gd.Samples(u, np.cos(np.pi * u), outside="periodic")
    for x in (-0.3, 0.3, 2.3, 20.3):
        assert of_core(round_, x)[0] == pytest.approx(round_(x), abs=1e-12)
        assert round_(x) == pytest.approx(np.cos(np.pi * x), abs=1e-5)
    # A rotation that is back after a turn, with quaternions of the other sign.
    turning = gd.Samples(u, rotations.exp(np.multiply.outer(np.pi * u, [0.0, 0.0, 1.0])), outside="periodic")
    assert_allclose(turning.velocity([0.1, 1.99, 2.01, 5.0]), [[0.0, 0.0, np.pi]] * 4, atol=1e-5)
    with pytest.raises(ValueError, match=r"its samples end at t = 2 s and have no value at t = 2.1"):
        gd.Samples(t, t)(2.1)
    with pytest.raises(ValueError, match=r"its samples begin at t = 0.5 s"):
        gd.Clamped(at=gd.Samples(t, np.zeros((16, 3)))).position_at(0.0)


# --- noise -----------------------------------------------------------------------------------------------------------


def test_smoothing_recovers_accelerations_from_noise_of_a_millimetre():
    """Within the bound of docs/samples.md: acceleration_noise, and what the window cuts of the motion."""
    t = np.arange(0.0, 5.0, 0.01)
    w, size, noise = 4.0, 0.2, 1e-3  # 0.8 m/s, 3.2 m/s^2
    path = size * np.stack([np.cos(w * t), np.sin(w * t), np.sin(w * t + 1.0)], axis=-1)
    for seed in range(3):
        given = path + noise * np.random.default_rng(seed).normal(size=path.shape)
        samples = gd.Samples(t, given, noise=noise)
        error = samples.acceleration(t) + w * w * path
        inner = (t > 2.0 * samples.window * np.pi) & (t < t[-1] - 2.0 * samples.window * np.pi)
        bias = size * w * w * (w * samples.window) ** 6
        assert np.sqrt(np.mean(error[inner] ** 2)) < 1.5 * samples.acceleration_noise + bias
        assert np.sqrt(np.mean(error**2)) < 1.0  # ends as well; the spline through all samples:
        assert np.sqrt(np.mean((gd.Samples(t, given).acceleration(t) + w * w * path) ** 2)) > 10.0
        assert np.sqrt(np.mean((samples(t) - path) ** 2)) < 0.5 * noise


@pytest.mark.parametrize("outside", ["refused", "held", "periodic"])
def test_smoothing_of_rotations(outside):
    """A swing that begins and ends at rest, as "held" asks, and closes, as "periodic" does."""
    t, noise, w = np.linspace(0.0, 2.0, 201), 2e-3, np.pi
    turns = np.multiply.outer(np.array([0.3 * (1 - np.cos(w * t)), 0.3 * w * w * np.cos(w * t)]), [0.0, 0.6, 0.8])
    shaken = noise * np.random.default_rng(5).normal(size=(201, 3))
    shaken[-1] = shaken[0]
    p = rotations.multiply(rotations.exp(shaken), rotations.exp(turns[0]))
    samples = gd.Samples(t, p, noise=noise, outside=outside)
    error = samples.acceleration(t) - turns[1]
    inner = slice(None) if outside == "periodic" else (t > 0.3) & (t < 1.7)
    bias = 0.3 * w * w * (w * samples.window) ** 6
    if outside == "held":  # the acceleration jumps at the end of such a motion, and the curve has to leave it before
        inner = (t > 0.3) & (t < 1.4)
    assert np.sqrt(np.mean(error[inner] ** 2)) < 1.5 * samples.acceleration_noise + bias
    assert samples.acceleration_noise < 0.2
    if outside == "held":
        assert_allclose(samples.velocity(2.0), 0.0, atol=1e-9)
    assert gd.Samples(t, p, outside=outside).window == 0.0 == gd.Samples(t, p).acceleration_noise


def test_little_noise_leaves_the_motion():
    t = np.linspace(0.0, 3.0, 301)
    samples = gd.Samples(t, wave(t)[0], noise=1e-6)
    assert np.sqrt(np.mean((samples(t) - wave(t)[0]) ** 2)) < 1e-6


# --- every place that takes a function -------------------------------------------------------------------------------


def straight(**more):
    shape = gd.Straight(start=(0, 0, 0), end=(0, 0, 0.4))
    return gd.Rod("r", 0.4, 3, gd.Circle(0.01), RUBBER, initial=shape, **more)


T = np.linspace(0.0, 0.2, 12)


def formula(text: str) -> gd.ExpressionVector:
    return gd.ExpressionVector((text, f"0.5*({text})", "0"))


def systems(of, one, frame):
    """A system with a function of time in each place that takes one: vectors ``of`` a formula, ``one`` number."""
    body = {"inertia": (1e-3, 1e-3, 1e-3)}
    guides = [(0.2, (5e-3, 0.0)), (0.9, (5e-3, 0.0))]
    return {
        "clamp": gd.System(rods=[straight(start=gd.Clamped(at=of("0.02*t^3"), frame=frame))]),
        "hinge": gd.System(rods=[straight(start=gd.Hinged(at=of("0.1*t^2 - t^3")))]),
        "gravity": gd.System([gd.Body("b", 1.0, **body)], gravity=of("3 + 10*t - 40*t^3")),
        "force": gd.System([gd.Body("b", 1.0, **body)], forces=[gd.Force("b", of("1+t^2"), at=(0, 0, 0.1))]),
        "torque": gd.System([gd.Body("b", 1.0, **body)], forces=[gd.Torque("b", of("0.01+t^2"))]),
        "load": gd.System(
            rods=[straight(start=gd.Clamped())], forces=[gd.RodLoad("r", force=of("0.1*t"), moment=of("0.001*t^2"))]
        ),
        "follow": gd.System(
            rods=[straight(start=gd.Clamped())], forces=[gd.RodLoad("r", force=of("0.1*t"), follow=True)]
        ),
        "spread": gd.System(
            rods=[straight(start=gd.Clamped())], forces=[gd.RodLoad("r", force=of("0.1*t"), span=(0.2, 0.8))]
        ),
        "tension": gd.System(
            rods=[straight(start=gd.Clamped())], forces=[gd.Tendon("r", guides, tension=one("0.2*t + 1"))]
        ),
        "stretch": gd.System(rods=[straight(start=gd.Clamped(), rest_stretch=one("1 + 0.05*t^2"))]),
        "revolute": gd.System(
            [gd.Body("b", 1.0, **body, position=(0.1, 0, 0))],
            [gd.Revolute("ground", "b", at=(0, 0, 0), axis=(0, 0, 1), drive=one("t^2 - 2*t^3"))],
        ),
        "prismatic": gd.System(
            [gd.Body("b", 1.0, **body)], [gd.Prismatic("ground", "b", at=(0, 0, 0), axis=(0, 0, 1), drive=one("t^2"))]
        ),
        "distance": gd.System(
            [gd.Body("b", 1.0, **body, position=(0.1, 0, 0))],
            [gd.Distance("ground", "b", at_a=(0, 0, 0), at_b=(0, 0, 0), length=one("0.1 + t^2"))],
        ),
    }


def number_of(text: str) -> gd.Samples:
    return gd.Samples(T, [gd.Expression(text)(t) for t in T])


def vector_of(text: str) -> gd.Samples:
    return gd.Samples(T, [formula(text)(t) for t in T])


FORMULAS = systems(formula, gd.Expression, gd.ExpressionVector(("0", "t^2", "0")))
SAMPLED = systems(vector_of, number_of, gd.Samples(T, rotations.exp(np.multiply.outer(T**2, [0.0, 1.0, 0.0]))))


@pytest.mark.parametrize("place", FORMULAS)
def test_every_place_that_takes_a_function_takes_samples(place):
    """Samples of polynomials are these polynomials: the motions are those of formulas."""
    run = {"rtol": 1e-7, "atol": 1e-9}
    wanted, found = gd.simulate(FORMULAS[place], 0.2, **run), gd.simulate(SAMPLED[place], 0.2, **run)
    assert not any("function" in note for note in SAMPLED[place].notes)
    assert_allclose(found.y[-1], wanted.y[-1], rtol=0, atol=2e-6 * max(1.0, np.abs(wanted.y).max()))
    again = loads(dumps(SAMPLED[place])).system
    assert again == SAMPLED[place]
    assert pickle.loads(pickle.dumps(again)) == SAMPLED[place]


def hose(outside="refused", **more):
    """A rod whose start is led by samples of a second."""
    t = np.linspace(0.0, 1.0, 101)
    path = np.stack([0.05 * (1.0 - np.cos(5.0 * t)), 0 * t, 0 * t], axis=-1)
    turn = rotations.exp(np.multiply.outer(0.2 * (1.0 - np.cos(4.0 * t)), [1.0, 0.0, 0.0]))
    start = gd.Clamped(at=gd.Samples(t, path, outside=outside), frame=gd.Samples(t, turn, outside=outside))
    return gd.System(rods=[straight(start=start, **more)], gravity=(0, 0, -9.81))


@pytest.mark.parametrize("method", ["radau5", "rodas", "variational"])
def test_energy_account_of_an_end_that_samples_lead(method):
    step = {"step": 5e-4} if method == "variational" else {"rtol": 1e-7}
    energy = gd.simulate(hose(damping=gd.Damping(factor=0.01)), 0.5, method=method, **step).energy
    assert np.abs(energy.balance).max() < (1e-3 if method == "variational" else 1e-5) * np.abs(energy.work).max()
    assert energy.work[-1] != 0.0
    assert energy.dissipated[-1] > 0.0


LED_RODS = {
    "grid": {"segments": 8},
    "grid with coupling": {"segments": 8, "coupled": True},
    "two segments": {"segments": 2},
    "elements": {"segments": 4, "degree": 3},
    "one element": {"segments": 1, "degree": 2},
}


@pytest.mark.spread
@pytest.mark.parametrize("ends", ["clamped", "hinged", "one"])
@pytest.mark.parametrize("name", LED_RODS)
@pytest.mark.parametrize("formulation", ["nullspace-quaternion", "absolute-quaternion", "nullspace-directors"])
def test_rates_by_the_motion_of_led_ends_are_exact(formulation, name, ends):
    """df/dt at states off equilibrium and off the unit sphere, against differences of the right-hand side."""
    given = dict(LED_RODS[name])
    stiffness = np.diag([40.0, 50.0, 300.0, 0.02, 0.03, 0.02])
    if given.pop("coupled", False):
        stiffness[2, 4] = stiffness[4, 2] = 0.5
    t = np.linspace(0.0, 1.0, 41)
    path = 0.03 * np.stack([np.sin(3 * t), np.cos(2 * t) - 1.0, t * t], axis=-1)
    turn = gd.Samples(t, rotations.exp(np.stack([0.4 * np.sin(2 * t), 0.3 * t * t, 0.2 * t], axis=-1)))

    def end(z):
        at = gd.Samples(t, path + np.array([0, 0, z]))
        return gd.Hinged(at=at) if ends == "hinged" else gd.Clamped(at=at, frame=turn)

    rod = gd.Rod(
        "r", **given, stiffness=stiffness, density_per_length=0.3, rotary_inertia=(2e-5, 2e-5, 4e-5),
        damping=gd.Damping(bending=1e-3, shear=1e-2, extension=1e-2, torsion=1e-3),
        initial=gd.Straight((0, 0, 0), (0, 0, 0.4)), start=end(0.0), end=gd.Free() if ends == "one" else end(0.4),
    )  # fmt: skip
    compiled = compile_system(gd.System(rods=[rod], gravity=(0, 0, -9.81)), formulation)
    core, now = compiled.core, 0.4321
    y = compiled.y0 + 0.02 * np.random.default_rng(2).normal(size=compiled.y0.shape)
    found, h = core.time_derivative(now, y), 2e-4
    wanted = sum(
        c * (core.rhs(now + k * h, y) - core.rhs(now - k * h, y)) for k, c in ((1, 0.75), (2, -0.15), (3, 1.0 / 60.0))
    )
    exact = "directors" not in formulation  # whose coordinates take differences
    assert_allclose(found, wanted / h, rtol=0, atol=(1e-9 if exact else 1e-6) * np.abs(found).max())
    assert np.abs(found).max() > 0.0


def test_results_and_studies_with_samples(tmp_path):
    """Threads integrate without the interpreter's lock, and find what one run finds."""
    system = hose("ended")
    motion = gd.simulate(system, 0.2, rtol=1e-4)
    motion.save(tmp_path / "a.h5")
    again = gd.open(tmp_path / "a.h5")
    assert again.system == system
    assert_allclose(again.energy.balance, motion.energy.balance, rtol=0, atol=1e-14)
    young = [4e6, 5e6]
    found = [
        gd.study(
            system, {"rods[0].material.young": young}, {"z": "r.positions[-1,2]"}, 0.2, engine=engine, rtol=1e-4, **more
        )["z"]
        for engine, more in (("serial", {}), ("threads", {"workers": 2}))
    ]
    assert_array_equal(*found)
    assert found[0][1] == motion["r"].positions[-1, -1, 2]


def test_runs_longer_than_samples():
    with pytest.raises(ModelError, match=r"rods\[0\].start.at = Samples\(101 vec.*: the run goes to t = 1.5 s; end"):
        gd.simulate(hose(), 1.5)
    with pytest.raises(gd.SimulationError, match="its samples go from t = 0 to 1 s; end the run there"):
        gd.stepper(hose()).step(1.5)
    run = {"rtol": 1e-2, "method": "radau5"}
    assert gd.simulate(hose("ended"), 1.5, **run).t[-1] == 1.0
    assert_array_equal(gd.simulate(hose("ended"), 1.5, output=[0.0, 0.5, 1.5], **run).t, [0.0, 0.5, 1.0])
    held = gd.simulate(hose("held"), 1.2, **run)
    assert held.t[-1] == 1.2
    assert_allclose(held["r"].positions[-1, 0], hose().rods[0].start.at.values[-1], atol=1e-12)
    vary, last = {"rods[0].material.young": [4e6]}, {"last": lambda motion: motion.t[-1]}
    study = gd.study(hose("ended"), vary, last, 1.5, engine="serial", **run)
    assert study["last"] == 1.0


# --- bad input -------------------------------------------------------------------------------------------------------


def series(**more):
    return {"times": np.linspace(0.0, 1.0, 9), "values": np.zeros(9)} | more


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"values": np.where(np.arange(9) == 4, np.nan, 0.0)}, r"values\[4\] = nan .* leave out the rows without one"),
        ({"times": [0, 1, 2, 3, 3, 4, 5, 6, 7]}, r"stands still from times\[3\] = 3 .* leave out one of the rows"),
        ({"times": [0, 1, 2, 3, 2, 4, 5, 6, 7]}, r"goes back from times\[3\] = 3 .* sort the rows by time"),
        ({"times": [0, 1, 2, 3, 3 + 1e-12, 4, 5, 6, 7]}, r"stands still from times\[3\] = 3 to times\[4\] = 3;"),
        ({"times": [0, 1e-300, 2e-300, 3, 4, 5, 6, 7, 8]}, r"stands still from times\[0\] = 0 to times\[1\] = 1e-300"),
        ({"values": np.zeros(8)}, "9 times and 8 values"),
        ({"values": np.zeros((9, 2))}, r"got the shape \(9, 2\)"),
        ({"values": np.tile([1.1, 0, 0, 0], (9, 1))}, r"values\[0\] = .* norm 1.1; .*gyrod.rotations.normalize"),
        ({"values": np.tile(1.1 * np.eye(3), (9, 1, 1))}, "not a rotation matrix"),
        ({"values": rotations.exp(np.multiply.outer(2.2 * np.arange(9), [0, 0, 1]))}, "126.1 degrees apart"),
        ({"noise": 0.0}, "noise must be a positive"),
        ({"times": [0, 1], "values": [0, 1], "noise": 1.0}, "needs 8 samples or more"),
        ({"outside": "hold"}, "Did you mean 'held'"),
        ({"values": np.arange(9.0), "outside": "periodic"}, r"values\[8\] = 8.0 must be values\[0\] = 0.0 again"),
        ({"times": ["a"] * 9}, r"times must be increasing times"),
        ({"times": [0.0], "values": [1.0]}, "two increasing times or more"),
    ],
)
def test_bad_series(given, sentence):
    with pytest.raises(ModelError, match=sentence):
        gd.Samples(**series(**given))


def test_quaternions_with_few_digits_and_any_sign():
    t = np.linspace(0.0, 1.0, 21)
    p = rotations.exp(np.multiply.outer(3.0 * t, [0.6, 0.0, 0.8]))
    samples = gd.Samples(t, np.round(p, 4) * np.where(np.arange(21) % 2, -1.0, 1.0)[:, None])
    assert_allclose(np.linalg.norm(samples.values, axis=1), 1.0, atol=1e-15)
    assert_allclose(samples(t), p, atol=1e-4)
    assert (np.sum(samples.values[1:] * samples.values[:-1], axis=1) > 0.0).all()


def test_samples_of_a_wrong_kind():
    one, three = gd.Samples(**series()), gd.Samples(**series(values=np.zeros((9, 3))))
    four = gd.Samples(**series(values=np.tile([1.0, 0, 0, 0], (9, 1))))
    for make in (
        lambda: gd.Clamped(at=one),
        lambda: gd.Clamped(frame=one),
        lambda: gd.Hinged(at=four),
        lambda: gd.Force("b", one),
        lambda: gd.RodLoad("r", force=four),
        lambda: gd.Tendon("r", [(0.2, (0, 0)), (0.9, (0, 0))], tension=three),
        lambda: gd.Revolute("ground", "b", at=(0, 0, 0), axis=(0, 0, 1), drive=three),
        lambda: gd.System(gravity=one),
        lambda: straight(rest_stretch=three),
    ):
        with pytest.raises(ModelError, match=r"gives (number|vector|rotation)s where|must be (a number|three num)"):
            make()


# --- files -----------------------------------------------------------------------------------------------------------

MODEL = """
gyrod: 1
gravity: [0, 0, -9.81]
rods:
  - name: r
    length: 0.4
    segments: 3
    section: {circle: {radius: 10 mm}}
    material: {young: 5 MPa, poisson: 0.5, density: 1100}
    initial: {straight: {start: [0, 0, 0], end: [0, 0, 0.4]}}
    start:
      clamped:
        at: {sample_file: {file: ends.csv, columns: [x, y, z], outside: ended}}
        frame: {sample_file: {file: ends.csv, columns: [qw, qx, qy, qz], outside: held}}
run: {until: 1, rtol: 1e-3}
"""
HEADER = "t [ms],x [mm],y [mm],z [mm],qw,qx,qy,qz"


@pytest.fixture
def folder(tmp_path):
    """A model, and the series that it names: 2 s with a gap, in mm and ms."""
    t = np.delete(np.linspace(0.0, 2.0, 41), slice(10, 15))
    p = rotations.exp(np.multiply.outer(0.1 * t**2, [1.0, 0.0, 0.0]))
    rows = np.column_stack([1e3 * t, 50.0 * t**2, 0 * t, 0 * t, p])
    np.savetxt(tmp_path / "ends.csv", rows, delimiter=",", header=HEADER, comments="", fmt="%.12g")
    (tmp_path / "model.yaml").write_text(MODEL)
    return tmp_path


def test_series_from_csv_with_units(folder):
    system = load_model(folder / "model.yaml").system
    at, frame = system.rods[0].start.at, system.rods[0].start.frame
    assert_allclose(at(1.0), [0.05, 0.0, 0.0], atol=1e-12)
    assert_allclose(at.acceleration(1.3), [0.1, 0.0, 0.0], atol=1e-9)
    assert (at.outside, frame.kind, at.end) == ("ended", "rotation", 2.0)
    assert loads(dumps(system)).system == system  # numbers and all, without the other file
    same = gd.read_samples(folder / "ends.csv", ["x", "y", "z"], outside="ended")
    assert same == at
    later = gd.read_samples(folder / "ends.csv", "x", origin=0.5)
    assert later(0.0) == pytest.approx(0.0125)
    text = (folder / "ends.csv").read_text().replace(".", ",").splitlines()
    columns = [line.replace(",", ";") for line in text[:1]] + [";".join(["0", "1,5"] + ["0"] * 6), "10;2" + ";0" * 6]
    (folder / "other.csv").write_text("\n".join(["# measured", *columns]))
    assert_allclose(gd.read_samples(folder / "other.csv", "x").values, [1.5e-3, 2e-3])


def test_check_reports_series(folder, capsys):
    def check(*more):
        with pytest.raises(SystemExit, match="0"):
            main(["check", str(folder / "model.yaml"), *more])
        return capsys.readouterr().out

    out = " ".join(check().split())
    assert "rods[0].start.at: 36 vectors from t = 0 to 2 s" in out
    assert "a gap from 0.45 to 0.75 s; at most 0.2 m/s at t = 2 s; 0.1 m/s^2" in out
    assert "rods[0].start.frame: 36 rotations" in out
    first = json.loads(check("--json", "-"))["samples"][0]
    assert (first["start"], first["end"], first["gaps"], first["unit"]) == (0.0, 2.0, [[0.45, 0.75]], "m")
    assert (first["speed"], first["acceleration"]) == pytest.approx((0.2, 0.1))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("[x, y, z]", "[x, y, zz]", r"at.sample_file: file = 'ends.csv' has no column 'zz'; .* Did you mean 'z'"),
        ("ends.csv, columns: [x", "../ends.csv, columns: [x", "lies outside of the folder of the model"),
        ("ends.csv, columns: [x", "none.csv, columns: [x", "'none.csv' does not exist"),
        ("outside: ended", "units: N", "'x' is in 'mm', but units say 'N'"),
        ("outside: ended", "noise: 1 N", "'1 N' has the wrong unit: m is expected"),
        ("[qw, qx, qy, qz]", "[x, y, z]", "'x' is in 'mm'; rad is expected"),
        ("[x, y, z]", "[x, y]", "must be 1 column for numbers, 3 for vectors, 4 for quaternions"),
        ("{sample_file: {file: ends.csv, columns: [x, y, z], outside: ended}}",
         "{samples: {times: [0, 1], values: [[0, 0, 0], [1 N, 0, 0]]}}", "'1 N' has the wrong unit: m is expected"),
        ("{sample_file: {file: ends.csv, columns: [x, y, z], outside: ended}}",
         "{samples: {times: [0, 0], values: [[0, 0, 0], [0, 0, 0]]}}", "stands still from"),
    ],
)  # fmt: skip
def test_bad_series_in_files(folder, old, new, sentence):
    assert old in MODEL
    (folder / "model.yaml").write_text(MODEL.replace(old, new))
    with pytest.raises(gd.ModelFileError, match=sentence):
        load_model(folder / "model.yaml")


@pytest.mark.parametrize(
    ("line", "new", "sentence"),
    [
        (1, HEADER.replace("x [mm]", "x"), "'x' has no unit; write it in the first line as 'x"),
        (1, HEADER.replace("x [mm]", "x [miles]"), "'x': .*miles"),
        (1, HEADER.replace("y [mm]", "y [kg]"), "'y' is in 'kg'; m is expected"),
        (1, HEADER + ",x [mm]", "'ends.csv' has several columns 'x'; call them differently"),
        (1, HEADER.replace("qw", "qw [mm]"), "'qw' is in 'mm'; a plain number is expected"),
        (4, "100,abc,0,0,1,0,0,0", "line 4: 'abc' is not a number in column 'x'"),
        (4, "100", "line 4: nothing stands in column 'x'"),
        (4, "100,nan,0,0,1,0,0,0", r"values\[2, 0\] = nan"),
        (4, "50,0,0,0,1,0,0,0", "stands still"),
        (4, "100,0,0,0,1,1,0,0", "is a quaternion of norm 1.41"),
    ],
)
def test_bad_csv(folder, line, new, sentence):
    lines = (folder / "ends.csv").read_text().splitlines()
    lines[line - 1] = new
    (folder / "ends.csv").write_text("\n".join(lines))
    with pytest.raises(gd.ModelFileError, match=sentence):
        load_model(folder / "model.yaml")


def test_columns_of_a_series_are_of_one_kind(folder):
    file = folder / "ends.csv"
    file.write_text("t [ms],x [mm],y [m],z [mm]\n0,1,0.002,3\n1,0,0,0\n")
    assert_allclose(gd.read_samples(file, ["x", "y", "z"]).values[0], [1e-3, 2e-3, 3e-3])
    file.write_text("t [ms],x [mm],y [kg],z [mm]\n0,0,0,0\n1,0,0,0\n")
    with pytest.raises(ValueError, match="the column 'y' is in 'kg'; mm is expected"):
        gd.read_samples(file, ["x", "y", "z"])


def test_a_text_names_no_files():
    with pytest.raises(gd.ModelFileError, match="can be read only by a model that is a file itself"):
        loads(MODEL)
