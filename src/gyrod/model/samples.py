"""Samples: a motion, a load or a rotation as it was measured, where a model takes a function of time."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from gyrod import rotations
from gyrod._check import Array
from gyrod.model.errors import LARGEST, Description, OutsideError, Problems, choice, frozen, positive, shown
from gyrod.model.fields import Kept, description, field, holds
from gyrod.model.series import OUTSIDE, Ends, Pieces, smoothed, through
from gyrod.rotations.conversions import require_rotation, spurrier_klumpp

#: A series has a gap where samples are so many times as far apart as in the middle of all.
GAP = 3.0
#: Times are one where they differ by this part of the mean distance: no rate is known between them.
NEAR = 1e-9
#: Lengths of quaternions may differ so much from 1, and matrices from rotations: files hold few digits.
ROUNDED = 1e-3
#: How far a run may reach over the end of samples, which rounding does, relative to that time.
SLACK = 1e-9

_FORMS = "numbers (n,), vectors (n, 3), quaternions (n, 4), rotation matrices (n, 3, 3) or a Rotation of SciPy"


def _array(field: str, value: object, wanted: str) -> Array:
    try:
        raw = np.asarray(value)
        if raw.dtype.kind == "O":
            raw = np.array([float(x) for x in raw.ravel()]).reshape(raw.shape)
        elif raw.dtype.kind not in "iuf":
            raise TypeError
        found = np.array(raw, dtype=float)
    except Exception:  # of objects that answer with errors of their own, too
        raise ValueError(f"{field} must be {wanted}, got {shown(value)}.") from None
    bad = np.argwhere(~(np.abs(found) <= LARGEST))
    if len(bad):
        place = ", ".join(map(str, bad[0]))
        raise ValueError(
            f"{field}[{place}] = {found[tuple(bad[0])]:g} is not a number that a motion can have; leave out the rows "
            f"without one, the curve goes on over gaps."
        )
    return found


@holds(shapes=((-1,),))
def _times(field: str, value: object) -> Array:
    t = _array(field, value, "increasing times (n,)")
    if t.ndim != 1 or len(t) < 2:
        raise ValueError(f"{field} must be two increasing times or more, (n,), got the shape {t.shape}.")
    steps = np.diff(t)
    least = NEAR * float(np.ptp(t)) / len(steps)
    bad = np.flatnonzero(steps <= least)
    if len(bad):
        i = int(bad[0])
        what, remedy = "goes back", "sort the rows by time"
        if abs(steps[i]) <= least:
            what, remedy = "stands still", "leave out one of the rows, or take their mean"
        raise ValueError(
            f"{field} must increase, but it {what} from {field}[{i}] = {t[i]:.9g} to {field}[{i + 1}] = "
            f"{t[i + 1]:.9g}; {remedy}."
        )
    return frozen(t)


@holds(shapes=((-1,), (-1, 3), (-1, 4), (-1, 3, 3)), units=None)
def _values(field: str, value: object) -> Array:
    if hasattr(value, "as_quat") and not isinstance(value, type):
        value = rotations.from_scipy(value)
    x = _array(field, value, _FORMS)
    if x.ndim == 2 and x.shape[1] == 1:
        x = x[:, 0]
    if x.ndim not in (1, 2, 3) or x.shape[1:] not in ((), (3,), (4,), (3, 3)):
        raise ValueError(f"{field} must be {_FORMS}, got the shape {x.shape}.")
    if x.ndim == 1 or x.shape[1:] == (3,):
        return frozen(x)
    if x.ndim == 3:
        require_rotation(field, x, ROUNDED)
        x = spurrier_klumpp(x)
    return _continued(field, x)


def _continued(field: str, p: Array) -> Array:
    """Unit quaternions, each with the sign that is nearer to the one before; both stand for the same rotation."""
    norm = np.linalg.norm(p, axis=1)
    bad = np.flatnonzero(np.abs(norm - 1.0) > ROUNDED)
    if len(bad):
        i = int(bad[0])
        raise ValueError(
            f"{field}[{i}] = {shown(p[i])} is a quaternion of norm {norm[i]:.9g}; it must be 1 to within "
            f"{ROUNDED:g} (gyrod.rotations.normalize makes it so)."
        )
    off = np.abs(norm - 1.0) > 4.0 * np.finfo(float).eps  # what is normalised stays as it is, to the last bit
    p = np.where(off[:, None], p / norm[:, None], p)
    turns = np.sum(p[1:] * p[:-1], axis=1)
    far = np.flatnonzero(np.abs(turns) < 0.5)
    if len(far):
        i = int(far[0])
        raise ValueError(
            f"{field}[{i}] and {field}[{i + 1}] are {2.0 * np.rad2deg(np.arccos(min(abs(turns[i]), 1.0))):.4g} degrees "
            "apart; the sense of rotation is ambiguous beyond 120, give samples in between."
        )
    signs = np.cumprod(np.where(turns < 0.0, -1.0, 1.0))
    p[1:] *= signs[:, None]
    return frozen(p)


@holds(positive=True, units=None)
def _noise(field: str, value: object) -> float:
    return positive(field, value)


@dataclass(frozen=True)
class Extremes:
    """What a series asks of what it leads: its largest rate and second derivative, and when."""

    speed: float
    speed_at: float
    acceleration: float
    acceleration_at: float


@description
class Samples(Description):
    """A function of time through samples, with exact first and second derivatives; the core evaluates it.

    Wherever a model takes a function of time: numbers (drives, tensions, rest stretch), vectors (places, forces,
    gravity) and rotations (frames of ends). Between samples it is a spline of degree five, whose accelerations are
    smooth. Rotations are splines of quaternions, normalised: the curve is the same whatever axes they are given in.

    Parameters
    ----------
    times
        Increasing, (n,); a run begins at t = 0.
    values
        Numbers (n,), vectors (n, 3), unit quaternions (n, 4) of any signs, rotation matrices (n, 3, 3), or a Rotation
        of SciPy.
    noise
        Standard deviation of each number, of rotations that of the angle about each axis in rad. The curve is then
        the smooth one that is expected nearest to what was measured; without it, it goes through all samples.
    outside
        "refused": a run must not leave the samples. "ended": it ends where they do. "held": they stay as they are at
        their end, where the curve comes to rest, and before a begin after t = 0. "periodic": they repeat; the last
        sample is the first one again.

    >>> lift = Samples((0, 1, 2, 3), (0.0, 0.1, 0.1, 0.4), outside="held")
    >>> round(lift(1.0), 12), lift.velocity(3.5), round(lift(5.0), 12)
    (0.1, 0.0, 0.4)
    """

    #: Increasing, (n,).
    times: Kept[Array, ArrayLike] = field(_times, "s")
    #: (n,), (n, 3), or quaternions (n, 4).
    values: Kept[Array, object] = field(_values)
    _: KW_ONLY
    noise: float | None = field(_noise, default=None)
    outside: str = field(choice(OUTSIDE), default="refused")

    def _agree(self, problems: Problems, bad: set[str]) -> None:
        if bad:
            return
        n = len(self.times)
        if n != len(self.values):
            problems.add(f"there are {n} times and {len(self.values)} values; each value needs its time.")
            return
        if self.noise is not None and n < 8:
            problems.add(f"noise = {self.noise:g} needs 8 samples or more to be distinguished, there are {n}.")
        if self.outside != "periodic":
            return
        first, last = self.values[0], self.values[-1]
        apart = float(np.max(np.abs(last - first)))
        if self.turning:
            apart = 2.0 * min(apart, float(np.max(np.abs(last + first))))
        most = 1e-9 * float(np.max(np.abs(self.values))) if self.noise is None else 6.0 * self.noise
        if n < 8:
            problems.add(f"outside = 'periodic' needs 8 samples or more, there are {n}.")
        elif apart > most:
            problems.add(
                f"values[{n - 1}] = {shown(last.tolist())} must be values[0] = {shown(first.tolist())} again where "
                f"outside is 'periodic', got a difference of {apart:.3g}; append the first sample, one period later."
            )

    # --- what it is ---

    @property
    def turning(self) -> bool:
        """Whether it is a rotation."""
        return self.values.ndim == 2 and self.values.shape[1] == 4

    @property
    def size(self) -> int:
        """How many numbers it has at a time."""
        return 1 if self.values.ndim == 1 else int(self.values.shape[1])

    @property
    def count(self) -> int:
        """How many numbers it holds."""
        return int(self.times.size + self.values.size)

    @property
    def kind(self) -> str:
        """What it gives at a time, in a word."""
        return "rotation" if self.turning else {1: "number", 3: "vector"}[self.size]

    @property
    def start(self) -> float:
        """Time of the first sample."""
        return float(self.times[0])

    @property
    def end(self) -> float:
        """Time of the last sample."""
        return float(self.times[-1])

    @property
    def limited(self) -> bool:
        """Whether it has no values outside of its samples."""
        return self.outside in ("refused", "ended")

    def __repr__(self) -> str:
        told = f"{len(self.times)} {self.kind}s from t = {self.start:g} to {self.end:g}"
        noise = "" if self.noise is None else f", noise={self.noise:g}"
        return f"Samples({told}{noise}, outside={self.outside!r})"

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "curve"}

    # --- what it says ---

    @cached_property
    def curve(self) -> Pieces:
        """The piecewise polynomial; of rotations that of quaternions before they are normalised."""
        t, x = self.times, self.values.reshape(len(self.times), -1)
        if self.outside == "periodic":
            t, x = self._closed(t, x)
        held = self.outside == "held"
        ends = Ends((held and self.start > 0.0, held), self.outside == "periodic")
        if self.noise is None:
            return through(t, x, ends)
        # A small turn by an angle changes three numbers of the quaternion by half of it.
        variance = 3.0 * (0.5 * self.noise) ** 2 if self.turning else x.shape[1] * self.noise**2
        return smoothed(t, x, ends, variance)

    def _closed(self, t: Array, x: Array) -> tuple[Array, Array]:
        """A period whose last row is its first one; two of them if a quaternion comes back with the other sign."""
        if self.turning and x[-1] @ x[0] < 0.0:
            t, x = np.append(t, t[1:] + (t[-1] - t[0])), np.append(x, -x[1:], axis=0)
        return t, np.append(x[:-1], x[:1], axis=0)

    @property
    def window(self) -> float:
        """Time over which it was smoothed, in s: slower motion stays, faster is taken for noise; 0 without noise."""
        return self.curve.window

    @property
    def acceleration_noise(self) -> float:
        """What is left of the noise in each number of the second derivative: its standard deviation, ends apart."""
        if self.noise is None:
            return 0.0
        step = (self.end - self.start) / len(self.times)
        return float(self.noise * np.sqrt(step / (18.0 * self.window**5)))

    def __call__(self, t: ArrayLike) -> float | Array:
        """Value at t: a number, (3,), or a unit quaternion (4,); of several times one each."""
        x = self._raw(t)[0]
        return self._given(t, x / np.linalg.norm(x, axis=1, keepdims=True) if self.turning else x)

    def velocity(self, t: ArrayLike) -> float | Array:
        """First derivative; of rotations the spatial angular velocity, (3,)."""
        x, v = self._raw(t, 1)
        return self._given(t, _spin(x, v) if self.turning else v)

    def acceleration(self, t: ArrayLike) -> float | Array:
        """Second derivative; of rotations that of the angular velocity in space, (3,)."""
        x, v, a = self._raw(t, 2)
        if self.turning:
            growth = np.sum(x * v, axis=1, keepdims=True) / np.sum(x * x, axis=1, keepdims=True)
            a = _spin(x, a) - 2.0 * growth * _spin(x, v)
        return self._given(t, a)

    def _given(self, t: ArrayLike, rows: Array) -> float | Array:
        found: Array = rows[:, 0] if self.size == 1 else rows
        if np.ndim(t):
            return found.reshape([*np.shape(t), *rows.shape[1 : found.ndim]])
        return found[0] if self.size > 1 else float(found[0])

    def _raw(self, t: ArrayLike, order: int = 0) -> list[Array]:
        """The curve and its derivatives at times, (n, numbers) each."""
        x = np.atleast_1d(np.asarray(t, dtype=float)).ravel()
        first, last = self.curve.breaks[0], self.curve.breaks[-1]
        out = np.zeros(len(x), dtype=bool)
        if self.outside == "periodic":
            x = first + np.mod(x - first, last - first)
        else:
            out = (x < first) | (x > last)
            slack = SLACK * np.maximum(1.0, np.abs(x))
            bad = np.flatnonzero(((x < first - slack) | (x > last + slack)) & self.limited)
            if len(bad):
                raise OutsideError(self._beyond(float(x[bad[0]])))
            x = np.clip(x, first, last)
        found = [self.curve(x, k) for k in range(order + 1)]
        if self.outside == "held":
            for rate in found[1:]:
                rate[out] = 0.0
        return found

    def _beyond(self, t: float) -> str:
        if t < self.start:
            remedy = "subtract times[0], or choose outside = 'held'"
            return f"its samples begin at t = {self.start:g} s and have no value at t = {t:g}; {remedy}."
        remedy = "end the run there, or choose outside = 'ended', 'held' or 'periodic'"
        return f"its samples end at t = {self.end:g} s and have no value at t = {t:g}; {remedy}."

    # --- others like it ---

    def turned(self, turn: ArrayLike) -> Samples:
        """The rotations times another one, which turns first: the curve between samples turns with them."""
        made = rotations.multiply(self.values, np.asarray(turn, dtype=float))
        return Samples(self.times, made, noise=self.noise, outside=self.outside)

    def as_rotations(self) -> Samples:
        """Rotations; vectors are taken as rotation vectors."""
        if self.turning:
            return self
        return Samples(self.times, rotations.exp(self.values), noise=self.noise, outside=self.outside)

    # --- what is to be known of it ---

    @property
    def gaps(self) -> Array:
        """Where samples are missing: begin and end of each, (m, 2)."""
        steps = np.diff(self.times)
        wide = np.flatnonzero(steps > GAP * np.median(steps))
        return np.stack([self.times[wide], self.times[wide + 1]], axis=1)

    def extremes(self) -> Extremes:
        """Largest speed and acceleration, angular ones of rotations."""
        b = self.curve.breaks
        t = np.unique(np.concatenate([b, *(b[:-1] + f * np.diff(b) for f in (0.25, 0.5, 0.75))]))
        t = t[t <= self.end] if self.outside == "periodic" else t
        found = []
        for rows in (self.velocity(t), self.acceleration(t)):
            sizes = np.linalg.norm(np.reshape(rows, (len(t), -1)), axis=1)
            i = int(np.argmax(sizes))
            found += [float(sizes[i]), float(t[i])]
        return Extremes(*found)


def fitting(field: str, value: object, kind: str) -> object:
    """Return a value; samples must give a "number", a "vector" or a "rotation" at a time."""
    if isinstance(value, Samples) and value.kind != kind:
        shape = {"number": "(n,)", "vector": "(n, 3)", "rotation": "(n, 4), quaternions"}[kind]
        raise ValueError(f"{field} = {value!r} gives {value.kind}s where a {kind} is taken; give values {shape}.")
    return value


def _spin(p: Array, rate: Array) -> Array:
    """2 p' p* / |p|^2 without its first number."""
    found = 2.0 * rotations.multiply(rate, rotations.conjugate(p))[:, 1:]
    return np.asarray(found / np.sum(p * p, axis=1, keepdims=True))
