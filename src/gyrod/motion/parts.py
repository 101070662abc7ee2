"""What belongs to a result beside its rows: cost, events, drift, middles of steps, companions, errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gyrod._check import Array, in_short

if TYPE_CHECKING:
    from gyrod.motion.motion import Motion


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
    #: Iterations of Newton's method in all steps, of "variational" and "energy-momentum".
    newton: int = 0


@dataclass(frozen=True)
class EventRecord:
    """A zero of an event function: which event, when, and the motion at that time."""

    #: Number of the event; limits of joints come after the events that were asked for.
    event: int
    t: float
    state: Motion = field(repr=False)
    #: Name of the event, as "upper limit of Revolute 'elbow'".
    name: str = ""


@dataclass(frozen=True)
class Drift:
    """Largest constraint residual over time on the level of position and of velocity, (n,)."""

    position: Array
    velocity: Array

    __repr__ = in_short


@dataclass(frozen=True)
class Midpoints:
    """Middles of the steps that end at the times of a motion, with constant steps: times and total energies, (n-1,).

    The energy is that of the discrete Lagrangian: coordinates and velocities by (69) of Xu and Zhong 2016.
    """

    t: Array = field(default_factory=lambda: np.zeros(0))
    energy: Array = field(default_factory=lambda: np.zeros(0))

    __repr__ = in_short


@dataclass(frozen=True, eq=False)
class Beside:
    """Tolerances of a result, and what else was solved on another mesh, for `Motion.error`."""

    #: Tolerance of the integrator; None where there is none, as at rest.
    rtol: float | None = None
    #: Rows of the result that companions have too.
    rows: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    #: Coarser in space and in time, and in space only: a `Motion`, several of a path, or `Modes`; None without. Where
    #: there is none coarser, or a finer one is asked for, finer in space.
    coarse: Any = field(default=None, repr=False)
    half: Any = field(default=None, repr=False)
    #: Share of the mesh that they have, and how many times looser the tolerance of the coarse one is.
    share: float = 0.5
    looser: float = 1.0
    #: Mesh and tolerance of the companion in words.
    told: str = ""
    #: Why there is no companion, though one was asked for.
    failure: str = ""
    #: What ``accuracy`` has chosen, in words.
    chosen: str = ""
    #: Limit points and bifurcations of a path on the coarser mesh: kind and value of the parameter.
    critical: tuple[tuple[str, float], ...] = ()


class SimulationError(RuntimeError):
    """A simulation that cannot continue: ``time``, ``state`` (unknowns) and the ``motion`` so far are kept.

    ``residuals`` are those of Newton's method in the step that failed, of methods with constant steps.
    """

    def __init__(
        self, message: str, time: float, state: Array, motion: Motion, residuals: Sequence[float] = ()
    ) -> None:
        super().__init__(message)
        self.time, self.state, self.motion, self.residuals = time, state, motion, tuple(residuals)


class SimulationInterrupted(KeyboardInterrupt):
    """Ctrl-C during a simulation; ``motion`` holds what was computed."""

    def __init__(self, message: str, motion: Motion) -> None:
        super().__init__(message)
        self.motion = motion
