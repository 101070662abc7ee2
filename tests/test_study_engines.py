"""Engines: whoever runs the chunks, the results are the same to the last bit; workers that die are replaced."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
from itertools import pairwise

import numpy as np
import pytest
import study_models
from study_models import RING, SMALL, deadly, pushed, same, speed

import gyrod as gd
from gyrod.studies import engines, members, processes, progress
from gyrod.studies.plan import make_plan


@pytest.fixture
def at_once(monkeypatch):
    """Watchers are told of every run."""
    monkeypatch.setattr(progress, "PERIOD", 0.0)


@pytest.fixture(scope="module")
def reference():
    return gd.study(RING, **SMALL, engine="serial", chunk=100)


@pytest.mark.spread
@pytest.mark.parametrize(
    ("engine", "chunk", "where"),
    [
        ("serial", 24, "folder"), ("serial", 1000, "memory"), ("threads", 8, "memory"), ("threads", 24, "folder"),
        ("threads", 100, "folder"), ("local", 8, "folder"), ("local", None, "memory"),
    ],
)  # fmt: skip
def test_results_do_not_depend_on_engine_or_chunk(reference, engine, chunk, where, tmp_path):
    folder = tmp_path / "study" if where == "folder" else None
    found = gd.study(RING, **SMALL, engine=engine, chunk=chunk, folder=folder, workers=3)
    assert same(found, reference)
    assert found.folder == folder


def test_processes_give_the_same_bits(reference, tmp_path):
    assert same(gd.study(RING, **SMALL, engine="processes", chunk=8, workers=2, folder=tmp_path / "x"), reference)


def test_functions_run_in_processes_and_give_the_bits_of_one_thread():
    what = ({"force": gd.Uniform(1.0, 1.5), "mass": [1.0, 2.0]}, {"v": speed, "x": "ball.position[0]"}, 0.5)
    serial = gd.study(pushed, *what, samples=10, sampler="random", engine="serial")
    assert same(gd.study(pushed, *what, samples=10, sampler="random", engine="processes", workers=2), serial)
    assert serial["v"] == pytest.approx(np.sin(0.5) * serial["force"] / serial["mass"], rel=1e-5)


def test_local_begins_in_a_thread_and_goes_on_in_processes(monkeypatch, tmp_path):
    """A study that is short ends before processes would have started."""
    started = []
    start = processes.Remote._start
    monkeypatch.setattr(processes.Remote, "_start", lambda self: started.append(self) or start(self))
    what = (pushed, {"force": [1.0, 2.0, 3.0, 4.0]}, {"v": speed}, 0.1)
    short = gd.study(*what)
    assert not started
    monkeypatch.setattr(gd.studies, "HEAD_START", 1e-9)
    assert same(gd.study(*what, workers=1, folder=tmp_path / "x"), short)
    assert len(started) == 1


def test_local_takes_threads_where_no_python_function_is_called():
    outputs, t = {"w": "ring.Omega"}, 0.1
    assert not engines.calls_python(make_plan(RING, {"ring.mass": [1.0, 2.0]}, outputs, t))
    assert not engines.calls_python(make_plan(RING, {"ring.mass": [-1.0, 2.0]}, outputs, t))
    assert engines.calls_python(make_plan(pushed, {"force": [1.0]}, {"v": speed}, t))
    assert engines.calls_python(make_plan(pushed(1.0), {"ball.mass": [1.0]}, {"v": speed}, t))
    event = gd.Event(lambda t, m: t - 0.05)
    assert engines.calls_python(make_plan(RING, {"ring.mass": [1.0]}, outputs, t, events=[event]))


def test_functions_that_cannot_travel_run_in_threads(monkeypatch):
    """Without cloudpickle functions of the script stay where they are; a lock goes nowhere at all."""
    lock = threading.Lock()

    def model(force):
        with lock:
            return pushed(force)

    found = gd.study(model, {"force": [1.0, 2.0]}, {"v": "ball.velocity[0]"}, 0.1)
    assert found.done == 2
    with pytest.raises(ValueError, match=r"cannot be sent to other processes.*lock"):
        gd.study(model, {"force": [1.0]}, {"v": "ball.velocity[0]"}, 0.1, engine="processes")
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    monkeypatch.setattr(pushed, "__module__", "__main__")
    plan = make_plan(pushed, {"force": [1.0]}, {"v": "ball.velocity[0]"}, 0.1)
    with pytest.raises(ValueError, match="pushed is defined in the script; install cloudpickle"):
        processes.packed(plan)


def test_a_run_that_kills_its_process_is_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "RETRIES", 1)
    forces = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    found = gd.study(
        deadly, {"force": forces}, {"v": "ball.velocity[0]"}, 0.1, engine="processes", workers=1, chunk=3,
        folder=tmp_path / "x",
    )  # fmt: skip
    assert found.done == 6
    assert list(found.failed) == [2]
    assert "died of SIGKILL" in found.failed[2]
    assert found["v"][[0, 1, 3, 4, 5]] == pytest.approx(np.sin(0.1) * np.array([1, 2, 4, 5, 6]), rel=1e-5)
    assert np.isnan(found["v"][2])


def test_workers_that_are_killed_are_replaced(reference, tmp_path):
    """Two worker processes are killed: one at once, one when it has just imported gyrod or soon will have."""
    workers: list[subprocess.Popen] = []
    killers: list[threading.Timer] = []
    start = processes.Remote._start

    def counted(self):
        process = start(self)
        workers.append(process)
        if len(killers) < 2:
            killers.append(threading.Timer(0.1 * len(killers), process.kill))
            killers[-1].start()
        return process

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes.Remote, "_start", counted)
        found = gd.study(RING, **SMALL, engine="processes", chunk=8, workers=2, folder=tmp_path / "x")
    for killer in killers:
        killer.join()
    assert len(workers) > 2
    assert workers[0].returncode == -signal.SIGKILL
    assert same(found, reference)
    assert all(process.poll() is not None for process in workers)


def test_worker_processes_that_cannot_begin_are_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(processes, "BOOT", "raise SystemExit(7)")
    with pytest.raises(
        gd.StudyError, match="a worker process ended with code 7 before it could begin; engine='threads'"
    ):
        gd.study(RING, **SMALL, engine="processes", workers=1, folder=tmp_path / "x")
    monkeypatch.undo()
    monkeypatch.setattr(processes, "packed", lambda *_: b"no pickle")
    with pytest.raises(gd.StudyError, match="a worker process cannot take the study: UnpicklingError"):
        gd.study(RING, **SMALL, engine="processes", workers=1)


def test_a_script_without_a_guard_and_with_lambdas(tmp_path):
    """Worker processes do not import the script: nothing in it runs twice."""
    pytest.importorskip("cloudpickle")
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import gyrod as gd
            print("once")
            def model(f):
                return gd.System([gd.Body("b", 1, (1, 1, 1))], forces=[gd.Force("b", lambda t: (f, 0, 0))])
            outputs = {"v": lambda m: m["b"].velocity[-1, 0]}
            found = gd.study(model, {"f": [1.0, 2.0, 4.0]}, outputs, 1.0, workers=1, engine="processes")
            print(*found["v"].round(6).tolist())
            """
        )
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == ["once", "1.0", "2.0", "4.0"]
    assert done.stderr == ""


def test_what_functions_print_does_not_disturb(capfd):
    found = gd.study(study_models.pushed, {"force": [1.0, 2.0]}, {"v": _loud}, 0.1, engine="processes", workers=1)
    assert found["v"].tolist() == [1.0, 1.0]
    assert capfd.readouterr().err.count("loud") == 2


def _loud(motion):
    print("loud")
    return 1.0


@pytest.mark.parametrize("engine", ["serial", "threads", "processes"])
def test_an_error_of_the_watcher_ends_the_study_and_keeps_what_is_there(engine, tmp_path, at_once, reference):
    def watch(at):
        if at.done >= 24:
            raise RuntimeError("enough")

    options = {"engine": engine, "chunk": 8, "folder": tmp_path / "x", "workers": 1}
    with pytest.raises(RuntimeError, match="enough"):
        gd.study(RING, **SMALL, **options, progress=watch)
    begun = gd.open(tmp_path / "x")
    assert begun.done >= 8
    assert same(gd.study(RING, **SMALL, folder=tmp_path / "x", resume=True), reference)


@pytest.mark.parametrize("engine", ["serial", "threads", "processes"])
def test_interrupted_studies_say_how_to_go_on(engine, tmp_path, at_once):
    def watch(at):
        if at.done >= 24:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"interrupted; \d+ of 120 runs are kept in .* resume=True") as caught:
        gd.study(RING, **SMALL, engine=engine, chunk=8, folder=tmp_path / "x", workers=1, progress=watch)
    assert caught.value.study.done == gd.open(tmp_path / "x").done >= 8
    if engine == "processes":
        return
    with pytest.raises(gd.StudyInterrupted, match=r"are in \.study of this error") as caught:
        gd.study(RING, **SMALL, engine=engine, chunk=8, workers=2, progress=watch)
    assert 8 <= caught.value.study.done == np.count_nonzero(caught.value.study["status"] != "missing")


def test_progress_tells_runs_rate_and_failures(tmp_path):
    told: list[gd.StudyProgress] = []
    gd.study(RING, **SMALL, engine="threads", chunk=8, folder=tmp_path / "x", progress=told.append)
    last = told[-1]
    assert (last.done, last.size, last.failed, last.before) == (120, 120, 30, 0)
    assert last.rate == pytest.approx(120 / last.seconds)
    assert last.remaining == 0.0
    assert all(a.done <= b.done for a, b in pairwise(told))
    gd.study(RING, **SMALL, folder=tmp_path / "x", resume=True, progress=told.append)
    assert (told[-1].done, told[-1].before, told[-1].rate) == (120, 120, 0.0)
    gone = gd.StudyProgress(10, 100, 0, 2.0, before=5)
    assert gone.rate == 2.5
    assert gone.remaining == 36.0


def test_the_bar_shows_runs_and_rate(capfd):
    gd.study(RING, **SMALL, engine="threads", progress=True)
    shown = capfd.readouterr().err
    assert "120 of 120 runs" in shown
    assert "runs/s" in shown
    assert "30 failed" in shown


def test_an_error_in_a_worker_is_raised_in_the_driver(monkeypatch):
    def broken(plan, start, stop, *, tick=None):
        raise MemoryError("no more")

    monkeypatch.setattr(members, "run_block", broken)
    for engine in ("serial", "threads"):
        with pytest.raises(MemoryError, match="no more"):
            gd.study(RING, **SMALL, engine=engine)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "thread"}, r"engine = 'thread' is unknown.*Did you mean 'threads'\?"),
        ({"engine": 3}, "engine = 3 must be one of 'local'"),
        ({"workers": 0}, "workers = 0 must be an integer of at least 1"),
        ({"chunk": -1}, "chunk = -1 must be an integer of at least 1"),
        ({"shard": "0/3"}, "shard needs folder"),
        ({"resume": True}, "resume = True needs folder"),
        ({"shard": "3/3", "folder": "x"}, "shard = '3/3' must be 'i/N' with i from 0 to N - 1"),
        ({"shard": "a", "folder": "x"}, "shard = 'a' must be 'i/N'"),
        ({"shard": 1, "folder": "x"}, "shard = 1 must be 'i/N'"),
        ({"progress": 3, "folder": "x"}, "progress = 3 must be True, False, or a function of a StudyProgress"),
        ({"progress": "yes", "folder": "x"}, "progress = 'yes' must be True, False"),
        ({"timeout": 0.0}, "timeout must be a positive"),
    ],
)
def test_bad_arguments_are_sentences(options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        gd.study(RING, **SMALL, **options)
    assert not list(tmp_path.iterdir())


def test_chunks_are_cut_between_groups_of_lanes():
    line, rubber = gd.Straight((0, 0, 0), (1, 0, 0)), gd.Material(young=5e6, poisson=0.5, density=1100)
    rod = gd.Rod("hose", 1.0, 4, gd.Circle(radius=5e-3), rubber, start=gd.Clamped(), initial=line)
    what = (
        gd.System(rods=[rod]),
        {"hose.material.young": np.linspace(4e6, 6e6, 20)},
        {"tip": "hose.positions[-1]"},
        0.02,
    )
    options = {"method": "dopri5", "rtol": 1e-3, "lanes": 4}
    with pytest.raises(ValueError, match="chunk = 10 must be a multiple of lanes = 4"):
        gd.study(*what, **options, chunk=10)
    whole = gd.study(*what, **options, chunk=20, engine="serial")
    assert same(gd.study(*what, **options, chunk=4, engine="threads"), whole)
    assert same(gd.study(*what, **options), whole)


def test_names_that_the_table_has_are_refused():
    with pytest.raises(ValueError, match="output 't': every study has a column of that name"):
        gd.study(RING, {"ring.mass": [1.0]}, {"t": "ring.Omega[0]"}, 0.1)
    with pytest.raises(ValueError, match="'force' is a parameter and an output"):
        gd.study(pushed, {"force": [1.0]}, {"force": "ball.velocity[0]"}, 0.1)
    with pytest.raises(ValueError, match="'w_0' is the axis of 'w'"):
        gd.study(RING, {"ring.mass": [1.0]}, {"w": "ring.Omega", "w_0": "ring.Omega[0]"}, 0.1)
