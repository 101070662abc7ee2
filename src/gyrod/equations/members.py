"""Members of an ensemble: systems that differ only in numbers of their rods, compiled together as arrays.

A template is one compiled system. What stiffness, damping, masses and gravity of many members are on its mesh is
computed for all of them at once, by the same formulas and to the same bits as for one; the core then runs them one
after the other, or in lanes, without a word of Python in between. What is not of this kind is compiled one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gyrod._check import Array
from gyrod.equations import Compiled, compile_system
from gyrod.equations.rods import bending_frequency, fundamental, held_frames, masses, stresses
from gyrod.model import Rod, System
from gyrod.model.changes import address
from gyrod.model.errors import Derived, given
from gyrod.model.sections import CrossSection, SectionValues, diagonal
from gyrod.rotations.vectors import length

if TYPE_CHECKING:
    from typing import Unpack

    from gyrod._check import Data
    from gyrod.equations.checks import CoreOptions

#: Fields of a material, and above which value they must lie.
_MATERIAL = {"young": 0.0, "shear_modulus": 0.0, "density": 0.0, "poisson": -1.0}
#: Fields of a damping and their places in (c of Γ1, Γ2, Γ3, K1, K2, K3, η_E, η_G, β).
_DAMPING = {
    "shear": (0, 1), "extension": (2,), "bending": (3, 4), "torsion": (5,), "viscosities": (6, 7), "factor": (8,),
}  # fmt: skip

#: Where a value is in a system: fields and numbers, as `gyrod.model.changes.address` reads them from a path.
Place = tuple[Any, ...]


@dataclass(frozen=True)
class Stack:
    """Members as arrays: all that differs between them."""

    #: Whether a member has values that can be taken as they are; the others are for the model to judge.
    good: NDArray[np.bool_]
    #: For each rod the core's arrays that differ, (members, ...).
    changes: list[dict[str, Array]]
    #: Scales of the unknowns, (members, n).
    scales: Array


class Template:
    """A compiled system of which stiffness, damping, masses or gravity vary."""

    def __init__(self, compiled: Compiled, places: Mapping[str, Place]) -> None:
        self.compiled, self.places = compiled, places

    def stack(self, values: Mapping[str, Array]) -> Stack:
        """Members with these values, columns by path."""
        system, count = self.compiled.system, len(next(iter(values.values())))
        good = np.ones(count, dtype=bool)
        columns: dict[Place, Array] = {}
        for path, place in self.places.items():
            column = np.asarray(values[path], dtype=float)
            good &= np.isfinite(column).reshape(count, -1).all(axis=1)
            columns[place] = column
        gravity = self._gravity(columns, count)
        changes: list[dict[str, Array]] = []
        slowest = []
        for r, rod in enumerate(system.rods):
            own = {place[2:]: column for place, column in columns.items() if place[:2] == ("rods", r)}
            found, frequency = _Rods(rod, system, own, count, good).found()
            if gravity is not None:
                found["gravity"] = gravity
            changes.append({key: np.ascontiguousarray(value) for key, value in found.items()})
            slowest.append(frequency)
        return Stack(good, changes, self._scales(gravity, slowest, count))

    def _gravity(self, columns: Mapping[Place, Array], count: int) -> Array | None:
        own = {place[1:]: column for place, column in columns.items() if place[0] == "gravity"}
        if not own:
            return None
        g = np.tile(self.compiled.system.gravity, (count, 1))
        for place, column in own.items():
            g[(slice(None), *place)] = column
        return g

    def _scales(self, gravity: Array | None, slowest: Sequence[Array], count: int) -> Array:
        """As `Compiled.scales`, member by member."""
        compiled = self.compiled
        L = compiled._length()
        rows = compiled.system.gravity[None] if gravity is None else gravity
        norms = np.array([length(g) for g in rows])
        with np.errstate(divide="ignore", invalid="ignore"):
            tau = np.where(norms > 0.0, np.sqrt(L / norms), 0.0) * np.ones(count)
            for frequency in slowest:
                tau = np.maximum(tau, 1.0 / frequency)
        return compiled.scales_of(L, tau)


class _Rods:
    """One rod of all members."""

    def __init__(
        self, rod: Rod, system: System, own: Mapping[Place, Array], count: int, good: NDArray[np.bool_]
    ) -> None:
        self.rod, self.system, self.own, self.count, self.good = rod, system, own, count, good

    def found(self) -> tuple[dict[str, Array], Array]:
        """The core's arrays that differ, and the lowest frequency of each member or of all, (members,) or (1,)."""
        rod, own = self.rod, self.own
        if not own:  # as it is, whatever it is made of
            return {}, np.array([fundamental(rod)])
        elastic = any(place[0] in ("material", "section") for place in own)
        with np.errstate(all="ignore"):
            C, inertia = self._stiffness, self._inertia
            mesh, holds = rod.mesh, held_frames(rod, self.system)
            matrices, c = C[:, None, :, None] * np.eye(6), self._damping(C)[:, None]
            shapes = [(self.count, len(points)) for points in (mesh.strains, mesh.curvatures)]
            stiffness = [np.broadcast_to(matrices, (*shape, 6, 6)) for shape in shapes]
            damping = [np.broadcast_to(c, (*shape, 6)) for shape in shapes]
            out = stresses(rod, holds, *stiffness, *damping)
            out["damped"] = (np.any(out["cG"], axis=(1, 2)) | np.any(out["cK"], axis=(1, 2))).astype(float)
            if not elastic:
                del out["CG"], out["CK"]
            del out["CX"]
            if any(place == ("material", "density") or place[0] == "section" for place in own):
                out |= masses(rod, self.system, np.broadcast_to(inertia[:, None], (self.count, len(mesh.frames), 4)))
            frequency = bending_frequency(rod, C[:, 3], C[:, 4], inertia[:, 0])
        for value in out.values():
            self.good &= np.isfinite(value).reshape(self.count, -1).all(axis=1)
        return out, frequency

    def _column(self, part: str, field: str) -> Array:
        """Values of a field, (members,), or the one of the template; those out of bounds are marked."""
        column = self.own.get((part, field))
        if column is None:
            return np.array([float(getattr(getattr(self.rod, part), field))])
        self.good &= column > (_MATERIAL[field] if part == "material" else 0.0)
        if field == "poisson":
            self.good &= column <= 0.5
        return column

    @cached_property
    def _section(self) -> SectionValues:
        section, nominal = self._constant
        if not any(place[0] == "section" for place in self.own):
            return nominal
        # Places along a rod whose dimensions vary are members here.
        made: Data = {}
        for f in fields(section):  # type: ignore[arg-type]
            value = getattr(section, f.name)
            if ("section", f.name) in self.own:
                column = self._column("section", f.name)
                column = np.where(self.good, column, value)  # the others are not taken
                made[f.name] = lambda i, column=column: column[round(i)]
            else:
                made[f.name] = given(value)
        try:
            return type(section)(**made).at(np.arange(self.count, dtype=float))
        except ValueError:  # such as a ring without a wall: let the model report it
            self.good[:] = False
            return nominal

    @property
    def _constant(self) -> tuple[CrossSection, SectionValues]:
        """The section of the template, and what it is worth everywhere; `_stacks` has seen to it."""
        section = self.rod.section
        assert section is not None
        assert section.everywhere is not None
        return section, section.everywhere

    @cached_property
    def _stiffness(self) -> Array:
        """Diagonal entries, (members or 1, 6)."""
        young = self._column("material", "young")
        material = self.rod.material
        assert material is not None
        if isinstance(material.shear_modulus, Derived):
            shear = 0.5 * young / (1.0 + self._column("material", "poisson"))
        else:
            shear = self._column("material", "shear_modulus")
        return _diagonal(self._section, young, shear)

    @cached_property
    def _inertia(self) -> Array:
        v = self._section
        return np.asarray(
            self._column("material", "density")[:, None] * np.stack([v.area, v.I1, v.I2, v.polar], axis=-1)
        )

    def _damping(self, C: Array) -> Array:
        """The paper's c, (members or 1, 6), as `Damping.at`."""
        damping = self.rod.damping
        if damping is None:
            return np.zeros((1, 6))
        base = [*damping.shear, damping.extension, *damping.bending, damping.torsion]
        table = np.tile(np.array([*base, *damping.viscosities, damping.factor], dtype=float), (self.count, 1))
        for place, column in self.own.items():
            if place[0] == "damping":
                where = list(_DAMPING[place[1]])
                where = where if len(place) == 2 else [where[place[2]]]
                table[:, where] = column if column.ndim == 2 else column[:, None]
                self.good &= (table[:, where] >= 0.0).all(axis=1)
        c = table[:, :6] + 0.5 * table[:, 8:] * C
        if damping.needs_section or any(place[:2] == ("damping", "viscosities") for place in self.own):
            c = c + 0.5 * _diagonal(self._section, table[:, 6], table[:, 7])
        return np.asarray(c)


def _diagonal(section: SectionValues, young: Array, shear: Array) -> Array:
    """As `diagonal`, of members in place of points along a rod, (members or 1, 6)."""
    n = max(len(section.area), len(young), len(shear))
    spread = {f.name: np.broadcast_to(getattr(section, f.name), (n,)) for f in fields(section)}
    return diagonal(SectionValues(**spread), young, shear)


# --- what can be stacked ---------------------------------------------------------------------------------------------


def template(system: System, paths: Sequence[str], formulation: str, **options: Unpack[CoreOptions]) -> Template | None:
    """A template for systems that differ in the values at these paths; None if they must be compiled one by one."""
    system = system.original
    if system.bodies or system.rod_ends or not system.rods or not paths:
        return None
    places = {path: tuple(address(system, path)) for path in paths}
    if len(set(places.values())) < len(places) or not all(_stacks(system, place) for place in places.values()):
        return None
    compiled = compile_system(system, formulation, **options)
    return None if compiled.python or compiled.signals.led else Template(compiled, places)


def _stacks(system: System, place: Place) -> bool:
    if place[0] == "gravity":
        return len(place) <= 2 and system.gravity_function is None
    if place[0] != "rods" or len(place) < 4 or len(place) > 5:
        return False
    rod = system.rods[place[1]]
    part, field = place[2], place[3]
    if rod.stiffness is not None or rod.density_per_length is not None or rod.rotary_inertia is not None:
        return False
    if rod.section is None or rod.material is None or rod.limits is not None:
        return False
    if rod.section.everywhere is None:
        return False
    # How hard a contact is, and where it begins, may follow from material and section.
    touching = [c for c in system.all_contacts if rod.name in (*c.members(system), *c.touched(system))]
    if touching and (part == "section" or (part == "material" and any(c.stiffness is None for c in touching))):
        return False
    if part == "material":
        value = getattr(rod.material, field, None)
        return len(place) == 4 and field in _MATERIAL and value is not None and not isinstance(value, Derived)
    if part == "section":
        section: Any = rod.section  # a dataclass, which its base does not say
        plain = field in [f.name for f in fields(section) if f.name != "shear"]
        value = getattr(rod.section, field) if plain else None
        return len(place) == 4 and isinstance(value, float) and not isinstance(value, Derived)
    if part == "damping" and rod.damping is not None:
        return field in _DAMPING and (len(place) == 4 or len(_DAMPING[field]) == 2)
    return False
