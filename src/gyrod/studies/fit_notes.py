"""What is to be said about a fit besides its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gyrod.studies.measured import Parameter

Array = NDArray[np.float64]

#: Distance from a bound, over the value or its scale, within which a parameter lies there.
CLOSE = 1e-3
#: Standard error of a logarithm from which on a parameter is hardly told.
VAGUE = 1.0
#: Probability beyond which residuals are called too large.
SURPRISING = 1e-4


def bounds(parameters: Sequence[Parameter], values: Mapping[str, float], slopes: Array) -> Iterator[str]:
    """Parameters that a bound has stopped; ``slopes`` are the derivatives of the cost."""
    for p, slope in zip(parameters, slopes, strict=True):
        value = values[p.path]
        near = abs(p.slope(value)) * CLOSE
        for name, bound, beyond in (("lower", p.low, slope > 0.0), ("upper", p.high, slope < 0.0)):
            if beyond and abs(value - bound) <= near:
                yield (
                    f"{p.path!r} lies at its {name} bound {bound:g}: the data would have it beyond. Its interval is "
                    "cut there, and the others hold only if the bound is true."
                )


def untold(
    parameters: Sequence[Parameter], values: Mapping[str, float], blind: Array, held: Sequence[int], rtol: float
) -> Iterator[str]:
    """Combinations of parameters of which the data tell nothing."""
    if not len(held):
        return
    parts = np.array([p.slope(values[p.path]) / (abs(values[p.path]) or p.scale) for p in parameters])
    for v in _simplest(blind).T * parts:
        moved = [k for k in range(len(v)) if abs(v[k]) > 1e-2 * np.abs(v).max()]
        names = " and ".join(repr(parameters[k].path) for k in moved)
        if len(moved) == 1:
            yield f"the measurements tell nothing about {names}: it changes no curve."
        else:
            sizes = ", ".join(f"{v[k] / np.abs(v).max():+.2g} %" for k in moved)
            yield f"the measurements cannot tell {names} apart: moved by {sizes} together, they change no curve."
    kept = ", ".join(f"{parameters[k].path!r} = {values[parameters[k].path]:g}" for k in held)
    yield (
        f"held as guessed: {kept}; measure something else, or free fewer parameters. Effects below the errors of the "
        f"runs, rtol = {rtol:g}, cannot be seen."
    )


def hardly(parameters: Sequence[Parameter], errors: Array) -> Iterator[str]:
    """Parameters that are told, but not even to a factor."""
    vague = [p.path for p, error in zip(parameters, errors, strict=True) if p.log and VAGUE < error < np.inf]
    if vague:
        names = " and ".join(map(repr, vague))
        yield f"the measurements hardly tell {names}: it may as well be {np.exp(VAGUE):.1f} times as large."


def _simplest(blind: Array) -> Array:
    """The same directions, each with as few parameters as can be: reduced by columns."""
    left = np.array(blind)
    done: list[int] = []
    for j in range(left.shape[1]):
        sizes = np.abs(left[:, j:]).max(axis=1)
        sizes[done] = 0.0
        k = int(np.argmax(sizes))
        done.append(k)
        best = j + int(np.argmax(np.abs(left[k, j:])))
        left[:, [j, best]] = left[:, [best, j]]
        left[:, j] /= left[k, j]
        for other in range(left.shape[1]):
            if other != j:
                left[:, other] -= left[k, other] * left[:, j]
    return left


def misfit(chi2: float, freedom: int, given: bool) -> Iterator[str]:
    """Residuals that are larger than the noise that was given."""
    from scipy.special import chdtrc

    if given and freedom and chdtrc(freedom, chi2 * freedom) < SURPRISING:
        yield (
            f"residuals are {chi2**0.5:.2g} times as large as sigma says (reduced chi² = {chi2:.3g}): the model lacks "
            "something, the search ended in a wrong valley, or sigma is too small. Errors and intervals are too small."
        )


def valley(explained: float) -> Iterator[str]:
    """A fit that explains little of what was measured."""
    if explained < 0.5:
        yield (
            f"the curves explain only {100.0 * max(explained, 0.0):.0f} % of what varies in the measurements: the "
            "search may have ended in a wrong valley; begin nearer, or with a shorter part of the measurements."
        )
