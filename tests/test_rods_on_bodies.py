"""Rods held by bodies and by one another: exact joints, exact Jacobians, balances, statics against dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gyrod as gd
from gyrod.equations import compile_system

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100.0)
ROUND = gd.Circle(radius=5e-3)
DAMPING = gd.Damping(shear=1e-2, extension=1e-2, bending=1e-4, torsion=1e-4)


def hose(name: str, a: Any, b: Any, start: Any, end: Any, segments: int = 6, **options: Any) -> gd.Rod:
    options = {"section": ROUND, "material": RUBBER} | options
    return gd.Rod(name, segments=segments, initial=gd.Straight(a, b), start=start, end=end, **options)


def bob(name: str, position: Any, **options: Any) -> gd.Body:
    options = {"mass": 0.2, "inertia": [[2e-4, 3e-5, 0], [3e-5, 3e-4, 1e-5], [0, 1e-5, 2.5e-4]]} | options
    return gd.Body(name, position=position, **options)


def pendulum(end: Any, start: Any = None, **options: Any) -> gd.System:
    rod = hose("hose", (0, 0, 0), (0, 1, 0), start or gd.Clamped("ground"), end, **options)
    return gd.System(bodies=[bob("bob", (0, 1, -0.05))], rods=[rod])


def crank() -> gd.System:
    """A hose between a driven crank and a bob on a slider, which a spring holds."""
    disc = gd.Body("crank", mass=1.0, inertia=(1e-2, 1e-2, 1e-2), position=(0, 0, 0))
    slider = bob("slider", (0.9, 0.1, 0.0))
    return gd.System(
        bodies=[disc, slider],
        joints=[
            gd.Revolute("ground", "crank", at=(0, 0, 0), axis=(0, 0, 1), drive=lambda t: 0.5 * (1.0 - np.cos(3.0 * t))),
            gd.Prismatic("ground", "slider", at=(0.9, 0.1, 0.0), axis=(1, 0, 0)),
        ],
        rods=[hose("hose", (0.1, 0.1, 0), (0.9, 0.1, 0), gd.Clamped("crank"), gd.Hinged("slider"))],
        forces=[gd.SpringDamper("ground", "slider", at_a=(2, 0.1, 0), stiffness=30.0, length=1.1)],
    )


def floating(**options: Any) -> gd.System:
    """A rod clamped between two free bodies, all in motion, no gravity."""
    spin = np.array([0.3, 0.5, 2.0])
    rod = hose("rod", (0, 0, 0), (1, 0, 0), gd.Clamped("a"), gd.Clamped("b"), angular_velocity=spin, **options)
    bodies = [
        bob(name, x, velocity=np.cross(spin, x), angular_velocity=spin)
        for name, x in (("a", (-0.05, 0.02, 0.0)), ("b", (1.03, 0.0, 0.04)))
    ]
    return gd.System(bodies=bodies, rods=[rod], gravity=(0, 0, 0))


def branch() -> gd.System:
    """Three rods welded in one point, one of them carries a hinged fourth."""
    start = gd.Clamped("ground")
    rods = [
        hose("trunk", (0, 0, 0), (0.4, 0, 0), start, gd.Free()),
        hose("left", (0.4, 0, 0), (0.7, 0.3, 0), gd.Clamped("trunk", at="end"), gd.Free()),
        hose("right", (0.4, 0, 0), (0.7, -0.3, 0), gd.Clamped("trunk", at="end"), gd.Free()),
        hose("tail", (0.7, 0.3, 0), (0.9, 0.3, 0), gd.Hinged("left", at="end"), gd.Free()),
    ]
    return gd.System(rods=rods)


def ring(**options: Any) -> gd.System:
    """A closed ring, free of stress, that falls and turns."""
    shape = gd.Curve(
        position=lambda s: (np.cos(2 * np.pi * s), np.sin(2 * np.pi * s), 0.0),
        orientation=lambda s: np.array(
            [
                [np.cos(2 * np.pi * s), 0.0, -np.sin(2 * np.pi * s)],
                [np.sin(2 * np.pi * s), 0.0, np.cos(2 * np.pi * s)],
                [0.0, -1.0, 0.0],
            ]
        ),
    )
    rod = gd.Rod(
        "ring", 2 * np.pi, 12, gd.Circle(radius=0.03), RUBBER, initial=shape, end=gd.Clamped("ring", at="start"),
        velocity=(0.1, 0.0, 0.5), angular_velocity=(0.4, 0.0, 0.0), **options,
    )  # fmt: skip
    return gd.System(rods=[rod], gravity=(0, 0, 0))


def net(kind: Any = gd.Hinged) -> gd.System:
    """Twelve rods on the grid of 3 x 3 points, its corners on ground."""
    rods: list[gd.Rod] = []
    first: dict[tuple[int, int], tuple[str, str]] = {}

    def end(rod: str, side: str, at: tuple[int, int]) -> Any:
        if at in ((0, 0), (2, 0), (0, 2), (2, 2)):
            return gd.Hinged("ground")
        if at not in first:
            first[at] = (rod, side)
            return gd.Free()
        other, where = first[at]
        return kind(other, at=where)

    for i in range(3):
        for j in range(2):
            for a, b in (((j, i), (j + 1, i)), ((i, j), (i, j + 1))):
                name = f"r{len(rods)}"
                ends = end(name, "start", a), end(name, "end", b)
                rods.append(hose(name, (*a, 0.0), (*b, 0.0), *ends, segments=4))
    return gd.System(rods=rods)


SYSTEMS = {
    "hinged": lambda: pendulum(gd.Hinged("bob", at=(0, 0, 0.05)), damping=DAMPING),
    "clamped": lambda: pendulum(gd.Clamped("bob", at=(0, 0, 0.05)), damping=DAMPING),
    "coupled section": lambda: pendulum(gd.Clamped("bob", at=(0, 0, 0.05)), stiffness=_coupled(), damping=None),
    "stretch": lambda: pendulum(gd.Clamped("bob", at=(0, 0, 0.05)), strain="stretch", damping=DAMPING),
    "crank": crank,
    "floating": lambda: floating(damping=DAMPING),
    "branch": branch,
    "ring": ring,
    "net": net,
}


def _coupled() -> np.ndarray[Any, Any]:
    C = np.diag([400.0, 400.0, 600.0, 2e-2, 3e-2, 1e-2])
    C[0, 4] = C[4, 0] = 0.4
    C[2, 5] = C[5, 2] = 0.6
    C[1, 3] = C[3, 1] = -0.3
    return C


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_jacobian_is_exact(name: str) -> None:
    """Of bodies and rods together, against central differences of the right-hand side, at a point in motion."""
    c = compile_system(SYSTEMS[name]())
    rng = np.random.default_rng(3)
    y = np.asarray(c.core.project(c.y0 + 0.03 * rng.standard_normal(c.size), 0.2))
    J = np.asarray(c.core.jacobian(0.2, y))
    for i in rng.choice(c.size, min(c.size, 60), replace=False):
        e = np.zeros(c.size)
        e[i] = 1e-6
        column = (np.asarray(c.core.rhs(0.2, y + e)) - np.asarray(c.core.rhs(0.2, y - e))) / 2e-6
        np.testing.assert_allclose(J[:, i], column, atol=2e-7 * np.abs(column).max() + 1e-6 * np.abs(J).max() * 1e-3)


@pytest.mark.parametrize("name", ["clamped", "crank", "floating", "branch", "net"])
def test_stages_solve_what_the_dense_matrix_says(name: str) -> None:
    c = compile_system(SYSTEMS[name]())
    rng = np.random.default_rng(4)
    y = np.asarray(c.core.project(c.y0 + 0.02 * rng.standard_normal(c.size), 0.1))
    b = rng.standard_normal(c.size)
    J = np.asarray(c.core.jacobian(0.1, y))
    for shift in (30.0, 3e4):
        x = np.asarray(c.core.solve_shifted(0.1, y, shift, b))
        np.testing.assert_allclose((shift * np.eye(c.size) - J) @ x, b, atol=1e-6 * np.abs(J).max() * np.abs(x).max())


def gap(motion: gd.Motion, rod: str, body: str, at: Any, end: int) -> float:
    track = motion[body]
    point = track.position + np.einsum("nij,j->ni", track.matrix, np.asarray(at, dtype=float))
    return float(np.abs(motion[rod].positions[:, end] - point).max())


def test_energy_and_momentum_of_a_floating_system() -> None:
    motion = gd.simulate(floating(segments=4), 0.5, method="dop853", rtol=1e-11)
    for quantity in (motion.energy.total, *motion.momentum.T, *motion.angular_momentum.T):
        np.testing.assert_allclose(quantity, quantity[0], rtol=0, atol=1e-9)
    assert np.ptp(motion.energy.kinetic) > 1e-5  # the rod works
    assert gap(motion, "rod", "b", (-0.03, 0.0, -0.04), -1) < 1e-14


@pytest.mark.parametrize("method", ["radau5", "rodas", "seulex"])
def test_methods_agree(method: str) -> None:
    """Stiff and explicit methods, with drives, joints and springs around."""
    reference = gd.simulate(crank(), 0.02, method="dop853", rtol=1e-10)
    motion = gd.simulate(crank(), 0.02, method=method, rtol=1e-7)
    for name in ("crank", "slider"):
        np.testing.assert_allclose(motion[name].position[-1], reference[name].position[-1], atol=2e-7)
    np.testing.assert_allclose(motion["hose"].positions[-1], reference["hose"].positions[-1], atol=2e-7)


def test_reactions_act_on_the_body() -> None:
    """The body's acceleration is its weight and what the rod tells to hold its end with, reversed."""
    motion = gd.simulate(SYSTEMS["clamped"](), 0.3, rtol=1e-8)
    at = motion(0.25)
    c = motion.compiled
    v, Omega = np.split(c.accelerations(0.25, np.asarray(at.y))[0], 2)
    body, track, rod = c.system.body("bob"), at["bob"], at["hose"]
    force = body.mass * (v - c.system.gravity)
    np.testing.assert_allclose(force, -rod.end_force, rtol=1e-9)
    torque = body.inertia @ Omega + np.cross(track.Omega, body.inertia @ track.Omega)
    arm = track.matrix @ np.array([0, 0, 0.05])
    np.testing.assert_allclose(
        track.matrix @ torque, -rod.end_moment - np.cross(arm, rod.end_force), atol=1e-9 * np.abs(force).max()
    )


def test_a_heavy_body_is_a_clamp() -> None:
    """A body that nothing can move holds an end as ground does."""
    held = gd.System(rods=[hose("hose", (0, 0, 0), (1, 0, 0), gd.Clamped("ground"), gd.Free())])
    rock = gd.Body("rock", mass=1e3, inertia=(1e3, 1e3, 1e3), position=(0, 0.3, 0))
    fixed = gd.System(
        bodies=[rock],
        joints=[gd.Fixed("ground", "rock", at=(0, 0, 0))],
        rods=[hose("hose", (0, 0, 0), (1, 0, 0), gd.Clamped("rock"), gd.Free())],
    )
    a, b = (gd.simulate(s, 0.3, rtol=1e-8, output=[0.1, 0.3]) for s in (held, fixed))
    np.testing.assert_allclose(a["hose"].positions, b["hose"].positions, atol=1e-9)
    np.testing.assert_allclose(a["hose"].start_force, b["hose"].start_force, atol=1e-5)


def test_two_rods_are_one() -> None:
    """Two halves that are clamped to each other tend to the whole rod with the square of the segments."""
    load = {"force": (0.0, 0.02, -0.01), "moment": (1e-3, 0.0, 2e-3)}
    errors = []
    for n in (8, 16):
        halves = [
            hose("a", (0, 0, 0), (0.5, 0, 0), gd.Clamped("ground"), gd.Free(), n),
            hose("b", (0.5, 0, 0), (1, 0, 0), gd.Clamped("a", at="end"), gd.Free(), n),
        ]
        two = gd.equilibrium(gd.System(rods=halves, forces=[gd.RodLoad("b", at=1.0, **load)], gravity=(0, 0, -0.5)))
        whole = hose("a", (0, 0, 0), (1, 0, 0), gd.Clamped("ground"), gd.Free(), 2 * n)
        one = gd.equilibrium(gd.System(rods=[whole], forces=[gd.RodLoad("a", at=1.0, **load)], gravity=(0, 0, -0.5)))
        assert one.stable
        assert two.stable
        errors.append(np.abs(two["b"].positions[-1] - one["a"].positions[-1]).max())
    assert errors[1] < 2e-4
    assert errors[0] / errors[1] > 3.3


@pytest.mark.parametrize("name", ["hinged", "clamped"])
def test_rest_is_the_end_of_a_damped_motion(name: str) -> None:
    end = (gd.Hinged if name == "hinged" else gd.Clamped)("bob", at=(0, 0, 0.05))
    system = pendulum(end, damping=gd.Damping(shear=1.0, extension=1.0, bending=2e-2, torsion=2e-2))
    brake = gd.UserForce("bob", lambda t, b: (-0.3 * b.velocity, -1e-2 * b.Omega))
    system = gd.System(bodies=system.bodies, rods=system.rods, forces=[gd.Drag("hose", coefficient=2.0), brake])
    rest = gd.equilibrium(system)
    assert rest.stable
    motion = gd.simulate(system, 400.0, method="radau5", rtol=1e-6)
    np.testing.assert_allclose(motion["hose"].positions[-1], rest["hose"].positions, atol=1e-8)
    np.testing.assert_allclose(motion["bob"].position[-1], rest["bob"].position, atol=1e-8)


def test_a_ring_floats() -> None:
    motion = gd.simulate(ring(), 0.2, method="dop853", rtol=1e-11)
    for quantity in (motion.energy.total, *motion.momentum.T, *motion.angular_momentum.T):
        np.testing.assert_allclose(quantity, quantity[0], rtol=0, atol=1e-9 * max(1.0, np.abs(quantity).max()))
    x = motion["ring"].positions
    assert np.abs(x[:, 0] - x[:, -1]).max() < 1e-14


@pytest.mark.parametrize("kind", [gd.Hinged, gd.Clamped])
def test_a_net_sags_and_swings(kind: Any) -> None:
    system = net(kind)
    rest = gd.equilibrium(system)
    assert rest.stable
    weight = 12 * np.pi * 25e-6 * 1100 * 9.81
    hold = sum(rest[r.name].start_force * (r.start.holds_position and not r.start.attached) for r in system.rods)
    hold = hold + sum(rest[r.name].end_force * (r.end.holds_position and not r.end.attached) for r in system.rods)
    np.testing.assert_allclose(hold, (0, 0, weight), atol=1e-7 * weight)
    motion = gd.simulate(rest, 0.05, method="radau5", rtol=1e-6)
    np.testing.assert_allclose(motion["r0"].positions[-1], rest["r0"].positions, atol=1e-6)


def test_a_branch_keeps_its_energy() -> None:
    motion = gd.simulate(branch(), 0.05, method="dop853", rtol=1e-10)
    np.testing.assert_allclose(motion.energy.total, motion.energy.total[0], atol=1e-8)
    x = motion["trunk"].positions[:, -1]
    for name in ("left", "right"):
        assert np.abs(motion[name].positions[:, 0] - x).max() < 1e-14
    assert np.abs(motion["tail"].positions[:, 0] - motion["left"].positions[:, -1]).max() < 1e-14


def test_refusals() -> None:
    with pytest.raises(gd.ModelError, match="at least 3 segments"):
        compile_system(floating(segments=2))


def test_modes_of_a_rod_with_a_body() -> None:
    """A small body on the tip of a cantilever vibrates like a point mass there, and as the mass on a spring."""
    steel, mass, L = gd.Material(young=2e11, poisson=0.3, density=7850.0), 5.0, 1.0
    rod = {"segments": 40, "section": ROUND, "material": steel, "initial": gd.Straight((0, 0, 0), (L, 0, 0))}
    plain = gd.Rod("rod", start=gd.Clamped("ground"), **rod)
    loaded = gd.System(rods=[plain], forces=[gd.PointMass("rod", at=1.0, mass=mass)], gravity=(0, 0, 0))
    end = gd.Clamped("tip", at=(0, 0, 0))
    tip = gd.Body("tip", mass=mass, inertia=(1e-9, 1e-9, 1e-9), position=(L, 0, 0))
    held = gd.System(bodies=[tip], rods=[gd.Rod("rod", start=gd.Clamped("ground"), end=end, **rod)], gravity=(0, 0, 0))
    a, b = gd.modes(loaded, n=4), gd.modes(held, n=4)
    np.testing.assert_allclose(a.omega, b.omega, rtol=2e-3)
    stiffness = 3.0 * 2e11 * np.pi / 4.0 * 5e-3**4 / L**3
    own = 33.0 / 140.0 * 7850.0 * np.pi * 25e-6 * L
    np.testing.assert_allclose(b.omega[:2], np.sqrt(stiffness / (mass + own)), rtol=2e-3)
    np.testing.assert_allclose(np.linalg.norm(b.shape(0, "tip")), 1.0, rtol=0.4)


@pytest.mark.parametrize("follow", [False, True])
def test_a_moment_on_a_clamped_end_acts_on_what_holds_it(follow: bool) -> None:
    """On the body at the end of a rod as on its free end; on ground it is part of the reaction."""
    moment = (0.0, 1e-3, 0.0)
    load = gd.RodLoad("hose", moment=moment, follow=follow)
    free = hose("hose", (0, 0, 0), (1, 0, 0), gd.Clamped("ground"), gd.Free(), 40)
    alone = gd.equilibrium(gd.System(rods=[free], forces=[load], gravity=(0, 0, 0)))
    held = hose("hose", (0, 0, 0), (1, 0, 0), gd.Clamped("ground"), gd.Clamped("bob", at=(0, 0, 0)), 40)
    tip = bob("bob", (1, 0, 0))
    rest = gd.equilibrium(gd.System(bodies=[tip], rods=[held], forces=[load], gravity=(0, 0, 0)))
    np.testing.assert_allclose(rest["hose"].positions[-1], alone["hose"].positions[-1], atol=2e-3)
    reaction = alone["hose"].start_moment
    assert np.linalg.norm(reaction) == pytest.approx(1e-3, rel=1e-9)
    np.testing.assert_allclose(rest["hose"].start_moment, reaction, atol=1e-9)
    if not follow:
        torque = gd.Torque("bob", torque=moment)
        same = gd.equilibrium(gd.System(bodies=[tip], rods=[held], forces=[torque], gravity=(0, 0, 0)))
        np.testing.assert_allclose(rest["hose"].positions, same["hose"].positions, atol=1e-10)
    near = gd.RodLoad("hose", at=0.002, moment=moment, follow=follow)
    ground = gd.equilibrium(gd.System(rods=[free], forces=[near], gravity=(0, 0, 0)))
    np.testing.assert_allclose(ground["hose"].start_moment, reaction, atol=1e-7)
    c = compile_system(gd.System(bodies=[tip], rods=[held], forces=[load]))
    y = np.asarray(c.core.project(c.y0 + 0.02 * np.random.default_rng(1).standard_normal(c.size)))
    J = np.asarray(c.core.jacobian(0.0, y))
    for i in range(3, 13):
        e = np.zeros(c.size)
        e[i] = 1e-6
        column = (np.asarray(c.core.rhs(0.0, y + e)) - np.asarray(c.core.rhs(0.0, y - e))) / 2e-6
        np.testing.assert_allclose(J[:13, i], column[:13], atol=1e-6 * np.abs(column[:13]).max() + 1e-6)
