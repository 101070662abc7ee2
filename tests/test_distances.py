"""Distances of rods over motions and at rest, sensors, envelopes, reports."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gyrod as gd

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)
BLOCK = gd.Box((0.06, 0.06, 0.06))


def hose(name="hose", first=(0, 0, 0), last=(0.5, 0, 0), **parts):
    given = {"segments": 8, "section": gd.Circle(radius=8e-3), "material": RUBBER, "start": gd.Clamped("ground")}
    shape = gd.Straight(start=first, end=last)
    return gd.Rod(name, length=0.5, initial=shape, damping=gd.Damping(factor=0.05), **(given | parts))


def model(**parts):
    other = hose("other", (0.2, -0.25, -0.5), (0.2, 0.25, -0.5), end=gd.Clamped("ground"), **parts)
    turn = gd.rotations.exp([0.5, 0.3, 0.2])
    given = {"position": (0.2, 0.1, -1.4), "velocity": (0, 0, 6), "orientation": turn, "shape": BLOCK}
    arm = gd.Body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), **given)
    bare = gd.Body("bare", mass=1.0, inertia=(0.1, 0.1, 0.1))
    sensors = [
        gd.DistanceSensor("gap", "hose", "arm"),
        gd.DistanceSensor("closing", "arm", "hose", quantity="rate"),
        gd.DistanceSensor("rods", "other", "hose"),
        gd.DistanceSensor("rods'", "other", "hose", quantity="rate"),
        gd.DistanceSensor("ball", "hose", "ground", shape=gd.Sphere(0.05, offset=(0.1, 0.2, -0.3))),
        gd.DistanceSensor("on arm", "hose", "arm", shape=[gd.Sphere(0.01, offset=(0.1, 0, 0))]),
        gd.DistanceSensor("spot", "hose", "ground", at_b=(0.3, 0.1, 0.0)),
    ]
    floor = gd.PlaneObstacle((0, 0, -2), (0, 0, 1), stiffness=1e4, smoothing=1e-4, name="floor")
    wall = gd.CylinderObstacle((0.3, 0, -0.9), (0, 1, 0), 0.1, stiffness=1e4, smoothing=1e-4, name="pipe")
    ball = gd.SphereObstacle((0.5, 0.4, -0.2), 0.1, stiffness=1e4, smoothing=1e-4, name="ball obstacle")
    return gd.System(
        bodies=[arm, bare], rods=[hose(**parts), other], forces=[floor, wall, ball], sensors=sensors,
        gravity=(0, 0, -9.81),
    )  # fmt: skip


@pytest.fixture(scope="module", params=["grid", "elements"])
def motion(request):
    parts = {"grid": {"segments": 8}, "elements": {"segments": None, "degree": 3}}[request.param]
    return gd.simulate(model(**parts), 0.4, rtol=1e-4, output=np.linspace(0, 0.4, 21))


def centreline(motion, name="hose"):
    """Points of the rod, (n, k, 3), by its own mesh, refined: polynomials of elements, cubics through the vertices."""
    rod, x = motion.system.rod(name), motion[name].positions
    if rod.degree is not None:
        rows, weights = rod.mesh.vertex_at(np.linspace(0, 1, 4001))
        return rod.mesh.interpolate(rows, weights, x)
    from scipy.interpolate import CubicHermiteSpline

    s = rod.mesh.ends
    slope = np.gradient(x, s, axis=1, edge_order=2)
    return CubicHermiteSpline(s, x, slope, axis=1)(np.linspace(0, 1, 4001))


def test_distance_to_a_body_in_its_axes_against_points_of_the_curve(motion):
    found = motion.distance("hose", "arm")
    arm, x = motion["arm"], centreline(motion)
    q = np.abs(np.einsum("nij,nki->nkj", arm.matrix, x - arm.position[:, None])) - 0.03
    away = np.linalg.norm(np.maximum(q, 0.0), axis=-1) + np.minimum(q.max(axis=-1), 0.0)
    assert_allclose(found.distance, away.min(axis=1) - 8e-3, atol=1e-6)
    assert_allclose(np.linspace(0, 1, 4001)[away.argmin(axis=1)], found.s, atol=3e-3)
    assert_allclose(np.linalg.norm(found.point - found.other, axis=1), np.abs(found.distance), atol=1e-9)
    assert_allclose(motion.sensors["gap"], found.distance, atol=1e-12)


def test_distances_to_obstacles_solids_and_rods(motion):
    x = centreline(motion)
    floor = motion.distance("hose", "floor")
    assert_allclose(floor.distance, x[..., 2].min(axis=1) + 2.0 - 8e-3, atol=1e-6)
    pipe = np.hypot(x[..., 0] - 0.3, x[..., 2] + 0.9).min(axis=1) - 0.1 - 8e-3
    assert_allclose(motion.distance("hose", "pipe").distance, pipe, atol=1e-6)
    centre = np.array([0.5, 0.4, -0.2])
    ball = np.linalg.norm(x - centre, axis=-1).min(axis=1) - 0.108
    assert_allclose(motion.distance("hose", "ball obstacle").distance, ball, atol=1e-6)
    assert_allclose(motion.distance("hose", gd.Sphere(0.1, offset=centre)).distance, ball, atol=1e-6)
    y = centreline(motion, "other")[:, ::20]
    pairs = [np.linalg.norm(a[::10, None] - b, axis=-1).min() - 0.016 for a, b in zip(x, y, strict=True)]
    rods = motion.distance("hose", "other")
    assert_allclose(rods.distance, pairs, atol=2e-5)
    assert_allclose(np.linalg.norm(rods.point - rods.other, axis=1), np.abs(rods.distance), atol=1e-9)
    assert np.all((rods.other_s >= 0.0) & (rods.other_s <= 1.0))
    several = motion.distance("hose", ["floor", "pipe", gd.Sphere(0.1, offset=centre)])
    assert_allclose(several.distance, np.min([floor.distance, pipe, ball], axis=0), atol=1e-6)
    assert several.smallest.to in ("floor", "pipe", "sphere")
    carried = motion.distance("hose", gd.Sphere(0.01, offset=(0.1, 0, 0)), on="arm")
    assert_allclose(motion.sensors["on arm"], carried.distance, atol=1e-12)
    spot = np.linalg.norm(x - [0.3, 0.1, 0.0], axis=-1).min(axis=1) - 8e-3
    assert_allclose(motion.sensors["spot"], spot, atol=1e-6)


def test_the_smallest_lies_between_the_rows(motion):
    found = motion.distance("hose", "arm")
    times = np.linspace(0.0, 0.4, 3001)
    fine = motion(times).sensors["gap"]
    assert found.minimum < found.distance.min() - 1e-5  # no row is near enough
    assert_allclose(found.minimum, fine.min(), atol=1e-6)
    assert_allclose(found.smallest.t, times[fine.argmin()], atol=2e-4)
    assert found.smallest.to == "arm"
    assert re.search(r"m from 'arm' at t = 0\.\d+ s, s = ", str(found.smallest))
    assert 0.0 < found.error < 0.1


@pytest.mark.parametrize(("value", "rate"), [("gap", "closing"), ("rods", "rods'")])
def test_rates_of_distances_are_derivatives(motion, value, rate):
    t, h = np.linspace(0.02, 0.12, 6), 1e-5
    slope = (motion(t + h).sensors[value] - motion(t - h).sensors[value]) / (2 * h)
    assert np.max(np.abs(slope)) > 0.1
    assert_allclose(motion(t).sensors[rate], slope, atol=2e-3 * np.max(np.abs(slope)))


def test_a_mesh_and_the_box_it_is(motion):
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.05
    numbers = "013 032 467 475 045 051 237 276 026 064 157 173"
    faces = [[int(x) for x in word] for word in numbers.split()]
    place = {"offset": (0.2, 0.0, -0.3), "orientation": gd.rotations.exp([0.3, 0.2, 0.1])}
    mesh, box = gd.Mesh(corners, faces, **place), gd.Box((0.1, 0.1, 0.1), **place)
    assert mesh.open_edges() == 0
    assert mesh.degenerate() == 0
    a, b = motion.distance("hose", mesh), motion.distance("hose", box)
    assert b.distance.min() < 0.0 < b.distance.max()
    assert_allclose(a.distance, b.distance, atol=1e-4)
    outside = b.distance > 0.0
    assert_allclose(a.distance[outside], b.distance[outside], atol=1e-6)
    half = gd.Mesh(corners, faces[1:], **place)
    found = motion.distance("hose", half)
    assert np.all(found.distance >= -8e-3 - 1e-9)
    assert found.notes[0].startswith("'mesh' is a mesh that is not closed: it has no inside")
    assert not a.notes


@pytest.mark.parametrize("method", ["rodas", "radau5"])
def test_a_limit_of_a_distance_ends_a_run(method):
    """Where an event of the same distance does; nothing happens where it is kept, and a start beyond is refused."""
    block = gd.Box((0.1, 0.1, 0.1), offset=(0.15, 0, -0.6))
    gap = gd.DistanceSensor("gap", "hose", "ground", shape=block)
    free = gd.System(rods=[hose(segments=4)], gravity=(0, 0, -9.81), sensors=[gap])
    options = {"method": method, "rtol": 1e-4}
    least = gd.simulate(free, 0.5, **options).sensors["gap"].min()
    edge = float(least + 0.02)
    limited = free.with_({"sensors[0].limit": edge})
    motion = gd.simulate(limited, 0.5, **options)
    event = gd.Event(lambda _t, m: m.distance("hose", block).distance - edge, terminal=True, direction=-1)
    other = gd.simulate(free, 0.5, events=[event], **options)
    assert (motion.status, motion.events[-1].name) == ("event", "limit of DistanceSensor 'gap'")
    assert motion.t[-1] == pytest.approx(other.t[-1], abs=1e-9)
    assert motion.sensors["gap"][-1] == pytest.approx(edge, abs=1e-7)
    assert gd.simulate(free.with_({"sensors[0].limit": float(least - 0.01)}), 0.5, **options).status == "finished"
    with pytest.raises(gd.ModelError, match=r"DistanceSensor 'gap': limit = 1 does not hold at the start, where"):
        gd.simulate(free.with_({"sensors[0].limit": 1.0}), 0.5, **options)
    with pytest.raises(gd.ModelError, match="limit = 1 is of the distance, but quantity = 'rate'"):
        gd.DistanceSensor("gap", "hose", "ground", shape=block, quantity="rate", limit=1.0)


def test_at_rest_on_a_path_and_in_studies_and_events():
    system = gd.System(rods=[hose()], gravity=(0, 0, -9.81), sensors=[
        gd.DistanceSensor("gap", "hose", "ground", shape=gd.Box((0.1, 0.1, 0.1), offset=(0.1, 0, -0.4)))])  # fmt: skip
    rest = gd.equilibrium(system)
    found = rest.distance("hose", gd.Box((0.1, 0.1, 0.1), offset=(0.1, 0, -0.4)))
    assert found.distance.shape == ()
    assert found.point.shape == (3,)
    assert_allclose(found.minimum, rest.sensors["gap"], atol=1e-12)
    path = gd.follow(system, "gravity", stops=[0.0, 0.5, 1.0])
    along = path.motion.distance("hose", gd.Box((0.1, 0.1, 0.1), offset=(0.1, 0, -0.4)))
    assert_allclose(along.distance[-1], rest.sensors["gap"], atol=1e-6)
    outputs = {"least": gd.Minimum("gap")}
    study = gd.study(system, {"hose.material.young": [4e6, 8e6]}, outputs, 0.3, rtol=1e-4, workers=1)
    motion = study.motion(0)
    box = gd.Box((0.1, 0.1, 0.1), offset=(0.1, 0, -0.4))
    assert_allclose(study["least"][0], motion.distance("hose", box).minimum, atol=1e-6)
    level = float(study["least"][0]) + 0.02
    event = gd.Event(lambda t, m: m.sensors["gap"] - level, terminal=True)
    ended = gd.simulate(system.with_({"hose.material.young": 4e6}), 0.3, rtol=1e-4, events=[event])
    assert ended.status == "event"
    assert_allclose(ended.sensors["gap"][-1], level, atol=1e-6)


def test_sensors_in_files(tmp_path):
    system = model()
    system.save(tmp_path / "model.yaml")
    assert gd.load(tmp_path / "model.yaml") == system


# --- envelopes -------------------------------------------------------------------------------------------------------


def swinging(rate):
    """A stiff rod whose clamp is led round z."""
    first = np.array([0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5)])  # its d3 is x
    frame = gd.Clamped(frame=lambda t: gd.rotations.multiply(gd.rotations.exp([0.0, 0.0, rate * t]), first))
    return gd.System(rods=[hose(start=frame, material=gd.Material(young=5e9, poisson=0.5, density=1100), segments=4)])


def test_the_envelope_of_a_turning_rod_is_a_sector():
    motion = gd.simulate(swinging(2.0), 0.5, rtol=1e-3, output=np.linspace(0, 0.5, 5))
    found = motion.envelope("hose", resolution=4e-3)
    assert found.mesh.open_edges() == 0
    x = motion(np.linspace(0, 0.5, 50))["hose"].positions
    assert_allclose(np.hypot(x[:, -1, 0], x[:, -1, 1]), 0.5, atol=2e-3)  # as good as rigid
    # A sector of radius L, 2 r thick, half of a ring along its rim, half of a rod on both sides.
    r, L, angle = 8e-3, 0.5, np.arctan2(x[-1, -1, 1], x[-1, -1, 0])
    assert_allclose(angle, 1.0, atol=0.05)
    exact = angle * L**2 * r + angle * L * np.pi * r**2 / 2 + np.pi * r**2 * L + 4 / 3 * np.pi * r**3
    assert_allclose(found.volume, exact, rtol=0.05)
    assert_allclose(found.bounds[:, 2], [-0.008, 0.008], atol=2e-3)
    assert_allclose(found.bounds[1, 0], 0.508, atol=2e-3)
    assert found.frames > 20  # more than rows
    assert "Envelope: 0.00" in repr(found)


def test_envelopes_of_several_motions_and_their_files(tmp_path):
    motion = gd.simulate(model(), 0.1, rtol=1e-3)
    rest = gd.equilibrium(gd.System(rods=[hose()], gravity=(0, 0, -9.81)))
    one, two = gd.envelope(rest, "hose", resolution=8e-3), gd.envelope([motion, rest], "hose", resolution=8e-3)
    assert_allclose(one.volume, np.pi * 8e-3**2 * 0.5 + 4 / 3 * np.pi * 8e-3**3, rtol=0.3)
    assert two.volume > 2.0 * one.volume
    for ending in ("stl", "ply", "obj"):
        path = one.save(tmp_path / f"envelope.{ending}")
        again = gd.read_mesh(path)
        assert again.open_edges() == 0
        assert_allclose(again.moments()[0], one.volume, rtol=1e-5)
    motion.html(tmp_path / "page.html", envelope=one)
    assert '"swept":{"vertices":"' in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert motion.envelope(["hose", "other"], resolution=0.02).frames > 2


def test_ply_as_others_write_it(tmp_path):
    head = "ply\nformat {}\ncomment by hand\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    head += "property uchar red\nelement face 2\nproperty list uchar int vertex_index\nend_header\n"
    text = head.format("ascii 1.0") + "0 0 0 1\n2 0 0 1\n2 1 0 1\n0 1 0 1\n4 0 1 2 3\n3 0 1 2\n"
    (tmp_path / "a.ply").write_text(text)
    mesh = gd.read_mesh(tmp_path / "a.ply", scale=1e-3)
    assert len(mesh.faces) == 3
    assert_allclose(mesh.vertices.max(axis=0), [2e-3, 1e-3, 0.0])
    table = np.zeros(4, dtype=[("x", ">f4", 3), ("red", "u1")])
    table["x"] = [[0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 1, 0]]
    quad = b"\x04" + np.array([0, 1, 2, 3], ">i4").tobytes() + b"\x03" + np.array([0, 1, 2], ">i4").tobytes()
    data = head.format("binary_big_endian 1.0").encode() + table.tobytes() + quad
    (tmp_path / "b.ply").write_bytes(data)
    assert np.array_equal(gd.read_mesh(tmp_path / "b.ply").faces, mesh.faces)
    (tmp_path / "c.ply").write_bytes(data[:-3])
    with pytest.raises(ValueError, match="its numbers do not fit its header; it is damaged"):
        gd.read_mesh(tmp_path / "c.ply")


# --- reports ---------------------------------------------------------------------------------------------------------


def test_a_report_has_the_numbers_and_nothing_from_elsewhere(tmp_path):
    limited = {"bend_radius": 0.01}
    motions = [gd.simulate(model(limits=limited, segments=n), 0.2, rtol=1e-3) for n in (6, 8)]
    box = gd.Box((0.1, 0.1, 0.1), offset=(0.2, 0, -0.3))
    path = gd.report(
        motions, tmp_path / "r.html", rods="hose", to=["arm", "other", "pipe", box], names=["<six>", "eight"],
        clearance=5e-3, title="Hose & arm",
    )  # fmt: skip
    text = path.read_text(encoding="utf-8")
    assert "&lt;six&gt;" in text
    assert "<six>" not in text
    assert "Hose &amp; arm" in text
    assert not re.search(r"<script|https?://|src=", text)
    for word in (
        "Smallest bend radius, mm",
        "Largest stress",
        "Force at the start, N",
        "Distance to arm",
        "≥ 10",
        "≥ 5",
    ):
        assert word in text
    least = motions[0].distance("hose", box).minimum
    assert f"{1e3 * least:.4g}" in text
    assert ("class=bad" in text) == any(m.distance("hose", x).minimum < 5e-3 for m in motions for x in ("other", box))
    assert "companion" in text or "rough figures" in text
    alone = motions[0].report(tmp_path / "one.html").read_text(encoding="utf-8")
    assert alone.count("<h2>Summary</h2>") == 2  # of both rods
    rest = gd.equilibrium(gd.System(rods=[hose()], gravity=(0, 0, -9.81)))
    still = rest.report(tmp_path / "rest.html", to=box).read_text(encoding="utf-8")
    assert "at rest" in still
    assert "Over time" in text
    assert "Over time" not in still  # of a rest there is nothing to draw over time
    faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2]]
    tent = gd.Mesh([(0, 0, -1), (0.1, 0, -1), (0, 0.1, -1), (0, 0, -0.9)], faces)
    assert "a mesh that is not closed" in rest.report(tmp_path / "r.html", to=tent).read_text(encoding="utf-8")


def test_a_study_reports_its_runs(tmp_path):
    system = gd.System(rods=[hose()], gravity=(0, 0, -9.81))
    outputs = {"tip": gd.Final("hose.positions[-1]")}
    study = gd.study(system, {"hose.material.young": [4e6, 8e6]}, outputs, at_rest=True, workers=1)
    text = study.report(tmp_path / "study.html").read_text(encoding="utf-8")
    assert "hose.material.young = 4e+06" in text
    assert "hose.material.young = 8e+06" in text
    laid = gd.route(0.5, gd.Hinged(at=(0, 0, 0)), gd.Hinged(at=(0.4, 0, 0)), section=gd.Circle(5e-3), material=RUBBER)
    lengths = gd.study(laid, {"cable.length": [0.3, 0.45, 0.5]}, {"E": "energy.total"}, at_rest=True, engine="serial")
    text = lengths.report(tmp_path / "lengths.html").read_text(encoding="utf-8")
    assert "cable.length = 0.5" in text
    assert "cable.length = 0.3" not in text  # one that failed has no column
    with pytest.raises(ValueError, match=r"length = 0.3 is too short"):
        lengths.report(tmp_path / "lengths.html", runs=[0])


# --- sentences -------------------------------------------------------------------------------------------------------


def test_a_rod_without_a_radius_asks_for_one():
    given = {
        "stiffness": (1e3, 1e3, 1e3, 0.1, 0.1, 0.1),
        "density_per_length": 0.2,
        "rotary_inertia": (1e-5, 1e-5, 2e-5),
    }
    rod = hose(section=None, material=None, **given)
    rest = gd.equilibrium(gd.System(rods=[rod], gravity=(0, 0, -9.81)))
    with pytest.raises(ValueError, match=r"Rod 'hose' has a stiffness and no section, .*; give radius= in m"):
        rest.distance("hose", BLOCK)
    assert rest.distance("hose", BLOCK, radius=0.01).minimum < 0.0
    with pytest.raises(gd.ModelError, match="radius is missing: rod 'hose' has a stiffness and no section"):
        gd.System(rods=[rod], sensors=[gd.DistanceSensor("g", "hose", "ground", shape=BLOCK)])
    gd.System(rods=[rod], sensors=[gd.DistanceSensor("g", "hose", "ground", shape=BLOCK, radius=0.01)])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda m: m.distance("hos", "arm"), "rod = 'hos' is unknown"),
        (lambda m: m.distance("hose", "amr"), "to = 'amr' is unknown"),
        (lambda m: m.distance("hose", "hose"), "to = 'hose' is the rod itself"),
        (lambda m: m.distance("hose", "bare"), "to = 'bare': the body has no shape; give Body"),
        (lambda m: m.distance("hose", 3), "to must be the name of a body, a rod or a contact in space, a solid"),
        (lambda m: m.distance("hose", []), "to must be the name of a body, a rod or a contact in space, a solid"),
        (lambda m: m.distance("hose", "arm", on="bare"), "on = 'bare' says which body carries a solid"),
        (lambda m: m.distance("hose", BLOCK, on="hose"), "on = 'hose' is unknown"),
        (lambda m: m.distance("hose", "arm", radius=-1.0), "radius must be a positive finite number, got -1.0"),
        (lambda m: m.envelope("hose", resolution=0.0), "resolution must be a positive finite number, got 0.0"),
        (lambda m: m.envelope("hos", resolution=0.01), "rods = 'hos' is unknown"),
        (
            lambda m: m.envelope("hose", resolution=2e-5),
            "resolution = 2e-05 m is too fine: the grid would take more than",
        ),
        (lambda m: gd.envelope([], "hose", resolution=0.01), "motions must be a Motion or several"),
        (lambda m: m.envelope("hose", resolution=0.02).save("a.dae"), "its ending must be .stl, .ply or .obj"),
        (lambda m: m.report("a.pdf"), "must end in .html"),
        (lambda m: m.report("a.html", rods="hos"), "rods = 'hos' is unknown"),
        (lambda m: gd.report([m], "a.html", names=["a", "b"]), "names has 2 entries, but there are 1 variants"),
        (lambda m: gd.report([], "a.html"), "motions must be a Motion, a Rest or several"),
        (lambda m: m.report("a.html", clearance=-1), "clearance must be a positive finite number, got -1"),
    ],
)
def test_sentences(motion, call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call(motion)


@pytest.mark.parametrize(
    ("sensor", "sentence"),
    [
        (gd.DistanceSensor("g", "hose", "bare"), "at_a is missing, but 'hose' is a rod"),
        (gd.DistanceSensor("g", "hose", "ground"), "at_a is missing, but 'hose' is a rod"),
        (gd.DistanceSensor("g", "hose", "hose"), "a and b are both 'hose'"),
        (gd.DistanceSensor("g", "arm", "ground", shape=BLOCK), "shape goes with a rod without at_a or at_b"),
        (gd.DistanceSensor("g", "hose", "arms"), "arms"),
    ],
)
def test_sensors_that_do_not_fit(sensor, sentence):
    system = model()
    with pytest.raises(gd.ModelError, match=re.escape(sentence)):
        gd.System(bodies=system.bodies, rods=system.rods, sensors=[sensor])
