"""Studies as users meet them: what comes out is what single runs give; it prints, opens again, and shows its runs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from study_models import RING, pushed, same, speed

import gyrod as gd

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)


def pendulum() -> gd.System:
    bob = gd.Body("bob", 1.0, (0.01, 0.01, 0.01), position=(0, 0, -1))
    return gd.System([bob], [gd.Revolute("ground", "bob", at=(0, 0, 0), axis=(0, 1, 0), name="hinge")])


def rod() -> gd.System:
    line = gd.Straight((0, 0, 0), (1, 0, 0))
    hose = gd.Rod("hose", 1.0, 4, gd.Circle(radius=5e-3), RUBBER, start=gd.Clamped(), initial=line)
    return gd.System(rods=[hose])


def test_outputs_are_those_of_single_runs():
    vary = {"hose.material.young": [1e6, 5e6], "hose.section.radius": [5e-3, 7e-3]}
    outputs = {
        "tip": "hose.positions[-1]",
        "moment": gd.Maximum("norm hose.moment[0]"),
        "at": gd.History("energy.total", 3),
    }
    found = gd.study(rod(), vary, outputs, 0.05, method="rodas", rtol=1e-4)
    assert found.size == 4
    for i in range(4):
        motion = gd.simulate(rod().with_(found.parameters(i)), 0.05, method="rodas", rtol=1e-4)
        assert np.array_equal(found["tip"][i], motion["hose"].positions[-1, -1])
        norm = np.linalg.norm(motion["hose"].moment[:, 0], axis=-1).max()
        assert found["moment"][i] == pytest.approx(norm, rel=1e-2)
        assert found["at"][i, -1] == pytest.approx(motion.energy.total[-1], rel=1e-9)
        assert found["steps"][i] == motion.stats.steps
        again = found.motion(i)
        assert np.array_equal(again.y, motion.y)
    assert found.parameters(3) == {"hose.material.young": 5e6, "hose.section.radius": 7e-3}
    assert found.parameters(-1) == found.parameters(3)


def test_a_study_opens_again_without_its_script(tmp_path):
    vary = {
        "bob.angular_velocity[1]": gd.LogNormal(2.0, 1.1),
        "bob.mass": scipy.stats.norm(loc=1.0, scale=0.01),
        "gravity": [(0, 0, -9.81), (0, 0, -1.62)],
    }
    what = (pendulum(), vary, {"angle": "hinge.coordinate", "v": lambda m: float(m["bob"].velocity[-1, 0])}, 0.1)
    options = {"samples": 8, "sampler": "halton", "assemble": True, "folder": tmp_path / "x", "chunk": 4}
    first = gd.study(*what, **options, shard="0/2")
    found = gd.open(tmp_path / "x")
    assert repr(found) == f"<Study of 16 runs, 8 done in {str(tmp_path / 'x')!r}>"
    assert found.plan is None
    assert found.names == tuple(vary)
    assert found.outputs == ("angle", "v")
    for name in vary:  # of runs that are not there as well
        assert np.array_equal(found[name], first[name])
        assert not np.isnan(found[name]).any()
    assert np.array_equal(found.motion(3).y, first.motion(3).y)
    assert found.motion(12, rtol=1e-3).stats.steps <= found.motion(12).stats.steps
    assert found.motion(0, model=pendulum()).t[-1] == 0.1
    assert found.description["samples"] == 8


def test_models_with_functions_are_asked_for(tmp_path):
    gd.study(pushed, {"force": [1.0, 2.0]}, {"v": speed}, 0.1, folder=tmp_path / "x", engine="serial")
    found = gd.open(tmp_path / "x")
    with pytest.raises(ValueError, match="holds Python functions, which its folder does not; give model="):
        found.motion(1)
    assert speed(found.motion(1, model=pushed)) == found["v"][1]
    event = gd.Event(lambda t, m: t - 0.05, terminal=True)
    ended = gd.study(
        RING, {"ring.mass": [1.0]}, {"t_last": "t"}, 0.1, events=[event], folder=tmp_path / "y", engine="serial"
    )
    assert ended["status"].tolist() == ["event"]
    assert ended.motion(0).t[-1] == pytest.approx(0.05)
    with pytest.raises(ValueError, match="Python functions among the options"):
        gd.open(tmp_path / "y").motion(0)


def test_failed_runs_are_rows_with_a_sentence():
    found = gd.study(RING, {"ring.mass": [1.0, -2.0, 3.0]}, {"w": "ring.Omega"}, 0.1)
    assert list(found.failed) == [1]
    assert "mass" in found.failed[1]
    assert found["status"].tolist() == ["finished", "refused", "finished"]
    assert np.isnan(found["w"]).any(axis=1).tolist() == [False, True, False]
    assert found["error"].tolist() == ["", found.failed[1], ""]


def test_a_study_tells_itself():
    vary = {"ring.mass": [1.0, -2.0, 3.0], "ring.angular_velocity": [(1, 2, 3), (4, 5, 6)]}
    outputs = {
        "w": "ring.Omega[0]",
        "curve": gd.History("ring.Omega[1]", 4),
        "never": gd.Crossing("ring.Omega[0]", 99.0),
    }
    text = str(gd.study(RING, vary, outputs, 0.1))
    lines = text.splitlines()
    assert lines[0].startswith("study of 6 runs: 4 finished, 2 refused; ")
    assert lines[0].endswith(" CPU s")
    rows = {line.split("  ")[1].strip(): line.split()[-3:] for line in lines[2:-2]}
    assert rows["ring.mass"] == ["-2", "1", "3"]
    assert rows["ring.angular_velocity[2]"] == ["3", "4.5", "6"]
    never = next(line for line in lines if line.startswith("  never"))
    assert never.split(maxsplit=4)[1:] == ["nan", "nan", "nan", "4 without a value"]  # refused ones are told above
    assert "curve, last" in rows
    assert lines[-2].startswith("  run 2: ")
    assert "mass" in lines[-2]
    assert lines[-1].startswith("  errors of run 0: positions ")


def test_columns_and_runs_are_asked_for_by_name_and_number():
    found = gd.study(RING, {"ring.mass": [1, 2]}, {"w": "ring.Omega"}, 0.1)
    assert found["ring.mass"].dtype == np.int64
    assert found["w"].shape == (2, 3)
    with pytest.raises(ValueError, match=r"column = 'wx' is unknown.*Did you mean 'w'\?"):
        found["wx"]
    for run in (2, -3, 1.5, True, "a"):
        with pytest.raises(IndexError, match="must be a number from 0 to 1"):
            found.parameters(run)
    assert found.folder is None
    assert len(found) == 2


def test_a_study_draws_and_tells_its_sobol_indices():
    pytest.importorskip("matplotlib")
    vary = {"force": gd.Uniform(1.0, 2.0), "mass": gd.Uniform(1.0, 1.01)}
    found = gd.study(
        pushed, vary, {"v": "ball.velocity[0]"}, 0.1, samples=32, sampler="saltelli", engine="serial", rtol=1e-3
    )
    indices = found.sobol()
    assert indices.parameters == ("force", "mass")
    assert indices["v"]["force"] > 0.9
    assert indices["v"]["mass"] < 0.1
    assert found.plot("matrix") is not None


def test_the_same_seed_is_the_same_study():
    what = (RING, {"ring.mass": gd.Uniform(1.0, 2.0)}, {"w": "ring.Omega"}, 0.05)
    first = gd.study(*what, samples=5, seed=3)
    assert same(first, gd.study(*what, samples=5, seed=3))
    assert not np.array_equal(first["ring.mass"], gd.study(*what, samples=5, seed=4)["ring.mass"])


def test_without_xarray_columns_are_there(monkeypatch):
    import sys

    found = gd.study(RING, {"ring.mass": [1.0, 2.0]}, {"w": "ring.Omega"}, 0.05)
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match=r"study.dataset needs xarray; install gyrod with the extra 'study'"):
        found.dataset  # noqa: B018
    assert found["w"].shape == (2, 3)
    assert "2 finished" in str(found)
