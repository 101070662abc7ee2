"""compare: every trial is measured against a reference that deserves the name, and what does not serve says why."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gyrod as gd
from gyrod import comparison, problems
from gyrod.comparison import Comparison, Reference, Trial, compare, running

TOP = problems.get("lang-a").system
STRING = problems.get("steel-string").system


@pytest.fixture(scope="module")
def tops():
    return compare(TOP, 0.5, methods=["dop853", "radau5", "variational"], rtols=(1e-4, 1e-8), points=26)


def test_all_combinations_are_there(tops):
    pairs = {(t.formulation, t.method) for t in tops}
    assert pairs == {(f, m) for f in gd.FORMULATIONS for m in ("dop853", "radau5")} | {
        ("quaternion", "variational"),
        ("directors", "variational"),
    }
    assert len(tops) == 24
    assert {t.status for t in tops} == {"finished"}


def test_errors_follow_the_tolerance(tops):
    assert tops.reference.error < 1e-9
    for t in tops:
        assert t.drift < 1e-13
        assert t.t == 0.5
        if t.rtol is not None:
            assert t.error < 1e3 * t.rtol
            assert t.energy < 1e3 * t.rtol
            assert t.steps > 0
            assert t.rhs > t.steps
            assert (t.jacobians > 0) == (t.method == "radau5")


def test_the_error_is_that_of_positions_and_rotations(tops):
    times = np.linspace(0.0, 0.5, 26)
    exact = gd.simulate(TOP, 0.5, method="odex", rtol=1e-12, output=times)
    (trial,) = [t for t in tops if (t.formulation, t.method, t.rtol) == ("absolute-directors", "dop853", 1e-4)]
    run = gd.simulate(TOP, 0.5, formulation="absolute-directors", method="dop853", rtol=1e-4, output=times)
    name = TOP.names[0]
    x = np.linalg.norm(run[name].position - exact[name].position, axis=1).max() / tops.length
    angle = gd.rotations.distance(run[name].quaternion, exact[name].quaternion).max()
    energy = np.ptp(run.energy.total) / exact.energy.kinetic.max()
    assert trial.position == pytest.approx(x, rel=1e-4)
    assert trial.rotation == pytest.approx(angle, rel=1e-4)
    assert trial.energy == pytest.approx(energy, rel=0.5)  # ptp is at most twice the change from the start
    assert trial.error == max(trial.position, trial.rotation)
    assert (trial.steps, trial.rhs) == (run.stats.steps, run.stats.rhs)


def test_constant_steps_converge_with_their_order():
    found = compare(TOP, 0.5, methods="variational", formulations="nullspace-quaternion", steps=(2e-3, 1e-3), points=11)
    coarse, fine = found
    assert (coarse.formulation, coarse.step, fine.step) == ("quaternion", pytest.approx(2e-3), pytest.approx(1e-3))
    assert coarse.error / fine.error == pytest.approx(4.0, rel=0.1)


def test_the_table_names_steps_and_tolerances_as_they_are():
    how = {"formulations": "nullspace-quaternion", "rtols": (2.5e-4, 1e-5), "points": 2}
    text = compare(TOP, 0.01, methods=["variational", "dopri5"], steps=(1.25e-3, 1e-3), **how).table()
    assert {"h=1.25e-03", "h=1e-03", "2.5e-04", "1e-05"} <= set(text.split())


def test_what_does_not_serve_says_why_once():
    found = compare(STRING, 0.002, methods=["radau5", "energy-momentum"], rtols=(1e-2, 1e-4), points=3)
    refused = {(t.method, t.formulation): t.note for t in found if t.status == "refused"}
    assert {form for _, form in refused} == {"quaternion"}
    assert "the angular momentum would be lost" in refused["energy-momentum", "quaternion"]
    assert {t.formulation for t in found.finished} == {*gd.FORMULATIONS, "directors"}
    text = found.table(width=80)
    assert "refused: energy-momentum, quaternion: method" in " ".join(text.split())


def test_a_limit_of_time_stops_runs_and_tells_what_they_would_take():
    found = compare(
        STRING,
        0.5,
        methods=["dopri5", "rodas"],
        formulations="nullspace-quaternion",
        rtols=(1e-3, 1e-5),
        limit=0.1,
        points=3,
    )
    slow, left = (t for t in found if t.method == "dopri5")
    assert slow.status == "limit"
    assert 0.0 < slow.t < 0.1
    assert slow.seconds > 1.0  # the whole run
    assert slow.error is None
    assert left.status == "left out"
    assert all(t.method == "rodas" for t in found.finished)
    text = " ".join(found.table(width=100).split())
    assert "over the limit of 0.1 s: dopri5, nullspace-quaternion, rtol = 0.001: about" in text
    assert "finer tolerances were left out" in text


def test_rods_have_a_shorter_limit():
    how = {"methods": "rodas", "formulations": "nullspace-quaternion", "rtols": 1e-3, "points": 2}
    assert compare(STRING, 0.001, **how).limit == 3.0
    assert compare(TOP, 0.001, **how).limit == 10.0


def test_only_hopeless_runs_are_stopped_early(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(running.time, "process_time", lambda: clock[0])

    def stopped(method, speed):
        """CPU time at which a run of one second with this speed (at a time) is stopped, None if it is not."""
        clock[0], t = 0.0, 0.0
        watch = running._Watch(10.0, 1.0, method)
        while t < 1.0:
            clock[0] += 0.1
            t += 0.1 * speed(clock[0])
            try:
                watch(t)
            except KeyboardInterrupt:
                assert watch.up
                return clock[0], watch.whole
        return None

    at, whole = stopped("dop853", lambda _: 1.0 / 30.0)
    assert 1.0 < at < 1.3
    assert whole == pytest.approx(30.0, rel=1e-6)
    assert stopped("dop853", lambda _: 1.0 / 15.0)[0] > 10.0  # may yet be done: the whole limit is its own
    assert stopped("dop853", lambda _: 1.0 / 9.0) is None
    assert stopped("bdf", lambda cpu: 1e-9 if cpu < 4.0 else 1.0) is None  # a slow start is no verdict
    assert stopped("bdf", lambda _: 1e-3)[0] < 5.3


def test_runs_that_fail_are_told():
    body = gd.Body("arm", 1.0, (0.1, 0.2, 0.25), orientation=("313", (0, 1.0, 0)), angular_velocity=(-3, 0, 0))
    system = gd.System([body], gravity=(0, 0, 0))
    (failed,) = compare(system, 2.0, formulations="euler", methods="dop853", rtols=1e-6, points=3)
    assert failed.status == "failed"
    assert "gimbal lock" in failed.note
    assert 0.0 < failed.t < 2.0
    assert failed.steps > 0


def test_without_a_reference_there_are_no_errors():
    def breaks(t, state):
        if t > 0.5:
            raise RuntimeError("broken")
        return np.zeros(3), np.zeros(3)

    body = gd.Body("arm", mass=1.0, inertia=(0.1, 0.2, 0.25))
    system = gd.System([body], forces=[gd.UserForce("arm", breaks)])
    found = compare(system, 1.0, formulations="nullspace-quaternion", methods="dop853", points=3)
    assert found.reference is None
    assert "UserForce('arm') raised RuntimeError" in found.trials[0].note
    assert "No reference" in found.table()
    assert found.front() == ()


def test_events_end_trials_alike():
    arm = gd.Body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(1, 0, 0))
    hinge = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), limits=(None, 0.5), name="hinge")
    found = compare(gd.System([arm], [hinge]), 1.0, methods=["dop853"], rtols=1e-8, points=21)
    done = found.finished
    assert len(done) == len(gd.FORMULATIONS)
    for t in done:
        assert "upper limit" in t.note
        assert t.error < 1e-6


def test_an_own_reference():
    exact = gd.simulate(TOP, 0.2, rtol=1e-11)
    found = compare(TOP, 0.2, methods="dopri5", formulations="euler", rtols=1e-5, reference=exact, points=5)
    assert found.reference == Reference("nullspace-quaternion", "dop853", None, exact.stats.seconds)
    assert found.floor == 0.0
    assert 0.0 < found.trials[0].error < 1e-3


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"formulations": "quaternions"}, "formulations = 'quaternions' is unknown"),
        ({"methods": ["dopri6"]}, "methods = 'dopri6' is unknown.*Did you mean 'dopri5'"),
        ({"methods": []}, "methods is empty"),
        ({"rtols": (1e-3, -1.0)}, "rtols must be a positive finite number, got -1"),
        ({"rtols": ()}, "must hold at least one number"),
        ({"steps": 0.0}, "steps must be a positive finite number, got 0"),
        ({"limit": 0.0}, "limit must be a positive finite number, got 0"),
        ({"points": 1}, "points = 1 must be a whole number from 2"),
        ({"output": [0.1]}, "output cannot be given"),
        ({"norm": "none"}, "norm = 'none' is unknown"),
    ],
)
def test_bad_input(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare(TOP, 0.1, **change)


def test_not_a_system():
    with pytest.raises(ValueError, match=r"system must be a gyrod\.System, got str"):
        compare("top", 1.0)
    with pytest.raises(ValueError, match="t_end must be a positive finite number, got -1"):
        compare(TOP, -1.0)


def test_ctrl_c_is_not_taken_for_the_limit(monkeypatch):
    def interrupted(*arguments, **options):
        raise gd.SimulationInterrupted("interrupted", None)

    monkeypatch.setattr(running, "simulate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compare(TOP, 0.1)


# --- the choice among trials -----------------------------------------------------------------------------------------

costs = st.floats(1e-4, 10.0)
trials = st.lists(
    st.builds(
        Trial,
        formulation=st.sampled_from(sorted(gd.FORMULATIONS)),
        method=st.sampled_from(sorted(gd.METHODS)),
        rtol=st.sampled_from([1e-3, 1e-6]),
        status=st.sampled_from(["finished", "finished", "limit", "refused"]),
        seconds=costs,
        position=st.floats(0.0, 1.0),
        rotation=st.floats(0.0, 1.0),
        energy=st.floats(0.0, 1.0),
        drift=st.floats(0.0, 1.0),
        note=st.just("because."),
    ),
    max_size=12,
)


def made(rows, floor=1e-9):
    return Comparison(1.0, 1.0, 1.0, 1.0, Reference("nullspace-quaternion", "dop853", 1e-12, 0.1, floor), tuple(rows))


@given(trials)
def test_the_front_is_what_no_other_beats(rows):
    found = made(rows)
    front = found.front()
    assert [t.seconds for t in front] == sorted(t.seconds for t in front)
    for t in found.finished:
        beaten = any(
            o.seconds <= t.seconds and max(o.error, 1e-9) <= max(t.error, 1e-9) and o != t for o in found.finished
        )
        assert (t in front) or beaten
    for t in front:
        assert not any(o.seconds < t.seconds and max(o.error, 1e-9) <= max(t.error, 1e-9) for o in found.finished)


@given(trials, st.floats(1e-8, 1.0))
def test_the_best_is_the_cheapest_that_is_exact_enough(rows, error):
    found = made(rows)
    best = found.best(error)
    enough = [t for t in found.finished if max(t.error, 1e-9) <= error]
    assert (best is None) == (not enough)
    if best is not None:
        assert best.error <= error
        assert best.seconds == min(t.seconds for t in enough)


@given(trials, st.sampled_from(comparison.ORDERS), st.integers(72, 140))
def test_tables_and_json_of_anything(rows, by, width):
    found = made(rows)
    assert max(map(len, found.table(by=by, width=width).splitlines())) <= width
    assert len(found.sorted(by)) == len(found.finished)
    data = json.loads(found.to_json())
    assert [row["status"] for row in data["trials"]] == [t.status for t in rows]
    assert sum(row["front"] for row in data["trials"]) >= len(found.front())


def test_orders(tops):
    assert [t.seconds for t in tops.sorted("cost")] == sorted(t.seconds for t in tops)
    errors = [max(t.error, tops.floor) for t in tops.sorted("error")]
    assert errors == sorted(errors)
    with pytest.raises(ValueError, match="by = 'price' is unknown"):
        tops.sorted("price")


def test_the_table_tells_what_it_measures(tops):
    text = str(tops)
    header, *lines = text.splitlines()
    assert header.split()[:4] == ["formulation", "method", "rtol", "CPU"]
    assert sum(line.startswith("* ") for line in lines) == len(tops.front())
    flat = " ".join(text.split())
    assert "Reference: dop853, nullspace-quaternion, rtol = 1e-12" in flat
    assert f"positions over {tops.length:.3g} m" in flat
    assert "Cheapest: " in flat


def test_json_holds_no_infinity(tmp_path):
    found = made([Trial("euler", "dop853", 1e-3, seconds=1.0, position=math.inf, rotation=math.nan)])
    found.to_json(tmp_path / "rows.json")
    (row,) = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))["trials"]
    assert row["position"] is None
    assert row["rotation"] is None


def test_work_against_error(tops, tmp_path):
    figure = tops.plot(file=tmp_path / "work.png")
    axes = figure.axes[0]
    assert axes.get_xlabel() == "CPU time [s]"
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    drawn = {tuple(x) for line in axes.get_lines() if line.get_marker() != "None" for x in line.get_xydata().tolist()}
    assert drawn >= {(t.seconds, max(t.error, tops.floor)) for t in tops}
    assert (tmp_path / "work.png").stat().st_size > 10_000
    assert tops.plot("rhs").axes[0].get_xlabel() == "right-hand sides"
    with pytest.raises(ValueError, match="no trial has an error"):
        made([]).plot()
    with pytest.raises(ValueError, match="cost = 'euro' is unknown"):
        tops.plot("euro")
