"""fit: parameters of a model from measured curves, by least squares."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod import _check
from gyrod._check import Array
from gyrod.model import ModelError
from gyrod.motion import Rest
from gyrod.runs.methods import CONSTANT
from gyrod.studies import fit_notes, least_squares
from gyrod.studies.batches import batches
from gyrod.studies.fit_results import Fit
from gyrod.studies.measured import Curve, Parameter, read_curves, read_parameters
from gyrod.studies.outputs import Final, History, Output
from gyrod.studies.plan import Plan, make_plan
from gyrod.studies.searching import Outcome, Search, parts
from gyrod.studies.sensitivity import STEPS, Sensitivity

if TYPE_CHECKING:
    from gyrod._check import Keywords

#: Accuracy of the runs, unless it is given.
RTOL = 1e-6
#: Seconds between two lines of progress where they cannot be written over each other.
SILENCE = 2.0


class Resting(Final):
    """The value at rest as a curve of one point."""

    def at_rest(self, rest: Rest) -> Array:
        """Time first."""
        return super().at_rest(rest)[None]

    def shape(self, entry: tuple[int, ...]) -> tuple[int, ...]:
        """Time first."""
        return (1, *entry)


def fit(
    model: object,
    free: Mapping[str, object],
    measurements: Mapping[object, object],
    t_end: float | None = None,
    *,
    engine: object = "local",
    workers: int | None = None,
    loss: str = "linear",
    confidence: float = 0.95,
    jacobian: str = "central",
    iterations: int = 50,
    progress: bool = False,
    at_rest: bool = False,
    start: str = "model",
    **run: Any,
) -> Fit:
    """Find parameters of a model from measured curves: the least sum of ((simulated - measured) / sigma)².

    Parameters
    ----------
    model
        A `System`, a model file, or a function of the parameters that returns a `System`.
    free
        Paths of the parameters, such as "hose.material.young" (of a function: its arguments), each with a guess or with
        (guess, low, high). Where the lower bound is positive the search, and the interval, are those of the logarithm.
    measurements
        Quantities, such as "hose.positions[-1]" or "sensors.tip[2]", each with (times, values) or (times, values,
        sigma). One row of values for each time, NaN where one is missing. ``sigma`` is the standard deviation of the
        noise, a number or one for each value; without it, it is estimated from the residuals, one for each quantity.
        With ``at_rest`` there are no times: values, or the tuple (values, sigma).
    t_end
        End of the runs; the last measurement unless given.
    engine, workers
        Who runs the batches, as in `study`: the runs at a point of the search and those beside it for its derivatives.
    loss
        "linear" (plain squares); "soft_l1", "huber", "cauchy", "arctan" count residuals beyond sigma less.
    confidence
        Probability of the intervals.
    jacobian
        "central" differences, two runs for each parameter, or "forward" ones, one run each and less exact.
    iterations
        Steps of the search at most.
    progress
        Show how the search goes: iterations, cost, runs and their rate.
    at_rest
        Whether the measurements are of the equilibrium of the model, and not of a motion.
    start
        "rest": each run starts from the equilibrium of its model, and not as the model says.
    run
        Options of `simulate`; ``rtol`` is 1e-6 unless given. With ``at_rest`` those of `equilibrium`.

    >>> import gyrod as gd
    >>> ball = gd.System([gd.Body("ball", mass=1.0, inertia=(1, 1, 1))])
    >>> heights = [-0.31, -1.22, -2.77, -4.90]
    >>> found = gd.fit(ball, {"gravity[2]": -9.0}, {"ball.position[2]": ([0.25, 0.5, 0.75, 1.0], heights, 0.01)})
    >>> round(found.values["gravity[2]"], 2), round(found.standard_errors["gravity[2]"], 2)
    (-9.81, 0.02)
    """
    began = time.perf_counter()
    how = {"loss": loss, "jacobian": jacobian, "confidence": confidence, "iterations": iterations}
    run = {**run, "start": start} | ({"at_rest": at_rest} if at_rest is not False else {})
    plan, parameters, curves = _asked(model, free, measurements, t_end, how, run)
    with batches(engine, workers, plan) as runner, _telling(progress) as tell:
        problem = Sensitivity(plan, parameters, curves, runner, jacobian)
        outcome = Search(problem, loss, iterations, tell).rounds()
    return _result(problem, outcome, loss, confidence, time.perf_counter() - began)


# --- what is asked ---------------------------------------------------------------------------------------------------


def _asked(
    model: object,
    free: object,
    measurements: object,
    t_end: object,
    how: Mapping[str, object],
    run: Mapping[str, Any],
) -> tuple[Plan, Sequence[Parameter], Sequence[Curve]]:
    """Check everything, and report all problems at once."""
    problems = _option_problems(**how)
    end = None
    try:
        end = None if t_end is None else _check.positive("t_end", t_end)
    except ValueError as error:
        problems.append(str(error))
    parameters = read_parameters(free, problems)
    resting = run.get("at_rest") is True
    curves = read_curves(measurements, end, problems, resting)
    whole = [c for c in curves if c is not None]
    counts, unknowns = sum(c.count for c in whole), len(parameters)
    if whole and len(whole) == len(curves) and counts < unknowns + any(c.sigma is None for c in whole):
        problems.append(_too_few(counts, unknowns, counts == unknowns))
    plan = None
    try:
        vary = {p.path: [p.guess] for p in parameters if p is not None}
        outputs: dict[str, Output] = {c.name: History(c.quantity, times=c.times) for c in whole}
        if resting:
            outputs = {c.name: Resting(c.quantity) for c in whole}
        if vary and outputs:
            last = max(float(c.times[-1]) for c in whole)
            if last <= 0.0 and not resting:
                raise ValueError("measurements: all times are 0, where nothing has moved yet.")
            until = end if resting else end or last
            plan = _tight(make_plan(model, vary, outputs, until, design="together", **run), run)
    except ModelError as error:
        problems += [_in_words_of_fits(sentence) for sentence in error.problems]
    except ValueError as error:
        problems.append(str(error))
    if plan is not None:
        shapes = plan.shapes
        curves = tuple(c if c is None else c.shaped(shapes.get(c.name, c.values.shape)) for c in curves)
        problems += _shape_problems(curves, plan.shapes)
    if problems or plan is None:
        raise ModelError(problems)
    return plan, parameters, curves


def _in_words_of_fits(sentence: str) -> str:
    """What a plan says, for who asked for a fit."""
    sentence = re.sub(r"^vary: path = ('[^']*'|\"[^\"]*\"):", r"free[\1]:", sentence)
    for plan, here in (
        ("vary[", "free["),
        ("vary: ", "free: "),
        ("outputs[", "measurements["),
        ("none of the first runs can be made; the first says:", "the model cannot be made with the guess:"),
        ("none of the first runs succeeds; the first says:", "the run with the guess fails:"),
        ("; vary it, or give it a default", "; free it, or give it a default"),
        ("; vary numbers in it", "; free numbers in it"),
    ):
        sentence = sentence.replace(plan, here)
    return sentence


def _option_problems(loss: object, jacobian: object, confidence: object, iterations: object) -> list[str]:
    problems = []
    for check in (
        lambda: _check.choice("loss", loss, least_squares.LOSSES),
        lambda: _check.choice("jacobian", jacobian, STEPS),
        lambda: _probability(confidence),
        lambda: _whole(iterations),
    ):
        try:
            check()
        except ValueError as error:
            problems.append(str(error))
    return problems


def _tight(plan: Plan, run: Keywords) -> Plan:
    """Runs exact enough for differences, also where a model file has less; unless the user says otherwise."""
    if "rtol" in run or plan.at_rest or plan.options.get("method") in CONSTANT:
        return plan
    rtol = min(RTOL, float(plan.options.get("rtol", RTOL)))
    return replace(plan, options=MappingProxyType({**plan.options, "rtol": rtol}))


def _probability(confidence: object) -> None:
    if not 0.0 < _check.number("confidence", confidence) < 1.0:
        raise ValueError(f"confidence = {confidence!r} must lie between 0 and 1, as 0.95.")


def _whole(iterations: object) -> None:
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise ValueError(f"iterations = {iterations!r} must be an integer of at least 1.")


def _too_few(values: int, parameters: int, equal: bool) -> str:
    told = f"measurements: {values} values cannot determine {parameters} parameters"
    return told + (" and the noise; give sigma, or measure more." if equal else "; measure more, or free fewer.")


def _shape_problems(curves: Sequence[Curve], shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
    """Values that do not look like their quantity."""
    found = []
    for curve in curves:
        if curve is not None and curve.name in shapes and curve.values.shape != shapes[curve.name]:
            found.append(
                f"measurements[{curve.name!r}]: values have the shape {curve.values.shape}, but the quantity at these "
                f"times has {shapes[curve.name]}; measure these, or add indices, as in 'hose.positions[-1, 2]'."
            )
    return found


@contextmanager
def _telling(wanted: bool) -> Iterator[Callable[[str], object]]:
    """Who learns how the search goes: nobody, or a line on standard error; in a file, a new one now and then."""
    if not wanted:
        yield lambda _: None
        return
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status("") as line:
            yield line.update
        return
    last = -math.inf

    def show(told: str) -> None:
        nonlocal last
        if time.monotonic() - last >= SILENCE:
            last = time.monotonic()
            console.print(told, highlight=False, soft_wrap=True)

    yield show


# --- what comes out --------------------------------------------------------------------------------------------------


def _result(problem: Sensitivity, found: Outcome, loss: str, confidence: float, seconds: float) -> Fit:
    """Values with their errors, and what is to be said about them."""
    from scipy.special import ndtri, stdtrit

    assert found.point.simulated is not None
    parameters, curves = problem.parameters, problem.curves
    r = (found.point.simulated - problem.measured) / found.sigma
    told = len(parameters) - found.blind.shape[1]
    freedom = max(len(r) - told, 0)
    chi2 = float(r @ r) / freedom if freedom else math.nan
    in_u = least_squares.covariance(found.jacobian, found.blind) * least_squares.spread(r, loss, told)
    values = problem.values(found.point.u)
    slopes = np.array([p.slope(values[p.path]) for p in parameters])
    covariance = in_u * np.outer(slopes, slopes)
    estimated = any(curve.sigma is None for curve in curves)
    # Noise that is known leaves nothing to Student's distribution.
    both = 0.5 * (1.0 + confidence)
    factor = float(stdtrit(freedom, both)) if estimated and freedom else float(ndtri(both))
    errors = np.sqrt(np.diag(in_u))
    intervals = {p.path: p.interval(values[p.path], factor * float(e)) for p, e in zip(parameters, errors, strict=True)}
    residuals, sigmas = {}, {}
    for part, curve in parts(curves):
        residuals[curve.name], sigmas[curve.name] = (np.full(curve.values.shape, np.nan) for _ in range(2))
        residuals[curve.name][curve.present], sigmas[curve.name][curve.present] = r[part], found.sigma[part]
    doubts = (
        *fit_notes.misfit(chi2, freedom, not estimated and loss == "linear"),
        *fit_notes.pattern(curves, residuals, sigmas, problem.rtol),
        *fit_notes.valley(_explained(curves, residuals, sigmas)),
    )
    return Fit(
        values=values,
        standard_errors={p.path: float(x) for p, x in zip(parameters, np.sqrt(np.diag(covariance)), strict=True)},
        covariance=covariance,
        intervals=intervals,
        confidence=float(confidence),
        residuals=residuals,
        sigma=sigmas,
        chi2=chi2,
        cost=least_squares.cost(r, loss),
        freedom=freedom,
        evaluations=problem.runs,
        iterations=found.iterations,
        seconds=seconds,
        # With something held, curves that do not fit may say that it is held in the wrong place.
        status="doubtful" if doubts and len(found.held) and found.status == "converged" else found.status,
        notes=(
            *fit_notes.untold(parameters, values, found.blind, found.held, found.reach, problem.rtol),
            *fit_notes.hardly(parameters, errors),
            *fit_notes.bounds(parameters, values, found.jacobian.T @ (least_squares.weights(r, loss) * r)),
            *doubts,
        ),
        parameters=tuple(parameters),
        curves=tuple(curves),
        plan=problem.plan,
    )


def _explained(curves: Sequence[Curve], residuals: Mapping[str, Array], sigma: Mapping[str, Array]) -> float:
    """Part of what varies in all curves that is not left in the residuals."""
    left = all_ = 0.0
    for curve in curves:
        entries = curve.values.reshape(len(curve.values), -1)
        mean = np.array(
            [column[np.isfinite(column)].mean() if np.isfinite(column).any() else 0.0 for column in entries.T]
        )
        left += float(np.nansum(residuals[curve.name] ** 2))
        all_ += float(np.nansum(((entries - mean) / sigma[curve.name].reshape(entries.shape)) ** 2))
    return 1.0 - left / all_ if all_ > 0.0 else 1.0
