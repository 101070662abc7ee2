"""Kinds of values that fields of a model file hold: how one is read, and what an editor learns about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gyrod._words import listed, meant
from gyrod.files.quantities import QuantityError, looks_like_quantity, quantity, without_units
from gyrod.files.reading import Path
from gyrod.model.errors import LARGEST
from gyrod.model.expressions import Expression, ExpressionError, ExpressionVector
from gyrod.model.fields import Kind as Kind

#: Names that a sentence lists, and among which it looks for the nearest.
MOST_LISTED, MOST_COMPARED = 30, 2000


class Faults(Exception):
    """Problems of one value: each the path inside it and a sentence."""

    def __init__(self, *problems: tuple[Path, str]) -> None:
        self.problems = problems
        super().__init__(problems)


def read(kind: Kind, value: object) -> Any:
    """Return what the constructor takes, or raise `Faults`."""
    return FORMS[kind.form](kind, value)


def shown(value: object) -> str:
    """Short text of a value, as in a file."""
    text = {True: "true", False: "false", None: "null"}.get(value) if value is None or isinstance(value, bool) else None
    text = text or (repr(value) if not isinstance(value, dict) else "{" + ", ".join(map(str, value)) + "}")
    return text if len(text) <= 80 else f"{text[:77]}..."


# --- numbers ---------------------------------------------------------------------------------------------------------

_SHAPES = {
    (): "a number", (2,): "two numbers", (3,): "three numbers", (4,): "four numbers", (6,): "six numbers",
    (-1,): "a list of numbers", (3, 3): "a 3x3 matrix", (6, 6): "a 6x6 matrix", (-1, 3): "a list of points",
    (-1, -1): "a table of numbers", (-1, 4): "a list of quaternions", (-1, 3, 3): "a list of matrices",
}  # fmt: skip


def wanted(kind: Kind) -> str:
    """What a field may hold, in words."""
    parts = [*map(repr, kind.words)]
    if not kind.needs_function:
        parts += [_SHAPES[shape] for shape in kind.shapes]
    if kind.variable is not None:
        parts.append(f"an expression of {kind.variable}")
    text = " or ".join(parts)
    units = [u for u in kind.units or () if u]
    return f"{text} in {' or '.join(units)}" if units else text


def number(kind: Kind, value: object) -> float | int | Expression:
    """A number, a quantity, or an expression; one without the variable is a number."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not abs(value) <= LARGEST:
            raise Faults(((), f"{shown(value)} is not allowed in a model; numbers up to {LARGEST:g} are allowed."))
        return value
    if not isinstance(value, str):
        raise Faults(((), f"must be {wanted(kind)}, got {shown(value)}."))
    try:
        if looks_like_quantity(value):
            return quantity(value, kind.units)
        made = Expression(value, kind.variable or "t")
    except QuantityError as error:
        raise Faults(((), units_inside(kind, value) or str(error))) from None
    except ExpressionError as error:
        if sentence := units_inside(kind, value):
            raise Faults(((), sentence)) from None
        if kind.variable is None:
            raise Faults(((), f"must be {wanted(kind)}, got {shown(value)}.")) from None
        hint = " An expression with a comma needs quotes." if torn(value) else ""
        raise Faults(((), f"the expression {shown(value)} fails: {error.problem}{hint}")) from None
    if made.constant is not None:
        return number(kind, made.constant)
    if kind.variable is None:
        raise Faults(((), f"{shown(value)} depends on t, but must be {wanted(kind)} here."))
    return made


def units_inside(kind: Kind, text: str) -> str | None:
    """Sentence about an expression with units in it, and how it is written without; None if it is something else."""
    written = without_units(text)
    try:
        depends = Expression(written, kind.variable or "t").constant is None
    except ExpressionError:
        return None
    if written == text or not depends:
        return None
    return f"units cannot stand inside of an expression, which is in SI: write {written!r} in place of {shown(text)}."


def array(kind: Kind, value: object) -> Any:
    """Nested lists of numbers, or an `ExpressionVector`; shapes are checked."""
    problems: list[tuple[Path, str]] = []

    def leaf(x: object, path: Path) -> object:
        if isinstance(x, list):
            return [leaf(y, (*path, i)) for i, y in enumerate(x)]
        try:
            return number(kind, x)
        except Faults as faults:
            problems.extend(((*path, *inner), sentence) for inner, sentence in faults.problems)
            return 0.0

    shape = _shape(value)
    if not _allowed(shape, kind):
        hint = "; an expression with a comma needs quotes" if any(map(torn, _leaves(value))) else ""
        raise Faults(((), f"must be {wanted(kind)}, got {shown(value)}{hint}."))
    found = leaf(value, ())
    if problems:
        raise Faults(*problems)
    if isinstance(found, list) and any(isinstance(x, Expression) for x in _leaves(found)):
        if len(shape or ()) != 1:
            raise Faults(((), f"expressions are allowed in a list of numbers, not in a matrix: {shown(value)}."))
        return ExpressionVector(found, kind.variable)
    return found


def torn(value: object) -> bool:
    """Whether a text looks like part of an expression that commas have cut."""
    return isinstance(value, str) and value.count("(") != value.count(")")


def _leaves(x: object) -> list[object]:
    return [z for y in x for z in _leaves(y)] if isinstance(x, list) else [x]


def _shape(value: object) -> tuple[int, ...] | None:
    """Shape of nested lists, None if they are ragged."""
    if not isinstance(value, list):
        return ()
    inner = {_shape(x) for x in value}
    if len(inner) != 1:
        return (0,) if not value else None
    (only,) = inner
    return None if only is None else (len(value), *only)


def _allowed(shape: tuple[int, ...] | None, kind: Kind) -> bool:
    return shape is not None and any(
        len(shape) == len(s) and all(b in (-1, a) for a, b in zip(shape, s, strict=True)) for s in kind.shapes
    )


def _numbers(kind: Kind, value: object) -> object:
    if isinstance(value, str) and kind.words and (value in kind.words or not looks_like_quantity(value)):
        if () not in kind.shapes or value in kind.words:
            return _word(kind, value)
        try:
            return number(kind, value)
        except Faults:
            return _word(kind, value)
    found = array(kind, value)
    if kind.needs_function and not callable(found):
        raise Faults(((), f"must be an expression of {kind.variable}, got {shown(value)}."))
    return found


def _law(kind: Kind, value: object) -> object:
    """A number, an expression, or three expressions: a function and its derivatives."""
    if not isinstance(value, list):
        return number(kind, value)
    if len(value) != 3:
        raise Faults(((), f"must be {wanted(kind)}, or three expressions (f, f', f''), got {shown(value)}."))
    problems, found = [], []
    for i, x in enumerate(value):
        try:
            found.append(_function(x, kind.variable))
        except Faults as faults:
            problems += [((i, *path), sentence) for path, sentence in faults.problems]
    if problems:
        raise Faults(*problems)
    return tuple(found)


def _function(value: object, variable: str | None) -> Expression:
    """An expression, constant or not."""
    try:
        return Expression(value if isinstance(value, str) else repr(number(Kind(), value)), variable)
    except ExpressionError as error:
        raise Faults(((), f"the expression {shown(value)} fails: {error.problem}")) from None


def _limits(kind: Kind, value: object) -> object:
    if not isinstance(value, list) or len(value) != 2:
        raise Faults(((), f"must be two numbers [lowest, highest], either may be null, got {shown(value)}."))
    problems, found = [], []
    for i, x in enumerate(value):
        try:
            found.append(None if x is None else number(kind, x))
        except Faults as faults:
            problems += [((i, *path), sentence) for path, sentence in faults.problems]
    if problems:
        raise Faults(*problems)
    return tuple(found)


# --- words -----------------------------------------------------------------------------------------------------------


def _word(kind: Kind, value: object) -> str:
    if isinstance(value, str) and value in kind.words:
        return value
    raise Faults(((), unknown(value, kind.words)))


def unknown(value: object, names: Sequence[str]) -> str:
    """Sentence about a word that is not among some: what is, and the nearest."""
    hint = meant(str(value), names) if len(names) <= MOST_COMPARED else ""
    return f"{shown(value)} is unknown; it can be {listed(names, MOST_LISTED)}.{hint}"


def _name(kind: Kind, value: object) -> str:  # noqa: ARG001
    if isinstance(value, str):
        return value
    raise Faults(((), f"must be a name, got {shown(value)}; write it in quotes if it is meant as text."))


def _names(kind: Kind, value: object) -> object:
    if not isinstance(value, list):
        return _name(kind, value)
    problems = [((i,), f"must be a name, got {shown(x)}.") for i, x in enumerate(value) if not isinstance(x, str)]
    if problems:
        raise Faults(*problems)
    return value


def _flag(kind: Kind, value: object) -> bool:  # noqa: ARG001
    if isinstance(value, bool):
        return value
    raise Faults(((), f"must be true or false, got {shown(value)}."))


def _whole(kind: Kind, value: object) -> int:  # noqa: ARG001
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value // 1 and abs(value) <= 1e15:
        return int(value)
    raise Faults(((), f"must be an integer, got {shown(value)}."))


# --- what has a form of its own --------------------------------------------------------------------------------------


def _orientation(kind: Kind, value: object) -> object:
    """Rotation vector, quaternion, matrix, {euler: [sequence, angles]} or {along: direction}."""
    if not isinstance(value, dict):
        return array(kind, value)
    if set(value) == {"along"}:
        try:
            return "along", array(Kind(shapes=((3,),)), value["along"])
        except Faults as faults:
            raise Faults(*((("along", *path), sentence) for path, sentence in faults.problems)) from None
    if set(value) != {"euler"} or not isinstance(value["euler"], list) or len(value["euler"]) != 2:
        forms = f'{wanted(kind)}, {{euler: ["313", [a, b, c]]}} or {{along: [x, y, z]}}'
        raise Faults(((), f"must be {forms}, got {shown(value)}."))
    sequence, angles = value["euler"]
    if isinstance(sequence, int) and not isinstance(sequence, bool):  # 313 without quotes
        sequence = str(sequence)
    if not isinstance(sequence, str):
        raise Faults((("euler", 0), f'must be a sequence of axes such as "313", got {shown(sequence)}.'))
    try:
        return sequence, array(Kind(shapes=((3,),)), angles)
    except Faults as faults:
        raise Faults(*((("euler", 1, *path), sentence) for path, sentence in faults.problems)) from None


def _place(kind: Kind, value: object) -> object:
    """Point of a body or of ground, or place in a rod: a fraction, or [fraction, [a1, a2]]."""
    if isinstance(value, list) and len(value) == 2 and not isinstance(value[0], list):
        return _rod_point(value, ())
    return array(kind, value) if isinstance(value, list) else number(Kind(), value)


def _rod_point(value: object, path: Path) -> object:
    try:
        if not isinstance(value, list):
            return number(Kind(), value)
        if len(value) != 2:
            raise Faults(((), f"must be a fraction of the length, or [fraction, [a1, a2]], got {shown(value)}."))
        s = number(Kind(), value[0])
        return s, tuple(array(Kind(shapes=((2,),), units=("m",)), value[1]))
    except Faults as faults:
        raise Faults(*(((*path, *inner), sentence) for inner, sentence in faults.problems)) from None


def _points(kind: Kind, value: object) -> object:  # noqa: ARG001
    if not isinstance(value, list):
        raise Faults(((), f"must be a list of [fraction, [a1, a2]], got {shown(value)}."))
    problems: list[tuple[Path, str]] = []
    found = []
    for i, x in enumerate(value):
        try:
            found.append(_rod_point(x, (i,)))
        except Faults as faults:
            problems += faults.problems
    if problems:
        raise Faults(*problems)
    return found


def _family(kind: Kind, value: object) -> object:
    """A word, or a word with a number."""
    if not isinstance(value, list):
        return _word(kind, value)
    if len(value) != 2 or not isinstance(value[0], str):
        raise Faults(((), f"must be {wanted(kind)}, or a pair such as [sine, 3], got {shown(value)}."))
    return value[0], number(Kind(), value[1])


def _named(kind: Kind, value: object) -> object:
    """A word, or fields one of which is its name."""
    if not isinstance(value, dict):
        return _word(kind, value)
    problems: list[tuple[Path, str]] = []
    found = {}
    for key, x in value.items():
        try:
            if key not in (kind.parts or {}):
                raise Faults(((), "the key " + unknown(key, list(kind.parts or ()))))
            found[key] = read((kind.parts or {})[key], x)
        except Faults as faults:
            problems += [((key, *path), sentence) for path, sentence in faults.problems]
    if problems:
        raise Faults(*problems)
    return found


def _table(kind: Kind, value: object) -> object:
    """Numbers by name."""
    if isinstance(value, dict):
        problems: list[tuple[Path, str]] = []
        found = {}
        for key, x in value.items():
            try:
                found[key] = number(Kind(units=None), x)
            except Faults as faults:
                problems += [((key, *path), sentence) for path, sentence in faults.problems]
        if problems:
            raise Faults(*problems)
        return found
    if kind.shapes or kind.words:
        return _numbers(kind, value)
    raise Faults(((), f"must be numbers by name, got {shown(value)}."))


def _anything(kind: Kind, value: object) -> object:
    """Whatever it is; quantities become numbers."""
    if isinstance(value, list):
        return [_anything(kind, x) for x in value]
    if isinstance(value, str) and looks_like_quantity(value):
        try:
            return quantity(value, None)
        except QuantityError:
            return value
    return value


def _color(kind: Kind, value: object) -> object:  # noqa: ARG001
    return value if isinstance(value, str) else array(Kind(shapes=((3,),)), value)


def _object(kind: Kind, value: object) -> object:
    """Objects are read by who knows their classes; what may stand in their place is read here."""
    return value if kind.instead is None or isinstance(value, dict) else read(kind.instead, value)


FORMS: dict[str, Callable[[Kind, object], object]] = {
    "numbers": _numbers, "law": _law, "limits": _limits, "word": _word, "name": _name, "names": _names, "flag": _flag,
    "whole": _whole, "orientation": _orientation, "place": _place, "points": _points, "family": _family,
    "named": _named,
    "table": _table, "anything": _anything, "color": _color, "object": _object, "objects": _object,
}  # fmt: skip
