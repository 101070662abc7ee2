"""Numbers as texts print them: held to their last digit."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: Stands for a number in a pattern; all else is taken as it is.
HERE = "#"
NUMBER = r"(-?\d[\d ]*(?:\.\d*)?(?:e-?\d+)?)"


def printed(file: str, pattern: str) -> list[tuple[float, float]]:
    """Numbers of a sentence in a file, each with the unit of its last digit."""
    text = " ".join((ROOT / file).read_text(encoding="utf-8").split())
    expression = re.escape(" ".join(pattern.split())).replace(re.escape(HERE), NUMBER)
    found = re.findall(expression, text)
    assert len(found) == 1, f"{file} has {pattern!r} {len(found)} times"
    groups = (found[0],) if isinstance(found[0], str) else found[0]
    numbers = [Decimal(group.replace(" ", "")) for group in groups]
    return [(float(x), 10.0 ** int(x.as_tuple().exponent)) for x in numbers]


def assert_printed(file: str, pattern: str, *values: float) -> None:
    """Hold values to what a file prints of them: at most half of the last digit away."""
    numbers = printed(file, pattern)
    for (shown, digit), value in zip(numbers, values, strict=True):
        assert abs(shown - value) <= 0.501 * digit, f"{file}, {pattern!r}: {shown} is printed, it is {value}"
