"""Models from files whose rods without initial shape are routed: what `gyrod route` imports when it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from gyrod.files.building import Builder, ModelFileError
from gyrod.files.models import bytes_of
from gyrod.files.options import RunOptions
from gyrod.files.reading import Node, Path, ReadingError, compose, decode, plain
from gyrod.model import Clip, Free, Rod, System
from gyrod.solve.routing import Route, route


def routed(path: FilePath, turns: float | None, starts: int) -> tuple[System, RunOptions, dict[str, Route]]:
    """System and run of a model file whose rods without initial shape are routed, and their routes by name."""
    try:
        root, problems = compose(decode(bytes_of(path)))
    except ReadingError as error:
        raise ModelFileError([error.problem], str(path)) from None
    builder = _Routing(root, path.parent, turns, starts)
    builder.problems += problems
    with np.errstate(all="ignore"):
        made = builder.whole()
    if not builder.problems and not builder.routes:
        raise ValueError(f"{path}: all rods have an initial shape; leave initial out where a rod is to be routed.")
    if builder.problems:
        raise ModelFileError(sorted(builder.problems, key=lambda x: (x.line, x.column)), str(path))
    assert made.system is not None
    return made.system, made.run, builder.routes


class _Routing(Builder):
    """Makes a model whose rods without initial shape are routed."""

    def __init__(self, root: Node, base: FilePath, turns: float | None, starts: int) -> None:
        super().__init__(plain(root), root, base)
        self.lay = partial(route, turns=turns, starts=starts)
        self.routes: dict[str, Route] = {}
        #: Rods that lie nowhere yet, by name: where the file has them, and what routes them between clips and bodies.
        self.open: dict[str, tuple[Path, Callable[..., Route]]] = {}

    def object(self, group: str, data: Any, path: Path) -> Any:
        """An object; of a rod without initial shape all but its ends, with which it waits for the system."""
        if group != "rods" or not isinstance(data, dict) or data.get("initial") is not None:
            return super().object(group, data, path)
        ends = [
            Free() if data.get(side) is None else super(_Routing, self).object("end", data[side], (*path, side))
            for side in ("start", "end")
        ]
        rod: Rod | None = super().object(group, {k: x for k, x in data.items() if k not in ("start", "end")}, path)
        if rod is not None and None not in ends:
            same = ("section", "material", "stiffness", "density_per_length", "rotary_inertia", "damping", "limits")
            given = [field for field in ("degree", "precurvature") if data.get(field)]
            fields = {field: getattr(rod, field) for field in ("name", *same, "strain", *given)}
            self.open[rod.name] = path, partial(self.lay, rod.length, *ends, segments=data.get("segments"), **fields)
        return rod

    def system(self, parts: Mapping[str, Any]) -> System | None:
        """The system with its rods as they are routed; None where it says what is wrong."""
        clips = [force for force in parts.get("forces", ()) if isinstance(force, Clip)]
        around = {"bodies": parts.get("bodies", ())} | {k: x for k, x in parts.items() if k == "gravity"}
        rods = []
        for rod in parts.get("rods", ()):
            if rod.name not in self.open:
                rods.append(rod)
                continue
            path, lay = self.open[rod.name]
            try:
                self.routes[rod.name] = lay(clips=[clip for clip in clips if clip.rod == rod.name], **around)
                rods.append(self.routes[rod.name].rod)
            except (ValueError, RuntimeError) as error:
                self.tell(path, f"Rod {rod.name!r}: {error}")
        return None if self.problems else super().system({**parts, "rods": rods})
