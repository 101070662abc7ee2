"""The reference of the variational integrator against the paper's formulas, closed forms and trusted values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from variational_oracle import (
    FACTOR,
    SIZE,
    Ball,
    Diverged,
    Member,
    Scheme,
    conserving,
    matrix,
    projection,
)

import gyrod as gd
from gyrod import rotations as ro
from gyrod.reproduce.xu_zhong_2016 import LagrangeTop

#: Computed by code that shares nothing with this one.
TRUSTED = json.loads((Path(__file__).parent / "data" / "xu_zhong_2016.json").read_text(encoding="utf-8"))
COORDINATES = {"quat": "quaternion", "base": "directors"}

J = np.array([0.002, 0.002, 0.0008])
ARM = np.array([0.0, 0.0, 0.04])
TILTED = np.array([np.cos(np.pi / 12), np.sin(np.pi / 12), 0.0, 0.0])
SPIN = np.array([0.0, 0.0, 40.0 * np.pi])
EXACT = LagrangeTop((J[0], J[2]), 9.81 * ARM[2], np.pi / 6.0, SPIN[2])


def fast_top(sigma=None, **options):
    return Scheme([Member(1.0, J, TILTED, SPIN, arm=ARM, sigma=sigma)], **options)


def general(sigma=None, **options):
    """The same top with the position of its centre of mass, on a ball joint; another inertia, another sigma."""
    centre = J - 1.0 * ARM[2] ** 2 * np.array([1.0, 1.0, 0.0])
    x = matrix("quaternion", TILTED) @ ARM
    body = Member(1.0, centre, TILTED, SPIN, position=x, velocity=np.zeros(3), sigma=sigma)
    return Scheme([body], [Ball(0, -ARM, None, np.zeros(3))], **options)


def skew_top(sigma=None, **options):
    """Nothing is aligned with anything: a full inertia tensor, the centre of mass aside, gravity aslant."""
    A = ro.matrix_from_rotation_vector([0.3, -0.8, 0.5])
    arm = np.array([0.1, -0.05, 0.2])
    inertia = A @ np.diag([0.3, 0.5, 0.4]) @ A.T + 2.0 * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    body = Member(2.0, inertia, ro.normalize([0.3, -0.5, 0.7, 0.2]), np.array([3.0, -5.0, 2.0]), arm=arm, sigma=sigma)
    return Scheme([body], gravity=(3.0, -4.0, -7.0), **options)


def double_pendulum(sigma=None, **options):
    """Two skew bodies on two ball joints."""
    q = [ro.normalize([0.9, 0.3, -0.2, 0.1]), ro.normalize([0.4, -0.5, 0.3, 0.7])]
    R = [matrix("quaternion", p) for p in q]
    w = [np.array([1.0, -2.0, 3.0]), np.array([-2.0, 0.5, 1.0])]
    up, down, out = np.array([0.1, 0.2, 0.5]), np.array([0.0, -0.1, -0.4]), np.array([0.3, 0.0, 0.2])
    x0 = -R[0] @ up
    v0 = -R[0] @ np.cross(w[0], up)
    elbow, speed = x0 + R[0] @ down, v0 + R[0] @ np.cross(w[0], down)
    bodies = [
        Member(
            2.0, np.array([[0.3, 0.02, 0.01], [0.02, 0.4, -0.03], [0.01, -0.03, 0.25]]), q[0], w[0], x0, v0, sigma=sigma
        ),
        Member(1.0, np.array([0.1, 0.15, 0.2]), q[1], w[1], elbow - R[1] @ out, speed - R[1] @ np.cross(w[1], out)),
    ]
    return Scheme(bodies, [Ball(0, up, None, np.zeros(3)), Ball(0, down, 1, out)], **options)


SYSTEMS = {"top": fast_top, "skew top": skew_top, "general": general, "double pendulum": double_pendulum}


# --- the paper's formulas --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coordinates", SIZE)
def test_angular_velocity_and_its_matrices(coordinates):
    rng = np.random.default_rng(1)
    p, w = ro.normalize(rng.normal(size=4)), rng.normal(size=3)
    q = p if coordinates == "quaternion" else ro.directors_from_matrix(ro.matrix_from_quaternion(p))
    np.testing.assert_allclose(matrix(coordinates, q), ro.matrix_from_quaternion(p), atol=1e-15)
    W = projection(coordinates)
    np.testing.assert_array_equal(W, -W.transpose(0, 2, 1))
    rate = ro.quaternion_nullspace(p) @ w if coordinates == "quaternion" else ro.director_nullspace(q) @ w
    np.testing.assert_allclose(np.einsum("iab,a,b->i", W, q, rate), w, atol=1e-15)  # (11)
    assert FACTOR[coordinates] * rate @ rate == pytest.approx(w @ w, rel=1e-14)  # (50), (55)
    scheme = Scheme([Member(1.0, J, p, w)], coordinates=coordinates)
    L, A = np.einsum("iab,a->bi", W, q), scheme.A(q)
    if coordinates == "quaternion":
        np.testing.assert_allclose(L @ L.T, 4.0 * np.eye(4) - 4.0 * np.outer(q, q), atol=1e-14)  # (49)
    else:
        whole = np.hstack([np.sqrt(2.0) * L, A.T])
        np.testing.assert_allclose(whole @ whole.T, np.eye(9), atol=1e-14)  # (54)
    np.testing.assert_allclose(A @ scheme.tangent(q), 0.0, atol=1e-15)


@pytest.mark.parametrize("coordinates", SIZE)
@pytest.mark.parametrize("name", SYSTEMS)
def test_momenta_are_derivatives_of_a_discrete_lagrangian(name, coordinates):
    """What makes (70) to (73) variational; and the Newton matrix."""
    rng = np.random.default_rng(2)
    for potential in ("midpoint", "nodes"):
        s = SYSTEMS[name](coordinates=coordinates, potential=potential)
        q0, q1, h = rng.normal(size=s.size), rng.normal(size=s.size), 0.3
        e = 1e-5 * np.eye(s.size)
        first = np.array([s.lagrangian(q0 + d, q1, h) - s.lagrangian(q0 - d, q1, h) for d in e]) / 2e-5
        second = np.array([s.lagrangian(q0, q1 + d, h) - s.lagrangian(q0, q1 - d, h) for d in e]) / 2e-5
        scale = np.abs(first).max()
        np.testing.assert_allclose(s.leaving(q0, q1, h), -first, atol=1e-8 * scale)
        np.testing.assert_allclose(s.arriving(q0, q1, h), second, atol=1e-8 * scale)
        K = np.array([s.leaving(q0, q1 + d, h) - s.leaving(q0, q1 - d, h) for d in e]).T / 2e-5
        np.testing.assert_allclose(s.leaving_gradient(q0, q1, h), K, atol=1e-8 * np.abs(K).max())
        A = np.array([s.psi(q1 + d) - s.psi(q1 - d) for d in e]).T / 2e-5
        np.testing.assert_allclose(s.A(q1), A, atol=1e-8)


# --- closed forms ----------------------------------------------------------------------------------------------------


def rows():
    for row in TRUSTED["fast_top"]["table"]:
        label = f"{row['coord']}-{row['sigma']}-{row['dt']}"
        yield pytest.param(row, id=label, marks=[] if row["dt"] > 0.006 else pytest.mark.slow)


@pytest.mark.parametrize("row", list(rows()))
def test_trusted_values_of_the_fast_top(row):
    s = fast_top(0.0 if row["sigma"] == "0" else None, coordinates=COORDINATES[row["coord"]])
    steps = round(1.4 / row["dt"])
    if not row["ok"]:
        with pytest.raises(Diverged):
            s.run(row["dt"], steps)
        return
    run = s.run(row["dt"], steps)
    assert run.energy[0] == pytest.approx(row["E0"], rel=1e-15)
    assert np.abs(run.energy - run.energy[0]).max() == pytest.approx(row["dE_node"], rel=1e-6)
    assert np.abs(run.midpoint_energy - run.energy[0]).max() == pytest.approx(row["dE_mid"], rel=1e-9)
    osc = np.abs(run.midpoint_energy - run.midpoint_energy[0]).max()
    assert osc == pytest.approx(row["dE_mid_osc"], rel=1e-6)
    error = s.centres(run.q) - ARM[2] * EXACT.axis(run.t)
    np.testing.assert_allclose(np.abs(error).max(axis=0), row["err_max"], rtol=1e-6)
    norm = np.linalg.norm(error, axis=1)
    assert norm.max() == pytest.approx(row["err_norm_max"], rel=1e-6)
    assert np.sqrt(np.mean(norm**2)) == pytest.approx(row["err_norm_rms"], rel=1e-6)
    assert run.residual.max() < 1e-15
    # Table 1 ends by the residual, this reference when nothing changes any more.
    assert -0.1 < np.mean(run.newton) - row["newton_per_step"] < 1.1


@pytest.mark.spread(0)
@pytest.mark.parametrize("coordinates", SIZE)
def test_vertical_momentum_and_order(coordinates):
    errors = []
    for h in (0.00175, 0.000875):
        s = fast_top(coordinates=coordinates)
        run = s.run(h, round(0.14 / h))
        R, w = matrix(coordinates, run.q[:, s.turns[0]]), s.spins(run)
        momentum = np.einsum("kij,kj->ki", R, w * J)[:, 2]
        assert np.ptp(momentum) < 1e-15 * len(run.t)
        assert np.ptp(w[:, 2]) < 1e-11  # symmetric: the spin too
        errors.append(np.abs(s.centres(run.q) - ARM[2] * EXACT.axis(run.t)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


@pytest.mark.spread(0)
@pytest.mark.parametrize("coordinates", SIZE)
def test_the_general_form_of_the_top(coordinates):
    """With translation and joint: another discretisation of the same motion, of order two as well."""
    errors = []
    for h in (0.00175, 0.000875):
        s = general(coordinates=coordinates)
        run = s.run(h, round(0.14 / h))
        assert run.residual.max() < 1e-14
        errors.append(np.abs(s.centres(run.q) - ARM[2] * EXACT.axis(run.t)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    assert errors[1] < 1e-3


@pytest.mark.parametrize("coordinates", SIZE)
def test_momentum_of_a_double_pendulum_about_the_vertical(coordinates):
    s = double_pendulum(coordinates=coordinates)
    run = s.run(0.01, 60)
    total = np.zeros(len(run.t))
    for i, (body, turn) in enumerate(zip(s.bodies, s.turns, strict=True)):
        inertia = np.diag(body.inertia) if body.inertia.ndim == 1 else body.inertia
        x, v = (a[:, turn.start - 3 : turn.start] for a in (run.q, run.rates))
        spin = np.einsum("kij,jl,kl->ki", matrix(coordinates, run.q[:, turn]), inertia, s.spins(run, i))
        total += (np.cross(x, body.mass * v) + spin)[:, 2]
    assert np.ptp(total) < 1e-12
    assert run.residual.max() < 1e-14
    assert np.abs(run.energy - run.energy[0]).max() < 0.02 * np.ptp([s.U(q) for q in run.q])


@pytest.mark.parametrize("coordinates", SIZE)
def test_it_is_symplectic(coordinates):
    """dq ^ dp of two variations that keep the constraints, before and after some steps."""
    s = double_pendulum(coordinates=coordinates)
    q0, rate0 = s.start()
    A = s.A(q0)
    T = np.linalg.svd(A)[2][len(A) :].T  # tangent
    rng = np.random.default_rng(3)
    moves = [(T @ rng.normal(size=T.shape[1]), rng.normal(size=s.size)) for _ in range(2)]
    e, h = 1e-5, 0.02

    def after(move, sign):
        q = q0 + sign * e * move[0]
        for _ in range(20):  # back onto the constraints, which changes q at second order
            A = s.A(q)
            q = q - A.T @ np.linalg.solve(A @ A.T, s.psi(q))
        p = s.mass(q0) @ rate0 + sign * e * move[1]
        start = q, p
        lam = np.zeros(len(s.e))
        for _ in range(5):
            q1, lam, _ = s.step(q, p, q, lam, h)
            q, p = q1, s.arriving(q, q1, h)
        return start, (q, p)

    runs = [[after(move, sign) for sign in (1.0, -1.0)] for move in moves]
    forms = []
    for when in (0, 1):
        (dq1, dp1), (dq2, dp2) = (
            [(a - b) / (2.0 * e) for a, b in zip(up[when], down[when], strict=True)] for up, down in runs
        )
        forms.append(dq1 @ dp2 - dq2 @ dp1)
    assert forms[1] == pytest.approx(forms[0], rel=1e-8)


# --- energy-momentum schemes -----------------------------------------------------------------------------------------


@pytest.mark.spread(0)
@pytest.mark.parametrize(("coordinates", "form"), [("quaternion", "momenta"), ("directors", "momenta"),
                                                   ("directors", "velocities")])  # fmt: skip
def test_conserving_schemes(coordinates, form):
    body = Member(1.0, J, TILTED, SPIN, arm=ARM)
    errors = []
    for h in (0.0035, 0.00175):
        steps = round(0.07 / h)
        t, q, w, energy = conserving(body, h, steps, coordinates, form)
        s = fast_top(coordinates=coordinates)
        assert np.abs(energy - energy[0]).max() < 1e-13 * energy[0]
        assert max(np.abs(s.psi(x)).max() for x in q) < 1e-14
        if form == "momenta":
            momentum = np.einsum("kij,kj->ki", matrix(coordinates, q), w * J)[:, 2]
            assert np.ptp(momentum) < 1e-14 * momentum[0]
        errors.append(np.abs(s.centres(q) - ARM[2] * EXACT.axis(t)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.25)


# --- the core against all this ---------------------------------------------------------------------------------------


def model(scheme):
    """The same bodies and joints for gyrod; a body about a fixed point has a joint there."""
    bodies, joints = [], []
    for i, b in enumerate(scheme.bodies):
        J = np.diag(b.inertia) if b.inertia.ndim == 1 else b.inertia
        R = matrix("quaternion", b.quaternion)
        free = b.position is not None
        centre = J if free else J - b.mass * (b.arm @ b.arm * np.eye(3) - np.outer(b.arm, b.arm))
        x = b.position if free else R @ b.arm
        v = b.velocity if free else R @ np.cross(b.Omega, b.arm)
        bodies.append(gd.Body(f"b{i}", b.mass, centre, x, b.quaternion, v, b.Omega))
        if not free:
            joints.append(gd.Spherical("ground", f"b{i}", at=(0, 0, 0)))
    for j in scheme.joints:
        b = scheme.bodies[j.a]
        at = b.position + matrix("quaternion", b.quaternion) @ j.at_a
        joints.append(gd.Spherical("ground" if j.b is None else f"b{j.b}", f"b{j.a}", at=at))
    return gd.System(bodies, joints, gravity=scheme.gravity)


#: System, sigma of its bodies (None: the mean), step and number of steps.
CASES = {
    "top": (fast_top, None, 0.0035, 60),
    "top, sigma = 0": (fast_top, 0.0, 0.00175, 60),
    "top, sigma = 0.002": (fast_top, 0.002, 0.0035, 60),
    "general": (general, None, 0.00175, 60),
    "double pendulum": (double_pendulum, None, 0.02, 60),
    "double pendulum, sigma by body": (double_pendulum, {"b0": 0.5}, 0.02, 60),
    "top, skew": (skew_top, None, 0.02, 60),
    "top, skew, sigma = 0.1": (skew_top, 0.1, 0.02, 60),
}


@pytest.mark.spread
@pytest.mark.parametrize("potential", ["midpoint", "nodes"])
@pytest.mark.parametrize("coordinates", SIZE)
@pytest.mark.parametrize("case", CASES)
def test_simulate_does_the_same(case, coordinates, potential):
    build, sigma, h, steps = CASES[case]
    options = {"coordinates": coordinates, "potential": potential}
    s = build(sigma["b0"] if isinstance(sigma, dict) else sigma, **options)
    run = s.run(h, steps)
    motion = gd.simulate(
        model(s), steps * h, method="variational", step=h, sigma="mean" if sigma is None else sigma,
        formulation=gd.Formulation(reduce=case.startswith("top")), **options,
    )  # fmt: skip
    np.testing.assert_allclose(motion.t, run.t, rtol=1e-14, atol=1e-15)
    for i, turn in enumerate(s.turns):
        track = motion[f"b{i}"]
        spin = np.abs(s.spins(run, i)).max()
        np.testing.assert_allclose(track.position, s.centres(run.q, i), atol=1e-11)
        np.testing.assert_allclose(track.matrix, matrix(coordinates, run.q[:, turn]), atol=1e-10)
        np.testing.assert_allclose(track.Omega, s.spins(run, i), atol=1e-10 * spin)
        if s.bodies[i].position is not None:
            np.testing.assert_allclose(track.velocity, run.rates[:, turn.start - 3 : turn.start], atol=1e-9)
    scale = np.abs(run.energy).max()
    np.testing.assert_allclose(motion.energy.total, run.energy, atol=1e-11 * scale)
    np.testing.assert_allclose(motion.midpoints.energy, run.midpoint_energy, atol=1e-10 * scale)
    np.testing.assert_allclose(motion.midpoints.t, run.t[1:] - 0.5 * h, rtol=1e-13)
    assert motion.newton.shape == (steps,)
    assert motion.constraint.max() < 1e-13


@pytest.mark.parametrize("build", [fast_top, skew_top])
@pytest.mark.parametrize("coordinates", SIZE)
def test_energy_momentum_does_the_same(build, coordinates):
    s = build(coordinates=coordinates)
    h, steps = {fast_top: 0.0035, skew_top: 0.02}[build], 40
    motion = gd.simulate(model(s), steps * h, method="energy-momentum", step=h, coordinates=coordinates)
    total = motion.energy.total
    assert np.abs(total - total[0]).max() < 1e-13 * np.abs(total).max()
    momentum = motion.angular_momentum @ s.gravity
    assert np.ptp(momentum) < 1e-13 * np.abs(momentum).max()
    _, q, w, _ = conserving(s.bodies[0], h, steps, coordinates, gravity=s.gravity)
    np.testing.assert_allclose(motion["b0"].position, s.centres(q), atol=1e-11)
    np.testing.assert_allclose(motion["b0"].Omega, w, atol=1e-11 * np.abs(w).max())
