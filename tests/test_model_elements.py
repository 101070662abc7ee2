"""Elements on rods: masses, foundations, cables, tendons, obstacles; stretch, limits, stress and gravity ramps."""

import math
import pickle
import re
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sentences import made_or_error, raising, the_problem

from gyrod import rotations as rot
from gyrod import simulate
from gyrod.equations import ForceError, compile_system
from gyrod.equations.links import links
from gyrod.equations.pieces import Pieces
from gyrod.equations.rods import compile_rod
from gyrod.equations.signals import Signals
from gyrod.model import (
    ELEMENTS,
    OBSTACLES,
    Arc,
    Body,
    Cable,
    Circle,
    Clamped,
    Clip,
    Contact,
    CylinderObstacle,
    Drag,
    Force,
    Foundation,
    Material,
    ModelError,
    Plane,
    PlaneObstacle,
    PointMass,
    Rectangle,
    Ring,
    Rod,
    RodLoad,
    Section,
    Shaft,
    Sphere,
    SphereObstacle,
    Straight,
    System,
    Tendon,
)

RUBBER = Material(young=5e6, poisson=0.5, density=1100.0)
CONTACT = {"stiffness": 1e4, "smoothing": 1e-4}
VALID = {
    PointMass: {"rod": "hose", "at": 0.3, "mass": 2.0},
    Foundation: {"rod": "hose", "stiffness": 100.0},
    Cable: {"a": "ground", "b": "hose", "at_a": (0, 0, 1), "at_b": 0.5, "stiffness": 1e4},
    Tendon: {"rod": "hose", "points": [(0.0, (0.004, 0.0)), (1.0, (0.004, 0.0))], "tension": 3.0},
    Clip: {"rod": "hose", "at": 0.3, "kind": "swivel", "axis": (0, 1, 0)},
    PlaneObstacle: {"point": (0, 0, -1), "normal": (0, 0, 2), **CONTACT},
    SphereObstacle: {"center": (0, 0, -1), "radius": 0.5, **CONTACT},
    CylinderObstacle: {"point": (0, 0, -1), "axis": (0, 3, 0), "radius": 0.5, **CONTACT},
}
PUSH = tuple(kind for kind in ELEMENTS if "rod" in VALID[kind] and kind is not Clip)


def rod(name="hose", **changes):
    arguments = {"segments": 4, "section": Circle(5e-3), "material": RUBBER, "initial": Straight((0, 0, 0), (0, 1, 0))}
    return Rod(name, **{**arguments, **changes})


def body(name="bob", **changes):
    return Body(name, **{"mass": 1.0, "inertia": (1, 1, 1), "position": (0, 0, 2), **changes})


def table(system, name="hose"):
    return compile_rod(system.rod(name), system, Signals())


def linked(system, index=None, axes=None):
    """What the core gets of links, of rods that are in one piece each."""
    pieces = Pieces.of(system.rods, [table(system, r.name) for r in system.rods], {})
    return links(system, pieces, index or {}, np.zeros((0, 3, 3)) if axes is None else axes, Signals())


# --- all of them -----------------------------------------------------------------------------------------------------


def test_the_registry_is_complete():
    assert set(VALID) == set(ELEMENTS)
    assert set(OBSTACLES) < set(ELEMENTS)
    assert all(kind(**VALID[kind]).on_rods for kind in ELEMENTS)


@pytest.mark.parametrize("kind", ELEMENTS)
def test_elements_are_frozen_and_equal_by_value(kind):
    made = kind(**VALID[kind])
    assert made == kind(**VALID[kind])
    assert made == replace(made)
    assert made == pickle.loads(pickle.dumps(made))
    assert hash(made) == hash(kind(**VALID[kind]))
    assert made != 3
    for f in fields(kind):
        value = getattr(made, f.name)
        assert not (isinstance(value, np.ndarray) and value.flags.writeable)
        with pytest.raises(FrozenInstanceError):
            setattr(made, f.name, value)
    assert replace(made, name="it").label == f"{kind.__name__} 'it'"
    assert System(rods=[rod()], forces=[made]).forces == (made,)


@pytest.mark.parametrize("kind", PUSH)
def test_elements_of_one_rod(kind):
    made = kind(**VALID[kind])
    assert (made.bodies, made.rods, made.label) == ((), ("hose",), f"{kind.__name__}('hose')")
    sentence = the_problem(System, rods=[rod("hoses")], forces=[made])
    assert sentence == f"forces[0], {made.label}: rod = 'hose' is unknown; it can be 'hoses'. Did you mean 'hoses'?"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PointMass("", 0.5, 1), "PointMass(''): rod must be the name of a rod, got ''"),
        (
            lambda: PointMass("hose", 1.5, 1),
            "PointMass('hose'): at = 1.5 must be a fraction of the length, from 0 to 1",
        ),
        (lambda: PointMass("hose", 0.5, 0), "mass must be a positive finite number, got 0"),
        (lambda: Foundation("hose", -1), "Foundation('hose'): stiffness must not be negative, got -1"),
        (lambda: Foundation("hose", (1, 2)), "stiffness must be a number or three numbers, got (1, 2)"),
        (lambda: Foundation("hose", 1, damping=np.nan), "damping = nan is not finite"),
        (lambda: Foundation("hose", 1, span=(0.5, 0.2)), "span = (0.5, 0.2) must be two increasing fractions"),
        (lambda: Cable(3, "b", stiffness=1), "a must be the name of a body, got 3"),
        (lambda: Cable("ground", "b", stiffness=1), "Cable('ground', 'b'): at_a is missing; 'ground' needs a point"),
        (lambda: Cable("b", "ground", at_b=0.5, stiffness=1), "at_b = 0.5 is a place in a rod; 'ground' needs a point"),
        (lambda: Cable("a", "b", at_a=1.5, stiffness=1), "at_a = 1.5 must be a fraction of the length, from 0 to 1"),
        (lambda: Cable("a", "b", at_a=(1.5, (0, 0)), stiffness=1), "at_a[0] = 1.5 must be a fraction of the length"),
        (lambda: Cable("a", "b", at_a=(0.5, 0.1), stiffness=1), "at_a[1] must be two numbers, got 0.1"),
        (lambda: Cable("a", "b", at_a=(1, 2, 3, 4), stiffness=1), "at_a must be three numbers, got (1, 2, 3, 4)"),
        (lambda: Cable("a", "b", stiffness=0), "stiffness must be a positive finite number, got 0"),
        (lambda: Cable("a", "b", stiffness=1, length=-1), "length must not be negative, got -1"),
        (lambda: Cable("a", "b", stiffness=1, damping=-1), "damping must not be negative, got -1"),
        (lambda: Cable("a", "b", stiffness=1, smoothing=-1), "smoothing must not be negative, got -1"),
        (
            lambda: Tendon("hose", [0.5], 1),
            "Tendon('hose'): points must be a list of at least two (fraction, (a1, a2))",
        ),
        (lambda: Tendon("hose", 0.5, 1), "points must be a list of at least two (fraction, (a1, a2)), got 0.5"),
        (lambda: Tendon("hose", [0, 2], 1), "points[1] = 2 must be a fraction of the length, from 0 to 1"),
        (lambda: Tendon("hose", [0, (1, (1, 2, 3))], 1), "points[1][1] must be two numbers, got (1, 2, 3)"),
        (lambda: Tendon("hose", [0, 1, (1, (0, 0))], 1), "points[1] and points[2] are both (1.0, (0.0, 0.0))"),
        (lambda: Tendon("hose", [0, 1], -1), "tension must not be negative, got -1"),
        (lambda: Tendon("hose", [0, 1], lambda t: -1), "tension(t = 0) must not be negative, got -1"),
        (lambda: Tendon("hose", [0, 1], raising), "tension(t = 0) raises ZeroDivisionError: of the user"),
        (lambda: PlaneObstacle((0, 0), (0, 0, 1), **CONTACT), "PlaneObstacle(all rods): point must be three numbers"),
        (lambda: PlaneObstacle((0, 0, 0), (0, 0, 0), **CONTACT), "normal must not be zero, got (0, 0, 0)"),
        (lambda: PlaneObstacle((0, 0, 0), (0, 0, 1), stiffness=0, smoothing=1), "stiffness must be a positive"),
        (lambda: PlaneObstacle((0, 0, 0), (0, 0, 1), stiffness=1, smoothing=0), "smoothing must be a positive"),
        (lambda: PlaneObstacle((0, 0, 0), (0, 0, 1), thickness=-1, **CONTACT), "thickness must not be negative"),
        (lambda: PlaneObstacle((0, 0, 0), (0, 0, 1), [], **CONTACT), "rods must be names of rods, or None for all"),
        (
            lambda: PlaneObstacle((0, 0, 0), (0, 0, 1), ["a", 3], **CONTACT),
            "rods must be names of rods, or None for all",
        ),
        (lambda: SphereObstacle((0, 0, 0), 0, **CONTACT), "SphereObstacle(all rods): radius must be a positive"),
        (
            lambda: CylinderObstacle((0, 0, 0), 3, 1, **CONTACT),
            "CylinderObstacle(all rods): axis must be three numbers",
        ),
        (lambda: SphereObstacle((0, 0, 0), 1, name="a/b", **CONTACT), "SphereObstacle 'a/b': name = 'a/b' is not a na"),
        (lambda: rod(rest_stretch=0), "Rod 'hose': rest_stretch must be a positive finite number, got 0"),
        (lambda: rod(rest_stretch=lambda t: t), "rest_stretch(t = 0) must be a positive finite number, got 0"),
        (lambda: rod(rest_stretch=raising), "rest_stretch(t = 0) raises ZeroDivisionError"),
        (lambda: rod(rest_stretch=1.1, strain="inextensible"), "rest_stretch = 1.1 is for rods that can be stretched"),
        (lambda: rod(limits={}), "limits must be a dictionary with 'bend_radius' or 'stress', got {}"),
        (lambda: rod(limits=3), "limits must be a dictionary with 'bend_radius' or 'stress', got 3"),
        (lambda: rod(limits={"strain": 1}), "limits = 'strain' is unknown; it can be 'bend_radius', 'stress'"),
        (lambda: rod(limits={"stress": -1}), "limits['stress'] must be a positive finite number, got -1"),
        (
            lambda: rod(
                section=None, stiffness=np.ones(6), density_per_length=1, rotary_inertia=(1, 1, 1), limits={"stress": 1}
            ),
            "limits['stress'] needs a section",
        ),
        (lambda: System(gravity=raising), "System: gravity(t = 0) raises ZeroDivisionError: of the user"),
        (lambda: System(gravity=lambda t: t), "System: gravity(t = 0) must be three numbers, got 0"),
    ],
)
def test_parts_refused(make, words):
    assert words in the_problem(make)


garbage = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.integers(-3, 3),
    st.text(max_size=4),
    st.lists(st.one_of(st.floats(), st.none(), st.text(max_size=2), st.lists(st.floats(), max_size=3)), max_size=4),
    st.tuples(st.floats(0, 1), st.tuples(st.floats(-1, 1), st.floats(-1, 1))),
    st.dictionaries(st.text(max_size=2), st.floats(), max_size=2),
    arrays.arrays(st.sampled_from([float, complex, int, bool]), st.sampled_from([(), (2,), (3,), (2, 3), (0,)])),
    st.sampled_from([object(), Rod, np.array(["a"]), len, raising, abs, 10**400, {1, 2}, iter([1.0])]),
)


@given(st.data())
def test_garbage_gives_a_model_error_and_nothing_else(data):
    kind = data.draw(st.sampled_from(ELEMENTS))
    names = [f.name for f in fields(kind)]
    changes = data.draw(st.dictionaries(st.sampled_from(names), garbage, min_size=1, max_size=3))
    made = made_or_error(kind, {**VALID[kind], **changes})
    if isinstance(made, ModelError):
        assert 1 <= len(made.problems) <= 2 * len(changes)
        assert all(sentence.startswith(kind.__name__) for sentence in made.problems)
        return
    assert made == replace(made)
    found = made_or_error(System, {"rods": [rod()], "forces": [made]})
    if isinstance(found, ModelError):
        assert all(re.match(r"forces\[0\], ", sentence) for sentence in found.problems)
    else:
        table(found)
        linked(found)


# --- masses and foundations ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "shares"), [(0.0, {0: 1}), (1.0, {4: 1}), (0.25, {1: 1}), (0.3, {1: 0.8, 2: 0.2}), (0.95, {3: 0.2, 4: 0.8})]
)
@pytest.mark.parametrize("mass", ["lumped", "blended"])
def test_point_masses_by_the_lever_rule(at, shares, mass):
    plain = table(System(rods=[rod(mass=mass)]))
    found = table(System(rods=[rod(mass=mass)], forces=[PointMass("hose", at, 2.0), PointMass("hose", at, 1.0)]))
    extra = np.zeros(5)
    for n, share in shares.items():
        extra[n] = 3.0 * share
    for key in ("mass", "tributary"):
        np.testing.assert_allclose(found[key] - plain[key], extra, atol=1e-12)
    np.testing.assert_array_equal(found["off"], plain["off"])
    np.testing.assert_array_equal(found["J"], plain["J"])


def test_tables_without_elements():
    found = table(System(rods=[rod()]))
    assert found["foundation"] is None
    assert "stretch" not in found
    np.testing.assert_array_equal(found["anchor"], rod().positions)


def test_foundations():
    whole = Foundation("hose", 100.0, damping=(1, 2, 3))
    found = table(System(rods=[rod()], forces=[whole]))["foundation"]
    lengths = np.array([0.125, 0.25, 0.25, 0.25, 0.125])
    np.testing.assert_allclose(found, np.outer(lengths, [100, 100, 100, 1, 2, 3]))
    part = Foundation("hose", (1, 0, 2), span=(0.1, 0.6))
    found = table(System(rods=[rod(grid=[0, 0.2, 0.5, 0.6, 1])], forces=[part]))["foundation"]
    assert np.sum(found[:, 0]) == pytest.approx(0.5, rel=1e-14)
    moments = found[:, 2] @ [0, 0.2, 0.5, 0.6, 1]  # hat functions carry linear loads exactly
    assert moments == pytest.approx(2 * 0.5 * 0.35, rel=1e-14)
    assert found[4].tolist() == [0] * 6
    both = table(System(rods=[rod()], forces=[whole, Foundation("hose", 1.0)]))["foundation"]
    np.testing.assert_allclose(both[:, 0], 101 * lengths)
    other = System(rods=[rod(), rod("other", initial=Straight((1, 0, 0), (2, 0, 0)))], forces=[whole])
    assert table(other, "other")["foundation"] is None


@given(st.floats(0, 1), st.floats(0, 1))
def test_any_span_has_its_length(a, b):
    a, b = sorted((a, b))
    if b - a < 1e-9:
        return
    found = table(
        System(rods=[rod(segments=7, initial=None, length=3.0)], forces=[Foundation("hose", 1.0, span=(a, b))])
    )
    assert np.all(found["foundation"] >= 0.0)
    assert np.sum(found["foundation"][:, 0]) == pytest.approx(3.0 * (b - a), rel=1e-12, abs=1e-12)


# --- cables and tendons ----------------------------------------------------------------------------------------------


def test_cables_say_what_they_act_on():
    cable = Cable("bob", "hose", at_b=(0.3, (0.01, 0.02)), stiffness=1.0)
    assert (cable.bodies, cable.rods, cable.label) == (("bob",), ("hose",), "Cable('bob', 'hose')")
    assert cable.at_b == (0.3, (0.01, 0.02))
    assert cable.at_a is None
    assert Cable("ground", "bob", (1, 2, 3), (0, 0, 1), stiffness=1.0).rods == ()
    assert Cable("hose", "hose", 0, np.float64(1), stiffness=1.0).rods == ("hose", "hose")


def test_points_of_a_rod():
    r = rod(initial=Arc((1, 2, 3), (0, 1, 0), (0, 0, 1), 0.5, 2.0), segments=3)
    np.testing.assert_allclose(r.point(0), r.positions[0])
    np.testing.assert_allclose(r.point(1.0), r.positions[-1])
    np.testing.assert_allclose(r.point(0.5), 0.5 * (r.positions[1] + r.positions[2]))
    d1, d2, _ = rot.matrix_from_quaternion(r.quaternions[2]).T
    np.testing.assert_allclose(r.point(0.9, (0.1, -0.2)) - r.point(0.9), 0.1 * d1 - 0.2 * d2, atol=1e-15)
    assert [r.segment_at(s)[0] for s in (0, 0.3, 1 / 3, 0.9, 1)] == [0, 0, 1, 2, 2]
    assert r.segment_at(1.0)[1] == pytest.approx(1.0)


def test_cables_for_the_core():
    turn = rot.exp((0.1, 0.2, 0.3))
    bob = body(position=(0, 0, 2), orientation=turn)
    axes = np.array([rot.matrix_from_rotation_vector((0, 0, 0.5))])
    at = np.array([0.1, 0.2, 0.3])
    cables = [
        Cable("ground", "hose", (0, 0.3, 1), 0.3, stiffness=5.0, damping=2.0, smoothing=1e-3),
        Cable("hose", "bob", (1.0, (0.01, 0.02)), at, stiffness=5.0, length=0.7),
        Cable("bob", "ground", None, (0, 0, 0), stiffness=1.0),
    ]
    system = System([bob], rods=[rod("other", initial=Straight((1, 0, 0), (2, 0, 0))), rod()], forces=cables)
    one, two = linked(system, {"bob": 0}, axes)
    a, b = one.ends
    assert (a.rod, a.body, a.offset.tolist()) == (-1, -1, [0, 0.3, 1])
    assert (b.rod, b.segment, b.offset.tolist()) == (1, 1, [0, 0, 0])
    assert b.xi == pytest.approx(0.2)
    a, b = two.ends
    assert (a.rod, a.segment, a.xi, a.offset.tolist(), b.rod, b.body) == (1, 3, 1.0, [0.01, 0.02, 0], -1, 0)
    np.testing.assert_allclose(b.offset, axes[0].T @ at)
    assert not cables[2].on_rods
    assert system.cable_length(cables[2]) == 2.0
    assert system.cable_length(cables[1]) == 0.7
    slack = replace(cables[1], length=None)
    ends = rod().point(1.0, (0.01, 0.02)), system.point("bob", at)
    assert system.cable_length(slack) == pytest.approx(math.dist(*ends), rel=1e-14)


@pytest.mark.parametrize(
    ("cable", "words"),
    [
        (
            Cable("bib", "hose", at_b=0.5, stiffness=1),
            "a = 'bib' is unknown; it can be 'ground', 'bob', 'hose'. Did you",
        ),
        (
            Cable("bob", "hos", at_b=0.5, stiffness=1),
            "b = 'hos' is unknown; it can be 'ground', 'bob', 'hose'. Did you",
        ),
        (Cable("bob", "hose", stiffness=1), "at_b is missing, but 'hose' is a rod; give a fraction of its length"),
        (
            Cable("bob", "hose", at_b=(0, 0, 1), stiffness=1),
            "at_b = (0, 0, 1) is a point, but 'hose' is a rod; give a fraction of its length, from 0 to 1, or (",
        ),
        (
            Cable("bob", "hose", 0.5, 0.5, stiffness=1),
            "at_a = (0.5, (0.0, 0.0)) is a place in a rod, but 'bob' is a body; give a point in its axes",
        ),
        (Cable("bob", "bob", (0, 0, 1), stiffness=1), "it connects 'bob' with itself, which does nothing"),
        (Cable("hose", "hose", 0.5, 0.5, stiffness=1), "its ends coincide at the start, at (0, 0.5, 0) in space"),
        (Cable("ground", "bob", (0, 0, 2), stiffness=1), "its ends coincide at the start, at (0, 0, 2) in space"),
    ],
)
def test_cables_refused_by_the_system(cable, words):
    sentence = the_problem(System, [body()], rods=[rod()], forces=[cable])
    assert sentence.startswith(f"forces[0], {cable.label}: ")
    assert words in sentence


def test_slack_cables_need_no_direction():
    assert System([body()], forces=[Cable("ground", "bob", (0, 0, 2), stiffness=1, length=0.1)])
    assert System(rods=[rod()], forces=[Cable("hose", "hose", 0.5, (0.5, (0.01, 0)), stiffness=1)])


def pull(t):
    return 2.0 * t


def test_tendons():
    tendon = Tendon("hose", [0, (0.5, (0.01, 0)), (0.3, (0.0, 0.02)), np.float64(1)], pull)
    assert tendon.points == ((0.0, (0.0, 0.0)), (0.5, (0.01, 0.0)), (0.3, (0.0, 0.02)), (1.0, (0.0, 0.0)))
    assert tendon == pickle.loads(pickle.dumps(tendon)) == replace(tendon)
    system = System(rods=[rod()], forces=[tendon, Tendon("hose", [0, 1], 3.0)])
    *led, constant = linked(system)
    assert {(*x.tension.values(1.5),) for x in led} == {(*constant.tension.values(7.0),)} == {(3.0,)}
    assert [x.tension.timed for x in (*led, constant)] == [True, True, True, False]
    points = [led[0].ends[0], *(x.ends[1] for x in led)]
    assert [(p.rod, p.segment) for p in points] == [(0, 0), (0, 2), (0, 1), (0, 3)]
    np.testing.assert_allclose([p.xi for p in points], [0, 0, 0.2, 1], atol=1e-15)
    np.testing.assert_array_equal([p.offset[:2] for p in points], [[0, 0], [0.01, 0], [0, 0.02], [0, 0]])
    wrong = Tendon("hose", [0, 1], lambda t: 1.0 - t)
    (found,) = linked(System(rods=[rod()], forces=[wrong]))
    with pytest.raises(ForceError, match=re.escape("Tendon('hose').tension raised ValueError at t = 2: tension must")):
        found.tension.values(2.0)


# --- obstacles -------------------------------------------------------------------------------------------------------


def test_obstacles():
    floor = PlaneObstacle(**VALID[PlaneObstacle])
    assert (floor.normal.tolist(), floor.rods, floor.label) == ([0, 0, 1], (), "PlaneObstacle(all rods)")
    assert floor.acts_on("anything")
    one = replace(floor, rods="hose")
    assert (one.rods, one.label) == (("hose",), "PlaneObstacle('hose')")
    assert replace(floor, rods=["a", "b"]).rods == ("a", "b")
    assert not one.acts_on("other")
    assert replace(one, rods=None) == floor
    assert "rod = 'hose' is unknown; it can be 'hoses'" in the_problem(System, rods=[rod("hoses")], forces=[one])
    for made in (floor, one):
        assert "it is an obstacle for rods; the system has no rods." in the_problem(System, forces=[made])


@given(arrays.arrays(float, (3,), elements=st.floats(-1e6, 1e6)).filter(lambda x: np.abs(x).max() > 1e-6))
def test_directions_are_made_units_once(direction):
    made = PlaneObstacle((0, 0, 0), direction, **CONTACT)
    assert np.linalg.norm(made.normal) == pytest.approx(1.0, abs=1e-15)
    assert made == replace(made)


def test_obstacles_for_the_core():
    rods = [
        rod(section=Rectangle(0.02, lambda s: 0.01 + 0.04 * s)),
        rod("wire", initial=Straight((1, 0, 0), (2, 0, 0)), section=None, stiffness=np.ones(6), density_per_length=1.0,
            rotary_inertia=(1, 1, 1)),
    ]  # fmt: skip
    obstacles = [
        PlaneObstacle(**VALID[PlaneObstacle]),
        SphereObstacle(**VALID[SphereObstacle], rods=["hose"]),
        CylinderObstacle(**VALID[CylinderObstacle], thickness=0.3),
    ]
    system = System(rods=rods, forces=[*obstacles, RodLoad("hose", force=(0, 0, 1)), Drag("hose", 1.0)])
    plane, sphere, cylinder = system.all_contacts
    assert (plane.a, sphere.a, cylinder.a) == (("hose", "wire"), ("hose",), ("hose", "wire"))
    assert (plane.b, sphere.b, cylinder.b) == (
        Plane((0, 0, -1), (0, 0, 1)), Sphere(0.5, offset=(0, 0, -1)), Shaft(0.5, (0, 0, -1), (0, 1, 0)),
    )  # fmt: skip
    assert all((x.stiffness, x.smoothing, x.friction) == (1e4, 1e-4, None) for x in system.all_contacts)
    compiled = compile_system(system)
    assert [(x.of, x.on) for x in compiled.touching] == [
        ("hose", None), ("wire", None), ("hose", None), ("hose", None), ("wire", None)
    ]  # fmt: skip
    for found in compiled.touching:
        np.testing.assert_allclose(found.weights, [0.125, 0.25, 0.25, 0.25, 0.125])
    rows, _ = compiled.contact_states(range(5), np.zeros(1), compiled.y0)
    x = system.rod("hose").positions
    np.testing.assert_allclose(rows[0][0, :, 12], x[:, 2] + 1.0 - [0.01, 0.01, 0.015, 0.02, 0.025], atol=1e-12)
    np.testing.assert_allclose(rows[3][0, :, 12], np.hypot(x[:, 0], x[:, 2] + 1.0) - 0.8, atol=1e-12)


@pytest.mark.parametrize("degree", [None, 3])
def test_an_obstacle_is_a_contact_without_friction(degree):
    hold = {"stiffness": 200.0, "smoothing": 0.02, "thickness": 0.03, "name": "floor"}
    mesh = {} if degree is None else {"discretization": "elements", "degree": degree}
    hose = rod(initial=Straight((0, 0, 0.32), (1, 0, 0.5)), section=Circle(0.01), material=RUBBER, **mesh)
    obstacle = PlaneObstacle((0, 0, 0.3), (0, 0, 1), **hold)
    contact = Contact("hose", Plane((0, 0, 0.3), (0, 0, 1)), **hold)
    one, other = (
        simulate(System(rods=[hose], forces=[obstacle]), 0.05),
        simulate(System(rods=[hose], contacts=[contact]), 0.05),
    )
    np.testing.assert_array_equal(one.y, other.y)
    np.testing.assert_array_equal(one.contacts["floor"].force, other.contacts["floor"].force)
    assert one.contacts["floor"].normal.max() > 0.0
    assert one.energy.contact.max() > 0.0


def test_rods_may_start_inside_of_obstacles():
    inside = {"stiffness": 200.0, "smoothing": 0.02}
    hose = rod(initial=Straight((0, 0, 0.2), (1, 0, 0.2)), section=Circle(0.01), material=RUBBER)
    assert simulate(System(rods=[hose], forces=[PlaneObstacle((0, 0, 0.3), (0, 0, 1), **inside)]), 1e-3).t[-1] == 1e-3
    with pytest.raises(ModelError, match="inside of the surface"):
        simulate(System(rods=[hose], contacts=[Contact("hose", Plane((0, 0, 0.3)), **inside)]), 1e-3)


def test_rods_do_not_start_where_an_obstacle_has_no_direction():
    ball = SphereObstacle((0, 0.5, 0), 0.1, **CONTACT)
    sentence = the_problem(System, rods=[rod()], forces=[ball])
    assert sentence == (
        "forces[0], SphereObstacle(all rods): rod 'hose' starts at its centre, at s = 0.5, (0, 0.5, 0) in space; move "
        "it out of the obstacle."
    )
    pipe = CylinderObstacle((5, 0, 0), (1, 0, 0), 0.1, **CONTACT)
    assert "rod 'hose' starts on its axis, at s = 0, (0, 0, 0) in space" in the_problem(
        System, rods=[rod()], forces=[pipe]
    )
    assert System(rods=[rod()], forces=[replace(ball, center=(0, 0.55, 0))])


# --- stretch, limits, stress -----------------------------------------------------------------------------------------


def winch(t):
    return 1.0 - 0.1 * t


def test_rest_stretch():
    assert rod().rest_stretch is None
    assert table(System(rods=[rod(rest_stretch=0.9)]))["stretch"] == 0.9
    made = rod(rest_stretch=winch)
    assert made == pickle.loads(pickle.dumps(made)) == replace(made) != rod()
    signals = Signals()
    found = compile_rod(made, System(rods=[made]), signals)
    assert signals.python
    assert found["stretches"].values(2.0).tolist() == [0.8]
    with pytest.raises(
        ForceError, match=re.escape("Rod 'hose'.rest_stretch raised ValueError at t = 10: rest_stretch")
    ):
        found["stretches"].values(10.0)
    signals = Signals()
    compile_rod(rod(rest_stretch=0.9), System(rods=[rod(rest_stretch=0.9)]), signals)
    assert not signals.led


def test_limits():
    made = rod(limits={"stress": 1e6, "bend_radius": np.float64(0.05)})
    assert dict(made.limits) == {"bend_radius": 0.05, "stress": 1e6}
    assert made.limits["stress"] == 1e6
    assert made == pickle.loads(pickle.dumps(made)) == replace(made) != rod(limits={"stress": 1e6})
    assert rod(limits={"bend_radius": 0.05}).limits.get("stress") is None
    assert repr(made.limits) == "{'bend_radius': 0.05, 'stress': 1000000.0}"
    with pytest.raises(TypeError):
        made.limits["stress"] = 3.0


def fibres(points, section, F, M):
    """Axial stress at points (k, 2) of a section: N/A + M1 ξ2 / I1 - M2 ξ1 / I2."""
    v = section.at([0.5])
    return F[2] / v.area + M[0] * points[:, 1] / v.I1 - M[1] * points[:, 0] / v.I2


@given(*[arrays.arrays(float, (3,), elements=st.floats(-5, 5)) for _ in range(2)])
def test_stress_is_the_largest_of_all_fibres(F, M):
    phi = np.linspace(0, 2 * np.pi, 20001)
    edge = np.stack([np.cos(phi), np.sin(phi)], axis=1)
    corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    for section, points in (
        (Circle(0.3), 0.3 * edge),
        (Ring(0.3, 0.2), 0.3 * edge),
        (Rectangle(0.2, 0.5), corners * (0.1, 0.25)),
    ):
        expected = np.max(np.abs(fibres(points, section, F, M)))
        assert section.stress(F, M) == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_stress_of_any_section_is_that_of_a_rectangle():
    r = Rectangle(0.2, 0.5)
    v = r.at([0.5])
    same = Section(float(v.area[0]), float(v.I1[0]), float(v.I2[0]))
    F, M = np.random.default_rng(1).normal(size=(2, 7, 4, 3))
    np.testing.assert_allclose(same.stress(F, M), r.stress(F, M), rtol=1e-13)
    np.testing.assert_allclose(same.half_sizes([0.1]), [[0.1, 0.25]], rtol=1e-14)
    assert r.stress(F, M).shape == (7, 4)


def test_stress_of_tapered_sections():
    tapered = Circle(lambda s: 0.3 - 0.2 * s)
    s = np.array([0.0, 0.5, 1.0])
    F, M = np.random.default_rng(2).normal(size=(2, 5, 3, 3))
    found = tapered.stress(F, M, s=s)
    for k, x in enumerate(s):
        np.testing.assert_allclose(found[:, k], Circle(0.3 - 0.2 * x).stress(F[:, k], M[:, k]), rtol=1e-14)
    np.testing.assert_allclose(tapered.stress(F, M, s=0.5), Circle(0.2).stress(F, M), rtol=1e-14)
    with pytest.raises(ValueError, match="s is missing: radius varies along the rod"):
        tapered.stress(F, M)
    with pytest.raises(ValueError, match=re.escape("force must be (..., 2, 3), as many as s")):
        tapered.stress(F, M, s=[0, 1])
    with pytest.raises(ValueError, match="moment must have the shape"):
        tapered.stress(F, M[..., :2], s=s)


# --- gravity ---------------------------------------------------------------------------------------------------------


def ramp(t):
    return 0.0, 0.0, -1.0 - t


def steeper(t):
    return 0.0, 0.0, -1.0 - 2.0 * t


def test_gravity_as_a_function_of_time():
    system = System([body()], rods=[rod()], gravity=ramp)
    np.testing.assert_array_equal(system.gravity, [0, 0, -1])
    assert not system.gravity.flags.writeable
    assert system.gravity_function is ramp
    assert type(np.array(system.gravity)) is np.ndarray
    handed_on = System(system.bodies, system.joints, system.rods, system.forces, system.gravity)
    for same in (replace(system), handed_on, pickle.loads(pickle.dumps(system))):
        assert same == system
        assert same.gravity_function is ramp
    assert system != System([body()], rods=[rod()], gravity=(0, 0, -1))
    assert system != System([body()], rods=[rod()], gravity=steeper)
    assert replace(system, gravity=(0, 0, -1)).gravity_function is None
    assert System().gravity_function is None


def test_gravity_of_a_rod_as_a_load():
    plain = System(rods=[rod(start=Clamped())], forces=[PointMass("hose", 0.9, 0.1), RodLoad("hose", force=(1, 0, 0))])
    signals, none = Signals(), Signals()
    found = compile_rod(plain.rods[0], replace(plain, gravity=ramp), signals)
    before = compile_rod(plain.rods[0], plain, none)
    assert (signals.python, none.python) == (True, False)
    np.testing.assert_array_equal(found["gravity"], 0)
    np.testing.assert_array_equal(before["gravity"], plain.gravity)
    assert (len(before["loads"]), len(found["loads"])) == (1, 2)
    load = found["loads"][-1]
    force = load.force
    assert (load.follow, load.led, load.moment) == (False, True, [])
    assert load.value(0.0).tolist() == [0, 0, -1, 0, 0, 0]
    assert [n for _, n, _ in force] == [0, 1, 2, 3, 4]
    assert all(j in (n - 1, n) and 0 <= j < 4 for j, n, _ in force)
    np.testing.assert_array_equal([w for *_, w in force], np.tile(before["tributary"][:, None], (1, 3)))
    assert load.value(2.0).tolist() == [0, 0, -3, 0, 0, 0]
    broken = compile_rod(plain.rods[0], replace(plain, gravity=lambda t: (0, 0, 1 / (1 - t))), Signals())
    with pytest.raises(ForceError, match=r"System.gravity raised ZeroDivisionError at t = 1"):
        broken["loads"][-1].value(1.0)


def test_forces_on_bodies_are_as_before():
    assert Force("bob", (0, 0, 1)).on_rods is False
    system = System([body()], rods=[rod()], forces=[Force("bob", (0, 0, 1)), PlaneObstacle(**VALID[PlaneObstacle])])
    assert [f.on_rods for f in system.forces] == [False, True]
