"""No allocation per step: a small program counts what operator new is asked for."""

from __future__ import annotations

import programs
import pytest

SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("rods", "mechanisms", "coupled")]


@pytest.mark.parametrize("kind", ["bodies", *SLOW])
def test_steps_do_not_allocate(tmp_path, kind):
    sources = ["tests/cpp/allocations.cpp"]
    if kind in ("rods", "coupled"):
        sources.append("cpp/gyrod/rod/elements.cpp")
    options = ["-O1"] if kind == "bodies" else ["-O0", f"-D{kind.upper()}"]
    rows = programs.rows(tmp_path / "allocations", sources, *options)
    assert len(rows) == (6 if kind == "coupled" else 12)
    for formulation, method, steps, allocations in rows:
        assert int(steps) > 5, (formulation, method)
        assert int(allocations) == 0, (formulation, method, allocations)
