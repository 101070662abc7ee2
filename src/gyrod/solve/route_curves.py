"""Where the search for a routed cable begins: smooth curves of a given length through stations, with frames.

A curve between two stations is a cubic with given end tangents, or one with a bulge to some side; what is free of it is
found from the length. Of the curves of a family those with the least energy of bending, twist and weight are taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gyrod import _core, rotations
from gyrod._check import Array
from gyrod.model.paths import smallest_rotation

#: Pieces of a curve.
PIECES = 48
_U = np.linspace(0.0, 1.0, PIECES + 1)[:, None]
#: Cubic Hermite polynomials (points, then slopes) and a bulge.
_A, _B, _TA, _TB, _BULGE = (
    (1.0 + 2.0 * _U) * (1.0 - _U) ** 2, _U**2 * (3.0 - 2.0 * _U), _U * (1.0 - _U) ** 2, -(_U**2) * (1.0 - _U),
    16.0 * _U**2 * (1.0 - _U) ** 2,
)  # fmt: skip
#: Sizes of slopes and bulges over the length between which the one of the right length is looked for.
_SIZES = np.array([0.0, 0.05, 0.12, 0.25, 0.4, 0.6, 0.8, 1.0, 1.3, 1.7, 2.2, 3.0, 4.0, 6.0, 9.0, 14.0])
#: Slopes at start and end of cubics, one over the other, and slopes of curves with a bulge over the length.
_RATIOS = ((1.0, 1.0), (0.5, 1.0), (1.0, 0.5), (0.25, 1.0), (1.0, 0.25))
_SLOPES = (0.25, 0.5, 1.0)
#: Curves that are nearer to one another than this part of the length lead to the same place.
APART = 0.15
#: Angle between pieces, rad, from which on a curve turns back.
BACK = 2.5
#: Curves of which the twist is looked at.
MOST_CURVES = 4
#: Share of the distance by which a length may be below it: rounding.
TAUT = 1e-9


@dataclass(frozen=True)
class Station:
    """What a cable passes at a fraction of its length: a point, and direction and frame there if it has them."""

    s: float
    point: Array | None
    tangent: Array | None = None
    frame: Array | None = None


@dataclass(frozen=True)
class Weights:
    """What decides between curves: stiffness in bending and torsion (N m²), weight (N/m) and where it acts."""

    bending: float
    torsion: float
    weight: float
    down: Array


@dataclass(frozen=True)
class Span:
    """Curves between two stations, the best first: points (k, PIECES + 1, 3) and energies (k,)."""

    points: Array
    energies: Array


@dataclass(frozen=True)
class Start:
    """A cable as it may lie: a curve, with its frames wound about it at those stations that have one."""

    curve: Curve
    framed: Sequence[int]
    wound: Array
    energy: float

    def at(self, s: Array) -> tuple[Array, Array]:
        """Points (n, 3) and unit quaternions (n, 4) at fractions of the length."""
        return self.curve.sections(s, self.framed, self.wound)

    def turned(self, ends: Array) -> float:
        """Most that the curve turns between two of these fractions, rad."""
        return float(np.diff(np.interp(ends, self.curve.frames_at, self.curve.turned)).max())


def starts(stations: Sequence[Station], length: float, w: Weights, turns: float | None) -> list[Start]:
    """Curves through all stations, that of the least energy first, then others that differ."""
    placed = _with_tangents(stations, length, w.down)
    spans = [span(a, b, (b.s - a.s) * length, w) for a, b in pairwise(placed)]
    framed = [i for i, x in enumerate(placed) if x.frame is not None]
    steps = np.diff([placed[i].s for i in framed]) * length
    # The best of all, then one span at a time, or one twist, as the next best has it.
    choices = [(0.0, (0,) * len(spans))]
    for j, one in enumerate(spans):
        for k in range(1, len(one.energies)):
            chosen = tuple(k if i == j else 0 for i in range(len(spans)))
            choices.append((float(one.energies[k] - one.energies[0]), chosen))
    found = []
    for more, chosen in sorted(choices, key=lambda choice: choice[0])[:MOST_CURVES]:
        curve = Curve(placed, [one.points[k] for one, k in zip(spans, chosen, strict=True)])
        for wound in _windings(curve.angles(framed), turns):
            twist = 0.5 * w.torsion * np.diff(wound) ** 2 / steps if len(wound) else np.zeros(1)
            found.append(Start(curve, framed, wound, more + float(np.sum(twist))))
    return sorted(found, key=lambda start: start.energy)


def span(a: Station, b: Station, length: float, w: Weights) -> Span:
    """Curves of a length from one station to the next, each unlike the others."""
    ends = list(_ends(a, b, length, w.down))
    points = np.concatenate([_family(*each, length, w.down) for each in ends])
    energies = _energies(points, w)
    if not np.isfinite(energies).any():  # too short to turn round: some curves that are longer, which will be drawn in
        points = np.concatenate([_longer(*each, length, w.down) for each in ends])
        energies = _energies(points, w)
    kept: list[int] = []
    for i in np.argsort(energies)[: np.count_nonzero(np.isfinite(energies))].tolist():
        if all(np.max(np.abs(points[i] - points[k])) > APART * length for k in kept):
            kept.append(i)
    return Span(points[kept], energies[kept])


def _energies(points: Array, w: Weights) -> Array:
    """Energies of bending and weight of curves, infinite where one turns back within a piece: it has no frames."""
    d = np.diff(points, axis=1)
    pieces = np.sqrt(np.sum(d * d, axis=-1))
    t = d / np.maximum(pieces, 1e-300)[..., None]
    angles = np.arccos(np.clip(np.sum(t[:, 1:] * t[:, :-1], axis=-1), -1.0, 1.0))
    bent = w.bending * np.sum(angles**2 / (pieces[:, 1:] + pieces[:, :-1]), axis=1)
    low = np.sum((0.5 * (points[:, 1:] + points[:, :-1]) @ w.down) * pieces, axis=1)
    return np.where((angles.max(axis=1) < BACK) & (pieces.min(axis=1) > 0.0), bent - w.weight * low, np.inf)


def _ends(a: Station, b: Station, length: float, down: Array) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Points and tangents of both ends; several where an end is free or turns freely."""
    if a.point is None:  # as from the other end
        for B, tB, A, tA in _ends(_back(b), _back(a), length, down):
            yield A, -tA, B, -tB
        return
    ways = [a.tangent] if a.tangent is not None else []
    if b.point is None:
        for tangent in ways or [down]:
            for end in [b.tangent] if b.tangent is not None else [tangent, down]:
                middle = tangent + end
                if np.linalg.norm(middle) < 0.1:
                    middle = tangent + 0.5 * end
                yield a.point, tangent, a.point + 0.9 * length * middle / np.linalg.norm(middle), end
        return
    chord = b.point - a.point
    d = float(np.linalg.norm(chord))
    along = chord / d if d > TAUT * length else np.eye(3)[int(np.argmin(np.abs(down)))]
    sag = np.sqrt(max(1.0 - (d / length) ** 2, 0.0))
    for tA in ways or [along, _unit(along + sag * down)]:
        for tB in [b.tangent] if b.tangent is not None else [along, _unit(along - sag * down)]:
            yield a.point, tA, b.point, tB


def _back(x: Station) -> Station:
    return Station(1.0 - x.s, x.point, None if x.tangent is None else -x.tangent)


def _unit(v: Array) -> Array:
    return np.asarray(v / np.linalg.norm(v))


def _family(A: Array, tA: Array, B: Array, tB: Array, length: float, down: Array) -> Array:
    """Curves of a length between two points and tangents, (k, PIECES + 1, 3)."""
    line = _A * A + _B * B
    if np.linalg.norm(B - A) >= length * (1.0 - TAUT):
        return line[None]
    base = [line] * len(_RATIOS)
    change = [p * _TA * tA + q * _TB * tB for p, q in _RATIOS]
    for slope in _SLOPES:
        base += [line + slope * length * (_TA * tA + _TB * tB)] * 4
        change += [_BULGE * way for way in _sides(A, B, length, down)]
    return _of_length(np.array(base), np.array(change), length)


def _longer(A: Array, tA: Array, B: Array, tB: Array, length: float, down: Array) -> Array:
    """Curves that turn round at both ends, whatever their length."""
    base = _A * A + _B * B + 0.5 * length * (_TA * tA + _TB * tB)
    return np.array([base + 0.15 * length * _BULGE * way for way in _sides(A, B, length, down)])


def _sides(A: Array, B: Array, length: float, down: Array) -> tuple[Array, Array, Array, Array]:
    side = np.cross(B - A, down)
    side = _unit(side) if np.linalg.norm(side) > 1e-6 * length else np.eye(3)[int(np.argmin(np.abs(down)))]
    return down, -down, side, -side


def _of_length(base: Array, change: Array, length: float) -> Array:
    """Those of the curves base + x·change that have the length for some x: the smallest such x."""

    def excess(x: Array, i: NDArray[np.intp] | slice) -> Array:
        d = np.diff(base[i] + x[:, None, None] * change[i], axis=1)
        return np.asarray(np.sum(np.sqrt(np.sum(d * d, axis=-1)), axis=-1) - length)

    low, high = np.zeros(len(base)), np.full(len(base), np.nan)
    below, above = excess(low, slice(None)), np.full(len(base), np.nan)
    open_ = below < 0.0
    for size in length * _SIZES[1:]:
        i = np.flatnonzero(open_ & np.isnan(high))
        if not len(i):
            break
        f = excess(np.full(len(i), size), i)
        up = f >= 0.0
        high[i[up]], above[i[up]] = size, f[up]
        low[i[~up]], below[i[~up]] = size, f[~up]
    found = np.flatnonzero(open_ & ~np.isnan(high))
    if not len(found):
        return base[:0]
    low, high, below, above = low[found], high[found], below[found], above[found]
    x = low
    for _ in range(4):  # regula falsi, Illinois
        x = low - below * (high - low) / (above - below)
        f = excess(x, found)
        less = f < 0.0
        above, below = np.where(less, 0.5 * above, f), np.where(less, f, 0.5 * below)
        low, high = np.where(less, x, low), np.where(less, high, x)
    return np.asarray(base[found] + x[:, None, None] * change[found])


def _with_tangents(stations: Sequence[Station], length: float, down: Array) -> list[Station]:
    """The stations with a direction at each between the ends: its own, or that from the one before to the next."""
    found = [stations[0]]
    for before, x, after in zip(stations[:-2], stations[1:-1], stations[2:], strict=True):
        tangent = x.tangent
        if tangent is None:
            a = before.point if before.point is not None else x.point
            b = after.point if after.point is not None else x.point
            assert a is not None and b is not None
            way = b - a if np.linalg.norm(b - a) > 1e-6 * length else down
            tangent = _unit(way)
        found.append(Station(x.s, x.point, tangent, x.frame))
    return [*found, stations[-1]]


class Curve:
    """A curve through all stations, with a frame that is carried along it without twist."""

    def __init__(self, stations: Sequence[Station], spans: Sequence[Array]) -> None:
        self.stations = stations
        ends = [x.s for x in stations]
        pieces = [np.sqrt(np.sum(np.diff(x, axis=0) ** 2, axis=-1)) for x in spans]
        within = [a + (b - a) * np.cumsum(d) / np.sum(d) for a, b, d in zip(ends[:-1], ends[1:], pieces, strict=True)]
        self.s = np.concatenate([[0.0], *within])
        self.s[np.cumsum([0, *(len(d) for d in pieces)])] = ends
        self.points = np.concatenate([spans[0][:1], *(x[1:] for x in spans)])
        d = np.diff(self.points, axis=0)
        t = d / np.sqrt(np.sum(d * d, axis=1))[:, None]
        # Frames stand at the stations and at the middles of the pieces.
        at = 0.5 * (self.s[1:] + self.s[:-1])
        known = [(x.s, x.tangent) for x in stations if x.tangent is not None]
        order = np.argsort(np.concatenate([at, [s for s, _ in known]]), kind="stable")
        self.frames_at = np.concatenate([at, [s for s, _ in known]])[order]
        tangents = np.concatenate([t, *(x[None] for _, x in known)])[order]
        first = stations[0].frame if stations[0].frame is not None else _any_frame(tangents[0])
        steps = smallest_rotation(tangents[:-1], tangents[1:])
        #: Turn from the start on, rad.
        self.turned = np.append(0.0, np.cumsum(2.0 * np.arccos(np.minimum(steps[:, 0], 1.0))))
        self.carried = np.asarray(_core.compose(np.ascontiguousarray(first), np.ascontiguousarray(steps), "space"))

    def angles(self, framed: Sequence[int]) -> Array:
        """By how much the frames of these stations are turned against the carried one, about the tangent."""
        found = []
        for i in framed:
            x = self.stations[i]
            assert x.frame is not None
            carried = self.carried[int(np.searchsorted(self.frames_at, x.s))]
            turn = rotations.multiply(rotations.conjugate(carried), x.frame)
            found.append(2.0 * np.arctan2(turn[3], turn[0]))
        return np.array(found)

    def sections(self, s: Array, framed: Sequence[int], wound: Array) -> tuple[Array, Array]:
        """Points and frames at fractions, the frames turned by ``wound`` at the framed stations, evenly between."""
        x = np.stack([np.interp(s, self.s, self.points[:, i]) for i in range(3)], axis=1)
        q = np.stack([np.interp(s, self.frames_at, self.carried[:, i]) for i in range(4)], axis=1)
        q /= np.sqrt(np.sum(q * q, axis=1))[:, None]
        if len(wound):
            half = 0.5 * np.interp(s, [self.stations[i].s for i in framed], wound)
            zero = np.zeros_like(half)
            q = rotations.multiply(q, np.stack([np.cos(half), zero, zero, np.sin(half)], axis=1))
        return x, q


def _windings(angles: Array, turns: float | None) -> list[Array]:
    """Angles at framed stations, each within half a turn of the one before; then one section wound the other way."""
    if len(angles) < 2:
        return [angles]
    steps = np.diff(angles)
    steps -= 2.0 * np.pi * np.round(steps / (2.0 * np.pi))
    if turns is not None:
        steps = steps + 2.0 * np.pi * np.round(turns - steps / (2.0 * np.pi))
        return [np.append(angles[0], angles[0] + np.cumsum(steps))]
    found = [steps]
    for j in range(len(steps)):
        other = steps.copy()
        other[j] -= 2.0 * np.pi * (1.0 if steps[j] > 0.0 else -1.0)
        found.append(other)
    return [np.append(angles[0], angles[0] + np.cumsum(x)) for x in found]


def _any_frame(tangent: Array) -> Array:
    """A frame whose d3 is the tangent."""
    z = np.array([0.0, 0.0, 1.0])
    if tangent[2] < -0.999:  # opposite: by way of x
        return rotations.multiply(
            smallest_rotation(np.array([1.0, 0.0, 0.0]), tangent), smallest_rotation(z, np.array([1.0, 0.0, 0.0]))
        )
    return np.asarray(smallest_rotation(z, tangent))
