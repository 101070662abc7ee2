"""Steps that keep energy and momenta, of bodies with joints, springs and bushings, in directors."""

from __future__ import annotations

import mechanism_oracle as mo
import numpy as np
import pytest
import variational_oracle as vo

import gyrod as gd
from gyrod import problems
from gyrod import rotations as ro
from gyrod.equations.variational import compile_stepped


def run(system, t_end, step, **options) -> gd.Motion:
    return gd.simulate(system, t_end, method="energy-momentum", step=step, **options)


def swing(values) -> float:
    """Largest difference from the start over the largest value."""
    values = np.asarray(values)
    return float(np.abs(values - values[0]).max() / np.abs(values).max())


def lost(motion) -> float:
    """The same of the energy, over its largest part."""
    energy = motion.energy
    total = energy.total
    return float(np.abs(total - total[0]).max() / max(np.abs(energy.kinetic).max(), np.abs(energy.potential).max()))


def chain(n=3, **given) -> gd.System:
    """Spherical pendulums below each other, thrown to the side."""
    bodies = [
        gd.Body(
            f"b{i}", mass=1.0 + 0.2 * i, inertia=(0.02, 0.03, 0.04), position=(0.5 + i, 0, 0),
            velocity=(0, 0.5 + i, 0), angular_velocity=(0, 0, 1.0),
        )
        for i in range(n)
    ]  # fmt: skip
    joints = [gd.Spherical("ground" if i == 0 else f"b{i - 1}", f"b{i}", at=(i, 0, 0)) for i in range(n)]
    return gd.System(bodies, joints, **given)


def loop(*others, **given) -> gd.System:
    """Four bars in a plane, hinged to each other and to nothing else, that tumble in space."""
    a, b, d = np.zeros(3), np.array([1.0, 0, 0]), 0.7 * np.array([np.cos(1.9), np.sin(1.9), 0])
    along = (d - b) / np.linalg.norm(d - b)
    x = (0.5**2 - 0.9**2 + np.linalg.norm(d - b) ** 2) / (2.0 * np.linalg.norm(d - b))
    c = b + x * along + np.sqrt(0.25 - x * x) * np.array([along[1], -along[0], 0])
    corners, w, v = (a, b, c, d), np.array([0.7, -0.4, 2.0]), np.array([0.3, -0.2, 0.5])
    bodies, joints = [], []
    for i in range(4):
        start, end = corners[i], corners[(i + 1) % 4]
        p = ro.exp([0, 0, np.arctan2(*(end - start)[1::-1])])
        middle = 0.5 * (start + end)
        bodies.append(
            gd.Body(
                f"b{i}", mass=1.0 + 0.3 * i, inertia=(0.01, 0.05, 0.06), position=middle, orientation=p,
                velocity=v + np.cross(w, middle), angular_velocity=ro.rotate(ro.conjugate(p), w),
            )
        )  # fmt: skip
        kind = others[i] if i < len(others) else gd.Revolute
        axes = {} if kind is gd.Spherical else {"axis": (0, 0, 1)}
        joints.append(kind(f"b{i}", f"b{(i + 1) % 4}", at=end, **axes))
    return gd.System(bodies, joints, gravity=(0, 0, 0), **given)


SPRING = gd.SpringDamper("b0", "b2", stiffness=20.0, damping=0.0, length=0.3)


def test_a_chain_of_spherical_pendulums_keeps_energy_and_vertical_momentum():
    motion = run(chain(), 100.0, 0.01, output=10)  # 10 000 steps
    assert lost(motion) < 1e-11
    assert swing(motion.angular_momentum[:, 2]) < 1e-12
    assert motion.constraint.max() < 1e-13
    # Of velocities that are right for the middle: off by O(h²). Later rounding chooses the way of the chain.
    middle = motion.midpoints.energy[:100]
    assert np.abs(middle - motion.energy.total[0]).max() < 0.02 * motion.energy.kinetic[:100].max()


@pytest.mark.parametrize(("others", "t_end"), [((), 100.0), ((gd.Spherical, gd.Cylindrical), 20.0)])
def test_a_free_four_bar_keeps_energy_and_all_momenta(others, t_end):
    """Four hinges, which say three things twice, for 10 000 steps; and a loop without redundant rows."""
    motion = run(loop(*others, forces=[SPRING]), t_end, 0.01, output=10)
    assert lost(motion) < 1e-11
    assert swing(motion.momentum) < 1e-12
    # about the origin, from which the loop flies away
    far = np.linalg.norm(motion["b0"].position, axis=1).max() * np.linalg.norm(motion.momentum[0])
    assert np.abs(motion.angular_momentum - motion.angular_momentum[0]).max() < 1e-13 * far * 100
    assert motion.constraint.max() < 1e-12


def random_system(seed, **given):
    return mo.random_mechanism(seed, 4, loops=seed % 2, loop_kinds=["Distance", "Spherical"], springs=True, **given)


@pytest.mark.parametrize("seed", range(6))
def test_newton_matrix_is_the_derivative_of_the_residual(seed):
    system, h = random_system(seed, driven=seed % 3), 0.05
    s = compile_stepped(
        system, h, coordinates="directors", sigma="mean", potential="midpoint", conserving=True, reduce=True
    )
    moves = sum(3 if name in system.fixed_points else 6 for name in system.names)
    u = np.zeros(s.core.unknowns)
    u[:moves] = 0.1 * np.random.default_rng(seed).normal(size=moves)
    _, K = s.core.linearise(s.start, 0.0, h, u)
    for j in range(moves):
        d = 1e-6 * np.eye(len(u))[j]
        numeric = (s.core.linearise(s.start, 0.0, h, u + d)[0] - s.core.linearise(s.start, 0.0, h, u - d)[0]) / 2e-6
        np.testing.assert_allclose(K[:, j], numeric, atol=1e-8 * np.abs(K).max())


@pytest.mark.parametrize("seed", range(6))
def test_random_mechanisms_converge_with_order_two(seed):
    """All kinds of joints, drives, springs and dampers."""
    system = random_system(seed, driven=seed % 3)
    exact = gd.simulate(system, 0.5, method="radau5", rtol=1e-11, output=[0.5])
    errors = []
    for n in (80, 160):
        m = run(system, 0.5, 0.5 / n, output=[0.5])
        fields = ("position", "velocity", "Omega")
        errors.append(max(np.abs(getattr(m[b], f) - getattr(exact[b], f)).max() for b in system.names for f in fields))
        assert m.constraint.max() < 1e-13
        assert m.newton.max() <= 6
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    for joint in system.joints:  # forces of the joints
        a, b = m[joint.name].force[-1], exact[joint.name].force[-1]
        assert np.abs(a - b).max() < 300.0 * errors[1] * max(1.0, np.abs(b).max())


def joined(joint, **given) -> gd.System:
    """Two bodies in space that a joint and a spring hold together."""
    w, v = np.array([0.3, 0.5, 1.5]), np.array([0.2, 0.1, -0.3])
    bodies = [
        gd.Body(
            name, mass, inertia, position=x, orientation=ro.exp(turn), velocity=v + np.cross(w, x),
            angular_velocity=ro.rotate(ro.exp(np.negative(turn)), w),
        )
        for name, mass, inertia, x, turn in (
            ("a", 1.0, (0.2, 0.3, 0.4), (0.0, 0.0, 0.0), (0.3, 0.0, 0.1)),
            ("b", 0.6, (0.05, 0.07, 0.1), (0.9, 0.2, 0.1), (0.0, -0.4, 0.2)),
        )
    ]  # fmt: skip
    spring = gd.SpringDamper("a", "b", (0, 0.2, 0.1), (0.1, 0, 0.3), stiffness=30.0, length=0.4)
    return gd.System(
        bodies, [] if joint is None else [joint], gravity=(0, 0, 0), forces=[spring, *given.get("forces", ())]
    )


AT = {"at": (0.5, 0.1, 0.0)}
AXIS = {**AT, "axis": (0.2, 0.1, 1.0)}
JOINTS = {
    "spherical": gd.Spherical("a", "b", **AT),
    "revolute": gd.Revolute("a", "b", **AXIS, stiffness=5.0, rest=0.7),
    "prismatic": gd.Prismatic("a", "b", **AXIS, stiffness=20.0, rest=0.2),
    "cylindrical": gd.Cylindrical("a", "b", **AXIS, stiffness=(5.0, 20.0)),
    "planar": gd.Planar("a", "b", **AXIS),
    "universal": gd.Universal("a", "b", **AT, axis=(1, 0, 0), axis2=(0, 1, 0)),
    "helical": gd.Helical("a", "b", **AXIS, pitch=0.5, stiffness=2.0, rest=1.0),
    "distance": gd.Distance("a", "b", at_a=(0.1, 0, 0), at_b=(0, 0.1, 0)),
    "fixed": gd.Fixed("a", "b", **AT),
}


@pytest.mark.parametrize("name", JOINTS)
def test_every_joint_keeps_energy_and_momenta(name):
    motion = run(joined(JOINTS[name]), 10.0, 0.01)
    assert lost(motion) < 1e-12
    assert swing(motion.momentum) < 1e-12
    assert swing(motion.angular_momentum) < 1e-12
    assert motion.constraint.max() < 1e-12
    assert 1e-9 < motion.drift.velocity.max() < 0.05 or name in ("fixed", "spherical")


def test_a_bushing_keeps_energy_and_momenta():
    bushing = gd.Bushing("a", "b", (0.5, 0.1, 0.0), (-0.4, 0, 0), stiffness=(50.0, 80.0, 20.0))
    motion = run(joined(None, forces=[bushing]), 10.0, 0.01)
    assert lost(motion) < 1e-12
    assert max(swing(motion.momentum), swing(motion.angular_momentum)) < 1e-12


def test_dampers_take_what_they_say():
    """Of a damper of a spring: c (change of its length)²/h in each step; momenta are kept."""
    h, spring = 0.01, gd.SpringDamper("b0", "b2", stiffness=20.0, damping=3.0, length=0.3)
    motion = run(loop(forces=[spring]), 5.0, h)
    length = np.linalg.norm(motion["b2"].position - motion["b0"].position, axis=1)
    taken = np.concatenate([[0.0], np.cumsum(3.0 * np.diff(length) ** 2 / h)])
    total = motion.energy.total
    assert taken[-1] > 0.01 * total[0]
    np.testing.assert_allclose(total[0] - total, taken, atol=1e-11 * total[0])
    assert swing(motion.momentum) < 1e-12
    damped = gd.Revolute("a", "b", **AXIS, damping=0.5, friction=0.2, slip=0.1)
    bushing = gd.Bushing("a", "b", (0.5, 0.1, 0.0), (-0.4, 0, 0), stiffness=50.0, damping=0.5)
    for system in (joined(damped), joined(None, forces=[bushing])):
        motion = run(system, 5.0, h)
        assert np.diff(motion.energy.total).max() < 1e-13
        assert np.ptp(motion.energy.total) > 1e-3 * motion.energy.total[0]
        assert swing(motion.angular_momentum) < 1e-12


def test_a_drive_does_the_work_of_its_effort():
    """Energy changes by the work of the drive, to order two, and momenta do not."""
    driven, errors = gd.Revolute("a", "b", **AXIS, name="motor", drive=gd.Expression("0.3*sin(4*t)^2", "t")), []
    for h in (0.01, 0.005):
        motion = run(joined(driven), 1.0, h)
        track = motion["motor"]
        power = track.effort * track.rates[:, 0]
        errors.append(abs(np.diff(motion.energy.total[[0, -1]])[0] - np.sum(0.5 * h * (power[1:] + power[:-1]))))
        assert swing(motion.angular_momentum) < 1e-12
        assert np.ptp(motion.energy.total) > 0.01 * motion.energy.total[0]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


def test_a_spring_of_a_rotating_frame():
    """Its centrifugal potential is quadratic in directors; Coriolis' force does no work."""
    spring = gd.SpringDamper("ground", "b1", (0, 1, 0), (0.1, 0, 0), stiffness=20.0, length=0.5)
    system = chain(2, forces=[spring, gd.RotatingFrame((0.3, 0.2, 2.0))])
    assert lost(run(system, 10.0, 0.01)) < 1e-12


def test_bodies_without_inertia():
    pendulum = problems.get("pendulum").system  # a point mass on a hinge
    exact = gd.simulate(pendulum, 2.0, method="radau5", rtol=1e-11, output=[2.0])
    errors = []
    for h in (0.01, 0.005):
        motion = run(pendulum, 2.0, h)
        errors.append(np.abs(motion["mass"].position[-1] - exact["mass"].position[-1]).max())
        assert motion.constraint.max() < 1e-13
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_user_forces_and_a_pinned_body():
    """A top on a ball joint, which has no position, with a spring, a torque and a force of Python."""
    top = gd.Body(
        "top", mass=1.0, inertia=(0.2, 0.25, 0.1), position=(0.1, 0, 0.4), orientation=ro.exp([0.1, 0, 0]),
        velocity=np.cross((0.5, 0, 5.0), (0.1, 0, 0.4)),
        angular_velocity=ro.rotate(ro.exp([-0.1, 0, 0]), np.array([0.5, 0, 5.0])),
    )  # fmt: skip
    ball = gd.Spherical("ground", "top", at=(0, 0, 0))
    spring = gd.SpringDamper("ground", "top", (0, 1, 0), (0.1, 0, 0.2), stiffness=20.0, length=0.5)
    assert lost(run(gd.System([top], [ball], forces=[spring]), 20.0, 0.01)) < 1e-12
    user = gd.UserForce("top", lambda t, state: (-0.3 * state.velocity, state.matrix.T @ (0.1, 0, np.sin(t))))
    system = gd.System([top], [ball], forces=[spring, user, gd.Torque("top", (0, 0, 0.1), frame="body")])
    exact = gd.simulate(system, 0.5, method="radau5", rtol=1e-10, output=[0.5])
    errors = [
        np.abs(run(system, 0.5, h, output=[0.5])["top"].position[-1] - exact["top"].position[-1]).max()
        for h in (0.01, 0.005)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_quaternions_say_what_would_be_lost():
    for system in (chain(), loop(), joined(None)):
        with pytest.raises(ValueError, match=r"the angular momentum would be lost.*Use coordinates = 'directors'"):
            run(system, 1.0, 0.01, coordinates="quaternion")


# --- rods ------------------------------------------------------------------------------------------------------------


def hose(**given) -> gd.Rod:
    """A soft rod in space that turns; it is bent by how it is thrown."""
    fields = {
        "section": gd.Circle(radius=2e-2), "material": gd.Material(young=5e6, poisson=0.5, density=1100),
        "initial": gd.Straight((0, 0, 0), (0, 1, 0)), "start": gd.Free(), "end": gd.Free(),
        "angular_velocity": (0.3, 0.2, 2.0), "segments": 8,
        "velocity": lambda s: np.add(np.cross((0.3, 0.2, 2.0), (0, s, 0)), (0.1, 0.0, 0.3 * np.sin(5.0 * s))),
    }  # fmt: skip
    return gd.Rod("hose", length=1.0, **{**fields, **given})


def with_bob(end, **given) -> gd.System:
    """The hose, turning as a whole, with a body at its end."""
    w, x = np.array([0.3, 0.2, 2.0]), np.array([0.02, 1.1, 0.05])
    bob = gd.Body("bob", 0.5, (2e-3, 3e-3, 4e-3), position=x, velocity=np.cross(w, x), angular_velocity=w)
    rod = hose(end=end, velocity=lambda s: np.cross(w, (0, s, 0)), **given)
    return gd.System([bob], rods=[rod], gravity=(0, 0, 0))


def pushed(system) -> gd.System:
    """With a load at its start that ends after 0.05 s."""

    def pulse(t):
        return 40.0 * t * (0.05 - t) / 0.05**2 if t < 0.05 else 0.0

    load = gd.RodLoad(
        "hose", at=0.0, force=lambda t: (0, pulse(t), 2.0 * pulse(t)), moment=lambda t: (0.1 * pulse(t), 0, 0)
    )
    return gd.System(list(system.bodies), list(system.joints), rods=list(system.rods), forces=[load], gravity=(0, 0, 0))


RODS = {
    "free": lambda: gd.System(rods=[hose()], gravity=(0, 0, 0)),
    "hinged on a body": lambda: with_bob(gd.Hinged("bob")),
    "clamped on a body": lambda: with_bob(gd.Clamped("bob")),
    "kirchhoff": lambda: gd.System(rods=[hose(strain="kirchhoff", velocity=(0, 0.1, 0))], gravity=(0, 0, 0)),
    "inextensible on a body": lambda: with_bob(gd.Hinged("bob"), strain="inextensible"),
    "blended": lambda: gd.System(rods=[hose(mass=0.5)], gravity=(0, 0, 0)),
    "half-tangent": lambda: gd.System(rods=[hose(curvature="half-tangent")], gravity=(0, 0, 0)),
    "elements": lambda: gd.System(rods=[hose(segments=2, degree=3)], gravity=(0, 0, 0)),
    "elements of degree 4": lambda: gd.System(rods=[hose(segments=2, degree=4)], gravity=(0, 0, 0)),
    "elements hinged on a body": lambda: with_bob(gd.Hinged("bob"), segments=3, degree=2),
    "elements clamped on a body": lambda: with_bob(gd.Clamped("bob"), segments=3, degree=2),
    "kirchhoff elements": lambda: with_bob(gd.Clamped("bob"), segments=3, degree=2, strain="kirchhoff"),
    "inextensible elements": lambda: gd.System(
        rods=[hose(segments=2, degree=3, strain="inextensible", velocity=(0, 0.1, 0))], gravity=(0, 0, 0)
    ),
}


@pytest.mark.parametrize("name", RODS)
def test_rods_keep_energy_and_all_momenta_after_their_loads(name):
    motion = run(pushed(RODS[name]()), 1.0, 1e-3)
    after = slice(60, None)
    energy = motion.energy
    total, parts = energy.total[after], max(energy.kinetic.max(), energy.potential.max())
    assert np.abs(energy.total - energy.total[0]).max() > 1e-2 * parts  # the load has done work
    assert energy.potential.max() > 1e-3 * parts  # and bent it
    assert np.ptp(total) < 1e-12 * parts
    assert swing(motion.momentum[after]) < 1e-12
    assert swing(motion.angular_momentum[after]) < 1e-12
    assert motion.newton.max() <= 12


def test_a_clamped_rod_keeps_its_energy_and_damping_takes_some():
    """Gravity, a clamp with its ghost, and damping that never feeds energy in."""
    still = {"velocity": (0, 0, 0), "angular_velocity": (0, 0, 0), "start": gd.Clamped()}
    assert lost(run(gd.System(rods=[hose(**still)]), 1.0, 1e-3)) < 1e-12
    motion = run(gd.System(rods=[hose(**still, damping=gd.Damping(factor=2e-3))]), 1.0, 1e-3)
    assert np.diff(motion.energy.total).max() < 1e-13
    assert np.ptp(motion.energy.total) > 1e-2 * motion.energy.kinetic.max()


@pytest.mark.parametrize("name", ["free", "clamped on a body", "kirchhoff", "blended", "elements hinged on a body"])
def test_rods_converge_with_order_two(name):
    system = RODS[name]()
    exact = gd.simulate(system, 0.01, method="radau5", rtol=1e-11, output=[0.01])
    errors = []
    for h in (5e-5, 2.5e-5):  # of the fastest vibration these are a quarter and an eighth of a radian
        track = run(system, 0.01, h, output=[0.01])["hose"]
        errors.append(
            [np.abs(getattr(track, f)[-1] - getattr(exact["hose"], f)[-1]).max() for f in ("positions", "velocities")]
        )
    np.testing.assert_allclose(np.log2(np.array(errors[0]) / errors[1]), 2.0, atol=0.2)


# --- links on rods ---------------------------------------------------------------------------------------------------

LINKS = {
    "spring": lambda **k: gd.SpringDamper("hose", "bob", at_a=0.7, at_b=(0, 0, 0.02), stiffness=200, length=0.1, **k),
    "bushing": lambda **k: gd.Bushing("hose", "bob", at_a=1.0, stiffness=(100, 200, 300), **k),
    "bushing of a body": lambda **k: gd.Bushing(
        "bob", "hose", at_a=(0, -0.1, 0), at_b=0.6, stiffness=(100, 200, 300), **k
    ),
    "cable": lambda **k: gd.Cable("hose", "bob", at_a=0.8, at_b=(0, 0, 0.02), stiffness=300, length=0.25, **k),
}  # fmt: skip
#: Corners of a tendon: segments of the grid, nodes of three elements that it divides, and offsets.
CORNERS = {None: (0, 4, 7), 2: (1, 3, 5)}
OFFSETS = ((0.02, 0.0), (0.0, 0.02), (0.02, 0.01))


def tendon(degree=None) -> gd.Tendon:
    at = [k / 6.0 if degree else (k + 0.5) / 8.0 for k in CORNERS[degree]]
    return gd.Tendon("hose", list(zip(at, OFFSETS, strict=True)), tension=5.0)


def linked(name, degree=None, damping=None) -> gd.System:
    """The hose and the body, with a link between them or along the hose."""
    system = with_bob(gd.Free(), **({"segments": 3, "degree": degree} if degree else {}))
    if name == "tendon":
        return system.with_(forces=[tendon(degree)])
    return system.with_(forces=[LINKS[name]() if damping is None else LINKS[name](damping=damping)])


def length_of_tendon(motion, degree) -> np.ndarray:
    track, at = motion["hose"], []
    nodes = motion.compiled.system.rods[0].fractions  # elements end at corners
    for k, offset in zip(CORNERS[degree], OFFSETS, strict=True):
        k = int(np.argmin(np.abs(nodes - k / 6.0))) if degree else k
        x = track.positions[:, k] if degree else 0.5 * (track.positions[:, k] + track.positions[:, k + 1])
        at.append(x + track.directors[:, k] @ [*offset, 0.0])
    return np.linalg.norm(np.diff(at, axis=0), axis=2).sum(axis=0)


@pytest.mark.spread
@pytest.mark.parametrize("degree", [None, 2])
@pytest.mark.parametrize("name", [*LINKS, "tendon"])
def test_links_keep_energy_and_all_momenta(name, degree):
    motion = run(linked(name, degree), 0.5, 1e-3)
    energy = motion.energy
    total = energy.total + (5.0 * length_of_tendon(motion, degree) if name == "tendon" else 0.0)
    assert np.ptp(energy.kinetic) > 1e-3 * energy.kinetic.max()
    assert np.ptp(total) < 1e-12 * energy.kinetic.max()
    assert swing(motion.momentum) < 1e-12
    assert swing(motion.angular_momentum) < 1e-12


@pytest.mark.parametrize("name", ["spring", "bushing", "cable"])
def test_dampers_of_links_take_energy_and_keep_momenta(name):
    motion = run(linked(name, damping=0.5), 0.5, 1e-3)
    total = motion.energy.total
    assert np.diff(total).max() < 1e-13
    assert np.ptp(total) > 1e-3 * motion.energy.kinetic.max()
    assert swing(motion.angular_momentum) < 1e-12


def test_a_cable_between_bodies_that_goes_slack_keeps_the_energy():
    """Steps begin and end on both sides of where it sets in and has set in."""
    bodies = [
        gd.Body(n, 1.0, (0.02, 0.03, 0.04), (x, 0, 0), velocity=(x, 0.5 * x, 0)) for n, x in (("a", -0.4), ("b", 0.4))
    ]
    cable = gd.Cable("a", "b", at_a=(0, 0.05, 0), at_b=(0, 0, 0.05), stiffness=200.0, length=0.9, smoothing=0.05)
    motion = run(gd.System(bodies, forces=[cable], gravity=(0, 0, 0)), 5.0, 0.02)
    assert motion.energy.potential[motion.energy.potential < 1e-14].size > 50
    assert motion.energy.potential.max() > 0.1
    assert lost(motion) < 1e-13
    assert swing(motion.angular_momentum) < 1e-12


def matrix_error(system, h=5e-3) -> float:
    """The largest difference of Newton's matrix from differences of the residual, over its largest entry."""
    s = compile_stepped(
        system, h, coordinates="directors", sigma="mean", potential="midpoint", conserving=True, reduce=True
    )
    u = 0.02 * np.random.default_rng(4).normal(size=s.core.unknowns)
    _, K = s.core.linearise(s.start, 0.0, h, u)
    J = [
        s.core.linearise(s.start, 0.0, h, u + d)[0] - s.core.linearise(s.start, 0.0, h, u - d)[0]
        for d in 1e-6 * np.eye(len(u))
    ]
    return float(np.abs(K - np.array(J).T / 2e-6).max() / np.abs(K).max())


@pytest.mark.parametrize("name", [2, 3, 4, *LINKS, "tendon"])
def test_newton_matrix_of_elements_and_of_links(name):
    if isinstance(name, int):
        assert matrix_error(with_bob(gd.Clamped("bob"), segments=2, degree=name)) < 1e-9
    else:
        assert matrix_error(linked(name, 2)) < 1e-9


# --- another program -------------------------------------------------------------------------------------------------


def test_the_oracle_does_the_same():
    """Two bodies on a ball joint and a hinge, with springs, a bushing and the spring of the hinge's angle."""
    k, rest, kb, kt = 30.0, 0.4, np.array([5.0, 8.0, 2.0]), 3.0
    p = [np.array([1.0, 0, 0, 0]), np.array([1.0, 0, 0, 0])]
    w = np.array([0.5, 1.0, 2.0])
    xs, at, hinge = [np.array([0.5, 0, 0]), np.array([1.5, 0.2, 0])], np.zeros(3), np.array([1.0, 0, 0])
    spins = [w, w + np.array([0, 0, 1.5])]
    vs = [np.cross(w, xs[0]), np.cross(w, hinge) + np.cross(spins[1], xs[1] - hinge)]
    masses, inertias = (1.0, 0.7), ((0.2, 0.3, 0.4), (0.05, 0.07, 0.1))
    members = [
        vo.Member(m, np.array(J), q, s, position=x, velocity=v)
        for m, J, q, s, x, v in zip(masses, inertias, p, spins, xs, vs, strict=True)
    ]

    def point(q, i, r):
        return q[12 * i : 12 * i + 3] + np.asarray(r) @ q[12 * i + 3 : 12 * i + 12].reshape(3, 3)

    def axis(q, i, n):
        return q[12 * i + 3 + 3 * n : 12 * i + 6 + 3 * n]

    def joints(q):
        ball = point(q, 0, at - xs[0])
        gap = point(q, 1, hinge - xs[1]) - point(q, 0, hinge - xs[0])
        return np.concatenate([ball, gap, [axis(q, 0, 0) @ axis(q, 1, 2), axis(q, 0, 1) @ axis(q, 1, 2)]])

    anchor = np.array([0.3, 1.0, 0.5])

    def stretched(q):
        d = point(q, 1, (0.2, 0, 0.1)) - anchor
        return np.array([d @ d])

    def offset(q):
        d = point(q, 1, (0.1, 0.3, 0)) - point(q, 0, (0.2, 0, 0.3))
        return np.array([axis(q, 0, n) @ d for n in range(3)])

    def angle(q):
        return np.array([axis(q, 1, 0) @ axis(q, 0, 0), axis(q, 1, 0) @ axis(q, 0, 1)])

    energies = [
        (stretched, lambda s: 0.5 * k * (np.sqrt(s[0]) - rest) ** 2, lambda s: k * (1.0 - rest / np.sqrt(s)) / 2.0),
        (offset, lambda u: 0.5 * u @ (kb * u), lambda u: kb * u),
        (
            angle,
            lambda c: 0.5 * kt * (np.arctan(c[1] / c[0]) - 0.3) ** 2,
            lambda c: kt * (np.arctan(c[1] / c[0]) - 0.3) / (c @ c) * np.array([-c[1], c[0]]),
        ),
    ]
    h, steps = 0.02, 6
    nodes, Omega, totals = vo.conserving_joined(members, joints, energies, h, steps)
    assert np.abs(totals - totals[0]).max() < 1e-12 * np.abs(totals).max()

    bodies = [gd.Body(f"b{i}", masses[i], inertias[i], xs[i], p[i], vs[i], spins[i]) for i in range(2)]
    system = gd.System(
        bodies,
        [
            gd.Spherical("ground", "b0", at=at),
            gd.Revolute("b0", "b1", at=hinge, axis=(0, 0, 1), stiffness=kt, rest=0.3),
        ],
        forces=[
            gd.SpringDamper("ground", "b1", anchor, (0.2, 0, 0.1), stiffness=k, length=rest),
            gd.Bushing("b0", "b1", (0.2, 0, 0.3), (0.1, 0.3, 0), stiffness=kb),
        ],
    )
    motion = run(system, steps * h, h, formulation=gd.Formulation(reduce=False))
    np.testing.assert_allclose(motion.energy.total, totals, atol=1e-11 * np.abs(totals).max())
    for i, body in enumerate(("b0", "b1")):
        np.testing.assert_allclose(motion[body].position, nodes[:, i, :3], atol=1e-11)
        directors = nodes[:, i, 3:].reshape(-1, 3, 3).swapaxes(1, 2)
        np.testing.assert_allclose(motion[body].matrix, directors, atol=1e-10)
        np.testing.assert_allclose(motion[body].Omega, Omega[:, i], atol=1e-10 * np.abs(Omega).max())


def test_the_oracle_bends_a_rod_as_the_core_does():
    """Two segments in space: vertices with a frame each, strains and a curvature of products of directors."""
    C, inertia, length = np.array([300.0, 280.0, 500.0, 0.5, 0.4, 0.3]), np.array([2e-3, 1.5e-3, 3e-3]), 0.8
    rod = gd.Rod(
        "rod", length=length, segments=2, stiffness=C, density_per_length=0.8, rotary_inertia=inertia,
        curvature="tangent", initial=gd.Straight((0, 0, 0), (0, 0, length)), start=gd.Free(), end=gd.Free(),
        velocity=lambda s: (2.0 * s, s * s, 0.3 * s), angular_velocity=lambda s: (-1.0 + s, 3.0 * s, 4.0 * s * s),
    )  # fmt: skip
    h, steps, gravity, ds = 5e-3, 3, (1.0, -2.0, -9.0), 0.5 * length
    motion = run(gd.System(rods=[rod], gravity=gravity), steps * h, h)
    track = motion["rod"]
    masses, J = 0.8 * ds * np.array([0.5, 1.0, 0.5]), [inertia * ds, inertia * ds, np.ones(3)]
    turned = [*rod.quaternions, np.array([1.0, 0, 0, 0])]
    members = [
        vo.Member(masses[i], J[i], turned[i], Omega, position=rod.positions[i], velocity=track.velocities[0, i])
        for i, Omega in enumerate([*track.Omega[0], np.zeros(3)])
    ]

    def directors(q, i):
        return q[12 * i + 3 : 12 * i + 12].reshape(3, 3)

    def strains(j):
        return lambda q: directors(q, j) @ (q[12 * j + 12 : 12 * j + 15] - q[12 * j : 12 * j + 3]) / ds - [0, 0, 1.0]

    def bend(q):  # axial vector and trace of a'b
        Q = directors(q, 0) @ directors(q, 1).T
        return np.array(
            [*(0.5 * (Q[(k + 2) % 3, (k + 1) % 3] - Q[(k + 1) % 3, (k + 2) % 3]) for k in range(3)), np.trace(Q)]
        )

    def bent(a, b):  # K = 2/ds f axial, f = 2/(1 + trace)
        (fa, fb), k = (2.0 / (1.0 + x[3]) for x in (a, b)), 2.0 / ds
        S = ds * C[3:] * 0.5 * k * (fa * a[:3] + fb * b[:3])
        secant = -2.0 / ((1.0 + a[3]) * (1.0 + b[3]))
        slope = k * np.append(0.5 * (fa + fb) * S, secant * (S @ (0.5 * (a[:3] + b[:3]))))
        return 0.5 * ds * (k * fa * a[:3]) @ (C[3:] * (k * fa * a[:3])), slope

    springs = [
        (strains(j), lambda u: 0.5 * ds * u @ (C[:3] * u), lambda u: ds * C[:3] * u) for j in range(2)
    ]  # fmt: skip
    nodes, Omega, totals = vo.conserving_joined(
        members, lambda q: np.zeros(0), [*springs, (bend, bent, None)], h, steps, gravity
    )
    assert np.ptp(totals) < 1e-12 * np.abs(totals).max()
    np.testing.assert_allclose(track.positions, nodes[:, :, :3], atol=1e-10)
    np.testing.assert_allclose(track.directors, nodes[:, :2, 3:].reshape(-1, 2, 3, 3).swapaxes(2, 3), atol=1e-10)
    np.testing.assert_allclose(track.Omega, Omega[:, :2], atol=1e-9)


class Secant:
    """A number at both ends of a step with its discrete gradient: products by means, quotients and roots by secants."""

    def __init__(self, a, b, slope):
        self.a, self.b, self.slope = a, b, slope

    @property
    def mean(self):
        return 0.5 * (self.a + self.b)

    def __add__(self, o):
        if not isinstance(o, Secant):
            return Secant(self.a + o, self.b + o, self.slope)
        return Secant(self.a + o.a, self.b + o.b, self.slope + o.slope)

    def __mul__(self, o):
        if not isinstance(o, Secant):
            return Secant(o * self.a, o * self.b, o * self.slope)
        return Secant(self.a * o.a, self.b * o.b, self.mean * o.slope + o.mean * self.slope)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return -1.0 * self

    def __sub__(self, o):
        return self + -1.0 * o

    def inverse(self):
        return Secant(1.0 / self.a, 1.0 / self.b, -self.slope / (self.a * self.b))

    def root(self):
        a, b = np.sqrt(self.a), np.sqrt(self.b)
        return Secant(a, b, self.slope / (a + b))


def test_the_oracle_bends_an_element_as_the_core_does():
    """One element of degree 2: strains from what its first node sees of the others, y = a'(x - x_0) and a'b."""
    C, inertia, length = np.array([300.0, 280.0, 500.0, 0.5, 0.4, 0.3]), np.array([2e-3, 1.5e-3, 3e-3]), 0.8
    rod = gd.Rod(
        "rod", length=length, segments=1, degree=2, stiffness=C, density_per_length=0.8, rotary_inertia=inertia,
        initial=gd.Straight((0, 0, 0), (0, 0, length)), start=gd.Free(), end=gd.Free(),
        velocity=lambda s: (2.0 * s, s * s, 0.3 * s), angular_velocity=lambda s: (-1.0 + s, 3.0 * s, 4.0 * s * s),
    )  # fmt: skip
    h, steps, gravity = 5e-3, 3, (1.0, -2.0, -9.0)
    motion = run(gd.System(rods=[rod], gravity=gravity), steps * h, h)
    track, weight = motion["rod"], 0.5 * length * np.array([1.0, 4.0, 1.0]) / 3.0
    members = [
        vo.Member(
            0.8 * w, w * inertia, rod.quaternions[i], track.Omega[0, i], position=rod.positions[i],
            velocity=track.velocities[0, i],
        )
        for i, w in enumerate(weight)
    ]  # fmt: skip

    def products(q):
        node = q.reshape(3, 12)
        a, out = node[0, 3:].reshape(3, 3), []
        for k in (1, 2):
            Q = a @ node[k, 3:].reshape(3, 3).T
            axial = [0.5 * (Q[(i + 2) % 3, (i + 1) % 3] - Q[(i + 1) % 3, (i + 2) % 3]) for i in range(3)]
            out += [*(a @ (node[k, :3] - node[0, :3])), np.trace(Q), *axial]
        return np.array(out)

    def strains(a, b, xi):
        """Of one Gauss point, six numbers."""
        n = [Secant(a[i], b[i], np.eye(14)[i]) for i in range(14)]
        shape, slope = (0.5 * xi * (xi - 1), 1 - xi * xi, 0.5 * xi * (xi + 1)), (xi - 0.5, -2.0 * xi, xi + 0.5)
        slope = [2.0 / length * x for x in slope]
        zero = 0.0 * n[0]
        Y, Q, P = [zero] * 3, [zero + shape[0], zero, zero, zero], [zero + slope[0], zero, zero, zero]
        for k in (1, 2):
            part = n[7 * k - 7 : 7 * k]
            twice = (part[3] + 1.0).root()
            W = [0.5 * twice, *(x * twice.inverse() for x in part[4:])]
            Y = [s + slope[k] * y for s, y in zip(Y, part[:3], strict=True)]
            Q = [s + shape[k] * w for s, w in zip(Q, W, strict=True)]
            P = [s + slope[k] * w for s, w in zip(P, W, strict=True)]
        over = sum((x * x for x in Q), zero).inverse()
        w, x, y, z = Q
        R = [
            [w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]  # fmt: skip
        G = [sum((R[i][j] * Y[i] for i in range(3)), zero) * over for j in range(3)]
        p, e, f, g = P
        K = [
            2.0 * (w * e - x * p - y * g + z * f) * over,
            2.0 * (w * f - y * p - z * e + x * g) * over,
            2.0 * (w * g - z * p - x * f + y * e) * over,
        ]
        return [G[0], G[1], G[2] + -1.0, *K]

    def bent(a, b):
        energy, slope = 0.0, np.zeros(14)
        for xi in (-(3**-0.5), 3**-0.5):
            E = strains(a, b, xi)
            energy += 0.25 * length * sum(c * e.a**2 for c, e in zip(C, E, strict=True))
            slope = slope + 0.5 * length * sum(c * e.mean * e.slope for c, e in zip(C, E, strict=True))
        return energy, slope

    nodes, Omega, totals = vo.conserving_joined(
        members, lambda q: np.zeros(0), [(products, bent, None)], h, steps, gravity
    )
    assert np.ptp(totals) < 1e-12 * np.abs(totals).max()
    np.testing.assert_allclose(track.positions, nodes[:, :, :3], atol=1e-10)
    np.testing.assert_allclose(track.directors, nodes[:, :, 3:].reshape(-1, 3, 3, 3).swapaxes(2, 3), atol=1e-10)
    np.testing.assert_allclose(track.Omega, Omega, atol=1e-9)
