"""Pictures of studies: every kind draws what the table holds, with units, and refuses with a sentence."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from gyrod.look.plots import studies, study_panels, study_runs
from gyrod.look.plots.studies import plot, plot_indices

xarray = pytest.importorskip("xarray")
matplotlib = pytest.importorskip("matplotlib")

KINDS = tuple(studies.KINDS)


def sampled(n=300, seed=0):
    """A table as studies make it: two sampled parameters, outputs of all shapes, some failed runs."""
    rng = np.random.default_rng(seed)
    young, mass = 10.0 ** rng.uniform(5, 8, n), rng.uniform(0.1, 0.3, n)
    error = np.full(n, "", dtype=object)
    error[rng.random(n) < 0.05] = "the step became too small."
    lost = error != ""
    t = np.linspace(0.0, 0.5, 21)
    pull = np.where(lost, np.nan, 9.81e3 * mass)
    tip = np.where(lost[:, None], np.nan, np.stack([mass, np.zeros(n), -mass], axis=1))
    swing = np.where(lost[:, None], np.nan, mass[:, None] * np.cos(9.0 * t))
    return xarray.Dataset(
        {
            "pull": ("run", pull, {"units": "N"}), "tip": (("run", "tip_0"), tip, {"units": "m"}),
            "swing": (("run", "swing_t"), swing, {"units": "rad"}), "error": ("run", error),
            "status": ("run", np.where(lost, "failed", "finished")), "seconds": ("run", np.ones(n)),
        },
        {
            "run": np.arange(n), "hose.material.young": ("run", young, {"units": "Pa"}),
            "bob.mass": ("run", mass, {"units": "kg"}), "swing_t": ("swing_t", t, {"units": "s"}),
        },
        {"parameters": ["hose.material.young", "bob.mass"], "outputs": ["pull", "tip", "swing"]},
    )  # fmt: skip


def gridded():
    a, b = (x.ravel() for x in np.meshgrid(np.linspace(0, 2, 5), [1.0, 2.0, 4.0], indexing="ij"))
    error = np.where((a == 2.0) & (b == 4.0), "no.", "")
    z = np.where(error == "", a * b - 3.0, np.nan)
    return xarray.Dataset({"z": ("run", z), "error": ("run", error)}, {"a": ("run", a), "b": ("run", b)})


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_draws_and_saves(kind, tmp_path):
    names = ["bob.mass", "pull", "tip[2]"] if kind == "matrix" else None
    figure = plot(sampled(), kind, names=names, file=tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 8000
    lost = int((sampled()["error"] != "").sum())
    assert figure.get_suptitle().startswith(f"300 runs, {lost} failed")
    for ax in figure.axes:
        assert not any(str(x).startswith("Text") and "nan" in x.get_text() for x in ax.texts)


def test_units_have_prefixes():
    figure = plot(sampled(), "response", output="pull", parameter="hose.material.young")
    (ax,) = figure.axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("hose.material.young [MPa]", "pull [kN]")
    assert ax.get_xscale() == "log"  # three orders of magnitude
    points = ax.collections[0].get_offsets()
    np.testing.assert_allclose(points[:, 0], sampled()["hose.material.young"] / 1e6)
    np.testing.assert_allclose(points[:, 1].filled(np.nan), sampled()["pull"] / 1e3)


def test_numbers_without_a_unit_have_powers_of_ten():
    dataset = gridded().assign(z=gridded()["z"] * 1e-7)
    assert plot(dataset, "histogram").axes[0].get_xlabel() == "z [$10^{-9}$]"


def test_matrix_has_histograms_scatter_and_correlations():
    figure = plot(sampled(), "matrix", names=["bob.mass", "pull", "tip[2]"])
    axes = np.array(figure.axes).reshape(3, 3)
    assert [axes[0, j].texts[0].get_text() for j in (1, 2)] == ["+1.00", "\N{MINUS SIGN}1.00"]
    assert sum(p.get_height() for p in axes[0, 0].patches) == 300
    assert sum(p.get_height() for p in axes[1, 1].patches) == 300 - (sampled()["error"] != "").sum()
    assert axes[2, 0].get_xlabel() == "bob.mass [kg]"
    with pytest.raises(ValueError, match=r"kind = 'matrix' draws 2 to 12 columns, and there are 1"):
        plot(sampled(), "matrix", names=["pull"])


def test_failed_runs_are_marked_where_they_failed():
    dataset = sampled()
    lost = dataset["error"].values != ""
    axes = np.array(plot(dataset, "matrix", names=["hose.material.young", "bob.mass"]).axes).reshape(2, 2)
    marked = axes[1, 0].collections[1].get_offsets()
    np.testing.assert_allclose(marked[:, 1], dataset["bob.mass"].values[lost])
    (ax,) = plot(dataset, "response", output="pull", parameter="bob.mass").axes
    np.testing.assert_allclose(ax.lines[-1].get_xdata(), dataset["bob.mass"].values[lost])


def test_entries_that_are_rounding_are_not_drawn_unasked():
    figure = plot(sampled(), "histogram")
    assert [ax.get_xlabel() for ax in figure.axes] == ["pull [kN]", "tip[0] [m]", "tip[2] [m]"]
    assert len(plot(sampled(), "histogram", output="tip").axes) == 3


def test_histogram_marks_quantiles():
    dataset = gridded().assign(z=("run", np.arange(15.0)))
    (ax,) = plot(dataset, "histogram").axes
    assert [line.get_xdata()[0] for line in ax.lines] == pytest.approx(np.quantile(np.arange(15.0), (0.05, 0.5, 0.95)))
    assert sum(p.get_height() for p in ax.patches) == 15


def test_lines_of_a_grid_hold_its_values():
    (ax,) = plot(gridded(), "response", parameter="a").axes
    labels = [line.get_label() for line in ax.lines[:3]]
    assert labels == ["b = 1", "b = 2", "b = 4"]
    for line, b in zip(ax.lines, (1.0, 2.0, 4.0), strict=False):
        expected = np.linspace(0, 2, 5) * b - 3.0
        expected[-1] = np.nan if b == 4.0 else expected[-1]
        np.testing.assert_allclose(line.get_ydata(), expected)
    (ax,) = plot(gridded(), "response", parameter="b", by="a").axes
    assert [line.get_label() for line in ax.lines[:5]] == [f"a = {x:g}" for x in np.linspace(0, 2, 5)]


def test_running_mean_follows_the_function():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, 4000)
    y = x**2 + rng.uniform(-0.1, 0.1, 4000)
    middle, mean, band = study_panels._running(x, y)
    np.testing.assert_allclose(mean, middle**2, atol=0.02)
    np.testing.assert_allclose(band[0], middle**2 - 0.09, atol=0.03)
    np.testing.assert_allclose(band[1], middle**2 + 0.09, atol=0.03)


def test_map_of_a_grid_has_its_cells():
    figure = plot(gridded(), "map")
    ax = figure.axes[0]
    mesh = ax.collections[0]
    values = np.ma.filled(mesh.get_array(), np.nan).reshape(3, 5)
    expected = np.outer([1.0, 2.0, 4.0], np.linspace(0, 2, 5)) - 3.0
    expected[2, 4] = np.nan
    np.testing.assert_allclose(values, expected)
    assert mesh.get_clim() == (-3.0, 3.0)  # signed values: white is zero
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[2.0, 4.0]])  # the run that failed


def test_map_of_samples_is_made_of_bins():
    figure = plot(sampled(4000), "map", output="pull", parameter="bob.mass", by="hose.material.young")
    values = np.ma.filled(figure.axes[0].collections[0].get_array(), np.nan)
    assert "means of bins" in figure.get_suptitle()
    assert np.nanmin(values) > 0.98 * 0.981
    assert np.nanmax(values) < 1.02 * 2.943
    # Mass decides alone, so along the other axis nothing changes.
    rows = values.reshape(-1, int(np.sqrt(values.size)))
    assert np.nanmax(np.nanstd(rows, axis=0)) < 0.05 * np.nanmean(rows)


def test_curves_are_quantiles():
    dataset = sampled(2000)
    (ax,) = plot(dataset, "curves").axes
    median = next(line for line in ax.lines if line.get_label() == "median")
    expected = np.rad2deg(np.nanmedian(dataset["swing"].values, axis=0))
    np.testing.assert_allclose(median.get_ydata(), expected)
    np.testing.assert_array_equal(median.get_xdata(), dataset["swing_t"].values)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time [s]", "swing [°]")
    assert len(ax.lines) == studies.SINGLE + 1


def test_big_studies_are_thinned_and_say_so(monkeypatch):
    assert plot(sampled(5000), "matrix").get_suptitle().endswith("2000 of them drawn")
    figure = plot(sampled(5000), "response", output="pull", parameter="bob.mass")
    assert "4000 of them drawn" in figure.get_suptitle()
    assert len(figure.axes[0].collections[0].get_offsets()) == 4000
    monkeypatch.setattr(study_runs, "MOST", 1000)
    assert plot(sampled(5000), "histogram").get_suptitle().startswith("5000 runs, 1000 of them taken")


def test_runs_that_are_missing_are_told():
    dataset = sampled()
    status = dataset["status"].values.copy()
    status[100:] = "missing"
    part = dataset.assign(status=("run", status), pull=dataset["pull"].where(status != "missing"))
    assert "200 not done yet" in plot(part, "histogram", output="pull").get_suptitle()
    nothing = dataset.assign(status=("run", np.full(300, "missing")))
    with pytest.raises(ValueError, match="no run of the study is done yet"):
        plot(nothing, "histogram")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"what": "mtrix"}, r"what = 'mtrix' is unknown.*Did you mean 'matrix'"),
        ({"what": "sobol"}, r"study.sobol\(\).plot\(\)"),
        ({"what": "response", "output": "pul"}, "output = 'pul' is unknown.*'pull'"),
        ({"what": "response", "output": "tip[7]"}, r"output = 'tip\[7\]' has no such entry; it has 3"),
        ({"what": "response", "parameter": "mass"}, "parameter = 'mass' is unknown"),
        ({"what": "response", "by": "bob.mass"}, "by = 'bob.mass' takes 300 values"),
        ({"what": "map", "parameter": "bob.mass", "by": "bob.mass"}, "are both 'bob.mass'"),
        ({"what": "curves", "output": "pull"}, "output = 'pull' is unknown; it can be 'swing'"),
        ({"what": "histogram", "file": "x.doc"}, "has no ending that pictures know"),
        ({"what": "histogram", "figure": 3}, "figure must be a matplotlib Figure"),
        ({"what": "histogram", "size": (0, 1)}, "size = .* between 0.5 and 100"),
    ],
)
def test_bad_input_is_told(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        plot(sampled(), **options)


def test_what_cannot_be_drawn_is_told():
    with pytest.raises(ValueError, match=r"gd.History, and the study has none"):
        plot(gridded(), "curves")
    with pytest.raises(ValueError, match="kind = 'map' needs two parameters, and 1 varies"):
        plot(gridded().drop_vars("b"), "map")
    with pytest.raises(ValueError, match="dimension 'run'"):
        plot(xarray.Dataset(), "map")
    with pytest.raises(ValueError, match="has no runs"):
        plot(gridded().isel(run=[]), "map")


def test_draws_into_a_figure_of_the_user():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4))
    assert plot(gridded(), "map", figure=figure) is figure
    assert tuple(figure.get_size_inches()) == (5, 4)


def test_indices_of_a_curve_are_lines():
    from types import SimpleNamespace

    first = np.array([[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]])
    bounds = np.stack([first - 0.1, first + 0.1], axis=-1)
    indices = SimpleNamespace(
        outputs=("y[0]", "y[1]", "y[2]"), parameters=("a", "b"), first=first, total=None, intervals={"first": bounds},
        notes=("3 of 100 runs left out.",), times=np.array([0.0, 1.0, 2.0]),
    )  # fmt: skip
    figure = plot_indices(indices)
    np.testing.assert_array_equal(figure.axes[0].lines[1].get_ydata(), first[:, 1])
    assert figure.get_suptitle() == "3 of 100 runs left out"


def mixed(samples=64):
    """Two sampled parameters, each sample at every combination of a list of three and one of two vectors."""
    rng = np.random.default_rng(1)
    young, speed = rng.uniform(1, 3, samples), rng.normal(0, 1, samples)
    mass, down = (x.ravel() for x in np.meshgrid([0.05, 0.1, 0.2], [-9.81, -1.62], indexing="ij"))
    run = {"young": np.tile(young, 6), "speed": np.tile(speed, 6), "mass": np.repeat(mass, samples)}
    gravity = np.zeros((6 * samples, 3))
    gravity[:, 2] = np.repeat(down, samples)
    pull = run["mass"] * (1.0 + run["speed"] ** 2)
    cross = np.where(run["speed"] > 0.5, run["young"], np.nan)
    curve = np.linspace(0, 1, 5)[:, None] * np.array([1.0, 2.0, 3.0]) * pull[:, None, None]
    return xarray.Dataset(
        {"pull": ("run", pull), "cross": ("run", cross), "hi": (("run", "hi_t", "hi_0"), curve)},
        {k: ("run", x) for k, x in run.items()} | {"gravity": (("run", "g_0"), gravity), "hi_t": np.linspace(0, 1, 5)},
        {"parameters": ["mass", "young", "speed", "gravity"], "outputs": ["pull", "cross", "hi"]},
    )


SAMPLED = ("young", "speed")


def test_runs_without_a_value_are_counted():
    n = int(np.isnan(mixed()["cross"]).sum())
    assert 0 < n < 384
    for kind in ("histogram", "response", "map"):
        told = plot(mixed(), kind, output="cross", sampled=SAMPLED).get_suptitle()
        assert told.startswith(f"{384 - n} of 384 runs, {n} without a value")
        told = plot(mixed(), kind, output=["pull", "cross"], sampled=SAMPLED).get_suptitle()
        assert told.startswith(f"384 runs, {n} without a value of cross")
    told = plot(mixed(), "matrix", names=["speed", "cross"], sampled=SAMPLED).get_suptitle()
    assert told.startswith(f"{384 - n} of 384 runs")
    # A run that failed is not one without a value.
    failed = mixed().assign(status=("run", np.where(np.isnan(mixed()["cross"]), "failed", "finished")))
    assert plot(failed, "histogram", output="cross").get_suptitle() == f"384 runs, {n} failed"


def test_samples_of_a_mixed_study_are_points_and_lists_are_colours():
    figure = plot(mixed(), "response", output=["pull", "cross"], sampled=SAMPLED)
    ax = figure.axes[0]
    assert ax.get_xlabel() == "young"  # sampled, though not the first
    assert [line.get_label() for line in ax.lines] == ["mass = 0.05", "mass = 0.1", "mass = 0.2"]
    points = [c.get_offsets() for c in ax.collections if len(c.get_offsets()) > 1]
    assert [len(p) for p in points] == [128, 128, 128]
    np.testing.assert_allclose(points[2][:, 1], mixed()["pull"].values[mixed()["mass"] == 0.2])
    # One legend for all panels, which takes no width from them.
    assert len(figure.legends) == 1
    assert all(ax.get_legend() is None for ax in figure.axes)
    figure.draw_without_rendering()
    assert all(ax.get_position().width > 0.38 for ax in figure.axes)
    # As many runs as levels of the list do not make a grid of samples.
    assert "values of" not in figure.get_suptitle()


def test_map_of_a_mixed_study_has_bins_of_what_was_sampled():
    figure = plot(mixed(), "map", output="pull", sampled=SAMPLED)
    ax = figure.axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("young", "speed")
    mean = ax.collections[0].get_array()
    assert mean.size == 25
    assert "means of bins" in figure.get_suptitle()
    x, y, z = (mixed()[name].values for name in ("young", "speed", "pull"))
    edges = [np.linspace(v.min(), v.max(), 6) for v in (x, y)]
    sums, counts = (np.histogram2d(x, y, edges, weights=w)[0] for w in (z, None))
    expected = np.divide(sums, counts, out=np.full((5, 5), np.nan), where=counts > 0)
    np.testing.assert_allclose(np.ma.filled(mean, np.nan).reshape(5, 5), expected.T)
    # A list keeps its cells beside bins.
    figure = plot(mixed(), "map", output="pull", parameter="mass", by="speed", sampled=SAMPLED)
    assert figure.axes[0].collections[0].get_array().size == 3 * 8


def test_of_a_vector_the_entries_that_vary_are_taken():
    (ax,) = plot(mixed(), "response", output="pull", parameter="gravity", sampled=SAMPLED).axes
    assert ax.get_xlabel() == "gravity[2]"
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [-9.81, -1.62])
    (ax,) = plot(mixed(), "response", output="pull", by="gravity", sampled=SAMPLED).axes
    assert [line.get_label() for line in ax.lines] == ["gravity[2] = -9.81", "gravity[2] = -1.62"]
    both = mixed()["gravity"].values[:, 2:] * [1.0, 0.0, 1.0]
    two = mixed().assign_coords(gravity=(("run", "g_0"), both))
    axes = plot(two, "response", output="pull", parameter="gravity", sampled=SAMPLED).axes
    assert [ax.get_xlabel() for ax in axes] == ["gravity[0]", "gravity[2]"]
    assert "constant and left out: gravity[0], gravity[1]" in plot(mixed(), sampled=SAMPLED).get_suptitle()


def test_curves_take_an_entry():
    (ax,) = plot(mixed(), "curves", output="hi[2]").axes
    assert ax.get_ylabel() == "hi[2]"
    median = next(line for line in ax.lines if line.get_label() == "median")
    np.testing.assert_allclose(median.get_ydata(), np.median(mixed()["hi"].values[..., 2], axis=0))
    assert plot(mixed(), "curves", output="hi[-1]").axes[0].get_ylabel() == "hi[2]"
    with pytest.raises(ValueError, match=r"output = 'hi\[3\]' has no such entry; it has 3"):
        plot(mixed(), "curves", output="hi[3]")
    with pytest.raises(ValueError, match=r"'pull\[0\]' has no such entry; it has none, being a number"):
        plot(mixed(), "histogram", output="pull[0]")


def test_values_of_a_list_are_bars_with_gaps():
    axes = np.array(plot(mixed(), "matrix", names=["mass", "gravity[2]", "pull"]).axes).reshape(3, 3)
    for ax, count in ((axes[0, 0], 128), (axes[1, 1], 192)):
        bars = sorted(ax.patches, key=lambda b: b.get_x())
        assert [b.get_height() for b in bars] == [count] * (384 // count)
        for left, right in pairwise(bars):
            assert right.get_x() - (left.get_x() + left.get_width()) > 0.1 * left.get_width()
    # Also where each occurs once, if it is known to be a list.
    few = mixed().isel(run=slice(0, 12)).assign_coords(young=("run", np.arange(12.0)))
    assert len(plot(few, names=["young", "pull"], sampled=["speed"]).axes[0].patches) == 12
    assert len(plot(few, names=["young", "pull"], sampled=["young"]).axes[0].patches) == 8


def test_outputs_without_variance_have_no_panel():
    from types import SimpleNamespace

    first = np.array([[0.7, 0.3], [np.nan, np.nan], [0.2, 0.8]])
    indices = SimpleNamespace(
        outputs=("x", "y", "z"), parameters=("a", "b"), first=first, total=None, times=None,
        intervals={"first": np.stack([first - 0.1, first + 0.1], axis=-1)}, notes=("No variance in y.",),
    )  # fmt: skip
    figure = plot_indices(indices)
    assert [ax.get_xlabel().split()[-1] for ax in figure.axes] == ["x", "z"]
    assert [p.get_width() for p in figure.axes[1].patches] == [0.2, 0.8]
    assert figure.get_suptitle() == "No variance in y"
    indices.first = np.full((3, 2), np.nan)
    with pytest.raises(ValueError, match="no output varies"):
        plot_indices(indices)


def test_a_study_knows_what_it_sampled_and_who_has_no_value():
    import gyrod as gd

    ball = gd.System([gd.Body("ball", mass=1.0, inertia=(1, 1, 1))], gravity=(0, 0, -1.0))
    vary = {"ball.velocity[2]": gd.Uniform(0.0, 1.0), "ball.velocity[0]": gd.Uniform(-1, 1), "ball.mass": [1.0, 2.0]}
    outputs = {"turn": gd.Crossing("ball.velocity[2]"), "end": "ball.position"}
    study = gd.study(ball, vary, outputs, 0.5, samples=16, engine="serial")
    without = int(np.isnan(study["turn"]).sum())
    assert without == 16  # half of the samples go up too fast to turn
    lines = {line.split()[0]: line for line in str(study).splitlines()[2:]}
    assert lines["turn"].endswith("   16 without a value")
    assert all("without" not in line for name, line in lines.items() if name != "turn")
    figure = study.plot("response", output="end[0]")
    assert [line.get_label() for line in figure.axes[0].lines] == ["ball.mass = 1 kg", "ball.mass = 2 kg"]
    assert figure.axes[0].get_xlabel() == "ball.velocity[2] [m/s]"
    assert study.plot("map", output="turn").get_suptitle() == "16 of 32 runs, 16 without a value, means of bins"


@settings(max_examples=6, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(
    st.lists(st.sampled_from([0.0, -0.0, 1e-300, 1e300, np.nan, 1.0, -3.5, 7e-5]), min_size=1, max_size=5), st.data()
)
def test_odd_numbers_draw(values, data):
    """Constant, huge, tiny and missing values: a picture or a sentence, and no warning."""
    n = len(values)
    a = data.draw(st.lists(st.sampled_from([0.0, 1.0, 1e6, -2.0]), min_size=n, max_size=n))
    dataset = xarray.Dataset({"z": ("run", values)}, {"a": ("run", a), "b": ("run", a[::-1])})
    kind = data.draw(st.sampled_from(KINDS))
    try:
        figure = plot(dataset, kind)
    except ValueError:
        assert kind in ("curves", "map", "matrix")  # no curves, nothing that varies
    else:
        figure.canvas.draw()
