"""Where functions of s jump: sampled evenly, then by bisection."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gyrod._check import Array

#: Intervals that are looked at; a pair of jumps in one of them may be overlooked.
SAMPLES = 256
#: Halvings of an interval: jumps are found to 2e-12.
HALVINGS = 30
#: Share of a difference that half of an interval must keep to be looked at further; a slope keeps a half.
_KEPT = 0.6
#: Share of a difference that must be left in the end; that of a root falls below it.
_LEFT = 0.05
#: Differences below, relative to the largest value, are rounding.
_ROUNDING = 1e-9


def jumps(function: Callable[[float], object]) -> tuple[float, ...]:
    """Fractions in (0, 1] at which a function of s in [0, 1] jumps, increasing; none of one that fails somewhere."""
    try:
        return _found(lambda s: np.asarray(function(s), dtype=float))
    except Exception:  # it is the user's function: who needs its values reports what is wrong with them
        return ()


def _found(f: Callable[[float], Array]) -> tuple[float, ...]:
    s = (np.arange(SAMPLES + 1.0) / SAMPLES).tolist()
    values = np.array([f(x) for x in s])
    slack = _ROUNDING * float(np.max(np.abs(values)))
    if not np.isfinite(slack):
        return ()
    a, b = values[:-1], values[1:]
    whole = _apart(a, b)
    steps = np.flatnonzero(whole > slack)
    if not len(steps):
        return ()
    # The first halving of all at once: it is the last one of most.
    c = np.array([f(0.5 * (s[i] + s[i + 1])) for i in steps.tolist()])
    sharp = steps[np.maximum(_apart(a[steps], c), _apart(b[steps], c)) > _KEPT * whole[steps]]
    places = [_bisected(f, s[i], s[i + 1], a[i], b[i], slack) for i in sharp.tolist()]
    return tuple(x for x in places if x is not None)


def _apart(a: Array, b: Array) -> Array:
    """Largest differences of the components, row by row."""
    return np.asarray(np.max(np.abs(a - b).reshape(len(a), -1), axis=1))


def _bisected(f: Callable[[float], Array], lo: float, hi: float, a: Array, b: Array, slack: float) -> float | None:
    """Where the function jumps between lo and hi, or None."""
    whole = here = float(np.max(np.abs(b - a)))
    for _ in range(HALVINGS):
        mid = 0.5 * (lo + hi)
        c = f(mid)
        left, right = float(np.max(np.abs(c - a))), float(np.max(np.abs(b - c)))
        if not max(left, right) > max(_KEPT * here, slack):
            return None
        if left > right:
            hi, b, here = mid, c, left
        else:
            lo, a, here = mid, c, right
    return _round(lo, hi) if here > _LEFT * whole else None


def _round(lo: float, hi: float) -> float:
    """The shortest decimal of an interval: what a user has written."""
    mid = 0.5 * (lo + hi)
    return next((x for x in (round(mid, digits) for digits in range(1, 13)) if lo <= x <= hi), mid)
