"""Errors of results: what companions say against trusted values, files, sentences; accuracy that is asked for."""

from __future__ import annotations

import pickle
import re
import runpy
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from error_problems import BLIND, DATA, EVERY, PROBLEMS, measure, ratios

import gyrod as gd
from gyrod.model.refinement import coarser
from gyrod.motion import errors
from gyrod.solve import companions

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)
TIMES = np.linspace(0.0, 0.4, 41)


def hose(segments=12, **options):
    options.setdefault("start", gd.Clamped("ground"))
    return gd.Rod(
        "hose", 1.0, segments, gd.Circle(radius=5e-3), RUBBER, damping=gd.Damping(factor=5e-3),
        initial=gd.Straight((0, 0, 0), (0, 1, 0)), **options,
    )  # fmt: skip


def system(segments=12, **options):
    return gd.System(rods=[hose(segments, **options)])


@pytest.fixture(scope="module")
def run():
    return gd.simulate(system(), 0.4, rtol=1e-4, output=TIMES, error="parts")


def pendulum():
    """Two bars: chaotic from where they start."""
    bars = [gd.Body(n, mass=1, inertia=(0.02, 0.02, 1e-4), position=(x, 0, 0)) for n, x in (("a", 0.25), ("b", 0.75))]
    hinges = [
        gd.Revolute("ground", "a", at=(0, 0, 0), axis=(0, 1, 0), name="shoulder"),
        gd.Revolute("a", "b", at=(0.5, 0, 0), axis=(0, 1, 0), name="elbow"),
    ]
    return gd.System(bars, hinges)


# --- what is promised ------------------------------------------------------------------------------------------------


def shares(cases, which="total"):
    """Shares of cases whose error lies below the estimate and within a factor of ten of it, and how many there are."""
    found = ratios(list(cases), which=which)
    return float(np.mean(found >= 1.0)), float(np.mean(found <= 10.0)), len(found)


def test_errors_at_rest_and_of_frequencies_lie_below_the_estimate():
    still = [p for p in EVERY.values() if not p.t_end]
    below, near, count = shares(case for p in still for mesh, rtol in p.cases() for case in measure(p, mesh, rtol))
    assert count > 100
    assert below >= 0.9
    assert near >= 0.95


@pytest.mark.parametrize("name", ["arc that falls, p = 3", "driven cable, grid", "heavy top"])
def test_errors_of_motions_lie_below_the_estimate(name):
    below, near, count = shares(measure(PROBLEMS[name], len(PROBLEMS[name].meshes) // 2, 1e-4))
    assert count
    assert below >= 0.75
    assert near >= 0.5


@pytest.mark.slow
def test_calibration():
    """All problems, meshes and tolerances, as docs/errors.md tells: those that the constants come from, and the others.

    The finer companion promises 95 % below and 80 % within ten, and keeps it on both with more than that; the one on
    half the mesh is often farther away than ten times.
    """
    cases = [c for p in EVERY.values() for mesh, rtol in p.cases() for c in measure(p, mesh, rtol)]
    for some in (PROBLEMS, BLIND):
        for which, least, nearest in (("total", 0.94, 0.7), ("parts", 0.94, 0.7), ("finer", 0.95, 0.9)):
            below, near, count = shares([c for c in cases if c.problem in some], which)
            assert count > 200
            assert below >= least
            assert near >= nearest


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_errors_have_unit_and_shape_of_the_quantity(run):
    shapes = {
        "hose.positions[-1]": ("m", (3,)), "hose.start_force": ("N", (3,)), "norm hose.start_force": ("N", ()),
        "hose.force": ("N", (12, 3)), "hose.bend_radius": ("m", (13,)), "hose.quaternions": ("", (12, 4)),
        "hose.directors": ("", (12, 3, 3)), "energy.total": ("J", ()), "hose.moment[0]": ("N m", (3,)),
    }  # fmt: skip
    for text, (unit, shape) in shapes.items():
        found = run.error[text]
        assert found.unit == unit
        assert not found.rough
        for part in (found.total, found.peak, found.time, found.mesh):
            assert np.shape(part) == shape
            assert np.all(part >= 0.0)
        assert np.all(found.total >= np.maximum(found.time, found.mesh))
        assert np.all(found.total >= found.peak)


def test_the_estimate_is_the_difference_to_the_companion_times_a_constant(run):
    coarse = gd.simulate(system(6), 0.4, rtol=4e-4, method=run.stats.method, output=TIMES)
    apart = np.abs(run["hose"].positions[:, -1] - coarse["hose"].positions[:, -1]).max(axis=0)
    alone = errors.OfRows(run, replace(run._beside, half=None)).estimate("hose.positions[-1]")
    np.testing.assert_allclose(alone.total, errors.SAFETY["grid"]["total"][0] * apart, rtol=1e-9, atol=1e-15)


def test_parts_tell_time_from_mesh():
    fine = gd.simulate(system(16, degree=4), 0.3, rtol=1e-2, output=TIMES[:31], error="parts").error
    coarse = gd.simulate(system(6), 0.3, rtol=1e-7, output=TIMES[:31], error="parts").error
    for report, larger, smaller in ((fine, "time", "mesh"), (coarse, "mesh", "time")):
        found = report["norm hose.positions[-1]"]
        assert getattr(found, larger) > 3.0 * getattr(found, smaller)


def test_bodies_have_no_error_of_the_mesh():
    found = gd.simulate(pendulum(), 1.0, rtol=1e-6, error="parts").error["b.position"]
    assert np.all(found.mesh == 0.0)
    assert np.all(found.total == found.time)
    assert 0.0 < found.total.max() < 1e-2


def test_constant_steps_are_compared_with_steps_twice_as_long():
    motion = gd.simulate(pendulum(), 0.5, method="variational", step=2e-3)
    assert "constant steps" in motion.error.failure
    errors_ = [
        gd.simulate(pendulum(), 0.5, method="variational", step=h, error="total").error["norm b.position"].total
        for h in (2e-3, 1e-3)
    ]
    assert errors_[0] / errors_[1] == pytest.approx(4.0, rel=0.2)  # of second order


def test_angles_are_compared_less_whole_turns():
    wheel = gd.Body("wheel", mass=1, inertia=(0.1, 0.1, 0.1), angular_velocity=(0, 0, 20.0))
    turning = gd.System([wheel], [gd.Revolute("ground", "wheel", at=(0, 0, 0), axis=(0, 0, 1), name="axle")])
    motion = gd.simulate(turning, 2.0, rtol=1e-8, error="total")
    assert motion["axle"].coordinates[-1, 0] > 6.0 * np.pi
    assert motion.error["axle.coordinate"].total < 1e-3


def test_rests_paths_and_modes():
    rest = gd.equilibrium(system(6, degree=3), error="total")
    fine = gd.equilibrium(system(24, degree=4))
    true = np.linalg.norm(rest["hose"].positions[-1] - fine["hose"].positions[-1])
    assert true < rest.error["norm hose.positions[-1]"].total < 100.0 * true
    assert rest.error["hose.positions"].time.max() == 0.0
    modes = gd.modes(rest, n=3, error="total")
    assert modes.error["frequencies"].total.shape == (3,)
    assert np.all(modes.error["frequencies"].total > 0.0)
    assert "frequencies" in str(modes.error)
    path = gd.follow(system(6, degree=3), "gravity", (0.0, 1.0), error="total")
    assert path.error["norm hose.positions[-1]"].total == pytest.approx(
        rest.error["norm hose.positions[-1]"].total, rel=0.5
    )
    for result in (gd.equilibrium(system()), gd.modes(system(), n=2), gd.follow(system(), "gravity")):
        assert result.error.rough
        assert "rough" in str(result.error)


def column(segments, force=1.0, **options):
    """Clamped at the foot, with a load on top; it buckles at π²/4 in one plane, at π²/2 in the other."""
    rod = gd.Rod(
        "column", 1.0, segments, stiffness=(1e6, 1e6, 1e6, 1.0, 2.0, 1.0), start=gd.Clamped(), density_per_length=1.0,
        rotary_inertia=(1e-3, 1e-3, 2e-3), initial=gd.Straight((0, 0, 0), (0, 0, 1)), **options,
    )  # fmt: skip
    return gd.System(rods=[rod], forces=[gd.RodLoad("column", force=(0.0, 0.0, -force))], gravity=(0, 0, 0))


def test_the_table_of_a_path_names_the_extremes_of_all_its_points():
    """Companions stand at some points only: the tightest bend of a hose that is mounted must be among them."""
    at, frame = gd.ExpressionVector(("0.15*t", 0, "0.4 - 0.35*t")), gd.ExpressionVector((0, "pi*t", 0))
    circle, rubber = gd.Circle(radius=5e-3), gd.Material(young=5e6, poisson=0.5, density=1100)
    up = gd.Straight((0, 0, 0), (0, 0, 0.4))
    hose = gd.Rod("hose", 0.4, 6, circle, rubber, gd.Clamped(), gd.Clamped(at=at, frame=frame), degree=3, initial=up)
    path = gd.follow(gd.System(rods=[hose]), "time", (*np.linspace(0.0, 1.0, 61), 0.2, 1.0), error="total")
    smallest = path["hose"].bend_radius.min()
    assert len(path) > 60
    assert f"smallest {smallest:.4g} m" in str(path.error)
    force = max(np.linalg.norm(v, axis=1).max() for v in (path["hose"].start_force, path["hose"].end_force))
    assert re.search(rf"end forces +{force:.4g} N", str(path.error))


@pytest.mark.parametrize("mesh", [{"segments": 10}, {"segments": 20}, {"segments": 3, "degree": 2}])
def test_critical_values_of_a_path(mesh):
    path = gd.follow(column(**mesh), "load", (0.0, 6.0), error="total")
    true = np.abs([event.value for event in path.events] - np.pi**2 * np.array([0.25, 0.5]))
    found = path.error["critical"]
    assert np.all(true > 1e-6)  # of the mesh, not of the extension or the location
    assert np.all(true < found.total)
    assert np.all(found.total < 30.0 * true)
    assert "first critical" in str(path.error)


def test_critical_values_over_a_function():
    path = gd.follow(None, lambda value: column(10, value), (2.0, 3.0), error="total")
    known = gd.follow(column(10), "load", (2.0, 3.0), error="total").error["critical"].total
    np.testing.assert_allclose(path.error["critical"].total, known, rtol=1e-3)


def test_critical_values_without_a_companion_are_rough_or_not_known():
    path = gd.follow(column(10), "load", (0.0, 3.0))
    assert path.error["critical"].rough
    assert path.error["critical"].total.shape == (1,)
    with pytest.raises(gd.EstimateError, match="the path has no limit point and no bifurcation"):
        gd.follow(column(10), "load", (0.0, 1.0)).error["critical"]
    # A coarser mesh may buckle beyond the last stop: there is no number then.
    kept = replace(path._beside, coarse=(path.rests[0].motion,), critical=())
    alone = errors.OfPath(path, (path.rests[0].motion,), replace(kept, rows=np.arange(1)))
    assert np.all(np.isinf(alone.estimate("critical").total))


def test_the_start_of_a_motion_may_be_a_rest():
    rest = gd.equilibrium(system(8))
    motion = gd.simulate(rest, 0.2, rtol=1e-4, error="total")
    assert motion._beside.coarse.system.rod("hose").mesh.cells == 4
    apart = np.linalg.norm(rest["hose"].positions[-1] - gd.equilibrium(system(4))["hose"].positions[-1])
    found = motion.error["norm hose.positions[-1]"].total
    assert found == pytest.approx(errors.SAFETY["grid"]["total"][0] * apart, rel=1e-2)


def test_coarser_meshes_keep_ends_that_were_given():
    assert coarser(hose(9), 0.5) == {"segments": 5}
    grid = [0.0, 0.1, 0.2, 0.5, 1.0]
    np.testing.assert_array_equal(coarser(hose(None, grid=grid), 0.5)["grid"], [0.0, 0.2, 1.0])
    assert coarser(hose(1, degree=3), 0.5) == {"degree": 2}
    with pytest.raises(ValueError, match="nothing coarser"):
        coarser(hose(1, degree=2), 0.5)


GUIDES = np.arange(9) / 8


def finger(guides=GUIDES, **mesh):
    """Pulled by a tendon: elements end at its guides."""
    rod = gd.Rod(
        "arm", 0.3, section=gd.Circle(radius=8e-3), material=gd.Material(young=1e6, poisson=0.49, density=1070),
        start=gd.Clamped(), initial=gd.Straight((0, 0, 0), (0, 0, -0.3)), damping=gd.Damping(factor=0.02), **mesh,
    )  # fmt: skip
    return gd.System(rods=[rod], forces=[gd.Tendon("arm", [(s, (6e-3, 0)) for s in guides], tension=1.0)])


def springs(n, **mesh):
    """Loads, masses, cables and foundations set in at points of a rod."""
    at = np.arange(1, n) / n
    forces = [gd.RodLoad("arm", s, force=(0.01, 0, 0)) for s in at[::3]]
    forces += [gd.PointMass("arm", s, 1e-3) for s in at[1::3]]
    forces += [gd.Cable("ground", "arm", at_a=(0.1, 0, 0), at_b=s, stiffness=1.0) for s in at[2::3]]
    return replace(finger(**mesh), forces=forces, gravity=(1.0, 0.0, -9.8))


PINNED = {
    "guides": (finger, {}, "8 of 8 elements of 'arm' with degree 2 of 3"),
    "guides and a grid": (finger, {"grid": GUIDES, "degree": 4}, "8 of 8 elements of 'arm' with degree 3 of 4"),
    "twice the guides": (finger, {"segments": 12, "degree": 3}, "8 of 16 elements of 'arm'"),
    "of the lowest degree": (finger, {"segments": 8, "degree": 2}, "16 in place of 8 elements of 'arm'"),
    "one element": (partial(springs, 1), {"segments": 1, "degree": 2}, "2 in place of 1 elements of 'arm'"),
    "two segments": (finger, {"segments": 2}, "4 in place of 2 segments of 'arm'"),
    "loads, masses, cables": (partial(springs, 8), {}, "8 of 8 elements of 'arm' with degree 2 of 3"),
}


@pytest.mark.parametrize(("make", "mesh", "told"), PINNED.values(), ids=PINNED)
def test_companions_differ_where_elements_cannot_be_left_out(make, mesh, told):
    rest = gd.equilibrium(make(**mesh), error="total")
    fine = gd.equilibrium(make(segments=24, degree=4))
    true = np.linalg.norm(rest["arm"].positions[-1] - fine["arm"].positions[-1])
    assert true > 1e-13
    assert rest.error["norm arm.positions[-1]"].total > true
    motion = gd.simulate(make(**mesh), 0.01, rtol=1e-3, error="total")
    assert motion.error["norm arm.positions[-1]"].total > 0.0
    assert told in str(motion.error)


@pytest.mark.parametrize("mesh", [{"segments": 1}, {"segments": 4}, {"grid": GUIDES}, {}])
def test_a_finer_companion_has_twice_the_elements_wherever_these_end(mesh):
    rest = gd.equilibrium(finger(**mesh, degree=3), error="finer")
    assert rest.motion._beside.told == "16 in place of 8 elements of 'arm'"
    fine = gd.equilibrium(finger(segments=24, degree=4))
    true = np.linalg.norm(rest["arm"].positions[-1] - fine["arm"].positions[-1])
    assert true < rest.error["norm arm.positions[-1]"].total < 3.0 * true


def test_finer_companions_of_motions_modes_paths_and_bodies():
    motion = gd.simulate(system(6, degree=3), 0.3, rtol=1e-6, output=TIMES[:31], error="finer")
    fine = gd.simulate(system(20, degree=4), 0.3, rtol=1e-8, output=TIMES[:31])
    for text, of in (("norm hose.positions[-1]", lambda m: m["hose"].positions[:, -1]),
                     ("norm hose.start_force", lambda m: m["hose"].start_force)):  # fmt: skip
        true = np.linalg.norm(of(motion) - of(fine), axis=1).max()
        assert true < motion.error[text].total < 5.0 * true
    assert "12 in place of 6 elements of 'hose', rtol = 4e-06" in str(motion.error)
    assert "16 in place of 8 segments" in str(gd.modes(system(8), n=2, error="finer").error)
    assert "16 in place of 8 segments" in str(gd.follow(system(8), "gravity", error="finer").error)
    times = np.linspace(0.0, 1.0, 21)
    body = gd.simulate(pendulum(), 1.0, rtol=1e-5, output=times, error="finer")
    exact = gd.simulate(pendulum(), 1.0, rtol=1e-10, output=times)
    true = np.linalg.norm(body["b"].position - exact["b"].position, axis=1).max()
    assert true < body.error["norm b.position"].total < 4.0 * true
    steps = gd.simulate(pendulum(), 0.5, method="variational", step=2e-3, error="finer")
    assert "step = 0.001" in str(steps.error)


def test_a_route_has_errors():
    """Those of its equilibrium: a mesh of twice the elements, clips and all."""
    clip = gd.Clip("cable", 0.4, point=(0.35, 0.1, 0.0), kind="ball", name="clip")
    ends = (gd.Clamped(at=at, frame=(0, 0.5 * np.pi, 0)) for at in ((0, 0, 0), (0.8, 0.3, 0.1)))
    made = {"section": gd.Circle(radius=5e-3), "material": RUBBER, "clips": [clip]}
    route = gd.route(1.1, *ends, error="total", **made)
    system = gd.System(rods=[route.rod.with_(segments=40, degree=4)], forces=route.clips)
    fine = gd.equilibrium(system)
    for text, a, b in (("cable.end_force", route.end_force, fine["cable"].end_force),
                       ("clip.force", route["clip"].force, fine["clip"].force)):  # fmt: skip
        true = np.linalg.norm(a - b)
        assert true < route.error[f"norm {text}"].total < 5.0 * true
    assert "in place of" in str(route.error)
    with pytest.raises(ValueError, match="error = 'much' is unknown"):
        gd.route(1.1, gd.Clamped(at=(0, 0, 0), frame=(0, 0, 0)), error="much", **made)


@pytest.mark.parametrize(("kind", "more"), [("ring", {}), ("sleeve", {"length": 0.05, "axis": (1, 0, 0)})])
def test_a_clip_that_slides_has_errors_by_companions_only(kind, more):
    """It acts inside of an element: figures from experience were up to a thousand times too small."""
    eye = gd.Clip("cable", 0.5, point=(0.2, 0, 0), kind=kind, name="eye", **more)
    ends, made = [gd.Hinged(at=(x, 0, 0)) for x in (-1, 1)], {"section": gd.Circle(radius=5e-3), "material": RUBBER}
    route = gd.route(2.1, *ends, clips=[eye], **made)
    system = gd.System(rods=[route.rod], forces=route.clips)
    for result in (route, gd.equilibrium(system), gd.modes(system, n=1), gd.simulate(system, 0.01)):
        assert "a clip slides along a rod" in str(result.error)
        assert not re.search(r"\d N", str(result.error))
    rest = gd.equilibrium(system, error="total")
    fine = gd.equilibrium(gd.System(rods=[route.rod.with_(segments=40)], forces=route.clips))
    true = np.linalg.norm(rest["eye"].force - fine["eye"].force)
    assert 1e-3 < true < rest.error["norm eye.force"].total < 5.0 * true


def test_every_rod_has_another_mesh_in_a_companion():
    two = gd.System(rods=[*finger().rods, hose(12)], forces=finger().forces)
    motion = gd.simulate(two, 0.01, error="total")
    assert "8 of 8 elements of 'arm' with degree 2 of 3, 6 of 12 segments of 'hose'" in motion._beside.told


@pytest.mark.parametrize("rtol", [0.02, 0.05])
@pytest.mark.filterwarnings("ignore:rtol")
def test_a_tolerance_that_cannot_be_looser_is_compared_with_a_tighter_one(rtol):
    times = np.linspace(0.0, 1.0, 21)
    motion = gd.simulate(pendulum(), 1.0, rtol=rtol, output=times, error="total")
    fine = gd.simulate(pendulum(), 1.0, rtol=1e-9, output=times)
    true = np.linalg.norm(motion["b"].position - fine["b"].position, axis=1).max()
    assert true < motion.error["norm b.position"].total < 10.0 * true
    parts = gd.simulate(system(8, degree=3), 0.3, rtol=rtol, error="parts").error["norm hose.positions[-1]"]
    assert parts.time > 0.0


def test_a_mesh_that_cannot_be_coarser_is_compared_with_a_finer_one():
    """The default elements of a hose that snaps: neither half nor three quarters of them can follow."""
    bob = gd.Body("bob", mass=0.2, inertia=(1e-4, 1e-4, 1e-4), position=(0, 1.0, -0.05))

    def snapping(**mesh):
        rod = hose(mesh.pop("segments", None), end=gd.Hinged("bob", at=(0, 0, 0.05)), **mesh)
        return gd.System([bob], rods=[rod])

    times = np.linspace(0.0, 2.0, 101)
    motion = gd.simulate(snapping(), 2.0, rtol=1e-4, output=times, error="total")
    fine = gd.simulate(snapping(segments=20, degree=4), 2.0, rtol=1e-6, output=times)
    assert "16 in place of 8 elements of 'hose'" in str(motion.error)
    for text, of in (("norm hose.positions[-1]", lambda m: m["hose"].positions[:, -1]),
                     ("norm hose.start_force", lambda m: m["hose"].start_force)):  # fmt: skip
        true = np.linalg.norm(of(motion) - of(fine), axis=1).max()
        assert true < motion.error[text].total < 10.0 * true


def test_readme_prints_converged_numbers():
    trusted, text = np.load(DATA), (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    number = r"(-?\d+(?:\.\d+)?)"
    bob = re.search(rf"the bob rests at \[ {number}\.? +{number} {number}\]", text)
    tones = re.search(rf"and swings with \[{number} +{number}\] Hz", text)
    pull = re.search(rf"pulls at the clamp with up to {number} N", text)
    printed = [*bob.groups(), *tones.groups(), *pull.groups()]
    exact = np.concatenate([trusted[f"readme|{name}"].ravel() for name in ("rest", "frequencies", "pull")])
    for shown, value in zip(printed, exact, strict=True):
        digits = len(shown.partition(".")[2])
        assert abs(float(shown) - value) <= 0.51 * 10.0**-digits, (shown, value)


# --- kept and printed ------------------------------------------------------------------------------------------------


def test_a_run_of_one_row_has_errors(tmp_path):
    """Only the end was asked for."""
    motion = gd.simulate(system(), 0.1, rtol=1e-5, output=[0.1], error="parts", save=tmp_path / "end.h5")
    exact = gd.simulate(system(20, degree=4), 0.1, rtol=1e-8, output=[0.1])
    true = np.linalg.norm(motion["hose"].start_force - exact["hose"].start_force)
    found = motion.error["norm hose.start_force"]
    assert true < found.total < 10.0 * true
    assert found.time < found.mesh
    assert str(gd.open(tmp_path / "end.h5").error) == str(motion.error)
    start = gd.simulate(system(), 0.1, output=[0.0], error="total").error
    assert "the run has no rows behind its start" in start.failure


def test_errors_are_kept_in_files_and_pickles(run, tmp_path):
    run.save(tmp_path / "saved.h5")
    gd.simulate(system(), 0.4, rtol=1e-4, output=TIMES, error="parts", save=tmp_path / "written.h5")
    for other in (gd.open(tmp_path / "saved.h5"), gd.open(tmp_path / "written.h5"), pickle.loads(pickle.dumps(run))):
        assert str(other.error) == str(run.error)
        known = run.error["hose.moment"].total
        np.testing.assert_allclose(other.error["hose.moment"].total, known, rtol=1e-12, atol=1e-15)
    again = gd.simulate(
        system(), 0.4, rtol=1e-4, output=TIMES, error="total", save=tmp_path / "written.h5", resume=True
    )
    assert again._beside.half is not None  # what the file has is more than what was asked for
    gd.simulate(system(), 0.1, rtol=1e-3, save=tmp_path / "rough.h5")
    assert gd.open(tmp_path / "rough.h5").error.rough
    assert gd.open(tmp_path / "rough.h5")._beside.rtol == 1e-3


def test_the_table_has_what_people_read(run):
    names = [row.name for row in run.error.rows]
    assert names == ["positions", "end forces", "section forces", "bend radius"]
    table = str(run.error)
    assert "6 of 12 segments of 'hose', rtol = 0.0004" in table
    assert all(name in table and name in run.error.line() for name in names)
    assert "total" in str(run.error["hose.positions[-1]"])


def test_the_table_names_the_largest_value_of_a_kind_and_the_worst_error():
    """A heavy rod that hangs beside a light one that swings: the largest force is not the one with most error."""
    heavy = gd.Rod(
        "taut", 1.0, 12, gd.Circle(radius=2e-2), gd.Material(young=1e8, poisson=0.4, density=5000), gd.Clamped(),
        initial=gd.Straight((0, 0, 0), (0, 0, -1)), damping=gd.Damping(factor=1e-2),
    )  # fmt: skip
    push = gd.RodLoad("hose", 1.0, force=lambda t: (np.sin(20.0 * t), 0.0, 0.0))
    rest = gd.equilibrium(gd.System(rods=[heavy, hose(12)], forces=[push]))
    motion = gd.simulate(rest, 0.4, rtol=1e-4, output=TIMES, error="parts")
    pulls = {name: np.linalg.norm(motion[name].start_force, axis=1).max() for name in ("taut", "hose")}
    errors_ = {name: motion.error[f"norm {name}.start_force"] for name in pulls}
    assert pulls["taut"] > 3.0 * pulls["hose"]
    assert errors_["hose"].total > 2.0 * errors_["taut"].total
    row = next(row for row in motion.error.rows if row.name == "end forces")
    assert row.value == pulls["taut"]
    assert row.peak == errors_["taut"].peak
    assert (row.total, row.mesh) == (errors_["hose"].total, errors_["hose"].mesh)


def test_rough_figures_fall_with_mesh_and_tolerance():
    def rough(n, rtol, text):
        return gd.simulate(system(n), 0.3, rtol=rtol).error[text]

    coarse, fine = (rough(n, 1e-5, "norm hose.positions[-1]") for n in (10, 40))
    assert coarse.rough
    assert coarse.total > 1.2 * fine.total
    loose, tight = (rough(40, rtol, "norm hose.start_force") for rtol in (1e-3, 1e-5))
    assert loose.total > 2.0 * tight.total


@pytest.mark.parametrize("segments", [20, 100])
def test_rough_figures_of_a_taut_wire_are_of_the_size_of_the_error(segments):
    # It hardly turns in a segment, and yet the polygon of the grid is shorter than the curve.
    steel = gd.Material(young=2.1e11, poisson=0.3, density=7850)

    def hung(n, **how):
        return gd.hang(10.0, ((0, 0, 0), (9, 0, 0)), section=gd.Circle(radius=5e-4), material=steel, segments=n, **how)

    found, exact = hung(segments), np.linalg.norm(hung(80, degree=3).end_force)
    rough, true = found.error["norm cable.end_force"].total, abs(np.linalg.norm(found.end_force) - exact)
    assert true < rough < 20.0 * true


# --- sentences -------------------------------------------------------------------------------------------------------


def test_quantities_without_an_estimate_say_why(run):
    with pytest.raises(gd.EstimateError, match=r"'drift.position' has no estimate: it is an error itself"):
        run.error["drift.position"]
    with pytest.raises(gd.EstimateError, match="summed over the steps"):
        run.error["energy.dissipated"]
    with pytest.raises(ValueError, match="Did you mean 'positions'"):
        run.error["hose.position"]
    with pytest.raises(ValueError, match="indices do not fit"):
        run.error["hose.positions[99]"]
    with pytest.raises(ValueError, match="error = 'much' is unknown"):
        gd.simulate(system(), 0.1, error="much")


@pytest.mark.parametrize("error", ["rough", "total"])
def test_errors_of_contacts(error):
    """On a plane without friction force and normal force are one, and so are their errors."""
    push = gd.ContactSensor("push", "floor", "normal"), gd.ContactSensor("many", "floor", "count")
    floor = gd.Contact("hose", gd.Plane(point=(0, 0, -0.02)), stiffness=1e4, damping=0.3, name="floor")
    lying = replace(system(None), contacts=[floor], sensors=push)
    motion = gd.simulate(lying, 0.2, rtol=1e-4, output=TIMES[:21], error=error)
    force = motion.error["norm floor.force"].total
    assert motion.contacts["floor"].normal.max() > 0.1
    assert force > 0.0
    assert motion.error["floor.normal"].total == pytest.approx(force)
    assert motion.error["push"].total == pytest.approx(force)
    for text in ("floor.count", "many"):
        with pytest.raises(gd.EstimateError, match=f"'{text}' has no estimate: it counts points of the mesh"):
            motion.error[text]
    with pytest.raises(ValueError, match=r"accuracy of 'many' cannot be given: .* counts points"):
        gd.simulate(lying, 0.2, accuracy={"many": 1.0})


def crossing(segments, degree=None):
    """A rod falls on another one that is clamped at both ends."""
    hold = {"section": gd.Circle(5e-3), "material": gd.Material(young=5e6, poisson=0.5, density=1100),
            "damping": gd.Damping(factor=5e-3), "degree": degree}  # fmt: skip
    rope = gd.Rod("rope", length=1.0, segments=segments, start=gd.Clamped("ground"), end=gd.Clamped("ground"), **hold)
    lies = gd.Straight((0.5, -0.2, 0.05), (0.5, 0.2, 0.05))
    other = gd.Rod("other", length=0.4, segments=2 * segments // 5, initial=lies, **hold)
    cross = gd.Contact("other", "rope", stiffness=1e5, damping=0.3, name="cross")
    return gd.System(rods=[rope, other], contacts=[cross])


@pytest.mark.parametrize("mesh", [(20,), (40,), (10, 3)])
@pytest.mark.parametrize("error", ["total", "finer"])
def test_errors_of_rods_that_touch_each_other(error, mesh, recwarn):
    """What the lower rod carries, after one falls on it; the gap has an error while there is one."""
    times = np.linspace(0.0, 0.3, 151)
    motion = gd.simulate(crossing(*mesh), 0.3, rtol=1e-4, output=times, error=error)
    fine = gd.simulate(crossing(20, 4), 0.3, rtol=1e-6, output=times)
    for text, of in (("cross.normal", lambda m: m.contacts["cross"].normal),
                     ("norm cross.force", lambda m: np.linalg.norm(m.contacts["cross"].force, axis=1))):  # fmt: skip
        true = np.abs(of(motion) - of(fine)).max()
        assert true < motion.error[text].total < 10.0 * true
    gaps = motion.contacts["cross"].gap, fine.contacts["cross"].gap
    assert not np.isfinite(gaps[0][0])
    true = np.abs(np.subtract(*gaps, where=np.isfinite(gaps).all(axis=0), out=np.zeros(len(times)))).max()
    assert true < motion.error["cross.gap"].total < 20.0 * true
    assert not recwarn


def test_no_error_is_below_rounding():
    """Where drives lead all that moves, a run and its companion agree to the last bit, and are both rounded."""
    arm = gd.Body("arm", mass=2.0, inertia=(0.02, 0.02, 0.005), position=(0.5, 0, 0))
    led = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), drive=gd.Expression("0.4*t*t"), name="motor")
    motion = gd.simulate(gd.System([arm], [led]), 1.0, rtol=1e-6, error="total")
    for text in ("arm.position", "norm motor.force", "motor.effort"):
        assert 1e-17 < np.max(motion.error[text].peak) <= np.max(motion.error[text].total) < 1e-12


def test_errors_of_bend_radii_are_not_those_of_straight_rows():
    """A rod that is straight at first bends by infinite radii there: their rounding is not that of the smallest."""
    motion = gd.simulate(system(), 0.4, rtol=1e-4, output=TIMES, error="total")
    radii = motion["hose"].bend_radius
    assert radii.max() > 1e9
    assert 1e-9 < motion.error["hose.bend_radius"].peak[np.unravel_index(radii.argmin(), radii.shape)[1]] < radii.min()


def touching(name, segments, degree=None):
    """One of five systems with the contact "touch", and how long it runs."""
    hold = {"section": gd.Circle(5e-3), "material": gd.Material(young=5e6, poisson=0.5, density=1100),
            "damping": gd.Damping(factor=5e-3), "degree": degree}  # fmt: skip
    part = {"stiffness": 1e5, "damping": 0.3, "name": "touch"}
    fixed = {"start": gd.Clamped("ground"), "end": gd.Clamped("ground")}
    slides = {"friction": gd.Friction(0.3, sticking=False)}
    lying, ends, options, duration = {
        "strands": (((0.2, 0.002, 0.03), (0.8, 0.002, 0.03)), {}, {}, 0.2),
        "sliding": (((0.5, -0.2, 0.03), (0.5, 0.2, 0.03)), {"velocity": (0, 0.5, 0)}, slides, 0.2),
        "crossing at rest": (((0.5, -0.3, -0.02), (0.5, 0.3, -0.02)), fixed, {}, 0.0),
    }.get(name, (None, {}, {}, 0.0))
    if lying is not None:
        lower = gd.Rod("lower", length=1.0, segments=segments, **fixed, **hold)
        line, length = gd.Straight(*lying), float(np.linalg.norm(np.subtract(*lying)))
        upper = gd.Rod("upper", segments=max(round(segments * length), 2), initial=line, **ends, **hold)
        return gd.System(rods=[lower, upper], contacts=[gd.Contact("upper", "lower", **options, **part)]), duration
    if name == "floor":
        rod = gd.Rod("rod", segments=segments, start=gd.Hinged(), initial=gd.Straight((0, 0, 0.3), (1, 0, 0.3)), **hold)
        return gd.System(rods=[rod], contacts=[gd.Contact("rod", gd.Plane(), **part)]), 0.6
    rod = gd.Rod("rod", segments=segments, initial=gd.Straight((-0.5, 0, 0.12), (0.5, 0, 0.12)), **hold)
    shaft = gd.Shaft(point=(0, 0, 0), axis=(0, 1, 0), radius=0.1)
    return gd.System(rods=[rod], contacts=[gd.Contact("rod", shaft, friction=0.3, **part)]), 0.3


@pytest.mark.slow
@pytest.mark.parametrize("error", ["total", "finer"])
def test_calibration_of_contacts(error):
    """Forces and gaps of contacts by the constants of other quantities: docs/errors.md."""

    def solved(name, *mesh, rtol, error="rough"):
        system, end = touching(name, *mesh)
        times = np.linspace(0.0, end, 151)
        return (
            gd.simulate(system, end, rtol=rtol, output=times, error=error)
            if end
            else gd.equilibrium(system, error=error)
        )

    def apart(a, b):
        with np.errstate(invalid="ignore"):
            return max(x[np.isfinite(x)].max(initial=0.0) for x in [np.atleast_1d(np.abs(a - b))])

    found = []
    for name in ("strands", "sliding", "crossing at rest", "floor", "shaft"):
        fine, doubtful = (solved(name, *mesh, rtol=1e-6).contacts["touch"] for mesh in ((20, 4), (30, 3)))
        for mesh, rtol in product(((20,), (40,), (6, 3), (12, 3)), (1e-3, 1e-4) if touching(name, 8)[1] else (1.0,)):
            result = solved(name, *mesh, rtol=rtol, error=error)
            for field in ("normal", "gap"):
                true, doubt = (
                    apart(getattr(fine, field), getattr(x, field)) for x in (result.contacts["touch"], doubtful)
                )
                if true > 3.0 * doubt:
                    found.append(float(result.error[f"touch.{field}"].total) / true)
    ratios = np.array(found)
    assert len(ratios) > 60
    assert np.mean(ratios > 1.0) >= 0.95
    assert np.mean(ratios < 10.0) >= (0.85 if error == "total" else 0.99)


def wound(segments):
    """The rope over a drum of the gallery, which is pulled for a second and then let go."""
    capstan = runpy.run_path(str(Path(__file__).parent.parent / "examples" / "rope_round_a_capstan.py"))["capstan"]
    return capstan().with_({"rope.segments": segments})


#: What may be read of it.
WOUND = (
    ("norm rope.end_force", lambda r: np.linalg.norm(r["rope"].end_force)),
    ("drum.friction", lambda r: r.contacts["drum"].friction),
)


def test_errors_of_a_rest_with_friction_are_those_of_the_same_way_there():
    """A companion that begins where the run rests has not slid there."""
    rest, fine = gd.equilibrium(wound(40), t=1.0, error="total"), gd.equilibrium(wound(320), t=1.0)
    for text, of in WOUND:
        assert abs(of(rest) - of(fine)) < rest.error[text].total < 0.02 * of(rest)


@pytest.mark.parametrize("error", ["total", "finer"])
def test_errors_along_a_path_with_friction(error):
    """A rope over a drum is pulled and let go: each point is compared with one that came the same way."""
    path = gd.follow(wound(80), "time", (0.0, 1.0, 2.0), largest=0.1, error=error)
    rows = path._beside.rows
    fine = gd.follow(wound(160), "time", np.asarray(path.value)[rows], largest=0.1)
    rests = [fine.rests[int(np.flatnonzero(np.asarray(fine.value) == path.value[k])[0])] for k in rows]
    for text, of in WOUND:
        true = max(abs(of(path.rests[k]) - of(rest)) for k, rest in zip(rows, rests, strict=True))
        assert true < 1.2 * path.error[text].total < 12.0 * true
    by_arcs = {"arc_length": True, "branch": None}
    with pytest.raises(companions.NoCompanion, match="friction depends on the way"):
        companions._path_again(gd.follow, by_arcs, path, rows, (0.5,))


def test_gaps_of_rods_that_never_come_near_have_no_error():
    for error in ("rough", "total"):
        motion = gd.simulate(crossing(10), 0.01, rtol=1e-3, error=error)
        with pytest.raises(gd.EstimateError, match=r"'cross\.gap' has no estimate: it is infinite"):
            motion.error["cross.gap"]


def test_a_companion_that_fails_leaves_a_sentence_and_no_number():
    unknowns = gd.simulate(system(), 0.01).y.shape[1]
    motion = gd.simulate(system(), 0.05, rtol=1e-3, atol=np.full(unknowns, 1e-3), error="total")
    assert motion["hose"].positions.shape[0] > 1
    assert "atol is given for each unknown" in motion.error.failure
    assert "not known" in str(motion.error)
    assert not re.search(r"\d N", motion.error.line())
    with pytest.raises(gd.EstimateError, match=r"the error of 'hose.positions' is not known"):
        motion.error["hose.positions"]


def test_a_companion_that_fails_with_the_tolerance_of_the_run_does_not_take_the_run_with_it(monkeypatch):
    found = companions._run

    def failing(solve, given, start, motion, rows, changes):
        if not changes:
            raise gd.SimulationError("it folds", 0.0, motion.y[0], motion)
        return found(solve, given, start, motion, rows, changes)

    monkeypatch.setattr(companions, "_run", failing)
    motion = gd.simulate(system(), 0.05, rtol=1e-3, error="parts")
    assert "it folds" in motion.error.failure


def test_bodies_at_rest_have_no_mesh_and_say_so():
    bob = gd.Body("bob", mass=0.2, inertia=(2e-3, 3e-3, 4e-3), position=(0, 0.5, 0))
    hung = gd.System([bob], [gd.Revolute("ground", "bob", at=(0, 0, 0), axis=(1, 0, 0), stiffness=1.0)])
    for error in ("rough", "total"):
        for result in (
            gd.equilibrium(hung, error=error),
            gd.modes(hung, n=1, error=error),
            gd.follow(hung, "gravity", (0.0, 1.0), error=error),
        ):
            assert "bodies alone have no mesh" in result.error.failure


@pytest.mark.parametrize("rtol", [1e-4, 1e-8])
def test_the_error_of_a_motion_that_is_lost_is_as_large_as_the_motion(rtol):
    """A looser companion that has nothing to do with the run is no reason to take a part of the difference."""
    times = np.linspace(0.0, 30.0, 301)
    fine = gd.simulate(pendulum(), 30.0, rtol=1e-12, output=times)
    motion = gd.simulate(pendulum(), 30.0, rtol=rtol, output=times, error="total")
    for text, of in (("norm b.position", lambda m: m["b"].position), ("norm elbow.force", lambda m: m["elbow"].force)):
        true = np.linalg.norm(of(motion) - of(fine), axis=1).max()
        assert true < motion.error[text].total < 10.0 * true


def test_chaos_is_reported_with_the_rate_of_growth():
    motion = gd.simulate(pendulum(), 20.0, rtol=1e-6, output=np.linspace(0.0, 20.0, 401), error="total")
    assert 0.3 < motion.error.growth < 10.0  # 1/s
    assert "errors grow tenfold every" in str(motion.error)
    calm = gd.simulate(pendulum(), 1.0, rtol=1e-6, error="total")
    assert calm.error.growth == 0.0
    with pytest.raises(gd.AccuracyError, match="errors grow tenfold every") as caught:
        gd.simulate(pendulum(), 60.0, accuracy=1e-6, output=np.linspace(0.0, 60.0, 601))
    assert caught.value.motion is not None


# --- accuracy --------------------------------------------------------------------------------------------------------


def test_accuracy_chooses_mesh_and_tolerance(tmp_path):
    start = system(2, degree=3)
    motion = gd.simulate(start, 0.3, accuracy=1e-2, output=TIMES[:31], save=tmp_path / "run.h5")
    assert motion.system.rod("hose").mesh.cells > 2
    assert "chosen for accuracy = 0.01" in motion.error.chosen
    assert gd.open(tmp_path / "run.h5").error.chosen == motion.error.chosen
    fine = gd.simulate(system(16, degree=4), 0.3, rtol=1e-7, output=TIMES[:31])
    assert np.linalg.norm(motion["hose"].positions[:, -1] - fine["hose"].positions[:, -1], axis=1).max() < 1e-2
    pull = fine["hose"].start_force
    assert np.linalg.norm(motion["hose"].start_force - pull, axis=1).max() < 1e-2 * np.linalg.norm(pull, axis=1).max()


def test_accuracy_in_units_and_on_a_grid():
    motion = gd.simulate(system(4), 0.2, accuracy={"hose.positions[-1]": 2e-3}, output=TIMES[:21])
    assert motion.error["hose.positions[-1]"].total.max() <= 2e-3
    assert motion.system.rod("hose").degree is None


@pytest.mark.parametrize(
    ("accuracy", "sentence"),
    [
        (2.0, "must be below 1"),
        ({}, "is empty"),
        ({"hose.foo": 1.0}, "'foo' is unknown"),
        ({"drift.position": 1.0}, "cannot be given: there is no estimate"),
        ({"hose.positions": -1.0}, "accuracy"),
    ],
)
def test_accuracies_that_make_no_sense(accuracy, sentence):
    with pytest.raises(ValueError, match=sentence):
        gd.simulate(system(), 0.1, accuracy=accuracy)


def test_an_accuracy_out_of_reach_says_how_near_it_came(monkeypatch):
    monkeypatch.setattr("gyrod.solve.accuracy.MOST_CELLS", 20)
    with pytest.raises(gd.AccuracyError, match=r"not reached: the next mesh would have .* cells") as caught:
        gd.simulate(system(8), 0.2, accuracy=1e-6, output=TIMES[:21])
    assert caught.value.motion.error["hose.positions"].total.max() > 0.0
