"""Worker processes of the driver: started bare, given the plan, replaced when they die."""

from __future__ import annotations

import contextlib
import io
import pickle
import signal
import subprocess
import sys
from importlib import import_module
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod.studies.blocks import COUNTERS, STATUSES, Block
from gyrod.studies.chunks import Chunk, ChunkFiles, joined
from gyrod.studies.engines import Job, Stopped, unwritten
from gyrod.studies.errors import StudyError
from gyrod.studies.store import Folder, Store
from gyrod.studies.worker import BOOT, Tick

if TYPE_CHECKING:
    from gyrod.studies.plan import Plan

#: How often a chunk is given to a new process after one has died of it, and then each of its runs.
RETRIES = 3


class Unpicklable(ValueError):
    """A plan with functions that cannot be sent to another process."""


class _Died(Exception):
    """A worker process ended before it answered."""


def packed(plan: Plan, files: ChunkFiles | None = None) -> bytes:
    """A plan as bytes that another process can read; functions of a script travel as code if cloudpickle is there."""
    cloudpickle: ModuleType | None = None
    with contextlib.suppress(ImportError):
        cloudpickle = import_module("cloudpickle")
    try:
        if cloudpickle is not None:
            return bytes(cloudpickle.dumps((plan, files), protocol=5))
        stream = io.BytesIO()
        _Pickler(stream, protocol=5).dump((plan, files))
        return stream.getvalue()
    except Exception as error:  # whatever the user's objects raise
        hint = "" if cloudpickle is not None else "; install cloudpickle, or put functions into a module of their own"
        raise Unpicklable(f"the study cannot be sent to other processes: {error}{hint}.") from error


class _Pickler(pickle.Pickler):
    """Refuses what lies in the script itself, which other processes do not import."""

    def reducer_override(self, value: object) -> Any:
        if isinstance(value, (FunctionType, type)) and value.__module__ == "__main__":
            raise pickle.PicklingError(f"{value.__qualname__} is defined in the script")
        return NotImplemented


class Remote:
    """A worker process that runs chunks for one thread of the driver; a new one when it dies."""

    def __init__(self, plan: Plan, store: Store, payload: bytes, later: float = 0.0) -> None:
        self.plan, self.store, self.later = plan, store, later
        self.writes = isinstance(store, Folder)
        self._payload = payload
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False

    @classmethod
    def crew(cls, plan: Plan, store: Store, count: int, later: float = 0.0) -> list[Remote]:
        """Some workers that begin ``later``, in seconds, if there is anything left to do by then."""
        payload = packed(plan, store.files if isinstance(store, Folder) else None)
        return [cls(plan, store, payload, later) for _ in range(count)]

    def wants(self, job: Job) -> bool:
        """Whether it takes another chunk: not so soon at first."""
        if self.later:
            job.empty.wait(self.later)
            self.later = 0.0
        return True

    # --- the process -------------------------------------------------------------------------------------------------

    def _start(self) -> subprocess.Popen[bytes]:
        group = None if sys.platform == "win32" else 0  # its own: Ctrl-C does not reach it
        process = subprocess.Popen(
            [sys.executable, "-c", BOOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=group
        )
        self._process = process
        if self._killed:  # meanwhile
            process.kill()
        self._send(sys.path)
        self._send(self._payload)
        match self._hear():
            case ("ready",):
                return process
            case (_, why):
                raise StudyError(f"a worker process cannot take the study: {why}; engine='threads' needs none.")
        raise _Died

    def _begin(self) -> None:
        """Start a process; one that dies before it was given a run has another reason than its runs."""
        how = ""
        for _ in range(1 + RETRIES):
            with contextlib.suppress(_Died):
                self._start()
                return
            how = self._after_death()
        raise StudyError(f"a worker process {how} before it could begin; engine='threads' needs none.")

    def _send(self, words: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            pickle.dump(words, self._process.stdin, protocol=5)
            self._process.stdin.flush()
        except OSError as error:
            raise _Died from error

    def _hear(self) -> tuple[Any, ...]:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            return tuple(pickle.load(self._process.stdout))
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise _Died from error

    def _bury(self) -> str:
        """How the process ended."""
        process, self._process = self._process, None
        if process is None:
            return ""
        process.kill()
        code = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if code >= 0:
            return f"ended with code {code}"
        with contextlib.suppress(ValueError):
            return f"died of {signal.Signals(-code).name}"
        return f"died of signal {-code}"

    # --- chunks ------------------------------------------------------------------------------------------------------

    def run(self, k: int, start: int, stop: int, tick: Tick) -> tuple[int, Chunk | None]:  # noqa: ARG002
        """Run a chunk; one whose process dies again and again is run in pieces, to find the run that kills it."""
        for _ in range(1 + RETRIES):
            with contextlib.suppress(_Died):
                return self._ask(start, stop, self.writes, tick)
            self._after_death()
        step = self.plan.lanes
        chunk = self._pieces(start, stop, step, tick)
        return chunk.failed, chunk

    def _ask(self, start: int, stop: int, write: bool, tick: Tick) -> tuple[int, Chunk | None]:
        if self._process is None:
            self._begin()
        self._send((start, stop, write))
        while True:
            match self._hear():
                case ("tick", done):
                    tick(done)
                case ("done", failed, chunk):
                    return failed, chunk
                case ("unwritten", why):
                    raise unwritten(self.store, why)
                case ("raised", error):
                    raise error

    def _after_death(self) -> str:
        how = self._bury()
        if self._killed:
            raise Stopped
        return how

    def _pieces(self, start: int, stop: int, step: int, tick: Tick) -> Chunk:
        blocks = []
        for a in range(start, stop, step):
            b = min(a + step, stop)
            blocks.append(self._piece(a, b))
            tick(b - start)
        return Chunk(joined(blocks), self.plan.parameters(start, stop))

    def _piece(self, start: int, stop: int) -> Block:
        how = ""
        for _ in range(RETRIES):
            with contextlib.suppress(_Died):
                _, chunk = self._ask(start, stop, False, lambda _: None)
                assert chunk is not None
                return chunk.block
            how = self._after_death()
        return lost(self.plan, start, stop, f"the process that ran it {how}, {RETRIES} times.")

    def close(self) -> None:
        """No more chunks: the process ends."""
        process = self._process
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5.0)
        self._bury()

    def kill(self) -> None:
        """End the process at once."""
        self._killed = True
        process = self._process
        if process is not None:
            process.kill()


def lost(plan: Plan, start: int, stop: int, why: str) -> Block:
    """Rows of runs that nobody survived."""
    n = stop - start
    return Block(
        start,
        stop,
        {name: np.full((n, *shape), np.nan) for name, shape in plan.shapes.items()},
        np.full(n, STATUSES.index("failed"), np.uint8),
        (why,) * n,
        np.zeros(n),
        {name: np.zeros(n, np.int64) for name in COUNTERS},
        np.zeros(n),
    )
