"""Sensors: against differences of the dense output, closed forms, and all formulations against each other."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import gyrod as gd
from gyrod.model.sensors import SENSORS
from gyrod.quantities import CLIP, CONTACT, DISTANCE, JOINT_SENSOR, POINT, ROTATION, SECTION

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)
G = 9.81


def hose(**given) -> gd.Rod:
    options = {"segments": 6, "start": gd.Hinged(), "initial": gd.Straight((0, 0, 0), (0, 1, 0))}
    return gd.Rod("hose", section=gd.Circle(radius=5e-3), material=RUBBER, **(options | given))


def points(on: str, at) -> list[gd.PointSensor]:
    return [gd.PointSensor(f"{on} {quantity}", on, at, quantity) for quantity in POINT]


def differences(motion: gd.Motion, name: str, t: np.ndarray, h: float) -> np.ndarray:
    """Of fourth order."""
    a, b, c, d = (motion(t + k * h).sensors[name] for k in (-2, -1, 1, 2))
    return (a - 8.0 * b + 8.0 * c - d) / (12.0 * h)


def check_rates(motion: gd.Motion, pairs: dict[str, str], t: np.ndarray, h: float, rtol: float) -> None:
    """Each sensor is the time derivative of another one."""
    for value, rate in pairs.items():
        found, expected = motion(t).sensors[rate], differences(motion, value, t, h)
        assert np.abs(expected).max() > 0.0
        assert_allclose(found, expected, rtol=0, atol=rtol * np.abs(expected).max(), err_msg=rate)


PAIRS = {"{} position": "{} velocity", "{} velocity": "{} acceleration"}


@pytest.mark.parametrize("formulation", gd.FORMULATIONS)
def test_points_of_a_top_are_derivatives_of_each_other_in_all_formulations(formulation):
    J = np.array([[0.02, 0.001, 0.0], [0.001, 0.025, 0.002], [0.0, 0.002, 0.01]])
    top = gd.Body("top", 1.0, J, position=(0, -0.1, 0.2), orientation=(0.3, 0.4, 0.2), angular_velocity=(1, 2, 20))
    sensors = [
        *points("top", (0.1, -0.2, 0.3)),
        gd.RotationSensor("Omega", "top", quantity="Omega"),
        gd.RotationSensor("Omega'", "top", quantity="angular acceleration"),
    ]
    system = gd.System([top], [gd.Spherical("ground", "top", at=(0, 0, 0))], sensors=sensors)
    motion = gd.simulate(system, 0.2, formulation=formulation, method="dop853", rtol=1e-11)
    pairs = {k.format("top"): v.format("top") for k, v in PAIRS.items()} | {"Omega": "Omega'"}
    check_rates(motion, pairs, np.linspace(0.02, 0.18, 5), 1e-4, 1e-7)
    reference = gd.simulate(system, 0.2, method="dop853", rtol=1e-12)
    for name in motion.sensors.names:
        size = np.abs(reference(0.15).sensors[name]).max()
        assert_allclose(motion(0.15).sensors[name], reference(0.15).sensors[name], rtol=0, atol=1e-7 * size)


@pytest.mark.parametrize("formulation", ["nullspace-quaternion", "nullspace-directors", "absolute-quaternion"])
def test_accelerations_in_a_loop_and_with_the_index_kept(formulation):
    bar = {"mass": 1.0, "inertia": (0.1, 0.1, 0.01)}
    bodies = [
        gd.Body("left", **bar, position=(0.0, 0.0, 0.5)),
        gd.Body("right", **bar, position=(1.75, 0.0, 0.5)),
        gd.Body("top", mass=1.5, inertia=(0.01, 0.3, 0.3), position=(0.75, 0.0, 1.0)),
    ]
    pins = [("ground", "left", 0.0, 0.0), ("left", "top", 0.0, 1.0), ("top", "right", 1.5, 1.0)]
    pins.append(("right", "ground", 2.0, 0.0))
    hinges = [gd.Revolute(a, b, at=(x, 0, z), axis=(0, 1, 0), name=f"{a}-{b}") for a, b, x, z in pins]
    sensors = [*points("top", (0.2, 0.1, 0.0)), gd.JointSensor("angle", "left-top")]
    sensors += [gd.JointSensor("rate", "left-top", "rate"), gd.JointSensor("force", "left-top", "force")]
    system = gd.System(bodies, hinges, sensors=sensors)
    motion = gd.simulate(system, 0.5, formulation=formulation, rtol=1e-10, method="dop853")
    pairs = {k.format("top"): v.format("top") for k, v in PAIRS.items()} | {"angle": "rate"}
    check_rates(motion, pairs, np.linspace(0.1, 0.4, 4), 1e-3, 1e-6)
    assert_allclose(motion.sensors["force"], motion["left-top"].force, rtol=0, atol=0)
    assert motion.sensors["angle"].shape == motion.t.shape


def test_accelerations_where_accelerations_are_unknowns():
    arm = gd.Body("arm", 1.0, (0.1, 0.1, 0.1), position=(1, 0, 0))
    hinge = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0))
    system = gd.System([arm], [hinge], sensors=points("arm", (0.5, 0, 0)))
    motion = gd.simulate(system, 0.3, formulation=gd.Formulation("absolute-quaternion", index=1), rtol=1e-8)
    reference = gd.simulate(system, 0.3, rtol=1e-10)
    for quantity in POINT:
        name = f"arm {quantity}"
        assert_allclose(motion(0.25).sensors[name], reference(0.25).sensors[name], rtol=0, atol=1e-5)


@pytest.mark.parametrize("formulation", ["nullspace-quaternion", "absolute-quaternion"])
@pytest.mark.parametrize("mass", ["lumped", "blended"])
def test_points_of_a_rod_led_at_its_start(formulation, mass):
    led = gd.Hinged(at=lambda t: (0.0, 0.02 * np.sin(9.0 * t), 0.0))
    rod = hose(start=led, mass=mass)
    v = 0.02 * 9.0
    rod = rod.with_(velocity=lambda s: (0.0, v, s * s), angular_velocity=lambda s: (3.0 * s, 0.0, 2.0 * s * s))
    sensors = [*points("hose", 0.57), gd.PointSensor("held", "hose", 0.0, "acceleration")]
    sensors += [gd.RotationSensor(q, "hose", 0.57, q) for q in ("Omega", "angular acceleration")]
    system = gd.System(rods=[rod], sensors=sensors)
    motion = gd.simulate(system, 0.0015, formulation=formulation, method="dop853", rtol=1e-10)
    pairs = {k.format("hose"): v.format("hose") for k, v in PAIRS.items()} | {"Omega": "angular acceleration"}
    t = np.array([0.0004, 0.0008, 0.0013])
    check_rates(motion, pairs, t, 2e-6, 2e-5)
    led = np.stack([0 * t, -0.02 * 81.0 * np.sin(9.0 * t), 0 * t], axis=1)
    assert_allclose(motion(t).sensors["held"], led, rtol=0, atol=1e-6)


def test_the_end_of_a_rod_moves_with_the_body_that_holds_it():
    bob = gd.Body("bob", mass=0.2, inertia=(1e-4, 2e-4, 3e-4), position=(0, 1.0, -0.05), orientation=(0.2, 0.1, 0.3))
    at = bob.matrix.T @ (np.array([0.0, 1.0, 0.0]) - bob.position)
    rod = hose(start=gd.Clamped(), end=gd.Hinged("bob", at=at))
    ends = [(name, on, place) for name, on, place in (("rod", "hose", 1.0), ("body", "bob", at))]
    sensors = [gd.PointSensor(f"{n} {q}", on, place, q) for n, on, place in ends for q in POINT if q[:2] != "sp"]
    motion = gd.simulate(gd.System([bob], rods=[rod], sensors=sensors), 0.2, rtol=1e-6)
    for quantity in ("position", "velocity", "acceleration"):
        found, expected = motion.sensors[f"rod {quantity}"], motion.sensors[f"body {quantity}"]
        assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


# --- closed forms ----------------------------------------------------------------------------------------------------


def test_a_pendulum_feels_its_string():
    """A point mass on a hinge: specific force along the string is l w² + g cos, across it nothing is felt."""
    angle, length = 0.8, 1.3
    start = length * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    bob = gd.Body("bob", 2.0, (0.0, 0.0, 0.0), position=start, orientation=(0.0, -angle, 0.0))
    hinge = gd.Revolute("ground", "bob", at=(0, 0, 0), axis=(0, -1, 0), name="hinge")
    sensors = [
        gd.PointSensor("imu", "bob", quantity="specific force"),
        gd.JointSensor("angle", "hinge"),
        gd.JointSensor("rate", "hinge", "rate"),
        gd.JointSensor("pull", "hinge", "force"),
        gd.DistanceSensor("length", "ground", "bob"),
        gd.DistanceSensor("slip", "ground", "bob", quantity="rate"),
    ]
    motion = gd.simulate(gd.System([bob], [hinge], sensors=sensors), 2.0, rtol=1e-10)
    s = motion.sensors
    swing, rate = angle + s["angle"], s["rate"]
    assert_allclose(rate**2, 2.0 * G / length * (np.cos(swing) - np.cos(angle)), rtol=0, atol=1e-7)
    along = length * rate**2 + G * np.cos(swing)
    assert_allclose(s["imu"], np.stack([0 * along, 0 * along, along], axis=1), rtol=0, atol=1e-8)
    assert_allclose(np.linalg.norm(s["pull"], axis=1), 2.0 * along, rtol=0, atol=1e-8)
    assert_allclose(s["length"], length, rtol=0, atol=1e-13)
    assert_allclose(s["slip"], 0.0, rtol=0, atol=1e-13)


def test_a_centrifuge_feels_its_turning_and_gravity():
    w, r = 7.0, 0.4
    arm = gd.Body("arm", 1.0, (0.1, 0.1, 0.1), angular_velocity=(0, 0, w))
    hinge = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 0, 1), name="hinge")
    sensors = [
        gd.PointSensor("imu", "arm", at=(r, 0, 0), quantity="specific force"),
        gd.PointSensor("imu in space", "arm", at=(r, 0, 0), quantity="specific force", frame="space"),
        gd.PointSensor("v", "arm", at=(r, 0, 0), quantity="velocity", frame="body"),
        gd.RotationSensor("gyro", "arm", quantity="gyro"),
        gd.RotationSensor("matrix", "arm", quantity="matrix"),
        gd.RotationSensor("p", "arm"),
        gd.JointSensor("angle", "hinge", coordinate="angle"),
    ]
    motion = gd.simulate(gd.System([arm], [hinge], sensors=sensors), 3.0, rtol=1e-9, output=np.linspace(0, 3.0, 7))
    s, n = motion.sensors, 7
    assert_allclose(s["imu"], np.tile([-r * w**2, 0.0, G], (n, 1)), rtol=0, atol=1e-9)
    assert_allclose(s["imu in space"], np.einsum("nij,nj->ni", s["matrix"], s["imu"]), rtol=0, atol=1e-12)
    assert_allclose(s["v"], np.tile([0.0, r * w, 0.0], (n, 1)), rtol=0, atol=1e-9)
    assert_allclose(s["gyro"], np.tile([0.0, 0.0, w], (n, 1)), rtol=0, atol=1e-9)
    assert_allclose(s["angle"], w * motion.t, rtol=0, atol=1e-7)
    assert_allclose(np.abs(s["p"][:, 0]), np.abs(np.cos(0.5 * w * motion.t)), rtol=0, atol=1e-7)


def test_instruments_in_a_frame_that_turns_read_what_they_read_in_space():
    W = np.array([0.3, -0.5, 2.0])
    sensors = [
        gd.PointSensor("imu", "b", at=(0.1, 0.2, -0.3), quantity="specific force"),
        gd.RotationSensor("gyro", "b", quantity="gyro"),
    ]
    x, v, Omega = np.array([1.0, 2.0, 0.5]), np.array([0.2, -1.0, 0.4]), np.array([1.0, -2.0, 0.7])
    moving = {"mass": 2.0, "inertia": (0.3, 0.2, 0.4), "position": x}
    in_space = gd.System(
        [gd.Body("b", **moving, velocity=v, angular_velocity=Omega)],
        forces=[gd.Force("b", (1.0, 2.0, 3.0), at=(0.1, 0, 0), frame="body")], gravity=(0, 0, 0), sensors=sensors,
    )  # fmt: skip
    turning = in_space.with_(
        {"b.velocity": v - np.cross(W, x), "b.angular_velocity": Omega - W},
        forces=[*in_space.forces, gd.RotatingFrame(W)],
    )
    a, b = (gd.simulate(s, 1.0, rtol=1e-11, output=[0.0, 0.4, 1.0]) for s in (in_space, turning))
    for name in ("imu", "gyro"):
        assert_allclose(b.sensors[name], a.sensors[name], rtol=0, atol=1e-8)


def test_gravity_as_a_function_of_time_is_what_an_accelerometer_does_not_feel():
    def gravity(t):
        return (0.0, np.sin(t), -2.0 * t)

    ball = gd.Body("ball", 1.0, (1, 1, 1))
    sensors = [
        gd.PointSensor("felt", "ball", quantity="specific force"),
        gd.PointSensor("a", "ball", None, "acceleration"),
    ]
    motion = gd.simulate(gd.System([ball], gravity=gravity, sensors=sensors), 1.0, output=[0.0, 0.5, 1.0])
    assert_allclose(motion.sensors["felt"], 0.0, rtol=0, atol=1e-12)
    assert_allclose(motion.sensors["a"], [gravity(t) for t in motion.t], rtol=0, atol=1e-12)


def test_sections_of_a_hanging_hose_carry_what_hangs_below():
    """Tension at s is the weight of the part below it: linear, so that interpolation is exact."""
    rod = hose(segments=8, start=gd.Clamped(), initial=gd.Straight((0, 0, 0), (0, 0, -1)))
    places = (0.0, 0.1, 0.31, 0.5, 0.94, 1.0)
    sensors = [gd.SectionSensor(f"F{s}", "hose", s, "force") for s in places]
    sensors += [gd.SectionSensor(f"f{s}", "hose", s, "force", "space") for s in places]
    rest = gd.equilibrium(gd.System(rods=[rod], sensors=sensors))
    weight = 1100 * np.pi * 25e-6 * G
    for s in places:
        assert_allclose(rest.sensors[f"F{s}"], [0.0, 0.0, (1.0 - s) * weight], rtol=0, atol=1e-9)
        assert_allclose(rest.sensors[f"f{s}"], [0.0, 0.0, -(1.0 - s) * weight], rtol=0, atol=1e-9)


@pytest.mark.parametrize("quantity", SECTION)
def test_sections_converge_with_second_order(quantity):
    """A cantilever under its own weight: at 0.3 and at the ends, against a fine grid."""

    def read(segments: int) -> np.ndarray:
        rod = hose(segments=segments, start=gd.Clamped())
        sensors = [gd.SectionSensor(f"{s}", "hose", s, quantity, "space") for s in (0.05, 0.3, 0.55)]
        rest = gd.equilibrium(gd.System(rods=[rod], gravity=(0, 0, -0.5), sensors=sensors))
        return np.array([rest.sensors[f"{s}"] for s in (0.05, 0.3, 0.55)])

    fine = read(640)
    errors = [np.abs(read(n) - fine).max() for n in (20, 40, 80)]
    assert errors[0] / errors[2] > 10.0
    assert errors[2] < 2e-3 * np.abs(fine).max()


@pytest.mark.parametrize("ends", [("Clamped", "Free"), ("Free", "Clamped"), ("Hinged", "Hinged")])
def test_frames_of_sections_follow_an_arc(ends):
    """Free of stress it keeps its shape: frames at any place, at held and at free ends, to third order."""
    held = {"Free": gd.Free(), "Clamped": gd.Clamped(), "Hinged": gd.Hinged()}
    places = (0.0, 0.02, 0.3, 0.5, 0.61, 0.99, 1.0)
    arc = gd.Arc((0, 0, 0), (1, 0, 0), (0, 0, 1), 1.0, 1.5, orientation=None)
    sensors = [gd.RotationSensor(f"{s}", "hose", s) for s in places]
    for segments in (8, 16, 32):
        rod = hose(segments=segments, start=held[ends[0]], end=held[ends[1]], initial=arc)
        motion = gd.simulate(gd.System(rods=[rod], gravity=(0, 0, 0), sensors=sensors), 1e-6, output=[0.0])
        for s in places:
            exact = rod.initial.place([s], 1.5)[1][0]
            assert gd.rotations.distance(motion.sensors[f"{s}"][0], exact) < 5e-3 / segments**2, (segments, s)


def test_at_rest_nothing_accelerates():
    bob = gd.Body("bob", mass=0.2, inertia=(1e-4, 1e-4, 1e-4), position=(0, 1.0, -0.05))
    rod = hose(start=gd.Clamped(), end=gd.Hinged("bob", at=(0, 0, 0.05)))
    sensors = [
        *points("bob", (0.1, 0, 0)),
        *points("hose", 0.4),
        gd.RotationSensor("w", "hose", 0.4, "angular acceleration"),
    ]
    rest = gd.equilibrium(gd.System([bob], rods=[rod], sensors=sensors))
    for name in ("bob velocity", "bob acceleration", "hose velocity", "hose acceleration", "w"):
        assert_allclose(rest.sensors[name], 0.0, rtol=0, atol=0)
    assert_allclose(np.linalg.norm(rest.sensors["bob specific force"]), G, rtol=1e-12)


# --- reading ---------------------------------------------------------------------------------------------------------


def everything() -> gd.System:
    bob = gd.Body("bob", mass=0.2, inertia=(1e-4, 1e-4, 1e-4), position=(0, 1.0, -0.05))
    crank = gd.Body("crank", 1.0, (1, 1, 1), position=(3, 0, 0), angular_velocity=(0, 0, 1))
    cylinder = gd.Cylindrical("ground", "crank", at=(3, 0, 0), axis=(0, 0, 1), name="cylinder")
    rod = hose(start=gd.Clamped(), end=gd.Hinged("bob", at=(0, 0, 0.05)))
    frames = ("space", "body")
    sensors = [gd.PointSensor(f"P bob {q} {f}", "bob", (0, 0, 1), q, f) for q in POINT for f in frames]
    sensors += [gd.PointSensor(f"P hose {q} {f}", "hose", 0.5, q, f) for q in POINT for f in frames]
    sensors += [gd.RotationSensor(f"R {on} {q}", on, quantity=q) for on in ("bob", "hose") for q in ROTATION]
    sensors += [gd.JointSensor(f"J {q}", "cylinder", q) for q in JOINT_SENSOR]
    sensors += [gd.JointSensor("J slide", "cylinder", "coordinate", "displacement")]
    sensors += [gd.SectionSensor(f"S {q} {f}", "hose", 0.25, q, f) for q in SECTION for f in ("space", "body")]
    sensors += [gd.DistanceSensor(f"D {q}", "bob", "hose", None, 0.3, q) for q in DISTANCE]
    sensors += [gd.ClipSensor(f"C {q}", "p-clip", q) for q in CLIP]
    sensors += [gd.ContactSensor(f"T {q}", "floor", q) for q in CONTACT]
    floor = gd.Contact("hose", gd.Plane((0, 0, -0.4)), stiffness=1e3, friction=0.2, name="floor")
    clip = gd.Clip("hose", 0.5, kind="grommet", stiffness=10.0, name="p-clip")
    return gd.System([bob, crank], [cylinder], [rod], [clip], sensors=sensors, contacts=[floor])


def test_every_sensor_of_every_kind_reads_rows_and_single_times():
    system = everything()
    assert {type(s) for s in system.sensors} == set(SENSORS)
    motion = gd.simulate(system, 0.02, rtol=1e-4, output=[0.0, 0.01, 0.02])
    assert motion.sensors.names == tuple(motion.sensors) == tuple(s.name for s in system.sensors)
    assert len(motion.sensors) == len(system.sensors)
    units = motion.sensors.units
    assert units["J coordinate"] == "rad, m"
    assert (units["J rate"], units["J slide"], units["J torque"]) == ("rad/s, m/s", "m", "N m")
    last = motion(0.02)
    for name, value in motion.sensors.items():
        assert value.shape[0] == 3, name
        assert np.isfinite(value).all(), name
        assert units[name]
        assert last.sensors[name].shape == value.shape[1:], name
        assert_allclose(last.sensors[name], value[-1], rtol=1e-6, atol=1e-6 * max(1.0, np.abs(value).max()))
    assert motion.sensors["J coordinate"].shape == (3, 2)
    assert motion.sensors["J slide"].shape == (3,)
    again = pickle.loads(pickle.dumps(motion))
    for name in motion.sensors:
        assert np.array_equal(again.sensors[name], motion.sensors[name])
    assert "'J slide' [m]" in repr(motion.sensors)


def test_sensors_change_nothing_and_go_with_copies():
    system = everything()
    bare = system.with_(sensors=())
    a, b = (gd.simulate(s, 0.02, rtol=1e-4) for s in (system, bare))
    assert np.array_equal(a.y, b.y)
    assert system != bare
    assert pickle.loads(pickle.dumps(system)) == system
    assert system.with_(gravity=(0, 0, 0)).sensors == system.sensors
    assert gd.assemble(system).sensors == system.sensors
    loose = gd.System(
        [gd.Body("a", 1.0, (1, 1, 1), position=(1, 0, 0.1))],
        [gd.Revolute("ground", "a", at_a=(0, 0, 0), at_b=(-1, 0, 0), axis=(0, 1, 0))],
        sensors=[gd.PointSensor("p", "a")],
    )
    assert gd.assemble(loose).sensors == loose.sensors


def test_a_junction_of_rods_keeps_the_sensors():
    a = hose(end=gd.Hinged("other", at="start"))
    b = hose(start=gd.Free(), initial=gd.Straight((0, 1, 0), (0, 1, 1))).with_(name="other")
    sensors = [gd.PointSensor(f"{n} {q}", n, s, q) for n, s in (("hose", 1.0), ("other", 0.0)) for q in POINT]
    motion = gd.simulate(gd.System(rods=[a, b], sensors=sensors), 0.01, rtol=1e-4)
    for quantity in ("position", "velocity", "acceleration"):
        x, y = motion.sensors[f"hose {quantity}"], motion.sensors[f"other {quantity}"]
        assert_allclose(x, y, rtol=0, atol=1e-9 * max(np.abs(x).max(), 1.0))


JOINTS = {
    "revolute": lambda **at: gd.Revolute(axis=(0, 1, 1), **at),
    "prismatic": lambda **at: gd.Prismatic(axis=(1, 0, 1), **at),
    "cylindrical": lambda **at: gd.Cylindrical(axis=(1, 0, 1), **at),
    "planar": lambda **at: gd.Planar(axis=(0, 1, 0), **at),
    "helical": lambda **at: gd.Helical(axis=(1, 0, 1), pitch=0.1, **at),
    "universal": lambda **at: gd.Universal(axis=(0, 1, 0), axis2=(1, 0, 0), **at),
    "distance": lambda **at: gd.Distance(to=(0.4, 0.3, 0.2), **at),
}


@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize("ends", [("ground", "b"), ("b", "ground"), ("a", "b")])
def test_joints_read_one_by_one_and_all_at_once_agree(kind, ends):
    """A single time takes a shorter way through the same formulas."""
    a = gd.Body("a", 1.0, (1, 2, 3), position=(-0.5, 0, 0), orientation=(0.3, 0.2, 0.1))
    b = gd.Body("b", 1.0, (0.1, 0.2, 0.25), position=(0.5, 0.3, 0.1), orientation=(0.5, -0.2, 0.1))
    joint = JOINTS[kind](a=ends[0], b=ends[1], at=(0.1, 0.0, 0.0), name="joint")
    sensors = [gd.JointSensor("q", "joint"), gd.JointSensor("r", "joint", "rate")]
    push = gd.Torque("b", (0.3, 0.5, -0.4)), gd.Force("b", (1.0, -2.0, 0.5))
    system = gd.System([a, b], [joint], forces=push, sensors=sensors)
    motion = gd.simulate(system, 0.5, rtol=1e-8, output=np.linspace(0.0, 0.5, 6))
    sim = gd.stepper(system, rtol=1e-10)
    for k in range(1, 6):
        one = motion(motion.t[k]).sensors
        sim.step(0.1)
        for name in ("q", "r"):
            assert_allclose(one[name], motion.sensors[name][k], rtol=0, atol=1e-6)
            assert_allclose(sim.sensors[name], motion.sensors[name][k], rtol=0, atol=1e-5)
    assert_allclose(motion.sensors["q"], np.squeeze(motion["joint"].coordinates), rtol=0, atol=0)
    assert_allclose(motion.sensors["r"], np.squeeze(motion["joint"].rates), rtol=0, atol=0)


# --- bad input -------------------------------------------------------------------------------------------------------

BODY = gd.Body("bob", 1.0, (1, 1, 1))

WRONG = [
    ([gd.PointSensor("p", "bop")], "on = 'bop' is unknown; it can be 'bob', 'hose'. Did you mean 'bob'?"),
    ([gd.PointSensor("p", "bob", at=0.5)], "at = 0.5 is a fraction of a rod, but 'bob' is a body"),
    ([gd.PointSensor("p", "hose", at=(0, 0, 1))], "at = (0, 0, 1) is a point, but 'hose' is a rod"),
    ([gd.PointSensor("p", "hose")], "at is missing, but 'hose' is a rod"),
    ([gd.RotationSensor("p", "bob", 0.5)], "at = 0.5 is a fraction of a rod, but 'bob' is a body; leave at out."),
    ([gd.RotationSensor("p", "hoes")], "Did you mean 'hose'?"),
    ([gd.JointSensor("p", "hinge")], "joint = 'hinge' is unknown; it can be 'ball'."),
    ([gd.JointSensor("p", "ball")], "'ball' is a Spherical, which has no coordinates"),
    ([gd.JointSensor("p", "ball", coordinate="angle")], "coordinate = 'angle' is unknown; of 'ball' it can be nothing"),
    ([gd.SectionSensor("p", "bob", 0.5)], "rod = 'bob' is unknown; it can be 'hose'."),
    ([gd.DistanceSensor("p", "ground", "hose")], "at_b is missing, but 'hose' is a rod"),
    ([gd.DistanceSensor("p", "ground", "bob", at_a=0.5)], "at_a = 0.5 is a fraction of a rod, but ground is not a rod"),
    ([gd.PointSensor("bob", "bob")], "name = 'bob' is borne by bodies[0] and sensors[0]"),
    ([gd.PointSensor("p", "bob"), gd.RotationSensor("p", "bob")], "name = 'p' is borne by sensors[0] and sensors[1]"),
    ([3], "sensors[0] must be a sensor such as PointSensor, got 3."),
    (3, "sensors must be a list"),
]  # fmt: skip


@pytest.mark.parametrize(("sensors", "sentence"), WRONG, ids=[s for _, s in WRONG])
def test_what_a_system_does_not_have_is_told(sensors, sentence):
    ball = gd.Spherical("ground", "bob", at=(0, 0, 1), name="ball")
    with pytest.raises(gd.ModelError) as error:
        gd.System([BODY], [ball], [hose()], sensors=sensors)
    assert sentence in str(error.value)


def test_all_problems_come_at_once():
    with pytest.raises(gd.ModelError) as error:
        gd.System([BODY], sensors=[sensor for sensors, _ in WRONG[:12] for sensor in sensors])
    assert len(error.value.problems) >= 12
    with pytest.raises(gd.ModelError) as error:
        gd.PointSensor("", 3, at=(1, 2), quantity="speed", frame="world")
    assert len(error.value.problems) == 5


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: gd.PointSensor("p", "ground"), "on must be the name of a body or a rod, got 'ground'."),
        (lambda: gd.PointSensor("p", "b", quantity="acelleration"), "Did you mean 'acceleration'?"),
        (lambda: gd.JointSensor("p", "j", "force", "angle"), "coordinate = 'angle' goes with quantity"),
        (lambda: gd.SectionSensor("p", "r", 1.5), "at = 1.5 must be a fraction of the length"),
    ],
)
def test_a_sensor_that_cannot_be_is_told(make, sentence):
    with pytest.raises(gd.ModelError) as error:
        make()
    assert sentence in str(error.value)


def test_unknown_names_are_told_when_read():
    ball = gd.Body("ball", 1.0, (1, 1, 1))
    motion = gd.simulate(gd.System([ball], sensors=[gd.PointSensor("imu", "ball")]), 0.1)
    with pytest.raises(ValueError, match=r"name = 'imo' is unknown; it can be 'imu'. Did you mean 'imu'\?"):
        motion.sensors["imo"]
    with pytest.raises(ValueError, match="the system has no sensors"):
        gd.simulate(gd.System([ball]), 0.1).sensors["imu"]
    assert "imu" in motion.sensors
    assert "imo" not in motion.sensors
    assert motion.sensors.get("imo") is motion.clips.get("p-clip") is motion.contacts.get("floor") is None
    assert motion.sensors.get("imu") is motion.sensors["imu"]


junk = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.lists(st.floats(), max_size=4),
    st.sampled_from(["bob", "ground", "position", "space", "body", "rate", "force", (0, 0, 1), 0.5]),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(SENSORS), values=st.lists(junk, min_size=2, max_size=4))
def test_junk_is_a_model_error_or_a_sensor(kind, values):
    values = values[: {gd.DistanceSensor: 5, gd.ClipSensor: 3, gd.ContactSensor: 3}.get(kind, 4)]
    told: tuple[str, ...] = ()
    try:
        sensor = kind(*values) if kind not in (gd.SectionSensor, gd.DistanceSensor) else kind(*values, "bob")
        gd.System([BODY], sensors=[sensor])
    except gd.ModelError as error:
        told = error.problems
    assert all(": " in sentence and sentence.endswith((".", "?")) for sentence in told)
