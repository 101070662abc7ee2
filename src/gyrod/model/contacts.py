"""Contact: what of a system may touch what, how hard, and with how much friction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

from gyrod.model.appearance import Solid, Sphere
from gyrod.model.bodies import Body
from gyrod.model.errors import Description, Problems, new_name, positive, real, shown, unknown
from gyrod.model.fields import Kept, Kind, description, field, holds
from gyrod.model.force_checks import flag, scalar
from gyrod.model.surfaces import Boundary

if TYPE_CHECKING:
    from gyrod.model.system import System

#: What is touched: a surface in space, or names of bodies.
Touched = tuple[str, ...] | Boundary | Solid

#: Everything that can touch.
ALL = "all"
#: Impacts softer than this keep nothing of their speed: at less the damping has no bound.
LEAST_RESTITUTION = 0.05


# --- checks ----------------------------------------------------------------------------------------------------------


@holds(form="names")
def _who(field: str, value: object) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value if isinstance(value, (tuple, list)) else []
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"{field} must be the name of a rod or a body, a list of them, or 'all', got {shown(value)}.")
    return tuple(map(str, names))


@holds(form="object", group="surface", instead=Kind(form="names"))
def _what(field: str, value: object) -> Touched:
    if isinstance(value, Boundary | Solid):
        return value
    if isinstance(value, (str, tuple, list)):
        return _who(field, value)
    raise ValueError(
        f"{field} must be a surface such as Plane or a solid such as Box, or the name of a body or a list of them, got "
        f"{shown(value)}."
    )


def _from_0_to_1(field: str, value: object) -> float:
    x = scalar(field, value)
    if x > 1.0:
        raise ValueError(f"{field} must be between 0 and 1, got {shown(value)}.")
    return float(x)


def _exponent(field: str, value: object) -> float:
    x = real(field, value)
    if not 1.0 <= x <= 3.0:
        raise ValueError(f"{field} must be between 1 and 3 (1: a linear spring, 1.5: Hertz), got {shown(value)}.")
    return float(x)


@holds(positive=True)
def _presliding(field: str, value: object) -> float:
    if isinstance(value, (int, float)) and value == 0.0:
        raise ValueError(f"{field} must be positive, got 0; for no memory give sticking=False, slip_speed=...")
    return positive(field, value)


@holds(form="object", group="friction", instead=Kind())
def _friction(field: str, value: object) -> Friction | None:
    if isinstance(value, Friction):
        return value
    coefficient = scalar(field, value)
    return Friction(float(coefficient)) if coefficient else None


# --- descriptions ----------------------------------------------------------------------------------------------------


@description
class Friction(Description):
    """Coulomb friction: a contact sticks until the force along it is ``static`` times the normal force, then slips.

    Parameters
    ----------
    coefficient
        While it slips.
    static
        While it sticks; by default the same.
    sticking
        True: bristles remember how far a contact is bent, and what sticks does not creep. False: the force knows the
        slip alone, and what should stick creeps at about ``slip_speed``.
    presliding
        Length in m by which bristles bend before they slip; by default 1e-5 of the size of the system, 1e-6 at least.
    slip_speed
        m/s, over which friction without memory sets in, by default 1e-6, and 1e-3 between rods; and that of rolling and
        spinning, over the radius.
    stribeck
        m/s, over which the coefficient falls from ``static``; by default 1e-3.
    rolling, spinning
        Lengths in m: the moments against rolling and against spinning about the normal, over the normal force.
    """

    coefficient: float = field(scalar)
    _: KW_ONLY
    static: float | None = field(scalar, default=None)
    sticking: bool = field(flag, default=True)
    presliding: float | None = field(_presliding, "m", default=None)
    slip_speed: float | None = field(positive, "m/s", default=None)
    stribeck: float | None = field(positive, "m/s", default=None)
    rolling: float = field(scalar, "m", default=0.0)
    spinning: float = field(scalar, "m", default=0.0)

    def _agree(self, problems: Problems, bad: set[str]) -> None:
        if self.static is not None and not {"static", "coefficient"} & bad and self.static < self.coefficient:
            problems.add(f"static = {self.static:g} is below coefficient = {self.coefficient:g}.")
        if self.sticking is False and self.presliding is not None:
            problems.add("presliding belongs to sticking friction; without it give slip_speed.")

    def between_rods(self) -> Iterable[str]:
        """Sentences on what of it rods do not have among themselves."""
        for name in ("rolling", "spinning"):
            if getattr(self, name):
                yield f"friction, {name} = {getattr(self, name):g} is for surfaces and bodies; rods have none."


@description
class Contact(Description):
    """What may touch: stations of ``a``, points with a radius, against surfaces of ``b``; by a stiff, smooth law.

    Rods touch with their sides: at the vertices of a grid, at more points than they have nodes in elements. Bodies
    touch with their ``shape``: balls and capsules as they are, boxes with their corners, cylinders with their rims,
    meshes with their vertices. ``b`` is a surface in space, or a body, whose shape it is then, or a rod: rods touch
    each other and themselves as tubes about their centre lines, at any angle.

    Parameters
    ----------
    a
        Name of a rod or body, a list of names, or "all".
    b
        A surface (`Plane`, `Shaft`, `Pipe`, `Bowl`, `Eyelet`, `HeightField`) or a solid in space, or names of bodies or
        rods, for rods also their own, or "all". Of "all" those that are joined do not touch each other.
    stiffness
        k of the normal force w k depth**exponent: N/m per m of rod (w is the length that a station stands for), N/m for
        bodies (N/m**1.5 with Hertz's exponent). For rods of a material by default π E / (4 (1 - ν²)), as if the surface
        were rigid. What rests there sinks in by its load over the stiffness.
    exponent
        1, or 1.5 for balls after Hertz.
    damping
        s/m: the normal force is multiplied by 1 + damping · closing speed (Hunt and Crossley).
    restitution
        Of bodies, in place of damping: speed after over speed before an impact, exact for every stiffness.
    smoothing
        m before the surface over which the force sets in; by default 1 % of a rod's radius, none for bodies.
    friction
        A coefficient, or `Friction`.
    margin
        m by which surfaces are thicker than they are drawn.
    thickness
        Half that of rods in m; by default the largest half size of their sections, 0 without one.

    >>> from gyrod.model import Plane
    >>> floor = Contact("hose", Plane((0, 0, 0), (0, 0, 1)), stiffness=1e5, friction=0.4, name="floor")
    >>> floor.friction.coefficient, floor.label
    (0.4, "Contact 'floor'")
    """

    #: Names.
    a: Kept[tuple[str, ...], str | Iterable[str]] = field(_who)
    #: A surface or names.
    b: Kept[Touched, object] = field(_what)
    _: KW_ONLY
    stiffness: float | None = field(positive, "N/m", "N/m^2", default=None)
    exponent: float = field(_exponent, default=1.0)
    damping: float | None = field(scalar, "s/m", default=None)
    restitution: float | None = field(_from_0_to_1, default=None)
    smoothing: float | None = field(scalar, "m", default=None)
    friction: Kept[Friction | None, Friction | float | None] = field(_friction, default=None)
    margin: float = field(real, "m", default=0.0)
    thickness: float | None = field(scalar, "m", default=None)
    name: str | None = field(new_name, default=None)

    def _agree(self, problems: Problems, bad: set[str]) -> None:  # noqa: ARG002
        if self.damping is not None and self.restitution is not None:
            problems.add("restitution and damping cannot both be given.")

    @property
    def label(self) -> str:
        """What errors call it."""
        return f"Contact {shown(self.name)}" if self.name is not None else f"Contact({self.key})"

    @property
    def key(self) -> str:
        """Its name, or what touches what."""
        if self.name is not None:
            return self.name
        # As they were given they may be anything.
        names = ([x] if isinstance(x, str) else x for x in (self.a, self.b))
        return ", ".join("+".join(map(str, x)) if isinstance(x, (tuple, list)) else type(x).__name__ for x in names)

    def members(self, system: System) -> tuple[str, ...]:
        """Names of what touches."""
        return _everything(system) if self.a == (ALL,) else self.a

    def touched(self, system: System) -> tuple[str, ...]:
        """Names of what is touched; none of a surface in space."""
        if isinstance(self.b, Boundary | Solid):
            return ()
        return _everything(system) if self.b == (ALL,) else self.b

    def pairs(self, system: System) -> Iterator[tuple[str, str | None]]:
        """Names whose stations touch surfaces of a body, or (None) of space. Bodies touch each other both ways."""
        members = self.members(system)
        if isinstance(self.b, Boundary | Solid):
            yield from ((name, None) for name in members)
            return
        joined: set[frozenset[str]] = set()
        if ALL in (*self.a, *self.b):
            joined = {frozenset(joint.bodies) for joint in system.joints}
            joined |= {frozenset((rod, place.host)) for (rod, _), place in system.rod_ends.items()}
        places = {name: i for i, name in enumerate(dict.fromkeys(members))}
        touched = dict.fromkeys(on for on in self.touched(system) if on not in system._rod_index)  # rods: `crossings`
        after = [(places.get(on, len(places)), on) for on in touched]
        for i, of in enumerate(places):
            first = i if of in touched else -1  # a pair of which both are on either side comes once
            both = of in system._index and not _is_round(system.body(of))
            for place, on in after:
                if place < first or of == on or (joined and frozenset((of, on)) in joined):
                    continue
                yield of, on
                if both:
                    yield on, of

    def problems(self, system: System) -> list[str]:
        """Sentences on what is wrong with it in a system."""
        found = [_named(system, "a", name) for name in self.members(system)]
        if not isinstance(self.b, Boundary | Solid):
            found += [_named(system, "b", name) for name in self.touched(system)]
            rods = set(system.rod_names)
            for name in self.b:
                if name in rods and self.a != (ALL,) and (others := [x for x in self.a if x not in rods]):
                    found.append(f"b = {name!r} is a rod and {others[0]!r} a body: take the rod as a.")
            if self.a == self.b and len(self.a) == 1 and self.a[0] in system.names:
                found.append(f"{self.a[0]!r} cannot touch itself.")
            found += [
                f"rods {of!r} and {on!r} are joined and overlap where they are; they cannot touch each other."
                for of, on in self.crossings(system)
                if frozenset((of, on)) in system.joined_rods
            ]
            cut = {name for name, _ in system.rod_points}
            found += [
                f"rod {name!r} has other rods joined between its ends, and contact among rods does not know such rods; "
                "let it touch bodies and surfaces, or hold the others to it with a Clip or a Bushing."
                for name in sorted({name for pair in self.crossings(system) for name in pair} & cut)
            ]
        sentences = [sentence for sentence in found if sentence is not None]
        if not sentences and next(self.pairs(system), None) is None and not self.crossings(system):
            sentences.append("a = 'all' finds nothing that could touch b; give a rod, or a body with a shape.")
        return sentences or [*self._of_law(system)]

    def crossings(self, system: System) -> list[tuple[str, str]]:
        """Pairs of rods that may touch each other, each once; of "all" those that are not joined."""
        if isinstance(self.b, Boundary | Solid):
            return []
        names = system.rod_names
        rods = {name: i for i, name in enumerate(names)}
        a, b = ([rods[name] for name in of if name in rods] for of in (self.members(system), self.touched(system)))
        pairs = {(i, j) if i < j else (j, i) for i in a for j in b}
        if ALL in (*self.a, *self.b) and system.joined_rods:
            pairs -= {tuple(sorted(rods[name] for name in pair)) for pair in system.joined_rods}
        return [(names[i], names[j]) for i, j in sorted(pairs)]

    def _of_law(self, system: System) -> Iterable[str]:
        if self.crossings(system):
            if self.friction is not None:
                yield from self.friction.between_rods()
            if self.exponent != 1.0:
                yield f"exponent = {self.exponent:g} is for bodies and surfaces; between rods it is 1."
        for name in self.members(system):
            rod = system._rod_index.get(name)
            if rod is not None and self.restitution is not None:
                yield "restitution belongs to bodies; rods take damping."

    def soft(self, system: System) -> Iterable[str]:
        """Sentences on what it needs to yield."""
        for name in self.members(system) if self.stiffness is None else ():
            rod = system._rod_index.get(name)
            if rod is None or rod.material is None:
                what = f"rod {name!r} has no material" if rod is not None else f"body {name!r} has none"
                unit = "N/m per m" if rod is not None else "N/m"
                yield (
                    f"stiffness is missing and {what} to take it from; give stiffness in {unit}, or simulate with "
                    "method = 'moreau', which needs none."
                )

    def pushes_rods(self, system: System) -> bool:
        """Whether all that it does is to push rods off a surface in space, without friction."""
        bodies = any(name in system._index for name in self.members(system))
        return self.friction is None and self.restitution is None and not isinstance(self.b, tuple) and not bodies

    def rigid(self, system: System) -> Iterable[str]:
        """Sentences on what it has that rigid contact does not."""
        for of, on in self.crossings(system)[:1]:
            rods = f"rods {of!r} and {on!r} touch each other" if of != on else f"rod {of!r} touches itself"
            yield f"{rods}, which method = 'moreau' does not know; take 'radau5'."
        for name in ("rolling", "spinning"):
            if self.friction is not None and (size := getattr(self.friction, name)):
                yield f"friction, {name} = {size:g} is not for method = 'moreau'; leave it out, or take 'radau5'."


def _everything(system: System) -> tuple[str, ...]:
    """Names of all that can touch."""
    return (*system.rod_names, *(body.name for body in system.bodies if body.shape is not None))


def _is_round(body: Body) -> bool:
    """Whether all of its shape is touched where its stations are: what touches it need not have any."""
    shape = (body.shape,) if isinstance(body.shape, Solid) else body.shape or ()
    return all(isinstance(solid, Sphere) for solid in shape)


def _named(system: System, field: str, name: str) -> str | None:
    if name in system.rod_names:
        return None
    if name not in system.names:
        return unknown(field, name, [*system.rod_names, *system.names], "rods and bodies")
    if system.body(name).shape is None:
        return f"body {name!r} has no shape; give Body(..., shape=Box(...)) or a surface."
    return None


def impact_damping(restitution: float) -> float:
    """χ of c = χ/v: of Hunt and Crossley's law the damping over the speed v of an impact, for a restitution e.

    The root of χ (1 + e) = ln((1 + χ)/(1 - e χ)), whatever stiffness, exponent and masses are.

    >>> round(impact_damping(0.5), 9)
    1.432750533
    """
    e = max(restitution, LEAST_RESTITUTION)
    if e >= 1.0:
        return 0.0
    low, high = 0.0, 1.0 / e
    for _ in range(200):
        x = 0.5 * (low + high)
        over = (1.0 + x) / (1.0 - e * x) if e * x < 1.0 else math.inf
        low, high = (low, x) if math.log(over) > x * (1.0 + e) and x > 1e-9 else (x, high)
        if high - low < 1e-15 * high:
            break
    return 0.5 * (low + high)
