"""Runs of many systems that differ in numbers of their rods: prepared once, then one call of the core for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod import _core
from gyrod._check import Array
from gyrod.equations import Compiled
from gyrod.equations.members import Stack, template
from gyrod.model import System
from gyrod.motion import Motion
from gyrod.runs.formulations import Formulation
from gyrod.runs.options import MOST_STEPS, STEPPING, Options, read, whole
from gyrod.solve.choose import choose_method
from gyrod.solve.methods import METHODS, handed, output_times, run_options
from gyrod.solve.options import core_options, stepping
from gyrod.solve.outcome import motion_of

if TYPE_CHECKING:
    from gyrod.equations.members import Template
    from gyrod.solve.methods import RunValues, StepValues

#: Members that the core integrates together in the lanes of a processor's vectors.
LANES = 4
#: Options of `simulate` that it takes; others need the whole of it.
_TAKEN = (*STEPPING, "max_steps", "output", "dense")
#: Below this tolerance the automatic choice of a method depends on the stiffness of a member.
_CHOICE = 1e-7


class Members:
    """Systems that differ in the values at some paths, ready to run."""

    def __init__(
        self, found: Template, t_end: float, method: str, steps: StepValues, how: RunValues, *, physical: bool
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

    def motion(self, run: _core.Run, compiled: Compiled | None = None) -> Motion:
        """A run as a motion; raises as `simulate` does where it failed."""
        return motion_of(
            run, compiled or self.compiled, self.method, run.seconds, self._how["dense"], self._how["project"], []
        )


def members(system: System, paths: Sequence[str], t_end: float, **options: object) -> Members | None:
    """Members with other values at these paths, run with options of `simulate`; None if that must do it."""
    if not set(options).issubset(_TAKEN) or any(rod.limits is not None for rod in system.rods):
        return None
    if any(getattr(sensor, "limit", None) is not None for sensor in system.sensors):  # an event of Python
        return None
    run = whole(read("simulate", options, Options))
    method, form = run["method"], Formulation.of(run["formulation"])
    if method not in ("auto", *METHODS) or (method == "auto" and run["rtol"] <= _CHOICE):
        return None
    if form.parts.keys() - {"projection"}:
        return None
    found = template(system, paths, form.name, **core_options(form))
    if found is None:
        return None
    compiled = found.compiled
    steps, wanted = stepping(compiled, run), output_times(run["output"], 0.0, t_end)
    how = run_options(
        project=form.projection == "step", output=wanted, max_steps=run["max_steps"] or MOST_STEPS, dense=run["dense"]
    )
    chosen = choose_method(method, compiled, run["rtol"], t_end)
    return Members(found, t_end, chosen, steps, how, physical=run["norm"] == "physical")
