"""E. Zupan, M. Saje: Integrating rotation from angular velocity (2011): Tables 2 and 3, Figures 1 to 8."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod import problems, rotations
from gyrod._check import Array
from gyrod.gyro import Attitude, SingularRotationError, attitude, rl2_error
from gyrod.problems import RotationProblem
from gyrod.reproduce import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Zupan, Saje: Integrating rotation from angular velocity. Adv. Eng. Software 42 (2011) 723-733"

SYMBOL = {"rotation-vector": "theta", "tangential": "psi", "quaternion": "q"}
#: Method and parametrisation of every column of the tables, with the paper's name of the method.
MIDPOINTS = [
    ("MP-R", "midpoint-matrix", "rotation-vector"),
    ("MP-R", "midpoint-matrix", "tangential"),
    ("MP-R", "midpoint-matrix", "quaternion"),
    ("MP-q", "midpoint-quaternion", "quaternion"),
]

#: A column as it is printed.
Printed = tuple[int, float, tuple[float, ...]]
# Columns as printed: "time steps" (output points, four a step, for ODE45), seconds, RL2 of components 0 to 3.
TABLE_2: dict[str, Printed] = {
    "ODE45(theta)": (3061, 0.86, (0.004, 0.003, 0.0002)),
    "ODE45(psi)": (2805, 0.63, (0.007, 0.003, 0.005)),
    "ODE45(q)": (2869, 0.67, (0.003, 0.006, 0.001, 0.002)),
    "ODE23(theta)": (3318, 1.95, (0.01, 0.5, 0.01)),
    "ODE23(psi)": (3402, 1.51, (0.02, 0.1, 0.01)),
    "ODE23(q)": (3184, 1.55, (0.02, 0.07, 0.2, 0.06)),
    "MP-R(theta)": (3031, 0.78, (0.4, 0.8, 0.2)),
    "MP-R(psi)": (3031, 0.57, (0.5, 0.9, 0.2)),
    "MP-R(q)": (3031, 0.87, (0.05, 0.4, 0.8, 0.2)),
    "MP-q(q)": (3031, 0.90, (0.03, 0.2, 0.5, 0.07)),
}
TABLE_3: dict[str, Printed] = {
    "ODE45(theta)": (4585, 1.64, (0.00005, 0.0001, 0.009)),
    "ODE45(psi)": (4145, 0.91, (0.0015, 0.00004, 0.014)),
    "ODE45(q)": (3825, 0.90, (0.0029, 0.0008, 0.00006, 0.020)),
    "MP-R(theta)": (4000, 0.92, (0.003, 0.016, 0.242)),
    "MP-R(psi)": (4000, 0.63, (0.023, 0.009, 0.256)),
    "MP-R(q)": (4000, 0.70, (0.030, 0.010, 0.009, 0.238)),
    "MP-q(q)": (4000, 0.71, (0.029, 0.009, 0.008, 0.234)),
}
#: Output points of ODE45 for eq. (28) and eq. (29), in the text.
POINTS_28 = {"theta": 48397, "psi": 44637, "q": 41457}
POINTS_29 = {"q": 45613}
FAILURES_29 = {"rotation-vector": 1.296609, "tangential": 0.5375769}

Curves = dict[str, tuple[Array, Array]]


def run(report: Report) -> None:
    """All tables and figures, in the paper's order."""
    first, planar = problems.get("zupan-saje-1"), problems.get("zupan-saje-2-planar")
    spatial, large = problems.get("zupan-saje-2-spatial"), problems.get("zupan-saje-3")
    _exact_figure(report, "figure-1", "Example 1", first, 5.0)
    curves = _table(report, "Table 2", first, TABLE_2, step=0.033)
    _growth_figure(report, "Figure 2", "figure-2", "Example 1", curves, 1)
    _exact_figure(report, "figure-3", "Example 2, eq. (27)", planar, 10.0)
    curves = _table(report, "Table 3", planar, TABLE_3, step=0.0025)
    _growth_figure(report, "Figure 4", "figure-4", "Example 2, eq. (27)", curves, 3)
    curves = _runs(report, "Figure 5", spatial, POINTS_28, steps=50_000)
    _growth_figure(report, "Figure 5", "figure-5", "Example 2, eq. (28)", curves, 3)
    _full_turns(report)
    _exact_figure(report, "figure-7", "Example 3, eq. (29)", large, 2.5)
    curves = _runs(report, "Figure 8", large, POINTS_29, steps=50_000)
    _growth_figure(report, "Figure 8", "figure-8", "Example 3, eq. (29)", curves, 3)


def exact_parameters(problem: RotationProblem, t: Array, parametrization: str) -> Array:
    """The exact solution in a parametrisation, as the paper's Table 1 derives it from the rotation vector."""
    assert problem.rotation_vector is not None
    theta = problem.rotation_vector(t)
    if parametrization == "rotation-vector":
        return theta
    half = 0.5 * np.linalg.norm(theta, axis=-1, keepdims=True)
    if parametrization == "tangential":
        return np.asarray(0.5 * rotations.removable.tanc(half) * theta)
    return problem.quaternion(t)


def _solve(problem: RotationProblem, method: str, parametrization: str, **options: Any) -> Attitude:
    frame = options.setdefault("frame", "body")
    options |= {"method": method, "parametrization": parametrization, "initial": problem.quaternion(0.0)}
    return attitude((0.0, problem.t_end), lambda t: problem.rates(t, frame), **options)


def _ode_tolerance(method: str) -> dict[str, float]:
    """The paper's local relative errors; 1e-6 is Matlab's default for the absolute ones."""
    return {"rtol": 1e-10 if method == "ode45" else 1e-4, "atol": 1e-6}


def _parameters(a: Attitude, parametrization: str) -> Array:
    """Parameters of a midpoint result, also beyond the singularity that `attitude` refuses."""
    if parametrization == "tangential":
        return a.quaternion[:, 1:] / a.quaternion[:, :1]
    return a.quaternion if parametrization == "quaternion" else a.rotation_vector


def _cumulative(problem: RotationProblem, t: Array, y: Array, parametrization: str, *, wrapped: bool) -> Array:
    exact = exact_parameters(problem, t, parametrization)
    if wrapped and parametrization == "rotation-vector":
        exact = rotations.log(rotations.exp(exact))  # the paper's constrained exact values
    return rl2_error(t, exact, y, cumulative=True)


def _matrix_errors(report: Report, item: str, column: str, problem: RotationProblem, t: Array, q: Array) -> None:
    """Drift, skew and scale, which the paper names beside its norm: the largest of each over the time."""
    exact = rotations.matrix_from_quaternion(problem.quaternion(t))
    # A quaternion as it was integrated: one that is not of unit norm stretches.
    here = rotations.matrix_from_directors(rotations.euler_map(q))
    errors = np.abs(rotations.drift_skew_scale(exact, here)).max(axis=(0, 2))
    for name, unit, error in zip(("drift", "skew", "scale"), (" (rad)", "", ""), errors, strict=True):
        # What rounding leaves is not a number to print.
        report.add(item, f"{column} {name}{unit}", None, float(f"{error:.3g}") if error > 1e-13 else 0.0)


def _integrated(a: Attitude) -> Array:
    """Quaternions as integrated, of any norm."""
    return a.parameters if a.parametrization == "quaternion" else a.quaternion


def _components(parametrization: str) -> range:
    return range(4) if parametrization == "quaternion" else range(1, 4)


def _table(report: Report, item: str, problem: RotationProblem, printed: Mapping[str, Printed], step: float) -> Curves:
    curves: Curves = {}
    for column, (points, seconds, errors) in printed.items():
        name, symbol = column[:-1].split("(")
        report.progress(f"{item}, {column}")
        parametrization = next(k for k, v in SYMBOL.items() if v == symbol)
        if name.startswith("ODE"):
            method = name.lower()
            a = _solve(problem, method, parametrization, **_ode_tolerance(method))
            y = a.parameters
            refine = 4 if method == "ode45" else 1
            report.add(item, f"{column} output points ({refine} a step)", points, refine * a.stats.steps + 1)
            report.add(item, f"{column} steps", points // refine, a.stats.steps)
        else:
            method = "midpoint-matrix" if name == "MP-R" else "midpoint-quaternion"
            a = _solve(problem, method, "quaternion", step=step)
            y = _parameters(a, parametrization)
            report.add(item, f"{column} steps", points, a.stats.steps)
        report.add(item, f"{column} evaluations", None, a.stats.evaluations)
        report.add(item, f"{column} CPU seconds", seconds, round(a.stats.seconds, 4))
        growth = _cumulative(problem, a.t, y, parametrization, wrapped=False)
        for component, value, ours in zip(_components(parametrization), errors, growth[-1], strict=True):
            report.add(item, f"{column} RL2[{component}]", value, float(f"{ours:.4g}"))
        _matrix_errors(report, item, column, problem, a.t, _integrated(a))
        curves[column] = (a.t, growth[:, -3:])
    return _with_magnus(report, item, problem, curves, step)


def _with_magnus(report: Report, item: str, problem: RotationProblem, curves: Curves, step: float) -> Curves:
    a = _solve(problem, "magnus6", "quaternion", step=step)
    growth = _cumulative(problem, a.t, a.rotation_vector, "rotation-vector", wrapped=True)
    for component in range(1, 4):
        report.add(
            item,
            f"magnus6 at the midpoint rules' steps RL2[{component}]",
            None,
            float(f"{growth[-1, component - 1]:.4g}"),
        )
    _matrix_errors(report, item, "magnus6", problem, a.t, _integrated(a))
    report.add(item, "magnus6 CPU seconds", None, round(a.stats.seconds, 4))
    return {**curves, "magnus6": (a.t, growth)}


def _runs(report: Report, item: str, problem: RotationProblem, printed: dict[str, int], steps: int) -> Curves:
    """ODE45 in three parametrisations and the midpoint rules, without a table in the paper."""
    curves: Curves = {}
    for parametrization, symbol in SYMBOL.items():
        column = f"ODE45({symbol})"
        report.progress(f"{item}, {column}")
        # The counts of eq. (28) are those of spatial rates for psi and q, of body rates for theta.
        frame = "body" if parametrization == "rotation-vector" else "space"
        try:
            a = _solve(problem, "ode45", parametrization, frame=frame, **_ode_tolerance("ode45"))
        except SingularRotationError as stop:
            assert stop.partial is not None
            a = stop.partial
            report.add(item, f"{column} stops at t", FAILURES_29.get(parametrization), round(stop.time, 7))
        else:
            points = printed.get(symbol)
            report.add(item, f"{column} output points (4 a step)", points, 4 * a.stats.steps + 1)
            report.add(item, f"{column} steps", points // 4 if points else None, a.stats.steps)
        growth = _cumulative(problem, a.t, a.parameters, parametrization, wrapped=False)
        report.add(item, f"{column} RL2[3] at t = {a.t[-1]:.4g}", None, float(f"{growth[-1, -1]:.4g}"))
        _matrix_errors(report, item, column, problem, a.t, _integrated(a))
        curves[column] = (a.t, growth[:, -3:])
    step = problem.t_end / steps
    for name, method, parametrization in MIDPOINTS:
        column = f"{name}({SYMBOL[parametrization]})"
        report.progress(f"{item}, {column}")
        a = _solve(problem, method, "quaternion", step=step)
        growth = _cumulative(problem, a.t, _parameters(a, parametrization), parametrization, wrapped=True)
        report.add(item, f"{column} steps", steps, a.stats.steps)
        report.add(item, f"{column} RL2[3]", None, float(f"{growth[-1, -1]:.4g}"))
        _matrix_errors(report, item, column, problem, a.t, _integrated(a))
        curves[column] = (a.t, growth[:, -3:])
    return _with_magnus(report, item, problem, curves, step)


def _full_turns(report: Report) -> None:
    """Figure 6: the rotation vector through 159 (and 5) full turns; what is continuous and what is restricted."""
    axis, line = problems.get("zupan-saje-3-axis"), problems.get("zupan-saje-3-line")
    for problem, label in ((axis, "theta = (0, 0, 100 t + 0.01)"), (line, "theta = (t + 1, 2 t, 3 t)")):
        report.progress(f"Figure 6, {label}")
        assert problem.rotation_vector is not None
        a = _solve(problem, "ode45", "rotation-vector", **_ode_tolerance("ode45"))
        exact = problem.rotation_vector(a.t)
        turns = int(np.linalg.norm(exact[-1]) / (2.0 * np.pi))
        report.add(
            "Figure 6",
            f"{label}: multiples of 2 pi passed by ODE45(theta)",
            {159: 159, 5: 5}.get(turns),
            turns,
        )
        error = float(np.abs(a.parameters[-1] - exact[-1]).max())
        report.add("Figure 6", f"{label}: error of theta at the end", None, float(f"{error:.3g}"))
        try:
            _solve(problem, "ode45", "tangential", **_ode_tolerance("ode45"))
            outcome = "passes"
        except SingularRotationError as stop:
            outcome = f"fails at t = {stop.time:.6g}"
        report.add("Figure 6", f"{label}: ODE45(psi)", "fails", outcome)
    ode = _solve(axis, "ode45", "rotation-vector", **_ode_tolerance("ode45"))
    midpoint = _solve(axis, "midpoint-matrix", "quaternion", step=5e-4)
    # Which of the vectors of a rotation is taken is a convention: the shortest one here.
    report.add("Figure 6", "MP-R(theta): theta_3 is restricted to", "(-pi/2, 3 pi/2)", "[-pi, pi]")

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        left.plot(ode.t, ode.parameters, label=["theta1", "theta2", "theta3"])
        left.set(title="ODE45(theta): continuous", xlabel="t")
        window = midpoint.t <= 0.5
        right.plot(midpoint.t[window], midpoint.rotation_vector[window], label=["theta1", "theta2", "theta3"])
        right.set(title="MP-R(theta): restricted to |theta| <= pi", xlabel="t")
        left.legend()

    report.figure("figure-6", draw)


def _exact_figure(report: Report, name: str, label: str, problem: RotationProblem, until: float) -> None:
    t = np.linspace(0.0, until, 4001)

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, 4)
        for ax, (parametrization, symbol) in zip(axes, SYMBOL.items(), strict=False):
            y = exact_parameters(problem, t, parametrization)
            for component, values in zip(_components(parametrization), y.T, strict=True):
                ax.plot(t, values, lw=0.9, label=f"{symbol}{component}")
            if parametrization != "quaternion":
                axes[3].plot(t, np.linalg.norm(y, axis=1), lw=0.9, label=f"|{symbol}|")
            ax.set(title=symbol, xlabel="t")
            ax.legend(fontsize=7, loc="upper right")
            if parametrization == "tangential":
                ax.set_ylim(max(-8.0, y.min()) * 1.05, min(8.0, y.max()) * 1.05)
        axes[3].set(title="norms", xlabel="t", ylim=(0.0, min(15.0, axes[3].get_ylim()[1])))
        axes[3].legend(fontsize=7, loc="upper right")
        figure.suptitle(f"{label}: exact solution")

    report.figure(name, draw, size=(14.0, 3.4))


def _growth_figure(report: Report, item: str, name: str, label: str, curves: Curves, component: int) -> None:
    report.progress(item)

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for column, (t, growth) in curves.items():
            thin = max(1, len(t) // 2000)
            ax = left if column.startswith("ODE") else right
            ax.semilogy(t[1::thin], np.maximum(growth[1::thin, component - 1], 1e-17), label=column)
        for ax in (left, right):
            ax.set(xlabel="t", ylabel=f"RL2 on [0, t], component {component}")
            ax.grid(alpha=0.3)
            ax.legend(fontsize=8)
        figure.suptitle(f"{label}: growth of the error")

    report.figure(name, draw)
