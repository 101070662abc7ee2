"""Derivatives of force elements written out against dual numbers; see tests/cpp/forces.cpp."""

from __future__ import annotations

import programs


def test_blocks_are_those_of_dual_numbers():
    rows = programs.linked("tests/cpp/forces.cpp", "-O0")
    names = {row[0] for row in rows}
    assert names == {"spring", "damper", "straight", "straight_damper", "cable", "onset", "slack", "bushing", "applied"}
    for name in names:
        for count in (3, 9):
            mine = [(float(row[2]), float(row[3])) for row in rows if row[:2] == [name, str(count)]]
            assert len(mine) >= 60
            assert (max(size for size, _ in mine) > 0.1) == (name != "slack")
            assert all(gap <= 1e-12 * max(size, 1.0) for size, gap in mine)
