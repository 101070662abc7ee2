"""Chunks on many machines: one Dask task each, a few under way at a time, retried where workers die."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from gyrod import _core
from gyrod._version import __version__
from gyrod.studies.chunks import Chunk
from gyrod.studies.engines import Job
from gyrod.studies.errors import StudyError
from gyrod.studies.locks import sees
from gyrod.studies.processes import packed
from gyrod.studies.progress import PERIOD
from gyrod.studies.store import Folder
from gyrod.studies.worker import run_chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from gyrod.studies.chunks import ChunkFiles
    from gyrod.studies.plan import Plan

#: Chunks under way for each thread of a worker.
AHEAD = 3
#: How often Dask gives a chunk to another worker.
RETRIES = 3
#: Seconds between two looks at the cluster.
LOOK = 1.0
#: For a cluster of our own: what Dask watches itself by costs more CPU time than the chunks do.
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}


# --- on the workers --------------------------------------------------------------------------------------------------


class Task(Protocol):
    """What is taken of Dask's `Future`, whose methods have no types."""

    status: str

    def add_done_callback(self, call: Callable[[Task], object], /) -> None:
        """Have a function called when it is done."""

    def result(self, timeout: float) -> tuple[int, Chunk | None]:
        """Runs that failed, and the chunk unless it was written."""


class Client(Protocol):
    """What is taken of Dask's `Client`, whose methods have no types."""

    status: str
    asynchronous: bool

    def close(self) -> object:
        """Leave the cluster."""

    def nthreads(self) -> Mapping[str, int]:
        """Threads by worker."""

    def submit(self, function: Callable[..., object], /, *args: object, key: str, retries: int, pure: bool) -> Task:
        """Have a function called by a worker."""

    def cancel(self, tasks: list[Task], force: bool) -> object:
        """Give tasks up."""


def _hold(payload: bytes) -> bytes:
    """A task instead of data that is spread: Dask makes it again where all workers that had it died."""
    return payload


@lru_cache(maxsize=4)
def _unpacked(payload: bytes) -> tuple[Plan, ChunkFiles | None]:
    import pickle

    found: tuple[Plan, ChunkFiles | None] = pickle.loads(payload)
    return found


@lru_cache(maxsize=64)
def _sees(file: str, token: str) -> bool:
    return sees(Path(file), token)


def _on_worker(
    payload: bytes, start: int, stop: int, lock: tuple[str, str] | None, driver: tuple[str, str]
) -> tuple[int, Chunk | None]:
    """Run a chunk; write it if this machine sees the driver's folder, else hand it back."""
    if _core_here() != driver:
        raise StudyError(
            "the worker has gyrod {} ({}), the driver {} ({}): results would depend on who runs what. Install the same "
            "version everywhere; GYROD_ISA=baseline makes the instruction set the same".format(*_core_here(), *driver)
        )
    plan, files = _unpacked(payload)
    chunk = run_chunk(plan, start, stop)
    if files is None or lock is None or not _sees(*lock):
        return chunk.failed, chunk
    files.write(chunk)
    return chunk.failed, None


def _core_here() -> tuple[str, str]:
    return __version__, str(_core.isa())


# --- the driver ------------------------------------------------------------------------------------------------------


@contextmanager
def connected(engine: object, workers: int | None, timeout: float) -> Iterator[Client]:
    """A client of a cluster: the one given, at an address, the current one, or of a cluster of this machine."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise ImportError("engine='dask' and clusters need Dask; install gyrod with the extra 'dask'.") from None
    with ExitStack() as stack:
        if isinstance(engine, distributed.Client):
            client = engine
        elif engine == "dask":
            client = _current(distributed) or _own(distributed, stack, workers)
        else:
            try:
                client = distributed.Client(engine, timeout=timeout, set_as_default=False)
                stack.callback(_close, client)
            except (OSError, ValueError, TimeoutError) as error:
                raise StudyError(
                    f"the cluster {engine!r} cannot be reached within {timeout:g} s ({_short(error)}); is its "
                    "scheduler running, and is the address that which it prints?"
                ) from None
        if client.asynchronous:
            raise ValueError("engine is an asynchronous Client; a study needs an ordinary one.")
        if client.status != "running":
            raise StudyError(f"the Client of the cluster is {client.status}; connect it again.")
        yield client


def _close(client: Client) -> None:
    """Close a client; one whose scheduler is gone would log the whole way to where it noticed."""
    log = logging.getLogger("distributed.client")
    before, log.disabled = log.disabled, True
    try:
        client.close()
    finally:
        log.disabled = before


def _current(distributed: ModuleType) -> Client | None:
    try:
        client: Client = distributed.default_client()
    except ValueError:
        return None
    return client if client.status == "running" and not client.asynchronous else None


def _own(distributed: ModuleType, stack: ExitStack, workers: int | None) -> Client:
    """A cluster of this machine whose processes do not import the user's script, so that it needs no guard."""
    import dask
    from distributed.deploy.subprocess import SubprocessCluster

    from gyrod.studies.engines import processors

    with dask.config.set(QUIET), _inherited(dask.config.serialize(dask.config.global_config)):
        own = SubprocessCluster(
            n_workers=workers or processors(), threads_per_worker=1, dashboard_address=":0",
            scheduler_kwargs={"dashboard": False},
        )  # fmt: skip
        cluster = stack.enter_context(own)
    client: Client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
    return client


@contextmanager
def _inherited(config: str) -> Iterator[None]:
    """What processes that are started meanwhile take for Dask's configuration."""
    name = "DASK_INTERNAL_INHERIT_CONFIG"
    before = os.environ.get(name)
    os.environ[name] = config
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def threads_of(client: Client) -> int:
    """Threads of all workers of a cluster."""
    return sum(client.nthreads().values())


def run_cluster(job: Job, client: Client) -> None:
    """One task for each chunk; at most a few for each thread of the cluster are under way."""
    Driver(job, client).run()


class Driver:
    """Hands chunks to a cluster and takes them back."""

    def __init__(self, job: Job, client: Client) -> None:
        self.job, self.client = job, client
        store = job.store
        self.payload = packed(job.plan, store.files if isinstance(store, Folder) else None)
        self.lock: tuple[str, str] | None = None
        if isinstance(store, Folder) and store.lock is not None:
            self.lock = (str(store.lock.file.absolute()), store.lock.token)
        self.flying: dict[Task, int] = {}
        self.landed: SimpleQueue[Task] = SimpleQueue()
        self.room, self.looked = AHEAD, 0.0
        self.mark = f"{job.plan.identity[:8]}-{id(self):x}-{time.time_ns():x}"

    def run(self) -> None:
        """Until no chunk is left."""
        held = self._submit(_hold, self.payload, key=f"gyrod-plan-{self.mark}")
        try:
            while True:
                self._look()
                while len(self.flying) < self.room and (k := self.job.take()) is not None:
                    what = (held, *self.job.store.span(k), self.lock, _core_here())
                    task = self._submit(_on_worker, *what, key=f"gyrod-chunk-{self.mark}-{k}")
                    self.flying[task] = k
                    task.add_done_callback(self.landed.put)
                if not self.flying:
                    return
                with suppress(Empty):
                    self._land(self.landed.get(timeout=PERIOD))
                self.job.tally.tell()
        finally:
            left = [*self.flying, held]
            self.flying = {}
            if self.client.status == "running":
                with suppress(Exception):
                    self.client.cancel(left, force=True)

    def _submit(self, function: Callable[..., object], *arguments: object, key: str) -> Task:
        try:
            return self.client.submit(function, *arguments, key=key, retries=RETRIES, pure=False)
        except Exception as error:
            raise self._gone(error) from error

    def _look(self) -> None:
        """How many workers there are, and whether there is a scheduler."""
        now = time.monotonic()
        if now - self.looked < LOOK:
            return
        self.looked = now
        try:
            if self.client.status != "running":
                raise StudyError(f"the client is {self.client.status}")
            threads = threads_of(self.client)
        except Exception as error:
            raise self._gone(error) from error
        self.room = AHEAD * max(threads, 1)
        self.job.tally.note = "" if threads else "no workers yet"

    def _land(self, task: Task) -> None:
        from distributed import CancelledError, KilledWorker

        k = self.flying.pop(task, None)
        if k is None:
            return
        start, stop = self.job.store.span(k)
        try:
            failed, chunk = task.result(timeout=60.0)
        except KilledWorker as error:
            raise StudyError(
                f"workers died {RETRIES + 1} times of the runs {start} to {stop - 1}: a crash, or not enough memory."
            ) from error
        except (CancelledError, TimeoutError, OSError) as error:
            if task.status == "error" and isinstance(error, OSError):  # of the run itself
                raise StudyError(f"a worker failed with the runs {start} to {stop - 1}: {_short(error)}.") from error
            raise self._gone(error) from error
        except Exception as error:
            if "ConnectionPool is closed" in str(error):  # distributed's own, on the way out
                raise self._gone(error) from error
            # Of the task: where it could not be unpacked, or a defect.
            raise StudyError(f"a worker failed with the runs {start} to {stop - 1}: {_short(error)}.") from error
        self.job.finish(k, failed, chunk)

    def _gone(self, error: BaseException) -> StudyError:
        text = _short(error)
        why = "its scheduler does not answer" if "scheduler-connection-lost" in text else text
        return StudyError(f"the cluster was lost ({why}).")


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
