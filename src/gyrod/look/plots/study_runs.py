"""Columns of the table of a study, as its pictures need them: by name, by entry, with units; who has no value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod import _check
from gyrod._check import Array
from gyrod.look.plots import study_panels as panels
from gyrod.look.plots.style import MANY, Unit, unit

if TYPE_CHECKING:
    import xarray as xr

#: Variables that say how a run went, not what came out.
COSTS = ("status", "error", "t", "seconds", "steps", "rejected", "rhs", "jacobians")
#: Runs beyond which evenly spread ones are taken.
MOST = 200_000
#: Entries that are smaller beside the largest are rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Column:
    """A number for each run: label, values in the unit of the picture, and that unit."""

    name: str
    values: Array
    unit: Unit
    #: The parameter or output that it is an entry of.
    source: str
    #: Whether it was drawn from a distribution; None where that is not known.
    sampled: bool | None = None

    @property
    def label(self) -> str:
        """The label of an axis."""
        return self.unit.label(panels.broken(self.name))

    @cached_property
    def levels(self) -> Array:
        """The values that occur, sorted; without NaN."""
        return np.unique(self.values[np.isfinite(self.values)])

    @property
    def listed(self) -> bool:
        """Whether it has the values of a list; where that is not known, whether a few occur again and again."""
        if self.sampled is None:
            return len(self.levels) <= 200 and self.repeated
        return not self.sampled and len(self.levels) <= 200

    @property
    def repeated(self) -> bool:
        """Whether values occur twice or more."""
        return 2 * len(self.levels) <= len(self.values)

    @property
    def varies(self) -> bool:
        """Whether it has more than one value."""
        return len(self.levels) > 1

    @property
    def heaps(self) -> bool:
        """Whether its values are few enough to be counted one by one."""
        most = min(12, len(self.values) // 4) if self.sampled is None else 0 if self.sampled else 30
        return 1 < len(self.levels) <= most

    @property
    def log(self) -> bool:
        """Whether a logarithmic axis shows it better: positive over orders of magnitude."""
        return panels.logarithmic(self.levels)


class Runs:
    """Columns of a dataset by name; those that failed; what a picture says about its size."""

    def __init__(self, dataset: xr.Dataset, sampled: Sequence[str] | None = None) -> None:
        self.sampled = sampled
        if "run" not in getattr(dataset, "dims", ()):
            raise ValueError("dataset must be an xarray.Dataset with the dimension 'run'.")
        self.whole = int(dataset.sizes["run"])
        if self.whole == 0:
            raise ValueError("the study has no runs, so there is nothing to draw.")
        # Beyond so many nothing new can be seen, and columns are read from files.
        self.dataset = dataset if self.whole <= MOST else dataset.isel(run=panels.thin(self.whole, MOST))
        self.size = int(self.dataset.sizes["run"])
        if self.missing.all():
            raise ValueError("no run of the study is done yet, so there is nothing to draw.")

    @cached_property
    def parameters(self) -> list[str]:
        """Names of the parameters."""
        given = panels.named(self.dataset, "parameters")
        if given is not None:
            return given
        return [str(n) for n, x in self.dataset.coords.items() if n != "run" and x.dims[:1] == ("run",)]

    @cached_property
    def outputs(self) -> list[str]:
        """Names of the outputs."""
        given = panels.named(self.dataset, "outputs")
        if given is not None:
            return given
        return [
            str(n)
            for n, x in self.dataset.data_vars.items()
            if n not in COSTS and x.dims[:1] == ("run",) and x.dtype.kind in "fiu"
        ]

    @cached_property
    def failed(self) -> NDArray[np.bool_]:
        """Runs that ended with an error, (n,)."""
        if "status" in self.dataset:
            return np.isin(np.asarray(self.dataset["status"]), ("failed", "refused"))
        errors = self.dataset["error"].values if "error" in self.dataset else [""] * self.size
        return np.array([bool(x) for x in errors])

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Runs that are not there yet, (n,)."""
        if "status" not in self.dataset:
            return np.zeros(self.size, dtype=bool)
        return np.asarray(np.asarray(self.dataset["status"]) == "missing")

    def is_curve(self, name: str) -> bool:
        """Whether an output is a curve over time."""
        x = self.dataset[name]
        return x.ndim > 1 and x.dims[1] in self.dataset.coords

    def columns(self, name: str) -> list[Column]:
        """A parameter or an output entry by entry."""
        x = self.dataset[name]
        values = np.asarray(x, dtype=float)
        scale = self.scale(name, values)
        sampled = None if self.sampled is None or name not in self.parameters else name in self.sampled
        return [
            Column(name + panels.place(i), scale.factor * values[(slice(None), *i)], scale, name, sampled)
            for i in np.ndindex(values.shape[1:])
        ]

    def scale(self, name: str, values: Array) -> Unit:
        """The unit that values are drawn in."""
        si = str(self.dataset[name].attrs.get("units", ""))
        known = values[np.isfinite(values)]
        if si:
            return unit(si, known)
        largest = float(np.abs(known).max(initial=0.0))
        if 1e-3 <= largest < 1e5 or largest == 0.0 or panels.logarithmic(np.unique(known)):
            return Unit(1.0, "")
        power = 3 * int(np.floor(np.log10(largest) / 3.0))
        return Unit(10.0**-power, f"$10^{{{power}}}$")

    def entry(self, name: str, argument: str, known: Sequence[str]) -> tuple[str, tuple[int, ...]]:
        """A name and the entry that it selects: "tip[2]" is ("tip", (2,))."""
        found = re.fullmatch(r"(.+)\[\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*\]", name)
        if name in known or found is None or found[1] not in known:
            return _check.choice(argument, name, known), ()
        return found[1], tuple(int(i) for i in found[2].split(","))

    def several(self, names: Sequence[str], argument: str, known: Sequence[str]) -> list[Column]:
        """Columns of names, of which each may be one entry ("tip[2]"), or several ("tips[2]" of a table)."""
        found = []
        for name in names:
            whole, at = self.entry(name, argument, known)
            columns = self.columns(whole)
            shape = self.dataset[whole].shape[1:]
            places = panels.within(shape, at)
            if places is None:
                raise ValueError(f"{argument} = {name!r} has no such entry; it has {panels.counted(shape)}.")
            found += [columns[k] for k, i in enumerate(np.ndindex(shape)) if i in places]
        return found

    def varied(self, name: str | None, argument: str) -> list[Column]:
        """Entries of a parameter that vary; its first one if none does. By default the first that was sampled."""
        if not self.parameters:
            raise ValueError(f"there is no {argument} to draw.")
        if name is None:
            found = [c for n in self.parameters for c in self.columns(n) if c.varies]
            return sorted(found, key=lambda c: not c.sampled)[:1] or self.columns(self.parameters[0])[:1]
        columns = self.several([name], argument, self.parameters)
        return [c for c in columns if c.varies] or columns[:1]

    def numbers(self, output: str | Sequence[str] | None, kind: str) -> list[Column]:
        """Columns of the chosen outputs; by default of all that are not curves."""
        names = [output] if isinstance(output, str) else list(output) if output is not None else None
        names = names if names is not None else [n for n in self.outputs if not self.is_curve(n)]
        if not names:
            raise ValueError(f"kind = {kind!r} draws outputs that are numbers, and the study has none.")
        found = self.several(names, "output", self.outputs)
        if output is None:  # entries that are nothing but rounding beside the others say nothing
            sizes = {c.name: float(np.abs(c.levels).max(initial=0.0)) for c in found}
            largest = max(sizes.values())
            found = [c for c in found if sizes[c.name] > ROUNDING * largest or "[" not in c.name] or found
        if len(found) > MANY and output is not None:
            raise ValueError(
                f"output = {output!r} has {len(found)} entries; name at most {MANY}, as '{found[0].name}'."
            )
        return found

    def empty(self, values: Array) -> NDArray[np.bool_]:
        """Runs that went well and have no value, (n,)."""
        without = ~np.isfinite(values).reshape(len(values), -1).any(axis=1)
        return np.asarray(without & ~self.failed & ~self.missing)

    def told(self, shown: Sequence[Column], *more: str) -> str:
        """How many runs are shown, how many there are, failed or have no value, and what else there is to say."""
        failed, missing = int(self.failed.sum()), int(self.missing.sum())
        counts = {c.name: int(self.empty(c.values).sum()) for c in shown}
        alike = len(set(counts.values())) == 1
        without = {name: n for name, n in counts.items() if n}
        runs = f"{self.whole} run{'s' if self.whole != 1 else ''}"
        if alike and without and self.size == self.whole:
            runs = f"{self.whole - failed - missing - max(without.values())} of {runs}"
        parts = [runs]
        parts += [f"{self.size} of them taken"] if self.size < self.whole else []
        parts += [f"{failed} failed"] if failed else []
        parts += [f"{missing} not done yet"] if missing else []
        parts += _without(without, alike)
        parts += more
        return ", ".join(part for part in parts if part)


def _without(counts: dict[str, int], alike: bool) -> list[str]:
    """How many runs have no value, of which output."""
    if alike:
        return [f"{n} without a value" for n in list(counts.values())[:1]]
    told = [f"{n} without a value of {name}" for name, n in list(counts.items())[:3]]
    return [*told, f"and more of {len(counts) - 3} others"] if len(counts) > 3 else told
