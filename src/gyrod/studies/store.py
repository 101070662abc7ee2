"""Where results of a study are kept: in memory, or in a folder that survives whatever happens to its driver.

folder/study.json                     what study it is
folder/chunks/0000/000000000042.npz   one file a chunk, see `chunks`
folder/lock, folder/lock.0-of-3       who is running it, see `locks`
"""

from __future__ import annotations

import datetime
import json
import os
import warnings
from abc import ABC, abstractmethod
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypedDict, cast

import numpy as np

from gyrod import _check, _core
from gyrod._version import __version__
from gyrod.storage.checkpoint import write_atomic
from gyrod.studies.chunks import MANIFEST, VERSION, Chunk, ChunkFiles, DamagedChunk
from gyrod.studies.differences import differences
from gyrod.studies.errors import StudyError
from gyrod.studies.locks import FolderLock, Shard
from gyrod.studies.outputs import History

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gyrod._check import Data
    from gyrod.studies.plan import Described, Plan

#: Bytes of chunks that are kept in memory while a folder is read.
CACHE = 1 << 26


class Listed(TypedDict):
    """A `Layout` in plain types."""

    size: int
    parameters: dict[str, tuple[str, tuple[int, ...]]]
    outputs: dict[str, tuple[int, ...]]
    times: dict[str, tuple[float, ...]]


class Manifest(TypedDict):
    """What the folder of a study says about it."""

    format: str
    version: int
    gyrod: str
    isa: str
    created: str
    identity: str
    chunk: int
    columns: Listed
    study: Described


@dataclass(frozen=True)
class Layout:
    """Columns of the table of all runs: parameters with their type and shape, outputs with shape, times of curves."""

    size: int
    parameters: dict[str, tuple[str, tuple[int, ...]]]
    outputs: dict[str, tuple[int, ...]]
    times: dict[str, tuple[float, ...]]

    @classmethod
    def of(cls, plan: Plan) -> Layout:
        """The columns of a plan."""
        first = plan.parameters(0, 1)
        times = {o.name: o.times for o in plan.outputs if isinstance(o, History)}
        return cls(
            plan.size,
            {name: (column.dtype.str, column.shape[1:]) for name, column in first.items()},
            {o.name: tuple(plan.shapes[o.name]) for o in plan.outputs},
            {name: tuple(np.asarray(t, dtype=float).tolist()) for name, t in times.items()},
        )

    @classmethod
    def read(cls, data: Listed) -> Layout:
        """The columns that a manifest names."""
        parameters = {
            name: (str(np.dtype(kind).str), tuple(shape)) for name, (kind, shape) in data["parameters"].items()
        }
        outputs = {name: tuple(shape) for name, shape in data["outputs"].items()}
        return cls(int(data["size"]), parameters, outputs, {name: tuple(t) for name, t in data["times"].items()})

    def data(self) -> Listed:
        """The same in plain types."""
        return {"size": self.size, "parameters": self.parameters, "outputs": self.outputs, "times": self.times}

    @property
    def row(self) -> int:
        """Bytes of one run."""
        wide = [shape for _, shape in self.parameters.values()] + list(self.outputs.values())
        return 8 * sum(int(np.prod(shape, dtype=np.int64)) for shape in wide) + 64


class Store(ABC):
    """Chunks of a study: `put` one, `read` one, `has` it; from several threads at once."""

    layout: Layout
    #: `Plan.describe` of the study.
    description: Described
    identity: str
    #: Runs of a chunk.
    chunk: int

    @property
    def count(self) -> int:
        """Number of chunks of the whole study."""
        return -(-self.layout.size // self.chunk)

    def span(self, k: int) -> tuple[int, int]:
        """First run of a chunk, and the one behind its last."""
        return k * self.chunk, min((k + 1) * self.chunk, self.layout.size)

    @property
    def done(self) -> int:
        """Number of runs that are there."""
        return sum(b - a for a, b in (self.span(k) for k in self.present()))

    @abstractmethod
    def present(self) -> list[int]:
        """The chunks that are there, in order."""

    @abstractmethod
    def has(self, k: int) -> bool:
        """Whether a chunk is there."""

    @abstractmethod
    def read(self, k: int) -> Chunk:
        """A chunk that is there."""

    def sound(self, k: int) -> Chunk | None:
        """A chunk, or None if it is not there or damaged."""
        return self.read(k) if self.has(k) else None

    @abstractmethod
    def put(self, chunk: Chunk) -> None:
        """Keep a chunk."""

    def wrote(self, k: int) -> None:  # noqa: B027 - only files are written by others
        """A worker has written this chunk itself."""


class Memory(Store):
    """Chunks in memory."""

    def __init__(self, plan: Plan, chunk: int) -> None:
        self.layout, self.description, self.identity = Layout.of(plan), plan.describe(), plan.identity
        self.chunk = chunk
        self._chunks: dict[int, Chunk] = {}

    def present(self) -> list[int]:
        """The chunks that are there."""
        return sorted(self._chunks)

    def has(self, k: int) -> bool:
        """Whether a chunk is there."""
        return k in self._chunks

    def read(self, k: int) -> Chunk:
        """A chunk that is there."""
        return self._chunks[k]

    def put(self, chunk: Chunk) -> None:
        """Keep a chunk."""
        self._chunks[chunk.block.start // self.chunk] = chunk


class Folder(Store):
    """Chunks in the files of a folder; `open` to read one, `begin` to run."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        self.layout, self.description = Layout.read(manifest["columns"]), manifest["study"]
        self.identity, self.chunk = str(manifest["identity"]), int(manifest["chunk"])
        self.files = ChunkFiles(folder.absolute(), self.identity, self.layout.size, self.chunk)
        self.lock: FolderLock | None = None
        self._present = self.files.present()
        self._cache: OrderedDict[int, Chunk] = OrderedDict()
        self._cached, self._guard = 0, Lock()
        self._damaged: set[int] = set()

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Folder:
        """A folder with a study in it, for reading."""
        path = _check.path("folder", folder)
        manifest = _manifest(path)
        if manifest is None:
            there = "there is no such folder" if not path.is_dir() else f"it has no {MANIFEST}"
            raise FileNotFoundError(f"{str(path)!r} is not a folder of a study: {there}.")
        return cls(path, manifest)

    @classmethod
    def begin(
        cls,
        folder: str | os.PathLike[str],
        plan: Plan,
        chunk: int | None,
        default: int,
        *,
        resume: bool,
        shard: Shard | None,
    ) -> Folder:
        """Lock a folder for a plan: a new one, or with ``resume`` one in which the same study was begun."""
        path = Path(folder)
        with _writing(path):
            path.mkdir(parents=True, exist_ok=True)
            lock = FolderLock(path, shard)
        try:
            with _writing(path):
                manifest = _manifest(path)
                if manifest is None:
                    manifest = _create(path, plan, chunk or default)
                    begun = False
                else:
                    begun = True
                    _check_same(path, manifest, plan, chunk)
                found = cls(path, manifest)
                found.lock = lock
                found._take_up(begun, resume, shard or (0, 1), shard is not None)
            return found
        except BaseException:
            lock.release()
            raise

    def _take_up(self, begun: bool, resume: bool, shard: Shard, shared: bool) -> None:
        mine = np.arange(self.count) % shard[1] == shard[0]
        if begun and not resume and (not shared or (self._present & mine).any()):
            what = f"shard {shard[0]}/{shard[1]} has begun in" if shared else "there is a study already in"
            raise StudyError(
                f"{what} {str(self.folder)!r}, with {self.done} of {self.layout.size} runs; resume=True continues "
                "it, or choose another folder."
            )
        self.files.sweep(shard)
        if not shared:
            for left in self.folder.glob(f".{MANIFEST}.*"):
                left.unlink(missing_ok=True)
        damaged = []
        for k in np.flatnonzero(self._present & mine).tolist():
            try:
                self.files.read(k)
            except DamagedChunk as error:
                damaged.append(str(error))
                self.files.path(k).unlink(missing_ok=True)
                self._present[k] = False
        if damaged:
            more = f" (and {len(damaged) - 1} more)" if len(damaged) > 1 else ""
            warnings.warn(f"{damaged[0]}{more}", RuntimeWarning, stacklevel=2)

    def present(self) -> list[int]:
        """The chunks that have a file."""
        return [int(k) for k in np.flatnonzero(self._present)]

    @property
    def done(self) -> int:
        """Number of runs that are there."""
        last = self.count - 1
        short = self.count * self.chunk - self.layout.size if self._present[last] else 0
        return int(np.count_nonzero(self._present)) * self.chunk - short

    def has(self, k: int) -> bool:
        """Whether a chunk has a file."""
        return bool(self._present[k])

    def read(self, k: int) -> Chunk:
        """A chunk from its file, or from those that were read last."""
        with self._guard:
            if k in self._cache:
                self._cache.move_to_end(k)
                return self._cache[k]
        chunk = self.files.read(k)
        with self._guard:
            if k not in self._cache:
                self._cache[k] = chunk
                self._cached += chunk.nbytes
            while self._cached > CACHE and len(self._cache) > 1:
                self._cached -= self._cache.popitem(last=False)[1].nbytes
        return chunk

    def sound(self, k: int) -> Chunk | None:
        """A chunk, or None if it is not there; one that is damaged counts as missing, with a warning."""
        try:
            return super().sound(k)
        except DamagedChunk as error:
            self._damaged.add(k)
            self._present[k] = False
            warnings.warn(str(error), RuntimeWarning, stacklevel=2)
        return None

    def put(self, chunk: Chunk) -> None:
        """Write a chunk."""
        self.files.write(chunk)
        self.wrote(chunk.block.start // self.chunk)

    def wrote(self, k: int) -> None:
        """A worker has written this chunk."""
        self._damaged.discard(k)
        self._present[k] = True

    def look(self) -> None:
        """See what others have written meanwhile."""
        self._present = self.files.present()
        self._present[list(self._damaged)] = False

    def __getstate__(self) -> Data:
        """Without what belongs to this process: locks, and what was read."""
        return {"folder": self.folder, "manifest": self.manifest}

    def __setstate__(self, state: Mapping[str, object]) -> None:
        self.__init__(**state)  # type: ignore[misc]


# --- the manifest ----------------------------------------------------------------------------------------------------


def _manifest(folder: Path) -> Manifest | None:
    path = folder / MANIFEST
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != "gyrod study":
            raise KeyError
        missing = [repr(key) for key in ("version", "identity", "chunk", "columns", "study") if key not in data]
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise NotADirectoryError(f"{str(folder)!r} is a file; a study needs a folder.") from None
    except OSError as error:
        raise StudyError(f"{_check.shown(str(path))} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError):
        raise StudyError(f"{str(path)!r} is not a manifest of a study of gyrod; choose another folder.") from None
    if missing:
        raise StudyError(
            f"{str(path)!r} is damaged: it has no {', '.join(missing)}. Put a copy of it in its place, or start the "
            "study again in another folder."
        )
    if data["version"] != VERSION:
        raise StudyError(f"{str(path)!r} is of version {data['version']}, this gyrod reads {VERSION}.")
    return cast("Manifest", data)


def _create(folder: Path, plan: Plan, chunk: int) -> Manifest:
    """Write the manifest of a new study; where another shard was first, take its."""
    foreign = [p.name for p in folder.iterdir() if not p.name.startswith((".", "lock")) and p.name != MANIFEST]
    if foreign and not (folder / MANIFEST).exists():
        raise StudyError(
            f"the folder {str(folder)!r} holds other things, such as {sorted(foreign)[0]!r}, and no study; choose "
            "another folder."
        )
    data: Manifest = {
        "format": "gyrod study", "version": VERSION, "gyrod": __version__, "isa": _core.isa(),
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "identity": plan.identity, "chunk": chunk, "columns": Layout.of(plan).data(), "study": plan.describe(),
    }  # fmt: skip
    new = folder / f".{MANIFEST}.{os.getpid()}"
    write_atomic(new, json.dumps(data, indent=1).encode())
    try:
        os.link(new, folder / MANIFEST)  # unlike a renaming, it does not replace
        new.unlink()
    except FileExistsError:
        new.unlink()
        data = _manifest(folder) or data
        _check_same(folder, data, plan, None)
    except OSError:  # a file system without hard links
        os.replace(new, folder / MANIFEST)
    return json.loads(json.dumps(data))  # type: ignore[no-any-return] # tuples as they will be read


def _check_same(folder: Path, manifest: Manifest, plan: Plan, chunk: int | None) -> None:
    if manifest["identity"] != plan.identity:
        found = differences(manifest["study"], json.loads(json.dumps(plan.describe())))
        raise StudyError(
            f"the folder {str(folder)!r} is of another study: {found or 'its functions differ'}. Choose another folder."
        )
    if chunk is not None and chunk != manifest["chunk"]:
        raise StudyError(
            f"chunk = {chunk} is not the {manifest['chunk']} with which the study in {str(folder)!r} was begun; "
            "leave it out."
        )
    versions = ("another version of gyrod", manifest["gyrod"], __version__)
    for told, there, here in (versions, ("another instruction set", manifest["isa"], _core.isa())):
        if there != here:
            warnings.warn(
                f"the study in {str(folder)!r} was begun with {told} ({there}, here {here}): runs may differ "
                "in their last digits from those that are there.",
                RuntimeWarning,
                stacklevel=2,
            )


class _writing:
    """A sentence for a folder that cannot be written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (FileExistsError, NotADirectoryError)) and not self.folder.is_dir():
            raise NotADirectoryError(
                f"{str(self.folder)!r} is a file, or lies in one; a study needs a folder."
            ) from None
        if isinstance(error, OSError) and error.errno is not None:
            why = os.strerror(error.errno).lower()
            raise type(error)(f"the folder {str(self.folder)!r} cannot be written: {why}.") from None


def default_chunk(layout: Layout, workers: int, lanes: int) -> int:
    """Runs of a chunk where none are given: about a hundred, so that all workers have some and files are not too many.

    A multiple of 8, the lanes of a vector, unless a study is so small that workers would be idle.
    """
    size, step = layout.size, max(8, lanes)
    wanted = max(96, -(-size // 10_000))
    wanted = min(wanted, max(step, (1 << 24) // layout.row))  # at most 16 MB
    share = -(-size // (4 * max(workers, 1)))  # four for each worker
    if share < step:
        return share if lanes == 1 else step
    return min(-(-wanted // step), share // step) * step
