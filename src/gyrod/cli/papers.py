"""gyrod reproduce, gyrod bench: trust."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gyrod.cli.frame import Json, app, choice, drawable

if TYPE_CHECKING:
    from gyrod import bench, reproduce


@app.command("reproduce")
def _reproduce(
    paper: Annotated[str | None, typer.Argument(help="Name of the paper, see --list.")] = None,
    parts: Annotated[list[str] | None, typer.Argument(help="Parts of it, see --list; some run only by name.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List what can be reproduced.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the figures (PNG), in one of the paper's name.")] = None,
    json: Json = None,
) -> None:
    """Regenerate a paper's tables and figures beside its values."""
    from rich.console import Console

    from gyrod import reproduce

    if list_:
        for name in reproduce.PAPERS:
            print(f"{name}  {reproduce.title(name)}")
            if reproduce.parts(name):
                print(f"    parts: {' '.join(reproduce.parts(name))}")
        return
    if paper is None:
        raise ValueError(f"paper is missing; it can be {', '.join(reproduce.PAPERS)} (or ask for --list).")
    choice("paper", paper, reproduce.PAPERS)
    drawable(out, folder=True)
    report = reproduce.Report(out=None if out is None else out / paper)  # figures of papers have the same names
    with Console(stderr=True).status(f"Reproducing {paper}") as status:
        report.progress = lambda text: status.update(f"{paper}: {text}")
        reproduce.reproduce(paper, report, parts or ())
    if json is not None:
        report.save_json(json)
    if json != "-":
        _print(paper, report, json)


def _print(paper: str, report: reproduce.Report, json: str | None) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from gyrod import reproduce

    console = Console()
    console.print(reproduce.title(paper))
    for item in dict.fromkeys(row.item for row in report.rows):
        table = Table(title=item, title_justify="left", box=None)
        table.add_column("quantity")
        table.add_column("paper", justify="right")
        table.add_column("here", justify="right")
        for row in report.rows:
            if row.item == item:
                table.add_row(escape(row.label), *("-" if v is None else escape(f"{v}") for v in (row.paper, row.here)))
        console.print(table)
    for path in report.figures:
        console.print(f"wrote {path}", soft_wrap=True)
    if json:
        console.print(f"wrote {json}", soft_wrap=True)


#: Title, field and format of the columns; "ms" is CPU time.
COLUMNS = (
    ("problem", "problem", ""),
    ("formulation", "formulation", ""),
    ("method", "method", ""),
    ("rtol", "rtol", "g"),
    ("error (m)", "error", ".1e"),
    ("energy", "energy", ".0e"),
    ("gap", "gap", ".0e"),
    ("steps", "steps", "d"),
    ("CPU (ms)", "ms", ".1f"),
)
STATIC_COLUMNS = (
    ("problem", "problem", ""),
    ("quantity", "quantity", ""),
    ("mass", "mass", ""),
    ("value", "value", ".9g"),
    ("reference", "reference", ".9g"),
    ("error", "error", ".1e"),
    ("N", "segments", "d"),
    ("CPU (ms)", "ms", ".1f"),
)


@app.command("bench")
def _bench(
    suite: Annotated[
        str, typer.Argument(help="Which problems; iftomm: mechanisms in motion, rods: rods at rest and their modes.")
    ] = "iftomm",
    json: Json = None,
) -> None:
    """Solve benchmark problems with trusted values."""
    from rich.console import Console

    from gyrod import bench

    choice("suite", suite, bench.SUITES)
    with Console(stderr=True).status(f"Solving {suite}") as status:
        outcomes = bench.SUITES[suite](lambda text: status.update(text))
    if json is not None:
        bench.save_json(outcomes, json)
    if json != "-":
        _print_outcomes(outcomes)
    if json is not None and json != "-":
        Console().print(f"wrote {json}", soft_wrap=True)


def _print_outcomes(outcomes: Sequence[bench.Outcome] | Sequence[bench.StaticOutcome]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from gyrod import bench

    columns = STATIC_COLUMNS if isinstance(outcomes[0], bench.StaticOutcome) else COLUMNS
    table = Table(box=None)
    for title, _, form in columns:
        table.add_column(title, justify="right" if form else "left")
    notes = []
    for o in outcomes:
        values = [
            1e3 * o.seconds if field == "ms" and o.seconds else getattr(o, field, None) for _, field, _ in columns
        ]
        cells = ("-" if v is None else format(v, form) for v, (_, _, form) in zip(values, columns, strict=True))
        table.add_row(*map(escape, cells))
        if o.note:
            notes.append(f"{o.problem}, {getattr(o, columns[1][1])}: {o.note}")
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    console.print(table)
    for note in notes:
        console.print(escape(note))
