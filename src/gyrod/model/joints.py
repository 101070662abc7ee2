"""Joints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod.model.errors import Description, Problems, optional_name, reference, shown, vector

Array = NDArray[np.float64]


@dataclass(frozen=True, init=False, eq=False)
class Joint(Description, ABC):
    """Base of the joints between two bodies, or between a body and "ground".

    Rules for a new joint:

    1. Its description is a frozen class here: names ``a``, ``b``, point ``at`` and axes in space at the initial
       configuration, and ``freedoms``. It computes nothing.
    2. Its mechanics is one file of the core, in director form: constraint g(x, d), gradient G, and motion subspace T
       with G T = 0 and ``freedoms`` columns. Quaternions and minimal velocities follow by pull-back.
    3. It joins `JOINTS`, over which the property tests run.
    """

    a: str
    b: str
    #: Point in space at the initial configuration, (3,).
    at: Array
    name: str | None

    def __init__(self, a: str, b: str, *, at: ArrayLike, name: str | None = None) -> None:
        self._set(a=a, b=b, name=name)
        problems = Problems(self.label)
        self._set(
            a=problems.check(reference, "a", a),
            b=problems.check(reference, "b", b),
            at=problems.check(vector, "at", at),
            name=problems.check(optional_name, name),
        )
        problems.finish()

    @property
    @abstractmethod
    def freedoms(self) -> int:
        """Number of relative velocities that the joint leaves."""

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of what it connects, "ground" among them."""
        return (self.a, self.b)

    @property
    def label(self) -> str:
        """What errors call it."""
        kind = type(self).__name__
        return f"{kind}({shown(self.a)}, {shown(self.b)})" if self.name is None else f"{kind} {shown(self.name)}"


@dataclass(frozen=True, init=False, eq=False)
class Spherical(Joint):
    """Ball joint: the point ``at`` of both partners stays the same, all rotations are free.

    With "ground" it makes a top: ``Spherical("ground", "top", at=(0, 0, 0))``, in either order.
    """

    @property
    def freedoms(self) -> int:
        """Three rotations."""
        return 3


#: All joints.
JOINTS: tuple[type[Joint], ...] = (Spherical,)
