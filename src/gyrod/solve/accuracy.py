"""accuracy: a mesh and a tolerance for the errors that are allowed, by running, estimating and refining."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from gyrod import _check, storage
from gyrod.model import System
from gyrod.motion import Motion, Rest, SimulationError
from gyrod.motion.errors import without
from gyrod.motion.readings import quantity
from gyrod.runs.options import Options
from gyrod.solve.refinement import STALLED, halves, pieces, rest_on, with_parts

#: Most cells of all rods together, and runs, before it gives up; the least tolerance of the integrator.
MOST_CELLS, MOST_RUNS, LEAST_RTOL = 400, 12, 1e-11
#: Tolerance of the first run over the accuracy, and its range.
FIRST, FIRST_RANGE = 0.1, (1e-8, 1e-4)
#: Share of what is allowed that the mesh and the tolerance may each take.
SHARE = 0.5
#: Error in time over that by the mesh from which on the tolerance is tightened before the mesh is refined.
NOISE = 0.5
#: Kinds of rows of the table that a number is about; others are for print.
KINDS = ("positions", "end forces", "joint forces")
#: What the search does without, and a last run has.
LATER = ("save", "resume", "view", "progress")


class AccuracyError(RuntimeError):
    """No mesh and tolerance within bounds are exact enough; ``motion`` is the best one, None if there is none."""

    def __init__(self, message: str, motion: Motion | None) -> None:
        super().__init__(message)
        self.motion = motion


@dataclass(frozen=True)
class Goal:
    """What is allowed: a share of sizes and largest values, or errors by quantity in their units."""

    accuracy: float | Mapping[str, float]

    @classmethod
    def read(cls, accuracy: object, system: System) -> Goal:
        """Checked, with all that is wrong in it."""
        if not isinstance(accuracy, Mapping):
            number = _check.positive("accuracy", accuracy)
            if number >= 1.0:
                raise ValueError(f"accuracy = {number:g} is a share of sizes and largest values; it must be below 1.")
            return cls(number)
        if not accuracy:
            raise ValueError(
                "accuracy = {} is empty; give errors by quantity, as {'hose.start_force': 0.1}, or a number."
            )
        for text, allowed in accuracy.items():
            q = quantity(text, system)
            why = without(q, system)
            if why:
                raise ValueError(f"accuracy of {text!r} cannot be given: there is no estimate of it, {why}.")
            _check.positive(f"accuracy[{text!r}]", allowed)
        return cls(dict(accuracy))

    def excess(self, motion: Motion) -> tuple[float, float, float]:
        """Errors over what is allowed, the largest: in all, in time, by the mesh."""
        found = [np.zeros(3)]
        if isinstance(self.accuracy, Mapping):
            for text, allowed in self.accuracy.items():
                e = motion.error[text]
                largest = [0.0 if x is None else np.max(x, initial=0.0) for x in (e.total, e.time, e.mesh)]
                found.append(np.array(largest) / allowed)
        else:
            for row in motion.error.rows:
                if row.name in KINDS and row.value > 0.0:
                    parts = np.array([row.total, row.time or 0.0, row.mesh or 0.0])
                    found.append(parts / (self.accuracy * row.value))
        total, in_time, by_mesh = np.max(found, axis=0).tolist()
        return total, in_time, by_mesh

    @property
    def first(self) -> float:
        """Tolerance of the first run."""
        share = 1e-3 if isinstance(self.accuracy, Mapping) else self.accuracy
        return float(np.clip(FIRST * share, *FIRST_RANGE))


def accurate(run: Callable[..., Motion], system: System | Rest, t_end: float, given: Options) -> Motion:
    """The motion on a mesh and with a tolerance that keep to what is allowed; what was chosen is in its error."""
    if given.get("step") is not None:
        raise ValueError("accuracy chooses the tolerance, which constant steps do not have; leave step out.")
    options = {k: v for k, v in given.items() if k not in ("error", "accuracy", "rtol")}
    later = {name: options.pop(name) for name in LATER if name in options}
    began = time.process_time()
    search = _Search(run, system, t_end, given["accuracy"], options)
    motion = search.found()
    cells = [
        f"{rod.mesh.cells} {'elements' if rod.degree else 'segments'} of {rod.name!r}" for rod in motion.system.rods
    ]
    chosen = ", ".join([*cells, f"rtol = {search.rtol:.1g}"])
    cost = f"{search.runs} {'run' if search.runs == 1 else 'runs'}, {time.process_time() - began:.2g} CPU s"
    beside = replace(motion._beside, chosen=f"chosen for accuracy = {given['accuracy']}: {chosen} ({cost})")
    if any(later.values()):
        motion = run(search.start(), t_end, **options, **later, rtol=search.rtol)
        if later.get("save") is not None:
            storage.keep_beside(later["save"], beside)  # type: ignore[arg-type]
    object.__setattr__(motion, "_beside", beside)
    motion.__dict__.pop("error", None)
    return motion


class _Search:
    """Run after run, each with companions that separate the error in time from that of the mesh."""

    def __init__(
        self,
        run: Callable[..., Motion],
        start: System | Rest,
        t_end: float,
        accuracy: object,
        options: Mapping[str, object],
    ) -> None:
        self.run, self.t_end, self.options = run, t_end, options
        self.rest: Rest | None = start if isinstance(start, Rest) else None
        self.system: System = start.system.original if isinstance(start, Rest) else start
        self.goal = Goal.read(accuracy, self.system)
        self.accuracy = accuracy
        self.rtol, self.runs = self.goal.first, 0
        self.best: tuple[float, Motion] | None = None

    def start(self) -> System | Rest:
        """The system on its mesh, or its rest there."""
        return self.system if self.rest is None else rest_on(self.system, self.rest, {})

    def found(self) -> Motion:
        """Until it is exact enough."""
        before: tuple[float, float, float] | None = None
        while True:
            self.runs += 1
            try:
                motion = self.run(self.start(), self.t_end, **self.options, rtol=self.rtol, error="parts")
            except SimulationError as trouble:
                self._finer(None, 4.0, trouble)
                continue
            if motion.error.failure:
                self._finer(None, 4.0, motion.error.failure)
                continue
            excess = total, in_time, by_mesh = self.goal.excess(motion)
            if self.best is None or total < self.best[0]:
                self.best = total, motion
            if total <= 1.0:
                return motion
            if motion.error.chaos and before is not None and total > STALLED * before[0]:
                self._give_up(motion.error.chaos)
            # Noise of the steps differs from mesh to mesh: what the mesh is worth is seen where it is small.
            if by_mesh > SHARE and not in_time > max(SHARE, NOISE * by_mesh):
                self._finer(motion, by_mesh / SHARE)
            if in_time > SHARE:
                self._tighter(in_time / SHARE)
            before = excess

    def _tighter(self, ratio: float) -> None:
        if self.rtol <= LEAST_RTOL:
            self._give_up(f"rtol = {self.rtol:.0e} is not enough, and less is lost in rounding")
        self.rtol = max(self.rtol * (0.1 if ratio < 30.0 else 0.01), LEAST_RTOL)

    def _finer(self, motion: Motion | None, ratio: float, trouble: object = None) -> None:
        """Elements are divided where more error is expected; grids are halved."""
        if not self.system.rods:
            self._give_up(str(trouble))
        grids = any(rod.degree is None for rod in self.system.rods)
        parts = halves(self.system) if grids or motion is None else pieces(self.system, motion, 1.0 / ratio, np.inf)
        if all(k.max() == 1 for k in parts):
            parts = halves(self.system)
        count = sum(int(k.sum()) for k in parts)
        if count > MOST_CELLS or self.runs >= MOST_RUNS:
            why = f"; the last one: {str(trouble).rstrip('.')}" if trouble else ""
            self._give_up(f"the next mesh would have {count} cells after {self.runs} runs{why}")
        self.system = with_parts(self.system, parts)

    def _give_up(self, why: str) -> NoReturn:
        least = "nothing was found" if self.best is None else f"the least error is {self.best[0]:.2g} times that"
        raise AccuracyError(
            f"accuracy = {self.accuracy} is not reached: {why}; {least}. Ask for less, or for a shorter time.",
            None if self.best is None else self.best[1],
        )
