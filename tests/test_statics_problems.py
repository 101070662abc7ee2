"""Rods at rest with trusted values: every problem of gyrod.problems.STATICS through the public interface."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gyrod as gd
from gyrod import bench, problems


def solved(problem):
    return problem.quantities(bench.solve_static(problem))


def errors(problem):
    """Absolute differences from the trusted values, by name."""
    values = solved(problem)
    assert set(values) >= set(problem.reference)
    return {name: float(np.abs(values[name] - trusted).max()) for name, trusted in problem.reference.items()}


def relative(problem):
    return {name: error / abs(problem.reference[name]) for name, error in errors(problem).items()}


def order(build, numbers, name):
    found = [errors(build(segments=n))[name] for n in numbers]
    return np.log2(found[0] / found[1]) / np.log2(numbers[1] / numbers[0])


# --- the registry ---


def test_the_problems_are_listed():
    assert len(problems.STATICS) == 21
    others = {*problems.ROTATIONS, *problems.RIGID, *problems.RODS, *problems.MECHANISMS}
    assert not set(problems.STATICS) & others
    for name, problem in problems.STATICS.items():
        assert problems.get(name) is problem
        assert problem.name == name
        assert problem.about
        assert problem.source
        assert problem.reference
        assert problem.kind in ("equilibrium", "follow", "modes")
        assert bool(problem.stops) == (problem.kind == "follow")
        assert bool(problem.modes) == (problem.kind == "modes")


def test_other_data_have_no_trusted_values():
    assert problems.elastica(3.0).reference == {}
    assert problems.elastica(3.0).source == ""
    assert problems.bend_45_at_rest(400.0).reference == {}
    assert problems.lla_test2(20).reference == {}
    assert problems.lla_test2(curvature="angle").source == ""
    with pytest.raises(ValueError, match=r"angle = 30\.0 has no trusted load; it can be 20, 60, 120"):
        problems.post_buckling(30.0)
    with pytest.raises(ValueError, match="ends = 'free' is unknown; it can be 'cantilever'"):
        problems.timoshenko("free")


def test_trusted_values_are_what_they_say():
    x = 6.0 * 10.0 * np.sqrt(1.2 / 2.8e7)
    assert problems.get("spinning-rod").reference["extension"] == pytest.approx(10.0 * (np.tan(x) / x - 1.0), rel=1e-8)
    beta = np.sqrt(problems.get("euler-bernoulli").reference["omega 1"])
    assert np.cos(beta) * np.cosh(beta) == pytest.approx(-1.0, abs=1e-12)


# --- equilibria ---


@pytest.mark.parametrize("load", [1.0, 2.0, 5.0, 10.0])
def test_elastica(load):
    # Beyond a = 7 the default curvature needs 230 segments for 1e-5.
    found = errors(problems.elastica(load, 200, curvature="half-tangent"))
    assert np.hypot(*found.values()) < 1e-5
    found = errors(problems.elastica(load, 200))
    assert np.hypot(*found.values()) < (1e-5 if load < 7.0 else 1.35e-5)


def test_elastica_is_of_order_two():
    assert order(problems.elastica, (25, 100), "w/L") == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(("angle", "bound"), [(20.0, 4e-5), (60.0, 1.1e-5), (120.0, 1e-5)])
def test_post_buckling(angle, bound):
    """At the trusted load; near the critical one (20 degrees) a small error of the load moves the end far."""
    found = errors(problems.post_buckling(angle, 200))
    assert np.hypot(found["x/L"], found["y/L"]) < bound
    assert found["angle"] < 4e-3


def test_post_buckling_by_its_angle():
    """The load that turns the end by 20 degrees, and the end then: 1e-5 as the others."""
    problem = problems.post_buckling(20.0, 200)
    ends = {}
    for load in (1.0 - 5e-5, 1.0):
        values = problem.quantities(gd.equilibrium(problem.system, load=load))
        ends[load] = np.array([values["angle"], values["x/L"], values["y/L"]])
    (low, a), (high, b) = ends.items()
    share = (20.0 - a[0]) / (b[0] - a[0])
    assert low + share * (high - low) == pytest.approx(1.0, abs=1e-5)
    assert (a + share * (b - a))[1:] == pytest.approx([0.96973090736352, 0.2194130423956], abs=1e-5)


@pytest.mark.parametrize("law", ["sine", "half-sine", "tangent", "half-tangent", "angle"])
def test_roll_up(law):
    found = errors(problems.roll_up(curvature=law, segments=40))
    if law == "angle":
        assert max(found.values()) < 1e-10  # exact, and with three segments too
        assert max(errors(problems.roll_up(segments=3)).values()) < 1e-10
    else:
        assert max(found.values()) < 1e-2


@pytest.mark.parametrize("force", [300.0, 600.0])
def test_bend_45(force):
    found = errors(problems.bend_45_at_rest(force, 200))
    assert np.linalg.norm(list(found.values())) / (100.0 * np.pi / 4.0) < 1e-5


# --- paths ---


def test_quasistatic_comparison_of_the_paper():
    problem = problems.get("lla-test2")
    path = gd.follow(problem.system, problem.parameter, problem.stops)
    values = problem.quantities(path)
    for name, trusted in problem.reference.items():
        assert values[name] == pytest.approx(trusted, abs=1e-9)
    assert np.abs(path.at(1.0)["rod"].positions[:, 0]).max() < 1e-12
    iterations = np.asarray(path.iterations)[1:]
    assert len(iterations) < 40
    assert iterations.mean() <= 8.0
    assert path.stable.all()


@pytest.mark.parametrize("name", ["euler-column", "self-weight-column", "twist-buckling", "cardan-shaft"])
def test_critical_loads(name):
    assert relative(problems.get(name))["critical load"] < 1e-3


# --- modes ---


@pytest.mark.parametrize("ends", ["cantilever", "free-free", "pinned-pinned", "clamped-clamped"])
@pytest.mark.parametrize(("mass", "bound"), [("lumped", 1.5e-3), ("blended", 6e-4)])
def test_timoshenko(ends, mass, bound):
    found = relative(problems.timoshenko(ends, 100, mass=mass))
    assert list(found) == ["omega 1", "omega 2", "omega 3"]
    assert max(found.values()) < bound


@pytest.mark.parametrize("ends", ["cantilever", "free-free", "pinned-pinned", "clamped-clamped"])
def test_frequencies_are_of_order_two(ends):
    build = lambda segments: problems.timoshenko(ends, segments)  # noqa: E731
    for name in ("omega 2", "omega 3"):
        assert order(build, (40, 80), name) == pytest.approx(2.0, abs=0.1)


def test_euler_bernoulli():
    assert max(relative(problems.get("euler-bernoulli")).values()) < 1.5e-3


# --- all of them with elements ---

#: Problems by what makes them, and the largest error allowed with 8, 5, 4 elements of degree 2, 3, 4; absolute in
#: lengths of the rod, relative in critical loads and frequencies.
ELEMENTS = {
    **{f"elastica-{a}": (problems.elastica, (float(a),), (8e-5, 8e-6, 2e-6)) for a in (1, 2, 5, 10)},
    **{f"post-buckling-{a}": (problems.post_buckling, (float(a),), (1e-4, 6e-6, 1e-6)) for a in (20, 60, 120)},
    "roll-up": (problems.roll_up, (), (4e-4, 1e-5, 2e-7)),
    "bend-45-300": (problems.bend_45_at_rest, (300.0,), (1e-5, 2e-7, 3e-9)),
    "bend-45-600": (problems.bend_45_at_rest, (600.0,), (3e-5, 1e-6, 3e-8)),
    "euler-column": (problems.euler_column, (), (1e-5, 1e-6, 1e-6)),
    "self-weight-column": (problems.self_weight_column, (), (5e-5, 1e-6, 1e-6)),
    "twist-buckling": (problems.twist_buckling, (), (4e-4, 2e-5, 1e-6)),
    "cardan-shaft": (problems.cardan_shaft, (), (1e-4, 3e-6, 1e-6)),
    **{f"timoshenko-{e}": (problems.timoshenko, (e,), (2e-3, 3e-4, 1.5e-4)) for e in problems.statics._TIMOSHENKO},
    "euler-bernoulli": (problems.euler_bernoulli, (), (2e-3, 5e-4, 5e-4)),
    "spinning-rod": (problems.spinning_rod, (), (1e-9, 1e-9, 1e-9)),
}


def test_every_problem_is_solved_with_elements():
    """But the paper's Test 2, whose trusted values are those of its grid."""
    assert {*ELEMENTS, "lla-test2"} == set(problems.STATICS)


@pytest.mark.spread
@pytest.mark.parametrize("degree", [2, 3, 4])
@pytest.mark.parametrize("name", ELEMENTS)
def test_elements(name, degree):
    build, given, bounds = ELEMENTS[name]
    problem = build(*given, segments={2: 8, 3: 5, 4: 4}[degree], degree=degree)
    assert problem.reference == problems.get(name).reference
    if problem.kind == "equilibrium":
        found = {k: e / problem.system.rods[0].length for k, e in errors(problem).items() if k != "angle"}
    else:
        found = relative(problem)
    assert max(found.values()) < bounds[degree - 2]


# --- steady rotation ---


def test_spinning_rod():
    assert relative(problems.get("spinning-rod"))["extension"] < 1e-3


def test_rest_in_a_turning_frame_is_a_steady_rotation():
    """The same rod on a shaft that turns in space, its extension damped."""
    problem, rate = problems.spinning_rod(20), 6.0
    still = problem.system.rods[0]
    frame = still.initial.place([0.0], 10.0)[1][0]
    shaft = gd.Clamped(
        frame=lambda t: gd.rotations.multiply(gd.rotations.exp((0.0, 0.0, rate * t)), frame),
        angular_velocity=lambda t: (0.0, 0.0, rate),
    )
    rod = replace(
        still,
        start=shaft,
        velocity=lambda s: (0.0, 10.0 * rate * s, 0.0),
        angular_velocity=(0.0, 0.0, rate),
        damping=gd.Damping(extension=2e4),
    )
    motion = gd.simulate(gd.System(rods=[rod], gravity=(0, 0, 0)), 0.2, rtol=1e-7, output=[0.2], dense=False)
    stretched = np.linalg.norm(motion["rod"].positions[-1, -1]) - 10.0
    assert stretched == pytest.approx(solved(problem)["extension"], rel=2e-3)


# --- gyrod bench rods ---


def test_bench_compares_with_trusted_values():
    rows = bench.run_static(problems.elastica(1.0, 20))
    assert [row.quantity for row in rows] == ["w/L", "u/L"]
    for row in rows:
        assert row.error == pytest.approx(abs(row.value - row.reference) / row.reference)
        assert row.error < 2e-3
        assert (row.problem, row.segments, row.note) == ("elastica-1", 20, "")
        assert row.seconds > 0.0
    unknown = bench.run_static(problems.elastica(0.5, 20))
    assert [(row.reference, row.error) for row in unknown] == [(None, None)] * 2


def test_a_failure_is_an_outcome(monkeypatch):
    def fails(problem):
        raise RuntimeError("no equilibrium was found")

    monkeypatch.setattr(bench, "solve_static", fails)
    (row,) = bench.run_static(problems.get("euler-column"))
    assert row.note == "no equilibrium was found"
    assert row.value is None


@pytest.mark.slow
def test_bench_rods():
    rows = bench.rods()
    assert {row.problem for row in rows} == set(problems.STATICS)
    for row in rows:
        assert not row.note, row
        assert row.error < 2e-2, row
