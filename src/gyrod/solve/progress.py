"""How far a run is: what a progress bar shows, and what a function that watches a run is given."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

#: Called while a run goes on; it may raise to end it.
Watcher = Callable[["Progress"], object]
#: Called by the core with time and step size, and with more where a run is recorded.
Tick = Callable[..., object]


@dataclass(frozen=True)
class Progress:
    """How far a run is: time, end, step size; wall-clock seconds; where a run is recorded also steps and energy."""

    t: float
    t_end: float
    h: float
    seconds: float
    steps: int | None = None
    #: Kinetic and potential energy, J.
    energy: float | None = None
    #: Energy that came or went without a cause, over the largest kinetic energy; None where that is not known.
    energy_error: float | None = None

    @property
    def speed(self) -> float:
        """Simulated seconds for each second on the clock."""
        return self.t / self.seconds if self.seconds > 0.0 else 0.0


@contextmanager
def ticking(wanted: bool | Watcher, t_end: float) -> Iterator[Tick | None]:
    """What the core calls every few hundred steps: nothing, the user's function, or a bar on standard error."""
    if not wanted:
        yield None
        return
    started = time.perf_counter()

    def told(now: float, h: float, **more: float | None) -> Progress:
        return Progress(now, t_end, h, time.perf_counter() - started, **more)  # type: ignore[arg-type]

    if callable(wanted):
        watcher = wanted
        yield lambda now, h, **more: watcher(told(now, h, **more))
        return
    with _bar(t_end) as show:
        yield lambda now, h, **more: show(told(now, h, **more))
        show(told(t_end, 0.0))


@contextmanager
def _bar(t_end: float) -> Iterator[Watcher]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("t = {task.completed:.4g} s"), BarColumn(), TextColumn("{task.fields[told]}"))
    with Bar(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("simulate", total=t_end, told="")

        def show(at: Progress) -> None:
            told = [f"{at.speed:.3g} x real time"] + ([f"h = {at.h:.2g} s"] if at.h else [])
            if at.energy_error is not None:
                told.append(f"energy error {at.energy_error:.1e}")
            bar.update(task, completed=at.t, told=", ".join(told))

        yield show
