"""How a result file is laid out: names, series that grow, and sentences for what goes wrong with files.

A file has two groups: ``/VTKHDF``, which ParaView and VTK read (see `frames`), and ``/gyrod``, from which a motion is
made again. Series grow in few large pieces, each allocated on disk before anything is written into it, so that adding a
block changes no structure of the file: what a kill or a full disk interrupts is numbers that nobody counts yet.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gyrod.storage.locks import same_file

#: Version of the layout of ``/gyrod``; a reader refuses newer ones.
VERSION = 1
#: Names of the counters in the attribute ``counts``: items of the series that are valid.
COUNTERS = ("rows", "steps", "flows", "newton", "midpoints", "dense", "events", "frames", "knots")
#: Series of ``/gyrod``: the counter that tells how many of its items are valid, and their type.
SERIES = {
    "t": ("rows", "f8"),
    "y": ("rows", "f8"),
    "steps": ("steps", "f8"),
    "dissipated": ("flows", "f8"),
    "work": ("flows", "f8"),
    "balance": ("flows", "f8"),
    "newton": ("newton", "i4"),
    "midpoints/t": ("midpoints", "f8"),
    "midpoints/energy": ("midpoints", "f8"),
    "dense": ("dense", "f8"),
    "knots/t": ("knots", "f8"),
    "knots/y": ("knots", "f8"),
    "events/event": ("events", "i8"),
    "events/t": ("events", "f8"),
    "events/y": ("events", "f8"),
    "events/name": ("events", "S64"),
}
#: Texts that may be long, and are datasets therefore; the others are attributes.
TEXTS = ("model", "model_missing", "info", "objects")
#: Series whose items are more than a number: their axes; and those that a file need not have.
AXES, OPTIONAL = {"y": 2, "dense": 3, "events/y": 2, "knots/y": 2}, ("dense", "knots/t", "knots/y")
#: Attributes that are written again at the end, in place: their lengths.
LENGTHS = {"status": 64, "stats": 1000}
#: Bytes of a chunk, about; and by how many bytes a series grows at most.
CHUNK, GROWTH = 1 << 19, 1 << 26
#: Bytes of structure that growing may need besides the numbers.
MARGIN = 1 << 20
#: No write is gathered in a cache of chunks: rows go straight to their place in the file. The locks of HDF5 would keep
#: readers out while a run writes; `locks.Lock` keeps out other runs only.
OPEN = {"rdcc_nbytes": 0, "libver": ("earliest", "v110"), "locking": False}
#: What the system says when a disk, a quota or the size of a file is exhausted.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Series:
    """A dataset along whose first axis items are added; one item is ``unit`` entries.

    ``law`` gives the items from one number to another where they are known before; they are written when it grows.
    """

    def __init__(
        self, dataset: Any, counter: str, unit: int = 1, *, law: Callable[[int, int], NDArray[Any]] | None = None,
        expected: int | None = None,
    ) -> None:  # fmt: skip
        self.dataset, self.counter, self.unit, self.law, self.expected = dataset, counter, unit, law, expected
        self.shape, self.type = dataset.shape[1:], dataset.dtype
        self.item: int = self.type.itemsize * int(np.prod(self.shape, dtype=np.int64)) * unit
        self.chunk = int(dataset.chunks[0]) // unit
        #: Items that fit without growing.
        self.capacity = int(dataset.shape[0]) // unit

    @classmethod
    def create(
        cls, group: Any, name: str, counter: str, shape: tuple[int, ...] = (), dtype: Any = "f8", *, unit: int = 1,
        expected: int | None = None, law: Callable[[int, int], NDArray[Any]] | None = None,
    ) -> Series:  # fmt: skip
        """An empty series of items (unit, *shape); ``expected``: how many there will be, if that is known."""
        from h5py import h5d, h5p, h5s, h5t

        kind = np.dtype(dtype)
        item = max(1, kind.itemsize * int(np.prod(shape, dtype=np.int64)) * unit)
        items = max(1, min(CHUNK // item, 4096 if expected is None else max(expected, 1)))
        plist = h5p.create(h5p.DATASET_CREATE)
        plist.set_chunk((items * unit, *shape))
        plist.set_alloc_time(h5d.ALLOC_TIME_EARLY)
        plist.set_fill_time(h5d.FILL_TIME_NEVER)
        space = h5s.create_simple((0, *shape), (h5s.UNLIMITED, *shape))
        group = group.require_group(name.rpartition("/")[0]) if "/" in name else group
        leaf = name.rpartition("/")[2]
        h5d.create(group.id, leaf.encode(), h5t.py_create(kind, logical=True), space, plist)
        return cls(group[leaf], counter, unit, law=law, expected=expected)

    def grown(self, count: int) -> int:
        """The capacity that ``count`` items ask for: whole chunks, but not beyond what is expected."""
        if count <= self.capacity:
            return self.capacity
        wanted = max(count, min(2 * self.capacity, self.capacity + GROWTH // self.item))
        wanted = -(-wanted // self.chunk) * self.chunk
        return wanted if self.expected is None else min(wanted, max(self.expected, count))

    def more(self, items: int) -> int:
        """Bytes that a capacity of so many items takes beyond the present one: chunks are whole."""
        return (-(-items // self.chunk) + -self.capacity // self.chunk) * self.chunk * self.item

    def resize(self, items: int) -> None:
        """Make room for, or cut to, so many items."""
        before = self.capacity
        if items == before:
            return
        self.dataset.resize(items * self.unit, axis=0)
        self.capacity = items
        if self.law is not None and items > before:
            self.write(before, self.law(before, items))

    def write(self, at: int, values: NDArray[Any]) -> None:
        """Put items behind the first ``at`` ones."""
        from h5py import h5s

        if not len(values):
            return
        block = np.ascontiguousarray(values, dtype=self.type)
        place = self.dataset.id.get_space()
        place.select_hyperslab((at * self.unit, *(0 for _ in self.shape)), block.shape)
        self.dataset.id.write(h5s.create_simple(block.shape), place, block)


def allocate(file: Any, needed: int) -> None:
    """Take ``needed`` bytes behind the end of an open file from the disk, or raise OSError before anything changes.

    The file is longer, too, before its structure says so: in no moment does it look cut off.
    """
    handle = file.id.get_vfd_handle()
    size = os.fstat(handle).st_size
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, size, needed)
        else:
            os.ftruncate(handle, size + needed)
    except OSError:
        os.ftruncate(handle, size)
        raise


def trim(file: Any) -> None:
    """Give back what was allocated and not taken, after a flush."""
    handle, size = file.id.get_vfd_handle(), file.id.get_filesize()
    if os.fstat(handle).st_size > size:
        os.ftruncate(handle, size)


def gone(file: Any, path: Path) -> bool:
    """Whether an open file lost its name: it was removed or moved, or another one was put there."""
    return not same_file(path, file.id.get_vfd_handle())


def run_of(file: Any) -> str:
    """What tells the run in an open file from all others; a blank in files that were written before there was any."""
    return text(file["gyrod"].attrs.get("run", ""))


def fixed(value: str, length: int = 1) -> np.bytes_:
    """A text as bytes of a fixed length: those of a variable one lie in a heap in which damage makes HDF5 walk on."""
    return np.bytes_(value.encode().ljust(length))


def text(value: Any) -> str:
    """What `fixed` made of a text."""
    return value.decode("utf-8").strip() if isinstance(value, bytes) else str(value)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what h5py says about a file that it cannot read into one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {str(path)!r}.") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{str(path)!r} is a folder, not a result file.") from None
    except PermissionError:
        raise PermissionError(f"{str(path)!r} may not be opened: permission denied.") from None
    except (OSError, KeyError, RuntimeError, TypeError, AttributeError, MemoryError, IndexError) as error:
        raise OSError(f"{str(path)!r} is damaged, or no result file of gyrod: {_first(error)}") from None


def _first(error: BaseException) -> str:
    """The first line of an error, without the brackets of h5py and without a full stop."""
    line = str(error).strip().strip("\"'").splitlines()
    return (line[0] if line else type(error).__name__).rstrip(".") + "."
