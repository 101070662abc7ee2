"""Joints in a motion: coordinates, rates, forces, limits, plots, through the public face."""

from __future__ import annotations

import numpy as np
import pytest

import gyrod as gd
from gyrod import problems

G = 9.81


def arm(**joint) -> gd.System:
    body = gd.Body("arm", mass=2.0, inertia=(0.1, 0.2, 0.2), position=(0.5, 0.0, 0.0))
    return gd.System([body], [gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), name="hinge", **joint)])


def test_coordinates_are_continuous_over_turns_and_rates_are_their_derivatives():
    body = gd.Body("arm", mass=2.0, inertia=(0.1, 0.2, 0.2), position=(0.5, 0, 0), angular_velocity=(0, 20, 0))
    system = gd.System([body], [gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), name="hinge")])
    motion = gd.simulate(system, 2.0, rtol=1e-10, output=np.linspace(0, 2, 401))
    angle, rate = motion["hinge"].coordinates[:, 0], motion["hinge"].rates[:, 0]
    assert angle[-1] > 6 * np.pi
    np.testing.assert_allclose(np.gradient(angle, motion.t, edge_order=2), rate, atol=2e-2)
    single = motion(1.3).joints[0].coordinates  # a single time knows no turns
    assert np.abs(np.exp(1j * single[0]) - np.exp(1j * np.interp(1.3, motion.t, angle))) < 1e-3


def test_bearing_force_of_a_pendulum():
    """At the bottom the hinge carries the weight and the centripetal force."""
    bottom = gd.Event(lambda t, m: m["arm"].position[0], terminal=True)
    motion = gd.simulate(arm(), 2.0, rtol=1e-11, events=[bottom])
    J, m, r = 0.2 + 2.0 * 0.25, 2.0, 0.5
    omega2 = 2 * m * G * r / J
    np.testing.assert_allclose(motion["hinge"].rates[-1] ** 2, omega2, rtol=1e-8)
    np.testing.assert_allclose(motion["hinge"].force[-1], [0, 0, m * G + m * r * omega2], atol=1e-6)
    assert motion["hinge"].unique


def test_a_top_tells_the_force_of_its_tip():
    """The ball joint is eliminated there; its force follows all the same, at rest the weight."""
    body = gd.Body("top", mass=3.0, inertia=(1, 1, 1), position=(0, 0, -1))
    system = gd.System([body], [gd.Spherical("ground", "top", at=(0, 0, 0), name="tip")])
    motion = gd.simulate(system, 0.1)
    np.testing.assert_allclose(motion["tip"].force, np.tile([0, 0, 3 * G], (len(motion.t), 1)), atol=1e-9)
    whole = gd.simulate(system, 0.1, formulation=gd.Formulation(reduce=False))
    assert whole.compiled.size == 10
    np.testing.assert_allclose(whole["tip"].force[-1], [0, 0, 3 * G], atol=1e-9)


def test_limits_end_the_run_where_they_are_reached():
    motion = gd.simulate(arm(limits=(-2.0, 0.6)), 5.0, rtol=1e-9)
    assert motion.status == "event"
    assert motion["hinge"].coordinates[-1, 0] == pytest.approx(0.6, abs=3e-9)
    assert motion.events[-1].name == "upper limit of Revolute 'hinge'"
    assert gd.simulate(arm(), 5.0).status == "finished"


def test_a_start_at_a_limit_ends_at_once_and_one_outside_is_refused():
    motion = gd.simulate(arm(limits=(-1.0, 0.0)), 5.0)
    assert motion.status == "event"
    assert motion.t[-1] < 1e-3
    with pytest.raises(gd.ModelError, match=r"limits = \(-1.0, -0.1\) do not hold its angle at the start, 0"):
        gd.simulate(arm(limits=(-1.0, -0.1)), 5.0)


def test_turns_are_counted_between_output_times():
    body = gd.Body("wheel", mass=1.0, inertia=(0.1, 0.2, 0.2), angular_velocity=(0, 10, 0))
    system = gd.System([body], [gd.Revolute("ground", "wheel", at=(0, 0, 0), axis=(0, 1, 0), name="axle")])
    motion = gd.simulate(system, 5.0, output=[0.0, 2.5, 5.0], max_step=0.1)
    np.testing.assert_allclose(motion["axle"].coordinates[:, 0], [0.0, 25.0, 50.0], atol=1e-5)
    np.testing.assert_allclose(motion(2.5)["axle"].coordinates, [25.0], atol=1e-5)


@pytest.mark.parametrize("formulation", ["nullspace-quaternion", "absolute-quaternion"])
def test_a_loop_driven_into_its_dead_centre_is_told(formulation):
    A, B, C, D = (0, 0, 0), (0, 0, 1), (0.6, 0, 1), (1.5, 0, 0)
    bar = {"mass": 1.0, "inertia": (0.1, 0.1, 0.01)}
    bodies = [gd.Body(name, **bar, position=np.add(p, q) / 2) for name, p, q in (("a", A, B), ("b", B, C), ("c", C, D))]
    hinge = {"axis": (0, 1, 0)}
    drive = (lambda t: -t, lambda t: -1.0, lambda t: 0.0)
    joints = [
        gd.Revolute("ground", "a", at=A, drive=drive, **hinge), gd.Revolute("a", "b", at=B, **hinge),
        gd.Revolute("b", "c", at=C, **hinge), gd.Revolute("c", "ground", at=D, **hinge),
    ]  # fmt: skip
    system = gd.assemble(gd.System(bodies, joints))
    with pytest.raises(gd.SimulationError) as error:
        gd.simulate(system, 3.0, formulation=formulation, method="dopri5", step=0.02)
    assert error.value.time < 1.0
    assert error.value.motion.drift.position[:-1].max() < 1e-5


def test_derivatives_of_a_drive_are_compared_with_it():
    with pytest.raises(gd.ModelError, match=r"Revolute 'hinge': drive\[1\] is not the time derivative of drive\[0\]"):
        gd.simulate(arm(drive=(np.sin, lambda t: -np.cos(t) + 1.0, lambda t: -np.sin(t))), 1.0)


def test_runs_of_redundant_loops_repeat_to_the_last_bit():
    ends = [gd.simulate(problems.get("four-bar").system, 1.5, rtol=1e-7).y[-1] for _ in range(2)]
    assert np.array_equal(*ends)


def test_spring_and_damper_of_a_hinge():
    """Small oscillation about rest: frequency and decay of the linear equation."""
    body = gd.Body("arm", mass=2.0, inertia=(0.1, 0.2, 0.2), angular_velocity=(0, 1e-3, 0))
    hinge = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), stiffness=5.0, damping=0.1, name="hinge")
    motion = gd.simulate(gd.System([body], [hinge]), 3.0, rtol=1e-10, output=np.linspace(0, 3, 31))
    decay, frequency = 0.1 / 0.4, np.sqrt(5.0 / 0.2 - (0.1 / 0.4) ** 2)
    exact = 1e-3 / frequency * np.exp(-decay * motion.t) * np.sin(frequency * motion.t)
    np.testing.assert_allclose(motion["hinge"].coordinates[:, 0], exact, rtol=0, atol=2e-9)


def test_a_drive_that_starts_elsewhere_is_assembled():
    system = arm(drive=lambda t: 0.3 + np.sin(t))
    with pytest.raises(gd.ModelError, match=r"position gap at the start of 0.3 rad.*assemble"):
        gd.simulate(system, 1.0)
    motion = gd.simulate(gd.assemble(system), 1.0, output=np.linspace(0, 1, 11))
    np.testing.assert_allclose(motion["hinge"].coordinates[:, 0], 0.3 + np.sin(motion.t), atol=1e-12)
    np.testing.assert_allclose(motion["hinge"].rates[:, 0], np.cos(motion.t), atol=1e-9)
    # the torque of the drive: inertia and weight
    theta = 0.3 + np.sin(motion.t)
    torque = -(0.2 + 2.0 * 0.25) * np.sin(motion.t) - 2.0 * G * 0.5 * np.cos(theta)
    np.testing.assert_allclose(motion["hinge"].torque[:, 1], torque, atol=1e-6)


def test_redundant_forces_are_of_least_norm_and_flagged():
    """Two equal hinges on one shaft share the weight."""
    body = gd.Body("arm", mass=2.0, inertia=(0.1, 0.2, 0.2), position=(0.5, 0, 0))
    hinges = [gd.Revolute("ground", "arm", at=(0, y, 0), axis=(0, 1, 0)) for y in (-0.3, 0.3)]
    motion = gd.simulate(gd.System([body], hinges), 0.2)
    left, right = motion.joints
    assert not left.unique
    assert not right.unique
    np.testing.assert_allclose(left.force, right.force, atol=1e-9)
    alone = gd.simulate(arm(), 0.2)["hinge"]
    np.testing.assert_allclose((left.force + right.force)[-1], alone.force[-1], atol=1e-6)


def test_index_forms_and_peers_agree_on_a_closed_loop():
    system = problems.get("slider-crank").system
    exact = 0.1849526297778  # at 0.5 s, IFToMM
    for parts, method in (
        ({"index": 1}, "auto"),
        ({"index": 2}, "auto"),
        ({"index": 3}, "auto"),
        ({"null_space": "qr"}, "dop853"),
    ):
        form = gd.Formulation("absolute-quaternion", **parts)
        motion = gd.simulate(system, 0.5, formulation=form, method=method, rtol=1e-7, output=[0.5])
        assert abs(motion["slider"].position[-1, 0] - exact) < 2e-8, parts
    pytest.importorskip("sksundae")
    motion = gd.simulate(system, 0.5, formulation="absolute-quaternion", method="bdf-dae", rtol=1e-7, output=[0.5])
    assert abs(motion["slider"].position[-1, 0] - exact) < 1e-5


def test_levels_hold_what_they_promise():
    """Index 3 holds positions to the tolerance of Newton's method and not velocities, index 2 velocities."""
    system = problems.get("slider-crank").system
    drift = {
        k: gd.simulate(system, 0.5, formulation=gd.Formulation("absolute-quaternion", index=k), rtol=1e-6).drift
        for k in (2, 3)
    }
    assert drift[2].velocity.max() < 0.05 * drift[3].velocity.max()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"name": "absolute-quaternion", "index": 4}, "index = 4 must be a whole number from 0 to 3"),
        ({"name": "absolute-quaternion", "index": 2}, "index = 2 is a differential-algebraic system"),
        ({"index": 1}, "index = 1 works with the absolute formulations only"),
        ({"null_space": "svd"}, "null_space = 'svd' is unknown"),
        ({"name": "absolute-quaternion", "null_space": "qr", "index": 1}, "leave one of them out"),
        ({"velocity": "spatial"}, "is for bodies without joints"),
    ],
)
def test_options_that_do_not_go_together(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        gd.simulate(arm(), 0.1, formulation=gd.Formulation(**options), method="dopri5")


def test_a_point_mass_on_a_ball_is_refused():
    point = gd.Body("point", mass=1.0, inertia=(0, 0, 0), position=(1, 0, 0))
    joints = [gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0)), gd.Spherical("arm", "point", at=(0.6, 0, 0))]
    with pytest.raises(gd.ModelError, match="Body 'point': inertia is singular"):
        gd.simulate(gd.System([*arm().bodies, point], joints), 0.1)


def test_plot_of_joints(tmp_path):
    motion = gd.simulate(problems.get("slider-crank").system, 0.2)
    figure = motion.plot("joints", file=str(tmp_path / "joints.png"))
    assert len(figure.axes) == 2
    assert figure.axes[1].lines
    with pytest.raises(ValueError, match="is for joints"):
        gd.simulate(gd.System([gd.Body("b", mass=1, inertia=(1, 1, 1))]), 0.1).plot("joints")
