"""Discretisations of rods by short texts, as "staggered:40", "elements:6" or "elements:4x6" (degree times number)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gyrod.model import System
from gyrod.model.errors import shown
from gyrod.model.meshes import DEGREES
from gyrod.model.rod_checks import DEFAULT_DEGREE, MOST_SEGMENTS

#: What stands for the rods as the model has them.
MODEL = "model"
#: Fewest nodes of a reference.
FEWEST = 24

_TEXT = re.compile(r"(staggered|elements)\s*:\s*(?:(\d{1,2})\s*x\s*)?(\d{1,9})", re.ASCII)


@dataclass(frozen=True)
class Discretization:
    """One for all rods of a system: segments of a staggered grid, or elements of a degree; no number: as they are."""

    number: int | None = None
    #: None of the staggered grid.
    degree: int | None = None

    @property
    def label(self) -> str:
        """The text that stands for it."""
        if self.number is None:
            return MODEL
        return f"staggered:{self.number}" if self.degree is None else f"elements:{self.degree}x{self.number}"

    def of(self, system: System) -> System:
        """The system with its rods so, equally spaced; fields that choose among variants of the grid give way."""
        if self.number is None:
            return system
        kind = "staggered" if self.degree is None else "elements"
        new: dict[str, object] = {"discretization": kind, "degree": self.degree, "segments": self.number, "grid": None}
        if self.degree is not None:
            new |= {"curvature": "angle", "inertia": "disc", "mass": "lumped"}
        count = len(system.original.rods)
        return system.with_({f"rods[{i}].{field}": value for i in range(count) for field, value in new.items()})


def parse(argument: str, text: object) -> Discretization:
    """What a text stands for; a `ValueError` says how to write it."""
    match = _TEXT.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        if text == MODEL:
            return Discretization()
        raise ValueError(
            f"{argument} = {shown(text)} cannot be read; write 'staggered:40', 'elements:6', 'elements:4x6' (degree "
            f"times number), or {MODEL!r} for the rods as they are."
        )
    kind, degree, number = match.groups()
    least = 2 if kind == "staggered" else 1
    if not least <= int(number) <= MOST_SEGMENTS:
        raise ValueError(f"{argument} = {text!r}: the number must be from {least} to {MOST_SEGMENTS}.")
    if kind == "staggered":
        if degree is not None:
            raise ValueError(f"{argument} = {text!r}: a staggered grid has no degree; write 'staggered:{number}'.")
        return Discretization(int(number))
    found = Discretization(int(number), DEFAULT_DEGREE if degree is None else int(degree))
    if found.degree not in DEGREES:
        raise ValueError(f"{argument} = {text!r}: the degree must be {' or '.join(map(str, DEGREES))}.")
    return found


def finer(chosen: Sequence[Discretization], system: System) -> Discretization:
    """Elements of the largest degree that are exact against the ones chosen: with twice the nodes of elements.

    Of a staggered grid, whose error is far larger, half as many nodes count.
    """
    degree, nodes = max(DEGREES), [FEWEST]
    for one in chosen:
        pairs = [(one.degree, one.number)] if one.number else [(r.degree, r.mesh.cells) for r in system.rods]
        nodes += [n if p is None else 2 * p * n for p, n in pairs]
    return Discretization(math.ceil(max(nodes) / degree), degree)


def coarser(one: Discretization) -> Discretization:
    """Two thirds of the elements: what they differ by says how exact the finer ones are."""
    return one if one.number is None else Discretization(max(math.ceil(2 * one.number / 3), 2), one.degree)
