"""Energies and momenta of a motion; what rods have dissipated and what was done on them, summed over the steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gyrod import rotations
from gyrod._check import Array, in_short
from gyrod.motion.between import along
from gyrod.motion.contacts import budgets

if TYPE_CHECKING:
    from gyrod.motion.motion import Motion

#: Dissipated energy, work and balance over time.
Flows = tuple[Array, Array, Array]


@dataclass(frozen=True)
class Energy:
    """Kinetic, potential and total energy over time, (n,); with rods also its parts and its balance."""

    kinetic: Array
    #: Of gravity, springs, bushings, dead constant forces and the strains of rods.
    potential: Array
    #: Elastic energy of rods in extension and shear, and in bending and torsion; zero without rods.
    extension_shear: Array
    bending_torsion: Array
    #: Elastic energy of contacts, which is part of the potential one; zero without.
    contact: Array
    _exchange: Callable[[], Flows] = field(repr=False)

    __repr__ = in_short

    @property
    def total(self) -> Array:
        """Kinetic and potential energy."""
        return self.kinetic + self.potential

    @cached_property
    def _flows(self) -> Flows:
        return self._exchange()

    @property
    def dissipated(self) -> Array:
        """Energy that damping and drag of rods, friction and impacts have taken since the start."""
        return self._flows[0]

    @property
    def work(self) -> Array:
        """Work on rods and contacts since the start, by loads without potential, by moving ends and by bodies."""
        return self._flows[1]

    @property
    def balance(self) -> Array:
        """Energy of rods and contacts + dissipated - work, less its value at the start: zero but for errors in time."""
        return self._flows[2]


def energies(motion: Motion) -> Energy:
    """Energies over time; those of a motion between the rows of a file all by one rule, lest their sum changes."""
    near, t, exchange = motion._near, motion.t, lambda: _exchange(motion)
    if near is not None and motion._cubic and motion.compiled.rods:
        e = near.energy
        parts = np.stack([e.kinetic, e.potential, e.extension_shear, e.bending_torsion, e.contact], axis=1)
        kinetic, potential, stretched, bent, pressed = motion._along(parts, parts).T.reshape(5, *t.shape)
        return Energy(kinetic, potential, stretched, bent, pressed, exchange)
    kinetic = np.zeros(t.shape)
    for body in motion.compiled.system.bodies:
        track = motion[body.name]
        spin = np.einsum("...i,ij,...j->...", track.Omega, body.inertia, track.Omega)
        kinetic = kinetic + 0.5 * (body.mass * np.sum(track.velocity**2, axis=-1) + spin)
    strain, curvature, moving, turning, gravity, loads = motion._rod_measures[..., :6].T.reshape(6, *t.shape)
    contact = budgets(motion.compiled, t, motion.y)[..., 0].reshape(t.shape)
    potential = motion._measures[..., 2] + strain + curvature + gravity + loads + contact
    return Energy(kinetic + moving + turning, potential, strain, curvature, contact, exchange)


def _exchange(motion: Motion) -> Flows:
    """Dissipated energy, work and energy balance of the rods: powers integrated over the dense output."""
    if not motion.compiled.rods and not motion.compiled.contacts:
        return np.zeros(motion.t.shape), np.zeros(motion.t.shape), np.zeros(motion.t.shape)
    if motion._flows is not None:
        return motion._flows()
    flows = getattr(motion._dense, "flows", None)
    if flows is not None:  # at the rows of a file or a stepper
        t, times = motion._dense.t, np.atleast_1d(motion.t)  # type: ignore[union-attr]
        dissipated, work, balance = (along(t, flow, times).reshape(motion.t.shape) for flow in flows())
        return dissipated, work, balance
    return exchanged(motion)[0]


def exchanged(motion: Motion, before: Array | None = None) -> tuple[Flows, Array]:
    """Dissipated energy, work and balance, and the sums that the next motion continues from.

    Sums are taken step by step from those of the motion ``before``: wherever a run is cut they are the same bits.
    """
    dense, compiled, t = motion._dense, motion.compiled, motion.t
    if dense is None or t.ndim == 0:
        raise ValueError("dissipated energy and work need a motion with dense output; simulate with dense=True.")
    ends = np.union1d(np.clip(motion.steps, *motion._span), t)
    points, weights = np.polynomial.legendre.leggauss(4)
    h = np.diff(ends)
    times = (0.5 * (ends[1:] + ends[:-1]))[:, None] + 0.5 * h[:, None] * points
    y = dense(np.ascontiguousarray(times.ravel()))
    powers = compiled.rod_measures(times.ravel(), y, project=motion._projected)
    if compiled.contacts:
        touching = budgets(compiled, times.ravel(), y, project=motion._projected)
        powers[:, 6] += touching[:, 1] + touching[:, 2]
        powers[:, 7] += touching[:, 3]
    steps = 0.5 * h[:, None] * np.einsum("q,kqm->km", weights, powers.reshape(len(h), 4, 9))
    if before is None:
        before = np.zeros(4)
        first = dense(ends[:1])
        before[3] = compiled.rod_measures(ends[:1], first)[0, :6].sum() + budgets(compiled, ends[:1], first)[0, 0]
    integral = np.cumsum(np.concatenate([before[None, :3], steps[:, 6:]]), axis=0)
    dissipated, loads, held = integral[np.searchsorted(ends, t)].T
    if compiled.hard:
        friction, impacts, given = compiled.costs(motion.y).T
        dissipated, loads = dissipated + friction + impacts, loads + given
    # The balance is that of the dense output, whose powers were integrated.
    own = sum((rod["measures"] for rod in motion._own_rods), np.zeros((len(t), 9)))
    work, energy = loads + held, own[:, :6].sum(axis=1) + budgets(compiled, t, motion.y)[:, 0]
    return (dissipated, work, energy + dissipated - work - before[3]), np.append(integral[-1], before[3])


def momenta(motion: Motion) -> tuple[Array, Array]:
    """Linear momentum, and angular momentum about the origin, space axes, (n, 3) each."""
    linear, angular = np.zeros((*motion.t.shape, 3)), np.zeros((*motion.t.shape, 3))
    for b in motion.compiled.system.bodies:
        track = motion[b.name]
        spin = (track.matrix @ (track.Omega @ b.inertia)[..., None])[..., 0]
        linear = linear + b.mass * track.velocity
        angular = angular + np.cross(track.position, b.mass * track.velocity) + spin
    for name, table in zip(motion.compiled.system.rod_names, motion.compiled.rods, strict=True):
        track = motion[name]
        v, off = track.velocities, table["off"][:, None]
        p = table["mass"][:, None] * v
        p[..., :-1, :] += off * v[..., 1:, :]
        p[..., 1:, :] += off * v[..., :-1, :]
        spin = rotations.rotate(track.quaternions, table["J"] * track.Omega)
        linear = linear + p.sum(axis=-2)
        angular = angular + np.cross(track.positions, p).sum(axis=-2) + spin.sum(axis=-2)
    return linear, angular
