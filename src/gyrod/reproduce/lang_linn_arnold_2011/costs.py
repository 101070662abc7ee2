"""Operations, counts, CPU times: Tables 1 to 3, Figures 7 and 8."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gyrod import problems, rotations
from gyrod._check import Array
from gyrod.equations import compile_system
from gyrod.problems import RodProblem
from gyrod.reproduce import Report
from gyrod.reproduce.lang_linn_arnold_2011.paper import (
    CURVATURES,
    METHODS,
    OPERATORS,
    SECONDS,
    SHARES,
    SPEED,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TOLERANCES,
    Printed,
)
from gyrod.reproduce.lang_linn_arnold_2011.runs import Counts, counts, name_of, short, solve
from gyrod.runs.methods import PREDICTIVE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gyrod.equations.checks import CoreOptions

# --- Table 1 ---------------------------------------------------------------------------------------------------------


def table_1(report: Report) -> None:
    """Operations of one right-hand side per segment, counted by running it with numbers that count."""
    report.progress("Table 1")
    base = np.array(TABLE_1["(i)"])
    for curvature, name in CURVATURES.items():
        printed = base if curvature == "(i)" else base + np.array(TABLE_1[curvature])
        here = _operations(name)
        for (operator, key), value in zip(OPERATORS.items(), printed, strict=True):
            report.add("Table 1", f"{curvature} {operator} per segment", int(value), here[key])
        total = sum(here.values())
        report.add("Table 1", f"{curvature} operations per segment in all", int(printed.sum()), total)
    here, bare = _operations("sine", 100.0), _operations("sine")
    for (operator, key), added in zip(OPERATORS.items(), TABLE_1["Baumgarte"], strict=True):
        report.add("Table 1", f"Baumgarte accelerations {operator} per segment", added, here[key] - bare[key])
    for angle in (0.5, 1.5, 2.5):
        total = sum(_operations("angle", bend=angle).values())
        label = f"(v) operations per segment in all, {angle:g} rad between the frames"
        report.add("Table 1", label, int((base + np.array(TABLE_1["(v)"])).sum()), total)


def _operations(curvature: str, baumgarte: float | None = None, bend: float = 0.0) -> dict[str, int]:
    """Operations that a segment adds: the difference of 20 and 10 segments over 10."""
    options: CoreOptions = {} if baumgarte is None else {"baumgarte_omega": baumgarte, "baumgarte_r": baumgarte}
    found = []
    for segments in (10, 20):
        system = problems.lla_rubber(segments=segments, curvature=curvature).system
        compiled = compile_system(system, "absolute-quaternion", **options)
        y = compiled.y0.copy()
        for k, at in enumerate(compiled.layouts()[0].p):
            y[at : at + 4] = rotations.multiply(y[at : at + 4], rotations.exp((0.0, k * bend, 0.0)))
        found.append(compiled.core.operations(y))
    return {key: (found[1][key] - found[0][key]) // 10 for key in found[0]}


# --- Tables 2 and 3 --------------------------------------------------------------------------------------------------


def table_2(report: Report) -> None:
    """Rubber, the data that the counts come from."""
    _table(report, "Table 2", "lla-rubber", TABLE_2)


def table_3(report: Report) -> None:
    """Steel, the data that the counts come from; about a minute."""
    _table(report, "Table 3", "lla-steel", TABLE_3)


def table_2_as_printed(report: Report) -> None:
    """Rubber with the damping and the inertia that are printed."""
    _table(report, "Table 2, data as printed", "lla-rubber-as-printed", TABLE_2)


def table_3_as_printed(report: Report) -> None:
    """Steel with the damping and the inertia that are printed."""
    _table(report, "Table 3, data as printed", "lla-steel-as-printed", TABLE_3)


def step_control(report: Report) -> None:
    """The predictive control of RADAU5 and RODAS, which the counts are of, beside the classical one."""
    item = "step control"
    for material, printed in (("rubber", TABLE_2), ("steel", TABLE_3)):
        for method in PREDICTIVE:
            ratios = []
            for tolerance, (_, _, paper) in zip(TOLERANCES, printed[method], strict=True):
                report.progress(f"{item}, {material}, {method} at {tolerance:g}")
                steps = []
                for control, told in (("predictive", paper), ("classical", None)):
                    found = counts(f"lla-{material}", method, tolerance, control)
                    label = f"{material}: {method.upper()} at {tolerance:g}, {control}"
                    if isinstance(found, str):
                        report.add(item, label, None, found)
                        continue
                    steps.append(found.steps)
                    report.add(item, f"{label}: steps", told, found.steps)
                    report.add(item, f"{label}: error at T", None, short(found.error))
                if len(steps) == 2:
                    ratios.append(steps[1] / steps[0])
            # The text, of RADAU5: "we did not discover any significant difference".
            text = "no significant difference" if method == "radau5" else None
            label = f"{material}: {method.upper()}: steps of the classical control over those of the predictive one"
            report.add(item, label, text, f"{min(ratios):.2f} to {max(ratios):.2f}")


def _table(report: Report, item: str, name: str, printed: Printed) -> None:
    for method in METHODS:
        for tolerance, paper in zip(TOLERANCES, printed[method], strict=True):
            report.progress(f"{item}, {method} at {tolerance:g}")
            found = counts(name, method, tolerance)
            label = f"{name_of(method)} at {tolerance:g}"
            if isinstance(found, str):
                report.add(item, label, None, found)
                continue
            if found.simulated < problems.get(name).t_end:
                label += f" (extrapolated from {found.simulated:g} s)"
            here = (found.rhs, found.jacobians, found.steps)
            for what, paper_value, value in zip(("f", "Jacobians", "steps"), paper, here, strict=True):
                report.add(item, f"{label} {what}", paper_value, value)


# --- Figure 7 --------------------------------------------------------------------------------------------------------


def figure_7(report: Report) -> None:
    """CPU time against accuracy, and where the time goes."""
    runs: dict[tuple[str, str], dict[float, Counts]] = {}
    for material in ("rubber", "steel"):
        for method in METHODS:
            report.progress(f"Figure 7, {material}, {method}")
            found = {tolerance: counts(f"lla-{material}", method, tolerance) for tolerance in TOLERANCES}
            runs[material, method] = {tolerance: c for tolerance, c in found.items() if isinstance(c, Counts)}
        seconds = kernel_seconds(problems.get(f"lla-{material}"))
        for what, value in seconds.items():
            report.add("Figure 7", f"{material}: one {what} (s)", SECONDS.get(what), short(value))
        for method, share in SHARES.items():
            label = f"{material}: share of CPU time in f and Jacobian, {method.upper()}, mean of all tolerances"
            spent = [
                (c.rhs * seconds["f"] + c.jacobians * seconds["Jacobian"]) / c.seconds
                for c in runs[material, method].values()
            ]
            report.add("Figure 7", label, share, round(float(np.mean(spent)), 2))
        coarse = runs[material, "rodas"][TOLERANCES[0]]
        label = f"{material}: simulated over CPU time, RODAS at 1e-2"
        report.add("Figure 7", label, SPEED[material], round(10.0 / coarse.seconds))
        for method in METHODS:
            for tolerance, c in runs[material, method].items():
                label = f"{material}: {name_of(method)} at {tolerance:g}"
                report.add("Figure 7", f"{label}: CPU s", None, short(c.seconds))
                if np.isfinite(c.error):
                    report.add("Figure 7", f"{label}: error at T", None, short(c.error))

    def draw(figure: Figure) -> None:
        from matplotlib.ticker import LogLocator, NullFormatter

        for ax, material in zip(figure.subplots(1, 2), ("rubber", "steel"), strict=True):
            for k, method in enumerate(METHODS):
                c = list(runs[material, method].values())
                label = name_of(method)
                if c and not np.isfinite(c[0].error):  # extrapolated
                    ax.axvline(c[0].seconds, color=f"C{k}", ls="--", lw=0.9, label=f"{label}, at any tolerance")
                else:
                    ax.loglog(
                        [x.seconds for x in c], [x.error for x in c], "o-", color=f"C{k}", ms=4, lw=0.9, label=label
                    )
            ax.set(title=material, xlabel="CPU time for 10 s [s]", ylabel="error of the free end at 10 s", xscale="log")
            ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ax.xaxis.set_major_formatter("{x:g}")
            ax.xaxis.set_minor_formatter(NullFormatter())
            ax.grid(alpha=0.3)
            ax.legend(fontsize=8)
        figure.suptitle("Tolerances 1e-2 ... 1e-8, data as computed")

    report.figure("figure-7", draw)


def kernel_seconds(problem: RodProblem) -> dict[str, float]:
    """CPU seconds of one f, one Jacobian, one factorization, one solve; the best of five times a thousand."""
    compiled = compile_system(problem.system, "absolute-quaternion", baumgarte_omega=100.0, baumgarte_r=100.0)
    core, y = compiled.core, compiled.y0
    stages = np.array([core.time_stage(y, 1000) for _ in range(5)]).min(axis=0)
    f = min(core.time_rhs(y, 1000) for _ in range(5))
    return dict(zip(("f", "Jacobian", "factorization", "solve"), (f, *stages.tolist()), strict=True))


# --- Figure 8 --------------------------------------------------------------------------------------------------------


def figure_8(report: Report) -> None:
    """Step sizes at 1e-3; a part of the time."""
    steps: dict[tuple[str, str], Array] = {}
    for material, until in (("rubber", 10.0), ("steel", 1.0)):
        for method in METHODS:
            report.progress(f"Figure 8, {material}, {method}")
            T = 0.1 if (material, method) == ("steel", "dopri5") else until
            motion = solve(problems.get(f"lla-{material}"), method, 1e-3, T)
            steps[material, method] = motion.steps
            h = np.diff(motion.steps)
            label = f"{material}: {name_of(method)}: mean step in the first {T:g} s"
            report.add("Figure 8", label, None, short(float(h.mean())))

    def draw(figure: Figure) -> None:
        for ax, (material, lo, hi) in zip(
            figure.subplots(1, 2), (("rubber", 5.0, 6.0), ("steel", 0.0, 1.0)), strict=True
        ):
            for k, method in enumerate(METHODS):
                t = steps[material, method][:-1]  # not the last step, which ends at T
                shown = (t[1:] >= lo) & (t[1:] <= hi)
                ax.semilogy(t[1:][shown], np.diff(t)[shown], f"C{k}", lw=0.9, label=name_of(method))
            ax.set(title=material, xlabel="t [s]", ylabel="step [s]")
            ax.grid(alpha=0.3)
            ax.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.55, 0.08))
        figure.suptitle("Accepted steps at 1e-3, data as computed")

    report.figure("figure-8", draw)
