"""Model files: exact there and back, every class of the model, every problem with its line and column."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import pickle
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import gyrod as gd
from gyrod import files
from gyrod.files import building, reading
from gyrod.files.building import MOST_PROBLEMS
from gyrod.files.quantities import _PREFIXED, _SINGLE, quantity, unit
from gyrod.files.registry import GROUPS, LISTS, PLAIN, classes, fields_of
from gyrod.files.schema import reference
from gyrod.files.series import SampleFile
from gyrod.model import Attachment
from gyrod.model.expression_rules import CONSTANTS, FUNCTIONS
from gyrod.model.inputs import MOST_NUMBERS, Input, Live, Recorded, Settings

STARTERS = Path(gd.__file__).parent / "cli" / "starters"
MODELS = [*sorted((Path(__file__).parent / "data" / "models").iterdir()), *sorted(STARTERS.glob("*.yaml"))]
FORM = gd.Formulation("absolute-quaternion", index=2, baumgarte=(1, 2), projection="none")
HOSE = (MODELS[0].parent / "hose.yaml").read_text(encoding="utf-8")
STEEL = gd.Material(young=2.1e11, poisson=0.3, density=7850)
ROUND = gd.Circle(radius=5e-3)


def assert_bitwise(a, b, path="system"):
    """Equal to the last bit, minus zeros and types of arrays included."""
    assert type(a) is type(b), path
    if dataclasses.is_dataclass(a):
        for field in dataclasses.fields(a):
            assert_bitwise(getattr(a, field.name), getattr(b, field.name), f"{path}.{field.name}")
    elif isinstance(a, np.ndarray):
        assert a.shape == b.shape, path
        assert a.tobytes() == b.tobytes(), path
        assert getattr(a, "function", None) == getattr(b, "function", None), path
    elif isinstance(a, tuple | list):
        assert len(a) == len(b), path
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_bitwise(x, y, f"{path}[{i}]")
    elif isinstance(a, Mapping):
        assert dict(a) == dict(b), path
    elif isinstance(a, float):
        assert math.copysign(1.0, a) == math.copysign(1.0, b), path
        assert a == b, path
    else:
        assert a == b, path


def assert_round_trip(system, run=None):
    for form in ("yaml", "json"):
        text = files.dumps(system, run, form)
        again = files.loads(text)
        assert again.system == system
        assert_bitwise(again.system, system)
        assert files.dumps(again.system, again.run, form) == text
        if form == "json":
            assert files.from_data(json.loads(text)) == system
    data = files.to_data(system, run)
    assert json.loads(json.dumps(data)) == data
    assert files.from_data(data) == system


def problems_of(text):
    with pytest.raises(gd.ModelFileError) as caught:
        files.loads(text, source="m.yaml")
    return caught.value.problems


# --- there and back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", MODELS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_example_files_load_run_and_go_back(path):
    found = files.load_model(path)
    assert gd.load(path) == found.system
    assert found.path == path
    assert found.text == path.read_text(encoding="utf-8")
    assert_round_trip(found.system, found.run)
    options = found.run.options() | {"output": None} if found.run.step is None else found.run.options()
    until = min(found.run.until, 20 * found.run.step if found.run.step else 2e-3)
    assert gd.simulate(found.system, until, **options).t[-1] == until


SYSTEMS = {
    name: problem.system
    for group in (gd.problems.RIGID, gd.problems.RODS, gd.problems.MECHANISMS, gd.problems.STATICS)
    for name, problem in group.items()
}
WITH_FUNCTIONS = {"spin-up", "four-bar-driven", "lla-test2"}


@pytest.mark.parametrize("name", sorted(set(SYSTEMS) - WITH_FUNCTIONS))
def test_all_problems_go_there_and_back(name):
    assert_round_trip(SYSTEMS[name])


@pytest.mark.parametrize("name", sorted(WITH_FUNCTIONS))
def test_python_functions_cannot_be_written(name, tmp_path):
    with pytest.raises(gd.ModelError, match=r"is a Python function, which a file cannot hold; write it as gd\.Expr"):
        SYSTEMS[name].save(tmp_path / "m.yaml")
    assert not list(tmp_path.iterdir())


def test_every_python_function_is_named():
    def f(t):
        return (0.0, 0.0, t)

    body = gd.Body("x", 1.0, (1, 1, 1))
    rod = gd.Rod("r", 1.0, 4, gd.Circle(lambda s: 0.1 + s), STEEL, gd.Hinged(at=lambda t: (0.0, 0.0, 0.0)))
    forces = [gd.Force("x", f), gd.UserForce("x", lambda t, state: np.zeros(6)), gd.CForce("x", 1)]
    with pytest.raises(gd.ModelError) as caught:
        files.to_data(gd.System([body], rods=[rod], forces=forces, gravity=f))
    told = caught.value.problems
    assert len(told) == 6
    begins = ["gravity is", "rods[0].section.radius is", "rods[0].start.at is", "forces[0].force is",
              "forces[1], UserForce('x'): it exists in Python only", "forces[2], CForce('x'): it exists"]  # fmt: skip
    for sentence, begin in zip(told, begins, strict=True):
        assert sentence.startswith(begin)
    with pytest.raises(ValueError, match="must be a System"):
        files.to_data("x")


def test_an_assembled_start_keeps_its_joints():
    bodies = [gd.Body(x, 1.0, (0.1, 0.1, 0.1), position=(i + 0.5, 0.0, 0.01 * i)) for i, x in enumerate("ab")]
    hinges = [gd.Revolute("ground", "a", at_a=(0, 0, 0), at_b=(-0.5, 0, 0), axis=(0, 1, 0)),
              gd.Spherical("a", "b", at_a=(0.5, 0, 0), at_b=(-0.5, 0, 0))]  # fmt: skip
    system = gd.assemble(gd.System(bodies, hinges))
    assert system.attachments is not None
    assert_round_trip(system)
    assert pickle.loads(pickle.dumps(system)) == system


def test_junctions_are_written_as_what_they_were_made_of():
    rods = [gd.Rod("a", 1.0, 4, ROUND, STEEL, gd.Clamped()),
            gd.Rod("b", 1.0, 4, ROUND, STEEL, gd.Hinged("a"), initial=gd.Straight((1, 0, 0), (1, 1, 0)))]  # fmt: skip
    system = gd.System(rods=rods)
    assert system.assembled() is not system
    assert files.from_data(files.to_data(system.assembled())) == system
    assert_round_trip(system)


# --- every class -----------------------------------------------------------------------------------------------------

VECTOR = gd.ExpressionVector
EXAMPLES = {
    "bodies": [
        gd.Body("x", 1.5, ((0.1, 0.01, 0), (0.01, 0.2, 0), (0, 0, 0.25)), (1, -0.0, 1e-30), (0.1, 0.2, 0.3), (1, 2, 3),
                (4, 5, 6), shape=[gd.Box((1, 2, 3)), gd.Sphere(0.1)], color=(1, 0, 0)),
    ],
    "joints": [
        gd.Fixed("x", "ground", at=(0.1, 0.2, 0.3)),
        gd.Spherical("x", "y", at_a=(0.1, 0.2, 0.3), at_b=(1, 2, 3), name="ball"),
        gd.Revolute("x", "y", at=(0, 0, 0), axis=(1, 2, 3), stiffness=2, damping=0.1, rest=0.3, limits=(None, 2.0)),
        gd.Prismatic("x", "y", at=(0, 0, 0), axis_a=(1, 2, 2), drive=0.25),
        gd.Cylindrical("x", "y", at=(0, 0, 0), axis=(1, 0, 0), stiffness=(1, 2), damping=(3, 4), rest=(0.1, 0.2)),
        gd.Planar("x", "y", at=(0, 0, 0), axis=(0.1, 0.7, 0.3)),
        gd.Helical("x", "y", at=(0, 0, 0), axis=(0, 1, 1), pitch=-0.01, drive=gd.Expression("0.1*t")),
        gd.Universal("x", "y", at=(0, 0, 0), axis=(1, 0, 0), axis2=(0, 1, 0)),
        gd.Distance("x", "y", at=(0, 0, 0), to=(1, 1, 1), length=(
            gd.Expression("2 + t^2"), gd.Expression("2*t"), gd.Expression("2"))),
    ],
    "rods": [
        gd.Rod("r", 1.0, 4, ROUND, STEEL, curvature=("tangent", 3.5), inertia="cylinder", mass=0.25, strain="stretch",
               velocity=(1, 2, 3), angular_velocity=(0.1, 0, 0), rest_stretch=gd.Expression("1 + 0.1*t"),
               limits={"stress": 1e8, "bend_radius": 0.1}, damping=gd.Damping.ratio(0.1, 3.0)),
        gd.Rod("r", 1.0, stiffness=np.eye(6) + 0.1, density_per_length=gd.Expression("1 + s"),
               rotary_inertia=(1, 1, 2), precurvature=VECTOR((0, "s", 0)), prestrain=(0, 0, 1),
               grid=(0, 0.3, 0.5, 1)),
    ],
    "forces": [
        gd.Force("x", VECTOR((0, "t", 1)), at=(1, 2, 3), frame="body", name="push"),
        gd.Torque("x", (1, 2, 3), frame="space"),
        gd.SpringDamper("x", "y", (0.1, 0, 0), (0, 0, 0), stiffness=10, damping=1, length=0.5),
        gd.Bushing("x", "y", stiffness=(1, 2, 3), damping=0.5),
        gd.SpringDamper("x", "r", at_b=0.25, stiffness=10, length=0.5),
        gd.Bushing("r", "y", (0.5, (0.01, 0.02)), (1, 2, 3), stiffness=1),
        gd.RodLoad("r", 0.5, force=(1, 2, 3), moment=VECTOR((0, 0, "sin(t)")), follow=True),
        gd.RodLoad("r", span=(0.1, 0.9), force=(1, 2, 3), profile=VECTOR(("s", 1, "s^2"))),
        gd.Drag("r", (1, 2, 3), 0.5),
        gd.Flow("r", VECTOR((0, "t", 1)), (1, 2, 3), (0.2, 0.4)),
        gd.PointMass("r", 1.0, 0.1),
        gd.Foundation("r", 10, (1, 2, 3), (0.2, 0.4)),
        gd.Cable("ground", "r", at_a=(0, 0, 1), at_b=(0.5, (0.01, 0.02)), stiffness=10, length=1, smoothing=1e-3),
        gd.Tendon("r", [(0, (0.1, 0)), (0.5, (0.1, 0.2))], tension=Input("pull", value=2.0)),
        gd.Clip("r", 0.25), gd.Clip("r", 0.25, "x", (0, 0.1, 0), axis=(1, 0, 0), kind="swivel", damping=0.5, name="c"),
        gd.Clip("r", 0.25, "r", 0.75, frame=(0.1, 0, 0), stiffness=(1, 2, 3), rotational=(4, 5)),
        gd.Clip("r", 0.5, point=(0.5, 0, 0), kind="grommet", stiffness=100.0, rotational=0.1),
        gd.Clip("r", 0.5, axis=(1, 0, 0), kind="sleeve", length=0.02),
        gd.RotatingFrame((0, 0, 1), name="earth"),
        gd.PlaneObstacle((0, 0, -1), (0, 0.1, 1), stiffness=1e3, smoothing=1e-3),
        gd.SphereObstacle((5, 5, 5), 0.2, ["r"], stiffness=1e3, smoothing=1e-3, thickness=0.1),
        gd.CylinderObstacle((5, 5, 7), (1, 1, 1), 0.2, stiffness=1e3, smoothing=1e-3),
    ],
    "sensors": [
        gd.PointSensor("p", "x", at=(0.1, 0.1, 0.1), quantity="specific force", frame="space"),
        gd.RotationSensor("q", "r", at=0.5, quantity="Omega"),
        gd.JointSensor("j", "hinge", quantity="torque"),
        gd.SectionSensor("s", "r", 0.25, "curvature", "space"),
        gd.DistanceSensor("d", "x", "r", at_b=1.0, quantity="rate"),
        gd.ClipSensor("c", "p-clip", "moment"),
        gd.ContactSensor("t", "floor", "gap"),
    ],
    "contacts": [
        gd.Contact("r", gd.Plane(), damping=0.5, friction=0.4, smoothing=1e-5, margin=1e-3, name="floor"),
        gd.Contact(["x", "y"], "z", stiffness=1e9, exponent=1.5, restitution=0.8, friction=gd.Friction(0.3)),
        gd.Contact("all", ["y", "z"], stiffness=1e5),
    ],
    "attachments": [Attachment(np.zeros(3), np.ones(3), np.eye(3), np.eye(3), 0.0)],
    "section": [
        ROUND, gd.Circle(gd.Expression("0.01*(2 - s)"), shear=(0.8, 0.9)), gd.Ring(0.02, 0.01), gd.Rectangle(0.1, 0.2),
        gd.Section(1e-4, 1e-9, 2e-9, polar=4e-9, torsion=1e-9),
    ],
    "material": [STEEL, gd.Material(2e11, shear_modulus=8e10, density=7e3)],
    "damping": [gd.Damping(1, 2, (3, 4), 5), gd.Damping.viscous(3, 4)],
    "end": [
        gd.Free(), gd.Hinged("x", at=(0, 0, 0)), gd.Clamped("x", (0, 0, 0), (0.5, 0.5, 0.5, 0.5)),
        gd.Hinged(at=VECTOR(("0.1*sin(t)", 0, 0)), velocity=VECTOR(("0.1*cos(t)", 0, 0))),
        gd.Clamped(frame=VECTOR(("2.2 + 0.1*t", 0, 2.2))),
        gd.Clamped(at=VECTOR(("0.1*t^2", 0, 0)), velocity=VECTOR(("0.2*t", 0, 0))),
        gd.Guided((2.2, 0, 2.2)),
    ],
    "initial": [
        gd.Straight((0, 0, 0), (1, 0, 0), orientation=("321", (0, 0.5 * np.pi, 0))),
        gd.Arc((0, 0, 0), (1, 2, 3), (0, 0, 1), 2.0, 0.5),
        gd.Curve(VECTOR(("s", "0.1*s^2", 0)), parameter="material"),
        gd.Curve([(0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 0, 0)], orientation=None),
        gd.Bent((0, 1, 0.5), (1, 1, 1), (0.3, 0, 0)), gd.Bent(VECTOR((0, "s", 0))),
        gd.Laid((0, 0.2, 0.6, 1), [(0, 0, 0), (0.2, 0, 0), (0.6, 0, 0), (1, 0, 0)], [(0.5, 0.5, 0.5, 0.5)] * 4),
    ],
    "shape": [
        gd.Box((1, 2, 3), offset=(1, 0, 0), orientation=(0.1, 0, 0)), gd.Sphere(0.5), gd.Cylinder(0.1, 0.2, (1, 1, 0)),
        gd.Cone(0.1, 0.2), gd.Capsule(0.1, 0.2, (1, 1, 0)), gd.Mesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]),
    ],
    "surface": [
        gd.Plane((0, 0, 1), (1, 1, 0)), gd.Shaft(0.1, (0, 0, 1), (0, 1, 0)), gd.Pipe(0.2, axis=(1, 1, 0)),
        gd.Bowl(2.0, (0, 1, 0)), gd.Eyelet(0.1, 0.01, (1, 0, 0), (1, 0, 0)),
        gd.HeightField([[0, 0.1, 0.2], [0.1, 0, 0]], (0.5, 0.25), corner=(0, 0, -1)),
        gd.HeightField(np.eye(3), 0.5), gd.Box((1, 2, 3), offset=(5, 5, 0)), gd.Sphere(0.5), gd.Cylinder(0.1, 0.2),
        gd.Cone(0.1, 0.2), gd.Capsule(0.1, 0.2), gd.Mesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]),
    ],
    "friction": [
        gd.Friction(0.2), gd.Friction(0.2, static=0.3, presliding=1e-5, stribeck=1e-2, rolling=1e-3, spinning=1e-4),
        gd.Friction(0.2, sticking=False, slip_speed=1e-5),
    ],
    "input": [
        Input("i", along=(0, 0, 1), value=0.5),
        Recorded("i", (0, 0.1, 0.1 + 0.2), (-0.0, 1 / 3, 5e-324), along=(0, -0.0, 0.1)),
        Recorded("i", [-1e-3], [(1, 2, 1e50)]),
        Recorded("i", (1, 2, 4), np.eye(3)),
        gd.Samples((0, 0.1, 0.1 + 0.2), np.eye(3) / 3),
        gd.Samples(np.arange(9), np.outer(np.arange(9), (1, -0.0, 0.1)), noise=0.1, outside="held"),
    ],
    "run": [files.RunOptions(until=1.0, atol={"position": 1e-6}, output=(0.1, 0.2), sigma="mean", formulation=FORM)],
}  # fmt: skip


def around(group, thing):
    """A system that holds a thing."""
    bodies = [gd.Body(name, 1.0, (1, 1, 1), position=(i, 0, 0)) for i, name in enumerate("xyz")]
    rod = gd.Rod("r", 1.0, 4, ROUND, STEEL)
    joints = [gd.Revolute("ground", "z", at=(2, 0, 0), axis=(0, 1, 0), name="hinge")]
    if group == "bodies":
        return gd.System([thing])
    if group == "rods":
        return gd.System(rods=[thing])
    if group in ("joints", "forces", "sensors"):
        lists = {"joints": joints, "forces": [], "sensors": []}
        if isinstance(thing, gd.ClipSensor):
            lists["forces"] = [gd.Clip("r", 0.5, name="p-clip")]
        if isinstance(thing, gd.ContactSensor):
            lists["contacts"] = [gd.Contact("r", gd.Plane(), name="floor")]
        return gd.System(bodies, rods=[rod], **{**lists, group: [*lists[group], thing]})
    if group in ("contacts", "surface", "friction"):
        bodies = [body.with_({"shape": gd.Sphere(0.1)}) for body in bodies]
        if group != "contacts":
            thing = gd.Contact("r", thing) if group == "surface" else gd.Contact("r", gd.Plane(), friction=thing)
        return gd.System(bodies, rods=[rod], contacts=[thing])
    if group == "attachments":
        return gd.System(bodies, [gd.Spherical("x", "y", at=(0, 0, 0))], attachments=[thing])
    if group == "shape":
        return gd.System([gd.Body("x", 1.0, (1, 1, 1), shape=thing)])
    if group == "input":
        return gd.System(bodies, forces=[gd.Torque("x", thing)])
    given = {"start" if group == "end" else group: thing}
    length = 1.0 if group != "initial" or isinstance(thing, (gd.Bent, gd.Laid)) else None
    return gd.System(bodies, rods=[gd.Rod("r", length, 16, **{"section": ROUND, "material": STEEL, **given})])


CASES = [
    pytest.param(group, thing, id=f"{type(thing).__name__}-{i}")
    for group, things in EXAMPLES.items()
    if group != "run"
    for i, thing in enumerate(things)
]


@pytest.mark.parametrize(("group", "thing"), CASES)
def test_every_class_goes_there_and_back(group, thing):
    assert_round_trip(around(group, thing))


def test_recorded_inputs_stand_where_functions_of_time_do():
    tension = Recorded("pull", (0, 1), (2, 3))
    gravity = Recorded("g", (0, 0.5), ((0, 0, -1), (0, 0, -2)))
    rod = gd.Rod("r", 1.0, 4, ROUND, STEEL, rest_stretch=Recorded("heat", (0, 1), (1, 1.01)))
    forces = [gd.Tendon("r", [(0, (0.1, 0)), (0.5, (0.1, 0.2))], tension=tension), gd.RodLoad("r", force=gravity)]
    system = gd.System(rods=[rod], forces=forces, gravity=gravity)
    assert_round_trip(system)
    assert pickle.loads(pickle.dumps(system)) == system
    assert system != system.with_({"forces[0].tension": Recorded("pull", (0, 1), (2, 3.5))})
    assert [tension(t) for t in (-1.0, 0.0, 1.0, np.nextafter(1.0, 2.0), 9.0)] == [2.0, 2.0, 2.0, 3.0, 3.0]
    assert files.to_data(system)["forces"][0]["tendon"]["tension"] == {
        "recorded": {"name": "pull", "times": [0.0, 1.0], "values": [2.0, 3.0]}
    }
    with pytest.raises(ValueError, match="read-only"):
        tension.values[0] = 1.0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(-1e50, 1e50)), min_size=1, unique_by=lambda x: x[0]))
def test_any_recorded_input_goes_there_and_back(rows):
    times, values = np.array(sorted(rows)).T
    system = gd.System([gd.Body("x", 1.0, (1, 1, 1))], forces=[gd.Torque("x", Recorded("m", times, values, (0, 0, 1)))])
    for form in ("yaml", "json"):
        assert_bitwise(files.loads(files.dumps(system, format=form)).system, system)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{recorded: {name: m, times: [0], values: [1], along: [1, 2]}}", ".recorded.along: must be three numbers"),
        ("{recorded: {name: m, times: [0, 1], values: [[1, 2, 3]]}}", "there are 2 times and 1 values; each value"),
        ("{recorded: {name: m, times: [1, 1], values: [1, 2]}}", "times must increase, but times[0] = 1 is followed"),
        ("{recorded: {name: m, times: [], values: []}}", "times must be a list of one number or more, got []."),
        ("{recorded: {name: m, times: [0], values: [[1, 2, 3]], along: [0, 0, 1]}}", "values must be an array of"),
        ("{recorded: {name: m, times: [0, x], values: [1, 2]}}", ".recorded.times[1]: must be a list of numbers in s"),
        ("{recorded: {name: m, times: [0, 1], values: [1, [2]]}}", ".recorded.values: must be a list of numbers or"),
        ("{recorded: {name: m, time: [0]}}", ".recorded: times is missing; it must be a list of numbers in s."),
        ("{recorded: [1]}", "an input is written as {recorded: {name: ...}}."),
        ("{recorded: {}, input: {}}", "an input is written as {input: {name: ...}}."),
        ("{recorder: {}}", ".force: must be three numbers or an expression of t in N, got {recorder}."),
    ],
)
def test_bad_recorded_inputs_are_told(text, says):
    told = problems_of(
        f"gyrod: 1\nbodies: [{{name: x, mass: 1, inertia: [1, 1, 1]}}]\nforces: [{{force: {{body: x, force: {text}}}}}]"
    )
    assert any(says in x and x.startswith("m.yaml:3:") for x in told), told


@pytest.mark.parametrize("bad", [None, 3, "ab", [], [[1], [2, 3]], [None], {}, np.nan, [np.inf], [1e51], [1j]])
def test_a_recorded_input_refuses_what_is_no_list_of_numbers(bad):
    with pytest.raises(gd.ModelError, match=r"^2 problems:") as caught:
        Recorded("m", bad, bad)
    assert [x.split(" ")[2].split("[")[0] for x in caught.value.problems] == ["times", "values"]


def test_recorded_inputs_of_a_file_are_limited():
    def around_x(torque):
        return gd.System([gd.Body("x", 1.0, (1, 1, 1))], forces=[gd.Torque("x", torque)])

    n = MOST_NUMBERS // 2 + 1
    long = Recorded("m", np.arange(n), np.zeros(n), (0, 0, 1))
    with pytest.raises(
        gd.ModelError, match=r"^forces\[0\]\.torque, the recorded input 'm', has 1000002 numbers; a file"
    ):
        files.to_data(around_x(long))
    fields = {"name": "m", "times": [0.0] * n, "values": [0.0] * n}
    data = files.to_data(around_x((0, 0, 1)))
    data["forces"][0]["torque"]["torque"] = {"recorded": fields}
    with pytest.raises(
        gd.ModelError, match=r"torque\.recorded: there are 1000002 numbers; at most 1000000 are allowed"
    ):
        files.from_data(data)


def test_inputs_of_a_stepper_are_written_as_they_are_now():
    bodies = [gd.Body("x", 1.0, (1, 1, 1))]
    live = gd.System(bodies, forces=[gd.Torque("x", Live(Input("m", along=(0, 0, 1)), Settings({"m": 2.5})))])
    there = gd.System(bodies, forces=[gd.Torque("x", Input("m", along=(0, 0, 1), value=2.5))])
    assert files.from_data(files.to_data(live)) == there


def test_every_class_has_an_example_and_every_field_a_kind():
    for group, members in GROUPS.items():
        # What names another file is written as the samples that were read: tests/test_samples.py.
        assert {type(x) for x in EXAMPLES[group]} == {*members} - {SampleFile}, group
        for cls in members:
            for field in fields_of(cls).values():
                assert field.kind.form != "anything", f"{cls.__name__}.{field.name} does not say what it holds"
    known = {c for members in GROUPS.values() for c in members}
    names = (getattr(gd, name) for name in gd.__all__)  # which come when they are asked for
    public = {x for x in names if inspect.isclass(x) and issubclass(x, gd.model.errors.Description)}
    assert public - known == {gd.System, gd.UserForce, gd.CForce}
    assert set(inspect.signature(gd.System).parameters) == {*LISTS, "gravity"}


def test_every_field_of_every_example_is_written_and_read():
    """No field is lost: an example that sets it differs from one that does not."""
    for things in EXAMPLES.values():
        for cls in {type(x) for x in things} - {files.RunOptions}:
            optional = [f.name for f in fields_of(cls).values() if not f.required]
            assert set(optional) <= {f.name for f in dataclasses.fields(cls)}, cls


def test_run_options_are_those_of_simulate():
    names = set(inspect.signature(gd.simulate).parameters)
    mine = set(inspect.signature(files.RunOptions).parameters)
    assert mine - {"until"} <= names
    python_only = {"system", "t_end", "events", "progress"}
    later = {"save", "resume", "view", "block", "checkpoint"}
    assert names - mine <= python_only | later
    text = HOSE.split("run:", maxsplit=1)[0]
    for options in EXAMPLES["run"]:
        again = files.loads(text + "\n" + files.dumps(gd.System(), options).split("\n", 1)[1]).run
        assert again == options
    run = files.loads(text + "run: {until: 1, output: 0.3}").run
    np.testing.assert_allclose(run.options()["output"], [0.0, 0.3, 0.6, 0.9, 1.0])
    assert run.times(0.6)[-1] == 0.6
    assert files.RunOptions(output=[0.1, 0.5]).times(0.3).tolist() == [0.1]
    assert files.RunOptions(output=0.1).options() == {}
    assert files.RunOptions().times(1.0) is None


# --- hypothesis ------------------------------------------------------------------------------------------------------

real = st.floats(-1e3, 1e3)
small = st.floats(1e-2, 1e3)
vectors = st.tuples(real, real, real)
words = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8).filter(
    lambda x: x.strip() and "/" not in x and x != "ground"
)
formulas = st.builds(lambda a, b: f"{a!r} + {b!r}*sin(t)", st.floats(0, 1e3), small)


@st.composite
def systems(draw):
    names = draw(st.lists(words, min_size=1, max_size=4, unique=True))
    bodies = [
        gd.Body(name, draw(small), (a := draw(small), a, draw(st.floats(0.5, 1.5)) * a), draw(vectors),
                tuple(draw(st.floats(-3, 3)) for _ in range(3)), draw(vectors), draw(vectors))
        for name in names
    ]  # fmt: skip
    joints, forces = [], []
    for a, b in zip(["ground", *names], names, strict=False):
        kind = draw(st.sampled_from([gd.Spherical, gd.Revolute, gd.Prismatic, None]))
        if kind is gd.Spherical:
            joints.append(kind(a, b, at=draw(vectors)))
        elif kind is not None:
            axis = draw(st.tuples(*[st.floats(0.1, 1.0)] * 3))
            joints.append(kind(a, b, at=draw(vectors), axis=axis, drive=draw(formulas.map(gd.Expression) | real)))
        forces.append(gd.Force(b, draw(vectors | formulas.map(lambda x: VECTOR((0, x, 1)))), at=draw(vectors)))
    gravity = draw(vectors | formulas.map(lambda x: VECTOR((x, 0, 0))))
    length = draw(small)
    rods = [gd.Rod("a rod", length, draw(st.integers(2, 6)), gd.Circle(length * draw(st.floats(1e-4, 0.4))),
                   gd.Material(draw(st.floats(1, 1e12)), draw(st.floats(-0.9, 0.5)), density=draw(small)))]  # fmt: skip
    try:
        return gd.System(bodies, joints, [] if "a rod" in names else rods, forces, gravity)
    except gd.ModelError:  # inertias that vanish beside the distance of a fixed point
        reject()


@settings(max_examples=30, deadline=None)
@given(systems())
def test_any_system_goes_there_and_back(system):
    for form in ("yaml", "json"):
        again = files.loads(files.dumps(system, format=form)).system
        assert_bitwise(again, system)


@given(st.text(max_size=60) | st.text(alphabet="gyrod: 1\n-[]{},&*!#|>'\"%@`abc.", max_size=60))
def test_any_text_gives_a_model_or_sentences(text):
    try:
        files.loads(text)
    except gd.ModelError as error:
        told = error.problems
        assert told
        assert all(told)


scalars = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5)


def nested(inner):
    keys = st.sampled_from(["a", "circle", "radius"])
    return inner | st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=2)


json_values = nested(nested(scalars))


@given(st.data())
def test_any_value_in_any_field_gives_a_model_or_sentences(data):
    group = data.draw(st.sampled_from([*LISTS, "run"]))
    key, cls = data.draw(st.sampled_from(sorted(classes(group).items())))
    name = data.draw(st.sampled_from(sorted(fields_of(cls))))
    fields = {"name": "n", "a": "x", "b": "ground", "body": "x", "rod": "r", name: data.draw(json_values)}
    fields = {k: v for k, v in fields.items() if k in fields_of(cls)}
    thing = fields if group in PLAIN else {key: fields}
    model = {"gyrod": 1, group: thing if group == "run" else [thing]}
    try:
        files.from_data(model)
    except gd.ModelError as error:
        told = error.problems
        assert all(told)


# --- numbers and units -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12 mm", 0.012), ("0.3 mm", 0.0003), ("2 GPa", 2e9), ("3 kg", 3.0), ("1 g", 1e-3), ("10 N", 10.0),
        ("1 kN m", 1000.0), ("20 ms", 0.02), ("1 h", 3600.0), ("30 deg", math.radians(30.0)), ("0.5 rev", math.pi),
        ("60 rpm", 2 * math.pi), ("5 N/mm", 5000.0), ("7.85 g/cm^3", 7850.0), ("1e-3 kg m^2", 1e-3), ("2 1/m", 2.0),
        ("-1.5e3 m/s^2", -1500.0), ("1 g0", 9.80665), ("3 N*m*s/rad", 3.0), ("4 cm²", 4e-4), ("10 %", 0.1),
        ("1 in", 0.0254), (".5 um", 5e-7), ("5µm", 5e-6), ("1 bar", 1e5), ("1 lbf", 4.4482216152605), ("7", 7.0),
    ],
)  # fmt: skip
def test_quantities_are_rounded_once(text, expected):
    assert quantity(text, None) == expected


@pytest.mark.parametrize(
    ("text", "units", "says"),
    [
        ("12 mm", ("kg",), "'12 mm' has the wrong unit: kg is expected."),
        ("1 g", ("m/s^2",), "g is gram; the standard gravity is g0"),
        ("3 kgs", ("kg",), "'kgs' is not a unit (did you mean 'kg'?)."),
        ("3 m^", ("m",), "'^' is not a unit"),
        ("x mm", ("m",), "is not a quantity"),
        ("1e400 m", ("m",), "is too large"),
        ("1e300 Tm", ("m",), "is too large"),
        ("1e9999 m", ("m",), "is not a unit"),
        ("5 deg", ("m",), "m is expected"),
    ],
)
def test_bad_quantities(text, units, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        quantity(text, units)


def test_units_of_the_fields_are_units():
    for members in GROUPS.values():
        for cls in members:
            for field in fields_of(cls).values():
                for name in field.kind.units or ():
                    unit(name)


def body(fields, rest=""):
    return f"gyrod: 1\nbodies:\n  - {{name: x, {fields}}}\n{rest}"


@pytest.mark.parametrize(
    ("fields", "path", "expected"),
    [
        ("mass: 1e6, inertia: [1, 1, 1]", "mass", 1e6),
        ("mass: .5, inertia: [1, 1, 1]", "mass", 0.5),
        ("mass: 1E-4, inertia: [1, 1, 1]", "mass", 1e-4),
        ("mass: +1.e+3, inertia: [1, 1, 1]", "mass", 1000.0),
        ("mass: 0x10, inertia: [1, 1, 1]", "mass", 16.0),
        ("mass: 010, inertia: [1, 1, 1]", "mass", 10.0),
        ("mass: 0o10, inertia: [1, 1, 1]", "mass", 8.0),
        ("mass: '2 kg', inertia: [1, 1, 1]", "mass", 2.0),
        ("mass: 2*pi, inertia: [1, 1, 1]", "mass", 2 * math.pi),
        ("mass: 1, inertia: [1 kg m^2, 1, 1e4 kg cm^2]", "inertia", np.eye(3)),
        ("mass: 1, inertia: [1, 1, 1], position: [1 cm, 2 mm, 3]", "position", [0.01, 0.002, 3.0]),
        ("mass: 1, inertia: [1, 1, 1], orientation: [0, 0, 90 deg]", "matrix", [[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
        ("mass: 1, inertia: [1, 1, 1], orientation: [0, 0, 0, 1]", "matrix", np.diag([-1, -1, 1])),
        ("mass: 1, inertia: [1, 1, 1], orientation: [[1, 0, 0], [0, 0, -1], [0, 1, 0]]", "matrix",
         [[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
        ("mass: 1, inertia: [1, 1, 1], orientation: {euler: [321, [pi/2, 0, 0]]}", "matrix",
         [[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
        ("mass: 1, inertia: [1, 1, 1], orientation: {along: [0, 2, 0]}", "matrix",
         [[0, 1, 0], [0, 0, 1], [1, 0, 0]]),
    ],
)  # fmt: skip
def test_numbers_in_files(fields, path, expected):
    found = files.loads(body(fields)).system.body("x")
    np.testing.assert_allclose(getattr(found, path), expected, rtol=1e-15, atol=1e-15)


def test_words_of_old_yaml_are_texts():
    text = "gyrod: 1\nbodies:\n" + "".join(
        f"  - {{name: {name}, mass: 1, inertia: [1, 1, 1]}}\n" for name in ("on", "off", "yes", "no", "y", "n", "1:30")
    )
    assert files.loads(text).system.names == ("on", "off", "yes", "no", "y", "n", "1:30")


# --- problems --------------------------------------------------------------------------------------------------------


def test_all_problems_at_once_with_their_places():
    text = """gyrod: 1
gravity: [0, 0]
rods:
  - name: hose
    length: 1
    segment: 20
    section: {circle: {radius: -5 mm}}
    material: {young: 5e6, poisson: 0.7, density: "abc"}
    start: {clampd: {}}
    end: {hinged: {at: [0, 0, x]}}
bodies:
  - {name: bob, inertia: [1, 1, 1]}
  - {name: 7, mass: 1 m, inertia: [1, 1, 5]}
joints:
  - revolute: {a: ground, b: bob, at: [0, 0, 0], axis: [0, 0, 0], drive: 2*pi*q}
  - {fixed: {}, spherical: {}}
  - hinge
sensor: []
run: {until: -1, formulation: euller}
"""
    expected = """
m.yaml:2:10: gravity: must be three numbers or an expression of t in m/s^2, got [0, 0].
m.yaml:6:5: rods[0].segment: the key 'segment' is unknown; Did you mean 'segments'?
m.yaml:7:32: rods[0].section.circle.radius: must be a positive finite number, got -0.005, given as '-5 mm'.
m.yaml:8:51: rods[0].material.density: must be a number in kg/m^3, got 'abc'.
m.yaml:9:13: rods[0].start.clampd: the key 'clampd' is unknown; it can be 'free', 'hinged', 'clamped', 'guided'. Did you
m.yaml:10:31: rods[0].end.hinged.at[2]: the expression 'x' fails: 'x' at column 1 is unknown.
m.yaml:12:5: bodies[0]: mass is missing; it must be a number in kg.
m.yaml:13:12: bodies[1].name: must be a name, got 7; write it in quotes if it is meant as text.
m.yaml:13:21: bodies[1].mass: '1 m' has the wrong unit: kg is expected.
m.yaml:15:74: joints[0].revolute.drive: the expression '2*pi*q' fails: 'q' at column 6 is unknown.
m.yaml:16:5: joints[1]: must be one of fixed, spherical,
m.yaml:17:5: joints[2]: must be one of fixed, spherical,
m.yaml:18:1: sensor: the key 'sensor' is unknown;
m.yaml:19:31: run.formulation: 'euller' is unknown; it can be 'nullspace-quaternion',
""".strip().splitlines()
    found = problems_of(text)
    assert len(found) == len(expected)
    for sentence, begin in zip(found, expected, strict=True):
        first, *rest = begin.split("; Did you")
        assert sentence.startswith(first)
        assert not rest or "Did you" + rest[0] in sentence


@pytest.mark.parametrize(
    ("old", "new", "begins"),
    [
        ("body: bob", "body: bop", "17:26: rods[0].end.hinged.body: end.body = 'bop' is unknown; it can be"),
        ("length: 1 m", "length: 2 m", "11:13: rods[0].length: length = 2 disagrees with the length of initial, 1"),
        ("segments: 10", "segments: 1", "12:15: rods[0].segments: must be an integer from 2 to 1000000, got 1."),
        ("segments: 10", "segments: 1.5", "12:15: rods[0].segments: must be an integer, got 1.5."),
        ("segments: 10", "segments: true", "12:15: rods[0].segments: must be an integer, got true."),
        ("rod: hose", "rod: hos", "23:46: sensors[1].section_sensor.rod: rod = 'hos' is unknown; it can be 'hose'."),
        ("poisson: 0.5", "poisson: 0.6", "14:39: rods[0].material.poisson: poisson = 0.6 must lie in (-1, 0.5]."),
        ("mass: 0.2", "mass: {a: 1}", "7:23: bodies[0].mass: must be a number in kg, got {a}."),
        ("name: tip", "name: bob", "22:26: sensors[0].point_sensor.name: name = 'bob' is borne by bodies[0] and"),
        ("run: {", "run: {dense: 1, ", "25:14: run.dense: must be true or false, got 1."),
        ("gyrod: 1", "gyrod: 2", "1:8: gyrod: 2 is not a known version of the format; it must be 1."),
        ("gyrod: 1", "", "4:1: gyrod is missing; a model begins with 'gyrod: 1'"),
        ("start: {clamped: {}}", "start: clamped", "16:12: rods[0].start: must be one of free, hinged,"),
        ("{circle: {radius: 5 mm}}", "{circle: 5 mm}", "13:23: rods[0].section.circle: must be a set of fields"),
        ("viscosities: [1e3, 1e3]", "viscosities: [1e3]", "18:28: rods[0].damping.viscosities: must be two numbers"),
        ("bend_radius: 5", "bend_radus: 5", "19:13: rods[0].limits: limits = 'bend_radus' is unknown;"),
        ("segments: 10", "segments: 10\n    segments: 11", "13:5: the key 'segments' stands here and in line 12;"),
        ("segments: 10", "segments: 2e6", "10:3: rods: the rods have 2e+06 segments together; at most 1000000 are"),
        ("mass: 0.2", "mass: 1e200", "7:23: bodies[0].mass: 1e+200 is not allowed in a model; numbers up to 1e+50 are"),
        ("mass: 0.2", "mass: sin(t)", "7:23: bodies[0].mass: 'sin(t)' depends on t, but must be a number in kg here."),
        ("mass: 0.2", "mass: .nan", "7:23: .nan is not allowed in a model; numbers must be finite."),
        ("mass: 0.2", "mass: !!python/object/apply:os.system [ls]", "7:23: 'tag:yaml.org,2002:python/object/apply:os"),
        ("mass: 0.2", "mass: *nothing", "7:23: *nothing refers to nothing: no &nothing stands before it."),
        ("inertia: [", "inertia: &i [*i, ", "7:41: *i refers to what it is part of."),
        ("radius: 5 mm", "radius: max(0.1, s)", "13:32: rods[0].section.circle.radius: the expression 'max(0.1' fails: "
         "the parenthesis of max at column 1 is not closed. An expression with a comma needs quotes."),
        ("[0, 0, -9.81]", "[0, 0, ramp(t, 0, 1)]", "4:10: gravity: must be three numbers or an expression of t in "
         "m/s^2, got [0, 0, 'ramp(t', 0, '1)']; an expression with a comma needs quotes."),
        ("straight: {start: [0, 0, 0], end: [0, 1, 0]}", "bent: {curvature: [1e50*s, 0, 0]}",
         "15:33: rods[0].initial.bent.curvature: initial.curvature turns the frame by up to 5.31e+49 rad along the"),
        ("run:", "---\nrun:", "25:1: a file holds one model; '---' begins a second one."),
        ("    length", "\tlength", "11:1: tabs cannot indent YAML; use spaces."),
        ("gravity: [0, 0, -9.81]", "gravity: [0, 0", "6:7: while parsing a flow sequence: did not find expected"),
        ("bodies:", "? [a, b]\n: 1\nbodies:", "6:3: a key must be a name."),
        ("sensors:", "forces: [user_force: {body: bob}]\nsensors:",
         "21:10: forces[0].user_force: user_force holds a function and exists in Python only."),
        ("rods:", "rods: 3\nbends:", "9:7: rods: must be a list, each member with '- ' before it, got 3."),
        ("[0, 0, -9.81]", "{input: {nam: g}}", "4:18: gravity.input: name is missing; it must be a name."),
        ("rtol: 1e-4", "rtol: -1", "25:25: run.rtol: must be a positive finite number, got -1."),
        ("output: 10 ms", "output: [1, 0.5]", "25:54: run.output: must be a time between rows, or increasing"),
    ],
)  # fmt: skip
def test_problems_of_an_edited_file(old, new, begins):
    assert old in HOSE
    found = problems_of(HOSE.replace(old, new, 1))
    assert found[0].startswith(f"m.yaml:{begins}"), found


def test_names_of_nothing_are_told_with_the_rest():
    text = """gyrod: 1
bodies: [{name: bob, mass: 0}]
rods: [{name: hose, start: {hinged: {body: bop}}}]
joints: [{fixed: {a: ground, b: bab}}]
forces: [{drag: {rod: bob}}, {cable: {a: hoses, b: hose}}]
sensors: [{point_sensor: {name: x, on: 3}}, {point_sensor: {name: y, on: z}}]
"""
    found = problems_of(text)
    places = [
        "3:44: rods[0].start.hinged.body: 'bop' is unknown", "4:33: joints[0].fixed.b: 'bab' is unknown",
        "5:23: forces[0].drag.rod: 'bob' is unknown; it can be 'hose'.", "5:42: forces[1].cable.a: 'hoses' is",
        "6:74: sensors[1].point_sensor.on: 'z' is unknown", "6:40: sensors[0].point_sensor.on: must be a name",
    ]  # fmt: skip
    for place in places:
        assert any(x.startswith(f"m.yaml:{place}") for x in found), (place, found)
    told = problems_of("gyrod: 2\nforces: [{drag: {rod: x}}]")
    assert told[1] == "m.yaml:2:23: forces[0].drag.rod: 'x' is unknown: there are no rods."


def test_data_of_python():
    data = {"gyrod": 1, "gravity": (0, 0, np.float64(-1)), "bodies": ({"name": "x", "mass": 1, "inertia": np.ones(3)},)}
    assert files.from_data(data).gravity.tolist() == [0.0, 0.0, -1.0]
    for bad in (10**400, math.nan, math.inf, None, [], "x"):
        data["gravity"] = (0, 0, bad)
        with pytest.raises(gd.ModelFileError, match=r"^gravity"):
            files.from_data(data)


def test_details_of_problems():
    with pytest.raises(gd.ModelFileError) as caught:
        files.loads(HOSE.replace("mass: 0.2", "mass: -1"))
    (detail,) = caught.value.details
    assert (detail.line, detail.column, detail.path) == (7, 23, ("bodies", 0, "mass"))
    assert caught.value.problems == ("7:23: bodies[0].mass: must be a positive finite number, got -1.0.",)
    assert isinstance(caught.value, gd.ModelError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.problems, again.details) == (caught.value.problems, caught.value.details)
    many = "gyrod: 1\nbodies: [" + "{name: 1}, " * 100 + "]"
    told = problems_of(many)
    assert len(told) == MOST_PROBLEMS + 1
    assert told[-1].startswith("and ")
    with pytest.raises(gd.ModelFileError, match=r"^bodies\[0\]: mass is missing"):
        files.from_data({"gyrod": 1, "bodies": [{"name": "x", "inertia": [1, 1, 1]}]})


# --- what strangers may send -----------------------------------------------------------------------------------------


def laughs(levels):
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (laughs(9), "it holds more than 1000000 values, what aliases repeat included"),
        ("[" * 1000, "nested more than 32 levels deep"),
        ("{a: " * 1000, "nested more than 32 levels deep"),
        ("- " * 1000, "nested more than 32 levels deep"),
        ("a: &a [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]\nb: [[[[[[[[[[[[[[[[[*a]]]]]]]]]]]]]]]]]", "nested more than 32"),
        ("a: " + "x" * 20_000, "a text of 20000 characters is too long"),
        ("a: " + "1" * 5000, "is too large"),
        ("# " + "x" * reading.MOST_BYTES, "at most 10000000 are allowed"),
        ("", "it is empty; a model begins with 'gyrod: 1'"),
        ("# nothing", "it is empty"),
        ("3", "a model is made of fields and begins with 'gyrod: 1', got 3"),
        ("\x00", "a character here cannot be part of a text file"),
        ("%YAML 1.2\n%TAG ! tag:x\n--- !a b", "is a tag"),
        ("gyrod: 1\nrods: [{name: a, segments: 600000}, {name: b, segments: 600000}]", "at most 1000000 are allowed"),
        ("gyrod: 1\nrods: [{name: '\ud800'}]", "it cannot be read"),
    ],
    ids=lambda x: x[:20],
)
def test_limits(text, says):
    told = problems_of(text)
    assert says in told[0]
    assert len(told[0]) < 400


def test_limits_of_numbers(monkeypatch):
    monkeypatch.setattr(reading, "MOST_NODES", 1000)
    assert "it holds more than 1000 values" in problems_of("gyrod: 1\nbodies: [" + "0, " * 1001 + "]")[0]
    monkeypatch.setattr(building, "MOST_OBJECTS", 100)
    text = "gyrod: 1\nbodies: [" + "{}, " * 60 + "]\nforces: [" + "{}, " * 60 + "]"
    assert problems_of(text) == ("m.yaml:1:1: there are 120 objects; at most 100 are allowed.",)


def test_aliases_are_allowed_within_reason():
    text = "gyrod: 1\nbodies:\n  - {name: a, mass: &m 2, inertia: &j [1, 1, 1]}\n  - {name: b, mass: *m, inertia: *j}\n"
    assert files.loads(text).system.body("b").mass == 2.0


def test_bytes_of_a_file(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + HOSE.encode())
    assert gd.load(path) == files.loads(HOSE).system
    path.write_bytes(HOSE.replace("\n", "\r\n").encode())
    assert gd.load(path) == files.loads(HOSE).system
    path.write_bytes(HOSE.encode().replace(b"name: bob", b"name: b\xe4b"))
    with pytest.raises(gd.ModelFileError, match=r"m\.yaml:7:13: the byte 0xe4 is not UTF-8; save the file as text\."):
        gd.load(path)
    path.write_bytes(b" " * (reading.MOST_BYTES + 5))
    with pytest.raises(gd.ModelFileError, match="at most 10000000 are allowed"):
        gd.load(path)


def test_names_of_files(tmp_path):
    system = files.loads(HOSE).system
    for name in ("m.yaml", "m.yml", "m.JSON"):
        system.save(tmp_path / name)
        assert gd.load(str(tmp_path / name)) == system
    json.loads((tmp_path / "m.JSON").read_text(encoding="utf-8"))
    refused = {
        "m.txt": "must end in .yaml",
        "m.urdf": "gd.load",
        "m.h5": "gd.open",
        "m": "is not the name of a model file",
    }
    for name, says in refused.items():
        with pytest.raises(ValueError, match=says):
            system.save(tmp_path / name)
        with pytest.raises(ValueError, match="it cannot be read" if name == "m.urdf" else says):
            gd.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        gd.load(tmp_path / "missing.yaml")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(OSError, match="is a folder"):
        gd.load(tmp_path / "folder.yaml")
    with pytest.raises(ValueError, match="format = 'xml' is unknown"):
        files.dumps(system, format="xml")
    with pytest.raises(ValueError, match="must be a str"):
        files.loads(b"")


def test_text_of_a_saved_file():
    rod = gd.Rod("left arm", 1.0, 4, ROUND, STEEL, gd.Clamped(), gd.Hinged("bob"), rest_stretch=gd.Expression("1+t"))
    bob = gd.Body("bob", 0.2, (1e-4, 1e-4, 1e-4), (1, 0, -0.0))
    expected = """gyrod: 1
gravity: [0, 0, "-t"]

bodies:
  - {name: bob, mass: 0.2, inertia: [1.0e-4, 1.0e-4, 1.0e-4], position: [1, 0, -0.0]}

rods:
  - name: left arm
    length: 1
    segments: 4
    section: {circle: {radius: 0.005}}
    material: {young: 2.1e+11, poisson: 0.3, density: 7850}
    start: {clamped: {}}
    end: {hinged: {body: bob}}
    rest_stretch: "1+t"

forces:
  - point_mass: {rod: left arm, at: 0.5, mass: 1, name: "true"}

run: {until: 2}
"""
    forces = [gd.PointMass("left arm", 0.5, 1.0, name="true")]
    system = gd.System([bob], rods=[rod], forces=forces, gravity=VECTOR((0, 0, "-t")))
    assert files.dumps(system, files.RunOptions(until=2.0)) == expected


def test_saved_numbers_are_numbers_for_every_reader():
    import yaml

    def leaves(x):
        inner = x.values() if isinstance(x, dict) else x if isinstance(x, list) else None
        return [x] if inner is None else [z for y in inner for z in leaves(y)]

    for path in MODELS:
        found = files.load_model(path)
        data = files.to_data(found.system, found.run)
        assert yaml.safe_load(files.dumps(found.system, found.run)) == data
        assert not [x for x in leaves(data) if isinstance(x, str) and reading._NUMBER.fullmatch(x)]


# --- for editors -----------------------------------------------------------------------------------------------------


def valid(schema, value, root):
    """Whether a value fits a schema; of JSON Schema what is used here."""
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        if not valid(target, value, root):
            return False
    kinds = {"object": dict, "array": list, "string": str, "number": int | float, "integer": int, "boolean": bool,
             "null": type(None)}  # fmt: skip
    if "type" in schema and (not isinstance(value, kinds[schema["type"]]) or
                             (isinstance(value, bool) and schema["type"] != "boolean")):  # fmt: skip
        return False
    if "anyOf" in schema and not any(valid(x, value, root) for x in schema["anyOf"]):
        return False
    if ("enum" in schema and value not in schema["enum"]) or ("const" in schema and value != schema["const"]):
        return False
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        return False
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf):
            return False
        return all(valid(schema.get("items", {}), x, root) for x in value)
    if isinstance(value, dict):
        known = schema.get("properties", {})
        if not schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", math.inf):
            return False
        if not set(schema.get("required", ())) <= set(value):
            return False
        extra = schema.get("additionalProperties", True)
        if extra is False and not set(value) <= set(known):
            return False
        return all(valid(known.get(k, extra if isinstance(extra, dict) else {}), x, root) for k, x in value.items())
    return True


def test_schema_accepts_what_is_read_and_refuses_what_is_not():
    schema = files.json_schema()
    assert json.loads(json.dumps(schema)) == schema
    assert schema["$schema"].startswith("https://json-schema.org/draft/2020-12")
    for path in MODELS:
        root, _ = reading.compose(path.read_text(encoding="utf-8").replace("\\ud83d\\ude00", ""))
        assert valid(schema, reading.plain(root), schema), path.name
        found = files.load_model(path)
        assert valid(schema, files.to_data(found.system, found.run), schema), path.name
    edits = [("mass: 0.2", "mass: -1"), ("mass:", "mas:"), ("circle", "circel"), ("segments: 10", "segments: ten"),
             ("rtol: 1e-4", "rtol: [1]"), ("gyrod: 1", "gyrod: 7"), ("[0, 0, -9.81]", "[0, 0]"), ("name: bob, ", ""),
             ("quantity: velocity", "quantity: speed"), ("clamped: {}", "clamped: {}, free: {}")]  # fmt: skip
    for old, new in edits:
        root, _ = reading.compose(HOSE.replace(old, new, 1))
        assert not valid(schema, reading.plain(root), schema), new


def test_schema_tells_what_things_are():
    schema = files.json_schema()
    definitions = schema["$defs"]
    rod = definitions["Rod"]
    assert rod["description"].startswith("A rod: its sections")
    assert rod["properties"]["segments"]["description"] == "Number of segments, at least 2, or of elements, at least 1."
    assert rod["properties"]["strain"]["enum"] == ["cosserat", "stretch", "kirchhoff", "inextensible"]
    assert rod["properties"]["strain"]["default"] == "cosserat"
    assert rod["required"] == ["name"]
    assert "[kg/m^3]" in definitions["Material"]["properties"]["density"]["description"]
    for group, members in GROUPS.items():
        for cls in members:
            assert definitions[cls.__name__]["description"], cls
            assert set(definitions[cls.__name__].get("properties", {})) == set(fields_of(cls))
        if group not in PLAIN:
            assert set(definitions[f"{group}_of_a_model"]["properties"]) == set(classes(group))

    def references(x):
        if isinstance(x, dict):
            return ([x["$ref"]] if "$ref" in x else []) + [r for y in x.values() for r in references(y)]
        return [r for y in x for r in references(y)] if isinstance(x, list) else []

    assert {r.removeprefix("#/$defs/") for r in references(schema)} <= set(definitions)


# --- the manual ------------------------------------------------------------------------------------------------------

MANUAL = Path(__file__).parent.parent / "docs" / "model-files.md"


def test_the_manual_lists_all_keys():
    """What fails here is mended by replacing the tables of the manual with what `reference` returns."""
    text = MANUAL.read_text(encoding="utf-8")
    assert text.endswith(reference())
    for name in (*FUNCTIONS, *CONSTANTS):
        assert re.search(rf"`[^`]*\b{name}\b[^`]*`", text), name
    units = re.search(r"\| alone \| (.*?) \|", text)[1]
    assert set(re.findall(r"`([^`]+)`", units)) | {"°"} == set(_SINGLE)
    bases = re.search(r"\| with prefixes .*? \| (.*?) \|", text)[1]
    assert set(re.findall(r"`([^`]+)`", bases)) == set(_PREFIXED)


def test_examples_of_the_manual_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = MANUAL.read_text(encoding="utf-8")
    models = re.findall(r"```yaml\n(gyrod: 1.*?)```", text, re.DOTALL)
    blocks = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", text, re.DOTALL)
    assert models
    assert blocks
    for example in models:
        found = files.loads(example)
        assert_round_trip(found.system, found.run)
        assert gd.simulate(found.system, 1e-3, rtol=1e-3).t[-1] == 1e-3
    for code, expected in blocks:
        exec(code, {})
        assert capsys.readouterr().out.split() == expected.split()
