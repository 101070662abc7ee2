"""Gaps: by how much the partners of joints miss each other at the start."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gyrod.model.errors import GROUND, called, real
from gyrod.model.joints import Distance, Helical, Joint, Prismatic, Universal
from gyrod.model.places import cross_of_two
from gyrod.rotations.vectors import cross, norms

if TYPE_CHECKING:
    from gyrod.model.system import System

Array = NDArray[np.float64]

#: Relative gap that a joint may have at the start.
GAP_SLACK = 1e-9
#: Velocity in m/s or rad/s that counts as none.
ROUNDING = 1e-12
#: The same for the rate of a drive that is given without its derivative.
RATE_SLACK = 1e-6
#: Step in s of the numerical rate of a drive at the start.
RATE_STEP = 3e-5


def labels(system: System) -> list[str]:
    """Labels of the joints; those that occur several times, with their place."""
    labels = [joint.label for joint in system.joints]
    count: dict[str, int] = {}
    for label in labels:
        count[label] = count.get(label, 0) + 1
    return [label if count[label] == 1 else f"joints[{i}], {label}" for i, label in enumerate(labels)]


@dataclass(frozen=True, eq=False)
class Gaps:
    """For each joint what its partners miss each other by at the start, and what is taken for rounding."""

    shift: Array
    turn: Array
    slide: Array
    spin: Array
    shift_slack: Array
    slide_slack: Array
    spin_slack: Array

    def told(self) -> tuple[list[tuple[float, float]], ...]:
        """Gaps and slacks of each joint, in the order of `GAPS`."""
        slacks = (self.shift_slack, np.full(len(self.turn), GAP_SLACK), self.slide_slack, self.spin_slack)
        gaps = (self.shift, self.turn, self.slide, self.spin)
        return tuple(list(zip(g.tolist(), s.tolist(), strict=True)) for g, s in zip(gaps, slacks, strict=True))


#: What a gap is of, and its unit.
GAPS = (("position", "m"), ("position", "rad"), ("velocity", "m/s"), ("velocity", "rad/s"))


def remedy(joint: Joint, what: str, unit: str) -> str:
    """What does not fit, and what can be done about it."""
    bodies = " and ".join(repr(name) for name in joint.bodies if name != GROUND)
    led = "length" if isinstance(joint, Distance) else "drive" if joint.driven else ""
    demand = f"it and its {led} demand" if led else "it demands"
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


def gaps_of(system: System) -> Gaps:
    """Return what the partners of all joints miss each other by; driven joints are taken at t = 0."""
    joints, places, start = system.joints, system._places, system._start
    n = len(joints)
    a, b = places.a, places.b
    v = np.array([*(system.initial_velocities[name] for name in system.names), np.zeros(3)])
    w_a, w_b = start.omega[a], start.omega[b]
    arm_a, arm_b = places.point_a - start.position[a], places.point_b - start.position[b]
    turning_a, turning_b = cross(w_a, arm_a), cross(w_b, arm_b)
    r = places.point_b - places.point_a
    carried = cross(w_a, r)
    E, T = places.frame_a, places.frame_a.transpose(0, 2, 1) @ places.frame_b
    shift = np.einsum("kji,kj->ki", E, r)
    slide = np.einsum("kji,kj->ki", E, v[b] + turning_b - v[a] - turning_a - carried)
    spin = np.einsum("kji,kj->ki", E, w_b - w_a)
    twist = np.stack([T[:, 2, 1] - T[:, 1, 2], T[:, 0, 2] - T[:, 2, 0], T[:, 1, 0] - T[:, 0, 1]], axis=1)
    whole = np.arctan2(0.5 * norms(twist), 0.5 * (np.trace(T, axis1=1, axis2=2) - 1.0))
    tilt = np.arctan2(np.hypot(T[:, 0, 2], T[:, 1, 2]), T[:, 2, 2])
    angle = np.arctan2(T[:, 1, 0] - T[:, 0, 1], T[:, 0, 0] + T[:, 1, 1])

    held = np.array([[axis in joint.held[0] for axis in "xyz"] for joint in joints]).reshape(n, 3)
    firm = np.array([[axis in joint.held[1] for axis in "xyz"] for joint in joints]).reshape(n, 3)
    turn = np.where(firm[:, 2], whole, np.where(firm[:, 0], tilt, 0.0))
    # Relative to what is added up, and to the rounding of the coordinates that it comes from.
    x_a, x_b, p_a, p_b = (norms(x) for x in (start.position[a], start.position[b], places.point_a, places.point_b))
    shift_slack = GAP_SLACK * (norms(places.at_a) + norms(places.at_b) + norms(r)) + 1e-14 * (x_a + x_b + p_a + p_b)
    speeds = (v[a], v[b], turning_a, turning_b, carried)
    rounding = norms(w_a) * (x_a + p_a + p_b) + norms(w_b) * (x_b + p_b)
    slide_slack = (
        GAP_SLACK * np.max([norms(x) for x in speeds], axis=0) + 2e-15 * rounding + 1e-14 * norms(v).max() + ROUNDING
    )
    spin_slack = GAP_SLACK * np.maximum(norms(w_a), norms(w_b)) + 1e-14 * norms(start.omega).max() + ROUNDING
    gaps = Gaps(
        norms(np.where(held, shift, 0.0)),
        turn,
        norms(np.where(held, slide, 0.0)),
        norms(np.where(firm, spin, 0.0)),
        shift_slack,
        slide_slack,
        spin_slack,
    )
    apart = _Apart(r, v[b] + turning_b - v[a] - turning_a, shift, slide, spin, angle)
    for i, joint in enumerate(joints):
        if isinstance(joint, Universal):
            gaps.turn[i] = math.asin(min(1.0, abs(T[i, 2, 0])))
            second = cross_of_two(E[i, :, 2], places.frame_b[i, :, 0])
            gaps.spin[i] = abs(float((w_b[i] - w_a[i]) @ second)) / math.hypot(*second)
        _lead(gaps, i, joint, apart, float(places.length[i]))
    return gaps


@dataclass(frozen=True, eq=False)
class _Apart:
    """How the partners of joints stand and move against each other: in space, and in the axes of the joint in a."""

    r: Array
    rate: Array
    shift: Array
    slide: Array
    spin: Array
    angle: Array


def _lead(gaps: Gaps, i: int, joint: Joint, apart: _Apart, length: float) -> None:
    """Add what a joint misses along the coordinates that a law, a pitch or a length ties."""
    law = joint.law
    value, rate, slack = (0.0, 0.0, 0.0) if law is None else _value_and_rate(joint, law)
    if isinstance(joint, Distance):
        distance = float(norms(apart.r[i]))
        gaps.shift[i] = abs(distance - length)
        gaps.slide[i] = abs(float(apart.r[i] @ apart.rate[i]) / distance - rate)
        gaps.slide_slack[i] += slack
        return
    shift, slide, spin = apart.shift[i, 2], apart.slide[i, 2], apart.spin[i, 2]
    miss = math.remainder(apart.angle[i] - value, 2.0 * math.pi)
    if isinstance(joint, Helical):
        lead = joint.pitch / (2.0 * math.pi)
        turned = apart.angle[i] if law is None else value + miss
        gaps.shift[i] = math.hypot(gaps.shift[i], shift - lead * turned)
        gaps.slide[i] = math.hypot(gaps.slide[i], slide - lead * spin)
        gaps.slide_slack[i] += GAP_SLACK * abs(lead * spin)
    if law is None:
        return
    if isinstance(joint, Prismatic):
        gaps.shift[i] = math.hypot(gaps.shift[i], shift - value)
        gaps.slide[i] = math.hypot(gaps.slide[i], slide - rate)
        gaps.shift_slack[i] += GAP_SLACK * abs(value)
        gaps.slide_slack[i] += slack
    else:
        gaps.turn[i] = max(gaps.turn[i], abs(miss))
        gaps.spin[i] = math.hypot(gaps.spin[i], spin - rate)
        gaps.spin_slack[i] += slack


def _value_and_rate(joint: Joint, law: Any) -> tuple[float, float, float]:
    """Value and rate of a drive at t = 0, and how far the rate may be wrong."""
    field = "length" if isinstance(joint, Distance) else "drive"
    f, rate, _ = law
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
