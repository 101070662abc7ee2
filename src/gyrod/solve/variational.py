"""Constant steps that keep the geometry: the variational integrator of Xu and Zhong 2016, and conserving schemes."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from gyrod import _check
from gyrod._check import Array
from gyrod.equations import Compiled, ForceError
from gyrod.equations.variational import Sigma, Stepped, compile_stepped
from gyrod.model import System
from gyrod.motion import (
    EventRecord,
    Midpoints,
    Motion,
    MotionStats,
    SimulationError,
    SimulationInterrupted,
)
from gyrod.motion.between import hermite
from gyrod.runs.formulations import Formulation
from gyrod.runs.options import Options
from gyrod.solve.budget import memory_limits
from gyrod.solve.outcome import LOOSE, taut
from gyrod.solve.progress import ticking
from gyrod.solve.recording import Recording, Target, raise_interrupted, told
from gyrod.solve.starts import First, begin

if TYPE_CHECKING:
    from gyrod.model import ForceLaw, Joint
    from gyrod.solve.methods import Watched


#: Part of a step by which a time may miss a node.
NODE_SLACK = 1e-6
#: Of the trial of sigma = "best": steps, parts of a step that the motion it is judged by has, and the split beside
#: the mean of the moments, a larger one: with a smaller one there may be no step.
TRIAL_STEPS, TRIAL_PARTS, TRIAL_SPLIT = 100, 8, 1.25
#: Distance, over the size of the system, up to which errors are taken as linear in sigma.
TRIAL_ERROR = 0.2
#: Largest split that it chooses, in means of the moments.
LARGEST_SPLIT = 3.0


def solve(
    system: System, t_end: float, run: Options, events: Callable[[Compiled], Sequence[tuple[str, Watched]]],
    started: float,
    record: Target | None = None,
    first: First | None = None,
) -> Motion:  # fmt: skip
    """Run one of the methods with constant steps; ``events`` gives the events of a compiled system with their names."""
    method = run["method"]
    count, step = steps_of(t_end, _step(run))
    stepped = compiled_for(system, first, run, step, count)
    wanted = _nodes(run["output"], count, step)
    watched = events(stepped.compiled)
    if watched and wanted is not None:
        raise ValueError(
            f"events and limits of joints are looked for at all nodes: leave out output, which keeps {len(wanted)}."
        )
    if record is not None:
        if watched:
            raise ValueError("events and limits of joints need all nodes: leave out save and view.")
        return _recorded(stepped, t_end, step, count, wanted, run, record, started)
    _check_memory(count + 1 if wanted is None else len(wanted), len(stepped.start))
    nodes = [] if wanted is None else wanted.tolist()
    with ticking(run["progress"], t_end) as tick:
        found = cast("Ran", stepped.core.run(stepped.start, count, float(t_end), nodes, tick, stepped.python))
    motion = _motion(stepped, found, method, run["dense"] and wanted is None, started)
    if watched:
        motion, ended = _find_events(motion, watched)
        if ended:
            return motion
    if found["status"] != "finished":
        _raise(stepped, found, motion, step)
    return motion


def _step(run: Options) -> float:
    """Length of the constant steps, which must be given."""
    if run["step"] is None:
        raise ValueError(f"method = {run['method']!r} has constant steps: give step, in seconds.")
    return run["step"]


def compiled_for(
    system: System, first: First | None, run: Options, step: float | None = None, count: int = TRIAL_STEPS
) -> Stepped:
    """A system with the start of its motion, ready for ``count`` or more constant steps of a run."""

    def compiled(sigma: Sigma, parts: int = 1) -> Stepped:
        return compile_stepped(
            system, (step or _step(run)) / parts, coordinates=run["coordinates"], sigma=sigma,
            potential=run["potential"] or "midpoint", order=_order(system, run["order"]),
            conserving=run["method"] == "energy-momentum", reduce=Formulation.of(run["formulation"]).reduce,
            rested=first is not None, begin=lambda system, form, **options: begin(system, first, form, **options),
        )  # fmt: skip

    sigma = "mean" if run["sigma"] is None else run["sigma"]
    if not isinstance(sigma, str) or sigma != "best":
        return compiled(sigma)
    return _best_split(compiled, step or _step(run), min(count, TRIAL_STEPS))


def _best_split(compiled: Callable[..., Stepped], step: float, count: int) -> Stepped:
    """The system with that common factor of all sigmas whose trial run is nearest to one with finer steps.

    Kinetic energies at midpoints are wrong by h² (a + b sigma), (60) to (62): so are places of a trial run as long as
    the error is small, and two runs determine a and b at all nodes. A factor that is no better than 1 is not taken.
    """
    mean = compiled("mean")
    if not mean.sigma.any():
        return mean
    bodies = mean.compiled.system.bodies
    spread = np.array([0.5 * np.trace(b.inertia) * np.eye(3) - b.inertia for b in bodies])
    size = np.trace(spread, axis1=1, axis2=2)
    spread /= np.where(size > 0.0, size, np.inf)[:, None, None]

    def places(stepped: Stepped, parts: int = 1) -> Array | None:
        """Where the mass of each body is: its centre and its second moments, which no turn of a round one moves."""
        nodes = [parts * k for k in range(1, count + 1)]
        found = stepped.core.run(stepped.start, parts * count, count * step, nodes, None, stepped.python)
        if found["status"] != "finished":
            return None
        x, R, *_ = stepped.compiled.motions(stepped.states(found["t"], found["rows"]))
        moments = R @ spread @ np.swapaxes(R, -1, -2)
        return np.concatenate([x.reshape(count, -1) / stepped.compiled._length(), moments.reshape(count, -1)], axis=1)

    def scaled(factor: float) -> Stepped:
        return compiled((factor * mean.sigma).tolist())

    exact, plain, other = places(compiled("mean", TRIAL_PARTS), TRIAL_PARTS), places(mean), places(scaled(TRIAL_SPLIT))
    if exact is None or plain is None or other is None:
        return mean
    error, by_factor = plain - exact, (other - plain) / (TRIAL_SPLIT - 1.0)
    far = np.flatnonzero(np.linalg.norm(error, axis=1) > TRIAL_ERROR)
    near = slice(0, max(int(far[0]), 4) if len(far) else count)
    slope = float(np.vdot(by_factor[near], by_factor[near]))
    if slope <= (1e-12 * count) ** 2:
        return mean
    best = scaled(min(max(1.0 - float(np.vdot(error[near], by_factor[near])) / slope, 0.0), LARGEST_SPLIT))
    judged = places(best)
    if judged is None or not np.linalg.norm((judged - exact)[near]) < np.linalg.norm(error[near]):
        return mean
    return best


def _recorded(
    stepped: Stepped, t_end: float, step: float, count: int, wanted: NDArray[np.int64] | None, run: Options,
    record: Target, started: float,
) -> Motion:  # fmt: skip
    """A run into a file."""
    method, rows = run["method"], count + 1 if wanted is None else len(wanted)
    info = {
        "method": method, "step": step, "t_end": t_end, "coordinates": run["coordinates"], "sigma": repr(run["sigma"]),
        "potential": run["potential"], "order": run["order"],
        "output": None if wanted is None else told(wanted.astype(float)),
    }  # fmt: skip
    nodes = [] if wanted is None else wanted.tolist()
    with ticking(run["progress"], t_end) as tick, record.showing(stepped.compiled, t_end) as live:
        recording = Recording(record.file, stepped.compiled, t_end, method, info, rows, True, (), tick, live, started)
        motion, block = recording.run(lambda: Steps(stepped, count, float(t_end), nodes), resume=record.resume)
    if block is not None and block.status not in ("finished", "event"):
        _raise(stepped, block.run, motion, step)
    return motion


def _order(system: object, order: int | None) -> int:
    """2, or 4, whose step back gains energy where the others lose it."""
    if order is None or order == 2:
        return 2
    if order != 4 or isinstance(order, bool):
        raise ValueError(f"order = {order!r} must be 2 or 4.")
    if isinstance(system, System):
        found = [f"rod {rod.name!r}" for rod in system.rods if rod.damping is not None]
        parts: list[Joint | ForceLaw] = [*system.joints, *system.forces]
        for part in parts:
            rates = [getattr(part, name, None) for name in ("damping", "friction")]
            if getattr(part, "only_damps", False) or any(r is not None and np.any(r) for r in rates):
                found.append(part.label)
        if found:
            raise ValueError(
                f"order = 4 goes a part of each step backwards, where damping feeds energy in ({', '.join(found)}); "
                "use order = 2."
            )
    return 4


class Ran(TypedDict):
    """What the core returns of constant steps."""

    status: str
    t: Array
    rows: Array
    newton: Array
    middle_t: Array
    middle: Array
    t_stop: float
    trouble: str
    history: Array


#: Steps of a run without an end: a power of two, so that nodes are at multiples of the step to the last bit.
ENDLESS = 2**40


class Driven:
    """Constant steps for a `Stepper`: goes on to the times that it is given, which must be nodes."""

    def __init__(self, stepped: Stepped, method: str, step: float, watched: Sequence[tuple[str, Watched]]) -> None:
        self.stepped, self.method, self.step, self.watched = stepped, method, step, watched
        self.reset()

    def reset(self) -> None:
        """Back to the start."""
        self.done = self.newton = 0
        self.y = np.array(self.stepped.compiled.y0)

    def go_on(self, t_end: float) -> Any:
        """As far as a time; a run that fails leaves everything as it was."""
        last = round(t_end / self.step)
        if abs(t_end / self.step - last) > NODE_SLACK + 1e-12 * last:
            raise ValueError(
                f"t = {t_end:.10g} is not a multiple of step = {self.step:.10g}, the constant step of method = "
                f"{self.method!r}; give sim.step multiples of it."
            )
        before = self.save() if self.done else b""
        run = self.stepped.core.run(
            self.stepped.start, ENDLESS, self.step * ENDLESS, [], None, self.stepped.python, self.done, last
        )
        t, y = run["t"], self.stepped.states(run["t"], run["rows"])
        ran = {"status": run["status"], "crossings": (), "t": t, "y": y, "run": run, "knots_t": t[:0]}
        if self.watched and run["status"] == "finished":
            ran |= self._watch(t, y)
        if ran["status"] == "finished":
            self.done, self.y = last, y[-1]
            self.newton += int(run["newton"].sum())
        elif before:
            self.load(before)
        stats = {"steps": self.done, "rejected": 0, "newton": self.newton}
        return SimpleNamespace(**{"t_stop": t_end, "y_stop": self.y} | ran, h_stop=self.step, stats=stats)

    def _watch(self, t: Array, y: Array) -> dict[str, object]:
        """Limits that are passed on the way; one that ends the step."""
        compiled = self.stepped.compiled
        if self.done:
            t, y = np.append(self.done * self.step, t), np.concatenate([self.y[None], y])
        stats = MotionStats(self.method, compiled.formulation)
        motion = Motion(t, y, stats, steps=t, _compiled=compiled, _dense=partial(hermite, compiled, t, y))
        motion, ended = _find_events(motion, self.watched)
        crossings = tuple((event.event, event.t, event.state.y) for event in motion.events)
        if not ended:
            return {"crossings": crossings}
        return {"crossings": crossings, "status": "event", "t_stop": crossings[-1][1], "y_stop": crossings[-1][2]}

    def fail(self, run: Any) -> NoReturn:
        """Raise why a run could not be finished."""
        motion = _motion(self.stepped, run.run, self.method, False, time.process_time())
        _raise(self.stepped, run.run, motion, self.step)

    def save(self) -> bytes:
        """All that the rest depends on."""
        return struct.pack("<qq", self.done, self.newton) + bytes(self.stepped.core.save())

    def load(self, state: bytes, y: Array | None = None) -> None:
        """Go back to there."""
        self.done, self.newton = struct.unpack_from("<qq", state)
        self.stepped.core.load(state[16:])
        self.y = self.y if y is None else np.array(y)


class Steps:
    """A run with constant steps as a source of blocks."""

    def __init__(self, stepped: Stepped, count: int, t_end: float, wanted: list[int]) -> None:
        self.stepped, self.count, self.t_end, self.wanted = stepped, count, t_end, wanted
        self.done = self.newton = 0
        self.width = 200 * len(stepped.start)

    def advance(self, steps: int) -> Any:
        """The next block."""
        first, last = self.done, min(self.done + steps, self.count)
        run = self.stepped.core.run(
            self.stepped.start, self.count, self.t_end, self.wanted, None, self.stepped.python, first, last
        )
        self.done += len(run["newton"])
        self.newton += int(run["newton"].sum())
        h = self.t_end / self.count
        ends = np.arange(first, self.done + 1) * h
        if self.done == self.count:
            ends[-1] = self.t_end
        status = "paused" if run["status"] == "finished" and self.done < self.count else run["status"]
        y = self.stepped.states(run["t"], run["rows"])
        return SimpleNamespace(
            t=run["t"], y=y, step_ends=ends, status=status, stats={"steps": self.done, "newton": self.newton},
            crossings=(), t_stop=run["t_stop"], h_stop=h, y_stop=y[-1] if len(y) else self.stepped.compiled.y0,
            newton=run["newton"].astype(np.int32), midpoints=(run["middle_t"], run["middle"]), run=run,
        )  # fmt: skip

    def save(self) -> bytes:
        """All that the rest depends on."""
        return struct.pack("<qq", self.done, self.newton) + bytes(self.stepped.core.save())

    def load(self, state: bytes) -> None:
        """Go back to there."""
        self.done, self.newton = struct.unpack_from("<qq", state)
        self.stepped.core.load(state[16:])


def _check_memory(rows: int, bodies: int) -> None:
    """Constant steps are counted before the run, and so are its rows."""
    if rows * bodies * 13 * 8 > memory_limits()["row_bytes"]:
        raise ValueError(
            f"{rows} rows of {bodies} {'body' if bodies == 1 else 'bodies'} would fill the memory; output=n keeps each "
            "n-th, save= writes them into a file while it runs, and a larger step makes fewer."
        )


def steps_of(t_end: float, step: float) -> tuple[int, float]:
    """Number of steps; the last one must end at t_end."""
    ratio = t_end / step
    if ratio > 1e10:
        raise ValueError(f"t_end = {t_end:g} takes {ratio:.3g} steps of {step:g}; at most 1e10 are allowed.")
    count = round(ratio)
    if count < 1 or abs(ratio - count) > NODE_SLACK + 1e-12 * ratio:
        less, more = int(np.floor(ratio)), int(np.floor(ratio)) + 1
        ends = f"t_end = {less * step:.10g} or {more * step:.10g}" if less else f"t_end = {step:.10g}"
        raise ValueError(
            f"t_end = {t_end:.10g} is not a multiple of step = {step:.10g} ({ratio:.6g} steps); give {ends}, or "
            f"step = t_end/{more} = {t_end / more:.10g}."
        )
    return count, t_end / count


def _nodes(output: object, count: int, step: float) -> NDArray[np.int64] | None:
    """Numbers of the nodes that are wanted: all, every so many steps (an integer), or those at given times."""
    if output is None:
        return None
    if isinstance(output, (int, np.integer)) and not isinstance(output, bool):
        if output < 1:
            raise ValueError(f"output = {output} must be times or a positive number of steps.")
        nodes = np.arange(0, count + 1, int(output), dtype=np.int64)
        return nodes if nodes[-1] == count else np.append(nodes, count)
    times = _check.times("output", output)
    nodes = np.round(times / step).astype(np.int64)
    off = np.flatnonzero((np.abs(times / step - nodes) > NODE_SLACK + 1e-12 * nodes) | (nodes < 0) | (nodes > count))
    if len(off):
        i = int(off[0])
        near = min(max(int(nodes[i]), 0), count) * step
        raise ValueError(
            f"output[{i}] = {times[i]:.10g} is not a node of the run (multiples of step = {step:.10g} up to "
            f"{count * step:.10g}); the nearest is {near:.10g}. Leave output out and call the motion for times between."
        )
    return nodes


def _motion(stepped: Stepped, run: Ran, method: str, dense: bool, started: float) -> Motion:
    compiled = stepped.compiled
    newton = run["newton"].astype(np.int32)
    t, y = run["t"], stepped.states(run["t"], run["rows"])
    stats = MotionStats(
        method, compiled.formulation, steps=len(newton), newton=int(newton.sum()),
        seconds=time.process_time() - started,
    )  # fmt: skip
    ends = t if dense else np.linspace(0.0, run["t_stop"], len(newton) + 1)
    return Motion(
        t=t,
        y=y,
        stats=stats,
        status="finished" if run["status"] == "finished" else run["status"],
        steps=ends,
        midpoints=Midpoints(run["middle_t"], run["middle"]),
        newton=newton,
        _compiled=compiled,
        _dense=partial(hermite, compiled, t, y) if dense and len(t) > 1 else None,
    )


def _raise(stepped: Stepped, run: Ran, motion: Motion, step: float) -> NoReturn:
    t, method = float(run["t_stop"]), motion.stats.method
    where = f"t = {t:.10g}"
    if run["status"] == "interrupted":
        raise_interrupted(stepped.core.raise_failure, where, motion)
    cause: BaseException | None = None
    residuals = run["history"].tolist()
    here = f"in the step of {step:.6g} s from {where}"
    split = " or sigma = 'mean'" if method == "variational" else ""
    split += _too_stiff(stepped, step)
    if run["status"] == "newton" and (straight := taut(motion.compiled, float(motion.t[-1]), motion.y[-1])):
        message = f"{method}: Newton's method does not converge {here}, since {straight}. {LOOSE}."
    elif run["status"] == "newton":
        message = (
            f"{method}: Newton's method does not converge {here}; its residuals were {_shown(residuals)} (angles, and "
            f"lengths over the size of the system). Try a smaller step{split}; .motion holds the motion up to there."
        )
    elif run["status"] == "folded":
        message = (
            f"{method}: the momentum {here} is more than a step of this length can have, and Newton's method finds "
            f"another solution (residuals {_shown(residuals)}). Try a smaller step{split}; .motion holds the motion up "
            "to there."
        )
    elif run["status"] == "lost":
        message = f"{method}: {run['trouble']} ({here}). .motion holds the motion up to there."
    elif run["status"] == "turned":
        message = (
            f"{method}: a body or a frame of a rod turns by more than half a turn {here}, which cannot be "
            "distinguished from a turn the other way; take a smaller step. .motion holds the motion up to there."
        )
    else:
        try:
            stepped.core.raise_failure()
        except KeyboardInterrupt:
            raise SimulationInterrupted(f"interrupted at {where}; .motion holds what was computed", motion) from None
        except ForceError as error:
            message, cause = str(error), error.__cause__ or error
        except Exception as error:
            message, cause = f"{type(error).__name__} at {where}: {error}", error
        else:
            message = f"the run failed at {where}."
    state = motion.y[-1] if len(motion.y) else stepped.compiled.y0
    raise SimulationError(message, t, state, motion, residuals) from cause


def _too_stiff(stepped: Stepped, step: float) -> str:
    """What a step exceeds where rods vibrate, as the rest of a sentence."""
    fastest = stepped.compiled.rod_spectrum()[0]
    turns = step * fastest / (2.0 * np.pi)
    if stepped.nodes and step * fastest > 2.0:
        return f" (potential = 'nodes' needs steps below 2/{fastest:.3g} = {2.0 / fastest:.3g} s here)"
    if turns > 1.0:
        return (
            f" (the stiffest vibration of the rods makes {turns:.2g} turns in a step; damping, or strain = "
            "'inextensible', takes it out)"
        )
    return ""


def _shown(residuals: list[float]) -> str:
    parts = [f"{r:.2g}" for r in residuals]
    return ", ".join(parts if len(parts) <= 10 else [*parts[:8], "...", parts[-1]]) or "none"


def _find_events(motion: Motion, watched: Sequence[tuple[str, Watched]]) -> tuple[Motion, bool]:
    """Zeros of the events between nodes, located on the projected dense output; the first terminal one ends it."""
    from dataclasses import replace

    from scipy.optimize import brentq

    compiled = motion.compiled
    found: list[tuple[float, int, bool]] = []
    for number, (_, (g, terminal, direction, _)) in enumerate(watched):
        values = np.array([g(float(t), y) for t, y in zip(motion.t, motion.y, strict=True)])
        rising = (values[:-1] < 0.0) & (values[1:] >= 0.0)
        falling = (values[:-1] > 0.0) & (values[1:] <= 0.0)
        crossed = rising if direction > 0 else falling if direction < 0 else rising | falling

        def at(t: float, g: Callable[[float, Array], float] = g) -> float:
            return float(g(t, motion(t).y))

        for k in np.flatnonzero(crossed):
            a, b = float(motion.t[k]), float(motion.t[k + 1])
            t = b if values[k + 1] == 0.0 else float(brentq(at, a, b, xtol=1e-13 * max(1.0, b), rtol=1e-14))
            found.append((t, number, terminal))
            if terminal:
                break
    found.sort()
    last = next((i for i, (_, _, terminal) in enumerate(found) if terminal), None)
    found = found if last is None else found[: last + 1]
    records = tuple(
        EventRecord(number, t, Motion(np.asarray(t), motion(t).y, motion.stats, _compiled=compiled), watched[number][0])
        for t, number, _ in found
    )
    if last is None:
        return replace(motion, events=records), False
    t = found[last][0]
    kept = int(np.searchsorted(motion.t, t, side="left"))
    times, rows = np.append(motion.t[:kept], t), np.concatenate([motion.y[:kept], records[-1].state.y[None]])
    middle = motion.midpoints
    return replace(
        motion, t=times, y=rows, status="event", steps=times, events=records, newton=motion.newton[:kept],
        midpoints=Midpoints(middle.t[: kept - 1], middle.energy[: kept - 1]),
        stats=replace(motion.stats, steps=kept, newton=int(motion.newton[:kept].sum())),
        _dense=partial(hermite, compiled, times, rows),
    ), True  # fmt: skip
