"""Load paths: the paper's Test 2, post-buckling, snap-through, buckling loads, and what bad input gets."""

from __future__ import annotations

import json
from pathlib import Path as File

import numpy as np
import pytest

import gyrod as gd
from gyrod import problems
from gyrod.solve import Path, PathError, PathInterrupted, follow
from gyrod.solve.paths import corrector, tracer
from gyrod.solve.statics import EquilibriumError, equilibrium

REFERENCE = File(__file__).parent.parent.parent / "shared" / "reference" / "rods.json"
INERTIA = {"density_per_length": 1.0, "rotary_inertia": (1e-4, 1e-4, 2e-4)}
EULER = np.pi**2 / 4.0
#: Tip angle of a clamped-free column: P/Pcr, x/L, y/L.
POST_BUCKLING = {
    20: (1.0153968655397, 0.96973090736352, 0.2194130423956),
    60: (1.1517196204691, 0.74101960607633, 0.59320764616489),
    120: (1.8848008689781, 0.12315997240512, 0.80317099000746),
}


def column(segments, stiff=1e6, bending=(1.0, 2.0), load=(0.0, 0.0, -1.0), gravity=(0.0, 0.0, 0.0), **options):
    """Clamped at the foot, along z."""
    rod = gd.Rod(
        "column", 1.0, segments, stiffness=(stiff, stiff, stiff, *bending, 1.0), start=gd.Clamped(),
        initial=gd.Straight((0, 0, 0), (0, 0, 1)), **INERTIA, **options,
    )  # fmt: skip
    return gd.System(rods=[rod], forces=[gd.RodLoad("column", force=load)] if load else [], gravity=gravity)


def arch(rise, extension, segments=40, central=False):
    """A hinged arch, half a sine wave of span 1 and EI = 1, kept in its plane; the load is such a wave, or central."""
    x = np.linspace(0.0, 1.0, 2001)
    slope = rise * np.pi * np.cos(np.pi * x)
    ds = np.sqrt(1.0 + slope**2)
    s = np.append(0.0, np.cumsum(0.5 * (ds[1:] + ds[:-1]) * np.diff(x)))

    def at(fraction):
        return float(np.interp(fraction * s[-1], s, x))

    def frame(fraction):
        d3 = np.array([1.0, 0.0, rise * np.pi * np.cos(np.pi * at(fraction))])
        d3 /= np.linalg.norm(d3)
        d1 = np.array([0.0, 1.0, 0.0])
        return np.stack([d1, np.cross(d3, d1), d3], axis=1)

    rod = gd.Rod(
        "arch", s[-1], segments, stiffness=(extension, extension, extension, 1.0, 100.0, 100.0), **INERTIA,
        start=gd.Hinged(), end=gd.Hinged(),
        initial=gd.Curve(lambda u: (at(u), 0.0, rise * np.sin(np.pi * at(u))), frame),
    )  # fmt: skip
    load = gd.RodLoad("arch", span=(0, 1), force=(0, 0, -1.0), profile=lambda u: np.sin(np.pi * at(u)))
    if central:
        load = gd.RodLoad("arch", at=0.5, force=(0, 0, -1.0))
    plane = gd.Foundation("arch", stiffness=(0.0, 1e4, 0.0))
    return gd.System(rods=[rod], forces=[load, plane], gravity=(0, 0, 0))


def shallow_arch_limits(rise, extension):
    """q = π⁴ (a0 - a)(1 + EA/4 a (a0 + a)) of the shallow arch with amplitude a: its two limit points."""
    a = np.sqrt((rise**2 - 4.0 / extension) / 3.0) * np.array([1.0, -1.0])
    return np.pi**4 * (rise - a) * (1.0 + 0.25 * extension * a * (rise + a))


# --- Test 2 of Lang, Linn, Arnold 2011 -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def test2():
    return follow(problems.lla_test2().system, "time", (0.0, 0.2, 0.6, 1.0))


@pytest.mark.parametrize("t", [0.2, 0.6, 1.0])
def test_centroids_of_test2(test2, t):
    wanted = problems.lla_test2().reference[f"x(t = {t:g})"]
    if REFERENCE.exists():
        wanted = np.array(json.loads(REFERENCE.read_text())["test2"]["snaps"][f"{t}"]["x0_5"])
    assert np.abs(test2.at(t)["rod"].positions[:6] - wanted).max() < 1e-12


def test_test2_is_planar_at_the_end_and_symmetric_on_the_way(test2):
    assert np.abs(test2.at(1.0)["rod"].positions[:, 0]).max() < 1e-12
    x = test2["rod"].positions
    turned = x[:, ::-1] * [-1.0, -1.0, 1.0] + [0.0, 1.0, 0.0]
    assert np.abs(x - turned).max() < 1e-9


def test_test2_takes_few_increments(test2):
    assert len(test2) - 1 < 40
    assert test2.iterations[1:].mean() <= 8.0
    assert test2.stable.all()
    assert test2.events == ()


def test_equal_increments_as_in_the_paper(test2):
    path = follow(problems.lla_test2().system, "time", (0.0, 1.0), increments=25)
    assert len(path) == 26
    assert np.allclose(np.diff(path.value), 0.04)
    assert np.abs(path.y[-1] - test2.y[-1]).max() < 1e-11


# --- the path as a result --------------------------------------------------------------------------------------------


def test_a_path_reads_like_a_motion(test2):
    n = len(test2)
    assert test2["rod"].positions.shape == (n, 11, 3)
    assert test2["rod"].moment.shape == (n, 11, 3)
    assert test2.motion.energy.total.shape == (n,)
    assert len(test2.rests) == n
    assert [rest.t for rest in test2.rests[:2]] == list(test2.value[:2])
    rest = test2.rests[-1]
    assert rest["rod"].positions.shape == (11, 3)
    assert np.array_equal(rest["rod"].positions, test2["rod"].positions[-1])
    assert rest.stable
    assert rest.iterations == test2.iterations[-1]
    assert not rest["rod"].velocities.any()


def test_points_are_equilibria(test2):
    k = len(test2) // 2
    rest = equilibrium(problems.lla_test2().system, guess=test2.rests[k], t=float(test2.value[k]))
    assert np.abs(rest.y - test2.y[k]).max() < 1e-10


def test_a_value_that_is_no_point(test2):
    with pytest.raises(
        ValueError, match=r"value = 0.33 is not a point of the path; the nearest is .* one of the stops"
    ):
        test2.at(0.33)


def test_stops_may_turn_back():
    system = roll_up(10)
    path = follow(system, "load", (0.0, 0.5, 0.2, 1.0, 0.0))
    for stop in (0.5, 0.2, 1.0, 0.0):
        assert stop in path.value
    assert np.abs(path.y[0] - path.y[-1]).max() < 1e-10
    assert np.abs(follow(system, "load", (0.0, 0.2)).y[-1] - path.at(0.2).y).max() < 1e-10


def test_largest_increment():
    path = follow(roll_up(6), "load", (0.0, 1.0), largest=0.03)
    assert np.diff(path.value).max() <= 0.0303 + 1e-12


# --- loads -----------------------------------------------------------------------------------------------------------


def roll_up(segments):
    rod = gd.Rod("rod", 1.0, segments, stiffness=(1e4, 1e4, 1e4, 1.0, 1.0, 1.0), start=gd.Clamped(), **INERTIA)
    load = gd.RodLoad("rod", moment=(0.0, 0.0, 2.0 * np.pi))
    return gd.System(rods=[rod], forces=[load], gravity=(0, 0, 0))


def test_roll_up_to_a_full_circle():
    path = follow(roll_up(20), "load", (0.0, 0.5, 1.0))
    assert np.abs(path.at(1.0)["rod"].positions[-1]).max() < 1e-12
    # At half the moment the vertices lie on half a circle that the discrete curvature "angle" meets exactly.
    chord = 2.0 / np.pi * (np.pi / 40.0) / np.sin(np.pi / 40.0)
    assert abs(np.linalg.norm(path.at(0.5)["rod"].positions[-1]) - chord) < 1e-3


def test_load_and_gravity_scale_different_things():
    rod = gd.Rod("rod", 1.0, 8, stiffness=(1e4, 1e4, 1e4, 1.0, 1.0, 1.0), start=gd.Clamped(), **INERTIA)
    system = gd.System(rods=[rod], forces=[gd.RodLoad("rod", force=(0.0, 0.3, 0.0))], gravity=(0.0, 0.0, -0.4))
    for parameter, factor in (("load", 0.5), ("gravity", 0.5)):
        path = follow(system, parameter, (0.0, 0.5, 1.0))
        rest = path.at(factor)
        assert np.allclose(rest.system.gravity, (0.0, 0.0, -0.2))
        force = rest.system.forces[0].force
        assert np.allclose(force, (0.0, 0.15 if parameter == "load" else 0.3, 0.0))
        again = equilibrium(rest.system)
        assert np.abs(again["rod"].positions - rest["rod"].positions).max() < 1e-10
        assert np.abs(path.at(1.0).y - equilibrium(system).y).max() < 1e-10


def test_a_function_of_the_value_and_a_length_as_function_of_time():
    rubber = gd.Material(young=5e6, poisson=0.5, density=1100)

    def cable(stretch):
        ends = {"start": gd.Hinged(), "end": gd.Hinged()}
        rod = gd.Rod("cable", 1.0, 10, gd.Circle(radius=5e-3), rubber, **ends, rest_stretch=stretch)
        return gd.System(rods=[rod])

    made = follow(None, cable, (1.0, 1.3))
    timed = follow(cable(lambda t: 1.0 + t), "time", (0.0, 0.3))
    assert made.parameter == "cable"
    assert made["cable"].positions.shape == (len(made), 11, 3)
    assert np.abs(made.rests[-1]["cable"].positions - timed.rests[-1]["cable"].positions).max() < 1e-10
    assert made.rests[-1].system.rods[0].rest_stretch == 1.3
    with pytest.raises(ValueError, match=r"the systems along 'cable' differ"):
        _ = made.motion


def test_bodies_on_rods():
    hose = gd.Rod(
        "hose", 1.0, 10, gd.Circle(radius=5e-3), gd.Material(young=5e6, poisson=0.5, density=1100), gd.Clamped(),
        gd.Hinged("bob", at=(0, 0, 0.05)), initial=gd.Straight((0, 0, 0), (0, 1, 0)),
        damping=gd.Damping(bending=1e-2),
    )  # fmt: skip
    bob = gd.Body("bob", mass=0.2, inertia=(1e-4, 1e-4, 1e-4), position=(0, 1, -0.05))
    system = gd.System([bob], rods=[hose])
    path = follow(system, "gravity", (0.0, 1.0))
    assert path["bob"].position.shape == (len(path), 3)
    assert np.abs(path["bob"].position[-1] - equilibrium(system)["bob"].position).max() < 1e-9
    assert path.stable.all()
    # Damping has no part in statics, but what is at rest keeps it.
    assert path.rests[-1].system.rods[0].damping == hose.damping


def test_a_driven_joint():
    arm = gd.Body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0.5, 0, 0))
    bob = gd.Body("bob", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(1.0, 0, -0.5))
    joints = [
        gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), drive=lambda t: t**2),
        gd.Revolute("arm", "bob", at=(1, 0, 0), axis=(0, 1, 0)),
    ]
    path = follow(gd.System([arm, bob], joints), "time", (0.0, 1.0))
    angle = path.value**2
    assert (
        np.abs(path["arm"].position - 0.5 * np.stack([np.cos(angle), 0 * angle, -np.sin(angle)], axis=1)).max() < 1e-9
    )
    assert np.abs(path["bob"].position[:, 0] - np.cos(angle)).max() < 1e-8


# --- bifurcations ----------------------------------------------------------------------------------------------------


def test_euler_columns_in_both_planes():
    errors = []
    for segments in (25, 50):
        path = follow(column(segments), "load", (0.0, 4.0, 30.0))
        kinds = {(e.kind, e.unstable) for e in path.events}
        assert kinds == {("bifurcation", (0, 1)), ("bifurcation", (1, 2)), ("bifurcation", (2, 3))}
        errors.append(
            [e.value / exact - 1.0 for e, exact in zip(path.events, (EULER, 2 * EULER, 9 * EULER), strict=True)]
        )
    assert np.abs(errors[1][:2]).max() < 1e-4
    assert np.all(np.abs(np.log2(np.divide(errors[0], errors[1])) - 2.0) < 0.05)


def test_the_event_knows_mode_and_place():
    path = follow(column(40), "load", (0.0, 3.0))
    (event,) = path.events
    assert path.value[event.after] < event.value < path.value[event.after + 1]
    assert path.unstable[event.after : event.after + 2].tolist() == list(event.unstable)
    assert abs(event.rest.system.forces[0].force[2] + event.value) < 1e-12
    # The mode is 1 - cos(π s/2) in the weak plane.
    moved = equilibrium_track(event, 1.0)
    shape = moved / moved[-1]
    assert np.abs(shape - (1.0 - np.cos(0.5 * np.pi * np.linspace(0, 1, 41)))).max() < 2e-3


def equilibrium_track(event, amplitude):
    """Sideways displacement by the mode of an event."""
    compiled = event.rest.motion.compiled
    there = compiled.rod_states(np.zeros(1), (event.rest.y + amplitude * event.mode)[None])[0]["positions"][0]
    here = event.rest["column"].positions
    return np.linalg.norm((there - here)[:, :2], axis=1)


def test_self_weight_column():
    path = follow(column(60, load=None, gravity=(0, 0, -1.0)), "gravity", (0.0, 10.0))
    (event,) = path.events
    assert abs(event.value / 7.837347438943484 - 1.0) < 1e-3
    assert path.stable.tolist() == (path.value < event.value).tolist()


def test_damping_does_not_move_the_buckling_load():
    values = [
        follow(column(20, damping=damping), "load", (0.0, 3.0)).events[0].value
        for damping in (None, gd.Damping(shear=1.0, extension=1.0, bending=1.0, torsion=1.0))
    ]
    assert abs(values[0] - values[1]) < 1e-6


def twisted(segments):
    rod = gd.Rod(
        "shaft", 1.0, segments, stiffness=(1e6, 1e6, 1e6, 1.0, 1.0, 4.0), start=gd.Hinged(), end=gd.Hinged(), **INERTIA
    )
    couples = [gd.RodLoad("shaft", at=at, moment=(sign, 0, 0)) for at, sign in ((0.0, -1.0), (1.0, 1.0))]
    return gd.System(rods=[rod], forces=couples, gravity=(0, 0, 0))


def test_twist_buckling():
    """Both planes at once, with a free rotation about the line of the hinges."""
    errors = []
    for segments in (30, 60):
        event = follow(twisted(segments), "load", (0.0, 6.6)).events[0]
        assert event.unstable == (0, 2)
        errors.append(event.value / (2.0 * np.pi) - 1.0)
    assert abs(errors[1]) < 1e-3
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.1


def test_bifurcations_can_be_left_out():
    path = follow(column(20), "load", (0.0, 3.0), bifurcations=False)
    assert path.events == ()
    assert path.unstable[-1] == 1


# --- branches --------------------------------------------------------------------------------------------------------


def post_buckling(segments, **options):
    stops = [EULER * ratio for ratio, _, _ in POST_BUCKLING.values()]
    path = follow(column(segments, stiff=1e7, **options), "load", (0.0, *stops), branch=1)
    found = []
    for ratio, x, y in POST_BUCKLING.values():
        tip = path.at(EULER * ratio)["column"].positions[-1]
        found.append((tip[2] - x, np.hypot(tip[0], tip[1]) - y))
    return path, np.abs(found)


def test_post_buckling_of_a_column():
    _, coarse = post_buckling(50)
    path, fine = post_buckling(100)
    assert np.all(np.abs(np.log2(coarse / fine) - 2.0) < 0.1)
    assert fine[0].max() < 2e-4  # near the critical load the deflection goes with the root of what is above it
    assert fine[1:].max() < 5e-5
    assert path.stable.all()
    assert len(path) < 40


def test_post_buckling_of_a_round_column():
    """The buckled column turns about its line without any force."""
    _, wanted = post_buckling(50)
    path, found = post_buckling(50, bending=(1.0, 1.0))
    assert np.abs(found - wanted).max() < 1e-7
    assert path.stable.all()
    assert path.events[0].unstable == (0, 2)


def test_both_sides_of_a_branch():
    tips = [follow(column(20), "load", (0.0, 3.0), branch=side)["column"].positions[-1, -1] for side in (1, -1)]
    assert abs(tips[0][2] - tips[1][2]) < 1e-9
    assert np.abs(tips[0][:2] + tips[1][:2]).max() < 1e-9
    assert np.linalg.norm(tips[0][:2]) > 0.5


# --- limit points ----------------------------------------------------------------------------------------------------


def limit_points(path):
    """Without the bifurcations of the flat arch, which may spin about the line of its hinges."""
    return [e for e in path.events if e.kind == "limit point"]


@pytest.mark.parametrize("arc_length", [pytest.param(True, marks=pytest.mark.slow), "auto"])
def test_a_shallow_arch_snaps(arc_length):
    rise, extension = 0.015, 4e4  # too shallow for a bifurcation: rise² < 16 EI/EA
    limits = shallow_arch_limits(rise, extension)
    path = follow(arch(rise, extension), "load", (0.0, 1.5 * limits[0]), arc_length=arc_length)
    found = limit_points(path)
    assert [e.unstable for e in found] == [(0, 1), (1, 0)]
    assert np.abs(np.array([e.value for e in found]) / limits - 1.0).max() < 0.005
    assert path.stable[0]
    assert path.stable[-1]
    assert not path.stable.all()
    middle = path["arch"].positions[:, 20, 2]
    assert np.all(np.diff(middle) < 0.0)
    assert middle[-1] < -rise
    assert path.value[-1] == 1.5 * limits[0]


def test_a_central_load_snaps_an_arch():
    # In the first mode a central load of 1 is a half sine wave of 2.
    rise, extension = 0.015, 4e4
    limits = shallow_arch_limits(rise, extension) / 2.0
    path = follow(arch(rise, extension, central=True), "load", (0.0, 2.0 * limits[0]), arc_length=True)
    found = limit_points(path)
    assert [e.unstable for e in found] == [(0, 1), (1, 0)]
    assert np.abs(np.array([e.value for e in found]) / limits - 1.0).max() < 0.1
    for event in found:
        # The eigenvalue that is next to zero is small against the lowest one of the unloaded arch.
        assert abs(eigenvalue(path, event.value, event.rest.y)) < 1e-3 * eigenvalue(path, 0.0, path.y[0])


def eigenvalue(path, value, y):
    statics, t = path._family.at(value)
    return statics.modes(y, t, 1)[0][0]


@pytest.mark.slow
def test_limit_points_do_not_depend_on_the_steps():
    rise, extension = 0.015, 4e4
    stop = 1.5 * shallow_arch_limits(rise, extension)[0]
    found = [follow(arch(rise, extension, 20), "load", (0.0, stop), arc_length=True, largest=h) for h in (0.3, 0.1)]
    a, b = ([e.value for e in limit_points(path)] for path in found)
    assert np.abs(np.subtract(a, b)).max() < 1e-6 * stop
    assert len(found[1]) > len(found[0])


def test_plain_increments_stop_at_a_limit_point_and_keep_the_path():
    rise, extension = 0.015, 4e4
    limits = shallow_arch_limits(rise, extension)
    with pytest.raises(
        PathError, match=r"stops at .* on the way to .* last Newton steps .* arc_length = \"auto\""
    ) as e:
        follow(arch(rise, extension, 20), "load", (0.0, 1.5 * limits[0]))
    path = e.value.path
    assert isinstance(path, Path)
    assert abs(path.value[-1] / limits[0] - 1.0) < 0.02
    assert path.stable.all()
    assert e.value.history.shape[1] == 3


def test_too_few_points():
    with pytest.raises(PathError, match=r"5 points \(max_points\) did not lead there") as e:
        follow(column(10), "load", (0.0, 3.0), arc_length=True, largest=0.05, max_points=5)
    assert len(e.value.path) == 5


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameter": "lode"}, r"parameter = 'lode' is unknown; .* Did you mean 'load'\?"),
        ({"stops": (0.0,)}, r"stops must be at least two values of the parameter, got \(0.0,\)"),
        ({"stops": 1.0}, r"stops must be at least two values"),
        ({"stops": (0.0, 1.0, 1.0)}, r"stops\[1\] and stops\[2\] are both 1; neighbours must differ"),
        ({"stops": (0.0, np.nan)}, r"stops\[1\] = nan is not finite"),
        ({"increments": 0}, r"increments = 0 must be 'auto' or a positive integer"),
        ({"increments": "many"}, r"increments = 'many' must be 'auto' or a positive integer"),
        ({"increments": 5, "arc_length": True}, r"increments = 5 are of the parameter; arc_length and branch go with"),
        ({"arc_length": "maybe"}, r"arc_length = 'maybe' is unknown; it can be True, False or 'auto'"),
        ({"branch": 2}, r"branch = 2 is unknown; it can be 1, -1 or None"),
        ({"largest": -1.0}, r"largest must be a positive finite number, got -1"),
        ({"tolerance": 0.0}, r"tolerance must be a positive finite number, got 0"),
        ({"guess": 3}, r"guess must be a Rest or a Motion at one time, got int"),
        ({"max_points": 1}, r"max_points = 1 must be an integer of at least 2"),
        ({"system": None}, r"system must be a gyrod.System, got NoneType"),
    ],
)
def test_bad_arguments(options, message):
    given = {"system": column(4), "parameter": "load", **options}
    with pytest.raises(ValueError, match=message):
        follow(given.pop("system"), **given)


def test_a_function_that_changes_the_topology():
    def grow(value):
        return column(4 if value < 0.5 else 5)

    def nothing(value):
        return None

    with pytest.raises(ValueError, match=r"grow\(.*\) returns a system with .* unknowns, before it were .* must stay"):
        follow(None, grow)
    with pytest.raises(ValueError, match=r"nothing\(0\) must return a gyrod.System, got NoneType"):
        follow(None, nothing)


def test_what_cannot_be_scaled():
    body = gd.Body("b", mass=1.0, inertia=(1, 1, 1), position=(0, 0, -1))
    system = gd.System(
        [body], [gd.Spherical("ground", "b", at=(0, 0, 0))], forces=[gd.CForce("b", 12345)], gravity=(0, 0, -1)
    )
    with pytest.raises(ValueError, match=r"CForce\('b'\) is a C function, which a load factor cannot scale"):
        follow(system, "load")


def test_no_equilibrium_at_the_start():
    rod = gd.Rod("rod", 1.0, 4, stiffness=(1e2, 1e2, 1e2, 1.0, 1.0, 1.0), **INERTIA)
    with pytest.raises(EquilibriumError):
        follow(gd.System(rods=[rod]), "load", (1.0, 2.0))


def test_a_load_that_raises_on_the_way():
    def force(t):
        if t > 0.5:
            raise RuntimeError("no data")
        return (0.0, 0.1 * t, 0.0)

    rod = gd.Rod("rod", 1.0, 4, stiffness=(1e2, 1e2, 1e2, 1.0, 1.0, 1.0), start=gd.Clamped(), **INERTIA)
    system = gd.System(rods=[rod], forces=[gd.RodLoad("rod", force=force)], gravity=(0, 0, 0))
    with pytest.raises(PathError, match=r"raised RuntimeError at t = .*: no data") as e:
        follow(system, "time")
    assert 0.0 < e.value.path.value[-1] <= 0.5


def test_ctrl_c_keeps_the_path(monkeypatch):
    finish = corrector.Solver.finish

    def interrupted(self, point, towards=None):
        if point.value > 0.5:
            raise KeyboardInterrupt
        return finish(self, point, towards)

    monkeypatch.setattr(corrector.Solver, "finish", interrupted)
    with pytest.raises(PathInterrupted) as e:
        follow(roll_up(4), "load")
    assert len(e.value.path) > 2


def test_progress_bar(capsys):
    follow(column(4), "load", progress=True)
    assert "load = 1" in capsys.readouterr().out


# --- no creeping ------------------------------------------------------------------------------------------------------


def shaken() -> gd.System:
    """A hose whose end is led to and fro by a third of its length, many times in the span of the path."""
    hose = gd.Rod(
        "hose", length=0.45, segments=24, section=gd.Ring(radius=5.25e-3, inner=1.6e-3),
        material=gd.Material(young=5e7, poisson=0.45, density=1400), start=gd.Clamped(), end=gd.Clamped(),
        initial=gd.Arc((0, 0, 0), (0, 0, -1), (1, 0, 0), 0.15, 3.0), precurvature=(0, 0, 0),
    )  # fmt: skip
    x, y, z = hose.initial.place([0.0, 1.0], 0.45)[0][1].tolist()
    at = gd.ExpressionVector((f"{x!r}+0.08*sin(5.65*t)", y, f"{z!r}+0.08*(1-cos(5.65*t))"))
    return gd.System(rods=[hose.with_(end=gd.Clamped(at=at))])


def test_a_long_path_of_a_led_end_has_tangents_of_its_own(monkeypatch):
    path = gd.follow(shaken(), "time", (0.0, 4.0))
    assert len(path) < 250
    period = 2.0 * np.pi / 5.65
    again = gd.follow(shaken(), "time", (0.0, 0.3, 0.3 + 2.0 * period))
    np.testing.assert_allclose(
        again.at(0.3 + 2.0 * period)["hose"].positions, again.at(0.3)["hose"].positions, atol=1e-9
    )
    # Differences over which the end moves by a part of a segment give no tangent; the path then stops with a sentence.
    monkeypatch.setattr(corrector, "DIFFERENCE", 3e-3)
    monkeypatch.setattr(corrector, "FINER", np.inf)
    monkeypatch.setattr(tracer, "FINER", np.inf)
    with pytest.raises(gd.PathError, match=r"stops at \S+ on the way to 4: the last 60 increments came on by .* only"):
        gd.follow(shaken(), "time", (0.0, 4.0))


def test_a_path_that_ends_in_a_bifurcation_says_that_the_stiffness_vanishes():
    """A hose between two clamps bulges to the side, until its end is led so far up that it lies in a plane again."""
    level = (0, np.pi / 2, 0)
    at = gd.ExpressionVector((0.3, 0, "-0.1+0.05*ramp(t, 0, 1)"))
    route = gd.route(
        0.45, start=gd.Clamped(at=(0, 0, 0), frame=level), end=gd.Clamped(at=(0.3, 0, -0.1), frame=level),
        section=gd.Ring(radius=5.25e-3, inner=1.6e-3), material=gd.Material(young=5e7, poisson=0.45, density=1400),
    )  # fmt: skip
    system = gd.System(rods=[route.rod.with_(name="hose", end=gd.Clamped(at=at, frame=level))])
    with pytest.raises(gd.PathError, match="stiffness against one motion vanishes there, whose frequency") as error:
        gd.follow(system, "time", (0.0, 1.0))
    assert "arc_length" not in str(error.value)  # which turns around and goes back in time
    reached = error.value.path.value[-1]
    beyond = gd.follow(system, "time", (reached + 0.01, 1.0))  # as it advises
    assert beyond.value[-1] == 1.0
    assert np.abs(beyond["hose"].positions[-1, :, 1]).max() < 1e-6


def test_a_path_that_starts_where_nothing_holds_says_what_is_free():
    bob = gd.Body("bob", mass=0.2, inertia=(2e-3, 3e-3, 4e-3), position=(0, 0.5, 0))
    system = gd.System([bob], [gd.Revolute("ground", "bob", at=(0, 0, 0), axis=(1, 0, 0))])
    with pytest.raises(gd.PathError) as stopped:
        gd.follow(system, "gravity", (0.0, 1.0))
    assert "nothing holds the system there, body 'bob' can turn about (1, 0, 0)" in str(stopped.value)
    assert "segments" not in str(stopped.value)
    for stops in ((0.01, 1.0), (1.0, 0.0)):  # as it advises
        np.testing.assert_allclose(gd.follow(system, "gravity", stops)["bob"].position[-1], (0, 0, -0.5), atol=1e-9)
