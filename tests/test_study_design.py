"""Designs: every run has its parameters by its number alone; grids are complete, samples are what they say."""

from __future__ import annotations

import itertools
import math
import pickle
import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import qmc

import gyrod as gd
from gyrod.studies.design import DISTRIBUTIONS, SAMPLERS, Design, make_design

#: Ours beside those of SciPy.
TWINS = {
    "uniform": (gd.Uniform(-2.0, 5.0), stats.uniform(-2.0, 7.0)),
    "normal": (gd.Normal(3.0, 0.2), stats.norm(3.0, 0.2)),
    "log-uniform": (gd.LogUniform(1e-3, 1e4), stats.loguniform(1e-3, 1e4)),
    "log-normal": (gd.LogNormal(2.0, 1.3), stats.lognorm(s=math.log(1.3), scale=2.0)),
}
MIXED = {
    "a": gd.Normal(0.0, 1.0),
    "list": [1, 2, 3],
    "b": gd.LogUniform(1.0, 100.0),
    "vectors": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
    "c": stats.beta(2.0, 3.0),
    "d": gd.LogNormal(2.0, 1.1),
    "e": gd.Uniform(0.0, 1.0),
}


def points(design: Design, start: int = 0, stop: int | None = None) -> np.ndarray:
    columns = design.parameters(start, design.size if stop is None else stop)
    return np.stack([columns[name] for name in design.distributions], axis=1)


def cube(d: int, **options) -> Design:
    return make_design({f"x{i}": gd.Uniform(0.0, 1.0) for i in range(d)}, **options)


# --- distributions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ours", "theirs"), TWINS.values(), ids=list(TWINS))
def test_distributions_are_those_of_scipy(ours, theirs):
    u = np.array([1e-15, 1e-6, 0.1, 0.5, 0.77, 1.0 - 1e-9])
    np.testing.assert_allclose(ours.ppf(u), theirs.ppf(u), rtol=1e-9)
    assert ours.mean == pytest.approx(theirs.mean(), rel=1e-12)
    assert pickle.loads(pickle.dumps(ours)) == ours
    assert type(ours) in DISTRIBUTIONS


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: gd.Uniform(2, 1), "Uniform: low = 2 must be below high = 1."),
        (lambda: gd.Uniform(1, 1), "must be below"),
        (lambda: gd.Uniform(-1.7e308, 1.7e308), "too far apart"),
        (lambda: gd.Uniform("a", 1), "Uniform: low = 'a' must be a number."),
        (lambda: gd.Normal(0, 0), "Normal: std must be a positive finite number, got 0.0."),
        (lambda: gd.Normal(math.nan, 1), "Normal: mean = nan must be finite."),
        (lambda: gd.LogUniform(0, 1), "LogUniform: low must be a positive finite number"),
        (lambda: gd.LogUniform(2, 1), "LogUniform: low = 2 must be below high = 1."),
        (lambda: gd.LogNormal(1, 1), "LogNormal: factor = 1 must be larger than 1; 1.1 is a spread of 10 %."),
        (lambda: gd.LogNormal(-1, 2), "LogNormal: median must be a positive"),
    ],
)
def test_distributions_that_cannot_be(make, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        make()


# --- samplers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", SAMPLERS)
@given(cuts=st.lists(st.integers(0, 6 * 60), min_size=1, max_size=6), samples=st.sampled_from([1, 3, 60]))
@settings(max_examples=25, deadline=None)
def test_parameters_do_not_depend_on_how_runs_are_cut(sampler, cuts, samples):
    design = make_design(MIXED, samples=samples, sampler=sampler, seed=7)
    whole = design.parameters(0, design.size)
    assert list(whole) == list(MIXED)
    places = sorted({0, design.size, *(min(c, design.size) for c in cuts)})
    parts = [design.parameters(a, b) for a, b in itertools.pairwise(places)]
    again = pickle.loads(pickle.dumps(design))
    for name, column in whole.items():
        assert np.concatenate([part[name] for part in parts]).tobytes() == column.tobytes()
        one = again.parameters(places[-2], places[-1])[name]
        assert one.tobytes() == column[places[-2] :].tobytes()
        assert one.dtype == column.dtype == (np.int64 if name == "list" else np.float64)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_marginals_are_the_distributions(sampler):
    n = 4096
    design = make_design({name: ours for name, (ours, _) in TWINS.items()}, samples=n, sampler=sampler, seed=3)
    columns = design.parameters(0, design.size)
    # 1.95/sqrt(n) is the 0.1 % bound of random samples; the others are far more even.
    bound = {"random": 1.95 / math.sqrt(n), "latin hypercube": 1.0 / n, "halton": 12.0 / n}.get(sampler, 1.5 / n)
    for name, (_, theirs) in TWINS.items():
        assert stats.kstest(columns[name], theirs.cdf).statistic < bound, name


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_columns_are_independent(sampler):
    x = points(cube(4, samples=2048, sampler=sampler, seed=11))
    if sampler == "saltelli":
        x = x[::6]
    off = np.corrcoef(x.T) - np.eye(4)
    assert np.abs(off).max() < 4.0 / math.sqrt(2048)
    assert len(np.unique(x)) == x.size


def test_sobol_points_are_those_of_scipy():
    ours = points(cube(7, samples=300, seed=5))
    theirs = qmc.Sobol(7, scramble=True, bits=52, rng=np.random.default_rng(5)).random(512)[:300]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=2.0**-52)


def test_halton_digits_are_permuted_radical_inverses():
    x = points(cube(3, samples=210, sampler="halton", seed=2))
    for column, p in zip(x.T, (2, 3, 5), strict=True):
        # Every block of p^2 successive points has one in each of p^2 equal parts.
        blocks = column[: 210 // p**2 * p**2].reshape(-1, p**2)
        assert np.array_equal(np.sort(np.floor(blocks * p**2), axis=1), np.tile(np.arange(p**2), (len(blocks), 1)))


def test_quasi_random_samples_are_more_even_than_random_ones():
    found = {s: qmc.discrepancy(points(cube(3, samples=1024, sampler=s, seed=1))) for s in SAMPLERS if s != "saltelli"}
    assert found["sobol"] < 0.05 * found["random"]
    assert found["halton"] < 0.05 * found["random"]
    assert found["latin hypercube"] < 0.7 * found["random"]


def test_latin_hypercube_has_one_sample_in_each_part():
    x = points(cube(3, samples=97, sampler="latin hypercube", seed=4))
    assert np.array_equal(np.sort(np.floor(97 * x), axis=0), np.tile(np.arange(97.0)[:, None], 3))


def test_saltelli_rows_are_two_samples_and_their_crossings():
    d, n = 3, 32
    design = cube(d, samples=n, sampler="saltelli", seed=9)
    assert design.size == n * (d + 2)
    x = points(design).reshape(n, d + 2, d)
    A, B = x[:, 0], x[:, 1]
    np.testing.assert_array_equal(np.concatenate([A, B], axis=1), points(cube(2 * d, samples=n, seed=9)))
    for i in range(d):
        wanted = A.copy()
        wanted[:, i] = B[:, i]
        np.testing.assert_array_equal(x[:, 2 + i], wanted)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_seeds_make_other_samples_and_the_same_again(sampler):
    one, again, other = (points(cube(2, samples=64, sampler=sampler, seed=s)) for s in (1, 1, 2))
    assert one.tobytes() == again.tobytes()
    assert not np.any(one == other)


@pytest.mark.parametrize("sampler", ["random", "sobol", "halton", "saltelli"])
def test_the_last_runs_of_very_many_cost_nothing(sampler):
    design = make_design({"a": gd.Uniform(0, 1), "b": gd.Normal(0, 1), "c": [1, 2]}, samples=10**12, sampler=sampler)
    assert design.size == 2 * 10**12 * (4 if sampler == "saltelli" else 1)
    last = design.parameters(design.size - 3, design.size)
    assert np.isfinite(last["b"]).all()
    assert np.all((last["a"] > 0.0) & (last["a"] < 1.0))
    assert len(pickle.dumps(design)) < 20_000


# --- grids -----------------------------------------------------------------------------------------------------------


@given(lengths=st.lists(st.integers(1, 5), min_size=1, max_size=4), samples=st.integers(1, 4), sampled=st.booleans())
@settings(max_examples=60, deadline=None)
def test_grids_hold_every_combination_once(lengths, samples, sampled):
    vary = {f"p{i}": np.arange(n) * 10**i for i, n in enumerate(lengths)}
    if sampled:
        vary["z"] = gd.Uniform(0.0, 1.0)
    design = make_design(vary, samples=samples if sampled else None, sampler="random")
    columns = design.parameters(0, design.size)
    rows = list(zip(*(columns[f"p{i}"].tolist() for i in range(len(lengths))), strict=True))
    repeats = samples if sampled else 1
    every = itertools.product(*(vary[f"p{i}"].tolist() for i in range(len(lengths))))
    assert rows == [row for row in every for _ in range(repeats)]
    if sampled:  # all samples for each combination, the same ones
        z = columns["z"].reshape(-1, samples)
        assert len(np.unique(z)) == samples
        assert np.all(z == z[0])


def test_lists_together_go_row_by_row():
    design = make_design({"a": [1.5, 2.5], "b": [[1, 2], [3, 4]], "u": gd.Uniform(0, 1)}, layout="together", samples=3)
    columns = design.parameters(0, 6)
    assert design.size == 6
    assert columns["a"].tolist() == [1.5] * 3 + [2.5] * 3
    assert columns["b"].tolist() == [[1, 2]] * 3 + [[3, 4]] * 3


def test_values_may_be_anything_that_holds_numbers():
    design = make_design({"a": range(3), "b": (x / 2 for x in range(2)), "c": np.float32([1, 2]), "d": [1, 2.5]})
    columns = design.parameters(0, design.size)
    assert design.size == 24
    assert {name: column.dtype.kind for name, column in columns.items()} == {"a": "i", "b": "f", "c": "f", "d": "f"}
    assert columns["d"][:2].tolist() == [1.0, 2.5]


@pytest.mark.parametrize(
    ("distribution", "kind"),
    [
        (stats.randint(6, 9), "i"),
        (stats.poisson(3.0, loc=2), "i"),
        (stats.rv_discrete(values=([1, 4], [0.5, 0.5])), "i"),
        (stats.rv_discrete(values=([1.5, 4], [0.5, 0.5])), "f"),
        (stats.randint(6, 9, loc=0.5), "f"),
        (stats.norm(7, 1), "f"),
        (stats.rv_histogram(np.histogram([1.0, 2.0, 4.0])), "f"),
    ],
)
def test_values_of_discrete_distributions_are_whole_numbers(distribution, kind):
    design = make_design({"n": distribution}, samples=64)
    column = design.parameters(0, 64)["n"]
    assert column.dtype.kind == design.parameters(0, 0)["n"].dtype.kind == kind
    assert len(np.unique(column)) > 1
    np.testing.assert_array_equal(np.asarray(distribution.ppf(points_of(design))), column)


def points_of(design):
    """Probabilities behind the only column of a design."""
    return make_design({"n": gd.Uniform(0, 1)}, samples=design.samples).parameters(0, design.samples)["n"]


@pytest.mark.parametrize(
    ("distribution", "remedy"),
    [
        (stats.norm, "scipy.stats.norm(loc, scale)"),
        (stats.truncnorm, "scipy.stats.truncnorm(a, b, loc, scale)"),
        (stats.randint, "scipy.stats.randint(low, high, loc)"),
    ],
)
def test_distributions_without_numbers_are_refused(distribution, remedy):
    with pytest.raises(gd.ModelError, match=re.escape(f"has no numbers yet; give {remedy}.")):
        make_design({"a": distribution}, samples=4)


def test_runs_that_are_not_there():
    design = make_design({"a": [1, 2]})
    assert design.parameters(1, 1)["a"].shape == (0,)
    for start, stop in ((-1, 1), (0, 3), (2, 1)):
        with pytest.raises(ValueError, match="the study has 2"):
            design.parameters(start, stop)


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vary", "options", "sentence"),
    [
        ({}, {}, "vary must be a dictionary from names to values"),
        ([1], {}, "vary must be a dictionary from names to values"),
        ({3: [1]}, {}, "vary: 3 must be text such as 'bob.mass'."),
        ({"a": []}, {}, "vary['a'] is empty; give at least one value."),
        ({"a": 3.0}, {}, "vary['a'] = 3.0 must be a list of values or a distribution such as gd.Normal."),
        ({"a": "text"}, {}, "must be a list of values or a distribution"),
        ({"a": ["text"]}, {}, "vary['a'] = ['text'] must hold numbers, or arrays of one shape."),
        ({"a": [1, None]}, {}, "must hold numbers"),
        ({"a": [True, False]}, {}, "must hold numbers"),
        ({"a": [[1, 2], [3]]}, {}, "must hold numbers, or arrays of one shape."),
        ({"a": [1.0, math.inf]}, {}, "vary['a'][1] = inf is not finite"),
        ({"a": [1], "b": [1, 2]}, {"layout": "together"}, "but 'a' has 1, 'b' has 2; design = 'grid' combines them."),
        ({"a": [1]}, {"layout": "gird"}, "design = 'gird' is unknown; it can be 'grid', 'together'. Did you mean"),
        ({"a": [1]}, {"samples": 4}, "samples = 4 needs a distribution to sample; vary has only lists of values."),
        ({"a": gd.Normal(0, 1)}, {}, "samples says how often to draw from them; give samples=256."),
        ({"a": gd.Normal(0, 1)}, {"samples": 0}, "samples = 0 must be an integer of at least 1."),
        ({"a": gd.Normal(0, 1)}, {"samples": 2.5}, "samples = 2.5 must be an integer"),
        ({"a": gd.Normal(0, 1)}, {"samples": True}, "samples = True must be an integer"),
        ({"a": gd.Normal(0, 1)}, {"samples": 4, "seed": -1}, "seed = -1 must be an integer of at least 0."),
        ({"a": gd.Normal(0, 1)}, {"samples": 4, "sampler": "sobl"}, "Did you mean 'sobol'?"),
        ({"a": gd.Normal(0, 1)}, {"samples": 2**30, "sampler": "latin hypercube"}, "take sampler = 'sobol'"),
        ({"a": gd.Normal(0, 1), "b": range(10)}, {"samples": 2**52}, "can be numbered"),
        ({"a": stats.norm([0, 1], 1)}, {"samples": 4}, "must be the distribution of a number"),
        ({"a": stats.norm(0, -1)}, {"samples": 4}, "has values that are not finite"),
    ],
)
def test_designs_that_cannot_be(vary, options, sentence):
    with pytest.raises(gd.ModelError) as caught:
        make_design(vary, **options)
    assert sentence in str(caught.value)


def test_all_problems_are_told_at_once():
    with pytest.raises(gd.ModelError) as caught:
        make_design({"a": [], "b": gd.Normal(0, 1), "c": "x"}, layout="x", sampler="y", seed="z")
    assert len(caught.value.problems) == 6


@given(
    vary=st.dictionaries(
        st.text(max_size=3) | st.integers(),
        st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=2), lambda x: st.lists(x, max_size=3)),
        max_size=3,
    ),
    samples=st.none() | st.integers(-2, 5) | st.floats(),
)
def test_whatever_is_given_is_a_design_or_a_sentence(vary, samples):
    try:
        design = make_design(vary, samples=samples)
    except gd.ModelError as error:
        sentences = error.problems
    else:
        sentences = ()
        assert all(np.isfinite(column).all() for column in design.parameters(0, design.size).values())
    assert all(sentence.endswith(".") for sentence in sentences)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_many_runs_are_made_at_once(sampler):
    design = make_design({"a": gd.Normal(0, 1), "b": gd.Uniform(0, 1), "c": [1, 2]}, samples=10**5, sampler=sampler)
    began = time.process_time()
    design.parameters(0, 10**5)
    assert time.process_time() - began < 1.0  # 10 us a run; a loop over runs takes longer
