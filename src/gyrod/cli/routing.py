"""gyrod route: cables of a model file that lie nowhere yet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gyrod.cli.frame import Face, Json, ModelPath, app, drawable, readable, vector

if TYPE_CHECKING:
    from gyrod.model import System
    from gyrod.solve.routing import Route


@app.command("route")
def _route(
    model: ModelPath,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the model with the routed rods (.yaml).")
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw the shape.")] = None,
    turns: Annotated[float | None, typer.Option("--turns", metavar="X", help="Twist that is wanted, turns.")] = None,
    starts: Annotated[int, typer.Option("--starts", metavar="N", help="Curves to search from.")] = 2,
    json: Json = None,
) -> None:
    """Lay rods without initial shape between their ends and clips."""
    import gyrod as gd
    from gyrod import files

    face = Face(json)
    drawable(plot)
    readable(model, "a model file (.yaml or .json)")
    system, run, routes = routed(model, {"turns": turns, "starts": starts})
    data: dict[str, Any] = {}
    rows = []
    for name, route in routes.items():
        data[name] = _data(route)
        held = f"{'stable' if route.stable else 'unstable'}, {len(route.answers)} found"
        rows += [
            (f"rod {name}", "equilibrium", held),
            ("", "smallest bend radius", f"{route.bend_radius:.6g} m"),
            ("", "twist", f"{route.turns:.6g} turns"),
            ("", "force that holds the start", f"{vector(data[name]['start_force'])} N"),
            ("", "force that holds the end", f"{vector(data[name]['end_force'])} N"),
            *(("", "note", note) for note in route.notes),
        ]
    face.grid(rows, left=3)
    if out is not None:
        files.save(system, out, run)
        face.wrote(out)
    if plot is not None:
        gd.equilibrium(system).plot(file=str(plot))
        face.wrote(plot)
    face.give({"model": model, "rods": data})


def _data(route: Route) -> dict[str, object]:
    ends = ("start_force", "start_moment", "end_force", "end_moment")
    return {
        "stable": route.stable, "bend_radius": route.bend_radius, "turns": route.turns, "notes": list(route.notes),
        "energy": float(route.energy.total), "answers": len(route.answers),
        "positions": route[route.system.rods[0].name].positions,
        **{key: getattr(route, key).tolist() for key in ends},
    }  # fmt: skip


def routed(path: Path, options: dict[str, Any]) -> tuple[Any, Any, dict[str, Route]]:
    """System and run of a model file whose rods without initial shape are routed, and their routes by name."""
    import numpy as np

    from gyrod.files.building import ModelFileError
    from gyrod.files.models import bytes_of
    from gyrod.files.reading import ReadingError, compose, decode, plain

    try:
        root, problems = compose(decode(bytes_of(path)))
    except ReadingError as error:
        raise ModelFileError([error.problem], str(path)) from None
    builder = _builder()(plain(root), root, path.parent)
    builder.options = options
    builder.problems += problems
    with np.errstate(all="ignore"):
        made = builder.whole()
    if not builder.problems and not builder.routes:
        raise ValueError(f"{path}: all rods have an initial shape; leave initial out where a rod is to be routed.")
    if builder.problems:
        raise ModelFileError(sorted(builder.problems, key=lambda x: (x.line, x.column)), str(path))
    return made.system, made.run, builder.routes


def _builder() -> Any:
    """The builder of models, with rods that lie nowhere yet; a class that is made when it is needed."""
    from gyrod.files.building import Builder
    from gyrod.model import Clip, Free
    from gyrod.solve.routing import route

    class Routing(Builder):
        """Makes a model whose rods without initial shape are routed."""

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.options: dict[str, Any] = {}
            self.routes: dict[str, Route] = {}
            self.open: dict[str, tuple[Any, dict[str, Any]]] = {}

        def object(self, group: str, data: Any, path: Any) -> Any:
            if group != "rods" or not isinstance(data, dict) or data.get("initial") is not None:
                return super().object(group, data, path)
            ends = [
                Free() if data.get(side) is None else super(Routing, self).object("end", data[side], (*path, side))
                for side in ("start", "end")
            ]
            rod = super().object(group, {key: x for key, x in data.items() if key not in ("start", "end")}, path)
            if rod is not None and None not in ends:
                made = {"start": ends[0], "end": ends[1], "name": rod.name, "segments": data.get("segments")}
                same = ("section", "material", "stiffness", "density_per_length", "rotary_inertia", "damping", "limits")
                made |= {field: getattr(rod, field) for field in (*same, "strain")}
                made |= {field: getattr(rod, field) for field in ("degree", "precurvature") if data.get(field)}
                self.open[rod.name] = path, made
            return rod

        def system(self, parts: Mapping[str, Any]) -> System | None:
            clips = [force for force in parts.get("forces", ()) if isinstance(force, Clip)]
            around = {"bodies": parts.get("bodies", ())}
            if "gravity" in parts:
                around["gravity"] = parts["gravity"]
            rods = []
            for rod in parts.get("rods", ()):
                if rod.name not in self.open:
                    rods.append(rod)
                    continue
                path, made = self.open[rod.name]
                own = [clip for clip in clips if clip.rod == rod.name]
                try:
                    self.routes[rod.name] = route(rod.length, clips=own, **made, **around, **self.options)
                    rods.append(self.routes[rod.name].rod)
                except (ValueError, RuntimeError) as error:
                    self.tell(path, f"Rod {rod.name!r}: {error}")
            return None if self.problems else super().system({**parts, "rods": rods})

    return Routing
