"""The runs of a comparison: a reference, then one trial after the other under a limit of time."""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gyrod import rotations
from gyrod._check import Array
from gyrod.comparison.discretizations import Discretization, coarser, finer
from gyrod.comparison.results import Reference, Trial
from gyrod.equations import compile_system
from gyrod.model import ModelError, System
from gyrod.motion import Motion, Rest, SimulationError, SimulationInterrupted
from gyrod.runs.formulations import Formulation
from gyrod.runs.methods import ALL_METHODS, CONSTANT, METHODS, automatic
from gyrod.runs.options import folded
from gyrod.solve import EquilibriumError, equilibrium, simulate

if TYPE_CHECKING:
    from gyrod._check import Data
    from gyrod.solve.progress import Progress

#: Methods whose steps stability limits where a system is stiff.
EXPLICIT = tuple(name for name, m in ALL_METHODS.items() if not m.stiff and name not in CONSTANT)
#: Runs shorter than this (CPU s) are measured three times, and the best counts.
SHORT = 0.05
#: Options of `simulate` that the reference shares; the others are on trial.
SHARED = ("norm", "max_step", "reduce")
#: Fractions of the length at which rods are compared: they need not have the same vertices.
STATIONS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Part of the total energy below which a kinetic one is rounding.
STILL = 1e-12
#: How often the elements of a reference are doubled where they cannot represent how a rod lies.
DOUBLED = 5


class _TimeUp(KeyboardInterrupt):
    """Raised inside a run when its time is over; a `KeyboardInterrupt` ends a run and keeps its motion."""


class _Watch:
    """Called during a run: ends it at a limit of CPU seconds, or before if there is no hope.

    By its speed over the second half of its time so far: an explicit method, whose steps soon are what they stay, after
    a tenth of the limit if it would take twice the limit; another, which may begin with small steps, after half of it
    if it would take five times the limit.
    """

    def __init__(self, limit: float, t_end: float, method: str) -> None:
        self.limit, self.t_end = limit, t_end
        self.patience, self.hopeless = (0.1, 2.0) if method in EXPLICIT else (0.5, 5.0)
        self.t, self.up, self.started = 0.0, False, time.process_time()
        self.past: list[tuple[float, float]] = []  # CPU time and simulated time

    def __call__(self, t: Progress | float, *_: object) -> None:
        self.t = max(self.t, float(t) if isinstance(t, (int, float)) else t.t)
        spent = self.spent
        self.past.append((spent, self.t))
        late = spent > self.patience * self.limit and (self.whole or 0.0) > self.hopeless * self.limit
        if spent > self.limit or late:
            self.up = True
            raise _TimeUp

    @property
    def spent(self) -> float:
        return time.process_time() - self.started

    @property
    def whole(self) -> float | None:
        """CPU seconds that the whole run would take; None if nothing is known yet."""
        if not self.past:
            return None
        spent, t = self.past[-1]
        before = self.past[max(bisect_right(self.past, (0.5 * spent, math.inf)) - 1, 0)]
        if t <= before[1]:
            return None
        return spent + (self.t_end - t) * (spent - before[0]) / (t - before[1])


@dataclass
class States:
    """What is compared of a motion at the common times."""

    positions: Array  # (n, k, 3)
    quaternions: Array  # (n, m, 4)
    energy: Array
    kinetic: Array
    #: Largest total energy, J: where nothing moves, kinetic energies are its rounding.
    size: float


def states(motion: Motion) -> States:
    """Of a motion at the common times."""
    system = motion.compiled.system
    n = len(motion.t)
    places, turns = [np.zeros((n, 0, 3))], [np.zeros((n, 0, 4))]
    for body in system.bodies:
        places.append(motion[body.name].position[:, None])
        if np.any(body.inertia) and body.name not in system.point_bodies:  # the rotation of a point means nothing
            turns.append(motion[body.name].quaternion[:, None])
    rows = motion.sensors.rows
    for name in system.rod_names:
        places.append(np.stack([rows.point(name, s, moved=1)[0] for s in STATIONS], axis=1))
        turns.append(np.stack([rows.section(name, s) for s in STATIONS], axis=1))
    energy = motion.energy
    # Discretisations begin with other energies, which have no zero; what they gain or lose is the same.
    gained = energy.total - energy.total[:1]
    return States(
        np.concatenate(places, 1), np.concatenate(turns, 1), gained, energy.kinetic, float(np.abs(energy.total).max())
    )


class Runner:
    """Runs one trial after the other against one reference."""

    def __init__(
        self, system: System, t_end: float, times: Array, limit: float, options: Data,
        progress: Callable[[str], None], start: str = "model", forms: Mapping[str, Formulation] | None = None,
    ) -> None:  # fmt: skip
        self.start, self.forms = start, forms or {}
        self.system, self.t_end, self.times, self.limit, self.options = system, t_end, times, limit, options
        self.progress = progress
        self.reference: Reference | None = None
        self.exact: States | None = None
        compiled = compile_system(system)
        self.length, self.scale = compiled._length(), compiled._time(compiled._length())
        self.kinetic = 1.0
        self._warm: set[str] = set()

    # --- the reference ---

    def refer(
        self, given: Motion | None, finest: float, spaces: Sequence[Discretization] = (),
        fine: Discretization | None = None,
    ) -> None:  # fmt: skip
        """Take the reference that was given, or find one; of discretisations a finer one, checked by a coarser one."""
        if given is not None:
            self.take(given)
            self.reference = Reference(given.stats.formulation, given.stats.method, None, given.stats.seconds, None)
            return
        fine = fine or (self.fine(spaces) if spaces else Discretization())
        system, label = fine.of(self.system), fine.label if fine.number else ""
        coarse, checking = self.coarse(fine)
        # Errors in space hide the last digits of those in time.
        factors = (1e-3, 1e-1) if fine.number else (1e-5, 1e-3, 1e-1)
        tight = list(dict.fromkeys(max(factor * finest, 1e-12) for factor in factors))
        for rtol in tight:
            motion = self._tight(system, "auto", rtol)
            explicit = motion is None or METHODS[motion.stats.method].stiff
            other = automatic(stiff=not explicit, tight=True)
            if motion is None and (motion := self._tight(system, other, rtol)) is None:
                continue
            self.take(motion)
            stats = motion.stats
            self.reference = Reference(stats.formulation, stats.method, rtol, stats.seconds, discretization=label)
            # Another method, or the same with a looser tolerance: the difference bounds what the reference can resolve.
            for method, looser in ((other, 10.0 * rtol), (stats.method, 30.0 * rtol)):
                brief = self.system.rods and method != stats.method  # explicit methods seldom suit rods
                check = self._tight(checking, method, looser, 1.0 if brief else 3.0)
                if check is not None:
                    apart = max(self.errors(check, states(check))[:2])
                    told = f"{coarse.label}, " if coarse.number else ""
                    told += f"{method}, rtol = {looser:.0e}"
                    self.reference = replace(self.reference, error=apart, check=told)
                    break
            return

    def fine(self, spaces: Sequence[Discretization]) -> Discretization:
        """Elements that are exact against these; more of them where a rod turns too far in one."""
        one = finer(spaces, self.system)
        for _ in range(DOUBLED):
            try:
                one.of(self.system)
                break
            except ModelError:
                one = Discretization(2 * (one.number or 1), one.degree)
        return one

    def coarse(self, fine: Discretization) -> tuple[Discretization, System]:
        """What the reference is checked by: fewer elements, or as many where fewer cannot represent the rods."""
        one = coarser(fine)
        try:
            return one, one.of(self.system)
        except ModelError:
            return fine, fine.of(self.system)

    def _tight(self, system: System, method: str, rtol: float, factor: float = 3.0) -> Motion | None:
        """A run of the reference's sort, None if it takes ``factor`` times the limit or fails."""
        self.progress(f"reference: {method}, rtol = {rtol:.0e}")
        watch = _Watch(factor * self.limit, self.t_end, method)
        how = folded({name: value for name, value in self.options.items() if name in SHARED})
        try:
            return simulate(
                self._begin(system), self.t_end, method=method, rtol=rtol, **how, output=self.times, dense=False,
                progress=watch,
            )  # fmt: skip
        except (SimulationInterrupted, _TimeUp):
            if not watch.up:
                raise
        except (SimulationError, EquilibriumError):
            pass
        return None

    def _begin(self, system: System) -> System | Rest:
        """Where a run starts: as the model says, or at its equilibrium."""
        return equilibrium(system) if self.start == "rest" else system

    def take(self, motion: Motion) -> None:
        """Measure against this motion."""
        known = len(motion.t) and bool(np.allclose(motion.t[: len(self.times)], self.times[: len(motion.t)], rtol=1e-9))
        if not known:
            motion = motion(self.times[self.times <= motion.t[-1]])
        self.exact = states(motion)
        self.kinetic = float(self.exact.kinetic.max()) or float(np.ptp(self.exact.energy)) or 1.0
        self.kinetic = max(self.kinetic, STILL * self.exact.size)

    def errors(self, motion: Motion, states: States) -> tuple[float, float, float]:
        """Errors of positions over the length, of rotations, of energy over the kinetic one."""
        exact = self.exact
        assert exact is not None
        n = min(len(exact.energy), self._common(motion))
        x = np.linalg.norm(states.positions[:n] - exact.positions[:n], axis=-1).max(initial=0.0) / self.length
        turn = rotations.distance(states.quaternions[:n], exact.quaternions[:n])
        energy = np.abs(states.energy[:n] - exact.energy[:n]).max(initial=0.0) / self.kinetic
        return float(x), float(np.max(turn, initial=0.0)), float(energy)

    def _common(self, motion: Motion) -> int:
        """How many rows of a motion are at the common times; an event adds one of its own at the end."""
        n = min(len(motion.t), len(self.times))
        same = np.abs(motion.t[:n] - self.times[:n]) <= 1e-9 * self.t_end
        return n if same.all() else int(np.argmin(same))

    # --- the trials ---

    def steps(self, tolerances: Sequence[float], given: Sequence[float] | None) -> list[float]:
        """Constant steps: those given, or some that are parts of the time between two points; methods of order two."""
        if given:
            return list(dict.fromkeys(self.t_end / round(self.t_end / h) for h in given))
        spins = max((float(np.linalg.norm(b.angular_velocity)) for b in self.system.bodies), default=0.0)
        fast = min(self.scale, 1.0 / spins) if spins else self.scale
        between = self.t_end / (len(self.times) - 1)
        wanted = [min(math.sqrt(r), 0.3) * fast for r in tolerances]
        return list(dict.fromkeys(between / math.ceil(between / h * (1.0 - 1e-9)) for h in wanted))

    def pair(
        self, formulation: str, method: str, stages: Sequence[float], where: str, space: Discretization | None = None
    ) -> list[Trial]:
        """The trials of a formulation and a method over its tolerances or steps, coarse ones first."""
        found: list[Trial] = []
        first = Trial(formulation, method, discretization="" if space is None else space.label)
        try:
            system = self.system if space is None else space.of(self.system)
        except ModelError as error:
            return [replace(first, status="refused", note=str(error))]
        for value in stages:
            trial = first
            trial = replace(trial, step=value) if method in CONSTANT else replace(trial, rtol=value)
            if found and found[-1].status in ("limit", "left out"):
                note = "a coarser run has reached the limit already."
                found.append(replace(trial, status="left out", note=note))
                continue
            self.progress(f"{where}: {trial.label}")
            found.append(self.run(trial, system))
            if found[-1].status == "refused":  # the tolerance does not matter
                return [replace(found[-1], rtol=None, step=None)]
        return found

    def run(self, trial: Trial, system: System) -> Trial:
        """One run, three times if it is short, and what is reported about it."""
        own: Data = {"step": trial.step, "coordinates": trial.formulation}
        if trial.step is None:
            own = {"formulation": self.forms[trial.formulation], "rtol": trial.rtol}
        how = folded(self.options | own)
        watch = _Watch(self.limit, self.t_end, trial.method)

        def once() -> Motion:
            return simulate(
                start, self.t_end, method=trial.method, **how, output=self.times, dense=False, progress=watch
            )

        try:
            start = self._begin(system)
            motion = once()
            seconds = motion.stats.seconds
            # What is loaded at the first run of a method is not its cost.
            again = 2 if seconds < SHORT else 1 if trial.method not in self._warm and seconds < 0.3 * self.limit else 0
            seconds = min([seconds, *(once().stats.seconds for _ in range(again))])
            self._warm.add(trial.method)
        except (SimulationInterrupted, _TimeUp):
            if not watch.up:
                raise
            return self._stopped(trial, watch)
        except SimulationError as error:
            cost = error.motion.stats
            return replace(
                trial, status="failed", note=str(error), t=error.time, seconds=cost.seconds, steps=cost.steps,
                rejected=cost.rejected, rhs=cost.rhs, jacobians=cost.jacobians,
            )  # fmt: skip
        except EquilibriumError as error:
            return replace(trial, status="failed", note=str(error))
        except (ValueError, ImportError) as error:
            return replace(trial, status="refused", note=str(error))
        return self._told(trial, motion, seconds)

    def _stopped(self, trial: Trial, watch: _Watch) -> Trial:
        whole = watch.whole
        note = f"stopped after {watch.spent:.3g} s of CPU time at t = {watch.t:.3g} of {self.t_end:g} s"
        note += "." if whole is None else f"; the whole run would take about {whole:.2g} s."
        return replace(trial, status="limit", note=note, seconds=whole, t=watch.t)

    def _told(self, trial: Trial, motion: Motion, seconds: float) -> Trial:
        stats, drift = motion.stats, motion.drift
        position, rotation, energy = (None, None, None) if self.exact is None else self.errors(motion, states(motion))
        note, method = "", stats.method if trial.method == "auto" else trial.method
        if motion.status == "event":
            what = motion.events[-1].name if motion.events else "an event"
            note = f"ended at t = {motion.t[-1]:.6g} by {what}."
        found = replace(
            trial, method=method, unknowns=motion.compiled.size, seconds=seconds, steps=stats.steps, note=note,
            rejected=stats.rejected, rhs=stats.rhs, jacobians=stats.jacobians, position=position, rotation=rotation,
            energy=energy, drift=float(np.max(drift.position)), drift_velocity=float(np.max(drift.velocity)),
            t=float(motion.t[-1]),
        )  # fmt: skip
        # Constant steps iterate by Newton's method; they do not count like the others.
        return found if trial.step is None else replace(found, rejected=None, rhs=None, jacobians=None)
