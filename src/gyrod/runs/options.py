"""Every option of a run, declared once.

A line of `Stepping` (what `stepper` has too) or `Options` is the type of an option for editors and type checkers, and
its declaration (`gyrod.runs.declared.Option`): default, help, form, words, unit. `simulate` and `stepper` take their
signatures, checks and docstrings from it, model files the section ``run`` with its schema, `gyrod run` and `gyrod
compare` their options, studies, fits and comparisons the names they pass on, the manual its rows.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, ForwardRef, TypedDict, TypeVar, cast

from gyrod._words import meant
from gyrod.runs.declared import Option, checked, with_rows
from gyrod.runs.formulations import DEFAULT, FORMULATIONS, OLD, PARTS, Formulation
from gyrod.runs.methods import IMPACTS, PREDICTIVE, STEPPED, described, quoted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gyrod._check import Data
    from gyrod.solve.progress import Watcher
    from gyrod.solve.simulate import Event

F = TypeVar("F", bound=Callable[..., object])
T = TypeVar("T")

#: Steps of a run unless ``max_steps`` is given.
MOST_STEPS = 10**9
#: What methods that know impacts do without: their steps are constant.
CHOSEN_STEPS = ("rtol", "atol", "norm", "first_step", "max_step")
#: Threads of a run, at most.
MOST_THREADS = 64


# fmt: off
class Writing(TypedDict, total=False):
    """Equations: the option of `ode`."""

    formulation: Annotated[str | Formulation, Option(
        DEFAULT, f"How the equations are written. {quoted(FORMULATIONS)}; with variants as a `Formulation`.",
        "formulation", adaptive=True,
    )]


class Stepping(Writing, total=False):
    """Equations and steps: options of `simulate` and of `stepper`."""

    method: Annotated[str, Option("auto", f"Integrator; auto chooses one. {described()}", "method")]
    rtol: Annotated[float, Option(
        1e-6, 'Relative tolerance. With ``norm="plain"`` the error of a component is measured against atol + rtol |y| '
        '(atol = rtol unless given), as in the published codes; with "physical" against its scale (a length, 1, their '
        "rates) times atol + rtol.", adaptive=True,
    )]
    atol: Annotated["float | ArrayLike | Mapping[str, float] | None", Option(
        None, 'Absolute tolerance. A number, one for each unknown, or by kind ("position", "rotation", "velocity", '
        '"spin").', "table", shapes=((), (-1,)), adaptive=True,
    )]
    norm: Annotated[str, Option(
        "physical", 'Norm of errors, "physical" or "plain". See ``rtol``.', "word", ("physical", "plain"),
        adaptive=True,
    )]
    projection: Annotated[str, Option(
        "step", 'Back to the constraint manifold after every accepted step: "step" or "none". A `Formulation` may say '
        "it, too.", "word", PARTS["projection"].words, adaptive=True,
    )]
    step: Annotated[float | None, Option(
        None, "Constant step, s. The methods that need one refuse a ``t_end`` that is not a multiple of it; "
        '"radau5" solves its stages to ``rtol`` with a constant step too.', unit="s",
    )]
    first_step: Annotated[float | None, Option(None, "First step, s.", unit="s", adaptive=True)]
    max_step: Annotated[float | None, Option(None, "Longest step, s.", unit="s", adaptive=True)]
    step_control: Annotated[str | None, Option(
        None, 'How the next step is chosen: "predictive" (default) from the errors of two steps (Gustafsson), '
        '"classical" from that of the last one.', "word", ("predictive", "classical"), only=PREDICTIVE,
    )]
    threads: Annotated[int, Option(
        1, "Threads that share a step. They pay where there are many rods, as in a net; the motion is the same, bit "
        "for bit, whatever their number. Functions of time and forces that are Python's are called by one.", "whole",
        least=1, most=MOST_THREADS, adaptive=True,
    )]
    coordinates: Annotated[str | None, Option(
        None, 'Coordinates of constant steps, "quaternion" or "directors". Unless given quaternions, but directors for '
        '"energy-momentum" with joints, forces or rods.',
        "word", ("quaternion", "directors"), only=STEPPED,
    )]
    sigma: Annotated["str | float | Sequence[float] | Mapping[str, float] | None", Option(
        None, 'Part of the inertia that is taken with a constant mass matrix: "mean" (of the principal moments, which '
        'is the default), "best" (chosen by a short trial run), a number, one for each body, or a '
        "dictionary by name.", "table", ("mean", "best"),
        shapes=((), (-1,)), only=("variational",),
    )]
    potential: Annotated[str | None, Option(
        None, 'Where the potential is taken, at the "midpoint" of a step (default) or at its "nodes".', "word",
        ("midpoint", "nodes"), only=("variational",),
    )]
    order: Annotated[int | None, Option(
        None, "Order of constant steps, 2 (default) or 4, five steps in one. For systems without damping.",
        "whole", least=2, most=4, only=("variational",),
    )]

class Driving(Stepping, total=False):
    """All options of `stepper`."""

    inputs: Annotated["Mapping[str, ArrayLike] | None", Option(
        None, "Values at the start of what the model takes as `Input`, by name.", "any",
    )]
    record: Annotated[bool, Option(False, "Keep everything for ``sim.motion()``.", "flag")]


class Options(Stepping, total=False):
    """All options of `simulate`."""

    max_steps: Annotated[int | None, Option(
        None, "Stop after so many accepted steps. It ends with a `SimulationError`, which keeps the motion up to "
        "there.", "whole", least=1, most=MOST_STEPS, adaptive=True,
    )]
    output: Annotated["ArrayLike | int | None", Option(
        None, "Times at which the motion is wanted; every accepted step otherwise, the last exactly at ``t_end``. The "
        "methods with constant steps keep nodes: times that are multiples of the step, or an integer for every so many "
        "steps.", "numbers", unit="s", shapes=((), (-1,)), apart=True,
    )]
    events: Annotated["Sequence[Event]", Option(
        (), "Event functions, located on the projected dense output.", "any", in_files=False,
    )]
    dense: Annotated[bool, Option(
        True, "Keep what ``motion(t)`` needs. Where it would take more than an eighth of the free memory it is given "
        "up, and ``motion.notes`` says so; rows may take a sixth, then the run stops.", "flag", apart=True,
    )]
    assemble: Annotated[bool, Option(
        False, "Mend a start whose joints do not meet, or do not move as their drives say, as by `gyrod.assemble`.",
        "flag",
    )]
    progress: Annotated["bool | Watcher", Option(
        False, "Show a progress bar; or a function of a `Progress` that is called now and then, and may raise to end "
        "the run.", "any", apart=True, in_files=False,
    )]
    save: Annotated[str | PathLike[str] | None, Option(
        None, "File (HDF5, see `gyrod.open`) into which the run is written while it goes on: a kill, a full disk or an "
        "error keeps what was written, and memory does not grow with the run. The motion that is returned reads from "
        "it.", "any", apart=True, in_files=False,
    )]
    resume: Annotated[bool, Option(
        False, "With ``save``: go on from the checkpoint of a run that was interrupted or killed, bit for bit as if it "
        "had not been (on the same build; forces of the user must be functions of their arguments alone). A run that "
        "was finished is only opened; where there is none, it begins.", "flag", apart=True, in_files=False,
    )]
    view: Annotated[bool, Option(
        False, "Open the viewer in the browser and show the motion while it is computed.", "flag", apart=True,
        in_files=False,
    )]
    error: Annotated[str, Option(
        "rough", 'Errors: "rough", "total" (1.5 times the cost), "parts" (2) or "finer" (2.4). What ``motion.error`` '
        'says: "rough" figures, which cost nothing; "total" errors of all quantities, by a second run on half the mesh '
        'with a looser tolerance; their "parts", in time and by the mesh, by a third one; or by one on a "finer" mesh, '
        "twice that of the run, which are far nearer to the truth.", "word", ("rough", "total", "parts", "finer"),
    )]
    accuracy: Annotated["float | Mapping[str, float] | None", Option(
        None, "Choose mesh and tolerance for errors of this share of sizes. Errors that are allowed, in place of "
        "``rtol`` and the mesh, which are chosen by these estimates, from the mesh of the rods on: a share of the size "
        "of the system, for positions, and of the largest value, for forces at ends and joints; or by quantity in its "
        'unit, as ``{"hose.start_force": 0.1}``. ``motion.error`` says what was chosen.', "table",
    )]
# fmt: on


def declared(of: type) -> dict[str, Option]:
    """The declarations of `Options` or `Stepping`, by name."""
    return {name: hint.__metadata__[0] for name, hint in of.__annotations__.items()}


_TABLES: dict[type, dict[str, Option]] = {of: declared(of) for of in (Writing, Stepping, Driving, Options)}
STEPPING, OPTIONS = _TABLES[Stepping], _TABLES[Options]
#: The time to simulate, which `simulate` takes by position; files call it ``until``.
TIME = Option(..., "Time to simulate, s.", unit="s")
#: What model files have; there ``output`` may be a number.
IN_FILES = {"until": TIME} | {name: option for name, option in OPTIONS.items() if option.in_files}
IN_FILES["output"] = replace(
    OPTIONS["output"], help="Time between rows, s; else every step is one. Or a list of times."
)
#: What says what becomes of a run: studies choose it.
APART = tuple(name for name, option in OPTIONS.items() if option.apart)
#: What a comparison tries.
TRIED = ("formulation", "method", "rtol", "step")
DEFAULTS = cast("Options", {name: option.default for name, option in OPTIONS.items()})


# --- what was given ---------------------------------------------------------------------------------------------------


def read(function: str, given: Mapping[str, object], of: type[T], **more: tuple[Option, object]) -> T:
    """Options that were given to a function, checked with ``more``; what is not given, or None, is not there.

    Old spellings become parts of the formulation, with a warning; an unknown name is a TypeError.
    """

    known = _TABLES[of]
    for name in given:
        if name not in known and name not in OLD:
            hint = meant(name, [*known])
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint and '.' + hint}")
    warn_old(function, given)
    others = {name: option for name, (option, _) in more.items()}
    values = {name: value for name, (_, value) in more.items()}
    found = checked(values | folded(given), others | known)
    return cast("T", {name: value for name, value in found.items() if name in known})


def whole(given: Stepping) -> Options:
    """All options: what was given, and defaults; the formulation with its projection."""
    form = Formulation.of(given.get("formulation", DEFAULT))
    wanted = given.get("projection", form.projection)
    if form.projection not in ("step", wanted):
        raise ValueError(f"projection = {wanted!r} contradicts {form!r}; leave one of them out.")
    form = form if wanted == form.projection else replace(form, projection=wanted)
    return cast("Options", {**DEFAULTS, **given, "formulation": form})


def folded(given: Mapping[str, object]) -> dict[str, Any]:
    """Options with old spellings as parts of the formulation."""
    old = {name: value for name, value in given.items() if name in OLD}
    if not old:
        return dict(given)
    form = given.get("formulation", DEFAULT)
    parts = {"name": form.name, **form.parts} if isinstance(form, Formulation) else form
    named = parts if isinstance(parts, Mapping) else {"name": parts}
    return {k: x for k, x in given.items() if k not in OLD} | {"formulation": {**named, **old}}


def warn_old(where: str, given: Mapping[str, object], spelled: str = "formulation=gd.Formulation({})") -> None:
    """Say how old spellings are written now."""
    from gyrod import _check

    if old := [name for name in given if name in OLD]:
        form = dict(folded(given)["formulation"])
        words = [repr(form.pop("name")), *(f"{name}={value!r}" for name, value in form.items())]
        _check.warn(
            f"{', '.join(old)} of {where} will be removed; write {spelled.format(', '.join(words))}.",
            DeprecationWarning,
        )


def flat(options: Mapping[str, object]) -> "Data":
    """Options with the parts of the formulation beside them, in plain types: what `folded` takes."""
    form = options.get("formulation")
    return {**options, "formulation": form.name, **form.parts} if isinstance(form, Formulation) else dict(options)


def refuse_foreign(given: Stepping, method: str) -> None:
    """Refuse options that a method does not have."""
    values: dict[str, object] = {name: value for name, value in given.items() if name in OPTIONS}
    for name, value in values.items():
        if OPTIONS[name].only and method not in OPTIONS[name].only:
            where = OPTIONS[name].only[0]
            raise ValueError(f"{name} = {value!r} belongs to method = {where!r}, not to {method!r}; leave it out.")
    names = [
        f"{name} = {getattr(value, 'short', value)!r}"
        for name, value in values.items()
        if goes_without(method, name) and _differs(name, value)
    ]
    if names:
        own = " and its equations its own (coordinates)" if method in STEPPED else ""
        raise ValueError(
            f"{', '.join(names)} cannot be given with method = {method!r}: its steps are constant (step){own}. Leave "
            "out, or choose another method."
        )


def goes_without(method: str, name: str) -> bool:
    """Whether a method with constant steps has no use for an option."""
    return OPTIONS[name].adaptive and (method in STEPPED or (method in IMPACTS and name in CHOSEN_STEPS))


def _differs(name: str, value: object) -> bool:
    """Whether constant steps would do without: a number, or what is not the default; but whether bodies are reduced."""
    if name == "formulation":
        form = Formulation.of(value)
        return form.name != DEFAULT or bool(form.parts.keys() - {"reduce"})
    return OPTIONS[name].form != "word" or bool(value != OPTIONS[name].default)


# --- signatures and docstrings ----------------------------------------------------------------------------------------


def documented(of: type) -> Callable[[F], F]:
    """Decorator of a function with ``**options`` of a declaration: they are in its signature and its docstring."""

    def decorate(function: F) -> F:
        own = inspect.signature(function)
        fixed = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=_type(of, name))
            for name, option in declared(of).items()
        ]
        function.__signature__ = own.replace(parameters=[*fixed, *more])  # type: ignore[attr-defined]
        function.__doc__ = with_rows(function.__doc__, declared(of))
        return function

    return decorate


def _type(of: type, name: str) -> object:
    kind = of.__annotations__[name].__origin__
    return kind.__forward_arg__ if isinstance(kind, ForwardRef) else kind
