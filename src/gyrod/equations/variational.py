"""Systems for the methods with constant steps: the core's object, the start, and unknowns of a formulation from nodes.

The core keeps each body as position, unit quaternion and momenta in principal axes, about its fixed point where it is
reduced to a rotation, and behind the bodies each cell of a rod, a vertex with a frame, in the same way. A motion is
given in the absolute formulation of the same coordinates, with rods in that of quaternions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gyrod import _check, _core, rotations
from gyrod.equations import Compiled, body_weights, compile_force, compile_system, frame_forces, mechanisms
from gyrod.equations.checks import about
from gyrod.equations.links import link_ends
from gyrod.equations.rods import HELD
from gyrod.model import Cable, System
from gyrod.model.system_checks import SINGULAR

if TYPE_CHECKING:
    from gyrod.equations.checks import CoreOptions
    from gyrod.equations.rods import RodTable

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
    #: Position, quaternion, velocity, Omega of each node at the start, in the core's axes, (n, 13).
    start: Array
    #: Principal axes of the core's bodies in the user's axes, (b, 3, 3).
    axes: Array
    #: Scaling of the inertia split of each body, kg m².
    sigma: Array
    #: Whether Python functions are called in a step.
    python: bool
    #: Whether the potential is taken at the nodes.
    nodes: bool

    def states(self, t: Array, rows: Array) -> Array:
        """Unknowns of the formulation, (n, N), from nodes (n, b, 13)."""
        y = self._bodies(t, rows[:, : len(self.axes)])
        for cells, layout in zip(self.cells(), self.compiled.core.layout(), strict=True):
            absolute = self.compiled.formulation.startswith("absolute")
            lead = len(layout.x) - len(layout.p)
            for n, (x, v, node) in enumerate(zip(layout.x, layout.v, cells, strict=True)):
                if x >= 0:
                    y[:, x : x + 3], y[:, v : v + 3] = rows[:, node, :3], rows[:, node, 7:10]
                if n >= lead and layout.p[n - lead] >= 0:
                    p, w = layout.p[n - lead], layout.w[n - lead]
                    q, Omega = rows[:, node, 3:7], rows[:, node, 10:]
                    rates = rotations.rates("quaternion", q, Omega) if absolute else Omega
                    y[:, p : p + 4], y[:, w : w + rates.shape[1]] = q, rates
        return y

    def cells(self) -> list[list[int]]:
        """For each rod the rows of its cells among the nodes, -1 where all of one is held."""
        return [self.core.cells(i) for i in range(len(self.compiled.rods))]

    def _bodies(self, t: Array, rows: Array) -> Array:
        compiled = self.compiled
        if compiled.formulation.startswith("nullspace") and len(self.axes):
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
    system: System,
    step: float,
    *,
    coordinates: str,
    sigma: str | float | Sequence[float] | Mapping[str, float],
    potential: str,
    conserving: bool,
    reduce: bool,
    order: int = 2,
    begin: Callable[..., Compiled] = compile_system,
    rested: bool = False,
) -> Stepped:
    """Compile a system for steps of a constant length.

    ``begin`` compiles it with the start of its motion; bodies take theirs from the model unless it is ``rested``.
    """
    formulation = COORDINATES[_check.choice("coordinates", coordinates, COORDINATES)]
    _check.choice("potential", potential, POTENTIALS)
    if not isinstance(system, System):
        raise ValueError(f"system must be a gyrod.System, got {type(system).__name__}.")
    _check_supported(system, "energy-momentum" if conserving else "variational")
    if conserving:
        _check_conserving(system, reduce)
    given, system = system, system.assembled()
    pins = system.fixed_points if reduce else {}
    bodies, axes = _bodies(system, pins)
    moments = np.array([b.moments for b in bodies]).reshape(-1, 3)
    if system.rods:
        held = any(rod.strain in HELD for rod in system.rods)
        formulation = "nullspace-quaternion" if held or system.junction_bodies else COORDINATES["quaternion"]
    if (moments.min(axis=1, initial=1.0) <= SINGULAR * moments.max(axis=1, initial=0.0)).any():
        # What carries such a body makes up for it; absolute forms would have to invert its inertia.
        formulation = formulation.replace("absolute", "nullspace")
    options: CoreOptions = {} if reduce else {"reduce": False}
    compiled = begin(given, formulation, **options)
    frames = np.array(axes).reshape(-1, 3, 3)
    index = {name: i for i, name in enumerate(system.names)}
    forces = [compile_force(f, system, index, frames, compiled.signals) for f in system.forces if not f.on_rods]
    gravity, weights = body_weights(system, compiled.signals)
    forces += weights + frame_forces(system, frames)
    if compiled.mechanism is not None:
        forces += mechanisms.springs(system, compiled.mechanism)
    split, of_rods = _sigmas(system, sigma, moments, compiled.rods)
    core = _core.Variational(
        bodies=bodies, sigma=split.tolist(), forces=forces, gravity=gravity,
        joints=None if compiled.mechanism is None else compiled.mechanism.tree(fixed=True),
        rods=[_core.Rod(**table) for table in compiled.rods], rod_sigma=[s.tolist() for s in of_rods],
        length=compiled._length(), step=step, directors=coordinates == "directors", nodes=potential == "nodes",
        conserving=conserving, composed=order == 4,
    )  # fmt: skip
    start = []
    moved = compiled.motions(compiled.y0) if rested or system.junction_bodies else None
    for i, (body, A) in enumerate(zip(system.bodies, axes, strict=True)):
        p, v, Omega = body.orientation, system.initial_velocities[body.name], body.angular_velocity
        if moved is not None:
            p, v, Omega = rotations.quaternion_from_matrix(moved[1][0, i]), moved[2][0, i], moved[3][0, i]
        if not np.array_equal(A, np.eye(3)):
            p = rotations.multiply(p, rotations.quaternion_from_matrix(A))
        start.append([*(body.position if moved is None else moved[0][0, i]), *p, *v, *(A.T @ Omega)])
    stepped = Stepped(compiled, core, np.array(start), frames, split, compiled.python, potential == "nodes")
    return replace(stepped, start=np.array(start + _cells(stepped)).reshape(-1, 13))


def _cells(stepped: Stepped) -> list[list[float]]:
    """The cells of all rods at the start, as the compiled system has them."""
    compiled = stepped.compiled
    y, absolute = compiled.y0, compiled.formulation.startswith("absolute")
    rows = []
    for cells, layout in zip(stepped.cells(), compiled.core.layout(), strict=True):
        lead = len(layout.x) - len(layout.p)
        for n, node in enumerate(cells):
            if node < 0:
                continue
            row = np.zeros(13)
            row[3] = 1.0
            if layout.x[n] >= 0:
                row[:3], row[7:10] = y[layout.x[n] :][:3], y[layout.v[n] :][:3]
            if n >= lead and layout.p[n - lead] >= 0:
                row[3:7], rate = y[layout.p[n - lead] :][:4], y[layout.w[n - lead] :][: 4 if absolute else 3]
                turn = rotations.multiply(rotations.conjugate(row[3:7]), rate)[1:] if absolute else 0.5 * rate
                row[10:] = 2.0 * turn
            rows.append(row.tolist())
    return rows


def _check_supported(system: System, method: str) -> None:
    """Refuse what these methods cannot do, and name what can."""
    if system.rods and method == "energy-momentum":
        raise ValueError(
            f"method = {method!r} is for rigid bodies; the system has rods ({', '.join(map(repr, system.rod_names))}). "
            "Use 'variational', which keeps their momenta, or 'radau5'."
        )
    found = [f.label for f in system.forces if isinstance(f, Cable) or (f.rods and link_ends(f))]
    if found:
        raise ValueError(f"method = {method!r} does not support {', '.join(dict.fromkeys(found))}; use 'radau5'.")


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
    forces = [f.label for f in system.forces]
    forces += ["gravity as a function of time"] if system.gravity_function is not None else []
    if held or forces:
        what = f"joints ({', '.join(held)})" if held else f"forces ({', '.join(forces)})"
        cure = " or leave out reduce = False" if held and not joined else ""
        raise ValueError(
            "method = 'energy-momentum' supports bodies that are free or turn about a fixed point, under gravity; this "
            f"system has {what}. Use method = 'variational'{cure}."
        )


def _sigmas(system: System, sigma: Any, moments: Array, tables: Sequence[RodTable]) -> tuple[Array, list[Array]]:
    """The scaling of each body, and of each frame of the rods.

    "mean" is the mean of the principal moments, about the point a body turns about; a number is that of each body in
    kg m², and for a rod, which must be named, by length, in kg m.
    """
    mean = moments.mean(axis=1)
    names, rods = system.names, system.rod_names
    frames = [table["J"].mean(axis=1) for table in tables]
    wanted = "'mean', a number >= 0, one for each body, or a dictionary from names to these"

    def value(what: str, given: Any, default: float | Array, unit: float | Array = 1.0) -> Any:
        if isinstance(given, str) and given == "mean":
            return default
        try:
            number = float(given)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{what} = {given!r} must be {wanted}.") from None
        if isinstance(given, (str, bool)) or not 0.0 <= number < np.inf:
            raise ValueError(f"{what} = {given!r} must be {wanted}.")
        return number * unit

    if isinstance(sigma, Mapping):
        for name in sigma:
            _check.choice("sigma", name, (*names, *rods))
        of = [value(f"sigma[{n!r}]", sigma.get(n, "mean"), m) for n, m in zip(names, mean, strict=True)]
        of_rods = [
            value(f"sigma[{n!r}]", sigma.get(n, "mean"), m, table["lengths"])
            for n, m, table in zip(rods, frames, tables, strict=True)
        ]
        return np.array(of), of_rods
    if isinstance(sigma, str) or np.ndim(sigma) == 0:
        of = [value("sigma", sigma, m) for m in mean] or [value("sigma", sigma, 0.0)][:0]
        return np.array(of), frames
    if len(sigma) != len(names):
        raise ValueError(f"sigma = {sigma!r} has {len(sigma)} values for {len(names)} bodies; it must be {wanted}.")
    of = [value(f"sigma[{i}]", s, m) for i, (s, m) in enumerate(zip(sigma, mean, strict=True))]
    return np.array(of), frames
