"""Checks of the fields of forces and elements."""

from __future__ import annotations

import ctypes
from _ctypes import CFuncPtr

import numpy as np
from numpy.typing import NDArray

from gyrod._check import Array
from gyrod.model.errors import GROUND, called, not_negative, numbers, shown, vector
from gyrod.model.fields import holds
from gyrod.model.samples import fitting

#: Place in a rod: fraction of the length, and offset along d1 and d2 of the section in m.
RodPoint = tuple[float, tuple[float, float]]
#: Where a link holds: a point (3,), a fraction of a rod with its offset, or None for the centre of mass.
LinkPlace = NDArray[np.float64] | RodPoint | None


@holds(shapes=((3,),), variable="t")
def vector_or_function(field: str, value: object) -> object:
    """Return a function as it is, or a vector."""
    return fitting(field, value, "vector") if callable(value) else vector(field, value)


@holds(shapes=((3,),), variable="t")
def load(field: str, value: object) -> object:
    """Return a vector, or a function of time that returns one at t = 0."""
    if not callable(value):
        return vector(field, value)
    called(field, value, "t", 0.0, vector)
    return value


def fraction(field: str, value: object) -> float:
    """Return a fraction of the length."""
    s = float(numbers(field, value, ()))
    if not 0.0 <= s <= 1.0:
        raise ValueError(f"{field} = {shown(value)} must be a fraction of the length, from 0 to 1.")
    return s


def rod_point(field: str, value: object) -> RodPoint:
    """Return a fraction of the length, alone or with an offset, as both."""
    s, offset = value if isinstance(value, (tuple, list)) and len(value) == 2 else (value, (0.0, 0.0))
    a1, a2 = numbers(f"{field}[1]", offset, (2,)).tolist()
    return fraction(field if s is value else f"{field}[0]", s), (a1, a2)


@holds(form="place", shapes=((3,),))
def link_place(field: str, value: object, name: object) -> object:
    """Return a point of ground or of a body, (3,), or a place in a rod; None is the centre of mass of a body."""
    if value is None and name == GROUND:
        raise ValueError(f"{field} is missing; 'ground' needs a point of space, three numbers.")
    if value is None:
        return None
    if np.asarray(value).ndim == 0 if not isinstance(value, (tuple, list)) else len(value) == 2:
        place = rod_point(field, value)
        if name == GROUND:
            raise ValueError(f"{field} = {shown(value)} is a place in a rod; 'ground' needs a point, three numbers.")
        return place
    return vector(field, value)


def load_place(field: str, value: object, span: object) -> float | None:
    """Return the fraction at which a load acts: the end, if there is no span either."""
    return fraction(field, value) if value is not None else 1.0 if span is None else None


@holds(shapes=((2,),))
def span_of(field: str, value: object) -> Array:
    """Return two increasing fractions of the length."""
    s = numbers(field, value, (2,))
    if not 0.0 <= s[0] < s[1] <= 1.0:
        raise ValueError(f"{field} = {shown(value)} must be two increasing fractions of the length, from 0 to 1.")
    return s


@holds(shapes=((), (3,)), variable="s", needs_function=True)
def profile(field: str, value: object) -> object:
    """Return a function of s."""
    if not callable(value):
        raise ValueError(f"{field} must be a function of s, got {shown(value)}.")
    return value


@holds(form="flag")
def flag(field: str, value: object) -> bool | np.bool_:
    """Return True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{field} must be True or False, got {shown(value)}.")
    return value


@holds(form="anything")
def function(field: str, value: object) -> object:
    """Return a function of time and state."""
    if not callable(value):
        raise ValueError(f"{field} must be a function of time and state, got {shown(value)}.")
    return value


def scalar(field: str, value: object) -> float:
    """Return a number >= 0."""
    return float(not_negative(field, value))


@holds(shapes=((), (3,)), spread=True)
def per_axis(field: str, value: object) -> Array:
    """Return three numbers >= 0, of one or of three."""
    result = np.full(3, not_negative(field, value, (), (3,)))
    result.flags.writeable = False
    return result


class _Address(int):
    """An address that keeps alive what lies there."""

    owner: object

    def __new__(cls, value: int, owner: object) -> _Address:
        address = super().__new__(cls, value)
        address.owner = owner
        return address


@holds(form="anything")
def function_address(field: str, value: object, smallest: int = 1) -> int:
    """Return the address of a C function."""
    if isinstance(value, _Address) and value >= smallest:
        return value
    found = getattr(value, "address", value)
    if value is None and smallest == 0:
        found = 0
    if isinstance(value, CFuncPtr):
        found = ctypes.cast(value, ctypes.c_void_p).value
    return _address(field, found, value, "a C function: its address, a ctypes function or a numba.cfunc", smallest)


@holds(form="anything")
def derivative_address(field: str, value: object) -> int:
    """Return the address of a C function, 0 for None."""
    return function_address(field, value, 0)


@holds(form="anything")
def data_address(field: str, value: object) -> int:
    """Return the address of an array or a ctypes object, 0 for None."""
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


def _address(field: str, found: object, owner: object, wanted: str, smallest: int) -> int:
    whole = found if isinstance(found, (int, np.integer)) and not isinstance(found, bool) else -1
    if not smallest <= whole < 2 ** (8 * ctypes.sizeof(ctypes.c_void_p)):
        raise ValueError(f"{field} must be {wanted}, got {shown(owner)}.")
    return _Address(int(whole), owner)
