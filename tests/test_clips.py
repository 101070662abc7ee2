"""Clips along rods: against beams on several supports, exact holds, and other ways to say the same."""

import numpy as np
import pytest

import gyrod as gd
from gyrod import rotations as rot

SECTION, STEEL = gd.Circle(radius=2e-3), gd.Material(young=2e11, poisson=0.3, density=7850)
AREA, INERTIA = np.pi * 4e-6, np.pi / 4 * 16e-12
EI, LOAD = 2e11 * INERTIA, 7850 * AREA * 9.81
MESHES = [{"segments": 8, "degree": 3}, {"segments": 80}]


def beam(**changes):
    held = {"start": gd.Clamped(), "end": gd.Clamped(), "initial": gd.Straight((0, 0, 0), (1, 0, 0))}
    return gd.Rod("beam", 1.0, **{"section": SECTION, "material": STEEL, "degree": 3, "segments": 8, **held, **changes})


def at_rest(*clips, gravity=(0, 0, -9.81), bodies=(), rods=(), **changes):
    return gd.equilibrium(gd.System([*bodies], rods=[beam(**changes), *rods], forces=clips, gravity=gravity))


def moment_at(rest, s):
    track = rest["beam"]
    return track.mesh.interpolate(*track.mesh.curvature_at([s]), track.moment)[0]


@pytest.mark.parametrize("mesh", MESHES, ids=["elements", "grid"])
def test_a_ball_in_the_middle_makes_two_spans(mesh):
    """A beam on three simple supports: the middle one bears 10/8 of the load of a span, M = q l²/8 above it."""
    rest = at_rest(gd.Clip("beam", 0.5, kind="ball"), start=gd.Hinged(), end=gd.Hinged(), **mesh)
    span = 0.5
    ends = rest["beam"].start_force[2] + rest["beam"].end_force[2]
    assert ends == pytest.approx(LOAD * 1.0 - 1.25 * LOAD * span, rel=3e-3)
    bent = np.linalg.norm(moment_at(rest, 0.5 + 1e-9 if mesh.get("degree") else 0.5)[:2])
    assert bent == pytest.approx(LOAD * span**2 / 8, rel=0.06)  # the reading is inside of the element


@pytest.mark.parametrize("mesh", MESHES, ids=["elements", "grid"])
def test_a_fixed_clip_is_as_good_as_two_clamps(mesh):
    """Both halves bend as beams clamped at both ends, q l²/12 at the clamps, and know nothing of one another."""
    rest = at_rest(gd.Clip("beam", 0.5), gd.RodLoad("beam", at=0.75, force=(0, 0.1, 0)), **mesh)
    other = gd.System(rods=[beam(**mesh).with_(length=0.5, initial=gd.Straight((0, 0, 0), (0.5, 0, 0)))])
    alone = gd.equilibrium(other)
    # A fixed clip gives way by its stiffness, a hundredth of a thousandth.
    np.testing.assert_allclose(rest["beam"].start_force, alone["beam"].start_force, rtol=0.03, atol=1e-6)
    np.testing.assert_allclose(rest["beam"].start_moment, alone["beam"].start_moment, rtol=0.03, atol=1e-6)
    if "degree" in mesh:  # on a grid the clip holds the frame of a segment, not that of the vertex
        assert rest["beam"].start_moment[1] == pytest.approx(-LOAD * 0.25 / 12, rel=1e-3)


def test_frequencies_of_half_a_beam():
    """Held in the middle, all modes come in pairs: those of a clamped beam of half the length, 4.730² sqrt(EI/m)/l²."""
    system = gd.System(rods=[beam()], forces=[gd.Clip("beam", 0.5)], gravity=(0, 0, 0))
    modes = gd.modes(system, 4)
    first = 4.730041**2 * np.sqrt(EI / (7850 * AREA)) / 0.5**2
    np.testing.assert_allclose(modes.omega[:4], first, rtol=1e-3)


def test_a_swivel_lets_twist_through_and_no_bending():
    torque = gd.RodLoad("beam", at=1.0, moment=(1e-3, 0, 2e-3))
    free = {"end": gd.Free(), "gravity": (0, 0, 0)}
    for kind, twist, bend in (("swivel", 1e-3, 0.0), ("fixed", 0.0, 0.0), ("ball", 1e-3, 1e-3)):
        rest = at_rest(gd.Clip("beam", 0.5, kind=kind), torque, **free)
        found = np.abs(rest["beam"].start_moment)
        assert found[0] == pytest.approx(twist, abs=1e-6), kind
        assert found[2] == pytest.approx(bend, abs=2e-5), kind  # half of it goes on beyond a support


def test_a_grommet_gives_way_by_its_stiffness():
    """A rod that only a grommet and springs against turning hold moves by weight over stiffness, by moment over it."""
    clip = gd.Clip("beam", 0.5, kind="grommet", stiffness=(300.0, 200.0, 100.0), rotational=(40.0, 30.0))
    ends = {"start": gd.Free(), "end": gd.Free()}
    weight = LOAD * 1.0
    middle = lambda rest: rest["beam"].positions[len(rest["beam"].positions) // 2]  # noqa: E731
    d1, d2, d3 = rot.matrix_from_quaternion(beam().quaternions[0]).T
    for d, k in ((d1, 300.0), (d2, 200.0), (d3, 100.0)):
        moved = middle(at_rest(clip, gravity=-9.81 * d, **ends)) - (0.5, 0, 0)
        np.testing.assert_allclose(moved, -weight / k * d, rtol=1e-6, atol=1e-9)
    for d, k in ((d1, 40.0), (d2, 40.0), (d3, 30.0)):
        load = gd.RodLoad("beam", at=0.5, moment=1e-3 * d)
        rest = at_rest(clip, load, gravity=(0, 0, 0), **ends)
        turn = rot.log(rot.multiply(rest["beam"].quaternions[12], rot.conjugate(beam().quaternions[12])))
        np.testing.assert_allclose(turn, 1e-3 / k * d, rtol=1e-5, atol=1e-10)


def test_a_clip_on_a_body_holds_what_one_on_ground_does():
    """On a body that is held itself, and on one that carries the rod: forces pass on."""
    body = gd.Body("frame", 2.0, (1, 1, 1), position=(0.2, 0.3, 0.4), orientation=(0.3, -0.2, 0.5))
    fixed = gd.Fixed("ground", "frame", at=(0.2, 0.3, 0.4))
    where = {"point": (0.5, 0.0, 0.02), "axis": (1, 0, 0.1)}
    ground = gd.equilibrium(gd.System(rods=[beam()], forces=[gd.Clip("beam", 0.5, **where)]))
    R = rot.matrix_from_quaternion(body.orientation)
    local = {"point": R.T @ (np.array(where["point"]) - body.position), "axis": R.T @ where["axis"]}
    system = gd.System([body], [fixed], rods=[beam()], forces=[gd.Clip("beam", 0.5, "frame", **local)])
    rest = gd.equilibrium(system)
    np.testing.assert_allclose(rest["beam"].positions, ground["beam"].positions, atol=1e-9)
    (joint,) = rest.joints
    total = rest["beam"].start_force + rest["beam"].end_force + joint.force
    # Rounding of places, 1e-16 m, times the stiffness of a rigid clip, 1e4 EA/L.
    np.testing.assert_allclose(total, (0, 0, LOAD + 2.0 * 9.81), atol=1e-15 * 1e4 * 2e11 * AREA)


def test_two_rods_side_by_side():
    """Rods that a clip holds together, 1 cm apart, share the weight of both; the offset turns with them."""
    other = beam(initial=gd.Straight((0, 0, 0.01), (1, 0, 0.01))).with_(name="upper")
    load = gd.RodLoad("upper", at=0.5, force=(0, 0, -2.0))
    rest = at_rest(gd.Clip("upper", 0.5, "beam", 0.5, kind="ball"), load, rods=[other])
    low, up = (rest[name].positions[12] for name in ("beam", "upper"))
    np.testing.assert_allclose(up - low, (0, 0, 0.01), atol=1e-6)
    lone = at_rest(gd.RodLoad("beam", at=0.5, force=(0, 0, -1.0)))["beam"].positions[12]
    np.testing.assert_allclose(low, lone, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("mesh", MESHES, ids=["elements", "grid"])
@pytest.mark.parametrize("to", ["ground", "frame"])
def test_what_clips_hold(mesh, to, tmp_path):
    """Force and moment balance the rest of the rod, about the origin too, on ground and on a body that is held."""
    body = gd.Body("frame", 2.0, (1, 1, 1), position=(0.2, 0.3, 0.4), orientation=(0.3, -0.2, 0.5))
    fixed = gd.Fixed("ground", "frame", at=(0.2, 0.3, 0.4))
    clips = [gd.Clip("beam", 0.25, to, name="first"), gd.Clip("beam", 0.75, to, kind="swivel", name="second")]
    sensors = [gd.ClipSensor("pull", "first"), gd.ClipSensor("slack", "second", "gap")]
    load, at = np.array([0.0, 0.5, 0.0]), np.array([0.5, 0.0, 0.0])
    forces = [*clips, gd.RodLoad("beam", at=0.5, force=load)]
    rest = gd.equilibrium(gd.System([body], [fixed], [beam(**mesh)], forces, sensors=sensors))
    track, (first, second) = rest["beam"], (rest["first"], rest["second"])
    ends = [(track.start_force, track.start_moment, 0.0), (track.end_force, track.end_moment, 1.0)]
    held = [(first.force, first.moment, 0.25), (second.force, second.moment, 0.75)]
    total = load + sum(F for F, *_ in [*ends, *held])
    # Newton's last step, times the stiffness of a rigid clip, 1e4 EA/L: 1e-14 m.
    np.testing.assert_allclose(total, (0, 0, LOAD), atol=2e-14 * 1e4 * 2e11 * AREA)
    turning = np.cross(at, load) + sum(M + np.cross((s, 0, 0), F) for F, M, s in [*ends, *held])
    np.testing.assert_allclose(turning, np.cross(at, (0, 0, LOAD)), atol=2e-4)  # the rod sags, and its weight with it
    assert abs(second.moment[0]) < 1e-9 < abs(first.moment[2])
    assert max(first.gap, second.gap) < 1e-10
    assert max(first.turn, second.turn) < 1e-7
    assert np.array_equal(rest.sensors["pull"], first.force)
    assert rest.sensors["slack"] == second.gap
    assert list(rest.motion.clips) == ["first", "second"]
    assert rest.motion.sensors.units == {"pull": "N", "slack": "m"}
    page = rest.report(tmp_path / "page.html").read_text()
    assert f"<td>Force of clip &#x27;first&#x27;, N</td><td></td><td><span>{np.linalg.norm(first.force):.4g}<" in page


def test_clip_forces_over_a_motion():
    """A rod that only a soft clip holds swings on it: the force is its mass times acceleration less gravity."""
    clip = gd.Clip("beam", 0.5, kind="grommet", stiffness=300.0, damping=0.5, rotational=1.0, name="rubber")
    ends = {"start": gd.Free(), "end": gd.Free()}
    system = gd.System(rods=[beam(segments=4, **ends)], forces=[clip])
    motion = gd.simulate(system, 0.3, method="radau5", rtol=1e-7, atol=1e-9)
    track, force = motion["beam"], motion["rubber"].force
    weights = system.rods[0].lumped_inertia()[:, 0]
    mass, v = LOAD / 9.81, np.einsum("v,nvi->ni", weights, track.velocities)
    assert weights.sum() == pytest.approx(mass, rel=1e-9)
    change = np.sum(0.5 * (force[1:, 2] + force[:-1, 2] - 2.0 * LOAD) * np.diff(motion.t))
    assert change == pytest.approx(v[-1, 2] - v[0, 2], rel=2e-3)
    between = motion(np.linspace(0.05, 0.25, 41))
    k, c = between["beam"].positions[:, 6, 2] * 300.0, between["beam"].velocities[:, 6, 2] * 0.5
    np.testing.assert_allclose(between["rubber"].force[:, 2], -k - c, atol=2e-4 * LOAD)
    from gyrod.motion.readings import quantity

    read = quantity("norm rubber.force", motion.system)
    assert (read.unit, read.shape(motion)) == ("N", ())
    np.testing.assert_allclose(read.read(motion), np.linalg.norm(force, axis=1))
    with pytest.raises(ValueError, match=r"'rubber.pull': 'pull' is unknown; of 'rubber' it can be 'force', 'moment'"):
        quantity("rubber.pull", motion.system)
    with pytest.raises(ValueError, match="clip = 'ruber' is unknown; it can be 'rubber'"):
        system.with_(sensors=[gd.ClipSensor("pull", "ruber")])
    with pytest.raises(ValueError, match="the system has no clips"):
        gd.equilibrium(gd.System(rods=[beam()])).motion.clips["rubber"]


def test_energy_with_a_clip_on_a_moving_body():
    """Nothing is lost or gained by a clip, on a body that swings freely."""
    body = gd.Body("frame", 0.05, (1e-4, 1e-4, 1e-4), position=(0.5, 0.0, -0.05))
    clip = gd.Clip("beam", 0.5, "frame", stiffness=500.0, rotational=(0.5, 0.2))
    system = gd.System([body], rods=[beam(segments=4)], forces=[clip])
    motion = gd.simulate(system, 0.2, method="radau5", rtol=1e-8, atol=1e-10)
    total = motion.energy.total
    assert np.ptp(motion["frame"].position[:, 2]) > 1e-4
    assert np.ptp(total) < 1e-5 * np.ptp(motion.energy.kinetic)


def test_where_a_rod_is_held_that_lies_elsewhere():
    """A point that is not on the initial shape draws the rod there."""
    clip = gd.Clip("beam", 0.5, point=(0.5, 0.03, 0.0), axis=(1, 0, 0), kind="swivel")
    rest = at_rest(clip, gravity=(0, 0, 0))
    assert "Clip('beam', 0.5) holds rod 'beam' 0.03 m away from where it lies at the start" in rest.system.notes[-1]
    np.testing.assert_allclose(rest["beam"].positions[12], (0.5, 0.03, 0), atol=2e-6)


def test_clips_split_elements_and_are_drawn():
    system = gd.System(rods=[beam()], forces=[gd.Clip("beam", 0.3, kind="ball", name="p-clip"), gd.Clip("beam", 0.7)])
    assert {0.3, 0.7} <= set(system.rods[0].mesh.ends.tolist())
    assert "s = 0.3 for Clip 'p-clip'" in system.notes[0]
    from gyrod.look.scene import describe

    joints = describe(gd.equilibrium(system).motion.compiled)["joints"]
    assert [(x["name"], x["kind"]) for x in joints[:2]] == [("p-clip", "hinged"), ("fixed clip", "clamped")]


@pytest.mark.parametrize(
    ("clips", "sentence"),
    [
        ([("beam", 1.5)], "at = 1.5 must be a fraction of the length, from 0 to 1"),
        ([("beam", 0.5, "ground", (0, 0, np.nan))], "point[2] = nan is not finite"),
        ([("beam", 0.5, "ground", 0.5)], "point = 0.5 is a fraction of a rod; 'ground' needs a point, three numbers"),
        ([("beem", 0.5)], "rod = 'beem' is unknown; it can be 'beam'"),
        ([("beam", 0.5, "frame")], "to = 'frame' is unknown"),
        ([("beam", 0.5, "beam")], "point is missing, but 'beam' is a rod; give a fraction of its length"),
        ([("beam", 0.5, "beam", 0.5)], "it holds s = 0.5 of 'beam' to itself"),
        ([("beam", 0.0)], "where start = Clamped holds it already"),
        ([("beam", 0.5), ("beam", 0.5, "ground", (0.5, 0, 0.1))], "where Clip('beam', 0.5) holds it already"),
        ([("beam", 0.5, "ground", None, (1, 0, 0, 0), (1, 0, 0))], "frame and axis exclude each other"),
    ],
)
def test_clips_that_cannot_be(clips, sentence):
    with pytest.raises(gd.ModelError) as caught:
        gd.System(rods=[beam()], forces=[gd.Clip(*clip) for clip in clips])
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"kind": "glue"}, "kind = 'glue' is unknown; it can be 'fixed', 'swivel', 'ball', 'grommet'"),
        ({"kind": "grommet"}, "stiffness is missing; a grommet is as stiff as it is"),
        ({"kind": "ball", "rotational": 1.0}, "rotational is for clips that hold a direction"),
        ({"kind": "swivel", "rotational": 1.0}, "a swivel turns about the rod; give (1, 0)"),
        ({"axis": (0, 0, 0)}, "axis must not be zero"),
        ({"stiffness": -1.0}, "stiffness must not be negative"),
    ],
)
def test_fields_of_clips(given, sentence):
    with pytest.raises(gd.ModelError) as caught:
        gd.Clip("beam", 0.5, **given)
    assert sentence in str(caught.value)
