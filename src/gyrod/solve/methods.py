"""The integrators on any system of equations, and the options they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check, _core
from gyrod._check import Array
from gyrod.runs.methods import METHODS as METHODS
from gyrod.runs.options import MOST_STEPS

if TYPE_CHECKING:
    from typing import Unpack


#: An event: its function of time and state, whether it ends the run, which crossings count, and what happens there.
Watched = tuple[Callable[..., float], bool, int, Callable[..., Array | None] | None]


class StepValues(TypedDict):
    """What the core's `StepOptions` takes."""

    rtol: float
    atol: Array
    scale: Array | None
    step: float
    first_step: float
    max_step: float
    classical: bool
    roles: list[int]
    theta: float


class RunValues(TypedDict, total=False):
    """What the core's `RunOptions` takes; `run_options` gives it all of them."""

    project: bool
    dense: bool
    knots: bool
    output: Array | None
    events: Sequence[Watched]
    max_steps: int
    dense_bytes: int
    row_bytes: int
    progress: Callable[..., object] | None
    limits: _core.Limits | None
    every: float
    threads: int


#: A number of bytes that is no bound.
UNBOUNDED = 2**63
#: Tolerances above this are mistakes.
LOOSEST = 0.1


def step_options(
    n: int,
    rtol: float,
    atol: ArrayLike | None,
    scale: Array | None,
    step: float | None,
    first_step: float | None,
    max_step: float | None,
    step_control: str | None = None,
) -> StepValues:
    """Check the options of the step control and put them into the core's form."""
    rtol = _check.positive("rtol", rtol)
    if rtol < 1e-14:
        raise ValueError(f"rtol = {rtol:g} is below what double precision can meet; it must be at least 1e-14.")
    if rtol > LOOSEST:
        raise ValueError(
            f"rtol = {rtol:g} resolves nothing: in every step an error of {100.0 * rtol:g} % of the size of the system "
            f"is allowed. Take 1e-3 to 1e-8, or {LOOSEST:g} at most."
        )
    if atol is None:
        atols = np.full(n, rtol if scale is None else 0.0)
    else:
        try:
            given = np.asarray(atol, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"atol = {atol!r} must be a number or one for each unknown.") from None
        if given.shape not in ((), (n,)):
            raise ValueError(f"atol must be a number or one for each of the {n} unknowns, got the shape {given.shape}.")
        atols = np.array(np.broadcast_to(given, (n,)))
        if not (np.isfinite(atols).all() and (atols >= 0.0).all()):
            raise ValueError(f"atol = {atol!r} must be positive.")
        if scale is None and np.any(atols == 0.0):
            raise ValueError(f"atol = {atol!r} must be positive: with norm='plain' a component that is zero needs it.")
    return {
        "rtol": rtol,
        "atol": atols,
        "scale": scale,
        "step": 0.0 if step is None else _check.positive("step", step),
        "first_step": 0.0 if first_step is None else _check.positive("first_step", first_step),
        "max_step": np.inf if max_step is None else _check.positive("max_step", max_step),
        "classical": step_control == "classical",
        "roles": [],
        "theta": 0.5,
    }


def run_options(**given: Unpack[RunValues]) -> RunValues:
    """The core's options of a run, with their defaults."""
    defaults: RunValues = {
        "project": True,
        "dense": True,
        "knots": False,
        "output": None,
        "events": [],
        "max_steps": MOST_STEPS,
        "dense_bytes": UNBOUNDED,
        "row_bytes": UNBOUNDED,
        "progress": None,
        "limits": None,
        "every": 0.0,
        "threads": 1,
    }
    return {**defaults, **given}


def handed(steps: StepValues, how: RunValues) -> tuple[_core.StepOptions, _core.RunOptions]:
    """The same as the core takes them."""
    return _core.StepOptions(**steps), _core.RunOptions(**how)


class IntegrationError(ArithmeticError):
    """An integration that cannot go on; ``solution`` holds what was computed."""

    def __init__(self, message: str, solution: Solution) -> None:
        super().__init__(message)
        self.solution = solution


@dataclass(frozen=True)
class Solution:
    """Solution of `integrate`: times (n,), states (n, N), counters, and y(t) by calling it."""

    t: Array
    y: Array
    stats: dict[str, int]
    status: str
    #: Zeros of the event functions: (event, t, y).
    events: tuple[tuple[int, float, Array], ...]
    _run: _core.Run

    def __call__(self, t: ArrayLike) -> Array:
        """Dense output, (..., N)."""
        times = np.asarray(t, dtype=float)
        lo, hi = float(self._run.step_ends[0]), float(self._run.step_ends[-1])
        if times.size and not (lo <= times.min() and times.max() <= hi):
            raise ValueError(
                f"t reaches from {times.min():g} to {times.max():g}; the solution is known on [{lo:g}, {hi:g}]."
            )
        return np.asarray(self._run.evaluate(np.ascontiguousarray(times.ravel()))).reshape(*times.shape, -1)


def integrate(
    function: Callable[[float, Array], ArrayLike],
    interval: tuple[float, float],
    y0: ArrayLike,
    *,
    method: str = "dopri5",
    jacobian: Callable[[float, Array], ArrayLike] | None = None,
    rtol: float = 1e-6,
    atol: ArrayLike | None = None,
    step: float | None = None,
    first_step: float | None = None,
    max_step: float | None = None,
    output: ArrayLike | None = None,
    events: list[tuple[Callable[[float, Array], float], bool, int]] | None = None,
) -> Solution:
    """Integrate y' = f(t, y) with one of `METHODS`; the Jacobian by differences unless given.

    >>> import numpy as np
    >>> from gyrod.solve import integrate
    >>> s = integrate(lambda t, y: [y[1], -y[0]], (0.0, np.pi), [0.0, 1.0], method="dop853", rtol=1e-10)
    >>> bool(abs(s.y[-1, 1] + 1.0) < 1e-9)
    True
    """
    _check.choice("method", method, METHODS)
    start = np.atleast_1d(np.asarray(y0, dtype=float))
    _check.finite("y0", start)
    t0, t1 = (float(x) for x in interval)
    if not t1 > t0:
        raise ValueError(f"interval = ({t0:g}, {t1:g}) must increase.")

    def rhs(t: float, y: Array) -> Array:
        return np.ascontiguousarray(function(t, y), dtype=float)

    J = None if jacobian is None else lambda t, y: np.ascontiguousarray(jacobian(t, y), dtype=float)
    wanted = output_times(output, t0, t1)
    steps = step_options(len(start), rtol, atol, None, step, first_step, max_step)
    watched: list[Watched] = [(*event, None) for event in events or []]
    how = run_options(project=False, output=wanted, events=watched)
    run = _core.integrate_functions(rhs, J, method, t0, start, t1, *handed(steps, how))
    run.raise_failure()
    solution = Solution(run.t, run.y, run.stats, run.status, tuple(run.crossings), run)
    if run.status not in ("finished", "event"):
        raise IntegrationError(
            f"{method} cannot go on at t = {run.t_stop:.10g} ({run.status}, h = {run.h_stop:.2g}): loosen rtol, or "
            "look for a singularity or a function that is not finite there.",
            solution,
        )
    return solution


def output_times(output: ArrayLike | None, begin: float, end: float) -> Array | None:
    """Check the times at which a solution is wanted."""
    if output is None:
        return None
    times = _check.times("output", output)
    if times[0] < begin or times[-1] > end:
        raise ValueError(f"output must lie in [{begin:g}, {end:g}], got {times[0]:g} ... {times[-1]:g}.")
    return times
