"""The result of a simulation: by-name access, energies, momenta, drift, counters, dense output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import _check, look, rotations
from gyrod.equations import Compiled

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MotionStats:
    """What a simulation cost."""

    method: str
    formulation: str
    steps: int = 0
    rejected: int = 0
    rhs: int = 0
    jacobians: int = 0
    factorizations: int = 0
    solves: int = 0
    #: CPU seconds.
    seconds: float = 0.0


@dataclass(frozen=True)
class EventRecord:
    """A zero of an event function: which event, when, and the motion at that time."""

    event: int
    t: float
    state: Motion


@dataclass(frozen=True)
class Energy:
    """Kinetic, potential and total energy over time, (n,)."""

    kinetic: Array
    potential: Array

    @property
    def total(self) -> Array:
        """Their sum."""
        return self.kinetic + self.potential


@dataclass(frozen=True)
class Drift:
    """Largest constraint residual over time on the level of position and of velocity, (n,)."""

    position: Array
    velocity: Array


@dataclass(frozen=True)
class BodyTrack:
    """One body over time; the time axis comes first and is missing for a single time."""

    #: Of the centre of mass, space axes, (n, 3).
    position: Array
    #: Rotation matrices, columns are the directors, (n, 3, 3).
    matrix: Array
    #: Of the centre of mass, space axes, (n, 3).
    velocity: Array
    #: Material angular velocity (body axes), (n, 3).
    Omega: Array
    #: Sign convention: the first quaternion lies on the side of this one.
    start: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))

    @property
    def directors(self) -> Array:
        """(n, 3, 3): ``directors[..., :, k]`` is the director d_(k+1)."""
        return self.matrix

    @cached_property
    def quaternion(self) -> Array:
        """Unit quaternions, continuous in time, (n, 4)."""
        # Raw directors may have drifted: the quaternion is that of the nearest rotation by Spurrier and Klumpp.
        p = rotations.conversions.spurrier_klumpp(self.matrix)
        if p.ndim == 1:
            return p if p @ self.start >= 0.0 else -p
        before = np.concatenate([self.start[None], p[:-1]])
        flips = np.cumprod(np.where(np.sum(p * before, axis=-1) < 0.0, -1.0, 1.0))
        return np.asarray(p * flips[:, None])

    @property
    def omega(self) -> Array:
        """Spatial angular velocity (space axes), (n, 3)."""
        return np.asarray((self.matrix @ self.Omega[..., None])[..., 0])

    @property
    def euler(self) -> Array:
        """Euler angles 3-1-3, (n, 3)."""
        return rotations.euler_from_quaternion(self.quaternion, "313")


@dataclass(frozen=True)
class Motion:
    """Rigid bodies over time: ``motion["top"].position``, ``motion.energy.total``, ``motion(t)``.

    A single time, from ``motion(0.5)``, has the same fields without the time axis.
    """

    #: Times, (n,).
    t: Array
    #: Unknowns of the formulation at these times, as integrated, (n, N).
    y: Array
    #: Cost, method and formulation.
    stats: MotionStats
    #: "finished", "event", or why the run ended early.
    status: str = "finished"
    #: Ends of all accepted steps, the start first.
    steps: Array = field(default_factory=lambda: np.zeros(0))
    #: Zeros of the event functions in order of time.
    events: tuple[EventRecord, ...] = ()
    _compiled: Compiled | None = field(default=None, repr=False)
    _dense: Callable[[Array], Array] | None = field(default=None, repr=False)
    _projected: bool = field(default=True, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the dense output, which stays with the process that integrated."""
        return {**self.__dict__, "_dense": None}

    @property
    def compiled(self) -> Compiled:
        """The equations that were integrated."""
        assert self._compiled is not None
        return self._compiled

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bodies."""
        return self.compiled.system.names

    @cached_property
    def _tracks(self) -> dict[str, BodyTrack]:
        arrays = self.compiled.motions(self.y)
        when = 0 if self.t.ndim == 0 else slice(None)
        starts = [b.orientation for b in self.compiled.system.bodies]
        x, R, v, Omega = (a[when] for a in arrays)
        return {
            n: BodyTrack(x[..., i, :], R[..., i, :, :], v[..., i, :], Omega[..., i, :], starts[i])
            for i, n in enumerate(self.names)
        }

    def __getitem__(self, name: str) -> BodyTrack:
        """A body by its name."""
        return self._tracks[_check.choice("name", name, self.names)]

    def __call__(self, t: ArrayLike) -> Motion:
        """The motion at other times inside the run, by the dense output of the method, projected."""
        times = np.asarray(t, dtype=float)
        if times.ndim > 1:
            raise ValueError(f"t must be a number or a one-dimensional array, got the shape {times.shape}.")
        _check.finite("t", times)
        if self._dense is None:
            raise ValueError(
                "this motion keeps no dense output; simulate with dense=True and a method of gyrod or SciPy."
            )
        lo, hi = float(self.steps[0]), float(self.steps[-1])
        if times.size and not (lo <= times.min() and times.max() <= hi):
            raise ValueError(
                f"t reaches from {times.min():g} to {times.max():g}; the motion is known on [{lo:g}, {hi:g}]."
            )
        y = self._dense(np.ascontiguousarray(times.reshape(-1)))
        if self._projected:
            y = np.array([self.compiled.core.project(row) for row in y]).reshape(len(y), -1)
        if times.ndim == 0:
            y = y[0]
        return Motion(times, y, self.stats, self.status, _compiled=self._compiled)

    @cached_property
    def _measures(self) -> Array:
        times = np.ascontiguousarray(np.atleast_1d(self.t))
        m = self.compiled.core.measures(times, np.ascontiguousarray(np.atleast_2d(self.y)))
        return np.asarray(m[0] if self.t.ndim == 0 else m)

    @cached_property
    def energy(self) -> Energy:
        """Energies; the potential is that of gravity (zero at the origin), springs, bushings and dead forces."""
        kinetic = np.zeros(self.t.shape)
        for body in self.compiled.system.bodies:
            track = self[body.name]
            spin = np.einsum("...i,ij,...j->...", track.Omega, body.inertia, track.Omega)
            kinetic = kinetic + 0.5 * (body.mass * np.sum(track.velocity**2, axis=-1) + spin)
        return Energy(kinetic, self._measures[..., 2])

    @property
    def momentum(self) -> Array:
        """Linear momentum, (n, 3)."""
        return np.asarray(sum(b.mass * self[b.name].velocity for b in self.compiled.system.bodies))

    @property
    def angular_momentum(self) -> Array:
        """Angular momentum about the origin, space axes, (n, 3)."""
        total = np.zeros((*self.t.shape, 3))
        for b in self.compiled.system.bodies:
            track = self[b.name]
            spin = (track.matrix @ (track.Omega @ b.inertia)[..., None])[..., 0]
            total = total + np.cross(track.position, b.mass * track.velocity) + spin
        return total

    @property
    def drift(self) -> Drift:
        """Constraint residuals of the coordinates as integrated (unit quaternions, orthonormal directors)."""
        return Drift(self._measures[..., 0], self._measures[..., 1])

    @property
    def multipliers(self) -> dict[str, Array]:
        """Multipliers of the internal constraints of the absolute forms, for each body (n, 1) or (n, 6)."""
        times = np.ascontiguousarray(np.atleast_1d(self.t))
        m = self.compiled.core.multipliers(times, np.ascontiguousarray(np.atleast_2d(self.y)))
        return {n: np.asarray(m[0, i] if self.t.ndim == 0 else m[:, i]) for i, n in enumerate(self.names)}

    def plot(self, what: str = "energy", *, names: Sequence[str] | None = None, file: str | None = None) -> Any:
        """A matplotlib Figure of energy, path, position, Omega, drift, steps, ...; ``file`` saves it."""
        return look.plot(self, what, names=names, file=file)


class SimulationError(RuntimeError):
    """A simulation that cannot go on: ``time``, ``state`` (unknowns) and the ``motion`` so far are kept."""

    def __init__(self, message: str, time: float, state: Array, motion: Motion) -> None:
        super().__init__(message)
        self.time, self.state, self.motion = time, state, motion


class SimulationInterrupted(KeyboardInterrupt):
    """Ctrl-C during a simulation; ``motion`` holds what was computed."""

    def __init__(self, message: str, motion: Motion) -> None:
        super().__init__(message)
        self.motion = motion
