"""Contact of rods among themselves: forces, derivatives, momenta, crossed beams, strands side by side, loops, knots."""

from math import cos, pi, radians, sin

import numpy as np
import pytest
from test_links import check_stages, solved
from test_rods_absolute import differences

import gyrod as gd
from gyrod.equations import compile_system

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)
R = 5e-3
LAW = {"stiffness": 1e5, "damping": 0.3}
ROUGH = {**LAW, "friction": gd.Friction(0.3, sticking=False, slip_speed=0.05)}
GRID = {"segments": 8, "discretization": "staggered"}
MESHES = {"grid": GRID, "elements": {"segments": 3, "discretization": "elements", "degree": 3}}


def rod(name, points, **given):
    length = float(np.linalg.norm(np.subtract(*points)))
    options = {"length": length, "section": gd.Circle(R), "material": RUBBER, "initial": gd.Straight(*points)}
    return gd.Rod(name, **{**GRID, **options, **given})


def at_an_angle(degrees, height, law=LAW, **given):
    """Two free rods of 0.3 m whose centre lines are a height apart; the upper one begins beyond the middle."""
    a = radians(degrees)
    along = 0.15 * np.array([cos(a), sin(a), 0.0])
    shift = np.array([0.013, 0.004, height])
    lower = rod("lower", ((-0.15, 0, 0), (0.15, 0, 0)), **given)
    upper = rod("upper", (tuple(shift - along), tuple(shift + along)), **given)
    return gd.System(rods=[lower, upper], contacts=[gd.Contact("lower", "upper", **law)], gravity=(0, 0, 0))


def loop(law=LAW, **given):
    """A rod whose ends cross: it touches itself."""

    def place(s):
        u = 2 * pi * 1.1 * (s - 0.5)
        return 0.08 * sin(u), -0.08 * cos(u), (s - 0.5) * 0.0105

    options = {"segments": 24, "section": gd.Circle(R), "material": RUBBER} | given
    tied = gd.Rod("loop", initial=gd.Curve(position=place), **{"discretization": "staggered", **options})
    return gd.System(rods=[tied], contacts=[gd.Contact("loop", "loop", **law)], gravity=(0, 0, 0))


def held(law=None):
    """Rods on bodies that cross, and one that presses with its end."""
    law = law or ROUGH
    body = gd.Body("body", mass=0.1, inertia=(1e-4,) * 3, position=(0.2, 0, 0))
    lower = rod("lower", ((-0.15, 0, 0), (0.15, 0, 0)), end=gd.Clamped("body"))
    other = gd.Body("other", mass=0.1, inertia=(1e-4,) * 3, position=(0.13, 0.2, 0.0098))
    upper = rod("upper", ((0.13, -0.15, 0.0098), (0.13, 0.15, 0.0098)), end=gd.Hinged("other"))
    blunt = rod("blunt", ((-0.05, 0.0, -0.2), (-0.05, 0.0, -0.0098)))
    contacts = [gd.Contact("lower", ["upper", "blunt"], **law)]
    return gd.System(bodies=[body, other], rods=[lower, upper, blunt], contacts=contacts, gravity=(0, 0, 0))


SYSTEMS = {
    "across": lambda mesh, law=LAW: at_an_angle(70.0, 0.0098, law, **mesh),
    "in between": lambda mesh, law=LAW: at_an_angle(14.0, 0.0097, law, **mesh),
    "side by side": lambda mesh, law=LAW: at_an_angle(3.0, 0.0098, law, **mesh),
    "loop": lambda mesh, law=LAW: loop(law, **({} if mesh is GRID else {**mesh, "segments": 8})),
}


def disturbed(compiled, seed, sizes=None):
    sizes = {"position": 2e-5, "rotation": 1e-2} | (sizes or {})
    kinds = np.array(compiled.kinds)
    y = np.array(compiled.y0)
    y += np.random.default_rng(seed).standard_normal(len(y)) * [sizes.get(kind, 0.3) for kind in kinds]
    return np.asarray(compiled.core.project(y, 0.0))


def contact_energy(compiled, y):
    return compiled.crossing_states(np.zeros(1), y[None])[1][0, :, 0].sum()


def change_by_contact(system, y, compiled):
    """What contact adds to the rates."""
    bare = compile_system(system.with_(contacts=()))
    return np.asarray(compiled.core.rhs(0.0, y)) - np.asarray(bare.core.rhs(0.0, y))


@pytest.mark.parametrize("form", ["nullspace-quaternion", "absolute-quaternion", "nullspace-directors"])
@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("kind", SYSTEMS)
@pytest.mark.parametrize("law", [LAW, ROUGH], ids=["smooth", "rough"])
@pytest.mark.spread(2)
def test_stages_have_the_derivatives_of_contacts(law, kind, mesh, form):
    compiled = compile_system(SYSTEMS[kind](MESHES[mesh], law), form)
    y = disturbed(compiled, 1)
    assert contact_energy(compiled, y) > 1e-9  # something touches
    J = np.asarray(compiled.core.jacobian(0.0, y))
    D = differences(compiled, 0.0, y, range(compiled.size), 1e-7)
    rows = np.abs(D).max(axis=1, keepdims=True) + 1e-7 * np.abs(D).max()
    assert (np.abs(J - D) / rows).max() < 2e-6


@pytest.mark.parametrize("form", ["nullspace-quaternion", "absolute-quaternion"])
def test_stages_of_rods_on_bodies(form):
    """Solutions of stages against differences: what bodies hold feels what touches."""
    compiled = compile_system(held(), form)
    y = disturbed(compiled, 1)
    assert contact_energy(compiled, y) > 1e-9
    check_stages(compiled, y, 2e-6, 3e3, 1e-7)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_transposed_solutions(kind):
    compiled = compile_system(SYSTEMS[kind](GRID, ROUGH))
    y, n = disturbed(compiled, 1), compiled.size
    a, b = np.random.default_rng(2).standard_normal((2, n))
    assert compiled.core.linearise(0.0, y, 300.0)
    x, w = np.asarray(compiled.core.solve(a)), np.asarray(compiled.core.solve_transposed(b))
    assert abs(b @ x - w @ a) < 1e-10 * np.linalg.norm(x) * np.linalg.norm(b)


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("kind", SYSTEMS)
def test_forces_are_the_gradient_of_the_energy(kind, mesh):
    """Masses times what contact adds to accelerations, against differences of its energy, without damping."""
    system = SYSTEMS[kind](MESHES[mesh])
    system = system.with_(contacts=[contact.with_(damping=None) for contact in system.contacts])
    compiled = compile_system(system)
    y = disturbed(compiled, 1)
    change = change_by_contact(system, y, compiled)
    kinds = np.array(compiled.kinds)
    places = np.flatnonzero(kinds == "position")
    speeds = np.flatnonzero(kinds == "velocity")
    h, slope = 1e-7, []
    for i in places:
        z = np.array(y)
        values = []
        for d in (h, -h, 2 * h, -2 * h):
            z[i] = y[i] + d
            values.append(contact_energy(compiled, z))
        slope.append((8 * (values[0] - values[1]) - (values[2] - values[3])) / (12 * h))
    mass = np.concatenate([np.repeat(np.asarray(table["mass"]), 3) for table in compiled.rods])
    force = mass * change[speeds]
    assert np.abs(force + np.array(slope)).max() < 1e-6 * np.abs(force).max()
    assert np.abs(force).max() > 1e-3


@pytest.mark.parametrize("kind", SYSTEMS)
@pytest.mark.parametrize("law", [LAW, ROUGH], ids=["smooth", "rough"])
def test_contacts_make_neither_momentum_nor_spin(law, kind):
    system = SYSTEMS[kind](GRID, law)
    compiled = compile_system(system)
    y = disturbed(compiled, 3)
    change = change_by_contact(system, y, compiled)
    kinds = np.array(compiled.kinds)
    mass = np.concatenate([np.repeat(np.asarray(table["mass"]), 3) for table in compiled.rods])
    force = (mass * change[kinds == "velocity"]).reshape(-1, 3)
    x = y[kinds == "position"].reshape(-1, 3)
    inertia = np.concatenate([np.asarray(table["J"]).reshape(-1, 3) for table in compiled.rods])
    frames = gd.rotations.matrix_from_quaternion(y[kinds == "rotation"].reshape(-1, 4))
    moment = np.einsum("nij,nj->ni", frames, inertia * change[kinds == "spin"].reshape(-1, 3))
    size = np.abs(force).max()
    assert size > 1e-3
    assert (np.abs(moment).max() > 1e-7 * size) == (law is ROUGH)
    assert np.abs(force.sum(axis=0)).max() < 1e-11 * size
    assert np.abs(np.cross(x, force).sum(axis=0) + moment.sum(axis=0)).max() < 1e-11 * size


def test_no_matter_how_they_lie_in_space_or_who_comes_first():
    forward, backward = at_an_angle(14.0, 0.0097), at_an_angle(14.0, 0.0097)
    backward = backward.with_(contacts=[gd.Contact("upper", "lower", **LAW)])
    first, second = (compile_system(system) for system in (forward, backward))
    y = disturbed(first, 1)
    assert np.allclose(first.core.rhs(0.0, y), second.core.rhs(0.0, y), rtol=0, atol=1e-9)
    # what is seen of a state does not depend on what was seen before
    far = np.array(y)
    far[np.array(first.kinds) == "position"] += np.random.default_rng(0).standard_normal((first.size,))[
        np.array(first.kinds) == "position"
    ]
    once = np.array(first.core.rhs(0.0, y))
    first.core.rhs(0.0, far)
    assert np.array_equal(once, first.core.rhs(0.0, y))
    assert np.array_equal(once, compile_system(forward).core.rhs(0.0, y))


@pytest.mark.parametrize(("bend", "spread"), [(5.0, 2e-3), (10.0, 8e-3)])
def test_a_rod_that_slides_across_a_bend_feels_no_vertices(bend, spread):
    """At a constant depth below the arc through the vertices; on the polygon it would feel 0 to 3 times the mean."""
    ds, depth = 0.02, 2e-4
    radius = ds / radians(bend)
    n = 12
    angles = (np.arange(n + 1) - n / 2) * radians(bend)

    def arc(s):
        u = (s - 0.5) * n * radians(bend)
        return radius * sin(u), 0.0, radius * (cos(u) - 1.0)

    bent = rod("bent", ((0, 0, 0), (n * ds, 0, 0)), segments=n, initial=gd.Curve(position=arc))
    forces = []
    for u in np.linspace(angles[4], angles[8], 41):
        out = np.array([sin(u), 0.0, cos(u)])
        middle = radius * out - [0, 0, radius] + (2 * R - depth) * out
        half = np.array([0, 0.1, 0])
        across = rod("across", (tuple(middle - half), tuple(middle + half)), segments=6)
        contact = gd.Contact("bent", "across", stiffness=1e5, smoothing=0.0)
        compiled = compile_system(gd.System(rods=[bent, across], contacts=[contact]))
        forces.append(compiled.crossing_states(np.zeros(1), compiled.y0[None])[0][0][:, 13].sum())
    forces = np.array(forces)
    assert forces.mean() == pytest.approx(1e5 * 2 * R * depth, rel=0.02)
    assert np.ptp(forces) / forces.mean() < spread


@pytest.mark.parametrize(("mesh", "d", "force"), [("grid", 0.002, 0.09507780), ("elements", 0.05, 14.92513001)])
def test_crossed_beams(mesh, d, force):
    """C17: the clamps of the upper one go down by d. By shooting; the depth of the contact is part of d."""
    material = gd.Material(young=1e9, poisson=0.3, density=1000)
    given = {"grid": {"segments": 80}, "elements": {"segments": 12, "discretization": "elements", "degree": 3}}[mesh]
    ends = {"start": gd.Clamped("ground"), "end": gd.Clamped("ground"), "material": material}
    k = 1e9
    depth = force / (k * 2 * R)
    down = d + depth
    lower = rod("lower", ((-0.5, 0, 0), (0.5, 0, 0)), **given, **ends)
    upper = rod("upper", ((0, -0.5, 2 * R), (0, 0.5, 2 * R)), **given, **ends)
    contact = gd.Contact("upper", "lower", stiffness=k, smoothing=0.0, name="x")

    def lowered(y):
        return gd.Clamped("ground", at=lambda t: np.array([0.0, y, 2 * R - down * t]))

    upper = upper.with_(start=lowered(-0.5), end=lowered(0.5))
    system = gd.System(rods=[lower, upper], contacts=[contact], gravity=(0, 0, 0))
    rest = gd.follow(system, "time", (0, 1)).rests[-1]
    assert rest.contacts["x"].normal == pytest.approx(force, rel=5e-3)
    assert rest.contacts["x"].force[2] == pytest.approx(force, rel=5e-3)
    assert len(rest.contacts["x"].pairs) == 1


def test_rods_that_fall_across_each_other_keep_their_energy():
    lower = rod("lower", ((-0.5, 0, 0), (0.5, 0, 0)), segments=20, start=gd.Clamped("ground"), end=gd.Clamped("ground"))
    upper = rod("upper", ((0, -0.25, 0.03), (0, 0.25, 0.03)), segments=10)
    contact = gd.Contact("upper", "lower", stiffness=1e7, name="cross")
    motion = gd.simulate(
        gd.System(rods=[lower, upper], contacts=[contact]), 0.15, rtol=1e-7, output=np.linspace(0, 0.15, 61)
    )
    track = motion.contacts["cross"]
    assert track.normal.max() > 0.1
    assert track.gap.min() > -0.1 * R
    total = motion.energy.total
    assert np.ptp(total) < 2e-6 * np.ptp(motion.energy.kinetic)
    assert np.abs(motion.energy.balance).max() < 5e-6 * np.ptp(motion.energy.kinetic)


def test_friction_without_a_speed_does_not_stop_a_rod_that_hits_another_while_it_slides():
    lower = rod("lower", ((0, 0, 0), (0.6, 0, 0)), segments=10, start=gd.Clamped("ground"), end=gd.Clamped("ground"))
    upper = rod("upper", ((0.3, -0.2, 0.015), (0.3, 0.2, 0.015)), segments=10, velocity=lambda s: (0.1, 0, -0.6))
    places = []
    for given in ({}, {"slip_speed": 0.01}):
        friction = gd.Friction(0.3, sticking=False, **given)
        law = gd.Contact("upper", "lower", stiffness=1e6, damping=0.3, friction=friction)
        motion = gd.simulate(gd.System(rods=[lower, upper], contacts=[law]), 0.08, rtol=1e-4, max_steps=3000)
        places.append(motion["upper"].positions[-1])
    assert np.abs(places[0] - places[1]).max() < 2e-4


def test_strands_lie_on_each_other():
    """Side by side, as many newtons as one of them weighs."""
    hold = {"start": gd.Clamped("ground"), "end": gd.Clamped("ground"), "segments": 16}
    lower = rod(
        "lower", ((-0.2, 0, 0), (0.2, 0, 0)), **hold, material=gd.Material(young=5e9, poisson=0.3, density=1100)
    )
    upper = rod("upper", ((-0.15, 0, 2 * R), (0.15, 0, 2 * R)), segments=12)
    law = {"stiffness": 1e4, "name": "strands"}
    # what would roll off is held in a gutter of two more contacts
    wall = gd.Contact("upper", gd.Plane((0, -R, 0), (0, 1, 0)), stiffness=1e4)
    other = gd.Contact("upper", gd.Plane((0, R, 0), (0, -1, 0)), stiffness=1e4)
    stop = gd.Foundation("upper", stiffness=(1e-3, 1e-3, 0))
    rest = gd.equilibrium(
        gd.System(rods=[lower, upper], contacts=[gd.Contact("upper", "lower", **law), wall, other], forces=[stop])
    )
    weight = 9.81 * 1100 * pi * R**2 * 0.3
    assert rest.contacts["strands"].normal == pytest.approx(weight, rel=1e-3)
    assert rest.contacts["strands"].count >= 20


@pytest.mark.parametrize("until", [0.031, 0.052])
def test_a_run_that_goes_on_from_a_snapshot_is_the_same_to_the_bit(until):
    system = at_an_angle(75.0, 0.014)
    upper = system.rods[1].with_(velocity=lambda s: (0.0, 0.0, -0.3))
    system = system.with_(rods=[system.rods[0], upper])
    whole = gd.stepper(system, method="radau5", rtol=1e-5)
    whole.step(until)
    kept = whole.save()
    whole.step(0.09)
    again = gd.stepper(system, method="radau5", rtol=1e-5)
    again.restore(kept)
    again.step(0.09)
    assert np.array_equal(whole.y, again.y)


STICK = {**LAW, "friction": gd.Friction(0.3, static=0.4, presliding=1e-3, stribeck=0.1)}


def begun(system, form="nullspace-quaternion"):
    """The equations of a system, and a disturbed state in which what touches remembers something."""
    compiled = compile_system(system, form)
    run = gd.stepper(system, formulation=form, method="radau5", rtol=1e-6)
    run.step(1e-6)
    y = np.array(run.y)
    slots = np.flatnonzero(np.array(compiled.kinds) == "friction").reshape(-1, 6)
    held = slots[y[slots[:, 3]] != 0.0]
    rng = np.random.default_rng(1)
    kinds = np.array(compiled.kinds)
    for kind, size in (("position", 2e-5), ("rotation", 1e-2), ("velocity", 0.02), ("spin", 0.3)):
        y[kinds == kind] += size * rng.standard_normal((kinds == kind).sum())
    bristles = held[:, :3].ravel()
    y[bristles] = 0.5 * rng.standard_normal(len(bristles))
    return compiled, np.asarray(compiled.core.project(y, 0.0)), slots


@pytest.mark.parametrize("form", ["nullspace-quaternion", "absolute-quaternion"])
@pytest.mark.parametrize("kind", ["across", "in between", "side by side", "loop"])
@pytest.mark.spread(2)
def test_stages_of_bristles(kind, form):
    """Solutions of stages against differences, with what they remember; slots say whose they are, and stay."""
    compiled, y, slots = begun(SYSTEMS[kind](GRID, STICK), form)
    held = y[slots[:, 3]] != 0.0
    assert held.any()
    assert contact_energy(compiled, y) > 1e-9
    free = np.setdiff1d(np.arange(compiled.size), slots[:, 3:].ravel())
    J = np.zeros((compiled.size, compiled.size))
    J[:, free] = differences(compiled, 0.0, y, free, 1e-7)
    b = np.random.default_rng(4).standard_normal(compiled.size)
    b[slots[~held].ravel()] = 0.0
    for shift in (3e3, 3e4, complex(3e3, 20.0)):
        A, x = shift * np.eye(compiled.size) - J, solved(compiled, y, shift, b)
        size = np.abs(A) @ np.abs(x) + np.abs(b)
        seen = free[size[free] > 0.0]
        assert (np.abs(A @ x - b)[seen] / size[seen]).max() < 2e-6


def test_transposed_solutions_of_bristles():
    compiled, y, _ = begun(at_an_angle(14.0, 0.0097, STICK))
    a, b = np.random.default_rng(2).standard_normal((2, compiled.size))
    assert compiled.core.linearise(0.0, y, 300.0)
    x, w = np.asarray(compiled.core.solve(a)), np.asarray(compiled.core.solve_transposed(b))
    assert abs(b @ x - w @ a) < 1e-10 * np.linalg.norm(x) * np.linalg.norm(b)


def on_rails(slope, friction, backwards=False):
    """A stiff ring that is open on one side, on two rails: four crossings. Gravity is inclined to the rails."""
    hold = {"start": gd.Clamped("ground"), "end": gd.Clamped("ground"), "segments": 8}
    steel = gd.Material(young=5e9, poisson=0.3, density=1100)
    rails = [rod(f"rail {y}", ((-0.1, y, 0), (0.3, y, 0)), **hold, material=steel) for y in (-0.05, 0.05)]

    def round_(s):
        u = radians(30.0 + 300.0 * s)
        return 0.08 * cos(u), 0.08 * sin(u), 2 * R - 1e-5

    damping = gd.Damping(bending=2e-2, torsion=2e-2, shear=10.0, extension=10.0)
    ring = gd.Rod("ring", section=gd.Circle(R), material=steel, segments=24, discretization="staggered",
                  initial=gd.Curve(position=round_), damping=damping)  # fmt: skip
    names = [rail.name for rail in rails]
    law = {"stiffness": 1e5, "damping": 1.0, "friction": friction, "name": "rails"}
    contact = gd.Contact(names, "ring", **law) if backwards else gd.Contact("ring", names, **law)
    g = 9.81 * np.array([sin(slope), 0.0, -cos(slope)])
    return gd.System(rods=[*rails, ring], contacts=[contact], gravity=g)


def test_a_ring_on_rails_sticks_and_does_not_creep():
    system = on_rails(radians(10.0), gd.Friction(0.3, presliding=1e-5))
    motion = gd.simulate(system, 2.0, rtol=1e-4, output=[0.0, 1.0, 1.5, 2.0])
    places = motion["ring"].positions
    assert np.abs(places[3] - places[2]).max() / 0.5 < 1e-12
    assert np.abs(places[3] - places[0]).max() < 1e-4  # where the bristles hold it
    track = motion.contacts["rails"]
    assert track.count[-1] == 4
    weight = 9.81 * system.rods[-1].material.density * pi * R**2 * system.rods[-1].length
    assert track.normal[-1] == pytest.approx(weight * cos(radians(10.0)), rel=1e-3)
    assert np.linalg.norm(track.friction[-1]) == pytest.approx(weight * sin(radians(10.0)), rel=1e-3)


def test_a_ring_on_rails_slides_as_coulomb_says():
    """And it does not matter which of them comes first."""
    slope, mu = radians(30.0), 0.3
    ways = []
    for backwards in (False, True):
        motion = gd.simulate(on_rails(slope, gd.Friction(mu, presliding=1e-6), backwards), 0.25, rtol=1e-5)
        ways.append(motion["ring"].positions[-1] - motion["ring"].positions[0])
    wanted = 0.5 * 9.81 * (sin(slope) - mu * cos(slope)) * 0.25**2
    assert ways[0][:, 0] == pytest.approx(wanted, rel=5e-3)
    assert np.abs(ways[0] - ways[1]).max() < 1e-6


@pytest.mark.parametrize(("slope", "until"), [(10.0, 0.01), (10.0, 0.1), (30.0, 0.05)])
def test_a_run_goes_on_in_the_middle_of_sticking_and_sliding(slope, until):
    system = on_rails(radians(slope), 0.3)
    whole = gd.stepper(system, method="radau5", rtol=1e-4)
    whole.step(until)
    kept = whole.save()
    whole.step(until + 0.1)
    again = gd.stepper(system, method="radau5", rtol=1e-4)
    again.restore(kept)
    again.step(until + 0.1)
    assert np.array_equal(whole.y, again.y)


def test_a_smaller_skin_changes_no_bit():
    """A thin pair far away makes the skin of all smaller, and so the list of what comes near."""
    system = at_an_angle(14.0, 0.0097, ROUGH)
    thin = [rod(name, ((5, y, 0), (5.3, y, 0)), section=gd.Circle(1e-4)) for name, y in (("a", 0.0), ("b", 1.0))]
    more = gd.System(
        rods=[*system.rods, *thin], contacts=[*system.contacts, gd.Contact("a", "b", **LAW)], gravity=(0, 0, 0)
    )
    one, other = compile_system(system), compile_system(more)
    for seed in range(5):
        y = disturbed(one, seed)
        z = np.array(other.y0)
        z[: one.size] = y
        assert contact_energy(one, y) > 1e-9
        assert np.array_equal(one.core.rhs(0.0, y), np.asarray(other.core.rhs(0.0, z))[: one.size])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: gd.Contact("lower", "upper", friction=gd.Friction(0.2, rolling=1e-3), **LAW),
            "friction, rolling = 0.001 is for surfaces and bodies; rods have none",
        ),
        (lambda: gd.Contact("lower", "upper", exponent=1.5, **LAW), "exponent = 1.5 is for bodies and surfaces"),
        (lambda: gd.Contact("lower", "upper", restitution=0.5, stiffness=1e5), "restitution belongs to bodies"),
        (lambda: gd.Contact("lower", "oppper", **LAW), "oppper"),
    ],
)
def test_bad_input(make, sentence):
    system = at_an_angle(70.0, 0.02)
    with pytest.raises(gd.ModelError, match=sentence):
        system.with_(contacts=[make()])


def test_rods_that_begin_inside_each_other_are_refused():
    with pytest.raises(gd.ModelError, match="rod 'lower' starts 7 mm inside of rod 'upper'"):
        gd.simulate(at_an_angle(70.0, 0.003), 0.01)


@pytest.mark.parametrize("method", ["variational", "energy-momentum"])
def test_constant_steps_have_no_contact(method):
    with pytest.raises(ValueError, match="has no contact with friction"):
        gd.simulate(at_an_angle(70.0, 0.02), 0.01, method=method, step=1e-3)
