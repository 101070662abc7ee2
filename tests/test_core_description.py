"""What the core is made of: typed objects with keyword constructors, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import gyrod as gd
from gyrod import _core
from gyrod.equations import compile_system
from gyrod.equations.rods import compile_rod
from gyrod.equations.signals import Signals

ROD = gd.Rod("hose", 1.0, 4, gd.Circle(radius=0.01), gd.Material(young=1e6, density=1e3, poisson=0.5))
BODY = gd.Body("bob", mass=1.0, inertia=(0.1, 0.2, 0.3), position=(1, 0, 0))


def table(**changes):
    return {**compile_rod(ROD, gd.System(rods=[ROD]), Signals()), **changes}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: _core.Rod(**table(strain="timoshenko")), "no strain 'timoshenko'"),
        (lambda: _core.Rod(**table(curvature="cosine")), "no curvature 'cosine'"),
        (lambda: _core.Joint(**JOINT | {"kind": "screw"}), "no joint 'screw'"),
        (lambda: _core.System(formulation="angles", rods=[_core.Rod(**table())]), "there is no formulation angles"),
        (lambda: _core.System(formulation="polar", bodies=[MASS]), "no formulation polar"),
        (lambda: _core.System(formulation="angles", bodies=[MASS], joints=TREE), "there is no formulation angles"),
        (
            lambda: _core.System(formulation="nullspace-quaternion", bodies=[MASS]).nullspace(0.0, np.zeros(13)),
            "no mech",
        ),
    ],
)
def test_unknown_names_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


JOINT = {
    "kind": "revolute", "a": -1, "b": 0, "at_a": np.zeros(3), "at_b": np.zeros(3), "frame_a": np.eye(3),
    "frame_b": np.eye(3), "parameter": 0.0,
}  # fmt: skip
MASS = _core.Body(mass=1.0, moments=np.ones(3))
TREE = _core.JointTree(joints=[], links=[_core.Link(body=0, parent=-1, joint=-1)], cuts=[], kept=[])


@pytest.mark.parametrize("change", [{"lenght": np.ones(4)}, {"ds": None}, {"mass": [1.0, "x"]}, {"J": np.ones((5, 2))}])
def test_fields_of_a_rod_are_checked_by_name_and_type(change):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.Rod(**table(**change))


@pytest.mark.parametrize("key", [key for key in table() if key not in ("stretch", "stretches")])
def test_no_field_of_a_rod_is_optional(key):
    values = table()
    del values[key]
    with pytest.raises(TypeError):
        _core.Rod(**values)


def test_operations_of_bodies_and_rods_add_up():
    parts = [gd.System([BODY], gravity=(0, 0, 0)), gd.System(rods=[ROD])]
    body, rod, both = (c.core.operations(c.y0) for c in map(compile_system, [*parts, gd.System([BODY], rods=[ROD])]))
    assert rod["*"] > 100
    assert body["*"] > 10
    assert {key: body[key] + rod[key] for key in both} == both


def test_forces_are_shared_between_systems():
    numbers, points = {"stiffness": 2.0, "damping": 0.0, "length": 0.0}, {"at_a": np.zeros(3), "at_b": np.zeros(3)}
    spring = _core.line_force(law="spring", numbers=numbers, a=-1, b=0, **points)
    systems = [
        _core.System(formulation=name, bodies=[MASS], forces=[spring])
        for name in ("nullspace-quaternion", "absolute-quaternion")
    ]
    del spring
    for system in systems:
        y = np.zeros(system.size)
        y[0], y[3] = 1.5, 1.0
        assert system.rhs(0.0, y)[7] == -3.0


@pytest.mark.parametrize("formulation", ["nullspace-quaternion", "nullspace-directors"])
def test_a_matrix_that_cannot_be_factored_is_refused(formulation):
    """Lengths whose fourth power is beyond the range of numbers: no answer, and no memory of somebody else's."""
    far = np.array([1e80, 3e79, 0.0])
    joint = _core.Joint(**JOINT | {"kind": "spherical", "at_a": far, "at_b": far})
    tree = _core.JointTree(joints=[joint], links=[_core.Link(body=0, parent=-1, joint=0)], cuts=[], kept=[])
    system = _core.System(formulation=formulation, bodies=[MASS], joints=tree)
    y = np.zeros(system.size)
    y[[3] if formulation.endswith("quaternion") else [3, 7, 11]] = 1.0
    with pytest.raises(ValueError, match="the matrix of the system is singular or not finite here"):
        system.jacobian(0.0, y)
    assert not system.linearise(0.0, y, 1.0)
    with pytest.raises(RuntimeError, match="solve without a factorisation"):
        system.solve(y)


def test_an_end_gives_back_what_it_got():
    at = {"place": np.arange(3.0), "frame": np.array([0.8, 0, 0.6, 0])}
    still = _core.RodEnd(held=True, clamped=False, **at)
    assert (still.held, still.clamped, still.moves) == (True, False, False)
    np.testing.assert_array_equal(still.motion(2.0), [0, 1, 2, *[0] * 6, 0.8, 0, 0.6, *[0] * 7])
    wrong = _core.Signal.of(_core.Source.function(3, lambda t: np.zeros(2), None, None, None), None)
    end = _core.RodEnd(held=True, clamped=True, **at, places=wrong)
    assert end.moves
    with pytest.raises(ValueError, match="a function returned a wrong number of values"):
        end.motion(0.0)
