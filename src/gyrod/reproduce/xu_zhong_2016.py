"""X. Xu, W. Zhong: On the numerical influences of inertia representation (2016): Figures 3 to 7, error estimate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from gyrod import problems, rotations
from gyrod._check import Array
from gyrod.model import System
from gyrod.motion import Motion, SimulationError
from gyrod.problems import RigidProblem
from gyrod.reproduce import Report
from gyrod.solve import simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TITLE = "Xu, Zhong: On the numerical influences of inertia representation for rigid body dynamics. (2016)"

COORDINATES = ("quaternion", "directors")


class Variant(TypedDict, total=False):
    """What distinguishes a curve from the method of the paper."""

    sigma: float | str
    potential: str
    method: str


#: Omega'Omega = factor q''q': (50), (55).
FACTOR = {"quaternion": 4.0, "directors": 0.5}
GRAVITY = 9.81
#: Steps of Figure 3, and those of Figures 4 and 5.
STEPS = tuple(0.007 / 2**k for k in range(5))
SHOWN = {"quaternion": 0.007, "directors": 0.0035}
#: The step of Figures 6 and 7.
COARSE = 0.01
NODES = "sigma_m, potential at nodes"


@dataclass(frozen=True)
class LagrangeTop:
    """Symmetric heavy top in closed form, from a turning point of its nutation: theta' = 0, phi = psi = 0 at t = 0.

    With u = cos theta, u'^2 = beta (u - u1)(u2 - u)(u3 - u), so that u = u1 + (u2 - u1) sn^2; precession and spin are
    elliptic integrals of the third kind. ``moments`` (J1 = J2, J3) are about the fixed point, ``weight`` is m g l.
    """

    moments: tuple[float, float]
    weight: float
    tilt: float
    #: Omega3, constant.
    spin: float
    #: phi' at the start.
    precession: float = 0.0

    @property
    def _constants(self) -> tuple[float, float, float, float, float, bool]:
        """a, b, the roots u1 <= u2 < u3, and whether the motion starts at u2."""
        (J1, J3), u0 = self.moments, np.cos(self.tilt)
        a = J3 * self.spin / J1
        b = self.precession * (1.0 - u0**2) + a * u0
        beta = 2.0 * self.weight / J1
        alpha = self.precession**2 * (1.0 - u0**2) + beta * u0
        # The cubic without its root u0: beta u^2 - s u + c.
        s = alpha + a**2 - beta * u0
        c = 2.0 * a * b - beta - s * u0
        u3 = (s + np.sqrt(s**2 - 4.0 * beta * c)) / (2.0 * beta)
        other = c / (beta * u3)
        return a, b, min(u0, other), max(u0, other), u3, bool(u0 > other)

    @property
    def nutation_period(self) -> float:
        """Time from a turning point to the next one of its kind."""
        from scipy.special import ellipk

        _, _, u1, u2, u3, _ = self._constants
        return float(2.0 * ellipk((u2 - u1) / (u3 - u1)) / self._pace)

    @property
    def _pace(self) -> float:
        _, _, u1, _, u3, _ = self._constants
        return float(np.sqrt(0.5 * self.weight / self.moments[0] * (u3 - u1)))

    def angles(self, t: ArrayLike) -> Array:
        """Precession, nutation and spin angle (sequence 3-1-3), (..., 3); precession and spin grow beyond 2 pi."""
        from scipy.special import ellipj, ellipk

        a, b, u1, u2, u3, upper = self._constants
        t = np.asarray(t, dtype=float)
        m = (u2 - u1) / (u3 - u1)
        start = ellipk(m) if upper else 0.0
        sn, _, _, am = ellipj(self._pace * t + start, m)
        u = u1 + (u2 - u1) * sn**2
        origin = 0.5 * np.pi if upper else 0.0
        inner, outer = (
            (_third_kind(n, am, m) - _third_kind(n, np.asarray(origin), m)) * (b + sign * a) / (1.0 + sign * u1)
            for sign, n in ((-1.0, (u2 - u1) / (1.0 - u1)), (1.0, -(u2 - u1) / (1.0 + u1)))
        )
        phi = 0.5 * (inner + outer) / self._pace
        psi = (self.spin - a) * t + 0.5 * (outer - inner) / self._pace
        return np.stack([phi, np.arccos(u), psi], axis=-1)

    def quaternion(self, t: ArrayLike) -> Array:
        """Orientation, (..., 4)."""
        return rotations.quaternion_from_euler(self.angles(t), "313")

    def axis(self, t: ArrayLike) -> Array:
        """The symmetry axis d3 in space, (..., 3)."""
        phi, theta, _ = np.moveaxis(self.angles(t), -1, 0)
        return np.stack([np.sin(theta) * np.sin(phi), -np.sin(theta) * np.cos(phi), np.cos(theta)], axis=-1)


def _third_kind(n: float, phi: Array, m: float) -> Array:
    """Elliptic integral Pi(n; phi | m) for any phi, by Carlson's forms."""
    from scipy.special import elliprf, elliprj

    turns = np.round(phi / np.pi)
    s = np.sin(phi - np.pi * turns)
    c2, d, e = 1.0 - s**2, 1.0 - m * s**2, 1.0 - n * s**2
    part = s * elliprf(c2, d, 1.0) + n / 3.0 * s**3 * elliprj(c2, d, 1.0, e)
    whole = elliprf(0.0, 1.0 - m, 1.0) + n / 3.0 * elliprj(0.0, 1.0 - m, 1.0, 1.0 - n)
    return np.asarray(2.0 * turns * whole + part)


# --- the two tops ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Top:
    """A symmetric top about the origin that starts at a turning point, with the paper's names of its data."""

    problem: RigidProblem

    @property
    def system(self) -> System:
        """The model."""
        return self.problem.system

    @property
    def t_end(self) -> float:
        """End of the run; the paper does not give its own."""
        return self.problem.t_end

    @property
    def mass(self) -> float:
        """Its m."""
        return self.system.bodies[0].mass

    @cached_property
    def arm(self) -> float:
        """Its l, from the fixed point to the centre of mass."""
        return float(np.linalg.norm(self.system.bodies[0].position))

    @cached_property
    def moments(self) -> tuple[float, float]:
        """J1 = J2 and J3 about the fixed point."""
        J1, _, J3 = np.diag(self.system.bodies[0].inertia)
        return float(J1) + self.mass * self.arm**2, float(J3)

    @property
    def inertia(self) -> Array:
        """J about the fixed point, (3, 3)."""
        return np.diag([self.moments[0], *self.moments])

    @property
    def sigma_m(self) -> float:
        """(65)."""
        return (2.0 * self.moments[0] + self.moments[1]) / 3.0

    @cached_property
    def exact(self) -> LagrangeTop:
        """The motion in elliptic functions."""
        body = self.system.bodies[0]
        tilt = float(np.arccos(body.matrix[2, 2]))
        precession, spin = body.angular_velocity[1] / np.sin(tilt), body.angular_velocity[2]
        return LagrangeTop(self.moments, self.mass * GRAVITY * self.arm, tilt, float(spin), float(precession))


def fast_top() -> Top:
    """Section 5.1, with J1 = J2 and axis 3 the axis of symmetry."""
    return Top(problems.fast_top())


def regular_precession() -> Top:
    """Section 5.2, with m = rho pi r^2 h/3 and J3 in (80)."""
    return Top(problems.regular_precession())


# --- runs and what they are judged by --------------------------------------------------------------------------------


def solve(
    top: Top,
    step: float,
    coordinates: str,
    sigma: float | str = "mean",
    method: str = "variational",
    **options: Any,
) -> Motion:
    """The top with constant steps; ``sigma`` a number or "mean"."""
    if method == "variational":
        options["sigma"] = sigma
    return simulate(top.system, top.t_end, method=method, step=step, coordinates=coordinates, **options)


def trajectory_errors(top: Top, motion: Motion) -> Array:
    """Error of the centre of mass against the closed form, (n, 3)."""
    return np.asarray(motion["top"].position - top.arm * top.exact.axis(motion.t))


def rms(top: Top, motion: Motion) -> float:
    """Root mean square over the nodes of the distance from the exact centre of mass."""
    return float(np.sqrt(np.mean(np.sum(trajectory_errors(top, motion) ** 2, axis=1))))


def energy_error(motion: Motion) -> float:
    """Largest change of the energy at the nodes."""
    total = motion.energy.total
    return float(np.abs(total - total[0]).max())


def midpoint_swing(motion: Motion) -> float:
    """Largest change of the midpoints' energy from the first midpoint on."""
    energy = motion.midpoints.energy
    return float(np.abs(energy - energy[0]).max())


def best_sigma(top: Top, coordinates: str, step: float, measure: Callable[[Motion], float]) -> tuple[float, float]:
    """Sigma over sigma_m, between 0.7 and 1.4, with the least ``measure`` of the motion, and that."""
    from scipy.optimize import minimize_scalar

    def value(ratio: float) -> float:
        return measure(solve(top, step, coordinates, ratio * top.sigma_m))

    found = minimize_scalar(value, bounds=(0.7, 1.4), method="bounded", options={"xatol": 1e-4})
    return float(found.x), float(found.fun)


# --- Figures 3 to 5: the fast top ------------------------------------------------------------------------------------


def part_fast_top(report: Report) -> None:
    """Figures 3 to 5 and the best sigma."""
    top = fast_top()
    report.add("Section 5.1", "sigma_m (kg m^2)", None, float(f"{top.sigma_m:.10g}"))
    report.add("Section 5.1", "period of nutation (s)", None, float(f"{top.exact.nutation_period:.15g}"))
    best = {}
    for coordinates in COORDINATES:
        report.progress(f"Best sigma, {coordinates}")
        best[coordinates] = _best(report, top, coordinates)
    figure_3(report, top, best)
    for figure, coordinates in (("Figure 4", "quaternion"), ("Figure 5", "directors")):
        trajectories(report, figure, top, coordinates, best[coordinates])


def _best(report: Report, top: Top, coordinates: str) -> float:
    """Sigma that is best for the trajectory, in units of sigma_m."""
    item, step = "Best sigma", SHOWN[coordinates]
    ratio, error = best_sigma(top, coordinates, step, lambda m: rms(top, m))
    report.add(item, f"{coordinates}, dt = {step:g}: sigma/sigma_m of the least RMS trajectory error", 1, _short(ratio))
    report.add(item, f"{coordinates}, dt = {step:g}: that error (m)", None, _short(error))
    mean = rms(top, solve(top, step, coordinates))
    report.add(item, f"{coordinates}, dt = {step:g}: error with sigma_m (m)", None, _short(mean))
    other, change = best_sigma(top, coordinates, step, energy_error)
    report.add(item, f"{coordinates}, dt = {step:g}: sigma/sigma_m of the least energy error", 1, _short(other))
    report.add(item, f"{coordinates}, dt = {step:g}: that error (J)", None, _short(change))
    return ratio


def figure_3(report: Report, top: Top, best: dict[str, float]) -> None:
    """Energy errors over the step."""
    curves: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for coordinates in COORDINATES:
        for name, sigma in _sigmas(top, best[coordinates]).items():
            report.progress(f"Figure 3, {coordinates}, {name}")
            points = curves[coordinates, name] = []
            for step in STEPS:
                label = f"{coordinates}, {name}, dt = {step:g}"
                try:
                    motion = solve(top, step, coordinates, sigma)
                except SimulationError as error:
                    report.add("Figure 3", f"{label}: Newton's method fails at t", None, _short(error.time))
                    continue
                points.append((step, energy_error(motion), midpoint_swing(motion)))
                report.add("Figure 3", f"{label}: energy error at the nodes (J)", None, _short(points[-1][1]))
                report.add("Figure 3", f"{label}: swing of the midpoints' energy (J)", None, _short(points[-1][2]))
            for column, what in ((1, "nodes"), (2, "midpoints")):
                order = np.log2(points[-2][column] / points[-1][column])
                label = f"{coordinates}, {name}: order of the energy error at the {what}"
                # With the best sigma the error of order two is nearly cancelled, and the slope says little.
                report.add("Figure 3", label, 2 if name != "best sigma" else None, round(float(order), 3))
        for plain, mean in zip(
            curves[coordinates, "sigma = 0"][::-1], curves[coordinates, "sigma_m"][::-1], strict=False
        ):
            label = f"{coordinates}, dt = {plain[0]:g}: energy error with sigma = 0 over that with sigma_m"
            report.add("Figure 3", label, None, _short(plain[1] / mean[1]))

    def draw(figure: Figure) -> None:
        for ax, coordinates in zip(figure.subplots(1, 2, sharey=True), COORDINATES, strict=True):
            for style, name in zip(("C3o--", "C0x-", "C2.:"), _sigmas(top, 1.0), strict=True):
                points = np.array(curves[coordinates, name])
                ax.loglog(points[:, 0], points[:, 1], style, label=name)
            h = np.array([STEPS[-1], STEPS[0]])
            ax.loglog(h, 1.0 * h**2, "k-", lw=0.6, label="slope 2")
            ax.set(title=coordinates, xlabel="step [ms]", ylabel="largest energy error at the nodes [J]")
            ax.set_xticks(STEPS, [f"{1e3 * h:.3g}" for h in STEPS])
            ax.minorticks_off()
            ax.grid(alpha=0.3)
            ax.legend(fontsize=8)

    report.figure("figure-3", draw)


def _sigmas(top: Top, best: float) -> dict[str, float | str]:
    return {"sigma = 0": 0.0, "sigma_m": "mean", "best sigma": best * top.sigma_m}


def trajectories(report: Report, item: str, top: Top, coordinates: str, best: float) -> None:
    """Centre of mass over time with the figure's step."""
    step = SHOWN[coordinates]
    cases: dict[str, Variant] = {name: {"sigma": sigma} for name, sigma in _sigmas(top, best).items()}
    cases |= {"sigma = 0, potential at nodes": {"sigma": 0.0, "potential": "nodes"}, NODES: {"potential": "nodes"}}
    cases |= {"energy-momentum": {"method": "energy-momentum"}}  # not in the paper's figures
    motions = {}
    for name, options in cases.items():
        report.progress(f"{item}, {name}")
        motion = motions[name] = solve(top, step, coordinates, **options)
        error = trajectory_errors(top, motion)
        for axis, k in (("x", 0), ("z", 2)):
            report.add(item, f"{name}: largest error of {axis} (m)", None, _short(np.abs(error[:, k]).max()))
        report.add(item, f"{name}: largest distance (m)", None, _short(np.linalg.norm(error, axis=1).max()))
        report.add(item, f"{name}: RMS of the distance (m)", None, _short(rms(top, motion)))
    plain, mean, nodes = (rms(top, motions[name]) for name in ("sigma = 0", "sigma_m", NODES))
    report.add(item, "RMS with sigma = 0 over that with sigma_m", "> 1", _short(plain / mean))
    report.add(item, "RMS with sigma_m, potential at midpoints over that at nodes", None, _short(mean / nodes))
    del motions["energy-momentum"]
    _draw_paths(report, item, top, coordinates, motions, top.t_end, f"Fast top, {coordinates}, step {step:g} s")


def _draw_paths(
    report: Report, item: str, top: Top, coordinates: str, motions: dict[str, Motion], until: float, title: str
) -> None:
    """x and z of the centre of mass over time."""
    styles = {"sigma = 0": "C3--", "energy-momentum": "C1--", "sigma_m": "C0x", NODES: "C2."}
    if coordinates == "directors":
        del styles[NODES]  # their potential is linear: it makes no difference

    def draw(figure: Figure) -> None:
        t = np.linspace(0.0, until, 1500)
        exact = top.arm * top.exact.axis(t)
        axes = figure.subplots(1, 2)
        for ax, (axis, k) in zip(axes, (("x", 0), ("z", 2)), strict=True):
            ax.plot(t, exact[:, k], "k-", lw=0.8, label="exact")
            for name, style in styles.items():
                if name in motions:
                    shown = motions[name].t <= until
                    x = motions[name]["top"].position[shown, k]
                    ax.plot(motions[name].t[shown], x, style, lw=0.9, ms=3, label=name)
            ax.set(xlabel="t [s]", ylabel=f"{axis} of the centre of mass [m]")
        figure.legend(*axes[0].get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=5)
        figure.suptitle(title)

    report.figure(item.lower().replace(" ", "-"), draw)


# --- Figures 6 and 7: regular precession -----------------------------------------------------------------------------

#: What the paper says of the curves of Figures 6 and 7.
CLAIMS = {
    ("quaternion", "sigma = 0"): "significant errors",
    ("directors", "sigma = 0"): "almost wrong",
    ("quaternion", "sigma_m"): "high accuracy",
    ("directors", "sigma_m"): "high accuracy",
    ("quaternion", "energy-momentum"): "significant errors",
    ("directors", "energy-momentum"): "significant errors",
}
#: With sigma = 0 and rotation about an axis, h times the momentum over J is sin(theta) for a turn theta (quaternion)
#: or sin(2 theta)/2 (directors): beyond 1 and 1/2 there is no step to find.
LARGEST_TURN = {"quaternion": 1.0, "directors": 0.5}


def part_precession(report: Report) -> None:
    """Figures 6 and 7: the variational integrator and the conserving schemes."""
    top = regular_precession()
    exact = top.exact
    rate = exact.spin - exact.precession * np.cos(exact.tilt)
    report.add("Section 5.2", "psi' of the regular precession, (80) with J3 (1/s)", None, _short(rate))
    report.add("Section 5.2", "sigma_m (kg m^2)", None, float(f"{top.sigma_m:.10g}"))
    for figure, coordinates in (("Figure 6", "quaternion"), ("Figure 7", "directors")):
        label = f"dt = {COARSE:g}: h Omega3; with sigma = 0 a step exists below {LARGEST_TURN[coordinates]:g}"
        report.add(figure, label, None, _short(COARSE * exact.spin))
        precession(report, figure, top, coordinates)


def precession(report: Report, item: str, top: Top, coordinates: str) -> None:
    """One of Figures 6 and 7: nutation that should not be, and precession that lags."""
    report.progress(f"{item}, best sigma")
    ratio, _ = best_sigma(top, coordinates, COARSE, lambda m: rms(top, m))
    report.add(item, f"dt = {COARSE:g}: sigma/sigma_m of the least RMS trajectory error", 1, _short(ratio))
    cases: dict[str, Variant] = {name: {"sigma": sigma} for name, sigma in _sigmas(top, ratio).items()}
    cases |= {NODES: {"potential": "nodes"}, "energy-momentum": {"method": "energy-momentum"}}
    motions = {}
    for step in (COARSE, 0.25 * COARSE):
        for name, options in cases.items():
            report.progress(f"{item}, {name}")
            claim = CLAIMS.get((coordinates, name)) if step == COARSE else None
            motion = _precession_case(report, item, top, f"dt = {step:g}, {name}", claim, step, coordinates, options)
            if motion is not None and step == COARSE:
                motions[name] = motion
    title = f"Regular precession, {coordinates}, step {COARSE:g} s"
    _draw_paths(report, item, top, coordinates, motions, 1.0, title)


def _precession_case(
    report: Report,
    item: str,
    top: Top,
    label: str,
    claim: str | None,
    step: float,
    coordinates: str,
    options: Variant,
) -> Motion | None:
    """One curve: its rows, and the motion unless Newton's method fails."""
    try:
        motion = solve(top, step, coordinates, **options)
    except SimulationError as error:
        report.add(item, label, claim, f"Newton's method fails at t = {_short(error.time):g}")
        return None
    tilt, lead = _tilt_and_lead(top, motion)
    report.add(item, f"{label}: largest nutation (deg)", claim, _short(np.rad2deg(np.abs(tilt).max())))
    report.add(item, f"{label}: lead of precession at t = {top.t_end:g} (deg)", None, _short(np.rad2deg(lead)))
    errors = np.abs(trajectory_errors(top, motion)).max(axis=0)
    report.add(item, f"{label}: largest error of x (m)", None, _short(errors[0]))
    report.add(item, f"{label}: largest error of z (m)", None, _short(errors[2]))
    report.add(item, f"{label}: energy error (J)", None, _short(energy_error(motion)))
    return motion


def _tilt_and_lead(top: Top, motion: Motion) -> tuple[Array, float]:
    """Change of the nutation angle, and by how much the precession has run ahead at the end."""
    x, y, z = motion["top"].position.T / top.arm
    phi = np.unwrap(np.arctan2(x, -y))
    return np.arccos(np.clip(z, -1.0, 1.0)) - top.exact.tilt, float(phi[-1] - top.exact.angles(motion.t[-1])[0])


# --- error estimate --------------------------------------------------------------------------------------------------


def projection(coordinates: str, q: Array) -> Array:
    """L(q) with Omega = L'q': (19) with q = [phi, theta, psi], (24), (29); q need not keep its constraints."""
    if coordinates == "euler":
        return np.swapaxes(rotations.euler_tangent(q, "313"), -1, -2)
    if coordinates == "quaternion":
        return np.asarray(2.0 * rotations.quaternion_matrix(q)[..., 1:])
    return np.asarray(0.5 * rotations.director_nullspace(q))


def mass_matrix(coordinates: str, q: Array, J: Array, sigma: float) -> Array:
    """M_sigma: (47), (51), (56)."""
    L = projection(coordinates, q)
    split = J - sigma * np.eye(3)
    if coordinates == "euler":
        phi_psi, constant = np.cos(q[..., 1]), np.broadcast_to(np.eye(3), L.shape).copy()
        constant[..., 0, 2] = constant[..., 2, 0] = phi_psi  # (45)
    else:
        constant = FACTOR[coordinates] * np.eye(L.shape[-2])
    return np.asarray(sigma * constant + L @ split @ np.swapaxes(L, -1, -2))


def kinetic(coordinates: str, q: Array, rate: Array, J: Array, sigma: float) -> Array:
    """T of (42)."""
    return np.asarray(0.5 * np.einsum("...a,...ab,...b->...", rate, mass_matrix(coordinates, q, J, sigma), rate))


def slope(coordinates: str, q: Array, rate: Array) -> Array:
    """K_s of (62), with the factor of (50) or (55)."""
    Omega = np.einsum("...ai,...a->...i", projection(coordinates, q), rate)
    return np.asarray(0.5 * (FACTOR[coordinates] * np.sum(rate**2, axis=-1) - np.sum(Omega**2, axis=-1)))


def midpoints(nodes: Array, h: float) -> tuple[Array, Array]:
    """q+ and its rate of (69)."""
    return 0.5 * (nodes[1:] + nodes[:-1]), np.diff(nodes, axis=0) / h


def _coordinates(coordinates: str, quaternions: Array) -> Array:
    """Nodes as the scheme has them: quaternions without a jump of sign, or directors."""
    if coordinates == "directors":
        return rotations.directors_from_matrix(rotations.matrix_from_quaternion(quaternions))
    flips = np.sign(np.sum(quaternions[1:] * quaternions[:-1], axis=1))
    return np.asarray(quaternions * np.concatenate([[1.0], np.cumprod(flips)])[:, None])


def part_estimate(report: Report) -> None:
    """(60) to (62) on the exact motion and in the core, and the Euler angles of (45) to (47), (63), (64)."""
    top = fast_top()
    J, h = top.inertia, 0.00175
    sigmas = top.sigma_m * np.linspace(0.0, 2.0, 5)
    report.progress("Error estimate")
    for coordinates in COORDINATES:
        t = np.arange(0.0, 0.15, h)
        q, rate = midpoints(_coordinates(coordinates, top.exact.quaternion(t)), h)
        angles = top.exact.angles(t[:-1] + 0.5 * h)
        L = projection(coordinates, q)
        approximate = np.einsum("kai,ka->ki", L, rate)
        exact = _exact_spin(top, t[:-1] + 0.5 * h, angles)
        truth = 0.5 * np.einsum("ki,ij,kj->k", exact, J, exact)
        delta = np.array([kinetic(coordinates, q, rate, J, s) - truth for s in sigmas])
        fitted, offset = np.polyfit(sigmas, delta, 1)
        off = approximate - exact
        printed = slope(coordinates, q, rate)
        first = np.einsum("ki,ij,kj->k", off, J, exact) + 0.5 * np.einsum("ki,ij,kj->k", off, J, off)
        item = "(60)-(62)"
        report.add(item, f"{coordinates}: slope of delta T over sigma at t = dt/2 (1/s^2)", _short(printed[0], 8),
                   _short(fitted[0], 8))  # fmt: skip
        report.add(item, f"{coordinates}: delta T for sigma = 0 at t = dt/2, by (61) (J)", _short(first[0], 8),
                   _short(offset[0], 8))  # fmt: skip
        worst = np.abs(delta - (np.outer(sigmas, printed) + first)).max() / np.abs(delta).max()
        report.add(item, f"{coordinates}: largest deviation from a line in sigma, relative", 0, _short(worst))
        spin4 = np.sum(exact**2, axis=1) ** 2
        # For a turn by the angle h|Omega|: |Omega|^4 h^2/32 and /8 to leading order.
        leading = {"quaternion": "1/32 = 0.03125", "directors": "1/8 = 0.125"}[coordinates]
        report.add(item, f"{coordinates}: mean of K_s/(h^2 |Omega|^4), leading term {leading}", None,
                   _short(np.mean(printed / (h**2 * spin4))))  # fmt: skip
        report.add(item, f"{coordinates}: K_s in the core, largest relative deviation of midpoint energies", 0,
                   _short(core_deviation(top, coordinates, h)))  # fmt: skip
    euler_angles(report, J, sigmas)


def _exact_spin(top: Top, t: Array, angles: Array) -> Array:
    """Omega of the closed form by differences of the angles, of order six: (18)."""
    e = 1e-4
    rate = np.zeros_like(angles)
    for k, weight in ((1, 0.75), (2, -0.15), (3, 1.0 / 60.0)):
        rate += weight * (top.exact.angles(t + k * e) - top.exact.angles(t - k * e)) / e
    return np.asarray(np.einsum("kij,kj->ki", rotations.euler_tangent(angles, "313"), rate))


def core_deviation(top: Top, coordinates: str, h: float) -> float:
    """How far midpoint energies of the core are from T_0 + sigma K_s + U at the midpoints of its nodes."""
    J, worst = top.inertia, 0.0
    for sigma in (0.0, top.sigma_m, 1.5 * top.sigma_m):
        motion = solve(top, h, coordinates, sigma)
        q, rate = midpoints(_coordinates(coordinates, motion["top"].quaternion), h)
        K_s = slope(coordinates, q, rate)
        # (74), (76) at midpoints, which are not of unit length.
        height = q**2 @ [1.0, -1.0, -1.0, 1.0] if coordinates == "quaternion" else q[:, 8]
        U = top.mass * GRAVITY * top.arm * height
        here = motion.midpoints.energy - U - kinetic(coordinates, q, rate, J, 0.0)
        worst = max(worst, float(np.abs(here - sigma * K_s).max() / (top.sigma_m * K_s.max())))
    return worst


def euler_angles(report: Report, J: Array, sigmas: Array) -> None:
    """The mass matrix at random places: for Euler angles sigma cancels, for the others only where they are exact."""
    rng = np.random.default_rng(0)
    places = rng.uniform(0.2, 2.9, size=(100, 3))
    L = projection("euler", places)
    product = np.broadcast_to(np.eye(3), L.shape).copy()
    product[:, 0, 2] = product[:, 2, 0] = np.cos(places[:, 1])
    item = "(45)-(47), (63), (64)"
    report.add(item, "Euler angles: L L' as printed, largest deviation", 0,
               _short(np.abs(L @ np.swapaxes(L, 1, 2) - product).max()))  # fmt: skip
    plain = mass_matrix("euler", places, J, 0.0)
    change = max(np.abs(mass_matrix("euler", places, J, s) - plain).max() for s in sigmas)
    report.add(item, "Euler angles: change of M with sigma over |M|", 0, _short(change / np.abs(plain).max()))
    for coordinates, size in (("quaternion", 4), ("directors", 9)):
        anywhere = rng.normal(size=(100, size))
        plain = mass_matrix(coordinates, anywhere, J, 0.0)
        change = max(np.abs(mass_matrix(coordinates, anywhere, J, s) - plain).max() for s in sigmas)
        report.add(item, f"{coordinates} off their constraints: change of M with sigma over |M|", None,
                   _short(change / np.abs(plain).max()))  # fmt: skip


def run(report: Report) -> None:
    """All figures and the estimate."""
    for part in PARTS.values():
        part(report)


def _short(value: float, digits: int = 4) -> float:
    return float(f"{float(value):.{digits}g}")


PARTS: dict[str, Callable[[Report], None]] = {
    "fast-top": part_fast_top,
    "precession": part_precession,
    "estimate": part_estimate,
}
