"""Bounds of a run: steps, memory, a forecast of its length, tolerances that resolve nothing."""

import os
import re
import sys
import warnings

import numpy as np
import pytest

import gyrod as gd
from gyrod import files, problems
from gyrod.solve import budget, recording

TOP = problems.get("lang-a").system


def simulate_module():
    return sys.modules["gyrod.solve.simulate"]  # the function hides it


def spinning(rate):
    return gd.System([gd.Body("top", mass=1.0, inertia=(1.0, 2.0, 3.0), angular_velocity=(1.0, rate, 1.0))])


@pytest.mark.parametrize("method", ["dopri5", "rodas"])
def test_max_steps_stops_a_run_and_keeps_its_motion(method):
    with pytest.raises(
        gd.SimulationError, match=f"{method} took 10 steps, as many as max_steps allows, and stopped at t"
    ):
        gd.simulate(TOP, 10.0, method=method, max_steps=10)
    whole = gd.simulate(TOP, 0.1, method=method)
    again = gd.simulate(TOP, 0.1, method=method, max_steps=whole.stats.steps)
    assert np.array_equal(again.y, whole.y)
    with pytest.raises(gd.SimulationError) as caught:
        gd.simulate(TOP, 0.1, method=method, max_steps=whole.stats.steps - 1)
    assert caught.value.motion.stats.steps == whole.stats.steps - 1
    assert np.array_equal(caught.value.motion.y, whole.y[:-1])


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "x", 10**400])
def test_max_steps_must_be_a_whole_number(bad):
    with pytest.raises(ValueError, match=r"max_steps = .* must be a whole number from 1 to 1000000000"):
        gd.simulate(TOP, 0.1, max_steps=bad)


def test_max_steps_belongs_to_adaptive_methods_of_the_core():
    with pytest.raises(ValueError, match="max_steps = 5 cannot be given with method = 'variational'"):
        gd.simulate(TOP, 0.1, method="variational", step=0.01, max_steps=5)
    with pytest.raises(ValueError, match="max_steps = 5 is for gyrod's own methods, not for 'scipy:RK45'"):
        gd.simulate(TOP, 0.1, method="scipy:RK45", max_steps=5)


def test_a_recorded_run_goes_on_with_more_steps(tmp_path):
    with pytest.raises(gd.SimulationError, match="max_steps"):
        gd.simulate(TOP, 5.0, save=tmp_path / "run.h5", max_steps=10)
    resumed = gd.simulate(TOP, 5.0, save=tmp_path / "run.h5", resume=True)
    whole = gd.simulate(TOP, 5.0, save=tmp_path / "whole.h5")
    assert whole.stats.steps > 10
    assert resumed.stats.steps == whole.stats.steps
    assert np.array_equal(resumed.y, whole.y)


def test_max_steps_in_files_studies_and_on_the_command_line(tmp_path, monkeypatch, capsys):
    from gyrod.cli import main

    monkeypatch.chdir(tmp_path)
    text = files.dumps(TOP, files.RunOptions(until=10.0, max_steps=20))
    assert files.loads(text).run.options()["max_steps"] == 20
    (tmp_path / "top.yaml").write_text(text)
    for more, steps in (((), 20), (("--max-steps", "30"), 30)):
        with pytest.raises(SystemExit, match="1"):
            main(["run", "top.yaml", "-q", *more])
        assert f"took {steps} steps, as many as max_steps allows" in capsys.readouterr().err
    study = gd.study(
        TOP, vary={"top.mass": [10.0, 11.0]}, outputs={"x": "top.position"}, t_end=1.0, max_steps=3, engine="serial"
    )
    assert all("as many as max_steps allows" in text for text in study.failed.values())
    assert sorted(study.failed) == [0, 1]


# --- memory ----------------------------------------------------------------------------------------------------------


def test_dense_output_is_given_up_beyond_a_part_of_the_memory(monkeypatch):
    whole = gd.simulate(TOP, 1.0, method="dop853")
    monkeypatch.setattr(budget, "free_memory", lambda: 2_000_000)  # 250 kB of dense output, 333 kB of rows
    # A smaller bound than what is needed:
    monkeypatch.setattr(budget, "DENSE", whole.y.nbytes / 2e6)
    motion = gd.simulate(TOP, 1.0, method="dop853")
    assert np.array_equal(motion.y, whole.y)
    assert len(motion.notes) == 1
    assert "dense output of dop853" in motion.notes[0]
    assert "save=" in motion.notes[0]
    t = np.linspace(0.0, 1.0, 37)
    error = np.abs(motion(t)["top"].matrix - whole(t)["top"].matrix).max()
    assert 0.0 < error < 1e-3  # cubics between the rows
    assert whole.notes == ()


def test_without_rows_between_there_is_a_reason(monkeypatch):
    monkeypatch.setattr(budget, "free_memory", lambda: 20_000)
    motion = gd.simulate(TOP, 1.0, method="dop853", output=[0.0, 0.5, 1.0])
    assert "motion(t) is not available" in motion.notes[0]
    with pytest.raises(ValueError, match="keeps no dense output; the dense output of dop853 would have taken more"):
        motion(0.25)


def test_rows_that_would_fill_the_memory_stop_the_run(monkeypatch):
    monkeypatch.setattr(budget, "free_memory", lambda: 100_000)
    with pytest.raises(
        gd.SimulationError, match=r"rows would fill the memory \(.* save= .* output= keeps fewer"
    ) as caught:
        gd.simulate(spinning(1e4), 10.0, dense=False)
    motion = caught.value.motion
    assert 100_000 / 6 < motion.y.nbytes < 100_000 / 6 + 200
    assert motion.status == "too-many-rows"
    with pytest.raises(
        ValueError, match=r"100001 rows of 1 body would fill the memory; output=n keeps each n-th, save="
    ):
        gd.simulate(TOP, 10.0, method="variational", step=1e-4)
    kept = gd.simulate(TOP, 1.0, method="variational", step=1e-3, output=100)
    assert len(kept.t) == 11


def test_the_free_memory_is_less_than_the_machine_has():
    free = budget.free_memory()
    assert free > 1 << 20
    if hasattr(os, "sysconf"):
        assert free <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of addresses are counted on Linux")
def test_a_limit_of_addresses_counts(tmp_path):
    import subprocess

    code = "import resource, gyrod; from gyrod.solve.budget import free_memory as f; import sys;"
    code += "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); print(f())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 1 << 30


# --- forecast --------------------------------------------------------------------------------------------------------


def test_a_run_of_years_is_forecast(monkeypatch):
    monkeypatch.setattr(budget, "FIRST", 0.0)
    monkeypatch.setattr(simulate_module(), "EVERY", 0.0)
    with (
        pytest.warns(RuntimeWarning, match="at this pace .* steps and .* are left") as caught,
        pytest.raises(gd.SimulationError, match="max_steps"),
    ):
        gd.simulate(spinning(150e12), 1.0, dense=False, max_steps=60_000)
    assert len(caught) == 1
    left = float(re.search(r"at this pace (\S+) steps", str(caught[0].message))[1])
    assert 1e14 < left < 1e17
    assert caught[0].filename == __file__


def test_a_recorded_run_of_years_is_forecast_too(monkeypatch, tmp_path):
    monkeypatch.setattr(budget, "FIRST", 0.0)
    monkeypatch.setattr(recording, "budget", lambda *_: 1000)  # several blocks, however fast the machine is
    with pytest.warns(RuntimeWarning, match="at this pace"), pytest.raises(gd.SimulationError, match="max_steps"):
        gd.simulate(spinning(150e12), 1.0, save=tmp_path / "run.h5", max_steps=20_000)


def paced(monkeypatch, rows, t_end=1.0):
    """A forecast that is called at times of the run and of the clock."""
    clock = iter([at for _, _, at in rows])
    monkeypatch.setattr(budget.time, "perf_counter", lambda: next(clock))
    watch = budget.Forecast(t_end)
    for t, h, _ in rows:
        watch(t, h)


def test_a_slow_start_is_not_forecast_as_years(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paced(monkeypatch, [(0.0, 1e-9, 0.0), (1e-9, 1e-6, 0.9), (1e-3, 1e-6, 1.5)])  # slow so far, fast now
        paced(monkeypatch, [(0.0, 1e-3, 0.0), (0.5, 1e-9, 1.0), (0.5 + 1e-9, 1e-9, 1.5)])  # the other way round
        paced(monkeypatch, [(0.0, 1e-3, 0.0), (1e-9, 1e-9, 0.9)])  # too early to say
    rows = [(0.0, 1e-9, 0.0), (5e-7, 1e-9, 0.5), (1e-6, 1e-9, 1.0), (2e-6, 1e-9, 1.5), (3e-6, 1e-9, 99.0)]
    with pytest.warns(RuntimeWarning, match=r"t = 1e-06 of 1 s .* at this pace 1e\+09 steps and 12 days") as caught:
        paced(monkeypatch, rows)
    assert len(caught) == 1


# --- tolerances ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rtol", [0.05, 0.1])
def test_a_tolerance_that_resolves_nothing_warns(rtol):
    with pytest.warns(
        RuntimeWarning, match=f"rtol = {rtol:g} allows an error of {100 * rtol:g} % .* nothing is resolved"
    ):
        gd.simulate(problems.get("four-bar").system, 0.5, method="dopri5", rtol=rtol)


def test_usual_tolerances_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gd.simulate(TOP, 0.1, method="dopri5", rtol=0.02)
        gd.simulate(TOP, 0.1, method="dopri5", rtol=0.1, step=0.01)
