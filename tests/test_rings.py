"""Clips through which a rod slides: against catenaries of one tension, ropes in closed form, and fixed clips."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.polynomial.polynomial import polyder, polyval
from scipy.optimize import brentq, fsolve

import gyrod as gd
from gyrod.equations import compile_system
from gyrod.equations.variational import compile_stepped

GRID, ELEMENTS = {"discretization": "staggered", "segments": 60}, {"degree": 3, "segments": 20}
MESHES = pytest.mark.parametrize("mesh", [GRID, ELEMENTS], ids=["grid", "elements"])


#: Of length 1.2 between points 1 m apart.
ANGLE = brentq(lambda a: np.sin(a) / a - 1 / 1.2, 0.1, 3.0)
BOW = gd.Curve(
    lambda s: (
        (np.sin(ANGLE * (2 * s - 1)) / np.sin(ANGLE) + 1) / 2,
        0,
        (np.cos(ANGLE) - np.cos(ANGLE * (2 * s - 1))) / np.sin(ANGLE) / 2,
    )
)


def cable(length=1.0, bending=1e-3, extension=1e4, **changes):
    given = {"stiffness": (extension, extension, extension, bending, bending, bending), "density_per_length": 0.1}
    given |= {"rotary_inertia": (1e-5, 1e-5, 2e-5), "precurvature": (0, 0, 0), "start": gd.Free(), "end": gd.Free()}
    return gd.Rod("cable", length, **{**given, "initial": gd.Straight((0, 0, 0), (length, 0, 0)), **changes})


def ring(at=0.5, point=None, **changes):
    return gd.Clip("cable", at, **{"point": point, "kind": "ring", "name": "eye", **changes})


@MESHES
def test_a_ring_is_at_the_nearest_place_of_a_smooth_rod(mesh):
    """On a rod whose vertices lie on a cubic, between uneven nodes too, the spline is that cubic."""
    point = np.array([0.37, 0.1, -0.05])
    c = compile_system(gd.System(rods=[cable(**mesh)], forces=[ring(0.5, point, stiffness=7.0)]))
    cubic = np.array([(0.02, 0, 0.1), (0.8, 0.3, 0), (0, 0.2, -0.3), (0.2, -0.4, 0.1)])
    y, s = np.array(c.y0), c.system.rods[0].mesh.vertices
    for i, x in zip(c.core.layout()[0].x, polyval(s, cubic).T, strict=True):
        y[i : i + 3] = x
    at, *rest = c.slide_states(np.zeros(1), y[None])[0, 0]
    x, tangent = polyval(at, cubic), polyval(at, polyder(cubic))
    np.testing.assert_allclose(rest[:3], x, atol=1e-14)
    np.testing.assert_allclose(rest[3:], 7.0 * (point - x), atol=1e-13)
    assert abs((point - x) @ tangent) < 1e-14


# --- at rest ---------------------------------------------------------------------------------------------------------

PLACES, LENGTH, WEIGHT, EXTENSION = (-1.0, -0.3, 0.35, 1.0), 2.05, 1.0, 1e5


def level(bending):
    """Tension at the level of supports, and fractions in the rings, of a cable that bends at its rings only.

    What is taut along it, n . x' + M²/(2 EI) = T + w z, does not jump in a ring: all spans are catenaries of one level.
    Where two of them meet at an angle α, the cable is bent over the length ε = sqrt(EI/T), as the planar elastica is,
    and the catenaries end 2 ε sin(α/4) beside the ring and 2 ε (1 - cos(α/4)) behind it. Left out is EI/(T L²).
    """

    def spans(unknowns):
        tension, *shapes = unknowns
        shapes, layer = np.reshape(shapes, (3, 2)), np.sqrt(bending / tension)
        ends = [[(PLACES[0], 0.0), None], [None, None], [None, (PLACES[3], 0.0)]]
        for j, x in enumerate(PLACES[1:3]):
            slopes = [np.arctan(np.sinh((x - c) / a)) for a, c in shapes[j : j + 2]]
            angle = (slopes[0] - slopes[1]) / 4
            for k, side in ((0, 1), (1, -1)):
                along, up = np.array([(np.cos(slopes[k]), np.sin(slopes[k])), (-np.sin(slopes[k]), np.cos(slopes[k]))])
                ends[j + k][1 - k] = (x, 0) + 2 * layer * (side * (1 - np.cos(angle)) * along + np.sin(angle) * up)
        missed = [
            a * np.cosh((x - c) / a) - tension / WEIGHT - z
            for (a, c), two in zip(shapes, ends, strict=True)
            for x, z in two
        ]
        lengths = [
            a * np.diff(np.sinh(u))[0] - WEIGHT * a**2 / EXTENSION * np.diff(u / 2 + np.sinh(2 * u) / 4)[0]
            for a, u in ((a, (np.array([x for x, _ in two]) - c) / a) for (a, c), two in zip(shapes, ends, strict=True))
        ]
        return np.array([*missed, sum(lengths) - LENGTH]), lengths

    start = [1.0, *np.ravel([(0.95, (a + b) / 2) for a, b in pairwise(PLACES)])]
    found, info, _, _ = fsolve(lambda x: spans(x)[0], start, xtol=1e-13, full_output=True)
    assert np.abs(info["fvec"]).max() < 1e-12
    return found[0], np.cumsum(spans(found)[1])[:2] / LENGTH


def over_two_rings(bending, segments):
    clips = [
        gd.Clip("cable", at, point=(x, 0, 0), kind="ring", name=name)
        for name, at, x in zip("ab", (0.36, 0.66), PLACES[1:3], strict=True)
    ]
    start, end = gd.Hinged(at=(PLACES[0], 0, 0)), gd.Hinged(at=(PLACES[-1], 0, 0))
    return gd.route(
        LENGTH, start, end, clips=clips, name="cable", stiffness=(*[EXTENSION] * 3, *[bending] * 3),
        density_per_length=WEIGHT / 9.81, rotary_inertia=(1e-4, 1e-4, 2e-4), segments=segments, starts=1,
    )  # fmt: skip


def test_a_heavy_cable_over_two_rings_finds_the_level_of_equal_tension():
    """To 1e-4 of the catenary of a limp cable, and to EI/(T L²) of one that bends at its rings, on graded elements."""
    limp, places, tensions, wrong = level(0.0), [], [], []
    route = over_two_rings(1e-4, 40)
    system = gd.System(rods=[route.rod], forces=route.clips)
    for bending in (1e-4, 6.25e-6):
        rod = system.rods[0].with_(stiffness=(*[EXTENSION] * 3, *[bending] * 3))
        found = gd.refine(system.with_(rods=[rod]), 1e-6, most=1000)
        rest, system = found.result, found.system
        ends = [np.linalg.norm(force) for force in (rest["cable"].start_force, rest["cable"].end_force)]
        assert ends[0] == pytest.approx(ends[1], rel=5e-5)  # as tight on both sides of both rings
        tension, fractions = level(bending)
        at = np.array([rest[name].at for name in "ab"])
        places.append(at - limp[1])
        tensions.append(np.mean(ends) / tension - 1)
        wrong.append(np.abs(at - fractions).max() * tension * LENGTH**2 / bending)
    # Of a limp cable it is the length of the bends that makes the difference, sqrt(EI/T): a quarter of it.
    np.testing.assert_allclose(places[1] / places[0], 0.25, atol=0.02)
    assert np.abs(places[-1]).max() < 1e-4
    # What is left of it when the bends are taken into account: about EI/(T L²), and a tension to 1e-4.
    assert max(wrong) < 1.5
    assert np.abs(tensions[-1]) < 1e-4


def test_the_place_in_a_ring_converges_with_the_mesh():
    """Of second order on a grid, where the bend at the ring is resolved."""

    def place(n):
        ends = {"start": gd.Clamped(), "end": gd.Hinged(), "discretization": "staggered", "segments": n}
        clip = ring(0.35, (0.37, 0.0, -0.15), stiffness=1e6)
        rest = gd.equilibrium(gd.System(rods=[cable(1.2, 0.02, initial=BOW, **ends)], forces=[clip]))
        return np.array([rest["eye"].at, np.linalg.norm(rest["eye"].force)])

    coarse, middle, fine, finest = (place(n) for n in (20, 40, 80, 160))
    first, second, third = np.abs(coarse - middle), np.abs(middle - fine), np.abs(fine - finest)
    assert np.all(second < 0.35 * first)
    assert np.all(third < 0.3 * second)


@MESHES
def test_a_ring_gives_way_across_the_rod_alone(mesh):
    """A cable between hinges, drawn aside by a ring: the force is that of both halves, the gap is force over k."""
    hinged = {"start": gd.Hinged(), "end": gd.Hinged()}
    clip = ring(0.3, (0.5, 0.0, -0.1), stiffness=2e3)
    rest = gd.equilibrium(
        gd.System(rods=[cable(bending=0.05, extension=300.0, **hinged, **mesh)], forces=[clip], gravity=(0, 0, 0))
    )
    eye, track = rest["eye"], rest["cable"]
    assert eye.at == pytest.approx(0.5, abs=1e-9)
    np.testing.assert_allclose(eye.force + track.start_force + track.end_force, 0, atol=1e-8)
    assert eye.gap == pytest.approx(np.linalg.norm(eye.force) / 2e3, rel=1e-12)
    assert not eye.moment.any()
    assert eye.turn == 0.0
    fixed = gd.Clip("cable", 0.5, point=(0.5, 0.0, -0.1), kind="ball", stiffness=2e3, name="eye")
    other = gd.equilibrium(
        gd.System(rods=[cable(bending=0.05, extension=300.0, **hinged, **mesh)], forces=[fixed], gravity=(0, 0, 0))
    )
    np.testing.assert_allclose(eye.force, other["eye"].force, rtol=1e-3, atol=1e-6)
    assert other["eye"].at == 0.5
    assert rest["eye"].force[2] < -1.0


def test_a_cable_is_drawn_through_a_ring_by_follow():
    """Its end is led away: another part is in the ring, and the cable is as tight on both sides of it."""
    ends = {"start": gd.Hinged(), "end": gd.Hinged(at=lambda t: (1 + 0.3 * t, 0, 0))}
    system = gd.System(
        rods=[cable(bending=1e-3, extension=30.0, **ends, **ELEMENTS)],
        forces=[ring(0.5, (0.4, 0, 0.05), stiffness=1e5)],
    )
    last = gd.follow(system, "time", (0.0, 1.0)).at(1.0)
    left, right = np.hypot(0.4, 0.05), np.hypot(0.9, 0.05)
    assert last["eye"].at == pytest.approx(left / (left + right), abs=2e-3)
    forces = [np.linalg.norm(force) for force in (last["cable"].start_force, last["cable"].end_force)]
    assert forces == pytest.approx([30.0 * (left + right - 1.0)] * 2, rel=2e-3)


def test_modes_across_a_ring_are_those_across_a_ball():
    """Of a taut cable with the ring in the middle, which nothing draws along it."""
    ends = {"start": gd.Clamped(), "end": gd.Clamped(), "extension": 100.0, "prestrain": (0, 0, -0.02)}
    clips = ring(0.5, (0.5, 0, 0)), gd.Clip("cable", 0.5, point=(0.5, 0, 0), kind="ball")
    systems = [gd.System(rods=[cable(**ends, **ELEMENTS)], forces=[clip], gravity=(0, 0, 0)) for clip in clips]
    omegas = [gd.modes(system, 4).omega for system in systems]
    np.testing.assert_allclose(*omegas, rtol=1e-3)


@pytest.mark.parametrize(
    ("mesh", "close"), [(GRID, 1e-6), ({"degree": 3, "segments": 40}, 2e-3)], ids=["grid", "elements"]
)
def test_a_bent_rod_is_driven_out_of_a_sleeve(mesh, close):
    """By M²/(2 EI): its moment at the end bends what is outside. Wherever between two vertices it is held."""
    bending, moment = 0.05, 0.1
    found = []
    for at in 0.5 + np.linspace(0, 1, 5) / mesh["segments"]:
        rod = cable(1.0, bending, 1e6, start=gd.Hinged(), **mesh)
        clip = gd.Clip(
            "cable", at, point=(at, 0, 0), axis=(1, 0, 0), kind="sleeve", length=0.1, stiffness=1e6, name="eye"
        )
        load = gd.RodLoad("cable", moment=(0, moment, 0))
        rest = gd.equilibrium(gd.System(rods=[rod], forces=[clip, load], gravity=(0, 0, 0)))
        track, eye = rest["cable"], rest["eye"]
        first = track.positions[1] - track.positions[0]  # along the rod: behind the sleeve it is not quite straight
        found.append(-track.start_force @ first / np.linalg.norm(first))
        np.testing.assert_allclose(eye.force, -track.start_force, atol=1e-9)
        assert eye.moment[1] == pytest.approx(-moment, rel=0.01)
        assert eye.turn < 3e-4
    np.testing.assert_allclose(found, moment**2 / (2 * bending), rtol=close)


# --- in motion -------------------------------------------------------------------------------------------------------


def over_an_edge(segments, hanging=0.2, bend=0.03, young=1e8, radius=1e-3):
    """A rope along a level guide whose end hangs through a ring at the edge."""
    s, arc = np.linspace(0, 1, 4001), bend * np.pi / 2
    angle = np.clip((s - (1 - hanging - arc / 2)) / bend, 0, np.pi / 2)
    d = np.stack([np.cos(angle), 0 * s, -np.sin(angle)], axis=1)
    x = np.concatenate([np.zeros((1, 3)), np.cumsum(0.5 * (d[1:] + d[:-1]) * np.diff(s)[:, None], axis=0)])
    x -= [np.interp(1 - hanging, s, column) for column in x.T]
    half = 0.5 * (angle + np.pi / 2)
    frames = np.stack([np.cos(half), 0 * s, np.sin(half), 0 * s], axis=1)
    rod = gd.Rod(
        "cable", 1.0, segments, gd.Circle(radius=radius),
        gd.Material(young=young, poisson=0.3, density=0.1 / (np.pi * radius**2)), precurvature=(0, 0, 0),
        initial=gd.Laid(s, x, frames), damping=gd.Damping(factor=1e-4), discretization="staggered",
        start=gd.Free(), end=gd.Free(),
    )  # fmt: skip
    offset = (-0.5 - bend * np.sin(np.pi / 4), 0, x[0, 2] - radius - 0.05)
    guide = gd.Contact("cable", gd.Box((1.0, 0.2, 0.1), offset=offset), stiffness=1e5)
    return gd.System(rods=[rod], forces=[ring(1 - hanging, (0, 0, 0), stiffness=1e4)], contacts=[guide])


def test_a_rope_runs_through_a_ring_at_an_edge():
    """What hangs of a rope of length L draws the rest along: x'' = g x/L."""
    t = np.array([0.0, 0.1, 0.2, 0.3])
    motion = gd.simulate(over_an_edge(100), 0.3, method="radau5", rtol=1e-3, atol=1e-6, output=t)
    exact = 0.2 * np.cosh(np.sqrt(9.81) * t)
    np.testing.assert_allclose(1.0 - motion["eye"].at, exact, rtol=0.01)


@MESHES
@pytest.mark.parametrize("method", ["radau5", "rodas", "seulex"])
def test_a_rod_that_runs_out(mesh, method):
    system = gd.System(rods=[cable(velocity=(1, 0, 0), **mesh)], forces=[ring(0.5, (0.5, 0, 0))], gravity=(0, 0, 0))
    words = r"the rod has run out of Clip 'eye' by its start; give a longer rod, end the run before, or hold the rod"
    with pytest.raises(gd.SimulationError, match=words) as caught:
        gd.simulate(system, 1.0, method=method)
    assert caught.value.time == pytest.approx(0.5, abs=1e-6)
    motion = caught.value.motion
    np.testing.assert_allclose(motion["eye"].at, 0.5 - motion.t, atol=1e-6)
    between = motion(np.linspace(0.0, 0.45, 7))
    np.testing.assert_allclose(between["eye"].at, 0.5 - between.t, atol=1e-6)


def flying(sleeve=False, **mesh):
    """A rod through rings on a free body and on another rod, which may run through a sleeve; without gravity."""
    body = gd.Body("frame", 0.2, (1e-2, 1e-2, 2e-2), position=(0.3, 0.1, 0.0), angular_velocity=(0, 1.0, 2.0))
    other = cable(bending=0.05, extension=100.0, initial=gd.Straight((0.6, -0.5, 0), (0.6, 0.5, 0)), **mesh)
    rods = [cable(bending=0.05, extension=100.0, velocity=(0.5, 0, 0.2), **mesh), other.with_(name="other")]
    forces = [
        ring(0.3, (0.0, -0.1, 0.01), to="frame", stiffness=20.0),
        gd.Clip("cable", 0.6, "other", 0.5, kind="ring", stiffness=30.0, name="hook"),
    ]
    if sleeve:
        forces.append(gd.Clip("other", 0.4, "frame", kind="sleeve", length=0.1, stiffness=50.0, name="sleeve"))
    return gd.System([body], rods=rods, forces=forces, gravity=(0, 0, 0))


@MESHES
@pytest.mark.parametrize("sleeve", [False, True])
def test_nothing_is_lost_in_rings_that_fly(mesh, sleeve):
    """Energy, momentum and angular momentum, while a rod slides over several cells."""
    system = flying(sleeve, **{**mesh, "segments": 6 if "degree" in mesh else 20})
    motion = gd.simulate(system, 0.3, method="radau5", rtol=1e-8, atol=1e-10)
    assert np.ptp(motion["eye"].at) > 0.08
    assert np.ptp(motion["hook"].at) > 0.08
    assert np.ptp(motion.energy.potential) > 1e-4
    for quantity in (motion.energy.total, *motion.momentum.T, *motion.angular_momentum.T):
        np.testing.assert_allclose(quantity, quantity[0], rtol=0, atol=3e-7)


@pytest.mark.parametrize("method", ["radau5", "rodas", "seulex", "dop853", "variational", "energy-momentum"])
@pytest.mark.parametrize("until", [0.05, 0.1])
def test_a_run_that_goes_on_from_a_snapshot_is_the_same_to_the_bit(until, method):
    how = {"step": 1e-3} if method in ("variational", "energy-momentum") else {"rtol": 1e-4}
    system = flying(sleeve=True, **{**GRID, "segments": 20})
    first, second = (gd.stepper(system, method=method, **how) for _ in range(2))
    first.step(until)
    second.restore(first.save())
    for stepper in (first, second):
        stepper.step(0.1)
    assert np.array_equal(first.y, second.y)


# --- by constant steps


BOTH = pytest.mark.parametrize("method", ["variational", "energy-momentum"])
COARSE = pytest.mark.parametrize(
    "mesh", [{**GRID, "segments": 20}, {**ELEMENTS, "segments": 6}], ids=["grid", "elements"]
)


@pytest.mark.spread
@BOTH
@COARSE
@pytest.mark.parametrize("sleeve", [False, True])
def test_rings_take_no_momentum_and_no_energy(method, mesh, sleeve):
    """To rounding, over windows of vertices that follow the rod; with the energy of a symplectic method swinging."""
    motion = gd.simulate(flying(sleeve, **mesh), 0.3, method=method, step=2e-3)
    assert np.ptp(motion["hook"].at) > 0.08
    assert np.ptp(motion.energy.potential) > 1e-4
    for quantity in (*motion.momentum.T, *motion.angular_momentum.T):
        np.testing.assert_allclose(quantity, quantity[0], rtol=0, atol=1e-14)
    assert np.ptp(motion.energy.total) < (5e-6 if method == "variational" else 1e-13)


@BOTH
def test_rigid_rings_take_no_energy(method):
    """1e4 times as stiff as the cable: the place in it is known to rounding, which the force does not see."""
    rod = cable(
        1.0, 1e-2, 1e3, start=gd.Hinged(), initial=gd.Straight((0, 0, 0), (0, 0, -1)), segments=20,
        discretization="staggered", velocity=lambda s: (0.3 * s, 0, 0),
    )  # fmt: skip
    motion = gd.simulate(gd.System(rods=[rod], forces=[ring(0.5, (0, 0, -0.5))]), 0.5, method=method, step=1e-3)
    assert np.ptp(motion["eye"].at) > 5e-4
    assert np.ptp(motion.energy.kinetic) > 1e-3
    assert np.ptp(motion.energy.total) < (5e-5 if method == "variational" else 1e-9)


@BOTH
@pytest.mark.parametrize("sleeve", [False, True])
def test_constant_steps_are_of_order_two(method, sleeve):
    system, t = flying(sleeve, discretization="staggered", segments=6), np.array([0.0, 0.05, 0.1])
    exact = gd.simulate(system, 0.1, method="radau5", rtol=1e-10, atol=1e-12, output=t)
    errors = []
    for n in (100, 200):
        motion = gd.simulate(system, 0.1, method=method, step=0.1 / n, output=t)
        errors.append(np.abs(motion["cable"].positions - exact["cable"].positions).max())
        np.testing.assert_allclose(motion["hook"].at, exact["hook"].at, atol=2e-5 / (n / 100) ** 2)
    assert 3.7 < errors[0] / errors[1] < 4.4


def test_order_four_through_a_ring():
    system, t = flying(discretization="staggered", segments=6), np.array([0.0, 0.05, 0.1])
    exact = gd.simulate(system, 0.1, method="radau5", rtol=1e-11, atol=1e-13, output=t)
    coarse, fine = (
        gd.simulate(system, 0.1, method="variational", order=4, step=0.1 / n, output=t)["cable"].positions
        for n in (20, 40)
    )
    errors = [np.abs(x - exact["cable"].positions).max() for x in (coarse, fine)]
    assert errors[0] / errors[1] > 12.0


@BOTH
@pytest.mark.parametrize("sleeve", [False, True])
def test_newton_matrix_of_what_slides(method, sleeve):
    system, h = flying(sleeve, discretization="staggered", segments=6), 5e-3
    s = compile_stepped(
        system, h, coordinates="directors", sigma="mean", potential="midpoint", conserving=method == "energy-momentum",
        reduce=True,
    )  # fmt: skip
    size = s.core.unknowns
    u = 0.01 * np.random.default_rng(4).normal(size=size)
    _, K = s.core.linearise(s.start, 0.0, h, u)
    J = [
        s.core.linearise(s.start, 0.0, h, u + d)[0] - s.core.linearise(s.start, 0.0, h, u - d)[0]
        for d in 1e-6 * np.eye(size)
    ]
    assert np.abs(K - np.array(J).T / 2e-6).max() < 1e-8 * np.abs(K).max()


@pytest.mark.spread
@BOTH
@MESHES
def test_a_rod_that_runs_out_in_constant_steps(mesh, method):
    system = gd.System(
        rods=[cable(velocity=(1, 0, 0), **mesh)], forces=[ring(0.5, (0.5, 0, 0), stiffness=1e4)], gravity=(0, 0, 0)
    )
    words = rf"^{method}: the rod has run out of Clip 'eye' by its start; .* \(in the step of 0.002 s from t = 0.5"
    with pytest.raises(gd.SimulationError, match=words) as caught:
        gd.simulate(system, 1.0, method=method, step=2e-3)
    assert caught.value.time == pytest.approx(0.5, abs=3e-3)
    motion = caught.value.motion
    np.testing.assert_allclose(motion["eye"].at, 0.5 - motion.t, atol=1e-12)
    between = motion(np.linspace(0.0, 0.45, 7))
    np.testing.assert_allclose(between["eye"].at, 0.5 - between.t, atol=1e-12)


@BOTH
def test_a_rest_in_rings_stays_at_rest(method):
    rest = over_two_rings(1e-3, 20)
    still = gd.simulate(rest, 0.05, method=method, step=1e-3)
    np.testing.assert_allclose(still["a"].at, rest["a"].at, atol=1e-9)


def test_a_rest_stays_at_rest_and_methods_agree():
    rest = over_two_rings(1e-3, 20)
    still = gd.simulate(rest, 0.05, method="radau5")
    assert np.ptp(still["a"].at) < 1e-6
    system = flying(**{**ELEMENTS, "segments": 6})
    ends = [
        gd.simulate(system, 0.1, method=m, rtol=1e-6, atol=1e-8)["hook"].at[-1] for m in ("radau5", "dop853", "seulex")
    ]
    np.testing.assert_allclose(ends, ends[0], atol=1e-5)


# --- around it -------------------------------------------------------------------------------------------------------


def test_rings_are_read_drawn_and_written(tmp_path):
    system = flying(**{**ELEMENTS, "segments": 6}).with_(sensors=[gd.ClipSensor("where", "eye", "at")])
    assert len(system.rod("cable").fractions) == 19  # elements do not end where a rod slides
    motion = gd.simulate(system, 0.02)
    assert np.array_equal(motion.sensors["where"], motion["eye"].at)
    assert motion.sensors.units == {"where": "1"}
    from gyrod.look.scene import describe
    from gyrod.motion.readings import quantity

    assert np.array_equal(quantity("eye.at", system).read(motion), motion["eye"].at)
    eye, hook = describe(motion.compiled)["joints"][:2]
    assert eye["anchor"] == {"body": 0, "at": [0.0, -0.1, 0.01]}
    assert (hook["anchor"]["rod"], hook["anchor"]["s"]) == (1, 0.5)
    system.save(tmp_path / "rings.yaml")
    assert "kind: ring" in (tmp_path / "rings.yaml").read_text()
    again = gd.simulate(gd.load(tmp_path / "rings.yaml"), 0.02)
    assert np.array_equal(again.y, motion.y)
    saved = gd.simulate(system, 0.02, save=tmp_path / "rings.h5")
    assert np.array_equal(gd.open(tmp_path / "rings.h5")["hook"].at, saved["hook"].at)


def test_a_study_over_places_of_a_ring():
    def drawn(x):
        ends = {"start": gd.Hinged(), "end": gd.Hinged(), "extension": 300.0}
        return gd.System(rods=[cable(**ends, **ELEMENTS)], forces=[ring(0.5, (x, 0, 0.05))])

    study = gd.study(drawn, {"x": [0.3, 0.5, 0.6]}, {"at": "eye.at"}, at_rest=True, engine="serial")
    assert study.failed == {}
    x = np.array([0.3, 0.5, 0.6])
    left, right = np.hypot(x, 0.05), np.hypot(1 - x, 0.05)
    np.testing.assert_allclose(study["at"], left / (left + right), atol=2e-3)


def test_threads_and_studies_change_nothing():
    system = flying(**{**ELEMENTS, "segments": 40})
    alone, shared = (gd.simulate(system, 0.02, method="radau5", threads=n) for n in (1, 2))
    assert np.array_equal(alone.y, shared.y)
    system = flying(**{**ELEMENTS, "segments": 6})
    vary = {"eye.point[2]": [0.01, 0.03]}
    study = gd.study(system, vary, {"at": gd.Final("hook.at")}, t_end=0.05, engine="serial")
    runs = [gd.simulate(system.with_({"eye.point[2]": z}), 0.05)["hook"].at[-1] for z in (0.01, 0.03)]
    np.testing.assert_allclose(study["at"], runs, rtol=1e-7)


def test_a_ring_that_a_rod_misses_is_told():
    told = gd.System(rods=[cable(**GRID)], forces=[ring(0.5, (0.3, 0.0, 0.1))]).notes
    assert "Clip 'eye' holds rod 'cable' 0.0917 m away from where it lies at the start" in told[-1]
    assert not gd.System(rods=[cable(**GRID)], forces=[ring(0.5, (0.3, 0.0, 0.0))]).notes
    one = cable(segments=1, degree=2, start=gd.Clamped(), end=gd.Clamped())
    assert gd.equilibrium(gd.System(rods=[one], forces=[ring(0.5, (0.3, 0, 0))]))["eye"].at == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"axis": (1, 0, 0)}, "axis is for clips that hold a direction; the rod goes through a ring as it likes"),
        ({"frame": (1, 0, 0, 0)}, "frame is for clips that hold a direction"),
        ({"rotational": 1.0}, "rotational is for clips that hold a direction"),
        ({"stiffness": (1.0, 2.0, 3.0)}, "but a ring has one for all directions; give one"),
        ({"damping": 1.0}, "damping is for clips that do not slide"),
        ({"length": 0.1}, "length = 0.1 is for kind = 'sleeve'; a 'ring' has none"),
        ({"kind": "sleeve"}, "length is missing; a sleeve needs one"),
        ({"kind": "sleeve", "length": -1.0}, "length must be a positive finite number"),
        ({"kind": "sleeve", "length": 0.1, "rotational": 1.0}, "a sleeve holds a direction by its length"),
        ({"kind": "sleeve", "length": 0.1, "damping": 1.0}, "damping is for clips that do not slide"),
        ({"kind": "sleeve", "length": 0.1, "stiffness": (1.0, 2.0, 3.0)}, "but a sleeve has one for all directions"),
    ],
)
def test_fields_of_rings(given, sentence):
    with pytest.raises(gd.ModelError) as caught:
        ring(**{"kind": "ring", **given})
    assert sentence in str(caught.value)
