"""Joints: every way to place them, the tree they form, gaps at the start, and the sentences that bad input gets."""

import copy
import math
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentences import problems

from gyrod import rotations as rot
from gyrod.model import (
    JOINTS,
    Body,
    Cylindrical,
    Distance,
    Fixed,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    System,
    Universal,
)

PLACE = {"at": (0.3, -0.2, 0.5)}
AXIS = {**PLACE, "axis": (1, 2, -2)}
# What each joint takes beyond its partners.
VALID = {
    Fixed: PLACE,
    Spherical: PLACE,
    Revolute: AXIS,
    Prismatic: AXIS,
    Cylindrical: AXIS,
    Planar: AXIS,
    Helical: {**AXIS, "pitch": 0.3},
    Universal: {**AXIS, "axis2": (2, 1, 2)},
    Distance: {**PLACE, "to": (1.0, 0.5, -0.4)},
}
AXIAL = [kind for kind in JOINTS if "axis" in VALID[kind] and kind is not Universal]
SPRUNG = [Revolute, Prismatic, Helical]

# name: freedoms, coordinates
KINDS = {
    Fixed: (0, ()),
    Spherical: (3, ()),
    Revolute: (1, ("angle",)),
    Prismatic: (1, ("displacement",)),
    Cylindrical: (2, ("angle", "displacement")),
    Planar: (3, ("x", "y", "angle")),
    Helical: (1, ("angle",)),
    Universal: (2, ("angle", "angle2")),
    Distance: (5, ("length",)),
}


def two_bodies(seed=1, **changes):
    rng = np.random.default_rng(seed)
    return [
        Body(name, 1.0, (1.0, 1.2, 0.9), rng.normal(size=3), rot.normalize(rng.normal(size=4)), **changes)
        for name in ("A", "B")
    ]


def pose(system, name):
    if name == "ground":
        return np.zeros(3), np.eye(3)
    return system.body(name).position, system.body(name).matrix


def in_space(system, joint):
    """Points and frames of both sides in space."""
    at = system.attachment(joint)
    (x_a, R_a), (x_b, R_b) = pose(system, joint.a), pose(system, joint.b)
    return x_a + R_a @ at.at_a, x_b + R_b @ at.at_b, R_a @ at.frame_a, R_b @ at.frame_b


def close(x, y, atol=1e-14):
    np.testing.assert_allclose(x, y, rtol=0, atol=atol)


# --- what they are ---------------------------------------------------------------------------------------------------


def test_there_are_nine():
    assert list(KINDS) == list(JOINTS) == list(VALID)


@pytest.mark.parametrize("kind", JOINTS)
def test_what_a_joint_says_of_itself(kind):
    joint = kind("A", "B", **VALID[kind])
    freedoms, names = KINDS[kind]
    assert (joint.freedoms, joint.constraints, joint.coordinate_names) == (freedoms, 6 - freedoms, names)
    assert joint.kind == kind.__name__.lower()
    assert not joint.driven
    assert joint.law is None
    assert joint.bodies == ("A", "B")


@pytest.mark.parametrize("kind", JOINTS)
def test_equality_repr_and_pickling(kind):
    joint = kind("A", "B", **VALID[kind], name="x")
    assert joint == pickle.loads(pickle.dumps(joint)) == copy.deepcopy(joint) == replace(joint)
    assert hash(joint) == hash(replace(joint))
    assert joint != replace(joint, b="C")
    assert joint != replace(joint, at=(0, 0, 9))
    assert eval(repr(joint)) == joint
    assert "at_a" not in repr(joint)
    assert "stiffness" not in repr(joint)
    again = replace(joint, name="y")
    assert all(np.array_equal(getattr(joint, f.name), getattr(again, f.name)) for f in fields(kind) if f.name != "name")


def test_repr_tells_what_is_given():
    assert repr(Revolute("A", "B", at=(0, 0, 0), axis=(0, 0, 2), stiffness=3, limits=(None, 1))) == (
        "Revolute('A', 'B', at=[0.0, 0.0, 0.0], axis=[0.0, 0.0, 1.0], stiffness=3.0, limits=(None, 1.0))"
    )


def test_a_system_with_joints_survives_pickling_and_copies():
    joints = [Revolute("ground", "A", **AXIS), Universal("A", "B", at=(0, 0, 1), axis=(1, 0, 0), axis2=(0, 1, 0))]
    system = System(two_bodies(), joints)
    system.attachment(joints[0])
    system.tree()
    for again in (pickle.loads(pickle.dumps(system)), copy.deepcopy(system)):
        assert again == system
        for mine, theirs in zip(system.joints, again.joints, strict=True):
            np.testing.assert_array_equal(again.attachment(theirs).frame_b, system.attachment(mine).frame_b)
        assert again.tree().order == ("A", "B")


def test_drives():
    def f(t):
        return 0.1 * t

    for kind in (Revolute, Prismatic, Helical):
        assert kind("A", "B", **VALID[kind], drive=f).freedoms == 0
        assert kind("A", "B", **VALID[kind], drive=f).law == (f, None, None)
        assert kind("A", "B", **VALID[kind], drive=[f, f, f]).law == (f, f, f)
        constant = kind("A", "B", **VALID[kind], drive=2)
        assert constant.drive == 2.0
        assert [g(3.0) for g in constant.law] == [2.0, 0.0, 0.0]
        assert constant.constraints == 6
    bar = Distance("A", "B", **VALID[Distance], length=f)
    assert bar.driven
    assert bar.freedoms == 5
    assert not replace(bar, length=2).driven


def test_springs_are_normalised():
    joint = Cylindrical("A", "B", **AXIS, stiffness=(1, 2), rest=(0, 3))
    assert (joint.stiffness.tolist(), joint.damping.tolist(), joint.rest.tolist()) == ([1, 2], [0, 0], [0, 3])
    joint = Revolute("A", "B", **AXIS, stiffness=1, damping=2, rest=-1, limits=[None, None])
    assert (joint.stiffness, joint.damping, joint.rest, joint.limits) == (1.0, 2.0, -1.0, None)
    assert Helical("A", "B", **VALID[Helical], limits=(-20, 30)).limits == (-20.0, 30.0)


def test_joints_are_found_by_name():
    joint = Revolute("ground", "A", **AXIS, name="hinge")
    system = System(two_bodies(), [joint, Spherical("A", "B", at=(0, 0, 0))])
    assert system.joint("hinge") is joint
    with pytest.raises(ValueError, match="Did you mean 'hinge'"):
        system.joint("hnge")
    with pytest.raises(ValueError, match="no joints with a name"):
        System(two_bodies()).joint("hinge")


# --- where they sit --------------------------------------------------------------------------------------------------


@pytest.mark.spread
@pytest.mark.parametrize("partners", [("A", "B"), ("B", "A"), ("ground", "A"), ("B", "ground")])
@pytest.mark.parametrize("kind", JOINTS)
def test_all_ways_to_place_a_joint_agree(kind, partners):
    joint = kind(*partners, **VALID[kind])
    system = System(two_bodies(), [joint])
    at = system.attachment(joint)
    p_a, p_b, E_a, E_b = in_space(system, joint)
    close(p_a, joint.at)
    close(p_b, joint.to if kind is Distance else joint.at)
    for E in (E_a, E_b):
        close(E.T @ E, np.eye(3))
        assert np.linalg.det(E) > 0
    close(E_a, E_b)
    (_, R_a), (_, R_b) = pose(system, joint.a), pose(system, joint.b)
    rest = {k: v for k, v in VALID[kind].items() if k not in ("at", "to", "axis", "axis2")}
    points = [{"at_a": at.at_a}, {"at_b": at.at_b}, {"at_a": at.at_a, "at_b": at.at_b}, {"at": joint.at}]
    if kind is Distance:
        points = [{"at": joint.at, "at_b": at.at_b}, {"at_a": at.at_a, "to": joint.to}, points[2]]
        assert at.length == pytest.approx(np.linalg.norm(joint.at - joint.to), abs=1e-15)
    else:
        assert at.length == 0.0
    axes = [{}]
    if kind in AXIAL:
        n_a, n_b = R_a.T @ joint.axis, R_b.T @ joint.axis
        close(E_a[:, 2], joint.axis)
        axes = [{"axis": 5 * joint.axis}, {"axis_a": 3 * n_a}, {"axis_b": n_b}, {"axis_a": n_a, "axis_b": 7 * n_b}]
    elif kind is Universal:
        n_a, n_b = R_a.T @ joint.axis, R_b.T @ joint.axis2
        close(E_a[:, 2], joint.axis)
        close(E_b[:, 0], joint.axis2)
        axes = [
            {"axis_a": n_a, "axis_b": n_b},
            {"axis": joint.axis, "axis_b": n_b},
            {"axis_a": n_a, "axis2": (2, 1, 2)},
        ]
    else:
        close(E_a, np.eye(3))
    for point in points:
        for axis in axes:
            other = kind(*partners, **point, **axis, **rest)
            found = system.attachment(other)  # not in the system
            same = System(system.bodies, [other])
            for one in (found, same.attachment(other)):
                for f in ("at_a", "at_b", "frame_a", "frame_b"):
                    close(getattr(one, f), getattr(at, f), 3e-14)
            assert max(same.residuals()[other.label]) < 1e-14
            same.check_consistent()


def test_attachments_are_read_only_and_need_known_bodies():
    joint = Spherical("A", "B", at=(0, 0, 0))
    system = System(two_bodies(), [joint])
    with pytest.raises(ValueError, match="read-only"):
        system.attachment(joint).at_a[0] = 1.0
    with pytest.raises(ValueError, match="'C' is unknown"):
        system.attachment(Spherical("A", "C", at=(0, 0, 0)))


@given(st.integers(0, 10**6))
def test_different_axes_are_joined_by_the_smallest_rotation(seed):
    rng = np.random.default_rng(seed)
    n, m = (x / np.linalg.norm(x) for x in rng.normal(size=(2, 3)))
    joint = Revolute("A", "B", at=(0, 0, 0), axis_a=n, axis_b=m)
    system = System(two_bodies(seed), [joint])
    _, _, E_a, E_b = in_space(system, joint)
    n, m = system.body("A").matrix @ n, system.body("B").matrix @ m
    close(E_a[:, 2], n)
    close(E_b[:, 2], m, 1e-12)
    angle = np.arccos(np.clip(n @ m, -1, 1))
    turn = rot.rotation_vector_from_matrix(E_b @ E_a.T)
    close(np.linalg.norm(turn), angle, 1e-7)
    assert abs(turn @ n) < 1e-7
    close(system.residuals()[joint.label][0], angle, 1e-7)


def test_opposite_axes():
    joint = Revolute("ground", "A", at=(0, 0, 0), axis_a=(0, 0, 1), axis_b=(0, 0, -1))
    system = System([Body("A", 1, (1, 1, 1))], [joint])
    _, _, E_a, E_b = in_space(system, joint)
    close(E_b, E_a @ np.diag([1, -1, -1]))
    assert system.residuals()[joint.label][0] == pytest.approx(np.pi)


def test_nearly_perpendicular_axes_are_made_so():
    joint = Universal("ground", "A", at=(0, 0, 0), axis=(0, 0, 1), axis2=(0.6, 0.8, 5e-7))
    system = System([Body("A", 1, (1, 1, 1))], [joint])
    _, _, E_a, E_b = in_space(system, joint)
    close(E_b, E_a)
    close(E_b[:, 0], [0.6, 0.8, 0.0])
    system.check_consistent()


# --- trees -----------------------------------------------------------------------------------------------------------


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 12))
    names = [f"b{i}" for i in range(n)]
    pairs = st.tuples(st.sampled_from(["ground", *names]), st.sampled_from(["ground", *names]))
    edges = draw(st.lists(pairs.filter(lambda p: p[0] != p[1]), max_size=20))
    joints = []
    for a, b in edges:
        kind = draw(st.sampled_from([Spherical, Distance, Revolute]))
        joints.append(kind(a, b, **VALID[kind]))
    return System([Body(name, 1.0, (1, 1, 1), position=(i, i * i, 0)) for i, name in enumerate(names)], joints)


@given(graphs())
def test_the_tree_spans_every_graph(system):
    tree = system.tree()
    assert tree is system.tree()
    assert sorted(tree.order) == sorted(system.names)
    assert set(tree.parent) == set(tree.joint) == set(system.names)
    place = {name: i for i, name in enumerate(tree.order)}
    depth = {"ground": 0}
    for name in tree.order:
        parent, joint = tree.parent[name], tree.joint[name]
        assert (parent is None) == (joint is None)
        if parent is None:
            depth[name] = 0
            continue
        assert {parent, name} == set(joint.bodies)
        assert not isinstance(joint, Distance)
        assert parent == "ground" or place[parent] < place[name]
        depth[name] = depth[parent] + 1
    # Depth first: the bodies that hang on one follow it without a gap.
    sizes = dict.fromkeys(tree.order, 1)
    for name in reversed(tree.order):
        if tree.parent[name] in sizes:
            sizes[tree.parent[name]] += sizes[name]
    for name in tree.order:
        for child in [c for c in tree.order if tree.parent[c] == name]:
            assert place[name] < place[child] < place[name] + sizes[name]
    # Every joint is in the tree or cut.
    in_tree = [id(joint) for joint in tree.joint.values() if joint is not None]
    assert len(set(in_tree)) == len(in_tree)
    assert sorted([*in_tree, *map(id, tree.cuts)]) == sorted(map(id, system.joints))
    where = {id(joint): i for i, joint in enumerate(system.joints)}
    assert [where[id(c)] for c in tree.cuts] == sorted(where[id(c)] for c in tree.cuts)
    # Breadth first: no joint skips a level; and what ground reaches hangs on it.
    top = {"ground": "ground"}
    for name in tree.order:
        parent = tree.parent[name]
        top[name] = name if parent is None else top[parent]
    for joint in system.joints:
        if not isinstance(joint, Distance):
            assert top[joint.a] == top[joint.b]
            assert abs(depth[joint.a] - depth[joint.b]) <= 1
    for name in system.names:
        if tree.parent[name] is None:
            same = [other for other in system.names if top[other] == name]
            assert same[0] == name  # the first body of its component


def test_a_four_bar_linkage_is_cut_once():
    hinges = [("ground", "a"), ("a", "b"), ("b", "c"), ("c", "ground")]
    joints = [Revolute(*pair, at=(i, 0, 0), axis=(0, 0, 1), name=f"j{i}") for i, pair in enumerate(hinges)]
    system = System([Body(name, 1, (1, 1, 1), (i, 1, 0)) for i, name in enumerate("abc")], joints)
    tree = system.tree()
    assert tree.order == ("a", "b", "c")
    assert tree.parent == {"a": "ground", "b": "a", "c": "ground"}
    assert [joint.name for joint in tree.cuts] == ["j2"]


def test_parallel_joints_are_legal():
    joint = Revolute("ground", "A", **AXIS)
    system = System(two_bodies()[:1], [joint, replace(joint), joint])
    assert system.tree().joint["A"] is joint
    assert len(system.tree().cuts) == 2
    assert len(system.residuals()) == 3
    assert system.fixed_points == {}


def test_a_long_chain_needs_no_recursion():
    n = 3000
    links = [Body(f"b{i}", 1.0, (1, 1, 1), (i + 0.5, 0, 0), angular_velocity=(0, 0, 1e-3)) for i in range(n)]
    joints = [Revolute(f"b{i - 1}" if i else "ground", f"b{i}", at=(i, 0, 0), axis=(0, 0, 1)) for i in range(n)]
    system = System(links, joints)
    assert system.tree().order == system.names
    assert system.tree().cuts == ()
    close(system.attachment(joints[-1]).at_b, [-0.5, 0, 0])
    close(system.initial_velocities[f"b{n - 1}"], [0, 1e-3 * (n - 0.5), 0], 1e-9)
    system.check_consistent()


# --- velocities and gaps ---------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6))
def test_velocities_follow_from_the_tree(seed):
    rng = np.random.default_rng(seed)
    names = [f"b{i}" for i in range(6)]
    bodies = [
        Body(name, 1, (1, 1, 1), rng.normal(size=3), rng.normal(size=3), angular_velocity=rng.normal(size=3))
        for name in names
    ]
    joints = []
    for i, name in enumerate(names):
        parent = (["ground", *names])[rng.integers(0, i + 1)]
        joints.append(Spherical(*rng.permutation([parent, name]).tolist(), at=rng.normal(size=3), name=f"j{i}"))
    system = System(bodies, joints)
    system.check_consistent()
    assert max(gap for _, gap in system.residuals().values()) < 1e-13
    # A free root keeps what it has, and its velocity is handed on.
    kicked = [replace(bodies[0], velocity=(1, 2, 3)), *bodies[1:]]
    loose = System(kicked, [joint for joint in joints if "ground" not in joint.bodies])
    loose.check_consistent()
    np.testing.assert_array_equal(loose.initial_velocities["b0"], [1, 2, 3])


def test_velocities_that_are_given_stay_and_a_distance_hands_nothing_on():
    A, B = two_bodies(angular_velocity=(1, 0, 0))
    system = System([A, replace(B, velocity=(0, 0, 1))], [Distance("A", "B", at=(0, 0, 0), to=(1, 0, 0))])
    assert system.initial_velocities["A"].tolist() == [0, 0, 0]
    assert system.initial_velocities["B"].tolist() == [0, 0, 1]
    hung = System([A, replace(B, velocity=(0, 0, 1))], [Prismatic("ground", "B", at=(0, 0, 0), axis=(0, 0, 1))])
    assert hung.initial_velocities["B"].tolist() == [0, 0, 1]


def test_only_a_single_spherical_joint_makes_a_fixed_point():
    bodies = two_bodies()
    x = bodies[1].position
    for joint in (
        Spherical("ground", "B", at=(0, 0, 1)),
        Spherical("ground", "B", at_a=(0, 0, 1)),
        Spherical("B", "ground", at_b=(0, 0, 1)),
        Spherical("B", "ground", at_a=bodies[1].matrix.T @ ((0, 0, 1) - x)),
    ):
        points = System(bodies, [joint]).fixed_points
        assert list(points) == ["B"]
        close(points["B"], [0, 0, 1])
    assert System(bodies, [joint, joint]).fixed_points == {}
    assert System(bodies, [joint, Spherical("A", "B", at=(0, 0, 0))]).fixed_points == {}
    assert System(bodies, [Revolute("ground", "A", **AXIS)]).fixed_points == {}


# Directions, with the axis along z, in which a gap shows: of displacements and turns, of velocities and spins. The
# joint frames of both partners are those of the start but for the axes: a turn shows in these only.
GAPS = {
    Fixed: ("xyz", "", "xyz"),
    Spherical: ("xyz", "", ""),
    Revolute: ("xyz", "xy", "xy"),
    Prismatic: ("xy", "xy", "xyz"),
    Cylindrical: ("xy", "xy", "xy"),
    Planar: ("z", "xy", "xy"),
    Universal: ("xyz", "z", "z"),
}


def displaced(kind, shift=(0, 0, 0), turn=(0, 0, 0), velocity=(0, 0, 0), spin=(0, 0, 0), **more):
    """Ground and a body at the joint point whose axes coincide, then moved."""
    place = {"at_a": (0, 0, 0), "at_b": (0, 0, 0)}
    if kind in AXIAL:
        place.update(axis_a=(0, 0, 1), axis_b=(0, 0, 1))
    if kind is Universal:  # the second axis is y at the start: the joint does not hold turns about z and y
        place.update(axis_a=(1, 0, 0), axis_b=(0, 1, 0))
    if kind is Helical:
        more.setdefault("pitch", 2 * np.pi)
    R = rot.matrix_from_rotation_vector(turn)
    body = Body("A", 1, (1, 1, 1), shift, R, velocity, R.T @ spin)
    return System([body], [kind("ground", "A", **place, **more)])


@pytest.mark.parametrize("kind", GAPS)
def test_residuals_are_the_gaps_that_were_made(kind):
    def gap(**changes):
        system = displaced(kind, **changes)
        (found,) = system.residuals().values()
        if max(found) > 1e-9:
            named = problems(system.check_consistent)
            assert all(system.joints[0].label in s and "gd.assemble(system)" in s for s in named)
            assert len(named) == (found[0] > 1e-9) + (found[1] > 1e-9)
        else:
            system.check_consistent()
        return found

    held, leaning, firm = GAPS[kind]
    e = dict(zip("xyz", np.eye(3), strict=True))
    for axis in "xyz":
        along = axis in held
        close(gap(shift=0.1 * e[axis]), (0.1 * along, 0), 1e-12)
        close(gap(velocity=0.1 * e[axis]), (0, 0.1 * along), 1e-12)
        close(gap(turn=0.1 * e[axis]), (0.1 * (axis in leaning), 0), 1e-12)
        close(gap(spin=0.1 * e[axis]), (0, 0.1 * (axis in firm)), 1e-12)


def test_residuals_of_a_screw():
    for spin, shift, velocity in ((0.4, 0.0, 0.4), (0.4, 0.1, 0.1), (-0.2, -0.3, 0.0)):
        system = displaced(Helical, shift=(0, 0, shift), velocity=(0, 0, velocity), spin=(0, 0, spin))
        close(next(iter(system.residuals().values())), (abs(shift), abs(velocity - spin)), 1e-12)
    left = displaced(Helical, velocity=(0, 0, -0.2), spin=(0, 0, 0.4), pitch=-np.pi)
    left.check_consistent()


def test_residuals_of_a_bar():
    def bar(**changes):
        A = Body("A", 1, (1, 1, 1), (3, 4, 0), velocity=(0.3, 0.4, 5))
        joint = Distance("ground", "A", at_a=(0, 0, 0), at_b=(0, 0, 0), **changes)
        return System([A], [joint]).residuals()[joint.label]

    close(bar(), (0, 0.5))
    close(bar(length=4.5), (0.5, 0.5))
    close(bar(length=lambda t: 5 + 0.5 * t), (0, 0), 1e-9)
    close(bar(length=(lambda t: 5 + 0.4 * t, lambda t: 0.4, lambda t: 0.0)), (0, 0.1))


@pytest.mark.parametrize("at", [0.0, 0.3])
@pytest.mark.parametrize("way", ["function", "three functions", "number"])
def test_residuals_of_driven_joints(way, at):
    rate = 0.0 if way == "number" else 2.0
    f = (lambda t: at + np.sin(2 * t)), (lambda t: 2 * np.cos(2 * t)), (lambda t: -4 * np.sin(2 * t))
    drive = {"function": f[0], "three functions": f, "number": at}[way]
    moving = {"velocity": (0, 0, rate), "spin": (0, 0, rate)}
    for kind, motion in (
        (Revolute, {"spin": (0, 0, rate)}),
        (Helical, moving),
        (Prismatic, {"velocity": (0, 0, rate)}),
    ):
        start = {"shift": (0, 0, at)} if kind is Prismatic else {}
        system = displaced(kind, **motion, **start, drive=drive)
        close(next(iter(system.residuals().values())), (0.0 if kind is Prismatic else at, 0.0), 1e-8)
        if at == 0.0 or kind is Prismatic:
            system.check_consistent()
        still = displaced(kind, drive=drive)
        close(next(iter(still.residuals().values())), (at, rate), 1e-8)
        count = (at > 0) + (rate > 0)
        assert not count or len(problems(still.check_consistent)) == count


def test_a_drive_may_begin_at_the_start():
    def ramp(t):
        assert t >= 0
        return 2 * t

    displaced(Revolute, spin=(0, 0, 2), drive=ramp).check_consistent()


def test_full_turns_of_a_drive_are_no_gap():
    displaced(Revolute, drive=-4 * np.pi).check_consistent()
    displaced(Helical, shift=(0, 0, 2 * np.pi), drive=2 * np.pi).check_consistent()


def test_all_gaps_are_told_at_once_and_unnamed_joints_told_apart():
    A = Body("A", 1, (1, 1, 1), angular_velocity=(0, 0, 1), velocity=(0, 0, 1))
    ball = Spherical("ground", "A", at_a=(0, 0, 0), at_b=(0, 0, 2))
    system = System([A], [ball, replace(ball), Fixed("A", "ground", at=(0, 0, 0), name="weld")])
    found = problems(system.check_consistent)
    assert len(found) == 6
    assert sum("joints[1], Spherical('ground', 'A'): position gap" in s for s in found) == 1
    assert sum("Fixed 'weld': velocity gap" in s for s in found) == 2
    assert list(system.residuals()) == [f"joints[{i}], {ball.label}" for i in range(2)] + ["Fixed 'weld'"]


def test_far_from_the_origin_rounding_is_no_gap():
    rng = np.random.default_rng(3)
    for _ in range(50):
        x = 1e6 * rng.normal(size=3)
        A = Body("A", 1, (1, 1, 1), x, rng.normal(size=3), angular_velocity=10 * rng.normal(size=3))
        R = A.matrix
        arm = rng.normal(size=3)
        joint = Revolute("ground", "A", at_a=x + R @ arm, at_b=arm, axis=R @ A.angular_velocity)
        System([A], [joint]).check_consistent()


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        (Revolute, {"axis": (0, 0, 0)}, "axis must not be zero, got (0, 0, 0)"),
        (
            Revolute,
            {"axis": None},
            "axis is missing; give axis in space at the start, or axis_a or axis_b in body axes",
        ),
        (Revolute, {"at": None}, "at is missing"),
        (Revolute, {"at_a": (0, 0, 0)}, "at = (0.3, -0.2, 0.5) and at_a = (0, 0, 0) exclude each other; give at or"),
        (Planar, {"axis_b": (0, 0, 1)}, "and axis_b = (0, 0, 1) exclude each other"),
        (Universal, {"axis2": (1, 2, 0)}, "must be perpendicular, but enclose 41.8103 degrees"),
        (Universal, {"axis2": None}, "axis2 is missing; give axis2 in space at the start, or axis_b in body axes"),
        (Universal, {"axis_a": (1, 0, 0)}, "exclude each other"),
        (Distance, {"to": None}, "to is missing"),
        (Distance, {"at_b": (0, 0, 0)}, "to = (1, 0.5, -0.4) and at_b = (0, 0, 0) exclude each other"),
        (Distance, {"length": 0}, "length must be a positive finite number, got 0"),
        (Distance, {"length": "long"}, "length must be a number, a function of time or three functions (f, f', f'')"),
        (Revolute, {"drive": "fast"}, "drive must be a number, a function of time or three functions"),
        (Revolute, {"drive": (math.sin, math.cos)}, "drive must be a number, a function"),
        (Prismatic, {"drive": math.nan}, "drive = nan is not finite"),
        (Prismatic, {"drive": True}, "drive must be a number"),
        (Helical, {"pitch": 0}, "pitch = 0 is not a screw"),
        (Helical, {"pitch": None}, "pitch must be a number, got None"),
        (Prismatic, {"limits": (1, 1)}, "limits = (1, 1) must increase"),
        (Prismatic, {"limits": (1, "x")}, "limits[1] must be a number, got 'x'"),
        (Prismatic, {"limits": 3}, "limits must be two numbers (lowest, highest) or None, got 3"),
        (Prismatic, {"limits": "ab"}, "limits must be two numbers"),
        (Revolute, {"limits": (-4, 1)}, "limits = (-4.0, 1.0) must lie inside (-pi, pi)"),
        (Revolute, {"stiffness": -1}, "stiffness must not be negative, got -1"),
        (Helical, {"damping": -1}, "damping must not be negative, got -1"),
        (Revolute, {"rest": "x"}, "rest must be a number, got 'x'"),
        (Cylindrical, {"stiffness": (1, -1)}, "stiffness must not be negative"),
        (Cylindrical, {"damping": 2}, "damping = 2 must be a pair (of the angle, of the displacement), or 0"),
        (Cylindrical, {"rest": None}, "rest must be a number or two numbers, got None"),
        (Revolute, {"friction": -1}, "friction must not be negative, got -1"),
        (Prismatic, {"friction": 1, "slip": 0}, "slip must be a positive finite number, got 0"),
        (Fixed, {"name": "ground"}, "name = 'ground' is not a name"),
        (Fixed, {"a": 3}, "a must be the name of a body, got 3"),
    ],
)
def test_joints_refused(kind, changes, words):
    (sentence,) = problems(kind, **{"a": "A", "b": "B", **VALID[kind], **changes})
    assert sentence.startswith(kind.__name__)
    assert words in sentence


def test_all_problems_of_a_joint_at_once():
    found = problems(
        Helical,
        "",
        3,
        at=(0, 0),
        axis=(0, 0, 0),
        pitch=0,
        drive="x",
        stiffness=-1,
        damping=-1,
        friction=-1,
        slip=None,
        rest="",
        limits=3,
        name=2,
    )
    assert len(found) == 13


def test_a_driven_joint_keeps_spring_friction_and_limits():
    joint = Revolute("A", "B", **AXIS, drive=0.5, stiffness=1, damping=2, friction=3, rest=0.1, limits=(-1, 1))
    assert (joint.stiffness, joint.damping, joint.friction, joint.rest) == (1.0, 2.0, 3.0, 0.1)
    assert joint.limits == (-1.0, 1.0)
    assert "friction=3.0, slip=0.01" in repr(joint)
    assert "slip" not in repr(Revolute("A", "B", **AXIS))


@pytest.mark.parametrize("kind", [Fixed, Spherical, Planar, Universal, Cylindrical, Distance])
def test_some_joints_have_nothing_to_drive(kind):
    with pytest.raises(TypeError, match="drive"):
        kind("A", "B", **VALID[kind], drive=0.0)


def nothing(t):
    raise RuntimeError("no data")


@pytest.mark.parametrize(
    ("joint", "words"),
    [
        (Spherical("A", "C", at=(0, 0, 0)), "b = 'C' is unknown; it can be 'ground', 'A', 'B'."),
        (Revolute("AA", "B", **AXIS), "a = 'AA' is unknown; it can be 'ground', 'A', 'B'. Did you mean 'A'?"),
        (Fixed("ground", "ground", at=(0, 0, 0)), "connects 'ground' with itself"),
        (Fixed("A", "A", at=(0, 0, 0)), "connects 'A' with itself; a and b must differ"),
        (Revolute("A", "B", **AXIS, drive=nothing), "drive(t = 0) raises RuntimeError: no data"),
        (Revolute("A", "B", **AXIS, drive=lambda t: math.nan), "drive(t = 0) = nan is not finite"),
        (Prismatic("A", "B", **AXIS, drive=lambda t: "x"), "drive(t = 0) must be a number, got 'x'"),
        (Prismatic("A", "B", **AXIS, drive=(abs, abs, nothing)), "drive[2](t = 0) raises RuntimeError"),
        (Distance("A", "B", **VALID[Distance], length=lambda t: t), "length(t = 0) must be a positive"),
        (Distance("A", "B", **VALID[Distance], length=(nothing, abs, abs)), "length[0](t = 0) raises"),
        (Distance("A", "B", at=(0.1, 0, 0), to=(0.1, 0, 0)), "at and to coincide at the start"),
        (Distance("ground", "A", at=(1, 2, 3), at_b=(0, 0, 0)), "at and to coincide at the start"),
        (Universal("ground", "A", at=(0, 0, 0), axis_a=(1, 0, 0), axis_b=(1, 0, 0)), "but are parallel at the start"),
    ],
)
def test_joints_refused_by_the_system(joint, words):
    bodies = [Body("A", 1, (1, 1, 1), (1, 2, 3)), Body("B", 1, (1, 1, 1))]
    (sentence,) = problems(System, bodies, [Spherical("ground", "A", at=(0, 0, 0)), joint])
    assert sentence.startswith(f"joints[1], {joint.label}: ")
    assert words in sentence


def test_all_problems_of_joints_in_a_system_at_once():
    found = problems(
        System,
        two_bodies(),
        [
            Fixed("A", "A", at=(0, 0, 0)),
            Spherical("C", "D", at=(0, 0, 0)),
            Revolute("A", "B", **AXIS, drive=nothing),
            Distance("A", "B", at=(0, 0, 0), to=(0, 0, 0)),
            Fixed("A", "B", at=(0, 0, 0), name="A"),
        ],
    )
    assert len(found) == 6


def test_a_joint_may_make_a_point_mass_meaningful():
    point = Body("A", 1, (0, 0, 0), (1, 0, 0))
    assert System([point], [Revolute("ground", "A", at=(0, 0, 0), axis=(0, 0, 1))])
    assert System([point], [Prismatic("ground", "A", at=(0, 0, 0), axis=(0, 0, 1))])
    assert "singular" in problems(System, [point], [Spherical("ground", "A", at=(0, 0, 0))])[0]
    assert "singular" in problems(System, [point])[0]


def test_many_unknown_names_are_told_in_short_time():
    bodies = [Body(f"b{i}", 1, (1, 1, 1)) for i in range(300)]
    joints = [Spherical("ground", f"c{i}", at=(0, 0, 0)) for i in range(300)]
    found = problems(System, bodies, joints)
    assert len(found) == 300
    assert "Did you mean" in found[0]
    assert "Did you mean" not in found[-1]
