"""The same compiled right-hand side under integrators of others: SciPy's solve_ivp, SUNDIALS through scikit-sundae."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gyrod import rotations
from gyrod._check import Array
from gyrod.equations import Compiled, ForceError
from gyrod.equations.coordinates import turns
from gyrod.motion import Motion, MotionStats, SimulationError
from gyrod.motion.between import hermite
from gyrod.runs.formulations import FORMULATIONS
from gyrod.runs.methods import ALL_METHODS
from gyrod.solve.methods import StepValues

#: Where numbers are among the unknowns.
Places = NDArray[np.int64]
#: Mass matrix and constraint gradient of a rotation as functions of its coordinates.
Mass = Callable[[Array], tuple[Array, Array]]

if TYPE_CHECKING:
    from types import ModuleType

    from gyrod._check import Data

T = TypeVar("T")


class Limits(StepValues):
    """What limits the steps of a peer, and who learns of them."""

    tick: Callable[..., object] | None


def solve(
    compiled: Compiled, t_end: float, method: str, steps: StepValues, output: Array | None, events: Sequence[object],
    started: float, tick: Callable[..., object] | None = None,
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
    run = {"cvode": _bdf, "ida": _ida}.get(ALL_METHODS[method].solver, _scipy)
    return run(compiled, t_end, method, rtol, atol, {**steps, "tick": tick}, output, started)


def _scipy(
    compiled: Compiled, t_end: float, method: str, rtol: float, atol: Array, steps: Limits,
    output: Array | None, started: float,
) -> Motion:  # fmt: skip
    from scipy.integrate import solve_ivp

    options: Data = {"max_step": steps["max_step"]}
    if steps["first_step"]:
        options["first_step"] = steps["first_step"]
    if ALL_METHODS[method].stiff:
        options["jac"] = compiled.core.jacobian
    gone = _watch_lock(compiled)
    rhs = _Stages(compiled, method, steps["tick"], started)
    with np.errstate(invalid="ignore", over="ignore"):
        s = solve_ivp(
            rhs, (0.0, t_end), compiled.y0, method=ALL_METHODS[method].solver, rtol=max(rtol, 3e-14), atol=atol,
            t_eval=output, dense_output=True, events=gone, **options,
        )  # fmt: skip
    seconds = time.process_time() - started
    stats = MotionStats(
        method, compiled.formulation, len(s.sol.ts) - 1, 0, int(s.nfev), int(s.njev), int(s.nlu), 0, seconds
    )
    ts = np.asarray(s.sol.ts)
    t = s.t if len(s.t) else ts[:1]
    y = np.ascontiguousarray(s.y.T) if len(s.t) else compiled.y0[None]
    status = "finished" if s.status == 0 else "underflow" if s.status < 0 else "refused"
    dense = partial(scipy_dense, s.sol)
    motion = Motion(t, y, stats, status, ts, _compiled=compiled, _dense=dense, _projected=False)
    if s.status:
        reason = rhs.reason or s.message if s.status < 0 else LOCKED
        raise SimulationError(f"{method} stopped at t = {ts[-1]:.10g}: {reason}", float(ts[-1]), s.sol(ts[-1]), motion)
    return motion


class _Stages:
    """The right-hand side for SciPy: a trial stage that it refuses is not a number, and the step becomes smaller."""

    def __init__(self, compiled: Compiled, method: str, tick: Callable[..., object] | None, started: float) -> None:
        self.compiled, self.tick, self.reason = compiled, tick, ""
        # Fortran's LSODA looks for a smaller step without end.
        self.retries = method != "scipy:LSODA"
        self.stats = MotionStats(method, compiled.formulation, seconds=time.process_time() - started)

    def __call__(self, t: float, y: Array) -> Array:
        if self.tick is not None:
            self.tick(t, 0.0)
        try:
            return np.asarray(self.compiled.core.rhs(t, y))
        except ForceError:
            raise
        except RuntimeError as error:
            self.reason = str(error)
            if not self.retries or (t == 0.0 and np.array_equal(y, self.compiled.y0)):
                raise _refused(self.compiled, self.stats, t, error) from None
            return np.full(len(y), np.nan)


def _refused(compiled: Compiled, stats: MotionStats, t: float, error: RuntimeError) -> SimulationError:
    """What the equations say to a state that has no right-hand side."""
    start = Motion(np.zeros(1), compiled.y0[None], stats, "refused", np.zeros(1), _compiled=compiled)
    return SimulationError(f"{stats.method} stopped at t = {t:.10g}: {error}.", t, compiled.y0, start)


LOCKED = "the Euler angles 3-1-3 are at gimbal lock (sin theta2 = 0); use a formulation without that singularity."


def scipy_dense(solution: Callable[[Array], Array], times: Array) -> Array:
    """Rows at times, of what SciPy interpolates in columns."""
    return np.ascontiguousarray(solution(times).T)


def _second_angles(compiled: Compiled) -> list[int]:
    """Where theta2 of each body and each frame is among the unknowns of the Euler angles."""
    if compiled.formulation != "euler":
        return []
    return [i for i, kind in enumerate(compiled.kinds) if kind == "rotation"][1::3]


def _watch_lock(compiled: Compiled) -> Callable[[float, Array], float] | None:
    at = _second_angles(compiled)
    if not at:
        return None

    def distance(_: float, y: Array) -> float:
        return float(np.min(np.sin(y[at])) - 1e-4)

    distance.terminal = True  # type: ignore[attr-defined]
    return distance


def _bdf(
    compiled: Compiled, t_end: float, method: str, rtol: float, atol: Array, steps: Limits,
    output: Array | None, started: float,
) -> Motion:  # fmt: skip
    """CVODE on the ordinary differential equations."""
    CVODE = _sundae(method).CVODE

    watch = _Clock(method, steps["tick"])

    def rhs(t: float, y: Array, yp: Array) -> None:
        watch(t)
        yp[:] = compiled.core.rhs(t, np.ascontiguousarray(y))

    def jacobian(t: float, y: Array, _: Array, J: Array) -> None:
        J[:, :] = compiled.core.jacobian(t, np.ascontiguousarray(y))

    solver = CVODE(rhs, method="BDF", rtol=rtol, atol=atol, jacfn=jacobian, **_limits(steps))
    s = watch.run(compiled, started, lambda: solver.solve(np.array([0.0, t_end]), compiled.y0))
    return _sundae_motion(compiled, method, s, s.y, output, started)


class _Clock:
    """SUNDIALS continues at "t + h = t" until its step limit; this ends a run whose time stands still."""

    def __init__(self, method: str, tick: Callable[..., object] | None = None) -> None:
        self.method, self.t, self.calls, self.stuck, self.tick = method, -1.0, 0, False, tick

    def __call__(self, t: float) -> None:
        if self.tick is not None:
            self.tick(t, 0.0)
        self.calls = self.calls + 1 if abs(t - self.t) <= 1e-14 * abs(t) else 0
        self.t = t if self.calls == 0 else self.t
        if self.calls > 2000:
            self.stuck = True
            raise ArithmeticError("time stands still")

    def run(self, compiled: Compiled, started: float, solve: Callable[[], T]) -> T:
        try:
            return solve()
        except (ArithmeticError, RuntimeError) as error:
            stats = MotionStats(self.method, compiled.formulation, seconds=time.process_time() - started)
            if isinstance(error, RuntimeError) and not isinstance(error, ForceError):
                raise _refused(compiled, stats, self.t, error) from None
            if not self.stuck:
                raise
            start = Motion(np.zeros(1), compiled.y0[None], stats, "underflow", np.zeros(1), _compiled=compiled)
            message = f"{self.method} cannot meet the tolerance at t = {self.t:.10g}: the step falls below rounding."
            raise SimulationError(message, self.t, compiled.y0, start) from None


def _ida(
    compiled: Compiled, t_end: float, method: str, rtol: float, atol: Array, steps: Limits,
    output: Array | None, started: float,
) -> Motion:  # fmt: skip
    """IDA on the index-1 form (4) of the absolute formulations, the multipliers kept as unknowns.

    Those of a mechanism, and its accelerations, are among the unknowns already (13). Else the core solves the
    mass-constraint system for v' and lambda; with these, K ((v', lambda) - (v', lambda)_core) is the residual of (4),
    because both sides carry the same K = (M, G'; G, 0).
    """
    if not compiled.formulation.startswith("absolute"):
        raise ValueError(f"method = 'bdf-dae' keeps multipliers, which {compiled.formulation!r} has not; use 'bdf'.")
    IDA = _sundae(method).IDA
    n, core = compiled.size, compiled.core
    differential = np.array([kind != "force" for kind in compiled.kinds])
    rows, known = _rotation_rows(compiled), _multipliers(compiled, 0.0, compiled.y0)
    each = len(known) // max(len(rows), 1)

    watch = _Clock(method, steps["tick"])

    def residual(t: float, u: Array, up: Array, res: Array) -> None:
        watch(t)
        y = np.ascontiguousarray(u[:n])
        f = core.rhs(t, y)
        res[:n] = np.where(differential, up[:n] - f, -f)
        defect = u[n:] - _multipliers(compiled, t, y)
        for b, (q, v, mass) in enumerate(rows):
            M, G = mass(y[q])
            mine = slice(each * b, each * (b + 1))
            acceleration = res[v].copy()
            res[v] = M @ acceleration + G.T @ defect[mine]
            res[n:][mine] = G @ acceleration

    start = np.concatenate([compiled.y0, known])
    slope = np.concatenate([np.where(differential, core.rhs(0.0, compiled.y0), 0.0), np.zeros(len(known))])
    # Accelerations and multipliers do not steer the steps.
    free = np.where(differential, atol, 1e3 * np.maximum(1.0, np.abs(compiled.y0)))
    tolerances = np.concatenate([free, np.full(len(known), 1e3)])
    indices = [*np.flatnonzero(~differential).tolist(), *range(n, n + len(known))]
    solver = IDA(residual, rtol=rtol, atol=tolerances, algebraic_idx=indices, **_limits(steps))
    s = watch.run(compiled, started, lambda: solver.solve(np.array([0.0, t_end]), start, slope))
    return _sundae_motion(compiled, method, s, s.y[:, :n], output, started)


def _multipliers(compiled: Compiled, t: float, y: Array) -> Array:
    """Those that are not unknowns: of the bodies, then of the frames of the rods that are free."""
    when, parts = np.array([t]), [np.zeros(0)]
    if compiled.system.bodies and not compiled.options.get("level"):
        parts.append(compiled.core.multipliers(when, y[None]).ravel())
    rods = compiled.rod_states(when, y)
    for i, layout in enumerate(compiled.layouts()):
        free = np.array(layout.p) >= 0
        if compiled.formulation == "absolute-directors":
            q, v = (np.array(x)[free, None] + np.arange(9) for x in (layout.p, layout.w))
            parts.append(_of_directors(compiled, t, y, q, v, compiled.rods[i]["J"][free]).ravel())
        else:
            parts.append(rods[i]["multipliers"].ravel()[free])
    return np.concatenate(parts)


def _of_directors(compiled: Compiled, t: float, y: Array, q: Places, v: Places, J: Array) -> Array:
    """Those of the frames of a rod, (Q, 6), from M d'' = psi - G' lambda, where psi is what moments do to directors."""
    D, rates = rotations.matrix_from_directors(y[q]), compiled.core.rhs(t, y)[v]
    (_, Omega), (_, alpha) = (turns(compiled.formulation, y[q], w) for w in (y[v], rates))
    moment = J * alpha + np.cross(Omega, J * Omega)
    inertia = rotations.matrix_from_directors(rates) * (0.5 * J.sum(axis=1, keepdims=True) - J)[:, None]
    L = (0.5 * D @ rotations.skew(moment) - inertia) @ np.linalg.inv(D)
    return np.asarray(L[:, (0, 1, 2, 0, 2, 1), (0, 1, 2, 1, 0, 2)])


def _rotation_rows(compiled: Compiled) -> list[tuple[slice, slice, Mass]]:
    """For each of them that has such: where q and v of the rotation are, and (M, G) as a function of q."""
    nq, nv = FORMULATIONS[compiled.formulation]
    rows = []
    for i, body in enumerate(() if compiled.options.get("level") else compiled.system.bodies):
        begin = compiled.core.offset(i)
        pinned = body.name in compiled.system.fixed_points
        q = begin if pinned else begin + 3
        v = q + nq if pinned else q + nq + 3
        rows.append((slice(q, q + nq), slice(v, v + nv), _mass(compiled.formulation, compiled.moments[i])))
    for layout, table in zip(compiled.layouts(), compiled.rods, strict=True):
        for q, v, moments in zip(layout.p, layout.w, table["J"], strict=True):
            if q >= 0:
                rows.append((slice(q, q + nq), slice(v, v + nv), _mass(compiled.formulation, moments)))
    return rows


def _mass(formulation: str, moments: Array) -> Mass:
    if formulation == "absolute-quaternion":

        def quaternion(p: Array) -> tuple[Array, Array]:
            Q = rotations.quaternion_matrix(p)
            return 4.0 * Q @ np.diag([0.0, *moments]) @ Q.T, p[None]

        return quaternion
    M = np.diag(np.repeat(0.5 * moments.sum() - moments, 3))
    return lambda d: (M, rotations.director_constraint_gradient(d))


def require(method: str) -> None:
    """A sentence where the package of a method is missing, before anything is computed."""
    if ALL_METHODS[method].family == "sundials":
        _sundae(method)


def _sundae(method: str) -> ModuleType:
    try:
        return import_module(f"sksundae.{ALL_METHODS[method].solver}")
    except ImportError:
        raise ImportError(f"method = {method!r} needs scikit-sundae: pip install 'gyrod[bdf]'.") from None


def _limits(steps: Limits) -> dict[str, float]:
    limit = 0.0 if np.isinf(steps["max_step"]) else steps["max_step"]
    return {"max_step": limit, "first_step": steps["first_step"], "max_num_steps": 10**6}


def _sundae_motion(compiled: Compiled, method: str, s: Any, y: Array, output: Array | None, started: float) -> Motion:
    seconds = time.process_time() - started
    stats = MotionStats(method, compiled.formulation, len(s.t) - 1, 0, int(s.nfev), int(s.njev), 0, 0, seconds)
    at = _second_angles(compiled)
    lost = np.flatnonzero((np.sin(y[:, at]) < 1e-4).any(axis=1))
    locked = bool(len(lost))
    status = "finished" if s.success and not locked else "refused" if locked else "underflow"
    ts = np.asarray(s.t)
    if locked:  # everything before the lock is kept
        ts, y = ts[: lost[0]], y[: lost[0]]
        output = None if output is None else output[output <= ts[-1]]
    # Every step is kept and outputs are interpolated between steps, whose slopes are known: the steps stay its own.
    dense = partial(hermite, compiled, ts, y)
    t, states = (ts, np.ascontiguousarray(y)) if output is None else (output, dense(output))
    motion = Motion(t, states, stats, status, ts, _compiled=compiled, _dense=dense, _projected=False)
    if status != "finished":
        reason = LOCKED if locked else s.message
        raise SimulationError(f"{method} stopped at t = {ts[-1]:.10g}: {reason}", float(ts[-1]), y[-1], motion)
    return motion
