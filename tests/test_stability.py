"""How many ways an equilibrium can fall: counted from the pivots of the elimination, against eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

import gyrod as gd
from gyrod.solve.statics import SHIFT, Statics, prepare

PLASTIC = gd.Material(young=5e8, poisson=0.45, density=1100.0)
Array = NDArray[np.float64]
INERTIA = (1e-3, 1.2e-3, 1.5e-3)


def link(name: str, mass: float, at: tuple[float, float, float]) -> gd.Body:
    return gd.Body(name, mass, INERTIA, at)


def upright(hinges: int) -> gd.System:
    """Links that stand on top of each other, each hinged to the one below."""
    names = ["ground", *(f"link{k}" for k in range(hinges))]
    bodies = [link(name, 1.0, (0, 0, 0.2 * k + 0.1)) for k, name in enumerate(names[1:])]
    axes = [(1, 0, 0), (0, 1, 0)]
    joints = [gd.Revolute(a, b, at=(0, 0, 0.2 * k), axis=axes[k % 2]) for k, (a, b) in enumerate(pairwise(names))]
    return gd.System(bodies=bodies, joints=joints)


def parallelogram(height: float) -> gd.System:
    """A plate on two cranks that stand or hang: a closed loop."""
    bodies = [link("left", 0.2, (0, 0, 0.5 * height)), link("right", 0.2, (1, 0, 0.5 * height))]
    bodies.append(link("plate", 1.0, (0.5, 0, height)))
    joints = []
    for name, x in (("left", 0.0), ("right", 1.0)):
        joints += [gd.Revolute("ground", name, at=(x, 0, 0), axis=(0, 1, 0))]
        joints += [gd.Revolute(name, "plate", at=(x, 0, height), axis=(0, 1, 0))]
    return gd.System(bodies=bodies, joints=joints)


def pinned(height: float) -> gd.System:
    """A body about a fixed point below or above its centre of mass, held against turning about the vertical."""
    return gd.System(
        bodies=[link("top", 1.0, (0, 0, height))],
        joints=[gd.Spherical("ground", "top", at=(0, 0, 0))],
        forces=[gd.Bushing("ground", "top", (0.1, 0, height), (0.1, 0, 0), stiffness=10.0)],
    )


def balanced(count: int) -> gd.System:
    """Free bodies between springs that push them from above and below: each may leave to two sides."""
    bodies: list[gd.Body] = []
    forces: list[gd.SpringDamper | gd.Bushing] = []
    for k in range(count):
        bodies.append(link(f"b{k}", 1.0, (0.5 * k, 0, 0)))
        for z in (-0.2, 0.2):
            forces.append(
                gd.SpringDamper("ground", f"b{k}", stiffness=100.0, length=0.3, at_a=(0.5 * k, 0, z), at_b=(0, 0, 0))
            )
        for x, y in ((0.1, 0.0), (-0.1, 0.1), (0.0, -0.1)):
            forces.append(gd.Bushing("ground", f"b{k}", (0.5 * k + x, y, 0), (x, y, 0), stiffness=10.0))
    forces += [gd.SpringDamper(f"b{k}", f"b{k + 1}", stiffness=5.0, length=0.5) for k in range(count - 1)]
    return gd.System(bodies=bodies, forces=forces, gravity=(0, 0, 0))


def column(mass: float, strain: str, tops: int = 1) -> gd.System:
    """Bodies on top of slender rods, joined by another one."""
    bodies = [link(f"top{k}", mass, (0.3 * k, 0, 0.5)) for k in range(tops)]

    def rod(name: str, start: tuple[float, ...], end: tuple[float, ...], a: str, b: str) -> gd.Rod:
        return gd.Rod(
            name, segments=6, section=gd.Circle(radius=5e-3), material=PLASTIC, initial=gd.Straight(start, end),
            start=gd.Clamped(a), end=gd.Clamped(b), discretization="staggered", strain=strain,
        )  # fmt: skip

    rods = [rod(f"leg{k}", (0.3 * k, 0, 0), (0.3 * k, 0, 0.5), "ground", f"top{k}") for k in range(tops)]
    rods += [
        rod(f"beam{k}", (0.3 * k, 0, 0.5), (0.3 * k + 0.3, 0, 0.5), f"top{k}", f"top{k + 1}") for k in range(tops - 1)
    ]
    return gd.System(bodies=bodies, rods=rods)


def by_eigenvalues(statics: Statics, y: Array) -> int:
    """Negative eigenvalues of the inverse of the tangent stiffness, all of it, on what the constraints allow."""
    core, where, allowed = statics.compiled.core, statics.velocities, statics.allowed(y, 0.0)
    core.linearise(0.0, y, 10.0 * SHIFT * statics.rate)
    b, columns = np.zeros(statics.compiled.size), []
    for unit in np.eye(len(where)):
        b[where] = allowed(unit)
        columns.append(allowed(np.asarray(core.solve(b))[where]))
    values = np.linalg.eigvals(np.array(columns)).real
    return int(np.count_nonzero(values < -1e-9 * np.abs(values).max()))


CASES: dict[str, tuple[Callable[[], gd.System], int]] = {
    "links": (lambda: upright(4), 4),
    "hanging loop": (lambda: parallelogram(-0.5), 0),
    "standing loop": (lambda: parallelogram(0.5), 1),
    "hanging body": (lambda: pinned(-0.2), 0),
    "standing body": (lambda: pinned(0.2), 2),
    "one between springs": (lambda: balanced(1), 2),
    "some between springs": (lambda: balanced(5), 10),
    "light column": (lambda: column(0.1, "cosserat"), 0),
    "column": (lambda: column(0.5, "cosserat"), 2),
    "frame": (lambda: column(0.5, "cosserat", 3), -1),
    "light column without shear": (lambda: column(0.1, "kirchhoff"), 0),
    "column without shear": (lambda: column(0.5, "kirchhoff"), 2),
    "frame that does not stretch": (lambda: column(0.5, "inextensible", 2), -1),
}


@pytest.mark.parametrize("name", CASES)
def test_pivots_count_what_eigenvalues_do(name: str) -> None:
    make, known = CASES[name]
    statics = prepare(make())
    status, y, _ = statics.newton(statics.y)
    assert status == "converged"
    count = statics.unstable(y)
    assert count == by_eigenvalues(statics, y)
    if known >= 0:
        assert count == known
