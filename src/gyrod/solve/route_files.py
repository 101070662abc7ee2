"""route_file: the cables of a model file that lie nowhere yet, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from gyrod import _check
from gyrod._words import suggests
from gyrod.files.building import Builder, ModelFileError
from gyrod.files.models import bytes_of
from gyrod.files.options import RunOptions
from gyrod.files.reading import Node, ReadingError, compose, decode, plain
from gyrod.files.reading import Path as Place
from gyrod.model import Clip, Free, Rod, System
from gyrod.solve.routing import Route, route

#: Fields of a rod that a route takes as they are, and those that it takes where they were given.
_SAME = ("section", "material", "stiffness", "density_per_length", "rotary_inertia", "damping", "limits", "strain")
_GIVEN = ("degree", "precurvature")


@suggests
@dataclass(frozen=True)
class RoutedFile:
    """A model file with its cables as they lie."""

    system: System
    #: What the file says about a run.
    run: RunOptions
    #: The routes by name of the rod, those that others begin on first.
    routes: Mapping[str, Route]

    def __getitem__(self, name: str) -> Route:
        return self.routes[name]


@suggests
def route_file(path: str | PathLike[str], *, turns: float | None = None, starts: int = 2) -> RoutedFile:
    """Lay all rods of a model file that have no initial shape between their ends and clips, as `route` does one.

    Rods may end on other ones, in any order. Each is laid alone: `equilibrium` of the system finds how they
    rest together.

    Parameters
    ----------
    path
        A model file, YAML or JSON.
    turns, starts
        As of `route`, for each rod.
    """
    place = _check.path("path", path)
    try:
        root, problems = compose(decode(bytes_of(place)))
    except ReadingError as error:
        raise ModelFileError([error.problem], str(path)) from None
    builder = _Routing(plain(root), root, place.parent)
    builder.turns, builder.starts = turns, starts
    builder.problems += problems
    with np.errstate(all="ignore"):
        made = builder.whole()
    if not builder.problems and not builder.routes:
        raise ValueError(f"{path}: all rods have an initial shape; leave initial out where a rod is to be routed.")
    if builder.problems:
        raise ModelFileError(sorted(builder.problems, key=lambda x: (x.line, x.column)), str(path))
    assert made.system is not None
    return RoutedFile(made.system, made.run, builder.routes)


class _Routing(Builder):
    """Makes a model whose rods without initial shape are routed."""

    def __init__(self, data: object, root: Node | None, base: Path) -> None:
        super().__init__(data, root, base)
        self.turns: float | None = None
        self.starts = 2
        self.routes: dict[str, Route] = {}
        self.open: dict[str, tuple[Place, dict[str, Any]]] = {}

    def object(self, group: str, data: object, path: Place) -> Any:
        """A rod without its ends, if it is to be routed: where it lies now it does not meet them."""
        if group != "rods" or not isinstance(data, dict) or data.get("initial") is not None:
            return super().object(group, data, path)
        ends = [
            Free() if data.get(side) is None else super(_Routing, self).object("end", data[side], (*path, side))
            for side in ("start", "end")
        ]
        rod = super().object(group, {key: x for key, x in data.items() if key not in ("start", "end")}, path)
        if rod is not None and None not in ends:
            made = {"start": ends[0], "end": ends[1], "name": rod.name, "segments": data.get("segments")}
            made |= {field: getattr(rod, field) for field in _SAME}
            made |= {field: getattr(rod, field) for field in _GIVEN if data.get(field)}
            self.open[rod.name] = path, made
        return rod

    def system(self, parts: Mapping[str, Any]) -> System | None:
        """The system with all rods as they lie, each laid after those that it begins or ends on."""
        clips = [force for force in parts.get("forces", ()) if isinstance(force, Clip)]
        around = {"gravity": parts["gravity"]} if "gravity" in parts else {}
        rods: dict[str, Rod] = {rod.name: rod for rod in parts.get("rods", ())}
        waiting, lost = [name for name in rods if name in self.open], set[str]()
        while waiting:
            free = [name for name in waiting if not self._hosts(name) & (set(waiting) - {name})]
            for name in free or waiting[:1]:  # in a circle the first one says what it misses
                waiting.remove(name)
                if self._hosts(name) & lost:
                    lost.add(name)
                    continue
                path, made = self.open[name]
                laid = [rod for rod in rods.values() if rod.name not in {name, *waiting}]
                own = [clip for clip in clips if clip.rod == name]
                known = [*parts.get("bodies", ()), *laid]
                try:
                    found = route(
                        rods[name].length,
                        clips=own,
                        bodies=known,
                        turns=self.turns,
                        starts=self.starts,
                        **made,
                        **around,
                    )
                    rods[name], self.routes[name] = found.rod, found
                except (ValueError, RuntimeError) as error:
                    self.tell(path, f"Rod {name!r}: {error}")
                    lost.add(name)
        return None if self.problems else super().system({**parts, "rods": list(rods.values())})

    def _hosts(self, name: str) -> set[str]:
        made = self.open[name][1]
        return {made[side].body for side in ("start", "end")}
