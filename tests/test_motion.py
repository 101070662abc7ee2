"""The result of a simulation: access, quantities, pickling, plots."""

from __future__ import annotations

import importlib
import pickle
from pathlib import Path

import numpy as np
import pytest

import gyrod as gd
from gyrod import _moved
from gyrod import rotations as ro

TOP = gd.problems.get("lang-a").system


@pytest.fixture(scope="module", params=gd.FORMULATIONS)
def motion(request):
    return gd.simulate(TOP, 1.0, formulation=request.param, rtol=1e-9)


def test_shapes_and_relations(motion):
    n, top = len(motion.t), motion["top"]
    assert top.position.shape == top.velocity.shape == top.Omega.shape == top.omega.shape == top.euler.shape == (n, 3)
    assert top.quaternion.shape == (n, 4)
    assert top.directors.shape == (n, 3, 3)
    assert np.abs(ro.matrix_from_quaternion(top.quaternion) - top.matrix).max() < 1e-13
    assert np.abs(ro.rotate(top.quaternion, top.Omega) - top.omega).max() < 1e-12
    assert np.abs(top.directors[:, :, 2] - top.position).max() < 1e-13  # the centre of mass lies on d3, at 1 m
    assert np.abs(np.cross(top.omega, top.position) - top.velocity).max() < 1e-11
    # continuous quaternions, on the side the model gave
    assert (np.sum(top.quaternion[1:] * top.quaternion[:-1], axis=1) > 0.0).all()
    assert top.quaternion[0] == pytest.approx(TOP.body("top").orientation, abs=1e-15)


def test_energy_and_momenta(motion):
    body, top = TOP.body("top"), motion["top"]
    V = 9.81 * body.mass * top.position[:, 2]
    assert motion.energy.potential == pytest.approx(V, abs=1e-10)
    spin = np.sum(top.Omega * (top.Omega @ body.inertia), axis=1)
    assert motion.energy.kinetic == pytest.approx(0.5 * (body.mass * np.sum(top.velocity**2, axis=1) + spin), rel=1e-13)
    assert np.ptp(motion.energy.total) < 1e-4
    L = motion.angular_momentum
    assert np.ptp(L[:, 2]) < 1e-5  # gravity has no moment about the vertical
    about_pin = np.array([50.0, 42.0, 10.0]) * top.Omega
    assert np.abs(ro.rotate(top.quaternion, about_pin) - L).max() < 1e-10
    assert np.abs(motion.momentum - body.mass * top.velocity).max() == 0.0


def test_single_times_have_no_time_axis(motion):
    one = motion(0.5)
    assert one["top"].position.shape == (3,)
    assert one["top"].quaternion.shape == (4,)
    assert np.shape(one.energy.total) == ()
    assert one.energy.total == pytest.approx(motion.energy.total[0], abs=1e-4)
    many = motion(np.array([0.5, 0.6]))
    assert many["top"].matrix.shape == (2, 3, 3)
    assert np.abs(many["top"].matrix[0] - one["top"].matrix).max() == 0.0
    with pytest.raises(ValueError, match="known on"):
        motion(1.5)
    with pytest.raises(ValueError, match="Did you mean 'top'"):
        motion["tap"]


def test_pickled_motions_keep_everything(motion):
    again = pickle.loads(pickle.dumps(motion))
    assert np.array_equal(again["top"].position, motion["top"].position)
    assert np.array_equal(again.energy.total, motion.energy.total)
    assert again.stats == motion.stats
    np.testing.assert_allclose(again(0.5).y, motion(0.5).y, rtol=0, atol=1e-12 * np.abs(motion.y).max())


def test_pickles_of_the_version_before_open():
    """Made by the classes of that version, which had `gyrod.dense` and `gyrod.rest`, and no friction in joints."""
    old = pickle.loads((Path(__file__).parent / "data" / "before" / "results.pkl").read_bytes())
    motion, rest, path, track = (old[name] for name in ("motion", "rest", "path", "track"))
    now = gd.simulate(motion.system, 0.05, rtol=1e-3, method="rodas", output=[0.0, 0.017, 0.05])
    for name, field in (("hose", "positions"), ("arm", "velocity")):
        found, known = getattr(motion(now.t)[name], field), getattr(now[name], field)
        np.testing.assert_allclose(found, known, rtol=0, atol=1e-8)
    np.testing.assert_allclose(motion["hose"].start_force, track.start_force, rtol=0, atol=1e-9)
    assert motion["hinge"].effort.shape == motion.t.shape
    assert "no rough figures without a tolerance" in str(motion.error)
    assert rest.error.rough
    np.testing.assert_allclose(path.rests[0]["hose"].positions, rest["hose"].positions, rtol=0, atol=1e-9)
    assert path.error.rough


@pytest.mark.parametrize("module", [*_moved.MODULES, *_moved.NAMES])
def test_old_names_are_those_of_what_moved(module):
    old = importlib.import_module(module)
    if module in _moved.MODULES:
        new = importlib.import_module(_moved.MODULES[module])
        own = next(x for x in vars(new).values() if isinstance(x, type) and x.__module__ == new.__name__)
        assert getattr(old, own.__name__) is own
    for name, new in _moved.NAMES.get(module, {}).items():
        found = getattr(old, name)
        assert f"{found.__module__}.{found.__qualname__}" == new
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(old, "nothing")  # noqa: B009


def test_multipliers_of_the_quaternion_form():
    """M v' + lambda p = psi (35) with psi of (33), along the motion."""
    m = gd.simulate(TOP, 0.5, formulation="absolute-quaternion", rtol=1e-9)
    inertia = np.diag([0.0, 50.0, 42.0, 10.0])
    for t, y, (lam,) in zip(m.t[::20], m.y[::20], m.multipliers["top"][::20], strict=True):
        p, v = y[:4], y[4:]
        a = m.compiled.core.rhs(t, y)[4:]
        Q, V = ro.quaternion_matrix(p), ro.quaternion_matrix(v)
        force = ro.euler_differential(p).T @ np.array([0, 0, 0, 0, 0, 0, 0, 0, -11.09 * 9.81])
        psi = force + 8.0 * V @ inertia @ V.T @ p
        assert np.abs(4.0 * Q @ inertia @ Q.T @ a + lam * p - psi).max() < 1e-9 * np.abs(psi).max()
        assert p @ a == pytest.approx(-v @ v, rel=1e-12)


def test_multipliers_of_the_director_form():
    """M v' + G' lambda = psi (21) with psi = -m g L e3 on d3."""
    m = gd.simulate(TOP, 0.5, formulation="absolute-directors", rtol=1e-9)
    M = np.repeat([1.0, 9.0, 41.0], 3)
    psi = np.array([0, 0, 0, 0, 0, 0, 0, 0, -11.09 * 9.81])
    for t, y, lam in zip(m.t[::20], m.y[::20], m.multipliers["top"][::20], strict=True):
        a = m.compiled.core.rhs(t, y)[9:]
        G = ro.director_constraint_gradient(y[:9])
        assert np.abs(M * a + G.T @ lam - psi).max() < 1e-9 * np.abs(M * a).max()


def test_minimal_forms_have_no_multipliers():
    assert gd.simulate(TOP, 0.1).multipliers["top"].shape[-1] == 0


def test_a_motion_tells_itself_in_one_line():
    top = gd.Body("top", mass=1.0, inertia=(1.0, 2.0, 2.5), angular_velocity=(0.0, 1.0, 0.01))
    motion = gd.simulate(gd.System([top]), 1.0, method="dop853")
    told = repr(motion)
    assert told == f"<Motion of top: {len(motion.t)} rows, t = 0 to 1 s, dop853, finished>"
    assert repr(motion(0.5)).startswith("<Motion of top: t = 0.5 s")
    assert motion.system is motion.compiled.system.original
    assert motion == motion
    assert motion != motion(0.5)


def test_results_show_themselves_in_a_line():
    rod = gd.Rod("hose", 1.0, 6, gd.Circle(5e-3), gd.Material(young=5e6, poisson=0.5, density=1100), gd.Clamped())
    bar = gd.Body("bar", mass=1.0, inertia=(1, 1, 1))
    hinge = gd.Revolute("ground", "bar", at=(0, 0, 0), axis=(0, 0, 1), name="hinge")
    motion = gd.simulate(gd.System([bar], [hinge], [rod]), 0.1, output=[0.0, 0.1], rtol=1e-3)
    path = gd.follow(gd.System(rods=[rod]), "gravity", (0.0, 0.01))
    parts = (motion["hose"], motion["bar"], motion["hinge"], motion.energy, motion.drift, motion.error, path)
    for text in map(repr, (*parts, motion(0.05)["bar"], motion(0.05)["hose"])):
        assert text.startswith("<")
        assert "\n" not in text
        assert "0x" not in text
        assert len(text) < 500
    assert "positions (2, 7, 3)" in repr(motion["hose"])
    assert "position [0., 0., 0.]" in repr(motion(0.05)["bar"])
    assert repr(path).startswith("<Path over 'gravity'")
    assert "stable, no events" in repr(path)
