"""Formulations: which unknowns the equations have, and all that belongs to that choice in one object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import cache
from typing import Any

from gyrod._words import meant, suggests
from gyrod.runs.declared import Option, checked, refuse, with_rows
from gyrod.runs.methods import for_index, quoted

#: Rotation coordinates and rotational velocities of each formulation, with the equation of Lang 2010.
FORMULATIONS = {
    "nullspace-quaternion": (4, 3),  # (42)
    "nullspace-directors": (9, 3),  # (25)
    "absolute-quaternion": (4, 4),  # (40)
    "absolute-directors": (9, 9),  # (23)
    "euler": (3, 3),  # (66)
}
#: The one that is taken unless another is named.
DEFAULT = "nullspace-quaternion"

_NULLSPACE, _ABSOLUTE = ("nullspace-", "the nullspace formulations"), ("absolute-", "the absolute formulations")
_QUATERNION, _DIRECTORS = ("absolute-quaternion", "'absolute-quaternion'"), ("-directors", "the director formulations")


def _part(
    default: object, help: str, form: str = "word", *words: str, of: tuple[str, str] = ("", ""), **more: Any
) -> Any:
    """A field of `Formulation`; ``of`` is a part of the names of the formulations that have it, and what they are."""
    option = Option(default, help, form, words, **more)
    return field(default=default, metadata={"option": option, "of": of})


@suggests
@dataclass(frozen=True)
class Formulation:
    """A formulation with its variants: ``gd.Formulation("absolute-directors", index=2)``, where names alone stand too.

    Parameters
    ----------
    OPTIONS

    >>> Formulation("absolute-directors", index=2)
    Formulation('absolute-directors', index=2)
    """

    name: str = _part(DEFAULT, f"{quoted(FORMULATIONS)}.", "word", *FORMULATIONS)
    _: KW_ONLY
    index: int = _part(
        0, "For bodies in absolute coordinates: 0, the multipliers eliminated (an ordinary differential "
        "equation); 1, 2, 3, accelerations and multipliers kept as unknowns and the constraint imposed on the level of "
        f"acceleration, velocity or position, for {quoted(for_index(2))} (and {quoted(for_index(1)[1:])} with 1).",
        "whole", most=3, of=_ABSOLUTE,
    )  # fmt: skip
    stabilised: bool = _part(
        False, "Index 2 with positions held beside velocities, by multipliers of their own (Gear, Gupta and "
        "Leimkuhler).", "flag", of=_ABSOLUTE,
    )  # fmt: skip
    baumgarte: tuple[float, float] | None = _part(
        None, "(omega, r) in 1/s of g'' + 2 r g' + omega² g = 0.", "pair", unit="1/s", of=_ABSOLUTE
    )
    projection: str = _part(
        "step", 'Back to the constraint manifold after every accepted step: "step" or "none".', "word", "step", "none"
    )
    velocity: str = _part(
        "material", 'Velocities of the null-space forms, "material" or "spatial".', "word", "material", "spatial",
        of=_NULLSPACE,
    )  # fmt: skip
    equation: str = _part("exact", '"exact" or "printed" eq. (40).', "word", "exact", "printed", of=_QUATERNION)
    fictive_moment: str = _part("zero", 'I0, "zero" or "half-trace".', "word", "zero", "half-trace", of=_QUATERNION)
    director_projection: str = _part(
        "spurrier", 'How directors become a rotation, "spurrier" or "polar".', "word", "spurrier", "polar",
        of=_DIRECTORS,
    )  # fmt: skip
    null_space: str = _part(
        "analytic", '"qr": accelerations by a numerical null space of all constraints, dense; else "analytic".', "word",
        "analytic", "qr", of=_ABSOLUTE,
    )  # fmt: skip
    reduce: bool = _part(
        True, "Whether bodies whose only joint is a `Spherical` to ground turn about that point, without position "
        "coordinates.", "flag",
    )  # fmt: skip

    def __post_init__(self) -> None:
        parts = {name: getattr(self, name) for name in PARTS}
        found = checked({"formulation": parts.pop("name")} | parts, {"formulation": PARTS["name"]} | PARTS)
        problems = [
            f"{f.name} = {parts[f.name]!r} works with {f.metadata['of'][1]} only, not with {self.name!r}."
            for f in fields(self)
            if f.metadata["of"][0] not in self.name and parts[f.name] != f.default
        ]
        if self.index and self.null_space == "qr":
            problems.append("null_space = 'qr' eliminates the multipliers, index = 0; leave one of them out.")
        if self.stabilised and (self.index not in (0, 2) or self.null_space == "qr"):
            what = f"index = {self.index}" if self.null_space != "qr" else "null_space = 'qr'"
            problems.append(f"stabilised = True holds positions beside velocities, index = 2; leave {what} out.")
        refuse(problems)
        for name in parts.keys() & found.keys():
            object.__setattr__(self, name, found[name])

    @classmethod
    def of(cls, value: object) -> Formulation:
        """The formulation of a name, of a name with parts as files have them, or itself."""
        if isinstance(value, Formulation):
            return value
        if isinstance(value, str):
            return _named(value)
        if not isinstance(value, Mapping):
            return cls(value)  # type: ignore[arg-type]  # which says what is wrong with it
        unknown = next((key for key in value if key not in PARTS), None)
        if unknown is not None:
            from gyrod import _check

            raise ValueError(f"formulation: {_check.shown(unknown)} is unknown.{meant(str(unknown), [*PARTS])}")
        return cls(**value)

    @property
    def level(self) -> int:
        """The index of the equations."""
        return 2 if self.stabilised else self.index

    @property
    def parts(self) -> dict[str, Any]:
        """What differs from the defaults, by name, but the name."""
        return {f.name: value for f in fields(self)[1:] if (value := getattr(self, f.name)) != f.default}

    @property
    def short(self) -> str | Formulation:
        """The name, if that says all."""
        return self if self.parts else self.name

    @property
    def label(self) -> str:
        """Name and parts in words, as in tables."""
        parts = ", ".join(f"{name} {value}" for name, value in self.parts.items())
        return f"{self.name} ({parts})" if parts else self.name

    def __repr__(self) -> str:
        return f"Formulation({', '.join([repr(self.name), *(f'{k}={v!r}' for k, v in self.parts.items())])})"


@cache
def _named(name: str) -> Formulation:
    """Checked once."""
    return Formulation(name)


#: Its parts as they are declared.
PARTS: dict[str, Option] = {f.name: f.metadata["option"] for f in fields(Formulation)}
#: Those that were options of a run of their own, and still are for one version, with a warning.
OLD = tuple(name for name in PARTS if name not in ("name", "projection"))
Formulation.__doc__ = with_rows(Formulation.__doc__, PARTS)
