"""Fields of descriptions: one declaration gives constructor, checks, copies and model files."""

from __future__ import annotations

from dataclasses import KW_ONLY, FrozenInstanceError, fields, replace
from inspect import signature
from typing import ClassVar

import pytest

import gyrod as gd
from gyrod import model
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
    units: ClassVar[dict[str, str]] = {"size": "km"}
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


@pytest.mark.parametrize("cls", [*model.JOINTS, *model.SENSORS, *model.SECTIONS, *model.SHAPES, *model.ENDS, gd.Body])
def test_no_class_of_the_model_writes_a_constructor(cls):
    assert set(signature(cls).parameters) == {f.name for f in fields(cls)} == set(kinds(cls))
    assert not any("Kept" in str(p.annotation) for p in signature(cls).parameters.values())
