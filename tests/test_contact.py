"""Contact with surfaces: laws, friction, impacts, statics, against closed forms and trusted values.

The numbers come from closed forms, from boundary value problems solved by collocation and checked by shooting, and from
a discrete rod with return mapping (capstan).
"""

from math import cos, log, radians, sin

import numpy as np
import programs
import pytest
from contact_cases import (
    BEGIN,
    CASES,
    END,
    FLOOR,
    PAGE,
    RUBBER,
    G,
    ball,
    block,
    incline,
    on_floor,
    rod,
    row,
    slid,
    slope,
)

import gyrod as gd
from gyrod.equations import compile_system
from gyrod.model.contacts import impact_damping
from gyrod.motion.contacts import budgets

# --- surfaces ---------------------------------------------------------------------------------------------------------

SURFACES = {
    "plane": gd.geometry.plane((0.3, 0.2, 1.0), 0.1),
    "ball": gd.geometry.ball(0.5),
    "bowl": gd.geometry.ball(1.5, hollow=True),
    "shaft": gd.geometry.cylinder(0.4),
    "pipe": gd.geometry.cylinder(1.4, hollow=True),
    "capsule": gd.geometry.capsule(0.2, 0.6),
    "box": gd.geometry.box((0.6, 0.5, 0.4), rounding=0.05),
    "cylinder": gd.geometry.cylinder(0.4, 0.6, rounding=0.04),
    "cone": gd.geometry.cone(0.4, 0.6),
    "ring": gd.geometry.ring(0.5, 0.1),
    "mesh": gd.geometry.mesh(
        [(0, 0, 0), (0.5, 0, 0), (0, 0.5, 0), (0, 0, 0.5)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    ),
}


@pytest.mark.parametrize("name", SURFACES)
def test_second_derivatives_of_distances_are_those_of_normals(name):
    surface, h = SURFACES[name], 1e-5
    points = np.random.default_rng(3).uniform(-0.9, 0.9, (400, 3))
    points = points[np.abs(surface.nearest(points).distance) < 0.4]
    steps = h * np.eye(3)
    moved = [(surface.nearest(points + d).normal - surface.nearest(points - d).normal) / (2 * h) for d in steps]
    wide = [(surface.nearest(points + 2 * d).normal - surface.nearest(points - 2 * d).normal) / (4 * h) for d in steps]
    slope, other = np.stack(moved, axis=-1), np.stack(wide, axis=-1)
    smooth = np.abs(slope - other).max(axis=(1, 2)) < 1e-5  # both differences on one side of edges and creases
    assert smooth.mean() > 0.8
    assert np.abs(surface.bend(points) - slope)[smooth].max() < 1e-5


def test_height_fields_are_what_they_interpolate():
    x = np.linspace(-1.0, 1.0, 41)
    heights = 0.2 * np.sin(2.0 * x)[:, None] + 0.1 * x[None, :] ** 2
    surface = gd.geometry.height_field(heights, 0.05)
    at = np.random.default_rng(1).uniform(0.3, 1.7, (100, 2))
    f = 0.2 * np.sin(2.0 * (at[:, 0] - 1.0)) + 0.1 * (at[:, 1] - 1.0) ** 2
    on = np.column_stack([at, f])
    assert np.abs(surface.nearest(on).distance).max() < 2e-5
    slope = np.column_stack([-0.4 * np.cos(2.0 * (at[:, 0] - 1.0)), -0.2 * (at[:, 1] - 1.0), np.ones(100)])
    assert np.abs(surface.nearest(on).normal - slope / np.linalg.norm(slope, axis=1)[:, None]).max() < 1e-3


# --- the law ----------------------------------------------------------------------------------------------------------

FRICTIONS = {
    "none": {},
    "sticking": {"friction": gd.Friction(0.3, static=0.4, stribeck=0.1, presliding=1e-4)},
    "slipping": {"friction": gd.Friction(0.3, sticking=False, slip_speed=0.05, rolling=1e-3, spinning=2e-3)},
}


def touching(kind, mesh):
    """A rod that lies on a ball and on the ground, and a box on a ball."""
    lies = rod(points=((0, 0, 0.0049), (1, 0, 0.0049)), **mesh)
    under = ball("under", (0.5, 0, -0.0495), 0.05, 0.1)
    box = gd.Body("box", mass=0.2, inertia=(1e-4, 2e-4, 3e-4), position=(0, 1, 0.0499), shape=gd.Box((0.1, 0.1, 0.1)))
    low = ball("low", (0.04, 1.04, -0.0495), 0.05, 0.1)
    law = {"stiffness": 1e4, "damping": 0.3, "smoothing": 1e-4, **FRICTIONS[kind]}
    contacts = [gd.Contact("rod", "under", **law), gd.Contact("rod", FLOOR, **law), gd.Contact("low", "box", **law)]
    return gd.System(rods=[lies], bodies=[under, box, low], contacts=contacts)


def disturbed(compiled, seed, amount=1.0):
    kinds = np.array(compiled.kinds)
    sizes = {"position": 1e-5, "rotation": 1e-2, "friction": 0.4}
    y = np.array(compiled.y0)
    y += amount * np.random.default_rng(seed).standard_normal(len(y)) * [sizes.get(kind, 0.3) for kind in kinds]
    return np.asarray(compiled.core.project(y, 0.0))


MESHES = {"grid": {}, "elements": {"segments": 2, "discretization": "elements", "degree": 3}}


@pytest.mark.parametrize("form", ["nullspace-quaternion", "absolute-quaternion", "nullspace-directors"])
@pytest.mark.parametrize("kind", FRICTIONS)
@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.spread
def test_stages_have_the_derivatives_of_contacts(form, kind, mesh):
    compiled = compile_system(touching(kind, MESHES[mesh]), form)
    y = disturbed(compiled, 0)
    J, kinds = np.asarray(compiled.core.jacobian(0.0, y)), compiled.kinds

    def change(i, h):
        z = np.array(y)
        z[i] += h
        up = np.asarray(compiled.core.rhs(0.0, z))
        z[i] -= 2 * h
        return up - np.asarray(compiled.core.rhs(0.0, z))

    D = np.empty_like(J)
    for i, kind_of in enumerate(kinds):
        h = 1e-7 if kind_of == "position" else 1e-6
        D[:, i] = (8 * change(i, h) - change(i, 2 * h)) / (12 * h)
    rows = np.abs(D).max(axis=1, keepdims=True) + 1e-7 * np.abs(D).max()
    assert (np.abs(J - D) / rows).max() < 2e-6


@pytest.mark.parametrize("form", ["nullspace-quaternion", "absolute-quaternion", "euler"])
@pytest.mark.parametrize("kind", FRICTIONS)
@pytest.mark.spread
def test_who_feels_whom_follows_what_touches(kind, form):
    """Eight balls about to touch, one of which holds a rod: in each state others do, and stages know of these alone."""
    places = [np.array([i, j, k]) * 0.1003 for i in range(2) for j in range(2) for k in range(2)]
    bodies = [ball(f"b{n}", x, 0.05, 0.1) for n, x in enumerate(places)]
    tail = rod(
        "tail",
        points=((-0.03, 0, -0.04), (-0.18, 0, -0.24)),
        length=None,
        segments=3,
        start=gd.Clamped("b0", at=(-0.03, 0, -0.04)),
    )
    law = {"stiffness": 1e4, "damping": 0.3, "smoothing": 1e-4, **FRICTIONS[kind]}
    system = gd.System(bodies, rods=[tail], contacts=[gd.Contact("all", [b.name for b in bodies], **law)])
    used, kinds, rng = (
        compile_system(system, form),
        np.array(compile_system(system, form).kinds),
        np.random.default_rng(5),
    )
    sizes, seen = {"position": 3e-4, "rotation": 1e-2, "friction": 0.4}, set()
    for _ in range(4):
        y = used.y0 + rng.standard_normal(used.size) * [sizes.get(kind, 0.3) for kind in kinds]
        y = np.asarray(used.core.project(y, 0.0))
        rows, _ = used.contact_states(range(len(used.touching)), np.zeros(1), y)
        seen.add(tuple(k for k, r in enumerate(rows) if r[0, :, 13].any()))
        J = np.asarray(used.core.jacobian(0.0, y))
        again = np.asarray(compile_system(system, form).core.jacobian(0.0, y))
        np.testing.assert_array_equal(J, again)  # whatever touched before
        b = rng.standard_normal(used.size)
        for i in np.flatnonzero(kinds == "position")[:6]:
            h, z = 1e-8, np.array(y)
            z[i] += h
            up = np.asarray(used.core.rhs(0.0, z))
            z[i] -= 2 * h
            slope = (up - np.asarray(used.core.rhs(0.0, z))) / (2 * h)
            assert np.abs(J[:, i] - slope).max() < 1e-5 * np.abs(slope).max() + 1e-6 * np.abs(J).max()
        assert used.core.linearise(0.0, y, 300.0)
        x = np.asarray(used.core.solve(b))
        assert np.abs(300.0 * x - J @ x - b).max() < 1e-9 * np.abs(J).max() * np.abs(x).max()
    assert len(seen) > 2


@pytest.mark.parametrize("kind", FRICTIONS)
def test_transposed_solutions_with_contacts(kind):
    compiled = compile_system(touching(kind, {}))
    y, n = disturbed(compiled, 1), compiled.size
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal(n), rng.standard_normal(n)
    assert compiled.core.linearise(0.0, y, 300.0)
    x, w = np.asarray(compiled.core.solve(a)), np.asarray(compiled.core.solve_transposed(b))
    assert abs(b @ x - w @ a) < 1e-10 * np.linalg.norm(x) * np.linalg.norm(b)


@pytest.mark.parametrize("kind", FRICTIONS)
def test_contacts_make_neither_momentum_nor_spin(kind):
    """Between bodies alone: all forces are inner ones."""
    whole = touching(kind, {})
    system = gd.System(bodies=whole.bodies[1:], contacts=whole.contacts[2:], gravity=(0, 0, 0))
    compiled = compile_system(system)
    y = disturbed(compiled, 4)
    x, R, _, Omega = (part[0] for part in compiled.motions(y[None]))
    a = compiled.accelerations(0.0, y)
    force, torque = np.zeros(3), np.zeros(3)
    for i, body in enumerate(system.bodies):
        J, f = body.inertia, body.mass * a[i, :3]
        force += f
        torque += np.cross(x[i], f) + R[i] @ (J @ a[i, 3:] + np.cross(Omega[i], J @ Omega[i]))
    size = max(np.abs(body.mass * a[i, :3]).max() for i, body in enumerate(system.bodies))
    assert size > 1e-3  # something touches
    assert np.abs(force).max() < 1e-12 * size
    assert np.abs(torque).max() < 1e-11 * size


SPACE = {
    "plane": gd.Plane((0, 0, -0.1), (0.3, 0.2, 1.0)),
    "shaft": gd.Shaft(0.4, axis=(0.2, 1, 0.1)),
    "pipe": gd.Pipe(0.6, axis=(0.2, 1, 0.1)),
    "bowl": gd.Bowl(0.6),
    "eyelet": gd.Eyelet(0.5, 0.1, axis=(0.1, 0, 1)),
    "ball": gd.Sphere(0.5),
    "box": gd.Box((0.6, 0.5, 0.4), orientation=(0.1, 0.2, 0.3)),
    "capsule": gd.Capsule(0.3, 0.6),
    "cylinder": gd.Cylinder(0.4, 0.6),
    "cone": gd.Cone(0.4, 0.6),
}


@pytest.mark.parametrize("exponent", [1.0, 1.5])
@pytest.mark.parametrize("name", SPACE)
@pytest.mark.spread
def test_forces_of_surfaces_are_the_gradient_of_their_energy(name, exponent):
    system = gd.System(
        bodies=[ball(radius=0.05)], gravity=(0, 0, 0),
        contacts=[gd.Contact("ball", SPACE[name], stiffness=1e3, exponent=exponent, smoothing=0.02, name="c")],
    )  # fmt: skip
    compiled, rng, seen, h = compile_system(system, started=True), np.random.default_rng(7), 0, 1e-5
    at = [i for i, kind in enumerate(compiled.kinds) if kind == "position"]
    for place in rng.uniform(-0.7, 0.7, (200, 3)):
        y = np.array(compiled.y0)
        y[at], y[at[-1] + 1 :][-6:] = place, 0.0
        moved = np.repeat(y[None], 13, axis=0)
        for i in range(3):
            for k, step in enumerate((h, -h, 2 * h, -2 * h)):
                moved[1 + 4 * i + k, at[i]] += step
        energy, *E = budgets(compiled, np.zeros(13), moved)[:, 0]
        E = np.reshape(E, (3, 4))
        near, wide = (E[:, 0] - E[:, 1]) / (2 * h), (E[:, 2] - E[:, 3]) / (4 * h)
        slope = (4 * near - wide) / 3
        force = compiled.accelerations(0.0, y)[0, :3]
        size = np.abs(force).max()
        if 0.0 < energy < 20.0 and np.abs(slope - wide).max() < 1e-5 * size:  # all differences on one side of an edge
            seen += 1
            np.testing.assert_allclose(force, -slope, atol=2e-7 * size + 1e-9)
    assert seen > 5


@pytest.mark.parametrize("kind", FRICTIONS)
def test_a_rigid_motion_of_all_changes_nothing(kind):
    """A box on a ball and a rod on another one, here and there."""
    whole, none = touching(kind, {}), (0, 0, 0)
    contacts = [whole.contacts[0], whole.contacts[2]]
    if kind == "slipping":  # the speed of rolling follows from the size of the box about all that is there
        contacts = [c.with_(friction=gd.Friction(0.3, sticking=False, slip_speed=0.05)) for c in contacts]
    p = gd.rotations.exp(np.array([0.4, -0.7, 1.1]))
    R, shift = gd.rotations.matrix_from_quaternion(p), np.array([0.3, -0.2, 0.5])
    here = gd.System(whole.bodies, rods=whole.rods, contacts=contacts, gravity=none)
    multiply, (lies,) = gd.rotations.multiply, whole.rods
    bodies = [b.with_(position=shift + R @ b.position, orientation=multiply(p, b.orientation)) for b in whole.bodies]
    line = gd.Straight(*(shift + R @ x for x in ((0, 0, 0.0049), (1, 0, 0.0049))))
    there = gd.System(bodies, rods=[lies.with_(initial=line)], contacts=contacts, gravity=none)
    one, other = (gd.simulate(x, 2e-3, method="radau5", rtol=1e-10) for x in (here, there))
    assert one.energy.contact.max() > 1e-6
    for name in ("under", "box", "low"):
        np.testing.assert_allclose(shift + one[name].position[-1] @ R.T, other[name].position[-1], atol=1e-10)
        np.testing.assert_allclose(R @ one[name].matrix[-1], other[name].matrix[-1], atol=1e-9)
    np.testing.assert_allclose(shift + one["rod"].positions[-1] @ R.T, other["rod"].positions[-1], atol=1e-10)


@pytest.mark.parametrize("kind", ["sticking", "bouncing"])
def test_what_was_near_before_changes_no_bit(kind):
    """Rates and derivatives of a state are those of equations that have seen no other, wherever bodies were."""
    law = {"sticking": {"damping": 0.3, "friction": 0.4}, "bouncing": {"restitution": 0.5}}[kind]
    bodies = [ball(f"b{n}", (0.11 * (n % 3), 0.11 * (n // 3), 0.0), 0.05, 0.1) for n in range(9)]
    bodies.append(gd.Body("box", 0.1, (1e-4,) * 3, position=(0.11, 0.11, 0.1), shape=gd.Box((0.2, 0.1, 0.05))))
    system = gd.System(bodies, contacts=[gd.Contact("all", "all", stiffness=1e4, **law)])
    used, rng, touched = compile_system(system), np.random.default_rng(7), set()
    kinds = np.array(used.kinds)
    for jump in (1e-3, 0.05, 1e-3, 0.4, 0.02):
        y = used.y0 + jump * rng.standard_normal(used.size) * (kinds == "position")
        y[kinds == "friction"] = rng.uniform(0.0, 0.4, (kinds == "friction").sum())
        fresh = compile_system(system)
        np.testing.assert_array_equal(used.core.rhs(0.0, y), fresh.core.rhs(0.0, y))
        np.testing.assert_array_equal(used.core.jacobian(0.0, y), fresh.core.jacobian(0.0, y))
        rows, _ = used.contact_states(range(len(used.touching)), np.zeros(1), y)
        touched.add(tuple(k for k, r in enumerate(rows) if r[0, :, 13].any()))
    assert len(touched) > 2


@pytest.mark.parametrize("spin", [0.0, 300.0])
def test_bodies_that_come_from_far_away_do_not_pass_each_other(spin):
    """Two of many small balls, far apart and fast, exchange their velocities; the others stay where they are."""
    fast = [ball("left", (-0.5, 0, 0), 1e-3, 1e-3, velocity=(40, 0, 0), angular_velocity=(spin, 0, 0))]
    fast += [ball("right", (0.5, 0, 0), 1e-3, 1e-3, velocity=(-40, 0, 0), angular_velocity=(spin, 0, 0))]
    others = [ball(f"b{n}", (0.1 * n, 0.3, 0), 1e-3, 1e-3) for n in range(20)]
    law = gd.Contact("all", "all", stiffness=1e9, restitution=1.0)
    motion = gd.simulate(gd.System([*fast, *others], contacts=[law], gravity=(0, 0, 0)), 0.02, rtol=1e-7)
    np.testing.assert_allclose(motion["left"].velocity[-1], (-40, 0, 0), atol=0.05)
    np.testing.assert_allclose(motion["right"].velocity[-1], (40, 0, 0), atol=0.05)
    assert not motion["b7"].velocity.any()


def test_pairs_that_are_near_are_found():
    rows = programs.linked("tests/cpp/search.cpp")
    near, given, found, in_order, beyond = np.array(rows, dtype=int).T
    assert len(rows) == 600
    assert near.sum() > 1000
    np.testing.assert_array_equal(found, near)
    assert given.sum() < 6 * near.sum()  # of 60 balls there are 1,770 pairs
    assert in_order.all()
    assert beyond.all()


def test_the_damping_of_impacts():
    for e, chi in {0.3: 3.087081981129624, 0.5: 1.432750533271375, 0.8: 0.37314620336505366}.items():
        assert impact_damping(e) == pytest.approx(chi, rel=1e-12)
        assert chi * (1 + e) == pytest.approx(log((1 + chi) / (1 - e * chi)), rel=1e-12)
    assert impact_damping(1.0) == 0.0


# --- trusted values ---------------------------------------------------------------------------------------------------


def table():
    """What docs/contact.md says each case is off by; its rows are those of the cases."""
    text = PAGE.read_text(encoding="utf-8")
    rows = text[text.index(BEGIN) + len(BEGIN) : text.index(END)].split("\n")[4:-2]
    errors = [line.split(" | ")[-2] for line in rows]
    assert rows == [row(name, error) for name, error in zip(CASES, errors, strict=True)]
    return dict(zip(CASES, map(float, errors), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_trusted_values_are_met(name):
    """As docs/contact.md says: `python tests/contact_cases.py` writes its table."""
    error, case = table()[name], CASES[name]
    assert case.run() < min(case.meet, max(3.0 * error, 1e-8))


def test_friction_without_memory_creeps_as_its_law_says():
    angle = np.tan(radians(20.0))
    motion = slope(gd.Friction(0.5, sticking=False, slip_speed=1e-6), rtol=1e-6)
    creep = slid(motion) - slid(slope(gd.Friction(0.5, sticking=False, slip_speed=1e-6), t_end=1.0, rtol=1e-6))
    assert creep == pytest.approx(1e-6 * angle / np.sqrt(0.25 - angle**2), rel=1e-2)


# --- bodies -----------------------------------------------------------------------------------------------------------


def test_a_ball_that_bounces_comes_to_rest():
    floor = gd.Contact("ball", FLOOR, stiffness=1e7, restitution=0.8, name="floor")
    motion = gd.simulate(gd.System(bodies=[ball(position=(0, 0, 1.1))], contacts=[floor]), 4.5, rtol=1e-6)
    z = motion["ball"].position[:, 2] - 0.1
    top = [z[i] for i in range(1, len(z) - 1) if z[i] > z[i - 1] and z[i] >= z[i + 1]]
    fine = motion(np.linspace(0.0, 3.0, 6001))["ball"].position[:, 2] - 0.1
    peaks = [fine[i] for i in range(1, 6000) if fine[i] > fine[i - 1] and fine[i] >= fine[i + 1] and fine[i] > 0.09]
    assert len(top) > 10
    np.testing.assert_allclose(peaks[:5], [0.64, 0.4096, 0.262144, 0.16777216, 0.1073741824], rtol=1e-2)
    assert abs(motion["ball"].velocity[-1, 2]) < 1e-5
    assert motion.contacts["floor"].normal[-1] == pytest.approx(G, rel=1e-3)


def test_a_stuck_box_turns_with_its_tray():
    """Friction is remembered in the axes of the surface: nothing slips when both turn."""
    tray = gd.Body("tray", mass=1.0, inertia=(1, 1, 1), position=(0, 0, -0.05), shape=gd.Box((1, 1, 0.1)))
    box = gd.Body("box", mass=0.1, inertia=(1e-4,) * 3, position=(0.05, 0, 0.05 - 2.5e-6), shape=gd.Box((0.1,) * 3))
    turn = gd.Revolute("ground", "tray", at=(0, 0, 0), axis=(0, 0, 1), drive=gd.Expression("0.5*t^2"))
    grip = gd.Contact("box", "tray", stiffness=1e5, damping=1.0, friction=gd.Friction(0.6, presliding=1e-6))
    motion = gd.simulate(gd.System(bodies=[tray, box], joints=[turn], contacts=[grip]), 1.5, rtol=1e-6)
    seen = np.einsum("tij,ti->tj", motion["tray"].matrix, motion["box"].position)
    assert np.linalg.norm(seen[-1, :2] - seen[0, :2]) < 1e-5
    assert motion["box"].position[-1, 1] > 0.04


def test_a_block_topples():
    """At 14.04 degrees for a foot of 0.1 and a height of 0.4 m: corners of a mesh are not rounded."""
    corners = np.array([(x, y, z) for x in (-0.05, 0.05) for y in (-0.05, 0.05) for z in (-0.2, 0.2)])
    faces = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1)]
    faces += [(2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]

    def lean(degrees, stiffness=1e6):
        normal, along = incline(degrees)
        down = G * np.array([cos(radians(degrees)), 2.0 * 0.2 / 0.1 * sin(radians(degrees))])  # on corners, and apart
        tilt = 0.5 * down[1] / stiffness / 0.1
        axes = np.array([along + tilt * normal, [0, 1, 0], normal - tilt * along]).T
        block = gd.Body(
            "block", mass=1.0, inertia=(0.17 / 12, 0.17 / 12, 0.02 / 12), shape=gd.Mesh(corners, faces),
            position=0.2 * axes[:, 2] - down[0] / 4 / stiffness * normal,
            orientation=gd.rotations.quaternion_from_matrix(axes),
        )  # fmt: skip
        slope = gd.Plane((0, 0, 0), normal)
        contact = gd.Contact("block", slope, stiffness=stiffness, damping=1.0, friction=gd.Friction(0.5))
        motion = gd.simulate(gd.System(bodies=[block], contacts=[contact]), 1.5, rtol=1e-6)
        return motion["block"].matrix[-1, :, 2] @ normal

    assert lean(13.9) > cos(radians(0.1))
    assert lean(14.2) < 0.1


# --- rods -------------------------------------------------------------------------------------------------------------


def test_elements_lie_down_too():
    rest = gd.equilibrium(on_floor(0.5, 1e5, segments=12, discretization="elements", degree=3))
    assert np.abs(rest["rod"].start_moment).max() == pytest.approx(1.0, rel=5e-3)


@pytest.mark.parametrize(("form", "method"), [("nullspace-quaternion", "rodas"), ("absolute-directors", "radau5")])
def test_a_rod_that_falls_keeps_its_energy(form, method):
    falls = rod(points=((0, 0, 0.03), (cos(0.1), 0, 0.03 + sin(0.1))), segments=8, damping=gd.Damping(bending=1e-4))
    floor = gd.Contact("rod", FLOOR, stiffness=1e4, smoothing=1e-3, damping=0.5, friction=0.3, name="floor")
    system = gd.System(rods=[falls], contacts=[floor])
    motion = gd.simulate(system, 0.25, formulation=form, method=method, rtol=1e-6)
    assert motion.contacts["floor"].gap.min() < 0.0
    assert motion.energy.dissipated[-1] > 1e-4
    assert np.abs(motion.energy.balance).max() < 1e-5


@pytest.mark.parametrize(("depth", "force"), [(0.002, 0.09507780072574173), (0.05, 14.92513001246578)])
@pytest.mark.parametrize("mesh", [{"segments": 80}, {"segments": 10, "discretization": "elements", "degree": 3}])
def test_crossed_beams(depth, force, mesh):
    """Two equal beams press each other by half of the way each: one of them against a shaft. By shooting."""

    def led(x):
        return gd.Clamped("ground", at=gd.ExpressionVector((f"{x}", "0", f"0.01-{depth / 2}*t")))

    beam = rod(
        points=((-0.5, 0, 0.01), (0.5, 0, 0.01)), start=led(-0.5), end=led(0.5),
        material=gd.Material(young=1e9, poisson=0.3, density=1000), **mesh,
    )  # fmt: skip
    shaft = gd.Contact("rod", gd.Shaft(5e-3, axis=(0, 1, 0)), stiffness=1e9, smoothing=0.0, name="shaft")
    rest = gd.follow(gd.System(rods=[beam], gravity=(0, 0, 0), contacts=[shaft]), "time").rests[-1]
    assert rest.motion.contacts["shaft"].normal == pytest.approx(force, rel=5e-3)


def test_steps_before_a_touch_do_not_halve_for_ever():
    """A rod that has no radius, so that no depth is small beside it."""
    line = {"stiffness": (1e3,) * 3 + (1.0,) * 3, "density_per_length": 0.1, "rotary_inertia": (1e-6,) * 3}
    falls = gd.Rod("rod", 1.0, 8, discretization="staggered", initial=gd.Straight((0, 0, 0.01), (1, 0, 0.011)), **line)
    system = gd.System(rods=[falls], contacts=[gd.Contact("rod", FLOOR, stiffness=1e5, damping=1.0, name="floor")])
    motion = gd.simulate(system, 0.1, rtol=1e-4, max_steps=2000)
    assert motion.contacts["floor"].gap.min() < 0.0


def test_a_rod_that_is_dragged_to_and_fro_has_a_loop_that_closes():
    q = 0.85
    drags = gd.Rod(
        "rod", length=1.0, segments=6, discretization="staggered", stiffness=(1e3,) * 3 + (1e-3,) * 3,
        density_per_length=q / G, rotary_inertia=(1e-6,) * 3, initial=gd.Straight((0, 0, 0), (1, 0, 0)),
        end=gd.Hinged("ground", at=gd.ExpressionVector(("1+0.01*(1-abs(1-abs(2-t)))", "0", "0"))),
    )  # fmt: skip
    floor = gd.Contact("rod", FLOOR, stiffness=1e4, damping=1.0, friction=gd.Friction(0.5, presliding=1e-4))
    path = gd.follow(gd.System(rods=[drags], contacts=[floor]), "time", (0.0, 4.0), increments=40)
    pulls = np.array([r["rod"].end_force[0] for r in path.rests])
    normal = float(path.rests[5].contacts["rod, Plane"].normal)
    assert pulls[5:11] == pytest.approx(0.5 * normal, rel=1e-6)
    assert pulls[15] == pytest.approx(-pulls[5], rel=2e-2)  # the end vertex hangs a little lower
    np.testing.assert_allclose(pulls[21:], pulls[1:21], rtol=1e-9)


def test_what_rests_stays_there():
    """The bristles of a rest carry over into the motion that starts from it."""
    normal, along = incline(10.0)
    lies = rod(points=(normal * 5e-3, normal * 5e-3 + along), segments=6)
    slope = gd.Contact("rod", gd.Plane((0, 0, 0), normal), stiffness=1e5, friction=gd.Friction(0.5, presliding=1e-5))
    rest = gd.equilibrium(gd.System(rods=[lies], contacts=[slope]))
    motion = gd.simulate(rest, 0.5)
    assert np.abs(motion["rod"].positions - motion["rod"].positions[0]).max() < 1e-9


def test_modes_of_a_ball_that_lies():
    """Up and down λ² + c g λ + k/m = 0; along the bristles with the mass that is felt at the point of contact."""
    mass, k, c, mu, z0, r = 0.2, 2e3, 0.3, 0.3, 5e-4, 0.05
    lying = ball(position=(0, 0, r), radius=r, mass=mass)
    floor = gd.Contact("ball", FLOOR, stiffness=k, damping=c, friction=gd.Friction(mu, presliding=z0))
    found = gd.modes(gd.System([lying], contacts=[floor]), n=8).eigenvalues
    depth = mass * G / k
    lever = r - depth / 2
    along = mu * mass * G / z0 * (1 / mass + lever**2 / (0.4 * mass * r**2))
    wanted = [*np.roots([1, c * G, k / mass]), *np.roots([1, along * 1.4 * np.sqrt(z0 / (mu * G)), along])]
    for value in wanted:
        if value.imag >= 0.0:
            assert np.abs(found - value).min() < 1e-3 * abs(value), value
    # What rolls and spins freely is no motion that decays.
    assert np.sum(np.abs(found) < 1e-5) == 3


# --- runs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("until", [0.1, 0.155, 0.3, 0.5])
def test_a_run_that_goes_on_from_a_snapshot_is_the_same_to_the_bit(until):
    """In flight, in an impact, slipping and rolling."""
    floor = gd.Contact("ball", FLOOR, stiffness=1e4, restitution=0.4, friction=0.3)
    start = ball(position=(0, 0, 0.2), velocity=(1, 0, 0), angular_velocity=(0, 3, 0))
    system = gd.System(bodies=[start], contacts=[floor])
    first, second = (gd.stepper(system, method="radau5") for _ in range(2))
    first.step(until)
    second.restore(first.save())
    for stepper in (first, second):
        stepper.step(0.2)
    assert np.array_equal(first.y, second.y)


@pytest.mark.parametrize("until", [0.02, 0.3])
def test_a_block_that_sticks_goes_on_from_a_snapshot_to_the_bit(until):
    normal, along = incline(20.0)
    load, k = G * cos(radians(20.0)), 1e6
    slope = gd.Contact(
        "block", gd.Plane((0, 0, 0), normal), stiffness=k, damping=0.5, friction=gd.Friction(0.5, presliding=1e-6)
    )
    system = gd.System(bodies=[block(normal, along, load, k)], contacts=[slope])
    first, second = (gd.stepper(system, method="radau5", rtol=1e-6) for _ in range(2))
    first.step(until)
    second.restore(first.save())
    for stepper in (first, second):
        stepper.step(0.2)
    assert np.array_equal(first.y, second.y)


def test_a_run_that_was_killed_goes_on_to_the_bit(tmp_path):
    """In flight, in an impact, while it slips and while it rolls: by steps that end anywhere."""
    floor = gd.Contact("ball", FLOOR, stiffness=1e4, restitution=0.4, friction=0.3, name="floor")
    start = ball(position=(0, 0, 0.2), velocity=(1, 0, 0), angular_velocity=(0, 3, 0))
    system, options = gd.System(bodies=[start], contacts=[floor]), {"method": "radau5", "rtol": 1e-5}
    whole = gd.simulate(system, 0.8, **options)
    file, stops, steps = tmp_path / "run.h5", 0, whole.stats.steps
    for limit in (steps // 5, steps // 3, steps // 3 + 1, steps // 2, 10**6):
        try:
            stored = gd.simulate(system, 0.8, save=file, resume=True, max_steps=limit, **options)
        except gd.SimulationError:
            stops += 1
    assert stops == 4
    np.testing.assert_array_equal(stored.y, whole.y)
    np.testing.assert_array_equal(stored.contacts["floor"].force, whole.contacts["floor"].force)


METHODS = ["radau5", "rodas", "seulex", "dop853", "odex"]


def test_methods_agree_on_a_ball_that_slips_and_rolls():
    friction = gd.Friction(0.2, sticking=False, slip_speed=1e-2)
    floor = gd.Contact("ball", FLOOR, stiffness=1e5, damping=0.1, friction=friction)
    system = gd.System(bodies=[ball(position=(0, 0, 0.1), velocity=(3, 0, 0))], contacts=[floor])
    ends = [gd.simulate(system, 0.5, method=m, rtol=1e-8)["ball"].position[-1] for m in METHODS]
    assert np.ptp(ends, axis=0).max() < 1e-6


def test_methods_agree_on_a_rod_that_falls():
    falls = rod(points=((0, 0, 0.03), (cos(0.1), 0, 0.03 + sin(0.1))), segments=6, damping=gd.Damping(bending=1e-4))
    floor = gd.Contact("rod", FLOOR, stiffness=1e4, smoothing=1e-3, damping=0.5)
    system = gd.System(rods=[falls], contacts=[floor])
    ends = [gd.simulate(system, 0.2, method=m, rtol=1e-8)["rod"].positions[-1] for m in METHODS]
    assert np.ptp(ends, axis=0).max() < 1e-5


def test_a_touch_after_a_free_flight_is_not_passed_over():
    """Newton's iteration converges at once in free flight, and believed it of the step into the floor too."""
    box = gd.Body("box", 0.2, (2e-4, 3e-4, 4e-4), (0, 0, 0.06), ("313", (0.3, 0.6, 0.2)), (0.3, 0, -0.5),
                  shape=gd.Box((0.1, 0.08, 0.06)))  # fmt: skip
    floor = gd.Contact(
        "box", FLOOR, stiffness=2e3, damping=0.3, smoothing=2e-3, friction=gd.Friction(0.3, presliding=5e-4)
    )
    system = gd.System([box], contacts=[floor])
    exact = gd.simulate(system, 0.02, method="dop853", rtol=1e-11)["box"].position[-1]
    for until in (4e-3, 1e-2, 1.04e-2):
        sim = gd.stepper(system, method="radau5", rtol=1e-8)
        sim.step(until)
        sim.step(0.02 - until)
        np.testing.assert_allclose(sim["box"].position, exact, atol=1e-8)


@pytest.mark.parametrize("method", ["radau5", "dopri5"])
def test_a_line_falls_on_a_plane(method):
    """A rod of stiffnesses has no radius, and a plane no size: steps became shorter and shorter towards the touch."""
    line = gd.Rod(
        "line", segments=4, stiffness=(390.0, 390.0, 390.0, 0.25, 0.25, 0.17), density_per_length=0.086,
        rotary_inertia=(5.4e-5, 5.4e-5, 1.1e-4), initial=gd.Straight((0, 0, 5e-3), (0.6, 0, 5e-3)),
    )  # fmt: skip
    floor = gd.Contact("line", FLOOR, stiffness=2e3, smoothing=1e-3)
    motion = gd.simulate(gd.System(rods=[line], contacts=[floor]), 0.1, method=method, rtol=1e-8)
    height = motion["line"].positions[..., 2]
    assert -2e-3 < height.min() < 1e-3
    np.testing.assert_allclose(motion.energy.total, motion.energy.total[0], atol=1e-7)


@pytest.mark.parametrize("method", ["variational", "energy-momentum"])
@pytest.mark.parametrize("mesh", [{"segments": 8}, {"segments": 3, "discretization": "elements", "degree": 3}])
def test_constant_steps_know_rods_on_surfaces(method, mesh):
    hose = rod(points=((0, 0, 0.02), (0.5, 0, 0.05)), length=None, section=gd.Circle(0.01), **mesh)
    shaft = gd.Shaft(0.1, (0.2, 0, -0.1), (0, 1, 0))
    lies = gd.Contact("rod", shaft, stiffness=5e3, smoothing=5e-3, damping=0.3, name="shaft")
    system = gd.System(rods=[hose], contacts=[lies])
    exact = gd.simulate(system, 0.1, method="radau5", rtol=1e-8)
    assert exact.contacts["shaft"].gap.min() < -5e-3
    errors = []
    for step in (1e-3, 5e-4):
        motion = gd.simulate(system, 0.1, method=method, step=step)
        errors.append(np.abs(motion["rod"].positions[-1] - exact["rod"].positions[-1]).max())
    assert errors[0] < 1e-4
    assert 1.7 < np.log2(errors[0] / errors[1]) < 2.3


@pytest.mark.parametrize("method", ["variational", "energy-momentum"])
def test_constant_steps_have_no_contact_of_bodies(method):
    floor = gd.Contact("ball", FLOOR, stiffness=1e5)
    with pytest.raises(ValueError, match=rf"method = '{method}' has no contact with friction"):
        gd.simulate(gd.System(bodies=[ball()], contacts=[floor]), 0.1, method=method, step=1e-3)


def test_without_contact_nothing_changes():
    """A floor that nothing reaches: the same motion."""
    falls = ball(position=(0, 0, 5.0), angular_velocity=(1, 2, 3))
    free = gd.simulate(gd.System(bodies=[falls]), 0.1, method="dop853")
    floor = gd.Contact("ball", FLOOR, stiffness=1e5)
    above = gd.simulate(gd.System(bodies=[falls], contacts=[floor]), 0.1, method="dop853")
    np.testing.assert_allclose(above["ball"].position[-1], free["ball"].position[-1], atol=1e-9)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: gd.Contact("ball", FLOOR, stiffness=1.0, restitution=1.2), "restitution must be between 0 and 1"),
        (lambda: gd.Contact("ball", FLOOR, restitution=0.5, damping=1.0), "cannot both be given"),
        (lambda: gd.Contact("ball", FLOOR, friction=-0.1), "friction"),
        (lambda: gd.Friction(0.3, static=0.2), r"static = 0.2 is below coefficient = 0.3"),
        (lambda: gd.Friction(0.3, presliding=0.0), "presliding"),
        (lambda: gd.Contact("ball", 3.0), "must be a surface such as Plane"),
        (
            lambda: compile_system(gd.System(bodies=[ball()], contacts=[gd.Contact("ball", FLOOR)])),
            "stiffness is missing",
        ),
        (lambda: gd.System(bodies=[ball()], contacts=[gd.Contact("bal", FLOOR, stiffness=1.0)]), "Did you mean 'ball'"),
        (
            lambda: gd.System(
                bodies=[ball(), gd.Body("tray", mass=1.0, inertia=(1, 1, 1))],
                contacts=[gd.Contact("ball", "tray", stiffness=1.0)],
            ),
            "body 'tray' has no shape",
        ),
        (
            lambda: gd.System(rods=[rod()], contacts=[gd.Contact("rod", FLOOR, restitution=0.5)]),
            "restitution belongs to bodies",
        ),
        (lambda: gd.Eyelet(0.01, 0.02), "leaves no opening"),
    ],
)
def test_bad_input(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_a_body_inside_of_the_ground_is_refused():
    system = gd.System(bodies=[ball(position=(0, 0, 0.02))], contacts=[gd.Contact("ball", FLOOR, stiffness=1e5)])
    with pytest.raises(gd.ModelError, match=r"starts 80 mm inside"):
        gd.simulate(system, 0.1)


# --- at rest, from far away -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strain", ["cosserat", "kirchhoff", "inextensible"])
@pytest.mark.parametrize("mesh", [{"segments": 12, "degree": 3}, {"segments": 30, "discretization": "staggered"}])
def test_a_hose_falls_on_a_floor_and_lies_there(strain, mesh):
    """Whole steps of Newton's method may end in a heap of folds that is balanced and not stable."""
    hose = gd.Rod(
        "hose", section=gd.Circle(5e-3), material=RUBBER, start=gd.Clamped(), strain=strain,
        initial=gd.Straight((0, 0, 0.3), (1, 0, 0.3)), **mesh,
    )  # fmt: skip
    rest = gd.equilibrium(gd.System(rods=[hose], contacts=[gd.Contact("hose", FLOOR, stiffness=1e4, name="floor")]))
    assert rest.stable
    z = rest["hose"].positions[:, 2]
    assert np.all(np.diff(z) < 1e-3)
    assert z[-1] == pytest.approx(5e-3, abs=2e-4)
    weight = 1100 * np.pi * 5e-3**2 * 9.81
    assert 0.5 * weight < rest.contacts["floor"].normal < weight


@pytest.mark.parametrize("height", [0.1, 0.3])
def test_friction_that_no_slide_can_have_is_counted_from_where_all_lies(height):
    """A ball on the end of a hose turns freely: along a slide from the start it would have to roll many times."""
    bob = ball("bob", (1, 0, height), 0.02, 0.2)
    hose = gd.Rod(
        "hose", segments=12, degree=3, section=gd.Circle(5e-3), material=RUBBER, start=gd.Clamped(),
        end=gd.Hinged("bob", at=(0, 0, 0)), initial=gd.Straight((0, 0, height), (1, 0, height)),
    )  # fmt: skip
    floor = gd.Contact(["bob"], FLOOR, stiffness=1e4, friction=0.3, name="floor")
    rest, smooth = (
        gd.equilibrium(gd.System([bob], rods=[hose], contacts=[c]))
        for c in (floor, gd.Contact(["bob"], FLOOR, stiffness=1e4))
    )
    assert rest.stable
    assert rest["bob"].position[2] == pytest.approx(0.02, abs=1e-3)
    assert rest.contacts["floor"].friction < 1e-6
    assert np.abs(rest["bob"].position - smooth["bob"].position).max() < 1e-7


def test_rigid_clips_do_not_hide_held_strains_from_the_count():
    hose = gd.Rod(
        "hose", segments=10, degree=3, section=gd.Circle(5e-3), material=RUBBER, start=gd.Clamped(),
        strain="inextensible", initial=gd.Straight((0, 0, 0.3), (1, 0, 0.3)),
    )  # fmt: skip
    rest = gd.equilibrium(gd.System(rods=[hose], forces=[gd.Clip("hose", 0.6, kind="ball")]))
    assert rest.unstable == 0
