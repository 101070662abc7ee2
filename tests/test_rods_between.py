"""Ends of rods on points between the ends of other rods: the same as rods in pieces that were joined by hand."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import gyrod as gd
from gyrod import files
from gyrod.equations import compile_system

STIFFNESS = np.diag([40.0, 42.0, 90.0, 0.02, 0.03, 0.025])
STIFFNESS[0, 4] = STIFFNESS[4, 0] = 0.1
STIFFNESS[2, 3] = STIFFNESS[3, 2] = 0.05
MADE = {"density_per_length": 0.1, "rotary_inertia": (1e-4, 1.2e-4, 2e-4)}
BENT, TURNED = (0.4, -0.9, 0.7), ("xyz", (0.3, 1.2, 0.1))
#: Length of the trunk, and where it is joined.
L, AT = 1.2, 0.375
MESHES = {"grid": {}, "elements": {"degree": 3}}


def trunk(name="trunk", *, segments=8, begin=0.0, end=1.0, **given):
    whole = gd.Rod("r", L, 2, initial=gd.Bent(BENT, orientation=TURNED), stiffness=STIFFNESS, **MADE)
    x, q = whole.shape.place(np.array([0.0, begin, 1.0]), L)
    shape = gd.Bent(BENT, x[1], q[1])
    made = {"stiffness": STIFFNESS, **MADE, "degree": None, "start": gd.Free(), "end": gd.Free()} | given
    if made["degree"] is None:
        del made["degree"]
    return gd.Rod(name, (end - begin) * L, round(segments * (end - begin)), initial=shape, **made)


def branch(held, name="branch", at=AT, **given):
    x = trunk().shape.place(np.array([0.0, at, 1.0]), L)[0][1]
    made = {"stiffness": np.diag(np.diag(STIFFNESS)), **MADE} | given
    return gd.Rod(name, 0.4, 4, start=held, initial=gd.Straight(x, (x[0], x[1] + 0.4, x[2])), **made)


def both(kind, *, forces=(), whole_forces=None, **given):
    """A rod that a branch is joined to, and two that are joined with the branch, with the forces on these."""
    one = gd.System(
        rods=[trunk(start=gd.Clamped(), **given), branch(kind("trunk", at=AT), **_mesh(given))],
        forces=forces if whole_forces is None else whole_forces,
    )
    first = trunk("a", end=AT, start=gd.Clamped(), **given)
    halves = [first, trunk("b", begin=AT, start=gd.Clamped("a", "end"), **given)]
    two = gd.System(rods=[*halves, branch(kind("b", at="start"), **_mesh(given))], forces=forces)
    return one, two


def _mesh(given):
    return {key: given[key] for key in ("degree", "strain") if key in given}


KINDS = {
    "hinged": (gd.Hinged, {}),
    "clamped": (gd.Clamped, {}),
    "damped": (gd.Clamped, {"damping": gd.Damping(factor=0.01)}),
    "blended": (gd.Hinged, {"mass": "blended", "inertia": "cylinder", "curvature": "half-tangent"}),
    "elements": (gd.Clamped, {"degree": 3}),
    "hinged to elements": (gd.Hinged, {"degree": 2, "damping": gd.Damping(factor=0.01)}),
    "Kirchhoff": (gd.Hinged, {"strain": "kirchhoff"}),
    "inextensible elements": (gd.Clamped, {"strain": "inextensible", "degree": 2}),
    "stretched": (gd.Clamped, {"rest_stretch": lambda t: 1.01 + t}),
    "bent at rest": (gd.Clamped, {"precurvature": (0.2, 0.0, 1.0), "prestrain": (0, 0, 0.01)}),
}


def same_equations(one, two, formulation, *, jacobian=True):
    one, two = (compile_system(s, formulation) for s in (one, two))
    assert one.kinds == two.kinds
    assert np.abs(one.y0 - two.y0).max() < 1e-13
    y = one.core.project(one.y0 + 0.01 * np.random.default_rng(3).standard_normal(one.size), 0.1)
    f, g = (x.core.rhs(0.1, y) for x in (one, two))
    assert np.abs(f - g).max() < 1e-11 * np.abs(g).max()
    if jacobian:
        J, K = (x.core.jacobian(0.1, y) for x in (one, two))
        assert np.abs(J - K).max() < 1e-8 * np.abs(K).max()
    return one, two, y


@pytest.mark.parametrize("kind", KINDS)
def test_equations_are_those_of_rods_joined_by_hand(kind):
    held, given = KINDS[kind]
    systems = both(held, **given)
    same_equations(*systems, "nullspace-quaternion")
    same_equations(*systems, "absolute-directors", jacobian=False)


def loaded(names):
    """Loads, masses and supports on a rod that is one, or in two pieces."""
    pieces = [(names[0], 0.0, 1.0)] if len(names) == 1 else [(names[0], 0.0, AT), (names[1], AT, 1.0)]

    def on(s):
        return next((name, (s - a) / (b - a)) for name, a, b in pieces if s <= b)

    def point(s):
        name, at = on(s)
        return {"rod": name, "at": at}

    found = [
        gd.RodLoad(**point(0.25), force=(0.1, 0.2, 0.3), moment=(0.01, 0.0, 0.02)),
        gd.RodLoad(**point(0.8), force=lambda t: (t, 0.2, 0.3), follow=True),
        gd.RodLoad(**point(0.9), moment=(0.01, 0.03, 0.02), follow=True),
        gd.PointMass(**point(AT), mass=0.03),
        gd.PointMass(**point(0.7), mass=0.02),
        gd.SpringDamper(
            "ground", point(0.65)["rod"], at_a=(0, 0, 1), at_b=point(0.65)["at"], stiffness=3.0, length=0.1
        ),
        gd.Cable("ground", point(AT)["rod"], at_a=(0, 1, 1), at_b=point(AT)["at"], stiffness=4.0, length=0.2),
        gd.Bushing("branch", point(1.0)["rod"], at_a=1.0, at_b=point(1.0)["at"], stiffness=2.0, damping=0.1),
    ]
    for name, _, _ in pieces:
        found += [
            gd.RodLoad(name, span=(0, 1), force=(0, 0, -0.2), moment=(0.0, 0.1, 0.0)),
            gd.Drag(name, (0.1, 0.2, 0.3), (0.01, 0.01, 0.02)),
            gd.Foundation(name, 3.0, 0.1),
        ]
    x = trunk().point(0.9)
    sphere = gd.SphereObstacle((x[0], x[1], x[2] + 0.1), 0.11, stiffness=100.0, smoothing=0.01)
    return [*found, sphere, gd.RotatingFrame((0.1, 0.2, 0.5))]


@pytest.mark.parametrize("mesh", MESHES)
def test_what_acts_on_the_rod_acts_on_its_pieces(mesh):
    one, two = both(gd.Clamped, forces=loaded(["a", "b"]), whole_forces=loaded(["trunk"]), segments=8, **MESHES[mesh])
    one, two, y = same_equations(one, two, "nullspace-quaternion")
    mine, other = (x.rod_measures(np.array([0.1]), y[None]) for x in (one, two))
    np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mesh", MESHES)
def test_contact_of_the_rod_is_that_of_its_pieces(mesh):
    one, two = both(gd.Clamped, **MESHES[mesh])
    lowest = trunk().positions[:, 2].min()
    floor = gd.Plane((0, 0, lowest + 0.1), (0, 0, 1))
    touch = {"stiffness": 50.0, "smoothing": 0.05, "margin": 0.01}
    one = one.with_(contacts=[gd.Contact("trunk", floor, **touch)])
    two = two.with_(contacts=[gd.Contact(("a", "b"), floor, **touch)])
    one, two = (compile_system(s, at_rest=True) for s in (one, two))
    f, g = (x.core.rhs(0.0, one.y0) for x in (one, two))
    assert np.abs(f).max() > 1.0
    assert np.abs(f - g).max() < 1e-9 * np.abs(g).max()
    assert sum(pair.weights.sum() for pair in one.touching) == pytest.approx(L, rel=1e-12)


def joined(motion, field):
    """What two pieces have at their vertices, as one rod."""
    a, b = (getattr(motion[name], field) for name in "ab")
    return np.concatenate([a, b[..., 1:, :]], axis=-2)


@pytest.mark.parametrize("method", ["variational", "energy-momentum"])
@pytest.mark.parametrize("kind", ["hinged", "hinged to elements", "Kirchhoff"])
def test_constant_steps_are_those_of_rods_joined_by_hand(kind, method):
    held, given = KINDS[kind]
    one, two = (gd.simulate(s, 0.02, method=method, step=1e-3) for s in both(held, **given))
    for motion in (one, two):
        assert motion.status == "finished"
    for field in ("positions", "velocities", "vertex_quaternions"):
        mine, other = getattr(one["trunk"], field), joined(two, field)
        sign = np.sign((mine * other).sum(axis=-1, keepdims=True)) if field == "vertex_quaternions" else 1.0
        assert np.abs(mine - sign * other).max() < 1e-9 * max(1.0, np.abs(other).max())
    assert np.abs(one["branch"].start_force - two["branch"].start_force).max() < 1e-6
    assert np.abs(one.energy.total - two.energy.total).max() < 1e-9


@pytest.mark.parametrize("mesh", MESHES)
def test_readings_are_of_one_rod(mesh):
    sensors = [
        gd.PointSensor("point", "trunk", at=AT, quantity="acceleration"),
        gd.RotationSensor("turning", "trunk", at=AT, quantity="angular acceleration"),
    ]
    one, two = both(gd.Clamped, **MESHES[mesh])
    one = one.with_(sensors=sensors)
    motion, other = (gd.simulate(s, 0.02, method="radau5", rtol=1e-8) for s in (one, two))
    track, rod = motion["trunk"], one.rod("trunk")
    assert set(motion.names) >= {"trunk", "branch"}
    assert track.positions.shape[1:] == (len(rod.fractions), 3)
    assert track.quaternions.shape[1:] == (len(rod.mesh.frames), 4)
    assert track.moment.shape[1:] == (len(rod.mesh.curvatures), 3)
    assert np.abs(track.positions[-1] - joined(other, "positions")[-1]).max() < 1e-8
    assert np.abs(track.end_force).max() == 0.0
    assert np.abs(track.start_force[-1] - other["a"].start_force[-1]).max() < 1e-5
    k, junction = rod.mesh.nearest(AT), motion.compiled.system.junction_bodies
    (name,) = junction
    body = motion[name]
    assert np.abs(track.positions[:, k] - body.position).max() < 1e-14
    assert np.abs(track.velocities[:, k] - body.velocity).max() < 1e-13
    ahead, behind = (motion(t)[name] for t in (0.01 - 1e-5, 0.01 + 1e-5))
    middle = motion(0.01).sensors
    fall = (behind.velocity - ahead.velocity) / 2e-5
    assert np.abs(middle["point"] - fall).max() < 1e-4 * np.abs(fall).max()


def test_the_force_of_a_branch_is_what_the_junction_feels():
    """The section force of the trunk jumps by what holds the branch, and its moment by what clamps it."""
    one, _ = both(gd.Clamped, degree=3)
    rest = gd.equilibrium(one)
    track, n = rest["trunk"], 3 * 3
    weight = MADE["density_per_length"] * 9.81
    assert np.abs(rest["branch"].start_force - (0.0, 0.0, 0.4 * weight)).max() < 1e-8
    forces = track.force_space
    # What the trunk carries before and behind: the weight of all that is beyond.
    s = one.rod("trunk").mesh.strains
    carried = weight * (L * (1.0 - s) + 0.4 * (s < AT))
    assert np.abs(np.abs(forces[:, 2]) - carried).max() < 2e-3 * carried.max()
    assert np.abs(forces[n - 1, 2] - forces[n, 2]) > 0.9 * 0.4 * weight


def test_a_stiff_bushing_is_the_limit():
    one, _ = both(gd.Hinged, degree=3)
    rest = gd.equilibrium(one)
    gaps = []
    for k in (1e4, 1e5):
        free = branch(gd.Free(), degree=3)
        hold = gd.Bushing("trunk", "branch", at_a=AT, at_b=0.0, stiffness=k)
        soft = gd.System(rods=[trunk(start=gd.Clamped(), degree=3), free], forces=[hold])
        held = gd.equilibrium(soft)
        gaps.append(np.abs(held["trunk"].positions[-1] - rest["trunk"].positions[-1]).max())
        gaps[-1] = max(gaps[-1], np.abs(held["branch"].positions[-1] - rest["branch"].positions[-1]).max())
    assert gaps[0] < 1e-3
    assert gaps[1] == pytest.approx(0.1 * gaps[0], rel=0.05)


@pytest.mark.parametrize("mesh", MESHES)
def test_a_free_rod_with_a_branch_keeps_energy_and_momenta(mesh):
    rods = [
        trunk(velocity=(1, 0, 0.5), angular_velocity=(0.5, 3.0, 1.0), **MESHES[mesh]),
        branch(gd.Hinged("trunk", at=AT), stiffness=STIFFNESS, **MESHES[mesh]),
    ]
    system = gd.System(rods=rods, gravity=(0, 0, 0))
    motion = gd.simulate(system, 0.2, method="variational", step=5e-4)
    for momentum in (motion.momentum, motion.angular_momentum):
        assert np.abs(momentum - momentum[0]).max() < 1e-11 * np.abs(momentum).max()
    total = motion.energy.total
    assert np.ptp(total) < 2e-3 * motion.energy.kinetic.max()
    exact = gd.simulate(system, 0.2, method="radau5", rtol=1e-9)
    assert np.ptp(exact.energy.total) < 1e-7 * exact.energy.kinetic.max()
    assert np.abs(motion["branch"].positions[-1] - exact["branch"].positions[-1]).max() < 1e-4


def test_several_rods_at_one_place_and_a_rod_on_itself():
    """Three rods at one vertex, and a rod whose ends are both on the same one."""
    base = gd.Rod("base", 1.0, 10, start=gd.Clamped(), end=gd.Clamped(), stiffness=STIFFNESS, **MADE)
    up = [
        gd.Rod(f"r{k}", 0.3, 4, start=kind("base", at=0.4), initial=gd.Straight((0.4, 0, 0), (0.4, 0.3 * y, -0.3 * z)),
               stiffness=STIFFNESS, **MADE)
        for k, (kind, y, z) in enumerate([(gd.Clamped, 1, 0), (gd.Hinged, 0, 1), (gd.Clamped, -1, 0)])
    ]  # fmt: skip
    rest = gd.equilibrium(gd.System(rods=[base, *up]))
    here = rest["base"].positions[4]
    assert all(np.abs(rest[f"r{k}"].positions[0] - here).max() < 1e-14 for k in range(3))
    arch = gd.Rod(
        "arch", None, 12, start=gd.Clamped("base", at=0.2), end=gd.Hinged("base", at=0.8),
        initial=gd.Curve(lambda s: (0.5 - 0.3 * np.cos(np.pi * s), 0.0, 0.3 * np.sin(np.pi * s))),
        stiffness=STIFFNESS, **MADE,
    )  # fmt: skip
    rest = gd.equilibrium(gd.System(rods=[base, arch]))
    ends = rest["base"].positions[[2, 8]]
    assert np.abs(rest["arch"].positions[[0, -1]] - ends).max() < 1e-14


def test_the_same_from_a_file_a_pickle_and_a_copy():
    one, _ = both(gd.Clamped)
    again = files.loads(files.dumps(one)).system
    assert again == one
    assert pickle.loads(pickle.dumps(one)) == one
    assert again.rod("branch").start.at == 0.375
    compiled = compile_system(one)
    assert np.array_equal(pickle.loads(pickle.dumps(compiled)).y0, compiled.y0)
    finer = one.with_({"rods[0].segments": 16})
    assert finer.rod_points.keys() == {("trunk", 6)}


@pytest.mark.parametrize(("segments", "cells"), [(10, 10), (7, 7)])
def test_a_grid_is_divided_where_a_rod_is_joined(segments, cells):
    system = gd.System(rods=[trunk(segments=segments), branch(gd.Hinged("trunk", at=0.3), at=0.3)])
    rod = system.rod("trunk")
    assert 0.3 in rod.fractions
    assert rod.mesh.cells == cells
    assert bool(system.notes) == (segments == 7)


LINE = {"stiffness": STIFFNESS, **MADE}


def straight(name, a, b, **given):
    return gd.Rod(name, None, given.pop("segments", 4), initial=gd.Straight(a, b), **(LINE | given))


HOSE = straight("hose", (0, 0, 0), (1, 0, 0), start=gd.Clamped())
#: What turns sections along x into such along -y, about.
BACK = gd.rotations.multiply(gd.rotations.exp((0.0, 0.0, np.pi)), gd.rotations.exp((0.5 * np.pi, 0.0, 0.0)))
FAULTS = {
    "outside": (lambda: gd.Hinged("hose", at=1.5), "at = 1.5 must be a fraction of the length, from 0 to 1"),
    "of ground": (lambda: gd.Hinged("ground", at=0.5), "at must be three numbers"),
    "elsewhere": (
        lambda: gd.System(rods=[HOSE, straight("b", (0.5, 0.1, 0), (0.5, 1, 0), start=gd.Hinged("hose", at=0.5))]),
        "but 'hose' has s = 0.5 at (0.5, 0, 0), 0.1 m away; move one of them.",
    ),
    "at another": (
        lambda: gd.System(rods=[HOSE, straight("b", (0.5, 0, 0), (0.5, 1, 0), start=gd.Hinged("hose", at=0.25))]),
        "0.25 m away; move one of them, or give at = 0.5, which lies there.",
    ),
    "left out": (
        lambda: gd.System(rods=[HOSE, straight("b", (0.5, 0, 0), (0.5, 1, 0), start=gd.Hinged("hose"))]),
        "move one of them, or give at = 0.5, which lies there.",
    ),
    "itself": (
        lambda: gd.System(rods=[straight("hose", (0, 0, 0), (1, 0, 0), start=gd.Hinged("hose", at=0.0))]),
        "attaches it to itself",
    ),
    "a body": (
        lambda: gd.System(
            [gd.Body("bob", 1.0, (1, 1, 1))], rods=[straight("b", (0, 0, 0), (1, 0, 0), start=gd.Hinged("bob", at=0.5))]
        ),
        "'bob' is a body, not a rod; at must be a point in its axes, or left out.",
    ),
    "two frames": (
        lambda: gd.System(
            rods=[HOSE, straight("b", (0.5, 0, 0), (0.5, 1, 0), start=gd.Clamped("hose", at=0.5, frame=BACK))]
        ),
        "away; it must be less than a right angle",
    ),
    "a ring": (
        lambda: gd.System(
            rods=[HOSE, straight("b", (0.5, 0, 0), (0.5, 1, 0), start=gd.Hinged("hose", at=0.5))],
            forces=[gd.Clip("hose", 0.75, kind="ring")],
        ),
        "which no ring lets pass; take kind = 'ball', or hold the others to it with a Bushing.",
    ),
    "contact": (
        lambda: gd.System(
            rods=[HOSE, straight("b", (0.5, 0, 0), (0.5, 1, 0), start=gd.Hinged("hose", at=0.5))],
            contacts=[gd.Contact("hose", "hose", stiffness=1e3)],
        ),
        "contact among rods does not know such rods",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_sentences(fault):
    call, sentence = FAULTS[fault]
    with pytest.raises((ValueError, gd.ModelError)) as error:
        call()
    assert sentence in str(error.value)
