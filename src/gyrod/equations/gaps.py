"""Joints as the core reads them, and by how much their partners miss each other at the start."""

from __future__ import annotations

import math

import numpy as np

from gyrod import _core
from gyrod._check import Array
from gyrod.model import Joint, System
from gyrod.model.attachments import check_velocities
from gyrod.model.errors import GROUND, Problems, called, real

#: Relative error of the rate of a drive that is given with its derivative.
GAP_SLACK = 1e-9
#: The same for the rate of a drive that is given without its derivative.
RATE_SLACK = 1e-6
#: Step in s of the numerical rate of a drive at the start.
RATE_STEP = 3e-5

#: What a gap is of, and its unit.
GAPS = (("position", "m"), ("position", "rad"), ("velocity", "m/s"), ("velocity", "rad/s"))


def joint_set(system: System) -> _core.JointSet:
    """The joints of a system in the axes of its bodies."""
    places, joints = system._places, system.joints
    pairs = np.stack([places.a, places.b], axis=1).astype(np.int64)
    return _core.JointSet(
        kinds=[joint.kind for joint in joints],
        pairs=np.where(pairs == len(system.bodies), -1, pairs),
        at=np.stack([places.at_a, places.at_b], axis=1),
        frames=np.stack([places.local_a, places.local_b], axis=1),
        parameters=np.array([joint.lead or x for joint, x in zip(joints, places.length.tolist(), strict=True)]),
    )


def gaps_of(system: System) -> Array:
    """Gaps of all joints in the order of `GAPS`, and what of each is rounding, (joints, 2, 4); drives as at t = 0."""
    if not system.joints:
        return np.zeros((0, 2, 4))
    start, none = system._start, (math.nan, 0.0, 0.0)
    v = np.array([system.initial_velocities[name] for name in system.names])
    Omega = np.array([body.angular_velocity for body in system.bodies])
    led = np.array([none if joint.law is None else _value_and_rate(joint) for joint in system.joints])
    return np.asarray(
        joint_set(system).gaps(start.position[None, :-1], start.matrix[None, :-1], v[None], Omega[None], led)
    )


def residuals(system: System) -> dict[str, tuple[float, float]]:
    """The largest gap of position and of velocity of each joint, by its label."""
    found = system._gaps()[:, 0].reshape(-1, 2, 2).max(axis=2)
    return {label: (p, v) for label, (p, v) in zip(system.joint_labels, found.tolist(), strict=True)}


def check_consistent(system: System, *, velocities: bool = True) -> None:
    """Raise a `ModelError` that names all joints, and ends of rods, whose partners do not meet at the start."""
    problems = Problems("System")
    found = system._gaps()
    for i in np.flatnonzero((found[:, 0] > found[:, 1]).any(axis=1)).tolist():
        for (what, unit), gap, slack in zip(GAPS, *found[i].tolist(), strict=True):
            if gap > slack and (velocities or what != "velocity"):
                sentence = f"{what} gap at the start of {gap:.6g} {unit}: {_remedy(system.joints[i], what, unit)}."
                problems.add(sentence, system.joint_labels[i])
    if velocities:
        check_velocities(problems, system)
    problems.finish()


def _remedy(joint: Joint, what: str, unit: str) -> str:
    """What does not fit, and what can be done about it."""
    bodies = " and ".join(repr(name) for name in joint.bodies if name != GROUND)
    led = joint.driven or not joint.carries
    demand = f"it and its {joint.leading} demand" if led else "it demands"
    if what == "position":
        verb, changed = "stand", "position or orientation"
    else:
        verb, changed = "move", "angular_velocity or velocity"
    hint = " (left out, velocity follows from the rotation)" if unit == "m/s" else ""
    if unit == "rad" and led:
        hint = " (angles count from the start, so drive has to begin at 0)"
    return (
        f"its partners do not {verb} as {demand}; change {changed} of {bodies}{hint}, or let gd.assemble(system) do it "
        "(assemble: true in the run of a model file)"
    )


def _value_and_rate(joint: Joint) -> tuple[float, float, float]:
    """Value and rate of a drive at t = 0, and how far the rate may be wrong."""
    assert joint.law is not None
    field, (f, rate, _) = joint.leading, joint.law
    value = called(field, f, "t", 0.0, real)
    if rate is not None:
        found = called(field, rate, "t", 0.0, real)
        return value, found, GAP_SLACK * abs(found)
    # The derivative of the quartic through five points from 0 on: the drive may begin to move there.
    weights = (-25.0 / 12.0, 4.0, -3.0, 4.0 / 3.0, -0.25)
    values = [called(field, f, "t", k * RATE_STEP, real) for k in range(5)]
    found = sum(w * x for w, x in zip(weights, values, strict=True)) / RATE_STEP
    # What the drive computes with may be of the size of 1 where its values are not: 1 - cos(t).
    return value, found, RATE_SLACK * (abs(found) + max(map(abs, values))) + 1e-14 / RATE_STEP
