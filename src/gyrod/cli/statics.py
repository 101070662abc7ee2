"""gyrod rest, gyrod modes: statics."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gyrod.cli.frame import Face, Json, ModelPath, app, drawable, error_data, vector
from gyrod.cli.models import load

if TYPE_CHECKING:
    from gyrod.model import System
    from gyrod.motion import Rest
    from gyrod.solve.modal import Modes

#: Radians of a turn.
TURN = 2.0 * math.pi


@app.command("rest")
def _rest(
    model: ModelPath,
    at: Annotated[
        float, typer.Option("--at", metavar="T", help="Time at which functions of time are evaluated, s.")
    ] = 0.0,
    factor: Annotated[float, typer.Option("--load", metavar="X", help="Factor on gravity and all forces.")] = 1.0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the equilibrium as a result (.h5).")
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw the shape.")] = None,
    error: Annotated[str, typer.Option("--error", metavar="HOW", help="Errors: rough, total or finer.")] = "finer",
    threads: Annotated[int, typer.Option("--threads", metavar="N", help="Threads that share the work.")] = 1,
    json: Json = None,
) -> None:
    """Find the equilibrium: places, reactions, stability."""
    import gyrod as gd

    face = Face(json)
    drawable(plot)
    system = load(model).system
    rest = gd.equilibrium(system, t=at, load=factor, error=error, threads=threads)
    face.say(f"{'stable' if rest.stable else f'unstable ({rest.unstable} directions)'} equilibrium")
    for sentence in rest.free:
        face.say(f"free: {sentence}")
    data = _rest_data(rest)
    rows = [(f"body {name}", "at", f"{vector(b['position'])} m") for name, b in data["bodies"].items()]
    for name, rod in data["rods"].items():
        for end in ("start", "end"):
            rows.append((f"rod {name}, {end}", "at", f"{vector(rod[end])} m"))
            for what, unit in (("force", "N"), ("moment", "N m")):
                if any(rod[f"{end}_{what}"]):
                    rows.append(("", f"{what} that holds it", f"{vector(rod[f'{end}_{what}'])} {unit}"))
    for label, joint in data["joints"].items():
        rows.append((label, "force", f"{vector(joint['force'])} N"))
        rows.append(("", "torque", f"{vector(joint['torque'])} N m"))
        rows += [("", "effort of its drive", f"{x:.6g} {unit}") for x, unit in joint["effort"] if x]
    face.grid(rows, left=3)
    face.say(f"potential energy {rest.energy.potential:.6g} J; {rest.iterations} iterations, {rest.method}")
    if system.rods:
        face.say(f"errors {rest.error.line()}")
        data |= error_data(rest.error)
    if out is not None:
        _save(rest, out)
        face.wrote(out)
    if plot is not None:
        rest.plot(file=str(plot))
        face.wrote(plot)
    face.give(data)


def _rest_data(rest: Rest) -> dict[str, Any]:
    bodies, rods = {}, {}
    for name in rest.system.names:
        track = rest[name]
        bodies[name] = {"position": track.position, "quaternion": track.quaternion}
    for name in rest.system.rod_names:
        track = rest[name]
        ends = ("start_force", "start_moment", "end_force", "end_moment")
        rods[name] = {"start": track.positions[0], "end": track.positions[-1], "positions": track.positions}
        rods[name] |= {key: getattr(track, key).tolist() for key in ends}
    joints = {
        joint.label: {
            "force": track.force,
            "torque": track.torque,
            "coordinates": track.coordinates,
            "effort": list(zip(track.effort.reshape(-1).tolist(), joint.effort_units, strict=True)),
        }
        for joint, track in zip(rest.system.joints, rest.joints, strict=True)
    }
    return {
        "stable": rest.stable, "unstable": rest.unstable, "free": list(rest.free), "method": rest.method,
        "iterations": rest.iterations, "potential_energy": float(rest.energy.potential), "bodies": bodies,
        "rods": rods, "joints": joints,
    }  # fmt: skip


def _save(rest: Rest, out: Path) -> None:
    """A motion of one row is a result like any other."""
    from dataclasses import replace

    import numpy as np

    motion = rest.motion
    replace(motion, t=np.atleast_1d(motion.t), y=np.atleast_2d(motion.y)).save(out)


@app.command("modes")
def _modes(
    model: ModelPath,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many.")] = 10,
    at: Annotated[
        float, typer.Option("--at", metavar="T", help="Time at which functions of time are evaluated, s.")
    ] = 0.0,
    error: Annotated[str, typer.Option("--error", metavar="HOW", help="Errors: rough, total or finer.")] = "finer",
    json: Json = None,
) -> None:
    """List natural frequencies, their errors and damping at rest."""
    face = Face(json)
    modes = _found(load(model).system, at, count, error)
    rest, data = modes.rest, []
    face.say(f"about the equilibrium next to the start, which is {'stable' if rest.stable else 'not stable'}")
    rows = [["mode", "Hz", "error", "rad/s", "period s", "damping", "moves most"]]
    least, errors = _rounding(modes), _errors(modes)
    for i in range(len(modes)):
        w, d, g = (float(x[i]) for x in (modes.omega, modes.damping, modes.growth))
        w, g = w if w > least else 0.0, g if g > least else 0.0
        d = d if w and abs(d) * w > least and abs(d) > 1e-9 else 0.0
        f, mover = w / TURN, _mover(modes, i)
        told = f"grows {g:.3g}/s" if g else f"{d:.3g}" if w else "free motion"
        wrong = errors[i] if w else None
        off = "-" if wrong is None else f"{wrong:.1g}"
        rows.append([f"{i + 1}", f"{f:.6g}", off, f"{w:.6g}", f"{1.0 / f:.5g}" if w else "-", told, mover])
        data.append({"frequency": f, "error": wrong, "omega": w, "damping": d, "growth": g, "moves": mover})
    if data:
        face.grid(rows, left=1)
        if modes.error.failure and rest.system.rods:
            face.say(f"errors {modes.error.line()}")
        elif rest.system.rods and modes.error.rough:
            face.say("errors are rough figures from experience")
    else:
        face.say("everything is held: there are no modes")
    for note in modes.notes:
        face.say(note)
    face.give({"stable": rest.stable, "modes": data})


def _errors(modes: Modes) -> list[float | None]:
    """Of frequencies in Hz; None where they are not known, as of bodies alone, which have no mesh."""
    if modes.error.failure or not len(modes):
        return [None] * len(modes)
    return [x if math.isfinite(x) else None for x in modes.error["frequencies"].total.tolist()]


def _found(system: System, at: float, count: int, error: str) -> Modes:
    """The modes; none where joints and drives leave no freedom."""
    from dataclasses import replace

    import gyrod as gd

    modes = gd.modes(system, at=at, n=count, error=error)
    if system.rods or system.mobility().freedoms:
        return modes
    return replace(modes, eigenvalues=modes.eigenvalues[:0], shapes=modes.shapes[:0])


def _rounding(modes: Modes) -> float:
    """Rates in 1/s below this are rounding, against the fastest mode and against the swing of the system."""
    compiled = modes.rest.motion.compiled
    return 1e-8 * float(max(1.0 / compiled._time(compiled._length()), *(abs(x) for x in modes.eigenvalues), 0.0))


def _mover(modes: Modes, number: int) -> str:
    """Name of what moves most in a mode, the first one of several; of what turns most where nothing moves."""
    import numpy as np

    sizes = {name: float(np.abs(modes.shape(number, name)).max()) for name in modes.rest.names}
    if max(sizes.values(), default=0.0) < 1e-6 * modes.rest.motion.compiled._length():
        a, b = modes._moved(number, 1e-5), modes._moved(number, -1e-5)
        frames = {x: "quaternions" if hasattr(a[x], "quaternions") else "quaternion" for x in sizes}
        sizes = {x: float(np.abs(getattr(a[x], key) - getattr(b[x], key)).max()) for x, key in frames.items()}
    return next((name for name, size in sizes.items() if size >= 0.999 * max(sizes.values())), "-")
