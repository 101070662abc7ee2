"""Contacts as they are written, read, changed, measured, saved and drawn."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gyrod as gd
from gyrod import files
from gyrod.equations import compile_system
from gyrod.look import faces
from gyrod.look.drawing import Stage
from gyrod.look.scene import _touched, scene
from gyrod.model import BOUNDARIES
from gyrod.storage.frames import Scene

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)
LYING = 0.01 - 0.01 * 1e-3


def hose(**more):
    start, end = (-0.5, 0.0, LYING), (0.5, 0.0, LYING)
    return gd.Rod("hose", None, 8, gd.Circle(0.01), RUBBER, initial=gd.Straight(start, end), **more)


def ball(height=0.05):
    return gd.Body.solid("ball", gd.Sphere(0.05), mass=1.0, position=(0, 0.3, height))


def laid(**more):
    floor = gd.Contact(["hose", "ball"], gd.Plane(), stiffness=1e5, damping=0.5, friction=0.3, name="floor")
    return gd.System([ball()], rods=[hose()], contacts=[floor], **more)


@pytest.fixture(scope="module")
def motion():
    sensors = [gd.ContactSensor(quantity, "floor", quantity) for quantity in gd.quantities.CONTACT]
    return gd.simulate(laid(sensors=sensors), 0.05, rtol=1e-5, output=np.linspace(0.0, 0.05, 6))


# --- files and changes -----------------------------------------------------------------------------------------------

TEXT = """
gyrod: 1
bodies:
  - {name: ball, mass: 1, inertia: [1, 1, 1], shape: {sphere: {radius: 50 mm}}, position: [0, 0, 1]}
  - {name: tray, mass: 1, inertia: [1, 1, 1], shape: {box: {size: [1, 1, 0.1]}}}
rods:
  - name: hose
    segments: 4
    length: 1
    initial: {straight: {start: [0, 0, 2], end: [1, 0, 2]}}
    section: {circle: {radius: 5 mm}}
    material: {young: 5 MPa, poisson: 0.5, density: 1100}
contacts:
  - {a: hose, b: {plane: {point: [0, 0, -10 mm], normal: [0, 0, 2]}}, stiffness: 100 kPa, friction: {coefficient: 0.4}}
  - {a: ball, b: tray, stiffness: 5 N/mm, restitution: 0.8, friction: 0.2, name: bounce}
  - {a: [hose, ball], b: {box: {size: [1, 1, 1], offset: [5, 0, 0]}}, stiffness: 1e5}
"""


def test_contacts_of_a_file():
    system = files.loads(TEXT).system
    plane, bounce, box = system.contacts
    assert (plane.a, plane.b.point.tolist(), plane.b.normal.tolist()) == (("hose",), [0, 0, -0.01], [0, 0, 1])
    assert (plane.stiffness, plane.friction) == (1e5, gd.Friction(0.4))
    assert (bounce.b, bounce.stiffness, bounce.friction) == (("tray",), 5000.0, gd.Friction(0.2))
    assert (box.a, box.b) == (("hose", "ball"), gd.Box((1, 1, 1), offset=(5, 0, 0)))
    written = files.to_data(system)["contacts"]
    assert (written[1]["a"], written[1]["b"]) == ("ball", "tray")
    assert files.from_data(files.to_data(system)) == system


@pytest.mark.parametrize(
    ("old", "new", "number", "says"),
    [
        ("b: tray", "b: tay", 1, "Did you mean 'tray'?"),
        ("a: ball", "a: bal", 1, "Did you mean 'ball'?"),
        ("b: tray", "b: {plan: {}}", 1, "the key 'plan' is unknown"),
        ("b: tray", "b: 5", 1, "must be a name"),
        ("friction: 0.2", "friction: -0.2", 1, "friction"),
        ("friction: 0.2", "friction: {coefficient: 0.3, static: 0.2}", 1, "static = 0.2 is below coefficient = 0.3."),
        ("friction: 0.2", "friction: rough", 1, "must be a number"),
        ("restitution: 0.8", "restitution: 1.2", 1, "must be between 0 and 1"),
        ("restitution: 0.8", "restitution: 0.8, damping: 1", 1, "cannot both be given"),
        ("5 N/mm", "5 kg", 1, "has the wrong unit"),
        ("a: hose", "a: hose, restitution: 0.5", 0, "restitution belongs to bodies; rods take damping."),
        ("shape: {box: {size: [1, 1, 0.1]}}", "color: red", 1, "has no shape"),
    ],
)
def test_bad_contacts_of_a_file_are_told_with_their_places(old, new, number, says):
    with pytest.raises(gd.ModelError, match=says) as caught:
        files.loads(TEXT.replace(old, new, 1))
    first = TEXT[: TEXT.index("contacts:")].count("\n") + 2
    assert [detail.line for detail in caught.value.details] == [first + number]


def test_changes_reach_contacts():
    system = laid()
    changed = system.with_({"floor.stiffness": 2e5, "floor.friction.coefficient": 0.5, "floor.b.point[2]": -1.0})
    assert (changed.contacts[0].stiffness, changed.contacts[0].friction.coefficient) == (2e5, 0.5)
    assert changed.contacts[0].b.point.tolist() == [0, 0, -1]
    assert {"floor.stiffness", "floor.b.normal", "floor.friction.coefficient"} <= set(system.paths())
    with pytest.raises(gd.ModelError, match=r"stiffness must be a positive"):
        system.with_({"floor.stiffness": -1.0})


# --- sentences -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("contact", "says"),
    [
        (lambda: gd.Contact("hose", "bob"), "body 'bob' has no shape; give Body(..., shape=Box(...)) or a surface."),
        (
            lambda: gd.Contact("bare", gd.Plane()),
            "stiffness is missing and rod 'bare' has no material to take it from;",
        ),
        (lambda: gd.Contact("hose", gd.Plane(), restitution=0.5), "restitution belongs to bodies; rods take damping."),
        (lambda: gd.Contact("bob", "hose", stiffness=1e5), "b = 'hose' is a rod and 'bob' a body: take the rod as a."),
        (lambda: gd.Contact("hos", gd.Plane()), "a = 'hos' is unknown"),
        (lambda: gd.Contact("ball", gd.Plane(), stiffness=1, restitution=1.2), "restitution must be between 0 and 1"),
        (
            lambda: gd.Contact("ball", gd.Plane(), restitution=1, damping=1),
            "restitution and damping cannot both be given",
        ),
        (lambda: gd.Contact("ball", gd.Plane(), friction=-0.1), "Contact(ball, Plane): friction must not be negative"),
        (lambda: gd.Friction(0.3, static=0.2), "static = 0.2 is below coefficient = 0.3."),
        (
            lambda: gd.Friction(0.3, presliding=0),
            "presliding must be positive, got 0; for no memory give sticking=False",
        ),
        (lambda: gd.Friction(0.3, presliding=-1), "presliding must be a positive"),
        (lambda: gd.Friction(0.3, sticking=1), "sticking must be True or False, got 1."),
        (lambda: gd.ContactSensor("s", "flor"), "contact = 'flor' is unknown"),
        (lambda: gd.ContactSensor("s", "floor", "weight"), "quantity = 'weight' is unknown"),
    ],
)
def test_what_cannot_be_is_told(contact, says):
    bare = gd.Rod("bare", 1.0, 4, stiffness=(1, 1, 1, 1, 1, 1), density_per_length=1.0, rotary_inertia=(1, 1, 1))
    bodies = [ball(), gd.Body("bob", 1.0, (1, 1, 1), position=(9, 0, 0))]
    floor = gd.Contact("ball", gd.Plane(), stiffness=1e5, name="floor")

    def system(made):
        lists = {"sensors": [made], "contacts": [floor]} if isinstance(made, gd.ContactSensor) else {"contacts": [made]}
        return gd.System(bodies, rods=[hose(), bare], **lists)

    with pytest.raises(ValueError, match=re.escape(says)):
        compile_system(system(contact()))


@pytest.mark.parametrize(
    ("joints", "b"), [((), "ball"), ((gd.Spherical("ball", "bob", at=(0, 0, 0)),), "ball"), ((), gd.Plane())]
)
def test_what_finds_nothing_to_touch_is_told(joints, b):
    bob = gd.Body("bob", 1.0, (1, 1, 1), position=(9, 0, 0), shape=gd.Sphere(0.1) if joints else None)
    bodies = [ball(), bob] if b == "ball" else [bob]
    with pytest.raises(gd.ModelError, match="a = 'all' finds nothing that could touch b; give a rod, or a body with"):
        gd.System(bodies, joints, contacts=[gd.Contact("all", b, stiffness=1.0)])


# --- what is measured ------------------------------------------------------------------------------------------------


def test_sensors_and_quantities_read_the_same(motion):
    floor = motion.contacts["floor"]
    assert motion["floor"] is floor
    for name in gd.quantities.CONTACT:
        np.testing.assert_array_equal(motion.sensors[name], getattr(floor, name))
        found = gd.motion.readings.quantity(f"floor.{name}", motion.system)
        np.testing.assert_array_equal(found.read(motion), getattr(floor, name))
    assert motion.sensors.units["slip"] == "m/s"
    weight = 9.81 * (1.0 + np.pi * 1e-4 * 1100)
    assert gd.equilibrium(laid()).contacts["floor"].normal == pytest.approx(weight, rel=1e-6)


def test_forces_between_steps_lie_between_those_of_the_steps(motion):
    whole = gd.simulate(laid(), 0.05, rtol=1e-5)
    ends = whole.contacts["floor"].normal
    times = 0.5 * (whole.t[1:] + whole.t[:-1])
    between = whole(times).contacts["floor"].normal
    low, high = np.minimum(ends[1:], ends[:-1]), np.maximum(ends[1:], ends[:-1])
    slack = 0.5 * np.ptp(ends)
    assert np.all(between > low - slack)
    assert np.all(between < high + slack)


def test_contacts_without_a_name_are_told_apart():
    contacts = [gd.Contact("ball", gd.Plane((0, 0, z)), stiffness=1e5) for z in (0, -1)]
    found = gd.simulate(gd.System([ball()], contacts=contacts), 0.01, rtol=1e-3).contacts
    assert list(found) == ["ball, Plane", "ball, Plane 2"]
    assert found["ball, Plane 2"].gap[-1] == pytest.approx(1.0, abs=1e-3)


def test_saved_results_give_contacts_back(motion, tmp_path):
    motion.save(tmp_path / "run.h5")
    opened = gd.open(tmp_path / "run.h5")
    for name in gd.quantities.CONTACT:
        np.testing.assert_array_equal(opened.sensors[name], motion.sensors[name])
        np.testing.assert_array_equal(getattr(opened["floor"], name), getattr(motion["floor"], name))
    motion.to_csv(tmp_path / "run.csv")
    assert "normal" in (tmp_path / "run.csv").read_text().splitlines()[0]


def test_studies_read_contacts():
    study = gd.study(
        laid(), {"floor.stiffness": [1e5, 2e5]}, t_end=0.02, outputs={"deep": gd.Minimum("floor.gap")}, rtol=1e-4
    )
    deep = np.asarray(study["deep"]).ravel()
    assert deep[0] < deep[1] < 0.0


# --- what is drawn ---------------------------------------------------------------------------------------------------

SURFACES = {
    gd.Plane: gd.Plane((0, 0, 1), (0, 1, 1)),
    gd.Shaft: gd.Shaft(0.2, (1, 0, 0), (0, 1, 1)),
    gd.Pipe: gd.Pipe(0.2, (1, 0, 0), (0, 1, 1)),
    gd.Bowl: gd.Bowl(0.5, (0, 1, 0)),
    gd.Eyelet: gd.Eyelet(0.5, 0.1, (0, 1, 0), (1, 1, 0)),
    gd.HeightField: gd.HeightField(0.1 * np.eye(5), (0.5, 0.25), corner=(0, 0, -1)),
}


@pytest.mark.parametrize("kind", BOUNDARIES, ids=lambda c: c.__name__)
def test_faces_lie_on_their_surface_and_look_away_from_it(kind):
    surface = SURFACES[kind]
    found = faces.faces_of_surface(surface, np.zeros(3), 2.0)
    if kind in (gd.Plane, gd.Shaft):  # a plate has a lower side, a piece of a shaft has ends
        found = found[4:5] if kind is gd.Plane else found[: faces.ROUND]
    for face in found:
        at = (face - surface.offset) @ surface.turn
        np.testing.assert_allclose(surface.surface.nearest(at).distance, 0.0, atol=1e-9)
        normal = np.cross(face[1] - face[0], face[2] - face[0]) + np.cross(face[2] - face[0], face[3] - face[0])
        outside = (face.mean(axis=0) + 0.05 * normal / np.linalg.norm(normal) - surface.offset) @ surface.turn
        assert surface.surface.nearest(outside[None]).distance[0] > 0.0


def test_scenes_hold_what_is_touched_once_and_its_forces(motion):
    touched = (*SURFACES.values(), gd.Capsule(0.1, 0.2), gd.Bowl(0.5, (0, 1, 0)))
    contacts = [gd.Contact("hose", x, stiffness=1e4) for x in touched]
    system = gd.System(rods=[hose()], contacts=contacts)
    assert len(system.touched) == len(touched) - 1
    kinds = [_touched(x, None)["kind"] for x in system.touched]
    assert kinds == ["plane", "cylinder", "cylinder", "mesh", "mesh", "mesh", "mesh"]
    made = scene(motion)
    arrows = [i for i, arrow in enumerate(made.static["arrows"]) if arrow["group"] == "contact"]
    assert len(arrows) == 9 + 1
    drawn = made.tracks["arrows"].values.reshape(made.frames, -1, 3)[-1, arrows].sum(axis=0)
    np.testing.assert_allclose(drawn, motion["floor"].force[-1], rtol=1e-2, atol=0.05)
    assert "contacts: normal force" in [plot["title"] for plot in made.static["series"]]


def test_plots_of_contacts(motion):
    forces, pressure, bar = motion.plot("contact").axes
    assert forces.get_ylabel().startswith("normal force [")
    assert [line.get_label() for line in forces.lines] == ["floor"] or len(forces.lines) == 1
    assert pressure.get_ylabel().startswith("s [")
    assert bar.get_ylabel().startswith("pressure on hose [")
    rest = gd.equilibrium(laid()).plot("contact")
    line = rest.axes[1].lines[0]
    np.testing.assert_allclose(line.get_ydata(), np.pi * 1e-4 * 1100 * 9.81, rtol=1e-3)
    with pytest.raises(ValueError, match="what = 'contact' is for contacts"):
        gd.simulate(gd.System([ball()]), 0.01).plot("contact")


def test_contacts_are_read_together(monkeypatch):
    """Each reading finds all bodies and rods: one of each contact would cost the square of their number."""
    bodies = [gd.Body(f"b{k}", 1.0, (1e-3,) * 3, position=(k, 0, 0.1), shape=gd.Sphere(0.1)) for k in range(5)]
    floor = gd.Plane((0, 0, 0), (0, 0, 1))
    touching = [gd.Contact(b.name, floor, stiffness=1e4, damping=0.5, name=f"floor {b.name}") for b in bodies]
    motion = gd.simulate(gd.System(bodies, contacts=touching), 0.01)
    asked = []
    read = type(motion.compiled).contact_states
    monkeypatch.setattr(
        type(motion.compiled), "contact_states", lambda c, k, *a, **o: (asked.append(k), read(c, k, *a, **o))[1]
    )
    forces = [track.force for track in motion.contacts.values()]
    assert asked[:1] == [[0, 1, 2, 3, 4]]
    assert len(asked) <= 2  # with the rows beside these
    monkeypatch.setattr("gyrod.motion.contacts.NUMBERS", 1)
    apart = gd.simulate(gd.System(bodies, contacts=touching), 0.01)
    np.testing.assert_array_equal([track.force for track in apart.contacts.values()], forces)
    assert asked[-1] == [4]


# --- pictures of forces -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crossed():
    """A rod on a rod, and a ball on a tray."""
    held = {"start": gd.Clamped(), "end": gd.Clamped()}
    lower = gd.Rod("lower", None, 10, gd.Circle(0.01), RUBBER, initial=gd.Straight((-0.5, 0, 0), (0.5, 0, 0)), **held)
    upper = gd.Rod("upper", None, 4, gd.Circle(0.01), RUBBER, initial=gd.Straight((0, -0.1, 0.0199), (0, 0.1, 0.0199)))
    tray = gd.Body.solid("tray", gd.Box((0.2, 0.2, 0.1)), mass=5.0, position=(0, 1, -0.05))
    thrown = gd.Body.solid("ball", gd.Sphere(0.05), mass=1.0, position=(0, 1, 0.0499))
    contacts = [
        gd.Contact("upper", "lower", stiffness=1e5, name="cross"),
        gd.Contact("ball", "tray", stiffness=1e5, name="pair"),
        gd.Contact("tray", gd.Plane((0, 0, -0.1)), stiffness=1e6, name="earth"),
    ]
    system = gd.System([tray, thrown], rods=[lower, upper], contacts=contacts)
    return gd.simulate(system, 0.02, rtol=1e-5, output=np.linspace(0.0, 0.02, 5))


def test_paraview_reads_contact_forces(motion, crossed, tmp_path):
    found, _ = Scene(motion.compiled).arrays(motion)
    total = found["contact force"].sum(axis=1)
    np.testing.assert_allclose(total, motion["floor"].force, rtol=1e-9, atol=1e-12)
    drawn = Scene(crossed.compiled)
    found, _ = drawn.arrays(crossed)
    of = {name: found["contact force"][:, drawn.object == i].sum(axis=1) for i, name in enumerate(drawn.names)}
    np.testing.assert_allclose(of["upper"], crossed["cross"].force, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(of["lower"], -of["upper"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(of["ball"], crossed["pair"].force, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(of["tray"] + of["ball"], crossed["earth"].force, rtol=1e-9, atol=1e-9)
    assert np.abs(of["upper"]).max() > 0.1
    crossed.save(tmp_path / "run.h5")
    import h5py

    with h5py.File(tmp_path / "run.h5") as file:
        stored = np.array(file["VTKHDF/PointData/contact force"]).reshape(found["contact force"].shape)
    np.testing.assert_allclose(stored, found["contact force"], rtol=1e-6, atol=1e-6)


def test_the_viewer_draws_forces_and_colours_of_crossings(crossed):
    made = scene(crossed)
    arrows = made.static["arrows"]
    drawn = made.tracks["arrows"].values.reshape(made.frames, -1, 3)
    rods = crossed.compiled.system.rod_names
    first = crossed["cross"].force[0]
    for name, sign in (("upper", 1.0), ("lower", -1.0)):
        mine = [i for i, a in enumerate(arrows) if a["name"] == "cross" and a["anchor"].get("rod") == rods.index(name)]
        assert len(mine) == len(crossed.compiled.system.rod(name).fractions)
        np.testing.assert_allclose(drawn[0, mine].sum(axis=0), sign * first, rtol=1e-2, atol=1e-3)
    pressed = made.tracks["rod0.contact"].values[0]
    assert np.argmax(pressed) == len(pressed) // 2
    assert "contact" not in scene(gd.simulate(gd.System(rods=[hose()]), 1e-3)).static["rods"][0]["fields"]


def test_colours_of_contact_are_forces_per_length(motion):
    found = scene(motion).tracks["rod0.contact"].values[-1]
    part = motion["floor"].stations[0]
    np.testing.assert_allclose(found, np.linalg.norm(part.force[-1], axis=-1) / part.weights, rtol=1e-2)


def test_films_have_arrows_of_contacts(motion, crossed):
    for made in (motion, crossed):
        bare, full = (Stage(made, (200, 160), contacts=shown) for shown in (False, True))
        assert not bare.touches
        points, arrows = full.touches[-1]
        assert len(points) == len(arrows) > 0
        sizes = [np.linalg.norm(a, axis=1).max(initial=0.0) for _, a in full.touches]
        assert max(sizes) == pytest.approx(0.2 * full.length)
        assert len(full._polygons(0)[0]) > 0
        assert np.any(bare.frame(len(made.t) - 1) != full.frame(len(made.t) - 1))


# --- notes ------------------------------------------------------------------------------------------------------------


def test_modes_say_what_is_closed():
    mass = gd.Body("block", mass=1.0, inertia=(1e-3,) * 3, position=(0, 0, 0.05), shape=gd.Box((0.1,) * 3))
    pulled = gd.Force("block", (3.0, 0, 0))
    floor = gd.Contact("block", gd.Plane(), stiffness=1e5, friction=gd.Friction(0.5, presliding=1e-4), name="floor")
    (note,) = gd.modes(gd.equilibrium(gd.System([mass], forces=[pulled], contacts=[floor])), n=2).notes
    assert note == "floor: 4 closed, 4 of them stick and 0 slip."


@pytest.mark.parametrize(
    ("height", "stiffness", "says"),
    [
        (
            0.01,
            1e12,
            "stiffness = 1e+12: the weight would sink in by 3e-12 m, less than rtol = 1e-06 resolves (1e-06 m);",
        ),
        (0.008, 1e5, ": rod 'hose' starts 2 mm inside of body 'tray' at s = "),
        (0.01, 1e5, None),
    ],
)
def test_runs_tell_what_is_odd_about_contacts(height, stiffness, says):
    tray = gd.Body("tray", 1e3, (1e3,) * 3, position=(0.5, 0, -0.5), shape=gd.Box((3, 3, 1)))
    lies = hose().with_(initial=gd.Straight((0, 0, height), (1, 0, height)))
    contact = gd.Contact("hose", "tray", stiffness=stiffness)
    notes = gd.simulate(gd.System([tray], rods=[lies], contacts=[contact]), 1e-4, rtol=1e-6).notes
    if says is None:
        assert notes == ()
    else:
        assert len(notes) == 1
        assert notes[0].startswith("Contact(hose, tray)")
        assert says in notes[0]


@pytest.mark.parametrize("stiffness", [1e3, 1e9])
def test_what_passes_through_is_told(stiffness):
    plate = gd.Body("plate", 1e6, (1e6,) * 3, shape=gd.Box((1, 1, 0.01)))
    shot = ball().with_(position=(0, 0, 1), velocity=(0, 0, -1e3))
    contact = gd.Contact("ball", "plate", stiffness=stiffness)
    motion = gd.simulate(gd.System([plate, shot], contacts=[contact], gravity=(0, 0, 0)), 2e-3)
    passed = motion["ball"].position[-1, 2] < 0.0
    assert passed == (stiffness == 1e3)
    assert [("'ball' has passed through 'plate'" in note) for note in motion.notes] == [True] * int(passed)


def test_segments_too_long_for_loops_are_told():
    rope = hose().with_(section=gd.Circle(5e-3))
    own = gd.Contact("hose", "hose", name="knot")
    (note,) = gd.simulate(gd.System(rods=[rope], contacts=[own]), 1e-4).notes
    assert note.startswith(
        "Contact 'knot': segments of rod 'hose' are 125 mm long, 25 radii, and it touches itself from"
    )
    assert note.endswith("at least 34 segments.")
    fine = rope.with_(segments=34)
    assert gd.simulate(gd.System(rods=[fine], contacts=[own]), 1e-4).notes == ()
