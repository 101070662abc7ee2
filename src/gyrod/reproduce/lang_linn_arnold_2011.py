"""H. Lang, J. Linn, M. Arnold: Multibody dynamics simulation of geometrically exact Cosserat rods (2011), by parts.

Tables 2 and 3 have two data sets: "as-computed", which the paper's counts come from, and "as-printed".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gyrod import problems, rotations
from gyrod.equations import Compiled, compile_system
from gyrod.model import Circle, Rod, Straight, System
from gyrod.motion import Motion, RodTrack, SimulationError
from gyrod.problems import RodProblem
from gyrod.reproduce import Report
from gyrod.runs.formulations import Formulation
from gyrod.solve import Path, PathError, follow, simulate

TITLE = (
    "Lang, Linn, Arnold: Multibody dynamics simulation of geometrically exact Cosserat rods. Fraunhofer ITWM 209 (2011)"
)

Array = NDArray[np.float64]

#: The paper's five curvatures by the names they have here, and their generators (34).
CURVATURES = {"(i)": "sine", "(ii)": "half-sine", "(iii)": "tangent", "(iv)": "half-tangent", "(v)": "angle"}
GENERATORS: dict[str, Callable[[Array], Array]] = {
    "(i)": lambda phi: 2.0 * np.sin(phi / 2.0),
    "(ii)": lambda phi: 4.0 * np.sin(phi / 4.0),
    "(iii)": lambda phi: 2.0 * np.tan(phi / 2.0),
    "(iv)": lambda phi: 4.0 * np.tan(phi / 4.0),
    "(v)": lambda phi: phi,
}
FORMULAS = {
    "(i)": "2 sin(φ/2)",
    "(ii)": "4 sin(φ/4)",
    "(iii)": "2 tan(φ/2)",
    "(iv)": "4 tan(φ/4)",
    "(v)": "φ",
}

#: The paper's setting for counts; AbsTol = RelTol.
SETTING: dict[str, Any] = {
    "formulation": Formulation("absolute-quaternion", baumgarte=(100.0, 100.0)),
    "norm": "plain",
    "projection": "none",
    "dense": False,
}

#: Operators of Table 1 and the core's names of them.
OPERATORS = {"+": "+", "-": "-", "*": "*", "/": "/", "squares": "square", "√": "sqrt", "arccos": "atan2"}
#: Per segment: all of curvature (i), and what the others and the Baumgarte accelerations add.
TABLE_1 = {
    "(i)": (174, 111, 289, 3, 4, 0, 0),
    "(ii)": (11, 27, 36, 31, 0, 1, 0),
    "(iii)": (11, 15, 40, 30, 0, 0, 0),
    "(iv)": (10, 15, 39, 30, 0, 0, 0),
    "(v)": (37, 3, 72, 3, 1, 1, 1),
    "Baumgarte": (8, 1, 2, 0, 4, 0, 0),
}

#: "bdf" (CVODE) stands for DASPK.
METHODS = ("radau5", "seulex", "rodas", "bdf", "dopri5")
NAMES = {"bdf": "BDF (CVODE, paper: DASPK)"} | {m: m.upper() for m in METHODS if m != "bdf"}
TOLERANCES = tuple(10.0**-k for k in range(2, 9))
Printed = dict[str, tuple[tuple[int, int, int], ...]]
#: f, Jacobians, steps (accepted and rejected) at 1e-2 ... 1e-8, as printed.
TABLE_2: Printed = {
    "radau5": (
        (12089, 821, 1645), (12555, 877, 1714), (14679, 1071, 2050), (21187, 1507, 2910), (26285, 1809, 3354),
        (27463, 2020, 3224), (33829, 2584, 3813),
    ),
    "seulex": (
        (2725, 335, 453), (8882, 433, 584), (14066, 463, 487), (22311, 443, 473), (38742, 551, 628),
        (46864, 654, 659), (59751, 895, 899),
    ),
    "rodas": (
        (4050, 600, 688), (4764, 769, 799), (7242, 1202, 1208), (12990, 2165, 2165), (25440, 4240, 4240),
        (54588, 9098, 9098), (125382, 20897, 20897),
    ),
    "bdf": (
        (1408, 319, 478), (3358, 458, 1508), (4403, 427, 2299), (6075, 437, 3263), (7301, 438, 3948),
        (9659, 443, 5551), (12952, 471, 7703),
    ),
    "dopri5": (
        (331610, 0, 55268), (331610, 0, 55268), (331622, 0, 55270), (331694, 0, 55282), (332228, 0, 55371),
        (337184, 0, 56179), (364376, 0, 60729),
    ),
}  # fmt: skip
#: RODAS at 1e-5 is printed with 2918 steps, which its other two counts contradict (f = Jacobians + 5 steps).
TABLE_3: Printed = {
    "radau5": (
        (30804, 2096, 4210), (31355, 2146, 4323), (35087, 2296, 5007), (44426, 2985, 6715), (74581, 4218, 12075),
        (107035, 6915, 15972), (129280, 7853, 17272),
    ),
    "seulex": (
        (11450, 1539, 2667), (19073, 2136, 3062), (39904, 3669, 4190), (77994, 3374, 4428), (127326, 4247, 4342),
        (533384, 17868, 18010), (1720395, 57654, 57780),
    ),
    "rodas": (
        (10423, 1568, 1771), (15040, 2430, 2522), (24183, 3963, 4044), (47438, 7848, 2918), (153475, 25525, 25590),
        (449887, 74862, 75005), (1146392, 190917, 191095),
    ),
    "bdf": (
        (6810, 1670, 1865), (6450, 1973, 1697), (10019, 2544, 3499), (30288, 9144, 11417), (81948, 33502, 26983),
        (69220, 20244, 31517), (138874, 5961, 98652),
    ),
    "dopri5": (
        (9211232, 0, 1535205), (9211244, 0, 1535207), (9211256, 0, 1535209), (9211268, 0, 1535211),
        (9211298, 0, 1535216), (9211304, 0, 1535217), (9211310, 0, 1535218),
    ),
}  # fmt: skip
#: Runs that would take too long: the counts of 10 s are those of this many seconds, multiplied.
SHORT = {
    ("lla-rubber-as-printed", "dopri5"): 0.05,
    ("lla-steel", "dopri5"): 0.1,
    ("lla-steel-as-printed", "dopri5"): 0.005,
}
#: Gravity across the plane of the motion, of all of it. What limits the steps of DOPRI5 on steel are modes out of the
#: plane, which the paper's run got from its rounding; a rounding that keeps the plane takes a third of the steps.
ACROSS = 1e-6
#: The text: shares of the CPU time in f and Jacobian, seconds of one evaluation, simulated over CPU time of RODAS.
SHARES = {"radau5": 0.38, "seulex": 0.43, "rodas": 0.61}
SECONDS = {"f": 1.06e-5, "Jacobian": 1.02e-4}
SPEED = {"rubber": 47, "steel": 17}
#: Pseudo-times of Figure 5.
SNAPSHOTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def run(report: Report) -> None:
    """What takes less than a minute."""
    for part in QUICK:
        PARTS[part](report)


# --- runs ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counts:
    """One run of Tables 2 and 3; the error is the largest of x and d1 at the free end at T."""

    rhs: int
    jacobians: int
    steps: int
    seconds: float
    error: float
    #: Simulated seconds; less than 10 where the counts are extrapolated.
    simulated: float


def solve(problem: RodProblem, method: str, tolerance: float, t_end: float | None = None, **options: Any) -> Motion:
    """Integrate in the paper's setting."""
    given = {**SETTING, **options}
    return simulate(problem.system, t_end or problem.t_end, method=method, rtol=tolerance, atol=tolerance, **given)


def free_end(track: RodTrack) -> Array:
    """Position and first director of the free end over time, (n, 6)."""
    return np.concatenate([track.positions[..., -1, :], track.directors[..., -1, :, 0]], axis=-1)


@cache
def end_state(name: str) -> Array:
    """The free end at T = 10 s: the trusted value, or RADAU5 at 1e-10 in the null-space form."""
    problem = problems.get(name)
    trusted = problem.reference.get(problem.t_end)
    if trusted is not None:
        return np.array([*trusted["end"], *trusted["d1"]])
    T = problem.t_end
    motion = simulate(problem.system, T, method="radau5", rtol=1e-10, dense=False, output=[T])
    return np.asarray(free_end(motion["rod"])[-1])


@cache
def counts(name: str, method: str, tolerance: float) -> Counts | str:
    """A run of Tables 2 and 3, or a sentence on why there is none."""
    problem = problems.get(name)
    T = SHORT.get((name, method), problem.t_end)
    if (name, method) == ("lla-steel", "bdf") and tolerance < 5e-4:
        # CVODE does not see that BDF of order 3 to 5 is unstable for weakly damped modes: over a million steps in 10 s.
        T = 0.3
    if (name, method) == ("lla-steel", "dopri5"):
        across = ACROSS * np.linalg.norm(problem.system.gravity)
        problem = replace(problem, system=problem.system.with_({"gravity[0]": across}))
    try:
        motion = solve(problem, method, tolerance, T, output=[T])
    except SimulationError as stop:
        return f"stops at t = {stop.time:.4g}"
    except ImportError as missing:  # BDF is an optional extra
        return str(missing)
    s = motion.stats
    scale = problem.t_end / T
    error = float(np.abs(free_end(motion["rod"])[-1] - end_state(name)).max()) if scale == 1.0 else np.nan
    # The paper's codes count rejected steps among the steps.
    rhs, jacobians, steps = (round(scale * n) for n in (s.rhs, s.jacobians, s.steps + s.rejected))
    return Counts(rhs, jacobians, steps, scale * s.seconds, error, T)


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
    options: dict[str, Any] = {} if baumgarte is None else {"baumgarte_omega": baumgarte, "baumgarte_r": baumgarte}
    found = []
    for segments in (10, 20):
        system = problems.lla_rubber(segments=segments, curvature=curvature).system
        compiled = compile_system(system, "absolute-quaternion", **options)
        y = compiled.y0.copy()
        for k, at in enumerate(compiled.core.layout()[0].p):
            y[at : at + 4] = rotations.multiply(y[at : at + 4], rotations.exp((0.0, k * bend, 0.0)))
        found.append(compiled.core.operations(y))
    return {key: (found[1][key] - found[0][key]) // 10 for key in found[0]}


# --- Test 1 ----------------------------------------------------------------------------------------------------------


def test_1(report: Report) -> None:
    """Figures 3 and 4: the undamped pendulum; there is no Abaqus here."""
    report.progress("Test 1")
    problem = problems.get("lla-test1")
    t = np.linspace(0.0, 1.0, 201)
    motion = simulate(problem.system, 1.0, method="dop853", rtol=1e-12, norm="plain", output=t)
    rod = motion["rod"]
    for time, trusted in problem.reference.items():
        k = int(np.argmin(np.abs(t - time)))
        here = {"end": rod.positions[k, -1], "middle": rod.positions[k, 5], "d1": rod.directors[k, -1, :, 0]}
        here |= {"M2": rod.moment[k, 5, 1], "F1": rod.force[k, 4, 0], "F3": rod.force[k, 4, 2]}
        for label, value in (("x2", here["end"][1]), ("x3", here["end"][2]), ("d1_3", here["d1"][2])):
            report.add("Test 1, Figure 4", f"{label} of the free end at {time:g} s", None, _digits(value))
        for label, unit in (("M2", "N m at vertex 5"), ("F1", "N in segment 5"), ("F3", "N in segment 5")):
            report.add("Test 1, Figure 4", f"{label} ({unit}) at {time:g} s", None, _digits(here[label]))
        error = max(float(np.abs(np.asarray(here[key]) - trusted[key]).max()) for key in trusted)
        report.add("Test 1, Figure 4", f"largest difference from trusted values at {time:g} s", None, _short(error))
    energy = float(np.abs(motion.energy.total - motion.energy.total[0]).max())
    report.add("Test 1, Figure 4", "largest change of energy, DOP853 at 1e-12 (J)", None, _short(energy))
    # The paper's run, and its remark that it costs about as much as Table 2 and that implicit methods cost more.
    for method in ("dopri5", "radau5", "rodas"):
        cost = solve(problem, method, 1e-8, projection="step", formulation="absolute-quaternion").stats
        for label, value in (("f", cost.rhs), ("steps", cost.steps + cost.rejected), ("CPU s", _short(cost.seconds))):
            report.add("Test 1, cost of 1 s", f"{method.upper()} at 1e-8, projected: {label}", None, value)
    report.figure("figure-3", lambda figure: _snapshots(figure, rod, t), size=(9.5, 5.2))
    report.figure("figure-4", lambda figure: _test_1_curves(figure, rod, t), size=(10.0, 6.0))


def _snapshots(figure: Any, rod: RodTrack, t: Array) -> None:
    from matplotlib import colormaps

    ax = figure.subplots()
    for k in range(0, len(t), 20):
        x, d1 = rod.positions[k], rod.directors[k, :, :, 0]
        middle = 0.5 * (x[1:] + x[:-1])
        color = colormaps["turbo"](0.05 + 0.9 * t[k])
        (line,) = ax.plot(x[:, 1], x[:, 2], ".-", color=color, lw=1.2, ms=4, label=f"{t[k]:.1f} s")
        ax.quiver(
            middle[:, 1], middle[:, 2], d1[:, 1], d1[:, 2], color=line.get_color(), angles="xy", scale=22.0,
            width=2e-3, alpha=0.6,
        )  # fmt: skip
    ax.set(title="Test 1: centreline and d1 every 0.1 s", xlabel="x2 [m]", ylabel="x3 [m]", aspect="equal")
    ax.set(ylim=(-1.05, 0.2))
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))


def _test_1_curves(figure: Any, rod: RodTrack, t: Array) -> None:
    curves = {
        "x2 of the free end [m]": rod.positions[:, -1, 1],
        "x3 of the free end [m]": rod.positions[:, -1, 2],
        "d1_3 of the last segment": rod.directors[:, -1, 2, 0],
        "M2 at vertex 5 [N m]": rod.moment[:, 5, 1],
        "F1 in segment 5 [N]": rod.force[:, 4, 0],
        "F3 in segment 5 [N]": rod.force[:, 4, 2],
    }
    for ax, (label, values) in zip(figure.subplots(2, 3).flat, curves.items(), strict=True):
        ax.plot(t, values, lw=1.0)
        ax.set(title=label, xlabel="t [s]")
        ax.grid(alpha=0.3)
    figure.suptitle("Test 1: N = 10, curvature (ii), undamped")


# --- Test 2 ----------------------------------------------------------------------------------------------------------


def test_2(report: Report) -> None:
    """Figures 5 and 6: the quasistatic path, with automatic increments and with the paper's 25; no Abaqus here."""
    problem = problems.get("lla-test2")
    item = "Test 2, Figure 6"
    report.progress("Test 2, automatic increments")
    path = follow(problem.system, problem.parameter, problem.stops)
    for t in problem.stops[1:]:
        x = path.at(t)["rod"].positions
        trusted = problem.reference[f"x(t = {t:g})"]
        for n in range(6):
            for k in range(3):
                report.add(item, f"x{k + 1} of vertex {n} at t = {t:g} (m)", None, _digits(x[n, k]) + 0.0)
        error = float(np.abs(x[:6] - trusted).max())
        report.add(item, f"largest difference from trusted values at t = {t:g} (m)", None, _short(error))
        # "symmetric with respect to the midpoint": half a turn about the vertical through it
        mirrored = np.array([0.0, 1.0, 0.0]) + x[::-1] * (-1.0, -1.0, 1.0)
        report.add(item, f"asymmetry at t = {t:g} (m)", 0, _short(float(np.abs(x - mirrored).max())))
    flat = float(np.abs(path.at(1.0)["rod"].positions[:, 0]).max())
    report.add(item, "largest |x1| at t = 1, in a plane says the paper (m)", 0, _short(flat))
    _test_2_increments(report, path)
    _test_2_order(report)
    if report.out is not None:
        fine = follow(problem.system, "time", SNAPSHOTS, largest=0.02)
        report.figure("figure-5", lambda figure: _test_2_shapes(figure, fine), size=(14.0, 4.8))
        report.figure("figure-6", lambda figure: _test_2_curves(figure, fine), size=(12.0, 4.2))


def _test_2_increments(report: Report, path: Path) -> None:
    """What the path costs, with increments as they come and with equal ones."""
    problem, item = problems.get("lla-test2"), "Test 2, increments"
    runs: dict[str, tuple[int | None, Path]] = {"automatic": (None, path)}
    for number, printed in ((25, 25), (40, None)):
        report.progress(f"Test 2, {number} increments")
        try:
            runs[f"{number} equal"] = printed, follow(problem.system, "time", (0.0, 1.0), increments=number)
        except PathError as stop:
            report.add(item, f"{number} equal: number", printed, f"stops at t = {stop.path.value[-1]:.4g}")
    for label, (printed, run) in runs.items():
        its = run.iterations[1:]  # the first point is the equilibrium that the path starts from
        report.add(item, f"{label}: number", printed, len(its))
        told = "4 to 6" if printed else None
        report.add(item, f"{label}: corrector iterations, mean", told, round(float(its.mean()), 2))
        report.add(item, f"{label}: corrector iterations, most", None, int(its.max()))
        report.add(item, f"{label}: unstable equilibria", None, int(np.sum(~run.stable)))
        if run is not path:
            gap = float(np.abs(run.rests[-1]["rod"].positions - path.rests[-1]["rod"].positions).max())
            report.add(item, f"{label}: distance from the automatic one at t = 1 (m)", None, _short(gap))


def _test_2_order(report: Report) -> None:
    """ "A second order approximation": of the middle of the rod at t = 0.6, from three differences."""
    report.progress("Test 2, order")
    middles = []
    for segments in (10, 20, 40, 80):
        problem = problems.lla_test2(segments)
        path = follow(problem.system, problem.parameter, (0.0, 0.6))
        middles.append(path.rests[-1]["rod"].positions[segments // 2])
    differences = np.linalg.norm(np.diff(middles, axis=0), axis=1)
    for k, order in enumerate(np.log2(differences[:-1] / differences[1:])):
        label = f"order in space at t = 0.6, N = {10 * 2**k}, {20 * 2**k}, {40 * 2**k}"
        report.add("Test 2, order", label, 2, round(float(order), 3))


def mises_stress(rod: RodTrack, radius: float) -> Array:
    """Largest von Mises stress at the outer fibre of a circular section, at the vertices, (..., N+1), in Pa."""
    area, second = np.pi * radius**2, 0.25 * np.pi * radius**4
    # Axial forces belong to segments: the mean of both beside a vertex.
    F = np.concatenate([rod.force[..., :1, :], rod.force, rod.force[..., -1:, :]], axis=-2)
    axial = np.abs(0.5 * (F[..., 1:, 2] + F[..., :-1, 2])) / area
    bending = np.hypot(rod.moment[..., 0], rod.moment[..., 1]) * radius / second
    torsion = np.abs(rod.moment[..., 2]) * radius / (2.0 * second)
    return np.asarray(np.sqrt((axial + bending) ** 2 + 3.0 * torsion**2))


def _test_2_shapes(figure: Any, path: Path) -> None:
    """Snapshots from the side and from the front, coloured by the stress."""
    from matplotlib import cm, colors

    rod = path["rod"]
    stress = mises_stress(rod, 5e-3)
    norm = colors.Normalize(0.0, float(stress.max()))
    axes = figure.subplots(2, len(SNAPSHOTS), sharex="row", sharey=True, height_ratios=(0.45, 1.0))
    for column, t in zip(axes.T, SNAPSHOTS, strict=True):
        k = int(np.argmin(np.abs(path.value - t)))
        for ax, across in zip(column, (1, 0), strict=True):
            x, z = rod.positions[k, :, across], rod.positions[k, :, 2]
            for n in range(len(x) - 1):
                shade = cm.turbo(norm(0.5 * (stress[k, n] + stress[k, n + 1])))
                ax.plot(x[n : n + 2], z[n : n + 2], color=shade, lw=3.5, solid_capstyle="round")
            ax.set(aspect="equal", xlabel=f"x{across + 1} [m]")
            ax.grid(alpha=0.3)
        column[0].set(title=f"t = {t:g}", xlim=(-0.05, 1.05))
        column[1].set(xlim=(-0.25, 0.25))
    axes[0, 0].set(ylabel="x3 [m], from the side")
    axes[1, 0].set(ylabel="x3 [m], from the front")
    bar = cm.ScalarMappable(norm=norm, cmap="turbo")
    figure.colorbar(bar, ax=axes, shrink=0.7, label="Mises stress at the surface [Pa]")
    figure.suptitle("Test 2: clamps pushed together and turned by half a turn each")


def _test_2_curves(figure: Any, path: Path) -> None:
    positions = path["rod"].positions
    problem = problems.get("lla-test2")
    for k, ax in enumerate(figure.subplots(1, 3)):
        for n in range(6):
            ax.plot(path.value, positions[:, n, k] - positions[0, n, k], f"C{n}", lw=1.1, label=f"vertex {n}")
            for t in problem.stops[1:]:
                trusted = problem.reference[f"x(t = {t:g})"][n, k] - positions[0, n, k]
                ax.plot(t, trusted, f"C{n}o", ms=4, mfc="none")
        ax.set(title=f"displacement x{k + 1} [m]", xlabel="pseudo-time t")
        ax.grid(alpha=0.3)
    ax.legend(fontsize=8)
    figure.suptitle("Test 2: N = 10, curvature (ii); lines here, circles trusted values")


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


def _table(report: Report, item: str, name: str, printed: Printed) -> None:
    for method in METHODS:
        for tolerance, paper in zip(TOLERANCES, printed[method], strict=True):
            report.progress(f"{item}, {method} at {tolerance:g}")
            found = counts(name, method, tolerance)
            label = f"{NAMES[method]} at {tolerance:g}"
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
            report.add("Figure 7", f"{material}: one {what} (s)", SECONDS.get(what), _short(value))
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
                label = f"{material}: {NAMES[method]} at {tolerance:g}"
                report.add("Figure 7", f"{label}: CPU s", None, _short(c.seconds))
                if np.isfinite(c.error):
                    report.add("Figure 7", f"{label}: error at T", None, _short(c.error))

    def draw(figure: Any) -> None:
        from matplotlib.ticker import LogLocator, NullFormatter

        for ax, material in zip(figure.subplots(1, 2), ("rubber", "steel"), strict=True):
            for k, method in enumerate(METHODS):
                c = list(runs[material, method].values())
                extrapolated = bool(c) and not np.isfinite(c[0].error)
                if not c:
                    ax.plot([], [], color=f"C{k}", lw=0.9, label=f"{NAMES[method].split(' (')[0]}: not installed")
                elif extrapolated:
                    label = f"{NAMES[method].split(' (')[0]}, at any tolerance"
                    ax.axvline(c[0].seconds, color=f"C{k}", ls="--", lw=0.9, label=label)
                else:
                    label = NAMES[method].split(" (")[0]
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


# --- Figures 8 and 9 -------------------------------------------------------------------------------------------------


def figure_8(report: Report) -> None:
    """Step sizes at 1e-3; a part of the time."""
    steps: dict[tuple[str, str], Array] = {}
    for material, until in (("rubber", 10.0), ("steel", 1.0)):
        for method in METHODS:
            report.progress(f"Figure 8, {material}, {method}")
            T = 0.1 if (material, method) == ("steel", "dopri5") else until
            try:
                motion = solve(problems.get(f"lla-{material}"), method, 1e-3, T)
            except ImportError as error:
                report.add("Figure 8", f"{material}: {NAMES[method]}", None, str(error))
                continue
            steps[material, method] = motion.steps
            h = np.diff(motion.steps)
            label = f"{material}: {NAMES[method]}: mean step in the first {T:g} s"
            report.add("Figure 8", label, None, _short(float(h.mean())))

    def draw(figure: Any) -> None:
        for ax, (material, lo, hi) in zip(
            figure.subplots(1, 2), (("rubber", 5.0, 6.0), ("steel", 0.0, 1.0)), strict=True
        ):
            for k, method in enumerate(METHODS):
                if (material, method) in steps:
                    t = steps[material, method][:-1]  # not the last step, which ends at T
                    shown = (t[1:] >= lo) & (t[1:] <= hi)
                    name = NAMES[method].split(" (")[0]
                    ax.semilogy(t[1:][shown], np.diff(t)[shown], f"C{k}", lw=0.9, label=name)
                else:
                    ax.plot([], [], f"C{k}", lw=0.9, label=f"{NAMES[method].split(' (')[0]}: not installed")
            ax.set(title=material, xlabel="t [s]", ylabel="step [s]")
            ax.grid(alpha=0.3)
            ax.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.55, 0.08))
        figure.suptitle("Accepted steps at 1e-3, data as computed")

    report.figure("figure-8", draw)


def figure_9(report: Report) -> None:
    """Reference solutions of the free end, RADAU5 at 1e-10, both data sets."""
    t = np.linspace(0.0, 10.0, 1001)
    ends: dict[tuple[str, str], Array] = {}
    for material in ("rubber", "steel"):
        for data in problems.DATA_SETS:
            report.progress(f"Figure 9, {material}, {data}")
            problem = problems.get(f"lla-{material}" + ("" if data == "as-computed" else f"-{data}"))
            motion = solve(problem, "radau5", 1e-10, output=t)
            ends[material, data] = end = free_end(motion["rod"])
            for time in (1.0, 5.0, 10.0):
                k = round(100 * time)
                for label, column in (("x2", 1), ("x3", 2), ("d1_2", 4)):
                    report.add("Figure 9", f"{material}, {data}: {label} at {time:g} s", None, _digits(end[k, column]))
                trusted = problem.reference.get(time)
                if trusted is not None:
                    error = float(np.abs(end[k] - np.array([*trusted["end"], *trusted["d1"]])).max())
                    label = f"{material}, {data}: largest difference from trusted values at {time:g} s"
                    report.add("Figure 9", label, None, _short(error))

    def draw(figure: Any) -> None:
        axes = figure.subplots(2, 3, sharex=True)
        for row, material in enumerate(("rubber", "steel")):
            for ax, (label, column) in zip(axes[row], (("x2 [m]", 1), ("x3 [m]", 2), ("d1_2", 4)), strict=True):
                for data, style in zip(problems.DATA_SETS, ("C0-", "C1--"), strict=True):
                    ax.plot(t, ends[material, data][:, column], style, lw=0.9, label=data)
                ax.set(title=f"{material}: {label}", xlabel="t [s]" if row else "")
                ax.grid(alpha=0.3)
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        figure.suptitle("Free end, RADAU5 at 1e-10")

    report.figure("figure-9", draw, size=(12.0, 6.0))


# --- Figures 10 and 11 -----------------------------------------------------------------------------------------------


def figure_10(report: Report) -> None:
    """How the curvatures come from a vertex quaternion and a difference: K ds = 2 conj(p_n) dp_n (25)."""
    report.progress("Figure 10")
    theta = 1.0
    for curvature in CURVATURES:
        value = float(np.linalg.norm(_vertex_curvature(curvature, theta)))
        exact = float(GENERATORS[curvature](np.asarray(2.0 * theta)))
        label = f"{curvature} |2 conj(p_n) dp_n| for theta = 1 less |K| ds"
        report.add("Figure 10", label, None, _short(abs(value - exact)))
    report.figure("figure-10", lambda figure: _geometry(figure, 0.9), size=(14.0, 3.4))


def _vertex(curvature: str, theta: float) -> tuple[Array, Array]:
    """p_n and dp_n of appendix A for frames at the angles -theta/2 and theta/2 of a great circle."""
    before, after = (rotations.exp((0.0, 0.0, angle)) for angle in (-theta, theta))
    middle = (before + after) / np.sqrt(2.0 + 2.0 * np.cos(theta))
    secant = after - before
    if curvature == "(i)":
        return 0.5 * (before + after), secant
    if curvature == "(ii)":
        return middle, secant
    if curvature == "(iii)":
        return before, after / np.cos(theta) - before
    if curvature == "(iv)":
        return middle, secant / np.cos(0.5 * theta)
    # (v): the derivative of the great circle (33) where it passes the middle
    return middle, theta * rotations.multiply(middle, (0.0, 0.0, 0.0, 1.0))


def _vertex_curvature(curvature: str, theta: float) -> Array:
    p, dp = _vertex(curvature, theta)
    return np.asarray(2.0 * rotations.multiply(rotations.conjugate(p), dp)[1:])


def _geometry(figure: Any, theta: float) -> None:
    for ax, curvature in zip(figure.subplots(1, 5), CURVATURES, strict=True):
        # Scalar part up, vector part to the left: the plane of the great circle.
        circle = np.linspace(-0.6 * theta, 0.6 * theta, 100)
        ax.plot(-np.sin(circle), np.cos(circle), color="0.6", lw=1.0)
        for sign, name in ((-1.0, "$p_{n-1/2}$"), (1.0, "$p_{n+1/2}$")):
            x, y = -np.sin(0.5 * sign * theta), np.cos(0.5 * theta)
            ax.plot([0.0, x], [0.0, y], color="0.8", lw=0.8)
            ax.plot(x, y, "ko", ms=4)
            side = "right" if sign > 0 else "left"
            ax.annotate(name, (x, y), (-8.0 * sign, -14.0), textcoords="offset points", ha=side)
        p, dp = (np.array([-q[3], q[0]]) for q in _vertex(curvature, theta))
        # The forward difference of (iii) starts at its vertex quaternion, the others are centred.
        tail = p if curvature == "(iii)" else p - 0.5 * dp
        ax.plot([0.0, p[0]], [0.0, p[1]], color="C0", lw=0.8, ls=":")
        arrow = {"arrowstyle": "->", "color": "C3", "lw": 1.6, "shrinkA": 0.0, "shrinkB": 0.0}
        ax.annotate("", tail + dp, tail, arrowprops=arrow)
        ax.plot(*p, "C0s", ms=5)
        ax.annotate("$p_n$", p, (-13.0, -16.0), textcoords="offset points", ha="center", color="C0")
        ax.plot(0.0, 0.0, "k.", ms=3)
        title = f"{curvature}  |K| δs = {FORMULAS[curvature]}"
        ax.set(title=title, aspect="equal", xlim=(-1.05, 1.05), ylim=(-0.05, 1.55))
        ax.axis("off")
    figure.suptitle("Vertex quaternion $p_n$ (square) and difference $δp_n$ (arrow) in the plane of the great circle")


def figure_11(report: Report) -> None:
    """The generators eta(phi) of curvature, and that the core computes them."""
    report.progress("Figure 11")
    for curvature, name in CURVATURES.items():
        largest = 3.0 if curvature in ("(i)", "(iii)") else 6.0
        phi = np.linspace(0.0, largest, 61)
        error = np.abs(core_curvature(name, phi) / GENERATORS[curvature](np.maximum(phi, 1e-300)) - 1.0)[1:].max()
        label = f"{curvature} core against {FORMULAS[curvature]}, largest relative difference up to φ = {largest:g}"
        report.add("Figure 11", label, None, _short(float(error)))

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        for curvature, formula in FORMULAS.items():
            phi = np.linspace(0.0, 2.0 * np.pi, 801)
            eta = GENERATORS[curvature](phi)
            if "tan" in formula:
                eta = np.where(phi < (3.0 if curvature == "(iii)" else 6.1), eta, np.nan)
            ax.plot(phi, eta, label=f"{curvature}  {formula}")
        ax.set(xlabel="φ [rad]", ylabel="η(φ) = |K| δs", ylim=(0.0, 12.0), xlim=(0.0, 2.0 * np.pi))
        ax.set_xticks(np.pi * np.arange(5) / 2.0, ["0", "π/2", "π", "3π/2", "2π"])
        ax.grid(alpha=0.3)
        ax.legend()

    report.figure("figure-11", draw, size=(7.0, 4.5))


def core_curvature(name: str | tuple[str, float], phi: Array) -> Array:
    """|K| ds at the vertex between two segments that are turned by the angles phi against each other, by the core."""
    rod = Rod(
        "rod", 2.0, 2, Circle(radius=0.1), problems.RUBBER, curvature=name, initial=Straight((0, 0, 0), (0, 0, 2))
    )
    compiled = compile_system(System(rods=[rod]))
    at = compiled.core.layout()[0].p
    y = np.tile(compiled.y0, (len(phi), 1))
    turned = rotations.multiply(y[:, at[0] : at[0] + 4], rotations.exp(phi[:, None] * np.array([0.6, 0.0, 0.8])))
    y[:, at[1] : at[1] + 4] = turned
    curvature = compiled.rod_states(0, np.zeros(len(phi)), y)["curvature"][:, 1]
    return np.asarray(np.linalg.norm(curvature, axis=-1))


# --- eigenvalues -----------------------------------------------------------------------------------------------------


def eigenvalues(report: Report) -> None:
    """Spectra of the straight rods behind "more than critically damped"."""
    spectra = {}
    for material in ("rubber", "steel"):
        for data in problems.DATA_SETS:
            report.progress(f"eigenvalues, {material}, {data}")
            name = f"lla-{material}" + ("" if data == "as-computed" else f"-{data}")
            spectra[material, data] = found = spectrum(problems.get(name))
            stored = spectrum(problems.get(name), by="energy")
            for kind, values in found.items():
                label = f"{material}, {data}: {kind}"
                oscillating = values[np.abs(values.imag) > 1e-6 * np.abs(values)]
                # The text: all of shear and extension lie on the negative real axis.
                claim = 0 if kind in ("extension", "shear") else None
                report.add("eigenvalues", f"{label}: number", None, len(values))
                report.add("eigenvalues", f"{label}: off the real axis", claim, len(oscillating))
                other = stored[kind]
                count = int(np.sum(np.abs(other.imag) > 1e-6 * np.abs(other)))
                report.add("eigenvalues", f"{label}: off the real axis, sorted by elastic energy", claim, count)
                if len(oscillating):
                    ratios = -oscillating.real / np.abs(oscillating)
                    report.add("eigenvalues", f"{label}: smallest damping ratio", None, _short(float(ratios.min())))
                    report.add(
                        "eigenvalues", f"{label}: largest frequency (1/s)", None, _short(np.abs(oscillating).max())
                    )
                report.add("eigenvalues", f"{label}: leftmost real part (1/s)", None, _short(float(values.real.min())))

    def draw(figure: Any) -> None:
        axes = figure.subplots(2, 2)
        for ax, ((material, data), found) in zip(axes.flat, spectra.items(), strict=True):
            for kind, marker in zip(found, ("o", "s", "^", "x"), strict=True):
                values = found[kind]
                ax.plot(values.real, values.imag, marker, ms=4, mfc="none", ls="", label=kind)
            ax.set_xscale("symlog", linthresh=1.0)
            ax.set_yscale("symlog", linthresh=1.0)
            ax.set(title=f"{material}, {data}", xlabel="Re λ [1/s]", ylabel="Im λ [1/s]")
            ax.grid(alpha=0.3)
        axes.flat[0].legend(fontsize=8)
        figure.suptitle("Eigenvalues of the straight rod, N = 10")

    report.figure("eigenvalues", draw, size=(10.0, 7.0))


def spectrum(problem: RodProblem, by: str = "mode") -> dict[str, NDArray[np.complex128]]:
    """Eigenvalues at rest without gravity, sorted by the undamped mode that each is most like, or by elastic energy.

    The two differ where damping mixes modes: bending that is damped strongly yields by shear instead.
    """
    system = System(rods=problem.system.rods, gravity=(0.0, 0.0, 0.0))
    compiled = compile_system(system, "nullspace-quaternion")
    T, rates, mass = _tangent(compiled)
    J = compiled.core.jacobian(0.0, compiled.y0)
    # In q = (x, theta) with dp = p theta / 2: q'' = A q + B q'.
    A, B = J[rates] @ T, J[np.ix_(rates, rates)]
    root = np.sqrt(mass)
    _, modes = np.linalg.eigh(root[:, None] * A / root)  # orthonormal with respect to the mass
    kinds = _energies(compiled, T @ (modes / root[:, None])).argmax(axis=0)
    n = len(rates)
    values, vectors = np.linalg.eig(np.block([[np.zeros((n, n)), np.eye(n)], [A, B]]))
    if by == "mode":
        like = kinds[np.abs(modes.T @ (root[:, None] * vectors[:n])).argmax(axis=0)]
    else:
        real, imaginary = (_energies(compiled, T @ part) for part in (vectors[:n].real, vectors[:n].imag))
        like = (real + imaginary).argmax(axis=0)
    names = ("shear", "extension", "bending", "torsion")
    # A rod that can turn freely has eigenvalues zero.
    moving = np.abs(values) > 1e-9 * np.abs(values).max()
    order = np.argsort(np.abs(values))
    return {name: np.array([values[i] for i in order if like[i] == k and moving[i]]) for k, name in enumerate(names)}


def _tangent(compiled: Compiled) -> tuple[Array, NDArray[np.int_], Array]:
    """Columns: how the state changes with x and theta; the places of their rates; their masses."""
    layout = compiled.core.layout()[0]
    table = compiled.rods[0]
    columns: list[Array] = []
    rates: list[int] = []
    mass: list[float] = []
    for at, rate, m in zip(layout.x, layout.v, table["mass"], strict=True):
        if rate >= 0:
            columns += list(np.eye(compiled.size)[at : at + 3])
            rates += range(rate, rate + 3)
            mass += [m] * 3
    for at, rate, moments in zip(layout.p, layout.w, table["J"], strict=True):
        for axis in np.eye(3):
            column = np.zeros(compiled.size)
            column[at : at + 4] = 0.5 * rotations.multiply(compiled.y0[at : at + 4], np.array([0.0, *axis]))
            columns.append(column)
        rates += range(rate, rate + 3)
        mass += list(moments)
    return np.array(columns).T, np.array(rates), np.array(mass)


def _energies(compiled: Compiled, modes: Array) -> Array:
    """Elastic energy of modes in shear, extension, bending and torsion, (4, modes)."""
    table, C = compiled.rods[0], np.diagonal(compiled.system.rods[0].stiffness_at([0.5])[0])
    largest = np.maximum(np.abs(modes).max(axis=0), 1e-300)
    steps = (1e-6 * modes / largest).T
    states = [compiled.rod_states(0, np.zeros(len(steps)), compiled.y0 + sign * steps) for sign in (1.0, -1.0)]
    strain, curvature = (states[0][key] - states[1][key] for key in ("strain", "curvature"))
    extension_shear = np.einsum("mnk,n->km", strain**2, table["ds"]) * C[:3, None]
    bending_torsion = np.einsum("mnk,n->km", curvature**2, table["weight"]) * C[3:, None]
    shear, bending = extension_shear[:2].sum(axis=0), bending_torsion[:2].sum(axis=0)
    return np.asarray(np.array([shear, extension_shear[2], bending, bending_torsion[2]]) * largest**2)


# --- multipliers -----------------------------------------------------------------------------------------------------


def multipliers(report: Report) -> None:
    """The formula after (30), as printed (right for curvature (i)) and with the moments of the errata."""
    for curvature, name in CURVATURES.items():
        report.progress(f"multipliers, curvature {curvature}")
        problem = problems.lla_test1(curvature=name)
        motion = simulate(problem.system, 0.5, formulation="absolute-quaternion", method="dop853", rtol=1e-8)
        core = motion["rod"].multipliers
        size = float(np.abs(core).max())
        for label, exact in (("as printed", False), ("with the corrected moments", True)):
            error = float(np.abs(formula_after_30(motion, curvature, exact) - core).max()) / size
            report.add("multipliers", f"{curvature}, {label}: largest relative difference", None, _short(error))
        if curvature == "(i)":
            report.add("multipliers", f"{curvature}: largest (N m)", None, _short(size))


def formula_after_30(motion: Motion, curvature: str, exact: bool) -> Array:
    """lambda = <2 p, 4 rho ds p' I conj(p') p + dx p F + p_(+1) M_+ - p_(-1) M_->, (n, N), undamped rod."""
    rod, table = motion["rod"], motion.compiled.rods[0]
    product, bar = rotations.multiply, rotations.conjugate
    p = rod.quaternions
    dp = rotations.rates("quaternion", p, rod.Omega)
    J = np.concatenate([np.zeros((len(table["J"]), 1)), table["J"]], axis=1)
    dx = _imaginary(np.diff(rod.positions, axis=1))
    M = _imaginary(rod.moment[:, 1:-1])
    inertia = 4.0 * product(dp, J * product(bar(dp), p))
    total = inertia + product(dx, product(p, _imaginary(rod.force)))
    before, after = p[:, :-1], p[:, 1:]
    W = product(bar(before), after)
    zeta, slope = _zeta(curvature, W[..., 0]) if exact else (np.ones(W.shape[:-1]), np.zeros(W.shape[:-1]))
    m = (slope * np.sum(M * W, axis=-1))[..., None] * np.array([1.0, 0.0, 0.0, 0.0])
    total[:, :-1] += product(after, zeta[..., None] * M - m)
    total[:, 1:] -= product(before, zeta[..., None] * M + m)
    return np.asarray(2.0 * np.sum(p * total, axis=-1))


def _imaginary(x: Array) -> Array:
    return np.concatenate([np.zeros((*x.shape[:-1], 1)), x], axis=-1)


def _zeta(curvature: str, w: Array) -> tuple[Array, Array]:
    """The weight of (26) and its derivative with respect to w = Re W."""
    if curvature == "(i)":
        return np.ones_like(w), np.zeros_like(w)
    if curvature == "(ii)":
        zeta = np.sqrt(2.0 / (1.0 + w))
        return zeta, -0.5 * zeta / (1.0 + w)
    if curvature == "(iii)":
        return 1.0 / w, -1.0 / w**2
    if curvature == "(iv)":
        return 2.0 / (1.0 + w), -2.0 / (1.0 + w) ** 2
    a, power = 1.0, np.ones_like(w)
    zeta, slope = np.ones_like(w), np.zeros_like(w)
    for k in range(1, 60):  # zeta = sum a_k (1 - w)^k
        a *= k / (2.0 * k + 1.0)
        slope = slope - a * k * power
        power = power * (1.0 - w)
        zeta = zeta + a * power
    return zeta, slope


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _digits(value: float) -> float:
    return round(float(value), 9)


#: What can be asked for by name.
PARTS: dict[str, Callable[[Report], None]] = {
    "table1": table_1,
    "test1": test_1,
    "test2": test_2,
    "table2": table_2,
    "table3": table_3,
    "table2-as-printed": table_2_as_printed,
    "table3-as-printed": table_3_as_printed,
    "figure7": figure_7,
    "figure8": figure_8,
    "figure9": figure_9,
    "figure10": figure_10,
    "figure11": figure_11,
    "eigenvalues": eigenvalues,
    "multipliers": multipliers,
}
#: What is done unless a part is named.
QUICK = (
    "table1",
    "test1",
    "test2",
    "table2",
    "figure8",
    "figure9",
    "figure10",
    "figure11",
    "eigenvalues",
    "multipliers",
)
