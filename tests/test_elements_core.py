"""Rods of elements in the core: forces against differences of their energies, Jacobians, powers, objectivity, signs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from test_rods_core import (
    ABSOLUTE,
    BALANCED,
    DAMPING,
    FORCE,
    GRAVITY,
    LOADED,
    MOMENT,
    NULLSPACE,
    PAIRS,
    ROD_FORMULATIONS,
    RUBBER,
    SOME_PAIRS,
    TIME,
    check_jacobian,
    conj,
    coupled_stiffness,
    gradient,
    gradient_of_quadratic,
    growing,
    held,
    imaginary,
    moving_end,
    slope,
    tapered,
    times,
    turn,
    turn_back,
)

import gyrod as gd
from gyrod import rotations as ro
from gyrod.equations import compile_system
from gyrod.motion.contacts import budgets

DEGREES = (2, 3, 4)
#: Ends of elements; more than the core takes at once, and of sizes that differ.
FEW, MANY = (0.0, 0.4, 1.0), (0.0, 0.15, 0.4, 0.55, 0.8, 1.0)


# --- the energies of elements, independent of the core ---------------------------------------------------------------


class Continuum:
    """Strains at Gauss points of polynomials through the nodes, their energies, and the forces that follow."""

    def __init__(self, rod, forces=()):
        self.rod, self.forces = rod, forces
        p, ends = rod.degree, rod.length * rod.mesh.ends
        x, w = np.polynomial.legendre.leggauss(p)
        inner = np.polynomial.legendre.Legendre.basis(p).deriv()
        nodes = np.concatenate([[-1.0], inner.roots(), [1.0]])
        lobatto = 2.0 / (p * (p + 1) * np.polynomial.legendre.Legendre.basis(p)(nodes) ** 2)
        powers = np.linalg.inv(np.vander(nodes, increasing=True))
        values = np.vander(x, p + 1, increasing=True) @ powers
        slopes = np.array([[k * z ** max(k - 1, 0) for k in range(p + 1)] for z in x]) @ powers
        cells, self.V = len(ends) - 1, p * (len(ends) - 1) + 1
        self.I, self.D = np.zeros((p * cells, self.V)), np.zeros((p * cells, self.V))
        self.w, self.W, self.s = np.zeros(p * cells), np.zeros(self.V), np.zeros(self.V)
        for e, h in enumerate(np.diff(ends)):
            points, at = slice(p * e, p * e + p), slice(p * e, p * e + p + 1)
            self.I[points, at], self.D[points, at] = values, 2.0 / h * slopes
            self.w[points] = 0.5 * h * w
            self.W[at] += 0.5 * h * lobatto
            self.s[at] = (ends[e] + 0.5 * h * (1.0 + nodes)) / rod.length
        self.gauss = self.I @ self.s
        self.C, self.c = rod.stiffness_at(self.gauss), rod.damping_at(self.gauss)
        inertia = rod.inertia_at(self.s)
        self.mass, self.J = inertia[:, 0] * self.W, inertia[:, 1:] * self.W[:, None]
        for force in forces:
            if isinstance(force, gd.PointMass):
                self.mass[np.argmin(np.abs(self.s - force.at))] += force.mass
        self.rest = 0.0
        rest = self.strains(rod.positions, rod.quaternions)
        if rod.prestrain is not None:
            rest[:, :3] = rod.prestrains
        if rod.precurvature is not None:
            rest[:, 3:] = rod.precurvatures
        self.rest = rest

    def strains(self, x, p):
        """Strains and curvatures, (..., n, 6), less those of the rest shape."""
        u, P, Q = self.D @ x, self.I @ p, self.D @ p
        n = np.sum(P * P, axis=-1, keepdims=True)
        G = turn_back(P, u) / n - np.array([0.0, 0.0, 1.0])
        if self.rod.strain == "stretch":
            G = np.concatenate([G[..., :2], np.linalg.norm(u, axis=-1, keepdims=True) - 1.0], axis=-1)
        K = 2.0 * times(conj(P), Q)[..., 1:] / n
        return np.concatenate(np.broadcast_arrays(G, K), axis=-1) - self.rest

    def elastic(self, x, p):
        E = self.strains(x, p)
        return 0.5 * np.einsum("n,...ni,nij,...nj->...", self.w, E, self.C, E)

    def dissipation(self, x, p, v, pd):
        """D; the dissipated power is 2 D."""
        rates = slope(lambda k: self.strains(x + k * v, p + k * pd), 5e-4)
        return np.einsum("n,...ni,ni->...", self.w, rates**2, self.c)

    def turning(self, p, pd):
        return 2.0 * np.sum(self.J * times(conj(p), pd)[..., 1:] ** 2, axis=(-2, -1))

    def split(self, z):
        x, p = np.split(z, [3 * self.V], axis=-1)
        return x.reshape(*z.shape[:-1], -1, 3), p.reshape(*z.shape[:-1], -1, 4)

    def internal(self, x, p, v, pd):
        """-dV/dq - dD/dq' with respect to nodes and quaternions, by differences."""
        z, zd = (np.concatenate([np.ravel(a), np.ravel(b)]) for a, b in ((x, p), (v, pd)))
        total = gradient(lambda q: self.elastic(*self.split(q)), z, 4e-4)
        if np.any(self.c):
            total += gradient_of_quadratic(lambda q: self.dissipation(x, p, *self.split(q)), zd)
        return self.split(-total)

    def external(self, t, p, v, Omega):
        """Forces of gravity, loads and drag on the nodes, moments in their axes."""
        f, mu = self.mass[:, None] * GRAVITY, np.zeros((self.V, 3))
        for load in self.forces:
            if isinstance(load, gd.Drag):
                f = f - self.W[:, None] * turn(p, load.coefficient * turn_back(p, v))
                mu = mu - self.W[:, None] * load.rotational * Omega
            elif isinstance(load, gd.Flow):
                u = turn_back(p, (load.velocity(t) if callable(load.velocity) else load.velocity) - v)
                speed = np.hypot(u[:, :1], u[:, 1:2]) * [1, 1, 0] + np.abs(u[:, 2:]) * [0, 0, 1]
                f = f + self.shares(load) * turn(p, load.coefficient * speed * u)
            elif isinstance(load, gd.RodLoad):
                F, M = (np.zeros(3) if q is None else q(t) if callable(q) else q for q in (load.force, load.moment))
                share = self.shares(load)
                f = f + (turn(p, share * F) if load.follow else share * F)
                mu = mu + (share * M if load.follow else turn_back(p, share * M))
        return f, mu

    def shares(self, load):
        """How much of a load each node gets, (V, 3): all of it at a point, otherwise as its work says."""
        if load.span is None:
            return (np.abs(self.s - load.at) < 1e-12)[:, None] * np.ones(3)
        inside = (load.span[0] < self.gauss) & (self.gauss < load.span[1])
        return self.I.T @ ((inside * self.w)[:, None] * load.profile_at(self.gauss))


class State:
    """A random state of a rod of elements as arrays and as the core's y."""

    def __init__(self, rod, formulation, seed, *, forces=(), moves=False, defect=0.0, spread=0.15, speed=1.0):
        rng = np.random.default_rng(seed)
        system = gd.System(rods=[rod], forces=list(forces), gravity=GRAVITY)
        self.compiled, self.t = compile_system(system, formulation), TIME
        self.rod = rod = system.rods[0]  # with all its elements
        self.paper = Continuum(rod, forces)
        kinds, V = (type(rod.start), type(rod.end)), len(rod.fractions)
        self.ends = [held(kind, rod, side, TIME, moves) for kind, side in zip(kinds, (0, -1), strict=True)]
        near = np.minimum(np.append(rod.lengths, np.inf), np.append(np.inf, rod.lengths))[:, None]
        self.x = rod.positions + spread * near * rng.normal(size=(V, 3))
        self.v = speed * rng.normal(size=(V, 3))
        self.p = ro.multiply(rod.quaternions, ro.exp(spread * V / rod.length * near * rng.normal(size=(V, 3))))
        self.p = self.p * (1.0 + defect * rng.uniform(-1, 1, size=(V, 1)))
        self.pd = 0.5 * times(self.p, imaginary(speed * rng.normal(size=(V, 3))))
        if formulation == ABSOLUTE:
            self.pd = self.pd + defect * rng.normal(size=(V, 4))
        for end, side, kind in zip(self.ends, (0, -1), kinds, strict=True):
            if kind.holds_position:
                self.x[side], self.v[side] = end.x, end.v
            if kind.holds_frame:
                self.p[side], self.pd[side] = end.p, 0.5 * times(end.p, imaginary(end.Omega))
        n = np.sum(self.p**2, axis=-1, keepdims=True)
        self.Omega = 2.0 * times(conj(self.p), self.pd)[..., 1:] / n
        self.at = [np.array(getattr(self.compiled.core.layout()[0], key)) for key in "pwxv"]
        self.y = np.zeros(self.compiled.size)
        self.write((self.p, self.pd if formulation == ABSOLUTE else self.Omega, self.x, self.v))

    def write(self, rows):
        for where, values in zip(self.at, rows, strict=True):
            for at, row in zip(where, values, strict=True):
                if at >= 0:
                    self.y[at : at + len(row)] = row

    def read(self, y, which, width, there):
        """Rows of nodes in a vector such as y; those that are held as they are given."""
        out = np.array(there)
        for row, at in zip(out, self.at[which], strict=True):
            if at >= 0:
                row[:] = y[at : at + width]
        return out

    def accelerations(self):
        """Of the nodes, and of their spins (or quaternions)."""
        f = self.compiled.core.rhs(self.t, self.y)
        a = np.zeros_like(self.x)
        a[[0, -1]] = [end.a for end in self.ends]
        rates = 4 if self.compiled.formulation == ABSOLUTE else 3
        still = np.zeros((len(self.p), rates))  # held frames turn steadily
        if rates == 4:
            still = -0.25 * np.sum(self.Omega**2, axis=1, keepdims=True) * self.p
        return self.read(f, 3, 3, a), self.read(f, 1, rates, still)

    def outputs(self):
        found = self.compiled.rod_states(np.array([self.t]), self.y)[0]
        return {key: value[0] for key, value in found.items()}


def make(start=gd.Free, end=gd.Free, *, degree=3, moves=False, **options):
    """A bent and twisted rod of elements of several sizes, and its ends."""
    given = {
        "name": "rod",
        "length": 1.3,
        "grid": FEW,
        "degree": degree,
        "initial": gd.Bent((0.5, -0.8, 1.0), start=(0.2, 0.1, 0.4)),
        **({} if "section" in options else BALANCED),
        **options,
    }
    rod = gd.Rod(**given)
    ends = [moving_end(kind, rod, side) if moves else kind() for kind, side in ((start, 0), (end, -1))]
    return gd.Rod(**given, start=ends[0], end=ends[1])


def check_forces(state, tolerance=1e-9):
    """Inertia, reactions and multipliers against differences of the energies."""
    paper, found = state.paper, state.outputs()
    of_x, of_p = paper.internal(state.x, state.p, state.v, state.pd)
    f, mu = paper.external(state.t, state.p, state.v, state.Omega)
    a, spin = state.accelerations()
    left = paper.mass[:, None] * a - (of_x + f)  # what holds a node
    scale, free = np.abs(of_x + f).max(), state.at[3] >= 0
    assert np.abs(left[free]).max() < tolerance * scale
    moment = 0.5 * times(conj(state.p), of_p)[:, 1:] + mu
    turns, size = state.at[1] >= 0, np.abs(moment).max()
    gyroscopic = np.cross(state.Omega, paper.J * state.Omega)
    for n, first in ((0, 0), (-1, 6)):
        force, torque = found["reactions"][first : first + 3], found["reactions"][first + 3 : first + 6]
        assert np.abs(force - (0.0 if free[n] else left[n])).max() < 10 * tolerance * scale
        hold = np.zeros(3) if turns[n] else turn(state.p[n], (gyroscopic - moment)[n])
        assert np.abs(torque - hold).max() < 10 * tolerance * size
    if state.compiled.formulation == NULLSPACE:
        assert np.abs(paper.J * spin + gyroscopic - moment)[turns].max(initial=0.0) < tolerance * size
        return
    n = np.sum(state.p**2, axis=-1, keepdims=True)
    of_p = of_p + 2.0 * times(state.p, imaginary(mu)) / n

    def impulse(k):  # dT/dp' = mu(p) p'
        p, pd = state.p + k * state.pd, state.pd + k * spin
        return 4.0 * times(p, imaginary(paper.J * times(conj(p), pd)[:, 1:]))

    rest = slope(impulse, 1e-2 / np.abs(spin).max()) - gradient(lambda q: paper.turning(q, state.pd), state.p, 1e-2)
    rest = (rest - of_p)[turns]  # = -lambda p
    p, n = state.p[turns], n[turns]
    multiplier = -np.sum(rest * p, axis=-1, keepdims=True) / n
    size = np.abs(of_p).max()
    assert np.abs(rest + multiplier * p).max() < tolerance * size
    if np.abs(n - 1.0).max() < 1e-12:
        assert np.abs(found["multipliers"][turns] - multiplier[:, 0]).max() < tolerance * size
    assert np.abs(np.sum(state.p * spin + state.pd**2, axis=-1)[turns]).max() < 1e-12 * np.abs(spin).max()


# --- cases -----------------------------------------------------------------------------------------------------------


VARIANTS = {
    "plain": {},
    "one element": {"grid": None, "segments": 1, "damping": DAMPING},
    "five elements": {"grid": MANY, "damping": DAMPING},
    "tapered": {"section": tapered(gd.Rectangle), "material": RUBBER, "damping": gd.Damping.viscous(30.0, 10.0)},
    "coupled": {**BALANCED, "stiffness": coupled_stiffness(), "damping": DAMPING},
    "coupled tapered": {**BALANCED, "stiffness": coupled_stiffness},
    "coupled stretch": {**BALANCED, "stiffness": coupled_stiffness(), "strain": "stretch", "damping": DAMPING},
    "only strains coupled": {**BALANCED, "stiffness": coupled_stiffness() * np.kron(np.eye(2), np.ones((3, 3)))},
    "stretch": {"strain": "stretch", "damping": DAMPING},
    "precurvature": {"precurvature": lambda s: (np.sin(s), 2 * s, -1.0), "damping": DAMPING},
    "prestrain": {"prestrain": lambda s: (0.02, -0.03 * s, 0.1)},
    "straight": {"initial": gd.Straight((0, 0, 0), (0, 1.3, 0))},
}
#: What the energies above do not know: derivatives and powers of these are looked at.
AROUND = {
    "foundation": [gd.Foundation("rod", (30.0, 20.0, 10.0), damping=(1.0, 2.0, 3.0), span=(0.2, 0.8))],
    "plane": [gd.PlaneObstacle((0, 0, 0.5), (0.1, 0.2, 1.0), stiffness=50.0, smoothing=0.3, thickness=0.1)],
    "sphere": [gd.SphereObstacle((0.3, 0.3, 0.3), 0.5, stiffness=50.0, smoothing=0.3, thickness=0.1)],
    "cylinder": [gd.CylinderObstacle((0.3, 0, 0.3), (0, 1, 1), 0.5, stiffness=50.0, smoothing=0.3, thickness=0.1)],
    "frame": [gd.RotatingFrame((0.5, -1.0, 2.0))],
}
EVERYTHING = {
    **{k: (v, ()) for k, v in VARIANTS.items()},
    **{k: ({}, v) for k, v in LOADED.items()},
    "a mass": ({}, [gd.PointMass("rod", at=0.6, mass=0.7)]),
    "damped, all of them": (
        {"damping": DAMPING},
        [gd.RodLoad("rod", force=FORCE, moment=MOMENT, follow=True), gd.RodLoad("rod", at=0.4, moment=growing)],
    ),
}
WITH_SURROUNDINGS = {**EVERYTHING, **{k: ({}, v) for k, v in AROUND.items()}}
#: What acts from outside knows nothing of degrees, which take turns there.
CASES = [
    (name, degree)
    for k, name in enumerate(WITH_SURROUNDINGS)
    for degree in (DEGREES if name in VARIANTS else DEGREES[k % 3 : k % 3 + 1])
]


@cache
def variants(formulation, name, degree):
    """States with some pairs of ends: moving on the unit sphere, at rest off it."""
    options, forces = WITH_SURROUNDINGS[name]
    states = []
    for k in range(2):
        start, end = SOME_PAIRS[(k + degree + len(name)) % len(SOME_PAIRS)]
        moves, defect = ((True, 0.0), (False, 0.01))[k]
        rod = make(start, end, degree=degree, moves=moves, **options)
        states.append(State(rod, formulation, seed=k, forces=forces, moves=moves, defect=defect))
    return states


@cache
def pairs_of_ends(formulation, degree):
    """All pairs of ends, damped; every other one with moving ends, on the unit sphere or not."""
    states = []
    for k, (start, end) in enumerate(PAIRS, degree):
        moves, defect = k % 2 == 1, 0.02 * (k // 2 % 2)
        rod = make(start, end, degree=degree, damping=DAMPING, moves=moves, grid=FEW if degree < 4 else (0.0, 1.0))
        states.append(State(rod, formulation, seed=k, moves=moves, defect=defect))
    return states


# --- forces and derivatives ------------------------------------------------------------------------------------------


@pytest.mark.spread
@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
def test_every_pair_of_ends(formulation, degree):
    for state in pairs_of_ends(formulation, degree):
        check_forces(state)
        check_jacobian(state)


@pytest.mark.spread
@pytest.mark.parametrize(("name", "degree"), [case for case in CASES if case[0] in EVERYTHING])
@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
def test_forces_of_every_variant(formulation, name, degree):
    for state in variants(formulation, name, degree):
        check_forces(state)


@pytest.mark.spread
@pytest.mark.parametrize(("name", "degree"), CASES)
@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
def test_jacobian_of_every_variant(formulation, name, degree):
    for state in variants(formulation, name, degree):
        check_jacobian(state)


@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
def test_dual_numbers_agree_with_differences(formulation):
    """The oracle itself, of the richest mixture."""
    for name in ("coupled stretch", "cylinder", "frame", "at 0.42, following"):
        state = variants(formulation, name, 3)[1]
        core, t, y = state.compiled.core, state.t, state.y
        exact, units = core.jacobian_dual(t, y), np.eye(len(y))
        for k in range(0, len(y), 2):
            column = slope(lambda h, core=core, t=t, y=y, unit=units[k]: core.rhs(t, y + h * unit), 2e-4)
            assert np.abs(column - exact[:, k]).max() < 1e-9 * np.abs(exact).max(), name


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("name", ["in time", "in time, following", "coupled", "frame"])
def test_time_derivative(name, degree):
    for formulation in ROD_FORMULATIONS:
        for state in variants(formulation, name, degree):
            core, t, y = state.compiled.core, state.t, state.y
            exact = slope(lambda h, core=core, t=t, y=y: core.rhs(t + h, y), 2e-2)
            assert np.abs(core.time_derivative(t, y) - exact).max() <= 1e-6 * np.abs(exact).max()


def test_lanes_do_not_mix():
    """Elements go through the core by fours: each acts as it does alone, wherever it comes in the row."""
    for count in (3, 4, 8, 9):
        state = State(make(degree=2, grid=None, segments=count, damping=DAMPING), NULLSPACE, seed=count)
        check_forces(state)
        check_jacobian(state)


def test_baumgarte():
    """g'' + 2 r g' + omega² g = 0 for g = (|p|² - 1)/2 at the nodes."""
    omega, r = 7.0, 5.0
    state = State(make(gd.Clamped, damping=DAMPING), ABSOLUTE, seed=1, defect=0.02)
    options = {"baumgarte_omega": omega, "baumgarte_r": r}
    state.compiled = compile_system(state.compiled.system, ABSOLUTE, **options)
    check_jacobian(state)
    _, spin = state.accelerations()
    p, pd = state.p[1:], state.pd[1:]
    g, rate = 0.5 * (np.sum(p**2, axis=1) - 1.0), np.sum(p * pd, axis=1)
    second = np.sum(p * spin[1:], axis=1) + np.sum(pd**2, axis=1)
    assert np.abs(second + 2 * r * rate + omega**2 * g).max() < 1e-12 * np.abs(spin).max()


# --- powers ----------------------------------------------------------------------------------------------------------


@pytest.mark.spread
@pytest.mark.parametrize(("name", "degree"), CASES)
@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
def test_power(formulation, name, degree):
    """The energies are those above; what they lose is 2 D and drag, what they gain is the power of loads and ends."""
    state = variants(formulation, name, degree)[0]  # on the unit sphere
    paper = state.paper
    strain, curvature, moving, turning, gravity, _, lost, given, ends = state.outputs()["measures"]
    assert strain + curvature == pytest.approx(paper.elastic(state.x, state.p), rel=1e-12)
    assert moving == pytest.approx(0.5 * np.sum(paper.mass[:, None] * state.v**2), rel=1e-12)
    assert turning == pytest.approx(paper.turning(state.p, state.pd), rel=1e-12)
    assert gravity == pytest.approx(-np.sum(paper.mass @ state.x * GRAVITY), rel=1e-12)
    if name not in AROUND:
        drag = 0.0
        for load in (q for q in paper.forces if isinstance(q, gd.Drag)):
            drag += np.sum(paper.W[:, None] * load.rotational * state.Omega**2)
            drag += np.sum(paper.W[:, None] * load.coefficient * turn_back(state.p, state.v) ** 2)
        two_D = 2.0 * paper.dissipation(state.x, state.p, state.v, state.pd)
        assert lost == pytest.approx(two_D + drag, rel=1e-10, abs=1e-13)
    f = state.compiled.core.rhs(state.t, state.y)

    def energy(h):
        t, y = np.array([state.t + h]), state.y + h * f
        return np.append(state.compiled.rod_states(t, y)[0]["measures"][0, :6], budgets(state.compiled, t, y)[0, 0])

    change = slope(energy, 0.03 / np.abs(f).max())
    scale = np.abs([*change, lost, given, ends]).max()
    assert abs(change.sum() + lost - given - ends) < 1e-9 * scale


# --- objectivity, signs, both forms ----------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("distance", [1.0, 1e3])
@pytest.mark.parametrize("strain", ["cosserat", "stretch"])
def test_energy_and_strains_are_objective(degree, distance, strain):
    """A rigid motion changes nothing; both states have the same rest shape."""
    rng = np.random.default_rng(3)
    for options in ({}, {**BALANCED, "stiffness": coupled_stiffness()}):
        rod = make(degree=degree, strain=strain, grid=MANY, **options)
        here, there = (State(rod, NULLSPACE, seed=1, spread=0.3, speed=0.0) for _ in range(2))
        q, b = ro.exp(rng.normal(size=3)), distance * rng.normal(size=3)
        x, p = ro.rotate(q, here.x) + b, ro.multiply(q / np.linalg.norm(q), here.p)
        there.write((p, 0.0 * here.Omega, x, 0.0 * here.v))
        found, expected = there.outputs(), here.outputs()
        bound = 20.0 * np.finfo(float).eps * (1.0 + np.abs(x).max()) / rod.lengths.min()
        for key in ("strain", "curvature"):
            assert np.abs(found[key] - expected[key]).max() < bound
        assert found["measures"][:2] == pytest.approx(expected["measures"][:2], rel=10.0 * bound)


@pytest.mark.parametrize("degree", DEGREES)
def test_only_rigid_motions_cost_nothing(degree):
    """The stiffness of a free rod has a kernel of six, whatever the degree: nothing is integrated too coarsely."""
    for segments in (1, 3):
        rod = gd.Rod("rod", 1.3, segments, degree=degree, initial=gd.Bent((0.5, -0.8, 1.0)), **BALANCED)
        c = compile_system(gd.System(rods=[rod], gravity=(0, 0, 0)))
        p_at, w_at, x_at, v_at = (np.array(getattr(c.core.layout()[0], key)) for key in "pwxv")
        J = c.core.jacobian_dual(0.0, c.y0)
        T = np.zeros((c.size, 6 * len(p_at)))  # turns of frames and moves of nodes
        for n, (i, k) in enumerate(zip(p_at, x_at, strict=True)):
            T[i : i + 4, 6 * n : 6 * n + 3] = 0.5 * np.stack([times(c.y0[i : i + 4], e) for e in np.eye(4)[1:]], axis=1)
            T[k : k + 3, 6 * n + 3 : 6 * n + 6] = np.eye(3)
        rows = np.concatenate([np.r_[i : i + 3, k : k + 3] for i, k in zip(w_at, v_at, strict=True)])
        table = c.rods[0]
        M = np.concatenate([np.r_[j, [m] * 3] for j, m in zip(table["J"], table["mass"], strict=True)])
        K = -M[:, None] * (J[rows] @ T)
        assert np.abs(K - K.T).max() < 1e-11 * np.abs(K).max()  # at rest without stress
        values = np.linalg.eigvalsh(0.5 * (K + K.T))
        assert np.abs(values[:6]).max() < 1e-11 * values[-1]
        assert values[6] > 1e-4 * values[-1]


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
def test_the_sign_of_a_clamp_does_not_matter(formulation, degree):
    rod = make(gd.Clamped, gd.Clamped, degree=degree, damping=DAMPING)
    state = State(rod, formulation, seed=2)
    expected, reactions = state.compiled.core.rhs(TIME, state.y), state.outputs()["reactions"]
    given = {"name": "rod", "length": rod.length, "grid": FEW, "degree": degree, "initial": rod.initial, **BALANCED}
    for signs in ((1, -1), (-1, 1), (-1, -1)):
        for moving in (False, True):
            frames = [sign * q for sign, q in zip(signs, rod.end_frames, strict=True)]
            ends = [gd.Clamped(frame=(lambda t, q=q: q) if moving else q) for q in frames]
            other = State(gd.Rod(**given, start=ends[0], end=ends[1], damping=DAMPING), formulation, seed=2)
            found = other.compiled.core.rhs(TIME, state.y)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max())
            other.y = state.y
            np.testing.assert_allclose(other.outputs()["reactions"], reactions, atol=1e-12 * np.abs(reactions).max())


@pytest.mark.parametrize("degree", DEGREES)
def test_all_signs_at_once(degree):
    state = State(make(gd.Clamped, gd.Guided, degree=degree, damping=DAMPING), NULLSPACE, seed=2)
    core = state.compiled.core
    expected = core.rhs(TIME, state.y)
    rows = (state.at[0][state.at[0] >= 0][:, None] + np.arange(4)).ravel()
    y = state.y.copy()
    y[rows] *= -1.0
    f = core.rhs(TIME, y)
    f[rows] *= -1.0
    np.testing.assert_allclose(f, expected, rtol=0, atol=1e-14 * np.abs(expected).max())


@pytest.mark.parametrize("degree", DEGREES)
def test_both_forms_have_the_same_accelerations(degree):
    for a, b in zip(*(pairs_of_ends(form, degree) for form in ROD_FORMULATIONS), strict=True):
        if np.abs(np.sum(a.p**2, axis=1) - 1.0).max() > 1e-12:
            continue
        (xa, spin), (xb, second) = a.accelerations(), b.accelerations()
        assert np.abs(xa - xb).max() < 1e-10 * np.abs(xa).max()
        other = 2.0 * (times(conj(b.p), second) + times(conj(b.pd), b.pd))[:, 1:]
        assert np.abs(spin - other).max() < 1e-10 * np.abs(spin).max()


@pytest.mark.parametrize("degree", DEGREES)
def test_one_element_measures_twist_and_bend(degree):
    """A helix at its nodes: strain and curvature at the Gauss points tend to its own with the order of the element."""
    K = np.array([0.8, -0.5, 1.2])
    errors = []
    for length in (0.4, 0.2):
        rod = gd.Rod("rod", length, 1, degree=degree, initial=gd.Bent(K), precurvature=(0, 0, 0), **BALANCED)
        c = compile_system(gd.System(rods=[rod], gravity=(0, 0, 0)))
        errors.append(np.abs(c.rod_states(np.zeros(1), c.y0)[0]["curvature"][0] - K).max())
    assert np.log2(errors[0] / errors[1]) > degree + 0.7


@pytest.mark.parametrize("start", [gd.Free(), gd.Clamped()], ids=["free", "clamped"])
@pytest.mark.parametrize("degree", DEGREES)
def test_too_much_turn_ends_a_run(degree, start):
    """An element that turns further than it can represent is not believed: the run ends with a sentence."""
    rod = gd.Rod("hose", 1.0, 2, degree=degree, start=start, damping=gd.Damping.ratio(0.5, 0.5), **BALANCED)
    twist = [
        gd.RodLoad("hose", at=s, moment=lambda t, k=k: (28.0 * 0.8 * k * min(t, 1.0), 0.0, 0.0))
        for s, k in ((0.0, -1.0), (1.0, 1.0))
    ]
    system = gd.System(rods=[rod], forces=twist, gravity=(0, 0, 0))
    with pytest.raises(gd.SimulationError, match=r"rod 'hose' turns by \d+ degrees .* use more elements"):
        gd.simulate(system, 4.0, rtol=1e-5)
