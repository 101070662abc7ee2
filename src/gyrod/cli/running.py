"""gyrod run: simulate a model file into a result file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer

from gyrod.cli.frame import Face, Json, ModelPath, Problem, amount, app, ending, error_data, seconds
from gyrod.cli.models import load
from gyrod.cli.options import read, with_run_options
from gyrod.runs.methods import CONSTANT, PEERS
from gyrod.runs.options import IN_FILES, OPTIONS, goes_without

if TYPE_CHECKING:
    from gyrod._check import Array
    from gyrod.files import RunOptions
    from gyrod.model import System
    from gyrod.motion import Motion
    from gyrod.solve.progress import Progress as State

#: Real seconds between two lines of progress where there is no terminal.
EVERY = 10.0


@app.command("run")
@with_run_options()
def _run(
    model: ModelPath,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Result file; default MODEL.h5 in this folder.")
    ] = None,
    save: Annotated[bool, typer.Option("--save/--no-save", help="Whether to write a result file.")] = True,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run, or begin it.")] = False,
    view: Annotated[bool, typer.Option("--view", help="Watch it in the browser while it runs.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE even if it is not a result of gyrod.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")] = False,
    json: Json = None,
    **given: object,
) -> None:
    """Simulate a model file and write the result.

    Options override what the file has under run.
    """
    file = load(model)
    options = merged(file.run, read(given))
    if options.until is None:
        raise Problem(
            f"{model} does not say how long to run; give --until SECONDS, or run: {{until: ...}} in the file."
        )
    if resume and not save:
        raise typer.BadParameter("--resume continues a result file; leave --no-save out.")
    path = target(model, out, force=force, resume=resume) if save else None
    face = Face(json, quiet=quiet)
    motion = _simulate(file.system, options, path, resume=resume, view=view, quiet=quiet)
    rows, data = outcome(motion, options.until)
    notes = list(motion.notes) if path is None else notes_of(motion, options.rtol or 0.0)
    data["notes"] = notes
    rows += [("note", note) for note in notes]
    face.pairs(rows)
    if path is not None:
        data["file"] = path
        face.wrote(path, f" ({amount(path.stat().st_size)}); see it with gyrod view {path}")
    face.give({"model": model, **data})


def merged(run: RunOptions, given: dict[str, object]) -> RunOptions:
    """The options of a file with those of the command line before them."""
    from gyrod.files import RunOptions

    found, method = {name: getattr(run, name) for name in IN_FILES}, given.get("method", run.method)
    if method != run.method:  # what belonged to the other method goes
        constant = method in CONSTANT
        for name, option in IN_FILES.items():
            if name in OPTIONS and goes_without(str(method), name) if constant else option.only or name == "step":
                found[name] = None
    return RunOptions(**found | given)


def target(model: Path, out: Path | None, *, force: bool, resume: bool) -> Path:
    """Where the result goes; a file that is not a result of gyrod is not overwritten."""
    path = Path(f"{model.stem}.h5") if out is None else out
    ending(path, (".h5", ".hdf5", ".vtkhdf"), "a result")
    if path.is_dir():
        raise Problem(f"{path} is a folder; give the name of a file with --out.")
    if not path.parent.is_dir():
        raise Problem(f"{path.parent} does not exist; make this folder first, or give another --out.")
    if path.exists() and not force and not resume:
        from gyrod import storage

        try:
            storage.info(path)
        except (ValueError, OSError):
            raise Problem(f"{path} exists and is not a result of gyrod; give another --out, or --force.") from None
    try:  # as the run will: beside the file, which it then replaces
        with TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise Problem(f"{path} cannot be written: {path.parent} takes no files ({error.strerror}).") from None
    return path


def _simulate(
    system: System, options: RunOptions, path: Path | None, *, resume: bool, view: bool, quiet: bool
) -> Motion:
    """The run itself; what it has computed when it ends early is kept."""
    import gyrod as gd

    until, how = options.until, options.options()
    how |= {"view": True} if view else {}
    if path is not None:
        how |= {"save": path, "resume": resume}
    else:
        how.setdefault("dense", False)
    # Methods of others write when they are done.
    streamed = path is not None and options.method not in PEERS
    kept = f"; {path} holds what was computed" if streamed else ""
    try:
        with progress(until, quiet=quiet) as tick:
            return gd.simulate(system, until, **how, progress=tick)
    except KeyboardInterrupt as error:
        motion = getattr(error, "motion", None)
        if motion is None and streamed:  # it came while rows were written
            with suppress(ValueError, OSError):
                motion = gd.open(str(path))
        where = f" at t = {motion.t[-1]:.6g} of {until:g} s" if motion is not None and len(motion.t) else ""
        again = ", and gyrod run --resume continues it" if streamed else ""
        raise KeyboardInterrupt(f"interrupted{where}{kept}{again}") from None
    except gd.AccuracyError as error:
        raise Problem(str(error)) from error
    except gd.SimulationError as error:
        if path is not None and not streamed and len(error.motion.t):
            error.motion.save(path)
            kept = f"; {path} holds what was computed"
        raise Problem(f"{str(error).rstrip('.')}{kept}.") from error


@contextmanager
def progress(until: float, *, quiet: bool = False) -> Iterator[Callable[..., None] | bool]:
    """A function for simulate to call: a bar on a terminal, a line every ten seconds elsewhere."""
    if quiet:
        yield False
        return
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=None), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True, expand=True) as bar:
        task = bar.add_task(f"t = 0 of {until:g} s", total=until)

        begun: list[State] = []

        def tick(state: State) -> None:
            if not begun:
                begun.append(state)
            bar.update(task, completed=state.t, description=told(state, begun[0]))

        yield tick


class _Lines:
    """Progress as lines on standard error."""

    def __init__(self) -> None:
        self.last = time.perf_counter()
        self.begun: State | None = None

    def __call__(self, state: State) -> None:
        self.begun = self.begun or state
        now = time.perf_counter()
        if now - self.last >= EVERY:
            self.last = now
            print(told(state, self.begun), file=sys.stderr, flush=True)


def told(state: State, begun: State) -> str:
    """Simulated time, speed against real time, step, error of the energy; ``begun`` is the first state of this run."""
    spent = state.seconds - begun.seconds
    speed = (state.t - begun.t) / spent if spent > 0.0 else state.speed  # a resumed run does not begin at 0
    text = f"t = {state.t:.4g} of {state.t_end:g} s, {speed:.3g} x real time"
    text += f", h = {seconds(state.h)}" if state.h else ""
    return text if state.energy_error is None else f"{text}, energy error {state.energy_error:.0e}"


def outcome(motion: Motion, until: float) -> tuple[list[tuple[str, str]], dict[str, object]]:
    """What a run cost and kept: rows to print, and the same as data."""
    stats = motion.stats
    t = float(motion.t[-1]) if len(motion.t) else 0.0
    drift = float(motion.drift.position.max()) if len(motion.t) else 0.0
    energy = energy_error(motion)
    speed = t / stats.seconds if stats.seconds else None
    data = {
        "status": motion.status, "t": t, "until": until, "method": stats.method, "formulation": stats.formulation,
        "rows": len(motion.t), "steps": stats.steps, "rejected": stats.rejected, "rhs": stats.rhs,
        "jacobians": stats.jacobians, "factorizations": stats.factorizations, "seconds": stats.seconds,
        "real_time_factor": speed, "energy_error": energy, "drift": drift,
        "events": [{"t": e.t, "name": e.name} for e in motion.events],
    }  # fmt: skip
    fast = "" if speed is None else f": {speed:.3g} times real time"
    rows = [
        ("method", f"{stats.method}, {stats.formulation}"),
        ("simulated", f"{t:g} s in {seconds(stats.seconds)} of CPU time{fast}"),
        (
            "steps",
            f"{stats.steps}, {stats.rejected} rejected; {stats.rhs} f, {stats.jacobians} J; {len(motion.t)} rows",
        ),
    ]
    if energy is not None:
        rows.append(("energy", f"kept to {energy:.1e} of the largest kinetic energy"))
    if motion.compiled.system.contacts and (lost := dissipated(motion)) is not None:
        data["dissipated"] = float(lost[-1])
        rows.append(("lost", f"{lost[-1]:.4g} J, by friction, damping and impacts"))
    rows.append(("drift", f"{drift:.1e} (constraints)"))
    if len(motion.t):
        report = motion.error
        rows.append(("errors", report.line()))
        data |= error_data(report)
        rows += [("chosen", report.chosen.partition(": ")[2])] if report.chosen else []
    ended = motion.status == "event" and bool(motion.events)
    for event in motion.events[: len(motion.events) - ended]:
        rows.append(("passed", f"at t = {event.t:.6g} s: {event.name}"))
    if ended:
        rows.append(("ended", f"at t = {motion.events[-1].t:.6g} s: {motion.events[-1].name}"))
    return rows, data


def dissipated(motion: Motion) -> Array | None:
    """Energy that is lost; None where it is not known."""
    try:
        return motion.energy.dissipated if len(motion.t) else None
    except ValueError:  # neither dense output nor every step
        return None


def notes_of(motion: Motion, rtol: float) -> list[str]:
    """What is to say of a run; of one in a file, which is read for it if it is not large, of its contacts."""
    from gyrod.solve import touches

    if motion.notes or not len(motion.t) or len(motion.t) * motion.compiled.size > touches.MOST:
        return list(motion.notes)
    return list(touches.notes(motion.compiled, motion.t, motion.y, rtol))


def energy_error(motion: Motion) -> float | None:
    """Largest energy that came or went without a cause, over the largest kinetic one; None where it is unknown."""
    from gyrod.model.conservation import conservative

    if not len(motion.t):
        return None
    energy, system = motion.energy, motion.compiled.system
    largest = float(energy.kinetic.max())
    if largest == 0.0:
        return None
    if conservative(system):
        return float(abs(energy.total - energy.total[0]).max()) / largest
    if not system.rods and conservative(system, touching=False) and (lost := dissipated(motion)) is not None:
        kept = energy.total + lost
        return float(abs(kept - kept[0]).max()) / largest
    if not system.rods or system.bodies:
        return None
    try:
        return float(abs(energy.balance).max()) / largest
    except ValueError:  # no dense output
        return None
