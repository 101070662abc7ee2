"""Cables, tendons, springs and bushings between points of rods, of bodies and of space."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from test_rods_absolute import differences
from test_transposed import check as check_transposed

import gyrod as gd
from gyrod.equations import compile_system

STIFFNESS = (390.0, 390.0, 390.0, 0.25, 0.25, 0.17)
INERTIA = (5.4e-5, 5.4e-5, 1.1e-4)
GRID, ELEMENTS = {"segments": 4}, {"segments": 2, "degree": 2}
HELD = ("kirchhoff", "inextensible")


def rod(name: str, a: Any, b: Any, **options: Any) -> gd.Rod:
    given = {"stiffness": STIFFNESS, "density_per_length": 0.086, "rotary_inertia": INERTIA, **GRID}
    return gd.Rod(name, initial=gd.Straight(a, b), **(given | options))


def body(name: str, x: Any, **options: Any) -> gd.Body:
    return gd.Body(name, 0.05, [[2e-4, 2e-5, 0], [2e-5, 3e-4, 1e-5], [0, 1e-5, 4e-4]], x, **options)


#: All kinds of links between all kinds of points, some of them next to ends that bodies hold.
LINKS: dict[str, list[gd.model.ForceLaw]] = {
    "cables": [
        gd.Cable("bob", "beam", (0.02, 0.01, 0), (0.45, (0.01, 0.02)), stiffness=9.0, damping=0.2, length=0.1),
        gd.Cable("hose", "arm", at_a=0.52, stiffness=7.0, damping=0.1, length=0.05, smoothing=2.0),
        gd.Cable("hose", "beam", at_a=(0.0, (0.02, 0)), at_b=1.0, stiffness=5.0, damping=0.1, length=0.1),
        gd.Cable("ground", "hose", at_a=(1, 1, 1), at_b=(1.0, (0.01, 0.01)), stiffness=5.0, length=0.1),
    ],
    "tendons": [
        gd.Tendon("hose", [(0.0, (0.05, 0)), (0.4, (0, 0.05)), (1.0, (0.05, 0))], tension=2.0),
        gd.Tendon("beam", [(0.0, (0.05, 0)), (1.0, (0, 0.05))], tension=2.0),
    ],
    "springs": [
        gd.SpringDamper("arm", "hose", at_a=(0.03, 0, 0.01), at_b=(0.5, (0.02, 0.01)), stiffness=20.0, damping=0.4),
        gd.SpringDamper("beam", "hub", at_a=0.8, stiffness=15.0, damping=0.1, length=0.1),
        gd.SpringDamper("hose", "beam", at_a=(0.1, (0.01, 0)), at_b=(0.3, (0, 0.01)), stiffness=15.0, length=0.0),
        gd.SpringDamper("hose", "hub", at_a=0.9, at_b=(0, 0, 0.1), stiffness=11.0, damping=0.1, length=0.2),
    ],
    "bushings": [
        gd.Bushing("beam", "arm", at_a=(0.6, (0.01, 0.02)), stiffness=(5, 9, 14), damping=(0.1, 0.3, 0.2)),
        gd.Bushing("bob", "hose", at_a=(0.1, 0, 0), at_b=(0.4, (0, 0.03)), stiffness=(6, 8, 3), damping=(0.3, 0.1, 0)),
        gd.Bushing("ground", "beam", at_a=(1, 0, 0.1), at_b=(1.0, (0.02, 0)), stiffness=(6, 2, 3), damping=0.1),
        gd.Bushing("hose", "beam", at_a=(0.0, (0.02, 0)), at_b=0.9, stiffness=(6, 2, 3), damping=(0.2, 0.1, 0.3)),
        gd.Bushing("hose", "hub", (1.0, (0.0, 0.02)), (0, 0.1, 0), stiffness=(2, 5, 3), damping=(0.2, 0.1, 0)),
    ],
}  # fmt: skip
LINKS["all"] = [link for links in LINKS.values() for link in links]
LINKS["rings"] = [
    gd.Clip("beam", 0.55, "arm", point=(0.03, 0.0, 0.01), kind="ring", stiffness=12.0),
    gd.Clip("hose", 0.02, point=(0.05, 0.32, 0.0), kind="ring", stiffness=7.0),
    gd.Clip("hose", 0.97, "bob", point=(-0.02, 0.0, 0.01), kind="ring", stiffness=9.0),
    gd.Clip("beam", 0.4, "hose", point=0.45, kind="ring", stiffness=11.0),
    gd.Clip("hose", 0.5, "bob", kind="sleeve", length=0.02, stiffness=8.0),
]


def mixed(links: str = "all", end: Any = gd.Hinged, **options: Any) -> gd.System:
    """A hub on a hinge, an arm in a ball joint on it, a bob that a hose joins to the hub, and a beam on ground."""
    bodies = [body("hub", (0, 0.3, 0)), body("arm", (0.2, 0.5, 0.1)), body("bob", (1, 0.35, 0.05))]
    joints = [
        gd.Revolute("ground", "hub", at=(0, 0.3, 0), axis=(0, 1, 0)),
        gd.Spherical("hub", "arm", at=(0.1, 0.4, 0.0)),
    ]
    rods = [
        rod("beam", (0, 0, 0), (1, 0, 0), start=gd.Clamped("ground"), damping=gd.Damping(factor=0.02)),
        rod("hose", (0, 0.3, 0.02), (1, 0.3, 0.02), start=gd.Clamped("hub"), end=end("bob"), **options),
    ]
    if "degree" in options:
        rods[0] = rods[0].with_(**ELEMENTS)
    return gd.System(bodies, joints, rods, LINKS[links])


def disturbed(c: Any, size: float, seed: int = 3) -> Any:
    y = c.y0 + size * np.random.default_rng(seed).standard_normal(c.size)
    return np.asarray(c.core.project(c.core.project(y)))


def solved(c: Any, y: Any, shift: complex, b: Any) -> Any:
    if isinstance(shift, complex):
        return np.array([1.0, 1.0j]) @ c.core.solve_shifted_complex(0.0, y, shift.real, shift.imag, b)
    return np.asarray(c.core.solve_shifted(0.0, y, shift, b))


def check_stages(c: Any, y: Any, bound: float, least: float = 30.0, h: float = 2e-3) -> None:
    """(shift - J) x = b with J by differences of the right-hand side."""
    b, J = np.random.default_rng(4).standard_normal(c.size), differences(c, 0.0, y, range(c.size), h)
    for shift in (least, 3e4, complex(least, 20.0), 2e4 - 3e4j):
        A, x = shift * np.eye(c.size) - J, solved(c, y, shift, b)
        assert (np.abs(A @ x - b) / (np.abs(A) @ np.abs(x) + np.abs(b))).max() < bound


# --- derivatives -----------------------------------------------------------------------------------------------------


@pytest.mark.spread
@pytest.mark.parametrize("end", [gd.Hinged, gd.Clamped])
@pytest.mark.parametrize("formulation", ["nullspace-quaternion", "absolute-quaternion"])
@pytest.mark.parametrize("mesh", [GRID, ELEMENTS], ids=["grid", "elements"])
@pytest.mark.parametrize("links", LINKS)
def test_stages_solve_what_the_differences_say(links, mesh, formulation, end):
    c = compile_system(mixed(links, end, **mesh), formulation)
    # Of absolute rods, disturbed so, the elimination itself loses digits at small shifts, with links and without.
    exact = formulation.startswith("nullspace")
    h = 5e-4 if links == "rings" else 2e-3  # third derivatives jump where a rod slides to the next cell
    check_stages(c, disturbed(c, 0.02), 5e-10 if exact else 3e-9, 30.0 if exact else 3e3, h)


@pytest.mark.spread
@pytest.mark.parametrize("end", [gd.Hinged, gd.Clamped])
@pytest.mark.parametrize("mesh", [GRID, ELEMENTS], ids=["grid", "elements"])
@pytest.mark.parametrize("strain", HELD)
@pytest.mark.parametrize("links", [kind for kind in LINKS if kind != "all"])
def test_stages_with_held_strains(links, strain, mesh, end):
    c = compile_system(mixed(links, end, strain=strain, **mesh))
    check_stages(c, disturbed(c, 0.01), 5e-9, h=3e-4)


@pytest.mark.parametrize(
    ("formulation", "options"),
    [("nullspace-quaternion", x) for x in ({}, ELEMENTS, {"strain": "kirchhoff"}, {"strain": "inextensible"})]
    + [("absolute-quaternion", x) for x in ({}, ELEMENTS)],
)
def test_transposed_solutions(formulation, options):
    for links in ("all", "rings"):
        c = compile_system(mixed(links, **options), formulation)
        for shift in (400.0, 3000.0):
            check_transposed(c.core, 0.0, disturbed(c, 0.03), shift)


def test_a_lone_rod_has_the_derivatives_of_its_links_too():
    """Methods of others take the whole matrix."""
    beam = rod("beam", (0, 0, 0), (1, 0, 0), start=gd.Clamped())
    spring = gd.SpringDamper("ground", "beam", (0.5, 0, 1), (0.6, (0.01, 0)), stiffness=30.0, damping=0.3, length=0.8)
    c = compile_system(gd.System(rods=[beam], forces=[spring]))
    y = disturbed(c, 0.02)
    J = differences(c, 0.0, y, range(c.size))
    np.testing.assert_allclose(np.asarray(c.core.jacobian(0.0, y)), J, rtol=0, atol=1e-9 * np.abs(J).max())


# --- energy and momenta ----------------------------------------------------------------------------------------------


def floating(**options: Any) -> gd.System:
    """Two bodies and two rods, one of them between the bodies, that nothing but links and each other hold."""
    spin = np.array([0.5, -1.0, 2.0])
    bodies = [body("a", (0, 0.3, 0)), body("b", (1, 0.35, 0.05), velocity=(0.3, 0, 0.4), angular_velocity=spin)]
    rods = [
        rod("beam", (0, 0, 0), (1, 0, 0), velocity=lambda s: (0, 0.5, s), **options),
        rod("hose", (0.05, 0.3, 0), (0.95, 0.3, 0), start=gd.Clamped("a"), **options),
    ]
    links = [
        gd.Cable("b", "beam", at_b=(0.45, (0.01, 0.02)), stiffness=90.0, length=0.05, smoothing=0.1),
        gd.SpringDamper("a", "beam", at_a=(0, 0, 0.1), at_b=0.2, stiffness=50.0, length=0.1),
        gd.SpringDamper("hose", "beam", at_a=(0.0, (0.02, 0)), at_b=1.0, stiffness=30.0),
        gd.Bushing("hose", "b", at_a=(0.9, (0.02, 0.01)), stiffness=(50.0, 20.0, 80.0)),
        gd.Bushing("b", "beam", at_a=(0, 0.1, 0), at_b=(0.8, (0.01, 0)), stiffness=(50.0, 20.0, 80.0)),
    ]
    return gd.System(bodies, rods=rods, forces=links, gravity=(0, 0, 0))


@pytest.mark.parametrize(
    "options", [{}, ELEMENTS, {"strain": "kirchhoff"}, {"strain": "inextensible", **ELEMENTS}],
    ids=["grid", "elements", "kirchhoff", "inextensible"],
)  # fmt: skip
def test_free_systems_keep_energy_and_momenta(options):
    motion = gd.simulate(floating(**options), 0.1, method="dop853", rtol=1e-10)
    assert np.ptp(motion.energy.potential) > 0.01
    for quantity in (motion.energy.total, *motion.momentum.T, *motion.angular_momentum.T):
        # Initial velocities of rods with held strains are projected after the first step.
        np.testing.assert_allclose(quantity[1:], quantity[1], rtol=0, atol=1e-9 * max(1.0, abs(quantity[1])))


@pytest.mark.parametrize("mesh", [GRID, ELEMENTS], ids=["grid", "elements"])
def test_the_balance_counts_what_dampers_take_and_tendons_give(mesh):
    motion = gd.simulate(mixed("all", **mesh), 0.1, method="radau5", rtol=1e-8)
    energy = motion.energy
    assert energy.dissipated[-1] > 1e-2
    assert abs(energy.work[-1]) > 1e-2
    assert np.abs(energy.balance).max() < 1e-6


def test_methods_and_formulations_agree():
    want = gd.simulate(mixed(), 0.05, method="dop853", rtol=1e-10)
    for formulation, method in (
        ("absolute-quaternion", "dop853"), ("absolute-quaternion", "radau5"),
        ("nullspace-quaternion", "rodas"), ("nullspace-quaternion", "seulex"),
    ):  # fmt: skip
        got = gd.simulate(mixed(), 0.05, method=method, rtol=1e-8, formulation=formulation)
        for name in ("beam", "hose"):
            np.testing.assert_allclose(got[name].positions[-1], want[name].positions[-1], rtol=0, atol=1e-6)
        np.testing.assert_allclose(got["bob"].position[-1], want["bob"].position[-1], rtol=0, atol=1e-6)


# --- closed forms ----------------------------------------------------------------------------------------------------

EI, LENGTH, LOAD = 0.25, 1.0, 1e-6
STRAIGHT: dict[str, Any] = {"strain": "kirchhoff", "rotary_inertia": (1e-9, 1e-9, 1e-9), "degree": 4, "segments": 4}


def bridge(*forces: Any, bodies: Any = (), joints: Any = (), gravity: Any = (0, 0, 0)) -> gd.System:
    """A beam between two clamps, of which one does not hold it along its axis."""
    beam = rod("beam", (0, 0, 0), (LENGTH, 0, 0), start=gd.Clamped(), end=gd.Clamped(), **STRAIGHT)
    return gd.System(list(bodies), list(joints), [beam], list(forces), gravity=gravity)


@pytest.mark.parametrize("kind", ["spring", "bushing", "turned"])
def test_a_spring_under_a_beam_shares_its_load(kind):
    k = 150.0
    link = {
        "spring": gd.SpringDamper("ground", "beam", (0.5, 0, -1), 0.5, stiffness=k),
        "bushing": gd.Bushing("ground", "beam", (0.5, 0, 0), 0.5, stiffness=(0, 0, k)),
        "turned": gd.Bushing("beam", "ground", 0.5, (0.5, 0, 0), stiffness=k),
    }[kind]
    rest = gd.equilibrium(bridge(link, gd.RodLoad("beam", 0.5, (0, 0, -LOAD))))
    middle = rest["beam"].positions[np.argmin(np.abs(rest["beam"].positions[:, 0] - 0.5)), 2]
    assert middle == pytest.approx(-LOAD / (k + 192.0 * EI / LENGTH**3), rel=1e-6)


def test_a_body_hangs_from_a_beam_on_a_cable():
    weight, k = body("weight", (0.5, 0, -0.3)), 40.0
    joint = gd.Prismatic("ground", "weight", at=(0.5, 0, -0.3), axis=(0, 0, 1))
    cable = gd.Cable("weight", "beam", at_a=(0, 0, 0.1), at_b=0.5, stiffness=k, length=0.2)
    rest = gd.equilibrium(bridge(cable, bodies=[weight], joints=[joint], gravity=(0, 0, -1e-4)))
    own = 0.086 * LENGTH * 1e-4  # of the beam, spread: P/384 in place of P/192
    sag = (0.05 * 1e-4 + 0.5 * own) / (192.0 * EI / LENGTH**3)
    middle = rest["beam"].positions[np.argmin(np.abs(rest["beam"].positions[:, 0] - 0.5)), 2]
    assert middle == pytest.approx(-sag, rel=1e-5)
    assert rest["weight"].position[2] == pytest.approx(-0.3 - sag - 0.05 * 1e-4 / k, rel=0, abs=1e-11)


@pytest.mark.parametrize("kind", ["spring", "bushing"])
def test_frequencies_of_a_beam_with_a_spring_in_the_middle(kind):
    """Of the half beam, clamped at x = 0 and without slope at its other end, which half the spring holds."""
    k = 200.0
    link = (
        gd.SpringDamper("ground", "beam", (0.5, 0, -1), 0.5, stiffness=k)
        if kind == "spring"
        else gd.Bushing("beam", "ground", 0.5, (0.5, 0, 0), stiffness=(k, k, k))
    )
    modes = gd.modes(bridge(link), 6)
    kappa = 0.5 * k * (0.5 * LENGTH) ** 3 / EI

    def gap(x: float) -> float:
        sh, ch, s, c = np.sinh(x), np.cosh(x), np.sin(x), np.cos(x)
        slope, shear = (sh + s, ch - c), (x**3 * (sh - s) - kappa * (ch - c), x**3 * (ch + c) - kappa * (sh - s))
        return float((slope[0] * shear[1] - slope[1] * shear[0]) / ch**2)

    x = brentq(gap, 2.3, 3.6)
    omega = (x / (0.5 * LENGTH)) ** 2 * np.sqrt(EI / 0.086)
    found = 2.0 * np.pi * np.asarray(modes.frequencies)
    assert np.abs(found / omega - 1.0).min() < 1e-5
    without = 2.0 * np.pi * np.asarray(gd.modes(bridge(), 6).frequencies)
    assert np.abs(without / omega - 1.0).min() > 0.02


@pytest.mark.parametrize("options", [GRID, ELEMENTS], ids=["grid", "elements"])
def test_a_spring_on_the_end_of_a_rod_is_one_on_a_body_that_is_clamped_there(options):
    def system(on_body: bool) -> gd.System:
        tip = [gd.Body("tip", 1e-9, (1e-12,) * 3, (1, 0, 0))] if on_body else []
        end = {"end": gd.Clamped("tip")} if on_body else {}
        at = ("tip", (0, 0, 0)) if on_body else ("beam", 1.0)
        beam = rod("beam", (0, 0, 0), (1, 0, 0), start=gd.Clamped(), **end, **options)
        return gd.System(tip, rods=[beam], forces=[
            gd.SpringDamper("ground", at[0], (1, 0.3, 1), at[1], stiffness=3.0, length=0.4),
            gd.Bushing("ground", at[0], (1, 0.1, 0), at[1], stiffness=(1.0, 2.0, 3.0)),
            gd.Cable("ground", at[0], (1, -1, 0), at[1], stiffness=3.0, length=0.9),
        ])  # fmt: skip

    rests = [gd.equilibrium(system(on_body))["beam"].positions for on_body in (False, True)]
    np.testing.assert_allclose(*rests, rtol=0, atol=1e-8)
    moved = [gd.simulate(system(on_body), 0.2, method="radau5", rtol=1e-9) for on_body in (False, True)]
    np.testing.assert_allclose(*(m["beam"].positions[-1] for m in moved), rtol=0, atol=1e-5)


def test_a_tendon_that_begins_at_a_clamp_asks_nothing_of_it():
    """It pulls the clamped node with a moment as well, which the reaction did not count on elements."""
    beam = rod("beam", (0, 0, 0), (1, 0, 0), start=gd.Clamped(), degree=2, segments=4)
    tendon = gd.Tendon("beam", [(0.0, (0.03, 0.01)), (1.0, (0.03, 0.0))], tension=0.5)
    rest = gd.equilibrium(gd.System(rods=[beam], forces=[tendon], gravity=(0, 0, 0)))
    assert np.abs(rest["beam"].moment).max() > 1e-3
    np.testing.assert_allclose(rest["beam"].start_force, 0.0, atol=1e-8)
    np.testing.assert_allclose(rest["beam"].start_moment, 0.0, atol=1e-8)


# --- the model -------------------------------------------------------------------------------------------------------


def test_links_say_what_they_act_on():
    spring = gd.SpringDamper("bob", "beam", at_b=(0.3, (0.01, 0.02)), stiffness=1.0)
    assert (spring.bodies, spring.rods, spring.label) == (("bob",), ("beam",), "SpringDamper('bob', 'beam')")
    assert spring.places == (("beam", 0.3),)
    assert spring.on_rods
    assert not gd.SpringDamper("a", "b", stiffness=1.0).on_rods
    bushing = gd.Bushing("beam", "beam", 0.2, 0.7, stiffness=1.0, name="clip")
    assert (bushing.bodies, bushing.rods, bushing.label) == ((), ("beam", "beam"), "Bushing 'clip'")


def test_elements_end_where_a_link_sets_in():
    beam = rod("beam", (0, 0, 0), (1, 0, 0), start=gd.Clamped(), **ELEMENTS)
    spring = gd.SpringDamper("ground", "beam", (0.5, 0, 1), 0.3, stiffness=1.0)
    bushing = gd.Bushing("beam", "ground", 0.8, (0.8, 0, 0), stiffness=1.0)
    system = gd.System(rods=[beam], forces=[spring, bushing])
    assert {0.3, 0.8} < {round(float(s), 12) for s in system.rods[0].fractions}
    assert "0.3 for SpringDamper('ground', 'beam')" in " ".join(system.notes)


def test_places_of_links_are_changed_by_path():
    """A fraction with its offset is no array, which a path into it stumbled over."""
    system = mixed("springs", **ELEMENTS)
    assert "forces[0].at_b[0]" in system.paths()
    changed = system.with_({"forces[0].at_b[0]": 0.4, "forces[0].stiffness": 3.0})
    assert changed.forces[0].places == (("hose", 0.4),)
    assert changed.forces[0].stiffness == 3.0
    assert 0.4 in np.round(changed.rod("hose").fractions, 12)


def test_models_with_links_are_written_and_read(tmp_path):
    system = mixed("all")
    system.save(tmp_path / "links.yaml")
    again = gd.load(tmp_path / "links.yaml")
    assert again.forces == system.forces
    y = compile_system(system).y0
    np.testing.assert_array_equal(compile_system(again).core.rhs(0.0, y), compile_system(system).core.rhs(0.0, y))


def test_links_are_drawn_between_their_points():
    from gyrod.look import props
    from gyrod.look.scene import describe

    motion = gd.simulate(mixed("all"), 0.01, method="radau5")
    lines = describe(motion.compiled)["lines"]
    assert [line["kind"] for line in lines] == ["cable"] * 4 + ["tendon"] * 2 + ["spring"] * 4 + ["bushing"] * 5
    drawn = props.lines(motion)[6]  # the spring from the arm to the hose
    ends = mixed("all").link_points(LINKS["springs"][0])
    np.testing.assert_allclose(drawn[0], ends, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (gd.SpringDamper("bob", "beam", stiffness=1.0), "at_b = (0, 0, 0) is a point, but 'beam' is a rod; give a"),
        (gd.SpringDamper("bob", "beam", 0.5, 0.5, stiffness=1.0), "at_a = (0.5, (0.0, 0.0)) is a place in a rod, but "),
        (gd.Bushing("beem", "bob", 0.5, stiffness=1.0), "it can be 'ground', 'bob', 'beam'. Did you mean 'beam'?"),
        (gd.SpringDamper("beam", "beam", 0.5, 0.5, stiffness=1.0), "its ends coincide at the start: at_a = (0.5, (0.0"),
        (gd.Bushing("bob", "bob", stiffness=1.0), "it connects 'bob' with itself, which does nothing"),
    ],
)  # fmt: skip
def test_sentences(link, words):
    with pytest.raises(gd.ModelError) as error:
        gd.System([body("bob", (1, 0.3, 0))], rods=[rod("beam", (0, 0, 0), (1, 0, 0))], forces=[link])
    assert words in str(error.value)


def test_ground_takes_points_and_no_fractions():
    with pytest.raises(ValueError, match=r"at_a = 0.5 is a place in a rod; 'ground' needs a point, three numbers"):
        gd.SpringDamper("ground", "beam", 0.5, 0.5, stiffness=1.0)
    with pytest.raises(ValueError, match=r"at_b = 1.5 must be a fraction of the length, from 0 to 1"):
        gd.Bushing("ground", "beam", (0, 0, 0), 1.5, stiffness=1.0)
