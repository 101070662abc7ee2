"""Values of plan files: numbers with units, lists of them, and outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gyrod.files.kinds import Faults, Kind, number, read, shown, unknown
from gyrod.files.reading import Path as Place
from gyrod.model import ModelError, System
from gyrod.motion.readings import quantity
from gyrod.studies import outputs

if TYPE_CHECKING:
    from gyrod._check import Data
    from gyrod.studies.outputs import Output

#: Outputs of one quantity by key.
REDUCED: dict[str, Callable[..., Output]] = {
    "final": outputs.Final, "maximum": outputs.Maximum, "minimum": outputs.Minimum, "average": outputs.Average,
}  # fmt: skip
#: Fields of outputs by key: the quantity, and what may stand beside it.
FIELDS: dict[str, tuple[str, ...]] = {
    "final": ("of", "at"), "maximum": ("of", "at", "over", "give"), "minimum": ("of", "at", "over", "give"),
    "average": ("of", "at"), "crossing": ("of", "at", "value", "direction", "which"), "history": ("of", "at", "times"),
}  # fmt: skip
OUTPUTS = (*REDUCED, "crossing", "history")


@contextmanager
def inside_of(*place: str | int) -> Iterator[None]:
    """Faults inside have their place below another one."""
    try:
        yield
    except Faults as faults:
        raise Faults(*(((*place, *inner), sentence) for inner, sentence in faults.problems)) from None
    except ModelError:
        raise
    except ValueError as error:
        raise Faults((place, str(error))) from None


def known_name(given: Data, names: tuple[str, ...]) -> None:
    """Refuse keys that are not among the names."""
    wrong = [((key,), f"the key {unknown(key, names)}") for key in given if key not in names]
    if wrong:
        raise Faults(*wrong)


def number_of(value: object, units: tuple[str, ...] | None) -> float | int:
    """A number with its unit."""
    found_number = number(Kind(units=units), value)
    assert isinstance(found_number, (int, float))  # without a variable there are no functions
    return found_number


def values_of(given: list[object], units: tuple[str, ...] | None) -> list[object]:
    """Numbers, or lists of numbers."""
    problems: list[tuple[Place, str]] = []

    def value(x: object, place: Place) -> object:
        if isinstance(x, list):
            return [value(y, (*place, i)) for i, y in enumerate(x)]
        try:
            return number_of(x, units)
        except Faults as faults:
            problems.extend(((*place, *inner), sentence) for inner, sentence in faults.problems)
            return 0.0

    made = [value(x, (i,)) for i, x in enumerate(given)]
    if problems:
        raise Faults(*problems)
    if not made:
        raise Faults(((), "is empty; give at least one value."))
    return made


def reduced(key: str, inside: object, system: System | None) -> Output:
    """An output of its key and what stands there: a quantity, or fields with the quantity under ``of``."""
    known = FIELDS[key]
    if key in REDUCED and not isinstance(inside, dict):
        return REDUCED[key](_quantity(inside))
    fields = {"of": inside} if isinstance(inside, str) else inside
    if not isinstance(fields, dict):
        raise Faults(((), f"must be {{{', '.join(f'{name}: ...' for name in known)}}}, got {shown(inside)}."))
    known_name(fields, known)
    if fields.get("of") is None:
        raise Faults(((), "of is missing; it must be a quantity such as 'bob.position[2]'."))
    with inside_of("of"):
        of = _quantity(fields["of"])
    kinds = {"at": Kind(shapes=((), (-1,)), units=("",)), "over": Kind("word", words=("rod",))}
    kinds |= {"give": Kind("word", words=("value", "place")), "value": Kind(units=_units(of, system))}
    kinds |= {"direction": Kind("whole"), "which": Kind("whole")}
    given = {}
    for name, kind in kinds.items():
        if fields.get(name) is not None:
            with inside_of(name):
                given[name] = read(kind, fields[name])
    if key == "history":
        if fields.get("times") is None:
            raise Faults(((), "times is missing; it must be a number of equal parts of the run, or a list of times."))
        with inside_of("times"):
            kind = Kind("whole") if not isinstance(fields["times"], list) else Kind(shapes=((-1,),), units=("s",))
            return outputs.History(of, read(kind, fields["times"]), **given)
    return REDUCED.get(key, outputs.Crossing)(of, **given)


def _units(of: str, system: System | None) -> tuple[str, ...] | None:
    """The unit of a quantity; None if it is not known."""
    try:
        unit = "" if system is None else quantity(of, system).unit
    except ValueError:  # reported when the plan is made
        return None
    return (unit,) if unit else None


def _quantity(given: object) -> str:
    if not isinstance(given, str):
        raise Faults(((), f"must be a quantity such as 'bob.position[2]', got {shown(given)}."))
    return given
