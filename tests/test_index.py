"""Multipliers as unknowns: index 1, 2, 3, stabilised index 2, a numerical null space; of bodies with joints or not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import gyrod as gd

ABSOLUTE = ("absolute-quaternion", "absolute-directors")
FORMS = ({"index": 1}, {"index": 2}, {"index": 3}, {"index": 2, "stabilised": True})
MOMENTS, SPIN = np.array([1.0, 2.0, 3.0]), np.array([0.3, 2.0, 0.2])


def free() -> gd.System:
    return gd.System([gd.Body("b", 2.0, MOMENTS, velocity=(1, 0, 0), angular_velocity=SPIN)], gravity=(0, 0, 0))


def chain() -> gd.System:
    bodies = [
        gd.Body("a", 2.0, (0.02, 0.03, 0.04), position=(0.5, 0, 0)),
        gd.Body("b", 1.0, (0.01, 0.02, 0.02), position=(1.0, 0.3, 0), angular_velocity=(0, 0, 0)),
    ]
    joints = [
        gd.Revolute("ground", "a", at=(0, 0, 0), axis=(0, 1, 1)),
        gd.Spherical("a", "b", name="ball", at=(1.0, 0, 0)),
    ]
    return gd.System(bodies, joints)


@pytest.mark.parametrize("form", ABSOLUTE)
@pytest.mark.parametrize("parts", [*FORMS, {"null_space": "qr"}], ids=str)
def test_a_free_body_turns_by_eulers_equations(form, parts):
    def euler(_t, W):
        return -np.cross(W, MOMENTS * W) / MOMENTS

    exact = solve_ivp(euler, (0.0, 2.0), SPIN, "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    motion = gd.simulate(free(), 2.0, formulation=gd.Formulation(form, **parts), rtol=1e-9, max_step=0.02)
    # Index 3 leaves velocities an error of the order of those of positions over h.
    bound = 3e-5 if parts.get("index") == 3 else 3e-7
    assert_allclose(motion["b"].Omega[-1], exact, rtol=0, atol=bound)
    assert_allclose(motion["b"].position[-1], (2.0, 0.0, 0.0), rtol=0, atol=1e-8)


@pytest.mark.parametrize("form", ABSOLUTE)
def test_a_top_with_its_multipliers_has_the_force_at_its_point(form):
    body = gd.Body("top", 1.0, (0.02, 0.02, 0.01), position=(0.1, 0, 0.2), angular_velocity=(0, 0, 40))
    top = gd.System([body], [gd.Spherical("ground", "top", name="tip", at=(0, 0, 0))])
    tight = gd.simulate(top, 0.3, method="dop853", rtol=1e-12)
    for parts, state, force in zip(FORMS, (1e-7, 1e-7, 1e-5, 1e-6), (1e-5, 1e-4, 1e-2, 1e-4), strict=True):
        motion = gd.simulate(top, 0.3, formulation=gd.Formulation(form, **parts), rtol=1e-9)
        assert_allclose(motion["top"].position[-1], tight["top"].position[-1], rtol=0, atol=state)
        assert_allclose(motion["tip"].force[-1], tight["tip"].force[-1], rtol=0, atol=force)


@pytest.mark.parametrize("form", ABSOLUTE)
def test_what_each_form_holds(form):
    """Drift at accepted steps: index 3 has none of positions, index 2 none of velocities, stabilised neither."""
    rtol = 1e-6
    drift = []
    for parts in FORMS:
        found = gd.simulate(chain(), 2.0, formulation=gd.Formulation(form, **parts), rtol=rtol).drift
        drift.append((found.position.max(), found.velocity.max()))
    _, second, third, both = drift
    assert third[0] < rtol < 100.0 * rtol < third[1]
    assert second[1] < 10.0 * rtol
    assert both[0] < rtol
    assert both[1] < 10.0 * rtol


@pytest.mark.parametrize("form", ABSOLUTE)
def test_drift_over_a_long_run(form):
    """Positions leave index 2 and 1 with time, and stay with the stabilised form."""
    drift = []
    for parts in FORMS:
        found = gd.simulate(free(), 60.0, formulation=gd.Formulation(form, **parts), rtol=1e-4).drift.position
        drift.append(found.max())
    assert drift[3] < 0.3 * drift[0]
    assert drift[3] < 1e-4


@pytest.mark.parametrize(("method", "order"), [("rodas", 4), ("radau5", 5), ("seulex", 4)])
def test_orders_of_index_one(method, order):
    """Of positions and of multipliers, which no projection mends."""
    form = gd.Formulation("absolute-quaternion", index=1)
    tight = gd.simulate(chain(), 0.2, method="dop853", rtol=1e-13)
    errors = []
    for steps in (8, 16):
        motion = gd.simulate(chain(), 0.2, formulation=form, method=method, step=0.2 / steps, rtol=1e-10)
        state = np.abs(motion["b"].position[-1] - tight["b"].position[-1]).max()
        errors.append((state, np.abs(motion["ball"].force[-1] - tight["ball"].force[-1]).max()))
    assert_allclose(np.log2(np.divide(*errors)), order, rtol=0, atol=0.2)


@pytest.mark.parametrize("form", ABSOLUTE)
@pytest.mark.parametrize("stabilised", [False, True])
def test_solutions_of_stages_are_those_of_differences(form, stabilised):
    """(shift M - J) x = b with J by differences of the right-hand side, near eta = 0."""
    from gyrod.equations import compile_system

    options = {"level": 2, "stabilised": True} if stabilised else {"level": 2}
    compiled = compile_system(chain(), form, **options)
    y, core = compiled.y0, compiled.core
    rng, shift, n = np.random.default_rng(3), 40.0, compiled.size
    algebraic = np.array([kind == "force" for kind in compiled.kinds])
    J = np.array([
        (core.rhs(0.0, y + d) - core.rhs(0.0, y - d)) / 2e-6 for d in 1e-6 * np.eye(n)
    ]).T  # fmt: skip
    x = rng.normal(size=n)
    b = shift * np.where(algebraic, 0.0, x) - J @ x
    assert_allclose(core.solve_shifted(0.0, y, shift, b), x, rtol=0, atol=1e-5)


def held(strain, **mesh) -> gd.System:
    """A hinged body, a rod from it to another and one from there to nowhere, with strains that are held."""
    bodies = [gd.Body(n, 0.1, (2e-4, 3e-4, 4e-4), position=(x, 0, 0)) for n, x in (("a", 0.05), ("b", 0.75))]
    material = {
        "stiffness": (390, 390, 390, 0.25, 0.25, 0.17), "density_per_length": 0.09, "strain": strain,
        "rotary_inertia": (5e-5, 5e-5, 1e-4), **mesh,
    }  # fmt: skip
    rods = [
        gd.Rod(
            "r", start=gd.Clamped("a"), end=gd.Hinged("b"), **material,
            initial=gd.Straight((0.1, 0, 0), (0.7, 0, 0)),
        ),
        gd.Rod("s", start=gd.Clamped("b"), initial=gd.Straight((0.8, 0, 0), (1.2, 0.1, 0)), **material),
    ]  # fmt: skip
    return gd.System(bodies, [gd.Revolute("ground", "a", name="hinge", at=(0, 0, 0), axis=(0, 1, 0))], rods=rods)


HELD = {
    "kirchhoff": lambda: held("kirchhoff", segments=4), "inextensible": lambda: held("inextensible", segments=4),
    "kirchhoff elements": lambda: held("kirchhoff", segments=2, degree=2),
}  # fmt: skip


@pytest.mark.spread
@pytest.mark.parametrize("form", ABSOLUTE)
@pytest.mark.parametrize("parts", [*FORMS, {"null_space": "qr"}], ids=str)
@pytest.mark.parametrize("name", HELD)
def test_held_strains_on_bodies_with_multipliers(name, parts, form):
    """One section force of each rod is an unknown, and ends and joints have the forces of the null-space form."""
    system = HELD[name]()
    tight = gd.simulate(system, 0.03, method="radau5", rtol=1e-10)
    motion = gd.simulate(system, 0.03, formulation=gd.Formulation(form, **parts), method="radau5", rtol=1e-9)
    size = 1e-5 if parts.get("index") in (2, 3) else 1e-6
    for body in system.names:
        assert_allclose(motion[body].position[-1], tight[body].position[-1], rtol=0, atol=size)
    for rod in system.rod_names:
        assert_allclose(motion[rod].positions[-1], tight[rod].positions[-1], rtol=0, atol=size)
    wanted = tight["hinge"].force[-1]
    assert_allclose(motion["hinge"].force[-1], wanted, rtol=0, atol=1e3 * size * np.abs(wanted).max())


@pytest.mark.spread
@pytest.mark.parametrize("form", ABSOLUTE)
@pytest.mark.parametrize(
    "options", [{"level": 1}, {"level": 2}, {"level": 3}, {"level": 2, "stabilised": True}], ids=str
)
@pytest.mark.parametrize("name", HELD)
def test_stages_of_held_strains_with_multipliers(name, options, form):
    """Solutions, and those with the transposed matrix, against differences of the right-hand side."""
    from gyrod.equations import compile_system

    c = compile_system(HELD[name](), form, **options)
    rng, core, n, shift = np.random.default_rng(3), c.core, c.size, 300.0
    algebraic = np.array([kind == "force" for kind in c.kinds])
    y = c.y0 + np.where(algebraic, 1e-3 * np.abs(c.y0), 0.0) * rng.standard_normal(n)
    J = np.array([(core.rhs(0.0, y + d) - core.rhs(0.0, y - d)) / 2e-5 for d in 1e-5 * np.eye(n)]).T
    A = shift * np.diag(np.where(algebraic, 0.0, 1.0)) - J
    for _ in range(3):
        b = rng.standard_normal(n)
        x = np.asarray(core.solve_shifted(0.0, y, shift, b))
        assert (np.abs(A @ x - b) / (np.abs(A) @ np.abs(x) + np.abs(b))).max() < 1e-6
    if options.get("stabilised"):
        return
    assert core.linearise(0.0, y, shift)
    inverse = np.column_stack([core.solve(unit) for unit in np.eye(n)])
    assert_allclose(core.solve_transposed(b), inverse.T @ b, rtol=0, atol=1e-11 * np.abs(inverse).max() * n)


def test_held_strains_do_not_drift_with_multipliers():
    motion = gd.simulate(
        HELD["kirchhoff"](), 0.1, formulation=gd.Formulation("absolute-quaternion", index=1), method="radau5", rtol=1e-5
    )
    assert np.abs(motion["r"].strain[:, :, :2]).max() < 1e-10


def test_a_rod_beside_a_body_goes_its_way():
    rod = gd.Rod(
        "hose", 1.0, 4, gd.Circle(radius=5e-3), gd.Material(young=5e6, poisson=0.5, density=1100), start=gd.Hinged(),
        initial=gd.Straight((0, 0, 0), (0, 1, 0)),
    )  # fmt: skip
    both, alone = gd.System(free().bodies, rods=[rod]), gd.System(rods=[rod])
    form = gd.Formulation("absolute-quaternion", index=2, stabilised=True)
    motion, tight = gd.simulate(both, 0.2, formulation=form, rtol=1e-8), gd.simulate(alone, 0.2, rtol=1e-9)
    assert_allclose(motion["hose"].positions[-1], tight["hose"].positions[-1], rtol=0, atol=1e-6)
    with pytest.raises(
        ValueError, match=r"index = 2 is about multipliers of bodies, and there are only rods \('hose'\)"
    ):
        gd.simulate(alone, 0.2, formulation=form)


def test_stabilised_needs_index_two():
    with pytest.raises(ValueError, match="holds positions beside velocities, index = 2; leave index = 3 out"):
        gd.Formulation("absolute-quaternion", stabilised=True, index=3)
    with pytest.raises(ValueError, match="holds positions beside velocities, index = 2; leave null_space = 'qr' out"):
        gd.Formulation("absolute-quaternion", stabilised=True, null_space="qr")
    with pytest.raises(ValueError, match="ode needs index = 0"):
        gd.ode(free(), gd.Formulation("absolute-quaternion", stabilised=True))
    with pytest.raises(ValueError, match="stabilised = True works with the absolute formulations only"):
        gd.Formulation("nullspace-quaternion", stabilised=True)
    with pytest.raises(ValueError, match="index = 2 is a differential-algebraic system, which method = 'rodas'"):
        gd.simulate(free(), 1.0, formulation=gd.Formulation("absolute-quaternion", index=2), method="rodas")


def test_constraints_are_scaled_by_masses():
    """Remark 3.2 of the rod paper: light and heavy mechanisms are solved equally well."""
    form = gd.Formulation("absolute-quaternion", index=2, stabilised=True)
    found = []
    for size in (1e-6, 1.0, 1e6):
        bodies = [b.with_(mass=size * b.mass, inertia=size * b.inertia) for b in chain().bodies]
        motion = gd.simulate(gd.System(bodies, chain().joints), 0.2, formulation=form, rtol=1e-6)
        found.append((motion.stats.steps, motion.condition(1e-3)))
    steps, numbers = np.array(found).T
    assert np.ptp(steps) <= 1
    assert_allclose(numbers, numbers[1], rtol=0.01)
    assert motion.condition(1e-5) > motion.condition(1e-3)
    with pytest.raises(ValueError, match="step must be a positive finite number, got -1"):
        motion.condition(-1)


@pytest.mark.parametrize("method", ["seulex", "rodas"])
def test_multipliers_begin_where_a_change_of_the_state_has_left_them(method):
    """The bristles of a ball that begins to roll are changed between steps, its multipliers are not."""
    made = {"orientation": ("313", (0.3, 0.9, 0.2)), "velocity": (0.5, 0.2, 0), "shape": gd.Sphere(0.05)}
    ball = gd.Body("ball", 0.2, (2e-4, 2e-4, 2e-4), (0, 0, 0.049), angular_velocity=(1.0, -2.0, 3.0), **made)
    friction = gd.Friction(0.3, presliding=5e-4)
    plane = gd.Contact("ball", gd.Plane(), stiffness=2e3, damping=0.3, smoothing=2e-3, friction=friction)
    forms = gd.Formulation("absolute-quaternion", index=1), gd.Formulation()
    multiplied, plain = (
        gd.simulate(gd.System([ball], contacts=[plane]), 0.02, method=method, formulation=form, rtol=1e-7)
        for form in forms
    )
    np.testing.assert_allclose(multiplied["ball"].velocity[-1], plain["ball"].velocity[-1], atol=5e-6)
    t = np.linspace(0.0, 0.02, 40)
    np.testing.assert_allclose(multiplied(t)["ball"].position, plain(t)["ball"].position, atol=1e-7)
