"""Shapes of bodies: volumes and inertias against closed forms, meshes and their files."""

from __future__ import annotations

import pickle
import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gyrod as gd
from gyrod.model import SOLIDS
from gyrod.model.appearance import COLORS, equivalent_box

CORNER = gd.Mesh([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])


def box_mesh(size, **at):
    x, y, z = 0.5 * np.asarray(size)
    v = [(sx * x, sy * y, sz * z) for sx in (-1, 1) for sy in (-1, 1) for sz in (-1, 1)]
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return gd.Mesh(v, [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], **at)


def lathe(profile, sides=400):
    """Closed mesh of revolution about z through points (r, z), the first and the last on the axis."""
    angles = 2 * np.pi * np.arange(sides) / sides
    rings = [(r * np.cos(a), r * np.sin(a), z) for r, z in profile[1:-1] for a in angles]
    v = [*rings, (0, 0, profile[0][1]), (0, 0, profile[-1][1])]
    first, last, n = len(rings), len(rings) + 1, len(profile) - 2
    faces = []
    for j in range(sides):
        k = (j + 1) % sides
        faces.append((first, k, j))
        faces.append((last, (n - 1) * sides + j, (n - 1) * sides + k))
        for i in range(n - 1):
            a, b = i * sides + j, i * sides + k
            faces += [(a, b, b + sides), (a, b + sides, a + sides)]
    return gd.Mesh(v, faces)


CLOSED = {
    "box": (gd.Box((1.0, 2.0, 3.0)), 6.0, (13 / 12, 10 / 12, 5 / 12)),
    "sphere": (gd.Sphere(2.0), 32 * np.pi / 3, (1.6, 1.6, 1.6)),
    "cylinder": (gd.Cylinder(1.0, 2.0), 2 * np.pi, (7 / 12, 7 / 12, 0.5)),
    "cone": (gd.Cone(1.0, 2.0), 2 * np.pi / 3, (0.15 + 0.15, 0.3, 0.3)),
    "capsule": (gd.Capsule(1.0, 2.0), 10 * np.pi / 3, None),
    "mesh": (CORNER, 1 / 6, None),
}


def test_every_solid_is_compared():
    assert {type(solid) for solid, *_ in CLOSED.values()} == set(SOLIDS)


@pytest.mark.parametrize("name", CLOSED)
def test_mass_and_inertia_are_those_of_the_closed_form(name):
    solid, volume, moments = CLOSED[name]
    body = gd.Body.solid("b", solid, density=3.0)
    assert body.mass == pytest.approx(3.0 * volume, rel=1e-14)
    if moments is not None:
        np.testing.assert_allclose(body.inertia, body.mass * np.diag(moments), rtol=1e-14, atol=1e-14)
    same = gd.Body.solid("b", solid, mass=7.0)
    assert same.mass == 7.0
    np.testing.assert_allclose(same.inertia / 7.0, body.inertia / body.mass, rtol=1e-14, atol=1e-16)


def test_a_corner_by_integrals():
    body = gd.Body.solid("b", CORNER, mass=1.0)
    # Of the tetrahedron x, y, z >= 0, x + y + z <= 1: mean of x² is 1/10, of xy 1/20, of x 1/4.
    xx, xy = 1 / 10 - 1 / 16, 1 / 20 - 1 / 16
    np.testing.assert_allclose(body.inertia, np.full((3, 3), -xy) + np.eye(3) * (2 * xx + xy), rtol=1e-13)
    np.testing.assert_allclose(body.shape.offset, [-0.25] * 3, rtol=1e-14)


@pytest.mark.parametrize(
    ("solid", "mesh", "tolerance"),
    [
        (gd.Box((1.0, 2.0, 3.0)), box_mesh((1.0, 2.0, 3.0)), 1e-13),
        (gd.Cylinder(1.0, 2.0), lathe([(0, -1), (1, -1), (1, 1), (0, 1)]), 2e-4),
        (gd.Cone(1.0, 2.0), lathe([(0, -1), (1, -1), (1e-9, 1), (0, 1)]), 2e-4),
        (
            gd.Capsule(1.0, 2.0),
            lathe([(np.sin(a), -np.cos(a) - np.sign(np.cos(a))) for a in np.linspace(0, np.pi, 102)]),
            1e-3,
        ),
        (gd.Sphere(1.0), lathe([(np.sin(a), -np.cos(a)) for a in np.linspace(0, np.pi, 101)]), 1e-3),
    ],
)
def test_solids_agree_with_their_meshes(solid, mesh, tolerance):
    for mine, theirs in zip(solid.moments(), mesh.moments(), strict=True):
        np.testing.assert_allclose(theirs, mine, rtol=tolerance, atol=tolerance)


def test_faces_that_look_inwards_are_the_same_solid():
    inside = gd.Mesh(CORNER.vertices, CORNER.faces[:, ::-1])
    for mine, theirs in zip(CORNER.moments(), inside.moments(), strict=True):
        np.testing.assert_allclose(theirs, mine, rtol=1e-14)


@given(
    offset=st.tuples(*[st.floats(-5, 5)] * 3),
    turn=st.tuples(*[st.floats(-3, 3)] * 3),
    name=st.sampled_from(sorted(CLOSED)),
)
@settings(max_examples=60, deadline=None)
def test_a_moved_and_turned_solid_has_the_turned_inertia(offset, turn, name):
    solid = CLOSED[name][0]
    R = gd.rotations.matrix_from_rotation_vector(turn)
    before = gd.Body.solid("b", solid, density=2.0)
    after = gd.Body.solid("b", replace(solid, offset=offset, orientation=turn), density=2.0)
    np.testing.assert_allclose(after.inertia, R @ before.inertia @ R.T, rtol=1e-9, atol=1e-12)
    # The centre of mass is the origin of the body: where the offset was does not matter.
    np.testing.assert_allclose(after.shape.moments()[1], 0.0, atol=1e-12)


def test_parts_add_by_the_theorem_of_the_parallel_axis():
    dumbbell = [gd.Sphere(0.1, offset=(-1, 0, 0)), gd.Sphere(0.1, offset=(3, 0, 0))]
    body = gd.Body.solid("dumbbell", dumbbell, mass=2.0)
    np.testing.assert_allclose(
        np.diag(body.inertia), [2 * 0.004, 2 * 0.004 + 8.0, 2 * 0.004 + 8.0], rtol=1e-13, atol=1e-14
    )
    np.testing.assert_allclose([solid.offset for solid in body.shapes], [(-2, 0, 0), (2, 0, 0)], rtol=1e-14)


def test_an_axis_turns_cylinder_and_cone():
    lying = gd.Body.solid("c", gd.Cylinder(0.1, 2.0, axis=(3, 0, 0)), mass=1.0)
    standing = gd.Body.solid("c", gd.Cylinder(0.1, 2.0), mass=1.0)
    np.testing.assert_allclose(np.diag(lying.inertia), np.diag(standing.inertia)[[2, 1, 0]], rtol=1e-14)
    for axis in [(0, 0, -1), (0.6, 0, 0.8), (0, -1, 0)]:
        center = gd.Cone(0.5, 1.0, axis=axis).moments()[1]
        np.testing.assert_allclose(center, -0.25 * np.array(axis), atol=1e-14)  # towards the base


def test_the_equivalent_box_has_the_inertia():
    size, R = np.array([0.3, 1.0, 2.0]), gd.rotations.matrix_from_rotation_vector((0.4, -1.1, 0.7))
    body = gd.Body.solid("b", gd.Box(size, orientation=R), mass=2.5)
    found, axes = equivalent_box(body.mass, body.inertia)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    back = axes @ np.diag(body.mass / 12 * (np.sum(found**2) - found**2)) @ axes.T
    np.testing.assert_allclose(back, body.inertia, rtol=1e-12)
    np.testing.assert_allclose(np.sort(found), size, rtol=1e-12)
    np.testing.assert_allclose(equivalent_box(1.0, np.diag([1.0, 1.0, 0.0]))[0], [0, 0, np.sqrt(12.0)], atol=1e-12)


def test_shapes_are_part_of_a_body_by_value():
    body = gd.Body.solid("b", [gd.Box((1, 1, 1)), CORNER], density=1.0, color="#ABC")
    assert body.color == "#aabbcc"
    again = pickle.loads(pickle.dumps(body))
    assert again == body
    assert replace(body, mass=2.0).shapes == body.shapes
    assert replace(body, color=None) != body
    assert gd.Body("b", 1.0, (1, 1, 1)).shapes == ()
    one = gd.Sphere(1.0)
    assert gd.Body("b", 1.0, (1, 1, 1), shape=one).shape is one
    assert gd.Body("b", 1.0, (1, 1, 1), shape=one).shapes == (one,)


@pytest.mark.parametrize(("given_color", "found"), [("Red", COLORS["red"]), ((1, 0.5, 0), "#ff8000"), ("#123456",) * 2])
def test_colours(given_color, found):
    assert gd.Body("b", 1.0, (1, 1, 1), color=given_color).color == found


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: gd.Box((1, 2)), ["Box", "size", "three numbers"]),
        (lambda: gd.Box((1, 2, 0)), ["size", "> 0", "(1, 2, 0)"]),
        (lambda: gd.Sphere(-1), ["Sphere", "radius", "-1"]),
        (lambda: gd.Cylinder(1, np.inf), ["Cylinder", "length"]),
        (lambda: gd.Cone(1, 1, axis=(0, 0, 0)), ["axis", "zero"]),
        (lambda: gd.Box((1, 1, 1), offset=1, orientation=(1, 1, 1, 1)), ["2 problems", "offset", "orientation"]),
        (lambda: gd.Mesh([(0, 0, 0)], [(0, 0, 0)]), ["vertices", "3 to"]),
        (lambda: gd.Mesh(CORNER.vertices, [(0, 1, 9)]), ["vertex 9", "there are 4"]),
        (lambda: gd.Mesh(CORNER.vertices, [(0, 1, -1)]), ["faces", "counted from 0"]),
        (lambda: gd.Mesh(CORNER.vertices, [(0, 1, 0.5)]), ["faces"]),
        (lambda: gd.Body("b", 1, (1, 1, 1), shape="cube"), ["shape", "Box", "'cube'"]),
        (lambda: gd.Body("b", 1, (1, 1, 1), shape=[]), ["shape"]),
        (lambda: gd.Body("b", 1, (1, 1, 1), color="nice"), ["color", "'nice'", "red"]),
        (lambda: gd.Body("b", 1, (1, 1, 1), color=(2, 0, 0)), ["color", "0 to 1"]),
        (lambda: gd.Body.solid("b", gd.Sphere(1)), ["exactly one of density and mass", "neither"]),
        (lambda: gd.Body.solid("b", gd.Sphere(1), mass=1, density=2), ["density = 2", "mass = 1"]),
        (lambda: gd.Body.solid("b", gd.Sphere(1), density=-2), ["density", "-2"]),
        (lambda: gd.Body.solid("", "x", density=1, position=1), ["3 problems", "name", "shape", "position"]),
        (lambda: gd.Body.solid("b", gd.Mesh(CORNER.vertices, CORNER.faces[:3]), mass=1), ["not closed", "3 edges"]),
    ],
)  # fmt: skip
def test_bad_shapes_get_a_sentence(make, words):
    with pytest.raises(gd.ModelError) as error:
        make()
    for word in words:
        assert word in str(error.value)


# --- files -----------------------------------------------------------------------------------------------------------


def binary_stl(mesh):
    facets = [struct.pack("<12fH", 0, 0, 0, *mesh.vertices[face].ravel(), 0) for face in mesh.faces]
    return b"solid looks like text".ljust(80) + struct.pack("<I", len(facets)) + b"".join(facets)


def text_stl(mesh):
    lines = ["solid corner"]
    for face in mesh.faces:
        corners = [f"vertex {x!r} {y!r} {z!r}" for x, y, z in mesh.vertices[face].tolist()]
        lines += ["facet normal 0 0 0", "outer loop", *corners, "endloop", "endfacet"]
    return "\n".join([*lines, "endsolid"]).encode()


def obj(mesh):
    lines = ["# a comment", "mtllib ../../secret.mtl", *(f"v {x!r} {y!r} {z!r}" for x, y, z in mesh.vertices.tolist())]
    return "\n".join(
        [*lines, "vt 0 0", *("f " + " ".join(f"{i + 1}/1" for i in f) for f in mesh.faces.tolist())]
    ).encode()


@pytest.mark.parametrize(("write", "ending"), [(binary_stl, "stl"), (text_stl, "STL"), (obj, "obj")])
@pytest.mark.parametrize("mesh", [CORNER, box_mesh((1.0, 2.0, 0.5))], ids=["corner", "box"])
def test_meshes_from_files(tmp_path, write, ending, mesh):
    file = tmp_path / f"mesh.{ending}"
    file.write_bytes(write(mesh))
    found = gd.read_mesh(file, scale=2.0)
    assert len(found.vertices) == len(mesh.vertices)  # corners were welded
    assert found.open_edges() == 0
    assert found.moments()[0] == pytest.approx(8.0 * mesh.moments()[0], rel=1e-6)


def test_polygons_and_negative_numbers_of_obj(tmp_path):
    file = tmp_path / "square.obj"
    file.write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf -4 -3 -2 -1\n")
    assert len(gd.read_mesh(file).faces) == 2


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.stl", b"", ["not an STL"]),
        ("a.stl", b"\0" * 90, ["damaged", "90"]),
        ("a.stl", b"solid x\nvertex 1 2\n", ["line 2", "three numbers"]),
        ("a.stl", b"solid x\nvertex 1 2 3\n", ["1 corners"]),
        ("a.stl", b"solid x\nendsolid", ["no triangles"]),
        ("a.stl", b"solid x\nvertex 1 2 nan\nvertex 0 0 0\nvertex 1 1 1", ["not finite"]),
        ("a.obj", b"v 1 2 x\n", ["line 1"]),
        ("a.obj", b"v 0 0 0\nf 1 2 3\n", ["line 2", "not a vertex"]),
        ("a.obj", b"v 0 0 0\nf 1 1\n", ["line 2", "three corners"]),
        ("a.obj", b"v 0 0 0\nf 1 1 1\n", ["three different corners"]),
        ("a.dae", b"ply", ["ending", ".stl, .ply or .obj"]),
    ],
)  # fmt: skip
def test_bad_mesh_files_get_a_sentence(tmp_path, name, content, words):
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        gd.read_mesh(file)
    for word in [str(file), *words]:
        assert word in str(error.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(OSError, match="cannot be read"):
        gd.read_mesh(tmp_path / "none.stl")
    with pytest.raises(ValueError, match="path must be"):
        gd.read_mesh(3)
    with pytest.raises(ValueError, match="scale"):
        gd.read_mesh(tmp_path / "none.stl", scale=0)


@given(data=st.binary(max_size=300), text=st.booleans(), ending=st.sampled_from(["stl", "ply", "obj"]))
def test_any_bytes_give_a_mesh_or_a_sentence(tmp_path_factory, data, text, ending):
    file = tmp_path_factory.mktemp("m") / f"m.{ending}"
    file.write_bytes(b"solid \nvertex " + data if text else data)
    try:
        assert isinstance(gd.read_mesh(file), gd.Mesh)
    except ValueError as error:
        assert str(file) in str(error)  # noqa: PT017


URDF = """<robot name="r"><material name="steel"><color rgba="0.5 0.5 0.5 1"/></material>
<link name="base"/>
<link name="arm"><inertial><origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/><mass value="2"/>
 <inertia ixx="1" iyy="1" izz="1"/></inertial>
 <visual><origin xyz="0.5 0 1"/><geometry><box size="1 2 3"/></geometry><material name="steel"/></visual>
 <visual><geometry><mesh filename="package://secret/file.stl"/></geometry></visual>
 <visual><geometry><sphere radius="-1"/></geometry></visual><visual/></link>
<link name="cap"><visual><geometry><cylinder radius="0.1" length="0.2"/></geometry></visual></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
<joint name="glue" type="fixed"><parent link="arm"/><child link="cap"/><origin xyz="0 0 2"/></joint></robot>"""


@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_visuals_of_urdf_become_shapes(angle):
    arm = gd.load(URDF, positions={"turn": angle}).body("arm")
    box, cylinder = arm.shapes
    assert arm.color == "#808080"
    # The body's axes are turned by a quarter against those of the link: x of the link is -y of the body.
    np.testing.assert_allclose(box.offset, [0, -0.5, 0], atol=1e-12)
    np.testing.assert_allclose(np.abs(box.turn), [[0, 1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(cylinder.offset, [0, 0, 1], atol=1e-12)
    assert (cylinder.radius, cylinder.length) == (0.1, 0.2)
