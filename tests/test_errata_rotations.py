"""Misprints about rotations in Lang 2010 and Zupan, Saje 2011: the corrected formula holds, the printed fails."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.integrate

from gyrod import _core
from gyrod import rotations as rot

ROUNDING = 1e-12
VISIBLE = 1e-2

INERTIA = np.array([50.0, 42.0, 10.0])  # Lang 2010, Ex. A
EULER_TENSOR = np.array([1.0, 9.0, 41.0])  # the same by (18)
ONE = np.eye(4)[0]


def rng_of(name):
    return np.random.default_rng([ord(c) for c in name])


def holds(got, want, tolerance=ROUNDING):
    scale = max(1.0, np.abs(want).max())
    np.testing.assert_allclose(got, want, rtol=0.0, atol=tolerance * scale)


def fails(got, want, margin=VISIBLE):
    scale = max(1.0, np.abs(want).max())
    assert np.abs(np.asarray(got) - want).max() > margin * scale


def apply(A, x):
    return (A @ x[..., None])[..., 0]


def transpose(A):
    return np.swapaxes(A, -1, -2)


def mass(p, I0=0.0):
    """M_p of (31)."""
    Q = rot.quaternion_matrix(p)
    return 4.0 * Q @ np.diag([I0, *INERTIA]) @ Q.T


def tangential_mass_inverse(p):
    """M_p^sharp above (39)."""
    Q = rot.quaternion_matrix(p)
    return Q @ np.diag([0.0, *(1.0 / INERTIA)]) @ Q.T / (4.0 * (p @ p) ** 2)


@pytest.fixture
def state():
    """A unit quaternion, a material angular velocity and p' = p Omega/2."""
    rng = rng_of("state")
    p, Omega = rot.normalize(rng.normal(size=4)), rng.normal(size=3)
    return p, Omega, rot.rates("quaternion", p, Omega)


# --- Lang 2010 ----------------------------------------------------------------------------------------------


def test_lang_lemma_3_1_signs(state):
    p, Omega, _ = state
    d = rot.euler_map(p)
    T = rot.director_nullspace(d)
    T_dot = rot.director_nullspace(T @ Omega)  # T_d is linear in d
    got = T.T @ np.diag(np.repeat(EULER_TENSOR, 3)) @ T_dot @ Omega
    E1, E2, E3 = EULER_TENSOR
    O1, O2, O3 = Omega
    printed = np.array([(E3 - E2) * O3 * O2, (E1 - E3) * O1 * O3, (E2 - E1) * O2 * O1])
    holds(got, -printed)
    holds(got, np.cross(Omega, INERTIA * Omega))
    fails(got, printed)


def test_lang_below_lemma_4_2(state):
    p, Omega, p_dot = state
    T, Q_dot, inertia = rot.quaternion_nullspace(p), rot.quaternion_matrix(p_dot), np.diag([0.0, *INERTIA])
    gyroscopic = np.cross(Omega, INERTIA * Omega)
    holds(8.0 * T.T @ Q_dot @ inertia @ Q_dot.T @ p, -gyroscopic)
    fails(8.0 * T.T @ Q_dot.T @ inertia @ Q_dot @ p, gyroscopic)


def test_lang_33_needs_I0_zero(state):
    p, _, p_dot = state

    def skew_derivative(I0):
        """1/2 grad(p'' M p')' - grad(M p') p'; M is quadratic in p, so central differences are exact."""
        basis = np.eye(4)
        gradient = [0.25 * p_dot @ (mass(p + e, I0) - mass(p - e, I0)) @ p_dot for e in basis]
        return np.array(gradient) - 0.5 * (mass(p + p_dot, I0) - mass(p - p_dot, I0)) @ p_dot

    def closed_form(I0):
        Q_dot = rot.quaternion_matrix(p_dot)
        return 8.0 * Q_dot @ np.diag([I0, *INERTIA]) @ Q_dot.T @ p

    holds(closed_form(0.0), skew_derivative(0.0))
    fails(closed_form(51.0), skew_derivative(51.0))


@pytest.mark.parametrize("length", [0.5, 1.0, 1.7])
def test_lang_39_border(length):
    p = length * rot.normalize(rng_of("39").normal(size=4))

    def bordered(A, border):
        return np.block([[A, border[:, None]], [border[None, :], np.zeros((1, 1))]])

    inverse = np.linalg.inv(bordered(mass(p), p))
    holds(bordered(tangential_mass_inverse(p), p / (p @ p)), inverse)
    printed = bordered(tangential_mass_inverse(p), p)
    if length == 1.0:
        holds(printed, inverse)
    else:
        fails(printed, inverse)


@pytest.mark.parametrize("length", [0.5, 1.0, 1.7])
def test_lang_40_off_the_sphere(length):
    rng = rng_of("40")
    p = length * rot.normalize(rng.normal(size=4))
    v, psi = rng.normal(size=(2, 4))
    system = np.block([[mass(p), p[:, None]], [p[None, :], np.zeros((1, 1))]])
    index_1 = np.linalg.solve(system, [*psi, -v @ v])  # (37)
    free = tangential_mass_inverse(p) @ psi
    holds(np.array([*(free - v @ v * p / (p @ p)), p @ psi / (p @ p)]), index_1)
    printed = np.array([*(free - v @ v * p), p @ psi])
    if length == 1.0:
        holds(printed, index_1)
    else:
        fails(printed[:4], index_1[:4])
        fails(printed[4:], index_1[4:])


def test_lang_41_factor(state):
    p, Omega, p_dot = state
    T = rot.quaternion_nullspace(p)
    holds(T @ Omega, p_dot)
    # "orthonormal" holds without the factor 1/2 of (41), (53) with it
    frame = np.column_stack([p, 2.0 * T])
    holds(frame.T @ frame, np.eye(4))
    fails(np.column_stack([p, T]).T @ np.column_stack([p, T]), np.eye(4))
    T_d = rot.director_nullspace(rot.euler_map(p))
    holds(rot.euler_differential(p) @ T, T_d)
    fails(rot.euler_differential(p) @ (2.0 * T), T_d)


def test_lang_lemma_4_2_cyclic_relations(state):
    p, _, _ = state
    tau = rot.quaternion_nullspace(p).T
    for n in range(3):
        m, k = (n + 1) % 3, (n + 2) % 3
        # tau_n is linear in p: its derivative along x is tau_n(x)
        along_next = rot.quaternion_nullspace(tau[m])[:, n]
        holds(along_next, -0.5 * tau[k])
        fails(along_next, -tau[k])
        along_itself = rot.quaternion_nullspace(tau[n])[:, n]
        holds(along_itself, -0.25 * p)
        fails(along_itself, -p)
        unscaled = 2.0 * rot.quaternion_nullspace(2.0 * tau[m])[:, n]
        holds(unscaled, -2.0 * tau[k])


@pytest.mark.parametrize("length", [1.0, 1.7])
def test_lang_54_homogeneity(length):
    p = length * rot.normalize(rng_of("54").normal(size=4))
    phi, D, D_nat = rot.euler_map(p), rot.euler_differential(p), rot.euler_differential_pinv(p)
    holds(D @ p, 2.0 * phi)
    fails(D @ p, phi)
    holds(D_nat @ phi, 0.5 * p)
    fails(D_nat @ phi, p)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_lang_spurrier_klumpp_signs(n):
    """The case n is reached where p_n is by far the largest; d^i_j is component j of director i."""
    p = rot.normalize(np.array([0.2, -0.3, 0.25, 0.35]) + 2.0 * np.eye(4)[n])
    p *= np.sign(p[n])
    R = rot.matrix_from_quaternion(p)
    assert np.argmax([np.trace(R), *np.diag(R)]) == n
    got = rot.quaternion_from_matrix(R)
    holds(got * np.sign(got[n]), p)
    d = R.T  # d[i, j] = d^(i+1)_(j+1)

    def extract(sign):
        q = np.empty(4)
        if n == 0:
            q[0] = 0.5 * np.sqrt(1.0 + np.trace(R))
            q[1:] = np.array([d[1, 2] - d[2, 1], d[2, 0] - d[0, 2], d[0, 1] - d[1, 0]]) / (4.0 * q[0])
            return q
        i, j, k = n - 1, n % 3, (n + 1) % 3
        q[n] = np.sqrt(0.5 * d[i, i] + 0.25 * (1.0 - np.trace(R)))
        q[0] = (d[j, k] - d[k, j]) / (4.0 * q[n])
        q[1 + j] = (d[i, j] + sign * d[j, i]) / (4.0 * q[n])
        q[1 + k] = (d[i, k] + sign * d[k, i]) / (4.0 * q[n])
        return q

    holds(extract(+1.0), p)
    if n > 0:
        fails(extract(-1.0), p)


def test_lang_lemma_6_2_position():
    """d* - d must be normal to SO(3), T_d'(d* - d) = 0: so for the polar factor, not for Spurrier-Klumpp."""
    rng = rng_of("6.2")
    R = rot.matrix_from_quaternion(rng.normal(size=(20, 4)))
    defects, residuals = np.array([1e-4, 1e-3, 1e-2]), []
    for defect in defects:
        drifted = R + defect * rng_of("defect").uniform(-1.0, 1.0, R.shape)

        def normality(projected, drifted=drifted):
            d = rot.directors_from_matrix(projected)
            difference = rot.directors_from_matrix(drifted) - d
            return np.abs(apply(transpose(rot.director_nullspace(d)), difference)).max()

        assert normality(rot.project(drifted, "polar")) < 1e-13
        residuals.append(normality(rot.project(drifted, "spurrier")))
    assert np.all(residuals > 0.1 * defects)
    assert np.polyfit(np.log(defects), np.log(residuals), 1)[0] == pytest.approx(1.0, abs=0.05)


def test_lang_lemma_6_2_velocity_is_right():
    """(V) of the same algorithm needs no correction: d' - d'* is normal and d' tangential."""
    rng = rng_of("velocity")
    p, rate = rot.normalize(rng.normal(size=4)), rng.normal(size=9)
    p_dot = rot.euler_differential_pinv(p) @ rate
    projected = rot.euler_differential(p) @ (p_dot - (p @ p_dot) * p)
    d = rot.euler_map(p)
    holds(rot.director_constraint_gradient(d) @ projected, np.zeros(6))
    holds(rot.director_nullspace(d).T @ (rate - projected), np.zeros(3))


def test_lang_example_A_initial_rotation():
    p = np.array([0.5 * np.sqrt(3.0), 0.5, 0.0, 0.0])
    printed = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.5 * np.sqrt(3.0), 0.5]])
    corrected = printed.copy()
    corrected[1, 2] = -0.5 * np.sqrt(3.0)
    holds(rot.matrix_from_quaternion(p), corrected)
    holds(rot.convert([0.0, np.pi / 3.0, 0.0], "euler", "matrix"), corrected)
    fails(rot.matrix_from_quaternion(p), printed)
    with pytest.raises(ValueError, match="not a rotation matrix"):
        rot.quaternion_from_matrix(printed)


def test_lang_example_C_nullspace_sign():
    rng = rng_of("C")
    rho1, rho2 = np.array([1.0, 2.0, -3.0]), np.array([5.0, -6.0, -7.0])
    R1, R2 = rot.matrix_from_quaternion(rng.normal(size=(2, 4)))
    d1, d2 = rot.directors_from_matrix(np.stack([R1, R2]))
    one, zero = np.eye(3), np.zeros

    def lever(rho):
        return np.kron(rho, one)  # rho = sum of rho_n d^n

    G_ext = np.hstack([one, lever(rho1), -one, -lever(rho2)])  # gradient of x1 - x2 + rho1 - rho2
    inner1, inner2 = rot.director_constraint_gradient(np.stack([d1, d2]))
    G = np.block([[zero((6, 3)), inner1, zero((6, 12))], [zero((6, 15)), inner2], [G_ext]])

    def nullspace(sign):
        T1, T2 = (np.block([[one, zero((3, 3))], [zero((9, 3)), rot.director_nullspace(d)]]) for d in (d1, d2))
        x2 = np.hstack([one, -R1 @ rot.skew(rho1), sign * R2 @ rot.skew(rho2)])
        return np.vstack([np.hstack([T1, zero((12, 3))]), T2 @ np.vstack([x2, np.hstack([zero((3, 6)), one])])])

    T = nullspace(+1.0)
    assert np.linalg.matrix_rank(T) == 9
    assert np.linalg.matrix_rank(G) == 15
    holds(G @ T, zero((15, 9)), 1e-14)
    assert np.abs(G @ nullspace(-1.0)).max() > 5.0


def test_lang_example_C_gradient_is_that_of_minus_g():
    """Harmless: G^ext as printed is the gradient of x2 - x1 + rho2 - rho1."""
    rho1, rho2 = np.array([1.0, 2.0, -3.0]), np.array([5.0, -6.0, -7.0])
    one = np.eye(3)
    printed = np.hstack([-one, -np.kron(rho1, one), one, np.kron(rho2, one)])

    def g(q):
        x1, d1, x2, d2 = np.split(q, [3, 12, 15])
        return x1 - x2 + rot.matrix_from_directors(d1) @ rho1 - rot.matrix_from_directors(d2) @ rho2

    q = rng_of("G ext").normal(size=24)
    holds(-printed @ q, g(q))
    fails(printed @ q, g(q))


# --- Zupan, Saje 2011 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [0.7, 1.0, 4.0])
def test_zupan_saje_22(angle):
    increment = angle * np.array([2.0, -1.0, 2.0]) / 3.0  # dt w_m
    S = rot.skew(increment)
    want = (np.eye(3) + 0.5 * S) @ np.linalg.inv(np.eye(3) - 0.5 * S)

    def closed_form(factor):
        return np.eye(3) + 2.0 / (1.0 + factor * angle**2) * (0.5 * S + 0.25 * S @ S)

    holds(closed_form(0.25), want)
    holds(closed_form(0.25).T @ closed_form(0.25), np.eye(3))
    fails(closed_form(0.5), want)
    fails(closed_form(0.5).T @ closed_form(0.5), np.eye(3))
    step = _core.step_rotations(np.tile(increment, (1, 2, 1)), np.ones(1), "midpoint-matrix", "body")[0]
    holds(rot.matrix_from_quaternion(step), want)


def test_zupan_saje_24_order_of_factors():
    """q' = w_g q/2 for spatial rates, q w_G/2 for body rates; the printed w_G q/2 mixes them."""
    rng = rng_of("24")
    q, Omega = rot.normalize(rng.normal(size=4)), rng.normal(size=3)
    omega = rot.rotate(q, Omega)
    body, space = np.array([0.0, *Omega]), np.array([0.0, *omega])
    R = rot.matrix_from_quaternion(q)
    # differential of the Euler map turns q' into R', which is R E(Omega)
    want = rot.directors_from_matrix(R @ rot.skew(Omega))
    D = rot.euler_differential(q)
    holds(0.5 * D @ rot.multiply(q, body), want)
    holds(0.5 * D @ rot.multiply(space, q), want)
    fails(0.5 * D @ rot.multiply(body, q), want)
    holds(rot.rates("quaternion", q, Omega), 0.5 * rot.multiply(q, body))
    holds(rot.rates("quaternion", q, omega, frame="space"), 0.5 * rot.multiply(space, q))


def midpoint_25(q, w, dt):
    """A and b of (25), as printed."""
    A = 4.0 * dt**2 / (16.0 + dt**2 * (w @ w)) * rot.quaternion_matrix(np.array([4.0 / dt, *w]))
    scalar = q[0] / dt - 0.25 * q[1:] @ w
    vector = q[1:] / dt + 0.25 * (q[0] * w + np.cross(w, q[1:]))
    return A @ np.array([scalar, *vector])


def one_step(q, w, dt, frame):
    """The step of the library: midpoint-quaternion with constant rates."""
    increment = _core.step_rotations(np.tile(w, (1, 2, 1)), np.array([dt]), "midpoint-quaternion", frame)
    return _core.compose(q, increment, frame)[1]


def test_zupan_saje_25_is_for_spatial_rates():
    rng = rng_of("25")
    q, w, dt = rot.normalize(rng.normal(size=4)), rng.normal(size=3), 0.4
    printed = midpoint_25(q, w, dt)
    holds(printed, one_step(q, w, dt, "space"))
    fails(printed, one_step(q, w, dt, "body"))
    # right multiplication for body rates
    cayley = rot.multiply(midpoint_25(ONE, w, dt), ONE)
    holds(rot.multiply(q, cayley), one_step(q, w, dt, "body"))
    holds(rot.multiply(cayley, q), printed)
    # both are of second order: a small step with constant rates nearly turns by exp(dt w) on the proper side
    small = 1e-4
    turn = rot.exp(small * w)
    assert np.abs(midpoint_25(q, w, small) - rot.multiply(turn, q)).max() < 1e-10
    assert np.abs(midpoint_25(q, w, small) - rot.multiply(q, turn)).max() > 1e-6


@pytest.mark.parametrize("dt", [0.01, 1.0, 7.0, 1000.0])
def test_zupan_saje_25_keeps_the_norm(dt):
    """Neither "not the rotational quaternion" nor "stable for dt <= 1": the map is orthogonal for any step."""
    w = np.array([0.3, -1.1, 0.7])
    step = np.column_stack([midpoint_25(e, w, dt) for e in np.eye(4)])
    holds(step.T @ step, np.eye(4), 1e-14)
    assert np.linalg.det(step) == pytest.approx(1.0, abs=1e-13)
    q = rot.normalize(rng_of("norm").normal(size=4))
    for frame in rot.FRAMES:
        increment = _core.step_rotations(np.tile(w, (1, 2, 1)), np.array([dt]), "midpoint-quaternion", frame)
        holds(np.linalg.norm(increment), 1.0, 1e-15)
    for _ in range(1000):
        q = midpoint_25(q, w, dt)
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-12)
    # the factor A alone, whose eigenvalues the paper bounds by dt, is not the map of the step
    A = 4.0 * dt**2 / (16.0 + dt**2 * (w @ w)) * rot.quaternion_matrix(np.array([4.0 / dt, *w]))
    radius = np.abs(np.linalg.eigvals(A)).max()
    assert radius == pytest.approx(4.0 * dt / np.sqrt(16.0 + dt**2 * (w @ w)))
    assert abs(radius - 1.0) > 1e-2


def test_zupan_saje_table_1_rate_of_the_tangential_vector():
    rng = rng_of("table 1")
    theta, theta_dot = rng.normal(size=(2, 3))
    t = np.linalg.norm(theta)
    n, t_dot = theta / t, theta @ theta_dot / t
    n_dot = theta_dot / t - theta * t_dot / t**2
    psi = np.tan(0.5 * t) * n
    holds(psi, rot.convert(theta, "rotation-vector", "tangential"))
    # the same motion, through the angular velocity
    omega = rot.angular_velocity("rotation-vector", theta, theta_dot, frame="space")
    want = rot.rates("tangential", psi, omega, frame="space")
    turning = np.tan(0.5 * t) * n_dot
    holds(t_dot / (2.0 * np.cos(0.5 * t) ** 2) * n + turning, want)
    fails(t_dot / np.cos(0.5 * t) ** 2 * n + turning, want)


def test_zupan_saje_butcher_row_8_9():
    printed = [Fraction(19372, 6561), Fraction(-25360, 2187), Fraction(-212, 729)]
    corrected = [*printed[:2], Fraction(64448, 6561), printed[2]]
    assert sum(corrected) == Fraction(8, 9)
    assert abs(sum(printed) - Fraction(8, 9)) > 9
    holds(np.array([float(a) for a in corrected]), scipy.integrate.RK45.A[4][:4], 1e-15)


def test_zupan_saje_butcher_row_8_9_in_the_library():
    """The fifth stage of the first step, with the corrected row and with the printed one."""

    def rates(t):
        return np.stack([np.sin(t), 1.0 + t, np.cos(3.0 * t)], axis=-1)

    q0 = np.array([0.5, -0.5, 0.5, 0.5])
    run = _core.solve_function(rates, "quaternion", "ode45", "body", 0.0, 1.0, q0, 1e-3, 1e-3)
    t, y, stages = run.t, run.y, run.stages
    h, k = t[1] - t[0], stages[0]
    assert h > 1e-3

    def fifth(row):
        state = y[0] + h * np.tensordot(row, k[: len(row)], axes=1)
        return rot.rates("quaternion", state, rates(t[0] + 8.0 / 9.0 * h))

    holds(k[4], fifth([19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729]), 1e-14)
    fails(k[4], fifth([19372 / 6561, -25360 / 2187, -212 / 729]), 1e-3)
