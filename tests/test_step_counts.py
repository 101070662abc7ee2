"""Steps of mechanisms that are known to cost much where their equations are not good: no more than they took."""

from __future__ import annotations

import numpy as np
import pytest
from squeezer import START, TRUSTED, squeezer
from test_integrators import bushing_system

import gyrod as gd

#: Of Andrews' squeezing mechanism, steps of accepted ones; a twentieth is left to rounding.
SQUEEZER = {
    ("nullspace-quaternion", "dop853", 1e-8): 100, ("nullspace-quaternion", "radau5", 1e-6): 415,
    ("nullspace-quaternion", "rodas", 1e-6): 917, ("nullspace-quaternion", "seulex", 1e-6): 38,
    ("nullspace-directors", "dop853", 1e-8): 97, ("nullspace-directors", "rodas", 1e-6): 820,
    ("absolute-directors", "dop853", 1e-8): 103, ("absolute-directors", "radau5", 1e-6): 442,
}  # fmt: skip


@pytest.mark.spread
@pytest.mark.parametrize(("formulation", "method", "rtol"), SQUEEZER)
def test_squeezing_mechanism(formulation, method, rtol):
    """Three flat loops with nine redundant rows, against the test set for IVP solvers."""
    system = squeezer()
    assert (system.mobility().freedoms, system.mobility().redundant) == (1, 9)
    motion = gd.simulate(system, 0.03, formulation=formulation, method=method, rtol=rtol)
    found = [s + motion[j].coordinates[-1, 0] for s, j in ((START[0], "ground-K1"), (START[2], "ground-K3"))]
    np.testing.assert_allclose(found, TRUSTED, rtol=0, atol=1e-8 if method == "dop853" else 3e-7)
    assert motion.stats.steps <= 1.05 * SQUEEZER[formulation, method, rtol]


@pytest.mark.parametrize(("method", "steps"), [("radau5", 100), ("rodas", 230), ("seulex", 31)])
def test_stiff_bushing(method, steps):
    assert gd.simulate(bushing_system(), 0.5, method=method, rtol=1e-8).stats.steps <= 1.05 * steps
