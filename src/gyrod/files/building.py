"""From plain data to a system: every problem with the place where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod.files import schema
from gyrod.files.kinds import Faults, Kind, shown, unknown
from gyrod.files.options import RunOptions, renewed
from gyrod.files.reading import Node, Path, Problem, dotted, found, locate
from gyrod.files.registry import (
    LISTS,
    PLAIN,
    PYTHON_ONLY,
    VERSION,
    classes,
    fields_of,
)
from gyrod.files.series import SampleFile
from gyrod.model import Attachment, ModelError, System
from gyrod.model.contacts import ALL
from gyrod.model.errors import GROUND
from gyrod.model.rod_checks import MOST_SEGMENTS
from gyrod.rotations.conversions import require_rotation

if TYPE_CHECKING:
    from collections.abc import Mapping


#: Most bodies, joints, rods, forces and sensors together, and most problems that are reported.
MOST_OBJECTS, MOST_PROBLEMS = 100_000, 50

#: How far R'R of a joint's frame may be from 1.
FRAME_SLACK = 1e-9

_PLACE = re.compile(r"(bodies|joints|rods|forces|sensors|attachments|contacts)\[(\d+)\]")
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
#: What a sentence of the model begins with: the place in a list, class and name, perhaps the end of a rod.
_OWNER = re.compile(rf"(?:\w+\[\d+\], )?\w+(?:\.\w+)?(?: (?:{_QUOTED})|\([^:]*?\))?(?:, (?:start|end))?: ")


#: Anything; a method hides the name of the class.
Thing = object


class ModelFileError(ModelError):
    """A model file that cannot be: each of ``problems`` has file, line, column, path and what is wrong.

    ``details`` holds the same in parts: ``line``, ``column`` (from 1; 0 if there are none), ``path``, ``sentence``.
    """

    def __init__(self, details: Sequence[Problem], source: str = "") -> None:
        self.details = tuple(details)
        self.source = source
        told = [self._text(x) for x in self.details[:MOST_PROBLEMS]]
        if len(self.details) > MOST_PROBLEMS:
            told.append(f"and {len(self.details) - MOST_PROBLEMS} more.")
        super().__init__(told)

    def __reduce__(self) -> tuple[object, ...]:
        return ModelFileError, (self.details, self.source)

    def _text(self, problem: Problem) -> str:
        place = f"{problem.line}:{problem.column}" if problem.line else ""
        where = ":".join(x for x in (self.source, place) if x)
        return ": ".join(x for x in (where, dotted(problem.path), problem.sentence) if x)


@dataclass(frozen=True)
class _Made:
    """Objects of a file that could be made."""

    system: System | None
    run: RunOptions


def build(
    data: object, root: Node | None, before: Sequence[Problem] = (), source: str = "", base: FilePath | None = None
) -> tuple[System, RunOptions]:
    """System and options of a run from plain data; one `ModelFileError` lists all problems.

    Files that it names are in the folder ``base``; without one it must not name any.
    """
    builder = Builder(data, root, base)
    builder.problems += before
    with np.errstate(all="ignore"):
        made = builder.whole()
    if builder.problems:
        raise ModelFileError(sorted(builder.problems, key=lambda x: (x.line, x.column)), source)
    assert made.system is not None
    return made.system, made.run


class Builder:
    """Makes a model from the data of a file and collects what is wrong with them, each with its place."""

    def __init__(self, data: Any, root: Node | None, base: FilePath | None = None) -> None:
        self.data, self.root, self.base = data, root, base
        self.problems: list[Problem] = []

    # --- problems ---

    def tell(self, path: Path, sentence: str, key: bool = False) -> None:
        """Note a problem, with its place, and with the text that was given if that is a quantity."""
        node = found(self.root, path)
        text = node.value if node is not None and isinstance(node.value, str) else ""
        if text and text not in sentence and len(text) < 60 and re.search(r", got [^,;]+\.\Z", sentence):
            sentence = f"{sentence.removesuffix('.')}, given as {text!r}."
        self.problems.append(Problem(*locate(self.root, path, key), path, sentence))

    def complain(self, path: Path, cls: type, data: Mapping[str, Thing], error: Exception) -> None:
        """Note what a constructor says, at the fields that it names."""
        for sentence in getattr(error, "problems", (str(error) or f"it ends in a {type(error).__name__}.",)):
            text = _OWNER.sub("", sentence, count=1)
            field = _field(text, cls, data)
            end = field[0] if len(field) == 1 else ""
            if end and text.startswith(f"{end} ") and not text.startswith(f"{end} ="):
                text = text.removeprefix(f"{end} ")
            self.tell((*path, *field), text)

    # --- the whole ---

    def whole(self) -> _Made:
        """The system and its run."""
        nothing = _Made(None, RunOptions())
        if not isinstance(self.data, dict):
            self.tell((), f"a model is made of fields and begins with 'gyrod: {VERSION}', got {shown(self.data)}.")
            return nothing
        known = ["gyrod", *LISTS, "gravity", "run"]
        for key in self.data:
            if key not in known:
                self.tell((key,), f"the key {unknown(key, known)}", key=True)
        self.version()
        if not self.within_limits():
            return nothing
        parts: dict[str, Thing] = {name: self.members(name) for name in LISTS if self.data.get(name) is not None}
        run = RunOptions()
        if self.data.get("run") is not None:
            run = self.object("run", self.data["run"], ("run",)) or run
        if self.data.get("gravity") is not None:
            parts["gravity"] = self.gravity(self.data["gravity"])
        if self.problems:
            self.check_names()
            return nothing
        return _Made(self.system(parts), run)

    def check_names(self) -> None:
        """Note references to nothing: what the system would say, could it be made."""
        listed = {name: self.data[name] for name in LISTS if isinstance(self.data.get(name), list)}
        names = {
            group: [x["name"] for x in listed.get(group, ()) if isinstance(x, dict) and isinstance(x.get("name"), str)]
            for group in ("bodies", "rods")
        }
        everything = [GROUND, *names["bodies"], *names["rods"]]
        for group, members in listed.items():
            for i, member in enumerate(members):
                for path, key, value in _references(group, member, (group, i)):
                    known = names["rods"] if key == "rod" else everything
                    if value not in known and len(self.problems) < MOST_PROBLEMS:
                        self.tell(
                            path, unknown(value, known) if known else f"{shown(value)} is unknown: there are no rods."
                        )

    def version(self) -> None:
        """Check the version of gyrod that the file requires."""
        version = self.data.get("gyrod")
        if version is None:
            self.tell((), f"gyrod is missing; a model begins with 'gyrod: {VERSION}', the version of the format.")
        elif version != VERSION or isinstance(version, bool):
            self.tell(("gyrod",), f"{shown(version)} is not a known version of the format; it must be {VERSION}.")

    def within_limits(self) -> bool:
        """Whether there is not more of everything than anyone needs: reported before anything is made."""
        before = len(self.problems)
        count = sum(len(self.data[name]) for name in LISTS if isinstance(self.data.get(name), list))
        if count > MOST_OBJECTS:
            self.tell((), f"there are {count} objects; at most {MOST_OBJECTS} are allowed.")
        rods = self.data.get("rods")
        total = sum(_size(rod) for rod in rods) if isinstance(rods, list) else 0
        if total > MOST_SEGMENTS:
            self.tell(("rods",), f"the rods have {total:g} segments together; at most {MOST_SEGMENTS} are allowed.")
        return len(self.problems) == before

    def members(self, name: str) -> list[Thing]:
        """Bodies, joints, ... of a list."""
        listed = self.data[name]
        if not isinstance(listed, list):
            self.tell((name,), f"must be a list, each member with '- ' before it, got {shown(listed)}.")
            return []
        return [self.object(name, x, (name, i)) for i, x in enumerate(listed)]

    def gravity(self, value: Thing) -> Thing:
        """Three numbers or functions of time."""
        kind = fields_of(System)["gravity"].kind
        try:
            return self.series(schema.function_of_time(kind, value), kind, ("gravity",))
        except Faults as faults:
            for path, sentence in faults.problems:
                self.tell(("gravity", *path), sentence)
            return None

    def system(self, parts: Mapping[str, Any]) -> System | None:
        """The system of all parts; None where it says what is wrong."""
        try:
            return System(**parts)
        except ModelError as error:
            for sentence in error.problems:
                self.assign(sentence)
            return None

    def assign(self, sentence: str) -> None:
        """Note what the system says, at the object that it names."""
        path: Path = ()
        owner = _OWNER.match(sentence)
        text = _OWNER.sub("", sentence, count=1)
        head = owner[0] if owner else ""
        if place := _PLACE.match(head):
            path = (place[1], int(place[2]))
        elif named := re.match(r"(Body|Rod) (.+?)(?:, (?:start|end))?: \Z", head):
            path = self.named("bodies" if named[1] == "Body" else "rods", named[2])
        elif places := _PLACE.findall(text):
            path = (places[-1][0], int(places[-1][1]))
        elif text.startswith("gravity"):
            path = ("gravity",)
        if len(path) != 2:
            self.tell(path, text)
            return
        inside: Any = self.data[path[0]][path[1]]
        group = str(path[0])
        if group not in PLAIN:
            (key,) = inside
            path, inside = (*path, key), inside[key] or {}
            cls = classes(group)[key]
        else:
            (cls,) = classes(group).values()
        if end := re.search(r", (start|end): \Z", head):
            self.tell((*path, end[1]), text)
            return
        self.tell((*path, *_field(text, cls, inside)), text)

    def named(self, group: str, name: str) -> Path:
        """Where something of that name is."""
        listed = self.data.get(group) or []
        places = [i for i, x in enumerate(listed) if repr(x.get("name")) == name]
        return (group, places[0]) if places else ()

    # --- objects ---

    def object(self, group: str, data: Thing, path: Path) -> Any:
        """An object of a group, None if it has problems."""
        chosen = self.choose(group, renewed(data) if group == "run" else data, path)
        if chosen is None:
            return None
        cls, inside, path = chosen
        values, problems = schema.validate(cls, inside)
        for inner, sentence in problems:
            self.tell((*path, *inner), sentence, key=sentence.startswith("the key"))
        before = len(self.problems)
        values = {name: self.series(x, fields_of(cls)[name].kind, (*path, name)) for name, x in values.items()}
        for name, field in fields_of(cls).items():
            if field.kind.instead is not None and not isinstance(inside.get(name), dict):
                continue
            if field.kind.form == "object" and name in inside and inside[name] is not None:
                values[name] = self.object(field.kind.group, inside[name], (*path, name))
            elif field.kind.form == "objects" and name in inside and inside[name] is not None:
                values[name] = self.several(field.kind.group, inside[name], (*path, name))
        if problems or len(self.problems) > before:
            return None
        try:
            return _attachment(**values) if cls is Attachment else cls(**values)
        except (ValueError, ArithmeticError, MemoryError) as error:
            self.complain(path, cls, inside, error)
            return None

    def series(self, value: Thing, kind: Kind, path: Path) -> Thing:
        """A value; samples of a file are read."""
        if not isinstance(value, SampleFile):
            return value
        try:
            return value.read(self.base, schema.units_of(kind))
        except ValueError as error:
            for sentence in getattr(error, "problems", (str(error),)):
                owner = _OWNER.match(sentence)
                self.tell((*path, "sample_file"), sentence[owner.end() :] if owner else sentence)
            return None

    def several(self, group: str, data: Thing, path: Path) -> Thing:
        """One object or a list of them."""
        if isinstance(data, list):
            return [self.object(group, x, (*path, i)) for i, x in enumerate(data)]
        return self.object(group, data, path)

    def choose(self, group: str, data: Thing, path: Path) -> tuple[type, dict[str, Any], Path] | None:
        """The class that data are meant for, its fields, and their path."""
        known = classes(group)
        if group in PLAIN:
            (cls,) = known.values()
            if not isinstance(data, dict):
                self.tell(path, f"must be a set of fields such as {{{_example(cls)}: ...}}, got {shown(data)}.")
                return None
            return cls, data, path
        names = list(known)
        if not isinstance(data, dict) or len(data) != 1:
            got = f"the keys {', '.join(data)}" if isinstance(data, dict) and data else shown(data)
            example = f"{{{names[-1]}: {{...}}}}"
            self.tell(path, f"must be one of {', '.join(names)} with its fields, such as {example}, got {got}.")
            return None
        (key,) = data
        if key in PYTHON_ONLY:
            self.tell((*path, key), f"{key} holds a function and exists in Python only.", key=True)
            return None
        if key not in known:
            self.tell((*path, key), f"the key {unknown(key, names)}", key=True)
            return None
        inside = {} if data[key] is None else data[key]
        if not isinstance(inside, dict):
            example = f"{{{_example(known[key])}: ...}}"
            self.tell((*path, key), f"must be a set of fields such as {example}, got {shown(inside)}.")
            return None
        return known[key], inside, (*path, key)


def _attachment(length: float, **values: object) -> Attachment:
    """An attachment, which is not checked here: the core makes many of them."""
    for field in ("frame_a", "frame_b"):
        require_rotation(field, np.array(values[field], dtype=float), FRAME_SLACK)
    return Attachment(**{field: np.array(x, dtype=float) for field, x in values.items()}, length=float(length))


def _size(rod: object) -> float:
    """Segments of a rod, or stretches between nodes of elements, as far as the numbers say."""
    told = [rod.get(key) for key in ("segments", "degree")] if isinstance(rod, dict) else [None, None]
    segments, degree = (float(x) if isinstance(x, (int, float)) and x > 0 else None for x in told)
    return (segments or 0.0) * (degree or 1.0)


def _references(group: str, member: object, path: Path) -> Iterator[tuple[Path, str, str]]:
    """Names that an object refers to: their paths, the fields, and the names."""
    if group in ("joints", "forces", "sensors") and isinstance(member, dict) and len(member) == 1:
        (tag,) = member
        inside = member[tag]
        for key in ("a", "b", "body", "rod", "on") if isinstance(inside, dict) else ():
            if isinstance(inside.get(key), str):
                yield (*path, tag, key), key, inside[key]
    elif group == "contacts" and isinstance(member, dict):
        for key in ("a", "b"):
            given = member.get(key)
            for i, name in enumerate(given) if isinstance(given, list) else ():
                if isinstance(name, str):
                    yield (*path, key, i), key, name
            if isinstance(given, str) and (key, given) != ("a", ALL):
                yield (*path, key), key, given
    elif group == "rods" and isinstance(member, dict):
        for end in ("start", "end"):
            for tag, inside in member[end].items() if isinstance(member.get(end), dict) else ():
                if isinstance(inside, dict) and isinstance(inside.get("body"), str):
                    yield (*path, end, tag, "body"), "body", inside["body"]


def _example(cls: type) -> str:
    return next(iter(fields_of(cls)), "name")


def _field(sentence: str, cls: type, data: Mapping[str, object]) -> Path:
    """Path to the field that a sentence begins with, as far as it is given."""
    match = re.match(r"(\w+)(?:\.(\w+))?((?:\[\d+\])*)", sentence)
    if match is None or match[1] not in data or match[1] not in fields_of(cls):
        return ()
    path: Path = (match[1],)
    inside = data[match[1]]
    if match[2] and isinstance(inside, dict):
        if fields_of(cls)[match[1]].kind.group not in PLAIN and len(inside) == 1:
            (key,) = inside
            path, inside = (*path, key), inside[key]
        return (*path, match[2]) if isinstance(inside, dict) and match[2] in inside else path
    for i in re.findall(r"\d+", match[3]):
        if not isinstance(inside, list) or int(i) >= len(inside):
            break
        path, inside = (*path, int(i)), inside[int(i)]
    return path
