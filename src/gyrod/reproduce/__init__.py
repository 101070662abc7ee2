"""The papers' tables and figures, regenerated, with the paper's value beside ours.

One module for each paper; it fills a `Report`. To add one: a module with ``TITLE`` and ``run(report)``, and its name
in `PAPERS`. A module may have ``PARTS``, functions of a report by the name that a user can ask for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from gyrod import _check

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Papers by the name the command line knows, and the module that reproduces each.
PAPERS = {
    "zupan-saje-2011": "gyrod.reproduce.zupan_saje_2011",
    "lang-2010": "gyrod.reproduce.lang_2010",
    "lang-linn-arnold-2011": "gyrod.reproduce.lang_linn_arnold_2011",
    "xu-zhong-2016": "gyrod.reproduce.xu_zhong_2016",
}

Value = float | int | str | None


@dataclass(frozen=True)
class Row:
    """One number of a paper and ours: ``item`` is the table or figure, ``paper`` None where it gives none."""

    item: str
    label: str
    paper: Value
    here: Value


@dataclass
class Report:
    """Collects rows and, if ``out`` is a folder, writes the figures there as PNG files."""

    out: Path | None = None
    #: Called with a sentence when a piece of work begins.
    progress: Callable[[str], None] = lambda _: None
    rows: list[Row] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)

    def add(self, item: str, label: str, paper: Value, here: Value) -> None:
        """Append a row."""
        self.rows.append(Row(item, label, paper, here))

    def figure(self, name: str, draw: Callable[[Figure], None], size: tuple[float, float] = (10.0, 4.0)) -> None:
        """Draw a figure with ``draw(figure)`` and save it as ``name``.png; nothing happens without ``out``."""
        if self.out is None:
            return
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / f"{name}.png"
        figure.savefig(path, dpi=110)
        self.figures.append(path)

    def save_json(self, file: str) -> None:
        """Write the rows as JSON, to standard output for "-"."""
        text = json.dumps([asdict(row) for row in self.rows], indent=1)
        if file == "-":
            print(text)
        else:
            Path(file).write_text(text + "\n", encoding="utf-8")


def multistep() -> tuple[str, str]:
    """The method that stands for DASSL, DASPK and ODE15s, and its name: CVODE, or SciPy's where that is missing."""
    from gyrod.solve.peers import require

    try:
        require("bdf")
    except ImportError:
        return "scipy:BDF", "BDF (SciPy: no scikit-sundae)"
    return "bdf", "BDF (CVODE)"


def title(paper: str) -> str:
    """The paper's title."""
    return str(import_module(PAPERS[paper]).TITLE)


def parts(paper: str) -> tuple[str, ...]:
    """Parts of the paper by name; none if it is done as a whole."""
    return tuple(getattr(import_module(PAPERS[paper]), "PARTS", ()))


def reproduce(paper: str, report: Report, wanted: Sequence[str] = ()) -> Report:
    """Fill ``report`` with the parts of the paper that are ``wanted``, or with what it does by default."""
    module = import_module(PAPERS[_check.choice("paper", paper, PAPERS)])
    known = parts(paper)
    if wanted and not known:
        raise ValueError(f"{paper} has no parts; leave {', '.join(map(repr, wanted))} out.")
    for part in wanted:
        _check.choice("part", part, known)
    if not wanted:
        module.run(report)
    for part in dict.fromkeys(wanted):
        module.PARTS[part](report)
    return report
