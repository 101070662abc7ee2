"""Bad input to simulations of rods: folding, ends and loads that return nonsense, what does not serve rods."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gyrod as gd
from gyrod import rotations as ro

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100.0)
FRAME = np.array([0.5, -0.5, -0.5, -0.5])  # of a rod along y


def hose(N=4, **options):
    given = {"start": gd.Clamped(), "initial": gd.Straight((0, 0, 0), (0, 1, 0)), "curvature": "angle", **options}
    return gd.Rod("hose", 1.0, N, gd.Circle(radius=5e-3), RUBBER, **given)


def system(rod=None, *forces, gravity=(0, 0, 0)):
    return gd.System(rods=[rod or hose()], forces=list(forces), gravity=gravity)


def check_kept(error, earliest, latest):
    """The motion up to the failure is there, and it is finite."""
    assert earliest <= error.time <= latest
    assert error.motion.t[-1] == error.time
    assert len(error.motion.t) > 1 or error.time == 0.0
    assert np.isfinite(error.motion.y).all()
    assert np.isfinite(error.motion["hose"].positions).all()
    assert np.isfinite(error.state).all()


# --- folding ---------------------------------------------------------------------------------------------------------

FOLDS = re.compile(
    r"at t = (?P<t>[\d.]+) rod 'hose' folds at s = (?P<s>[\d.]+): neighbouring frames turn by (?P<angle>\d+) "
    r"degrees, more than its curvature can represent; use more segments or another curvature\."
)


def fold(rod, *forces, t_end=1.0, rtol=1e-4, **options):
    with pytest.raises(gd.SimulationError) as caught:
        gd.simulate(system(rod, *forces), t_end, rtol=rtol, **options)
    match = FOLDS.fullmatch(str(caught.value))
    assert match, str(caught.value)
    assert float(match["t"]) == pytest.approx(caught.value.time, rel=1e-9)
    return caught.value, float(match["s"]), float(match["angle"])


EXPLICIT = [name for name, method in gd.METHODS.items() if not method.stiff]
GROWING = gd.RodLoad("hose", moment=lambda t: (0.5 * t, 0, 0))


# Explicit methods take long, and meet the same sentence of the same right-hand side in either formulation. Of directors
# and angles the sign of a quaternion is chosen next to that of the neighbour: a turn of 190 degrees is one of 170, and
# only short steps see that it was passed. Angles are at their lock before.
@pytest.mark.parametrize(
    ("method", "formulation"),
    [
        pytest.param(m, f, marks=[pytest.mark.slow] * (m in EXPLICIT and f != "nullspace-quaternion"))
        for m in ("auto", *gd.METHODS)
        for f in gd.FORMULATIONS
        if f != "euler" and (m, f) != ("seulex", "nullspace-directors")
    ],
)
def test_a_coarse_rod_that_is_rolled_up_too_far(method, formulation):
    """2 sin(phi/2) has no more to give at half a turn between neighbours."""
    error, s, angle = fold(hose(curvature="sine"), GROWING, method=method, formulation=formulation)
    check_kept(error, 0.28, 0.32)
    assert s == 0.75
    assert 170 <= angle <= 190


def test_angles_are_at_their_lock_before():
    with pytest.raises(gd.SimulationError, match=r"at t = 0\.221.* the Euler angles 3-1-3 are at gimbal lock"):
        gd.simulate(system(hose(curvature="sine"), GROWING), 1.0, rtol=1e-4, method="radau5", formulation="euler")


@pytest.mark.parametrize(
    ("law", "limit"),
    [("half-sine", 360), ("angle", 360), (("sine", 3), 270), (("tangent", 6), 360)],
)
def test_other_curvatures_fold_later(law, limit):
    error, _, angle = fold(hose(curvature=law), GROWING, method="radau5")
    check_kept(error, 0.32, 1.0)
    assert limit - 30 <= angle <= limit


def test_the_remedies_help():
    """More segments, or a curvature that stiffens: the same load is carried."""
    motion = gd.simulate(system(hose(100, curvature="sine"), GROWING), 0.35, rtol=1e-4)
    assert motion.t[-1] == 0.35
    motion = gd.simulate(system(hose(curvature="tangent"), GROWING), 0.35, rtol=1e-4)
    assert motion.t[-1] == 0.35


def test_a_clamp_that_turns_too_fast():
    start = gd.Clamped(frame=lambda t: ro.multiply(ro.exp((400.0 * t, 0, 0)), FRAME))
    error, s, _ = fold(hose(curvature="sine", start=start), t_end=0.1, rtol=1e-2, method="rodas")
    check_kept(error, 0.0, 0.02)
    assert s == 0.0


@pytest.mark.parametrize("law", ["sine", "tangent"])
def test_folded_from_the_start(law):
    """Half the bend of the first cell lies between the clamp and the first frame: 89 degrees there are 178 in all."""
    start = gd.Clamped(frame=ro.multiply(ro.exp((np.deg2rad(89.0), 0, 0)), FRAME))
    error, s, angle = fold(hose(curvature=law, start=start))
    assert (s, angle) == (0.0, 178.0)
    assert error.time == 0.0
    np.testing.assert_array_equal(error.motion.t, [0.0])


# --- ends and loads that fail ----------------------------------------------------------------------------------------


class NoFuelError(Exception):
    pass


def late(good, bad):
    """A function of time that turns bad after 4 ms."""

    def function(t):
        if t <= 0.004:
            return good
        if isinstance(bad, Exception):
            raise bad
        return bad

    return function


ENDS = {
    "at": (gd.Hinged, (0, 0, 0), {}),
    "velocity": (gd.Hinged, (0, 0, 0), {"at": lambda t: (0, 0, 0)}),
    "frame": (gd.Clamped, FRAME, {}),
    "angular_velocity": (gd.Clamped, (0, 0, 0), {"frame": lambda t: FRAME}),
}
BAD = {
    "nan": (np.nan, "not finite"),
    "inf": (np.inf, "not finite"),
    "short": ((0, 0), "must be"),
    "text": ("abc", "must be"),
    "None": (None, "must be"),
    "raise": (NoFuelError("no fuel"), "NoFuelError: no fuel"),
}


def check_failing_end(field, case, method):
    """The error names the rod, the end, the function and the time at which it was asked."""
    kind, good, others = ENDS[field]
    bad, says = BAD[case]
    if isinstance(bad, float):
        bad = np.full(len(good), bad)
    rod = hose(start=kind(**{field: late(good, bad)}, **others))
    named = rf"(?s)Rod 'hose', start\.{field} .* at t = 0\.004.*{says}"
    with pytest.raises(gd.SimulationError, match=named) as caught:
        gd.simulate(system(rod, gravity=(0, 0, -9.81)), 0.1, method=method, max_step=4e-4)
    check_kept(caught.value, 0.003, 0.004)
    assert caught.value.__cause__ is not None


@pytest.mark.spread
@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("field", ENDS)
def test_an_end_that_fails(field, case):
    check_failing_end(field, case, "rodas")


@pytest.mark.parametrize("method", ["auto", *gd.METHODS])
def test_an_end_that_fails_in_every_method(method):
    check_failing_end("at", "nan", method)


def test_a_frame_that_is_no_rotation():
    rod = hose(end=gd.Clamped(frame=late(FRAME, (0, 0, 0, 0))))
    with pytest.raises(gd.SimulationError, match=r"Rod 'hose', end\.frame .* quaternion of norm 0"):
        gd.simulate(system(rod), 0.1, method="rodas")


@pytest.mark.parametrize("method", ["auto", *gd.METHODS])
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ((0, 0, np.nan), "returned .* not finite"),
        ((0, 0), "returned .* must return 3 numbers"),
        (None, "returned .* must return 3 numbers"),
        (NoFuelError("no fuel"), "raised NoFuelError at t = 0.004.*: no fuel"),
    ],
)
def test_a_load_that_fails(method, bad, says):
    load = gd.RodLoad("hose", force=late((0, 0, 0), bad), name="wind")
    with pytest.raises(gd.SimulationError, match=rf"(?s)RodLoad 'wind'\.force {says}") as caught:
        gd.simulate(system(hose(), load, gravity=(0, 0, -9.81)), 0.1, method=method, max_step=4e-4)
    check_kept(caught.value, 0.003, 0.004)
    if isinstance(bad, Exception):
        assert caught.value.__cause__ is bad


def test_a_load_without_a_name_is_named_by_its_rod():
    load = gd.RodLoad("hose", moment=late((0, 0, 0), (0, 0, np.nan)))
    with pytest.raises(gd.SimulationError, match=r"RodLoad\('hose'\)\.moment returned"):
        gd.simulate(system(hose(), load), 0.1, method="rodas")


# --- what does not serve rods ----------------------------------------------------------------------------------------


def test_baumgarte_of_the_null_space_form():
    with pytest.raises(ValueError, match=r"baumgarte = .* works with the absolute formulations only"):
        gd.Formulation(baumgarte=(100, 100))


def test_ends_on_unknown_bodies():
    with pytest.raises(gd.ModelError, match=r"Rod 'hose': end.body = 'bob' is unknown; it can be 'ground', 'hose'"):
        system(hose(end=gd.Hinged("bob")))


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        (
            {"joints": [gd.Revolute("ground", "hose", at=(0, 0, 0), axis=(0, 1, 0))]},
            r"b = 'hose' is a rod, .* or hinge it",
        ),
        ({"forces": [gd.Force("hose", (0, 0, 1))]}, r"body = 'hose' is a rod, and this acts on bodies; take RodLoad"),
    ],
)
def test_a_rod_in_the_place_of_a_body(parts, sentence):
    with pytest.raises(gd.ModelError, match=sentence):
        gd.System(rods=[hose()], **parts)


def test_loads_on_unknown_rods():
    with pytest.raises(gd.ModelError, match=r"RodLoad\('hos'\): rod = 'hos' is unknown.*Did you mean 'hose'"):
        system(hose(), gd.RodLoad("hos", force=(0, 0, 1)))


def test_a_result_asked_for_an_unknown_rod():
    motion = gd.simulate(system(), 0.01)
    with pytest.raises(ValueError, match="Did you mean 'hose'"):
        motion["hos"]


def test_balance_without_dense_output():
    motion = gd.simulate(system(), 0.01, dense=False)
    with pytest.raises(ValueError, match="dense=True"):
        _ = motion.energy.balance


# --- a model with everything wrong -----------------------------------------------------------------------------------


def test_all_problems_of_a_rod_at_once():
    with pytest.raises(gd.ModelError) as caught:
        gd.Rod(
            "hose", -1.0, 1, gd.Circle(radius=5e-3), RUBBER, curvature="cosine", inertia="ball", mass=2.0, strain="x"
        )
    problems = "\n".join(caught.value.problems)
    for field in ("length", "segments", "curvature", "inertia", "mass", "strain"):
        assert field in problems
    assert "1e-3" not in problems
