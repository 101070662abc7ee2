"""gyrod new, gyrod check, gyrod schema: model files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gyrod._words import listed
from gyrod.cli.frame import Face, Json, ModelPath, Problem, app, choice, plain, readable, seconds

if TYPE_CHECKING:
    from gyrod.equations import Compiled
    from gyrod.files import ModelFile
    from gyrod.files.options import RunOptions
    from gyrod.model import System

STARTERS = Path(__file__).parent / "starters"


def starters() -> dict[str, str]:
    """The starter models by name, each as text; the first is the one that is given unasked."""
    found = {path.stem: path.read_text(encoding="utf-8") for path in sorted(STARTERS.glob("*.yaml"))}
    return {"hose": found.pop("hose"), **found}


def starter_plans() -> dict[str, str]:
    """The starter plans of studies by name, each as text."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted((STARTERS / "plans").glob("*.yaml"))}


def load(path: Path) -> ModelFile:
    """Read a model file, or end with sentences."""
    from gyrod import files

    readable(path, "a model file (.yaml or .json)")
    if path.suffix.lower() in (".h5", ".hdf5"):
        raise Problem(f"{path} is a result, not a model; see it with gyrod info or gyrod view.")
    try:
        return files.load_model(path)
    except files.ModelFileError as error:
        if any(problem.path == ("vary",) for problem in error.details):
            how = f"gyrod study {path} runs it, with --check it only checks it"
            raise Problem(f"{path} is a plan of a study, not a model; {how}.") from None
        raise


@app.command("new")
def _new(
    name: Annotated[str, typer.Argument(help="Which one, see --list.")] = "hose",
    list_: Annotated[bool, typer.Option("--list", help="List the starter models.")] = False,
    json: Json = None,
) -> None:
    """Print a commented starter model: gyrod new > hose.yaml."""
    known = starters() | starter_plans()
    titles = {key: text.splitlines()[0].lstrip("# ").strip() for key, text in known.items()}
    face = Face(json)
    if list_:
        face.grid(list(titles.items()), left=2)
        face.give(titles)
        return
    text = known[choice("name", name, known)]
    face.say(text.rstrip())
    face.give({"name": name, "text": text})


@app.command("schema")
def _schema(
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write it to a file.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Schema of plans of studies.")] = False,
    json: Json = None,
) -> None:
    """Print the JSON Schema of model files, for editors."""
    from gyrod import files

    if plan:
        from gyrod.studies.plan_schema import plan_schema

        schema = plan_schema()
    else:
        schema = files.json_schema()
    if out is None and json is None:
        Face("-").give(schema)
    for file in (out, json):
        if file is not None:
            Face(str(file)).give(schema)


@app.command("check")
def _check_model(model: ModelPath, json: Json = None) -> None:
    """Check a model file: all problems with line and column."""
    face = Face(json)
    try:
        file = load(model)
        system = _sound(file)
        rows, data = summary(system, file.run)
    except Problem:
        raise
    except ValueError as error:
        face.give({"ok": False, "model": model, "problems": _problems(error)})
        raise
    face.say(f"{model}: sound.")
    face.pairs(rows)
    face.give({"ok": True, "model": model, **data})


def _sound(file: ModelFile) -> System:
    """Return the system as a run starts with it, or report all problems of the model and of its run at once."""
    import gyrod as gd
    from gyrod.equations import compile_system
    from gyrod.runs.methods import rigid

    system = gd.assemble(file.system) if file.run.assemble and file.system.joints else file.system
    problems = _told(lambda: compile_system(system, hard=rigid(file.run.method)))
    problems += [f"run: {text}" for text in _told(lambda: _try_options(system, file.run)) if text not in problems]
    if problems:
        raise gd.ModelError(problems)
    return system


def _told(work: Callable[[], object]) -> list[str]:
    """Sentences of what is wrong."""
    try:
        work()
    except (ValueError, ImportError) as error:
        return list(getattr(error, "problems", ())) or [str(error)]
    return []


def _try_options(system: System, run: RunOptions) -> None:
    """Let simulate check the options of a run, and stop it before its first step."""
    import numpy as np

    import gyrod as gd

    how = run.options() | {"dense": False, "assemble": False}
    until = run.until or run.step or (float(run.output[-1]) if np.ndim(run.output) else 0.0) or 1.0
    begun = False

    def stop(_: object) -> None:
        nonlocal begun
        begun = True
        raise KeyboardInterrupt

    try:
        gd.simulate(system, until, **how, progress=stop)
    except KeyboardInterrupt:
        if not begun:
            raise
    except gd.SimulationError as error:
        if error.time == 0.0:
            raise ValueError(f"it fails at once: {error}") from None


def _problems(error: ValueError) -> list[object]:
    """Problems of a model one by one, with their place in the file where it is known."""
    found = getattr(error, "problems", None) or [str(error)]
    keys = ("line", "column", "where", "message")
    return [{k: getattr(p, k) for k in keys if hasattr(p, k)} if hasattr(p, "line") else str(p) for p in found]


def summary(system: System, run: RunOptions | None = None) -> tuple[list[tuple[str, str]], dict[str, object]]:
    """What a model holds: rows to print, and the same as data."""
    from gyrod.equations import compile_system
    from gyrod.runs.methods import rigid

    compiled = compile_system(system, hard=rigid(getattr(run, "method", None)))
    rows: list[tuple[str, str]] = []
    data: dict[str, object] = {}

    def tell(key: str, value: object, text: str) -> None:
        rows.append((key, text))
        data[key.replace(" ", "_")] = value

    if system.bodies:
        mass = sum(b.mass for b in system.bodies)
        tell("bodies", len(system.bodies), f"{len(system.bodies)}, {mass:.4g} kg: {listed(system.names, 6, str)}")
        data["body_mass"] = mass
    if system.rods:
        _tell_rods(tell, data, system)
    for note in system.notes:
        tell("notes", system.notes, note)
    if system.joints:
        kinds = [type(joint).__name__ for joint in system.joints]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        tell("joints", len(kinds), f"{len(kinds)}: {counts}")
    for field in ("forces", "contacts", "sensors"):
        members = getattr(system, field, ())
        if members:
            kinds = [type(x).__name__ for x in members]
            tell(
                field, len(kinds), f"{len(kinds)}: " + ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds))
            )
    _tell_samples(tell, system)
    _tell_freedoms(tell, system, compiled)
    _tell_method(tell, compiled, run)
    return rows, plain(data)


def _tell_rods(tell: Callable[[str, object, str], None], data: dict[str, object], system: System) -> None:
    length = sum(rod.length for rod in system.rods)
    cells: dict[int | None, int] = {}
    for rod in system.rods:
        cells[rod.degree] = cells.get(rod.degree, 0) + rod.mesh.cells
    parts = [f"{n} segments" if p is None else f"{n} elements of degree {p}" for p, n in cells.items()]
    names = listed(system.rod_names, 6, str)
    tell("rods", len(system.rods), f"{len(system.rods)}, {length:.4g} m, {', '.join(parts)}: {names}")
    segments = cells.pop(None, 0)
    data |= {"rod_length": length, "segments": segments, "elements": sum(cells.values())}


def _tell_samples(tell: Callable[[str, object, str], None], system: System) -> None:
    """What was measured, and what it asks of the model."""
    from gyrod.model import Samples
    from gyrod.model.inputs import functions

    listed: list[dict[str, object]] = []
    for path, series, unit in functions(system, Samples):
        most, gaps = series.extremes(), series.gaps
        step = (series.end - series.start) / (len(series.times) - 1)
        unit = "rad" if series.turning else unit or "1"
        parts = [f"{path}: {len(series.times)} {series.kind}s from t = {series.start:g} to {series.end:g} s"]
        parts.append(f"every {seconds(step)} on average")
        if len(gaps):
            begin, end = gaps[(gaps[:, 1] - gaps[:, 0]).argmax()]
            several = f"{len(gaps)} gaps, the longest" if len(gaps) > 1 else "a gap"
            parts.append(f"{several} from {begin:g} to {end:g} s")
        parts.append(f"at most {most.speed:.3g} {unit}/s at t = {most.speed_at:.4g} s")
        parts.append(f"{most.acceleration:.3g} {unit}/s^2 at t = {most.acceleration_at:.4g} s")
        if series.noise is not None:
            parts.append(f"smoothed over {seconds(series.window)}")
        parts.append(f"outside {series.outside}")
        listed.append(
            {
                "at": path,
                "kind": series.kind,
                "samples": len(series.times),
                "start": series.start,
                "end": series.end,
                "outside": series.outside,
                "gaps": gaps,
                "unit": unit,
                "speed": most.speed,
                "speed_at": most.speed_at,
                "acceleration": most.acceleration,
                "acceleration_at": most.acceleration_at,
                "window": series.window,
                "acceleration_noise": series.acceleration_noise,
            }
        )
        tell("samples", listed, "; ".join(parts))


def _tell_freedoms(tell: Callable[[str, object, str], None], system: System, compiled: Compiled) -> None:
    kinds = list(compiled.kinds)
    if system.rods:
        n = kinds.count("velocity") + kinds.count("spin")
        loops = len(compiled.mechanism.cuts) if compiled.mechanism is not None else 0
        note = f", less what {loops} closed loop{'s' if loops != 1 else ''} take away" if loops else ""
        tell("freedoms", n, f"{n} degrees of freedom{note}; {compiled.size} unknowns")
        return
    mobility = system.mobility()
    first, *redundant = str(mobility).splitlines()
    tell("freedoms", mobility.freedoms, f"{first}; {compiled.size} unknowns")
    for line in redundant:
        tell("redundant", mobility.redundant, line.removeprefix("redundant: "))


def _tell_method(tell: Callable[[str, object, str], None], compiled: Compiled, run: RunOptions | None) -> None:
    """How fast the fastest motion is against the slowest, and what that means."""
    from gyrod.solve import METHODS
    from gyrod.solve.choose import choose_method, spectrum

    slow = compiled._time(compiled._length())
    if compiled.rods:
        fastest, damping = compiled.rod_spectrum()
    else:
        fastest, damping = spectrum(compiled)
    rate = max(fastest, damping)
    if rate * slow > 1.0:
        tell(
            "stiffness",
            rate * slow,
            f"fastest motion {seconds(1.0 / rate)}, slowest about {seconds(slow)}: ratio {rate * slow:.2g}",
        )
    until = getattr(run, "until", None)
    rtol = getattr(run, "rtol", None) or 1e-6
    chosen = choose_method("auto", compiled, rtol, until or 10.0)
    given = getattr(run, "method", None)
    tell(
        "method",
        chosen,
        f"{chosen} ({'implicit' if METHODS[chosen].stiff else 'explicit'}) suggested at rtol = {rtol:g}"
        + (f"; the file has {given}" if given else ""),
    )
    if until is not None:
        tell("until", until, f"{until:g} s")
