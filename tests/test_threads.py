"""One Stepper, Ode or Motion in several threads: a sentence or the right numbers, never a signal or lost steps."""

import concurrent.futures as cf
import sys
import threading

import numpy as np
import pytest

import gyrod as gd
from gyrod import problems

WORDS = "another thread is using these equations: a Stepper, an Ode or a Motion is for one thread at a time"


@pytest.fixture
def switching():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def blocking(started, go_on):
    """A force that waits inside of a step."""

    def force(t, state):
        started.set()
        assert go_on.wait(20.0)
        return np.zeros(6)

    return force


def waiting():
    started, go_on = threading.Event(), threading.Event()
    body = gd.Body("ball", mass=1.0, inertia=(1, 1, 1))
    return gd.System([body], forces=[gd.UserForce("ball", blocking(started, go_on))]), started, go_on


@pytest.mark.parametrize("name", ["lang-a", "chain", "steel-string"])
def test_steps_from_many_threads_are_made_or_refused(name, switching):
    sim = gd.stepper(problems.get(name).system)
    refused = []

    def step(_):
        try:
            sim.step(1e-3)
        except RuntimeError as error:
            refused.append(str(error))

    with cf.ThreadPoolExecutor(8) as pool:
        list(pool.map(step, range(200)))
    assert all(text.startswith(WORDS) for text in refused)
    made = 200 - len(refused)
    assert made > 0
    assert abs(sim.t - made * 1e-3) < 1e-12  # none is lost
    alone = gd.stepper(problems.get(name).system)
    for _ in range(made):
        alone.step(1e-3)
    assert np.array_equal(sim.y, alone.y)


def test_a_stepper_refuses_all_others_while_it_steps():
    system, started, go_on = waiting()
    sim = gd.stepper(system, method="dopri5")
    with cf.ThreadPoolExecutor(1) as pool:
        step = pool.submit(sim.step, 0.1)
        assert started.wait(20.0)
        for use in (
            lambda: sim.step(0.1),
            lambda: sim.set(),
            lambda: sim.reset(),
            lambda: sim.save(),
            lambda: sim.restore(b""),
            lambda: sim["ball"].position,
        ):
            with pytest.raises(RuntimeError, match=WORDS):
                use()
        go_on.set()
        step.result()
    assert sim.t == 0.1
    sim.step(0.1)  # it is free again
    assert sim.t == 0.2
    assert sim["ball"].position[2] == pytest.approx(-0.5 * 9.81 * 0.04)


def test_an_ode_refuses_a_second_thread_and_its_copy_does_not():
    import copy

    system, started, go_on = waiting()
    ode = gd.ode(system)
    with cf.ThreadPoolExecutor(1) as pool:
        value = pool.submit(ode.fun, 0.0, ode.y0)
        assert started.wait(20.0)
        for call in (ode.fun, ode.jac, ode.project):
            with pytest.raises(RuntimeError, match=WORDS):
                call(0.0, ode.y0)
        go_on.set()
        copied = copy.copy(ode)
        assert np.array_equal(copied.fun(0.0, ode.y0), value.result())
    assert np.array_equal(ode.fun(0.0, ode.y0), value.result())


def test_a_failing_step_leaves_the_stepper_free():
    def fails(t, state):
        raise ZeroDivisionError("on purpose")

    body = gd.Body("ball", mass=1.0, inertia=(1, 1, 1))
    sim = gd.stepper(gd.System([body], forces=[gd.UserForce("ball", fails)]), method="dopri5")
    for _ in range(2):
        with pytest.raises(gd.SimulationError, match="on purpose"):
            sim.step(0.1)
    with cf.ThreadPoolExecutor(1) as pool, pytest.raises(gd.SimulationError, match="on purpose"):
        pool.submit(sim.step, 0.1).result()


def test_events_may_read_the_motion_inside_of_a_run():
    found = gd.simulate(
        problems.get("lang-a").system, 0.2, events=[gd.Event(lambda t, m: m["top"].position[2] - 0.45, name="low")]
    )
    assert found.status == "finished"
