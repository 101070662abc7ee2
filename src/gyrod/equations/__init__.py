"""Which unknowns: from a model to equations of motion in one formulation.

`compile_system` is the only place where the layout of the state is known: body after body (position, rotation
coordinates, velocity, rotational velocities), a pinned body without position and velocity; then rod after rod. The core
works in principal axes; `Compiled` turns the user's axes into them and back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gyrod import _check, _core, rotations
from gyrod.equations.rods import HELD, compile_rod, fundamental, initial_state, stiffest
from gyrod.model import Bushing, CForce, Force, ForceLaw, SpringDamper, System, Torque, UserForce
from gyrod.model.forces import BodyState

Array = NDArray[np.float64]

#: Rotation coordinates and rotational velocities of each formulation, with the equation of Lang 2010.
FORMULATIONS = {
    "nullspace-quaternion": (4, 3),  # (42)
    "nullspace-directors": (9, 3),  # (25)
    "absolute-quaternion": (4, 4),  # (40)
    "absolute-directors": (9, 9),  # (23)
    "euler": (3, 3),  # (66)
}

#: Those that rods have.
ROD_FORMULATIONS = ("nullspace-quaternion", "absolute-quaternion")


class ForceError(RuntimeError):
    """A user's function (a force, an event) raised or returned something it must not; names it and the time."""


@dataclass(frozen=True)
class Compiled:
    """A system in a formulation: the core's object, where the unknowns are, and how to read them."""

    system: System
    formulation: str
    core: Any
    #: Initial state.
    y0: Array
    #: Whether Python functions are called from the right-hand side.
    python: bool
    #: For each body: columns are its principal axes in the user's axes.
    axes: Array
    #: For each body: principal moments, about the fixed point of a pinned one, (b, 3).
    moments: Array
    #: Kind of each unknown: "position", "rotation", "velocity" or "spin".
    kinds: tuple[str, ...]

    #: Options of the formulation it was compiled with.
    options: dict[str, Any]

    #: For each rod: the core's arrays on its grid.
    rods: tuple[dict[str, Any], ...] = ()

    def __reduce__(self) -> Any:
        """The core's object is made anew where the system is unpickled."""
        return partial(compile_system, **self.options), (self.system, self.formulation)

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return len(self.y0)

    def scales(self, length: float | None = None, time: float | None = None) -> Array:
        """Physical scale of each unknown: L, 1, L/tau, 1/tau; the rate of a quaternion is half an angular velocity."""
        L = length or self._length()
        tau = time or self._time(L)
        spin = (0.5 if self.formulation == "absolute-quaternion" else 1.0) / tau
        of = {"position": L, "rotation": 1.0, "velocity": L / tau, "spin": spin}
        return np.array([of[k] for k in self.kinds])

    def _length(self) -> float:
        s = self.system
        candidates = [rod.length for rod in s.rods]
        candidates += [float(np.sqrt(np.linalg.norm(b.inertia, 2) / b.mass)) for b in s.bodies]
        candidates += [float(np.linalg.norm(s.body(n).position - at)) for n, at in s.fixed_points.items()]
        candidates += [s.spring_length(f) for f in s.forces if isinstance(f, SpringDamper)]
        if s.bodies:
            positions = np.array([b.position for b in s.bodies])
            candidates.append(float(np.ptp(positions, axis=0).max()))
        return max(candidates) or 1.0

    def _time(self, L: float) -> float:
        s = self.system
        gravity = float(np.linalg.norm(s.gravity))
        if gravity > 0.0 or s.rods:
            swing = [float(np.sqrt(L / gravity))] if gravity > 0.0 else []
            return max(swing + [1.0 / fundamental(rod) for rod in s.rods])
        rates = [float(np.linalg.norm(b.angular_velocity)) for b in s.bodies]
        rates += [float(np.linalg.norm(b.velocity)) / L for b in s.bodies]
        return 1.0 / (max(rates) or 1.0)

    def rod_spectrum(self) -> tuple[float, float]:
        """About the largest frequency and damping rate of the rods, 1/s."""
        found = [stiffest(table) for table in self.rods]
        return max((f for f, _ in found), default=0.0), max((d for _, d in found), default=0.0)

    def motions(self, y: Array, *, project: bool = False) -> tuple[Array, Array, Array, Array]:
        """Position (k, b, 3), matrix (k, b, 3, 3), velocity (k, b, 3), Omega (k, b, 3) in the user's axes."""
        if not self.system.bodies:
            k = len(np.atleast_2d(y))
            return np.zeros((k, 0, 3)), np.zeros((k, 0, 3, 3)), np.zeros((k, 0, 3)), np.zeros((k, 0, 3))
        raw = self.core.motions(np.ascontiguousarray(np.atleast_2d(y)), project)
        R = raw[..., 3:12].reshape(*raw.shape[:2], 3, 3) @ np.swapaxes(self.axes, -1, -2)
        Omega = np.einsum("bij,kbj->kbi", self.axes, raw[..., 15:])
        return raw[..., :3], R, raw[..., 12:15], Omega

    def rod_states(self, rod: int, t: Array, y: Array, *, project: bool = False) -> dict[str, Array]:
        """Everything about a rod at rows (t, y): arrays (k, vertices or segments, components)."""
        times, rows = np.ascontiguousarray(np.atleast_1d(t)), np.ascontiguousarray(np.atleast_2d(y))
        return dict(self.core.rod_states(rod, times, rows, project))


def compile_system(system: System, formulation: str = "nullspace-quaternion", **options: Any) -> Compiled:
    """Write the equations of motion of a system in a formulation; options are those of the core."""
    _check.choice("formulation", formulation, FORMULATIONS)
    if not isinstance(system, System):
        raise ValueError(f"system must be a gyrod.System, got {type(system).__name__}.")
    if not system.bodies and not system.rods:
        raise ValueError("system has no bodies and no rods; there is nothing to simulate.")
    if system.rods and formulation not in ROD_FORMULATIONS:
        raise ValueError(
            f"formulation = {formulation!r} does not serve rods ({', '.join(map(repr, system.rod_names))}); "
            f"use one of {', '.join(map(repr, ROD_FORMULATIONS))}."
        )
    for option in ("spatial", "printed", "fictive_moment"):
        if system.rods and options.get(option):
            raise ValueError(
                f"the variant {option!r} of {formulation!r} is for bodies; {system.rod_names[0]!r} is a rod."
            )
    for rod in system.rods:
        if rod.strain in HELD and (formulation.startswith("absolute") or rod.mass != "lumped"):
            raise ValueError(
                f"rod {rod.name!r} with strain = {rod.strain!r} needs formulation = 'nullspace-quaternion' and "
                f"mass = 'lumped', got {formulation!r} and {rod.mass!r}."
            )
    index = {name: i for i, name in enumerate(system.names)}
    bodies, axes, y0, kinds = [], [], [], []
    for body in system.bodies:
        at = system.fixed_points.get(body.name)
        R = body.matrix
        arm = np.zeros(3) if at is None else R.T @ (body.position - at)
        inertia = body.inertia + body.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        moments, A = _principal(inertia)
        point = np.zeros(3) if at is None else np.asarray(at)
        bodies.append((body.mass, moments, at is not None, point, A.T @ arm))
        axes.append(A)
        state, kind = _initial(formulation, body, at is not None, system, A, options.get("spatial", False))
        y0.extend(state)
        kinds.extend(kind)
    forces = [_compile_force(f, system, index, np.array(axes)) for f in system.forces if not f.rods]
    rods = [compile_rod(rod, system, _checked) for rod in system.rods]
    python = any(_calls_python(f) for f in system.forces if not f.rods) or any(p for _, p in rods)
    tables = [table for table, _ in rods]
    core = _core.System(formulation, bodies, forces, np.array(system.gravity), tables, options)
    start = np.array([*y0, *np.zeros(core.size - len(y0))])
    kinds += [""] * (core.size - len(y0))
    for rod, layout in zip(system.rods, core.layout(), strict=True):
        initial_state(rod, layout, start, kinds, absolute=formulation.startswith("absolute"))
    moments = np.array([b[1] for b in bodies]).reshape(-1, 3)
    frames = np.array(axes).reshape(-1, 3, 3)
    return Compiled(
        system, formulation, core, start, python, frames, moments, tuple(kinds), dict(options), tuple(tables)
    )


def _principal(inertia: Array) -> tuple[Array, Array]:
    """Principal moments and axes; a matrix that is diagonal already keeps the user's axes and their order."""
    off = inertia - np.diag(np.diag(inertia))
    if np.abs(off).max() <= 1e-14 * np.abs(inertia).max():
        return np.diag(inertia).copy(), np.eye(3)
    moments, A = np.linalg.eigh(inertia)
    if np.linalg.det(A) < 0.0:
        A = A * np.array([1.0, 1.0, -1.0])
    return moments, A


def _initial(
    formulation: str, body: Any, pinned: bool, system: System, A: Array, spatial: bool
) -> tuple[list[float], list[str]]:
    identity = np.array_equal(A, np.eye(3))
    p = body.orientation if identity else rotations.multiply(body.orientation, rotations.quaternion_from_matrix(A))
    R = body.matrix @ A
    Omega = A.T @ body.angular_velocity
    q: Array
    v: Array
    if formulation == "euler":
        q, v = rotations.euler_from_quaternion(p, "313"), Omega
        if abs(np.sin(q[1])) < 1e-4:
            raise ValueError(
                f"body {body.name!r} starts at gimbal lock of the Euler angles 3-1-3 (|sin theta2| = "
                f"{abs(np.sin(q[1])):.1g}); turn its axes or use another formulation."
            )
    elif formulation.endswith("quaternion"):
        q = p
        v = Omega if formulation.startswith("nullspace") else rotations.rates("quaternion", p, Omega)
    else:
        q = rotations.directors_from_matrix(R)
        v = Omega if formulation.startswith("nullspace") else rotations.directors_from_matrix(R @ rotations.skew(Omega))
    if spatial and formulation.startswith("nullspace"):
        v = R @ Omega
    rates = ["spin"] * len(v)
    if pinned:
        return [*q, *v], ["rotation"] * len(q) + rates
    state = [*body.position, *q, *system.initial_velocities[body.name], *v]
    return state, ["position"] * 3 + ["rotation"] * len(q) + ["velocity"] * 3 + rates


def _calls_python(force: ForceLaw) -> bool:
    if isinstance(force, UserForce):
        return True
    return (isinstance(force, Force) and callable(force.force)) or (
        isinstance(force, Torque) and callable(force.torque)
    )


def _compile_force(force: ForceLaw, system: System, index: dict[str, int], axes: Array) -> tuple[Any, ...]:
    def at_of(name: str, at: Array) -> tuple[int, Array]:
        if name == "ground":
            return -1, np.array(at)
        return index[name], axes[index[name]].T @ at

    if isinstance(force, Force | Torque):
        torque = isinstance(force, Torque)
        value = force.torque if isinstance(force, Torque) else force.force
        body = index[force.body]
        A = axes[body]
        at = np.zeros(3) if isinstance(force, Torque) else A.T @ force.at
        turn = A.T if force.frame == "body" else np.eye(3)
        constant = np.zeros(3) if callable(value) else turn @ value
        function = _time_function(force.label, value, turn) if callable(value) else None
        return ("applied", body, at, force.frame == "body", torque, constant, function)
    if isinstance(force, SpringDamper):
        (a, at_a), (b, at_b) = at_of(force.a, force.at_a), at_of(force.b, force.at_b)
        return ("spring", a, b, at_a, at_b, force.stiffness, force.damping, system.spring_length(force))
    if isinstance(force, Bushing):
        (a, at_a), (b, at_b) = at_of(force.a, force.at_a), at_of(force.b, force.at_b)
        A = np.eye(3) if a < 0 else axes[a]
        return ("bushing", a, b, at_a, at_b, force.stiffness, force.damping, A)
    body = index[force.bodies[0]]
    if isinstance(force, UserForce):
        derivative = None if force.derivative is None else _state_function(force.label, force.derivative, (6, 18))
        return ("user", body, axes[body], _state_function(force.label, force.function, (6,)), derivative)
    assert isinstance(force, CForce)
    return ("c", body, axes[body], int(force.address), int(force.context), int(force.derivative))


def _checked(label: str, t: float, call: Callable[[], Any], shape: tuple[int, ...]) -> Array:
    try:
        value = call()
    except Exception as error:
        raise ForceError(f"{label} raised {type(error).__name__} at t = {t:g}: {error}") from error
    try:
        parts = [np.ravel(np.asarray(x, dtype=float)) for x in value] if isinstance(value, tuple) else [value]
        result = np.concatenate(parts) if isinstance(value, tuple) else np.asarray(value, dtype=float)
        result = np.ascontiguousarray(result, dtype=float).reshape(shape)
    except (TypeError, ValueError):
        raise ForceError(f"{label} returned {value!r} at t = {t:g}; it must return {np.prod(shape)} numbers.") from None
    if not np.isfinite(result).all():
        raise ForceError(f"{label} returned {result} at t = {t:g}, which is not finite.")
    return result


def _time_function(label: str, function: Callable[[float], Any], turn: Array) -> Callable[[float], Array]:
    return lambda t: np.asarray(turn @ _checked(label, t, lambda: function(t), (3,)))


def _state_function(
    label: str, function: Callable[..., Any], shape: tuple[int, ...]
) -> Callable[[float, Array], Array]:
    def call(t: float, x: Array) -> Array:
        state = BodyState(x[:3], x[3:12].reshape(3, 3), x[12:15], x[15:])
        return _checked(label, t, lambda: function(t, state), shape)

    return call
