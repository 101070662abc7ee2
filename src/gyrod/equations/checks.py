"""Why a system cannot be written in a formulation: all reasons at once, before the core sees any of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypedDict

import numpy as np

from gyrod import rotations
from gyrod._check import Array
from gyrod.equations.rods import HELD
from gyrod.model import Body, ModelError, System
from gyrod.model.attachments import RodEndPlace
from gyrod.model.errors import GROUND

#: Sine of the second Euler angle below which a body starts at gimbal lock.
LOCKED = 1e-4

#: A joint may be so many times as far from its bodies as they are large: beyond, rounding moves them by 1e-6 of it.
FARTHEST = 5e9

_UNIT = np.eye(3)

Hosted = Mapping[tuple[str, int], RodEndPlace]


class CoreOptions(TypedDict, total=False):
    """Variants of a formulation as the core calls them, and whether bodies are reduced to joint coordinates."""

    spatial: bool
    printed: bool
    polar: bool
    fictive_moment: bool
    baumgarte_omega: float
    baumgarte_r: float
    level: int
    qr: bool
    stabilised: bool
    reduce: bool
    #: Of contacts: rigid, by impulses.
    hard: bool


def check_system(
    system: System, formulation: str, options: CoreOptions, hosted: Hosted, *, tree: bool, velocities: bool
) -> None:
    """Raise one `ModelError` with all objections; ``tree``: bodies are a mechanism."""
    whole = system.assembled()
    problems = [*_of_rods(whole, formulation, options), *_of_ends(whole, hosted)]
    problems += _of_joints(whole, formulation, options) if tree else _of_pins(whole, options)
    problems += _of_angles(whole, tree) if formulation == "euler" else ()
    problems += _of_places(whole)
    try:
        system.check_consistent(velocities=velocities)
    except ModelError as error:
        problems += error.problems
    if problems:
        raise ModelError(dict.fromkeys(problems))


def _of_rods(system: System, formulation: str, options: CoreOptions) -> Iterator[str]:
    if not system.rods:
        return
    for option in ("spatial", "printed", "fictive_moment"):
        if options.get(option):
            yield f"the variant {option!r} of {formulation!r} is for bodies; {system.rod_names[0]!r} is a rod."
    for rod in system.rods:
        if rod.strain in HELD and rod.mass != "lumped":
            yield f"rod {rod.name!r} with strain = {rod.strain!r} needs mass = 'lumped', got {rod.mass!r}."


def _of_ends(system: System, hosted: Hosted) -> Iterator[str]:
    """Ends of rods that bodies hold."""
    for (name, e), place in hosted.items():
        rod, what = system.rod(name), f"rod {name!r} is held by body {place.host!r}"
        least, cells = (2, "elements") if rod.mesh.degree else (3, "segments")
        if rod.mesh.cells < least and (name, 1 - e) in hosted:
            yield f"{what}: a rod between two bodies needs at least {least} {cells}, got {rod.mesh.cells}."


def _of_places(system: System) -> Iterator[str]:
    """Joints so far away that the places of their bodies are lost to rounding."""
    for joint in system.joints:
        if GROUND in (joint.a, joint.b):
            continue
        place = system.attachment(joint)
        a, b = system.body(joint.a), system.body(joint.b)
        size = max(np.linalg.norm(a.position - b.position), *(np.sqrt(np.trace(x.inertia) / x.mass) for x in (a, b)))
        arm = max(np.linalg.norm(place.at_a), np.linalg.norm(place.at_b))
        if arm > FARTHEST * size:
            yield (
                f"{joint.label} is {arm:.3g} m away from its bodies and they are {size:.3g} m from each other, or "
                "large: their places would be lost to rounding. Check the units."
            )


def _of_joints(system: System, formulation: str, options: CoreOptions) -> Iterator[str]:
    """Bodies with joints."""
    for option in ("spatial", "printed"):
        if options.get(option) and not system.rods:
            yield f"the variant {option!r} of {formulation!r} is for bodies without joints."
    level = int(options.get("level", 0))
    if not formulation.startswith("absolute"):
        if level or options.get("qr"):
            what = f"index = {level}" if level else "null_space = 'qr'"
            yield f"{what} works with the absolute formulations only, not with {formulation!r}."
        return
    for body in system.bodies:
        moments, _ = principal(body.inertia)
        if moments.min() <= 1e-13 * max(moments.max(), 1e-300):
            yield (
                f"body {body.name!r} has a singular inertia (principal moments {moments}), which the absolute "
                "formulations cannot invert; use 'nullspace-quaternion' or give it three positive moments."
            )


def _of_pins(system: System, options: CoreOptions) -> Iterator[str]:
    """Free bodies, and bodies that turn about a fixed point."""
    if options.get("level") or options.get("qr"):  # rods alone: bodies would be a mechanism
        what = f"index = {options['level']}" if options.get("level") else "null_space = 'qr'"
        names = ", ".join(map(repr, system.rod_names))
        yield (
            f"{what} is about multipliers of bodies, and there are only rods ({names}): each of their frames has one "
            "constraint of its own, the norm of its quaternion, whose multiplier is a known function of its velocity, "
            "so that there is nothing to solve for. Leave it out."
        )


def _of_angles(system: System, tree: bool) -> Iterator[str]:
    """What starts at gimbal lock of the Euler angles 3-1-3."""
    # Of bodies with joints the axes are chosen: see `unlocked`.
    frames = [
        (f"body {b.name!r}", turned(b, about(b, system.fixed_points.get(b.name))[2])) for b in system.bodies if not tree
    ]
    for what, p in [*frames, *((f"rod {rod.name!r}", rod.quaternions) for rod in system.rods)]:
        sine = float(np.min(np.abs(np.sin(rotations.euler_from_quaternion(p, "313")[..., 1]))))
        if sine < LOCKED:
            yield (
                f"{what} starts at gimbal lock of the Euler angles 3-1-3 (|sin theta2| = {sine:.1g}); turn "
                "its axes or use another formulation."
            )


# --- axes in which bodies are written ---------------------------------------------------------------------------------


def principal(inertia: Array) -> tuple[Array, Array]:
    """Principal moments and axes; a matrix that is diagonal already keeps the user's axes and their order."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = inertia.tolist()
    across = max(map(abs, (xy, xz, yx, yz, zx, zy)))
    if across <= 1e-14 * max(abs(xx), abs(yy), abs(zz), across):
        return np.array([xx, yy, zz]), np.eye(3)
    moments, A = np.linalg.eigh(inertia)
    if np.linalg.det(A) < 0.0:
        A = A * np.array([1.0, 1.0, -1.0])
    return moments, A


def unlocked(body: Body, moments: Array, A: Array) -> tuple[Array, Array]:
    """Principal axes in the order farthest from gimbal lock of the Euler angles 3-1-3, where the third is upright."""
    third = int(np.argmin(np.abs((body.matrix @ A)[2])))
    order = [(third + 1) % 3, (third + 2) % 3, third]
    return moments[order], A[:, order]


def about(body: Body, at: Array | None) -> tuple[Array, Array, Array]:
    """Arm from a fixed point to the centre of mass in the body, principal moments about the point, their axes."""
    if at is None:
        return np.zeros(3), *principal(body.inertia)
    arm = body.matrix.T @ (body.position - at)
    return arm, *principal(body.inertia + body.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm)))


def turned(body: Body, A: Array) -> Array:
    """Quaternion of the principal axes at the start."""
    if is_unit(A):
        return body.orientation
    return np.asarray(rotations.multiply(body.orientation, rotations.quaternion_from_matrix(A)))


def is_unit(A: Array) -> bool:
    """Whether axes are the user's own."""
    return bool((A == _UNIT).all())
