"""Rods of elements at rest: orders in space, no locking, agreement with the grid and closed forms, paths, modes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from test_follow import arch, limit_points, shallow_arch_limits
from test_rods_convergence import OTHERS, coupled_stiffness
from test_rods_convergence import cantilever as loaded

import gyrod as gd
from gyrod import bench, problems
from gyrod.model.meshes import apply

DEGREES = (2, 3, 4)
NO_GRAVITY = (0.0, 0.0, 0.0)
#: Places between the nodes, at which errors are largest.
PLACES = np.linspace(0.0, 1.0, 301)
SOFT = {"stiffness": (30.0, 40.0, 50.0, 1.0, 1.2, 0.8), "density_per_length": 1.0, "rotary_inertia": (0.01, 0.01, 0.01)}


def cantilever(degree, elements, load, **options):
    given = {**SOFT, "start": gd.Clamped(), "initial": gd.Straight((0, 0, 0), (0, 1, 0)), **options}
    rod = gd.Rod("rod", segments=elements, degree=degree, **given)
    return gd.System(rods=[rod], forces=[gd.RodLoad("rod", **load)], gravity=NO_GRAVITY)


def everywhere(rest):
    """Positions at fixed fractions, by the polynomials of the elements."""
    track = rest["rod"]
    return apply(*track.mesh.vertex_at(PLACES), track.positions)


# --- orders ----------------------------------------------------------------------------------------------------------

HELIX = {"initial": gd.Bent((2.0, 0.0, 1.5)), "length": 1.0}
BENT = {"force": (1.5, 1.0, -1.0), "moment": (0.5, 1.0, 0.3)}
SMOOTH = {
    "bend of 45 degrees": lambda p, E: problems.bend_45_at_rest(600.0, E, degree=p).system,
    "force and moment": lambda p, E: cantilever(p, E, BENT),
    "on a helix": lambda p, E: cantilever(p, E, {"force": (0.5, 0.5, -1.0)}, **HELIX),
    "spread": lambda p, E: cantilever(p, E, {"span": (0, 1), "force": (2, 3, -1), "profile": lambda s: 1 + s}),
    "spread, following": lambda p, E: cantilever(
        p, E, {"span": (0, 1), "force": (2, 3, -1), "moment": (0.5, 0, 0.2), "follow": True}
    ),
    "tapered, coupled": lambda p, E: cantilever(
        p, E, BENT, stiffness=lambda s: coupled_stiffness() * (1.3 - 0.6 * s), precurvature=lambda s: (s, 0.5, 1.0)
    ),
    "two ends": lambda p, E: cantilever(p, E, {"span": (0, 1), "force": (3, 8, -3)}, end=gd.Hinged(), **HELIX),
}
#: Elements between which the order is looked at: fine enough for it, coarse enough to stay above rounding.
BETWEEN = {2: (12, 24), 3: (8, 16), 4: (6, 12)}
AT_ENDS = {2: (8, 16), 3: (5, 10), 4: (3, 6)}
LATE = ("bend of 45 degrees", "spread", "tapered, coupled", "two ends")


@cache
def reference(name):
    return gd.equilibrium(SMOOTH[name](4, 30))


@pytest.mark.spread
@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("name", SMOOTH)
def test_order_in_space(name, degree):
    """p + 1 everywhere, 2 p at the ends of elements."""
    exact = reference(name)
    errors, at_ends = [], []
    for E in BETWEEN[degree]:
        errors.append(np.abs(everywhere(gd.equilibrium(SMOOTH[name](degree, E))) - everywhere(exact)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(degree + 1, abs=0.3)
    for E in (5, 10) if degree == 4 and name in LATE else AT_ENDS[degree]:
        rest, s = gd.equilibrium(SMOOTH[name](degree, E)), np.linspace(0.0, 1.0, E + 1)
        trusted = apply(*exact["rod"].mesh.vertex_at(s), exact["rod"].positions)
        # Common ends only: the reference is itself of order p + 1 between its own.
        common = np.isclose(30 * s, np.round(30 * s))
        at_ends.append(np.abs(rest["rod"].positions[::degree] - trusted)[common].max())
    assert np.log2(at_ends[0] / at_ends[1]) == pytest.approx(2 * degree, abs=0.3 if degree < 4 else 0.5)


@pytest.mark.parametrize("degree", DEGREES)
def test_forces_at_gauss_points_and_reactions(degree):
    """Forces balance the load exactly, as well at Gauss points as at the clamp; moments there with order p + 1."""
    force, moment = np.array(BENT["force"]), np.array(BENT["moment"])
    errors = []
    for E in (4, 8):
        track = gd.equilibrium(cantilever(degree, E, BENT))["rod"]
        at = apply(*track.mesh.vertex_at(track.mesh.curvatures), track.positions)
        assert np.abs(track.force_space - force).max() < 1e-11
        assert np.abs(track.start_force + force).max() < 1e-9
        assert np.abs(track.start_moment + moment + np.cross(track.positions[-1], force)).max() < 1e-9
        assert not track.end_force.any()
        errors.append(np.abs(track.moment_space - moment - np.cross(track.positions[-1] - at, force)).max())
    assert np.log2(errors[0] / errors[1]) > degree + 0.7


# --- few nodes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("force", [300.0, 600.0])
def test_bend_of_45_degrees_with_nine_nodes(force):
    problem = problems.bend_45_at_rest(force, 2, degree=4)
    rest = bench.solve_static(problem)
    assert len(rest["rod"].positions) == 9
    found = problem.quantities(rest)
    error = np.linalg.norm([found[name] - trusted for name, trusted in problem.reference.items()])
    assert error / problem.system.rods[0].length < 3e-6


@pytest.mark.parametrize(("degree", "elements", "bound"), [(2, 4, 1e-3), (3, 2, 2e-4), (4, 2, 1e-5)])
def test_cantilever_with_nine_nodes(degree, elements, bound):
    """F = 4 EI/L² on a slender rod: where its end is."""
    system = cantilever(degree, elements, {"force": (0, 0, -4.0)}, stiffness=(1e4, 1e4, 1e4, 1.0, 1.0, 1.0))
    exact = gd.equilibrium(cantilever(4, 30, {"force": (0, 0, -4.0)}, stiffness=(1e4, 1e4, 1e4, 1.0, 1.0, 1.0)))
    rest = gd.equilibrium(system)
    assert np.abs(rest["rod"].positions[-1] - exact["rod"].positions[-1]).max() < bound


# --- no locking ------------------------------------------------------------------------------------------------------


def slender(degree, elements, r, load):
    """EI = L = 1, r the radius of gyration."""
    stiff = (0.4 / r**2, 0.4 / r**2, 1.0 / r**2, 1.0, 1.0, 0.8)
    return cantilever(degree, elements, load, stiffness=stiff, **HELIX)


@pytest.mark.parametrize("degree", DEGREES)
def test_no_locking(degree):
    """In space, bent, twisted and curved from the start: the error does not grow as the rod gets thin."""
    load = {"force": (1.0, 2.0, -2.0), "moment": (0.5, 0.0, 1.0)}
    for elements in (2, 4):
        errors = []
        for r in (1e-2, 1e-3, 1e-4):
            exact = gd.equilibrium(slender(4, 16, r, load), tolerance=1e-9)
            rest = gd.equilibrium(slender(degree, elements, r, load), tolerance=1e-9)
            errors.append(np.abs(everywhere(rest) - everywhere(exact)).max())
        assert max(errors) < 1.2 * errors[0]
        assert errors[0] < 3.0 * {2: 4e-3, 3: 4e-4, 4: 4e-5}[degree] * (2 / elements) ** degree


@pytest.mark.parametrize("degree", DEGREES)
def test_a_thin_rod_takes_no_more_iterations(degree):
    load = {"force": (1.0, 2.0, -2.0)}
    counts = [gd.equilibrium(slender(degree, 4, r, load), tolerance=1e-9).iterations for r in (1e-2, 1e-4)]
    assert max(counts) <= counts[0] + 3 < 16


# --- closed forms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", DEGREES)
def test_stretch_and_small_twist_are_exact(degree):
    """Constant strain is reproduced; so is a constant twist, to the order of the ends of elements."""
    twist, errors = 1.0, []
    for E in (1, 2):
        load = {"force": (0, 5.0, 0), "moment": (0, twist * 0.8, 0)}
        track = gd.equilibrium(cantilever(degree, E, load))["rod"]
        assert np.abs(track.positions[-1] - (0, 1.1, 0)).max() < 1e-13
        assert np.abs(track.strain - (0, 0, 0.1)).max() < 1e-12
        turned = np.einsum("ij,ij->j", track.directors[-1], track.directors[0])
        errors.append(abs(np.arccos(turned[0]) - twist))
    assert errors[0] < {2: 3e-3, 3: 2e-5, 4: 1e-7}[degree]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2 * degree, abs=0.3)


@pytest.mark.parametrize("degree", DEGREES)
def test_a_moment_makes_an_arc_and_a_circle(degree):
    """K = M/EI; half a turn in one element as well as the full circle in a few."""
    even = {"stiffness": (30.0, 40.0, 50.0, 1.0, 1.0, 0.8)}
    track = gd.equilibrium(cantilever(degree, 1, {"moment": (np.pi, 0.0, 0.0)}, **even))["rod"]
    assert np.abs(track.positions[-1] - (0, 0, 2 / np.pi)).max() < {2: 0.1, 3: 1e-2, 4: 1e-3}[degree]
    errors = []
    for E in (4, 8):
        track = gd.equilibrium(cantilever(degree, E, {"moment": (2 * np.pi, 0, 0)}, **even))["rod"]
        errors.append(np.abs(track.positions[-1]).max())
    assert errors[0] < {2: 4e-3, 3: 4e-5, 4: 2e-7}[degree]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2 * degree, abs=0.5)


def test_a_spring_is_a_helix():
    """End force along the axis and moment as of a helix: a rod that is one by its precurvature is left by none."""
    rod = gd.Rod("rod", 3.0, 6, degree=3, start=gd.Clamped(), initial=gd.Bent((1.5, 0.0, 1.0)), **SOFT)
    rest = gd.equilibrium(gd.System(rods=[rod], gravity=NO_GRAVITY))
    assert rest.iterations <= 1
    assert np.abs(rest["rod"].positions - rod.positions).max() < 1e-14
    assert np.abs(rest["rod"].force).max() < 1e-12


STEEL = gd.Material(young=2e11, poisson=0.3, density=7850.0)
EI, LINE = 2e11 * np.pi / 4.0 * 5e-3**4, 7850.0 * np.pi * 25e-6


def steel(degree, elements, length=1.0, **options):
    return gd.Rod("rod", length, elements, gd.Circle(radius=5e-3), STEEL, degree=degree, **options)


@pytest.mark.parametrize("degree", DEGREES)
def test_a_cantilever_under_its_weight_and_a_mass(degree):
    """w L⁴/8 EI and P L³/3 EI, and what the clamp bears."""
    rod = steel(degree, 3, start=gd.Clamped())
    mass = gd.PointMass("rod", at=1.0, mass=0.02)
    rest = gd.equilibrium(gd.System(rods=[rod], forces=[mass]))
    w, P = LINE * 9.81, 0.02 * 9.81
    assert -rest["rod"].positions[-1, 2] == pytest.approx(w / 8.0 / EI + P / 3.0 / EI, rel=2e-4)
    np.testing.assert_allclose(rest["rod"].start_force, (0, 0, w + P), atol=1e-7 * w)
    assert rest["rod"].start_moment[1] == pytest.approx(-0.5 * w - P, rel=1e-4)
    heavy = gd.System(rods=[rod], forces=[gd.PointMass("rod", at=1.0, mass=50.0)], gravity=NO_GRAVITY)
    assert gd.modes(heavy).omega[0] == pytest.approx(np.sqrt(3.0 * EI / (50.0 + 33.0 / 140.0 * LINE)), rel=2e-4)


@pytest.mark.parametrize("degree", DEGREES)
def test_a_beam_on_a_foundation(degree):
    """A long beam on Winkler's foundation under a force in its middle: P λ/(2 k)."""
    k, P = 5e4, 10.0
    forces = [gd.Foundation("rod", stiffness=k), gd.RodLoad("rod", at=0.5, force=(0, 0, -P))]
    rest = gd.equilibrium(gd.System(rods=[steel(degree, 20, 4.0)], forces=forces, gravity=NO_GRAVITY))
    lam = (k / (4.0 * EI)) ** 0.25
    middle = apply(*rest["rod"].mesh.vertex_at([0.5]), rest["rod"].positions)[0]
    assert -middle[2] == pytest.approx(P * lam / (2.0 * k), rel=2e-3)


@pytest.mark.parametrize("degree", DEGREES)
def test_a_blade_in_a_frame_that_turns(degree):
    """The centrifugal stiffening of flap is one revolution more than that of lag (Southwell)."""
    blade = problems.spinning_rod(4, degree=degree).system
    still, turning = (
        gd.modes(gd.System(rods=blade.rods, forces=f, gravity=NO_GRAVITY), n=2).omega for f in ([], blade.forces)
    )
    lag, flap = turning
    assert still[1] == pytest.approx(still[0], rel=1e-6)
    assert flap**2 - lag**2 == pytest.approx(36.0, rel=2e-2)
    assert flap**2 == pytest.approx(still[0] ** 2 + 1.193 * 36.0, rel=2e-2)


@pytest.mark.parametrize("degree", DEGREES)
def test_large_deflections_take_few_iterations(degree):
    """A rod of rubber that falls by nearly its length: strains, not displacements, are updated."""
    rubber = gd.Material(young=5e6, poisson=0.5, density=1100.0)
    rod = gd.Rod("rod", 1.0, 5, gd.Circle(radius=5e-3), rubber, gd.Clamped(), degree=degree)
    rest = gd.equilibrium(gd.System(rods=[rod]))
    assert rest.method == "newton"
    assert rest.iterations <= 20
    assert rest["rod"].positions[-1, 2] < -0.9


def test_a_rod_that_says_nothing():
    """It has elements, enough of them for a rod that falls by half of its length."""
    rubber = gd.Material(young=5e7, poisson=0.5, density=1100.0)
    plain, fine = (
        gd.Rod("rod", 1.0, section=gd.Circle(radius=5e-3), material=rubber, start=gd.Clamped(), **kind)
        for kind in ({}, {"segments": 20, "degree": 4})
    )
    assert plain.discretization == "elements"
    a, b = (everywhere(gd.equilibrium(gd.System(rods=[rod]))) for rod in (plain, fine))
    assert b[-1, 2] < -0.5
    assert np.abs(a - b).max() < 2e-4


# --- against the grid ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OTHERS)
def test_agreement_with_the_refined_grid(name):
    """Loads, sections, rest shapes: where the grid tends to, the elements are."""
    load, options = OTHERS[name]

    def tip(N, **kind):
        system = loaded(N, load, **options, **kind)
        return gd.equilibrium(system)["rod"].positions[-1]

    coarse, fine = tip(80), tip(160)
    limit = fine + (fine - coarse) / 3.0
    found = tip(6, degree=3)
    assert np.linalg.norm(found - limit) < 0.03 * np.linalg.norm(fine - coarse) + 1e-9


def surrounded(*obstacles, **kind):
    """A rod on a clamp and a guide, with a foundation under a part, a mass, a following force, in a turning frame."""
    rod = gd.Rod("rod", 1.0, start=gd.Clamped(), end=gd.Guided(), **SOFT, **kind)
    forces = [
        gd.Foundation("rod", (0.0, 5.0, 20.0), span=(0.25, 0.75)),
        gd.PointMass("rod", at=0.5, mass=0.4),
        gd.RotatingFrame((0.3, 0.5, 1.0)),
        gd.RodLoad("rod", at=0.25, force=(0.0, 0.0, 2.0), follow=True),
        *obstacles,
    ]
    return gd.System(rods=[rod], forces=forces, gravity=(0.5, 1.0, -4.0))


def quarters(rest):
    return apply(*rest["rod"].mesh.vertex_at(np.linspace(0.0, 1.0, 5)), rest["rod"].positions)


@pytest.mark.parametrize("degree", DEGREES)
def test_agreement_with_the_grid_amid_surroundings(degree):
    coarse, fine = (quarters(gd.equilibrium(surrounded(segments=N))) for N in (80, 160))
    limit = fine + (fine - coarse) / 3.0
    rest = gd.equilibrium(surrounded(segments=8, degree=degree))
    assert rest.stable
    assert np.abs(quarters(rest) - limit).max() < {2: 0.2, 3: 0.01, 4: 0.01}[degree] * np.abs(fine - coarse).max()


@pytest.mark.parametrize("degree", DEGREES)
def test_an_obstacle_holds_elements_as_it_holds_the_grid(degree):
    """Nodes are pressed, so that the order falls where contact sets in; both tend to the same place."""
    ball = gd.SphereObstacle((0.8, 0.1, -0.35), 0.3, stiffness=300.0, smoothing=0.1)
    found, grid = (
        gd.equilibrium(surrounded(ball, **k)) for k in ({"segments": 12, "degree": degree}, {"segments": 160})
    )
    free = gd.equilibrium(surrounded(segments=12, degree=degree))
    assert np.abs(quarters(found) - quarters(free)).max() > 0.1  # it matters
    assert np.abs(quarters(found) - quarters(grid)).max() < 1e-4


# --- stability, paths ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", DEGREES)
def test_a_column_under_its_weight(degree):
    """It stands up to w L³/EI = 7.837 and falls to any side beyond."""
    rod = gd.Rod(
        "rod", 1.0, 4, degree=degree, start=gd.Clamped(), initial=gd.Straight((0, 0, 0), (0, 0, 1)),
        stiffness=(1e6, 1e6, 1e6, 1.0, 1.0, 1.0), density_per_length=1.0, rotary_inertia=(1e-4, 1e-4, 2e-4),
    )  # fmt: skip
    below, above = (
        gd.equilibrium(gd.System(rods=[rod], gravity=(0, 0, -7.837347438943484 * k))) for k in (0.995, 1.005)
    )
    assert below.stable
    assert above.unstable == 2
    assert gd.modes(above, n=4).unstable == 2


@pytest.mark.parametrize("degree", DEGREES)
def test_flutter_under_a_following_force(degree):
    """Beck's column: 20.05 EI/L²."""

    def system(k):
        rod = gd.Rod(
            "rod", 1.0, 4, degree=degree, start=gd.Clamped(), initial=gd.Straight((0, 0, 0), (0, 0, 1)),
            stiffness=(1e6, 1e6, 1e6, 1.0, 100.0, 100.0), density_per_length=1.0, rotary_inertia=(1e-6, 1e-6, 2e-6),
        )  # fmt: skip
        load = gd.RodLoad("rod", force=(0, 0, -k), follow=True)
        return gd.System(rods=[rod], forces=[load], gravity=NO_GRAVITY)

    assert gd.modes(system(19.9), n=3).unstable == 0
    assert gd.modes(system(20.2), n=3).unstable == 1


def elements_of(system, elements, degree):
    """The same system, its rods of elements."""
    rods = [rod.with_(segments=elements, degree=degree) for rod in system.rods]
    return gd.System(system.bodies, system.joints, rods=rods, forces=system.forces, gravity=system.gravity)


@pytest.mark.parametrize("degree", [3, *(pytest.param(p, marks=pytest.mark.slow) for p in (2, 4))])
def test_an_arch_snaps(degree):
    """Both limit points of the load path of a shallow arch."""
    rise, extension = 0.015, 4e4
    limits = shallow_arch_limits(rise, extension)
    system = elements_of(arch(rise, extension), 4, degree)
    path = gd.follow(system, "load", (0.0, 1.5 * limits[0]), arc_length=True)
    found = limit_points(path)
    assert [e.unstable for e in found] == [(0, 1), (1, 0)]
    assert [e.value for e in found] == pytest.approx(limits, rel=3e-3)
    assert path.stable[-1]


@pytest.mark.spread(0)
@pytest.mark.parametrize("degree", DEGREES)
def test_a_path_with_moving_clamps(degree):
    """Test 2 of the paper in the continuum: clamps that come together and turn, against a fine grid."""
    stops = (0.0, 0.2, 0.6, 1.0)
    tracks = []
    for options in ({"segments": 80}, {"segments": 160}, {"segments": 8, "degree": degree}):
        system = problems.lla_test2(curvature="angle", **options).system
        path = gd.follow(system, "time", stops)
        tracks.append([path.at(t)["rod"] for t in stops[1:]])
    assert path.stable.all()
    for coarse, fine, track in zip(*tracks, strict=True):
        limit = (4.0 * fine.positions[80] - coarse.positions[40]) / 3.0
        middle = apply(*track.mesh.vertex_at([0.5]), track.positions)[0]
        assert np.abs(middle - limit).max() < {2: 2e-3, 3: 2e-4, 4: 2e-5}[degree]


# --- modes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("ends", ["free-free", "clamped-clamped"])
def test_order_of_frequencies(ends, degree):
    """2 p with the lumped mass: third bending mode of a thick Timoshenko beam."""
    r, exact = 0.05, problems.timoshenko(ends).reference["omega 3"]
    GA, end = 5.0 / 6.0 / 2.6 / r**2, gd.Clamped() if ends == "clamped-clamped" else gd.Free()
    given = {"density_per_length": 1.0, "rotary_inertia": (r**2, r**2, 2 * r**2), "start": end, "end": end}
    errors = []
    for E in {2: (12, 24), 3: (6, 12), 4: (5, 10)}[degree]:
        rod = gd.Rod("rod", 1.0, E, degree=degree, stiffness=(GA, GA, 1 / r**2, 1.0, 3.0, 9.0), **given)
        omega = gd.modes(gd.System(rods=[rod], gravity=NO_GRAVITY), n=20).omega
        errors.append(np.abs(omega - exact).min())
    assert errors[1] > 1e-8
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0 * degree, abs=0.4)


@pytest.mark.parametrize("degree", DEGREES)
def test_frequencies_of_bars_and_shafts(degree):
    """Extension and torsion of a clamped bar: (2 k - 1) pi/2 c/L, damped in proportion."""
    given = {"stiffness": (1e3, 1e3, 4.0, 1e3, 1e3, 9.0), "density_per_length": 1.0, "rotary_inertia": (1.0, 1.0, 1.0)}
    damping = gd.Damping(extension=0.02)
    rod = gd.Rod("rod", 1.0, 4, degree=degree, start=gd.Clamped(), damping=damping, **given)
    modes = gd.modes(gd.System(rods=[rod], gravity=NO_GRAVITY), n=6)
    for exact, ratio in ((np.pi, 0.02 * np.pi / 4.0), (1.5 * np.pi, 0.0), (3 * np.pi, 0.02 * 3 * np.pi / 4.0)):
        k = int(np.argmin(np.abs(modes.omega - exact)))
        assert modes.omega[k] == pytest.approx(exact, rel={2: 2e-3, 3: 2e-5, 4: 1e-7}[degree])
        assert modes.damping[k] == pytest.approx(ratio, rel=2e-3, abs=1e-9)


def test_shape_of_a_mode():
    system = gd.System(rods=[problems.euler_bernoulli(4, degree=4).system.rods[0]], gravity=NO_GRAVITY)
    shape, s = gd.modes(system, n=1).shape(0, "rod"), system.rods[0].fractions
    b = 1.8751040687119611
    sigma = (np.sinh(b) - np.sin(b)) / (np.cosh(b) + np.cos(b))
    exact = np.cosh(b * s) - np.cos(b * s) - sigma * (np.sinh(b * s) - np.sin(b * s))
    across = shape @ (shape[-1] / np.linalg.norm(shape[-1]))
    np.testing.assert_allclose(across / across[-1], exact / exact[-1], atol=3e-4)


def test_modes_of_a_loaded_rod_agree_with_the_grid():
    """Frequencies about a bent and twisted rest, as the grid has them in the limit."""

    def omega(**kind):
        return gd.modes(gd.equilibrium(surrounded(**kind)), n=4).omega

    coarse, fine, found = omega(segments=40), omega(segments=80), omega(segments=8, degree=3)
    limit = fine + (fine - coarse) / 3.0
    assert limit.max() > 1.0
    assert np.abs(found - limit).max() < 0.05 * np.abs(fine - coarse).max()


@pytest.mark.parametrize(("elements", "moment"), [(1, 2.0 * np.pi), (2, 4.0 * np.pi)])
def test_rest_and_paths_do_not_turn_further_than_elements_can_tell(elements, moment):
    rod = gd.Rod(
        "rod", 1.0, elements, start=gd.Clamped(), degree=3, stiffness=(1e3, 1e3, 1e3, 1, 1, 1), density_per_length=1.0,
        rotary_inertia=(1e-3, 1e-3, 2e-3),
    )  # fmt: skip
    load = gd.RodLoad("rod", at=1.0, moment=(0, moment, 0))
    system = gd.System(rods=[rod], forces=[load], gravity=(0, 0, 0))
    told = r"rod 'rod' turns by \d+ degrees within its element from s = .* to .* m, further than an element of degree 3"
    with pytest.raises(gd.EquilibriumError, match=told):
        gd.equilibrium(system)
    with pytest.raises(gd.PathError, match=told):
        gd.follow(system, "load", (0, 1))
    enough = gd.equilibrium(gd.System(rods=[rod.with_(segments=6)], forces=[load], gravity=(0, 0, 0)))
    np.testing.assert_allclose(enough["rod"].positions[-1], 0.0, atol=2e-4)
