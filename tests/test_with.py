"""Changed copies: paths to every number of a model, checked anew, all problems at once."""

from __future__ import annotations

import pickle
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gyrod as gd
from gyrod.model.errors import Derived, Description

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)


def system() -> gd.System:
    hose = gd.Rod(
        "hose", segments=8, section=gd.Circle(radius=5e-3), material=RUBBER, damping=gd.Damping(extension=0.1),
        initial=gd.Straight((0, 0, 0), (0, 1, 0)), start=gd.Clamped("ground"), end=gd.Hinged("bob", at=(0, 0, 0.05)),
        limits={"bend_radius": 0.01},
    )  # fmt: skip
    bob = gd.Body("bob", mass=0.2, inertia=(1e-4, 1e-4, 1e-4), position=(0, 1.0, -0.05))
    odd = gd.Body("a.b[0]", mass=2.0, inertia=(1, 1, 1), position=(5, 0, 0))
    wheel = gd.Body("wheel", mass=1.0, inertia=(1, 1, 1), position=(3, 0, 0))
    joints = [
        gd.Revolute("ground", "wheel", at=(3, 0, 0), axis=(0, 0, 2), stiffness=2.0, limits=(-1.0, 2.0), name="hinge"),
        gd.Distance("ground", "a.b[0]", at=(5, 0, 1), to=(5, 0, 0)),
    ]
    forces = [
        gd.SpringDamper("ground", "wheel", at_a=(0, 0, 1), stiffness=3.0),
        gd.RodLoad("hose", force=(0, 0, -1), name="load"),
        gd.PlaneObstacle((0, 0, -5), (0, 0, 1), stiffness=1e4, smoothing=1e-4, name="floor"),
    ]
    sensors = [gd.PointSensor("imu", "bob", at=(0, 0, 0.01)), gd.SectionSensor("cut", "hose", 0.5)]
    return gd.System([bob, odd, wheel], joints, [hose], forces, sensors=sensors)


def test_many_changes_at_once_leave_the_rest_and_the_original_alone():
    before, frozen = system(), pickle.dumps(system())
    after = before.with_(
        {
            "hose.material.young": 2e6, "bob.mass": 0.3, "forces[0].stiffness": 4.0, "hose.limits.bend_radius": 0.02,
            "load.force[2]": -2.0, "joints[1].length": 1.0, "hinge.damping": 0.5, "a.b[0].mass": 7.0, "cut.at": 0.25,
            "floor.point[-1]": -6.0, "hose.damping.extension": 0.2, "bodies[2].mass": 8.0, "bob.inertia[0, 0]": 1.1e-4,
        },
        gravity=(0, 0, -1.62),
    )  # fmt: skip
    rod = after.rod("hose")
    assert (rod.material.young, rod.material.density, rod.damping.extension) == (2e6, 1100.0, 0.2)
    assert rod.material.shear_modulus == 2e6 / 3.0  # it follows
    assert rod.limits["bend_radius"] == 0.02
    assert [b.mass for b in after.bodies] == [0.3, 7.0, 8.0]
    assert after.body("bob").inertia[0, 0] == 1.1e-4
    assert after.forces[0].stiffness == 4.0
    assert after.forces[1].force.tolist() == [0.0, 0.0, -2.0]
    assert after.forces[2].point.tolist() == [0.0, 0.0, -6.0]
    assert (after.joint("hinge").damping, after.joints[1].length, after.sensors[1].at) == (0.5, 1.0, 0.25)
    assert after.gravity.tolist() == [0.0, 0.0, -1.62]
    assert before == system() == pickle.loads(frozen)
    assert after.rod("hose").initial is before.rod("hose").initial  # what stays is shared


def test_every_path_leads_to_its_number_and_back():
    whole = system()
    paths = whole.paths()
    assert {"bob.mass", "a.b[0].mass", "hose.material.young", "forces[0].stiffness", "joints[1].to", "imu.at"} < {
        *paths
    }
    assert "hose.material.shear_modulus" not in paths  # derived
    assert "hose.length" not in paths
    for path, value in paths.items():
        assert np.array_equal(whole.get(path), value)
        assert whole.with_({path: value}) == whole, path
        if np.ndim(value):
            index = ", ".join("0" * np.ndim(value))
            assert whole.get(f"{path}[{index}]") == np.asarray(value)[(0,) * np.ndim(value)]


def test_what_follows_from_others_follows_anew():
    rod = system().rod("hose")
    assert isinstance(rod.length, Derived)
    longer = rod.with_(initial=gd.Straight((0, 0, 0), (0, 3, 0)), end=gd.Free())
    assert longer.length == 3.0
    assert RUBBER.with_(poisson=None, shear_modulus=1e6).shear_modulus == 1e6
    assert RUBBER.with_(young=3e6).shear_modulus == 1e6
    assert system().get("hose.length") == 1.0


def descriptions(part):
    if isinstance(part, Description):
        yield part
        for field in fields(part):
            yield from descriptions(getattr(part, field.name))
    elif isinstance(part, tuple):
        for member in part:
            yield from descriptions(member)


@pytest.mark.parametrize("part", list(descriptions(system())), ids=lambda p: type(p).__name__)
def test_every_description_copies_itself_and_refuses_unknown_fields(part):
    assert part.with_() == part
    assert part.with_({}) == part
    for field in fields(part):
        if not isinstance(getattr(part, field.name), Derived):
            assert part.with_({field.name: getattr(part, field.name)}) == part
    with pytest.raises(gd.ModelError, match="path = 'nonsense': 'nonsense' is unknown"):
        part.with_(nonsense=1)


def test_copies_of_parts():
    rod = system().rod("hose")
    assert rod.with_(segments=40).segments == 40
    assert rod.with_({"material.young": 1e6, "section.radius": 1e-2}).section.radius == 1e-2
    body = gd.Body("b", 1.0, (1, 1, 1), orientation=(0.1, 0.2, 0.3))
    assert np.array_equal(body.with_(mass=2.0).orientation, body.orientation)  # to the last bit


def test_members_are_replaced_as_a_whole_too():
    other = gd.Body("bob", mass=1.0, inertia=(1, 1, 1), position=(0, 1.0, -0.05))
    assert system().with_({"bob": other}).body("bob") == other
    assert system().with_({"hose.damping": None}).rod("hose").damping is None
    assert system().with_(sensors=[]).sensors == ()
    assert system().with_({"forces[0]": gd.Torque("wheel", (0, 0, 1))}).forces[0].torque.tolist() == [0, 0, 1]


def test_joints_of_an_assembled_system_stay_where_they_sit():
    bar = gd.Body("bar", 1.0, (1, 1, 1), position=(1, 0, 0.1))
    rough = gd.System(
        [bar],
        [gd.Revolute("ground", "bar", at_a=(0, 0, 0), at_b=(-1, 0, 0), axis=(0, 1, 0), name="hinge")],
    )
    whole = gd.assemble(rough.with_({"bar.shape": gd.Sphere(0.1)}))
    assert whole.attachments is not None
    assert whole.body("bar").shape == gd.Sphere(0.1)  # assembling moves bodies and changes nothing else of them
    heavier = whole.with_({"bar.mass": 2.0, "hinge.damping": 0.1})
    heavier.check_consistent()
    for a, b in zip(whole.attachments, heavier.attachments, strict=True):
        assert np.allclose(a.at_b, b.at_b, rtol=0, atol=1e-12)
    assert whole.with_({"bar.mass": 2.0}).attachments[0] is whole.attachments[0]


def test_a_system_with_junctions_changes_its_original():
    a = system().rod("hose").with_(start=gd.Hinged(), end=gd.Hinged("other", at="start"), limits=None)
    b = a.with_(name="other", initial=gd.Straight((0, 1, 0), (0, 1, 1)), start=gd.Free(), end=gd.Free())
    whole = gd.System(rods=[a, b])
    changed = whole.assembled().with_({"hose.material.young": 1e6})
    assert changed == whole.with_({"hose.material.young": 1e6})
    assert changed.junctions


# --- bad input -------------------------------------------------------------------------------------------------------

WRONG = {
    "hose.materal.young": "'materal' is unknown; of Rod 'hose' it can be",
    "bop.mass": "'bop' is unknown; in a system it can be 'bob', 'a.b[0]',",
    "forces[7].stiffness": "7 is not an index; there are 3, counted from 0.",
    "forces.stiffness": "'stiffness' is not an index",
    "bob.mass.x": "0.2 has no 'x'; end the path there",
    "hose.stiffness[2]": "None has no 2; end the path there",
    "hose.limits.stres": "'stres' is unknown",
    "bob..mass": "cannot be read at '..mass'",
    "bob[": "cannot be read at '['",
    "": "must be text such as 'bob.mass'",
    3: "path = 3 must be text",
}


@pytest.mark.parametrize(("path", "sentence"), list(WRONG.items()), ids=list(map(str, WRONG)))
def test_paths_that_lead_nowhere_are_told(path, sentence):
    with pytest.raises(gd.ModelError) as error:
        system().with_({path: 1.0})
    assert sentence in str(error.value)
    with pytest.raises(gd.ModelError) as error:
        system().get(path)
    assert sentence in str(error.value)


def test_suggestions():
    for path, near in (("hose.materal.young", "material"), ("bop.mass", "bob"), ("gravty", "gravity")):
        with pytest.raises(gd.ModelError, match=rf"Did you mean '{near}'\?"):
            system().get(path)


def test_all_problems_come_at_once():
    with pytest.raises(gd.ModelError) as error:
        system().with_(dict.fromkeys(WRONG, 1.0))
    assert len(error.value.problems) == len(WRONG)
    with pytest.raises(gd.ModelError) as error:
        system().with_({"bob.mass": -1.0, "hose.material.young": -2.0, "hose.section.radius": 0.0, "wheel.inertia": 3})
    text = str(error.value)
    assert len(error.value.problems) == 4
    for part in ("Body 'bob': mass", "Rod 'hose', material: Material: young", "Rod 'hose', section: Circle: radius"):
        assert part in text
    with pytest.raises(gd.ModelError) as error:  # found by the system
        system().with_({"imu.on": "nobody", "load.rod": "nothing"})
    assert len(error.value.problems) == 2


@pytest.mark.parametrize("pair", [("bob.position", "bob.position[0]"), ("bob.position[0]", "bob.position")])
def test_changes_that_overlap_are_refused(pair):
    with pytest.raises(gd.ModelError, match="give one of them"):
        system().with_(dict.fromkeys(pair, 1.0))
    with pytest.raises(gd.ModelError, match="changed twice"):
        system().with_({"bob.mass": 1.0, "bodies[0].mass": 2.0})


@pytest.mark.parametrize("changes", [3, "bob.mass", [("bob.mass", 1)]])
def test_changes_must_be_a_dictionary(changes):
    with pytest.raises(ValueError, match="changes must be a dictionary"):
        system().with_(changes)


WHOLE = system()
junk = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.lists(st.floats(), max_size=4)
)


@given(path=st.sampled_from(sorted(WHOLE.paths())), value=junk)
def test_junk_at_a_path_is_a_model_error_or_a_system(path, value):
    told: tuple[str, ...] = ("fine.",)
    try:
        WHOLE.with_({path: value})
    except gd.ModelError as error:
        told = error.problems
    assert told
    assert all(sentence.endswith((".", "?", ")")) for sentence in told)


@given(st.text(alphabet="abhose.[]0-1, ", max_size=12))
def test_any_text_is_a_path_or_a_model_error(path):
    try:
        WHOLE.get(path)
    except gd.ModelError as error:
        told = str(error)
    else:
        told = "path"
    assert "path" in told
