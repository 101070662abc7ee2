"""Ends of rods on bodies and on one another: where they are held, junctions, and sentences for what cannot be."""

import itertools
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentences import problems, raising, the_problem

from gyrod import rotations as rot
from gyrod.equations.rods import compile_rod
from gyrod.equations.signals import Signals
from gyrod.model import (
    Arc,
    Body,
    Circle,
    Clamped,
    Free,
    Guided,
    Hinged,
    Junction,
    Material,
    ModelError,
    Revolute,
    Rod,
    RodEndPlace,
    RodLoad,
    Spherical,
    Straight,
    System,
)
from gyrod.model.attachments import section_inertia

RUBBER = Material(young=5e6, poisson=0.5, density=1100.0)
Q = np.array([0.5, -0.1, 0.7, 0.5]) / np.linalg.norm([0.5, -0.1, 0.7, 0.5])
ZERO, X, Y, Z = (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)
YAW = rot.exp((0, 0, 0.3))


def rod(name, a=ZERO, b=Y, start=None, end=None, **changes):
    arguments = {"segments": 4, "section": Circle(5e-3), "material": RUBBER, "initial": Straight(a, b)}
    return Rod(name, start=start, end=end, **{**arguments, **changes})


def ring(**changes):
    return rod("ring", initial=Arc(ZERO, X, Y, 1.0, 2 * np.pi), segments=12, **changes)


def body(name="bob", position=(0.3, 1.0, -0.05), **changes):
    return Body(name, mass=0.2, inertia=(1e-4, 2e-4, 2.5e-4), position=position, **changes)


def clamped_section(system, name, e):
    """Point and quaternion of a held end in space, from its place and the start of its host."""
    place = system.rod_ends[name, e]
    if place.host == "ground":
        return place.at, place.frame
    host = system.body(place.host)
    return host.position + host.matrix @ place.at, rot.multiply(host.orientation, place.frame)


def in_place(system):
    """Every end in the mapping lies where the initial shape has it, and so does its frame."""
    whole = system.assembled()
    assert dict(whole.rod_ends) == dict(system.rod_ends)
    for name, e in whole.rod_ends:
        x, p = clamped_section(whole, name, e)
        np.testing.assert_allclose(x, whole.rod(name).positions[-e], atol=1e-12)
        np.testing.assert_allclose(p, whole.rod(name).end_frames[e], atol=1e-14)


# --- on bodies -------------------------------------------------------------------------------------------------------


def test_systems_without_attached_ends_have_none():
    for system in (System(), System([body()], rods=[rod("a", start=Clamped(), end=Guided()), rod("b")])):
        assert dict(system.rod_ends) == {}
        assert (system.junctions, system.junction_bodies, system.point_bodies) == ((), frozenset(), frozenset())
        assert system.assembled() is system


def test_the_example_of_the_readme():
    bob = Body("bob", mass=0.2, inertia=(1e-4, 1e-4, 1e-4), position=(0, 1.0, -0.05))
    system = System([bob], rods=[rod("hose", start=Clamped("ground"), end=Hinged("bob", at=(0, 0, 0.05)))])
    (place,) = system.rod_ends.values()
    assert list(system.rod_ends) == [("hose", 1)]
    assert (place.host, place.at.tolist(), place.clamped) == ("bob", [0, 0, 0.05], False)
    assert system.assembled() is system
    in_place(system)


@pytest.mark.parametrize("kind", [Hinged, Clamped])
@pytest.mark.parametrize("e", [0, 1])
def test_on_a_turned_body(kind, e):
    bob = body(orientation=Q)
    for at in (None, bob.matrix.T @ ((0, e, 0) - bob.position)):
        hose = rod("hose", **{("start", "end")[e]: kind("bob", at=at)})
        system = System([bob], rods=[hose])
        place = system.rod_ends["hose", e]
        assert (place.host, place.clamped) == ("bob", kind is Clamped)
        assert not place.at.flags.writeable
        assert not place.frame.flags.writeable
        in_place(system)


def test_a_given_frame_in_body_axes():
    bob = body(orientation=Q)
    hose = rod("hose")
    wanted = rot.multiply(hose.end_frames[1], rot.exp((0.2, 0.1, -0.3)))
    frame = rot.multiply(rot.conjugate(Q), wanted)
    for form in (frame, -frame, rot.matrix_from_quaternion(frame)):
        system = System([bob], rods=[replace(hose, end=Clamped("bob", frame=form))])
        np.testing.assert_allclose(clamped_section(system, "hose", 1)[1], wanted, atol=1e-14)  # on the rod's side


def test_a_rod_between_two_bodies():
    system = System([body("a"), body("b", orientation=Q)], rods=[rod("hose", start=Clamped("a"), end=Clamped("b"))])
    assert [(key, place.host) for key, place in system.rod_ends.items()] == [(("hose", 0), "a"), (("hose", 1), "b")]
    in_place(system)
    same = System([body("a")], rods=[rod("hose", start=Clamped("a"), end=Hinged("a"))])
    assert [place.host for place in same.rod_ends.values()] == ["a", "a"]


def test_places_are_equal_by_value_and_can_be_pickled():
    system = System([body()], rods=[rod("a", end=Clamped("bob")), rod("b", Y, X, start=Clamped("a", "end"))])
    again = pickle.loads(pickle.dumps(system))
    assert again == system
    assert dict(again.rod_ends) == dict(system.rod_ends)
    place = system.rod_ends["a", 1]
    assert place == RodEndPlace(place.host, place.at, place.frame, True) != replace(place, clamped=False)
    with pytest.raises(TypeError):
        system.rod_ends["a", 1] = place


# --- on rods ---------------------------------------------------------------------------------------------------------


def members(junction):
    return [f"{name}.{('start', 'end')[e]}{'!' if clamped else ''}" for name, e, clamped in junction.members]


def hosts(system):
    return {
        f"{name}.{('start', 'end')[e]}": place.host + ("!" if place.clamped else "")
        for (name, e), place in system.rod_ends.items()
    }


@pytest.mark.parametrize("kind", [Hinged, Clamped])
@pytest.mark.parametrize("at", [None, "end"])
def test_an_end_on_a_free_end(kind, at):
    system = System(rods=[rod("hose"), rod("branch", Y, X, start=kind("hose", at))])
    (junction,) = system.junctions
    name = "joint of hose.end and branch.start"
    mark = "!" if kind is Clamped else ""
    assert (junction.name, junction.held_by, junction.position.tolist()) == (name, None, [0, 1, 0])
    assert members(junction) == [f"hose.end{mark}", f"branch.start{mark}"]
    assert hosts(system) == {"hose.end": name + mark, "branch.start": name + mark}
    assert junction.turns == (kind is Clamped)
    whole = system.assembled()
    assert whole is system.assembled() is whole.assembled()
    assert (whole.names, whole.junctions) == ((name,), ())
    assert [type(joint).__name__ for joint in whole.joints] == ([] if kind is Clamped else ["Translational"])
    assert whole.junction_bodies == {name}
    assert whole.point_bodies == (set() if kind is Clamped else {name})
    in_place(system)


def test_inertia_of_junctions():
    a, b = rod("a", section=Circle(lambda s: 0.01 - 0.005 * s)), rod("b", Y, X, segments=7)
    joined = System(rods=[a, replace(b, start=Clamped("a"))]).assembled().bodies[0]
    expected = np.zeros((3, 3))
    for r, e in ((a, 1), (b, 0)):
        R = rot.matrix_from_quaternion(r.end_frames[e])
        expected += R @ np.diag(r.inertia_at([r.midpoints[-e]])[0, 1:] * r.lengths[-e] / 4) @ R.T
    np.testing.assert_allclose(joined.inertia, expected, rtol=1e-13, atol=1e-24)
    assert joined.mass == 0.0
    assert np.array_equal(joined.inertia, joined.inertia.T)
    loose = System(rods=[a, replace(b, start=Hinged("a"))]).assembled().bodies[0]
    np.testing.assert_allclose(loose.inertia, np.eye(3) * np.trace(expected) / 3, rtol=1e-13)
    partly = System(rods=[a, replace(b, start=Clamped("a")), rod("c", Y, Z, start=Hinged("a"))]).assembled().bodies[0]
    np.testing.assert_array_equal(partly.inertia, joined.inertia)


def test_a_ring():
    for kind in (Clamped, Hinged):
        system = System(rods=[ring(end=kind("ring"))])
        (junction,) = system.junctions
        assert junction.name == "joint of ring.start and ring.end"
        assert junction.turns == (kind is Clamped)
        in_place(system)
        assert System(rods=[ring(start=kind("ring", "end"))]).junctions == (junction,)
        both = System(rods=[ring(start=kind("ring"), end=kind("ring"))])  # each says the same of the other
        assert both.junctions == (junction,)
        assert dict(both.rod_ends) == dict(system.rod_ends)


def test_a_branch_of_three():
    rods = [rod("a"), rod("b", Y, X, start=Clamped("a")), rod("c", Y, Z, start=Clamped("a"))]
    (junction,) = System(rods=rods).junctions
    assert junction.name == "joint of a.end, b.start and c.start"
    assert members(junction) == ["a.end!", "b.start!", "c.start!"]
    chain = [rods[0], rods[1], replace(rods[2], start=Clamped("b"))]  # by way of b: the same
    assert System(rods=chain).junctions == (junction,)
    mixed = [rods[0], rods[1], replace(rods[2], start=Hinged("b"))]
    assert members(System(rods=mixed).junctions[0]) == ["a.end!", "b.start!", "c.start"]
    loose = [replace(r, start=Hinged(r.start.body)) if r.start.attached else r for r in rods]
    assert not System(rods=loose).junctions[0].turns
    for order in itertools.permutations(rods):
        shuffled = System(rods=order)
        assert dict(shuffled.rod_ends).keys() == {("a", 1), ("b", 0), ("c", 0)}
        in_place(shuffled)


def test_two_welds_at_one_point():
    """b is welded to a and d to c; the pairs are hinged to one another: two junctions with a ball joint."""
    rods = [
        rod("a"),
        rod("b", Y, X, start=Clamped("a")),
        rod("c", Y, Z, start=Hinged("a")),
        rod("d", Y, (1, 1, 1), start=Clamped("c", "start")),
    ]
    system = System(rods=rods)
    first, second = system.junctions
    assert (members(first), members(second)) == (["a.end!", "b.start!"], ["c.start!", "d.start!"])
    assert (first.held_by, second.held_by) == (None, first.name)
    (joint,) = system.assembled().joints
    assert isinstance(joint, Spherical)
    assert joint.bodies == (first.name, second.name)
    system.assembled().check_consistent()
    in_place(system)


def test_a_net_names_its_junctions():
    rods = [rod("r0"), *(rod(f"r{k}", Y, (k, 2, 0), start=Hinged("r0", "end")) for k in range(1, 9))]
    (junction,) = System(rods=rods).junctions
    assert junction.name == "joint of r0.end, r1.start, r2.start and 6 more"
    assert len(junction.members) == 9
    taken = System([body(name=junction.name)], rods=rods)
    assert taken.junctions[0].name == f"{junction.name} (2)"


def test_a_grid_of_twelve_rods():
    nodes = {(i, j): (float(i), float(j), 0.0) for i in range(3) for j in range(3)}
    rods = []
    seen = {}
    for a, b in itertools.product(nodes, nodes):
        if (b[0] - a[0], b[1] - a[1]) not in ((1, 0), (0, 1)):
            continue
        name = f"r{len(rods)}"
        ends = {}
        for side, node in (("start", a), ("end", b)):
            ends[side] = Clamped(*seen[node]) if node in seen else Free()
            seen.setdefault(node, (name, side))
        rods.append(rod(name, nodes[a], nodes[b], **ends))
    system = System(rods=rods)
    assert (len(rods), len(system.junctions)) == (12, 9)
    assert sum(len(junction.members) for junction in system.junctions) == 24
    in_place(system)


# --- rods on rods that something holds ---


def pair(a_end, b_start, *bodies, **changes):
    return System(list(bodies), rods=[rod("a", end=a_end), rod("b", Y, X, start=b_start)], **changes)


def test_on_an_end_that_a_body_clamps():
    bob = body(orientation=Q)
    for kind, mark in ((Clamped, "!"), (Hinged, "")):
        system = pair(Clamped("bob"), kind("a"), bob)
        assert hosts(system) == {"a.end": "bob!", "b.start": f"bob{mark}"}
        assert system.assembled() is system
        np.testing.assert_array_equal(system.rod_ends["a", 1].at, system.rod_ends["b", 0].at)
        in_place(system)


def test_on_an_end_that_a_body_hinges():
    system = pair(Hinged("bob"), Hinged("a"), body(orientation=Q))
    assert hosts(system) == {"a.end": "bob", "b.start": "bob"}
    assert system.assembled() is system
    system = pair(Hinged("bob"), Clamped("a"), body(orientation=Q))
    (junction,) = system.junctions
    assert (junction.held_by, members(junction)) == ("bob", ["a.end!", "b.start!"])
    whole = system.assembled()
    (joint,) = whole.joints
    assert joint.bodies == ("bob", junction.name)
    assert whole.names == ("bob", junction.name)
    assert whole.point_bodies == set()
    whole.check_consistent()
    assert whole.residuals()[joint.label][0] < 1e-15
    in_place(system)


def test_welds_on_a_body():
    """c is hinged to what the body clamps, and d is welded to c, not to the body."""
    rods = [
        rod("a", end=Clamped("bob")),
        rod("b", Y, X, start=Clamped("a")),
        rod("c", Y, Z, start=Hinged("b")),
        rod("d", Y, (1, 1, 1), start=Clamped("c", "start")),
    ]
    system = System([body()], rods=rods)
    (junction,) = system.junctions
    assert (junction.held_by, members(junction)) == ("bob", ["c.start!", "d.start!"])
    assert hosts(system) == {
        "a.end": "bob!",
        "b.start": "bob!",
        "c.start": f"{junction.name}!",
        "d.start": f"{junction.name}!",
    }
    in_place(system)


def test_on_an_end_that_ground_holds():
    for kind, mark in ((Clamped, "!"), (Hinged, "")):
        system = pair(Clamped(), kind("a"))
        assert hosts(system) == {"b.start": f"ground{mark}"}  # the end of a is ground's by its own word
        np.testing.assert_array_equal(system.rod_ends["b", 0].at, [0, 1, 0])
        assert type(system.ground_ends["b", 0]) is kind
        assert system.assembled() is system
        in_place(system)
    assert hosts(pair(Hinged(), Hinged("a"))) == {"b.start": "ground"}
    system = pair(Hinged(), Clamped("a"))
    (junction,) = system.junctions
    assert (junction.held_by, members(junction)) == ("ground", ["a.end!", "b.start!"])
    whole = system.assembled()
    assert list(whole.fixed_points) == [junction.name]
    np.testing.assert_array_equal(whole.fixed_points[junction.name], [0, 1, 0])
    whole.check_consistent()
    in_place(system)


def path(t):
    return 0.0, 1.0 + t, 0.0


def speed(t):
    return 0.0, 1.0, 0.0


def test_on_an_end_that_ground_leads():
    q = rod("a").end_frames[1]
    lead = Clamped(at=path, frame=lambda t: rot.multiply(rot.exp((0, 0, t)), -q), velocity=speed)
    system = pair(lead, Clamped("a"))
    end = system.ground_ends["b", 0]
    for t in (0.0, 0.7):
        np.testing.assert_allclose(end.position_at(t), path(t))
        np.testing.assert_allclose(end.velocity_at(t), speed(t))
        expected = rot.multiply(rot.exp((0, 0, t)), system.rod("b").end_frames[0])
        np.testing.assert_allclose(end.frame_at(t), expected, atol=1e-14)
    assert system.rod_ends["b", 0].clamped
    signals = Signals()
    table = compile_rod(system.rod("b"), system, signals)
    assert signals.python
    start = table["start"]
    assert (start.held, start.clamped, start.moves) == (True, True, True)
    now = start.motion(0.7)
    np.testing.assert_allclose(now[:6], [0, 1.7, 0, 0, 1, 0], atol=1e-14)
    np.testing.assert_allclose(rot.rotate(now[9:13], now[13:16]), [0, 0, 1], atol=1e-8)
    hinged = pair(Hinged(at=path, velocity=speed), Hinged("a")).ground_ends["b", 0]
    assert (type(hinged), hinged.at, hinged.velocity) == (Hinged, path, speed)
    only_frame = pair(Clamped(frame=lambda t: rot.multiply(rot.exp((0, 0, t)), q)), Clamped("a")).ground_ends["b", 0]
    np.testing.assert_array_equal(only_frame.at, [0, 1, 0])
    sentence = the_problem(pair, Hinged(at=path), Clamped("a"))
    assert sentence.startswith("Rod 'b': start = Clamped('a') joins rods rigidly at a point that end = Hinged('ground'")
    assert "of rod 'a' leads as a function of time" in sentence


# --- frames of rods on rods ---


def test_frames_between_sections():
    a, b = rod("a"), rod("b", Y, X)
    turn = rot.multiply(rot.conjugate(a.end_frames[1]), b.end_frames[0])
    for frame in (None, turn, -turn, rot.multiply(turn, rot.exp((0.1, 0.2, 0.3)))):
        system = System(rods=[a, replace(b, start=Clamped("a", frame=frame))])
        p = {key: place.frame for key, place in system.rod_ends.items()}
        np.testing.assert_allclose(p["a", 1], a.end_frames[1], atol=1e-15)
        expected = turn if frame is None else frame
        relative = rot.multiply(rot.conjugate(p["a", 1]), p["b", 0])
        assert rot.distance(relative, expected) < 1e-14
        assert p["b", 0] @ b.end_frames[0] > 0.0


def test_a_frame_goes_through_what_hangs_on_it():
    """The body turns the section of a; b is as at the start relative to a, and so turns too."""
    bob = body(orientation=Q)
    a, b = rod("a"), rod("b", Y, X)
    p = rot.multiply(YAW, a.end_frames[1])
    rods = [replace(a, end=Clamped("bob", frame=rot.multiply(rot.conjugate(Q), p))), replace(b, start=Clamped("a"))]
    system = System([bob], rods=rods)
    np.testing.assert_allclose(clamped_section(system, "a", 1)[1], p, atol=1e-14)
    np.testing.assert_allclose(clamped_section(system, "b", 0)[1], rot.multiply(YAW, b.end_frames[0]), atol=1e-14)
    hinged = System([bob], rods=[rods[0], replace(b, start=Hinged("a"))])
    np.testing.assert_allclose(clamped_section(hinged, "b", 0)[1], b.end_frames[0], atol=1e-14)
    ground = System(rods=[replace(a, end=Clamped(frame=p)), replace(b, start=Clamped("a"))])
    np.testing.assert_allclose(ground.rod_ends["b", 0].frame, rot.multiply(YAW, b.end_frames[0]), atol=1e-14)


def test_two_rods_that_hold_each_other():
    a, b = rod("a"), rod("b", Y, X)
    turn = rot.multiply(rot.multiply(rot.conjugate(a.end_frames[1]), b.end_frames[0]), rot.exp((0.1, 0, 0)))
    one = System(rods=[replace(a, end=Clamped("b")), replace(b, start=Clamped("a", frame=turn))])
    other = System(rods=[replace(a, end=Clamped("b", frame=rot.conjugate(turn))), replace(b, start=Clamped("a"))])
    both = System(
        rods=[replace(a, end=Clamped("b", frame=rot.conjugate(turn))), replace(b, start=Clamped("a", frame=turn))]
    )
    for system in (one, other, both):
        p = {key: place.frame for key, place in system.rod_ends.items()}
        assert rot.distance(rot.multiply(rot.conjugate(p["a", 1]), p["b", 0]), turn) < 1e-14
    off = rot.multiply(rot.conjugate(turn), rot.exp((0, 0.01, 0)))
    rods = [replace(a, end=Clamped("b", frame=off)), replace(b, start=Clamped("a", frame=turn))]
    sentence = the_problem(System, rods=rods)
    assert "by 0.572958 degrees; leave its frame out." in sentence
    assert "contradicts what the others say about the same sections" in sentence
    sentence = the_problem(System, rods=[replace(a, end=Clamped("b")), replace(b, start=Hinged("a"))])
    assert sentence == (
        "Rod 'b': start = Hinged('a') contradicts end = Clamped('b') of rod 'a': one clamps what the other hinges; "
        "make both the same, or leave one of them out."
    )


@given(st.permutations(range(5)), st.lists(st.sampled_from([Hinged, Clamped]), min_size=5, max_size=5), st.data())
def test_any_order_and_any_mixture(order, kinds, data):
    """Five rods that start in one point, each on an earlier one or on a body: welds are found whatever the order."""
    bodies = [body(orientation=Q)] if data.draw(st.booleans()) else []
    refers = [None, *(data.draw(st.integers(0, k - 1)) for k in range(1, 5))]
    ends = [kinds[0]("bob") if bodies else Free()]
    ends += [kinds[k](f"r{refers[k]}", "start") for k in range(1, 5)]
    rods = [rod(f"r{k}", Y, (k, 2, k * k), start=ends[k]) for k in range(5)]
    system = System(bodies, rods=[rods[k] for k in order])
    in_place(system)
    whole = system.assembled()
    whole.check_consistent()
    assert set(whole.rod_ends) == {(f"r{k}", 0) for k in range(5)}
    weld = list(range(5))
    for k in range(1, 5):
        if kinds[k] is Clamped:
            weld = [weld[refers[k]] if w == weld[k] else w for w in weld]
    for i, j in itertools.combinations(range(5), 2):
        one, other = (whole.rod_ends[f"r{k}", 0] for k in (i, j))
        together = one.host == other.host and one.clamped and other.clamped
        assert together == (weld[i] == weld[j])
    for k in range(5):  # an end alone in its weld is hinged, unless a body clamps it
        alone = weld.count(weld[k]) == 1 and not (k == 0 and bodies and kinds[0] is Clamped)
        assert whole.rod_ends[f"r{k}", 0].clamped != alone


# --- assembled systems -----------------------------------------------------------------------------------------------


def ramp(t):
    return 0.0, 0.0, -9.81 * t


def test_assembled_systems_are_systems():
    arm = Revolute("ground", "bob", at=ZERO, axis=Z)
    load = RodLoad("b", force=(0, 0, 1))
    system = pair(Hinged("bob"), Clamped("a"), body(), joints=[arm], forces=[load], gravity=ramp)
    whole = system.assembled()
    assert whole != system
    assert (whole.rods, whole.forces, whole.gravity_function) == (system.rods, system.forces, ramp)
    assert whole.joints[:1] == (arm,)
    for copy in (pickle.loads(pickle.dumps(whole)), pickle.loads(pickle.dumps(system)).assembled()):
        assert copy == whole
        assert dict(copy.rod_ends) == dict(whole.rod_ends)
        assert copy.junction_bodies == whole.junction_bodies
    sentence = the_problem(replace, whole, gravity=(0, 0, 0))
    assert "bodies[1] = 'joint of a.end and b.start' is a junction of an assembled system" in sentence
    assert replace(system, gravity=(0, 0, 0)).assembled().gravity_function is None


def test_attachments_of_joints_survive():
    arm = Revolute("ground", "bob", at=ZERO, axis=Z)
    system = pair(Hinged("bob"), Clamped("a"), body(), joints=[arm])
    kept = replace(system, attachments=[system.attachment(arm)])
    whole = kept.assembled()
    assert len(whole.attachments) == 2
    np.testing.assert_array_equal(whole.attachments[1].at_b, 0)
    np.testing.assert_array_equal(whole.attachments[1].at_a, kept.junctions[0].held_at)
    whole.check_consistent()


def test_junctions_move_with_their_rods():
    motion = {"velocity": lambda s: (1, 2, 3), "angular_velocity": lambda s: (0.1, 0.2, 0.3)}
    rods = [rod("a", **motion), rod("b", Y, X, start=Clamped("a"), **motion)]
    (joined,) = System(rods=rods).assembled().bodies
    np.testing.assert_allclose(joined.velocity, [1, 2, 3])
    np.testing.assert_allclose(joined.angular_velocity, [0.1, 0.2, 0.3], atol=1e-15)
    System(rods=rods).check_consistent()
    sentence = the_problem(System(rods=[rods[0], replace(rods[1], velocity=(3, 2, 1))]).check_consistent)
    assert sentence.startswith("Rod 'b': velocity at the start is (3, 2, 1), but 'joint of a.end and b.start'")
    System(rods=[rods[0], rod("b", Y, X, start=Clamped("a"))]).check_consistent()  # at rest: it is taken along


def test_rods_move_with_their_bodies():
    bob = body(velocity=(1, 0, 0), angular_velocity=(0, 0, 2.0), orientation=Q)
    system = System([bob], rods=[rod("a", end=Clamped("bob"))])
    system.check_consistent()
    omega = bob.matrix @ bob.angular_velocity
    v = bob.velocity + np.cross(omega, -bob.position)  # of the point at the origin, where the rod starts
    System([bob], rods=[rod("a", end=Clamped("bob"), velocity=v, angular_velocity=omega)]).check_consistent()
    wrong = System([bob], rods=[rod("a", end=Hinged("bob"), velocity=(0, 0, 1))])
    sentence = the_problem(wrong.check_consistent)
    assert "Rod 'a': velocity at the end is (0, 0, 1), but 'bob', which holds it, moves there with" in sentence
    held = System(rods=[rod("a", end=Clamped()), rod("b", Y, X, start=Hinged("a"), velocity=(0, 0, 1))])
    assert "but 'ground', which holds it, moves there with (0, 0, 0)" in the_problem(held.check_consistent)


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Hinged("bob", at=raising), "Hinged: at = <function raising"),
        (lambda: Clamped("bob", frame=raising), "is for ends on 'ground'; on a body or a rod the end moves with it"),
        (lambda: Hinged("bob", velocity=raising), "Leave velocity out (a joint with drive leads a body)"),
        (lambda: Clamped("bob", angular_velocity=3), "angular_velocity = 3 is for ends on 'ground'"),
        (lambda: Hinged("bob", at=(1, 2)), "Hinged: at must be three numbers, got (1, 2)"),
        (lambda: Hinged("hose", at="End"), "at = 'End' is unknown; it can be 'start', 'end'. Did you mean 'end'?"),
        (lambda: Hinged("ground", at="end"), "at must be three numbers, got 'end'"),
        (lambda: Clamped("bob", frame=(1, 1, 0, 0)), "frame = (1, 1, 0, 0) is a quaternion of norm 1.41421356"),
        (lambda: Hinged(3), "body must be the name of a body, got 3"),
        (lambda: Guided(body="bob"), "Guided: body = 'bob': only ground can hold a frame and leave the position free"),
    ],
)
def test_ends_refused(make, words):
    assert words in the_problem(make)


@pytest.mark.parametrize(
    ("rods", "sentence"),
    [
        (
            [rod("a", end=Hinged("bobs"))],
            "Rod 'a': end.body = 'bobs' is unknown; it can be 'ground', 'bob', 'a'. Did you mean 'bob'?",
        ),
        (
            [rod("a", end=Hinged("bob", at=(0.1, 0, 0)))],
            "Rod 'a': end = Hinged holds at = (0.1, 0, 0) in the axes of 'bob', (0.4, 1, -0.05) in space, but initial "
            "has its end at (0, 1, 0) in space, (-0.3, 0, 0.05) in the axes of 'bob', 0.403113 m away; move one of "
            "them, or leave at out.",
        ),
        (
            [rod("a", start=Hinged("bob", at="end"))],
            "Rod 'a': start = Hinged('bob', at='end'): 'bob' is a body, not a rod; at must be a point in its axes, or "
            "left out.",
        ),
        (
            [rod("a", end=Clamped("bob", frame=(1, 0, 0, 0)))],
            "Rod 'a': end = Clamped on 'bob' with frame = (1, 0, 0, 0) holds the section at (1, 0, 0, 0) in space, but "
            "initial has (0.5, -0.5, -0.5, -0.5) at its end, 120 degrees away; it must be less than a right angle "
            "(d3 is the tangent). Turn one of them, or leave frame out.",
        ),
        (
            [rod("a"), rod("b", X, Z, start=Hinged("a"))],
            "Rod 'b': start = Hinged('a'): initial has this start at (1, 0, 0) in space, but 'a' has its start at "
            "(0, 0, 0), 1 m away and its end at (0, 1, 0), 1.41421 m away; move one of them.",
        ),
        (
            [rod("a"), rod("b", Y, X, start=Hinged("a", "start"))],
            "Rod 'b': start = Hinged('a', at='start'): initial has this start at (0, 1, 0) in space, but 'a' has its "
            "start at (0, 0, 0), 1 m away; move one of them.",
        ),
        (
            [ring(), rod("b", start=Hinged("ring"))],
            "Rod 'b': start = Hinged('ring'): both ends of 'ring' lie there, at (0, 0, 0); say at = 'start' or 'end'.",
        ),
        (
            [rod("a"), rod("b", Y, X, start=Hinged("a", (0, 0, 0)))],
            "Rod 'b': start = Hinged('a', at=(0, 0, 0)): 'a' is a rod; at must be 'start', 'end', a fraction of "
            "its length, or left out.",
        ),
        (
            [rod("a", end=Clamped("a", "end"))],
            "Rod 'a': end = Clamped('a', at='end') attaches it to itself; its other end is at = 'start'.",
        ),
        (
            [rod("a", end=Clamped("a"))],
            "Rod 'a': end = Clamped('a'): initial has this end at (0, 1, 0) in space, but 'a' has its start at "
            "(0, 0, 0), 1 m away; move one of them.",
        ),
        (
            [rod("a", end=Guided()), rod("b", Y, X, start=Clamped("a"))],
            "Rod 'b': start = Clamped('a') refers to an end that is Guided, to which nothing can be attached; make "
            "that one Free or Clamped.",
        ),
        (
            [rod("a", end=Clamped("b", "start")), rod("b", Z, X, start=Clamped())],
            "Rod 'a': end = Clamped('b', at='start'): initial has this end at (0, 1, 0) in space, but 'b' has its "
            "start at (0, 0, 1), 1.41421 m away; move one of them.",
        ),
        (
            [rod("a"), rod("b", Y, X, start=Clamped("a", frame=rot.exp((0, 3.0, 0))))],
            None,
        ),
    ],
)
def test_attachments_refused(rods, sentence):
    found = the_problem(System, [body()], rods=rods)
    if sentence is None:
        assert re.search(r"Rod 'b': start = Clamped on 'a' with frame = .* degrees away; it must be less", found)
    else:
        assert found == sentence


def test_all_problems_at_once():
    rods = [
        rod("a", start=Hinged("bib"), end=Hinged("bob", at=(0, 0, 0))),
        rod("b", Y, X, start=Clamped("a", "end"), end=Clamped("b", "end")),
        rod("c", start=Clamped("b")),
    ]
    found = problems(System, [body()], rods=rods, gravity=(0, 0))
    starts = ["System: gravity", "Rod 'a': start.body", "Rod 'a': end = Hinged holds", "Rod 'b': end", "Rod 'c': start"]
    assert len(found) == len(starts)
    assert all(sentence.startswith(start) for sentence, start in zip(found, starts, strict=True))


def test_slack_is_that_of_held_ends():
    assert System(rods=[rod("a"), rod("b", (0, 1 + 9e-7, 0), (0, 2, 0), start=Hinged("a"))])
    assert "m away" in the_problem(System, rods=[rod("a"), rod("b", (0, 1 + 2e-6, 0), (0, 2, 0), start=Hinged("a"))])
    near = System(rods=[rod("a"), rod("b", (0, 1 + 9e-7, 0), (0, 2, 0), start=Hinged("a"))])
    np.testing.assert_array_equal(
        [clamped_section(near.assembled(), *key)[0] for key in near.rod_ends], [[0, 1, 0]] * 2
    )


def test_many_unknown_hosts_are_told_in_short_time():
    rods = [rod(f"rod {k}", end=Hinged(f"body {k}"), segments=2) for k in range(200)]
    found = problems(System, rods=rods)
    assert len(found) == 200
    assert sum("Did you mean" in sentence for sentence in found) == 20


names = st.sampled_from(["ground", "bob", "a", "b", "c", "x"])
places = st.sampled_from([None, "start", "end", (0, 0, 0), (0.0, 0.0, 0.05), (1, 0, 0)])
frames = st.sampled_from([None, (1, 0, 0, 0), tuple(YAW)])
ends = st.one_of(
    st.builds(Free),
    st.builds(Guided),
    st.tuples(names, places).filter(lambda x: x[0] != "ground" or x[1] is None).map(lambda x: Hinged(*x)),
    st.tuples(names, places, frames)
    .filter(lambda x: x[0] != "ground" or x[1:] == (None, None))
    .map(lambda x: Clamped(*x)),
)


def made_or_error(bodies, rods):
    try:
        return System(bodies, rods=rods)
    except ModelError as error:
        return error


points = st.sampled_from([ZERO, X, Y])


@given(st.lists(st.tuples(points, points, ends, ends), min_size=1, max_size=3))
def test_any_ends_give_a_system_or_sentences(parts):
    rods = [rod(n, a, b, s, e) for n, (a, b, s, e) in zip("abc", parts, strict=False) if a != b]
    system = made_or_error([body()], rods)
    if isinstance(system, ModelError):
        assert all(re.match(r"Rod '[abc]': .*[.?]$", sentence) for sentence in system.problems)
        return
    whole = system.assembled()
    whole.check_consistent()
    for name, e in whole.rod_ends:
        x, _ = clamped_section(whole, name, e)
        np.testing.assert_allclose(x, whole.rod(name).positions[-e], atol=2e-6)
    assert pickle.loads(pickle.dumps(whole)) == whole


def test_junctions_are_told_apart():
    a = Junction("j", np.zeros(3), (("a", 0, True),))
    assert a == Junction("j", np.zeros(3), (("a", 0, True),)) != replace(a, held_by="bob")


# --- the tables of the core ------------------------------------------------------------------------------------------


def table(system, name):
    whole = system.assembled()
    return compile_rod(whole.rod(name), whole, Signals())


def same(one, other, keys):
    for key in keys:
        np.testing.assert_array_equal(one[key], other[key], err_msg=key)


GRID = ("ds", "span", "weight", "CG", "CK", "CX", "mass", "tributary", "off", "G0", "K0")


@pytest.mark.parametrize("kind", [Hinged, Clamped])
def test_an_end_on_a_body_is_held_like_one_on_ground(kind):
    stiffness = np.diag([4.0, 5, 6, 1, 2, 3])
    stiffness[0, 4] = stiffness[4, 0] = 0.5
    changes = {"initial": Arc(ZERO, X, Y, 1.0, 1.0), "stiffness": stiffness}
    load = RodLoad("hose", at=0.97, moment=(1, 2, 3))
    on_ground = table(System(rods=[rod("hose", end=kind(), **changes)], forces=[load]), "hose")
    on_body = table(
        System([body(orientation=Q)], rods=[rod("hose", end=kind("bob"), **changes)], forces=[load]), "hose"
    )
    same(on_ground, on_body, (*GRID, "J"))
    for key in ("start", "end"):
        one, other = on_ground[key], on_body[key]
        assert (one.held, one.clamped) == (other.held, other.clamped)
        np.testing.assert_allclose(one.motion(0.0), other.motion(0.0), atol=1e-14)
        assert not other.moves
    (one,), (other,) = on_ground["loads"], on_body["loads"]
    assert str((one.force, one.moment, one.value(0.0))) == str((other.force, other.moment, other.value(0.0)))


def test_a_free_end_that_others_clamp_is_clamped():
    system = System(rods=[rod("a", start=Clamped()), rod("b", Y, X, start=Clamped("a"))])
    on_ground = table(System(rods=[rod("a", start=Clamped(), end=Clamped())]), "a")
    found = table(system, "a")
    same(on_ground, found, GRID)
    assert (found["end"].held, found["end"].clamped) == (True, True)
    J = on_ground["J"].copy()
    J[-1] *= 0.75
    np.testing.assert_allclose(found["J"], J, rtol=1e-14)
    body_ = system.assembled().bodies[0]
    total = found["J"][-1] + section_inertia(system.rod("a"), len(found["J"]))[0][1]
    np.testing.assert_allclose(total, on_ground["J"][-1], rtol=1e-14)
    assert body_.mass == 0.0
    hinged = table(System(rods=[rod("a"), rod("b", Y, X, start=Hinged("a"))]), "a")
    assert (hinged["end"].held, hinged["end"].clamped) == (True, False)
    np.testing.assert_array_equal(hinged["J"], on_ground["J"])


def test_blended_mass_is_lumped_where_a_body_holds_the_end():
    plain = table(System(rods=[rod("a", mass="blended", start=Hinged())]), "a")
    m = rod("a").inertia_at([0.5])[0, 0] * 0.25
    for kind in (Hinged, Clamped):
        found = table(System([body()], rods=[rod("a", mass="blended", start=Hinged(), end=kind("bob"))]), "a")
        np.testing.assert_allclose(found["off"], [*plain["off"][:3], 0])
        np.testing.assert_allclose(found["mass"][:3], plain["mass"][:3])
        np.testing.assert_allclose(found["mass"][-1], 0.5 * m)
        np.testing.assert_allclose(found["mass"][-2], plain["mass"][-2] + plain["off"][-1])
        np.testing.assert_allclose(np.sum(found["mass"]) + 2 * np.sum(found["off"]), 4 * m)
        np.testing.assert_array_equal(found["tributary"], plain["tributary"])
        assert found["blended"]
    through = System(rods=[rod("a", mass="blended"), rod("b", Y, X, end=Clamped(), start=Clamped("a"), mass="blended")])
    assert table(through, "b")["off"][0] == 0.0
    ground = System(rods=[rod("a", end=Clamped()), rod("b", Y, X, start=Clamped("a"), mass="blended")])
    assert np.all(table(ground, "b")["off"] > 0.0)
    start = table(ground, "b")["start"]
    assert (start.held, start.clamped) == (True, True)
