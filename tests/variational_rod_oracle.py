"""The variational integrator for rods in NumPy, from its discrete Lagrangian alone: a reference for the core.

Nothing is differentiated by hand. Coordinates are the positions of vertices and the quaternions of frames, each with
its multiplier; the discrete Lagrangian of docs/variational.md is a function of two rows of them, and its gradients are
complex steps, exact to rounding. Strains are written from the papers: (23) to (26) of Lang, Linn and Arnold 2011 on the
staggered grid, interpolated quaternions in elements (docs/elements.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

STEP = 1e-30


def product(p, q):
    """Quaternions."""
    return np.array(
        [
            p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
            p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
            p[0] * q[2] + p[2] * q[0] + p[3] * q[1] - p[1] * q[3],
            p[0] * q[3] + p[3] * q[0] + p[1] * q[2] - p[2] * q[1],
        ]
    )


def conjugate(p):
    """Of a quaternion."""
    return np.array([p[0], -p[1], -p[2], -p[3]])


def turned_back(p, u):
    """R(p)'u for a quaternion of any length."""
    return product(product(conjugate(p), np.array([0.0, *u])), p)[1:]


def curvature(W, law):
    """zeta(w) Im W, (34)."""
    w = W[0]
    if law == "half-tangent":
        return 2.0 / (1.0 + w) * W[1:]
    if law == "half-sine":
        return np.sqrt(2.0 / (1.0 + w)) * W[1:]
    assert law == "angle"
    s = W[1:] @ W[1:]  # arcsin(s)/s as a series in s², for turns well below a right angle
    assert abs(s) < 0.1
    terms, factor = 0.0, 1.0
    for k in range(16):
        terms = terms + factor / (2 * k + 1)
        factor = factor * s * (2 * k + 1) / (2 * k + 2)
    return terms * W[1:]


@dataclass
class Rod:
    """A straight, uniform rod of N segments, or of N/degree elements of equal length, undeformed along d3."""

    N: int
    length: float
    C: np.ndarray  # stiffness of Gamma and K, (6, 6)
    line: float  # mass per length
    J: np.ndarray  # inertia of the section per length
    degree: int = 0
    c: np.ndarray | None = None  # the paper's damping, (6,)
    sigma: float | None = None  # kg m
    law: str = "half-tangent"
    gravity: np.ndarray | None = None
    clamped: bool = False  # the start, where `place` and `frame` say
    hinged: bool = False
    place: Callable[[float], np.ndarray] | None = None
    frame: Callable[[float], np.ndarray] | None = None
    pull: Callable[[float], np.ndarray] | None = None  # on the last vertex, in space
    nodes: bool = False  # the strain energy at nodes

    def __post_init__(self) -> None:
        ds, p = self.length / self.N, self.degree
        if p:
            from numpy.polynomial.legendre import Legendre, leggauss

            inner = Legendre.basis(p).deriv().roots().real
            xi = np.array([-1.0, *np.sort(inner), 1.0])
            weights = 2.0 / (p * (p + 1) * Legendre.basis(p)(xi) ** 2)
            self.points, gauss = leggauss(p)
            basis = [np.poly1d(np.poly(np.delete(xi, a))) / np.prod(xi[a] - np.delete(xi, a)) for a in range(p + 1)]
            self.I = np.array([[b(x) for b in basis] for x in self.points])
            self.D = np.array([[b.deriv()(x) for b in basis] for x in self.points])
            self.h = self.length * p / self.N
            own = np.zeros(self.N + 1)
            for e in range(self.N // p):
                own[p * e : p * e + p + 1] += 0.5 * self.h * weights
            self.mass, self.frames, self.lengths = self.line * own, self.N + 1, own
            self.gauss = 0.5 * self.h * gauss
        else:
            self.mass = self.line * ds * np.array([0.5, *np.ones(self.N - 1), 0.5])
            self.frames, self.lengths, self.ds = self.N, np.full(self.N, ds), ds
        self.inertia = self.lengths[:, None] * self.J
        self.split = self.inertia.mean(axis=1) if self.sigma is None else self.sigma * self.lengths
        self.size = 3 * (self.N + 1) + 4 * self.frames

    def parts(self, q):
        """Positions (N + 1, 3) and quaternions (frames, 4)."""
        return q[: 3 * (self.N + 1)].reshape(-1, 3), q[3 * (self.N + 1) :].reshape(-1, 4)

    def strains(self, q, t):
        """Rows of Gamma and K with their weights: [(weight, slice of C, values)]."""
        x, p = self.parts(q)
        out = []
        if not self.degree:
            for j in range(self.N):
                G = turned_back(p[j], (x[j + 1] - x[j]) / self.ds) - np.array([0.0, 0.0, 1.0])
                out.append((self.ds, slice(0, 3), G))
            for n in range(1, self.N):
                K = 2.0 / self.ds * curvature(product(conjugate(p[n - 1]), p[n]), self.law)
                out.append((self.ds, slice(3, 6), K))
            if self.clamped:
                V = product(conjugate(self.frame(t)), p[0])
                out.append((0.5 * self.ds, slice(3, 6), 2.0 / self.ds * curvature(product(V, V), self.law)))
            return out
        for e in range(self.N // self.degree):
            at = slice(self.degree * e, self.degree * (e + 1) + 1)
            for k in range(self.degree):
                u, P = 2.0 / self.h * self.D[k] @ x[at], self.I[k] @ p[at]
                Q, n = 2.0 / self.h * self.D[k] @ p[at], P @ P
                out.append((self.gauss[k], slice(0, 3), turned_back(P, u) / n - np.array([0.0, 0.0, 1.0])))
                out.append((self.gauss[k], slice(3, 6), 2.0 * product(conjugate(P), Q)[1:] / n))
        return out

    def kinetic(self, a, b, h):
        """T at the midpoint of the coordinates, (51), (69)."""
        (xa, pa), (xb, pb) = self.parts(a), self.parts(b)
        v = (xb - xa) / h
        T = 0.5 * np.sum(self.mass[:, None] * v * v)
        for j in range(self.frames):
            rate, mid = (pb[j] - pa[j]) / h, 0.5 * (pa[j] + pb[j])
            Omega = 2.0 * product(conjugate(mid), rate)[1:]
            T += 2.0 * self.split[j] * (rate @ rate) + 0.5 * Omega @ ((self.inertia[j] - self.split[j]) * Omega)
        return T

    def energy(self, E):
        """Of strains."""
        return sum(0.5 * w * (e @ self.C[at, at] @ e) for w, at, e in E)

    def lagrangian(self, a, b, t, h, frozen=None):
        """h T - h U, and what the damping and the pull do, by rates that are `frozen`."""
        Ea, Eb = self.strains(a, t), self.strains(b, t + h)
        mean = [(w, at, 0.5 * (e + f)) for (w, at, e), (_, _, f) in zip(Ea, Eb, strict=True)]
        change = [(w, at, f - e) for (w, at, e), (_, _, f) in zip(Ea, Eb, strict=True)]
        U = 0.5 * (self.energy(Ea) + self.energy(Eb)) if self.nodes else self.energy(mean) - 0.1 * self.energy(change)
        x = 0.5 * (self.parts(a)[0] + self.parts(b)[0])
        if self.gravity is not None:
            U = U - np.sum(self.mass[:, None] * x * self.gravity)
        if self.pull is not None:
            U = U - x[-1] @ self.pull(t + 0.5 * h)
        if self.c is not None:
            U = U + sum(2.0 * w * (self.c[at] * rate) @ e for (w, at, e), rate in zip(mean, frozen, strict=True))
        return h * self.kinetic(a, b, h) - h * U

    def gradient(self, a, b, t, h, end):
        """D1 of the discrete Lagrangian, or D2."""
        frozen = None
        if self.c is not None:
            pairs = zip(self.strains(a, t), self.strains(b, t + h), strict=True)
            frozen = [np.real(f - e) / h for (_, _, e), (_, _, f) in pairs]
        rows = (1j * STEP * np.eye(self.size), np.zeros((self.size, self.size)))
        pairs = zip(a + rows[end], b + rows[1 - end], strict=True)
        return np.array([np.imag(self.lagrangian(x, y, t, h, frozen)) / STEP for x, y in pairs])

    def held(self, t):
        """Indices of coordinates that are prescribed, and their values."""
        index, value = [], []
        if self.clamped or self.hinged:
            index += [0, 1, 2]
            value += [*self.place(t)]
        if self.clamped and self.degree:
            at = 3 * (self.N + 1)
            index += range(at, at + 4)
            value += [*self.frame(t)]
        return np.array(index, dtype=int), np.array(value)

    def run(self, q, rate, h, steps):
        """Rows of coordinates at the nodes, (steps + 1, size), and the momenta there."""
        mass = np.zeros((self.size, self.size))
        for n in range(self.N + 1):
            mass[3 * n : 3 * n + 3, 3 * n : 3 * n + 3] = self.mass[n] * np.eye(3)
        for j in range(self.frames):
            at = 3 * (self.N + 1) + 4 * j
            L = np.array([2.0 * product(conjugate(q[at : at + 4]), e)[1:] for e in np.eye(4)]).T
            J = np.diag(self.inertia[j] - self.split[j])
            mass[at : at + 4, at : at + 4] = 4.0 * self.split[j] * np.eye(4) + L.T @ J @ L
        p, rows, momenta = mass @ rate, [q], [mass @ rate]
        self.matrix = None
        for k in range(steps):
            q, p = self.step(q, p, k * h, h, q + h * rate if k == 0 else 2.0 * q - rows[-2])
            rows.append(q)
            momenta.append(p)
        return np.array(rows), np.array(momenta)

    def step(self, q, p, t, h, guess):
        """Solve p + D1 L_d + A(q)'lambda = 0, |p_j| = 1 at the end, for the free coordinates."""
        index, value = self.held(t + h)
        free = np.setdiff1d(np.arange(self.size), index)
        frames = [3 * (self.N + 1) + 4 * j for j in range(self.frames)]
        frames = [at for at in frames if at in free]
        new = np.array(guess)
        new[index] = value
        multipliers = np.zeros(len(frames))
        n = len(free)

        def residual(z):
            b = np.array(new)
            b[free] = z[:n]
            r = p + self.gradient(q, b, t, h, 0)
            for at, m in zip(frames, z[n:], strict=True):
                r[at : at + 4] += m * q[at : at + 4]
            return np.array([*r[free] * h, *(b[at : at + 4] @ b[at : at + 4] - 1.0 for at in frames)])

        z = np.array([*new[free], *multipliers])
        for _ in range(60):
            r = residual(z)
            if self.matrix is None:  # good enough for all steps
                self.matrix = np.array([(residual(z + 1e-7 * e) - r) / 1e-7 for e in np.eye(len(z))]).T
            dz = np.linalg.solve(self.matrix, r)
            z = z - dz
            if np.abs(dz[:n]).max() < 1e-13:
                break
        else:
            raise ArithmeticError("Newton's method did not converge")
        new[free] = z[:n]
        return new, self.gradient(q, new, t, h, 1)

    def velocities(self, q, p):
        """x' of vertices, Omega of frames, from momenta."""
        x, turn = p[: 3 * (self.N + 1)].reshape(-1, 3), p[3 * (self.N + 1) :].reshape(-1, 4)
        frames = self.parts(q)[1]
        L = np.array([0.5 * product(conjugate(a), b)[1:] for a, b in zip(frames, turn, strict=True)])
        return x / self.mass[:, None], L / self.inertia
