"""Changed copies keep what does not follow from the change: they must be the same as what is made from nothing."""

from __future__ import annotations

import pickle
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gyrod as gd
from gyrod import _core
from gyrod.equations import compile_system
from gyrod.model.errors import Derived
from gyrod.rotations import vectors

ARC = gd.Arc((0, 0, 0), (1, 0, 0), (0, 0, 1), radius=0.7, angle=1.0 / 0.7)
#: A value for each field of a rod that differs from the usual one.
ROD_CHANGES: dict[str, Any] = {
    "name": "rope",
    "length": 1.0 + 5e-7,
    "segments": 7,
    "section": gd.Rectangle(0.01, 0.02),
    "material": gd.Material(young=3e6, shear_modulus=1.2e6, density=900.0),
    "start": gd.Clamped("ground"),
    "end": gd.Hinged("ground"),
    "curvature": ("sine", 3.0),
    "inertia": "cylinder",
    "mass": "blended",
    "damping": gd.Damping(0.01, viscosities=(10.0, 3.0), factor=1e-3),
    "initial": ARC,
    "stiffness": (300.0, 200.0, 400.0, 1e-3, 2e-3, 1e-3),
    "density_per_length": lambda s: 0.1 + s,
    "rotary_inertia": (1e-6, 1e-6, 2e-6),
    "precurvature": (0.1, 0.2, 0.3),
    "prestrain": lambda s: (0.0, 0.0, 0.01 * s),
    "strain": "stretch",
    "velocity": lambda s: (0.0, s, 0.0),
    "angular_velocity": (0.0, 1.0, 2.0),
    "grid": np.linspace(0.0, 1.0, 11) ** 1.2,
    "rest_stretch": 0.9,
    "limits": {"bend_radius": 0.01},
}
KEPT = (
    "fractions", "vertices", "midpoints", "lengths", "positions", "quaternions", "end_frames", "velocities", "spins",
    "precurvatures", "prestrains",
)  # fmt: skip


def usual(**changes: Any) -> dict[str, Any]:
    rubber = gd.Material(young=5e6, poisson=0.5, density=1100.0)
    known = {"name": "hose", "length": 1.0, "segments": 10, "section": gd.Circle(5e-3), "material": rubber}
    return known | {"initial": gd.Straight((0, 0, 0), (1, 0, 0)), "start": gd.Hinged("ground")} | changes


def same(x: Any, y: Any) -> bool:
    if isinstance(x, dict):
        return x.keys() == y.keys() and all(same(x[key], y[key]) for key in x)
    if isinstance(x, (tuple, list)):
        return len(x) == len(y) and all(map(same, x, y))
    if isinstance(x, np.ndarray):
        return x.shape == y.shape and x.tobytes() == y.tobytes()
    if isinstance(x, _core.RodEnd):
        return same(*((end.held, end.clamped, end.moves, end.motion(0.0)) for end in (x, y)))
    return callable(x) or bool(x == y)


def assert_same_rods(copy: gd.Rod, made: gd.Rod) -> None:
    for name in KEPT:
        assert same(getattr(copy, name), getattr(made, name)), name
    s = np.array([0.0, 0.3, 1.0])
    for at in ("stiffness_at", "inertia_at", "damping_at"):
        assert same(getattr(copy, at)(s), getattr(made, at)(s)), at
    for field in fields(gd.Rod):
        assert isinstance(getattr(copy, field.name), type(getattr(made, field.name))), field.name
    a, b = (compile_system(gd.System(rods=[rod])) for rod in (copy, made))
    assert same(a.y0, b.y0)
    assert same(a.rods, b.rods)
    assert same(a.scales(), b.scales())


@pytest.mark.parametrize("field", ROD_CHANGES)
@pytest.mark.parametrize("length", [1.0, None])
def test_each_field_of_a_rod(field: str, length: float | None) -> None:
    base = gd.Rod(**usual(length=length))
    compile_system(gd.System(rods=[base]))  # whatever can be kept is kept now
    change = {field: ROD_CHANGES[field]}
    assert_same_rods(base.with_(**change), gd.Rod(**usual(length=length) | change))
    assert isinstance(base.length, Derived) == (length is None)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sets(st.sampled_from(sorted(ROD_CHANGES)), min_size=1, max_size=4), min_size=1, max_size=3))
def test_changes_of_a_rod_one_after_the_other(rounds: list[set[str]]) -> None:
    copy, given_, refused = gd.Rod(**usual()), usual(), ""
    for names in rounds:
        change = {name: ROD_CHANGES[name] for name in sorted(names)}
        given_ |= change
        try:
            copy = copy.with_(**change)
        except gd.ModelError as error:
            refused = str(error)
            break
    if refused:
        with pytest.raises(gd.ModelError) as anew:
            gd.Rod(**given_)
        assert str(anew.value) == refused
    else:
        assert_same_rods(copy, gd.Rod(**given_))


def test_a_bad_change_is_told_as_by_the_constructor() -> None:
    base = gd.Rod(**usual())
    change = {"segments": 1, "material": None, "velocity": "fast", "start": gd.Hinged("ground", at=(0, 0, 1.0))}
    with pytest.raises(gd.ModelError) as made:
        gd.Rod(**usual(**change))
    with pytest.raises(gd.ModelError) as copied:
        base.with_(**change)
    assert copied.value.problems == made.value.problems
    assert len(made.value.problems) == 3


def test_copies_share_what_the_shape_alone_tells() -> None:
    base = gd.System(rods=[gd.Rod(**usual(initial=ARC))])
    softer, straight = (
        base.with_({"hose.material.young": 4e6}),
        base.with_({"hose.initial.angle": 0.9 / 0.7, "hose.length": 0.9}),
    )
    bent = [compile_system(s).rods[0]["K0"] for s in (base, softer, straight)]
    assert softer.rods[0].positions is base.rods[0].positions
    assert same(bent[0], bent[1])
    assert straight.rods[0].positions is not base.rods[0].positions
    bent[0][:] = 0.0  # what one system was compiled to is its own
    assert compile_system(base).rods[0]["K0"].any()


PENDULUM = gd.System(
    [gd.Body(name, 1.0, (0.1, 0.1, 0.01), position=(x, 0, 0)) for name, x in (("upper", 0.5), ("lower", 1.5))],
    [
        gd.Revolute("ground", "upper", at=(0, 0, 0), axis=(0, 1, 0)),
        gd.Revolute("upper", "lower", at=(1, 0, 0), axis=(0, 1, 0)),
    ],
)


@pytest.mark.parametrize(
    "change",
    [
        {"lower.mass": 2.0},
        {"lower.inertia": [[0.2, 0.01, 0], [0.01, 0.2, 0], [0, 0, 0.3]]},
        {"upper.angular_velocity": (0, 1.0, 0)},
        {"lower.position[0]": 1.6},
        {"lower.orientation": (0.0, 0.3, 0.0)},
        {"lower.velocity[2]": 0.1},
        {"joints[1].at[0]": 0.9},
        {"joints[0].axis": (0, 0, 1)},
        {"upper.name": "first", "joints[0].b": "first", "joints[1].a": "first"},
        {"gravity[2]": -1.62},
    ],
    ids=lambda change: next(iter(change)),
)
@pytest.mark.parametrize("unpickled", [False, True])
def test_systems(change: dict[str, Any], unpickled: bool) -> None:
    base = pickle.loads(pickle.dumps(PENDULUM)) if unpickled else PENDULUM
    base.check_consistent()
    copy = base.with_(change)
    made = gd.System(
        [gd.Body(**{f.name: getattr(b, f.name) for f in fields(b)}) for b in copy.bodies],
        copy.joints,
        gravity=copy.gravity,
    )
    assert same(copy.residuals(), made.residuals())
    assert same(copy.initial_velocities, made.initial_velocities)
    assert same([b.matrix for b in copy.bodies], [b.matrix for b in made.bodies])
    assert copy.tree().parent == made.tree().parent
    if max(max(gap) for gap in made.residuals().values()) < 1e-9:
        a, b = compile_system(copy), compile_system(made)
        assert same(a.y0, b.y0)
        assert same(a.scales(), b.scales())
        assert same(a.core.rhs(0.0, a.y0), b.core.rhs(0.0, b.y0))
    else:
        for system in (copy, made):
            with pytest.raises(gd.ModelError, match="gap at the start"):
                compile_system(system)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([(), (1,), (5,), (2, 3)]))
def test_products_and_norms_are_those_of_numpy(seed: int, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(*shape, 3)), rng.normal(size=(*shape, 3)) * 10.0 ** rng.integers(-9, 9)
    assert same(vectors.cross(a, b), np.cross(a, b))
    assert same(vectors.norms(a), np.asarray(np.linalg.norm(a, axis=-1)))
    assert same(vectors.unit(a), a / np.linalg.norm(a, axis=-1, keepdims=True))
    one = rng.normal(size=3)
    assert same(vectors.cross(one, b), np.cross(one, b))
    assert vectors.length(one) == np.linalg.norm(one)
