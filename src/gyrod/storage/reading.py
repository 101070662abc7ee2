"""Reading result files: a motion whose rows come from the file on access."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gyrod import _check, files
from gyrod._check import Array
from gyrod.equations import Compiled, compile_system
from gyrod.model import System
from gyrod.motion import Beside, Midpoints, Motion, MotionStats
from gyrod.motion.between import within
from gyrod.storage import companions
from gyrod.storage.between import Between, Flows
from gyrod.storage.layout import (
    AXES,
    OPTIONAL,
    SERIES,
    TEXTS,
    VERSION,
    Checks,
    counted,
    damage,
    readable,
    run_of,
    text,
)

if TYPE_CHECKING:
    import h5py


T = TypeVar("T")

#: Fields of a motion that are read when they are asked for.
LAZY = ("t", "y", "steps", "midpoints", "newton")
#: Reading again helps where a run was just writing.
TRIES, PAUSE = 3, 0.02
#: Bytes of rows that are read at once to find those between which a time lies.
WINDOW = 1 << 24


class ResultFile:
    """A result file: its header, read at once, and its series, read on access."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = _check.path("file", path)
        self.kept: dict[str, Array] = {}
        self.header: dict[str, Any] = {}
        #: Begins of blocks whose check sums are right, by series.
        self._sound: dict[str, set[int]] = {}
        self.header = self._with(_header)

    def _with(self, read: Callable[[h5py.File], T]) -> T:
        """Open, read, close: no handle stays behind, and a run may keep writing; another one is not taken for it."""
        import h5py

        with readable(self.path):
            if self.path.is_dir():
                raise IsADirectoryError
            if self.path.exists() and not h5py.is_hdf5(self.path):
                raise OSError("it does not begin as an HDF5 file")
            for tries in range(TRIES):
                try:
                    with h5py.File(self.path, "r", locking=False) as file:
                        if not self.header or run_of(file) == self.header["run"]:
                            return read(file)
                        break
                except (OSError, RuntimeError, KeyError):
                    if tries == TRIES - 1 or not self.path.exists():
                        raise
                    time.sleep(PAUSE)
        raise OSError(
            f"{str(self.path)!r} holds another run than when it was opened; open it again, and give each run a file of "
            "its own."
        )

    def count(self, counter: str) -> int:
        """Valid items of the series with this counter."""
        return int(self.header["counts"][counter])

    def series(self, name: str) -> Array:
        """All valid items of a series."""
        if name not in self.kept:
            n = self.count(SERIES[name][0])
            if not n and name in OPTIONAL:
                return np.zeros(0)
            values = self._part(name, slice(n))
            self._refuse(self.checks.damaged(name, values))
            self.kept[name] = values
        return self.kept[name]

    @cached_property
    def checks(self) -> Checks:
        """Check sums of the series."""
        return self._with(lambda file: Checks.of(file["gyrod"], self.header["counts"]))

    def verify(self) -> list[str]:
        """Which items are not those that were written, in words; all of the file is read."""
        return self._with(lambda file: self.checks.verify(file["gyrod"]))

    def _part(self, name: str, which: slice) -> Array:
        return self._with(lambda file: np.asarray(file[f"gyrod/{name}"][which]))

    def _refuse(self, damaged: list[str]) -> None:
        if damaged:
            raise OSError(f"{str(self.path)!r} is damaged: {damage(damaged)}. Take a copy of it, or run it again.")

    def _check_blocks(self, name: str, used: NDArray[np.intp]) -> None:
        """The blocks in which these items lie, once each."""
        sound = self._sound.setdefault(name, set())
        for begin, end in self.checks.around(name, used):
            if begin not in sound:
                self._refuse(self.checks.damaged(name, self._part(name, slice(begin, end)), begin))
                sound.add(begin)

    def items(self, name: str, index: NDArray[np.intp]) -> Array:
        """Items of a series, (k, ...), in the order of ``index``; no others are read, or few."""
        if name in self.kept:
            return np.asarray(self.kept[name][index])
        used, back = np.unique(index, return_inverse=True)
        lo, hi = int(used[0]), int(used[-1]) + 1
        self._check_blocks(name, used)

        def read(file: h5py.File) -> Array:
            data = file[f"gyrod/{name}"]
            width = 8 * int(np.prod(data.shape[1:], dtype=np.int64))
            if (hi - lo) * width <= max(WINDOW, 2 * len(used) * width):
                return np.asarray(data[lo:hi])[used - lo]
            return np.array([data[int(k)] for k in used])

        return self._with(read)[back]


def _header(file: h5py.File) -> dict[str, Any]:
    """Attributes, counts and shapes, checked against each other."""
    if "gyrod" not in file or "version" not in file["gyrod"].attrs:
        raise OSError("it is HDF5, but without the group /gyrod")
    group = file["gyrod"]
    attrs = group.attrs
    if int(attrs["version"]) > VERSION:
        raise OSError(f"it has version {int(attrs['version'])} of the layout, newer than {VERSION}; update gyrod")
    try:
        found: dict[str, Any] = {n: text(attrs[n]) for n in ("software", "formulation", "status", "identity")}
        found |= {name: text(group[name][()]) for name in TEXTS}
        found |= {name: json.loads(text(attrs[name])) for name in ("options", "stats")}
        found |= {name: json.loads(found[name]) for name in ("info", "objects")}
    except ValueError as error:
        raise OSError(f"what should be a text or JSON is not ({error})") from None
    found["run"] = run_of(file)
    found |= {name: bool(attrs[name]) for name in ("at_rest", "projected", "single")}
    found["counts"] = counted(attrs["counts"])
    for name, (counter, _) in SERIES.items():
        n = found["counts"][counter]
        if name in OPTIONAL and name not in group and n == 0:
            continue
        data = group[name]
        if data.ndim != AXES.get(name, 1) or data.dtype.kind not in "fiS" or data.shape[0] < n:
            raise OSError(f"/gyrod/{name} has the shape {data.shape}, and {n} items are said to be there")
        if n * data.dtype.itemsize * int(np.prod(data.shape[1:], dtype=object)) > os.stat(file.filename).st_size:
            raise OSError(f"/gyrod/{name} would be larger than the file")
    found["unknowns"] = int(group["y"].shape[1])
    found["y0"] = np.asarray(group["y0"][()], dtype=float) if group["y0"].size < 1e8 else np.zeros(0)
    found["events"] = _events(group, found["counts"]["events"])
    found["beside"] = companions.read(group)
    found["frames"] = int(file["VTKHDF/Steps"].attrs["NSteps"]) if "VTKHDF" in file else 0
    return found


def _events(group: h5py.Group, count: int) -> list[tuple[int, float, Array, str]]:
    inner, n = group["events"], count
    try:
        return [
            (int(e), float(t), np.asarray(y, dtype=float), text(name))
            for e, t, y, name in zip(*(inner[part][:n] for part in ("event", "t", "y", "name")), strict=True)
        ]
    except ValueError as error:
        raise OSError(f"/gyrod/events cannot be read ({error})") from None


class StoredMotion(Motion):
    """A motion in a file: times, rows and steps are read on access.

    Between the rows it is interpolated by its dense output, or where this was not kept by `Between`.
    """

    _file: ResultFile

    def __getattr__(self, name: str) -> Any:
        file = self.__dict__.get("_file")
        if file is None or name not in LAZY:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = _read(file, name)
        self.__dict__[name] = value
        return value

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as data: where it is unpickled the file need not be."""
        for name in SERIES:
            self._file.series(name)
        return _plain_motion, ({f.name: getattr(self, f.name) for f in fields(Motion)},)

    def __repr__(self) -> str:
        n, what = self._file.count("rows"), ", ".join(map(repr, self._file.header["objects"][:4]))
        return f"<Motion of {what} in {str(self._file.path)!r}: {n} rows, {self.status}>"


def _plain_motion(values: dict[str, Any]) -> Motion:
    return Motion(**values)


def _read(file: ResultFile, name: str) -> object:
    if name == "midpoints":
        return Midpoints(file.series("midpoints/t"), file.series("midpoints/energy"))
    value = file.series(name)
    return np.asarray(value[0]) if file.header["single"] and name in ("t", "y") else value


class WithinSteps:
    """Rows at times within the steps, by the dense output of the method as the file keeps it."""

    def __init__(self, file: ResultFile) -> None:
        self.file = file

    @property
    def values(self) -> Array:
        """All of it, (steps, degree + 1, N)."""
        return self.file.series("dense")

    def __call__(self, times: Array) -> Array:
        """Rows (k, N)."""
        steps = self.file.series("steps")
        i = np.clip(np.searchsorted(steps, times, side="right") - 1, 0, len(steps) - 2).astype(np.intp)
        values = self.file.items("dense", i) if len(i) else np.zeros((0, 2, self.file.header["unknowns"]))
        return within(values, (times - steps[i]) / (steps[i + 1] - steps[i]))


def _between(file: ResultFile, compiled: Compiled) -> Between | WithinSteps | None:
    if 0 < file.count("dense") == file.count("steps") - 1:
        return WithinSteps(file)
    return Between(file, compiled) if file.count("rows") > 1 or file.count("knots") else None


def open_motion(file: str | os.PathLike[str], system: System | None = None) -> Motion:
    """The motion in a result file; its rows are read on access.

    A file of a model with Python functions needs that ``system``. A file that is still being written, or whose run was
    killed, is read up to its last block (status "unfinished").
    """
    stored = ResultFile(file)
    return stored_motion(stored, _compiled(stored, system))


def stored_motion(stored: ResultFile, compiled: Compiled) -> Motion:
    """The motion in a file of these equations."""
    header = stored.header
    stats = _stats(stored)
    motion, dense = object.__new__(StoredMotion), _between(stored, compiled)
    motion.__dict__.update(
        stats=stats,
        status=header["status"],
        _compiled=compiled,
        _dense=dense,
        _projected=header["projected"],
        _flows=dense.flows if isinstance(dense, Between) else Flows(stored) if Flows(stored).needed else None,
        _file=stored,
    )
    motion.__dict__["events"] = motion._recorded(header["events"])
    kept = header["beside"] or companions.Kept(Beside(header["info"].get("rtol")))
    motion.__dict__["_beside"] = companions.made(kept, motion)
    return motion


def _compiled(stored: ResultFile, system: System | None) -> Compiled:
    header, name = stored.header, str(stored.path)
    if system is not None and not isinstance(system, System):
        raise ValueError(f"system must be a gyrod.System, got {type(system).__name__}.")
    if system is None:
        if not header["model"]:
            raise ValueError(
                f"{name!r} does not hold its model: {header['model_missing'].rstrip('.')}. Give it: "
                f"gd.open({name!r}, system=...)."
            )
        try:
            system = files.from_data(json.loads(header["model"]))
        except ValueError as error:
            raise OSError(f"the model in {name!r} cannot be read: {error}") from None
    try:
        compiled = compile_system(
            system, header["formulation"], at_rest=header["at_rest"], started=True, **header["options"]
        )
    except (TypeError, ValueError) as error:
        raise OSError(f"the model in {name!r} cannot be compiled: {error}") from None
    there = [*compiled.system.rod_names, *compiled.system.names]
    if compiled.size != header["unknowns"] or there != header["objects"]:
        raise ValueError(
            f"{name!r} is of another system: it has {header['unknowns']} unknowns of {', '.join(header['objects'])}, "
            f"the system given has {compiled.size} of {', '.join(there)}."
        )
    y0 = header["y0"]
    return compiled if np.array_equal(y0, compiled.y0) or y0.shape != compiled.y0.shape else replace(compiled, y0=y0)


def verify(file: str | os.PathLike[str]) -> tuple[int, list[str]]:
    """How many check sums a result file has (0: it was written before there were any), and what does not match them."""
    stored = ResultFile(file)
    return len(stored.checks), stored.verify()


def _stats(stored: ResultFile) -> MotionStats:
    header = stored.header
    known = {f.name for f in fields(MotionStats)}
    values = {name: value for name, value in _counted(stored).items() if name in known}
    method = str(values.pop("method", header["info"].get("method", "")))
    return MotionStats(method, str(values.pop("formulation", header["formulation"])), **values)


def _counted(stored: ResultFile) -> dict[str, Any]:
    """What the run cost; of a run that was killed only its steps are known."""
    return stored.header["stats"] or {"steps": max(stored.count("steps") - 1, 0)}


def info(file: str | os.PathLike[str]) -> dict[str, Any]:
    """What a result file holds, without its rows: plain values for a table or JSON."""
    stored = ResultFile(file)
    header = stored.header
    t = stored.series("t")
    names = ("software", "formulation", "status", "identity", "objects", "info", "counts", "unknowns")
    return {name: header[name] for name in names} | {
        "stats": _counted(stored),
        "file": str(stored.path),
        "bytes": stored.path.stat().st_size,
        "t": [float(t[0]), float(t[-1])] if len(t) else [],
        "model": bool(header["model"]),
        "events": [{"event": e, "t": t, "name": name} for e, t, _, name in header["events"]],
    }
