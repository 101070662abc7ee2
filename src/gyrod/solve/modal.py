"""modes: natural frequencies, damping and shapes about an equilibrium."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod import _check, look
from gyrod._check import Array
from gyrod.model import System
from gyrod.model.conservation import acts
from gyrod.motion import Beside, Motion, Rest, errors
from gyrod.solve.companions import of_modes, with_errors
from gyrod.solve.eigen import lowest
from gyrod.solve.statics import Statics, equilibrium, prepare

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gyrod.solve.eigen import Spectrum


@dataclass(frozen=True)
class Modes:
    """Free vibrations about an equilibrium, sorted by frequency; unstable ones come first.

    An eigenvalue λ stands for motions like exp(λ t): |λ| is the natural frequency in rad/s, -Re λ/|λ| the damping.
    """

    #: About which.
    rest: Rest
    #: λ with Im λ >= 0, 1/s, (n,).
    eigenvalues: NDArray[np.complex128]
    #: Shapes as changes of the unknowns, scaled to a largest displacement or turn of 1 (m, rad), (n, N).
    shapes: NDArray[np.complex128]
    _beside: Beside = field(default=Beside(), repr=False)

    @property
    def error(self) -> errors.ErrorReport:
        """Errors of "frequencies", "omega" and "damping"; rough ones, unless they were found with ``error``."""
        return errors.of_modes(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on contacts that are closed: what of them sticks, and what slips and is free along the surface."""
        found = []
        for key, track in self.rest.contacts.items():
            closed, slipping = int(track.count), 0
            friction = track.contact.friction
            for part in track.stations if friction is not None and friction.sticking else ():
                assert friction is not None
                along = np.linalg.norm(part.force - part.normal[:, None] * part.direction, axis=-1)
                limit = (friction.static or friction.coefficient) * part.normal
                slipping += int(np.count_nonzero((part.normal > 0.0) & (along >= (1.0 - 1e-6) * limit)))
            if closed and friction is not None and friction.sticking:
                found.append(f"{key}: {closed} closed, {closed - slipping} of them stick and {slipping} slip.")
            elif closed:
                found.append(f"{key}: {closed} closed, without friction.")
        return tuple(found)

    @property
    def omega(self) -> Array:
        """Natural frequencies |λ| in rad/s; 0 for motions that an unstable equilibrium does not keep."""
        return np.where(self._runs_away, 0.0, np.abs(self.eigenvalues))

    @property
    def frequencies(self) -> Array:
        """Natural frequencies in Hz."""
        return self.omega / (2.0 * np.pi)

    @property
    def damping(self) -> Array:
        """Damping ratios; 1 and more: no oscillation, negative: growing."""
        size = np.abs(self.eigenvalues)
        return np.divide(0.0 - self.eigenvalues.real, size, out=np.zeros_like(size), where=size > 0.0)

    @property
    def growth(self) -> Array:
        """Rates at which the unstable ones grow, 1/s; 0 for the others."""
        return np.where(self._runs_away | (self.eigenvalues.real > 0.0), self.eigenvalues.real, 0.0)

    @property
    def unstable(self) -> int:
        """How many of them grow."""
        return int(np.count_nonzero(self._runs_away))

    @property
    def _runs_away(self) -> NDArray[np.bool_]:
        return np.asarray(self.eigenvalues.real > 1e-6 * np.abs(self.eigenvalues).max(initial=0.0))

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def shape(self, number: int, name: str) -> Array:
        """Displacements of a rod's vertices (N+1, 3) or of a body (3,) in a mode, scaled to the largest of all."""
        if not -len(self) <= number < len(self):
            raise ValueError(f"number = {number!r}: there are {len(self)} modes, counted from 0.")
        a, b = (self._moved(number, sign * 1e-5)[name] for sign in (1.0, -1.0))
        positions = (a.positions, b.positions) if hasattr(a, "positions") else (a.position, b.position)
        return np.asarray((positions[0] - positions[1]) / 2e-5)

    def motion(self, number: int, amplitude: float = 0.1, frames: int = 24) -> Iterator[Motion]:
        """Configurations over one period of a mode, for pictures."""
        for phase in 2.0 * np.pi * np.arange(frames) / frames:
            yield self._moved(number, amplitude * np.cos(phase), amplitude * np.sin(phase))

    def plot(
        self,
        numbers: int | Sequence[int] | None = None,
        *,
        file: str | PathLike[str] | None = None,
        figure: Figure | None = None,
        size: tuple[float, float] | None = None,
    ) -> Figure:
        """A matplotlib Figure of mode shapes with their frequencies, by default of the first six."""
        return look.plot_modes(self, numbers, file=file, figure=figure, size=size)

    def _moved(self, number: int, real: float, imaginary: float = 0.0) -> Motion:
        shape = self.shapes[number]
        y = self.rest.y + real * shape.real - imaginary * shape.imag
        compiled = self.rest.motion.compiled
        y = np.asarray(compiled.core.project(y, self.rest.t))
        return Motion(np.asarray(self.rest.t), y, self.rest.motion.stats, _compiled=compiled)

    def __repr__(self) -> str:
        rows = [f"{f:12.6g} Hz  damping {d:9.3g}" for f, d in zip(self.frequencies, self.damping, strict=True)]
        return "Modes(\n  " + "\n  ".join(rows) + "\n)"


@with_errors(of_modes)
def modes(
    system: System | Rest,
    at: Rest | Motion | float | None = None,
    n: int = 10,
    error: str = "rough",  # noqa: ARG001
) -> Modes:
    """The n lowest natural frequencies, damping ratios and shapes about an equilibrium.

    Parameters
    ----------
    system
        A `System`, or a `Rest` in place of system and ``at``.
    at
        A `Rest` of the system; a time, at which functions of time are taken; None: the equilibrium next to the initial
        configuration at t = 0.
    n
        How many.
    error
        "rough" figures in ``modes.error``, or "total" errors, by the modes on half the mesh, or on a
        "finer" one.

    Constraints are exact (joints, clamps, attached bodies). Unstable equilibria are allowed: ``modes.unstable``.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n = {n!r} must be a positive integer.")
    if isinstance(system, Rest):
        if at is not None:
            raise ValueError("system is a Rest already; leave at out.")
        rest = system
    elif isinstance(at, Rest):
        rest = at
    elif isinstance(at, Motion):
        rest = equilibrium(system, guess=at)
    else:
        rest = equilibrium(system, t=0.0 if at is None else _check.number("at", at))
    damped = _damped(rest.system)
    statics = prepare(rest.system, rest, damped=damped)
    if not len(statics.velocities):  # everything is held
        return Modes(rest, np.zeros(0, complex), np.zeros((0, len(rest.y)), complex))
    y, t = rest.y, rest.t
    # At rest friction is counted from point to point; about it, what sticks moves with the positions and is damped.
    statics.compiled.core.quasistatic(not (damped and statics.compiled.contacts))
    values, shapes = _damped_modes(statics, y, t, int(n)) if damped else _plain_modes(statics, y, t, int(n))
    shapes = shapes / np.abs(shapes).max(axis=1, initial=0.0, keepdims=True)
    return Modes(rest, values.astype(complex, copy=False), shapes)


def _plain_modes(statics: Statics, y: Array, t: float, n: int) -> tuple[Spectrum, Spectrum]:
    """Without damping: λ² = -ω² from a problem of half the size."""
    squares, vectors = statics.modes(y, t, n)
    # What has no stiffness has a frequency of zero, up to rounding.
    doubtful = np.any((squares < 0.0) & (squares > -statics.rounding))
    small = max(1e-3 * statics.rate, statics.gap(y, t) if doubtful else 0.0) ** 2
    squares = np.where(np.abs(squares) < small, np.abs(squares), squares)
    values = np.where(squares < 0.0, np.sqrt(np.abs(squares)) + 0j, 1j * np.sqrt(np.abs(squares)))
    shapes = np.array([_positions(statics, y, t, v) for v in vectors]).reshape(len(vectors), len(y))
    order = np.lexsort((np.abs(values), squares >= 0.0))
    return values[order], shapes[order].astype(complex)


def _positions(statics: Statics, y: Array, t: float, velocity: Array) -> Array:
    """Rates of positions and rotations for velocities, others zero: q' = T(q) nu."""
    state = np.array(y)
    state[statics.velocities] = velocity
    rates = np.asarray(statics.compiled.core.rhs(t, state))
    rates[statics.velocities] = 0.0
    return rates


def _damped_modes(statics: Statics, y: Array, t: float, n: int) -> tuple[Spectrum, Spectrum]:
    """With damping: the state is (positions T a, velocities b), in which (shift - J)^-1 needs one solution."""
    core, where = statics.compiled.core, statics.velocities
    shift = 0.3 * statics.rate
    core.linearise(t, np.ascontiguousarray(y), shift)
    size, tangent = len(where), statics.allowed(y, t)
    # Positions as velocities of a frequency in between, so that fast and slow modes have both parts in view.
    scale = np.sqrt(statics.rate * max(statics.rate, statics.compiled.rod_spectrum()[0]))

    def apply(z: Array) -> Array:
        a, b = tangent(z[:size] / scale), tangent(z[size:])
        right = _positions(statics, y, t, a)
        right[where] = b
        nu = tangent(np.asarray(core.solve(right))[where])
        return np.concatenate([scale / shift * (nu + a), nu])

    small = max(1e-6 * statics.rate, statics.rounding**0.5)  # a free motion, up to rounding

    def select(values: Spectrum, vectors: Spectrum) -> tuple[Spectrum, Spectrum]:
        keep = np.abs(values) > 1e-12 * np.abs(values).max(initial=0.0)
        lam, rows = shift - 1.0 / values[keep], vectors[:size, keep].T
        upper = ((lam.imag >= -1e-9 * np.abs(lam)) | (np.abs(lam) < small)) & ~_repeated(lam, rows.T, small)
        lam, rows = lam[upper], rows[upper]
        grows = lam.real > 1e-6 * np.abs(lam).max(initial=0.0)
        order = np.lexsort((np.abs(lam), ~grows))
        return lam[order], rows[order]

    lam, rows, groups = lowest(apply, 2 * size, n, select, near=small, dense=80, each=2)
    growing = (np.abs(lam) < small) & (lam.real > 0.0)
    if growing.any() and not statics.unstable(y, t):  # the roots of a double zero that rounding has moved apart
        lam = np.where(growing, 0.0, lam)
    rows = statics.canonical(rows, [group for group in groups if group.start < n], y, t)[:n]
    shapes = [_positions(statics, y, t, v.real) + 1j * _positions(statics, y, t, v.imag) for v in rows]
    return lam[:n], np.array(shapes).reshape(len(shapes), -1)


def _repeated(lam: Spectrum, vectors: Spectrum, small: float) -> NDArray[np.bool_]:
    """Which columns repeat a free motion: its zero is double, but it has one shape, and is one mode."""
    basis: list[Spectrum] = []
    repeated = np.zeros(len(lam), bool)
    for i in np.flatnonzero(np.abs(lam) < small):
        rest = vectors[:, i] / np.linalg.norm(vectors[:, i])
        for v in basis:
            rest = rest - v * np.vdot(v, rest)
        size = np.linalg.norm(rest)
        repeated[i] = size < 1e-4
        if not repeated[i]:
            basis.append(rest / size)
    return repeated


def _damped(system: System) -> bool:
    """Whether anything depends on velocities beyond inertia, or has no potential: λ² is not real then."""
    if any(rod.damping is not None for rod in system.rods):
        return True
    if any(acts(getattr(thing, "damping", None)) for thing in (*system.joints, *system.forces)):
        return True
    if any(contact.friction is not None or acts(contact.damping) for contact in system.contacts):
        return True
    return not all(force.symmetric for force in system.forces)
