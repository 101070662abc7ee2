"""Runs that pause: neither pauses nor outputs shape the steps, and a saved state continues to the last bit."""

import numpy as np
import pytest

import gyrod as gd
from gyrod.equations import compile_system
from gyrod.solve.methods import METHODS, handed, run_options, step_options

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)


def hose(**ends):
    return gd.Rod(
        "hose", length=1.0, segments=6, section=gd.Circle(radius=5e-3), material=RUBBER,
        initial=gd.Straight((0, 0, 0), (0, 1, 0)), **ends,
    )  # fmt: skip


def pendulum(name, above, x):
    body = gd.Body(name, mass=1.0, inertia=(0.02, 0.01, 0.02), position=(x, 0, 0))
    return body, gd.Revolute(above, name, at=(x - 0.5, 0, 0), axis=(0, 1, 0))


def systems():
    bob = gd.Body("bob", mass=0.2, inertia=(1e-4, 1e-4, 1e-4), position=(0, 1.0, -0.05))
    first, second = pendulum("upper", "ground", 0.5), pendulum("lower", "upper", 1.5)
    tumbling = gd.Body("stone", mass=1.0, inertia=(1.0, 2.0, 2.5), angular_velocity=(0.01, 3.0, 0.0))
    spring = gd.SpringDamper("ground", "stone", at_b=(0.1, 0, 0), stiffness=1e3, damping=5.0, length=0.0)
    return {
        "rod": (gd.System(rods=[hose(start=gd.Hinged("ground"))]), "nullspace-quaternion"),
        "rod, absolute": (gd.System(rods=[hose(start=gd.Hinged("ground"))]), "absolute-quaternion"),
        "rod on a body": (
            gd.System(bodies=[bob], rods=[hose(start=gd.Clamped("ground"), end=gd.Hinged("bob", at=(0, 0, 0.05)))]),
            "nullspace-quaternion",
        ),
        "double pendulum": (
            gd.System(bodies=[first[0], second[0]], joints=[first[1], second[1]]),
            "nullspace-directors",
        ),
        "stone": (gd.System(bodies=[tumbling], forces=[spring]), "absolute-directors"),
    }


SYSTEMS = systems()


def begin(system, formulation, method, t_end=0.15, rtol=1e-5, **options):
    c = compile_system(system, formulation)
    steps = step_options(c.size, rtol, None, c.scales(), None, None, None)
    return c.core.start(method, 0.0, c.y0, t_end, *handed(steps, run_options(**options)), False)


@pytest.mark.spread
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_saved_state_continues_to_the_last_bit(name, method):
    t_end = 0.15 if SYSTEMS[name][0].rods else 1.5
    output = np.linspace(0.0, t_end, 31)
    whole = begin(*SYSTEMS[name], method, t_end, output=output).advance(10**9, np.inf)
    session, parts = begin(*SYSTEMS[name], method, t_end, output=output), []
    pause = max(1, whole.stats["steps"] // 5)
    while True:
        parts.append(session.advance(pause, np.inf))
        if parts[-1].status != "paused":
            break
        state = session.save()
        session = begin(*SYSTEMS[name], method, t_end, output=output)  # another core object, in another state
        session.advance(3, np.inf)
        session.load(state)
        assert session.save() == state
    assert whole.status == parts[-1].status == "finished"
    assert len(parts) >= 3
    np.testing.assert_array_equal(np.concatenate([p.t for p in parts]), output)
    np.testing.assert_array_equal(np.concatenate([p.y for p in parts]), whole.y)
    np.testing.assert_array_equal(np.concatenate([p.step_ends[1:] for p in parts]), whole.step_ends[1:])
    np.testing.assert_array_equal(parts[-1].y_stop, whole.y_stop)
    assert parts[-1].stats == whole.stats


@pytest.mark.parametrize("method", METHODS)
def test_pauses_do_not_shape_steps(method):
    whole = begin(*SYSTEMS["rod"], method).advance(10**9, np.inf)
    session, t, y = begin(*SYSTEMS["rod"], method), [], []
    for pause in (1e-4, 0.031, 0.05, np.inf):
        part = session.advance(10**9, pause)
        assert part.t_stop >= min(pause, 0.15)
        t.append(part.t), y.append(part.y)
        inside = np.linspace(part.step_ends[0], part.step_ends[-1], 7)[:-1]  # a step has the end of the one before it
        np.testing.assert_array_equal(part.evaluate(inside), whole.evaluate(inside))
    np.testing.assert_array_equal(np.concatenate(t), whole.t)
    np.testing.assert_array_equal(np.concatenate(y), whole.y)


@pytest.mark.parametrize("method", METHODS)
def test_going_on_meets_the_tolerance_and_keeps_the_step_size(method):
    system, formulation = SYSTEMS["double pendulum"]
    whole = begin(system, formulation, method, t_end=1.0, rtol=1e-8).advance(10**9, np.inf)
    session = begin(system, formulation, method, t_end=0.1, rtol=1e-8)
    session.advance(10**9, np.inf)
    for k in range(2, 11):
        part = session.go_on(k / 10)
        assert part.status == "finished"
        assert part.t_stop == k / 10
    np.testing.assert_allclose(part.y_stop, whole.y_stop, atol=2e-6)
    assert part.stats["steps"] <= whole.stats["steps"] + 3 * 10


def test_a_step_cut_short_is_forgotten():
    session = begin(*SYSTEMS["stone"], "dopri5", t_end=0.5)
    session.advance(10**9, np.inf)
    before = session.h
    session.go_on(0.5 + 1e-7)
    steps = session.go_on(0.6).stats["steps"]
    other = begin(*SYSTEMS["stone"], "dopri5", t_end=0.5)
    other.advance(10**9, np.inf)
    assert steps <= other.go_on(0.6).stats["steps"] + 2
    assert before > 1e-4


@pytest.mark.parametrize("damage", [lambda s: s[:-3], lambda s: s + b"x", lambda s: b"", lambda s: s[8:]])
def test_a_state_that_does_not_fit_is_refused(damage):
    session = begin(*SYSTEMS["rod"], "rodas")
    session.advance(5, np.inf)
    state = session.save()
    with pytest.raises((ValueError, RuntimeError), match="saved state"):
        session.load(damage(state))
    with pytest.raises((ValueError, RuntimeError), match="saved state"):
        begin(*SYSTEMS["rod on a body"], "rodas").load(state)
    with pytest.raises((ValueError, RuntimeError), match="saved state"):
        begin(*SYSTEMS["rod"], "radau5").load(state)
