"""Results of consecutive runs of a study: what workers hand back and what chunk files hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: How a run ended: the end of time, a terminal event, an error on the way, or a model that could not be made.
STATUSES = ("finished", "event", "failed", "refused")
#: Counters of a run, as in `MotionStats`.
COUNTERS = ("steps", "rejected", "rhs", "jacobians")


@dataclass(frozen=True)
class Block:
    """Runs ``start`` to ``stop`` of a study, row by row."""

    start: int
    stop: int
    #: By name, (n, ...); NaN where a run did not come so far.
    outputs: dict[str, NDArray[np.float64]]
    #: Places in `STATUSES`, (n,).
    status: NDArray[np.uint8]
    #: Sentences of runs that failed, "" of the others.
    errors: tuple[str, ...]
    #: Time at which a run ended, s, (n,).
    t: NDArray[np.float64]
    #: Counters by name, (n,).
    counters: dict[str, NDArray[np.int64]]
    #: CPU seconds of each run, (n,): the one thing that differs from time to time.
    seconds: NDArray[np.float64]

    def __len__(self) -> int:
        return self.stop - self.start

    def same(self, other: Block) -> bool:
        """Whether two blocks hold the same results to the last bit; CPU seconds do not count."""
        return (
            (self.start, self.stop, self.errors) == (other.start, other.stop, other.errors)
            and list(self.outputs) == list(other.outputs)
            and all(_same(a, other.outputs[name]) for name, a in self.outputs.items())
            and all(_same(a, other.counters[name]) for name, a in self.counters.items())
            and _same(self.status, other.status)
            and _same(self.t, other.t)
        )


def _same(a: NDArray[np.generic], b: NDArray[np.generic]) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
