"""Attitude in real time."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check, _core, rotations
from gyrod._check import Array
from gyrod._words import suggests
from gyrod.gyro.methods import NODES


@suggests
class AttitudeStream:
    """Attitude in real time: push samples as they come, get rotations that are final.

    A rotation is final when its interpolation window is full, half a stencil after its time (magnus6: 3 samples
    later, magnus4: 2), and then equals the batch result of `attitude` to rounding. `latest` does not wait: it uses
    one-sided windows at the newest end, whose weights pass more of the noise of the last samples (see the manual).

    >>> import gyrod as gd
    >>> stream = gd.AttitudeStream()
    >>> for k in range(12):
    ...     t, q = stream.push(0.01 * k, (0.0, 0.0, 1.0))
    >>> stream.waiting
    3
    >>> t, q = stream.finish()
    >>> t.round(2).tolist()
    [0.09, 0.1, 0.11]
    """

    def __init__(
        self, *, frame: str = "body", method: str = "magnus6", increments: bool = False, initial: object = None
    ) -> None:
        _check.choice("frame", frame, rotations.FRAMES)
        _check.choice("method", method, NODES)
        start = np.array([1.0, 0.0, 0.0, 0.0]) if initial is None else rotations.as_quaternion(initial, "initial")
        self._core = _core.AttitudeStream(method, frame, increments, np.ascontiguousarray(start))
        self._newest = -np.inf

    def push(self, t: ArrayLike, rates: ArrayLike) -> tuple[Array, Array]:
        """Take one sample (a number and (3,)) or a few ((k,) and (k, 3)); return times and quaternions now final."""
        times = np.atleast_1d(np.asarray(t, dtype=float))
        values = np.atleast_2d(np.asarray(rates, dtype=float))
        if times.ndim != 1 or values.shape != (len(times), 3):
            raise ValueError(f"rates must be (3,) for each time, got {values.shape} for t of shape {times.shape}.")
        _check.finite("t", times)
        _check.finite("rates", values)
        if len(times) and (times[0] <= self._newest or np.any(np.diff(times) <= 0.0)):
            raise ValueError(f"t = {times[0]:g} must increase and come after the previous sample's, {self._newest:g}.")
        self._newest = float(times[-1]) if len(times) else self._newest
        final: tuple[Array, Array] = self._core.push(times, np.ascontiguousarray(values))
        return final

    def finish(self) -> tuple[Array, Array]:
        """Make the rotations that still wait final, with one-sided windows, as at the end of a batch."""
        final: tuple[Array, Array] = self._core.finish()
        return final

    @property
    def latest(self) -> Array:
        """Quaternion at the newest sample, not final."""
        return np.asarray(self._core.latest())

    @property
    def waiting(self) -> int:
        """How many rotations are not final yet."""
        return int(self._core.waiting())
