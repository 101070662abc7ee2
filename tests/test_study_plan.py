"""Plans: everything is checked before anything runs, and a plan is the same wherever it is taken up."""

from __future__ import annotations

import functools
import json
import pickle
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import gyrod as gd
from gyrod.studies.identity import function_data, source
from gyrod.studies.members import run_block
from gyrod.studies.plan import Plan, make_plan

BODY = gd.Body("ball", mass=1.0, inertia=(1, 2, 3), position=(0, 0, 1), angular_velocity=(0.1, 5.0, 0.1))
BALL = gd.System([BODY])
HEIGHT = {"z": "ball.position[2]"}
HOSE = gd.System(
    rods=[
        gd.Rod(
            "hose", length=1.0, segments=4, section=gd.Circle(5e-3), initial=gd.Straight((0, 0, 0), (0, 1, 0)),
            material=gd.Material(young=5e6, poisson=0.5, density=1100), start=gd.Clamped("ground"),
        )
    ]
)  # fmt: skip


def thrown(mass: float, spin: float = 1.0, *, speed: float = 0.0) -> gd.System:
    """A ball that spins."""
    return gd.System([gd.Body("ball", mass, (1, 2, 3), velocity=(0, 0, speed), angular_velocity=(0.1, spin, 0))])


def height(motion: gd.Motion) -> float:
    return float(motion["ball"].position[-1, 2])


class Thrower:
    """A model with a memory."""

    def __init__(self, speed: float) -> None:
        self.speed = speed

    def __call__(self, mass: float) -> gd.System:
        return thrown(mass, speed=self.speed)

    def throw(self, mass: float) -> gd.System:
        return self(mass)


def sentences(*args, **options) -> str:
    with pytest.raises(gd.ModelError) as caught:
        make_plan(*args, **options)
    return str(caught.value)


# --- plans -----------------------------------------------------------------------------------------------------------


def test_a_plan_knows_its_runs():
    vary = {
        "ball.mass": [1.0, 2.0],
        "ball.position": [[0, 0, 1], [0, 0, 2], [0, 0, 3]],
        "gravity[2]": gd.Normal(-10, 1),
    }
    plan = make_plan(BALL, vary, HEIGHT, 0.5, samples=4, seed=2)
    assert (plan.size, plan.names) == (24, tuple(vary))
    columns = plan.parameters(0, 24)
    assert [column.shape for column in columns.values()] == [(24,), (24, 3), (24,)]
    system = plan.system({name: column[23] for name, column in columns.items()})
    assert system.body("ball").mass == 2.0
    assert system.body("ball").position.tolist() == [0, 0, 3]
    assert system.gravity.tolist() == [0, 0, columns["gravity[2]"][23]]
    block = run_block(plan, 0, 24)
    fall = columns["ball.position"][:, 2] + 0.5 * columns["gravity[2]"] * 0.25
    np.testing.assert_allclose(block.outputs["z"], fall, rtol=1e-12)


def test_two_paths_into_one_vector_are_both_set():
    plan = make_plan(BALL, {"ball.angular_velocity[0]": [7.0], "ball.angular_velocity[-1]": [8.0]}, HEIGHT, 1.0)
    system = plan.system({name: column[0] for name, column in plan.parameters(0, 1).items()})
    assert system.body("ball").angular_velocity.tolist() == [7.0, 5.0, 8.0]


def test_whole_numbers_stay_whole():
    plan = make_plan(HOSE, {"hose.segments": [3, 5]}, {"tip": "hose.positions[-1]"}, 0.1)
    column = plan.parameters(0, 2)["hose.segments"]
    assert column.dtype == np.int64
    assert plan.system({"hose.segments": column[1]}).rod("hose").segments == 5
    assert run_block(plan, 0, 2).status.tolist() == [0, 0]


def test_whole_numbers_may_have_a_discrete_distribution():
    plan = make_plan(HOSE, {"hose.segments": stats.randint(3, 6)}, {"tip": "hose.positions[-1]"}, 0.01, samples=8)
    block = run_block(plan, 0, 8)
    assert block.status.tolist() == [0] * 8
    assert set(plan.parameters(0, 8)["hose.segments"].tolist()) == {3, 4, 5}


@pytest.mark.parametrize(
    ("values", "options", "sentence"),
    [
        (gd.Uniform(3, 9), {"samples": 4}, "; take a list of them, or a discrete distribution such as scipy.stats.ran"),
        (stats.randint(3, 9, loc=0.5), {"samples": 4}, "; take a list of them, or a discrete"),
        ([4, 4.5], {}, ", not 4.5."),
        ([4.0, 5.0], {}, "; write 4 in place of 4.0."),
    ],
)
def test_fractions_of_a_whole_number_are_told(values, options, sentence):
    told = sentences(HOSE, {"hose.segments": values}, {"tip": "hose.positions[-1]"}, 0.1, **options)
    assert f"vary['hose.segments'] must hold whole numbers{sentence}" in told


def test_an_output_of_another_shape_is_told():
    plan = make_plan(HOSE, {"hose.segments": [4, 5]}, {"all": "hose.positions"}, 0.01)
    block = run_block(plan, 0, 2)
    first, second = block.errors
    assert not first
    assert second.startswith("output 'all': it has the shape (6, 3), but must have (5, 3) in all runs. ")
    assert "gd.Final(..., at=[0, 0.5, 1])" in second


def test_values_that_make_a_bad_model_are_for_their_run():
    plan = make_plan(BALL, {"ball.mass": [1.0, -1.0]}, HEIGHT, 0.1)
    block = run_block(plan, 0, 2)
    assert block.status.tolist() == [0, 3]
    assert "mass must be a positive" in block.errors[1]


def test_shapes_are_those_of_the_results():
    outputs = {
        "tip": "hose.positions[-1]",
        "moment": gd.Maximum("norm hose.moment[1:]"),
        "curve": gd.History("hose.force[:, 2]", 6),
        "energy": gd.Average("energy.total"),
        "lost": "energy.dissipated",
        "down": gd.Crossing("hose.positions[-1, 2]", -0.01),
        "mine": lambda m: m["hose"].positions[-1, :2],
        "count": gd.Final(lambda m: np.stack([m.t, m.t], axis=1)),
    }
    plan = make_plan(HOSE, {"hose.material.young": [5e6]}, outputs, 0.1)
    wanted = {"tip": (3,), "moment": (4,), "curve": (7, 4), "energy": (), "lost": (), "down": (), "mine": (2, 3)}
    assert plan.shapes == wanted | {"count": (2,)}
    block = run_block(plan, 0, 1)
    assert block.errors == ("",)
    assert {name: values.shape[1:] for name, values in block.outputs.items()} == plan.shapes
    assert np.isfinite(np.concatenate([values.ravel() for values in block.outputs.values()])).all()


@pytest.mark.parametrize(
    ("outputs", "wanted"),
    [
        ({"a": "ball.position"}, {"output": [2.0], "dense": False}),
        ({"a": gd.History("t", [0.5, 1.0])}, {"output": [0.5, 1.0], "dense": False}),
        ({"a": "t", "b": gd.History("t", [0.5, 1.0])}, {"output": [0.5, 1.0, 2.0], "dense": False}),
        ({"b": gd.History("t", 2), "c": gd.History("t", 4)}, {"output": [0, 0.5, 1, 1.5, 2], "dense": False}),
        ({"a": "t", "b": gd.Maximum("t")}, {"dense": True}),
        ({"a": gd.History("t", 2), "b": gd.Crossing("t")}, {"dense": True}),
        ({"a": "energy.work"}, {"dense": True}),
        ({"a": height}, {"dense": True}),
    ],
)
def test_runs_do_what_outputs_need_and_no_more(outputs, wanted):
    plan = make_plan(BALL, {"ball.mass": [1.0]}, outputs, 2.0, rtol=1e-4)
    found = plan.run_options()
    assert found.pop("rtol") == 1e-4
    if "output" in wanted:
        np.testing.assert_array_equal(found.pop("output"), wanted.pop("output"))
    assert found == wanted
    motion = gd.simulate(BALL, 2.0, **plan.run_options())
    for x in plan.outputs:
        assert x.evaluate(motion).shape == plan.shapes[x.name]


@pytest.mark.parametrize("method", ["dopri5", "rodas", "variational", "bdf", "scipy:LSODA"])
def test_an_output_does_not_depend_on_the_others(method):
    options = {"step": 0.01} if method == "variational" else {}
    every = {
        "end": "ball.Omega",
        "curve": gd.History("ball.Omega", [0.105, 0.31, 0.5]),
        "most": gd.Maximum("ball.Omega"),
    }
    vary = {"ball.mass": [1.0]}
    try:
        together = run_block(make_plan(BALL, vary, every, 0.5, method=method, **options), 0, 1)
    except gd.ModelError as error:
        pytest.skip(str(error))
    for name, x in every.items():
        alone = run_block(make_plan(BALL, vary, {name: x}, 0.5, method=method, **options), 0, 1)
        np.testing.assert_allclose(alone.outputs[name], together.outputs[name], rtol=1e-12)


# --- models ----------------------------------------------------------------------------------------------------------


def test_files_give_their_time_and_options(tmp_path):
    run = gd.files.RunOptions(until=0.75, method="dopri5", rtol=1e-5, output=0.1, dense=False)
    gd.files.save(BALL, tmp_path / "ball.yaml", run)
    plan = make_plan(tmp_path / "ball.yaml", {"ball.mass": [1.0]}, HEIGHT)
    assert plan.t_end == 0.75
    assert plan.options == {"method": "dopri5", "rtol": 1e-5}
    given = make_plan(str(tmp_path / "ball.yaml"), {"ball.mass": [1.0]}, HEIGHT, 0.5, rtol=1e-3)
    assert (given.t_end, given.options["rtol"]) == (0.5, 1e-3)
    # Neither the place of the file nor that there is one matters.
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "ball.yaml").rename(tmp_path / "elsewhere" / "renamed.yml")
    moved = make_plan(tmp_path / "elsewhere" / "renamed.yml", {"ball.mass": [1.0]}, HEIGHT)
    assert moved == plan
    assert make_plan(BALL, {"ball.mass": [1.0]}, HEIGHT, 0.75, method="dopri5", rtol=1e-5) == plan
    with pytest.raises(FileNotFoundError, match="does not exist; it should be a model file"):
        make_plan(tmp_path / "ball.yaml", {"ball.mass": [1.0]}, HEIGHT)


@pytest.mark.parametrize(
    "model",
    [thrown, functools.partial(thrown, speed=2.0), Thrower(3.0), Thrower(3.0).throw, lambda mass: thrown(mass)],
    ids=["function", "partial", "object", "method", "lambda"],
)
def test_functions_make_models(model):
    plan = make_plan(model, {"mass": [1.0, 2.0, -1.0]}, HEIGHT, 0.1)
    assert run_block(plan, 0, 3).status.tolist() == [0, 0, 3]
    assert plan == make_plan(model, {"mass": [1.0, 2.0, -1.0]}, HEIGHT, 0.1)


def test_the_first_run_of_a_function_that_works_tells_the_shapes():
    plan = make_plan(thrown, {"mass": [-2.0, -1.0, 1.0]}, {"z": "ball.position", "f": height}, 0.1)
    assert plan.shapes == {"z": (3,), "f": ()}


# --- identity --------------------------------------------------------------------------------------------------------

PLANS = {
    "system": lambda: make_plan(BALL, {"ball.mass": gd.Normal(1, 0.1)}, HEIGHT, 1.0, samples=8),
    "model": lambda: make_plan(thrown, {"mass": [1.0], "spin": stats.uniform(1, 2)}, {"z": height}, 1.0, samples=4),
    "object": lambda: make_plan(Thrower(2.0), {"mass": [1.0, 2.0]}, {"z": gd.History("energy.total", 5)}, 1.0),
    "partial": lambda: make_plan(functools.partial(thrown, spin=3.0), {"mass": [1]}, {"m": gd.Maximum("t")}, 1.0),
    "force": lambda: make_plan(
        gd.System([BODY], forces=[gd.Force("ball", push)]), {"ball.mass": [1.0]}, HEIGHT, 1.0, lanes=1
    ),
}


def push(t: float) -> tuple[float, float, float]:
    return (np.sin(t), 0.0, 0.0)


@pytest.mark.parametrize("make", PLANS.values(), ids=list(PLANS))
def test_plans_travel(make):
    plan = make()
    again = pickle.loads(pickle.dumps(plan))
    assert isinstance(again, Plan)
    assert again == plan
    assert hash(again) == hash(make())
    assert again.shapes == plan.shapes
    assert run_block(again, 0, 1).same(run_block(plan, 0, 1))
    # Computed anew it is the same too, and plain JSON.
    assert json.loads(json.dumps(again.describe(), allow_nan=False)) == json.loads(json.dumps(plan.describe()))
    assert len(plan.identity) == 64


def test_everything_that_changes_results_changes_the_identity():
    vary, options = {"ball.mass": gd.Uniform(1, 2)}, {"samples": 8}
    base = make_plan(BALL, vary, HEIGHT, 1.0, **options)
    others = [
        make_plan(BALL.with_({"ball.mass": 1.1}), vary, HEIGHT, 1.0, **options),
        make_plan(BALL, {"ball.mass": gd.Uniform(1, 2.1)}, HEIGHT, 1.0, **options),
        make_plan(BALL, {"ball.mass": stats.uniform(1, 1)}, HEIGHT, 1.0, **options),
        make_plan(BALL, {"ball.mass": [1.0, 2.0]}, HEIGHT, 1.0),
        make_plan(BALL, vary, {"z": "ball.position[1]"}, 1.0, **options),
        make_plan(BALL, vary, {"y": "ball.position[2]"}, 1.0, **options),
        make_plan(BALL, vary, {"z": gd.Maximum("ball.position[2]")}, 1.0, **options),
        make_plan(BALL, vary, {"z": gd.Crossing("ball.position[2]", 0.5)}, 1.0, **options),
        make_plan(BALL, vary, {"z": height}, 1.0, **options),
        make_plan(BALL, vary, HEIGHT, 1.1, **options),
        make_plan(BALL, vary, HEIGHT, 1.0, samples=9),
        make_plan(BALL, vary, HEIGHT, 1.0, seed=1, **options),
        make_plan(BALL, vary, HEIGHT, 1.0, sampler="halton", **options),
        make_plan(BALL, vary, HEIGHT, 1.0, rtol=1e-3, **options),
        replace(base, lanes=4),
        make_plan(Thrower(1.0), {"mass": [1.0]}, HEIGHT, 1.0),
        make_plan(Thrower(2.0), {"mass": [1.0]}, HEIGHT, 1.0),
        make_plan(functools.partial(thrown, spin=2.0), {"mass": [1.0]}, HEIGHT, 1.0),
    ]
    assert len({base.identity, *(plan.identity for plan in others)}) == len(others) + 1
    assert base != 3


def test_functions_are_known_by_what_they_do():
    def scaled(factor: float):
        return lambda m: factor * m.t[-1]

    a, b = scaled(2.0), scaled(3.0)
    assert function_data(a) != function_data(b)
    assert function_data(a) == function_data(scaled(2.0))
    # A lambda is known by itself, not by the line that it stands in.
    first, second = (lambda m: m.t[0]), (lambda m: m.t[1])  # fmt: skip
    assert source(first) == "lambda m: m.t[0]"
    assert source(second) == "lambda m: m.t[1]"
    assert "def height" in source(height)
    made = eval("lambda m: m.t[2]")
    assert source(made).startswith("sha256:")
    assert source(made) != source(eval("lambda m: m.t[3]"))


def test_identities_hold_in_other_processes():
    code = "import test_study_plan as t; print(*[make().identity for make in t.PLANS.values()])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="tests")
    assert found.stdout.split() == [make().identity for make in PLANS.values()]


# --- bad input -------------------------------------------------------------------------------------------------------


def test_everything_wrong_is_told_at_once():
    told = sentences(
        BALL, {"bal.mass": [1, 2], "ball.mas": [1], "ball.mass": []}, {"a": "bal.position", "b": "ball.position[7]"},
        samples=4, sampler="sobl", design="gird", lanes=0, rtl=3, output=[1],
    )  # fmt: skip
    for part in (
        "12 problems", "t_end, the time to simulate, is missing", "rtl = 3 is unknown", "Did you mean 'rtol'?",
        "output = [1] cannot be given: what a study keeps follows from its outputs.", "lanes = 0 must be 1 or 4",
        "vary['ball.mass'] is empty", "Did you mean 'grid'?", "Did you mean 'sobol'?", "samples = 4 needs a distri",
        "path = 'bal.mass': 'bal' is unknown", "Did you mean 'ball'?", "'mas' is unknown", "Did you mean 'mass'?",
        "outputs['a']: 'bal.position': 'bal' is unknown", "without them it has the shape (3,) at each time.",
    ):  # fmt: skip
        assert part in told


@pytest.mark.parametrize(
    ("model", "vary", "outputs", "options", "sentence"),
    [
        (3, {"a": [1]}, HEIGHT, {}, "model = 3 must be a System, the path of a model file, a Route, or a function"),
        (BALL, None, HEIGHT, {}, "vary must be a dictionary from names to values"),
        (BALL, {"ball.mass": [1]}, {}, {}, "outputs must be a dictionary from names to quantities"),
        (BALL, {"ball.mass": [1]}, {"": "t"}, {}, "outputs: '' must be the name of an output, text."),
        (BALL, {"ball.mass": [1]}, {"a": 3}, {}, "outputs['a']: 3 must be a quantity such as"),
        (BALL, {"ball.mass": [1], "ball": [2]}, HEIGHT, {}, "vary: path = 'ball' is changed twice, or a part of it is"),
        (BALL, {"ball.position": [1, 2]}, HEIGHT, {}, "vary['ball.position'] must hold arrays of shape (3,), as"),
        (BALL, {"ball.mass": np.ones((2, 3))}, HEIGHT, {}, "vary['ball.mass'] must hold numbers, as 1.0 is one"),
        (BALL, {"ball.position": gd.Normal(0, 1)}, HEIGHT, {"samples": 4}, "must hold arrays of shape (3,)"),
        (BALL, {"ball.name": [1]}, HEIGHT, {}, "vary['ball.name']: 'ball' is not a number"),
        (BALL, {"ball": [1]}, HEIGHT, {}, "is not a number; vary numbers in it"),
        (BALL, {"ball.mass": [1]}, {"q": lambda m: m.foo}, {}, "outputs['q']: AttributeError: "),
        (BALL, {"ball.mass": [1]}, {"q": gd.Crossing("ball.position")}, {}, "outputs['q']: Crossing takes a single"),
        (BALL, {"ball.mass": [1]}, {"q": gd.Crossing(lambda m: m["ball"].position)}, {}, "outputs['q']: "),
        (BALL, {"ball.mass": [1]}, {"q": "ball.position[1:1]"}, {}, "selects nothing; its shape is (0,)."),
        (BALL, {"ball.mass": [1]}, HEIGHT, {"events": 3}, "events = 3 must be a list of Event."),
        (BALL, {"ball.mass": [1]}, HEIGHT, {"method": "rodaz"}, "method = 'rodaz' is unknown"),
        (BALL, {"ball.mass": [1]}, HEIGHT, {"rtol": -1}, "rtol must be a positive"),
        (BALL, {"ball.mass": [1]}, HEIGHT, {"formulation": "eulr"}, "Did you mean 'euler'?"),
        (
            BALL,
            {"ball.mass": [1]},
            HEIGHT,
            {"method": "variational", "step": 0.3},
            "t_end = 1 is not a multiple of step",
        ),
        (BALL, {"ball.mass": [1]}, HEIGHT, {"dense": True}, "dense = True cannot be given"),
        (thrown, {"masss": [1]}, HEIGHT, {}, "has the arguments 'mass', 'spin', 'speed'. Did you mean 'mass'?"),
        (thrown, {"spin": [1]}, HEIGHT, {}, "the model, thrown(), needs 'mass'; vary it, or give it a default."),
        (
            thrown,
            {"mass": [-1, -2]},
            HEIGHT,
            {},
            "none of the first runs can be made; the first says: Body 'ball': mass",
        ),
        (lambda mass: 3, {"mass": [1]}, HEIGHT, {}, "returned 3; it must return a System, or a Rest."),
        (lambda: BALL, {"mass": [1]}, HEIGHT, {}, "has no arguments."),
        (gd.System(), {"gravity": [[0, 0, 1]]}, {"t": "t"}, {}, "there is nothing to simulate"),
    ],
)
def test_plans_that_cannot_be(model, vary, outputs, options, sentence):
    assert sentence in sentences(model, vary, outputs, 1.0, **options)


def test_a_model_that_raises_is_quoted():
    def broken(mass: float) -> gd.System:
        raise KeyError(mass)

    assert "the first says: KeyError: 1.0" in sentences(broken, {"mass": [1.0]}, HEIGHT, 1.0)


@given(
    path=st.text(max_size=12) | st.sampled_from(["ball", "ball.mass", "ball.position[9]", "bodies[0].mass", "gravity"]),
    text=st.text(max_size=12) | st.sampled_from(["t", "ball.Omega", "ball.Omega[5]", "abs t", "energy.work"]),
    t_end=st.none() | st.floats() | st.text(max_size=2),
)
@settings(max_examples=100, deadline=None)
def test_whatever_is_given_is_a_plan_or_sentences(path, text, t_end):
    try:
        plan = make_plan(BALL, {path: [1.0]}, {"x": text}, t_end)
    except gd.ModelError as error:
        found = error.problems
    else:
        found = ()
        assert plan.size == 1
        assert re.fullmatch("[0-9a-f]{64}", plan.identity)
    assert all(problem.endswith((".", "?")) for problem in found)
