"""The variational integrator for rods: against its own discrete Lagrangian in NumPy, and what it must keep."""

import numpy as np
import pytest
from variational_rod_oracle import Rod, product

import gyrod as gd
from gyrod import rotations as ro
from gyrod.equations.variational import compile_stepped

both = pytest.mark.parametrize("coordinates", ["quaternion", "directors"])
meshes = pytest.mark.parametrize("elements", [0, 2, 3], ids=["grid", "quadratic", "cubic"])


def run(system, t_end, h, **options):
    return gd.simulate(system, t_end, **{"method": "variational", "step": h, **options})


STIFFNESS = np.array([300.0, 280.0, 500.0, 0.5, 0.4, 0.3])
INERTIA = np.array([2e-3, 1.5e-3, 3e-3])
DAMPING = np.array([2.0, 1.5, 3.0, 5e-3, 4e-3, 3e-3])


def uniform(N, degree=0, **fields):
    """A rod along the z axis that turns and is pulled apart, as gyrod has it."""
    return gd.Rod(
        "rod", length=1.2, segments=N // degree if degree else N, degree=degree or None,
        **{
            "stiffness": STIFFNESS, "density_per_length": 0.8, "rotary_inertia": INERTIA,
            **({} if degree else {"curvature": "half-tangent"}),
            "initial": gd.Straight((0, 0, 0), (0, 0, 1.2)), "velocity": lambda s: (2.0 * s, s * s, 0.3 * s),
            "angular_velocity": lambda s: (-1.0 + s, 3.0 * s, 4.0 * s * s), **fields,
        },
    )  # fmt: skip


def place(t):
    return np.array([0.1 * np.sin(3.0 * t), 0.2 * t * t, 0.05 * t])


def frame(t):
    return np.array([np.cos(0.4 * t), 0.6 * np.sin(0.4 * t), 0.0, 0.8 * np.sin(0.4 * t)])


CASES = {
    "free": ({}, {}, {}),
    "pulled": ({}, {"pull": lambda t: np.array([1.0 + t, -2.0, 3.0])}, {}),
    "sigma": ({}, {"sigma": 1e-3}, {"sigma": {"rod": 1e-3}}),
    "nodes": ({}, {"nodes": True}, {"potential": "nodes"}),
    "angle": ({"curvature": "angle"}, {"law": "angle"}, {}),
    "damped": ({"damping": gd.Damping(DAMPING[:2], DAMPING[2], DAMPING[3:5], DAMPING[5])}, {"c": DAMPING}, {}),
    "hinged": ({"start": gd.Hinged(at=place)}, {"hinged": True, "place": place}, {}),
    "clamped": (
        {"start": gd.Clamped(at=place, frame=frame)},
        {"clamped": True, "place": place, "frame": frame},
        {},
    ),
}


@pytest.mark.spread
@pytest.mark.parametrize(("name", "degree"), [(n, d) for n in CASES for d in (0, 2) if (n, d) != ("angle", 2)])
def test_steps_are_those_of_the_discrete_lagrangian(name, degree):
    """Complex steps of the Lagrangian against analytic gradients in local increments: 1e-10 in all coordinates."""
    model, given, options = CASES[name]
    N, h, steps = (4, 2e-3, 2) if degree else (3, 5e-3, 3)
    if name == "nodes":
        h /= 4.0
    gravity = np.array([1.0, -2.0, -9.0])
    oracle = Rod(N, 1.2, np.diag(STIFFNESS), 0.8, INERTIA, degree=degree, gravity=gravity, **given)
    forces = [gd.RodLoad("rod", at=1.0, force=oracle.pull)] if oracle.pull else []
    rod = uniform(N, degree, **model)
    system = gd.System(rods=[rod], forces=forces, gravity=gravity)
    motion = run(system, steps * h, h, **options)
    q = np.concatenate([rod.positions.ravel(), rod.quaternions.ravel()])
    start = motion["rod"]
    rates = [0.5 * product(p, [0.0, *w]) for p, w in zip(rod.quaternions, start.Omega[0], strict=True)]
    rows, momenta = oracle.run(q, np.concatenate([start.velocities[0].ravel(), np.ravel(rates)]), h, steps)
    x, p = rows[:, : 3 * N + 3].reshape(len(rows), -1, 3), rows[:, 3 * N + 3 :].reshape(len(rows), -1, 4)
    np.testing.assert_allclose(start.positions, x, atol=1e-10)
    np.testing.assert_allclose(start.quaternions, p, atol=1e-10)
    v, Omega = oracle.velocities(rows[-1], momenta[-1])
    held = 1 if oracle.clamped or oracle.hinged else 0
    np.testing.assert_allclose(start.velocities[-1][held:], v[held:], atol=1e-8)
    np.testing.assert_allclose(start.Omega[-1][held:], Omega[held:], atol=1e-8)


# --- what is kept ---


def pulse(t):
    return t / 2.5 if t < 2.5 else max(0.0, 2.0 - t / 2.5)


def spaghetti(degree=None, segments=12, **fields):
    """The flying spaghetti of Simo and Vu-Quoc 1988: a free rod, pulled and turned at one end for 5 s."""
    rod = gd.Rod(
        "rod", length=10.0, segments=segments // (degree or 1), degree=degree, stiffness=(1e4, 1e4, 1e4, 500, 500, 500),
        density_per_length=1.0, rotary_inertia=(10, 10, 20), initial=gd.Straight((6, 0, 0), (0, 8, 0)), **fields,
    )  # fmt: skip
    load = gd.RodLoad(
        "rod", at=0.0, force=lambda t: (8.0 * pulse(t), 0, 0), moment=lambda t: (0, -80.0 * pulse(t), -80.0 * pulse(t))
    )
    return gd.System(rods=[rod], forces=[load], gravity=(0, 0, 0))


def momenta(motion):
    """Linear and angular momentum of all rods and bodies, about the origin."""
    P, L = np.zeros((2, len(motion.t), 3))
    for table in motion.compiled.rods:
        track = motion[table["name"]]
        p = table["mass"][:, None] * track.velocities
        P += p.sum(axis=1)
        L += np.cross(track.positions, p).sum(axis=1)
        L += np.einsum("tjab,tjb->ta", track.directors, table["J"] * track.Omega)
    for body in motion.compiled.system.original.bodies:
        track = motion[body.name]
        P += body.mass * track.velocity
        L += np.cross(track.position, body.mass * track.velocity)
        L += np.einsum("tab,tb->ta", track.matrix, track.Omega @ body.inertia)
    return P, L


def check_flight(motion):
    P, L = (part[motion.t > 5.01] for part in momenta(motion))
    reach = np.abs(motion["rod"].positions).max()  # the arm of what is rounded
    np.testing.assert_allclose(P, P[:1].repeat(len(P), 0), atol=1e-11 * np.abs(P).max())
    np.testing.assert_allclose(
        L, L[:1].repeat(len(L), 0), atol=1e-11 * np.abs(L).max() + 1e-14 * reach * np.abs(P).max()
    )
    assert np.abs(L[-1]).max() > 100.0


@both
@pytest.mark.parametrize("degree", [None, 2, 3, 4])
def test_momenta_of_a_free_rod_are_kept_after_its_loads_end(degree, coordinates):
    check_flight(run(spaghetti(degree), 40.0, 0.05, coordinates=coordinates))


@pytest.mark.slow
def test_momenta_of_a_free_rod_over_a_hundred_thousand_steps():
    motion = run(spaghetti(segments=16), 2000.0, 0.02, output=10)
    check_flight(motion)
    # Its modes exchange energy over millions of steps, and the h²-part of the energy at nodes wanders with them.
    check_no_drift(motion.energy.total[motion.t > 5.01], 0.06)
    check_no_drift_of_what_is_kept(motion)


@pytest.mark.slow
def test_energy_of_a_free_rod_over_a_million_steps():
    motion = run(spaghetti(segments=16), 10000.0, 0.01, output=100)
    check_no_drift(motion.energy.total[motion.t > 5.01])
    check_no_drift_of_what_is_kept(motion)


def check_no_drift_of_what_is_kept(motion):
    """Energies at nodes and in the middle of steps are off by h² Q/24 and -h² Q/12: what is left is kept to h⁴."""
    nodes, middles = motion.energy.total[1:], motion.midpoints.energy
    after = motion.t[1:] > 5.01
    kept, tenth = ((2.0 * nodes + middles) / 3.0)[after], np.count_nonzero(after) // 10
    assert abs(kept[-tenth:].mean() - kept[:tenth].mean()) < 0.005 * np.ptp(nodes[after])


STEEL = gd.Material(young=2.06e11, poisson=0.3, density=7850)


@pytest.mark.slow
def test_energy_of_a_steel_string_over_a_hundred_thousand_steps():
    """Taut and plucked, 81 steps in a period of its first mode; the stiffest vibration makes 70 turns in a step."""
    string = gd.Rod(
        "rod", length=0.65, segments=20, section=gd.Circle(radius=5e-4), material=STEEL, rest_stretch=0.999,
        initial=gd.Straight((0, 0, 0), (0, 0.65, 0)), start=gd.Clamped("ground"), end=gd.Clamped("ground"),
        velocity=lambda s: (0, 0, np.sin(np.pi * s)),
    )  # fmt: skip
    motion = run(gd.System(rods=[string], gravity=(0, 0, 0)), 10.0, 1e-4, output=10)
    E = motion.energy.total
    check_no_drift(E)
    assert np.ptp(E) < 0.02 * (motion.energy.kinetic.max() - motion.energy.kinetic.min())


@pytest.mark.slow
def test_momentum_of_a_hung_steel_wire_about_the_vertical_over_a_hundred_thousand_steps():
    wire = gd.Rod(
        "rod", length=1.0, segments=20, section=gd.Circle(radius=1e-3), material=STEEL,
        initial=gd.Straight((0, 0, 0), (0, 0.6, -0.8)), start=gd.Hinged("ground"), angular_velocity=(0, 0, 2.0),
    )  # fmt: skip
    motion = run(gd.System(rods=[wire]), 100.0, 1e-3, output=20)
    L = momenta(motion)[1][:, 2]
    np.testing.assert_allclose(L, L[0], atol=1e-11 * L[0])
    check_no_drift(motion.energy.total)


def check_no_drift(E, part=0.05):
    tenth = len(E) // 10
    assert abs(E[-tenth:].mean() - E[:tenth].mean()) < part * np.ptp(E)


#: Thick and soft: steps of a millisecond resolve all its vibrations.
HOSE = {"section": gd.Circle(radius=0.1), "material": gd.Material(young=1e6, poisson=0.5, density=1100)}


def hose(name="hose", a=(0, 0, 0), b=(0, 1, 0), segments=6, degree=None, **fields):
    length = float(np.linalg.norm(np.subtract(b, a)))
    return gd.Rod(
        name, length=length, segments=segments // (degree or 1), degree=degree, initial=gd.Straight(a, b), **HOSE,
        **fields,
    )  # fmt: skip


@pytest.mark.spread(0)
@meshes
def test_a_hung_rod_keeps_its_momentum_about_the_vertical_and_its_energy(elements):
    rod = hose(
        degree=elements or None, start=gd.Hinged("ground"),
        velocity=(0, 0, 0), angular_velocity=(0.5, 0.0, 3.0),
    )  # fmt: skip
    motion = run(gd.System(rods=[rod]), 100.0, 5e-3)
    L = momenta(motion)[1][:, 2]
    assert L[0] > 1.0
    np.testing.assert_allclose(L, L[0], atol=1e-11 * L[0])
    check_no_drift(motion.energy.total)
    assert np.ptp(motion.energy.total) < 2e-3 * motion.energy.kinetic.max()


@both
@pytest.mark.parametrize("potential", ["midpoint", "nodes"])
@meshes
def test_the_two_form_of_a_rod_is_kept(coordinates, potential, elements):
    """Variations of positions, frames and velocities of a rod on a body that turns about a point."""
    anchor = gd.Body("anchor", mass=0.4, inertia=(3e-3, 4e-3, 5e-3), position=(0, 0, -0.1), angular_velocity=(1, 2, 3))
    system = gd.System(
        [anchor], [gd.Spherical("ground", "anchor", at=(0, 0, 0))],
        rods=[hose(b=(0, 0.6, 0), segments=elements or 2, degree=elements or None,
                   start=gd.Clamped("anchor", at=(0, 0, 0.1)))],
    )  # fmt: skip
    h = 2e-3 if potential == "midpoint" else 5e-4
    stepped = compile_stepped(
        system, h, coordinates=coordinates, sigma="mean", potential=potential, conserving=False, reduce=True
    )
    table, nodes = stepped.compiled.rods[0], stepped.cells()[0]
    lead = len(nodes) - len(table["J"])

    def ends(x, steps):
        start = np.array(stepped.start)
        for row, d in zip(start, x.reshape(-1, 12), strict=True):
            row[:3] += 0.1 * d[:3]
            row[3:7] = ro.multiply(row[3:7], ro.exp(d[3:6]))
            row[7:] += d[6:]
        row = stepped.core.run(start, steps, steps * h, [steps], None, False)["rows"][-1]
        q, p = [], []
        x, turn, v, Omega = np.split(row[0], [3, 7, 10])  # the body, about its point, with the end that it holds
        L = np.array([3e-3 + 4e-3, 4e-3 + 4e-3, 5e-3]) * Omega
        if elements:
            R = ro.matrix_from_quaternion(ro.quaternion_from_matrix(stepped.compiled.axes[0]))
            clamp = ro.matrix_from_quaternion(system.rod_ends["hose", 0].frame)
            L = L + R.T @ clamp @ (table["J"][0] * (clamp.T @ R @ Omega))
        q.append(turn)
        p.append(2.0 * ro.multiply(turn, [0.0, *L]))
        for n, node in enumerate(nodes):
            if node < 0:
                continue
            x, turn, v, Omega = np.split(row[node], [3, 7, 10])
            if n:
                q.append(x)
                p.append(table["mass"][n] * v)
            if n >= lead and (n or not elements):
                q.append(turn)
                p.append(2.0 * ro.multiply(turn, [0.0, *(table["J"][n - lead] * Omega)]))
        return np.concatenate(q), np.concatenate(p)

    rng = np.random.default_rng(3)
    variations = rng.normal(size=(4, 12 * len(stepped.start)))

    def form(steps):
        at = [[ends(s * 1e-4 * v, steps) for s in (1.0, -1.0, 2.0, -2.0)] for v in variations]
        dq, dp = (np.array([8.0 * (x[0][k] - x[1][k]) - (x[2][k] - x[3][k]) for x in at]) / 12e-4 for k in (0, 1))
        return dq @ dp.T - dp @ dq.T

    one, many = form(1), form(60)
    np.testing.assert_allclose(many, one, atol=1e-8 * np.abs(one).max())


# --- against other methods ---


def bob(at=(0, 1.0, -0.05), name="bob", **fields):
    return gd.Body(name, mass=0.5, inertia=(4e-3, 3e-3, 2e-3), position=at, **fields)


def swing(t):
    return (0.05 * np.sin(8.0 * t), 0.0, 0.0)


CLAMPED = gd.Clamped("ground")
ON_BOB = {"start": CLAMPED, "end": gd.Hinged("bob", at=(0, 0, 0.05))}
SYSTEMS = {
    "alone": gd.System(rods=[hose(start=CLAMPED)]),
    "elements": gd.System(rods=[hose(degree=2, start=CLAMPED)]),
    "led": gd.System(rods=[hose(start=gd.Clamped(at=swing))]),
    "damped": gd.System([bob()], rods=[hose(**ON_BOB, damping=gd.Damping(1.0, 1.0, 1e-3, 1e-3))]),
    "stretch": gd.System([bob()], rods=[hose(**ON_BOB, strain="stretch")]),
    "blended": gd.System(rods=[hose(start=gd.Hinged(at=swing), mass="blended")]),
    "coupled": gd.System(rods=[hose(start=CLAMPED).with_(
        section=None, material=None, density_per_length=1.4, rotary_inertia=(2e-2, 2e-2, 4e-2),
        stiffness=np.diag([2e3, 2e3, 6e3, 6.0, 6.0, 4.0]) + 30.0 * (np.eye(6, k=3) + np.eye(6, k=-3)),
    )]),
    "kirchhoff": gd.System([bob()], rods=[hose(**ON_BOB, strain="kirchhoff")]),
    "inextensible": gd.System(rods=[hose(start=gd.Hinged("ground"), strain="inextensible")]),
    "held elements": gd.System(rods=[hose(start=CLAMPED, degree=2, strain="inextensible")]),
    "clamped bob": gd.System([bob()], rods=[hose(start=gd.Hinged("ground"), end=gd.Clamped("bob", at=(0, 0, 0.05)))]),
    "elements on a body": gd.System(
        [bob()], rods=[hose(degree=2, start=gd.Hinged("ground"), end=gd.Clamped("bob", at=(0, 0, 0.05)))]
    ),
    "two bodies": gd.System(
        [bob(), bob((0, -0.1, 0), "other", velocity=(0, 0, 1.0))],
        rods=[hose(start=gd.Clamped("other", at=(0, 0.1, 0)), end=gd.Clamped("bob", at=(0, 0, 0.05)))],
    ),
    "on a joint": gd.System(
        [bob((0, 0, -0.1), "arm")], [gd.Revolute("ground", "arm", at=(0, 0, 0), axis=(1, 0, 0))],
        rods=[hose(start=gd.Clamped("arm", at=(0, 0, 0.1)))],
    ),
    "on a fixed point": gd.System(
        [bob((0, 0, -0.1), "arm")], [gd.Spherical("ground", "arm", at=(0, 0, 0))],
        rods=[hose(a=(0, 0, -0.2), b=(0, 1, -0.2), start=gd.Clamped("arm", at=(0, 0, -0.1)))],
    ),
    "rods on rods": gd.System(
        rods=[hose("hose", start=CLAMPED), hose("twig", (0, 1, 0), (1, 1, 0), start=gd.Clamped("hose"))]
    ),
    "hinged on rods": gd.System(
        rods=[hose("hose", start=CLAMPED), hose("twig", (0, 1, 0), (1, 1, 0), start=gd.Hinged("hose"))]
    ),
    "loads": gd.System(
        rods=[hose(start=CLAMPED)],
        forces=[
            gd.RodLoad("hose", at=0.7, force=(0, 1.0, 3.0), follow=True),
            gd.RodLoad("hose", at=1.0, moment=lambda t: (0.1 * t, 0.05, 0)),
            gd.Drag("hose", coefficient=0.5),
            gd.Flow("hose", (0, 2, 1), coefficient=0.2),
            gd.Foundation("hose", stiffness=(10.0, 20.0, 30.0), damping=(1.0, 1.0, 2.0)),
        ],
    ),
    "turning frame": gd.System(
        [bob()], rods=[hose(**ON_BOB)], forces=[gd.RotatingFrame((0.5, 0, 4.0))], gravity=(0, 0, 0)
    ),
    "gravity over time": gd.System(
        [bob()], rods=[hose(**ON_BOB)], gravity=lambda t: (0, np.sin(9.0 * t), -9.81 * np.cos(3.0 * t))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SYSTEMS)
def test_order_two_against_a_tight_run(name):
    system, t_end = SYSTEMS[name], 0.05
    exact = gd.simulate(system, t_end, method="radau5", rtol=1e-10, output=[0.0, t_end])

    def errors(h):
        motion = run(system, t_end, h)
        return [
            np.abs(getattr(motion[rod.name], field)[-1] - getattr(exact[rod.name], field)[-1]).max()
            for rod in system.rods
            for field in ("positions", "velocities")
        ]

    coarse, fine = errors(2.5e-4), errors(1.25e-4)
    assert max(coarse) < 1e-3
    np.testing.assert_allclose(np.log2(np.divide(coarse, fine)), 2.0, atol=0.1)


@pytest.mark.parametrize("name", ["alone", "elements", "led", "two bodies", "inextensible", "rods on rods"])
def test_order_four(name):
    system, t_end = SYSTEMS[name], 0.1
    exact = gd.simulate(system, t_end, method="radau5", rtol=1e-12, output=[0.0, t_end])["hose"].positions[-1]
    errors = [np.abs(run(system, t_end, h, order=4)["hose"].positions[-1] - exact).max() for h in (2e-3, 1e-3)]
    assert errors[0] < 1e-6
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.2)


def test_order_four_of_a_top_keeps_its_energy_better():
    top = gd.Body("top", mass=1.0, inertia=(2e-3, 2e-3, 8e-4), position=(0, -0.02, 0.03), angular_velocity=(0, 0, 60.0))
    system = gd.System([top], [gd.Spherical("ground", "top", at=(0, 0, 0))])
    swings = [np.ptp(run(system, 1.0, h, order=4).energy.total) for h in (0.01, 0.005)]
    assert np.log2(swings[0] / swings[1]) == pytest.approx(4.0, abs=0.3)
    assert swings[1] < 0.02 * np.ptp(run(system, 1.0, 0.001).energy.total) * 25.0


# --- starts, files, results ---


@pytest.mark.parametrize("strain", ["cosserat", "inextensible"])
def test_a_system_at_rest_stays_there(strain):
    rest = gd.equilibrium(gd.System([bob()], rods=[hose(**ON_BOB, strain=strain)]))
    motion = run(rest, 0.5, 5e-3)
    np.testing.assert_allclose(motion["hose"].positions, motion["hose"].positions[:1].repeat(101, 0), atol=1e-9)
    np.testing.assert_allclose(motion["bob"].position[-1], rest["bob"].position, atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"order": 4}])
@pytest.mark.parametrize("name", ["led", "two bodies", "kirchhoff"])
def test_a_run_goes_on_bit_for_bit(name, options, tmp_path):
    system, path = SYSTEMS[name], tmp_path / "run.h5"
    whole = run(system, 0.2, 2e-3, **options)

    stepped = [
        compile_stepped(
            system, 2e-3, coordinates="quaternion", sigma="mean", potential="midpoint", conserving=False, reduce=True,
            order=options.get("order", 2),
        )
        for _ in range(2)
    ]  # fmt: skip
    first = stepped[0].core.run(stepped[0].start, 100, 0.2, [], None, False, 0, 30)
    stepped[1].core.load(stepped[0].core.save())
    second = stepped[1].core.run(stepped[1].start, 100, 0.2, [], None, False, 30, 100)
    rows = np.concatenate([first["rows"], second["rows"]])
    if name == "kirchhoff":  # the starts of others follow what moves their ends
        np.testing.assert_array_equal(stepped[0].states(whole.t, rows), whole.y)
    again = stepped[0].core.run(stepped[0].start, 100, 0.2, [], None, False)
    np.testing.assert_array_equal(again["rows"], rows)
    kept = run(system, 0.2, 2e-3, save=path, **options)
    np.testing.assert_array_equal(kept["hose"].positions, whole["hose"].positions)
    np.testing.assert_array_equal(gd.open(path, system=system)["hose"].positions, whole["hose"].positions)


def test_results_are_read_as_those_of_other_methods():
    system = SYSTEMS["damped"]
    motion = run(system, 0.3, 5e-4)
    other = gd.simulate(system, 0.3, method="radau5", rtol=1e-8, output=motion.t)
    for field in ("positions", "velocities", "force", "moment", "start_force", "start_moment", "end_force"):
        found, wanted = (getattr(m["hose"], field) for m in (motion, other))
        np.testing.assert_allclose(found, wanted, atol=5e-3 * np.abs(wanted).max(), err_msg=field)
    np.testing.assert_allclose(motion.energy.total, other.energy.total, atol=3e-3 * np.ptp(other.energy.total))
    np.testing.assert_allclose(motion(0.1)["hose"].positions, motion["hose"].positions[200], atol=1e-12)
    assert motion.midpoints.energy.shape == (600,)
    np.testing.assert_allclose(motion.midpoints.energy, 0.5 * (motion.energy.total[1:] + motion.energy.total[:-1]),
                               atol=1e-2 * np.ptp(motion.energy.total))  # fmt: skip
    assert motion.constraint.max() < 1e-14


def test_damping_takes_energy_and_no_momentum():
    motion = run(gd.System(rods=[hose(damping=gd.Damping(50.0, 50.0, 0.5, 0.5), velocity=lambda s: (s * s, 0, s))],
                           gravity=(0, 0, 0)), 2.0, 0.02)  # fmt: skip
    E = motion.energy.total
    assert np.diff(E).max() < 1e-4 * np.ptp(E)
    assert E[-1] < 0.995 * E[0]
    P, L = momenta(motion)
    np.testing.assert_allclose(P, P[:1].repeat(len(P), 0), atol=1e-11 * np.abs(P).max())
    np.testing.assert_allclose(L, L[:1].repeat(len(L), 0), atol=1e-11 * np.abs(L).max())


def test_a_turning_rod_is_not_strained():
    """A stiff rod that spins has the strains of that spin, however large the steps."""
    rod = hose(velocity=(0, 0, 0), angular_velocity=(0, 0, 0.1), segments=4)
    stiff = rod.with_(section=None, material=None, stiffness=(1e9, 1e9, 1e9, 1e6, 1e6, 1e6), density_per_length=1.0,
                      rotary_inertia=(0.1, 0.1, 0.1))  # fmt: skip
    motion = run(gd.System(rods=[stiff], gravity=(0, 0, 0)), 60.0, 2.0)
    assert np.abs(motion["hose"].strain).max() < 1e-9
    turn = motion["hose"].directors[-1, 0, :, 2]
    assert np.arctan2(-turn[0], turn[1]) == pytest.approx(6.0 - 2.0 * np.pi, abs=0.05)


# --- links between points ---


@both
@pytest.mark.parametrize("degree", [None, 3])
@pytest.mark.parametrize("hold", [gd.Hinged, gd.Clamped])
def test_links_with_dampers_take_no_momentum(degree, hold, coordinates):
    """A hose with a bob at its end and a free body, joined by all kinds of links."""
    rod = hose(a=(0, 0, 0), b=(0.6, 0, 0), degree=degree, end=hold("bob"))
    bodies = [
        bob(at=(0.62, 0, 0.05), angular_velocity=(1, 2, 0)),
        bob(at=(0.2, 0.3, 0), name="free", velocity=(0, 1, 0)),
    ]
    links = [
        gd.Cable("free", "hose", (0.01, 0, 0), (0.45, (0.01, 0.02)), stiffness=90.0, damping=0.5, length=0.2),
        gd.Cable("free", "bob", (0.01, 0, 0), (0, 0.02, 0), stiffness=90.0, damping=0.5, length=0.2),
        gd.Tendon("hose", [(0.0, (0.05, 0)), (0.4, (0, 0.05)), (1.0, (0.05, 0))], tension=lambda t: 2.0 + t),
        gd.SpringDamper("hose", "free", at_a=(1.0, (0, 0.02)), at_b=(0, 0.02, 0), stiffness=50.0, damping=0.4),
        gd.Bushing("hose", "free", at_a=(0.2, (0.01, 0.0)), stiffness=(5, 9, 14), damping=(0.1, 0.3, 0.2)),
        gd.Bushing("free", "hose", at_a=(0.1, 0, 0), at_b=(0.7, (0, 0.03)), stiffness=(6, 8, 3), damping=0.1),
    ]
    system = gd.System(bodies, rods=[rod], forces=links, gravity=(0, 0, 0))
    motion = run(system, 0.5, 2e-3, coordinates=coordinates)
    P, L = momenta(motion)
    np.testing.assert_allclose(P, P[:1].repeat(len(P), 0), rtol=0, atol=1e-11 * np.abs(P).max())
    np.testing.assert_allclose(L, L[:1].repeat(len(L), 0), rtol=0, atol=1e-11 * np.abs(L).max())
    assert np.abs(np.ptp(motion["bob"].velocity, axis=0)).max() > 0.1
    if coordinates == "directors":
        return
    # Of order two, seen on the body that links alone hold.
    tight = gd.simulate(system, 0.1, method="radau5", rtol=1e-9)["free"].position[-1]
    errors = [np.abs(run(system, 0.1, h)["free"].position[-1] - tight).max() for h in (5e-4, 2.5e-4)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


# --- refusals ---


def test_what_is_not_supported():
    rod, body = hose(start=CLAMPED), bob()
    with pytest.raises(ValueError, match=r"damping feeds energy in \(rod 'hose'\); use order = 2"):
        run(SYSTEMS["damped"], 1.0, 0.1, order=4)
    with pytest.raises(ValueError, match="order = 3 must be 2 or 4"):
        run(gd.System([body]), 1.0, 0.1, order=3)
    with pytest.raises(ValueError, match=r"sigma = 'hoose' is unknown.* 'hose'"):
        run(gd.System(rods=[rod]), 1.0, 0.1, sigma={"hoose": 1.0})
    with pytest.raises(ValueError, match="order = 4 belongs to method = 'variational'"):
        gd.simulate(gd.System([body]), 1.0, method="dopri5", order=4)


def test_steps_that_are_too_large_say_what_they_exceed():
    system = gd.System(rods=[hose(start=gd.Hinged("ground"), angular_velocity=(0, 0, 3.0))])
    with pytest.raises(gd.SimulationError, match=r"in the step of 0.01 s .*\(potential = 'nodes' needs steps below 2/"):
        run(system, 10.0, 0.01, potential="nodes")
    spun = gd.System(rods=[hose(angular_velocity=(0, 0, 200.0))])
    with pytest.raises(gd.SimulationError, match=r"(momentum|converge|half a turn).* in the step of 0.1 s from t = 0"):
        run(spun, 1.0, 0.1)
