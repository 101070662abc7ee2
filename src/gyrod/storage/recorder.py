"""Recorder: rows of a run go into a result file block by block, and every block that was written can be read."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import files
from gyrod._check import Array
from gyrod._version import __version__
from gyrod.equations import Compiled
from gyrod.model import ModelError
from gyrod.motion import EventRecord, Motion, MotionStats
from gyrod.motion.between import DEGREES, sampled
from gyrod.storage import companions
from gyrod.storage.between import Kept
from gyrod.storage.checkpoint import beside
from gyrod.storage.frames import Frames
from gyrod.storage.layout import (
    CHECK,
    COUNTERS,
    FULL,
    LENGTHS,
    MARGIN,
    OPEN,
    OPTIONAL,
    SERIES,
    TEXTS,
    VERSION,
    Checks,
    Series,
    allocate,
    checks_of,
    checks_within,
    counted,
    damage,
    fixed,
    gone,
    readable,
    run_of,
    text,
    trim,
)
from gyrod.storage.locks import Lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    import h5py

    from gyrod._check import AnyArray, Data

#: Bytes that are copied at once.
COPIED = 1 << 25
#: Frames that ParaView is shown of a run, about.
FRAMES = 1000
#: Bytes of dense output that a step may have to be kept without being asked for.
DENSE = 4096
#: What the rods have exchanged since the start.
FLOWS = ("dissipated", "work", "balance")


def hold(file: str | os.PathLike[str]) -> Lock:
    """The lock of a result file and its checkpoint, ``run.h5.lock`` beside them, for the one run that writes them.

    It is not on the file itself: a new run and a resumed one put another file in its place, and it may be removed.
    """
    path = Path(file)
    with _writable(path):
        return Lock(Path(f"{path}.lock"), remove=True)


class Recorder:
    """Writes a run into a result file: ``append`` blocks of rows, ``finish``, ``close``; also a context manager.

    ``info`` are plain values that are kept with the results (method, tolerances). Of the rows, about ``frames`` that
    are evenly spread from t = 0 to ``t_end`` are shown in ParaView (0: none; all of them without ``t_end``).
    ``dense`` is the method whose dense output is kept, if it is to be (`keeps_dense`); ``knots`` says whether accepted
    states are kept beside rows that are none.
    ``resume`` continues a file at the ``counts`` that a checkpoint remembers, and forgets what came after.
    Until it is closed nobody else writes the file, unless ``lock`` says that its owner holds it (`hold`).
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        compiled: Compiled,
        *,
        info: Mapping[str, object] | None = None,
        t_end: float | None = None,
        frames: int = FRAMES,
        expected: int | None = None,
        projected: bool = True,
        dense: str | None = None,
        knots: bool = False,
        resume: Mapping[str, int] | None = None,
        lock: Lock | None = None,
    ) -> None:
        if not isinstance(frames, (int, np.integer)) or isinstance(frames, bool) or frames < 0:
            raise ValueError(f"frames = {frames!r} must be a number of frames, 0 or more.")
        self.path, self.compiled = Path(file), compiled
        self._expected, self._kept, self._next = expected, 0.0, -np.inf
        self._apart = 0.0 if t_end is None or not frames else (float(t_end) / frames) * (1.0 - 1e-9)
        self._series: dict[str, Series] = {}
        self._broken, self._dense, self._knots = False, dense, knots
        #: The end of the last step, from which the next one begins.
        self._end = np.zeros(0)
        #: The last knot.
        self._knot = -np.inf
        self._held: tuple[Array, Array] | None = None
        header = _header(compiled, info or {}, projected)
        with contextlib.ExitStack() as held:
            if lock is None:
                held.enter_context(hold(file))
            if resume is None:
                self._start(header, frames)
            else:
                self._go_on(header, resume, frames)
            self._lock = held.pop_all()  # for `close`

    def _start(self, header: Data, frames: int, fill: Callable[[], None] = lambda: None) -> None:
        """Make the file under another name, with the rows of ``fill``: where its own name is, it can be read."""
        import h5py

        new = beside(self.path)
        #: Of this run alone, wherever its file goes; a run that is resumed keeps it.
        self.run = str(header["run"])
        with _writable(self.path):
            try:
                self._file = h5py.File(new, "w", **OPEN)
                self._group = self._file.create_group("gyrod")
                for name, value in header.items():
                    kept = self._group if name in TEXTS else self._group.attrs
                    kept[name] = fixed(value, LENGTHS.get(name, 1)) if isinstance(value, str) else value
                self._group.attrs["counts"] = np.zeros(len(COUNTERS), dtype=np.int64)
                self._group.create_dataset("y0", data=self.compiled.y0)
                shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("y", "events/y"), (self.compiled.size,))
                shapes["checks"] = CHECK
                if self._knots:
                    shapes |= {"knots/t": (), "knots/y": (self.compiled.size,)}
                if self._dense is not None:
                    shapes["dense"] = (DEGREES[self._dense] + 1, self.compiled.size)
                for name, (counter, kind) in SERIES.items():
                    if name in OPTIONAL and name not in shapes:
                        continue
                    shape = shapes.get(name, ())
                    expected = self._expected if counter == "rows" else None
                    self._series[name] = Series.create(self._group, name, counter, shape, kind, expected=expected)
                known = [n for n in (self._expected, frames + 2 if self._apart else None) if n is not None]
                shown = min(known, default=None)
                self._frames = Frames.create(self._file, self.compiled, shown) if frames else None
                self._counts = dict.fromkeys(COUNTERS, 0)
                fill()
                self._file.flush()
                os.replace(new, self.path)
            except BaseException:
                new.unlink(missing_ok=True)
                raise

    # --- what is written -----------------------------------------------------------------------------------------

    @property
    def counts(self) -> dict[str, int]:
        """Items of all series that are safely in the file; a checkpoint remembers them."""
        return dict(self._counts)

    def append(
        self,
        t: ArrayLike,
        y: ArrayLike,
        *,
        steps: ArrayLike = (),
        flows: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
        newton: ArrayLike = (),
        midpoints: tuple[ArrayLike, ArrayLike] | None = None,
        dense: Callable[[Array], Array] | None = None,
        knots: tuple[Array, Array] | None = None,
    ) -> None:
        """Add rows (k,), (k, N) and ends of accepted steps; when it returns, a kill does not take them any more.

        ``flows``: dissipated energy, work and balance at the rows. ``newton`` and ``midpoints`` (times and energies):
        of methods with constant steps. ``dense``: rows at times within the steps, to keep the dense output. ``knots``:
        times and unknowns of accepted states beside the rows.
        """
        times = np.atleast_1d(np.asarray(t, dtype=float))
        rows = np.asarray(y, dtype=float).reshape(len(times), -1) if len(times) else np.zeros((0, self.compiled.size))
        if rows.shape[1] != self.compiled.size:
            raise ValueError(f"y has {rows.shape[1]} unknowns a row; the system has {self.compiled.size}.")
        items: dict[str, AnyArray] = {"t": times, "y": rows, "steps": np.atleast_1d(np.asarray(steps, dtype=float))}
        if flows is not None:
            items |= {name: np.asarray(value, dtype=float) for name, value in zip(FLOWS, flows, strict=True)}
        items["newton"] = np.atleast_1d(np.asarray(newton, dtype=np.int32))
        middle = ((), ()) if midpoints is None else midpoints
        for name, value in zip(("midpoints/t", "midpoints/energy"), middle, strict=True):
            items[name] = np.atleast_1d(np.asarray(value, dtype=float))
        ends = np.concatenate([self._end, items["steps"]])
        if "dense" in self._series and self._dense is not None and dense is not None:
            polynomials = sampled(dense, ends, self._dense)
            items["dense"] = np.zeros((0, 0, 0)) if polynomials is None else polynomials.values
        if knots is not None and "knots/t" in self._series:
            new = knots[0] > self._knot
            items |= {"knots/t": knots[0][new], "knots/y": knots[1][new]}
            self._knot = max(self._knot, float(knots[0].max(initial=-np.inf)))
        shown = self._shown(times)
        if len(times):
            self._held = None if shown.size and shown[-1] == len(times) - 1 else (times[-1:].copy(), rows[-1:].copy())
        with self._guard():
            self._write(items, times[shown], rows[shown])
        self._end = ends[-1:]

    def finish(self, stats: MotionStats, status: str = "finished", events: Sequence[EventRecord] = ()) -> None:
        """Say how the run ended; the last row becomes the last frame."""
        with self._guard():
            self._counts["events"] = 0
            found = {
                "events/event": np.array([e.event for e in events], dtype=np.int64),
                "events/t": np.array([e.t for e in events]),
                "events/y": np.array([e.state.y for e in events]),
                "events/name": np.array([_cut(e.name) for e in events], dtype="S64"),
            }
            if self._held is None:
                self._write(found, np.zeros(0), np.zeros(0))
            else:
                self._write(found, *self._held)
                self._held = None
            self._say("stats", json.dumps(asdict(stats)))
            self._say("status", status)
            self._file.flush()

    def _say(self, name: str, value: str) -> None:
        """Write an attribute again, in its place: the file keeps its structure."""
        length = LENGTHS[name]
        self._group.attrs.modify(name, np.array(fixed(value, length), dtype=f"S{length}"))

    def close(self) -> None:
        """Cut what was allocated ahead, close the file and let others write it."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if not self._file.id.valid:
            return
        if self._broken:
            with contextlib.suppress(Exception):
                self._file.close()
            return
        with self._guard():
            for series in self._all().values():
                series.resize(self._counts[series.counter])
            self._file.flush()
            self._group.attrs.modify("closed", np.int64(1))  # only now: all of the structure is in the file
            self._file.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:  # the first error is the one to report
            with contextlib.suppress(OSError):
                self.close()
            return
        self.close()

    # --- how -----------------------------------------------------------------------------------------------------

    def _all(self) -> dict[str, Series]:
        frames = {} if self._frames is None else self._frames.series
        return self._series | {f"VTKHDF/{name}": series for name, series in frames.items()}

    def _shown(self, times: Array) -> NDArray[np.intp]:
        """Rows of a block that become frames: those at least the spacing of the frames apart."""
        if self._frames is None or not len(times):
            return np.zeros(0, dtype=np.intp)
        if not self._apart:
            return np.arange(len(times))
        found = []
        at = int(np.searchsorted(times, self._next)) if np.isfinite(self._next) else 0
        while at < len(times):
            found.append(at)
            self._next = times[at] + self._apart
            at = max(at + 1, int(np.searchsorted(times, self._next)))
        return np.array(found, dtype=np.intp)

    def _write(self, items: dict[str, AnyArray], t: Array, y: Array) -> None:
        named: dict[str, AnyArray] = {name: value for name, value in items.items() if len(value)}
        if self._frames is not None and len(t):
            found = self._frames.items(t, y)
            named |= {f"VTKHDF/{name}": value for name, value in found.items()}
        series = self._all()
        counts = dict(self._counts)
        if "checks" in series:
            own = {n: np.ascontiguousarray(x, dtype=series[n].type) for n, x in named.items() if n in self._series}
            sums = [check for n, x in own.items() for check in checks_of(n, counts[series[n].counter], x)]
            named |= {"checks": np.array(sums, dtype=np.int64)} if sums else {}
        times = named.pop("VTKHDF/Steps/Values", np.zeros(0))
        for name, value in named.items():
            counts[series[name].counter] = self._counts[series[name].counter] + len(value) // series[name].unit
        self._grow({s: counts[s.counter] for name, s in series.items() if name != "VTKHDF/Steps/Values"})
        for name, value in named.items():
            series[name].write(self._counts[series[name].counter], value)
        # The numbers first, then the count that makes them valid.
        self._file.flush()
        self._count(counts, times)
        self._file.flush()
        trim(self._file)
        self._counts = counts
        self._kept = float(items["t"][-1]) if "t" in items and len(items["t"]) else self._kept

    def _count(self, counts: dict[str, int], times: AnyArray = np.zeros(0)) -> None:  # noqa: B008
        self._group.attrs.modify("counts", np.array([counts[name] for name in COUNTERS], dtype=np.int64))
        if self._frames is not None:
            values = self._frames.series["Steps/Values"]
            if values.more(counts["frames"]) > 0:
                allocate(self._file, values.more(counts["frames"]) + MARGIN)
            self._frames.count(counts["frames"], times)

    def _grow(self, wanted: dict[Series, int]) -> None:
        """Room for items, first on the disk, then in the file."""
        sizes = {s: s.grown(n) for s, n in wanted.items()}
        sizes = {s: n for s, n in sizes.items() if n > s.capacity}
        if not sizes:
            return
        more = sum(s.more(n) for s, n in sizes.items())
        if more:
            allocate(self._file, more + MARGIN)
        for s, n in sizes.items():
            s.resize(n)
        self._file.flush()
        trim(self._file)

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """After an error of the disk nothing more is written: the file keeps its blocks."""
        if self._broken or not self._file.id.valid:
            raise OSError(f"{str(self.path)!r} takes nothing more: it was closed, or could not be written before.")
        try:
            if gone(self._file, self.path):
                raise FileNotFoundError
            yield
        except (OSError, RuntimeError) as error:
            self._broken = True
            with contextlib.suppress(Exception):
                self._file.close()
            told = OSError(self._complaint(error))
            told.errno = error.errno if isinstance(error, OSError) else None
            raise told from None

    def _complaint(self, error: Exception) -> str:
        if isinstance(error, FileNotFoundError):
            return (
                f"{str(self.path)!r} was removed, moved or replaced while its run wrote it; the run ends here, at t = "
                f"{self._kept:.10g}. Put the file back and resume the run, or start again."
            )
        full = isinstance(error, OSError) and (error.errno in FULL or "No space left" in str(error))
        why = "the disk is full" if full else str(error).splitlines()[0]
        size = self.path.stat().st_size if self.path.exists() else 0
        kept = f"{self._counts['rows']} rows" + (f" up to t = {self._kept:.10g}" if self._counts["rows"] else "")
        return (
            f"{str(self.path)!r} cannot be written any further: {why}. The file of {size / 1e6:.3g} MB keeps {kept}; "
            "free some space and resume the run, or write elsewhere."
        )

    def _go_on(self, header: Data, resume: Mapping[str, int], frames: int) -> None:
        """Go on with the file of an interrupted run, of the same model and options, from where its checkpoint is.

        A file that was closed is cut back. A kill may have left indices that can be read but not written any more: such
        a file is copied up to there, and the copy takes its place when it is complete.
        """
        import h5py

        with readable(self.path):
            with h5py.File(self.path, "r", locking=False) as old:
                wanted = self._wanted(old["gyrod"], header, resume)
                header["run"] = self.run = run_of(old)
                if not old["gyrod"].attrs["closed"]:
                    self._start(header, frames, lambda: self._copy(old["gyrod"], wanted))
                    return
            self._file = h5py.File(self.path, "r+", **OPEN)
            try:
                self._continue(wanted)
            except BaseException:
                with contextlib.suppress(Exception):
                    self._file.close()
                raise

    def _wanted(self, group: h5py.Group, header: Data, resume: Mapping[str, int]) -> dict[str, int]:
        """The counts to continue from, checked against what the file has."""
        there = counted(group.attrs["counts"])
        if text(group.attrs["identity"]) != header["identity"]:
            raise ValueError(
                f"{str(self.path)!r} holds a run of another model, formulation or start; give the same model to "
                "resume, or another file."
            )
        wanted = {name: int(resume.get(name, 0)) for name in COUNTERS}
        wanted["checks"] = checks_within(group, wanted, there["checks"])
        short = [name for name in COUNTERS if not 0 <= wanted[name] <= there[name]]
        if short:
            told = ", ".join(f"{wanted[n]} {n} where the file has {there[n]}" for n in short)
            raise ValueError(f"the checkpoint of {str(self.path)!r} does not belong to it: it wants {told}.")
        if found := Checks.of(group, wanted).verify(group):
            raise ValueError(
                f"{str(self.path)!r} is damaged: {damage(found)}. A run cannot continue from there; start again "
                "without resume, or put a copy of the file in its place."
            )
        return wanted

    def _copy(self, old: h5py.File, wanted: dict[str, int]) -> None:
        """Write what is counted in another file into this one; frames are made again from the rows."""
        for counter in ("rows", "flows", "steps", "newton", "midpoints", "dense", "knots"):
            names = [n for n, (c, _) in SERIES.items() if c == counter and n in old and n in self._series]
            item = sum(self._series[n].item for n in names)
            block = max(1, COPIED // max(item, 1))
            for at in range(0, wanted[counter] if names else 0, block):
                part = slice(at, min(at + block, wanted[counter]))
                items = {n: np.asarray(old[n][part]) for n in names}
                t, y = items.get("t", np.zeros(0)), items.get("y", np.zeros((0, self.compiled.size)))
                shown = self._shown(t)
                self._write(items, t[shown], y[shown])
                if counter == "steps":
                    self._end = items["steps"][-1:]
                if counter == "knots":
                    self._knot = float(items["knots/t"][-1])

    def _continue(self, wanted: dict[str, int]) -> None:
        group = self._group = self._file["gyrod"]
        self._frames = Frames.found(self._file, self.compiled) if "VTKHDF" in self._file else None
        self._series = {name: Series(group[name], counter) for name, (counter, _) in SERIES.items() if name in group}
        self._counts = wanted
        if self._frames is not None and wanted["frames"]:
            last = float(self._frames.group["Steps/Values"][wanted["frames"] - 1])
            self._next = last + self._apart
        if wanted["rows"]:
            self._kept = float(group["t"][wanted["rows"] - 1])
        if wanted["steps"]:
            self._end = np.asarray(group["steps"][wanted["steps"] - 1 : wanted["steps"]])
        if wanted["knots"]:
            self._knot = float(group["knots/t"][wanted["knots"] - 1])
        self._group.attrs.modify("closed", np.int64(0))
        self._say("status", "unfinished")
        self._say("stats", "{}")
        self._count(wanted)
        self._file.flush()


def keeps_dense(method: str, unknowns: int, wanted: bool | None = None) -> str | None:
    """The method, if its dense output goes into files: by default where that is little, for small systems."""
    little = method in DEGREES and 8 * (DEGREES[method] + 1) * unknowns <= DENSE
    return method if method in DEGREES and (little if wanted is None else wanted) else None


def save(
    motion: Motion,
    file: str | os.PathLike[str],
    *,
    frames: int = FRAMES,
    dense: bool | None = None,
    info: Mapping[str, object] | None = None,
    lock: Lock | None = None,
) -> None:
    """Write a motion into a result file, which `open` reads and ParaView shows; an older file gives way at the end.

    ``dense``: whether the dense output goes with it; by default for small systems (4 kB a step).
    ``lock``: of the file, if the caller holds it already (`hold`).
    """
    target = Path(file)
    if lock is None:
        with hold(target) as lock:
            return save(motion, target, frames=frames, dense=dense, info=info, lock=lock)
    new = beside(target)
    t, y = np.atleast_1d(motion.t), np.atleast_2d(motion.y)
    span = float(t[-1] - t[0]) if len(t) > 1 else None
    flows = motion.energy.__dict__.get("_flows") if "energy" in motion.__dict__ else None
    own = getattr(motion._dense, "__name__", "") == "evaluate" or hasattr(motion._dense, "values")
    own = own or isinstance(getattr(motion._dense, "file", None), Kept)
    stored = motion.__dict__.get("_file")
    kept = keeps_dense(motion.stats.method, motion.compiled.size, dense) if own and motion.t.ndim else None
    near = motion._near if kept is None else None
    knots = None if near is None else (near.t, near.y)
    try:
        recorder = Recorder(
            new, motion.compiled, info=info, t_end=span, frames=frames, expected=len(t), projected=motion._projected,
            dense=kept, knots=knots is not None, lock=lock,
        )  # fmt: skip
        with recorder:
            recorder._group.attrs["single"] = motion.t.ndim == 0
            if stored is not None:  # the same run, and maybe the file that this motion goes on reading
                recorder._group.attrs["run"] = fixed(stored.header["run"])
            recorder.append(
                t, y, steps=motion.steps, flows=flows, newton=motion.newton,
                midpoints=(motion.midpoints.t, motion.midpoints.energy), dense=motion._dense, knots=knots,
            )  # fmt: skip
            recorder.finish(motion.stats, motion.status, motion.events)
            companions.write(recorder._group, motion._beside)
        os.replace(new, target)
    except OSError as error:
        told = type(error)(str(error).replace(str(new), str(target)))
        told.errno = error.errno
        raise told from None
    finally:
        new.unlink(missing_ok=True)


def identity(compiled: Compiled) -> str:
    """What identifies the model, formulation and start of a run."""
    return str(_header(compiled, {}, True)["identity"])


def _header(compiled: Compiled, info: Mapping[str, object], projected: bool) -> Data:
    """What is known before the run."""
    model, reason = "", ""
    try:
        model = json.dumps(files.to_data(compiled.system.original))
    except ModelError as error:  # Python functions cannot be written
        reason = str(error)
    options = json.dumps(compiled.options, sort_keys=True)
    same = hashlib.sha256()
    for part in (model, compiled.formulation, options, str(compiled.at_rest), str(compiled.system.rod_names)):
        same.update(part.encode() + b"\0")
    same.update(str(compiled.system.names).encode() + compiled.y0.tobytes())
    return {
        "version": np.int64(VERSION), "software": f"gyrod {__version__}", "model": model, "model_missing": reason,
        "formulation": compiled.formulation, "options": options, "at_rest": compiled.at_rest, "projected": projected,
        "info": json.dumps(_plain(info)), "identity": same.hexdigest(), "status": "unfinished", "stats": "{}",
        "single": False, "closed": np.int64(0), "run": secrets.token_hex(8),
        "objects": json.dumps([*compiled.system.rod_names, *compiled.system.names]),
    }  # fmt: skip


def _plain(value: object) -> object:
    """Plain values for JSON; anything else is written as its repr."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    """A sentence for a file that cannot be made or is in use."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{str(path)!r} cannot be written: there is no folder {str(path.parent)!r}.")
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; give the name of a file, as 'run.h5'.")
    try:
        yield
    except BlockingIOError as error:
        raise OSError(
            f"{str(path)!r} is being written by another run ({error}); wait until that ends, end it, or give another "
            "file."
        ) from None
    except PermissionError as error:
        which = f" for {str(error.filename)!r}" if error.filename else ""
        raise PermissionError(f"{str(path)!r} cannot be written: permission denied{which}.") from None


def _cut(name: str) -> bytes:
    """The first 64 bytes of a name, whole letters only."""
    return name.encode()[:64].decode("utf-8", "ignore").encode()
