"""The variational integrator and the conserving schemes through the public face."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import mechanism_oracle as mo
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import gyrod as gd
from gyrod import problems
from gyrod import rotations as ro
from gyrod.equations.variational import COORDINATES, POTENTIALS, compile_stepped
from gyrod.reproduce.xu_zhong_2016 import LagrangeTop

TABLE = json.loads((Path(__file__).parent / "data" / "xu_zhong_2016.json").read_text(encoding="utf-8"))
ROWS = [row for row in TABLE["fast_top"]["table"] if row["ok"]]
OF = {"quat": "quaternion", "base": "directors"}
J = np.array([0.002, 0.002, 0.0008])
TILT = np.pi / 6.0
SPIN = np.array([0.0, 0.0, 40.0 * np.pi])
MEAN = float(J.mean())
EXACT = LagrangeTop((J[0], J[2]), 9.81 * 0.04, TILT, SPIN[2])
both = pytest.mark.parametrize("coordinates", COORDINATES)


def top(p=None, Omega=SPIN, **given) -> gd.System:
    """The fast top of section 5.1; its moments are about the fixed point, m l² = 0.0016."""
    p = np.array([np.cos(TILT / 2), np.sin(TILT / 2), 0.0, 0.0]) if p is None else p
    body = gd.Body(
        "top", mass=1.0, inertia=J - [0.0016, 0.0016, 0.0], position=ro.rotate(p, [0, 0, 0.04]), orientation=p,
        angular_velocity=Omega,
    )  # fmt: skip
    return gd.System([body], [gd.Spherical("ground", "top", at=(0, 0, 0))], **given)


def run(system, t_end, step, method="variational", **options) -> gd.Motion:
    return gd.simulate(system, t_end, method=method, step=step, **options)


def energy_error(motion) -> float:
    E = motion.energy.total
    return float(np.abs(E - E[0]).max())


# --- the paper's numbers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r['coord']}-{r['dt']}-{r['sigma']}")
def test_rows_of_the_fast_top(row):
    motion = run(top(), 1.4, row["dt"], coordinates=OF[row["coord"]], sigma="mean" if row["sigma"] != "0" else 0)
    assert energy_error(motion) == pytest.approx(row["dE_node"], rel=1e-5)
    middle = motion.midpoints.energy
    assert np.abs(middle - motion.energy.total[0]).max() == pytest.approx(row["dE_mid"], rel=1e-8)
    error = motion["top"].position - 0.04 * EXACT.axis(motion.t)
    np.testing.assert_allclose(np.abs(error).max(axis=0), row["err_max"], rtol=1e-3)
    assert np.linalg.norm(error, axis=1).max() == pytest.approx(row["err_norm_max"], rel=1e-3)
    assert motion.constraint.max() < 2e-15


@both
def test_the_mean_splits_the_energy_error_by_ten(coordinates):
    for h in (0.0035, 0.00175, 0.000875):
        zero, mean = (energy_error(run(top(), 1.4, h, coordinates=coordinates, sigma=s)) for s in (0.0, "mean"))
        assert 9.0 < zero / mean < 11.0


@pytest.mark.parametrize(("coordinates", "h", "ratio"), [("quaternion", 0.007, 1.007), ("directors", 0.0035, 1.113)])
def test_best_sigma_of_the_fast_top(coordinates, h, ratio):
    t = np.arange(round(1.4 / h) + 1) * h
    exact = 0.04 * EXACT.axis(t)

    def error(x):
        motion = run(top(), 1.4, h, coordinates=coordinates, sigma=x * MEAN)
        return float(np.sqrt(np.mean(np.sum((motion["top"].position - exact) ** 2, axis=1))))

    assert minimize_scalar(error, bounds=(0.9, 1.3), method="bounded").x == pytest.approx(ratio, rel=0.01)


@pytest.mark.parametrize(
    ("coordinates", "h", "potential", "gain"),
    [("directors", 0.0035, "midpoint", 10.0), ("quaternion", 0.007, "nodes", 4.0), ("quaternion", 0.007, None, 0.98)],
)
def test_the_best_sigma_is_found_by_a_trial(coordinates, h, potential, gain):
    """Of the fast top; where the potential of midpoints is what is wrong, nothing is gained, and nothing lost."""
    t = np.arange(round(1.4 / h) + 1) * h

    def error(sigma):
        motion = run(top(), 1.4, h, coordinates=coordinates, sigma=sigma, potential=potential)
        return float(np.linalg.norm(motion["top"].position - 0.04 * EXACT.axis(t)))

    assert error("mean") > gain * error("best")


def test_what_has_no_best_sigma_takes_the_mean():
    """Of a ball no turn is seen; too few steps, or none at all, do not mislead."""
    ball = gd.System([gd.Body("ball", 1.0, (0.4, 0.4, 0.4), angular_velocity=(1, 2, 3))], gravity=(0, 0, 0))
    best, mean = (run(ball, 1.0, 0.1, sigma=s)["ball"].quaternion for s in ("best", "mean"))
    np.testing.assert_array_equal(best, mean)
    run(double_pendulum(), 0.005, 0.005, sigma="best")
    with pytest.raises(gd.SimulationError, match="Try a smaller step"):
        run(top(), 1.4, 0.1, sigma="best")
    with pytest.raises(ValueError, match="must be 'mean', 'best', a number"):
        run(top(), 1.4, 0.007, sigma=["best"])


def test_steppers_find_the_best_sigma_too():
    sim = gd.stepper(top(), method="variational", step=0.0035, coordinates="directors", sigma="best", record=True)
    for _ in range(4):
        sim.step(0.035)
    wanted = run(top(), 0.7, 0.0035, coordinates="directors", sigma="best")["top"].position[40]
    np.testing.assert_allclose(sim.motion()["top"].position[-1], wanted, atol=1e-12)


# --- what the schemes keep -------------------------------------------------------------------------------------------


@pytest.mark.spread
@both
@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("reduce", [True, False])
def test_second_order_in_trajectory_and_energy(coordinates, potential, reduce):
    options = {"coordinates": coordinates, "potential": potential, "formulation": gd.Formulation(reduce=reduce)}
    errors = []
    for h in (0.000875, 0.0004375, 0.00021875):
        motion = run(top(), 1.4, h, **options)
        place = np.linalg.norm(motion["top"].position - 0.04 * EXACT.axis(motion.t), axis=1).max()
        errors.append([place, energy_error(motion)])
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.1)


def turned(system_of, x):
    """Coordinates and momenta of all bodies (7 each, quaternions) after a run, as the system at x gives them."""
    motion = system_of(x)
    parts = []
    for body in motion.compiled.system.bodies:
        track = motion[body.name]
        p = ro.conversions.spurrier_klumpp(track.matrix[-1])
        momentum = 2.0 * ro.multiply(p, [0.0, *(body.inertia @ track.Omega[-1])])
        parts.append([[*track.position[-1], *p], [*(body.mass * track.velocity[-1]), *momentum]])
    q, p = np.swapaxes(parts, 0, 1).reshape(2, -1)
    return q, p


def two_form(system_of, n):
    """dq ^ dp of all pairs of n variations, by central differences of 1e-5."""
    ends = [[turned(system_of, s * 1e-5 * np.eye(n)[i]) for s in (1.0, -1.0)] for i in range(n)]
    dq = np.array([(a[0] - b[0]) / 2e-5 for a, b in ends])
    dp = np.array([(a[1] - b[1]) / 2e-5 for a, b in ends])
    return dq @ dp.T - dp @ dq.T


def about_the_top(coordinates, steps, **options):
    p0 = np.array([np.cos(TILT / 2), np.sin(TILT / 2), 0.0, 0.0])

    def system_of(x):
        system = top(ro.multiply(ro.exp(x[:3]), p0), SPIN + 10.0 * x[3:])
        return run(system, steps * 0.0035, 0.0035, coordinates=coordinates, output=[steps * 0.0035], **options)

    return system_of


@pytest.mark.spread
@both
@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("reduce", [True, False])
def test_the_two_form_of_the_top_is_preserved(coordinates, potential, reduce):
    options = {"potential": potential, "formulation": gd.Formulation(reduce=reduce), "sigma": 0.3 * MEAN}
    one, many = (two_form(about_the_top(coordinates, n, **options), 6) for n in (1, 60))
    np.testing.assert_allclose(many, one, atol=1e-8 * np.abs(one).max())
    flow = np.linalg.norm(turned(about_the_top(coordinates, 60, **options), np.zeros(6))[0])
    assert flow > 0.9  # the run went somewhere


def test_the_conserving_schemes_are_not_symplectic():
    one, many = (two_form(about_the_top("quaternion", n, method="energy-momentum"), 6) for n in (1, 60))
    assert np.abs(many - one).max() > 1e-5 * np.abs(one).max()


def double_pendulum(x=None) -> gd.System:
    """Two bodies on ball joints, spatial; x turns them and changes their spins."""
    x = np.zeros(12) if x is None else x
    p = [
        ro.multiply(ro.exp(a), q)
        for a, q in zip(x[:6].reshape(2, 3), (ro.exp([1.0, 0.2, 0]), ro.exp([0.1, 1.4, 0])), strict=False)
    ]
    spins = np.array([[0.5, 1.0, 6.0], [2.0, -1.0, 3.0]]) + 10.0 * x[6:].reshape(2, 3)
    elbow = ro.rotate(p[0], [0, 0, -0.5])
    centres = [0.5 * elbow, elbow + ro.rotate(p[1], [0.05, 0, -0.2])]
    bodies = [
        gd.Body(n, mass=m, inertia=i, position=c, orientation=q, angular_velocity=w)
        for n, m, i, c, q, w in zip(
            ("upper", "lower"), (1.0, 0.6), ((0.03, 0.025, 0.01), (0.01, 0.012, 0.004)), centres, p, spins, strict=True
        )
    ]
    joints = [gd.Spherical("ground", "upper", at=(0, 0, 0)), gd.Spherical("upper", "lower", at=elbow)]
    return gd.System(bodies, joints)


@pytest.mark.spread(0)
@both
def test_the_two_form_of_a_double_pendulum_is_preserved(coordinates):
    def after(steps):
        return lambda x: run(
            double_pendulum(x), steps * 0.01, 0.01, coordinates=coordinates, output=[steps * 0.01], sigma=0.01
        )

    one, many = (two_form(after(n), 12) for n in (1, 20))
    np.testing.assert_allclose(many, one, atol=1e-8 * np.abs(one).max())


@both
def test_momenta_are_conserved(coordinates):
    motion = run(top(), 7.0, 0.0035, coordinates=coordinates)
    vertical = motion.angular_momentum[:, 2]
    assert np.abs(np.diff(vertical)).max() < 1e-12 * abs(vertical[0])
    assert np.ptp(vertical) < 1e-12 * abs(vertical[0])
    swinging = run(double_pendulum(), 5.0, 0.005, coordinates=coordinates).angular_momentum[:, 2]
    assert np.ptp(swinging) < 1e-12
    body = gd.Body("free", mass=2.0, inertia=(0.3, 0.2, 0.4), velocity=(1, 2, 3), angular_velocity=(3.0, 0.1, 0.2))
    for method in ("variational", "energy-momentum"):
        flight = run(gd.System([body], gravity=(0, 0, 0)), 10.0, 0.01, method, coordinates=coordinates)
        assert np.ptp(flight.momentum, axis=0).max() < 1e-13
        assert np.ptp(flight.angular_momentum, axis=0).max() < 1e-11


@pytest.mark.spread(0)
@both
def test_energy_of_the_fast_top_does_not_grow_over_a_million_steps(coordinates):
    motion = run(top(), 3500.0, 0.0035, coordinates=coordinates, output=97)
    E = motion.energy.total
    assert motion.stats.steps == 10**6
    slope = np.polyfit(motion.t, E, 1)[0]
    assert abs(slope) * motion.t[-1] < 0.01 * np.ptp(E)
    assert np.ptp(motion.angular_momentum[:, 2]) < 1e-10 * motion.angular_momentum[0, 2]


@pytest.mark.spread(0)
@both
def test_energy_of_the_double_pendulum_and_of_lang_c_stays_bounded(coordinates):
    E = run(double_pendulum(), 60.0, 0.005, coordinates=coordinates, output=3).energy.total
    early = np.ptp(E[: len(E) // 6])
    assert np.ptp(E) < 4.0 * early < 0.05
    lang = run(problems.get("lang-c").system, 4.0, 2.5e-4, coordinates=coordinates)
    assert energy_error(lang) < 2e-3 * lang.energy.total[0]
    assert lang.constraint.max() < 1e-13


@both
def test_conserving_schemes_keep_energy_and_momentum(coordinates):
    for h in (0.0035, 0.01):
        motion = run(top(), 14.0, h, "energy-momentum", coordinates=coordinates)
        E, vertical = motion.energy.total, motion.angular_momentum[:, 2]
        assert np.ptp(E) < 1e-12 * E[0]
        assert np.ptp(vertical) < 1e-13
    errors = [
        np.abs(m["top"].position - 0.04 * EXACT.axis(m.t)).max()
        for m in (run(top(), 1.4, h, "energy-momentum", coordinates=coordinates) for h in (0.000875, 0.0004375))
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


@both
def test_tiny_steps_lose_no_digits(coordinates):
    """The iteration ends by the size of the increments: with tiny steps a fixed bound would end it too early."""
    for system, body in ((top(), "top"), (double_pendulum(), "lower")):
        exact = gd.simulate(system, 2e-6, method="dop853", rtol=1e-13, output=[2e-6])
        motion = run(system, 2e-6, 1e-8, coordinates=coordinates)
        np.testing.assert_allclose(motion[body].Omega[-1], exact[body].Omega[-1], rtol=1e-13, atol=1e-12)


# --- joints and forces -----------------------------------------------------------------------------------------------


def random_system(seed):
    return mo.random_mechanism(
        seed, 4, loops=seed % 2, loop_kinds=["Distance", "Spherical"], driven=seed % 3, springs=True
    )


@pytest.mark.spread
@both
@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("seed", range(6))
def test_newton_matrix_is_the_derivative_of_the_residual(coordinates, potential, seed):
    system, h = random_system(seed), 0.05
    s = compile_stepped(
        system, h, coordinates=coordinates, sigma="mean", potential=potential, conserving=False, reduce=True
    )
    moves = sum(3 if name in system.fixed_points else 6 for name in system.names)
    rng = np.random.default_rng(seed)
    u = np.zeros(s.core.unknowns)
    u[:moves] = 0.1 * rng.normal(size=moves)
    _, K = s.core.linearise(s.start, 0.0, h, u)
    for j in range(moves):
        d = 1e-6 * np.eye(len(u))[j]
        numeric = (s.core.linearise(s.start, 0.0, h, u + d)[0] - s.core.linearise(s.start, 0.0, h, u - d)[0]) / 2e-6
        np.testing.assert_allclose(K[:, j], numeric, atol=1e-8 * np.abs(K).max())


@pytest.mark.spread
@both
@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("seed", range(6))
def test_random_mechanisms_converge_with_order_two(coordinates, potential, seed):
    system = random_system(seed)
    exact = gd.simulate(system, 0.5, method="dop853", rtol=1e-11, output=[0.5])
    errors = []
    for n in (40, 80):
        m = run(system, 0.5, 0.5 / n, coordinates=coordinates, potential=potential, output=[0.5])
        parts = [(m[b], exact[b]) for b in system.names]
        errors.append(
            max(
                np.abs(getattr(a, f) - getattr(b, f)).max() for a, b in parts for f in ("position", "velocity", "Omega")
            )
        )
        assert m.constraint.max() < 1e-13
        assert m.drift.velocity.max() < 1e-12
        assert m.newton.max() <= 4
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.05)


@both
@pytest.mark.parametrize("name", ["four-bar", "bennett", "slider-crank", "platform", "four-bar-driven"])
def test_loops_with_redundant_rows_and_drives(coordinates, name):
    system = problems.get(name).system
    motion = run(system, 0.5, 0.002, coordinates=coordinates)
    exact = gd.simulate(system, 0.5, method="dop853", rtol=1e-9, output=[0.5])
    for body in system.names:
        np.testing.assert_allclose(motion[body].position[-1], exact[body].position[-1], atol=1e-4)
    assert motion.constraint.max() < 1e-13


@both
def test_bodies_without_inertia_go_with_the_joint_that_carries_them(coordinates):
    pendulum = problems.get("pendulum").system  # a point mass on a hinge
    motion = run(pendulum, 2.0, 0.001, coordinates=coordinates)
    exact = gd.simulate(pendulum, 2.0, method="dop853", rtol=1e-11, output=[2.0])
    np.testing.assert_allclose(motion["mass"].position[-1], exact["mass"].position[-1], atol=1e-5)
    assert energy_error(motion) < 5e-5
    assert motion.constraint.max() < 1e-14
    # Two point masses on hinges whose axes are skew, a needle between them on a universal joint, and a spring.
    masses = [
        gd.Body(f"m{i}", mass=1.0 + i, inertia=np.zeros(3), position=x) for i, x in enumerate(([1, 0, 0], [2, 1, 1]))
    ]
    needle = gd.Body("needle", mass=0.5, inertia=(0.1, 0.1, 0.0), position=(1, 0, 0.5))
    joints = [
        gd.Revolute("ground", "m0", at=(0, 0, 0), axis=(0, 1, 1)),
        gd.Universal("m0", "needle", at=(1, 0, 0), axis=(1, 0, 0), axis2=(0, 1, 0)),
        gd.Revolute("needle", "m1", at=(1, 0, 1), axis=(1, -1, 1)),
    ]
    spring = gd.SpringDamper("ground", "m1", (0, 0, 3), (0, 0, 0), stiffness=10.0, damping=0.1, length=2.0)
    chain = gd.System([*masses, needle], joints, forces=[spring])
    exact = gd.simulate(chain, 0.5, method="dop853", rtol=1e-11, output=[0.5])
    errors = []
    for h in (0.01, 0.005):
        m = run(chain, 0.5, h, coordinates=coordinates)
        errors.append(max(np.abs(m[b].position[-1] - exact[b].position[-1]).max() for b in chain.names))
        assert m.constraint.max() < 1e-14
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


@both
def test_a_pinned_body_beside_a_mechanism_keeps_its_fixed_point(coordinates):
    skew = gd.Body(
        "skew", mass=1.0, inertia=[[0.3, 0.05, 0], [0.05, 0.2, 0.02], [0, 0.02, 0.25]], position=(2.0, 0.3, 0.4),
        orientation=ro.exp([0.2, 0.1, 0.4]), angular_velocity=(1, 2, 3),
    )  # fmt: skip
    pair = double_pendulum()
    pin = gd.Spherical("ground", "skew", at=(2, 0, 0))
    spring = gd.SpringDamper("skew", "lower", (0.1, 0, 0), (0, 0, -0.2), stiffness=5.0, length=1.0)
    system = gd.System([*pair.bodies, skew], [*pair.joints, pin], forces=[spring])
    exact = gd.simulate(system, 0.5, method="dop853", rtol=1e-11, output=[0.5])
    for reduce in (True, False):
        errors = []
        for h in (0.005, 0.0025):
            motion = run(system, 0.5, h, coordinates=coordinates, formulation=gd.Formulation(reduce=reduce))
            assert motion.constraint.max() < 1e-14
            errors.append(max(np.abs(motion[b].matrix[-1] - exact[b].matrix[-1]).max() for b in system.names))
        assert errors[1] < 2e-3
        assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    alone = run(gd.System([skew], [pin]), 1.0, 0.002, coordinates=coordinates)
    together = run(gd.System(system.bodies, system.joints), 1.0, 0.002, coordinates=coordinates)
    np.testing.assert_allclose(together["skew"].position, alone["skew"].position, atol=1e-13)


@both
def test_a_python_force_is_the_force_it_computes(coordinates):
    body = gd.Body("b", mass=2.0, inertia=(0.3, 0.2, 0.4), position=(1, 0, 0), angular_velocity=(1, 2, 0.5))

    def drag(t, state):
        return -0.3 * state.velocity, -0.2 * state.Omega

    def wind(t, state):
        return [np.sin(t), 0.2, 0.0], [0.0, 0.1, 0.0]

    python = gd.System([body], forces=[gd.UserForce("b", drag), gd.UserForce("b", wind)])
    exact = gd.simulate(python, 1.0, method="dop853", rtol=1e-11, output=[1.0])
    errors = [
        np.abs(run(python, 1.0, h, coordinates=coordinates)["b"].Omega[-1] - exact["b"].Omega[-1]).max()
        for h in (0.02, 0.01)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


@pytest.mark.spread
@both
@pytest.mark.parametrize("potential", POTENTIALS)
def test_damping_takes_energy_and_springs_keep_it(coordinates, potential):
    def pendulum(damping):
        lower = double_pendulum().bodies[1].name
        spring = gd.SpringDamper("ground", lower, (1, 0, -1), (0, 0, -0.2), stiffness=20.0, damping=damping, length=0.5)
        pair = double_pendulum()
        return gd.System(pair.bodies, pair.joints, forces=[spring])

    options = {"coordinates": coordinates, "potential": potential}
    free = run(pendulum(0.0), 10.0, 0.001, **options).energy.total
    assert np.ptp(free) < 3e-3 * free[0]  # chaotic: the swing depends on the last bits
    damped = run(pendulum(2.0), 20.0, 0.004, **options)
    exact = gd.simulate(pendulum(2.0), 20.0, method="dop853", rtol=1e-10, output=[20.0])
    assert damped.energy.total[-1] < damped.energy.total[0] - 5.0
    assert damped.energy.total[-1] == pytest.approx(float(exact.energy.total[-1]), abs=0.02)
    if potential == "midpoint":
        with_potential = damped.midpoints.energy
        assert np.abs(with_potential - 0.5 * (damped.energy.total[1:] + damped.energy.total[:-1])).max() < 0.05


def test_a_dead_force_is_weight():
    """A constant force at the centre of mass does what gravity does, whichever way it is given."""
    pulled = top(gravity=(0, 0, 0), forces=[gd.Force("top", (0, 0, -9.81))])
    for coordinates in COORDINATES:
        for potential in POTENTIALS:
            options = {"coordinates": coordinates, "potential": potential}
            a, b = (run(s, 0.35, 0.0035, **options) for s in (top(), pulled))
            np.testing.assert_allclose(a["top"].position, b["top"].position, atol=1e-14)
            np.testing.assert_allclose(a.midpoints.energy, b.midpoints.energy, atol=1e-12)


# --- the interface ---------------------------------------------------------------------------------------------------


def test_output_keeps_nodes_and_the_motion_is_known_between_them():
    every = run(top(), 1.4, 0.0035)
    assert len(every.t) == 401
    assert len(every.midpoints.t) == 400 == len(every.newton)
    assert every.stats.newton == every.newton.sum()
    assert every.stats.steps == 400
    assert every.stats.formulation == "absolute-quaternion"
    np.testing.assert_allclose(every.midpoints.t, (np.arange(400) + 0.5) * 0.0035, atol=1e-14)
    few = run(top(), 1.4, 0.0035, output=every.t[::50])
    thinned = run(top(), 1.4, 0.0035, output=50)
    for other in (few, thinned):
        np.testing.assert_array_equal(other["top"].position, every["top"].position[::50])
        np.testing.assert_array_equal(other.midpoints.energy, every.midpoints.energy[49::50])
    assert len(run(top(), 1.4, 0.0035, output=150).t) == 4  # 0, 150, 300 and the last
    fine = run(top(), 1.4, 0.00035)
    np.testing.assert_allclose(every(fine.t[5::10])["top"].position, fine["top"].position[5::10], atol=2e-3)
    np.testing.assert_allclose(every(fine.t[::10])["top"].Omega, every["top"].Omega, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(every(0.1234)["top"].position), 0.04, rtol=1e-12)
    with pytest.raises(ValueError, match="dense output"):
        few(0.1)
    again = pickle.loads(pickle.dumps(every))
    np.testing.assert_array_equal(again["top"].Omega, every["top"].Omega)
    np.testing.assert_array_equal(again.midpoints.energy, every.midpoints.energy)


def test_events_and_limits_end_a_run():
    low = gd.Event(lambda t, m: m["top"].position[2] - 0.033, name="low")
    motion = run(top(), 1.4, 0.0035, events=[low])
    assert len(motion.events) > 4
    assert motion.status == "finished"
    assert motion.events[0].state["top"].position[2] == pytest.approx(0.033, abs=1e-10)
    ended = run(top(), 1.4, 0.0035, events=[gd.Event(low.function, terminal=True, direction=-1)])
    assert ended.status == "event"
    assert ended.t[-1] == pytest.approx(motion.events[0].t, abs=1e-12)
    assert len(ended.newton) == ended.stats.steps == len(ended.t) - 1
    hinge = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), name="hinge", limits=(None, 1.0))
    arm = gd.Body("arm", mass=2.0, inertia=(0.1, 0.2, 0.2), position=(0.5, 0.0, 0.0))
    fallen = run(gd.System([arm], [hinge]), 2.0, 0.01)
    assert fallen.status == "event"
    assert fallen["hinge"].coordinates[-1, 0] == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(ValueError, match="leave out output"):
        run(gd.System([arm], [hinge]), 2.0, 0.01, output=10)


def test_sigma_by_body():
    pair = double_pendulum()
    means = [float(np.mean(np.diag(b.inertia))) for b in pair.bodies]
    wanted = run(pair, 0.5, 0.005, sigma=[means[0], 0.001])["lower"].position
    for sigma in ({"lower": 0.001}, {"upper": "mean", "lower": 0.001}, ["mean", 0.001], np.array([means[0], 0.001])):
        np.testing.assert_allclose(run(pair, 0.5, 0.005, sigma=sigma)["lower"].position, wanted, atol=1e-13)
    other = run(pair, 0.5, 0.005)["lower"].position
    assert np.abs(other - wanted).max() > 1e-6


def test_the_start_is_told_as_given():
    motion = run(double_pendulum(), 0.1, 0.01, coordinates="directors")
    for body in motion.compiled.system.bodies:
        np.testing.assert_allclose(motion[body.name].Omega[0], body.angular_velocity, atol=1e-14)
        np.testing.assert_allclose(motion[body.name].matrix[0], body.matrix, atol=1e-15)
    assert motion["upper"].quaternion.shape == (11, 4)
    assert motion.joints[1].force.shape == (11, 3)


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"step": 0.0}, "step must be a positive finite number, got 0.0"),
        ({"step": -0.01}, "step must be a positive finite number, got -0.01"),
        ({"step": None}, "has constant steps: give step"),
        ({"step": 0.3},
         r"not a multiple of step = 0.3 \(4.66667 steps\); give t_end = 1.2 or 1.5, or step = t_end/5 = 0"),
        ({"step": 3.0}, r"not a multiple of step = 3 .*; give t_end = 3, or step = t_end/1 = 1.4"),
        ({"sigma": -0.1}, "sigma = -0.1 must be 'mean', 'best', a number >= 0"),
        ({"sigma": "median"}, "sigma = 'median' must be 'mean'"),
        ({"sigma": {"tip": 0.1}}, "sigma = 'tip' is unknown; it can be 'top'.* Did you mean 'top'"),
        ({"sigma": {"top": np.nan}}, r"sigma\['top'\] = nan must be"),
        ({"sigma": [0.1, 0.2]}, "has 2 values for 1 bodies"),
        ({"coordinates": "euler"}, "coordinates = 'euler' is unknown; it can be 'quaternion', 'directors'"),
        ({"potential": "node"}, "potential = 'node' is unknown.*Did you mean 'nodes'"),
        ({"formulation": {"reduce": 1}}, "reduce = 1 must be True or False"),
        ({"rtol": 1e-6}, "rtol = 1e-06 cannot be given with method = 'variational': its steps are constant"),
        ({"rtol": 1e-6, "atol": 1e-8, "norm": "plain"}, "rtol = 1e-06, atol = 1e-08, norm = 'plain' cannot be given"),
        ({"first_step": 0.1, "max_step": 1.0}, "first_step = 0.1, max_step = 1.0 cannot be given"),
        ({"formulation": "euler"}, "formulation = 'euler' cannot be given"),
        ({"projection": "none"}, "projection = 'none' cannot be given"),
        ({"output": [0.0, 0.05]}, r"output\[1\] = 0.05 is not a node .*nearest is 0.049"),
        ({"output": 0}, "output = 0 must be times or a positive number of steps"),
        ({"output": [0.0, 2.8]}, r"output\[1\] = 2.8 is not a node"),
        ({"method": "energy-momentum", "sigma": 0.0}, "sigma = 0.0 belongs to method = 'variational', not to 'energy"),
        ({"method": "energy-momentum", "formulation": {"reduce": False}, "coordinates": "quaternion"},
         "This system has Spherical.*: the angular momentum would be lost.*coordinates = 'directors'"),
        ({"method": "variational "}, "Did you mean 'variational'"),
        ({"method": "dop853", "sigma": 0.0}, "sigma = 0.0 belongs to method = 'variational', not to 'dop853'"),
        ({"method": "auto", "coordinates": "quaternion"}, "coordinates = 'quaternion' belongs to"),
    ],
)  # fmt: skip
def test_bad_options(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        gd.simulate(top(), 1.4, **{"method": "variational", "step": 0.007, **options})


def test_systems_that_are_not_served():
    with pytest.raises(ValueError, match=r"has Force.*: the angular momentum would be lost"):
        run(top(forces=[gd.Force("top", (0, 0, 1))]), 1.4, 0.007, "energy-momentum", coordinates="quaternion")


@pytest.mark.parametrize(
    ("options", "h", "status", "sentence"),
    [
        ({"sigma": 0, "coordinates": "directors"}, 0.007, "newton", "its residuals were 0.15, .* Try a smaller step"),
        ({}, 0.1, "newton", "its residuals were .* Try a smaller step or sigma = 'mean'"),
        ({"method": "energy-momentum"}, 0.07, "turned", "turns by more than half a turn .*; take a smaller step"),
        ({"method": "energy-momentum", "coordinates": "directors"}, 1.4, "newton", "residuals were .* smaller step"),
    ],
)
def test_a_step_that_is_too_large(options, h, status, sentence):
    with pytest.raises(gd.SimulationError, match=sentence) as caught:
        gd.simulate(top(), 14.0, **{"method": "variational", "step": h, **options})
    assert f"in the step of {h} s from t = " in str(caught.value)
    motion = caught.value.motion
    assert motion.status == status
    assert motion.t[-1] == pytest.approx(caught.value.time)
    assert np.isfinite(motion["top"].position).all()
    np.testing.assert_array_equal(caught.value.state, motion.y[-1])


@pytest.mark.parametrize(("coordinates", "limit"), [("quaternion", 1.0), ("directors", 0.5)])
@pytest.mark.parametrize("reduce", [True, False])
def test_near_the_largest_step_no_other_solution_is_taken(coordinates, limit, reduce):
    """With sigma = 0 the momentum of a turn grows to the limit and falls again: each has two solutions."""
    options = {"coordinates": coordinates, "sigma": 0, "formulation": gd.Formulation(reduce=reduce)}
    for part in (0.97, 0.99):
        h = part * limit / SPIN[2]
        R = run(top(), 500 * h, h, **options)["top"].matrix
        turns = np.arccos(0.5 * (np.einsum("kij,kij->k", R[1:], R[:-1]) - 1.0))
        assert np.ptp(turns) < 0.1
        assert turns.max() < (1.0 if coordinates == "directors" else 2.0) * np.pi / 4.0
    with pytest.raises(gd.SimulationError, match="Try a smaller step") as caught:
        run(top(), 0.014, 0.014, **options)
    assert len(caught.value.residuals) > 1


def test_newton_fails_late_and_keeps_what_it_has():
    """A pendulum whose drive runs away: the motion so far stays."""
    hinge = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), drive=lambda t: 0.5 * t**4)
    arm = gd.Body("arm", mass=2.0, inertia=(0.1, 0.2, 0.2), position=(0.5, 0.0, 0.0))
    with pytest.raises(gd.SimulationError) as caught:
        run(gd.System([arm], [hinge]), 10.0, 0.1)
    assert caught.value.motion.t[-1] > 1.0
    assert caught.value.motion.constraint.max() < 1e-13


def test_a_force_that_fails_ends_the_run():
    def broken(t, state):
        if t > 0.5:
            raise RuntimeError("out of fuel")
        return (0, 0, 1), (0, 0, 0)

    body = gd.Body("b", mass=2.0, inertia=(0.3, 0.2, 0.4))
    with pytest.raises(gd.SimulationError, match="out of fuel") as caught:
        run(gd.System([body], forces=[gd.UserForce("b", broken)]), 1.0, 0.1)
    assert 0.4 < caught.value.motion.t[-1] < 0.6
