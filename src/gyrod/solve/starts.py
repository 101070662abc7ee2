"""Where motions begin: with velocities that agree with those of led ends, of driven joints and of moving bodies.

An end that moves while the rod behind it stands has a strain rate, and so a damping force, that grows with the mesh.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gyrod import rotations
from gyrod._check import Array
from gyrod.equations import Compiled, compile_system
from gyrod.model import Clamped, Hinged, Rod, System
from gyrod.model.ends import End
from gyrod.model.errors import GROUND
from gyrod.motion import Rest
from gyrod.rotations.vectors import cross
from gyrod.solve.outcome import fail_at_start
from gyrod.solve.statics import SHIFT, Statics, moves, prepare

if TYPE_CHECKING:
    from typing import Unpack

    from gyrod.equations.checks import CoreOptions

#: The equations of a rest, and the unknowns with which its motion begins.
First = tuple[Compiled, Array]

#: Step of the difference in time at the start of a motion, times the slowest rate.
DIFFERENCE = 1e-5


def from_rest(rest: Rest) -> tuple[First, System]:
    """The start of a motion from rest, and the system that moves."""
    if rest.t != 0.0:
        raise ValueError(f"this Rest holds at t = {rest.t:g}, and motions start at t = 0; shift the functions of time.")
    system, y = rest.system.original, np.array(rest.y)
    if _moved(system):
        y = _followed(prepare(system, rest.motion), y)
    return (rest.motion.compiled, y), system


def begin(system: System, first: First | None, formulation: str, **options: Unpack[CoreOptions]) -> Compiled:
    """The equations of a system with the start of its motion: that of a rest, or the one that the system gives."""
    compiled = compile_system(system, formulation, started=first is not None, **options)
    if first is None:
        try:
            return _moved_by_ends(compiled)
        except RuntimeError as error:  # a sentence of the core
            if type(error) is not RuntimeError:
                raise
            fail_at_start(error, compiled, "")
    started = compiled.started(*first)
    if not _moved(system):
        return started
    # What closes loops moves with their drives, not by balance.
    return replace(started, y0=np.asarray(started.core.project(started.y0, 0.0)))


def _followed(statics: Statics, y: Array) -> Array:
    """The unknowns with the velocities of the path of equilibria through them, as ends and joints are led."""
    d, where, y = DIFFERENCE / statics.rate, statics.velocities, np.array(y)
    times = d * np.arange(3.0)  # nobody's function is asked for a time before the start
    if not moves(statics, y, times):
        return y
    # A larger shift than Newton's keeps motions without stiffness where they are; a second solve takes it out again.
    shift = 10.0 * SHIFT * statics.rate
    if not statics.compiled.core.linearise(0.0, y, shift):
        return y
    weights = (-1.5 / d, 2.0 / d, -0.5 / d)
    found = statics.slope(y, [(w, statics, s) for w, s in zip(weights, times.tolist(), strict=True)])[1][where] / shift
    b = np.zeros_like(y)
    b[where] = shift**2 * found
    y[where] = found + np.asarray(statics.compiled.core.solve(b))[where] / shift
    return y


def _moved_by_ends(compiled: Compiled) -> Compiled:
    """Rods that were given no velocity follow their ends, with the least strain rates; bodies move as given.

    That is the path of equilibria of these rods alone, without bending moments as they lie: their stiffness is then
    positive, however far they are from rest.
    """
    whole = compiled.system
    moving = any(v.any() for body in whole.bodies for v in (body.velocity, body.angular_velocity))
    if not _led(whole) and not (whole.rod_ends and moving):
        return compiled
    idle = {rod.name: rod for rod in whole.rods if _idle(rod)}
    # What joins rods that were given no velocity, and nothing else, moves with them.
    loose = {x.name for x in whole.original.junctions if x.held_by is None and all(m[0] in idle for m in x.members)}
    ends = {name: [_end(whole, rod, e, loose) for e in (0, 1)] for name, rod in idle.items()}
    if all(_stands(end) for pair in ends.values() for end in pair):
        return compiled
    # Without what acts on them their elements would end elsewhere.
    grids = {name: {"grid": rod.mesh.ends, "segments": None} if rod._extra else {} for name, rod in idle.items()}
    alone = [
        rod.with_(start=ends[name][0], end=ends[name][1], precurvature=None, **grids[name])
        for name, rod in idle.items()
    ]
    statics = prepare(System(rods=alone, gravity=(0, 0, 0)))
    y = _followed(statics, statics.y)
    if not (np.isfinite(y).all() and y[statics.velocities].any()):
        return compiled
    layouts = zip(whole.rods, compiled.layouts(), strict=True)
    here = [layout for rod, layout in layouts if rod.name in idle]
    start = compiled.with_rods(zip(statics.compiled.layouts(), here, strict=True), y)
    if compiled.mechanism is not None:
        v, Omega = statics.compiled.motions(y)[2:]
        motions, index = compiled.motions(compiled.y0), {name: i for i, name in enumerate(whole.names)}
        for i, name in enumerate(statics.compiled.system.names):
            if name in loose:
                motions[2][0, index[name]], motions[3][0, index[name]] = v[0, i], Omega[0, i]
        start = compiled.states(np.zeros(1), motions, start)[0]
    return replace(compiled, y0=start)


def _moved(system: System) -> bool:
    """Whether ends or joints are led."""
    return _led(system) or any(joint.driven for joint in system.joints)


def _led(system: System) -> bool:
    """Whether an end of a rod is."""
    return any(callable(x) for rod in system.rods for end in (rod.start, rod.end) for x in (end.at, end.frame))


def _idle(rod: Rod) -> bool:
    """Whether a rod was given no velocity."""
    return not any(callable(v) or v.any() for v in (rod.velocity, rod.angular_velocity))


def _stands(end: End) -> bool:
    """Whether an end is known to stand at the start; of functions without derivatives nothing is."""
    rates = (end.velocity_at(0.0), end.angular_velocity_at(0.0))
    return all(rate is not None and not rate.any() for rate in rates)


def _end(whole: System, rod: Rod, e: int, loose: set[str]) -> End:
    """An end with what holds it led as a function of time, if that moves."""
    end, place = (rod.start, rod.end)[e], whole.rod_ends.get((rod.name, e))
    if place is None or place.host in loose:
        return end
    if place.host == GROUND:
        return whole.ground_ends[rod.name, e]
    host, x, p = whole.body(place.host), rod.positions[-e], rod.end_frames[e]
    omega = host.matrix @ host.angular_velocity
    v = whole.initial_velocities[host.name] + cross(omega, x - host.position)
    at = (lambda t: x + t * v) if v.any() else None
    if not place.clamped:
        return Hinged(at=at)
    return Clamped(at=at, frame=(lambda t: rotations.multiply(rotations.exp(t * omega), p)) if omega.any() else None)
