"""Runs that are written as they proceed: block by block, a checkpoint after each, to continue bit for bit."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from gyrod import _check, _core, storage
from gyrod._check import Array
from gyrod._version import __version__
from gyrod.equations import Compiled
from gyrod.model.conservation import conservative, flowing
from gyrod.motion import EventRecord, Motion, MotionStats, SimulationInterrupted
from gyrod.motion.energy import exchanged
from gyrod.solve.budget import Forecast
from gyrod.solve.progress import Tick

if TYPE_CHECKING:
    from gyrod._check import Keywords
    from gyrod.look.viewer import LiveView
    from gyrod.motion.energy import Energy
    from gyrod.storage.locks import Lock

#: Wall-clock seconds of a block, and how many bytes of dense output it may hold.
AIM, MOST = 0.5, 1 << 25
#: Steps of the first block.
FIRST = 64


class Block(Protocol):
    """What a source has computed since it was asked last; a core's Run is one."""

    t: Array
    y: Array
    step_ends: Array
    status: str
    stats: dict[str, int]
    crossings: Sequence[tuple[int, float, Array]]
    t_stop: float
    h_stop: float
    y_stop: Array


class Source(Protocol):
    """A run that can pause: ``advance`` by at most so many steps; ``save`` and ``load`` what the rest depends on."""

    #: Bytes that a step may take until its block is written, about.
    width: int

    def advance(self, steps: int) -> _core.Run:
        """The next block; its status is "paused" unless it is the last."""

    def save(self) -> bytes:
        """Everything that the rest of the run depends on."""

    def load(self, state: bytes) -> None:
        """Go back to where ``save`` was called."""


@dataclass
class Session:
    """A run of one of the core's own methods."""

    core: _core.Session
    width: int

    def advance(self, steps: int) -> _core.Run:
        """The next block."""
        return self.core.advance(steps, np.inf)

    def save(self) -> bytes:
        """All that the rest depends on."""
        return bytes(self.core.save())

    def load(self, state: bytes) -> None:
        """Go back to there."""
        self.core.load(state)


@dataclass
class _Flows:
    """Energy that left and came by damping, loads and ends of rods since the start, carried over the blocks."""

    #: Whether there are any.
    flowing: bool
    #: Sums to go on from, and the balance at the end of the last block.
    before: Array | None = None
    balance: float = 0.0
    first: float | None = None

    def of(self, compiled: Compiled, run: _core.Run, projected: bool) -> tuple[Array, Array, Array] | None:
        """Dissipated energy, work and balance at the rows of a block."""
        if not compiled.rods or not hasattr(run, "evaluate") or len(run.step_ends) < 2:
            return None
        if not self.flowing:  # all there is to integrate is zero
            return self._kept(compiled, run)
        times, rows = run.t, run.y
        if not len(times) or times[-1] != run.t_stop:  # the end is needed to go on from
            times, rows = np.append(times, run.t_stop), np.concatenate([rows, run.y_stop[None]])
        stats = MotionStats("", compiled.formulation)
        block = Motion(times, rows, stats, steps=run.step_ends, _compiled=compiled, _dense=run.evaluate)
        block = block if projected else Motion(**{**block.__dict__, "_projected": False})
        (dissipated, work, balance), self.before = exchanged(block, self.before)
        self.balance, kept = float(balance[-1]), slice(len(run.t))
        return dissipated[kept], work[kept], balance[kept]

    def _kept(self, compiled: Compiled, run: _core.Run) -> tuple[Array, Array, Array]:
        if self.first is None:
            self.first = float(compiled.rod_measures(np.zeros(1), compiled.y0)[0, :6].sum())
        times, rows = np.append(run.t, run.t_stop), np.concatenate([run.y, run.y_stop[None]])
        balance = compiled.rod_measures(times, rows)[:, :6].sum(axis=1) - self.first
        self.balance = float(balance[-1])
        return np.zeros(len(run.t)), np.zeros(len(run.t)), balance[:-1]


@dataclass
class _SoFar:
    """What is carried over the blocks, and over interruptions: flows of energy, events, CPU seconds of earlier runs."""

    flows: _Flows
    events: list[tuple[int, float, Array]] = field(default_factory=list)
    seconds: float = 0.0

    def spent(self, started: float) -> float:
        """CPU seconds of all runs, this one since ``started``."""
        return self.seconds + time.process_time() - started


@dataclass
class Recording:
    """A run into a file: what it needs besides its source."""

    file: Path
    compiled: Compiled
    t_end: float
    method: str
    #: Plain values that say how the run is made; they must be the same where it goes on.
    info: Keywords
    #: Number of rows, where it is known.
    rows: int | None
    projected: bool
    #: Names of the events.
    names: Sequence[str]
    tick: Tick | None
    #: A live viewer.
    live: LiveView | None
    started: float
    #: Whether accepted states are kept beside the rows, which are none.
    knots: bool = False

    def run(self, source: Callable[[], Source], *, resume: bool) -> tuple[Motion, Any]:
        """Run to the end or to a reason to stop; the motion in the file, and the last block (None: was done before)."""
        if resume and self._done():  # nothing is written
            return self._open(), None
        with storage.hold(self.file) as lock:
            if resume and self._done():  # by a run that ended in between
                return self._open(), None
            return self._run(source, self._earlier() if resume else None, lock)

    def _run(self, source: Callable[[], Source], earlier: dict[str, Any] | None, lock: Lock) -> tuple[Motion, Any]:
        made, so_far = source(), _SoFar(_Flows(flowing(self.compiled.system)))
        if earlier:
            made.load(earlier["state"])
            so_far.flows.before = earlier["flows"]
            so_far.events = list(zip(*(earlier[k] for k in EVENTS), strict=True))
            so_far.seconds = float(earlier["seconds"])
        else:
            storage.checkpoint_path(self.file).unlink(missing_ok=True)
        recorder = storage.Recorder(
            self.file, self.compiled, info=self.info, t_end=self.t_end, expected=self.rows, projected=self.projected,
            dense=storage.keeps_dense(self.method, self.compiled.size), knots=self.knots,
            resume=earlier["counts"] if earlier else None, lock=lock,
        )  # fmt: skip
        with recorder:
            block, pressed = self._blocks(recorder, made, so_far)
            status = "interrupted" if pressed else block.status
            stats = MotionStats(
                self.method, self.compiled.formulation, **block.stats, seconds=so_far.spent(self.started)
            )
            recorder.finish(stats, status, self._records(so_far.events, stats))
        motion = self._open(recorder.run)
        if pressed:
            where = f"t = {motion.t[-1]:.10g}" if len(motion.t) else "the start"
            raise SimulationInterrupted(f"interrupted at {where}; .motion holds what was computed", motion)
        if status in ("finished", "event"):
            storage.checkpoint_path(self.file).unlink(missing_ok=True)
        if self.live is not None:
            self.live.finish(status, motion)
        return motion, block

    def _blocks(self, recorder: storage.Recorder, made: Source, so_far: _SoFar) -> tuple[Any, bool]:
        """Block after block into the file; the last one, and whether Ctrl-C was pressed outside of the core."""
        watch, forecast, steps = _Watch(self.compiled, so_far.flows), Forecast(self.t_end), FIRST
        block: Any = None
        try:
            while True:
                begun = time.perf_counter()
                block = made.advance(steps)
                took = time.perf_counter() - begun
                so_far.events += block.crossings
                self._append(recorder, block, so_far.flows.of(self.compiled, block, self.projected))
                if block.status not in ("paused", "interrupted", "too-many-steps"):
                    break
                self._checkpoint(recorder, made, so_far)
                if block.status != "paused":
                    break
                forecast(block.t_stop, block.h_stop)
                if self.tick is not None:
                    self.tick(block.t_stop, block.h_stop, steps=block.stats["steps"], **watch.energy(block))
                steps = budget(steps, took, made.width)
        except KeyboardInterrupt as error:  # between the blocks
            if block is None or type(error) is not KeyboardInterrupt:
                raise
            return block, True
        if block.status in ("failed", "interrupted") and hasattr(block, "raise_failure"):
            block = _Failed(block)
            return block, isinstance(block.error, KeyboardInterrupt)
        return block, False

    def _append(self, recorder: storage.Recorder, block: _core.Run, flows: tuple[Array, Array, Array] | None) -> None:
        ends = block.step_ends if not recorder.counts["steps"] else block.step_ends[1:]
        extra = {name: getattr(block, name) for name in ("newton", "midpoints") if hasattr(block, name)}
        if self.knots:
            extra["knots"] = block.knots_t, block.knots_y
        recorder.append(block.t, block.y, steps=ends, flows=flows, dense=getattr(block, "evaluate", None), **extra)
        if self.live is not None and len(block.t):
            self.live.push(block.t, block.y)

    def _records(self, events: Sequence[tuple[int, float, Array]], stats: MotionStats) -> list[EventRecord]:
        return [
            EventRecord(int(n), float(t), Motion(np.asarray(t), y, stats, _compiled=self.compiled), self.names[n])
            for n, t, y in events
        ]

    def _open(self, run: str | None = None) -> Motion:
        """The motion in the file, of this run if it is named."""
        if run is None:
            return storage.open_motion(self.file, system=self.compiled.system.original)
        stored = storage.ResultFile(self.file)
        if stored.header["run"] != run:
            raise OSError(f"{str(self.file)!r} was replaced when its run ended, and what was computed is lost.")
        return storage.stored_motion(stored, self.compiled)

    # --- checkpoints

    def _checkpoint(self, recorder: storage.Recorder, made: Source, so_far: _SoFar) -> None:
        events = so_far.events
        found = (
            np.array([n for n, _, _ in events], dtype=np.int64),
            np.array([t for _, t, _ in events]),
            np.array([y for _, _, y in events]).reshape(len(events), self.compiled.size),
        )
        checkpoint = {
            "version": __version__, "core": _core.isa(), "info": self.info, "counts": recorder.counts,
            "seconds": so_far.spent(self.started), "state": made.save(), "flows": so_far.flows.before,
        }  # fmt: skip
        path = storage.checkpoint_path(self.file)
        try:
            storage.save_checkpoint(path, checkpoint | dict(zip(EVENTS, found, strict=True)))
        except OSError as error:
            raise OSError(
                error.errno,
                f"the checkpoint {str(path)!r} cannot be written ({error.strerror}); {_left(self.file)}",
            ) from None

    def _done(self) -> bool:
        """Whether the file holds this run, finished."""
        if storage.checkpoint_path(self.file).exists() or not self.file.exists():
            return False
        header = storage.info(self.file)
        if header["status"] not in ("finished", "event"):
            return False
        self._same(header["info"], "the finished run")
        if header["identity"] != storage.identity(self.compiled):
            raise ValueError(
                f"{str(self.file)!r} holds a finished run of another model, formulation or start; give the "
                "same model, another file, or start again without resume."
            )
        return True

    def _earlier(self) -> dict[str, Any] | None:
        """The checkpoint to continue from; None: there is none and the run starts again."""
        path = storage.checkpoint_path(self.file)
        if not path.exists():
            return None
        found = storage.load_checkpoint(path)
        if found["version"] != __version__:
            raise ValueError(
                f"the checkpoint {str(path)!r} is of gyrod {found['version']}, and this is {__version__}: a run "
                "continues only with the version that began it. Start again without resume."
            )
        self._same(found["info"], "the checkpoint")
        return found

    def _same(self, other: Mapping[str, object], what: str) -> None:
        names = sorted(set(self.info) | set(other))
        changed = [
            f"{n} = {_short(self.info.get(n), n)} (there: {_short(other.get(n), n)})"
            for n in names
            if self.info.get(n) != other.get(n)
        ]
        if changed:
            raise ValueError(
                f"this run differs from {what} of {str(self.file)!r}: {'; '.join(changed)}. A run continues as it was "
                "begun; start again without resume, or give the same options."
            )


def raise_interrupted(raise_failure: Callable[[], None], where: str, motion: Motion) -> NoReturn:
    """After a run that was interrupted: what the handler of a signal raised, with ``.motion``; of Ctrl-C our own."""
    try:
        raise_failure()
    except KeyboardInterrupt:
        pass
    except BaseException as error:
        with contextlib.suppress(AttributeError, TypeError):
            error.motion = motion  # type: ignore[attr-defined]
        raise
    raise SimulationInterrupted(f"interrupted at {where}; .motion holds what was computed", motion)


def _left(file: Path) -> str:
    """What can be done where a checkpoint could not be written."""
    if not file.parent.is_dir():
        return f"its folder was removed, and {file.name!r} with it: what was computed is lost. Start again elsewhere."
    if not file.exists():
        return f"{str(file)!r} was removed, and what was computed is lost. Start again."
    return (
        f"{str(file)!r} keeps what was computed, and the run can continue from the checkpoint before. Free some space "
        "and resume."
    )


class _Failed:
    """A block in which a Python function, or the handler of a signal, threw.

    The core raises that only once, this one as often as it is asked.
    """

    error: BaseException | None = None

    def __init__(self, block: _core.Run) -> None:
        self.block = block
        try:
            block.raise_failure()
        except BaseException as error:
            self.error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self.block, name)

    def raise_failure(self) -> None:
        """Raise it again."""
        if self.error is not None:
            raise self.error


def budget(steps: int, seconds: float, width: int) -> int:
    """Steps of the next block, after one of so many steps took so long; ``width`` bytes a step."""
    wanted = int(np.clip(steps * AIM / max(seconds, 1e-6), steps // 4, 8 * steps))
    return max(1, min(wanted, MOST // max(width, 1)))


#: What `told` says.
_TOLD = re.compile(r"(\d+) numbers, [0-9a-f]{16}")
EVENTS = ("event numbers", "event times", "event states")


def _short(value: object, name: str = "") -> str:
    if isinstance(value, str) and (match := _TOLD.fullmatch(value)):
        return f"{match[1]} {'times' if name == 'output' else 'numbers'}"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:30]}... ({len(text)} characters)"


def told(values: Array | None) -> str | None:
    """Numbers as a short text that identifies them."""
    if values is None:
        return None
    return f"{len(values)} numbers, {hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]}"


#: Folders of runs that were only looked at: their motions read from there until the process ends.
_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


class Target:
    """Where a run goes while it is computed: into a file, and before the eyes of somebody."""

    def __init__(self, save: str | os.PathLike[str] | None, resume: bool, view: bool) -> None:
        self.resume, self.view = resume, view
        if save is None:  # the viewer alone: the rows go where they are forgotten with the process
            _FOLDERS.append(tempfile.TemporaryDirectory(prefix="gyrod-"))
            save = Path(_FOLDERS[-1].name) / "run.h5"
        self.file = _check.path("save", save)

    def refuse(self, method: str) -> None:
        """For methods of others, which cannot pause."""
        if self.resume or self.view:
            what = "resume" if self.resume else "view"
            raise ValueError(f"{what} is not available with method = {method!r}; use one of gyrod's own methods.")

    @contextlib.contextmanager
    def showing(self, compiled: Compiled, t_end: float) -> Iterator[LiveView | None]:
        """The live viewer, or None."""
        if not self.view:
            yield None
            return
        from gyrod.look.viewer import LiveView

        live = LiveView(compiled, t_end)
        try:
            yield live
        except BaseException as error:
            live.finish(str(error) or type(error).__name__)
            raise
        finally:
            live.close()


class _Watch:
    """Energy of a run at the ends of its blocks, and its error where that is known."""

    def __init__(self, compiled: Compiled, flows: _Flows) -> None:
        self.compiled, self.flows = compiled, flows
        self.kinetic = 0.0
        self.first = self._at(0.0, compiled.y0).total
        self.of_rods = bool(compiled.rods) and not compiled.system.bodies
        self.conserved = conservative(compiled.system)

    def _at(self, t: float, y: Array) -> Energy:
        stats = MotionStats("", self.compiled.formulation)
        return Motion(np.asarray(t), y, stats, _compiled=self.compiled).energy

    def energy(self, block: _core.Run) -> dict[str, float | None]:
        """Energy and its error at the end of a block, by the names that `Progress` has for them."""
        energy = self._at(block.t_stop, block.y_stop)
        self.kinetic = max(self.kinetic, float(energy.kinetic))
        error = None
        with np.errstate(all="ignore"), contextlib.suppress(ZeroDivisionError):
            if self.of_rods:
                error = abs(self.flows.balance) / self.kinetic
            elif self.conserved:
                error = abs(float(energy.total - self.first)) / self.kinetic
        return {"energy": float(energy.total), "energy_error": error}
