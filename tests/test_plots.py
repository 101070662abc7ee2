"""Pictures: every kind of plot of every kind of system draws with units or refuses with a sentence; animations."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gyrod as gd
from gyrod import look, problems
from gyrod.look.plots import rods, series, style

matplotlib = pytest.importorskip("matplotlib")

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100.0)


def hose(name="hose", **options) -> gd.Rod:
    given = {"start": gd.Hinged(), "initial": gd.Straight((0, 0, 0), (0, 1, 0))} | options
    return gd.Rod(name, 1.0, 8, gd.Circle(radius=5e-3), RUBBER, **given)


def bob_on_a_hose() -> gd.System:
    bob = gd.Body("bob", mass=0.2, inertia=(1e-4, 1e-4, 1e-4), position=(0, 1.0, -0.05), velocity=(0.5, 0, 0))
    rod = hose(start=gd.Clamped("ground"), end=gd.Hinged("bob", at=(0, 0, 0.05)), damping=gd.Damping.ratio(0.05, 5.0))
    return gd.System(bodies=[bob], rods=[rod], sensors=[gd.PointSensor("imu", "bob", quantity="acceleration")])


SYSTEMS = {
    "top": lambda: gd.simulate(problems.heavy_top().system, 1.0, rtol=1e-7),
    "mechanism": lambda: gd.simulate(problems.get("slider-crank").system, 0.5, rtol=1e-7),
    "rod": lambda: gd.simulate(gd.System(rods=[hose()]), 0.3, rtol=1e-4),
    "rods": lambda: gd.simulate(gd.System(rods=[hose("a"), hose("b", start=gd.Clamped())]), 0.2, rtol=1e-3),
    "rod on a body": lambda: gd.simulate(bob_on_a_hose(), 0.3, method="radau5", rtol=1e-4),
    "rest": lambda: gd.equilibrium(bob_on_a_hose()),
    "single time": lambda: gd.simulate(bob_on_a_hose(), 0.1, method="radau5", rtol=1e-4)(0.05),
}
BODIES = {"orientation", "quaternion", "euler", "Omega", "omega"}
RODS = {
    "shape", "section forces", "section moments", "force", "moment", "curvature", "strain", "stress", "bend radius",
    "reactions", "contact",
}  # fmt: skip
JOINTS = {"joints", "joint forces", "effort", "phase"}
REFUSED = {
    "top": RODS | {"balance", "joints", "effort", "phase", "sensors"},
    "mechanism": RODS | {"balance", "effort", "sensors"},  # nothing leads it; test_joint_space draws efforts
    "rod": BODIES | JOINTS | {"sensors"},
    "rods": BODIES | JOINTS | {"sensors"},
    "rod on a body": {*JOINTS},
    "rest": JOINTS | {"balance", "steps"},
    "single time": JOINTS | {"balance"},
}


for refused in REFUSED.values():
    refused |= {"contact"}  # test_contact_face draws it


@pytest.fixture(scope="module")
def motions():
    return {name: make() for name, make in SYSTEMS.items()}


def labels(ax) -> list[str]:
    return [getattr(ax, f"get_{side}label")() for side in "xyz" if hasattr(ax, f"get_{side}label")]


#: The others share their drawings with these.
SOME = {
    "rest": ["energy", "position", "orientation", "path", "shape", "moment", "bend radius", "reactions", "steps"],
    "rods": ["section forces", "bend radius", "section moments", "reactions", "path", "shape", "energy", "Omega"],
    "single time": ["energy", "position", "path", "shape", "steps", "section moments", "balance", "drift"],
    "rod": ["energy", "balance", "position", "force", "moment", "stress", "Omega", "joints", "sensors"],
}


ALL = [(kind, what) for kind in SYSTEMS for what in SOME.get(kind, look.PLOTS)]


@pytest.mark.parametrize(("kind", "what"), [(kind, what) for kind, what in ALL if what in REFUSED[kind]])
def test_plots_of_what_is_not_there_are_refused_with_a_sentence(motions, kind, what):
    with pytest.raises(ValueError, match=r"^(what = '.*' is for|dissipated energy and work need) .*\.$"):
        motions[kind].plot(what)


@pytest.mark.spread
@pytest.mark.parametrize(("kind", "what"), [(kind, what) for kind, what in ALL if what not in REFUSED[kind]])
def test_every_plot_draws_with_units(motions, kind, what):
    motion = motions[kind]
    figure = motion.plot(what)
    assert figure.axes
    for ax in figure.axes:
        assert re.search(r"\[[^\]]+\]", " ".join(labels(ax))), labels(ax)
        assert ax.lines or ax.collections or ax.patches or ax.images
    single = np.ndim(motion.t) == 0
    timed = [ax for ax in figure.axes if ax.get_xlabel().startswith("time [")]
    in_space = what in ("path", "shape", "phase")
    assert bool(timed) != (single or in_space) or (single and what == "steps")


# --- what is drawn ----------------------------------------------------------------------------------------------------


def drawn_at(line, times):
    """Values of a line at times, which must be among its points."""
    x, y = line.get_data()
    at = np.searchsorted(x, times - 1e-9)
    np.testing.assert_allclose(x[at], times, rtol=0, atol=1e-9)
    return y[at]


def test_the_smallest_bend_radius_is_drawn_with_its_limit():
    rod = hose(start=gd.Clamped(), limits={"bend_radius": 0.02})
    motion = gd.simulate(gd.System(rods=[rod]), 0.2, rtol=1e-4, output=np.linspace(0.0, 0.2, 21))
    ax = motion.plot("bend radius").axes[0]
    line, limit = ax.lines
    smallest = motion["hose"].bend_radius.min(axis=1)
    shown = smallest < 9.0 * smallest.min()
    assert not shown.all()
    factor = {"smallest bend radius [mm]": 1e3, "smallest bend radius [m]": 1.0}[ax.get_ylabel()]
    np.testing.assert_allclose(drawn_at(line, motion.t[shown]), factor * smallest[shown], rtol=1e-6)
    assert limit.get_ydata()[0] == factor * 0.02
    straight = gd.equilibrium(gd.System(rods=[rod], gravity=(0, 0, 0)))
    with pytest.raises(ValueError, match="what = 'bend radius' is for rods that bend, and these are straight"):
        straight.plot("bend radius")


def test_positions_are_those_of_the_motion_and_smooth_between(motions):
    motion = motions["top"]
    ax = motion.plot("position").axes[0]
    assert ax.get_ylabel() == "position of top [m]"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["x", "y", "z"]
    for k in range(3):
        np.testing.assert_allclose(drawn_at(ax.lines[k], motion.t), motion["top"].position[:, k], rtol=0, atol=1e-9)
        assert len(ax.lines[k].get_xdata()) > 800 > len(motion.t)


def test_energies_are_those_of_the_motion(motions):
    motion = motions["rod"]
    left, right = motion.plot("energy").axes
    scale = {"mJ": 1e3, "J": 1.0}[re.search(r"\[(.*)\]", left.get_ylabel())[1]]
    for line, values in zip(
        left.lines, (motion.energy.total, motion.energy.kinetic, motion.energy.potential), strict=False
    ):
        np.testing.assert_allclose(drawn_at(line, motion.t), scale * values, rtol=1e-6, atol=1e-8 * scale)
    total = motion.energy.total
    np.testing.assert_array_equal(right.lines[0].get_xdata(), motion.t)  # not between: there it is no error
    unit = style.unit("J", total - total[0])
    np.testing.assert_allclose(right.lines[0].get_ydata(), unit.factor * (total - total[0]), rtol=1e-12)


def test_the_map_and_the_envelope_of_section_moments(motions):
    motion = motions["rod"]
    figure = motion.plot("section moments")
    ax, side = figure.axes[:2]
    fine = motion(np.union1d(np.union1d(motion.t, motion.steps), np.linspace(0.0, motion.t[-1], 801)))
    M = fine["hose"].moment[:, :, 1]
    low, high = side.lines[0].get_xdata(), side.lines[1].get_xdata()
    np.testing.assert_allclose(low, 1e3 * M.min(axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(high, 1e3 * M.max(axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(side.lines[0].get_ydata(), motion.compiled.system.rod("hose").vertices)
    colours = np.asarray(ax.collections[0].get_array())
    assert np.abs(colours).max() == pytest.approx(1e3 * np.abs(M).max(), rel=1e-9)
    assert figure.axes[2].get_ylabel() == "bending M2 [mN m]"
    assert "bending M1, torsion M3" in figure.get_suptitle()


def test_many_rows_of_a_rod_are_reduced_in_blocks(motions, monkeypatch):
    motion = gd.simulate(gd.System(rods=[hose()]), 0.2, rtol=1e-3, output=np.linspace(0, 0.2, 700), dense=False)
    whole = motion.plot("force").axes
    monkeypatch.setattr(rods, "BLOCK", 100)
    parts = motion.plot("force").axes
    for a, b in zip(whole, parts, strict=True):
        for one, other in zip(a.collections, b.collections, strict=True):
            if one.get_array() is not None:
                np.testing.assert_allclose(one.get_array(), other.get_array(), rtol=1e-12)
        for one, other in zip(a.lines, b.lines, strict=True):
            np.testing.assert_allclose(one.get_xdata(), other.get_xdata(), rtol=1e-12)


def test_curves_over_the_arc_length_of_a_rest(motions):
    rest = motions["rest"]
    ax = rest.plot("section forces").axes[0]
    rod = rest.system.rod("hose")
    middles = 0.5 * (rod.vertices[1:] + rod.vertices[:-1])
    axial = next(line for line in ax.lines if line.get_label() == "axial F3")
    np.testing.assert_allclose(axial.get_xdata(), middles)
    np.testing.assert_allclose(axial.get_ydata(), rest["hose"].force[:, 2])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("s [m]", "section force [N]")


def test_bars_of_a_rest(motions):
    rest = motions["rest"]
    ax = rest.plot("reactions").axes[0]
    sizes = [np.linalg.norm(rest["hose"].start_force), np.linalg.norm(rest["hose"].end_force)]
    assert [bar.get_height() for bar in ax.patches] == pytest.approx(sizes)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["hose start", "hose end"]


def test_joint_coordinates_count_turns_and_need_no_forces(monkeypatch):
    system = gd.assemble(problems.get("four-bar").system)
    motion = gd.simulate(system, 0.2, rtol=1e-6, output=np.linspace(0, 0.2, 901))
    ax = motion.plot("joints").axes[0]
    assert "joints" not in vars(motion)  # forces of redundant joints cost a decomposition for each row
    label = ax.lines[0].get_label()
    i = next(i for i, j in enumerate(system.joints) if (j.name or j.label) == label)
    expected = np.rad2deg(motion(motion.t[::100]).joints[i].coordinates[:, 0])
    np.testing.assert_allclose(drawn_at(ax.lines[0], motion.t[::100]), expected, atol=1e-6)
    monkeypatch.setattr(series, "FEW", 50)
    assert len(motion.plot("joint forces").axes[0].lines[0].get_xdata()) == 50


def test_phase_is_rate_against_coordinate(motions):
    motion = motions["mechanism"]
    _, ax = motion.plot("phase").axes
    assert ax.get_ylabel() == ax.get_xlabel().replace("displacement", "rate").replace("]", "/s]")
    track = motion["guide"]
    x, y = ax.lines[0].get_data()
    pairs = np.stack([track.coordinates, track.rates], axis=1)
    rows = [np.argmin(np.abs(x - 1e3 * q) + np.abs(y - 1e3 * v)) for q, v in pairs]
    np.testing.assert_allclose(x[rows], 1e3 * track.coordinates[:, 0], atol=1e-6)
    np.testing.assert_allclose(y[rows], 1e3 * track.rates[:, 0], atol=1e-5)


def test_sensors_are_drawn_by_unit(motions):
    motion = motions["rod on a body"]
    ax = motion.plot("sensors").axes[0]
    assert ax.get_ylabel() == "imu [m/s²]"
    np.testing.assert_allclose(drawn_at(ax.lines[2], motion.t), motion.sensors["imu"][:, 2], rtol=1e-5, atol=1e-5)


def test_orientation_avoids_gimbal_lock():
    """A wheel about y, through angles at which yaw, pitch and roll would jump."""
    wheel = gd.Body("wheel", mass=1.0, inertia=(1.0, 2.0, 1.0), angular_velocity=(0.0, 7.0, 0.0))
    figure = gd.simulate(gd.System([wheel], gravity=(0, 0, 0)), 2.0).plot("orientation")
    turned = [ax for ax in figure.axes if np.ptp(ax.lines[0].get_ydata()) > 1.0]
    assert len(turned) == 1
    x, y = turned[0].lines[0].get_data()
    np.testing.assert_allclose(y, np.rad2deg(7.0 * x), atol=1e-3)
    assert turned[0].get_ylabel().startswith("y")


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_best_sequence_is_far_from_its_lock(seed):
    q = gd.rotations.exp(np.random.default_rng(seed).normal(size=3) * 2.0)
    middle = gd.rotations.euler_from_quaternion(q, series.best_sequence(q[None]))[1]
    sequence = series.best_sequence(q[None])
    margin = abs(np.sin(middle)) if sequence[0] == sequence[2] else abs(np.cos(middle))
    assert margin > 0.25


def test_paths_are_plane_where_they_can_be(motions):
    plane = motions["rod"].plot("path").axes[0]
    assert (plane.get_xlabel(), plane.get_ylabel()) == ("y [m]", "z [m]")
    assert plane.get_aspect() == 1.0
    assert hasattr(motions["top"].plot("path").axes[0], "zaxis")


def test_steps_are_those_of_the_run(motions):
    motion = motions["top"]
    figure = motion.plot("steps")
    x, y = figure.axes[0].lines[0].get_data()
    np.testing.assert_allclose(x[1:], motion.steps[1:])
    np.testing.assert_allclose(y[1:], 1e3 * np.diff(motion.steps))
    assert figure.axes[0].get_yscale() == "log"
    assert figure.get_suptitle().startswith(f"{len(motion.steps) - 1} accepted steps")


def test_sensors_of_one_unit_and_other_sizes_have_their_own_axes():
    body = gd.Body("ball", 1.0, (1, 1, 1), velocity=(1.0, 0, 0))
    places = {"centre": (0, 0, 0), "near": (1e-3, 0, 0)}
    sensors = [gd.PointSensor(name, "ball", at=at) for name, at in places.items()]
    sensors.append(gd.DistanceSensor("small", "ball", "ball", at_a=(0, 0, 0), at_b=(1e-3, 0, 0)))
    motion = gd.simulate(gd.System([body], sensors=sensors), 0.5)
    axes = motion.plot("sensors").axes
    assert [ax.get_ylabel() for ax in axes] == ["[m]", "small [mm]"]
    assert [len(ax.lines) for ax in axes] == [6, 1]


def test_names_choose_and_many_are_cut():
    chain = problems.chain(12).system
    motion = gd.simulate(chain, 0.05, rtol=1e-3)
    figure = motion.plot("position")
    assert len(figure.axes[0].lines) == style.MANY
    assert figure.get_suptitle() == "The 8 of 12 bodies and rods that move most; others by names=."
    spans = {name: np.ptp(motion[name].position, axis=0).max() for name in motion.names}
    most = sorted(spans, key=lambda name: -spans[name])[: style.MANY]
    assert {text.get_text() for text in figure.axes[0].get_legend().get_texts()} == set(most)
    name = motion.names[-1]
    assert motion.plot("position", names=name).axes[0].get_ylabel() == f"position of {name} [m]"
    assert len(motion.plot("position", names=motion.names).axes[0].lines) == 12


# --- units and fewer points -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("si", "value", "factor", "name"),
    [
        ("m", 0.02, 1e3, "mm"), ("m", 0.2, 1.0, "m"), ("m", 3e-5, 1e6, "µm"), ("m", 2e3, 1e-3, "km"),
        ("m", 2e7, 1e-3, "km"), ("N", 1500.0, 1e-3, "kN"), ("N m", 4e-3, 1e3, "mN m"), ("Pa", 2e8, 1e-6, "MPa"),
        ("s", 2e-6, 1e6, "µs"), ("s", 5000.0, 1.0, "s"), ("J", 1e-14, 1.0, "J"), ("J", 0.0, 1.0, "J"),
        ("rad", 1.0, 180.0 / np.pi, "°"), ("rad", 5e-4, 1e3, "mrad"), ("rad", 5e-6, 1e6, "µrad"),
        ("strain", 0.02, 100.0, "%"), ("strain", 2e-5, 1e6, "µm/m"), ("1/m", 5e4, 1.0, "1/m"),
    ],
)  # fmt: skip
def test_units(si, value, factor, name):
    unit = style.unit(si, [-value, 0.0])
    assert unit.factor == pytest.approx(factor)
    assert (unit.name, unit.label("x")) == (name, f"x [{name}]")


@given(st.floats(1e-9, 1e11))
def test_prefixes_leave_readable_numbers(value):
    unit = style.unit("N", value)
    assert 0.0999 < unit.factor * value < 1000.1


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3000), st.integers(5, 40), st.integers(0, 2**32 - 1))
def test_thinning_keeps_the_extremes_of_each_part(n, bins, seed):
    rng = np.random.default_rng(seed)
    x, y = np.sort(rng.exponential(size=n)), rng.normal(size=n)
    keep = style.thinned(x, y, bins)
    assert (np.diff(keep) > 0).all()
    assert {0, n - 1} <= set(keep)
    assert len(keep) <= max(4 * bins, 1)
    edges = np.linspace(x[0], x[-1], bins + 1)
    part = np.clip(np.searchsorted(edges, x, side="left") - 1, 0, bins - 1)
    for k in np.unique(part):
        rows, kept = np.flatnonzero(part == k), keep[part[keep] == k]
        if len(rows) > 2 and x[rows[0]] > edges[k]:  # on an edge either part may have it
            assert y[rows].max() == y[kept].max()
            assert y[rows].min() == y[kept].min()


def test_thinned_paths_stay_within_a_cell():
    t = np.linspace(0.0, 40.0, 200_000)
    path = np.stack([np.cos(t), np.sin(1.1 * t), 0.0 * t], axis=1)
    thin = style.thinned_path(path, 200)
    assert len(thin) < 0.2 * len(path)
    from scipy.spatial import cKDTree

    assert cKDTree(thin).query(path)[0].max() < 2.0 * np.sqrt(2.0) / 200
    np.testing.assert_array_equal(thin[[0, -1]], path[[0, -1]])


def test_many_rows_become_few_points():
    body = gd.Body("b", mass=1.0, inertia=(1.0, 1.0, 1.0), velocity=(0, 0, 5.0))
    motion = gd.simulate(gd.System([body]), 1.0, output=np.linspace(0.0, 1.0, 300_000))
    ax = motion.plot("position").axes[0]
    z = ax.lines[2].get_ydata()
    assert len(z) <= 4 * style.BINS
    assert z.max() == motion["b"].position[:, 2].max()


# --- files and bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ending", "first"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("SVG", b"<?xml")])
def test_files_by_ending(motions, tmp_path, ending, first):
    file = tmp_path / f"plot.{ending}"
    figure = motions["top"].plot("path", file=file)
    assert file.read_bytes().startswith(first)
    assert figure.axes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"what": "energie"}, "Did you mean 'energy'"),
        ({"file": "energy.xyz"}, r"file = 'energy.xyz' has no ending that pictures know; it can be .*\.pdf"),
        ({"file": "energy"}, "no ending"),
        ({"names": []}, r"names = \[\] chooses nothing"),
        ({"what": "position", "names": ["topp"]}, "names = 'topp' is unknown; it can be 'top'. Did you mean 'top'"),
        ({"figure": 3}, "figure must be a matplotlib Figure or SubFigure, got int"),
        ({"size": 3}, r"size = 3 must be width and height in inches"),
        ({"size": (0, 1e9)}, r"between 0.5 and 100 inches"),
        ({"what": "moment"}, "what = 'moment' is for rods, and there are none among 'top'"),
        ({"what": "joints"}, "has none; 'joint forces' draws what joints carry"),
    ],
)
def test_bad_input_gets_a_sentence(motions, options, message):
    with pytest.raises(ValueError, match=message):
        motions["top"].plot(**options)


@pytest.mark.parametrize("what", ["energy", "drift", "steps", "position", "path"])
def test_unknown_names_are_refused_even_where_names_choose_nothing(motions, what, tmp_path):
    with pytest.raises(ValueError, match=r"names = 'tpo' is unknown; it can be 'top'.* Did you mean 'top'\?"):
        motions["top"].plot(what, names=["top", "tpo"], file=tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_bad_places_get_a_sentence(motions, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder '.*nowhere' does not exist; make it first"):
        motions["top"].plot(file=tmp_path / "nowhere" / "a.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        motions["top"].plot(file=tmp_path / "folder.png")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        motions["top"].animate(tmp_path / "nowhere" / "a.gif")


def test_missing_packages_get_the_pip_line(motions, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ImportError, match=r"pip install 'gyrod\[movie\]'"):
        motions["top"].animate(tmp_path / "a.mp4")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'gyrod\[plot\]'"):
        motions["top"].plot()


def test_the_style_stays_inside(motions):
    before = dict(matplotlib.rcParams)
    motions["top"].plot("energy")
    assert dict(matplotlib.rcParams) == before


def test_a_figure_of_the_caller_keeps_its_size(motions, tmp_path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.0), layout="constrained")
    left, right = figure.subfigures(1, 2)
    assert motions["rod"].plot("shape", figure=left) is left
    motions["rod"].plot("stress", figure=right, file=tmp_path / "both.png")
    assert tuple(figure.get_size_inches()) == (9.0, 3.0)
    assert left.axes
    assert right.axes
    assert tuple(motions["rod"].plot("force", size=(4.0, 5.0)).get_size_inches()) == (4.0, 5.0)


# --- paths and modes --------------------------------------------------------------------------------------------------


def test_path_against_its_parameter(tmp_path):
    steel = gd.Material(young=2.1e11, poisson=0.3, density=7850)
    column = gd.Rod("column", 1.0, 10, gd.Rectangle(0.02, 2e-3), steel, start=gd.Clamped(),
                    initial=gd.Straight((0, 0, 0), (0, 0, 1)))  # fmt: skip
    system = gd.System(rods=[column], forces=[gd.RodLoad("column", force=(0, 0, -1.0))], gravity=(0, 0, 0))
    path = gd.follow(system, "load", (0.0, 10.0))
    figure = path.plot(file=tmp_path / "path.png")
    ax = figure.axes[-1]
    assert ax.get_xlabel() == "load"
    solid, dashed = ax.lines[:2]
    assert (solid.get_linestyle(), dashed.get_linestyle()) == ("-", "--")
    event = path.events[0]
    assert solid.get_xdata()[0] == 0.0
    assert solid.get_xdata()[-1] >= event.value
    assert ax.lines[2].get_xdata()[0] == event.value
    assert "square: bifurcation" in figure.get_suptitle()
    assert path.plot("moment").axes[0].get_xlabel() == "load"
    with pytest.raises(ValueError, match=r"what = 'respons' is unknown.*Did you mean 'response'"):
        path.plot("respons")


def test_mode_shapes(motions, tmp_path):
    modes = gd.modes(motions["rest"], n=4)
    figure = modes.plot(file=tmp_path / "modes.png")
    shown = figure.axes
    assert len(shown) == 4
    assert shown[2].get_title().startswith(f"2: {modes.frequencies[2]:.4g} Hz")
    assert len(modes.plot(1).axes) == 1
    for bad in (4, [0, 9], "x", []):
        with pytest.raises(ValueError, match="numbers = "):
            modes.plot(bad)


@pytest.mark.slow
def test_the_page_runs(tmp_path, monkeypatch):
    text = (Path(__file__).parent.parent / "docs" / "pictures.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/pictures.md", "exec"), names)
    files = {p.name for p in tmp_path.iterdir()}
    assert files == {"moments.png", "shape.pdf", "swing.gif", "both.pdf", "swing.mp4"}
    listed = set(re.findall(r'`"([A-Za-z ]+)"`', text.split("## What can be drawn")[1].split("`names=`")[0]))
    assert listed == set(look.PLOTS)
