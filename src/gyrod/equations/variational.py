"""Bodies for the methods with constant steps: the core's object, the start, and unknowns of a formulation from nodes.

The core keeps each body as position, unit quaternion and momenta in principal axes, about its fixed point where it is
reduced to a rotation; a motion is told in the absolute formulation of the same coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gyrod import _check, _core, rotations
from gyrod.equations import Compiled, compile_force, compile_system, mechanisms
from gyrod.equations.checks import about
from gyrod.model import Cable, System
from gyrod.model.system_checks import SINGULAR

Array = NDArray[np.float64]

#: The coordinates and the formulation whose unknowns they are.
COORDINATES = {"quaternion": "absolute-quaternion", "directors": "absolute-directors"}
#: Where the potential is taken.
POTENTIALS = ("midpoint", "nodes")


@dataclass(frozen=True)
class Stepped:
    """A system ready for constant steps."""

    compiled: Compiled
    core: _core.Variational
    #: Position, quaternion, velocity, Omega of each body at the start, in the core's axes, (b, 13).
    start: Array
    #: Principal axes of the core's bodies in the user's axes, (b, 3, 3).
    axes: Array
    #: Scaling of the inertia split of each body, kg m².
    sigma: Array
    #: Whether Python functions are called in a step.
    python: bool

    def states(self, t: Array, rows: Array) -> Array:
        """Unknowns of the formulation, (n, N), from nodes (n, b, 13)."""
        compiled = self.compiled
        if compiled.formulation.startswith("nullspace"):
            R = rotations.matrix_from_quaternion(rows[..., 3:7]) @ np.swapaxes(self.axes, -1, -2)
            Omega = np.einsum("bij,nbj->nbi", self.axes, rows[..., 10:])
            return compiled.states(t, (rows[..., :3], R, rows[..., 7:10], Omega))
        y = np.zeros((len(rows), compiled.size))
        for i, name in enumerate(compiled.system.names):
            x, p, v, Omega = np.split(rows[:, i], (3, 7, 10), axis=1)
            between = self.axes[i].T @ compiled.axes[i]
            if not np.array_equal(between, np.eye(3)) and not np.array_equal(self.axes[i], compiled.axes[i]):
                p = rotations.multiply(p, rotations.quaternion_from_matrix(between))
                Omega = Omega @ between
            q, w = _coordinates(compiled.formulation, p, Omega)
            pinned = compiled.mechanism is None and name in compiled.system.fixed_points
            parts = (q, w) if pinned else (x, q, v, w)
            at = compiled.core.offset(i)
            y[:, at : at + sum(part.shape[1] for part in parts)] = np.concatenate(parts, axis=1)
        return y


def _coordinates(formulation: str, p: Array, Omega: Array) -> tuple[Array, Array]:
    if formulation.endswith("quaternion"):
        return p, rotations.rates("quaternion", p, Omega)
    R = rotations.matrix_from_quaternion(p)
    return rotations.directors_from_matrix(R), rotations.directors_from_matrix(R @ rotations.skew(Omega))


def compile_stepped(
    system: System, step: float, *, coordinates: str, sigma: Any, potential: str, conserving: bool, reduce: bool
) -> Stepped:
    """Compile a system for steps of a constant length."""
    formulation = COORDINATES[_check.choice("coordinates", coordinates, COORDINATES)]
    _check.choice("potential", potential, POTENTIALS)
    method = "energy-momentum" if conserving else "variational"
    if not isinstance(system, System):
        raise ValueError(f"system must be a gyrod.System, got {type(system).__name__}.")
    unserved = [f.label for f in system.forces if f.on_rods or isinstance(f, Cable)]
    if system.gravity_function is not None:
        unserved.append("gravity as a function of time")
    if unserved and not system.rods:
        raise ValueError(f"method = {method!r} does not serve {', '.join(unserved)}; use another method.")
    if system.rods:
        raise ValueError(
            f"method = {method!r} serves rigid bodies; the system has rods ({', '.join(map(repr, system.rod_names))}). "
            "Use 'radau5' or 'rodas' for them."
        )
    pins = system.fixed_points if reduce else {}
    if conserving:
        _check_conserving(system, reduce)
    bodies, axes = _bodies(system, pins)
    moments = np.array([b.moments for b in bodies])
    if (moments.min(axis=1) <= SINGULAR * moments.max(axis=1)).any():
        # What carries such a body makes up for it; absolute forms would have to invert its inertia.
        formulation = formulation.replace("absolute", "nullspace")
    options: dict[str, Any] = {} if reduce else {"reduce": False}
    compiled = compile_system(system, formulation, **options)
    frames = np.array(axes)
    index = {name: i for i, name in enumerate(system.names)}
    forces = [compile_force(f, system, index, frames, compiled.signals) for f in system.forces]
    if compiled.mechanism is not None:
        forces += mechanisms.springs(system, compiled.mechanism)
    split = _sigmas(system, sigma, moments)
    core = _core.Variational(
        bodies=bodies, sigma=split.tolist(), forces=forces, gravity=np.array(system.gravity),
        joints=None if compiled.mechanism is None else compiled.mechanism.tree(fixed=True), length=compiled._length(),
        step=step, directors=coordinates == "directors", nodes=potential == "nodes", conserving=conserving,
    )  # fmt: skip
    start = []
    for body, A in zip(system.bodies, axes, strict=True):
        p = body.orientation
        if not np.array_equal(A, np.eye(3)):
            p = rotations.multiply(p, rotations.quaternion_from_matrix(A))
        start.append([*body.position, *p, *system.initial_velocities[body.name], *(A.T @ body.angular_velocity)])
    return Stepped(compiled, core, np.array(start), frames, split, compiled.python)


def _bodies(system: System, pins: Mapping[str, Array]) -> tuple[list[_core.Body], list[Array]]:
    """Bodies as the core takes them, about the fixed points of those that have one, and their principal axes."""
    bodies, axes = [], []
    for body in system.bodies:
        at = pins.get(body.name)
        arm, moments, A = about(body, at)
        point = np.zeros(3) if at is None else np.asarray(at)
        bodies.append(_core.Body(mass=body.mass, moments=moments, pinned=at is not None, point=point, arm=A.T @ arm))
        axes.append(A)
    return bodies, axes


def _check_conserving(system: System, reduce: bool) -> None:
    joined = mechanisms.joined(system)
    held = [joint.label for joint in system.joints] if joined or not reduce else []
    if held or system.forces:
        what = f"joints ({', '.join(held)})" if held else f"forces ({', '.join(f.label for f in system.forces)})"
        cure = " or leave out reduce = False" if held and not joined else ""
        raise ValueError(
            "method = 'energy-momentum' serves bodies that are free or turn about a fixed point, under gravity; this "
            f"system has {what}. Use method = 'variational'{cure}."
        )


def _sigmas(system: System, sigma: Any, moments: Array) -> Array:
    """The scaling of each body: "mean" is the mean of its principal moments, about the point it turns about."""
    mean = moments.mean(axis=1)
    names = system.names
    wanted = "'mean', a number >= 0, one for each body, or a dictionary from names to these"

    def value(what: str, given: Any, default: float) -> float:
        if isinstance(given, str) and given == "mean":
            return default
        try:
            number = float(given)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{what} = {given!r} must be {wanted}.") from None
        if isinstance(given, (str, bool)) or not 0.0 <= number < np.inf:
            raise ValueError(f"{what} = {given!r} must be {wanted}.")
        return number

    if isinstance(sigma, Mapping):
        for name in sigma:
            _check.choice("sigma", name, names)
        return np.array([value(f"sigma[{n!r}]", sigma.get(n, "mean"), m) for n, m in zip(names, mean, strict=True)])
    if isinstance(sigma, str) or np.ndim(sigma) == 0:
        return np.array([value("sigma", sigma, m) for m in mean])
    if len(sigma) != len(names):
        raise ValueError(f"sigma = {sigma!r} has {len(sigma)} values for {len(names)} bodies; it must be {wanted}.")
    return np.array([value(f"sigma[{i}]", s, m) for i, (s, m) in enumerate(zip(sigma, mean, strict=True))])
