"""Limits of joints and rods are watched by the core: at the same places and times as by functions of the motion."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gyrod as gd
from gyrod.equations import compile_system
from gyrod.solve.limits import find_limits

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)
JOINTS = {
    "revolute": lambda **how: gd.Revolute("ground", "b", at=(0, 0, 0), axis=(0, 1, 0.2), **how),
    "prismatic": lambda **how: gd.Prismatic("ground", "b", at=(0, 0, 0), axis=(0.3, 1, 0.2), **how),
    "helical": lambda **how: gd.Helical("ground", "b", at=(0, 0, 0), axis=(0, 0.5, 1), pitch=0.2, **how),
}


def swing(kind: str, **how) -> gd.System:
    inertia = [[0.2, 0.02, 0.0], [0.02, 0.25, 0.01], [0.0, 0.01, 0.15]]
    body = gd.Body("b", mass=2.0, inertia=inertia, position=(0.4, 0.1, -0.2))
    return gd.System([body], [JOINTS[kind](stiffness=30.0, name="j", **how)])


def watched(side: int, edge: float) -> gd.Event:
    return gd.Event(lambda _t, m: m["j"].coordinates[0] - edge, terminal=True, direction=side)


@pytest.mark.spread
@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize(
    ("method", "formulation"),
    [("dopri5", "nullspace-quaternion"), ("dop853", "absolute-directors"), ("radau5", "absolute-quaternion"),
     ("odex", "nullspace-directors"), ("rodas", "nullspace-quaternion"), ("seulex", "nullspace-quaternion")],
)  # fmt: skip
def test_a_limit_ends_a_run_where_an_event_does(kind, method, formulation):
    free = gd.simulate(swing(kind), 2.0)["j"].coordinates[:, 0]
    side = 1 if free.max() > -free.min() else -1
    edge = 0.8 * (free.max() if side > 0 else free.min())
    limits = (None, edge) if side > 0 else (edge, None)
    options = {"method": method, "formulation": formulation, "rtol": 1e-5, "dense": False}
    limited = gd.simulate(swing(kind, limits=limits), 2.0, **options)
    event = gd.simulate(swing(kind), 2.0, events=[watched(side, edge + side * 1e-9)], **options)
    assert (limited.status, event.status) == ("event", "event")
    assert limited.events[0].name == f"{'upper' if side > 0 else 'lower'} limit of {kind.title()} 'j'"
    assert_allclose(limited.t[-1], event.t[-1], rtol=0, atol=1e-12)
    assert_allclose(limited.y[-1], event.y[-1], rtol=0, atol=1e-10)


@pytest.mark.parametrize(("method", "h"), [("dopri5", 0.14), ("dop853", 0.25), ("radau5", 0.14)])
@pytest.mark.parametrize("phase", [0.1, 0.35, 0.65, 0.9])
def test_a_limit_that_is_passed_and_left_again_inside_of_a_step_is_found(method, h, phase):
    """A slider swings with 8 rad/s: with such steps, some begin and end inside of a limit that lies between."""
    start = {"position": (np.sin(6.28 * phase), 0, 0), "velocity": (8.0 * np.cos(6.28 * phase), 0, 0)}
    body = gd.Body("b", mass=1.0, inertia=(1, 1, 1), **start)

    def slider(**how):
        joint = gd.Prismatic(
            "ground", "b", at_a=(0, 0, 0), at_b=(0, 0, 0), axis=(1, 0, 0), stiffness=64.0, name="j", **how
        )
        return gd.System([body], [joint], gravity=(0, 0, 0))

    options = {"method": method, "step": h, "dense": False}
    for edge in (0.99, 0.8):
        if start["position"][0] > edge:
            continue
        event = gd.simulate(slider(), 10 * h, events=[watched(1, edge + 1e-9)], **options)
        limited = gd.simulate(slider(limits=(None, edge)), 10 * h, **options)
        assert (limited.status, limited.stats.steps) == (event.status, event.stats.steps)
        assert_allclose(limited.t[-1], event.t[-1], rtol=0, atol=1e-11)


def rods(elements: bool, hosted: bool) -> gd.System:
    bob = gd.Body("bob", mass=0.05, inertia=(1e-5, 2e-5, 1e-5), position=(0, 0.3, -0.02))
    end = gd.Clamped("bob", at=(0, 0, 0.02)) if hosted else gd.Free()
    mesh = {"segments": 3, "degree": 3} if elements else {"segments": 7}
    shape = {"length": 0.3, "section": gd.Rectangle(width=0.01, height=lambda s: 0.008 - 0.003 * s), "material": RUBBER}
    rod = gd.Rod(
        "rod", **shape, **mesh, start=gd.Clamped(), end=end, initial=gd.Straight((0, 0, 0), (0, 0.3, 0)),
        damping=gd.Damping(factor=1e-3), limits={"bend_radius": 0.02, "stress": 4e6},
    )  # fmt: skip
    ring = gd.Ring(radius=0.006, inner=0.004)
    other = gd.Rod(
        "other", section=ring, material=RUBBER, **mesh, start=gd.Hinged(),
        initial=gd.Straight((0.5, 0, 0), (0.5, 0.1, -0.17)),
        limits={"stress": 1e6}, end=gd.Free(),
    )  # fmt: skip
    return gd.System([bob] if hosted else [], rods=[rod, other])


@pytest.mark.parametrize("elements", [False, True])
@pytest.mark.parametrize("hosted", [False, True])
def test_rods_are_used_as_much_as_their_motion_says(elements, hosted):
    system = rods(elements, hosted)
    motion = gd.simulate(system, 0.05, method="radau5", rtol=1e-4, output=[0.0, 0.01, 0.03, 0.05])
    core = find_limits(motion.compiled).core
    found = np.array([core.values(t, y) for t, y in zip(motion.t, motion.y, strict=True)]) + 1.0
    with np.errstate(divide="ignore"):
        bend = 0.02 / motion["rod"].bend_radius.min(axis=1)
    wanted = np.stack([bend, motion.stress("rod").max(axis=1) / 4e6, motion.stress("other").max(axis=1) / 1e6], axis=1)
    assert wanted[-1, :2].min() > 0.01
    assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * wanted.max())


def test_limits_call_no_python():
    sim = gd.stepper(swing("revolute", limits=(-3.0, 3.0)))
    sim.step(0.1)
    assert not sim._python
    assert not compile_system(rods(False, True)).python
