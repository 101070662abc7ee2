"""Plan files: what they say is what `gyrod.study` gets; problems come all at once, with their places."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_model_files import valid

import gyrod as gd
from gyrod.cli import models
from gyrod.files import reading
from gyrod.studies.plan import make_plan
from gyrod.studies.plan_files import KEYS, load_plan, loads_plan
from gyrod.studies.plan_schema import plan_schema

MODEL = """\
  bodies: [{name: bob, mass: 2, inertia: [1, 2, 3], velocity: [1, 0, 0]}]
  gravity: [0, 0, -10]
"""
PLAN = f"""\
model:
{MODEL}until: 500 ms
vary: {{bob.mass: [1 kg, 2000 g]}}
outputs: {{end: bob.position}}
"""


def plan(text: str, **overrides):
    return loads_plan(text, source="plan.yaml", **overrides)


def problems(text: str) -> list[str]:
    with pytest.raises(gd.ModelFileError) as error:
        plan(text)
    return list(error.value.problems)


@pytest.fixture
def hose(tmp_path) -> Path:
    (tmp_path / "hose.yaml").write_text(models.starters()["hose"], encoding="utf-8")
    return tmp_path


def test_a_plan_is_what_the_call_says(hose):
    text = """
        model: hose.yaml
        until: 0.2
        run: {method: rodas, rtol: 1e-3}
        vary:
          hose.material.young: {uniform: [4 MPa, 6 MPa]}
          hose.damping.factor: {loguniform: {low: 2 ms, high: 20 ms}}
          bob.mass: {normal: {mean: 200 g, std: 0.01}}
          hose.material.density: {lognormal: [1100, 1.1]}
          hose.length: {from: 90 cm, to: 1.1, steps: 3}
          bob.velocity: [[0, 0, 0], [1, 0, 0]]
          bob.velocity[1]: {values: [0]}
        samples: 4
        sampler: latin hypercube
        seed: 7
        outputs:
          end: bob.position
          top: {maximum: "bob.position[2]"}
          low: {minimum: "bob.position[2]"}
          mean: {average: energy.kinetic}
          last: {final: norm bob.velocity}
          pass: {crossing: {of: "bob.position[1]", value: 50 cm, direction: -1, which: -1}}
          curve: {history: {of: "bob.position[1]", times: 4}}
          rows: {history: {of: "bob.position[1]", times: [0, 100 ms, 0.2]}}
        """.replace("          bob.velocity[1]: {values: [0]}\n", "")
    (hose / "plan.yaml").write_text(text, encoding="utf-8")
    found = load_plan(hose / "plan.yaml")
    assert found.size == 4 * 3 * 2
    assert found.path == hose / "plan.yaml"
    by_hand = make_plan(
        hose / "hose.yaml",
        {
            "hose.material.young": gd.Uniform(4e6, 6e6),
            "hose.damping.factor": gd.LogUniform(2e-3, 2e-2),
            "bob.mass": gd.Normal(0.2, 0.01),
            "hose.material.density": gd.LogNormal(1100, 1.1),
            "hose.length": np.linspace(0.9, 1.1, 3),
            "bob.velocity": [[0, 0, 0], [1, 0, 0]],
        },
        {
            "end": "bob.position",
            "top": gd.Maximum("bob.position[2]"),
            "low": gd.Minimum("bob.position[2]"),
            "mean": gd.Average("energy.kinetic"),
            "last": gd.Final("norm bob.velocity"),
            "pass": gd.Crossing("bob.position[1]", 0.5, -1, -1),
            "curve": gd.History("bob.position[1]", 4),
            "rows": gd.History("bob.position[1]", [0, 0.1, 0.2]),
        },
        0.2,
        samples=4,
        sampler="latin hypercube",
        seed=7,
        method="rodas",
        rtol=1e-3,
    )
    assert make_plan(**found.arguments).identity == by_hand.identity


def test_inline_models_and_what_follows_from_them():
    found = plan(PLAN)
    assert found.arguments["vary"] == {"bob.mass": [1, 2.0]}
    assert found.arguments["t_end"] == 0.5
    assert found.size == 2
    study = gd.study(**found.arguments)
    np.testing.assert_allclose(study["end"], [[0.5, 0, -1.25]] * 2, rtol=1e-9)
    # The time of the model serves where the plan has none.
    inside = PLAN.replace("until: 500 ms\n", "").replace("  gravity:", "  run: {until: 2, rtol: 1e-9}\n  gravity:")
    assert plan(inside).arguments["t_end"] == 2.0
    assert plan(inside).arguments["rtol"] == 1e-9


def test_ranges_even_and_logarithmic():
    text = PLAN.replace("[1 kg, 2000 g]", "{from: 1 g, to: 1 kg, steps: 4, spacing: log}")
    np.testing.assert_allclose(plan(text).arguments["vary"]["bob.mass"], [1e-3, 1e-2, 0.1, 1.0])


def test_json_is_read_too(tmp_path):
    data = {"model": {"bodies": [{"name": "a", "mass": 1, "inertia": [1, 1, 1]}]}, "until": 1, "vary": {"a.mass": [1]}}
    (tmp_path / "plan.json").write_text(json.dumps({**data, "outputs": {"x": "a.position"}}), encoding="utf-8")
    assert load_plan(tmp_path / "plan.json").size == 1


def test_overrides_go_before(hose):
    text = "model: hose.yaml\nvary: {bob.mass: {uniform: [1, 2]}}\nsamples: 8\noutputs: {x: bob.position}\n"
    text += "folder: results\n"
    (hose / "plan.yaml").write_text(text, encoding="utf-8")
    assert load_plan(hose / "plan.yaml").size == 8
    assert load_plan(hose / "plan.yaml", samples=3, engine=None).size == 3
    assert load_plan(hose / "plan.yaml").folder == hose / "results"


def test_the_starter_is_sound(hose):
    (hose / "study.yaml").write_text(models.starter_plans()["study"], encoding="utf-8")
    assert load_plan(hose / "study.yaml").size == 128


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("until", "untill"), r"4:1: untill: the key 'untill' is unknown.*Did you mean 'until'"),
        (("bob.mass", "bob.mas"), r"5:17: vary\.bob\.mas: 'mas' is unknown.*Did you mean 'mass'"),
        (("1 kg", "1 m"), r"5:19: vary\.bob\.mass\[0\]: '1 m' has the wrong unit: kg is expected"),
        (("[1 kg, 2000 g]", "3"), r"5:18: vary\.bob\.mass: must be a list of values, \{uniform"),
        (("[1 kg, 2000 g]", "[]"), r"5:18: vary\.bob\.mass: is empty"),
        (("[1 kg, 2000 g]", "{normel: [1, 2]}"), r"5:19: vary\.bob\.mass\.normel: the key .*Did you mean 'normal'"),
        (("[1 kg, 2000 g]", "{uniform: [2, 1]}"), r"5:18: vary\.bob\.mass: Uniform: low = 2 must be below high = 1"),
        (("[1 kg, 2000 g]", "{uniform: 2}"), r"5:28: vary\.bob\.mass\.uniform: must be \[low, high\], got 2"),
        (("[1 kg, 2000 g]", "{normal: {mean: 1}}"), r"vary\.bob\.mass\.normal: std is missing"),
        (("[1 kg, 2000 g]", "{from: 1, to: 2}"), r"vary\.bob\.mass: steps is missing"),
        (("[1 kg, 2000 g]", "{from: 1, to: 2, steps: 1}"), r"vary\.bob\.mass\.steps: must be from 2"),
        (("[1 kg, 2000 g]", "{from: 0, to: 2, steps: 3, spacing: log}"), r"log needs two positive ends"),
        (("[1 kg, 2000 g]", "{uniform: [1, 2]}"), r"samples says how often to draw from them; give samples: 256"),
        (("[1 kg, 2000 g]", "[[1, 2], [1, 2]]"), r"5:18: vary\.bob\.mass: must hold numbers"),
        (("bob.position", "bob.positon"), r"6:16: outputs\.end: .*'positon' is unknown.*Did you mean 'position'"),
        (("bob.position", "{maximun: x}"), r"6:17: outputs\.end\.maximun: the key .*Did you mean 'maximum'"),
        (("bob.position", "{maximum: 3}"), r"6:26: outputs\.end\.maximum: must be a quantity"),
        (("bob.position", "{crossing: {of: bob.position}}"), r"outputs\.end: Crossing takes a single number"),
        (("bob.position", "{crossing: {of: t, direction: 7}}"), r"outputs\.end\.crossing: direction = 7"),
        (("bob.position", "{history: bob.position}"), r"6:26: outputs\.end\.history: times is missing"),
        (("bob.position", "{history: {of: bob.position, times: [0, 9]}}"), r"end: times must lie in \[0, 0.5\]"),
        (("500 ms", "-1"), r"4:8: until: "),
        (("500 ms", "1 kg"), r"4:8: until: '1 kg' has the wrong unit: s is expected"),
        (("until: 500 ms", "run: {rtol: -1}\nuntil: 1"), r"4:13: run\.rtol: must be a positive finite number"),
        (("until: 500 ms", "run: {output: 1}\nuntil: 1"), r"4:7: run\.output: cannot be given: what a study keeps"),
        (("until: 500 ms", "run: {until: 1}"), r"run\.until: stands above"),
        (("until: 500 ms", "until: 1\nsampler: sobl"), r"5:10: sampler: 'sobl' is unknown.*Did you mean 'sobol'"),
        (("until: 500 ms", "until: 1\nworkers: 0"), r"5:10: workers: must be at least 1"),
        (("until: 500 ms", "until: 1\ndesign: 3"), r"5:9: design: 3 is unknown"),
        (("until: 500 ms\n", ""), r"the time to simulate, is missing"),
        (("mass: 2,", "mas: 2,"), r"2:24: model\.bodies\[0\]\.mas: the key 'mas' is unknown"),
        (("until:", "engine: dusk\nuntil:"), r"4:9: engine: 'dusk' is unknown.*Did you mean 'dask'"),
        (("until:", 'folder: ""\nuntil:'), r"4:9: folder: is empty; write the name of a folder"),
        (("bob.position", '{crossing: {of: "bob.position[2]", value: 900 kg}}'),
         r"6:\d+: outputs\.end\.crossing\.value: '900 kg' has the wrong unit: m is expected"),
        (("bob.position", '{crossing: {of: "angular_momentum[0]", value: 1 m}}'), r"'1 m' has the wrong unit: kg"),
        (("end:", "seconds:"), r"6:11: outputs\.seconds: every study has a column of that name"),
        (("end: bob.position", 'end: bob.position, end_0: t'), r"'end_0' is the axis of 'end'"),
        (("until:", "gyrod: 2\nuntil:"), r"4:8: gyrod: 2 is not a known version"),
    ],
)  # fmt: skip
def test_problems_have_their_place(change, problem):
    found = problems(PLAN.replace(*change))
    assert any(re.match(r"plan\.yaml:\d+:\d+: ", x) and re.search(problem, x) for x in found), found


def test_all_problems_at_once():
    text = (
        PLAN.replace("1 kg", "1 m").replace("bob.position", "bob.positon").replace("until", "untill") + "samples: 1.5\n"
    )
    found = problems(text)
    assert len(found) == 4
    assert [int(x.split(":")[1]) for x in found] == [4, 5, 6, 7]


def test_problems_do_not_hide_each_other():
    text = PLAN.replace(
        "{bob.mass: [1 kg, 2000 g]}", "{bob.mas: [1], bob.velocity: [[1, 2]], bob.inertai: {uniform: [2, 1]}}"
    )
    text = text.replace("end: bob.position", "seconds: bob.positon") + "samples: 0\n"
    found = "\n".join(problems(text))
    for part in (
        "'mas' is unknown", "arrays of shape (2,)", "low = 2 must be below high = 1", "'inertai' is unknown",
        "outputs.seconds: every study", "'positon' is unknown", "samples: must be at least 1",
    ):  # fmt: skip
        assert part in found, (part, found)
    assert len(problems(text)) == 7


@pytest.mark.parametrize("engine", ["local", "serial", "dask", "tcp://10.0.0.1:8786", "10.0.0.1:8786"])
def test_engines_of_plans(engine):
    assert plan(PLAN + f"engine: {engine}\n").arguments["engine"] == engine


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is empty; a plan says model, vary and outputs"),
        ("- 1", "a plan is made of fields"),
        ("vary: [", "did not find expected node content|while parsing"),
        ("vary: {a: [1]}\noutputs: {b: c}", "model is missing"),
        ("model: nowhere.yaml\nvary: {a.b: [1]}\noutputs: {b: c}", r"1:8: model: 'nowhere.yaml' does not exist"),
        ("model: 3\nvary: 3\noutputs: []", "model: must be the path of a model file"),
        ("bodies: []", "it is a model and no plan"),
        ("model: {}\nmodel: {}\n", "the key 'model' stands here and in line 1"),
    ],
)
def test_what_is_no_plan(text, problem):
    assert re.search(problem, "\n".join(problems(text)))


def test_problems_of_the_model_file_keep_their_own_places(tmp_path):
    (tmp_path / "bad.yaml").write_text("gyrod: 1\nbodies: [{name: a, mas: 1}]\n", encoding="utf-8")
    (tmp_path / "plan.yaml").write_text(
        "model: bad.yaml\nvary: {a.mass: [1]}\noutputs: {x: a.position}", encoding="utf-8"
    )
    with pytest.raises(gd.ModelFileError, match=r"plan.yaml:1:8: model: .*bad.yaml:2:20: bodies\[0\].mas"):
        load_plan(tmp_path / "plan.yaml")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        load_plan(tmp_path / "none.yaml")
    with pytest.raises(ValueError, match=r"must end in .yaml, .yml or .json"):
        load_plan(tmp_path / "plan.txt")


def test_schema_accepts_what_is_read_and_refuses_what_is_not():
    schema = plan_schema()
    assert json.loads(json.dumps(schema)) == schema
    assert set(schema["properties"]) == set(KEYS)
    for text in (PLAN, models.starter_plans()["study"]):
        assert valid(schema, reading.plain(reading.compose(text)[0]), schema)
    for old, new in (
        ("until", "untill"), ("[1 kg, 2000 g]", "{normel: [1, 2]}"), ("[1 kg, 2000 g]", "{from: 1, to: 2}"),
        ("bob.position", "{maximun: x}"), ("[1 kg, 2000 g]", "3"), ("bob.position", "{history: {of: x}}"),
        ("mass: 2", "mas: 2"),
    ):  # fmt: skip
        assert not valid(schema, reading.plain(reading.compose(PLAN.replace(old, new, 1))[0]), schema), new


_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(), st.sampled_from(["1 kg", "a", "", "t"]))
_ANYTHING = st.recursive(
    _SCALARS,
    lambda x: (
        st.lists(x, max_size=3)
        | st.dictionaries(
            st.sampled_from([*KEYS, "uniform", "from", "to", "steps", "history", "of", "bob.mass"]), x, max_size=4
        )
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), _ANYTHING, max_size=6))
def test_anything_is_read_or_refused_with_places(data):
    base = {"model": {"bodies": [{"name": "bob", "mass": 1, "inertia": [1, 1, 1]}]}, "until": 1}
    base |= {"vary": {"bob.mass": [1]}, "outputs": {"x": "bob.position"}}
    found: tuple[str, ...] = ()
    try:
        loads_plan(json.dumps(base | data), source="p")
    except gd.ModelFileError as error:
        found = error.problems
    assert all(re.match(r"p:\d+:\d+: ", x) for x in found), found
