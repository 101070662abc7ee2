"""The bodies of a system, ready for the core: free, about fixed points, or in a tree with loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod import _core
from gyrod._check import Array
from gyrod.equations import mechanisms
from gyrod.equations.checks import CoreOptions, about, principal, turned, unlocked
from gyrod.equations.coordinates import unknowns
from gyrod.equations.forces import body_forces
from gyrod.equations.mechanisms import Mechanism, Mobility
from gyrod.equations.signals import Signals
from gyrod.model import Joint, ModelError, SpringDamper, System
from gyrod.rotations.vectors import length
from gyrod.runs.formulations import FORMULATIONS

if TYPE_CHECKING:
    from gyrod.equations.mechanisms import Probe
    from gyrod.model import Body


@dataclass(frozen=True)
class Bodies:
    """The bodies of a system, ready for the core: ``make`` adds rods and links to their points."""

    make: Callable[[list[_core.Rod], list[_core.RodLink], _core.ContactSet], _core.System]
    #: State of that core with the bodies set, but for velocities that joints leave, and kinds of all unknowns.
    start: Callable[[_core.System], tuple[list[float], list[str]]]
    axes: Array
    moments: Array
    mechanism: Mechanism | None = None
    mobility: Mobility | None = None
    #: Of bodies with joints, (b, 6): v in space, Omega in the core's axes.
    velocities: Array | None = None


def single_bodies(system: System, formulation: str, options: CoreOptions, signals: Signals) -> Bodies:
    """Free bodies, and bodies that turn about a fixed point."""
    index = {name: i for i, name in enumerate(system.names)}
    bodies, axes, y0, kinds = [], [], [], []
    for body in system.bodies:
        at = system.fixed_points.get(body.name)
        arm, moments, A = about(body, at)
        point = np.zeros(3) if at is None else np.asarray(at)
        bodies.append(_core.Body(mass=body.mass, moments=moments, pinned=at is not None, point=point, arm=A.T @ arm))
        axes.append(A)
        velocity = system.initial_velocities[body.name]
        state, kind = initial(formulation, body, at is not None, velocity, A, options.get("spatial", False))
        y0.extend(state)
        kinds.extend(kind)
    frames = np.array(axes).reshape(-1, 3, 3)
    gravity, forces = body_forces(system, index, frames, signals)

    def start(core: _core.System) -> tuple[list[float], list[str]]:
        rest = core.size - len(y0)
        return [*y0, *[0.0] * rest], [*kinds, *[""] * rest]

    return Bodies(
        lambda rods, between, touching: _core.System(
            formulation=formulation, bodies=bodies, forces=forces, gravity=gravity, rods=rods, links=between,
            contacts=touching, options=_options(options),
        ),
        start, frames, np.array([b.moments for b in bodies]).reshape(-1, 3),
    )  # fmt: skip


def tree_bodies(system: System, formulation: str, options: CoreOptions, signals: Signals) -> Bodies:
    """Bodies with joints: the tree, its loops, and what is redundant in them."""
    core_bodies, axes = [], []
    for body in system.bodies:
        moments, A = principal(body.inertia)
        if formulation == "euler":
            moments, A = unlocked(body, moments, A)
        core_bodies.append(_core.Body(mass=body.mass, moments=moments))
        axes.append(A)
    frames = np.array(axes)
    index = {name: i for i, name in enumerate(system.names)}
    mechanism = mechanisms.describe(system, frames, signals)
    gravity, forces = body_forces(system, index, frames, signals, mechanisms.springs(system, mechanism))
    velocities = np.ascontiguousarray(
        [
            [*system.initial_velocities[b.name], *(A.T @ b.angular_velocity)]
            for b, A in zip(system.bodies, axes, strict=True)
        ]
    )

    def make(
        form: str, m: Mechanism, rods: Sequence[_core.Rod] = (), between: Sequence[_core.RodLink] = (),
        touching: _core.ContactSet | None = None,
    ) -> _core.System:  # fmt: skip
        # Without the rods that give junctions their mass, any mass will do to look at the joints.
        with_mass = core_bodies if rods else [_core.Body(mass=b.mass or 1.0, moments=b.moments) for b in core_bodies]
        given = options if form == formulation else {**options, "level": 0, "qr": False, "stabilised": False}
        return _core.System(
            formulation=form, bodies=with_mass, forces=forces, gravity=gravity,
            joints=m.tree(fixed=bool(given.get("level") or given.get("qr"))), rods=rods, links=between,
            contacts=touching or _core.ContactSet(), options=_options(given),
        )  # fmt: skip

    def probe(m: Mechanism) -> Probe:
        core = make("nullspace-quaternion", m)
        y, kinds = _poses("nullspace-quaternion", system, axes, core)
        y0 = np.asarray(core.complete(0.0, velocities, np.array(y)))
        return core, y0, np.array([k in ("position", "rotation") for k in kinds])

    _check_determined(system, core_bodies, lambda: probe(mechanism))
    free = mechanisms.undriven(system) if mechanism.cuts else None
    skew = None if free is None else partial(_overconstrained, free)
    mechanism, mobility = mechanisms.reduce_loops(system, mechanism, probe, skew)
    return Bodies(
        partial(make, formulation, mechanism), partial(_poses, formulation, system, axes), frames,
        np.array([b.moments for b in core_bodies]), mechanism, mobility, velocities,
    )  # fmt: skip


def _overconstrained(system: System) -> bool:
    mechanism = tree_bodies(system, "nullspace-quaternion", {}, Signals()).mechanism
    return mechanism is not None and mechanism.overconstrained


def _check_determined(system: System, bodies: list[_core.Body], probe: Callable[[], Probe]) -> None:
    """Refuse bodies without inertia where no joint and no other body makes up for it."""
    moments = [row.moments for row in bodies]
    weak = [b.name for b, J in zip(system.bodies, moments, strict=True) if J.min() <= 1e-13 * J.max()]
    if not weak or len(system.bodies) > 300:
        return
    core, y, _ = probe()
    T = core.nullspace(0.0, y).reshape(len(bodies), 6, -1)
    mass = np.array([[b.mass] * 3 + list(J) for b, J in zip(bodies, moments, strict=True)])
    values = np.linalg.eigvalsh(np.einsum("bin,bi,bim->nm", T, mass, T))
    if len(values) and values[0] <= 1e-13 * values[-1]:
        raise ModelError(
            f"{', '.join(f'Body {name!r}' for name in weak)}: inertia is singular, and what the joints leave moves no "
            "mass in some direction; give three positive moments, or a joint that holds the rotation without inertia."
        )


def _poses(formulation: str, system: System, axes: list[Array], core: _core.System) -> tuple[list[float], list[str]]:
    """State of a mechanism with its positions set, and the kinds of all unknowns."""
    y, kinds = [0.0] * core.size, ["force"] * core.size
    nq, nv = FORMULATIONS[formulation]
    left = {} if formulation.startswith("absolute") else mechanisms.kinds(system)
    for i, (body, A) in enumerate(zip(system.bodies, axes, strict=True)):
        at = core.offset(i)
        q, _ = unknowns(formulation, turned(body, A), np.zeros(3))
        y[at : at + 3 + nq] = [*body.position, *q]
        rates = left.get(body.name, ("velocity",) * 3 + ("spin",) * nv)
        kinds[at : at + 3 + nq + len(rates)] = ["position"] * 3 + ["rotation"] * nq + list(rates)
    return y, kinds


def mobility(system: System) -> Mobility:
    """Degrees of freedom and redundant constraints of a system."""
    if mechanisms.joined(system):
        found = tree_bodies(system, "nullspace-quaternion", {}, Signals()).mobility
        assert found is not None
        return found
    rows = sum(joint.constraints for joint in system.joints)
    return Mobility(6 * len(system.bodies) - rows, 0, rows, len(system.bodies))


def drive_values(joint: Joint, t: Array) -> Array:
    """Value and two derivatives of what leads a joint, as the equations take them, (n, 3)."""
    law = mechanisms.drive(joint, Signals())
    return np.array([law.jets(float(time))[0] for time in t]).reshape(-1, 3)


def unchecked_core(system: System) -> tuple[_core.System, Array, Array]:
    """A core for the constraints of a system whose joints need not meet, principal axes and moments of the bodies."""
    found = [principal(body.inertia) for body in system.bodies]
    axes, moments = np.array([A for _, A in found]), np.array([m for m, _ in found])
    joints = mechanisms.describe(system, axes, Signals()).tree()
    bodies = [_core.Body(mass=b.mass, moments=m) for b, m in zip(system.bodies, moments, strict=True)]
    gravity = np.array(system.gravity)
    core = _core.System(formulation="nullspace-quaternion", bodies=bodies, gravity=gravity, joints=joints)
    return core, axes, moments


#: Options of a formulation that the core knows.
_OPTIONS = (
    "spatial",
    "printed",
    "polar",
    "fictive_moment",
    "baumgarte_omega",
    "baumgarte_r",
    "level",
    "qr",
    "stabilised",
)


def _options(given: Mapping[str, Any]) -> _core.FormulationOptions:
    return _core.FormulationOptions(**{name: given[name] for name in _OPTIONS if name in given})


def size_of(system: System) -> float:
    """About the size of a system, m."""
    s = system
    candidates = [rod.length for rod in s.rods]
    candidates += [math.sqrt(_largest(b.inertia) / b.mass) for b in s.bodies if b.mass > 0.0]
    candidates += [length(s.body(n).position - at) for n, at in s.fixed_points.items()]
    candidates += [s.spring_length(f) for f in s.forces if isinstance(f, SpringDamper)]
    if s.bodies:
        positions = np.array([b.position for b in s.bodies])
        candidates.append(float(np.ptp(positions, axis=0).max()))
    return max(candidates, default=1.0) or 1.0


def _largest(inertia: Array) -> float:
    return float(np.linalg.svd(inertia, compute_uv=False)[0])


def initial(
    formulation: str, body: Body, pinned: bool, velocity: Array, A: Array, spatial: bool
) -> tuple[list[float], list[str]]:
    """Unknowns of a body without joints, and their kinds."""
    Omega = A.T @ body.angular_velocity
    q, v = unknowns(formulation, turned(body, A), Omega)
    if spatial and formulation.startswith("nullspace"):
        v = body.matrix @ A @ Omega
    rates = ["spin"] * len(v)
    if pinned:
        return [*q, *v], ["rotation"] * len(q) + rates
    state = [*body.position, *q, *velocity, *v]
    return state, ["position"] * 3 + ["rotation"] * len(q) + ["velocity"] * 3 + rates
