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

from gyrod import _check, _core, rotations
from gyrod._check import Array
from gyrod.equations import Compiled, compile_system, mechanisms
from gyrod.equations.checks import about
from gyrod.equations.contacts import contacts
from gyrod.equations.coordinates import turns, unknowns
from gyrod.equations.forces import body_forces
from gyrod.equations.links import links, sliding
from gyrod.equations.rods import HELD
from gyrod.model import System
from gyrod.model.system_checks import SINGULAR
from gyrod.runs.formulations import FORMULATIONS

if TYPE_CHECKING:
    from gyrod.equations.checks import CoreOptions
    from gyrod.equations.rods import RodTable

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
        places, behind = self.places(y), rows.shape[1] - self.core.bodies
        places[:] = rows[:, self.core.bodies :].reshape(len(rows), 13 * behind)[:, : places.shape[-1]]
        for cells, layout in zip(self.cells(), self.compiled.layouts(), strict=True):
            lead = len(layout.x) - len(layout.p)
            for n, (x, v, node) in enumerate(zip(layout.x, layout.v, cells, strict=True)):
                if x >= 0:
                    y[:, x : x + 3], y[:, v : v + 3] = rows[:, node, :3], rows[:, node, 7:10]
                if n >= lead and layout.p[n - lead] >= 0:
                    p, w = layout.p[n - lead], layout.w[n - lead]
                    q, rates = unknowns(self.compiled.formulation, rows[:, node, 3:7], rows[:, node, 10:])
                    y[:, p : p + q.shape[1]], y[:, w : w + rates.shape[1]] = q, rates
        return y

    def places(self, y: Array) -> Array:
        """Where rods are in what they slide through, as fractions of their length; contacts have what follows."""
        first = y.shape[-1] - self.compiled.kinds.count("friction")
        return y[..., first : first + len(sliding(self.compiled.system))]

    def cells(self) -> list[list[int]]:
        """For each rod the rows of its cells among the nodes, -1 where all of one is held."""
        pieces = self.compiled.pieces
        return pieces.cells([self.core.cells(i) for i in range(len(pieces.tables))])

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
            q, w = unknowns(compiled.formulation, p, Omega)
            pinned = compiled.mechanism is None and name in compiled.system.fixed_points
            parts = (q, w) if pinned else (x, q, v, w)
            at = compiled.core.offset(i)
            y[:, at : at + sum(part.shape[1] for part in parts)] = np.concatenate(parts, axis=1)
        return y


#: As the option of a run: a word, a number for all bodies, one for each, or numbers by name.
Sigma = str | float | Sequence[float] | Mapping[str, float]


def compile_stepped(
    system: System,
    step: float,
    *,
    coordinates: str | None,
    sigma: Sigma,
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
    if coordinates is not None:
        _check.choice("coordinates", coordinates, COORDINATES)
    _check.choice("potential", potential, POTENTIALS)
    _check_method(system, "energy-momentum" if conserving else "variational")
    coordinates = _conserving(system, reduce, coordinates) if conserving else coordinates or "quaternion"
    formulation = COORDINATES[coordinates]
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
    gravity, forces = body_forces(system, index, frames, compiled.signals)
    if compiled.mechanism is not None:
        forces += mechanisms.springs(system, compiled.mechanism)
    split, of_rods = _sigmas(system, sigma, moments, compiled.rods)
    core = _core.Variational(
        bodies=bodies, sigma=split.tolist(), forces=forces, gravity=gravity,
        joints=None if compiled.mechanism is None else compiled.mechanism.tree(fixed=True),
        rods=[_core.Rod(**table) for table in compiled.pieces.tables],
        rod_sigma=[part.tolist() for i, s in enumerate(of_rods) for part in compiled.pieces.frames(i, s)],
        links=links(system, compiled.pieces, index, frames, compiled.signals),
        contacts=contacts(system, compiled.pieces, index, frames, compiled._length())[0],
        length=compiled._length(), step=step, directors=coordinates == "directors", nodes=potential == "nodes",
        conserving=conserving, composed=order == 4,
    )  # fmt: skip
    start = _starts(compiled, axes, rested=rested)
    stepped = Stepped(compiled, core, np.array(start), frames, split, compiled.python, potential == "nodes")
    # Behind them where rods are in what they slide through.
    places = stepped.places(compiled.y0)
    behind = np.concatenate([places, np.zeros(-len(places) % 13)]).reshape(-1, 13).tolist()
    return replace(stepped, start=np.array(start + _cells(stepped) + behind).reshape(-1, 13))


def _check_method(system: System, method: str) -> None:
    """Refuse what constant steps have not."""
    if not isinstance(system, System):
        raise ValueError(f"system must be a gyrod.System, got {type(system).__name__}.")
    if beyond := [contact.label for contact in system.all_contacts if not contact.pushes_rods(system)]:
        raise ValueError(
            f"method = {method!r} has no contact with friction, of bodies, or of rods among themselves; take 'moreau' "
            f"or 'radau5'. In the way is {beyond[0]}."
        )


def _starts(compiled: Compiled, axes: Sequence[Array], *, rested: bool) -> list[list[float]]:
    """Position, quaternion, velocity and Omega of each body at the start, of the model or of the compiled system."""
    system, start = compiled.system, []
    moved = compiled.motions(compiled.y0) if rested or system.junction_bodies else None
    for i, (body, A) in enumerate(zip(system.bodies, axes, strict=True)):
        p, v, Omega = body.orientation, system.initial_velocities[body.name], body.angular_velocity
        if moved is not None:
            p, v, Omega = rotations.quaternion_from_matrix(moved[1][0, i]), moved[2][0, i], moved[3][0, i]
        if not np.array_equal(A, np.eye(3)):
            p = rotations.multiply(p, rotations.quaternion_from_matrix(A))
        start.append([*(body.position if moved is None else moved[0][0, i]), *p, *v, *(A.T @ Omega)])
    return start


def _cells(stepped: Stepped) -> list[list[float]]:
    """The cells of all rods at the start, as the compiled system has them."""
    compiled = stepped.compiled
    y, (nq, nv) = compiled.y0, FORMULATIONS[compiled.formulation]
    rows = []
    for cells, layout in zip(stepped.cells(), compiled.layouts(), strict=True):
        lead = len(layout.x) - len(layout.p)
        for n, node in enumerate(cells):
            if node < 0:
                continue
            row = np.zeros(13)
            row[3] = 1.0
            if layout.x[n] >= 0:
                row[:3], row[7:10] = y[layout.x[n] :][:3], y[layout.v[n] :][:3]
            if n >= lead and layout.p[n - lead] >= 0:
                q, v = y[layout.p[n - lead] :][:nq], y[layout.w[n - lead] :][:nv]
                row[3:7], row[10:] = turns(compiled.formulation, q, v)
            rows.append(row.tolist())
    return rows


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


def _conserving(system: System, reduce: bool, coordinates: str | None) -> str:
    """The coordinates in which energy and momenta are kept: directors, where bodies feel each other."""
    joints = system.joints if mechanisms.joined(system) or not reduce else ()
    felt = [part.label for part in (*joints, *system.forces)] + [f"rod {name!r}" for name in system.rod_names]
    felt += ["gravity as a function of time"] if system.gravity_function is not None else []
    if felt and coordinates == "quaternion":
        raise ValueError(
            "method = 'energy-momentum' in quaternions supports bodies that are free or turn about a fixed point, "
            f"under gravity. This system has {', '.join(felt)}: the angular momentum would be lost, because points of "
            "a body at the mean of two quaternions are not on it. Use coordinates = 'directors', which keeps both."
        )
    return coordinates or ("directors" if felt else "quaternion")


def _sigmas(system: System, sigma: Any, moments: Array, tables: Sequence[RodTable]) -> tuple[Array, list[Array]]:
    """The scaling of each body, and of each frame of the rods.

    "mean" is the mean of the principal moments, about the point a body turns about; a number is that of each body in
    kg m², and for a rod, which must be named, by length, in kg m.
    """
    mean = moments.mean(axis=1)
    names, rods = system.names, system.rod_names
    frames = [table["J"].mean(axis=1) for table in tables]
    wanted = "'mean', 'best', a number >= 0, one for each body, or a dictionary from names to these"

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
