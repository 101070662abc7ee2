"""Rods of elements in motion: orders in space, waves, momenta, balances of energy, all methods, reference numbers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from test_rods_core import (
    BALANCED,
    DAMPING,
    GRAVITY,
    ROD_FORMULATIONS,
    TOP,
    coupled_stiffness,
    driven,
    growing,
    swinging,
    thrown,
    tilting,
)

import gyrod as gd
from gyrod import problems
from gyrod import rotations as ro
from gyrod.model.meshes import apply

DEGREES = (2, 3, 4)
NO_GRAVITY = (0.0, 0.0, 0.0)
PLACES = np.linspace(0.0, 1.0, 121)
ELASTIC = {"stiffness": (60.0, 60.0, 100.0, 0.6, 0.7, 0.8), "density_per_length": 2.0}
ALONG_Y = gd.Straight((0, 0, 0), (0, 1, 0))


def elements(system, count, degree):
    """The same system, its rods of elements of a degree."""
    rods = [rod.with_(grid=None, segments=count, degree=degree) for rod in system.rods]
    return gd.System(system.bodies, system.joints, rods=rods, forces=system.forces, gravity=system.gravity)


# --- orders ----------------------------------------------------------------------------------------------------------


def onset(smoothness):
    """From 0 to 1 within a second, with as many derivatives that vanish at the start; a jump for 0."""
    return lambda t: np.sin(0.5 * np.pi * min(t, 1.0)) ** smoothness if smoothness else 1.0


def pulled(degree, count, smoothness, **options):
    """A clamped rod under a force and a moment at its end that bend, twist and stretch it in space."""
    rod = gd.Rod(
        "rod", 1.0, count, degree=degree, start=gd.Clamped(), initial=ALONG_Y,
        rotary_inertia=(0.02, 0.02, 0.04), **ELASTIC, **options,
    )  # fmt: skip
    rise, F, M = onset(smoothness), np.array([1.0, 0.5, -1.0]), np.array([0.3, 0.5, 0.4])
    load = gd.RodLoad("rod", force=lambda t: rise(t) * F, moment=lambda t: rise(t) * M)
    return gd.System(rods=[rod], forces=[load], gravity=NO_GRAVITY)


@cache
def seen(degree, count, smoothness, damping=None):
    """Positions everywhere and at the end, after 0.6 and 1 s."""
    system = pulled(degree, count, smoothness, damping=gd.Damping(factor=damping) if damping else None)
    method, rtol = ("radau5", 1e-8) if damping else ("dop853", 1e-10 if smoothness else 1e-7)
    track = gd.simulate(system, 1.0, method=method, rtol=rtol, output=[0.6, 1.0])["rod"]
    return apply(*track.mesh.vertex_at(PLACES), track.positions), track.positions[:, -1]


def errors(degree, counts, reference, *case):
    """Largest errors everywhere and at the end."""
    exact = seen(*reference, *case)
    found = [seen(degree, count, *case) for count in counts]
    return np.array([[np.abs(a - b).max() for a, b in zip(row, exact, strict=True)] for row in found])


@pytest.mark.spread(0)
@pytest.mark.parametrize("degree", DEGREES)
def test_order_in_space_of_smooth_motions(degree):
    """Large motion in space: p + 1 everywhere, and 2 p at the ends of elements as at rest."""
    counts = {2: (6, 12, 24), 3: (4, 8, 16), 4: (3, 6, 12)}[degree]
    order, at_end = np.log2(errors(degree, counts, (4, 24), 8)[:-1] / errors(degree, counts, (4, 24), 8)[1:]).T
    assert order[1] == pytest.approx(degree + 1, abs=0.3)
    assert at_end[0] == pytest.approx(2 * degree, abs=0.35)


@pytest.mark.spread(0)
@pytest.mark.parametrize("degree", DEGREES)
def test_order_after_a_load_that_sets_in_with_a_jump(degree):
    """Fronts run through the rod, and every degree falls to an order of one to two and a half."""
    counts = {2: (6, 12, 24), 3: (4, 8, 16), 4: (3, 6, 12)}[degree]
    e = errors(degree, counts, (4, 24), 0)[:, 0]
    assert 0.5 * np.log2(e[0] / e[2]) == pytest.approx(1.5, abs=0.8)
    assert e[2] < 4e-4  # still better than the grid with as many nodes


@cache
def seen_held(strain, degree, count):
    system = pulled(degree, count, 8, strain=strain)
    track = gd.simulate(system, 1.0, method="radau5", rtol=1e-9, output=[0.6, 1.0])["rod"]
    return apply(*track.mesh.vertex_at(PLACES), track.positions), track.positions[:, -1]


@pytest.mark.spread
@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("strain", ["kirchhoff", "inextensible"])
def test_order_of_held_strains(strain, degree):
    """Multipliers at the Gauss points take nothing away: p + 1 everywhere, 2 p at the ends of elements."""
    exact = seen_held(strain, 4, 12)
    found = [seen_held(strain, degree, count) for count in {2: (8, 16), 3: (6, 12), 4: (4, 8)}[degree]]
    e = np.array([[np.abs(a - b).max() for a, b in zip(row, exact, strict=True)] for row in found])
    order, at_end = np.log2(e[0] / e[1])
    assert order == pytest.approx(degree + 1, abs=0.5)
    assert at_end == pytest.approx(2 * degree, abs=0.3) or e[1, 1] < 1e-9  # what is left is the error in time


def test_damping_brings_the_order_back():
    """A front that is smeared out by damping is smooth."""
    for degree, counts in ((2, (8, 16)), (3, (4, 8))):
        e = errors(degree, counts, (4, 16), 0, 0.02)[:, 0]
        assert np.log2(e[0] / e[1]) > degree + 0.5


@cache
def torsion(degree, count, m):
    """Largest error of the angle of twist in a shaft whose end moment sets in as sin^m, before it comes back twice.

    The exact angle is that of d'Alembert: θ(s, t) = c/GJ ∫ M, reflected at the clamp.
    """
    GJ, c, twist = 0.8, 0.8 / 0.04, 0.5
    speed = np.sqrt(c)
    rod = gd.Rod(
        "rod", 1.0, count, degree=degree, start=gd.Clamped(), initial=ALONG_Y, rotary_inertia=(0.02, 0.02, 0.04),
        **ELASTIC,
    )  # fmt: skip
    rise = lambda t: np.sin(2.0 * np.pi * t) ** m if m else 1.0  # noqa: E731
    load = gd.RodLoad("rod", moment=lambda t: (0.0, twist * GJ * rise(t), 0.0))
    times = [0.15, 0.3, 0.4]
    system = gd.System(rods=[rod], forces=[load], gravity=NO_GRAVITY)
    track = gd.simulate(system, 0.4, method="dop853", rtol=1e-10, output=times)["rod"]
    at = apply(*track.mesh.frame_at(PLACES), track.quaternions)
    angle = 2.0 * np.arctan2(*np.moveaxis(ro.multiply(ro.conjugate(at[0, 0]), at), -1, 0)[[3, 0]])
    x, w = np.polynomial.legendre.leggauss(24)

    def impulse(t):
        t = np.maximum(t, 0.0)[..., None]
        return np.sum(0.5 * t * w * np.vectorize(rise)(0.5 * t * (1.0 + x)), axis=-1)

    t, s = np.array(times)[:, None], PLACES
    exact = twist * speed * sum(
        (-1) ** k * (impulse(t - (2 * k + 1 - s) / speed) - impulse(t - (2 * k + 1 + s) / speed)) for k in range(2)
    )  # fmt: skip
    return np.abs(angle - exact).max()


@pytest.mark.spread
@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("m", [0, 1, 2])
def test_a_front_limits_the_order(m, degree):
    """A moment that sets in as sin^m sends a torsion wave with a kink of that kind: order about m + 1, no more."""
    counts = {2: (8, 32), 3: (6, 24), 4: (4, 16)}[degree]
    order = 0.5 * np.log2(torsion(degree, counts[0], m) / torsion(degree, counts[1], m))
    assert order == pytest.approx(m + 1.0, abs=0.5)


@pytest.mark.parametrize("degree", DEGREES)
def test_a_smooth_torsion_wave_has_the_full_order(degree):
    counts = {2: (16, 32), 3: (12, 24), 4: (8, 16)}[degree]
    order = np.log2(torsion(degree, counts[0], 8) / torsion(degree, counts[1], 8))
    assert order == pytest.approx(degree + 1.0, abs=0.4)


# --- momenta and energy ----------------------------------------------------------------------------------------------

FREE = {
    "plain": {},
    "damped": {"damping": DAMPING},
    "stretch": {"strain": "stretch"},
    "coupled": {"stiffness": coupled_stiffness(), "damping": DAMPING},
}


@pytest.mark.spread
@pytest.mark.parametrize(
    ("degree", "name"), [(p, name) for p in DEGREES for name in FREE if p == 3 or name != "stretch"]
)
@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
def test_momenta_of_a_free_rod(formulation, degree, name):
    options = FREE[name]
    system = gd.System(
        rods=[thrown(grid=None, segments=3, degree=degree, **{**BALANCED, **options})], gravity=NO_GRAVITY
    )
    motion = gd.simulate(system, 1.0, method="dop853", rtol=1e-11, formulation=formulation)
    p, L, energy = motion.momentum, motion.angular_momentum, motion.energy
    assert np.abs(p - p[0]).max() < 1e-12 * np.abs(p[0]).max()
    assert np.abs(L - L[0]).max() < 1e-10 * np.abs(L[0]).max()
    if "damping" in options:
        assert (np.diff(energy.total) < 0.0).all()
        assert np.abs(energy.total + energy.dissipated - energy.total[0]).max() < 1e-8 * energy.total[0]
    else:
        assert np.abs(energy.total - energy.total[0]).max() < 1e-10 * energy.total[0]
        assert not energy.dissipated.any()
    assert np.abs(energy.balance).max() < 1e-8 * energy.total[0]
    assert np.ptp(energy.bending_torsion) > 1e-2 * energy.total[0]  # it vibrates


@pytest.mark.parametrize("degree", DEGREES)
def test_momentum_of_a_falling_rod(degree):
    rod = thrown(grid=None, segments=3, degree=degree)
    motion = gd.simulate(gd.System(rods=[rod], gravity=GRAVITY), 0.5, method="dop853", rtol=1e-10)
    m = 2.0 * rod.length
    fall = motion.momentum - motion.momentum[0] - m * motion.t[:, None] * GRAVITY
    assert np.abs(fall).max() < 1e-11 * m * 9.81


def test_energy_error_falls_with_the_tolerance():
    """What is left of it is the error of the method in time: none comes from the elements."""
    system = gd.System(rods=[thrown(grid=None, segments=3, degree=3)], gravity=NO_GRAVITY)
    drifts = []
    for rtol in (1e-5, 1e-7, 1e-9):
        energy = gd.simulate(system, 1.0, method="dop853", rtol=rtol).energy.total
        drifts.append(np.abs(energy / energy[0] - 1.0).max())
    assert drifts[0] > 20 * drifts[1] > 400 * drifts[2]
    assert drifts[2] < 1e-8


def along(start, end, *, loads=(), **options):
    return driven(start, end, loads=loads, degree=3, **options)


EXCHANGES = {
    "hinge moves": along(gd.Hinged(at=swinging), gd.Free(), damping=DAMPING),
    "clamp moves": along(gd.Clamped(at=swinging, frame=tilting), gd.Free(), damping=DAMPING),
    "guide turns": along(gd.Hinged(), gd.Guided(frame=tilting), damping=DAMPING),
    "both move": along(gd.Clamped(frame=tilting), gd.Clamped(at=lambda t: TOP + swinging(t), frame=tilting)),
    "follower": along(
        gd.Clamped(), gd.Free(), loads=[gd.RodLoad("rod", force=(0.5, 0, -0.5), moment=(0, 0.1, 0.1), follow=True)]
    ),
    "spread": along(
        gd.Clamped(), gd.Hinged(), loads=[gd.RodLoad("rod", span=(0, 1), force=growing, moment=(0.1, 0.1, 0.1))]
    ),
    "dead": along(gd.Clamped(), gd.Free(), loads=[gd.RodLoad("rod", at=0.7, force=(1, 0, 1))]),
    "drag": along(gd.Hinged(), gd.Free(), loads=[gd.Drag("rod", (0.3, 0.2, 0.1), rotational=0.02)]),
    "flow": along(gd.Hinged(), gd.Free(), loads=[gd.Flow("rod", (0.5, 2, 0), 0.3), gd.Flow("rod", growing, 0.1)]),
    "foundation": along(
        gd.Hinged(), gd.Free(), loads=[gd.Foundation("rod", (3.0, 5.0, 1.0), damping=(0.3, 0.1, 0.2), span=(0.3, 1.0))]
    ),
    "obstacle": along(
        gd.Hinged(), gd.Free(), loads=[gd.SphereObstacle((0, 1.0, 1.0), 0.6, stiffness=50.0, smoothing=0.3)]
    ),
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_energy_balance(name):
    """Energy + dissipated - work stays, whoever drives the rod."""
    still = name in ("follower", "spread", "dead", "drag", "flow", "foundation", "obstacle")
    formulation = ROD_FORMULATIONS[len(name) % 2]
    motion = gd.simulate(EXCHANGES[name], 0.8 if still else 0.05, method="dop853", rtol=1e-8, formulation=formulation)
    energy = motion.energy
    scale = energy.kinetic.max() + np.abs(energy.work).max()
    assert np.abs(energy.balance).max() < 1e-6 * scale
    quiet = name in ("dead", "drag", "foundation", "obstacle")
    assert (np.abs(energy.work[-1]) > 1e-2 * scale) == (not quiet)


# --- both forms, all methods -----------------------------------------------------------------------------------------


def hanging(degree, count=3, **options):
    """A damped rod on a clamp under a following force and gravity."""
    rod = gd.Rod("rod", 1.3, count, degree=degree, start=gd.Clamped(), damping=DAMPING, **{**BALANCED, **options})
    load = gd.RodLoad("rod", force=(1, 0, 0), moment=(0, 0.1, 0), follow=True)
    return gd.System(rods=[rod], gravity=GRAVITY, forces=[load])


@cache
def trusted(degree):
    return gd.simulate(hanging(degree), 0.5, method="dop853", rtol=1e-12, output=[0.5])["rod"]


@pytest.mark.parametrize("method", gd.METHODS)
@pytest.mark.parametrize("formulation", ROD_FORMULATIONS)
def test_every_method(formulation, method):
    degree = DEGREES[(list(gd.METHODS).index(method) + ROD_FORMULATIONS.index(formulation)) % 3]
    motion = gd.simulate(hanging(degree), 0.5, method=method, rtol=1e-8, formulation=formulation, output=[0.5])
    track, exact = motion["rod"], trusted(degree)
    assert np.abs(track.positions - exact.positions).max() < 1e-6
    assert np.abs(track.directors - exact.directors).max() < 1e-6
    assert np.abs(track.velocities - exact.velocities).max() < 1e-5
    assert motion.drift.position.max() < 1e-14


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("name", ["thrown", "clamped", "coupled"])
def test_both_forms_have_the_same_motion(name, degree):
    rod = {
        "thrown": lambda: thrown(grid=None, segments=3, degree=degree),
        "clamped": lambda: hanging(degree, end=gd.Guided()).rods[0],
        "coupled": lambda: hanging(degree, strain="stretch", stiffness=coupled_stiffness()).rods[0],
    }[name]()
    system = gd.System(rods=[rod], gravity=GRAVITY)
    tracks = [
        gd.simulate(system, 0.5, method="dop853", rtol=1e-11, formulation=form, output=[0.25, 0.5])["rod"]
        for form in ROD_FORMULATIONS
    ]
    for key in ("positions", "velocities", "directors", "Omega", "strain", "curvature", "force", "moment"):
        a, b = (getattr(track, key) for track in tracks)
        assert np.abs(a - b).max() < 1e-8 * max(1.0, np.abs(a).max()), key


@pytest.mark.parametrize("degree", DEGREES)
def test_motion_is_objective(degree):
    """A problem that is turned and moved as a whole has a solution that is."""
    q, b = ro.exp((0.7, -1.1, 0.4)), np.array([3.0, -2.0, 1.0])
    tracks = []
    for turned in (False, True):
        move = (lambda x: ro.rotate(q, x)) if turned else np.asarray
        shape = gd.Bent((0.5, -0.8, 1.0), b if turned else (0, 0, 0), q if turned else (1, 0, 0, 0))
        rod = gd.Rod("rod", 1.3, 3, degree=degree, start=gd.Clamped(), initial=shape, **BALANCED)
        loads = [gd.RodLoad("rod", force=move((1.0, 0.5, -1.0)), moment=move((0.1, 0.0, 0.2)))]
        system = gd.System(rods=[rod], forces=loads, gravity=move(GRAVITY))
        motion = gd.simulate(system, 0.3, method="dop853", rtol=1e-11, output=[0.3])
        tracks.append((motion["rod"], motion.energy))
    (here, energy), (there, other) = tracks
    assert np.abs(ro.rotate(q, here.positions) + b - there.positions).max() < 1e-9
    assert np.abs(here.curvature - there.curvature).max() < 1e-8
    assert energy.kinetic[-1] == pytest.approx(other.kinetic[-1], rel=1e-9)


def test_a_clamp_whose_sign_jumps_while_it_turns():
    """A frame as a function of time may change sides: matrices do not know signs."""
    first, second = (
        gd.simulate(along(gd.Clamped(frame=frame), gd.Free(), damping=DAMPING), 0.05, method="dop853", rtol=1e-9)
        for frame in (tilting, lambda t: tilting(t) * (-1 if t > 0.02 else 1))
    )
    assert np.abs(first.y[-1] - second.y[-1]).max() < 1e-9


@pytest.mark.parametrize("degree", DEGREES)
def test_whole_turns(degree):
    """A rod on a shaft that goes round more than twice: clamped to a driven body as to a frame that turns."""
    rate, start = 10.0, ro.exp((0.0, 0.5 * np.pi, 0.0))  # d3 along x

    def angle(t):
        return 0.5 * rate * t**2

    rod = {"segments": 2, "degree": degree, "initial": gd.Straight((0, 0, 0), (0.5, 0, 0), orientation=start)}
    stiff = {"stiffness": (30.0, 40.0, 50.0, 1.0, 1.2, 0.8), "density_per_length": 0.1, "damping": DAMPING}
    inertia = {"rotary_inertia": (0.01, 0.01, 0.01)}
    clamp = gd.Clamped(
        frame=lambda t: ro.multiply(ro.exp((0.0, 0.0, angle(t))), start), angular_velocity=lambda t: (0, 0, rate * t)
    )
    led = gd.System(rods=[gd.Rod("rod", start=clamp, **rod, **stiff, **inertia)])
    hub = gd.Body("hub", mass=1.0, inertia=(0.1, 0.1, 0.1))
    drive = (angle, lambda t: rate * t, lambda t: rate)
    joint = gd.Revolute("ground", "hub", at=(0, 0, 0), axis=(0, 0, 1), drive=drive)
    held = gd.Rod("rod", start=gd.Clamped("hub"), **rod, **stiff, **inertia)
    driven_by = gd.System(bodies=[hub], joints=[joint], rods=[held])
    a, b = (gd.simulate(s, 1.7, method="radau5", rtol=1e-7, output=[0.8, 1.7]) for s in (led, driven_by))
    assert angle(1.7) > 4.0 * np.pi
    assert np.abs(a["rod"].positions - b["rod"].positions).max() < 1e-5
    assert np.abs(a["rod"].curvature - b["rod"].curvature).max() < 1e-3


def test_what_rests_stays_at_rest():
    rest = gd.equilibrium(hanging(3))
    motion = gd.simulate(rest, 0.2, method="radau5", rtol=1e-7)
    assert np.abs(motion["rod"].positions[-1] - rest["rod"].positions).max() < 1e-7


@pytest.mark.parametrize(("limit", "value"), [("bend_radius", 0.2), ("stress", 1e5)])
def test_limits_end_a_run(limit, value):
    rubber = gd.Material(young=5e6, poisson=0.5, density=1100.0)
    rod = gd.Rod("rod", 1.0, 4, gd.Circle(radius=5e-3), rubber, gd.Clamped(), degree=3, limits={limit: value})
    motion = gd.simulate(gd.System(rods=[rod]), 1.0, rtol=1e-5)
    assert motion.status == "event"
    last = motion["rod"].bend_radius[-1].min() if limit == "bend_radius" else motion.stress("rod")[-1].max()
    assert last == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("degree", DEGREES)
def test_a_winch_pulls_and_works(degree):
    """A shortened rest length between two hinges: tension EA (1 - g); led by time, the balance of energy holds."""
    rod = {"segments": 3, "degree": degree, "rotary_inertia": (0.02, 0.02, 0.04), **ELASTIC}
    ends = {"start": gd.Hinged(), "end": gd.Hinged()}
    still = gd.System(rods=[gd.Rod("rod", 1.0, rest_stretch=0.95, **rod, **ends)], gravity=NO_GRAVITY)
    np.testing.assert_allclose(gd.equilibrium(still)["rod"].force[:, 2], 5.0, rtol=1e-9)
    led = gd.System(rods=[gd.Rod("rod", 1.0, start=gd.Clamped(), rest_stretch=lambda t: 1.0 + 0.1 * t, **rod)])
    energy = gd.simulate(led, 0.2, rtol=1e-8).energy
    assert np.abs(energy.work).max() > 1e-4
    assert np.abs(energy.balance).max() < 1e-6 * np.abs(energy.work).max()


def test_a_study_runs_elements():
    """Members of a study, together and one by one."""
    rubber, values = gd.Material(young=5e6, poisson=0.5, density=1100.0), [4e6, 5e6, 6e6, 7e6, 8e6]
    rod = gd.Rod("rod", 1.0, 4, gd.Circle(radius=5e-3), rubber, gd.Clamped(), degree=3)
    system = gd.System(rods=[rod])
    outputs = {"z": lambda motion: motion["rod"].positions[-1, -1, 2]}
    found = gd.study(system, {"rod.material.young": values}, outputs, 0.1)["z"]
    single = [gd.simulate(system.with_({"rod.material.young": E}), 0.1)["rod"].positions[-1, -1, 2] for E in values]
    np.testing.assert_allclose(found, single, rtol=1e-9)


# --- reference numbers -----------------------------------------------------------------------------------------------

#: Free end at 0.5 and 1 s: pendulum of rubber, string of steel, both without damping.
PENDULUM = np.array([[0.0, -0.233118, -0.919442], [0.0, -0.940095, -0.099102]])
STRING = np.array([[0.0, 0.980020, -0.187308], [0.0, 0.925879, -0.349391]])


@pytest.mark.parametrize(
    ("degree", "count", "bound"),
    [
        (2, 5, 6e-3), (3, 4, 4e-3), (4, 3, 3e-3), (3, 7, 5e-4),
        *(pytest.param(*finer, marks=pytest.mark.slow) for finer in ((2, 10, 8e-4), (4, 4, 6e-4))),
    ],
)  # fmt: skip
def test_pendulum_of_rubber(degree, count, bound):
    problem = problems.rubber_pendulum(count, degree=degree)
    motion = gd.simulate(problem.system, 1.0, rtol=1e-6, output=[0.5, 1.0])
    assert np.abs(motion["rod"].positions[:, -1] - PENDULUM).max() < bound


@pytest.mark.parametrize(("degree", "count", "bound"), [(2, 5, 3e-4), (3, 3, 1e-4), (4, 2, 2e-4)])
def test_string_of_steel(degree, count, bound):
    problem = problems.steel_string(count, degree=degree)
    motion = gd.simulate(problem.system, 1.0, rtol=1e-6, output=[0.5, 1.0])
    assert np.abs(motion["rod"].positions[:, -1] - STRING).max() < bound


@cache
def end_of_discs(segments, degree=None):
    system = problems.lla_rubber(curvature="angle", inertia="disc", segments=segments, degree=degree).system
    return gd.simulate(system, 1.0, rtol=1e-6, output=[0.5, 1.0])["rod"].positions[:, -1]


@pytest.mark.spread(0)
@pytest.mark.parametrize("degree", DEGREES)
def test_damped_pendulum_as_the_fine_grid_has_it(degree):
    """The performance example with discs, in the continuum."""
    ends = [end_of_discs(40), end_of_discs(80), end_of_discs(8, degree)]
    limit = ends[1] + (ends[1] - ends[0]) / 3.0
    assert np.abs(ends[2] - limit).max() < 0.3 * np.abs(ends[1] - ends[0]).max()


@pytest.mark.slow
def test_spin_up():
    """The extension of the steady state, while the beam still vibrates a little."""
    problem = problems.spin_up(3, degree=3)
    motion = gd.simulate(problem.system, 16.0, rtol=1e-5, output=np.linspace(15.0, 16.0, 41))
    x = motion["rod"].positions[:, -1]
    assert np.linalg.norm(x, axis=1).mean() - 10.0 == pytest.approx(5.143e-4, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "fine", "table"),
    [
        (
            problems.rubber_pendulum,
            24,
            {(2, 5): 4.7e-3, (2, 10): 5.3e-4, (3, 3): 5.1e-3, (3, 7): 3.6e-4, (4, 4): 3.7e-4},
        ),
        (problems.steel_string, 10, {(2, 3): 1.0e-3, (2, 5): 2.3e-4, (3, 2): 4.3e-4, (3, 3): 3.5e-5, (4, 2): 5.4e-5}),
    ],
)
def test_errors_of_few_elements(problem, fine, table):
    """Largest error at four places and ten times, as the prototypes had it."""

    def seen(degree, count):
        system = problem(count, degree=degree).system
        track = gd.simulate(system, 1.0, method="radau5", rtol=1e-7, output=np.linspace(0.1, 1.0, 10))["rod"]
        return apply(*track.mesh.vertex_at([0.25, 0.5, 0.75, 1.0]), track.positions)

    exact = seen(4, fine)
    for (degree, count), wanted in table.items():
        error = np.linalg.norm(seen(degree, count) - exact, axis=-1).max()
        assert wanted / 1.6 < error < 1.6 * wanted, (degree, count, error)
