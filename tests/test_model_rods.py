"""Rods as a model: sections, shapes, ends, loads against closed forms, and the sentences that bad input gets."""

import math
import pickle
import re
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.spatial.transform import Rotation
from sentences import made_or_error, problems, raising, the_problem

from gyrod import rotations as rot
from gyrod.model import (
    CURVATURES,
    ENDS,
    INERTIAS,
    LOADS,
    SECTIONS,
    SHAPES,
    STRAINS,
    Arc,
    Bent,
    Body,
    Circle,
    Clamped,
    CrossSection,
    Curve,
    Damping,
    Drag,
    Flow,
    Force,
    Free,
    Guided,
    Hinged,
    Laid,
    Material,
    ModelError,
    Pinned,
    Rectangle,
    Ring,
    Rod,
    RodLoad,
    Section,
    Straight,
    System,
)
from gyrod.model.errors import Derived

RUBBER = Material(young=5e6, poisson=0.5, density=1100.0)
HOSE = {"name": "hose", "length": 1.0, "segments": 10, "section": Circle(radius=5e-3), "material": RUBBER}
P = np.array([0.5, -0.1, 0.7, 0.5]) / np.linalg.norm([0.5, -0.1, 0.7, 0.5])
S = np.linspace(0.0, 1.0, 21)


def helix(s):
    return np.cos(9.0 * s), np.sin(9.0 * s), 2.7 * s


HELIX = 9.0 * np.hypot(1.0, 0.3)
HELIX_SAMPLES = np.array([helix(s) for s in np.linspace(0.0, 1.0, 60)])


def tilted(s):
    """Frames that do not follow the tangent."""
    return rot.exp((0.1, 0.2, 3.0 * s))


# Every section, shape, end and load with a valid call; the functions have names, so that pickle finds them.
VALID_SECTIONS = {
    Circle: {"radius": 0.01},
    Ring: {"radius": 0.02, "inner": 0.01},
    Rectangle: {"width": 0.01, "height": 0.02},
    Section: {"area": 1e-4, "I1": 1e-9, "I2": 2e-9},
}
VALID_SHAPES = {
    Straight: {"start": (0, 0, 0), "end": (0, 1, 0)},
    Arc: {"start": (1, 2, 3), "tangent": (0, 1, 0), "normal": (0, 0, 2), "radius": 0.5, "angle": 3.0},
    Curve: {"position": helix},
    Bent: {"curvature": (0.5, 2.0, -1.0)},
    Laid: {
        "fractions": np.linspace(0, 1, 81) ** 1.1,
        "position": (placed := Bent((0.5, 2.0, -1.0)).place(np.linspace(0, 1, 81) ** 1.1, 1.0))[0],
        "orientation": placed[1],
    },
}
VALID_ENDS = {
    Free: {},
    Hinged: {"body": "ground", "at": (0, 0, 0)},
    Clamped: {"body": "ground", "at": (0, 0, 0), "frame": (1, 0, 0, 0)},
    Guided: {"frame": (1, 0, 0, 0)},
}
VALID_LOADS = {RodLoad: {"rod": "hose", "force": (1, 2, 3)}, Drag: {"rod": "hose", "coefficient": 0.1}}
VALID_LOADS[Flow] = {"rod": "hose", "velocity": (1, 2, 3), "coefficient": 0.1}
VALID_OTHERS = {Material: {"young": 1e6, "poisson": 0.3, "density": 1e3}, Damping: {"shear": 1.0}, Rod: HOSE}
VALID = {**VALID_SECTIONS, **VALID_SHAPES, **VALID_ENDS, **VALID_LOADS, **VALID_OTHERS}


def rod(**changes):
    return Rod(**{**HOSE, **changes})


def directors(q):
    return np.moveaxis(rot.matrix_from_quaternion(q), -1, 0)


# --- all descriptions ------------------------------------------------------------------------------------------------


def test_registries_are_complete():
    assert set(VALID_SECTIONS) == set(SECTIONS)
    assert set(VALID_SHAPES) == set(SHAPES)
    assert set(VALID_ENDS) == set(ENDS)
    assert set(VALID_LOADS) == set(LOADS)


@pytest.mark.parametrize("kind", VALID)
def test_descriptions_are_frozen_and_equal_by_value(kind):
    made = kind(**VALID[kind])
    assert made == kind(**VALID[kind])
    assert made == replace(made)
    assert made == pickle.loads(pickle.dumps(made))
    assert hash(made) == hash(kind(**VALID[kind]))
    assert made != 3
    for f in fields(kind):
        value = getattr(made, f.name)
        assert not (isinstance(value, np.ndarray) and value.flags.writeable)
        with pytest.raises(FrozenInstanceError):
            setattr(made, f.name, value)


def test_what_was_derived_gives_way():
    assert replace(RUBBER, young=10e6).shear_modulus == pytest.approx(2 * RUBBER.shear_modulus)
    stiff = Material(young=1e9, shear_modulus=1e6, density=1e3)
    assert (replace(stiff, young=2e9).shear_modulus, stiff.poisson) == (1e6, None)
    made = rod(length=None, initial=Straight((0, 0, 0), (0, 2, 0)))
    assert isinstance(made.length, Derived)
    assert replace(made, initial=Straight((0, 0, 0), (0, 3, 0))).length == 3.0
    assert replace(rod(), length=2.0).positions[-1, 0] == 2.0
    assert replace(rod(), segments=3).positions.shape == (4, 3)


# --- material, sections, damping -------------------------------------------------------------------------------------


def test_material():
    assert RUBBER.shear_modulus == pytest.approx(5e6 / 3, rel=1e-15)
    assert Material(2.0, shear_modulus=3.0, density=1.0).shear_modulus == 3.0
    assert Material(2.0, 0.0, density=1.0).shear_modulus == 1.0


def values(section, s=0.3):
    v = section.at([s])
    return [float(getattr(v, name)[0]) for name in ("area", "I1", "I2", "polar", "torsion", "k1", "k2")]


def test_sections_have_their_closed_forms():
    r, i, pi = 0.3, 0.2, np.pi
    circle = [pi * r**2, pi * r**4 / 4, pi * r**4 / 4, pi * r**4 / 2, pi * r**4 / 2, 1, 1]
    np.testing.assert_allclose(values(Circle(r)), circle, rtol=1e-15)
    inner = [pi * i**2, pi * i**4 / 4, pi * i**4 / 4, pi * i**4 / 2, pi * i**4 / 2, 0, 0]
    np.testing.assert_allclose(values(Ring(r, i)), np.subtract(circle, inner), rtol=1e-14)
    np.testing.assert_allclose(values(Ring(r, 0)), circle, rtol=1e-15)
    w, h = 0.2, 0.5
    found = values(Rectangle(w, h, shear=(5 / 6, 0.9)))
    np.testing.assert_allclose(found[:4], [w * h, w * h**3 / 12, h * w**3 / 12, w * h * (w**2 + h**2) / 12], rtol=1e-14)
    assert found[5:] == [5 / 6, 0.9]
    assert values(Section(2, 3, 4)) == [2, 3, 4, 7, 7, 1, 1]
    assert values(Section(2, 3, 4, polar=6)) == [2, 3, 4, 6, 6, 1, 1]
    assert values(Section(2, 3, 4, torsion=5, shear=0.8)) == [2, 3, 4, 7, 5, 0.8, 0.8]


def torsion(width, height):
    return values(Rectangle(width, height))[4]


def test_torsion_of_rectangles():
    assert torsion(1, 1) == pytest.approx(0.1405770, abs=1e-7)
    assert torsion(2, 1) == pytest.approx(2 * 0.2286820, abs=1e-6)  # Timoshenko and Goodier, beta = 0.229
    assert torsion(1e5, 1) == pytest.approx(1e5 / 3 - 0.2101, abs=1e-3)
    assert torsion(1e50, 1e-3) == pytest.approx(1e50 * 1e-9 / 3)
    assert torsion(2, 3) == torsion(3, 2)
    n = np.arange(1.0, 20001.0, 2.0)
    for a in (1.0, 1.3, 3.0):
        slow = math.fsum(np.tanh(0.5 * n * np.pi * a) / n**5)
        assert torsion(a, 1) == pytest.approx(a * (1 / 3 - 64 / np.pi**5 / a * slow), rel=1e-14)


@pytest.mark.parametrize("kind", SECTIONS)
def test_sections_taper(kind):
    assert issubclass(kind, CrossSection)
    constant, s = VALID_SECTIONS[kind], 0.7
    tapered = kind(**{name: lambda s, x=x: x * (2 - s) for name, x in constant.items()})
    there = kind(**{name: x * (2 - s) for name, x in constant.items()})
    np.testing.assert_allclose(values(tapered, s), values(there), rtol=1e-14)
    many = tapered.at(S)
    assert all(getattr(many, f.name).shape == (21,) for f in fields(many))
    for name in constant:
        section = kind(**{**constant, name: raising})
        assert f"section.{name}(s = 0) raises ZeroDivisionError: of the user" in the_problem(rod, section=section)
        section = kind(**{**constant, name: lambda s: (1, 2)})
        assert f"section.{name}(s = 0) must be a number, got (1, 2)" in the_problem(rod, section=section)


def test_stiffness_and_inertia_of_a_rod():
    r = rod(section=Rectangle(width=0.01, height=0.02, shear=(0.8, 0.9)))
    v, E, G, rho = r.section.at([0.5]), RUBBER.young, RUBBER.shear_modulus, RUBBER.density
    A, I1, I2, J, T = (float(x[0]) for x in (v.area, v.I1, v.I2, v.polar, v.torsion))
    expected = np.diag([0.8 * G * A, 0.9 * G * A, E * A, E * I1, E * I2, G * T])
    np.testing.assert_allclose(r.stiffness_at([0.0, 0.5]), [expected, expected], rtol=1e-15)
    np.testing.assert_allclose(r.inertia_at([0.1]), [[rho * A, rho * I1, rho * I2, rho * J]], rtol=1e-15)
    np.testing.assert_array_equal(r.damping_at(r.midpoints), np.zeros((10, 6)))
    loaded = replace(r, density_per_length=7.0)
    np.testing.assert_allclose(loaded.inertia_at([0.1]), [[7.0, rho * I1, rho * I2, rho * J]], rtol=1e-15)


def test_inertia_of_a_measured_hose_is_that_of_its_section():
    measured = {"length": 1.0, "segments": 4, "stiffness": (1e5, 1e5, 2e5, 3.0, 3.0, 2.0), "density_per_length": 0.6}
    hose = Rod("hose", section=Ring(radius=1e-2, inner=6e-3), **measured)
    I = np.pi / 4 * (1e-8 - 6e-3**4)  # noqa: E741
    area = np.pi * (1e-4 - 3.6e-5)
    np.testing.assert_allclose(hose.inertia_at([0.5])[0], 0.6 * np.array([1.0, I / area, I / area, 2 * I / area]))
    assert hose.with_(rotary_inertia=(1, 2, 3)).inertia_at([0.5]).tolist() == [[0.6, 1, 2, 3]]
    tapered = Rod("hose", section=Circle(radius=lambda s: 1e-2 - 5e-3 * s), **measured).inertia_at([0.0, 1.0])
    np.testing.assert_allclose(tapered[:, 1], 0.6 * np.array([1e-4, 2.5e-5]) / 4)


def test_stiffness_given_directly():
    given_ = {"section": None, "material": None, "density_per_length": 2.0, "rotary_inertia": (1, 2, 3)}
    r = rod(**given_, stiffness=(1, 2, 3, 4, 5, 6))
    np.testing.assert_array_equal(r.stiffness_at([0.0]), [np.diag([1, 2, 3, 4, 5, 6])])
    np.testing.assert_array_equal(r.inertia_at([0.0, 1.0]), [[2, 1, 2, 3]] * 2)
    assert r == replace(r)
    C = np.diag([1.0, 2, 3, 4, 5, 6])
    C[2, 3] = C[3, 2] = 1.5
    np.testing.assert_array_equal(rod(**given_, stiffness=C).stiffness_at([0.3]), [C])
    tapered = rod(**given_, stiffness=lambda s: (1 + s) * C)
    np.testing.assert_array_equal(tapered.stiffness_at([0.0, 1.0]), [C, 2 * C])
    both = rod(stiffness=C)
    np.testing.assert_array_equal(both.stiffness_at([0.3]), [C])
    np.testing.assert_array_equal(both.inertia_at([0.3]), rod().inertia_at([0.3]))
    varied = rod(
        **{**given_, "density_per_length": lambda s: 1 + s, "rotary_inertia": lambda s: (1, 1, 2 + s)}, stiffness=C
    )
    np.testing.assert_array_equal(varied.inertia_at([1.0]), [[2, 1, 1, 3]])


def test_damping():
    r = rod(damping=Damping(shear=(1, 2), extension=3, bending=(4, 5), torsion=6))
    np.testing.assert_array_equal(r.damping_at([0.0, 0.4]), [[1, 2, 3, 4, 5, 6]] * 2)
    np.testing.assert_array_equal(Damping(shear=1, bending=2).at(np.zeros((1, 6, 6))), [[1, 1, 0, 2, 2, 0]])
    section = Rectangle(width=lambda s: 0.01 + 0.01 * s, height=0.02, shear=(0.8, 0.9))
    r = rod(section=section, damping=Damping.viscous(extension=30.0, shear=10.0))
    v = section.at([0.6])
    c = [10 * v.k1 * v.area, 10 * v.k2 * v.area, 30 * v.area, 30 * v.I1, 30 * v.I2, 10 * v.torsion]
    np.testing.assert_allclose(2 * r.damping_at([0.6]), np.transpose(c), rtol=1e-14)
    r = rod(damping=Damping.ratio(0.05, frequency=12.0))
    diagonal = np.diagonal(r.stiffness_at([0.2])[0])
    # One degree of freedom with stiffness k and mass m: damping 2 c = 2 zeta sqrt(k m) at omega = sqrt(k/m).
    np.testing.assert_allclose(2 * r.damping_at([0.2])[0], 2 * 0.05 * diagonal / (2 * np.pi * 12.0), rtol=1e-14)


# --- shapes ----------------------------------------------------------------------------------------------------------


def placed(shape, s=S, length=1.0):
    x, q = shape.place(s, shape.length or length)
    assert x.shape == (len(s), 3)
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1.0, atol=4e-16)
    return x, directors(q)


def test_the_frame_of_the_paper():
    r = rod(initial=Straight((0, 0, 0), (0, 1, 0)))
    q = r.quaternions
    np.testing.assert_allclose(q * np.sign(q[:, :1]), np.tile([0.5, -0.5, -0.5, -0.5], (10, 1)), atol=1e-15)
    d1, d2, d3 = (d[0] for d in directors(q))
    np.testing.assert_allclose([d1, d2, d3], [[0, 0, 1], [1, 0, 0], [0, 1, 0]], atol=1e-15)


@given(arrays.arrays(float, (3,), elements=st.floats(-1, 1)).filter(lambda x: np.linalg.norm(x) > 1e-3))
def test_default_frames_of_straight_rods(direction):
    x, (d1, _, d3) = placed(Straight((1, 2, 3), np.add((1, 2, 3), direction)))
    t = direction / np.linalg.norm(direction)
    np.testing.assert_allclose(d3, np.tile(t, (21, 1)), atol=1e-12)
    if math.hypot(t[0], t[1]) > 2e-6:
        assert abs(d1[0] @ np.cross(t, [0, 0, 1])) < 1e-9  # in the plane of the tangent and the vertical
        assert d1[0, 2] > 0.0
    np.testing.assert_allclose(x, (1, 2, 3) + S[:, None] * direction, atol=1e-14)


@pytest.mark.parametrize("up", [1.0, -1.0])
def test_default_frame_of_a_vertical_rod(up):
    _, (d1, _, d3) = placed(Straight((0, 0, 0), (0, 0, 2 * up)))
    np.testing.assert_allclose([d1[0], d3[0]], [[1, 0, 0], [0, 0, up]], atol=1e-15)


def test_given_orientation():
    R = rot.matrix_from_quaternion(P)
    for form in (P, R, Rotation.from_matrix(R)):
        _, d = placed(Straight((0, 0, 0), R[:, 2], orientation=form))
        np.testing.assert_allclose(d[:, 0], R.T, atol=1e-15)


def test_arc():
    shape = Arc((1, 2, 3), (0, 2, 0), (0, 1, 1), radius=0.5, angle=2.0)
    assert shape.length == 1.0
    x, d = placed(shape)
    phi = 2.0 * S[:, None]
    np.testing.assert_allclose(x, [1, 2, 3] + 0.5 * np.hstack([0 * phi, np.sin(phi), 1 - np.cos(phi)]), atol=1e-15)
    np.testing.assert_allclose(d[2], np.hstack([0 * phi, np.cos(phi), np.sin(phi)]), atol=1e-15)
    np.testing.assert_allclose(d[1], np.tile([1, 0, 0], (21, 1)), atol=1e-15)


def test_parallel_transport_along_a_helix():
    """Against Frenet's frame, from which it turns back at the rate of the torsion; arc length and points too."""
    shape = Curve(helix)
    assert shape.length == pytest.approx(HELIX, rel=1e-14)
    x, d = placed(shape)
    np.testing.assert_allclose(x, [helix(s) for s in S], atol=1e-13)
    c = np.hypot(1.0, 0.3)
    T = np.stack([-np.sin(9 * S), np.cos(9 * S), np.full(21, 0.3)], axis=1) / c
    N = -np.stack([np.cos(9 * S), np.sin(9 * S), 0 * S], axis=1)
    np.testing.assert_allclose(d[2], T, atol=2e-12)
    angle = np.unwrap(np.arctan2(np.sum(d[0] * np.cross(T, N), axis=1), np.sum(d[0] * N, axis=1)))
    np.testing.assert_allclose(angle - angle[0], -0.3 / c**2 * HELIX * S, atol=2e-12)


@pytest.mark.parametrize(
    "shape",
    [
        Arc((0, 0, 0), (1, 1, 0), (0, 0, 1), 0.3, 5.0),
        Curve(lambda s: (s, s**2, 0.3 * np.sin(5 * s))),
        Curve(HELIX_SAMPLES),
        Curve(lambda s: (s, s**2, s**3), orientation=None, parameter="material"),
    ],
)
def test_transported_frames_follow_the_tangent_and_do_not_twist(shape):
    s = np.linspace(0.0, 1.0, 2001)
    x, q = shape.place(s, shape.length)
    d1, _, d3 = directors(q)
    chord = (x[2:] - x[:-2]) / np.linalg.norm(x[2:] - x[:-2], axis=1)[:, None]
    np.testing.assert_allclose(d3[1:-1], chord, atol=2e-4)  # of second order in the distance of the points
    turns = rot.log(rot.multiply(rot.conjugate(q[:-1]), q[1:]))
    size = np.linalg.norm(turns, axis=1)
    assert np.max(np.abs(turns[:, 2])) < 1e-3 * np.max(size)
    assert abs(np.sum(turns[:, 2])) < 1e-5 * np.sum(size)
    np.testing.assert_allclose(d1[0, 2], np.sqrt(1 - d3[0, 2] ** 2), atol=1e-12)


def test_a_curve_is_laid_out_evenly_by_arc_length():
    shape = Curve(lambda s: (s**2, 0.5 * s, 0))
    x, _ = placed(shape, np.linspace(0, 1, 1001))
    steps = np.linalg.norm(np.diff(x, axis=0), axis=1)
    np.testing.assert_allclose(steps, shape.length / 1000, rtol=1e-5)
    uneven, _ = placed(Curve(lambda s: (s**2, 0.5 * s, 0), parameter="material"))
    np.testing.assert_array_equal(uneven, [(s**2, 0.5 * s, 0) for s in S])
    exact = math.sqrt(17) / 4 + math.asinh(4) / 16
    assert shape.length == pytest.approx(exact, rel=1e-13)


def test_kinks_and_infinite_slopes_are_met():
    corner = Curve(lambda s: (min(s, 0.3), max(s - 0.3, 0.0), 0))
    assert corner.length == pytest.approx(1.0, abs=1e-9)
    _, d = placed(corner)
    np.testing.assert_allclose(d[2][[0, -1]], [[1, 0, 0], [0, 1, 0]], atol=1e-9)
    np.testing.assert_allclose(d[0][[0, -1]], [[0, 0, 1]] * 2, atol=1e-9)
    root = Curve(lambda s: (s, 0.0, math.sqrt(s)))
    assert root.length == pytest.approx(Curve(lambda s: (s * s, 0.0, s)).length, abs=1e-5)


def test_curves_of_samples():
    even = Curve(HELIX_SAMPLES)
    assert even.length == pytest.approx(HELIX, rel=1e-5)
    x, _ = placed(even)
    np.testing.assert_allclose(x, [helix(s) for s in S], atol=2e-4)
    uneven = Curve([helix(s**1.2) for s in np.linspace(0, 1, 80)])
    np.testing.assert_allclose(placed(uneven)[0], [helix(s) for s in S], atol=5e-4)
    line = Curve([(0, 0, 0), (0, 0.1, 0), (0, 0.5, 0), (0, 1, 0)])
    r = rod(length=None, initial=line)
    assert r.length == pytest.approx(1.0, rel=1e-14)
    np.testing.assert_allclose(r.positions[:, 1], r.fractions, atol=1e-14)


@pytest.mark.parametrize("position", [helix, HELIX_SAMPLES], ids=["function", "samples"])
def test_frames_along_a_curve(position):
    """As a function and as samples, in both forms; they need not follow the tangent."""
    forms = [tilted, lambda s: rot.matrix_from_quaternion(tilted(s))]
    exact = np.array([tilted(s) for s in S])
    for form in forms:
        _, q = Curve(position, orientation=form).place(S, HELIX)
        np.testing.assert_allclose(rot.distance(q, exact), 0, atol=1e-12 if callable(position) else 1e-6)
    samples = np.array([tilted(s) for s in np.linspace(0, 1, 60)])
    for form in (samples, rot.matrix_from_quaternion(samples)):
        shape = Curve(position, orientation=form)
        assert shape.orientation.shape == (60, 4)
        _, q = shape.place(S, HELIX)
        np.testing.assert_allclose(rot.distance(q, exact), 0, atol=1e-4)
    R = rot.matrix_from_quaternion(Curve(position).place(S, HELIX)[1])
    turned = R @ rot.matrix_from_rotation_vector((0, 0, 1.0))  # another start frame is transported alike
    _, q = Curve(position, orientation=turned[0]).place(S, HELIX)
    np.testing.assert_allclose(rot.matrix_from_quaternion(q), turned, atol=1e-12)


@given(arrays.arrays(float, (3,), elements=st.floats(-8, 8)), st.floats(0.1, 5.0))
def test_constant_curvature_gives_a_helix(K, length):
    """x = x0 + R0 ∫ exp(s [K]) e3 ds: the part of e3 along K goes straight, the rest goes round."""
    shape = Bent(K, start=(1, 2, 3), orientation=P)
    arc = length * S
    x, q = shape.place(S, length)
    k = np.linalg.norm(K)
    local = arc[:, None] * np.array([0.0, 0.0, 1.0])
    if k > 1e-2:
        n = K / k
        along, across = n[2] * n, np.array([0.0, 0.0, 1.0]) - n[2] * n
        sine, cosine = np.sin(k * arc)[:, None] / k, (1 - np.cos(k * arc))[:, None] / k
        local = arc[:, None] * along + sine * across + cosine * np.cross(n, across)
        np.testing.assert_allclose(x - (1, 2, 3), rot.rotate(P, local), atol=1e-11)
    np.testing.assert_allclose(rot.distance(q, rot.multiply(P, rot.exp(arc[:, None] * K))), 0, atol=1e-14)
    again, p = Bent(lambda s: K, start=(1, 2, 3), orientation=P).place(S, length)
    np.testing.assert_allclose(again, x, atol=1e-11)
    np.testing.assert_allclose(rot.distance(p, q), 0, atol=1e-11)


def test_bent_to_a_circle_and_to_an_euler_spiral():
    r = rod(initial=Bent((0, 2 * np.pi, 0)))
    np.testing.assert_allclose(r.positions[-1], 0, atol=1e-15)
    np.testing.assert_allclose(r.end_frames[0], -r.end_frames[1], atol=1e-14)  # a full turn: p_0 = -p_N
    from scipy.special import fresnel

    spiral = Bent(lambda s: (0, 4 * np.pi * s, 0), orientation=(1, 0, 0, 0))  # d3 turns by 4 pi s^2 / L / 2
    x, _ = spiral.place(S, 2.0)
    sine, cosine = fresnel(2.0 * S * math.sqrt(2.0))
    np.testing.assert_allclose(x[:, [0, 2]], np.stack([sine, cosine], axis=1) / math.sqrt(2.0), atol=1e-12)
    step, _ = Bent(lambda s: (0, 0 if s < 0.37 else np.pi, 0), orientation=(1, 0, 0, 0)).place(S, 1.0)
    np.testing.assert_allclose(step[7], [0, 0, 0.35], atol=1e-14)
    np.testing.assert_allclose(
        step[-1], [(1 - np.cos(0.63 * np.pi)) / np.pi, 0, 0.37 + np.sin(0.63 * np.pi) / np.pi], atol=1e-11
    )


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("grid", [None, (0, 0.1, 0.3, 0.35, 0.8, 0.9, 1)])
def test_every_shape_in_a_rod(kind, grid):
    shape = kind(**VALID_SHAPES[kind])
    n = 40 if grid is None else 6
    length = 1.0 if shape.length is None else None
    r = rod(initial=shape, length=length, segments=None if grid else n, grid=grid)
    assert r.segments == n
    assert r.positions.shape == r.velocities.shape == (n + 1, 3)
    assert r.quaternions.shape == (n, 4)
    assert r.end_frames.shape == (2, 4)
    assert r.spins.shape == (n, 3)
    assert (r.precurvatures, r.prestrains) == (None, None)
    for name in ("positions", "quaternions", "end_frames", "velocities", "spins", "fractions", "vertices", "lengths"):
        assert not getattr(r, name).flags.writeable
    np.testing.assert_allclose(r.vertices, r.length * r.fractions)
    np.testing.assert_allclose(r.lengths, np.diff(r.vertices), atol=1e-15)
    np.testing.assert_allclose(r.midpoints, 0.5 * (r.fractions[1:] + r.fractions[:-1]))
    q = np.vstack([r.end_frames[:1], r.quaternions, r.end_frames[1:]])
    assert np.min(np.sum(q[1:] * q[:-1], axis=1)) > 0.0
    chords = np.diff(r.positions, axis=0) / r.lengths[:, None]
    assert np.all(np.linalg.norm(chords, axis=1) < 1.0 + 1e-12)
    if grid is None:
        _, _, d3 = directors(r.quaternions)
        np.testing.assert_allclose(chords, d3, atol=5e-3)
    assert np.sum(r.lengths) == pytest.approx(r.length, rel=1e-14)


# --- rods ------------------------------------------------------------------------------------------------------------


def test_a_rod_is_normalised():
    r = Rod("hose", 1, np.int64(10), Circle(5e-3), RUBBER)
    assert isinstance(r.length, float)
    assert type(r.segments) is int
    assert (r.start, r.end, r.curvature, r.inertia, r.mass, r.strain) == (
        Free(),
        Free(),
        "angle",
        "disc",
        "lumped",
        "cosserat",
    )
    np.testing.assert_allclose(r.positions, np.linspace([0, 0, 0], [1, 0, 0], 11), atol=1e-15)
    assert r.shape == Straight((0, 0, 0), (1, 0, 0))
    assert r != rod(mass=0.5)
    for name in CURVATURES:
        assert rod(curvature=name).curvature == name
    assert rod(curvature=["sine", 3]).curvature == ("sine", 3.0)
    assert rod(curvature=("tangent", 1)).curvature == ("tangent", 1.0)
    for name in INERTIAS:
        assert rod(inertia=name).inertia == name
    for name in STRAINS:
        assert rod(strain=name).strain == name
    for mass in ("lumped", "blended", 0.0, 1.0, 0.5):
        assert rod(mass=mass).mass == mass


def test_a_grid():
    r = rod(segments=None, grid=[0, 0.1, 1])
    assert (r.segments, r.lengths.tolist(), r.midpoints.tolist()) == (2, [0.1, 0.9], [0.05, 0.55])
    assert r == replace(r)
    assert rod(segments=2, grid=[0, 0.1, 1]) == r


def test_a_stretched_rod_needs_a_prestrain():
    line = Straight((0, 0, 0), (0, 1.1, 0))
    sentence = the_problem(rod, initial=line)
    assert "length = 1 disagrees with the length of initial, 1.1; leave length out, or give prestrain" in sentence
    r = rod(initial=line, prestrain=(0, 0, 0), precurvature=lambda s: (s, 0, 1))
    np.testing.assert_array_equal(r.prestrains, np.zeros((10, 3)))
    np.testing.assert_allclose(r.precurvatures, [(s, 0, 1) for s in r.fractions])
    assert r.lengths[0] == pytest.approx(0.1)
    assert rod(initial=Straight((0, 0, 0), (0, 1 + 9e-7, 0))).length == 1.0


def test_motion_at_the_start():
    omega = np.array([0.3, -2.0, 1.0])
    r = rod(initial=Arc((1, 2, 3), (1, 1, 0), (0, 0, 1), 0.5, 2.0), velocity=(4, 5, 6), angular_velocity=omega)
    np.testing.assert_allclose(r.velocities - (4, 5, 6), np.cross(omega, r.positions - (1, 2, 3)), atol=1e-14)
    np.testing.assert_allclose(rot.rotate(r.quaternions, r.spins), np.tile(omega, (10, 1)), atol=1e-14)
    r = rod(velocity=lambda s: (0, 0, s), angular_velocity=lambda s: (0, -1, s))
    np.testing.assert_allclose(r.velocities, [(0, 0, s) for s in r.fractions])
    np.testing.assert_allclose(rot.rotate(r.quaternions, r.spins), [(0, -1, s) for s in r.midpoints], atol=1e-15)
    twisting = rod(angular_velocity=lambda s: (s, 0, 0), start=Clamped(), end=Hinged())
    np.testing.assert_array_equal(twisting.velocities, 0)


# --- ends ------------------------------------------------------------------------------------------------------------


def test_ends():
    assert Pinned is Hinged
    held = {kind: (kind.holds_position, kind.holds_frame) for kind in ENDS}
    assert held == {Free: (False, False), Hinged: (True, False), Clamped: (True, True), Guided: (False, True)}
    assert Hinged().position_at(1.0) is None
    assert Hinged(at=(1, 2, 3)).position_at(1.0).tolist() == [1, 2, 3]
    led = Clamped(at=lambda t: (t, 0, 0), frame=lambda t: rot.matrix_from_rotation_vector((0, 0, t)))
    np.testing.assert_array_equal(led.position_at(2.0), [2, 0, 0])
    np.testing.assert_allclose(led.frame_at(2.0), rot.exp((0, 0, 2.0)))
    assert led.velocity_at(0.0) is None
    led = replace(led, velocity=lambda t: (1, 0, 0), angular_velocity=lambda t: (0, 0, 1))
    assert (led.velocity_at(0.0).tolist(), led.angular_velocity_at(0.0).tolist()) == ([1, 0, 0], [0, 0, 1])
    assert Clamped().velocity_at(0.0).tolist() == [0, 0, 0]
    for kind in ENDS:
        assert rod(start=kind(), end=kind()).start == kind()


def test_ends_in_a_rod():
    q = rod().end_frames[0]
    led = Clamped(at=lambda t: (1 + t, 0, 0), frame=lambda t: rot.multiply(rot.exp((t, 0, 0)), -q))
    assert rod(start=Hinged(at=(0, 0, 0)), end=led, velocity=lambda s: (s, 0, 0))
    assert rod(start=Guided(frame=rot.multiply(q, rot.exp((0.5, 0, 0)))))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"start": Hinged(at=(0, 0.5, 0))},
            "start = Hinged holds at = (0, 0.5, 0), but initial has its start at (0, 0, 0)",
        ),
        ({"end": Clamped(at=(1, 0, 0.1))}, "holds at = (1, 0, 0.1), but initial has its end at (1, 0, 0), 0.1 m away"),
        ({"start": Hinged(at=lambda t: (t, 1, 0))}, "holds at = (0, 1, 0)"),
        ({"start": Hinged(at=raising)}, "start.at(t = 0) raises ZeroDivisionError: of the user"),
        ({"end": Hinged(at=lambda t: (1, 2))}, "end.at(t = 0) must be three numbers, got (1, 2)"),
        ({"start": Clamped(frame=lambda t: np.eye(3) * 2)}, "start.frame(t = 0)"),
        (
            {"start": Guided(frame=lambda t: None)},
            "start.frame(t = 0) must be a quaternion or a rotation matrix, got None",
        ),
        ({"start": Clamped(frame=(1, 0, 0, 0))}, "start = Clamped holds frame = (1, 0, 0, 0)"),
        (
            {"start": Hinged(at=lambda t: (0, 0, 0), velocity=lambda t: 3)},
            "start.velocity(t = 0) must be three numbers",
        ),
        ({"start": Hinged(), "velocity": (0, 0, 1)}, "velocity at the start is (0, 0, 1), but start = Hinged holds it"),
        ({"end": Hinged(), "angular_velocity": (0, 0, 1)}, "velocity at the end is (0, 1, 0)"),
    ],
)
def test_contradictory_ends(changes, words):
    sentence = the_problem(rod, **changes)
    assert sentence.startswith("Rod 'hose': ")
    assert words in sentence


# --- bad input -------------------------------------------------------------------------------------------------------


ASYMMETRIC = np.eye(6)
ASYMMETRIC[0, 4] = 0.1
INDEFINITE = np.eye(6)
INDEFINITE[0, 4] = INDEFINITE[4, 0] = 1.5


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "a/b"}, "name = 'a/b' is not a name"),
        ({"length": 0}, "length must be a positive finite number, got 0"),
        ({"length": -1.0}, "length must be a positive finite number, got -1"),
        ({"length": np.nan}, "length = nan is not finite"),
        ({"length": None}, "length is missing"),
        ({"length": None, "initial": Bent((0, 1, 0))}, "length is missing"),
        ({"segments": 1}, "segments must be an integer from 2 to 1000000, got 1"),
        ({"segments": 2.0}, "segments must be an integer from 2 to 1000000, got 2.0"),
        ({"segments": True}, "segments must be an integer from 2 to 1000000, got True"),
        ({"segments": None, "discretization": "staggered"}, "segments is missing; give their number, or a grid"),
        ({"grid": (0, 0.5, 1)}, "grid has 3 fractions, but segments = 10 need 11"),
        ({"segments": None, "grid": (0, 0.6, 0.5, 1)}, "grid[1] = 0.6 is followed by grid[2] = 0.5"),
        ({"segments": None, "grid": (0.1, 0.5, 1)}, "grid must reach from 0 to 1, got 0.1 to 1"),
        ({"segments": None, "grid": (0, 1)}, "grid must have 3 to 1000001 fractions, got 2"),
        ({"segments": None, "grid": (0, np.nan, 1)}, "grid[1] = nan is not finite"),
        ({"section": None}, "section is missing; give section and material, or stiffness"),
        ({"section": Circle}, "section must be a section such as Circle, got <class"),
        ({"section": None, "material": None}, "section and material are missing"),
        ({"material": 5e6}, "material must be a Material, got 5000000.0"),
        ({"section": None, "stiffness": np.ones(6)}, "density_per_length and rotary_inertia are missing"),
        (
            {"section": None, "stiffness": np.ones(6), "rotary_inertia": (1, 1, 1)},
            "density_per_length is missing: stiffness says nothing about inertia",
        ),
        ({"stiffness": (1, 2, 3)}, "stiffness must be six numbers or a 6x6 matrix, got (1, 2, 3)"),
        ({"stiffness": (1, 2, 3, 4, 0, 6)}, "stiffness[4] = 0 must be positive"),
        ({"stiffness": -np.eye(6)}, "stiffness[0, 0] = -1 must be positive"),
        ({"stiffness": ASYMMETRIC}, "stiffness[0, 4] = 0.1 and stiffness[4, 0] = 0"),
        ({"stiffness": INDEFINITE}, "its smallest eigenvalue is -0.5"),
        ({"stiffness": lambda s: (1, 1, 1, 1, 1, 0.5 - s)}, "stiffness(s = 0.5)[5] = 0 must be positive"),
        ({"stiffness": raising}, "stiffness(s = 0) raises ZeroDivisionError"),
        ({"density_per_length": 0}, "density_per_length must be a positive"),
        ({"density_per_length": lambda s: -s - 1}, "density_per_length(s = 0) must be a positive"),
        ({"rotary_inertia": (1, 0, 1)}, "rotary_inertia must be three positive numbers, got (1, 0, 1)"),
        ({"start": "ground"}, "start must be an end: Free, Hinged, Clamped or Guided, got 'ground'"),
        ({"curvature": "angel"}, "curvature = 'angel' is unknown; it can be 'sine'"),
        ({"curvature": ("sine", 0.9)}, "curvature[1] = 0.9 must be a number m >= 1"),
        ({"curvature": ("angle", 2)}, "curvature[0] = 'angle' is unknown; it can be 'sine', 'tangent'"),
        ({"curvature": ("sine", 2, 3)}, "must be a name, or a pair such as ('sine', 3.0)"),
        ({"inertia": "disk"}, "inertia = 'disk' is unknown; it can be 'disc', 'cylinder'. Did you mean 'disc'?"),
        ({"mass": "lump"}, "mass = 'lump' is unknown"),
        ({"mass": 1.1}, "mass must be 'lumped', 'blended' or a number from 0 to 1, got 1.1"),
        ({"damping": 0.1}, "damping must be a Damping, got 0.1"),
        ({"strain": "shear"}, "strain = 'shear' is unknown"),
        ({"initial": (0, 1, 0)}, "initial must be a shape such as Straight, got (0, 1, 0)"),
        ({"initial": Bent((0, 0, 40.0))}, "segments = 10 are too few for initial"),
        ({"precurvature": (1, 2)}, "precurvature must be three numbers, got (1, 2)"),
        ({"precurvature": lambda s: s}, "precurvature(s = 0) must be three numbers, got 0.0"),
        ({"prestrain": lambda s: (0, 0, np.inf)}, "prestrain(s = 0.05)[2] = inf is not finite"),
        ({"velocity": None}, "velocity must be three numbers, got None"),
        ({"velocity": lambda s: (s, 0)}, "velocity(s = 0) must be three numbers"),
        ({"angular_velocity": raising}, "angular_velocity(s = 0.05) raises"),
        ({"section": Circle(lambda s: 0.3 - s)}, "section.radius(s = 0.3) must be a positive finite number, got 0.0"),
        (
            {"section": Ring(0.2, lambda s: s)},
            "section.inner(s = 0.2) = 0.2 must be smaller than radius(s = 0.2) = 0.2",
        ),
        ({"length": None, "initial": Curve(raising)}, "initial.position(s = "),
        ({"length": None, "initial": Curve(lambda s: (1, 2, 3))}, "initial.position is the same point, (1, 2, 3)"),
        ({"length": None, "initial": Curve(lambda s: (s**3, 0, 0))}, "initial.position(s = 0) has no tangent"),
        ({"length": None, "initial": Curve(lambda s: (abs(s - 0.4), 0, 0))}, "position(s = 0.4) turns back on itself"),
        ({"length": None, "initial": Curve(lambda s: (s, float(s > 0.4), 0))}, "initial.position(s = 0.4) jumps by"),
        ({"length": None, "initial": Curve(lambda s: (s, float(s > 0.5), 0))}, "initial.position(s = 0.5) jumps by 1"),
        ({"length": None, "initial": Curve(helix, orientation=raising)}, "initial.orientation(s = 0) raises"),
        (
            {"length": None, "initial": Curve(helix, orientation=lambda s: np.ones((3, 3)))},
            "initial.orientation(s = 0)",
        ),
        ({"length": None, "initial": Curve(helix, orientation=(1, 0, 0, 0))}, "initial.orientation has d3 = (0, 0, 1)"),
        ({"length": 3.0, "initial": Curve(helix)}, "length = 3 disagrees with the length of initial, 9.39627"),
        ({"initial": Bent(lambda s: (0, s))}, "initial.curvature(s = 0) must be three numbers, got (0, 0.0)"),
        ({"initial": Bent(raising)}, "initial.curvature(s = 0) raises ZeroDivisionError"),
        ({"section": Circle(1e-90)}, "which is not positive and finite in double precision"),
    ],
)
def test_rods_refused(changes, words):
    found = problems(rod, **changes)
    assert len(found) == 1 + (changes.get("section") == Circle(1e-90))
    assert found[0].startswith(f"Rod {changes.get('name', 'hose')!r}: ")
    assert words in found[0]


def test_viscosities_need_a_section():
    given_ = {"stiffness": np.ones(6), "density_per_length": 1, "rotary_inertia": (1, 1, 1)}
    sentence = the_problem(rod, section=None, damping=Damping.viscous(1, 1), **given_)
    assert "damping has viscosities, which need a section" in sentence


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Material(0, 0.3, density=1), "Material: young must be a positive"),
        (lambda: Material(1, 0.3, density=0), "Material: density must be a positive"),
        (lambda: Material(1, -1, density=1), "Material: poisson = -1 must lie in (-1, 0.5]"),
        (lambda: Material(1, 0.51, density=1), "poisson = 0.51 must lie in (-1, 0.5]"),
        (lambda: Material(1, shear_modulus=0, density=1), "shear_modulus must be a positive"),
        (lambda: Material(1, density=1), "exactly one of poisson and shear_modulus is needed, got neither"),
        (lambda: Material(1, 0.3, 2, density=1), "got poisson = 0.3, shear_modulus = 2"),
        (lambda: Circle(0), "Circle: radius must be a positive"),
        (lambda: Circle(1, shear=0), "shear must be positive, got 0"),
        (lambda: Circle(1, shear=(1, 2, 3)), "shear must be a number or two numbers"),
        (lambda: Ring(1, 1), "Ring: inner = 1 must be smaller than radius = 1"),
        (lambda: Ring(1, -1), "inner must not be negative, got -1"),
        (lambda: Rectangle(1, np.inf), "Rectangle: height = inf is not finite"),
        (lambda: Section(1, 1, -1), "Section: I2 must be a positive"),
        (lambda: Damping(shear=-1), "Damping: shear must not be negative"),
        (lambda: Damping(bending=(1, 2, 3)), "bending must be a number or two numbers"),
        (lambda: Damping.viscous(-1, 1), "Damping.viscous: extension must not be negative"),
        (lambda: Damping.ratio(0.1, 0), "Damping.ratio: frequency must be a positive"),
        (lambda: Straight((1, 2, 3), (1, 2, 3)), "Straight: start and end coincide at (1, 2, 3)"),
        (lambda: Straight((0, 0, 0), (0, 1, 0), (1, 0, 0, 0)), "but the tangent at the start is (0, 1, 0)"),
        (lambda: Straight((0, 0, 0), (0, 1, 0), np.eye(3) * 2), "Straight: orientation"),
        (lambda: Arc((0, 0, 0), (0, 0, 0), (1, 0, 0), 1, 1), "Arc: tangent must not be zero"),
        (lambda: Arc((0, 0, 0), (0, 1, 0), (0, 2, 0), 1, 1), "normal = (0, 1, 0) must not be parallel"),
        (lambda: Arc((0, 0, 0), (0, 1, 0), (1, 0, 0), -1, 1), "radius must be a positive"),
        (lambda: Arc((0, 0, 0), (0, 1, 0), (1, 0, 0), 1, 0), "angle must be a positive"),
        (lambda: Arc((0, 0, 0), (0, 1, 0), (1, 0, 0), 1, 1, P), "must be the tangent to within 1e-06"),
        (lambda: Curve([(0, 0, 0), (1, 0, 0), (2, 0, 0)]), "Curve: position has 3 samples; a curve needs at least 4"),
        (
            lambda: Curve([(0, 0, 0), (1, 0, 0), (1, 0, 0), (2, 0, 0)]),
            "position[1] and position[2] coincide at (1, 0, 0)",
        ),
        (lambda: Curve(np.zeros((4, 2))), "position must be points (m, 3) or a function of s"),
        (lambda: Curve(np.full((4, 3), np.nan)), "position[0, 0] = nan is not finite"),
        (lambda: Curve(helix, np.tile(P, (3, 1))), "orientation has 3 samples"),
        (lambda: Curve(HELIX_SAMPLES, np.tile(P, (5, 1))), "orientation has 5 samples and position 60"),
        (lambda: Curve(helix, [P, P, 2 * P, P]), "orientation[2] = "),
        (lambda: Curve(helix, [np.eye(3), np.eye(3), 2 * np.eye(3), np.eye(3)]), "orientation[2] is not a rotation"),
        (lambda: Curve(helix, [np.eye(3), np.eye(3), -np.eye(3), np.eye(3)]), "orientation[2] has determinant -1"),
        (lambda: Curve(helix, parameter="length"), "parameter = 'length' is unknown; it can be 'arc', 'material'"),
        (lambda: Bent((1, 2)), "Bent: curvature must be three numbers"),
        (lambda: Guided(body="bob"), "body = 'bob': only ground can hold a frame and leave the position free"),
        (lambda: Clamped(at=(1, 2)), "Clamped: at must be three numbers, got (1, 2)"),
        (lambda: Guided(frame=(1, 1, 0, 0)), "Guided: frame = (1, 1, 0, 0) is a quaternion of norm 1.41421356"),
        (lambda: Hinged(at=(0, 0, 0), velocity=raising), "velocity goes with at as a function of time"),
        (lambda: Hinged(at=raising, velocity=(1, 2, 3)), "velocity must be a function of time"),
        (lambda: Clamped(at=raising, angular_velocity=raising), "angular_velocity goes with frame"),
        (lambda: RodLoad("", force=(0, 0, 1)), "rod must be the name of a rod, got ''"),
        (lambda: RodLoad("hose"), "RodLoad('hose'): force and moment are missing"),
        (lambda: RodLoad("hose", 1.5, (0, 0, 1)), "at = 1.5 must be a fraction of the length, from 0 to 1"),
        (lambda: RodLoad("hose", 0.5, (0, 0, 1), span=(0, 1)), "at = 0.5 and span = (0, 1) exclude each other"),
        (lambda: RodLoad("hose", span=(0.5, 0.5), force=(0, 0, 1)), "span = (0.5, 0.5) must be two increasing"),
        (lambda: RodLoad("hose", force=lambda t: (0, t)), "force(t = 0) must be three numbers, got (0, 0.0)"),
        (lambda: RodLoad("hose", moment=raising, name="twist"), "RodLoad 'twist': moment(t = 0) raises"),
        (lambda: RodLoad("hose", force=(0, 0, 1), profile=abs), "profile shapes a load over a span"),
        (lambda: RodLoad("hose", span=(0, 1), force=(0, 0, 1), profile=3), "profile must be a function of s, got 3"),
        (lambda: RodLoad("hose", span=(0.2, 1), force=(0, 0, 1), profile=raising), "profile(s = 0.2) raises"),
        (lambda: RodLoad("hose", force=(0, 0, 1), follow="yes"), "follow must be True or False, got 'yes'"),
        (lambda: Drag("hose", -1), "Drag('hose'): coefficient must not be negative, got -1"),
        (lambda: Drag("hose", rotational=(1, 2)), "rotational must be a number or three numbers"),
        (lambda: Flow("hose", (1, 2), 1), "Flow('hose'): velocity must be three numbers, got (1, 2)"),
        (lambda: Flow("hose", (1, 2, 3), (0, -1, 0)), "coefficient must not be negative, got"),
        (lambda: Flow("hose", (1, 2, 3), 1, span=(0.5, 0.5)), "span = (0.5, 0.5) must be two increasing fractions"),
    ],
)
def test_parts_refused(make, words):
    assert words in the_problem(make)


def test_all_problems_of_a_rod_at_once():
    found = problems(
        Rod,
        "hose",
        length=2.0,
        segments=10,
        section=Circle(lambda s: 0.01 - 0.02 * s),
        material="rubber",
        start=Clamped(at=(1, 0, 0), frame=raising),
        end=Hinged(at=lambda t: (1, 2)),
        curvature="sin",
        mass=2,
        velocity=lambda s: (s,),
        angular_velocity=raising,
        precurvature=lambda s: s,
        prestrain=(1, 2),
        strain="big",
    )
    expected = [
        "material must be a Material, got 'rubber'",
        "curvature = 'sin'",
        "mass must be",
        "prestrain must be three numbers",
        "strain = 'big'",
        "section.radius(s = 0.5)",
        "precurvature(s = 0)",
    ]
    assert len(found) == len(expected)
    assert all(words in sentence for words, sentence in zip(expected, found, strict=True))
    found = problems(
        rod,
        start=Clamped(at=(1, 0, 0), frame=raising),
        end=Hinged(at=lambda t: (1, 2)),
        velocity=lambda s: (s,),
        angular_velocity=raising,
    )
    expected = ["start = Clamped holds", "start.frame(t = 0)", "end.at(t = 0)", "velocity(s = 0)", "angular_velocity("]
    assert len(found) == len(expected)
    assert all(words in sentence for words, sentence in zip(expected, found, strict=True))


garbage = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 60),
    st.sampled_from([10**400, 10**9, -(10**30)]),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.lists(st.one_of(st.floats(), st.none(), st.text(max_size=2), st.lists(st.floats(), max_size=3)), max_size=7),
    st.tuples(st.text(max_size=3), st.lists(st.floats(), max_size=4)),
    st.tuples(st.sampled_from(["sine", "tangent"]), st.floats()),
    st.dictionaries(st.text(max_size=2), st.floats(), max_size=2),
    arrays.arrays(
        st.sampled_from([float, complex, int, bool]),
        st.sampled_from([(), (2,), (3,), (4,), (6,), (3, 3), (6, 6), (5, 3), (4, 4), (4, 3, 3), (0,)]),
    ),
    st.sampled_from([object(), Rod, Rotation, np.eye(6) * np.nan, np.array(["a"]), np.float32(1), len, raising, abs]),
    st.sampled_from([lambda s: None, lambda s: (s, s, s), lambda s: np.nan, lambda s: "x", lambda s: s + 1e-3]),
    st.sampled_from(
        [Circle(0.1), RUBBER, Hinged(at=(1, 1, 1)), Clamped(), Damping(1.0), Bent((1, 0, 0)), Curve(helix)]
    ),
)


@given(st.data())
def test_garbage_gives_a_model_error_and_nothing_else(data):
    kind = data.draw(st.sampled_from([*VALID, Rod, Rod]))
    names = [f.name for f in fields(kind)]
    if not names:
        return
    changes = data.draw(st.dictionaries(st.sampled_from(names), garbage, min_size=1, max_size=3))
    made = made_or_error(kind, {**VALID[kind], **changes})
    if isinstance(made, ModelError):
        assert 1 <= len(made.problems) <= 3 * len(changes)
        for sentence in made.problems:
            assert sentence.startswith(kind.__name__)
        return
    if isinstance(made, Rod):
        assert all(np.isfinite(x).all() for x in (made.positions, made.quaternions, made.velocities, made.spins))
        assert np.isfinite(made.stiffness_at(S)).all()
        assert np.isfinite(made.damping_at(S)).all()
    for name in names:
        value = getattr(made, name)
        if isinstance(value, (float, np.ndarray)):
            assert np.isfinite(value).all()


@given(
    st.sampled_from(["length", "density_per_length", "stiffness", "rotary_inertia"]),
    st.one_of(st.floats(max_value=0.0), st.just(np.nan), st.just(np.inf)),
)
def test_numbers_that_must_be_positive(field, value):
    shape = {"stiffness": 6, "rotary_inertia": 3}.get(field)
    sentence = the_problem(rod, **{field: value if shape is None else np.full(shape, value)})
    assert sentence.startswith(f"Rod 'hose': {field}")
    assert re.search(r"must be (a |three )?positive|not finite|too large", sentence)


@given(arrays.arrays(float, (6, 6), elements=st.floats(-1, 1)))
def test_stiffness_is_accepted_if_and_only_if_positive_definite(A):
    C = A + A.T
    smallest = np.linalg.eigvalsh(C)[0]
    if smallest > 1e-6:
        assert rod(stiffness=C)
    elif smallest < -1e-6:
        assert re.search(r"must be positive\.|smallest eigenvalue is", the_problem(rod, stiffness=C))


# --- loads and systems -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LOADS)
def test_every_load(kind):
    made = kind(**VALID_LOADS[kind])
    assert (made.bodies, made.rods, made.label) == ((), ("hose",), f"{kind.__name__}('hose')")
    assert replace(made, name="wind").label == f"{kind.__name__} 'wind'"
    assert System(rods=[rod()], forces=[made]).forces == (made,)
    sentence = the_problem(System, rods=[rod(name="hoses")], forces=[made])
    assert sentence == f"forces[0], {made.label}: rod = 'hose' is unknown; it can be 'hoses'. Did you mean 'hoses'?"
    assert "rod = 'hose' is unknown; the system has no rods." in the_problem(System, forces=[made])


def test_loads_are_normalised():
    load = RodLoad("hose", force=(0, 0, 1))
    assert (load.at, load.span, load.follow, load.moment) == (1.0, None, False, None)
    np.testing.assert_array_equal(load.profile_at(S), np.ones((21, 3)))
    spread = RodLoad("hose", span=(0, 0.5), moment=lambda t: (t, 0, 0), follow=True, profile=lambda s: (s, 1, 0))
    assert (spread.at, spread.span.tolist(), callable(spread.moment)) == (None, [0, 0.5], True)
    np.testing.assert_array_equal(spread.profile_at([0.25]), [[0.25, 1, 0]])
    assert spread == replace(spread)
    drag = Drag("hose", coefficient=2, rotational=(1, 2, 3))
    assert (drag.coefficient.tolist(), drag.rotational.tolist()) == ([2, 2, 2], [1, 2, 3])


def test_systems_with_rods():
    hose, cable = rod(), rod(name="cable")
    top = Body("top", mass=1.0, inertia=(1, 1, 1))
    system = System([top], rods=[hose, cable], forces=[Drag("cable", 1.0), Force("top", (0, 0, 1))])
    assert (system.names, system.rod_names) == (("top",), ("hose", "cable"))
    assert system.rod("cable") is cable
    assert System(rods=(r for r in [hose])).rods == (hose,)
    assert System(rods=[hose]) == System(rods=[rod()]) != System(rods=[cable])
    assert Force("top", (0, 0, 1)).rods == ()
    with pytest.raises(ValueError, match=re.escape("name = 'hos' is unknown; it can be 'hose', 'cable'. Did you mean")):
        system.rod("hos")
    with pytest.raises(ValueError, match="the system has no rods"):
        System().rod("hose")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rods": rod()}, "System: rods must be a list, each member a Rod, got Rod("),
        ({"rods": [Rod]}, "rods[0] must be a Rod, got <class"),
        ({"rods": [rod(), rod()]}, "name = 'hose' is borne by rods[0] and rods[1]"),
        ({"bodies": [Body("hose", mass=1, inertia=(1, 1, 1))], "rods": [rod()]}, "borne by bodies[0] and rods[0]"),
        ({"rods": [rod()], "forces": [Drag("hose", 1, name="hose")]}, "borne by rods[0] and forces[0]"),
        ({"rods": [rod()], "forces": [Force("hose", (0, 0, 1))]}, "body = 'hose' is a rod, and this acts on bodies"),
    ],
)
def test_systems_refused(arguments, words):
    assert words in the_problem(System, **arguments)


def test_matrices_along_a_curve_are_read_as_one_by_one():
    """Bit for bit, half-turns and matrices that are rounded among them."""
    rng = np.random.default_rng(4)
    q = rng.standard_normal((60, 4))
    q[:20, 0] = 0.0
    R = rot.matrix_from_quaternion(rot.normalize(q)) + 1e-7 * rng.standard_normal((60, 3, 3))
    alone = [Body("b", mass=1.0, inertia=(1, 1, 1), orientation=A).orientation for A in R]
    assert np.array_equal(Curve(HELIX_SAMPLES, R).orientation, alone)
