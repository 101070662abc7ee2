"""Rods of elements held by bodies, by one another and by strings: Jacobians, balances, agreement with the fine grid."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from test_rods_core import slope
from test_rods_on_bodies import DAMPING, RUBBER, SYSTEMS, bob, floating, gap, hose, net, pendulum, ring
from test_statics import strings

import gyrod as gd
from gyrod.equations import compile_system
from gyrod.model.meshes import apply

DEGREES = (2, 3, 4)
NO_GRAVITY = (0.0, 0.0, 0.0)
QUARTERS = np.linspace(0.0, 1.0, 5)
#: Elements that each system gets; a ring turns by half a turn in each of two at most.
COUNTS = {"ring": 4}


def with_rods(system: gd.System, **options: Any) -> gd.System:
    rods = [rod.with_(**options) for rod in system.rods]
    return gd.System(system.bodies, system.joints, rods=rods, forces=system.forces, gravity=system.gravity)


def elements(name: str, degree: int, count: int | None = None) -> gd.System:
    return with_rods(SYSTEMS[name](), segments=count or COUNTS.get(name, 2), degree=degree)


def tied(**options: Any) -> gd.System:
    """Two rods with cables between them, to ground, and a tendon along one."""
    return with_rods(strings(), **options)


def disturbed(system: gd.System, t: float) -> Any:
    """A state near the initial one; more would be large strains between nodes that are close to each other."""
    c = compile_system(system)
    rng = np.random.default_rng(3)
    return c, np.asarray(c.core.project(c.y0 + 1e-3 * rng.standard_normal(c.size), t))


# --- derivatives -----------------------------------------------------------------------------------------------------


def by_stages(c: Any, t: float, y: Any, shift: float = 50.0) -> Any:
    """The Jacobian that stages are solved with."""
    x, units = np.empty((c.size, c.size)), np.eye(c.size)
    c.core.linearise(t, y, shift)
    for i in range(c.size):
        x[:, i] = c.core.solve(units[i])
    return shift * units - np.linalg.inv(x)


def check_columns(c: Any, t: float, y: Any, J: Any, columns: Any) -> None:
    """Against differences of eighth order, each row over its largest entry."""
    h, noise = 1e-5, 1e-14 * np.abs(c.core.rhs(t, y)).max()
    for i in columns:
        unit = np.eye(c.size)[i]
        column = slope(lambda k, unit=unit: np.asarray(c.core.rhs(t, y + k * unit)), h)
        assert (np.abs(J[:, i] - column) < 1e-7 * np.abs(J).max(axis=1) + noise / h).all()


CASES = [(name, p) for name in SYSTEMS for p in DEGREES if name != "net" or p == 2]


@pytest.mark.spread
@pytest.mark.parametrize(("name", "degree"), CASES)
def test_the_jacobian_is_exact(name: str, degree: int) -> None:
    """Of bodies and elements together, at a point in motion."""
    c, y = disturbed(elements(name, degree), 0.2)
    columns = np.random.default_rng(4).choice(c.size, min(c.size, 40), replace=False)
    check_columns(c, 0.2, y, np.asarray(c.core.jacobian(0.2, y)), columns)


@pytest.mark.parametrize("degree", DEGREES)
def test_the_jacobian_of_strings_is_exact(degree: int) -> None:
    c, y = disturbed(tied(segments=2, degree=degree), 0.2)
    check_columns(c, 0.2, y, by_stages(c, 0.2, y), range(0, c.size, 7))


@pytest.mark.parametrize(("name", "degree"), CASES)
def test_stages_solve_what_the_dense_matrix_says(name: str, degree: int) -> None:
    c, y = disturbed(elements(name, degree), 0.1)
    b = np.random.default_rng(5).standard_normal(c.size)
    J = np.asarray(c.core.jacobian(0.1, y))
    for shift in (30.0, 3e4):
        # Row by row, over what is summed there: a condition number of 1e13 leaves no digits to compare solutions by.
        x, A = np.asarray(c.core.solve_shifted(0.1, y, shift, b)), shift * np.eye(c.size) - J
        assert (np.abs(A @ x - b) / (np.abs(A) @ np.abs(x) + np.abs(b))).max() < 1e-6


# --- balances --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", DEGREES)
def test_energy_and_momentum_of_a_floating_system(degree: int) -> None:
    system = with_rods(floating(), segments=2, degree=degree)
    motion = gd.simulate(system, 0.1, method="dop853", rtol=1e-11)
    for quantity in (motion.energy.total, *motion.momentum.T, *motion.angular_momentum.T):
        np.testing.assert_allclose(quantity, quantity[0], rtol=0, atol=1e-9)
    assert np.ptp(motion.energy.kinetic) > 1e-5
    assert gap(motion, "rod", "b", (-0.03, 0.0, -0.04), -1) < 1e-14


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("end", [gd.Hinged, gd.Clamped])
def test_damped_systems_lose_what_is_dissipated(degree: int, end: Any) -> None:
    system = with_rods(pendulum(end("bob", at=(0, 0, 0.05)), damping=DAMPING), segments=2, degree=degree)
    energy = gd.simulate(system, 0.2, method="radau5", rtol=1e-8).energy
    assert energy.dissipated[-1] > 1e-6
    total = energy.total + energy.dissipated
    np.testing.assert_allclose(total, total[0], atol=1e-5 * energy.kinetic.max())


@pytest.mark.parametrize("degree", DEGREES)
def test_a_branch_keeps_its_energy(degree: int) -> None:
    motion = gd.simulate(elements("branch", degree), 0.02, method="dop853", rtol=1e-10)
    np.testing.assert_allclose(motion.energy.total, motion.energy.total[0], atol=1e-8)
    x, frame = motion["trunk"].positions[:, -1], motion["trunk"].quaternions[:, -1]
    for name in ("left", "right"):
        assert np.abs(motion[name].positions[:, 0] - x).max() < 1e-14
        between = gd.rotations.multiply(gd.rotations.conjugate(frame), motion[name].quaternions[:, 0])
        assert np.abs(between - between[0]).max() < 1e-13  # welded
    assert np.abs(motion["tail"].positions[:, 0] - motion["left"].positions[:, -1]).max() < 1e-14


@pytest.mark.parametrize("degree", DEGREES)
def test_a_ring_floats(degree: int) -> None:
    """The quaternions of a closed ring change their sign once around."""
    motion = gd.simulate(with_rods(ring(), segments=5, degree=degree), 0.04, method="dop853", rtol=1e-11)
    for quantity in (motion.energy.total, *motion.momentum.T, *motion.angular_momentum.T):
        np.testing.assert_allclose(quantity, quantity[0], rtol=0, atol=1e-9 * max(1.0, np.abs(quantity).max()))
    x = motion["ring"].positions
    assert np.abs(x[:, 0] - x[:, -1]).max() < 1e-14


def test_reactions_act_on_the_body() -> None:
    motion = gd.simulate(elements("clamped", 3), 0.3, rtol=1e-8)
    at, c = motion(0.25), motion.compiled
    v, Omega = np.split(c.accelerations(0.25, np.asarray(at.y))[0], 2)
    body, track, rod = c.system.body("bob"), at["bob"], at["hose"]
    force = body.mass * (v - c.system.gravity)
    np.testing.assert_allclose(force, -rod.end_force, rtol=1e-9)
    torque = body.inertia @ Omega + np.cross(track.Omega, body.inertia @ track.Omega)
    arm = track.matrix @ np.array([0, 0, 0.05])
    np.testing.assert_allclose(
        track.matrix @ torque, -rod.end_moment - np.cross(arm, rod.end_force), atol=1e-9 * np.abs(force).max()
    )


@cache
def of_the_crank() -> gd.Motion:
    return gd.simulate(elements("crank", 3), 0.02, method="dop853", rtol=1e-10)


@pytest.mark.parametrize("method", ["radau5", "rodas", "seulex"])
def test_methods_agree(method: str) -> None:
    reference = of_the_crank()
    motion = gd.simulate(elements("crank", 3), 0.02, method=method, rtol=1e-7)
    for name in ("crank", "slider"):
        np.testing.assert_allclose(motion[name].position[-1], reference[name].position[-1], atol=2e-7)
    np.testing.assert_allclose(motion["hose"].positions[-1], reference["hose"].positions[-1], atol=2e-7)


def test_a_heavy_body_is_a_clamp() -> None:
    """A body that nothing can move holds an end as ground does."""
    options = {"segments": 2, "degree": 3}
    held = gd.System(rods=[hose("hose", (0, 0, 0), (1, 0, 0), gd.Clamped("ground"), gd.Free(), **options)])
    rock = gd.Body("rock", mass=1e3, inertia=(1e3, 1e3, 1e3), position=(0, 0.3, 0))
    fixed = gd.System(
        bodies=[rock],
        joints=[gd.Fixed("ground", "rock", at=(0, 0, 0))],
        rods=[hose("hose", (0, 0, 0), (1, 0, 0), gd.Clamped("rock"), gd.Free(), **options)],
    )
    a, b = (gd.simulate(s, 0.3, rtol=1e-8, output=[0.1, 0.3]) for s in (held, fixed))
    np.testing.assert_allclose(a["hose"].positions, b["hose"].positions, atol=1e-9)
    np.testing.assert_allclose(a["hose"].start_force, b["hose"].start_force, atol=1e-5)
    np.testing.assert_allclose(a["hose"].start_moment, b["hose"].start_moment, atol=1e-6)


# --- halves and wholes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("degree", "kind"), [*((p, "rest") for p in DEGREES), (3, "motion")])
def test_two_rods_are_one(degree: int, kind: str) -> None:
    """Halves that are clamped to each other are the whole rod exactly: its elements end there."""
    load = {"force": (0.0, 0.02, -0.01), "moment": (1e-3, 0.0, 2e-3)}
    halves = [
        hose("a", (0, 0, 0), (0.5, 0, 0), gd.Clamped("ground"), gd.Free(), 2, degree=degree),
        hose("b", (0.5, 0, 0), (1, 0, 0), gd.Clamped("a", at="end"), gd.Free(), 2, degree=degree),
    ]
    whole = hose("a", (0, 0, 0), (1, 0, 0), gd.Clamped("ground"), gd.Free(), 4, degree=degree)
    two = gd.System(rods=halves, forces=[gd.RodLoad("b", at=1.0, **load)], gravity=(0, 0, -0.5))
    one = gd.System(rods=[whole], forces=[gd.RodLoad("a", at=1.0, **load)], gravity=(0, 0, -0.5))
    if kind == "rest":
        a, b = gd.equilibrium(two), gd.equilibrium(one)
        assert a.stable
        np.testing.assert_allclose(a["b"].positions, b["a"].positions[2 * degree :], atol=1e-9)
        np.testing.assert_allclose(a["a"].start_moment, b["a"].start_moment, atol=1e-12)
        return
    a, b = (gd.simulate(s, 0.05, method="radau5", rtol=1e-8, output=[0.05]) for s in (two, one))
    np.testing.assert_allclose(a["b"].positions[-1], b["a"].positions[-1, 2 * degree :], atol=1e-7)


def test_modes_of_a_rod_with_a_body() -> None:
    """A body on the tip of a cantilever vibrates like a point mass there, to all digits of the discretisation."""
    steel, mass, L = gd.Material(young=2e11, poisson=0.3, density=7850.0), 5.0, 1.0
    rod = {
        "segments": 3, "degree": 4, "section": gd.Circle(radius=5e-3), "material": steel,
        "initial": gd.Straight((0, 0, 0), (L, 0, 0)),
    }  # fmt: skip
    plain = gd.Rod("rod", start=gd.Clamped("ground"), **rod)
    loaded = gd.System(rods=[plain], forces=[gd.PointMass("rod", at=1.0, mass=mass)], gravity=NO_GRAVITY)
    tip = gd.Body("tip", mass=mass, inertia=(1e-12, 1e-12, 1e-12), position=(L, 0, 0))
    end = gd.Clamped("tip", at=(0, 0, 0))
    held = gd.System(bodies=[tip], rods=[gd.Rod("rod", start=gd.Clamped("ground"), end=end, **rod)], gravity=NO_GRAVITY)
    a, b = gd.modes(loaded, n=4), gd.modes(held, n=4)
    np.testing.assert_allclose(a.omega, b.omega, rtol=1e-6)
    stiffness, own = 3.0 * 2e11 * np.pi / 4.0 * 5e-3**4 / L**3, 33.0 / 140.0 * 7850.0 * np.pi * 25e-6 * L
    np.testing.assert_allclose(b.omega[:2], np.sqrt(stiffness / (mass + own)), rtol=5e-4)


@pytest.mark.parametrize("follow", [False, True])
def test_a_moment_on_a_clamped_end_acts_on_what_holds_it(follow: bool) -> None:
    moment = (0.0, 1e-3, 0.0)
    load = gd.RodLoad("hose", moment=moment, follow=follow)
    options = {"segments": 3, "degree": 3}
    free = hose("hose", (0, 0, 0), (1, 0, 0), gd.Clamped("ground"), gd.Free(), **options)
    alone = gd.equilibrium(gd.System(rods=[free], forces=[load], gravity=NO_GRAVITY))
    held = hose("hose", (0, 0, 0), (1, 0, 0), gd.Clamped("ground"), gd.Clamped("bob", at=(0, 0, 0)), **options)
    tip = bob("bob", (1, 0, 0))
    rest = gd.equilibrium(gd.System(bodies=[tip], rods=[held], forces=[load], gravity=NO_GRAVITY))
    np.testing.assert_allclose(rest["hose"].positions, alone["hose"].positions, atol=1e-9)
    np.testing.assert_allclose(rest["hose"].start_moment, alone["hose"].start_moment, atol=1e-11)
    c, y = disturbed(gd.System(bodies=[tip], rods=[held], forces=[load]), 0.0)
    check_columns(c, 0.0, y, np.asarray(c.core.jacobian(0.0, y)), range(3, 13))


# --- against the grid ------------------------------------------------------------------------------------------------


def places(result: Any, system: gd.System) -> np.ndarray[Any, Any]:
    """Quarters of all rods and centres of all bodies."""
    found = [result[body.name].position.reshape(-1, 3)[-1] for body in system.bodies]
    for rod in system.rods:
        track = result[rod.name]
        x = track.positions if track.positions.ndim == 2 else track.positions[-1]
        found += [*apply(*rod.mesh.vertex_at(QUARTERS), x)]
    return np.array(found)


@pytest.mark.parametrize("name", ["hinged", "clamped", "coupled section", "stretch", "branch"])
def test_motion_as_of_the_fine_grid(name: str) -> None:
    """The grid tends to where a few elements are."""
    found = {}
    for options in ({"segments": 16}, {"segments": 32}, {"segments": 4, "degree": 4}):
        system = with_rods(SYSTEMS[name](), **options)
        motion = gd.simulate(system, 0.1, method="radau5", rtol=1e-6, output=[0.1])
        found[options["segments"]] = places(motion, system)
    change = np.abs(found[32] - found[16]).max()
    limit = found[32] + (found[32] - found[16]) / 3.0
    assert change > 1e-5
    assert np.abs(found[4] - limit).max() < 0.1 * change


@pytest.mark.parametrize("degree", [2, *(pytest.param(p, marks=pytest.mark.slow) for p in (3, 4))])
def test_a_net_of_hinged_rods_sags(degree: int) -> None:
    """Each rod may turn about itself, which nothing hinders; that does not keep the net from its rest."""
    rest = gd.equilibrium(with_rods(net(gd.Hinged), segments=2, degree=degree))
    fine = gd.equilibrium(with_rods(net(gd.Hinged), segments=32))
    assert rest.stable
    # Newton's method, tried in between, wanders along the turns as rounding leads it; the relaxation comes to rest.
    assert rest.method == "relaxation"
    assert np.count_nonzero(rest.history[:, 1] == 0.0) < 40
    np.testing.assert_allclose(rest["r0"].positions[-1], fine["r0"].positions[-1], atol=1e-4)


def test_a_net_sags_as_that_of_the_grid() -> None:
    system = with_rods(net(gd.Clamped), segments=8, degree=3)
    rest = gd.equilibrium(system)
    assert rest.stable
    weight = 12 * np.pi * 25e-6 * 1100 * 9.81
    hold = sum(rest[r.name].start_force * (r.start.holds_position and not r.start.attached) for r in system.rods)
    hold = hold + sum(rest[r.name].end_force * (r.end.holds_position and not r.end.attached) for r in system.rods)
    np.testing.assert_allclose(hold, (0, 0, weight), atol=1e-7 * weight)
    grids = [with_rods(net(gd.Clamped), segments=n) for n in (64, 128)]
    coarse, fine = (places(gd.equilibrium(s), s) for s in grids)
    limit = fine + (fine - coarse) / 3.0
    assert np.abs(places(rest, system) - limit).max() < 0.2 * np.abs(fine - coarse).max()


@pytest.mark.parametrize("name", ["hinged", "clamped"])
def test_rest_is_the_end_of_a_damped_motion(name: str) -> None:
    end = (gd.Hinged if name == "hinged" else gd.Clamped)("bob", at=(0, 0, 0.05))
    system = pendulum(end, damping=gd.Damping(shear=1.0, extension=1.0, bending=2e-2, torsion=2e-2))
    brake = gd.UserForce("bob", lambda t, b: (-0.3 * b.velocity, -1e-2 * b.Omega))
    system = gd.System(bodies=system.bodies, rods=system.rods, forces=[gd.Drag("hose", coefficient=2.0), brake])
    system = with_rods(system, segments=2, degree=3)
    rest = gd.equilibrium(system)
    assert rest.stable
    motion = gd.simulate(system, 400.0, method="radau5", rtol=1e-6)
    np.testing.assert_allclose(motion["hose"].positions[-1], rest["hose"].positions, atol=1e-8)
    np.testing.assert_allclose(motion["bob"].position[-1], rest["bob"].position, atol=1e-8)


# --- strings ---------------------------------------------------------------------------------------------------------


def moored(**kind: Any) -> gd.System:
    """Two soft rods, cables from one to ground and to the other, and a tendon beside the axis of the first."""
    soft = {
        "stiffness": (30.0, 40.0, 50.0, 1.0, 1.2, 0.8),
        "density_per_length": 1.0,
        "rotary_inertia": (0.1, 0.1, 0.1),
    }
    line = gd.Straight((0, 0.5, 0), (1, 0.5, 0))
    rods = [
        gd.Rod("rod", 1.0, start=gd.Clamped(), **soft, **kind),
        gd.Rod("other", 1.0, start=gd.Clamped(), initial=line, **soft, **kind),
    ]
    forces = [
        gd.Cable("ground", "rod", at_a=(0.5, 0.0, 1.0), at_b=(0.75, (0.02, 0.01)), stiffness=5.0, length=0.5),
        gd.Cable("rod", "other", at_a=0.5, at_b=1.0, stiffness=8.0, length=0.3),
        gd.Tendon("rod", [(0.25, (0.05, 0)), (0.5, (0.0, 0.05)), (1.0, (0.05, 0.0))], tension=2.0),
    ]
    return gd.System(rods=rods, forces=forces, gravity=(0, 0, -2.0))


@cache
def moored_places(segments: int, degree: int | None = None) -> np.ndarray[Any, Any]:
    system = moored(segments=segments, degree=degree)
    return places(gd.equilibrium(system), system)


@pytest.mark.parametrize("degree", DEGREES)
def test_strings_pull_as_on_the_fine_grid(degree: int) -> None:
    coarse, fine, ours = moored_places(80), moored_places(160), moored_places(6, degree)
    # Of first order on the grid: where the moment jumps, the frame between two segments is known no better.
    limit = 2.0 * fine - coarse
    assert np.abs(ours - limit).max() < 0.25 * np.abs(fine - coarse).max()
    assert np.abs(ours[4] - (1.0, 0.0, 0.0)).max() > 0.1  # they pull


@pytest.mark.parametrize("degree", DEGREES)
def test_a_tendon_bends_a_rod_to_an_arc(degree: int) -> None:
    """Tension T at an offset a: compression T, curvature T a/EI where it is led, a little more where it is a chord."""
    a, T, EI = 4e-3, 2.0, 5e6 * np.pi / 4.0 * 5e-3**4
    points = [(s, (a, 0.0)) for s in np.linspace(0.0, 1.0, 51)]
    rod = gd.Rod("rod", 1.0, 2, gd.Circle(radius=5e-3), RUBBER, gd.Clamped(), degree=degree)
    rest = gd.equilibrium(gd.System(rods=[rod], forces=[gd.Tendon("rod", points, tension=T)], gravity=NO_GRAVITY))
    bend, K = np.linalg.norm(rest["rod"].curvature[:, :2], axis=1), T * a / EI
    np.testing.assert_allclose(bend.mean(), K * (1.0 + K * 0.02**2 / 12.0 / a), rtol=5e-3)
    np.testing.assert_allclose(rest["rod"].force[:, 2], -T, rtol=2e-3)


@pytest.mark.spread(0)
@pytest.mark.parametrize("degree", DEGREES)
def test_energy_with_strings_and_obstacles(degree: int) -> None:
    system = tied(segments=2, degree=degree)
    ball = gd.SphereObstacle((0.8, 0.0, -0.35), 0.2, stiffness=2e3, smoothing=0.02)
    forces = [*system.forces[1:2], ball, gd.Foundation("other", stiffness=5.0)]
    motion = gd.simulate(gd.System(rods=system.rods, forces=forces), 0.2, method="dop853", rtol=1e-9)
    np.testing.assert_allclose(motion.energy.total, motion.energy.total[0], atol=1e-7)


# --- held strains ----------------------------------------------------------------------------------------------------

HELD = {"kirchhoff": 2, "inextensible": 3}
ENDS = {"free": gd.Free(), "hinged": gd.Hinged(), "clamped": gd.Clamped()}


def thin(strain: str, degree: int | None, start: str = "hinged", **given: Any) -> gd.System:
    options = {"segments": 3, "initial": gd.Straight((0, 0, 0), (0, 1, 0)), "start": ENDS[start]} | given
    gravity = (0.0, 0.0, -9.81) if start != "free" else NO_GRAVITY
    rod = gd.Rod("r", 1.0, section=gd.Circle(radius=5e-3), material=RUBBER, strain=strain, degree=degree, **options)
    return gd.System(rods=[rod], gravity=gravity)


@pytest.mark.spread
@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("start", ENDS)
@pytest.mark.parametrize("strain", HELD)
def test_stages_of_held_strains_are_solved_exactly(strain: str, start: str, degree: int) -> None:
    damping = gd.Damping(bending=2e-4, torsion=8e-6, extension=0.1) if degree != 3 else None
    c, y = disturbed(thin(strain, degree, start, damping=damping), 0.0)
    y = np.asarray(c.core.project(y))
    J, b = c.core.jacobian_dual(0.0, y), np.random.default_rng(1).normal(size=c.size)
    for shift in (20.0, 2000.0):
        x = c.core.solve_shifted(0.0, y, shift, b)
        np.testing.assert_allclose(x, np.linalg.solve(shift * np.eye(c.size) - J, b), rtol=1e-6, atol=1e-8)


@pytest.mark.spread
@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("strain", HELD)
def test_methods_keep_held_strains_and_energy(strain: str, degree: int) -> None:
    ends = {}
    for method, rtol in (("dop853", 1e-9), ("radau5", 1e-8), ("rodas", 1e-7))[: 3 if degree == 3 else 2]:
        motion = gd.simulate(thin(strain, degree, segments=2), 0.15, method=method, rtol=rtol)
        ends[method] = motion["r"].positions[-1, -1]
        assert np.abs(motion["r"].strain[..., : HELD[strain]]).max() < 1e-11
        assert motion.drift.position.max() < 1e-12
        assert motion.drift.velocity.max() < 1e-10
        assert np.ptp(motion.energy.total) < 1e-6 * motion.energy.kinetic.max()
    for end in ends.values():
        np.testing.assert_allclose(end, ends["dop853"], atol=3e-6)


@pytest.mark.spread(0)
@pytest.mark.parametrize("strain", HELD)
def test_limit_of_a_stiff_cosserat_rod(strain: str) -> None:
    """Held strains are the limit of stiff ones: the difference falls with the stiffness."""
    C = compile_system(thin("cosserat", 3, segments=2)).rods[0]
    base = np.array([*np.diag(C["CG"][0]), *np.diag(C["CK"][0])])
    want = gd.simulate(thin(strain, 3, segments=2), 0.2, method="radau5", rtol=1e-8)["r"].positions[-1, -1]
    errors = []
    for factor in (1e2, 1e4):
        stiff = base.copy()
        stiff[: HELD[strain]] *= factor
        system = thin("cosserat", 3, segments=2, stiffness=stiff)
        got = gd.simulate(system, 0.2, method="radau5", rtol=1e-8)["r"].positions[-1, -1]
        errors.append(np.linalg.norm(got - want))
    assert errors[1] < 0.05 * errors[0]
    assert errors[1] < 1e-5


@cache
def thin_end(strain: str, degree: int | None, segments: int) -> np.ndarray[Any, Any]:
    motion = gd.simulate(thin(strain, degree, segments=segments), 0.3, method="radau5", rtol=1e-6)
    return motion["r"].positions[-1, -1]


@pytest.mark.spread(0)
@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("strain", HELD)
def test_held_strains_as_on_the_fine_grid(strain: str, degree: int) -> None:
    coarse, fine = thin_end(strain, None, 16), thin_end(strain, None, 32)
    found = thin_end(strain, degree, {2: 8, 3: 5, 4: 4}[degree])
    limit = fine + (fine - coarse) / 3.0
    assert np.linalg.norm(found - limit) < 0.5 * np.linalg.norm(fine - coarse)


@pytest.mark.parametrize("strain", HELD)
def test_momentum_of_a_free_rod_of_held_strains(strain: str) -> None:
    system = thin(
        strain, 3, "free", velocity=lambda s: (0.0, 0.0, 1.0 - 2.0 * s), angular_velocity=lambda s: (-2.0, 0, 3.0)
    )
    motion = gd.simulate(system, 0.2, method="dop853", rtol=1e-10)
    for quantity in (motion.momentum, motion.angular_momentum):
        # The initial velocities are projected after the first step.
        np.testing.assert_allclose(quantity[1:], quantity[1] * np.ones((len(quantity) - 1, 1)), atol=1e-9)


def test_a_led_clamp_at_rest_carries_no_inertia():
    """What leads the clamp stands still at rest: only the weight is left."""
    still = gd.Rod(
        "hose", 1.0, 4, gd.Circle(radius=2e-2), gd.Material(young=5e6, poisson=0.5, density=1100), degree=3,
        initial=gd.Straight((0, 0, 0), (0, 0, -1)),
    )  # fmt: skip
    start = still.end_frames[0]

    def turned(t):
        return gd.rotations.multiply(np.array([np.cos(50 * t * t), 0, 0, np.sin(50 * t * t)]), start)

    system = gd.System(rods=[still.with_(start=gd.Clamped("ground", frame=turned))])
    rest = gd.equilibrium(system, t=0.05)["hose"]
    weight = 1100 * np.pi * 4e-4 * 9.81
    np.testing.assert_allclose(rest.start_moment, 0.0, atol=1e-9)
    np.testing.assert_allclose(rest.start_force, [0, 0, weight], rtol=1e-9, atol=1e-9)
