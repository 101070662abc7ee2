"""Who runs which chunk on one machine: this thread, several threads, or worker processes."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Iterator
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Protocol

from gyrod import _check
from gyrod.equations import compile_system
from gyrod.runs.methods import rigid
from gyrod.studies.chunks import Chunk
from gyrod.studies.errors import StudyError
from gyrod.studies.progress import PERIOD, Tally
from gyrod.studies.store import Folder, Store
from gyrod.studies.worker import Tick, run_chunk

if TYPE_CHECKING:
    from gyrod.studies.plan import Plan

#: Engines of one machine; "local" is threads or processes, whichever suits the model.
LOCAL = ("local", "threads", "processes", "serial")
#: Seconds for which "local" runs in a thread what would be for processes: they take as long to start.
HEAD_START = 0.4
#: Runs that are looked at for one whose model can be made.
TRIES = 10


class Stopped(Exception):
    """Ends a chunk between two runs."""


class Job:
    """The chunks of a study that are to be run, each given out once, and where their results go; for many threads."""

    def __init__(self, plan: Plan, store: Store, todo: Iterator[int], tally: Tally) -> None:
        self.plan, self.store, self.tally = plan, store, tally
        self.stopped = False
        #: All chunks are taken.
        self.empty = Event()
        self._todo, self._lock = todo, Lock()

    def take(self) -> int | None:
        """The next chunk; None if there is none, or no more are wanted."""
        with self._lock:
            k = None if self.stopped else next(self._todo, None)
        if k is None:
            self.empty.set()
        return k

    def finish(self, k: int, failed: int, chunk: Chunk | None) -> None:
        """A chunk is done; None if a worker has written it."""
        if chunk is None:
            self.store.wrote(k)
        else:
            try:
                self.store.put(chunk)
            except OSError as error:
                raise unwritten(self.store, error.strerror or str(error)) from error
        start, stop = self.store.span(k)
        with self._lock:
            self.tally.finish(k, stop - start, failed)

    def ticking(self, k: int) -> Tick:
        """What gets how many runs of a chunk are done; it ends the chunk when no more are wanted."""

        def tick(done: int) -> None:
            if self.stopped:
                raise Stopped
            self.tally.under_way[k] = done

        return tick


def unwritten(store: Store, why: str) -> StudyError:
    """The sentence for results that could not be written."""
    folder = f" in {str(store.folder)!r}" if isinstance(store, Folder) else ""
    return StudyError(f"results cannot be written{folder}: {why}.")


class Hand(Protocol):
    """Runs chunks for one thread of the driver."""

    def wants(self, job: Job) -> bool:
        """Whether it takes another chunk; it may wait before it says so."""

    def run(self, k: int, start: int, stop: int, tick: Tick) -> tuple[int, Chunk | None]:
        """Number of failed runs, and the chunk unless it was written."""

    def close(self) -> None:
        """Its work is done."""

    def kill(self) -> None:
        """End it at once; may be called from another thread."""


class OwnHand:
    """Runs chunks in the thread itself, with ``seconds`` only for so long."""

    def __init__(self, plan: Plan, seconds: float = math.inf) -> None:
        self.plan, self.until = plan, time.monotonic() + seconds

    def wants(self, job: Job) -> bool:  # noqa: ARG002
        """Until its time is over."""
        return time.monotonic() < self.until

    def run(self, k: int, start: int, stop: int, tick: Tick) -> tuple[int, Chunk | None]:  # noqa: ARG002
        """Run a chunk here."""
        chunk = run_chunk(self.plan, start, stop, tick)
        return chunk.failed, chunk

    def close(self) -> None:
        """Nothing to do."""

    def kill(self) -> None:
        """The tick of its chunk does it."""


def run_serial(job: Job) -> None:
    """One chunk after the other, in this thread."""
    hand = OwnHand(job.plan)
    while (k := job.take()) is not None:
        count = job.ticking(k)

        def tick(done: int, count: Tick = count) -> None:
            count(done)
            job.tally.tell()

        job.finish(k, *hand.run(k, *job.store.span(k), tick))
        job.tally.tell()


def run_crew(job: Job, hands: list[Hand]) -> None:
    """One thread for each hand; this one watches. The first error of a hand ends the others and is raised."""
    errors: list[BaseException] = []
    over = Event()

    def work(hand: Hand) -> None:
        try:
            while hand.wants(job) and (k := job.take()) is not None:
                job.finish(k, *hand.run(k, *job.store.span(k), job.ticking(k)))
        except Stopped:
            pass
        except BaseException as error:
            if not job.stopped:
                errors.append(error)
                job.stopped = True
        finally:
            over.set()

    threads = [Thread(target=work, args=(hand,), daemon=True, name=f"gyrod-study-{i}") for i, hand in enumerate(hands)]
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            over.wait(PERIOD)
            if over.is_set():
                over.clear()
                if errors:
                    break
            job.tally.tell()
    finally:
        unfinished = any(thread.is_alive() for thread in threads)
        job.stopped = True
        if unfinished or errors:
            for hand in hands:
                hand.kill()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        for hand in hands:
            hand.close()
    if errors:
        raise errors[0]


# --- the choice ------------------------------------------------------------------------------------------------------


def check_engine(engine: str) -> None:
    """Refuse a text that is neither an engine nor an address."""
    if engine != "dask" and "://" not in engine and not re.search(r":\d+$", engine):
        _check.choice("engine", engine, [*LOCAL, "dask", "tcp://address:port"])


def processors() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def calls_python(plan: Plan) -> bool:
    """Whether runs call Python functions while they integrate, or to make their model: then threads would queue up."""
    if plan.model.system is None or plan.options.get("events"):
        return True
    for i in range(min(TRIES, plan.size)):
        row = {name: column[0] for name, column in plan.parameters(i, i + 1).items()}
        try:
            return compile_system(plan.system(row), hard=rigid(plan.options.get("method"))).python
        except (ValueError, ArithmeticError, LookupError, TypeError):  # this run will be refused; the next one decides
            continue
    return False
