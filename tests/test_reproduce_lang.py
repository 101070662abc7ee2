"""gyrod reproduce lang-2010: Table 1 quickly, everything slowly."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from gyrod import problems, reproduce
from gyrod.reproduce import lang_2010

NULL_SPACE, ABSOLUTE = ("(42)", "(25)", "(66)"), ("(40)", "(40) as printed", "(23)")


def test_it_is_listed():
    assert "lang-2010" in reproduce.PAPERS
    assert reproduce.title("lang-2010").startswith("Lang: Comparison of quaternionic and rotation-free")


def test_table_1():
    report = reproduce.Report()
    lang_2010.table_1(report, problems.heavy_top())
    rows = {row.label: row for row in report.rows}
    assert len(report.rows) == len(rows) == 6 * 9
    for form in lang_2010.TABLE_1:
        assert rows[f"{form} unknowns"].here == rows[f"{form} unknowns"].paper
    whole = "(here: whole right-hand side with gravity)"
    assert [rows[f"(42) {o} {whole}"].paper for o in "+-*/"] == [5, 7, 18, 6]
    assert rows[f"(66) sin {whole}"].paper == 2
    # As in the paper: only Euler angles need trigonometry, and the absolute forms cost more than the null-space ones.
    for form in lang_2010.FORMS:
        trigonometry = rows[f"{form} sin {whole}"].here + rows[f"{form} cos {whole}"].here
        assert (trigonometry > 0) == (form == "(66)")
    total = {row.label.split(" operations")[0]: row.here for row in report.rows if " operations in all" in row.label}
    assert max(total[f] for f in NULL_SPACE) < min(total[f] for f in ABSOLUTE)
    assert total["(40) as printed"] == total["(40)"] - 1  # no division by |p|^2


def test_a_run_that_cannot_be_finished_is_a_row(monkeypatch):
    report = reproduce.Report()
    problem = problems.heavy_top()
    exact = lang_2010.reference(problem)
    # DOP853 at a coarse tolerance: the drift of (23) makes the equations singular.
    assert lang_2010._point(report, "Figure 13", "DOP853", problem, "(23)", "dop853", 1e-3, exact) is None
    (row,) = report.rows
    assert row.label == "DOP853 (23) at 0.001: stops at t"
    assert 0.0 < row.here < 60.0

    def missing(*_, **__):
        raise ImportError("method = 'bdf' needs scikit-sundae")

    monkeypatch.setattr(lang_2010, "solve", missing)
    assert lang_2010._point(report, "Figure 14", "BDF", problem, "(42)", "bdf", lang_2010.SHOWN, exact) is None
    assert report.rows[-1].here == "method = 'bdf' needs scikit-sundae"


@pytest.mark.slow
def test_reproduce_lang(tmp_path):
    command = [sys.executable, "-m", "gyrod.cli", "reproduce", "lang-2010", "--out", str(tmp_path), "--json"]
    done = subprocess.run([*command, str(tmp_path / "rows.json")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    listed = json.loads((tmp_path / "rows.json").read_text())
    rows = {(r["item"], r["label"]): r for r in listed}
    assert len(rows) == len(listed)
    assert {p.name for p in tmp_path.glob("*.png")} == {f"figure-{n}.png" for n in (6, *range(8, 16))}
    assert {r["item"] for r in listed} == {"Table 1", *(f"Figure {n}" for n in (6, *range(8, 16)))}

    def here(item, label):
        return rows[f"{item}", label]["here"]

    for form in ("(42)", "(25)", "(40)", "(23)"):
        row = rows["Figure 6", f"{form} exponent of t in |g|"]
        assert row["here"] == pytest.approx(row["paper"], abs=0.2)
    for item in ("Figure 8", "Figure 9"):
        mean = {form: here(item, f"{form} mean step (s)") for form in lang_2010.FORMS}
        assert mean["(42)"] > mean["(25)"] > mean["(23)"]
        assert mean["(42)"] > mean["(40) as printed"] > mean["(23)"]
    for form in lang_2010.FORMS:
        # "In null space coordinates, even for coarse tolerances, sufficiently good energy conservation is obtained."
        change = here("Figure 10", f"{form} at 0.0001, projection none: largest relative change")
        assert change < 1e-4 if form in NULL_SPACE else change > 0.1
        for number, time in ((1, 0.4), (2, 1.2)):
            row = rows["Figure 12", f"{form} reversal {number}: Omega1 = 0 at t"]
            assert row["paper"] == time
            assert row["here"] == pytest.approx(time, abs=0.1)
    evaluations = {"(42)": 19748, "(25)": 25514, "(40) as printed": 23726, "(23)": 32150, "(66)": 19394}
    for form, count in evaluations.items():
        assert here("Figure 13", f"DOPRI5 {form} at 1e-06: evaluations") == count
    for item, methods in (("Figure 13", lang_2010.EXPLICIT), ("Figure 14", lang_2010.IMPLICIT)):
        for method in methods:
            error = {f: here(item, f"{method.upper()} {f} at 1e-06: error of d") for f in lang_2010.FORMS}
            assert max(error[f] for f in NULL_SPACE) < min(error[f] for f in ABSOLUTE), method
    for form in lang_2010.FORMS:
        error = here("Figure 15", f"DOPRI5, disturbance 1e-05 {form} at 1e-05: error of d")
        assert error < 1e-3 if form in NULL_SPACE else error > 0.1
