"""Studies on a Dask cluster: the same bits as in one thread, whoever dies."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time

import numpy as np
import pytest
from study_models import RING, SMALL, pushed, same, speed

import gyrod as gd
from gyrod.studies import clusters, locks

distributed = pytest.importorskip("distributed")

# What Dask leaves behind when its workers are killed is its own.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "processes": True}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster, set_as_default=False) as found:
        yield found


@pytest.fixture(scope="module")
def reference():
    return gd.study(RING, **SMALL, engine="serial")


@pytest.mark.parametrize(("chunk", "where"), [(8, "folder"), (24, "memory"), (100, "folder")])
def test_a_cluster_gives_the_bits_of_one_thread(client, reference, chunk, where, tmp_path):
    folder = tmp_path / "x" if where == "folder" else None
    told: list[gd.StudyProgress] = []
    found = gd.study(RING, **SMALL, engine=client, chunk=chunk, folder=folder, progress=told.append)
    assert same(found, reference)
    assert (told[-1].done, told[-1].failed) == (120, 30)


def test_an_address_serves_as_well(client, reference, tmp_path):
    address = client.scheduler_info()["address"]
    assert address.startswith("tcp://")
    found = gd.study(RING, **SMALL, engine=address, folder=tmp_path / "x")
    assert same(found, reference)
    assert client.status == "running"


def test_functions_travel(client):
    shift = 2.0
    what = ({"force": [1.0, 2.0, 3.0]}, {"v": speed, "w": lambda m: speed(m) + shift}, 0.5)
    found = gd.study(pushed, *what, engine=client)
    assert same(found, gd.study(pushed, *what, engine="serial"))
    assert found["w"] == pytest.approx(found["v"] + 2.0)


def test_workers_that_do_not_see_the_folder_hand_chunks_back(client, reference, tmp_path, monkeypatch):
    """The word in the lock file is another one on their machine."""
    driver = clusters.Driver.__init__

    def elsewhere(self, job, client):
        driver(self, job, client)
        self.lock = (self.lock[0], "another word")

    monkeypatch.setattr(clusters.Driver, "__init__", elsewhere)
    put, seen = gd.studies.Folder.put, []
    monkeypatch.setattr(gd.studies.Folder, "put", lambda self, chunk: seen.append(chunk) or put(self, chunk))
    assert same(gd.study(RING, **SMALL, engine=client, chunk=24, folder=tmp_path / "x"), reference)
    assert len(seen) == 5


def test_workers_write_files_themselves(client, tmp_path, monkeypatch):
    monkeypatch.setattr(gd.studies.Folder, "put", None)
    assert gd.study(RING, **SMALL, engine=client, chunk=24, folder=tmp_path / "x").done == 120


def test_few_chunks_are_under_way_at_a_time(client, monkeypatch):
    most = []
    land = clusters.Driver._land

    def counted(self, task):
        most.append(len(self.flying))
        land(self, task)

    monkeypatch.setattr(clusters.Driver, "_land", counted)
    gd.study(RING, **SMALL, engine=client, chunk=1)
    assert len(most) == 120
    assert max(most) <= clusters.AHEAD * 2


def test_workers_of_another_gyrod_are_refused(client, monkeypatch):
    monkeypatch.setattr(clusters, "_core_here", lambda: ("99.0", "avx9"))
    with pytest.raises(gd.StudyError, match=r"the driver 99.0 \(avx9\): results would depend on who runs what"):
        gd.study(RING, **SMALL, engine=client, chunk=1000)


@pytest.mark.slow
def test_worker_processes_that_are_killed_cost_nothing(client, reference, tmp_path):
    """A worker is killed while chunks are under way; its nanny starts another."""
    killed = []

    def watch(at):
        if at.done > 20 and not killed:
            pids = client.run(os.getpid)
            pid = next(iter(pids.values()))
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    found = gd.study(RING, **SMALL, engine=client, chunk=2, folder=tmp_path / "x", progress=watch)
    assert killed
    assert same(found, reference)


def test_a_cluster_that_cannot_be_reached_is_a_sentence(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    began = time.monotonic()
    with pytest.raises(gd.StudyError, match=rf"the cluster '{address}' cannot be reached within 0.5 s"):
        gd.study(RING, **SMALL, engine=address, folder=tmp_path / "x", timeout=0.5)
    assert time.monotonic() - began < 5.0
    assert not (tmp_path / "x").exists()
    with pytest.raises(gd.StudyError, match="cannot be reached"):
        gd.study(RING, **SMALL, engine="no-such-protocol://x:1", timeout=0.5)


@pytest.mark.parametrize("how", ["close", "kill"])
def test_a_cluster_that_dies_halfway_keeps_what_is_done(how, reference, tmp_path):
    """Threads instead of processes: only the scheduler matters."""
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", processes=False)
    closing: list[threading.Thread] = []

    def watch(at):
        if at.done >= 16 and not closing:
            ending = cluster.close if how == "close" else client.close
            closing.append(threading.Thread(target=ending))
            closing[0].start()

    address = cluster.scheduler_address
    client = distributed.Client(cluster, set_as_default=False)
    engine = client if how == "kill" else address
    try:
        with pytest.raises(
            gd.StudyError, match=r"the cluster was lost .* \d+ of 120 runs are kept .* resume=True"
        ) as caught:
            gd.study(RING, **SMALL, engine=engine, chunk=1, folder=tmp_path / "x", progress=watch)
    finally:
        client.close()
        cluster.close()
        for thread in closing:
            thread.join()
    done = caught.value.study.done
    assert 16 <= done < 120
    assert gd.open(tmp_path / "x").done >= done
    assert same(gd.study(RING, **SMALL, folder=tmp_path / "x", resume=True), reference)


def test_tokens_tell_whether_a_folder_is_the_same(tmp_path):
    with locks.FolderLock(tmp_path) as lock:
        assert clusters._sees(str(lock.file), lock.token)
        assert not clusters._sees(str(lock.file), "no")
    assert np.isfinite(len(lock.token))
