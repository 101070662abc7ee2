"""H. Lang, J. Linn, M. Arnold: Multibody dynamics simulation of geometrically exact Cosserat rods (2011), by parts.

Tables 2 and 3 have two data sets: "as-computed", which the paper's counts come from, and "as-printed".
"""

from __future__ import annotations

from collections.abc import Callable

from gyrod.reproduce import Report
from gyrod.reproduce.lang_linn_arnold_2011.costs import (
    figure_7,
    figure_8,
    step_control,
    table_1,
    table_2,
    table_2_as_printed,
    table_3,
    table_3_as_printed,
)
from gyrod.reproduce.lang_linn_arnold_2011.curvatures import figure_9, figure_10, figure_11
from gyrod.reproduce.lang_linn_arnold_2011.linearised import eigenvalues, multipliers
from gyrod.reproduce.lang_linn_arnold_2011.motions import test_1, test_2

TITLE = (
    "Lang, Linn, Arnold: Multibody dynamics simulation of geometrically exact Cosserat rods. Fraunhofer ITWM 209 (2011)"
)


def run(report: Report) -> None:
    """What takes less than a minute."""
    for part in QUICK:
        PARTS[part](report)


#: What can be asked for by name.
PARTS: dict[str, Callable[[Report], None]] = {
    "table1": table_1,
    "test1": test_1,
    "test2": test_2,
    "table2": table_2,
    "table3": table_3,
    "table2-as-printed": table_2_as_printed,
    "table3-as-printed": table_3_as_printed,
    "figure7": figure_7,
    "figure8": figure_8,
    "figure9": figure_9,
    "figure10": figure_10,
    "figure11": figure_11,
    "step-control": step_control,
    "eigenvalues": eigenvalues,
    "multipliers": multipliers,
}


#: What is done unless a part is named.
QUICK = (
    "table1",
    "test1",
    "test2",
    "table2",
    "figure8",
    "figure9",
    "figure10",
    "figure11",
    "eigenvalues",
    "multipliers",
)
