"""gyrod info, plot, view, animate, export: result files."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gyrod.cli.frame import (
    Face,
    Json,
    Problem,
    ResultPath,
    amount,
    app,
    choice,
    ending,
    file_argument,
    names,
    readable,
    seconds,
)

if TYPE_CHECKING:
    from gyrod.model import Rod
    from gyrod.motion import Motion

Names = Annotated[
    str | None, typer.Option("--names", metavar="NAMES", help="Bodies and rods, with commas; default all.")
]
PICTURES = (".png", ".pdf", ".svg", ".jpg", ".eps")


def opened(path: Path) -> Motion:
    """The motion of a result file, or a sentence."""
    import gyrod as gd

    readable(path, "a result file (.h5)")
    if path.suffix.lower() in (".yaml", ".yml", ".json"):
        raise Problem(f"{path} is a model, not a result; simulate it first with gyrod run {path}.")
    found: Motion = gd.open(path)
    return found


@app.command("info")
def _info(
    result: Annotated[Path | None, file_argument("RESULT", "Result file (.h5); none: about gyrod.")] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Read all of it and compare its check sums.")] = False,
    json: Json = None,
) -> None:
    """Report what a result file holds; alone, which core runs."""
    face = Face(json)
    if result is None:
        import gyrod as gd
        from gyrod import _core

        about = {
            "gyrod": gd.__version__, "core": _core.isa(), "python": sys.version.split()[0],
            "folder": Path(gd.__file__).parent,
        }  # fmt: skip
        face.pairs((name, str(value)) for name, value in about.items())
        face.give(about)
        return
    motion = opened(result)
    system, stats = motion.compiled.system, motion.stats
    t = motion.t
    first, last = (float(t[0]), float(t[-1])) if len(t) else (0.0, 0.0)
    size = result.stat().st_size
    data = {
        "file": result, "bytes": size, "status": motion.status, "rows": len(t), "begin": first, "end": last,
        "method": stats.method, "formulation": stats.formulation, "steps": stats.steps, "rejected": stats.rejected,
        "rhs": stats.rhs, "jacobians": stats.jacobians, "seconds": stats.seconds or None, "bodies": list(system.names),
        "rods": {rod.name: rod.mesh.cells for rod in system.rods}, "joints": [j.label for j in system.joints],
        "degrees": {rod.name: rod.degree for rod in system.rods},
        "contacts": [contact.key for contact in system.contacts],
        "sensors": [sensor.name for sensor in system.sensors],
        "events": [{"t": e.t, "name": e.name} for e in motion.events],
    }  # fmt: skip
    # A run that was killed did not say what it cost.
    cost = f", {seconds(stats.seconds)} of CPU time" if stats.seconds else ""
    rows = [
        ("file", f"{result}, {amount(size)}"),
        ("status", motion.status),
        ("time", f"{first:g} to {last:g} s, {len(t)} rows"),
        ("method", f"{stats.method}, {stats.formulation}; {stats.steps} steps{cost}"),
    ]
    rows += [("bodies", ", ".join(system.names))] if system.bodies else []
    rows += [("rods", ", ".join(f"{rod.name} ({_cells(rod)})" for rod in system.rods))] if system.rods else []
    rows += [("joints", ", ".join(joint.label for joint in system.joints))] if system.joints else []
    rows += [("contacts", ", ".join(contact.key for contact in system.contacts))] if system.contacts else []
    rows += [("sensors", ", ".join(sensor.name for sensor in system.sensors))] if system.sensors else []
    rows += [("event", f"{e.name or e.event} at t = {e.t:.6g} s") for e in motion.events]
    if verify:
        data["checked"] = _verified(result)
        rows.append(("checked", f"{data['checked']} blocks, all as they were written"))
    face.pairs(rows)
    face.give(data)


def _verified(path: Path) -> int:
    """Number of check sums, all of them right."""
    from gyrod import storage

    count, damaged = storage.verify(path)
    if damaged:
        raise Problem("\n".join([f"{path} is damaged; what was written there were other numbers (CRC-32):", *damaged]))
    if not count:
        raise Problem(f"{path} has no check sums: it was written by a gyrod that made none.")
    return count


def _cells(rod: Rod) -> str:
    """How a rod is discretised, in words."""
    n = rod.mesh.cells
    return f"{n} segments" if rod.degree is None else f"{n} element{'s' if n > 1 else ''} of degree {rod.degree}"


@app.command("plot")
def _plot(
    result: ResultPath,
    what: Annotated[
        list[str] | None, typer.Argument(metavar="WHAT...", help="energy, path, force ...; see --list.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Picture; default RESULT-WHAT.png in this folder."),
    ] = None,
    chosen: Names = None,
    list_: Annotated[bool, typer.Option("--list", help="List what can be drawn.")] = False,
    json: Json = None,
) -> None:
    """Draw energy, paths, section forces and others as pictures."""
    from gyrod import look

    face = Face(json)
    if list_:
        for name in look.PLOTS:
            face.say(name)
        face.give(list(look.PLOTS))
        return
    wanted = what or ["energy"]
    for name in wanted:
        choice("WHAT", name, look.PLOTS)
    if out is not None:
        ending(out, PICTURES, "a picture")
    motion, files = opened(result), []
    for name in wanted:
        path = out or Path(f"{result.stem}-{name.replace(' ', '-')}.png")
        if out is not None and len(wanted) > 1:
            path = out.with_name(f"{out.stem}-{name.replace(' ', '-')}{out.suffix}")
        motion.plot(name, names=names(chosen), file=str(path))
        files.append(path)
        face.wrote(path)
    face.give({"files": files})


@app.command("view")
def _view(
    result: ResultPath,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write a page (.html) instead.")
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port of the page; 0: any.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser, or print the address.")
    ] = True,
    json: Json = None,
) -> None:
    """Watch it in the browser, or write a page that plays offline."""
    face, motion = Face(json), opened(result)
    if out is not None:
        ending(out, (".html", ".htm"), "a page")
        motion.html(out, title=result.stem)
        face.wrote(out, f" ({amount(out.stat().st_size)})")
        face.give({"file": out, "bytes": out.stat().st_size})
        return
    with suppress(KeyboardInterrupt), motion.view(port=port, browser=False, block=False, title=result.stem) as page:
        found = page.open() if browser else False
        face.say(f"{page.address} shows {result}{'' if found else '; open it in a browser'}. Ctrl-C ends.")
        face.give({"address": page.address})
        sys.stdout.flush()
        page.wait()


@app.command("animate")
def _animate(
    result: ResultPath,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Movie (.mp4 or .gif); default RESULT.mp4.")
    ] = None,
    fps: Annotated[int, typer.Option("--fps", min=1, help="Frames per second.")] = 30,
    speed: Annotated[float, typer.Option("--speed", metavar="X", help="Times real time.")] = 1.0,
    chosen: Names = None,
    json: Json = None,
) -> None:
    """Write a movie (MP4 or GIF)."""
    path = out or Path(f"{result.stem}.mp4")
    ending(path, (".mp4", ".gif"), "a movie")
    face, motion = Face(json), opened(result)
    motion.animate(str(path), fps=fps, speed=speed, names=names(chosen))
    face.wrote(path, f" ({amount(path.stat().st_size)})")
    face.give({"file": path, "bytes": path.stat().st_size})


@app.command("export")
def _export(
    result: ResultPath,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help=".csv, .npz or .nc (netCDF).", show_default=False)
    ],
    chosen: Names = None,
    json: Json = None,
) -> None:
    """Write the motion as CSV, NPZ or netCDF."""
    suffix = ending(out, (".csv", ".npz", ".nc"), "an export")
    face, motion = Face(json), opened(result)
    if chosen is not None and suffix != ".csv":
        raise Problem(f"--names chooses columns of a CSV; {out} holds everything, leave it out.")
    if suffix == ".csv":
        motion.to_csv(out, names=names(chosen))
    elif suffix == ".npz":
        motion.to_npz(out)
    else:
        motion.to_xarray().to_netcdf(out)
    face.wrote(out, f" ({amount(out.stat().st_size)})")
    face.give({"file": out, "bytes": out.stat().st_size})
