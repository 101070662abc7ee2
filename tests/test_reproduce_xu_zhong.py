"""gyrod reproduce xu-zhong-2016: the closed form, the errata, and every part."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gyrod as gd
from gyrod import problems, reproduce, rotations
from gyrod.reproduce import xu_zhong_2016 as xz

TRUSTED = json.loads((Path(__file__).parent / "data" / "xu_zhong_2016.json").read_text(encoding="utf-8"))
PAPER = "xu-zhong-2016"


def rows_of(part):
    report = reproduce.reproduce(PAPER, reproduce.Report(), [part])
    rows = {(row.item, row.label): row for row in report.rows}
    assert len(rows) == len(report.rows)
    return rows


def test_it_is_listed():
    assert reproduce.title(PAPER).startswith("Xu, Zhong: On the numerical influences of inertia")
    assert reproduce.parts(PAPER) == ("fast-top", "precession", "estimate")


# --- the motion in elliptic functions --------------------------------------------------------------------------------


def test_closed_form_against_trusted_values():
    top = xz.LagrangeTop((1.0, 0.5), 1.0, np.pi / 3.0, 4.0)
    known = problems.lagrange_top()
    assert top.nutation_period == pytest.approx(known.periods["nutation"], rel=1e-15)
    for t, values in known.reference.items():
        phi, theta, _ = top.angles(t)
        assert np.cos(theta) == pytest.approx(values["cos_theta"], rel=1e-14)
        assert phi == pytest.approx(values["phi"], rel=1e-14)
    fast = xz.fast_top()
    assert fast.exact.nutation_period == pytest.approx(float(TRUSTED["fast_top"]["nutation_period"]), rel=1e-14)
    assert fast.problem.periods["nutation"] == pytest.approx(fast.exact.nutation_period, rel=1e-14)
    assert fast.sigma_m == pytest.approx(TRUSTED["fast_top"]["sigma_m"], rel=1e-14)
    for top in (fast, xz.regular_precession()):
        for t, values in top.problem.reference.items():
            np.testing.assert_allclose(top.arm * top.exact.axis(t), values["position"], atol=1e-15)
            assert rotations.distance(top.exact.quaternion(t), values["quaternion"]) < 1e-12


@pytest.mark.parametrize(("precession", "upper"), [(0.0, True), (-3.0, True), (20.0, False), (90.0, True)])
def test_closed_form_against_an_integrator(precession, upper):
    """From either turning point, with loops, cusps and waves."""
    body = problems.rigid._symmetric_top(0.7, 0.075, (0.0045, 0.00053), 1.0, precession, 200.0)
    top = xz.Top(problems.RigidProblem("top", "a top", problems.rigid._pinned(body), 4.0))
    assert top.exact._constants[-1] == upper
    motion = gd.simulate(top.system, top.t_end, method="dop853", rtol=1e-12, output=np.linspace(0.0, 4.0, 101))
    assert rotations.distance(motion["top"].quaternion, top.exact.quaternion(motion.t)).max() < 1e-9
    np.testing.assert_allclose(motion["top"].position, top.arm * top.exact.axis(motion.t), atol=1e-10)


def test_regular_precession_is_regular():
    top, data = xz.regular_precession(), TRUSTED["regular_precession"]
    assert top.mass == pytest.approx(data["mass"], rel=1e-15)
    assert [top.moments[0], top.moments[1]] == pytest.approx([data["J"][0], data["J"][2]], rel=1e-14)
    assert top.sigma_m == pytest.approx(data["sigma_m"], rel=1e-14)
    exact = top.exact
    rate = exact.spin - exact.precession * np.cos(exact.tilt)
    assert rate == pytest.approx(data["psidot_corrected_J3"], rel=1e-14)
    t = np.linspace(0.0, 2.0, 50)
    expected = np.stack([10.0 * t, np.full(50, np.pi / 3.0), rate * t], axis=1)
    np.testing.assert_allclose(top.exact.angles(t), expected, atol=1e-12)
    # With J2 for J3, as (80) is printed, theta changes at once.
    wrong = top.mass * xz.GRAVITY * top.arm / (top.moments[0] * 10.0)
    assert np.ptp(xz.LagrangeTop(top.moments, exact.weight, exact.tilt, wrong + 5.0, 10.0).angles(t)[:, 1]) > 0.1


# --- errata ----------------------------------------------------------------------------------------------------------


def test_euler_angles_of_17_and_19():
    angles = np.array([0.4, 1.1, -0.7])
    (cph, cth, cps), (sph, sth, sps) = np.cos(angles), np.sin(angles)
    printed = np.array(
        [
            [cps * cph - cth * sph * cps, cps * sph + cth * cph * sps, sps * sth],
            [-sps * cph - cth * sph * cps, -sps * sph + cth * cph * cps, cps * sth],
            [sth * sph, -sth * cph, cth],
        ]
    )
    corrected = printed.copy()
    corrected[0, 0] = cps * cph - cth * sph * sps
    R = rotations.matrix_from_quaternion(rotations.quaternion_from_euler(angles, "313"))
    np.testing.assert_allclose(corrected.T, R, atol=1e-15)  # space to body
    assert np.abs(printed @ printed.T - np.eye(3)).max() > 0.1
    # (18) with q = [phi, theta, psi]; as printed, [psi, theta, phi], it is another angular velocity.
    L = np.array([[sth * sps, cps, 0.0], [sth * cps, -sps, 0.0], [cth, 0.0, 1.0]]).T
    np.testing.assert_allclose(xz.projection("euler", angles), L, atol=1e-15)
    rate, e = np.array([0.3, -0.2, 0.9]), 1e-6
    ahead, behind = (rotations.quaternion_from_euler(angles + s * e * rate, "313") for s in (1.0, -1.0))
    q = rotations.quaternion_from_euler(angles, "313")
    Omega = rotations.multiply(rotations.conjugate(q), (ahead - behind) / e)[1:]
    np.testing.assert_allclose(L.T @ rate, Omega, atol=1e-9)
    assert np.abs(L.T @ rate[::-1] - Omega).max() > 0.1


@pytest.mark.parametrize("coordinates", xz.COORDINATES)
def test_angular_velocities_of_23_and_29(coordinates):
    rng = np.random.default_rng(4)
    p, w = rotations.normalize(rng.normal(size=4)), rng.normal(size=3)
    if coordinates == "quaternion":
        q, rate = p, rotations.quaternion_nullspace(p) @ w
        printed = 2.0 * (-q[3] * rate[0] + q[2] * rate[1] - q[1] * rate[2] + q[1] * rate[3])
        assert abs(printed - w[2]) > 1e-2
        L = xz.projection("quaternion", q)
        np.testing.assert_allclose(L @ L.T, 4.0 * np.eye(4) - 4.0 * np.outer(q, q), atol=1e-14)  # (49) with I_4
    else:
        q = rotations.directors_from_matrix(rotations.matrix_from_quaternion(p))
        rate = rotations.director_nullspace(q) @ w
        q1, q2, q3, zero = q[:3], q[3:6], q[6:], np.zeros(3)
        blocks = np.array([[zero, -q3, q2], [q3, zero, -q1], [-q2, q1, zero]])
        L = 0.5 * blocks.transpose(0, 2, 1).reshape(9, 3)
        np.testing.assert_allclose(xz.projection("directors", q), L, atol=1e-15)
        blocks[1, 2] = q1  # as printed
        assert np.abs(0.5 * blocks.transpose(0, 2, 1).reshape(9, 3).T @ rate - w).max() > 0.1
    np.testing.assert_allclose(xz.projection(coordinates, q).T @ rate, w, atol=1e-14)


def test_midpoints_of_quaternions_weaken_gravity():
    """(74) at a midpoint is |q|^2 times the potential of the rotation there."""
    q, _ = xz.midpoints(xz.fast_top().exact.quaternion([0.0, 0.0035]), 0.0035)
    height = q[0] ** 2 @ [1.0, -1.0, -1.0, 1.0]
    norm = np.linalg.norm(q[0])
    assert norm**2 == pytest.approx(np.cos(0.25 * 0.0035 * 40.0 * np.pi) ** 2, rel=1e-3)
    R = rotations.matrix_from_quaternion(q[0] / norm)
    assert height == pytest.approx(norm**2 * R[2, 2], rel=1e-14)


# --- parts -----------------------------------------------------------------------------------------------------------


def test_estimate():
    rows = rows_of("estimate")
    item = "(60)-(62)"
    for coordinates in xz.COORDINATES:
        for label in (
            "slope of delta T over sigma at t = dt/2 (1/s^2)",
            "delta T for sigma = 0 at t = dt/2, by (61) (J)",
        ):
            row = rows[item, f"{coordinates}: {label}"]
            assert row.here == pytest.approx(row.paper, rel=1e-7)
        assert rows[item, f"{coordinates}: largest deviation from a line in sigma, relative"].here < 1e-11
        core = f"{coordinates}: K_s in the core, largest relative deviation of midpoint energies"
        assert rows[item, core].here < 1e-11
    item = "(45)-(47), (63), (64)"
    assert rows[item, "Euler angles: L L' as printed, largest deviation"].here < 1e-15
    assert rows[item, "Euler angles: change of M with sigma over |M|"].here < 1e-14
    for coordinates in xz.COORDINATES:
        assert rows[item, f"{coordinates} off their constraints: change of M with sigma over |M|"].here > 0.1


def test_slope_of_a_turn_about_an_axis():
    """K_s = |Omega|^4 h^2 times 1/32 (quaternion) or 1/8 (directors): four times as much at the same step."""
    for coordinates, leading in (("quaternion", 1 / 32), ("directors", 1 / 8)):
        for h in (1e-2, 1e-3):
            q = np.array([[1.0, 0.0, 0.0, 0.0], rotations.exp(h * np.array([1.0, -2.0, 2.0]))])
            K_s = xz.slope(coordinates, *xz.midpoints(xz._coordinates(coordinates, q), h))
            assert K_s[0] / (81.0 * h**2) == pytest.approx(leading, rel=9.0 * h**2)


def test_fast_top():
    rows = rows_of("fast-top")
    for row in TRUSTED["fast_top"]["table"]:
        coordinates = {"quat": "quaternion", "base": "directors"}[row["coord"]]
        name = {"0": "sigma = 0", "sigma_m": "sigma_m"}[row["sigma"]]
        label = f"{coordinates}, {name}, dt = {row['dt']:g}"
        if not row["ok"]:
            assert ("Figure 3", f"{label}: Newton's method fails at t") in rows
            continue
        here = rows["Figure 3", f"{label}: energy error at the nodes (J)"].here
        assert here == pytest.approx(row["dE_node"], rel=1e-3)
        assert rows["Figure 3", f"{label}: swing of the midpoints' energy (J)"].here == pytest.approx(
            row["dE_mid_osc"], rel=1e-3
        )
        if row["dt"] == xz.SHOWN[coordinates]:
            figure = {"quaternion": "Figure 4", "directors": "Figure 5"}[coordinates]
            found = [rows[figure, f"{name}: largest error of {axis} (m)"].here for axis in "xz"]
            assert found == pytest.approx([row["err_max"][0], row["err_max"][2]], rel=1e-3)
            assert rows[figure, f"{name}: RMS of the distance (m)"].here == pytest.approx(row["err_norm_rms"], rel=1e-3)
    for (item, label), row in rows.items():
        if item == "Figure 3" and "order of" in label and "best" not in label:
            assert row.here == pytest.approx(row.paper, abs=0.1), label
        if "energy error with sigma = 0 over" in label and "dt = 0.007" not in label:
            assert 9.0 < row.here < 11.0, label
    for coordinates, ratio in (("quaternion", 1.007), ("directors", 1.113)):
        label = f"{coordinates}, dt = {xz.SHOWN[coordinates]:g}: sigma/sigma_m of the least RMS trajectory error"
        assert rows["Best sigma", label].here == pytest.approx(ratio, rel=0.03)
    assert rows["Figure 4", "RMS with sigma_m, potential at midpoints over that at nodes"].here == pytest.approx(
        5.5, abs=0.1
    )
    assert rows["Figure 5", "RMS with sigma_m, potential at midpoints over that at nodes"].here == pytest.approx(1.0)
    for figure in ("Figure 4", "Figure 5"):
        mean, conserving = (rows[figure, f"{n}: RMS of the distance (m)"].here for n in ("sigma_m", "energy-momentum"))
        assert conserving > 1.3 * mean


@pytest.mark.parametrize("coordinates", xz.COORDINATES)
@pytest.mark.parametrize("axis", range(3))
def test_largest_turn_of_a_step(coordinates, axis):
    """About a principal axis, sin(theta) or sin(2 theta)/2 is h Omega if sigma = 0; twice that if sigma = J."""
    J, h = (2.0, 1.5, 1.0), 0.01
    limit = xz.LARGEST_TURN[coordinates]
    for sigma, largest in ((0.0, limit), (J[axis], 2.0 * limit)):
        for part in (0.98, 1.02):
            spin = np.zeros(3)
            spin[axis] = part * largest / h
            system = gd.System([gd.Body("b", 1.0, J, angular_velocity=spin)], gravity=(0, 0, 0))
            options = {"method": "variational", "step": h, "coordinates": coordinates, "sigma": sigma}
            if part > 1.0:
                with pytest.raises(gd.SimulationError, match="does not converge"):
                    gd.simulate(system, h, **options)
                continue
            turned = gd.simulate(system, h, **options)["b"].matrix[-1]
            theta = {"quaternion": np.arcsin(part), "directors": 0.5 * np.arcsin(part)}[coordinates]
            expected = theta if sigma == 0.0 else 2.0 * theta
            assert np.trace(turned) == pytest.approx(1.0 + 2.0 * np.cos(expected), abs=1e-12)


def test_precession():
    rows = rows_of("precession")
    for item in ("Figure 6", "Figure 7"):
        # sin(theta) = h Omega3 has no solution.
        assert rows[item, "dt = 0.01, sigma = 0"].here.startswith("Newton's method fails at t = 0")
        mean = rows[item, "dt = 0.01, sigma_m: largest nutation (deg)"]
        assert mean.paper == "high accuracy"
        assert mean.here < 0.6
        assert (
            rows[item, "dt = 0.0025, sigma = 0: largest nutation (deg)"].here
            > 8.0 * rows[item, "dt = 0.0025, sigma_m: largest nutation (deg)"].here
        )
        conserving = rows[item, "dt = 0.01, energy-momentum: largest nutation (deg)"]
        assert conserving.here > 4.0 * mean.here
        assert rows[item, "dt = 0.01, energy-momentum: energy error (J)"].here < 1e-12
    # Not the precession: in quaternions its phase is wrong whatever sigma is.
    assert (
        rows["Figure 6", "dt = 0.0025, sigma_m: lead of precession at t = 2 (deg)"].here
        < rows["Figure 6", "dt = 0.0025, sigma = 0: lead of precession at t = 2 (deg)"].here
    )


@pytest.mark.slow
def test_reproduce_on_the_command_line(tmp_path):
    command = [sys.executable, "-m", "gyrod.cli", "reproduce", PAPER, "--out", str(tmp_path), "--json"]
    done = subprocess.run([*command, str(tmp_path / "rows.json")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    listed = json.loads((tmp_path / "rows.json").read_text())
    assert len({(r["item"], r["label"]) for r in listed}) == len(listed)
    assert {p.name for p in tmp_path.rglob("*.png")} == {f"figure-{n}.png" for n in range(3, 8)}
    assert {f"Figure {n}" for n in range(3, 8)} < {r["item"] for r in listed}
