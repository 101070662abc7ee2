"""Names of the version before: each works, and its warning gives the new one, which does not warn."""

import inspect
import warnings

import numpy as np
import pytest

import gyrod as gd
from gyrod import look, problems
from gyrod.motion.readings import quantity

ROBOT = """<robot name="pendulum"><link name="world"/><link name="bob">
<inertial><origin xyz="0 0 -1"/><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
<joint name="pin" type="continuous"><parent link="world"/><child link="bob"/><axis xyz="0 1 0"/></joint></robot>"""


@pytest.fixture
def attitude():
    t = np.linspace(0.0, 1.0, 11)
    return gd.attitude(t, np.tile([0.0, 0.0, 0.5], (11, 1)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    gd.study(
        problems.get("lang-a").system,
        vary={"top.mass": [10.0, 11.0]},
        outputs={"x": "top.position"},
        t_end=0.01,
        engine="serial",
        folder=folder,
    )
    return folder


def warned(old, new, call):
    """What the old name returns; its warning names both and points here."""
    with pytest.warns(DeprecationWarning, match="will be removed in the next version") as caught:
        result = call()
    assert [str(w.message) for w in caught] == [f"{old} will be removed in the next version; write {new}."]
    assert caught[0].filename == __file__
    return result


def test_models_are_loaded(tmp_path):
    new = gd.load(ROBOT, positions={"pin": 0.5})
    assert warned("gd.read_urdf", "gd.load", lambda: gd.read_urdf(ROBOT, positions={"pin": 0.5})) == new
    path = tmp_path / "robot.URDF"
    path.write_text(ROBOT)
    assert gd.load(path, positions={"pin": 0.5}) == new
    path.rename(tmp_path / "robot.xml")
    assert gd.load(str(tmp_path / "robot.xml"), gravity=(0, 0, -1.6)).gravity == pytest.approx([0, 0, -1.6])


def test_options_of_urdf_are_refused_elsewhere(tmp_path):
    path = tmp_path / "model.yaml"
    with pytest.raises(ValueError, match=r"^base = 'free' is for URDF; .*model\.yaml' is a model file"):
        gd.load(path, base="free")


def test_studies_are_opened(folder):
    new = gd.open(folder)
    assert isinstance(new, gd.Study)
    old = warned("gd.open_study", "gd.open", lambda: gd.open_study(folder))
    np.testing.assert_array_equal(old["x"], new["x"])
    with pytest.raises(ValueError, match=r"^system goes with a result file; .* is a folder"):
        gd.open(folder, problems.get("lang-a").system)


def test_motions_are_opened(tmp_path):
    system = problems.get("lang-a").system
    gd.simulate(system, 0.01).save(tmp_path / "top.h5")
    assert isinstance(gd.open(tmp_path / "top.h5"), gd.Motion)
    assert isinstance(gd.open(file=tmp_path / "top.h5", system=system)["top"], gd.BodyTrack)


@pytest.mark.parametrize(
    ("old", "new"),
    [("quaternions", "quaternion"), ("matrices", "matrix"), ("rotation_vectors", "rotation_vector")],
)
def test_words_of_an_attitude(attitude, old, new):
    value = warned(f"Attitude.{old}", f"Attitude.{new}", lambda: getattr(attitude, old))
    np.testing.assert_array_equal(value, getattr(attitude, new))


def test_rotation_of_an_attitude(attitude):
    old = warned("Attitude.as_rotation()", "Attitude.rotation", lambda: attitude.as_rotation())
    np.testing.assert_array_equal(old.as_matrix(), attitude.rotation.as_matrix())
    np.testing.assert_array_equal(attitude.directors, attitude.matrix)
    with pytest.raises(AttributeError, match="'Attitude' object has no attribute 'quaternionz'"):
        _ = attitude.quaternionz


def test_an_attitude_kept_by_the_version_before(attitude):
    state = dict(vars(attitude))
    state["quaternions"] = state.pop("quaternion")
    again = object.__new__(gd.Attitude)
    again.__setstate__(state)
    np.testing.assert_array_equal(again.quaternion, attitude.quaternion)
    assert "quaternions" in state  # what was given is left alone


def test_the_same_words_of_bodies_rods_and_attitudes(attitude):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        body = gd.simulate(problems.get("lang-a").system, 0.01)["top"]
        hose = gd.Rod("hose", 1.0, 3, gd.Circle(0.01), gd.Material(5e6, poisson=0.5, density=1100.0))
        rod = gd.simulate(gd.System(rods=[hose]), 0.01)["hose"]
        for one in (attitude, body):
            assert one.rotation_vector.shape == (*one.quaternion.shape[:-1], 3)
            np.testing.assert_allclose(gd.rotations.exp(one.rotation_vector), one.quaternion, atol=1e-14)
            np.testing.assert_array_equal(one.matrix, one.directors)
            np.testing.assert_allclose(one.rotation.as_matrix(), one.matrix, atol=1e-14)
    np.testing.assert_array_equal(rod.matrices, rod.directors)
    np.testing.assert_allclose(gd.rotations.exp(rod.rotation_vectors), rod.quaternions, atol=1e-14)


def test_the_rotation_of_a_joint(tmp_path):
    motion = gd.simulate(problems.get("slider-crank").system, 0.05)
    joint = motion.joints[0]
    np.testing.assert_array_equal(
        warned("JointTrack.rotation", "JointTrack.quaternion", lambda: joint.rotation), joint.quaternion
    )
    state = {"rotation" if name == "quaternion" else name: x for name, x in vars(joint).items()}
    again = object.__new__(gd.JointTrack)
    again.__setstate__(state)
    np.testing.assert_array_equal(again.quaternion, joint.quaternion)
    named = motion.system.with_({"joints[0].name": "pin"})
    with pytest.warns(DeprecationWarning, match=r"^pin\.rotation will be .* write pin\.quaternion\.$"):
        old = quantity("pin.rotation", named)
    assert (old.kind, old.name, old.field) == ("joint", "pin", "quaternion")


def test_colour_of_films(tmp_path):
    motion = gd.simulate(problems.get("lang-a").system, 0.01)
    for call, name in ((motion.animate, "animate"), (lambda *a, **k: look.animate(motion, *a, **k), "animate")):
        with (
            pytest.warns(
                DeprecationWarning, match=rf"^colour= of {name} will be removed in the next version; write color='x'\.$"
            ),
            pytest.raises(ValueError, match=r"^color = 'x' is unknown"),
        ):
            call(tmp_path / "film.gif", colour="x")
        with pytest.raises(TypeError, match="unexpected keyword argument 'colouur'"):
            call(tmp_path / "film.gif", colouur="x")


def test_what_of_plots_of_studies(folder):
    study = gd.open(folder)
    with (
        pytest.warns(DeprecationWarning, match=r"^kind= of Study\.plot will .* write what='x'\.$"),
        pytest.raises(ValueError, match=r"^what = 'x' is unknown"),
    ):
        study.plot(kind="x")


def test_result_classes_are_importable():
    names = "BodyTrack RodTrack JointTrack Energy Drift MotionStats EventRecord Progress"
    for name in names.split():
        assert name in gd.__all__
        assert isinstance(getattr(gd, name), type)


#: Classes of results: gyrod makes them, and nobody else.
RESULTS = """
Approach Attitude AttitudeStats BodyState BodyTrack ClipTrack Clips Comparison ContactTrack Contacts Distances Drift
Energy Envelope
ErrorEstimate ErrorReport EventRecord Fit Hanging Jacobian JointTrack MassMatrix Modes Motion MotionStats Ode Path
PathEvent Progress Refinement Rest RodTrack Route SobolIndices Stepper Study StudyProgress Trial
"""
#: Functions of which the arguments that are missing come first, and old names that will go.
OTHERS = [
    "compare",
    "equilibrium",
    "follow",
    "modes",
    "fit",
    "ode",
    "refine",
    "simulate",
    "stepper",
    "study",
    "open_study",
    "read_urdf",
]


def arguments(call):
    found = inspect.signature(call).parameters.values()
    return [x.name for x in found if x.kind in (x.POSITIONAL_OR_KEYWORD, x.KEYWORD_ONLY) and len(x.name) > 3]


def misspelt():
    for name in gd.__all__:
        call = getattr(gd, name)
        error = isinstance(call, type) and issubclass(call, BaseException)
        if callable(call) and not error and name not in (*RESULTS.split(), *OTHERS):
            yield from (pytest.param(call, argument, id=f"{name}-{argument}") for argument in arguments(call)[-1:])


@pytest.mark.parametrize(("call", "argument"), [*misspelt()])
def test_misspelt_arguments_are_corrected(call, argument):
    wrong = argument[:-2] + argument[-1]
    with pytest.raises(TypeError, match=rf"unexpected keyword argument '{wrong}'\. Did you mean '{argument}'\?$"):
        call(**{wrong: None})


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda top: gd.Formulation(indx=2), "'indx'. Did you mean 'index'?"),
        (lambda top: gd.compare(top, 1.0, progres=True), "'progres'. Did you mean 'progress'?"),
        (lambda top: gd.stepper(top, recod=True), "'recod'. Did you mean 'record'?"),
        (lambda top: gd.simulate(top, 0.01, formulatin="euler"), "'formulatin'. Did you mean 'formulation'?"),
        (lambda top: gd.simulate(top, 0.01).html("x.html", titel="x"), "'titel'. Did you mean 'title'?"),
        (lambda top: gd.simulate(top, 0.01).animate("x.gif", sped=2.0), "'sped'. Did you mean 'speed'?"),
        (lambda top: gd.modes(top, eror="none"), "'eror'. Did you mean 'error'?"),
    ],
)
def test_misspelt_arguments_of_functions(call, sentence):
    with pytest.raises(TypeError) as caught:
        call(problems.get("lang-a").system)
    assert str(caught.value).endswith(f"got an unexpected keyword argument {sentence}")
