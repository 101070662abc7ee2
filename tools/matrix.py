"""Every system in every formulation, by every method, for every task: make matrix, which writes docs/matrix.md.

The cells are those of tests/combinations.py. Each row runs in a process of its own, two at a time; a cell that ends its
process or takes too long is marked and the row goes on behind it. The exit status is 1 if a cell is wrong.
"""

from __future__ import annotations

import collections
import json
import multiprocessing
import re
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import combinations  # type: ignore[import-not-found]  # noqa: E402

#: Rows at the same time, and seconds until a cell that does not look at the time itself is ended.
PROCESSES, LIMIT = 2, 90.0
#: How a cell can end, the worst first, and its sign on the page.
SIGNS = {"wrong": "**X**", "slow": "~", "unsupported": "·", "physical": "o", "agrees": "+"}
TITLES = {"formulation": "Formulations", "method": "Methods", "task": "Tasks"}

Cell = dict[str, object]


def _row(name: str, cells: list[str], out: Connection) -> None:
    for cell in cells:
        verdict = combinations.cell(combinations.SYSTEMS[name], cell)
        out.send((cell, {"ended": verdict.ended, "errors": verdict.errors, "words": verdict.words,
                         "seconds": verdict.seconds}))  # fmt: skip


def run_row(name: str, cells: Iterable[str], limit: float = LIMIT, work: Callable[..., None] = _row) -> dict[str, Cell]:
    """Verdicts of the cells of one system; what ends its process, or does not end, is a verdict too."""
    left, found = list(cells), dict[str, Cell]()
    start = multiprocessing.get_context("spawn")
    while left:
        here, there = start.Pipe(duplex=False)
        process = start.Process(target=work, args=(name, left, there), daemon=True)
        process.start()
        there.close()
        while left:
            try:
                done = here.recv() if here.poll(limit) else None
            except EOFError:
                process.join()
                found[left.pop(0)] = {"ended": "wrong", "words": f"the process ended with status {process.exitcode}"}
                break
            if done is None:
                found[left.pop(0)] = {"ended": "slow", "words": f"ended after {limit:g} s"}
                break
            found[done[0]] = done[1]
            left.remove(done[0])
        process.kill()
        process.join()
        here.close()
    return found


def run(processes: int = PROCESSES) -> dict[str, dict[str, Cell]]:
    """All cells of all systems."""
    names = list(combinations.SYSTEMS)
    with ThreadPoolExecutor(processes) as pool:
        found = {}
        for name, row in zip(names, pool.map(lambda name: run_row(name, combinations.CELLS), names), strict=True):
            ended = collections.Counter(cell["ended"] for cell in row.values())
            print(f"{name}: " + ", ".join(f"{n} {end}" for end, n in ended.items()), flush=True)
            found[name] = row
    return found


def _sentence(words: str) -> str:
    """A sentence without the names of one system, so that one note stands for all that mean the same."""
    words = words.replace("- ", "").replace("2 problems:\n", "").replace("\n", " ")
    words = re.sub(r" \('[^']*'(, '[^']*')*\)", "", words)
    words = re.sub(r"\b(rod|body|joint) '[^']*'", r"a \1", words)
    return words.replace("|", "\\|").strip()


class Notes:
    """Numbered sentences of the page, each once."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, words: str) -> str:
        """The number of a sentence, as a mark."""
        number = self.numbers.setdefault(_sentence(words), len(self.numbers) + 1)
        return f"<sup>{number}</sup>"


def _signs(cells: list[Cell], notes: Notes) -> str:
    """One sign if all cells of a heading ended alike, with what was said."""
    marks = []
    for cell in cells:
        words = "" if cell["ended"] == "agrees" else str(cell["words"])
        marks.append(SIGNS[str(cell["ended"])] + (notes(words) if words else ""))
    return marks[0] if len(set(marks)) == 1 else " ".join(marks)


def page(found: dict[str, dict[str, Cell]]) -> str:
    """docs/matrix.md."""
    cells = [cell for row in found.values() for cell in row.values()]
    ended = collections.Counter(str(cell["ended"]) for cell in cells)
    lines = [
        "# Which system runs how",
        "",
        f"{len(found)} systems in every formulation, by every method and for every task, {len(cells)} cells in all: "
        f"{ended['agrees']} ran and agree with a tight run, {ended['physical']} were refused for a reason of mechanics "
        f"or of the method, {ended['unsupported']} are not supported, {ended['slow']} are slow, {ended['wrong']} are "
        "wrong. `make matrix` writes this page; systems and cells are in `tests/combinations.py`, and each cell is a "
        "call of the public interface.",
        "",
        "| sign | |",
        "|---|---|",
        f"| {SIGNS['agrees']} | ran, and agrees with the tight run: places, rotations, forces of joints and of ends |",
        f"| {SIGNS['physical']} | refused by a sentence that names a reason of mechanics or of the method |",
        f"| {SIGNS['unsupported']} | refused by a sentence: not supported |",
        f"| {SIGNS['slow']} | more than {combinations.SLOW:g} s of processor time |",
        f"| {SIGNS['wrong']} | a result that does not agree, or an error without a sentence: a defect |",
        "",
        "Where the cells of a heading ended differently, their signs stand beside each other in the order of the table "
        "below; the small numbers are the sentences at the end of the page.",
    ]
    notes = Notes()
    for table, title in TITLES.items():
        columns = [column for column in combinations.COLUMNS if column.table == table]
        lines += ["", f"## {title}", "", "| | |", "|---|---|"]
        lines += [f"| {column.name} | {column.about} |" for column in columns]
        head = " | ".join(["system", *(column.name for column in columns)])
        lines += ["", f"| {head} |", "|---" * (len(columns) + 1) + "|"]
        for name, row in found.items():
            signs = [_signs([row[cell] for cell in column.cells], notes) for column in columns]
            lines.append(f"| {name} | " + " | ".join(signs) + " |")
    lines += ["", "## What was said", ""]
    lines += [f"{number}. {words}" for words, number in notes.numbers.items()]
    return "\n".join([*lines, ""])


def main() -> int:
    """Run all and write the page; 1 if a cell is wrong."""
    found = run()
    kept = ROOT / "build" / "matrix.json"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(found, indent=1), encoding="utf-8")
    path = ROOT / "docs" / "matrix.md"
    path.write_text(page(found), encoding="utf-8")
    wrong = [(name, cell, end["words"]) for name, row in found.items() for cell, end in row.items()
             if end["ended"] == "wrong"]  # fmt: skip
    for name, cell, words in wrong:
        print(f"wrong: {name}, {cell}: {words}")
    print(path.relative_to(ROOT))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
