"""One run of a study: a motion from the start of the model or from its equilibrium, or the equilibrium itself."""

from __future__ import annotations

from typing import Any

from gyrod.model import System
from gyrod.motion import Motion, Rest
from gyrod.solve import equilibrium, simulate

#: Where motions start: as the model says, or each from its equilibrium.
STARTS = ("model", "rest")


def solved(system: System, t_end: float, options: dict[str, Any], *, at_rest: bool, start: str) -> Motion | Rest:
    """The run; ``options`` are those of `simulate`, at rest those of `equilibrium`."""
    if at_rest:
        return equilibrium(system, **options)
    return simulate(equilibrium(system) if start == "rest" else system, t_end, **options)
