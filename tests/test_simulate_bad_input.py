"""simulate with input that cannot be: one clear sentence each, and what was computed is kept."""

import re
from unittest.mock import Mock

import numpy as np
import pytest

import gyrod as gd
from gyrod.solve import integrate
from gyrod.solve.choose import spectrum

METHODS = list(gd.METHODS)
OTHERS = ["bdf", "scipy:RK45", "scipy:Radau"]


def body(**changes):
    values = {"mass": 1.0, "inertia": (1.0, 1.2, 0.5), "velocity": (1, 0, 0), "angular_velocity": (0.1, 0.2, 3.0)}
    return gd.Body("top", **{**values, **changes})


def system(*forces, **changes):
    return gd.System([body(**changes)], forces=forces, gravity=(0, 0, 0))


FREE = system()


def skip_without_sundae(method):
    if method.startswith("bdf"):
        pytest.importorskip("sksundae")


# --- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *[("rtol", x) for x in (0.0, -1e-6, 1e-16, 1e-300, np.nan, np.inf, "a", None, [1e-6, 1e-6])],
        *[("atol", x) for x in (-1e-6, np.nan, np.inf, "x", [1.0, 2.0], {}, {"rotation": -1.0}, {"rotation": "x"})],
        *[("t_end", x) for x in (0.0, -1.0, np.nan, np.inf, None, "soon", [1.0, 2.0])],
        *[("output", x) for x in ([0.0, 0.5, 0.5], [0.5, 0.2], [-0.1, 0.5], [0.0, 1.5], [], [[0.0, 1.0]])],
        *[("output", x) for x in ([np.nan], [0.0, np.inf], "abc", [None], 1.5)],
        *[("step", x) for x in (0.0, -0.1, np.nan, np.inf, "x")],
        *[("first_step", x) for x in (0.0, -0.1, np.nan, np.inf, "x")],
        *[("max_step", x) for x in (0.0, -0.1, np.nan, "x")],
        *[("system", x) for x in (None, 3, body(), [body()], gd.System())],
        *[(x, 10**400) for x in ("rtol", "atol", "t_end", "step", "first_step", "max_step")],
        *[(x, -(10**400)) for x in ("rtol", "t_end")],
        ("atol", {"rotation": 10**400}),
        ("output", [0.0, 10**400]),
        *[("events", x) for x in ([3], [lambda t, m: 1.0], gd.Event(lambda t, m: 1.0), 3, [gd.Event(3)])],
        *[("events", [gd.Event(lambda t, m: 1.0, direction=d)]) for d in (2, 0.5, None, "up")],
    ],
)
def test_bad_argument_is_named(argument, value):
    arguments = {"system": FREE, "t_end": 1.0, argument: value}
    with pytest.raises(ValueError, match=argument):
        gd.simulate(arguments.pop("system"), arguments.pop("t_end"), **arguments)


def test_an_event_of_one_argument_is_answered_with_what_it_takes():
    with pytest.raises(gd.SimulationError, match=r"events\[0\] raised TypeError .* An event is a function of time and"):
        gd.simulate(FREE, 1.0, events=[gd.Event(lambda motion: 1.0)])


def test_joints_whose_arms_hold_no_place_are_told():
    bodies = [gd.Body(f"b{i}", mass=1.0, inertia=(1, 1, 1), position=(i, 0, 0)) for i in range(3)]
    slide = gd.Prismatic("b0", "b1", at=(0, 0, 0), axis=(0, 0, 1), stiffness=1.0)
    far = gd.System(bodies, [slide, gd.Spherical("b1", "b2", at=(1e50, 0.3, 1.0))])
    words = r"Spherical.* is 1e\+50 m away from its bodies and they are 1\.73 m .* lost to rounding\. Check the units"
    with pytest.raises(gd.ModelError, match=words):
        gd.simulate(far, 1e-3)


@pytest.mark.parametrize("answer", [np.full((2, 2), np.inf), ValueError("the matrix of the system is singular")])
def test_a_jacobian_that_cannot_be_had_is_told(answer):
    core = Mock(**{"jacobian.side_effect": [answer]})
    with pytest.raises(ValueError, match=r"cannot choose: .* are too large or too far apart\. Check their units"):
        spectrum(Mock(size=2, y0=np.zeros(2), core=core))


@pytest.mark.parametrize(
    ("argument", "value", "near"),
    [
        ("formulation", "nullspace-quaternions", "nullspace-quaternion"),
        ("formulation", "Euler", "euler"),
        ("formulation", "absolute-director", "absolute-directors"),
        ("method", "dopri", "dopri5"),
        ("method", "radau", "radau5"),
        ("method", "DOP853", "dop853"),
        ("method", "scipy:rk45", "scipy:RK45"),
        ("method", "scipy:DOP85", "scipy:DOP853"),
        ("norm", "physic", "physical"),
        ("projection", "steps", "step"),
        ("atol", {"rotatoin": 1e-6}, "rotation"),
    ],
)
def test_nearest_name_is_suggested(argument, value, near):
    with pytest.raises(ValueError, match=f"{argument} = .* is unknown; .*Did you mean '{re.escape(near)}'"):
        gd.simulate(FREE, 1.0, **{argument: value})


@pytest.mark.parametrize(
    ("argument", "value", "near"),
    [
        ("velocity", "spacial", "spatial"),
        ("equation", "print", "printed"),
        ("fictive_moment", "half trace", "half-trace"),
        ("director_projection", "Polar", "polar"),
        ("projection", "steps", "step"),
        ("null_space", "QR", "qr"),
    ],
)
def test_nearest_part_of_a_formulation_is_suggested(argument, value, near):
    with pytest.raises(ValueError, match=f"{argument} = .* is unknown; .*Did you mean '{near}'"):
        gd.Formulation("absolute-quaternion", **{argument: value})


@pytest.mark.parametrize("argument", ["formulation", "method", "norm", "projection"])
@pytest.mark.parametrize("value", [None, 3, ["euler"]])
def test_names_must_be_text(argument, value):
    with pytest.raises(ValueError, match=f"{argument} = .* is unknown"):
        gd.simulate(FREE, 1.0, **{argument: value})


def test_tolerances_that_do_not_fit():
    with pytest.raises(ValueError, match=r"rtol = 1e-16 .* at least"):
        gd.simulate(FREE, 1.0, rtol=1e-16)
    with pytest.raises(ValueError, match="atol"):
        gd.simulate(FREE, 1.0, norm="plain", atol=0.0)
    with pytest.raises(ValueError, match="rtol"):
        integrate(lambda t, y: y, (0.0, 1.0), [1.0], rtol=0.0)
    for method in METHODS:  # whatever is not refused must be reachable
        assert gd.simulate(FREE, 1e-3, method=method, rtol=1e-14).status == "finished"


@pytest.mark.parametrize("formulation", ["nullspace-quaternion", "nullspace-directors", "euler"])
def test_baumgarte_is_for_absolute_forms(formulation):
    with pytest.raises(ValueError, match=f"baumgarte .* absolute .* '{formulation}'"):
        gd.Formulation(formulation, baumgarte=(10.0, 1.0))


@pytest.mark.parametrize("value", [(0.0, 1.0), (1.0, -1.0), (np.nan, 1.0), 3.0, (1.0,), (1.0, 2.0, 3.0), "ab"])
def test_bad_baumgarte(value):
    with pytest.raises(ValueError, match="baumgarte"):
        gd.Formulation("absolute-quaternion", baumgarte=value)


@pytest.mark.parametrize(
    ("options", "formulation"),
    [
        ({"velocity": "spatial"}, "absolute-quaternion"),
        ({"velocity": "spatial"}, "euler"),
        ({"equation": "printed"}, "nullspace-quaternion"),
        ({"fictive_moment": "half-trace"}, "absolute-directors"),
        ({"director_projection": "polar"}, "nullspace-quaternion"),
    ],
)
def test_variants_that_would_do_nothing(options, formulation):
    with pytest.raises(ValueError, match=next(iter(options))):
        gd.Formulation(formulation, **options)


@pytest.mark.parametrize("method", ["bdf", "bdf-dae", "scipy:RK45"])
def test_what_others_cannot_do(method):
    options = {"method": method, "formulation": "absolute-quaternion"}
    with pytest.raises(ValueError, match=f"events .* method = '{method}'"):
        gd.simulate(FREE, 1.0, events=[gd.Event(lambda t, m: t - 0.5)], **options)
    with pytest.raises(ValueError, match=f"step .* method = '{method}'"):
        gd.simulate(FREE, 1.0, step=0.1, **options)


def test_multipliers_need_an_absolute_form():
    with pytest.raises(ValueError, match="bdf-dae"):
        gd.simulate(FREE, 1.0, method="bdf-dae")


def test_motion_outside_of_the_run():
    m = gd.simulate(FREE, 1.0)
    for t in (-0.1, 1.1, [0.5, 1.0 + 1e-9]):
        with pytest.raises(ValueError, match=r"known on \[0, 1\]"):
            m(t)
    for t in (np.nan, [[0.5]]):
        with pytest.raises(ValueError, match="t"):
            m(t)
    with pytest.raises(ValueError, match="Did you mean 'top'"):
        m["tip"]


# --- runs that cannot go on ------------------------------------------------------------------------------------------


def check_kept(error, t_from, t_to):
    """Time, state and motion so far belong together."""
    motion = error.motion
    assert t_from <= error.time <= t_to
    assert error.time == motion.steps[-1] == motion.t[-1]
    assert motion.t[0] == 0.0
    assert len(motion.t) > 3
    assert motion.stats.steps > 2
    assert np.isfinite(motion.y).all()
    assert motion["top"].position.shape == (len(motion.t), 3)
    assert np.isfinite(motion(0.4 * error.time)["top"].position).all()
    assert error.state.shape == (motion.y.shape[1],)


@pytest.mark.parametrize("method", METHODS)
def test_singularity(method):
    # v' = v^2 from v = 1: infinite at t = 1.
    blow_up = gd.UserForce("top", lambda t, s: ((s.velocity[0] ** 2, 0, 0), (0, 0, 0)))
    with pytest.raises(gd.SimulationError, match=rf"{method} cannot meet the tolerance at t = (0\.99999|1)") as caught:
        gd.simulate(system(blow_up), 2.0, method=method, norm="plain")
    assert "rtol" in str(caught.value)
    check_kept(caught.value, 0.9999, 1.0001)
    assert caught.value.motion.status == "underflow"
    np.testing.assert_allclose(caught.value.motion(0.5)["top"].velocity[0], 2.0, rtol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_wall(method):
    wall = gd.Force("top", lambda t: (0.0, 1e30 if t > 0.5 else 0.0, 0.0))
    with pytest.raises(gd.SimulationError, match=r"cannot meet the tolerance at t = 0\.(5|49999)") as caught:
        gd.simulate(system(wall), 2.0, method=method)
    check_kept(caught.value, 0.499999, 0.5 + 1e-12)


@pytest.mark.parametrize("method", ["scipy:RK45", "scipy:Radau", "bdf"])
@pytest.mark.parametrize("output", [None, [1.9]])
def test_wall_for_others(method, output):
    skip_without_sundae(method)
    calls = 0

    def push(t):
        nonlocal calls
        calls += 1
        if calls > 30000:
            raise RuntimeError("no end")
        return (0.0, 1e30 if t > 0.5 else 0.0, 0.0)

    with pytest.raises(gd.SimulationError, match=re.escape(method)) as caught:
        gd.simulate(system(gd.Force("top", push)), 2.0, method=method, output=output)
    assert caught.value.time == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_state_that_overflows_with_constant_step(method):
    blow_up = gd.UserForce("top", lambda t, s: ((1e200 * np.sign(s.velocity[0]), 0, 0), (0, 1e200, 0)))
    with pytest.raises(gd.SimulationError) as caught:
        gd.simulate(system(blow_up), 2.0, method=method, step=0.1)
    assert np.isfinite(caught.value.motion.y).all()
    assert caught.value.motion.t[-1] < 2.0


@pytest.mark.parametrize("method", METHODS)
def test_functions_that_blow_up(method):
    with pytest.raises(ArithmeticError, match=rf"{method} .* t = (0\.9999|1)"):
        integrate(lambda t, y: y**2, (0.0, 2.0), [1.0], method=method)


def test_gimbal_lock_at_the_start():
    for orientation in (None, (0.0, 0.0, 0.7), (np.pi, 0.0, 0.0)):
        with pytest.raises(ValueError, match=r"body 'top' starts at gimbal lock of the Euler angles 3-1-3"):
            gd.simulate(system(orientation=orientation), 1.0, formulation="euler")


@pytest.mark.parametrize("method", [*METHODS, *OTHERS])
def test_gimbal_lock_during_the_run(method):
    skip_without_sundae(method)
    through = system(orientation=(0.5, 0.0, 0.0), angular_velocity=(-1.0, 0.0, 0.0))
    with pytest.raises(gd.SimulationError, match="gimbal lock") as caught:
        gd.simulate(through, 1.0, formulation="euler", method=method)
    assert caught.value.time <= 0.5
    assert caught.value.motion.t[0] == 0.0
    assert "formulation" in str(caught.value)


def test_near_gimbal_lock_is_no_reason_to_stop():
    near = system(orientation=(0.5, 0.0, 0.0), angular_velocity=(-1.0, 0.05, 0.3))
    m = gd.simulate(near, 1.0, formulation="euler", method="dop853", rtol=1e-11)
    exact = gd.simulate(near, 1.0, method="dop853", rtol=1e-12)
    np.testing.assert_allclose(m["top"].matrix[-1], exact["top"].matrix[-1], atol=1e-7)


# --- forces ----------------------------------------------------------------------------------------------------------


class NoFuelError(Exception):
    pass


def stop_at_half(t, s):
    if t > 0.5:
        raise NoFuelError("the tank is empty")
    return np.zeros(6)


@pytest.mark.parametrize("method", ["auto", *METHODS])
@pytest.mark.parametrize("kind", ["user", "force", "torque"])
def test_force_that_raises(method, kind):
    force = {
        "user": gd.UserForce("top", stop_at_half, name="engine"),
        "force": gd.Force("top", lambda t: stop_at_half(t, None)[:3], name="engine"),
        "torque": gd.Torque("top", lambda t: stop_at_half(t, None)[:3], name="engine"),
    }[kind]
    with pytest.raises(gd.SimulationError, match=r"'engine' raised NoFuelError at t = 0\.\d+: the tank") as caught:
        gd.simulate(system(force), 2.0, method=method, max_step=0.05)
    assert isinstance(caught.value.__cause__, NoFuelError)
    check_kept(caught.value, 0.4, 0.5)


@pytest.mark.parametrize("method", OTHERS)
def test_force_that_raises_under_others(method):
    skip_without_sundae(method)
    force = gd.UserForce("top", stop_at_half, name="engine")
    with pytest.raises(gd.SimulationError, match=r"'engine' raised NoFuelError at t = 0\.\d+: the tank") as caught:
        gd.simulate(system(force), 2.0, method=method)
    assert isinstance(caught.value.__cause__, NoFuelError)
    assert caught.value.motion.t[0] == 0.0


def test_force_without_a_name_is_named_by_its_body():
    with pytest.raises(gd.SimulationError, match=r"UserForce\('top'\) raised NoFuelError"):
        gd.simulate(system(gd.UserForce("top", stop_at_half)), 2.0)


@pytest.mark.parametrize("method", ["auto", *METHODS, *OTHERS])
def test_force_that_raises_at_once_leaves_the_start(method):
    skip_without_sundae(method)

    def never(t, s):
        raise NoFuelError("never")

    with pytest.raises(gd.SimulationError, match="'engine' raised NoFuelError at t = 0: never") as caught:
        gd.simulate(system(gd.UserForce("top", never, name="engine")), 2.0, method=method)
    assert caught.value.time == 0.0
    np.testing.assert_array_equal(caught.value.motion.t, [0.0])
    np.testing.assert_array_equal(caught.value.motion["top"].velocity, [[1.0, 0.0, 0.0]])


@pytest.mark.parametrize("method", ["auto", *METHODS, *OTHERS])
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (np.full(6, np.nan), "not finite"),
        (np.array([0, 0, np.inf, 0, 0, 0]), "not finite"),
        (np.zeros(5), "must return 6 numbers"),
        (((0, 0, 0), (0, 0)), "must return 6 numbers"),
        ("abc", "must return 6 numbers"),
        (None, "must return 6 numbers"),
        ({}, "must return 6 numbers"),
    ],
)
def test_force_that_returns_no_force(method, bad, says):
    skip_without_sundae(method)
    force = gd.UserForce("top", lambda t, s: bad if t > 0.5 else np.zeros(6), name="wind")
    with pytest.raises(gd.SimulationError, match=rf"(?s)UserForce 'wind' returned .* at t = 0\.\d+.*{says}") as caught:
        gd.simulate(system(force), 2.0, method=method)
    assert caught.value.motion.t[0] == 0.0
    assert np.isfinite(caught.value.motion.y).all()


@pytest.mark.parametrize("kind", [gd.Force, gd.Torque])
@pytest.mark.parametrize("bad", [(np.nan, 0, 0), (1, 2), 3.0, None, "abc", [[1, 2, 3], [4, 5, 6]]])
def test_function_of_time_that_returns_no_vector(kind, bad):
    force = kind("top", lambda t: bad if t > 0.5 else (0, 0, 0), name="wind")
    with pytest.raises(gd.SimulationError, match=rf"{kind.__name__} 'wind' returned .* at t = 0\.\d+"):
        gd.simulate(system(force), 2.0, method="dopri5")


@pytest.mark.parametrize("method", ["radau5", "rodas", "seulex"])
@pytest.mark.parametrize("bad", [np.zeros((6, 17)), np.full((6, 18), np.nan), None, "raise"])
def test_bad_derivative(method, bad):
    def derivative(t, s):
        if isinstance(bad, str):
            raise NoFuelError("no derivative")
        return bad

    force = gd.UserForce("top", lambda t, s: np.zeros(6), derivative, name="wind")
    with pytest.raises(gd.SimulationError, match=r"(?s)'wind' (returned|raised) .* at t = 0"):
        gd.simulate(system(force), 2.0, method=method)


# --- events ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["dopri5", "rodas"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, None, "abc", [1.0, 2.0], "raise"])
def test_bad_event(method, bad):
    def event(t, m):
        if t <= 0.5:
            return 1.0
        if bad == "raise":
            raise NoFuelError("no event")
        return bad

    good = gd.Event(lambda t, m: 1.0)
    with pytest.raises(gd.SimulationError) as caught:
        gd.simulate(FREE, 2.0, method=method, max_step=0.05, events=[good, gd.Event(event)])
    check_kept(caught.value, 0.4, 0.5)
    assert "events[1]" in str(caught.value)
    assert caught.value.__cause__ is not None
    if isinstance(bad, str) and bad == "raise":
        causes = [caught.value.__cause__, caught.value.__cause__.__cause__]
        assert any(isinstance(c, NoFuelError) for c in causes)


def test_event_with_an_unknown_body():
    with pytest.raises(gd.SimulationError, match="Did you mean 'top'") as caught:
        gd.simulate(FREE, 2.0, events=[gd.Event(lambda t, m: m["tip"].position[0])])
    np.testing.assert_array_equal(caught.value.motion.t, [0.0])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda system: gd.simulate(system, 1.0, r_tol=1e-3), r"simulate\(\) got .* 'r_tol'\. Did you mean 'rtol'\?"),
        (lambda system: gd.simulate(system), r"simulate\(\) missing 1 required .*: 't_end'$"),
        (lambda system: gd.equilibrium(system, xyz=1), r"equilibrium\(\) got an unexpected keyword argument 'xyz'$"),
        (lambda system: gd.follow(system, "load", stop=(0, 1)), r"follow\(\) got .* 'stop'\. Did you mean 'stops'\?"),
    ],
)
def test_an_option_that_there_is_not_names_the_function_and_its_neighbour(call, sentence):
    with pytest.raises(TypeError, match=sentence):
        call(gd.problems.get("lang-a").system)
