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
