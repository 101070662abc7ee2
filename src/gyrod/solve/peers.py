"""The same compiled right-hand side under integrators of others: SciPy's solve_ivp, SUNDIALS through scikit-sundae."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gyrod import rotations
from gyrod.equations import FORMULATIONS, Compiled
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
    run = _scipy if method.startswith("scipy:") else _ida if method == "bdf-dae" else _bdf
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
    stats = MotionStats(
        method, compiled.formulation, len(s.sol.ts) - 1, 0, int(s.nfev), int(s.njev), int(s.nlu), 0, seconds
    )
    motion = Motion(
        s.t, np.ascontiguousarray(s.y.T), stats, "finished" if s.success else "underflow", np.asarray(s.sol.ts),
        _compiled=compiled, _dense=lambda t: np.ascontiguousarray(s.sol(t).T), _projected=False,
    )  # fmt: skip
    if not s.success:
        raise SimulationError(
            f"{method} stopped at t = {s.t[-1]:.10g}: {s.message}", float(s.t[-1]), s.y[:, -1], motion
        )
    return motion


def _bdf(
    compiled: Compiled, t_end: float, method: str, rtol: float, atol: Array, steps: dict[str, Any],
    output: Array | None, started: float,
) -> Motion:  # fmt: skip
    """CVODE on the ordinary differential equations."""
    CVODE = _sundae("cvode", method).CVODE

    def rhs(t: float, y: Array, yp: Array) -> None:
        yp[:] = compiled.core.rhs(t, np.ascontiguousarray(y))

    def jacobian(t: float, y: Array, _: Array, J: Array) -> None:
        J[:, :] = compiled.core.jacobian(t, np.ascontiguousarray(y))

    solver = CVODE(rhs, method="BDF", rtol=rtol, atol=atol, jacfn=jacobian, **_limits(steps))
    s = solver.solve(_span(t_end, output), compiled.y0)
    return _sundae_motion(compiled, method, s, s.y, output, started)


def _ida(
    compiled: Compiled, t_end: float, method: str, rtol: float, atol: Array, steps: dict[str, Any],
    output: Array | None, started: float,
) -> Motion:  # fmt: skip
    """IDA on the index-1 form (4) of the absolute formulations, the multipliers kept as unknowns.

    The core solves the mass-constraint system for v' and lambda; with these, K ((v', lambda) - (v', lambda)_core) is
    the residual of (4), because both sides carry the same K = (M, G'; G, 0).
    """
    if not compiled.formulation.startswith("absolute"):
        raise ValueError(f"method = 'bdf-dae' keeps multipliers, which {compiled.formulation!r} has not; use 'bdf'.")
    IDA = _sundae("ida", method).IDA
    n, core = compiled.size, compiled.core
    lambdas = core.multipliers(np.zeros(1), compiled.y0[None]).size
    rows = _rotation_rows(compiled)
    each = lambdas // len(rows)

    def residual(t: float, u: Array, up: Array, res: Array) -> None:
        y = np.ascontiguousarray(u[:n])
        res[:n] = up[:n] - core.rhs(t, y)
        defect = u[n:] - core.multipliers(np.array([t]), y[None]).ravel()
        for b, (q, v, mass) in enumerate(rows):
            M, G = mass(y[q])
            mine = slice(each * b, each * (b + 1))
            acceleration = res[v].copy()
            res[v] = M @ acceleration + G.T @ defect[mine]
            res[n:][mine] = G @ acceleration

    start = np.concatenate([compiled.y0, core.multipliers(np.zeros(1), compiled.y0[None]).ravel()])
    slope = np.concatenate([core.rhs(0.0, compiled.y0), np.zeros(lambdas)])
    tolerances = np.concatenate([atol, np.full(lambdas, 1e3)])  # the multipliers do not steer the steps
    indices = list(range(n, n + lambdas))
    solver = IDA(residual, rtol=rtol, atol=tolerances, algebraic_idx=indices, **_limits(steps))
    s = solver.solve(_span(t_end, output), start, slope)
    return _sundae_motion(compiled, method, s, s.y[:, :n], output, started)


def _rotation_rows(compiled: Compiled) -> list[tuple[slice, slice, Any]]:
    """For each body: where q and v of its rotation are, and (M, G) as a function of q."""
    nq, nv = FORMULATIONS[compiled.formulation]
    rows = []
    for i, body in enumerate(compiled.system.bodies):
        begin = compiled.core.offset(i)
        pinned = body.name in compiled.system.fixed_points
        q = begin if pinned else begin + 3
        v = q + nq if pinned else q + nq + 3
        rows.append((slice(q, q + nq), slice(v, v + nv), _mass(compiled, i)))
    return rows


def _mass(compiled: Compiled, i: int) -> Any:
    moments = compiled.moments[i]
    if compiled.formulation == "absolute-quaternion":

        def quaternion(p: Array) -> tuple[Array, Array]:
            Q = rotations.quaternion_matrix(p)
            return 4.0 * Q @ np.diag([0.0, *moments]) @ Q.T, p[None]

        return quaternion
    M = np.diag(np.repeat(0.5 * moments.sum() - moments, 3))
    return lambda d: (M, rotations.director_constraint_gradient(d))


def _sundae(module: str, method: str) -> Any:
    try:
        return import_module(f"sksundae.{module}")
    except ImportError:
        raise ImportError(f"method = {method!r} needs scikit-sundae: pip install 'gyrod[bdf]'.") from None


def _limits(steps: dict[str, Any]) -> dict[str, Any]:
    limit = 0.0 if np.isinf(steps["max_step"]) else steps["max_step"]
    return {"max_step": limit, "first_step": steps["first_step"], "max_num_steps": 10**8}


def _span(t_end: float, output: Array | None) -> Array:
    if output is None:
        return np.array([0.0, t_end])
    return np.unique(np.concatenate([[0.0], output, [t_end]]))


def _sundae_motion(compiled: Compiled, method: str, s: Any, y: Array, output: Array | None, started: float) -> Motion:
    seconds = time.process_time() - started
    stats = MotionStats(method, compiled.formulation, len(s.t) - 1, 0, int(s.nfev), int(s.njev), 0, 0, seconds)
    keep = np.ones(len(s.t), dtype=bool) if output is None else np.isin(s.t, output)
    status = "finished" if s.success else "underflow"
    motion = Motion(s.t[keep], np.ascontiguousarray(y[keep]), stats, status, np.asarray(s.t), _compiled=compiled)
    if not s.success:
        raise SimulationError(f"{method} stopped at t = {s.t[-1]:.10g}: {s.message}", float(s.t[-1]), y[-1], motion)
    return motion
