"""What the handler of a signal raises ends a run, reaches the caller as itself and brings the motion."""

import os
import signal
import subprocess
import sys
import time

import pytest

import gyrod as gd
from gyrod import problems

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs the alarms of POSIX")
TOP = problems.get("lang-a").system
#: Options with which a run takes minutes inside of the core, and keeps little.
LONG = {"rtol": 1e-12, "output": [0.0, 1e6], "dense": False}


@pytest.fixture
def limit(monkeypatch):
    """A time limit as test runners set it, an exception of the handler's own; of CPU time, inside of the core."""
    gd.simulate(TOP, 0.01)  # what is imported and compiled is there
    monkeypatch.setattr(sys.modules["gyrod.solve.recording"], "budget", lambda *_: 10**9)  # one block

    def start(error, seconds=0.25):
        def late(*_):
            raise error

        signal.signal(signal.SIGPROF, late)
        signal.setitimer(signal.ITIMER_PROF, seconds)

    before = signal.getsignal(signal.SIGPROF)
    yield start
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    signal.signal(signal.SIGPROF, before)


RUNS = {
    "in memory": lambda file: gd.simulate(TOP, 1e6, **LONG),
    "into a file": lambda file: gd.simulate(TOP, 1e6, **LONG, save=file),
    "variational": lambda file: gd.simulate(TOP, 1e5, method="variational", step=1e-2, output=10**6),
    "variational into a file": lambda file: gd.simulate(
        TOP, 1e5, method="variational", step=1e-2, output=10**6, save=file
    ),
    "step": lambda file: gd.stepper(TOP, rtol=1e-12).step(1e6),
}


@pytest.mark.parametrize("how", RUNS)
def test_a_time_limit_reaches_the_caller_with_the_motion(how, tmp_path, limit):
    error = TimeoutError("too late")
    limit(error)
    with pytest.raises(TimeoutError, match="too late") as caught:
        RUNS[how](tmp_path / "run.h5")
    assert caught.value is error
    assert isinstance(error.motion, gd.Motion)
    assert error.motion.status == "interrupted"
    assert error.motion.stats.steps > 0


def test_an_interrupted_file_goes_on(tmp_path, limit):
    path = tmp_path / "run.h5"
    counts = []
    for resume in (False, True):
        limit(TimeoutError("too late"))
        with pytest.raises(TimeoutError) as caught:
            gd.simulate(TOP, 1e6, **LONG, save=path, resume=resume)
        counts.append(caught.value.motion.stats.steps)
    assert counts[1] > counts[0] > 0


def test_ctrl_c_is_an_interruption_as_before(limit):
    for error in (KeyboardInterrupt(), SystemExit(3)):
        limit(error)
        kind = gd.SimulationInterrupted if isinstance(error, KeyboardInterrupt) else SystemExit
        with pytest.raises(kind) as caught:
            RUNS["in memory"](None)
        assert isinstance(caught.value.motion, gd.Motion)


def test_a_run_after_a_time_limit_is_sound(limit):
    limit(TimeoutError())
    with pytest.raises(TimeoutError):
        RUNS["in memory"](None)
    assert gd.simulate(problems.get("lang-a").system, 0.1).status == "finished"


# --- the command -----------------------------------------------------------------------------------------------------

COMMAND = [sys.executable, "-m", "gyrod.cli"]


def test_a_wrong_instruction_set_is_a_sentence_and_no_traceback():
    environment = os.environ | {"GYROD_ISA": "v9"}
    done = subprocess.run([*COMMAND, "--version"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "gyrod: GYROD_ISA = 'v9' is unknown; it can be 'baseline' or 'v3'.\n"
    done = subprocess.run(
        [sys.executable, "-c", "import gyrod"], env=environment, capture_output=True, text=True, check=False
    )
    assert "ImportError: GYROD_ISA = 'v9' is unknown" in done.stderr  # programs see where they import it


@pytest.mark.parametrize("wait", [0.03, 0.1, 0.2])
def test_ctrl_c_shows_no_traceback_of_imports(wait):
    code = "import sys, time, signal; sys.argv = ['gyrod', 'new']; import gyrod; print('ready', flush=True); "
    code += "time.sleep(30)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(wait)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=20)
    assert child.returncode == -signal.SIGINT
    assert said == ""
