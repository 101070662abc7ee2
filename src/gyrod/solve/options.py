"""Options of a run as the equations and the core take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check
from gyrod.equations import Compiled
from gyrod.runs.formulations import Formulation
from gyrod.runs.methods import for_index, rigid
from gyrod.runs.options import Stepping
from gyrod.solve.methods import step_options

if TYPE_CHECKING:
    from gyrod.equations.checks import CoreOptions
    from gyrod.solve.methods import StepValues


def core_options(formulation: Formulation, method: str = "auto") -> CoreOptions:
    """Variants of a formulation as the core calls them; contacts are rigid with methods that know impacts."""
    form = formulation
    options: CoreOptions = {
        "spatial": form.velocity == "spatial",
        "printed": form.equation == "printed",
        "fictive_moment": form.fictive_moment == "half-trace",
        "polar": form.director_projection == "polar",
    }
    if form.baumgarte is not None:
        options["baumgarte_omega"], options["baumgarte_r"] = form.baumgarte
    if form.null_space == "qr":
        options |= {"level": 0, "qr": True}
    options |= {"level": form.level} if form.level else {}
    options |= {"stabilised": True} if form.stabilised else {}
    options |= {"hard": True} if rigid(method) else {}
    return options if form.reduce else options | {"reduce": False}


#: Where in its steps a method that knows impacts looks at forces of rods: beyond the middle, which damps fast waves.
DAMPED = 0.55


def check_step(method: str, step: float | None) -> None:
    """Refuse a method without the length of its steps."""
    if rigid(method) and step is None:
        raise ValueError(f"method = {method!r} has constant steps: give step, in seconds.")


def check_index(formulation: Formulation, method: str) -> None:
    """Refuse a method that does not take the form of the constraints."""
    index, allowed = formulation.level, for_index(formulation.level)
    if method not in ("auto", *allowed):
        raise ValueError(
            f"index = {index} is a differential-algebraic system, which method = {method!r} does not take; use "
            f"{' or '.join(map(repr, allowed))}, or index = 0."
        )


def stepping(compiled: Compiled, run: Stepping) -> StepValues:
    """Options of the step control, in the core's form."""
    scale = compiled.scales() if run["norm"] == "physical" else None
    atol = atol_of(run["atol"], compiled)
    found = step_options(
        compiled.size, run["rtol"], atol, scale, run["step"], run["first_step"], run["max_step"], run["step_control"]
    )
    if rigid(run["method"]):
        found["roles"], found["theta"] = compiled.roles, DAMPED if compiled.rods else 0.5
    return found


def atol_of(atol: float | ArrayLike | Mapping[str, float] | None, compiled: Compiled) -> ArrayLike | None:
    """Absolute tolerances, of all unknowns where they are given by kind."""
    if not isinstance(atol, Mapping):
        return atol
    for kind, value in atol.items():
        _check.choice("atol", kind, ("position", "rotation", "velocity", "spin"))
        _check.positive(f"atol[{kind!r}]", value)
    if not atol:
        raise ValueError("atol = {} is empty; give tolerances by kind, a number, or leave it out.")
    return np.array([float(atol.get(kind, min(atol.values()))) for kind in compiled.kinds])
