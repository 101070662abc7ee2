"""Every system in every formulation, by every method, for every task: the cells of docs/matrix.md.

`SYSTEMS` are the rows and `CELLS` the columns; `cell` runs one of them through public calls and says how it ended. The
tests run a part of them, `make matrix` all and writes the page. A new kind of system or of run is a line in one table.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from hostile import verdict
from linkages import Bennett, of
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import gyrod as gd
from gyrod.runs.formulations import FORMULATIONS

Array = NDArray[np.float64]

#: CPU seconds from which on a run is slow, and is ended.
SLOW = 8.0
#: Rows at which motions are compared: the end and three times before.
ROWS = 4

# --- systems ----------------------------------------------------------------------------------------------------------

_STIFFNESS = (390.0, 390.0, 390.0, 0.25, 0.25, 0.17)
_DAMPED = gd.Damping(factor=1e-3)
_GRID, _ELEMENTS = {"segments": 4}, {"segments": 2, "degree": 2}


def _body(name: str, x: Any, **given: Any) -> gd.Body:
    return gd.Body(name, 0.2, [[2e-4, 2e-5, 0], [2e-5, 3e-4, 1e-5], [0, 1e-5, 4e-4]], x, **given)


def _rod(name: str = "hose", a: Any = (0, 0, 0), b: Any = (0.6, 0, 0), start: Any = None, **given: Any) -> gd.Rod:
    made = {
        "stiffness": _STIFFNESS, "density_per_length": 0.086, "rotary_inertia": (5.4e-5, 5.4e-5, 1.1e-4),
        "start": gd.Clamped() if start is None else start, **({} if "degree" in given else _GRID),
    }  # fmt: skip
    return gd.Rod(name, initial=gd.Straight(a, b), **(made | given))


def _free_body() -> gd.System:
    return gd.System([_body("bob", (0, 0, 0), velocity=(1, 0, 0.5), angular_velocity=(1.0, 8.0, 0.5))])


def _top() -> gd.System:
    # It leans by a turn about x: the third axis of 3-1-3 is away from the vertical.
    top = gd.Body("top", 0.3, (5e-3, 5e-3, 1e-3), (0, -0.06, 0.08), ("313", (0.0, 0.6435, 0.0)), (0, 0, 0), (0, 0, 30))
    omega = gd.rotations.rotate(top.orientation, top.angular_velocity)
    return gd.System([top.with_(velocity=np.cross(omega, top.position))], [gd.Spherical("ground", "top", at=(0, 0, 0))])


def _on_bushing() -> gd.System:
    bob = _body("bob", (0.1, 0, 0), orientation=("313", (0.3, 0.6, 0.2)), angular_velocity=(1, 2, 3))
    at_b = gd.rotations.rotate(gd.rotations.conjugate(bob.orientation), (-0.1, 0, 0))
    bushing = gd.Bushing("ground", "bob", at_b=at_b, stiffness=(2e3, 3e3, 4e3), damping=0.5)
    spring = gd.SpringDamper("ground", "bob", at_a=(0.4, 0.2, 0.3), at_b=(0, 0.1, 0), stiffness=50.0, length=0.1)
    other = gd.SpringDamper("ground", "bob", at_a=(0.4, -0.2, 0.3), at_b=(0, 0, 0.1), stiffness=40.0, length=0.1)
    return gd.System([bob], forces=[bushing, spring, other])


def _chain() -> gd.System:
    """A body on a ball joint, another on it by a ball joint, with a bushing between them."""
    bodies = [_body("a", (0.1, 0, 0)), _body("b", (0.2, 0, -0.1), angular_velocity=(0, 0, 0))]
    joints = [gd.Spherical("ground", "a", at=(0, 0, 0)), gd.Spherical("a", "b", at=(0.2, 0, 0))]
    bushing = gd.Bushing("a", "b", at_a=(0.1, 0.02, 0), at_b=(0.0, 0.02, 0.1), stiffness=(20, 30, 40), damping=0.1)
    return gd.System(bodies, joints, forces=[bushing])


def _universal() -> gd.System:
    bodies = [_body("a", (0.1, 0, -0.02)), _body("b", (0.25, 0.03, 0))]
    hinge = gd.Revolute("ground", "a", at=(0, 0, 0), axis=(0, 1, 0), damping=1e-3, name="hinge")
    cross = gd.Universal("a", "b", at=(0.2, 0, 0), axis=(0, 1, 0), axis2=(1, 0, 0), name="cross")
    return gd.System(bodies, [hinge, cross])


def _tree() -> gd.System:
    """One joint of each kind; what would slide away is held by springs."""
    at = {name: np.array(x, dtype=float) for name, x in {
        "a": (0.1, 0, 0), "b": (0.2, 0, -0.1), "c": (0.3, 0.1, 0), "d": (0.0, 0.2, -0.1), "e": (0.1, 0.3, -0.1),
        "f": (0.0, 0.3, -0.3), "g": (0.3, 0.0, -0.2), "h": (0.4, 0.1, -0.1), "i": (0.5, 0.1, -0.2),
    }.items()}  # fmt: skip
    joints = [
        gd.Revolute("ground", "a", at=(0, 0, 0), axis=(0, 1, 0), stiffness=1.0, rest=0.1, damping=0.01),
        gd.Prismatic("a", "b", at=at["b"], axis=(0, 0, 1), stiffness=200.0),
        gd.Universal("a", "c", at=(0.2, 0, 0), axis=(0, 1, 0), axis2=(1, 0, 0)),
        gd.Cylindrical("ground", "d", at=(0, 0.1, 0), axis=(0, 1, 0), stiffness=(0.5, 100.0), damping=(1e-3, 0.1)),
        gd.Spherical("d", "e", at=(0, 0.3, 0)),
        gd.Planar("d", "f", at=at["f"], axis=(1, 0, 0)),
        gd.Helical("b", "g", at=at["g"], axis=(1, 0, 0), pitch=0.1, stiffness=0.5),
        gd.Fixed("c", "h", at=at["h"]),
        gd.Distance("h", "i", at=at["h"], to=at["i"]),
    ]
    forces = [
        gd.Bushing("d", "f", at_a=(0, 0.1, -0.2), stiffness=200.0, damping=0.2),
        gd.Bushing("h", "i", at_a=(0.1, 0.0, -0.1), stiffness=50.0, damping=0.2),
        gd.SpringDamper("ground", "f", at_a=(0.3, 0.1, 0.1), at_b=(0, 0.1, 0), stiffness=20.0),
        gd.SpringDamper("ground", "f", at_a=(0.2, 0.5, 0.1), at_b=(0.1, 0, 0.1), stiffness=20.0),
        gd.SpringDamper("ground", "i", at_a=(0.3, 0.1, 0.1), at_b=(0, 0.1, 0), stiffness=20.0),
        gd.SpringDamper("ground", "i", at_a=(0.2, 0.5, 0.1), at_b=(0.1, 0, 0.1), stiffness=20.0),
    ]
    return gd.System([_body(name, x) for name, x in at.items()], joints, forces=forces)


def _four_bar(drive: Any = None) -> gd.System:
    """A crank, a coupler on ball and universal joint, a rocker: one degree of freedom and none redundant."""
    bodies = [_body("crank", (0, 0, 0.05)), _body("coupler", (0.15, 0, 0.15)), _body("rocker", (0.3, 0, 0.1))]
    joints = [
        gd.Revolute("ground", "crank", at=(0, 0, 0), axis=(0, 1, 0), name="motor", drive=drive),
        gd.Spherical("crank", "coupler", at=(0, 0, 0.1), name="ball"),
        gd.Universal("coupler", "rocker", at=(0.3, 0, 0.2), axis=(0, 1, 0), axis2=(0.8, 0, -0.6), name="cross"),
        gd.Revolute("ground", "rocker", at=(0.3, 0, 0), axis=(0, 1, 0), name="hinge"),
    ]
    return gd.System(bodies, joints)


def _bennett() -> gd.System:
    """Four hinges that a count of constraints calls locked."""
    return of(Bennett(0.5, 1.0).frames(0.8), spin=0.5, stiffness=30.0)


def _free_rod() -> gd.System:
    rod = _rod(start=gd.Free(), velocity=lambda s: (0, s, 1 - s), angular_velocity=lambda s: (-1 + s, 3 * s, 4 * s * s))
    held = gd.Foundation("hose", stiffness=(50.0, 40.0, 60.0))
    return gd.System(rods=[rod], forces=[held])


def _on_obstacle() -> gd.System:
    floor = gd.PlaneObstacle((0, 0, -0.02), (0, 0, 1), stiffness=2e3, smoothing=0.02, thickness=5e-3)
    return gd.System(rods=[_rod(damping=gd.Damping(factor=0.01))], forces=[floor])


def _led_clamp() -> gd.System:
    hand = gd.ExpressionVector(("0", "500*t^3", "-300*t^3"), "t")
    return gd.System(rods=[_rod(start=gd.Clamped(at=hand))])


def _with_bob(end: Any, kind: Any = gd.Clamped, **given: Any) -> gd.System:
    """A rod that slopes down with a bob at its end, which turns."""
    a, b = (0, 0, 0), (0.48, 0, -0.36)
    bob = _body("bob", (0.5, 0, -0.38))
    return gd.System([bob], rods=[_rod(a=a, b=b, start=kind(), end=end("bob", at=(-0.02, 0, 0.02)), **given)])


def _on_rod(kind: Any = gd.Clamped, **given: Any) -> gd.System:
    branches = [_rod(name, (0.6, 0, 0), (0.9, y, -0.2), kind("trunk", at="end"), **given)
                for name, y in (("left", 0.2), ("right", -0.1))]  # fmt: skip
    return gd.System(rods=[_rod("trunk"), *branches])


def _on_hinged_body() -> gd.System:
    arm = _body("arm", (0.1, 0, 0))
    hinge = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), name="hinge")
    return gd.System([arm], [hinge], [_rod(a=(0.2, 0, 0), b=(0.6, 0.2, -0.2), start=gd.Clamped("arm", at=(0.1, 0, 0)))])


def _beside_body() -> gd.System:
    return gd.System([_body("bob", (0, 1, 0), angular_velocity=(3, 5, 1))], rods=[_rod()])


def _on_cables() -> gd.System:
    """A rod whose end and middle hang on cables, one of them on a bob."""
    bob = _body("bob", (0.3, 0.1, -0.5))
    cables = [
        gd.Cable("ground", "hose", at_a=(0.6, 0.2, 0.5), at_b=1.0, stiffness=60.0, length=0.4, smoothing=0.5),
        gd.Cable("hose", "bob", at_a=0.5, at_b=(0.0, 0.0, 0.02), stiffness=80.0, length=0.4, smoothing=0.5),
        gd.Cable("ground", "bob", at_a=(0.0, 0.3, 0.2), at_b=(0.02, 0, 0), stiffness=50.0, length=0.6, smoothing=0.5),
    ]
    return gd.System([bob], rods=[_rod()], forces=cables)


def _in_rings() -> gd.System:
    """A hose through rings and a sleeve, soft enough for every method, on ground and on a bob that a cable carries."""
    bob = _body("bob", (0.3, 0.1, -0.1))
    forces = [
        gd.Clip("hose", 0.3, point=(0.18, 0.02, 0.0), kind="ring", stiffness=80.0),
        gd.Clip("hose", 0.55, "bob", point=(0.03, -0.1, 0.08), kind="ring", stiffness=60.0),
        gd.Clip("hose", 0.75, kind="sleeve", length=0.06, stiffness=40.0),
        gd.Cable("ground", "bob", at_a=(0.0, 0.3, 0.2), at_b=(0.02, 0, 0), stiffness=50.0, length=0.4, smoothing=0.5),
    ]
    return gd.System([bob], rods=[_rod()], forces=forces)


def _with_tendon() -> gd.System:
    path = [(0.0, (0.02, 0)), (0.5, (0.02, 0.01)), (1.0, (0.01, 0.02))]
    return gd.System(rods=[_rod()], forces=[gd.Tendon("hose", path, tension=1.5)])


def _net() -> gd.System:
    """Two by two bodies that hang from ground by rods and are joined across."""
    bodies, rods = [], []
    for i in range(2):
        for j in range(2):
            x = np.array([0.4 * i, 0.0, -0.4 * (j + 1)])
            bodies.append(_body(f"b{i}{j}", x))
            above = gd.Hinged(f"b{i}{j - 1}", at=(0, 0, 0)) if j else gd.Hinged()
            here = gd.Clamped(f"b{i}{j}", at=(0, 0, 0))
            rods.append(_rod(f"r{len(rods)}", x + np.array([0, 0, 0.4]), x, above, end=here))
            if i:
                across = gd.Clamped(f"b0{j}", at=(0, 0, 0))
                rods.append(_rod(f"r{len(rods)}", x - np.array([0.4, 0, 0]), x, across, end=here))
    load = gd.Force("b11", (0.5, 0.2, 0.0))
    return gd.System(bodies, rods=rods, forces=[load])


#: Smooth enough for the tight run: the force sets in over 2 mm, and what sticks gives by half a millimetre.
_TOUCHING = {"stiffness": 2e3, "damping": 0.3, "smoothing": 2e-3, "friction": gd.Friction(0.3, presliding=5e-4)}


def _ball_on_plane() -> gd.System:
    """It slips, and begins to roll."""
    made = {"orientation": ("313", (0.3, 0.9, 0.2)), "velocity": (0.5, 0.2, 0), "shape": gd.Sphere(0.05)}
    ball = gd.Body("ball", 0.2, (2e-4, 2e-4, 2e-4), (0, 0, 0.049), angular_velocity=(1.0, -2.0, 3.0), **made)
    return gd.System([ball], contacts=[gd.Contact("ball", gd.Plane(), **_TOUCHING)])


def _rod_on_floor() -> gd.System:
    """It falls on the floor and slips across, clamped above it."""
    rod = _rod(damping=gd.Damping(factor=2e-3), velocity=lambda s: (0, 0.5 * s * s, -0.2 * s * s))
    return gd.System(rods=[rod], contacts=[gd.Contact("hose", gd.Plane((0, 0, -5e-3)), **_TOUCHING)])


def _box_on_floor() -> gd.System:
    """It lands on a corner while it slips; a spring pulls it back. Let down without a turn, it lies still."""
    made = {"orientation": ("313", (0.3, 0.5 * np.pi, 0.0)), "shape": gd.Box((0.1, 0.08, 0.06))}
    made |= {"velocity": (0.3, 0, -0.2), "angular_velocity": (4.0, 1.0, 3.0)}
    box = gd.Body("box", 0.2, (2e-4, 3e-4, 4e-4), (0, 0, 0.041), **made)
    held = gd.Bushing("ground", "box", at_a=(0, 0, 0.04), stiffness=(5.0, 5.0, 5.0))
    return gd.System([box], forces=[held], contacts=[gd.Contact("box", gd.Plane(), **_TOUCHING)])


def _rods_across() -> gd.System:
    """One falls across another one, and slips; both are clamped at an end."""
    law = _TOUCHING | {"friction": gd.Friction(0.3, sticking=False, slip_speed=0.05)}
    lower = _rod(section=gd.Circle(5e-3), damping=gd.Damping(factor=2e-3))
    upper = _rod("upper", (0.35, -0.3, 0.0095), (0.35, 0.3, 0.0095), velocity=lambda s: (0.2 * s * s, 0, -0.3 * s * s))
    contacts = [gd.Contact("upper", "hose", **law)]
    return gd.System(rods=[lower, upper.with_(section=gd.Circle(5e-3))], contacts=contacts)


@dataclass(frozen=True)
class Row:
    """A system and how long it runs."""

    name: str
    make: Callable[[], gd.System]
    t_end: float = 0.04
    #: Gravity at which a load path starts.
    load: tuple[float, float] = (0.0, 1.0)
    #: Whether constant steps keep their order: not over the moment at which something touches.
    smooth: bool = True

    @cached_property
    def system(self) -> gd.System:
        return self.make()

    @cached_property
    def times(self) -> Array:
        return np.linspace(0.0, self.t_end, ROWS + 1)[1:]

    @cached_property
    def exact(self) -> Seen:
        """A tight run."""
        return Seen.of(gd.simulate(self.system, self.t_end, method="radau5", rtol=1e-11, output=self.times))


_HALF = (0.5, 1.0)

SYSTEMS = {
    row.name: row
    for row in (
        Row("free body", _free_body, 0.2),
        Row("top", _top, 0.1),
        Row("body on bushing and springs", _on_bushing),
        Row("chain with bushing", _chain, 0.1),
        Row("hinge and universal", _universal, 0.1, _HALF),
        Row("tree of all joints", _tree, 0.1, _HALF),
        Row("four-bar loop", _four_bar, 0.1, _HALF),
        Row("driven loop", lambda: _four_bar(gd.Expression("200*t^3", "t")), 0.1),
        Row("overconstrained loop", _bennett, 0.1, _HALF),
        Row("rod hinged", lambda: gd.System(rods=[_rod(start=gd.Hinged())]), load=_HALF),
        Row("rod clamped", lambda: gd.System(rods=[_rod(damping=gd.Damping(factor=2e-3))])),
        Row("rod free on foundation", _free_rod),
        Row("rod on obstacle", _on_obstacle),
        Row("rod, blended mass", lambda: gd.System(rods=[_rod(mass=0.5)])),
        Row("rod, half-tangent", lambda: gd.System(rods=[_rod(curvature="half-tangent", damping=_DAMPED)])),
        Row("rod, led clamp", _led_clamp),
        Row("rod with tendon", _with_tendon),
        Row("elements", lambda: gd.System(rods=[_rod(**_ELEMENTS)])),
        Row("Kirchhoff, grid", lambda: gd.System(rods=[_rod(strain="kirchhoff")])),
        Row("Kirchhoff, elements", lambda: gd.System(rods=[_rod(strain="kirchhoff", **_ELEMENTS)])),
        Row("inextensible, grid", lambda: gd.System(rods=[_rod(strain="inextensible")])),
        Row("inextensible, elements", lambda: gd.System(rods=[_rod(strain="inextensible", **_ELEMENTS)])),
        Row("rod hinged on body", lambda: _with_bob(gd.Hinged)),
        Row("rod clamped on body", lambda: _with_bob(gd.Clamped)),
        Row("elements on body", lambda: _with_bob(gd.Clamped, **_ELEMENTS)),
        Row("Kirchhoff on body", lambda: _with_bob(gd.Clamped, strain="kirchhoff")),
        Row("inextensible on body", lambda: _with_bob(gd.Hinged, strain="inextensible")),
        Row("rod on rod", _on_rod),
        Row("Kirchhoff on rod", lambda: _on_rod(strain="kirchhoff")),
        Row("rod on a hinged body", _on_hinged_body, load=_HALF),
        Row("rod beside a free body", _beside_body),
        Row("rod and body on cables", _on_cables, load=_HALF),
        Row("rod in rings", _in_rings, load=_HALF),
        Row("net of bodies and rods", _net),
        Row("ball on a plane", _ball_on_plane, smooth=False),
        Row("rod on a floor", _rod_on_floor, smooth=False),
        Row("box on a floor", _box_on_floor, smooth=False),
        Row("rods across each other", _rods_across, smooth=False),
    )
}

# --- what is compared -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """Positions, rotations and forces of a motion at some times, each with a scale."""

    positions: Array
    quaternions: Array
    forces: Array

    @classmethod
    def of(cls, motion: Any) -> Seen:
        """Of a motion, or of a rest."""
        whole = motion.system if isinstance(motion, gd.Rest) else motion.compiled.system
        system = whole.original
        n = () if isinstance(motion, gd.Rest) else motion.t.shape
        x, p, f = [np.zeros((*n, 0, 3))], [np.zeros((*n, 0, 4))], [np.zeros((*n, 0, 3))]
        for body in system.bodies:
            x.append(motion[body.name].position[..., None, :])
            p.append(motion[body.name].quaternion[..., None, :])
        for rod in system.rods:
            track = motion[rod.name]
            x.append(track.positions)
            p.append(track.quaternions)
            holds = (track.start_force, track.end_force, track.start_moment, track.end_moment)
            f += [hold[..., None, :] for hold in holds]
        for joint in motion.joints:
            f += [joint.force[..., None, :], joint.torque[..., None, :]]
        return cls(*(np.concatenate(parts, axis=-2) for parts in (x, p, f)))

    def error(self, exact: Seen) -> tuple[float, float]:
        """Largest difference of places (of the size of the system) and rotations, and of forces (of the largest)."""
        size = np.abs(exact.positions).max(initial=0.1)
        x = np.abs(self.positions - exact.positions).max(initial=0.0) / size
        sign = np.sign((self.quaternions * exact.quaternions).sum(axis=-1, keepdims=True))
        p = np.abs(self.quaternions - sign * exact.quaternions).max(initial=0.0)
        largest = np.abs(exact.forces).max(initial=1e-3)
        return float(max(x, p)), float(np.abs(self.forces - exact.forces).max(initial=0.0) / largest)


@dataclass(frozen=True)
class Verdict:
    """How a cell ended: "agrees", "physical" or "unsupported" (refused by a sentence), "slow", "wrong"."""

    ended: str
    #: Errors of states and forces, the sentence of a refusal, or what is wrong.
    errors: tuple[float, ...] = ()
    words: str = ""
    seconds: float = 0.0


class Wrong(AssertionError):
    """A result that is not that of the tight run."""


def _agree(errors: tuple[float, float], state: float, force: float) -> tuple[float, float]:
    if not (errors[0] <= state and errors[1] <= force):  # also where it is not a number
        raise Wrong(f"states differ by {errors[0]:.1e} ({state:g} allowed), forces by {errors[1]:.1e} ({force:g})")
    return errors


# --- cells ------------------------------------------------------------------------------------------------------------

Found = tuple[float, float]


class _TimeUp(KeyboardInterrupt):
    """Ends a run that is slow."""


def _watched(limit: float) -> Callable[[Any], None]:
    began = time.process_time()

    def watch(_: Any) -> None:
        if time.process_time() - began > limit:
            raise _TimeUp

    return watch


def _run(start: Any, row: Row, **options: Any) -> Seen:
    watch = {"progress": _watched(SLOW)}
    return Seen.of(gd.simulate(start, row.t_end, output=row.times, **watch, **options))


def _adaptive(state: float = 1e-6, force: float = 1e-4, **options: Any) -> Callable[[Row], Found]:
    """A run at a tolerance of 1e-9."""
    return lambda row: _agree(_run(row.system, row, rtol=1e-9, **options).error(row.exact), state, force)


def _constant(falls: float, steps: int, **options: Any) -> Callable[[Row], Found]:
    """Two runs with constant steps: the error falls as the order says, or is that of the tight run."""

    def run(row: Row) -> Found:
        coarse, fine = (
            _run(row.system, row, step=row.t_end / n, **options).error(row.exact) for n in (steps, 2 * steps)
        )
        if row.smooth and fine[0] > max(coarse[0] / 2.0 ** (falls - 0.5), 1e-8):
            raise Wrong(f"half the step, {fine[0]:.1e} after {coarse[0]:.1e}, is not of order {falls:g}")
        return _agree(fine, 1e-2, 0.1)

    return run


def _impulses(steps: int, **options: Any) -> Callable[[Row], Found]:
    """Rigid contact by constant steps: without contact the tight run, else what half the steps come to."""

    def run(row: Row) -> Found:
        coarse, fine = (
            _run(row.system, row, method="moreau", step=row.t_end / n, **options) for n in (steps, 2 * steps)
        )
        if row.system.all_contacts:
            return _agree((fine.error(coarse)[0], 0.0), 1e-2, 1.0)
        errors = fine.error(row.exact)
        if errors[0] > max(coarse.error(row.exact)[0] / 2.0**0.5, 1e-8):
            raise Wrong(f"half the step, {errors[0]:.1e}, is not of order 1")
        return _agree(errors, 1e-2, 0.1)

    return run


def _rest(row: Row) -> gd.Rest:
    return gd.equilibrium(row.system)


def _resting(row: Row) -> Found:
    """The equations of motion at rest leave it there: accelerations against those of gravity."""
    rest = _rest(row)
    ode = gd.ode(rest)
    moved = np.abs(ode.fun(0.0, ode.y0) / ode.scales).max()
    kicked = gd.ode(row.system)
    return _agree((float(moved / max(1.0, np.abs(kicked.fun(0.0, kicked.y0) / kicked.scales).max())), 0.0), 1e-7, 1.0)


def _path(row: Row) -> Found:
    """The end of a load path is the equilibrium under that load."""
    end = gd.follow(row.system, "gravity", row.load).rests[-1]
    # From there: what nothing holds, as the turn of a body below a ball joint, may be anything.
    return _agree(Seen.of(end).error(Seen.of(gd.equilibrium(row.system, guess=end))), 1e-7, 1e-6)


def _modes(row: Row) -> Found:
    """Eigenvalues are those of the right-hand side's derivative at rest."""
    rest = _rest(row)
    found = gd.modes(rest, n=4).eigenvalues
    ode = gd.ode(rest)
    values = np.linalg.eigvals(ode.jac(0.0, ode.y0))
    # What nothing holds has a double zero, which rounding moves by its square root.
    size = max(float(np.abs(values).max()), 1.0)
    bound, noise = 1e-5, 1.5e-8 * size
    if not len(found) and np.abs(values).max() > 10.0 * noise:
        raise Wrong(f"no modes of a system with an eigenvalue of {size:g}")
    error = max((float(np.abs(values - x).min() / max(np.abs(x), noise / bound)) for x in found), default=0.0)
    return _agree((error, 0.0), bound, 1.0)


def _stepper(steps: int = 0, state: float = 1e-6, force: float = 1e-4, **options: Any) -> Callable[[Row], Found]:
    """``steps``: constant ones in all."""

    def run(row: Row) -> Found:
        constant = {"step": row.t_end / steps} if steps else {}
        sim = gd.stepper(row.system, record=True, **constant, **options)
        for _ in range(ROWS):
            sim.step(row.t_end / ROWS)
        motion = sim.motion()
        seen = Seen.of(motion)
        last = Seen(*(part[1:] for part in (seen.positions, seen.quaternions, seen.forces)))
        return _agree(last.error(row.exact), state, force)

    return run


def _ode(row: Row) -> Found:
    """By SciPy."""
    ode = gd.ode(row.system)
    rtol = 1e-8
    done = solve_ivp(
        ode.fun, (0.0, row.t_end), ode.y0, "Radau", row.times, rtol=rtol, atol=rtol * ode.scales, jac=ode.jac
    )
    motion = ode.motion(done)
    return _agree(Seen.of(motion).error(row.exact), 1e-6, 1e-4)


def _compare(row: Row) -> Found:
    table = gd.compare(
        row.system, row.t_end, formulations="nullspace-quaternion", methods=("radau5", "rodas"), rtols=1e-6, points=5
    )
    failed = [trial for trial in table.trials if trial.status != "finished"]
    if failed:
        raise Wrong(f"{failed[0].method} {failed[0].status}: {failed[0].note}")
    error = max(max(trial.position or 0.0, trial.rotation or 0.0) for trial in table.trials)
    return _agree((float(error), 0.0), 1e-4, 1.0)


def _from_rest(**options: Any) -> Callable[[Row], Found]:
    """A motion from an equilibrium stays there, unless something leads it."""

    def run(row: Row) -> Found:
        rest = _rest(row)
        ran = _run(rest, row, **options)
        led = row.name in ("driven loop", "rod, led clamp")
        exact = _run(rest, row, method="radau5", rtol=1e-11) if led else Seen.of(rest)
        return _agree(ran.error(exact), 1e-3 if led else 1e-6, 0.1 if led else 1e-4)

    return run


@dataclass(frozen=True)
class Column:
    """A heading of the page with its cells, whose signs stand beside each other."""

    table: str
    name: str
    about: str
    cells: dict[str, Callable[[Row], Found]] = field(default_factory=dict)


_Q, _D = "absolute-quaternion", "absolute-directors"
_SHORT = {"nullspace-quaternion": "nq", "nullspace-directors": "nd", _Q: "aq", _D: "ad", "euler": "eu"}


def _forms() -> list[Column]:
    found = [
        Column("formulation", _SHORT[name], f"`{name}` by `dop853` and `radau5`", {
            f"{_SHORT[name]} {method}": _adaptive(formulation=name, method=method) for method in ("dop853", "radau5")
        })
        for name in FORMULATIONS
    ]  # fmt: skip
    loose = {0: (1e-6, 1e-4), 1: (1e-6, 1e-4), 2: (1e-5, 1e-3), 3: (1e-5, 1e-2)}
    for index in (1, 2, 3):
        found.append(Column("formulation", f"index {index}", f"`index={index}` by `radau5`, in aq and ad", {
            f"index {index} {_SHORT[name]}": _adaptive(
                *loose[index], formulation=gd.Formulation(name, index=index), method="radau5"
            ) for name in (_Q, _D)
        }))  # fmt: skip
    found.append(Column("formulation", "index 1, others", "`index=1` by `rodas` and `seulex`, in aq", {
        f"index 1 {method}": _adaptive(formulation=gd.Formulation(_Q, index=1), method=method)
        for method in ("rodas", "seulex")
    }))  # fmt: skip
    stabilised = {"index": 2, "stabilised": True}
    variants: tuple[tuple[str, str, dict[str, Any], str], ...] = (
        ("GGL", "`index=2, stabilised=True` by `radau5`, in aq and ad", stabilised, "radau5"),
        ("qr", '`null_space="qr"` by `dop853`, in aq and ad', {"null_space": "qr"}, "dop853"),
        ("Baumgarte", "`baumgarte=(20, 20)` by `radau5`, in aq and ad", {"baumgarte": (20.0, 20.0)}, "radau5"),
        ("bdf-dae", "`bdf-dae`, in aq and ad", {}, "bdf-dae"),
    )
    for title, about, parts, method in variants:
        bounds = {"bdf-dae": (1e-5, 1e-2), "GGL": (1e-5, 1e-3)}.get(title, (1e-6, 1e-4))
        found.append(Column("formulation", title, about, {
            f"{title} {_SHORT[name]}": _adaptive(*bounds, formulation=gd.Formulation(name, **parts), method=method)
            for name in (_Q, _D)
        }))  # fmt: skip
    return found


def _methods() -> list[Column]:
    found = [
        Column("method", name, f"`{name}`", {name: _adaptive(method=name)})
        for name in ("dopri5", "odex", "rodas", "seulex", "scipy:Radau", "scipy:DOP853")
    ]
    found.append(Column("method", "bdf", "`bdf`", {"bdf": _adaptive(1e-5, 1e-2, method="bdf")}))
    found.append(Column("method", "step=", "`rodas` and `radau5` with constant steps", {
        f"{name} constant": _constant(order, 64, method=name) for name, order in (("rodas", 2), ("radau5", 3))
    }))  # fmt: skip
    found.append(Column("method", "moreau", "`moreau`, in nq and ad", {
        f"moreau {_SHORT[name]}": _impulses(512, formulation=name) for name in ("nullspace-quaternion", _D)
    }))  # fmt: skip
    stepped: tuple[tuple[str, str, dict[str, Any], int], ...] = (
        ("variational", "`variational`, quaternions and directors", {"method": "variational"}, 2),
        ("variational 4", "the same with `order=4`", {"method": "variational", "order": 4}, 4),
        ("energy-mom.", "`energy-momentum`, quaternions and directors", {"method": "energy-momentum"}, 2),
    )
    for title, about, options, order in stepped:
        found.append(Column("method", title, about, {
            f"{title} {short}": _constant(order, 1024 if order == 2 else 128, coordinates=name, **options)
            for short, name in (("q", "quaternion"), ("d", "directors"))
        }))  # fmt: skip
    return found


def _tasks() -> list[Column]:
    rows: tuple[tuple[str, str, Callable[[Row], Found]], ...] = (
        ("rest", "`equilibrium`: the equations of motion leave it there", _resting),
        ("path", "`follow` over gravity ends at the equilibrium", _path),
        ("modes", "`modes`: eigenvalues of the equations of motion", _modes),
        ("stepper", "`stepper`, four steps", _stepper(method="radau5", rtol=1e-8)),
        ("stepper aq", "`stepper` in `absolute-quaternion`", _stepper(
            method="radau5", rtol=1e-8, formulation="absolute-quaternion")),
        ("stepper var.", "`stepper` with `variational`", _stepper(
            steps=2048, state=1e-2, force=0.1, method="variational")),
        ("ode", "`ode`, by SciPy's Radau", _ode),
        ("compare", "`compare`, two methods", _compare),
        ("from rest", "`simulate(rest)` stays there", _from_rest(method="radau5", rtol=1e-8)),
        ("from rest aq", "the same in `absolute-quaternion`", _from_rest(
            method="radau5", rtol=1e-8, formulation="absolute-quaternion")),
        ("from rest var.", "the same by `variational`", _from_rest(method="variational", step=1e-3)),
    )  # fmt: skip
    return [Column("task", name, about, {name: run}) for name, about, run in rows]


COLUMNS = (*_forms(), *_methods(), *_tasks())
CELLS = {name: run for column in COLUMNS for name, run in column.cells.items()}
#: Ends of a call with a sentence.
SENTENCES = (ValueError, gd.SimulationError, gd.EquilibriumError, gd.PathError, gd.AccuracyError)
#: Words of refusals that name a reason of mechanics or of the method.
PHYSICAL = re.compile(
    "nothing holds|a mechanism that the loads move|goes a part of each step backwards|there is nothing to solve for"
    "|angular momentum would be lost|gimbal lock|finds no solution of its stages"
)


def cell(row: Row, name: str) -> Verdict:
    """Run one cell."""
    began = time.process_time()
    try:
        errors, ended, words = CELLS[name](row), "agrees", ""
    except Wrong as error:
        errors, ended, words = (), "wrong", str(error)
    except (gd.SimulationInterrupted, _TimeUp):  # integrators of others hand it on
        errors, ended, words = (), "slow", ""
    except Exception as error:  # one that no statement of gyrod raised is a defect and belongs into the table
        words, errors = str(error), ()
        raised, said = verdict(error)
        ended = "physical" if PHYSICAL.search(words) else "unsupported"
        if raised != "sentence" or not isinstance(error, SENTENCES):
            ended, words = "wrong", said
    return Verdict(ended, errors, words, time.process_time() - began)
