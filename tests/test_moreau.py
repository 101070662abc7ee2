"""Rigid contact by impulses: friction and impacts against closed forms, compliant contact, and what must be kept."""

import re
from math import cos, pi, radians, sin

import numpy as np
import pytest
from contact_cases import FLOOR, RUBBER, G, ball, incline, rod

import gyrod as gd
from gyrod import files

PLATE = gd.Box((0.1, 0.1, 2e-3))


def box(name="box", position=(0, 0, 0.05), size=(0.1, 0.1, 0.1), mass=1.0, **given):
    inertia = mass / 12.0 * (np.sum(np.square(size)) - np.square(size))
    return gd.Body(name, mass, inertia, position, shape=gd.Box(size), **given)


def run(system, t_end, step=1e-3, **options):
    return gd.simulate(system, t_end, method="moreau", step=step, **options)


def on_slope(mu, **given):
    normal, along = incline(20.0)
    turn = gd.rotations.quaternion_from_matrix(np.array([along, [0, 1, 0], normal]).T)
    block = gd.Body("block", 1.0, (1e-3,) * 3, normal * 1e-3, turn, shape=PLATE, **given)
    slope = gd.Contact("block", gd.Plane((0, 0, 0), normal), friction=mu, name="slope")
    return gd.System([block], contacts=[slope]), along


# --- closed forms -----------------------------------------------------------------------------------------------------


def test_a_block_slips_as_coulomb_says():
    system, along = on_slope(0.3)
    motion = run(system, 2.0)
    speeds = motion["block"].velocity @ along
    assert np.abs(np.diff(speeds) / np.diff(motion.t) + 0.5897022230518818).max() < 1e-11
    assert speeds[-1] == pytest.approx(-2 * 0.5897022230518818, abs=3e-13)
    moved = (motion["block"].position[0] - motion["block"].position[-1]) @ along
    assert moved == pytest.approx(1.1794044461037636, rel=1e-12)
    assert motion.energy.dissipated[-1] == pytest.approx(3.2616611384466245, rel=1e-10)
    slope = motion.contacts["slope"]
    np.testing.assert_allclose(slope.normal[1:], G * cos(radians(20.0)), rtol=1e-11)
    np.testing.assert_allclose(slope.friction[1:], 0.3 * G * cos(radians(20.0)), rtol=1e-11)
    np.testing.assert_allclose(slope.force[1:].sum(axis=0)[1], 0.0, atol=1e-10)


def test_a_block_that_sticks_does_not_creep():
    system, along = on_slope(0.5)
    motion = run(system, 2.0)
    assert np.abs(motion["block"].velocity).max() < 1e-13
    assert np.abs((motion["block"].position - motion["block"].position[0]) @ along).max() < 1e-13
    assert motion.energy.dissipated[-1] == pytest.approx(0.0, abs=1e-13)


def test_a_ball_slips_until_it_rolls():
    floor = gd.Contact("ball", FLOOR, friction=0.2, name="floor")
    motion = run(gd.System([ball(velocity=(3, 0, 0))], contacts=[floor]), 1.0)
    assert motion["ball"].velocity[-1, 0] == pytest.approx(15 / 7, abs=1e-12)
    assert motion.energy.dissipated[-1] == pytest.approx(4.5 * 2 / 7, rel=1e-12)
    assert np.ptp(motion.energy.total + motion.energy.dissipated) < 1e-11
    slips = motion.contacts["floor"].slip > 1e-9
    assert motion.t[np.argmin(slips[1:]) + 1] == pytest.approx(0.436871997, abs=1.1e-3)


@pytest.mark.parametrize(("mu", "wanted"), [(0.3, 2.396584004303436), (0.05, 2.894298375529322)])
def test_a_ball_on_a_slope_rolls_or_slips(mu, wanted):
    normal, along = incline(20.0)
    slope = gd.Contact("ball", gd.Plane((0, 0, 0), normal), friction=mu)
    motion = run(gd.System([ball(position=0.05 * normal, radius=0.05)], contacts=[slope]), 1.0)
    assert -(motion["ball"].velocity @ along)[-1] == pytest.approx(wanted, rel=1e-11)


def test_a_ball_bounces_and_comes_to_rest():
    floor = gd.Contact("ball", FLOOR, restitution=0.8, name="floor")
    motion = run(gd.System([ball(position=(0, 0, 1.1))], contacts=[floor]), 5.0)
    z, v = motion["ball"].position[:, 2] - 0.1, motion["ball"].velocity[:, 2]
    tops = np.flatnonzero((z[1:-1] > z[:-2]) & (z[1:-1] >= z[2:])) + 1
    np.testing.assert_allclose(z[tops[:5]], 0.64 ** np.arange(1, 6), rtol=5e-3)
    np.testing.assert_allclose(motion.t[tops[:4]], [0.81274, 1.46294, 1.98309, 2.39922], atol=3e-3)
    lies = motion.t > 4.1
    assert np.abs(v[lies]).max() < 1e-14
    np.testing.assert_allclose(motion.contacts["floor"].normal[lies], G, rtol=1e-12)
    assert motion.contacts["floor"].gap[-1] == pytest.approx(0.0, abs=2e-9)
    assert motion.energy.dissipated[-1] == pytest.approx(G, rel=5e-3)


def test_heights_of_bounces_are_of_first_order():
    """At most: where in its step an impact comes is a matter of chance."""
    floor = gd.Contact("ball", FLOOR, restitution=0.8)

    def error(drop, h):
        motion = run(gd.System([ball(position=(0, 0, 0.1 + drop))], contacts=[floor]), 0.9, h)
        late = motion["ball"].position[motion.t > 0.5, 2] - 0.1
        return abs(late.max() / drop - 0.64)

    drops = np.linspace(1.0, 1.02, 8)
    coarse, fine = (max(error(drop, h) for drop in drops) for h in (4e-3, 5e-4))
    assert 4.0 < coarse / fine < 16.0


def test_three_balls_that_touch():
    balls = [ball(f"b{i}", (0.2 * i, 0, 0), velocity=(float(i == 0), 0, 0)) for i in range(3)]
    pairs = [gd.Contact(f"b{i}", f"b{i + 1}", restitution=1.0) for i in range(2)]
    motion = run(gd.System(balls, contacts=pairs, gravity=(0, 0, 0)), 0.01)
    found = [motion[f"b{i}"].velocity[-1, 0] for i in range(3)]
    np.testing.assert_allclose(found, [-1 / 3, 2 / 3, 2 / 3], atol=1e-12)
    assert np.ptp(motion.energy.total) < 1e-12


def test_a_block_on_a_belt_sticks_and_slips():
    """0.669357 s a period, pieces of oscillations."""
    belt = gd.Body("belt", 1.0, (1, 1, 1), position=(0, 0, -0.05), velocity=(0.1, 0, 0), shape=gd.Box((4, 1, 0.1)))
    carried = gd.Body("block", 1.0, (1e-2,) * 3, position=(0, 0, 1e-3), velocity=(0.1, 0, 0), shape=PLATE)
    motor = gd.Prismatic("ground", "belt", at=(0, 0, 0), axis=(1, 0, 0), drive=gd.Expression("0.1*t"))
    spring = gd.SpringDamper("ground", "block", at_a=(-1, 0, 1e-3), stiffness=100.0, length=1.0)
    grip = gd.Contact("block", "belt", friction=gd.Friction(0.3, static=0.4), name="grip")
    motion = run(gd.System([belt, carried], [motor], forces=[spring], contacts=[grip]), 2.2)
    t, v = motion.t, motion["block"].velocity[:, 0]
    rises = np.flatnonzero((v[:-1] < 0.0) & (v[1:] >= 0.0))
    times = t[rises] - v[rises] * np.diff(t)[rises] / np.diff(v)[rises]
    np.testing.assert_allclose(np.diff(times), 0.6693570623, rtol=2e-3)
    sticks = motion.contacts["grip"].slip[1:] < 1e-12
    assert np.diff(t)[sticks].sum() == pytest.approx(0.3924 + 2 * 0.1962, rel=0.01)


# --- bodies -----------------------------------------------------------------------------------------------------------


def test_a_box_stands_on_four_corners():
    """More forces than can be found from balance: their sum is."""
    floor = gd.Contact("box", FLOOR, friction=0.5, name="floor")
    motion = run(gd.System([box()], contacts=[floor]), 0.2)
    assert np.abs(motion["box"].velocity).max() < 1e-12
    assert np.abs(motion["box"].Omega).max() < 1e-11
    np.testing.assert_allclose(motion.contacts["floor"].force[1:], [[0.0, 0.0, G]] * 200, atol=1e-9)
    (corners,) = motion.contacts["floor"].stations
    below = corners.gap[-1] < 1e-6
    assert below.sum() == 4
    moment = np.cross(corners.point[-1][below], corners.force[-1][below]).sum(axis=0)
    np.testing.assert_allclose(moment, 0.0, atol=1e-9)


def test_a_tower_of_boxes_stands():
    boxes = [box(f"b{i}", (0.0, 0.0, 0.05 + 0.1 * i)) for i in range(5)]
    law = {"friction": 0.4}
    contacts = [gd.Contact("b0", FLOOR, **law, name="foot")]
    contacts += [gd.Contact(f"b{i + 1}", f"b{i}", **law) for i in range(4)]
    motion = run(gd.System(boxes, contacts=contacts), 0.3, 2e-3)
    assert motion.contacts["foot"].normal[-1] == pytest.approx(5 * G, rel=1e-7)
    for i in range(5):
        np.testing.assert_allclose(motion[f"b{i}"].position[-1], boxes[i].position, atol=1e-6)


def test_impacts_keep_momentum_and_lose_what_is_counted():
    """Two rough balls that spin hit each other off centre."""
    a = ball("a", (0, 0, 0), velocity=(2, 0.3, 0), angular_velocity=(3, 20, -8))
    b = ball("b", (0.3, 0.05, 0.02), 0.15, 2.0, velocity=(-1, 0, 0.2), angular_velocity=(-9, 1, 2))
    motion = run(
        gd.System(
            [a, b], contacts=[gd.Contact("a", "b", restitution=0.6, friction=0.4, name="hit")], gravity=(0, 0, 0)
        ),
        0.1,
    )
    linear, angular = motion.momentum, motion.angular_momentum
    assert motion.contacts["hit"].normal.max() > 100.0
    np.testing.assert_allclose(linear - linear[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(angular - angular[0], 0.0, atol=1e-11)
    assert motion.energy.dissipated[-1] > 0.5
    assert np.ptp(motion.energy.total + motion.energy.dissipated) < 1e-10


def test_restitution_is_what_becomes_of_the_speed():
    a, b = ball("a", (0, 0, 0), velocity=(1, 0, 0)), ball("b", (0.21, 0, 0), mass=3.0)
    motion = run(gd.System([a, b], contacts=[gd.Contact("a", "b", restitution=0.3)], gravity=(0, 0, 0)), 0.05)
    apart = motion["b"].velocity[-1, 0] - motion["a"].velocity[-1, 0]
    assert apart == pytest.approx(0.3, abs=1e-12)


def test_a_hinged_arm_hits_the_floor():
    """From 1 rad on its tip strikes with w, sin 1 = w² I/(m g l), and leaves with half of that."""
    arm = gd.Body("arm", 1.0, (1e-6, 1 / 12, 1 / 12), (0.5 * cos(1.0), 0, 0.5 * sin(1.0)),
                  gd.rotations.quaternion_from_matrix(np.array([[cos(1.0), 0, -sin(1.0)], [0, 1, 0],
                                                                [sin(1.0), 0, cos(1.0)]])),
                  shape=gd.Sphere(1e-3, offset=(0.5, 0, 1e-3)))  # fmt: skip
    hinge = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), name="hinge")
    system = gd.System([arm], [hinge], contacts=[gd.Contact("arm", FLOOR, restitution=0.5, name="floor")])
    for formulation in ("nullspace-quaternion", "absolute-directors"):
        motion = run(system, 0.8, 2e-4, formulation=formulation)
        speed = np.abs(motion["arm"].Omega[:, 1])
        hit = np.argmax(motion.contacts["floor"].normal > 0.0)
        assert speed[hit - 1] == pytest.approx(np.sqrt(3.0 * G * sin(1.0)), rel=2e-3)
        assert speed[hit] == pytest.approx(0.5 * speed[hit - 1], rel=1e-3)


FORMS = ["nullspace-quaternion", "nullspace-directors", "absolute-quaternion", "absolute-directors", "euler"]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_same_impacts(form):
    falls = box(position=(0, 0, 0.12), orientation=("313", (0.3, 0.9, 0.2)), velocity=(0.5, 0, -1),
                angular_velocity=(3, 1, 2))  # fmt: skip
    system = gd.System([falls], contacts=[gd.Contact("box", FLOOR, restitution=0.3, friction=0.3)])
    found = run(system, 0.15, 2.5e-4, formulation=form)
    exact = run(system, 0.15, 2.5e-4)
    np.testing.assert_allclose(found["box"].position[-1], exact["box"].position[-1], atol=2e-4)
    assert np.ptp(found.energy.total + found.energy.dissipated) < 5e-3


SURFACES = {
    "bowl": (gd.Bowl(0.5, (0, 0, 0.5)), (0.2, 0.1, 0.17)),
    "pipe": (gd.Pipe(0.3, (0, 0, 0.3), (1, 0, 0)), (0, 0.1, 0.15)),
    "shaft": (gd.Shaft(0.3, (0, 0, -0.3), (1, 0, 0)), (0, 0.05, 0.12)),
    "eyelet": (gd.Eyelet(0.5, 0.1, (0, 0, -0.1)), (0.5, 0.03, 0.12)),
    "height field": (gd.HeightField(0.05 * np.sin(np.arange(21) / 3.0)[:, None] * np.ones((1, 21)), (0.1, 0.1),
                                    corner=(-1, -1, 0)), (0, 0.0, 0.12)),
    "box": (gd.Box((1, 1, 0.2), offset=(0, 0, -0.1)), (0, 0, 0.12)),
    "capsule": (gd.Capsule(0.1, 0.4, offset=(0, 0, -0.1)), (0.02, 0.0, 0.31)),
    "cylinder": (gd.Cylinder(0.3, 0.2, offset=(0, 0, -0.1)), (0.02, 0, 0.12)),
}  # fmt: skip


@pytest.mark.parametrize("name", SURFACES)
def test_surfaces_are_those_of_compliant_contact(name):
    surface, at = SURFACES[name]
    start = ball(position=at, velocity=(0.3, 0.2, 0))
    soft = gd.Contact("ball", surface, stiffness=1e6, restitution=0.0, friction=gd.Friction(0.3, presliding=1e-6))
    hard = gd.Contact("ball", surface, friction=0.3, name="hard")
    exact = gd.simulate(gd.System([start], contacts=[soft]), 0.25, rtol=1e-6)
    found = run(gd.System([start], contacts=[hard]), 0.25, 2.5e-4)
    assert found.contacts["hard"].normal.max() > 1.0
    np.testing.assert_allclose(found["ball"].position[-1], exact["ball"].position[-1], atol=2e-3)
    assert found.contacts["hard"].gap[2:].min() > -5e-4


# --- rods -------------------------------------------------------------------------------------------------------------

MESHES = {"grid": {"segments": 10}, "elements": {"segments": 4, "discretization": "elements", "degree": 2}}


@pytest.mark.parametrize("mesh", MESHES)
def test_a_rod_that_falls_is_that_of_a_stiff_law(mesh):
    """It lies down from its lower end; both laws lose what the impacts do not give back."""
    damping = gd.Damping(extension=0.05, shear=0.05, bending=2e-4, torsion=2e-4)
    falls = rod(points=((0, 0, 0.03), (cos(0.1), 0, 0.03 + sin(0.1))), damping=damping, **MESHES[mesh])
    soft = gd.Contact("rod", FLOOR, stiffness=1e6, damping=20.0, friction=gd.Friction(0.3, presliding=1e-5))
    hard = gd.Contact("rod", FLOOR, friction=0.3, name="floor")
    exact = gd.simulate(gd.System(rods=[falls], contacts=[soft]), 0.2, rtol=1e-4)
    found = run(gd.System(rods=[falls], contacts=[hard]), 0.2, 2e-4)
    seen, wanted = found["rod"].positions[-1], exact["rod"].positions[-1]
    assert np.abs(seen - wanted).max() < 5e-3
    assert found.contacts["floor"].gap[-1] > -1e-4
    assert found.energy.dissipated[-1] > 0.05


@pytest.mark.parametrize("strain", [None, "kirchhoff", "inextensible"])
@pytest.mark.parametrize("mesh", MESHES)
def test_a_rod_lies_on_the_floor_and_carries_its_weight(mesh, strain):
    lies = rod(points=((0, 0, 5e-3), (1, 0, 5e-3)), damping=gd.Damping(bending=1e-4), **MESHES[mesh],
               **({} if strain is None else {"strain": strain}))  # fmt: skip
    motion = run(gd.System(rods=[lies], contacts=[gd.Contact("rod", FLOOR, friction=0.3, name="floor")]), 0.02)
    weight = pi * 25e-6 * 1100 * G
    np.testing.assert_allclose(motion.contacts["floor"].normal[1:], weight, rtol=1e-6)
    assert np.abs(motion["rod"].velocities).max() < 1e-8


def test_a_rod_rolls_down():
    normal, along = incline(15.0)
    across = np.array([0, 0.25, 0])
    lies = rod(
        points=(5e-3 * normal - across, 5e-3 * normal + across), length=0.5, segments=4,
        material=gd.Material(young=5e7, poisson=0.3, density=1100),
    )  # fmt: skip
    slope = gd.Contact("rod", gd.Plane((0, 0, 0), normal), friction=0.4)
    motion = run(gd.System(rods=[lies], contacts=[slope]), 0.3)
    x = motion["rod"].positions.mean(axis=1) @ along
    assert -2 * (x[-1] - x[0]) / 0.3**2 == pytest.approx(1.69267655, rel=1e-3)


def test_a_rod_on_a_body_pushes_it():
    """Nothing else does: the centre of mass of both falls freely."""
    tray = gd.Body("tray", 1.0, (0.1, 0.1, 0.1), (0.5, 0, -0.05), shape=gd.Box((1.2, 0.2, 0.1)))
    lies = rod(points=((0, 0, 8e-3), (1, 0, 8e-3)), segments=6, velocity=(0.4, 0, -0.5))
    motion = run(
        gd.System([tray], rods=[lies], contacts=[gd.Contact("rod", "tray", friction=0.5)], gravity=(0, 0, 0)),
        0.05,
        5e-4,
    )
    linear, angular = motion.momentum, motion.angular_momentum
    assert np.abs(motion["tray"].velocity[-1]).max() > 1e-3
    np.testing.assert_allclose(linear - linear[0], 0.0, atol=1e-9)
    np.testing.assert_allclose(angular - angular[0], 0.0, atol=1e-5)


def test_a_body_that_hangs_on_a_rod_hits_the_floor():
    bob = gd.Body("bob", 0.2, (1e-4,) * 3, (1.0, 0, 0.1), shape=gd.Sphere(0.02))
    hose = rod(points=((0, 0, 0.1), (1, 0, 0.1)), segments=8, start=gd.Clamped(), end=gd.Clamped("bob", at=(0, 0, 0)))
    floor = gd.Contact("bob", FLOOR, restitution=0.3, friction=0.3, name="floor")
    motion = run(gd.System([bob], rods=[hose], contacts=[floor]), 0.25, 2.5e-4)
    assert motion.contacts["floor"].normal.max() > 1.0
    assert motion.contacts["floor"].gap.min() > -2e-3


# --- the method -------------------------------------------------------------------------------------------------------


def test_smooth_motions_of_bodies_are_of_second_order():
    top = gd.Body("top", 0.3, (5e-3, 4e-3, 1e-3), (0, -0.06, 0.08), angular_velocity=(1, 2, 15))
    system = gd.System([top], [gd.Spherical("ground", "top", at=(0, 0, 0))])
    exact = gd.simulate(system, 0.3, method="dop853", rtol=1e-11)["top"].position[-1]
    errors = [np.abs(run(system, 0.3, h)["top"].position[-1] - exact).max() for h in (2e-3, 1e-3)]
    assert 1.8 < np.log2(errors[0] / errors[1]) < 2.2


def test_a_run_goes_on_bit_for_bit(tmp_path):
    """Interrupted while it slips, sticks and bounces."""
    system = bounces()
    whole = run(system, 0.4)
    file, stops = tmp_path / "run.h5", 0

    class Stop(Exception):
        pass

    for limit in (57, 130, 133, 250, 10**6):
        try:
            stored = run(system, 0.4, save=file, resume=True, max_steps=limit)
        except gd.SimulationError:
            stops += 1
    assert stops == 4
    np.testing.assert_array_equal(stored.y, whole.y)
    np.testing.assert_array_equal(stored.contacts["floor"].normal, whole.contacts["floor"].normal)
    assert stored.energy.dissipated[-1] == whole.energy.dissipated[-1]


def bounces():
    falls = box(position=(0, 0, 0.15), orientation=("313", (0.3, 0.4, 0.2)), velocity=(0.5, 0, 0))
    return gd.System([falls], contacts=[gd.Contact("box", FLOOR, restitution=0.5, friction=0.4, name="floor")])


def test_a_stepper_goes_on_bit_for_bit():
    sims = [gd.stepper(bounces(), method="moreau", step=1e-3) for _ in range(2)]
    for _ in range(15):
        sims[0].step(0.01)
    saved = sims[0].save()
    sims[1].restore(saved)
    for sim in sims:
        for _ in range(15):
            sim.step(0.01)
    np.testing.assert_array_equal(sims[0].y, sims[1].y)
    np.testing.assert_allclose(sims[0].y, run(bounces(), 0.3).y[-1], atol=1e-9)


def test_output_and_events_lie_between_steps():
    floor = gd.Contact("ball", FLOOR, restitution=0.8)
    system = gd.System([ball(position=(0, 0, 1.1))], contacts=[floor])
    touches = gd.Event(lambda _, m: m["ball"].position[2] - 0.1, direction=-1, name="touch")
    motion = run(system, 1.0, output=np.linspace(0, 1, 7), events=[touches])
    assert len(motion.t) == 7
    assert [e.name for e in motion.events] == ["touch"]
    assert motion.events[0].t == pytest.approx(0.4515236, abs=1e-3)


def test_model_files_and_studies(tmp_path):
    text = """
gyrod: 1
bodies:
  - {name: ball, mass: 1, inertia: [4e-3, 4e-3, 4e-3], shape: {sphere: {radius: 0.1}}, position: [0, 0, 0.1], velocity: [3, 0, 0]}
contacts:
  - {a: ball, b: {plane: {}}, friction: 0.2, name: floor}
run: {until: 0.6, method: moreau, step: 1 ms}
"""  # noqa: E501
    model = files.loads(text)
    motion = gd.simulate(model.system, model.run.until, **model.run.options())
    assert motion["ball"].velocity[-1, 0] == pytest.approx(15 / 7, abs=1e-12)
    study = gd.study(
        model.system, {"floor.friction.coefficient": [0.0, 0.2]}, t_end=0.6, method="moreau", step=1e-3,
        outputs={"v": "ball.velocity[0]"},
    )  # fmt: skip
    np.testing.assert_allclose(np.asarray(study["v"]).ravel(), [3.0, 15 / 7], atol=1e-12)


def test_a_rest_begins_to_slip():
    """From an equilibrium with a stiff law, whose memory is another."""
    floor = gd.Contact("box", FLOOR, stiffness=1e6, friction=0.5, name="floor")
    rest = gd.equilibrium(gd.System([box()], contacts=[floor]))
    motion = run(rest, 0.1)
    assert np.abs(motion["box"].velocity).max() < 1e-3
    assert motion.contacts["floor"].normal[-1] == pytest.approx(G, rel=1e-6)


BAD = {
    "step": (lambda: run(gd.System([ball()]), 1.0, None), "give step, in seconds"),
    "tolerance": (
        lambda: run(gd.System([ball()], contacts=[gd.Contact("ball", FLOOR)]), 1.0, rtol=1e-8),
        "rtol = 1e-08 cannot be given with method = 'moreau': its steps are constant",
    ),
    "compliant": (
        lambda: gd.simulate(gd.System([ball()], contacts=[gd.Contact("ball", FLOOR)]), 1.0),
        "stiffness is missing and body 'ball' has none to take it from; give stiffness in N/m, or simulate with method "
        "= 'moreau'",
    ),
    "rolling": (
        lambda: run(
            gd.System([ball()], contacts=[gd.Contact("ball", FLOOR, friction=gd.Friction(0.1, rolling=1e-3))]), 1.0
        ),
        "rolling = 0.001 is not for method = 'moreau'",
    ),
    "rods": (
        lambda: run(gd.System(rods=[rod(), rod("other", ((0, 1, 0), (1, 1, 0)))],
                              contacts=[gd.Contact("rod", "other", stiffness=1e4)]), 1.0),
        "rods 'rod' and 'other' touch each other, which method = 'moreau' does not know; take 'radau5'.",
    ),
    "inside": (
        lambda: run(gd.System([ball(position=(0, 0, 0.01))], contacts=[gd.Contact("ball", FLOOR)]), 1.0),
        "starts 90 mm inside of the surface",
    ),
    "index": (
        lambda: run(gd.System([ball()], contacts=[gd.Contact("ball", FLOOR)]), 1.0,
                    formulation=gd.Formulation("absolute-quaternion", index=2)),
        "is a differential-algebraic system, which method = 'moreau' does not take",
    ),
    "variational": (
        lambda: gd.simulate(gd.System([ball()], contacts=[gd.Contact("ball", FLOOR)]), 1.0, method="variational",
                            step=0.1),
        "has no contact with friction",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_is_told(case):
    wrong, says = BAD[case]
    with pytest.raises(ValueError, match=re.escape(says)):
        wrong()


def test_rubber_is_not_needed():
    """A rod of a material has a stiffness of its own: it does not matter here."""
    lies = rod(points=((0, 0, 5e-3), (1, 0, 5e-3)), material=RUBBER)
    motion = run(gd.System(rods=[lies], contacts=[gd.Contact("rod", FLOOR, name="floor")]), 0.01)
    assert motion.contacts["floor"].gap.min() > -1e-9


def test_what_goes_through_a_thin_wall_is_told():
    wall = gd.Contact("ball", gd.Box((0.02, 2, 2), offset=(1, 0, 0)), restitution=0.5, name="wall")
    system = gd.System(
        [ball(position=(0, 0, 0), radius=0.01, velocity=(200, 0, 0))], contacts=[wall], gravity=(0, 0, 0)
    )
    with pytest.raises(gd.SimulationError, match=r"Contact 'wall', 'ball' on a surface: one has passed through"):
        run(system, 0.02)
    assert run(system, 0.02, 1e-4)["ball"].velocity[-1, 0] == pytest.approx(-100.0, rel=1e-9)
