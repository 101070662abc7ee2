"""The registry of quantities: it describes what tracks have, and everything along a rod can be read at any place."""

from __future__ import annotations

import numpy as np
import pytest

import gyrod as gd
from gyrod.motion.readings import along, quantity
from gyrod.quantities import BODY, COLOURS, FIELDS, JOINT, MOTION, PLACES, ROD

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)
ALONG = [field.name for field in ROD.values() if field.place]


def system(**mesh):
    hose = gd.Rod(
        "hose", 1.0, section=gd.Circle(radius=5e-3), material=RUBBER, initial=gd.Straight((0, 0, 0), (0, 1, 0)),
        start=gd.Clamped("ground"), end=gd.Hinged("bob", at=(0, 0, 0.05)), damping=gd.Damping(factor=5e-3), **mesh,
    )  # fmt: skip
    bob = gd.Body("bob", 0.05, (1e-4, 1e-4, 2e-4), position=(0, 1.0, -0.05), angular_velocity=(0.1, 0.2, 3.0))
    arm = gd.Body("arm", 1.0, (0.1, 0.1, 0.1), position=(1.0, 0, 0))
    hinge = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), name="hinge")
    places = (0.0, 0.3, 1.0)
    sensors: list[gd.Sensor] = [gd.PointSensor(f"x{s}", "hose", at=s) for s in places]
    sensors += [gd.RotationSensor(f"matrix{s}", "hose", at=s, quantity="matrix") for s in places]
    for name in ("force", "moment", "strain", "curvature"):
        sensors += [gd.SectionSensor(f"{name}{s}", "hose", s, name) for s in places]
    sensors += [gd.SectionSensor(f"force_space{s}", "hose", s, "force", "space") for s in places]
    return gd.System([bob, arm], [hinge], [hose], sensors=sensors)


@pytest.fixture(scope="module", params=[{"segments": 8}, {"segments": 3, "degree": 3}], ids=["grid", "elements"])
def motion(request):
    return gd.simulate(system(**request.param), 0.1, rtol=1e-4, output=np.linspace(0.0, 0.1, 5))


def components(field):
    return (3, 3) if len(field.components) == 9 else (len(field.components),) if field.components else ()


@pytest.mark.parametrize("table", [BODY, ROD, JOINT], ids=["body", "rod", "joint"])
def test_fields_have_the_shape_that_the_registry_says(motion, table):
    name = {id(BODY): "bob", id(ROD): "hose", id(JOINT): "hinge"}[id(table)]
    mesh = motion["hose"].mesh
    for field in table.values():
        if field.name in ("coordinates", "rates", "multipliers"):
            continue  # one for each coordinate; of the absolute form only
        sections = len(mesh.curvatures) + 2 * (mesh.degree is not None)
        points = {**{place: len(getattr(mesh, place, ())) for place in PLACES}, "sections": sections}
        here = (points[field.place],) if field.place else ()
        found = quantity(f"{name}.{field.name}", motion.system)
        assert found.read(motion).shape == (len(motion.t), *here, *components(field)), field.name
        assert found.shape(motion) == (*here, *components(field))
        assert found.unit == ("" if field.unit == "1" else field.unit) or (table is JOINT and not field.unit)


def test_units_of_joints_are_those_of_their_coordinates(motion):
    assert quantity("hinge.coordinate", motion.system).unit == "rad"
    assert quantity("hinge.rates", motion.system).unit == "rad/s"
    assert quantity("hinge.effort", motion.system).unit == "N m"
    assert quantity("norm hinge.force", motion.system).unit == "N"
    assert quantity("x0.3[1]", motion.system).unit == "m"
    assert quantity("moment0.3", motion.system).unit == "N m"


@pytest.mark.parametrize("field", ALONG)
def test_a_single_time_is_read_without_time_axis(motion, field):
    row = motion(motion.t[2])
    for text in (f"hose.{field}", f"hose.{field}[1]", f"norm hose.{field}[-1]"):
        found = quantity(text, motion.system)
        if field == "multipliers" and not found.read(motion).size:
            continue
        values = found.read(motion.at_rows(slice(2, 3)))
        np.testing.assert_allclose(found.read(row), values[0], rtol=1e-9, atol=1e-9, equal_nan=True)
        assert found.shape(row) == found.shape(motion)


@pytest.mark.parametrize("field", ["positions", "velocities", "Omega", "strain", "curvature", "force", "moment"])
def test_fields_along_a_rod_are_those_of_the_mesh_at_its_points(motion, field):
    mesh, known = motion["hose"].mesh, ROD[field]
    s = getattr(mesh, known.place)
    inside = (s > 0.0) & (s < 1.0)
    found = along(motion, "hose", field, s[inside])
    values = getattr(motion["hose"], field)[:, inside]
    np.testing.assert_allclose(found, values, rtol=1e-9, atol=1e-12 * np.abs(values).max())


@pytest.mark.parametrize("s", [0.0, 0.3, 1.0])
def test_fields_along_a_rod_are_what_sensors_read(motion, s):
    pairs = {"positions": "x", "directors": "matrix", "force_space": "force_space"}
    pairs |= {name: name for name in ("force", "moment", "strain")}
    if s == 0.3 or motion["hose"].mesh.degree is None:  # sensors extend curvatures of elements to the ends
        pairs["curvature"] = "curvature"
    for field, sensor in pairs.items():
        wanted = motion.sensors[f"{sensor}{s}"]
        found = along(motion, "hose", field, [s])[:, 0]
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12 * max(1.0, np.abs(wanted).max()))


def test_ends_of_elements_carry_what_holds_them():
    motion = gd.simulate(system(segments=3, degree=3), 0.1, rtol=1e-4, output=np.linspace(0.0, 0.1, 5))
    track = motion["hose"]
    np.testing.assert_allclose(along(motion, "hose", "force_space", 1.0)[:, 0], track.end_force, rtol=1e-9, atol=1e-9)
    start = along(motion, "hose", "moment_space", 0.0)[:, 0]
    np.testing.assert_allclose(start, -track.start_moment, rtol=1e-9, atol=1e-12)
    ends = along(motion, "hose", "bend_radius", [0.0, 1.0])
    np.testing.assert_allclose(ends, track.bend_radius[:, [0, -1]], rtol=1e-9)
    stress = along(motion, "hose", "stress", [0.0, 1.0])
    np.testing.assert_allclose(stress, motion.stress("hose")[:, [0, -1]], rtol=1e-9)


@pytest.mark.parametrize("field", ALONG)
def test_shapes_along_a_rod_follow_from_the_places(motion, field):
    if field == "multipliers":
        return
    found = along(motion, "hose", field, [0.0, 0.2, 0.7, 1.0])
    assert found.shape == (len(motion.t), 4, *components(ROD[field]))
    assert not np.isnan(found).any()
    row = motion.at_rows(slice(1, 2))
    np.testing.assert_allclose(along(row, "hose", field, [0.2]), found[1:2, 1:2], rtol=1e-9, atol=1e-12)


def test_colours_are_fields_with_their_units():
    for key, colour in COLOURS.items():
        assert colour.field in ("", "contact") or colour.inverse or colour.unit == ROD[colour.field].unit, key
    assert COLOURS["bend_radius"].unit == "m"
    assert COLOURS["torsion"].unit == "1/m"
    assert COLOURS["torque"].unit == "N m"


def test_names_stand_once():
    for table in (*FIELDS.values(), MOTION):
        assert [field.name for field in table.values()] == list(table)
