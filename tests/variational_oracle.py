"""The variational integrator of Xu and Zhong 2016 in NumPy: a reference for the core, written from the paper alone.

Everything a step needs is a polynomial of the coordinates q of all bodies: the angular velocity is bilinear in q and
q', the potential of gravity and every constraint are quadratic. A `Scheme` holds their coefficients as dense arrays;
one function is one equation of the paper. Equation numbers are those of the paper, with its misprints corrected.

A body is turned by its quaternion (4) or its directors (9), alone if it turns about a fixed point, else after the
position of its centre of mass (3). Bodies hang together, or on the ground, by ball joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

SIZE = {"quaternion": 4, "directors": 9}
#: Omega'Omega = factor q''q': (50), (55).
FACTOR = {"quaternion": 4.0, "directors": 0.5}


def projection(coordinates):
    """W with Omega_i = W_iab q_a q'_b: (23) and (28)."""
    if coordinates == "quaternion":
        W = np.zeros((3, 4, 4))
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            for a, b, value in ((i + 1, 0, -2.0), (0, i + 1, 2.0), (k + 1, j + 1, 2.0), (j + 1, k + 1, -2.0)):
                W[i, a, b] = value
        return W
    W = np.zeros((3, 3, 3, 3, 3))  # i, director, component, director, component
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        W[i, k, :, j, :] = 0.5 * np.eye(3)
        W[i, j, :, k, :] = -0.5 * np.eye(3)
    return W.reshape(3, 9, 9)


def rotation(coordinates):
    """H and b with R_rc = q'H_rc q/2 + b_rc'q: (22) and (25)."""
    n = SIZE[coordinates]
    H, b = np.zeros((3, 3, n, n)), np.zeros((3, 3, n))
    if coordinates == "directors":
        for c in range(3):
            b[:, c, 3 * c : 3 * c + 3] = np.eye(3)
        return H, b
    for r in range(3):
        H[r, r] = -2.0 * np.eye(4)
        H[r, r, 0, 0] = H[r, r, r + 1, r + 1] = 2.0
        for c in range(3):
            if r != c:
                H[r, c, r + 1, c + 1] = H[r, c, c + 1, r + 1] = 2.0
                sign = 1.0 if (c - r) % 3 == 2 else -1.0
                H[r, c, 0, 6 - r - c - 2] = H[r, c, 6 - r - c - 2, 0] = 2.0 * sign
    return H, b


def matrix(coordinates, q):
    """R(q), (22) or (25)."""
    H, b = rotation(coordinates)
    return 0.5 * np.einsum("rcab,...a,...b->...rc", H, q, q) + np.einsum("rca,...a->...rc", b, q)


@dataclass(frozen=True)
class Member:
    """A rigid body: ``inertia`` about its centre of mass, or about the fixed point with ``arm`` from there to it."""

    mass: float
    inertia: np.ndarray
    quaternion: np.ndarray
    Omega: np.ndarray
    position: np.ndarray | None = None
    velocity: np.ndarray | None = None
    arm: np.ndarray = field(default_factory=lambda: np.zeros(3))
    #: None: the mean of the principal moments, (65).
    sigma: float | None = None


@dataclass(frozen=True)
class Ball:
    """A ball joint: points of two bodies, in body axes from the centre of mass; ``b`` None is a point of space."""

    a: int
    at_a: np.ndarray
    b: int | None
    at_b: np.ndarray


@dataclass(frozen=True)
class Record:
    """What came out at the nodes: coordinates (n, N), momenta up to A'lambda; energies; iterations of each step."""

    t: np.ndarray
    q: np.ndarray
    p: np.ndarray
    rates: np.ndarray
    energy: np.ndarray
    midpoint_energy: np.ndarray
    newton: np.ndarray
    residual: np.ndarray


class Diverged(ArithmeticError):
    """Newton's method did not converge."""


class Scheme:
    """Coefficients of all bodies and joints, and the equations of the paper as functions of q."""

    def __init__(
        self,
        bodies: Sequence[Member],
        joints: Sequence[Ball] = (),
        coordinates: str = "quaternion",
        potential: str = "midpoint",
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
    ) -> None:
        self.bodies, self.joints, self.coordinates, self.potential = list(bodies), list(joints), coordinates, potential
        g, n = np.asarray(gravity, dtype=float), SIZE[coordinates]
        self.gravity = g
        self.turns: list[slice] = []  # where the rotation coordinates are
        at = 0
        for body in self.bodies:
            at += 0 if body.position is None else 3
            self.turns.append(slice(at, at + n))
            at += n
        self.size = at
        W, (H, b) = projection(coordinates), rotation(coordinates)
        self.square = np.zeros(at)  # diagonal of the constant part of the mass matrix
        self.W = np.zeros((len(self.bodies), 3, at, at))
        self.J = np.zeros((len(self.bodies), 3, 3))  # J_sigma, (41)
        self.UH, self.Ub = np.zeros((at, at)), np.zeros(at)
        for i, (body, turn) in enumerate(zip(self.bodies, self.turns, strict=True)):
            J = np.asarray(body.inertia, dtype=float)
            J = np.diag(J) if J.ndim == 1 else J
            sigma = np.trace(J) / 3.0 if body.sigma is None else body.sigma
            self.square[turn] = FACTOR[coordinates] * sigma  # (51), (56)
            self.J[i] = J - sigma * np.eye(3)
            self.W[i, :, turn, turn] = W
            if body.position is not None:
                x = slice(turn.start - 3, turn.start)
                self.square[x] = body.mass
                self.Ub[x] = -body.mass * g
            weight = -body.mass * np.outer(g, body.arm)
            self.UH[turn, turn] += np.einsum("rc,rcab->ab", weight, H)
            self.Ub[turn] += np.einsum("rc,rca->a", weight, b)
        self._constraints(H, b)

    def _constraints(self, H, b):
        """psi_i = q'C_i q/2 + d_i'q + e_i: (21) or (27) of each body, and three for each joint."""
        C, d, e = [], [], []
        for turn in self.turns:
            if self.coordinates == "quaternion":
                parts = [(2.0 * np.eye(4), -1.0)]
            else:
                parts = []
                for i in range(3):
                    unit = np.zeros((3, 3))
                    unit[i, i] = 1.0
                    parts.append((np.kron(unit, np.eye(3)), -0.5))
                for i in range(3):
                    pair = np.zeros((3, 3))
                    j, k = (i + 1) % 3, (i + 2) % 3
                    pair[j, k] = pair[k, j] = 1.0 / np.sqrt(2.0)
                    parts.append((np.kron(pair, np.eye(3)), 0.0))
            for square, value in parts:
                whole = np.zeros((self.size, self.size))
                whole[turn, turn] = square
                C.append(whole)
                d.append(np.zeros(self.size))
                e.append(value)
        for joint in self.joints:
            for r in range(3):
                whole, line, value = np.zeros((self.size, self.size)), np.zeros(self.size), 0.0
                for body, point, sign in ((joint.a, joint.at_a, 1.0), (joint.b, joint.at_b, -1.0)):
                    if body is None:
                        value += sign * point[r]
                        continue
                    turn = self.turns[body]
                    whole[turn, turn] += sign * np.einsum("c,cab->ab", point, H[r])
                    line[turn] += sign * np.einsum("c,ca->a", point, b[r])
                    if self.bodies[body].position is not None:
                        line[turn.start - 3 + r] += sign
                C.append(whole)
                d.append(line)
                e.append(value)
        self.C, self.d, self.e = np.array(C), np.array(d), np.array(e)

    # --- the continuous system ---

    def start(self):
        """q and q' at t = 0."""
        q, rate = np.zeros(self.size), np.zeros(self.size)
        for body, turn in zip(self.bodies, self.turns, strict=True):
            p = np.asarray(body.quaternion, dtype=float)
            q[turn] = p if self.coordinates == "quaternion" else matrix("quaternion", p).T.ravel()
            rate[turn] = self.tangent(q[turn]) @ body.Omega
            if body.position is not None:
                q[turn.start - 3 : turn.start] = body.position
                rate[turn.start - 3 : turn.start] = body.velocity
        return q, rate

    def tangent(self, q):
        """T with q' = T Omega, for the rotation coordinates of one body: L'T = 1 and A T = 0."""
        L = np.einsum("iab,a->bi", projection(self.coordinates), q)
        return L @ np.linalg.inv(L.T @ L)

    def psi(self, q):
        """(12)."""
        return 0.5 * (self.C @ q) @ q + self.d @ q + self.e

    def A(self, q):
        """(33)."""
        return self.C @ q + self.d

    def Omega(self, q, rate):
        """(11), one row for each body."""
        return (self.W @ rate) @ q

    def _twist(self, rate, w):
        """Derivative of w'J_sigma w/2 in q at fixed rate."""
        moment = (self.J @ w[:, :, None])[:, :, 0]
        return np.einsum("nia,ni->a", self.W @ rate, moment)

    def kinetic(self, q, rate):
        """(42)."""
        w = self.Omega(q, rate)
        return 0.5 * self.square @ rate**2 + 0.5 * np.einsum("ni,nij,nj->", w, self.J, w)

    def mass(self, q):
        """M_sigma: (51), (56)."""
        L = -(self.W @ q)  # antisymmetric in a, b
        return np.diag(self.square) + (L.transpose(0, 2, 1) @ self.J @ L).sum(axis=0)

    def U(self, q):
        """(74), (76)."""
        return 0.5 * q @ self.UH @ q + self.Ub @ q

    def dU(self, q):
        """(75), (77)."""
        return self.UH @ q + self.Ub

    def dT(self, q, rate):
        """dT/dq of (35)."""
        return self._twist(rate, self.Omega(q, rate))

    def velocity(self, q, p):
        """The rate at a node that has the momentum p up to A'lambda and keeps the constraints."""
        A = self.A(q)
        m = len(A)
        K = np.block([[self.mass(q), A.T], [A, np.zeros((m, m))]])
        return np.linalg.solve(K, np.concatenate([p, np.zeros(m)]))[: self.size]

    # --- the step ---

    def halves(self, q0, q1, h):
        """p and f at the midpoint: (69), (70); with node potential, f is dT/dq alone."""
        rate, mid = (q1 - q0) / h, 0.5 * (q0 + q1)
        f = self.dT(mid, rate)
        if self.potential == "midpoint":
            f = f - self.dU(mid)
        return self.mass(mid) @ rate, f

    def leaving(self, q0, q1, h):
        """-D1 of the discrete Lagrangian: the momentum at the beginning of a step."""
        p, f = self.halves(q0, q1, h)
        return p - 0.5 * h * f + (0.5 * h * self.dU(q0) if self.potential == "nodes" else 0.0)

    def arriving(self, q0, q1, h):
        """D2 of the discrete Lagrangian: the momentum at its end."""
        p, f = self.halves(q0, q1, h)
        return p + 0.5 * h * f - (0.5 * h * self.dU(q1) if self.potential == "nodes" else 0.0)

    def lagrangian(self, q0, q1, h):
        """The discrete Lagrangian of the scheme."""
        return h * (self.kinetic(0.5 * (q0 + q1), (q1 - q0) / h) - self.step_potential(q0, q1))

    def step_potential(self, q0, q1):
        """U of a step: of its midpoint, or the mean of its nodes."""
        return self.U(0.5 * (q0 + q1)) if self.potential == "midpoint" else 0.5 * (self.U(q0) + self.U(q1))

    def leaving_gradient(self, q0, q1, h):
        """Derivative of `leaving` in q1; W is antisymmetric, so that the midpoint's Omega is W(q0, q1)/h."""
        u, v = -(self.W @ q0), self.W @ q1
        Jw = self.J @ (u @ q1)[:, :, None]
        bend = v.transpose(0, 2, 1) @ self.J @ u + (Jw[..., None] * self.W).sum(axis=1)
        K = np.diag(self.square) - bend.sum(axis=0)
        return K / h + (0.25 * h * self.UH if self.potential == "midpoint" else 0.0)

    def step(self, q, p, guess, multipliers, h, tolerance=1e-13, iterations=40):
        """Table 1: q at the end of the step that leaves q with momentum p, the multipliers, the iterations.

        In the units of (72), with s = 1/h^2: (leaving - p)/h - s A(q)' lambda = 0 and psi(q1) = 0. The start-up step
        (73) is the same with p_0, its multiplier counted twice.
        """
        A, n, m = self.A(q), self.size, len(self.e)
        q1, lam, s = guess.copy(), multipliers.copy(), h**-2
        history = []
        for k in range(1, iterations + 1):
            r = np.concatenate([(self.leaving(q, q1, h) - p) / h - s * A.T @ lam, self.psi(q1)])
            K = np.zeros((n + m, n + m))
            K[:n, :n] = self.leaving_gradient(q, q1, h) / h
            K[:n, n:] = -s * A.T
            K[n:, :n] = self.A(q1)
            change = np.linalg.solve(K, -r)
            q1, lam = q1 + change[:n], lam + change[n:]
            size = np.abs(change[:n]).max()
            history.append(size)
            if not np.isfinite(size):
                break
            # At rounding the changes stop falling.
            if size < tolerance * max(1.0, np.abs(q1).max()) or (k > 3 and size < 1e-9 and size > 0.5 * history[-2]):
                return q1, lam, k
        raise Diverged(f"changes {history}")

    def run(self, h, steps, thin=1):
        """Integrate; the nodes 0, thin, 2 thin, ... are kept."""
        q, rate = self.start()
        p = self.mass(q) @ rate
        E0 = self.kinetic(q, rate) + self.U(q)
        lam = np.zeros(len(self.e))
        t, nodes, momenta, rates, energy, newton, residual = [0.0], [q], [p], [rate], [E0], [], [0.0]
        middle = []
        for k in range(1, steps + 1):
            q1, lam, used = self.step(q, p, q, lam, h)
            newton.append(used)
            p = self.arriving(q, q1, h)
            if k % thin == 0:
                mid, v = 0.5 * (q + q1), (q1 - q) / h
                middle.append(self.kinetic(mid, v) + self.step_potential(q, q1))
                t.append(k * h)
                nodes.append(q1)
                momenta.append(p)
                rates.append(self.velocity(q1, p))
                energy.append(self.kinetic(q1, rates[-1]) + self.U(q1))
                residual.append(np.abs(self.psi(q1)).max())
            q = q1
        arrays = (np.array(x) for x in (t, nodes, momenta, rates, energy, middle, newton, residual))
        return Record(*arrays)

    # --- what a motion is made of ---

    def centres(self, q, body=0):
        """Centre of mass of a body that turns about the origin, or its position."""
        turn = self.turns[body]
        if self.bodies[body].position is not None:
            return q[..., turn.start - 3 : turn.start]
        return matrix(self.coordinates, q[..., turn]) @ self.bodies[body].arm

    def spins(self, record, body=0):
        """Omega at the nodes."""
        return np.einsum("iab,ka,kb->ki", self.W[body], record.q, record.rates)


# --- energy-momentum schemes -----------------------------------------------------------------------------------------


def conserving(body: Member, h, steps, coordinates="quaternion", form="momenta", gravity=(0.0, 0.0, -9.81)):
    """A top about a fixed point by the schemes that keep energy and momentum: (n, N) coordinates, (n, 3) Omega.

    ``form="momenta"`` (Betsch and Siebert, Nielsen and Krenk; Krenk and Nielsen for directors): with the body's angular
    momentum l = T(q)'p, bilinear in q and p, H = l'J^-1 l/2 + U. Differences of l and U are exact with derivatives at
    the midpoint, so that, w being J^-1 of the mean of l,

        q1 - q0 = h T(q_mid) w,   p1 - p0 = -h (d(l.w)/dq at p_mid + dU(q_mid) + A(q_mid)'lambda)

    keeps H; q'p (directors: the six products A(q) p) stays zero, which gives lambda.

    ``form="velocities"`` (Betsch and Steinmann, directors): constant mass matrix of Euler's tensor,
    q1 - q0 = h (v0 + v1)/2, M (v1 - v0) = -h (dU + A(q_mid)'lambda), psi(q1) = 0. Its v is tangent at midpoints only,
    and Omega is that of R'v.
    """
    s = Scheme([body], coordinates=coordinates, gravity=gravity)
    J = np.diag(body.inertia) if np.ndim(body.inertia) == 1 else np.asarray(body.inertia)
    W, n, m = projection(coordinates), s.size, len(s.e)
    q, rate = s.start()
    # l_i = B_iab q_a p_b = T_bi(q) p_b, with T = L/factor: (49), (54).
    B = W / FACTOR[coordinates]
    p = np.einsum("iab,a,ij,j->b", W, q, J, body.Omega)  # (34) with (14), tangent
    euler = 0.5 * np.trace(J) * np.eye(3) - J
    M = np.kron(euler, np.eye(3)) if coordinates == "directors" else np.zeros((n, n))
    v = rate

    def momenta(z):
        q1, p1, lam = z[:n], z[n : 2 * n], z[2 * n :]
        mid, pm = 0.5 * (q + q1), 0.5 * (p + p1)
        mean = 0.5 * np.einsum("iab,a,b->i", B, q, p) + 0.5 * np.einsum("iab,a,b->i", B, q1, p1)
        w = np.linalg.solve(J, mean)
        dq = q1 - q - h * np.einsum("iab,a,i->b", B, mid, w)
        dp = p1 - p + h * (np.einsum("iab,b,i->a", B, pm, w) + s.dU(mid)) + s.A(mid).T @ lam
        return np.concatenate([dq, dp, s.A(q1) @ p1])

    def velocities(z):
        q1, lam = z[:n], z[n:]
        v1 = 2.0 * (q1 - q) / h - v
        mid = 0.5 * (q + q1)
        return np.concatenate([M @ (v1 - v) + h * s.dU(mid) + s.A(mid).T @ lam, s.psi(q1)])

    residual = momenta if form == "momenta" else velocities
    nodes, spins, energies = [q], [np.asarray(body.Omega, dtype=float)], [s.kinetic(q, rate) + s.U(q)]
    for _ in range(steps):
        z = np.concatenate([q, p, np.zeros(m)] if form == "momenta" else [q + h * v, np.zeros(m)])
        z = _newton(residual, z)
        if form == "momenta":
            q, p = z[:n], z[n : 2 * n]
            spin = np.linalg.solve(J, np.einsum("iab,a,b->i", B, q, p))
            energies.append(0.5 * spin @ J @ spin + s.U(q))
        else:
            q, v = z[:n], 2.0 * (z[:n] - q) / h - v
            spin = np.einsum("iab,a,b->i", W, q, v)
            energies.append(0.5 * v @ M @ v + s.U(q))
        nodes.append(q)
        spins.append(spin)
    return np.arange(steps + 1) * h, np.array(nodes), np.array(spins), np.array(energies)


class Quadratic:
    """Polynomials of degree two, from a function of q that returns their values: found by polarisation."""

    def __init__(self, function, size):
        one, zero = np.eye(size), np.zeros(size)
        self.e = np.asarray(function(zero))
        values = np.array([function(x) for x in one]) - self.e
        both = np.array([[function(a + b) for b in one] for a in one]) - self.e
        self.C = (both - values[:, None] - values[None]).transpose(2, 0, 1)
        self.d = values.T - 0.5 * np.einsum("iaa->ia", self.C)
        q = np.linspace(-1.0, 2.0, size)
        assert np.allclose(self(q), function(q), rtol=1e-12, atol=1e-12), "not quadratic"

    def __call__(self, q):
        return 0.5 * (self.C @ q) @ q + self.d @ q + self.e

    def gradient(self, q):
        return self.C @ q + self.d


def conserving_joined(bodies, joints, energies, h, steps, gravity=(0.0, 0.0, -9.81)):
    """Free bodies in directors, q = (x, d1, d2, d3) each, with joints and springs: nodes (n, b, 12), momenta, energies.

    ``joints(q)`` returns constraints, quadratic in q; ``energies`` are (invariants, V, dV): V of quadratic invariants
    of q. The scheme is that of `conserving`, with the joints' gradient at midpoints, g(q1) = 0, and for energies
    Gonzalez's discrete gradient in the invariants, which the midpoint's gradient pulls back; with dV None, V(a, b) is
    V at a and a discrete gradient from a to b.
    """
    n = 12 * len(bodies)
    parts = [slice(12 * i, 12 * i + 12) for i in range(len(bodies))]
    W = projection("directors")
    B = W / FACTOR["directors"]
    inertia = [np.diag(b.inertia) if np.ndim(b.inertia) == 1 else np.asarray(b.inertia) for b in bodies]
    inner = [(i, j) for i in range(3) for j in range(i, 3)]

    def orthonormal(q):
        out = []
        for s in parts:
            d = q[s][3:].reshape(3, 3)
            out += [0.5 * (d[i] @ d[j] - (i == j)) for i, j in inner]
        return np.array(out)

    psi, g = Quadratic(orthonormal, n), Quadratic(joints, n)
    laws = [(Quadratic(invariants, n), V, dV) for invariants, V, dV in energies]
    weight = np.zeros(n)
    q, p = np.zeros(n), np.zeros(n)
    for body, s, J in zip(bodies, parts, inertia, strict=True):
        R = matrix("quaternion", np.asarray(body.quaternion, dtype=float))
        q[s] = np.concatenate([body.position, R.T.ravel()])
        spin = np.einsum("iab,a,ij,j->b", W, R.T.ravel(), J, body.Omega)
        p[s] = np.concatenate([body.mass * np.asarray(body.velocity), spin])
        weight[s] = np.concatenate([body.mass * np.asarray(gravity), np.zeros(9)])

    def spin_of(J, q, p):
        return np.linalg.solve(J, np.einsum("iab,a,b->i", B, q[3:], p[3:]))

    def force(q0, q1):
        total, middle = weight.astype(q1.dtype), 0.5 * (q0 + q1)
        for law, V, dV in laws:
            a, b = law(q0), law(q1)
            slope, step = V(a, b)[1] if dV is None else dV(0.5 * (a + b)), b - a
            if dV is not None and np.any(step != 0.0):
                slope = slope + (V(b) - V(a) - slope @ step) / (step @ step) * step
            total = total - law.gradient(middle).T @ slope
        return total

    def energy(q, p):
        total = -weight @ q + sum(V(f(q), f(q))[0] if dV is None else V(f(q)) for f, V, dV in laws)
        for body, s, J in zip(bodies, parts, inertia, strict=True):
            w = spin_of(J, q[s], p[s])
            total += 0.5 * p[s][:3] @ p[s][:3] / body.mass + 0.5 * w @ J @ w
        return total

    def residual(z):
        q1, p1, lam, mu = np.split(z, (n, 2 * n, 2 * n + len(psi.e)))
        middle, pm = 0.5 * (q + q1), 0.5 * (p + p1)
        dq, dp = q1 - q, p1 - p - h * force(q, q1) + psi.gradient(middle).T @ lam + g.gradient(middle).T @ mu
        for body, s, J in zip(bodies, parts, inertia, strict=True):
            w = 0.5 * (spin_of(J, q[s], p[s]) + spin_of(J, q1[s], p1[s]))
            turn = np.einsum("iab,a,i->b", B, middle[s][3:], w)
            dq[s] -= h * np.concatenate([pm[s][:3] / body.mass, turn])
            dp[s][3:] += h * np.einsum("iab,b,i->a", B, pm[s][3:], w)
        return np.concatenate([dq, dp, psi.gradient(q1) @ p1, g(q1)])

    nodes, momenta, totals = [q], [p], [energy(q, p)]
    for _ in range(steps):
        z = _newton(residual, np.concatenate([q, p, np.zeros(len(psi.e) + len(g.e))]))
        q, p = z[:n], z[n : 2 * n]
        nodes.append(q), momenta.append(p), totals.append(energy(q, p))
    spins = [
        [spin_of(J, a[s], b[s]) for s, J in zip(parts, inertia, strict=True)]
        for a, b in zip(nodes, momenta, strict=True)
    ]
    return np.array(nodes).reshape(steps + 1, -1, 12), np.array(spins), np.array(totals)


def _newton(residual, z, iterations=60):
    """Newton's method with derivatives by complex steps: the residuals are polynomials."""
    last = np.inf
    for _ in range(iterations):
        r = residual(z)
        K = np.empty((len(r), len(z)))
        for i in range(len(z)):
            shifted = z.astype(complex)
            shifted[i] += 1e-30j
            K[:, i] = residual(shifted).imag / 1e-30
        change = np.linalg.solve(K, -r)
        z = z + change
        size = np.abs(change).max() / np.abs(z).max()
        if size < 1e-14 or (size < 1e-10 and size > 0.5 * last):
            return z
        if not np.isfinite(size):
            break
        last = size
    raise Diverged(f"change {size}")
