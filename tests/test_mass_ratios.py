"""Implicit methods beside large masses: units of mass, and ratios of masses, do not change the steps."""

import numpy as np
import pytest

import gyrod as gd
from gyrod import problems


def pair(unit, ratio):
    """Two bodies that fall on joints; the first one is heavier than the second by a ratio."""

    def body(name, mass, moments, position):
        return gd.Body(name, mass=mass, inertia=[mass * x for x in moments], position=position)

    bodies = [
        body("b0", unit * ratio, (1e6, 0.612e6, 0.945e6), (-419.8, -44.5, 267.9)),
        body("b1", unit, (1e6, 0.801e6, 0.533e6), (-912.4, 402.7, 589.4)),
    ]
    hinge = gd.Revolute("b0", "b1", at=(-839.65, -89.04, 535.78), axis=(0, 1, 0))
    return gd.System(bodies, joints=[gd.Spherical("ground", "b0", at=(0, 0, 0)), hinge])


@pytest.mark.parametrize("formulation", ["nullspace-quaternion", "nullspace-directors"])
@pytest.mark.parametrize("method", ["radau5", "rodas", "seulex"])
def test_mass_ratios_cost_no_steps(method, formulation):
    even = gd.simulate(pair(1.0, 1.0), 1.0, method=method, formulation=formulation, rtol=1e-6).stats.steps
    for unit, ratio in ((3.3e11, 1e6), (3.3e11, 1e12), (3.3e11, 1e-12), (1e-9, 1e12)):
        system = pair(unit, ratio)
        motion = gd.simulate(system, 1.0, method=method, formulation=formulation, rtol=1e-6, max_steps=500)
        assert motion.stats.steps <= 2 * even + 5
        exact = gd.simulate(system, 1.0, method="dop853", formulation=formulation, rtol=1e-10)
        for name in ("b0", "b1"):
            gap = np.linalg.norm(motion[name].position[-1] - exact[name].position[-1])
            assert gap < 1e-2  # of 1000 m


def test_steps_do_not_depend_on_the_unit_of_mass():
    """With loops too; by a power of two, which changes no bit of what is not a mass."""
    for name in ("four-bar", "slider-crank"):
        system = problems.get(name).system
        heavy = gd.System(
            [
                gd.Body(
                    b.name, mass=b.mass * 2.0**60, inertia=b.inertia * 2.0**60, position=b.position,
                    orientation=b.orientation, velocity=b.velocity, angular_velocity=b.angular_velocity,
                )
                for b in system.bodies
            ],
            joints=system.joints, gravity=system.gravity,
        )  # fmt: skip
        a, b = (gd.simulate(s, 0.3, method="rodas", rtol=1e-5) for s in (system, heavy))
        assert a.stats.steps == b.stats.steps
        np.testing.assert_allclose(b.y, a.y, rtol=1e-9, atol=1e-9)


def test_the_jacobian_is_that_of_the_right_hand_side_beside_large_masses():
    ode = gd.ode(pair(3.3e11, 1e6))
    y = ode.y0 + 0.01 * ode.scales * np.random.default_rng(0).normal(size=len(ode.y0))
    y = ode.project(0.0, y)
    J, h = ode.jac(0.0, y), 1e-6
    for k in range(len(y)):
        e = np.zeros(len(y))
        e[k] = h * ode.scales[k]
        column = (ode.fun(0.0, y + e) - ode.fun(0.0, y - e)) / (2.0 * e[k])
        assert np.abs((J[:, k] - column) / ode.scales * ode.scales[k]).max() < 1e-6
