"""Rods of Gauss-Lobatto elements in the model: meshes, defaults, splitting, files, changed copies."""

from __future__ import annotations

import math
import pickle
import re
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gyrod as gd
from gyrod import rotations
from gyrod.cli.models import _tell_rods
from gyrod.files import from_data, to_data
from gyrod.model import DISCRETIZATIONS, System
from gyrod.model.attachments import section_inertia
from gyrod.model.jumps import jumps
from gyrod.model.meshes import DEGREES, Elements, Grid, apply, apply_frames, lagrange, rule
from gyrod.model.rod_checks import DEFAULT_DEGREE, DEFAULT_ELEMENTS

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100.0)
ENDS = np.array([0.0, 0.1, 0.35, 0.4, 0.8, 1.0])
EPS = np.finfo(float).eps


def rod(**changes: Any) -> gd.Rod:
    known: dict[str, Any] = {"name": "hose", "length": 1.0, "section": gd.Circle(5e-3), "material": RUBBER}
    return gd.Rod(**known | {"start": gd.Clamped("ground")} | changes)


def polynomial(degree: int, seed: int = 1) -> np.polynomial.Polynomial:
    return np.polynomial.Polynomial(np.random.default_rng(seed).normal(size=degree + 1))


def integral(f: np.polynomial.Polynomial, a: float = 0.0, b: float = 1.0) -> float:
    F = f.integ()
    return float(F(b) - F(a))


# --- rules of quadrature ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", DEGREES)
def test_nodes_are_those_of_gauss_and_lobatto(p):
    legendre = np.polynomial.Legendre.basis(p)
    inner = np.sort(legendre.deriv().roots().real)
    np.testing.assert_allclose(rule(p).nodes, [-1.0, *inner, 1.0], atol=1e-14)
    np.testing.assert_allclose(rule(p).points, np.sort(legendre.roots().real), atol=1e-14)
    np.testing.assert_allclose(rule(p).weights, 2.0 / (p * (p + 1) * legendre(rule(p).nodes) ** 2), rtol=1e-14)


@pytest.mark.parametrize("p", DEGREES)
def test_quadrature_is_exact_to_degree_2p_1_and_no_further(p):
    r = rule(p)
    for x, w in ((r.nodes, r.weights), (r.points, r.point_weights)):
        for k in range(2 * p):
            assert w @ x**k == pytest.approx(2.0 / (k + 1) if k % 2 == 0 else 0.0, abs=4 * EPS)
        assert abs(w @ x ** (2 * p) - 2.0 / (2 * p + 1)) > 1e-3


# --- meshes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", DEGREES)
def test_points_and_weights_of_elements(p):
    mesh = Elements(p, ENDS)
    E = len(ENDS) - 1
    assert mesh.cells == E
    assert mesh.vertices.shape == mesh.frames.shape == mesh.weights.shape == mesh.frame_weights.shape == (p * E + 1,)
    assert mesh.strains.shape == mesh.curvatures.shape == mesh.point_weights.shape == (p * E,)
    assert mesh.vertices[::p].tolist() == ENDS.tolist()  # to the last bit
    assert np.all(np.diff(mesh.vertices) > 0.0)
    # Gauss points lie between the nodes, one after each.
    assert np.all(mesh.vertices[:-1] < mesh.strains)
    assert np.all(mesh.strains < mesh.vertices[1:])
    f = polynomial(2 * p - 1)
    assert mesh.weights @ f(mesh.vertices) == pytest.approx(integral(f), rel=1e-13)
    assert mesh.point_weights @ f(mesh.strains) == pytest.approx(integral(f), rel=1e-13)


@pytest.mark.parametrize("p", DEGREES)
@given(s=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=9))
def test_interpolation_in_elements_is_exact_for_polynomials(p, s):
    mesh = Elements(p, ENDS)
    f, g = polynomial(p), polynomial(p - 1)
    for at, points, known in (
        (mesh.vertex_at, mesh.vertices, f),
        (mesh.frame_at, mesh.frames, f),
        (mesh.strain_at, mesh.strains, g),
        (mesh.curvature_at, mesh.curvatures, g),
    ):
        rows, weights = at(s)
        assert rows.shape == weights.shape
        field = known(points)[:, None] * [1.0, -2.0]
        np.testing.assert_allclose(apply(rows, weights, field), known(np.array(s))[:, None] * [1.0, -2.0], atol=2e-13)
        np.testing.assert_allclose(
            mesh.interpolate(rows, weights, np.stack([field, field]))[1], apply(rows, weights, field)
        )


@pytest.mark.parametrize("p", DEGREES)
def test_a_node_has_its_own_value_and_no_other(p):
    mesh = Elements(p, ENDS)
    field = np.random.default_rng(0).normal(size=(len(mesh.vertices), 3))
    assert apply(*mesh.vertex_at(mesh.vertices), field).tolist() == field.tolist()


def test_fields_may_jump_between_elements():
    mesh = Elements(3, ENDS)
    field = np.repeat(np.arange(5.0), 3)[:, None]
    found = apply(*mesh.strain_at([0.0, 0.1, 0.1 - 1e-12, 0.8, 1.0]), field)[:, 0]
    np.testing.assert_allclose(found, [0.0, 1.0, 0.0, 4.0, 4.0], atol=1e-12)


@given(s=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=9))
def test_interpolation_on_the_grid_is_linear(s):
    mesh = Grid(ENDS)
    rng = np.random.default_rng(3)
    x = rng.normal(size=len(mesh.vertices))
    rows, weights = mesh.vertex_at(s)
    np.testing.assert_allclose(apply(rows, weights, x[:, None])[:, 0], np.interp(s, ENDS, x), atol=1e-14)
    assert np.array_equal(rows, mesh.curvature_at(s)[0])
    line = 2.0 - 3.0 * mesh.strains  # also beyond the last midpoints
    np.testing.assert_allclose(apply(*mesh.strain_at(s), line[:, None])[:, 0], 2.0 - 3.0 * np.array(s), atol=1e-13)
    assert np.array_equal(mesh.frame_at(s)[1], mesh.strain_at(s)[1])


def test_the_grid_is_what_it_was():
    """Points, weights and interpolation to the last bit, by the formulas that were there before meshes."""
    uneven = np.linspace(0.0, 1.0, 12) ** 1.3
    for made, s in ((rod(segments=10), np.arange(11.0) / 10), (rod(grid=uneven), uneven)):
        middle = 0.5 * (s[1:] + s[:-1])
        mesh = made.mesh
        assert made.discretization == "staggered"
        assert made.degree is None
        for found, known in (
            (made.fractions, s), (mesh.vertices, s), (mesh.curvatures, s), (mesh.ends, s), (made.midpoints, middle),
            (mesh.frames, middle), (mesh.strains, middle), (mesh.frame_weights, np.diff(s)),
            (mesh.point_weights, np.diff(s)), (made.lengths, 1.0 * np.diff(s)),
        ):  # fmt: skip
            assert found.tobytes() == known.tobytes()
        np.testing.assert_allclose(mesh.weights.sum(), 1.0, rtol=1e-15)
        assert mesh.weights[0] == 0.5 * (s[1] - s[0])
        x = np.random.default_rng(2).normal(size=(4, len(s), 3))
        j, xi = made.segment_at(0.37)
        assert apply(*mesh.vertex_at(0.37), x)[:, 0].tobytes() == ((1.0 - xi) * x[:, j] + xi * x[:, j + 1]).tobytes()


def test_frames_are_interpolated_on_the_sphere():
    mesh = Elements(4, [0.0, 0.5, 1.0])
    turn = lambda s: rotations.exp(np.outer(s, [0.3, -0.8, 0.5]))  # noqa: E731
    s = np.linspace(0.0, 1.0, 23)
    p = turn(mesh.frames)
    found = apply_frames(*mesh.frame_at(s), p)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(found, turn(s), atol=3e-6)
    p[1::2] *= -1.0  # the same rotations
    other = apply_frames(*mesh.frame_at(s), np.stack([p, p]))
    np.testing.assert_allclose(rotations.distance(other[1], found), 0.0, atol=1e-7)
    assert mesh.interpolate_frames(*mesh.frame_at([0.3]), p).shape == (1, 4)


def test_lagrange_polynomials_add_up_to_one():
    x = np.linspace(-1.0, 1.0, 17)
    for p in DEGREES:
        np.testing.assert_allclose(lagrange(rule(p).nodes, x).sum(axis=1), 1.0, rtol=1e-14)
        np.testing.assert_allclose(lagrange(rule(p).nodes, rule(p).points), rule(p).values)


# --- what a rod gets -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "discretization", "degree", "segments"),
    [
        ({}, "elements", DEFAULT_DEGREE, DEFAULT_ELEMENTS),
        ({"segments": 10}, "staggered", None, 10),
        ({"grid": (0, 0.5, 1)}, "staggered", None, 2),
        ({"discretization": "staggered", "segments": 10}, "staggered", None, 10),
        ({"discretization": "elements"}, "elements", DEFAULT_DEGREE, DEFAULT_ELEMENTS),
        ({"discretization": "elements", "segments": 1}, "elements", DEFAULT_DEGREE, 1),
        ({"discretization": "elements", "grid": (0, 1)}, "elements", DEFAULT_DEGREE, 1),
        ({"degree": 2}, "elements", 2, DEFAULT_ELEMENTS),
        ({"degree": np.int64(4), "segments": 3}, "elements", 4, 3),
        ({"degree": 3, "grid": (0, 0.3, 1)}, "elements", 3, 2),
        ({"degree": 3, "discretization": "elements", "segments": 2, "grid": (0, 0.3, 1)}, "elements", 3, 2),
    ],
)
def test_who_says_what_gets_what(said, discretization, degree, segments):
    made = rod(**said)
    assert (made.discretization, made.degree, made.segments) == (discretization, degree, segments)
    assert made.discretization in DISCRETIZATIONS
    nodes = segments + 1 if degree is None else degree * segments + 1
    assert made.fractions is made.mesh.vertices
    assert made.positions.shape == made.velocities.shape == (nodes, 3)
    assert made.quaternions.shape == (len(made.mesh.frames), 4)
    assert made.spins.shape == (len(made.mesh.frames), 3)
    assert type(made.degree) in (int, type(None))


@pytest.mark.parametrize("p", DEGREES)
def test_a_rod_of_elements_lies_and_moves_as_its_shape(p):
    arc = gd.Arc((0, 0, 0), (1, 0, 0), (0, 0, 1), radius=0.7, angle=2.0)
    spin = np.array([0.3, 1.0, -2.0])
    made = rod(
        initial=arc, length=None, degree=p, segments=5, start=None, angular_velocity=spin, velocity=(1, 2, 3),
        precurvature=lambda s: (s, 0, 0), prestrain=lambda s: (0, 0, 0.01 * s),
    )  # fmt: skip
    x, q = arc.place(made.mesh.vertices, made.length)
    np.testing.assert_allclose(made.positions, x, atol=1e-15)
    np.testing.assert_allclose(np.abs(np.sum(made.quaternions * q, axis=1)), 1.0, atol=1e-15)
    assert np.all(np.sum(made.quaternions[1:] * made.quaternions[:-1], axis=1) > 0.0)
    np.testing.assert_array_equal(made.end_frames, made.quaternions[[0, -1]])
    np.testing.assert_allclose(
        rotations.rotate(made.quaternions, made.spins), np.tile(spin, (5 * p + 1, 1)), atol=1e-14
    )
    np.testing.assert_allclose(made.velocities, np.array([1, 2, 3]) + np.cross(spin, x - x[0]), atol=1e-14)
    np.testing.assert_array_equal(made.precurvatures[:, 0], made.mesh.curvatures)
    np.testing.assert_array_equal(made.prestrains[:, 2], 0.01 * made.mesh.strains)
    # Between the nodes it is a polynomial, which is near the arc, the offset along its frame.
    there, frame = arc.place([0.33], made.length)
    at = there[0] + rotations.rotate(frame[0], [0.01, -0.02, 0.0])
    np.testing.assert_allclose(made.point(0.33, (0.01, -0.02)), at, atol={2: 3e-4, 3: 2e-5, 4: 1e-6}[p])
    np.testing.assert_array_equal(made.point(float(made.fractions[4])), made.positions[4])
    assert made.segment_at(0.5) == (2, pytest.approx(0.5))
    assert made.segment_at(1.0) == (4, 1.0)


SHORT = "must be 2, 3 or 4, got"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"degree": 1}, f"Rod 'hose': degree {SHORT} 1."),
        ({"degree": 5}, f"degree {SHORT} 5."),
        ({"degree": 2.5}, f"degree {SHORT} 2.5."),
        ({"degree": 3.0}, f"degree {SHORT} 3.0."),
        ({"degree": "3"}, f"degree {SHORT} '3'."),
        ({"degree": True}, f"degree {SHORT} True."),
        ({"degree": [3]}, f"degree {SHORT} [3]."),
        ({"discretization": "element"}, "discretization = 'element' is unknown; it can be 'staggered', 'elements'."),
        ({"discretization": 3}, "discretization = 3"),
        (
            {"discretization": "staggered", "degree": 3, "segments": 10},
            "degree = 3 is for elements, but discretization = 'staggered'; leave degree out",
        ),
        ({"discretization": "staggered"}, "segments is missing; give their number, or a grid"),
        ({"discretization": "elements", "segments": 0}, "segments must be an integer from 1 to 1000000, got 0"),
        ({"discretization": "elements", "grid": (0,)}, "grid must have 2 to 1000001 fractions, got 1"),
        ({"discretization": "staggered", "grid": (0, 1)}, "grid must have 3 to 1000001 fractions, got 2"),
        ({"degree": 4, "segments": 300_000}, "segments = 300000 elements of degree = 4 have 1200001 nodes; at most"),
        ({"degree": 3, "segments": 4, "grid": (0, 0.5, 1)}, "grid has 3 fractions, but segments = 4 need 5"),
        ({"curvature": "sine"}, "curvature = 'sine' is a variant of the staggered grid; elements have curvature = 'an"),
        ({"degree": 2, "curvature": ("sine", 3.0)}, "curvature = ('sine', 3.0) is a variant of the staggered grid"),
        (
            {"inertia": "cylinder"},
            "inertia = 'cylinder' is a variant of the staggered grid; elements have inertia = 'd",
        ),
        (
            {"mass": "blended"},
            "mass = 'blended' is a variant of the staggered grid; elements have mass = 'lumped' only",
        ),
        ({"degree": 3, "mass": 0.5}, "Leave mass out, or take discretization = 'staggered'."),
    ],
)
def test_bad_input_gets_a_sentence(said, message):
    with pytest.raises(gd.ModelError, match=re.escape(message)) as caught:
        rod(**said)
    assert len(caught.value.problems) == 1


@given(
    st.one_of(
        st.integers().filter(lambda n: n not in DEGREES),
        st.floats(),
        st.text(),
        st.booleans(),
        st.tuples(st.integers()),
    )
)
def test_any_other_degree_is_refused(degree):
    with pytest.raises(gd.ModelError, match="degree must be 2, 3 or 4"):
        rod(degree=degree)


@given(st.integers(max_value=0) | st.floats() | st.text() | st.booleans())
def test_any_other_number_of_elements_is_refused(segments):
    with pytest.raises(gd.ModelError, match="segments must be an integer from 1 to 1000000"):
        rod(degree=3, segments=segments)


@pytest.mark.parametrize("p", DEGREES)
@pytest.mark.parametrize("curvature", [(30.0, 0.0, 3.0), lambda s: (40.0 * s, 0.0, 1.0)])
def test_an_element_turns_by_half_a_turn_at_most(p, curvature):
    def coil(segments: int, **more: Any) -> gd.Rod:
        return rod(initial=gd.Bent(curvature), degree=p, segments=segments, start=None, **more)

    with pytest.raises(gd.ModelError) as caught:
        coil(2)
    sentence = str(caught.value)
    assert re.search(r"segments = 2 are too few for initial: the frame turns by \d+ degrees in element \d", sentence)
    assert "an element can represent at most 180." in sentence
    found = re.search(r"Use at least (\d+) elements\.", sentence)
    assert found
    enough = int(found[1])
    coil(enough)
    with pytest.raises(gd.ModelError, match="are too few for initial"):
        coil(enough - 1)


def test_half_a_turn_is_just_allowed():
    half, more = (
        {"initial": gd.Arc((0, 0, 0), (1, 0, 0), (0, 0, 1), 1.0, angle), "length": None, "start": None, "degree": 3}
        for angle in (2.0 * np.pi, 2.01 * np.pi)
    )
    rod(segments=2, **half)
    with pytest.raises(gd.ModelError, match=r"turns by 181 degrees in element 0, between s = 0 and s = 0\.5;"):
        rod(segments=2, **more)
    with pytest.raises(gd.ModelError, match=r"Use at least 3 elements of one size\."):
        rod(grid=(0.0, 0.2, 0.9, 1.0), **more)


# --- splitting -------------------------------------------------------------------------------------------------------

TIP = gd.RodLoad("hose", 0.37, force=(0, 0, 1), name="tip")
SETS_IN: dict[str, tuple[Any, list[float]]] = {
    "load": (TIP, [0.37]),
    "load at an end": (gd.RodLoad("hose", force=(0, 0, 1)), []),
    "load at an element's end": (gd.RodLoad("hose", 0.5, moment=(0, 0, 1)), []),
    "span": (gd.RodLoad("hose", span=(0.1, 0.45), force=(0, 0, 1)), [0.1, 0.45]),
    "profile": (gd.RodLoad("hose", span=(0.1, 1.0), force=(0, 0, 1), profile=lambda s: 1.0 + (s < 0.22)), [0.1, 0.22]),
    "profile that jumps elsewhere": (
        gd.RodLoad("hose", span=(0.5, 1.0), force=(0, 0, 1), profile=lambda s: (1.0, s, s < 0.22)),
        [],
    ),
    "foundation": (gd.Foundation("hose", 100.0, span=(0.25, 0.75)), [0.25, 0.75]),
    "whole foundation": (gd.Foundation("hose", 100.0), []),
    "mass": (gd.PointMass("hose", 0.9, 0.1), [0.9]),
    "tendon": (gd.Tendon("hose", [(s, (4e-3, 0)) for s in (0, 0.25, 0.5, 0.75, 1)], 1.0), [0.25, 0.75]),
    "cable": (gd.Cable("ground", "hose", (0, 0, 1), 0.55, stiffness=1e3), [0.55]),
    "cable within": (gd.Cable("hose", "hose", (0.11, (0, 1e-3)), 0.89, stiffness=1e3), [0.11, 0.89]),
    "drag": (gd.Drag("hose", 0.1), []),
    "flow": (gd.Flow("hose", (1, 0, 0), 0.1, span=(0.25, 0.75)), [0.25, 0.75]),
    "obstacle": (gd.PlaneObstacle((0, 0, -1), (0, 0, 1), stiffness=1e4, smoothing=1e-3), []),
}


@pytest.mark.parametrize("kind", SETS_IN)
def test_elements_end_where_something_sets_in(kind):
    force, wanted = SETS_IN[kind]
    own = [0.0, 0.25 + 0.05, 0.5, 1.0]
    given_ = rod(degree=3, grid=own)
    system = System(rods=[given_], forces=[force])
    split = system.rod("hose")
    assert split.mesh.ends.tolist() == sorted({*own, *wanted})
    assert system.rods[0] is split
    assert split.mesh.cells == 3 + len(wanted)
    assert len(split.positions) == len(split.quaternions) == 3 * split.mesh.cells + 1
    # What the user has said stays, and the user's own rod is as it was.
    assert split == given_
    assert split.segments == 3
    assert np.array_equal(split.grid, own)
    assert given_.mesh.cells == 3
    assert len(system.notes) == bool(wanted)
    assert (split is given_) == (not wanted)
    grid = rod(segments=10)
    assert System(rods=[grid], forces=[force]).rods[0] is grid


STEP: dict[str, tuple[dict[str, Any], str]] = {
    "stiffness": ({"stiffness": lambda s: (9, 9, 9, 1, 1, 1 + (s > 0.3141592))}, "stiffness"),
    "density": ({"density_per_length": lambda s: 1.0 if s < 0.3141592 else 1.2}, "density_per_length"),
    "rotary inertia": ({"rotary_inertia": lambda s: (1, 1 + (s >= 0.3141592), 2)}, "rotary_inertia"),
    "radius": ({"section": gd.Circle(lambda s: 4e-3 + 1e-3 * (s > 0.3141592))}, "section.radius"),
    "width": ({"section": gd.Rectangle(0.01, lambda s: 0.02 - 0.01 * (s > 0.3141592))}, "section.height"),
    "precurvature": ({"precurvature": lambda s: (s > 0.3141592, 0, 0)}, "precurvature"),
    "prestrain": ({"prestrain": lambda s: (0, 0, 0.1 * (s > 0.3141592))}, "prestrain"),
    "shape": ({"initial": gd.Bent(lambda s: (1.0 + (s > 0.3141592), 0, 0))}, "initial.curvature"),
}


@pytest.mark.parametrize("kind", STEP)
def test_elements_end_where_properties_jump(kind):
    changes, field = STEP[kind]
    made = rod(**changes)
    system = System(rods=[made])
    assert system.rod("hose")._extra == (pytest.approx(0.3141592, abs=1e-11),)
    assert made.jumps == {field: system.rod("hose")._extra}
    assert system.notes == (
        f"Rod 'hose' has an element end at s = 0.314159 for a jump of {field}: 9 elements in place of 8.",
    )


@given(at=st.floats(0.001, 0.999), size=st.floats(0.01, 1.0), slope=st.floats(-1.0, 1.0))
def test_jumps_are_found_where_they_are(at, size, slope):
    (found,) = jumps(lambda s: slope * s + size * (s >= at))
    assert found == pytest.approx(at, abs=1e-11)


def test_several_jumps_are_found_as_they_were_written():
    stairs = lambda s: (s >= 0.1) + 2.0 * (s > 0.3) - 5.0 * (s >= 1 / 3) + (s > 0.75) * np.ones((2, 2))  # noqa: E731
    found = jumps(stairs)
    assert found == (0.1, 0.3, pytest.approx(1 / 3, abs=1e-11), 0.75)
    assert jumps(lambda s: float(s >= 1.0)) == (1.0,)


@pytest.mark.parametrize(
    "function",
    [
        lambda s: 1.0,
        lambda s: s,
        lambda s: 1.0 + 1e-12 * (s > 0.5),  # rounding
        lambda s: (s**2, np.sin(40 * s), 3.0),
        lambda s: abs(s - 0.31),
        lambda s: np.sqrt(abs(s - 0.31)),
        lambda s: np.cbrt(s - 0.31),
        lambda s: np.tanh((s - 0.31) / 1e-4),
        lambda s: np.exp(-(((s - 0.31) / 1e-3) ** 2)),
        lambda s: 1.0 / s,
        lambda s: float("nan"),
        lambda s: "text",
        lambda s: (1.0,) * (1 + (s > 0.5)),
    ],
)
def test_what_does_not_jump_is_left_in_peace(function):
    assert jumps(function) == ()


def test_ends_that_are_nearly_one_are_one():
    made = rod(degree=3, segments=4)
    assert made._split([0.25 + 9e-10, 0.5 - 9e-10, 1e-10, 1.0]) is made
    assert made._split([0.37 + 5e-10, 0.37, 0.25])._extra == (0.25, 0.37)
    assert made._split([0.37 + 2e-9, 0.37])._extra == (0.37, 0.37 + 2e-9)
    assert made._split([0.37])._split([0.1])._extra == (0.1,)
    assert made._split([0.37])._split([]).mesh.ends.tolist() == made.mesh.ends.tolist()
    grid = rod(segments=4)
    assert grid._split([0.37])._extra == (0.37,)


@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=5, unique_by=lambda s: round(s, 6)), st.integers(1, 20))
def test_an_equal_division_gives_way(inner, count):
    """Elements between ends that must be are equal, none is longer than asked for by more than an eighth."""
    made = rod(degree=3, segments=count)._split(inner)
    ends = made.mesh.ends
    for s in inner:
        assert np.abs(ends - s).min() < 1e-9
    assert np.diff(ends).max() <= (1.125 + 1e-9) / count
    assert made.mesh.cells <= count + len(inner)
    marks = np.array([0.0, *sorted(inner), 1.0])
    for a, b in pairwise(marks):
        lengths = np.diff(ends[(ends > a - 1e-9) & (ends < b + 1e-9)])
        if b - a > 1e-6:
            np.testing.assert_allclose(lengths, lengths[0], rtol=1e-6)


def test_notes_tell_all_causes():
    forces = [TIP, SETS_IN["tendon"][0], SETS_IN["mass"][0], gd.RodLoad("rope", span=(0.1, 0.2), force=(1, 0, 0))]
    ropes = [rod(name=name, segments=n, degree=3) for name, n in (("rope", 4), ("idle", 4), ("hose", 3))]
    system = System(rods=[*ropes, rod(name="grid", segments=7)], forces=forces)
    assert system.notes == (
        "Rod 'rope' has element ends at s = 0.1 and 0.2 for RodLoad('rope'): 6 elements in place of 4.",
        "Rod 'hose' has element ends at s = 0.25, 0.5 and 0.75 for Tendon('hose'), s = 0.37 for RodLoad 'tip' and "
        "s = 0.9 for PointMass('hose'): 6 elements in place of 3.",
    )
    many = gd.Tendon("hose", [(s, (0, 4e-3)) for s in np.linspace(0.0, 1.0, 11)], 1.0)
    assert System(rods=ropes[2:], forces=[many]).notes == (
        "Rod 'hose' has element ends at s = 0.1, 0.2, 0.3 and 6 more for Tendon('hose'): 10 elements in place of 3.",
    )
    assert System(rods=ropes).notes == ()


def test_what_fails_at_a_new_node_is_told_with_the_rod():
    def stiffness(s: float) -> Any:
        if 0.36 < s < 0.38:
            raise ValueError("a hole")
        return np.ones(6)

    made = rod(stiffness=stiffness, degree=2, segments=2)
    with pytest.raises(gd.ModelError, match=re.escape("Rod 'hose': stiffness(s = 0.37) raises ValueError: a hole")):
        System(rods=[made], forces=[TIP])


def test_the_command_line_counts_segments_and_elements():
    system = System(rods=[rod(), rod(name="grid", segments=20)], forces=[TIP])
    rows: list[tuple[str, str]] = []
    data: dict[str, Any] = {}
    _tell_rods(lambda key, _, text: rows.append((key, text)), data, system)
    assert rows == [("rods", "2, 2 m, 8 elements of degree 3, 20 segments: hose, grid")]
    assert (data["segments"], data["elements"]) == (20, 8)


# --- what belongs to the nodes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", DEGREES)
def test_nodes_have_the_mass_of_both_sides_of_a_jump(p):
    light, heavy = 0.3, 0.8
    made = rod(degree=p, segments=2, length=2.0, density_per_length=lambda s: light if s < 0.5 else heavy)
    W = rule(p).weights
    found = made.lumped_inertia()[:, 0]  # each element is 1 m long
    np.testing.assert_allclose(found[:p], 0.5 * light * W[:-1], rtol=1e-14)
    np.testing.assert_allclose(found[p + 1 :], 0.5 * heavy * W[1:], rtol=1e-14)
    assert found[p] == pytest.approx(0.5 * (light + heavy) * W[0], rel=1e-14)
    turned = made.with_(density_per_length=lambda s: light if s <= 0.5 else heavy)
    np.testing.assert_allclose(turned.lumped_inertia()[:, 0], found, rtol=1e-14)


@pytest.mark.parametrize("p", DEGREES)
def test_smooth_densities_are_summed_exactly(p):
    f = polynomial(2 * p - 1) + 20.0
    mesh = Elements(p, ENDS)
    density = lambda s: np.stack([f(s), -2.0 * f(s)], axis=1)  # noqa: E731
    found = mesh.lumped(density)
    np.testing.assert_allclose(found[:, 0], mesh.weights * f(mesh.vertices), rtol=1e-14)
    np.testing.assert_allclose(found.sum(axis=0), [integral(f), -2.0 * integral(f)], rtol=1e-14)
    part = mesh.lumped(density, span=(0.1, 0.8))
    assert part[:, 0].sum() == pytest.approx(integral(f, 0.1, 0.8), rel=1e-14)
    assert not part[:p].any()
    assert part[p].any()


@pytest.mark.parametrize("e", [0, 1])
def test_ends_have_the_inertia_of_their_node(e):
    made = rod(degree=3, segments=4, section=gd.Circle(lambda s: 5e-3 - 2e-3 * s))
    wanted = made.inertia_at([e])[0, 1:] * 0.25 / 12.0  # h/2 · 1/6
    ((_, found),) = section_inertia(made, e * (len(made.fractions) - 1))
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


# --- changed copies, files, pickles ----------------------------------------------------------------------------------

ROD_CHANGES: dict[str, Any] = {
    "length": 1.0 + 5e-7,
    "segments": 7,
    "degree": 4,
    "section": gd.Circle(lambda s: 5e-3 - 1e-3 * (s > 0.61)),
    "material": gd.Material(young=3e6, shear_modulus=1.2e6, density=900.0),
    "end": gd.Hinged("ground"),
    "damping": gd.Damping(0.01, viscosities=(10.0, 3.0), factor=1e-3),
    "initial": gd.Arc((0, 0, 0), (1, 0, 0), (0, 0, 1), radius=0.7, angle=1.0 / 0.7),
    "stiffness": lambda s: (300.0, 200.0, 400.0 + (s > 0.43), 1e-3, 2e-3, 1e-3),
    "density_per_length": lambda s: 0.1 + s,
    "rotary_inertia": (1e-6, 1e-6, 2e-6),
    "precurvature": (0.1, 0.2, 0.3),
    "prestrain": lambda s: (0.0, 0.0, 0.01 * (s > 0.52)),
    "strain": "stretch",
    "velocity": lambda s: (0.0, s, 0.0),
    "angular_velocity": (0.0, 1.0, 2.0),
    "grid": np.linspace(0.0, 1.0, 7) ** 1.2,
    "discretization": "staggered",
}
KEPT = (
    "fractions", "vertices", "midpoints", "lengths", "positions", "quaternions", "end_frames", "velocities", "spins",
    "precurvatures", "prestrains",
)  # fmt: skip


def usual(**changes: Any) -> dict[str, Any]:
    straight = gd.Straight((0, 0, 0), (1, 0, 0))
    return {"segments": 6, "discretization": "elements", "initial": straight, "start": gd.Hinged("ground")} | changes


def assert_same(copy: gd.Rod, made: gd.Rod) -> None:
    assert copy == made
    assert copy._extra == made._extra
    for name in KEPT:
        a, b = getattr(copy, name), getattr(made, name)
        assert a is b is None or (a.shape == b.shape and a.tobytes() == b.tobytes()), name
    for name in ("vertices", "frames", "strains", "curvatures", "ends", "weights", "frame_weights", "point_weights"):
        assert getattr(copy.mesh, name).tobytes() == getattr(made.mesh, name).tobytes(), name
    for at in ("stiffness_at", "inertia_at", "damping_at"):
        assert getattr(copy, at)(made.fractions).tobytes() == getattr(made, at)(made.fractions).tobytes(), at
    for field in fields(gd.Rod):
        assert isinstance(getattr(copy, field.name), type(getattr(made, field.name))), field.name


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sets(st.sampled_from(sorted(ROD_CHANGES)), min_size=1, max_size=3), min_size=1, max_size=3))
def test_changed_copies_are_as_made_anew(rounds):
    """Alone and in a system, which splits them anew."""
    copy, given_, refused = rod(**usual()), usual(), ""
    system = System(rods=[copy], forces=[TIP])
    for names in rounds:
        change = {name: ROD_CHANGES[name] for name in sorted(names)}
        given_ |= change
        if "discretization" in change:
            given_.pop("degree", None)
            if "degree" in change:
                change.pop("degree")
        elif "degree" in change:
            given_.pop("discretization", None)
        try:
            copy = copy.with_(**change)
        except gd.ModelError as error:
            refused = str(error)
            break
        system = system.with_({f"hose.{name}": value for name, value in change.items()})
    if refused:
        with pytest.raises(gd.ModelError) as anew:
            rod(**given_)
        assert str(anew.value) == refused
        return
    assert_same(copy, rod(**given_))
    made = System(rods=[rod(**given_)], forces=[TIP])
    assert_same(system.rods[0], made.rods[0])
    assert system.notes == made.notes


def test_elements_stay_elements():
    made = rod()
    assert made.with_(segments=12).degree == 3
    assert made.with_(segments=12).mesh.cells == 12
    assert made.with_(degree=4).mesh.cells == 8
    grid = made.with_(discretization="staggered", segments=20)
    assert (grid.degree, grid.mesh.cells) == (None, 20)
    back = grid.with_(degree=2)
    assert (back.discretization, back.degree, back.segments) == ("elements", 2, 20)
    assert grid.with_(discretization="elements").degree == DEFAULT_DEGREE
    assert made.with_(degree=None).degree == DEFAULT_DEGREE
    with pytest.raises(gd.ModelError, match="degree = 3 is for elements"):
        grid.with_(degree=3, discretization="staggered")


def test_a_changed_system_is_split_anew():
    system = System(rods=[rod()], forces=[TIP])
    moved = system.with_({"tip.at": 0.71})
    assert moved.rods[0]._extra == (0.71,)
    assert moved.with_({"tip.at": 0.5}).rods[0]._extra == ()
    assert moved.with_(forces=[]).notes == ()
    stiffer = system.with_({"hose.material.young": 6e6})
    assert stiffer.rods[0].mesh is system.rods[0].mesh  # nothing was placed anew
    finer = system.with_({"hose.segments": 100})  # 0.37 is an end now
    assert finer.rods[0]._extra == ()
    assert len(finer.rods[0].mesh.ends) == 101
    assert system.rods[0]._extra == (0.37,)
    elsewhere = System(rods=[system.rods[0]], forces=[gd.PointMass("hose", 0.1, 1.0)])
    assert elsewhere.rods[0]._extra == (0.1,)


def test_paths_reach_the_degree():
    system = System(rods=[rod()], forces=[TIP])
    assert system.get("hose.degree") == 3
    assert system.with_({"hose.degree": 2}).rods[0].mesh.degree == 2
    assert system.paths()["hose.degree"] == 3
    assert "hose.degree" not in System(rods=[rod(segments=10)]).paths()


@pytest.mark.parametrize("said", [{}, {"degree": 2, "segments": 3}, {"degree": 4, "grid": (0.0, 0.3, 1.0)}])
@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_files_hold_elements(said, ending, tmp_path):
    section = gd.Circle(gd.Expression("0.005 - 0.001*s"))
    system = System(rods=[rod(section=section, **said)], forces=[TIP])
    data = to_data(system)["rods"][0]
    assert data["degree"] == system.rods[0].degree
    assert "discretization" not in data
    assert ("segments" in data) == ("grid" not in said)  # the user's, not those of the splits
    path = tmp_path / f"hose.{ending}"
    system.save(path)
    loaded = gd.load(path)
    assert loaded == system
    assert loaded.notes == system.notes
    assert_same_mesh(loaded, system)


def assert_same_mesh(a: System, b: System) -> None:
    assert a.rods[0].mesh.vertices.tobytes() == b.rods[0].mesh.vertices.tobytes()


def test_files_of_grids_are_what_they_were():
    data = to_data(System(rods=[rod(segments=10)]))["rods"][0]
    assert data["segments"] == 10
    assert not {"degree", "discretization"} & set(data)


def test_files_say_discretization_in_words():
    plain = to_data(System(rods=[rod()]))
    told = plain["rods"][0]
    del told["degree"], told["segments"]
    assert from_data(plain).rods[0] == rod()
    told["discretization"] = "elements"
    assert from_data(plain).rods[0] == rod()
    told |= {"discretization": "staggered", "segments": 8}
    assert from_data(plain).rods[0] == rod(segments=8)
    for field, value, message in (
        ("degree", 7, "rods[0].degree: must be 2, 3 or 4, got 7."),
        ("degree", "three", "rods[0].degree: "),
        ("discretization", "elemnts", "Did you mean 'elements'?"),
    ):
        with pytest.raises(gd.ModelError, match=re.escape(message)):
            from_data(plain | {"rods": [{**told, "discretization": "elements", field: value}]})


def test_pickles_keep_the_splits():
    system = System(rods=[rod(section=gd.Circle(gd.Expression("0.005 - 0.001*s")))], forces=[TIP])
    again = pickle.loads(pickle.dumps(system))
    assert again == system
    assert again.notes == system.notes
    assert_same_mesh(again, system)


@pytest.mark.parametrize("turns", [0.5, 3, 10])
def test_a_rod_that_says_nothing_has_elements_enough_for_its_shape(turns):
    angle = 2.0 * np.pi * turns
    helix = gd.Curve(lambda s: (0.1 * np.cos(angle * s), 0.1 * np.sin(angle * s), 0.2 * s))
    made = gd.Rod("spring", section=gd.Circle(radius=2e-3), material=RUBBER, initial=helix)
    dots = np.abs(np.sum(made.quaternions[1:] * made.quaternions[:-1], axis=1))
    quarter = 2.0 * np.arccos(np.minimum(dots, 1.0)).reshape(made.segments, 3).sum(axis=1)
    assert made.segments >= 8
    assert quarter.max() <= 0.5 * np.pi * (1.0 + 1e-3)
    assert made.segments == 8 or quarter.max() > 0.4 * np.pi


def test_a_rod_that_says_nothing_has_elements_enough_for_its_precurvature():
    made = gd.Rod("coil", 1.0, section=gd.Circle(radius=2e-3), material=RUBBER, precurvature=(0, 40, 0))
    assert made.segments == math.ceil(40.0 / (0.5 * np.pi))
    assert gd.Rod("arc", 1.0, section=gd.Circle(radius=2e-3), material=RUBBER, precurvature=(0, 4, 0)).segments == 8
