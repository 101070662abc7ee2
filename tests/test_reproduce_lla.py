"""gyrod reproduce lang-linn-arnold-2011, and the rods of gyrod.problems with their trusted values."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import gyrod as gd
from gyrod import problems, reproduce
from gyrod.reproduce import lang_linn_arnold_2011 as lla
from gyrod.reproduce.lang_linn_arnold_2011 import costs, curvatures, motions, paper, runs

PAPER = "lang-linn-arnold-2011"


def rows_of(part):
    report = reproduce.reproduce(PAPER, reproduce.Report(), [part])
    rows = {(row.item, row.label): row for row in report.rows}
    assert len(rows) == len(report.rows)
    return rows


# --- the problems ---


def test_the_rods_are_listed():
    assert list(problems.RODS) == [
        "lla-test1",
        "lla-rubber",
        "lla-rubber-as-printed",
        "lla-steel",
        "lla-steel-as-printed",
        "steel-string",
        "rubber-pendulum",
        "spin-up",
        "bend-45",
    ]
    assert not set(problems.RODS) & {*problems.RIGID, *problems.ROTATIONS}
    for name, problem in problems.RODS.items():
        assert problems.get(name) is problem
        assert problem.name == name
        assert problem.about
        assert bool(problem.source) == bool(problem.reference)
        # d1 of the paper's initial state: upwards
        if name.startswith("lla"):
            np.testing.assert_allclose(problem.system.rods[0].quaternions, [[0.5, -0.5, -0.5, -0.5]] * 10, atol=1e-15)


def test_other_data_have_no_trusted_values():
    assert problems.lla_test1(segments=20).reference == {}
    assert problems.lla_test1(mass="blended").reference == {}
    assert problems.lla_rubber(curvature="angle").source == ""
    assert problems.lla_steel("as-printed").reference == {}
    assert problems.bend_45(400.0).reference == {}
    assert problems.lla_steel(segments=12).system.rods[0].segments == 12
    with pytest.raises(ValueError, match="data = 'printed' is unknown; it can be 'as-computed', 'as-printed'"):
        problems.lla_rubber("printed")


@pytest.mark.parametrize("name", ["lla-rubber", "lla-rubber-as-printed", "lla-steel"])
def test_trusted_values_of_the_grid(name):
    problem = problems.get(name)
    times = sorted(problem.reference)[:2]
    motion = gd.simulate(problem.system, times[-1], method="radau5", rtol=1e-9, output=times, dense=False)
    for k, time in enumerate(times):
        values = problem.reference[time]
        np.testing.assert_allclose(motion["rod"].positions[k, -1], values["end"], atol=1e-7)
        np.testing.assert_allclose(motion["rod"].directors[k, -1, :, 0], values["d1"], atol=1e-7)


@pytest.mark.parametrize(("build", "bound"), [(problems.steel_string, 2.1e-3), (problems.rubber_pendulum, 1.3e-2)])
def test_trusted_values_of_the_continuum(build, bound):
    problem = build(segments=20)
    motion = gd.simulate(problem.system, 1.0, method="radau5", rtol=1e-5, output=[0.5, 1.0], dense=False)
    for k, values in enumerate(problem.reference.values()):
        np.testing.assert_allclose(motion["rod"].positions[k, -1], values["end"], atol=bound)


def test_spin_up_starts_with_its_shaft():
    problem = problems.spin_up(segments=4)
    motion = gd.simulate(problem.system, 1.0, method="rodas", rtol=1e-4, output=[1.0], dense=False)
    rod = motion["rod"]
    angle = 0.4 * (0.5 + (7.5 / np.pi) ** 2 * (np.cos(2.0 * np.pi / 15.0) - 1.0))
    tangent = gd.rotations.matrix_from_quaternion(rod.vertex_quaternions[-1, 0])[:, 2]
    np.testing.assert_allclose(tangent, [np.cos(angle), np.sin(angle), 0.0], atol=1e-9)


# --- the paper ---


def test_it_is_listed_with_its_parts():
    assert reproduce.title(PAPER).startswith("Lang, Linn, Arnold: Multibody dynamics")
    assert reproduce.parts(PAPER)[:4] == ("table1", "test1", "test2", "table2")
    assert reproduce.parts("zupan-saje-2011") == ()
    assert set(lla.QUICK) < set(lla.PARTS)
    with pytest.raises(ValueError, match="part = 'table4' is unknown; it can be 'table1', 'test1', 'test2', 'table2'"):
        reproduce.reproduce(PAPER, reproduce.Report(), ["table4"])
    with pytest.raises(ValueError, match="zupan-saje-2011 has no parts; leave 'table1' out"):
        reproduce.reproduce("zupan-saje-2011", reproduce.Report(), ["table1"])


def test_printed_counts_obey_what_rodas_does():
    # f = Jacobians + 5 steps; the two exceptions are in docs/errata.md.
    for table, exceptions in ((paper.TABLE_2, [0]), (paper.TABLE_3, [3])):
        assert [k for k, (f, J, steps) in enumerate(table["rodas"]) if f != J + 5 * steps] == exceptions


def test_table_1():
    rows = rows_of("table1")
    here = {curvature: rows["Table 1", f"{curvature} operations per segment in all"] for curvature in paper.CURVATURES}
    assert [row.paper for row in here.values()] == [581, 687, 677, 675, 699]
    assert all(row.here < row.paper for row in here.values())
    assert [row.here for row in here.values()] == [404, 442, 438, 440, 478]
    for curvature in paper.CURVATURES:
        # No transcendental function, and one square root in (ii) alone.
        assert rows["Table 1", f"{curvature} √ per segment"].here == (curvature == "(ii)")
        assert rows["Table 1", f"{curvature} arccos per segment"].here == 0
    added = [rows["Table 1", f"Baumgarte accelerations {operator} per segment"] for operator in paper.OPERATORS]
    assert sum(row.here for row in added) <= sum(row.paper for row in added)


def test_test_1():
    rows = rows_of("test1")
    for time in ("0.5", "1"):
        assert rows["Test 1, Figure 4", f"largest difference from trusted values at {time} s"].here < 1e-9
    assert rows["Test 1, Figure 4", "x2 of the free end at 1 s"].here == pytest.approx(-0.9331001259, abs=1e-9)
    assert rows["Test 1, Figure 4", "largest change of energy, DOP853 at 1e-12 (J)"].here < 1e-13
    # "DOPRI5 is more efficient than the implicit methods" on the undamped rod
    seconds = {m: rows["Test 1, cost of 1 s", f"{m} at 1e-8, projected: CPU s"].here for m in ("DOPRI5", "RODAS")}
    assert seconds["DOPRI5"] < seconds["RODAS"]


def test_test_2(tmp_path):
    report = reproduce.reproduce(PAPER, reproduce.Report(out=tmp_path), ["test2"])
    rows = {(row.item, row.label): row for row in report.rows}
    assert len(rows) == len(report.rows)
    for t in ("0.2", "0.6", "1"):
        assert rows["Test 2, Figure 6", f"largest difference from trusted values at t = {t} (m)"].here < 1e-9
        assert rows["Test 2, Figure 6", f"asymmetry at t = {t} (m)"].here < 1e-12
    assert rows["Test 2, Figure 6", "largest |x1| at t = 1, in a plane says the paper (m)"].here < 1e-12
    assert rows["Test 2, Figure 6", "x3 of vertex 5 at t = 0.6 (m)"].here == pytest.approx(-0.418561141, abs=1e-9)
    assert rows["Test 2, increments", "automatic: number"].here < 40
    assert rows["Test 2, increments", "automatic: corrector iterations, mean"].here <= 8.0
    assert rows["Test 2, increments", "automatic: unstable equilibria"].here == 0
    assert rows["Test 2, increments", "25 equal: number"].here == 25
    assert rows["Test 2, order", "order in space at t = 0.6, N = 20, 40, 80"].here == pytest.approx(2.0, abs=0.1)
    assert {p.name for p in report.figures} == {"figure-5.png", "figure-6.png"}


def test_stress_of_a_section():
    """Pull, bend and twist a straight rod: von Mises at its surface."""
    r = 5e-3
    track = gd.simulate(problems.get("lla-rubber").system, 1e-3, method="rodas")["rod"]
    F, M = np.zeros_like(track.force), np.zeros_like(track.moment)
    F[..., 2], M[..., 0], M[..., 1], M[..., 2] = 2.0, 0.03, 0.04, 0.1
    stress = motions.mises_stress(replace(track, force=F, moment=M), r)
    sigma, tau = 2.0 / (np.pi * r**2) + 0.05 * 4.0 / (np.pi * r**3), 0.1 * 2.0 / (np.pi * r**3)
    np.testing.assert_allclose(stress, np.sqrt(sigma**2 + 3.0 * tau**2), rtol=1e-12)


def test_counts_of_rubber():
    for tolerance in (1e-2, 1e-5):
        found = runs.counts("lla-rubber", "dopri5", tolerance)
        assert found.steps == pytest.approx(55267, abs=30)
        assert found.steps == pytest.approx(55268, rel=0.01)  # the paper
        assert found.error < 1e-4
    found = runs.counts("lla-rubber", "rodas", 1e-2)
    assert (found.rhs, found.jacobians) == (pytest.approx(4050, rel=0.2), pytest.approx(600, rel=0.2))
    assert found.rhs == found.jacobians + 5 * found.steps
    assert found.rhs == pytest.approx(4522, rel=0.02)
    for tolerance, printed in zip(paper.TOLERANCES[:5], paper.TABLE_2["radau5"], strict=False):
        assert runs.counts("lla-rubber", "radau5", tolerance).steps == pytest.approx(printed[2], rel=0.3)


@pytest.mark.slow
def test_counts_of_steel():
    found = runs.counts("lla-steel", "dopri5", 1e-2)
    assert found.simulated == 0.1
    assert found.steps == pytest.approx(1535205, rel=0.01)
    assert np.isnan(found.error)
    assert runs.counts("lla-steel", "rodas", 1e-3).steps == pytest.approx(2522, rel=0.2)
    assert runs.counts("lla-steel", "radau5", 1e-3).steps == pytest.approx(4323, rel=0.3)


def test_printed_data_do_not_give_the_printed_counts():
    assert runs.counts("lla-rubber-as-printed", "dopri5", 1e-2).steps > 5.5e6
    assert runs.counts("lla-rubber-as-printed", "rodas", 1e-2).steps > 5 * 688


def test_the_step_control_makes_no_difference(monkeypatch):
    """ "For RADAU5, we did not discover any significant difference": rubber, two tolerances of the part."""
    monkeypatch.setattr(costs, "TOLERANCES", (1e-2, 1e-3))
    for table in ("TABLE_2", "TABLE_3"):
        rows = {method: counts[:2] for method, counts in getattr(paper, table).items()}
        monkeypatch.setattr(costs, table, rows)
    monkeypatch.setattr(costs, "counts", lambda name, *given: runs.counts(name.replace("steel", "rubber"), *given))
    report = reproduce.Report()
    costs.step_control(report)
    assert len({(row.item, row.label) for row in report.rows}) == len(report.rows) == 2 * 2 * (2 * 4 + 1)
    steps = {row.label: row.here for row in report.rows}
    one, other = (steps[f"rubber: RADAU5 at 0.01, {control}: steps"] for control in ("predictive", "classical"))
    assert one == runs.counts("lla-rubber", "radau5", 1e-2).steps
    assert one != other == pytest.approx(one, rel=0.05)


def test_scipy_stands_in_for_sundials(monkeypatch):
    for name in ("sksundae", "sksundae.cvode", "sksundae.ida"):
        monkeypatch.setitem(sys.modules, name, None)
    assert runs.name_of("bdf") == "BDF (SciPy: no scikit-sundae)"
    found = runs.counts.__wrapped__("lla-rubber", "bdf", 1e-3)
    assert found.steps == pytest.approx(1508, rel=0.5)  # DASPK, in the paper
    assert found.error < 0.1


def test_geometry_and_generators():
    for row in [*rows_of("figure10").values(), *rows_of("figure11").values()]:
        assert row.here < 1e-13
    # The families (34) with any m.
    phi = np.linspace(0.1, 2.0, 9)
    np.testing.assert_allclose(curvatures.core_curvature(("sine", 3.0), phi), 3.0 * np.sin(phi / 3.0), rtol=1e-13)
    np.testing.assert_allclose(curvatures.core_curvature(("tangent", 5.5), phi), 5.5 * np.tan(phi / 5.5), rtol=1e-13)


def test_eigenvalues():
    rows = rows_of("eigenvalues")

    def here(rod, what):
        return rows["eigenvalues", f"{rod}: {what}"].here

    for material in ("rubber", "steel"):
        for kind in ("shear", "extension"):
            assert here(f"{material}, as-printed", f"{kind}: off the real axis") == 0
    # What is bending by its mode is shear by its energy, for eight pairs of the pendulum.
    assert here("rubber, as-printed", "shear: off the real axis, sorted by elastic energy") == 16
    # The other data: weakly damped high modes of the string, one pair of the pendulum.
    assert here("steel, as-computed", "shear: off the real axis") == 40
    assert here("steel, as-computed", "extension: smallest damping ratio") == pytest.approx(0.0246, rel=1e-3)
    assert here("rubber, as-computed", "extension: off the real axis") == 2
    # What limits DOPRI5: reference/rods.json has -18307.1 and -507094.2 (torsion).
    assert here("rubber, as-computed", "extension: leftmost real part (1/s)") == pytest.approx(-18307.1, rel=1e-3)
    assert here("steel, as-computed", "torsion: leftmost real part (1/s)") == pytest.approx(-507094.2, rel=1e-3)


def test_multipliers():
    rows = rows_of("multipliers")
    for curvature in paper.CURVATURES:
        label = f"{curvature}, with the corrected moments: largest relative difference"
        assert rows["multipliers", label].here < 1e-13
        printed = rows["multipliers", f"{curvature}, as printed: largest relative difference"].here
        assert printed < 1e-13 if curvature == "(i)" else printed > 1e-3


def test_figures_and_plots(tmp_path):
    report = reproduce.Report(out=tmp_path)
    for part in ("figure10", "figure11"):
        lla.PARTS[part](report)
    assert {p.name for p in report.figures} == {"figure-10.png", "figure-11.png"}
    motion = gd.simulate(problems.get("lla-rubber").system, 0.3, method="rodas", rtol=1e-3)
    for what in ("shape", "moment"):
        motion.plot(what, file=str(tmp_path / f"{what}.png"))
        assert (tmp_path / f"{what}.png").stat().st_size > 5000
    assert len(motion.plot("shape").axes[0].lines) == 11
    with pytest.raises(ValueError, match="what = 'Omega' is for bodies, and there are none among 'rod'"):
        motion.plot("Omega")
    body = gd.simulate(problems.get("lang-a").system, 0.1)
    with pytest.raises(ValueError, match="what = 'moment' is for rods, and there are none among 'top'"):
        body.plot("moment")
    space = gd.simulate(problems.bend_45(segments=4).system, 1.0, method="rodas", rtol=1e-2)
    assert hasattr(space.plot("shape").axes[0], "zaxis")


@pytest.mark.slow
def test_reproduce_lla(tmp_path):
    command = [sys.executable, "-m", "gyrod.cli", "reproduce", PAPER, "--out", str(tmp_path), "--json"]
    done = subprocess.run([*command, str(tmp_path / "rows.json")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    listed = json.loads((tmp_path / "rows.json").read_text())
    assert len({(r["item"], r["label"]) for r in listed}) == len(listed)
    figures = {"eigenvalues.png", *(f"figure-{n}.png" for n in (3, 4, 5, 6, 8, 9, 10, 11))}
    assert {p.name for p in tmp_path.rglob("*.png")} == figures
    for row in listed:
        if row["item"] == "Figure 9" and "difference" in row["label"]:
            assert row["here"] < 1e-7
        if row["item"] == "Table 2" and row["label"].startswith("DOPRI5") and row["label"].endswith("steps"):
            assert row["here"] == pytest.approx(row["paper"], rel=0.03)
        if row["item"] == "Table 2" and row["label"].startswith("RODAS"):
            assert row["here"] == pytest.approx(row["paper"], rel=0.2)


@pytest.mark.slow
def test_reproduce_lla_by_name(tmp_path):
    command = [sys.executable, "-m", "gyrod.cli", "reproduce", PAPER, "table3", "figure7", "--out", str(tmp_path)]
    done = subprocess.run(
        [*command, "--json", str(tmp_path / "rows.json")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    listed = json.loads((tmp_path / "rows.json").read_text())
    rows = {(r["item"], r["label"]): r for r in listed}
    assert len(rows) == len(listed)
    assert (tmp_path / PAPER / "figure-7.png").exists()
    for tolerance in paper.TOLERANCES:
        row = rows["Table 3", f"DOPRI5 at {tolerance:g} (extrapolated from 0.1 s) steps"]
        assert row["here"] == pytest.approx(row["paper"], rel=0.01)
        row = rows["Table 3", f"RADAU5 at {tolerance:g} steps"]
        assert row["here"] == pytest.approx(row["paper"], rel=0.3)
    assert rows["Figure 7", "rubber: simulated over CPU time, RODAS at 1e-2"]["here"] > 47
