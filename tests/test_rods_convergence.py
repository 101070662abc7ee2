"""Rods at rest: second order in the number of segments, for every curvature, section, load and grid."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import gyrod as gd
from gyrod import rotations as ro
from gyrod.equations import compile_system
from gyrod.model import CURVATURES

DATA = json.loads((Path(__file__).parent / "data" / "lang_linn_arnold_2011.json").read_text())
STATIC = DATA["static"]
NUMBERS = (10, 20, 40, 80)

SECTION, RUBBER = gd.Circle(radius=5e-3), gd.Material(young=5e6, poisson=0.5, density=1100.0)
(GA, _, EA, EI, _, GJ) = np.diag(gd.Rod("rod", 1.0, 2, SECTION, RUBBER).stiffness_at([0.5])[0])
ALONG_Y = gd.Straight((0, 0, 0), (0, 1, 0))


# --- equilibria ------------------------------------------------------------------------------------------------------


def newton(compiled, y, t=0.0, shift=1e-3):
    """Accelerations = 0 by Newton on (x, p) with the core's own elimination; None if it does not converge.

    (shift - df/dy) d = f with v = 0 is the Newton step but for shift² against the squared frequencies.
    """
    still = np.array([kind in ("velocity", "spin") for kind in compiled.kinds])
    last = np.inf
    for _ in range(40):
        y[still] = 0.0
        try:
            d = compiled.core.solve_shifted(t, y, shift, compiled.core.rhs(t, y))
        except ValueError:  # singular on the way
            return None
        size = np.abs(d[~still]).max()
        if not size < 1e3:
            return None
        y = compiled.core.project(y + d)
        if size < 1e-13 or (size < 1e-8 and size > 0.3 * last):
            y[still] = 0.0
            return y
        last = size
    return None


def equilibrium(build, steps):
    """Equilibrium of build(1) from that of build(0), by as many load steps as it takes."""
    load, step, y = 0.0, 1.0 / steps, None
    while load < 1.0:
        compiled = compile_system(build(min(1.0, load + step)))
        found = newton(compiled, np.array(compiled.y0 if y is None else y))
        if found is None:
            step /= 2.0
            assert step > 1e-4, "no equilibrium"
        else:
            y, load = found, min(1.0, load + step)
    return compiled, y


def rest(build, steps=4):
    """What the core says about the rod there."""
    compiled, y = equilibrium(build, steps)
    return {key: value[0] for key, value in compiled.rod_states(np.zeros(1), y)[0].items()}


def cantilever(N, load, *, factor=1.0, grid=None, **options):
    """A rod clamped at its start under a share of a load, and of its precurvature and prestrain."""
    given = {"initial": ALONG_Y, "section": SECTION, "material": RUBBER, "start": gd.Clamped(), **options}
    for field in ("precurvature", "prestrain"):
        if field in given:
            given[field] = lambda s, f=given[field]: factor * np.array(f(s) if callable(f) else f)
    if "stiffness" in given:
        given |= {"section": None, "material": None, "density_per_length": 1.0, "rotary_inertia": (1.0, 1.0, 1.0)}
    rod = gd.Rod("rod", segments=None if grid is not None else N, grid=None if grid is None else grid(N), **given)
    scaled = {k: factor * np.array(v) if k in ("force", "moment") else v for k, v in load.items()}
    return gd.System(rods=[rod], forces=[gd.RodLoad("rod", **scaled)], gravity=(0, 0, 0))


def tips(load, numbers=NUMBERS, *, steps=4, **options):
    return np.array(
        [
            rest(lambda factor, N=N: cantilever(N, load, factor=factor, **options), steps)["positions"][-1]
            for N in numbers
        ]
    )


def orders(errors):
    """Observed between successive doublings."""
    return np.log2(np.asarray(errors)[:-1] / np.asarray(errors)[1:])


def self_orders(points):
    """The same from differences, where no exact value is known."""
    return orders(np.linalg.norm(np.diff(points, axis=0), axis=1))


# --- every curvature, against the trusted errors ---------------------------------------------------------------------

CASES = {
    "rollup half circle": ({"moment": (np.pi * EI, 0, 0)}, (0, 0, 2 / np.pi)),
    "rollup full circle": ({"moment": (2 * np.pi * EI, 0, 0)}, (0, 0, 0)),
    "large tip load": ({"force": (0, 0, -4 * EI)}, STATIC["large tip load exact"]),
}


@pytest.mark.spread
@pytest.mark.parametrize("law", CURVATURES)
@pytest.mark.parametrize("name", CASES)
def test_bending(name, law):
    load, exact = CASES[name]
    found = tips(load, steps=8, curvature=law)
    errors = np.linalg.norm(found - exact, axis=1)
    trusted = STATIC[name][law]
    assert found[0] == pytest.approx(np.array(trusted["tip_N10"]), rel=1e-6, abs=1e-12)
    if (name, law) == ("rollup full circle", "angle"):
        assert errors.max() < 1e-12
        return
    assert errors == pytest.approx(trusted["err"][:4], rel=1e-6)
    assert orders(errors[1:]) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("law", CURVATURES)
def test_small_tip_load(law):
    F = 1e-7
    exact = F / (3 * EI) + F / GA
    errors = -tips({"force": (0, 0, -F)}, steps=1, curvature=law)[:, 2] / exact - 1.0
    assert errors == pytest.approx(STATIC["tip load"][law]["relerr"][:4], rel=1e-6)
    assert orders(errors) == pytest.approx(2.0, abs=0.001)
    assert errors[0] < 0.01  # the clamp is where the user put it: half an element would be 15 %


@pytest.mark.parametrize("law", CURVATURES)
def test_twist_and_stretch(law):
    errors, stretches = [], []
    for N in NUMBERS:
        load = {"moment": (0, np.pi / 2 * GJ, 0), "force": (0, 0.1 * EA, 0)}
        found = rest(lambda factor, N=N, load=load: cantilever(N, load, factor=factor, curvature=law))
        d1 = ro.matrix_from_quaternion(found["quaternions"][-1])[:, 0]
        errors.append(abs(np.arctan2(d1[0], d1[2]) - np.pi / 2 * (1 - 0.5 / N)))
        stretches.append(np.linalg.norm(found["positions"][-1] - (0, 1.1, 0)))
    assert max(stretches) < 1e-14
    if law == "angle":
        assert max(errors) < 1e-12
        return
    assert errors == pytest.approx(STATIC["twist+stretch"][law]["twist_angle_err"][:4], rel=1e-6)
    assert orders(errors[1:]) == pytest.approx(2.0, abs=0.1)


# --- public benchmarks -----------------------------------------------------------------------------------------------

#: P L²/EI: deflection, shortening of an inextensible, unshearable cantilever.
ELASTICA = {
    1: (0.30172077379981, 0.056433236283377),
    2: (0.49345748039671, 0.16064172082517),
    5: (0.71379152361191, 0.38762836072443),
    10: (0.8106090248803, 0.55499559775375),
}
#: Without shear and stretch to nine digits.
STIFF = {"stiffness": (1e9, 1e9, 1e9, 1.0, 1.0, 1.0)}


@pytest.mark.parametrize("a", ELASTICA)
def test_elastica(a):
    w, u = ELASTICA[a]
    found = tips({"force": (0, 0, -a)}, **STIFF)
    errors = np.linalg.norm(found - (0, 1 - u, -w), axis=1)
    assert orders(errors) == pytest.approx(2.0, abs=0.05)
    assert errors[0] < 0.01
    # Richardson: what is left is the shear and stretch of 1e-9 and terms of fourth order.
    best = (4 * found[-1] - found[-2]) / 3
    assert np.abs(best - (0, 1 - u, -w)).max() < 2e-7


ARC = gd.Arc((0, 0, 0), (1, 0, 0), (0, 1, 0), radius=100.0, angle=np.pi / 4)
BEND = {"initial": ARC, "stiffness": (5e6, 5e6, 1e7, 1e7 / 12, 1e7 / 12, 5e6 / 6)}
BEND_TIPS = {300: (58.77912249, 22.24478095, 40.19189167), 600: (47.15043857, 15.68480053, 53.47485879)}


@pytest.mark.spread
@pytest.mark.parametrize("law", CURVATURES)
@pytest.mark.parametrize("force", BEND_TIPS)
def test_bend_of_45_degrees(force, law):
    errors = np.linalg.norm(tips({"force": (0, 0, force)}, steps=8, curvature=law, **BEND) - BEND_TIPS[force], axis=1)
    assert orders(errors[1:]) == pytest.approx(2.0, abs=0.05)
    assert errors[-1] < 0.01


# --- loads, sections, rest shapes ------------------------------------------------------------------------------------


def coupled_stiffness():
    A = np.random.default_rng(5).normal(size=(6, 6))
    scale = np.sqrt([30.0, 40.0, 50.0, 1.0, 1.2, 0.8])
    return scale[:, None] * (np.eye(6) + 0.12 * (A + A.T)) * scale


OBLIQUE = {"force": (1.5, 1.0, -1.0)}
OTHERS = {
    "dead moment": ({"moment": (2 * EI, EI, EI)}, {}),
    "dead moment in the middle": ({"at": 0.5, "moment": (2 * EI, 0, EI)}, {}),
    "dead force in the middle": ({"at": 0.5, "force": (2 * EI, 0, EI)}, {}),
    "follower": ({"force": (2 * EI, 0, 0), "follow": True}, {}),
    "follower in the middle": ({"at": 0.5, "force": (2 * EI, 0, 0), "follow": True}, {}),
    "follower on a helix": (
        {"force": (EI, EI, 0), "follow": True},
        {"initial": gd.Bent((2.0, 0.0, 1.5)), "length": 1.0},
    ),
    "spread": ({"span": (0, 1), "force": (5 * EI, 0, 3 * EI)}, {}),
    "spread over a part": ({"span": (0.2, 0.8), "force": (5 * EI, 0, 3 * EI), "moment": (EI, 0, 0)}, {}),
    "spread, following": (
        {"span": (0, 1), "force": (5 * EI, 0, 3 * EI), "moment": (EI, 0, 0), "follow": True},
        {},
    ),
    "profile": ({"span": (0, 1), "force": (5 * EI, 0, 0), "profile": lambda s: np.sin(3 * s)}, {}),
    "tapered": ({"force": (0, 0, -EI)}, {"section": gd.Circle(radius=lambda s: 5e-3 * (1.2 - 0.5 * s))}),
    "stretch": (OBLIQUE, {"strain": "stretch", "stiffness": (30, 40, 50, 1, 1.2, 0.8)}),
    "coupled": (OBLIQUE, {"stiffness": coupled_stiffness()}),
    "coupled, tapered": (OBLIQUE, {"stiffness": lambda s: coupled_stiffness() * (1.3 - 0.6 * s)}),
    "coupled, precurved": (OBLIQUE, {"stiffness": coupled_stiffness(), "precurvature": (0.3, 0.3, 0.3)}),
    "precurved": ({"force": (0, 0, -EI)}, {"precurvature": lambda s: (s, 0.5 * np.sin(3 * s), 1.0)}),
    "prestrained": ({"force": (0, 0, -EI)}, {"prestrain": lambda s: (0.1 * s, 0.1, 0.2 * s)}),
    "helix": (
        {"force": (0, 0, -EI)},
        {"initial": gd.Bent((2.0, 0.0, 1.5)), "length": 1.0},
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_second_order(name):
    load, options = OTHERS[name]
    points = tips(load, (20, 40, 80, 160), steps=2, **options)
    assert self_orders(points) == pytest.approx(2.0, abs=0.12)


def test_order_with_both_ends_held():
    """A coupled rod between a clamp and a hinge, under a spread load; its middle."""
    load = {"span": (0, 1), "force": (3, 3, -3)}
    options = {"stiffness": coupled_stiffness(), "end": gd.Hinged()}
    points = [
        rest(lambda factor, N=N: cantilever(N, load, factor=factor, **options))["positions"][N // 2]
        for N in (20, 40, 80, 160)
    ]
    assert self_orders(points) == pytest.approx(2.0, abs=0.1)


# --- grids -----------------------------------------------------------------------------------------------------------


def uneven(steps):
    s = np.concatenate([[0.0], np.cumsum(steps)])
    return np.append(s[:-1] / s[-1], 1.0)


#: Neighbours of nearly equal length, of lengths 1 and 2 in turn, a jump in the middle, and any lengths.
GRIDS = {
    "refined": lambda N: np.linspace(0, 1, N + 1) ** 2,
    "wavy": lambda N: uneven(1 + 0.75 * np.cos(2 * np.pi * (np.arange(N) + 0.5) / N)),
    "alternating": lambda N: uneven(np.tile([1.0, 2.0], N // 2)),
    "jump": lambda N: np.concatenate([np.linspace(0, 0.3, N // 2 + 1), np.linspace(0.3, 1, N // 2 + 1)[1:]]),
    "random": lambda N: uneven(np.random.default_rng(N).uniform(0.5, 1.5, N)),
}


@pytest.mark.spread
@pytest.mark.parametrize("law", ["angle", "tangent"])
@pytest.mark.parametrize("name", GRIDS)
def test_order_on_uneven_grids(name, law):
    """Second order as well: on smooth grids as on even ones, on rough ones with another constant at each N."""
    load, exact = CASES["large tip load"]
    bend = {"curvature": law, "grid": GRIDS[name], "steps": 8}
    errors = {
        "tip load": np.linalg.norm(tips(load, grid=GRIDS[name], curvature=law) - exact, axis=1),
        "bend": np.linalg.norm(tips({"force": (0, 0, 300)}, **bend, **BEND) - BEND_TIPS[300], axis=1) / 100,
    }
    for case, e in errors.items():
        if name == "random":
            assert (e * np.square(NUMBERS) < 0.6).all(), case
        else:
            assert orders(e[1:]) == pytest.approx(2.0, abs=0.1), case


# --- Test 2 ----------------------------------------------------------------------------------------------------------


def between(t, q0, q1):
    """Spherical interpolation of the paper, between quaternions as they are: the sign of q1 tells the way round."""
    theta = np.arccos(q0 @ q1)
    return (np.sin((1 - t) * theta) * q0 + np.sin(t * theta) * q1) / np.sin(theta)


def test_quasistatic_comparison_of_the_paper():
    """Test 2: both clamps are pushed together and turned by half a turn in opposite senses; p_0 = -p_N at the end."""
    first, last = np.array([1, -1, -1, -1]) / 2, np.array([1, -1, 1, 1]) / 2
    start = gd.Clamped(at=lambda t: (0, 0.5 * t, 0), frame=lambda t: between(t, first, last))
    end = gd.Clamped(at=lambda t: (0, 1 - 0.5 * t, 0), frame=lambda t: between(t, first, -last))

    def system(factor, *ends):
        rod = gd.Rod("rod", 1.0, 10, SECTION, RUBBER, *ends, initial=ALONG_Y, curvature="half-sine")
        return gd.System(rods=[rod], gravity=(0, 0, -9.81 * factor))

    _, y = equilibrium(lambda factor: system(factor, gd.Clamped(), gd.Clamped()), 100)
    compiled, t, step = compile_system(system(1.0, start, end)), 0.0, 0.04
    for target, trusted in DATA["test2"].items():
        while t < float(target):
            found = newton(compiled, y.copy(), min(t + step, float(target)))
            if found is None:
                step /= 2
                assert step > 1e-4
                continue
            y, t, step = found, min(t + step, float(target)), 0.04
        x = compiled.rod_states(np.array([t]), y)[0]["positions"][0]
        assert x[:6] == pytest.approx(np.array(trusted), abs=1e-9)
        assert x[::-1] == pytest.approx(np.array([0, 1, 0]) + x * [-1, -1, 1], abs=1e-9)  # half a turn about z
