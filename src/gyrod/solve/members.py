"""Runs of many systems that differ in numbers of their rods: prepared once, then one call of the core for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gyrod import _core
from gyrod.equations import Compiled
from gyrod.equations.members import Stack, template
from gyrod.model import System
from gyrod.motion import Motion
from gyrod.solve.choose import choose_method
from gyrod.solve.methods import METHODS, handed, most_steps, output_times, run_options, step_options
from gyrod.solve.options import atol_of
from gyrod.solve.outcome import motion_of

Array = NDArray[np.float64]

#: Variants of the equations: the usual ones.
VARIANTS = {"spatial": False, "printed": False, "fictive_moment": False, "polar": False}
#: Members that the core integrates together in the lanes of a processor's vectors.
LANES = 4
#: Options of `simulate` that it takes; others need the whole of it.
_TAKEN = (
    "formulation", "method", "rtol", "atol", "norm", "projection", "step", "first_step", "max_step", "max_steps",
    "output", "dense",
)  # fmt: skip
#: Below this tolerance the automatic choice of a method depends on the stiffness of a member.
_CHOICE = 1e-7


class Members:
    """Systems that differ in the values at some paths, ready to run."""

    def __init__(
        self, found: Any, t_end: float, method: str, steps: dict[str, Any], how: dict[str, Any], *, physical: bool
    ) -> None:
        self.template, self.t_end, self.method = found, t_end, method
        self._steps, self._how, self._physical = steps, how, physical

    @property
    def compiled(self) -> Compiled:
        """The system of which they are variations."""
        compiled: Compiled = self.template.compiled
        return compiled

    @property
    def dense(self) -> bool:
        """Whether all steps of a run are kept."""
        return bool(self._how["dense"])

    def apart(self) -> str | None:
        """Why they cannot go in lanes; None if they can."""
        if METHODS[self.method].stiff:
            return f"method = {self.method!r} is implicit; lanes are for explicit methods"
        reason: str | None = self.compiled.core.apart()
        return reason

    def stack(self, values: Mapping[str, Array]) -> Stack:
        """The members with these values, columns by path, as arrays."""
        found: Stack = self.template.stack(values)
        return found

    def run(
        self, stack: Stack, rows: NDArray[np.intp], *, lanes: bool = False, tick: Callable[[int], object] | None = None
    ) -> list[_core.Run]:
        """Runs of the core of these rows of a stack, in their order, without Python's lock."""
        changes = [{key: x[rows] for key, x in part.items()} for part in stack.changes]
        y0 = np.tile(self.compiled.y0, (len(rows), 1))
        scales = np.ascontiguousarray(stack.scales[rows]) if self._physical else None
        given = handed(self._steps, self._how)
        return self.compiled.core.members(self.method, self.t_end, y0, scales, *given, changes, lanes, tick)

    def revise(self, stack: Stack, row: int) -> None:
        """Make the core of `compiled` that of one member."""
        for rod, part in enumerate(stack.changes):
            if part:
                self.compiled.core.revise(rod, part, row)

    def motion(self, run: Any, compiled: Compiled | None = None) -> Motion:
        """A run as a motion; raises as `simulate` does where it failed."""
        return motion_of(
            run, compiled or self.compiled, self.method, run.seconds, self._how["dense"], self._how["project"], []
        )


def members(system: System, paths: Sequence[str], t_end: float, **options: Any) -> Members | None:
    """Members with other values at these paths, run with options of `simulate`; None if that must do it."""
    method, rtol = options.get("method", "auto"), options.get("rtol", 1e-6)
    if not set(options).issubset(_TAKEN) or any(rod.limits is not None for rod in system.rods):
        return None
    if method not in ("auto", *METHODS) or (method == "auto" and rtol <= _CHOICE):
        return None
    formulation = options.get("formulation", "nullspace-quaternion")
    found = template(system, paths, formulation, **VARIANTS)
    if found is None:
        return None
    compiled = found.compiled
    physical = options.get("norm", "physical") == "physical"
    steps = step_options(
        compiled.size, rtol, atol_of(options.get("atol"), compiled), compiled.scales() if physical else None,
        options.get("step"), options.get("first_step"), options.get("max_step"),
    )  # fmt: skip
    wanted = output_times(options.get("output"), 0.0, t_end)
    how = run_options(project=options.get("projection", "step") == "step", output=wanted, events=[])
    how["max_steps"] = most_steps(options.get("max_steps"))
    how |= {"dense": bool(options.get("dense", True)), "progress": None}
    return Members(found, t_end, choose_method(method, compiled, rtol, t_end), steps, how, physical=physical)
