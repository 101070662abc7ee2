"""Sobol indices against closed forms and against SciPy's; intervals that cover; what is left out is told."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import gyrod as gd
from gyrod.studies.design import make_design
from gyrod.studies.indices import SobolIndices, sobol

xarray = pytest.importorskip("xarray")

#: Ishigami's function with a = 7, b = 0.1 on (-pi, pi)^3.
FIRST, TOTAL = np.array([0.313905, 0.442411, 0.0]), np.array([0.557589, 0.442411, 0.243684])
WEIGHTS = np.array([0.0, 1.0, 4.5, 9.0])


def ishigami(x):
    return np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])


def g(x):
    """Sobol's g function on (0, 1)^4, which has kinks."""
    return np.prod((np.abs(4.0 * x - 2.0) + WEIGHTS) / (1.0 + WEIGHTS), axis=1)


def exact_g():
    part = 1.0 / 3.0 / (1.0 + WEIGHTS) ** 2
    whole = np.prod(1.0 + part) - 1.0
    return part / whole, part * np.prod(1.0 + part) / (1.0 + part) / whole


def runs(function, sampler, samples, distribution, d=3, seed=0):
    """A study as its table: what a design of ours and a plain function make."""
    names = [f"x{i}" for i in range(d)]
    design = make_design(dict.fromkeys(names, distribution), samples=samples, sampler=sampler, seed=seed)
    columns = design.parameters(0, design.size)
    x = np.stack([columns[name] for name in names], axis=1)
    values = function(x)
    dims = ("run", *(f"y_{i}" for i in range(values.ndim - 1)))
    coords = {"run": np.arange(design.size), **{name: ("run", columns[name]) for name in names}}
    return xarray.Dataset({"y": (dims, values)}, coords), names


ANGLES, UNIT = gd.Uniform(-np.pi, np.pi), gd.Uniform(0.0, 1.0)


# --- designs of Saltelli ---------------------------------------------------------------------------------------------


def test_saltelli_indices_are_those_of_ishigami():
    found = sobol(*runs(ishigami, "saltelli", 8192, ANGLES), "saltelli", resamples=200)
    np.testing.assert_allclose(found.first[0], FIRST, atol=4e-3)
    np.testing.assert_allclose(found.total[0], TOTAL, atol=4e-3)
    for name, exact in (("first", FIRST), ("total", TOTAL)):
        low, high = found.intervals[name][0].T
        assert (low <= exact).all()
        assert (exact <= high).all()
        assert (high - low < 0.1).all()


def test_saltelli_indices_are_those_of_the_g_function():
    first, total = exact_g()
    found = sobol(*runs(g, "saltelli", 8192, UNIT, d=4), "saltelli", resamples=10)
    np.testing.assert_allclose(found.first[0], first, atol=5e-3)
    np.testing.assert_allclose(found.total[0], total, atol=5e-3)


def test_saltelli_indices_are_those_of_scipy():
    """From the same values SciPy makes the same indices, to rounding."""
    dataset, names = runs(lambda x: 1e3 + ishigami(x), "saltelli", 256, ANGLES)
    found = sobol(dataset, names, "saltelli", resamples=10)
    f = dataset["y"].values.reshape(256, 5)
    given = {"f_A": f[None, :, 0], "f_B": f[None, :, 1], "f_AB": f.T[2:, None, :]}
    theirs = stats.sobol_indices(func=given, n=256, dists=None)
    np.testing.assert_allclose(found.first[0], theirs.first_order, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.total[0], theirs.total_order, rtol=0, atol=1e-12)


def test_intervals_of_saltelli_cover_and_are_seeded():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(60):  # plain random base samples: those of a Sobol sequence are better than their intervals say
        a, b = rng.uniform(-np.pi, np.pi, (2, 256, 3))
        rows = np.stack([a, b, *(np.where(np.arange(3) == i, b, a) for i in range(3))], axis=1).reshape(-1, 3)
        dataset = xarray.Dataset({"y": ("run", ishigami(rows))}, {"run": np.arange(len(rows))})
        found = sobol(dataset, ["a", "b", "c"], "saltelli", resamples=200)
        for name, exact in (("first", FIRST), ("total", TOTAL)):
            low, high = found.intervals[name][0].T
            covered += int(((low <= exact) & (exact <= high)).sum())
    assert 0.9 <= covered / 360 <= 0.99
    again = sobol(dataset, ["a", "b", "c"], "saltelli", resamples=200)
    np.testing.assert_array_equal(again.intervals["total"], found.intervals["total"])
    other = sobol(dataset, ["a", "b", "c"], "saltelli", resamples=200, seed=1)
    assert (other.intervals["total"] != found.intervals["total"]).any()


def test_rows_with_a_failure_are_left_out_as_a_whole():
    dataset, names = runs(ishigami, "saltelli", 512, ANGLES)
    values = dataset["y"].values
    keep = np.ones(512, dtype=bool)
    for base, place in ((3, 0), (100, 4), (100, 1), (511, 2)):
        values[5 * base + place] = np.nan
        keep[base] = False
    found = sobol(dataset, names, "saltelli", resamples=50)
    only = sobol(dataset.isel(run=np.repeat(keep, 5)), names, "saltelli", resamples=50)
    np.testing.assert_array_equal(found.first, only.first)
    np.testing.assert_array_equal(found.intervals["total"], only.intervals["total"])
    assert found.used == (509,)
    assert "3 of 512 base samples left out" in str(found)


def test_runs_are_known_by_their_numbers():
    dataset, names = runs(ishigami, "saltelli", 128, ANGLES)
    order = np.random.default_rng(0).permutation(dataset.sizes["run"])
    shuffled = sobol(dataset.isel(run=order), names, "saltelli", resamples=10)
    np.testing.assert_array_equal(shuffled.first, sobol(dataset, names, "saltelli", resamples=10).first)


# --- other samples ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["sobol", "random", "latin hypercube", "halton"])
def test_indices_of_any_sample(sampler):
    found = sobol(*runs(ishigami, sampler, 4096, ANGLES), sampler)
    low, high = found.intervals["first"][0].T
    assert found.total is None
    # Random ones scatter by 0.012.
    error = 0.004 if sampler in ("sobol", "halton") else 0.03
    np.testing.assert_allclose(found.first[0], FIRST, atol=error)
    assert ((low - 1e-3 <= FIRST) & (high + 1e-3 >= FIRST)).all()
    found = sobol(*runs(g, sampler, 4096, UNIT, d=4), sampler)
    np.testing.assert_allclose(found.first[0], exact_g()[0], atol=error)


def test_bias_of_the_regression_is_small_and_its_intervals_cover():
    rng = np.random.default_rng(1)
    estimates, covered = [], 0
    for _ in range(100):
        x = rng.uniform(-np.pi, np.pi, (512, 3))
        coords = {f"x{i}": ("run", x[:, i]) for i in range(3)}
        found = sobol(xarray.Dataset({"y": ("run", ishigami(x))}, coords), list(coords), "random")
        low, high = found.intervals["first"][0].T
        estimates.append(found.first[0])
        covered += int(((low <= FIRST) & (high >= FIRST)).sum())
    # Ten times smaller than the 0.03 by which single estimates scatter.
    np.testing.assert_allclose(np.mean(estimates, axis=0), FIRST, atol=0.01)
    assert covered / 300 >= 0.92


@pytest.mark.parametrize("distribution", [gd.Normal(0.0, 1.0), gd.LogNormal(2.0, 3.0), stats.gamma(2.0)])
def test_linear_functions_of_any_distribution(distribution):
    def linear(x):
        u = stats.rankdata(x, axis=0) / len(x)
        return 3.0 * u[:, 0] + 4.0 * u[:, 1]

    found = sobol(*runs(linear, "sobol", 1024, distribution, d=2), "sobol")
    np.testing.assert_allclose(found.first[0], [0.36, 0.64], atol=2e-3)


def test_vector_outputs_entry_by_entry():
    def both(x):
        return np.stack([ishigami(x), 5.0 + 0.0 * x[:, 0], x[:, 2]], axis=1)

    dataset, names = runs(both, "saltelli", 2048, ANGLES)
    found = sobol(dataset, names, "saltelli", resamples=20)
    assert found.outputs == ("y[0]", "y[1]", "y[2]")
    np.testing.assert_allclose(found.first[0], FIRST, atol=0.02)
    assert np.isnan(found.first[1]).all()
    np.testing.assert_allclose(found.first[2], [0, 0, 1], atol=0.01)
    assert found["y[2]"] == dict(zip(names, found.first[2].tolist(), strict=True))
    assert "No variance in y[1]." in str(found)
    for name in ("y[2]", "y[-1]"):
        last = sobol(dataset, names, "saltelli", name, resamples=20)
        assert last.outputs == ("y[2]",)
        np.testing.assert_array_equal(last.first, found.first[2:])
    with pytest.raises(ValueError, match=r"'y\[3\]' is not an entry of a run: 'y' has the shape \(3,\)"):
        sobol(dataset, names, "saltelli", "y[3]")
    one = sobol(dataset.assign(z=dataset["y"][:, 0]), names, "saltelli", "z", resamples=20)
    np.testing.assert_array_equal(one.first[0], found.first[0])


def test_rounding_is_no_variance():
    def noisy(x):
        return np.stack([x[:, 0], 1e-17 * x[:, 1]], axis=1)

    found = sobol(*runs(noisy, "random", 256, ANGLES), "random")
    assert np.isnan(found.first[1]).all()


def test_table_and_plot(tmp_path):
    found = sobol(*runs(ishigami, "saltelli", 1024, ANGLES), "saltelli", resamples=50)
    assert isinstance(found, SobolIndices)
    lines = str(found).splitlines()
    assert lines[0].split() == ["output", "parameter", "first", "95", "%", "total", "95", "%"]
    assert [lines[1].split()[1], lines[2].split()[0], lines[3].split()[0]] == ["x0", "x1", "x2"]  # by the total
    assert "Saltelli 2010, Jansen 1999" in str(found)
    pytest.importorskip("matplotlib")
    figure = found.plot(file=tmp_path / "sobol.png")
    bars = figure.axes[0].patches
    assert sorted(round(b.get_width(), 12) for b in bars) == sorted(
        round(x, 12) for x in (*found.first[0], *found.total[0])
    )
    assert (tmp_path / "sobol.png").stat().st_size > 5000


def test_bad_input_is_told():
    dataset, names = runs(ishigami, "saltelli", 64, ANGLES)
    with pytest.raises(ValueError, match="no parameter has a distribution"):
        sobol(dataset, [], "saltelli")
    with pytest.raises(ValueError, match=r"'x2' has a list of values; give it a distribution"):
        sobol(dataset, names[:2], "saltelli", lists=["x2"])
    with pytest.raises(ValueError, match=r"output = 'z' is unknown; it can be 'y'"):
        sobol(dataset, names, "saltelli", "z")
    with pytest.raises(ValueError, match=r"need 16 base samples with results, and there are 8"):
        sobol(dataset.isel(run=slice(0, 40)), names, "saltelli")
    with pytest.raises(ValueError, match=r"need 16 runs with results, and there are 10"):
        sobol(dataset.isel(run=slice(0, 10)), names, "random")
    with pytest.raises(ValueError, match="confidence = 2 must lie between"):
        sobol(dataset, names, "saltelli", confidence=2)
    with pytest.raises(ValueError, match="resamples = 1 must be an integer"):
        sobol(dataset, names, "saltelli", resamples=1)


def test_sobol_sequences_tell_more_than_random_samples():
    errors = {}
    for sampler in ("random", "sobol"):
        found = [sobol(*runs(ishigami, sampler, 512, ANGLES, seed=seed), sampler).first[0] for seed in range(6)]
        errors[sampler] = np.abs(np.array(found) - FIRST).mean()
    assert errors["sobol"] < 0.4 * errors["random"]
