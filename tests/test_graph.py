"""The elimination on graphs of bodies by itself; see tests/cpp/graph.cpp."""

from __future__ import annotations

import programs
import pytest


@pytest.fixture(scope="module")
def rows():
    return programs.linked("tests/cpp/graph.cpp")


def test_solutions_fulfil_the_equations(rows):
    solved = [row for row in rows if row[0] in ("double", "complex")]
    assert len(solved) == 300
    assert sum(int(row[2]) > 0 for row in solved) > 150  # bodies that others carry
    assert sum(int(row[3]) > 0 for row in solved) > 80  # and multipliers
    errors = sorted(float(row[4]) for row in solved)
    assert errors[-1] < 1e-9  # random matrices may be near singular
    assert errors[len(errors) * 9 // 10] < 1e-12


def test_transposed_solutions_are_those_of_the_transposed_matrix(rows):
    errors = [float(row[2]) for row in rows if row[0] == "transposed"]
    assert len(errors) > 125
    errors.sort()  # random matrices may be near singular, and then solutions of either differ
    assert errors[len(errors) * 8 // 10] < 1e-13
    assert errors[-1] < 1e-6


def test_fill_of_nets_is_that_of_a_good_order(rows):
    """Nested dissection needs about 10 k³ updates of blocks; an order by numbers k⁴."""
    fill = {int(row[1]): float(row[3]) for row in rows if row[0] == "fill"}
    assert sorted(fill) == [10, 20, 40]
    assert all(value < 12.0 for value in fill.values())
