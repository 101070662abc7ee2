"""The table of all runs: columns that are read from chunks on access."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod.model import ModelError
from gyrod.studies.blocks import COUNTERS, STATUSES
from gyrod.studies.chunks import RESERVED
from gyrod.studies.store import Layout, Store

if TYPE_CHECKING:
    from gyrod._check import AnyArray
    from gyrod.studies.design import Column, Design

_ENTRY = re.compile(r"(.+?)\s*\[\s*(-?\d{1,9}(?:\s*,\s*-?\d{1,9})*)\s*\]", re.ASCII | re.DOTALL)
#: How a run ended, and of those that are not there.
NAMES = np.array([*STATUSES, "missing"])
MISSING = len(STATUSES)


def axes(layout: Layout) -> dict[str, tuple[str, ...]]:
    """Names of the axes of columns beside that of the runs: "tip_0", and of curves "tip_t" first."""
    shapes = {**{name: shape for name, (_, shape) in layout.parameters.items()}, **layout.outputs}
    found = {name: tuple(f"{name}_{i}" for i in range(len(shape))) for name, shape in shapes.items()}
    return found | {name: (f"{name}_t", *found[name][:-1]) for name in layout.times}


def parted(name: str, shapes: Mapping[str, tuple[int, ...]]) -> tuple[str, tuple[int, ...]]:
    """From "tip[2]" to "tip" and (2,), where there is a column "tip"; other names stay as they are."""
    match = _ENTRY.fullmatch(name) if isinstance(name, str) and name not in shapes else None
    if match is None or match[1] not in shapes:
        return name, ()
    shape, index = shapes[match[1]], tuple(int(i) for i in match[2].split(","))
    if len(index) > len(shape) or not all(-n <= i < n for i, n in zip(index, shape, strict=False)):
        has = f"has the shape {shape}" if shape else "is a single number"
        raise ValueError(f"{name!r} is not an entry of a run: {match[1]!r} {has}.")
    return match[1], tuple(i % n for i, n in zip(index, shape, strict=False))


def check_names(layout: Layout) -> None:
    """Refuse names that the table of all runs has already."""
    problems = []
    for name in dict.fromkeys([*layout.parameters, *layout.outputs]):
        kind = "parameter" if name in layout.parameters else "output"
        if name in RESERVED:
            problems.append(
                f"{kind} {name!r}: every study has a column of that name ({', '.join(RESERVED)}); rename it."
            )
        elif name in layout.parameters and name in layout.outputs:
            problems.append(f"{name!r} is a parameter and an output; rename the output.")
    taken = {*layout.parameters, *layout.outputs}
    for name, dims in axes(layout).items():
        problems += [f"{dim!r} is the axis of {name!r}; rename what is called so." for dim in dims if dim in taken]
    if problems:
        raise ModelError(problems)


class Columns:
    """Rows of any column of the table, chunk by chunk."""

    def __init__(self, store: Store, design: Design | None) -> None:
        self.store, self.design = store, design
        layout = store.layout
        self.size = layout.size
        #: Type and shape of each column.
        self.kinds: dict[str, tuple[np.dtype[np.generic], tuple[int, ...]]] = {
            **{name: (np.dtype(kind), shape) for name, (kind, shape) in layout.parameters.items()},
            **{name: (np.dtype(float), shape) for name, shape in layout.outputs.items()},
            "status": (NAMES.dtype, ()),
            "error": (np.dtype(object), ()),
            "t": (np.dtype(float), ()),
            **{name: (np.dtype(np.int64), ()) for name in COUNTERS},
            "seconds": (np.dtype(float), ()),
        }
        if design is None:  # then nobody knows the parameters of runs that are not there, and integers have no NaN
            whole = len(store.present()) == store.count
            for name in () if whole else layout.parameters:
                self.kinds[name] = (np.dtype(float), self.kinds[name][1])

    def take(self, name: str, rows: int | slice | NDArray[np.intp]) -> Column:
        """Rows of a column: one, a slice of all, or those with these numbers."""
        kind, shape = self.kinds[name]
        if isinstance(rows, (int, np.integer)):
            k = int(rows) // self.store.chunk
            return np.asarray(self._chunk(name, k)[int(rows) - k * self.store.chunk])
        count = len(range(self.size)[rows]) if isinstance(rows, slice) else len(rows)
        found = np.empty((count, *shape), kind)
        for k, places, inside in self._parts(rows):
            found[places] = self._chunk(name, k)[inside]
        return found

    def _parts(
        self, rows: slice | NDArray[np.intp]
    ) -> Iterator[tuple[int, slice | NDArray[np.intp], slice | NDArray[np.intp]]]:
        """Chunk after chunk: its number, places in the result, rows inside of the chunk."""
        n = self.store.chunk
        if not isinstance(rows, slice):
            chunks = rows // n
            for k in np.unique(chunks).tolist():
                places = np.flatnonzero(chunks == k)
                yield k, places, rows[places] - k * n
            return
        wanted = range(self.size)[rows]
        at = 0
        while at < len(wanted):
            k = wanted[at] // n
            if wanted.step > 0:
                more = -(-((k + 1) * n - wanted[at]) // wanted.step)
            else:
                more = (wanted[at] - k * n) // -wanted.step + 1
            part = wanted[at : at + more]
            end = part.stop - k * n
            yield k, slice(at, at + len(part)), slice(part.start - k * n, None if end < 0 else end, part.step)
            at += len(part)

    def _chunk(self, name: str, k: int) -> AnyArray:
        """A column of a chunk; of one that is not there what is known of it."""
        kind, shape = self.kinds[name]
        if (chunk := self.store.sound(k)) is not None:
            column = chunk.column(name)
            return NAMES[column] if name == "status" else column
        a, b = self.store.span(k)
        if name in self.store.layout.parameters and self.design is not None:
            return self.design.parameters(a, b)[name]
        blank: str | float = {"status": NAMES[MISSING], "error": ""}.get(name, 0 if kind.kind == "i" else np.nan)
        return np.full((b - a, *shape), blank, kind)
