"""The same compiled right-hand side under integrators of others: SciPy's solve_ivp, SUNDIALS through scikit-sundae."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gyrod.equations import Compiled
from gyrod.motion import Motion, MotionStats, SimulationError

Array = NDArray[np.float64]


def solve(
    compiled: Compiled, t_end: float, method: str, steps: dict[str, Any], output: Array | None, events: Sequence[Any],
    started: float,
) -> Motion:  # fmt: skip
    """Integrate with a peer; multistep and foreign methods cannot project after a step, the drift shows it."""
    if events:
        raise ValueError(f"events are not available with method = {method!r}; use one of gyrod's own methods.")
    if steps["step"]:
        raise ValueError(f"step is not available with method = {method!r}: it chooses its own steps.")
    scale = steps["scale"]
    # The physical norm as absolute tolerances: rtol |y| is not wanted there.
    rtol, atol = steps["rtol"], steps["atol"]
    if scale is not None:
        rtol, atol = 3e-14, scale * (steps["atol"] + steps["rtol"])
    run = _scipy if method.startswith("scipy:") else _bdf
    return run(compiled, t_end, method, rtol, atol, steps, output, started)


def _scipy(
    compiled: Compiled, t_end: float, method: str, rtol: float, atol: Array, steps: dict[str, Any],
    output: Array | None, started: float,
) -> Motion:  # fmt: skip
    from scipy.integrate import solve_ivp

    name = method.removeprefix("scipy:")
    options: dict[str, Any] = {"max_step": steps["max_step"]}
    if steps["first_step"]:
        options["first_step"] = steps["first_step"]
    if name in ("Radau", "BDF", "LSODA"):
        options["jac"] = compiled.core.jacobian
    s = solve_ivp(
        compiled.core.rhs, (0.0, t_end), compiled.y0, method=name, rtol=max(rtol, 3e-14), atol=atol,
        t_eval=output, dense_output=True, **options,
    )  # fmt: skip
    seconds = time.process_time() - started
    stats = MotionStats(method, compiled.formulation, len(s.sol.ts) - 1, 0, s.nfev, s.njev, s.nlu, 0, seconds)
    motion = Motion(
        s.t, np.ascontiguousarray(s.y.T), stats, "finished" if s.success else "underflow", np.asarray(s.sol.ts),
        _compiled=compiled, _dense=lambda t: np.ascontiguousarray(s.sol(t).T),
    )  # fmt: skip
    if not s.success:
        raise SimulationError(f"{method} stopped at t = {s.t[-1]:.10g}: {s.message}", float(s.t[-1]), s.y[:, -1], motion)
    return motion


def _bdf(
    compiled: Compiled, t_end: float, method: str, rtol: float, atol: Array, steps: dict[str, Any],
    output: Array | None, started: float,
) -> Motion:  # fmt: skip
    try:
        from sksundae.cvode import CVODE
    except ImportError:
        raise ImportError("method = 'bdf' needs scikit-sundae: pip install 'gyrod[bdf]'.") from None

    def rhs(t: float, y: Array, yp: Array) -> None:
        yp[:] = compiled.core.rhs(t, np.ascontiguousarray(y))

    def jacobian(t: float, y: Array, _: Array, J: Array) -> None:
        J[:, :] = compiled.core.jacobian(t, np.ascontiguousarray(y))

    limit = 0.0 if np.isinf(steps["max_step"]) else steps["max_step"]
    solver = CVODE(
        rhs, method="BDF", rtol=rtol, atol=atol, jacfn=jacobian, max_step=limit, first_step=steps["first_step"],
        max_num_steps=10**8,
    )  # fmt: skip
    span = np.array([0.0, t_end]) if output is None else np.unique(np.concatenate([[0.0], output, [t_end]]))
    s = solver.solve(span, compiled.y0)
    seconds = time.process_time() - started
    stats = MotionStats(method, compiled.formulation, len(s.t) - 1, 0, int(s.nfev), int(s.njev), 0, 0, seconds)
    keep = np.ones(len(s.t), dtype=bool) if output is None else np.isin(s.t, output)
    motion = Motion(s.t[keep], np.ascontiguousarray(s.y[keep]), stats, "finished", np.asarray(s.t), _compiled=compiled)
    if not s.success:
        raise SimulationError(f"bdf stopped at t = {s.t[-1]:.10g}: {s.message}", float(s.t[-1]), s.y[-1], motion)
    return motion
