"""Members of an ensemble that go through the core together: the same bits as one by one, and lanes beside them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gyrod as gd
from gyrod.equations import compile_system
from gyrod.equations.members import template
from gyrod.solve.members import Members, members
from gyrod.studies.members import run_block
from gyrod.studies.plan import make_plan

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)
DAMPED = gd.Damping(1e-3, 2e-3, [1e-6, 2e-6], 1e-6, viscosities=(10.0, 5.0), factor=1e-4)


def hose(**changes):
    fields = {
        "section": gd.Circle(radius=5e-3), "material": RUBBER, "start": gd.Hinged(),
        "initial": gd.Straight((0, 0, 0), (1, 0, 0)),
    }  # fmt: skip
    return gd.Rod("hose", 1.0, 6, **(fields | changes))


KINDS = {
    "hinged": gd.System(rods=[hose()]),
    "clamped, damped": gd.System(rods=[hose(start=gd.Clamped(), damping=DAMPED)]),
    "blended tube": gd.System(rods=[hose(section=gd.Ring(5e-3, 3e-3), mass="blended", inertia="cylinder")]),
    "kirchhoff strip": gd.System(rods=[hose(section=gd.Rectangle(8e-3, 4e-3), strain="kirchhoff", damping=DAMPED)]),
    "loads, drag, mass": gd.System(
        rods=[hose(end=gd.Hinged(at=(1, 0, 0)), material=gd.Material(5e6, shear_modulus=2e6, density=1100))],
        forces=[
            gd.RodLoad("hose", at=0.4, force=(0, 0.1, 0.2), follow=True),
            gd.Drag("hose", coefficient=(0.1, 0.1, 0.01)),
            gd.Flow("hose", (0, 3, 1), (0.02, 0.03, 0.01)),
            gd.PointMass("hose", at=0.5, mass=0.01),
        ],
    ),
    "two": gd.System(
        rods=[hose(), gd.Rod("other", 0.5, 4, gd.Circle(4e-3), RUBBER, initial=gd.Straight((0, 1, 0), (0.5, 1, 0)))]
    ),
}
FACTORS = ("material.young", "material.density", "section.radius", "section.inner", "section.width", "section.height")
FACTORS += ("material.shear_modulus", "damping.factor", "damping.extension", "damping.torsion")


def paths_of(system):
    """All numbers that can be stacked, with their values."""
    found = {}
    for rod in system.rods:
        for field in FACTORS:
            try:
                value = system.get(f"{rod.name}.{field}")
            except gd.ModelError:
                continue
            if isinstance(value, float) and template(system, [f"{rod.name}.{field}"], "nullspace-quaternion"):
                found[f"{rod.name}.{field}"] = value
    return found


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_stacked_numbers_are_those_of_single_models_to_the_last_bit(kind, data):
    system = KINDS[kind]
    known = paths_of(system)
    assert len(known) >= 2
    chosen = data.draw(st.lists(st.sampled_from(sorted(known)), min_size=1, unique=True))
    factors = data.draw(st.lists(st.floats(0.7, 1.5), min_size=3, max_size=3))
    values = {path: known[path] * np.roll(factors, i) for i, path in enumerate(chosen)}
    values["gravity"] = np.array([[0.0, 0.0, -9.81], [1.0, 2.0, 3.0], [0.0, -1.6, 0.0]])
    if "hose.damping.factor" in known:
        values["hose.damping.bending"] = np.array([[0.0, 1e-6], [2e-6, 0.0], [0.0, 0.0]])
        values["hose.damping.shear[1]"] = np.array([0.0, 3e-3, 1e-3])
    found = template(system, list(values), "nullspace-quaternion")
    stack = found.stack(values)
    assert stack.good.all()
    for i in range(3):
        alone = compile_system(system.with_({path: column[i] for path, column in values.items()}))
        assert same(alone.scales(), stack.scales[i])
        for table, changes, base in zip(alone.rods, stack.changes, found.compiled.rods, strict=True):
            for key, value in table.items():
                if key in changes:
                    assert same(np.asarray(value, dtype=float), np.asarray(changes[key][i])), key
                elif isinstance(value, np.ndarray):
                    assert same(value, base[key]), key


@pytest.mark.parametrize(
    "made",
    [
        {"section": None, "material": None, "density_per_length": 0.1, "rotary_inertia": (1e-6, 1e-6, 2e-6),
         "stiffness": [80.0, 90.0, 400.0, 2e-3, 3e-3, 1e-3]},
        {"stiffness": [80.0, 90.0, 400.0, 2e-2, 3e-2, 1e-3]},
        {"section": gd.Circle(radius=lambda s: 5e-3 - 1e-3 * s)},
    ],
    ids=["stiffness alone", "stiffness and section", "tapered"],
)  # fmt: skip
def test_gravity_varies_for_rods_of_any_make(made):
    """Without gravity, or little of it, the scales follow from the rod."""
    system, g = gd.System(rods=[hose(**made)]), np.array([0.0, -1e-6, -9.81])
    stack = template(system, ["gravity[2]"], "nullspace-quaternion").stack({"gravity[2]": g})
    for i in range(3):
        assert same(compile_system(system.with_({"gravity[2]": g[i]})).scales(), stack.scales[i])
    plan = make_plan(system, {"gravity[2]": g}, {"tip": "hose.positions[-1]"}, 0.02, method="rodas", rtol=1e-3)
    assert run_block(plan, 0, 3).same(run_block(plan, 0, 3, together=False))


@pytest.mark.parametrize("kind", KINDS)
def test_a_core_that_is_revised_is_that_of_the_member(kind):
    system = KINDS[kind]
    values = {path: value * np.array([1.0, 1.3]) for path, value in paths_of(system).items()}
    found = members(system, list(values), 0.1, method="rodas")
    stack = found.stack(values)
    alone = compile_system(system.with_({path: column[1] for path, column in values.items()}))
    y = gd.simulate(system, 0.05, method="rodas", rtol=1e-4).y[-1].copy()
    before = found.compiled.core.rhs(0.0, y)
    found.revise(stack, 1)
    assert same(found.compiled.core.rhs(0.0, y), alone.core.rhs(0.0, y))
    assert same(found.compiled.core.jacobian(0.0, y), alone.core.jacobian(0.0, y))
    found.revise(stack, 0)
    assert same(found.compiled.core.rhs(0.0, y), before)


OUTPUTS = {
    "final": {"tip": "hose.positions[-1]", "turn": "hose.Omega[0]"},
    "forces": {"tip": "hose.positions[-1]", "pull": gd.Maximum("hose.force[0, 2]"), "energy": "energy.total"},
    "anything": {
        "stress": gd.Maximum("hose.stress[2]"),
        "own": lambda motion: motion.system.rods[0].material.young + motion["hose"].moment[-1, 1, 0],
        "curve": gd.History("hose.positions[-1, 2]", 4),
        "momentum": "momentum",
    },
}


def test_long_blocks_go_in_parts(monkeypatch):
    young = 5e6 * np.linspace(0.5, 1.5, 11)
    young[[1, 8]] = -1.0
    outputs = {"tip": "hose.positions[-1]", "pull": "hose.force[0, 2]"}
    plan = make_plan(KINDS["hinged"], {"hose.material.young": young}, outputs, 0.01, method="rodas", rtol=1e-3)
    whole = run_block(plan, 0, 11)
    seen = []
    monkeypatch.setattr("gyrod.studies.members.PART", 4)
    monkeypatch.setattr("gyrod.solve.members.Members.run", _counted(seen))
    assert run_block(plan, 0, 11).same(whole)
    assert seen == [3, 4, 2]


def _counted(seen, run=Members.run):
    def counted(self, stack, rows, **options):
        seen.append(len(rows))
        return run(self, stack, rows, **options)

    return counted


@pytest.mark.spread
@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize(
    "run",
    [
        {"method": "rodas", "rtol": 1e-3},
        {"method": "radau5", "rtol": 1e-4, "norm": "plain"},
        {"method": "dopri5", "rtol": 1e-3, "formulation": "absolute-quaternion"},
        {"rtol": 1e-3},
    ],
    ids=lambda run: " ".join(map(str, run.values())),
)
def test_runs_together_are_runs_alone_to_the_last_bit(run, outputs):
    vary = {"hose.material.young": [4e6, 5e6, 7e6, -1.0], "hose.section.radius": [5e-3, 4e-3, 6e-3, 5e-3]}
    plan = make_plan(KINDS["clamped, damped"], vary, OUTPUTS[outputs], 0.05, design="together", **run)
    together, alone = run_block(plan, 0, 4), run_block(plan, 0, 4, together=False)
    assert together.same(alone)
    assert together.status.tolist() == [0, 0, 0, 3]
    assert "young" in together.errors[3]


def bent(moment):
    return gd.System(rods=[hose(start=gd.Clamped())], forces=[gd.RodLoad("hose", at=1.0, moment=(0, moment, 0))])


def test_an_output_that_fails_leaves_the_others():
    def none(motion):
        raise RuntimeError("not today")

    calls = []

    def sometimes(motion):
        calls.append(1)
        return 1.0 if len(calls) == 1 else none(motion)  # the first call asks for its shape

    plan = make_plan(
        KINDS["hinged"], {"hose.material.young": [5e6]}, {"bad": sometimes, "tip": "hose.positions[-1]"}, 0.01
    )
    block = run_block(plan, 0, 1)
    assert block.status.tolist() == [2]
    assert block.errors == ("output 'bad': RuntimeError: not today",)
    assert np.isnan(block.outputs["bad"][0])
    assert np.isfinite(block.outputs["tip"]).all()


def test_what_fails_on_the_way_says_the_same():
    outputs, run = {"tip": "hose.positions[-1]"}, {"method": "rodas", "rtol": 1e-3}
    plan = make_plan(bent(3.0), {"hose.material.young": [5e8, 5e6]}, outputs, 0.05, **run)
    together, alone = run_block(plan, 0, 2), run_block(plan, 0, 2, together=False)
    assert together.same(alone)
    assert together.status.tolist() == [0, 2]
    assert "folds" in together.errors[1]
    assert np.isnan(together.outputs["tip"][1]).all()


@pytest.mark.parametrize(
    ("path", "reason"),
    [("hose.length", "the grid"), ("hose.segments", "the grid"), ("hose.material.shear_modulus", "derived")],
)
def test_what_changes_more_is_compiled_one_by_one(path, reason):
    assert template(KINDS["hinged"], [path], "nullspace-quaternion") is None, reason


def test_rods_that_follow_a_function_are_compiled_one_by_one():
    moving = gd.System(rods=[hose(start=gd.Clamped(at=lambda t: (0, 0, 0.1 * t)))])
    assert template(moving, ["hose.material.young"], "nullspace-quaternion") is None
    tapered = gd.System(rods=[hose(section=gd.Circle(radius=lambda s: 5e-3 - 1e-3 * s))])
    assert template(tapered, ["hose.material.young"], "nullspace-quaternion") is None


# --- lanes -----------------------------------------------------------------------------------------------------------

LANED = [
    *(gd.System(rods=[hose(curvature=c, damping=DAMPED)]) for c in ("sine", "half-sine", "tangent", "half-tangent")),
    gd.System(rods=[hose(curvature=("sine", 3.0), strain="stretch")]),
    gd.System(rods=[hose(curvature=("tangent", 2.5))]),
    gd.System(
        rods=[hose(stiffness=np.diag([80.0, 90.0, 400.0, 2e-3, 3e-3, 1e-3]) + 1e-2 * np.eye(6)[::-1])],
        gravity=(1, 2, 3),
    ),
    *(system for name, system in KINDS.items() if name != "kirchhoff strip"),
]


def laned(system, values, **options):
    found = members(system, list(values), options.pop("t_end"), **options)
    stack = found.stack(values)
    assert stack.good.all()
    rows = np.arange(len(stack.good))
    return found, found.run(stack, rows), found.run(stack, rows, lanes=True)


@pytest.mark.parametrize("number", range(len(LANED)))
def test_lanes_do_what_single_runs_do(number):
    """Over constant steps, with members that differ, and five of them: the last group is not full."""
    values = {"gravity[2]": np.array([-9.81, -5.0, 0.0, 3.0, -1.0])}
    if LANED[number].rods[0].material is not None and LANED[number].rods[0].stiffness is None:
        values["hose.material.young"] = 5e6 * np.array([1.0, 0.5, 2.0, 1.5, 1.1])
    h = 2e-5
    _, alone, together = laned(LANED[number], values, t_end=200 * h, method="dopri5", step=h)
    assert max(np.abs(run.y[-1] - run.y[0]).max() for run in alone) > 1e-3
    for a, b in zip(alone, together, strict=True):
        assert (a.status, b.status, a.stats["steps"]) == ("finished", "finished", b.stats["steps"])
        size = np.maximum(1.0, np.abs(a.y).max(axis=1, keepdims=True))
        np.testing.assert_allclose(b.y[:3] / size[:3], a.y[:3] / size[:3], rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(b.y / size, a.y / size, rtol=0.0, atol=1e-9)


def test_lanes_bend_apart():
    """Members in one group whose curvatures need different numbers of terms, and the closed form."""
    values = {"hose.material.young": 5e6 * np.array([1.0, 30.0, 3.0, 10.0])}
    h = 1e-5
    found, alone, together = laned(bent(0.1), values, t_end=8000 * h, method="dopri5", step=h, output=[8000 * h])
    p = [run.y[-1][[found.compiled.core.layout()[0].p[j] + np.arange(4) for j in range(6)]] for run in alone]
    x = [1.0 - np.abs(np.sum(q[1:] * q[:-1], axis=1)).min() for q in p]
    assert min(x) < 0.012
    assert max(x) > 0.4
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_allclose(b.y, a.y, rtol=0.0, atol=1e-9 * np.abs(a.y).max())


@pytest.mark.parametrize("method", ["dopri5", "dop853", "odex"])
def test_lock_step_takes_the_steps_of_the_hardest_member(method):
    # Three members at rest have no errors, and would hide a half of that of the fourth in a common mean.
    values = {"gravity[2]": np.array([0.0, 0.0, 0.0, -9.81])}
    _, alone, together = laned(KINDS["hinged"], values, t_end=0.1, method=method, rtol=1e-5)
    if method != "odex":  # which also judges stability, and its order, by such norms
        assert together[3].stats["steps"] == pytest.approx(alone[3].stats["steps"], rel=0.03)
    values = {"hose.material.young": 5e6 * np.array([0.5, 1.0, 0.3, 0.8])}
    _, alone, together = laned(KINDS["hinged"], values, t_end=0.05, method=method, rtol=1e-7)
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_allclose(b.y[-1], a.y[-1], rtol=0.0, atol=1e-4)
        np.testing.assert_allclose(b.evaluate(np.array([0.02])), a.evaluate(np.array([0.02])), rtol=0.0, atol=1e-4)


def test_where_one_fails_each_goes_by_itself():
    values = {"hose.material.young": np.array([5e8, 5e6, 4e8, 6e8])}
    _, alone, together = laned(bent(3.0), values, t_end=0.1, method="dopri5", rtol=1e-3, output=[0.1])
    assert [run.status for run in together] == ["finished", "refused", "finished", "finished"]
    assert all(same(a.y_stop, b.y_stop) for a, b in zip(alone, together, strict=True))
    assert "folds" in together[1].reason


@pytest.mark.parametrize("run", [{"rtol": 1e-4}, {"step": 2e-5}], ids=["lock-step", "constant step"])
def test_lanes_do_not_depend_on_where_blocks_begin(run):
    young = 5e6 * np.linspace(0.5, 1.5, 11)
    young[[2, 4, 5, 6, 7, 9]] = -1.0
    outputs = {"tip": "hose.positions[-1]", "pull": "hose.force[0, 2]"}
    plan = make_plan(
        KINDS["hinged"], {"hose.material.young": young}, outputs, 0.02, method="dopri5", lanes=4, **run
    )  # fmt: skip
    whole = run_block(plan, 0, 11)
    assert whole.status.tolist() == [0, 0, 3, 0, 3, 3, 3, 3, 0, 3, 0]
    for cuts in ((0, 3, 8, 11), (0, 1, 2, 3, 5, 9, 11), (0, 4, 8, 11)):
        parts = [run_block(plan, a, b) for a, b in itertools.pairwise(cuts)]
        for name, column in whole.outputs.items():
            assert same(np.concatenate([part.outputs[name] for part in parts]), column)
        assert sum((part.errors for part in parts), ()) == whole.errors
    alone = run_block(plan, 0, 11, together=False)
    np.testing.assert_allclose(whole.outputs["tip"], alone.outputs["tip"], rtol=0.0, atol=1e-6)


def test_plans_refuse_lanes_that_cannot_be():
    tip = {"tip": "hose.positions[-1]"}
    for vary, run, reason in (
        ({"hose.length": [1.0]}, {"method": "dopri5"}, "varies"),
        ({"gravity[0]": [1.0]}, {"method": "rodas"}, "implicit"),
    ):
        with pytest.raises(gd.ModelError, match=f"lanes = 4: .*{reason}"):
            make_plan(KINDS["hinged"], vary, tip, 0.01, lanes=4, **run)


def test_lanes_are_for_explicit_methods_and_rods_alone():
    assert "implicit" in members(KINDS["hinged"], ["gravity[2]"], 0.1, method="rodas").apart()
    held = members(KINDS["kirchhoff strip"], ["gravity[2]"], 0.1, method="dopri5")
    assert "held" in held.apart()
    with pytest.raises(ValueError, match="lanes"):
        held.run(held.stack({"gravity[2]": np.zeros(4)}), np.arange(4), lanes=True)


@pytest.mark.parametrize("rods", [None, "hose"])
def test_rods_that_meet_obstacles_go_one_by_one_in_lanes_and_with_other_sections(rods):
    """Where a vertex touches differs from member to member, and how thick a rod is follows from its section."""
    floor = gd.PlaneObstacle((0, 0, -0.05), (0, 0, 1), stiffness=1e4, smoothing=1e-3, rods=rods)
    system = gd.System(rods=[hose()], forces=[floor])
    assert "touch" in members(system, ["hose.material.young"], 0.1, method="dopri5").apart()
    assert template(system, ["hose.section.radius"], "nullspace-quaternion") is None


@pytest.mark.parametrize("path", ["hose.section.radius", "hose.material.young"])
def test_contacts_follow_sections_and_materials(path):
    """How stiff a contact is, and how thick the rod, is that of each member."""
    system = gd.System(rods=[hose()], contacts=[gd.Contact("hose", gd.Plane((0, 0, -0.05), (0, 0, 1)))])
    assert template(system, [path], "nullspace-quaternion") is None
    values = [system.get(path), 1.5 * system.get(path)]
    study = gd.study(system, {path: values}, {"tip": "hose.positions[-1]"}, 0.1)
    alone = [gd.simulate(system.with_({path: value}), 0.1)["hose"].positions[-1, -1] for value in values]
    np.testing.assert_array_equal(study["tip"], alone)


def test_a_watcher_ends_all_runs():
    found = members(KINDS["hinged"], ["hose.material.young"], 100.0, method="dopri5", rtol=1e-8)
    seen = []

    def stop(done):
        seen.append(done)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        found.run(found.stack({"hose.material.young": np.array([5e6, 6e6])}), np.arange(2), tick=stop)
    assert seen == [0]
