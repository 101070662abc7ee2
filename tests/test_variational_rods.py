"""The variational integrator for rods: against its own discrete Lagrangian in NumPy, and what it must keep."""

import numpy as np
import pytest
from variational_rod_oracle import Rod, product

import gyrod as gd
from gyrod import rotations as ro

both = pytest.mark.parametrize("coordinates", ["quaternion", "directors"])
meshes = pytest.mark.parametrize("elements", [0, 2, 3], ids=["grid", "quadratic", "cubic"])


def run(system, t_end, h, **options):
    return gd.simulate(system, t_end, **{"method": "variational", "step": h, **options})


STIFFNESS = np.array([300.0, 280.0, 500.0, 0.5, 0.4, 0.3])
INERTIA = np.array([2e-3, 1.5e-3, 3e-3])
DAMPING = np.array([2.0, 1.5, 3.0, 5e-3, 4e-3, 3e-3])


def uniform(N, degree=0, **fields):
    """A rod along the z axis that turns and is pulled apart, as gyrod has it."""
    return gd.Rod(
        "rod", length=1.2, segments=N // degree if degree else N, degree=degree or None,
        **{
            "stiffness": STIFFNESS, "density_per_length": 0.8, "rotary_inertia": INERTIA,
            **({} if degree else {"curvature": "half-tangent"}),
            "initial": gd.Straight((0, 0, 0), (0, 0, 1.2)), "velocity": lambda s: (2.0 * s, s * s, 0.3 * s),
            "angular_velocity": lambda s: (-1.0 + s, 3.0 * s, 4.0 * s * s), **fields,
        },
    )  # fmt: skip


def place(t):
    return np.array([0.1 * np.sin(3.0 * t), 0.2 * t * t, 0.05 * t])


def frame(t):
    return np.array([np.cos(0.4 * t), 0.6 * np.sin(0.4 * t), 0.0, 0.8 * np.sin(0.4 * t)])


CASES = {
    "free": ({}, {}, {}),
    "pulled": ({}, {"pull": lambda t: np.array([1.0 + t, -2.0, 3.0])}, {}),
    "sigma": ({}, {"sigma": 1e-3}, {"sigma": {"rod": 1e-3}}),
    "nodes": ({}, {"nodes": True}, {"potential": "nodes"}),
    "angle": ({"curvature": "angle"}, {"law": "angle"}, {}),
    "damped": (
        {"damping": gd.Damping(shear=DAMPING[:2], extension=DAMPING[2], bending=DAMPING[3:5], torsion=DAMPING[5])},
        {"c": DAMPING},
        {},
    ),
    "hinged": ({"start": gd.Hinged(at=place)}, {"hinged": True, "place": place}, {}),
    "clamped": (
        {"start": gd.Clamped(at=place, frame=frame)},
        {"clamped": True, "place": place, "frame": frame},
        {},
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("degree", [0, 2])
def test_steps_are_those_of_the_discrete_lagrangian(name, degree):
    """Complex steps of the Lagrangian against analytic gradients in local increments: 1e-10 in all coordinates."""
    model, given, options = CASES[name]
    if degree and name == "angle":
        pytest.skip("elements have one curvature")
    N, h, steps = (4, 2e-3, 3) if degree else (3, 5e-3, 4)
    if name == "nodes":
        h /= 4.0
    gravity = np.array([1.0, -2.0, -9.0])
    oracle = Rod(
        N, 1.2, np.diag(STIFFNESS), 0.8, INERTIA, degree=degree, gravity=gravity,
        **given,
    )  # fmt: skip
    forces = [gd.RodLoad("rod", at=1.0, force=oracle.pull)] if oracle.pull else []
    rod = uniform(N, degree, **model)
    system = gd.System(rods=[rod], forces=forces, gravity=gravity)
    motion = run(system, steps * h, h, **options)
    q = np.concatenate([rod.positions.ravel(), rod.quaternions.ravel()])
    start = motion["rod"]
    rates = [0.5 * product(p, [0.0, *w]) for p, w in zip(rod.quaternions, start.Omega[0], strict=True)]
    rows, momenta = oracle.run(q, np.concatenate([start.velocities[0].ravel(), np.ravel(rates)]), h, steps)
    x, p = rows[:, : 3 * N + 3].reshape(len(rows), -1, 3), rows[:, 3 * N + 3 :].reshape(len(rows), -1, 4)
    np.testing.assert_allclose(start.positions, x, atol=1e-10)
    np.testing.assert_allclose(start.quaternions, p, atol=1e-10)
    v, Omega = oracle.velocities(rows[-1], momenta[-1])
    held = 1 if oracle.clamped or oracle.hinged else 0
    np.testing.assert_allclose(start.velocities[-1][held:], v[held:], atol=1e-8)
    np.testing.assert_allclose(start.Omega[-1][held:], Omega[held:], atol=1e-8)
