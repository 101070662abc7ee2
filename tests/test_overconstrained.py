"""Loops that are redundant wherever they can be, and not beside: Bennett's, Bricard's and Sarrus' linkages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from linkages import INERTIA, Bennett, Bricard, legs, line_symmetric, of, ring
from mechanism_oracle import Oracle, path_of, start

import gyrod as gd
from gyrod import problems
from gyrod import rotations as ro
from gyrod.equations import compile_system

FORMULATIONS = ("nullspace-quaternion", "nullspace-directors", "absolute-quaternion", "absolute-directors")
#: Explicit and implicit methods, with tolerances that leave them a few hundred steps.
METHODS = {"dop853": 1e-9, "radau5": 1e-6, "rodas": 1e-5}
few = settings(max_examples=3)
bennetts = st.builds(
    lambda twist, share: Bennett(share / np.sin(twist), twist), st.floats(0.3, 1.2), st.floats(0.35, 0.95)
)
spins = st.floats(2.0, 6.0).flatmap(lambda w: st.sampled_from([w, -w]))


def gaps(motion):
    """The largest gap in any row of any joint, and of its rate, by a reference that knows no chosen rows."""
    path = path_of(motion, slice(None, None, max(1, len(motion.t) // 12)))
    return [np.abs(rows).max() for rows in Oracle.of(motion.system).gaps(path)]


def check_gaps(motion, position=1e-12, rate=1e-11):
    found = gaps(motion)
    assert found[0] < position
    assert found[1] < rate * max(1.0, *(np.abs(motion[b.name].Omega).max() for b in motion.system.bodies))


@pytest.mark.spread
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@few
@given(bennetts, st.floats(0.3, 2.8), spins)
def test_bennett(formulation, method, linkage, theta, spin):
    system = of(linkage.frames(theta), spin=spin, gravity=(0.0, 0.02, -0.03))
    motion = gd.simulate(system, 50.0 / abs(spin), formulation=formulation, method=method, rtol=METHODS[method])
    check_gaps(motion)
    first, second, third, fourth = linkage.angles(motion, theta)
    assert np.ptp(first) > 4.0 * np.pi  # it goes round
    half = [np.stack([np.cos(0.5 * a), np.sin(0.5 * a)]) for a in (first, second)]
    relation = half[0][1] * half[1][1] - linkage.product * half[0][0] * half[1][0]
    assert np.abs(relation).max() < 1e-9
    np.testing.assert_allclose(third, -first, atol=1e-9)
    np.testing.assert_allclose(fourth, -second, atol=1e-9)
    assert np.ptp(motion.energy.total) < 300.0 * METHODS[method] * motion.energy.kinetic.max()


@pytest.mark.spread(0)
@pytest.mark.parametrize("method", ["dop853", "rodas"])
@pytest.mark.parametrize("formulation", FORMULATIONS)
@few
@given(st.floats(1.15, 1.95), st.floats(-3.0, 3.0), spins)
def test_bricard(formulation, method, alpha, theta, spin):
    """Threefold symmetric, of any twist; the orthogonal one among them. It turns through itself."""
    linkage = Bricard(alpha)
    phi = linkage.other(theta)
    assume(phi is not None)
    system = of(linkage.frames(theta), spin=0.5 * spin, gravity=(0.0, 0.0, 0.0))
    assert (system.mobility().freedoms, system.mobility().redundant) == (1, 1)
    motion = gd.simulate(system, 3.0, formulation=formulation, method=method, rtol=METHODS[method])
    check_gaps(motion)
    angles = [s + motion[f"h{i}"].coordinates[:, 0] for i, s in enumerate((theta, phi) * 3)]
    assert np.ptp(angles[0]) > 0.5
    np.testing.assert_allclose(linkage.relation(angles[0], angles[1]), 0.0, atol=1e-9)


@pytest.mark.spread(0)
@pytest.mark.parametrize("method", ["dop853", "radau5"])
@pytest.mark.parametrize("formulation", FORMULATIONS)
@few
@given(st.integers(0, 10**6))
def test_line_symmetric(formulation, method, seed):
    """Opposite hinges turn alike."""
    system = ring(*line_symmetric(seed), spin=1.0, gravity=(0.0, 0.0, -1.0))
    assume(max(np.abs(b.velocity).max() for b in system.bodies) < 30.0)
    assert (system.mobility().freedoms, system.mobility().redundant) == (1, 1)
    motion = gd.simulate(system, 2.0, formulation=formulation, method=method, rtol=METHODS[method])
    check_gaps(motion)
    for i in range(3):
        here, there = (motion[f"h{k}"].coordinates for k in (i, i + 3))
        np.testing.assert_allclose(here, there, atol=1e-9 * max(1.0, np.abs(here).max()))


@pytest.mark.spread(0)
@pytest.mark.parametrize(("count", "redundant"), [(2, 1), (3, 4), (4, 7)])
@pytest.mark.parametrize("method", ["dop853", "rodas"])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_sarrus(formulation, method, count, redundant):
    """Redundant across several loops. Weight drives the platform, straight down."""
    system = legs(count, 1.2)
    assert (system.mobility().freedoms, system.mobility().redundant) == (1, redundant)
    motion = gd.simulate(system, 2.5, formulation=formulation, method=method, rtol=METHODS[method])
    check_gaps(motion, 1e-10, 1e-6)  # rows let go where it lies flat
    x, knee = motion["top"].position, motion["a0"].coordinates[:, 0]
    np.testing.assert_allclose(motion["top"].matrix, np.broadcast_to(np.eye(3), (len(x), 3, 3)), atol=1e-9)
    np.testing.assert_allclose(x[:, :2], 0.0, atol=1e-9)
    np.testing.assert_allclose(x[:, 2], 2.0 * np.sin(1.2 - knee), atol=1e-9)
    assert np.ptp(knee) > 1.2  # it passes the plane of its feet, where branches meet


@few
@given(bennetts, st.floats(0.3, 2.8), st.floats(0.5, 2.0))
def test_driven(linkage, theta, rate):
    """Round and round, at the place where the closed form says; without freedom nothing else tells rows apart."""
    drive = (lambda t: rate * t, lambda t: rate, lambda t: 0.0)
    system = of(linkage.frames(theta), spin=rate, drive=drive)
    assert (system.mobility().freedoms, system.mobility().redundant) == (0, 3)
    for formulation in FORMULATIONS:
        motion = gd.simulate(system, 10.0, formulation=formulation, method="dop853", rtol=1e-10)
        check_gaps(motion)
        for k in (len(motion.t) // 2, -1):
            frames = linkage.frames(theta + rate * motion.t[k])
            for i in (1, 2, 3):
                x = 0.5 * (frames[i - 1][:3, 3] + frames[i][:3, 3])
                np.testing.assert_allclose(motion[f"l{i}"].position[k], x, atol=1e-9)


@pytest.mark.spread(0)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@settings(max_examples=10)
@given(st.one_of(
    st.builds(lambda b, theta: of(b.frames(theta), spin=2.3), bennetts, st.floats(0.3, 2.8)),
    st.integers(0, 10**6).map(lambda seed: ring(*line_symmetric(seed), spin=0.7)),
))  # fmt: skip
def test_jacobians(formulation, system):
    """Derivatives of the chosen combinations drop out where the loops are closed: against differences."""
    c = compile_system(system, formulation)
    assume(np.abs(c.y0).max() < 30.0)
    J, h = np.asarray(c.core.jacobian(0.0, c.y0)), 1e-4
    for i in range(len(c.y0)):
        f = [c.core.rhs(0.0, c.y0 + k * h * np.eye(len(c.y0))[i]) for k in (-2, -1, 1, 2)]
        np.testing.assert_allclose(
            J[:, i], (f[0] - 8.0 * f[1] + 8.0 * f[2] - f[3]) / (12.0 * h), atol=1e-6 * np.abs(J).max()
        )


# --- how many rows ---------------------------------------------------------------------------------------------------


def counts(system):
    found = system.mobility()
    return found.freedoms, found.redundant


@pytest.mark.parametrize("theta", [1.9, 1e-9, np.pi, -2.0])
def test_bennett_counts_from_any_start(theta):
    assert counts(of(Bennett(2.0, 0.4).frames(theta))) == (1, 3)


def test_singular_starts_are_told_from_overconstrained_ones():
    """Flat, the rank is lower than on the way; a parallelogram and a platform are not redundant beside their loops."""
    assert counts(legs(2, 1e-13)) == (1, 1)
    points = [np.array(p, dtype=float) for p in ((0, 0, 0), (1, 0, 0), (3, 0, 0), (2, 0, 0))]
    assert counts(ring(points, [(0, 0, 1)] * 4)) == (1, 3)
    flat = compile_system(ring(points, [(0, 0, 1)] * 4))
    assert not flat.mechanism.overconstrained
    assert compile_system(of(Bennett(2.0, 0.4).frames(1.9))).mechanism.overconstrained


def doubled():
    """Bennett's linkage with one of its hinges twice."""
    system = of(Bennett(2.0, 0.4).frames(1.9), spin=3.0)
    hinge = system.joints[2]
    far = np.asarray(hinge.at) + 0.7 * np.asarray(hinge.axis)
    again = gd.Revolute(hinge.a, hinge.b, at=far, axis=hinge.axis, name="again")
    return gd.System(system.bodies, [*system.joints, again])


def nested():
    """A linkage on a link of another one."""
    outer, inner = of(Bennett(2.0, 0.4).frames(1.9)), of(Bennett(1.3, 0.7).frames(1.0))
    shift, name = np.array([0.3, 0.2, 0.5]), {"ground": "l1"} | {b.name: f"inner {b.name}" for b in inner.bodies}
    bodies = [b.with_(name=name[b.name], position=b.position + shift) for b in inner.bodies]
    joints = [gd.Revolute(name[j.a], name[j.b], at=j.at + shift, axis=j.axis) for j in inner.joints]
    return gd.System([*outer.bodies, *bodies], [*outer.joints, *joints])


@pytest.mark.spread(0)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(("make", "expected"), [(doubled, (1, 8)), (nested, (2, 6))])
def test_several_loops(make, expected, formulation):
    system = make()
    assert counts(system) == expected
    for method in ("dop853", "rodas"):
        motion = gd.simulate(system, 2.0, formulation=formulation, method=method, rtol=METHODS[method])
        check_gaps(motion)
        assert np.ptp(motion.energy.total) < 300.0 * METHODS[method] * motion.energy.kinetic.max()


def scattered(system, size=0.02):
    """The same joints in bodies that are not quite where they should be."""
    rng, joints = np.random.default_rng(0), []
    for j in system.joints:
        at = system.attachment(j)
        axes = {"axis_a": at.frame_a[:, 2], "axis_b": at.frame_b[:, 2]}
        joints.append(gd.Revolute(j.a, j.b, at_a=at.at_a, at_b=at.at_b, **axes, name=j.name))
    bodies = [
        b.with_(position=b.position + size * rng.normal(size=3),
                orientation=ro.multiply(b.orientation, ro.exp(size * rng.normal(size=3))))
        for b in system.bodies
    ]  # fmt: skip
    return gd.System(bodies, joints, gravity=system.gravity)


@pytest.mark.parametrize(
    "system",
    [of(Bennett(2.0, 0.4).frames(1.9), spin=1.0), of(Bricard(1.3).frames(1.0), spin=1.0), legs(3, 0.7),
     ring(*line_symmetric(1), spin=1.0)],
    ids=["bennett", "bricard", "sarrus", "line"],
)  # fmt: skip
def test_assembled(system):
    loose = scattered(system)
    assert counts(loose) == counts(system)
    mended = gd.assemble(loose)
    assert max(np.abs(rows).max() for rows in Oracle.of(mended).gaps(start(mended))) < 1e-12
    check_gaps(gd.simulate(mended, 1.0, rtol=1e-8))


# --- at rest ---------------------------------------------------------------------------------------------------------


def test_rest_and_frequency():
    """One freedom, of which the closed form knows energy and inertia."""
    linkage, theta, k = Bennett(1.7, 0.5), 1.9, 30.0
    system = of(linkage.frames(theta), stiffness=k)

    def links(angle):
        frames, first = linkage.frames(angle), linkage.frames(theta)
        x = np.array([0.5 * (frames[i - 1][:3, 3] + frames[i][:3, 3]) for i in (1, 2, 3)])
        return x, np.array([frames[i][:3, :3] @ first[i][:3, :3].T for i in (1, 2, 3)])

    def energy(angle):
        return 9.81 * links(angle)[0][:, 2].sum() + 0.5 * k * (angle - theta) ** 2

    rest = gd.equilibrium(system)
    angle, h = theta + float(rest["h0"].coordinates[0]), 1e-3
    assert abs(angle - theta) > 0.02
    at = {i: energy(angle + i * h) for i in (-2, -1, 0, 1, 2)}
    slope = (at[-2] - 8.0 * at[-1] + 8.0 * at[1] - at[2]) / (12.0 * h)
    assert abs(slope) < 1e-9 * k
    assert max(np.abs(rows).max() for rows in Oracle.of(rest.system).gaps(start(gd.System(
        [b.with_(position=rest[b.name].position, orientation=rest[b.name].matrix) for b in system.bodies],
        system.joints, attachments=tuple(system.attachment(j) for j in system.joints),
    )))) < 1e-12  # fmt: skip
    curvature = (-at[-2] + 16.0 * at[-1] - 30.0 * at[0] + 16.0 * at[1] - at[2]) / (12.0 * h * h)
    (before, R0), (after, R1) = links(angle - h), links(angle + h)
    Omega = np.array([ro.log(ro.quaternion_from_matrix(a.T @ b)) for a, b in zip(R0, R1, strict=True)]) / (2.0 * h)
    v = (after - before) / (2.0 * h)
    inertia = (v**2).sum() + (np.array(INERTIA) * Omega**2).sum()
    frequency = gd.modes(rest, n=1).frequencies[0]
    assert frequency == pytest.approx(np.sqrt(curvature / inertia) / (2.0 * np.pi), rel=1e-5)


def test_other_equations_keep_rows_of_the_start():
    """Equations with multipliers as unknowns hold the rows that are independent at the start."""
    system = problems.get("bennett").system
    trusted = gd.simulate(system, 0.5, method="dop853", rtol=1e-10, output=[0.5])["long"].position[-1]
    for parts in ({"index": 1}, {"index": 2}, {"null_space": "qr"}):
        form = gd.Formulation("absolute-quaternion", **parts)
        motion = gd.simulate(system, 0.5, formulation=form, method="radau5", rtol=1e-8, output=[0.5])
        np.testing.assert_allclose(motion["long"].position[-1], trusted, atol=1e-5)
