"""Steppers: the same motion as simulate, inputs that hold, snapshots to the last bit, failures that change nothing."""

from __future__ import annotations

import contextlib
import io
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.interpolate import CubicHermiteSpline

import gyrod as gd

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)


def top() -> gd.System:
    body = gd.Body(
        "top", 1.0, (0.02, 0.02, 0.01), position=(0, -0.1, 0.2), orientation=("313", (0.1, np.arctan(0.5), 0.2)),
        angular_velocity=(0, 0, 60),
    )  # fmt: skip
    at = body.position - body.matrix @ np.array([0, 0, 0.2])
    return gd.System([body], [gd.Spherical("ground", "top", at=at)])


def hose() -> gd.System:
    line = gd.Straight((0, 0, 0), (0, 1, 0))
    rod = gd.Rod("hose", 1.0, 6, gd.Circle(radius=5e-3), RUBBER, start=gd.Hinged(), initial=line)
    return gd.System(rods=[rod])


def pushed(**given) -> gd.System:
    ball = gd.Body("ball", mass=2.0, inertia=(1, 1, 1))
    push = gd.Force("ball", gd.Input("push", along=(1, 0, 0), **given))
    return gd.System(
        [ball], forces=[push], gravity=(0, 0, 0), sensors=[gd.PointSensor("a", "ball", None, "acceleration")]
    )


# --- the same motion -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", gd.FORMULATIONS)
def test_it_moves_as_simulate_does_in_all_formulations(formulation):
    sim = gd.stepper(top(), formulation=formulation, method="dop853", rtol=1e-11)
    for _ in range(20):
        sim.step(0.01)
    reference = gd.simulate(top(), 0.2, rtol=1e-12)
    assert sim.t == pytest.approx(0.2, abs=1e-15)
    assert_allclose(sim["top"].position, reference["top"].position[-1], rtol=0, atol=1e-9)
    assert_allclose(sim.energy.total, reference.energy.total[-1], rtol=1e-9)


@pytest.mark.parametrize("method", gd.METHODS)
@pytest.mark.parametrize("make", [top, hose])
def test_it_moves_as_simulate_does_by_all_methods(method, make):
    sim = gd.stepper(make(), method=method, rtol=1e-6)
    for h in (1e-3, 4e-3, 1e-5, 4.99e-3):
        sim.step(h)
    reference = gd.simulate(make(), sim.t, rtol=1e-10)
    error = (sim.y - reference.y[-1]) / reference.compiled.scales()
    places = np.isin(reference.compiled.kinds, ("position", "rotation"))
    assert_allclose(error[places], 0.0, rtol=0, atol=1e-5)
    assert_allclose(error, 0.0, rtol=0, atol=5e-3)  # stiff methods do not follow the fast waves
    assert sim.stats.method == method


def test_times_are_met_exactly_and_short_steps_do_not_shorten_what_is_planned():
    ball = gd.System([gd.Body("ball", 1.0, (1, 2, 3), angular_velocity=(0.1, 1.0, 0.1))])
    sim, t = gd.stepper(ball, method="dopri5"), 0.0
    for h in (0.1, 1e-9, 0.1, 0.3, 1e-12, 0.2):
        sim.step(h)
        t += h
        assert sim.t == t
    whole = gd.simulate(ball, t, method="dopri5")
    assert sim.stats.steps <= whole.stats.steps + 8


def test_a_constant_step_inside():
    sim = gd.stepper(top(), method="dopri5", step=1e-3)
    for _ in range(5):
        sim.step(0.01)
    assert 50 <= sim.stats.steps <= 55


def test_from_a_rest_nothing_moves():
    rod = hose().rods[0].with_(start=gd.Clamped())
    rest = gd.equilibrium(gd.System(rods=[rod]))
    sim = gd.stepper(rest)
    sim.step(0.01)
    assert_allclose(sim["hose"].positions, rest["hose"].positions, rtol=0, atol=1e-8)


def test_auto_takes_what_suits_short_steps():
    assert gd.stepper(top()).stats.method == "dopri5"
    assert gd.stepper(hose(), rtol=1e-3).stats.method == "rodas"
    assert gd.stepper(hose()).stats.method == "radau5"


# --- inputs ----------------------------------------------------------------------------------------------------------


def test_inputs_hold_from_step_to_step():
    sim = gd.stepper(pushed())
    v = 0.0
    for k in range(8):
        value = (-1) ** k * (k + 1.0)
        sim.set("push", value)
        assert sim.sensors["a"][0] == pytest.approx(0.5 * value, abs=1e-13)
        sim.step(0.25)
        v += 0.5 * value * 0.25
        assert sim["ball"].velocity[0] == pytest.approx(v, abs=1e-12)
    sim.step(0.5)  # the last value still holds
    assert sim["ball"].velocity[0] == pytest.approx(v - 0.5 * 8.0 * 0.5, abs=1e-12)
    assert sim.inputs == {"push": -8.0}


@pytest.mark.parametrize("method", gd.METHODS)
def test_no_method_remembers_an_old_input(method):
    """What a method keeps of its last step (a stage, a Jacobian, an extrapolation) must not act after a jump."""
    sim = gd.stepper(pushed(value=5.0), method=method, rtol=1e-9)
    sim.step(1.0)
    before = sim["ball"].velocity[0]
    sim.step(1.0, push=0.0)
    assert sim["ball"].velocity[0] == pytest.approx(before, abs=1e-12)


def test_inputs_at_the_start_and_several_places_of_one():
    wheel = gd.Body("wheel", 1.0, (1, 1, 2))
    rotor = gd.Body("rotor", 1.0, (2, 2, 4), position=(0, 0, 1))
    motor = [gd.Torque(n, gd.Input("motor", along=(0, 0, s))) for n, s in (("wheel", 1), ("rotor", -1))]
    free = gd.Force("wheel", gd.Input("pull", value=(1.0, 2.0, 3.0)))
    system = gd.System([wheel, rotor], forces=[*motor, free], gravity=(0, 0, 0))
    sim = gd.stepper(system, inputs={"motor": 3.0})
    sim.step(1.0)
    assert_allclose(sim["wheel"].Omega, [0, 0, 1.5], atol=1e-12)
    assert_allclose(sim["rotor"].Omega, [0, 0, -0.75], atol=1e-12)
    assert_allclose(sim["wheel"].velocity, [1, 2, 3], atol=1e-12)
    sim.set(pull=(0, 0, 0), motor=0)
    sim.step(1.0)
    assert_allclose(sim["wheel"].Omega, [0, 0, 1.5], atol=1e-12)


def test_inputs_of_rods_and_gravity():
    rod = hose().rods[0]
    load = gd.RodLoad("hose", force=gd.Input("load", along=(0, 0, -1)))
    guides = [(s, (4e-3, 0.0)) for s in (0.0, 0.5, 1.0)]
    tendon = gd.Tendon("hose", guides, gd.Input("tension"))
    system = gd.System(rods=[rod], forces=[load, tendon], gravity=gd.Input("g", along=(0, 0, -1), value=9.81))
    sim = gd.stepper(system, rtol=1e-4)
    assert set(sim.inputs) == {"load", "tension", "g"}
    reference = gd.simulate(
        gd.System(rods=[rod], forces=[gd.RodLoad("hose", force=(0, 0, -0.5)), gd.Tendon("hose", guides, 1.0)],
                  gravity=(0, 0, -1.62)), 0.01, rtol=1e-7)  # fmt: skip
    sim.step(0.01, load=0.5, tension=1.0, g=1.62)
    assert_allclose(sim["hose"].positions, reference["hose"].positions[-1], rtol=0, atol=2e-5)


def test_simulate_takes_the_value_at_the_start():
    motion = gd.simulate(pushed(value=4.0), 1.0)
    assert motion["ball"].velocity[-1, 0] == pytest.approx(2.0, abs=1e-12)
    assert pickle.loads(pickle.dumps(pushed())) == pushed()
    assert pushed(value=1.0) != pushed()


# --- sensors ---------------------------------------------------------------------------------------------------------


def test_angles_are_counted_over_turns():
    arm = gd.Body("arm", 1.0, (0.1, 0.1, 0.1), angular_velocity=(0, 0, 5.0))
    hinge = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 0, 1), name="hinge")
    quantities = {"angle": "coordinate", "rate": "rate", "force": "force"}
    sensors = [gd.JointSensor(name, "hinge", quantity) for name, quantity in quantities.items()]
    sim = gd.stepper(gd.System([arm], [hinge], sensors=sensors), rtol=1e-9)
    early = sim.save()
    for k in range(1, 51):
        sim.step(0.1)
        assert sim.sensors["angle"] == pytest.approx(0.5 * k, abs=1e-7)
    late = sim.save()
    sim.restore(early)
    assert sim.sensors["angle"] == 0.0
    sim.restore(late)
    assert sim.sensors["angle"] == pytest.approx(25.0, abs=1e-6)
    assert sim.sensors["rate"] == pytest.approx(5.0, abs=1e-8)
    assert_allclose(sim.sensors["force"], [0, 0, 9.81], atol=1e-9)
    sim.reset()
    assert sim.sensors["angle"] == 0.0


# --- recording -------------------------------------------------------------------------------------------------------


def test_what_was_recorded_is_a_motion_with_its_inputs():
    sim = gd.stepper(pushed(), record=True, rtol=1e-9)
    read = []
    for k in range(10):
        sim.step(0.1, push=float(k % 3))
        read.append(sim.sensors["a"][0])
    motion = sim.motion()
    assert_allclose(motion.t, 0.1 * np.arange(11), rtol=0, atol=1e-14)
    assert_allclose(motion.sensors["a"][1:, 0], read, rtol=0, atol=0)  # as they were read
    v = np.concatenate([[0.0], np.cumsum(0.05 * (np.arange(10) % 3))])
    assert_allclose(motion["ball"].velocity[:, 0], v, rtol=0, atol=1e-12)
    t = np.linspace(0.0, 1.0, 41)
    assert_allclose(motion(t)["ball"].velocity[:, 0], np.interp(t, motion.t, v), rtol=0, atol=1e-12)
    again = pickle.loads(pickle.dumps(motion))
    assert np.array_equal(again(t).y, motion(t).y)


def controlled() -> gd.Stepper:
    """An arm that a motor and gravity of two directions drive, after 30 steps."""
    arm = gd.Body("arm", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    hinge = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), name="hinge")
    motor = [gd.Torque("arm", gd.Input("motor", along=(0, s, 0)), name=f"m{s}") for s in (1, -0.25)]
    sensors = [gd.JointSensor("q", "hinge"), gd.PointSensor("a", "arm", None, "acceleration")]
    gravity = gd.Input("g", value=(0, 0, -9.81))
    sim = gd.stepper(gd.System([arm], [hinge], forces=motor, sensors=sensors, gravity=gravity), record=True)
    for k in range(30):
        sim.step(0.02, motor=-5.0 - 3.0 * sim.sensors["q"] + k % 3, g=(0.1 * (k // 10), 0, -9.81))
    return sim


def test_a_controlled_run_is_saved_and_opened_with_its_inputs(tmp_path):
    sim = controlled()
    motion = sim.motion()
    motion.save(tmp_path / "ctl.h5")
    again = gd.open(tmp_path / "ctl.h5")
    assert again.y.tobytes() == motion.y.tobytes()
    assert again.t.tobytes() == motion.t.tobytes()
    for name in ("q", "a"):
        assert again.sensors[name].tobytes() == motion.sensors[name].tobytes()
    assert again.energy.total.tobytes() == motion.energy.total.tobytes()
    assert again.compiled.system == motion.compiled.system
    torque = again.compiled.system.forces[0].torque
    assert (type(torque), len(torque.times)) == (gd.Recorded, 30)
    gravity = again.compiled.system.gravity_function
    assert gravity.times.tolist() == [0.0, motion.t[10], motion.t[20]]  # what was set to the same is there once
    # Between the rows, too, where accelerations jump from step to step.
    t = np.linspace(0.0, sim.t, 301)
    assert_allclose(again(t).y, motion(t).y, rtol=0, atol=1e-14)
    assert_allclose(again(t).sensors["a"], motion(t).sensors["a"], rtol=0, atol=1e-12)
    model = tmp_path / "model.yaml"
    motion.compiled.system.save(model)
    assert gd.load(model) == motion.compiled.system


def test_the_state_of_a_controlled_run_is_saved_with_its_inputs(tmp_path):
    sim = controlled()
    sim.state.save(tmp_path / "now.h5")
    now = gd.open(tmp_path / "now.h5")
    assert now.y.tobytes() == sim.y.tobytes()
    assert now.sensors["a"].tobytes() == sim.sensors["a"].tobytes()
    assert np.linalg.norm(now.sensors["a"]) > 0.1
    rod = hose().with_({"forces": [gd.RodLoad("hose", force=gd.Input("load", along=(0, 0, -1)))]})
    sim = gd.stepper(rod, rtol=1e-3, record=True).step(0.01, load=0.1).step(0.01, load=0.2)
    sim.motion().save(tmp_path / "hose.h5")
    again = gd.open(tmp_path / "hose.h5")
    assert again.y.tobytes() == sim.motion().y.tobytes()
    assert again.compiled.system.forces[0].force.values.tolist() == [0.1, 0.2]


def test_the_command_line_takes_a_controlled_run(tmp_path):
    typer_testing = pytest.importorskip("typer.testing")
    from gyrod.cli import app

    file, page = tmp_path / "ctl.h5", tmp_path / "page.html"
    controlled().motion().save(file)
    for words in (["info", str(file)], ["view", str(file), "-o", str(page)]):
        done = typer_testing.CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
    assert page.stat().st_size > 1000


def test_a_recorded_motion_is_that_of_simulate():
    sim = gd.stepper(top(), method="dopri5", rtol=1e-9, record=True)
    for _ in range(10):
        sim.step(0.02)
    reference = gd.simulate(top(), 0.2, rtol=1e-12)
    t = np.linspace(0.0, 0.2, 31)
    assert_allclose(sim.motion()(t)["top"].position, reference(t)["top"].position, rtol=0, atol=1e-6)
    assert sim.motion().stats.steps == sim.stats.steps > 10


def test_the_energy_account_closes_where_inputs_jump():
    guides = [(k / 5, (6e-3, 0.0)) for k in range(6)]
    rod = gd.Rod(
        "arm", 0.2, 5, gd.Circle(radius=2e-3), gd.Material(young=1e8, poisson=0.4, density=1200), start=gd.Clamped(),
        initial=gd.Straight((0, 0, 0), (0, 0, 0.2)), damping=gd.Damping(factor=5e-3), degree=3,
    )  # fmt: skip
    sim = gd.stepper(gd.System(rods=[rod], forces=[gd.Tendon("arm", guides, gd.Input("pull"))]), record=True)
    for _ in range(20):
        sim.step(0.01, pull=1.0 + np.sin(10.0 * sim.t))
    recorded = sim.motion()
    beside = gd.simulate(recorded.compiled.system, 0.2, rtol=1e-6, max_step=1e-3).energy
    energy = recorded.energy
    assert abs(energy.balance).max() < 1e-5 * energy.work[-1]
    assert_allclose(energy.work[-1], beside.work[-1], rtol=1e-5)
    assert_allclose(energy.dissipated[-1], beside.dissipated[-1], rtol=1e-5)


def test_a_recorded_motion_has_rough_errors_by_its_tolerance():
    """Figures from experience need a tolerance; steps of constant length have none."""
    system = gd.problems.get("rubber-pendulum").system
    loose, tight, constant = (gd.stepper(system, record=True, **how) for how in ({"rtol": 1e-3}, {}, {"step": 1e-3}))
    errors = [sim.step(0.05).motion().error for sim in (loose, tight, constant)]
    coarse, fine = (error["norm rod.positions[-1]"].total for error in errors[:2])
    assert coarse > 2.0 * fine > 0.0
    assert "constant steps" in str(errors[2])


def test_without_recording_there_is_no_motion():
    with pytest.raises(ValueError, match="make it with record=True"):
        gd.stepper(top()).motion()


# --- going back ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", gd.METHODS)
@pytest.mark.parametrize("make", [top, hose, pushed])
def test_a_snapshot_is_gone_back_to_bit_for_bit(method, make):
    sim = gd.stepper(make(), method=method, rtol=1e-4, record=True)
    inputs = {"push": 1.5} if sim.inputs else {}
    sim.step(2e-3)
    sim.step(2e-3, **inputs)
    snapshot = sim.save()

    def ahead(which):
        rows = []
        for h in (1e-3, 3e-3, 2e-3):
            which.step(h)
            rows.append(which.y)
        return np.array(rows)

    first = ahead(sim)
    if inputs:
        sim.set(push=-3.0)
    sim.restore(snapshot)
    assert sim.t == 4e-3
    assert np.array_equal(ahead(sim), first)
    assert len(sim.motion().t) == 6  # what was undone is not recorded
    other = gd.stepper(make(), method=method, rtol=1e-4)
    other.restore(snapshot)
    assert other.inputs == sim.inputs
    assert np.array_equal(ahead(other), first)


def test_reset_goes_back_to_the_start():
    sim = gd.stepper(pushed(), inputs={"push": 2.0}, record=True)
    sim.step(0.1)
    first = sim.y
    sim.step(0.1, push=7.0)
    sim.reset()
    assert (sim.t, sim.inputs, len(sim.motion().t)) == (0.0, {"push": 2.0}, 1)
    sim.step(0.1)
    assert np.array_equal(sim.y, first)


def test_foreign_and_damaged_snapshots_are_refused():
    sim = gd.stepper(top())
    sim.step(0.01)
    good = sim.save()
    for bad in (b"", b"nonsense", good[:-1], good[:40], good[:-9] + bytes([good[-9] ^ 1]) + good[-8:], "text", None):
        with pytest.raises(ValueError, match="snapshot must be the bytes"):
            sim.restore(bad)
    for other in (gd.stepper(hose()), gd.stepper(top(), method="rodas"), gd.stepper(top(), rtol=1e-3)):
        with pytest.raises(ValueError, match="of another system, formulation, method or tolerance"):
            other.restore(good)
    assert sim.t == 0.01


# --- failures --------------------------------------------------------------------------------------------------------


def test_a_step_that_fails_leaves_it_at_the_last_good_state():
    def force(t):
        if t > 0.05:
            raise ArithmeticError("too late")
        return (1.0, 0.0, 0.0)

    ball = gd.Body("ball", 1.0, (1, 1, 1))
    sim = gd.stepper(gd.System([ball], forces=[gd.Force("ball", force)]), record=True)
    sim.step(0.04)
    before = sim.y
    for _ in range(2):
        with pytest.raises(gd.SimulationError, match=r"raised ArithmeticError at t = .*: too late"):
            sim.step(0.02)
        assert sim.t == 0.04
        assert np.array_equal(sim.y, before)
    sim.step(0.01)
    assert sim.t == 0.05
    assert_allclose(sim.motion().t, [0.0, 0.04, 0.05])


def test_a_step_that_cannot_meet_its_tolerance():
    def wall(_, state):
        gap = 0.01 - state.position[0]
        return (1.0 / gap**2 if gap > 0 else np.nan, 0, 0, 0, 0, 0)

    ball = gd.Body("ball", 1.0, (1, 1, 1), velocity=(1.0, 0, 0))
    sim = gd.stepper(gd.System([ball], forces=[gd.UserForce("ball", wall)], gravity=(0, 0, 0)))
    sim.step(0.001)
    with pytest.raises(gd.SimulationError):
        sim.step(10.0)
    assert sim.t == 0.001


def test_a_limit_of_a_joint_is_told():
    arm = gd.Body("arm", 1.0, (0.1, 0.1, 0.1), angular_velocity=(0, 0, 1.0))
    hinge = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 0, 1), limits=(None, 0.25), name="hinge")
    sim = gd.stepper(gd.System([arm], [hinge]))
    sim.step(0.2)
    with pytest.raises(
        gd.SimulationError, match=r"the upper limit of Revolute 'hinge' is reached at t = 0\.25"
    ) as error:
        sim.step(0.1)
    assert sim.t == 0.2
    assert error.value.motion["hinge"].coordinates[0] == pytest.approx(0.25, abs=1e-8)


# --- bad input -------------------------------------------------------------------------------------------------------

WRONG = [
    (lambda s: s.step(0.0), "h must be a positive finite number, got 0.0."),
    (lambda s: s.step(-1), "h must be a positive finite number"),
    (lambda s: s.step("x"), "h must be a positive number, got 'x'."),
    (lambda s: s.step(1e-300), "is below the rounding of the time"),
    (lambda s: s.set("pull", 1.0), "name = 'pull' is unknown; it can be 'push'."),
    (lambda s: s.set("push", (1, 2, 3)), "input 'push' must be a number"),
    (lambda s: s.set("push", np.nan), "is not finite"),
    (lambda s: s.step(0.1, pull=1.0), "name = 'pull' is unknown"),
    (lambda s: s["bal"], "Did you mean 'ball'?"),
    (lambda s: s.sensors["b"], "name = 'b' is unknown"),
    (lambda _: gd.stepper(3), "system must be a gyrod.System, got int."),
    (lambda _: gd.stepper(pushed(), inputs={"pull": 1}), "name = 'pull' is unknown"),
    (lambda _: gd.stepper(pushed(), method="bdf"), "method = 'bdf' is unknown"),
    (lambda _: gd.stepper(pushed(), record=1), "record = 1 must be True or False."),
    (lambda _: gd.Input("", along=(1, 2)), "2 problems"),
    (lambda _: gd.Input("a", along=(1, 2, 3), value=(1, 2, 3)), "value must be a number"),
]


@pytest.mark.parametrize(("call", "sentence"), WRONG, ids=[s for _, s in WRONG])
def test_bad_input_is_told_and_changes_nothing(call, sentence):
    sim = gd.stepper(pushed())
    sim.step(1.0)
    before = sim.y, sim.t, sim.inputs
    with pytest.raises(ValueError) as error:  # noqa: PT011
        call(sim)
    assert sentence in str(error.value)
    assert (sim.t, sim.inputs) == before[1:]
    assert np.array_equal(sim.y, before[0])


def test_inputs_where_they_cannot_serve():
    ball = gd.Body("ball", 1.0, (1, 1, 1))
    with pytest.raises(gd.ModelError, match="it gives a number where a vector is taken"):
        gd.stepper(gd.System([ball], forces=[gd.Force("ball", gd.Input("push"))]))
    clamp = gd.Clamped(frame=gd.Input("turn", value=(-0.5 * np.pi, 0, 0)))
    with pytest.raises(
        gd.ModelError, match=r"rods\[0\]\.start\.frame = .*a frame and a velocity are functions of time"
    ):
        gd.stepper(hose().with_({"hose.start": clamp}))
    two = [gd.Force("ball", gd.Input("a", along=(1, 0, 0), value=v)) for v in (1.0, 2.0)]
    with pytest.raises(gd.ModelError, match=r"input 'a' begins with 1\.0 and with 2\.0"):
        gd.stepper(gd.System([ball], forces=two))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.floats(1e-6, 0.3), st.floats(-5.0, 5.0)), min_size=1, max_size=8))
def test_any_sequence_of_steps_and_inputs_is_a_polygon(steps):
    sim = gd.stepper(pushed())
    x = v = t = 0.0
    for h, push in steps:
        sim.step(h, push=push)
        x, v, t = x + v * h + 0.25 * push * h * h, v + 0.5 * push * h, t + h
    assert sim.t == pytest.approx(t, abs=1e-14)
    assert sim["ball"].position[0] == pytest.approx(x, abs=1e-10)
    assert sim["ball"].velocity[0] == pytest.approx(v, abs=1e-10)


# --- a controller ----------------------------------------------------------------------------------------------------


def cart_and_pole() -> gd.System:
    """An inverted pendulum of 0.5 m on a cart that a motor pushes."""
    lean = 0.2
    at = (0.25 * np.sin(lean), 0.0, 0.25 * np.cos(lean))
    cart = gd.Body("cart", mass=1.0, inertia=(0.1, 0.1, 0.1))
    pole = gd.Body("pole", mass=0.2, inertia=(0.005, 0.005, 1e-5), position=at, orientation=(0.0, lean, 0.0))
    joints = [
        gd.Prismatic("ground", "cart", at=(0, 0, 0), axis=(1, 0, 0), damping=0.1, name="rail"),
        gd.Revolute("cart", "pole", at=(0, 0, 0), axis=(0, 1, 0), name="hinge"),
    ]
    sensors = [
        gd.JointSensor("x", "rail"),
        gd.JointSensor("x'", "rail", "rate"),
        gd.JointSensor("lean", "hinge"),
        gd.JointSensor("lean'", "hinge", "rate"),
    ]
    return gd.System(
        [cart, pole], joints, forces=[gd.Force("cart", gd.Input("motor", along=(1, 0, 0)))], sensors=sensors
    )


def test_a_controller_keeps_the_pole_upright():
    sim = gd.stepper(cart_and_pole(), record=True)
    for _ in range(800):
        s = sim.sensors
        lean = 0.2 + s["lean"]
        sim.step(0.01, motor=40.0 * lean + 8.0 * s["lean'"] + 2.0 * s["x"] + 4.0 * s["x'"])
    motion = sim.motion()
    lean = 0.2 + motion.sensors["lean"]
    assert abs(lean).max() < 0.21
    assert abs(lean[-1]) < 1e-3
    assert abs(motion.sensors["x"][-1]) < 1e-2
    left_alone = gd.simulate(cart_and_pole(), 2.0)
    assert 0.2 + left_alone.sensors["lean"].max() > 1.5


def test_the_page_about_control_prints_what_it_says():
    text = (Path(__file__).parent.parent / "docs" / "control.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == text.count("```python") == 6
    for code, expected in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "docs/control.md", "exec"), {})
        assert out.getvalue().split() == expected.split()


# --- constant steps --------------------------------------------------------------------------------------------------

STEPPED = ({"method": "variational"}, {"method": "variational", "order": 4}, {"method": "energy-momentum"})


@pytest.mark.parametrize("options", STEPPED, ids=str)
@pytest.mark.parametrize("make", [top, hose, pushed])
def test_constant_steps_are_those_of_simulate_and_are_gone_back_to_bit_for_bit(make, options):
    if make is not top and options["method"] == "energy-momentum":
        pytest.skip("bodies under gravity alone")
    sim = gd.stepper(make(), step=1e-3, record=True, **options)
    for _ in range(3):
        sim.step(0.004)
    saved, there, before = sim.save(), sim.y, sim.stats
    onwards, fourth = [sim.step(0.002).y for _ in range(4)], sim.motion().y[1]
    whole = gd.simulate(make(), 0.02, step=1e-3, **options)
    assert_allclose(sim.motion().steps, whole.steps, rtol=0, atol=1e-15)
    assert_allclose(sim.y, whole.y[-1], rtol=0, atol=1e-13 * np.abs(whole.y).max())
    other = gd.stepper(make(), step=1e-3, **options)
    for stepper in (sim, other):
        stepper.restore(saved)
        assert np.array_equal(stepper.y, there)
        assert stepper.stats == before
        assert all(np.array_equal(stepper.step(0.002).y, y) for y in onwards)
    sim.reset()
    assert np.array_equal(sim.step(0.004).y, fourth)


def test_constant_steps_need_multiples_and_their_own_options():
    with pytest.raises(ValueError, match="method = 'variational' has constant steps: give step"):
        gd.stepper(top(), method="variational")
    with pytest.raises(ValueError, match=r"sigma = 0\.1 belongs to method = 'variational', not to 'dopri5'"):
        gd.stepper(top(), method="dopri5", sigma=0.1)
    with pytest.raises(ValueError, match="cannot be given with method = 'variational'"):
        gd.stepper(top(), method="variational", step=1e-3, rtol=1e-3)
    sim = gd.stepper(top(), method="variational", step=1e-3)
    with pytest.raises(ValueError, match=r"t = 0\.0015 is not a multiple of step = 0\.001"):
        sim.step(1.5e-3)
    assert sim.step(2e-3).t == 2e-3


def test_constant_steps_that_fail_leave_it_where_it_was():
    """A step that is too long for the spin, and a limit that is reached."""
    fast = gd.System([gd.Body("b", 1.0, (1.0, 2.0, 3.0), angular_velocity=(0, 400, 0.1))])
    sim = gd.stepper(fast, method="variational", step=0.01)
    with pytest.raises(gd.SimulationError, match="variational: "):
        sim.step(0.01)
    assert sim.t == 0.0
    arm = gd.Body("arm", 1.0, (0.01,) * 3, position=(0.5, 0, 0))
    hinge = gd.Revolute("ground", "arm", name="hinge", at=(0, 0, 0), axis=(0, 1, 0), limits=(-1.0, 0.3))
    sim = gd.stepper(gd.System([arm], [hinge]), method="variational", step=1e-3, record=True)
    while sim["hinge"].coordinates[0] < 0.25:
        sim.step(0.01)
    with pytest.raises(gd.SimulationError, match="the upper limit of Revolute 'hinge' is reached") as error:
        sim.step(0.1)
    assert error.value.motion["hinge"].coordinates[0] == pytest.approx(0.3, abs=1e-6)
    assert abs(sim["hinge"].coordinates[0]) < 0.3
    assert sim.motion().t[-1] == sim.t


def test_a_controller_with_constant_steps():
    """An input acts at once; momentum is that of its impulses to rounding."""
    sim = gd.stepper(pushed(), method="variational", step=0.01, record=True)
    for k in range(10):
        sim.step(0.1, push=float(k))
    assert_allclose(sim["ball"].velocity, (4.5 / 2.0, 0, 0), rtol=0, atol=1e-14)
    assert_allclose(sim.sensors["a"], (4.5, 0, 0), rtol=0, atol=1e-13)
    assert_allclose(sim.motion()(0.55)["ball"].velocity[0], 0.5 + 0.125, rtol=0, atol=1e-9)


# --- inputs that lead ------------------------------------------------------------------------------------------------

GOALS = ((0.05, 0, 0), (0.08, 0, 0.02), (0.08, 0, 0.02), (0.0, 0.05, 0.0))


def hand() -> gd.System:
    """A hose whose start follows a hand."""
    return hose().with_({"hose.start": gd.Hinged(at=gd.Input("hand", value=(0, 0, 0)))})


def cubic(goals, h: float, start=0.0) -> CubicHermiteSpline:
    """What the page about control says: to each goal with the mean velocity of the step at its end."""
    x = np.concatenate([[np.broadcast_to(start, np.shape(goals[0]))], np.array(goals, dtype=float)])
    rates = np.concatenate([np.zeros_like(x[:1]), np.diff(x, axis=0) / h])
    return CubicHermiteSpline(h * np.arange(len(x)), x, rates)


@pytest.mark.parametrize(
    "options", [{"method": "radau5", "rtol": 1e-5}, {"method": "variational", "step": 1e-3}], ids=str
)
def test_an_input_leads_an_end_along_cubics(options):
    h = 0.05
    sim = gd.stepper(hand(), record=True, **options)
    for goal in GOALS:
        sim.step(h, hand=goal)
        assert_allclose(sim["hose"].positions[0], goal, rtol=0, atol=1e-14)
    curve = cubic(GOALS, h)
    led = hose().with_({"hose.start": gd.Hinged(at=lambda t: curve(t), velocity=lambda t: curve(t, 1))})
    tight = gd.simulate(led, h * len(GOALS), **options)
    bound = 1e-11 if "step" in options else 2e-4
    assert_allclose(sim["hose"].positions, tight["hose"].positions[-1], rtol=0, atol=bound)
    # What was recorded is led as it was, between the steps too.
    motion = sim.motion()
    place = motion.compiled.system.rods[0].start.at
    assert type(place) is gd.Recorded
    for t in (0.0, 0.013, 0.05, 0.12, 0.2):
        assert_allclose(place(t), curve(t), rtol=0, atol=1e-14)
        assert_allclose(place.derivative(t, 1), curve(t, 1), rtol=0, atol=1e-12)
    again = gd.simulate(motion.compiled.system, h * len(GOALS), **options)
    assert_allclose(again["hose"].positions[-1], sim["hose"].positions, rtol=0, atol=bound)


def test_an_input_leads_a_joint_along_cubics(tmp_path):
    """Angle, rate and torque of a wheel are those of the cubic."""
    wheel = gd.Body("wheel", 1.0, (0.1, 0.1, 0.2))
    hinge = gd.Revolute("ground", "wheel", at=(0, 0, 0), axis=(0, 0, 1), name="hinge", drive=gd.Input("angle"))
    sensors = [gd.JointSensor("q", "hinge"), gd.JointSensor("rate", "hinge", "rate")]
    system = gd.System([wheel], [hinge], gravity=(0, 0, 0), sensors=sensors)
    goals, h = (0.1, 0.3, 0.3, -0.2), 0.1
    curve = cubic(goals, h)
    for options in ({"rtol": 1e-10}, {"method": "variational", "step": 0.01}):
        sim = gd.stepper(system, record=True, **options)
        for k, goal in enumerate(goals):
            sim.step(h, angle=goal)
            assert sim.sensors["q"] == pytest.approx(goal, abs=1e-9)
            if "step" not in options:
                assert sim.sensors["rate"] == pytest.approx(float(curve(h * (k + 1), 1)), abs=1e-9)
    sim = gd.stepper(system, record=True, rtol=1e-10)
    for goal in goals:
        sim.step(h, angle=goal)
    inside = np.array([0.03, 0.14, 0.27, 0.35])
    torque = sim.motion()(inside)["hinge"].torque[:, 2]
    assert_allclose(np.abs(torque), np.abs(0.2 * curve(inside, 2)), rtol=1e-6)
    sim.motion().save(tmp_path / "wheel.h5")
    assert gd.open(tmp_path / "wheel.h5").compiled.system == sim.motion().compiled.system
    sim.state.save(tmp_path / "now.h5")
    assert gd.open(tmp_path / "now.h5")["hinge"].rates[0] == pytest.approx(float(curve(0.4, 1)), abs=1e-9)
    # Without a stepper it stands.
    assert gd.simulate(system, 0.2)["hinge"].coordinates[-1, 0] == 0.0


@pytest.mark.parametrize("options", [{"method": "rodas"}, {"method": "variational", "step": 1e-3}], ids=str)
def test_what_leads_is_gone_back_to_bit_for_bit(options):
    sim = gd.stepper(hand(), **options)
    sim.step(0.02, hand=GOALS[0])
    saved = sim.save()
    sim.step(0.02, hand=GOALS[3])
    first = [sim.step(0.02).y, sim.step(0.02, hand=GOALS[1]).y]
    sim.restore(saved)
    sim.step(0.02, hand=GOALS[1])  # another way, which must leave no trace
    for stepper in (sim, gd.stepper(hand(), **options)):
        stepper.restore(saved)
        stepper.step(0.02, hand=GOALS[3])
        assert np.array_equal(stepper.step(0.02).y, first[0])
        assert np.array_equal(stepper.step(0.02, hand=GOALS[1]).y, first[1])
    sim.reset()
    assert_allclose(sim["hose"].positions[0], 0.0, atol=0)


def test_a_driven_joint_that_passes_its_limit_is_told_as_it_was():
    wheel = gd.Body("wheel", 1.0, (0.1, 0.1, 0.2))
    hinge = gd.Revolute(
        "ground", "wheel", at=(0, 0, 0), axis=(0, 0, 1), name="hinge", drive=gd.Input("angle"), limits=(-1.0, 0.15)
    )
    sim = gd.stepper(gd.System([wheel], [hinge], gravity=(0, 0, 0)), rtol=1e-9)
    sim.step(0.1, angle=0.1).step(0.1, angle=0.2).step(0.1, angle=-0.3)
    (event,) = (e for e in sim.events if "upper" in e.name)
    assert 0.1 < event.t < 0.2
    assert event.state["hinge"].coordinates[0] == pytest.approx(0.15, abs=1e-7)
    assert event.state["hinge"].rates[0] == pytest.approx(1.0, abs=1e-6)  # values that advance evenly
    assert abs(event.state["hinge"].torque[2]) < 1e-6


def test_an_input_of_another_shape_says_where_its_start_is_given():
    with pytest.raises(gd.ModelError, match=r"three numbers, got 0.0 .* gd.Input\('wind', value=...\)"):
        gd.RodLoad("rope", force=gd.Input("wind"))
