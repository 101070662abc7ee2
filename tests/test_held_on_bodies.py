"""Rods whose strains are held exactly, on bodies, on one another and in nets.

The forces that hold strains next to a body are found together with the motion of the body.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gyrod as gd
from gyrod.equations import compile_system

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100.0)
HELD = {"kirchhoff": 2, "inextensible": 3}
MESHES = [{"segments": 6}, {"segments": 2, "degree": 2}, {"segments": 2, "degree": 3}, {"segments": 2, "degree": 4}]
EI = 5e6 * np.pi / 4.0 * 5e-3**4
STIFFNESS = np.array([*[5e6 * np.pi * 25e-6 / 3.0] * 2, 5e6 * np.pi * 25e-6, EI, EI, 2.0 * EI / 3.0])


def rod(name: str, a: Any, b: Any, start: Any, end: Any, strain: str, mesh: dict[str, int], **given: Any) -> gd.Rod:
    length = float(np.linalg.norm(np.subtract(b, a)))
    made = {"section": gd.Circle(radius=5e-3), "material": RUBBER}
    return gd.Rod(
        name, length, initial=gd.Straight(a, b), start=start, end=end, strain=strain, **mesh, **(given or made)
    )


def bob(name: str, x: Any, **given: Any) -> gd.Body:
    return gd.Body(name, mass=0.2, inertia=(1e-4, 2e-4, 3e-4), position=x, **given)


def pendulum(strain: str, kind: Any, mesh: dict[str, int], turned: bool = False, **given: Any) -> gd.System:
    """A bob at the end of a rod that slopes down, or at its start."""
    on, ground, a, b = kind("bob", at=(0.02, 0, 0.05)), gd.Clamped("ground"), (0, 0, 0), (0.6, 0, -0.8)
    ends = (b, a, on, ground) if turned else (a, b, ground, on)
    return gd.System(bodies=[bob("bob", (0.58, 0, -0.85))], rods=[rod("hose", *ends, strain, mesh, **given)])


def dumbbell(strain: str, kind: Any, mesh: dict[str, int]) -> gd.System:
    """Two bodies and the rod between them, free in space and in motion together."""
    spin, move = np.array([0.3, 2.0, 1.0]), np.array([0.1, 0.2, -0.3])

    def velocity(x: Any) -> Any:
        return move + np.cross(spin, x)

    bodies = [
        bob(name, x, velocity=velocity(x), angular_velocity=spin) for name, x in (("a", (0, 0, 0.1)), ("b", (1, 0, 0)))
    ]
    ends = (0, 0, 0), (1, 0, 0), kind("a", at=(0, 0, -0.1)), kind("b", at=(0, 0, 0))
    hose = rod("hose", *ends, strain, mesh)
    frame = gd.rotations.matrix_from_quaternion(hose.quaternions[0]).T
    hose = hose.with_(velocity=lambda s: velocity((s, 0, 0)), angular_velocity=lambda s: frame @ spin)
    return gd.System(bodies=bodies, rods=[hose], gravity=(0, 0, 0))


def linkage(strain: str, kind: Any, mesh: dict[str, int]) -> gd.System:
    """A crank, a slider in a loop of joints, and a rod between them."""
    joints = [
        gd.Revolute("ground", "crank", at=(0, 0, 0), axis=(0, 1, 0)),
        gd.Revolute("crank", "bar", at=(0.3, 0, 0), axis=(0, 1, 0)),
        gd.Revolute("bar", "slider", at=(0.9, 0, -0.4), axis=(0, 1, 0)),
        gd.Prismatic("ground", "slider", at=(0.9, 0, -0.4), axis=(1, 0, 0)),
    ]
    bodies = [bob("crank", (0.15, 0, 0)), bob("bar", (0.6, 0, -0.2)), bob("slider", (0.9, 0, -0.4))]
    hose = rod("hose", (0.15, 0.1, 0), (0.9, 0.1, -0.4), kind("crank", at=(0, 0.1, 0)), kind("slider", at=(0, 0.1, 0)),
               strain, mesh)  # fmt: skip
    return gd.System(bodies=bodies, joints=joints, rods=[hose])


def net(strain: str, kind: Any, mesh: dict[str, int], k: int = 2) -> gd.System:
    """k x k bodies that hang from ground and are joined by rods across, one of which is a Cosserat rod."""
    bodies, rods = [], []
    for i in range(k):
        for j in range(k):
            x, here = np.array([0.5 * i, 0.0, -0.5 * (j + 1)]), kind(f"b{i}{j}", at=(0, 0, 0))
            bodies.append(bob(f"b{i}{j}", x))
            above = kind(f"b{i}{j - 1}", at=(0, 0, 0)) if j else gd.Hinged("ground")
            rods.append(rod(f"r{len(rods)}", np.add(x, (0, 0, 0.5)), x, above, here, strain, mesh))
            if i:
                beside = kind(f"b{i - 1}{j}", at=(0, 0, 0))
                law = "cosserat" if j == 0 else strain
                rods.append(rod(f"r{len(rods)}", np.subtract(x, (0.5, 0, 0)), x, beside, here, law, mesh))
    return gd.System(bodies=bodies, rods=rods)


def branch(strain: str, kind: Any, mesh: dict[str, int]) -> gd.System:
    """Two rods on the end of a third one."""
    return gd.System(rods=[
        rod("trunk", (0, 0, 0), (0.5, 0, 0), gd.Clamped("ground"), gd.Free(), strain, mesh),
        rod("left", (0.5, 0, 0), (0.9, 0.3, 0), kind("trunk", at="end"), gd.Free(), strain, mesh),
        rod("right", (0.5, 0, 0), (0.9, -0.3, 0), kind("trunk", at="end"), gd.Free(), strain, mesh),
    ])  # fmt: skip


def ring(strain: str, kind: Any, mesh: dict[str, int]) -> gd.System:
    """A rod from a body to the same body."""
    arc = gd.Arc((0, 0, 0), (0, 1, 0), (1, 0, 0), radius=0.2, angle=1.5 * np.pi)
    open_ring = gd.Rod("ring", 0.3 * np.pi, section=gd.Circle(radius=5e-3), material=RUBBER, strain=strain,
                       initial=arc, start=kind("a", at=(-0.2, 0, 0)), end=kind("a", at=(0, -0.2, 0)),
                       **(mesh | {"segments": max(4, mesh["segments"])}))  # fmt: skip
    return gd.System(bodies=[bob("a", (0.2, 0, 0), angular_velocity=(0, 0, 1))], rods=[open_ring])


SYSTEMS = {
    "end": pendulum,
    "start": lambda strain, kind, mesh: pendulum(strain, kind, mesh, turned=True),
    "dumbbell": dumbbell,
    "linkage": linkage,
    "net": net,
    "branch": branch,
    "ring": ring,
}


@pytest.mark.spread(2)
@pytest.mark.parametrize("kind", [gd.Hinged, gd.Clamped])
@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("strain", HELD)
@pytest.mark.parametrize("name", SYSTEMS)
def test_stages_solve_with_the_derivative_of_the_right_hand_side(name, strain, mesh, kind):
    """At random states on the constraints: (shift - J) x = b with J by differences."""
    if name == "net" and mesh is not MESHES[0]:
        pytest.skip("many unknowns, and nothing new of elements")
    c = compile_system(SYSTEMS[name](strain, kind, mesh))
    rng = np.random.default_rng(1)
    y = np.asarray(c.core.project(c.core.project(c.y0 + 1e-2 * rng.normal(size=c.size))))
    J, h = np.empty((c.size, c.size)), 1e-6
    for k, e in enumerate(np.eye(c.size)):
        J[:, k] = (np.asarray(c.core.rhs(0.0, y + h * e)) - np.asarray(c.core.rhs(0.0, y - h * e))) / (2.0 * h)
    b = rng.normal(size=c.size)
    for shift in (20.0, 2000.0):
        x = np.asarray(c.core.solve_shifted(0.0, y, shift, b))
        assert np.abs(shift * x - J @ x - b).max() < 1e-9 * np.abs(J).max() * np.abs(x).max()
        want = np.linalg.solve(shift * np.eye(c.size) - J, b)
        np.testing.assert_allclose(x, want, rtol=0, atol=1e-3 * np.abs(x).max())


@pytest.mark.spread
@pytest.mark.parametrize("kind", [gd.Hinged, gd.Clamped])
@pytest.mark.parametrize("mesh", [MESHES[0], MESHES[2]])
@pytest.mark.parametrize("strain", HELD)
def test_a_dumbbell_keeps_energy_and_momenta(strain, mesh, kind):
    motion = gd.simulate(dumbbell(strain, kind, mesh), 0.2, method="dop853", rtol=1e-10)
    for quantity in (motion.energy.total, *motion.momentum.T, *motion.angular_momentum.T):
        # The initial velocities are projected after the first step.
        np.testing.assert_allclose(quantity[1:], quantity[1], rtol=0, atol=1e-10 * max(1.0, np.abs(quantity).max()))
    assert motion.drift.position.max() < 1e-13
    assert motion.drift.velocity[1:].max() < 1e-11
    strains = motion["hose"].strain[1:, :, : HELD[strain]]
    assert np.abs(strains).max() < 1e-12


@pytest.mark.spread
@pytest.mark.parametrize("name", ["end", "linkage", "branch", "net"])
@pytest.mark.parametrize("strain", HELD)
def test_methods_agree_on_motions_and_forces(name, strain):
    system = SYSTEMS[name](strain, gd.Clamped, {"segments": 4})
    want = gd.simulate(system, 0.03, method="dop853", rtol=1e-10)
    hose = system.rods[-1].name
    for method in ("radau5", "rodas", "seulex"):
        got = gd.simulate(system, 0.03, method=method, rtol=1e-7)
        for quantity, atol in (("positions", 1e-7), ("start_force", 2e-3), ("end_force", 2e-3)):
            a, b = (np.asarray(getattr(m[hose], quantity)[-1]) for m in (got, want))
            np.testing.assert_allclose(a, b, atol=atol * max(1.0, np.abs(b).max()), err_msg=f"{method} {quantity}")


@pytest.mark.spread(0)
@pytest.mark.parametrize("kind", [gd.Hinged, gd.Clamped])
@pytest.mark.parametrize("mesh", [MESHES[0], MESHES[2]])
@pytest.mark.parametrize("strain", HELD)
def test_they_are_the_limit_of_stiff_strains(strain, mesh, kind):
    """In motion and at rest, the bob and the force that holds the rod: what differs falls with the stiffness."""
    J = 1100.0 * np.pi / 4.0 * 5e-3**4
    off = []
    rest = gd.equilibrium(pendulum(strain, kind, mesh))
    moved = gd.simulate(pendulum(strain, kind, mesh), 0.1, method="radau5", rtol=1e-8)
    assert rest.stable
    for factor in (100.0, 1000.0):
        stiff = STIFFNESS.copy()
        stiff[: HELD[strain]] *= factor
        given = {"stiffness": stiff, "density_per_length": 1100.0 * np.pi * 25e-6, "rotary_inertia": (J, J, 2 * J)}
        near = pendulum("cosserat", kind, mesh, **given)
        still = gd.equilibrium(near, guess=None)
        swung = gd.simulate(near, 0.1, method="radau5", rtol=1e-8)
        off.append([
            np.abs(still["bob"].position - rest["bob"].position).max(),
            np.abs(still["hose"].start_force - rest["hose"].start_force).max(),
            np.abs(swung["bob"].position[-1] - moved["bob"].position[-1]).max(),
        ])  # fmt: skip
    first, second = np.array(off)
    assert (second < 0.3 * first + 1e-7).all(), off
    assert (second < [2e-5, 1e-7, 1e-4]).all(), off


@pytest.mark.parametrize("method", ["dop853", "radau5", "rodas"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_taut_rod_swings_as_a_pendulum(method, turned):
    """Inextensible, straight, between a hinge on ground and a ball: no strain could tell its force, the ball does."""
    L, m, g, line, speed, t = 1.0, 0.2, 9.81, 1e-2, 0.02, 0.5
    ends = [gd.Hinged("ground"), gd.Hinged("ball", at=(0, 0, 0))]
    points = [(0, 0, 0), (0, 0, -L)]
    if turned:
        ends.reverse()
        points.reverse()
    string = gd.Rod(
        "string", L, 6, initial=gd.Straight(*points), start=ends[0], end=ends[1], strain="inextensible",
        stiffness=(1, 1, 1, 1e-3, 1e-3, 1e-3), density_per_length=line, rotary_inertia=(1e-5,) * 3,
        velocity=lambda s: (speed * (1.0 - s if turned else s), 0, 0),
    )  # fmt: skip
    ball = gd.Body("ball", mass=m, inertia=(1e-5,) * 3, position=(0, 0, -L), velocity=(speed, 0, 0))
    motion = gd.simulate(gd.System(bodies=[ball], rods=[string]), t, method=method, rtol=1e-7)
    # A rigid rod in place of the string: its lateral waves matter with its share of the mass.
    w = np.sqrt((m + 0.5 * line) * g / ((m + line / 3.0) * L))
    np.testing.assert_allclose(motion["ball"].position[-1, 0], speed / w * np.sin(w * t), rtol=1e-2)
    force = motion["string"].start_force[-1] if turned else motion["string"].end_force[-1]
    assert np.linalg.norm(force) == pytest.approx(m * g, rel=1e-2)
    assert np.ptp(motion.energy.total[1:]) < 1e-6 * motion.energy.kinetic.max()
    inside = np.linalg.norm(np.diff(motion["string"].positions, axis=1), axis=2)
    np.testing.assert_allclose(inside, L / 6.0, rtol=1e-12)


def test_rest_of_a_net():
    """It carries its weight, is stable, stays where it is, and its rods end on their bodies."""
    system = net("inextensible", gd.Hinged, {"segments": 4})
    rest = gd.equilibrium(system)
    assert rest.stable
    weight = 9.81 * (4 * 0.2 + sum(1100.0 * np.pi * 25e-6 * r.length for r in system.rods))
    hold = np.zeros(3)
    for r in system.rods:
        for end, force in ((r.start, rest[r.name].start_force), (r.end, rest[r.name].end_force)):
            hold += np.asarray(force) * (end.body == "ground")
    np.testing.assert_allclose(hold, (0, 0, weight), atol=1e-7 * weight)
    motion = gd.simulate(rest, 0.02, method="radau5", rtol=1e-7)
    np.testing.assert_allclose(motion["r0"].positions[-1], rest["r0"].positions, atol=1e-6)


@pytest.mark.parametrize("strain", HELD)
def test_modes_with_a_heavy_tip(strain):
    """A small heavy body at the tip of a massless cantilever: the mass on a spring of 3 EI/L³."""
    m = 3.0
    beam = rod("beam", (0, 0, 0), (1, 0, 0), gd.Clamped("ground"), gd.Clamped("tip", at=(0, 0, 0)), strain,
               {"segments": 6, "degree": 4}, stiffness=(1e4, 1e4, 1e4, 2.0, 2.0, 2.0), density_per_length=1e-6,
               rotary_inertia=(1e-10,) * 3)  # fmt: skip
    tip = gd.Body("tip", mass=m, inertia=(1e-7,) * 3, position=(1, 0, 0))
    found = gd.modes(gd.System(bodies=[tip], rods=[beam], gravity=(0, 0, 0)), n=2)
    np.testing.assert_allclose(found.omega, np.sqrt(3.0 * 2.0 / m), rtol=1e-5)


def test_tendons_bend_held_rods():
    """An inextensible rod as a Cosserat rod, but for its compression and shear."""
    found = []
    for strain in ("cosserat", "inextensible"):
        spine = rod("spine", (0, 0, 0), (0, 0, 0.3), gd.Clamped("ground"), gd.Free(), strain, {"segments": 12})
        tendon = gd.Tendon("spine", [(s, (0.01, 0)) for s in (0, 0.25, 0.5, 0.75, 1.0)], tension=0.2)
        system = gd.System(rods=[spine], forces=[tendon], gravity=(0, 0, 0))
        rest = gd.equilibrium(system)
        assert rest.stable
        found.append(rest["spine"].positions)
        motion = gd.simulate(rest, 0.05, method="rodas", rtol=1e-6)
        np.testing.assert_allclose(motion["spine"].positions[-1], rest["spine"].positions, atol=1e-7)
    assert np.abs(found[1][-1] - (0, 0, 0.3)).max() > 0.02
    np.testing.assert_allclose(found[0], found[1], atol=5e-4)
