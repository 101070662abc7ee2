"""The runs of a study, one after the other in one thread: parameters in, rows of outputs out.

Runs that differ in stiffness, damping, masses or gravity of rods go through the core together, without Python in
between; the others one by one through `simulate`. The results are the same to the last bit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod.equations import ForceError, compile_system
from gyrod.equations.members import Stack
from gyrod.model import ModelError
from gyrod.motion import Motion, Rest, SimulationError, of_rows
from gyrod.motion.readings import Quantity
from gyrod.solve import EquilibriumError
from gyrod.solve.members import LANES, Members, members
from gyrod.studies.blocks import COUNTERS, STATUSES, Block
from gyrod.studies.design import Column
from gyrod.studies.outputs import Final
from gyrod.studies.plan import Plan

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gyrod import _core

Tick = Callable[[int], object]

#: Runs whose states are held at a time, whatever the size of a chunk; and where all their steps are.
PART, PART_DENSE = 128, 8


def run_block(plan: Plan, start: int, stop: int, *, tick: Tick | None = None, together: bool = True) -> Block:
    """Runs ``start`` to ``stop`` of a plan; ``tick`` gets how many are done, and may raise to end it.

    What comes out for a run depends on the plan and its number alone, not on where blocks begin. ``together=False``
    makes each run separately.
    """
    rows = _Rows(plan, start, stop)
    values = plan.parameters(start, stop)
    prepared = _prepared(plan) if together else None
    left = np.arange(stop - start) if prepared is None else prepared.run(values, start, rows, tick)
    for count, i in enumerate(left, start=stop - start - len(left) + 1):
        _run(plan, {name: column[i] for name, column in values.items()}, rows, int(i))
        if tick is not None:
            tick(count)
    return rows.block()


def _run(plan: Plan, values: Mapping[str, object], rows: _Rows, i: int) -> None:
    began = time.thread_time()
    run: Motion | Rest | None = None
    try:
        run = plan.solved(values)
        status, error = "finished" if isinstance(run, Rest) else run.status, ""
    except SimulationError as problem:
        status, error, run = "failed", str(problem), problem.motion
    except EquilibriumError as problem:
        status, error, run = "failed", str(problem), problem.rest
    except Exception as problem:  # a model may be a function of the user, and raise anything
        status, error = "refused", _told(problem)
    rows.take(i, plan, status, error, run, time.thread_time() - began)


def _told(problem: Exception) -> str:
    """The sentence of an error; with its kind where it is not one of ours."""
    told = isinstance(problem, (ModelError, ValueError, ForceError))
    return str(problem) if told else f"{type(problem).__name__}: {problem}"


# --- runs that go through the core together --------------------------------------------------------------------------


class _Together:
    """A plan whose runs differ in numbers of rods only, prepared for one thread."""

    def __init__(self, plan: Plan, found: Members) -> None:
        self.plan, self.members = plan, found
        read = [getattr(output, "quantity", None) for output in plan.outputs]
        self.kinematic = all(isinstance(q, Quantity) and q.kinematic for q in read)
        self.sectional = all(isinstance(q, Quantity) and (q.kinematic or _sectional(q)) for q in read)
        self.final = self.kinematic and all(type(o) is Final and o.needs == "end" for o in plan.outputs)

    def run(self, values: Mapping[str, Column], start: int, rows: _Rows, tick: Tick | None) -> NDArray[np.intp]:
        """Fill rows, a part after the other; returns the numbers of those that are left."""
        count = len(next(iter(values.values())))
        part = PART_DENSE if self.members.dense else PART
        left = [self._part(values, a, min(a + part, count), start, rows, tick) for a in range(0, count, part)]
        return np.concatenate(left)

    def _part(
        self, values: Mapping[str, Column], a: int, b: int, start: int, rows: _Rows, tick: Tick | None
    ) -> NDArray[np.intp]:
        values = {name: column[a:b] for name, column in values.items()}
        stack = self.members.stack(values)
        taken, left = np.flatnonzero(stack.good), a + np.flatnonzero(~stack.good)
        if not len(taken):
            return left
        watch = None if tick is None else lambda done: tick(a + done)
        runs = self._laned(start + a, b - a, watch) if self.plan.lanes > 1 else self._runs(stack, taken, watch)
        ended = [run.status == "finished" for run in runs]
        if self.final:
            self._final([run for run, good in zip(runs, ended, strict=True) if good], a + taken[ended], rows)
        for run, good, i in zip(runs, ended, taken.tolist(), strict=True):
            if not (good and self.final):
                self._single(run, stack, values, i, a + i, rows)
        return left

    def _runs(
        self, stack: Stack, taken: NDArray[np.intp], tick: Tick | None, *, lanes: bool = False
    ) -> list[_core.Run]:
        runs = self.members.run(stack, taken, lanes=lanes, tick=tick)
        if len(runs) < len(taken):
            raise KeyboardInterrupt
        return runs

    def _laned(self, start: int, count: int, tick: Tick | None) -> list[_core.Run]:
        """Runs of the good rows in lanes: groups begin at multiples of their size, wherever blocks do."""
        first, size = start - start % LANES, self.plan.size
        last = min(size, -(-(start + count) // LANES) * LANES)
        stack = self.members.stack(self.plan.parameters(first, last))
        groups = [np.arange(i, min(i + LANES, last - first)) for i in range(0, last - first, LANES)]
        wanted, kept = [], []
        for group in groups:
            good = group[stack.good[group]]
            if len(good):  # who is missing is stood in for: a group must not depend on what lies before it
                wanted += [*good, *[good[-1]] * (LANES - len(good))]
                kept += [start <= first + i < start + count for i in good] + [False] * (LANES - len(good))
        runs = self._runs(stack, np.array(wanted), tick, lanes=True)
        return [run for run, mine in zip(runs, kept, strict=True) if mine]

    def _final(self, runs: list[_core.Run], at: NDArray[np.intp], rows: _Rows) -> None:
        """Last rows of all runs as one motion: what is read of them follows from each row alone."""
        if not runs:
            return
        y = np.array([run.y_stop for run in runs])
        ends = of_rows(self.members.compiled, np.full(len(y), self.plan.t_end), y)
        for output in self.plan.outputs:
            rows.outputs[output.name][at] = output.quantity.read(ends)
        rows.t[at] = self.plan.t_end
        rows.seconds[at] = [run.seconds for run in runs]
        counts = [run.stats for run in runs]
        for name, column in rows.counters.items():
            column[at] = [count[name] for count in counts]

    def _single(self, run: _core.Run, stack: Stack, values: Mapping[str, Column], i: int, at: int, rows: _Rows) -> None:
        plan, compiled = self.plan, self.members.compiled
        if not self.sectional:  # who reads it may ask for anything of the model
            system = plan.system({name: column[i] for name, column in values.items()})
            compiled = compile_system(system, compiled.formulation, **compiled.options)
        elif not self.kinematic:
            self.members.revise(stack, i)
        status, error = "finished", ""
        try:
            motion = self.members.motion(run, compiled)
        except SimulationError as problem:
            status, error, motion = "failed", str(problem), problem.motion
        rows.take(at, plan, status, error, motion, run.seconds)


def _sectional(q: Quantity) -> bool:
    """Whether the core alone knows it: forces and energies of a row, and nothing that the model is asked for."""
    return (q.kind == "rod" and q.place != "sections" and q.at is None and not q.everywhere) or (
        q.kind == "energy" and not q.dense
    )


#: The plan that a thread has prepared last: its core is a workspace that threads do not share.
_last = threading.local()


def _prepared(plan: Plan) -> _Together | None:
    """The plan, prepared for this thread; None if its runs must be made one by one."""
    if getattr(_last, "identity", None) != plan.identity:
        _last.identity, _last.found = plan.identity, _prepare(plan)
    found: _Together | None = _last.found
    return found


def _prepare(plan: Plan) -> _Together | None:
    system = plan.model.system
    if system is None or plan.at_rest or plan.start == "rest":  # equilibria are found one by one
        return None
    try:
        found = members(system, plan.names, plan.t_end, **plan.run_options())
    except (ModelError, ValueError):  # reported by the runs themselves
        return None
    return None if found is None else _Together(plan, found)


# --- rows ------------------------------------------------------------------------------------------------------------


class _Rows:
    """Rows that are filled one after the other."""

    def __init__(self, plan: Plan, start: int, stop: int) -> None:
        n = stop - start
        self.start, self.stop, self.shapes = start, stop, plan.shapes
        self.outputs = {name: np.full((n, *shape), np.nan) for name, shape in plan.shapes.items()}
        self.status = np.zeros(n, np.uint8)
        self.errors = [""] * n
        self.t = np.zeros(n)
        self.counters = {name: np.zeros(n, np.int64) for name in COUNTERS}
        self.seconds = np.zeros(n)

    def take(self, i: int, plan: Plan, status: str, error: str, run: Motion | Rest | None, seconds: float) -> None:
        """What is kept of a run."""
        problems = []
        if status != "failed" and run is not None:
            for output in plan.outputs:
                try:
                    self._put(i, output.name, output.of(run))
                except Exception as problem:  # a user's function may raise anything
                    problems.append(f"output {output.name!r}: {_told(problem)}")
        if problems:  # the others are there
            status, error = "failed", " ".join(problems)
        self.status[i], self.errors[i], self.seconds[i] = STATUSES.index(status), error, seconds
        if isinstance(run, Rest):
            self.t[i], self.counters["steps"][i] = run.t, run.iterations
        elif run is not None:
            self.t[i] = run.t[-1] if len(run.t) else 0.0
            for name, column in self.counters.items():
                column[i] = getattr(run.stats, name)

    def _put(self, i: int, name: str, value: ArrayLike) -> None:
        if np.shape(value) != self.shapes[name]:
            raise ValueError(
                f"it has the shape {np.shape(value)}, but must have {self.shapes[name]} in all runs. Fields along a "
                "rod change with its mesh; at= reads them at fractions of the length: gd.Final(..., at=[0, 0.5, 1])."
            )
        self.outputs[name][i] = value

    def block(self) -> Block:
        return Block(
            self.start, self.stop, self.outputs, self.status, tuple(self.errors), self.t, self.counters, self.seconds
        )
