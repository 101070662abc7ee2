"""The command line, as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from gyrod import bench, problems, reproduce


def gyrod(*arguments: str, cwd=None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gyrod.cli", *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )


def test_list_and_version():
    done = gyrod("reproduce", "--list")
    assert done.returncode == 0
    assert done.stdout.startswith("zupan-saje-2011  Zupan, Saje")
    assert gyrod("--version").stdout.startswith("gyrod 0.")
    assert "reproduce" in gyrod("--help").stdout
    assert "bench" in gyrod("--help").stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["reproduce", "zupan-saje-2012"],
            "gyrod: paper = 'zupan-saje-2012' is unknown; it can be 'zupan-saje-2011',",
        ),
        (["reproduce"], "gyrod: paper is missing; it can be zupan-saje-2011,"),
        (["bench", "iftom"], "gyrod: suite = 'iftom' is unknown; it can be 'iftomm'"),
    ],
)
def test_errors_are_one_paragraph(arguments, sentence):
    done = gyrod(*arguments)
    assert done.returncode == 1
    assert done.stderr.startswith(sentence)
    assert "Traceback" not in done.stderr
    assert "Traceback" in gyrod("--debug", *arguments).stderr


def test_unknown_options_end_with_usage():
    done = gyrod("reproduce", "--nonsense")
    assert done.returncode == 2
    assert "--nonsense" in done.stderr


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
    assert {p.name for p in tmp_path.glob("*.png")} == {f"figure-{n}.png" for n in range(1, 9)}
    assert all(set(r) == {"item", "label", "paper", "here"} for r in rows.values())
