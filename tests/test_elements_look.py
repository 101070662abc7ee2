"""Rods of elements in pictures, films, the viewer, files and comparisons: curves through their nodes, no polygons."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gyrod as gd
from gyrod import cli, files
from gyrod.comparison import Comparison, Reference, Trial, compare, running
from gyrod.comparison.discretizations import Discretization, coarser, finer, parse
from gyrod.look import drawing, packing, props
from gyrod.look.curves import PIECES, Curve
from gyrod.look.scene import describe, scene
from gyrod.look.tracks import energy_densities
from gyrod.model.meshes import apply
from gyrod.quantities import COLOURS
from gyrod.storage.frames import Scene

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)


def hose(name="hose", segments=3, degree=3, **options):
    options = {"initial": gd.Straight((0, 0, 0), (0, 1, 0)), "start": gd.Clamped(), **options}
    return gd.Rod(name, 1.0, segments, gd.Circle(radius=5e-3), RUBBER, degree=degree, **options)


@st.composite
def elements(draw):
    """A curve of elements of any degree whose lengths differ."""
    gaps = draw(st.lists(st.floats(0.05, 1.0), min_size=1, max_size=6))
    ends = np.concatenate([[0.0], np.cumsum(gaps) / sum(gaps)])
    ends[-1] = 1.0
    rod = hose(segments=None, degree=draw(st.sampled_from([2, 3, 4])), grid=ends)
    return Curve(rod)


def made_up(mesh, force, moment=None):
    """A track with sections only, whose ends are those of its polynomials."""
    moment = force if moment is None else moment
    ends = [apply(*mesh.strain_at([0.0, 1.0]), x) for x in (force, moment, moment)]
    return SimpleNamespace(force=force, moment=moment, _end_sections=ends)


def polynomial(s, degree, columns=3):
    """Polynomials whose values are of size one, (len(s), columns)."""
    rng = np.random.default_rng(degree)
    return sum(np.asarray(s)[:, None] ** k * rng.normal(size=columns) for k in range(degree + 1))


def vee(s):
    return np.stack([np.cos(s), 0.0 * s, np.sin(s), 0.0 * s], axis=-1)


# --- where they are drawn --------------------------------------------------------------------------------------------


@given(elements())
@settings(max_examples=25, deadline=None)
def test_elements_are_drawn_in_pieces_through_their_nodes(curve):
    mesh = curve.rod.mesh
    assert len(curve.s) == PIECES * mesh.cells + 1
    assert (np.diff(curve.s) > 0.0).all()
    at = np.searchsorted(curve.s, mesh.vertices)
    np.testing.assert_array_equal(curve.s[at], mesh.vertices)
    x = np.random.default_rng(0).normal(size=(2, len(mesh.vertices), 3))
    np.testing.assert_array_equal(curve.vertices(x)[:, at], x)
    for a, b in pairwise(mesh.ends):
        inside = curve.s[(curve.s >= a) & (curve.s <= b)]
        assert np.diff(inside).max() < 0.25 * (b - a)


@given(elements())
@settings(max_examples=25, deadline=None)
def test_an_element_is_drawn_as_the_polynomial_that_it_is(curve):
    mesh = curve.rod.mesh
    x = polynomial(mesh.vertices, mesh.degree)
    np.testing.assert_allclose(curve.vertices(x), polynomial(curve.s, mesh.degree), atol=1e-13)
    track = SimpleNamespace(positions=x, velocities=x, quaternions=vee(mesh.frames))
    middle = 0.5 * (curve.s[1:] + curve.s[:-1])
    third = curve.pieces(track, "velocities", lambda v: v[..., 2])
    np.testing.assert_allclose(third, polynomial(middle, mesh.degree)[:, 2], atol=1e-13)
    for s in (0.0, 0.37, 1.0):
        np.testing.assert_allclose(curve.point(track, s), polynomial([s], mesh.degree)[0], atol=1e-13)


@given(elements(), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_frames_are_unit_quaternions_whatever_the_signs(curve, seed):
    nodes = curve.rod.mesh.vertices
    p = vee(nodes)
    flipped = p * np.random.default_rng(seed).choice([-1.0, 1.0], size=(len(nodes), 1))
    found = curve.frames(SimpleNamespace(vertex_quaternions=flipped))
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), 1.0, atol=1e-14)
    # A turn about a fixed axis: interpolated quaternions turn about it too, by nearly the angle.
    assert gd.rotations.distance(found, vee(curve.s)).max() < 2e-2
    track = SimpleNamespace(quaternions=flipped)
    assert gd.rotations.distance(curve.frame(track, 0.4), vee(np.array(0.4))) < 2e-2


def test_a_straight_or_round_rod_is_drawn_as_one():
    angle = lambda s: 0.5 * np.pi * s  # noqa: E731
    round_ = gd.Curve(lambda s: (np.sin(angle(s)), 1.0 - np.cos(angle(s)), 0.0))
    rod = gd.Rod("bow", None, 2, gd.Circle(radius=5e-3), RUBBER, degree=4, initial=round_)
    x = Curve(rod).vertices(rod.positions)
    radius = np.linalg.norm(x - (0.0, 1.0, 0.0), axis=1)
    assert np.abs(radius - 1.0).max() < 2e-5  # the polygon of the nodes is off by 1e-2
    nodes = rod.positions
    assert np.abs(np.linalg.norm(0.5 * (nodes[1:] + nodes[:-1]) - (0.0, 1.0, 0.0), axis=1) - 1.0).max() > 5e-3


# --- section quantities ----------------------------------------------------------------------------------------------


@given(elements())
@settings(max_examples=25, deadline=None)
def test_section_quantities_are_exact_at_gauss_points_and_polynomials_between_them(curve):
    mesh = curve.rod.mesh
    g, p = mesh.strains, mesh.degree
    values = polynomial(g, p - 1)
    track = made_up(mesh, force=values)
    arc, drawn = curve.profile(track, "force")
    s = arc / curve.rod.length
    assert (s[0], s[-1]) == (0.0, 1.0)
    assert (np.diff(s) > 0.0).all()
    at = np.searchsorted(s, g)
    np.testing.assert_array_equal(s[at], g)
    np.testing.assert_allclose(drawn[at], values, atol=1e-14)
    inner = g.reshape(mesh.cells, p)
    for a, b in zip(inner[:, 0], inner[:, -1], strict=True):
        inside = (s >= a) & (s <= b)
        np.testing.assert_allclose(drawn[inside], polynomial(s[inside], p - 1), atol=1e-12)
    # At the ends of the rod they go on as in the element.
    np.testing.assert_allclose(drawn[[0, -1]], polynomial(s[[0, -1]], p - 1), atol=1e-12)
    np.testing.assert_allclose(curve.sections(polynomial(g, 1)), polynomial(curve.s, 1), atol=1e-12)


@given(elements(), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_jumps_between_elements_make_no_overshoot(curve, seed):
    mesh = curve.rod.mesh
    steps = np.sort(np.random.default_rng(seed).normal(size=mesh.cells))
    values = np.repeat(steps, mesh.degree)[:, None]
    for s, drawn in ((curve.s, curve.sections(values)), curve.profile(made_up(mesh, force=values), "force")):
        assert len(s) == len(drawn)
        assert (np.diff(drawn[:, 0]) >= -1e-14).all()
        assert drawn.min() >= steps[0] - 1e-14
        assert drawn.max() <= steps[-1] + 1e-14


def test_a_grid_is_drawn_as_ever():
    rod = gd.Rod("hose", 2.0, None, gd.Circle(radius=5e-3), RUBBER, grid=[0.0, 0.2, 0.5, 1.0])
    curve = Curve(rod)
    np.testing.assert_array_equal(curve.s, rod.fractions)
    x, p, F, M = (np.random.default_rng(1).normal(size=(5, n, c)) for n, c in ((4, 3), (4, 4), (3, 3), (4, 3)))
    track = SimpleNamespace(positions=x, vertex_quaternions=p, force=F, moment=M, quaternions=F)
    assert curve.vertices(x) is x
    assert curve.frames(track) is p
    assert curve.sections(M) is M
    np.testing.assert_array_equal(curve.sections(F)[:, 1:-1], 0.5 * (F[:, 1:] + F[:, :-1]))
    np.testing.assert_array_equal(curve.sections(F)[:, [0, -1]], F[:, [0, -1]])
    np.testing.assert_array_equal(curve.profile(track, "force")[0], [0.2, 0.7, 1.5])
    assert curve.profile(track, "force")[1] is F
    np.testing.assert_array_equal(curve.profile(track, "moment")[0], rod.vertices)
    np.testing.assert_array_equal(curve.frame(track, 0.3), F[:, 1])


def test_stress_needs_a_section():
    free = {"stiffness": (1.0,) * 6, "density_per_length": 1.0, "rotary_inertia": (1.0,) * 3}
    curve = Curve(gd.Rod("band", 1.0, 2, degree=3, **free))
    track = made_up(curve.mesh, np.zeros((6, 3)))
    for ask in (curve.stress, lambda track: curve.profile(track, "stress")):
        with pytest.raises(ValueError, match="rod 'band' has no section, so its stress is not known"):
            ask(track)


# --- pictures, films, the viewer -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def swing():
    """Elements that were split, on a bob, beside a grid."""
    bob = gd.Body("bob", 0.05, (1e-5,) * 3, position=(0, 1.0, -0.02), shape=gd.Sphere(0.02))
    grid = gd.Rod(
        "grid", 1.0, 8, gd.Circle(radius=5e-3), RUBBER, initial=gd.Straight((1, 0, 0), (1, 1, 0)), start=gd.Clamped(),
        damping=gd.Damping.ratio(0.1, 2.0),
    )  # fmt: skip
    own = hose(end=gd.Hinged("bob", at=(0, 0, 0.02)), damping=gd.Damping.ratio(0.1, 2.0))
    forces = [
        gd.RodLoad("hose", force=(0.02, 0, 0), at=0.37, follow=True),
        gd.Tendon("hose", [(0.1, (0.01, 0.0)), (0.37, (0.01, 0.0))], tension=0.05),
        gd.Cable("ground", "grid", at_a=(1, 0, 0.5), at_b=0.3, stiffness=1.0),
    ]
    sensors = [gd.PointSensor("tip", "hose", at=0.37)]
    system = gd.System([bob], rods=[own, grid], forces=forces, sensors=sensors)
    return gd.simulate(system, 0.25, rtol=1e-4, output=np.linspace(0.0, 0.25, 9))


def test_the_viewer_is_told_the_curve(swing):
    rod = swing.compiled.system.rods[0]
    cells = rod.mesh.cells
    assert cells > 3  # it ends elements at 0.1 and 0.37, too
    static = describe(swing.compiled)["rods"][0]
    s = np.array(static["fractions"])
    assert static["vertices"] == len(s) == cells * PIECES + 1
    assert describe(swing.compiled)["rods"][1]["fractions"] is None
    found = scene(swing)
    t = found.tracks["t"].values.ravel()
    back, track = packing.unpack(found.packed()), swing(t)["hose"]
    x = back["rod0.x"].reshape(len(t), -1, 3)
    np.testing.assert_allclose(x, apply(*rod.mesh.vertex_at(s), track.positions), atol=1e-6)
    np.testing.assert_allclose(x[:, np.searchsorted(s, rod.fractions)], track.positions, atol=1e-6)
    values = {key: found.tracks[f"rod0.{key}"].values for key in COLOURS if key != "contact"}
    assert {v.shape for v in values.values()} == {(len(t), len(s))}
    np.testing.assert_allclose(values["speed"][:, -1], np.linalg.norm(track.velocities[:, -1], axis=-1))
    assert values["energy"].min() >= 0.0
    # The arrow of the load is where its frame points.
    i = next(k for k, arrow in enumerate(found.static["arrows"]) if arrow["anchor"].get("s") == 0.37)
    node = int(np.argmin(np.abs(rod.fractions - 0.37)))
    arrow = back["arrows"].reshape(len(t), -1, 3)[:, i]
    np.testing.assert_allclose(arrow, gd.rotations.rotate(track.quaternions[:, node], (0.02, 0.0, 0.0)), atol=1e-7)
    end = next(plot for plot in found.static["series"] if plot["title"] == "hose: end position")["lines"][2]
    np.testing.assert_allclose(back[end["track"]][:, end["column"]], track.positions[:, -1, 2], atol=1e-6)


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_energies_per_length_add_up_to_those_of_the_core(degree):
    C = np.diag([100.0, 100.0, 400.0, 2e-3, 2e-3, 1e-3])
    C[2, 5] = C[5, 2] = 0.2
    for options in ({"stiffness": C, "start": gd.Hinged()}, {"damping": gd.Damping.ratio(0.5, 1.0)}):
        motion = gd.simulate(gd.System(rods=[hose(degree=degree, **options)]), 0.2, rtol=1e-3)
        strains, curvatures = energy_densities(motion, motion.compiled, 0)
        weights = motion.compiled.system.rods[0].mesh.point_weights
        energy = motion.energy
        whole = energy.extension_shear + energy.bending_torsion
        np.testing.assert_allclose((strains + curvatures) @ weights, whole, rtol=1e-9, atol=1e-12 * whole.max())


def test_the_film_draws_the_curve(swing):
    stage = drawing.Stage(swing, (200, 160))
    x = stage.rods["hose"]
    rod = swing.compiled.system.rods[0]
    assert x.shape[1] > 3 * len(rod.fractions)
    # Neighbouring pieces turn by little, those of the nodes' polygon by much more.
    turn = lambda p: np.abs(np.diff(np.unwrap(np.arctan2(*np.diff(p[:, 1:], axis=0).T)))).max()  # noqa: E731
    assert turn(x[-1]) < 0.6 * turn(swing["hose"].positions[-1])
    assert stage.rods["grid"] is swing["grid"].positions
    for colour in ("moment", "force", "speed"):
        values = drawing.Stage(swing, (160, 120), color=colour).values
        assert values["hose"].shape == (9, x.shape[1] - 1)
        assert values["grid"].shape == (9, 8)
    assert stage.frame(8).shape == (160, 200, 3)


def test_strings_on_elements_are_drawn_where_they_pull(swing):
    tendon, cable = sorted(props.lines(swing), key=lambda line: line[0, 0, 0])
    track, rod = swing["hose"], swing.compiled.system.rods[0]
    for k, s in enumerate((0.1, 0.37)):
        node = int(np.argmin(np.abs(rod.fractions - s)))
        arm = gd.rotations.rotate(track.quaternions[:, node], (0.01, 0.0, 0.0))
        np.testing.assert_allclose(tendon[:, k], track.positions[:, node] + arm, atol=1e-14)
    assert cable.shape == (9, 2, 3)


@pytest.mark.parametrize("what", ["section forces", "section moments", "curvature", "strain", "stress"])
def test_plots_over_the_arc_length_go_through_the_gauss_points(swing, what):
    field = {"section forces": "force", "section moments": "moment"}.get(what, what)
    motion = swing(np.array([0.1, 0.2]))
    rod = motion.compiled.system.rods[0]
    figure = motion.plot(what, names="hose")
    assert motion.plot(what).axes  # with the grid in one picture
    known = motion.stress("hose")[:, 1:-1, None] if what == "stress" else getattr(motion["hose"], field)
    drawn = 0
    for ax in figure.axes:
        for line in ax.get_lines():
            s, y = line.get_data()
            if len(s) < 10:
                continue
            assert (s[0], s[-1]) == (0.0, pytest.approx(1.0))
            y = y[np.searchsorted(s, rod.mesh.strains)]
            scales = 10.0 ** np.arange(-9, 10)  # of the unit
            apart = np.abs(y[:, None, None, None] - known.transpose(1, 0, 2)[..., None] * scales).max(axis=0)
            assert apart.min() < 1e-9 * np.abs(y).max()
            drawn += 1
    assert drawn >= 2
    swing.plot(what, names="hose")


def test_shapes_and_modes_are_drawn_smoothly(swing, tmp_path):
    shapes = swing.plot("shape", names="hose").axes[0].get_lines()
    assert {len(line.get_xdata()) for line in shapes} == {swing.compiled.system.rods[0].mesh.cells * 15 + 1}
    system = gd.System(rods=[hose(segments=2, degree=4)])
    figure = gd.modes(gd.equilibrium(system)).plot(file=tmp_path / "modes.png")
    lines = [line for ax in figure.axes for line in ax.get_lines()]
    assert {len(line.get_xdata()) for line in lines} == {2 * 16 + 1}


def test_a_held_rod_is_shown_in_its_middle():
    beam = hose(segments=3, degree=3, end=gd.Clamped(), rest_stretch=1.0)
    load = gd.RodLoad("hose", force=(0, 0, -1.0), span=(0.0, 1.0))
    path = gd.follow(gd.System(rods=[beam], forces=[load], gravity=(0, 0, 0)), "load", (0.0, 1.0))
    ax = path.plot().axes[-1]
    (line,) = (x for x in ax.get_lines() if x.get_label() == "hose middle")
    rod = path.rests[-1].system.rods[0]
    z = apply(*rod.mesh.vertex_at([0.5]), path.rests[-1]["hose"].positions)[0, 2]
    assert 0.5 not in rod.fractions
    assert abs(line.get_ydata()[-1]) == pytest.approx(abs(z) * (1e3 if abs(z) < 0.1 else 1.0), rel=1e-9)


# --- files -----------------------------------------------------------------------------------------------------------


def test_paraview_is_shown_the_curve_and_files_hold_the_nodes(swing, tmp_path):
    import h5py

    swing.save(tmp_path / "swing.h5")
    again = gd.open(tmp_path / "swing.h5")
    np.testing.assert_array_equal(again.y, swing.y)
    assert [r.mesh.ends.tolist() for r in again.system.rods] == [r.mesh.ends.tolist() for r in swing.system.rods]
    for name in ("hose", "grid"):
        for field in ("positions", "velocities", "quaternions", "vertex_quaternions", "Omega", "strain", "curvature"):
            np.testing.assert_array_equal(getattr(again[name], field), getattr(swing[name], field))
        for field in ("force", "moment", "start_force", "end_moment", "multipliers"):
            np.testing.assert_array_equal(getattr(again[name], field), getattr(swing[name], field))
    drawn, rod = Scene(swing.compiled), swing.compiled.system.rods[0]
    count = len(drawn.curves[0].s)
    assert count == rod.mesh.cells * PIECES + 1
    assert len(drawn.cells["Lines"][0]) == count
    with h5py.File(tmp_path / "swing.h5") as file:
        points = file["VTKHDF/Points"][:].reshape(9, drawn.points, 3)
        force = file["VTKHDF/PointData/force"][:].reshape(9, drawn.points, 3)
        d3 = file["VTKHDF/PointData/d3"][:].reshape(9, drawn.points, 3)[:, :count]
        radius = file["VTKHDF/PointData/radius"][:]
    x = apply(*rod.mesh.vertex_at(drawn.curves[0].s), swing["hose"].positions)
    np.testing.assert_allclose(points[:, :count], x, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(d3, axis=-1), 1.0, atol=1e-6)
    np.testing.assert_allclose(radius[:count], 5e-3)
    largest = np.abs(swing["hose"].force).max()
    assert np.abs(force[:, :count]).max() < 1.6 * largest
    np.testing.assert_allclose(points[:, count : count + 9], swing["grid"].positions, atol=1e-6)


def test_a_rod_that_says_nothing_comes_back_from_its_file(tmp_path):
    rod = gd.Rod("hose", 1.0, section=gd.Circle(radius=5e-3), material=RUBBER, start=gd.Hinged())
    motion = gd.simulate(gd.System(rods=[rod]), 0.02, rtol=1e-3)
    motion.save(tmp_path / "hose.h5")
    again = gd.open(tmp_path / "hose.h5")
    assert again.system.rods[0].degree == rod.degree == 3
    np.testing.assert_array_equal(again["hose"].force, motion["hose"].force)


def test_stations_in_tables_are_those_of_the_sensors(swing, tmp_path):
    swing.to_csv(tmp_path / "swing.csv", names=["hose@0.37", "hose@0.8", "tip"])
    with (tmp_path / "swing.csv").open(encoding="utf-8") as file:
        head, *lines = csv.reader(file)
    table = {name: np.array([float(line[i]) for line in lines]) for i, name in enumerate(head)}
    for k, axis in enumerate("xyz"):
        np.testing.assert_allclose(table[f"hose@0.37.position.{axis} [m]"], table[f"tip.{k} [m]"], atol=1e-15)
    rod, track = swing.compiled.system.rods[0], swing["hose"]
    for quantity, unit in (("force", "N"), ("moment", "N m")):
        values = apply(*rod.mesh.strain_at([0.8]), getattr(track, quantity))[:, 0]
        for k, axis in enumerate(("d1", "d2", "d3")):
            np.testing.assert_array_equal(table[f"hose@0.8.{quantity}.{axis} [{unit}]"], values[:, k])


def test_data_sets_tell_where_values_are(swing, tmp_path):
    pytest.importorskip("xarray")
    data, rod = swing.to_xarray(), swing.compiled.system.rods[0]
    assert data["hose.quaternions"].dims == ("time", "hose.vertex", "wxyz")
    assert data["hose.moment"].dims == data["hose.force"].dims == ("time", "hose.point", "director")
    assert data["grid.moment"].dims == ("time", "grid.vertex", "director")
    assert data["grid.force"].dims == ("time", "grid.segment", "director")
    np.testing.assert_allclose(data["hose.point"], rod.mesh.strains * rod.length)
    np.testing.assert_allclose(data["hose.vertex"], rod.fractions * rod.length)
    swing.to_npz(tmp_path / "swing.npz")
    with np.load(tmp_path / "swing.npz") as found:
        np.testing.assert_array_equal(found["hose.force"], swing["hose"].force)


# --- comparisons -----------------------------------------------------------------------------------------------------

STRING = gd.problems.get("steel-string").system


@pytest.mark.parametrize(
    ("text", "number", "degree", "label"),
    [
        ("staggered:40", 40, None, "staggered:40"),
        ("elements:6", 6, 3, "elements:3x6"),
        (" elements: 4 x 12 ", 12, 4, "elements:4x12"),
        ("model", None, None, "model"),
    ],
)
def test_discretizations_by_text(text, number, degree, label):
    found = parse("discretizations", text)
    assert found == Discretization(number, degree)
    assert found.label == label
    assert parse("discretizations", found.label) == found
    rod = found.of(STRING).rods[0]
    assert (rod.mesh.cells, rod.degree) == (number or 20, degree)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("elements:5x3", "the degree must be 2 or 3 or 4"),
        ("elements:1x3", "the degree must be"),
        ("elements:0", "the number must be from 1 to"),
        ("staggered:1", "the number must be from 2 to"),
        ("staggered:3x4", "a staggered grid has no degree; write 'staggered:4'"),
        ("elements", "cannot be read; write 'staggered:40', 'elements:6'"),
        (40, "discretizations = 40 cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_bad_discretizations(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare(STRING, 0.1, discretizations=[text])


@given(st.text(alphabet="aelmnstgr:x0123456789 -.", max_size=16))
def test_any_text_is_read_or_told(text):
    try:
        found = parse("discretizations", text)
    except ValueError as error:
        assert str(error).startswith("discretizations = ")  # noqa: PT017
        assert str(error).endswith(".")  # noqa: PT017
    else:
        assert found.degree in (None, 2, 3, 4)


def test_discretizations_are_for_rods():
    top = gd.problems.get("lang-a").system
    with pytest.raises(ValueError, match="are for rods, and the system has none"):
        compare(top, 0.1, discretizations="elements:3")
    with pytest.raises(ValueError, match="reference = 'elements:3' is for rods, and the system has none"):
        compare(top, 0.1, reference="elements:3")
    with pytest.raises(ValueError, match="discretizations is empty; write some"):
        compare(STRING, 0.1, discretizations=[])


def test_variants_of_the_grid_give_way_to_elements():
    rod = STRING.rods[0].with_(curvature="sine", mass="blended", inertia="cylinder", segments=None, grid=[0, 0.3, 1])
    system = STRING.with_({"rods[0]": rod})
    made = parse("x", "elements:4x5").of(system).rods[0]
    assert (made.curvature, made.mass, made.inertia, made.grid) == ("angle", "lumped", "disc", None)
    back = parse("x", "staggered:7").of(system).rods[0]
    assert (back.curvature, back.mass, back.inertia, back.segments) == ("sine", "blended", "cylinder", 7)
    again = parse("x", "staggered:9").of(parse("x", "elements:2x5").of(system)).rods[0]
    assert (again.degree, again.discretization, again.segments) == (None, "staggered", 9)


def test_references_are_finer_than_what_they_measure():
    chosen = [parse("x", text) for text in ("staggered:40", "elements:3x8")]
    assert finer(chosen, STRING) == Discretization(12, 4)
    assert finer([parse("x", "model")], STRING) == Discretization(6, 4)
    assert finer([parse("x", "staggered:100")], STRING) == Discretization(25, 4)
    assert coarser(Discretization(12, 4)) == Discretization(8, 4)
    assert coarser(Discretization(2, 4)) == Discretization(2, 4)
    assert coarser(Discretization()) == Discretization()


def test_errors_are_measured_at_the_same_places():
    fine = gd.simulate(parse("x", "staggered:32").of(STRING), 0.05, rtol=1e-8, output=np.linspace(0, 0.05, 6))
    found = compare(STRING, 0.05, discretizations=["staggered:8", "staggered:16"], rtols=1e-6, reference=fine, points=6)
    assert [t.discretization for t in found] == ["staggered:8", "staggered:16"]
    for trial in found:
        run = gd.simulate(parse("x", trial.discretization).of(STRING), 0.05, rtol=1e-6, output=fine.t)
        n = run["rod"].positions.shape[1] - 1
        # All of these places are vertices.
        x = run["rod"].positions[:, :: n // 4] - fine["rod"].positions[:, ::8]
        assert trial.position == pytest.approx(np.linalg.norm(x, axis=-1).max() / found.length, rel=1e-6)
        assert trial.unknowns == run.compiled.size
        assert trial.per_step == pytest.approx(trial.seconds / (trial.steps + trial.rejected))
    assert found.trials[0].error / found.trials[1].error > 2.5


@pytest.fixture(scope="module")
def strings():
    system = gd.System(rods=[hose(start=gd.Hinged(), damping=gd.Damping.ratio(0.1, 2.0))])
    return compare(
        system, 0.2, discretizations=["staggered:8", "staggered:16", "elements:2x3", "elements:4x1", "elements:4x3"],
        rtols=1e-5, points=6, limit=0.5,
    )  # fmt: skip


def test_elements_and_grids_are_measured_against_finer_elements(strings):
    assert {t.status for t in strings} == {"finished"}
    errors = {t.discretization: t.error for t in strings}
    assert strings.reference.discretization == "elements:4x6"
    assert strings.reference.check.startswith("elements:4x4, ")
    assert strings.floor < 0.3 * errors["elements:4x3"]
    assert errors["staggered:8"] > 2.5 * errors["staggered:16"]
    assert errors["elements:4x3"] < 0.2 * errors["staggered:16"]
    assert errors["elements:2x3"] < errors["staggered:8"]


def test_tables_and_pictures_of_discretizations(strings, tmp_path):
    text = strings.table(by="discretization", width=88)
    lines = text.splitlines()
    assert lines[0].split()[:4] == ["rods", "rtol", "CPU", "ms"]
    assert [line.lstrip("* ").split()[0] for line in lines[1:6]] == [
        "elements:2x3", "elements:4x1", "elements:4x3", "staggered:8", "staggered:16",
    ]  # fmt: skip
    assert "All of them: nullspace-quaternion, radau5." in text
    assert "Reference: elements:4x6, " in text
    assert "elements:4x4, " in " ".join(text.split())
    axes = strings.plot("unknowns", file=tmp_path / "space.png").axes[0]
    assert axes.get_xlabel() == "unknowns"
    drawn = [line.get_xydata() for line in axes.get_lines() if len(line.get_xdata()) and line.get_marker() != "None"]
    assert sorted(map(len, drawn)) == [1, 2, 2]
    labels = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert labels[:3] == ["staggered", "elements of degree 2", "elements of degree 4"]
    data = json.loads(strings.to_json())
    assert {row["discretization"] for row in data["trials"]} == {t.discretization for t in strings}
    assert all(row["per_step"] > 0.0 and row["unknowns"] > 0 for row in data["trials"])


def test_what_a_rod_cannot_be_is_refused_once():
    helix = gd.Curve(lambda s: (0.1 * np.cos(30 * s), 0.1 * np.sin(30 * s), s))
    rod = gd.Rod("coil", None, 60, gd.Circle(radius=5e-3), RUBBER, initial=helix, start=gd.Clamped())
    system = gd.System(rods=[rod])
    found = compare(
        system, 1e-3, discretizations=["elements:3x2", "staggered:60"], reference="staggered:90", points=2, limit=20.0
    )
    refused = [t for t in found if t.status == "refused"]
    assert [t.discretization for t in refused] == ["elements:3x2"]
    assert "too few for initial" in refused[0].note
    assert "refused: elements:3x2, auto, nullspace-quaternion: " in " ".join(found.table().split())
    assert running.Runner(system, 1.0, np.zeros(2), 1.0, {}, print).fine([Discretization(2, 3)]).number > 6


rows = st.builds(
    Trial,
    formulation=st.sampled_from(["nullspace-quaternion", "absolute-quaternion"]),
    method=st.sampled_from(["rodas", "radau5"]),
    rtol=st.sampled_from([1e-3, 1e-6]),
    status=st.sampled_from(["finished", "finished", "limit", "refused", "failed"]),
    seconds=st.floats(1e-4, 10.0),
    steps=st.integers(1, 1000),
    position=st.floats(1e-9, 1.0),
    rotation=st.floats(1e-9, 1.0),
    discretization=st.sampled_from(["model", "staggered:40", "elements:3x8", "elements:4x12"]),
    unknowns=st.integers(1, 10_000),
    note=st.just("because."),
)


@given(st.lists(rows, min_size=1, max_size=10), st.integers(88, 140))
@settings(max_examples=30, deadline=None)
def test_tables_of_any_discretizations(trials, width):
    found = Comparison(1.0, 1.0, 1.0, 1.0, Reference("a", "b", 1e-9, 0.1, 1e-9), tuple(trials))
    assert max(map(len, found.table(by="discretization", width=width).splitlines())) <= width
    assert len(found.sorted("discretization")) == len(found.finished)


# --- the command line ------------------------------------------------------------------------------------------------


def typed(capsys, *arguments):
    with pytest.raises(SystemExit) as done:
        cli.main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return done.value.code, out, err


def test_discretizations_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "88")
    files.save(gd.System(rods=[hose(damping=gd.Damping.ratio(0.1, 2.0))]), tmp_path / "hose.yaml")
    how = ("compare", "hose.yaml", "--until", "0.05", "--rtol", "1e-3", "--limit", "0.5")
    chosen = ("--discretizations", "staggered:8, elements:2x2", "--reference", "elements:4x5")
    code, out, err = typed(capsys, *how, *chosen, "--plot", "work.png", "--json", "rows.json")
    assert code == 0, err
    assert out.splitlines()[0].split()[0] == "rods"
    assert "Reference: elements:4x5, " in out
    assert {t["discretization"] for t in json.loads((tmp_path / "rows.json").read_text())["trials"]} == {
        "staggered:8",
        "elements:2x2",
    }
    assert (tmp_path / "work.png").exists()
    code, out, err = typed(capsys, *how, "--discretizations", "elements:9x2")
    assert code == 1
    assert "discretizations = 'elements:9x2': the degree must be 2 or 3 or 4." in " ".join(err.split())


def test_info_says_how_rods_are_discretised(swing, tmp_path, capsys):
    swing.save(tmp_path / "swing.h5")
    cells = swing.compiled.system.rods[0].mesh.cells
    _, out, _ = typed(capsys, "info", tmp_path / "swing.h5")
    assert f"hose ({cells} elements of degree 3), grid (8 segments)" in " ".join(out.split())
    _, out, _ = typed(capsys, "info", tmp_path / "swing.h5", "--json", "-")
    data = json.loads(out)
    assert (data["rods"], data["degrees"]) == ({"hose": cells, "grid": 8}, {"hose": 3, "grid": None})
