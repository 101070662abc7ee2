"""Chunk files: consecutive runs of a study with their parameters; written whole or not at all, checked when read.

A chunk is an archive of NumPy (``numpy.load`` opens it): ``rows``, one record for each run with parameters, outputs,
status, time, counters and seconds as fields; and ``chunk.json``, which says whose runs they are and why some failed.
"""

from __future__ import annotations

import errno
import io
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gyrod import _check
from gyrod.storage.checkpoint import beside
from gyrod.studies.blocks import COUNTERS, STATUSES, Block

#: Of the layout of chunk files and of the folder.
VERSION = 1
#: Name of the manifest.
MANIFEST = "study.json"
#: Chunk files in one subfolder, at most.
PER_FOLDER = 1000
#: Names in the table of all runs that parameters and outputs cannot have.
RESERVED = ("run", "status", "error", "t", *COUNTERS, "seconds")

Column = _check.AnyArray


class DamagedChunk(OSError):
    """A chunk file that is cut, altered, or of another study."""


@dataclass(frozen=True)
class Chunk:
    """Results of consecutive runs with their parameters, each (n,) or (n, ...)."""

    block: Block
    parameters: dict[str, Column]

    @property
    def failed(self) -> int:
        """Number of runs that failed or were refused."""
        return int(np.count_nonzero(self.block.status >= STATUSES.index("failed")))

    @property
    def nbytes(self) -> int:
        """About its size in memory."""
        b = self.block
        columns = (*self.parameters.values(), *b.outputs.values(), *b.counters.values(), b.status, b.t, b.seconds)
        return sum(c.nbytes for c in columns) + 8 * len(b)

    def column(self, name: str) -> Column:
        """One column of the table of all runs, (n, ...); `RESERVED` names the ones that every study has."""
        b = self.block
        if name == "error":
            return np.array(b.errors, dtype=object)
        own: dict[str, Column] = {"status": b.status, "t": b.t, "seconds": b.seconds, **b.counters}
        return own[name] if name in own else b.outputs[name] if name in b.outputs else self.parameters[name]


def joined(blocks: list[Block]) -> Block:
    """Blocks that follow each other as one."""
    first = blocks[0]
    return Block(
        first.start,
        blocks[-1].stop,
        {name: np.concatenate([b.outputs[name] for b in blocks]) for name in first.outputs},
        np.concatenate([b.status for b in blocks]),
        tuple(error for b in blocks for error in b.errors),
        np.concatenate([b.t for b in blocks]),
        {name: np.concatenate([b.counters[name] for b in blocks]) for name in first.counters},
        np.concatenate([b.seconds for b in blocks]),
    )


def encode(chunk: Chunk, identity: str) -> bytes:
    """The bytes of a chunk file."""
    b = chunk.block
    columns = {**chunk.parameters, **b.outputs, "status": b.status, "t": b.t, **b.counters, "seconds": b.seconds}
    rows = np.empty(len(b), [(name, c.dtype, c.shape[1:]) for name, c in columns.items()])
    for name, column in columns.items():
        rows[name] = column
    head = {
        "version": VERSION, "identity": identity, "start": b.start, "stop": b.stop,
        "parameters": list(chunk.parameters), "outputs": list(b.outputs), "counters": list(b.counters),
        "errors": {i: text for i, text in enumerate(b.errors) if text},
    }  # fmt: skip
    raw, archive = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array(raw, rows, version=(3, 0), allow_pickle=False)  # 3.0: names in any script
    with zipfile.ZipFile(archive, "w") as file:
        # A ZipInfo of its own has a fixed date: the same chunk is the same file.
        file.writestr(zipfile.ZipInfo("chunk.json"), json.dumps(head))
        file.writestr(zipfile.ZipInfo("rows.npy"), raw.getbuffer())
    return archive.getvalue()


def decode(data: bytes) -> tuple[str, Chunk]:
    """Identity of the study and chunk; anything but a whole chunk file is a `DamagedChunk`."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:  # which checks the sums of what it reads
            head = json.loads(file.read("chunk.json"))
            if head["version"] != VERSION:
                raise DamagedChunk(f"it is of version {head['version']}, this gyrod reads {VERSION}")
            rows = np.lib.format.read_array(io.BytesIO(file.read("rows.npy")), allow_pickle=False)
        start, stop = int(head["start"]), int(head["stop"])
        if len(rows) != stop - start:
            raise DamagedChunk("it does not hold the runs that it says")
        errors = [""] * len(rows)
        for i, text in head["errors"].items():
            errors[int(i)] = text
        fields = {name: np.ascontiguousarray(rows[name]) for name in rows.dtype.names or ()}
        block = Block(
            start, stop, {name: fields[name] for name in head["outputs"]}, fields["status"], tuple(errors),
            fields["t"], {name: fields[name] for name in head["counters"]}, fields["seconds"],
        )  # fmt: skip
        return str(head["identity"]), Chunk(block, {name: fields[name] for name in head["parameters"]})
    except DamagedChunk:
        raise
    except Exception as error:  # a cut or foreign file can look like anything
        raise DamagedChunk("it is cut or not a chunk of gyrod") from error


def write_whole(path: Path, data: bytes) -> None:
    """Write a file under another name, down to the disk, and rename it.

    The folder is not synchronised, unlike for checkpoints: a new name that is lost with the power costs its runs again.
    """
    new = beside(path)
    try:
        with open(new, "xb", buffering=0) as file:
            left = memoryview(data)
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


@dataclass(frozen=True)
class ChunkFiles:
    """The chunk files of a study: file k holds the runs k * chunk to (k + 1) * chunk; picklable, for workers."""

    folder: Path
    identity: str
    size: int
    chunk: int

    @property
    def count(self) -> int:
        """Number of chunks of the whole study."""
        return -(-self.size // self.chunk)

    def span(self, k: int) -> tuple[int, int]:
        """First run of a chunk, and the one behind its last."""
        return k * self.chunk, min((k + 1) * self.chunk, self.size)

    def path(self, k: int) -> Path:
        """File of a chunk."""
        return self.folder / "chunks" / f"{k // PER_FOLDER:04d}" / f"{k:012d}.npz"

    @property
    def vanished(self) -> bool:
        """Whether the manifest is gone, without which nobody can open what is there."""
        return not (self.folder / MANIFEST).exists()

    def write(self, chunk: Chunk) -> None:
        """Write a chunk; at any moment its file is there whole or not at all. Not into a folder that has vanished."""
        if self.vanished:
            raise FileNotFoundError(errno.ENOENT, f"the folder has vanished, or {MANIFEST} in it")
        path = self.path(chunk.block.start // self.chunk)
        data = encode(chunk, self.identity)
        try:
            write_whole(path, data)
        except FileNotFoundError:  # the first one of its folder
            for folder in (path.parent.parent, path.parent):  # but never that of the study itself
                folder.mkdir(exist_ok=True)
            write_whole(path, data)

    def read(self, k: int) -> Chunk:
        """Read and check a chunk; `DamagedChunk` if it is not what it should be."""
        path = self.path(k)
        try:
            identity, chunk = decode(path.read_bytes())
            if identity != self.identity:
                raise DamagedChunk("it is of another study")
            if (chunk.block.start, chunk.block.stop) != self.span(k):
                raise DamagedChunk(f"it holds the runs {chunk.block.start} to {chunk.block.stop - 1}")
        except DamagedChunk as error:
            raise DamagedChunk(f"{str(path)!r} cannot be used: {error}; resume=True runs its runs again.") from None
        return chunk

    def present(self) -> NDArray[np.bool_]:
        """Which chunks have a file, (count,)."""
        found = np.zeros(self.count, dtype=bool)
        for path in (self.folder / "chunks").glob("[0-9]*/[0-9]*.npz"):
            k = int(path.stem) if path.stem.isdecimal() else -1
            if 0 <= k < self.count and path == self.path(k):
                found[k] = True
        return found

    def sweep(self, shard: tuple[int, int] = (0, 1)) -> None:
        """Remove what killed writers left; with a shard (i, n) only of its own chunks, others may be writing."""
        for path in (self.folder / "chunks").glob("[0-9]*/.*.npz.*"):
            number = path.name[1:].split(".")[0]
            if not number.isdecimal() or int(number) % shard[1] == shard[0]:
                path.unlink(missing_ok=True)
