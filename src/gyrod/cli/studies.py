"""gyrod study: many runs of a model, and what came out."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from gyrod._words import listed
from gyrod.cli.frame import (
    Face,
    Formatter,
    Json,
    Problem,
    amount,
    app,
    choice,
    ending,
    file_argument,
    readable,
    seconds,
)
from gyrod.cli.results import PICTURES

if TYPE_CHECKING:
    from gyrod.studies import Study
    from gyrod.studies.indices import SobolIndices
    from gyrod.studies.progress import StudyProgress

#: Real seconds between two lines of progress where there is no terminal.
EVERY = 10.0
#: Runs up to which those that failed are counted when it is done: it means to read them all again.
COUNTED = 1_000_000
#: Failed runs that are listed, and rows of a CSV that are written at a time.
LISTED, ROWS = 40, 4096


class WithDefault(TyperGroup):
    """A group of commands in which `run` need not be said."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `run` before what is not a command."""
        if args and args[0] not in (*self.commands, "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def format_usage(self, ctx: object, formatter: Formatter) -> None:  # noqa: ARG002
        """Both ways to call it."""
        formatter.write_usage("gyrod study", "PLAN [OPTIONS]")
        formatter.write_usage("gyrod study show", "FOLDER [OPTIONS]", prefix="       ")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Those of `run`, then the commands."""
        run = self.commands["run"]
        with run.make_context("run", [], parent=ctx, resilient_parsing=True) as inner:
            run.format_options(inner, formatter)
        with formatter.section("Commands"):
            formatter.write_dl([("show", self.commands["show"].get_short_help_str(60))])


#: Typer keeps it in different places from release to release.
_Context: Any = TyperCommand.context_class


class UnsaidContext(_Context):  # type: ignore[misc]
    """Of a command whose name need not be said: sentences call it like the group."""

    @property
    def command_path(self) -> str:
        """How the group is called."""
        return str(self.parent.command_path)


class Unsaid(TyperCommand):
    """The command `run` of a group `WithDefault`."""

    context_class = UnsaidContext

    def format_usage(self, ctx: Any, formatter: Formatter) -> None:
        """Without its name."""
        formatter.write_usage(ctx.command_path, "PLAN [OPTIONS]")


studies = typer.Typer(cls=WithDefault, no_args_is_help=True, rich_markup_mode=None)
app.add_typer(studies, name="study", help="Run a model many times, with parameters that vary.")

PlanPath = Annotated[Path, file_argument("PLAN", "Plan file; see gyrod new study.")]
FolderPath = Annotated[Path, file_argument("FOLDER", "Folder of a study.")]


# --- run -------------------------------------------------------------------------------------------------------------


@studies.command("run", cls=Unsaid, hidden=True)
def _run(
    plan: PlanPath,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="DIR", help="Folder of the results; default PLAN without its ending."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted study.")] = False,
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="I/N", help="Run this part of N, from 0/N on; share the folder.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option("--engine", metavar="E", help="local, threads, processes, serial, dask, tcp://host:port."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, metavar="N", help="Threads or processes; default one per processor."),
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", min=1, metavar="N", help="Samples, in place of those of the plan.")
    ] = None,
    chunk: Annotated[int | None, typer.Option("--chunk", min=1, metavar="N", help="Runs in a file.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Check the plan, and run nothing.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")] = False,
    json: Json = None,
) -> None:
    """Run a plan.

    Results go to a folder while it runs. Options go before what the plan says.
    """
    from gyrod.studies.engines import check_engine
    from gyrod.studies.plan_files import load_plan

    _is_plan(plan)
    if engine is not None:
        check_engine(engine)
    file = load_plan(plan, samples=samples, engine=engine, workers=workers, chunk=chunk)
    face = Face(json, quiet=quiet)
    place = folder or file.folder or Path(plan.stem)
    if check:
        vary, kept = file.arguments["vary"], file.arguments["outputs"]
        face.say(f"{plan}: sound.")
        face.pairs([("runs", str(file.size)), ("vary", ", ".join(vary)), ("outputs", ", ".join(kept))])
        face.give({"ok": True, "plan": plan, "runs": file.size, "vary": list(vary), "outputs": list(kept)})
        return
    begun = time.perf_counter()
    study = _study(plan, file.arguments, place, resume=resume, shard=shard, quiet=quiet)
    spent = time.perf_counter() - begun
    failed = len(study.failed) if study.size <= COUNTED else None
    face.say(str(study))
    face.say(f"{study.done} of {study.size} runs are in {place}, after {seconds(spent)}.")
    face.say(f"See them with gyrod study show {place} --plot matrix{_more(study, place, failed)}.")
    face.give(
        {"plan": plan, "folder": place, "runs": study.size, "done": study.done, "failed": failed, "seconds": spent}
    )
    if failed and failed == study.done == study.size:
        raise Problem(f"all {failed} runs failed; the first says: {next(iter(study.failed.values()))}")


def _is_plan(path: Path) -> None:
    """A file that is there, and not the folder of a study or something else."""
    if (path / "study.json").exists():
        raise Problem(f"{path} is the folder of a study, not a plan; see it with gyrod study show {path}.")
    if not path.exists() and not path.suffix:
        choice("command", str(path), ["show", "PLAN.yaml"])
    readable(path, "a plan of a study (.yaml), as gyrod new study prints it")


def _study(
    plan: Path, arguments: Mapping[str, Any], place: Path, *, resume: bool, shard: str | None, quiet: bool
) -> Study:
    """The study itself; whatever ends it early says how to continue."""
    import gyrod as gd

    again = f"gyrod study {plan}{f' --folder {place}' if place != Path(plan.stem) else ''}"
    again += f"{f' --shard {shard}' if shard else ''} --resume"
    progress = False if quiet else True if sys.stderr.isatty() else _Lines()
    try:
        return gd.study(**arguments, folder=place, resume=resume, shard=shard, progress=progress)
    except gd.StudyInterrupted as error:
        kept = "nothing is kept" if error.study is None else f"{error.study.done} of {error.study.size} runs are kept"
        if "has vanished" in str(error):
            raise KeyboardInterrupt(str(error).replace("resume=True", "--resume")) from None
        raise KeyboardInterrupt(f"interrupted; {kept} in {place}, and {again} continues it.") from None
    except gd.StudyError as error:
        text = str(error).replace("call it again with resume=True to continue", f"{again} continues it")
        raise Problem(text.replace("resume=True", "--resume").replace("folder=", "--folder ")) from error


def _more(study: Study, place: Path, failed: int | None) -> str:
    text = f", those that failed with gyrod study show {place} --failed" if failed else ""
    return text if study.done == study.size else f"{text}; {study.size - study.done} are left for other shards"


class _Lines:
    """Progress as lines on standard error."""

    def __init__(self) -> None:
        self.last = time.perf_counter()

    def __call__(self, state: StudyProgress) -> None:
        now = time.perf_counter()
        if now - self.last >= EVERY:
            self.last = now
            left = f", {seconds(state.remaining)} left" if 0.0 < state.remaining < 1e9 else ""
            failed = f", {state.failed} failed" if state.failed else ""
            told = f"{state.done} of {state.size} runs, {state.rate:.3g} runs/s{left}{failed}"
            print(told, file=sys.stderr, flush=True)


# --- show ------------------------------------------------------------------------------------------------------------


@studies.command("show")
def _show(
    folder: FolderPath,
    output: Annotated[
        str | None, typer.Option("--output", metavar="NAME", help="One output, as tip or tip[2].")
    ] = None,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="KIND", help="matrix, response, histogram, map, curves, sobol.")
    ] = None,
    parameter: Annotated[str | None, typer.Option("--parameter", metavar="NAME", help="Abscissa of a plot.")] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="NAME", help="Second parameter of a response or map.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-o", metavar="FILE", help="Picture; default FOLDER-KIND.png in this folder."),
    ] = None,
    sobol: Annotated[bool, typer.Option("--sobol", help="Which parameter the variance comes from.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="List the runs that failed.")] = False,
    table: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write all runs as CSV.")] = None,
    json: Json = None,
) -> None:
    """Summarise a study, draw it, or write it as CSV."""
    study, face = _opened(folder), Face(json)
    data: dict[str, object] = {"folder": folder, "runs": study.size, "done": study.done}
    for path, allowed, what in ((file, PICTURES, "a picture"), (table, (".csv",), "a table")):
        if path is not None:
            ending(path, allowed, what)
    if file is not None and plot is None:
        raise typer.BadParameter("--file names a picture; say which with --plot.")
    if failed:
        data["failed"] = study.failed
        _tell_failed(face, study)
    if sobol:
        indices = study.sobol(output)
        face.say(str(indices))
        data["sobol"] = _indices(indices)
    if plot is not None:
        data["file"] = _draw(study, plot, output, parameter, by, file or Path(f"{folder.resolve().name}-{plot}.png"))
        face.wrote(data["file"])
    if table is not None:
        _write(study, table)
        face.wrote(table, f" ({amount(table.stat().st_size)})")
        data["csv"] = table
    if not (failed or sobol or plot or table):
        if output is None:
            face.say(str(study))
        else:
            face.grid(_statistics(study, output))
    if json is not None:
        data["outputs"] = {row[0]: dict(zip(STATISTICS, row[1:], strict=True)) for row in _numbers(study, output)}
    face.give(data)


def _opened(folder: Path) -> Study:
    from gyrod.studies import stored

    if folder.is_file():
        raise Problem(f"{folder} is a file, not the folder of a study; gyrod study {folder} runs a plan.")
    return stored(folder)


def _tell_failed(face: Face, study: Study) -> None:
    """Runs that failed, the same reason once."""
    reasons: dict[str, list[int]] = {}
    for run, text in study.failed.items():
        reasons.setdefault(text, []).append(run)
    if not reasons:
        face.say(f"None of {study.done} runs failed.")
    for text, runs in list(reasons.items())[:LISTED]:
        face.say(f"run{'s' if len(runs) > 1 else ''} {listed(runs, 8)}: {text}")
    if len(reasons) > LISTED:
        face.say(f"and {len(reasons) - LISTED} more reasons; --csv FILE has them all.")


def _indices(indices: SobolIndices) -> dict[str, object]:
    kinds = {"first": indices.first, **({} if indices.total is None else {"total": indices.total})}
    return {
        output: {kind: dict(zip(indices.parameters, values[k].tolist(), strict=True)) for kind, values in kinds.items()}
        for k, output in enumerate(indices.outputs)
    }


def _draw(study: Study, kind: str, output: str | None, parameter: str | None, by: str | None, file: Path) -> Path:
    from gyrod.look.plots.studies import KINDS

    choice("--plot", kind, [*KINDS, "sobol"])
    chosen = {"output": output} if kind == "sobol" else {"output": output, "parameter": parameter, "by": by}
    study.plot(kind, **chosen, file=file)
    return file


STATISTICS = ("mean", "std", "min", "5 %", "50 %", "95 %", "max")


def _numbers(study: Study, output: str | None) -> Iterator[tuple[str, *tuple[float | None, ...]]]:
    """Label and statistics of every entry of the outputs."""
    import numpy as np

    whole = None if output is None else output if output in study.outputs else output.split("[")[0]
    chosen = study.outputs if whole is None else (choice("--output", whole, study.outputs),)
    known = []
    for name in chosen:
        values = study[name]
        for place in np.ndindex(values.shape[1:]):
            label = name + (f"[{', '.join(map(str, place))}]" if place else "")
            known.append(label)
            if output in (None, name, label):
                x = values[(slice(None), *place)]
                x = x[np.isfinite(x)]
                told = (
                    [x.mean(), x.std(), x.min(), *np.quantile(x, (0.05, 0.5, 0.95)), x.max()] if len(x) else [None] * 7
                )
                yield label, *(None if v is None else float(v) for v in told)
    if output is not None and output not in (*chosen, *known):
        choice("--output", output, known)


def _statistics(study: Study, output: str) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = [(output, *STATISTICS)]
    for label, *values in _numbers(study, output):
        rows.append((label, *("-" if v is None else f"{v:.6g}" for v in values)))
    return rows


def _write(study: Study, file: Path) -> None:
    """All runs as CSV, a part at a time."""
    import numpy as np

    columns = study._columns
    with file.open("w", newline="", encoding="utf-8") as target:
        writer = csv.writer(target)
        names = ["run", *study.names, *study.outputs, "status", "t", "steps", "seconds", "error"]
        head: list[str] = []
        for start in range(0, study.size, ROWS):
            stop = min(start + ROWS, study.size)
            parts = [np.arange(start, stop)[:, None]]
            for name in names[1:]:
                values = columns.take(name, slice(start, stop))
                if start == 0:
                    head += [name + (f"[{','.join(map(str, i))}]" if i else "") for i in np.ndindex(values.shape[1:])]
                parts.append(values.reshape(stop - start, -1))
            if start == 0:
                writer.writerow(["run", *head])
            writer.writerows(
                [x for part in row for x in part] for row in zip(*(p.tolist() for p in parts), strict=True)
            )
