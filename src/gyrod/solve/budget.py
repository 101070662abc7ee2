"""What a run may take: a part of the free memory, and a warning if it would last for hours."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gyrod import _check
from gyrod.solve.progress import Tick

if TYPE_CHECKING:
    from gyrod.solve.methods import RunValues

#: Parts of the free memory for dense output and for rows; while they grow and are handed over they take thrice that.
DENSE, ROWS = 1.0 / 8.0, 1.0 / 6.0
#: Wall-clock seconds after which the end of a run is forecast, again at ten times of that; what it warns of.
FIRST, LONG = 1.0, 3600.0
#: Seconds between two looks at a run in memory.
EVERY = 0.1


#: What was free when it was last asked for, and when that was: to ask costs as much as a short run.
_last = (-EVERY, 0)


def free_memory() -> int:
    """Bytes that this process can still take from the machine, from its control group and below its own limit."""
    global _last
    now = time.monotonic()
    if now - _last[0] >= EVERY:
        _last = now, _free_memory()
    return _last[1]


def _free_memory() -> int:
    found = []
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found.append(1024 * int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]))
    with contextlib.suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        found.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            found.append(limit - pages * os.sysconf("SC_PAGE_SIZE"))
    if not found:
        with contextlib.suppress(AttributeError, OSError, ValueError):
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    return max(0, min(found, default=1 << 32))


def memory_limits() -> RunValues:
    """Bytes of dense output and rows that a run may keep in memory, as the core takes them."""
    free = free_memory()
    return {"dense_bytes": int(DENSE * free), "row_bytes": int(ROWS * free)}


class Forecast:
    """Watches the pace of a run and warns once if it would take hours; a tick that calls another one."""

    def __init__(self, t_end: float, then: Tick | None = None) -> None:
        self.t_end, self.then, self.next = t_end, then, FIRST
        #: Time and clock at the first call and at the last one.
        self.first: tuple[float, float] | None = None
        self.last = (0.0, 0.0)

    def __call__(self, t: float, h: float, **more: object) -> object:
        """Time and step size now."""
        now = time.perf_counter()
        if self.first is None:
            self.first = self.last = t, now
        spent = now - self.first[1]
        if spent >= self.next and now > self.last[1]:
            # By the pace of now and by that so far: a slow start alone is no reason to warn.
            self._look(t, h, spent, max((t - x) / (now - s) for x, s in (self.first, self.last)))
        self.last = t, now
        return self.then(t, h, **more) if self.then is not None else None

    def _look(self, t: float, h: float, spent: float, pace: float) -> None:
        self.next *= 10.0
        left = self.t_end - t
        lasts = left / pace if pace > 0.0 else float("inf")
        if lasts < LONG or not h > 0.0:
            return
        more = left / h
        self.next = float("inf")
        _check.warn(
            f"after {spent:.2g} s of computing t = {t:.4g} of {self.t_end:g} s is reached with steps of {h:.2g} s: at "
            f"this pace {more:.1g} steps and {_duration(lasts)} are left. Check the units of the model, try another "
            "method or a larger rtol; max_steps= bounds a run, save= keeps it."
        )


def _duration(seconds: float) -> str:
    for unit, size in (("years", 3.15e7), ("days", 86400.0)):
        if seconds >= 2.0 * size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds / 3600.0:.2g} hours"
