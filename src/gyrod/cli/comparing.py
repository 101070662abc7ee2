"""gyrod compare: formulations, methods and discretisations side by side."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gyrod.cli.frame import Face, Json, ModelPath, Problem, app, choice, drawable, names, width
from gyrod.cli.models import load
from gyrod.cli.options import read, with_run_options
from gyrod.runs.methods import GROUPS
from gyrod.runs.options import OPTIONS, TRIED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gyrod.comparison import Comparison

#: Options of runs that are passed on: what is on trial, what becomes of a run and what constant steps have is not.
PASSED = [
    name
    for name, option in OPTIONS.items()
    if option.in_files and not (option.apart or option.only or name in (*TRIED, "error", "accuracy"))
]
Discretizations = Annotated[
    str | None,
    typer.Option(
        "--discretizations", metavar="TEXTS", help="Of rods: staggered:40,elements:8,elements:4x6 (degree 4), model."
    ),
]
#: Tolerances of a comparison.
RTOLS = "1e-3,1e-6"
#: Real seconds between two lines of progress where there is no terminal.
EVERY = 5.0


@app.command("compare")
@with_run_options(PASSED)
def _compare(
    model: ModelPath,
    formulations: Annotated[
        str | None, typer.Option("--formulations", metavar="NAMES", help="all, or names with commas.")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", metavar="NAMES", help=f"{', '.join(GROUPS)}, auto, or names; with commas."),
    ] = None,
    discretizations: Discretizations = None,
    reference: Annotated[
        str | None, typer.Option("--reference", metavar="TEXT", help="Discretisation of the reference, elements:4x30.")
    ] = None,
    rtol: Annotated[str, typer.Option("--rtol", metavar="NUMBERS", help="Tolerances, with commas.")] = RTOLS,
    step: Annotated[
        str | None, typer.Option("--step", metavar="NUMBERS", help="Steps of methods with constant steps, s.")
    ] = None,
    until: Annotated[
        float | None, typer.Option("--until", metavar="T", help="End, s; default that of the model.")
    ] = None,
    at_rest: Annotated[
        bool, typer.Option("--at-rest", help="Compare equilibria of --discretizations in place of motions.")
    ] = False,
    limit: Annotated[
        float | None, typer.Option("--limit", metavar="S", help="CPU seconds for each run; 10, with rods 3.")
    ] = None,
    sort: Annotated[
        str,
        typer.Option("--sort", metavar="BY", help="error, cost, energy, drift, method, formulation, discretization."),
    ] = "error",
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw work against error.")] = None,
    json: Json = None,
    **given: object,
) -> None:
    """Formulations and methods side by side: cost, error, drift.

    Each run is measured against a tight reference; those that take too long are stopped, and those that do not support
    the model are listed with the reason. With --discretizations rods are tried with several, by the default
    method unless --methods says more, and errors are those in space and in time; with --at-rest those of equilibria.
    """
    from gyrod.comparison import ORDERS, compare

    choice("--sort", sort, ORDERS)
    drawable(plot)
    face, file = Face(json), load(model)
    how: dict[str, Any] = {"discretizations": names(discretizations), "reference": reference}
    moving = {"--formulations": formulations, "--methods": methods, "--step": step, "--until": until, "--limit": limit}
    passed = read(given)
    if at_rest:
        moving |= {f"--{name.replace('_', '-')}": value for name, value in passed.items()}
        _refuse_moving(moving | {"--rtol": None if rtol == RTOLS else rtol}, discretizations)
        how["at_rest"] = True
    else:
        how |= {"t_end": _end(model, until, file.run.until), "limit": limit, "rtols": _numbers("--rtol", rtol)}
        how |= {"formulations": names(formulations), "methods": names(methods)}
        how["steps"] = None if step is None else _numbers("--step", step)
        how |= passed
    with _progress() as told:
        found = compare(file.system, **how, progress=told)
    face.say(found.table(by=sort, width=width()))
    _write(found, face, plot, json)


def _write(found: Comparison, face: Face, plot: Path | None, json: str | None) -> None:
    """The comparison as a picture and as data, where they are wanted."""
    if plot is not None:
        found.plot(file=plot)
        face.wrote(plot)
    if json == "-":
        print(found.to_json())
    elif json is not None:
        found.to_json(json)
        face.wrote(json)


def _refuse_moving(moving: Mapping[str, object], discretizations: str | None) -> None:
    """Refuse what equilibria do not have."""
    given = [option for option, value in moving.items() if value is not None]
    if given:
        raise Problem(f"{', '.join(given)}: equilibria have none of it; leave it out, or leave out --at-rest.")
    if discretizations is None:
        raise Problem("--at-rest compares discretisations; give --discretizations, as staggered:40,elements:8.")


def _end(model: Path, given: float | None, written: float | None) -> float:
    end = given if given is not None else written
    if end is None:
        raise Problem(
            f"{model} does not say how long to run; give --until SECONDS, or run: {{until: ...}} in the file."
        )
    return end


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """What compare calls before each run: a status on a terminal, a line now and then elsewhere."""
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status("Comparing") as status:
            yield lambda text: status.update(text)
        return
    last = -math.inf

    def line(text: str) -> None:
        nonlocal last
        if time.perf_counter() - last >= EVERY:
            last = time.perf_counter()
            print(f"comparing, {text}", file=sys.stderr, flush=True)

    yield line


def _numbers(option: str, text: str) -> list[float]:
    """Numbers that were given with commas."""
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise Problem(f"{option} = {text!r} must be numbers with commas, such as 1e-3,1e-6.") from None
