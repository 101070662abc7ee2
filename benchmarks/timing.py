"""CPU time, as all benchmarks measure it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def best(run: Callable[[], Any], repeat: int = 7) -> tuple[float, Any]:
    """Least CPU seconds of several runs, and what the last one returned."""
    seconds, result = float("inf"), None
    for _ in range(repeat):
        begin = time.process_time()
        result = run()
        seconds = min(seconds, time.process_time() - begin)
    return seconds, result
