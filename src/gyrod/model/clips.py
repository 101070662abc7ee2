"""Clips: what holds a rod somewhere along its length."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gyrod._check import Array
from gyrod.model.errors import (
    GROUND,
    Problems,
    choice,
    direction,
    new_name,
    not_negative,
    numbers,
    positive,
    reference,
    rod_reference,
    shown,
)
from gyrod.model.errors import vector as three
from gyrod.model.fields import Kept, description, field, holds
from gyrod.model.force_checks import fraction, per_axis
from gyrod.model.forces import RodForce
from gyrod.model.orientations import rotation

#: What clips hold: point and section; point and direction; the point; the point, elastically; the point, through which
#: the rod slides; the point and the direction in which it slides.
CLIPS = ("fixed", "swivel", "ball", "grommet", "ring", "sleeve")
#: A rigid clip is so many times as stiff as the whole rod in tension, EA/L, and in bending, EI/L.
RIGID, RIGID_TURN = 1e4, 1e7


@holds(form="place", shapes=((), (3,)))
def _point(field: str, value: ArrayLike) -> float | Array:
    """A point, (3,), or a fraction of a rod."""
    return fraction(field, value) if np.ndim(value) == 0 else three(field, value)


@holds(shapes=((), (2,)), spread=True)
def _turning(field: str, value: object) -> Array:
    """Stiffness against bending and against twist, of one number or of two."""
    result = np.full(2, not_negative(field, numbers(field, value, (), (2,)), (), (2,)))
    result.flags.writeable = False
    return result


@description
class Clip(RodForce):
    """A clip that holds a rod at a fraction of its length: on ground, on a body or on another rod.

    Parameters
    ----------
    rod, at
        Name of the rod, and the fraction of its length; of a ring or sleeve that which is in it at the start.
    to
        "ground", or the name of a body or of another rod.
    point
        Where: of ground a point in space, of a body one in its axes from the centre of mass, of a rod the fraction of
        its length. Without it the rod is held where it lies at the start, and so it is beside another rod.
    frame, axis
        How: the section d1, d2, d3, or the direction of d3 alone; in space, in body axes, or in those of the other
        rod's section. Without them the rod is held as it lies at the start.
    kind
        "fixed" holds the point and the section, "swivel" the point and the direction of the rod, which may turn in it,
        "ball" the point, "grommet" the point as a rubber does, with its ``stiffness``. A "ring" is a point
        through which the rod slides without friction, in any direction. Through a "sleeve" of a ``length`` it slides in
        that of its axis, and may turn about it.
    length
        m, of a sleeve, about the point; it needs one.
    stiffness
        N/m, one number or three along d1, d2, d3 of the clip, of a ring or sleeve one; rigid without: 1e4 times that
        of the whole rod in tension.
    rotational
        N m/rad against bending and against twist, one number or two; of fixed clips and swivels rigid without.
    damping
        N s/m, of the point; not of a ring or sleeve.

    >>> Clip("hose", 0.4, point=(0, 0, 1), axis=(1, 0, 0), kind="swivel").label
    "Clip('hose', 0.4)"
    """

    rod: str = field(rod_reference)
    at: float = field(fraction)
    to: str = field(reference, default=GROUND)
    #: (3,), a fraction of a rod, or None.
    point: Kept[Any, ArrayLike | None] = field(_point, "m", default=None)
    #: Unit quaternion (4,), or None.
    frame: Kept[Array | None, object] = field(rotation, default=None)
    #: Unit vector (3,), or None.
    axis: Kept[Array | None, ArrayLike | None] = field(direction, default=None)
    _: KW_ONLY
    kind: str = field(choice(CLIPS), default="fixed")
    length: float | None = field(positive, "m", default=None)
    #: (3,), or None.
    stiffness: Kept[Array | None, ArrayLike | None] = field(per_axis, "N/m", default=None)
    #: (2,), or None.
    rotational: Kept[Array | None, ArrayLike | None] = field(_turning, "N m/rad", default=None)
    #: (3,).
    damping: Kept[Array, ArrayLike] = field(per_axis, "N s/m", default=0.0)
    name: str | None = field(new_name, default=None)

    def _agree(self, problems: Problems, bad: set[str]) -> None:
        if self.frame is not None and self.axis is not None:
            problems.add("frame and axis exclude each other; the third axis of the frame is the axis.")
        if self.to == GROUND and isinstance(self.point, float):
            problems.add(f"point = {shown(self.point)} is a fraction of a rod; 'ground' needs a point, three numbers.")
        if self.kind == "grommet" and self.stiffness is None and "stiffness" not in bad:
            problems.add("stiffness is missing; a grommet is as stiff as it is, a 'ball' is rigid.")
        if self.kind == "ball" and self.rotational is not None:
            problems.add("rotational is for clips that hold a direction; a 'ball' turns freely, a 'swivel' does not.")
        if self.slides:
            held = {"frame": self.frame, "axis": self.axis} if self.kind == "ring" else {}
            for name in (name for name, value in held.items() if value is not None):
                problems.add(f"{name} is for clips that hold a direction; the rod goes through a ring as it likes.")
            if self.rotational is not None and self.kind == "ring":
                problems.add("rotational is for clips that hold a direction; the rod goes through a ring as it likes.")
            elif self.rotational is not None:
                problems.add("rotational is for clips that do not slide; a sleeve holds a direction by its length.")
            if self.stiffness is not None and np.ptp(self.stiffness):
                told = f"stiffness = {shown(self.stiffness)}, but a {self.kind} has one for all directions; give one."
                problems.add(told)
            if "damping" not in bad and self.damping.any():
                problems.add("damping is for clips that do not slide; leave it out, or damp the rod.")
        if self.kind == "sleeve" and self.length is None and "length" not in bad:
            problems.add("length is missing; a sleeve needs one, as ten diameters of the rod, a 'ring' has none.")
        if self.kind != "sleeve" and self.length is not None:
            problems.add(f"length = {shown(self.length)} is for kind = 'sleeve'; a {self.kind!r} has none.")
        if self.kind == "swivel" and self.rotational is not None and self.rotational[1]:
            told = f"give ({self.rotational[0]:g}, 0), or kind = 'fixed'"
            problems.add(f"rotational = {shown(self.rotational)}, but a swivel turns about the rod; {told}.")

    @property
    def slides(self) -> bool:
        """Whether the rod slides through it."""
        return self.kind in ("ring", "sleeve")

    @property
    def bodies(self) -> tuple[str, ...]:
        """What holds it, unless that is a rod."""
        return () if isinstance(self.point, float) else (self.to,)

    @property
    def rods(self) -> tuple[str, ...]:
        """The rod, and the one that holds it."""
        return (self.rod, self.to) if isinstance(self.point, float) else (self.rod,)

    @property
    def has_potential(self) -> bool:
        """That of its springs."""
        return True

    @property
    def places(self) -> tuple[tuple[str, float], ...]:
        """Its point, on both rods; not on one that slides."""
        own = () if self.slides else ((self.rod, self.at),)
        return (*own, *([(self.to, self.point)] if isinstance(self.point, float) else []))

    @property
    def label(self) -> str:
        """What errors call it."""
        return f"Clip({shown(self.rod)}, {self.at!r})" if self.name is None else f"Clip {shown(self.name)}"

    def stiffnesses(self, C: Array, length: float) -> tuple[Array, float, float]:
        """Stiffness of the point along d1, d2, d3, against bending and against twist, on a rod of this stiffness."""
        K = np.full(3, RIGID * C[2, 2] / length) if self.stiffness is None else self.stiffness
        bend, twist = RIGID_TURN * max(C[3, 3], C[4, 4]) / length, RIGID_TURN * C[5, 5] / length
        if self.rotational is not None:
            bend, twist = self.rotational
        elif self.kind == "grommet":
            bend = twist = 0.0
        held = {"fixed": (1, 1), "swivel": (1, 0), "ball": (0, 0), "grommet": (1, 1)}.get(self.kind, (0, 0))
        return K, float(held[0] * bend), float(held[1] * twist)
