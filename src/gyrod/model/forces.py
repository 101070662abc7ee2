"""Forces: ready-made elements, Python functions and C functions."""

from __future__ import annotations

import ctypes
from _ctypes import CFuncPtr
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import _check, rotations
from gyrod.model.errors import (
    GROUND,
    Description,
    Problems,
    called,
    instance,
    not_negative,
    numbers,
    optional_name,
    reference,
    sampled,
    shown,
    vector,
)
from gyrod.model.jumps import jumps
from gyrod.rotations.conversions import spurrier_klumpp

Array = NDArray[np.float64]
#: A vector of three numbers, or a function of time that returns one.
Vector = ArrayLike | Callable[[float], ArrayLike]
#: Place in a rod: fraction of the length, and offset along d1 and d2 of the section in m.
RodPoint = tuple[float, tuple[float, float]]

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

    def times(self, scaled: Callable[[Any], Any]) -> Self:
        """The same with its loads through a function."""
        if self.fixed:
            raise ValueError(f"{self.label} {self.fixed}")
        changes = {field: scaled(value) for field in self.loads if (value := getattr(self, field)) is not None}
        whole: Any = self
        return replace(whole, **changes) if changes else self

    @property
    def label(self) -> str:
        """What errors call it."""
        kind, name = type(self).__name__, getattr(self, "name", None)
        if name is not None:
            return f"{kind} {shown(name)}"
        return f"{kind}({', '.join(map(shown, (*self.bodies, *self.rods)))})"


@dataclass(frozen=True, init=False, eq=False)
class Force(ForceLaw):
    """A force, constant or a function of time, at the point ``at`` of a body (body axes, from the centre of mass).

    ``frame`` says in which axes the force is given: "space", or "body", in which case it turns with the body.
    """

    loads: ClassVar[tuple[str, ...]] = ("force",)

    body: str
    #: (3,), or a function of time.
    force: Any
    at: Array
    frame: str
    name: str | None

    def __init__(
        self, body: str, force: Vector, at: ArrayLike = _ORIGIN, frame: str = "space", name: str | None = None
    ) -> None:
        self._set(body=body, name=name)
        problems = Problems(self.label)
        self._set(
            body=problems.check(reference, "body", body),
            force=problems.check(_vector_or_function, "force", force),
            at=problems.check(vector, "at", at),
            frame=problems.check(_check.choice, "frame", frame, rotations.FRAMES),
            name=problems.check(optional_name, name),
        )
        problems.finish()

    @property
    def bodies(self) -> tuple[str, ...]:
        """The body."""
        return (self.body,)

    @property
    def has_potential(self) -> bool:
        """Whether it keeps its direction in space."""
        return self.frame == "space"


@dataclass(frozen=True, init=False, eq=False)
class Torque(ForceLaw):
    """A torque on a body, constant or a function of time, in body or in space axes."""

    loads: ClassVar[tuple[str, ...]] = ("torque",)

    body: str
    #: (3,), or a function of time.
    torque: Any
    frame: str
    name: str | None

    def __init__(self, body: str, torque: Vector, frame: str = "body", name: str | None = None) -> None:
        self._set(body=body, name=name)
        problems = Problems(self.label)
        self._set(
            body=problems.check(reference, "body", body),
            torque=problems.check(_vector_or_function, "torque", torque),
            frame=problems.check(_check.choice, "frame", frame, rotations.FRAMES),
            name=problems.check(optional_name, name),
        )
        problems.finish()

    @property
    def bodies(self) -> tuple[str, ...]:
        """The body."""
        return (self.body,)


class Link(ForceLaw, ABC):
    """Base of what acts between two points, each of a body, of a rod or of "ground".

    ``a`` and ``b`` are names; ``at_a`` and ``at_b`` are of a body a point in body axes from the centre of mass, of
    "ground" a point in space, of a rod a fraction of its length, or (fraction, (a1, a2)) with an offset along d1 and d2
    of the section.
    """

    a: str
    b: str
    #: (3,), a fraction and its offset, or None for the centre of mass.
    at_a: Any
    at_b: Any
    #: Numbers, of a bushing three.
    stiffness: Any
    damping: Any

    @property
    def ends(self) -> tuple[tuple[str, str, Any], tuple[str, str, Any]]:
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


@dataclass(frozen=True, init=False, eq=False)
class SpringDamper(Link):
    """Spring and damper along the line between two points: tension k (l - length) + c l'.

    ``at_a`` and ``at_b`` are in body axes from the centre of mass, in space axes for "ground"; of a rod a fraction of
    its length, or (fraction, (a1, a2)) with an offset along d1 and d2 of the section. ``length=None`` is the distance
    at the start: no force there.

    >>> SpringDamper("ground", "beam", at_a=(0.5, 0, -1), at_b=0.5, stiffness=100.0).rods
    ('beam',)
    """

    a: str
    b: str
    at_a: Any
    at_b: Any
    stiffness: float
    damping: float
    length: float | None
    name: str | None

    def __init__(
        self,
        a: str,
        b: str,
        at_a: Any = _ORIGIN,
        at_b: Any = _ORIGIN,
        *,
        stiffness: float,
        damping: float = 0.0,
        length: float | None = None,
        name: str | None = None,
    ) -> None:
        self._set(a=a, b=b, name=name)
        problems = Problems(self.label)
        self._set(
            a=problems.check(reference, "a", a),
            b=problems.check(reference, "b", b),
            at_a=problems.check(link_place, "at_a", at_a, a),
            at_b=problems.check(link_place, "at_b", at_b, b),
            stiffness=problems.check(scalar, "stiffness", stiffness),
            damping=problems.check(scalar, "damping", damping),
            length=None if length is None else problems.check(scalar, "length", length),
            name=problems.check(optional_name, name),
        )
        problems.finish()


@dataclass(frozen=True, init=False, eq=False)
class Bushing(Link):
    """Translational bushing: pulls a point of b to a point of a, with stiffness and damping along the axes of a.

    One number serves all three axes: those of the body a, d1, d2, d3 of the section if a is a rod, those of space if it
    is "ground". The force is zero where the points coincide. Points are those of a `SpringDamper`.
    """

    a: str
    b: str
    at_a: Any
    at_b: Any
    #: (3,).
    stiffness: Array
    #: (3,).
    damping: Array
    name: str | None

    def __init__(
        self,
        a: str,
        b: str,
        at_a: Any = _ORIGIN,
        at_b: Any = _ORIGIN,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike = 0.0,
        name: str | None = None,
    ) -> None:
        self._set(a=a, b=b, name=name)
        problems = Problems(self.label)
        self._set(
            a=problems.check(reference, "a", a),
            b=problems.check(reference, "b", b),
            at_a=problems.check(link_place, "at_a", at_a, a),
            at_b=problems.check(link_place, "at_b", at_b, b),
            stiffness=problems.check(per_axis, "stiffness", stiffness),
            damping=problems.check(per_axis, "damping", damping),
            name=problems.check(optional_name, name),
        )
        problems.finish()


@dataclass(frozen=True, eq=False)
class BodyState:
    """What a user force is told about its body."""

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


@dataclass(frozen=True, init=False, eq=False)
class UserForce(ForceLaw):
    """A Python function as force.

    ``function(t, state)`` gets a `BodyState` and returns the force at the centre of mass in space axes and the torque
    in body axes: two times three numbers, or six in a row. ``derivative(t, state)``, for stiff methods, returns the
    (6, 18) derivative with respect to position (3), matrix (9, row by row), velocity (3) and Omega (3); without it
    finite differences are taken.
    """

    loads: ClassVar[tuple[str, ...]] = ("function", "derivative")

    body: str
    function: Callable[[float, BodyState], Any]
    derivative: Callable[[float, BodyState], Any] | None
    name: str | None

    def __init__(
        self,
        body: str,
        function: Callable[[float, BodyState], Any],
        derivative: Callable[[float, BodyState], Any] | None = None,
        name: str | None = None,
    ) -> None:
        self._set(body=body, name=name)
        problems = Problems(self.label)
        self._set(
            body=problems.check(reference, "body", body),
            function=problems.check(_function, "function", function),
            derivative=None if derivative is None else problems.check(_function, "derivative", derivative),
            name=problems.check(optional_name, name),
        )
        problems.finish()

    @property
    def bodies(self) -> tuple[str, ...]:
        """The body."""
        return (self.body,)


@dataclass(frozen=True, init=False, eq=False)
class CForce(ForceLaw):
    """A C function as force: ``void f(double t, const double* state, double* wrench, void* context)``.

    ``state`` is position (3, space), rotation matrix (9, row by row), velocity (3, space), Omega (3, body); ``wrench``
    takes the force at the centre of mass (3, space) and the torque (3, body). ``derivative`` has the same signature
    and fills the (6, 18) derivative with respect to the state, row by row. Each is an address, a ctypes function or
    an object with ``.address`` (``numba.cfunc``). ``context`` is an address, an array or a ctypes object. What is
    given stays alive as long as this description.
    """

    fixed: ClassVar[str] = "is a C function, which a load factor cannot scale; use a UserForce."

    body: str
    address: int
    #: Address, 0 for none.
    context: int
    #: Address, 0 for none.
    derivative: int
    name: str | None

    def __init__(
        self, body: str, address: Any, context: Any = None, derivative: Any = None, name: str | None = None
    ) -> None:
        self._set(body=body, name=name)
        problems = Problems(self.label)
        self._set(
            body=problems.check(reference, "body", body),
            address=problems.check(_function_address, "address", address),
            context=problems.check(_data_address, "context", context),
            derivative=problems.check(_function_address, "derivative", derivative, 0),
            name=problems.check(optional_name, name),
        )
        problems.finish()

    @property
    def bodies(self) -> tuple[str, ...]:
        """The body."""
        return (self.body,)


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


@dataclass(frozen=True, init=False, eq=False)
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

    rod: str
    at: float | None
    #: (3,), a function of time, or None.
    force: Any
    #: (3,), a function of time, or None.
    moment: Any
    follow: bool
    #: (2,), or None.
    span: Any
    profile: Callable[[float], ArrayLike] | None
    name: str | None

    def __init__(
        self,
        rod: str,
        at: float | None = None,
        force: Vector | None = None,
        moment: Vector | None = None,
        follow: bool = False,
        span: ArrayLike | None = None,
        profile: Callable[[float], ArrayLike] | None = None,
        name: str | None = None,
    ) -> None:
        self._set(rod=rod, name=name)
        problems = Problems(self.label)
        point = 1.0 if at is None and span is None else at
        self._set(
            rod=problems.check(rod_name, rod),
            at=None if point is None else problems.check(fraction, "at", point),
            force=None if force is None else problems.check(_load, "force", force),
            moment=None if moment is None else problems.check(_load, "moment", moment),
            follow=problems.check(instance, "follow", follow, (bool, np.bool_), "True or False"),
            span=None if span is None else problems.check(span_of, span),
            profile=None if profile is None else problems.check(_profile, profile),
            name=problems.check(optional_name, name),
        )
        if at is not None and span is not None:
            problems.add(f"at = {shown(at)} and span = {shown(span)} exclude each other; give one of them.")
        if force is None and moment is None:
            problems.add("force and moment are missing; give at least one of them.")
        if profile is not None and span is None:
            problems.add("profile shapes a load over a span; give span, or leave profile out.")
        elif self.profile is not None and self.span is not None:
            problems.check(self.profile_at, np.linspace(self.span[0], self.span[1], 5))
        problems.finish()

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


@dataclass(frozen=True, init=False, eq=False)
class Drag(RodForce):
    """Viscous drag on a rod, per length: force -coefficient·x', moment -rotational·Ω.

    ``coefficient`` in N s/m² and ``rotational`` in N s are one number, or three along d1, d2, d3 of the section.
    """

    only_damps: ClassVar[bool] = True

    rod: str
    #: (3,).
    coefficient: Array
    #: (3,).
    rotational: Array
    name: str | None

    def __init__(
        self, rod: str, coefficient: ArrayLike = 0.0, rotational: ArrayLike = 0.0, name: str | None = None
    ) -> None:
        self._set(rod=rod, name=name)
        problems = Problems(self.label)
        self._set(
            rod=problems.check(rod_name, rod),
            coefficient=problems.check(per_axis, "coefficient", coefficient),
            rotational=problems.check(per_axis, "rotational", rotational),
            name=problems.check(optional_name, name),
        )
        problems.finish()


#: All forces on bodies; those that are links take points of rods as well.
FORCES: tuple[type[ForceLaw], ...] = (Force, Torque, SpringDamper, Bushing, UserForce, CForce)
#: All forces on rods.
LOADS: tuple[type[ForceLaw], ...] = (RodLoad, Drag)


# --- checks ----------------------------------------------------------------------------------------------------------


def _vector_or_function(field: str, value: Any) -> Any:
    return value if callable(value) else vector(field, value)


def _load(field: str, value: Any) -> Any:
    """Vector, or a function of time that returns one at t = 0."""
    if not callable(value):
        return vector(field, value)
    called(field, value, "t", 0.0, vector)
    return value


def rod_name(value: object) -> str:
    """Return the name of a rod; whether it exists is for the system to say."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"rod must be the name of a rod, got {shown(value)}.")
    return str(value)


def fraction(field: str, value: ArrayLike) -> float:
    """Return a fraction of the length."""
    s = float(numbers(field, value, ()))
    if not 0.0 <= s <= 1.0:
        raise ValueError(f"{field} = {shown(value)} must be a fraction of the length, from 0 to 1.")
    return s


def rod_point(field: str, value: Any) -> RodPoint:
    """Return a fraction of the length, alone or with an offset, as both."""
    s, offset = value if isinstance(value, (tuple, list)) and len(value) == 2 else (value, (0.0, 0.0))
    a1, a2 = numbers(f"{field}[1]", offset, (2,)).tolist()
    return fraction(field if s is value else f"{field}[0]", s), (a1, a2)


def link_place(field: str, value: Any, name: Any) -> Any:
    """Return a point of ground or of a body, (3,), or a place in a rod; None is the centre of mass of a body."""
    if value is None and name == GROUND:
        raise ValueError(f"{field} is missing; 'ground' needs a point of space, three numbers.")
    if value is None:
        return None
    if np.ndim(value) == 0 if not isinstance(value, (tuple, list)) else len(value) == 2:
        place = rod_point(field, value)
        if name == GROUND:
            raise ValueError(f"{field} = {shown(value)} is a place in a rod; 'ground' needs a point, three numbers.")
        return place
    return vector(field, value)


def span_of(value: ArrayLike) -> Array:
    """Return two increasing fractions of the length."""
    s = numbers("span", value, (2,))
    if not 0.0 <= s[0] < s[1] <= 1.0:
        raise ValueError(f"span = {shown(value)} must be two increasing fractions of the length, from 0 to 1.")
    return s


def _profile(value: Any) -> Any:
    if not callable(value):
        raise ValueError(f"profile must be a function of s, got {shown(value)}.")
    return value


def _function(field: str, value: Any) -> Any:
    if not callable(value):
        raise ValueError(f"{field} must be a function of time and state, got {shown(value)}.")
    return value


def scalar(field: str, value: Any) -> float:
    """Return a number >= 0."""
    return float(not_negative(field, value))


def per_axis(field: str, value: Any) -> Array:
    """Return three numbers >= 0, of one or of three."""
    result = np.full(3, not_negative(field, value, (), (3,)))
    result.flags.writeable = False
    return result


class _Address(int):
    """An address that keeps alive what lies there."""

    owner: Any

    def __new__(cls, value: int, owner: Any) -> _Address:
        address = super().__new__(cls, value)
        address.owner = owner
        return address


def _function_address(field: str, value: Any, smallest: int = 1) -> int:
    if isinstance(value, _Address) and value >= smallest:
        return value
    found = getattr(value, "address", value)
    if value is None and smallest == 0:
        found = 0
    if isinstance(value, CFuncPtr):
        found = ctypes.cast(value, ctypes.c_void_p).value
    return _address(field, found, value, "a C function: its address, a ctypes function or a numba.cfunc", smallest)


def _data_address(field: str, value: Any) -> int:
    if isinstance(value, _Address):
        return value
    found = value
    if value is None:
        found = 0
    elif isinstance(value, np.ndarray):
        found = value.ctypes.data
    elif isinstance(value, ctypes.c_void_p):
        found = value.value or 0
    elif isinstance(value, ctypes._Pointer):
        found = ctypes.cast(value, ctypes.c_void_p).value or 0
    elif isinstance(value, (ctypes.Structure, ctypes.Union, ctypes.Array, ctypes._SimpleCData)):
        found = ctypes.addressof(value)
    return _address(field, found, value, "an address, an array or a ctypes object", 0)


def _address(field: str, found: Any, owner: Any, wanted: str, smallest: int) -> int:
    whole = isinstance(found, (int, np.integer)) and not isinstance(found, bool)
    if not whole or not smallest <= found < 2 ** (8 * ctypes.sizeof(ctypes.c_void_p)):
        raise ValueError(f"{field} must be {wanted}, got {shown(owner)}.")
    return _Address(int(found), owner)
