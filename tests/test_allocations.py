"""No allocation per step: small programs count what operator new is asked for."""

from __future__ import annotations

import programs


def test_steps_do_not_allocate():
    rows = programs.linked("tests/cpp/allocations.cpp", "-O0")
    assert len(rows) == 10 * 6
    assert len({what for what, *_ in rows}) == 6
    for what, formulation, method, steps, allocations in rows:
        assert int(steps) > 5, (what, formulation, method)
        assert int(allocations) == 0, (what, formulation, method, allocations)


def test_constant_steps_do_not_allocate():
    rows = programs.linked("tests/cpp/variational.cpp")
    assert len(rows) == 14
    for case, steps, allocations in rows:
        assert (int(steps), int(allocations)) == (50, 0), case
