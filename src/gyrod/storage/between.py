"""Between the rows of a result file without dense output: kinematics by cubics, forces linearly from row to row.

A section force is the stiffness, say 1e7 N, times a strain, and the error of a cubic in it is no small part of the
force: between rows forces are not those of the interpolated positions, but lie between those of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gyrod.dense import cubic
from gyrod.equations import Compiled
from gyrod.joint_tracks import JointTrack
from gyrod.motion import Energy, Motion
from gyrod.sensing import Rows, Sensors

if TYPE_CHECKING:
    from gyrod.storage.reading import ResultFile

Array = NDArray[np.float64]

#: An acceleration that is off the differences of the rows by so many times their change is not resolved by them.
ROUGH = 6.0
#: What the core says of a rod that follows from places and velocities alone.
KINEMATICS = ("positions", "velocities", "quaternions", "vertex_quaternions", "Omega")


@dataclass(frozen=True)
class Flows:
    """Dissipated energy, work and balance as they were written."""

    file: ResultFile

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
    """Rows at times between those of a file: cubic Hermite, slopes by the right-hand side where it tells them."""

    def __init__(self, file: ResultFile, compiled: Compiled) -> None:
        self.file, self.compiled = file, compiled
        self.moving = np.isin(compiled.kinds, ("velocity", "spin", "force"))

    @property
    def span(self) -> tuple[float, float]:
        """Between which times rows are known."""
        t = self.file.series("t")
        return float(t[0]), float(t[-1])

    @property
    def motion(self) -> type[Motion]:
        """What a motion at such times is."""
        return MotionBetween

    def __call__(self, times: Array) -> Array:
        """Rows (k, N)."""
        if not len(times):
            return np.zeros((0, self.compiled.size))
        t = self.file.series("t")
        i, x = self.places(times)
        at, back = np.unique(i, return_inverse=True)
        # All rows that are needed in one go: both ends, and their neighbours for differences.
        near = np.clip(at[:, None] + np.arange(-1, 3), 0, len(t) - 1)
        rows = self.file.items("y", near.ravel()).reshape(*near.shape, -1)
        h = (t[at + 1] - t[at])[:, None]
        f0, f1 = (h * self._slopes(t[near[:, k : k + 3]], rows[:, k : k + 3]) for k in (0, 1))
        x = x[:, None]
        a, b, f0, f1 = (part[back] for part in (rows[:, 1], rows[:, 2], f0, f1))
        return cubic(x, a, b, f0, f1)

    def places(self, times: Array) -> tuple[NDArray[np.intp], Array]:
        """The row before each time, (k,), and how far the time is on the way to the next one, in [0, 1], (k,)."""
        t = self.file.series("t")
        i = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2).astype(np.intp)
        h = t[i + 1] - t[i]
        return i, np.asarray((times - t[i]) / np.where(h > 0.0, h, 1.0))

    def _slopes(self, t: Array, y: Array) -> Array:
        """y' at the second of three rows, (k, N), from t (k, 3) and y (k, 3, N)."""
        differences = _parabola(t, y)
        if self.compiled.options.get("level"):  # multipliers have no equation for their rate
            return np.asarray(differences)
        rhs = self.compiled.core.rhs
        exact = np.array([rhs(float(s), np.ascontiguousarray(row)) for s, row in zip(t[:, 1], y[:, 1], strict=True)])
        # Accelerations of vibrations that the rows do not resolve are no slopes between them.
        step, change = np.diff(t, axis=1).max(axis=1)[:, None], np.diff(y, axis=1)
        rough = step * np.abs(exact - differences) > ROUGH * np.abs(change).max(axis=1)
        return np.asarray(np.where(rough & self.moving, differences, exact))

    def flows(self) -> tuple[Array, Array, Array]:
        """Dissipated energy, work and balance at the rows, (n,) each: as written, or the integral of the powers."""
        if Flows(self.file).needed:
            return Flows(self.file)()
        t = self.file.series("t")
        measures = self.compiled.rod_measures(t, self.file.series("y"))
        powers = measures[:, 6:]
        near = np.clip(np.arange(len(t))[:, None] + np.arange(-1, 2), 0, len(t) - 1)
        slopes, h = _parabola(t[near], powers[near]), np.diff(t)[:, None]
        steps = h / 2.0 * (powers[1:] + powers[:-1]) + h**2 / 12.0 * (slopes[:-1] - slopes[1:])
        dissipated, loads, ends = np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)]).T
        energy = measures[:, :6].sum(axis=1)
        return dissipated, loads + ends, energy + dissipated - loads - ends - energy[0]


def _parabola(t: Array, y: Array) -> Array:
    """Slope, (k, N), at the second of three rows, t (k, 3) and y (k, 3, N), of the parabola through them."""
    gap = np.diff(t, axis=1)[:, :, None]
    secant = np.diff(y, axis=1) / np.where(gap > 0.0, gap, np.inf)
    left, right = gap[:, 0], gap[:, 1]
    total = np.where(left + right > 0.0, left + right, 1.0)
    inside = (left > 0.0) & (right > 0.0)  # at the ends, where one gap is 0, the only secant
    return np.where(inside, (right * secant[:, 0] + left * secant[:, 1]) / total, secant.sum(axis=1))


class MotionBetween(Motion):
    """A motion at times between the rows of a file; all that is not kinematics lies linearly between the rows."""

    @cached_property
    def _near(self) -> tuple[Motion, NDArray[np.intp], Array]:
        """Rows on both sides of the times, each once; the numbers of the two, (2, k), and how far it is, (k,)."""
        between = self._between
        i, x = between.places(np.atleast_1d(self.t))
        used, back = np.unique(np.stack([i, i + 1]), return_inverse=True)
        t = between.file.series("t")[used]
        y = between.file.items("y", used) if len(used) else np.zeros((0, self.compiled.size))
        rows = Motion(t, y, self.stats, self.status, _compiled=self._compiled, _projected=self._projected)
        return rows, back.reshape(2, -1), x

    @property
    def _between(self) -> Between:
        assert isinstance(self._dense, Between)
        return self._dense

    def __getstate__(self) -> dict[str, Any]:
        """The rows beside the times go with it."""
        return super().__getstate__() | {"_near": self._near}

    def _linear(self, values: Array) -> Array:
        """Of values at the rows those at the times, without the time axis for a single time."""
        _, (a, b), x = self._near
        x = x.reshape(-1, *[1] * (values.ndim - 1))
        found = (1.0 - x) * values[a] + x * values[b]
        return np.asarray(found if self.t.ndim else found[0])

    def _at_rows(self, rows: slice | NDArray[np.intp]) -> Motion:
        return replace(self, t=self.t[rows], y=self.y[rows])

    @cached_property
    def _rods(self) -> list[dict[str, Array]]:
        own, rows = Motion._rods.func(self), self._near[0]._rods  # type: ignore[attr-defined]
        return [
            {key: mine[key] if key in KINEMATICS else self._linear(value) for key, value in rod.items()}
            for mine, rod in zip(own, rows, strict=True)
        ]

    @cached_property
    def energy(self) -> Energy:
        """With rods all energies are linear between the rows, lest their sum, which hardly changes, does."""
        if not self.compiled.rods:
            return Motion.energy.func(self)  # type: ignore[attr-defined,no-any-return]
        rows = self._near[0].energy
        kinetic, potential = self._linear(rows.kinetic), self._linear(rows.potential)
        elastic = self._linear(rows.extension_shear), self._linear(rows.bending_torsion)
        return Energy(kinetic, potential, *elastic, self._exchange)

    def _exchange(self) -> tuple[Array, Array, Array]:
        if not self.compiled.rods:
            return super()._exchange()
        i, x = self._between.places(self.t)
        known = self._between.flows()
        dissipated, work, balance = ((1.0 - x) * flow[i] + x * flow[i + 1] for flow in known)
        return dissipated, work, balance

    def _joint_tracks(self, loads: bool = True) -> tuple[JointTrack, ...]:
        found = super()._joint_tracks(loads=False)
        if not loads or not found:
            return found
        return tuple(
            replace(
                track,
                force=self._linear(row.force),
                torque=self._linear(row.torque),
                effort=self._linear(row.effort),
                unique=row.unique,
            )
            for track, row in zip(found, self._near[0].joints, strict=True)
        )

    @property
    def multipliers(self) -> dict[str, Array]:
        """Multipliers of the internal constraints, linear between the rows."""
        return {name: self._linear(value) for name, value in self._near[0].multipliers.items()}

    @cached_property
    def sensors(self) -> Sensors:
        """What the sensors of the system read."""
        found = Sensors(self)
        found.__dict__["rows"] = RowsBetween(self)
        return found

    def save(self, file: str | PathLike[str], *, frames: int = 1000, dense: bool | None = None) -> None:
        """Refused with rods: files hold unknowns, and forces that follow from these would be wrong."""
        x = self._near[2]
        if self.compiled.rods and np.any((x > 0.0) & (x < 1.0)):
            raise ValueError(
                "a motion of rods at times between the rows of a file cannot be saved: section forces do not follow "
                "from interpolated rows. Save the whole motion, simulate with these times as output, or export by "
                "to_csv, to_npz or to_xarray."
            )
        super().save(file, frames=frames, dense=dense)


class RowsBetween(Rows):
    """What sensors are read from, with accelerations that are linear between the rows."""

    @cached_property
    def accelerations(self) -> Array:
        """v' and Omega' of the bodies, (n, b, 6)."""
        return self._linear(self._beside.accelerations)

    @cached_property
    def rates(self) -> Array:
        """y', (n, N)."""
        return self._linear(self._beside.rates)

    @cached_property
    def _beside(self) -> Rows:
        return Rows(self.motion._near[0])

    def _linear(self, values: Array) -> Array:
        found: Array = self.motion._linear(values)
        return found if self.motion.t.ndim else found[None]
