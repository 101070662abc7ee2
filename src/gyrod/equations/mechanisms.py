"""Bodies with joints: the tree, the loops, which rows of them are redundant, and the start.

The core gets joints in principal axes, links (parents first) and cut joints with the rows that are to be kept. Which
rows are redundant is decided here, once, before anything moves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod import _core
from gyrod._check import Array
from gyrod.equations.signals import INPUTS, Signals, checked
from gyrod.model import Distance, Joint, ModelError, System
from gyrod.model.attachments import RodEndPlace
from gyrod.model.errors import GROUND
from gyrod.model.expressions import Expression
from gyrod.model.samples import Samples

if TYPE_CHECKING:
    from scipy.sparse import csr_array


#: Singular values below this fraction of the largest count as zero.
RANK = 1e-8
#: Rows of a loop below this fraction of what they are for a free body are rounding.
NOISE = 1e-12
#: Configurations at which the rank of the loops is looked at, besides the initial one.
PROBES = 4
#: Iterations that close the loops there.
ITERATIONS = 30

#: Kinds of the velocities of a free body.
FREE = ("velocity", "velocity", "velocity", "spin", "spin", "spin")


def joined(system: System) -> bool:
    """Whether bodies of an assembled system are joined by more than ball joints to ground, one each: rods count too."""
    return len(system.joints) != len(system.fixed_points) or bool(hosted(system)) or system.linked


def hosted(whole: System) -> dict[tuple[str, int], RodEndPlace]:
    """Ends of rods of an assembled system that bodies hold."""
    return {key: place for key, place in whole.rod_ends.items() if place.host != GROUND}


@dataclass(frozen=True, repr=False)
class Mobility:
    """What joints leave and what they say twice; print it.

    >>> from gyrod.model import Body, Revolute, System
    >>> arm = Body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(1, 0, 0))
    >>> hinges = [Revolute("ground", "arm", at=(0, 0, z), axis=(0, 0, 1)) for z in (0.0, 1.0)]
    >>> print(System(bodies=[arm], joints=hinges).mobility())
    1 degree of freedom: 6 of 1 body - 10 constraints + 5 redundant
    redundant: joints[1], Revolute('ground', 'arm'): 5 of 5
    """

    #: Degrees of freedom.
    freedoms: int
    #: Number of redundant constraints.
    redundant: int
    #: Number of constraints.
    rows: int
    #: Number of bodies.
    bodies: int
    #: Redundant rows of each joint that has some, by its label.
    by_joint: dict[str, int] = field(default_factory=dict)
    _of: dict[str, int] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        def many(n: int, word: str, plural: str) -> str:
            return f"{n} {word if n == 1 else plural}"

        text = (
            f"{many(self.freedoms, 'degree', 'degrees')} of freedom: {6 * self.bodies} of "
            f"{many(self.bodies, 'body', 'bodies')} - {many(self.rows, 'constraint', 'constraints')}"
        )
        if not self.redundant:
            return text
        lines = [f"redundant: {label}: {n} of {self._of[label]}" for label, n in self.by_joint.items()]
        return "\n".join([f"{text} + {self.redundant} redundant", *lines])

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Mechanism:
    """Joints, links and cuts of a system as the core takes them."""

    joints: list[_core.Joint]
    links: list[_core.Link]
    cuts: list[int]
    #: Rows of each cut that the core gets, and how many of them are independent beside those of the cuts before.
    kept: list[list[int]]
    ranks: list[int]
    #: Independent rows at the start, for equations that cannot choose again.
    fixed: list[list[int]] = field(default_factory=list)
    #: Number of degrees of freedom.
    freedoms: int = 0

    def tree(self, *, fixed: bool = False) -> _core.JointTree:
        """What the core's constructor wants."""
        kept, ranks = (self.fixed, [len(k) for k in self.fixed]) if fixed else (self.kept, self.ranks)
        return _core.JointTree(joints=self.joints, links=self.links, cuts=self.cuts, kept=kept, ranks=ranks)

    @property
    def overconstrained(self) -> bool:
        """Whether rows are redundant where the loops are closed, and only there."""
        return self.kept != self.fixed


def describe(system: System, axes: Array, signals: Signals) -> Mechanism:
    """Joints in principal axes and the tree; all rows of the cut joints are kept at first."""
    index = {name: i for i, name in enumerate(system.names)} | {GROUND: -1}
    number = {id(joint): i for i, joint in enumerate(system.joints)}
    frames = [*axes, np.eye(3)]
    joints = []
    for joint in system.joints:
        a, b = index[joint.a], index[joint.b]
        place = system.attachment(joint)
        A, B = frames[a], frames[b]
        law = None if joint.law is None else drive(joint, signals)
        joints.append(
            _core.Joint(
                kind=joint.kind, a=a, b=b, at_a=A.T @ place.at_a, at_b=B.T @ place.at_b, frame_a=A.T @ place.frame_a,
                frame_b=B.T @ place.frame_b, parameter=joint.lead or place.length, drive=law,
            )
        )  # fmt: skip
    tree = system.tree()
    link = {name: i for i, name in enumerate(tree.order)}
    links = []
    for name in tree.order:
        parent, carrier = tree.parent[name], tree.joint[name]
        up = -1 if parent is None or parent == GROUND else link[parent]
        links.append(_core.Link(body=index[name], parent=up, joint=-1 if carrier is None else number[id(carrier)]))
    cuts = [number[id(joint)] for joint in tree.cuts]
    kept = [list(range(system.joints[j].constraints)) for j in cuts]
    return Mechanism(joints, links, cuts, kept, [len(k) for k in kept])


def pairs(system: System) -> NDArray[np.intp]:
    """Bodies that each joint connects, (j, 2); -1 is ground."""
    index = {name: i for i, name in enumerate(system.names)}
    rows = [[index.get(name, -1) for name in joint.bodies] for joint in system.joints]
    return np.array(rows, dtype=np.intp).reshape(-1, 2)


def kinds(system: System) -> dict[str, tuple[str, ...]]:
    """Kinds of the velocities of each body in the null-space forms."""
    tree = system.tree()
    found = {}
    for name, joint in tree.joint.items():
        found[name] = FREE if joint is None else () if joint.driven else _left(joint)
    return found


def _left(joint: Joint) -> tuple[str, ...]:
    """Kinds of the velocities that a joint leaves: of its coordinates, or of the turning of a ball, which has none."""
    turns = (name.startswith("angle") for name in joint.coordinate_names)
    return tuple("spin" if turn else "velocity" for turn in turns) or joint.free * ("spin",)


def springs(system: System, mechanism: Mechanism) -> list[_core.ForceElement]:
    """Springs, dampers and friction of joints as the core's forces; of joints that are led too, against the drive."""
    found: list[_core.ForceElement] = []
    for joint, place in zip(system.joints, mechanism.joints, strict=True):
        laws = ("stiffness", "damping", "rest", "friction")
        table = np.zeros((len(laws), len(joint.coordinate_names)))
        for row, law in zip(table, laws, strict=True):
            row[:] = getattr(joint, law, 0.0)
        slip = getattr(joint, "slip", 1.0)
        for number, (k, c, rest, friction) in enumerate(table.T.tolist()):
            if k or c or friction:
                found.append(
                    _core.JointSpring(
                        joint=place, coordinate=number, stiffness=k, damping=c, rest=rest, friction=friction, slip=slip
                    )
                )
    return found


# --- drives ----------------------------------------------------------------------------------------------------------


def drive(joint: Joint, signals: Signals) -> _core.Signal:
    """What leads a joint; derivatives of functions that do not bring them are found numerically."""
    given = getattr(joint, joint.leading)
    label = f"{joint.label}: {joint.leading}"
    f, *rates = given if isinstance(given, tuple) else (given,)

    def value(function: Callable[[float], object], t: float) -> float:
        return float(checked(label, t, lambda: function(t), (1,))[0])

    if rates and None not in rates:
        _check_derivatives(label, [lambda t, g=g: value(g, t) for g in (f, *rates)])  # type: ignore[misc]
    if not callable(f) or isinstance(f, Expression | Samples | INPUTS):
        return signals.signal(label, f, 1)
    if rates and None not in rates:
        return signals.signal(label, f, 1, law=tuple((label, g) for g in rates))
    return signals.signal(label, f, 1, points=7, step=_difference_step(lambda t: value(f, t)))


def _check_derivatives(label: str, law: list[Callable[[float], float]]) -> None:
    """Refuse derivatives that differences contradict at most of a few times."""
    h = 1e-4
    for order in (1, 2):
        wrong, seen = 0, 0
        for t in (0.3, 0.7, 1.9):
            try:
                numeric = (law[order - 1](t + h) - law[order - 1](t - h)) / (2.0 * h)
                given = law[order](t)
            except RuntimeError:  # reported when the run comes there
                continue
            seen += 1
            # Fast drives are beyond the reach of these differences: only what is far off counts.
            wrong += abs(numeric - given) > 0.05 * max(abs(numeric), abs(given)) + 1e-6
        if seen and wrong == seen:
            raise ModelError(
                f"{label}[{order}] is not the time derivative of {label.split(': ')[-1]}[{order - 1}]: at t = {t} it "
                f"is {given:.6g}, differences give {numeric:.6g}; mend it, or give the function alone."
            )


def _weights(x: Array) -> tuple[Array, Array]:
    """Weights of the first and second derivative at 0 from values at x."""
    V = np.vander(x, increasing=True).T
    return np.linalg.solve(V, np.eye(len(x))[1]), np.linalg.solve(V, 2.0 * np.eye(len(x))[2])


def _difference_step(f: Callable[[float], float]) -> float:
    """The step whose second differences agree best with those of half the step."""
    best, chosen = np.inf, 1e-3
    _, curved = _weights(np.arange(7.0) - 3.0)
    times = (0.3, 0.7, 1.9)
    for h in (3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5):
        miss = 0.0
        for t in times:
            try:
                a, b = (curved @ [f(t + (i - 3) * s) for i in range(7)] / s**2 for s in (h, 0.5 * h))
            except RuntimeError:  # a function that fails there is reported when the run comes there
                continue
            miss = max(miss, abs(float(a - b)))
        if miss < best:
            best, chosen = miss, h
    return chosen


# --- redundancy ------------------------------------------------------------------------------------------------------

#: A null-space core, the state at the start, and which of its entries are positions.
Probe = tuple[_core.System, Array, NDArray[np.bool_]]


def reduce_loops(
    system: System, mechanism: Mechanism, make: Callable[[Mechanism], Probe], skew: Callable[[], bool] | None
) -> tuple[Mechanism, Mobility]:
    """Find how many rows of the cut joints are independent, and keep those that the equations need.

    The rank is the largest at the start and at some configurations that the mechanism reaches from there: a start in a
    singular position does not hide constraints. If it is no larger beside them, where the loops are open, rows that
    are dependent once are so always, and independent ones are kept. Otherwise loops are overconstrained: all rows are
    kept with their rank, and the core finds combinations that are independent where it is. ``skew`` says this of the
    same joints without drives, which hold what could be seen; None if there are no drives.
    """
    rows = sum(joint.constraints for joint in system.joints)
    if not mechanism.cuts:
        freedoms = 6 * len(system.bodies) - rows
        return replace(mechanism, freedoms=freedoms), Mobility(freedoms, 0, rows, len(system.bodies))
    places = [(c, r) for c, kept in enumerate(mechanism.kept) for r in kept]
    bare, ends = make(_keep(mechanism, [])), pairs(system)
    y0 = _reached(bare, ends, bare[1])  # the start may be open, or closed to some digits only
    y0 = bare[1] if y0 is None else y0
    table = bare[0].joint_rows(0.0, bare[0].motions(np.zeros(1), y0[None], False)[0])
    least = NOISE * np.concatenate([np.linalg.norm(table[table[:, 0] == cut, 4:], axis=1) for cut in mechanism.cuts])
    G = bare[0].loop_gradient(0.0, y0, True)
    chosen, best = _independent(G, least)
    rng = np.random.default_rng(0)
    for _ in range(PROBES if len(chosen) < len(places) else 0):
        core, _, positions = make(_keep(mechanism, [places[i] for i in chosen]))
        near = _perturbed((core, y0, positions), rng)
        if near is None:
            break
        y = _reached(bare, ends, near)
        # A singular position that cannot be left (a rope at full length): rows hold there that nothing shows but a gap.
        if y is None or np.abs(y - y0)[positions].max() < 0.1 * np.abs(near - y0)[positions].max():
            y = near
        there = bare[0].loop_gradient(0.0, y, True)
        found, quality = _independent(there, least)
        if len(found) > len(chosen) or (len(found) == len(chosen) and quality > 10.0 * best):
            G, chosen, best = there, found, quality
    fixed = _keep(mechanism, [places[i] for i in chosen]).kept
    kept, ranks = fixed, [len(k) for k in fixed]
    if len(chosen) < len(places) and (_opens(bare, len(chosen), least, rng) if skew is None else skew()):
        ranks = _ranks(G, least, [len(k) for k in mechanism.kept])
        kept = [k if rank else [] for k, rank in zip(mechanism.kept, ranks, strict=True)]
    lost = {cut: len(k) - rank for cut, k, rank in zip(mechanism.cuts, mechanism.kept, ranks, strict=True)}
    labels, redundant = system.joint_labels, sum(lost.values())
    freedoms = 6 * len(system.bodies) - rows + redundant
    by_joint = {labels[j]: n for j, n in sorted(lost.items()) if n}
    of = {labels[j]: system.joints[j].constraints for j, n in lost.items() if n}
    reduced = replace(mechanism, kept=kept, ranks=ranks, fixed=fixed, freedoms=freedoms)
    return reduced, Mobility(freedoms, redundant, rows, len(system.bodies), by_joint, of)


def undriven(system: System) -> System | None:
    """The bodies and joints of a system without its drives, or None if it has none."""
    if not any(joint.driven for joint in system.joints):
        return None
    places = tuple(system.attachment(joint) for joint in system.joints)
    joints = [
        joint if not joint.driven else joint.with_(length=place.length) if isinstance(joint, Distance)
        else joint.with_(drive=None)
        for joint, place in zip(system.joints, places, strict=True)
    ]  # fmt: skip
    return System(bodies=system.bodies, joints=joints, attachments=places)


def _keep(mechanism: Mechanism, rows: list[tuple[int, int]]) -> Mechanism:
    kept: list[list[int]] = [[] for _ in mechanism.cuts]
    for c, r in sorted(rows):
        kept[c].append(r)
    return replace(mechanism, kept=kept, ranks=[len(k) for k in kept])


def _parts(G: Array) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows and columns of loops that share no velocity: cost grows with their number, not with its cube.

    Each column is in one part; rows without an entry are in none.
    """
    import scipy.sparse

    entries = scipy.sparse.csr_array(G != 0.0)
    graph = scipy.sparse.block_array([[None, entries], [entries.T, None]])
    count, labels = scipy.sparse.csgraph.connected_components(graph, directed=False)
    sides = (labels[: len(G)], labels[len(G) :])
    rows, cols = (
        np.split(np.argsort(side, kind="stable"), np.searchsorted(np.sort(side), np.arange(1, count))) for side in sides
    )
    return [part for part in zip(rows, cols, strict=True) if len(part[1])]


def _independent(G: Array, least: Array, largest: float = 0.0) -> tuple[list[int], float]:
    """Rows that span the others, and the smallest singular value that was counted, relative to the largest.

    Rows are rounding below ``least``, and below a part of the ``largest`` one, or of another that there is.
    """
    import scipy.linalg

    sizes = np.linalg.norm(G, axis=1)
    counted = sizes > np.maximum(RANK * sizes.max(initial=largest), least)
    scaled = G / np.where(counted, sizes, np.inf)[:, None]
    # Of equal rows the first is taken, whatever the rounding of the factorisation: runs repeat to the last bit.
    scaled = scaled * (1.0 - 1e-6 * np.arange(len(G)) / len(G))[:, None]
    chosen, quality = [], np.inf
    for rows, cols in _parts(scaled):
        if not len(rows):
            continue
        _, R, order = scipy.linalg.qr(scaled[np.ix_(rows, cols)].T, mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(R))
        rank = int(np.sum(diagonal > RANK * diagonal[0]))
        chosen += [int(i) for i in rows[order[:rank]]]
        quality = min(quality, float(diagonal[rank - 1] / diagonal[0]))
    return sorted(chosen), quality if chosen else 0.0


def _ranks(G: Array, least: Array, sizes: list[int]) -> list[int]:
    """Of the rows of each cut, how many are independent of each other and of those of the cuts before."""
    owners, ranks = np.repeat(np.arange(len(sizes)), sizes), np.zeros(len(sizes), dtype=int)
    largest = float(np.linalg.norm(G, axis=1).max(initial=0.0))
    for rows, cols in _parts(G):
        before = 0
        for cut in np.unique(owners[rows]):
            upto = rows[owners[rows] <= cut]
            rank = len(_independent(G[np.ix_(upto, cols)], least[upto], largest)[0])
            ranks[cut] += rank - before
            before = rank
    return ranks.tolist()


def _moved(probe: Probe, y: Array, nu: Array) -> Array:
    """A state with its positions moved by velocities of the tree."""
    core, _, positions = probe
    moving = core.complete(0.0, np.ascontiguousarray((core.nullspace(0.0, y) @ nu).reshape(-1, 6)), y)
    # Only positions move: velocities of the state go back to what they were.
    step = np.where(positions, core.rhs(0.0, moving), 0.0)
    return np.asarray(core.project(np.ascontiguousarray(y + step)))


def _perturbed(probe: Probe, rng: np.random.Generator) -> Array | None:
    """Another configuration: a short way along a motion that the kept rows allow."""
    core, y, _ = probe
    G = core.loop_gradient(0.0, y, False)
    if len(G) == G.shape[1]:
        return None
    nu = np.zeros(G.shape[1])
    for rows, cols in _parts(G):
        # The kept rows are independent: their null space are the last columns of Q.
        T = np.linalg.qr(G[np.ix_(rows, cols)].T, mode="complete")[0][:, len(rows) :]
        nu[cols] = T @ rng.normal(size=T.shape[1])
    nu *= 0.1 / np.abs(nu).max()
    return _moved(probe, y, nu)


def _reached(bare: Probe, ends: NDArray[np.intp], y: Array) -> Array | None:
    """The next configuration at which all joints meet, by damped least squares; None if there is none near."""
    core, y0, _ = bare
    best, found = np.inf, None
    for _ in range(ITERATIONS):
        motions = core.motions(np.zeros(1), y[None], False)[0]
        size = max(1.0, float(np.abs(motions[:, :3]).max()))
        if not np.isfinite(motions).all() or size > 10.0 * max(1.0, float(np.abs(y0).max())):
            return None
        g, _, _, G = gradient(core, 0.0, motions, ends)
        gap = float(np.abs(g).max(initial=0.0)) / size
        if gap >= 0.5 * best and best < 1e-11:
            break
        if gap < best:
            best, found = gap, y
        if gap < 1e-14:
            break
        T = core.nullspace(0.0, y).reshape(len(motions), 2, 3, -1)
        T[:, 1] = motions[:, 3:12].reshape(-1, 3, 3) @ T[:, 1]
        J = np.asarray(G @ T.reshape(-1, T.shape[-1]))
        nu = np.zeros(J.shape[1])
        for rows, cols in _parts(J):
            A, b = J[np.ix_(rows, cols)], g[rows]
            # Damped by the gap: where the rank is not full, nothing else says how far to go.
            damping = np.sqrt(np.linalg.norm(b) * np.linalg.norm(A)) * np.eye(len(cols))
            right = np.concatenate([-b, np.zeros(len(cols))])
            nu[cols] = np.linalg.lstsq(np.vstack([A, damping]), right, rcond=None)[0]
        y = _moved(bare, y, nu)
    return found if best < 1e-11 else None


def _opens(bare: Probe, rank: int, least: Array, rng: np.random.Generator) -> bool:
    """Whether more rows are independent where the loops are open: of overconstrained mechanisms."""
    core, y, _ = bare
    n: int = core.loop_gradient(0.0, y, True).shape[1]
    for _ in range(2):
        there = _moved(bare, y, 0.1 * rng.uniform(-1.0, 1.0, size=n))
        if len(_independent(core.loop_gradient(0.0, there, True), least)[0]) > rank:
            return True
    return False


# --- assembling ------------------------------------------------------------------------------------------------------


def to_principal(x: Array, R: Array, v: Array, Omega: Array, axes: Array) -> Array:
    """Motions of the bodies in the user's axes as the core's (b, 18) in principal ones."""
    frames = R @ axes
    spins = np.einsum("bji,bj->bi", axes, Omega)
    return np.ascontiguousarray(np.concatenate([x, frames.reshape(-1, 9), v, spins], axis=1))


def gradient(
    core: _core.System, t: float, motions: Array, pairs: NDArray[np.intp]
) -> tuple[Array, Array, Array, csr_array]:
    """g, dg/dt at rest, g'' without accelerations of all rows, and their sparse gradient by twists in space axes."""
    import scipy.sparse

    table = core.joint_rows(t, motions)
    joint = table[:, 0].astype(int)
    rows, cols, data = [], [], []
    for side in (0, 1):
        body = pairs[joint, side]
        there = np.flatnonzero(body >= 0)
        rows.append(np.repeat(there, 6))
        cols.append((6 * body[there, None] + np.arange(6)).ravel())
        data.append(table[there, 4 + 6 * side : 10 + 6 * side].ravel())
    shape = (len(table), 6 * len(motions))
    G = scipy.sparse.csr_matrix((np.concatenate(data), (np.concatenate(rows), np.concatenate(cols))), shape=shape)
    return table[:, 1], table[:, 2], table[:, 3], G


# --- what went wrong -------------------------------------------------------------------------------------------------

#: Bodies of the largest mechanism that is looked at for this.
LOOKED_AT = 300
#: A loop is open beyond this part of the size of the mechanism.
OPEN = 1e-9
#: A singular value below this part of the largest, or of the ratio at the start, is a singular position.
SINGULAR, OF_START = 1e-6, 2e-2


def blocked(system: System, core: _core.System, t: float, motions: Array, start: Array, rank: int) -> str | None:
    """Which loop is open, or next to a singular position, at given motions (b, 18) of the bodies; None: none is.

    ``rank`` is the number of independent rows of all joints on the way.
    """
    cuts = system.tree().cuts
    if not cuts or len(system.bodies) > LOOKED_AT or not np.isfinite(motions).all():
        return None
    labels, ends = system.joint_labels, pairs(system)
    closing = [i for i, joint in enumerate(system.joints) if any(joint is cut for cut in cuts)]
    size = max(1.0, float(np.abs(motions[:, :3]).max()))

    def values(time: float, at: Array) -> tuple[Array, Array, Array]:
        g, _, _, G = gradient(core, time, at, ends)
        owner = core.joint_rows(time, at)[:, 0].astype(int)
        rows = G.toarray().reshape(len(g), -1, 2, 3)
        rows[:, :, 1] /= size
        U, s, _ = np.linalg.svd(rows.reshape(len(g), -1), full_matrices=False)
        by_joint = np.array([[np.abs(x[owner == j]).max(initial=0.0) for j in closing] for x in (g, *U.T)])
        return by_joint[0], s, by_joint[1:]

    gaps, s, shares = values(t, motions)
    if gaps.max() > OPEN * size:
        return f"{labels[closing[int(gaps.argmax())]]} is open by {gaps.max():.3g} m or rad"
    first = values(0.0, start)[1]
    if s[rank - 1] > max(SINGULAR, OF_START * first[rank - 1] / first[0]) * s[0]:
        return None
    where = labels[closing[int(shares[rank - 1].argmax())]]
    return f"the loop that {where} closes is stretched, folded or locked there, a singular position"


#: What to do about it.
BLOCKED = "Keep drives and lengths within reach of the loop, or start elsewhere"
