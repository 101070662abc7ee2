"""Mechanisms: the core against a brute-force reference, trusted motions, invariants, and bad input."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from mechanism_oracle import (
    KINDS,
    TREE_KINDS,
    Oracle,
    hat,
    moving,
    random_mechanism,
    sine,
    start,
    state_of,
    with_velocities,
)

import gyrod as gd
from gyrod import problems
from gyrod import rotations as ro
from gyrod.equations import compile_system
from gyrod.equations.coordinates import turns
from gyrod.model import Distance, Fixed, Prismatic, Revolute, Spherical, Universal
from gyrod.model.joints import JOINTS

NULLSPACE = ("nullspace-quaternion", "nullspace-directors", "euler")
FORMULATIONS = (*NULLSPACE, "absolute-quaternion", "absolute-directors")
DATA = json.loads((Path(__file__).parent / "data" / "lang_2010.json").read_text())

# --- mechanisms for all tests ----------------------------------------------------------------------------------------

#: Kinds that leave enough motion for a loop of any kind.
FREE = ("Spherical", "Cylindrical", "Planar", "Universal")


@cache
def tree(seed, **options):
    return random_mechanism(seed, 5, TREE_KINDS, **options)


@cache
def chain_of(kind, **options):
    """Three bodies on joints of one kind."""
    return random_mechanism(KINDS.index(kind) + 40, 3, (kind,), **options)


@cache
def loop_of(kind, **options):
    """A loop that is closed by a joint of one kind."""
    return random_mechanism(KINDS.index(kind) + 70, 5, FREE, 1, loop_kinds=(kind,), **options)


@cache
def loops(seed, **options):
    return random_mechanism(seed, 6, KINDS, 2, **options)


MECHANISMS = {
    **{f"tree {seed}": lambda seed=seed: tree(seed) for seed in range(6)},
    **{f"chain {kind}": lambda kind=kind: chain_of(kind) for kind in TREE_KINDS},
    "floating": lambda: tree(20, floating=True),
    "two in the air": lambda: random_mechanism(21, 2, ("Spherical",), floating=True),
    **{f"loop {kind}": lambda kind=kind: loop_of(kind) for kind in KINDS},
    **{f"loops {seed}": lambda seed=seed: loops(seed) for seed in range(4)},
    "floating loop": lambda: random_mechanism(22, 4, FREE, 1, floating=True),
    "driven tree": lambda: tree(23, driven=3),
    "driven loops": lambda: loops(24, driven=2),
    "driven distance": lambda: loop_of("Distance", driven=1),
    "driven loop": lambda: loop_of("Revolute", driven=1),
    "springs": lambda: tree(25, springs=True),
    "sprung chain": lambda: random_mechanism(26, 3, ("Revolute", "Prismatic", "Helical", "Cylindrical"), springs=True),
    "springs and loops": lambda: loops(27, springs=True),
    "springs, loops, drives": lambda: loops(28, springs=True, driven=1),
}
#: Without springs of joints and functions of time in the constraints.
PLAIN = [n for n in MECHANISMS if "driven" not in n and "drives" not in n]
#: No loops, no drives.
TREES = [n for n in PLAIN if "loop" not in n]


@cache
def compiled(name, formulation):
    return compile_system(MECHANISMS[name](), formulation)


@cache
def moved(name, formulation):
    """Time and unknowns a little after the start."""
    motion = gd.simulate(MECHANISMS[name](), 0.15, formulation=formulation, method="dopri5", rtol=1e-9, dense=False)
    return float(motion.t[-1]), motion.y[-1].copy()


def states(name, formulation):
    c = compiled(name, formulation)
    return [(0.0, c.y0), moved(name, formulation)]


def test_every_joint_is_in_the_tests():
    assert {j.__name__ for j in JOINTS} == set(KINDS)
    systems = [make() for make in MECHANISMS.values()]
    assert {type(j).__name__ for system in systems for j in system.joints} == set(KINDS)
    assert {type(j).__name__ for system in systems for j in system.tree().cuts} == set(KINDS)


# --- null space ------------------------------------------------------------------------------------------------------


def nodes(system):
    """Joints of the spanning tree, None for each free root."""
    return list(system.tree().joint.values())


@pytest.mark.spread
@pytest.mark.parametrize("formulation", NULLSPACE)
@pytest.mark.parametrize("name", PLAIN)
def test_gradient_and_null_space(name, formulation):
    c = compiled(name, formulation)
    oracle, b = Oracle.of(c.system), len(c.system.bodies)
    in_tree = [any(j is k for k in nodes(c.system)) for j in c.system.joints]
    for t, y in states(name, formulation):
        T, G = c.nullspace(t, y), c.gradient(t, y)
        freedoms = sum(6 if j is None else j.freedoms for j in nodes(c.system))
        rows = oracle.rows()
        assert T.shape == (6 * b, freedoms)
        assert G.shape == (rows[-1].stop if rows else 0, 6 * b)
        reference = oracle.gradient(state_of(c, t, y))
        for joint, inside, r in zip(c.system.joints, in_tree, rows, strict=True):
            g = G[r]
            assert len(g) == joint.constraints
            if inside:
                assert np.abs(g @ T).max(initial=0.0) <= 1e-14 * (np.abs(g) @ np.abs(T)).max(initial=1.0)
            # The rows say what the oracle's say: each is a combination of the others.
            assert np.linalg.matrix_rank(g, tol=1e-8) == len(g)
            mixed = g @ np.linalg.pinv(reference[r]) @ reference[r]
            np.testing.assert_allclose(mixed, g, rtol=0, atol=1e-10 * np.abs(g).max())
        sigma = np.linalg.svd(T, compute_uv=False) if freedoms else np.ones(1)
        assert sigma[-1] > 1e-3 * sigma[0]
        # All velocities that the tree allows are among them.
        V = state_of(c, t, y).twists
        nu = np.linalg.lstsq(T, V, rcond=None)[0] if freedoms else np.zeros(0)
        np.testing.assert_allclose(T @ nu, V, rtol=0, atol=1e-12 * np.abs(V).max(initial=1.0))


def rotation_groups(c, y):
    """Indices of the rotation coordinates, body after body, and which body of the system each group belongs to."""
    size, _ = gd.FORMULATIONS[c.formulation]
    where = np.array([i for i, k in enumerate(c.kinds) if k == "rotation"]).reshape(-1, size)
    s = state_of(c, 0.0, y)
    frames = s.R @ c.axes
    bodies = []
    for group in where:
        q = y[group]
        R = ro.matrix_from_directors(q) if size == 9 else ro.matrix_from_quaternion(turns(c.formulation, q, q)[0])
        bodies.append(int(np.argmin(np.abs(frames - R).max(axis=(1, 2)))))
    assert sorted(bodies) == list(range(len(frames)))
    return where, bodies


@pytest.mark.parametrize("name", [n for n in TREES if n != "chain Fixed"])
def test_quaternions_by_pull_back(name):
    """Section 5: T_p is the pull-back of T_d by the Moore-Penrose inverse of the differential of the Euler map."""
    q, d = (compiled(name, f) for f in NULLSPACE[:2])
    moving_ = [[i for i, k in enumerate(c.kinds) if k in ("velocity", "spin")] for c in (q, d)]
    # q' = T nu: the derivative of the positions' rates by the velocities, from linear solutions with the Jacobian.
    J_q, J_d = (c.core.jacobian(0.0, c.y0) for c in (q, d))
    groups_q, bodies = rotation_groups(q, q.y0)
    groups_d, same = rotation_groups(d, d.y0)
    assert bodies == same
    T = q.nullspace(0.0, q.y0)
    np.testing.assert_allclose(T, d.nullspace(0.0, d.y0), rtol=0, atol=1e-13 * np.abs(T).max())
    for g_q, g_d, i in zip(groups_q, groups_d, bodies, strict=True):
        p = q.y0[g_q]
        inverse = ro.euler_differential_pinv(p)
        T_d = J_d[np.ix_(g_d, moving_[1])]
        T_p = J_q[np.ix_(g_q, moving_[0])]
        np.testing.assert_allclose(inverse @ T_d, T_p, rtol=0, atol=1e-11 * max(1.0, np.abs(T_p).max()))
        np.testing.assert_allclose(
            ro.euler_differential(p) @ T_p, T_d, rtol=0, atol=1e-11 * max(1.0, np.abs(T_d).max())
        )
        # The same from the null space of twists: d' = R Omega^ in principal axes.
        A = q.axes[i]
        R = ro.matrix_from_quaternion(p)
        spins = A.T @ T[6 * i + 3 : 6 * i + 6]
        rates = np.stack([(R @ hat(w)).T.ravel() for w in spins.T], axis=1)
        np.testing.assert_allclose(rates, T_d, rtol=0, atol=1e-11 * max(1.0, np.abs(T_d).max()))


# --- accelerations ---------------------------------------------------------------------------------------------------


@pytest.mark.spread
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_accelerations(name, formulation):
    c = compiled(name, formulation)
    oracle = Oracle.of(c.system)
    for t, y in states(name, formulation):
        expected = oracle.solve(state_of(c, t, y)).accelerations
        scale = max(1.0, np.abs(expected).max())
        found = c.accelerations(t, y)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * scale)


@pytest.mark.spread
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", ["tree 0", "loops 1", "driven loops", "springs, loops, drives"])
def test_right_hand_side_moves_the_bodies(name, formulation):
    """Bodies along y' have the velocities and accelerations that the reference gives them."""
    c = compiled(name, formulation)
    for t, y in states(name, formulation):
        s = state_of(c, t, y)
        a = Oracle.of(c.system).solve(s).accelerations
        f, h = c.core.rhs(t, y), 1e-4
        before, after = (c.motions(y + k * h * f, t + k * h) for k in (-1, 1))
        x, R, v, Omega = ((after[i][0] - before[i][0]) / (2 * h) for i in range(4))
        scale = max(1.0, np.abs(a).max())
        np.testing.assert_allclose(x, s.v, atol=1e-6 * scale)
        np.testing.assert_allclose(R, s.R @ hat(s.Omega), atol=1e-6 * scale)
        np.testing.assert_allclose(np.concatenate([v, Omega], axis=1), a, atol=1e-5 * scale)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", ["pendulum", "four-bar", "four-bar-driven", "bennett", "platform"])
def test_accelerations_of_problems(name, formulation):
    """Point masses, redundant loops and many loops."""
    if name == "pendulum" and formulation.startswith("absolute"):
        return  # a point mass has no inertia of its own: see test_point_mass
    c = compile_system(problems.get(name).system, formulation)
    expected = Oracle.of(c.system).solve(state_of(c, 0.0, c.y0)).accelerations
    np.testing.assert_allclose(c.accelerations(0.0, c.y0), expected, rtol=0, atol=1e-10 * np.abs(expected).max())


# --- reactions and coordinates ---------------------------------------------------------------------------------------


@cache
def short_motion(name, formulation):
    system = MECHANISMS[name]()
    return gd.simulate(system, 0.1, formulation=formulation, method="dop853", rtol=1e-10, output=[0.0, 0.05, 0.1])


def state_at(motion, k):
    return state_of(motion.compiled, float(motion.t[k]), motion.y[k])


#: Springs of joints are no reactions.
REACTIONS = [n for n in MECHANISMS if "spr" not in n]


@pytest.mark.spread
@pytest.mark.parametrize("formulation", ["nullspace-quaternion", "absolute-directors"])
@pytest.mark.parametrize("name", REACTIONS)
def test_reactions(name, formulation):
    motion = short_motion(name, formulation)
    oracle = Oracle.of(motion.compiled.system)
    for k in range(len(motion.t)):
        expected = oracle.solve(state_at(motion, k))
        size = max(1.0, *(np.abs(f).max() for f in (*expected.force, *expected.torque)))
        for i, joint in enumerate(motion.compiled.system.joints):
            track = motion.joints[i]
            assert track.unique
            np.testing.assert_allclose(track.force[k], expected.force[i], rtol=0, atol=1e-9 * size)
            np.testing.assert_allclose(track.torque[k], expected.torque[i], rtol=0, atol=1e-9 * size)
            np.testing.assert_array_equal(motion[joint.name].force[k], track.force[k])


@pytest.mark.parametrize("name", [n for n in PLAIN if n in REACTIONS])
def test_reactions_do_no_work(name):
    motion = short_motion(name, "nullspace-quaternion")
    oracle = Oracle.of(motion.compiled.system)
    s = state_at(motion, -1)
    omega = np.concatenate([(s.R @ s.Omega[..., None])[..., 0], np.zeros((1, 3))])
    v, x = np.concatenate([s.v, np.zeros((1, 3))]), np.concatenate([s.x, np.zeros((1, 3))])
    for i, g in enumerate(oracle.geometries):
        P = oracle.point(g, s)
        a, b = (-1 if side.body is None else side.body for side in (g.a, g.b))
        slip = (v[b] + np.cross(omega[b], P - x[b])) - (v[a] + np.cross(omega[a], P - x[a]))
        turn = omega[b] - omega[a]
        F, T = motion.joints[i].force[-1], motion.joints[i].torque[-1]
        size = np.linalg.norm(F) * np.linalg.norm(slip) + np.linalg.norm(T) * np.linalg.norm(turn)
        assert np.linalg.norm(F) > 1e-6
        assert abs(F @ slip + T @ turn) <= 1e-9 * max(1.0, size)


@pytest.mark.parametrize("name", ["four-bar", "bennett"])
def test_reactions_of_redundant_loops(name):
    """They are not unique; what they do together on each body is."""
    system = problems.get(name).system
    motion = gd.simulate(system, 0.05, method="dop853", rtol=1e-10, output=[0.0, 0.05])
    oracle = Oracle.of(system)
    s = state_at(motion, -1)
    expected = oracle.solve(s)
    acting = np.zeros((len(system.bodies) + 1, 6))
    for i, g in enumerate(oracle.geometries):
        track = motion.joints[i]
        assert not track.unique
        P = oracle.point(g, s)
        for side, sign in ((g.b, 1.0), (g.a, -1.0)):
            k = -1 if side.body is None else side.body
            x, R = (s.x[k], s.R[k]) if k >= 0 else (np.zeros(3), np.eye(3))
            F, T = sign * track.force[-1], sign * track.torque[-1]
            acting[k] += np.concatenate([F, R.T @ (T + np.cross(P - x, F))])
    total = expected.constraint.reshape(-1, 6)
    np.testing.assert_allclose(acting[:-1], total, rtol=0, atol=1e-8 * np.abs(total).max())


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_torque_of_a_driven_crank(formulation):
    """The parallelogram has one equation: (5/3) theta'' - 2 g sin(theta) is the torque on the crank."""
    problem = problems.get("four-bar-driven")
    times = np.linspace(0.0, 3.0, 7)
    motion = gd.simulate(problem.system, 3.0, formulation=formulation, method="dop853", rtol=1e-11, output=times)
    theta = np.sin(times)  # clockwise from upright
    torque = -(5.0 / 3.0 * -np.sin(times) - 2.0 * 9.81 * np.sin(theta))
    np.testing.assert_allclose(motion["foot0"].torque[:, 2], torque, rtol=0, atol=1e-7)
    np.testing.assert_allclose(motion["foot0"].coordinates[:, 0], -theta, atol=1e-10)
    np.testing.assert_allclose(motion["foot0"].rates[:, 0], -np.cos(times), atol=1e-9)


@pytest.mark.parametrize("formulation", ["nullspace-quaternion", "absolute-quaternion"])
@pytest.mark.parametrize("name", [f"chain {kind}" for kind in TREE_KINDS] + ["loop Distance", "driven tree", "tree 2"])
def test_coordinates(name, formulation):
    motion = short_motion(name, formulation)
    oracle = Oracle.of(motion.compiled.system)
    for k in range(len(motion.t)):
        s = state_at(motion, k)
        for i, g in enumerate(oracle.geometries):
            track = motion.joints[i]
            values, rates = oracle.coordinates(g, s)
            names = g.joint.coordinate_names
            assert track.coordinates.shape == track.rates.shape == (len(motion.t), len(names))
            if names[:2] == ("x", "y"):  # its axes in the plane are the model's choice
                frame = motion.compiled.system.attachment(g.joint).frame_a
                plane = g.a.frame[:, :2].T @ frame[:, :2]
                values[:2], rates[:2] = plane.T @ values[:2], plane.T @ rates[:2]
            np.testing.assert_allclose(track.coordinates[k], values, atol=1e-9)
            np.testing.assert_allclose(track.rates[k], rates, atol=1e-8)


def test_coordinates_go_on_beyond_a_turn():
    """A free rotor turns at 3 rad/s; a nut on a screw comes back to where its angle says it is."""
    rotor = gd.Body("rotor", 1.0, (1.0, 1.0, 1.0), angular_velocity=(0, 0, 3.0))
    nut = gd.Body("nut", 1.0, (1.0, 1.0, 1.0), (3.0, 0, 0), velocity=(0, 0, 3.0 * 0.1), angular_velocity=(0, 0, 3.0))
    joints = [
        gd.model.Revolute("ground", "rotor", at=(0, 0, 0), axis=(0, 0, 1), name="axle"),
        gd.model.Helical("ground", "nut", at=(3, 0, 0), axis=(0, 0, 1), pitch=0.2 * np.pi, name="screw"),
    ]
    system = gd.System([rotor, nut], joints, gravity=(0, 0, 0))
    motion = gd.simulate(system, 10.0, method="dop853", rtol=1e-10, output=np.linspace(0, 10, 21))
    for name in ("axle", "screw"):
        turns = motion[name].coordinates[:, 0] / (2.0 * np.pi) - 3.0 * motion.t / (2.0 * np.pi)
        assert np.abs(turns - np.round(turns)).max() < 1e-9
    np.testing.assert_allclose(motion["nut"].position[:, 2], 0.3 * motion.t, atol=1e-9)


# --- Jacobians -------------------------------------------------------------------------------------------------------

JACOBIANS = ["tree 1", "chain Helical", "loop Universal", "loops 2", "driven tree", "springs", "springs, loops, drives"]


@pytest.mark.spread
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobian(name, formulation):
    c = compiled(name, formulation)
    rng = np.random.default_rng(3)
    t, y = moved(name, formulation)
    J = c.core.jacobian(t, y)
    columns, h = [], 1e-5
    for j in range(c.size):
        e = np.zeros(c.size)
        e[j] = h * max(1.0, abs(y[j]))
        d1, d2 = (c.core.rhs(t, y + k * e) - c.core.rhs(t, y - k * e) for k in (1.0, 2.0))
        columns.append((8.0 * d1 - d2) / (12.0 * e[j]))
    numeric = np.column_stack(columns)
    np.testing.assert_allclose(J, numeric, rtol=0, atol=1e-6 * np.abs(numeric).max())
    b = rng.normal(size=c.size)
    for shift in (3.0, 250.0):
        x = c.core.solve_shifted(t, y, shift, b)
        expected = np.linalg.solve(shift * np.eye(c.size) - J, b)
        np.testing.assert_allclose(x, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    numeric = (c.core.rhs(t + 1e-4, y) - c.core.rhs(t - 1e-4, y)) / 2e-4
    np.testing.assert_allclose(c.core.time_derivative(t, y), numeric, atol=1e-5 * (1.0 + np.abs(numeric).max()))


# --- mobility --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", problems.MECHANISMS)
def test_mobility(name):
    problem = problems.get(name)
    found = problem.system.mobility()
    assert (found.freedoms, found.redundant) == (problem.freedoms, problem.redundant)
    assert found.rows == sum(j.constraints for j in problem.system.joints)
    assert sum(found.by_joint.values()) == problem.redundant
    assert str(problem.freedoms) in str(found)


@pytest.mark.parametrize("count", [1, 3, 40])
def test_each_parallelogram_has_three_redundant_rows(count):
    found = problems.four_bar(count).system.mobility()
    assert (found.freedoms, found.redundant) == (1, 3 * count)
    assert set(found.by_joint) <= {j.label for j in problems.four_bar(count).system.joints}


@pytest.mark.parametrize("name", ["tree 0", "loop Planar", "loops 3", "driven loops"])
def test_mobility_of_random_mechanisms(name):
    system = MECHANISMS[name]()
    expected = Oracle.of(system).solve(start(system))
    found = system.mobility()
    assert (found.freedoms, found.redundant) == (expected.freedoms, 0)


# --- energy and gaps -------------------------------------------------------------------------------------------------


@cache
def long_motion(name):
    return gd.simulate(
        problems.get(name).system, 10.0, method="dop853", rtol=1e-10, output=np.linspace(0, 10, 101), dense=False
    )


@pytest.mark.parametrize("name", [n for n, p in problems.MECHANISMS.items() if p.conservative])
def test_energy_stays(name):
    problem, motion = problems.get(name), long_motion(name)
    total, kinetic = motion.energy.total, motion.energy.kinetic
    assert kinetic.max() > 1e-2
    assert np.abs(total - total[0]).max() <= 1e-8 * kinetic.max()
    if problem.energy is not None:
        assert total[0] == pytest.approx(problem.energy, rel=1e-12, abs=1e-12)
    # The core's energies are those of the reference.
    s, oracle = state_at(motion, 37), Oracle.of(problem.system)
    assert kinetic[37] == pytest.approx(oracle.kinetic(s), rel=1e-12)
    assert motion.energy.potential[37] == pytest.approx(oracle.potential(s), rel=1e-10, abs=1e-10 * kinetic.max())


@pytest.mark.parametrize("name", problems.MECHANISMS)
def test_joints_stay_closed(name):
    motion = long_motion(name)
    oracle = Oracle.of(problems.get(name).system)
    for k in (10, 55, 100):
        position, velocity = oracle.gaps(state_at(motion, k))
        assert np.abs(position).max() <= 1e-10
        assert np.abs(velocity).max() <= 1e-9


@pytest.mark.spread
@pytest.mark.parametrize("formulation", FORMULATIONS[1:])
@pytest.mark.parametrize("name", ["joint-tree", "rssr", "bennett", "platform"])
def test_formulations_agree(name, formulation):
    """With the null-space form in quaternions, before chaos sets in; energy stays in each."""
    system = problems.get(name).system
    options = {"method": "dop853", "rtol": 1e-11, "output": [0.25, 0.5], "dense": False}
    first, other = (gd.simulate(system, 0.5, formulation=f, **options) for f in (FORMULATIONS[0], formulation))
    for body in system.names:
        np.testing.assert_allclose(other[body].position, first[body].position, atol=1e-8)
        np.testing.assert_allclose(other[body].matrix, first[body].matrix, atol=1e-8)
        np.testing.assert_allclose(other[body].velocity, first[body].velocity, atol=1e-7)
    assert np.ptp(other.energy.total) <= 1e-8 * other.energy.kinetic.max()


# --- trusted motions -------------------------------------------------------------------------------------------------


def errors(problem, times, **options):
    """Largest error of each kind of value at these times."""
    motion = gd.simulate(problem.system, max(times), output=times, dense=False, **options)
    found: dict[str, float] = {}
    for k, t in enumerate(times):
        for body, values in problem.reference[t].items():
            for key, trusted in values.items():
                ours = getattr(motion[body], key)[k]
                error = ro.distance(ours, trusted) if key == "quaternion" else np.abs(ours - np.array(trusted)).max()
                found[key] = max(found.get(key, 0.0), float(error))
    return found, motion


@pytest.mark.parametrize(
    ("name", "rtol", "tolerance"),
    [
        ("pendulum", 1e-12, 1e-6),
        ("four-bar", 1e-12, 1e-6),
        ("four-bar-driven", 1e-11, 1e-9),
        ("slider-crank", 1e-12, 1e-8),
        ("bruls-top-on-a-stand", 1e-12, 2e-8),
        ("lang-c", 1e-12, 1e-7),
    ],
)
def test_trusted_motions(name, rtol, tolerance):
    problem = problems.get(name)
    found, _ = errors(problem, sorted(problem.reference), method="dop853", rtol=rtol)
    assert max(found.values()) < tolerance


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", ["four-bar", "slider-crank"])
def test_trusted_motions_in_all_formulations(name, formulation):
    """The four-bar passes its singular positions and stays a parallelogram."""
    problem = problems.get(name)
    times = sorted(problem.reference)[:2]
    found, motion = errors(problem, times, formulation=formulation, method="dop853", rtol=1e-11)
    assert max(found.values()) < 1e-6
    if name == "four-bar":
        np.testing.assert_allclose(motion["coupler1"].matrix[-1], np.eye(3), atol=1e-7)
        np.testing.assert_allclose(motion["upright2"].matrix[-1], motion["upright0"].matrix[-1], atol=1e-7)


@pytest.mark.slow
def test_forty_parallelograms():
    problem = problems.four_bar(40)
    # Rounding, not the method: 1e-6 to 2.2e-6 at every tolerance from 1e-10 to 1e-13, with both instruction sets.
    found, _ = errors(problem, [10.0, 20.0], method="dop853", rtol=1e-11)
    assert max(found.values()) < 4e-6


def test_period_of_the_pendulum():
    problem = problems.get("pendulum")
    upper = gd.Event(lambda t, m: m["mass"].velocity[1], direction=-1)  # at rest on the side it came from, or beyond
    motion = gd.simulate(problem.system, 5.0, method="dop853", rtol=1e-12, events=[upper], max_step=0.05)
    crossings = [e.t for e in motion.events if e.t > 0.1]
    assert crossings == pytest.approx(
        [k * problem.periods["swing"] / 2 for k in range(1, len(crossings) + 1)], abs=1e-9
    )
    assert len(crossings) >= 4


def test_chain_falls_straight_at_first():
    """A free end of a hanging chain: its links start with the accelerations of the reference, in every length."""
    for n in (1, 2, 25):
        c = compile_system(problems.chain(n).system)
        expected = Oracle.of(c.system).solve(start(c.system)).accelerations
        np.testing.assert_allclose(c.accelerations(0.0, c.y0), expected, rtol=0, atol=1e-10 * np.abs(expected).max())


# --- Lang's example C ------------------------------------------------------------------------------------------------

FORMS = {
    "61": "nullspace-quaternion",
    "60": "nullspace-directors",
    "59": "absolute-quaternion",
    "58": "absolute-directors",
}
UNKNOWNS = {"61": 23, "60": 33, "59": 28, "58": 48}


def as_published(form, tolerance):
    problem = problems.get("lang-c")
    return errors(
        problem,
        [0.25],
        formulation=FORMS[form],
        method="dopri5",
        rtol=tolerance,
        atol=tolerance,
        norm="plain",
        projection="none",
    )


def test_example_c_is_that_of_the_data_file():
    problem = problems.get("lang-c")
    oracle, s = Oracle.of(problem.system), start(problem.system)
    first, last = DATA["C_T0"], DATA["C_T0.25"]
    for i in (0, 1):
        for key, ours in (("x", s.x), ("v", s.v), ("Omega", s.Omega)):
            np.testing.assert_allclose(ours[i], np.array(first[f"{key}{i + 1}"], float), rtol=1e-14, atol=1e-13)
        trusted = problem.reference[0.25][("first", "second")[i]]
        for key, name in (("x", "position"), ("v", "velocity"), ("p", "quaternion"), ("Omega", "Omega")):
            assert trusted[name] == tuple(map(float, last[f"{key}{i + 1}"]))
    assert oracle.kinetic(s) + oracle.potential(s) == pytest.approx(float(first["E0"]), rel=1e-14)
    assert problem.energy == float(last["E0"])


@pytest.mark.parametrize("form", FORMS)
def test_unknowns_of_example_c(form):
    assert compile_system(problems.get("lang-c").system, FORMS[form]).size == UNKNOWNS[form]


@pytest.mark.parametrize("form", FORMS)
def test_end_state_of_example_c(form):
    found, motion = as_published(form, 1e-12)
    assert max(found.values()) < 1e-8
    assert motion.energy.total[-1] == pytest.approx(995901.2, rel=1e-11)
    momentum = np.array(DATA["C_T0.25"]["L"], float)
    np.testing.assert_allclose(motion.angular_momentum[-1], momentum, rtol=0, atol=1e-9 * np.linalg.norm(momentum))


@pytest.mark.parametrize("row", DATA["dopri5_C"], ids=lambda r: f"{r['form'][:2]}-{r['tol']:g}")
def test_counts_of_example_c(row):
    form = row["form"][:2]
    found, motion = as_published(form, row["tol"])
    assert motion.stats.rhs == pytest.approx(row["nf"], rel=0.1)
    assert motion.stats.steps == pytest.approx(row["steps"], rel=0.1)
    # Errors of the same size, down to rounding.
    assert found["position"] < 8.0 * row["err_x"] + 1e-10
    assert found["Omega"] < 8.0 * row["err_Omega"] + 1e-8  # off the manifold the forms are not the same
    # The joint is linear in the directors: Runge-Kutta steps keep it closed to rounding, but not in quaternions.
    s = state_at(motion, -1)
    arms = (np.array([1.0, 2.0, -3.0]), np.array([5.0, -6.0, -7.0]))
    gap = np.linalg.norm(s.x[0] + s.R[0] @ arms[0] - s.x[1] - s.R[1] @ arms[1])
    if form in ("60", "58"):
        assert gap < 1e-12
    elif row["tol"] >= 1e-8:
        assert gap > 1e-12


# --- orders ----------------------------------------------------------------------------------------------------------

ORDER_STEPS = {
    "dopri5": (40, 56, 80, 112),
    "radau5": (20, 28, 40, 56),
    "rodas": (40, 56, 80, 112),
    "seulex": (40, 56, 80, 112),
}


@cache
def order_case(name):
    """A system and its motion at a tight tolerance."""
    if name == "driven":
        system = tree(23, driven=3)
    elif name == "driven loop":
        system = loop_of("Revolute", driven=1)
    else:
        system = problems.get(name).system
    t_end = 0.5 if name == "rssr" else 1.0
    fine = gd.simulate(system, t_end, method="dop853", rtol=1e-14, max_step=t_end / 100)
    return system, t_end, fine


@pytest.mark.spread
@pytest.mark.parametrize("method", ORDER_STEPS)
@pytest.mark.parametrize("name", ["joint-tree", "rssr", "driven", "driven loop"])
def test_order(name, method):
    system, t_end, fine = order_case(name)
    found = []
    for n in ORDER_STEPS[method]:
        motion = gd.simulate(system, t_end, method=method, step=t_end / n, rtol=1e-13, dense=False)
        exact = fine(motion.t)
        differences = [
            getattr(motion[b], key) - getattr(exact[b], key) for b in system.names for key in ("position", "velocity")
        ]
        found.append(np.sqrt(np.mean(np.square(differences))))
    slope = np.polyfit(np.log(1.0 / np.array(ORDER_STEPS[method])), np.log(found), 1)[0]
    assert found[-1] > 1e-13  # above rounding
    assert slope > gd.METHODS[method].order - 0.35


@pytest.mark.spread
@pytest.mark.parametrize("method", ["radau5", "rodas", "seulex"])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_stiff_methods_in_all_formulations(method, formulation):
    """The platform on stiff, damped legs: an explicit method would need small steps."""
    system, exact = stiff_platform()
    motion = gd.simulate(system, 1.0, formulation=formulation, method=method, rtol=1e-6, output=[1.0], dense=False)
    np.testing.assert_allclose(motion["platform"].position[-1], exact["platform"].position[-1], atol=1e-5)
    np.testing.assert_allclose(motion["platform"].matrix[-1], exact["platform"].matrix[-1], atol=1e-5)
    assert motion.stats.steps < 0.2 * exact.stats.steps


@cache
def stiff_platform():
    problem = problems.get("platform")
    joints = [
        Prismatic(j.a, j.b, at=j.at, axis=j.axis, stiffness=1e4, damping=4e3, name=j.name)
        if isinstance(j, Prismatic)
        else j
        for j in problem.system.joints
    ]
    system = gd.System(problem.system.bodies, joints, gravity=problem.system.gravity)
    return system, gd.simulate(system, 1.0, method="dop853", rtol=1e-9, output=[1.0], dense=False)


# --- constraints in other words --------------------------------------------------------------------------------------


def test_point_mass():
    """A revolute joint makes sense of a point mass; a form that needs inertia of its own says so."""
    system = problems.get("pendulum").system
    for formulation in NULLSPACE:
        c = compile_system(system, formulation)
        np.testing.assert_allclose(c.accelerations(0.0, c.y0), [[0, -9.81, 0, 0, 0, -9.81]], atol=1e-12)
    for formulation in FORMULATIONS[2:]:
        refusal = None
        try:
            c = compile_system(system, formulation)
        except ValueError as error:
            refusal = str(error)
        if refusal is None:
            np.testing.assert_allclose(c.accelerations(0.0, c.y0), [[0, -9.81, 0, 0, 0, -9.81]], atol=1e-12)
        else:
            assert "inertia" in refusal
            assert "mass" in refusal


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_order_of_a_and_b_does_not_matter(formulation):
    """Partners in the other order, points in body axes in place of space: the same motion, opposite reactions."""
    ours = problems.get("slider-crank").system
    joints = []
    for j in ours.joints:
        at = ours.attachment(j)
        swapped = {"at_a": at.at_b, "at_b": at.at_a, "name": j.name}
        if isinstance(j, (Revolute, Prismatic)):
            swapped |= {"axis_a": at.frame_b[:, 2], "axis_b": at.frame_a[:, 2]}
        if isinstance(j, Universal):
            swapped |= {"axis_a": at.frame_b[:, 0], "axis_b": at.frame_a[:, 2]}
        joints.append(type(j)(j.b, j.a, **swapped))
    theirs = gd.System(ours.bodies, joints)
    a, b = (
        gd.simulate(s, 0.3, formulation=formulation, method="dop853", rtol=1e-11, output=[0.1, 0.3])
        for s in (ours, theirs)
    )
    for body in ours.names:
        np.testing.assert_allclose(a[body].position, b[body].position, atol=1e-9)
        np.testing.assert_allclose(a[body].matrix, b[body].matrix, atol=1e-9)
    for joint in ("bearing", "ball", "cross"):  # these points coincide on both sides
        np.testing.assert_allclose(a[joint].force, -b[joint].force, atol=1e-7)
        np.testing.assert_allclose(a[joint].torque, -b[joint].torque, atol=1e-7)
    np.testing.assert_allclose(a["guide"].coordinates, -b["guide"].coordinates, atol=1e-9)


def test_a_fixed_joint_makes_one_body_of_two():
    """Two bodies that are welded move as the one with their common mass and inertia."""
    rng = np.random.default_rng(8)
    masses, places = (1.0, 2.5), (np.array([0.3, -0.2, 0.1]), np.array([-0.5, 0.4, 0.2]))
    inertias = (np.diag([0.2, 0.3, 0.25]), np.diag([0.5, 0.4, 0.7]))
    centre = sum(m * x for m, x in zip(masses, places, strict=True)) / sum(masses)
    J = sum(
        K + m * ((x - centre) @ (x - centre) * np.eye(3) - np.outer(x - centre, x - centre))
        for K, m, x in zip(inertias, masses, places, strict=True)
    )
    Omega, v = rng.normal(size=3) * 3.0, rng.normal(size=3)
    one = gd.System([gd.Body("one", sum(masses), J, centre, velocity=v, angular_velocity=Omega)])
    two = gd.System(
        [
            gd.Body(n, m, K, x, velocity=v + np.cross(Omega, x - centre), angular_velocity=Omega)
            for n, m, K, x in zip("ab", masses, inertias, places, strict=True)
        ],
        [Fixed("a", "b", at=(0, 0, 0))],
    )
    a, b = (gd.simulate(s, 2.0, method="dop853", rtol=1e-12, output=[1.0, 2.0]) for s in (one, two))
    np.testing.assert_allclose(a["one"].matrix, b["a"].matrix, atol=1e-9)
    np.testing.assert_allclose(a["one"].matrix, b["b"].matrix, atol=1e-9)
    offset = (a["one"].matrix @ (places[1] - centre)[:, None])[..., 0]
    np.testing.assert_allclose(a["one"].position + offset, b["b"].position, atol=1e-9)


def test_a_drive_by_its_function_alone():
    """Derivatives that are not given are taken by the library: the same motion to its accuracy."""
    f = sine(0.4, 2.0, 0.3)
    ends = []
    for drive in (f, f[0]):
        crank = gd.Body("crank", 1.0, (0.1, 0.2, 0.3), (0.5, 0, 0), velocity=(0, 0.5 * f[1](0), 0),
                        angular_velocity=(0, 0, f[1](0)))  # fmt: skip
        bob = gd.Body("bob", 1.0, (0.1, 0.1, 0.1), (1, 0, -0.5), velocity=(0, f[1](0), 0))
        joints = [
            Revolute("ground", "crank", at=(0, 0, 0), axis=(0, 0, 1), drive=drive, name="motor"),
            Spherical("crank", "bob", at=(1, 0, 0)),
        ]
        motion = gd.simulate(gd.System([crank, bob], joints), 2.0, method="dop853", rtol=1e-10, output=[1.0, 2.0])
        np.testing.assert_allclose(motion["motor"].coordinates[:, 0], [f[0](1.0), f[0](2.0)], atol=1e-10)
        ends.append(motion["bob"].position)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)


# --- bad input -------------------------------------------------------------------------------------------------------


def largest_gaps(system):
    return [float(np.abs(g).max()) for g in Oracle.of(system).gaps(start(system))]


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_inconsistent_velocities(formulation):
    good = problems.get("slider-crank").system
    V = start(good).twists
    V[12] += 0.5  # the slider
    bad = with_velocities(good, V)
    with pytest.raises(gd.ModelError, match=r"cross.*0\.5.*assemble") as caught:
        gd.simulate(bad, 0.1, formulation=formulation)
    assert "guide" not in str(caught.value)  # it may slide
    mended = gd.assemble(bad)
    assert max(largest_gaps(mended)) < 1e-12
    s, before = start(mended), start(bad)
    np.testing.assert_allclose(s.x, before.x, atol=1e-13)
    np.testing.assert_allclose(s.R, before.R, atol=1e-13)
    assert np.abs(s.twists - before.twists).max() > 1e-3
    gd.simulate(mended, 0.05, formulation=formulation)


def test_assemble_leaves_what_fits():
    for name in ("slider-crank", "joint-tree", "four-bar", "bennett"):
        system = problems.get(name).system
        s, before = start(gd.assemble(system)), start(system)
        np.testing.assert_allclose(s.x, before.x, atol=1e-12)
        np.testing.assert_allclose(s.R, before.R, atol=1e-12)
        np.testing.assert_allclose(s.twists, before.twists, atol=1e-11)


@pytest.mark.parametrize("case", [0, 1, 2, 3])
def test_assemble_mends_positions_and_velocities(case):
    """Points and axes are held in the bodies, which are pushed off their places; screws count from where they start."""
    kinds = [k for k in KINDS if k != "Helical"]
    system = random_mechanism(case + 60, 5, kinds, min(case, 2), driven=case // 2)
    rng = np.random.default_rng(1)
    joints = []
    for j in system.joints:
        at, kind = system.attachment(j), type(j).__name__
        given = {"at_a": at.at_a, "at_b": at.at_b, "name": j.name}
        if kind == "Universal":
            given |= {"axis_a": at.frame_a[:, 2], "axis_b": at.frame_b[:, 0]}
        elif kind == "Distance":
            given["length"] = at.length if j.length is None else j.length
        elif kind not in ("Fixed", "Spherical"):
            given |= {"axis_a": at.frame_a[:, 2], "axis_b": at.frame_b[:, 2]}
        if getattr(j, "drive", None) is not None:
            given["drive"] = j.drive
        joints.append(type(j)(j.a, j.b, **given))
    bodies = [
        gd.Body(b.name, b.mass, b.inertia, b.position + 0.02 * rng.normal(size=3),
                ro.multiply(b.orientation, ro.exp(0.02 * rng.normal(size=3))), b.velocity, b.angular_velocity)
        for b in system.bodies
    ]  # fmt: skip
    pushed = gd.System(bodies, joints, forces=system.forces, gravity=system.gravity)
    assert max(largest_gaps(pushed)) > 1e-3
    with pytest.raises(gd.ModelError, match="assemble"):
        gd.simulate(pushed, 0.1)
    mended = gd.assemble(pushed)
    assert max(largest_gaps(mended)) < 1e-10
    moves = [np.linalg.norm(a.position - b.position) for a, b in zip(mended.bodies, pushed.bodies, strict=True)]
    assert max(moves) < 0.5
    gd.simulate(mended, 0.05)


def out_of_reach():
    arm = gd.Body("arm", 1.0, (0.1, 0.1, 0.1), (1.0, 0.0, 0.0))
    joints = [
        Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 0, 1), name="hinge"),
        Distance("ground", "arm", at_a=(10, 0, 0), at_b=(0, 0, 0), length=2.0, name="strut"),
    ]
    return gd.System([arm], joints)


def test_a_loop_that_cannot_be_closed():
    with pytest.raises(gd.ModelError, match="strut"):
        gd.simulate(out_of_reach(), 1.0)
    with pytest.raises(ValueError, match="strut"):
        gd.assemble(out_of_reach())


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "distance"])
def test_a_drive_that_fails_later(kind, formulation):
    def drive(t):
        return (1.0 if kind == "distance" else 0.0) + (0.1 * t**2 if t < 0.5 else np.nan)

    body = gd.Body("arm", 1.0, (0.1, 0.1, 0.1), (1.0, 0.0, 0.0))
    joint = {
        "revolute": lambda: Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 0, 1), drive=drive, name="motor"),
        "prismatic": lambda: Prismatic("ground", "arm", at=(0, 0, 0), axis=(0, 0, 1), drive=drive, name="motor"),
        "distance": lambda: Distance("ground", "arm", at=(0, 0, 0), to=(1, 0, 0), length=drive, name="motor"),
    }[kind]()
    with pytest.raises(gd.SimulationError, match="motor") as caught:
        gd.simulate(gd.System([body], [joint]), 1.0, formulation=formulation, rtol=1e-6)
    assert 0.0 < caught.value.time <= 0.5
    assert caught.value.motion.t[-1] <= 0.5
    assert np.isfinite(caught.value.motion.y).all()


def test_a_drive_that_raises():
    def drive(t):
        if t > 0.3:
            raise RuntimeError("out of film")
        return 0.2 * t**2

    body = gd.Body("arm", 1.0, (0.1, 0.1, 0.1), (1.0, 0.0, 0.0))
    system = gd.System([body], [Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 0, 1), drive=drive, name="motor")])
    with pytest.raises(gd.SimulationError, match=r"motor.*out of film"):
        gd.simulate(system, 1.0)


def test_a_drive_that_does_not_fit_the_start():
    body = gd.Body("arm", 1.0, (0.1, 0.1, 0.1), (1.0, 0.0, 0.0))
    joint = Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 0, 1), drive=lambda t: 0.3 + 0.1 * t, name="motor")
    bad = gd.System([body], [joint])
    with pytest.raises(gd.ModelError, match=r"motor.*0\.3"):  # its angle is zero where it starts, by definition
        gd.simulate(bad, 1.0)


def test_assemble_moves_a_slider_to_its_drive():
    body = gd.Body("arm", 1.0, (0.1, 0.1, 0.1), (1.0, 0.0, 0.0))
    drive = (lambda t: 0.3 + 0.1 * t, lambda t: 0.1, lambda t: 0.0)
    joint = Prismatic("ground", "arm", at_a=(1, 0, 0), at_b=(0, 0, 0), axis_a=(0, 0, 1), drive=drive, name="motor")
    bad = gd.System([body], [joint])
    with pytest.raises(gd.ModelError, match=r"motor.*0\.3.*assemble"):
        gd.simulate(bad, 1.0)
    mended = gd.assemble(bad)
    assert max(largest_gaps(mended)) < 1e-12
    np.testing.assert_allclose(mended.body("arm").position, [1.0, 0.0, 0.3], atol=1e-12)
    np.testing.assert_allclose(mended.body("arm").velocity, [0.0, 0.0, 0.1], atol=1e-12)


@pytest.mark.parametrize("method", ["dop853", "radau5", "scipy:Radau"])
def test_gimbal_lock_ends_a_run(method):
    """A body that turns about a hinge at a constant rate has its third axis upright after a quarter of a turn."""
    body = gd.Body("arm", 1.0, (1e-2, 2e-2, 3e-2), (0.1, 0, 0), angular_velocity=(0, 10, 0))
    body = body.with_(velocity=np.cross(body.angular_velocity, body.position))
    system = gd.System([body], [Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0))], gravity=(0, 0, 0))
    with pytest.raises(gd.SimulationError, match="Euler angles 3-1-3 are at gimbal lock") as ended:
        gd.simulate(system, 1.0, formulation="euler", method=method, rtol=1e-8)
    motion = ended.value.motion
    assert motion.t[-1] == pytest.approx(0.05 * np.pi, abs=1e-3)
    exact = gd.simulate(system, float(motion.t[-1]), method="dop853", rtol=1e-11)
    np.testing.assert_allclose(motion["arm"].position[-1], exact["arm"].position[-1], atol=1e-6)


def test_axes_of_bodies_with_joints_are_chosen_off_gimbal_lock():
    system = problems.get("slider-crank").system
    found, exact = (gd.simulate(system, 0.1, formulation=form, rtol=1e-9) for form in ("euler", "nullspace-quaternion"))
    for name in system.names:
        np.testing.assert_allclose(found[name].position[-1], exact[name].position[-1], atol=1e-8)


def test_random_velocities_are_consistent():
    """What the tests start from is accepted as it is."""
    system = moving(problems.get("joint-tree").system, np.random.default_rng(2))
    assert max(largest_gaps(system)) < 1e-12
    system.check_consistent()


def test_simulate_assembles_where_it_is_asked_to():
    arm = gd.Body("arm", mass=0.5, inertia=(2e-3, 2e-3, 1e-5), position=(0, 0, -0.1))
    tip = gd.Body("tip", mass=0.5, inertia=(2e-3, 2e-3, 1e-5), position=(0, 0, -0.3))
    drive = gd.Expression("0.5*sin(5*t)")
    joints = [
        gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), drive=drive, name="motor"),
        gd.Revolute("arm", "tip", at=(0, 0, -0.2), axis=(0, 1, 0)),
    ]
    system = gd.System([arm, tip], joints)
    with pytest.raises(gd.ModelError, match=r"velocity gap .*assemble: true in the run of a model file"):
        gd.simulate(system, 0.1)
    motion = gd.simulate(system, 1.0, rtol=1e-9, assemble=True)
    np.testing.assert_allclose(motion["motor"].coordinates[:, 0], 0.5 * np.sin(5 * motion.t), atol=1e-9)
    np.testing.assert_allclose(motion["motor"].rates[:, 0], 2.5 * np.cos(5 * motion.t), atol=1e-8)
    again = gd.files.loads(gd.files.dumps(system, gd.files.RunOptions(until=1.0, assemble=True)))
    assert again.run.options() == {"assemble": True}
    with pytest.raises(ValueError, match="assemble = 1 must be True or False"):
        gd.simulate(system, 0.1, assemble=1)
