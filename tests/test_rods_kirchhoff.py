"""Rods whose strains are held exactly, and rods with blended mass."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import gyrod as gd
from gyrod import problems
from gyrod.equations import compile_system

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100.0)
ALONG_Y = gd.Straight((0, 0, 0), (0, 1, 0))
HELD = {"kirchhoff": 2, "inextensible": 3}
ENDS = {"free": gd.Free(), "hinged": gd.Hinged(), "clamped": gd.Clamped()}


def rod(strain: str, start: str = "hinged", **given) -> gd.System:
    options = {"segments": 8, "initial": ALONG_Y, "start": ENDS[start]} | given
    gravity = (0.0, 0.0, -9.81) if start != "free" else (0.0, 0.0, 0.0)
    return gd.System(
        rods=[gd.Rod("r", 1.0, section=gd.Circle(radius=5e-3), material=RUBBER, strain=strain, **options)],
        gravity=gravity,
    )


def disturbed(compiled, size: float, seed: int = 0):
    """A state near the initial one, projected onto the constraints."""
    y = compiled.y0 + size * np.random.default_rng(seed).normal(size=compiled.size)
    return compiled.core.project(compiled.core.project(y))


@pytest.mark.parametrize("start", ENDS)
@pytest.mark.parametrize("strain", HELD)
@pytest.mark.parametrize("damping", [None, gd.Damping(bending=2e-4, torsion=8e-6, extension=0.1)])
def test_stages_are_solved_exactly(strain, start, damping):
    c = compile_system(rod(strain, start, damping=damping))
    y = disturbed(c, 3e-2)
    J = c.core.jacobian_dual(0.0, y)
    b = np.random.default_rng(1).normal(size=c.size)
    for shift in (20.0, 2000.0):
        x = c.core.solve_shifted(0.0, y, shift, b)
        residual = shift * x - J @ x - b
        assert np.abs(residual).max() < 1e-9 * np.abs(J).max() * np.abs(x).max()
        np.testing.assert_allclose(x, np.linalg.solve(shift * np.eye(c.size) - J, b), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("start", ENDS)
@pytest.mark.parametrize("strain", HELD)
def test_right_hand_side_keeps_the_strains(strain, start):
    c = compile_system(rod(strain, start))
    y = disturbed(c, 3e-2)
    assert c.core.measures(np.zeros(1), y[None])[0, :2].max() < 1e-8

    def held(h: float):
        f = c.core.rhs(0.0, y)
        bent = y + h * f
        return c.rod_states(np.zeros(1), bent)[0]["strain"][0, :, : HELD[strain]]

    # On the manifold the strains change at second order in h, and their second derivative along the motion vanishes.
    first = (held(1e-5) - held(-1e-5)) / 2e-5
    assert np.abs(first).max() < 1e-6


@pytest.mark.parametrize("strain", HELD)
def test_methods_agree_and_keep_constraints_and_energy(strain):
    system = rod(strain, segments=6)
    ends = {}
    for method, rtol in (("dop853", 1e-10), ("radau5", 1e-8), ("rodas", 1e-7), ("seulex", 1e-7), ("odex", 1e-9)):
        motion = gd.simulate(system, 0.4, method=method, rtol=rtol)
        ends[method] = motion["r"].positions[-1, -1]
        assert motion.drift.position.max() < 1e-12
        assert motion.drift.velocity.max() < 1e-10
        assert np.ptp(motion.energy.total) < 1e-6 * motion.energy.kinetic.max()
    for end in ends.values():
        np.testing.assert_allclose(end, ends["dop853"], atol=3e-6)


@pytest.mark.spread(0)
@pytest.mark.parametrize("strain", HELD)
def test_limit_of_a_stiff_cosserat_rod(strain):
    """Held strains are the limit of stiff ones: the difference falls with the stiffness."""
    C = compile_system(rod("cosserat")).rods[0]
    base = np.array([*np.diag(C["CG"][0]), *np.diag(C["CK"][0])])
    want = gd.simulate(rod(strain), 0.1, method="radau5", rtol=1e-9)["r"].positions[-1, -1]
    errors = []
    for factor in (1e2, 1e4):
        stiff = base.copy()
        stiff[: HELD[strain]] *= factor
        got = gd.simulate(rod("cosserat", stiffness=stiff), 0.1, method="radau5", rtol=1e-9)["r"].positions[-1, -1]
        errors.append(np.linalg.norm(got - want))
    assert errors[1] < 0.05 * errors[0]
    assert errors[1] < 1e-5


@pytest.mark.parametrize("strain", HELD)
def test_momentum_of_a_free_rod(strain):
    system = rod(
        strain, "free", velocity=lambda s: (0.0, 0.0, 1.0 - 2.0 * s), angular_velocity=lambda s: (-2.0, 0, 3.0)
    )
    motion = gd.simulate(system, 0.2, method="dop853", rtol=1e-10)
    first = 1  # the initial velocities are projected after the first step
    for quantity in (motion.momentum, motion.angular_momentum):
        np.testing.assert_allclose(quantity[first:], quantity[first] * np.ones((len(quantity) - 1, 1)), atol=1e-9)


def test_indeterminate_axial_force_is_refused():
    system = rod("inextensible", "hinged", end=gd.Hinged())
    with pytest.raises(gd.SimulationError, match="rod 'r' is inextensible, straight and held at both ends"):
        gd.simulate(system, 0.1, method="dop853")
    # An arc between two points is determined.
    arc = gd.Arc((0, 0, 0), (0, 1, 0), (0, 0, 1), radius=1.0 / np.pi, angle=np.pi)
    motion = gd.simulate(rod("inextensible", "hinged", end=gd.Hinged(), initial=arc), 0.1, method="dop853", rtol=1e-8)
    assert motion.drift.position.max() < 1e-12


def test_what_kirchhoff_rods_need():
    with pytest.raises(ValueError, match=r"rod 'r' with strain = 'kirchhoff' needs .*'lumped'"):
        gd.simulate(rod("kirchhoff", mass="blended"), 0.1)


def test_blended_mass_cancels_the_dispersion_of_extension():
    """Frequencies of a free-free bar: order 4 in the number of segments with half of the consistent mass."""

    def error(segments: int, mass: float) -> float:
        system = gd.System(
            rods=[gd.Rod("r", 1.0, segments, gd.Circle(radius=5e-3), RUBBER, mass=mass, initial=ALONG_Y)],
            gravity=(0, 0, 0),
        )
        c = compile_system(system)
        layout = c.core.layout()[0]
        rows, columns = np.array(layout.v) + 1, np.array(layout.x) + 1  # y runs along the bar
        J = c.core.jacobian(0.0, c.y0)
        omega = np.sqrt(np.sort(-np.linalg.eigvals(J[np.ix_(rows, columns)]).real)[1])
        exact = np.pi * np.sqrt(RUBBER.young / RUBBER.density)
        return abs(omega / exact - 1.0)

    lumped = [error(n, 0.0) for n in (8, 16)]
    half = [error(n, 0.5) for n in (8, 16)]
    assert np.log2(lumped[0] / lumped[1]) == pytest.approx(2.0, abs=0.05)
    assert np.log2(half[0] / half[1]) == pytest.approx(4.0, abs=0.1)


def test_blended_mass_on_the_pendulum():
    """It cuts the error of the free end on a coarse grid; values of the converged pendulum (1 s)."""
    want = np.array([0.0, -0.94010, -0.09910])
    errors = {}
    for mass in ("lumped", "blended"):
        motion = gd.simulate(rod("cosserat", segments=20, mass=mass), 1.0, rtol=1e-4)
        errors[mass] = np.linalg.norm(motion["r"].positions[-1, -1] - want)
    assert errors["blended"] < 0.3 * errors["lumped"]


# --- at rest ----------------------------------------------------------------------------------------------------------

MESHES = [{"segments": 12}, {"degree": 3, "segments": 4}]
HALF_RING = gd.Arc((0, 0, 0), (0, 1, 0), (0, 0, -1), radius=1.0 / np.pi, angle=np.pi)
SUPPORTS = {
    "cantilever": {"start": gd.Clamped()},
    "hinged": {"start": gd.Hinged()},
    "between clamps": {"start": gd.Clamped(), "end": gd.Clamped(), "initial": HALF_RING},
    "between hinges": {"start": gd.Hinged(), "end": gd.Hinged(), "initial": HALF_RING},
}


def resting(strain: str, mesh: dict, support: str, **given) -> gd.System:
    options = {"initial": ALONG_Y, "section": gd.Circle(radius=5e-3), "material": RUBBER, "prestrain": (0.0, 0.0, 0.0)}
    options |= SUPPORTS[support] | given
    if "stiffness" in given:
        options |= {"section": None, "material": None, "density_per_length": 1100.0 * np.pi * 25e-6}
    return gd.System(rods=[gd.Rod("r", 1.0, strain=strain, **mesh, **options)])


@pytest.mark.spread
@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("strain", HELD)
def test_rest_is_the_limit_of_stiff_strains(strain, mesh, support):
    """Shape, end force and frequencies differ from those of a stiff Cosserat rod by what falls with the stiffness."""
    rest = gd.equilibrium(resting(strain, mesh, support))
    assert rest.stable
    strains = rest["r"].strain[:, : HELD[strain]]
    assert np.abs(strains).max() < 1e-13
    free = len(rest.free)  # hinges let a rod spin about its axis
    omega = gd.modes(rest, n=4).omega[free:]
    EI = 5e6 * np.pi / 4.0 * 5e-3**4
    base = np.array([*[5e6 * np.pi * 25e-6 / 3.0] * 2, 5e6 * np.pi * 25e-6, EI, EI, 2.0 * EI / 3.0])
    off = []
    for factor in (10.0, 100.0):
        stiff = base.copy()
        stiff[: HELD[strain]] *= factor
        near = gd.equilibrium(resting("cosserat", mesh, support, stiffness=stiff, rotary_inertia=inertia()))
        others = gd.modes(near, n=4).omega[free:]
        off.append([
            np.abs(near["r"].positions - rest["r"].positions).max(),
            np.abs(near["r"].start_force - rest["r"].start_force).max(),
            np.abs(others - omega).max() / omega.max(),
        ])  # fmt: skip
    first, second = np.array(off)
    assert (second < 0.12 * first + 1e-8).all(), off
    assert (second < [1e-4, 1e-4, 1e-3]).all(), off


def inertia() -> tuple[float, float, float]:
    J = 1100.0 * np.pi / 4.0 * 5e-3**4
    return J, J, 2.0 * J


@pytest.mark.parametrize("mesh", [{"segments": 80}, {"degree": 4, "segments": 12}])
def test_a_slender_cable_hangs_as_a_catenary(mesh):
    """Both end force and sag tend to those of the catenary as the bending stiffness falls."""
    L, d = 1.2, 1.0
    a = brentq(lambda a: 2.0 * a * np.sinh(d / 2.0 / a) - L, 0.05, 5.0)
    off = []
    for radius in (1e-2, 1e-3, 3e-4):
        cable = gd.hang(
            L, between=((0, 0, 0), (d, 0, 0)), section=gd.Circle(radius=radius), material=RUBBER,
            strain="inextensible", **mesh,
        )  # fmt: skip
        assert cable.stable
        weight = 1100.0 * np.pi * radius**2 * 9.81
        force = np.linalg.norm(cable.start_force) / (weight * np.hypot(a, L / 2.0))
        off.append([cable.sag / (a * (np.cosh(d / 2.0 / a) - 1.0)) - 1.0, force - 1.0])
    first, second, third = np.abs(off)
    assert (second < 0.1 * first).all()
    assert (third < 1e-4).all()
    with pytest.raises(ValueError, match=r"length = 1.0 is not more than the distance 1 .*'inextensible'"):
        gd.hang(
            1.0, between=((0, 0, 0), (d, 0, 0)), section=gd.Circle(radius=1e-3), material=RUBBER, strain="inextensible"
        )


def test_modes_of_an_inextensible_beam():
    """A slender cantilever: Euler and Bernoulli's frequencies, with Rayleigh's term for the inertia of rotation."""
    radius, steel = 1e-4, gd.Material(young=2e11, poisson=0.3, density=7850.0)
    beam = gd.Rod(
        "beam", 1.0, 12, gd.Circle(radius=radius), steel, degree=4, strain="inextensible", start=gd.Clamped(),
        initial=gd.Straight((0, 0, 0), (1, 0, 0)),
    )  # fmt: skip
    found = gd.modes(gd.System(rods=[beam], gravity=(0, 0, 0)), n=6)
    roots = np.array([1.875104068711961, 4.694091132974174, 7.854757438237613])
    exact = roots**2 * np.sqrt(2e11 * radius**2 / 4.0 / 7850.0)
    np.testing.assert_allclose(found.omega, np.repeat(exact, 2), rtol=1e-6)


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("strain", HELD)
def test_damping_moves_modes_of_held_strains_little(strain, mesh):
    plain = gd.modes(resting(strain, mesh, "cantilever"), n=6)
    damped = gd.modes(resting(strain, mesh, "cantilever", damping=gd.Damping(bending=1e-7, torsion=1e-7)), n=6)
    np.testing.assert_allclose(damped.omega, plain.omega, rtol=1e-6)
    assert (damped.damping > 0.0).all()
    assert damped.damping.max() < 1e-3


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("strain", HELD)
def test_a_moment_rolls_held_strains_up_to_a_ring(strain, mesh):
    moment = 2.0 * np.pi * 5e6 * np.pi / 4.0 * 5e-3**4
    bare = resting(strain, mesh, "cantilever")
    system = gd.System(rods=bare.rods, forces=[gd.RodLoad("r", at=1.0, moment=(moment, 0, 0))], gravity=(0, 0, 0))
    path = gd.follow(system, "load", (0, 1))
    exact = "degree" not in mesh  # a chain of equal segments closes to a polygon
    np.testing.assert_allclose(path["r"].positions[-1, -1], 0.0, atol=1e-9 if exact else 1e-4)
    bent = np.linalg.norm(path["r"].curvature[-1, :-1], axis=1)  # but at the end, where nothing bends
    np.testing.assert_allclose(bent, 2.0 * np.pi, rtol=1e-8 if exact else 1e-3)


@pytest.mark.parametrize("strain", HELD)
def test_euler_load_of_held_strains(strain):
    """A cantilever buckles at pi²/4 EI; without shear and extension at that to the last digit of the mesh."""
    bare = resting(strain, {"degree": 4, "segments": 6}, "cantilever")
    EI = 5e6 * np.pi / 4.0 * 5e-3**4
    system = gd.System(rods=bare.rods, forces=[gd.RodLoad("r", at=1.0, force=(0, -EI, 0))], gravity=(0, 0, 0))
    path = gd.follow(system, "load", (0, 3))
    load = np.pi**2 / 4.0 if strain == "inextensible" else brentq(
        lambda x: x * (1.0 - x * EI / (5e6 * np.pi * 25e-6)) - np.pi**2 / 4.0, 1.0, 4.0
    )  # fmt: skip
    assert path.events[0].value == pytest.approx(load, rel=2e-4 if strain == "kirchhoff" else 1e-8)


@pytest.mark.spread
@pytest.mark.parametrize("strain", ["kirchhoff", "inextensible"])
@pytest.mark.parametrize("start", [gd.Clamped(), gd.Hinged(), gd.Free()])
@pytest.mark.parametrize("mesh", [{"segments": 5}, *({"degree": p, "segments": 2} for p in (2, 3, 4))])
def test_stages_solve_with_the_derivative_of_held_strains(strain, start, mesh):
    """(shift - J)^-1 b of the block elimination, which has lambda as unknowns, with J by dual numbers."""
    rod = gd.Rod(
        "rod", 1.0, start=start, strain=strain, stiffness=(390, 390, 390, 0.25, 0.25, 0.17), density_per_length=0.086,
        rotary_inertia=(5.4e-5, 5.4e-5, 1.1e-4), **mesh,
    )  # fmt: skip
    compiled = compile_system(gd.System(rods=[rod], forces=[gd.RodLoad("rod", at=1.0, force=(0.1, 0.2, 0.3))]))
    rng = np.random.default_rng(1)
    y = np.asarray(compiled.core.project(compiled.y0 + 0.2 * rng.standard_normal(compiled.size), 0.0))
    J, b = np.asarray(compiled.core.jacobian_dual(0.0, y)), rng.standard_normal(compiled.size)
    exact = np.linalg.solve(50.0 * np.eye(compiled.size) - J, b)
    np.testing.assert_allclose(compiled.core.solve_shifted(0.0, y, 50.0, b), exact, atol=1e-9 * np.abs(exact).max())


def test_modes_of_a_taut_string():
    """Between two hinges under EA/1000: k² (T + EI k²)/(density of length), k = n pi/L; it hardly turns."""
    radius, steel = 1e-4, gd.Material(young=2e11, poisson=0.3, density=7850.0)
    string = gd.Rod(
        "string", 1.0, 12, gd.Circle(radius=radius), steel, degree=4, strain="kirchhoff", rest_stretch=0.999,
        start=gd.Hinged(), end=gd.Hinged(), initial=gd.Straight((0, 0, 0), (1, 0, 0)),
    )  # fmt: skip
    found = gd.modes(gd.System(rods=[string], gravity=(0, 0, 0)), n=7).omega
    k = np.pi * np.arange(1, 4)
    exact = k * np.sqrt((2e11 * 1e-3 + 2e11 * radius**2 / 4.0 * k**2) / 7850.0)
    np.testing.assert_allclose(found[-6:], np.repeat(exact, 2), rtol=1e-6)


@pytest.mark.spread
@pytest.mark.parametrize("strain", HELD)
@pytest.mark.parametrize(("table", "at"), [("elastica", 1.0), ("elastica", 10.0), ("post_buckling", 60.0)])
def test_tables_of_the_elastica(table, at, strain):
    """It neither shears nor stretches: with these strains held it meets the elliptic integrals."""
    problem = getattr(problems, table)(at, 8, discretization="elements", degree=4, strain=strain)
    found = problem.quantities(gd.equilibrium(problem.system))
    for name, value in problem.reference.items():
        # EA = 1e7 N stretches it: by 3.6e-5 of 60 degrees.
        assert found[name] == pytest.approx(value, rel=1e-6 if strain == "kirchhoff" else 0.0, abs=1e-6)


@pytest.mark.spread
@pytest.mark.parametrize("mesh", [{"segments": 16, "degree": 4}, {"segments": 64, "discretization": "staggered"}])
@pytest.mark.parametrize("bob", [False, True])
def test_modes_of_a_bent_wire_keep_their_digits(mesh, bob):
    """EA/EI = 1.6e7/m²: what hardly stretches must not take the digits of bending."""
    steel = gd.Material(young=2e11, poisson=0.3, density=7850.0)
    bodies = [gd.Body("bob", 2e-3, (1e-7, 1e-7, 1e-7), (1.0, 0, 0))] if bob else []
    found = {}
    for strain in HELD:
        wire = gd.Rod(
            "wire", 1.0, section=gd.Circle(5e-4), material=steel, strain=strain, start=gd.Clamped(),
            end=gd.Clamped("bob") if bob else gd.Free(), initial=gd.Straight((0, 0, 0), (1, 0, 0)), **mesh,
        )  # fmt: skip
        rest = gd.equilibrium(gd.System(bodies, rods=[wire]))
        assert rest.stable
        found[strain] = gd.modes(rest, n=4).omega
    # On a light body the forces that hold strains, which a rest reads off accelerations, have fewer digits.
    np.testing.assert_allclose(found["kirchhoff"], found["inextensible"], rtol=5e-5 if bob else 4e-6)


@pytest.mark.spread
@pytest.mark.parametrize("strain", HELD)
def test_forces_on_a_light_body_at_rest(strain):
    """A wire clamped on a small body with a sprung hinge: its weight hangs there, and nothing pulls sideways."""
    wire = gd.Rod(
        "wire", 1.0, 8, gd.Circle(5e-4), gd.Material(young=2e11, poisson=0.3, density=7850.0), degree=4, strain=strain,
        start=gd.Clamped("hub"), initial=gd.Straight((0, 0, 0), (1, 0, 0)),
    )  # fmt: skip
    hinge = gd.Revolute("ground", "hub", at=(0, 0, 0), axis=(0, 1, 0), stiffness=0.05)
    rest = gd.equilibrium(gd.System([gd.Body("hub", 2e-3, (1e-7, 1e-7, 1e-7))], [hinge], rods=[wire]))
    weight = 7850.0 * np.pi * 5e-4**2 * 9.81
    np.testing.assert_allclose(rest["wire"].start_force, [0.0, 0.0, weight], atol=1e-5 * weight)
