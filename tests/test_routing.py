"""Routes: cables from end poses and length alone, against finer meshes, random starts, catenaries and other calls."""

import numpy as np
import pytest

import gyrod as gd
from gyrod import rotations as rot
from gyrod.problems.routes import HOSE, LENGTH, RUBBER, laid, poses

MADE = {"section": HOSE, "material": RUBBER}
ALONG_X = (0, 0.5 * np.pi, 0)
OPPOSED = ((0.5, 1.0), (0.51, -1.0))
ENDS = gd.Clamped(at=(0, 0, 0), frame=ALONG_X), gd.Clamped(at=(1, 0, 0), frame=ALONG_X)


def check_pairs(pairs, randoms):
    best = 0
    for k, (start, end) in enumerate(pairs):
        route = gd.route(LENGTH, start, end, **MADE)
        assert route.stable
        fine = gd.route(LENGTH, start, end, segments=40, guess=route.rod.initial, **MADE)
        assert route.bend_radius == pytest.approx(fine.bend_radius, rel=0.01)
        rng, least = np.random.default_rng(1000 + k), np.inf
        for _ in range(randoms):
            try:
                other = gd.route(LENGTH, start, end, segments=16, guess=laid(start, end, rng), **MADE)
            except (gd.EquilibriumError, gd.ModelError):
                continue
            least = min(least, float(other.energy.total))
        best += float(route.energy.total) <= least + 5e-3 * abs(least)
    return best


def test_ten_pairs_of_random_poses():
    """All stable, to 1 % of a fine mesh, and of no more energy than from other starts."""
    assert check_pairs(poses(10), 2) == 10


@pytest.mark.slow
def test_a_hundred_pairs_of_random_poses():
    assert check_pairs(poses(100), 20) >= 95


def test_the_rod_begins_at_rest():
    """The rod of a route is in equilibrium where it lies, and stays there when time goes on."""
    start, end = next(poses(1))
    route = gd.route(LENGTH, start, end, **MADE)
    system = gd.System(rods=[route.rod])
    rest = gd.equilibrium(system)
    np.testing.assert_allclose(rest["cable"].positions, route["cable"].positions, atol=1e-8)
    np.testing.assert_allclose(rest["cable"].end_moment, route.end_moment, atol=1e-7)
    motion = gd.simulate(system, 0.05, rtol=1e-6)
    assert np.abs(motion["cable"].positions - route["cable"].positions).max() < 1e-5
    weight = RUBBER.density * np.pi * 25e-6 * LENGTH * 9.81
    np.testing.assert_allclose(route.start_force + route.end_force, (0, 0, weight), atol=1e-8)
    assert gd.files.loads(gd.files.dumps(system)).system.rods[0] == system.rods[0]


def test_hinges_hang_as_a_cable_does():
    hanging = gd.hang(1.2, ((0, 0, 0), (1, 0, 0)), segments=24, degree=3, **MADE)
    route = gd.route(1.2, gd.Hinged(at=(0, 0, 0)), gd.Hinged(at=(1, 0, 0)), segments=24, **MADE)
    assert -route["cable"].positions[:, 2].min() == pytest.approx(hanging.sag, rel=1e-4)
    np.testing.assert_allclose(route.end_force, hanging.end_force, rtol=1e-5, atol=1e-8)
    assert route.free == ("rod 'cable' can turn about (1, 0, 0)",)


def test_a_free_end_hangs():
    for ends in ((ENDS[0], None), (None, ENDS[1])):
        route = gd.route(1.0, *ends, **MADE)
        rod = gd.Rod("rod", 1.0, 8, degree=3, initial=gd.Straight((0, 0, 0), (1, 0, 0)), **MADE)
        held = {"start": gd.Clamped()} if ends[0] else {"end": gd.Clamped()}
        rest = gd.equilibrium(gd.System(rods=[rod.with_(**held)]))
        np.testing.assert_allclose(route["cable"].positions, rest["rod"].positions, atol=1e-7)


def test_turns_choose_the_twist():
    """The ends leave whole turns open; the least twist has the least energy, and both senses are alike."""
    energies = {}
    for turns in (-1, 0, 1):
        route = gd.route(1.2, *ENDS, turns=turns, **MADE)
        assert route.turns == pytest.approx(turns, abs=0.2)  # some of it becomes writhe
        energies[turns] = float(route.energy.total)
    assert energies[0] < energies[1]
    assert energies[1] == pytest.approx(energies[-1], rel=1e-6)
    many = gd.route(1.2, *ENDS, starts=6, **MADE)
    assert many.turns == pytest.approx(0.0, abs=1e-6)
    assert len(many.answers) > 1
    assert any("stable answers were found" in note for note in many.notes)
    found = [float(answer.energy.total) for answer in many.answers]
    assert found == sorted(found)
    assert all(answer.stable for answer in many.answers)


def test_ends_on_bodies_and_led_ends():
    """Bodies stand where they stand; of functions of time that at t = 0 counts, and the rod keeps them."""
    body = gd.Body("arm", 1.0, (1, 1, 1), position=(1.0, 0.2, 0.1), orientation=(0.2, 0.1, -0.4))
    at, frame = np.array([0.0, -0.2, -0.1]), rot.exp((0, 0.5 * np.pi, 0))
    t = np.linspace(0, 1, 21)
    led = gd.Samples(t, np.outer(t**2, (0.1, 0, 0)))
    start = gd.Clamped(at=led, frame=ALONG_X)
    route = gd.route(1.3, start, gd.Clamped("arm", at=at, frame=frame), bodies=[body], **MADE)
    R = rot.matrix_from_quaternion(body.orientation)
    np.testing.assert_allclose(route["cable"].positions[-1], body.position + R @ at, atol=1e-12)
    assert route.rod.start.at is led
    assert route.rod.end.body == "arm"
    moving = gd.System([body], [gd.Fixed("ground", "arm", at=body.position)], rods=[route.rod])
    rest = gd.equilibrium(moving)
    np.testing.assert_allclose(rest["cable"].positions, route["cable"].positions, atol=1e-7)
    motion = gd.simulate(moving, 0.1, rtol=1e-4)
    np.testing.assert_allclose(motion["cable"].positions[-1, 0], led(0.1), atol=1e-9)


def test_a_measured_shape_with_small_gaps():
    """Points that miss the ends by micrometres or millimetres are closed, and told."""
    route = gd.route(1.2, *ENDS, **MADE)
    points = route["cable"].positions + np.array([6e-6, 0, 0])
    points[-1] += (0, 2e-3, 0)
    again = gd.route(1.2, *ENDS, guess=gd.Curve(points, route["cable"].quaternions), **MADE)
    np.testing.assert_allclose(again["cable"].positions, route["cable"].positions, atol=1e-5)
    assert len(again.notes) == 2
    assert again.notes[0] == "a gap of 6e-06 m between guess and start was closed."
    far = gd.Laid(np.linspace(0, 1, 25), points + np.array([0.2, 0, 0]), [(1, 0, 0, 0)] * 25)
    with pytest.raises(ValueError, match=r"guess has its start 0.2 m away from at = \(0, 0, 0\); gaps of up to 0.024"):
        gd.route(1.2, *ENDS, guess=far, **MADE)


def test_a_route_through_clips():
    """Fixed clips cut a cable into cables of their own; the route goes through all points in their order."""
    clip = gd.Clip("cable", 0.4, point=(0.35, 0.1, 0.05), frame=ALONG_X)
    route = gd.route(1.25, *ENDS, clips=[clip], segments=20, **MADE)
    middle = gd.Clamped(at=clip.point, frame=ALONG_X)
    first = gd.route(0.5, ENDS[0], middle, segments=8, **MADE)
    second = gd.route(0.75, middle, ENDS[1], segments=12, **MADE)
    np.testing.assert_allclose(route.start_moment, first.start_moment, rtol=2e-3, atol=1e-5)
    np.testing.assert_allclose(route.end_force, second.end_force, rtol=2e-3, atol=1e-4)
    rest = gd.equilibrium(gd.System(rods=[route.rod], forces=route.clips))
    np.testing.assert_allclose(rest["cable"].positions, route["cable"].positions, atol=1e-6)
    body = gd.Body("wall", 1.0, (1, 1, 1), position=(0, 0.1, 0), orientation=(0, 0, 0.5 * np.pi))
    ball = [
        clip.with_(kind="ball", to="wall", point=(0.0, -0.35, 0.05), frame=None),
        clip.with_(kind="swivel", at=0.8, point=(0.8, 0.05, 0), frame=None, axis=(1, 0.2, 0)),
    ]
    loose = gd.route(1.25, *ENDS, clips=ball[::-1], bodies=[body], **MADE)
    x, mesh = loose["cable"].positions, loose["cable"].mesh
    np.testing.assert_allclose(
        mesh.interpolate(*mesh.vertex_at([0.4, 0.8]), x), [(0.35, 0.1, 0.05), (0.8, 0.05, 0)], atol=2e-5
    )
    weight = RUBBER.density * np.pi * 25e-6 * 1.25 * 9.81
    total = loose.start_force + loose.end_force + loose.clip_forces.sum(axis=0)
    np.testing.assert_allclose(total, (0, 0, weight), atol=1e-3 * np.abs(loose.clip_forces).max())
    d3 = rot.matrix_from_quaternion(mesh.interpolate_frames(*mesh.frame_at([0.8]), loose["cable"].quaternions))[0, :, 2]
    np.testing.assert_allclose(d3, np.array([1, 0.2, 0]) / np.hypot(1, 0.2), atol=1e-3)


def test_a_route_through_a_ring_has_the_least_energy():
    """First as if nothing slid, then through the ring: not an answer that a rigid ring has wound up on the way."""
    clips = [
        gd.Clip("cable", 0.32, point=(0.3, 0.05, 0), axis=(1, 0, 0), kind="swivel"),
        gd.Clip("cable", 0.55, point=(0.45, 0.15, 0), kind="ring", name="eye"),
        gd.Clip("cable", 0.75, point=(0.6, 0.25, 0.02), kind="grommet", stiffness=2e3),
    ]
    ends = ENDS[0], gd.Clamped(at=(0.8, 0.3, 0.1), frame=ALONG_X)
    material = gd.Material(young=5e7, poisson=0.4, density=1200)
    routes = [gd.route(L, *ends, clips=clips, section=HOSE, material=material) for L in (1.156, 1.178, 1.2)]
    energies = [float(route.energy.total) for route in routes]
    assert np.all(np.diff(energies) < 0.1)  # 1.84 J of 1.178 m before, beside 1.35 of 1.156 m
    assert all(route.stable for route in routes)
    assert np.ptp([route["eye"].at for route in routes]) < 0.02
    sleeve = clips[1].with_(kind="sleeve", length=0.05, axis=(1, 0.5, 0))
    assert gd.route(1.1, *ends, clips=[clips[0], sleeve], section=HOSE, material=material).stable


def test_what_is_told_of_an_answer():
    back = gd.Clamped(at=(0, 0, 0), frame=(0, -0.5 * np.pi, 0))
    tight = gd.route(1.001, back, ENDS[1], section=gd.Circle(radius=0.02), material=RUBBER)
    assert any("it is too short for what holds it" in note for note in tight.notes)
    loop = gd.route(3.0, ENDS[0], ENDS[0], turns=2, **MADE)
    assert any("the cable meets itself near s = " in note for note in loop.notes)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"length": 0.9},
            "length = 0.9 is too short: between start and end it has 0.9 m, 0.1 m less than their distance",
        ),
        ({"length": -1}, "length"),
        ({"start": gd.Clamped(at=(0, 0, 0))}, "start = Clamped has no frame: routing begins with places and frames"),
        ({"start": gd.Hinged()}, "start = Hinged has no at"),
        ({"start": gd.Guided(ALONG_X)}, "start = Guided leaves the place open"),
        ({"start": None, "end": None}, "start and end are Free: nothing holds the cable"),
        ({"end": gd.Hinged("arm", at=(0, 0, 0))}, "end.body = 'arm' is unknown"),
        ({"turns": np.nan}, "turns"),
        ({"starts": 0}, "starts"),
        ({"gravity": (0, np.inf, 0)}, "gravity"),
        (
            {"clips": [gd.Clip("hose", 0.5, point=(0.5, 0, 0))]},
            "Clip('hose', 0.5) holds 'hose', but the cable is 'cable'",
        ),
        ({"clips": [gd.Clip("cable", 1.0, point=(0.5, 0, 0))]}, "at = 1 is an end of the cable"),
        ({"clips": [gd.Clip("cable", 0.5)]}, "Clip('cable', 0.5) has no point in space"),
        (
            {"clips": [gd.Clip("cable", 0.1, point=(0.5, 0, 0))]},
            "between start and Clip('cable', 0.1) it has 0.12 m, 0.38",
        ),
        ({"clips": 2 * [gd.Clip("cable", 0.5, point=(0.5, 0, 0))]}, "hold the cable at the same place, s = 0.5"),
        ({"clips": [gd.Clip("cable", 0.5, "arm", (0, 0, 0))]}, "to = 'arm' is unknown"),
        ({"section": None}, "section is missing"),
        (
            {"clips": [gd.Clip("cable", x, point=(x, 0, 0), axis=(d, 0, 0), kind="swivel") for x, d in OPPOSED]},
            "Clip('cable', 0.5) and Clip('cable', 0.51), 0.012 m apart along the cable, turn it further than its 48",
        ),
        ({"clips": [3]}, "clips[0] must be a Clip, got 3."),
        ({"bodies": ["arm"]}, "bodies[0] must be a Body or Rod, got 'arm'."),
        ({"bodies": 3}, "bodies[0] must be a Body or Rod, got 3."),
    ],
)
def test_what_cannot_be_routed(change, sentence):
    given = {"length": 1.2, "start": ENDS[0], "end": ENDS[1], **MADE, **change}
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        gd.route(**given)
    assert sentence in str(caught.value)


# --- branches, and several cables at once ----------------------------------------------------------------------------

PLAN = """\
gyrod: 1
rods:
- name: lamp
  length: 0.5 m
  section: {circle: {radius: 5 mm}}
  material: {young: 50 MPa, poisson: 0.4, density: 1200}
  start: {clamped: {body: trunk, at: end}}
  end: {clamped: {at: [0.75, 0.2, 0.1], frame: [-90 deg, 0, 0]}}
- name: trunk
  length: 0.5 m
  section: {circle: {radius: 5 mm}}
  material: {young: 50 MPa, poisson: 0.4, density: 1200}
  start: {clamped: {at: [0, 0, 0], frame: [0, 90 deg, 0]}}
forces:
- clip: {rod: trunk, at: 0.8, point: [0.39, 0.05, 0], axis: [1, 0, 0]}
"""


def branched():
    """The cables of the plan, one after the other."""
    made = {"section": gd.Circle(5e-3), "material": gd.Material(young=5e7, poisson=0.4, density=1200)}
    clip = gd.Clip("trunk", 0.8, point=(0.39, 0.05, 0), axis=(1, 0, 0))
    trunk = gd.route(0.5, gd.Clamped(at=(0, 0, 0), frame=ALONG_X), clips=[clip], name="trunk", **made)
    end = gd.Clamped(at=(0.75, 0.2, 0.1), frame=(-0.5 * np.pi, 0, 0))
    lamp = gd.route(0.5, gd.Clamped("trunk", at="end"), end, name="lamp", bodies=[trunk.rod], **made)
    return trunk, lamp


def test_a_branch_begins_on_the_end_of_another_cable():
    trunk, lamp = branched()
    np.testing.assert_allclose(lamp["lamp"].positions[0], trunk["trunk"].positions[-1], atol=1e-12)
    tangents = [rot.matrix_from_quaternion(q)[:, 2] for q in (trunk.rod.end_frames[1], lamp.rod.end_frames[0])]
    np.testing.assert_allclose(*tangents, atol=1e-9)
    assert lamp.rod.start == gd.Clamped("trunk", at="end")
    system = gd.System(rods=[trunk.rod, lamp.rod], forces=trunk.clips)
    again = gd.route(0.5, lamp.rod.start, lamp.rod.end, name="other", bodies=system, section=gd.Circle(5e-3),
                     material=lamp.rod.material)  # fmt: skip
    np.testing.assert_allclose(again["other"].positions, lamp["lamp"].positions, atol=1e-9)
    rest = gd.equilibrium(system)
    assert rest.stable
    # What holds the whole holds its weight.
    held = rest["trunk"].start_force + rest["lamp"].end_force + next(iter(rest.motion.clips.values())).force
    np.testing.assert_allclose(held, (0, 0, 1200 * np.pi * 25e-6 * 1.0 * 9.81), atol=1e-5)
    turned = gd.route(0.5, gd.Clamped("trunk", at="end", frame=(0, 0.5, 0)), name="side", bodies=[trunk.rod],
                      section=gd.Circle(5e-3), material=lamp.rod.material)  # fmt: skip
    own = rot.multiply(trunk.rod.end_frames[1], rot.exp((0, 0.5, 0)))
    assert abs(turned.rod.end_frames[0] @ own) == pytest.approx(1.0, abs=1e-12)


def test_a_file_of_cables_is_routed_as_one_after_the_other(tmp_path):
    """Whatever their order; and what cannot be laid is told with its place, once."""
    (tmp_path / "plan.yaml").write_text(PLAN)
    plan = gd.route_file(tmp_path / "plan.yaml")
    assert list(plan.routes) == ["trunk", "lamp"]
    assert [rod.name for rod in plan.system.rods] == ["lamp", "trunk"]
    trunk, lamp = branched()
    for route in (trunk, lamp):
        name = route.system.rods[0].name
        np.testing.assert_allclose(plan[name][name].positions, route[name].positions, atol=1e-9)
    assert gd.equilibrium(plan.system).stable
    longer = plan.with_({"lamp.length": 0.6, "trunk.material.young": 8e7})  # all cables anew
    assert longer["lamp"].rod.length == 0.6
    assert longer.system.rods[0].start == gd.Clamped("trunk", at="end")
    stiff = trunk.with_(material=lamp.rod.material.with_(young=8e7))
    np.testing.assert_allclose(longer["trunk"]["trunk"].positions, stiff["trunk"].positions, atol=1e-9)
    with pytest.raises(gd.ModelError, match=r"Rod .lamp.: length = 0\.2 is too short"):
        plan.with_({"lamp.length": 0.2})
    outputs = {"r": gd.Minimum("lamp.bend_radius", over="rod"), "end": "trunk.positions[-1]"}
    study = gd.study(plan, {"lamp.length": [0.6, 0.2]}, outputs, at_rest=True, engine="serial")
    rest = gd.equilibrium(plan.with_({"lamp.length": 0.6}).system)
    np.testing.assert_array_equal(study["end"][0], rest["trunk"].positions[-1])
    assert study.dataset["lamp.length"].attrs == {"units": "m"}
    assert "Rod 'lamp': length = 0.2 is too short" in study.failed[1]
    (tmp_path / "short.yaml").write_text(PLAN.replace("[0.39, 0.05, 0]", "[0.9, 0.05, 0]"))
    with pytest.raises(gd.ModelError) as caught:
        gd.route_file(tmp_path / "short.yaml")
    assert len(caught.value.problems) == 1
    assert "Rod 'trunk': length = 0.5 is too short" in str(caught.value)


@pytest.mark.parametrize(
    ("end", "sentence"),
    [
        (gd.Clamped("other", at="end"), "end = Clamped('other', at='end') has no frame, and both cables point away"),
        (gd.Clamped("other"), "end = Clamped has no at"),
        (gd.Clamped("othr", at="end"), "end.body = 'othr' is unknown"),
        (gd.Clamped("other", at=(0, 0, 0)), "end.at = (0, 0, 0) must be 'start' or 'end' of the rod 'other'"),
    ],
)
def test_ends_on_cables_that_cannot_be(end, sentence):
    other = gd.Rod("other", initial=gd.Straight((1, 0, 0), (2, 0, 0)), segments=4, **MADE)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        gd.route(1.2, ENDS[0], end, bodies=[other], **MADE)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("point", [0.5, (1.5, 0, 0)])
def test_clips_on_cables_have_no_place_yet(point):
    other = gd.Rod("other", initial=gd.Straight((1, 0, 0), (2, 0, 0)), segments=4, **MADE)
    with pytest.raises(ValueError, match="has no point in space: routing begins with places"):
        gd.route(1.2, *ENDS, clips=[gd.Clip("cable", 0.5, "other", point)], bodies=[other], **MADE)
