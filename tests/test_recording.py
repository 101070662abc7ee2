"""Runs into a file: the same rows as in memory, and after any interruption the same end, to the last bit."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gyrod as gd
from gyrod import storage
from gyrod.equations import compile_system
from gyrod.model.conservation import conservative, flowing
from gyrod.solve import recording
from gyrod.solve.methods import METHODS
from gyrod.storage import locks

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)


def hose(**more):
    return gd.System(
        rods=[
            gd.Rod(
                "hose", length=1.0, segments=8, section=gd.Circle(radius=5e-3), material=RUBBER,
                initial=gd.Straight((0, 0, 0), (0, 1, 0)), start=gd.Hinged("ground"), **more,
            )
        ]
    )  # fmt: skip


def pendulum(**more):
    body = gd.Body("arm", mass=1.0, inertia=(0.02, 0.01, 0.02), position=(0.5, 0, 0))
    joint = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), **more)
    return gd.System(bodies=[body], joints=[joint])


def hung():
    bob = gd.Body("bob", mass=0.2, inertia=(1e-4, 1e-4, 1e-4), position=(0, 1.0, -0.05))
    rod = gd.Rod(
        "hose", length=1.0, segments=5, section=gd.Circle(radius=5e-3), material=RUBBER,
        initial=gd.Straight((0, 0, 0), (0, 1, 0)), start=gd.Clamped("ground"), end=gd.Hinged("bob", at=(0, 0, 0.05)),
    )  # fmt: skip
    return gd.System(bodies=[bob], rods=[rod])


@pytest.fixture
def blocks(monkeypatch):
    """Blocks of so many steps."""

    def of(steps):
        monkeypatch.setattr(recording, "FIRST", max(1, steps))
        monkeypatch.setattr(recording, "budget", lambda steps, seconds, width: steps)

    of(5)
    return of


class Stopped(Exception):
    pass


def stop_after(blocks):
    def watch(_):
        nonlocal blocks
        blocks -= 1
        if blocks <= 0:
            raise Stopped

    return watch


def in_memory(system, t_end, options):
    method = options["method"]  # that of dop853 is counted where files keep it
    kept = method == "dop853" and bool(storage.keeps_dense(method, compile_system(system).size))
    return gd.simulate(system, t_end, **options, dense=flowing(system) or "step" in options or kept)


def same(stored, motion):
    np.testing.assert_array_equal(stored.t, motion.t)
    np.testing.assert_array_equal(stored.y, motion.y)
    np.testing.assert_array_equal(stored.steps, motion.steps)
    counts = ("steps", "rejected", "rhs", "jacobians", "factorizations", "solves", "newton")
    assert [getattr(stored.stats, c) for c in counts] == [getattr(motion.stats, c) for c in counts]
    assert stored.status == motion.status


def tumbling():
    shape = {"shape": gd.Box((0.1, 0.1, 0.1)), "orientation": ("313", (0.3, 0.4, 0.2))}
    box = gd.Body("box", 1.0, (2e-3,) * 3, (0, 0, 0.15), velocity=(0.5, 0, 0), **shape)
    return gd.System([box], contacts=[gd.Contact("box", gd.Plane(), restitution=0.5, friction=0.4, name="floor")])


CASES = {
    **{f"hose, {m}": (hose(), 0.05, {"method": m, "rtol": 1e-4}) for m in METHODS},
    "hose, output": (hose(), 0.1, {"method": "rodas", "rtol": 1e-3, "output": np.linspace(0, 0.1, 23)}),
    "damped": (hose(damping=gd.Damping(bending=1e-4)), 0.1, {"method": "radau5", "rtol": 1e-5}),
    "winch": (hose(rest_stretch=gd.Expression("1 - 0.05*sin(20*t)^2")), 0.1, {"method": "radau5", "rtol": 1e-5}),
    "hung": (hung(), 0.1, {"method": "radau5", "rtol": 1e-6}),
    "pendulum": (pendulum(), 2.0, {"method": "dopri5", "rtol": 1e-7, "formulation": "absolute-directors"}),
    "limits": (pendulum(limits=(None, 1.0)), 2.0, {"rtol": 1e-9, "method": "dop853"}),
    "variational": (pendulum(), 1.0, {"method": "variational", "step": 1e-3}),
    "energy-momentum": (pendulum(), 1.0, {"method": "energy-momentum", "step": 2e-3}),
    "energy-momentum, held": (hose(strain="inextensible"), 0.05, {"method": "energy-momentum", "step": 5e-4}),
    "moreau": (tumbling(), 0.3, {"method": "moreau", "step": 1e-3}),
    "moreau, output": (tumbling(), 0.3, {"method": "moreau", "step": 1e-3, "output": np.linspace(0, 0.3, 40)}),
    "variational, output": (pendulum(), 1.0, {"method": "variational", "step": 1e-3, "output": 7}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_into_a_file_is_the_run_in_memory(case, tmp_path, blocks):
    system, t_end, options = CASES[case]
    motion = in_memory(system, t_end, options)
    blocks(motion.stats.steps // 5)
    seen = []
    stored = gd.simulate(system, t_end, **options, save=tmp_path / "run.h5", progress=seen.append)
    same(stored, motion)
    assert [os.path.basename(p) for p in tmp_path.iterdir()] == ["run.h5"]
    assert len(seen) >= 4
    assert [p.t for p in seen] == sorted(p.t for p in seen)
    assert [(e.t, e.name) for e in stored.events] == [(e.t, e.name) for e in motion.events]
    if system.rods and options["method"] not in ("odex", "seulex"):  # whose steps heed dense output
        motion = gd.simulate(system, t_end, **options)
        for name in ("total", "dissipated", "work", "balance"):
            scale = np.abs(motion.energy.kinetic).max()
            np.testing.assert_allclose(
                getattr(stored.energy, name), getattr(motion.energy, name), atol=1e-12 * scale, err_msg=name
            )


@pytest.mark.parametrize("case", CASES)
def test_an_interrupted_run_goes_on_to_the_same_end(case, tmp_path, blocks):
    system, t_end, options = CASES[case]
    motion = in_memory(system, t_end, options)
    file = tmp_path / "run.h5"
    blocks(motion.stats.steps // 5)
    interrupted = 0
    for _ in range(10):
        try:
            stored = gd.simulate(system, t_end, **options, save=file, resume=True, progress=stop_after(1))
            break
        except Stopped:
            interrupted += 1
            assert gd.open(file).t[-1] < t_end
    assert interrupted >= 4
    same(stored, motion)
    assert [(e.t, e.name) for e in stored.events] == [(e.t, e.name) for e in motion.events]
    if case == "damped":
        np.testing.assert_allclose(stored.energy.dissipated, motion.energy.dissipated, rtol=1e-9, atol=1e-15)
    if case == "pendulum":  # small enough for its dense output to be kept, over all interruptions
        whole, between = gd.simulate(system, t_end, **options), np.linspace(0.0, t_end, 501)
        np.testing.assert_allclose(stored(between).y, whole(between).y, rtol=0, atol=1e-13)
    again = gd.simulate(system, t_end, **options, save=file, resume=True, progress=stop_after(1))  # only opened
    same(again, motion)


def test_a_run_goes_on_as_it_was_begun(tmp_path, blocks):
    file = tmp_path / "run.h5"
    with pytest.raises(Stopped):
        gd.simulate(hose(), 0.1, method="rodas", rtol=1e-4, save=file, progress=stop_after(2))
    with pytest.raises(ValueError, match=r"rtol = 1e-05 \(there: 0.0001\).*without resume"):
        gd.simulate(hose(), 0.1, method="rodas", rtol=1e-5, save=file, resume=True)
    with pytest.raises(ValueError, match="t_end"):
        gd.simulate(hose(), 0.2, method="rodas", rtol=1e-4, save=file, resume=True)
    other = hose().with_({"hose.material.young": 6e6})
    with pytest.raises((ValueError, OSError), match=r"another|differ|not the"):
        gd.simulate(other, 0.1, method="rodas", rtol=1e-4, save=file, resume=True)
    with pytest.raises(ValueError, match="resume = True needs save"):
        gd.simulate(hose(), 0.1, resume=True)
    with pytest.raises(ValueError, match="resume is not available with method = 'scipy:RK45'"):
        gd.simulate(pendulum(), 0.1, method="scipy:RK45", save=file, resume=True)


def test_a_finished_run_of_another_model_is_not_taken_for_this_one(tmp_path):
    options = {"method": "rodas", "rtol": 1e-3, "save": tmp_path / "run.h5"}
    gd.simulate(hose(), 0.01, **options)
    with pytest.raises(ValueError, match="finished run of another model"):
        gd.simulate(hose().with_({"hose.material.young": 6e6}), 0.01, **options, resume=True)


def test_a_damaged_checkpoint_is_told(tmp_path, blocks):
    file = tmp_path / "run.h5"
    with pytest.raises(Stopped):
        gd.simulate(hose(), 0.1, method="rodas", rtol=1e-4, save=file, progress=stop_after(2))
    checkpoint = tmp_path / "run.h5.checkpoint"
    data = bytearray(checkpoint.read_bytes())
    data[len(data) // 2] ^= 1
    checkpoint.write_bytes(data)
    with pytest.raises(OSError, match="damaged"):
        gd.simulate(hose(), 0.1, method="rodas", rtol=1e-4, save=file, resume=True)


def test_a_failed_run_keeps_what_was_computed(tmp_path, blocks):
    def bad(t, state):
        if t > 0.3:
            raise ZeroDivisionError("no such force")
        return (0, 0, 0), (0, 0, 0)

    system = pendulum()
    system = gd.System(system.bodies, system.joints, forces=[gd.UserForce("arm", bad)])
    with pytest.raises(gd.SimulationError, match="no such force") as caught:
        gd.simulate(system, 1.0, method="dopri5", save=tmp_path / "run.h5")
    assert 0.0 < caught.value.motion.t[-1] < 0.31
    assert len(gd.open(tmp_path / "run.h5", system=system).t) == len(caught.value.motion.t)


def test_methods_of_others_are_saved_at_the_end(tmp_path):
    motion = gd.simulate(pendulum(), 0.3, method="scipy:RK45", save=tmp_path / "run.h5")
    np.testing.assert_array_equal(gd.open(tmp_path / "run.h5").y, motion.y)


def test_blocks_are_changed_before_anything_runs():
    """A program that sets their length by `sys.modules` after ``import gyrod`` is obeyed."""
    program = """if True:
        import sys, gyrod as gd
        sys.modules["gyrod.solve.recording"].budget = "blocks"
        import gyrod.solve
        from gyrod.solve import recording
        from gyrod.solve.recording import Block, budget
        assert recording.budget == budget == sys.modules["gyrod.solve.recording"].budget == "blocks"
        assert gyrod.solve.recording.Block is Block
    """
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.spread
@pytest.mark.parametrize("output", [None, np.linspace(0.0, 0.1, 23)], ids=["steps", "output"])
@pytest.mark.parametrize("case", ["damped", "winch", "hung"])
def test_energies_do_not_depend_on_blocks(case, output, tmp_path, blocks):
    """Nor on the clock, which sets their lengths: the same bits however a run is cut, and as in memory."""
    system, t_end, options = CASES[case]
    whole = gd.simulate(system, t_end, **options, output=output).energy
    for steps in (7, 64):
        blocks(steps)
        stored = gd.simulate(system, t_end, **options, output=output, save=tmp_path / "run.h5").energy
        for name in ("dissipated", "work", "balance"):
            np.testing.assert_array_equal(getattr(stored, name), getattr(whole, name), err_msg=name)
    assert np.abs(stored.dissipated).max() + np.abs(stored.work).max() > 0.0


# --- one file, one run


def heavier():
    system = pendulum()
    return gd.System([gd.Body("arm", mass=9.0, inertia=(0.2, 0.1, 0.2), position=(0.5, 0, 0))], system.joints)


OTHERS = {
    "anew": {"method": "dopri5"},
    "resumed": {"method": "dopri5", "resume": True},
    "variational": {"method": "variational", "step": 0.01},
    "SciPy": {"method": "scipy:RK45"},
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_second_run_is_refused_while_one_writes(other, tmp_path, blocks):
    """Be it from another thread or, as here, from within the first run."""
    file, sentences = tmp_path / "run.h5", []
    alone = gd.simulate(pendulum(), 2.0, method="dopri5")
    blocks(alone.stats.steps // 4)

    def second(progress):
        assert gd.open(file).t[-1] == progress.t  # reading goes on working
        with pytest.raises(OSError, match="is being written by another run") as caught:
            gd.simulate(heavier(), 0.3, save=file, **OTHERS[other])
        sentences.append(str(caught.value))

    motion = gd.simulate(pendulum(), 2.0, method="dopri5", save=file, progress=second)
    same(motion, alone)
    assert len(sentences) >= 3
    assert f"run.h5' is being written by another run (process {os.getpid()} on " in sentences[0]
    assert sentences[0].endswith("; wait until that ends, end it, or give another file.")
    assert os.listdir(tmp_path) == ["run.h5"]


def test_two_threads_do_not_write_into_one_file(tmp_path, blocks):
    file, going, told = tmp_path / "run.h5", threading.Event(), threading.Event()

    def wait(_):
        going.set()
        assert told.wait(60)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(gd.simulate, pendulum(), 0.5, method="dopri5", save=file, progress=wait)
        try:
            assert going.wait(60)
            with pytest.raises(OSError, match="is being written by another run"):
                gd.simulate(heavier(), 0.3, method="dopri5", save=file)
        finally:
            told.set()
        same(first.result(), gd.simulate(pendulum(), 0.5, method="dopri5"))


WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
import gyrod as gd
from gyrod.solve import recording
from test_recording import pendulum
recording.FIRST, recording.budget = 5, lambda steps, seconds, width: 5
def wait(progress):
    print(progress.t, flush=True)
    sys.stdin.readline()
gd.simulate(pendulum(), 2.0, method="dopri5", save=sys.argv[2], progress=wait)
"""


def test_a_run_of_another_process_keeps_its_file_until_it_is_killed(tmp_path):
    file = tmp_path / "run.h5"
    command = [sys.executable, "-c", WRITER, os.path.dirname(__file__), str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        reached = float(child.stdout.readline())
        for options in OTHERS.values():
            with pytest.raises(OSError, match=rf"is being written by another run \(process {child.pid} on "):
                gd.simulate(heavier(), 0.3, save=file, **options)
        assert gd.open(file).t[-1] == reached
        assert (tmp_path / "run.h5.checkpoint").exists()  # of the first, which may be killed and go on
        child.kill()
        child.wait()
    same(
        gd.simulate(pendulum(), 2.0, method="dopri5", save=file, resume=True),
        gd.simulate(pendulum(), 2.0, method="dopri5"),
    )
    assert os.listdir(tmp_path) == ["run.h5"]


def test_where_nobody_is_kept_out_no_run_returns_the_numbers_of_another(tmp_path, blocks, monkeypatch):
    monkeypatch.setattr(locks, "fcntl", None)  # as on a file system without locks
    file, later = tmp_path / "run.h5", []

    def second(_):
        if not later:
            later.append(gd.simulate(heavier(), 0.3, method="dopri5", save=file))

    with pytest.raises(OSError, match=r"run.h5' was removed, moved or replaced while its run wrote it"):
        gd.simulate(pendulum(), 2.0, method="dopri5", save=file, progress=second)
    same(later[0], gd.simulate(heavier(), 0.3, method="dopri5"))


def test_a_file_that_is_replaced_at_the_end_is_not_returned(tmp_path, monkeypatch):
    file, plain = tmp_path / "run.h5", storage.ResultFile
    other = tmp_path / "other.h5"
    gd.simulate(heavier(), 0.3, method="dopri5", save=other)

    def replaced(path):
        os.replace(other, file)
        return plain(path)

    monkeypatch.setattr(storage, "ResultFile", replaced)
    with pytest.raises(OSError, match=r"run.h5' was replaced when its run ended"):
        gd.simulate(pendulum(), 0.3, method="dopri5", save=file)


@pytest.mark.parametrize("how", ["removed", "moved", "replaced", "folder removed"])
def test_a_file_that_is_gone_ends_the_run(how, tmp_path, blocks):
    folder = tmp_path / "results"
    folder.mkdir()
    file, aside = folder / "run.h5", tmp_path / "aside.h5"
    options = {"method": "dopri5", "save": file}

    def take(_):
        if how == "folder removed":
            shutil.rmtree(folder, ignore_errors=True)
        elif file.exists() and not aside.exists():
            file.rename(aside)
            if how == "replaced":
                file.write_text("mine")
            if how == "removed":
                aside.unlink()

    with pytest.raises(OSError, match=r"'.*run.h5' was removed, moved or replaced .* ends here, at t = 0\.\d+\. Put"):
        gd.simulate(pendulum(), 2.0, **options, progress=take)
    if how == "folder removed":
        assert not folder.exists()
        return
    if how == "replaced":
        assert file.read_text() == "mine"
    assert sorted(os.listdir(folder)) == ["run.h5"] * (how == "replaced") + ["run.h5.checkpoint"]
    if how != "removed":
        os.replace(aside, file)
        motion = gd.simulate(pendulum(), 2.0, **options, resume=True)
    else:
        motion = gd.simulate(pendulum(), 2.0, **options)
    same(motion, gd.simulate(pendulum(), 2.0, method="dopri5"))
    assert os.listdir(folder) == ["run.h5"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_finished_run_is_opened_where_nothing_can_be_written(tmp_path):
    motion = gd.simulate(pendulum(), 0.3, method="dopri5", save=tmp_path / "run.h5")
    tmp_path.chmod(0o500)
    try:
        same(gd.simulate(pendulum(), 0.3, method="dopri5", save=tmp_path / "run.h5", resume=True), motion)
        with pytest.raises(PermissionError, match=r"run.h5' cannot be written: permission denied for '.*run.h5.lock'"):
            gd.simulate(pendulum(), 0.3, method="dopri5", save=tmp_path / "run.h5")
    finally:
        tmp_path.chmod(0o700)


SCRIPT = """
import sys
from gyrod.model.conservation import conservative, flowing
from gyrod.solve import recording
recording.FIRST, recording.budget = 25, lambda steps, seconds, width: 25
sys.path.insert(0, sys.argv[1])
import gyrod as gd
from test_recording import hose
gd.simulate(hose(), 0.2, method="rodas", rtol=1e-5, save=sys.argv[2], resume=True)
"""


def test_kills_cost_nothing_but_time(tmp_path):
    file = tmp_path / "run.h5"
    whole = gd.simulate(hose(), 0.2, method="rodas", rtol=1e-5, dense=False)
    clock, reached = random.Random(8), []
    checkpoint, here = tmp_path / "run.h5.checkpoint", os.path.dirname(__file__)
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", SCRIPT, here, str(file)])
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        while child.poll() is None and not (checkpoint.exists() and checkpoint.stat().st_mtime_ns > before):
            time.sleep(0.001)
        time.sleep(clock.uniform(0.0, 0.03))
        child.send_signal(signal.SIGKILL)
        child.wait()
        partial = gd.open(file)
        np.testing.assert_array_equal(partial.y, whole.y[: len(partial.t)])
        reached.append(len(partial.t))
    assert reached == sorted(reached)
    assert len(set(reached)) >= 2
    assert max(reached) < len(whole.t)
    stored = gd.simulate(hose(), 0.2, method="rodas", rtol=1e-5, save=file, resume=True)
    np.testing.assert_array_equal(stored.t, whole.t)
    np.testing.assert_array_equal(stored.y, whole.y)
    assert not (tmp_path / "run.h5.lock").exists()


def test_what_takes_or_gives_energy_is_known():
    load = {"rod": "hose", "at": 1.0}
    assert conservative(hose())
    assert conservative(pendulum())
    assert conservative(gd.System(rods=hose().rods, forces=[gd.RodLoad(**load, force=(0, 0, -1))]))
    for rod in (hose(damping=gd.Damping(bending=1e-4)), hose(rest_stretch=lambda t: 1.0 - 0.1 * t)):
        assert not conservative(rod)
        assert flowing(rod)
    for force in (gd.RodLoad(**load, force=lambda t: (0, 0, t)), gd.RodLoad(**load, force=(1, 0, 0), follow=True)):
        assert flowing(gd.System(rods=hose().rods, forces=[force]))
    assert conservative(hung())
    assert flowing(hung())
    assert not conservative(pendulum(drive=gd.Expression("1 - cos(t)")))
    assert not conservative(pendulum(damping=0.1))


def test_a_checkpoint_that_cannot_be_written_says_what_is_left(tmp_path, monkeypatch):
    file = tmp_path / "folder" / "run.h5"
    file.parent.mkdir()
    assert "its folder was removed, and 'x.h5' with it" in recording._left(tmp_path / "gone" / "x.h5")
    assert recording._left(file) == f"{str(file)!r} was removed, and what was computed is lost. Start again."

    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage, "save_checkpoint", full)
    monkeypatch.setattr(recording, "FIRST", 4)
    with pytest.raises(OSError, match=r"run.h5' keeps what was computed, .* Free some space and resume\.$"):
        gd.simulate(pendulum(), 2.0, method="dopri5", save=file)
