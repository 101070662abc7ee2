"""Which classes a model file knows, by which names, and of which kind their fields are.

Names and defaults of fields come from the constructors. A class joins a file format by its place in one of the
tuples of the model; a field by its line in `KINDS`, under its own name or under class and name.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from gyrod import model, quantities
from gyrod.files.kinds import Kind
from gyrod.files.options import RunOptions
from gyrod.files.options import kinds as run_kinds
from gyrod.model import inputs, rods
from gyrod.rotations import FRAMES

#: Version of the format.
VERSION = 1

_FORCES: tuple[type[Any], ...] = (*model.FORCES, *model.LOADS, *model.ELEMENTS, model.RotatingFrame)

#: Classes that may stand in a place.
GROUPS: dict[str, tuple[type[Any], ...]] = {
    "bodies": (model.Body,),
    "joints": model.JOINTS,
    "rods": (model.Rod,),
    "forces": tuple(c for c in _FORCES if c not in (model.UserForce, model.CForce)),
    "sensors": model.SENSORS,
    "attachments": (model.Attachment,),
    "section": model.SECTIONS,
    "material": (model.Material,),
    "damping": (model.Damping,),
    "end": model.ENDS,
    "initial": model.SHAPES,
    "shape": model.SOLIDS,
    "input": (inputs.Input, inputs.Recorded),
    "run": (RunOptions,),
}
#: Places where one class only can stand, so that its name is not written.
PLAIN = ("bodies", "rods", "attachments", "material", "damping", "run")
#: Lists of the system.
LISTS = ("bodies", "joints", "rods", "forces", "sensors", "attachments")
#: What exists in Python only.
PYTHON_ONLY = ("user_force", "c_force")


def _number(*units: str, variable: str | None = None, positive: bool = False) -> Kind:
    return Kind(units=units or ("",), variable=variable, positive=positive)


def _vector(*units: str, variable: str | None = None, needs_function: bool = False) -> Kind:
    return Kind(shapes=((3,),), units=units or ("",), variable=variable, needs_function=needs_function)


def _axes(*units: str, count: int = 3) -> Kind:
    """One number for all axes, or one for each."""
    return Kind(shapes=((), (count,)), units=units or ("",), spread=True)


def _words(*words: str) -> Kind:
    return Kind("word", words=words)


def _object(group: str) -> Kind:
    return Kind("object", group=group)


NAME, FLAG, WHOLE = Kind("name"), Kind("flag"), Kind("whole")
ORIENTATION = Kind("orientation", shapes=((3,), (4,), (3, 3)))
SPAN = Kind(shapes=((2,),))

#: Kinds of fields by name; where a name means several things, by class and name.
KINDS: dict[str, Kind] = {
    # names
    "name": NAME, "a": NAME, "b": NAME, "body": NAME, "rod": NAME, "rods": Kind("names"),
    # bodies
    "mass": _number("kg", positive=True), "inertia": Kind(shapes=((3,), (3, 3)), units=("kg m^2",)),
    "position": _vector("m"), "velocity": _vector("m/s"), "angular_velocity": _vector("rad/s"),
    "orientation": ORIENTATION,
    # joints
    "at": _vector("m"), "at_a": _vector("m"), "at_b": _vector("m"), "to": _vector("m"),
    "axis": _vector(), "axis2": _vector(), "axis_a": _vector(), "axis_b": _vector(),
    "drive": Kind("law", units=("rad",), variable="t"), "pitch": _number("m"), "rest": _number("rad"),
    "limits": Kind("limits", units=("rad",)), "stiffness": _number("N m/rad"), "damping": _number("N m s/rad"),
    "friction": _number("N m"), "slip": _number("rad/s", positive=True),
    "Prismatic.drive": Kind("law", units=("m",), variable="t"), "Prismatic.rest": _number("m"),
    "Prismatic.limits": Kind("limits", units=("m",)), "Prismatic.stiffness": _number("N/m"),
    "Prismatic.damping": _number("N s/m"), "Prismatic.friction": _number("N"),
    "Prismatic.slip": _number("m/s", positive=True),
    **{f"Cylindrical.{x}": Kind(shapes=((2,),), units=None) for x in ("stiffness", "damping", "rest")},
    "Distance.length": Kind("law", units=("m",), variable="t"),
    "frame_a": Kind(shapes=((3, 3),)), "frame_b": Kind(shapes=((3, 3),)), "Attachment.length": _number("m"),
    # forces
    "force": _vector("N", variable="t"), "torque": _vector("N m", variable="t"), "frame": _words(*FRAMES),
    "length": _number("m", positive=True), "SpringDamper.stiffness": _number("N/m"),
    "SpringDamper.damping": _number("N s/m"), "Bushing.stiffness": _axes("N/m"), "Bushing.damping": _axes("N s/m"),
    "RodLoad.at": _number(), "RodLoad.force": _vector("N", "N/m", variable="t"),
    "RodLoad.moment": _vector("N m", "N", variable="t"), "follow": FLAG, "span": SPAN,
    "profile": Kind(shapes=((), (3,)), variable="s", needs_function=True),
    "coefficient": _axes("N s/m^2"), "rotational": _axes("N s"), "PointMass.at": _number(),
    "Foundation.stiffness": _axes("N/m^2"), "Foundation.damping": _axes("N s/m^2"),
    **{f"Cable.{x}": Kind("place", shapes=((3,),), units=("m",)) for x in ("at_a", "at_b")},
    "Cable.stiffness": _number("N/m"), "Cable.damping": _number("N s/m"), "smoothing": _number("m"),
    "points": Kind("points"), "tension": _number("N", variable="t"),
    "point": _vector("m"), "normal": _vector(), "center": _vector("m"), "radius": _number("m", positive=True),
    "thickness": _number("m"),
    **{f"{c.__name__}.stiffness": _number("N/m^2") for c in model.OBSTACLES},
    # sections and materials
    **{f"{c}.{x}": _number("m", variable="s", positive=True) for c, x in (
        ("Circle", "radius"), ("Ring", "radius"), ("Ring", "inner"), ("Rectangle", "width"), ("Rectangle", "height"))},
    "shear": _axes(count=2), "area": _number("m^2", variable="s", positive=True),
    **{x: _number("m^4", variable="s", positive=True) for x in ("I1", "I2", "polar", "torsion")},
    "young": _number("Pa", positive=True), "poisson": _number(), "shear_modulus": _number("Pa", positive=True),
    "density": _number("kg/m^3", positive=True),
    "Damping.shear": _axes("kg m/s", count=2), "extension": _number("kg m/s"),
    "bending": _axes("kg m^3/s", count=2), "Damping.torsion": _number("kg m^3/s"),
    "viscosities": Kind(shapes=((2,),), units=("Pa s",)), "factor": _number("s"),
    # shapes
    "Straight.start": _vector("m"), "Straight.end": _vector("m"), "Arc.start": _vector("m"), "Bent.start": _vector("m"),
    "tangent": _vector(), "angle": _number("rad", positive=True),
    "Curve.position": Kind(shapes=((-1, 3), (3,)), units=("m",), variable="s"),
    "Curve.orientation": Kind("orientation", shapes=((3,), (4,), (3, 3), (-1, 4), (-1, 3, 3)), variable="s"),
    "parameter": _words("arc", "material"), "Bent.curvature": _vector("1/m", variable="s"),
    # ends
    **{f"{c}.at": Kind(shapes=((3,),), units=("m",), variable="t", words=("start", "end"))
       for c in ("Hinged", "Clamped")},
    **{f"{c}.frame": Kind("orientation", shapes=((3,), (4,), (3, 3)), variable="t") for c in ("Clamped", "Guided")},
    **{f"{c}.velocity": _vector("m/s", variable="t", needs_function=True) for c in ("Hinged", "Clamped")},
    **{f"{c}.angular_velocity": _vector("rad/s", variable="t", needs_function=True) for c in ("Clamped", "Guided")},
    # rods
    "segments": WHOLE, "section": _object("section"), "material": _object("material"), "start": _object("end"),
    "end": _object("end"), "curvature": Kind("family", words=rods.CURVATURES), "Rod.inertia": _words(*rods.INERTIAS),
    "Rod.mass": Kind(words=rods.MASSES), "Rod.damping": _object("damping"), "initial": _object("initial"),
    "Rod.stiffness": Kind(shapes=((6,), (6, 6)), units=None, variable="s"),
    "density_per_length": _number("kg/m", variable="s", positive=True), "rotary_inertia": _vector("kg m", variable="s"),
    "precurvature": _vector("1/m", variable="s"), "prestrain": _vector(variable="s"), "strain": _words(*rods.STRAINS),
    "Rod.velocity": _vector("m/s", variable="s"), "Rod.angular_velocity": _vector("rad/s", variable="s"),
    "grid": Kind(shapes=((-1,),)), "rest_stretch": _number(variable="t", positive=True),
    "discretization": _words(*rods.DISCRETIZATIONS), "degree": WHOLE,
    "Rod.limits": Kind("table", shapes=(), words=()),
    # what bodies look like
    "shape": Kind("objects", group="shape"), "color": Kind("color"), "size": _vector("m"), "offset": _vector("m"),
    "vertices": Kind(shapes=((-1, 3),), units=("m",)), "faces": Kind(shapes=((-1, 3),)),
    # sensors
    "on": NAME, "joint": NAME, "coordinate": NAME,
    **{f"{c}.{x}": Kind(shapes=((), (3,)), units=("m", "")) for c, x in (
        ("PointSensor", "at"), ("DistanceSensor", "at_a"), ("DistanceSensor", "at_b"))},
    "RotationSensor.at": _number(), "SectionSensor.at": _number(),
    "PointSensor.quantity": _words(*quantities.POINT), "RotationSensor.quantity": _words(*quantities.ROTATION),
    "JointSensor.quantity": _words(*quantities.JOINT_SENSOR), "SectionSensor.quantity": _words(*quantities.SECTION),
    "DistanceSensor.quantity": _words(*quantities.DISTANCE),
    # inputs
    "along": Kind(shapes=((3,),), units=None), "value": Kind(shapes=((), (3,)), units=None),
    "Recorded.times": Kind(shapes=((-1,),), units=("s",)),
    "Recorded.values": Kind(shapes=((-1,), (-1, 3)), units=None),
    # the system
    "gravity": _vector("m/s^2", variable="t"),
}  # fmt: skip
KINDS |= {f"RunOptions.{name}": kind for name, kind in run_kinds().items()}
ANYTHING = Kind("anything")


@dataclass(frozen=True)
class Field:
    """A field of a class: name, kind, default, and whether it must be given."""

    name: str
    kind: Kind
    default: Any
    required: bool


_FIELDS: dict[type[Any], dict[str, Field]] = {}


def fields_of(cls: type[Any]) -> dict[str, Field]:
    """Fields of a class as its constructor has them, by name."""
    if cls in _FIELDS:
        return _FIELDS[cls]
    found = _FIELDS[cls] = {}
    for name, parameter in inspect.signature(cls).parameters.items():
        kind = KINDS.get(f"{cls.__name__}.{name}") or KINDS.get(name, ANYTHING)
        required = parameter.default is inspect.Parameter.empty
        found[name] = Field(name, kind, None if required else parameter.default, required)
    return found


def key_of(cls: type[Any]) -> str:
    """Name of a class in a file: RodLoad is rod_load."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


@cache
def classes(group: str) -> dict[str, type[Any]]:
    """Classes of a group by their names in a file."""
    return {key_of(cls): cls for cls in GROUPS[group]}
