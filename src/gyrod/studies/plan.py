"""The plan of a study: a model, what varies in it, what is kept of every run, and how runs are made."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

import numpy as np

from gyrod import _check, files
from gyrod.files.options import RunOptions
from gyrod.model import ModelError, System
from gyrod.model.errors import shown
from gyrod.motion import Motion, Rest
from gyrod.runs.methods import STEPPED
from gyrod.runs.options import APART, flat
from gyrod.solve.members import LANES
from gyrod.solve.route_files import RoutedFile
from gyrod.solve.routing import Route
from gyrod.studies import checks
from gyrod.studies.checks import called
from gyrod.studies.design import Column, Design, make_design
from gyrod.studies.identity import function_data, plain
from gyrod.studies.outputs import History, Output
from gyrod.studies.solving import solved

if TYPE_CHECKING:
    from gyrod._check import Data

__all__ = ["Model", "Plan", "make_plan"]

#: A time that no run reaches, where none was given.
_NEVER = 1e100


# --- models ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Model:
    """What is simulated: a system or cables whose values are changed, or a function that makes one of parameters."""

    #: Without changes; None of a function, and of cables that are laid anew.
    system: System | None = None
    function: Callable[..., object] | None = None
    #: One cable, or those of a file.
    laid: Route | RoutedFile | None = None

    @property
    def fields(self) -> System | Mapping[str, object] | None:
        """What has the fields that vary; None of a function."""
        return self.system if self.laid is None else self.laid.given

    @property
    def example(self) -> System | None:
        """The system, or that of cables as they lie before anything varies."""
        return self.system if self.laid is None else self.laid.system

    def build(self, values: Mapping[str, object]) -> System | Rest:
        """The system with these values, or how it rests."""
        if self.system is not None:
            return self.system.with_(values)
        if self.laid is not None:
            found: object = self.laid.with_(values)
        else:
            assert self.function is not None
            found = self.function(**values)
        if isinstance(found, RoutedFile):
            return found.system
        if not isinstance(found, (System, Rest)):
            assert self.function is not None
            raise ModelError(
                f"the model, {called(self.function)}, returned {shown(found)}; it must return a System, or a Rest."
            )
        return found

    def describe(self) -> Data:
        """What identifies it, in plain types: a function, the data of a model file, or fields with their functions."""
        return self._data

    @cached_property
    def _data(self) -> Data:
        if self.laid is not None:
            return {"routed": plain(self.laid.given)}
        if self.system is None:
            return {"function": function_data(self.function)}
        try:
            return {"system": files.to_data(self.system)}
        except ModelError:  # Python functions, which have no place in a file
            return {"fields": plain(self.system.original)}


class Described(TypedDict):
    """All that identifies a study, in plain JSON types."""

    model: Data
    vary: Data
    design: str
    samples: NotRequired[int]
    sampler: NotRequired[str]
    seed: NotRequired[int]
    outputs: dict[str, Data]
    t_end: float
    run: Data
    lanes: int
    at_rest: NotRequired[bool]
    start: NotRequired[str]


# --- the plan --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Plan:
    """All runs of a study, as immutable data that any process or machine can take up; see `make_plan`."""

    model: Model
    design: Design
    outputs: tuple[Output, ...]
    t_end: float
    #: Options of `simulate`, but those that follow from the outputs.
    options: Mapping[str, Any]
    #: Runs that are integrated together in the lanes of a processor's vectors.
    lanes: int = 1
    #: Of each output without the axis of the runs.
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    #: Whether a run is the equilibrium of its model, and not a motion; options are then those of `equilibrium`.
    at_rest: bool = False
    #: "model", or "rest": motions start from the equilibrium of their model.
    start: str = "model"

    @property
    def size(self) -> int:
        """Number of runs."""
        return self.design.size

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters, in the order in which they were given."""
        return self.design.names

    def parameters(self, start: int, stop: int) -> dict[str, Column]:
        """Columns of the parameters of the runs start to stop, (n,) or (n, ...)."""
        return self.design.parameters(start, stop)

    def made(self, values: Mapping[str, object]) -> System | Rest:
        """The model with the values of one run, or how it rests."""
        return self.model.build({name: x.item() if isinstance(x, np.generic) else x for name, x in values.items()})

    def system(self, values: Mapping[str, object]) -> System:
        """The model with the values of one run."""
        made = self.made(values)
        return made.system if isinstance(made, Rest) else made

    def solved(self, values: Mapping[str, object]) -> Motion | Rest:
        """One run."""
        return solved(self.made(values), self.t_end, self.run_options(), at_rest=self.at_rest, start=self.start)

    def run_options(self) -> Data:
        """Options of `simulate` for one run: what the outputs need of it, and no more; at rest of `equilibrium`."""
        if self.at_rest:
            return dict(self.options)
        needs = {x.needs for x in self.outputs}
        found = dict(self.options)
        # Constant steps give rows at their multiples only.
        stepped = found.get("method") in STEPPED and "rows" in needs
        if "dense" in needs or {"rows", "steps"} <= needs or stepped:
            return found | {"dense": True}
        if "steps" in needs:
            return found | {"dense": False}
        times = [x.times for x in self.outputs if isinstance(x, History)]
        ends = [np.array([self.t_end])] if "end" in needs or not times else []
        return found | {"output": np.unique(np.concatenate([*times, *ends])), "dense": False}

    def describe(self) -> Described:
        """All that identifies the study, in plain JSON types."""
        found: Data = {
            "model": self.model.describe(),
            **self.design.describe(),
            "outputs": {x.name: x.describe() for x in self.outputs},
            "t_end": self.t_end,
            "run": plain(flat(self.options)),
            "lanes": self.lanes,
            **({"at_rest": True} if self.at_rest else {}),
            **({"start": self.start} if self.start != "model" else {}),
        }
        return cast("Described", found)

    @cached_property
    def identity(self) -> str:
        """Checksum of `describe`: two plans with the same one have the same results."""
        text = json.dumps(self.describe(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def __getstate__(self) -> Data:
        """With its identity: another process may not find the sources of its functions."""
        return {**self.__dict__, "identity": self.identity}

    def __eq__(self, other: object) -> bool:
        return self.identity == other.identity if isinstance(other, Plan) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.identity)


def make_plan(
    model: object,
    vary: Mapping[str, object],
    outputs: Mapping[str, object],
    t_end: float | None = None,
    *,
    samples: int | None = None,
    sampler: str = "sobol",
    seed: int = 0,
    design: str = "grid",
    lanes: int = 1,
    at_rest: bool = False,
    start: str = "model",
    **run: object,
) -> Plan:
    """Check everything about a study and put it into a `Plan`; one `ModelError` lists all problems.

    Samples of "sobol" are balanced if their number is a power of two.
    """
    problems: list[str] = []
    found, defaults = model_of(model)
    until = defaults.pop("until", None)
    problems += checks.starts(at_rest, start, lanes)
    at_rest = at_rest is True
    end = _at_rest(t_end, problems) if at_rest else _end(until if t_end is None else t_end, problems)
    defaults = {} if at_rest else defaults
    options = defaults | checks.options(run, problems, at_rest=at_rest)
    if isinstance(lanes, bool) or lanes not in (1, LANES):
        problems.append(f"lanes = {lanes!r} must be 1 or {LANES}, the runs that are integrated together.")
    runs = None
    try:
        runs = make_design(vary, layout=design, samples=samples, sampler=sampler, seed=seed)
    except ModelError as error:
        problems += error.problems
    if found.fields is None:
        problems += checks.signature(found.function, vary)
    else:
        problems += checks.paths(found.fields, vary, runs)
    wanted = checks.outputs(outputs, problems)
    # Without runs there is no system of a function, or of cables, to look at.
    if problems and (found.system is None or not wanted):
        raise ModelError(problems)
    plan = Plan(found, runs or Design((), {}, {}), (), _NEVER if end is None else end, options, lanes)
    plan = replace(plan, at_rest=at_rest, start="model" if at_rest else start)
    bound, shapes = checks.shapes(plan, wanted, problems)
    plan = replace(plan, outputs=bound, shapes=shapes)
    if lanes > 1:
        checks.lanes(plan)
    return plan


def model_of(model: object) -> tuple[Model, Data]:
    """The model, and the options of a run that its file has."""
    if isinstance(model, System):
        return Model(system=model.original), {}
    if isinstance(model, (str, os.PathLike)):
        read = files.load_model(model)
        return Model(system=read.system.original), _of_file(read.run)
    if isinstance(model, Route):
        return Model(laid=model), {}
    if isinstance(model, RoutedFile):
        return Model(laid=model), _of_file(model.run)
    if callable(model):
        return Model(function=model), {}
    raise ModelError(
        f"model = {shown(model)} must be a System, the path of a model file, a Route, or a function making one."
    )


def _of_file(run: RunOptions) -> Data:
    """Options of the runs of a model that was a file."""
    return {**{k: x for k, x in run.options().items() if k not in APART}, "until": run.until}


def _at_rest(t_end: object, problems: list[str]) -> float:
    """Equilibria have no end."""
    if t_end is not None:
        problems.append(f"t_end = {shown(t_end)} cannot be given with at_rest=True: nothing moves; leave it out.")
    return 0.0


def _end(t_end: object, problems: list[str]) -> float | None:
    if t_end is None:
        problems.append("t_end, the time to simulate, is missing; give it, or 'until' in the section run of the file.")
        return None
    try:
        return _check.positive("t_end", t_end)
    except ValueError as error:
        problems.append(str(error))
        return None
