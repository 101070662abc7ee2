"""Outputs: quantities are read as the motion has them, and what is kept of them is exact to the dense output."""

from __future__ import annotations

import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ellipk

import gyrod as gd
from gyrod.motion.readings import Quantity, quantity
from gyrod.quantities import DRIFT, ENERGY, FIELDS
from gyrod.quantities import MOTION as WHOLE
from gyrod.studies.outputs import OUTPUTS, Custom, History, Measured, Output, output

BODY = gd.Body("top.1", mass=2.0, inertia=(1.0, 2.0, 3.0), position=(0, 0, 0.3), angular_velocity=(0.3, 5.0, 0.1))
ROD = gd.Rod(
    "hose", length=1.0, segments=5, section=gd.Circle(5e-3), initial=gd.Straight((0, 1, 0), (0, 2, 0)),
    material=gd.Material(young=5e6, poisson=0.5, density=1100), start=gd.Clamped("ground"),
    damping=gd.Damping(shear=1e-2, extension=1e-2, bending=1e-4, torsion=1e-4),
)  # fmt: skip
ARM = gd.Body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(1.0, 0, 0))
HINGE = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), name="hinge")
SLIDER = gd.Cylindrical("ground", "top.1", at=(0, 0, 0.3), axis=(0, 0, 1), name="slider")
SENSORS = [gd.PointSensor("tip", "hose", at=1.0), gd.JointSensor("angle", "hinge"), gd.RotationSensor("att", "arm")]
CLIP = gd.Clip("hose", 0.5, kind="ball", name="clip")
FLOOR = gd.Contact("hose", gd.Plane((0, 0, -5)), stiffness=1e4, name="floor")
EVERYTHING = gd.System([BODY, ARM], [HINGE], [ROD], forces=[CLIP], sensors=SENSORS, contacts=[FLOOR])
FLIP = gd.System([BODY], gravity=(0, 0, 0))
PENDULUM = gd.System([ARM.with_(angular_velocity=(0, 0, 0))], [HINGE])


@pytest.fixture(scope="module")
def motion():
    return gd.simulate(EVERYTHING, 0.5, rtol=1e-5)


@pytest.fixture(scope="module")
def flip():
    return gd.simulate(FLIP, 6.0, method="dop853", rtol=1e-8)


@pytest.fixture(scope="module")
def swing():
    return gd.simulate(PENDULUM, 5.0, method="dop853", rtol=1e-10)


def kept(given: Output | str, motion: gd.Motion) -> np.ndarray:
    found = output(given).bound("x", motion.system, float(motion.t[-1])).evaluate(motion)
    assert found.dtype == np.float64
    return found


def read(text: str, motion: gd.Motion) -> np.ndarray:
    return quantity(text, motion.system).read(motion)


# --- quantities ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("top.1.position", lambda m: m["top.1"].position),
        ("top.1.Omega[1]", lambda m: m["top.1"].Omega[:, 1]),
        ("top.1.matrix[:, 2]", lambda m: m["top.1"].matrix[:, :, 2]),
        (" top.1.matrix[ 0:2 , -1 ] ", lambda m: m["top.1"].matrix[:, 0:2, -1]),
        ("norm top.1.velocity", lambda m: np.linalg.norm(m["top.1"].velocity, axis=1)),
        ("abs top.1.velocity[2]", lambda m: np.abs(m["top.1"].velocity[:, 2])),
        ("norm energy.potential", lambda m: np.abs(m.energy.potential)),
        ("hose.positions[-1]", lambda m: m["hose"].positions[:, -1]),
        ("hose.moment[0, 1]", lambda m: m["hose"].moment[:, 0, 1]),
        ("hose.force[1:3]", lambda m: m["hose"].force[:, 1:3]),
        ("norm hose.positions[:-1]", lambda m: np.linalg.norm(m["hose"].positions[:, :-1], axis=-1)),
        ("hose.stress", lambda m: m.stress("hose")),
        ("hinge.coordinate", lambda m: m["hinge"].coordinates[:, 0]),
        ("hinge.rates[0]", lambda m: m["hinge"].rates[:, 0]),
        ("hinge.force", lambda m: m["hinge"].force),
        ("tip[2]", lambda m: m.sensors["tip"][:, 2]),
        ("sensors.tip", lambda m: m.sensors["tip"]),
        ("energy.total", lambda m: m.energy.total),
        ("energy.dissipated", lambda m: m.energy.dissipated),
        ("drift.velocity", lambda m: m.drift.velocity),
        ("angular_momentum[0]", lambda m: m.angular_momentum[:, 0]),
        ("hose.positions[-1][2]", lambda m: m["hose"].positions[:, -1, 2]),
        ("hose.positions[::2, 2]", lambda m: m["hose"].positions[:, ::2, 2]),
        ("hose.positions[3:0:-1]", lambda m: m["hose"].positions[:, 3:0:-1]),
        ("t", lambda m: m.t),
    ],
)
def test_quantities_are_fields_of_the_motion(motion, text, wanted):
    found = quantity(text, EVERYTHING)
    np.testing.assert_array_equal(found.read(motion), wanted(motion))
    assert found.text == text.strip()
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.describe() == text.strip()


NAMES = {"body": "arm", "rod": "hose", "joint": "hinge", "clip": "clip", "contact": "floor"}
NAMES |= {"energy": "energy", "drift": "drift"}


@pytest.mark.parametrize("text", [f"{NAMES[kind]}.{field}" for kind in FIELDS for field in FIELDS[kind]] + list(WHOLE))
def test_every_field_is_an_array_with_time_first(motion, text):
    found = read(text, motion)
    assert found.shape[0] == len(motion.t)
    assert found.dtype == np.float64
    one = quantity(text, EVERYTHING)
    last = kept(text, motion)
    assert last.shape == found.shape[1:]
    if not one.linked:
        np.testing.assert_allclose(last, found[-1], rtol=1e-12, atol=1e-12)


def test_kinematic_quantities_follow_from_their_row(motion):
    """Rows in any order, without anything before them, give the same."""
    order = np.random.default_rng(0).permutation(len(motion.t))
    mixed = motion.at_rows(order)
    kinematic = 0
    for kind, fields in FIELDS.items():
        for field in fields:
            found = quantity(f"{NAMES[kind]}.{field}", EVERYTHING)
            if found.kinematic:
                np.testing.assert_array_equal(found.read(mixed), found.read(motion)[order])
                kinematic += 1
    assert kinematic == 14
    assert not quantity("arm.quaternion", EVERYTHING).kinematic
    assert not Measured(lambda m: m.t).kinematic


def test_longest_name_wins():
    system = gd.System([BODY, BODY.with_(name="top", position=(5, 0, 0)), BODY.with_(name="energy")])
    assert quantity("top.1.position", system).name == "top.1"
    assert quantity("top.position", system).name == "top"
    assert quantity("energy.position", system).kind == "body"


def test_angles_are_counted_over_turns():
    """However few rows are kept: one turn of the arm is not forgotten."""
    spun = PENDULUM.with_({"arm.angular_velocity": (0, 20.0, 0), "arm.velocity": (0, 0, -20.0), "gravity": (0, 0, 0)})
    ran = gd.simulate(spun, 1.0)
    assert kept("hinge.coordinate", ran) == pytest.approx(20.0, rel=1e-6)
    assert quantity("hinge.coordinate", spun).dense
    assert not quantity("hinge.rate", spun).dense


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("hos.positions", "'hos' is unknown; it can be 'tip', 'angle', 'att',"),
        ("hos.positions", "Did you mean 'hose'?"),
        ("hose.position", "of 'hose' it can be 'positions',"),
        ("hose.position", "Did you mean 'positions'?"),
        ("arm.omeg", "Did you mean 'omega'?"),
        ("hose", "'hose' needs a field, such as 'hose.positions'; it can be"),
        ("hose.positions[a]", "'a' is not an index; write integers or slices, as [-1], [0:3, 2]."),
        ("hose.positions[0.5]", "'0.5' is not an index"),
        ("hose.positions[]", "'' is not an index"),
        ("hose.positions[0", "cannot be read at '.positions[0'"),
        ("hose.positions[::0]", "the step of '::0' must not be 0."),
        ("hose.positions[0:3][2]", "after a slice brackets cannot follow; write one pair, as [0:3, 2]."),
        ("hose.positions[0][]", "'' is not an index"),
        ("hose.positions[0]x", "cannot be read at"),
        ("energy", "'energy' needs a field, such as 'energy.total'"),
        ("energy.totl", "Did you mean 'total'?"),
        ("t.x", "'t' has no fields; write 't', or 't[0]' for an entry."),
        ("tip.x", "'tip' has no fields"),
        ("sensors.ti", "sensor = 'ti' is unknown; it can be 'tip', 'angle', 'att'. Did you mean 'tip'?"),
        ("", "'' is not a quantity; write it as 'hose.positions[-1]' or 'energy.total'."),
        (3, "3 is not a quantity"),
        ("norm", "'norm' is unknown"),
    ],
)
def test_quantities_that_are_not_there(text, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        quantity(text, EVERYTHING)


def test_joints_with_two_coordinates_are_asked_for_one():
    system = gd.System([BODY.with_(angular_velocity=(0, 0, 1))], [SLIDER])
    with pytest.raises(ValueError, match=r"has the coordinates .*; take 'slider.coordinates\[0\]'"):
        quantity("slider.coordinate", system)


PIECES = [
    "hose",
    "top.1",
    "energy",
    "t",
    "sensors",
    "tip",
    ".",
    "[",
    "]",
    "0",
    "-1",
    ":",
    ",",
    " ",
    "norm ",
    "abs ",
    "x",
]
PIECES += ["positions", "total", "99999999999999999999", "\n", "\0", "é"]


@given(st.text(max_size=20) | st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_any_text_is_a_quantity_or_a_sentence(text):
    try:
        found = quantity(text, EVERYTHING)
    except ValueError as error:
        sentence = str(error)
    else:
        sentence = "."
        assert isinstance(found, Quantity)
        assert found.field in (*FIELDS.get(found.kind, ()), *WHOLE, "")
    assert sentence.endswith((".", "?"))


# --- what is kept ----------------------------------------------------------------------------------------------------


def test_rows_are_reduced_as_by_hand(motion):
    """Without dense output: what NumPy says about the rows."""
    bare = gd.Motion(motion.t, motion.y, motion.stats, steps=motion.steps, _compiled=motion.compiled)
    for text in ("hose.positions[1:, 2]", "top.1.Omega", "norm arm.velocity"):
        t, rows = motion.t, read(text, motion)
        np.testing.assert_array_equal(kept(gd.Final(text), bare), rows[-1])
        np.testing.assert_array_equal(kept(gd.Maximum(text), bare), rows.max(axis=0))
        np.testing.assert_array_equal(kept(gd.Minimum(text), bare), rows.min(axis=0))
        h = np.diff(t).reshape(-1, *[1] * (rows.ndim - 1))
        mean = (0.5 * h * (rows[1:] + rows[:-1])).sum(axis=0) / (t[-1] - t[0])
        np.testing.assert_allclose(kept(gd.Average(text), bare), mean, rtol=1e-13)


@pytest.mark.parametrize("text", ["top.1.Omega", "top.1.position", "energy.kinetic", "top.1.quaternion", "t"])
def test_extremes_and_averages_are_those_of_the_dense_output(flip, text):
    t = np.linspace(0.0, 6.0, 6001)
    fine = read(text, flip(t))
    scale = np.abs(fine).max(axis=0) + 1e-6
    for found, wanted in ((gd.Maximum(text), fine.max(axis=0)), (gd.Minimum(text), fine.min(axis=0))):
        assert np.all(np.abs(kept(found, flip) - wanted) < 2e-6 * scale)
    mean = np.trapezoid(fine, t, axis=0) / 6.0
    assert np.all(np.abs(kept(gd.Average(text), flip) - mean) < 2e-6 * scale)
    # Rows alone are not enough, or this would be no test.
    if text == "top.1.Omega":
        assert np.any(np.abs(read(text, flip).max(axis=0) - fine.max(axis=0)) > 5e-4 * scale)


def test_the_largest_spin_of_a_flip_follows_from_energy_and_momentum(flip):
    """Omega_3 is largest where Omega_2 = 0: two equations for Omega_1 and Omega_3."""
    w, inertia = np.array([0.3, 5.0, 0.1]), np.array([1.0, 2.0, 3.0])
    energy, momentum = inertia @ w**2, inertia**2 @ w**2
    w1, w3 = np.sqrt(np.linalg.solve([[1.0, 3.0], [1.0, 9.0]], [energy, momentum]))
    np.testing.assert_allclose(kept(gd.Maximum("top.1.Omega[0]"), flip), w1, rtol=1e-6)
    np.testing.assert_allclose(kept(gd.Maximum("abs top.1.Omega[2]"), flip), w3, rtol=1e-6)


@pytest.mark.parametrize("method", [*gd.METHODS, "scipy:RK45"])
def test_extremes_of_every_method(method):
    ran = gd.simulate(FLIP, 3.0, method=method, rtol=1e-7)
    best = minimize_scalar(
        lambda t: -float(ran(t)["top.1"].Omega[0]), bounds=_bracket(ran), method="bounded", options={"xatol": 1e-10}
    )
    assert kept(gd.Maximum("top.1.Omega[0]"), ran) == pytest.approx(-best.fun, rel=1e-6)


def _bracket(ran: gd.Motion) -> tuple[float, float]:
    t = np.linspace(0.0, 3.0, 301)
    i = int(np.argmax(ran(t)["top.1"].Omega[:, 0]))
    return t[max(i - 1, 0)], t[min(i + 1, 300)]


def test_crossings_are_located_to_the_last_digits(swing):
    """A pendulum from the horizontal passes the bottom at odd quarters of its period 4 K(1/2) sqrt(l'/g)."""
    reduced = (1.0 + 0.1) / 9.81  # inertia about the hinge over m g l
    quarter = ellipk(0.5) * math.sqrt(reduced)
    found = [kept(gd.Crossing("arm.position[0]", which=k), swing) for k in range(3)]
    np.testing.assert_allclose(found, [quarter, 3 * quarter, 5 * quarter], rtol=3e-8)
    exact = brentq(lambda t: float(swing(t)["arm"].position[0]), 0.9 * quarter, 1.1 * quarter, rtol=1e-14, xtol=1e-15)
    assert found[0] == pytest.approx(exact, rel=1e-12)


def test_crossings_are_counted_by_direction(swing):
    times = np.linspace(0.0, 5.0, 100001)
    x = read("arm.position[0]", swing(times)) - 0.25
    for direction in (-1, 0, 1):
        rising = np.sign(x[1:]) > 0
        hit = (np.sign(x[1:]) != np.sign(x[:-1])) & (rising if direction == 1 else ~rising if direction else True)
        wanted = times[1:][hit]
        count = len(wanted)
        assert count
        found = [float(kept(gd.Crossing("arm.position[0]", 0.25, direction, k), swing)) for k in range(-count, count)]
        np.testing.assert_allclose(found, [*wanted, *wanted], atol=6e-5)
        assert np.isnan(kept(gd.Crossing("arm.position[0]", 0.25, direction, count), swing))
        assert np.isnan(kept(gd.Crossing("arm.position[0]", 0.25, direction, -count - 1), swing))


def test_two_crossings_inside_of_one_step_are_seen():
    """A ball that is thrown just above a height, in one step of the integrator."""
    ball = gd.System([gd.Body("ball", mass=1.0, inertia=(1, 1, 1), velocity=(0, 0, 9.81))])
    ran = gd.simulate(ball, 2.0, method="dop853", rtol=1e-6)
    assert np.diff(ran.steps).max() > 1.0
    top = 0.5 * 9.81
    assert kept(gd.Maximum("ball.position[2]"), ran) == pytest.approx(top, rel=1e-12)
    for which, sign in ((0, -1.0), (1, 1.0)):
        found = kept(gd.Crossing("ball.position[2]", 0.9 * top, which=which), ran)
        assert found == pytest.approx(1.0 + sign * math.sqrt(0.1), rel=1e-9)
    # It starts at zero, which is no passage.
    assert np.isnan(kept(gd.Crossing("ball.position[2]", direction=1), ran))


def test_histories_are_rows_or_dense_output(flip):
    times = np.array([0.0, 0.1, 1.0, 5.5, 6.0])
    wanted = read("top.1.Omega", flip(times))
    np.testing.assert_array_equal(kept(gd.History("top.1.Omega", times), flip), wanted)
    rows = gd.simulate(FLIP, 6.0, method="dop853", rtol=1e-8, output=times, dense=False)
    np.testing.assert_array_equal(kept(gd.History("top.1.Omega", times), rows), wanted)
    even = kept(gd.History("top.1.Omega", 3), flip)
    np.testing.assert_array_equal(even, read("top.1.Omega", flip(np.linspace(0.0, 6.0, 4))))


def test_runs_that_an_event_ends():
    ball = gd.System([gd.Body("ball", mass=1.0, inertia=(1, 1, 1), position=(0, 0, 1))])
    floor = gd.Event(lambda t, m: m["ball"].position[2], terminal=True)
    end = math.sqrt(2.0 / 9.81)
    times = np.array([0.1, 0.4, 1.0])
    for options in ({}, {"output": [2.0], "dense": False}, {"output": [*times, 2.0], "dense": False}):
        ran = gd.simulate(ball, 2.0, events=[floor], **options)
        assert ran.status == "event"
        last = gd.Final("ball.velocity[2]").bound("x", ball, 2.0).evaluate(ran)
        assert last == pytest.approx(-9.81 * end, rel=1e-9)
        if len(options.get("output", times)) > 1:
            curve = gd.History("ball.position[2]", times).bound("x", ball, 2.0).evaluate(ran)
            np.testing.assert_allclose(curve, [1 - 0.5 * 9.81 * 0.01, 1 - 0.5 * 9.81 * 0.16, np.nan], rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"output": [0.1, 0.2], "dense": False}])
@pytest.mark.parametrize("text", ["hose.positions[0]", "hinge.coordinate", "hinge.force", "tip", "energy.total", "att"])
def test_an_event_before_the_first_row_leaves_nothing_of_a_curve(text, options):
    soon = gd.Event(lambda t, m: t - 0.01, terminal=True)
    ran = gd.simulate(EVERYTHING, 0.2, events=[soon], **options)
    curve = gd.History(text, [0.1, 0.2]).bound("x", EVERYTHING, 0.2).evaluate(ran)
    assert curve.shape == (2, *kept(gd.Final(text), gd.simulate(EVERYTHING, 0.01)).shape)
    assert np.isnan(curve).all()


def test_what_is_not_finite_stays_so():
    """A straight rod has an infinite radius."""
    straight = gd.System(rods=[ROD], gravity=(0, 0, 0))
    ran = gd.simulate(straight, 0.1)
    assert np.all(np.isinf(kept(gd.Maximum("hose.bend_radius"), ran)))
    assert np.isnan(kept(gd.Crossing(lambda m: np.where(m.t > 0.05, np.nan, 1.0)), ran))


def test_functions_serve_as_quantities_and_outputs(flip):
    found = kept(gd.Maximum(lambda m: m["top.1"].Omega[:, 0]), flip)
    assert found == pytest.approx(float(kept(gd.Maximum("top.1.Omega[0]"), flip)), rel=1e-12)
    assert kept(lambda m: [len(m.t), 2], flip).tolist() == [len(flip.t), 2.0]
    with pytest.raises(ValueError, match=f"one entry for each of {len(flip.t)} times, got \\(3,\\)"):
        kept(gd.Final(lambda m: m["top.1"].Omega[-1]), flip)
    with pytest.raises(ValueError, match="it returned 'text'; it must return a number"):
        kept(lambda m: "text", flip)


EXAMPLES = {
    "Final": gd.Final("t"), "Maximum": gd.Maximum("t"), "Minimum": gd.Minimum("t"), "Average": gd.Average("t"),
    "Crossing": gd.Crossing("t", 0.3), "History": gd.History("t", 4), "Custom": Custom(len),
}  # fmt: skip


@pytest.mark.parametrize("kind", OUTPUTS, ids=lambda kind: kind.__name__)
def test_every_output_travels_and_says_what_it_is(kind, flip):
    given = EXAMPLES[kind.__name__]
    assert isinstance(given, kind)
    bound = given.bound("name", FLIP, 6.0)
    again = pickle.loads(pickle.dumps(bound))
    assert again.describe() == bound.describe()
    assert bound.describe()["output"] == kind.__name__
    assert bound.name == "name"
    assert bound.needs in ("end", "rows", "steps", "dense")
    if kind is not Custom:
        found = bound.evaluate(flip)
        assert found.shape == bound.shape(())
        wanted = {"Minimum": 0.0, "Average": 3.0, "Crossing": 0.3}.get(kind.__name__, 6.0)
        assert np.max(found) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: gd.Crossing("t", "a"), "value = 'a' must be a number."),
        (lambda: gd.Crossing("t", 0.0, 2), "direction = 2 must be 1 (rising), -1 (falling) or 0 (all)."),
        (lambda: gd.Crossing("t", which=0.5), "which = 0.5 must be an integer: 0 is the first, -1 the last."),
        (lambda: gd.Crossing("t").shape((3,)), "Crossing takes a single number, but the quantity has the shape (3,)"),
        (lambda: History("t", 0).bound("x", FLIP, 1.0), "times = 0 must be at least 1"),
        (lambda: History("t", [0, 2]).bound("x", FLIP, 1.0), "times must lie in [0, 1], got 0 ... 2."),
        (lambda: History("t", [1, 0]).bound("x", FLIP, 1.0), "times must increase"),
        (lambda: History("t", "x").bound("x", FLIP, 1.0), "times must be a one-dimensional array of times"),
        (lambda: output(3), "3 must be a quantity such as 'bob.position[2]', an output such as gd.Maximum"),
    ],
)
def test_outputs_that_cannot_be(make, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        make()


def test_names_of_fields_are_those_of_the_motion(motion):
    """Nothing that a motion has by name is missing."""
    for kind, track in (("body", motion["arm"]), ("rod", motion["hose"]), ("joint", motion["hinge"])):
        public = {name for name in dir(track) if not name.startswith("_")} - {
            "rotation",
            "start",
            "names",
            "unique",
            "mesh",
            "indicator",
        }
        assert public <= set(FIELDS[kind]), public - set(FIELDS[kind])
    assert {name for name in dir(motion.energy) if not name.startswith("_")} == set(ENERGY)
    assert {name for name in dir(motion.drift) if not name.startswith("_")} == set(DRIFT)
