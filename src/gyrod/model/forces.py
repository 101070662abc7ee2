"""Forces: ready-made elements, Python functions and C functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from gyrod import rotations
from gyrod._check import Array
from gyrod.model import force_checks as checks
from gyrod.model.errors import (
    Description,
    Problems,
    choice,
    new_name,
    numbers,
    reference,
    rod_reference,
    sampled,
    shown,
    vector,
)
from gyrod.model.fields import Kept, description, field
from gyrod.model.jumps import jumps
from gyrod.rotations.conversions import spurrier_klumpp

if TYPE_CHECKING:
    from gyrod.model.force_checks import LinkPlace

#: A vector of three numbers, or a function of time that returns one.
Vector = ArrayLike | Callable[[float], ArrayLike]

_ORIGIN = (0.0, 0.0, 0.0)


class ForceLaw(Description, ABC):
    """Base of all that acts on bodies and rods.

    Rules for a new force:

    1. It is a frozen class here with a ``name`` (or None) and ``bodies`` or ``rods``; points of bodies are given from
       the centre of mass in body axes, points of "ground" in space axes, points of rods as fractions of the length.
       It computes nothing.
    2. Its mechanics is one file of the core: force and torque of each body, their derivatives, and energy if it has.
    3. What others must know of it are the facts below: what scales it, whether it has an energy, where it sets in.
    4. It joins `FORCES` (on rods `LOADS` or `ELEMENTS`), over which the property tests run.
    """

    #: Fields that a load factor scales; springs, supports and obstacles are not loads.
    loads: ClassVar[tuple[str, ...]] = ()
    #: Why a load factor cannot scale it, though it is a load.
    fixed: ClassVar[str] = ""
    #: Whether it only takes energy, so that it carries nothing at rest.
    only_damps: ClassVar[bool] = False

    name: str | None

    @property
    @abstractmethod
    def bodies(self) -> tuple[str, ...]:
        """Names of the bodies it acts on, "ground" among them."""

    @property
    def rods(self) -> tuple[str, ...]:
        """Names of the rods it acts on."""
        return ()

    @property
    def on_rods(self) -> bool:
        """Whether it goes to the core with the rods."""
        return bool(self.rods)

    @property
    def has_potential(self) -> bool:
        """Whether energies of a motion count it, while its numbers are constant and nothing of it damps."""
        return False

    @property
    def symmetric(self) -> bool:
        """Whether its derivatives are those of an energy and of nothing else, at constant numbers and undamped."""
        return self.has_potential

    @property
    def places(self) -> tuple[tuple[str, float], ...]:
        """Rods, and the fractions at which it sets in on them: elements end there, or their order would be lost."""
        return ()

    def times(self, scaled: Callable[[object], object]) -> Self:
        """The same with its loads through a function."""
        if self.fixed:
            raise ValueError(f"{self.label} {self.fixed}")
        changes = {field: scaled(value) for field in self.loads if (value := getattr(self, field)) is not None}
        return replace(self, **changes) if changes else self  # type: ignore[type-var]

    @property
    def label(self) -> str:
        """What errors call it."""
        kind, name = type(self).__name__, getattr(self, "name", None)
        if name is not None:
            return f"{kind} {shown(name)}"
        return f"{kind}({', '.join(map(shown, (*self.bodies, *self.rods)))})"


class BodyForce(ForceLaw, ABC):
    """Base of what acts on one body."""

    body: str

    @property
    def bodies(self) -> tuple[str, ...]:
        """The body."""
        return (self.body,)


@description
class Force(BodyForce):
    """A force, constant or a function of time, at the point ``at`` of a body (body axes, from the centre of mass).

    ``frame`` says in which axes the force is given: "space", or "body", in which case it turns with the body.
    """

    loads: ClassVar[tuple[str, ...]] = ("force",)

    body: str = field(reference)
    #: (3,), or a function of time.
    force: Kept[Array | Callable[[float], ArrayLike], Vector] = field(checks.vector_or_function, "N")
    at: Kept[Array, ArrayLike] = field(vector, "m", default=_ORIGIN)
    frame: str = field(choice(rotations.FRAMES), default="space")
    name: str | None = field(new_name, default=None)

    @property
    def has_potential(self) -> bool:
        """Whether it keeps its direction in space."""
        return self.frame == "space"


@description
class Torque(BodyForce):
    """A torque on a body, constant or a function of time, in body or in space axes."""

    loads: ClassVar[tuple[str, ...]] = ("torque",)

    body: str = field(reference)
    #: (3,), or a function of time.
    torque: Kept[Array | Callable[[float], ArrayLike], Vector] = field(checks.vector_or_function, "N m")
    frame: str = field(choice(rotations.FRAMES), default="body")
    name: str | None = field(new_name, default=None)


class Link(ForceLaw, ABC):
    """Base of what acts between two points, each of a body, of a rod or of "ground".

    ``a`` and ``b`` are names; ``at_a`` and ``at_b`` are of a body a point in body axes from the centre of mass, of
    "ground" a point in space, of a rod a fraction of its length, or (fraction, (a1, a2)) with an offset along d1 and d2
    of the section.
    """

    #: Of what acts along the line between its points: its law in the core, whose numbers are fields of that name.
    law: ClassVar[str | None] = None
    a: str
    b: str
    #: (3,), a fraction and its offset, or None for the centre of mass.
    at_a: LinkPlace
    at_b: LinkPlace
    #: A number, or (3,).
    stiffness: float | Array
    damping: float | Array

    @property
    def ends(self) -> tuple[tuple[str, str, LinkPlace], tuple[str, str, LinkPlace]]:
        """Argument, name and place of both ends."""
        return ("a", self.a, self.at_a), ("b", self.b, self.at_b)

    @property
    def bodies(self) -> tuple[str, ...]:
        """The ends that are not on rods."""
        return tuple(name for _, name, at in self.ends if not isinstance(at, tuple))

    @property
    def rods(self) -> tuple[str, ...]:
        """The ends that are on rods, which is where a fraction is given."""
        return tuple(name for _, name, at in self.ends if isinstance(at, tuple))

    @property
    def label(self) -> str:
        """What errors call it."""
        kind = type(self).__name__
        return f"{kind}({shown(self.a)}, {shown(self.b)})" if self.name is None else f"{kind} {shown(self.name)}"

    @property
    def has_potential(self) -> bool:
        """That of its springs."""
        return True

    @property
    def places(self) -> tuple[tuple[str, float], ...]:
        """Its ends on rods."""
        return tuple((name, at[0]) for _, name, at in self.ends if isinstance(at, tuple))


@description
class SpringDamper(Link):
    """Spring and damper along the line between two points: tension k (l - length) + c l'.

    ``at_a`` and ``at_b`` are in body axes from the centre of mass, in space axes for "ground"; of a rod a fraction of
    its length, or (fraction, (a1, a2)) with an offset along d1 and d2 of the section. ``length=None`` is the distance
    at the start: no force there.

    >>> SpringDamper("ground", "beam", at_a=(0.5, 0, -1), at_b=0.5, stiffness=100.0).rods
    ('beam',)
    """

    law = "spring"
    a: str = field(reference)
    b: str = field(reference)
    at_a: Kept[LinkPlace, object] = field(checks.link_place, "m", default=_ORIGIN, of="a")
    at_b: Kept[LinkPlace, object] = field(checks.link_place, "m", default=_ORIGIN, of="b")
    _: KW_ONLY
    stiffness: float = field(checks.scalar, "N/m")
    damping: float = field(checks.scalar, "N s/m", default=0.0)
    length: float | None = field(checks.scalar, "m", default=None)
    name: str | None = field(new_name, default=None)


@description
class Bushing(Link):
    """Translational bushing: pulls a point of b to a point of a, with stiffness and damping along the axes of a.

    One number holds for all three axes: those of the body a, d1, d2, d3 of the section if a is a rod, those of space
    if it is "ground". The force is zero where the points coincide. Points are those of a `SpringDamper`.
    """

    a: str = field(reference)
    b: str = field(reference)
    at_a: Kept[LinkPlace, object] = field(checks.link_place, "m", default=_ORIGIN, of="a")
    at_b: Kept[LinkPlace, object] = field(checks.link_place, "m", default=_ORIGIN, of="b")
    _: KW_ONLY
    #: (3,).
    stiffness: Kept[Array, ArrayLike] = field(checks.per_axis, "N/m")
    #: (3,).
    damping: Kept[Array, ArrayLike] = field(checks.per_axis, "N s/m", default=0.0)
    name: str | None = field(new_name, default=None)


@dataclass(frozen=True, eq=False)
class BodyState:
    """The state of a body, as a user force gets it."""

    #: Centre of mass in space, (3,).
    position: Array
    #: Rotation matrix, body to space, (3, 3).
    matrix: Array
    #: Of the centre of mass in space, (3,).
    velocity: Array
    #: Angular velocity in body axes, (3,).
    Omega: Array

    @cached_property
    def quaternion(self) -> Array:
        """Unit quaternion, scalar first, p0 >= 0, (4,); computed when asked for."""
        return spurrier_klumpp(self.matrix)


@description
class UserForce(BodyForce):
    """A Python function as force.

    ``function(t, state)`` gets a `BodyState` and returns the force at the centre of mass in space axes and the torque
    in body axes: two times three numbers, or six in a row. ``derivative(t, state)``, for stiff methods, returns the
    (6, 18) derivative with respect to position (3), matrix (9, row by row), velocity (3) and Omega (3); without it
    finite differences are taken.
    """

    loads: ClassVar[tuple[str, ...]] = ("function", "derivative")

    body: str = field(reference)
    function: Callable[[float, BodyState], object] = field(checks.function)
    derivative: Callable[[float, BodyState], object] | None = field(checks.function, default=None)
    name: str | None = field(new_name, default=None)


@description
class CForce(BodyForce):
    """A C function as force: ``void f(double t, const double* state, double* wrench, void* context)``.

    ``state`` is position (3, space), rotation matrix (9, row by row), velocity (3, space), Omega (3, body); ``wrench``
    takes the force at the centre of mass (3, space) and the torque (3, body). ``derivative`` has the same signature
    and fills the (6, 18) derivative with respect to the state, row by row. Each is an address, a ctypes function or
    an object with ``.address`` (``numba.cfunc``). ``context`` is an address, an array or a ctypes object. What is
    given stays alive as long as this description.
    """

    fixed: ClassVar[str] = "is a C function, which a load factor cannot scale; use a UserForce."

    body: str = field(reference)
    address: Kept[int, object] = field(checks.function_address)
    #: Address, 0 for none.
    context: Kept[int, object] = field(checks.data_address, default=None, always=True)
    #: Address, 0 for none.
    derivative: Kept[int, object] = field(checks.derivative_address, default=None, always=True)
    name: str | None = field(new_name, default=None)


class RodForce(ForceLaw, ABC):
    """Base of all that acts on a rod."""

    rod: str

    @property
    def bodies(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def rods(self) -> tuple[str, ...]:
        """The rod."""
        return (self.rod,)


@description
class RodLoad(RodForce):
    """Force and moment on a rod, in space axes, or in those of the section (d1, d2, d3) with ``follow=True``.

    Parameters
    ----------
    rod
        Its name.
    at
        Fraction of the length, from 0 to 1 (the end, by default), of a point load.
    force, moment
        In N and N m, three numbers or functions of time. With ``span``, per length: N/m and N.
    span
        Two fractions (a, b) between which the load is distributed, in place of ``at``.
    profile
        Function of s that multiplies a distributed load: it returns a number, or three for the components.

    >>> RodLoad("hose", force=(0, 0, -1)).at
    1.0
    >>> wind = RodLoad("hose", span=(0, 1), force=lambda t: (t, 0, 0), profile=lambda s: s**2)
    >>> wind.profile_at([0.5]).tolist()
    [[0.25, 0.25, 0.25]]
    """

    loads: ClassVar[tuple[str, ...]] = ("force", "moment")

    rod: str = field(rod_reference)
    at: float | None = field(checks.load_place, default=None, of="span", always=True)
    #: (3,), a function of time, or None.
    force: Kept[Array | Callable[[float], ArrayLike] | None, Vector | None] = field(
        checks.load, "N", "N/m", default=None
    )
    #: (3,), a function of time, or None.
    moment: Kept[Array | Callable[[float], ArrayLike] | None, Vector | None] = field(
        checks.load, "N m", "N", default=None
    )
    follow: bool = field(checks.flag, default=False)
    #: (2,), or None.
    span: Kept[Any, ArrayLike | None] = field(checks.span_of, default=None)
    profile: Callable[[float], ArrayLike] | None = field(checks.profile, default=None)
    name: str | None = field(new_name, default=None)

    def _agree(self, problems: Problems, bad: set[str]) -> None:
        if self.at is not None and self.span is not None:
            problems.add(f"at = {shown(self.at)} and span = {shown(self.span)} exclude each other; give one of them.")
        if self.force is None and self.moment is None and bad.isdisjoint(("force", "moment")):
            problems.add("force and moment are missing; give at least one of them.")
        if self.profile is not None and self.span is not None:
            problems.check(self.profile_at, np.linspace(self.span[0], self.span[1], 5))
        elif self.profile is not None and "span" not in bad:
            problems.add("profile shapes a load over a span; give span, or leave profile out.")

    def profile_at(self, s: ArrayLike) -> Array:
        """Factors of the components at fractions s, 1 without a profile, (n, 3)."""
        if self.profile is None:
            return np.ones((np.size(s), 3))
        return sampled("profile", self.profile, s, lambda field, x: np.full(3, numbers(field, x, (), (3,))))

    @cached_property
    def jumps(self) -> tuple[float, ...]:
        """Fractions inside of the span at which the profile jumps."""
        return () if self.profile is None else tuple(s for s in jumps(self.profile) if self.span[0] < s < self.span[1])

    @property
    def has_potential(self) -> bool:
        """Whether it is a force that keeps its direction in space."""
        return not self.follow and self.moment is None

    @property
    def places(self) -> tuple[tuple[str, float], ...]:
        """Its point, or ends and jumps of its span."""
        along = [] if self.span is None else [*self.span.tolist(), *self.jumps]
        return tuple((self.rod, s) for s in ([self.at] if self.at is not None else along))


@description
class Drag(RodForce):
    """Viscous drag on a rod, per length: force -coefficient·x', moment -rotational·Ω.

    ``coefficient`` in N s/m² and ``rotational`` in N s are one number, or three along d1, d2, d3 of the section.
    """

    only_damps: ClassVar[bool] = True

    rod: str = field(rod_reference)
    #: (3,).
    coefficient: Kept[Array, ArrayLike] = field(checks.per_axis, "N s/m^2", default=0.0)
    #: (3,).
    rotational: Kept[Array, ArrayLike] = field(checks.per_axis, "N s", default=0.0)
    name: str | None = field(new_name, default=None)


class StateLoad(RodForce, ABC):
    """Base of loads per length that depend on where the rod is and how it moves.

    The law is a struct of `cpp/gyrod/rod/laws.cpp`. It takes ``numbers`` and, as its vector, which may be a function of
    time, the first of the fields that a load factor scales.
    """

    law: ClassVar[str]
    #: Fractions of the length between which it acts, (2,).
    span: Array

    @property
    @abstractmethod
    def numbers(self) -> list[float]:
        """Numbers of the law, in its order."""

    def profile_at(self, s: ArrayLike) -> Array:
        """Factors along the rod: ones, (n, 3)."""
        return np.ones((np.size(s), 3))

    @property
    def places(self) -> tuple[tuple[str, float], ...]:
        """The ends of its span."""
        return tuple((self.rod, s) for s in self.span.tolist())


@description
class Flow(StateLoad):
    """Quadratic drag of a fluid that flows past a rod, per length: force coefficient·|u|·u with u = velocity - x'.

    Flow across the rod and along it count by themselves: |u| is that of both components across for d1 and d2, and that
    of the one along for d3. Of a round rod with the diameter D the ``coefficient`` in N s²/m³, one number or three
    along d1, d2, d3, is rho C D/2, with C about 1.2 across and 0.01 along in a subcritical flow.

    >>> wind = Flow("hose", velocity=(8.0, 0, 0), coefficient=0.5 * 1.25 * 0.02 * np.array([1.2, 1.2, 0.01]))
    """

    law: ClassVar[str] = "flow"
    loads: ClassVar[tuple[str, ...]] = ("velocity",)

    rod: str = field(rod_reference)
    #: Of the fluid in space, (3,), or a function of time.
    velocity: Kept[Array | Callable[[float], ArrayLike], Vector] = field(checks.load, "m/s")
    #: (3,).
    coefficient: Kept[Array, ArrayLike] = field(checks.per_axis, "N s^2/m^3")
    #: (2,).
    span: Kept[Array, ArrayLike] = field(checks.span_of, default=(0.0, 1.0))
    name: str | None = field(new_name, default=None)

    @property
    def numbers(self) -> list[float]:
        """The coefficients."""
        return [float(c) for c in self.coefficient]


#: All forces on bodies; those that are links take points of rods as well.
FORCES: tuple[type[ForceLaw], ...] = (Force, Torque, SpringDamper, Bushing, UserForce, CForce)
#: All forces on rods.
LOADS: tuple[type[ForceLaw], ...] = (RodLoad, Drag, Flow)
