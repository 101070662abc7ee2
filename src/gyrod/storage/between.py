"""Between the rows of a file without dense output, or of a stepper: kinematics by cubics, forces from row to row.

A section force is the stiffness, say 1e7 N, times a strain, and the error of a cubic in it is no small part of the
force: forces are not those of the interpolated positions, but lie between those of accepted states (`Knots`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gyrod._check import Array
from gyrod.equations import Compiled
from gyrod.motion.between import Knots, cubic, integrals, parabola

#: An acceleration that is off the differences of the rows by so many times their change is not resolved by them.
ROUGH = 6.0


class Series(Protocol):
    """Where rows and what belongs to them come from: a result file, or arrays."""

    def count(self, counter: str, /) -> int:
        """Valid items of the series with this counter."""

    def series(self, name: str, /) -> Array:
        """All valid items of a series."""

    def items(self, name: str, index: NDArray[np.intp], /) -> Array:
        """Items of a series, (k, ...)."""


@dataclass(frozen=True)
class Kept:
    """Rows that a stepper keeps: times and unknowns at the ends of all steps."""

    t: Array
    y: Array

    def count(self, counter: str) -> int:
        """Rows, each the end of a step; nothing else."""
        return len(self.t) if counter in ("rows", "steps") else 0

    def series(self, name: str) -> Array:
        """ "t" or "y"."""
        return self.t if name == "t" else self.y

    def items(self, name: str, index: NDArray[np.intp]) -> Array:
        """Some of them."""
        return np.asarray(self.series(name)[index])


@dataclass(frozen=True)
class Flows:
    """Dissipated energy, work and balance as they were written."""

    file: Any

    @property
    def needed(self) -> bool:
        """False where they can be found from the rows, since these are the ends of the steps."""
        return bool(self.file.count("flows")) or self.file.count("steps") > self.file.count("rows")

    def __call__(self) -> tuple[Array, Array, Array]:
        """Each (n,); a sentence where they are not there and the rows are too few to find them."""
        rows, steps = self.file.count("rows"), self.file.count("steps")
        if self.file.count("flows") != rows:
            raise ValueError(
                f"{str(self.file.path)!r} has {rows} rows of {steps} steps, too few to find dissipated energy and "
                "work; ask for energy.dissipated before motion.save, or keep every step (leave out output)."
            )
        return self.file.series("dissipated"), self.file.series("work"), self.file.series("balance")


class Between:
    """Rows at times between those of a source: cubic Hermite, slopes by the right-hand side where it gives them."""

    def __init__(self, file: Series, compiled: Compiled) -> None:
        self.file, self.compiled = file, compiled
        self.moving = np.isin(compiled.kinds, ("velocity", "spin", "force"))

    @property
    def span(self) -> tuple[float, float]:
        """Between which times rows are known."""
        return float(self.t[0]), float(self.t[-1])

    @property
    def t(self) -> Array:
        """Times of the rows, (n,)."""
        return self.file.series("t")

    @property
    def knots(self) -> Knots | None:
        """Accepted states: those that were kept beside the rows, or the rows."""
        if isinstance(self.file, Kept) and not self.compiled.rods:  # forces on bodies jump with the inputs of a stepper
            return None
        t, y = ("knots/t", "knots/y") if self.file.count("knots") else ("t", "y")
        return Knots(self.file.series(t), lambda some: self.file.items(y, some))

    def __call__(self, times: Array) -> Array:
        """Rows (k, N)."""
        if not len(times):
            return np.zeros((0, self.compiled.size))
        t = self.t
        if len(t) == 1:
            return np.repeat(self.file.series("y"), len(times), axis=0)
        i = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2).astype(np.intp)
        at, back = np.unique(i, return_inverse=True)
        # All rows that are needed in one go: both ends, and their neighbours for differences.
        near = np.clip(at[:, None] + np.arange(-1, 3), 0, len(t) - 1)
        rows = self.file.items("y", near.ravel()).reshape(*near.shape, -1)
        h = (t[at + 1] - t[at])[:, None]
        # At its begin an interval has the slopes after a jump of inputs, which hold from there on.
        f0 = h * self._slopes(t[near[:, :3]], rows[:, :3], np.nextafter(t[at], np.inf))
        f1 = h * self._slopes(t[near[:, 1:]], rows[:, 1:], t[at + 1])
        h, a, b, f0, f1 = (part[back] for part in (h, rows[:, 1], rows[:, 2], f0, f1))
        return cubic((times - t[i])[:, None] / np.where(h > 0.0, h, 1.0), a, b, f0, f1)

    def _slopes(self, t: Array, y: Array, when: Array) -> Array:
        """y' at the second of three rows, (k, N), from t (k, 3) and y (k, 3, N); ``when``: its time, or just after."""
        differences = parabola(t, y)
        if self.compiled.options.get("level"):  # multipliers have no equation for their rate
            return np.asarray(differences)
        rhs = self.compiled.core.rhs
        exact = np.array([rhs(float(s), np.ascontiguousarray(row)) for s, row in zip(when, y[:, 1], strict=True)])
        # Accelerations of vibrations that the rows do not resolve are not slopes between them.
        step, change = np.diff(t, axis=1).max(axis=1)[:, None], np.diff(y, axis=1)
        rough = step * np.abs(exact - differences) > ROUGH * np.abs(change).max(axis=1)
        return np.asarray(np.where(rough & self.moving, differences, exact))

    def flows(self) -> tuple[Array, Array, Array]:
        """Dissipated energy, work and balance at the rows, (n,) each: as written, or the integral of the powers."""
        if Flows(self.file).needed:
            return Flows(self.file)()
        t, y = self.t, self.file.series("y")
        measures = self.compiled.rod_measures(t, y)
        # An interval begins with the inputs that a stepper has set there, and ends before the next ones.
        begins = self.compiled.rod_measures(np.nextafter(t[:-1], np.inf), np.ascontiguousarray(y[:-1]))
        steps = integrals(t, begins[:, 6:], measures[1:, 6:])
        dissipated, loads, ends = np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)]).T
        energy = measures[:, :6].sum(axis=1)
        return dissipated, loads + ends, energy + dissipated - loads - ends - energy[0]
