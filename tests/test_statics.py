"""Equilibria, modes, hanging cables and the elements that go with rods, against closed forms."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import root

import gyrod as gd
from gyrod.equations import compile_system
from gyrod.model import JOINTS

STEEL = gd.Material(young=2e11, poisson=0.3, density=7850.0)
RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100.0)
THIN, ROUND = gd.Circle(radius=1e-3), gd.Circle(radius=5e-3)
NO_GRAVITY = (0.0, 0.0, 0.0)


def cantilever(segments: int = 50, material: gd.Material = STEEL, **options: Any) -> gd.Rod:
    options = {"start": gd.Clamped("ground")} | options
    return gd.Rod("rod", 1.0, segments, ROUND, material, **options)


def bending(material: gd.Material = STEEL, radius: float = 5e-3) -> float:
    return material.young * np.pi / 4.0 * radius**4


# --- equilibrium -----------------------------------------------------------------------------------------------------


def test_a_cantilever_under_its_weight() -> None:
    rest = gd.equilibrium(gd.System(rods=[cantilever()]))
    w = 7850.0 * np.pi * 25e-6 * 9.81
    assert rest.method == "newton"
    assert rest.stable
    assert rest.iterations <= 8
    assert rest["rod"].positions.shape == (51, 3)
    assert -rest["rod"].positions[-1, 2] == pytest.approx(w / (8.0 * bending()), rel=1e-3)
    np.testing.assert_allclose(rest["rod"].start_force, (0, 0, w), atol=1e-7 * w)
    assert rest["rod"].start_moment[1] == pytest.approx(-0.5 * w, rel=1e-4)
    assert rest.energy.kinetic == 0.0


def test_large_deflections_take_few_iterations() -> None:
    """A rubber rod that falls by nearly its length: strains, not displacements, are updated."""
    rest = gd.equilibrium(gd.System(rods=[cantilever(40, RUBBER)]))
    assert rest.method == "newton"
    assert rest.iterations <= 20
    assert rest["rod"].positions[-1, 2] < -0.9


@pytest.mark.parametrize("end", ["start", "end", "both"])
def test_equilibrium_is_the_zero_of_the_forces(end: str) -> None:
    """At rest no acceleration is left beyond the rounding of the forces."""
    ends = {"start": gd.Free(), "end": gd.Free()}
    for side in ("start", "end"):
        if end in (side, "both"):
            ends[side] = gd.Clamped("ground")
    shape = gd.Arc if end == "both" else gd.Straight
    initial = gd.Straight((0, 0, 0), (1, 0, 0)) if shape is gd.Straight else gd.Straight((0, 0, 0), (0.6, 0, 0.8))
    rod = cantilever(20, RUBBER, initial=initial, **ends)
    rest = gd.equilibrium(gd.System(rods=[rod], gravity=(0.3, 1.0, -9.81)))
    c = rest.motion.compiled
    a = np.asarray(c.core.rhs(0.0, rest.y))
    start = np.asarray(c.core.rhs(0.0, compile_system(rest.system).y0))
    assert np.abs(a).max() < 1e-6 * np.abs(start).max() + 1e-5


def test_load_and_guess() -> None:
    system = gd.System(rods=[cantilever(20, RUBBER)])
    half = gd.equilibrium(system, load=0.5)
    direct = gd.equilibrium(gd.System(rods=system.rods, gravity=(0, 0, -4.905)))
    np.testing.assert_allclose(half["rod"].positions, direct["rod"].positions, atol=1e-10)
    again = gd.equilibrium(system, guess=gd.equilibrium(system))
    assert again.iterations <= 2


def test_newton_finds_the_unstable_equilibrium_and_says_so() -> None:
    """A column beyond its buckling load, exactly straight: w L³/EI = 7.837."""
    w = 7850.0 * np.pi * 25e-6
    critical = 7.837347438943484 * bending() / w
    rod = cantilever(40, initial=gd.Straight((0, 0, 0), (0, 0, 1)))
    below, above = (gd.equilibrium(gd.System(rods=[rod], gravity=(0, 0, -k * critical))) for k in (0.98, 1.02))
    assert below.stable
    assert not above.stable
    assert above.unstable == 2  # it may fall to any side
    modes = gd.modes(above, n=4)
    assert modes.unstable == 2
    assert modes.growth[0] > 0.0


@pytest.mark.parametrize(
    ("radius", "segments", "degree"), [(0.02, 20, 3), (0.02, 20, 2), (0.005, 20, 4), (0.05, 80, 3)]
)
def test_rounding_of_a_free_turn_is_no_instability(radius: float, segments: int, degree: int) -> None:
    """A mooring of 200 m may turn about itself; beside its stiffness that is a square of -1e-6 to 1e-8 by rounding."""
    area = np.pi * radius**2
    how = {
        "section": gd.Circle(radius=radius),
        "material": gd.Material(young=5e8 / area, poisson=0.3, density=126.0 / area),
        "segments": segments,
        "degree": degree,
    }
    rest = gd.hang(200.0, between=((0, 0, 0), (175, 0, 80)), gravity=(0, 0, -8.57), **how)
    modes = gd.modes(rest, n=3)
    assert rest.stable
    assert modes.unstable == 0
    np.testing.assert_allclose(modes.frequencies, [0.0, 0.1016, 0.1885], atol=2e-4)
    along_z = gd.Straight((0, 0, 0), (0, 0, 200))
    wire = gd.Rod("wire", 200.0, initial=along_z, start=gd.Hinged(), end=gd.Hinged(), **how)
    assert gd.equilibrium(gd.System(rods=[wire]), relax=False).unstable > 20  # stands on its lower half


@pytest.mark.parametrize("mesh", [{}, {"degree": 3, "segments": 10}])
def test_a_hanging_cable_goes_into_a_system_as_it_lies(mesh):
    hangs = gd.hang(10.0, ((0, 0, 0), (9, 0, 1)), section=THIN, material=STEEL, **mesh)
    rest = gd.equilibrium(gd.System(rods=[hangs.rod]))
    np.testing.assert_allclose(rest["cable"].positions, hangs.cable.positions, atol=1e-9)
    np.testing.assert_allclose(rest["cable"].end_force, hangs.end_force, atol=1e-6)


def test_what_is_free_to_move_is_told() -> None:
    free = gd.Rod("loose", 1.0, 10, ROUND, RUBBER)
    with pytest.raises(
        gd.EquilibriumError, match="the supports leave a mechanism that the loads move: rod 'loose' can"
    ):
        gd.equilibrium(gd.System(rods=[free]))
    hinged = cantilever(10, RUBBER, start=gd.Hinged("ground"))
    rest = gd.equilibrium(gd.System(rods=[hinged]))
    assert rest.free == ("rod 'rod' can turn about (0, 0, 1)",)
    assert rest["rod"].positions[-1, 2] < -1.0


@pytest.mark.parametrize("segments", [10, 40])
def test_what_moves_is_named_for_stiff_rods_too(segments: int) -> None:
    with pytest.raises(gd.EquilibriumError, match=r"rod 'rod' can move along \(0, 0, 1\)"):
        gd.equilibrium(gd.System(rods=[cantilever(segments, start=gd.Free())]))
    rest = gd.equilibrium(gd.System(rods=[cantilever(segments, start=gd.Hinged("ground"))]))
    assert rest.free == ("rod 'rod' can turn about (0, 0, 1)",)


def test_what_is_held_has_no_modes() -> None:
    arm = gd.Body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(1, 0, 0))
    system = gd.System(bodies=[arm], joints=[gd.Fixed("ground", "arm", at=(0, 0, 0))])
    assert len(gd.modes(system)) == 0
    assert gd.equilibrium(system).stable


def test_pictures_of_a_rest() -> None:
    pytest.importorskip("matplotlib")
    rest = gd.equilibrium(gd.System(rods=[cantilever(5)]))
    assert rest.plot().axes


def test_bodies_at_rest() -> None:
    """A compound pendulum finds its lowest point; on top of it the equilibrium is unstable."""
    arm = gd.Body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0.3, 0.0, -0.4))
    joint = gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0))
    rest = gd.equilibrium(gd.System(bodies=[arm], joints=[joint]))
    np.testing.assert_allclose(rest["arm"].position, (0, 0, -0.5), atol=1e-9)
    assert rest.stable
    np.testing.assert_allclose(rest.joints[0].force, (0, 0, 9.81), atol=1e-8)
    omega = gd.modes(rest, n=1).omega
    np.testing.assert_allclose(omega, np.sqrt(9.81 * 0.5 / (0.1 + 0.25)), rtol=1e-7)
    up = gd.Body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0.0, 0.0, 0.5))
    assert gd.equilibrium(gd.System(bodies=[up], joints=[joint])).unstable == 1


def test_an_end_that_is_led_far_away_is_brought_there_by_a_path() -> None:
    at, frame = gd.ExpressionVector(("0.15*t", 0, "0.4 - 0.35*t")), gd.ExpressionVector((0, "pi*t", 0))
    hose = gd.Rod(
        "hose", 0.4, 8, ROUND, RUBBER, gd.Clamped(), gd.Clamped(at=at, frame=frame), degree=3,
        initial=gd.Straight((0, 0, 0), (0, 0, 0.4)),
    )  # fmt: skip
    system = gd.System(rods=[hose])
    with pytest.raises(gd.EquilibriumError, match=r"led jumps from t = 0 to 1: follow\(system, 'time', \(0, 1\)\)"):
        gd.equilibrium(system, t=1.0)
    assert gd.follow(system, "time", (0, 1)).at(1.0).stable
    with pytest.raises(gd.ModelError, match=r"0\.380789 m away; .* brought there by gd\.follow"):
        hose.with_(end=gd.Hinged(at=(0.15, 0, 0.05)))


def test_bad_input() -> None:
    system = gd.System(rods=[cantilever(5)])
    for call, words in (
        (lambda: gd.equilibrium("x"), "system must be a gyrod.System"),
        (lambda: gd.equilibrium(system, guess=3), "guess must be a Rest"),
        (lambda: gd.equilibrium(system, load=np.nan), "load"),
        (lambda: gd.equilibrium(system, tolerance=0.0), "tolerance"),
        (lambda: gd.equilibrium(system, tolerance=1e-30), "tolerance = 1e-30 is below the rounding of positions"),
        (lambda: gd.modes(system, n=0), "n = 0 must be a positive integer"),
        (lambda: gd.hang(1.0, ((0, 0, 0), (0, 0, 0)), section=THIN, material=STEEL), "they must differ"),
        (lambda: gd.hang(-1.0, ((0, 0, 0), (1, 0, 0)), section=THIN, material=STEEL), "length"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    other = gd.equilibrium(gd.System(rods=[cantilever(8)]))
    with pytest.raises(ValueError, match="take a Rest of the same system"):
        gd.equilibrium(system, guess=other)


def test_rests_travel() -> None:
    rest = gd.equilibrium(gd.System(rods=[cantilever(5)]))
    copy = pickle.loads(pickle.dumps(rest))
    np.testing.assert_array_equal(copy["rod"].positions, rest["rod"].positions)


def test_a_rest_is_a_start() -> None:
    rest = gd.equilibrium(gd.System(rods=[cantilever(20, RUBBER)]))
    motion = gd.simulate(rest, 0.2, method="radau5", rtol=1e-6)
    np.testing.assert_allclose(motion["rod"].positions[-1], rest["rod"].positions, atol=1e-7)


@given(st.floats(0.1, 3.0), st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
@settings(max_examples=15, deadline=None)
def test_equilibrium_is_objective(turn: float, a: float, b: float) -> None:
    """Turning the whole problem turns its solution."""
    q = gd.rotations.quaternion_from_rotation_vector(turn * np.array([a, b, 0.7]))
    R = gd.rotations.matrix_from_quaternion(q)
    force = np.array([0.05, -0.02, -0.1])
    places = []
    for M in (np.eye(3), R):
        frame = M @ np.array([[0, 0, 1.0], [0, 1.0, 0], [-1.0, 0, 0]])
        shape = gd.Straight((0, 0, 0), M @ np.array([1.0, 0, 0]), orientation=frame)
        system = gd.System(
            rods=[cantilever(8, RUBBER, initial=shape)],
            forces=[gd.RodLoad("rod", at=1.0, force=M @ force)],
            gravity=NO_GRAVITY,
        )
        places.append(gd.equilibrium(system)["rod"].positions)
    np.testing.assert_allclose(places[1], places[0] @ R.T, atol=1e-9)


# --- modes -----------------------------------------------------------------------------------------------------------


def test_modes_of_a_string_with_damping() -> None:
    """Kelvin-Voigt damping of an axial mode: ratio = c ω/C."""
    c = 3.0
    rod = cantilever(40, damping=gd.Damping(extension=c))
    plain = gd.modes(gd.System(rods=[cantilever(40)], gravity=NO_GRAVITY), n=20)
    modes = gd.modes(gd.System(rods=[rod], gravity=NO_GRAVITY), n=20)
    C, mu = 2e11 * np.pi * 25e-6, 7850.0 * np.pi * 25e-6
    omega = 0.5 * np.pi * np.sqrt(C / mu)
    k = int(np.argmin(np.abs(modes.omega - omega)))
    assert modes.omega[k] == pytest.approx(omega, rel=1e-3)
    assert modes.damping[k] == pytest.approx(c * omega / C, rel=1e-3)
    np.testing.assert_allclose(plain.omega, modes.omega, rtol=1e-6)
    others = np.delete(modes.damping, k)
    assert np.abs(others).max() < 1e-7


def test_a_free_turn_is_one_mode_however_many_are_asked_for() -> None:
    """A bob on a damped hose turns freely about the vertical: a double zero, which rounding splits at will."""
    rubber = gd.Material(young=5e6, poisson=0.5, density=1100)
    for segments in (6, 8, 10):
        hose = gd.Rod(
            "hose", 1.0, segments, gd.Circle(radius=8e-3), rubber, start=gd.Clamped("ground"),
            end=gd.Hinged("bob", at=(0, 0, 0.05)), initial=gd.Straight((0, 0, 0), (0, 0, -1)),
            damping=gd.Damping(bending=1e-4),
        )  # fmt: skip
        bob = gd.Body("bob", mass=0.2, inertia=(1e-4, 1e-4, 1e-4), position=(0, 0, -1.05))
        rest = gd.equilibrium(gd.System(bodies=[bob], rods=[hose]))
        for n in (2, 3, 4, 8):
            free = gd.modes(rest, n=n).frequencies < 1e-4
            assert free.sum() == 1, (segments, n)


def test_flutter_of_a_column_under_a_following_force() -> None:
    """Beck's column: it flutters from P = 20.05 EI/L² on, with no damping at all."""
    EI = 2e11 * 0.02 * 2e-3**3 / 12.0
    rod = gd.Rod(
        "rod", 1.0, 40, gd.Rectangle(0.02, 2e-3), STEEL, start=gd.Clamped("ground"),
        initial=gd.Straight((0, 0, 0), (0, 0, 1)),
    )  # fmt: skip
    below, above = (
        gd.modes(
            gd.System(rods=[rod], forces=[gd.RodLoad("rod", force=(0, 0, -k * EI), follow=True)], gravity=NO_GRAVITY),
            n=3,
        )
        for k in (19.8, 20.3)
    )
    assert below.unstable == 0
    assert above.unstable == 1
    assert above.growth[0] > 0.5


#: How each kind of joint is placed, and the inertia against which its coordinates move: of a body of 2 kg.
AXIS = {"at": (0, 0, 0), "axis": (0, 1, 0)}
JOINED: dict[str, tuple[dict[str, Any], tuple[float, ...]]] = {
    "Fixed": ({"at": (0, 0, 0)}, ()),
    "Spherical": ({"at": (0, 0, 0)}, ()),
    "Revolute": (AXIS, (0.2,)),
    "Prismatic": (AXIS, (2.0,)),
    "Cylindrical": (AXIS, (0.2, 2.0)),
    "Planar": (AXIS, ()),
    "Helical": (AXIS | {"pitch": 0.1}, (0.2 + 2.0 * (0.1 / (2.0 * np.pi)) ** 2,)),
    "Universal": (AXIS | {"axis2": (1, 0, 0)}, ()),
    "Distance": ({"at_a": (0, 0, 1), "at_b": (0, 0, 0)}, ()),
}


@pytest.mark.parametrize("kind", JOINTS, ids=lambda kind: kind.__name__)
def test_modes_with_every_kind_of_joint(kind: type[gd.model.Joint]) -> None:
    """As many as the joint leaves free; of springs and dampers along its coordinates the textbook's."""
    body = gd.Body("body", mass=2.0, inertia=(0.1, 0.2, 0.25))
    place, inertia = JOINED[kind.__name__]
    free = gd.modes(gd.System([body], [kind("ground", "body", **place)], gravity=NO_GRAVITY), n=8)
    np.testing.assert_allclose(free.omega, np.zeros(kind.free), atol=1e-6)
    assert hasattr(kind("ground", "body", **place), "stiffness") == bool(inertia)
    if not inertia:
        return
    k, c = 100.0 * np.arange(1, 1 + len(inertia)), 0.3 * np.arange(1, 1 + len(inertia))
    omega = np.sqrt(k / inertia)
    ratio, order = c / (2.0 * np.sqrt(k * inertia)), np.argsort(omega)
    for damping in (0.0 * c, c):
        sprung = {"stiffness": k, "damping": damping} if len(k) > 1 else {"stiffness": k[0], "damping": damping[0]}
        modes = gd.modes(gd.System([body], [kind("ground", "body", **place, **sprung)], gravity=NO_GRAVITY), n=8)
        np.testing.assert_allclose(modes.omega, omega[order], rtol=1e-9)
        np.testing.assert_allclose(modes.damping, (ratio * (damping > 0.0))[order], rtol=1e-6, atol=1e-12)


def test_shapes_of_modes() -> None:
    modes = gd.modes(gd.System(rods=[cantilever(60)], gravity=NO_GRAVITY), n=2)
    s = np.linspace(0.0, 1.0, 61)
    b = 1.8751040687119611
    sigma = (np.sinh(b) - np.sin(b)) / (np.cosh(b) + np.cos(b))
    exact = np.cosh(b * s) - np.cos(b * s) - sigma * (np.sinh(b * s) - np.sin(b * s))
    for i in range(2):
        shape = modes.shape(i, "rod")
        across = shape @ (shape[-1] / np.linalg.norm(shape[-1]))
        np.testing.assert_allclose(across / across[-1], exact / exact[-1], atol=2e-3)
    assert len(list(modes.motion(0, frames=5))) == 5
    assert "Hz" in repr(modes)


# --- hanging ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [(1.0, 0.0, 0.0), (0.8, 0.3, 0.35), (0.6, 0.0, -0.7)])
def test_hanging_is_a_catenary(end: Any) -> None:
    """A thin cable: sag and forces of the catenary."""
    from scipy.optimize import brentq

    L, (d, h) = 1.3, (float(np.hypot(*end[:2])), end[2])
    cable = gd.hang(L, between=((0, 0, 0), end), section=gd.Circle(radius=1e-5), material=STEEL, segments=100)
    x = brentq(lambda x: np.sinh(x) / x - np.sqrt(L * L - h * h) / d, 1e-6, 50.0)
    a = d / (2.0 * x)
    w = 7850.0 * np.pi * 1e-10 * 9.81
    assert cable.stable
    assert np.hypot(*cable.start_force[:2]) == pytest.approx(w * a, rel=1e-2)
    assert cable.start_force[2] + cable.end_force[2] == pytest.approx(w * L, rel=1e-9)
    low = a * (np.arctanh(h / L) - x)
    across = np.hypot(*cable.cable.positions[:, :2].T)
    exact = a * (np.cosh((low + across) / a) - np.cosh(low / a))
    np.testing.assert_allclose(cable.cable.positions[:, 2], exact, atol=4e-3)


@pytest.mark.parametrize(("L", "end"), [(10.0, (9.0, 0.0, 0.0)), (1.2, (1.0, 0.0, 0.3)), (1.0, (0.0, 0.0, -0.9))])
def test_a_cable_of_elements_hangs_as_one_of_many_segments(L: float, end: tuple[float, float, float]) -> None:
    rubber = gd.Material(young=5e6, poisson=0.5, density=1100)
    given: dict[str, Any] = {"between": ((0, 0, 0), end), "section": gd.Circle(radius=5e-3), "material": rubber}
    fine, few = gd.hang(L, **given, segments=400), gd.hang(L, **given, segments=10, degree=3)
    assert few.sag == pytest.approx(fine.sag, rel=3e-5)
    # Between points one above the other nothing holds the plane of the cable, and rounding turns it.
    few_force, fine_force = (
        cable.start_force if any(end[:2]) else np.array([np.hypot(*cable.start_force[:2]), cable.start_force[2]])
        for cable in (few, fine)
    )
    np.testing.assert_allclose(few_force, fine_force, atol=3e-5 * np.linalg.norm(fine_force))


def test_a_cable_in_a_current_hangs_in_a_straight_line() -> None:
    """Across it weight and drag balance everywhere: m g sin(a) = c (U cos a)², whatever pulls along it."""
    m, c, U = 1.0, 1.2, 3.0
    cable = gd.Rod(
        "cable", initial=gd.Straight((0, 0, 0), (0, 0, -10)), segments=8, degree=2, start=gd.Hinged(),
        stiffness=(1e7, 1e7, 1e7, 1e-3, 1e-3, 1e-3), density_per_length=m, rotary_inertia=(1e-3, 1e-3, 1e-3),
    )  # fmt: skip
    rest = gd.equilibrium(gd.System(rods=[cable], forces=[gd.Flow("cable", (0, U, 0), (c, c, 0))]))
    k = m * 9.81 / (c * U**2)
    sine = np.sqrt(0.25 * k * k + 1.0) - 0.5 * k  # of 1 - s² = k s
    x, y, z = rest["cable"].positions.T
    np.testing.assert_allclose(x, 0.0, atol=1e-9)
    np.testing.assert_allclose(y[1:], -z[1:] * sine / np.sqrt(1 - sine**2), rtol=1e-6)
    assert rest.stable


def test_a_chain_hangs_as_the_elastic_catenary() -> None:
    """A mooring of 200 m by its EA and its weight in water; Irvine 1981, ends at two heights."""
    L, EA, w = 200.0, 5e8, 1080.0
    chain = {"stiffness": (1e8, 1e8, EA, 1e2, 1e2, 1e2), "density_per_length": 126.0, "rotary_inertia": (0.1, 0.1, 0.2)}
    points, weight = ((0, 0, 0), (175, 0, 80)), (0, 0, -w / 126.0)
    cable = gd.hang(L, points, **chain, segments=40, degree=3, gravity=weight, error="finer")

    def ends(p: Any) -> Any:
        H, top = 1e5 * p
        low = top - w * L
        x = H * L / EA + H / w * (np.arcsinh(top / H) - np.arcsinh(low / H))
        z = (top**2 - low**2) / (2.0 * EA * w) + (np.hypot(H, top) - np.hypot(H, low)) / w
        return x - 175.0, z - 80.0

    force = 1e5 * root(ends, (1.0, 2.0), tol=1e-13).x
    np.testing.assert_allclose(cable.end_force[[0, 2]], force, rtol=2e-7)
    assert cable.stable
    assert 0.0 < cable.error["norm cable.end_force"].total < 1e-3
    with pytest.raises(gd.ModelError, match="section and material are missing; give"):
        gd.hang(L, points)


@pytest.mark.parametrize("end", [(9.0, 0.0, 1.0), (0.1, 0.0, -8.0), (11.0, 0.0, 0.0)])
def test_what_hangs_is_kept_with_its_model(end: tuple[float, float, float], tmp_path: Path) -> None:
    """A slack cable, one from a point to a point below, one that is too short: the starting shape goes into files."""
    cable = gd.hang(10.0, between=((0, 0, 0), end), section=ROUND, material=RUBBER, degree=3, segments=24)
    gd.simulate(cable, 0.01, rtol=1e-3).save(tmp_path / "cable.h5")
    again = gd.open(tmp_path / "cable.h5")
    assert again.system == cable.system
    np.testing.assert_allclose(again["cable"].positions[0], cable.cable.positions, atol=1e-9)


def test_sag_of_a_cable_between_points_nearly_above_each_other() -> None:
    """It was read off the line between them, far beyond its ends: 20 m for a cable of 10 m."""
    sags = [
        gd.hang(10.0, ((0, 0, 0), (x, 0, -8)), section=ROUND, material=RUBBER, segments=24, degree=3).sag
        for x in (0.0, 0.01, 0.1)
    ]
    np.testing.assert_allclose(sags, sags[0], rtol=0.05)
    assert 1.0 < sags[0] < 2.0


def test_a_rest_says_in_a_line_what_it_is() -> None:
    column = cantilever(40, initial=gd.Straight((0, 0, 0), (0, 0, 1)))
    falls = gd.equilibrium(gd.System(rods=[column], gravity=(0, 0, -1e4)))
    assert re.fullmatch(r"<Rest of rod: t = 0 s, \d+ unstable directions, newton, \d iterations?>", repr(falls))
    assert "1 unstable direction," in repr(replace(falls, unstable=1))
    cable = gd.hang(1.2, between=((0, 0, 0), (1, 0, 0)), section=THIN, material=STEEL)
    assert re.fullmatch(r"<Hanging of cable: t = 0 s, stable, newton, \d iterations>", repr(cable))


def test_a_cable_that_is_too_short_is_stretched() -> None:
    cable = gd.hang(0.999, between=((0, 0, 0), (1, 0, 0)), section=THIN, material=STEEL)
    EA = 2e11 * np.pi * 1e-6
    assert cable.start_force[0] == pytest.approx(-EA * (1.0 / 0.999 - 1.0), rel=1e-3)
    assert 0.0 < cable.sag < 1e-3


# --- elements --------------------------------------------------------------------------------------------------------


def test_point_mass() -> None:
    rest = gd.equilibrium(gd.System(rods=[cantilever()], forces=[gd.PointMass("rod", at=1.0, mass=0.1)]))
    w, P = 7850.0 * np.pi * 25e-6 * 9.81, 0.981
    assert -rest["rod"].positions[-1, 2] == pytest.approx(w / 8.0 / bending() + P / 3.0 / bending(), rel=2e-3)
    modes = gd.modes(
        gd.System(rods=[cantilever()], forces=[gd.PointMass("rod", at=1.0, mass=50.0)], gravity=NO_GRAVITY)
    )
    assert modes.omega[0] == pytest.approx(np.sqrt(3.0 * bending() / (50.0 + 0.2357 * w / 9.81)), rel=2e-3)


def test_foundation() -> None:
    """A long beam on a Winkler foundation under a point load: w = P λ/(2 k)."""
    k, P = 5e4, 10.0
    rod = gd.Rod("rod", 4.0, 200, ROUND, STEEL)
    forces = [gd.Foundation("rod", stiffness=k), gd.RodLoad("rod", at=0.5, force=(0, 0, -P))]
    rest = gd.equilibrium(gd.System(rods=[rod], forces=forces, gravity=NO_GRAVITY))
    lam = (k / (4.0 * bending())) ** 0.25
    assert -rest["rod"].positions[100, 2] == pytest.approx(P * lam / (2.0 * k), rel=3e-3)


def test_a_tendon_bends_a_rod_to_an_arc() -> None:
    """Tension T at an offset a: curvature T a/EI, the same everywhere, and compression T."""
    a, T = 4e-3, 2.0
    points = [(s, (a, 0.0)) for s in np.linspace(0.0, 1.0, 21)]
    system = gd.System(rods=[cantilever(20, RUBBER)], forces=[gd.Tendon("rod", points, tension=T)], gravity=NO_GRAVITY)
    rest = gd.equilibrium(system)
    track = rest["rod"]
    bend = np.linalg.norm(track.curvature[2:-2, :2], axis=1)
    np.testing.assert_allclose(bend, T * a / bending(RUBBER), rtol=2e-2)
    np.testing.assert_allclose(track.force[2:-2, 2], -T, rtol=1e-2)
    led = gd.System(rods=system.rods, forces=[gd.Tendon("rod", points, tension=lambda t: T * t)], gravity=NO_GRAVITY)
    np.testing.assert_allclose(gd.equilibrium(led, t=1.0)["rod"].positions, track.positions, atol=1e-9)


def strings() -> gd.System:
    rods = [
        cantilever(8, RUBBER),
        gd.Rod(
            "other", 1.0, 7, ROUND, RUBBER, initial=gd.Straight((0, 0.3, 0), (1, 0.3, 0)), start=gd.Hinged("ground")
        ),
    ]
    forces = [
        gd.Cable("rod", "other", at_a=(0.77, (2e-3, 1e-3)), at_b=0.6, stiffness=50.0, length=0.2, damping=0.3),
        gd.Cable("ground", "other", at_a=(1, 0.3, 0.5), at_b=1.0, stiffness=80.0, length=0.4, smoothing=0.2),
        gd.Tendon("rod", [(0.1, (3e-3, 0)), (0.5, (3e-3, 1e-3)), (0.95, (1e-3, 0))], tension=lambda t: 1.0 + t),
    ]
    return gd.System(rods=rods, forces=forces)


def test_strings_have_an_exact_jacobian() -> None:
    c = compile_system(strings())
    rng = np.random.default_rng(5)
    y = np.asarray(c.core.project(c.y0 + 0.03 * rng.standard_normal(c.size), 0.3))
    x, b = np.empty((c.size, c.size)), np.eye(c.size)
    c.core.linearise(0.3, y, 50.0)
    for i in range(c.size):
        x[:, i] = c.core.solve(b[i])
    J = 50.0 * b - np.linalg.inv(x)
    for i in range(0, c.size, 3):
        column = (np.asarray(c.core.rhs(0.3, y + 1e-6 * b[i])) - np.asarray(c.core.rhs(0.3, y - 1e-6 * b[i]))) / 2e-6
        np.testing.assert_allclose(J[:, i], column, atol=1e-6 * np.abs(column).max() + 1e-8 * np.abs(J).max())


def test_cables_only_pull() -> None:
    """A weight on a cable hangs; pushed up, the cable is slack."""
    ball = gd.Body("ball", mass=1.0, inertia=(1e-2, 1e-2, 1e-2), position=(0, 0, -0.5))
    cable = gd.Cable("ground", "ball", at_a=(0, 0, 0), stiffness=1e4, length=1.0)
    system = gd.System(bodies=[ball], forces=[cable])
    motion = gd.simulate(system, 0.3, rtol=1e-8)
    np.testing.assert_allclose(motion["ball"].position[-1, 2], -0.5 - 0.5 * 9.81 * 0.09, rtol=1e-9)
    low = gd.Body("ball", mass=1.0, inertia=(1e-2, 1e-2, 1e-2), position=(0, 0, -1.0005))
    rest = gd.equilibrium(gd.System(bodies=[low], forces=[cable]))
    np.testing.assert_allclose(rest["ball"].position, (0, 0, -1.0 - 9.81e-4), atol=1e-9)


def test_cables_on_bodies_and_on_rods_together() -> None:
    ball = gd.Body("ball", mass=1.0, inertia=(1e-2, 1e-2, 1e-2), position=(0, 1, -1.2))
    forces = [
        gd.Cable("ground", "ball", at_a=(0, 1, 0), stiffness=1e3, length=1.0),
        gd.Cable("ground", "rod", at_a=(0, 1, 0), at_b=1.0, stiffness=5.0, length=1.0),
    ]
    both = gd.equilibrium(gd.System(bodies=[ball], rods=[cantilever(6, RUBBER)], forces=forces))
    alone = gd.equilibrium(gd.System(rods=[cantilever(6, RUBBER)], forces=forces[1:]))
    np.testing.assert_allclose(both["ball"].position, (0, 1, -1.0 - 9.81e-3), atol=1e-9)
    np.testing.assert_allclose(both["rod"].positions, alone["rod"].positions, atol=1e-9)


def test_energy_with_strings_and_obstacles() -> None:
    system = strings()
    ball = gd.SphereObstacle((0.8, 0.0, -0.35), 0.2, stiffness=2e3, smoothing=0.02)
    forces = [*system.forces[1:2], ball, gd.Foundation("other", stiffness=5.0)]
    motion = gd.simulate(gd.System(rods=system.rods, forces=forces), 0.4, method="dop853", rtol=1e-9)
    np.testing.assert_allclose(motion.energy.total, motion.energy.total[0], atol=1e-7)


@pytest.mark.parametrize("kind", ["plane", "sphere", "cylinder"])
def test_obstacles_hold_a_rod(kind: str) -> None:
    """A free rod lies on a plane as deep as its weight says; on round obstacles it drapes and does not pass."""
    k, w = 1e4, 1100.0 * np.pi * 25e-6 * 9.81
    if kind == "plane":
        rod = cantilever(20, RUBBER, start=gd.Free(), initial=gd.Straight((0, 0, 0.006), (1, 0, 0.006)))
        floor = gd.PlaneObstacle((0, 0, 0), (0, 0, 1), stiffness=k, smoothing=1e-3)
        rest = gd.equilibrium(gd.System(rods=[rod], forces=[floor]))
        depth = np.sqrt(2.0 * w * 1e-3 / k) if w < 0.5 * k * 1e-3 else w / k + 0.5e-3
        np.testing.assert_allclose(rest["rod"].positions[:, 2], 5e-3 + 1e-3 - depth, atol=1e-9)
        return
    rod = cantilever(20, RUBBER, initial=gd.Straight((0, 0, 0), (1, 0, 0)))
    if kind == "sphere":
        body: Any = gd.SphereObstacle((0.6, 0.0, -0.3), 0.1, stiffness=k, smoothing=5e-3)
    else:
        body = gd.CylinderObstacle((0.6, 0.0, -0.3), (0, 1, 0), 0.1, stiffness=k, smoothing=5e-3)
    rest = gd.equilibrium(gd.System(rods=[rod], forces=[body]))
    x = rest["rod"].positions - (0.6, 0.0, -0.3)
    x = x if kind == "sphere" else x * (1, 0, 1)
    assert np.linalg.norm(x, axis=1).min() > 0.1
    assert rest["rod"].positions[:, 2].min() < -0.3


def test_a_winch_pulls() -> None:
    """A shortened rest length between two hinges: tension EA (1/g - 1), as rest and as the end of a slow winch."""
    EA = RUBBER.young * np.pi * 25e-6
    rod = {"segments": 8, "section": ROUND, "material": RUBBER, "initial": gd.Straight((0, 0, 0), (1, 0, 0))}
    ends = {"start": gd.Hinged("ground"), "end": gd.Hinged("ground")}
    still = gd.System(rods=[gd.Rod("rod", rest_stretch=0.95, **rod, **ends)], gravity=NO_GRAVITY)
    led = gd.System(rods=[gd.Rod("rod", rest_stretch=lambda t: 1.0 - 0.05 * t, **rod, **ends)], gravity=NO_GRAVITY)
    for rest in (gd.equilibrium(still), gd.equilibrium(led, t=1.0)):
        np.testing.assert_allclose(rest["rod"].force[:, 2], EA * 0.05, rtol=1e-9)
    motion = gd.simulate(led, 1.0, method="radau5", rtol=1e-6)
    np.testing.assert_allclose(motion["rod"].force[-1, :, 2], EA * 0.05, rtol=0.05)


def test_limits_end_a_run() -> None:
    radius = gd.simulate(gd.System(rods=[cantilever(10, RUBBER, limits={"bend_radius": 0.2})]), 1.0, rtol=1e-5)
    assert radius.status == "event"
    assert radius.events[-1].name == "bend radius of rod 'rod'"
    assert radius["rod"].bend_radius[-1].min() == pytest.approx(0.2, rel=1e-6)
    stress = gd.simulate(gd.System(rods=[cantilever(10, RUBBER, limits={"stress": 1e5})]), 1.0, rtol=1e-5)
    assert stress.events[-1].name == "stress of rod 'rod'"
    assert stress.stress("rod")[-1].max() == pytest.approx(1e5, rel=1e-6)


def test_limits_hold_at_the_start() -> None:
    rest = gd.equilibrium(gd.System(rods=[cantilever(10, RUBBER, limits={"bend_radius": 0.5})]))
    radius = f"{rest['rod'].bend_radius.min():.3g}"
    with pytest.raises(gd.ModelError, match=rf"limits\['bend_radius'\] = 0.5 does not hold .* it is {radius}"):
        gd.simulate(rest, 0.1)


def test_work_of_a_winch() -> None:
    """Energy is balanced while the rest length changes."""
    rod = cantilever(5, RUBBER, rest_stretch=lambda t: 1.0 + 0.1 * t)
    motion = gd.simulate(gd.System(rods=[rod], gravity=NO_GRAVITY), 0.2, rtol=1e-8)
    assert np.abs(motion.energy.work).max() > 1e-6
    assert np.abs(motion.energy.balance).max() < 1e-4 * np.abs(motion.energy.work).max()


def test_gravity_may_be_a_function_of_time() -> None:
    ball = gd.Body("ball", mass=2.0, inertia=(1, 1, 1))
    system = gd.System(bodies=[ball], rods=[cantilever(6, RUBBER)], gravity=lambda t: (0, 0, -10.0 * t))
    motion = gd.simulate(system, 0.5, rtol=1e-9)
    np.testing.assert_allclose(motion["ball"].position[-1, 2], -10.0 * 0.5**3 / 6.0, rtol=1e-7)
    rest = gd.equilibrium(gd.System(rods=system.rods, gravity=lambda t: (0, 0, -10.0 * t)), t=1.0)
    same = gd.equilibrium(gd.System(rods=system.rods, gravity=(0, 0, -10.0)))
    np.testing.assert_allclose(rest["rod"].positions, same["rod"].positions, atol=1e-9)


# --- a frame that turns ----------------------------------------------------------------------------------------------


def test_a_blade_stretches_in_a_frame_that_turns() -> None:
    """Simo and Vu-Quoc's spin-up: extension 5.143174550e-4 at 6 rad/s."""
    stiffness = (1e7, 1e7, 2.8e7, 1.4e4, 1.4e4, 1.4e4)
    inertia = {"density_per_length": 1.2, "rotary_inertia": (6e-4, 6e-4, 1.2e-3)}
    rod = gd.Rod("blade", 10.0, 50, stiffness=stiffness, start=gd.Clamped("ground"), **inertia)
    frame = gd.RotatingFrame((0, 0, 6.0))
    rest = gd.equilibrium(gd.System(rods=[rod], forces=[frame], gravity=NO_GRAVITY))
    assert rest["blade"].positions[-1, 0] - 10.0 == pytest.approx(5.143174550e-4, rel=1e-3)
    # Lead-lag and flap: the centrifugal stiffening of flap is one revolution more (Southwell).
    still, turning = (gd.modes(gd.System(rods=[rod], forces=f, gravity=NO_GRAVITY), n=2).omega for f in ([], [frame]))
    assert still[1] == pytest.approx(still[0], rel=1e-3)
    lag, flap = turning
    assert flap**2 - lag**2 == pytest.approx(36.0, rel=2e-2)
    assert flap**2 == pytest.approx(still[0] ** 2 + 1.193 * 36.0, rel=2e-2)


def test_bodies_and_rods_in_a_frame_that_turns() -> None:
    """A free body and rod flying straight in space, told from the frame; the Jacobi integral is kept."""
    w = np.array([0.3, -0.2, 1.5])
    x, v, Omega = np.array([0.4, 0.1, -0.2]), np.array([0.5, 0.2, 0.1]), np.array([1.0, 2.0, -0.5])
    body = {"mass": 2.0, "inertia": (0.1, 0.2, 0.25)}
    there = gd.Body("b", position=x, velocity=v, angular_velocity=Omega, **body)
    here = gd.Body("b", position=x, velocity=v - np.cross(w, x), angular_velocity=Omega - w, **body)
    rod = {"segments": 6, "section": ROUND, "material": RUBBER, "initial": gd.Straight((0.2, 0, 0), (0.2, 0.5, 0))}
    flying = gd.Rod("r", velocity=(0.1, 0.2, 0.3), **rod)
    told = gd.Rod("r", velocity=np.array([0.1, 0.2, 0.3]) - np.cross(w, (0.2, 0, 0)), angular_velocity=-w, **rod)
    a = gd.simulate(gd.System(bodies=[there], rods=[flying], gravity=NO_GRAVITY), 0.3, method="dop853", rtol=1e-10)
    frame = gd.RotatingFrame(w)
    b = gd.simulate(
        gd.System(bodies=[here], rods=[told], forces=[frame], gravity=NO_GRAVITY), 0.3, method="dop853", rtol=1e-10
    )
    R = gd.rotations.matrix_from_quaternion(gd.rotations.quaternion_from_rotation_vector(0.3 * w))
    np.testing.assert_allclose(R @ b["b"].position[-1], a["b"].position[-1], atol=1e-8)
    np.testing.assert_allclose(R @ b["b"].matrix[-1], a["b"].matrix[-1], atol=1e-8)
    np.testing.assert_allclose(b["r"].positions[-1] @ R.T, a["r"].positions[-1], atol=1e-8)
    np.testing.assert_allclose(b.energy.total, b.energy.total[0], atol=1e-8)
    c = b.compiled
    y = np.asarray(b.y[-1])
    J = np.asarray(c.core.jacobian(0.0, y))
    for i in range(0, c.size, 2):
        e = np.zeros(c.size)
        e[i] = 1e-6
        column = (np.asarray(c.core.rhs(0.0, y + e)) - np.asarray(c.core.rhs(0.0, y - e))) / 2e-6
        np.testing.assert_allclose(J[:, i], column, atol=1e-6 * np.abs(column).max() + 1e-9 * np.abs(J).max())
