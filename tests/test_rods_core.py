"""Rods: forces against differences of the paper's energies, Jacobians, objectivity, balances, signs, both forms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import gyrod as gd
from gyrod import rotations as ro
from gyrod.equations import compile_system
from gyrod.equations.rods import BLEND
from gyrod.model import CURVATURES, ENDS, INERTIAS, LOADS, SECTIONS

NULLSPACE, ABSOLUTE = ROD_FORMULATIONS = ("nullspace-quaternion", "absolute-quaternion")
LAWS = (*CURVATURES, ("sine", 3), ("tangent", 6))
PAIRS = [(a, b) for a in ENDS for b in ENDS]
GRAVITY = np.array([0.3, -0.5, -9.81])
GRID = (0.0, 0.15, 0.4, 0.55, 0.8, 1.0)
TIME = 0.3  # at which moving ends and loads are looked at

RUBBER = gd.Material(young=2e3, poisson=0.3, density=40.0)
#: All six strains weigh alike, so that no term hides behind another.
BALANCED = {
    "section": None,
    "material": None,
    "stiffness": (3.0, 4.0, 5.0, 0.6, 0.7, 0.8),
    "density_per_length": 2.0,
    "rotary_inertia": (0.02, 0.03, 0.04),
}


def coupled_stiffness(s=0.0):
    """Symmetric, positive definite, all 21 entries different from zero, and different at each s."""
    A = np.random.default_rng(5).normal(size=(6, 6))
    scale = np.sqrt([3.0, 4.0, 5.0, 0.6, 0.7, 0.8])
    return (1.0 + 0.5 * s) * scale[:, None] * (np.eye(6) + 0.12 * (A + A.T)) * scale


# --- the paper's energies, independent of the core -------------------------------------------------------------------


#: Products of 1, e1, e2, e3: row 4 i + j is that of the i-th and the j-th.
TABLE = np.array(
    [
        [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1],
        [0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1], [0, 0, -1, 0],
        [0, 0, 1, 0], [0, 0, 0, -1], [-1, 0, 0, 0], [0, 1, 0, 0],
        [0, 0, 0, 1], [0, 0, 1, 0], [0, -1, 0, 0], [-1, 0, 0, 0],
    ]
)  # fmt: skip


def times(a, b):
    """Product of quaternions."""
    pairs = a[..., :, None] * b[..., None, :]
    return pairs.reshape(*pairs.shape[:-2], 16) @ TABLE


def conj(a):
    return a * np.array([1.0, -1.0, -1.0, -1.0])


def imaginary(v):
    return np.concatenate([np.zeros((*v.shape[:-1], 1)), v], axis=-1)


def turn(p, v):
    """R(p) v = p v conj(p) (2), also for a p that is not of unit length."""
    return times(times(p, imaginary(v)), conj(p))[..., 1:]


def turn_back(p, v):
    return times(times(conj(p), imaginary(v)), p)[..., 1:]


def zeta(law, w):
    """Weights of (26) as functions of w = cos(theta), continued beyond w = 1 (theta imaginary)."""
    inside = np.abs(w) < 1.0
    theta = np.arccos(np.where(inside, w, 0.5))
    eta = np.arccosh(np.where(inside, 2.0, np.maximum(w, 1.0 + 1e-15)))
    if law == "sine":
        return np.ones_like(w)
    if law == "half-sine":
        return np.sqrt(2.0 / (1.0 + w))
    if law == "tangent":
        return 1.0 / w
    if law == "half-tangent":
        return 2.0 / (1.0 + w)
    if law == "angle":
        return np.where(inside, theta / np.sin(theta), eta / np.sinh(eta))
    name, m = law  # (34) with phi = 2 theta: 2 zeta sin(theta) = m sin(2 theta/m) or m tan(2 theta/m)
    real, imag = (np.sin, np.sinh) if name == "sine" else (np.tan, np.tanh)
    return np.where(inside, m * real(2 * theta / m) / np.sin(theta), m * imag(2 * eta / m) / np.sinh(eta)) / 2.0


#: Weights of the eighth-order central difference at 1, 2, 3, 4 steps.
STENCIL = np.array([4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0])


def slope(function, h):
    """Derivative at 0 of a function of a number, of eighth order in h."""
    return sum(c * (function(k * h) - function(-k * h)) for k, c in enumerate(STENCIL, 1)) / h


def gradient(function, q, h):
    """Gradient of a scalar function that broadcasts over leading axes."""
    steps = np.eye(q.size).reshape(q.size, *q.shape)
    return slope(lambda k: function(q + k * steps), h).reshape(q.shape)


def gradient_of_quadratic(function, q):
    """The same for a polynomial of degree 2, of which the simplest difference is exact."""
    steps = np.eye(q.size).reshape(q.size, *q.shape)
    return 0.5 * (function(q + steps) - function(q - steps)).reshape(q.shape)


@dataclass
class Held:
    """Where a held end is, and how it moves."""

    x: Any = None
    v: Any = None
    a: Any = None
    p: Any = None
    Omega: Any = None


class Paper:
    """Energies (23)-(27) of a rod and the forces that follow by differences."""

    def __init__(self, rod, loads=()):
        self.rod, self.loads = rod, loads
        self.N, self.ds = rod.segments, rod.lengths
        clamped = np.array([rod.start.holds_frame, rod.end.holds_frame])
        mean = 0.5 * (self.ds[1:] + self.ds[:-1])
        self.span = np.concatenate([self.ds[:1], mean, self.ds[-1:]])  # to the ghosts: full cells
        self.weight = np.concatenate([self.ds[:1] / 2 * clamped[0], mean, self.ds[-1:] / 2 * clamped[1]])
        C, D = rod.stiffness_at(rod.midpoints), rod.stiffness_at(rod.fractions)
        self.CG, self.CX, self.CK = C[:, :3, :3], C[:, :3, 3:], D[:, 3:, 3:]
        self.cG, self.cK = rod.damping_at(rod.midpoints)[:, :3], rod.damping_at(rod.fractions)[:, 3:]
        self.free = np.flatnonzero(self.weight == 0.0)
        inertia = rod.inertia_at(rod.midpoints)
        m = inertia[:, 0] * self.ds
        self.J = inertia[:, 1:] * self.ds[:, None]
        if rod.inertia == "cylinder":
            self.J[:, :2] += (m * self.ds**2 / 12.0)[:, None]
        share = {"lumped": 0.0, "blended": BLEND}.get(rod.mass, rod.mass)
        self.mass = np.zeros((self.N + 1, self.N + 1))
        for j in range(self.N):
            two = (1 - share) * np.eye(2) / 2 + share * np.array([[2, 1], [1, 2]]) / 6
            self.mass[j : j + 2, j : j + 2] += m[j] * two
        self.tributary = self.mass.sum(axis=1)
        self.G0 = self.K0 = 0.0
        rest = self.strains(rod.positions, rod.quaternions, rod.end_frames)
        self.G0, self.K0 = rest
        if rod.prestrain is not None:
            self.G0 = rod.prestrains
        if rod.precurvature is not None:
            self.K0 = rod.precurvatures

    def strains(self, x, p, frames):
        """Strains (23) of the segments and curvatures (26) at the vertices, less those of the rest shape."""
        lead = np.broadcast_shapes(x.shape[:-2], p.shape[:-2], *(np.shape(f)[:-1] for f in frames))
        x, p = (np.broadcast_to(q, (*lead, *q.shape[-2:])) for q in (x, p))
        u = np.diff(x, axis=-2) / self.ds[:, None]
        G = turn_back(p, u) - np.array([0.0, 0.0, 1.0])
        if self.rod.strain == "stretch":
            G = np.concatenate([G[..., :2], np.linalg.norm(u, axis=-1, keepdims=True) - 1.0], axis=-1)
        frames = [np.broadcast_to(f, p[..., 0, :].shape)[..., None, :] for f in frames]
        ghosts = [times(times(f, conj(p[..., i : i + 1 or None, :])), f) for f, i in zip(frames, (0, -1), strict=True)]
        row = np.concatenate([ghosts[0], p, ghosts[1]], axis=-2)
        W = times(conj(row[..., :-1, :]), row[..., 1:, :])
        K = 2.0 / self.span[:, None] * zeta(self.rod.curvature, W[..., :1]) * W[..., 1:]
        return G - self.G0, K - self.K0

    def elastic(self, x, p, frames):
        """Energy with full sections over half cells; where an end has no moment its curvature is the relaxed one."""
        G, K = self.strains(x, p, frames)
        K = np.array(K)
        weight = self.weight.copy()
        for n in self.free:
            j = min(n, self.N - 1)
            K[..., n, :] = -np.linalg.solve(self.CK[n], (self.CX[j].T @ G[..., j, :, None]))[..., 0]
            weight[n] = 0.5 * self.ds[j]
        V = 0.5 * np.einsum("n,...ni,nij,...nj->...", self.ds, G, self.CG, G)
        V = V + 0.5 * np.einsum("n,...ni,nij,...nj->...", weight, K, self.CK, K)
        return V + 0.5 * np.einsum("n,...ni,nij,...nj->...", self.ds, G, self.CX, K[..., :-1, :] + K[..., 1:, :])

    def rates(self, x, p, frames, v, pd, frames_d, h=5e-4):
        """Rates of strains and curvatures along velocities."""

        def at(k):
            moved = [f + k * fd for f, fd in zip(frames, frames_d, strict=True)]
            return np.concatenate(self.strains(x + k * v, p + k * pd, moved), axis=-2)

        both = slope(at, h)
        return both[..., : self.N, :], both[..., self.N :, :]

    def dissipation(self, *state):
        """D of section 3.2; the dissipated power is 2 D."""
        Gd, Kd = self.rates(*state)
        return np.einsum("n,...ni,ni->...", self.ds, Gd**2, self.cG) + np.einsum(
            "n,...ni,ni->...", self.weight, Kd**2, self.cK
        )

    def turning(self, p, pd):
        """Kinetic energy of rotation (27), with mu(p) of (13)."""
        return 2.0 * np.sum(self.J * times(conj(p), pd)[..., 1:] ** 2, axis=(-2, -1))

    def external(self, t, p, v, Omega):
        """Forces of gravity, loads and drag on the vertices, moments on the segments in their axes."""
        f, mu = self.tributary[:, None] * GRAVITY, np.zeros((self.N, 3))
        self.on_clamps = {0: [], -1: []}  # moments that go straight to a clamp, and whether they follow it
        for load in self.loads:
            if isinstance(load, gd.Drag):
                for j in range(self.N):
                    for n in (j, j + 1):
                        f[n] -= 0.5 * self.ds[j] * turn(p[j], load.coefficient * turn_back(p[j], v[n]))
                mu = mu - self.ds[:, None] * load.rotational * Omega
                continue
            if isinstance(load, gd.Flow):
                self.flow(load, load.velocity(t) if callable(load.velocity) else load.velocity, p, v, f)
                continue
            F, M = (
                np.zeros(3) if q is None else np.array(q(t) if callable(q) else q) for q in (load.force, load.moment)
            )
            if load.span is None:
                self.point(load, F, M, p, f, mu)
            else:
                self.spread(load, F, M, p, f, mu)
        return f, mu

    def flow(self, load, U, p, v, f):
        """Quadratic drag of what of each segment is in the fluid, at its vertices by the lever rule."""
        for j in range(self.N):
            lo, hi = self.rod.fractions[j], self.rod.fractions[j + 1]
            a, b = max(lo, load.span[0]), min(hi, load.span[1])
            xi = (0.5 * (a + b) - lo) / (hi - lo)
            for n, w in ((j, 1 - xi), (j + 1, xi)):
                u = turn_back(p[j], U - v[n])
                speed = np.array([np.hypot(u[0], u[1])] * 2 + [abs(u[2])])
                f[n] += w * max(b - a, 0.0) * self.rod.length * turn(p[j], load.coefficient * speed * u)

    def point(self, load, F, M, p, f, mu):
        """A force acts by the lever rule, a moment on the frames beside it; following ones along frames between."""
        s, mid = load.at, self.rod.midpoints
        j = min(int(np.sum(self.rod.fractions[1:] <= s)), self.N - 1)
        xi = (s - self.rod.fractions[j]) / (self.ds[j] / self.rod.length)
        if load.follow:
            k = j + (1 if xi > 0.5 else -1)
            near = max(j, k)
            k = j - 1 if k == self.N else k  # extrapolated beyond the last midpoint
            eta = (s - mid[j]) / (mid[k] - mid[j]) if k >= 0 else 0.0
            f[j] += (1 - xi) * turn(p[j], F)
            f[j + 1] += xi * turn(p[j], F)
            if eta:
                f[near] += eta * (turn(p[k], F) - turn(p[j], F))
        else:
            f[j] += (1 - xi) * F
            f[j + 1] += xi * F
        frames = np.concatenate([[0.0 if self.weight[0] else -np.inf], mid, [1.0 if self.weight[-1] else np.inf]])
        k = min(max(int(np.sum(frames <= s)), 1), self.N + 1)
        lo, hi = frames[k - 1], frames[k]
        part = 1.0 if np.isinf(lo) else 0.0 if np.isinf(hi) else (s - lo) / (hi - lo)
        for i, w in ((k - 2, 1 - part), (k - 1, part)):
            if 0 <= i < self.N:
                mu[i] += w * (M if load.follow else turn_back(p[i], M))
            else:
                self.on_clamps[0 if i < 0 else -1].append((w * M, load.follow))

    def spread(self, load, F, M, p, f, mu):
        points, weights = np.polynomial.legendre.leggauss(20)
        for j in range(self.N):
            lo, hi = self.rod.fractions[j : j + 2]
            a, b = max(lo, load.span[0]), min(hi, load.span[1])
            for q, w in zip(points, weights, strict=True):
                s = 0.5 * (a + b) + 0.5 * (b - a) * q
                if b > a:
                    ds = 0.5 * (b - a) * self.rod.length * w * load.profile_at([s])[0]
                    force = turn(p[j], ds * F) if load.follow else ds * F
                    f[j] += (hi - s) / (hi - lo) * force
                    f[j + 1] += (s - lo) / (hi - lo) * force
                    mu[j] += ds * M if load.follow else turn_back(p[j], ds * M)

    def split(self, z):
        """Vertices, quaternions and frames of the clamps in a row of numbers."""
        n = 3 * (self.N + 1)
        x, p, frames = np.split(z, [n, n + 4 * self.N], axis=-1)
        lead = z.shape[:-1]
        return x.reshape(*lead, -1, 3), p.reshape(*lead, -1, 4), (frames[..., :4], frames[..., 4:])

    def internal(self, x, p, frames, v, pd, frames_d):
        """-dV/dq - dD/dq' with respect to vertices, quaternions and frames of the clamps, by differences."""
        z, zd = (np.concatenate([np.ravel(q) for q in group]) for group in ((x, p, frames), (v, pd, frames_d)))
        total = gradient(lambda q: self.elastic(*self.split(q)), z, 1e-3)
        if np.any(self.cG) or np.any(self.cK):
            total += gradient_of_quadratic(lambda q: self.dissipation(x, p, frames, *self.split(q)), zd)
        return (np.array(q) for q in self.split(-total))


# --- cases -----------------------------------------------------------------------------------------------------------


def place(t):
    return np.array([0.1 * np.sin(2 * t), 0.2 * t**2, -0.1 * t])


def place_rate(t):
    return np.array([0.2 * np.cos(2 * t), 0.4 * t, -0.1])


def place_acceleration(t):
    return np.array([-0.4 * np.sin(2 * t), 0.4, 0.0])


SPIN = np.array([0.4, -0.9, 0.7])


def moving_end(kind, rod, side):
    """An end of a kind that moves from where the rod starts: x0 + place(t), exp(SPIN t) p0."""
    x0, p0 = rod.positions[side], rod.end_frames[side]
    options: dict[str, Any] = {}
    if kind.holds_position:
        options |= {"at": lambda t: x0 + place(t), "velocity": place_rate}
    if kind.holds_frame:
        options |= {"frame": lambda t: ro.multiply(ro.exp(SPIN * t), p0), "angular_velocity": lambda t: SPIN}
    return kind(**options)


def held(kind, rod, side, t, moves):
    x0, p0 = rod.positions[side], rod.end_frames[side]
    if not moves:
        return Held(x0, np.zeros(3), np.zeros(3), p0, np.zeros(3))
    p = ro.multiply(ro.exp(SPIN * t), p0)
    return Held(x0 + place(t), place_rate(t), place_acceleration(t), p, ro.rotate(ro.conjugate(p), SPIN))


def make(start=gd.Free, end=gd.Free, *, moves=False, **options):
    """A rod on an uneven grid with a twisted and bent initial shape, and its ends."""
    given = {
        "name": "rod",
        "length": 1.3,
        "grid": GRID,
        "initial": gd.Bent((0.5, -0.8, 1.0), start=(0.2, 0.1, 0.4)),
        **({} if "section" in options else BALANCED),
        **options,
    }
    rod = gd.Rod(**given)
    ends = [moving_end(kind, rod, side) if moves else kind() for kind, side in ((start, 0), (end, -1))]
    return gd.Rod(**given, start=ends[0], end=ends[1])


class State:
    """A random state of a rod, near its initial one or not, as arrays and as the core's y."""

    def __init__(self, rod, compiled, seed, *, moves, loads=(), defect=0.0, spread=0.15, speed=1.0):
        rng = np.random.default_rng(seed)
        self.rod, self.compiled, self.t = rod, compiled, TIME
        self.paper = Paper(rod, loads)
        kinds = (type(rod.start), type(rod.end))
        self.ends = [held(kind, rod, side, TIME, moves) for kind, side in zip(kinds, (0, -1), strict=True)]
        N = rod.segments
        self.x = rod.positions + spread * rng.normal(size=(N + 1, 3)) * rod.length / N
        self.v = speed * rng.normal(size=(N + 1, 3))
        self.p = ro.multiply(rod.quaternions, ro.exp(spread * rng.normal(size=(N, 3))))
        self.p = self.p * (1.0 + defect * rng.uniform(-1, 1, size=(N, 1)))
        Omega = speed * rng.normal(size=(N, 3))
        self.pd = 0.5 * times(self.p, imaginary(Omega))
        if compiled.formulation == ABSOLUTE:
            self.pd = self.pd + defect * rng.normal(size=(N, 4))
        n = np.sum(self.p**2, axis=-1, keepdims=True)
        self.Omega = 2.0 * times(conj(self.p), self.pd)[..., 1:] / n
        for end, side, kind in zip(self.ends, (0, -1), kinds, strict=True):
            if kind.holds_position:
                self.x[side], self.v[side] = end.x, end.v
        self.y = np.zeros(compiled.size)
        self.at = [np.array(getattr(compiled.core.layout()[0], key)) for key in "pwxv"]
        rates = self.pd if compiled.formulation == ABSOLUTE else self.Omega
        for where, rows in zip(self.at, (self.p, rates, self.x, self.v), strict=True):
            for at, row in zip(where, rows, strict=True):
                if at >= 0:
                    self.y[at : at + len(row)] = row

    @property
    def frames(self):
        return [end.p for end in self.ends], [0.5 * times(end.p, imaginary(end.Omega)) for end in self.ends]

    def read(self, y, which, width):
        """Rows of vertices or segments in a vector such as y; NaN where an end is held."""
        out = np.full((len(self.at[which]), width), np.nan)
        for row, at in zip(out, self.at[which], strict=True):
            if at >= 0:
                row[:] = y[at : at + width]
        return out

    def accelerations(self):
        f = self.compiled.core.rhs(self.t, self.y)
        a = self.read(f, 3, 3)
        for n, end in ((0, self.ends[0]), (-1, self.ends[1])):
            if np.isnan(a[n, 0]):
                a[n] = end.a
        return a, self.read(f, 1, 4 if self.compiled.formulation == ABSOLUTE else 3)

    def outputs(self):
        found = self.compiled.rod_states(np.array([self.t]), self.y)[0]
        return {key: value[0] for key, value in found.items()}


def compiled_case(rod, formulation, loads=(), **options):
    return compile_system(gd.System(rods=[rod], forces=list(loads), gravity=GRAVITY), formulation, **options)


def check_forces(state, tolerance=1e-9):
    """Mass times acceleration, reactions and multipliers against differences of the paper's energies."""
    paper = state.paper
    frames, frames_d = state.frames
    of_x, of_p, of_f = paper.internal(state.x, state.p, frames, state.v, state.pd, frames_d)
    f, mu = paper.external(state.t, state.p, state.v, state.Omega)
    of_x = of_x + f
    a, spin = state.accelerations()
    free = state.at[3] >= 0
    inertia = paper.mass @ a
    scale = np.abs(of_x).max()
    assert np.abs(inertia - of_x)[free].max() < tolerance * scale
    found = state.outputs()
    for n, key in ((0, "start"), (-1, "end")):
        hold = np.zeros(3) if free[n] else inertia[n] - of_x[n]
        reaction = found["reactions"][0:3] if n == 0 else found["reactions"][6:9]
        assert np.abs(reaction - hold).max() < 10 * tolerance * scale, key
        if paper.weight[n]:  # a turn of the clamp by Theta in its axes moves p0 by p0 Theta/2
            moment = turn(frames[n], -0.5 * times(conj(frames[n]), of_f[n])[1:])
            for M, follow in paper.on_clamps[n]:
                moment = moment - (turn(frames[n], M) if follow else M)
            reaction = found["reactions"][3:6] if n == 0 else found["reactions"][9:12]
            assert np.abs(reaction - moment).max() < tolerance * np.abs(of_p).max(), key
    if state.compiled.formulation == NULLSPACE:
        moment = 0.5 * times(conj(state.p), of_p)[:, 1:] + mu
        turning = paper.J * spin + np.cross(state.Omega, paper.J * state.Omega)
        assert np.abs(turning - moment).max() < tolerance * np.abs(moment).max()
        return
    n = np.sum(state.p**2, axis=-1, keepdims=True)
    of_p = of_p + 2.0 * times(state.p, imaginary(mu)) / n

    def impulse(k):  # dT/dp' = mu(p) p'
        p, pd = state.p + k * state.pd, state.pd + k * spin
        return 4.0 * times(p, imaginary(paper.J * times(conj(p), pd)[:, 1:]))

    left = slope(impulse, 1e-2 / np.abs(spin).max()) - gradient(lambda q: paper.turning(q, state.pd), state.p, 1e-2)
    rest = left - of_p  # = -lambda p
    multiplier = -np.sum(rest * state.p, axis=-1, keepdims=True) / n
    scale = np.abs(of_p).max()
    assert np.abs(rest + multiplier * state.p).max() < tolerance * scale
    if np.abs(n - 1.0).max() < 1e-12:  # (30) holds there
        assert np.abs(found["multipliers"] - multiplier[:, 0]).max() < tolerance * scale
    assert np.abs(np.sum(state.p * spin, axis=-1) + np.sum(state.pd**2, axis=-1)).max() < 1e-12 * np.abs(spin).max()


DAMPING = gd.Damping(shear=(0.1, 0.15), extension=0.2, bending=(0.02, 0.03), torsion=0.04)


# --- forces ----------------------------------------------------------------------------------------------------------


@cache
def pairs_of_ends(formulation, law):
    """States with all pairs of ends, damped; every other one with moving ends, on the unit sphere or not."""
    states = []
    for k, (start, end) in enumerate(PAIRS, LAWS.index(law)):
        moves, defect = k % 2 == 1, 0.02 * (k // 2 % 2)
        rod = make(start, end, curvature=law, damping=DAMPING, moves=moves)
        states.append(State(rod, compiled_case(rod, formulation), seed=k, moves=moves, defect=defect))
    return states


@pytest.mark.spread
@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
def test_forces_of_every_curvature_and_pair_of_ends(formulation, law):
    for state in pairs_of_ends(formulation, law):
        check_forces(state)


SECTION_VALUES = {
    gd.Circle: {"radius": 0.12},
    gd.Ring: {"radius": 0.15, "inner": 0.1},
    gd.Rectangle: {"width": 0.2, "height": 0.3, "shear": (0.8, 0.9)},
    gd.Section: {"area": 0.06, "I1": 4e-4, "I2": 3e-4, "polar": 6e-4, "torsion": 2e-4},
}


def tapered(kind):
    """The section of a kind whose dimensions fall along the rod."""
    return kind(
        **{
            name: value if name == "shear" else (lambda s, value=value: value * (1.2 - 0.4 * s))
            for name, value in SECTION_VALUES[kind].items()
        }
    )


def test_registries_are_complete():
    assert set(SECTION_VALUES) == set(SECTIONS)
    assert {type(load) for loads in LOADED.values() for load in loads} == set(LOADS)


VARIANTS = {
    **{f"{k.__name__}": {"section": k(**v), "material": RUBBER} for k, v in SECTION_VALUES.items()},
    **{f"{k.__name__} tapered": {"section": tapered(k), "material": RUBBER} for k in SECTION_VALUES},
    "viscous": {"section": tapered(gd.Rectangle), "material": RUBBER, "damping": gd.Damping.viscous(30.0, 10.0)},
    "damping ratio": {"damping": gd.Damping.ratio(0.1, 0.5)},
    "coupled": {**BALANCED, "stiffness": coupled_stiffness(), "damping": DAMPING},
    "coupled tapered": {**BALANCED, "stiffness": coupled_stiffness},
    "coupled stretch": {**BALANCED, "stiffness": coupled_stiffness(), "strain": "stretch", "damping": DAMPING},
    "only strains coupled": {
        **BALANCED,
        "stiffness": coupled_stiffness() * np.kron(np.eye(2), np.ones((3, 3))),
    },
    "stretch": {"strain": "stretch", "damping": DAMPING},
    "precurvature": {"precurvature": (1.0, -2.0, 0.5), "damping": DAMPING},
    "precurvature(s)": {"precurvature": lambda s: (np.sin(s), 2 * s, -1.0)},
    "prestrain": {"prestrain": lambda s: (0.02, -0.03 * s, 0.1)},
    "straight": {"initial": gd.Straight((0, 0, 0), (0, 1.3, 0)), "grid": None, "segments": 4},
    "two segments": {"grid": None, "segments": 2, "damping": DAMPING},
    "blended": {"mass": "blended", "damping": DAMPING},
    "consistent": {"mass": 1.0},
    "a little blended": {"mass": 0.2},
    **{inertia: {"inertia": inertia} for inertia in INERTIAS},
}

FORCE, MOMENT = (1.0, -2.0, 3.0), (0.5, 0.3, -0.7)


def growing(t):
    return np.array([1.0, 2.0 * t, -(t**2)])


LOADED = {
    "at the end": [gd.RodLoad("rod", force=FORCE, moment=MOMENT)],
    "at the end, following": [gd.RodLoad("rod", force=FORCE, moment=MOMENT, follow=True)],
    **{
        f"at {s}{', following' * follow}": [gd.RodLoad("rod", at=s, force=FORCE, moment=MOMENT, follow=follow)]
        for s in (0.0, 0.03, 0.275, 0.42, 0.97)
        for follow in (False, True)
    },
    "in time": [gd.RodLoad("rod", at=0.6, force=growing, moment=growing)],
    "in time, following": [gd.RodLoad("rod", at=0.6, force=growing, moment=growing, follow=True)],
    "spread": [gd.RodLoad("rod", span=(0.1, 0.9), force=FORCE, moment=MOMENT, profile=lambda s: s**2)],
    "spread, following": [
        gd.RodLoad("rod", span=(0, 0.7), force=FORCE, moment=growing, profile=lambda s: (1, s, s**3), follow=True)
    ],
    "drag": [gd.Drag("rod", 0.3), gd.Drag("rod", (0.1, 0.2, 0.3), rotational=(0.03, 0.02, 0.01))],
    "flow": [gd.Flow("rod", growing, (0.1, 0.2, 0.3)), gd.Flow("rod", (0, 0.5, -1), 0.4, span=(0.1, 0.9))],
}

#: Everything that a rod can be made of, with the loads on it.
EVERYTHING = {**{k: (v, ()) for k, v in VARIANTS.items()}, **{k: ({}, v) for k, v in LOADED.items()}}
SOME_PAIRS = [
    (gd.Free, gd.Free),
    (gd.Clamped, gd.Free),
    (gd.Hinged, gd.Guided),
    (gd.Guided, gd.Clamped),
    (gd.Clamped, gd.Clamped),
]


@cache
def variants(formulation, name):
    """States of a variant with some pairs of ends: moving on the unit sphere, at rest off it; curvatures take turns."""
    options, loads = EVERYTHING[name]
    states = []
    for k, (start, end) in enumerate(SOME_PAIRS):
        moves = k % 2 == 0
        rod = make(start, end, curvature=LAWS[(k + len(name)) % len(LAWS)], moves=moves, **options)
        compiled, defect = compiled_case(rod, formulation, loads), 0.0 if moves else 0.01
        states.append(State(rod, compiled, seed=k, moves=moves, loads=loads, defect=defect))
    return states


@pytest.mark.spread
@pytest.mark.parametrize("name", EVERYTHING)
@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
def test_forces_of_every_variant(formulation, name):
    for state in variants(formulation, name):
        check_forces(state)


# --- derivatives -----------------------------------------------------------------------------------------------------


def check_jacobian(state):
    core, t, y = state.compiled.core, state.t, state.y
    exact = core.jacobian_dual(t, y)
    found = core.jacobian(t, y)
    assert (np.abs(found - exact) <= 1e-10 * np.abs(exact).max(axis=1, keepdims=True)).all()
    b = np.random.default_rng(1).normal(size=len(y))
    for shift in (3.0, 200.0):
        x = np.linalg.solve(shift * np.eye(len(y)) - exact, b)
        assert np.abs(core.solve_shifted(t, y, shift, b) - x).max() < 1e-9 * np.abs(x).max()


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
def test_jacobian_of_every_curvature_and_pair_of_ends(formulation, law):
    for state in pairs_of_ends(formulation, law):
        check_jacobian(state)


@pytest.mark.spread
@pytest.mark.parametrize("name", EVERYTHING)
@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
def test_jacobian_of_every_variant(formulation, name):
    for state in variants(formulation, name):
        check_jacobian(state)


def test_baumgarte():
    """g'' + 2 r g' + omega² g = 0 for g = (|p|² - 1)/2, in place of g'' = 0; the rest stays."""
    omega, r = 7.0, 5.0
    for k, defect in enumerate((0.0, 0.02)):
        rod = make(gd.Clamped, gd.Hinged, damping=DAMPING, moves=True)
        plain = State(rod, compiled_case(rod, ABSOLUTE), seed=k, moves=True, defect=defect)
        options = {"baumgarte_omega": omega, "baumgarte_r": r}
        state = State(rod, compiled_case(rod, ABSOLUTE, **options), seed=k, moves=True, defect=defect)
        check_jacobian(state)
        (a, spin), (b, other) = state.accelerations(), plain.accelerations()
        np.testing.assert_array_equal(a, b)
        p, pd = state.p, state.pd
        g, gd1 = 0.5 * (np.sum(p**2, axis=1) - 1.0), np.sum(p * pd, axis=1)
        gdd = np.sum(p * spin, axis=1) + np.sum(pd**2, axis=1)
        assert np.abs(gdd + 2 * r * gd1 + omega**2 * g).max() < 1e-12 * np.abs(spin).max()
        across = times(conj(p), spin - other)[:, 1:]
        assert np.abs(across).max() < 1e-12 * np.abs(spin).max()


@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
def test_dual_numbers_agree_with_differences(formulation):
    """The oracle itself: eighth-order differences of the right-hand side, of the richest mixture."""
    for state in variants(formulation, "coupled stretch")[1::2]:
        core, t, y = state.compiled.core, state.t, state.y
        exact = core.jacobian_dual(t, y)
        for k in range(len(y)):
            unit = np.eye(len(y))[k]
            column = slope(lambda h, core=core, t=t, y=y, unit=unit: core.rhs(t, y + h * unit), 1e-3)
            assert np.abs(column - exact[:, k]).max() < 1e-9 * np.abs(exact).max()


@pytest.mark.parametrize("name", ["blended", "in time", "in time, following", "coupled"])
@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
def test_time_derivative(formulation, name):
    # With a blended mass the acceleration of a moving end counts, a second difference of what the user gave.
    tolerance = 1e-4 if name == "blended" else 1e-6
    for state in variants(formulation, name):
        core, t, y = state.compiled.core, state.t, state.y
        exact = slope(lambda h, core=core, t=t, y=y: core.rhs(t + h, y), 2e-2)
        assert np.abs(core.time_derivative(t, y) - exact).max() <= tolerance * np.abs(exact).max()


# --- energies and powers ---------------------------------------------------------------------------------------------


@pytest.mark.spread
@pytest.mark.parametrize("name", EVERYTHING)
@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
def test_power(formulation, name):
    """The energies are those of the paper; what they lose is 2 D, what they gain is the power of loads and ends."""
    for state in variants(formulation, name)[2 if formulation == NULLSPACE else 4 :: 2]:  # those on the unit sphere
        paper, (frames, frames_d) = state.paper, state.frames
        strain, curvature, moving, turning, gravity, _, lost, given, ends = state.outputs()["measures"]
        elastic = paper.elastic(state.x, state.p, frames)
        assert strain + curvature == pytest.approx(elastic, rel=1e-12)
        assert moving == pytest.approx(0.5 * np.einsum("ni,nm,mi->", state.v, paper.mass, state.v), rel=1e-12)
        assert turning == pytest.approx(paper.turning(state.p, state.pd), rel=1e-12)
        assert gravity == pytest.approx(-np.sum(paper.tributary @ state.x * GRAVITY), rel=1e-12)
        drag = 0.0
        for load in (q for q in paper.loads if isinstance(q, gd.Drag)):
            drag += np.sum(paper.ds[:, None] * load.rotational * state.Omega**2)
            for n in (slice(None, -1), slice(1, None)):
                drag += 0.5 * np.sum(paper.ds[:, None] * load.coefficient * turn_back(state.p, state.v[n]) ** 2)
        two_D = 2.0 * paper.dissipation(state.x, state.p, frames, state.v, state.pd, frames_d)
        assert lost == pytest.approx(two_D + drag, rel=1e-10, abs=1e-13)

        f = state.compiled.core.rhs(state.t, state.y)

        def energy(h, state=state, f=f):
            row = state.compiled.rod_states(np.array([state.t + h]), state.y + h * f)[0]
            return row["measures"][0, :6]

        change = slope(energy, 0.1 / np.abs(f).max())
        scale = np.abs([*change, lost, given, ends]).max()
        # Accelerations of led ends are second differences, good to 1e-10.
        assert abs(change.sum() + lost - given - ends) < 2e-10 * scale


# --- objectivity, momentum, energy -----------------------------------------------------------------------------------


@pytest.mark.spread
@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("distance", [1.0, 1e3])
@pytest.mark.parametrize("strain", ["cosserat", "stretch"])
def test_strains_are_objective(law, distance, strain):
    rng = np.random.default_rng(3)
    shape = gd.Bent((0.5, -0.8, 1.0), start=(0.2, 0.1, 0.4))
    for kinds in ((gd.Free, gd.Free), (gd.Clamped, gd.Clamped)):
        rod = make(*kinds, curvature=law, strain=strain, initial=shape)
        q, b = ro.exp(rng.normal(size=3)), distance * rng.normal(size=3)
        q = q / np.linalg.norm(q)
        there = gd.Bent(shape.curvature, ro.rotate(q, shape.start) + b, ro.multiply(q, shape.orientation))
        other = make(*kinds, curvature=law, strain=strain, initial=there)
        here, moved = (State(r, compiled_case(r, NULLSPACE), seed=1, moves=False) for r in (rod, other))
        moved.x, moved.p = ro.rotate(q, here.x) + b, ro.multiply(q, here.p)
        y = moved.y.copy()
        for at, row in [*zip(moved.at[0], moved.p, strict=True), *zip(moved.at[2], moved.x, strict=True)]:
            if at >= 0:
                y[at : at + len(row)] = row
        moved.y = y
        found, expected = moved.outputs(), here.outputs()
        bound = 4.0 * np.finfo(float).eps * np.abs(moved.x).max() / rod.lengths.min()
        bound += 4.0 * np.finfo(float).eps / rod.lengths.min()  # of the frames
        for key in ("strain", "curvature"):
            assert np.abs(found[key] - expected[key]).max() < bound


def thrown(**options):
    """A free rod that flies, spins and vibrates."""
    return make(
        precurvature=(0.0, 1.0, -0.5),
        velocity=lambda s: (1.0, 0.3 * s, np.sin(3 * s)),
        angular_velocity=lambda s: (0.5, s, 2.0 - s),
        **options,
    )


@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"damping": DAMPING},
        {"mass": "blended", "strain": "stretch", "curvature": "tangent"},
        {**BALANCED, "stiffness": coupled_stiffness(), "inertia": "cylinder", "curvature": ("sine", 3)},
    ],
    ids=["plain", "damped", "blended", "coupled"],
)
def test_momenta_of_a_free_rod(formulation, options):
    system = gd.System(rods=[thrown(**options)], gravity=(0, 0, 0))
    motion = gd.simulate(system, 2.0, method="dop853", rtol=1e-11, formulation=formulation)
    p, L = motion.momentum, motion.angular_momentum
    assert np.abs(p - p[0]).max() < 1e-13 * np.abs(p[0]).max() * len(motion.t) ** 0.5
    assert np.abs(L - L[0]).max() < 1e-10 * np.abs(L[0]).max()
    energy = motion.energy
    if "damping" not in options:
        assert np.abs(energy.total - energy.total[0]).max() < 1e-10 * energy.total[0]
        assert not energy.dissipated.any()
    else:
        assert (np.diff(energy.total) < 0.0).all()
        assert energy.dissipated[-1] > 0.1
        assert np.abs(energy.total + energy.dissipated - energy.total[0]).max() < 1e-8 * energy.total[0]
    assert np.abs(energy.balance).max() < 1e-8 * energy.total[0]
    assert not energy.work.any()


def test_momenta_of_a_falling_rod():
    rod = thrown(mass="blended")
    motion = gd.simulate(gd.System(rods=[rod], gravity=GRAVITY), 1.0, method="dop853", rtol=1e-11)
    m = 2.0 * rod.length
    fall = motion.momentum - motion.momentum[0] - m * motion.t[:, None] * GRAVITY
    assert np.abs(fall).max() < 1e-11 * m * 9.81


def swinging(t):
    return np.array([0.1 * np.sin(7 * t), 0.05 * (1 - np.cos(9 * t)), 0.2 * t**2])


def tilting(t):
    return ro.exp((0.3 * np.sin(5 * t), 0.2 * t, -0.4 * t))


def driven(start, end, *, loads=(), **options):
    """A rod along z from the origin that stands; functions of time that hold an end are relative to where it starts."""
    rod = gd.Rod(
        "rod", 1.3, start=start, end=end, initial=gd.Straight((0, 0, 0), (0, 0, 1.3)), grid=GRID,
        velocity=lambda s: (0.0, 0.0, 0.0), **BALANCED, **options,
    )  # fmt: skip
    return gd.System(rods=[rod], forces=list(loads), gravity=(0, 1.0, -2.0))


TOP = np.array([0.0, 0.0, 1.3])
EXCHANGES = {
    "hinge moves": driven(gd.Hinged(at=swinging), gd.Free(), damping=DAMPING),
    "clamp moves": driven(gd.Clamped(at=swinging, frame=tilting), gd.Free(), damping=DAMPING),
    "clamp moves, blended": driven(gd.Clamped(at=swinging, frame=tilting), gd.Free(), mass="blended"),
    "guide turns": driven(gd.Hinged(), gd.Guided(frame=tilting), damping=DAMPING, curvature="tangent"),
    "both move": driven(
        gd.Clamped(frame=tilting), gd.Clamped(at=lambda t: TOP + swinging(t), frame=tilting), curvature="half-sine"
    ),
    "follower": driven(
        gd.Clamped(), gd.Free(), loads=[gd.RodLoad("rod", force=(0.5, 0, -0.5), moment=(0, 0.1, 0.1), follow=True)]
    ),
    "spread": driven(
        gd.Clamped(), gd.Hinged(), loads=[gd.RodLoad("rod", span=(0, 1), force=growing, moment=(0.1, 0.1, 0.1))]
    ),
    "dead": driven(gd.Clamped(), gd.Free(), loads=[gd.RodLoad("rod", at=0.7, force=(1, 0, 1))]),
    "drag": driven(gd.Hinged(), gd.Free(), loads=[gd.Drag("rod", (0.3, 0.2, 0.1), rotational=0.02)]),
    "flow": driven(gd.Hinged(), gd.Free(), loads=[gd.Flow("rod", (0.5, 2, 0), 0.3), gd.Flow("rod", growing, 0.1)]),
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_energy_balance(name):
    """Energy + dissipated - work stays, whoever drives the rod."""
    still = name in ("follower", "spread", "dead", "drag", "flow")
    formulation = ROD_FORMULATIONS[len(name) % 2]
    motion = gd.simulate(EXCHANGES[name], 1.5 if still else 0.1, method="dop853", rtol=1e-8, formulation=formulation)
    energy = motion.energy
    scale = energy.kinetic.max() + np.abs(energy.work).max()
    assert np.abs(energy.balance).max() < 1e-6 * scale
    assert (np.abs(energy.work[-1]) > 1e-2 * scale) == (name not in ("dead", "drag"))


@pytest.mark.parametrize("degree", [None, 2])
def test_a_rod_that_falls_in_a_current_reaches_its_own_velocity(degree):
    """Flat, so that it does not bend: v = V tanh(t g/V) with V² = m g/c; and along itself, with what it has there."""
    m, c, along, g = 0.4, 3.0, 0.2, 9.81
    for axis, drag in ((1.0, 0.0, 0.0), c), ((0.0, 0.0, 1.0), along):
        mesh = {"segments": 2} if degree is None else {"segments": 1, "degree": degree}
        rod = gd.Rod(
            "rod", 1.0, initial=gd.Straight((0, 0, 0), axis), stiffness=(1e3, 1e3, 1e3, 1, 1, 1),
            density_per_length=m, rotary_inertia=(1e-3, 1e-3, 1e-3), start=gd.Free(), **mesh,
        )  # fmt: skip
        flow = gd.Flow("rod", (0, 0, 0.5), coefficient=(c, c, along))
        motion = gd.simulate(gd.System(rods=[rod], forces=[flow]), 1.0, output=np.linspace(0, 1, 5), rtol=1e-9)
        still, V = -0.5, np.sqrt(m * g / drag)  # seen from the fluid it starts with -0.5 m/s
        t0 = np.arctanh(-still / V) * V / g
        expected = 0.5 - V * np.tanh((motion.t + t0) * g / V)
        for v in motion["rod"].velocities[:, :, 2].T:
            np.testing.assert_allclose(v, expected, rtol=0, atol=1e-6 * V)


# --- signs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
def test_the_sign_of_a_clamp_does_not_matter(formulation, law):
    """Each clamp's quaternion taken with the other sign, fixed or moving."""
    rod = make(gd.Clamped, gd.Clamped, curvature=law, damping=DAMPING)
    state = State(rod, compiled_case(rod, formulation), seed=2, moves=False)
    expected = state.compiled.core.rhs(TIME, state.y)
    given = {"name": "rod", "length": rod.length, "grid": GRID, "initial": rod.initial, **BALANCED}
    for signs in ((1, -1), (-1, 1), (-1, -1)):
        for moving in (False, True):
            frames = [sign * q for sign, q in zip(signs, rod.end_frames, strict=True)]
            ends = [gd.Clamped(frame=(lambda t, q=q: q) if moving else q) for q in frames]
            other = gd.Rod(**given, start=ends[0], end=ends[1], curvature=law, damping=DAMPING)
            found = compiled_case(other, formulation).core.rhs(TIME, state.y)
            # Rounding of the rest shape: 2e-13 with other BLAS kernels; a wrong sign is of the size of the whole.
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_a_clamp_whose_sign_jumps_while_it_turns():
    """A frame as a function of time may change sides: matrices do not know signs."""
    first, second = (
        gd.simulate(driven(gd.Clamped(frame=frame), gd.Free(), damping=DAMPING), 0.05, method="dop853", rtol=1e-9)
        for frame in (tilting, lambda t: tilting(t) * (-1 if t > 0.02 else 1))
    )
    assert np.abs(first.y[-1] - second.y[-1]).max() < 1e-9


def test_curvature_tangent_does_not_know_signs():
    """K = 2 Im W/Re W: any frame along the rod may be taken with the other sign."""
    rod = make(gd.Clamped, gd.Free, curvature="tangent", damping=DAMPING)
    state = State(rod, compiled_case(rod, NULLSPACE), seed=2, moves=False)
    core = state.compiled.core
    expected = core.rhs(TIME, state.y)
    for j, at in enumerate(state.at[0]):
        y = state.y.copy()
        y[at : at + 4] *= -1.0
        f = core.rhs(TIME, y)
        f[at : at + 4] *= -1.0
        np.testing.assert_allclose(f, expected, rtol=0, atol=1e-13 * np.abs(expected).max(), err_msg=str(j))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_all_signs_at_once(law):
    rod = make(gd.Clamped, gd.Guided, curvature=law, damping=DAMPING)
    state = State(rod, compiled_case(rod, NULLSPACE), seed=2, moves=False)
    expected = state.compiled.core.rhs(TIME, state.y)
    rows = (state.at[0][:, None] + np.arange(4)).ravel()
    y = state.y.copy()
    y[rows] *= -1.0
    f = state.compiled.core.rhs(TIME, y)
    f[rows] *= -1.0
    np.testing.assert_array_equal(f, expected)


# --- the corrected formulas of the paper -----------------------------------------------------------------------------


def zeta_rate(law, w, z):
    """zeta'(w) of the errata."""
    return {
        "sine": 0.0 * w,
        "half-sine": -z / (2 * (1 + w)),
        "tangent": -1 / w**2,
        "half-tangent": -2 / (1 + w) ** 2,
        "angle": (w * z - 1) / (1 - w**2),
    }[law]


@pytest.mark.parametrize("law", CURVATURES)
def test_equations_of_motion_of_the_errata(law):
    """(29) with m, the rate of K, mu^# with 1/4, p' I (conj(p') p), the variational force of a clamp."""
    rod = make(
        gd.Clamped, gd.Free, curvature=law, damping=DAMPING, initial=None, grid=None, segments=5, precurvature=(0, 0, 0)
    )
    state = State(rod, compiled_case(rod, ABSOLUTE), seed=4, moves=False)
    x, p, pd, ds = state.x, state.p, state.pd, rod.length / 5
    C, c = np.diag(rod.stiffness), rod.damping_at([0.5])[0]
    u, ud = np.diff(x, axis=0) / ds, np.diff(state.v, axis=0) / ds
    G = turn_back(p, u)
    Gd = turn_back(p, ud) + np.cross(G, state.Omega)
    F = C[:3] * (G - [0, 0, 1]) + 2 * c[:3] * Gd

    p0 = rod.end_frames[0]
    ghost = times(times(p0, conj(p[0])), p0)
    ghost_d = times(times(p0, conj(pd[0])), p0)
    row, row_d = np.vstack([ghost, p]), np.vstack([ghost_d, pd])
    W = times(conj(row[:-1]), row[1:])
    Wd = times(conj(row_d[:-1]), row[1:]) + times(conj(row[:-1]), row_d[1:])
    w, z = W[:, :1], zeta(law, W[:, :1])
    rate = zeta_rate(law, w, z)
    K = 2 / ds * z * W[:, 1:]
    Kd = 2 / ds * (z * Wd[:, 1:] + rate * Wd[:, :1] * W[:, 1:])
    M = C[3:] * K + 2 * c[3:] * Kd
    m = rate * np.sum(M * W[:, 1:], axis=1, keepdims=True)

    def accelerations(m, clamp):
        force = times(times(imaginary(np.diff(x, axis=0)), p), imaginary(F)) * 2.0
        for n in range(1, 5):  # vertex n between the segments n - 1 and n
            force[n] -= 2 * times(p[n - 1], z[n] * imaginary(M[n]) + [*m[n], 0, 0, 0])
            force[n - 1] += 2 * times(p[n], z[n] * imaginary(M[n]) - [*m[n], 0, 0, 0])
        force[0] += clamp(m[0])
        I = state.paper.J  # noqa: E741
        force += 8.0 * times(pd, imaginary(I * times(conj(pd), p)[:, 1:]))
        sharp = times(p, imaginary(times(conj(p), force)[:, 1:] / I)) / 4.0
        return sharp - np.sum(pd**2, axis=1, keepdims=True) * p

    def variational(m):
        zM = z[0] * imaginary(M[0])
        return -(times(ghost, zM) + times(times(times(p0, zM), conj(p[0])), p0) + 2 * m * ghost)

    def naive(m):  # the ghost held still
        return -2 * (times(ghost, z[0] * imaginary(M[0])) + m * ghost)

    _, spin = state.accelerations()
    size = np.abs(spin).max()
    assert np.abs(accelerations(m, variational) - spin).max() < 1e-12 * size
    printed = np.abs(accelerations(0 * m, variational) - spin).max()
    assert printed < 1e-12 * size if law == "sine" else printed > 1e-4 * size
    assert np.abs(accelerations(m, naive) - spin).max() > 1e-4 * size


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 0.05, 0.3, 0.8, 1.4])
def test_curvature_of_two_frames(law, angle):
    """K ds = eta(phi) of (34), from parallel frames to far apart, and its derivative along the turn."""
    rod = gd.Rod("rod", 2.0, 2, curvature=law, precurvature=(0, 0, 0), **BALANCED)
    compiled = compile_system(gd.System(rods=[rod], gravity=(0, 0, 0)), NULLSPACE)
    axis = np.array([0.6, 0.0, 0.8])
    p_at = compiled.core.layout()[0].p
    y = compiled.y0.copy()
    y[p_at[1] : p_at[1] + 4] = ro.multiply(y[p_at[0] : p_at[0] + 4], ro.exp(angle * axis))
    K = compiled.rod_states(np.zeros(1), y)[0]["curvature"][0, 1]
    eta = {
        "sine": 2 * np.sin(angle / 2),
        "half-sine": 4 * np.sin(angle / 4),
        "tangent": 2 * np.tan(angle / 2),
        "half-tangent": 4 * np.tan(angle / 4),
        "angle": angle,
    }
    expected = eta[law] if isinstance(law, str) else law[1] * (np.sin if law[0] == "sine" else np.tan)(angle / law[1])
    assert np.abs(K - expected * axis).max() < 1e-15 + 1e-15 * abs(expected)


@pytest.mark.parametrize(("family", "law"), [(("sine", 2), "sine"), (("sine", 4), "half-sine"),
                                             (("tangent", 2), "tangent"), (("tangent", 4), "half-tangent"),
                                             (("sine", 1e5), "angle"), (("tangent", 1e5), "angle")])  # fmt: skip
def test_families_contain_the_five(family, law):
    rods = [make(gd.Clamped, gd.Free, curvature=c, damping=DAMPING) for c in (family, law)]
    found, expected = (
        State(rod, compiled_case(rod, NULLSPACE), seed=6, moves=False, spread=0.4).accelerations()[1] for rod in rods
    )
    assert np.abs(found - expected).max() < (1e-8 if family[1] > 4 else 1e-12) * np.abs(expected).max()


# --- both forms, all methods -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_both_forms_have_the_same_accelerations(law):
    for a, b in zip(*(pairs_of_ends(form, law) for form in ROD_FORMULATIONS), strict=True):
        if np.abs(np.sum(a.p**2, axis=1) - 1.0).max() > 1e-12:
            continue
        (xa, spin), (xb, pdd) = a.accelerations(), b.accelerations()
        assert np.abs(xa - xb).max() < 1e-10 * np.abs(xa).max()
        other = 2.0 * (times(conj(b.p), pdd) + times(conj(b.pd), b.pd))[:, 1:]
        assert np.abs(spin - other).max() < 1e-10 * np.abs(spin).max()


@pytest.mark.parametrize("name", ["plain", "clamped", "coupled", "blended"])
def test_both_forms_have_the_same_motion(name):
    rod = {
        "plain": lambda: thrown(),
        "clamped": lambda: make(gd.Clamped, gd.Guided, damping=DAMPING, precurvature=(0, 0, 0)),
        "coupled": lambda: make(gd.Hinged, gd.Free, **{**BALANCED, "stiffness": coupled_stiffness()}),
        "blended": lambda: make(gd.Clamped, gd.Hinged, mass="blended", strain="stretch", curvature="half-tangent"),
    }[name]()
    system = gd.System(rods=[rod], gravity=GRAVITY)
    tracks = [
        gd.simulate(system, 1.0, method="dop853", rtol=1e-11, formulation=form, output=[0.5, 1.0])["rod"]
        for form in ROD_FORMULATIONS
    ]
    for key in ("positions", "velocities", "directors", "Omega", "strain", "curvature", "force", "moment"):
        a, b = (getattr(track, key) for track in tracks)
        assert np.abs(a - b).max() < 1e-8 * max(1.0, np.abs(a).max()), key


@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
@pytest.mark.parametrize("method", gd.METHODS)
def test_every_method(formulation, method):
    rod = make(gd.Clamped, gd.Free, damping=DAMPING, precurvature=(0, 0, 0), curvature="half-sine")
    system = gd.System(rods=[rod], gravity=GRAVITY, forces=[gd.RodLoad("rod", force=(1, 0, 0), follow=True)])
    exact = gd.simulate(system, 1.0, method="dop853", rtol=1e-12, output=[1.0])["rod"]
    motion = gd.simulate(system, 1.0, method=method, rtol=1e-8, formulation=formulation, output=[1.0])
    track = motion["rod"]
    assert np.abs(track.positions - exact.positions).max() < 1e-6
    assert np.abs(track.directors - exact.directors).max() < 1e-6
    assert np.abs(track.velocities - exact.velocities).max() < 1e-5
    assert motion.drift.position.max() < 1e-14
