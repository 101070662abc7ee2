"""Options of a run as the equations take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check
from gyrod.equations import Compiled


def variants(
    formulation: str,
    baumgarte: tuple[float, float] | None,
    velocity: str,
    equation: str,
    fictive_moment: str,
    director_projection: str,
) -> dict[str, Any]:
    """Variants of a formulation."""
    options: dict[str, Any] = {
        "spatial": _check.choice("velocity", velocity, ("material", "spatial")) == "spatial",
        "printed": _check.choice("equation", equation, ("exact", "printed")) == "printed",
        "fictive_moment": _check.choice("fictive_moment", fictive_moment, ("zero", "half-trace")) == "half-trace",
        "polar": _check.choice("director_projection", director_projection, ("spurrier", "polar")) == "polar",
    }
    supported = {
        "spatial": ("velocity = 'spatial'", "nullspace-", "the nullspace formulations"),
        "printed": ("equation = 'printed'", "absolute-quaternion", "'absolute-quaternion'"),
        "fictive_moment": ("fictive_moment = 'half-trace'", "absolute-quaternion", "'absolute-quaternion'"),
        "polar": ("director_projection = 'polar'", "-directors", "the director formulations"),
    }
    for key, (what, part, which) in supported.items():
        if options[key] and part not in str(formulation):
            raise ValueError(f"{what} works with {which} only, not with {formulation!r}.")
    if baumgarte is not None:
        if not str(formulation).startswith("absolute"):
            raise ValueError(f"baumgarte = {baumgarte!r} serves the absolute formulations, not {formulation!r}.")
        try:
            omega, r = baumgarte
        except (TypeError, ValueError):
            raise ValueError(f"baumgarte = {baumgarte!r} must be two numbers (omega, r).") from None
        options["baumgarte_omega"] = _check.positive("baumgarte[0] (omega)", omega)
        options["baumgarte_r"] = _check.positive("baumgarte[1] (r)", r)
    return options


def constraint_options(index: int, null_space: str, method: str) -> dict[str, Any]:
    """How constraints are solved."""
    if index not in (0, 1, 2, 3) or isinstance(index, bool):
        raise ValueError(f"index = {index!r} is unknown; it can be 0, 1, 2 or 3.")
    _check.choice("null_space", null_space, ("analytic", "qr"))
    if index and null_space == "qr":
        raise ValueError("null_space = 'qr' eliminates the multipliers, index = 0; leave one of them out.")
    serves = ("auto", "radau5", "bdf-dae") if index == 1 else ("auto", "radau5")
    if index and method not in serves:
        raise ValueError(
            f"index = {index} is a differential-algebraic system, which method = {method!r} does not serve; use "
            f"{' or '.join(map(repr, serves[1:]))}, or index = 0."
        )
    return {"level": index, "qr": True} if null_space == "qr" else {"level": index} if index else {}


def atol_of(atol: Any, compiled: Compiled) -> ArrayLike | None:
    """Absolute tolerances, of all unknowns where they are given by kind."""
    if not isinstance(atol, Mapping):
        return atol  # type: ignore[no-any-return]
    for kind, value in atol.items():
        _check.choice("atol", kind, ("position", "rotation", "velocity", "spin"))
        _check.positive(f"atol[{kind!r}]", value)
    if not atol:
        raise ValueError("atol = {} is empty; give tolerances by kind, a number, or leave it out.")
    return np.array([float(atol.get(kind, min(atol.values()))) for kind in compiled.kinds])
