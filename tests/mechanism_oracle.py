"""Mechanisms by brute force: a reference for the core, written from the geometry of the joints alone.

A motion through a configuration is a Taylor polynomial of second order in the time tau since then (a "jet": value,
first derivative, half of the second), x + v tau and R exp(tau Omega) for each body. Every joint is a list of scalars
that vanish, every spring one that is stretched; their jets along unit twists are gradients, along the motion itself
the accelerations that no force explains. The rest is dense linear algebra with singular values.

Twists are (v in space, Omega in body axes), body after body in the order of the system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gyrod import model as gd
from gyrod import rotations as ro

#: Singular values of the gradient below this fraction of the largest are zeros.
RANK = 1e-9

# --- jets: arrays (3, ...) -------------------------------------------------------------------------------------------


def constant(value):
    value = np.asarray(value, dtype=float)
    jet = np.zeros((3, *value.shape))
    jet[0] = value
    return jet


def product(subscripts, a, b):
    """Of each pair of orders whose sum is at most two, all in one call."""
    e = np.einsum(subscripts, a[[0, 0, 1, 0, 1, 2]], b[[0, 1, 0, 2, 1, 0]])
    return np.array([e[0], e[1] + e[2], e[3] + e[4] + e[5]])


def root(a):
    r0 = np.sqrt(a[0])
    r1 = a[1] / (2.0 * r0)
    return np.stack([r0, r1, (a[2] - r1**2) / (2.0 * r0)])


def angle(s, c):
    """Angle whose sine and cosine are proportional to s and c: its rate is (c s' - s c') / (s² + c²)."""
    d0, d1 = s[0] ** 2 + c[0] ** 2, 2.0 * (s[0] * s[1] + c[0] * c[1])
    r0 = (c[0] * s[1] - s[0] * c[1]) / d0
    r1 = (2.0 * (c[0] * s[2] - s[0] * c[2]) - r0 * d1) / d0
    return np.array([np.arctan2(s[0], c[0]), r0, 0.5 * r1])


def derivatives(function, t):
    """Value, first and second derivative of a drive: a number, a function or three of them."""
    if callable(function):
        h, k = 2e-2, np.arange(-4, 5)
        f = np.array([float(function(t + i * h)) for i in k])
        first = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
        second = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
        return f[4], first @ f / h, second @ f / h**2
    if np.ndim(function) == 0 and not isinstance(function, (tuple, list)):
        return float(function), 0.0, 0.0
    return tuple(float(f(t)) for f in function)


# --- joints ----------------------------------------------------------------------------------------------------------


def hat(w):
    w = np.asarray(w, dtype=float)
    W = np.zeros((*w.shape, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        W[..., k, j], W[..., j, k] = w[..., i], -w[..., i]
    return W


def unit(a):
    return np.asarray(a, dtype=float) / np.linalg.norm(a)


@dataclass(frozen=True)
class Side:
    """One partner of a joint: number of the body (None for ground), joint point and joint axes in its own axes."""

    body: int | None
    at: np.ndarray
    frame: np.ndarray


@dataclass(frozen=True)
class Geometry:
    """A joint with both its sides; joint axes are columns, the third is the axis."""

    joint: Any
    a: Side
    b: Side


def geometry(system, joint) -> Geometry:
    """Where the joint sits on both partners: all that is given in space is taken over at the start."""
    names = {n: i for i, n in enumerate(system.names)}
    x = {n: system.body(n).position for n in names} | {"ground": np.zeros(3)}
    R = {n: system.body(n).matrix for n in names} | {"ground": np.eye(3)}

    def given(field):
        value = getattr(joint, field, None)
        return None if value is None else np.asarray(value, dtype=float)

    def both(space, own_a, own_b, place_a, place_b, take_a, take_b):
        """The same object of space in the axes of a and b: given in space, or by one of them, or by both."""
        if own_a is None and own_b is None:
            return take_a(space), take_b(space)
        if own_b is None:
            return own_a, take_b(place_a(own_a))
        if own_a is None:
            return take_a(place_b(own_b)), own_b
        return own_a, own_b

    a, b = joint.a, joint.b
    points = [lambda p, n=n: x[n] + R[n] @ p for n in (a, b)]
    locals_ = [lambda p, n=n: R[n].T @ (p - x[n]) for n in (a, b)]
    kind = type(joint).__name__
    if kind == "Distance":
        at_a = given("at_a") if given("at_a") is not None else locals_[0](given("at"))
        at_b = given("at_b") if given("at_b") is not None else locals_[1](given("to"))
    else:
        at_a, at_b = both(given("at"), given("at_a"), given("at_b"), *points, *locals_)
    turns = [lambda p, n=n: R[n] @ p for n in (a, b)]
    unturns = [lambda p, n=n: R[n].T @ p for n in (a, b)]
    frames = [R[a].T, R[b].T]
    if kind == "Universal":
        first = turns[0](given("axis_a")) if given("axis_a") is not None else given("axis")
        second = turns[1](given("axis_b")) if given("axis_b") is not None else given("axis2")
        e3, e1 = unit(first), unit(second)
        E = np.column_stack([unit(e1 - (e1 @ e3) * e3), np.zeros(3), e3])
        E[:, 1] = np.cross(E[:, 2], E[:, 0])
        F = np.column_stack([e1, np.zeros(3), unit(e3 - (e3 @ e1) * e1)])
        F[:, 1] = np.cross(F[:, 2], F[:, 0])
        frames = [R[a].T @ E, R[b].T @ F]
    elif given("axis") is not None or given("axis_a") is not None or given("axis_b") is not None:
        own = both(given("axis"), given("axis_a"), given("axis_b"), *turns, *unturns)
        axis_a, axis_b = (unit(turns[i](own[i])) for i in (0, 1))
        # Any first axis serves: angles count from the start.
        e1 = unit(np.cross(axis_a, np.eye(3)[np.argmin(np.abs(axis_a))]))
        E = np.column_stack([e1, np.cross(axis_a, e1), axis_a])
        w = np.cross(axis_a, axis_b)
        s = np.linalg.norm(w)
        smallest = np.eye(3) if s == 0.0 else ro.matrix_from_quaternion(ro.exp(w / s * np.arctan2(s, axis_a @ axis_b)))
        frames = [R[a].T @ E, R[b].T @ smallest @ E]
    return Geometry(joint, Side(names.get(a), at_a, frames[0]), Side(names.get(b), at_b, frames[1]))


#: Which of the scalars of `scalars` vanish.
HELD = {
    "Fixed": ("u1", "u2", "u3", "turn1", "turn2", "turn3"),
    "Spherical": ("u1", "u2", "u3"),
    "Revolute": ("u1", "u2", "u3", "tilt1", "tilt2"),
    "Prismatic": ("u1", "u2", "turn1", "turn2", "turn3"),
    "Cylindrical": ("u1", "u2", "tilt1", "tilt2"),
    "Planar": ("u3", "tilt1", "tilt2"),
    "Universal": ("u1", "u2", "u3", "cross"),
    "Helical": ("u1", "u2", "tilt1", "tilt2", "screw"),
    "Distance": ("stretch",),
}
#: The scalars that are coordinates.
COORDINATES = {
    "Fixed": (),
    "Spherical": (),
    "Revolute": ("angle",),
    "Prismatic": ("u3",),
    "Cylindrical": ("angle", "u3"),
    "Planar": ("u1", "u2", "angle"),
    "Universal": ("first", "second"),
    "Helical": ("angle",),
    "Distance": ("length",),
}


def scalars(g: Geometry, Pa, Ea, Pb, Eb) -> dict[str, Any]:
    """Jets (3, m) of everything that a joint may hold or measure, from points and joint axes of both sides."""
    d = Pb - Pa
    u = product("omki,omk->omi", Ea, d)  # offset in the axes of a
    C = product("omki,omkj->omij", Ea, Eb)  # cosines between the axes of a and b
    found = {f"u{i + 1}": u[..., i] for i in range(3)}
    found["tilt1"], found["tilt2"] = C[..., 0, 2], C[..., 1, 2]
    for i, (j, k) in enumerate([(2, 1), (0, 2), (1, 0)]):
        found[f"turn{i + 1}"] = 0.5 * (C[..., j, k] - C[..., k, j])
    found["cross"] = C[..., 2, 0]
    kind = type(g.joint).__name__
    if kind == "Universal":  # a turn about the third axis of a, then one about the first of b
        found["first"] = angle(C[..., 1, 0], C[..., 0, 0])
        found["second"] = angle(C[..., 2, 1], C[..., 2, 2])
    if "angle" in COORDINATES[kind]:
        found["angle"] = angle(C[..., 1, 0] - C[..., 0, 1], C[..., 0, 0] + C[..., 1, 1])
    if kind == "Distance":
        found["length"] = root(product("omi,omi->om", d, d))
    if kind == "Helical":
        lead = g.joint.pitch / (2.0 * np.pi)
        screw = found["u3"] - lead * found["angle"]
        screw[0] -= lead * 2.0 * np.pi * np.round(screw[0] / (lead * 2.0 * np.pi))  # whole turns
        found["screw"] = screw
    return found


# --- states ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """Positions (b, 3), matrices (b, 3, 3), velocities (b, 3) in space and Omega (b, 3) in body axes at a time.

    A path has times (m,) and as many of each, in front; gaps are asked of all of them together.
    """

    t: Any
    x: np.ndarray
    R: np.ndarray
    v: np.ndarray
    Omega: np.ndarray

    @property
    def twists(self):
        both = np.concatenate([self.v, self.Omega], axis=-1)
        return both.reshape(*both.shape[:-2], -1)


def start(system) -> State:
    bodies = system.bodies
    return State(
        0.0,
        np.array([b.position for b in bodies]),
        np.array([b.matrix for b in bodies]),
        np.array([system.initial_velocities[b.name] for b in bodies]),
        np.array([b.angular_velocity for b in bodies]),
    )


def state_of(compiled, t, y) -> State:
    """The state that the core means by its unknowns."""
    x, R, v, Omega = compiled.motions(y, t)
    return State(t, x[0], R[0], v[0], Omega[0])


def path_of(motion, rows) -> State:
    """States of some rows of a motion together."""
    return State(motion.t[rows], *motion.compiled.motions(motion.y[rows], motion.t[rows]))


@dataclass(frozen=True)
class Solution:
    """Accelerations (b, 6) and reactions: force and torque on b at its joint point in space axes, per joint."""

    accelerations: np.ndarray
    force: list[np.ndarray]
    torque: list[np.ndarray]
    #: Whether redundant constraints leave the reaction of a joint determined.
    unique: list[bool]
    #: Forces of all constraints on all twists, G' lambda, (6 b,).
    constraint: np.ndarray
    redundant: int
    freedoms: int


@dataclass(frozen=True)
class Oracle:
    """A system and all that can be asked about it."""

    system: Any
    geometries: list[Geometry] = field(default_factory=list)

    @classmethod
    def of(cls, system) -> Oracle:
        return cls(system, [geometry(system, j) for j in system.joints])

    @property
    def n(self):
        return 6 * len(self.system.bodies)

    # --- paths

    def _side(self, side: Side, s: State, V):
        """Jets of a joint's point (3, m, 3) and axes (3, m, 3, 3) for m motions with the twists V, (m, 6 b)."""
        m = len(V)
        if side.body is None:
            x, R = constant(np.zeros((m, 3))), constant(np.broadcast_to(np.eye(3), (m, 3, 3)))
        else:
            w = V[:, 6 * side.body : 6 * side.body + 6]
            x, R, R0 = np.zeros((3, m, 3)), np.empty((3, m, 3, 3)), s.R[..., side.body, :, :]
            x[0], x[1] = s.x[..., side.body, :], w[:, :3]
            W = hat(w[:, 3:])
            R[0], R[1] = R0, R0 @ W
            R[2] = 0.5 * R[1] @ W
        return x + R @ side.at, R @ side.frame

    def joint_scalars(self, g: Geometry, s: State, V, flow=False):
        """All scalars of a joint along motions; ``flow``: its drive goes on, otherwise time stands still."""
        found = scalars(g, *self._side(g.a, s, V), *self._side(g.b, s, V))
        kind, joint = type(g.joint).__name__, g.joint
        given = joint.length if kind == "Distance" else getattr(joint, "drive", None)
        if kind == "Distance" and given is None:
            given = np.linalg.norm(self._rest_points(g)[0] - self._rest_points(g)[1])
        if given is not None:
            value, first, second = np.array([derivatives(given, t) for t in np.atleast_1d(s.t)]).T
            goal = np.array([value, first, 0.5 * second] if flow else [value, 0.0 * value, 0.0 * value])
            measured = {"Distance": "length", "Prismatic": "u3"}.get(kind, "angle")
            gap = found[measured] - goal
            if measured == "angle":
                gap[0] = (gap[0] + np.pi) % (2.0 * np.pi) - np.pi
            found["stretch" if kind == "Distance" else "driven"] = gap
        return found

    def _rest_points(self, g: Geometry):
        bodies = self.system.bodies
        return [
            side.at if side.body is None else bodies[side.body].position + bodies[side.body].matrix @ side.at
            for side in (g.a, g.b)
        ]

    def held(self, g: Geometry, s: State, V, flow=False):
        """Jets of what a joint holds, (3, m, rows)."""
        found = self.joint_scalars(g, s, V, flow)
        rows = HELD[type(g.joint).__name__] + (("driven",) if "driven" in found else ())
        return np.stack([found[r] for r in rows], axis=-1)

    def _all(self, s: State, V, flow=False):
        if not self.geometries:
            return np.zeros((3, len(V), 0))
        return np.concatenate([self.held(g, s, V, flow) for g in self.geometries], axis=-1)

    # --- constraints

    def rows(self) -> list[slice]:
        """Rows of each joint."""
        k, found = 0, []
        for g in self.geometries:
            driven = getattr(g.joint, "drive", None) is not None
            size = len(HELD[type(g.joint).__name__]) + driven
            found.append(slice(k, k + size))
            k += size
        return found

    def gaps(self, s: State):
        """Residuals of position and of velocity, (rows,) each; (m, rows) of a path."""
        jets = self._all(s, np.atleast_2d(s.twists), flow=True)
        return (jets[0], jets[1]) if np.ndim(s.t) else (jets[0, 0], jets[1, 0])

    def gradient(self, s: State):
        """G, (rows, 6 b)."""
        return self._all(s, np.eye(self.n))[1].T

    def demanded(self, s: State):
        """What G V must be: the rates of the drives, (rows,)."""
        return -self._all(s, np.zeros((1, self.n)), flow=True)[1, 0]

    def curvature(self, s: State):
        """Second derivative of what is held in the motion without acceleration, (rows,)."""
        return 2.0 * self._all(s, s.twists[None], flow=True)[2, 0]

    def coordinates(self, g: Geometry, s: State):
        """Coordinates of a joint and their rates, (k,) each."""
        found = self.joint_scalars(g, s, s.twists[None])
        jets = [found[c] for c in COORDINATES[type(g.joint).__name__]]
        return np.array([j[0, 0] for j in jets]), np.array([j[1, 0] for j in jets])

    # --- masses and forces

    def mass(self):
        M = np.zeros((self.n, self.n))
        for i, b in enumerate(self.system.bodies):
            M[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = b.mass * np.eye(3)
            M[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = b.inertia
        return M

    def _elastic(self, s: State, V):
        """All that is stretched: (jet, stiffness, damping, rest)."""
        names = {n: i for i, n in enumerate(self.system.names)}

        def sides(f):
            a, b = (Side(names.get(n), at, np.eye(3)) for n, at in ((f.a, f.at_a), (f.b, f.at_b)))
            return self._side(a, s, V), self._side(b, s, V)

        for f in self.system.forces:
            if isinstance(f, gd.SpringDamper):
                (Pa, _), (Pb, _) = sides(f)
                yield (
                    root(product("omi,omi->om", Pb - Pa, Pb - Pa)),
                    f.stiffness,
                    f.damping,
                    self.system.spring_length(f),
                )
            elif isinstance(f, gd.Bushing):
                (Pa, Ea), (Pb, _) = sides(f)
                u = product("omki,omk->omi", Ea, Pb - Pa)
                for i in range(3):
                    yield u[..., i], f.stiffness[i], f.damping[i], 0.0
        for g in self.geometries:
            names_ = COORDINATES[type(g.joint).__name__]
            k, c, rest = (
                np.broadcast_to(getattr(g.joint, field, 0.0), (len(names_),))
                for field in ("stiffness", "damping", "rest")
            )
            if np.any(k) or np.any(c):
                found = self.joint_scalars(g, s, V)
                for i, name in enumerate(names_):
                    yield found[name], k[i], c[i], rest[i]

    def forces(self, s: State):
        """Gravity, gyroscopic terms and everything that acts, on the twists, (6 b,)."""
        Q = np.zeros((len(self.system.bodies), 6))
        index = {n: i for i, n in enumerate(self.system.names)}
        for i, b in enumerate(self.system.bodies):
            Q[i, :3] += b.mass * self.system.gravity
            Q[i, 3:] -= np.cross(s.Omega[i], b.inertia @ s.Omega[i])
        for f in self.system.forces:
            if isinstance(f, (gd.Force, gd.Torque)):
                i = index[f.body]
                R = s.R[i]
                value = f.force if isinstance(f, gd.Force) else f.torque
                value = np.asarray(value(s.t) if callable(value) else value, dtype=float)
                body = value if f.frame == "body" else R.T @ value
                if isinstance(f, gd.Force):
                    Q[i, :3] += R @ body
                    Q[i, 3:] += np.cross(f.at, body)
                else:
                    Q[i, 3:] += body
            elif isinstance(f, gd.UserForce):
                i = index[f.body]
                state = gd.BodyState(s.x[i], s.R[i], s.v[i], s.Omega[i])
                Q[i] += np.concatenate([np.ravel(part) for part in f.function(s.t, state)])
        total = Q.ravel()
        for jet, k, c, rest in self._elastic(s, np.eye(self.n)):
            gradient = jet[1]
            total = total - (k * (jet[0, 0] - rest) + c * (gradient @ s.twists)) * gradient
        return total

    def kinetic(self, s: State):
        return 0.5 * s.twists @ self.mass() @ s.twists

    def potential(self, s: State):
        """Of gravity and of all that is stretched."""
        heights = sum(-b.mass * (self.system.gravity @ x) for b, x in zip(self.system.bodies, s.x, strict=True))
        stretched = self._elastic(s, np.zeros((1, self.n)))
        return heights + sum(0.5 * k * (jet[0, 0] - rest) ** 2 for jet, k, _, rest in stretched)

    # --- the answer

    def decomposition(self, s: State, rank: int | None = None):
        """G, its pseudo-inverse, and bases of the motions it allows and of its redundancies (columns).

        The rank is that of G unless given: some linkages move only where rows of G depend on each other, which
        rounding ends.
        """
        G = self.gradient(s)
        if not len(G):
            return G, np.zeros((self.n, 0)), np.eye(self.n), np.zeros((0, 0))
        U, sigma, Vt = np.linalg.svd(G)
        if rank is None:
            rank = int(np.sum(sigma > RANK * sigma[0]))
        inverse = (Vt[:rank].T / sigma[:rank]) @ U[:, :rank].T
        return G, inverse, Vt[rank:].T, U[:, rank:]

    def solve(self, s: State, rank: int | None = None) -> Solution:
        G, inverse, N, redundant = self.decomposition(s, rank)
        M, Q = self.mass(), self.forces(s)
        particular = inverse @ -self.curvature(s)
        free = np.linalg.solve(N.T @ M @ N, N.T @ (Q - M @ particular)) if N.shape[1] else np.zeros(0)
        accelerations = particular + N @ free
        needed = M @ accelerations - Q  # what the constraints must do
        multipliers = inverse.T @ needed
        force, torque, unique = [], [], []
        for g, rows in zip(self.geometries, self.rows(), strict=True):
            F, T = self._wrench(g, s, G[rows].T @ multipliers[rows])
            force.append(F)
            torque.append(T)
            unique.append(bool(np.abs(G[rows].T @ redundant[rows]).max(initial=0.0) < 1e-7))
        return Solution(
            accelerations.reshape(-1, 6),
            force,
            torque,
            unique,
            G.T @ multipliers,
            redundant.shape[1],
            N.shape[1],
        )

    def _wrench(self, g: Geometry, s: State, acting):
        """Force and torque at b's joint point on b, from the forces of the joint on the twists."""
        P = self._side(g.b, s, np.zeros((1, self.n)))[0][0, 0]
        side, sign = (g.b, 1.0) if g.b.body is not None else (g.a, -1.0)
        i = side.body
        F, T = acting[6 * i : 6 * i + 3], s.R[i] @ acting[6 * i + 3 : 6 * i + 6]
        return sign * F, sign * (T - np.cross(P - s.x[i], F))

    def point(self, g: Geometry, s: State):
        """Joint point of b in space, (3,)."""
        return self._side(g.b, s, np.zeros((1, self.n)))[0][0, 0]


# --- motion by SciPy -------------------------------------------------------------------------------------------------


def integrate(system, times, rtol=1e-10) -> list[State]:
    """States at some times, by SciPy's DOP853 on the accelerations of the oracle; nothing is projected."""
    from scipy.integrate import solve_ivp

    oracle, s0 = Oracle.of(system), start(system)
    b = len(system.bodies)
    rank = oracle.n - oracle.solve(s0).freedoms

    def unpack(t, y):
        x, p, v, w = np.split(y, [3 * b, 7 * b, 10 * b])
        p = p.reshape(b, 4)
        R = ro.matrix_from_quaternion(p / np.linalg.norm(p, axis=1, keepdims=True))
        return State(t, x.reshape(b, 3), R, v.reshape(b, 3), w.reshape(b, 3)), p

    def rhs(t, y):
        s, p = unpack(t, y)
        a = oracle.solve(s, rank).accelerations
        turning = 0.5 * ro.multiply(p, np.concatenate([np.zeros((b, 1)), s.Omega], axis=1))
        return np.concatenate([s.v.ravel(), turning.ravel(), a[:, :3].ravel(), a[:, 3:].ravel()])

    p0 = np.array([body.orientation for body in system.bodies])
    y0 = np.concatenate([s0.x.ravel(), p0.ravel(), s0.v.ravel(), s0.Omega.ravel()])
    run = solve_ivp(rhs, (0.0, max(times)), y0, method="DOP853", rtol=rtol, atol=rtol, t_eval=sorted(times))
    return [unpack(t, y)[0] for t, y in zip(run.t, run.y.T, strict=True)]


# --- random mechanisms -----------------------------------------------------------------------------------------------

#: Joints that make trees; all kinds.
TREE_KINDS = ("Fixed", "Spherical", "Revolute", "Prismatic", "Cylindrical", "Planar", "Universal", "Helical")
KINDS = (*TREE_KINDS, "Distance")
#: Kinds that can be driven.
DRIVEN_KINDS = ("Revolute", "Prismatic", "Helical", "Distance")


def sine(size, rate, phase, offset=0.0):
    """A drive (f, f', f'') with f(0) = offset."""
    return (
        lambda t: offset + size * (np.sin(rate * t + phase) - np.sin(phase)),
        lambda t: size * rate * np.cos(rate * t + phase),
        lambda t: -size * rate**2 * np.sin(rate * t + phase),
    )


def random_joint(rng, kind, a, b, at, to=None, *, driven=False, springs=False, name=None):
    """A joint at a point of space with random axes; drives start where the joint is."""
    given: dict[str, Any] = {"at": at, "name": name}
    drive = sine(rng.uniform(0.1, 0.3), rng.uniform(1.0, 3.0), rng.uniform(0.0, 6.0))
    axis = rng.normal(size=3)
    if kind == "Distance":
        given["to"] = to
        length = float(np.linalg.norm(np.asarray(to) - at))
        if driven:
            given["length"] = sine(0.2 * length, rng.uniform(1.0, 3.0), rng.uniform(0.0, 6.0), length)
        return gd.Distance(a, b, **given)
    if kind not in ("Fixed", "Spherical"):
        given["axis"] = axis
    if kind == "Universal":
        given["axis2"] = np.cross(axis, rng.normal(size=3))
    if kind == "Helical":
        given["pitch"] = rng.choice([-1.0, 1.0]) * rng.uniform(0.2, 1.5)
    if driven and kind in DRIVEN_KINDS:
        given["drive"] = drive
    elif springs and kind in ("Revolute", "Prismatic", "Helical"):
        given |= {"stiffness": rng.uniform(1, 5), "damping": rng.uniform(0.1, 1), "rest": rng.uniform(-0.5, 0.5)}
    elif springs and kind == "Cylindrical":
        given |= {f: tuple(rng.uniform(0.1, 2.0, 2)) for f in ("stiffness", "damping", "rest")}
    return getattr(gd, kind)(a, b, **given)


def random_inertia(rng):
    """A tensor with random axes, of a box with random edges."""
    edges = rng.uniform(0.4, 1.2, 3) ** 2
    Q = ro.matrix_from_quaternion(unit(rng.normal(size=4)))
    return Q @ np.diag(edges.sum() - edges) @ Q.T * rng.uniform(0.2, 0.6)


def random_forces(rng, names):
    """One of each force, on random bodies; `sine` keeps the functions of time smooth."""
    pick = [str(n) for n in rng.choice([*names], size=6)]
    partner = [str(rng.choice([n for n in ("ground", *names) if n != p])) for p in pick]
    k, w = rng.normal(size=(12, 3)), rng.uniform(0.5, 2.0, 3)
    return [
        gd.SpringDamper(pick[0], partner[0], k[0], k[1], stiffness=rng.uniform(1, 9), damping=0.4, length=0.3),
        gd.Bushing(partner[1], pick[1], k[2], k[3], stiffness=rng.uniform(1, 5, 3), damping=rng.uniform(0.1, 1, 3)),
        gd.Force(pick[2], k[4], at=k[5], frame="body"),
        gd.Force(pick[3], lambda t: k[6] * np.cos(w * t), at=k[7], frame="space"),
        gd.Torque(pick[4], k[8], frame="space"),
        gd.Torque(pick[5], lambda t: k[9] * np.sin(1.0 + w * t), frame="body"),
    ]


def random_mechanism(
    seed: int,
    n_bodies: int = 4,
    kinds: Sequence[str] = TREE_KINDS,
    loops: int = 0,
    *,
    loop_kinds: Sequence[str] | None = None,
    driven: int = 0,
    forces: bool = True,
    springs: bool = False,
    floating: bool = False,
):
    """A random system at a consistent start.

    A tree of joints of the given kinds from ground (``floating``: from the first body), then ``loops`` more joints
    of ``loop_kinds`` (the same unless given); the first ``driven`` joints that can be are driven. Loops are redrawn
    until no row is redundant and two motions at least are left.
    """
    rng = np.random.default_rng(seed)
    for _ in range(500):
        system = _draw(rng, n_bodies, kinds, [*(loop_kinds or kinds)], loops, driven, forces, springs, floating)
        oracle = Oracle.of(system)
        G = oracle.gradient(start(system))
        smallest = np.linalg.svd(G, compute_uv=False)[-1] if 0 < len(G) <= oracle.n else 1.0
        if not loops or (len(G) <= oracle.n - 2 and smallest > 0.03):
            return moving(system, rng)
    raise ValueError(f"no mechanism with seed {seed} has two motions left; give it more bodies or freer kinds")


def _draw(rng, n_bodies, kinds, loop_kinds, loops, driven, forces, springs, floating):
    names = [f"b{i}" for i in range(n_bodies)]
    x = rng.uniform(-1.0, 1.0, (n_bodies, 3)) + 0.7 * np.arange(n_bodies)[:, None] * unit(rng.normal(size=3))
    bodies = [
        gd.Body(n, rng.uniform(0.5, 2.0), random_inertia(rng), x[i], unit(rng.normal(size=4)))
        for i, n in enumerate(names)
    ]
    place = {"ground": np.zeros(3), **dict(zip(names, x, strict=True))}
    joints: list[Any] = []

    def add(kind, a, b):
        nonlocal driven
        if rng.random() < 0.5:
            a, b = b, a
        at = 0.5 * (place[a] + place[b]) + 0.3 * rng.normal(size=3)
        now = driven > 0 and kind in DRIVEN_KINDS
        driven -= now
        joint = random_joint(
            rng, kind, a, b, at, place[b] + 0.3 * rng.normal(size=3),
            driven=now, springs=springs, name=f"j{len(joints)}",
        )  # fmt: skip
        joints.append(joint)

    tree = [k for k in kinds if k != "Distance"]
    for i, n in enumerate(names):
        if i or not floating:
            grounded = not floating and (i == 0 or rng.random() < 0.25)
            add(tree[rng.integers(len(tree))], "ground" if grounded else names[rng.integers(i)], n)
    for _ in range(loops):
        a, b = ([*names, "ground"][i] for i in rng.choice(n_bodies + (not floating), 2, replace=False))
        add(loop_kinds[rng.integers(len(loop_kinds))], a, b)
    acting = random_forces(rng, names) if forces else []
    return gd.System(bodies, joints, forces=acting, gravity=rng.normal(size=3) * 4.0)


def moving(system, rng, size=1.0):
    """The same system with random velocities that the joints (and drives) allow."""
    oracle, s = Oracle.of(system), start(system)
    V = size * rng.normal(size=oracle.n)
    G, inverse, _, _ = oracle.decomposition(s)
    if len(G):
        V = V - inverse @ (G @ V - oracle.demanded(s))
        V[np.abs(V) < 1e-13] = 0.0  # what cannot move is at rest, without rounding
    return with_velocities(system, V)


def with_velocities(system, V):
    """The same system with the twists V, (6 b,)."""
    bodies = [
        gd.Body(b.name, b.mass, b.inertia, b.position, b.orientation, w[:3], w[3:])
        for b, w in zip(system.bodies, np.reshape(V, (-1, 6)), strict=True)
    ]
    return gd.System(bodies, system.joints, system.rods, system.forces, system.gravity)
