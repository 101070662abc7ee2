"""gyrod reproduce zupan-saje-2011: errors of matrices beside RL2; all tables and figures are in test_cli."""

from __future__ import annotations

import numpy as np
import pytest

from gyrod import problems, reproduce, rotations
from gyrod.reproduce import zupan_saje_2011

PROBLEM = problems.get("zupan-saje-2-planar")


@pytest.mark.parametrize("parametrization", ["quaternion", "rotation-vector"])
def test_drift_and_scale_of_ode45(parametrization):
    """What a quaternion integrated by ODE45 has wrong is mostly its norm; vectors have no norm to be wrong."""
    report = reproduce.Report()
    a = zupan_saje_2011._solve(PROBLEM, "ode45", parametrization, **zupan_saje_2011._ode_tolerance("ode45"))
    q = zupan_saje_2011._integrated(a)
    zupan_saje_2011._matrix_errors(report, "Table 3", "ODE45", PROBLEM, a.t, q)
    drift, skew, scale = (row.here for row in report.rows)
    assert [row.paper for row in report.rows] == [None] * 3
    distance = rotations.distance(PROBLEM.quaternion(a.t), a.quaternion).max()
    assert distance / np.sqrt(3.0) <= drift * 1.01
    assert drift <= distance * 1.01
    assert skew == 0.0
    if parametrization == "quaternion":
        assert scale == pytest.approx(np.abs(np.sum(q * q, axis=1) - 1.0).max(), rel=1e-2)
        assert scale > 10.0 * drift
    else:
        assert scale == 0.0
