"""The brute-force reference of mechanisms against closed forms, differences, and trusted motions."""

from __future__ import annotations

import numpy as np
import pytest
from mechanism_oracle import (
    KINDS,
    TREE_KINDS,
    Oracle,
    State,
    integrate,
    moving,
    random_joint,
    random_mechanism,
    start,
)

from gyrod import model as gd
from gyrod import problems
from gyrod import rotations as ro
from gyrod.model.joints import JOINTS

G = 9.81


def test_all_kinds_are_there():
    assert {j.__name__ for j in JOINTS} == set(KINDS)


# --- closed forms ----------------------------------------------------------------------------------------------------


def test_compound_pendulum():
    """About a horizontal axis through the origin, at the angle phi from hanging, with any inertia."""
    m, arm, phi, rate = 1.7, 0.6, 0.8, 2.3
    J = np.array([[0.3, 0.02, 0.05], [0.02, 0.4, -0.03], [0.05, -0.03, 0.25]])
    x = arm * np.array([np.sin(phi), 0.0, -np.cos(phi)])
    # Turning about -y by phi takes the hanging position there.
    body = gd.Body("a", m, J, x, orientation=(0.0, -phi, 0.0), angular_velocity=(0.0, -rate, 0.0))
    system = gd.System([body], [gd.Revolute("ground", "a", at=(0, 0, 0), axis=(0, 1, 0))])
    oracle = Oracle.of(system)
    s = start(system)
    np.testing.assert_allclose(s.v[0], rate * arm * np.array([np.cos(phi), 0.0, np.sin(phi)]), atol=1e-15)
    found = oracle.solve(s)
    alpha = -m * G * arm * np.sin(phi) / (J[1, 1] + m * arm**2)
    np.testing.assert_allclose(found.accelerations[0, 3:], [0.0, -alpha, 0.0], atol=1e-13)
    along, across = x / arm, np.array([np.cos(phi), 0.0, np.sin(phi)])
    a = arm * (alpha * across - rate**2 * along)
    np.testing.assert_allclose(found.accelerations[0, :3], a, atol=1e-13)
    np.testing.assert_allclose(found.force[0], m * (a + np.array([0.0, 0.0, G])), atol=1e-12)
    # Torque at the pivot: rate of the angular momentum about it less that of gravity.
    R = body.matrix
    JO = J + m * arm**2 * np.diag([1.0, 1.0, 0.0])
    Omega, dOmega = np.array([0.0, -rate, 0.0]), np.array([0.0, -alpha, 0.0])
    torque = R @ (JO @ dOmega + np.cross(Omega, JO @ Omega)) - np.cross(x, [0.0, 0.0, -m * G])
    np.testing.assert_allclose(found.torque[0], torque, atol=1e-12)
    assert found.torque[0] @ [0.0, 1.0, 0.0] == pytest.approx(0.0, abs=1e-12)
    assert (found.freedoms, found.redundant, found.unique) == (1, 0, [True])


def test_double_pendulum():
    """Two links in the x-y plane against Lagrange's equations in the two angles from the downward vertical."""
    m1, m2, l1, c1, c2, J1, J2 = 1.3, 0.8, 1.1, 0.5, 0.7, 0.2, 0.15
    th, w = np.array([0.4, -1.1]), np.array([1.5, -2.0])
    direction = [np.array([np.sin(a), -np.cos(a), 0.0]) for a in th]
    normal = [np.array([np.cos(a), np.sin(a), 0.0]) for a in th]
    elbow = l1 * direction[0]
    bodies = [
        gd.Body("a", m1, (0.3, 0.25, J1), c1 * direction[0], (0, 0, th[0]), c1 * w[0] * normal[0], (0, 0, w[0])),
        gd.Body("b", m2, (0.2, 0.1, J2), elbow + c2 * direction[1], (0, 0, th[1]),
                l1 * w[0] * normal[0] + c2 * w[1] * normal[1], (0, 0, w[1])),
    ]  # fmt: skip
    joints = [
        gd.Revolute("ground", "a", at=(0, 0, 0), axis=(0, 0, 1), stiffness=2.0, damping=0.3, rest=0.1),
        gd.Revolute("b", "a", at=elbow, axis=(0, 0, 1), damping=0.5),
    ]
    system = gd.System(bodies, joints, gravity=(0, -G, 0))
    found = Oracle.of(system).solve(start(system))
    c, s = np.cos(th[0] - th[1]), np.sin(th[0] - th[1])
    M = np.array([[J1 + m1 * c1**2 + m2 * l1**2, m2 * l1 * c2 * c], [m2 * l1 * c2 * c, J2 + m2 * c2**2]])
    # The springs count from the start; the second damper takes the difference of the rates.
    Q = np.array([
        -m2 * l1 * c2 * s * w[1] ** 2 - (m1 * c1 + m2 * l1) * G * np.sin(th[0]) + 2.0 * 0.1 - 0.3 * w[0],
        m2 * l1 * c2 * s * w[0] ** 2 - m2 * c2 * G * np.sin(th[1]),
    ]) + 0.5 * (w[1] - w[0]) * np.array([1.0, -1.0])  # fmt: skip
    np.testing.assert_allclose(found.accelerations[:, 5], np.linalg.solve(M, Q), rtol=1e-13)
    np.testing.assert_allclose(found.accelerations[:, [2, 3, 4]], 0.0, atol=1e-13)


def test_spinning_top():
    """Euler's equations about the fixed point; the ball carries no torque."""
    m, arm = 2.0, np.array([0.1, -0.2, 0.7])
    J, Omega = np.diag([0.3, 0.4, 0.2]), np.array([1.0, -2.0, 30.0])
    orientation = ro.exp((0.4, -0.3, 0.9))
    R = ro.matrix_from_quaternion(orientation)
    body = gd.Body("top", m, J, R @ arm, orientation, angular_velocity=Omega)
    system = gd.System([body], [gd.Spherical("top", "ground", at=(0, 0, 0))])
    found = Oracle.of(system).solve(start(system))
    JO = J + m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    torque = np.cross(arm, m * (R.T @ system.gravity))
    expected = np.linalg.solve(JO, torque - np.cross(Omega, JO @ Omega))
    np.testing.assert_allclose(found.accelerations[0, 3:], expected, rtol=1e-12)
    # The reaction is told for b, which is ground here.
    push = m * (system.gravity - found.accelerations[0, :3])
    np.testing.assert_allclose(found.force[0], push, rtol=1e-12)
    np.testing.assert_allclose(found.torque[0], 0.0, atol=1e-10)


def test_elevator():
    """A driven slider: force and acceleration are those of the drive; a screw turns the drive's angle into a path."""
    lift = (lambda t: 0.2 * np.sin(3 * t), lambda t: 0.6 * np.cos(3 * t), lambda t: -1.8 * np.sin(3 * t))
    body = gd.Body("a", 2.0, (1.0, 2.0, 1.5), (0.3, 0, 0), velocity=(0, 0, 0.6))
    for drive in (lift, lift[0]):
        system = gd.System([body], [gd.Prismatic("ground", "a", at=(0, 0, 0), axis=(0, 0, 1), drive=drive)])
        s = State(0.4, np.array([[0.3, 0, lift[0](0.4)]]), np.eye(3)[None], np.array([[0, 0, lift[1](0.4)]]),
                  np.zeros((1, 3)))  # fmt: skip
        oracle = Oracle.of(system)
        assert np.abs(oracle.gaps(s)).max() < 1e-9
        found = oracle.solve(s)
        np.testing.assert_allclose(found.accelerations[0], [0, 0, lift[2](0.4), 0, 0, 0], atol=1e-9)
        np.testing.assert_allclose(found.force[0], [0, 0, 2.0 * (G + lift[2](0.4))], atol=1e-8)
    screw = gd.System([gd.Body("a", 2.0, (1.0, 2.0, 1.5))],
                      [gd.Helical("ground", "a", at=(0, 0, 0), axis=(0, 0, 1), pitch=0.5)])  # fmt: skip
    k = 0.5 / (2.0 * np.pi)
    found = Oracle.of(screw).solve(start(screw))
    alpha = -2.0 * G * k / (1.5 + 2.0 * k**2)
    np.testing.assert_allclose(found.accelerations[0], [0, 0, k * alpha, 0, 0, alpha], atol=1e-13)


# --- differences -----------------------------------------------------------------------------------------------------


def moved(s: State, V, h):
    """The state after h seconds of constant twists."""
    w = V.reshape(-1, 6)
    R = s.R @ ro.matrix_from_quaternion(ro.exp(h * w[:, 3:]))
    return State(s.t + h, s.x + h * w[:, :3], R, s.v, s.Omega)


@pytest.mark.parametrize("driven", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_gradient_and_curvature_are_derivatives(kind, driven):
    rng = np.random.default_rng(5)
    bodies = [gd.Body(n, 1.0, (1, 1, 1), rng.normal(size=3), ro.exp(rng.normal(size=3))) for n in "ab"]
    joint = random_joint(rng, kind, "a", "b", rng.normal(size=3), rng.normal(size=3), driven=bool(driven))
    system = moving(gd.System(bodies, [joint]), rng)
    oracle, s = Oracle.of(system), start(system)
    for gaps in oracle.gaps(s):
        assert np.abs(gaps).max() < 1e-13
    V = rng.normal(size=oracle.n)
    # Somewhere else, with the joint open: the scalars are functions of the whole configuration.
    s = moved(s, V, 0.3)

    def held(h, W, frozen=False):
        at = moved(s, W, h)
        at = State(s.t, at.x, at.R, at.v, at.Omega) if frozen else at
        return oracle._all(at, np.zeros((1, oracle.n)))[0, 0]

    h = 1e-4
    G_ = oracle.gradient(s)
    W = rng.normal(size=oracle.n)
    np.testing.assert_allclose(G_ @ W, (held(h, W, True) - held(-h, W, True)) / (2 * h), atol=1e-7)
    s = State(s.t, s.x, s.R, *np.moveaxis(W.reshape(-1, 2, 3), 1, 0))
    np.testing.assert_allclose(oracle.gaps(s)[1], (held(h, W) - held(-h, W)) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(G_ @ W - oracle.demanded(s), oracle.gaps(s)[1], atol=1e-13)
    second = (held(h, W) - 2 * held(0.0, W) + held(-h, W)) / h**2
    np.testing.assert_allclose(oracle.curvature(s), second, atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_energy_and_momentum(seed):
    """Constraints that stand still do no work, and forces are those of the potential."""
    loops = seed % 2
    system = random_mechanism(seed, 5, KINDS if loops else TREE_KINDS, loops, forces=False, springs=False)
    springs = [
        gd.SpringDamper("b0", "b3", (0.1, 0.2, 0.3), (0, 0.4, 0), stiffness=7.0, length=0.2),
        gd.Bushing("b1", "b2", (0.1, 0, 0), (0, 0.2, 0), stiffness=(3.0, 4.0, 5.0)),
    ]
    system = gd.System(system.bodies, system.joints, forces=springs, gravity=system.gravity)
    oracle, s = Oracle.of(system), start(system)
    found = oracle.solve(s)
    V, a = s.twists, found.accelerations.ravel()
    assert V @ found.constraint == pytest.approx(0.0, abs=1e-11)
    h = 1e-5
    power = (oracle.potential(moved(s, V, h)) - oracle.potential(moved(s, V, -h))) / (2 * h)
    assert V @ oracle.mass() @ a + power == pytest.approx(0.0, abs=1e-6)
    assert np.abs(oracle.gradient(s) @ a + oracle.curvature(s)).max() < 1e-11


# --- the model -------------------------------------------------------------------------------------------------------


def test_joint_points_and_axes_are_those_of_the_model():
    for seed in range(4):
        system = random_mechanism(seed, 6, KINDS, 1, forces=False)
        for g in Oracle.of(system).geometries:
            found = system.attachment(g.joint)
            np.testing.assert_allclose(found.at_a, g.a.at, atol=1e-14)
            np.testing.assert_allclose(found.at_b, g.b.at, atol=1e-14)
            if type(g.joint).__name__ == "Distance":
                continue
            columns = [0, 1, 2] if type(g.joint).__name__ == "Universal" else [2]
            np.testing.assert_allclose(found.frame_a[:, columns], g.a.frame[:, columns], atol=1e-14)
            np.testing.assert_allclose(found.frame_b[:, columns], g.b.frame[:, columns], atol=1e-14)
            # The first axes are free, but the same on both sides.
            np.testing.assert_allclose(found.frame_b @ found.frame_a.T, g.b.frame @ g.a.frame.T, atol=1e-14)


@pytest.mark.parametrize("name", problems.MECHANISMS)
def test_problems_start_consistently(name):
    problem = problems.get(name)
    system = problem.system
    oracle, s = Oracle.of(system), start(system)
    position, velocity = oracle.gaps(s)
    assert np.abs(position).max() < 1e-13
    assert np.abs(velocity).max() < 1e-12
    found = oracle.solve(s)
    assert (found.freedoms, found.redundant) == (problem.freedoms, problem.redundant)
    if problem.energy is not None:
        assert oracle.kinetic(s) + oracle.potential(s) == pytest.approx(problem.energy, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ["four-bar", "bennett"])
def test_redundant_joints_are_not_unique(name):
    system = problems.get(name).system
    found = Oracle.of(system).solve(start(system))
    assert not any(found.unique)


# --- trusted motions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "times", "tolerance"),
    [
        ("pendulum", [1.0], 1e-9),
        ("slider-crank", [0.1], 1e-9),
        ("four-bar-driven", [1.0], 1e-9),
        pytest.param("slider-crank", [0.5, 1.0], 1e-8, marks=pytest.mark.slow),
        pytest.param("bruls-top-on-a-stand", [1.0], 1e-7, marks=pytest.mark.slow),
        pytest.param("lang-c", [0.25], 1e-5, marks=pytest.mark.slow),
    ],
)
def test_trusted_motions(name, times, tolerance):
    problem = problems.get(name)
    index = {n: i for i, n in enumerate(problem.system.names)}
    for s in integrate(problem.system, times, rtol=1e-10):
        for body, values in problem.reference[s.t].items():
            i = index[body]
            ours = {"position": s.x[i], "velocity": s.v[i], "Omega": s.Omega[i]}
            for key, trusted in values.items():
                if key == "quaternion":
                    assert ro.distance(ro.quaternion_from_matrix(s.R[i]), trusted) < tolerance
                else:
                    np.testing.assert_allclose(ours[key], trusted, rtol=0, atol=tolerance)
