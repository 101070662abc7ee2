"""A model is compiled once for what is done with it: one core for each call, whatever it saves or reads afterwards."""

import pickle

import numpy as np
import pytest

import gyrod as gd
from gyrod import _core


@pytest.fixture
def cores(monkeypatch):
    """The core's systems as they are made."""
    made = []

    class Counting(_core.System):
        def __init__(self, *given, **options):
            made.append(options)
            super().__init__(*given, **options)

    monkeypatch.setattr(_core, "System", Counting)
    return made


def hose(**options):
    rubber = gd.Material(young=5e6, poisson=0.5, density=1100)
    rod = gd.Rod(
        "hose", 1.0, section=gd.Circle(radius=5e-3), material=rubber, initial=gd.Straight((0, 0, 0), (0, 1, 0)),
        start=gd.Clamped("ground"), end=gd.Hinged("bob", at=(0, 0, 0.05)), **options,
    )  # fmt: skip
    bob = gd.Body("bob", mass=0.2, inertia=(1e-4, 1e-4, 1e-4), position=(0, 1.0, -0.05))
    return gd.System(bodies=[bob], rods=[rod])


@pytest.mark.parametrize(("damping", "at_rest"), [(None, 1), (gd.Damping(factor=5e-3), 2)])
def test_the_first_example_makes_a_core_for_rest_and_one_for_motion(cores, damping, at_rest, tmp_path):
    """Rest of what is damped is found without and read with its damping, as are its modes."""
    rest = gd.equilibrium(hose(damping=damping))
    assert len(cores) == at_rest
    force = rest["hose"].start_force.copy()
    values = gd.modes(rest, n=3).eigenvalues
    assert len(cores) == at_rest
    np.testing.assert_array_equal(rest["hose"].start_force, force)  # as it was read before
    own = pickle.loads(pickle.dumps(rest))  # with a core of its own
    np.testing.assert_allclose(gd.modes(own, n=3).eigenvalues, values, rtol=1e-9, atol=1e-9 * abs(values[-1]))
    del cores[at_rest:]
    motion = gd.simulate(hose(damping=damping), 0.01, save=tmp_path / "hose.h5")
    assert motion.energy.total.shape == motion.t.shape
    assert len(motion["hose"].start_force) == len(motion.t)
    assert len(cores) == at_rest + 1


def test_bodies_with_joints_need_one(cores):
    bodies = [gd.Body(str(i), mass=1.0, inertia=(1, 1, 1), position=(i + 0.5, 0, 0)) for i in range(2)]
    joints = [gd.Revolute("ground", "0", at=(0, 0, 0), axis=(0, 1, 0)), gd.Spherical("0", "1", at=(1, 0, 0))]
    gd.simulate(gd.System(bodies=bodies, joints=joints), 0.01)
    assert len(cores) == 1


@pytest.mark.parametrize("degree", [None, 2, 3])
@pytest.mark.parametrize("ends", [(False, False), (True, False), (True, True)])
def test_shapes_are_measured_as_states_are(degree, ends):
    """What a rod is measured by at the start is what a motion reads there, for a rod that rests in another shape."""

    def at(s):
        return np.array([np.sin(1.2 * s), 1.0 - np.cos(1.2 * s), 0.3 * s])

    held = [gd.Clamped("ground") if clamped else gd.Free() for clamped in ends]
    rod = gd.Rod(
        "arc", segments=7, degree=degree, section=gd.Circle(radius=5e-3), start=held[0], end=held[1],
        material=gd.Material(young=5e6, poisson=0.5, density=1100), initial=gd.Curve(at),
    )  # fmt: skip
    bent = gd.simulate(gd.System(rods=[rod.with_(precurvature=(0, 0, 0), prestrain=(0, 0, 0))]), 1e-6, method="rodas")
    shaped = gd.simulate(gd.System(rods=[rod]), 1e-6, method="rodas")
    bends = slice(0 if degree or ends[0] else 1, None if degree or ends[1] else -1)  # nothing bends at a free end
    np.testing.assert_allclose(shaped["arc"].curvature[0, bends], bent["arc"].curvature[0, bends], atol=1e-12)
    np.testing.assert_allclose(shaped["arc"].strain[0], bent["arc"].strain[0], atol=1e-12)
    np.testing.assert_allclose(shaped["arc"].moment[0], 0.0, atol=1e-10)
