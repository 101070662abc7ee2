"""The command line, as a user types it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gyrod as gd
from gyrod import _core, bench, cli, problems, reproduce, storage
from gyrod.cli import frame, models


def gyrod(*arguments: str, cwd=None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gyrod.cli", *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """The command line inside this process, in an empty folder: a function that returns code, out and err."""
    monkeypatch.chdir(tmp_path)

    def typed(*arguments: str):
        with pytest.raises(SystemExit) as done:
            cli.main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return SimpleNamespace(code=done.value.code, out=out, err=err)

    return typed


@pytest.fixture(scope="module")
def top(tmp_path_factory):
    """A model file and its result."""
    folder = tmp_path_factory.mktemp("top")
    (folder / "top.yaml").write_text(models.starters()["top"], encoding="utf-8")
    gd.simulate(gd.load(folder / "top.yaml"), 0.5, rtol=1e-6, output=np.linspace(0, 0.5, 51), save=folder / "top.h5")
    return folder


# --- help, usage, errors ---------------------------------------------------------------------------------------------


def test_help_lists_every_command_by_purpose(here):
    done = here("--help")
    assert done.code == 0
    for purpose, commands in frame.PURPOSES.items():
        section = done.out.split(f"{purpose}:\n")[1].split("\n\n")[0]
        assert [line.split()[0] for line in section.splitlines()] == list(commands)
        assert "..." not in section  # one whole line each
    names = {command.name for command in [*frame.app.registered_commands, *frame.app.registered_groups]}
    assert names == {name for commands in frame.PURPOSES.values() for name in commands}
    assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize("command", [name for names in frame.PURPOSES.values() for name in names])
def test_every_command_has_help_and_json(here, command):
    done = here(command, "--help")
    assert done.code == 0
    assert "--json" in done.out


def test_list_and_version(here):
    done = here("reproduce", "--list")
    assert done.code == 0
    assert done.out.startswith("zupan-saje-2011  Zupan, Saje")
    assert here("--version").out == f"gyrod {gd.__version__}, core for {_core.isa()}\n"
    assert json.loads(here("info", "--json", "-").out)["core"] == _core.isa()
    assert f"core    {_core.isa()}\n" in here("info").out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["reproduce", "zupan-saje-2012"],
            "gyrod: paper = 'zupan-saje-2012' is unknown; it can be 'zupan-saje-2011',",
        ),
        (["reproduce"], "gyrod: paper is missing; it can be zupan-saje-2011,"),
        (["bench", "iftom"], "gyrod: suite = 'iftom' is unknown; it can be 'iftomm'"),
        (["new", "hoses"], "gyrod: name = 'hoses' is unknown; it can be 'hose'"),
        (["run", "gone.yaml"], "gyrod: gone.yaml does not exist; it should be a model file"),
        (["check", "."], "gyrod: . is a folder, not a model file"),
        (["view", "gone.h5"], "gyrod: gone.h5 does not exist; it should be a result file"),
        (["run", "notes.txt"], "gyrod: 'notes.txt' is not the name of a model file"),
        (["info", "notes.txt"], "gyrod: "),
        (["run", "top.h5"], "gyrod: top.h5 is a result, not a model"),
        (["info", "top.yaml"], "gyrod: top.yaml is a model, not a result; simulate it first with gyrod run top.yaml"),
        (["check", "list.yaml"], "gyrod: "),
        (["check", "broken.yaml"], "gyrod: broken.yaml:3:1: "),
        (["plot", "top.h5", "enrgy"], "gyrod: WHAT = 'enrgy' is unknown"),
        (["plot", "top.h5", "energy", "--out", "x.docx"], "gyrod: x.docx: a picture is written as .png or"),
        (["export", "top.h5", "--out", "x.xls"], "gyrod: x.xls: an export is written as .csv or .npz or .nc"),
        (["view", "top.h5", "--out", "page"], "gyrod: page: a page is written as .html"),
        (["run", "top.yaml", "--out", "no/such.h5"], "gyrod: no does not exist; make this folder first"),
        (["run", "top.yaml", "--out", "top.dat"], "gyrod: top.dat: a result is written as .h5"),
        (["run", "top.yaml", "--method", "rk4"], "gyrod: run: method = 'rk4' is unknown"),
        (["run", "top.yaml", "--until", "-1"], "gyrod: "),
        (["compare", "top.yaml", "--methods", "rk4"], "gyrod: methods = 'rk4' is unknown"),
        (["compare", "top.yaml", "--rtol", "small"], "gyrod: --rtol = 'small' must be numbers with commas"),
        (["compare", "top.yaml", "--sort", "price"], "gyrod: --sort = 'price' is unknown"),
    ],
)
def test_errors_are_one_paragraph(here, top, arguments, sentence, tmp_path):
    for name in ("top.yaml", "top.h5"):
        (tmp_path / name).symlink_to(top / name)
    (tmp_path / "notes.txt").write_text("milk\n")
    (tmp_path / "list.yaml").write_text("- milk\n")
    (tmp_path / "broken.yaml").write_text("gyrod: 1\nbodies: [{name: a, mass: }\n")
    done = here(*arguments)
    assert done.code == 1
    assert done.err.startswith(sentence)
    assert done.out == ""
    assert "Traceback" not in done.err
    assert "defect" not in done.err


def test_debug_anywhere_on_the_line_shows_the_traceback(here):
    for arguments in (["--debug", "new", "x"], ["new", "--debug", "x"]):
        with pytest.raises(ValueError, match="name = 'x' is unknown"):
            here(*arguments)
    done = gyrod("new", "x", "--debug")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")


def test_a_defect_is_called_one(here, monkeypatch):
    def broken():
        raise KeyError("x")

    monkeypatch.setattr(models, "starters", broken)
    done = here("new")
    assert done.code == 1
    assert done.err == "gyrod: KeyError: 'x'\nThis is a defect of gyrod; --debug shows where it is.\n"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["reproduce", "--nonsense"], "--nonsense"),
        (["rnu"], "Did you mean 'run'?"),
        (["run"], "MODEL"),
        (["export", "top.h5"], "--out"),
        (["modes", "x.yaml", "--count", "0"], "--count"),
        (["run", "x.yaml", "--rtol", "tight"], "--rtol"),
        ([], "Usage"),
    ],
)
def test_usage_errors_have_code_2(here, arguments, part):
    done = here(*arguments)
    assert done.code == 2
    assert part in done.err + done.out
    assert "Traceback" not in done.err


def test_no_permission(here, tmp_path):
    (tmp_path / "model.yaml").write_text(models.starters()["top"])
    (tmp_path / "model.yaml").chmod(0)
    if os.access(tmp_path / "model.yaml", os.R_OK):
        pytest.skip("root may read everything")
    assert "permission denied" in here("run", "model.yaml").err


def test_a_folder_that_cannot_be_written(here, top, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device", "top.h5")

    monkeypatch.setattr(gd, "simulate", full)
    done = here("run", top / "top.yaml")
    assert (done.code, done.err) == (1, "gyrod: top.h5: no space left on device.\n")


def test_nobody_listens_any_more():
    command = [sys.executable, "-m", "gyrod.cli", "new"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 141


WORDS = st.sampled_from(
    ["new", "check", "schema", "run", "rest", "route", "modes", "compare", "info", "plot", "view", "animate", "export",
     "hose", "gone.yaml", "gone.h5", ".", "", "--", "-", "--json", "--out", "-o", "--rtol", "1e-6", "-1", "nan",
     "--until", "--names", "--list", "--method", "--resume", "--no-save", "--quiet", "--port", "99999", "x.yaml", "ä/ö",
     "--count"]
)  # fmt: skip


@given(st.lists(WORDS | st.text(max_size=5), max_size=6))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nonsense_gets_a_sentence(here, arguments):
    done = here(*arguments)
    assert done.code in (0, 1, 2)
    assert "Traceback" not in done.err
    assert "defect" not in done.err


# --- models ----------------------------------------------------------------------------------------------------------

NAMES = sorted(models.starters())


def test_starters_are_listed(here):
    done = here("new", "--list")
    assert done.code == 0
    listed = [line.split()[0] for line in done.out.splitlines()]
    assert listed == ["hose", "cable", "contact", "four-bar", "pendulum", "top", "study"]


@pytest.mark.parametrize("name", NAMES)
def test_starters_are_sound_and_run(here, name, tmp_path):
    done = here("new", name)
    assert done.code == 0
    (tmp_path / f"{name}.yaml").write_text(done.out)
    checked = here("check", f"{name}.yaml", "--json", "check.json")
    assert checked.out.startswith(f"{name}.yaml: sound.")
    assert json.loads((tmp_path / "check.json").read_text())["ok"] is True
    short = {"hose": "0.2", "cable": "0.2"}.get(name)  # the whole of them in a slow test
    run = here("run", f"{name}.yaml", *(["--until", short] if short else []))
    assert run.code == 0, run.err
    assert f"wrote {name}.h5" in run.out
    motion = gd.open(tmp_path / f"{name}.h5")
    assert motion.status == "finished"
    assert motion.drift.position.max() < 1e-12
    comments = [line for line in done.out.splitlines() if line.lstrip().startswith("#") or " # " in line]
    assert len(comments) >= 5
    assert max(map(len, done.out.splitlines())) <= 120


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_starters_run_as_they_are(name, tmp_path):
    (tmp_path / "model.yaml").write_text(gyrod("new", name).stdout)
    done = gyrod("run", "model.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert gd.open(tmp_path / "model.h5").t[-1] == gd.files.load_model(tmp_path / "model.yaml").run.until


def test_the_hose_is_that_of_the_readme():
    """Whose numbers are held to trusted ones by test_error.py."""
    system = gd.files.loads(models.starters()["hose"]).system
    text, names = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8"), {}
    exec(text.partition("```python\n")[2].partition("rest = ")[0], names)
    assert names["system"] == system
    rest = gd.equilibrium(system)
    np.testing.assert_allclose(rest["bob"].position, (0.0, 0.042, -1.039), atol=5e-4)


def test_the_ball_of_the_starter_slides_until_it_rolls():
    """5/7 of its speed for every friction, after 2 v/(7 μ g); less by what half of the depth takes from its radius."""
    model = gd.files.loads(models.starters()["contact"])
    motion = gd.simulate(model.system, 1.0, rtol=1e-6, output=[0.3, 0.43, 0.45, 1.0])
    lever = 0.108 - 0.5 * 6.8 * 9.81 / 1e6
    speed = 3.0 / (1.0 + 0.4 * (0.108 / lever) ** 2)
    assert speed == pytest.approx(15.0 / 7.0, rel=2e-4)
    assert motion["ball"].velocity[-1, 0] == pytest.approx(speed, rel=1e-5)
    assert motion["ball"].omega[-1, 1] * lever == pytest.approx(speed, rel=1e-5)
    rolls = motion.sensors["slip"] < 1e-3
    assert rolls.tolist() == [False, False, True, True]
    np.testing.assert_allclose(motion.sensors["friction"][:2], 0.2 * 6.8 * 9.81, rtol=1e-3)


def test_check_tells_all_problems_with_their_places(here, tmp_path):
    text = models.starters()["hose"].replace("radius: 5 mm", "radius: -5 mm").replace("mass: 0.2", "mas: 0.2")
    (tmp_path / "hose.yaml").write_text(text)
    done = here("check", "hose.yaml", "--json", "problems.json")
    assert done.code == 1
    places = re.findall(r"hose\.yaml:(\d+):(\d+): ", done.err)
    lines = text.splitlines()
    assert len(places) >= 2
    assert any("radius" in lines[int(line) - 1] for line, _ in places)
    assert any("mas:" in lines[int(line) - 1] or "bob" in lines[int(line) - 1] for line, _ in places)
    data = json.loads((tmp_path / "problems.json").read_text())
    assert data["ok"] is False
    assert len(data["problems"]) == len(places)


def test_check_tells_what_is_there(here, tmp_path):
    (tmp_path / "model.yaml").write_text(models.starters()["four-bar"])
    data = json.loads(here("check", "model.yaml", "--json", "-").out)
    assert (data["bodies"], data["joints"], data["freedoms"], data["redundant"]) == (3, 4, 0, 3)
    assert data["method"] == "dop853"
    (tmp_path / "model.yaml").write_text(models.starters()["cable"])
    data = json.loads(here("check", "model.yaml", "--json", "-").out)
    assert (data["rods"], data["elements"], data["rod_length"], data["body_mass"]) == (1, 8, 5.0, 50.0)
    assert data["stiffness"] > 1e4
    assert data["method"] in ("radau5", "rodas")


@pytest.mark.parametrize(
    ("starter", "option", "sentence"),
    [
        ("hose", "method: rk4", "method = 'rk4' is unknown; it can be 'auto', "),
        ("hose", "method: radau", "Did you mean 'radau5'?"),
        ("hose", "method: scipy:rk4", "method = 'scipy:rk4' is unknown"),
        ("hose", "formulation: {index: 2}", "index = 2 works with the absolute formulations only"),
        ("top", "formulation: {baumgarte: [1, 1]}", "works with the absolute formulations only"),
        ("top", "sigma: mean", "belongs to method = 'variational'"),
    ],
)
def test_check_tries_the_options_of_the_run(here, tmp_path, starter, option, sentence):
    (tmp_path / "model.yaml").write_text(f"{models.starters()[starter].rstrip()}\n  {option}\n")
    done = here("check", "model.yaml", "--json", "check.json")
    run = here("run", "model.yaml", "--until", "0.02")
    assert (done.code, run.code) == (1, 1)
    assert done.err.startswith(("gyrod: run: ", "gyrod: model.yaml:"))  # the second of what is wrong by itself
    assert sentence in done.err
    assert sentence in run.err
    data = json.loads((tmp_path / "check.json").read_text())
    assert data["ok"] is False
    assert sentence in str(data["problems"][0])


def test_check_tries_constant_steps(here, tmp_path):
    text = models.starters()["top"].split("run:")[0]
    for run, sentence in (("method: variational", "step"), ("method: variational, step: 0.03, until: 1", "multiple")):
        (tmp_path / "model.yaml").write_text(f"{text}\nrun: {{{run}}}\n")
        done = here("check", "model.yaml")
        assert done.code == 1
        assert done.err.startswith("gyrod: run: ")
        assert sentence in done.err
    for run in ("method: variational, step: 0.01", "output: [0, 0.5]", "method: bdf", "method: scipy:LSODA"):
        (tmp_path / "model.yaml").write_text(f"{text}\nrun: {{{run}}}\n")
        assert here("check", "model.yaml").code == 0


def test_a_method_of_another_code_gets_the_nearest(here, top):
    done = here("run", top / "top.yaml", "--method", "rk4")
    assert done.code == 1
    assert done.err.endswith("Did you mean 'dopri5'?\n")


DRIVEN = """gyrod: 1
bodies: [{name: crank, mass: 1, inertia: [1, 1, 1]}]
joints:
  - revolute: {a: ground, b: crank, at: [0, 0, 0], axis: [0, 1, 0], drive: "%s"}
"""


@pytest.mark.parametrize(
    ("drive", "sentence"),
    [
        ("sqrt(t-1)", "drive = 'sqrt(t-1)': it has no value at t = 0: a function is outside of its domain."),
        ("sqrt(t)", "drive (derivative) = '0.5/sqrt(t)': it has no value at t = 0: division by zero."),
        (
            "30 deg*sin(t)^2",
            "units cannot stand inside of an expression, which is in SI: write '30*pi/180*sin(t)^2' in place of "
            "'30 deg*sin(t)^2'.",
        ),
        ("sin(t)/5 mm", "units cannot stand inside of an expression, which is in SI: write 'sin(t)/0.005' in place of "
         "'sin(t)/5 mm'."),
        ("60 rpm*t", "units cannot stand inside of an expression, which is in SI: write '60*pi/30*t' in place of "
         "'60 rpm*t'."),
        ("30 degs", "'degs' is not a unit (did you mean 'deg'?)."),
    ],
)  # fmt: skip
def test_a_drive_that_fails_is_told_once(here, tmp_path, drive, sentence):
    (tmp_path / "model.yaml").write_text(DRIVEN % drive)
    done = here("check", "model.yaml")
    column = DRIVEN.splitlines()[3].index('"') + 1
    assert (done.code, done.err) == (1, f"gyrod: model.yaml:4:{column}: joints[0].revolute.drive: {sentence}\n")


@pytest.mark.parametrize(
    ("value", "text"), [(8.75e-10, "0.875 ns"), (3e-6, "3 µs"), (0.25, "250 ms"), (0.0, "0 µs"), (7200.0, "120 min")]
)
def test_seconds_have_a_unit_that_suits(value, text):
    assert frame.seconds(value) == text


def test_check_finds_joints_that_do_not_meet(here, tmp_path):
    text = models.starters()["four-bar"].replace("velocity", "velocity")
    text = text.replace("position: [0.6, 0, 0.75]}", "position: [0.6, 0, 0.75], velocity: [0, 0, 1]}")
    (tmp_path / "model.yaml").write_text(text)
    done = here("check", "model.yaml")
    assert done.code == 1
    assert "velocity gap at the start" in done.err


def test_check_tells_what_is_wrong_with_the_model_and_with_its_run_at_once(here, tmp_path):
    text = models.starters()["four-bar"].replace("[0.6, 0, 0.75]}", "[0.6, 0, 0.75], velocity: [0, 0, 1]}")
    (tmp_path / "model.yaml").write_text(f"{text.rstrip()}\n  formulation: {{velocity: spatial}}\n")
    done = here("check", "model.yaml", "--json", "check.json")
    problems = json.loads((tmp_path / "check.json").read_text())["problems"]
    assert done.code == 1
    assert [x.startswith("run: the variant 'spatial'") for x in problems].count(True) == 1
    gaps = [x for x in problems if "velocity gap at the start" in x]
    assert len(gaps) == len(problems) - 1 > 0
    assert all(x in done.err for x in problems)
    (tmp_path / "model.yaml").write_text(f"{text.rstrip()}\n  assemble: true\n")
    assert here("check", "model.yaml").code == 0


def test_compare_at_rest(here, tmp_path):
    (tmp_path / "hose.yaml").write_text(models.starters()["hose"])
    meshes = ["--discretizations", "staggered:10,elements:4"]
    done = here("compare", "hose.yaml", "--at-rest", *meshes, "--reference", "elements:4x8", "--json", "rows.json")
    assert done.code == 0, done.err
    assert "equilibrium" in done.out
    trials = {x["discretization"]: x for x in json.loads((tmp_path / "rows.json").read_text())["trials"]}
    assert set(trials) == {"staggered:10", "elements:3x4"}
    system = gd.files.loads(models.starters()["hose"]).system
    found = gd.compare(system, at_rest=True, discretizations=["staggered:10"], reference="elements:4x8").trials[0]
    assert trials["staggered:10"]["position"] == pytest.approx(found.position, rel=1e-6)
    for options, sentence in (
        ([*meshes, "--until", "1", "--rtol", "1e-5"], "--until, --rtol: equilibria have none of it"),
        ([], "--at-rest compares discretisations; give --discretizations"),
    ):
        done = here("compare", "hose.yaml", "--at-rest", *options)
        assert (done.code, sentence in done.err) == (1, True), done.err


def test_schema_is_that_of_the_files(here, tmp_path):
    done = here("schema")
    assert json.loads(done.out) == json.loads(json.dumps(gd.files.json_schema()))
    assert here("schema", "--out", "schema.json").out == "wrote schema.json\n"
    assert json.loads((tmp_path / "schema.json").read_text()) == json.loads(done.out)


# --- run -------------------------------------------------------------------------------------------------------------


def test_options_go_before_the_file(here, top):
    done = here("run", top / "top.yaml", "--until", "0.2", "--method", "radau5", "--rtol", "1e-4", "--formulation",
                "absolute-quaternion", "--output", "0.05", "--json", "-")  # fmt: skip
    data = json.loads(done.out)
    motion = gd.open("top.h5")
    np.testing.assert_allclose(motion.t, [0.0, 0.05, 0.1, 0.15, 0.2], atol=1e-15)
    exact = gd.simulate(gd.load(top / "top.yaml"), 0.2, method="radau5", rtol=1e-4, formulation="absolute-quaternion",
                        output=motion.t)  # fmt: skip
    np.testing.assert_array_equal(motion.y, exact.y)
    assert (data["steps"], data["rhs"], data["jacobians"]) == (
        exact.stats.steps,
        exact.stats.rhs,
        exact.stats.jacobians,
    )
    assert (data["method"], data["formulation"], data["rows"], data["t"]) == ("radau5", "absolute-quaternion", 5, 0.2)
    assert data["energy_error"] == pytest.approx(
        np.abs(exact.energy.total - exact.energy.total[0]).max() / exact.energy.kinetic.max()
    )
    assert data["file"] == "top.h5"


def test_another_method_drops_what_belonged_to_the_first(here, tmp_path):
    text = (
        models.starters()["top"].replace("rtol: 1e-8", "method: variational\n  step: 1e-3").replace("output: 0.005", "")
    )
    (tmp_path / "top.yaml").write_text(text)
    assert "variational" in here("run", "top.yaml", "--until", "0.1").out
    assert "dop853" in here("run", "top.yaml", "--until", "0.1", "--method", "dop853").out
    (tmp_path / "top.yaml").write_text(models.starters()["top"])
    done = here("run", "top.yaml", "--until", "0.1", "--method", "energy-momentum", "--step", "1e-3")
    assert "energy-momentum" in done.out, done.err


def test_the_time_must_be_said(here, tmp_path):
    (tmp_path / "top.yaml").write_text(models.starters()["top"].split("run:")[0])
    for command in ("run", "compare"):
        done = here(command, "top.yaml")
        assert done.code == 1
        assert "does not say how long to run; give --until SECONDS" in done.err
    assert here("run", "top.yaml", "--until", "0.01").code == 0


def test_only_results_are_overwritten(here, top, tmp_path):
    (tmp_path / "top.h5").write_text("my diary")
    refused = here("run", top / "top.yaml", "--until", "0.01")
    assert refused.code == 1
    assert "top.h5 exists and is not a result of gyrod; give another --out, or --force." in refused.err
    assert (tmp_path / "top.h5").read_text() == "my diary"
    assert here("run", top / "top.yaml", "--until", "0.01", "--force").code == 0
    assert here("run", top / "top.yaml", "--until", "0.02").code == 0
    assert gd.open("top.h5").t[-1] == 0.02


def test_without_a_file_and_without_words(here, top, tmp_path):
    done = here("run", top / "top.yaml", "--until", "0.01", "--no-save", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert not list(tmp_path.iterdir())
    assert here("run", top / "top.yaml", "--no-save", "--resume").code == 2


def test_a_run_that_fails_keeps_what_it_has(here, tmp_path):
    text = """
gyrod: 1
gravity: [0, 0, 0]
bodies:
  - name: arm
    mass: 1
    inertia: [0.1, 0.2, 0.25]
    orientation: {euler: ["313", [0, 1, 0]]}
    angular_velocity: [-3, 0, 0]
run: {until: 2, formulation: euler, max_step: 0.01}
"""
    (tmp_path / "arm.yaml").write_text(text)
    done = here("run", "arm.yaml")
    assert done.code == 1
    assert "gimbal lock" in done.err
    assert "arm.h5 holds what was computed." in done.err
    assert 0.0 < gd.open("arm.h5").t[-1] < 1.0


def test_a_run_by_others_that_fails_keeps_what_it_has(here, top, monkeypatch):
    motion = gd.open(top / "top.h5")

    def fails(*arguments, **options):
        raise gd.SimulationError("it broke at t = 0.5.", 0.5, motion.y[-1], motion)

    monkeypatch.setattr(gd, "simulate", fails)
    done = here("run", top / "top.yaml", "--method", "scipy:RK45", "--out", "others.h5")
    assert (done.code, done.err) == (1, "gyrod: it broke at t = 0.5; others.h5 holds what was computed.\n")
    assert gd.open("others.h5").t[-1] == 0.5


def test_progress_where_there_is_no_terminal(here, top, monkeypatch):
    monkeypatch.setattr("gyrod.cli.running.EVERY", 0.0)
    done = here("run", top / "top.yaml", "--until", "1")
    line = done.err.splitlines()[0]
    assert re.match(r"t = \S+ of 1 s, \S+ x real time, h = \S+ \S+, energy error \de-\d\d$", line)


def test_an_interrupted_run_resumes(here, top, monkeypatch):
    def pressed(state, begun):
        raise KeyboardInterrupt

    arguments = ("run", top / "top.yaml", "--until", "20", "--output", "0.1")
    with monkeypatch.context() as patch:
        patch.setattr("gyrod.cli.running.told", pressed)
        patch.setattr("gyrod.cli.running.EVERY", 0.0)
        done = here(*arguments)
    assert done.code == 130
    assert "interrupted" in done.err
    assert "top.h5 holds what was computed, and gyrod run --resume continues it." in done.err
    assert "Traceback" not in done.err
    assert 0.0 < gd.open("top.h5").t[-1] < 20.0
    assert here(*arguments, "--resume").code == 0
    assert here(*arguments, "--out", "whole.h5").code == 0
    np.testing.assert_array_equal(gd.open("top.h5").y, gd.open("whole.h5").y)


def test_resume_begins_where_there_is_nothing_to_resume(here, top):
    """So that a loop of kills and restarts needs one command; as simulate(resume=True) does."""
    for _ in range(2):
        done = here("run", top / "top.yaml", "--until", "0.1", "--resume", "--out", "new.h5")
        assert done.code == 0, done.err
        assert gd.open("new.h5").status == "finished"


def test_warnings_are_paragraphs(here, top):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        done = here("run", top / "top.yaml", "--until", "0.1", "--rtol", "0.1", "--no-save")
    assert done.code == 0
    assert done.err.startswith("gyrod: rtol = 0.1 allows an error of 10 %")
    assert "running.py" not in done.err


def test_a_file_that_another_run_writes_is_not_taken(here, top, tmp_path):
    with storage.hold(tmp_path / "top.h5"):
        for more in ([], ["--force"], ["--method", "scipy:RK45"]):
            done = here("run", top / "top.yaml", "--until", "0.1", *more)
            assert done.code == 1
            assert re.match(rf"gyrod: 'top.h5' is being written by another run \(process {os.getpid()} on ", done.err)
    assert here("run", top / "top.yaml", "--until", "0.1").code == 0
    assert os.listdir(tmp_path) == ["top.h5"]


@pytest.mark.slow
def test_ctrl_c_and_resume(tmp_path):
    (tmp_path / "hose.yaml").write_text(gyrod("new", "hose").stdout)
    command = [sys.executable, "-m", "gyrod.cli", "run", "hose.yaml", "--until", "10"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        while not (tmp_path / "hose.h5.checkpoint").exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()
        assert process.wait() == 130
    assert re.search(r"gyrod: interrupted at t = \S+ of 10 s; hose.h5 holds what was computed", err)
    reached = gd.open(tmp_path / "hose.h5").t[-1]
    assert 0.0 < reached < 10.0
    assert gyrod("run", "hose.yaml", "--until", "10", "--resume", cwd=tmp_path).returncode == 0
    whole = gd.simulate(gd.load(tmp_path / "hose.yaml"), 10.0, rtol=1e-4, output=[10.0])
    np.testing.assert_array_equal(gd.open(tmp_path / "hose.h5").y[-1], whole.y[-1])


def test_the_manual_knows_every_command():
    text = (Path(__file__).parent.parent / "docs" / "command-line.md").read_text(encoding="utf-8")
    for names in frame.PURPOSES.values():
        for name in names:
            assert f"| `gyrod {name}" in text


# --- statics, comparison, results ------------------------------------------------------------------------------------


def test_rest_and_modes(here, tmp_path):
    (tmp_path / "hose.yaml").write_text(models.starters()["hose"])
    done = here("rest", "hose.yaml", "--json", "rest.json", "--out", "rest.h5", "--plot", "rest.png")
    assert done.code == 0, done.err
    assert done.out.startswith("stable equilibrium")
    data = json.loads((tmp_path / "rest.json").read_text())
    weight = 9.81 * (0.2 + 1100 * np.pi * 5e-3**2)
    np.testing.assert_allclose(data["rods"]["hose"]["start_force"], (0, 0, weight), atol=1e-6)
    assert (tmp_path / "rest.png").stat().st_size > 5000
    fine = gd.equilibrium(gd.load("hose.yaml").with_({"hose.segments": 96}))["bob"].position
    true, told = np.linalg.norm(data["bodies"]["bob"]["position"] - fine), data["errors"]["positions"]["error"]
    assert not data["errors_rough"]
    assert true < told < 100.0 * true
    assert "\nerrors positions" in done.out
    np.testing.assert_allclose(gd.open("rest.h5")["bob"].position[0], data["bodies"]["bob"]["position"])
    modes = json.loads(here("modes", "hose.yaml", "--count", "3", "--json", "-").out)["modes"]
    exact = gd.modes(gd.load("hose.yaml"), n=3)
    np.testing.assert_allclose([m["frequency"] for m in modes], exact.frequencies, atol=1e-9)
    fine = gd.modes(gd.load("hose.yaml").with_({"hose.segments": 96}), n=3).frequencies
    assert modes[0]["error"] is None  # it turns about its hinge
    for mode, true in zip(modes[1:], fine[1:], strict=True):
        assert abs(mode["frequency"] - true) < mode["error"] < 10.0 * abs(mode["frequency"] - true)
    assert "rad/s" in here("modes", "hose.yaml", "--count", "3").out


PLAN = """\
gyrod: 1
bodies: [{name: carrier, mass: 5 kg, inertia: [0.1, 0.1, 0.1], position: [0.9, 0.1, -0.1]}]
joints: [{fixed: {a: ground, b: carrier, at: [0.9, 0.1, -0.1]}}]
rods:
- name: hose
  length: 1.2 m
  section: {circle: {radius: 5 mm}}
  material: {young: 50 MPa, poisson: 0.4, density: 1200}
  start: {clamped: {at: [0, 0, 0], frame: [0, 90 deg, 0]}}
  end: {clamped: {body: carrier, at: [0, 0, 0.1], frame: [0, 90 deg, 0]}}
forces:
- clip: {rod: hose, at: 0.4, point: [0.4, 0.05, 0], kind: ball}
"""


def test_route(here, tmp_path):
    """Rods that lie nowhere yet are laid between their ends and through their clips; the rest of the model stays."""
    (tmp_path / "plan.yaml").write_text(PLAN)
    done = here("route", "plan.yaml", "--out", "routed.yaml", "--plot", "route.png", "--json", "route.json")
    assert done.code == 0, done.err
    assert "smallest bend radius" in done.out
    data = json.loads((tmp_path / "route.json").read_text())["rods"]["hose"]
    assert " errors " in done.out
    assert 0.0 < data["errors"]["end forces"]["error"] < 0.1
    assert not data["errors_rough"]
    rest = gd.equilibrium(gd.load("routed.yaml"))
    np.testing.assert_allclose(rest["hose"].positions, data["positions"], atol=1e-7)
    np.testing.assert_allclose(rest["hose"].positions[-1], (0.9, 0.1, 0.0), atol=1e-9)
    assert data["stable"]
    assert (tmp_path / "route.png").stat().st_size > 5000
    (tmp_path / "short.yaml").write_text(PLAN.replace("1.2 m", "0.8 m"))
    done = here("route", "short.yaml")
    assert done.code == 1
    assert "short.yaml:5:3: rods[0]: Rod 'hose': length = 0.8 is too short" in done.err
    (tmp_path / "wrong.yaml").write_text(
        PLAN.replace("kind: ball", "kind: bell").replace("clamped: {body", "clamp: {body")
    )
    done = here("route", "wrong.yaml")
    assert "wrong.yaml:12:" in done.err
    assert "wrong.yaml:10:" in done.err
    done = here("route", "routed.yaml")
    assert "all rods have an initial shape" in done.err


def test_rounding_is_no_physics(here, tmp_path):
    (tmp_path / "hose.yaml").write_text(models.starters()["hose"])
    lines = here("modes", "hose.yaml", "--count", "3").out.splitlines()[2:]
    assert lines[0].split() == ["1", "0", "-", "0", "-", "free", "motion", "bob"]  # it turns about its hinge
    assert not any("grows" in line for line in lines)
    assert float(lines[1].split()[5]) == pytest.approx(gd.modes(gd.load("hose.yaml"), n=3).damping[1], rel=1e-2)
    (tmp_path / "cable.yaml").write_text(models.starters()["cable"])  # whose spin the bending of steel drowns
    lines = here("modes", "cable.yaml", "--count", "4").out.splitlines()[2:]
    assert [line.split()[-3:-1] for line in lines[:2]] == [["free", "motion"]] * 2
    assert gd.modes(gd.load("cable.yaml"), n=4).unstable == 0
    free = "gyrod: 1\ngravity: [0, 0, 0]\nbodies: [{name: stone, mass: 1, inertia: [1, 2, 2.5]}]\n"
    (tmp_path / "free.yaml").write_text(free)
    for mode in json.loads(here("modes", "free.yaml", "--count", "1", "--json", "-").out)["modes"]:
        assert (mode["frequency"], mode["growth"]) == (0.0, 0.0)
    upside = (
        "gyrod: 1\nbodies: [{name: rod, mass: 1, inertia: [0.1, 0.1, 0.1], position: [0, 0, 1]}]\n"
        "joints: [{revolute: {a: ground, b: rod, at: [0, 0, 0], axis: [0, 1, 0]}}]\n"
    )
    (tmp_path / "upside.yaml").write_text(upside)
    assert f"grows {np.sqrt(9.81 / 1.1):.3g}/s" in here("modes", "upside.yaml").out
    (tmp_path / "four-bar.yaml").write_text(models.starters()["four-bar"])
    assert "everything is held" in here("modes", "four-bar.yaml").out


def test_compare_tells_where_it_is_without_a_terminal(here, top, monkeypatch):
    arguments = ("compare", top / "top.yaml", "--until", "0.1", "--methods", "rodas", "--rtol", "1e-4",
                 "--formulations", "nullspace-quaternion,euler")  # fmt: skip
    lines = here(*arguments).err.splitlines()
    assert lines[0] == "comparing, reference: auto, rtol = 1e-09"
    monkeypatch.setattr("gyrod.cli.comparing.EVERY", 0.0)
    assert "comparing, 2 of 2: rodas, euler, rtol = 0.0001" in here(*arguments).err.splitlines()


def test_compare(here, top, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    arguments = ("compare", top / "top.yaml", "--until", "0.2", "--methods", "dop853,rodas", "--rtol", "1e-4,1e-6")
    done = here(*arguments, "--plot", "work.png", "--json", "rows.json")
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    assert len(re.findall("^. .*(dop853|rodas) +1e-0[46]", done.out, re.MULTILINE)) == 20
    assert (tmp_path / "work.png").exists()
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert len(rows["trials"]) == 20
    data = json.loads(here(*arguments, "--formulations", "euler", "--json", "-").out)
    assert {row["formulation"] for row in data["trials"]} == {"euler"}


def test_unknown_names_are_refused_by_every_plot(here, top, tmp_path):
    for what in ("energy", "drift", "steps", "position", "path"):
        done = here("plot", top / "top.h5", what, "--names", "tpo")
        assert done.code == 1
        assert "names = 'tpo' is unknown; it can be 'top'" in done.err
        assert "Did you mean 'top'?" in done.err
    assert not list(tmp_path.glob("*.png"))


def test_no_raw_words_of_the_library(here, top):
    done = here("run", top / "top.yaml", "--until", "0.01", "--out", "/proc/x.h5")
    assert done.code == 1
    assert done.err.startswith("gyrod: /proc/x.h5 cannot be written: /proc takes no files (")
    raw = "unable to open file: name = '/proc/x.h5', errno = 2, error message = 'No such file or directory', flags = 13"
    assert frame.sentence(OSError(raw)) == "/proc/x.h5 cannot be opened or written: no such file or directory."


def test_a_resumed_run_of_other_times_is_told_without_hashes(here, top):
    assert here("run", top / "top.yaml", "--until", "0.1").code == 0
    done = here("run", top / "top.yaml", "--until", "0.2", "--resume")
    assert done.code == 1
    assert "output = 41 times (there: 21 times); t_end = 0.2 (there: 0.1)" in done.err


def test_load_tells_what_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nope\.yaml' does not exist; it should be a model file"):
        gd.load(tmp_path / "nope.yaml")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder, not a model file"):
        gd.load(tmp_path / "folder.yaml")


@pytest.mark.parametrize("found", [True, False])
def test_a_run_that_is_watched_tells_the_address(here, top, monkeypatch, found):
    monkeypatch.setattr("webbrowser.open", lambda _: found)
    monkeypatch.setattr("gyrod.look.viewer.STARTING", 0.1)
    done = here("run", top / "top.yaml", "--until", "0.05", "--view", "--quiet")
    assert done.code == 0
    told = "" if found else ": open it in a browser"
    assert re.fullmatch(rf"http://127\.0\.0\.1:\d+/[\w-]+/ follows the run{told}\.\n", done.err)


def test_info_and_plots(here, top, tmp_path):
    data = json.loads(here("info", top / "top.h5", "--json", "-").out)
    assert (data["rows"], data["end"], data["bodies"], data["status"]) == (51, 0.5, ["top"], "finished")
    assert "0 to 0.5 s, 51 rows" in here("info", top / "top.h5").out
    done = here("plot", top / "top.h5", "energy", "path", "--names", "top")
    assert done.out == "wrote top-energy.png\nwrote top-path.png\n"
    assert (tmp_path / "top-path.png").stat().st_size > 5000
    assert here("plot", top / "top.h5", "energy", "--out", "e.svg").code == 0
    assert (tmp_path / "e.svg").read_text().startswith("<?xml")
    assert "energy" in here("plot", top / "top.h5", "--list").out.splitlines()


def test_exports(here, top, tmp_path):
    motion = gd.open(top / "top.h5")
    for name in ("top.csv", "top.npz", "top.nc"):
        done = here("export", top / "top.h5", "--out", name)
        assert done.code == 0, done.err
        assert done.out.startswith(f"wrote {name} (")
    assert len((tmp_path / "top.csv").read_text().splitlines()) >= 52
    with np.load(tmp_path / "top.npz") as arrays:
        np.testing.assert_array_equal(arrays["t"], motion.t)


def test_pages_and_films(here, top, tmp_path):
    done = here("view", top / "top.h5", "--out", "top.html", "--json", "-")
    assert json.loads(done.out)["bytes"] == (tmp_path / "top.html").stat().st_size
    assert (tmp_path / "top.html").read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")
    done = here("animate", top / "top.h5", "--out", "top.gif", "--fps", "4")
    assert done.code == 0, done.err
    assert (tmp_path / "top.gif").read_bytes()[:3] == b"GIF"


def test_view_serves_the_page(top):
    command = [sys.executable, "-m", "gyrod.cli", "view", str(top / "top.h5"), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        address = re.match(r"(http://127\.0\.0\.1:\d+/[\w-]+/) shows .*top.h5; open it in a browser", line)[1]
        with urllib.request.urlopen(address, timeout=10) as answer:
            assert b"<html" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        assert process.stderr.read() == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["new"],
        ["new", "--list"],
        ["check", "top.yaml"],
        ["rest", "hose.yaml"],
        ["plot", "top.h5", "--list"],
        ["plot", "top.h5", "energy"],
        ["export", "top.h5", "--out", "x.npz"],
        ["bench", "none"],
    ],
)
def test_json_alone_on_standard_output(here, top, tmp_path, arguments, monkeypatch):
    monkeypatch.setitem(bench.SUITES, "none", lambda progress: [bench.Outcome("p", "f", "m", 1e-3)])
    for name in ("top.yaml", "top.h5"):
        (tmp_path / name).symlink_to(top / name)
    (tmp_path / "hose.yaml").write_text(models.starters()["hose"])
    done = here(*arguments, "--json", "-")
    assert done.code == 0, done.err
    json.loads(done.out)


# --- papers and benchmarks -------------------------------------------------------------------------------------------


def test_report_writes_rows_and_figures(tmp_path, capsys):
    report = reproduce.Report(out=tmp_path / "figures")
    report.add("Table 1", "steps", 3, 4)
    report.figure("picture", lambda figure: figure.subplots().plot([0, 1], [1, 0]))
    assert (tmp_path / "figures" / "picture.png").stat().st_size > 1000
    report.save_json(str(tmp_path / "rows.json"))
    expected = [{"item": "Table 1", "label": "steps", "paper": 3, "here": 4}]
    assert json.loads((tmp_path / "rows.json").read_text()) == expected
    report.save_json("-")
    assert json.loads(capsys.readouterr().out) == expected


def test_bench_tells_error_drift_and_cost(monkeypatch, tmp_path, capsys):
    outcome = bench.run(problems.get("slider-crank"), "nullspace-quaternion", "dop853", 1e-9)
    assert outcome.problem == "slider-crank"
    assert outcome.error < 1e-6
    assert outcome.energy < 1e-6
    assert outcome.gap < 1e-12
    assert outcome.steps > 10
    assert outcome.seconds > 0.0
    led = bench.run(problems.get("four-bar-driven"), "nullspace-quaternion", "dop853", 1e-9, "led")
    assert (led.problem, led.energy) == ("led", None)
    # A point mass has no inertia that an absolute form could invert: the sentence is the outcome.
    refused = bench.run(problems.get("pendulum"), "absolute-quaternion", "dop853", 1e-9)
    assert refused.error is None
    assert "singular inertia" in refused.note
    bench.save_json([outcome, refused], "-")
    assert [row["problem"] for row in json.loads(capsys.readouterr().out)] == ["slider-crank", "pendulum"]
    bench.save_json([outcome], str(tmp_path / "rows.json"))
    assert json.loads((tmp_path / "rows.json").read_text())[0]["steps"] == outcome.steps


@pytest.mark.slow
def test_bench_iftomm(tmp_path):
    done = gyrod("bench", "iftomm", "--json", str(tmp_path / "rows.json"))
    assert done.returncode == 0, done.stderr
    assert "four-bar, 40 loops" in done.stdout
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert len(rows) == 5 * len(bench.RUNS) + len(bench.PENDULUM_RUNS) + len(bench.LARGE_RUNS)
    for row in rows:
        assert not row["note"], row
        assert row["gap"] < 1e-12, row
        if row["problem"] != "pendulum":
            # At singular positions "absolute-quaternion" is at the mercy of rounding.
            coarse = row["rtol"] == 1e-6 or (row["problem"], row["formulation"]) == ("four-bar", "absolute-quaternion")
            assert row["error"] < (1e-2 if coarse else 1e-4), row
    (fine,) = [r for r in rows if r["problem"] == "pendulum" and r["rtol"] == 1e-12]
    assert fine["error"] < 1e-6  # after 2000 s
    assert fine["energy"] < 1e-8


@pytest.mark.slow
def test_reproduce_zupan_saje(tmp_path):
    done = gyrod("reproduce", "zupan-saje-2011", "--out", str(tmp_path), "--json", str(tmp_path / "rows.json"))
    assert done.returncode == 0, done.stderr
    rows = {(r["item"], r["label"]): r for r in json.loads((tmp_path / "rows.json").read_text())}
    for table in ("Table 2", "Table 3"):
        for column in ("ODE45(theta)", "ODE45(psi)", "ODE45(q)"):
            row = rows[table, f"{column} steps"]
            assert row["here"] == pytest.approx(row["paper"], rel=0.005)
    for column in ("ODE45(theta)", "ODE45(psi)"):
        row = rows["Figure 8", f"{column} stops at t"]
        assert row["here"] == pytest.approx(row["paper"], abs=1e-6)
    for column in ("theta", "psi", "q"):
        row = rows["Figure 5", f"ODE45({column}) steps"]
        assert row["here"] == pytest.approx(row["paper"], rel=0.02)
    assert {p.name for p in (tmp_path / "zupan-saje-2011").glob("*.png")} == {f"figure-{n}.png" for n in range(1, 9)}
    assert all(set(r) == {"item", "label", "paper", "here"} for r in rows.values())


def test_runs_with_contacts_tell_what_is_lost_and_what_is_odd(here, tmp_path):
    text = here("new", "contact").out
    (tmp_path / "ball.yaml").write_text(text.replace("output: 0.01", ""), encoding="utf-8")
    done = here("run", "ball.yaml", "--json", "-")
    data = json.loads(done.out)
    assert data["dissipated"] == pytest.approx(0.5 * 6.8 * 9.0 * 2.0 / 7.0, rel=1e-3)  # from slipping to rolling
    assert data["energy_error"] < 1e-4
    assert data["notes"] == []
    assert json.loads(here("info", "ball.h5", "--json", "-").out)["contacts"] == ["lane"]
    (tmp_path / "hard.yaml").write_text(text.replace("1e6 N/m", "1e14 N/m"), encoding="utf-8")
    (note,) = json.loads(here("run", "hard.yaml", "--until", "0.01", "--json", "-").out)["notes"]
    assert "stiffness = 1e+14: the weight would sink in by" in note
