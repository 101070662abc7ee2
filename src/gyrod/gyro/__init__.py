"""Rotation from angular velocity: from samples, integrated increments or a function of time.

Methods
-------
``magnus6``, ``magnus4``
    Exponential of the Magnus series, exact on SO(3), of order 6 and 4; samples are interpolated with 8 and 6 points.
``midpoint-matrix``, ``midpoint-quaternion``
    MP-R and MP-q of Zupan and Saje 2011, order 2.
``ode45``, ``ode23``
    Dormand-Prince 5(4) and Bogacki-Shampine 3(2) with the step control of Matlab, in three parametrisations.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check, _core, rotations
from gyrod._check import Array
from gyrod._words import suggests
from gyrod.gyro.methods import ADAPTIVE, NODES, ORDERS, PARAMETRIZATIONS
from gyrod.gyro.stream import AttitudeStream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scipy.spatial.transform import Rotation

Rates = Callable[[Array], Array]

__all__ = [
    "ORDERS",
    "PARAMETRIZATIONS",
    "Attitude",
    "AttitudeStats",
    "AttitudeStream",
    "SingularRotationError",
    "attitude",
    "rl2_error",
]

#: Attributes of an `Attitude` by their old names.
_OLD = {
    "quaternions": "quaternion", "matrices": "matrix", "rotation_vectors": "rotation_vector", "as_rotation": "rotation"
}  # fmt: skip
#: Functions that want more steps at once than this are refused.
_MOST_STEPS = 1_000_000


class SingularRotationError(ArithmeticError):
    """A vector parametrisation met its singularity; ``time`` says when, ``partial`` holds the result up to then."""

    def __init__(self, message: str, time: float, partial: Attitude | None = None) -> None:
        super().__init__(message, time, partial)
        self.time = time
        self.partial = partial

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class AttitudeStats:
    """What a result cost: steps accepted and rejected, angular velocities used, CPU seconds."""

    method: str
    steps: int
    rejected: int
    evaluations: int
    seconds: float


@dataclass(frozen=True)
class Attitude:
    """Rotations at the times ``t``; call it with times between them for dense evaluation.

    >>> import numpy as np, gyrod as gd
    >>> t = np.linspace(0.0, 1.0, 11)
    >>> R = gd.attitude(t, np.tile([0.0, 0.0, np.pi / 2], (11, 1)))
    >>> R.rotation_vector[-1].round(12).tolist()
    [0.0, 0.0, 1.570796326795]
    >>> R(0.25).round(6).tolist()
    [0.980785, 0.0, 0.0, 0.19509]
    """

    #: Times, (n,).
    t: Array
    #: Unit quaternions, scalar first, body to space, (n, 4).
    quaternion: Array
    #: Name of the parametrisation that was asked for.
    parametrization: str
    #: Cost.
    stats: AttitudeStats
    _dense: Callable[[Array], Array] = field(repr=False)
    _error: Callable[[], float] = field(repr=False)
    _parameters: Array | None = field(default=None, repr=False)

    def __call__(self, t: ArrayLike) -> Array:
        """Quaternions at times inside the range, to the order of the method."""
        times = np.asarray(t, dtype=float)
        _check.finite("t", times)
        lo, hi = float(self.t[0]), float(self.t[-1])
        if times.size and not (lo <= times.min() and times.max() <= hi):
            raise ValueError(
                f"t reaches from {times.min():g} to {times.max():g}; the attitude is known on [{lo:g}, {hi:g}]."
            )
        if len(self.t) == 1:
            return np.broadcast_to(self.quaternion[0], (*times.shape, 4)).copy()
        return self._dense(np.ascontiguousarray(times.ravel())).reshape(*times.shape, 4)

    @property
    def matrix(self) -> Array:
        """Rotation matrices, columns are the directors, (n, 3, 3)."""
        return rotations.matrix_from_quaternion(self.quaternion)

    @property
    def directors(self) -> Array:
        """(n, 3, 3): ``directors[..., :, k]`` is the director d_(k+1)."""
        return self.matrix

    @property
    def rotation_vector(self) -> Array:
        """Rotation vectors of length at most pi, (n, 3)."""
        return rotations.log(self.quaternion)

    @property
    def rotation(self) -> Rotation:
        """The rotations as a SciPy ``Rotation`` of n of them."""
        return rotations.to_scipy(self.quaternion)

    @property
    def parameters(self) -> Array:
        """The rotation in the chosen parametrisation: (n, 4) or (n, 3)."""
        if self._parameters is not None:
            return self._parameters
        if self.parametrization == "quaternion":
            return self.quaternion
        if self.parametrization == "rotation-vector":
            return self.rotation_vector
        return rotations.tangential_from_quaternion(self.quaternion)

    @cached_property
    def error(self) -> float:
        """Estimate of the largest geodesic error, in rad, of the method (not of the sensor); computed on access.

        magnus on samples: Richardson's estimate from every second and every fourth sample, with the order that these
        show, so that noise is not taken for convergence; all others: distance to a better method on the same steps.
        """
        return max(self._error(), 4.0 * np.finfo(float).eps)

    # --- names of the version before ---

    def __setstate__(self, state: Mapping[str, object]) -> None:
        if "quaternions" in state:
            state = {**state, "quaternion": state["quaternions"]}
            del state["quaternions"]
        self.__dict__.update(state)

    def __getattr__(self, name: str) -> Any:
        if name not in _OLD:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        _check.renamed(f"Attitude.{name}{'()' if name == 'as_rotation' else ''}", f"Attitude.{_OLD[name]}")
        return (lambda: self.rotation) if name == "as_rotation" else getattr(self, _OLD[name])


@suggests
def attitude(
    t: ArrayLike,
    rates: ArrayLike | Callable[[Any], ArrayLike],
    *,
    frame: str = "body",
    method: str = "magnus6",
    parametrization: str = "quaternion",
    increments: bool = False,
    initial: object = None,
    step: float | None = None,
    rtol: float = 1e-10,
    atol: float = 1e-10,
) -> Attitude:
    """Integrate angular velocity to rotation.

    Parameters
    ----------
    t
        Increasing times, uniform or not. For a function of time two numbers mean an interval.
    rates
        (n, 3) array sampled at ``t``; or a function of time that returns (3,) for a number (and, if it can, (k, 3)
        for k times); or, with ``increments=True``, integrals of the rate from each time to the next, (n - 1, 3) (of
        an (n, 3) array the first row, which ends at ``t[0]``, is not used).
    frame
        "body": material rates, as a strapped-down gyro measures; "space": spatial ones.
    method
        "magnus6" (order 6) or "magnus4" (4), exact on SO(3); "midpoint-matrix" or "midpoint-quaternion" (2), MP-R and
        MP-q of Zupan and Saje; "ode45" or "ode23", adaptive Runge-Kutta pairs with Matlab's step control.
    parametrization
        "quaternion", "rotation-vector" or "tangential": the unknowns of ode45 and ode23, and of ``.parameters``.
    initial
        Rotation at ``t[0]``: quaternion, matrix or SciPy Rotation; the identity by default.
    step
        Constant step for a function on an interval; without it the Magnus methods refine until the geodesic error is
        below ``atol`` (rad, over the whole interval), and the midpoint rules step from each ``t`` to the next.
    rtol, atol
        Tolerances of ode45 and ode23; for the Magnus methods on a function ``atol`` is the error allowed in rad.
    """
    started = time.process_time()
    _check.choice("method", method, ORDERS)
    _check.choice("frame", frame, rotations.FRAMES)
    _check.choice("parametrization", parametrization, PARAMETRIZATIONS)
    rtol, atol = _check.positive("rtol", rtol), _check.positive("atol", atol)
    if method in ADAPTIVE and rtol < 1e-13:
        raise ValueError(f"rtol = {rtol:g} is below what double precision can meet; it must be at least 1e-13.")
    t = _check.times("t", t)
    start = np.array([1.0, 0.0, 0.0, 0.0]) if initial is None else rotations.as_quaternion(initial, "initial")
    if start.shape != (4,):
        raise ValueError(f"initial must be one rotation, got an array of shape {start.shape[:-1]} of them.")
    source: _Samples | _Function
    if callable(rates):
        if increments:
            raise ValueError("increments = True needs an array of integrated rates, got a function.")
        source = _Function(t, rates, frame, start)
    else:
        if step is not None:
            raise ValueError(f"step = {step!r} applies to functions of time; samples are stepped from one to the next.")
        source = _Samples(t, *_values(t, rates, increments), frame, start)
    if method in ADAPTIVE:
        run = _adaptive_run(source, method, parametrization, rtol, atol)
    elif isinstance(source, _Function):
        run = _function_run(source, method, step, atol)
    else:
        run = _sampled_run(source, method)
    result = Attitude(
        t=run.t,
        quaternion=run.q,
        parametrization=parametrization,
        stats=AttitudeStats(method, run.steps, run.rejected, run.evaluations, time.process_time() - started),
        _dense=run.dense,
        _error=run.error,
        _parameters=run.parameters,
    )
    if run.stopped is not None:
        raise SingularRotationError(run.stopped, float(run.t[-1]), result)
    if parametrization == "tangential" and run.parameters is None:
        _refuse_half_turn(result)
    return result


@suggests
def rl2_error(t: ArrayLike, exact: ArrayLike, approximate: ArrayLike, *, cumulative: bool = False) -> Array:
    """The RL2 error of Zupan and Saje (section 5.1), one number for each component.

    ||exact - approximate|| / max(1, ||exact||) in L2 over time by the trapezoidal rule; ``cumulative`` gives it for
    every end time.
    """
    t = _check.times("t", t)
    f, g = _check.array("exact", exact, ()), _check.array("approximate", approximate, ())
    if f.shape != g.shape or f.shape[:1] != t.shape:
        raise ValueError(f"exact {f.shape} and approximate {g.shape} must have one row for each of the {len(t)} times.")
    h = np.diff(t).reshape(-1, *[1] * (f.ndim - 1))

    def norm(x: Array) -> Array:
        squares = x * x
        pieces = np.cumsum(0.5 * h * (squares[1:] + squares[:-1]), axis=0)
        return np.asarray(np.sqrt(np.concatenate([np.zeros((1, *x.shape[1:])), pieces])))

    error = norm(f - g) / np.maximum(1.0, norm(f))
    return np.asarray(error if cumulative else error[-1])


# --- arguments -------------------------------------------------------------------------------------------------------


def _values(t: Array, rates: object, increments: bool) -> tuple[Array, bool]:
    try:
        values = np.ascontiguousarray(rates, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"rates must be an array of numbers or a function of time, got {type(rates).__name__}."
        ) from None
    n = len(t)
    if increments and values.shape == (n, 3):
        values = values[1:]
    expected = (n - 1, 3) if increments else (n, 3)
    if values.shape != expected:
        hint = " Transpose it." if values.shape == expected[::-1] and n != 3 else ""
        what = "increments" if increments else "samples"
        raise ValueError(f"rates must have the shape {expected} ({what} for {n} times), got {values.shape}.{hint}")
    _check.finite("rates", values)
    return values, increments


def _uniform_step(t: Array) -> float:
    """The common step if the times are uniform to 1e-9 of it or to the rounding of the times, else 0."""
    n = len(t)
    if n < 3:
        return 0.0
    h = float(t[-1] - t[0]) / (n - 1)
    deviation = np.arange(n, dtype=float)
    deviation *= -h
    deviation += t
    deviation -= t[0]
    np.abs(deviation, out=deviation)
    rounding = 4.0 * np.finfo(float).eps * max(abs(float(t[0])), abs(float(t[-1])))
    return h if deviation.max() <= max(1e-9 * h, min(rounding, 1e-3 * h)) else 0.0


# --- sources of angular velocity -------------------------------------------------------------------------------------


class _Source:
    """Angular velocity at any time, and rotations over steps between any two times."""

    frame: str

    def rates(self, times: Array) -> Array:
        """(..., 3) for times of any shape."""
        raise NotImplementedError

    def parts(self, begin: Array, h: Array, method: str) -> Array:
        """Rotation quaternions of steps of length h."""
        values = self.rates(begin[:, None] + h[:, None] * NODES[method])
        return _core.step_rotations(values, np.ascontiguousarray(h), method, self.frame)

    def steps(self, nodes: Array, method: str) -> Array:
        """Rotation quaternions of the steps between neighbouring nodes."""
        return self.parts(nodes[:-1], np.diff(nodes), method)


@dataclass(frozen=True)
class _Samples(_Source):
    t: Array
    values: Array
    increments: bool
    frame: str
    start: Array

    def integrate(self, method: str) -> Array:
        return _core.integrate_samples(
            self.t, self.values, self.increments, _uniform_step(self.t), method, self.frame, self.start
        )

    def every(self, stride: int) -> _Samples:
        """The same signal at every second, fourth, ... time."""
        t = self.t[: 1 + (len(self.t) - 1) // stride * stride : stride].copy()
        if self.increments:
            sums = np.add.reduceat(
                self.values[: (len(t) - 1) * stride], np.arange(0, (len(t) - 1) * stride, stride), axis=0
            )
            return _Samples(t, np.ascontiguousarray(sums), True, self.frame, self.start)
        return _Samples(t, np.ascontiguousarray(self.values[::stride][: len(t)]), False, self.frame, self.start)

    def rates(self, times: Array) -> Array:
        flat = _core.interpolate_samples(self.t, self.values, self.increments, times.ravel())
        return flat.reshape(*times.shape, 3)

    def solve(self, parametrization: str, method: str, y0: Array, rtol: float, atol: float) -> _core.AdaptiveRun:
        args = (parametrization, method, self.frame, self.t[0], self.t[-1], y0, rtol, atol)
        return _core.solve_sampled(self.t, self.values, self.increments, *args)


class _Function(_Source):
    """A function of time, called with arrays if it can, checked at every call."""

    def __init__(self, t: Array, function: Callable[[object], ArrayLike], frame: str, start: Array) -> None:
        self.t, self.frame, self.start = t, frame, start
        self._function = function
        self.evaluations = 0
        probe = np.array([t[0], t[-1]])
        one = [self._one(x) for x in probe]
        self._vectorised = False
        try:
            many = np.asarray(function(probe), dtype=float)
            self._vectorised = many.shape == (2, 3) and bool(np.allclose(many, one, rtol=1e-12, atol=1e-300))
        except Exception:  # a function of one number may do anything with an array; then it is called one by one
            self._vectorised = False

    def _one(self, t: float) -> Array:
        value = np.asarray(self._function(float(t)), dtype=float)
        if value.shape != (3,):
            raise ValueError(f"rates({t:g}) must return three numbers, got the shape {value.shape}.")
        return value

    def rates(self, times: Array) -> Array:
        self.evaluations += times.size
        flat = times.ravel()
        if self._vectorised:
            values = np.ascontiguousarray(self._function(flat), dtype=float)
        else:
            values = np.array([self._one(x) for x in flat]).reshape(-1, 3)
        if not np.isfinite(values.sum()):
            bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
            if len(bad):
                raise ValueError(f"rates({flat[bad[0]]:g}) = {values[bad[0]]} is not finite.")
        return values.reshape(*times.shape, 3)

    def solve(self, parametrization: str, method: str, y0: Array, rtol: float, atol: float) -> _core.AdaptiveRun:
        args = (parametrization, method, self.frame, self.t[0], self.t[-1], y0, rtol, atol)
        return _core.solve_function(self.rates, *args)


# --- runs ------------------------------------------------------------------------------------------------------------
# `dense` and `error` are module-level functions bound by partial, so that a result can be pickled.


@dataclass
class _Run:
    t: Array
    q: Array
    steps: int
    evaluations: int
    dense: Callable[[Array], Array]
    error: Callable[[], float]
    rejected: int = 0
    parameters: Array | None = None
    stopped: str | None = None


def _farthest(a: Array, b: Array) -> float:
    return float(np.max(rotations.distance(a, b), initial=0.0))


def _sampled_run(s: _Samples, method: str) -> _Run:
    q = s.integrate(method)
    if not np.isfinite(q[-1]).all():
        i = int(np.flatnonzero(~np.isfinite(q).all(axis=1))[0])
        raise ArithmeticError(f"rates are too large near t = {s.t[i]:g}: the rotation over one step overflows.")
    dense, error = partial(_sampled_dense, s, method, q), partial(_sampled_error, s, method, q)
    return _Run(s.t, q, len(s.t) - 1, len(s.values), dense, error)


def _sampled_dense(s: _Samples, method: str, q: Array, times: Array) -> Array:
    return _core.evaluate_samples(s.t, s.values, s.increments, method, s.frame, q, times)


def _sampled_error(s: _Samples, method: str, q: Array) -> float:
    if method not in ("magnus4", "magnus6"):
        return _farthest(q, s.integrate("magnus6"))
    if len(s.t) < 40:  # too few to thin out
        return _farthest(q, s.integrate("magnus4" if method == "magnus6" else "midpoint-quaternion"))
    half, quarter = s.every(2).integrate(method), s.every(4).integrate(method)
    near, far = _farthest(q[::2][: len(half)], half), _farthest(half[::2][: len(quarter)], quarter)
    order = np.clip(np.log2(far / near) if near > 0.0 else ORDERS[method], 0.5, ORDERS[method])
    return near / float(2.0**order - 1.0)


def _function_run(f: _Function, method: str, step: float | None, atol: float) -> _Run:
    interval = len(f.t) == 2
    if step is not None:
        nodes = _grid(f.t, _check.positive("step", step))
        turns = f.steps(nodes, method)
    elif method in ("magnus4", "magnus6"):
        nodes, turns = _refine(f, method, atol)
    elif interval:
        raise ValueError(
            f"step is missing: method = {method!r} takes constant steps; give step= on the interval, or all times in t."
        )
    else:
        nodes = f.t
        turns = f.steps(nodes, method)
    q = _core.compose(f.start, turns, f.frame)
    dense, error = partial(_function_dense, f, method, nodes, q), partial(_function_error, f, method, nodes, q)
    t, out = (nodes, q) if interval else (f.t, q[np.searchsorted(nodes, f.t)])
    return _Run(t, out, len(nodes) - 1, f.evaluations, dense, error)


def _function_dense(f: _Function, method: str, nodes: Array, q: Array, times: Array) -> Array:
    i = np.clip(np.searchsorted(nodes, times, side="right") - 1, 0, len(nodes) - 2)
    part = f.parts(nodes[i], times - nodes[i], method)
    return rotations.normalize(_in_turn(q[i], part, f.frame))


def _function_error(f: _Function, method: str, nodes: Array, q: Array) -> float:
    if method not in ("magnus4", "magnus6"):
        return _farthest(q, _core.compose(f.start, f.steps(nodes, "magnus6"), f.frame))
    halved = np.empty(2 * len(nodes) - 1)
    halved[::2], halved[1::2] = nodes, 0.5 * (nodes[1:] + nodes[:-1])
    return _farthest(q, _core.compose(f.start, f.steps(halved, method), f.frame)[::2])


def _in_turn(first: Array, second: Array, frame: str) -> Array:
    """First rotation, then the second: body rates multiply from the right."""
    return rotations.multiply(first, second) if frame == "body" else rotations.multiply(second, first)


def _grid(t: Array, step: float) -> Array:
    if len(t) != 2:
        raise ValueError(f"step = {step:g} needs an interval t = (begin, end), got {len(t)} times.")
    count = max(1, int(np.ceil((t[1] - t[0]) / step * (1.0 - 1e-12))))
    nodes = t[0] + step * np.arange(count + 1)
    nodes[-1] = t[1]
    return np.asarray(nodes)


def _refine(f: _Function, method: str, atol: float) -> tuple[Array, Array]:
    """Halve the steps whose one-step and two-half-steps results differ too much; all in whole arrays.

    The flow of rotations is an isometry, so the global error is at most the sum of the local ones: each step gets
    the share of ``atol`` that its length deserves.
    """
    nodes = f.t
    if len(nodes) == 2:
        nodes = np.linspace(nodes[0], nodes[1], 33)
    total = nodes[-1] - nodes[0]
    begin, h = nodes[:-1], np.diff(nodes)
    whole = f.parts(begin, h, method)
    done: list[tuple[Array, Array]] = []
    while len(begin):
        left, right = f.parts(begin, 0.5 * h, method), f.parts(begin + 0.5 * h, 0.5 * h, method)
        # A step that passes is kept as its two halves, which are already paid for and 2^order times closer; half of
        # that factor is trusted.
        allowed = np.maximum(atol * h / total, 1e-15) * 2.0 ** (ORDERS[method] - 1)
        open_ = rotations.distance(whole, _in_turn(left, right, f.frame)) > allowed
        ok = ~open_
        done.append((np.concatenate([begin[ok], (begin + 0.5 * h)[ok]]), np.concatenate([left[ok], right[ok]])))
        begin = np.concatenate([begin[open_], (begin + 0.5 * h)[open_]])
        h = np.concatenate([0.5 * h[open_], 0.5 * h[open_]])
        whole = np.concatenate([left[open_], right[open_]])
        if len(begin) > _MOST_STEPS or (len(h) and h.min() < 1e-14 * total):
            raise ArithmeticError(
                f"{method} needs more than {_MOST_STEPS} steps (or steps below rounding) near t = {begin[0]:g}: steps "
                f"of {h[0]:.1g} still miss atol = {atol:g}; loosen atol, give a constant step"
                + (" or use magnus6." if method == "magnus4" else ".")
            )
    starts = np.concatenate([a for a, _ in done])
    order = np.argsort(starts)
    return np.append(starts[order], nodes[-1]), np.concatenate([b for _, b in done])[order]


def _adaptive_run(source: _Samples | _Function, method: str, parametrization: str, rtol: float, atol: float) -> _Run:
    if len(source.t) < 2:
        raise ValueError(f"method = {method!r} needs at least two times, got one.")
    y0 = rotations.convert(source.start, "quaternion", parametrization)
    run = source.solve(parametrization, method, y0, rtol, atol)
    ts, ys, stages = run.t, run.y, run.stages
    stopped = None
    if not run.finished:
        name = {"rotation-vector": "|theta| = 2 pi k", "tangential": "an angle of pi"}.get(parametrization)
        why = (
            f"the {parametrization} parametrisation is singular at {name}" if name else "the rates are too rough there"
        )
        stopped = f"{method} cannot continue at t =  {ts[-1]:.7g}: the step falls below rounding because {why}; " + (
            "use parametrization='quaternion'." if name else "loosen rtol or use a constant-step method."
        )
    out, y = ts, ys
    if len(source.t) > 2 and len(ts) > 1:
        out = source.t[source.t <= ts[-1]]
        y = _interpolant(method)(ts, ys, stages, out)
    q = rotations.convert(y, parametrization, "quaternion")
    dense = partial(_adaptive_dense, method, parametrization, ts, ys, stages)
    error = partial(_adaptive_error, source, ts, out, q)
    return _Run(out, q, run.steps, run.evaluations, dense, error, run.rejected, y, stopped)


def _interpolant(method: str) -> Callable[[Array, Array, Array, Array], Array]:
    return _core.dense_ode45 if method == "ode45" else _core.dense_ode23


def _adaptive_dense(method: str, parametrization: str, ts: Array, ys: Array, stages: Array, times: Array) -> Array:
    return rotations.convert(_interpolant(method)(ts, ys, stages, times), parametrization, "quaternion")


def _adaptive_error(source: _Samples | _Function, ts: Array, out: Array, q: Array) -> float:
    nodes = np.union1d(ts, out)
    better = _core.compose(source.start, source.steps(nodes, "magnus6"), source.frame)
    error = _farthest(q, better[np.searchsorted(nodes, out)])
    if isinstance(source, _Samples):  # both share the interpolated samples, whose error comes on top
        error += _sampled_run(source, "magnus6").error()
    return error


def _refuse_half_turn(a: Attitude) -> None:
    scalar = a.quaternion[:, 0]
    crossing = np.flatnonzero((scalar[1:] * scalar[:-1] <= 0.0) | (np.abs(scalar[1:]) < 1e-15))
    if len(crossing):
        i = int(crossing[0])
        when = float(a.t[i] + (a.t[i + 1] - a.t[i]) * abs(scalar[i]) / max(abs(scalar[i]) + abs(scalar[i + 1]), 1e-300))
        raise SingularRotationError(
            f"the rotation passes an angle of pi at t = {when:.7g}, where the tangential vector is infinite; "
            "use parametrization='quaternion'.",
            when,
            Attitude(a.t[: i + 1], a.quaternion[: i + 1], "quaternion", a.stats, a._dense, a._error),
        )
