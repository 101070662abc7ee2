"""Bodies, rods and joints that fall apart, lack inertia or come to a singular place: a result or a sentence."""

from __future__ import annotations

import numpy as np
import pytest
from linkages import ring

import gyrod as gd

FORMULATIONS = ("nullspace-quaternion", "nullspace-directors", "absolute-quaternion", "absolute-directors")
#: How long a run has yet to go depends on the machine: told or not before it fails.
slow = pytest.mark.filterwarnings("ignore:after .* of computing:RuntimeWarning")
RUBBER, ROUND = gd.Material(young=5e6, poisson=0.5, density=1100), gd.Circle(radius=5e-3)


def body(name, x, inertia=0.1):
    return gd.Body(name, mass=1.0, inertia=(inertia,) * 3, position=x)


def hinge(a, b, at, name, **options):
    return gd.Revolute(a, b, at=at, axis=(0, 1, 0), name=name, **options)


def rod(name="hose", **options):
    return gd.Rod(name, 1.0, 6, ROUND, RUBBER, **options)


# --- parts, and what nothing holds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_parts_move_as_if_alone(formulation):
    pendulum, pair = [body("arm", (0.3, 0, -1))], [body("left", (5, 0, -1)), body("right", (6, 0, -1))]
    hinges = [hinge("ground", "arm", (0, 0, 0), "pivot"), hinge("left", "right", (5.5, 0, -1), "middle")]
    both = gd.System([*pendulum, *pair], hinges)
    options = {"formulation": formulation, "method": "dop853", "rtol": 1e-10, "output": [1.0]}
    alone = gd.simulate(gd.System(pendulum, hinges[:1]), 1.0, **options)
    motion = gd.simulate(both, 1.0, **options)
    np.testing.assert_allclose(motion["arm"].position, alone["arm"].position, atol=1e-9)
    np.testing.assert_allclose(motion["right"].position[-1], (6, 0, -1 - 0.5 * 9.81), atol=1e-9)
    with pytest.raises(gd.EquilibriumError, match=r"'left' can move along \(0, 0, 1\). Hold it"):
        gd.equilibrium(both)


@pytest.mark.parametrize(
    ("system", "name"),
    [
        (gd.System([body("stone", (0, 0, 0))]), "body 'stone'"),
        (gd.System([body("arm", (0.3, 0, -1)), body("stone", (6, 0, -1))],
                   [hinge("ground", "arm", (0, 0, 0), "low"), hinge("ground", "arm", (0, 1, 0), "high")]),
         "body 'stone'"),
        (gd.System([body("stone", (0, 0, 0))], rods=[rod(start=gd.Clamped("stone"))]), "body 'stone'"),
        (gd.System(rods=[rod(start=gd.Clamped("ground")),
                         rod("loose", initial=gd.Straight((0, 2, 0), (1, 2, 0)))]), "rod 'loose'"),
    ],
    ids=["alone", "beside a loop", "with a rod", "rod"],
)  # fmt: skip
def test_what_nothing_holds_falls_and_has_no_rest(system, name):
    motion = gd.simulate(system, 0.1)
    where = motion["stone"].position if system.bodies else motion["loose"].positions[:, 3]
    assert where[-1, 2] - where[0, 2] == pytest.approx(-0.5 * 9.81 * 0.01, rel=1e-3)
    with pytest.raises(gd.EquilibriumError, match=rf"{name} can move along \(0, 0, 1\). Hold it"):
        gd.equilibrium(system)


def test_a_door_on_two_hinges():
    """All rows of the second are redundant; what is left of them is rounding and no constraint."""
    hinges = [hinge("ground", "arm", (0, 0, 0), "low"), hinge("ground", "arm", (0, 1, 0), "high")]
    for system in (gd.System([body("arm", (0.3, 0, -1))], hinges),
                   gd.System([body("arm", (0.3, 0, -1)), body("stone", (6, 0, -1))], hinges)):  # fmt: skip
        assert system.mobility().redundant == 5
    rest = gd.equilibrium(gd.System([body("arm", (0.3, 0, -1))], hinges))
    np.testing.assert_allclose(rest["arm"].position, (0, 0, -np.hypot(0.3, 1)), atol=1e-9)


# --- joined to itself ------------------------------------------------------------------------------------------------


def test_joined_to_itself():
    with pytest.raises(gd.ModelError, match=r"Rod 'hose': start = Clamped\('hose'\).*1 m away; move one of them"):
        gd.simulate(gd.System(rods=[rod(start=gd.Clamped("hose"))]), 0.1)
    with pytest.raises(gd.ModelError, match="Revolute 'pin': it connects 'arm' with itself; a and b must differ"):
        gd.System([body("arm", (0, 0, 0))], [hinge("arm", "arm", (0, 0, 0), "pin")])
    with pytest.raises(gd.ModelError, match="connects 'arm' with itself"):
        gd.System([body("arm", (0, 0, 0))], forces=[gd.SpringDamper("arm", "arm", stiffness=1.0)])


def test_a_rod_that_meets_itself_is_a_ring():
    circle = gd.Curve(lambda s: (np.cos(2 * np.pi * s), np.sin(2 * np.pi * s), 0 * s))
    ring = gd.System(
        rods=[gd.Rod("ring", None, 12, ROUND, RUBBER, initial=circle, end=gd.Clamped("ring"))], gravity=(0, 0, 0)
    )
    motion = gd.simulate(ring, 0.1)
    np.testing.assert_allclose(motion["ring"].positions[:, 0], motion["ring"].positions[:, -1], atol=1e-12)
    rest = gd.equilibrium(ring)
    np.testing.assert_allclose(rest["ring"].positions[0], rest["ring"].positions[-1], atol=1e-12)


# --- inertia ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bodies", "joints"),
    [
        ([body("bead", (0, 0, 0), 0.0)], []),
        ([body("bead", (0.3, 0, -1), 0.0)], [gd.Spherical("ground", "bead", at=(0, 0, 0))]),
        ([body("bead", (0, 0, 0), 0.0)], [hinge("ground", "bead", (0, 0, 0), "pin")]),
        ([body("bead", (0.5, 0, 0), 0.0), body("arm", (1, 0, 0))],
         [gd.Spherical("ground", "bead", at=(0, 0, 0)), gd.Spherical("bead", "arm", at=(0.5, 0, 0))]),
    ],
    ids=["free", "on a ball", "on its own axis", "between"],
)  # fmt: skip
@pytest.mark.parametrize("solve", [lambda s: gd.simulate(s, 0.1), gd.equilibrium], ids=["simulate", "equilibrium"])
def test_inertia_that_nothing_makes_up_for(solve, bodies, joints):
    with pytest.raises(gd.ModelError, match=r"Body 'bead': inertia .*singular.*give"):
        solve(gd.System(bodies, joints))


def test_a_point_mass_on_a_hinge():
    system = gd.System([body("bead", (0.3, 0, -1), 0.0)], [hinge("ground", "bead", (0, 0, 0), "pin")])
    assert np.ptp(gd.simulate(system, 1.0, method="dop853", rtol=1e-10).energy.total) < 1e-8
    np.testing.assert_allclose(gd.equilibrium(system)["bead"].position, (0, 0, -np.hypot(0.3, 1)), atol=1e-9)


# --- singular on the way ---------------------------------------------------------------------------------------------


def crank():
    """A four-bar whose crank is led further than the others reach: out of reach at t = 0.9635."""
    a, b, c, foot, angle = 1.0, 2.0, 1.0, np.array([2.5, 0.0, 0.0]), 1.0
    pin = a * np.array([np.cos(angle), 0.0, np.sin(angle)])
    d = np.linalg.norm(foot - pin)
    e, x = (foot - pin) / d, (d * d + b * b - c * c) / (2.0 * d)
    knee = pin + x * e + np.sqrt(b * b - x * x) * np.array([-e[2], 0.0, e[0]])
    bodies = [body("crank", 0.5 * pin), body("coupler", 0.5 * (pin + knee)), body("rocker", 0.5 * (knee + foot))]
    drive = (lambda t: -t * t, lambda t: -2.0 * t, lambda t: -2.0)
    return gd.System(bodies, [
        hinge("ground", "crank", (0, 0, 0), "shaft", drive=drive), hinge("crank", "coupler", pin, "pin"),
        hinge("coupler", "rocker", knee, "knee"), hinge("rocker", "ground", foot, "foot"),
    ])  # fmt: skip


@pytest.mark.spread(0)
@slow
@pytest.mark.parametrize(
    ("formulation", "method"), [("nullspace-quaternion", "dop853"), ("nullspace-directors", "radau5")]
)
def test_a_drive_out_of_reach(formulation, method):
    with pytest.raises(gd.SimulationError, match=r"t = 0\.963518.* 'knee' .*Keep drives.* within reach") as caught:
        gd.simulate(crank(), 3.0, formulation=formulation, method=method)
    motion = caught.value.motion
    assert motion.t[-1] == pytest.approx(0.963518, abs=1e-5)
    assert np.isfinite(motion["rocker"].position).all()


def test_no_rest_out_of_reach():
    """It came back with the knee open by 3.5 m."""
    with pytest.raises(gd.EquilibriumError, match=r"at t = 2: Revolute 'knee' is open by .*Keep drives"):
        gd.equilibrium(crank(), t=2.0)
    rest = gd.equilibrium(crank(), t=0.5)
    assert max(gap for gap, _ in gd.assemble(rest.system).residuals().values()) < 1e-9


@slow
@pytest.mark.parametrize("formulation", FORMULATIONS[:2])
def test_a_rope_that_is_led_beyond_its_reach(formulation):
    length = (lambda t: 1.0 + t * t, lambda t: 2.0 * t, lambda t: 2.0)
    joints = [hinge("ground", "arm", (0, 0, 0), "pivot"),
              gd.Distance("ground", "arm", at=(3, 0, 0), to=(2, 0, 0), length=length, name="rope")]  # fmt: skip
    system = gd.System([body("arm", (1, 0, 0))], joints)
    assert (system.mobility().freedoms, system.mobility().redundant) == (0, 0)  # though at full length, at first
    with pytest.raises(gd.SimulationError, match=r"t = 2\.0.* 'rope' .*Keep drives and lengths within reach"):
        gd.simulate(system, 3.0, formulation=formulation, method="dop853")
    with pytest.raises(gd.SimulationError, match=r"t = 0: .*'rope' .*singular position. .*start elsewhere"):
        gd.simulate(system, 3.0, formulation=formulation, method="rodas")


def test_start_in_a_singular_position():
    """Where branches meet, inertia leads on."""
    points = [np.array(p, dtype=float) for p in ((0, 0, 0), (1, 0, 0), (3, 0, 0), (2, 0, 0))]
    flat = ring(points, [(0, 0, 1)] * 4, spin=2.0, gravity=(0, 0, 0))
    motion = gd.simulate(flat, 2.0, method="dop853", rtol=1e-10)
    assert motion.drift.position.max() < 1e-10


# --- inextensible rods that are pulled straight ----------------------------------------------------------------------


def hung(**options):
    """An inextensible rod that sags between two hinges."""
    sag = gd.Curve(lambda s: (0.8 * s, 0 * s, -0.25 * np.sin(np.pi * s)))
    return gd.Rod("hose", None, 6, ROUND, RUBBER, strain="inextensible", initial=sag, **options)


@slow
@pytest.mark.spread(0)
@pytest.mark.parametrize("formulation", [*FORMULATIONS, "euler"])
def test_an_inextensible_rod_that_is_pulled_straight(formulation):
    """The sentence names it, however the step ends that comes there."""
    end = gd.Hinged("ground", at=gd.ExpressionVector(("0.8 + 0.8*t", "0", "0")))
    system = gd.System(rods=[hung(start=gd.Hinged("ground"), end=end)])
    straight = (
        r"t = 0\.2.*rod 'hose', which is inextensible, is pulled straight .*Keep its ends within.*strain='kirchhoff'"
    )
    with pytest.raises(gd.SimulationError, match=straight) as caught:
        gd.simulate(system, 1.0, formulation=formulation, rtol=1e-4)
    motion = caught.value.motion
    assert motion.t[-1] > 0.2
    assert np.isfinite(motion["hose"].positions).all()


@slow
@pytest.mark.spread(0)
@pytest.mark.parametrize("formulation", [*FORMULATIONS, "euler"])
def test_inextensible_rods_straight_between_their_supports(formulation):
    rods = [gd.Rod(name, 1.0, 4, ROUND, RUBBER, strain="inextensible", initial=gd.Straight((x, 0, 0), (x + 1, 0, 0)),
                   start=gd.Hinged(a), end=gd.Hinged(b))
            for x, name, a, b in ((0, "left", "ground", "knot"), (1, "right", "knot", "ground"))]  # fmt: skip
    with pytest.raises(
        gd.SimulationError, match=r"t = [\d.e-]+:? .*'(left|right)', which is inextensible, is pulled straight"
    ):
        gd.simulate(gd.System([body("knot", (1, 0, 0))], rods=rods), 0.05, formulation=formulation)


def test_a_straight_inextensible_rod_between_supports():
    given = {"strain": "inextensible", "start": gd.Hinged("ground")}
    fixed, led = gd.Hinged("ground"), gd.Hinged("ground", at=gd.ExpressionVector(("1 + 0.2*t", "0", "0")))
    straight = "rod 'hose' is inextensible, straight and held at both ends.*let it extend"
    for end in (fixed, led):
        with pytest.raises(gd.SimulationError, match=f"at t = 0 {straight}") as caught:
            gd.simulate(gd.System(rods=[rod(end=end, **given)]), 1.0)
        assert caught.value.motion.t[-1] == 0.0
    with pytest.raises(gd.EquilibriumError, match=f"no equilibrium was found at t = 0: {straight}") as caught:
        gd.equilibrium(gd.System(rods=[rod(end=fixed, **given)]))
    assert caught.value.rest.t == 0.0
    with pytest.raises(gd.EquilibriumError, match=straight):
        gd.follow(gd.System(rods=[rod(end=fixed, **given)]), "gravity", (0, 1))
    with pytest.raises(gd.SimulationError, match="from t = 0, since rod 'hose' is inextensible, straight"):
        gd.simulate(gd.System(rods=[rod(end=fixed, **given)]), 0.1, method="variational", step=1e-3)
