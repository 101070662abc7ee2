"""Studies, fits and comparisons at rest and from rest; outputs over a rod, and at places the mesh does not change."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gyrod as gd
from gyrod.motion.readings import along, quantity
from gyrod.studies.outputs import output
from gyrod.studies.plan import make_plan
from gyrod.studies.plan_files import loads_plan
from gyrod.studies.plan_schema import plan_schema

YOUNG = "hose.material.young"


def hose(**mesh):
    return gd.System(
        rods=[
            gd.Rod(
                "hose", 1.0, section=gd.Circle(radius=8e-3), initial=gd.Straight((0, 0, 0), (0, 1, 0)),
                material=gd.Material(young=5e6, poisson=0.5, density=1100), damping=gd.Damping(factor=5e-3),
                start=gd.Clamped("ground"), **(mesh or {"segments": 8}),
            )
        ]
    )  # fmt: skip


GRID, ELEMENTS = hose(), hose(segments=3, degree=3)
LEAST = gd.Minimum("hose.bend_radius", over="rod")
WHERE = gd.Minimum("hose.bend_radius", over="rod", give="place")
SHAPE = gd.Final("hose.positions", at=[0, 0.5, 1])


def kept(given, run):
    made = output(given).bound("x", run.system, float(np.max(run.t)))
    return made.of(run)


# --- at rest ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", [GRID, ELEMENTS], ids=["grid", "elements"])
def test_runs_at_rest_are_equilibria(system):
    outputs = {"tip": "hose.positions[-1]", "r": LEAST, "stable": lambda rest: rest.stable}
    study = gd.study(system, {YOUNG: [4e6, 6e6]}, outputs, at_rest=True, load=0.5)
    for k, young in enumerate((4e6, 6e6)):
        rest = gd.equilibrium(system.with_({YOUNG: young}), load=0.5)
        np.testing.assert_array_equal(study["tip"][k], rest["hose"].positions[-1])
        assert study["r"][k] == kept(LEAST, rest)
        assert study["steps"][k] == rest.iterations
        np.testing.assert_array_equal(study.motion(k).y, rest.y)
    assert study["stable"].tolist() == [1.0, 1.0]
    assert study["status"].tolist() == ["finished"] * 2
    assert study.dataset["r"].attrs == {"units": "m"}
    assert "errors of run 0: positions" in str(study)


def test_equilibria_that_are_not_found_are_rows_with_a_sentence():
    study = gd.study(
        GRID, {"gravity[2]": [-9.81, -1e6]}, {"tip": "hose.positions[-1]"}, at_rest=True, relax=False, tolerance=1e-12
    )
    assert study["status"].tolist() == ["finished", "failed"]
    assert np.isnan(study["tip"][1]).all()
    assert "equilibrium" in study.failed[1]


def test_engines_folders_and_resumes_give_the_same_bits(tmp_path):
    vary, outputs = {YOUNG: gd.Uniform(4e6, 6e6)}, {"tip": "hose.positions[-1]", "r": LEAST, "at": WHERE}
    how = {"samples": 8, "at_rest": True}
    serial = gd.study(GRID, vary, outputs, engine="serial", **how)
    threads = gd.study(GRID, vary, outputs, engine="threads", chunk=3, **how)
    processes = gd.study(GRID, vary, outputs, engine="processes", workers=2, chunk=4, **how)
    folder = tmp_path / "rests"
    gd.study(GRID, vary, outputs, folder=folder, chunk=2, shard="1/2", **how)
    resumed = gd.study(GRID, vary, outputs, folder=folder, chunk=2, resume=True, **how)
    opened = gd.open(folder)
    for other in (threads, processes, resumed, opened):
        for name in ("tip", "r", "at", "steps"):
            np.testing.assert_array_equal(other[name], serial[name])
    np.testing.assert_array_equal(opened.motion(3)["hose"].positions[-1], serial["tip"][3])
    with pytest.raises(gd.StudyError, match="at_rest"):
        gd.study(GRID, vary, {**outputs}, 0.1, samples=8, folder=folder, resume=True)


def test_plans_that_say_nothing_about_rest_keep_their_identity():
    told = make_plan(GRID, {YOUNG: [5e6]}, {"tip": gd.Maximum("hose.positions[-1]")}, 0.1).describe()
    assert told["outputs"]["tip"] == {"output": "Maximum", "quantity": "hose.positions[-1]"}
    assert not {"at_rest", "start"} & told.keys()
    plans = [
        make_plan(GRID, {YOUNG: [5e6]}, {"x": SHAPE}, at_rest=True),
        make_plan(GRID, {YOUNG: [5e6]}, {"x": SHAPE}, 0.1),
        make_plan(GRID, {YOUNG: [5e6]}, {"x": SHAPE}, 0.1, start="rest"),
        make_plan(GRID, {YOUNG: [5e6]}, {"x": gd.Final("hose.positions", at=[0, 0.5])}, 0.1),
        make_plan(GRID, {YOUNG: [5e6]}, {"x": LEAST}, 0.1),
        make_plan(GRID, {YOUNG: [5e6]}, {"x": WHERE}, 0.1),
    ]
    assert len({plan.identity for plan in plans}) == len(plans)


# --- from rest -------------------------------------------------------------------------------------------------------


def test_runs_start_from_their_equilibria():
    """Nothing moves; from the start of the model it falls."""
    outputs = {"tip": "hose.positions[-1]", "speed": gd.Maximum("norm hose.velocities[-1]")}
    vary = {YOUNG: [4e6, 6e6]}
    study = gd.study(GRID, vary, outputs, 0.2, start="rest", rtol=1e-5)
    rests = gd.study(GRID, vary, {"tip": "hose.positions[-1]"}, at_rest=True)
    falls = gd.study(GRID, vary, outputs, 0.2, rtol=1e-5)
    np.testing.assert_allclose(study["tip"], rests["tip"], atol=1e-9)
    assert study["speed"].max() < 1e-6
    assert falls["speed"].min() > 0.5
    motion = study.motion(0)
    np.testing.assert_allclose(motion["hose"].positions[0, -1], rests["tip"][0], atol=1e-12)


def test_starts_that_cannot_be():
    for options, sentence in (
        ({"t_end": 1.0, "at_rest": True}, "t_end = 1.0 cannot be given with at_rest=True"),
        ({"at_rest": True, "start": "rest"}, "start = 'rest' is for motions; with at_rest=True leave it out."),
        (
            {"at_rest": True, "rtol": 1e-3},
            "rtol = 0.001 is unknown; it can be 'load', 't', 'tolerance', 'relax', 'error', 'threads'.",
        ),
        ({"at_rest": True, "guess": None}, "guess cannot be given"),
        ({"at_rest": True, "lanes": 4}, "equilibria are found one by one"),
        ({"at_rest": 1}, "at_rest = 1 must be True or False."),
        ({"at_rest": True, "tolerance": -1.0}, "tolerance"),
        ({"t_end": 1.0, "start": "rst"}, "start = 'rst' is unknown; it can be 'model', 'rest'. Did you mean 'rest'?"),
    ):
        with pytest.raises(gd.ModelError, match=re.escape(sentence)):
            gd.study(GRID, {YOUNG: [5e6]}, {"tip": "hose.positions[-1]"}, **options)
    for given in (gd.Average("t"), gd.Crossing("t"), gd.History("t", 3), gd.Maximum("hose.positions[-1]")):
        with pytest.raises(gd.ModelError, match="is of a motion, and these runs are at rest; take Final"):
            gd.study(GRID, {YOUNG: [5e6]}, {"x": given}, at_rest=True)


# --- along a rod -----------------------------------------------------------------------------------------------------


def test_shapes_do_not_change_with_the_mesh():
    outputs = {"x": SHAPE, "z": gd.Final("hose.positions[:, 2]", at=(0.25, 1.0)), "r": LEAST, "s": WHERE}
    outputs["mid"] = gd.Final("hose.curvature", at=0.5)
    for vary in ({"hose.segments": [4, 8, 16]}, {"hose.degree": [2, 3, 4]}):
        study = gd.study(ELEMENTS, vary, outputs, at_rest=True)
        assert study["status"].tolist() == ["finished"] * 3
        assert [study[name].shape for name in outputs] == [(3, 3, 3), (3, 2), (3,), (3,), (3, 3)]
        np.testing.assert_array_equal(study["s"], 0.0)
        np.testing.assert_allclose(study["x"][1:], study["x"][:-1], atol=2e-2)
    motions = gd.study(GRID, {"hose.segments": [4, 8]}, {"h": gd.History("hose.positions[:, 2]", 2, at=[0.5, 1])}, 0.1)
    assert motions["h"].shape == (2, 3, 2)


@pytest.mark.spread
@pytest.mark.parametrize("system", [GRID, ELEMENTS], ids=["grid", "elements"])
@pytest.mark.parametrize("text", ["hose.bend_radius", "hose.stress", "norm hose.force", "hose.positions[:, 2]"])
def test_extremes_over_a_rod_are_those_of_all_places_and_times(system, text):
    """Against the fine curve of all times and places."""
    motion = gd.simulate(system, 0.3, rtol=1e-6)
    found = quantity(text, system)
    fine = motion(np.linspace(0.0, 0.3, 2001))
    field = text.removeprefix("norm ").removesuffix("[:, 2]").removeprefix("hose.")
    if system is GRID:
        s, values = quantity(f"hose.{field}", system).stations(motion), found.read(fine)
    else:
        s = quantity(f"hose.{field}", system).stations(motion)
        values = along(fine, "hose", field, s)
        values = values[..., 2] if "[:, 2]" in text else np.linalg.norm(values, axis=-1) if "norm" in text else values
    for kind, extreme in ((gd.Maximum, np.max), (gd.Minimum, np.min)):
        if text == "hose.bend_radius" and kind is gd.Maximum:
            assert kept(kind(text, over="rod"), motion) == np.inf  # straight at the start
            continue
        wanted, slack = extreme(values), 1e-6 * np.abs(values[np.isfinite(values)]).max()
        assert kept(kind(text, over="rod"), motion) == pytest.approx(wanted, rel=1e-3, abs=slack)
        place = kept(kind(text, over="rod", give="place"), motion)
        assert np.abs(s - place).min() == 0.0
        column = values[:, int(np.argmin(np.abs(s - place)))]
        assert extreme(column) == pytest.approx(wanted, rel=1e-3, abs=slack)


def test_extremes_at_rest_are_found_between_the_points_of_elements():
    """A beam on two hinges bends most in the middle, where three elements of degree 4 have no Gauss point."""
    rod = gd.Rod(
        "beam", 1.0, 3, gd.Circle(radius=0.01), gd.Material(young=2e9, poisson=0.3, density=1000), degree=4,
        initial=gd.Straight((0, 0, 0), (0, 1, 0)), start=gd.Hinged("ground"), end=gd.Hinged("ground"),
    )  # fmt: skip
    made, system = gd.Maximum("norm beam.curvature", over="rod"), gd.System(rods=[rod])
    rest, fine = gd.equilibrium(system), gd.equilibrium(system.with_({"beam.segments": 16}))
    points, wanted = np.linalg.norm(rest["beam"].curvature, axis=-1).max(), kept(made, fine)
    assert kept(gd.Maximum("norm beam.curvature", over="rod", give="place"), rest) == pytest.approx(0.5, abs=0.03)
    assert abs(kept(made, rest) - wanted) < 0.3 * abs(points - wanted)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: gd.Maximum("t", over="body"), "over = 'body' must be 'rod', or be left out."),
        (lambda: gd.Maximum("t", give="place"), "give = 'place' needs over='rod'."),
        (lambda: gd.Maximum("t", over="rod", give="time"), "give = 'time' must be 'value' or 'place'."),
        (lambda: gd.Maximum("t", over="rod", at=0.5), "at = 0.5 cannot be given with over='rod'"),
        (lambda: kept(gd.Maximum("t", over="rod"), gd.equilibrium(GRID)), "is for fields along a rod, such as"),
        (lambda: kept(gd.Maximum("hose.positions[1]", over="rod"), gd.equilibrium(GRID)), "first index as ':'"),
        (lambda: kept(gd.Maximum("norm hose.positions[:, 1]", over="rod"), gd.equilibrium(GRID)), "leave norm out"),
        (lambda: kept(gd.Maximum("norm hose.stress", over="rod"), gd.equilibrium(GRID)), "leave norm out"),
        (lambda: kept(gd.Final("hose.end_force", at=0.5), gd.equilibrium(GRID)), "not for 'hose.end_force'."),
        (lambda: kept(gd.Final("hose.positions", at=1.5), gd.equilibrium(GRID)), "must be a fraction of the length"),
        (lambda: kept(gd.Final("hose.positions", at=[]), gd.equilibrium(GRID)), "must be a fraction of the length"),
        (lambda: kept(gd.Final("hose.positions", at="x"), gd.equilibrium(GRID)), "must be a fraction of the length"),
        (lambda: kept(gd.Final(lambda m: m.t, at=0.5), gd.equilibrium(GRID)), "not for a function."),
    ],
)
def test_places_that_cannot_be(make, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        make()


def test_the_bend_radius_at_a_clamp_is_that_of_the_stiffness_of_the_run():
    """Runs that go through the core together share a model, whose stiffness is not theirs."""
    young = [2.5e6, 1e7]
    study = gd.study(ELEMENTS, {YOUNG: young}, {"r": "hose.bend_radius"}, 0.1, rtol=1e-6)
    for k, value in enumerate(young):
        motion = gd.simulate(ELEMENTS.with_({YOUNG: value}), 0.1, rtol=1e-6, output=[0.1])
        np.testing.assert_allclose(study["r"][k], motion["hose"].bend_radius[-1], rtol=1e-9)


# --- plan files ------------------------------------------------------------------------------------------------------

PLAN = """
model:
  rods:
    - name: hose
      length: 1 m
      segments: 8
      section: {circle: {radius: 8 mm}}
      material: {young: 5 MPa, poisson: 0.5, density: 1100}
      start: {clamped: {}}
      initial: {straight: {start: [0, 0, 0], end: [0, 1, 0]}}
vary: {hose.material.young: [4 MPa, 6 MPa]}
outputs:
  tip: hose.positions[-1]
  shape: {final: {of: hose.positions, at: [0, 0.5, 1]}}
  radius: {minimum: {of: hose.bend_radius, over: rod}}
  place: {minimum: {of: hose.bend_radius, over: rod, give: place}}
"""


def test_plan_files_at_rest_and_from_rest():
    read = loads_plan(PLAN + "at_rest: true\n")
    study = gd.study(**read.arguments)
    assert study.plan.at_rest
    assert study["shape"].shape == (2, 3, 3)
    assert study["place"].tolist() == [0.0, 0.0]
    moving = loads_plan(PLAN + "until: 0.1 s\nstart: rest\n")
    assert gd.study(**moving.arguments).plan.start == "rest"
    properties = plan_schema()["properties"]
    assert properties["at_rest"]["type"] == "boolean"
    assert properties["start"]["enum"] == ["model", "rest"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("at_rest: 3\n", "at_rest: must be true or false"),
        ("at_rest: true\nuntil: 1 s\n", "until"),
        ("at_rest: true\nrun: {rtol: 1e-3}\n", "holds options of motions, and the runs are at rest"),
        ("until: 1 s\nstart: rst\n", "start: "),
    ],
)
def test_plan_files_with_wrong_rests(more, sentence):
    with pytest.raises(gd.ModelError, match=re.escape(sentence)):
        loads_plan(PLAN + more)


# --- fits ------------------------------------------------------------------------------------------------------------


def test_a_modulus_is_found_from_a_shape_at_rest(tmp_path):
    true = gd.equilibrium(GRID.with_({YOUNG: 4.3e6}))["hose"].positions[2:]
    noisy = true + 1e-4 * np.random.default_rng(1).normal(size=true.shape)
    found = gd.fit(GRID, {YOUNG: (5e6, 1e6, 1e7)}, {"hose.positions[2:]": (noisy, 1e-4)}, at_rest=True)
    assert found.status == "converged"
    assert abs(found.values[YOUNG] - 4.3e6) < 4.0 * found.standard_errors[YOUNG] < 0.05 * 4.3e6
    assert found.motion.stable
    np.testing.assert_allclose(found.predict()["hose.positions[2:]"][0], true, atol=1e-3)
    assert found.plot(file=tmp_path / "fit.png") is not None
    exact = gd.fit(GRID, {YOUNG: 5e6}, {"hose.positions[-1]": true[-1]}, at_rest=True)
    assert exact.values[YOUNG] == pytest.approx(4.3e6, rel=1e-6)
    with pytest.raises(ValueError, match="this fit is at rest"):
        found.predict([0.1])
    with pytest.raises(gd.ModelError, match="must be values or the tuple"):
        gd.fit(GRID, {YOUNG: 5e6}, {"hose.positions[-1]": ([0.0], [1.0], 1.0)}, at_rest=True)
    with pytest.raises(gd.ModelError, match="t_end"):
        gd.fit(GRID, {YOUNG: 5e6}, {"hose.positions[-1]": true[-1]}, 1.0, at_rest=True)


def test_a_fit_from_rest_starts_there():
    """The rest depends on the modulus, and stays."""
    times = np.linspace(0.05, 0.2, 4)
    rest = gd.equilibrium(GRID.with_({YOUNG: 4.5e6}))
    curve = gd.simulate(rest, 0.2, rtol=1e-8, output=times)["hose"].positions[:, -1]
    found = gd.fit(GRID, {YOUNG: 5e6}, {"hose.positions[-1]": (times, curve, 1e-4)}, start="rest")
    assert found.values[YOUNG] == pytest.approx(4.5e6, rel=1e-4)
    np.testing.assert_allclose(found.predict()["hose.positions[-1]"], curve, atol=1e-6)


# --- comparisons -----------------------------------------------------------------------------------------------------


def test_discretisations_are_compared_at_rest(tmp_path):
    spaces = ["staggered:8", "staggered:16", "elements:3x4", "model"]
    found = gd.compare(GRID, at_rest=True, discretizations=spaces, load=0.5)
    assert [trial.status for trial in found] == ["finished"] * 4
    by = {trial.discretization: trial for trial in found}
    fine = gd.equilibrium(hose(segments=40, degree=4), load=0.5)["hose"].positions[-1]
    for label, system in (("staggered:8", GRID), ("staggered:16", hose(segments=16))):
        apart = np.linalg.norm(gd.equilibrium(system, load=0.5)["hose"].positions[-1] - fine)
        assert by[label].position >= 0.9 * apart / found.length  # the end is one of the places
    assert by["staggered:8"].error > 3.0 * by["staggered:16"].error > 3.0 * by["elements:3x4"].error
    assert by["model"].error == by["staggered:8"].error
    text = str(found)
    assert "at rest" in text
    assert "rtol" not in text
    assert found.plot(file=tmp_path / "rests.png") is not None
    assert found.best(1e-2) is not None


def test_runs_of_a_comparison_start_at_rest():
    found = gd.compare(GRID, 0.05, start="rest", discretizations=["model", "staggered:16"], rtols=1e-4)
    assert [trial.status for trial in found] == ["finished"] * 2
    assert found.kinetic < 1e-9  # nothing moves
    plain = gd.compare(
        GRID,
        0.05,
        start="rest",
        formulations=["nullspace-quaternion", "absolute-quaternion"],
        methods="rodas",
        rtols=1e-3,
    )
    assert [trial.status for trial in plain] == ["finished"] * 2
    assert plain.kinetic < 1e-9


def test_comparisons_at_rest_that_cannot_be():
    for options, sentence in (
        ({}, "at_rest=True compares discretizations; write some"),
        ({"discretizations": "model", "t_end": 1.0}, "t_end = 1.0 is for motions; with at_rest=True leave it out."),
        ({"discretizations": "model", "methods": "rodas"}, "methods = 'rodas' is for motions"),
        ({"discretizations": "model", "reference": 3}, "reference must be a text such as 'elements:4x30'"),
    ):
        with pytest.raises(ValueError, match=re.escape(sentence)):
            gd.compare(GRID, at_rest=True, **options)
    with pytest.raises(ValueError, match="start = 'rst' is unknown"):
        gd.compare(GRID, 1.0, start="rst")


# --- cables that are laid anew ---------------------------------------------------------------------------------------

HOSE = {"section": gd.Circle(radius=5e-3), "material": gd.Material(young=5e7, poisson=0.4, density=1200)}
ALONG_X = (0, 0.5 * np.pi, 0)
LAID_VARY = {"cable.length": [0.95, 1.2], "mid.at": [0.3, 0.4]}
LAID_KEPT = {"r": gd.Minimum("cable.bend_radius", over="rod"), "f": "norm mid.force", "turns": lambda rest: rest.turns}


def laid(length=1.0, at=0.4):
    clip = gd.Clip("cable", at, point=(0.35, 0.1, 0.05), kind="ball", name="mid")
    ends = gd.Clamped(at=(0, 0, 0), frame=ALONG_X), gd.Clamped(at=(0.8, 0.3, 0.1), frame=ALONG_X)
    return gd.route(length, *ends, clips=[clip], **HOSE)


def test_a_route_is_laid_anew_in_each_run(tmp_path):
    """Lengths and places of clips: each run is the route that they have, or the sentence why there is none."""
    study = gd.study(laid(), LAID_VARY, LAID_KEPT, at_rest=True, engine="serial", folder=tmp_path / "laid")
    assert [*study.failed] == [0, 2]
    assert study.failed[0].startswith("length = 0.95 is too short: between start and Clip 'mid' it has 0.285 m")
    for run, (length, at) in {1: (0.95, 0.4), 3: (1.2, 0.4)}.items():
        route = laid(length, at)
        assert study["turns"][run] == route.turns
        assert study["f"][run] == pytest.approx(np.linalg.norm(route["mid"].force), rel=1e-15)
        assert study["r"][run] == kept(LAID_KEPT["r"], route)
        assert isinstance(again := study.motion(run), gd.Route)
        assert again.rod == route.rod
    assert {name: study.dataset[name].attrs.get("units") for name in ("cable.length", "r", "f")} == {
        "cable.length": "m", "r": "m", "f": "N",
    }  # fmt: skip
    with pytest.raises(gd.ModelError, match=r"is routed, and its folder does not hold the route; give model="):
        gd.open(tmp_path / "laid").motion(1)
    figure = study.plot("map", output="r", limits={"r": 0.15}, file=tmp_path / "map.png")
    assert figure.axes[1].lines[0].get_ydata()[0] == pytest.approx(0.15)  # in the unit of the picture, m
    with pytest.raises(ValueError, match="limits = 'radius' is unknown; it can be 'r'"):
        study.plot("map", output="r", limits={"radius": 0.1})


def test_functions_may_return_routes_and_rests():
    study = gd.study(laid, {"length": [1.2], "at": [0.4]}, LAID_KEPT, at_rest=True, engine="serial")
    assert study["turns"][0] == laid(1.2).turns
    moved = gd.study(
        lambda young: gd.equilibrium(GRID.with_({YOUNG: young})), {"young": [5e6]}, {"tip": "hose.positions[-1]"}, 0.01,
        engine="serial",
    )  # fmt: skip
    rest = gd.equilibrium(GRID.with_({YOUNG: 5e6}))
    np.testing.assert_allclose(moved["tip"][0], rest["hose"].positions[-1], atol=1e-6)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"vary": {"cable.lenght": [1.0]}}, "path = 'cable.lenght': 'lenght' is unknown; there it can be 'length'"),
        ({"vary": {"med.at": [0.4]}}, "path = 'med.at': 'med' is unknown; there it can be 'cable', 'mid', 'length'"),
        ({"vary": {"cable.length": [(1.0, 2.0)]}}, r"vary['cable.length'] must hold numbers, as 1.0 is one"),
        ({"at_rest": False, "t_end": 1.0}, "a Route is at rest; give at_rest=True, or take a function that returns"),
        ({"load": 0.5}, "load is an option of equilibrium, but the model is at rest already; leave it out"),
    ],
)
def test_what_a_study_of_a_route_is_not(given, sentence):
    wanted = {"vary": {"cable.length": [1.0]}, "outputs": {"f": "norm mid.force"}, "at_rest": True, **given}
    with pytest.raises(gd.ModelError, match=re.escape(sentence)):
        gd.study(laid(), **wanted)
