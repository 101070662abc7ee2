"""Systems by formulations, methods and tasks: cells end as docs/matrix.md says, or better; make matrix writes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from combinations import CELLS, COLUMNS, SYSTEMS, cell

#: Signs of the page, the worst end first.
ENDS = {"**X**": "wrong", "~": "slow", "·": "unsupported", "o": "physical", "+": "agrees"}
RANKS = list(ENDS.values())


def _page() -> dict[tuple[str, str], str]:
    """How each cell ended when the page was written: by system and cell."""
    text = (Path(__file__).parent.parent / "docs" / "matrix.md").read_text(encoding="utf-8")
    headings, found = {column.name: column for column in COLUMNS}, {}
    for table in re.findall(r"^\| system \|.*\n(?:\|.*\n)+", text, re.MULTILINE):
        head, _, *lines = ([part.strip() for part in line.strip("|").split(" | ")] for line in table.splitlines())
        for name, *entries in lines:
            for heading, entry in zip(head[1:], entries, strict=True):
                cells = headings[heading].cells
                signs = re.sub("<sup>.*?</sup>", "", entry).split() * (1 if " " in entry else len(cells))
                found |= {(name, each): ENDS[sign] for each, sign in zip(cells, signs, strict=True)}
    return found


PAGE = _page()


def _sample() -> list[tuple[str, str]]:
    """Of each column two systems that ran, if there are, and the next one; begun five rows further in each column."""
    names, found = list(SYSTEMS), []
    for k, each in enumerate(CELLS):
        begin = 5 * k % len(names)
        rows = [*names[begin:], *names[:begin]]
        rows = [name for name in dict.fromkeys([*rows[::11], *rows]) if PAGE.get((name, each)) not in (None, "slow")]
        ran = [name for name in rows if PAGE[name, each] == "agrees"][:2]
        found += [(name, each) for name in [*ran, *(name for name in rows if name not in ran)][:3]]
    return found


SAMPLE = _sample()


def test_the_page_has_every_cell_and_no_defect():
    assert set(PAGE) == {(name, each) for name in SYSTEMS for each in CELLS}, "run make matrix"
    assert "wrong" not in PAGE.values()


def test_the_sample_has_every_row_and_every_column():
    assert {each for _, each in SAMPLE} == set(CELLS)
    for name in SYSTEMS:
        assert sum(row == name for row, _ in SAMPLE) >= 2, name


def _ends_as_on_the_page(name: str, each: str) -> None:
    found = cell(SYSTEMS[name], each)
    assert found.ended != "wrong", found.words
    # How long a cell takes depends on the machine, and is no error.
    if found.ended != "slow":
        assert RANKS.index(found.ended) >= RANKS.index(PAGE[name, each]), found.words


@pytest.mark.parametrize(("name", "each"), SAMPLE)
def test_a_cell_ends_as_on_the_page(name, each):
    _ends_as_on_the_page(name, each)


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_row_ends_as_on_the_page(name):
    for each in CELLS:
        if (name, each) not in SAMPLE:
            _ends_as_on_the_page(name, each)
