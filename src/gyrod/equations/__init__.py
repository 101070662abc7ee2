"""Which unknowns: from a model to equations of motion in one formulation.

`compile_system` is the only place where the layout of the state is known: body after body (position, rotation
coordinates, velocity, rotational velocities), a pinned body without position and velocity; then rod after rod. The core
works in principal axes; `Compiled` turns the user's axes into them and back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod import _check, _core, rotations
from gyrod._check import Array
from gyrod.equations import mechanisms
from gyrod.equations.bodies import initial, single_bodies, size_of, tree_bodies
from gyrod.equations.bodies import mobility as mobility
from gyrod.equations.checks import CoreOptions, check_system, is_unit
from gyrod.equations.contacts import Crossed, Touching, contacts, too_deep
from gyrod.equations.coordinates import unknowns
from gyrod.equations.gaps import joint_set
from gyrod.equations.links import links, sliding
from gyrod.equations.mechanisms import Mechanism, Mobility
from gyrod.equations.pieces import Pieces, RodLayout
from gyrod.equations.rods import compile_rod, fundamental, initial_state, section_held, stiffest
from gyrod.equations.signals import ForceError as ForceError
from gyrod.equations.signals import Signals
from gyrod.model import ModelError, System, UserForce
from gyrod.model.attachments import RodEndPlace
from gyrod.rotations.vectors import length
from gyrod.runs.formulations import FORMULATIONS

if TYPE_CHECKING:
    from typing import Unpack

    from gyrod.equations.rods import RodTable

#: Numbers that the state has of a station of a rigid contact: the force, and energies.
IMPACT = 6


@dataclass(frozen=True)
class Compiled:
    """A system in a formulation: the core's object, where the unknowns are, and how to read them."""

    system: System
    formulation: str
    core: _core.System
    #: Initial state.
    y0: Array
    #: What depends on time.
    signals: Signals
    #: For each body: columns are its principal axes in the user's axes.
    axes: Array
    #: For each body: principal moments, about the fixed point of a pinned one, (b, 3).
    moments: Array
    #: Kind of each unknown: "position", "rotation", "velocity" or "spin".
    kinds: tuple[str, ...]

    #: Options of the formulation it was compiled with.
    options: CoreOptions

    #: For each rod: the core's arrays on its mesh.
    rods: tuple[RodTable, ...]
    #: What the core has of them.
    pieces: Pieces

    #: Tree and loops of bodies with joints; None where bodies have none, or one ball joint to ground each.
    mechanism: Mechanism | None = None
    #: What the joints leave.
    mobility: Mobility | None = None
    #: Whether it was written for statics.
    at_rest: bool = False
    #: What may touch what, in the order of the core.
    touching: tuple[Touching, ...] = ()
    #: Rods that may touch each other, in the order of the core.
    crossed: tuple[Crossed, ...] = ()

    def __reduce__(self) -> tuple[Callable[..., Compiled], tuple[object, ...]]:
        """The core's object is made anew where the system is unpickled."""
        return _again, (self.system, self.formulation, self.options, self.at_rest)

    @property
    def python(self) -> bool:
        """Whether Python functions are called from the right-hand side."""
        return self.signals.python or any(isinstance(force, UserForce) for force in self.system.forces)

    @property
    def contacts(self) -> bool:
        """Whether something may touch something."""
        return bool(self.touching or self.crossed)

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return len(self.y0)

    @property
    def hard(self) -> bool:
        """Whether contacts are rigid, their forces impulses."""
        return bool(self.options.get("hard"))

    @property
    def roles(self) -> list[int]:
        """What each unknown is to methods that know impacts: position, velocity, memory or force of a contact."""
        found = np.array([1 if k in ("velocity", "spin") else 2 if k == "friction" else 0 for k in self.kinds])
        if stations := self._stations:
            found[-IMPACT * stations :].reshape(stations, IMPACT)[:, :3] = 3
        return [int(role) for role in found]

    @property
    def _stations(self) -> int:
        """How many rigid contacts the state has forces of."""
        return sum(len(pair.places) for pair in self.touching) if self.hard else 0

    def costs(self, y: Array) -> Array:
        """Energy that friction and impacts of rigid contacts have taken, and that bodies have given them, (k, 3)."""
        stations = self._stations
        memory = y[:, y.shape[1] - IMPACT * stations :].reshape(len(y), stations, IMPACT)
        return np.asarray(memory[..., 3:].sum(axis=1))

    def scales(self, length: float | None = None, time: float | None = None) -> Array:
        """Physical scale of each unknown: L, 1, L/tau, 1/tau; the rate of a quaternion is half an angular velocity."""
        L = length or self._length()
        return np.asarray(self.scales_of(L, np.array([time or self._time(L)]))[0])

    def scales_of(self, L: float, tau: Array) -> Array:
        """The same for many times tau, (m, n)."""
        spin = (0.5 if self.formulation == "absolute-quaternion" else 1.0) / tau
        # Accelerations, where they are unknowns, and multipliers of constraints that are scaled by masses. Where forces
        # are stiff they are larger than the motion says, and rounded: to ask for more keeps extrapolation from ending.
        first = self.options.get("level") == 1
        begun = [abs(float(y)) for y, kind in zip(self.y0, self.kinds, strict=True) if first and kind == "force"]
        of: dict[str, float | Array] = {
            "position": L, "rotation": 1.0, "velocity": L / tau, "spin": spin,
            "force": np.maximum(L / tau / tau, max(begun, default=0.0)),
            "friction": 1.0,
        }  # fmt: skip
        rows = np.empty((len(tau), len(of)))
        for i, value in enumerate(of.values()):
            rows[:, i] = value
        number = {kind: i for i, kind in enumerate(of)}
        return rows[:, [number[kind] for kind in self.kinds]]

    def _length(self) -> float:
        return size_of(self.system)

    def contact_states(
        self, pairs: Sequence[int], t: Array, y: Array, *, project: bool = False
    ) -> tuple[list[Array], Array]:
        """Of pairs, in their order, at rows (t, y): numbers of their stations, (k, n, 14) each.

        And of each of `touching` energy and powers, (k, touching, 4). One call reads all rods, whatever the pairs.
        """
        times, rows = np.ascontiguousarray(np.atleast_1d(t)), np.ascontiguousarray(np.atleast_2d(y))
        found, sums = self.core.contact_states(pairs, times, rows, project)
        ends = np.cumsum([len(self.touching[k].places) for k in pairs])
        return np.split(np.asarray(found), ends[:-1], axis=1) if pairs else [], np.asarray(sums)

    def crossing_states(self, t: Array, y: Array, *, project: bool = False) -> tuple[list[Array], Array]:
        """Of rods among themselves at rows (t, y): which of `crossed`, and numbers, of each touch, k times (n, 17).

        And of each of `crossed` energy and powers of friction and impacts, (k, crossed, 3).
        """
        times, rows = np.ascontiguousarray(np.atleast_1d(t)), np.ascontiguousarray(np.atleast_2d(y))
        found, sums = self.core.crossing_states(times, rows, project)
        return [np.asarray(x) for x in found], np.asarray(sums)

    def check_contacts(self) -> None:
        """Refuse rods that begin within what they may touch."""
        if not self.contacts:
            return
        zero = np.zeros(1)
        stations, _ = self.core.contact_states(range(len(self.touching)), zero, self.y0[None], False)
        inside = too_deep(self.touching, np.asarray(stations)[0, :, 12]) if self.touching else []
        touches = self.crossing_states(zero, self.y0)[0][0] if self.crossed else np.zeros((0, 17))
        inside += [s for k, two in enumerate(self.crossed) if (s := two.inside(touches[touches[:, 0] == k, 1:]))]
        if inside:
            raise ModelError(dict.fromkeys(f"{self.system.all_contacts[pair].label}: {s}" for pair, s in inside))

    def slide_states(self, t: Array, y: Array, *, project: bool = False) -> Array:
        """Of rods in rings at rows (t, y): fraction of the length, point, force on the rod, (k, rings, 7)."""
        return np.asarray(self.core.slide_states(np.ascontiguousarray(t), np.ascontiguousarray(y), project))

    def _time(self, L: float) -> float:
        s = self.system
        gravity = length(s.gravity)
        if gravity > 0.0 or s.rods:
            swing = [float(np.sqrt(L / gravity))] if gravity > 0.0 else []
            return max(swing + [1.0 / fundamental(rod) for rod in s.rods])
        rates = [length(b.angular_velocity) for b in s.bodies]
        rates += [length(b.velocity) / L for b in s.bodies]
        return 1.0 / (max(rates) or 1.0)

    def rod_spectrum(self) -> tuple[float, float]:
        """About the largest frequency and damping rate of the rods, 1/s."""
        found = [stiffest(table) for table in self.rods]
        return max((f for f, _ in found), default=0.0), max((d for _, d in found), default=0.0)

    def motions(self, y: Array, t: float | Array = 0.0, *, project: bool = False) -> tuple[Array, Array, Array, Array]:
        """Position (k, b, 3), matrix (k, b, 3, 3), velocity (k, b, 3), Omega (k, b, 3) in the user's axes."""
        k = len(np.atleast_2d(y))
        if not self.system.bodies:
            return np.zeros((k, 0, 3)), np.zeros((k, 0, 3, 3)), np.zeros((k, 0, 3)), np.zeros((k, 0, 3))
        times = np.ascontiguousarray(t, dtype=float).reshape(-1)
        times = times if len(times) == k else np.full(k, times[0])
        raw = self.core.motions(times, np.ascontiguousarray(np.atleast_2d(y)), project)
        R, Omega = raw[..., 3:12].reshape(*raw.shape[:2], 3, 3), raw[..., 15:]
        if not self._own_axes:
            R = R @ np.swapaxes(self.axes, -1, -2)
            Omega = np.einsum("bij,kbj->kbi", self.axes, Omega)
        return raw[..., :3], R, raw[..., 12:15], Omega

    @cached_property
    def _own_axes(self) -> bool:
        """Whether the user's axes are principal ones."""
        return is_unit(self.axes)

    def accelerations(self, t: float, y: Array) -> Array:
        """Of the bodies, (b, 6): v' in space axes, Omega' in the user's body axes."""
        return np.asarray(self.body_accelerations(np.array([t], dtype=float), np.ascontiguousarray(y)[None])[0])

    def body_accelerations(self, t: Array, y: Array) -> Array:
        """The same at rows (t, y), (k, b, 6)."""
        if not self.system.bodies:
            return np.zeros((len(t), 0, 6))
        if self.whole is not self:
            memory = y[:, self.size - self.kinds.count("friction") :]
            y = self.whole.states(t, self.motions(y, t))
            y[:, y.shape[1] - memory.shape[1] :] = memory
        raw = np.asarray(self.whole.core.accelerations(t, y))
        turned = np.einsum("bij,kbj->kbi", self.whole.axes, raw[..., 3:])
        return np.concatenate([raw[..., :3], turned], axis=-1)

    @cached_property
    def whole(self) -> Compiled:
        """The bodies as a mechanism with all joints and positions; itself if it is one."""
        if self.mechanism is not None:
            return self
        return compile_system(self.system, "nullspace-quaternion", signals=self.signals, reduce=False, hard=self.hard)

    def states(self, t: Array, motions: tuple[Array, Array, Array, Array], start: Array | None = None) -> Array:
        """Unknowns of a mechanism, (k, N), from positions, matrices, velocities and Omega of its bodies.

        ``start``: one state, in which rods are set.
        """
        x, R, v, Omega = motions
        nq, _ = FORMULATIONS[self.formulation]
        spins = np.einsum("bji,kbj->kbi", self.axes, Omega)
        q, _ = unknowns(self.formulation, rotations.conversions.spurrier_klumpp(R @ self.axes), spins)
        rows = np.tile(np.zeros(self.size) if start is None else start, (len(x), 1))
        for i in range(x.shape[1]):
            at = self.core.offset(i)
            rows[:, at : at + 3], rows[:, at + 3 : at + 3 + nq] = x[:, i], q[:, i]
        velocities = np.ascontiguousarray(np.concatenate([v, spins], axis=2))
        found = [self.core.complete(float(s), V, y) for s, V, y in zip(t, velocities, rows, strict=True)]
        return np.array(found).reshape(len(x), -1)

    def started(self, source: Compiled, y: Array) -> Compiled:
        """The same from the state y of these equations, or of those in 'nullspace-quaternion'."""
        if source.formulation == self.formulation and source.size == self.size:
            return replace(self, y0=y)
        motions = source.motions(y)
        start = self.with_rods(zip(source.layouts(), self.layouts(), strict=True), y)
        memory, known = self.kinds.count("friction"), source.kinds.count("friction")
        kept = min(memory, known) if self.hard == source.hard else len(sliding(self.system))
        start[self.size - memory :][:kept] = y[len(y) - known :][:kept]
        if self.mechanism is not None:
            return replace(self, y0=self.states(np.zeros(1), motions, start)[0])
        for at, state in self._posed(*(part[0] for part in motions)):
            start[at] = state
        return replace(self, y0=start)

    def _posed(self, x: Array, R: Array, v: Array, Omega: Array) -> Iterator[tuple[slice, Array]]:
        """Where the unknowns of each body are, and those with which it moves so; of bodies without joints."""
        spatial = self.options.get("spatial", False)
        for i, (body, A) in enumerate(zip(self.system.bodies, self.axes, strict=True)):
            turned = rotations.conversions.spurrier_klumpp(R[i])
            moved = body.with_(position=x[i], orientation=turned, velocity=v[i], angular_velocity=Omega[i])
            state, _ = initial(self.formulation, moved, body.name in self.system.fixed_points, v[i], A, spatial)
            at = self.core.offset(i)
            yield slice(at, at + len(state)), np.array(state)

    def moving(self, t: float, y: Array, v: Array, Omega: Array) -> Array:
        """The state y with other velocities of the bodies, (b, 3) each: in space, and in the user's axes."""
        x, R, *_ = self.motions(y, t)
        if self.mechanism is not None:
            return np.asarray(self.states(np.array([t]), (x, R, v[None], Omega[None]), y)[0])
        found = np.array(y)
        velocity = np.array([kind in ("velocity", "spin") for kind in self.kinds])
        for at, state in self._posed(x[0], R[0], v, Omega):
            found[at] = np.where(velocity[at], state, found[at])
        return found

    def layouts(self) -> list[RodLayout]:
        """Where the unknowns of each rod are."""
        return self.pieces.layouts(self.core.layout())

    def with_rods(self, pairs: Iterable[tuple[RodLayout, RodLayout]], y: Array) -> Array:
        """The start with rods as in y, unknowns in 'nullspace-quaternion': where they are there, and where here."""
        start = np.array(self.y0)
        for there, here in pairs:
            for key in ("x", "v"):
                for a, b in zip(getattr(there, key), getattr(here, key), strict=True):
                    if b >= 0:
                        start[b : b + 3] = y[a : a + 3]
            for p, w, *at in zip(there.p, there.w, here.p, here.w, strict=True):
                turned = unknowns(self.formulation, y[p : p + 4], y[w : w + 3]) if at[0] >= 0 else ()
                for b, values in zip(at, turned, strict=False):
                    start[b : b + len(values)] = values
        return start

    def nullspace(self, t: float, y: Array) -> Array:
        """Twists (v space, Omega body) of all bodies for each velocity of the tree, (6 b, n)."""
        raw = self.core.nullspace(t, np.ascontiguousarray(y)).reshape(len(self.axes), 2, 3, -1)
        raw[:, 1] = np.einsum("bij,bjn->bin", self.axes, raw[:, 1])
        return np.asarray(raw.reshape(6 * len(self.axes), -1))

    def gradient(self, t: float, y: Array) -> Array:
        """Gradient of all joint constraints by the same twists, (rows, 6 b); dense, for small systems."""
        raw = self.core.motions(np.array([t]), np.ascontiguousarray(y)[None], False)[0]
        _, _, _, G = mechanisms.gradient(self.core, t, raw, self.pairs)
        dense = G.toarray().reshape(-1, len(raw), 2, 3)
        frames = raw[:, 3:12].reshape(-1, 3, 3) @ np.swapaxes(self.axes, -1, -2)
        dense[:, :, 1] = np.einsum("rbi,bij->rbj", dense[:, :, 1], frames)
        return np.asarray(dense.reshape(len(dense), -1))

    def blocked(self, t: float, y: Array) -> str | None:
        """Which loop is open or next to a singular position, as far as it is known; None: none is."""
        if self.mobility is None or self.options.get("level") or not np.isfinite(y).all():
            return None
        motions = self.core.motions(np.array([t, 0.0]), np.array([y, self.y0]), False)
        rank = self.mobility.rows - self.mobility.redundant
        return mechanisms.blocked(self.system, self.core, t, motions[0], motions[1], rank)

    @property
    def pairs(self) -> NDArray[np.intp]:
        """Bodies that each joint connects, (j, 2); -1 is ground."""
        return mechanisms.pairs(self.system)

    @cached_property
    def joint_set(self) -> _core.JointSet:
        """The joints as the core reads them, in the user's axes."""
        return joint_set(self.system)

    def rod_measures(self, t: Array, y: Array, *, project: bool = False) -> Array:
        """Sums over the rods at rows (t, y), (k, 9): energies (6), dissipation, power of loads and of ends."""
        times, rows = np.ascontiguousarray(np.atleast_1d(t)), np.ascontiguousarray(np.atleast_2d(y))
        return np.asarray(self.core.rod_measures(times, rows, project))

    def rod_states(self, t: Array, y: Array, *, project: bool = False) -> list[dict[str, Array]]:
        """Everything about each rod at rows (t, y): arrays (k, points of its mesh, components)."""
        times, rows = np.ascontiguousarray(np.atleast_1d(t)), np.ascontiguousarray(np.atleast_2d(y))
        return self.pieces.states([dict(rod) for rod in self.core.rod_states(times, rows, project)])


def compile_system(
    system: System,
    formulation: str = "nullspace-quaternion",
    *,
    at_rest: bool = False,
    started: bool = False,
    signals: Signals | None = None,
    **options: Unpack[CoreOptions],
) -> Compiled:
    """Write the equations of motion of a system in a formulation; options are those of the core.

    ``at_rest``: for statics, where velocities at the start do not matter; ``started``: nor do they where the motion has
    another start. ``signals``: those of the same system in another formulation, which are then shared.
    """
    _check.choice("formulation", formulation, FORMULATIONS)
    if not isinstance(system, System):
        raise ValueError(f"system must be a gyrod.System, got {type(system).__name__}.")
    if not system.bodies and not system.rods:
        raise ValueError("system has no bodies and no rods; there is nothing to simulate.")
    whole, signals = system.assembled(), signals or Signals()
    hosted = mechanisms.hosted(whole)
    kept = bool(options.get("level") or options.get("qr"))  # constraints of one body, or of none with a joint, too
    tree = mechanisms.joined(whole) or not options.get("reduce", True) or (kept and bool(whole.bodies))
    check_system(system, formulation, options, hosted, tree=tree, velocities=not (at_rest or started))
    system = whole
    bodies = (tree_bodies if tree else single_bodies)(system, formulation, options, signals)
    tables = [compile_rod(rod, system, signals) for rod in system.rods]
    index = {name: i for i, name in enumerate(system.names)}
    rods = {name: i for i, name in enumerate(system.rod_names)}
    for (name, e), place in hosted.items():
        _hold(tables[rods[name]][("start", "end")[e]], place, index, bodies.axes)
    inner = system.rod_points.items()
    held = {key: _hold(section_held(system, place), place, index, bodies.axes) for key, place in inner}
    pieces = Pieces.of(system.rods, tables, held)
    between = links(system, pieces, index, bodies.axes, signals)
    none: tuple[_core.ContactSet, tuple[Touching, ...], tuple[Crossed, ...]] = _core.ContactSet(), (), ()
    touching, pairs, crossed = (
        contacts(system, pieces, index, bodies.axes, size_of(system), hard=bool(options.get("hard")))
        if system.all_contacts
        else none
    )
    core = bodies.make([_core.Rod(**table) for table in pieces.tables], between, touching)
    start, kinds = bodies.start(core)
    for rod, layout in zip(system.rods, pieces.layouts(core.layout()), strict=True):
        initial_state(rod, formulation, layout, start, kinds)
    slides = [clip.at + offset / system.rod(clip.rod).length for clip, offset in sliding(system)]
    memory = len(slides) + touching.memory
    kinds[core.size - memory :] = ["friction"] * memory
    start[core.size - memory :] = [*slides, *[0.0] * (memory - len(slides))]
    core.quasistatic(at_rest)
    y0 = np.array(start)
    if bodies.velocities is not None:  # with what the rods do, where accelerations and multipliers are unknowns
        y0 = np.asarray(core.complete(0.0, bodies.velocities, y0))
    found = Compiled(
        system, formulation, core, y0, signals, bodies.axes, bodies.moments, tuple(kinds), options.copy(),
        tuple(tables), pieces, bodies.mechanism, bodies.mobility, at_rest, pairs, crossed,
    )  # fmt: skip
    if not (at_rest or started):
        found.check_contacts()
    return found


def _hold(end: _core.RodEnd, place: RodEndPlace, index: dict[str, int], axes: Array) -> _core.RodEnd:
    """Let a body of the core hold an end; returns it."""
    host = index[place.host]
    A = axes[host]
    turn = np.array([1.0, 0.0, 0.0, 0.0]) if is_unit(A) else rotations.quaternion_from_matrix(A.T)
    end.held_by(host, A.T @ place.at, rotations.multiply(turn, place.frame))
    return end


def _again(system: System, formulation: str, options: CoreOptions, at_rest: bool) -> Compiled:
    return compile_system(system, formulation, at_rest=at_rest, started=True, **options)
