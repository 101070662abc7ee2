"""The discrete curvatures: Figures 9 to 11."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gyrod import problems, rotations
from gyrod._check import Array
from gyrod.equations import compile_system
from gyrod.model import Circle, Rod, Straight, System
from gyrod.reproduce import Report
from gyrod.reproduce.lang_linn_arnold_2011.paper import CURVATURES, FORMULAS, GENERATORS
from gyrod.reproduce.lang_linn_arnold_2011.runs import digits, free_end, short, solve

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
                    report.add("Figure 9", f"{material}, {data}: {label} at {time:g} s", None, digits(end[k, column]))
                trusted = problem.reference.get(time)
                if trusted is not None:
                    error = float(np.abs(end[k] - np.array([*trusted["end"], *trusted["d1"]])).max())
                    label = f"{material}, {data}: largest difference from trusted values at {time:g} s"
                    report.add("Figure 9", label, None, short(error))

    def draw(figure: Figure) -> None:
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
        report.add("Figure 10", label, None, short(abs(value - exact)))
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


def _geometry(figure: Figure, theta: float) -> None:
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
        report.add("Figure 11", label, None, short(float(error)))

    def draw(figure: Figure) -> None:
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
    at = compiled.layouts()[0].p
    y = np.tile(compiled.y0, (len(phi), 1))
    turned = rotations.multiply(y[:, at[0] : at[0] + 4], rotations.exp(phi[:, None] * np.array([0.6, 0.0, 0.8])))
    y[:, at[1] : at[1] + 4] = turned
    curvature = compiled.rod_states(np.zeros(len(phi)), y)[0]["curvature"][:, 1]
    return np.asarray(np.linalg.norm(curvature, axis=-1))
