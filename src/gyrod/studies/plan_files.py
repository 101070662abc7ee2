"""Plan files: a study as YAML, read like a model file, every problem with its line and column."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod import files
from gyrod.files.building import Builder, ModelFileError
from gyrod.files.kinds import Faults, Kind, read, shown, unknown
from gyrod.files.models import FORMATS, bytes_of
from gyrod.files.options import RunOptions
from gyrod.files.reading import Node, Problem, ReadingError, compose, decode, found, plain
from gyrod.files.reading import Path as Place
from gyrod.files.registry import LISTS
from gyrod.model import ModelError, System, changes
from gyrod.runs.options import APART
from gyrod.studies import design, outputs
from gyrod.studies.chunks import RESERVED
from gyrod.studies.columns import check_names
from gyrod.studies.engines import check_engine
from gyrod.studies.plan import make_plan
from gyrod.studies.plan_values import OUTPUTS, inside_of, known_name, number_of, reduced, values_of
from gyrod.studies.solving import STARTS
from gyrod.studies.store import Layout
from gyrod.studies.units import kind_of

if TYPE_CHECKING:
    from gyrod._check import Data

#: Keys of a plan file.
KEYS = (
    "gyrod", "model", "until", "run", "vary", "samples", "sampler", "seed", "design", "outputs", "chunk", "engine",
    "workers", "lanes", "folder", "at_rest", "start",
)  # fmt: skip
#: Most values of a range.
MOST_STEPS = 1_000_000

#: Distributions by key: class, names of its two numbers, and whether the second is a plain number.
DISTRIBUTIONS: dict[str, tuple[type, tuple[str, str], bool]] = {
    "uniform": (design.Uniform, ("low", "high"), False),
    "normal": (design.Normal, ("mean", "std"), False),
    "loguniform": (design.LogUniform, ("low", "high"), False),
    "lognormal": (design.LogNormal, ("median", "factor"), True),
}
RANGE = ("from", "to", "steps", "spacing")

_VARY = "must be a list of values, {uniform: [a, b]}, {normal: [mean, std]}, {loguniform: [a, b]}, "
_VARY += "{lognormal: [median, factor]} or {from: a, to: b, steps: n}"
#: What a sentence of the plan speaks of.
_OWNER = re.compile(
    r"(?P<part>vary|outputs)\[(?P<name>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\](?::? )?(?:= )?"
    r"|(?:vary: )?path = (?P<path>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"):? ?"
    r"|(?P<key>samples|sampler|seed|design|lanes|t_end|at_rest|start)\b"
)


@dataclass(frozen=True)
class PlanFile:
    """What a plan file holds: the arguments of `gyrod.study`, where it was read from, and its text."""

    #: ``model``, ``vary``, ``outputs``, ``t_end`` and all else that the file gives, but the folder.
    arguments: dict[str, Any]
    #: Where results go, None if the file does not say.
    folder: Path | None
    #: Number of runs.
    size: int
    path: Path | None
    text: str


def load_plan(path: str | os.PathLike[str], **overrides: Any) -> PlanFile:
    """Read a plan file, YAML or JSON; ``overrides`` such as ``samples=100`` go before what it says.

    Raises
    ------
    ModelFileError
        A `ModelError` that lists all problems with line and column, those of an inline model included.
    OSError
        The file cannot be read.
    """
    place = Path(path)
    if place.suffix.lower() not in FORMATS:
        raise ValueError(f"{str(place)!r} is not the name of a plan: it must end in .yaml, .yml or .json.")
    try:
        text = decode(bytes_of(place))
    except ReadingError as error:
        raise ModelFileError([error.problem], str(path)) from None
    found_plan = loads_plan(text, source=str(path), base=place.parent, **overrides)
    return PlanFile(found_plan.arguments, found_plan.folder, found_plan.size, place, text)


def loads_plan(text: str, *, source: str = "", base: Path | None = None, **overrides: Any) -> PlanFile:
    """Read a plan from a text; ``base`` is the folder that its paths begin in."""
    try:
        root, problems = compose(text)
    except ReadingError as error:
        problem = error.problem
        if problem.sentence.startswith("it is empty"):
            problem = Problem(1, 1, (), "it is empty; a plan says model, vary and outputs.")
        raise ModelFileError([problem], source) from None
    reader = _Reader(plain(root), root, base or Path(), overrides)
    reader.problems += problems
    with np.errstate(all="ignore"):
        arguments, size = reader.whole()
    if reader.problems:
        raise ModelFileError(sorted(reader.problems, key=lambda x: (x.line, x.column)), source)
    return PlanFile(arguments, reader.folder(), size, None, text)


class _Reader(Builder):
    """Reads a plan, and notes all its problems."""

    base: Path

    def __init__(self, data: Data, root: Node, base: Path, overrides: Data) -> None:
        super().__init__(data, root, base)
        self.overrides = overrides
        self.run_of_model = RunOptions()

    @contextmanager
    def noting(self, place: Place) -> Iterator[None]:
        """Note what is raised inside, at a place."""
        try:
            yield
        except Faults as faults:
            for inner, sentence in faults.problems:
                self.tell((*place, *inner), sentence, key=sentence.startswith("the key"))
        except ValueError as error:
            for sentence in getattr(error, "problems", (str(error),)):
                self.tell(place, sentence.removeprefix(f"{place[-1]} = "))

    def whole(self) -> tuple[dict[str, Any], int]:  # type: ignore[override]
        """Arguments of `gyrod.study`, and the number of runs."""
        data = self.data
        if not isinstance(data, dict):
            self.tell((), f"a plan is made of fields: model, vary, outputs and others, got {shown(data)}.")
            return {}, 0
        if "model" not in data and any(key in data for key in LISTS):
            self.tell((), "it is a model and no plan; a plan says model: with the path of one, vary: and outputs:.")
            return {}, 0
        for key in data:
            if key not in KEYS:
                self.tell((key,), f"the key {unknown(key, KEYS)}", key=True)
        if data.get("gyrod", 1) != 1 or isinstance(data.get("gyrod"), bool):
            self.tell(("gyrod",), f"{shown(data['gyrod'])} is not a known version of the format; it must be 1.")
        system = self.model()
        told = len(self.problems)
        vary = self.members_of("vary", lambda name, x, at: self.varied(system, name, x, at))
        wanted = self.members_of("outputs", lambda name, x, at: self.output(system, name, x, at))
        arguments = {"model": system, "vary": vary, "outputs": wanted, **self.settings(), **self.run()}
        size = 0
        if system is not None:
            # What is sound is looked at even where nothing else is.
            some = [(name, x) for name, x in changes.numeric_paths(system).items() if np.ndim(x) == 0]
            trial = {**arguments, "vary": vary or {name: [x] for name, x in some[:1]}, "outputs": wanted or {"t": "t"}}
            size = self.checked(trial, whole=len(self.problems) == told)
        return arguments, size

    # --- the model ---

    def model(self) -> System | None:
        """The system: of a file, or of the plan itself."""
        given = self.data.get("model")
        if given is None:
            self.tell((), "model is missing; it must be the path of a model file, or a model.")
        elif isinstance(given, str):
            return self.model_file(given)
        elif isinstance(given, dict):
            return self.inline(given)
        else:
            self.tell(("model",), f"must be the path of a model file, or a model, got {shown(given)}.")
        return None

    def model_file(self, given: str) -> System | None:
        try:
            loaded = files.load_model(self.base / given)
        except ModelFileError as error:
            for sentence in error.problems:
                self.tell(("model",), sentence)
        except (ValueError, OSError) as error:
            self.tell(("model",), str(error))
        else:
            self.run_of_model = loaded.run
            return loaded.system
        return None

    def inline(self, given: Data) -> System | None:
        builder = Builder({"gyrod": 1, **given}, found(self.root, ("model",)), self.base)
        made = builder.whole()
        self.problems += [Problem(x.line, x.column, ("model", *x.path), x.sentence) for x in builder.problems]
        self.run_of_model = made.run
        return made.system

    # --- what varies ---

    def members_of(self, key: str, read_one: Callable[[str, object, Place], object]) -> Data:
        """Values by name, those that are sound."""
        given = self.data.get(key)
        if not isinstance(given, dict) or not given:
            example = "{bob.mass: [1, 2]}" if key == "vary" else '{tip: "hose.positions[-1]"}'
            if given is None:
                self.tell((), f"{key} is missing; write it as {key}: {example}.")
            else:
                self.tell((key,), f"must be a set of names such as {example}, got {shown(given)}.")
            return {}
        read_ones = {name: read_one(name, x, (key, name)) for name, x in given.items()}
        return {name: x for name, x in read_ones.items() if x is not None}

    def varied(self, system: System | None, name: str, given: Any, place: Place) -> object:
        """A list of values or a distribution; None if it is neither."""
        kind = None if system is None else kind_of(system, name)
        units = None if kind is None or kind.form == "anything" else kind.units
        with self.noting(place):
            if isinstance(given, list):
                return values_of(given, units)
            if not isinstance(given, dict) or not given:
                raise Faults(((), f"{_VARY}, got {shown(given)}."))
            if "values" in given:
                return self.listed(given, units)
            if "from" in given or "to" in given:
                return self.range(given, units)
            return self.distribution(given, units)
        if system is not None:  # where its values are no values, nobody else looks at the path
            try:
                changes.value_at(system, name)
            except ModelError as error:
                for sentence in error.problems:
                    self.tell(*self.placed(sentence))
        return None

    def listed(self, given: Data, units: tuple[str, ...] | None) -> object:
        known_name(given, ("values",))
        if not isinstance(given["values"], list):
            raise Faults((("values",), f"must be a list, got {shown(given['values'])}."))
        with inside_of("values"):
            return values_of(given["values"], units)

    def range(self, given: Data, units: tuple[str, ...] | None) -> object:
        """Evenly spaced values, ends included."""
        known_name(given, RANGE)
        missing = [key for key in RANGE[:3] if given.get(key) is None]
        if missing:
            raise Faults(((), f"{', '.join(missing)} is missing; a range is written as {{from: a, to: b, steps: n}}."))
        with inside_of("from"):
            a = float(number_of(given["from"], units))
        with inside_of("to"):
            b = float(number_of(given["to"], units))
        with inside_of("steps"):
            steps = read(Kind("whole"), given["steps"])
            if not 2 <= steps <= MOST_STEPS:
                raise Faults(((), f"must be from 2 to {MOST_STEPS}, the number of values, got {steps}."))
        with inside_of("spacing"):
            even = read(Kind("word", words=("even", "log")), given.get("spacing", "even")) == "even"
        if even:
            return np.linspace(a, b, steps)
        if not (a > 0.0 and b > 0.0):
            raise Faults((("spacing",), f"log needs two positive ends, got {a:g} and {b:g}."))
        return np.geomspace(a, b, steps)

    def distribution(self, given: Data, units: tuple[str, ...] | None) -> object:
        names = (*DISTRIBUTIONS, "values", "from")
        if len(given) != 1:
            raise Faults(((), f"{_VARY}, got the keys {', '.join(given)}."))
        (key,) = given
        if key not in DISTRIBUTIONS:
            raise Faults(((key,), f"the key {unknown(key, names)}"))
        cls, fields, plain_second = DISTRIBUTIONS[key]
        inside = given[key]
        places: list[str | int]
        if isinstance(inside, dict):
            with inside_of(key):
                known_name(inside, fields)
                missing = [name for name in fields if inside.get(name) is None]
                if missing:
                    raise Faults(
                        ((), f"{', '.join(missing)} is missing; write it as {{{fields[0]}: a, {fields[1]}: b}}.")
                    )
            pair, places = [inside[name] for name in fields], [*fields]
        elif isinstance(inside, list) and len(inside) == 2:
            pair, places = inside, [0, 1]
        else:
            raise Faults(((key,), f"must be [{fields[0]}, {fields[1]}], got {shown(inside)}."))
        numbers = []
        for x, at, second in zip(pair, places, (False, plain_second), strict=True):
            with inside_of(key, at):
                numbers.append(float(number_of(x, ("",) if second else units)))
        return cls(*numbers)

    # --- what is kept ---

    def output(self, system: System | None, name: str, given: Any, place: Place) -> object:
        """An output; None if it is none."""
        if name in RESERVED:
            self.tell(place, f"every study has a column of that name ({', '.join(RESERVED)}); rename it.", key=True)
        with self.noting(place):
            if isinstance(given, str):
                return outputs.Final(given)
            if not isinstance(given, dict) or len(given) != 1:
                got = f"the keys {', '.join(given)}" if isinstance(given, dict) and given else shown(given)
                raise Faults(((), f"must be a quantity, or one of {', '.join(OUTPUTS)} of one, got {got}."))
            (key,) = given
            if key not in OUTPUTS:
                raise Faults(((key,), f"the key {unknown(key, OUTPUTS)}"))
            with inside_of(key):
                return reduced(key, given[key], system)
        return None

    # --- all else ---

    def settings(self) -> Data:
        """Samples, sampler, engine and so on, those that are given."""
        given = {**self.data, **{k: x for k, x in self.overrides.items() if x is not None}}
        kinds = {
            "samples": Kind("whole"), "seed": Kind("whole"), "chunk": Kind("whole"), "workers": Kind("whole"),
            "lanes": Kind("whole"), "sampler": Kind("word", words=tuple(design.SAMPLERS)), "engine": Kind("name"),
            "design": Kind("word", words=tuple(design.LAYOUTS)), "until": Kind(units=("s",)), "folder": Kind("name"),
            "at_rest": Kind("flag"), "start": Kind("word", words=STARTS),
        }  # fmt: skip
        found_all = {}
        for key, kind in kinds.items():
            if given.get(key) is not None:
                with self.noting((key,)):
                    value = read(kind, given[key])
                    if key in ("samples", "chunk", "workers", "lanes") and value < 1:
                        raise Faults(((), f"must be at least 1, got {value}."))
                    if key == "folder" and not value.strip():
                        raise Faults(((), "is empty; write the name of a folder, or leave it out."))
                    if key == "engine" and self.overrides.get("engine") is None:
                        check_engine(value)
                    found_all[key] = value
        found_all.pop("folder", None)
        until = found_all.pop("until", None if found_all.get("at_rest") else self.run_of_model.until)
        return found_all if until is None else {**found_all, "t_end": until}

    def run(self) -> Data:
        """Options of `simulate`: those of the model, and before them those of the plan."""
        given = self.data.get("run")
        if self.data.get("at_rest") is True:
            if given is not None:
                self.tell(("run",), "holds options of motions, and the runs are at rest; leave it out.", key=True)
            return {}
        found_run: Data = self.run_of_model.options()
        for key in APART:
            found_run.pop(key, None)
            if isinstance(given, dict) and key in given:
                self.tell(("run", key), "cannot be given: what a study keeps follows from its outputs.", key=True)
                given = {k: x for k, x in given.items() if k != key}
        if given is None:
            return found_run
        options = self.object("run", given, ("run",))
        if options is not None and options.until is not None:
            self.tell(("run", "until"), "stands above: write until: beside model: and vary:.", key=True)
        return found_run if options is None else found_run | options.options()

    def folder(self) -> Path | None:
        """Where results go, from the folder of the plan on."""
        given = self.data.get("folder") if isinstance(self.data, dict) else None
        return self.base / given if isinstance(given, str) else None

    def checked(self, arguments: dict[str, Any], whole: bool) -> int:
        """Number of runs; what the plan says is noted where it belongs."""
        known = {k: x for k, x in arguments.items() if k not in ("chunk", "engine", "workers")}
        try:
            plan = make_plan(**known)
            if whole:
                check_names(Layout.of(plan))
            return plan.size
        except ModelError as error:
            for sentence in error.problems:
                place, text = self.placed(sentence)
                # Of a plan with other problems parts are missing, so that numbers of samples mean nothing.
                if whole or place[:1] in (("vary",), ("outputs",)):
                    self.tell(place, text.replace("samples=", "samples: "))
        return 0

    def placed(self, sentence: str) -> tuple[Place, str]:
        """The place that a sentence names, and the sentence without its name."""
        match = _OWNER.match(sentence)
        if match is None:
            return (), sentence
        if match["key"]:
            key = "until" if match["key"] == "t_end" else match["key"]
            return (key,), sentence.replace("t_end", "until").replace(", or 'until' in the file's section run", "")
        quoted, part = match["name"] or match["path"], match["part"] or "vary"
        place = next(((part, name) for name in self.data[part] if repr(name) == quoted), (part,))
        return place, sentence[match.end() :] if len(place) == 2 else sentence
