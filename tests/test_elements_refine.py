"""Refinement of elements: the indicator is what degree p - 1 leaves out, and meshes keep the tolerance they are for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import legendre

import gyrod as gd
from gyrod import problems
from gyrod.model import refinement
from gyrod.model.meshes import DEGREES, Elements, apply, apply_frames
from gyrod.solve.refinement import carried

RUBBER = problems.RUBBER
#: Where solutions are compared with references: at no nodes.
S = np.linspace(0.0, 1.0, 102)
PLAIN = {"stiffness": (1e4, 1e4, 1e4, 1.0, 1.0, 0.8), "density_per_length": 1.0, "rotary_inertia": (1e-4, 1e-4, 2e-4)}


def elements(degree=3):
    return {"discretization": "elements", "degree": degree}


def cantilever(count, degree, load=4.0):
    return problems.elastica(load, count, **elements(degree)).system


def bend(count, degree):
    return problems.bend_45(600.0, count, **elements(degree)).system


def helix_shape(radius=0.3, rise=0.4, turns=1.25):
    def position(s):
        angle = 2.0 * np.pi * turns * s
        return radius * np.cos(angle), radius * np.sin(angle), rise * turns * s

    return gd.Curve(position=position)


def helix(count, degree):
    rod = gd.Rod("rod", None, count, start=gd.Clamped(), initial=helix_shape(), **PLAIN, **elements(degree))
    load = gd.RodLoad("rod", force=(0.3, 0.2, 1.0), moment=(0.1, 0.0, 0.2))
    return gd.System(rods=[rod], forces=[load], gravity=(0.0, 0.0, 0.0))


def layer(count, degree):
    """A soft cable between clamps: it bends next to them only."""
    soft = {**PLAIN, "stiffness": (1e5, 1e5, 1e4, 1e-3, 1e-3, 1e-3), "rotary_inertia": (1e-6, 1e-6, 2e-6)}
    rod = gd.Rod("rod", 1.0, count, start=gd.Clamped(), end=gd.Clamped(), **soft, **elements(degree))
    return gd.System(rods=[rod], gravity=(0.0, 0.0, -50.0))


def string(count, degree):
    return problems.steel_string(count, **elements(degree)).system


def pendulum(count, degree):
    return problems.rubber_pendulum(count, **elements(degree)).system


def shape(result):
    track = result["rod"]
    return apply(*track.mesh.vertex_at(S), track.positions)


def apart(a, b):
    return float(np.linalg.norm(a - b, axis=-1).max())


# --- the indicator ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", DEGREES)
def test_indicator_is_the_highest_legendre_coefficient(degree):
    rng = np.random.default_rng(degree)
    mesh = Elements(degree, [0.0, 0.2, 0.7, 1.0])
    x = rng.standard_normal((4, len(mesh.vertices), 3))
    still = np.broadcast_to([1.0, 0.0, 0.0, 0.0], (4, len(mesh.vertices), 4))
    found = refinement.indicator(mesh, x, still)
    for e in range(3):
        nodes = slice(degree * e, degree * e + degree + 1)
        coefficients = [legendre.legfit(mesh.rule.nodes, row, degree)[-1] for row in x[:, nodes]]
        assert found[:, e] == pytest.approx(np.linalg.norm(coefficients, axis=-1), rel=1e-12)


@pytest.mark.parametrize("degree", DEGREES)
def test_indicator_of_frames_is_their_difference_in_rad_times_the_length(degree):
    mesh = Elements(degree, [0.0, 0.4, 1.0])
    angle = 1e-3 * legendre.legval(mesh.rule.nodes, [0.0] * degree + [1.0])
    q = np.tile([1.0, 0.0, 0.0, 0.0], (len(mesh.vertices), 1))
    q[: degree + 1] = np.stack([np.cos(angle / 2), np.sin(angle / 2), 0 * angle, 0 * angle], axis=1)
    q[degree + 1 :] = q[degree]
    x = np.outer(mesh.vertices, [3.0, 0.0, 4.0])  # a straight line 5 m long
    found = refinement.indicator(mesh, x, q)
    assert found[0] == pytest.approx(1e-3 * 0.4 * 5.0, rel=1e-5)
    assert found[1] < 1e-14


@pytest.mark.parametrize("degree", DEGREES)
def test_indicator_falls_with_the_degree_and_what_is_expected_with_one_more(degree):
    sizes = []
    for count in (8, 16):
        rod = gd.Rod("rod", None, count, initial=helix_shape(), **PLAIN, **elements(degree))
        mesh, x, q = rod.mesh, rod.positions, rod.quaternions
        sizes.append([f(mesh, x, q).max() for f in (refinement.indicator, refinement.expected)])
    orders = np.log2(np.divide(*sizes))
    assert orders == pytest.approx([degree, degree + 1], abs=0.2)


@pytest.mark.parametrize("degree", DEGREES)
def test_what_is_expected_is_about_the_distance_from_the_shape(degree):
    rod = gd.Rod("rod", None, 8, initial=helix_shape(), **PLAIN, **elements(degree))
    expected = refinement.expected(rod.mesh, rod.positions, rod.quaternions)
    found = refinement.expected_at_start(rod)
    assert np.all(found < expected)
    assert np.all(expected < 30.0 * found)


def test_tracks_have_the_indicator_over_time_and_at_rest():
    motion = gd.simulate(string(3, 3), 0.1, output=[0.0, 0.05, 0.1])
    track = motion["rod"]
    assert track.indicator.shape == (3, 3)
    assert track.indicator[0] == pytest.approx(0.0, abs=1e-12)
    assert np.array_equal(track.indicator, refinement.indicator(track.mesh, track.positions, track.quaternions))
    assert motion(0.05)["rod"].indicator == pytest.approx(track.indicator[1], rel=1e-6)
    rest = gd.equilibrium(string(3, 3))["rod"].indicator
    assert rest.shape == (3,)
    assert rest[0] > rest[2] > 0.0  # it bends at the clamp


def test_the_grid_has_no_indicator():
    rest = gd.equilibrium(problems.elastica(4.0, 10).system)
    with pytest.raises(ValueError, match=r"this rod has a staggered grid.*take discretization = 'elements'"):
        _ = rest["rod"].indicator


# --- Rod.refine ------------------------------------------------------------------------------------------------------


@pytest.mark.spread
@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_an_initial_shape_is_represented_to_the_tolerance(degree, tolerance):
    rod = gd.Rod("rod", None, 3, initial=helix_shape(), **PLAIN, **elements(degree))
    for _ in range(4):
        rod = rod.refine(tolerance)
    assert rod.refine(tolerance) is rod
    x, q = rod.shape.place(S, rod.length)
    at = rod.mesh.vertex_at(S)
    assert apart(apply(*at, rod.positions), x) < tolerance
    turned = 2.0 * np.linalg.norm(np.cross(apply_frames(*at, rod.quaternions)[:, 1:], q[:, 1:]), axis=1)
    assert np.diff(rod.mesh.ends).max() * turned.max() < 2.0 * tolerance


def test_only_where_it_bends():
    def curvature(s):
        return 0.0, 40.0 * math.exp(-(((s - 0.7) / 0.05) ** 2)), 0.0

    rod = gd.Rod("rod", 1.0, 6, initial=gd.Bent(curvature), **PLAIN, **elements(3))
    fine = rod.refine(1e-6)
    near = (fine.mesh.ends > 0.5) & (fine.mesh.ends < 0.85)
    assert near.sum() > 10
    assert (fine.mesh.ends <= 0.5).sum() == 4  # as before
    assert fine.segments == fine.mesh.cells == len(fine.grid) - 1


def test_a_straight_rod_stays():
    rod = gd.Rod("rod", 1.0, 2, **PLAIN, **elements(3))
    assert rod.refine(1e-9) is rod


def test_equal_elements_stay_a_number():
    fine = gd.Rod("rod", None, 4, initial=helix_shape(), **PLAIN, **elements(3)).refine(1e-5)
    assert fine.grid is None
    assert fine.segments % 4 == 0
    assert fine.segments > 4


def test_a_state_says_where():
    system = layer(6, 3)
    for _ in range(3):
        fine = system.rod("rod").refine(1e-5, gd.equilibrium(system)["rod"])
        system = system.with_(rods=[fine])
    h = np.diff(fine.mesh.ends)
    assert h[0] < 0.3 * h[len(h) // 2]
    assert h == pytest.approx(h[::-1], rel=1e-9)  # symmetric, as the cable is
    assert fine.refine(1e9, gd.equilibrium(gd.System(rods=[fine], gravity=system.gravity))["rod"]) is fine


def test_a_motion_counts_by_its_largest_indicator():
    system = string(2, 3)
    motion = gd.simulate(system, 0.5, output=np.linspace(0.0, 0.5, 11))
    rod = system.rod("rod")
    whole = rod.refine(1e-5, motion["rod"]).segments
    single = [rod.refine(1e-5, motion(t)["rod"]).segments for t in motion.t]
    assert whole == max(single) > min(single) == 2


def test_elements_that_turn_too_far_are_divided():
    system = problems.roll_up(0.95, 2, **elements(4)).system  # 171 degrees an element
    rest = gd.equilibrium(system)
    assert system.rod("rod").refine(1e3, rest["rod"]).segments == 4


def test_a_split_rod_is_refined_as_the_system_has_it():
    load = gd.RodLoad("rod", force=(0.0, 0.0, -3.0), at=0.37)
    rod = gd.Rod("rod", 1.0, 2, start=gd.Clamped(), **PLAIN, **elements(3))
    system = gd.System(rods=[rod], forces=[load], gravity=(0.0, 0.0, 0.0))
    rest = gd.equilibrium(system)
    fine = system.rod("rod").refine(1e-6, rest["rod"])
    assert 0.37 in fine.mesh.ends
    again = system.with_(rods=[fine])
    assert again.rod("rod").mesh.cells == fine.segments
    assert not again.notes
    with pytest.raises(ValueError, match=r"3 of degree 3 in place of 2 of degree 3.*motion\.system\.rod\('rod'\)"):
        rod.refine(1e-6, rest["rod"])


def test_the_grid_is_not_refined():
    with pytest.raises(ValueError, match=r"Rod 'rod' has a staggered grid.*take discretization = 'elements'"):
        gd.Rod("rod", 1.0, 10, **PLAIN).refine(1e-3)


BAD_NUMBERS = st.one_of(
    st.floats(max_value=0.0), st.sampled_from([math.nan, math.inf, None, "small", [], {}, 1j, (1.0, 2.0), object()])
)
BAD_STATES = st.one_of(
    st.integers(), st.text(), st.lists(st.floats()), st.builds(object), st.just(gd.Circle(radius=1.0))
)


@given(tolerance=BAD_NUMBERS)
@settings(max_examples=40, deadline=None)
def test_bad_tolerances_are_refused(tolerance):
    rod = gd.Rod("rod", 1.0, 2, **PLAIN, **elements(3))
    with pytest.raises(ValueError, match="tolerance"):
        rod.refine(tolerance)
    with pytest.raises(ValueError, match="tolerance"):
        gd.refine(gd.System(rods=[rod]), tolerance)


@given(state=BAD_STATES)
@settings(max_examples=40, deadline=None)
def test_bad_states_are_refused(state):
    rod = gd.Rod("rod", 1.0, 2, **PLAIN, **elements(3))
    with pytest.raises(ValueError, match=r"state must be rod 'rod' at rest or over time, such as motion\['rod'\], got"):
        rod.refine(1e-3, state)


# --- gd.refine at rest -----------------------------------------------------------------------------------------------

REST = {"cantilever": (cantilever, 1, 1.0), "bend": (bend, 1, 100.0), "helix": (helix, 3, 1.0)}


@pytest.fixture(scope="module")
def references():
    return {name: shape(gd.equilibrium(make(40, 4))) for name, (make, _, _) in REST.items()}


@pytest.mark.spread
@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("tolerance", [1e-3, 1e-5])
@pytest.mark.parametrize("name", REST)
def test_the_error_at_rest_is_below_the_tolerance(name, degree, tolerance, references):
    make, first, size = REST[name]
    found = gd.refine(make(first, degree), tolerance * size)
    error = apart(shape(found.result), references[name])
    assert error < found.error < 2.0 * error
    assert found.error <= found.tolerance == tolerance * size
    assert error > found.tolerance / 30.0 or len(found.history) == 1  # not too careful
    assert found.rtol is None


@pytest.mark.parametrize("load", [1.0, 10.0])
def test_a_cantilever_agrees_with_elliptic_integrals(load):
    problem = problems.elastica(load, 1, **elements(3))
    found = gd.refine(problem.system, 1e-6)
    values = problem.quantities(found.result)
    assert values == pytest.approx(dict(problem.reference), abs=1e-6)


def test_a_layer_is_resolved_where_it_is():
    found = gd.refine(layer(1, 3), 1e-5)
    h = np.diff(found.system.rods[0].mesh.ends)
    assert h.max() > 7.0 * h.min()
    assert h.argmax() not in (0, len(h) - 1)
    finest = shape(gd.refine(layer(8, 4), 1e-9).result)
    error = apart(shape(found.result), finest)
    assert error < found.error
    assert apart(shape(gd.equilibrium(layer(found.elements["rod"], 3))), finest) > 3.0 * error  # as many, but equal


def test_a_mesh_that_is_good_enough_is_kept():
    system = cantilever(8, 3)
    found = gd.refine(system, 1e-3)
    assert found.system is system
    assert [one.elements for one in found.history] == [8]
    assert np.array_equal(found.result["rod"].positions, gd.equilibrium(system)["rod"].positions)


def test_what_an_element_cannot_represent_is_divided():
    found = gd.refine(problems.roll_up(2.0, 1, **elements(3)).system, 1e-4)
    assert [one.error is None for one in found.history] == [True, True, False, False]
    assert "no equilibrium" in found.history[0].note
    assert found.result["rod"].positions[-1] == pytest.approx([0.0, 0.0, 0.0], abs=1e-4)


def test_equilibria_stay_on_the_branch_of_the_guess():
    problem = problems.post_buckling(60.0, 2, **elements(3))
    bent = gd.equilibrium(problem.system)
    straight = {"rod.initial": gd.Straight((0, 0, 0), (1, 0, 0)), "rod.precurvature": None}
    system = problem.system.with_(straight)
    values = problem.quantities(gd.refine(system, 1e-6, guess=bent).result)
    assert values == pytest.approx(dict(problem.reference), abs=1e-4)
    assert gd.refine(system, 1e-6).result["rod"].positions[-1, 1:] == pytest.approx([0.0, 0.0], abs=1e-12)


def test_a_configuration_is_carried_to_other_meshes():
    rest = gd.equilibrium(bend(4, 4))
    fine = carried(rest, bend(8, 4))
    assert shape(fine) == pytest.approx(shape(rest), abs=1e-12)
    same = carried(rest, bend(4, 4))
    assert same.y == pytest.approx(rest.y, abs=1e-14)


def test_load_and_time_are_passed_on():
    half = gd.refine(cantilever(1, 3, 4.0), 1e-6, load=0.5).result
    assert shape(half) == pytest.approx(shape(gd.equilibrium(cantilever(24, 4, 2.0))), abs=1e-6)


# --- gd.refine in motion ---------------------------------------------------------------------------------------------


def swung(system, t_end):
    return gd.simulate(system, t_end, rtol=1e-6, output=np.linspace(0.0, t_end, 51))


@pytest.fixture(scope="module")
def swung_string():
    return shape(swung(string(5, 4), 0.5))


@pytest.mark.spread(0)
@pytest.mark.parametrize("degree", DEGREES)
def test_the_error_of_a_steel_string_is_below_the_tolerance(degree, swung_string):
    found = gd.refine(string(1, degree), 5e-4, 0.5)
    error = apart(shape(found.result), swung_string)
    assert error < found.error < 2.0 * error
    assert 5e-4 / 30.0 < error < 5e-4
    assert found.result["rod"].positions[-1, -1] == pytest.approx([0.0, 0.98002, -0.18731], abs=5e-4)


def test_the_error_of_a_rubber_pendulum_is_below_the_tolerance():
    found = gd.refine(pendulum(2, 3), 3e-3, 1.0)
    assert found.error < 3e-3
    for t, known in problems.rubber_pendulum().reference.items():
        assert found.result(t)["rod"].positions[-1] == pytest.approx(known["end"], abs=3e-3)
    again = gd.simulate(found.system, 1.0, rtol=found.rtol, output=found.result.t)
    assert np.array_equal(again.y, found.result.y)


@pytest.fixture(scope="module")
def swung_pendulum():
    return shape(swung(pendulum(24, 4), 1.0))


@pytest.mark.slow
@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 2e-4])
def test_pendulums_of_all_degrees_keep_their_tolerance(degree, tolerance, swung_pendulum):
    found = gd.refine(pendulum(1, degree), tolerance, 1.0)
    error = apart(shape(found.result), swung_pendulum)
    assert error < found.error < 2.0 * error
    assert tolerance / 30.0 < error < tolerance


def rolled(count):
    """A damped rubber rod that a growing moment rolls up by more than half a turn."""
    EI = RUBBER.young * math.pi * 5e-3**4 / 4.0
    damping = gd.Damping(shear=0.1, extension=0.2, bending=2e-4, torsion=2e-4)
    rod = gd.Rod("rod", 1.0, count, gd.Circle(5e-3), RUBBER, gd.Clamped(), damping=damping, **elements(3))
    load = gd.RodLoad("rod", moment=lambda t: (0.0, 0.0, 8.0 * EI * min(t, 1.0)))
    return gd.System(rods=[rod], forces=[load], gravity=(0.0, 0.0, 0.0))


def test_a_motion_that_an_element_cannot_follow_is_refined():
    with pytest.raises(gd.SimulationError, match="further than an element"):
        gd.simulate(rolled(1), 1.2, rtol=1e-4)
    found = gd.refine(rolled(1), 1e-3, 1.2)
    assert found.history[0].error is None
    assert "turns by" in found.history[0].note
    assert found.history[1].elements == 2
    assert apart(shape(found.result), shape(swung(rolled(10), 1.2))) < 1e-3


def test_trouble_of_another_sort_is_told_as_it_is():
    def moment(t):
        if t > 0.1:
            raise RuntimeError("no such load")
        return 0.0, 0.0, 1e-4

    system = rolled(2).with_(forces=[gd.RodLoad("rod", moment=moment)])
    with pytest.raises(gd.SimulationError, match="no such load"):
        gd.refine(system, 1e-3, 1.0)


def joined():
    """A body between two rods, one of which ends in a load."""
    damping = gd.Damping(shear=0.1, extension=2.0, bending=2e-4, torsion=8e-6)
    common = {"damping": damping, **elements(3)}
    left = gd.Rod("left", 0.5, 1, gd.Circle(5e-3), RUBBER, gd.Clamped(), gd.Clamped("bob"), **common)
    right = gd.Rod(
        "rod", 0.5, 2, gd.Circle(4e-3), RUBBER, gd.Clamped("bob"),
        initial=gd.Straight((0.5, 0, 0), (1, 0, 0)), **common,
    )  # fmt: skip
    bob = gd.Body("bob", mass=0.02, inertia=(1e-5, 1e-5, 1e-5), position=(0.5, 0, 0))
    tip = gd.PointSensor("tip", "rod", at=1.0)
    return gd.System(bodies=[bob], rods=[left, right], sensors=[tip])


def test_rods_and_bodies_together():
    found = gd.refine(joined(), 1e-3, 0.4)
    assert set(found.elements) == {"left", "rod"}
    fine = {f"{name}.segments": 12 for name in ("left", "rod")} | {f"{name}.degree": 4 for name in ("left", "rod")}
    exact = swung(joined().with_(fine), 0.4)
    assert apart(shape(found.result), shape(exact)) < 1e-3
    assert apart(found.result["bob"].position, exact["bob"].position) < 1e-3


def test_motions_from_rest():
    system = joined()
    rest = gd.equilibrium(system)
    kicked = gd.refine(rest, 1e-3, 0.1)
    assert np.ptp(kicked.result["rod"].positions, axis=0).max() < 1e-7  # at rest on every mesh
    assert kicked.elements["rod"] >= 2
    at_rest = gd.refine(rest, 1e-5)
    assert isinstance(at_rest.result, gd.Rest)
    assert at_rest.system.rod("left").segments > 1


def test_rods_that_meet_without_a_body():
    left = gd.Rod("left", 0.5, 1, gd.Circle(5e-3), RUBBER, gd.Clamped(), **elements(3))
    line = gd.Straight((0.5, 0, 0), (1, 0, 0))
    right = gd.Rod("rod", 0.5, 1, gd.Circle(5e-3), RUBBER, gd.Clamped("left"), initial=line, **elements(3))
    found = gd.refine(gd.System(rods=[left, right]), 1e-4)
    whole = gd.Rod("rod", 1.0, 24, gd.Circle(5e-3), RUBBER, gd.Clamped(), **elements(4))
    tip = gd.equilibrium(gd.System(rods=[whole]))["rod"].positions[-1]
    assert found.result["rod"].positions[-1] == pytest.approx(tip, abs=1e-4)
    assert found.elements["left"] > found.elements["rod"]  # it bends at the clamp


def test_a_quantity_in_place_of_positions():
    system = joined()
    coarse = gd.refine(system, 0.1, 0.2, quantity=lambda motion: motion.sensors["tip"][:, 2])
    assert [one.elements for one in coarse.history] == [3]
    bending = gd.refine(cantilever(1, 3), 1e-3, quantity=lambda rest: rest["rod"].start_moment)
    assert bending.result["rod"].start_moment[1] == pytest.approx(
        gd.equilibrium(cantilever(24, 4))["rod"].start_moment[1], abs=1e-3
    )


# --- bounds and bad input --------------------------------------------------------------------------------------------


def test_too_few_elements_are_told_with_the_best_mesh():
    with pytest.raises(
        gd.RefinementError,
        match=r"(?s)tolerance = 1e-09 is not reached: the next mesh would have \d+ elements, and most = 10 are allowed"
        r"; the least error is .* give a larger tolerance or a larger most\.\n +elements +error",
    ) as caught:
        gd.refine(cantilever(1, 3), 1e-9, most=10)
    best = caught.value.refinement
    assert best.error == min(one.error for one in best.history)
    assert 1e-9 < best.error < 1e-3
    assert best.system.rods[0].mesh.cells <= 10


def test_what_does_not_converge_is_told():
    rng = np.random.default_rng(1)
    with pytest.raises(gd.RefinementError, match="more elements do not help"):
        gd.refine(cantilever(1, 2), 1e-6, quantity=lambda _: rng.standard_normal(3))


def test_a_supports_failure_is_told():
    rod = gd.Rod("rod", 1.0, 1, **PLAIN, **elements(3))
    with pytest.raises(gd.EquilibriumError, match="mechanism"):
        gd.refine(gd.System(rods=[rod]), 1e-3)


def test_it_prints_its_history():
    lines = []
    found = gd.refine(cantilever(1, 3), 1e-4, progress=lines.append)
    text = str(found).splitlines()
    assert text[0].startswith(f"error {found.error:.2g} of 0.0001 allowed: elements {found.elements['rod']} of 'rod'")
    assert len(text) == 2 + len(found.history) == 2 + len(lines)
    assert [line.split()[0] for line in text[2:]] == [str(one.elements) for one in found.history]
    assert lines[-1].split() == text[-1].split()
    assert found.seconds == pytest.approx(sum(one.seconds for one in found.history))


def test_a_refined_model_goes_through_a_file(tmp_path):
    found = gd.refine(layer(1, 3), 1e-4)
    found.system.save(tmp_path / "layer.yaml")
    assert gd.load(tmp_path / "layer.yaml") == found.system


def test_a_guess_of_another_system_is_refused():
    with pytest.raises(ValueError, match="guess is of bob, left, rod, the system of rod; they must agree"):
        gd.refine(cantilever(2, 3), 1e-3, guess=gd.equilibrium(joined()))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"system": "cable.yaml"}, "system must be a gyrod.System or a Rest, got str"),
        ({"system": problems.elastica(4.0, 10).system}, "rod 'rod' has a staggered grid"),
        ({"system": problems.pendulum().system}, "has no rods"),
        ({"t_end": 0.0}, "t_end"),
        ({"t_end": 1.0, "rtol": -1.0}, "rtol"),
        ({"most": 1}, "most = 1 elements are allowed, and the system has 2; it takes none away"),
        ({"most": 2.5}, "most = 2.5 must be an integer"),
        ({"most": True}, "most = True must be an integer"),
        ({"quantity": "tip"}, "quantity = 'tip' must be a function"),
        (
            {"quantity": lambda rest: rest["rod"].positions},
            r"must not depend on the mesh, but has the shape \(7, 3\) on",
        ),
        ({"quantity": lambda _: [0.0, math.nan]}, r"quantity\[1\] = nan is not finite"),
        ({"rtol": 1e-6}, "rtol cannot be given at rest, only guess, load, relax, t; give t_end"),
        ({"t_end": 1.0, "save": "run.h5", "dense": True}, "dense, save cannot be given"),
        ({"guess": "straight"}, "guess must be a Rest or a Motion at one time, got 'straight'"),
    ],
)
def test_bad_input_is_refused(change, match):
    arguments = {"system": cantilever(2, 3), "tolerance": 1e-3, **change}
    with pytest.raises(ValueError, match=match):
        gd.refine(**arguments)
