"""H. Lang: Quaternionic and rotation-free null space formalisms (2010): tables, Figures 6 and 8 to 16."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod import problems, rotations
from gyrod._check import Array
from gyrod.equations import compile_system
from gyrod.model import Body, Cylindrical, Joint, Planar, Prismatic, Revolute, Spherical, System
from gyrod.motion import Motion, SimulationError
from gyrod.problems import MechanismProblem, RigidProblem
from gyrod.reproduce import Report, multistep
from gyrod.runs.formulations import Formulation
from gyrod.solve import Event, simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gyrod._check import Data


TITLE = (
    "Lang: Comparison of quaternionic and rotation-free null space formalisms for multibody dynamics. "
    "Fraunhofer ITWM 180 (2010)"
)

#: The paper's equations: formulation and variant. (40) is the exact index-0 form; what is printed holds on the sphere.
FORMS: dict[str, tuple[str, str]] = {
    "(42)": ("nullspace-quaternion", "exact"),
    "(25)": ("nullspace-directors", "exact"),
    "(40)": ("absolute-quaternion", "exact"),
    "(40) as printed": ("absolute-quaternion", "printed"),
    "(23)": ("absolute-directors", "exact"),
    "(66)": ("euler", "exact"),
}

#: Operators in the order of Table 1, and the core's names of them.
OPERATORS = {"+": "+", "-": "-", "*": "*", "/": "/", "squares": "square", "sin": "sin", "cos": "cos"}
#: Unknowns and operations as printed.
TABLE_1 = {
    "(42)": (7, (5, 7, 18, 6, 0, 0, 0)),
    "(25)": (12, (0, 12, 24, 3, 0, 0, 0)),
    "(40)": (8, (17, 4, 24, 3, 4, 0, 0)),
    "(23)": (18, (16, 1, 10, 0, 9, 0, 0)),
    "(66)": (6, (2, 5, 14, 5, 0, 2, 2)),
}

EXPLICIT = ("dopri5", "dop853", "odex")
#: "bdf" stands for DASSL and ODE15s, see `multistep`; RODAS is not in the paper.
IMPLICIT = ("radau5", "bdf", "seulex", "rodas")
#: AbsTol = RelTol of the accuracy plots; their rows are those at `SHOWN`.
TOLERANCES = tuple(10.0**-k for k in range(4, 10))
SHOWN = 1e-6

#: The four forms of a mechanism: (60) and (61) are null-space forms, (58) and (59) index-0 versions of absolute ones.
JOINT_FORMS = {
    "(61)": "nullspace-quaternion",
    "(60)": "nullspace-directors",
    "(59)": "absolute-quaternion",
    "(58)": "absolute-directors",
}
#: Unknowns of example C in these forms as the text says.
UNKNOWNS = {"(61)": 23, "(60)": 33, "(59)": 28, "(58)": 48}
#: External constraints, degrees of freedom, all constraints rotation-free and with quaternions, as printed.
TABLE_2: dict[type[Joint], tuple[int, int, int, int]] = {
    Planar: (3, 9, 15, 5),
    Spherical: (3, 9, 15, 5),
    Cylindrical: (4, 8, 16, 6),
    Prismatic: (5, 7, 17, 7),
    Revolute: (5, 7, 17, 7),
}
#: Tolerances of Figure 16, and the evaluations that Hairer's DOPRI5 takes for the same equations up to 0.25 s.
FINE = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
HAIRER = {
    "(61)": (428, 908, 1910, 4652, 11708),
    "(60)": (404, 896, 1856, 4562, 11456),
    "(59)": (452, 920, 1952, 4760, 12020),
    "(58)": (470, 992, 2228, 5510, 13958),
}
#: Ends of the runs of Figure 16; the paper's 4 s are beyond what the motion lets anyone compute.
SHORT = (0.25, 0.5)

#: By panel and form: evaluations, largest error of the directors and of Omega at the end, for each tolerance, (n, 3).
Curves = dict[tuple[str, str], Array]


@dataclass(frozen=True)
class Case:
    """A run of an accuracy plot by form, method and tolerance, and its errors of d and Omega."""

    run: Callable[[str, str, float], Motion]
    errors: Callable[[Motion], tuple[float, float]]
    forms: Iterable[str]
    tolerances: tuple[float, ...]

    @classmethod
    def of(cls, problem: RigidProblem) -> Case:
        """Examples A and B."""
        exact = reference(problem)
        return cls(partial(solve, problem), lambda motion: end_errors(motion, *exact), FORMS, TOLERANCES)

    @classmethod
    def joined(cls, problem: MechanismProblem, t_end: float) -> Case:
        """Example C up to a time."""
        exact = _states(problem, t_end)
        run = partial(solve_joined, problem, t_end)
        return cls(run, lambda motion: _errors(motion, exact), JOINT_FORMS, FINE)


def run(report: Report) -> None:
    """All tables and figures."""
    for part in PARTS.values():
        part(report)


def part_a(report: Report) -> None:
    """The heavy top, and the operations of one right-hand side."""
    top = problems.heavy_top()
    table_1(report, top)
    _drift(report, top)
    _step_sizes(report, "Figure 8", "Example A", top)
    _energy(report, problems.heavy_top(500.0))
    _solution(report, "Figure 11", "Example A", top)
    _accuracy(report, "Figure 13", {"": Case.of(top)}, EXPLICIT)
    _accuracy(report, "Figure 14", {"": Case.of(top)}, IMPLICIT)


def part_b(report: Report) -> None:
    """The tennis racket."""
    racket = problems.tennis_racket()
    _step_sizes(report, "Figure 9", "Example B", racket)
    _solution(report, "Figure 12", "Example B", racket)
    disturbed = {f", disturbance {e:g}": Case.of(problems.tennis_racket(e)) for e in (1e-1, 1e-5)}
    _accuracy(report, "Figure 15", disturbed, ("dopri5",))
    # "The corresponding pictures for Examples B and C and our solver collection look similar."
    for label, case in disturbed.items():
        _accuracy(report, f"Example B{label}, explicit", {"": case}, EXPLICIT)
        _accuracy(report, f"Example B{label}, implicit", {"": case}, IMPLICIT)


def part_c(report: Report) -> None:
    """Two bodies on a ball joint, and the joints of section 5."""
    table_2(report)
    pair = problems.two_bodies()
    figure_16(report, pair)
    for T in SHORT:
        _accuracy(report, f"Example C, T = {T:g} s, explicit", {"": Case.joined(pair, T)}, EXPLICIT)
        _accuracy(report, f"Example C, T = {T:g} s, implicit", {"": Case.joined(pair, T)}, IMPLICIT)
    chaos(report, pair)
    indices(report, pair)


def solve(problem: RigidProblem, form: str, method: str, tolerance: float, **options: Any) -> Motion:
    """Integrate as in the paper: AbsTol = RelTol, plain norm, no projection unless requested."""
    formulation, equation = FORMS[form]
    options = {"norm": "plain", "projection": "none", "dense": False, **options}
    return simulate(
        problem.system,
        problem.t_end,
        formulation=Formulation(formulation, equation=equation),
        method=method,
        rtol=tolerance,
        atol=tolerance,
        **options,
    )


def end_errors(motion: Motion, matrix: Array, Omega: Array) -> tuple[float, float]:
    """Largest error of a component of the directors and of the angular velocity at the end."""
    track = motion[motion.names[0]]
    return float(np.abs(track.matrix[-1] - matrix).max()), float(np.abs(track.Omega[-1] - Omega).max())


def reference(problem: RigidProblem) -> tuple[Array, Array]:
    """Directors and angular velocity at the end: the trusted ones, or of the null-space form at a tight tolerance."""
    values = problem.reference.get(problem.t_end)
    if values is not None:
        return rotations.matrix_from_quaternion(values["quaternion"]), np.array(values["Omega"])
    fine = simulate(problem.system, problem.t_end, method="dop853", rtol=1e-13, norm="plain", dense=False)
    track = fine[fine.names[0]]
    return track.matrix[-1], track.Omega[-1]


def table_1(report: Report, problem: RigidProblem) -> None:
    """Operations counted by running with numbers that count: of the rotation alone as in the paper, and of all."""
    report.progress("Table 1")
    for form, (formulation, equation) in FORMS.items():
        unknowns, printed = TABLE_1.get(form, (None, (None,) * len(OPERATORS)))
        compiled = compile_system(problem.system, formulation, printed=equation == "printed")
        alone, whole = (compiled.core.operations(compiled.y0, alone) for alone in (True, False))
        report.add("Table 1", f"{form} unknowns", unknowns, compiled.size)
        for (operator, name), value in zip(OPERATORS.items(), printed, strict=True):
            report.add("Table 1", f"{form} {operator}", value, alone[name])
            report.add("Table 1", f"{form} {operator} of the whole right-hand side with gravity", None, whole[name])
        total = None if unknowns is None else sum(v for v in printed if v is not None)
        # The paper counts the 15 x 15 elimination of (23) apart; here it is 6 x 6 and among the operations.
        note = " (paper: without its LU decomposition 15 x 15; here: with one 6 x 6)" if form == "(23)" else ""
        report.add("Table 1", f"{form} operations in all{note}", total, sum(alone.values()))
        report.add("Table 1", f"{form} operations of the whole right-hand side in all", None, sum(whole.values()))


def drift_slopes(motion: Motion) -> tuple[float, float]:
    """Slopes of log |g| and log |dg/dt| over log t in the last nine tenths; NaN where there is no drift."""
    late = motion.t >= 0.1 * motion.t[-1]
    slopes = []
    for residual in (motion.drift.position, motion.drift.velocity):
        # The envelope: residuals swing with the nutation.
        envelope = np.maximum.accumulate(residual)[late]
        rounding = envelope[-1] < 1e-14
        slopes.append(np.nan if rounding else np.polyfit(np.log(motion.t[late]), np.log(envelope), 1)[0])
    return float(slopes[0]), float(slopes[1])


def _drift(report: Report, problem: RigidProblem) -> None:
    motions = {}
    for form in FORMS:
        report.progress(f"Figure 6, {form}")
        motions[form] = motion = solve(problem, form, "radau5", 1e-9)
        position, velocity = drift_slopes(motion)
        # The text: quadratic and linear drift of the absolute forms, linear drift of the null-space forms.
        text = {"(42)": (1, None), "(25)": (1, None), "(40)": (2, 1), "(23)": (2, 1)}.get(form, (None, None))
        for symbol, residual, slope, expected in zip(
            ("g", "dg/dt"), (motion.drift.position, motion.drift.velocity), (position, velocity), text, strict=True
        ):
            report.add("Figure 6", f"{form} largest |{symbol}|", None, _short(float(residual.max())))
            if not np.isnan(slope):
                report.add("Figure 6", f"{form} exponent of t in |{symbol}|", expected, round(slope, 2))

    def draw(figure: Figure) -> None:
        for ax, level in zip(figure.subplots(1, 2), ("position", "velocity"), strict=True):
            for k, (form, motion) in enumerate(motions.items()):
                residual = getattr(motion.drift, level)
                if residual.max() > 0.0:
                    ax.loglog(motion.t[1:], np.maximum(residual[1:], 1e-17), f"C{k}", lw=0.9, label=form)
            ax.set(xlabel="t [s]", ylabel="|g|" if level == "position" else "|dg/dt|", xlim=(0.05, None))
            ax.grid(alpha=0.3)
            ax.legend(fontsize=8)
        figure.suptitle("Example A, RADAU5 at 1e-9: drift without projection")

    report.figure("figure-6", draw)


def _step_sizes(report: Report, item: str, label: str, problem: RigidProblem) -> None:
    motions = {}
    for form in FORMS:
        report.progress(f"{item}, {form}")
        motions[form] = motion = solve(problem, form, "dopri5", SHOWN)
        # Neither the guessed first step nor the last, which ends at T.
        h = np.diff(motion.steps)[1:-1]
        for name, value in (("mean", h.mean()), ("smallest", h.min()), ("largest", h.max())):
            report.add(item, f"{form} {name} step (s)", None, _short(float(value)))
        report.add(item, f"{form} steps", None, motion.stats.steps)

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        for form, motion in motions.items():
            until = motion.steps[1:] <= 5.0
            ax.plot(motion.steps[1:][until], np.diff(motion.steps)[until], lw=0.8, label=form)
        ax.set(title=f"{label}: steps of DOPRI5 at {SHOWN:g}", xlabel="t [s]", ylabel="step [s]")
        ax.legend(fontsize=8)

    report.figure(item.lower().replace(" ", "-"), draw)


def _energy(report: Report, problem: RigidProblem) -> None:
    curves: dict[tuple[float, str, str], tuple[Array, Array]] = {}
    for tolerance in (1e-4, 1e-6):
        for projection in ("none", "step"):
            for form in FORMS:
                report.progress(f"Figure 10, {form} at {tolerance:g}")
                label = f"{form} at {tolerance:g}, projection {projection}"
                try:
                    motion = solve(problem, form, "dopri5", tolerance, projection=projection)
                except SimulationError as error:
                    motion = error.motion
                    report.add("Figure 10", f"{label}: stops at t", None, _short(error.time))
                energy = motion.energy.total
                change = np.abs(energy / energy[0] - 1.0)
                report.add("Figure 10", f"{label}: largest relative change", None, _short(float(change.max())))
                curves[tolerance, projection, form] = (motion.t, energy)

    def draw(figure: Figure) -> None:
        for ax, tolerance in zip(figure.subplots(1, 2), (1e-4, 1e-6), strict=True):
            for (of, projection, form), (t, energy) in curves.items():
                if of == tolerance and projection == "none":
                    thin = max(1, len(t) // 2000)
                    ax.plot(t[::thin], energy[::thin], lw=1.0, label=form)
            ax.set(title=f"DOPRI5 at {tolerance:g}", xlabel="t [s]", ylabel="total energy [J]")
            ax.legend(fontsize=8)
        figure.suptitle("Example A with Omega(0) = (0, 0, 500)")

    report.figure("figure-10", draw)


def _solution(report: Report, item: str, label: str, problem: RigidProblem) -> None:
    name = problem.system.names[0]
    matrix, Omega = reference(problem)
    turns = [Event(lambda _, m: float(m[name].Omega[0]))] if name == "racket" else []
    motions = {}
    for form in FORMS:
        report.progress(f"{item}, {form}")
        t = np.linspace(0.0, problem.t_end, 3001)
        motions[form] = motion = solve(problem, form, "dop853", 1e-12, projection="step", output=t, events=turns)
        for number, (event, said) in enumerate(zip(motion.events, (0.4, 1.2), strict=False), 1):
            # The text: "at about 0.4 s", "at about 1.2 s".
            report.add(item, f"{form} reversal {number}: Omega1 = 0 at t", said, round(event.t, 6))
        errors = end_errors(motion, matrix, Omega)
        for symbol, error in zip(("d", "Omega"), errors, strict=True):
            report.add(item, f"{form} error of {symbol} at T = {problem.t_end:g}, DOP853 at 1e-12", None, _short(error))

    def draw(figure: Figure) -> None:
        motion = motions["(42)"]
        track = motion[name]
        axes = figure.subplots(2, 2)
        shown = motion.t <= 10.0
        for k, ax in enumerate(axes.flat[:3]):
            ax.plot(motion.t[shown], track.matrix[shown, :, k], lw=0.8, label=["x", "y", "z"])
            ax.set(title=f"d{k + 1}", xlabel="t [s]", ylim=(-1.05, 1.05))
        axes.flat[3].plot(motion.t[shown], track.Omega[shown], lw=0.8, label=["Omega1", "Omega2", "Omega3"])
        axes.flat[3].set(title="Omega [1/s]", xlabel="t [s]")
        for ax in axes.flat:
            ax.legend(fontsize=7, loc="upper right")
        figure.suptitle(f"{label}: solution")

    report.figure(item.lower().replace(" ", "-"), draw, size=(10.0, 6.0))


def _accuracy(report: Report, item: str, cases: dict[str, Case], methods: tuple[str, ...]) -> None:
    curves: Curves = {}
    for label, case in cases.items():
        for name in methods:
            method, title = multistep() if name == "bdf" else (name, name.upper())
            panel = f"{title}{label}"
            for form in case.forms:
                report.progress(f"{item}, {panel} {form}")
                points = [_point(report, item, panel, case, form, method, tol) for tol in case.tolerances]
                curves[panel, form] = np.array([p for p in points if p is not None]).reshape(-1, 3)
    _accuracy_figure(report, item, curves)


def _accuracy_figure(report: Report, item: str, curves: Curves) -> None:
    panels = list(dict.fromkeys(panel for panel, _ in curves))

    def draw(figure: Figure) -> None:
        from matplotlib.ticker import NullFormatter

        axes = figure.subplots(2, len(panels), squeeze=False, sharex="col")
        for (panel, form), points in curves.items():
            column = panels.index(panel)
            for row, symbol in enumerate(("d", "Omega")):
                ax = axes[row, column]
                ax.loglog(points[:, 0], points[:, row + 1], ".-", lw=0.9, label=form)
                ax.set(ylabel=f"error of {symbol} at T" if column == 0 else "", title="" if row else panel)
                ax.grid(alpha=0.3)
            axes[1, column].set(xlabel="evaluations of the right-hand side")
            axes[1, column].xaxis.set_minor_formatter(NullFormatter())
        for column, panel in enumerate(panels):
            counts = np.concatenate([points[:, 0] for (of, _), points in curves.items() if of == panel])
            decades = np.log10([counts.min(), counts.max()])
            axes[1, column].set_xlim(10.0 ** np.floor(decades[0]), 10.0 ** np.ceil(decades[1]))
        axes[0, 0].legend(fontsize=7)
        figure.suptitle(item)

    name = re.sub("[^a-z0-9.-]+", "-", item.lower().replace(" = ", " "))
    report.figure(name, draw, size=(4.0 * max(2, len(panels)), 6.0))


def _point(
    report: Report, item: str, panel: str, case: Case, form: str, method: str, tolerance: float
) -> tuple[float, float, float] | None:
    """One run of an accuracy plot; None if it cannot be done."""
    label = f"{panel} {form} at {tolerance:g}"
    try:
        motion = case.run(form, method, tolerance)
    except SimulationError as error:
        report.add(item, f"{label}: stops at t", None, _short(error.time))
        return None
    errors = case.errors(motion)
    # Everything of Figure 15: there the absolute forms fail at coarse tolerances.
    if tolerance == SHOWN or (item == "Figure 15" and tolerance > SHOWN):
        report.add(item, f"{label}: evaluations", None, motion.stats.rhs)
        for symbol, value in zip(("d", "Omega"), errors, strict=True):
            report.add(item, f"{label}: error of {symbol}", None, _short(value))
    return float(motion.stats.rhs), *errors


# --- example C -------------------------------------------------------------------------------------------------------


def table_2(report: Report) -> None:
    """Numbers of constraints and unknowns of two bodies on each lower pair, counted from the compiled equations."""
    report.progress("Table 2")
    for kind, printed in TABLE_2.items():
        system = _pair(kind)
        left = system.mobility()
        sizes = {form: compile_system(system, name).size for form, name in JOINT_FORMS.items()}
        # With multipliers and accelerations kept as unknowns there are 3 N_q + N_lambda of them.
        with_forces = {form: compile_system(system, JOINT_FORMS[form], level=1).size for form in ("(58)", "(59)")}
        counted = left.rows, left.freedoms, *(with_forces[form] - 3 * sizes[form] // 2 for form in ("(58)", "(59)"))
        labels = ("external constraints", "degrees of freedom", "N_lambda, rotation-free", "N_lambda, quaternionic")
        for label, paper, here in zip(labels, printed, counted, strict=True):
            report.add("Table 2", f"{kind.__name__} {label}", paper, here)
        for form, size in sizes.items():
            paper_size = UNKNOWNS[form] if kind is Spherical else None
            report.add("Table 2", f"{kind.__name__} unknowns of {form}", paper_size, size)


def _pair(kind: type[Joint]) -> System:
    bodies = [Body(n, mass=1.0, inertia=(1.0, 2.0, 2.5), position=(x, 0.0, 0.0)) for n, x in (("a", 0.0), ("b", 1.0))]
    where: dict[str, Any] = {"at": (0.5, 0.1, 0.2)}
    if kind is not Spherical:
        where["axis"] = (1.0, 2.0, 3.0)
    return System(bodies, [kind("a", "b", **where)])


def figure_16(report: Report, problem: MechanismProblem) -> None:
    """Accuracy against evaluations, DOPRI5, AbsTol = RelTol, plain norm, no projection."""
    curves: Curves = {}
    for T in SHORT:
        exact = _states(problem, T)
        known = T in problem.reference
        report.add(
            "Figure 16", f"T = {T:g} s: errors are those against", None, "trusted" if known else "DOP853 at 1e-13"
        )
        for form in JOINT_FORMS:
            points = []
            for tolerance, trusted in zip(FINE, HAIRER[form], strict=True):
                report.progress(f"Figure 16, {form} at {tolerance:g}")
                motion = solve_joined(problem, T, form, "dopri5", tolerance)
                label = f"T = {T:g} s, {form} at {tolerance:g}"
                errors = _errors(motion, exact)
                points.append((motion.stats.rhs, *errors))
                code = f" (Hairer's code: {trusted})" if known else ""
                report.add("Figure 16", f"{label}: evaluations{code}", None, motion.stats.rhs)
                for symbol, value in zip(("d", "Omega"), errors, strict=True):
                    report.add("Figure 16", f"{label}: error of {symbol}", None, _short(value))
                if tolerance == SHOWN:
                    joint, internal = gaps(motion)
                    report.add("Figure 16", f"{label}: gap of the joint at T", None, _short(joint))
                    report.add("Figure 16", f"{label}: internal constraints at T", None, _short(internal))
            curves[f"DOPRI5, T = {T:g} s", form] = np.array(points)

    _accuracy_figure(report, "Figure 16", curves)


def solve_joined(
    problem: MechanismProblem, t_end: float, form: str, method: str, tolerance: float, **options: Any
) -> Motion:
    """Integrate example C as in the paper: AbsTol = RelTol, plain norm, no projection unless requested."""
    own: dict[str, Any] = {"formulation": JOINT_FORMS[form], "norm": "plain", "projection": "none", "dense": False}
    return simulate(problem.system, t_end, method=method, rtol=tolerance, atol=tolerance, **own | options)


def _states(problem: MechanismProblem, t: float) -> dict[str, tuple[Array, Array]]:
    """Directors and angular velocities at t: the trusted ones, or those of the null-space form at 1e-13."""
    known = problem.reference.get(t)
    if known is not None:
        return {
            body: (rotations.matrix_from_quaternion(values["quaternion"]), np.array(values["Omega"]))
            for body, values in known.items()
        }
    fine = solve_joined(problem, t, "(61)", "dop853", 1e-13, projection="step")
    return {body: (fine[body].matrix[-1], fine[body].Omega[-1]) for body in fine.names}


def _errors(motion: Motion, exact: dict[str, tuple[Array, Array]]) -> tuple[float, float]:
    """Largest error of a component of the directors and of Omega of both bodies at the end."""
    found = [
        (np.abs(motion[body].matrix[-1] - R).max(), np.abs(motion[body].Omega[-1] - Omega).max())
        for body, (R, Omega) in exact.items()
    ]
    return float(max(d for d, _ in found)), float(max(w for _, w in found))


def gaps(motion: Motion) -> tuple[float, float]:
    """Largest residual of the joint, and of the internal constraints (34) or (19), at the end, as integrated."""
    compiled, y = motion.compiled, motion.y[-1]
    bodies = compiled.core.motions(motion.t[-1:], y[None], False)[0]
    joint = compiled.core.joint_rows(float(motion.t[-1]), bodies)[:, 1]
    internal = []
    for i in range(len(compiled.system.bodies)):
        at = compiled.core.offset(i) + 3
        if compiled.formulation.endswith("quaternion"):
            internal.append(abs(0.5 * (y[at : at + 4] @ y[at : at + 4] - 1.0)))
        else:
            internal.append(float(np.abs(rotations.director_constraint(y[at : at + 9])).max()))
    return float(np.abs(joint).max()), float(max(internal))


def chaos(report: Report, problem: MechanismProblem) -> None:
    """How a disturbance of 1e-10 grows: why nobody can compare solutions at 4 s."""
    size, times = 1e-10, np.array([0.25, 0.5, 1.0])
    solved = []
    for shift in (np.zeros(3), *(size * np.eye(3))):
        report.progress("Example C, growth of a disturbance")
        # Both bodies move by the same: the joint stays together.
        bodies = [
            Body(
                b.name,
                mass=b.mass,
                inertia=b.inertia,
                position=b.position + shift,
                orientation=b.orientation,
                velocity=b.velocity,
                angular_velocity=b.angular_velocity,
            )
            for b in problem.system.bodies
        ]
        given = problem.system
        system = System(bodies, given.joints, forces=given.forces, gravity=given.gravity)
        options: Data = {"projection": "step", "output": times}
        motion = solve_joined(replace(problem, system=system), float(times[-1]), "(61)", "dop853", 1e-13, **options)
        tracks = [motion[body] for body in motion.names]
        solved.append(np.concatenate([np.hstack([t.position, t.velocity, t.Omega]) for t in tracks], axis=1))
    growth = np.max([np.abs(near - solved[0]).max(axis=1) for near in solved[1:]], axis=0) / size
    item = "Example C, chaos"
    for t, factor in zip(times, growth, strict=True):
        report.add(
            item, f"1e-10 m at the start have grown in {t:g} s by (m, m/s or rad/s)", None, _short(float(factor))
        )
    # As fast as in the last half second, from a rounding error at the start; beyond that nothing is right.
    pace = np.log(growth[-1] / growth[-2]) / (times[-1] - times[-2])
    lost = float(times[-1] + np.log(1e16 / growth[-1]) / pace)
    report.add(item, "rounding, 1e-16 at the start, has grown to 1 at t (paper: compares at 4 s)", None, round(lost, 1))


def indices(report: Report, problem: MechanismProblem) -> None:
    """The family of section 2: index 3, 2, 1, 0, the numerical null space and the null-space form."""
    item, T, tolerance, absolute = "Section 2", SHORT[0], 1e-7, JOINT_FORMS["(59)"]
    exact = _states(problem, T)
    cases: dict[str, tuple[str, Data]] = {
        "(1), index 3": ("(59)", {"formulation": Formulation(absolute, index=3)}),
        "(3), index 2": ("(59)", {"formulation": Formulation(absolute, index=2)}),
        "(4), index 1": ("(59)", {"formulation": Formulation(absolute, index=1)}),
        "(6), index 0": ("(59)", {}),
        "(6), index 0, projected": ("(59)", {"projection": "step"}),
        "(11), null space by QR": ("(59)", {"formulation": Formulation(absolute, null_space="qr")}),
        "(11), null space of the tree": ("(61)", {}),
        "(11), null space of the tree, projected": ("(61)", {"projection": "step"}),
    }
    for label, (form, options) in cases.items():
        report.progress(f"{item}, {label}")
        try:
            motion = solve_joined(problem, T, form, "radau5", tolerance, **options)
        except SimulationError as error:
            report.add(item, f"{label}: stops at t", None, _short(error.time))
            continue
        stats = motion.stats
        report.add(item, f"{label}: unknowns", None, motion.compiled.size)
        report.add(item, f"{label}: largest |g|", None, _short(float(motion.drift.position.max())))
        report.add(item, f"{label}: largest |dg/dt|", None, _short(float(motion.drift.velocity.max())))
        report.add(item, f"{label}: error of d", None, _short(_errors(motion, exact)[0]))
        for name in ("steps", "rejected", "rhs", "jacobians"):
            report.add(item, f"{label}: {name}", None, getattr(stats, name))
        report.add(item, f"{label}: CPU (ms)", None, _short(1e3 * stats.seconds))


def _short(value: float) -> float:
    return float(f"{value:.4g}")


PARTS: dict[str, Callable[[Report], None]] = {"A": part_a, "B": part_b, "C": part_c}
