"""Functions of time in the core: formulas, inputs, recorded values and Python functions through one seam."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import gyrod as gd
from gyrod.equations import ForceError, compile_system
from gyrod.equations.signals import Signals
from gyrod.model.errors import ModelError
from gyrod.model.expressions import ExpressionError
from gyrod.model.inputs import Recorded

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)


def signal(value, size=1, **more):
    return Signals().signal("here", value, size, **more)


def jets(text: str, t: float):
    return signal(gd.Expression(text)).jets(t)[0]


# --- formulas --------------------------------------------------------------------------------------------------------

NUMBERS = st.sampled_from(["0", "1", "2", "3", "0.5", "1.5", "7", "pi", "e", "0.1"])
ONE = [
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "log",
    "log10",
    "sqrt",
    "abs",
    "sign",
]


def grown(inner):
    pair = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(pair, st.sampled_from("+-*/")).map(lambda x: f"({x[0][0]}){x[1]}({x[0][1]})"),
        st.tuples(inner, st.sampled_from(["0", "1", "2", "3", "-1", "0.5", "1.5", "-2"])).map(
            lambda x: f"({x[0]})^({x[1]})"
        ),
        pair.map(lambda x: f"({x[0]})^({x[1]})"),
        st.tuples(st.sampled_from(ONE), inner).map(lambda x: f"{x[0]}({x[1]})"),
        inner.map(lambda x: f"-({x})"),
        pair.map(lambda x: f"atan2({x[0]}, {x[1]})"),
        st.tuples(st.sampled_from(["min", "max"]), st.lists(inner, min_size=2, max_size=4)).map(
            lambda x: f"{x[0]}({', '.join(x[1])})"
        ),
        inner.map(lambda x: f"step({x}, 0.4)"),
        inner.map(lambda x: f"step({x}, 0.4, 0.7)"),
        st.tuples(inner, st.sampled_from(["", ", 1", ", 2", ", 4", ", 5"])).map(
            lambda x: f"ramp({x[0]}, 0.2, 1.7{x[1]})"
        ),
        inner.map(lambda x: f"pulse({x}, 0.2, 0.9)"),
        inner.map(lambda x: f"pulse({x}, 0.2, 1.4, 0.5)"),
    )


FORMULAS = st.recursive(st.one_of(st.just("t"), st.just("t"), NUMBERS), grown, max_leaves=8)


def of(function, t):
    try:
        return function(t)
    except ExpressionError:
        return None


def blurred(function, t: float, value: float) -> float:
    """By how much rounding of the time moves a value, as a measure of what rounding may do to it."""
    near = [of(function, t + h) for h in (1e-13, -1e-13)]
    return math.inf if None in near else max(abs(x - value) for x in near)


@given(FORMULAS, st.one_of(st.sampled_from([0.0, 0.2, 0.4, 0.5, 1.0, 2.0]), st.floats(0.0, 3.0)))
def test_programs_compute_what_expressions_mean(text, t):
    assume(len(text) < 900)
    try:
        f = gd.Expression(text, "t")
        laws = [f, f.derivative(), f.derivative().derivative()]
    except ExpressionError:
        assume(False)
    made = signal(f)
    value = of(f, t)
    if value is None:
        with pytest.raises(ForceError, match="here raised ExpressionError"):
            made.values(t)
        return
    assert abs(made.values(t)[0] - value) <= 1e-12 * max(1.0, abs(value)) + 100.0 * blurred(f, t, value)
    wanted = [of(law, t) for law in laws]
    assume(None not in wanted)
    size = max(1.0, *map(abs, wanted))
    slack = [1e-9 * size + 1000.0 * blurred(law, t, x) for law, x in zip(laws, wanted, strict=True)]
    assume(size < 1e8 and max(slack) < 1e-4 * size)
    found = made.jets(t)[0]
    for k in range(3):
        assert abs(found[k] - wanted[k]) <= slack[k], (k, found, wanted)


KINKS = (
    "min(t, 1)", "max(t, 2 - t, t^2)", "abs(t - 1)", "abs(t - 1)^3", "sign(t - 1)", "step(t, 1)", "pulse(t, 1, 2)",
    "ramp(t, 1, 2)", "ramp(t, 0, 1, 1)", "ramp(t, 0, 1, 2)", "ramp(t, 0, 1, 5)", "step(t, 1, 0.5)",
    "pulse(t, 0.5, 1, 0.5)", "sqrt(step(t, 2))", "0*sqrt(t - 1)", "(t - 1)^2", "(t - 1)^1", "(t - 1)^0",
    "log(1 + 0*t)", "min(t, 1)^2", "atan2(step(t, 3), 1)", "2^step(t, 1)", "(1 + t)^(2 + 0*t)",
)  # fmt: skip


@pytest.mark.parametrize("text", KINKS)
@pytest.mark.parametrize("t", [1.0, 0.5, 1.25, 1.5])
def test_kinks_have_the_slopes_of_expressions(text, t):
    if text.startswith("0*sqrt") and t < 1.0:
        return
    f = gd.Expression(text)
    wanted = [f(t), f.derivative()(t), f.derivative().derivative()(t)]
    assert_allclose(jets(text, t), wanted, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    ("text", "t"),
    [("1/(t - 1)", 1.0), ("log(t - 1)", 1.0), ("sqrt(-t)", 1.0), ("asin(2*t)", 1.0), ("exp(1000*t)", 1.0),
     ("(t - 1)^(-1)", 1.0), ("(-t)^0.5", 1.0), ("cosh(1e3*t)", 1.0), ("10^(400*t)", 1.0), ("1e308*10*t", 1.0),
     ("sin(1e308*10*t)", 1.0), ("atan(1/(t-1))", 1.0), ("max(2, log(-t))", 1.0)],
)  # fmt: skip
def test_what_has_no_value_says_so_as_expressions_do(text, t):
    f = gd.Expression(text)
    with pytest.raises(ExpressionError) as told:
        f(t)
    with pytest.raises(ForceError) as raised:
        signal(f).values(t)
    assert str(raised.value) == f"here raised ExpressionError at t = {t:g}: {told.value}"


def test_a_derivative_that_is_not_finite_is_refused_where_it_is_needed():
    root = gd.Expression("sqrt(t)")
    assert signal(root).values(0.0) == [0.0]
    with pytest.raises(ForceError, match=r"'sqrt\(t\)': it has no finite derivative at t = 0"):
        signal(root).jets(0.0)


def test_long_formulas():
    text = "+".join(["t"] * 150)
    assert_allclose(jets(text, 2.0), [300.0, 150.0, 0.0])
    nested = "1+(" * 60 + "t" + ")" * 60
    assert_allclose(jets(nested, 2.0), [62.0, 1.0, 0.0])


# --- sources and maps ------------------------------------------------------------------------------------------------


def test_numbers_inputs_and_recorded_values():
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert signal((1, 2, 3), 3, turn=turn).values(5.0).tolist() == [-2, 1, 3]
    push = gd.Input("push", along=(1, 2, 0), value=0.5)
    assert signal(push, 3, turn=turn).values(1.0).tolist() == [-1, 0.5, 0]
    assert not signal(push, 3).timed
    times, values = (0.0, 0.1, 0.4), (2.0, 3.0, -1.0)
    record = Recorded("push", times, values, along=(0, 0, 2))
    made = signal(record, 3)
    for t in (0.0, 0.05, 0.1, 0.1 + 1e-12, 0.4, 9.0):
        assert_array_equal(made.values(t), record(t))
        assert_array_equal(made.jets(t)[:, 1:], 0.0)
    rows = Recorded("push", times, np.arange(9.0).reshape(3, 3))
    assert_array_equal(signal(rows, 3).values(0.2), [3, 4, 5])
    with pytest.raises(ModelError, match="it gives a number where a vector is taken"):
        signal(gd.Input("push", value=1.0), 3)
    with pytest.raises(ModelError, match="it gives 3 numbers where one is taken"):
        signal(gd.Input("push", value=(1, 2, 3)), 1)


@pytest.mark.parametrize("t", [0.0, 1e-4, 4e-4, 0.3, 2.0])
def test_differences_of_functions(t):
    made = signal(lambda t: (math.sin(3 * t), math.exp(-t), t**3), 3)
    wanted = [
        [math.sin(3 * t), 3 * math.cos(3 * t), -9 * math.sin(3 * t)],
        [math.exp(-t), -math.exp(-t), math.exp(-t)],
        [t**3, 3 * t**2, 6 * t],
    ]
    assert_allclose(made.jets(t), wanted, rtol=0, atol=3e-7)
    given = signal(lambda t: t**2, 1, law=(("rate", lambda t: 2 * t), ("second", lambda t: 2.5)))
    assert_array_equal(given.jets(t), [[t**2, 2 * t, 2.5]])


PLACE = ("0.1*sin(3*t)", "t^2/2", "exp(-t)")
FRAMES = {
    "vector": ("0.3*t", "sin(2*t)", "1 - t^2"),
    "large": ("3*t", "2*sin(2*t)", "t"),
    "zero": ("t - 0.4", "2*(t - 0.4)^2", "0"),
    "quaternion": ("cos(t)", "0.6*sin(t)", "0", "0.8*sin(t)"),
}


def led(t: float, **end):
    rod = gd.Rod(
        "rod", 1.0, 4, gd.Circle(0.01), RUBBER, initial=gd.Straight((0, 0, 1), (0, 0, 2)), start=gd.Clamped(**end)
    )
    return compile_system(gd.System(rods=[rod])).rods[0]["start"].motion(t)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("t", [0.4, 0.9])
def test_led_ends_have_exact_derivatives(frame, t):
    end = {"at": gd.ExpressionVector(PLACE), "frame": gd.ExpressionVector(frame)}
    h = 1e-5
    before, now, after = (led(x, **end) for x in (t - h, t, t + h))
    rate = (after - before) / (2 * h)
    assert_allclose(now[3:9], rate[:6], atol=3e-9)
    p, p_rate = now[9:13], rate[9:13]
    assert_allclose(now[13:16], 2.0 * gd.rotations.multiply(gd.rotations.conjugate(p), p_rate)[1:], atol=1e-8)
    assert_allclose(now[16:], rate[13:16], atol=1e-8)
    # The same from functions that know nothing of derivatives, and from those with an angular velocity.
    at, turn = (gd.ExpressionVector(x) for x in (PLACE, frame))
    plain = led(t, at=lambda t: at(t), frame=lambda t: turn(t))
    assert_allclose(plain[:16], now[:16], atol=1e-6)
    spin = led(t, at=lambda t: at(t), frame=lambda t: turn(t), angular_velocity=lambda t: omega(turn, t))
    assert_allclose(spin, now, atol=1e-6)


def omega(turn, t: float):
    end = gd.Clamped(frame=turn)
    return end.angular_velocity_at(t)


def test_frames_that_are_none_are_refused():
    with pytest.raises(ForceError, match=r"Rod 'rod', start.frame at t = 2 is a quaternion of norm 1.5"):
        led(2.0, frame=gd.ExpressionVector(("1 + t/4", "0", "0", "0")))


# --- how often they are called ---------------------------------------------------------------------------------------


class Counted:
    """A function that counts its calls by time."""

    def __init__(self, function):
        self.function, self.calls = function, Counter()

    def __call__(self, t):
        self.calls[t] += 1
        return self.function(t)

    @property
    def most(self) -> int:
        return max(self.calls.values())


def arm(tension, force, gravity, at=None, stretch=None) -> gd.System:
    rod = gd.Rod(
        "arm", 0.3, 5, gd.Circle(radius=8e-3), RUBBER, start=gd.Clamped(at=at), rest_stretch=stretch,
        initial=gd.Straight((0, 0, 0), (0, 0, -0.3)), damping=gd.Damping(factor=0.02),
    )  # fmt: skip
    sides = ((6e-3, 0), (0, 6e-3))
    pulls = [gd.Tendon("arm", [(k / 5, side) for k in range(6)], tension=tension) for side in sides]
    return gd.System(rods=[rod], forces=[*pulls, gd.RodLoad("arm", at=1.0, force=force)], gravity=gravity)


@pytest.mark.parametrize("method", ["dopri5", "radau5", "rodas"])
def test_a_function_is_called_once_for_a_time(method):
    tension, force = Counted(lambda t: 0.2 + t), Counted(lambda t: (0.1 * t, 0, 0))
    gravity, at = Counted(lambda t: (0, 0, -9.81 + t)), Counted(lambda t: (0, 0.01 * math.sin(t) ** 2, 0))
    stretch = Counted(lambda t: 1.0 - 0.1 * t)
    functions = (tension, force, gravity, at, stretch)
    system = arm(*functions)
    for f in functions:
        f.calls.clear()  # what the model asked for at t = 0
    end = 0.001 if method == "dopri5" else 0.02
    motion = gd.simulate(system, end, method=method, rtol=1e-3, output=np.linspace(0, end, 9))
    start = [f.calls.pop(0.0) for f in functions]
    assert max(start) <= 7  # where the model looks at its start too, and whether its end moves there
    assert sum(n > 1 for n in at.calls.values()) <= 4  # where the step of its differences was looked for
    assert [f.most for f in functions if f is not at] == [1] * 4
    for f in functions:
        f.calls.clear()
    for _ in range(2):
        assert motion["arm"].force.shape == (9, 5, 3)
        assert motion.energy.total.shape == (9,)
    gd.simulate(system, end, method=method, rtol=1e-3)  # another run asks anew
    assert max(f.calls[t] for f in functions for t in motion.t[1:]) <= 2


def test_neighbouring_times_share_the_points_of_differences():
    at = Counted(lambda t: (0, 0.05 * math.sin(5 * t) ** 2, 0.0))
    system = arm(0.2, (0, 0, 0), (0, 0, -9.81), at)
    at.calls.clear()
    motion = gd.simulate(system, 0.002, method="dop853", rtol=1e-5)
    assert motion.stats.rhs > 1000
    assert sum(at.calls.values()) < motion.stats.rhs


QUARTER = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])


@pytest.mark.parametrize(
    "form", [tuple, list, np.array, lambda x: np.array([x, x]).T[:, 0]], ids=["tuple", "list", "array", "strided"]
)
def test_points_may_be_given_in_many_forms(form):
    """One way reads plain numbers, the other one what is left; both to the same bits."""
    ends = [lambda t: form((0, 0.25 + t, -1.0)), lambda t: form([np.int64(0), 0.25 + t, np.float64(-1.0)])]
    for end in ends:
        signal = Signals().signal("end", end, 3, read=gd.Hinged(at=end).position_at)
        jets = signal.jets(0.25)
        assert jets[:, 0].tolist() == [0.0, 0.5, -1.0]
        assert_allclose(jets[:, 1:], [[0, 0], [1, 0], [0, 0]], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "form",
    [
        lambda p: p, lambda p: tuple(p.tolist()), lambda p: -p, gd.rotations.matrix_from_quaternion,
        lambda p: p * (1.0 + 1e-8), lambda p: gd.rotations.log(p), lambda p: gd.rotations.to_scipy(p),
    ],
    ids=["quaternion", "tuple", "other sign", "matrix", "norm", "vector", "scipy"],
)  # fmt: skip
def test_frames_may_be_given_in_many_forms(form):
    spin = np.array([0.3, -0.2, 0.5])
    p = gd.rotations.multiply(gd.rotations.exp(spin * 0.25), gd.rotations.exp((0.5, 0.1, 0)))

    def frame(t):
        return form(gd.rotations.multiply(gd.rotations.exp(spin * t), gd.rotations.exp((0.5, 0.1, 0))))

    jets = Signals().signal("end", frame, 4, read=gd.Clamped(frame=frame).frame_at, unit=True).jets(0.25)
    sign = np.sign(jets[:, 0] @ p)
    assert_allclose(sign * jets[:, 0], p, rtol=0, atol=1e-15)
    assert_allclose(sign * jets[:, 1], 0.5 * gd.rotations.multiply((0, *spin), p), rtol=0, atol=1e-9)
    assert_allclose(sign * jets[:, 2], -0.25 * spin @ spin * p, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (lambda t: 2.0 * np.eye(3)[0], "norm 2"), (lambda t: np.diag([1.0, 1.0, -1.0]), "reflection"),
        (lambda t: QUARTER + 1e-3, "not a rotation matrix"), (lambda t: (1.0, 0.0), "pair"),
        (lambda t: (1.0, 0.0, 0.0, math.nan), "finite"), (lambda t: 1 / 0, "division by zero"),
    ],
    ids=["norm", "reflection", "skew", "pair", "nan", "raises"],
)  # fmt: skip
def test_frames_that_are_none_are_told(frame, sentence):
    given = (lambda t: (*frame(t), 0.0)) if sentence == "norm 2" else frame
    end = gd.Clamped(frame=given)
    signal = Signals().signal("end", given, 4, read=end.frame_at, unit=True)
    with pytest.raises(ForceError, match=sentence):
        signal.jets(0.25)


def test_drives_and_forces_on_bodies_are_called_once_for_a_time():
    drive, push = Counted(lambda t: 0.3 * (1.0 - math.cos(t))), Counted(lambda t: (0, 0, math.cos(t)))
    bodies = [gd.Body(f"b{i}", 1.0, (0.1, 0.1, 0.1), position=(i + 0.5, 0, 0)) for i in range(2)]
    joints = [
        gd.Revolute("ground", "b0", at=(0, 0, 0), axis=(0, 1, 0), drive=drive, name="j"),
        gd.Revolute("b0", "b1", at=(1, 0, 0), axis=(0, 1, 0)),
    ]
    system = gd.System(bodies, joints, forces=[gd.Force(b.name, push) for b in bodies])
    for f in (drive, push):
        f.calls.clear()
    motion = gd.simulate(system, 0.5, method="radau5", rtol=1e-5)
    assert push.most == 1
    assert sum(n > 1 for n in drive.calls.values()) < 400  # where the step of its differences was looked for, once
    push.calls.clear()
    assert motion["j"].torque.shape == (len(motion.t), 3)
    assert not push.calls  # all these times were asked for in the run


def test_a_function_that_changes_between_steps_is_asked_again():
    push = {"x": 1.0}
    ball = gd.Body("ball", 2.0, (1, 1, 1))
    sim = gd.stepper(gd.System([ball], forces=[gd.Force("ball", lambda t: (push["x"], 0, 0))], gravity=(0, 0, 0)))
    sim.step(0.5)
    push["x"] = -1.0
    sim.step(0.5)
    assert_allclose(sim["ball"].velocity, 0.0, atol=1e-12)


# --- what calls no Python --------------------------------------------------------------------------------------------


def test_expressions_inputs_and_numbers_call_no_python():
    text, vector = gd.Expression("0.2 + 0.1*sin(5*t)"), gd.ExpressionVector(("0", "0.01*sin(5*t)^2", "0"))
    system = arm(
        text, gd.Input("f", along=(1, 0, 0), value=0.1), gd.ExpressionVector(("0", "0", "-9.81 + t")), vector, text
    )
    assert not compile_system(system).python
    body = gd.Body("b", 1.0, (1, 1, 1), position=(1, 0, 0))
    turn = gd.Expression("0.1*(1 - cos(5*t))")
    for drive in (0.0, turn, (turn, turn.derivative(), turn.derivative().derivative())):
        joint = gd.Revolute("ground", "b", at=(0, 0, 0), axis=(0, 0, 1), drive=drive)
        assert not compile_system(gd.System([body], [joint], forces=[gd.Torque("b", gd.Input("m", (0, 0, 1)))])).python
    assert compile_system(arm(text, lambda t: (t, 0, 0), (0, 0, 0))).python
    constant = compile_system(arm(0.2, (0.1, 0, 0), (0, 0, -9.81)))
    assert not constant.signals.led


@pytest.mark.parametrize(("method", "end"), [("dop853", 0.003), ("radau5", 0.04)])
def test_expressions_move_as_functions_do(method, end):
    text, at = gd.Expression("1 + 0.3*sin(20*t)"), gd.ExpressionVector(("0", "0.01*sin(20*t)^2", "0"))
    force, gravity = (
        gd.ExpressionVector(("0.05*t", "0", "0")),
        gd.ExpressionVector(("0", "0", "-9.81*ramp(t, 0, 0.02)")),
    )
    stretch = gd.Expression("1 - 0.05*ramp(t, 0, 0.03)")
    compiled = arm(text, force, gravity, at, stretch)
    functions = arm(*((lambda t, f=f: f(t)) for f in (text, force, gravity, at, stretch)))
    options = {"method": method, "rtol": 1e-6, "output": [0.5 * end, end]}
    one, other = (gd.simulate(system, end, **options) for system in (compiled, functions))
    assert_allclose(one["arm"].positions, other["arm"].positions, atol=3e-8)
    assert_allclose(one["arm"].start_force, other["arm"].start_force, atol=1e-4)


def test_a_tension_must_not_be_negative():
    system = arm(gd.Expression("0.1 - 10*t"), (0, 0, 0), (0, 0, 0))
    with pytest.raises(
        gd.SimulationError, match=r"Tendon\('arm'\).tension raised ValueError at t = .*: tension must not be"
    ):
        gd.simulate(system, 0.05, method="rodas", rtol=1e-3)
    slack = gd.Input("pull", value=0.1)
    sim = gd.stepper(arm(slack, (0, 0, 0), (0, 0, 0)), method="rodas", rtol=1e-3)
    with pytest.raises(gd.SimulationError, match="tension must not be negative, got -1"):
        sim.step(0.01, pull=-1.0)
    sim.step(0.01, pull=0.2)
