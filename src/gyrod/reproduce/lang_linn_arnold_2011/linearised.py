"""Eigenvalues of the linearised equations, and the multipliers of (30)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod import problems, rotations
from gyrod._check import Array
from gyrod.equations import Compiled, compile_system
from gyrod.model import System
from gyrod.motion import Motion
from gyrod.problems import RodProblem
from gyrod.reproduce import Report
from gyrod.reproduce.lang_linn_arnold_2011.paper import CURVATURES
from gyrod.reproduce.lang_linn_arnold_2011.runs import short
from gyrod.solve import simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
                    report.add("eigenvalues", f"{label}: smallest damping ratio", None, short(float(ratios.min())))
                    report.add(
                        "eigenvalues", f"{label}: largest frequency (1/s)", None, short(np.abs(oscillating).max())
                    )
                report.add("eigenvalues", f"{label}: leftmost real part (1/s)", None, short(float(values.real.min())))

    def draw(figure: Figure) -> None:
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
    layout = compiled.layouts()[0]
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
    states = [compiled.rod_states(np.zeros(len(steps)), compiled.y0 + sign * steps)[0] for sign in (1.0, -1.0)]
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
            report.add("multipliers", f"{curvature}, {label}: largest relative difference", None, short(error))
        if curvature == "(i)":
            report.add("multipliers", f"{curvature}: largest (N m)", None, short(size))


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
