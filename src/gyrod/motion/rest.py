"""Rest: an equilibrium, read like a motion without a time axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gyrod._check import Array
from gyrod.model import System
from gyrod.motion.contacts import Contacts
from gyrod.motion.energy import Energy
from gyrod.motion.joints import JointTrack
from gyrod.motion.motion import Motion
from gyrod.motion.sensors import Sensors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gyrod.look.viewer import View
    from gyrod.motion.distances import Distances, To
    from gyrod.motion.errors import ErrorReport


@dataclass(frozen=True)
class Rest:
    """An equilibrium: ``rest["hose"].positions`` is (V, 3), ``rest["bob"].position`` (3,), ``rest.energy.total``."""

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

    def __repr__(self) -> str:
        several = f"{self.unstable} unstable direction{'' if self.unstable == 1 else 's'}"
        found = {-1: "none found", 0: "stable"}.get(self.unstable, several)
        steps = f"{self.iterations} iteration{'' if self.iterations == 1 else 's'}"
        return f"<{type(self).__name__} of {self.motion._members}: t = {self.t:.6g} s, {found}, {self.method}, {steps}>"

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
        """A body, a rod, a joint, a clip or a contact by its name, without a time axis."""
        return self.motion[name]

    @property
    def joints(self) -> tuple[JointTrack, ...]:
        """All joints of a mechanism in the order of the system."""
        return self.motion.joints

    @property
    def sensors(self) -> Sensors:
        """What the sensors of the system read."""
        return self.motion.sensors

    @property
    def contacts(self) -> Contacts:
        """Contacts by name, as of a motion."""
        return self.motion.contacts

    @cached_property
    def energy(self) -> Energy:
        """Energies; the kinetic one is zero."""
        return self.motion.energy

    @property
    def error(self) -> ErrorReport:
        """Errors by quantity, as of a motion; rough ones, unless it was found with ``error``."""
        return self.motion.error

    def plot(
        self,
        what: str | None = None,
        *,
        names: str | Sequence[str] | None = None,
        file: str | PathLike[str] | None = None,
        figure: Figure | None = None,
        size: tuple[float, float] | None = None,
    ) -> Figure:
        """A matplotlib Figure, as of a motion; by default of the "shape" of rods, or the "path" of bodies."""
        what = what or ("shape" if self.system.rods else "path")
        return self.motion.plot(what, names=names, file=file, figure=figure, size=size)

    def distance(self, rod: str, to: To, *, on: str | None = None, radius: float | None = None) -> Distances:
        """Smallest distance of a rod's surface, as `Motion.distance`."""
        return self.motion.distance(rod, to, on=on, radius=radius)

    def report(self, file: str | PathLike[str], **options: object) -> Path:
        """Write a page for a review, as `Motion.report`."""
        return self.motion.report(file, **options)

    def save(self, file: str | PathLike[str]) -> None:
        """Write a result file with one time, which `gyrod.open` reads as a motion without a time axis."""
        self.motion.save(file)

    def html(self, file: str | PathLike[str], *, title: str | None = None) -> Path:
        """Write a page that shows it in any browser, without a network; return its path."""
        return self.motion.html(file, title=title)

    def view(self, *, port: int = 0, browser: bool = True, block: bool | None = None, title: str | None = None) -> View:
        """Show it in a browser, as `Motion.view` does."""
        return self.motion.view(port=port, browser=browser, block=block, title=title)
