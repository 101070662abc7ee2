"""ode: the right-hand side of any system for other people's integrators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check
from gyrod._check import Array
from gyrod.equations import Compiled
from gyrod.model import System
from gyrod.motion import Motion, MotionStats, Rest
from gyrod.motion.between import hermite
from gyrod.runs.formulations import DEFAULT, Formulation
from gyrod.runs.options import Writing, read
from gyrod.solve.options import core_options
from gyrod.solve.peers import scipy_dense
from gyrod.solve.starts import begin, from_rest

if TYPE_CHECKING:
    from gyrod.equations.checks import CoreOptions


class Ode:
    """y' = fun(t, y) of a system: ``fun, y0, jac = gd.ode(system)`` for ``scipy.integrate.solve_ivp`` and others.

    It owns its equations. Threads that integrate at the same time take one each; ``copy.copy(ode)`` makes another.
    """

    def __init__(self, compiled: Compiled, source: tuple[System | Rest, str, CoreOptions]) -> None:
        self._compiled, self._source = compiled, source
        #: Unknowns at t = 0, (N,).
        self.y0: Array = np.array(compiled.y0)
        #: Physical scale of each unknown (a length, 1, their rates): ``atol = rtol * scales`` is a good tolerance.
        self.scales: Array = compiled.scales()

    def fun(self, t: float, y: ArrayLike) -> Array:
        """y' at time t, (N,)."""
        return np.asarray(self._compiled.core.rhs(_check.number("t", t), self._row(y)))

    def jac(self, t: float, y: ArrayLike) -> Array:
        """Derivative of ``fun`` with respect to y, exact, (N, N)."""
        return np.asarray(self._compiled.core.jacobian(_check.number("t", t), self._row(y)))

    def project(self, t: float, y: ArrayLike) -> Array:
        """The nearest state that meets the constraints (unit quaternions, closed loops) and their rates, (N,)."""
        return np.asarray(self._compiled.core.project(self._row(y), _check.number("t", t)))

    def motion(self, t: object, y: ArrayLike | None = None) -> Motion:
        """A `Motion` of times (n,) and rows (n, N), or of what ``solve_ivp`` returns.

        Between the times ``motion(t)`` takes SciPy's dense output if there is one, and else cubic Hermite polynomials.
        """
        result: Any = t if y is None else None
        if y is None:
            if not all(hasattr(t, field) for field in ("t", "y")):
                raise ValueError(f"give times and rows, or the result of solve_ivp; got {type(t).__name__} alone.")
            t, y = result.t, np.transpose(result.y)
        times, rows = _check.times("t", t), np.ascontiguousarray(_check.array("y", y, ()))
        if rows.shape != (len(times), len(self.y0)):
            turned = rows.shape == (len(self.y0), len(times))
            hint = " That is SciPy's order: give the result itself, or y.T." if turned else ""
            raise ValueError(f"y must be rows of shape {(len(times), len(self.y0))}, got {rows.shape}.{hint}")
        dense, ends = _between(self._compiled, times, rows, result)
        stats = MotionStats(
            "ode", self._compiled.formulation, len(ends) - 1, rhs=int(getattr(result, "nfev", 0) or 0),
            jacobians=int(getattr(result, "njev", 0) or 0), factorizations=int(getattr(result, "nlu", 0) or 0),
        )  # fmt: skip
        status = "finished" if getattr(result, "status", 0) in (0, None) else "stopped"
        return Motion(times, rows, stats, status, ends, _compiled=self._compiled, _dense=dense, _projected=False)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kind of each unknown: "position", "rotation", "velocity" or "spin"."""
        return self._compiled.kinds

    @property
    def system(self) -> System:
        """The system."""
        return self._compiled.system.original

    def _row(self, y: ArrayLike) -> Array:
        row = y if isinstance(y, np.ndarray) and y.dtype == np.float64 else _check.array("y", y, (len(self.y0),))
        if row.shape != self.y0.shape:
            raise ValueError(f"y must have the {len(self.y0)} unknowns of the system, got the shape {row.shape}.")
        return np.ascontiguousarray(row)

    def __iter__(self) -> Iterator[object]:
        yield from (self.fun, self.y0, self.jac)

    def __len__(self) -> int:
        return len(self.y0)

    def __reduce__(self) -> tuple[object, ...]:
        system, formulation, options = self._source
        return _again, (system, formulation, options)

    def __repr__(self) -> str:
        return f"Ode({self._compiled.formulation!r}, {len(self.y0)} unknowns)"


def ode(system: System | Rest, formulation: str | Formulation = DEFAULT, **old: object) -> Ode:
    """The ordinary differential equation of a system in a formulation: a name, or a `Formulation` with variants.

    >>> import gyrod as gd
    >>> from scipy.integrate import solve_ivp
    >>> top = gd.Body("top", mass=1.0, inertia=(1.0, 2.0, 3.0), angular_velocity=(0.0, 1.0, 0.1))
    >>> fun, y0, jac = gd.ode(gd.System([top]))
    >>> solve_ivp(fun, (0.0, 1.0), y0, rtol=1e-8).success
    True
    """
    given = read("ode", {"formulation": formulation, **old}, Writing)
    form = Formulation.of(given["formulation"])
    if form.level:
        raise ValueError(f"index = {form.level} is a differential-algebraic system; ode needs index = 0.")
    return _again(system, form.name, core_options(form))


def _again(system: System | Rest, formulation: str, options: CoreOptions) -> Ode:
    first, whole = from_rest(system) if isinstance(system, Rest) else (None, system)
    return Ode(begin(whole, first, formulation, **options), (system, formulation, options))


def _between(
    compiled: Compiled, times: Array, rows: Array, result: object
) -> tuple[Callable[[Array], Array] | None, Array]:
    """Dense output and ends of the steps."""
    solution = getattr(result, "sol", None)
    if solution is not None:
        return partial(scipy_dense, solution), np.asarray(solution.ts)
    return (partial(hermite, compiled, times, rows) if len(times) > 1 else None), times
