"""gyrod route: cables of a model file that lie nowhere yet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gyrod.cli.frame import Face, Json, ModelPath, app, drawable, error_data, readable, vector

if TYPE_CHECKING:
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
    error: Annotated[str, typer.Option("--error", metavar="HOW", help="Errors: rough, total or finer.")] = "finer",
    json: Json = None,
) -> None:
    """Lay rods without initial shape between their ends and clips."""
    import gyrod as gd
    from gyrod import files

    face = Face(json)
    drawable(plot)
    readable(model, "a model file (.yaml or .json)")
    found = gd.route_file(model, turns=turns, starts=starts, error=error)
    data: dict[str, object] = {}
    rows = []
    for name, route in found.routes.items():
        data[name] = _data(route)
        held = f"{'stable' if route.stable else 'unstable'}, {len(route.answers)} found"
        rows += [
            (f"rod {name}", "equilibrium", held),
            ("", "smallest bend radius", f"{route.bend_radius:.6g} m"),
            ("", "twist", f"{route.turns:.6g} turns"),
            ("", "force that holds the start", f"{vector(route.start_force.tolist())} N"),
            ("", "force that holds the end", f"{vector(route.end_force.tolist())} N"),
            ("", "errors", route.error.line()),
            *(("", "note", note) for note in route.notes),
        ]
    face.grid(rows, left=3)
    if out is not None:
        files.save(found.system, out, found.run)
        face.wrote(out)
    if plot is not None:
        gd.equilibrium(found.system).plot(file=str(plot))
        face.wrote(plot)
    face.give({"model": model, "rods": data})


def _data(route: Route) -> dict[str, object]:
    ends = ("start_force", "start_moment", "end_force", "end_moment")
    return {
        "stable": route.stable, "bend_radius": route.bend_radius, "turns": route.turns, "notes": list(route.notes),
        "energy": float(route.energy.total), "answers": len(route.answers),
        "positions": route[route.system.rods[0].name].positions,
        **{key: getattr(route, key).tolist() for key in ends}, **error_data(route.error),
    }  # fmt: skip
