"""How far a study is: what the bar shows, and what a function that watches it is given."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

#: Called now and then while a study goes on; it may raise to end it.
StudyWatcher = Callable[["StudyProgress"], object]
#: Seconds between two looks.
PERIOD = 0.1


@dataclass(frozen=True)
class StudyProgress:
    """How far a study is: runs that are done, all runs, those that failed since the start, wall-clock seconds."""

    done: int
    size: int
    failed: int
    seconds: float
    #: Runs that were there when it began.
    before: int = 0
    #: Something to know, such as that there is no worker yet.
    note: str = ""

    @property
    def rate(self) -> float:
        """Runs in a second, without those that were there."""
        return (self.done - self.before) / self.seconds if self.seconds > 0.0 else 0.0

    @property
    def remaining(self) -> float:
        """Seconds that the rest will take at this rate."""
        left = self.size - self.done
        return left / self.rate if self.rate > 0.0 else float("inf") if left else 0.0


@contextmanager
def watching(wanted: bool | StudyWatcher) -> Iterator[StudyWatcher]:
    """Who learns how far a study is: nobody, the user's function, or a bar on standard error."""
    if callable(wanted):
        yield wanted
    elif not wanted:
        yield lambda _: None
    else:
        with _bar() as show:
            yield show


@contextmanager
def _bar() -> Iterator[StudyWatcher]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.completed:.0f} of {task.total:.0f} runs"),
        BarColumn(),
        TextColumn("{task.fields[told]}"),
    )
    # Drawn when asked to, not by a thread of its own: it asks for the interpreter as seldom as possible.
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False) as bar:
        task = bar.add_task("study", total=0, told="")

        def show(at: StudyProgress) -> None:
            told = [f"{at.rate:.4g} runs/s"] if at.rate else []
            if at.rate and at.done < at.size:
                told.append(f"{_duration(at.remaining)} left")
            if at.failed:
                told.append(f"{at.failed} failed")
            if at.note:
                told.append(at.note)
            bar.update(task, completed=at.done, total=at.size, told=", ".join(told), refresh=True)

        yield show


def _duration(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    if hours >= 48:
        return f"{hours / 24:.1f} days"
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


class Tally:
    """Counts runs while they are done, for whoever watches; counting may happen in any thread, telling in one."""

    def __init__(self, size: int, before: int, watcher: StudyWatcher) -> None:
        self.size, self.before, self.watcher = size, before, watcher
        self.began = self._told = time.perf_counter()
        self.done, self.failed = before, 0
        self.note = ""
        #: Runs of chunks that are not finished, by chunk.
        self.under_way: dict[int, int] = {}

    def finish(self, k: int, runs: int, failed: int) -> None:
        """A chunk is finished; call this under a lock."""
        self.under_way.pop(k, None)
        self.done += runs
        self.failed += failed

    def now(self) -> StudyProgress:
        """How far it is."""
        going = sum(list(self.under_way.values()))
        return StudyProgress(
            self.done + going, self.size, self.failed, time.perf_counter() - self.began, self.before, self.note
        )

    def tell(self, *, always: bool = False) -> None:
        """Tell the watcher, if it is time."""
        now = time.perf_counter()
        if always or now - self._told >= PERIOD:
            self._told = now
            self.watcher(self.now())
