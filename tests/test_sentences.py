"""Sentences that new users met and could not use: each names what is wrong, where, and what to do."""

import builtins
import re

import numpy as np
import pytest

import gyrod as gd
from gyrod.cli.frame import drawable

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)
TOP = gd.System(
    [gd.Body("top", mass=1.0, inertia=(1, 1, 0.5), position=(0, 0, 1), angular_velocity=(0.2, 0, 50))],
    [gd.Spherical("ground", "top", at=(0, 0, 0))],
)


def rod(**changes):
    given = {"section": gd.Circle(radius=5e-3), "initial": gd.Straight((0, 0, 0), (0, 1, 0)), "segments": 4, **changes}
    return gd.Rod("hose", 1.0, material=RUBBER, **given)


def refused(call, kind=ValueError):
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def test_a_right_angle_is_told_with_enough_digits():
    """It said "90 degrees away; at most 90 are allowed"."""
    turn = gd.rotations.exp((0.5 * np.pi + 1e-9, 0.0, 0.0))
    frame = gd.rotations.multiply(rod().end_frames[0], turn)
    told = refused(lambda: rod(start=gd.Clamped(frame=frame)))
    assert re.search(r"90\.00000005\d* degrees away; it must be less than a right angle", told), told


def test_sections_in_millimetres_are_asked_for_in_metres():
    told = refused(lambda: rod(section=gd.Circle(radius=5)))
    assert "is 10 m across, but the rod is 1 m long; all dimensions are in metres, so that 5 mm is 5e-3" in told
    rod(section=gd.Circle(radius=1.0))  # a disc, as tests have it


def test_formulas_are_asked_for_by_their_names():
    for make, hint in (
        (lambda: gd.RodLoad("hose", force=(0, 0, "2*sin(t)")), r"A formula of time is gd\.ExpressionVector\("),
        (lambda: gd.Clamped(at=["0", "0.1*sin(t)", "0"]), r"A formula of time is gd\.ExpressionVector\("),
        (
            lambda: gd.Tendon("hose", [(0, (0, 0)), (1, (0, 0))], tension="1 + t"),
            r"A formula of time is gd\.Expression\(",
        ),
    ):
        with pytest.raises(gd.ModelError, match=hint):
            make()
    with pytest.raises(gd.ModelError) as caught:  # a side, and no formula
        gd.Clamped("bob", at="ende")
    assert "formula" not in str(caught.value)


def test_tolerances_that_resolve_nothing():
    assert "rtol = 0.5 resolves nothing: in every step an error of 50 %" in refused(
        lambda: gd.simulate(TOP, 1.0, rtol=0.5)
    )
    with pytest.warns(RuntimeWarning, match="nothing is resolved"):
        assert gd.simulate(TOP, 1e-3, rtol=0.1).status == "finished"


def wavy(s):
    return [0.0, 0.1, undefined]  # noqa: F821


def test_exceptions_inside_functions_are_told_as_such():
    told = refused(lambda: rod(precurvature=wavy))
    assert "precurvature(s = 0" in told
    assert "raises NameError: name 'undefined' is not defined (test_sentences.py, line" in told
    assert "must return" not in told


@pytest.mark.parametrize(
    "call",
    [
        lambda: gd.simulate(TOP, 1.0, method=lambda t: t),
        lambda: gd.simulate(TOP, lambda t: t),
        lambda: gd.simulate(TOP, 1.0, events=[object()]),
        lambda: gd.Revolute("a", "b", at=(0, 0, 0), axis=(0, 0, 1), damping=lambda t: t),
        lambda: gd.Body("b", mass=object(), inertia=(1, 1, 1)),
        lambda: gd.System([object()]),
        lambda: rod(section=object()),
        lambda: gd.refine(gd.System(rods=[rod(start=gd.Clamped())]), 1e-3, quantity=3j),
    ],
)
def test_no_addresses(call):
    assert "0x" not in refused(call)


def test_all_problems_of_a_call_at_once():
    with pytest.raises(gd.ModelError) as caught:
        gd.simulate(TOP, -1.0, method="rada5", formulation="eulr", rtol=0.0, norm="x", projection="y")
    assert [sentence.split()[0] for sentence in caught.value.problems] == [
        "t_end", "formulation", "method", "rtol", "norm", "projection"
    ]  # fmt: skip


def told_at_once(call):
    with pytest.raises(gd.ModelError) as caught:
        call()
    return caught.value.problems


def test_all_that_speaks_against_a_formulation_at_once():
    """Rods, held ends, joints and gaps were told one after the other."""
    bobs = [
        gd.Body("bob", 0.2, (1e-4,) * 3, position=(0, 1, 0)),
        gd.Body("bib", 0.2, (1e-4, 1e-4, 0), position=(1, 1, 0)),
    ]
    held = rod(end=gd.Hinged("bob", at=(0, 0, 0)), start=gd.Clamped())
    stiff = gd.Rod(
        "stiff", 1.0, 4, gd.Circle(radius=5e-3), RUBBER, strain="kirchhoff", start=gd.Clamped(), mass="blended",
        initial=gd.Straight((1, 0, 0), (1, 1, 0)),
    )  # fmt: skip
    loose = gd.Fixed("ground", "bib", at_a=(0, 0, 0), at_b=(0, 0, 0))
    system = gd.System(bobs, [loose], [held, stiff])
    form = gd.Formulation("absolute-quaternion", fictive_moment="half-trace")
    problems = told_at_once(lambda: gd.simulate(system, 0.1, formulation=form))
    for part in (
        "the variant 'fictive_moment' of 'absolute-quaternion' is for bodies",
        "rod 'stiff' with strain = 'kirchhoff' needs mass = 'lumped', got ",
        "body 'bib' has a singular inertia",
        "Fixed('ground', 'bib'): position gap at the start of",
    ):
        assert sum(part in sentence for sentence in problems) == 1, (part, problems)
    assert len(problems) == len(set(problems))


def test_every_body_at_gimbal_lock_is_named():
    pair = gd.System([gd.Body(name, 1.0, (1, 2, 3)) for name in ("a", "b")])
    problems = told_at_once(lambda: gd.simulate(pair, 0.1, formulation="euler"))
    assert [sentence.split()[1] for sentence in problems] == ["'a'", "'b'"]


def test_extras_are_named_before_the_work(monkeypatch, tmp_path):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith(("matplotlib", "sksundae")):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    assert "pip install 'gyrod[plot]'" in refused(lambda: drawable(tmp_path / "a.png"), ImportError)
    monkeypatch.setattr("gyrod.solve.peers.import_module", without)
    never = gd.Torque("top", lambda t: 1 / 0)  # whoever computes anything meets this first
    told = refused(lambda: gd.simulate(TOP.with_(forces=[never]), 1.0, method="bdf"), ImportError)
    assert "pip install 'gyrod[bdf]'" in told


def test_a_form_that_rods_do_not_have_is_named():
    alone = gd.System(rods=[rod(start=gd.Clamped())])
    told = refused(lambda: gd.simulate(alone, 0.1, formulation=gd.Formulation("absolute-quaternion", index=1)))
    assert "index = 1 is about multipliers of bodies, and there are only rods ('hose')" in told


# --- constant steps and gimbal lock ----------------------------------------------------------------------------------


def test_compare_runs_the_steps_that_are_given():
    top = gd.problems.RIGID["xu-zhong-fast"].system
    how = {"methods": "variational", "formulations": "nullspace-quaternion", "rtols": 1e-5}
    table = gd.compare(top, 0.07, steps=[7e-3, 3.5e-3], **how)
    np.testing.assert_allclose([trial.step for trial in table.trials], [7e-3, 3.5e-3], rtol=1e-12)
    coarse, fine = (trial.position for trial in table.trials)
    assert 3.0 < coarse / fine < 5.0
    assert "steps = 0.003: a run of t_end = 0.07 s is not a multiple of these; take 0.00304348" in refused(
        lambda: gd.compare(top, 0.07, steps=[7e-3, 3e-3], **how)
    )


LOCK = gd.System(
    [gd.Body("b", 1.0, (1, 2, 3), orientation=("313", (0, 0.3, 0)), angular_velocity=(-1.0, 0, 0))], gravity=(0, 0, 0)
)


@pytest.mark.parametrize("method", ["dopri5", "dop853", "odex", "radau5", "rodas", "seulex"])
@pytest.mark.parametrize("rtol", [1e-3, 1e-8])
def test_the_euler_form_stops_at_the_lock_and_not_before(method, rtol):
    with pytest.raises(gd.SimulationError, match="gimbal lock") as caught:
        gd.simulate(LOCK, 2.0, formulation="euler", method=method, rtol=rtol)
    assert 0.2995 < caught.value.time < 0.3
    assert caught.value.motion.stats.steps < 400


def test_a_motion_that_passes_by_the_lock_goes_on():
    near = LOCK.with_({"b.angular_velocity": (-1.0, 0.09, 0.0)})
    exact = gd.simulate(near, 0.6, rtol=1e-10)
    for rtol in (1e-3, 1e-5):
        motion = gd.simulate(near, 0.6, formulation="euler", method="dopri5", rtol=rtol)
        assert motion.status == "finished"
        assert gd.rotations.distance(motion["b"].quaternion[-1], exact["b"].quaternion[-1]) < 300 * rtol
