"""Efforts, inverse dynamics, mass matrices, Jacobians: against Pinocchio, a closed form, energies, differences."""

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import gyrod as gd
from gyrod import rotations as ro
from gyrod.motion.joints import kinematics
from gyrod.solve import joint_rates

DATA = Path(__file__).parent / "data"
PEER = json.loads((DATA / "arm_pinocchio.json").read_text(encoding="utf-8"))
NAMES = PEER["joints"]
# Of the inertia of the flange in arm.urdf: xyz and rpy.
ORIGIN = ((0.026, 0.059, 0.003), (0.452, -0.547, -0.603))

L1, A1, A2 = 0.7, 0.3, 0.2
M1, M2, I1, I2, G = 2.0, 1.3, 0.05, 0.03, 9.81


def of(rows, field):
    return {name: np.array([row[field][i] for row in rows]) for i, name in enumerate(NAMES)}


def two_links(shoulder=None, elbow=None):
    upper = gd.Body("upper", mass=M1, inertia=(0.04, 0.03, I1), position=(A1, 0, 0))
    lower = gd.Body("lower", mass=M2, inertia=(0.02, 0.02, I2), position=(L1 + A2, 0, 0))
    joints = [
        gd.Revolute("ground", "upper", at=(0, 0, 0), axis=(0, 0, 1), name="shoulder", **(shoulder or {})),
        gd.Revolute("upper", "lower", at=(L1, 0, 0), axis=(0, 0, 1), name="elbow", **(elbow or {})),
    ]
    return gd.System([upper, lower], joints, gravity=(0, -G, 0))


def two_link_efforts(q1, q2, d1, d2, e1, e2):
    """Any textbook of robotics: the planar arm with two links."""
    a, b = I1 + I2 + M1 * A1**2 + M2 * (L1**2 + A2**2), M2 * L1 * A2
    m11, m12, m22 = a + 2 * b * np.cos(q2), I2 + M2 * A2**2 + b * np.cos(q2), I2 + M2 * A2**2
    h, g2 = b * np.sin(q2), M2 * A2 * G * np.cos(q1 + q2)
    g1 = (M1 * A1 + M2 * L1) * G * np.cos(q1) + g2
    return m11 * e1 + m12 * e2 - h * (2 * d1 * d2 + d2**2) + g1, m12 * e1 + m22 * e2 + h * d1**2 + g2


def sine(amplitude, rate):
    return (
        lambda t: amplitude * (1 - np.cos(rate * t)),
        lambda t: amplitude * rate * np.sin(rate * t),
        lambda t: amplitude * rate**2 * np.cos(rate * t),
    )


DRIVES = sine(0.4, 3.0), sine(-0.5, 4.0)
TIMES = np.linspace(0.0, 2.0, 21)


@pytest.fixture(scope="module")
def driven():
    losses = {"damping": 0.3, "friction": 0.2, "slip": 0.05, "limits": (-1.0, 0.5)}
    spring = {"stiffness": 1.2, "rest": 0.1}
    system = two_links({"drive": DRIVES[0], **losses}, {"drive": DRIVES[1], **spring})
    return gd.simulate(system, 2.0, output=TIMES)


def linkage(**crank):
    """A four-bar linkage in a plane."""
    corners = np.array([(0, 0, 0), (0.3, 0, 0.4), (1.3, 0, 0.9), (1.2, 0, 0)], dtype=float)
    bodies = []
    for name, i, j, mass in (("crank", 0, 1, 1.0), ("coupler", 1, 2, 2.0), ("rocker", 3, 2, 1.5)):
        along = corners[j] - corners[i]
        J = mass * along @ along / 12
        turn = (0, -np.arctan2(along[2], along[0]), 0)
        middle = 0.5 * (corners[i] + corners[j])
        bodies.append(gd.Body(name, mass=mass, inertia=(1e-3, J, J), position=middle, orientation=turn))
    ends = [("ground", "crank", crank), ("crank", "coupler", {}), ("coupler", "rocker", {"damping": 0.2})]
    ends.append(("ground", "rocker", {}))
    joints = [
        gd.Revolute(a, b, at=at, axis=(0, 1, 0), name=name, **more)
        for (a, b, more), at, name in zip(ends, corners, "ABCD", strict=True)
    ]
    return gd.System(bodies, joints)


# --- efforts ---------------------------------------------------------------------------------------------------------


def test_efforts_of_a_two_link_arm(driven):
    (q1, d1, e1), (q2, d2, e2) = ([f(TIMES) for f in law] for law in DRIVES)
    first, second = two_link_efforts(q1, q2, d1, d2, e1, e2)
    first = first + 0.3 * d1 + 0.2 * d1 / np.sqrt(d1**2 + 0.05**2)
    second = second + 1.2 * (q2 - 0.1)
    np.testing.assert_allclose(driven["shoulder"].effort, first, rtol=0, atol=1e-12)
    np.testing.assert_allclose(driven["elbow"].effort, second, rtol=0, atol=1e-12)
    assert driven(0.7)["elbow"].effort.shape == ()


def test_the_effort_is_what_turns_the_joint(driven):
    """A torque of that size at a free joint makes the same motion."""
    t = np.linspace(0.0, 0.5, 201)
    spline = {n: CubicSpline(t, driven(t)[n].effort) for n in ("shoulder", "elbow")}
    torque = [lambda s: (0, 0, spline["shoulder"](s) - spline["elbow"](s)), lambda s: (0, 0, spline["elbow"](s))]
    forces = [gd.Torque("upper", torque[0]), gd.Torque("lower", torque[1])]
    free = two_links({"damping": 0.3, "friction": 0.2, "slip": 0.05}, {"stiffness": 1.2, "rest": 0.1})
    motion = gd.simulate(free.with_(forces=forces), 0.5, output=[0.0, 0.5], rtol=1e-9)
    want = [law[0](0.5) for law in DRIVES]
    found = [motion[n].coordinates[-1, 0] for n in ("shoulder", "elbow")]
    np.testing.assert_allclose(found, want, atol=1e-6)
    assert motion["shoulder"].effort.tolist() == [0.0, 0.0]


def test_a_screw_a_slider_and_a_bar():
    """Power of the efforts is what goes into energy: screw and slider lift a body, a bar pushes one."""
    up, rate = sine(0.3, 2.0), np.linspace(0.0, 1.0, 9)
    for joint, unit in (
        (gd.Prismatic("ground", "b", at=(0, 0, 0), axis=(0, 0, 1), drive=up, name="j"), "N"),
        (gd.Helical("ground", "b", pitch=0.5, at=(0, 0, 0), axis=(0, 0, 1), drive=up, name="j"), "N m"),
    ):
        body = gd.Body("b", mass=2.0, inertia=(0.1, 0.1, 0.1))
        motion = gd.simulate(gd.System([body], [joint]), 1.0, output=rate)
        lead, inertia = (1.0, 2.0) if unit == "N" else (0.5 / (2 * np.pi), 0.1 + 2.0 * (0.5 / (2 * np.pi)) ** 2)
        want = inertia * up[2](rate) + 2.0 * 9.81 * lead
        np.testing.assert_allclose(motion["j"].effort, want, rtol=0, atol=1e-11)
        assert joint.effort_units == (unit,)
    bob = gd.Body("b", mass=2.0, inertia=(0.1, 0.1, 0.1), position=(0, 0, -0.5))
    rail = gd.Prismatic("ground", "b", at=(0, 0, 0), axis=(0, 0, 1))
    bar = gd.Distance("ground", "b", at=(0, 0, 0), to=(0, 0, -0.5), name="bar")
    motion = gd.simulate(gd.System([bob], [rail, bar]), 0.1, output=[0.1])
    np.testing.assert_allclose(motion["bar"].effort, -2.0 * 9.81, rtol=1e-12)


def test_limits_of_a_driven_joint_are_told_and_do_not_stop_it(driven):
    assert driven.status == "finished"
    assert [event.name for event in driven.events] == ["upper limit of Revolute 'shoulder'"]
    np.testing.assert_allclose(DRIVES[0][0](driven.events[0].t), 0.5, atol=1e-7)
    undriven = two_links({"limits": (-0.5, 1.0)})
    stopped = gd.simulate(undriven, 2.0)
    assert stopped.status == "event"
    assert stopped.events[-1].name == "lower limit of Revolute 'shoulder'"


def test_a_stepper_tells_the_limits_that_a_driven_joint_passes():
    body = gd.Body("b", mass=1.0, inertia=(1, 1, 1))
    drive = gd.Expression("1 - cos(t)")
    joint = gd.Revolute("ground", "b", at=(0, 0, 0), axis=(0, 0, 1), drive=drive, limits=(-0.1, 0.3), name="j")
    sim = gd.stepper(gd.System([body], [joint]), record=True)
    sim.step(0.5)
    early = sim.save()
    for _ in range(2):  # once more after a step back: it is told once
        for _ in range(5):
            sim.step(0.1)
        assert [event.name for event in sim.events] == ["upper limit of Revolute 'j'"]
        np.testing.assert_allclose(sim.events[0].t, np.arccos(0.7), atol=1e-7)
        assert [event.t for event in sim.motion().events] == [sim.events[0].t]
        sim.restore(early)
        assert sim.events == ()


def test_friction_stops_a_joint_and_takes_its_power():
    body = gd.Body("b", mass=1.0, inertia=(1, 1, 1), angular_velocity=(0, 0, 2.0))
    joint = gd.Revolute("ground", "b", at=(0, 0, 0), axis=(0, 0, 1), friction=0.5, slip=1e-3, name="j")
    motion = gd.simulate(gd.System([body], [joint]), 5.0, rtol=1e-8, output=[0.0, 2.0, 5.0])
    np.testing.assert_allclose(motion["j"].rates[:, 0], [2.0, 1.0, 0.0], atol=1e-5)
    assert motion.stats.method in ("dop853", "radau5")
    rest = gd.equilibrium(gd.System([body], [joint], gravity=(0, 0, -9.81)))
    assert rest["j"].effort == 0.0


def test_modes_leave_friction_out():
    body = gd.Body("b", mass=1.0, inertia=(1, 1, 1), position=(0, 0, -1))
    plain = gd.Revolute("ground", "b", at=(0, 0, 0), axis=(0, 1, 0), damping=0.1, name="j")
    rough = gd.Revolute("ground", "b", at=(0, 0, 0), axis=(0, 1, 0), damping=0.1, friction=0.5, name="j")
    smooth, found = (gd.modes(gd.System([body], [joint]), n=1) for joint in (plain, rough))
    np.testing.assert_allclose(found.frequencies, smooth.frequencies, rtol=1e-12)
    np.testing.assert_allclose(found.damping, smooth.damping, rtol=1e-9)
    assert smooth.damping[0] > 0.0


def test_sensors_quantities_plots_and_files(driven, tmp_path):
    system = driven.system.with_(
        sensors=[gd.JointSensor("torque", "shoulder", "effort"), gd.JointSensor("angle", "shoulder")]
    )
    motion = gd.simulate(system, 0.5, output=TIMES[:6])
    assert motion.sensors.units["torque"] == "N m"
    np.testing.assert_array_equal(motion.sensors["torque"], motion["shoulder"].effort)
    np.testing.assert_allclose(motion["shoulder"].effort, driven["shoulder"].effort[:6], atol=1e-12)
    from gyrod.motion.readings import quantity

    np.testing.assert_array_equal(quantity("elbow.effort", system).read(motion), motion["elbow"].effort)
    figure = motion.plot("effort")
    assert [line.get_label() for line in figure.axes[0].get_lines()] == ["shoulder", "elbow"]
    with pytest.raises(ValueError, match="'effort' is for joints that are led"):
        gd.simulate(two_links(), 0.1).plot("effort")
    motion.to_npz(tmp_path / "arm.npz")
    np.testing.assert_array_equal(np.load(tmp_path / "arm.npz")["elbow.effort"], motion["elbow"].effort)
    sim = gd.stepper(system)
    sim.step(TIMES[1])
    np.testing.assert_allclose(sim.sensors["torque"], motion["shoulder"].effort[1], atol=1e-10)


# --- inverse dynamics ------------------------------------------------------------------------------------------------


def test_inverse_dynamics_of_a_two_link_arm():
    q, d, e = {"shoulder": 0.4, "elbow": -0.9}, {"shoulder": 1.1, "elbow": 2.0}, {"shoulder": -3.0, "elbow": 5.0}
    found = gd.inverse_dynamics(two_links(), q=q, qd=d, qdd=e)
    want = two_link_efforts(*q.values(), *d.values(), *e.values())
    np.testing.assert_allclose([found["shoulder"], found["elbow"]], want, rtol=0, atol=1e-12)
    rows = gd.inverse_dynamics(two_links(), q={**q, "elbow": [-0.9, 0.2]}, qd=d, qdd=e)
    assert rows["elbow"].shape == (2,)
    np.testing.assert_allclose([rows["shoulder"][0], rows["elbow"][0]], want, rtol=0, atol=1e-12)


def test_inverse_dynamics_equals_a_driven_run(driven):
    for found in (gd.inverse_dynamics(driven.system, t=TIMES), gd.inverse_dynamics(driven.system, driven)):
        for name in ("shoulder", "elbow"):
            np.testing.assert_allclose(found[name], driven[name].effort, rtol=0, atol=1e-11)


def test_efforts_of_a_free_motion_vanish():
    system = gd.System(
        [
            gd.Body("base", mass=3.0, inertia=(0.2, 0.3, 0.4), angular_velocity=(0.3, -0.2, 0.5)),
            gd.Body("arm", mass=1.0, inertia=(0.1, 0.1, 0.05), position=(0, 0, 1), orientation=(0.3, 0.2, 0.1)),
        ],
        [gd.Cylindrical("base", "arm", at=(0, 0, 0.5), axis=(1, 2, 3), stiffness=(2, 9), damping=(0.1, 0.3), name="j")],
    )
    motion = gd.simulate(gd.assemble(system), 1.0, rtol=1e-8)
    found = gd.inverse_dynamics(system, motion)
    assert found["j"].shape == (len(motion.t), 2)
    assert abs(found["j"]).max() < 1e-11
    heavier = gd.inverse_dynamics(system.with_({"arm.mass": 2.0}), motion)
    assert abs(heavier["j"]).max() > 0.01


def test_loops(driven):
    system = linkage(drive=sine(0.3, 2.0))
    motion = gd.simulate(system, 1.0, output=np.linspace(0, 1, 6))
    for found in (gd.inverse_dynamics(system, t=motion.t), gd.inverse_dynamics(system, motion)):
        assert list(found) == ["A"]
        np.testing.assert_allclose(found["A"], motion["A"].effort, rtol=0, atol=1e-9)
    M = gd.mass_matrix(motion, ["A"])
    np.testing.assert_allclose(0.5 * M["A", "A"] * motion["A"].rates[:, 0] ** 2, motion.energy.kinetic, atol=1e-13)
    by_coupler = gd.mass_matrix(motion, ["C"])["C", "C"]  # a joint that closes the loop
    np.testing.assert_allclose(by_coupler * motion["C"].rates[:, 0] ** 2, 2 * motion.energy.kinetic, atol=1e-13)


# --- against Pinocchio -----------------------------------------------------------------------------------------------


def test_a_six_joint_arm_against_pinocchio():
    system, rows = gd.load(DATA / "arm.urdf"), PEER["rows"]
    q = of(rows, "q")
    found = gd.inverse_dynamics(system, q=q, qd=of(rows, "qd"), qdd=of(rows, "qdd"))
    for name, effort in of(rows, "tau").items():
        np.testing.assert_allclose(found[name], effort, rtol=0, atol=1e-11)
    M = gd.mass_matrix(system, NAMES, positions=q)
    assert M.names == tuple(NAMES)
    np.testing.assert_allclose(M.matrix, [row["mass_matrix"] for row in rows], rtol=0, atol=1e-11)
    # gyrod's axes of a link are those of its inertia: origin and rpy of the flange in the file.
    turn = Rotation.from_euler("xyz", ORIGIN[1]).inv()
    J = gd.jacobian(system, "flange", turn.apply(np.subtract(PEER["tool"], ORIGIN[0])), NAMES, positions=q)
    both = np.concatenate([J.linear, J.angular], axis=1)
    np.testing.assert_allclose(both, [row["jacobian"] for row in rows], rtol=0, atol=1e-12)


# --- mass matrices and Jacobians -------------------------------------------------------------------------------------


def tree(flipped):
    """Every joint that a tree may have, one after the other, and a free body with a ball joint."""
    rng = np.random.default_rng(3)
    make = [
        lambda a, b, at, n: gd.Revolute(a, b, at=at, axis=(1, 2, 3), name=n),
        lambda a, b, at, n: gd.Prismatic(a, b, at=at, axis=(0, 2, 3), name=n),
        lambda a, b, at, n: gd.Helical(a, b, pitch=0.4, at=at, axis=(2, 0, 1), name=n),
        lambda a, b, at, n: gd.Cylindrical(a, b, at=at, axis=(1, 1, 3), name=n),
        lambda a, b, at, n: gd.Universal(a, b, at=at, axis=(1, 0, 0), axis2=(0, 0.6, 0.8), name=n),
        lambda a, b, at, n: gd.Planar(a, b, at=at, axis=(1, -2, 1), name=n),
    ]
    bodies, joints = [], []
    for i, joint in enumerate(make):
        name, parent = f"b{i}", f"b{i - 1}" if i else "ground"
        J, turn = np.diag(rng.uniform(1, 1.5, 3)), Rotation.from_rotvec(rng.normal(size=3)).as_matrix()
        x, p = rng.normal(size=3), rng.normal(size=3)
        bodies.append(gd.Body(name, mass=1.0 + i, inertia=turn @ J @ turn.T, position=x, orientation=p))
        joints.append(joint(*((name, parent) if flipped else (parent, name)), rng.normal(size=3), f"j{i}"))
    return gd.System(bodies, joints)


@pytest.mark.parametrize("flipped", [False, True])
def test_mass_matrix_and_jacobian_of_every_joint(flipped):
    """Jacobians are differences of points, the mass matrix is that of points and rotations."""
    system, rng = tree(flipped), np.random.default_rng(5)
    q = {j.name: rng.normal(size=len(j.coordinate_names)) for j in system.joints}
    q = {name: value if len(value) > 1 else value[0] for name, value in q.items()}
    at, h = (0.3, -0.2, 0.4), 1e-6

    def place(values):
        found = gd.jacobian(system, "b5", at, positions=values)
        return joint_rates.Space.of(system, values), found

    _, J = place(q)
    M = gd.mass_matrix(system, positions=q)
    assert J.names == M.names
    np.testing.assert_allclose(M.matrix, M.matrix.T, atol=1e-12)
    columns = []
    for name in J.names:
        joint, _, coordinate = name.partition(".")
        unit = system.joint(joint).coordinate_names.index(coordinate) if coordinate else 0
        step = h * np.eye(6)[unit][: np.size(q[joint])]
        ends = [place({**q, joint: q[joint] + s * (step if np.ndim(q[joint]) else h)})[0].bodies for s in (1, -1)]
        twists = []
        for i in range(len(system.bodies)):
            (x1, R1), (x0, R0) = ((b[0][0, i], b[1][0, i]) for b in ends)
            turn = Rotation.from_matrix(R1 @ R0.T).as_rotvec()
            twists.append((x1 - x0, turn, R1 @ at - R0 @ np.asarray(at)))
        twists = np.array(twists) / (2 * h)
        np.testing.assert_allclose(J[name], [*(twists[-1, 0] + twists[-1, 2]), *twists[-1, 1]], atol=1e-7)
        columns.append(twists)
    space = place(q)[0]
    want = sum(
        b.mass * np.einsum("ki,li->kl", *[[c[i, 0] for c in columns]] * 2)
        + np.einsum(
            "ki,ij,lj->kl",
            [c[i, 1] for c in columns],
            space.bodies[1][0, i] @ b.inertia @ space.bodies[1][0, i].T,
            [c[i, 1] for c in columns],
        )
        for i, b in enumerate(system.bodies)
    )
    np.testing.assert_allclose(M.matrix, want, atol=1e-5)


@pytest.mark.parametrize("flipped", [False, True])
def test_inverse_dynamics_of_every_joint(flipped):
    """Lagrange's equations, by differences of the mass matrix and of the height."""
    system, rng = tree(flipped), np.random.default_rng(6)
    sizes = {j.name: len(j.coordinate_names) for j in system.joints}
    ends = np.cumsum([0, *sizes.values()])

    def split(x):
        parts = {name: x[..., a:b] for name, a, b in zip(sizes, ends, ends[1:], strict=False)}
        return {name: part if sizes[name] > 1 else part[..., 0] for name, part in parts.items()}

    n, h = ends[-1], 1e-5
    q, d, e = rng.normal(size=(3, n))
    found = gd.inverse_dynamics(system, q=split(q), qd=split(d), qdd=split(e))
    found = np.concatenate([np.atleast_1d(found[name]) for name in sizes])
    near = np.concatenate([q + h * np.eye(n), q - h * np.eye(n)])
    M = gd.mass_matrix(system, positions=split(near))
    order = [M.names.index(x) for j in system.joints for x in gd.mass_matrix(system).names if x.split(".")[0] == j.name]
    m = M.matrix[:, order][:, :, order]
    slope = (m[:n] - m[n:]) / (2 * h)
    space = joint_rates.Space.of(system, split(near))
    height = 9.81 * sum(b.mass * space.bodies[0][:, i, 2] for i, b in enumerate(system.bodies))
    middle = gd.mass_matrix(system, positions=split(q)).matrix[order][:, order]
    want = middle @ e + np.einsum("kij,k,j->i", slope, d, d) - 0.5 * np.einsum("kij,i,j->k", slope, d, d)
    want = want + (height[:n] - height[n:]) / (2 * h)
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-6 * abs(want).max())


def test_energy_of_a_free_tree():
    base = gd.Body("base", mass=3.0, inertia=(0.2, 0.3, 0.4), velocity=(1, 2, 3), angular_velocity=(0.3, -0.2, 0.5))
    ball = gd.Body("ball", mass=1.0, inertia=(0.1, 0.1, 0.05), position=(0, 0, 1), angular_velocity=(1, 2, 3))
    system = gd.System([base, ball], [gd.Spherical("base", "ball", at=(0, 0, 0.4))])
    motion = gd.simulate(system, 0.3, rtol=1e-8)
    M = gd.mass_matrix(motion)
    rates = [motion["base"].velocity, motion["base"].Omega, motion["ball"].Omega]
    r = np.concatenate(rates, axis=1)
    np.testing.assert_allclose(0.5 * np.einsum("ni,nij,nj->n", r, M.matrix, r), motion.energy.kinetic, rtol=1e-12)
    assert M.names[:4] == ("base.velocity[0]", "base.velocity[1]", "base.velocity[2]", "base.Omega[0]")
    single = gd.mass_matrix(motion(0.1))
    assert single.matrix.shape == (9, 9)
    np.testing.assert_allclose(gd.mass_matrix(system).matrix, M.matrix[0], rtol=0, atol=1e-13)


def test_at_rest():
    rest = gd.equilibrium(two_links({"stiffness": 50.0}, {"stiffness": 20.0}))
    q = {name: rest[name].coordinates[0] for name in ("shoulder", "elbow")}
    M = gd.mass_matrix(rest)
    np.testing.assert_allclose(M.matrix, gd.mass_matrix(two_links(), positions=q).matrix, atol=1e-10)
    hold = gd.inverse_dynamics(two_links(), q=q)
    np.testing.assert_allclose(hold["elbow"], -20.0 * q["elbow"], rtol=1e-7)


# --- bad input -------------------------------------------------------------------------------------------------------

ROD = {"section": gd.Circle(radius=0.01), "material": gd.Material(young=1e6, poisson=0.5, density=1000)}
HOSE = gd.Rod("hose", 1.0, 4, **ROD, start=gd.Clamped(), initial=gd.Straight((0, 5, 0), (0, 6, 0)))
LOOSE = gd.System([gd.Body(n, mass=1, inertia=(1, 1, 1), position=(x, 0, 0)) for n, x in (("a", 0), ("b", 1))])
TIED = LOOSE.with_(joints=[gd.Revolute("a", "b", at=(0, 0, 0), axis=(0, 0, 1), name="j")])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: gd.mass_matrix(3), "system must be a System, a Rest or a Motion, got 3"),
        (lambda s: gd.inverse_dynamics(3), "system must be a System, got 3"),
        (lambda s: gd.mass_matrix(LOOSE), "the system has no joints"),
        (lambda s: gd.mass_matrix(s.with_(rods=[HOSE])), "rods have a motion of their own ('hose')"),
        (lambda s: gd.mass_matrix(s, ["sholder"]), "coordinates = 'sholder' is unknown; it can be 'shoulder', 'elbow'"),
        (lambda s: gd.mass_matrix(s, ["elbow", "elbow"]), "'elbow' is named twice"),
        (lambda s: gd.mass_matrix(s)["elbow", "hand"], "name = 'hand' is unknown"),
        (lambda s: gd.mass_matrix(s, positions={"elbow": [[1]]}), "positions: ['elbow'] ="),
        (lambda s: gd.mass_matrix(s, positions=[1, 2]), "positions: it must be a dict from names of joints"),
        (lambda s: gd.mass_matrix(gd.simulate(s, 0.1), positions={"elbow": 1}), "positions go with a System"),
        (lambda s: gd.jacobian(s, "hand"), "body = 'hand' is unknown; it can be 'upper', 'lower'"),
        (lambda s: gd.jacobian(s, "upper", 3), "at must be three numbers"),
        (lambda s: gd.mass_matrix(linkage()), "the joints form closed loops, with a mobility of 1"),
        (lambda s: gd.mass_matrix(linkage(), ["A", "D"]), "are 2, but the closed loops have a mobility of 1"),
        (lambda s: gd.mass_matrix(linkage(), ["A"], positions={"D": 3.0}), "cannot be brought together"),
        (lambda s: gd.inverse_dynamics(linkage(), q={"A": 0.1, "D": 0.1}), "are 2, but the closed loops have"),
        (lambda s: gd.inverse_dynamics(s, q={"elbow": [1, 2]}, qd={"elbow": [1, 2, 3]}), "has 3 rows, others, or t"),
        (lambda s: gd.inverse_dynamics(s, q={"elbow": np.nan}), "q: ['elbow'] = nan must be a number or (n,), finite"),
        (lambda s: gd.inverse_dynamics(s, t=[[1]]), "t = [[1]] must be a finite number or a one-dimensional array"),
        (lambda s: gd.inverse_dynamics(s, gd.simulate(s, 0.1), t=1.0), "motion gives coordinates and times"),
        (lambda s: gd.inverse_dynamics(s, s), "motion must be a Motion"),
        (lambda s: gd.inverse_dynamics(s, gd.simulate(TIED, 0.1)), "motion has no bodies 'upper', 'lower'"),
        (lambda s: gd.inverse_dynamics(TIED), "bodies 'a' are free, or hang on a ball joint"),
    ],
)
def test_refused(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call(two_links())


def test_all_problems_at_once():
    with pytest.raises(gd.ModelError) as caught:
        gd.inverse_dynamics(two_links(), q={"hand": 1, "elbow": "x"}, qd={"foot": 1})
    assert len(caught.value.problems) == 3


def test_a_singular_position():
    """At a dead centre the slider does not tell where the crank goes."""
    crank = gd.Body("crank", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0.5, 0, 0))
    rod = gd.Body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(2, 0, 0))
    block = gd.Body("block", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(3, 0, 0))
    joints = [
        gd.Revolute("ground", "crank", at=(0, 0, 0), axis=(0, 1, 0), name="turn"),
        gd.Revolute("crank", "rod", at=(1, 0, 0), axis=(0, 1, 0)),
        gd.Revolute("rod", "block", at=(3, 0, 0), axis=(0, 1, 0)),
        gd.Prismatic("ground", "block", at=(3, 0, 0), axis=(1, 0, 0), name="slide"),
    ]
    system = gd.System([crank, rod, block], joints)
    np.testing.assert_allclose(gd.mass_matrix(system, ["turn"]).matrix.shape, (1, 1))
    with pytest.raises(ValueError, match="the rates of 'slide' do not determine the motion"):
        gd.mass_matrix(system, ["slide"])


# --- rates of all joints at once -------------------------------------------------------------------------------------


def test_rates_and_their_derivatives_are_those_of_the_joints():
    """Against the coordinates of each joint by itself, in random velocities: C V, and (C V)' where V' = 0."""
    found = joint_rates.JointRates.of(gd.problems.get("joint-tree").system)
    rng, b = np.random.default_rng(3), len(found.system.bodies)
    x, R = (part[:1] for part in found.bodies[:2])
    R = R @ ro.matrix_from_rotation_vector(rng.normal(size=(1, b, 3)))
    v, Omega = rng.normal(size=(2, 1, b, 3))

    def at(h):
        return x + h * v, R @ ro.matrix_from_rotation_vector(h * Omega), v, Omega

    def rates(h):
        which = [i for i, n in enumerate(found.labels) if found.names[n]]
        return kinematics(found.compiled, which, at(h))[1][0]

    own = len(rates(0.0))
    V = np.stack([v, Omega], axis=2).reshape(-1)
    np.testing.assert_allclose((found.rates(at(0.0))[0] @ V)[:own], rates(0.0), rtol=0, atol=1e-13)
    np.testing.assert_allclose((found.rates(at(0.0))[0] @ V)[own:], V, rtol=0, atol=0)
    h = 1e-5
    # Omega stays what it is in the axes of the body, the velocity in space: no accelerations.
    slopes = (rates(h) - rates(-h)) / (2.0 * h)
    np.testing.assert_allclose(found.bias(at(0.0))[0], slopes, rtol=0, atol=1e-8)


def test_a_system_is_compiled_once_for_many_calls():
    system = gd.problems.get("joint-tree").system
    found = joint_rates.JointRates.of(system)
    assert joint_rates.JointRates.of(system) is found
    other = system.with_({"gravity": (0.0, 0.0, -1.0)})
    assert joint_rates.JointRates.of(other) is not found
    assert "_mechanism" not in vars(pickle.loads(pickle.dumps(system)))
