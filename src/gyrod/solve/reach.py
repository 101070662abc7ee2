"""How far a run can go: samples of a model may end before it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gyrod.model import ModelError, Samples, System
from gyrod.model.inputs import functions
from gyrod.model.samples import SLACK


def reach(system: System, t_end: float, output: ArrayLike | int | None) -> tuple[float, ArrayLike | int | None]:
    """End and output times of a run; it ends with samples that say so, and is refused beyond others.

    Output times after the end are left out; the last row is then the end.
    """
    end, problems = t_end, []
    for path, samples, _ in functions(system, Samples):
        if not samples.limited or t_end <= samples.end + SLACK * max(1.0, abs(samples.end)):
            continue
        if samples.outside == "ended":
            end = min(end, samples.end)
            continue
        problems.append(
            f"System: {path} = {samples!r}: the run goes to t = {t_end:g} s; end it at t = {samples.end:g}, or choose "
            "outside = 'ended', 'held' or 'periodic'."
        )
    if problems:
        raise ModelError(problems)
    if end == t_end or output is None or np.ndim(output) != 1:
        return end, output
    return end, np.asarray([*(x for x in np.asarray(output) if x < end), end])
