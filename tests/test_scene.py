"""Scenes: what the viewer is told about a system agrees with the motion, in few bytes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import gyrod as gd
from gyrod.look import packing
from gyrod.look.scene import describe, scene
from gyrod.look.tracks import energy_densities
from gyrod.quantities import COLOURS

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)


def bob_on_a_hose(**options):
    hose = gd.Rod(
        "hose", 1.0, 20, gd.Circle(radius=5e-3), RUBBER, initial=gd.Straight((0, 0, 0), (0, 1, 0)),
        start=gd.Clamped("ground"), end=gd.Hinged("bob", at=(0, 0, 0.05)), damping=gd.Damping.ratio(0.05, 2.0),
    )  # fmt: skip
    bob = gd.Body("bob", 0.2, (1e-4,) * 3, position=(0, 1.0, -0.05), shape=gd.Sphere(0.04), color="orange")
    return gd.System([bob], rods=[hose], **options)


@pytest.fixture(scope="module")
def hose():
    return gd.simulate(bob_on_a_hose(), 2.0, rtol=1e-3)


@pytest.fixture(scope="module")
def four_bar():
    return gd.simulate(gd.problems.get("four-bar").system, 1.0, rtol=1e-6)


# --- packing ---------------------------------------------------------------------------------------------------------


@given(
    values=arrays.arrays(float, arrays.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.floats(-1e6, 1e6)),
    kind=st.sampled_from(sorted(packing.KINDS)),
)
def test_what_is_packed_comes_back(values, kind):
    found = packing.unpack(packing.pack({"a": packing.track(values, kind), "b": packing.track(-values, "f8")}))
    np.testing.assert_array_equal(found["b"], -values)
    if kind == "f8":
        np.testing.assert_array_equal(found["a"], values)
    elif kind == "f4":
        np.testing.assert_array_equal(found["a"], values.astype(np.float32))
    else:
        half = 0.5 * np.ptp(values) / packing.LEVELS[kind]
        assert np.abs(found["a"] - values).max() <= half * (1 + 1e-9) + 1e-9


def test_what_is_not_finite_is_zero():
    found = packing.unpack(packing.pack({"a": packing.track([[np.nan], [np.inf], [1.0]])}))
    assert found["a"].ravel().tolist() == [0.0, 0.0, 1.0]


def test_frames_that_are_alike_take_few_bytes():
    x = np.sin(np.linspace(0.0, 6.0, 600))[:, None] * np.linspace(0.0, 1.0, 50)
    assert len(packing.pack({"x": packing.track(x, "coarse")})) < 0.5 * 2 * x.size


# --- how it moves ----------------------------------------------------------------------------------------------------


def test_frames_are_those_of_the_motion(hose):
    found = scene(hose)
    assert found.frames == 121
    back = packing.unpack(found.packed())
    t = back["t"].ravel()
    np.testing.assert_allclose(t, np.linspace(0.0, 2.0, 121), atol=1e-15)
    at = hose(t)
    np.testing.assert_allclose(back["x"], at["bob"].position, atol=1e-6)
    np.testing.assert_allclose(back["p"], at["bob"].quaternion, atol=4e-5)
    np.testing.assert_allclose(back["rod0.x"].reshape(121, 21, 3), at["hose"].positions, atol=1e-6)
    ends = back["arrows"].reshape(121, 2, 3)
    np.testing.assert_allclose(ends[:, 0], at["hose"].start_force, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ends[:, 1], at["hose"].end_force, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(back["series"][:, 2], at.energy.total, rtol=1e-5, atol=1e-6)


def test_a_hose_of_ten_seconds_is_small():
    motion = gd.simulate(bob_on_a_hose(), 10.0, rtol=1e-3)
    found = scene(motion)
    assert found.frames == 301
    assert len(found.packed()) < 180_000


def test_colours_are_the_quantities_of_the_rod(hose):
    found = scene(hose)
    rod, table = hose(found.tracks["t"].values.ravel())["hose"], hose.compiled.rods[0]
    values = {key: found.tracks[f"rod0.{key}"].values for key in COLOURS if key != "contact"}
    np.testing.assert_allclose(values["curvature"], np.linalg.norm(rod.curvature[..., :2], axis=-1))
    np.testing.assert_allclose(values["torsion"], rod.curvature[..., 2])
    np.testing.assert_allclose(values["moment"], np.linalg.norm(rod.moment[..., :2], axis=-1))
    np.testing.assert_allclose(values["torque"], rod.moment[..., 2])
    np.testing.assert_allclose(values["force"][:, 1:-1], 0.5 * (rod.force[:, 1:, 2] + rod.force[:, :-1, 2]))
    bend = np.linalg.norm(rod.curvature[..., :2], axis=-1)
    least = 1.0 / bend.max()
    np.testing.assert_allclose(values["bend_radius"], 1.0 / np.maximum(bend, 0.1 / least), rtol=1e-9)
    assert values["bend_radius"].max() == pytest.approx(10.0 * least)
    assert set(values) == set(describe(hose.compiled)["rods"][0]["fields"])
    assert len(table["ds"]) == 20


COUPLED = np.diag([100.0, 100.0, 400.0, 2e-3, 2e-3, 1e-3])
COUPLED[2, 5] = COUPLED[5, 2] = 0.2
ENERGIES = {
    "damped": {"damping": gd.Damping.ratio(1.0, 1.0)},
    "stretch": {"strain": "stretch", "damping": gd.Damping.ratio(0.05, 2.0)},
    "kirchhoff": {"strain": "kirchhoff", "damping": gd.Damping.ratio(0.05, 2.0)},
    "winch": {"end": gd.Clamped(), "rest_stretch": lambda t: 1.0 - 0.1 * t, "damping": gd.Damping.ratio(0.3, 2.0)},
    "pre-tension": {"end": gd.Clamped(), "rest_stretch": 0.9},
    "coupled": {"stiffness": COUPLED, "angular_velocity": (0.0, 0.0, 1.0)},
}


@pytest.mark.parametrize("name", ENERGIES)
def test_energies_per_length_add_up_to_those_of_the_core(name):
    # In motion: section forces, which hold the damping as well, would be wrong by up to three times the energy.
    options = {"start": gd.Clamped(), **ENERGIES[name]}
    if name == "coupled":
        options["start"] = gd.Hinged()
    rod = gd.Rod("rod", 1.0, 10, gd.Circle(radius=5e-3), RUBBER, initial=gd.Straight((0, 0, 0), (0, 1, 0)), **options)
    motion = gd.simulate(gd.System(rods=[rod]), 0.3, rtol=1e-3)  # accepted states: strains between them are not these
    motion = motion.at_rows(np.linspace(0, len(motion.t) - 1, 7).astype(int))
    segments, vertices = energy_densities(motion, motion.compiled, 0)
    table, energy = motion.compiled.rods[0], motion.energy
    scale = float((energy.extension_shear + energy.bending_torsion).max())
    assert scale > 1e-6
    np.testing.assert_allclose(segments @ table["ds"], energy.extension_shear, rtol=1e-9, atol=1e-12 * scale)
    np.testing.assert_allclose(vertices @ table["weight"], energy.bending_torsion, rtol=1e-9, atol=1e-12 * scale)
    shown = scene(motion).tracks["rod0.energy"].values
    assert shown.shape[1] == 11


def test_the_energy_of_a_rest_is_shown():
    rest = gd.equilibrium(bob_on_a_hose())
    segments, vertices = energy_densities(rest.motion, rest.motion.compiled, 0)
    shown = scene(rest.motion).tracks["rod0.energy"].values[0]
    np.testing.assert_allclose(shown[1:-1], vertices[1:-1] + 0.5 * (segments[1:] + segments[:-1]), rtol=1e-12)


def test_without_dense_output_the_rows_serve():
    times = np.linspace(0.0, 1.0, 57)
    motion = gd.simulate(bob_on_a_hose(), 1.0, rtol=1e-3, output=times, dense=False)
    found = scene(motion)
    np.testing.assert_array_equal(found.tracks["t"].values.ravel(), times)
    np.testing.assert_array_equal(found.tracks["x"].values, motion["bob"].position)
    many = gd.simulate(bob_on_a_hose(), 1.0, rtol=1e-3, output=np.linspace(0.0, 1.0, 2001), dense=False)
    found = scene(many)
    assert found.frames == 121
    np.testing.assert_allclose(np.diff(found.tracks["t"].values.ravel()), 1.0 / 120, atol=5e-4)


@pytest.mark.parametrize(
    ("length", "fps", "frames"), [(0.01, 30, 121), (10.0, 30, 301), (10.0, 5, 121), (1e3, 30, 601)]
)
def test_number_of_frames(length, fps, frames):
    top = gd.Body("top", 1.0, (1, 1, 2))
    assert scene(gd.simulate(gd.System([top]), length, rtol=1e-3), fps=fps).frames == frames


def test_a_rest_has_one_frame():
    rest = gd.equilibrium(bob_on_a_hose())
    found = scene(rest.motion)
    assert found.frames == 1
    np.testing.assert_allclose(found.tracks["x"].values[0], rest["bob"].position)
    np.testing.assert_allclose(found.tracks["rod0.x"].values.reshape(21, 3), rest["hose"].positions)


def test_quaternions_do_not_jump():
    rod = gd.Rod("spun", 1.0, 8, gd.Rectangle(width=0.02, height=0.01), RUBBER, angular_velocity=(8.0, 0, 0))
    p = scene(gd.simulate(gd.System(rods=[rod], gravity=(0, 0, 0)), 2.0, rtol=1e-4)).tracks["rod0.p"].values
    p = p.reshape(len(p), 9, 4)
    assert np.sum(p[1:] * p[:-1], axis=-1).min() > 0.9
    assert np.sum(p[0, 1:] * p[0, :-1], axis=-1).min() > 0.9


# --- what stands there -----------------------------------------------------------------------------------------------


def everything():
    """A system with one of almost everything."""
    strip = gd.Rod(
        "strip", 0.8, 12, gd.Rectangle(width=0.05, height=0.004), RUBBER, initial=gd.Straight((0, 0, 1), (0.8, 0, 1)),
        start=gd.Clamped(), damping=gd.Damping.ratio(0.1, 2.0),
    )  # fmt: skip
    finger = gd.Rod(
        "finger", 0.5, 10, gd.Circle(radius=lambda s: 0.02 - 0.01 * s), RUBBER,
        initial=gd.Straight((0, 0.5, 0.3), (0.5, 0.5, 0.3)), start=gd.Clamped(), damping=gd.Damping.ratio(0.2, 2.0),
    )  # fmt: skip
    plain = gd.Rod(
        "plain", 1.0, 4, stiffness=(1e4, 1e4, 1e4, 1, 1, 1), density_per_length=0.1, rotary_inertia=(1e-4,) * 3
    )
    mesh = gd.Mesh([(0, 0, 0), (0.2, 0, 0), (0, 0.2, 0), (0, 0, 0.2)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
    bodies = [
        gd.Body.solid("corner", mesh, density=500, position=(0.3, -0.5, 0.6)),
        gd.Body.solid("slider", [gd.Box((0.1, 0.1, 0.06)), gd.Cone(0.02, 0.05)], mass=1.0, position=(0.7, -0.5, 0.5)),
        gd.Body("bare", 0.5, (0.1, 0.2, 0.25), position=(0, -0.5, 0.5)),
    ]
    joints = [
        gd.Prismatic("ground", "slider", at=(0.7, -0.5, 0.5), axis=(0, 0, 1), name="guide"),
        gd.Spherical("ground", "bare", at=(0, -0.5, 0.7)),
    ]
    forces = [
        gd.SpringDamper("ground", "slider", at_a=(0.7, -0.5, 0.95), stiffness=60.0),
        gd.Bushing("ground", "corner", at_a=(0.3, -0.5, 0.6), stiffness=50.0),
        gd.Cable("ground", "strip", at_a=(0.8, 0, 1.2), at_b=0.9, stiffness=50.0),
        gd.Tendon("finger", [(0.0, (0.0, 0.01)), (1.0, (0.0, 0.005))], tension=1.0),
        gd.Force("corner", force=lambda t: (1.0, t, 0.0), at=(0.1, 0, 0), frame="body"),
        gd.Torque("bare", (0, 0, 0.1)),
        gd.RodLoad("strip", force=(0, 0, 1), span=(0.5, 1.0), profile=lambda s: s, follow=True),
        gd.RodLoad("finger", moment=(0, 0.01, 0)),
        gd.PointMass("finger", 0.5, 0.01),
        gd.PlaneObstacle((0, 0, -2), (0, 0, 1), stiffness=1e3, smoothing=1e-3),
        gd.SphereObstacle((0.4, 0, -0.5), 0.1, stiffness=1e3, smoothing=1e-3),
        gd.CylinderObstacle((0.4, 0, -1), (0, 1, 0), 0.1, stiffness=1e3, smoothing=1e-3, name="bar"),
    ]
    sensors = [gd.PointSensor("tip", "strip", at=1.0), gd.JointSensor("height", "guide")]
    return gd.System(bodies, joints, rods=[strip, finger, plain], forces=forces, sensors=sensors)


@pytest.fixture(scope="module")
def whole():
    return gd.simulate(everything(), 0.05, rtol=1e-3)


def test_everything_is_told_in_plain_json(whole):
    found = scene(whole, title="all")
    static = json.loads(json.dumps(found.static, allow_nan=False))
    assert static == found.static
    kinds = lambda key: [one["kind"] for one in static[key]]  # noqa: E731
    assert [part["kind"] for body in static["bodies"] for part in body["parts"]] == ["mesh", "box", "cone", "box"]
    assert [body["guessed"] for body in static["bodies"]] == [False, False, True]
    assert kinds("joints") == ["prismatic", "spherical", "clamped", "clamped"]
    assert kinds("lines") == ["spring", "bushing", "cable", "tendon"]
    assert kinds("points") == ["mass", "sensor"]
    assert kinds("obstacles") == ["plane", "sphere", "cylinder"]
    assert [rod["round"] for rod in static["rods"]] == [False, True, True]
    assert [len(rod["half"]) for rod in static["rods"]] == [1, 11, 1]
    assert static["rods"][0]["half"] == [[0.025, 0.002]]
    assert "stress" not in static["rods"][2]["fields"]
    assert [one["name"] for one in static["obstacles"]] == ["plane", "sphere", "bar"]
    groups = [arrow["group"] for arrow in static["arrows"] if arrow["group"] != "contact"]
    assert groups == ["force", "torque", *["force per length"] * 7, "torque", *["reaction"] * 4]


def test_plots_point_at_columns_that_exist(whole):
    found = scene(whole)
    used = set()
    for plot in found.static["series"]:
        for line in plot["lines"]:
            assert line["column"] < found.tracks[line["track"]].values.shape[1]
            used.add((line["track"], line["column"]))
    assert {c for track, c in used if track == "series"} == set(range(found.tracks["series"].values.shape[1]))
    by_title = {plot["title"]: plot for plot in found.static["series"]}
    tip, at = by_title["sensor tip"], whole(found.tracks["t"].values.ravel())
    columns = [line["column"] for line in tip["lines"]]
    np.testing.assert_allclose(found.tracks["series"].values[:, columns], at.sensors["tip"])
    guide = by_title["guide: displacement"]["lines"][0]["column"]
    np.testing.assert_allclose(found.tracks["series"].values[:, guide], at["guide"].coordinates[:, 0])


def test_arrows_turn_with_what_they_follow(whole):
    found = scene(whole)
    arrows = found.tracks["arrows"].values.reshape(found.frames, -1, 3)
    t = found.tracks["t"].values.ravel()
    at = whole(t)
    body = np.stack([np.ones_like(t), t, np.zeros_like(t)], axis=1)
    np.testing.assert_allclose(arrows[:, 0], np.einsum("nij,nj->ni", at["corner"].matrix, body), atol=1e-12)
    frames = at["strip"].directors
    np.testing.assert_allclose(arrows[:, 2], 0.5 * frames[:, 6, :, 2], atol=1e-12)  # s = 0.5, d3
    np.testing.assert_allclose(arrows[:, 8], frames[:, 11, :, 2], atol=1e-12)


def test_joints_of_a_mechanism(four_bar):
    found = scene(four_bar)
    joints = found.static["joints"]
    assert len(joints) == len(four_bar.compiled.system.joints)
    assert {joint["kind"] for joint in joints} == {"revolute"}
    x = found.tracks["x"].values.reshape(found.frames, -1, 3)
    p = found.tracks["p"].values.reshape(found.frames, -1, 4)
    for joint, described in zip(joints, four_bar.compiled.system.joints, strict=True):
        anchor = joint["anchor"]
        place = x[0, anchor["body"]] + gd.rotations.rotate(p[0, anchor["body"]], np.array(anchor["at"]))
        wanted = four_bar.compiled.system.attachment(described)
        a = four_bar.compiled.system.point(described.a, wanted.at_a)
        np.testing.assert_allclose(place, a, atol=1e-9)


def test_junctions_are_not_shown_as_bodies():
    line = gd.Straight((0, 0, 0), (1, 0, 0))
    a = gd.Rod("a", 1.0, 4, gd.Circle(radius=5e-3), RUBBER, start=gd.Clamped(), initial=line)
    b = gd.Rod(
        "b", 1.0, 4, gd.Circle(radius=5e-3), RUBBER, start=gd.Hinged("a"), initial=gd.Straight((1, 0, 0), (2, 0, 0))
    )
    motion = gd.simulate(gd.System(rods=[a, b]), 0.01, rtol=1e-3)
    static = scene(motion).static
    assert [body["hidden"] for body in static["bodies"]] == [True]
    assert static["title"] == "a, b"
    assert not any("joint of" in plot["title"] for plot in static["series"])


def test_bad_arguments(hose):
    with pytest.raises(ValueError, match="fps"):
        scene(hose, fps=0)


def test_what_moves_is_shown_first():
    """The bob that swings, then what the hose carries, then the energy; not the body that stands still."""
    system = bob_on_a_hose()
    heavy = gd.Body("heavy", 1.0, (1, 1, 1), position=(3, 0, 0))
    system = gd.System([heavy, *system.bodies], [gd.Fixed("ground", "heavy", at=(3, 0, 0), name="hold")], system.rods)
    motion = gd.simulate(system, 0.5, rtol=1e-3)
    found = scene(motion).static
    titles = [found["series"][k]["title"] for k in found["first"]]
    assert titles[0] in ("bob: position", "hose: end position")
    assert titles[1:] == ["hose: end forces", "energy"]
    still = scene(gd.equilibrium(system).motion).static
    assert still["first"] == []


def test_the_place_of_a_rod_that_is_plotted_can_move():
    line, ends = gd.Straight((0, 0, 0), (0, 1, 0)), {"clamped": gd.Clamped("ground"), "free": gd.Free()}
    for start, end, word in (
        ("clamped", "free", "end"),
        ("free", "clamped", "start"),
        ("clamped", "clamped", "middle"),
    ):
        rod = gd.Rod("rod", 1.0, 4, gd.Circle(radius=5e-3), RUBBER, ends[start], ends[end], initial=line)
        compiled = gd.simulate(gd.System(rods=[rod]), 0.01, rtol=1e-2).compiled
        plot = next(x for x in describe(compiled)["series"] if x["title"] == f"rod: {word} position")
        assert plot["lines"][0]["column"] == 3 * {"end": 4, "start": 0, "middle": 2}[word]


def test_an_axis_has_one_unit():
    body = gd.Body("arm", 1.0, (0.1, 0.1, 0.1))
    slider = gd.Cylindrical("ground", "arm", at=(0, 0, 0), axis=(0, 0, 1), name="slider")
    sensors = [gd.JointSensor("both", "slider"), gd.JointSensor("drive", "slider", "effort", "angle")]
    motion = gd.simulate(gd.System([body], [slider], sensors=sensors), 0.1)
    found = {x["title"]: x for x in scene(motion).static["series"]}
    assert found["sensor both: angle"]["unit"] == "rad"
    assert found["sensor both: displacement"]["unit"] == "m"
    line = found["sensor both: displacement"]["lines"][0]
    fall = scene(motion).tracks[line["track"]].values[:, line["column"]]
    assert fall[-1] == pytest.approx(-0.5 * 9.81 * 0.1**2, rel=1e-5)
    assert found["sensor drive"]["unit"] == "N m"
    assert [ax.get_ylabel() for ax in motion.plot("sensors", names=["both"]).axes] == [
        "both angle [°]",
        "both displacement [mm]",
    ]
