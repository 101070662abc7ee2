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
from gyrod.model import Clip, Free, ModelError, Rod, System
from gyrod.model.changes import changed_arguments
from gyrod.runs.options import OPTIONS
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
    #: What the file holds, with the arguments of `route` for each cable.
    given: Mapping[str, object]

    def __getitem__(self, name: str) -> Route:
        return self.routes[name]

    def with_(self, changes: Mapping[str, object] | None = None, **values: object) -> RoutedFile:
        """The model with other values, its cables laid anew: ``plan.with_({"hose.length": 1.2, "p-clip.at": 0.4})``."""
        given = changed_arguments(self.given, changes, **values)
        rods, routes, problems = _laid(given)
        if problems:
            raise ModelError([f"Rod {name!r}: {sentence}" for name, sentence in problems])
        return RoutedFile(System(**{**given, "rods": rods}), self.run, routes, given)  # type: ignore[arg-type]


@suggests
def route_file(
    path: str | PathLike[str], *, turns: float | None = None, starts: int = 2, error: str = "rough"
) -> RoutedFile:
    """Lay all rods of a model file that have no initial shape between their ends and clips, as `route` does one.

    Rods may end on other ones, in any order. Each is laid alone: `equilibrium` of the system finds how they
    rest together.

    Parameters
    ----------
    path
        A model file, YAML or JSON.
    turns, starts, error
        As of `route`, for each rod.
    """
    place = _check.path("path", path)
    OPTIONS["error"].check("error", error)
    try:
        root, problems = compose(decode(bytes_of(place)))
    except ReadingError as trouble:
        raise ModelFileError([trouble.problem], str(path)) from None
    builder = _Routing(plain(root), root, place.parent)
    builder.how = {"turns": turns, "starts": starts, "error": error}
    builder.problems += problems
    with np.errstate(all="ignore"):
        made = builder.whole()
    if not builder.problems and not builder.routes:
        raise ValueError(f"{path}: all rods have an initial shape; leave initial out where a rod is to be routed.")
    if builder.problems:
        raise ModelFileError(sorted(builder.problems, key=lambda x: (x.line, x.column)), str(path))
    assert made.system is not None
    return RoutedFile(made.system, made.run, builder.routes, builder.given)


class _Routing(Builder):
    """Makes a model whose rods without initial shape are routed."""

    def __init__(self, data: object, root: Node | None, base: Path) -> None:
        super().__init__(data, root, base)
        self.how: dict[str, object] = {}
        self.given: Mapping[str, object] = {}
        self.routes: Mapping[str, Route] = {}
        self.open: dict[str, tuple[Place, dict[str, object]]] = {}

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
            made = {"name": rod.name, "length": rod.length, "start": ends[0], "end": ends[1]}
            made |= {"segments": data.get("segments"), **self.how}
            made |= {field: getattr(rod, field) for field in _SAME}
            made |= {field: getattr(rod, field) for field in _GIVEN if data.get(field)}
            self.open[rod.name] = path, made
        return rod

    def system(self, parts: Mapping[str, Any]) -> System | None:
        """The system with all rods as they lie."""
        cables = tuple(self.open[rod.name][1] if rod.name in self.open else rod for rod in parts.get("rods", ()))
        self.given = {key: tuple(x) if isinstance(x, list) else x for key, x in parts.items()} | {"rods": cables}
        rods, self.routes, problems = _laid(self.given)
        for name, sentence in problems:
            self.tell(self.open[name][0], f"Rod {name!r}: {sentence}")
        return None if self.problems else super().system({**parts, "rods": rods})


def _laid(given: Mapping[str, Any]) -> tuple[list[Rod], dict[str, Route], list[tuple[str, str]]]:
    """Rods as they lie, routes, what is wrong with which: each cable is laid after those that it begins or ends on."""
    around = {"gravity": given["gravity"]} if "gravity" in given else {}
    clips = [force for force in given.get("forces", ()) if isinstance(force, Clip)]
    cables = {x["name"]: x for x in given["rods"] if isinstance(x, Mapping)}
    hosts = {name: {x["start"].body, x["end"].body} for name, x in cables.items()}
    rods: dict[str, Rod] = {x.name: x for x in given["rods"] if isinstance(x, Rod)}
    routes: dict[str, Route] = {}
    problems: list[tuple[str, str]] = []
    waiting, lost = [*cables], set[str]()
    while waiting:
        free = [name for name in waiting if not hosts[name] & (set(waiting) - {name})]
        for name in free or waiting[:1]:  # in a circle the first one says what it misses
            waiting.remove(name)
            if hosts[name] & lost:
                lost.add(name)
                continue
            own = [clip for clip in clips if clip.rod == name]
            try:
                found = route(**cables[name], clips=own, bodies=[*given.get("bodies", ()), *rods.values()], **around)
                rods[name], routes[name] = found.rod, found
            except (ValueError, RuntimeError) as error:
                problems.append((name, str(error)))
                lost.add(name)
    order = [x["name"] if isinstance(x, Mapping) else x.name for x in given["rods"]]
    return [rods[name] for name in order if name in rods], routes, problems
