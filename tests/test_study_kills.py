"""Drivers and workers that are killed at random moments: in the end every run is there once, as if nothing had been."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from study_models import RING, same

import gyrod as gd

WHAT = {
    "vary": {"ring.angular_velocity[1]": gd.Uniform(4.0, 5.0), "ring.mass": [1.0, -1.0, 2.0]},
    "outputs": {"spin": "ring.Omega", "most": gd.Maximum("ring.Omega[2]")},
    "t_end": 0.1,
    "samples": 200,
    "sampler": "random",
    "rtol": 1e-3,
}
CHUNK = 6
CHUNKS = 600 // CHUNK

#: Imports once, and then is one driver after the other: a fork for each line that it is told.
DRIVERS = """
    import os, sys
    import gyrod as gd
    from test_study_kills import CHUNK, RING, WHAT
    folder, engine = sys.argv[1:]
    for _ in sys.stdin:
        pid = os.fork()
        if not pid:
            gd.study(RING, **WHAT, engine=engine, workers=2, chunk=CHUNK, folder=folder, resume=True)
            os._exit(0)
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
"""


@pytest.fixture(scope="module")
def reference():
    return gd.study(RING, **WHAT, engine="serial")


def children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()] + [
            int(word)
            for task in Path(f"/proc/{pid}/task").iterdir()
            if task.name != str(pid)
            for word in (task / "children").read_text().split()
        ]
    except OSError:
        return []


def kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def chunk_count(folder: Path) -> int:
    return sum(1 for _ in folder.glob("chunks/*/[0-9]*.npz"))


def killed_again_and_again(folder: Path, engine: str, kills: int, seed: int) -> tuple[int, int]:
    """Run a study whose driver, or with processes also its workers, are killed; numbers of those that were."""
    rng = np.random.default_rng(seed)
    command = [sys.executable, "-c", textwrap.dedent(DRIVERS), str(folder), engine]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    drivers = workers = 0
    with subprocess.Popen(command, **pipes, cwd=Path(__file__).parent) as server:
        while True:
            server.stdin.write("go\n")
            server.stdin.flush()
            driver = int(server.stdout.readline())
            while drivers + workers < kills:
                # After some more chunks, and then a moment: while one is computed, written, or renamed.
                left = CHUNKS - chunk_count(folder)
                wanted = chunk_count(folder) + int(rng.integers(0, 1 + left // (1 + kills - drivers - workers)))
                while chunk_count(folder) < wanted and Path(f"/proc/{driver}/stat").read_text().split()[2] != "Z":
                    time.sleep(0.001)
                time.sleep(float(rng.uniform(0.0, 0.005)))
                others = children(driver)
                if others and rng.random() < 0.5:
                    workers += kill(int(rng.choice(others)))
                    continue
                drivers += 1
                kill(driver)
                break
            code = int(server.stdout.readline())
            assert code in (0, -signal.SIGKILL), code
            if code == 0:
                break
        server.stdin.close()
    return drivers, workers


def check(folder: Path, reference: gd.Study) -> None:
    found = gd.open(folder)
    assert found.done == found.size == 600
    assert same(found, reference)
    assert not [p.name for p in folder.rglob(".*")]
    assert chunk_count(folder) == CHUNKS


@pytest.mark.parametrize("times", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_a_driver_of_threads_killed_again_and_again(reference, tmp_path, times):
    drivers, _ = killed_again_and_again(tmp_path / "x", "threads", times, seed=1)
    assert drivers == times
    check(tmp_path / "x", reference)


@pytest.mark.slow
def test_a_driver_of_processes_and_its_workers_killed_three_times(reference, tmp_path):
    drivers, workers = killed_again_and_again(tmp_path / "x", "processes", 3, seed=2)
    assert drivers + workers == 3
    check(tmp_path / "x", reference)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_driver_of_processes_and_its_workers_killed_twenty_times(reference, tmp_path, seed):
    drivers, workers = killed_again_and_again(tmp_path / "x", "processes", 20, seed=seed)
    assert drivers + workers == 20
    assert drivers > 3
    assert workers > 3
    check(tmp_path / "x", reference)


def test_workers_end_with_their_driver(tmp_path):
    """The pipes of a killed driver are closed, and its workers do not outlive it."""
    command = [sys.executable, "-c", textwrap.dedent(DRIVERS), str(tmp_path / "x"), "processes"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, cwd=Path(__file__).parent) as server:
        server.stdin.write("go\n")
        server.stdin.flush()
        driver = int(server.stdout.readline())
        while not chunk_count(tmp_path / "x"):
            time.sleep(0.002)
        workers = children(driver)
        assert workers
        kill(driver)
        server.stdin.close()
    until = time.monotonic() + 30.0
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < until:
        time.sleep(0.01)
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
