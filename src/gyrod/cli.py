"""The command line: gyrod reproduce, gyrod bench."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gyrod import __version__, _check, bench, reproduce

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"gyrod {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Rigid bodies and geometrically exact rods whose rotations never lock."""


@app.command("reproduce")
def _reproduce(
    paper: Annotated[str | None, typer.Argument(help="Name of the paper, see --list.")] = None,
    parts: Annotated[list[str] | None, typer.Argument(help="Parts of it, see --list; some run only by name.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List what can be reproduced.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the figures (PNG).")] = None,
    json: Annotated[str | None, typer.Option(help="File for the rows as JSON; - for standard output.")] = None,
) -> None:
    """Regenerate a paper's tables and figures, the paper's value beside ours."""
    if list_:
        for name in reproduce.PAPERS:
            print(f"{name}  {reproduce.title(name)}")
            if reproduce.parts(name):
                print(f"    parts: {' '.join(reproduce.parts(name))}")
        return
    if paper is None:
        raise ValueError(f"paper is missing; it can be {', '.join(reproduce.PAPERS)} (or ask for --list).")
    _check.choice("paper", paper, reproduce.PAPERS)
    report = reproduce.Report(out=out)
    with Console(stderr=True).status(f"Reproducing {paper}") as status:
        report.progress = lambda text: status.update(f"{paper}: {text}")
        reproduce.reproduce(paper, report, parts or ())
    if json is not None:
        report.save_json(json)
    if json != "-":
        _print(paper, report, json)


def _print(paper: str, report: reproduce.Report, json: str | None) -> None:
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


@app.command("bench")
def _bench(
    suite: Annotated[str, typer.Argument(help="Which problems; iftomm: mechanisms with trusted values.")] = "iftomm",
    json: Annotated[str | None, typer.Option(help="File for the rows as JSON; - for standard output.")] = None,
) -> None:
    """Solve benchmark problems in several ways; error against trusted values, drift, steps and CPU time."""
    _check.choice("suite", suite, bench.SUITES)
    with Console(stderr=True).status(f"Solving {suite}") as status:
        outcomes = bench.SUITES[suite](lambda text: status.update(text))
    if json is not None:
        bench.save_json(outcomes, json)
    if json != "-":
        _print_outcomes(outcomes)
    if json is not None and json != "-":
        Console().print(f"wrote {json}", soft_wrap=True)


def _print_outcomes(outcomes: list[bench.Outcome]) -> None:
    def number(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    table = Table(box=None)
    for name in ("problem", "formulation", "method"):
        table.add_column(name)
    for name in ("rtol", "error (m)", "energy", "gap", "steps", "CPU (ms)"):
        table.add_column(name, justify="right")
    notes = []
    for o in outcomes:
        cells = [number(o.error, ".1e"), number(o.energy, ".0e"), number(o.gap, ".0e"), number(o.steps, "d")]
        cpu = number(None if o.seconds is None else 1e3 * o.seconds, ".1f")
        table.add_row(o.problem, o.formulation, o.method, f"{o.rtol:g}", *cells, cpu)
        if o.note:
            notes.append(f"{o.problem}, {o.formulation}: {o.note}")
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    console.print(table)
    for note in notes:
        console.print(escape(note))


def main() -> None:
    """Entry point: errors are one paragraph on standard error, with exit code 1, unless --debug."""
    try:
        app()
    except (ValueError, ArithmeticError, OSError, ImportError) as error:
        if "--debug" in sys.argv:
            raise
        print(f"gyrod: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
