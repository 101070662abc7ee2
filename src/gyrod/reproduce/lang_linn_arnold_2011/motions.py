"""The two tests of section 4: motion under a moment, and a rod bent into a helix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gyrod import problems
from gyrod._check import Array
from gyrod.motion import RodTrack
from gyrod.reproduce import Report
from gyrod.reproduce.lang_linn_arnold_2011.paper import SNAPSHOTS
from gyrod.reproduce.lang_linn_arnold_2011.runs import digits, short, solve
from gyrod.solve import Path, PathError, follow, simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
            report.add("Test 1, Figure 4", f"{label} of the free end at {time:g} s", None, digits(value))
        for label, unit in (("M2", "N m at vertex 5"), ("F1", "N in segment 5"), ("F3", "N in segment 5")):
            report.add("Test 1, Figure 4", f"{label} ({unit}) at {time:g} s", None, digits(here[label]))
        error = max(float(np.abs(np.asarray(here[key]) - trusted[key]).max()) for key in trusted)
        report.add("Test 1, Figure 4", f"largest difference from trusted values at {time:g} s", None, short(error))
    energy = float(np.abs(motion.energy.total - motion.energy.total[0]).max())
    report.add("Test 1, Figure 4", "largest change of energy, DOP853 at 1e-12 (J)", None, short(energy))
    # The paper's run, and its remark that it costs about as much as Table 2 and that implicit methods cost more.
    for method in ("dopri5", "radau5", "rodas"):
        cost = solve(problem, method, 1e-8, projection="step", formulation="absolute-quaternion").stats
        for label, value in (("f", cost.rhs), ("steps", cost.steps + cost.rejected), ("CPU s", short(cost.seconds))):
            report.add("Test 1, cost of 1 s", f"{method.upper()} at 1e-8, projected: {label}", None, value)
    report.figure("figure-3", lambda figure: _snapshots(figure, rod, t), size=(9.5, 5.2))
    report.figure("figure-4", lambda figure: _test_1_curves(figure, rod, t), size=(10.0, 6.0))


def _snapshots(figure: Figure, rod: RodTrack, t: Array) -> None:
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


def _test_1_curves(figure: Figure, rod: RodTrack, t: Array) -> None:
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
                report.add(item, f"x{k + 1} of vertex {n} at t = {t:g} (m)", None, digits(x[n, k]) + 0.0)
        error = float(np.abs(x[:6] - trusted).max())
        report.add(item, f"largest difference from trusted values at t = {t:g} (m)", None, short(error))
        # "symmetric with respect to the midpoint": half a turn about the vertical through it
        mirrored = np.array([0.0, 1.0, 0.0]) + x[::-1] * (-1.0, -1.0, 1.0)
        report.add(item, f"asymmetry at t = {t:g} (m)", 0, short(float(np.abs(x - mirrored).max())))
    flat = float(np.abs(path.at(1.0)["rod"].positions[:, 0]).max())
    report.add(item, "largest |x1| at t = 1, in a plane says the paper (m)", 0, short(flat))
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
            report.add(item, f"{label}: distance from the automatic one at t = 1 (m)", None, short(gap))


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


def _test_2_shapes(figure: Figure, path: Path) -> None:
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


def _test_2_curves(figure: Figure, path: Path) -> None:
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
