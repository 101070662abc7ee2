"""The result of a fit: values with their errors, residuals, what the data determine and what they do not."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check
from gyrod._check import Array
from gyrod.model import System
from gyrod.motion import Motion, Rest
from gyrod.studies.measured import Curve, Parameter
from gyrod.studies.plan import Plan
from gyrod.studies.solving import solved

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Correlations beyond this are reported.
STRONG = 0.9


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters found by `fit`; printed, it is a table."""

    #: By path.
    values: dict[str, float]
    #: Standard errors by path; infinite where the data determine nothing.
    standard_errors: dict[str, float]
    #: Of the parameters in the order of ``values``, (p, p); NaN beside what the data do not determine.
    covariance: Array = field(repr=False)
    #: (low, high) by path.
    intervals: dict[str, tuple[float, float]]
    #: Probability of the intervals.
    confidence: float
    #: (simulated - measured) / sigma by quantity, of the shape of its values; NaN where one is missing.
    residuals: dict[str, Array] = field(repr=False)
    #: Standard deviation of the noise by quantity, given or estimated, of the same shapes.
    sigma: dict[str, Array] = field(repr=False)
    #: Sum of the squared residuals over the degrees of freedom; about 1 where model and noise are right.
    chi2: float
    #: Half the sum of the squared residuals, or of their losses.
    cost: float
    #: Values less parameters.
    freedom: int
    #: Runs of the model, those for derivatives included.
    evaluations: int
    #: Steps of the search.
    iterations: int
    #: Wall-clock seconds.
    seconds: float
    #: "converged"; "stopped" by the number of iterations; "stuck" where no step was better; "doubtful" where the search
    #: came to its end with a parameter held, and the curves do not fit.
    status: str
    #: Sentences: parameters at bounds, combinations that the data do not determine, residuals that are larger than
    #: sigma says or no noise.
    notes: tuple[str, ...]
    parameters: tuple[Parameter, ...] = field(repr=False)
    curves: tuple[Curve, ...] = field(repr=False)
    plan: Plan = field(repr=False)

    @property
    def converged(self) -> bool:
        """Whether the search came to its end, and nothing that it holds casts doubt on it."""
        return self.status == "converged"

    @property
    def message(self) -> str:
        """How the search ended, in a sentence."""
        cost = f"after {self.iterations} iterations and {self.evaluations} runs"
        if self.status == "stopped":
            return f"stopped {cost}, the most that were allowed; raise iterations, or begin nearer."
        if self.status == "stuck":
            return f"stuck {cost}, where no step was better; begin elsewhere, or lower rtol."
        if self.status == "doubtful":
            return f"ended {cost}, but with parameters held the curves do not fit; see the notes, begin elsewhere."
        return f"converged {cost}."

    @property
    def correlation(self) -> Array:
        """Correlations of the errors, (p, p)."""
        with np.errstate(invalid="ignore"):
            e = np.sqrt(np.diag(self.covariance))
            return np.asarray(self.covariance / np.outer(e, e))

    @cached_property
    def system(self) -> System:
        """The model with the values found."""
        return self.plan.system(self.values)

    @cached_property
    def motion(self) -> Motion | Rest:
        """Its motion; of a fit at rest its `Rest`."""
        return self._solved(self.plan.t_end)

    def _solved(self, t_end: float) -> Motion | Rest:
        plan = self.plan
        return solved(self.system, t_end, dict(plan.options), at_rest=plan.at_rest, start=plan.start)

    @property
    def units(self) -> dict[str, str]:
        """Units of the measured quantities, as far as they are known."""
        return {x.name: x.quantity.unit for x in self.plan.outputs if x.quantity.unit}

    def predict(self, times: ArrayLike | None = None) -> dict[str, Array]:
        """Each measured quantity at some times, also later ones; by default at those of its measurement, (k, ...).

        At rest there is one row, and no times are taken.
        """
        if isinstance(self.motion, Rest):
            if times is not None:
                raise ValueError("times cannot be given: this fit is at rest.")
            return {x.name: x.quantity.read(self.motion.motion)[None] for x in self.plan.outputs}
        if times is None:
            return {c.name: self._at(c.times)[c.name] for c in self.curves}
        return self._at(_check.times("times", times))

    def _at(self, times: Array) -> dict[str, Array]:
        if times[0] < 0.0:
            raise ValueError(f"times begins with {times[0]:g}, before the start, t = 0.")
        motion, last = self.motion, float(times[-1])
        assert isinstance(motion, Motion)
        if last > motion.steps[-1]:
            motion = self._solved(last)
            assert isinstance(motion, Motion)
        rows = motion(times)
        return {x.name: x.quantity.read(rows) for x in self.plan.outputs}

    def plot(
        self,
        *,
        names: str | Sequence[str] | None = None,
        file: str | os.PathLike[str] | None = None,
        figure: Figure | None = None,
        size: tuple[float, float] | None = None,
    ) -> Figure:
        """Draw measured points, fitted curves and residuals, of all quantities or of some; return the Figure."""
        from gyrod.look.plots import fits

        return fits.plot(self, names=names, file=file, figure=figure, size=size)

    def __str__(self) -> str:
        return "\n".join([*_head(self), "", *_table(self), "", *_curves(self), *(f"Note: {n}" for n in self.notes)])


# --- as text ---------------------------------------------------------------------------------------------------------


def _head(fit: Fit) -> list[str]:
    n, p = sum(c.count for c in fit.curves), len(fit.values)
    what = f"{p} parameter{'s' * (p > 1)} from {n} measured value{'s' * (n > 1)}"
    return [f"Fit of {what}: {fit.message}"]


def _table(fit: Fit) -> list[str]:
    rows = [("parameter", "value", "standard error", f"{100.0 * fit.confidence:g} % interval", "guess")]
    for p in fit.parameters:
        value, error, (low, high) = fit.values[p.path], fit.standard_errors[p.path], fit.intervals[p.path]
        digits = _digits(value, error)
        part = f" ({100.0 * error / abs(value):.2g} %)" if value and math.isfinite(error) else ""
        cells = (f"{value:.{digits}g}", f"{error:.2g}{part}", f"{low:.{digits}g} ... {high:.{digits}g}", f"{p.guess:g}")
        rows.append((p.path, *cells))
    widths = [max(len(row[k]) for row in rows) for k in range(5)]
    lines = ["  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    strong = [
        f"{a.path} and {b.path}: {fit.correlation[i, j]:+.3f}"
        for i, a in enumerate(fit.parameters)
        for j, b in enumerate(fit.parameters)
        if i < j and abs(fit.correlation[i, j]) > STRONG
    ]
    return [*lines, *(["", "strongly correlated: " + "; ".join(strong)] if strong else [])]


def _digits(value: float, error: float) -> int:
    """Digits of a value that say something: two of its standard error."""
    if not (value and error and math.isfinite(error)):
        return 5
    return int(np.clip(math.floor(math.log10(abs(value))) - math.floor(math.log10(error)) + 2, 3, 12))


def _curves(fit: Fit) -> list[str]:
    lines = []
    for curve in fit.curves:
        sigma = fit.sigma[curve.name][curve.present]
        same = np.ptp(sigma) <= 1e-12 * sigma.max()
        size = f"{sigma[0]:.4g}" if same else f"{sigma.min():.3g} ... {sigma.max():.3g}"
        told = "estimated" if curve.sigma is None else "given"
        lines.append(f"{curve.name}: {curve.count} value{'s' * (curve.count > 1)}, sigma = {size} ({told})")
    chi2 = f"reduced chi² = {fit.chi2:.4g}, " if fit.freedom else ""
    return [*lines, f"{chi2}{fit.freedom} degrees of freedom"]
