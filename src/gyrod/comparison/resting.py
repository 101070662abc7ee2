"""Discretisations of rods compared at rest: the equilibrium of each against that of fine elements."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod.comparison.discretizations import Discretization
from gyrod.comparison.results import Comparison, Reference, Trial
from gyrod.comparison.running import SHORT, Runner, states
from gyrod.model import ModelError, System
from gyrod.motion import Motion, Rest
from gyrod.solve import EquilibriumError, equilibrium

if TYPE_CHECKING:
    from gyrod._check import Data


def compare_rests(
    system: System, spaces: Sequence[Discretization], fine: Discretization | None, options: Data,
    progress: Callable[[str], None],
) -> Comparison:  # fmt: skip
    """Equilibria of a system with its rods discretised in these ways."""
    runner = Runner(system, 0.0, np.zeros(1), 0.0, options, progress)
    fine = fine or runner.fine(spaces)
    coarse, checking = runner.coarse(fine)
    progress(f"reference: {fine.label}")
    exact, seconds = _found(fine.of(system), options)
    runner.take(_row(exact))
    try:
        error = max(runner.errors(row := _row(_found(checking, options)[0]), states(row))[:2])
        reference = Reference("", "equilibrium", None, seconds, error, coarse.label, fine.label)
    except EquilibriumError:
        reference = Reference("", "equilibrium", None, seconds, discretization=fine.label)
    trials = []
    for i, space in enumerate(spaces):
        progress(f"{i + 1} of {len(spaces)}: {space.label}")
        trials.append(_trial(runner, space, options))
    formulation = exact.motion.stats.formulation
    trials = [replace(trial, formulation=formulation) for trial in trials]
    return Comparison(0.0, runner.length, 0.0, 0.0, replace(reference, formulation=formulation), tuple(trials))


def _trial(runner: Runner, space: Discretization, options: Data) -> Trial:
    first = Trial("", "equilibrium", discretization=space.label)
    try:
        rest, seconds = _found(space.of(runner.system), options)
    except ModelError as error:
        return replace(first, status="refused", note=str(error))
    except EquilibriumError as error:
        return replace(first, status="failed", note=str(error), steps=error.rest.iterations)
    row = _row(rest)
    position, rotation, _ = runner.errors(row, states(row))
    return replace(
        first, seconds=seconds, steps=rest.iterations, unknowns=row.compiled.size, position=position, rotation=rotation,
        note="" if rest.stable else "this equilibrium is not stable.",
    )  # fmt: skip


def _found(system: System, options: dict[str, Any]) -> tuple[Rest, float]:
    """The equilibrium, and its CPU seconds, the best of three if they are few."""
    best = np.inf
    for _ in range(3):
        began = time.process_time()
        rest = equilibrium(system, **options)
        best = min(best, time.process_time() - began)
        if best > SHORT:
            break
    return rest, best


def _row(rest: Rest) -> Motion:
    """A motion of one row."""
    return replace(rest.motion, t=np.array([rest.t]), y=rest.y[None])
