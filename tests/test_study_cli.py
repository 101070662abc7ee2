"""gyrod study, as a user types it."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import gyrod as gd
from gyrod import cli
from gyrod.cli import studies

xarray = pytest.importorskip("xarray")

PLAN = """\
model:
  bodies: [{name: bob, mass: 2, inertia: [1, 2, 3]}]
  gravity: [0, 0, -10]
until: 0.5
run: {rtol: 1e-6}
vary:
  bob.velocity[0]: {uniform: [1, 2]}
  bob.velocity[2]: {uniform: [0, 100 mm/s]}
samples: 32
chunk: 8
engine: serial
outputs:
  end: bob.position
  fast: {maximum: norm bob.velocity}
  fall: {history: {of: "bob.position[2]", times: 5}}
"""


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """The command line inside this process, in a folder with a plan: a function that returns code, out and err."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "throw.yaml").write_text(PLAN, encoding="utf-8")

    def typed(*arguments: str):
        with pytest.raises(SystemExit) as done:
            cli.main(["study", *map(str, arguments)])
        out, err = capsys.readouterr()
        return SimpleNamespace(code=done.value.code, out=out, err=err)

    return typed


def written(text: str, name: str = "other.yaml") -> None:
    Path(name).write_text(text, encoding="utf-8")


# --- run -------------------------------------------------------------------------------------------------------------


def test_runs_a_plan_into_a_folder(here, tmp_path):
    done = here("throw.yaml")
    assert (done.code, done.err) == (0, "")
    assert "study of 32 runs: 32 finished" in done.out
    assert "32 of 32 runs are in throw, after" in done.out
    assert "gyrod study show throw --plot matrix." in done.out
    study = gd.open(tmp_path / "throw")
    v = study["bob.velocity[0]"]
    assert (v > 1.0).all()
    assert (v < 2.0).all()
    np.testing.assert_allclose(study["end"][:, 0], 0.5 * v, rtol=1e-9)
    np.testing.assert_allclose(study["end"][:, 2], 0.5 * study["bob.velocity[2]"] - 1.25, rtol=1e-6)


def test_json_is_all_that_goes_to_standard_output(here):
    done = here("run", "throw.yaml", "--json", "-")
    data = json.loads(done.out)
    assert (data["runs"], data["done"], data["failed"], data["folder"]) == (32, 32, 0, "throw")


def test_an_existing_folder_is_not_overwritten(here):
    assert here("throw.yaml", "--quiet").out == ""
    again = here("throw.yaml")
    assert again.code == 1
    assert "there is a study already in 'throw', with 32 of 32 runs; --resume continues it" in again.err
    assert here("throw.yaml", "--resume").code == 0
    other = here("throw.yaml", "--samples", "16", "--resume")
    assert other.code == 1
    assert "samples" in other.err


def test_interruption_promises_nothing_of_a_folder_that_vanished(here, tmp_path, monkeypatch):
    def stop(self, state):
        shutil.rmtree(tmp_path / "part")
        raise KeyboardInterrupt

    monkeypatch.setattr("gyrod.studies.progress.PERIOD", 0.0)
    monkeypatch.setattr(studies._Lines, "__call__", stop)
    done = here("throw.yaml", "--folder", "part")
    assert done.code == 130
    assert "interrupted; the folder 'part' has vanished" in done.err
    assert "kept" not in done.err
    assert not (tmp_path / "part").exists()


def test_interruption_tells_how_to_resume(here, tmp_path, monkeypatch):
    def stop(self, state):
        if state.done >= 16:
            raise KeyboardInterrupt

    here("throw.yaml", "--folder", "whole")
    monkeypatch.setattr("gyrod.studies.progress.PERIOD", 0.0)
    monkeypatch.setattr(studies._Lines, "__call__", stop)
    done = here("throw.yaml", "--folder", "part")
    assert done.code == 130
    kept = gd.open(tmp_path / "part").done
    assert 8 <= kept < 32
    assert (
        f"{kept} of 32 runs are kept in part, and gyrod study throw.yaml --folder part --resume continues it."
        in done.err
    )
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert here("throw.yaml", "--folder", "part", "--resume").code == 0
    whole, part = gd.open(tmp_path / "whole"), gd.open(tmp_path / "part")
    assert part["end"].tobytes() == whole["end"].tobytes()


def test_shards_make_the_whole(here, tmp_path):
    here("throw.yaml", "--folder", "whole")
    first = here("throw.yaml", "--folder", "parts", "--shard", "0/2")
    assert first.code == 0
    assert "16 of 32 runs are in parts" in first.out
    assert "16 are left for other shards" in first.out
    assert here("throw.yaml", "--folder", "parts", "--shard", "1/2").code == 0
    whole, parts = gd.open(tmp_path / "whole"), gd.open(tmp_path / "parts")
    assert parts["fall"].tobytes() == whole["fall"].tobytes()
    bad = here("throw.yaml", "--folder", "x", "--shard", "2/2")
    assert bad.code == 1
    assert "shard = '2/2' must be 'i/N'" in bad.err


def test_options_go_before_the_plan(here, tmp_path):
    done = here("throw.yaml", "--samples", "8", "--chunk", "4", "--engine", "threads", "--workers", "1")
    assert "8 of 8 runs" in done.out
    assert gd.open(tmp_path / "throw").size == 8


def test_check_runs_nothing(here, tmp_path):
    done = here("throw.yaml", "--check")
    assert done.out.splitlines() == [
        "throw.yaml: sound.", "runs     32", "vary     bob.velocity[0], bob.velocity[2]", "outputs  end, fast, fall",
    ]  # fmt: skip
    assert not (tmp_path / "throw").exists()
    assert json.loads(here("throw.yaml", "--check", "--json", "-").out)["runs"] == 32


def test_failed_runs_are_told(here):
    lists = PLAN.replace("{uniform: [1, 2]}", "[1, 2]").replace("bob.velocity[2]", "bob.mass")
    lists = lists.replace("{uniform: [0, 100 mm/s]}", "[1, -1]").replace("samples: 32\n", "")
    written(lists)
    done = here("other.yaml")
    assert done.code == 0
    assert "2 finished, 2 refused" in done.out
    assert "those that failed with gyrod study show other --failed" in done.out
    told = here("show", "other", "--failed").out
    assert told.startswith("runs 1, 3: ")
    assert "mass must be a positive" in told
    written(lists.replace("[1, -1]", "[-1, -2]"), "none.yaml")
    done = here("none.yaml")
    assert done.code == 1
    assert "all 4 runs failed; the first says: " in done.err


def test_starter_and_schema(here, capsys, tmp_path):
    for arguments, name in ((["new"], "hose.yaml"), (["new", "study"], "study.yaml")):
        with pytest.raises(SystemExit):
            cli.main(arguments)
        (tmp_path / name).write_text(capsys.readouterr().out, encoding="utf-8")
    done = here("study.yaml", "--samples", "2")
    assert done.code == 0
    assert "study of 2 runs: 2 finished" in done.out
    with pytest.raises(SystemExit):
        cli.main(["schema", "--plan"])
    assert json.loads(capsys.readouterr().out)["title"] == "gyrod plan"


# --- show ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def shown(here):
    assert here("throw.yaml", "--quiet").code == 0
    return lambda *arguments: here("show", "throw", *arguments)


def test_show_tells_the_ranges(shown):
    assert "study of 32 runs: 32 finished" in shown().out
    rows = [line.split() for line in shown("--output", "end").out.splitlines()]
    assert rows[0][:2] == ["end", "mean"]
    assert [row[0] for row in rows[1:]] == ["end[0]", "end[1]", "end[2]"]
    assert float(rows[1][1]) == pytest.approx(0.75, abs=0.01)
    data = json.loads(shown("--json", "-").out)
    assert data["outputs"]["end[0]"]["mean"] == pytest.approx(0.75, abs=0.01)
    assert len(shown("--output", "end[2]").out.splitlines()) == 2


def test_csv_has_all_runs(shown, tmp_path):
    done = shown("--csv", "runs.csv")
    assert done.out.startswith("wrote runs.csv (")
    with (tmp_path / "runs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    study = gd.open(tmp_path / "throw")
    assert len(rows) == 32
    assert [float(row["end[2]"]) for row in rows] == study["end"][:, 2].tolist()
    assert [float(row["fall[5]"]) for row in rows] == study["fall"][:, 5].tolist()
    assert [float(row["bob.velocity[0]"]) for row in rows] == study["bob.velocity[0]"].tolist()
    assert {row["status"] for row in rows} == {"finished"}


#: What is drawn is tested with the plots.
MORE = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("response", "histogram", "curves")]


@pytest.mark.parametrize("kind", ["map", "sobol", *MORE])
def test_show_draws(shown, kind, tmp_path):
    pytest.importorskip("matplotlib")
    done = shown("--plot", kind)
    assert (done.code, done.out) == (0, f"wrote throw-{kind}.png\n")
    assert (tmp_path / f"throw-{kind}.png").stat().st_size > 5000


def test_pictures_have_units(shown, tmp_path):
    pytest.importorskip("matplotlib")
    study = gd.open(tmp_path / "throw")
    (ax,) = study.plot("response", output="fast", parameter="bob.velocity[2]").axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("bob.velocity[2] [mm/s]", "fast [m/s]")
    assert study.dataset["fall"].attrs["units"] == "m"
    assert study.plot("sobol", output="end").axes


def test_sobol_indices(shown):
    told = shown("--sobol", "--output", "end").out
    line = next(x for x in told.splitlines() if x.startswith("end[0]"))
    assert line.split()[1] == "bob.velocity[0]"
    assert 0.995 < float(line.split()[2]) <= 1.0
    assert "No variance in end[1]." in told
    data = json.loads(shown("--sobol", "--output", "end", "--json", "-").out)
    assert data["sobol"]["end[0]"]["first"]["bob.velocity[0]"] == pytest.approx(1.0, abs=5e-3)


# --- what goes wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["nothing.yaml"], 1, "nothing.yaml does not exist; it should be a plan of a study"),
        (["nothing"], 1, "nothing"),
        (["shwo"], 1, "command = 'shwo' is unknown.* Did you mean 'show'"),
        (["throw.yaml", "--samples", "0"], 2, "--samples"),
        (["throw.yaml", "--samples", "0"], 2, r"Usage: gyrod study PLAN \[OPTIONS\]\nTry 'gyrod study --help'"),
        (["throw.yaml", "--check", "--engine", "magic"], 1, "engine = 'magic' is unknown"),
        (["throw.yaml", "--engine", "magic"], 1, "engine = 'magic' is unknown"),
        (["throw.yaml", "--shards", "0/2"], 2, "No such option"),
        (["show", "nowhere"], 1, "'nowhere' is not a folder of a study"),
        (["show", "throw.yaml"], 1, "throw.yaml is a file, not the folder of a study"),
        (["show"], 2, "FOLDER"),
    ],
)
def test_bad_calls_get_sentences(here, arguments, code, sentence):
    done = here(*arguments)
    assert done.code == code
    assert re.search(sentence, done.err)
    assert "Traceback" not in done.err


def test_bad_questions_get_sentences(shown):
    for arguments, sentence in (
        (["--output", "ennd"], "--output = 'ennd' is unknown"),
        (["--output", "end[7]"], "--output = 'end[7]' is unknown"),
        (["--plot", "mapp"], "Did you mean 'map'?"),
        (["--plot", "map", "--file", "x.doc"], "a picture is written as .png"),
        (["--csv", "x.doc"], "a table is written as .csv"),
        (["--plot", "response", "--parameter", "mass"], "parameter = 'mass' is unknown"),
    ):
        done = shown(*arguments)
        assert done.code == 1
        assert sentence in done.err


def test_models_and_folders_are_no_plans(here, tmp_path, capsys):
    here("throw.yaml", "--quiet")
    assert "throw is the folder of a study, not a plan; see it with gyrod study show throw." in here("throw").err
    with pytest.raises(SystemExit):
        cli.main(["run", "throw.yaml"])
    assert "throw.yaml is a plan of a study, not a model; gyrod study throw.yaml runs it" in capsys.readouterr().err
    written("gyrod: 1\nbodies: []\n")
    assert "it is a model and no plan" in here("other.yaml").err
    written(PLAN.replace("rtol: 1e-6", "method: rodos"))
    done = here("other.yaml")
    assert done.code == 1
    assert "method = 'rodos' is unknown" in done.err


def test_help_shows_both_ways(here):
    done = here("--help")
    assert done.code == 0
    assert "gyrod study PLAN [OPTIONS]\n       gyrod study show FOLDER [OPTIONS]" in done.out
    assert "--resume" in done.out
    assert here("show", "--help").code == 0
    assert here("run", "--help").code == 0
    assert "--shard" in here().out + here().err
