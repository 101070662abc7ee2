"""Quantities such as "12 mm" and "2 GPa": units exist only here, at the edge; everything inside is SI."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction

#: Exponents of metre, kilogram and second; angles have none.
Dimension = tuple[int, int, int]


@dataclass(frozen=True)
class Unit:
    """A unit: SI value, exact where it is rational, times ``turn`` for angles, and its dimension."""

    factor: Fraction
    dimension: Dimension
    turn: float = 1.0

    def times(self, other: Unit, power: int = 1) -> Unit:
        """This unit times a power of another one."""
        dimension = tuple(a + power * b for a, b in zip(self.dimension, other.dimension, strict=True))
        a, b, c = dimension
        return Unit(self.factor * other.factor**power, (a, b, c), self.turn * other.turn**power)


ONE = Unit(Fraction(1), (0, 0, 0))
_LENGTH, _MASS, _TIME = (1, 0, 0), (0, 1, 0), (0, 0, 1)

#: Units that take prefixes.
_PREFIXED = {
    "m": Unit(Fraction(1), _LENGTH),
    "g": Unit(Fraction(1, 1000), _MASS),
    "s": Unit(Fraction(1), _TIME),
    "N": Unit(Fraction(1), (1, 1, -2)),
    "Pa": Unit(Fraction(1), (-1, 1, -2)),
    "J": Unit(Fraction(1), (2, 1, -2)),
    "W": Unit(Fraction(1), (2, 1, -3)),
    "Hz": Unit(Fraction(1), (0, 0, -1)),
    "rad": ONE,
    "bar": Unit(Fraction(100_000), (-1, 1, -2)),
}
_PREFIXES = {
    "": 0, "n": -9, "u": -6, "µ": -6, "μ": -6, "m": -3, "c": -2, "d": -1, "k": 3, "M": 6, "G": 9, "T": 12,
}  # fmt: skip
#: Units that stand alone.
_SINGLE = {
    "min": Unit(Fraction(60), _TIME),
    "h": Unit(Fraction(3600), _TIME),
    "t": Unit(Fraction(1000), _MASS),
    "deg": Unit(Fraction(1, 180), (0, 0, 0), math.pi),
    "°": Unit(Fraction(1, 180), (0, 0, 0), math.pi),
    "rev": Unit(Fraction(2), (0, 0, 0), math.pi),
    "rpm": Unit(Fraction(2, 60), (0, 0, -1), math.pi),
    "%": Unit(Fraction(1, 100), (0, 0, 0)),
    "g0": Unit(Fraction("9.80665"), (1, 0, -2)),
    "in": Unit(Fraction("0.0254"), _LENGTH),
    "ft": Unit(Fraction("0.3048"), _LENGTH),
    "lb": Unit(Fraction("0.45359237"), _MASS),
    "lbf": Unit(Fraction("0.45359237") * Fraction("9.80665"), (1, 1, -2)),
}
UNITS: dict[str, Unit] = {
    prefix + name: unit.times(Unit(Fraction(10) ** power, (0, 0, 0)))
    for name, unit in _PREFIXED.items()
    for prefix, power in _PREFIXES.items()
} | _SINGLE

_QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?)\s*(\S.*?)?\s*")
_PART = re.compile(r"\s*([*·/]?)\s*(?:(1(?=\s*/))|([A-Za-zµμ°%]+0?)(?:(?:\^|\*\*)?(-?\d)|([²³⁴]))?)")
#: A quantity within an expression: a number and units that "/", a space or nothing joins; no function, no variable.
_INSIDE = re.compile(
    r"(?<![\w.])((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?)\s*"
    r"([A-Za-zµμ°%]+0?(?:\^?\d)?(?:(?:\s*/\s*|\s+)[A-Za-zµμ°%]+0?(?:\^?\d)?)*)(?![\w(])"
)
#: What is suggested.
_USUAL = (
    "m",
    "mm",
    "cm",
    "km",
    "kg",
    "g",
    "s",
    "ms",
    "N",
    "kN",
    "Pa",
    "MPa",
    "GPa",
    "J",
    "Hz",
    "rad",
    "deg",
    "rpm",
    "h",
)
_RAISED = {"²": 2, "³": 3, "⁴": 4}


class QuantityError(ValueError):
    """A quantity that cannot be read; the sentence says why."""


def looks_like_quantity(text: str) -> bool:
    """Whether a text is a number that a unit follows, or a number alone."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return False
    return match[2] is None or (_PART.match(match[2]) is not None and match[2][0] not in "*/^·")


def quantity(text: str, units: tuple[str, ...] | None) -> float:
    """Value in SI of a text such as "12 mm"; ``units`` are those whose dimension is allowed, None for any."""
    match = _QUANTITY.fullmatch(text)
    if match is None or len(text) > 100:
        raise QuantityError(f"{_short(text)!r} is not a quantity; it must be a number and a unit, such as '12 mm'.")
    number, name = match[1], match[2]
    if name is None:
        return _finite(float(number), text)
    found = unit(name)
    if units is not None and found.dimension not in {unit(u).dimension for u in units}:
        wanted = " or ".join(u or "a plain number" for u in units)
        hint = " (g is gram; the standard gravity is g0)" if name == "g" else ""
        raise QuantityError(f"{text!r} has the wrong unit: {wanted} is expected{hint}.")
    exact = Fraction(number) * found.factor
    try:
        value = float(exact) if found.turn == 1.0 else float(exact) * found.turn
    except OverflowError:
        value = math.inf
    return _finite(value, text)


def without_units(text: str) -> str:
    """A text with its quantities, such as the 30 deg of "30 deg*sin(t)", as numbers in SI."""

    def number(match: re.Match[str]) -> str:
        try:
            found = unit(match[2])
        except QuantityError:
            return match[0]
        if found.turn == math.pi and found.factor.numerator == 1:
            written = f"{match[1]}*pi/{found.factor.denominator}"
            before, after = text[: match.start()].rstrip()[-1:], text[match.end() :].lstrip()[:1]
            return f"({written})" if before in ("/", "^") or after == "^" else written
        return f"{float(Fraction(match[1]) * found.factor) * found.turn:.15g}"

    return _INSIDE.sub(number, text)


def unit(name: str) -> Unit:
    """The unit of a name such as "mm", "N m", "kg/m^3" or "1/s"; the empty name is that of a plain number."""
    total, place, below = ONE, 0, False
    while place < len(name):
        match = _PART.match(name, place)
        if match is None or match.end() == place:
            raise QuantityError(f"{_short(name[place:].strip() or name)!r} is not a unit{_near(name)}.")
        operator, one, symbol, power, raised = match.groups()
        if operator == "/":
            below = True
        place = match.end()
        if one:
            continue
        if symbol not in UNITS:
            raise QuantityError(f"{symbol!r} is not a unit{_near(symbol)}.")
        exponent = int(power) if power else _RAISED.get(raised or "", 1)
        total = total.times(UNITS[symbol], exponent * (-1 if below else 1))
        if operator == "/":
            below = False
    return total


def _near(name: str) -> str:
    near = get_close_matches(name, _USUAL, n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else "; it can be m, kg, s, N, Pa, rad, deg, rpm, with prefixes"


def _finite(value: float, text: str) -> float:
    if math.isinf(value):
        raise QuantityError(f"{_short(text)!r} is too large.")
    return value


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
