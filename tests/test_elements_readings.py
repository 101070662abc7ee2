"""Rods of elements on their way to the core and back: its dictionary, sensors, sections, momenta."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.polynomial import Polynomial
from numpy.testing import assert_allclose, assert_array_equal

import gyrod as gd
from gyrod import rotations
from gyrod.equations import compile_system
from gyrod.equations.links import links
from gyrod.equations.members import template
from gyrod.equations.pieces import Pieces
from gyrod.equations.rods import BLEND, stiffest
from gyrod.equations.signals import Signals
from gyrod.model.meshes import apply, apply_frames, rule
from gyrod.quantities import POINT, ROTATION, SECTION
from gyrod.solve.members import members
from gyrod.solve.statics import _where, prepare

DEGREES = (2, 3, 4)
RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)
RADIUS, G = 5e-3, 9.81
WEIGHT = 1100 * np.pi * RADIUS**2 * G
E3 = np.array([0.0, 0.0, 1.0])
SPIRAL = gd.Curve(position=lambda s: (0.3 * np.cos(4 * s), 0.3 * np.sin(4 * s), 0.4 * s))


def hose(degree=3, segments=4, name="hose", **fields) -> gd.Rod:
    given = {"section": gd.Circle(radius=RADIUS), "material": RUBBER, "initial": gd.Straight((0, 0, 0), (0, 1, 0))}
    if "grid" in fields:
        segments = None
    return gd.Rod(name, degree=degree, segments=segments, **(given | fields))


def table_of(rod: gd.Rod, *forces, **more) -> dict:
    return compile_system(gd.System(rods=[rod], forces=forces, **more)).rods[0]


def split(rod: gd.Rod, *forces) -> gd.Rod:
    return gd.System(rods=[rod], forces=forces).rods[0]


def has_ends(mesh, *places) -> bool:
    return all(np.abs(mesh.ends - s).min() < 1e-8 for s in places)


def coupled_stiffness(s: float) -> np.ndarray:
    C = np.diag([130.0, 140.0, 390.0, 2e-3, 3e-3, 1.6e-3]) * (1.0 + s)
    C[0, 3] = C[3, 0] = C[1, 2] = C[2, 1] = 0.05
    return C


def measured(rod: gd.Rod) -> tuple[np.ndarray, np.ndarray]:
    """Strain and curvature at the Gauss points, by polynomials through nodes and their derivatives."""
    p, mesh = rod.degree, rod.mesh
    found = []
    for e in range(mesh.cells):
        nodes = slice(p * e, p * e + p + 1)
        s, at = rod.length * mesh.vertices[nodes], rod.length * mesh.strains[p * e : p * e + p]
        fits = [[Polynomial.fit(s, row, p) for row in values[nodes].T] for values in (rod.positions, rod.quaternions)]
        slope = np.stack([f.deriv()(at) for f in fits[0]], axis=1)
        P, rate = (np.stack([f(at) for f in parts], axis=1) for parts in (fits[1], [f.deriv() for f in fits[1]]))
        n = np.sum(P * P, axis=1)[:, None]
        back = rotations.conjugate(P)
        pure = np.concatenate([np.zeros((p, 1)), slope], axis=1)
        strain = rotations.multiply(back, rotations.multiply(pure, P))[:, 1:] / n - E3
        found.append((strain, 2.0 * rotations.multiply(back, rate)[:, 1:] / n))
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


# --- the core's dictionary -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", DEGREES)
def test_numbers_live_where_the_core_wants_them(degree):
    heavy = partial(np.polynomial.polynomial.polyval, c=[1.0] + [0.0] * (2 * degree - 2) + [1.0])
    rod = hose(
        degree, grid=[0.0, 0.2, 0.5, 1.0], section=None, material=None, stiffness=coupled_stiffness,
        density_per_length=heavy, rotary_inertia=lambda s: (1e-5 + s, 2e-5, 3e-5), damping=gd.Damping(factor=1e-3),
    )  # fmt: skip
    table, mesh = table_of(rod), rod.mesh
    assert table["degree"] == degree
    assert [len(table[key]) for key in ("ds", "J", "mass", "off", "span", "weight")] == [
        3 * degree, 3 * degree + 1, 3 * degree + 1, 3 * degree, 0, 0,
    ]  # fmt: skip
    C = np.array([coupled_stiffness(s) for s in mesh.strains])
    assert_array_equal(table["CG"], C[:, :3, :3])  # as they are at free ends, too
    assert_array_equal(table["CX"], C[:, :3, 3:])
    assert_array_equal(table["CK"], C[:, 3:, 3:])
    c = rod.damping_at(mesh.strains)
    assert_array_equal(table["cG"], c[:, :3])
    assert_array_equal(table["cK"], c[:, 3:])
    assert table["damped"]
    assert table["coupled"]
    assert not table["blended"]
    assert not table["off"].any()
    for key in ("ds", "lengths"):
        assert_allclose(table[key].sum(), rod.length, rtol=1e-14)
    # Gauss-Lobatto sums are exact up to the degree 2p - 1: total mass, and inertia about d1.
    assert_allclose(table["mass"].sum(), 1.0 + 1.0 / (2 * degree), rtol=1e-13)
    assert_allclose(table["J"].sum(axis=0), [1e-5 + 0.5, 2e-5, 3e-5], rtol=1e-13)
    assert_array_equal(table["mass"], table["tributary"])


def test_the_grid_tells_its_kind():
    table = table_of(gd.Rod("hose", 1.0, 5, gd.Circle(RADIUS), RUBBER, mass="blended"))
    assert table["degree"] == 0
    assert_array_equal(table["lengths"], table["ds"])
    assert_allclose(table["off"], BLEND / 6.0 * 0.2 * WEIGHT / G, rtol=1e-13)


@pytest.mark.parametrize("degree", DEGREES)
def test_what_jumps_has_both_sides_in_the_node_between(degree):
    def per_length(s: float) -> float:
        return 1.0 if s < 0.37 else 3.0

    rod = split(hose(degree, density_per_length=per_length, rotary_inertia=lambda s: np.full(3, per_length(s))))
    table, s = table_of(rod), rod.mesh.vertices
    assert has_ends(rod.mesh, 0.37)
    for found in (table["mass"], table["J"][:, 1]):
        assert_allclose(found.sum(), 0.37 + 3.0 * 0.63, rtol=0, atol=1e-8)
        assert_allclose(found @ s, 0.5 * 0.37**2 + 1.5 * (1.0 - 0.37**2), rtol=0, atol=1e-8)
        assert_allclose(found @ s**2, 0.37**3 / 3.0 + 1.0 - 0.37**3, rtol=0, atol=1e-8)


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("strain", ["cosserat", "stretch"])
def test_shapes_without_stress_are_measured_at_gauss_points(degree, strain):
    rod = hose(degree, 5, initial=SPIRAL, strain=strain)
    table = table_of(rod)
    strains, curvatures = measured(rod)
    if strain == "stretch":
        strains[:, 2] = np.linalg.norm(strains + E3, axis=1) - 1.0
    assert_allclose(table["G0"], strains + E3, rtol=0, atol=1e-12)
    assert_allclose(table["K0"], curvatures, rtol=0, atol=1e-11)
    assert np.abs(curvatures).max() > 1.0
    motion = gd.simulate(gd.System(rods=[rod], gravity=(0, 0, 0)), 1e-6, output=[0.0])
    assert np.abs(motion["hose"].force).max() < 1e-9
    assert np.abs(motion["hose"].moment).max() < 1e-12


def test_strains_that_were_given_count():
    given = {"prestrain": lambda s: (s, 0.0, 0.1 * s), "precurvature": lambda s: (0.0, 1.0 + s * s, 0.0)}
    rod = hose(3, **given)
    table, s = table_of(rod), rod.mesh.strains
    assert_array_equal(table["G0"], np.stack([s, 0 * s, 0.1 * s + 1.0], axis=1))
    assert_array_equal(table["K0"], np.stack([0 * s, 1.0 + s * s, 0 * s], axis=1))


@pytest.mark.parametrize("strain", ["kirchhoff", "inextensible"])
def test_held_strains_have_no_stiffness(strain):
    table = table_of(hose(2, strain=strain, damping=gd.Damping(factor=1e-3)))
    held = {"kirchhoff": 2, "inextensible": 3}[strain]
    assert not table["CG"][:, :held].any()
    assert not table["cG"][:, :held].any()
    assert (np.abs(table["CG"][:, held:]).sum(axis=(1, 2)) > 0.0).all() == (held == 2)


# --- loads -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("follow", [True, False])
@pytest.mark.parametrize("at", [0.0, 0.31, 0.5, 1.0])
def test_point_loads_act_on_nodes(at, follow):
    load = gd.RodLoad("hose", at=at, force=(1, 2, 3), moment=(4, 5, 6), follow=follow)
    rod = hose(3, start=gd.Clamped())
    table, mesh = table_of(rod, load), split(rod, load).mesh
    k = int(np.flatnonzero(np.isclose(mesh.ends, at, rtol=0, atol=1e-12))[0]) * 3
    found = table["loads"][0]
    assert (found.follow, found.led) == (follow, False)
    for shares in (found.force, found.moment):
        assert [share[:2] for share in shares] == [(k, k)]
        assert_array_equal(shares[0][2], np.ones(3))
    assert_array_equal(found.value(0.0), [1, 2, 3, 4, 5, 6])
    assert abs(mesh.vertices[k] - at) < 1e-12


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(DEGREES),
    st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)).map(sorted),
    st.lists(st.floats(0.05, 0.95), max_size=3, unique=True).map(sorted),
)
def test_distributed_loads_keep_resultant_and_moment(degree, span, inner):
    a, b = span
    grid = [0.0, *inner, 1.0]
    assume(b - a > 1e-3 and np.diff(grid).min() > 1e-3)

    def profile(s: float) -> list[float]:
        """Nothing at the very ends of the span: they count as little as any other points."""
        return [0.0, 0.0, 0.0] if s in (a, b) else [1.0, s, 2.0 - s**2 if degree > 2 else 2.0]

    load = gd.RodLoad("hose", span=(a, b), force=(1, 0, 0), profile=profile)
    rod = hose(degree, grid=grid, length=2.0, initial=gd.Straight((0, 0, 0), (0, 2, 0)))
    found = table_of(rod, load)["loads"][0]
    s = split(rod, load).mesh.vertices
    last = [2.0, 0.0, -1.0 if degree > 2 else 0.0]
    for shares in (found.force, found.moment):
        assert all(frame == vertex for frame, vertex, _ in shares)
        at, w = s[[k for _, k, _ in shares]], np.array([w for *_, w in shares])
        assert a - 1e-9 <= at.min()
        assert at.max() <= b + 1e-9
        for i, c in enumerate(([1.0], [0.0, 1.0], last)):
            for power in (0, 1):
                density = Polynomial(c) * Polynomial([0.0, 1.0]) ** power
                exact = 2.0 * (density.integ()(b) - density.integ()(a))
                assert_allclose(w[:, i] @ at**power, exact, rtol=0, atol=1e-8)


def test_surroundings_are_told_by_nodes():
    forces = [
        gd.Foundation("hose", stiffness=(1, 2, 3), damping=0.5, span=(0.1, 0.6)),
        gd.PointMass("hose", at=0.37, mass=0.25),
        gd.Drag("hose", coefficient=(0.1, 0.2, 0.3), rotational=0.4),
    ]
    rod, light = hose(3), hose(3)
    table, mesh = table_of(rod, *forces, gravity=lambda t: (0, 0, -t)), split(rod, *forces).mesh
    V = len(mesh.vertices)
    assert has_ends(mesh, 0.1, 0.37, 0.6)
    found = table["foundation"]
    assert found.shape == (V, 6)
    assert_allclose(found.sum(axis=0), 0.5 * np.array([1, 2, 3, 0.5, 0.5, 0.5]), rtol=1e-13)
    assert_allclose(found[:, 0] @ mesh.vertices, 0.5 * (0.6**2 - 0.1**2), rtol=1e-13)
    extra = table["mass"] - split(light, *forces).length * mesh.weights * WEIGHT / G
    at = int(np.argmax(extra))
    assert abs(mesh.vertices[at] - 0.37) < 1e-12
    assert_allclose(np.delete(extra, at), 0.0, atol=1e-15)
    assert_allclose(extra[at], 0.25, rtol=1e-13)
    assert_array_equal(table["drag"], np.tile([0.1, 0.2, 0.3], (V, 1)))
    assert_array_equal(table["spin_drag"], np.full((V, 3), 0.4))
    weights = table["loads"][-1].force
    assert [share[:2] for share in weights] == [(n, n) for n in range(V)]
    assert_array_equal([share[2][0] for share in weights], table["tributary"])


def test_strings_pull_at_nodes():
    forces = [
        gd.Tendon("hose", points=[(0.13, (0.01, 0.0)), (0.5, (0.0, 0.01)), (1.0, (0.01, 0.0))], tension=1.0),
        gd.Cable("ground", "hose", at_a=(1, 1, 1), at_b=(0.77, (0.0, 0.0)), stiffness=10.0),
    ]
    system = gd.System(rods=[hose(2, start=gd.Clamped())], forces=forces)
    s = system.rods[0].mesh.vertices
    points = [
        p
        for x in links(system, Pieces.of(system.rods, [{}], {}), {}, np.zeros((0, 3, 3)), Signals())
        for p in x.ends
        if p.rod >= 0
    ]
    assert_allclose([s[p.segment] for p in points], [0.13, 0.5, 0.5, 1.0, 0.77], rtol=0, atol=1e-12)
    assert [p.xi for p in points] == [0.0] * 5
    assert_array_equal(points[0].offset, [0.01, 0.0, 0.0])


@pytest.mark.parametrize("end", [gd.Clamped, gd.Hinged])
def test_ends_that_cannot_be_are_told(end):
    ends = {"start": end("a"), "end": end("b")}
    bodies = [gd.Body(n, 1.0, (0.1, 0.1, 0.1), position=(0, y, 0)) for n, y in (("a", 0), ("b", 1))]
    with pytest.raises(gd.ModelError, match="between two bodies needs at least 2 elements, got 1"):
        compile_system(gd.System(bodies, rods=[hose(3, 1, **ends)]))
    compile_system(gd.System(bodies, rods=[hose(3, 2, **ends)]))
    # A load inside makes two of one.
    compile_system(gd.System(bodies, rods=[hose(3, 1, **ends)], forces=[gd.RodLoad("hose", 0.3, (0, 0, 1))]))


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("radius", [5e-3, 0.2], ids=["thin", "thick"])
def test_the_largest_frequency_is_about_that_of_one_element(degree, radius):
    """Waves of extension and of torsion, or shear against rotary inertia, decide: within a factor of two."""
    rod = hose(degree, grid=[0.0, 0.4, 1.0], section=gd.Circle(radius), damping=gd.Damping(factor=1e-5))
    undamped = rod.with_(damping=None)
    for made in (rod, undamped):
        compiled = compile_system(gd.System(rods=[made], gravity=(0, 0, 0)))
        frequency, rate = stiffest(compiled.rods[0])
        values = np.linalg.eigvals(np.asarray(compiled.core.jacobian(0.0, compiled.y0)))
        if made is undamped:
            assert rate == 0.0
            assert 0.9 <= frequency / np.abs(values.imag).max() <= 2.0
        else:
            fastest = np.abs(values).max() ** 2 * 1e-5  # of Rayleigh damping: the factor times the square
            assert 0.3 <= rate / fastest <= 4.0
    with pytest.MonkeyPatch.context() as patch:  # a junction has the inertia of the end
        table = dict(compiled.rods[0])
        patch.setitem(table, "J", np.concatenate([np.zeros((1, 3)), table["J"][1:]]))
        assert np.isfinite(stiffest(table)).all()


@pytest.mark.parametrize("degree", DEGREES)
def test_the_wave_of_one_element(degree):
    """A bar of one element, stiff in torsion: its largest frequency from polynomials that are integrated exactly."""
    at = rule(degree)
    basis = [Polynomial.fromroots(np.delete(at.nodes, i)) for i in range(degree + 1)]
    slopes = [(f / f(x)).deriv() for f, x in zip(basis, at.nodes, strict=True)]
    K = np.array([[(f * g).integ()(1.0) - (f * g).integ()(-1.0) for f in slopes] for g in slopes])
    exact = 4.0 * np.linalg.eigvals(K / at.weights[:, None]).real.max()
    of_all = {"CG": 1e-9, "CK": 1.0}
    table = {
        "degree": degree, "ds": 0.5 * np.diff(at.nodes), "lengths": 0.5 * at.weights, "mass": 0.5 * at.weights,
        "J": 0.5 * at.weights[:, None] * np.ones(3), "cG": np.zeros((degree, 3)), "cK": np.full((degree, 3), 0.5),
        **{key: np.broadcast_to(np.eye(3) * size, (degree, 3, 3)) for key, size in of_all.items()},
    }  # fmt: skip
    assert_allclose(stiffest(table), [np.sqrt(exact), exact], rtol=1e-12)
    if degree == 2:
        assert_allclose(exact, 24.0, rtol=1e-12)


# --- many members ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", DEGREES)
def test_stacked_numbers_of_elements_are_those_of_single_models_to_the_last_bit(degree):
    forces = [gd.PointMass("hose", at=0.4, mass=0.01), gd.RodLoad("hose", 1.0, (0, 0, 0.1))]
    rod = hose(degree, start=gd.Clamped(), damping=gd.Damping(factor=1e-4))
    system = gd.System(rods=[rod], forces=forces)
    factors = np.array([0.8, 1.0, 1.3])
    values = {f"hose.{path}": system.get(f"hose.{path}") * np.roll(factors, i) for i, path in enumerate(
        ("material.young", "material.density", "section.radius", "damping.factor")
    )}  # fmt: skip
    found = template(system, list(values), "nullspace-quaternion")
    stack = found.stack(values)
    assert stack.good.all()
    together = members(system, list(values), 0.1, method="rodas")
    y = compile_system(system).y0 + 1e-4 * np.sin(np.arange(found.compiled.size))
    for i in range(3):
        alone = compile_system(system.with_({path: column[i] for path, column in values.items()}))
        assert_array_equal(alone.scales(), stack.scales[i])
        changes = stack.changes[0]
        for key, value in alone.rods[0].items():
            if isinstance(value, np.ndarray):
                expected = changes[key][i] if key in changes else found.compiled.rods[0][key]
                assert np.asarray(value, dtype=float).tobytes() == np.ascontiguousarray(expected).tobytes(), key
        together.revise(together.stack(values), i)
        assert_array_equal(together.compiled.core.rhs(0.0, y), alone.core.rhs(0.0, y))


# --- sensors ---------------------------------------------------------------------------------------------------------


def derivative_sensors(places) -> tuple[list, dict[str, str]]:
    sensors, pairs = [], {}
    for s in places:
        sensors += [gd.PointSensor(f"{q} {s}", "hose", s, q) for q in ("position", "velocity", "acceleration")]
        sensors += [gd.RotationSensor(f"{q} {s}", "hose", s, q) for q in ("Omega", "angular acceleration")]
        pairs |= {f"position {s}": f"velocity {s}", f"velocity {s}": f"acceleration {s}"}
        pairs |= {f"Omega {s}": f"angular acceleration {s}"}
    return sensors, pairs


def check_rates(motion: gd.Motion, pairs: dict[str, str], t: np.ndarray, h: float, rtol: float) -> None:
    """Each sensor is the time derivative of another one, by differences of fourth order."""
    now, near = motion(t).sensors, [motion(t + k * h).sensors for k in (-2, -1, 1, 2)]
    for value, rate in pairs.items():
        a, b, c, d = (sensors[value] for sensors in near)
        expected = (a - 8.0 * b + 8.0 * c - d) / (12.0 * h)
        size = max(np.abs(expected).max(), 1e-6)
        assert_allclose(now[rate], expected, rtol=0, atol=rtol * size, err_msg=rate)


@pytest.mark.parametrize(
    ("formulation", "degree"), [*(("nullspace-quaternion", p) for p in DEGREES), ("absolute-quaternion", 3)]
)
def test_readings_at_any_place_are_derivatives_of_each_other(formulation, degree):
    """Of a rod whose clamp is led and turned: at the clamp, inside of elements, at their ends."""
    base = hose().end_frames[0]
    led = gd.Clamped(
        at=lambda t: (0.0, 0.02 * np.sin(9.0 * t), 0.0),
        frame=lambda t: rotations.multiply(rotations.exp(np.array([0.0, 0.1 * np.sin(20.0 * t), 0.0])), base),
    )
    soft = gd.Material(young=5e4, poisson=0.5, density=1100)
    moving = {"velocity": lambda s: (0.0, 0.18, s * s), "angular_velocity": lambda s: (3 * s, 2, 0)}
    sensors, pairs = derivative_sensors((0.0, 0.13, 0.5, 0.57, 1.0))
    system = gd.System(rods=[hose(degree, 2, start=led, material=soft, **moving)], sensors=sensors)
    motion = gd.simulate(system, 0.002, formulation=formulation, method="dop853", rtol=1e-10)
    t = np.array([0.0005, 0.0011, 0.0018])
    check_rates(motion, pairs, t, 1e-5, 3e-5)
    held = motion(t).sensors["acceleration 0.0"]
    assert_allclose(held[:, 1], -0.02 * 81.0 * np.sin(9.0 * t), rtol=0, atol=1e-6)
    # At s = 0 the frame is base turned by 0.1 sin(20 t) about y.
    turn = rotations.rotate(rotations.conjugate(base), [0.0, 1.0, 0.0])
    spin = -0.1 * 400.0 * np.sin(20.0 * t)[:, None] * turn
    assert_allclose(motion(t).sensors["angular acceleration 0.0"], spin, rtol=0, atol=1e-5)


def test_a_clamped_end_turns_with_the_body_that_holds_it():
    bob = gd.Body(
        "bob", mass=0.05, inertia=(1e-5, 2e-5, 3e-5), position=(0, 1.0, -0.05), orientation=(0.2, 0.1, 0.3),
        angular_velocity=(3, 2, 1),
    )  # fmt: skip
    at = bob.matrix.T @ (np.array([0.0, 1.0, 0.0]) - bob.position)
    rod = hose(3, 2, start=gd.Hinged(), end=gd.Clamped("bob", at=at), damping=gd.Damping(factor=1e-3))
    sensors = [gd.PointSensor(f"{n} {q}", on, place, q, "space") for n, on, place in
               (("rod", "hose", 1.0), ("body", "bob", at)) for q in POINT]  # fmt: skip
    sensors += [gd.RotationSensor(f"{n} {q}", n, None, q) for n in ("hose", "bob") for q in ROTATION]
    motion = gd.simulate(gd.System([bob], rods=[rod], sensors=sensors), 0.02, rtol=1e-8)
    read = motion(np.array([0.005, 0.02])).sensors
    for q in POINT:
        assert_allclose(read[f"rod {q}"], read[f"body {q}"], rtol=1e-9, atol=1e-9, err_msg=q)
    turn = np.swapaxes(read["bob matrix"], -1, -2) @ read["hose matrix"]  # constant
    assert_allclose(turn[0], turn[1], rtol=0, atol=1e-9)
    for q in ("Omega", "angular acceleration"):
        assert_allclose(read[f"hose {q}"], np.einsum("nji,nj->ni", turn, read[f"bob {q}"]), rtol=1e-9, atol=1e-9)
    assert_allclose(read["hose omega"], read["bob omega"], rtol=1e-9, atol=1e-9)
    assert np.abs(read["bob angular acceleration"]).max() > 1.0


@pytest.mark.parametrize("degree", DEGREES)
def test_sections_of_a_hanging_hose_carry_what_hangs_below(degree):
    rod = hose(degree, 2, start=gd.Clamped(), initial=gd.Straight((0, 0, 0), (0, 0, -1)))
    places = (0.0, 0.1, 0.31, 0.5, 0.94, 1.0)
    sensors = [gd.SectionSensor(f"{f}{s}", "hose", s, "force", f) for s in places for f in ("body", "space")]
    rest = gd.equilibrium(gd.System(rods=[rod], sensors=sensors))
    for s in places:
        assert_allclose(rest.sensors[f"body{s}"], [0.0, 0.0, (1.0 - s) * WEIGHT], rtol=0, atol=1e-9)
        assert_allclose(rest.sensors[f"space{s}"], [0.0, 0.0, -(1.0 - s) * WEIGHT], rtol=0, atol=1e-9)


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("ends", [("Clamped", "Free"), ("Free", "Clamped"), ("Hinged", "Hinged")])
def test_frames_of_sections_follow_an_arc(ends, degree):
    held = {"Free": gd.Free(), "Clamped": gd.Clamped(), "Hinged": gd.Hinged()}
    places = (0.0, 0.02, 0.3, 0.5, 0.61, 0.99, 1.0)
    arc = gd.Arc((0, 0, 0), (1, 0, 0), (0, 0, 1), 1.0, 1.5, orientation=None)
    sensors = [gd.RotationSensor(f"{s}", "hose", s) for s in places]
    for segments in (2, 4):
        rod = hose(degree, segments, start=held[ends[0]], end=held[ends[1]], initial=arc)
        motion = gd.simulate(gd.System(rods=[rod], gravity=(0, 0, 0), sensors=sensors), 1e-6, output=[0.0])
        for s in places:
            exact = rod.initial.place([s], 1.5)[1][0]
            apart = rotations.distance(motion.sensors[f"{s}"][0], exact)
            assert apart < 2.0 * (0.375 / segments) ** (degree + 1), (segments, s)


def cantilever(degree, segments, sensors=(), force=(0.003, 0.005, -0.01)) -> gd.Rest:
    rod = hose(degree, segments, start=gd.Clamped())
    return gd.equilibrium(
        gd.System(rods=[rod], gravity=(0, 0, 0), forces=[gd.RodLoad("hose", 1.0, force)], sensors=sensors)
    )


@pytest.mark.parametrize("degree", DEGREES)
def test_a_force_at_the_end_goes_through_all_sections(degree):
    """Without other loads the section force at the Gauss points is that of the end, to the last digits."""
    force, errors = np.array([0.03, 0.05, -0.1]), []
    track = cantilever(degree, 3, force=force)["hose"]
    assert_allclose(track.force_space, np.tile(force, (3 * degree, 1)), rtol=0, atol=1e-10)
    assert_allclose(track.start_force, -force, rtol=0, atol=1e-10)
    for segments in (4, 8, 16):
        track = cantilever(degree, segments, force=0.1 * force)["hose"]
        x = apply(*track.mesh.vertex_at(track.mesh.curvatures), track.positions)
        errors.append(np.abs(track.moment_space - np.cross(track.positions[-1] - x, 0.1 * force)).max())
    assert np.log2(errors[1] / errors[2]) > degree + 0.7  # one more than between the Gauss points
    assert errors[0] < 2e-3 * np.abs(track.moment_space).max()


@pytest.mark.spread
@pytest.mark.parametrize("quantity", SECTION)
@pytest.mark.parametrize("degree", DEGREES)
def test_sections_converge_with_the_order_of_the_element(degree, quantity):
    """Between the Gauss points strains and forces are those of polynomials of degree p - 1, of order p."""
    places = {n: [(e + xi) / n for e in (0, n // 2, n - 1) for xi in (0.02, 0.35, 0.98)] for n in (16, 32)}
    sensors = [gd.SectionSensor(f"{s}", "hose", s, quantity, "space") for s in {*places[16], *places[32]}]
    fine = cantilever(4, 100, sensors).sensors
    errors = []
    for n in (16, 32):
        found = cantilever(degree, n, sensors).sensors
        errors.append(max(np.abs(found[f"{s}"] - fine[f"{s}"]).max() for s in places[n]))
    assert np.log2(errors[0] / errors[1]) > degree - 0.2
    assert errors[1] < 5e-3 * max(np.abs(fine[f"{s}"]).max() for s in places[32])


@pytest.mark.parametrize("degree", DEGREES)
def test_stress_and_bend_radius_of_pure_bending(degree):
    moment = 2e-3
    rod = hose(degree, 4, start=gd.Clamped())
    rest = gd.equilibrium(
        gd.System(rods=[rod], gravity=(0, 0, 0), forces=[gd.RodLoad("hose", 1.0, moment=(moment, 0, 0))])
    )
    EI = 5e6 * np.pi * RADIUS**4 / 4
    assert rest["hose"].bend_radius.shape == (4 * degree + 2,)
    assert_allclose(rest["hose"].bend_radius, EI / moment, rtol=1e-4)
    assert_allclose(rest.motion.stress("hose"), 5e6 * RADIUS * moment / EI, rtol=1e-4)
    assert_allclose(rest["hose"].moment_space, np.tile([moment, 0, 0], (4 * degree, 1)), rtol=0, atol=1e-4 * moment)


@pytest.mark.parametrize("degree", DEGREES)
def test_tracks_have_the_points_of_the_mesh(degree):
    rod = hose(degree, 2, start=gd.Clamped())
    motion = gd.simulate(gd.System(rods=[rod], forces=[gd.RodLoad("hose", 0.3, (0, 0, 1))]), 0.01, output=[0.0, 0.01])
    track, single = motion["hose"], motion(0.01)["hose"]
    mesh = track.mesh
    assert has_ends(mesh, 0.3)
    sizes = {
        "positions": mesh.vertices, "velocities": mesh.vertices, "quaternions": mesh.frames, "Omega": mesh.frames,
        "vertex_quaternions": mesh.vertices, "strain": mesh.strains, "force": mesh.strains, "force_space": mesh.strains,
        "curvature": mesh.curvatures, "moment": mesh.curvatures, "moment_space": mesh.curvatures,
        "multipliers": mesh.frames, "bend_radius": [0.0, *mesh.curvatures, 1.0], "directors": mesh.frames,
        "omega": mesh.frames,
    }  # fmt: skip
    for field, points in sizes.items():
        assert getattr(track, field).shape[:2] == (2, len(points)), field
        assert_allclose(getattr(single, field), getattr(track, field)[-1], rtol=1e-9, atol=1e-9, err_msg=field)
    assert_allclose(track.vertex_quaternions, track.quaternions, rtol=0, atol=1e-15)
    frames = apply_frames(*mesh.frame_at(mesh.strains), track.quaternions)
    assert_allclose(track.force_space, rotations.rotate(frames, track.force), rtol=0, atol=1e-15)
    assert "mesh" not in repr(track)
    again = pickle.loads(pickle.dumps(track))
    assert_array_equal(again.mesh.strains, mesh.strains)
    assert_array_equal(again.moment_space, track.moment_space)


def test_where_forces_are_least_balanced():
    system = gd.System(rods=[hose(3, 4, start=gd.Clamped())], forces=[gd.RodLoad("hose", 1.0, (0, 0, 5e-3))])
    statics = prepare(system)
    assert statics.newton(statics.y)[0] == "converged"
    assert _where(statics, statics.y, 0.0).startswith("at s = ")
    assert _where(statics, statics.y, 0.0).endswith("of rod 'hose'")


def test_at_rest_nothing_accelerates():
    bob = gd.Body("bob", mass=0.2, inertia=(1e-4, 1e-4, 1e-4), position=(0, 1.0, -0.05))
    rod = hose(3, 2, start=gd.Clamped(frame=lambda t: rotations.multiply([1.0, 0.0, 0.0, 0.0], hose().end_frames[0])),
               end=gd.Clamped("bob", at=(0, 0, 0.05)))  # fmt: skip
    sensors, _ = derivative_sensors((0.0, 0.4, 1.0))
    rest = gd.equilibrium(gd.System([bob], rods=[rod], sensors=sensors))
    for sensor in sensors:
        if not sensor.name.startswith("position"):
            assert_allclose(rest.sensors[sensor.name], 0.0, atol=1e-12)


# --- momenta ---------------------------------------------------------------------------------------------------------


def floating() -> dict[str, gd.System]:
    """Nothing holds them and nothing acts on them."""
    moving = {"velocity": lambda s: (0.1, s, s * s), "angular_velocity": lambda s: (5.0 * s, 1.0, 20.0 * s)}
    body = gd.Body(
        "bob", 0.02, (1e-5, 2e-5, 1.5e-5), position=(0, 1.02, 0), orientation=(0.1, 0.2, 0.3), velocity=(0, 0, 0.3),
        angular_velocity=(1, -4, 9),
    )  # fmt: skip
    on = gd.Clamped("bob", at=body.matrix.T @ np.array([0.0, -0.02, 0.0]))
    thick, stands = {"section": gd.Circle(0.03)}, {"velocity": lambda s: (0.0, 0.0, 0.0)}
    other = gd.Straight((0, 1, 0), (0.4, 1.3, 0.2))
    return {
        "rod": gd.System(rods=[hose(3, 3, **moving)], gravity=(0, 0, 0)),
        "rod on a body": gd.System([body], rods=[hose(3, 3, end=on, **thick, **stands)], gravity=(0, 0, 0)),
        "junction": gd.System(
            rods=[
                hose(3, 3, **thick, angular_velocity=(20, 30, 40)),
                hose(2, 3, "other", initial=other, start=gd.Clamped("hose"), **thick, velocity=(-40, 0, 20),
                     angular_velocity=(20, 30, 40)),
            ],
            gravity=(0, 0, 0),
        ),
    }  # fmt: skip


@pytest.mark.parametrize("kind", floating())
def test_momenta_and_energy_of_what_floats_stay(kind):
    motion = gd.simulate(floating()[kind], 0.004, output=np.linspace(0.0, 0.004, 9), method="dop853", rtol=1e-10)
    for momentum in (motion.momentum, motion.angular_momentum):
        assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), rtol=0,
                        atol=1e-8 * np.abs(momentum).max())  # fmt: skip
    energy = motion.energy.total
    assert np.ptp(motion.energy.kinetic) > 1e-4 * energy[0]
    assert_allclose(energy, energy[0], rtol=1e-8)
    turning = np.zeros(9)
    for name, table in zip(motion.compiled.system.rod_names, motion.compiled.rods, strict=True):
        turning += 0.5 * np.sum(table["J"] * motion[name].Omega ** 2, axis=(1, 2))
        turning += 0.5 * np.sum(table["mass"][:, None] * motion[name].velocities ** 2, axis=(1, 2))
    for body in motion.compiled.system.bodies:
        track = motion[body.name]
        turning += 0.5 * np.sum(track.Omega @ body.inertia * track.Omega, axis=1)
        turning += 0.5 * body.mass * np.sum(track.velocity**2, axis=1)
    assert_allclose(motion.energy.kinetic, turning, rtol=1e-12)


@pytest.mark.parametrize("degree", DEGREES)
def test_a_junction_has_the_rotary_inertia_of_the_ends(degree):
    other = gd.Straight((0, 1, 0), (0, 2, 0))
    rods = [hose(degree, 2), hose(degree, 3, "other", initial=other, start=gd.Clamped("hose"))]
    compiled = compile_system(gd.System(rods=rods))
    first, second = compiled.rods
    assert not first["J"][-1].any()
    assert not second["J"][0].any()
    assert (first["J"][:-1] > 0.0).all()
    whole = compile_system(gd.System(rods=[rods[0], rods[1].with_(start=gd.Free())])).rods
    taken = whole[0]["J"][-1] + whole[1]["J"][0]
    assert_allclose(np.sort(np.linalg.eigvalsh(compiled.system.bodies[0].inertia)), np.sort(taken), rtol=1e-12)
    assert_array_equal(first["mass"], whole[0]["mass"])


def test_sensors_at_held_ends_read_what_holds_them():
    """Gauss points lie inside; at a clamp the section carries what the clamp does, and the grid tends to that."""

    def swing(**mesh):
        hose = gd.Rod(
            "hose", 1.0, section=gd.Circle(radius=5e-3), material=gd.Material(young=5e6, poisson=0.5, density=1100),
            damping=gd.Damping(factor=5e-3), initial=gd.Straight((0, 0, 0), (0, 1, 0)), start=gd.Clamped("ground"),
            end=gd.Clamped("bob", at=(0, 0, 0.05)), **mesh,
        )  # fmt: skip
        bob = gd.Body("bob", mass=0.2, inertia=(1e-4,) * 3, position=(0, 1, -0.05))
        sensors = [
            gd.SectionSensor(f"{quantity} {at:g} {frame}", "hose", at=at, quantity=quantity, frame=frame)
            for quantity in ("force", "moment") for at in (0.0, 1.0) for frame in ("body", "space")
        ]  # fmt: skip
        return gd.simulate(gd.System(bodies=[bob], rods=[hose], sensors=sensors), 0.2, rtol=1e-5, output=[0.2])

    fine, few = swing(segments=160), swing(degree=3, segments=16)
    for name in fine.sensors.names:
        scale = np.abs(fine.sensors[name]).max()
        np.testing.assert_allclose(few.sensors[name], fine.sensors[name], atol=0.02 * scale, err_msg=name)
    np.testing.assert_array_equal(few.sensors["moment 0 space"], -few["hose"].start_moment)
    np.testing.assert_array_equal(few.sensors["force 1 space"], few["hose"].end_force)


def test_a_clamp_bends_most_and_is_not_missed():
    """A bob pulls a hose: its sharpest bend is in the clamp, where no Gauss point is; limits stop there too."""

    def hanging(limits=None, **mesh):
        rubber = gd.Material(young=5e6, poisson=0.5, density=1100)
        hose = gd.Rod(
            "hose", 1.0, section=gd.Circle(radius=5e-3), material=rubber, initial=gd.Straight((0, 0, 0), (0, 1, 0)),
            start=gd.Clamped("ground"), end=gd.Hinged("bob", at=(0, 0, 0.05)), limits=limits,
            damping=gd.Damping(factor=5e-3), **mesh,
        )  # fmt: skip
        bob = gd.Body("bob", mass=0.2, inertia=(1e-4,) * 3, position=(0, 1, -0.05))
        return gd.System(bodies=[bob], rods=[hose])

    fine, few = (gd.equilibrium(hanging(**mesh)) for mesh in ({"segments": 200}, {"degree": 3, "segments": 16}))
    sharp = fine["hose"].bend_radius.min()
    assert few["hose"].bend_radius[0] == few["hose"].bend_radius.min() == pytest.approx(sharp, rel=0.02)
    inside = np.linalg.norm(few["hose"].curvature[:, :2], axis=-1)
    assert 1.0 / inside.max() > 1.15 * sharp  # what Gauss points alone would tell
    assert few.motion.stress("hose").max() == pytest.approx(fine.motion.stress("hose").max(), rel=0.02)
    stops = [
        gd.simulate(hanging({"bend_radius": 0.04}, **mesh), 1.0, rtol=1e-4).t[-1]
        for mesh in ({"segments": 200}, {"degree": 3, "segments": 16})
    ]
    assert stops[1] == pytest.approx(stops[0], rel=0.02)
