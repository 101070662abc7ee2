"""The algebra of the kernels and the eliminations by themselves; see tests/cpp/matrix.cpp."""

from __future__ import annotations

import subprocess

import programs
import pytest


@pytest.fixture(scope="module")
def program():
    return programs.compiled("tests/cpp/matrix.cpp", "-O0")


def test_operations_are_those_of_plain_loops(program):
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert {scalar for _, scalar, _ in rows} == {"double", "complex", "dual"}
    assert len(rows) > 120
    for what, scalar, error in rows:
        assert float(error) < 2e-13, (what, scalar)


@pytest.mark.parametrize("what", ["index", "vector-index", "column", "block", "overlap", "grid-index", "grid-size"])
def test_mistakes_are_asserted(program, what):
    done = subprocess.run([program, what], capture_output=True, text=True, check=False)
    assert done.returncode < 0
    assert "Assertion" in done.stderr
    assert subprocess.run([program, "none"], check=False).returncode == 0
