"""Expressions: values as Python has them, derivatives as differences have them, and no way to do anything else."""

from __future__ import annotations

import ast
import copy
import math
import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import gyrod as gd
from gyrod.model import expression_rules as rules
from gyrod.model.derivatives import slope
from gyrod.model.expressions import DEEPEST, LONGEST

ONE_ARGUMENT = [name for name, (least, most) in rules.FUNCTIONS.items() if most == 1]


class Powers(ast.NodeTransformer):
    """Powers as calls: Python's own turn complex."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        return ast.Call(ast.Name("power", ast.Load()), [node.left, node.right], [])


def by_python(text, x, library=math):
    """What Python itself makes of a text of the tests."""
    tree = ast.fix_missing_locations(Powers().visit(ast.parse(text.replace("^", "**"), mode="eval")))
    names = {name: getattr(library, name) for name in dir(library) if not name.startswith("_")}
    names |= {"abs": abs, "min": min, "max": max, "t": x, "tau": 2 * library.pi, "e": library.e}
    names["sign"] = lambda u: (u > 0) - (u < 0)
    names["power"] = math.pow if library is math else library.power
    return eval(compile(tree, "", "eval"), {"__builtins__": {}}, names)


numbers = st.one_of(st.integers(0, 9).map(str), st.floats(0.1, 20.0).map(lambda x: repr(round(x, 3))))
leaves = st.one_of(numbers, st.sampled_from(["t", "t", "pi", "e", "tau"]))


def grown(inner):
    two = st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(lambda x: f"({x[0]}{x[1]}{x[2]})")
    bare = st.tuples(inner, st.sampled_from(["+", "-", "*", " - ", " * "]), inner).map("".join)
    powers = st.tuples(inner, st.sampled_from(["2", "3", "0.5", "-1"])).map(lambda x: f"({x[0]})^{x[1]}")
    calls = st.tuples(st.sampled_from(ONE_ARGUMENT), inner).map(lambda x: f"{x[0]}({x[1]})")
    chosen = st.tuples(st.sampled_from(["min", "max", "atan2"]), inner, inner).map(lambda x: f"{x[0]}({x[1]}, {x[2]})")
    signs = inner.map(lambda x: f"-({x})")
    return st.one_of(two, bare, powers, calls, chosen, signs)


texts = st.recursive(leaves, grown, max_leaves=8)


@settings(max_examples=100, deadline=None)
@given(texts, st.floats(-3.0, 3.0))
def test_values_are_those_of_python(text, x):
    try:
        expected = by_python(text, x)
        assume(math.isfinite(expected))
    except (ArithmeticError, ValueError):
        with pytest.raises(gd.ExpressionError):
            gd.Expression(text)(x)
        return
    assert gd.Expression(text)(x) == pytest.approx(expected, rel=1e-13, abs=1e-300)


@settings(max_examples=75, deadline=None)
@given(texts, st.floats(0.1, 2.0))
def test_derivatives_are_those_of_differences(text, x):
    try:
        f = gd.Expression(text)
        found = f.derivative()(x)
        with mpmath.workdps(60):
            h = mpmath.mpf(10) ** -20
            values = [by_python(text, mpmath.mpf(x) + k * h, mpmath) for k in (-1, 1)]
            assume(all(mpmath.im(v) == 0 for v in values))
            expected = float(mpmath.re(values[1] - values[0]) / (2 * h))
            # Kinks and jumps within the difference are not what is compared here.
            outer = [by_python(text, mpmath.mpf(x) + k * 10 * h, mpmath) for k in (-1, 1)]
            assume(
                abs((outer[1] - outer[0]) / (20 * h) - (values[1] - values[0]) / (2 * h)) < 1e-12 * (1 + abs(expected))
            )
    except (ArithmeticError, ValueError):
        assume(False)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=75, deadline=None)
@given(texts, st.floats(0.1, 2.0))
def test_derivatives_read_back_from_their_text(text, x):
    try:
        slope_ = gd.Expression(text).derivative()
        value = slope_(x)
    except gd.ExpressionError:
        assume(False)
    again = pickle.loads(pickle.dumps(slope_))
    assert again == slope_
    assert again(x) == value  # to the last bit: the same operations in the same order


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-2^2", -4.0), ("2^-1", 0.5), ("2^3^2", 512.0), ("2**3", 8.0), ("--2", 2.0), ("1 - 2 - 3", -4.0),
        ("8/4/2", 1.0), ("2*-3", -6.0), ("+5", 5.0), (".5e1", 5.0), ("tau - 2*pi", 0.0), ("log(e)", 1.0),
        ("sign(-3)*abs(-4)", -4.0), ("max(1, 5, 3) + min(4, 2)", 7.0), ("atan2(1, -1)", 0.75 * math.pi),
    ],
)  # fmt: skip
def test_precedence(text, expected):
    f = gd.Expression(text)
    assert f(0.3) == expected
    assert f.constant == expected
    assert f.derivative()(0.3) == 0.0


def test_ramp_is_smooth_to_second_order():
    f = gd.Expression("ramp(t, 1, 3)")
    assert [f(x) for x in (0.0, 1.0, 2.0, 3.0, 4.0)] == [0.0, 0.0, 0.5, 1.0, 1.0]
    for order in range(3):
        g = slope(f, order) if order else f
        for edge in (1.0, 3.0):
            assert g(edge - 1e-9) == pytest.approx(g(edge + 1e-9), abs=1e-7)
    x = np.linspace(0.5, 3.5, 1001)
    first = np.array([f.derivative()(u) for u in x])
    rise = np.sum(0.5 * (first[1:] + first[:-1]) * np.diff(x))
    assert rise == pytest.approx(1.0, abs=1e-5)
    assert f.derivative() == gd.Expression("ramp(t, 1, 3, 1)")


def test_steps_and_pulses():
    jump, rise = gd.Expression("3*step(t, 2)"), gd.Expression("step(t, 2, 0.5)")
    assert [jump(x) for x in (1.999, 2.0, 5.0)] == [0.0, 3.0, 3.0]
    assert [rise(x) for x in (2.0, 2.25, 2.5)] == [0.0, 0.5, 1.0]
    pulse = gd.Expression("pulse(t, 1, 2, 0.1)")
    assert [pulse(x) for x in (0.9, 1.5, 2.2)] == [0.0, 1.0, 0.0]
    assert pulse.derivative()(1.05) == pytest.approx(1.875 / 0.1)
    assert pulse.derivative()(2.05) == pytest.approx(-1.875 / 0.1)


def test_variables():
    assert gd.Expression("s^2").variable == "s"
    assert gd.Expression("sin(3)").variable == "t"
    assert gd.Expression("2*x", variable="x")(3.0) == 6.0
    with pytest.raises(gd.ExpressionError, match="'s' at column 3 is unknown"):
        gd.Expression("t+s", variable="t")
    for name in ("sin", "pi", "2", "", 3):
        with pytest.raises(ValueError, match="must be a name"):
            gd.Expression("1", variable=name)


@pytest.mark.parametrize(
    ("text", "says", "column"),
    [
        ("2*pi*x", "'x' at column 6 is unknown", 6),
        ("sn(t)", "Did you mean 'sin'", 1),
        ("sin t", "its argument in parentheses is missing", 1),
        ("2 pi", "a product is written with *", 3),
        ("(t + 1", "the parenthesis of column 1 is not closed", 7),
        ("t + ", "before the end", 4),
        ("min(t)", "takes at least 2 arguments, got 1", 1),
        ("sin(t, 1)", "takes 1 arguments, got 2", 1),
        ("ramp(t, 2, 1)", "must end after it begins", 1),
        ("ramp(t, t, 9)", "must not depend on t", 1),
        ("t $ 1", "'$' at column 3 has no meaning", 3),
        ("1e999", "too large", 1),
        ("__import__('os')", "has no meaning", 12),
        ("t.real", "has no meaning", 2),
        ("t[0]", "has no meaning", 2),
        ("lambda: 1", "has no meaning", 7),
        ("1 if t else 2", "follows what is complete", 3),
        ("()", "is missing before ')'", 2),
    ],
)
def test_what_cannot_be_read(text, says, column):
    with pytest.raises(gd.ExpressionError) as caught:
        gd.Expression(text)
    assert says in str(caught.value)
    assert caught.value.column == column
    *_, shown, caret = str(caught.value).splitlines()
    assert shown.strip() == text.strip()
    assert caret.index("^") - 4 == column - 1


def test_limits():
    with pytest.raises(gd.ExpressionError, match=f"at most {LONGEST} are allowed"):
        gd.Expression("t" + "+t" * LONGEST)
    with pytest.raises(gd.ExpressionError, match="parentheses are open"):
        gd.Expression("(" * (DEEPEST + 1) + "t" + ")" * (DEEPEST + 1))
    with pytest.raises(gd.ExpressionError, match="powers are nested"):
        gd.Expression("t" + "^t" * 80)
    with pytest.raises(gd.ExpressionError, match="operations one after another"):
        gd.Expression("t" + "+t" * 300)
    steep = gd.Expression("*".join(["sin(t)"] * 100))
    with pytest.raises(gd.ExpressionError, match="derivative is too long"):
        steep.derivative().derivative()
    assert slope(steep, 2) is None
    for bad in (None, 3, ["t"], b"t"):
        with pytest.raises(ValueError, match="must be a text"):
            gd.Expression(bad)


@pytest.mark.parametrize(
    ("text", "x", "says"),
    [
        ("1/t", 0.0, "no value at t = 0: division by zero"),
        ("log(t)", -1.0, "outside of its domain"),
        ("exp(t)", 1e4, "a value is too large"),
        ("1e200*t*t", 1e200, "no finite value"),
        ("(-1)^t", 0.5, "outside of its domain"),
    ],
)
def test_places_without_a_value(text, x, says):
    with pytest.raises(gd.ExpressionError, match=says):
        gd.Expression(text)(x)


def test_constants_without_a_value_are_refused_at_once():
    for text in ("1/0*t", "log(-1)", "sqrt(2 - 3) + t"):
        with pytest.raises(gd.ExpressionError):
            gd.Expression(text)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="t12.e+-*/^(), sincoaxp_$'\"[]\n", max_size=40))
def test_any_text_gives_an_expression_or_a_sentence(text):
    try:
        f = gd.Expression(text)
        f(0.7)
        f.derivative()
    except gd.ExpressionError as error:
        told = str(error)
        assert told.startswith("Expression "), told


def test_expressions_are_values():
    f = gd.Expression(" 0.1*sin(2*pi*t) ")
    assert f == gd.Expression("0.1*sin(2*pi*t)")
    assert f != gd.Expression("0.1*sin(tau*t)")
    assert f != "0.1*sin(2*pi*t)"
    assert len({f, gd.Expression("0.1*sin(2*pi*t)")}) == 1
    assert repr(f) == "Expression('0.1*sin(2*pi*t)')"
    assert eval(repr(gd.Expression("x", "x")), {"Expression": gd.Expression}) == gd.Expression("x", "x")
    for again in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
        assert again == f
        assert again(0.1) == f(0.1)
    with pytest.raises(AttributeError, match="is constant"):
        f.text = "t"


def test_vectors():
    f = gd.ExpressionVector((0, "0.1*sin(t)", "pi"))
    assert f.components == (0.0, gd.Expression("0.1*sin(t)"), math.pi)
    assert f(0.5).tolist() == [0.0, 0.1 * math.sin(0.5), math.pi]
    assert f.derivative()(0.5).tolist() == [0.0, 0.1 * math.cos(0.5), 0.0]
    assert f == pickle.loads(pickle.dumps(f))
    assert hash(f) == hash(gd.ExpressionVector([0.0, "0.1*sin(t)", math.pi]))
    assert f != gd.ExpressionVector((0, "0.1*sin(t)", 3))
    assert len(f) == 3
    assert gd.ExpressionVector(("s", 0)).variable == "s"
    with pytest.raises(AttributeError, match="is constant"):
        f.components = ()
    with pytest.raises(ValueError, match="is a function of 's', not of 't'"):
        gd.ExpressionVector((gd.Expression("s"), "t"), "t")
    refused = [
        ("t", "list of texts"), ([], "list of texts"), (3, "list of texts"), ((None,), "must be a number"),
        ((math.nan,), "must be finite"), (("t", "x"), r"components\[1\]"), ((True,), "must be a number"),
    ]  # fmt: skip
    for bad, says in refused:
        with pytest.raises(ValueError, match=says):
            gd.ExpressionVector(bad)


# --- in a model ------------------------------------------------------------------------------------------------------


def crank(drive):
    body = gd.Body("crank", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0.5, 0.0, 0.0), angular_velocity=(0, 0.4, 0))
    return gd.System(
        [body], [gd.Revolute("ground", "crank", at=(0, 0, 0), axis=(0, 1, 0), drive=drive, name="bearing")]
    )


def test_a_drive_brings_its_derivatives():
    one = crank(gd.Expression("0.2*sin(2*t)"))
    _, rate, second = one.joints[0].law
    assert rate(0.3) == pytest.approx(0.4 * math.cos(0.6), rel=1e-15)
    assert second(0.3) == pytest.approx(-0.8 * math.sin(0.6), rel=1e-15)
    three = crank((lambda t: 0.2 * math.sin(2 * t), lambda t: 0.4 * math.cos(2 * t), lambda t: -0.8 * math.sin(2 * t)))
    runs = [gd.simulate(system, 1.0, rtol=1e-10, output=[0.5, 1.0]) for system in (one, three)]
    np.testing.assert_allclose(runs[0]["crank"].position, runs[1]["crank"].position, rtol=0, atol=1e-14)
    np.testing.assert_allclose(runs[0]["bearing"].torque, runs[1]["bearing"].torque, rtol=0, atol=1e-13)
    assert np.max(np.abs(runs[0]["bearing"].torque)) > 0.1


def test_a_moving_end_brings_its_derivatives():
    at = gd.ExpressionVector((0, "0.1*sin(3*t)", 0))
    end = gd.Hinged(at=at)
    assert end.velocity_at(0.2).tolist() == [0.0, pytest.approx(0.3 * math.cos(0.6)), 0.0]
    assert end.acceleration(0.2).tolist() == [0.0, pytest.approx(-0.9 * math.sin(0.6)), 0.0]
    rubber = gd.Material(young=5e6, poisson=0.5, density=1100)

    def swung(hinge):
        rod = gd.Rod("hose", 1.0, 4, gd.Circle(5e-3), rubber, hinge, initial=gd.Straight((0, 0, 0), (0, 0, -1)),
                     velocity=lambda s: (0, 0.3, 0))  # fmt: skip
        return gd.simulate(gd.System(rods=[rod]), 0.3, rtol=1e-7, method="radau5", output=[0.3])["hose"].positions

    def plain(t):
        return (0.0, 0.1 * math.sin(3 * t), 0.0)

    np.testing.assert_allclose(swung(end), swung(gd.Hinged(at=plain)), atol=2e-7)


@pytest.mark.parametrize(
    "frame",
    [
        ("0.2*t", "0.3*sin(t)", "t^2"),
        ("cos(0.35*t)", 0, "sin(0.35*t)*0.6", "sin(0.35*t)*0.8"),
    ],
)
def test_a_led_frame_brings_its_angular_velocity(frame):
    end = gd.Clamped(frame=gd.ExpressionVector(frame))
    t, h = 0.7, 1e-5
    p, q = end.frame_at(t - h), end.frame_at(t + h)
    step = gd.rotations.log(gd.rotations.multiply(q, gd.rotations.conjugate(p)))
    np.testing.assert_allclose(end.angular_velocity_at(t), step / (2 * h), atol=1e-9)


def test_expressions_wherever_functions_are():
    """Each field that takes a function of time or of s takes an expression."""
    s, t, vector = gd.Expression("1 + 0.5*s"), gd.Expression("1 + 0*t^2 + 0.1*t"), gd.ExpressionVector
    steel = gd.Material(young=2e11, poisson=0.3, density=7800)
    rods = [
        gd.Rod("a", 1.0, 4, gd.Circle(gd.Expression("0.01*(2 - s)")), steel, rest_stretch=t,
               precurvature=vector(("s", 0, 0)), prestrain=vector((0, 0, "1 + 0*s + 0.001*s")),
               velocity=vector(("s", 0, 0)), angular_velocity=vector((0, "s", 0))),
        gd.Rod("b", 1.0, 4, stiffness=vector(("1e5*(1 + s)", 1e5, 1e6, 10, 10, 10)), density_per_length=s,
               rotary_inertia=vector(("1e-3*(1 + s)", 1e-3, 2e-3)), initial=gd.Bent(vector((0, "s", 0)))),
        gd.Rod("c", None, 4, gd.Ring(s, gd.Expression("0.5 + 0.1*s")), steel,
               initial=gd.Curve(vector(("2*s", "s^2", 0)))),
    ]  # fmt: skip
    forces = [
        gd.RodLoad("a", span=(0, 1), force=vector(("t", 0, 1)), profile=s),
        gd.RodLoad("b", moment=vector(("t", 0, 1))),
        gd.Tendon("a", [(0, (0.1, 0)), (1, (0.1, 0))], tension=t),
        gd.Force("x", vector(("t", 0, 0))),
        gd.Torque("x", vector(("t", 0, 0))),
    ]
    body = gd.Body("x", 1.0, (1, 1, 1))
    system = gd.System([body], rods=rods, forces=forces, gravity=vector((0, 0, "-9.81*ramp(t, 0, 1)")))
    assert system.gravity.tolist() == [0.0, 0.0, 0.0]
    assert system == pickle.loads(pickle.dumps(system))
    area = rods[0].section.at([0.5]).area
    np.testing.assert_allclose(area, math.pi * 0.015**2, rtol=1e-15)
    motion = gd.simulate(system.with_({"rods": [rods[1]], "forces": [forces[1], forces[3]]}), 1e-3, rtol=1e-4)
    assert motion.t[-1] == 1e-3
    assert motion["x"].velocity[-1] == pytest.approx([0.5e-6, 0.0, 0.0], abs=1e-8)
