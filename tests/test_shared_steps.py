"""Threads that share the work of a step: the same bits whatever their number."""

from __future__ import annotations

import math

import numpy as np
import programs
import pytest

import gyrod as gd
from gyrod import files

RUBBER = gd.Material(young=5e6, poisson=0.45, density=1100.0)
K = 5


def net(**options):
    """K x K bodies, neighbours joined by rods; the corners are held, one of them by a joint, some bodies on springs."""
    names = {(i, j): f"b{i}{j}" for i in range(K) for j in range(K)}
    pairs = [(a, b) for a in names for b in ((a[0] + 1, a[1]), (a[0], a[1] + 1)) if b in names]
    bodies = [gd.Body(n, 0.05, (1e-5, 2e-5, 3e-5), (0.2 * i, 0.2 * j, 0)) for (i, j), n in names.items()]
    rods = [rod(f"r{n}", names[a], names[b], (0.2 * a[0], 0.2 * a[1], 0), (0.2 * b[0], 0.2 * b[1], 0), **options)
            for n, (a, b) in enumerate(pairs)]  # fmt: skip
    joints = [gd.Fixed("ground", names[c], at=(0.2 * c[0], 0.2 * c[1], 0)) for c in ((0, 0), (K - 1, K - 1))]
    joints += [gd.Spherical("ground", names[0, K - 1], at=(0, 0.2 * (K - 1), 0))]
    springs = [gd.SpringDamper(names[1, 1], names[3, 3], stiffness=5.0, damping=0.01, length=0.5)]
    return gd.System(bodies=bodies, rods=rods, joints=joints, forces=springs)


def rod(name, a, b, begin, end, **options):
    given = {"segments": 6, "section": gd.Circle(radius=5e-3), "material": RUBBER, "discretization": "staggered"}
    given |= {"damping": gd.Damping(factor=0.01), "initial": gd.Straight(begin, end)}
    return gd.Rod(name, start=gd.Clamped(a), end=gd.Clamped(b), **given | options)


def hanging(name, y, segments, at=None):
    """A rod clamped to ground, where a function of time may lead it."""
    return gd.Rod(
        name, segments=segments, section=gd.Circle(radius=5e-3), material=RUBBER,
        start=gd.Clamped("ground", at=at),
        initial=gd.Straight((0, y, 0), (0.5, y, 0)),
    )  # fmt: skip


def rods_alone():
    """Rods that nothing joins, one of which a Python function leads."""
    led = hanging("led", 3.0, 12, lambda t: (0.0, 3.0, 0.01 * math.sin(20.0 * t)))
    return gd.System(rods=[*(hanging(f"r{n}", 0.1 * n, 10 + n) for n in range(20)), led])


SYSTEMS = {
    "net": net,
    "net of elements": lambda: net(discretization="elements", degree=2, segments=4),
    "net of Kirchhoff rods": lambda: net(strain="kirchhoff"),
    "rods alone": rods_alone,
}


@pytest.mark.spread
@pytest.mark.parametrize("method", ["rodas", "radau5", "seulex", "dopri5"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_motion_has_the_same_bits_whatever_the_number_of_threads(name, method):
    system = SYSTEMS[name]()
    step = 1e-6 if method == "dopri5" else 1e-3
    one, two, four = (gd.simulate(system, 4 * step, method=method, step=step, threads=n) for n in (1, 2, 4))
    assert np.abs(one.y[-1] - one.y[0]).max() > step
    for other in (two, four):
        assert np.array_equal(one.y, other.y)
        assert one.stats.rhs == other.stats.rhs


def test_automatic_steps_are_the_same():
    one, three = (gd.simulate(net(), 0.02, method="rodas", rtol=1e-4, threads=n) for n in (1, 3))
    assert np.array_equal(one.t, three.t)
    assert np.array_equal(one.y, three.y)


@pytest.mark.parametrize("name", ["net", "net of elements", "net of Kirchhoff rods"])
def test_an_equilibrium_has_the_same_bits(name):
    system = SYSTEMS[name]()
    one, other = (gd.equilibrium(system, threads=n) for n in (1, 3))
    assert np.array_equal(one.history, other.history)
    assert np.array_equal(one["b22"].position, other["b22"].position)
    assert np.array_equal(one["r7"].positions, other["r7"].positions)


def test_a_stepper_goes_the_same_way():
    sims = [gd.stepper(net(), method="rodas", threads=n) for n in (1, 2)]
    for _ in range(3):
        for sim in sims:
            sim.step(1e-3)
    assert np.array_equal(sims[0]["b22"].position, sims[1]["b22"].position)


def test_an_error_in_a_function_that_leads_a_rod_comes_out_as_with_one_thread():
    def place(t):
        if t > 0.002:
            raise RuntimeError("no further")
        return (0.0, 0.0, 0.0)

    rods = [hanging(f"r{n}", 0.0, 100, place if n == 2 else None) for n in range(4)]
    for threads in (1, 2):
        with pytest.raises(gd.SimulationError, match="no further"):
            gd.simulate(gd.System(rods=rods), 0.01, method="rodas", step=1e-3, threads=threads)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "two", 65])
def test_threads_are_a_whole_number(bad):
    system = gd.System(bodies=[gd.Body("b", 1.0, (1, 1, 1))])
    sentence = r"threads = .* must be a whole number from 1 to 64"
    with pytest.raises(ValueError, match=sentence):
        gd.simulate(system, 0.1, threads=bad)
    with pytest.raises(ValueError, match=sentence):
        gd.equilibrium(net(), threads=bad)
    with pytest.raises(ValueError, match=sentence):
        gd.stepper(system, threads=bad)


def test_methods_that_are_not_of_the_core_take_one():
    system = gd.System(bodies=[gd.Body("b", 1.0, (1, 1, 1))])
    with pytest.raises(ValueError, match="threads = 2 is for gyrod's own methods, not for 'scipy:RK45'"):
        gd.simulate(system, 0.1, method="scipy:RK45", threads=2)
    with pytest.raises(ValueError, match="threads = 2 cannot be given with method = 'variational'"):
        gd.simulate(system, 0.1, method="variational", step=0.01, threads=2)


def test_threads_in_files_and_on_the_command_line(tmp_path, monkeypatch, capsys):
    from gyrod.cli import main

    text = files.dumps(gd.System(bodies=[gd.Body("b", 1.0, (1, 1, 1))]), files.RunOptions(until=1.0, threads=2))
    assert files.loads(text).run.options()["threads"] == 2
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match="0"):
        main(["run", "model.yaml", "-q", "--threads", "3", "--no-save"])
    with pytest.raises(SystemExit, match="1"):
        main(["run", "model.yaml", "-q", "--threads", "99", "--no-save"])
    assert "threads = 99 must be a whole number from 1 to 64" in capsys.readouterr().err


def test_the_core_from_cpp():
    rows = programs.linked("tests/cpp/threads.cpp")
    thrown = [row for row in rows if row[0] == "thrown"]
    assert thrown == [["thrown", "5", "0", "0"]] * 3
    assert len(rows) == 3 + 3 * 7
    for what, threads, differ, allocated in rows:
        assert (differ, allocated) == ("0", "0"), f"{what} with {threads} threads"
