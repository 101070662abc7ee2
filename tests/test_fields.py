"""Fields of descriptions: one declaration gives constructor, checks, copies and model files."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, FrozenInstanceError, fields, replace
from inspect import signature
from typing import ClassVar

import pytest

import gyrod as gd
from gyrod.files.registry import GROUPS, fields_of
from gyrod.files.schema import validate
from gyrod.model.errors import Description, ModelError, new_name, positive, vector
from gyrod.model.fields import Kept, description, field, kinds


def _at_least(field, value, other):
    if value < other:
        raise ValueError(f"{field} = {value} must be at least {other}.")
    return value


@description
class Thing(Description):
    name: str = field(new_name)
    at: Kept[tuple[float, ...], list[float]] = field(vector, "m", default=(0.0, 0.0, 0.0))
    _: KW_ONLY
    size: float = field(positive, "mm", "m")
    most: float | None = field(_at_least, default=None, of="size")

    def _agree(self, problems, bad):
        if "name" not in bad and self.size == 13.0:
            problems.add("size = 13 goes with no name.")


@description
class Large(Thing):
    field_units: ClassVar[dict[str, str]] = {"size": "km"}
    _: KW_ONLY
    why: str | None = field(None, default=None, form="name")


def test_the_constructor_is_that_of_the_fields():
    parameters = signature(Large).parameters
    assert list(parameters) == ["name", "at", "size", "most", "why"]
    assert [p.kind.name for p in parameters.values()] == 2 * ["POSITIONAL_OR_KEYWORD"] + 3 * ["KEYWORD_ONLY"]
    assert parameters["at"].default == (0.0, 0.0, 0.0)
    assert parameters["at"].annotation == "list[float]"  # what is given
    assert Thing.__annotations__["at"] == "tuple[float, ...]"  # what is kept
    with pytest.raises(TypeError, match="sise"):
        Thing("a", sise=1.0)
    with pytest.raises(TypeError, match="size"):
        Thing("a")


def test_fields_are_checked_and_kept():
    thing = Thing("a", (1, 2, 3), size=2)
    assert thing.at.tolist() == [1.0, 2.0, 3.0]
    assert not thing.at.flags.writeable
    assert repr(thing) == "Thing(name='a', at=array([1., 2., 3.]), size=2.0, most=None)"
    assert thing == Thing("a", (1, 2, 3), size=2.0) != thing.with_(size=3.0)
    assert replace(thing, size=3.0) == thing.with_(size=3.0)
    with pytest.raises(FrozenInstanceError):
        thing.size = 3.0


def test_all_problems_are_told_at_once_under_the_name_that_was_given():
    with pytest.raises(ModelError) as caught:
        Thing(5, (1, 2), size=3.0, most=1.0)
    assert [sentence.split(" ", 3)[:3] for sentence in caught.value.problems] == [
        ["Thing", "5:", "name"],
        ["Thing", "5:", "at"],
        ["Thing", "5:", "most"],
    ]
    with pytest.raises(ModelError, match=r"^Thing 'a': size = 13 goes with no name\.$"):
        Thing("a", size=13.0)
    assert Thing("a", size=3.0, most=4.0).most == 4.0


def test_a_file_holds_what_the_checks_say():
    found = kinds(Large)
    assert (found["at"].shapes, found["at"].units) == (((3,),), ("m",))
    assert found["size"].positive
    assert (kinds(Thing)["size"].units, found["size"].units) == (("mm", "m"), ("km",))
    assert found["name"].form == found["why"].form == "name"


@pytest.mark.parametrize(
    "cls", [gd.System, gd.UserForce, gd.CForce, *(c for g in GROUPS if g != "run" for c in GROUPS[g])]
)
def test_no_class_of_the_model_writes_a_constructor(cls):
    assert {*signature(cls).parameters} == {f.name for f in fields(cls)} == set(kinds(cls)) == set(fields_of(cls))
    assert not any("Kept" in str(p.annotation) for p in signature(cls).parameters.values())


def test_a_class_needs_nothing_but_its_fields():
    """What a description brings without a line elsewhere: sentences, copies, keys of files."""

    @description
    class Geared(gd.Revolute):
        """A hinge with a gear."""

        _: KW_ONLY
        ratio: float = field(positive, "1", default=1.0)

    made = Geared("ground", "b", at=(0, 0, 0), axis=(0, 0, 2), ratio=3)
    assert (made.ratio, made.axis.tolist(), made.freedoms) == (3.0, [0.0, 0.0, 1.0], 1)
    assert made.with_(damping=0.1).ratio == 3.0
    with pytest.raises(ModelError, match=r"^Geared\('ground', 'b'\): ratio must be a positive finite number, got -1"):
        made.with_(ratio=-1)
    assert repr(made).endswith("ratio=3.0)")
    assert fields_of(Geared)["ratio"].default == 1.0
    assert fields_of(Geared)["slip"].kind == fields_of(gd.Revolute)["slip"].kind
    assert validate(Geared, {"a": "ground", "b": "b", "ratio": "2"})[0]["ratio"] == 2.0
    assert "the key 'ration' is unknown" in validate(Geared, {"a": "ground", "b": "b", "ration": 2})[1][0][1]


def test_copies_keep_what_does_not_follow_from_what_is_new():
    body = gd.Body("b", mass=1.0, inertia=(1, 1, 1), orientation=(0, 0, 0.3))
    matrix = body.matrix
    assert body.with_(mass=2.0).__dict__["matrix"] is matrix
    turned = body.with_(orientation=(0, 0, 0.4))
    assert "matrix" not in turned.__dict__
    assert turned.matrix[1, 0] == pytest.approx(math.sin(0.4), rel=1e-14)
    rubber = gd.Material(young=5e6, poisson=0.25, density=1100)
    assert rubber.with_(young=1e7).shear_modulus == 4e6
    assert rubber.with_(density=900).shear_modulus == 2e6
    assert rubber.with_(poisson=None, shear_modulus=1e6).with_(young=1e7).shear_modulus == 1e6
    tube = gd.Ring(radius=2.0, inner=1.0)
    assert tube.everywhere.area != tube.with_(inner=0.5).everywhere.area  # what no field is named for is found anew


def test_a_class_with_a_constructor_of_its_own_is_made_by_it():
    class Ball(gd.Sphere):
        def __init__(self, diameter=None, radius=None, **others):
            super().__init__(radius=radius or 0.5 * diameter, **others)

    assert Ball(diameter=2.0).with_(offset=(1, 0, 0)) == Ball(radius=1.0, offset=(1, 0, 0))
