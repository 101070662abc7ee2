"""Surfaces, curves with a radius and what they sweep, against closed forms, SciPy and brute force."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize, minimize_scalar
from scipy.spatial import ConvexHull

from gyrod import geometry

#: Every surface: its closed form by (distance, distance from the axis, height), written once more.
SURFACES = {
    "plane": (geometry.plane((0, 0, 2), 0.3), lambda p: p[:, 2] - 0.3),
    "ball": (geometry.ball(0.7), lambda p: np.linalg.norm(p, axis=1) - 0.7),
    "bowl": (geometry.ball(0.7, hollow=True), lambda p: 0.7 - np.linalg.norm(p, axis=1)),
    "cylinder": (geometry.cylinder(0.4), lambda p: np.hypot(p[:, 0], p[:, 1]) - 0.4),
    "pipe": (geometry.cylinder(0.4, hollow=True), lambda p: 0.4 - np.hypot(p[:, 0], p[:, 1])),
    "capsule": (
        geometry.capsule(0.3, 1.0),
        lambda p: np.linalg.norm(p - np.clip(p, [0, 0, -0.5], [0, 0, 0.5]), axis=1) - 0.3,
    ),
    "box": (geometry.box((1.0, 0.6, 0.4)), lambda p: _rounded(np.abs(p) - [0.5, 0.3, 0.2])),
    "short cylinder": (
        geometry.cylinder(0.4, 0.6),
        lambda p: _rounded(np.stack([np.hypot(p[:, 0], p[:, 1]) - 0.4, np.abs(p[:, 2]) - 0.3], axis=1)),
    ),
}


def _rounded(q):
    return np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0)


def convex_mesh(seed, count=60):
    """Vertices and faces of a convex body, turned outwards."""
    points = np.random.default_rng(seed).normal(size=(count, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True) * 2.0
    faces = ConvexHull(points).simplices
    a, b, c = (points[faces[:, k]] for k in range(3))
    inwards = np.einsum("fi,fi->f", np.cross(b - a, c - a), a) < 0.0
    faces[inwards] = faces[inwards][:, ::-1]
    return points, faces


def ring_mesh(big=0.5, small=0.2, n=24, m=12):
    u, v = np.meshgrid(2 * np.pi * np.arange(n) / n, 2 * np.pi * np.arange(m) / m, indexing="ij")
    rho = big + small * np.cos(v)
    points = np.stack([rho * np.cos(u), rho * np.sin(u), small * np.sin(v)], axis=-1).reshape(-1, 3)
    i, j = np.divmod(np.arange(n * m), m)
    a, b, c, d = (((i + di) % n) * m + (j + dj) % m for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1)))
    return points, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def triangle_distance(points, triangle):
    """Distances by the quadratic programme, with a general optimiser."""
    a, e, f = triangle[0], triangle[1] - triangle[0], triangle[2] - triangle[0]
    found = []
    for p in points:

        def square(z, p=p):
            return np.sum((a + z[0] * e + z[1] * f - p) ** 2)

        inside = {"type": "ineq", "fun": lambda z: 1.0 - z[0] - z[1]}
        best = minimize(square, (0.3, 0.3), bounds=[(0, 1), (0, 1)], constraints=[inside], options={"ftol": 1e-14})
        found.append(np.sqrt(best.fun))
    return np.array(found)


@pytest.mark.parametrize("name", SURFACES)
def test_distances_normals_and_points_of_surfaces(name):
    surface, exact = SURFACES[name]
    points = np.random.default_rng(1).uniform(-1.2, 1.2, size=(400, 3))
    found = surface.nearest(points)
    assert_allclose(found.distance, exact(points), atol=3e-15)
    h = 1e-6
    slope = [(exact(points + h * e) - exact(points - h * e)) / (2 * h) for e in np.eye(3)]
    smooth = np.abs(np.linalg.norm(slope, axis=0) - 1.0) < 1e-4  # not where two points are equally near
    assert smooth.mean() > 0.9
    assert_allclose(found.normal[smooth], np.transpose(slope)[smooth], atol=2e-4)
    assert_allclose(exact(found.point), 0.0, atol=1e-14)
    assert_allclose(points - found.distance[:, None] * found.normal, found.point, atol=1e-14)
    again = pickle.loads(pickle.dumps(surface)).nearest(points)
    assert np.array_equal(again.distance, found.distance)


def test_a_cone_is_that_of_its_profile():
    found = geometry.cone(0.4, 1.0).nearest([[0, 0, 0.7], [0, 0, 0.5], [0, 0, -0.6], [0.8, 0, -0.5], [0.1, 0, -0.45]])
    assert_allclose(found.distance, [0.2, 0.0, 0.1, 0.4, -0.05], atol=1e-15)
    side = geometry.cone(0.4, 1.0).nearest([[0.5, 0.0, 0.1]]).distance
    assert_allclose(side, (1.0 * (0.5 - 0.4) + 0.4 * (0.1 + 0.5)) / np.hypot(1.0, 0.4), atol=1e-15)


def test_a_triangle_is_where_an_optimiser_finds_it():
    rng = np.random.default_rng(3)
    triangle, points = rng.normal(size=(3, 3)), 2.0 * rng.normal(size=(40, 3))
    found = geometry.mesh(triangle, [[0, 1, 2]])
    assert not found.closed
    assert_allclose(found.nearest(points).distance, triangle_distance(points, triangle), atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_meshes_against_all_their_triangles_one_by_one(seed):
    rng = np.random.default_rng(seed)
    vertices, faces = rng.normal(size=(30, 3)), rng.integers(0, 30, size=(25, 3))
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
    points = 1.5 * rng.normal(size=(20, 3))
    each = [geometry.mesh(vertices, face[None]).nearest(points).distance for face in faces]
    found = geometry.mesh(vertices, faces).nearest(points)
    assert_allclose(found.distance, np.min(each, axis=0), atol=1e-14)
    assert_allclose(
        np.choose(np.argmin(each, axis=0), each), np.take_along_axis(np.array(each), found.part[None], 0)[0]
    )


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_sides_of_closed_meshes(seed):
    """A convex body: its faces tell. Turned inside out it is the same body."""
    vertices, faces = convex_mesh(seed)
    points = np.random.default_rng(seed + 1).uniform(-0.7, 0.7, size=(60, 3))
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    n = np.cross(b - a, c - a)
    planes = np.einsum("pfi,fi->pf", points[:, None] - a, n / np.linalg.norm(n, axis=1, keepdims=True)).max(axis=1)
    for turned in (faces, faces[:, ::-1]):
        body = geometry.mesh(vertices, turned)
        assert body.closed
        found = body.nearest(points).distance
        assert np.array_equal(found < 0.0, planes < 0.0)
        assert np.array_equal(body.inside(points), planes < 0.0)
        assert_allclose(found[planes < 0.0], planes[planes < 0.0], atol=1e-13)


def test_an_open_mesh_has_no_inside():
    vertices, faces = convex_mesh(5)
    body = geometry.mesh(vertices, faces[1:])
    assert not body.closed
    assert np.all(body.nearest(np.zeros((1, 3))).distance > 0.0)
    with pytest.raises(ValueError, match="the mesh is not closed, so that it has no inside; close it"):
        body.inside(np.zeros((1, 3)))


# --- curves ----------------------------------------------------------------------------------------------------------


def wave(s, seed):
    """A smooth curve, points (n, 3) at s."""
    rng = np.random.default_rng(seed)
    a, k, phase = rng.normal(size=(3, 3)) * 0.25, rng.uniform(1, 5, size=3), rng.uniform(0, 6, size=(3, 3))
    bends = (a * np.sin(np.multiply.outer(s, k)[..., None] + phase)).sum(axis=1)
    return 1.6 * (s[:, None] - 0.5) * rng.normal(size=3) / 1.5 + bends + 0.4 * rng.normal(size=3)


def grid_curve(seed, cells=8, radius=0.02, taper=0.0):
    s = np.linspace(0.0, 1.0, cells + 1) ** 1.2
    return geometry.with_radius(geometry.along_grid(s, wave(s, seed)[None]), radius + taper * s)


def tube(points, radius):
    s = np.linspace(0, 1, points.shape[-2])
    return geometry.with_radius(geometry.along_grid(s, points), np.full(len(s), radius))


def samples(curve, count=300):
    """Points and radii (n, 4) along one curve."""
    u = np.linspace(0.0, 1.0, count)
    cells = range(curve.shape[1])
    return np.concatenate([geometry.point_at(np.repeat(curve, count, 0), np.full(count, c), u) for c in cells])


def test_cubics_follow_a_smooth_curve_to_the_third_power():
    errors = []
    for n in (10, 20, 40):
        s = np.linspace(0.0, 1.0, n + 1)
        curve = geometry.with_radius(geometry.along_grid(s, wave(s, 4)[None]), np.zeros(n + 1))
        u = np.linspace(0.0, 1.0, 41)
        found = np.concatenate([geometry.point_at(np.repeat(curve, 41, 0), np.full(41, c), u)[:, :3] for c in range(n)])
        at = np.concatenate([s[c] + u * (s[c + 1] - s[c]) for c in range(n)])
        errors.append(np.max(np.linalg.norm(found - wave(at, 4), axis=1)))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(orders > 2.8), orders


def test_cells_of_elements_are_the_polynomials_through_their_nodes():
    nodes = np.array([0.0, 0.2764, 0.7236, 1.0])
    points = wave(np.linspace(0, 1, 7), 1)
    cells = geometry.of_elements(nodes, points)
    for c in range(2):
        exact = np.polynomial.Polynomial.fit(nodes, points[3 * c : 3 * c + 4, 0], 3, domain=[0, 1], window=[0, 1])
        u = np.linspace(0, 1, 5)
        curve = geometry.with_radius(cells[None], np.zeros(3))
        assert_allclose(geometry.point_at(np.repeat(curve, 5, 0), np.full(5, c), u)[:, 0], exact(u), atol=1e-13)
        slope = geometry.slope_at(np.repeat(curve, 5, 0), np.full(5, c), u)[:, 0]
        assert_allclose(slope, exact.deriv()(u), atol=1e-12)


TARGETS = {name: surface for name, (surface, _) in SURFACES.items()} | {
    "cone": geometry.cone(0.4, 1.0),
    "mesh": geometry.mesh(*ring_mesh()),
    "open mesh": geometry.mesh(ring_mesh()[0], ring_mesh()[1][5:]),
}


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), taper=st.sampled_from([0.0, 0.03]))
def test_nearest_points_of_curves_against_dense_sampling_and_an_optimiser(name, seed, taper):
    surface, curve = TARGETS[name], grid_curve(seed, taper=taper)
    found = geometry.closest(surface, curve)
    dense = samples(curve)
    gaps = surface.nearest(dense[:, :3]).distance - dense[:, 3]
    length = np.sum(np.linalg.norm(np.diff(dense[:, :3], axis=0), axis=1))
    deep = name == "mesh" and gaps.min() < 0.0  # how deep something is inside of a mesh is found less exactly
    assert found.gap[0] <= gaps.min() + (2e-4 * length if deep else 2e-6 * length)

    def gap(x):
        c, u = int(min(x // 1, 7)), x - int(min(x // 1, 7))
        p = geometry.point_at(curve, np.array([c]), np.array([u]))
        return float(surface.nearest(p[:, :3]).distance[0] - p[0, 3])

    at = (np.argmin(gaps) / 300.0) // 1 + (np.argmin(gaps) % 300) / 299.0
    best = minimize_scalar(gap, bounds=(max(at - 0.01, 0.0), min(at + 0.01, 8.0)), options={"xatol": 1e-10}).fun
    assert abs(found.gap[0] - min(best, gaps.min())) < (2e-4 if deep else 2e-6) * length
    # What is returned belongs together.
    p = geometry.point_at(curve, found.cell, found.u)
    assert_allclose(surface.nearest(p[:, :3]).distance - p[:, 3], found.gap, atol=1e-12)
    assert_allclose(p[:, :3] - (found.gap + p[:, 3])[:, None] * found.normal, found.point, atol=1e-12)


def test_a_mesh_is_searched_as_well_when_the_frame_before_helps():
    """A bent rod that falls through the wall of a ring."""
    s = np.linspace(-0.4, 0.4, 9)
    rod = np.stack([0.45 + 0.1 * s, s, 0.1 * np.cos(5 * s)], -1)
    heights = np.linspace(0.8, -0.5, 60)
    frames = tube(np.stack([rod + np.array([0.1 * np.sin(9 * z), 0.0, z]) for z in heights]), 0.02)
    mesh = TARGETS["mesh"]
    together = geometry.closest(mesh, frames).gap
    alone = np.array([geometry.closest(mesh, frame[None]).gap[0] for frame in frames])
    outside = alone > 0.0
    assert 10 < outside.sum() < 50
    assert_allclose(together[outside], alone[outside], atol=3e-6)
    assert_allclose(together, alone, atol=3e-4)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_two_curves_against_all_pairs_of_samples(seed):
    a, b = grid_curve(seed), grid_curve(seed + 1, cells=5)
    found = geometry.between_curves(a, b)
    p, q = samples(a, 60), samples(b, 60)
    gap = np.linalg.norm(p[:, None, :3] - q[None, :, :3], axis=-1) - p[:, None, 3] - q[None, :, 3]
    assert found.gap[0] <= gap.min() + 3e-6
    assert gap.min() - found.gap[0] < 2e-2  # as near as samples lie
    x, y = geometry.point_at(a, found.cell, found.u), geometry.point_at(b, found.part, found.v)
    assert_allclose(np.linalg.norm(x[:, :3] - y[:, :3]) - x[0, 3] - y[0, 3], found.gap[0], atol=1e-13)
    back = geometry.between_curves(b, a)
    assert_allclose(back.gap, found.gap, atol=3e-6)


def test_two_circles_side_by_side_and_two_lines_that_cross():
    s = np.linspace(0, 1, 41)
    ring = np.stack([np.cos(2 * s), np.sin(2 * s), 0 * s], -1)
    a, b = (geometry.with_radius(geometry.along_grid(s, r * ring[None]), np.full(41, 0.01)) for r in (1.0, 1.1))
    assert_allclose(geometry.between_curves(a, b).gap, 0.08, atol=2e-6)
    lines = [np.stack([s - 0.3, 0 * s, 0 * s], -1), np.stack([0 * s, s - 0.6, 0 * s + 0.2], -1)]
    a, b = (geometry.with_radius(geometry.along_grid(s, x[None]), np.full(41, 0.01)) for x in lines)
    found = geometry.between_curves(a, b)
    assert_allclose(found.gap, 0.18, atol=1e-14)
    assert_allclose(found.normal, [[0, 0, -1]], atol=1e-9)


def test_curves_in_other_axes():
    curve = grid_curve(3)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    turn = turn * np.sign(np.linalg.det(turn))
    moved = geometry.placed(curve, (0.1, -0.2, 0.3), turn)
    assert_allclose(moved[..., :3] @ turn.T + (0.1, -0.2, 0.3), curve[..., :3], atol=1e-15)
    assert np.array_equal(moved[..., 3], curve[..., 3])


# --- sweeps ----------------------------------------------------------------------------------------------------------


def test_the_volume_of_a_straight_rod_converges_to_that_of_a_capsule():
    x = np.stack([0.31 * np.linspace(0, 1, 5), 0.23 * np.linspace(0, 1, 5), 0.11 * np.linspace(0, 1, 5)], -1)
    exact = np.pi * 0.03**2 * np.linalg.norm(x[-1] - x[0]) + 4 / 3 * np.pi * 0.03**3
    errors = []
    for h in (0.01, 0.005, 0.0025):
        swept = geometry.sweep([tube(x[None] + 0.0123, 0.03)], h)
        assert geometry.open_edges(swept.faces, len(swept.vertices)) == 0
        errors.append(1.0 - geometry.volume(swept.vertices, swept.faces) / exact)
        inside = np.linalg.norm(swept.vertices, axis=1)
        assert np.all(inside < 1.0)
    assert 0.0 < errors[0] < 0.03
    assert np.all(np.abs(np.log2(np.divide(errors[:-1], errors[1:])) - 2.0) < 0.3), errors


def test_a_swept_ring_is_closed_and_has_the_volume_of_a_torus():
    """A short rod that goes round: the frames must grow together."""
    angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    s = np.linspace(-0.02, 0.02, 3)
    a = angle[:, None] + s
    frames = np.stack([0.2 * np.cos(a), 0.2 * np.sin(a), 0 * a], -1)
    blocks = [tube(frames[:90], 0.05), tube(frames[90:], 0.05)]
    swept = geometry.sweep(blocks, 0.008)
    assert geometry.open_edges(swept.faces, len(swept.vertices)) == 0
    exact = 2 * np.pi**2 * 0.2 * 0.05**2
    assert_allclose(geometry.volume(swept.vertices, swept.faces), exact, rtol=0.01)
    rho = np.hypot(swept.vertices[:, 0], swept.vertices[:, 1])
    off = np.hypot(rho - 0.2, swept.vertices[:, 2]) - 0.05
    assert np.max(np.abs(off)) < 0.1 * 0.008 * 2
    # One piece with one hole: Euler's number is that of a torus.
    edges = 3 * len(swept.faces) // 2
    assert len(swept.vertices) - edges + len(swept.faces) == 0


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_sweeps_are_closed_and_hold_the_rod(seed):
    curve = grid_curve(seed, radius=0.05)
    swept = geometry.sweep([curve], 0.04)
    assert geometry.open_edges(swept.faces, len(swept.vertices)) == 0
    assert geometry.volume(swept.vertices, swept.faces) > 0.0
    body = geometry.mesh(swept.vertices, swept.faces)
    assert np.all(body.inside(samples(curve, 20)[:, :3]))


def test_a_grid_that_does_not_fit_into_memory(monkeypatch):
    curve = tube(np.array([[[0, 0, 0], [1, 0, 0], [2, 0.0, 0]]]), 0.05)
    with pytest.raises(geometry.TooFine, match="more than 1 GB"):
        geometry.sweep([curve], 1e-4)
    thin = tube(np.array([[[0, 0, 0], [1, 0, 0], [2, 0.0, 0]]]), 1e-9)
    with pytest.raises(geometry.TooFine, match="four million points"):
        geometry.sweep([thin], 1e-7)
    monkeypatch.setattr(geometry.swept, "MEMORY", 10**6)
    with pytest.raises(geometry.TooFine, match=r"more than 0\.001 GB"):
        geometry.sweep([curve + np.array([0, 0.1 * k, 0, 0]) for k in range(20)], 0.01)
    assert len(geometry.sweep([curve], 0.05).faces)
