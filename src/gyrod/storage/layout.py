"""How a result file is laid out: names, series that grow, and sentences for what goes wrong with files.

A file has two groups: ``/VTKHDF``, which ParaView and VTK read (see `frames`), and ``/gyrod``, from which a motion is
made again. Series grow in few large pieces, each allocated on disk before anything is written into it, so that adding a
block changes no structure of the file: what a kill or a full disk interrupts is numbers that nobody counts yet.
"""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod.storage.locks import same_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    import h5py
    from numpy.typing import DTypeLike

    from gyrod._check import AnyArray

#: Version of the layout of ``/gyrod``; a reader refuses newer ones.
VERSION = 1
#: Names of the counters in the attribute ``counts``: items of the series that are valid.
COUNTERS = ("rows", "steps", "flows", "newton", "midpoints", "dense", "events", "frames", "checks", "knots")
#: Series of ``/gyrod``: the counter of its valid items, and their type.
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
    "checks": ("checks", "i8"),
}
#: Texts that may be long, and are datasets therefore; the others are attributes.
TEXTS = ("model", "model_missing", "info", "objects")
#: Series whose items are more than a number: their axes; and those that a file need not have.
AXES = {"y": 2, "dense": 3, "events/y": 2, "checks": 2, "knots/y": 2}
OPTIONAL = ("dense", "checks", "knots/t", "knots/y")
#: An item of ``checks``: number of a series in `SERIES`, first item, item behind the last, CRC-32 of those between.
CHECK, NUMBERS = (4,), {name: number for number, name in enumerate(SERIES)}
#: Bytes under one check sum, at most: so much is read for a single item. And bytes that are read at once.
CHECKED, READ = 1 << 16, 1 << 25
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
        self, dataset: h5py.Dataset, counter: str, unit: int = 1, *, law: Callable[[int, int], AnyArray] | None = None,
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
        cls, group: h5py.Group, name: str, counter: str, shape: tuple[int, ...] = (), dtype: DTypeLike = "f8",
        *, unit: int = 1, expected: int | None = None, law: Callable[[int, int], AnyArray] | None = None,
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

    def write(self, at: int, values: AnyArray) -> None:
        """Put items behind the first ``at`` ones."""
        from h5py import h5s

        if not len(values):
            return
        block = np.ascontiguousarray(values, dtype=self.type)
        place = self.dataset.id.get_space()
        place.select_hyperslab((at * self.unit, *(0 for _ in self.shape)), block.shape)
        self.dataset.id.write(h5s.create_simple(block.shape), place, block)


def checks_of(name: str, at: int, values: AnyArray) -> list[tuple[int, int, int, int]]:
    """Items of ``checks`` for those of a series from number ``at`` on."""
    step = max(1, CHECKED // max(1, values[:1].nbytes))
    parts = ((begin, values[begin : begin + step]) for begin in range(0, len(values), step))
    return [(NUMBERS[name], at + begin, at + begin + len(part), zlib.crc32(part.tobytes())) for begin, part in parts]


def checks_within(group: h5py.Group, counts: Mapping[str, int], valid: int) -> int:
    """How many of the first items of ``checks`` are of items below these counts."""
    table = _table(group, valid)
    limits = np.array([counts[counter] for counter, _ in SERIES.values()])
    beyond = np.flatnonzero(table[:, 2] > limits[np.clip(table[:, 0], 0, len(limits) - 1)])
    return int(beyond[0]) if len(beyond) else len(table)


class Checks:
    """The check sums of a file: which items have one, and what is wrong with those that were read."""

    def __init__(self, table: AnyArray, counts: Mapping[str, int]) -> None:
        #: First items, items behind the last, sums; by series, in the order of the items.
        self._found: dict[str, tuple[AnyArray, AnyArray, AnyArray]] = {}
        for name, (counter, _) in SERIES.items():
            rows = table[table[:, 0] == NUMBERS[name]]
            rows = rows[(rows[:, 1] >= 0) & (rows[:, 1] < rows[:, 2]) & (rows[:, 2] <= counts[counter])]
            # Events are written again when a run goes on: the last sum holds.
            begins, last = np.unique(rows[::-1, 1], return_index=True)
            if len(begins):
                self._found[name] = (begins, *rows[::-1][last, 2:].T)

    @classmethod
    def of(cls, group: h5py.Group, counts: Mapping[str, int]) -> Checks:
        """Those of ``/gyrod`` up to some counts; none in files that were written before there were any."""
        return cls(_table(group, counts["checks"]), counts)

    def __len__(self) -> int:
        return sum(len(begins) for begins, _, _ in self._found.values())

    def around(self, name: str, items: NDArray[np.intp]) -> list[tuple[int, int]]:
        """First item, and item behind the last one, of the check sums under which these items of a series are."""
        if name not in self._found:
            return []
        begins, ends, _ = self._found[name]
        used = np.unique(np.searchsorted(begins, items, side="right") - 1)
        return [(int(begins[k]), int(ends[k])) for k in used if k >= 0]

    def damaged(self, name: str, values: AnyArray, at: int = 0) -> list[str]:
        """Which of the items of a series from ``at`` on are not those that were written, in words."""
        wrong = []
        for begin, end, crc in zip(*self._found.get(name, ((), (), ())), strict=True):
            inside = at <= begin and end <= at + len(values)
            if inside and zlib.crc32(values[begin - at : end - at].tobytes()) != crc:
                wrong.append(f"items {begin} to {end - 1} of /gyrod/{name}")
        return wrong

    def verify(self, group: h5py.Group) -> list[str]:
        """The same for all of an open file."""
        found = []
        for name, (begins, ends, _) in self._found.items():
            step = max(1, READ // max(1, group[name].dtype.itemsize * int(np.prod(group[name].shape[1:]))))
            at = 0
            while at < len(begins):  # as many check sums at once as are read in one piece
                last = max(at + 1, int(np.searchsorted(ends, begins[at] + step, side="right")))
                found += self.damaged(name, np.asarray(group[name][begins[at] : ends[last - 1]]), int(begins[at]))
                at = last
        return found


def _table(group: h5py.Group, count: int) -> AnyArray:
    return np.asarray(group["checks"][:count]) if "checks" in group else np.zeros((0, 4), dtype=np.int64)


def damage(found: Sequence[str]) -> str:
    """What `Checks` found, for a sentence."""
    more = f" and {len(found) - 3} more blocks" if len(found) > 3 else ""
    return f"{', '.join(found[:3])}{more} are not the numbers that were written (CRC-32)"


def counted(attribute: Iterable[bytes | str]) -> dict[str, int]:
    """The attribute ``counts`` by names; files that were written before there were check sums and knots have fewer."""
    counts = [int(c) for c in attribute]
    if len(counts) >= COUNTERS.index("checks"):
        counts += [0] * (len(COUNTERS) - len(counts))
    if len(counts) != len(COUNTERS) or min(counts) < 0:
        raise OSError(f"its counts {counts} make no sense")
    return dict(zip(COUNTERS, counts, strict=True))


def allocate(file: h5py.File, needed: int) -> None:
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


def trim(file: h5py.File) -> None:
    """Give back what was allocated and not taken, after a flush."""
    handle, size = file.id.get_vfd_handle(), file.id.get_filesize()
    if os.fstat(handle).st_size > size:
        os.ftruncate(handle, size)


def gone(file: h5py.File, path: Path) -> bool:
    """Whether an open file lost its name: it was removed or moved, or another one was put there."""
    return not same_file(path, file.id.get_vfd_handle())


def run_of(file: h5py.File) -> str:
    """What identifies the run in an open file; a blank in files that were written before there was any."""
    return text(file["gyrod"].attrs.get("run", ""))


def fixed(value: str, length: int = 1) -> np.bytes_:
    """A text as bytes of a fixed length: those of a variable one lie in a heap in which damage makes HDF5 walk on."""
    return np.bytes_(value.encode().ljust(length))


def text(value: object) -> str:
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
