"""The model: what is accepted, how it is normalised, and the sentences that bad input gets."""

import ctypes
import pickle
import re
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.spatial.transform import Rotation
from sentences import made_or_error, problems, the_problem

from gyrod import rotations as rot
from gyrod.model import (
    FORCES,
    JOINTS,
    Body,
    BodyState,
    Bushing,
    CForce,
    Cylindrical,
    Distance,
    Fixed,
    Force,
    ForceLaw,
    Helical,
    Joint,
    ModelError,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    SpringDamper,
    System,
    Torque,
    Universal,
    UserForce,
)
from gyrod.model.errors import LARGEST

VALID_BODY = {"name": "top", "mass": 2.0, "inertia": (1.0, 1.2, 0.5)}
C_FORCE = ctypes.CFUNCTYPE(
    None, ctypes.c_double, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double), ctypes.c_void_p
)

# Every joint and force with a valid call.
PLACE = {"a": "ground", "b": "top", "at": (0, 0, 0)}
VALID = {
    Fixed: PLACE,
    Spherical: PLACE,
    Revolute: {**PLACE, "axis": (1, 2, 3), "stiffness": 2.0, "limits": (None, 1.0)},
    Prismatic: {**PLACE, "axis": (1, 2, 3), "drive": 0.0},
    Cylindrical: {**PLACE, "axis": (1, 2, 3), "damping": (1.0, 2.0)},
    Planar: {**PLACE, "axis": (1, 2, 3)},
    Helical: {**PLACE, "axis": (1, 2, 3), "pitch": -0.01},
    Universal: {**PLACE, "axis": (1, 2, 3), "axis2": (3, 0, -1)},
    Distance: {**PLACE, "to": (0, 0, 1)},
    Force: {"body": "top", "force": (1, 2, 3)},
    Torque: {"body": "top", "torque": (1, 2, 3)},
    SpringDamper: {"a": "ground", "b": "top", "at_a": (0, 0, 1), "stiffness": 3.0},
    Bushing: {"a": "ground", "b": "top", "stiffness": 3.0},
    UserForce: {"body": "top", "function": lambda t, state: np.zeros(6)},
    CForce: {"body": "top", "address": 4096},
}


def body(name="top", **changes):
    return Body(**{**VALID_BODY, "name": name, **changes})


# --- errors ----------------------------------------------------------------------------------------------------------


def test_an_error_lists_its_problems_and_survives_pickling():
    assert str(ModelError("One.")) == "One."
    error = pickle.loads(pickle.dumps(ModelError(["One.", "Two.", "Three."])))
    assert error.problems == ("One.", "Two.", "Three.")
    assert str(error) == "3 problems:\n- One.\n- Two.\n- Three."
    assert isinstance(error, ValueError)


# --- bodies ----------------------------------------------------------------------------------------------------------


def test_a_body_is_normalised_and_frozen():
    b = Body("top", 2, (1, 1, 0.5), [1, 2, 3], None, (4, 5, 6), (7, 8, 9))
    assert isinstance(b.mass, float)
    np.testing.assert_array_equal(b.inertia, np.diag([1, 1, 0.5]))
    np.testing.assert_array_equal(b.orientation, [1, 0, 0, 0])
    np.testing.assert_array_equal(b.matrix, np.eye(3))
    for field, value in {"position": [1, 2, 3], "velocity": [4, 5, 6], "angular_velocity": [7, 8, 9]}.items():
        np.testing.assert_array_equal(getattr(b, field), value)
    for field in ("inertia", "position", "orientation", "velocity", "angular_velocity"):
        assert getattr(b, field).dtype == float
        with pytest.raises(ValueError, match="read-only"):
            getattr(b, field)[0] = 1.0
    with pytest.raises(FrozenInstanceError):
        b.mass = 3.0


def test_a_body_does_not_share_memory_with_its_arguments():
    x = np.array([1.0, 2.0, 3.0])
    b = body(position=x)
    x[0] = 9.0
    assert b.position[0] == 1.0


def test_bodies_are_equal_by_value():
    assert body() == body()
    assert hash(body()) == hash(body())
    assert body() != body(mass=3.0)
    assert body() != body(position=(0, 0, 1))
    assert body() != "top"
    assert replace(body(), mass=3.0) == body(mass=3.0)
    assert pickle.loads(pickle.dumps(body())) == body()


P = np.array([0.5, -0.1, 0.7, 0.5]) / np.linalg.norm([0.5, -0.1, 0.7, 0.5])


@pytest.mark.parametrize(
    "given_as",
    [
        P,
        list(P * (1 + 9e-7)),
        rot.matrix_from_quaternion(P),
        rot.matrix_from_quaternion(P).round(6),
        Rotation.from_quat(np.roll(P, -1)),
        rot.log(P),
        ("313", rot.euler_from_quaternion(P, "313")),
        ["zyx", tuple(rot.euler_from_quaternion(P, "zyx"))],
    ],
    ids=["quaternion", "near", "matrix", "rounded", "scipy", "vector", "313", "zyx"],
)
def test_orientation_in_every_form(given_as):
    p = body(orientation=given_as).orientation
    assert p.shape == (4,)
    assert abs(np.linalg.norm(p) - 1) < 4e-16
    assert rot.distance(p, P) < 2e-6


@pytest.mark.parametrize("direction", [(0, 0, 2), (0, 0, -1e-30), (3, -4, 1), (1e20, 0, 0)])
def test_orientation_by_the_direction_of_its_third_axis(direction):
    d1, d2, d3 = body(orientation=("along", direction)).matrix.T
    np.testing.assert_allclose(d3, np.array(direction) / np.linalg.norm(direction), atol=1e-15)
    assert abs(d2[2]) < 1e-15  # d1 is in the vertical plane of the direction, upwards
    assert d1[2] > 0.0 or abs(d3[2]) == 1.0


@pytest.mark.parametrize(
    ("given_as", "words"),
    [
        ((1, 0, 0, 2e-3), "norm 1.000002"),
        (("along", (0, 0, 0)), "orientation[1] must not be zero"),
        (("along", 3), "orientation[1] must be three numbers, got 3"),
        ((0, 0, 0, 0), "norm 0"),
        ((1e40, 0, 0, 0), "norm 1e+40"),
        (np.diag([1.0, 1.0, -1.0]), "reflection"),
        (np.eye(3) * 1.001, "not a rotation matrix"),
        (np.eye(3) * 1e40, "not a rotation matrix"),
        (Rotation.identity(2), "one rotation, got 2"),
        (Rotation, "orientation must be"),
        (("314", (1, 2, 3)), "sequence = '314' is unknown"),
        (("alon", (0, 0, 1)), "Did you mean 'along'"),
        (("313", (1, 2)), "orientation[1] must be three numbers"),
        (("313", (1, np.nan, 2)), "orientation[1][1] = nan is not finite"),
        (((1, 2, 3), "313"), "(sequence, angles)"),
        ((0, 0, 1e9), "angles in rad"),
        ((1, 2), "(sequence, angles)"),
        ((1, 2, 3, 4, 5), "of shape (5,)"),
        (np.zeros((2, 4)), "of shape (2, 4)"),
        ("313", "orientation must be three numbers or four numbers or a 3x3 matrix, got '313'"),
        ((np.nan, 0, 0, 1), "orientation[0] = nan"),
    ],
)
def test_orientation_refused(given_as, words):
    assert words in the_problem(body, orientation=given_as)


@pytest.mark.parametrize(
    "inertia",
    [
        (0, 0, 0),
        (0, 1, 1),
        (1, 2, 3),
        (1, 1, 2 * (1 + 1e-10)),
        (1e-300, 1e-300, 1e-300),
        4 * np.eye(3) - 1,
    ],
)
def test_inertia_accepted(inertia):
    J = body(inertia=inertia).inertia
    np.testing.assert_array_equal(J, J.T)
    np.testing.assert_allclose(J, np.diag(inertia) if np.ndim(inertia) == 1 else inertia)


def test_inertia_is_symmetrised():
    J = np.diag([1.0, 1.0, 1.0])
    J[0, 1] = 1e-10
    assert body(inertia=J).inertia[1, 0] == 5e-11


@pytest.mark.parametrize(
    ("inertia", "words"),
    [
        ((1, 1, 2.1), "inertia = (1, 1, 2.1) breaks the triangle inequality; its principal moments are (1, 1, 2.1)"),
        ((-1, 1, 1), "negative principal moment"),
        ([[1, 2, 0], [2, 1, 0], [0, 0, 1]], "negative principal moment; its principal moments are (-1, 1, 3)"),
        ([[1, 0.1, 0], [0, 1, 0], [0, 0, 1]], "symmetric, got inertia[0, 1] = 0.1 and inertia[1, 0] = 0"),
        ((1, 1), "inertia must be three numbers or a 3x3 matrix, got (1, 1) of shape (2,)"),
        (1.0, "of shape ()"),
        (None, "got None"),
        ((1, np.inf, 1), "inertia[1] = inf is not finite"),
        ((1, None, 1), "inertia must be three numbers"),
    ],
)
def test_inertia_refused(inertia, words):
    sentence = the_problem(body, inertia=inertia)
    assert sentence.startswith("Body 'top': ")
    assert words in sentence


@pytest.mark.parametrize(
    "mass", [0, -1.0, np.nan, np.inf, 1.1 * LARGEST, 10**400, "2", None, True, 1j, [1.0], np.array(1j)]
)
def test_mass_refused(mass):
    assert the_problem(body, mass=mass).startswith("Body 'top': mass ")


@given(
    kind=st.sampled_from(JOINTS), power=st.floats(50.001, 308.0), axis=st.integers(0, 2), sign=st.sampled_from([-1, 1])
)
def test_places_too_far_away_are_refused(kind, power, axis, sign):
    """The core multiplies squared lengths with each other, and with masses: at 1e80 it wrote outside of its memory."""
    assert np.isfinite(LARGEST**6)
    at = [0.0, 0.0, 0.0]
    at[axis] = sign * 10.0**power
    sentence = the_problem(kind, **{**VALID[kind], "at": at})
    assert re.search(r"at = \[.*\] is too large; numbers up to 1e\+50 are allowed\.$", sentence)
    at[axis] = sign * LARGEST
    assert kind(**{**VALID[kind], "at": at}).at[axis] == sign * LARGEST


@pytest.mark.parametrize("name", ["", "  ", "ground", "a/b", None, 3])
def test_name_refused(name):
    assert f"name = {name!r} is not a name" in the_problem(body, name)


def test_all_problems_of_a_body_at_once():
    found = problems(
        Body,
        "ground",
        mass=-1,
        inertia=(1, 1, 5),
        position=(0, 0),
        orientation=(1, 1, 0, 0),
        velocity=(0, np.nan, 0),
        angular_velocity="fast",
        shape="round",
        color="colourless",
    )
    assert len(found) == 9
    for field, sentence in zip(fields(Body), found, strict=True):
        assert field.name in sentence
        assert sentence.startswith("Body 'ground': ")


def in_range(lo, hi):
    return st.floats(lo, hi, allow_nan=False)


vectors = arrays.arrays(float, 3, elements=in_range(-1e3, 1e3))
unit_quaternions = (
    arrays.arrays(float, 4, elements=in_range(-1, 1)).filter(lambda p: np.linalg.norm(p) > 0.1).map(rot.normalize)
)


@st.composite
def moments(draw):
    """Moments of a cuboid of mass points: always valid."""
    a, b, c = (draw(in_range(1e-6, 1e3)) for _ in range(3))
    return np.array([b + c, a + c, a + b]) * 10.0 ** draw(st.integers(-12, 12))


@given(moments(), unit_quaternions, in_range(1e-9, 1e9), unit_quaternions, vectors, vectors, vectors)
def test_valid_bodies_are_accepted_and_inertia_may_be_turned(m, turn, mass, p, x, v, w):
    R = rot.matrix_from_quaternion(turn)
    b = Body("b", mass, R @ np.diag(m) @ R.T, x, p, v, w)
    np.testing.assert_allclose(np.linalg.eigvalsh(b.inertia), np.sort(m), rtol=0, atol=1e-13 * m.max())
    assert System([b]).body("b") is b
    np.testing.assert_array_equal(System([b]).initial_velocities["b"], v)


@given(moments(), unit_quaternions, st.permutations(range(3)), in_range(1e-6, 10.0))
def test_a_moment_above_the_sum_of_the_others_is_refused_in_any_axes(m, turn, order, excess):
    bad = np.array([m[0], m[1], (m[0] + m[1]) * (1 + excess)])[list(order)]
    R = rot.matrix_from_quaternion(turn)
    J = R @ np.diag(bad) @ R.T
    assert "triangle inequality" in the_problem(body, inertia=0.5 * (J + J.T))


garbage = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.lists(st.one_of(st.floats(), st.none(), st.text(max_size=2), st.lists(st.floats(), max_size=3)), max_size=5),
    st.tuples(st.text(max_size=3), st.lists(st.floats(), max_size=4)),
    st.dictionaries(st.text(max_size=2), st.floats(), max_size=2),
    arrays.arrays(st.sampled_from([float, complex, int, bool]), st.sampled_from([(), (3,), (4,), (3, 3), (0,)])),
    st.sampled_from([object(), Body, Rotation, np.eye(3) * np.nan, np.array(["a"]), np.float32(1), 10**400, len]),
)


@given(st.data())
def test_garbage_gives_a_model_error_and_nothing_else(data):
    kind, valid = data.draw(st.sampled_from([(Body, VALID_BODY), *VALID.items()]))
    names = [f.name for f in fields(kind)]
    changes = data.draw(st.dictionaries(st.sampled_from(names), garbage, min_size=1, max_size=3))
    made = made_or_error(kind, {**valid, **changes})
    if isinstance(made, ModelError):
        assert 1 <= len(made.problems) <= len(changes)
        for sentence in made.problems:
            assert kind.__name__ in sentence
            assert any(name in sentence for name in changes)
        return
    for name in names:
        value = getattr(made, name)
        if isinstance(value, (float, np.ndarray)):
            assert np.isfinite(value).all()


@given(st.dictionaries(st.sampled_from([f.name for f in fields(System)]), garbage, min_size=1))
def test_garbage_for_a_system(changes):
    made = made_or_error(System, changes)
    assert isinstance(made, System) or made.problems


# --- joints and forces -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*JOINTS, *FORCES])
def test_every_joint_and_force(kind):
    made = kind(**VALID[kind])
    assert isinstance(made, (Joint, ForceLaw))
    assert "top" in made.bodies
    assert made == kind(**VALID[kind])
    assert made == replace(made)
    assert made != replace(made, name="other")
    assert replace(made, name="other").label == f"{kind.__name__} 'other'"
    assert made.label.startswith(f"{kind.__name__}(")
    with pytest.raises(FrozenInstanceError):
        made.name = "x"
    for f in fields(kind):
        value = getattr(made, f.name)
        assert not (isinstance(value, np.ndarray) and value.flags.writeable)
    field = {"joints" if isinstance(made, Joint) else "forces": [made]}
    assert System([body()], **field)
    sentence = the_problem(System, [body("tops")], **field)
    assert made.label in sentence
    assert "= 'top' is unknown; it can be " in sentence
    assert sentence.endswith("Did you mean 'tops'?")


@pytest.mark.parametrize("kind", [Joint, ForceLaw])
def test_bases_are_abstract(kind):
    with pytest.raises(TypeError, match="abstract"):
        kind(*(["ground", "top"] if kind is Joint else []), **({"at": (0, 0, 0)} if kind is Joint else {}))


def test_forces_are_normalised():
    f = Force("top", (1, 2, 3), name="wind")
    assert (f.frame, f.at.tolist(), f.force.tolist()) == ("space", [0, 0, 0], [1, 2, 3])
    assert Torque("top", (1, 2, 3)).frame == "body"
    assert callable(Force("top", force=lambda t: (0, 0, t)).force)
    s = SpringDamper("a", "b", stiffness=2)
    assert (s.stiffness, s.damping, s.length) == (2.0, 0.0, None)
    b = Bushing("a", "b", stiffness=2, damping=(1, 2, 3))
    assert (b.stiffness.tolist(), b.damping.tolist()) == ([2, 2, 2], [1, 2, 3])


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        (Spherical, {"at": (0, np.nan, 0)}, "Spherical('ground', 'top'): at[1] = nan is not finite"),
        (Spherical, {"a": 3}, "a must be the name of a body, got 3"),
        (Spherical, {"name": "ground"}, "name = 'ground' is not a name"),
        (Force, {"force": (1, 2)}, "Force('top'): force must be three numbers, got (1, 2)"),
        (Force, {"frame": "Body"}, "frame = 'Body' is unknown; it can be 'body', 'space'. Did you mean 'body'?"),
        (Torque, {"torque": (1, 2, np.inf), "name": "motor"}, "Torque 'motor': torque[2] = inf is not finite"),
        (SpringDamper, {"stiffness": -1}, "stiffness must not be negative, got -1"),
        (SpringDamper, {"damping": np.nan}, "damping = nan is not finite"),
        (SpringDamper, {"length": -1}, "length must not be negative"),
        (Bushing, {"stiffness": (1, 2, -3)}, "stiffness must not be negative, got (1, 2, -3)"),
        (UserForce, {"function": 3}, "function must be a function of time and state, got 3"),
        (UserForce, {"derivative": 3}, "derivative must be a function"),
        (CForce, {"address": 0}, "address must be a C function"),
        (CForce, {"address": print}, "address must be a C function"),
        (CForce, {"address": 1 << 64}, "address must be a C function"),
        (CForce, {"address": C_FORCE()}, "address must be a C function"),
        (CForce, {"derivative": "x"}, "derivative must be a C function"),
        (CForce, {"context": "x"}, "context must be an address"),
    ],
)
def test_joints_and_forces_refused(kind, changes, words):
    assert words in the_problem(kind, **{**VALID[kind], **changes})


def test_body_state_knows_its_quaternion():
    state = BodyState(np.zeros(3), rot.matrix_from_quaternion(P), np.zeros(3), np.ones(3))
    np.testing.assert_allclose(state.quaternion, P, atol=1e-15)
    assert state.quaternion is state.quaternion


def test_c_functions_by_address_and_kept_alive():
    @C_FORCE
    def lift(t, _state, wrench, _context):
        wrench[2] = 7.0 * t

    made = replace(CForce("top", lift, derivative=lift), name="lift")
    assert made.address == made.derivative == ctypes.cast(lift, ctypes.c_void_p).value
    assert (CForce("top", 4096).context, CForce("top", 4096).derivative) == (0, 0)
    del lift
    wrench = (ctypes.c_double * 6)()
    C_FORCE(made.address)(2.0, None, wrench, None)
    assert wrench[2] == 14.0

    class Compiled:  # as numba.cfunc
        address = 4096

    assert CForce("top", Compiled()).address == 4096


def test_context_of_a_c_function():
    data, block = np.zeros(3), (ctypes.c_double * 3)()
    assert CForce("top", 4096, context=data).context == data.ctypes.data
    assert CForce("top", 4096, context=block).context == ctypes.addressof(block)
    assert CForce("top", 4096, context=ctypes.pointer(block)).context == ctypes.addressof(block)
    assert CForce("top", 4096, context=ctypes.c_void_p(8192)).context == 8192
    assert CForce("top", 4096, context=8192).context == 8192


# --- systems ---------------------------------------------------------------------------------------------------------

PIN = Spherical("ground", "top", at=(0, 0, 0))


def test_a_system():
    b = body(position=(0, 0, 1), angular_velocity=(0.1, 0, 50))
    system = System([b, body("bob")], joints=[PIN], forces=(f for f in [Force("bob", (0, 0, 1))]))
    assert system.names == ("top", "bob")
    assert system.body("top") is b
    assert list(system.fixed_points) == ["top"]
    np.testing.assert_array_equal(system.fixed_points["top"], [0, 0, 0])
    np.testing.assert_array_equal(system.gravity, [0, 0, -9.81])
    np.testing.assert_allclose(system.initial_velocities["top"], [0, -0.1, 0])
    assert len(system.forces) == 1
    assert system.rods == ()
    assert system == System([b, body("bob")], joints=[PIN], forces=[Force("bob", (0, 0, 1))])
    assert system != replace(system, gravity=(0, 0, 0))
    with pytest.raises(ValueError, match=re.escape("name = 'bobs' is unknown; it can be 'top', 'bob'. Did you mean")):
        system.body("bobs")
    with pytest.raises(FrozenInstanceError):
        system.gravity = (0, 0, 0)


def test_an_empty_system_is_one():
    assert System().names == ()
    assert System().fixed_points == {}


def test_the_order_of_ground_and_body_does_not_matter():
    other = Spherical("top", "ground", at=(0, 0, 0))
    assert list(System([body()], [other]).fixed_points) == ["top"]


@given(unit_quaternions, vectors, vectors, vectors)
def test_velocity_of_a_pinned_body(p, x, at, Omega):
    joint = Spherical("ground", "top", at=at)
    b = body(position=x, orientation=p, angular_velocity=Omega)
    v = System([b], [joint]).initial_velocities["top"]
    np.testing.assert_allclose(v, np.cross(rot.rotate(p, Omega), x - at), atol=1e-9)
    again = System([replace(b, velocity=v)], [joint])
    np.testing.assert_array_equal(again.initial_velocities["top"], v)
    wrong = v + np.array([1e-6, 0, 0]) * max(1.0, np.linalg.norm(v))
    again.check_consistent()
    sentence = the_problem(System([replace(b, velocity=wrong)], [joint]).check_consistent)
    assert sentence.startswith("Spherical('ground', 'top'): velocity gap at the start")
    assert "velocity of 'top' (left out, velocity follows from the rotation)" in sentence


def test_points_and_lengths():
    a = body("a", position=(1, 0, 0), orientation=(0, 0, np.pi / 2))
    spring = SpringDamper("ground", "a", (1, 0, 0), (2, 0, 0), stiffness=1)
    system = System([a], forces=[spring])
    np.testing.assert_allclose(system.point("a", (2, 0, 0)), [1, 2, 0], atol=1e-15)
    np.testing.assert_array_equal(system.point("ground", (2, 0, 0)), [2, 0, 0])
    assert abs(system.spring_length(spring) - 2.0) < 1e-15
    assert system.spring_length(replace(spring, length=0.3)) == 0.3


def test_functions_as_forces():
    def push(_t, _state):
        return np.zeros(6)

    sentence = the_problem(System, [body()], forces=[push])
    assert "forces[0] = <function" in sentence
    assert "UserForce(body, function)" in sentence
    push.body = "top"
    assert System([body()], forces=[push]).forces == (UserForce("top", push),)
    push.body = 3
    assert "forces[0]" in the_problem(System, [body()], forces=[push])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"bodies": body()}, "System: bodies must be a list, each member a Body"),
        ({"bodies": "top"}, "bodies must be a list"),
        ({"bodies": [body(), "top"]}, "bodies[1] must be a Body, got 'top'"),
        ({"joints": [body()]}, "joints[0] must be a joint such as Spherical, got Body("),
        ({"forces": [body()]}, "forces[0] must be a force such as Force, got Body("),
        ({"forces": [Force]}, "forces[0] must be a force such as Force, got <class"),
        ({"forces": 3}, "forces must be a list"),
        ({"rods": ["hose"]}, "rods[0] must be a Rod, got 'hose'"),
        ({"gravity": 9.81}, "gravity must be three numbers, got 9.81"),
        ({"gravity": (0, 0, np.nan)}, "gravity[2] = nan is not finite"),
        ({"bodies": [body(), body()]}, "name = 'top' is borne by bodies[0] and bodies[1]"),
        ({"bodies": [body()], "joints": [replace(PIN, name="top")]}, "'top' is borne by bodies[0] and joints[0]"),
        ({"joints": [PIN]}, "joints[0], Spherical('ground', 'top'): b = 'top' is unknown; it can be 'ground'."),
        ({"forces": [Force("top", (0, 0, 1))]}, "body = 'top' is unknown; the system has no bodies"),
        ({"bodies": [body()], "forces": [Force("ground", (0, 0, 1))]}, "body = 'ground' is unknown; it can be 'top'"),
        ({"joints": [Spherical("ground", "ground", at=(0, 0, 0))]}, "connects 'ground' with itself"),
        ({"bodies": [body()], "forces": [SpringDamper("top", "top", stiffness=1)]}, "connects 'top' with itself"),
        ({"bodies": [body()], "forces": [Bushing("ground", "ground", stiffness=1)]}, "connects 'ground' with itself"),
        (
            {"bodies": [body(position=(1, 2, 3))], "forces": [SpringDamper("ground", "top", (1, 2, 3), stiffness=1)]},
            "both lie at (1, 2, 3) in space, so it has no direction",
        ),
        ({"bodies": [body()], "forces": [SpringDamper("ground", "top", stiffness=1, length=2)]}, "no direction"),
        ({"bodies": [body(inertia=(0, 0, 0))]}, "Body 'top': inertia about the centre of mass is singular"),
        ({"bodies": [body(inertia=(0, 1, 1))]}, "a joint that makes a smaller inertia meaningful"),
        (
            {"bodies": [body(inertia=(0, 0, 0), position=(0, 0, 1))], "joints": [PIN]},
            "inertia about its fixed point at = (0, 0, 0) is singular",
        ),
    ],
)
def test_system_refused(arguments, words):
    assert words in the_problem(System, **arguments)


def test_a_joint_makes_a_thin_rod_meaningful():
    rod = body(inertia=(0, 1, 1), position=(0, 0, 1))
    assert System([rod], [PIN])


def test_a_spring_of_length_zero_needs_no_direction():
    assert System([body()], forces=[SpringDamper("ground", "top", stiffness=1, length=0)])
    assert System([body()], forces=[Bushing("ground", "top", stiffness=1)])


def test_a_long_list_of_names_is_cut():
    sentence = the_problem(System, [body(f"b{i}") for i in range(500)], forces=[Force("b4999", (0, 0, 1))])
    assert "and 488 more" in sentence
    assert sentence.endswith("Did you mean 'b499'?")


def test_all_problems_of_a_system_at_once():
    with pytest.raises(ModelError) as caught:
        System(
            bodies=[body("a"), body("a"), body("b", velocity=(1, 0, 0)), body("point", inertia=(0, 0, 0)), 5],
            joints=[Spherical("ground", "b", at=(0, 0, 0)), Spherical("ground", "c", at=(0, 0, 0))],
            rods=["hose"],
            forces=[Force("pint", (0, 0, 1)), SpringDamper("a", "b", stiffness=1), print],
            gravity=(0, 0, np.nan),
        )
    expected = [
        "bodies[4] must be a Body, got 5",
        "forces[2] = <built-in function print>",
        "gravity[2] = nan",
        "rods[0] must be a Rod, got 'hose'",
        "name = 'a' is borne by",
        "b = 'c' is unknown",
        "Did you mean 'point'?",
        "Body 'point': inertia",
        "no direction",
    ]
    found = caught.value.problems
    assert len(found) == len(expected)
    for words in expected:
        assert sum(words in sentence for sentence in found) == 1, words
    assert str(caught.value).startswith("9 problems:\n- System: ")
