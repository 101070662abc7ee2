"""Fields of descriptions: each is declared once, and constructor, checks, copies and model files follow from that."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, replace
from inspect import get_annotations
from typing import Any, Generic, Never, Self, TypeVar, dataclass_transform, overload

from gyrod._words import suggests

T = TypeVar("T")
K = TypeVar("K", covariant=True)
G = TypeVar("G", contravariant=True)

#: A check of one value: it takes name and value of a field, and returns what is kept or raises a ValueError.
Check = Callable[..., object]


@dataclass(frozen=True)
class Kind:
    """What a field holds in a model file."""

    #: How it is read: a key of `gyrod.files.kinds.FORMS`.
    form: str = "numbers"
    #: Shapes of numbers that are allowed; -1 is any number of rows.
    shapes: tuple[tuple[int, ...], ...] = ((),)
    #: Units whose dimension a quantity may have; None for any.
    units: tuple[str, ...] | None = ("",)
    #: The variable of a function that may stand in place of numbers.
    variable: str | None = None
    #: Words that are allowed.
    words: tuple[str, ...] = ()
    #: Group of the object that it is.
    group: str = ""
    #: Whether it must be > 0; the model says so, this is for editors.
    positive: bool = False
    #: Whether constants are refused.
    needs_function: bool = False
    #: Whether one number stands for all components.
    spread: bool = False
    #: What may stand in place of the object.
    instead: Kind | None = None
    #: Fields that may stand beside a word, which is then the first of them.
    parts: Mapping[str, Kind] | None = None


class Kept(Generic[K, G]):
    """Annotation of a field that is kept as one type and given as another: ``at: Kept[Array, ArrayLike]``.

    Type checkers read it as a descriptor, which gives the attribute the one and the argument the other type (mypy
    does not know converters); it does not exist at run time. Nothing can be assigned.
    """

    @overload
    def __get__(self, instance: None, owner: object) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: object) -> K: ...
    def __get__(self, instance: object, owner: object) -> object: ...

    def __set__(self, instance: Never, value: G) -> None: ...


def holds(**facts: Any) -> Callable[[T], T]:
    """Mark a check with what passes it: facts of a `Kind`, for model files and editors."""

    def told(check: T) -> T:
        check.kind = Kind(**facts)  # type: ignore[attr-defined]
        return check

    return told


def field(
    check: Check | None,
    *units: str,
    default: object = MISSING,
    always: bool = False,
    of: str = "",
    follows: tuple[str, ...] = (),
    **facts: Any,
) -> Any:
    """Declare a field by its check, the units of its numbers and its default.

    None passes where it is the default, unless the check is ``always`` asked. A check that depends on another field
    gets that one, as it was given, as third argument: ``of``. A field that was not given ``follows`` from others, anew
    in copies in which these change. What the field holds in a model file is what the check says (`holds`); ``facts`` of
    a `Kind` add to that.
    """
    if units:
        facts["units"] = units
    kind = replace(getattr(check, "kind", Kind()), **facts)
    told = {"check": check, "always": always, "of": of, "follows": follows, "kind": kind}
    return dataclasses.field(default=default, metadata=told)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def description(cls: type[T]) -> type[T]:
    """Make a class of descriptions: frozen, with a constructor that takes its fields and has them checked.

    It is a dataclass, of which the fields are declared by `field`; annotations are texts. To type checkers it is not
    frozen, since mypy would then take inherited fields for what is given.
    """
    made: Any = cls
    taken = dict(getattr(cls, "_taken", {}))
    for name, annotation in get_annotations(cls).items():
        cls.__annotations__[name], taken[name] = _kept_and_given(annotation)
    dataclass(frozen=True, eq=False, repr=False)(cls)
    found = dataclasses.fields(made)
    made.__init__.__annotations__.update({f.name: taken[f.name] for f in found})
    made._taken = taken
    made._checks = tuple(
        (f.name, f.metadata["check"], f.metadata["of"], f.metadata["always"] or f.default is not None)
        for f in found
        if f.metadata["check"] is not None
    )
    made._dependent = tuple((f.name, f.metadata["of"]) for f in found if f.metadata["of"])
    made._derived = tuple((f.name, f.metadata["follows"]) for f in found if f.metadata["follows"])
    return suggests(cls)


def _kept_and_given(annotation: str) -> tuple[str, str]:
    """Both parts of a `Kept`; of all else twice the same."""
    if not annotation.startswith("Kept["):
        return annotation, annotation
    inner, depth = annotation[len("Kept[") : -1], 0
    for i, character in enumerate(inner):
        depth += (character in "[(") - (character in "])")
        if character == "," and depth == 0:
            return inner[:i], inner[i + 1 :].strip()
    raise TypeError(f"{annotation} must have two parts: what is kept, what is given.")


def kinds(cls: type) -> dict[str, Kind]:
    """What the fields of a class hold in a model file, by name; a class may have ``field_units`` of its own."""
    own: dict[str, str] = getattr(cls, "field_units", {})
    found = {f.name: f.metadata["kind"] for f in dataclasses.fields(cls)}
    return {name: replace(kind, units=(own[name],)) if name in own else kind for name, kind in found.items()}
