"""Examples are tests, each pinned to one number."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_gyro_attitude(tmp_path, capsys):
    example = runpy.run_path(str(EXAMPLES / "gyro_attitude.py"))
    _, outcomes = example["solve"]()
    assert outcomes["magnus6"].clean[-1] == pytest.approx(8.4e-8, rel=0.02)
    example["main"](str(tmp_path))
    assert "gyro_attitude.png" in capsys.readouterr().out
    assert (tmp_path / "gyro_attitude.png").exists()


def test_heavy_top(tmp_path, capsys):
    example = runpy.run_path(str(EXAMPLES / "heavy_top.py"))
    outcomes = example["run"]()
    assert outcomes["nullspace-quaternion"].error == pytest.approx(8.0e-6, rel=0.05)
    assert outcomes["nullspace-quaternion"].evaluations == pytest.approx(19514, rel=0.02)
    for coordinates in ("quaternion", "directors"):
        null_space, absolute = (outcomes[f"{kind}-{coordinates}"] for kind in ("nullspace", "absolute"))
        assert null_space.energy < absolute.energy
    assert outcomes["nullspace-directors"].error < outcomes["absolute-directors"].error
    # Projected with Omega kept, the absolute quaternions are as accurate as the null-space form here.
    assert outcomes["absolute-quaternion"].error == pytest.approx(5.9e-6, rel=0.05)
    example["main"](str(tmp_path))
    assert "heavy_top.png" in capsys.readouterr().out
    assert (tmp_path / "heavy_top.png").exists()


def test_tennis_racket(tmp_path, capsys):
    example = runpy.run_path(str(EXAMPLES / "tennis_racket.py"))
    outcomes = example["run"]()
    reversals = outcomes["medial"].reversals
    assert len(reversals) == 6
    assert reversals[0] == pytest.approx(0.3441823, abs=1e-6)
    assert reversals[2] - reversals[0] == pytest.approx(1.562305, abs=1e-5)  # the trusted period
    assert outcomes["medial"].wobble > 170.0
    for stable in ("smallest", "largest"):
        assert outcomes[stable].reversals == ()
        assert outcomes[stable].wobble < 0.02
    example["main"](str(tmp_path))
    assert "tennis_racket.png" in capsys.readouterr().out
    assert (tmp_path / "tennis_racket.png").exists()


def test_top_for_an_hour(tmp_path, capsys):
    example = runpy.run_path(str(EXAMPLES / "top_for_an_hour.py"))
    outcomes = example["run"](180.0)
    tenths = {
        name: [abs(part).max() for part in (o.energy[: len(o.t) // 10], o.energy[-(len(o.t) // 10) :])]
        for name, o in outcomes.items()
    }
    assert tenths["variational"] == pytest.approx([8.4e-7, 8.4e-7], rel=0.02)
    assert tenths["variational, directors"] == pytest.approx([3.1e-5, 3.1e-5], rel=0.02)
    assert max(tenths["energy-momentum"]) < 1e-12
    for name, o in outcomes.items():
        constant = o.steps == 50_000
        assert constant == (name.split(",")[0] in ("variational", "energy-momentum"))
        assert abs(o.momentum).max() < 1e-11 if constant else tenths[name][1] > 5.0 * tenths[name][0]
    example["main"](str(tmp_path), 36.0)
    assert "top_for_an_hour.png" in capsys.readouterr().out
    assert (tmp_path / "top_for_an_hour.png").exists()


def test_swinging_hose(tmp_path, capsys):
    example = runpy.run_path(str(EXAMPLES / "swinging_hose.py"))
    outcomes = example["run"]()
    assert outcomes["blended", 20][0] == pytest.approx(1.2e-3, rel=0.1)
    assert outcomes["blended", 20][0] < outcomes["lumped", 40][0]
    example["main"](str(tmp_path))
    assert "swinging_hose.png" in capsys.readouterr().out
    assert (tmp_path / "swinging_hose.png").exists()


def test_four_bar(capsys):
    example = runpy.run_path(str(EXAMPLES / "four_bar.py"))
    system, motion = example["run"]()
    left = system.mobility()
    assert (left.freedoms, left.redundant) == (0, 3)
    assert motion["coupler"].position[-1] == pytest.approx(motion["coupler"].position[0], abs=1e-9)  # a whole turn
    assert motion["bearing"].force[0, [0, 2]] == pytest.approx([4.32, -23.18], abs=0.01)
    assert motion["motor"].torque[0, 1] == pytest.approx(-4.858, abs=1e-3)
    example["main"]()
    assert "0 degrees of freedom" in capsys.readouterr().out


def test_hanging_cable(tmp_path, capsys):
    example = runpy.run_path(str(EXAMPLES / "hanging_cable.py"))
    cables = example["run"]()
    wire, rod, hose = cables.values()
    assert wire.sag == pytest.approx(1.90804, abs=1e-5)
    assert wire.sag == pytest.approx(example["catenary"](1.0)[1], rel=1e-3)  # which depends on the lengths alone
    assert rod.start_force[2] == pytest.approx(0.5 * 7850 * 9.81 * 3.14159265 * 5e-3**2 * 10.0, rel=1e-8)
    stretched = example["catenary"](1100 * 9.81 * 3.14159265 * 1e-4 * 10.0, 5e6 * 3.14159265 * 1e-4)[1]
    assert hose.sag == pytest.approx(stretched, rel=1e-4)
    example["main"](str(tmp_path))
    assert "hanging_cable.png" in capsys.readouterr().out
    assert (tmp_path / "hanging_cable.png").exists()
