"""Shapes that rods start in: straight, an arc, any curve, or bent by a given curvature."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gyrod import rotations
from gyrod._check import Array
from gyrod.gyro import attitude
from gyrod.model.errors import (
    Description,
    Problems,
    called,
    choice,
    constant_or_function,
    direction,
    frozen,
    numbers,
    positive,
    sampled,
    shown,
    vector,
)
from gyrod.model.fields import Kept, description, field, holds
from gyrod.model.orientations import rotation, rotations_of, unit, upright
from gyrod.model.paths import Path, align_tangent, evaluate, panels, resolve, through
from gyrod.rotations import removable

#: Largest distance of a given d3 from the tangent of a shape that carries its start frame along.
TANGENT_SLACK = 1e-6
#: Most that a curvature may turn the frame along a rod, in rad.
MOST_TURNING = 1e5
#: Fewest samples of a curve.
FEWEST_SAMPLES = 4

_ORIGIN = (0.0, 0.0, 0.0)
_GAUSS, _WEIGHTS = np.polynomial.legendre.leggauss(5)
#: How often a panel of a curvature may be halved where it jumps, and the turn in rad that one step integrates.
_SHARPEST, _TURN = 40, 0.25


# --- checks ----------------------------------------------------------------------------------------------------------


def _given_rotation(field: str, value: object) -> Array:
    if value is None:
        raise ValueError(f"{field} must be a quaternion or a rotation matrix, got None.")
    return rotation(field, value)


def _perpendicular(normal: Array, tangent: Array) -> Array:
    if abs(normal @ tangent) <= 4.0 * np.finfo(float).eps:
        return normal
    rest = normal - (normal @ tangent) * tangent
    if np.linalg.norm(rest) < 1e-9:
        raise ValueError(f"normal = {shown(normal)} must not be parallel to the tangent, {shown(tangent)}.")
    return frozen(unit(rest))


def _samples(field: str, value: object) -> Array:
    """Samples of a curve: enough, and no two neighbours the same."""
    x = numbers(field, value, (_count(field, value, (3,), "points (m, 3) or a function of s"), 3))
    same = np.flatnonzero(np.all(x[1:] == x[:-1], axis=1))
    if len(same):
        i = int(same[0])
        raise ValueError(f"{field}[{i}] and {field}[{i + 1}] coincide at {shown(x[i])}; neighbours must differ.")
    return x


@holds(form="orientation", shapes=((3,), (4,), (3, 3), (-1, 4), (-1, 3, 3)), variable="s")
def _orientations(field: str, value: object) -> object:
    """Function, one rotation (4,) or samples of rotations, (m, 4)."""
    if callable(value):
        return value
    if hasattr(value, "as_quat") and not getattr(value, "single", True):  # a stack of SciPy's rotations
        value = rotations.from_scipy(value)
    try:
        shape = np.asarray(value).shape
    except ValueError:
        shape = ()
    if not (len(shape) == 3 or (len(shape) == 2 and shape != (3, 3))):
        return rotation(field, value)
    trailing = (3, 3) if len(shape) == 3 else (4,)
    _count(field, value, trailing, "rotations (m, 4) or (m, 3, 3) or a function of s")
    return rotations_of(field, value)


def _count(field: str, value: object, trailing: tuple[int, ...], wanted: str) -> int:
    try:
        shape = np.asarray(value).shape
    except ValueError:
        shape = ()
    if len(shape) != 1 + len(trailing) or shape[1:] != trailing:
        raise ValueError(f"{field} must be {wanted}, got {shown(value)} of shape {shape}.")
    if shape[0] < FEWEST_SAMPLES:
        raise ValueError(
            f"{field} has {shape[0]} samples; a curve needs at least {FEWEST_SAMPLES} (or take a Straight or an Arc)."
        )
    return int(shape[0])


@holds(shapes=((-1, 3), (3,)), variable="s")
def _points(field: str, value: object) -> object:
    return constant_or_function(field, value, _samples)


@holds(shapes=((-1,),))
def _fractions(field: str, value: object) -> Array:
    """Fractions of the length of samples, from 0 to 1."""
    s = numbers(field, value, (_count(field, value, (), "fractions of the length (m,)"),))
    if s[0] != 0.0 or s[-1] != 1.0 or not np.all(np.diff(s) > 0.0):
        raise ValueError(f"{field} must increase from 0 to 1, got {shown(s)}.")
    return s


@holds(form="orientation", shapes=((-1, 4), (-1, 3, 3)))
def _sections(field: str, value: object) -> Array:
    """Rotations of samples, (m, 4)."""
    found = None if callable(value) else _orientations(field, value)
    if not isinstance(found, np.ndarray) or found.ndim != 2:
        raise ValueError(f"{field} must be rotations (m, 4) or (m, 3, 3), got {shown(value)}.")
    return np.asarray(found)


@holds(shapes=((3,),), variable="s")
def _vector_of_s(field: str, value: object) -> object:
    return constant_or_function(field, value, vector)


@holds(form="orientation", shapes=((3,), (4,), (3, 3)))
def _along_x(field: str, value: object) -> Array:
    return frozen(_start_frame(np.array([1.0, 0.0, 0.0]), None)) if value is None else rotation(field, value)


# --- shapes -----------------------------------------------------------------------------------------------------------


class Shape(Description, ABC):
    """Base of the initial shapes.

    Frames have d3 along the tangent unless they are given otherwise. Without an orientation d1 is the vertical e3,
    made perpendicular to the tangent at the start (e1 if the tangent is vertical), and the frame is carried along the
    curve without twist.

    Rules for a new shape: it is a frozen class here with ``length`` and ``place``, and it joins `SHAPES`, over which
    the property tests run.
    """

    @property
    @abstractmethod
    def length(self) -> float | None:
        """Arc length in m; None if it is the rod that has to say."""

    @abstractmethod
    def place(self, s: ArrayLike, length: float) -> tuple[Array, Array]:
        """Points (n, 3) and unit quaternions (n, 4) at increasing fractions s of a rod of a length in m."""


@description
class Straight(Shape):
    """Straight from ``start`` to ``end``, points in m; ``orientation`` of all sections, its d3 along the rod.

    >>> rod = Straight((0, 0, 0), (0, 1, 0))
    >>> from gyrod.rotations import matrix_from_quaternion
    >>> d1, d2, d3 = matrix_from_quaternion(rod.place([0.0], 1.0)[1][0]).T.round(12) + 0.0
    >>> d1.tolist(), d2.tolist()
    ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0])
    """

    start: Kept[Array, ArrayLike] = field(vector, "m")
    end: Kept[Array, ArrayLike] = field(vector, "m")
    #: Unit quaternion (4,), or None.
    orientation: Kept[Array | None, object] = field(rotation, default=None)

    def _agree(self, problems: Problems, bad: set[str]) -> None:
        if not bad.isdisjoint(("start", "end")):
            return
        if math.dist(self.start, self.end) <= 1e-14 * max(1e-300, *np.abs(self.start), *np.abs(self.end)):
            problems.add(f"start and end coincide at {shown(self.start)}; they must differ.")
        else:
            problems.check(lambda: self._frame)

    @property
    def length(self) -> float:
        """Distance of the ends."""
        return math.dist(self.start, self.end)

    @cached_property
    def _frame(self) -> Array:
        return _start_frame(unit(self.end - self.start), self.orientation)

    def place(self, s: ArrayLike, length: float) -> tuple[Array, Array]:  # noqa: ARG002
        """Points (n, 3) and unit quaternions (n, 4) at fractions s."""
        f = np.asarray(s, dtype=float)[:, None]
        frames = np.empty((len(f), 4))
        frames[:] = self._frame
        return (1.0 - f) * self.start + f * self.end, frames


@description
class Arc(Shape):
    """Arc of a circle: it leaves ``start`` along ``tangent`` and bends towards ``normal``, by ``angle`` in rad.

    The length is radius·angle; ``orientation`` is that of the start, its d3 along ``tangent``.
    """

    start: Kept[Array, ArrayLike] = field(vector, "m")
    #: Unit vector, (3,).
    tangent: Kept[Array, ArrayLike] = field(direction)
    #: Unit vector perpendicular to the tangent, (3,).
    normal: Kept[Array, ArrayLike] = field(direction)
    radius: float = field(positive, "m")
    angle: float = field(positive, "rad")
    #: Unit quaternion (4,), or None.
    orientation: Kept[Array | None, object] = field(rotation, default=None)

    def _agree(self, problems: Problems, bad: set[str]) -> None:
        if bad.isdisjoint(("tangent", "normal")):
            self._set(normal=problems.check(_perpendicular, self.normal, self.tangent))
        if "tangent" not in bad:
            problems.check(_start_frame, self.tangent, self.orientation)

    @property
    def length(self) -> float:
        """radius·angle."""
        return self.radius * self.angle

    def place(self, s: ArrayLike, length: float) -> tuple[Array, Array]:  # noqa: ARG002
        """Points (n, 3) and unit quaternions (n, 4) at fractions s."""
        phi = self.angle * np.asarray(s, dtype=float)[:, None]
        x = self.start + self.radius * (np.sin(phi) * self.tangent + 2.0 * np.sin(0.5 * phi) ** 2 * self.normal)
        turns = rotations.exp(phi * np.cross(self.tangent, self.normal))
        return x, rotations.multiply(turns, _start_frame(self.tangent, self.orientation))


@description
class Curve(Shape):
    """Any curve, by functions of s in [0, 1] or by at least four samples.

    Parameters
    ----------
    position
        Function that returns a point in m, or samples (m, 3), joined by a C2 cubic spline.
    orientation
        Of the sections: function of s, samples (m, 4) or (m, 3, 3), or a single one, that of the start, whose d3 is
        the tangent there and which is carried along without twist. Given frames need not follow the tangent: the
        difference is an initial shear.
    parameter
        "arc": s of the functions just runs along the curve, and the rod lies on it evenly; samples need no even
        spacing. "material": s is the fraction of the rod (samples are equidistant in it), which is then unevenly
        stretched where the curve runs at uneven speed.

    >>> import numpy as np
    >>> abs(float(Curve(lambda s: (s, s**2, 0.0)).length - 0.5 * np.sqrt(5) - 0.25 * np.arcsinh(2))) < 1e-13
    True
    """

    #: Function of s, or (m, 3).
    position: Kept[Array | Callable[[float], ArrayLike], ArrayLike | Callable[[float], ArrayLike]] = field(_points, "m")
    #: Function of s, unit quaternion (4,) of the start, unit quaternions (m, 4), or None.
    orientation: Any = field(_orientations, default=None)
    _: KW_ONLY
    parameter: str = field(choice(("arc", "material")), default="arc")

    def _agree(self, problems: Problems, bad: set[str]) -> None:  # noqa: ARG002
        x, q = self.position, self.orientation
        if isinstance(x, np.ndarray) and isinstance(q, np.ndarray) and q.ndim == 2 and len(q) != len(x):
            problems.add(f"orientation has {len(q)} samples and position {len(x)}; there must be one for each.")

    @property
    def length(self) -> float:
        """Arc length in m."""
        return self._path.length

    def place(self, s: ArrayLike, length: float) -> tuple[Array, Array]:  # noqa: ARG002
        """Points (n, 3) and unit quaternions (n, 4) at increasing fractions s."""
        f = np.asarray(s, dtype=float)
        u = self._path.parameter(f) if self.parameter == "arc" else f
        x = self._points(u) if callable(self.position) else self._path.point(u)
        return x, self._frames(u, f)

    @cached_property
    def _knots(self) -> Array:
        """Parameters of samples, in [0, 1]: along the chords, or even."""
        if callable(self.position) or self.parameter == "material":
            count = len(self.position if isinstance(self.position, np.ndarray) else self.orientation)
            return np.linspace(0.0, 1.0, count)
        chords = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(self.position, axis=0), axis=1))])
        return np.asarray(chords / chords[-1])

    @cached_property
    def _path(self) -> Path:
        return resolve(self._points) if callable(self.position) else through(self._knots, self.position)

    def _points(self, u: Array) -> Array:
        return sampled("position", self.position, u, vector)

    def _frames(self, u: Array, s: Array) -> Array:
        if callable(self.orientation):
            places = u if callable(self.position) else s
            return np.array([called("orientation", self.orientation, "s", x, _given_rotation) for x in places])
        if self.orientation is not None and self.orientation.ndim == 2:
            return _between(self._knots, self.orientation, u)
        start = _start_frame(self._path.tangent(np.zeros(1))[0], self.orientation)
        return self._path.transport(np.concatenate([[0.0], u]), start)[1:]


@description
class Bent(Shape):
    """Shape of a given material curvature K in 1/m: from ``start`` on, R' = R [K]×, x' = d3; no shear, no stretch.

    ``curvature`` is three numbers (K1, K2 bending about d1, d2; K3 twist), which give a helix, or a function of s in
    [0, 1]. Curvature plays the part of angular velocity and arc length that of time (Zupan and Saje 2011, remark 1),
    so `gyrod.attitude` integrates it. The rod needs a ``length``. ``orientation`` is that of the start; without it the
    rod leaves along e1 with d1 = e3.
    """

    #: (3,), or a function of s.
    curvature: Kept[Array | Callable[[float], ArrayLike], ArrayLike | Callable[[float], ArrayLike]] = field(
        _vector_of_s, "1/m"
    )
    start: Kept[Array, ArrayLike] = field(vector, "m", default=_ORIGIN)
    #: Unit quaternion, (4,).
    orientation: Kept[Array, object] = field(_along_x, default=None, always=True)

    @property
    def length(self) -> None:
        """The rod's."""
        return

    def place(self, s: ArrayLike, length: float) -> tuple[Array, Array]:
        """Points (n, 3) and unit quaternions (n, 4) at increasing fractions s of a rod of a length in m."""
        arc = length * np.asarray(s, dtype=float)
        if callable(self.curvature):
            return self._integrated(arc, length)
        v = arc[:, None] * self.curvature
        angle = np.linalg.norm(v, axis=-1)[:, None]
        once = np.cross(v, np.array([0.0, 0.0, 1.0]))
        path = arc[:, None] * (
            np.array([0.0, 0.0, 1.0]) + removable.cosc(angle) * once + removable.sinc3(angle) * np.cross(v, once)
        )
        return self.start + rotations.rotate(self.orientation, path), rotations.multiply(
            self.orientation, rotations.exp(v)
        )

    def _integrated(self, arc: Array, length: float) -> tuple[Array, Array]:
        breaks, c = panels(lambda s: sampled("curvature", self.curvature, s, vector), _SHARPEST)
        turns = np.diff(breaks) * length * np.sum(np.linalg.norm(c, axis=-1), axis=-1)  # of each panel, at most
        if not np.sum(turns) <= MOST_TURNING:
            raise ValueError(
                f"curvature turns the frame by up to {np.sum(turns):.3g} rad along the rod; at most {MOST_TURNING:g} "
                "are resolved."
            )
        counts = np.ceil(turns / _TURN).astype(int).clip(1, 10_000)
        pieces = [np.linspace(a, b, n, endpoint=False) for a, b, n in zip(breaks[:-1], breaks[1:], counts, strict=True)]
        steps = length * np.append(np.concatenate(pieces), 1.0)
        R = attitude(steps, lambda x: evaluate(breaks, c, x / length), initial=self.orientation, atol=1e-12)
        nodes = np.union1d(steps, arc)
        half = 0.5 * np.diff(nodes)[:, None]
        d3 = rotations.rotate(R(nodes[:-1, None] + half * (1.0 + _GAUSS)), np.array([0.0, 0.0, 1.0]))
        ways = np.sum((half * _WEIGHTS)[..., None] * d3, axis=1)
        x = self.start + np.concatenate([np.zeros((1, 3)), np.cumsum(ways, axis=0)])
        return x[np.searchsorted(nodes, arc)], R(arc)


@description
class Laid(Shape):
    """As a rod lies at given fractions of its length: one that was routed, or a state that was computed before.

    ``fractions`` increase from 0 to 1; ``position`` (m, 3) in m and ``orientation`` (m, 4) are those of the sections
    there, in between polynomials of degree three. The rod needs a ``length``, and is stretched, sheared and bent as it
    lies: without ``precurvature`` and ``prestrain`` it is free of stress like that.
    """

    fractions: Kept[Array, ArrayLike] = field(_fractions)
    position: Kept[Array, ArrayLike] = field(_samples, "m", shapes=((-1, 3),))
    #: Unit quaternions, (m, 4).
    orientation: Kept[Array, object] = field(_sections)

    def _agree(self, problems: Problems, bad: set[str]) -> None:
        given = {name: getattr(self, name) for name in ("fractions", "position", "orientation") if name not in bad}
        if len({len(x) for x in given.values()}) > 1:
            told = ", ".join(f"{len(x)} of {name}" for name, x in given.items())
            problems.add(f"there are {told}; there must be one of each for every section.")

    @property
    def length(self) -> None:
        """The rod's."""
        return

    def place(self, s: ArrayLike, length: float) -> tuple[Array, Array]:  # noqa: ARG002
        """Points (n, 3) and unit quaternions (n, 4) at increasing fractions s."""
        at, known = np.asarray(s, dtype=float), self.fractions
        k = np.clip(np.searchsorted(known, at, side="right") - 2, 0, len(known) - 4)[:, None] + np.arange(4)
        apart = at[:, None] - known[k]
        weights = np.ones_like(apart)
        for i in range(4):
            for j in range(4):
                if i != j:
                    weights[:, i] *= apart[:, j] / (known[k[:, i]] - known[k[:, j]])
        q = np.sum(weights[..., None] * self._aligned[k], axis=1)
        return np.sum(weights[..., None] * self.position[k], axis=1), q / np.sqrt(np.sum(q * q, axis=1))[:, None]

    @cached_property
    def _aligned(self) -> Array:
        """The quaternions, each on the side of the one before."""
        q = self.orientation
        flips = np.cumprod(np.where(np.sum(q[1:] * q[:-1], axis=1) < 0.0, -1.0, 1.0))
        return np.concatenate([q[:1], flips[:, None] * q[1:]])


#: All shapes.
SHAPES: tuple[type[Shape], ...] = (Straight, Arc, Curve, Bent, Laid)


# --- frames ----------------------------------------------------------------------------------------------------------


def _start_frame(tangent: Array, orientation: Array | None) -> Array:
    """The given orientation, whose d3 must be the tangent, or the one whose d1 is as vertical as can be."""
    if orientation is not None:
        d3 = rotations.rotate(orientation, np.array([0.0, 0.0, 1.0]))
        if math.dist(d3, tangent) > TANGENT_SLACK:
            raise ValueError(
                f"orientation has d3 = {shown(d3.round(9))}, but the tangent at the start is "
                f"{shown(tangent.round(9))}; the third axis of the start frame must be the tangent to within "
                f"{TANGENT_SLACK:g}."
            )
        return align_tangent(orientation, tangent)
    return upright(tangent)


def _between(knots: Array, quaternions: Array, u: Array) -> Array:
    """Rotations between samples, with continuous angular acceleration."""
    from scipy.spatial.transform import RotationSpline

    return rotations.from_scipy(RotationSpline(knots, rotations.to_scipy(quaternions))(u))
