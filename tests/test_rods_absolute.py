"""Rods, on bodies, on rods and on strings, in all formulations: the same motions, exact Jacobians, no drift."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from test_elements_joined import by_stages, elements, tied
from test_rods_on_bodies import DAMPING, SYSTEMS, bob, crank, floating, hose

import gyrod as gd
from gyrod.equations import compile_system

ABSOLUTE = "absolute-quaternion"
OTHERS = ("nullspace-directors", "absolute-directors", "euler")


def moored() -> gd.System:
    """A rod between two bodies, and one on a third, with a cable between the rods."""
    system, start = floating(damping=DAMPING), gd.Clamped("c")
    other = hose("other", (0, 1, 0), (1, 1, 0), start, gd.Free())
    cable = gd.Cable("rod", "other", at_a=(0.5, (0.01, 0.002)), at_b=0.6, stiffness=30.0, damping=0.1, length=0.9)
    return gd.System([*system.bodies, bob("c", (-0.05, 1, 0))], rods=[*system.rods, other], forces=[cable])


def levered() -> gd.System:
    """A rod on a hinged body."""
    arm = gd.Body("arm", mass=0.5, inertia=(2e-3, 3e-3, 4e-3), position=(0.2, 0, 0))
    rod = hose("rod", (0.4, 0, 0), (0.9, 0.2, 0), gd.Clamped("arm"), gd.Free(), damping=DAMPING)
    hinge = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), name="hinge")
    return gd.System([arm], [hinge], [rod])


CASES: dict[str, Callable[[], gd.System]] = {
    **SYSTEMS,
    "levered": levered,
    "moored": moored,
    "tied": tied,
    "elements clamped": lambda: elements("clamped", 3),
    "elements hinged": lambda: elements("hinged", 2),
    "elements crank": lambda: elements("crank", 2),
    "elements branch": lambda: elements("branch", 2),
    "elements tied": lambda: tied(segments=2, degree=3),
}


# --- derivatives -----------------------------------------------------------------------------------------------------

#: Central differences of eighth order.
WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def differences(c: Any, t: float, y: Any, columns: Any, h: float = 2e-3) -> Any:
    found = []
    for i in columns:
        e = h * np.eye(c.size)[i]
        found.append(
            sum(w / h * (c.core.rhs(t, y + k * e) - c.core.rhs(t, y - k * e)) for k, w in enumerate(WEIGHTS, 1))
        )
    return np.array(found).T


@pytest.mark.spread
@pytest.mark.parametrize("options", [{}, {"baumgarte_omega": 30.0, "baumgarte_r": 20.0}], ids=["plain", "baumgarte"])
@pytest.mark.parametrize("name", [name for name in CASES if name != "net"])
def test_the_jacobian_is_exact(name: str, options: dict[str, Any]) -> None:
    """Off the unit spheres too: Rosenbrock methods need the derivative in that direction."""
    c = compile_system(CASES[name](), ABSOLUTE, **options)
    rng = np.random.default_rng(3)
    y = c.y0 + 0.02 * rng.standard_normal(c.size)
    J, columns = by_stages(c, 0.2, y, 1.0), rng.choice(c.size, 40, replace=False)
    error = np.abs(J[:, columns] - differences(c, 0.2, y, columns)).max(axis=1)
    assert (error < 1e-10 * np.abs(J).max(axis=1) + 1e-16 * np.abs(J).max()).all()


def held(strain: str = "kirchhoff", **given: Any) -> gd.System:
    """Rods that bodies hold at both ends and at one, with held strains."""
    system = floating(damping=DAMPING, strain=strain, **given)
    other = hose("other", (0, 1, 0), (1, 1, 0), gd.Hinged("c", at=(0.05, 0, 0)), gd.Free(), strain=strain, **given)
    return gd.System([*system.bodies, bob("c", (-0.05, 1, 0))], rods=[*system.rods, other])


def single(**given: Any) -> gd.System:
    """A rod without bodies."""
    return gd.System(rods=[hose("rod", (0, 0, 0), (1, 0, 0), gd.Clamped(), gd.Free(), damping=DAMPING, **given)])


STAGES: dict[str, Callable[[], gd.System]] = {
    **{name: CASES[name] for name in ("clamped", "moored", "elements crank", "branch")},
    "single, Kirchhoff": lambda: single(strain="kirchhoff"),
    "single, inextensible elements": lambda: single(strain="inextensible", segments=2, degree=2),
    "held": held,
    "held elements": lambda: held("inextensible", segments=2, degree=2),
}


@pytest.mark.parametrize("formulation", gd.FORMULATIONS)
@pytest.mark.parametrize("name", STAGES)
def test_stages_solve_what_the_differences_say(name: str, formulation: str) -> None:
    """Real and complex ones, on the manifold and off it."""
    c = compile_system(STAGES[name](), formulation)
    rng = np.random.default_rng(4)
    y = c.y0 + 1e-3 * rng.standard_normal(c.size)
    # Trees of directors, and loops and ties of null-space forms, have it on the manifold only.
    loose = formulation.startswith("absolute") or name.startswith("single")
    for state in (np.asarray(c.core.project(y, 0.1)), y)[: 1 + loose]:
        check_stages(c, state, rng)


def check_stages(c: Any, y: Any, rng: np.random.Generator) -> None:
    b, J = rng.standard_normal(c.size), differences(c, 0.1, y, range(c.size), 5e-4)
    for shift in (3e3, 3e4, 3e3 + 2e3j, 2e4 - 3e4j):
        if isinstance(shift, complex):
            x = np.array([1.0, 1.0j]) @ c.core.solve_shifted_complex(0.1, y, shift.real, shift.imag, b)
        else:
            x = np.asarray(c.core.solve_shifted(0.1, y, shift, b))
        A = shift * np.eye(c.size) - J
        assert (np.abs(A @ x - b) / (np.abs(A) @ np.abs(x) + np.abs(b))).max() < 1e-8


def test_a_string_links_the_bodies_of_its_rods() -> None:
    """Hosts of different rods feel each other through the cable; their blocks were missing."""
    c = compile_system(moored())
    y = np.asarray(c.core.project(c.y0 + 0.02 * np.random.default_rng(3).standard_normal(c.size), 0.2))
    columns = range(0, c.size, 5)
    J = by_stages(c, 0.2, y, 1.0)
    error = np.abs(J[:, columns] - differences(c, 0.2, y, columns)).max(axis=1)
    assert (error < 1e-9 * np.abs(J).max(axis=1)).all()


# --- motions ---------------------------------------------------------------------------------------------------------


@cache
def reference(name: str, t_end: float = 0.02) -> gd.Motion:
    return gd.simulate(CASES[name](), t_end, method="dop853", rtol=1e-10, output=[0.5 * t_end, t_end])


def gaps(motion: gd.Motion, exact: gd.Motion) -> tuple[float, float]:
    """Largest difference of places, in metres, and of forces and moments at ends and joints, over the largest."""
    system = exact.system
    places = [(b.name, "position") for b in system.bodies] + [(r.name, "positions") for r in system.rods]
    loads = [(r.name, f"{end}_{what}") for r in system.rods for end in ("start", "end") for what in ("force", "moment")]
    loads += [(j.name, what) for j in system.joints if j.name for what in ("force", "torque")]

    def largest(table: list[tuple[str, str]], scaled: bool) -> float:
        found = [(key.split("_")[-1], getattr(motion[n], key), getattr(exact[n], key)) for n, key in table]
        sizes = {kind: max(float(np.abs(b).max()) for k, _, b in found if k == kind) or 1.0 for kind, *_ in found}
        return max(float(np.abs(a - b).max()) / (sizes[kind] if scaled else 1.0) for kind, a, b in found)

    return largest(places, False), largest(loads, True)


@pytest.mark.spread
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("method", "place", "load"), [("dop853", 1e-13, 3e-7), ("radau5", 5e-10, 5e-6)])
def test_motions_are_those_of_the_null_space_form(name: str, method: str, place: float, load: float) -> None:
    t_end = 0.005 if "tied" in name else 0.02
    how = {"rtol": 1e-10 if method == "dop853" else 1e-9, "output": [0.5 * t_end, t_end]}
    motion = gd.simulate(CASES[name](), t_end, formulation=ABSOLUTE, method=method, **how)
    x, f = gaps(motion, reference(name, t_end))
    assert x < place
    assert f < load
    assert motion.drift.position.max() < 1e-14


@pytest.mark.parametrize("formulation", OTHERS)
@pytest.mark.parametrize("name", ["clamped", "moored", "elements crank", "branch"])
@pytest.mark.parametrize(("method", "place", "load"), [("dop853", 1e-12, 1e-5), ("radau5", 5e-9, 5e-5)])
def test_motions_in_other_coordinates(name: str, formulation: str, method: str, place: float, load: float) -> None:
    how = {"rtol": 1e-9, "output": [0.0025, 0.005]}
    motion = gd.simulate(CASES[name](), 0.005, formulation=formulation, method=method, **how)
    x, f = gaps(motion, reference(name, 0.005))
    assert x < place
    assert f < load
    assert motion.drift.position.max() < 1e-13


@pytest.mark.parametrize("formulation", [f for f in gd.FORMULATIONS if f != "nullspace-quaternion"])
@pytest.mark.parametrize("name", [name for name in STAGES if "ingle," in name or "held" in name])
def test_held_strains_in_other_coordinates(name: str, formulation: str) -> None:
    how = {"method": "radau5", "rtol": 1e-9, "output": [0.0025, 0.005]}
    exact = gd.simulate(STAGES[name](), 0.005, **how)
    motion = gd.simulate(STAGES[name](), 0.005, formulation=formulation, **how)
    x, f = gaps(motion, exact)
    assert x < 1e-9
    assert f < 1e-5
    assert motion.drift.position.max() < 1e-12
    assert motion.drift.velocity.max() < 1e-9


@pytest.mark.parametrize("name", ["clamped", "crank", "branch", "elements hinged"])
def test_baumgarte_holds_what_is_not_projected(name: str) -> None:
    how = {"formulation": ABSOLUTE, "method": "radau5", "rtol": 1e-5, "projection": "none"}
    loose = gd.simulate(CASES[name](), 0.1, **how)
    held = gd.simulate(CASES[name](), 0.1, **how | {"formulation": gd.Formulation(ABSOLUTE, baumgarte=(300.0, 300.0))})
    last = len(loose.t) // 2
    assert loose.drift.position[last:].max() > 20.0 * held.drift.position[last // 2 :].max()
    exact = gd.simulate(CASES[name](), 0.1, method="radau5", rtol=1e-8)
    assert gaps(held(0.1), exact(0.1))[0] < 1e-6


def test_a_floating_system_keeps_energy_and_momentum() -> None:
    motion = gd.simulate(floating(segments=4), 0.5, formulation=ABSOLUTE, method="dop853", rtol=1e-11)
    for quantity in (motion.energy.total, *motion.momentum.T, *motion.angular_momentum.T):
        np.testing.assert_allclose(quantity, quantity[0], rtol=0, atol=1e-9)
    assert np.ptp(motion.energy.kinetic) > 1e-5  # the rod works


@pytest.mark.spread
@pytest.mark.parametrize("index", [1, 2, 3])
@pytest.mark.parametrize("name", ["levered", "crank", "branch"])
def test_multipliers_of_the_joints_as_unknowns(name: str, index: int) -> None:
    motion = gd.simulate(
        CASES[name](),
        0.02,
        formulation=gd.Formulation(ABSOLUTE, index=index),
        method="radau5",
        rtol=1e-9,
        output=[0.01, 0.02],
    )
    x, f = gaps(motion, reference(name))
    assert x < 1e-10
    assert f < 5e-6


def test_a_mechanism_beside_a_rod_as_a_differential_algebraic_system() -> None:
    """The rod's part has an identity for its mass; the whole was integrated as if all had."""
    rod = hose("rod", (0, 2, 0), (1, 2, 0), gd.Clamped("ground"), gd.Free())
    arm = gd.Body("arm", mass=0.5, inertia=(2e-3, 3e-3, 4e-3), position=(0.2, 0, 0))
    system = gd.System([arm], [gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0))], [rod])
    exact = gd.simulate(system, 0.05, method="dop853", rtol=1e-10, output=[0.05])
    for index in (1, 2, 3):
        motion = gd.simulate(system, 0.05, formulation=gd.Formulation(ABSOLUTE, index=index), rtol=1e-8, output=[0.05])
        assert gaps(motion, exact)[0] < 1e-8


@pytest.mark.parametrize(
    "name", ["elements hinged", *(pytest.param(n, marks=pytest.mark.slow) for n in ("clamped", "levered"))]
)
def test_bdf_with_multipliers(name: str) -> None:
    pytest.importorskip("sksundae")
    system = CASES[name]()
    motion = gd.simulate(system, 0.01, formulation=ABSOLUTE, method="bdf-dae", rtol=1e-7, output=[0.005, 0.01])
    x, f = gaps(motion, reference(name, 0.01))
    assert x < 2e-9
    assert f < 2e-5
    with pytest.raises(ValueError, match="absolute formulations"):
        gd.simulate(system, 0.01, method="bdf-dae")


def test_the_null_space_by_qr_with_rods() -> None:
    motion = gd.simulate(
        crank(),
        0.02,
        formulation=gd.Formulation(ABSOLUTE, null_space="qr"),
        method="dop853",
        rtol=1e-10,
        output=[0.01, 0.02],
    )
    assert gaps(motion, reference("crank"))[0] < 1e-13


# --- from rest -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["clamped", "branch", "net", "elements branch"])
def test_what_rests_stays_at_rest(name: str) -> None:
    rest = gd.equilibrium(CASES[name]())
    motion = gd.simulate(rest, 0.1, formulation=ABSOLUTE, method="radau5", rtol=1e-6)
    for rod in rest.system.rods:
        np.testing.assert_allclose(motion[rod.name].positions[-1], rest[rod.name].positions, atol=1e-6)
    assert motion.energy.kinetic.max() < 1e-9 * max(1.0, abs(motion.energy.total).max())


@pytest.mark.parametrize("formulation", ["nullspace-directors", ABSOLUTE, "absolute-directors", "euler"])
def test_bodies_start_from_rest_in_every_formulation(formulation: str) -> None:
    body = gd.Body("body", mass=2.0, inertia=[[0.3, 0.05, 0.0], [0.05, 0.2, 0.02], [0.0, 0.02, 0.4]])
    corners = ((0.1, 0.0, 0.2), (0.0, 0.3, 0.0), (-0.2, 0.0, 0.1))
    bushings = [gd.Bushing("ground", "body", at, at, stiffness=(90.0, 80.0, 70.0 + 9.0 * at[0])) for at in corners]
    rest = gd.equilibrium(gd.System([body], forces=bushings))
    assert np.abs(rest["body"].position).max() > 0.01
    motion = gd.simulate(rest, 0.2, formulation=formulation, rtol=1e-9)
    np.testing.assert_allclose(motion["body"].position, np.tile(rest["body"].position, (len(motion.t), 1)), atol=1e-7)
    np.testing.assert_allclose(motion["body"].matrix[-1], rest["body"].matrix, atol=1e-7)


def test_a_led_clamp_starts_in_motion() -> None:
    """The velocities of the path of rest come along, as rates of quaternions."""
    at = gd.ExpressionVector(("0.1 * t", 0, 0))
    rod = gd.Rod(
        "rod", 1.0, 6, gd.Circle(radius=5e-3), gd.Material(young=5e6, poisson=0.5, density=1100.0),
        start=gd.Clamped(at=at), end=gd.Clamped("bob"), initial=gd.Straight((0, 0, 0), (1, 0, 0)),
    )  # fmt: skip
    rest = gd.equilibrium(gd.System([bob("bob", (1.05, 0, 0))], rods=[rod]))
    runs = [
        gd.simulate(rest, 0.05, formulation=form, rtol=1e-8, output=[0.0, 0.05])
        for form in ("nullspace-quaternion", ABSOLUTE)
    ]
    assert np.abs(runs[0]["rod"].velocities[0]).max() > 0.05
    np.testing.assert_allclose(runs[1]["rod"].velocities[0], runs[0]["rod"].velocities[0], atol=1e-14)
    np.testing.assert_allclose(runs[1]["rod"].omega[0], runs[0]["rod"].omega[0], atol=1e-13)
    np.testing.assert_allclose(runs[1]["rod"].positions[1], runs[0]["rod"].positions[1], atol=1e-7)
