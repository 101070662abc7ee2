"""Equilibria: damped Newton on the balance of forces, relaxation where it fails, stability, what is free to move."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from gyrod import _check
from gyrod._check import Array
from gyrod.equations import Compiled, compile_system, mechanisms
from gyrod.equations.rods import HELD
from gyrod.model import Rod, System
from gyrod.motion import Motion, MotionStats, Rest
from gyrod.runs.options import OPTIONS
from gyrod.solve.companions import of_rest, with_errors
from gyrod.solve.eigen import between, canonical, first_largest, lowest, real
from gyrod.solve.loads import frictionless, scaled, undamped

if TYPE_CHECKING:
    from gyrod.solve.eigen import Spectrum

#: Shift of Newton's matrix over the slowest rate: small enough to leave its convergence, large enough for free motions.
SHIFT = 1e-3
#: Square of the frequency over that of the slowest rate below which a motion counts as free.
FREE = 1e-7
#: Ratio of squares of frequencies above which the lower one, if rounding is larger, is zero.
GAP = 1e4
#: Least tolerance: steps end at a thousand times the rounding of the positions.
LEAST = 1e-14
#: Largest radius of gyration of a section over the length of its rod; from 3000 on Newton's method ends elsewhere.
WIDEST = 1000.0
#: Steps of the relaxation.
RELAXATIONS = 400
#: Times that a rest with strains that bodies hold is begun anew, until its first step is small.
SETTLING = 6


class EquilibriumError(RuntimeError):
    """No equilibrium was found: ``rest`` is the last configuration, its ``history`` that of the attempts."""

    def __init__(self, message: str, rest: Rest) -> None:
        super().__init__(message)
        self.rest = rest


@dataclass(frozen=True)
class Statics:
    """A system prepared for statics: its equations at rest, a start, scales and rates."""

    #: Without damping.
    compiled: Compiled
    #: Compiles it with damping, for what is handed out.
    reader: Callable[[], Compiled]
    #: Start, velocities zero, on the constraints.
    y: Array
    #: Scale of each position and rotation, 0 for velocities.
    scale: Array
    #: Shift of Newton's matrix and about the slowest rate, 1/s.
    shift: float
    rate: float

    @cached_property
    def whole(self) -> Compiled:
        """With damping, for what is returned."""
        return self.reader()

    @cached_property
    def velocities(self) -> NDArray[np.intp]:
        """Where the velocities are among the unknowns."""
        return np.flatnonzero(self.scale == 0.0)

    def newton(
        self, y: Array, t: float = 0.0, *, tolerance: float = 1e-11, iterations: int = 60, relaxations: int = 0,
        threads: int = 1,
    ) -> tuple[str, Array, Array]:  # fmt: skip
        """Newton's method from y: "converged" or why not, the unknowns, the history of its steps."""
        start = np.ascontiguousarray(y)
        core = self.compiled.core
        with self._telling(start, t):
            found = core.equilibrium(
                t, start, self.scale, self.shift, self.rate, tolerance, iterations, relaxations, threads
            )
        return found.status, np.asarray(found.y), np.asarray(found.history)

    def remembered(self, y: Array, t: float) -> Array:
        """An equilibrium with what its contacts remember of the way there, from which the next one counts."""
        return np.asarray(self.compiled.core.rest(t, np.ascontiguousarray(y), True)) if self.compiled.contacts else y

    def place(self, y: Array, t: float) -> Array:
        """The unknowns back on the constraints at this time, at rest."""
        rests = self.scale > 0.0
        with self._telling(y, t):
            return np.where(rests, np.asarray(self.compiled.core.project(np.where(rests, y, 0.0), t)), 0.0)

    @contextmanager
    def _telling(self, y: Array, t: float) -> Iterator[None]:
        """Put a sentence of the core in terms of an equilibrium."""
        try:
            yield
        except RuntimeError as error:
            if type(error) is not RuntimeError:
                raise
            rest = Rest(self.motion(y, t), -1, "newton", np.zeros((0, 2)))
            raise EquilibriumError(f"no equilibrium was found at t = {t:.10g}: {error}.", rest) from error

    def slope(self, y: Array, moved: Sequence[tuple[float, Statics, float]]) -> tuple[Array, Array]:
        """Derivative of the equilibrium by a parameter after (32), with the factors of `linearise` at y.

        ``moved``: weight, equations and time of each point of a difference in the parameter. Returned are the unknowns
        that the constraints move by themselves, as drives do, and what follows by balance: its part of the velocities,
        over the shift of the factors, moves the positions as its part of these.
        """
        there = [(weight, statics, t, statics.place(y, t)) for weight, statics, t in moved]
        b = sum(weight * np.asarray(statics.compiled.core.rhs(t, at)) for weight, statics, t, at in there)
        b = np.where(self.scale > 0.0, 0.0, b)
        return np.asarray(sum(weight * at for weight, _, _, at in there)), np.asarray(self.compiled.core.solve(b))

    def unstable(self, y: Array, t: float = 0.0) -> int:
        """Negative eigenvalues of the tangent stiffness on the constraint manifold."""
        # A larger shift than Newton's: rounding of what nothing holds must not count.
        shift, noise = 10.0 * SHIFT * self.rate, 3.0 * float(np.sqrt(self.rounding))
        count = self._negative(y, t, shift)
        if count and noise > shift and self._negative(y, t, noise) < count:
            gap = self.gap(y, t)
            return self._negative(y, t, gap) if gap > shift else count
        return count

    def gap(self, y: Array, t: float) -> float:
        """A rate between that of motions without stiffness, as far as rounding shows, and all others; 0: none.

        Of a long thin cable the rate of bending is far below that of all its motions, and rounding is not.
        """
        squares = np.sort(np.abs(self.modes(y, t, 8)[0]))
        ratio = np.where(squares[:-1] < self.rounding, squares[1:] / np.maximum(squares[:-1], 1e-300), 0.0)
        k = int(np.argmax(ratio)) if len(ratio) else 0
        return 0.1 * float(np.sqrt(squares[k + 1])) if len(ratio) and ratio[k] > GAP else 0.0

    def _negative(self, y: Array, t: float, shift: float) -> int:
        """How many motions grow faster than the shift."""
        core = self.compiled.core
        core.linearise(t, np.ascontiguousarray(y), shift)
        return int(core.negative_pivots())

    @property
    def _bodies(self) -> int:
        """Unknowns of the bodies, which come first."""
        layouts = self.compiled.layouts()
        places = [at for rod in layouts for part in (rod.p, rod.w, rod.x, rod.v) for at in part if at >= 0]
        return min(places, default=self.compiled.size)

    @property
    def _constrained(self) -> bool:
        """Whether loops or held strains allow some velocities only."""
        mechanism = self.compiled.mechanism
        held = any(rod.strain in HELD for rod in self.compiled.system.rods)
        return held or (mechanism is not None and bool(mechanism.cuts))

    def allowed(self, y: Array, t: float) -> Callable[[Array], Array]:
        """What of given velocities loops and held strains allow."""
        where, state, n = self.velocities, np.array(y), int(np.count_nonzero(self.velocities < self._bodies))
        held = any(rod.strain in HELD for rod in self.compiled.system.rods)
        G = np.zeros((0, n))
        if self.compiled.mechanism is not None and self.compiled.mechanism.cuts:
            G = np.asarray(self.compiled.core.loop_gradient(t, np.ascontiguousarray(y), False))
        back = np.linalg.pinv(G, rcond=mechanisms.RANK)

        def of(v: Array) -> Array:
            found = np.array(v)
            found[:n] -= back @ (G @ found[:n])
            if held:
                state[where] = found
                found = np.asarray(self.compiled.core.project(state, t))[where]
            return found

        return of

    def _flexibility(
        self, y: Array, t: float, tangent: Callable[[Array], Array] | None = None
    ) -> tuple[Callable[[Array], Array], float]:
        """The map (K + shift² M)^-1 M of velocities that constraints allow, and its shift."""
        core, where, tangent = self.compiled.core, self.velocities, tangent or self.allowed(y, t)
        # Large enough that rounding of what has no stiffness does not drown the others.
        shift = max(self.shift, float(np.clip(10.0 * np.sqrt(self.rounding), 0.1 * self.rate, 0.3 * self.rate)))
        core.linearise(t, np.ascontiguousarray(y), shift)
        b = np.zeros(self.compiled.size)

        def apply(v: Array) -> Array:
            b[where] = tangent(v)
            return tangent(np.asarray(core.solve(b))[where] / shift)

        return apply, shift

    def modes(self, y: Array, t: float, n: int, *, tolerance: float = 1e-10) -> tuple[Array, Array]:
        """Squares of the n lowest frequencies and shapes (of velocities, (n, N)) of a system without damping."""
        where, tangent, constrained = self.velocities, self.allowed(y, t), self._constrained
        apply, shift = self._flexibility(y, t, tangent)

        def moves_on(v: Spectrum) -> bool:
            left = np.hypot(np.linalg.norm(tangent(v.real)), np.linalg.norm(tangent(v.imag)))
            return bool(left > 0.5 * np.linalg.norm(v))

        def select(values: Spectrum, vectors: Spectrum) -> tuple[Spectrum, Spectrum]:
            some = np.flatnonzero(values.real)
            if constrained:  # what constraints hold is no mode: its eigenvalue is zero up to rounding, anything here
                some = some[[moves_on(vectors[:, i]) for i in some]] if len(some) else some
            with np.errstate(over="ignore"):
                squares = 1.0 / values.real[some] - shift**2
            order = np.argsort(np.abs(squares))
            return squares[order], vectors[:, some[order]].T

        n, near = min(n, len(where)), self._free_limit
        squares, shapes, groups = lowest(apply, len(where), n, select, near=near, dense=60, tolerance=tolerance)
        groups = [group for group in groups if group.start < n]
        return np.asarray(squares[:n].real), np.asarray(self.canonical(real(shapes, groups), groups, y, t)[:n].real)

    def canonical(self, shapes: Spectrum, groups: list[range], y: Array, t: float) -> Spectrum:
        """Shapes of velocities that depend on what each group spans only.

        What shares a frequency is any mixture of its shapes, which rounding would choose. Here mean turns and
        displacements of the members come first, one by one along the axes.
        """
        found = np.empty_like(shapes)
        for group in groups:
            rows = shapes[group.start : group.stop]
            if len(rows) == 1:  # only its sign, or phase
                found[group] = rows / rows[0, first_largest(np.abs(rows[0]))]
            else:
                means, every = self._readings(rows, y, t)
                found[group] = canonical(every, means)[0] @ rows
        return found

    def _readings(self, shapes: Spectrum, y: Array, t: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """What shapes of velocities move: mean turn and displacement of each member in metres, then all of them."""
        if np.iscomplexobj(shapes):
            (a, b), (c, d) = self._readings(shapes.real, y, t), self._readings(shapes.imag, y, t)
            return a + 1j * c, b + 1j * d
        moves = [part for _, *parts in self._members(shapes, y, t) for part in parts]
        means = np.concatenate([part.mean(axis=1) for part in moves], axis=1)
        return means, np.concatenate([part.reshape(len(shapes), -1) for part in moves], axis=1)

    def _members(self, shapes: Spectrum, y: Array, t: float) -> list[tuple[str, Array, Array]]:
        """Each body and rod with its turns, times the length of the system, and its velocities, (n, points, 3)."""
        states = np.tile(y, (len(shapes), 1))
        states[:, self.velocities] = shapes
        stats, L = MotionStats("equilibrium", self.compiled.formulation), self.compiled._length()
        motion = Motion(np.full(len(shapes), float(t)), states, stats, _compiled=self.compiled)
        bodies = [(b.name, motion[b.name]) for b in self.compiled.system.bodies]
        rods = [(r.name, motion[r.name]) for r in self.compiled.system.rods]
        return [(f"body {name!r}", L * track.omega[:, None], track.velocity[:, None]) for name, track in bodies] + [
            (f"rod {name!r}", L * track.omega, track.velocities) for name, track in rods
        ]

    def free(self, y: Array, t: float) -> Array:
        """Shapes of all motions without stiffness, (n, N)."""
        apply, shift = self._flexibility(y, t)
        limit = min(self._free_limit, 0.99 * shift**2)
        shapes = between(apply, len(self.velocities), 1.0 / (shift**2 + limit), 1.0 / (shift**2 - limit))
        return np.asarray(self.canonical(shapes, [range(len(shapes))], y, t).real) if len(shapes) else shapes

    @property
    def _free_limit(self) -> float:
        """Square of a frequency that is zero up to the rounding of the largest one."""
        return min(max(FREE * self.rate**2, self.rounding), 1e-2 * self.rate**2)

    @cached_property
    def rounding(self) -> float:
        """Rounding of squares of frequencies."""
        return 4e-16 * float(self.compiled.rod_spectrum()[0]) ** 2

    def motion(self, y: Array, t: float) -> Motion:
        """The unknowns as a motion at a single time."""
        return _motion(self.whole, y, t)

    def directions(self, shapes: Array, y: Array, t: float) -> list[str]:
        """What shapes of velocities move, in words: the first member that moves noticeably."""
        if not len(shapes):
            return []
        members = self._members(shapes, y, t)
        found = []
        for k in range(len(shapes)):
            sizes = np.array([np.abs(turns[k]).max() + np.abs(moves[k]).max() for _, turns, moves in members])
            label, turns, moves = members[int(np.argmax(sizes > 0.1 * sizes.max()))]
            turn, move = turns[k].mean(axis=0), moves[k].mean(axis=0)
            if max(np.linalg.norm(turn), np.linalg.norm(move)) < 1e-3 * sizes.max():
                found.append(f"{label} can change its shape")
            elif np.linalg.norm(turn) < 0.05 * np.linalg.norm(move):  # an axis that far away is none
                found.append(f"{label} can move along {_axis(move)}")
            else:
                found.append(f"{label} can turn about {_axis(turn)}")
        return found


def _motion(compiled: Compiled, y: Array, t: float) -> Motion:
    stats = MotionStats("equilibrium", compiled.formulation)
    return Motion(np.asarray(float(t)), np.array(y), stats, _compiled=compiled)


def _axis(v: Array) -> str:
    """A unit vector of three digits, the first one positive."""
    unit = np.round(v / np.linalg.norm(v), 3)
    return f"({', '.join(f'{x:.3g}' for x in unit * np.sign(unit[np.flatnonzero(unit)[0]]) + 0.0)})"


def prepare(system: System, start: Rest | Motion | None = None, *, damped: bool = False) -> Statics:
    """The equations of a system at rest; from another configuration of the same system if one is given."""
    for rod in system.rods:
        _check_inertia(rod)
    bare = frictionless(system) if damped else undamped(system.original)
    compiled = _at_hand(bare, start) or compile_system(bare, at_rest=True)
    same = bare is system.original or damped
    reader = (lambda: compiled) if same else partial(compile_system, system, at_rest=True)
    kinds = np.array(compiled.kinds)
    scale = np.where(np.isin(kinds, ("position", "rotation", "friction")), compiled.scales(), 0.0)
    y = np.array(compiled.y0) if start is None else np.array(start.y)
    if y.shape != compiled.y0.shape:
        raise ValueError(f"guess has {y.size} unknowns, the system {compiled.size}; take a Rest of the same system.")
    y[scale == 0.0] = 0.0
    if compiled.contacts:
        compiled.core.rest(0.0, y, False)  # what sticks is counted from here
    rate = 1.0 / compiled._time(compiled._length())
    return Statics(compiled, reader, y, scale, SHIFT * rate, rate)


def _at_hand(system: System, start: Rest | Motion | None) -> Compiled | None:
    """The equations with which a rest is read, where they are those of the system and have no memory."""
    if not isinstance(start, Rest):
        return None
    found = start.motion.compiled
    known = found.at_rest and found.system.original is system.original
    return found if known and not found.contacts else None


def _check_inertia(rod: Rod) -> None:
    """Rotary inertias so large beside the mass that the stiffness would be lost to rounding."""
    inertia = rod.inertia_at(rod.mesh.strains)
    radius = float(np.sqrt(np.max(inertia[:, 1:] / inertia[:, :1])))
    if radius > WIDEST * rod.length:
        raise ValueError(
            f"rod {rod.name!r}: mass and rotary inertia belong to a section with a radius of gyration of {radius:.3g} "
            f"m, and its length is {rod.length:.3g} m. Check the units of density_per_length and rotary_inertia."
        )


def reachable(argument: str, value: float) -> float:
    """A tolerance of Newton's steps that rounding does not forbid."""
    if _check.positive(argument, value) < LEAST:
        raise ValueError(f"{argument} = {value!r} is below the rounding of positions; take {LEAST:g} or more.")
    return float(value)


class RestOptions(TypedDict, total=False):
    """Options of `equilibrium` but its guess."""

    load: float
    t: float
    tolerance: float
    relax: bool
    error: str
    threads: int


@with_errors(of_rest)
def equilibrium(
    system: System,
    *,
    guess: Rest | Motion | None = None,
    load: float = 1.0,
    t: float = 0.0,
    tolerance: float = 1e-11,
    relax: bool = True,
    error: str = "rough",  # noqa: ARG001
    threads: int = 1,
) -> Rest:
    """The equilibrium of a system under gravity and its forces, from its initial configuration or from a guess.

    Parameters
    ----------
    guess
        A `Rest`, or a `Motion` at a single time, of the same system.
    load
        Factor of gravity and of all forces.
    t
        Time at which functions of time (moving ends, drives, loads) are taken; what they move stands still.
    tolerance
        Of the last Newton step, over the size of the system and over 1 rad.
    relax
        Whether to relax dynamically where Newton's method fails; ``rest.method`` says so.
    error
        "rough" figures in ``rest.error``, or "total" errors, by the equilibrium on half the mesh, or
        on a "finer" one.
    threads
        How many share the work where there are many rods, as in a net; the result is the same.

    Damped Newton on (31) of Lang, Linn, Arnold 2011 in minimal velocities, O(N). Newton's method finds unstable
    equilibria too: see ``rest.stable``.
    """
    if not isinstance(system, System):
        raise ValueError(f"system must be a gyrod.System, got {type(system).__name__}.")
    load, t = _check.number("load", load), _check.number("t", t)
    tolerance = reachable("tolerance", tolerance)
    if guess is not None and not isinstance(guess, Rest | Motion):
        raise ValueError(f"guess must be a Rest or a Motion at one time, got {type(guess).__name__}.")
    if isinstance(guess, Motion) and guess.t.ndim:
        raise ValueError("guess is a motion over many times; take one of them, such as motion(0.5).")
    threads = OPTIONS["threads"].check("threads", threads)
    statics = prepare(scaled(system, load), guess)
    status, y, history, method = _balanced(statics, t, tolerance, relax, threads)
    if status != "converged" and relax and (lies := _without_friction(statics, t, tolerance, threads)) is not None:
        more, method = history, "newton"
        status, y, history = statics.newton(lies, t, tolerance=tolerance, threads=threads)
        history = np.concatenate([more, history])
    if status != "converged":
        raise failure(statics, status, y, t, history, method)
    free = tuple(dict.fromkeys(statics.directions(neutral(statics, y, t), y, t)))
    unstable, reader = statics.unstable(y, t), statics.reader
    y = statics.remembered(y, t)
    del statics  # with its factors, before a large system is compiled again
    return Rest(_motion(reader(), y, t), unstable, method, history, free)


def _balanced(statics: Statics, t: float, tolerance: float, relax: bool, threads: int) -> tuple[str, Array, Array, str]:
    """By Newton's method, or by relaxation where it fails, or ends unstable among contacts."""
    status, y, history = statics.newton(statics.y, t, tolerance=tolerance, threads=threads)
    falls = 0
    if status == "converged" and (statics.compiled.touching or statics.compiled.crossed):
        falls = statics.unstable(y, t)
    if not relax or (status == "converged" and falls <= 0):
        return status, y, history, "newton"
    other, z, more = statics.newton(statics.y, t, tolerance=tolerance, relaxations=RELAXATIONS, threads=threads)
    history = np.concatenate([history, more])
    if status == "converged" and (other != "converged" or statics.unstable(z, t) >= falls):
        return status, y, history, "newton"
    return *_settled(statics, other, z, history, t, tolerance, threads), "relaxation"


def _settled(
    statics: Statics, status: str, y: Array, history: Array, t: float, tolerance: float, threads: int
) -> tuple[str, Array, Array]:
    """On from where strains are held by bodies: forces that hold them follow from accelerations, which a last step
    knows less well than it seems; begun anew, they show it.
    """
    held = any(rod.strain in HELD for rod in statics.compiled.system.rods)
    if not held or not mechanisms.hosted(statics.compiled.system):
        return status, y, history
    first = np.inf
    for _ in range(SETTLING):
        if status != "converged" or first <= 10.0 * tolerance:
            return status, y, history
        status, y, more = statics.newton(y, t, tolerance=tolerance, relaxations=RELAXATIONS, threads=threads)
        history, first = np.concatenate([history, more]), more[0, 0]
    return status if first <= 1e3 * tolerance else "failed", y, history


def _without_friction(statics: Statics, t: float, tolerance: float, threads: int) -> Array | None:
    """Where all lies without friction, from where it is counted then: of what touches nothing at the start.

    Counted from the start, friction is that of a slide down to where it lies, which a ball cannot have that turns
    freely. None: there is no friction, or no such equilibrium.
    """
    system = statics.compiled.system.original
    smooth = [replace(c, friction=None) if c.friction is not None else c for c in system.contacts]
    if tuple(smooth) == system.contacts:
        return None
    bare = prepare(replace(system, contacts=smooth))
    same = [np.array(kinds) != "friction" for kinds in (bare.compiled.kinds, statics.compiled.kinds)]
    y = np.array(statics.y)
    bare.y[same[0]] = y[same[1]]
    status, found, _, _ = _balanced(bare, t, tolerance, relax=True, threads=threads)
    if status != "converged":
        return None
    y[same[1]] = found[same[0]]
    statics.compiled.core.rest(t, y, False)
    return y


def neutral(statics: Statics, y: Array, t: float) -> Array:
    """Free motions, looked for only where the stiffness is nearly singular."""
    core, where = statics.compiled.core, statics.velocities
    if not len(where):
        return np.zeros((0, 0))
    core.linearise(t, np.ascontiguousarray(y), statics.shift)
    b = np.zeros(statics.compiled.size)
    x = np.random.default_rng(1).standard_normal(len(where))
    for _ in range(4):  # inverse iteration
        b[where] = x / np.linalg.norm(x)
        x = np.asarray(core.solve(b))[where] / statics.shift
        if not np.linalg.norm(x) > 0.0:  # next to such a stiffness the masses are lost to rounding
            return np.zeros((0, len(where)))
    if 1.0 / np.linalg.norm(x) - statics.shift**2 > statics._free_limit:
        return np.zeros((0, len(where)))
    return statics.free(y, t)


def failure(statics: Statics, status: str, y: Array, t: float, history: Array, method: str) -> EquilibriumError:
    """Why there is no equilibrium, as far as it is known."""
    rest = Rest(statics.motion(y, t), -1, method, history)
    blocked = statics.compiled.blocked(t, y)
    if blocked:
        return EquilibriumError(f"no equilibrium was found at t = {t:.10g}: {blocked}. {mechanisms.BLOCKED}.", rest)
    try:
        free = statics.free(statics.y, t)
    except (ValueError, RuntimeError, np.linalg.LinAlgError):
        free = np.zeros((0, 0))
    acceleration = np.asarray(statics.compiled.core.rhs(t, statics.y))[statics.velocities]
    if len(free):
        Q, _ = np.linalg.qr(free.T)
        pushed = Q @ (Q.T @ acceleration)  # the part of the loads that nothing holds
        if np.linalg.norm(pushed) > 1e-6 * np.linalg.norm(acceleration):
            return EquilibriumError(
                "the supports leave a mechanism that the loads move: "
                f"{statics.directions(pushed[None], statics.y, t)[0]}. Hold it, or give a guess near the equilibrium.",
                rest,
            )
    folds, led = _folds(statics, y, t), _jump(statics, t)
    if folds:
        return EquilibriumError(f"no equilibrium was found in {len(history)} steps, since {folds}.{led}", rest)
    where = _where(statics, y, t)
    last = ", ".join(f"{row[0]:.2g}" for row in history[-4:])
    if len(history) and history[-1, 0] < 1e-9:
        last += ": stuck next to a limit point or a buckling load"
    return EquilibriumError(
        f"no equilibrium was found in {len(history)} steps ({status}); the last steps over the scale are {last}. "
        f"The forces are least balanced {where}. Try follow() to bring the load on gradually, a guess, or more "
        f"segments.{led}",
        rest,
    )


def moves(statics: Statics, y: Array, times: Array) -> bool:
    """Whether ends or bodies are elsewhere at other times, though the unknowns are the same."""
    compiled, rows = statics.compiled, np.tile(y, (len(times), 1))
    rods = compiled.rod_states(times, rows, project=True)
    parts = [rod[key] for rod in rods for key in ("positions", "vertex_quaternions")]
    parts += compiled.motions(np.array([statics.place(y, t) for t in times.tolist()]), times)[:2]
    return any(np.ptp(part, axis=0).any() for part in parts if part.size)


def _jump(statics: Statics, t: float) -> str:
    """A hint where ends or drives are led from the start to a time far off."""
    try:
        jumps = t != 0.0 and moves(statics, statics.y, np.array([0.0, t]))
    except (ValueError, RuntimeError):  # out of reach there
        return ""
    told = f" What is led jumps from t = 0 to {t:.6g}: follow(system, 'time', (0, {t:.6g})) takes it there in steps."
    return told if jumps else ""


def _folds(statics: Statics, y: Array, t: float) -> str | None:
    """What keeps Newton's method from the step that it wants: a rod that turns further than its mesh can resolve."""
    core, y = statics.compiled.core, np.ascontiguousarray(y)
    b = np.asarray(core.rhs(t, y))
    if not core.linearise(t, y, statics.shift):
        return None
    d = np.array(core.solve(b))
    if not np.isfinite(d).all():
        return None
    d[statics.velocities] = 0.0
    reach = np.abs(np.divide(d, statics.scale, out=np.zeros_like(d), where=statics.scale > 0.0)).max(initial=0.0)
    if reach < 1e-6:
        return None
    return core.trouble(t, y + min(1.0, 0.5 / reach) * d) or None


def _where(statics: Statics, y: Array, t: float) -> str:
    """Where the step that Newton's method still wants is largest."""
    core = statics.compiled.core
    try:
        d = np.asarray(core.solve(core.rhs(t, np.ascontiguousarray(y))))
    except RuntimeError:  # its matrix is singular there
        return "everywhere"
    if not np.isfinite(d).all():
        return "everywhere"
    size = np.divide(np.abs(d), statics.scale, out=np.zeros_like(d), where=statics.scale > 0.0)
    worst = int(np.argmax(size))
    for rod, its in zip(statics.compiled.system.rods, statics.compiled.layouts(), strict=True):
        for at, s in [*zip(its.x, rod.fractions, strict=True), *zip(its.p, rod.mesh.frames, strict=True)]:
            if at >= 0 and at <= worst < at + 4:
                return f"at s = {s:.3g} of rod {rod.name!r}"
    offsets = [core.offset(i) for i in range(len(statics.compiled.system.bodies))]
    i = int(np.searchsorted(offsets, worst, side="right")) - 1
    return f"at body {statics.compiled.system.bodies[i].name!r}" if i >= 0 else "everywhere"
