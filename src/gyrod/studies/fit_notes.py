"""What is to be said about a fit besides its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gyrod._check import Array
from gyrod.studies import least_squares
from gyrod.studies.measured import Curve, Parameter
from gyrod.studies.reach import Reach, words

#: Distance from a bound, over the value or its scale, within which a parameter lies there.
CLOSE = 1e-3
#: Standard error of a logarithm from which on the data hardly determine a parameter.
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
    parameters: Sequence[Parameter],
    values: Mapping[str, float],
    blind: Array,
    held: Sequence[int],
    reach: Mapping[int, Reach],
    rtol: float,
) -> Iterator[str]:
    """Combinations of parameters that the data do not determine."""
    if not len(held):
        return
    parts = np.array([p.slope(values[p.path]) / (abs(values[p.path]) or p.scale) for p in parameters])
    for v in least_squares.simplest(blind).T * parts:
        moved = [k for k in range(len(v)) if abs(v[k]) > 1e-2 * np.abs(v).max()]
        names = " and ".join(repr(parameters[k].path) for k in moved)
        if len(moved) == 1:
            yield _nothing(parameters[moved[0]], values[parameters[moved[0]].path], reach.get(moved[0]))
        else:
            sizes = ", ".join(f"{v[k] / np.abs(v).max():+.2g} %" for k in moved)
            yield f"the measurements cannot distinguish {names}: moved by {sizes} together, they change no curve."
    kept = ", ".join(f"{parameters[k].path!r} = {values[parameters[k].path]:g}" for k in held)
    guessed = all(abs(values[p.path] - p.guess) <= 1e-9 * p.scale for p in (parameters[k] for k in held))
    yield (
        f"held{' as guessed' if guessed else ''}: {kept}; measure something else, or free fewer parameters. Effects "
        f"below the errors of the runs, rtol = {rtol:g}, cannot be seen."
    )


def _nothing(p: Parameter, value: float, reach: Reach | None) -> str:
    """What is known of a parameter that the data do not determine where the search ended."""
    if reach is not None and reach.felt is not None:
        return (
            f"the measurements determine nothing about {p.path!r} near {value:.3g}: it changes no curve there. It does "
            f"at {reach.felt:.3g}, but no better fit was found from such values."
        )
    where = words(p, failed=False) if reach is None else reach.where
    return f"the measurements determine nothing about {p.path!r}: {where} it changes no curve."


def hardly(parameters: Sequence[Parameter], errors: Array) -> Iterator[str]:
    """Parameters that are determined, but not even to a factor."""
    for p, error in zip(parameters, errors, strict=True):
        if p.log and VAGUE < error < np.inf:
            factor = f"{np.exp(error):.2g}" if error < np.log(1e3) else "more than 1000"
            yield (
                f"the measurements hardly determine {p.path!r}: values {factor} times as large and {factor} times as "
                "small lie within one standard error."
            )


def misfit(chi2: float, freedom: int, given: bool) -> Iterator[str]:
    """Residuals that are larger than the noise that was given."""
    from scipy.special import chdtrc

    if given and freedom and chdtrc(freedom, chi2 * freedom) < SURPRISING:
        yield (
            f"residuals are {chi2**0.5:.2g} times as large as sigma says (reduced chi² = {chi2:.3g}): the model lacks "
            "something, the search ended in a wrong valley, or sigma is too small. Errors and intervals are too small."
        )


def pattern(
    curves: Sequence[Curve], residuals: Mapping[str, Array], sigma: Mapping[str, Array], rtol: float
) -> Iterator[str]:
    """Residuals that follow each other in time, which noise does not."""
    from scipy.special import ndtri

    for curve in curves:
        r = residuals[curve.name].reshape(len(curve.values), -1)
        raw, size = r * sigma[curve.name].reshape(r.shape), np.nanmax(np.abs(curve.values))
        if np.sqrt(np.nanmean(raw * raw)) <= 10.0 * rtol * size:  # errors of the runs are not noise
            continue
        products = (r[1:] * r[:-1])[np.isfinite(r[1:] * r[:-1])]
        scale = float(np.sqrt(products @ products))
        # The sum of products of independent residuals over this is normal, whatever their distribution.
        if scale > 0.0 and float(products.sum()) / scale > -float(ndtri(SURPRISING)):
            alike = float(products.sum()) * np.isfinite(r).sum() / max(len(products), 1) / float(np.nansum(r * r))
            yield (
                f"the residuals of {curve.name!r} are not independent noise, each is like the one before (correlation "
                f"{min(alike, 1.0):.2f}): the model lacks something, the search ended in a wrong valley, or the noise "
                "changes slowly. Errors and intervals are too small."
            )


def valley(explained: float) -> Iterator[str]:
    """A fit that explains little of what was measured."""
    if explained < 0.5:
        yield (
            f"the curves explain only {100.0 * max(explained, 0.0):.0f} % of what varies in the measurements: the "
            "search may have ended in a wrong valley; begin nearer, or with a shorter part of the measurements."
        )
