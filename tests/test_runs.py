"""Options of a run, formulations and methods: declared once, and everywhere from there."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
import re
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from typer.main import get_command

import gyrod as gd
from gyrod import files
from gyrod.cli import app
from gyrod.runs.declared import checked
from gyrod.runs.formulations import OLD, PARTS
from gyrod.runs.methods import ALL_METHODS, NAMES, automatic, table
from gyrod.runs.options import APART, IN_FILES, OPTIONS, STEPPING, Options, flat, folded, read
from gyrod.studies.plan import make_plan

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "gyrod"
TOP = gd.System([gd.Body("top", mass=1.0, inertia=(1.0, 2.0, 3.0), angular_velocity=(0.1, 1.0, 0.1))])
ARM = gd.System(
    [gd.Body("arm", mass=1.0, inertia=(1e-2,) * 3, position=(0.5, 0, 0))],
    [gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0))],
)
HINGED = gd.System(ARM.bodies, [gd.Spherical("ground", "arm", at=(0, 0, 0))])

#: A value other than the default of every part of a formulation, and a formulation that has it.
VARIANTS = {
    "index": ("absolute-quaternion", 2, ARM),
    "stabilised": ("absolute-quaternion", True, ARM),
    "baumgarte": ("absolute-quaternion", (20.0, 10.0), TOP),
    "velocity": ("nullspace-quaternion", "spatial", TOP),
    "equation": ("absolute-quaternion", "printed", TOP),
    "fictive_moment": ("absolute-quaternion", "half-trace", TOP),
    "director_projection": ("absolute-directors", "polar", TOP),
    "null_space": ("absolute-quaternion", "qr", ARM),
    "reduce": ("nullspace-quaternion", False, HINGED),
}


# --- one declaration --------------------------------------------------------------------------------------------------


@cache
def _written():
    """What files and the command line take."""
    schema = files.json_schema()["$defs"]["RunOptions"]["properties"]
    return schema, {flag for part in get_command(app).commands["run"].params for flag in part.opts}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_declared_option_reaches_everything(name):
    """CONTRIBUTING, "A run option": one line in runs/options.py, and the code that uses it."""
    option = OPTIONS[name]
    parameter = inspect.signature(gd.simulate).parameters[name]
    assert parameter.default == option.default
    assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
    assert f"\n    {name}\n        {option.help.split()[0]}" in gd.simulate.__doc__
    assert (name in STEPPING) == (name in inspect.signature(gd.stepper).parameters)
    schema, flags = _written()
    manual = (ROOT / "docs" / "model-files.md").read_text(encoding="utf-8")
    assert (name in schema) == (name in inspect.signature(files.RunOptions).parameters) == option.in_files
    if option.in_files:
        assert schema[name]["description"].startswith(IN_FILES[name].help.replace("`", "").split(". ")[0].rstrip("."))
        assert f"`{name}`" in manual.split("### The run")[1]
        assert f"--{name.replace('_', '-')}" in flags
    assert (name in APART) == bool(_refused_by_study(name))


def _refused_by_study(name):
    with pytest.raises(gd.ModelError) as caught:
        make_plan(TOP, {}, {}, 1.0, **{name: None})
    return [sentence for sentence in caught.value.problems if sentence.startswith(f"{name} = None cannot be given")]


def test_options_that_were_not_given_are_not_there():
    assert read("simulate", {"rtol": 1e-4, "step": None}, Options) == {"rtol": 1e-4}
    assert IN_FILES.keys() - OPTIONS.keys() == {"until"}
    assert checked({}, OPTIONS) == {}


def test_what_belongs_to_a_method_is_declared():
    with pytest.raises(ValueError, match="potential = 'nodes' belongs to method = 'variational', not to 'dopri5'"):
        gd.simulate(TOP, 1.0, method="dopri5", potential="nodes")
    with pytest.raises(ValueError, match=r"max_step = 0\.1 cannot be given with method = 'variational'"):
        gd.simulate(TOP, 1.0, method="variational", step=0.1, max_step=0.1)
    usual = {"formulation": "nullspace-quaternion", "projection": "step"}
    assert gd.simulate(TOP, 1.0, method="variational", step=0.1, **usual).status == "finished"
    whole = gd.simulate(HINGED, 0.1, method="variational", step=0.01, formulation=gd.Formulation(reduce=False))
    reduced = gd.simulate(HINGED, 0.1, method="variational", step=0.01)
    assert whole.compiled.size > reduced.compiled.size


# --- formulations -----------------------------------------------------------------------------------------------------


def test_every_part_has_a_variant_here():
    assert set(VARIANTS) == set(OLD) == PARTS.keys() - {"name", "projection"}


@pytest.mark.parametrize("part", VARIANTS)
def test_a_formulation_is_a_value(part):
    name, value, _ = VARIANTS[part]
    form = gd.Formulation(name, **{part: value})
    assert eval(repr(form), {"Formulation": gd.Formulation}) == form != gd.Formulation(name)
    assert form == pickle.loads(pickle.dumps(form)) == copy.deepcopy(form) == gd.Formulation.of(form)
    assert hash(form) == hash(copy.copy(form))
    assert gd.Formulation.of({"name": name, part: value}) == form
    assert folded(flat({"formulation": form})) == {"formulation": {"name": name, part: value}}
    with pytest.raises(AttributeError):
        form.index = 1


@pytest.mark.parametrize("part", VARIANTS)
def test_old_spellings_work_with_a_warning_that_gives_the_new_one(part):
    name, value, system = VARIANTS[part]
    form = gd.Formulation(name, **{part: value})
    new = gd.simulate(system, 0.1, formulation=form)
    assert new.compiled.options != gd.simulate(system, 0.1, formulation=name).compiled.options
    with pytest.warns(DeprecationWarning, match=rf"^{part} of simulate will be removed; write formulation=") as caught:
        old = gd.simulate(system, 0.1, formulation=name, **{part: value})
    np.testing.assert_array_equal(old.y, new.y)
    assert caught[0].filename == __file__
    spelled = re.search(r"gd\.Formulation\(.*\)", str(caught[0].message))[0]
    assert eval(spelled, {"gd": gd}) == form
    with pytest.warns(DeprecationWarning, match=f"{part} of RunOptions"):
        assert files.RunOptions(formulation=name, **{part: value}).formulation == form
    if part not in ("index", "stabilised"):
        with pytest.warns(DeprecationWarning, match=f"{part} of ode"):
            again = gd.ode(system, name, **{part: value})
        np.testing.assert_array_equal(again.fun(0.0, again.y0), gd.ode(system, form).fun(0.0, again.y0))


def test_old_model_files_open():
    text = (
        "gyrod: 1\nbodies: [{name: a, mass: 1, inertia: [1, 1, 1]}]\nrun: {until: 1, formulation: absolute-quaternion, "
    )
    with pytest.warns(
        DeprecationWarning, match=r"write formulation: \{name: absolute-quaternion, baumgarte: \[5, 5\]\}"
    ):
        run = files.loads(text + "baumgarte: [5, 5]}").run
    form = gd.Formulation("absolute-quaternion", baumgarte=(5, 5))
    assert run.formulation == form
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            files.loads(
                text.replace("absolute-quaternion", "{name: absolute-quaternion, baumgarte: [5, 5 1/s]}") + "}"
            ).run
            == run
        )
    assert files.RunOptions(formulation=gd.Formulation("euler")).formulation == "euler"
    with pytest.raises(gd.ModelFileError, match=r"run\.formulation\.indx: the key 'indx' is unknown; .* 'index'\?"):
        files.loads(text.replace("absolute-quaternion", "{name: absolute-quaternion, indx: 1}") + "}")


def test_a_formulation_works_wherever_its_name_does(tmp_path):
    form = gd.Formulation("absolute-quaternion", baumgarte=(20.0, 10.0), projection="none")
    motion = gd.simulate(TOP, 0.5, formulation=form, save=tmp_path / "a.h5")
    assert motion.compiled.options["baumgarte_omega"] == 20.0
    assert motion.drift.position.max() > 1e-12
    again = gd.open(tmp_path / "a.h5")
    assert again.compiled.options == motion.compiled.options
    np.testing.assert_array_equal(again["top"].Omega, motion["top"].Omega)
    sim = gd.stepper(TOP, formulation=form, rtol=1e-9).step(0.5)
    np.testing.assert_allclose(sim["top"].Omega, motion["top"].Omega[-1], atol=1e-5)
    found = gd.compare(TOP, 0.5, formulations=[form, "nullspace-directors"], methods="dop853", rtols=1e-8, points=3)
    assert [trial.formulation for trial in found.trials] == ["nullspace-directors", form.label]
    assert all(trial.error < 1e-5 for trial in found.trials)
    study = gd.study(TOP, {"bodies[0].mass": [1.0, 2.0]}, {"x": gd.Final("top.Omega")}, 0.5, formulation=form)
    np.testing.assert_allclose(study.dataset["x"][0], motion["top"].Omega[-1], atol=1e-5)
    assert study.description["run"] == {
        "formulation": "absolute-quaternion", "baumgarte": [20.0, 10.0], "projection": "none"
    }  # fmt: skip


def test_dae_forms_in_a_stepper():
    form = gd.Formulation("absolute-quaternion", index=2)
    exact = gd.simulate(ARM, 0.1, rtol=1e-9)["arm"].position[-1]
    np.testing.assert_allclose(gd.stepper(ARM, formulation=form, rtol=1e-7).step(0.1)["arm"].position, exact, atol=1e-6)
    with pytest.raises(ValueError, match=r"index = 2 .* method = 'dopri5' does not take; use 'radau5', or index = 0"):
        gd.stepper(ARM, formulation=form, method="dopri5")
    with pytest.raises(ValueError, match="ode needs index = 0"):
        gd.ode(ARM, form)


def test_bad_formulations():
    with pytest.raises(gd.ModelError) as caught:
        gd.Formulation("eulr", index=7, velocity="x", reduce=3)
    assert [sentence.split()[0] for sentence in caught.value.problems] == ["formulation", "index", "velocity", "reduce"]
    with pytest.raises(ValueError, match=r"baumgarte = 3 must be two numbers"):
        gd.Formulation("absolute-quaternion", baumgarte=3)
    with pytest.raises(ValueError, match="null_space = 'qr' eliminates the multipliers"):
        gd.Formulation("absolute-quaternion", null_space="qr", index=1)
    with pytest.raises(ValueError, match="projection = 'step' contradicts"):
        gd.simulate(TOP, 1.0, formulation=gd.Formulation(projection="none"), projection="step")
    with pytest.raises(ValueError, match=r"formulation: 'indx' is unknown\. Did you mean 'index'"):
        gd.simulate(TOP, 1.0, formulation={"name": "euler", "indx": 1})


def test_the_command_line_takes_a_formulation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ARM.save("arm.yaml")
    form = "{name: absolute-quaternion, index: 2}"
    line = ["run", "arm.yaml", "--until", "0.1", "--formulation", form, "--norm", "plain", "--max-step", "0.05"]
    done = CliRunner().invoke(get_command(app), line)
    assert done.exit_code == 0, done.output
    motion = gd.open("arm.h5")
    assert motion.compiled.options["level"] == 2
    assert np.diff(motion.steps).max() <= 0.05


# --- methods ----------------------------------------------------------------------------------------------------------


def test_the_manual_has_the_table_of_methods():
    """What fails here is mended by replacing the table of the manual with what `table` returns."""
    assert table() in (ROOT / "docs" / "choose-a-method.md").read_text(encoding="utf-8")


def test_names_of_methods_stand_in_one_table():
    """Papers name those that they compare; no other module lists several."""
    elsewhere = [path for path in SOURCE.rglob("*.py") if "reproduce" not in path.parts and path.name != "methods.py"]
    for path in (*elsewhere, SOURCE / "solve" / "methods.py"):
        text = path.read_text(encoding="utf-8")
        if sum(text.count(f'"{name}"') for name in ALL_METHODS) < 2:  # nothing to look for, and parsing takes long
            continue
        for node in ast.walk(ast.parse(text)):
            held = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
            names = [x.value for x in held if isinstance(x, ast.Constant) and x.value in ALL_METHODS]
            assert len(names) < 2, f"{path.relative_to(SOURCE)}:{node.lineno} lists {names}"


def test_automatic_methods_are_of_the_core():
    for stiff in (False, True):
        for tight in (False, True):
            method = ALL_METHODS[automatic(stiff=stiff, tight=tight)]
            assert (method.family, method.stiff) == ("core", stiff)


@pytest.mark.parametrize("name", [alike for method in ALL_METHODS.values() for alike in method.alike])
def test_names_of_other_codes_lead_to_a_method(name):
    (own,) = (n for n, method in ALL_METHODS.items() if name in method.alike)
    assert name not in NAMES
    with pytest.raises(ValueError, match=f"method = '{name}' is unknown; .* Did you mean '{own}'"):
        gd.simulate(TOP, 1.0, method=name)
