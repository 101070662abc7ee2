"""One run of a study: a motion from the start of the model or from its equilibrium, or the equilibrium itself."""

from __future__ import annotations

from typing import Any

from gyrod.model import System
from gyrod.motion import Motion, Rest
from gyrod.solve import equilibrium, simulate
from gyrod.solve.routing import Route

#: Where motions start: as the model says, or each from its equilibrium.
STARTS = ("model", "rest")


def solved(model: System | Rest, t_end: float, options: dict[str, Any], *, at_rest: bool, start: str) -> Motion | Rest:
    """The run; ``options`` are those of `simulate`, at rest those of `equilibrium`."""
    if at_rest and isinstance(model, System):
        return equilibrium(model, **options)
    if isinstance(model, Rest) and at_rest:
        for name in options:
            if name != "error":  # it has one anyway
                raise ValueError(f"{name} is an option of equilibrium, but the model is at rest already; leave it out.")
        return model
    if isinstance(model, Route):
        raise ValueError(
            "a Route is at rest; give at_rest=True, or take a function that returns gd.System(rods=[route.rod], ...) "
            "as the model of motions."
        )
    return simulate(equilibrium(model) if start == "rest" and isinstance(model, System) else model, t_end, **options)
