"""gd.ode: the right-hand side for SciPy's and anybody's integrators, and motions of what they return."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import gyrod as gd

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)


def top() -> gd.System:
    body = gd.Body(
        "top", 1.0, (0.02, 0.03, 0.01), position=(0, -0.1, 0.2), orientation=("313", (0.1, 0.5, 0.2)),
        angular_velocity=(1, 2, 20),
    )  # fmt: skip
    return gd.System([body], [gd.Spherical("ground", "top", at=body.position + body.matrix @ (0, 0, -0.2))])


def mechanism() -> gd.System:
    bodies = [gd.Body(f"b{k}", 1.0, (0.1, 0.1, 0.1), position=(k + 0.5, 0, 0)) for k in range(2)]
    joints = [
        gd.Revolute("ground", "b0", at=(0, 0, 0), axis=(0, 1, 0), damping=0.1),
        gd.Revolute("b0", "b1", at=(1, 0, 0), axis=(0, 1, 0)),
    ]
    return gd.System(bodies, joints)


def hanging() -> gd.System:
    hose = gd.Rod(
        "hose", 1.0, 4, gd.Circle(radius=2e-2), RUBBER, damping=gd.Damping.viscous(2e4, 2e4), start=gd.Hinged(),
        end=gd.Hinged("bob"), initial=gd.Straight((0, 0, 0), (0, 1, 0)),
    )  # fmt: skip
    return gd.System([gd.Body("bob", 0.2, (1e-2, 1e-2, 1e-2), position=(0, 1, 0))], rods=[hose])


SYSTEMS = {"top": top, "mechanism": mechanism, "hose and bob": hanging}


@pytest.mark.parametrize("formulation", gd.FORMULATIONS)
def test_the_jacobian_is_the_derivative_of_the_function(formulation):
    ode = gd.ode(top(), formulation)
    rng = np.random.default_rng(0)
    y = ode.y0 + 1e-2 * rng.normal(size=len(ode))
    J = ode.jac(0.3, y)
    numeric = np.array([(ode.fun(0.3, y + h) - ode.fun(0.3, y - h)) / 2e-6 for h in 1e-6 * np.eye(len(y))]).T
    assert_allclose(J, numeric, rtol=0, atol=1e-7 * np.abs(numeric).max())


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"])
def test_all_methods_of_scipy_reproduce_simulate(method):
    system = top()
    fun, y0, jac = gd.ode(system)
    options = {"jac": jac} if method in ("Radau", "BDF", "LSODA") else {}
    rtol = 1e-5 if method in ("RK23", "Radau", "BDF") else 1e-8
    result = solve_ivp(fun, (0.0, 0.2), y0, method=method, rtol=rtol, atol=rtol, **options)
    assert result.success
    reference = gd.simulate(system, 0.2, rtol=1e-12)
    assert_allclose(result.y[:, -1], reference.y[-1], rtol=0, atol=2e3 * rtol)


@pytest.mark.parametrize("name", SYSTEMS)
def test_other_systems_by_a_stiff_method(name):
    system = SYSTEMS[name]()
    ode = gd.ode(system)
    result = solve_ivp(ode.fun, (0.0, 0.1), ode.y0, method="Radau", jac=ode.jac, rtol=1e-7, atol=1e-7 * ode.scales)
    reference = gd.simulate(system, 0.1, rtol=1e-9)
    assert_allclose((result.y[:, -1] - reference.y[-1]) / ode.scales, 0.0, rtol=0, atol=2e-5)


@pytest.mark.parametrize("dense", [True, False])
def test_a_motion_of_what_scipy_returns(dense):
    system = mechanism()
    ode = gd.ode(system)
    result = solve_ivp(
        ode.fun, (0.0, 1.0), ode.y0, method="DOP853", rtol=1e-10, atol=1e-10, dense_output=dense, max_step=0.02
    )
    motion = ode.motion(result)
    reference = gd.simulate(system, 1.0, rtol=1e-11)
    t = np.linspace(0.0, 1.0, 23)
    between = 1e-8 if dense else 3e-6  # cubic polynomials over steps of 0.02 s
    assert_allclose(motion(t)["b1"].position, reference(t)["b1"].position, rtol=0, atol=between)
    assert np.array_equal(motion.t, result.t)
    assert motion.stats.rhs == result.nfev
    again = ode.motion(result.t, result.y.T)
    assert np.array_equal(again["b0"].matrix, motion["b0"].matrix)
    assert_allclose(motion.energy.total[-1], reference.energy.total[-1], rtol=0, atol=1e-6)


def test_projection_meets_the_constraints():
    ode = gd.ode(mechanism(), "absolute-quaternion")
    y = ode.y0 + 1e-3 * np.random.default_rng(1).normal(size=len(ode))
    drift = ode.motion([0.0], ode.project(0.0, y)[None]).drift
    assert max(drift.position[0], drift.velocity[0]) < 1e-10
    assert ode.motion([0.0], y[None]).drift.position[0] > 1e-4


def test_it_starts_from_a_rest_and_serves_the_variants():
    rest = gd.equilibrium(hanging())
    ode = gd.ode(rest)
    assert np.array_equal(ode.y0, rest.y)
    assert np.abs(ode.fun(0.0, ode.y0) * ode.scales[-1]).max() < 1e-5
    spatial = gd.ode(top(), gd.Formulation(velocity="spatial"))
    result = solve_ivp(spatial.fun, (0.0, 0.2), spatial.y0, rtol=1e-9, atol=1e-9)
    reference = gd.simulate(top(), 0.2, rtol=1e-11)
    assert_allclose(spatial.motion(result)["top"].position[-1], reference["top"].position[-1], rtol=0, atol=1e-7)


def test_it_is_an_object_of_its_own():
    ode = gd.ode(top())
    assert len(ode) == len(ode.y0) == len(ode.kinds) == len(ode.scales)
    assert ode.system == top()
    assert repr(ode) == "Ode('nullspace-quaternion', 7 unknowns)"
    ode.y0[:] = 0.0  # the user's own array
    for other in (copy.copy(ode), pickle.loads(pickle.dumps(ode))):
        assert np.array_equal(other.y0, gd.ode(top()).y0)
        assert np.array_equal(other.fun(0.0, other.y0), gd.ode(top()).fun(0.0, other.y0))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda o: o.fun(0.0, np.zeros(3)), "y must have the 7 unknowns of the system, got the shape (3,)."),
        (lambda o: o.motion([0.0, 1.0], np.zeros((7, 2))), "That is SciPy's order: give the result itself, or y.T."),
        (lambda o: o.motion([0.0, 1.0], np.zeros((3, 2))), "y must be rows of shape (2, 7), got (3, 2)."),
        (lambda o: o.motion([1.0, 0.0], np.zeros((2, 7))), "t must increase"),
        (lambda o: o.motion(3.0), "give times and rows, or the result of solve_ivp"),
        (lambda o: gd.ode(3), "system must be a gyrod.System, got int."),
        (lambda o: gd.ode(top(), "quaternion"), "formulation = 'quaternion' is unknown"),
    ],
)
def test_bad_input_is_told(call, sentence):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        call(gd.ode(top()))
    assert sentence in str(error.value)
