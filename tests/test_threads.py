"""Threads and pickles: the same bits from many threads as from one, and everything that travels between processes."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gyrod as gd
from gyrod.equations import compile_system
from gyrod.solve.methods import handed, run_options, step_options

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)
STEEL = gd.Material(young=2.1e11, poisson=0.3, density=7850)


def top(spin: float = 60.0) -> gd.System:
    body = gd.Body("top", 1.0, (0.02, 0.02, 0.01), position=(0, -0.1, 0.2), angular_velocity=(0, 0, spin))
    return gd.System([body], [gd.Spherical("ground", "top", at=(0, 0, 0))])


def chain() -> gd.System:
    bodies = [gd.Body(f"b{k}", 1.0, (0.1, 0.1, 0.1), position=(k + 0.5, 0, 0)) for k in range(5)]
    pairs = enumerate(pairwise(["ground", *(b.name for b in bodies)]))
    hinges = [gd.Revolute(a, b, at=(k, 0, 0), axis=(0, 1, 0)) for k, (a, b) in pairs]
    return gd.System(bodies, hinges)


def hose() -> gd.System:
    bob = gd.Body("bob", mass=0.2, inertia=(1e-4, 1e-4, 1e-4), position=(0, 1.0, -0.05))
    line = gd.Straight((0, 0, 0), (0, 1, 0))
    ends = {"start": gd.Clamped(), "end": gd.Hinged("bob", at=(0, 0, 0.05))}
    rod = gd.Rod("hose", 1.0, 8, gd.Circle(radius=5e-3), RUBBER, **ends, initial=line)
    return gd.System([bob], rods=[rod])


def pulled() -> gd.System:
    ball = gd.Body("ball", 1.0, (1, 1, 1))
    return gd.System([ball], forces=[gd.Force("ball", lambda t: (np.sin(t), 0.0, 0.0))])


JOBS = [
    (top(), {"t_end": 1.0, "rtol": 1e-9}),
    (top(90.0), {"t_end": 1.0, "method": "radau5", "formulation": "absolute-directors", "rtol": 1e-6}),
    (chain(), {"t_end": 1.0, "rtol": 1e-8}),
    (hose(), {"t_end": 0.2, "method": "rodas", "rtol": 1e-4}),
    (pulled(), {"t_end": 2.0, "rtol": 1e-8}),
    (top(), {"t_end": 1.0, "method": "variational", "step": 1e-3}),
]


def run(job) -> bytes:
    system, options = job
    motion = gd.simulate(system, **options)
    return motion.t.tobytes() + motion.y.tobytes() + motion.energy.total.tobytes()


def test_threads_give_the_bits_of_one():
    """Different systems, and the same System object in several threads, with and without Python forces."""
    jobs = 4 * JOBS
    serial = [run(job) for job in JOBS]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(run, jobs))
    assert found == 4 * serial


def test_steppers_in_threads_do_not_know_of_each_other():
    ball = gd.Body("ball", 2.0, (1, 1, 1))
    system = gd.System([ball], forces=[gd.Force("ball", gd.Input("push", along=(1, 0, 0)))], gravity=(0, 0, 0))

    def drive(value: float) -> float:
        sim = gd.stepper(system)
        for _ in range(200):
            sim.step(0.01, push=value)
        return float(sim["ball"].velocity[0])

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(drive, [1.0, -2.0, 3.0, 0.5]))
    assert_allclose(found, [1.0, -2.0, 3.0, 0.5], rtol=0, atol=1e-10)


def test_statics_and_reading_in_threads():
    systems = [hose().with_({"bob.mass": m}) for m in (0.1, 0.2, 0.3, 0.4)]

    def rest(system):
        found = gd.equilibrium(system)
        return found.y.tobytes() + found["hose"].start_force.tobytes()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(rest, 2 * systems)) == 2 * [rest(s) for s in systems]
    motion = gd.simulate(hose(), 0.2, rtol=1e-4)
    times = np.linspace(0.0, 0.2, 7)
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda t: motion(t)["hose"].positions, 3 * list(times)))
    for k, t in enumerate(3 * list(times)):
        assert np.array_equal(rows[k], motion(t)["hose"].positions)


@pytest.mark.parametrize(("system", "method"), [(top(), "dop853"), (hose(), "rodas")], ids=["top", "hose"])
def test_the_lock_is_released_during_a_run(system, method):
    """Another thread runs while the core integrates; where the lock is kept, for Python forces, it does not."""
    compiled = compile_system(system)
    t_end = 0.5 if compiled.rods else 500.0
    steps = step_options(compiled.size, 1e-5, None, compiled.scales(), None, None, None)

    def other_ran(keep: bool) -> bool:
        go, ran = threading.Event(), threading.Event()
        thread = threading.Thread(target=lambda: (go.wait(), ran.set()))
        thread.start()
        before = sys.getswitchinterval()
        sys.setswitchinterval(1000.0)  # nobody is asked for the lock: it passes on only where it is released
        try:
            go.set()
            given = handed(steps, run_options(dense=False))
            compiled.core.integrate(method, 0.0, compiled.y0, t_end, *given, keep)
            return ran.is_set()
        finally:
            sys.setswitchinterval(before)
            thread.join()

    assert any(other_ran(False) for _ in range(20))  # a busy machine may not schedule it at once
    assert not other_ran(True)


# --- pickles ---------------------------------------------------------------------------------------------------------


def again(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("system", [top(), chain(), hose()], ids=["top", "chain", "hose"])
def test_systems_travel(system):
    assert again(system) == system
    assert copy.copy(system) == copy.deepcopy(system) == system


@pytest.mark.parametrize("method", [*gd.METHODS, "variational", "scipy:DOP853"])
def test_motions_travel_with_their_dense_output(method):
    options = {"step": 1e-3} if method == "variational" else {"rtol": 1e-7}
    motion = gd.simulate(top(), 0.2, method=method, **options)
    other = again(motion)
    assert np.array_equal(other.y, motion.y)
    assert np.array_equal(other["top"].position, motion["top"].position)
    assert other.stats == motion.stats
    t = np.random.default_rng(0).uniform(0.0, 0.2, 200)
    assert_allclose(other(t).y, motion(t).y, rtol=0, atol=1e-12 * np.abs(motion.y).max())
    assert_allclose(other(motion.t).y, motion(motion.t).y, rtol=0, atol=1e-12 * np.abs(motion.y).max())
    assert_allclose(again(other)(t).y, other(t).y, rtol=0, atol=0)


def test_motions_that_end_at_an_event_travel():
    ball = gd.Body("ball", 1.0, (1, 1, 1), position=(0, 0, 1))
    event = gd.Event(_height, terminal=True)
    motion = gd.simulate(gd.System([ball]), 2.0, events=[event])
    other = again(motion)
    assert other.status == "event"
    assert other.events[0].t == motion.events[0].t
    t = np.linspace(0.0, motion.t[-1], 9)
    assert_allclose(other(t).y, motion(t).y, rtol=0, atol=1e-13)


def _height(_, motion):
    return motion["ball"].position[2]


def test_rods_and_their_energy_travel():
    motion = gd.simulate(gd.System(rods=[hose().rods[0].with_(end=gd.Free())]), 0.05, rtol=1e-4)
    other = again(motion)
    assert_allclose(other.energy.balance, motion.energy.balance, rtol=0, atol=1e-10)
    assert np.array_equal(other["hose"].curvature, motion["hose"].curvature)
    bare = again(gd.simulate(top(), 0.1, dense=False))
    with pytest.raises(ValueError, match="keeps no dense output"):
        bare(0.05)


def beam(force: float) -> gd.System:
    line = gd.Straight((0, 0, 0), (1, 0, 0))
    rod = gd.Rod("beam", 1.0, 6, gd.Circle(radius=5e-3), STEEL, start=gd.Clamped(), initial=line)
    return gd.System(rods=[rod], forces=[gd.RodLoad("beam", force=(0, 0, -force))])


@pytest.mark.parametrize(
    ("system", "parameter"),
    [
        (beam(5.0), "load"),
        (beam(5.0), "gravity"),
        (beam(5.0), "time"),
        (hose(), "load"),
        (None, lambda x: beam(5.0 * x)),
    ],
)
def test_paths_travel(system, parameter):
    path = gd.follow(system, parameter, [0.5, 1.0])
    other = again(path)
    name = "hose" if system == hose() else "beam"
    assert np.array_equal(other.value, path.value)
    assert np.array_equal(other[name].positions, path[name].positions)
    assert np.array_equal(other.at(0.5)[name].moment, path.at(0.5)[name].moment)
    assert len(other.rests) == len(path.rests)
    assert [e.kind for e in other.events] == [e.kind for e in path.events]


def test_rests_modes_and_the_rest_travel():
    rest = gd.equilibrium(beam(5.0))
    assert np.array_equal(again(rest)["beam"].positions, rest["beam"].positions)
    modes = gd.modes(rest, n=3)
    assert np.array_equal(again(modes).frequencies, modes.frequencies)
    assert np.array_equal(again(modes).shape(1, "beam"), modes.shape(1, "beam"))
    R = gd.attitude(np.linspace(0.0, 1.0, 11), np.tile([0.1, 0.2, 0.3], (11, 1)))
    assert np.array_equal(again(R)(0.33), R(0.33))
    cable = gd.hang(10.0, between=((0, 0, 0), (9, 0, 0)), section=gd.Circle(radius=5e-3), material=RUBBER, segments=10)
    assert again(cable).sag == cable.sag
    assert again(gd.Input("a", along=(1, 0, 0))) == gd.Input("a", along=(1, 0, 0))
    wave = gd.Expression("0.1*sin(2*pi*t)")
    assert again(wave) == wave
    assert again(wave)(0.3) == wave(0.3)
    shaken = hose().with_({"bob.mass": 0.3}, gravity=gd.ExpressionVector(("0", "sin(t)", -9.81)))
    motion = gd.simulate(shaken, 0.01, rtol=1e-3)
    assert again(shaken) == shaken
    assert np.array_equal(again(motion)["bob"].position, motion["bob"].position)


def test_a_motion_is_read_in_another_process(tmp_path):
    motion = gd.simulate(top(), 0.1, rtol=1e-6)
    (tmp_path / "motion").write_bytes(pickle.dumps(motion))
    code = "import pickle, sys; m = pickle.load(open(sys.argv[1], 'rb')); print(*m(0.05)['top'].position.tolist())"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "motion")], capture_output=True, text=True, check=True
    )
    found = [float(x) for x in done.stdout.split()]
    assert_allclose(found, motion(0.05)["top"].position, rtol=0, atol=1e-13)


# --- SciPy's rotations -----------------------------------------------------------------------------------------------


def test_rotations_of_scipy_come_in_everywhere_and_out():
    from scipy.spatial.transform import Rotation

    R = Rotation.from_rotvec([0.3, -0.2, 0.5])
    p = gd.rotations.from_scipy(R)
    body = gd.Body("b", 1.0, (1, 2, 3), orientation=R, angular_velocity=(0.1, 1.0, 0.2))
    assert np.array_equal(body.orientation, p)
    d3 = R.as_matrix()[:, 2]
    assert_allclose(gd.Straight((0, 0, 0), d3, orientation=R).orientation, p, atol=1e-15)
    assert_allclose(gd.Arc((0, 0, 0), d3, R.as_matrix()[:, 0], 1.0, 1.0, orientation=R).orientation, p, atol=1e-15)
    assert_allclose(gd.Bent((0, 0, 1), orientation=R).orientation, p, atol=1e-15)
    assert_allclose(gd.Clamped(frame=R).frame, p, atol=1e-15)
    assert_allclose(gd.Guided(frame=R).frame, p, atol=1e-15)
    led = gd.Clamped(at=lambda _t: (0, 0, 0), frame=lambda t: Rotation.from_rotvec([0.0, 0.0, t]))
    assert_allclose(led.frame_at(0.5), gd.rotations.exp([0, 0, 0.5]), atol=1e-15)
    curve = gd.Curve(lambda s: s * d3, orientation=R)
    assert_allclose(curve.place([0.0, 1.0], 1.0)[1], np.tile(p, (2, 1)), atol=1e-12)
    turning = gd.Curve(lambda s: s * d3, orientation=lambda s: R * Rotation.from_rotvec([0, 0, s]))
    assert turning.place([0.0, 1.0], 1.0)[1].shape == (2, 4)
    samples = gd.Curve(np.outer(np.linspace(0, 1, 5), d3), orientation=Rotation.concatenate(5 * [R]))
    assert_allclose(samples.place([0.5], 1.0)[1][0], p, atol=1e-12)

    motion = gd.simulate(gd.System([body]), 1.0, output=[0.0, 0.5, 1.0])
    out = motion["b"].rotation
    assert isinstance(out, Rotation)
    assert len(out) == 3
    assert_allclose(out.as_matrix(), motion["b"].matrix, atol=1e-12)
    assert motion(0.5)["b"].rotation.single
    assert_allclose((motion["b"].rotation[0] * R.inv()).magnitude(), 0.0, atol=1e-12)
