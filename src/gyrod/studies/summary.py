"""A study as a short table: how runs ended, ranges of parameters and outputs, what it cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gyrod.studies.blocks import STATUSES
from gyrod.studies.store import Store

#: Runs of which ranges are listed; of more, chunks that are evenly spread.
MOST = 1_000_000
#: Entries of an output that are listed.
ENTRIES = 4


def summary(store: Store) -> str:
    """Some lines of text; medians and ranges are those of the runs that reached an output."""
    present = store.present()
    chosen = present[:: max(1, -(-len(present) * store.chunk // MOST))]
    counts, seconds, first = np.zeros(len(STATUSES), np.int64), 0.0, ""
    values: dict[str, list[NDArray[np.float64]]] = {}
    empty: dict[str, int] = {}
    for k in chosen:
        if (chunk := store.sound(k)) is None:
            continue
        counts += np.bincount(chunk.block.status, minlength=len(STATUSES))
        seconds += float(chunk.block.seconds.sum())
        for i in np.flatnonzero(chunk.block.status >= STATUSES.index("failed"))[:1].tolist() if not first else ():
            first = f"run {chunk.block.start + i}: {chunk.block.errors[i]}"
        for name in (*store.layout.parameters, *store.layout.outputs):
            for label, column in _entries(name, chunk.column(name), name in store.layout.times):
                numbers = np.asarray(column, dtype=float)
                values.setdefault(label, []).append(numbers)
                # Runs that failed are counted above; these went well, and what was asked for did not happen in them.
                without = np.isnan(numbers) & (chunk.block.status < STATUSES.index("failed"))
                empty[label] = empty.get(label, 0) + int(np.count_nonzero(without))
    told = [f"{n} {name}" for name, n in zip(STATUSES, counts.tolist(), strict=True) if n]
    missing = store.layout.size - store.done
    told += [f"{missing} missing"] if missing else []
    lines = [f"study of {store.layout.size} runs: {', '.join(told) or 'none'}; {seconds:.3g} CPU s"]
    if len(chosen) < len(present):
        lines[0] += f" (of {int(counts.sum())} runs that were looked at)"
    lines += _table(values, empty)
    lines += [f"  {first}"] if first else []
    return "\n".join(lines)


def _entries(name: str, column: NDArray[np.generic], curve: bool) -> list[tuple[str, NDArray[np.generic]]]:
    """The entries of a column, one by one if they are few; of a curve its last values."""
    if curve:
        return [(f"{label}, last", c) for label, c in _entries(name, column[:, -1], False)]
    flat = column.reshape(len(column), -1)
    if column.ndim == 1:
        return [(name, column)]
    places = [", ".join(map(str, at)) for at in np.ndindex(column.shape[1:])]
    return [(f"{name}[{place}]", flat[:, i]) for i, place in enumerate(places[:ENTRIES])]


def _table(values: dict[str, list[NDArray[np.float64]]], empty: dict[str, int]) -> list[str]:
    width = max([len(label) for label in values] + [9])
    lines = [f"  {'':{width}} {'min':>12} {'median':>12} {'max':>12}"] if values else []
    for label, parts in values.items():
        column = np.concatenate(parts)
        known = column[~np.isnan(column)]
        told = ["nan"] * 3
        if len(known):
            told = [f"{x:.6g}" for x in (known.min(), np.median(known), known.max())]
        without = f"   {empty[label]} without a value" if empty[label] else ""
        lines.append(f"  {label:{width}} {' '.join(f'{x:>12}' for x in told)}{without}")
    return lines
