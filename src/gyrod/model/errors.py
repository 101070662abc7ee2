"""How a model is checked: every problem is one sentence, and all of them are raised at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check
from gyrod._check import Array
from gyrod._words import listed, meant
from gyrod.model.expressions import ExpressionError
from gyrod.model.fields import Check, holds

T = TypeVar("T")

#: The name of what does not move.
GROUND = "ground"
#: Larger numbers are refused. The elimination multiplies moments of inertia, masses times squared lengths, with each
#: other: products of six numbers must not overflow.
LARGEST = 1e50
#: The shortest direction.
SHORTEST = 1e-150

_SHAPES = {
    (): "a number",
    (2,): "two numbers",
    (3,): "three numbers",
    (4,): "four numbers",
    (6,): "six numbers",
    (3, 3): "a 3x3 matrix",
    (6, 6): "a 6x6 matrix",
}


class OutsideError(ValueError):
    """A function of time has no value there; the sentence says from when to when it has."""


class ModelError(ValueError):
    """A model that cannot be: ``problems`` holds one sentence for each fault that was found.

    >>> print(ModelError(["mass is negative.", "inertia is missing."]))
    2 problems:
    - mass is negative.
    - inertia is missing.
    """

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        if len(self.problems) == 1:
            return self.problems[0]
        return "\n- ".join([f"{len(self.problems)} problems:", *self.problems])


class Problems:
    """Collects the sentences of failed checks; ``owner``, a description by its label, opens each of them."""

    def __init__(self, owner: str | Description) -> None:
        self.owner = owner
        self.sentences: list[str] = []

    def add(self, sentence: str, owner: str | None = None) -> None:
        """Note a sentence, of this owner unless another one is named."""
        if not isinstance(self.owner, str):
            self.owner = self.owner.label
        self.sentences.append(f"{self.owner if owner is None else owner}: {sentence}")

    def check(self, function: Callable[..., T], *args: object) -> T | None:
        """Return what the check returns, or note its complaint and return None."""
        try:
            return function(*args)
        except ValueError as error:
            self.add(str(error))
            return None

    def passes(self, function: Callable[..., object], *args: object) -> bool:
        """Whether the check has no complaint; if it has one, it is noted."""
        before = len(self.sentences)
        self.check(function, *args)
        return len(self.sentences) == before

    def finish(self) -> None:
        """Raise one error with all that was noted, if anything was."""
        if self.sentences:
            raise ModelError(self.sentences)


_FIELDS: dict[type, tuple[str, ...]] = {}


def field_names(kind: type) -> tuple[str, ...]:
    """Fields of a class of descriptions, in the order of its constructor; found once, for copies ask often."""
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(f.name for f in sorted(fields(kind), key=lambda f: f.kw_only is True))
    return _FIELDS[kind]


class Description:
    """Base of everything a model is made of: frozen, checked when made, equal by value.

    A class of descriptions declares its fields once (`gyrod.model.fields`); its constructor comes from them.
    """

    #: Of each field that is checked: its name, its check, the field that this one depends on, whether it sees None.
    _checks: ClassVar[tuple[tuple[str, Check, str, bool], ...]] = ()
    #: Fields whose checks depend on another one, and this one.
    _dependent: ClassVar[tuple[tuple[str, str], ...]] = ()
    #: Fields that follow from others if they are not given, and these others.
    _derived: ClassVar[tuple[tuple[str, tuple[str, ...]], ...]] = ()
    #: Checks of what belongs together, each with the fields and the earlier stages that must be sound before.
    _stages: ClassVar[Mapping[str, tuple[Callable[..., object], set[str]]]] = {}
    #: Cached properties that copies keep, by the field or the stage that they follow from; "" for none.
    _follows: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    #: Those of them that are found before a copy is made, so that not each copy finds them.
    _shared: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        self._check()

    def _check(self, touched: set[str] | None = None) -> None:
        """Put what checks return in place of what was given; of a copy those of ``touched`` fields and stages.

        All problems are reported at once.
        """
        given, kept, problems, bad = self.__dict__, {}, Problems(self), set[str]()
        for name, check, of, always in self._checks:
            if touched is not None and name not in touched:
                continue
            value = given[name]
            if value is None and not always:
                continue
            try:
                kept[name] = check(name, value, given[of]) if of else check(name, value)
            except ValueError as error:
                problems.add(f"{error}{_formula(check, value)}")
                kept[name] = None
                bad.add(name)
        given.update(kept)
        self._agree(problems, bad)
        if self._stages:
            pending = set(self._stages) if touched is None else touched.intersection(self._stages)
            sound = {*field_names(type(self)), *self._stages} - bad - pending
            for stage, (check, needs) in self._stages.items():
                if stage in pending and sound.issuperset(needs) and problems.passes(check, self):
                    sound.add(stage)
        problems.finish()

    def _agree(self, problems: Problems, bad: set[str]) -> None:
        """Note where fields do not go together, and find what follows from them; ``bad`` are those without a value."""

    @property
    def label(self) -> str:
        """What errors call it."""
        kind, name = type(self).__name__, getattr(self, "name", None)
        return kind if name is None else f"{kind} {shown(name)}"

    def __repr__(self) -> str:
        told = (f"{name}={getattr(self, name)!r}" for name in field_names(type(self)))
        return f"{type(self).__qualname__}({', '.join(told)})"

    def _set(self, **values: object) -> None:
        for field, value in values.items():
            object.__setattr__(self, field, value)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(getattr(self, name), getattr(other, name)) for name in field_names(type(self)))

    def __hash__(self) -> int:
        return hash((type(self), getattr(self, "name", None)))

    def with_(self, changes: Mapping[str, object] | None = None, /, **values: object) -> Self:
        """A copy with other values, checked anew: ``rod.with_(segments=40)``, ``rod.with_({"material.young": 2e6})``.

        What followed from changed values follows anew.
        """
        from gyrod.model.changes import changed  # it knows this class

        return changed(self, changes, **values)

    def _remade(self, new: Mapping[str, object]) -> Self:
        """Make it anew with other values of some of its fields; what followed from others follows anew."""
        if "_checks" in type(self).__dict__:
            return self._again(new, set())
        kept = {name: given(getattr(self, name)) for name in field_names(type(self))}
        return type(self)(**{**kept, **new})  # which may have a constructor of its own

    def _again(self, new: Mapping[str, object], touched: set[str]) -> Self:
        """A copy with other values, in which what they and what is ``touched`` matter for is checked and found anew."""
        values, touched = dict(new), touched.union(new)
        for name, sources in self._derived:
            if name not in new and isinstance(self.__dict__[name], Derived) and not touched.isdisjoint(sources):
                values[name] = None
                touched.add(name)
        touched.update(name for name, source in self._dependent if source in touched)
        for stage, (_, needs) in self._stages.items():  # each comes after those that it needs
            if not touched.isdisjoint(needs):
                touched.add(stage)
        for name in self._shared:
            getattr(self, name)
        made, own = object.__new__(type(self)), field_names(type(self))
        made.__dict__.update(self.__dict__)
        if len(made.__dict__) > len(own):
            kept = [name for source, names in self._follows.items() if source not in touched for name in names]
            for name in made.__dict__.keys() - {*own, *kept}:
                del made.__dict__[name]
        made.__dict__.update(values)
        made._check(touched)
        return made


def _formula(check: Check, value: object) -> str:
    """How to write a formula, for texts where functions of time are taken."""
    kind = getattr(check, "kind", None)
    if kind is None or kind.variable != "t" or kind.form == "orientation" or (kind.words and isinstance(value, str)):
        return ""
    if not any(isinstance(x, str) for x in (value if isinstance(value, (list, tuple)) else [value])):
        return ""
    vector = (3,) in kind.shapes
    return f" A formula of time is {'gd.ExpressionVector([...])' if vector else 'gd.Expression(...)'} of such texts."


class Derived(float):
    """A number that followed from others: it gives way when a description is made anew with other values."""


def given(value: T) -> T | None:
    """Return what was given, None for what was derived."""
    return None if isinstance(value, Derived) else value


class Led(np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """The value at t = 0 of a function of time: who hands it on to another description hands on the function."""

    function: Callable[[float], ArrayLike] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return led, (np.array(self), self.function)


def led(value: Array, function: Callable[[float], ArrayLike] | None) -> Array:
    """Return a value with the function of time that it belongs to, read-only."""
    result = np.array(value).view(Led)
    result.function = function
    result.flags.writeable = False
    return result


def _same(x: object, y: object) -> bool:
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        return bool(
            np.array_equal(np.asarray(x), np.asarray(y))
            and getattr(x, "function", None) == getattr(y, "function", None)
        )
    return bool(x == y)


# --- checks of single values -----------------------------------------------------------------------------------------


def numbers(field: str, value: object, *shapes: tuple[int, ...]) -> Array:
    """Return a read-only copy that has exactly one of the shapes and holds finite numbers."""
    try:
        raw = np.asarray(value)
        if raw.dtype.kind == "O":  # fractions, long integers; None would become NaN without a word
            raw = np.array([float(x) for x in raw.ravel()]).reshape(raw.shape)
        elif raw.dtype.kind not in "iuf":
            raise TypeError
    except Exception:  # of objects that answer with errors of their own, too
        raise ValueError(f"{field} must be {_wanted(shapes)}, got {shown(value)}.") from None
    if raw.shape not in shapes:
        raise ValueError(f"{field} must be {_wanted(shapes)}, got {shown(value)} of shape {raw.shape}.")
    if raw.dtype == np.float64:
        result = np.array(raw)
    else:
        with np.errstate(over="ignore"):
            result = np.array(raw, dtype=float)
    if not _in_range(result):
        _check.finite(field, result)
        raise ValueError(f"{field} = {shown(value)} is too large; numbers up to {LARGEST:g} are allowed.")
    result.flags.writeable = False
    return result


def _wanted(shapes: tuple[tuple[int, ...], ...]) -> str:
    return " or ".join(_SHAPES.get(shape, f"an array of shape {shape}") for shape in shapes)


def _in_range(x: Array) -> bool:
    """Whether all numbers are finite and not too large."""
    if x.size <= _check.FEW:  # one by one, which is faster than NumPy
        return all(-LARGEST <= number <= LARGEST for number in x.ravel().tolist())
    return bool(np.max(np.abs(x)) <= LARGEST)


@holds(shapes=((3,),))
def vector(field: str, value: object) -> Array:
    """Return three finite numbers."""
    return numbers(field, value, (3,))


@holds(shapes=((3,),))
def direction(field: str, value: object) -> Array:
    """Return a unit vector."""
    x = vector(field, value)
    size = float(np.max(np.abs(x)))
    if size <= SHORTEST:
        raise ValueError(f"{field} must not be zero, got {shown(value)}.")
    scaled = x / size
    norm = math.hypot(*scaled)
    if abs(norm * size - 1.0) <= 4.0 * np.finfo(float).eps:  # what is a unit vector already stays as it is
        return x
    return frozen(scaled / norm + 0.0)


def real(field: str, value: object) -> float:
    """Return a number."""
    return float(numbers(field, value, ()))


@holds(positive=True)
def positive(field: str, value: object) -> float:
    """Return a number > 0."""
    if type(value) is float and 0.0 < value <= LARGEST:
        return value
    return _check.positive(field, numbers(field, value, ()))


@holds(positive=True)
def positive_or_derived(field: str, value: object) -> float | None:
    """Return a number > 0, None for one that followed from others."""
    return None if isinstance(value, Derived) else positive(field, value)


def not_negative(field: str, value: object, *shapes: tuple[int, ...]) -> Array:
    """Return numbers >= 0."""
    result = numbers(field, value, *(shapes or ((),)))
    if np.any(result < 0.0):
        raise ValueError(f"{field} must not be negative, got {shown(value)}.")
    return result


def choice(words: Iterable[str]) -> Check:
    """Return a check for one of some words."""
    known = tuple(words)
    return holds(form="word", words=known)(lambda field, value: _check.choice(field, value, known))


def instance(field: str, value: object, kind: type[T], wanted: str) -> T:
    """Return a value that is of a kind; ``wanted`` says what that is."""
    if not isinstance(value, kind):
        raise ValueError(f"{field} must be {wanted}, got {shown(value)}.")
    return value


def frozen(value: ArrayLike) -> Array:
    """Return a read-only copy, without negative zeros."""
    result = np.asarray(np.asarray(value, dtype=float) + 0.0)
    result.flags.writeable = False
    return result


# --- functions of the user -------------------------------------------------------------------------------------------


def raised(error: BaseException) -> str:
    """What a function of the user raised, and in which line of which file."""
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_globals.get("__name__", "").startswith("gyrod."):
        return text
    return f"{text} ({Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno})"


def called(field: str, function: Callable[[float], object], variable: str, x: float, check: Callable[..., T]) -> T:
    """Return the checked value of a function at x; what goes wrong is reported with its name and the place."""
    place = f"{field}({variable} = {x:.6g})"
    try:
        value = function(float(x))
    except Exception as error:  # it is the user's function: it may raise anything
        if isinstance(error, ExpressionError):
            raise ValueError(f"{field} = {error.text!r}: {error.problem}") from error
        if isinstance(error, OutsideError):
            raise ValueError(f"{field}: {error}") from error
        raise ValueError(f"{place} raises {raised(error)}; mend the function there.") from error
    try:
        return check(place, value)
    except ValueError as error:
        raise ValueError(f"{error}{getattr(function, '_remedy', '')}") from None


def sampled(field: str, value: object, s: ArrayLike, check: Callable[..., object]) -> Array:
    """Values at the fractions s, checked one by one: of a function of s, or of a constant that is checked already."""
    fractions = np.asarray(s, dtype=float)
    if not callable(value):
        result = np.empty((len(fractions), *np.asarray(value).shape))
        result[:] = value
        return result
    if check is vector and (bulk := _bulk(value, fractions)) is not None:
        return bulk
    return np.array([called(field, value, "s", x, check) for x in fractions])


def _bulk(function: Callable[[float], object], s: Array) -> Array | None:
    """Vectors of a function that gives no reason for complaint, checked all at once; None if it gives one."""
    try:
        values = np.asarray([function(x) for x in s.tolist()])
    except Exception:  # reported, with the place, when the function is called again
        return None
    sound = values.shape == (len(s), 3) and values.dtype.kind in "iuf" and np.all(np.abs(values) <= LARGEST)
    return values.astype(float) if sound else None


def constant_or_function(field: str, value: object, check: Callable[..., object]) -> object:
    """Return a function as it is, anything else checked: functions are checked where they are used."""
    return value if callable(value) else check(field, value)


@holds(form="name")
def new_name(field: str, name: object) -> str:
    """Return a name that something may bear."""
    if not isinstance(name, str) or not name.strip() or name == GROUND or "/" in name:
        raise ValueError(
            f"{field} = {shown(name)} is not a name; it must be a non-empty string without '/', not 'ground'."
        )
    return str(name)


def name_of(what: str) -> Callable[[str, object], str]:
    """Return a check for the name of something; whether that exists is for the system to say."""

    @holds(form="name")
    def check(field: str, name: object) -> str:
        if not isinstance(name, str) or not name:
            raise ValueError(f"{field} must be the name of {what}, got {shown(name)}.")
        return str(name)

    return check


#: Of a rod; of a body, or "ground".
rod_reference, reference = name_of("a rod"), name_of("a body")


def unknown(argument: str, name: object, names: Iterable[str], kind: str = "bodies", hint: bool = True) -> str:
    """Sentence about a name that does not exist: what does, and the nearest."""
    known = list(names)
    if not known:
        return f"{argument} = {shown(name)} is unknown; the system has no {kind}."
    near = meant(name, known) if hint and isinstance(name, str) else ""
    return f"{argument} = {shown(name)} is unknown; it can be {listed(known)}.{near}"


def turned(angle: float) -> str:
    """An angle in degrees with as many digits as distinguish it from a right angle."""
    degrees = float(np.rad2deg(angle))
    short = f"{degrees:.6g}"
    return f"{short if short != '90' else format(degrees, '.12g')} degrees"


def shown(value: object) -> str:
    """Short text of a value: vectors of numbers as (1, 2, 3), all else by its repr."""
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "f" and value.size <= 4:
        return f"({', '.join(f'{x:.12g}' for x in value)})"
    text = repr(value) if isinstance(value, str) else _check.shown(value)
    return text if len(text) <= 100 else f"{text[:97]}..."
