"""The table of all runs as an xarray.Dataset; this module is imported on demand."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
import xarray
from xarray.backends import BackendArray
from xarray.core import indexing

from gyrod.studies.blocks import COUNTERS
from gyrod.studies.columns import Columns, axes
from gyrod.studies.store import Memory

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from xarray.core.indexing import ExplicitIndexer

    from gyrod._check import AnyArray


class LazyColumn(BackendArray):
    """A column that xarray indexes first and reads then."""

    def __init__(self, columns: Columns, name: str) -> None:
        self.columns, self.name = columns, name
        self.dtype, shape = columns.kinds[name]
        self.shape = (columns.size, *shape)

    def __getitem__(self, key: ExplicitIndexer) -> AnyArray:
        outer = indexing.IndexingSupport.OUTER
        found: AnyArray = indexing.explicit_indexing_adapter(key, self.shape, outer, self._read)
        return found

    def _read(self, key: tuple[int | slice | NDArray[np.intp], ...]) -> AnyArray:
        first, *rest = key
        found = self.columns.take(self.name, first)
        lead = 0 if isinstance(first, (int, np.integer)) else 1
        for axis in reversed(range(len(rest))):  # from the last: a number takes its axis away
            found = found[(slice(None),) * (lead + axis) + (rest[axis],)]
        return found


def dataset(columns: Columns) -> xarray.Dataset:
    """All runs along "run"; of a folder data are read on access."""
    layout = columns.store.layout
    at_once = isinstance(columns.store, Memory)

    def variable(name: str) -> xarray.Variable:
        lazy = indexing.LazilyIndexedArray(LazyColumn(columns, name))
        values = columns.take(name, slice(None)) if at_once else lazy
        return xarray.Variable(("run", *axes(layout).get(name, ())), values)

    coords: dict[str, object] = {"run": import_module("pandas").RangeIndex(columns.size)}
    coords |= {name: variable(name) for name in layout.parameters}
    for name, t in layout.times.items():
        time = axes(layout)[name][0]
        coords[time] = xarray.Variable((time,), np.array(t), {"units": "s"})
    found = {name: variable(name) for name in (*layout.outputs, "status", "error", "t", *COUNTERS, "seconds")}
    for name in ("t", "seconds"):
        found[name].attrs["units"] = "s"
    # One text each: netCDF has no lists of texts.
    attrs = {"parameters": ", ".join(layout.parameters), "outputs": ", ".join(layout.outputs)}
    return xarray.Dataset(found, coords, attrs)
