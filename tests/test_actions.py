"""Events that act: velocities change at a zero, and the run goes on."""

import re

import numpy as np
import pytest
from contact_cases import G

import gyrod as gd

METHODS = {
    "dop853": {"rtol": 1e-10},
    "dopri5": {"rtol": 1e-10},
    "odex": {"rtol": 1e-10},
    "radau5": {"rtol": 1e-9},
    "rodas": {"rtol": 1e-9},
    "seulex": {"rtol": 1e-9},
    "radau5, constant": {"method": "radau5", "step": 0.013},
}


def ball(height=1.0, **given):
    return gd.Body("ball", 1.0, (0.1, 0.2, 0.3), (0, 0, height), **given)


def bounce(restitution=0.8, **more):
    def act(_, motion):
        v = motion["ball"].velocity
        return {"ball": (v[0], v[1], -restitution * v[2])}

    return gd.Event(lambda _, motion: motion["ball"].position[2], direction=-1, name="bounce", action=act, **more)


def times_of(n, e=0.8, height=1.0):
    first = np.sqrt(2.0 * height / G)
    return first + 2.0 * first * np.cumsum([0.0, *(e**k for k in range(1, n))])


@pytest.mark.parametrize("name", METHODS)
def test_a_ball_bounces_by_a_law_of_its_user(name):
    options = {"method": name} | METHODS[name]
    motion = gd.simulate(gd.System([ball(velocity=(0.3, 0, 0))]), 2.8, events=[bounce()], **options)
    hits = [event.t for event in motion.events]
    np.testing.assert_allclose(hits, times_of(5), atol=1e-7)
    t, last = 2.8, times_of(5)[-1]
    v = 0.8**5 * np.sqrt(2.0 * G)
    assert motion["ball"].position[-1, 2] == pytest.approx(v * (t - last) - 0.5 * G * (t - last) ** 2, abs=1e-6)
    assert motion["ball"].position[-1, 0] == pytest.approx(0.84, abs=1e-9)
    assert motion.energy.total[-1] == pytest.approx(G * 0.64**5 + 0.045, rel=1e-6)
    # The state of an event is that before, rows and dense output those of both sides.
    assert motion.events[0].state["ball"].velocity[2] == pytest.approx(-np.sqrt(2.0 * G), abs=1e-6)
    beside = motion(np.array([hits[0] - 1e-6, hits[0] + 1e-6]))["ball"].velocity[:, 2]
    np.testing.assert_allclose(beside, np.sqrt(2.0 * G) * np.array([-1.0, 0.8]), atol=1e-4)


def test_it_acts_with_constant_steps_of_impulses():
    motion = gd.simulate(gd.System([ball()]), 1.0, method="moreau", step=1e-3, events=[bounce()])
    np.testing.assert_allclose([e.t for e in motion.events], times_of(1), atol=1e-6)
    assert motion["ball"].position[:, 2].min() > -1e-9


def test_rows_that_are_asked_for_do_not_change_the_run():
    system, times = gd.System([ball()]), np.linspace(0.0, 2.0, 41)
    every = gd.simulate(system, 2.0, events=[bounce()], rtol=1e-8)
    some = gd.simulate(system, 2.0, events=[bounce()], rtol=1e-8, output=times)
    np.testing.assert_allclose(some.y, every(times).y, atol=1e-12)
    assert np.all(np.diff(every.t) > 0.0)


def test_what_it_says_of_spin_and_of_other_bodies():
    def act(_, motion):
        return {"ball": {"angular_velocity": (0, 0, 5)}, "other": (1, 2, 3)}

    event = gd.Event(lambda t, _: t - 0.25, action=act)
    bodies = [ball(angular_velocity=(1, 0, 0)), gd.Body("other", 1.0, (1, 2, 3), (3, 0, 0))]
    for formulation in ("nullspace-quaternion", "nullspace-directors", "absolute-quaternion", "euler"):
        turned = [body.with_(orientation=("313", (0.1, 0.9, 0.2))) for body in bodies]
        motion = gd.simulate(gd.System(turned, gravity=(0, 0, 0)), 0.5, events=[event], formulation=formulation)
        np.testing.assert_allclose(motion["ball"].Omega[-1], (0, 0, 5), atol=1e-9)
        np.testing.assert_allclose(motion["ball"].velocity[-1], 0.0, atol=1e-12)
        np.testing.assert_allclose(motion["other"].position[-1], (3.25, 0.5, 0.75), atol=1e-9)


@pytest.mark.parametrize("formulation", ["nullspace-quaternion", "absolute-directors"])
def test_a_pendulum_strikes_a_wall(formulation):
    """It comes back at once: half a period each time."""
    bob = gd.Body("bob", 1.0, (1e-9, 1e-9, 1e-9), (0, 0, -1.0), velocity=(0.01, 0, 0), angular_velocity=(0, -0.01, 0))
    hinge = gd.Revolute("ground", "bob", at=(0, 0, 0), axis=(0, 1, 0))

    def act(_, motion):
        b = motion["bob"]
        return {"bob": {"velocity": -b.velocity, "angular_velocity": -b.Omega}}

    event = gd.Event(lambda _, motion: motion["bob"].position[0], direction=-1, action=act)
    motion = gd.simulate(gd.System([bob], [hinge]), 4.0, events=[event], rtol=1e-10, formulation=formulation)
    np.testing.assert_allclose([e.t for e in motion.events], np.pi / np.sqrt(G) * np.arange(1, 4), rtol=1e-5)
    assert motion["bob"].position[:, 0].min() > -1e-9
    assert max(motion.drift.position.max(), motion.drift.velocity.max()) < 1e-9


def test_a_rod_is_struck():
    rod = gd.Rod("rod", 1.0, 4, section=gd.Circle(5e-3), material=gd.Material(young=5e6, poisson=0.5, density=1100))
    strike = gd.Event(
        lambda t, _: t - 0.01, action=lambda _, motion: {"rod": np.add(motion["rod"].velocities, (0, 2.0, 0))}
    )
    motion = gd.simulate(gd.System(rods=[rod], gravity=(0, 0, 0)), 0.02, events=[strike], rtol=1e-8)
    np.testing.assert_allclose(motion["rod"].velocities[-1], [(0, 2, 0)] * 5, atol=1e-7)


def test_it_goes_on_bit_for_bit(tmp_path):
    options = {"events": [bounce()], "rtol": 1e-8, "method": "radau5"}
    whole = gd.simulate(gd.System([ball()]), 2.8, **options)
    assert len(whole.events) == 5
    limits, stops = range(2, whole.stats.steps, 3), 0
    for limit in (*limits, 10**6):
        try:
            stored = gd.simulate(
                gd.System([ball()]), 2.8, save=tmp_path / "run.h5", resume=True, max_steps=limit, **options
            )
        except gd.SimulationError:
            stops += 1
    assert stops == len(limits)
    np.testing.assert_array_equal(stored.y, whole.y)
    assert [e.t for e in stored.events] == [e.t for e in whole.events]


def test_one_that_ends_the_run_comes_first():
    late = gd.Event(lambda t, _: t - 0.44, terminal=True, name="late")
    motion = gd.simulate(gd.System([ball()]), 2.0, events=[bounce(), late], rtol=1e-3)
    assert motion.status == "event"
    assert motion.t[-1] == pytest.approx(0.44)
    assert [e.name for e in motion.events] == ["late"]
    after = gd.Event(lambda t, _: t - 0.46, terminal=True, name="after")
    motion = gd.simulate(gd.System([ball()]), 2.0, events=[bounce(), after], rtol=1e-3)
    assert [e.name for e in motion.events] == ["bounce", "after"]
    assert motion["ball"].velocity[-1, 2] > 3.0


def test_it_may_leave_things_as_they_are():
    seen = []
    event = gd.Event(lambda _, m: m["ball"].position[2] - 0.5, action=lambda t, _: seen.append(t))
    motion = gd.simulate(gd.System([ball()]), 0.5, events=[event], rtol=1e-8)
    assert seen == pytest.approx([np.sqrt(1.0 / G)])
    assert motion["ball"].position[-1, 2] == pytest.approx(1.0 - 0.125 * G, abs=1e-9)


BAD = {
    "no function": (gd.Event(lambda t, _: t - 0.1, action=3), {}, "action = 3 must be a function of time and motion"),
    "no mapping": (gd.Event(lambda t, _: t - 0.1, action=lambda *_: 3), {}, "must return velocities by name"),
    "no body": (
        gd.Event(lambda t, _: t - 0.1, action=lambda *_: {"bal": (0, 0, 0)}), {}, "'bal' is neither a body nor a rod."
    ),
    "no part": (
        gd.Event(lambda t, _: t - 0.1, action=lambda *_: {"ball": {"speed": (0, 0, 0)}}), {}, "'speed' is unknown"
    ),
    "shape": (gd.Event(lambda t, _: t - 0.1, action=lambda *_: {"ball": (0, 0)}), {}, "velocity of body 'ball'"),
    "raises": (gd.Event(lambda t, _: t - 0.1, action=lambda *_: 1 / 0), {}, "raised ZeroDivisionError at t = 0.1"),
    "for ever": (bounce(0.3), {}, "acts again and again"),
    "constant steps": (
        bounce(), {"method": "variational", "step": 0.1}, "events[0] has an action, and method = 'variational'"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_is_told(case):
    event, options, says = BAD[case]
    with pytest.raises((ValueError, gd.SimulationError), match=re.escape(says)):
        gd.simulate(gd.System([ball()]), 1.0, events=[event], **options)
