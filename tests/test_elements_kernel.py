"""The compiled kernel of rod elements against dual numbers: a small program compares them, element by element."""

from __future__ import annotations

import programs
import pytest


@pytest.mark.slow
@pytest.mark.parametrize("degree", [2, 3, 4])
def test_forces_rates_and_blocks_are_derivatives(degree):
    rows = programs.rows("tests/cpp/elements.cpp", "-O0", f"-DDEGREE={degree}")
    assert len({tuple(row[:4]) for row in rows}) == 16  # double and lanes; damped, coupled, stretched or not
    for scalar, damped, coupled, stretched, *errors in rows:
        assert max(map(float, errors)) < 1e-12, (scalar, damped, coupled, stretched, errors)
        assert float(errors[2]) > 0.0, "nothing was compared"
