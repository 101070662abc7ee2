"""Rest: an equilibrium, read like a motion without a time axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gyrod.joint_tracks import JointTrack
from gyrod.model import System
from gyrod.motion import Energy, Motion

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rest:
    """An equilibrium: ``rest["hose"].positions`` is (N+1, 3), ``rest["bob"].position`` (3,), ``rest.energy.total``."""

    #: The system with its parameters as they were, the (pseudo-)time and the unknowns.
    motion: Motion
    #: Negative eigenvalues of the tangent stiffness on the constraint manifold; 0: stable.
    unstable: int
    #: "newton", or "relaxation" where Newton's method alone had failed.
    method: str
    #: One row for each Newton step: its size over the scales, the damping factor (0: relaxation), the shift in 1/s.
    history: Array
    #: What can move without any stiffness and is not pushed; empty where the supports hold everything.
    free: tuple[str, ...] = ()

    @property
    def stable(self) -> bool:
        """Whether the potential energy has a minimum here."""
        return self.unstable == 0

    @property
    def iterations(self) -> int:
        """Newton iterations."""
        return len(self.history)

    @property
    def system(self) -> System:
        """What is at rest."""
        return self.motion.compiled.system

    @property
    def t(self) -> float:
        """Time at which functions of time were taken."""
        return float(self.motion.t)

    @property
    def y(self) -> Array:
        """Unknowns of the formulation, velocities zero."""
        return self.motion.y

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bodies and of the rods."""
        return self.motion.names

    def __getitem__(self, name: str) -> Any:
        """A body, a rod or a joint by its name, without a time axis."""
        return self.motion[name]

    @property
    def joints(self) -> tuple[JointTrack, ...]:
        """All joints of a mechanism in the order of the system."""
        return self.motion.joints

    @cached_property
    def energy(self) -> Energy:
        """Energies; the kinetic one is zero."""
        return self.motion.energy

    def plot(self, what: str | None = None, *, names: Sequence[str] | None = None, file: str | None = None) -> Any:
        """A matplotlib Figure, as of a motion; by default of the "shape" of rods, or the "path" of bodies."""
        what = what or ("shape" if self.system.rods else "path")
        return self.motion.plot(what, names=names, file=file)
