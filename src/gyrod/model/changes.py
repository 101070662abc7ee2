"""Changed copies: a description with other values, by paths such as "hose.material.young" or "forces[0].stiffness"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gyrod._words import listed, meant
from gyrod.model.errors import Derived, Description, Led, ModelError, field_names, shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gyrod.model.system import System

#: Lists of a system; their members are also found by name.
LISTS = ("bodies", "joints", "rods", "forces", "sensors", "contacts")

_STEP = re.compile(r"\.([^.\[\]]+)|\[\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*\]")

#: A field, a key or an index.
Step = str | int
D = TypeVar("D")
#: Arguments by name; what holds several members is a tuple.
Arguments = Mapping[str, object]


class _Unknown(ValueError):
    """A path that leads nowhere."""


#: Changes as a tree, by steps: what is at its ends is a `_Whole`.
Branches = dict[Step, "Branches | _Whole"]


# --- changed copies --------------------------------------------------------------------------------------------------


def changed(part: D, changes: Mapping[str, object] | None, **values: object) -> D:
    """A copy of a description with other values, checked as if it were made anew; all problems at once."""
    wanted = _collected(part, changes, values, lambda path: _steps(path))
    return _apply(part, wanted)


def changed_system(system: System, changes: Mapping[str, object] | None, **values: object) -> System:
    """The same for a system, whose members are found by name."""
    system = system.original
    wanted = _collected(system, changes, values, lambda path: address(system, path))
    if system.attachments is None or "attachments" in wanted:
        return _apply(system, wanted)
    # Joints that stay keep their place in the bodies, which assembling has fixed; those that change sit anew.
    loose = _apply(system, {**wanted, "attachments": None})
    if len(loose.joints) != len(system.joints):
        return loose
    pairs = zip(system.joints, loose.joints, system.attachments, strict=True)
    kept = [at if old == new else loose.attachment(new) for old, new, at in pairs]
    return _apply(loose, {"attachments": kept})


def changed_arguments(arguments: Arguments, changes: Mapping[str, object] | None, **values: object) -> Arguments:
    """Arguments of a function with other values: those that are descriptions are changed by their fields."""
    wanted = _collected(arguments, changes, values, lambda path: address(arguments, path))
    return _apply(arguments, wanted)


def value_at(whole: System | Arguments, path: str) -> Any:
    """What stands at a path."""
    try:
        value: object = getattr(whole, "original", whole)
        for step in address(value, path):
            value = _child(value, step, path)
    except _Unknown as error:
        raise ModelError(str(error)) from None
    return float(value) if isinstance(value, Derived) else value


def numeric_paths(system: System) -> dict[str, ArrayLike]:
    """All paths with numbers, and these: scalars and arrays; what follows from others is left out."""
    found: dict[str, ArrayLike] = {}
    system = system.original
    for field in LISTS:
        for i, member in enumerate(getattr(system, field)):
            found |= _numbers(f"{field}[{i}]" if member.name is None else member.name, member)
    if system.gravity_function is None:
        found["gravity"] = system.gravity
    return found


def _numbers(path: str, value: object) -> Iterator[tuple[str, ArrayLike]]:
    if isinstance(value, Description):
        for field in fields(value):  # type: ignore[arg-type]
            yield from _numbers(f"{path}.{field.name}", getattr(value, field.name))
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _numbers(f"{path}.{key}", part)
    elif isinstance(value, Derived | bool | Led):
        return
    elif isinstance(value, int | float | np.number | np.ndarray):
        yield path, value
    elif isinstance(value, tuple | list):
        for i, part in enumerate(value):
            yield from _numbers(f"{path}[{i}]", part)


# --- paths -----------------------------------------------------------------------------------------------------------


def _steps(path: str, begin: int = 0) -> list[Step]:
    """Fields, keys and indices of a path, from a place in it on."""
    if not isinstance(path, str) or not path:
        raise _Unknown(f"path = {shown(path)} must be text such as 'material.young'.")
    text = path[begin:] if begin else f".{path}"
    found: list[Step] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise _Unknown(f"path = {path!r} cannot be read at {text[at:]!r}; write it as 'name.field[0].field'.")
        field, numbers = match.groups()
        found += [field] if field is not None else [int(x) for x in numbers.split(",")]
        at = match.end()
    return found


def address(whole: object, path: str) -> list[Step]:
    """Steps from a system or arguments on: a name stands for a place in a list. Names may hold dots and brackets."""
    if not isinstance(path, str) or not path:
        raise _Unknown(f"path = {shown(path)} must be text such as 'bob.mass'.")
    head = re.match(r"[^.\[]*", path)
    own = tuple(whole) if isinstance(whole, Mapping) else field_names(type(whole))
    if head is not None and head[0] in own:
        return _steps(path)
    places = _places(whole)
    fitting = [name for name in places if path.startswith(name) and path[len(name) : len(name) + 1] in ("", ".", "[")]
    if not fitting:
        listed = [*places, *own]
        where = "there" if isinstance(whole, Mapping) else "in a system"
        raise _Unknown(f"path = {path!r}: {_unknown(head[0] if head else path, listed, where)}")
    name = max(fitting, key=len)
    return [*places[name], *_steps(path, len(name))]


def _places(whole: object) -> dict[str, tuple[Step, ...]]:
    """Where members of a system or of arguments are, by name; arguments with a name are that member themselves."""
    found: dict[str, tuple[Step, ...]] = {}
    if isinstance(whole, Mapping):
        lists = {key: value for key, value in whole.items() if isinstance(value, tuple)}
        found |= {} if whole.get("name") is None else {whole["name"]: ()}
    else:
        lists = {key: getattr(whole, key) for key in LISTS}
    for key, members in lists.items():
        for i, member in enumerate(members):
            name = member.get("name") if isinstance(member, Mapping) else getattr(member, "name", None)
            found |= {} if name is None else {name: (key, i)}
    return found


def _unknown(name: str, known: Sequence[str], where: str) -> str:
    return f"{name!r} is unknown; {where} it can be {listed(known, 24)}.{meant(name, known)}"


def _child(value: Any, step: Step, path: str) -> object:
    """One step down."""
    if isinstance(value, Description):
        names = field_names(type(value))
        if step in names:
            return getattr(value, str(step))
        what = value.label
        raise _Unknown(f"path = {path!r}: {_unknown(str(step), names, f'of {what}')}")
    if isinstance(value, Mapping):
        if step in value:
            return value[step]
        raise _Unknown(f"path = {path!r}: {_unknown(str(step), [str(key) for key in value], 'there')}")
    indexed = isinstance(value, tuple | list | np.ndarray) and not isinstance(value, Led)
    if indexed and getattr(value, "shape", None) != ():
        if isinstance(step, int) and -len(value) <= step < len(value):
            return value[step]
        raise _Unknown(f"path = {path!r}: {step!r} is not an index; there are {len(value)}, counted from 0.")
    raise _Unknown(f"path = {path!r}: {shown(value)} has no {step!r}; end the path there, and set it as a whole.")


# --- trees of changes ------------------------------------------------------------------------------------------------


class _Whole:
    """A value that takes the place of what is there."""

    def __init__(self, value: object) -> None:
        self.value = value


def _collected(
    part: object, changes: Mapping[str, object] | None, values: Mapping[str, object], read: Callable[[str], list[Step]]
) -> Branches:
    """All changes as a tree; every path must lead somewhere, and none may lie inside of another."""
    if changes is not None and not isinstance(changes, Mapping):
        raise ValueError(f"changes must be a dictionary from paths to values, got {shown(changes)}.")
    tree: Branches = {}
    sentences = []
    for path, value in [*(changes or {}).items(), *values.items()]:
        try:
            steps = read(path)
            place = part
            for step in steps:
                place = _child(place, step, path)
            _plant(tree, _positive(part, steps), _Whole(value), path)
        except _Unknown as error:
            sentences.append(str(error))
    if sentences:
        raise ModelError(sentences)
    return tree


def _positive(part: Any, steps: list[Step]) -> list[Step]:
    """The same steps with indices from the front."""
    found: list[Step] = []
    for step in steps:
        found.append(step + len(part) if isinstance(step, int) and step < 0 else step)
        part = _child(part, step, "")
    return found


def _plant(tree: Branches, steps: list[Step], value: _Whole, path: str) -> None:
    for step in steps[:-1]:
        inner = tree.setdefault(step, {})
        if isinstance(inner, _Whole):
            raise _Unknown(f"path = {path!r} lies inside of another one that is changed as a whole; give one of them.")
        tree = inner
    if steps[-1] in tree:
        raise _Unknown(f"path = {path!r} is changed twice, or a part of it is; give one of them.")
    tree[steps[-1]] = value


def _apply(part: D, tree: Mapping[Step, object]) -> D:
    sentences: list[str] = []
    result: D = _rebuilt(
        part, {k: v if isinstance(v, dict | _Whole) else _Whole(v) for k, v in tree.items()}, sentences
    )
    if sentences:
        raise ModelError(sentences)
    return result


def _rebuilt(part: Any, tree: Any, sentences: list[str]) -> Any:
    """A part with its changes; what cannot be is reported, and the part stays as it is."""
    if isinstance(tree, _Whole):
        return tree.value
    if isinstance(part, Description):
        new = {}
        inner: list[str] = []
        for field, subtree in tree.items():
            found: list[str] = []
            new[str(field)] = _rebuilt(getattr(part, str(field)), subtree, found)
            if found:  # members of a system say themselves who they are
                owner = "" if field in LISTS else f"{part.label}, {field}: "
                inner += [f"{owner}{sentence}" for sentence in found]
        sentences += inner
        return part if inner else _made(part, new, sentences)
    if isinstance(part, Mapping):
        return {**part, **{str(k): _rebuilt(part[k], v, sentences) for k, v in tree.items()}}
    if isinstance(part, np.ndarray) and part.dtype.kind == "f":
        copy = np.array(part)
        for k, v in tree.items():
            try:
                copy[k] = _rebuilt(part[k], v, sentences)
            except (TypeError, ValueError, OverflowError):
                sentences.append(f"[{k}] must be {'a number' if part.ndim == 1 else 'numbers'}, got {shown(v.value)}.")
        return copy
    members = list(part)
    for k, v in tree.items():
        members[k] = _rebuilt(part[k], v, sentences)
    return tuple(members)


def _made(part: Description, new: Mapping[str, object], sentences: list[str]) -> Description:
    try:
        return part._remade(new)
    except ModelError as error:
        sentences += error.problems
    except (TypeError, ValueError) as error:
        sentences.append(f"{part.label}: {error}")
    return part
