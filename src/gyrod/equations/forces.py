"""What acts on bodies, for the core: forces of a model, weights, and the fictitious forces of a frame that turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

import numpy as np

from gyrod import _core
from gyrod._check import Array
from gyrod.equations.links import line_numbers
from gyrod.equations.rods import frame_spin
from gyrod.equations.signals import Signals, checked
from gyrod.model import Bushing, CForce, Force, ForceLaw, System, Torque, UserForce
from gyrod.model.forces import BodyState, Link


def body_forces(
    system: System, index: dict[str, int], axes: Array, signals: Signals, own: Sequence[_core.ForceElement] = ()
) -> tuple[Array, list[_core.ForceElement]]:
    """Gravity and forces on bodies: of the model, their ``own``, weights, those of a frame that turns."""
    forces = [compile_force(f, system, index, axes, signals) for f in system.forces if not f.on_rods]
    gravity, weights = body_weights(system, signals)
    return gravity, [*forces, *own, *weights, *frame_forces(system, axes)]


def body_weights(system: System, signals: Signals) -> tuple[Array, list[_core.ForceElement]]:
    """Gravity of the bodies: a constant, or their weights as functions of time."""
    function = system.gravity_function
    if function is None:
        return np.array(system.gravity), []
    none = np.zeros(3)
    return none, [
        _core.AppliedForce(
            body=i, at=none, body_frame=False, torque=False,
            value=signals.signal("System.gravity", function, 3, turn=body.mass * np.eye(3)),
        )
        for i, body in enumerate(system.bodies)
        if body.mass > 0.0
    ]  # fmt: skip


def frame_forces(system: System, axes: Array) -> list[_core.ForceElement]:
    """Fictitious forces on the bodies in a frame that turns."""
    spin = frame_spin(system)
    if not spin.any():
        return []
    return [
        _core.FrameForce(body=i, spin=spin, mass=body.mass, inertia=A.T @ body.inertia @ A)
        for i, (body, A) in enumerate(zip(system.bodies, axes, strict=True))
    ]


class _Ends(TypedDict):
    """Points of two bodies, -1 for ground."""

    a: int
    b: int
    at_a: Array
    at_b: Array


def compile_force(
    force: ForceLaw, system: System, index: dict[str, int], axes: Array, signals: Signals
) -> _core.ForceElement:
    """A force on bodies as the core has it."""

    def at_of(name: str, at: Array | None) -> tuple[int, Array]:
        x = np.zeros(3) if at is None else np.array(at)
        return (-1, x) if name == "ground" else (index[name], axes[index[name]].T @ x)

    if isinstance(force, Force | Torque):
        torque = isinstance(force, Torque)
        value = force.torque if isinstance(force, Torque) else force.force
        body = index[force.body]
        A = axes[body]
        at = np.zeros(3) if isinstance(force, Torque) else A.T @ force.at
        turn = A.T if force.frame == "body" else np.eye(3)
        signal = signals.signal(force.label, value, 3, turn=turn)
        return _core.AppliedForce(body=body, at=at, body_frame=force.frame == "body", torque=torque, value=signal)
    if isinstance(force, Link):
        # Links to rods are made elsewhere: these places are points.
        (a, at_a), (b, at_b) = (at_of(n, None if isinstance(at, tuple) else at) for _, n, at in force.ends)
        given: _Ends = {"a": a, "b": b, "at_a": at_a, "at_b": at_b}
        if force.law is not None:
            return _core.line_force(law=force.law, numbers=line_numbers(force, force.law, system), **given)
        assert isinstance(force, Bushing)
        turn = np.eye(3) if a < 0 else axes[a]
        return _core.Bushing(**given, stiffness=force.stiffness, damping=force.damping, axes=turn)
    body = index[force.bodies[0]]
    if isinstance(force, UserForce):
        derivative = None if force.derivative is None else _state_function(force.label, force.derivative, (6, 18))
        law = _state_function(force.label, force.function, (6,))
        return _core.UserForce(body=body, axes=axes[body], function=law, derivative=derivative)
    assert isinstance(force, CForce)
    address, context, derived = int(force.address), int(force.context), int(force.derivative)
    return _core.UserForce(body=body, axes=axes[body], address=address, context=context, derivative=derived)


def _state_function(
    label: str, function: Callable[..., object], shape: tuple[int, ...]
) -> Callable[[float, Array], Array]:
    def call(t: float, x: Array) -> Array:
        state = BodyState(x[:3], x[3:12].reshape(3, 3), x[12:15], x[15:])
        return checked(label, t, lambda: function(t, state), shape)

    return call
