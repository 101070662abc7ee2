"""The quantities of bodies, rods, joints and sensors: name, unit, components, place on the mesh, rule at the ends.

One table for each kind of thing (`BODY`, `ROD`, `JOINT`, `CLIP`, `CONTACT`, `ENERGY`, `DRIFT`, `MOTION`, `POINT`,
`ROTATION`, `SECTION`, `JOINT_SENSOR`, `DISTANCE`) and one of the numbers by which rods are coloured (`COLOURS`).
Exports, studies, plots, films, the viewer and sensors read them and have no tables of their own. These are data; values
are read by text with `gyrod.motion.readings`::

    q = gyrod.motion.readings.quantity("norm hose.end_force", motion.system)
    q.read(motion)        # (n, ...), or (...) for a single time, as of a Rest's motion
    q.unit                # "N"; "" for none
    q.shape(motion)       # that of one time

A new quantity is an attribute of a track in `gyrod.motion` or `gyrod.motion.joints` and one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from gyrod._check import Array

XYZ, DIRECTORS, WXYZ = ("x", "y", "z"), ("d1", "d2", "d3"), ("w", "x", "y", "z")
MATRIX = tuple(f"R{i}{j}" for i in "123" for j in "123")

#: Where in the mesh of a rod a field is known, by the name of the places in `gyrod.model.meshes.Mesh`; "sections" are
#: the curvatures, and of elements both ends as well. What an axis along them is called, on a grid and in elements.
PLACES = {
    "vertices": ("vertex", "vertex"),
    "frames": ("segment", "vertex"),
    "strains": ("segment", "point"),
    "curvatures": ("vertex", "point"),
    "sections": ("vertex", "section"),
}


@dataclass(frozen=True)
class Field:
    """A quantity of a thing."""

    name: str
    #: SI; "1" for none, "" where it depends on the joint or is a mixture.
    unit: str
    #: Names of the components, the last axis (of a matrix the last two); () of a number.
    components: tuple[str, ...] = ()
    #: A key of `PLACES`, or "" where there is one value for the whole thing.
    place: str = ""
    #: At the ends of a rod: "" as the mesh extends it; "held" where an end is held, by what holds it.
    ends: str = ""
    #: In pictures: what it is called, and its components.
    title: str = ""
    parts: tuple[str, ...] = ()
    #: Whether it follows from other fields, and is left out of exported tables.
    derived: bool = False
    #: Whether it follows from a row of unknowns without anything that lies before it.
    kinematic: bool = False
    #: Whether it is summed over the steps of a run.
    summed: bool = False
    #: Whether it is of what a joint carries, which is found only when asked for.
    carried: bool = False


Table = Mapping[str, Field]


def _table(*fields: Field) -> Table:
    return MappingProxyType({field.name: field for field in fields})


def coordinate_unit(name: str, rate: bool = False) -> str:
    """Unit of a coordinate of a joint by its name, or of its rate."""
    return ("rad" if name.startswith("angle") else "m") + ("/s" if rate else "")


BODY = _table(
    Field("position", "m", XYZ, kinematic=True),
    Field("quaternion", "1", WXYZ),
    Field("matrix", "1", MATRIX, derived=True, kinematic=True),
    Field("directors", "1", MATRIX, derived=True, kinematic=True),
    Field("rotation_vector", "rad", XYZ, derived=True),
    Field("euler", "rad", ("φ", "θ", "ψ"), derived=True),
    Field("velocity", "m/s", XYZ, kinematic=True),
    Field("Omega", "rad/s", DIRECTORS, kinematic=True),
    Field("omega", "rad/s", XYZ, derived=True, kinematic=True),
)

_SHEARED, _BENT = ("shear {}1", "shear {}2"), ("bending {}1", "bending {}2", "torsion {}3")


def _named(parts: tuple[str, ...], letter: str) -> tuple[str, ...]:
    return tuple(part.format(letter) for part in parts)


ROD = _table(
    Field("positions", "m", XYZ, "vertices", kinematic=True),
    Field("velocities", "m/s", XYZ, "vertices", kinematic=True),
    Field("quaternions", "1", WXYZ, "frames", kinematic=True),
    Field("vertex_quaternions", "1", WXYZ, "vertices", derived=True),
    Field("matrices", "1", MATRIX, "frames", derived=True, kinematic=True),
    Field("directors", "1", MATRIX, "frames", derived=True, kinematic=True),
    Field("rotation_vectors", "rad", XYZ, "frames", derived=True, kinematic=True),
    Field("Omega", "rad/s", DIRECTORS, "frames", kinematic=True),
    Field("omega", "rad/s", XYZ, "frames", derived=True, kinematic=True),
    Field("strain", "1", DIRECTORS, "strains", title="strain", parts=(*_named(_SHEARED, "Γ"), "extension Γ3")),
    Field("curvature", "1/m", DIRECTORS, "curvatures", "held", "curvature", _named(_BENT, "K")),
    Field("bend_radius", "m", (), "sections", "held", "bend radius", ("bend radius",), derived=True),
    Field("force", "N", DIRECTORS, "strains", "held", "section force", (*_named(_SHEARED, "F"), "axial F3")),
    Field("force_space", "N", XYZ, "strains", "held", derived=True),
    Field("moment", "N m", DIRECTORS, "curvatures", "held", "section moment", _named(_BENT, "M")),
    Field("moment_space", "N m", XYZ, "curvatures", "held", derived=True),
    Field("stress", "Pa", (), "sections", "held", "stress", ("largest axial stress",), derived=True),
    Field("start_force", "N", XYZ),
    Field("start_moment", "N m", XYZ),
    Field("end_force", "N", XYZ),
    Field("end_moment", "N m", XYZ),
    Field("multipliers", "", (), "frames", derived=True),
)

JOINT = _table(
    Field("coordinate", "", derived=True),
    Field("coordinates", ""),
    Field("rate", "", derived=True),
    Field("rates", ""),
    Field("quaternion", "1", WXYZ),
    Field("force", "N", XYZ, carried=True),
    Field("torque", "N m", XYZ, carried=True),
    Field("effort", "", carried=True),
)

CLIP = _table(
    Field("force", "N", XYZ),
    Field("moment", "N m", XYZ),
    Field("gap", "m"),
    Field("turn", "rad"),
    Field("at", "1"),
)

CONTACT = _table(
    Field("force", "N", XYZ),
    Field("normal", "N"),
    Field("friction", "N"),
    Field("gap", "m"),
    Field("slip", "m/s"),
    Field("count", "1"),
)

ENERGY = _table(
    *(Field(name, "J") for name in ("total", "kinetic", "potential", "extension_shear", "bending_torsion", "contact")),
    *(Field(name, "J", summed=True) for name in ("dissipated", "work", "balance")),
)
DRIFT = _table(Field("position", ""), Field("velocity", ""))
MOTION = _table(Field("momentum", "kg m/s", XYZ), Field("angular_momentum", "kg m²/s", XYZ), Field("t", "s"))

#: Fields that are written as ``name.field``, by kind.
FIELDS: Mapping[str, Table] = MappingProxyType(
    {"body": BODY, "rod": ROD, "joint": JOINT, "clip": CLIP, "contact": CONTACT, "energy": ENERGY, "drift": DRIFT}
)

# What sensors measure; components of a point and of a section are those of the axes that the sensor chooses.
POINT = _table(
    BODY["position"], BODY["velocity"], Field("acceleration", "m/s²", XYZ), Field("specific force", "m/s²", DIRECTORS)
)
ROTATION = _table(
    *(BODY[name] for name in ("quaternion", "matrix", "Omega", "omega")),
    Field("gyro", "rad/s", DIRECTORS),
    Field("angular acceleration", "rad/s²", DIRECTORS),
)
JOINT_SENSOR = _table(*(JOINT[name] for name in ("coordinate", "rate", "force", "torque", "effort")))
SECTION = _table(*(ROD[name] for name in ("force", "moment", "strain", "curvature")))
DISTANCE = _table(Field("distance", "m"), Field("rate", "m/s"))


# --- numbers of a section --------------------------------------------------------------------------------------------


def _bending(x: Array) -> Array:
    return np.asarray(np.linalg.norm(x[..., :2], axis=-1))


def _third(x: Array) -> Array:
    return np.asarray(x[..., 2])


def _size(x: Array) -> Array:
    return np.asarray(np.linalg.norm(x, axis=-1))


def _first(x: Array) -> Array:
    return np.asarray(x[..., 0])


@dataclass(frozen=True)
class Colour:
    """A number of a section by which rods are coloured: of a field of `ROD`, or one that pictures find themselves."""

    title: str
    unit: str
    #: Field of `ROD`; "" of the elastic energy, "contact" of what touches.
    field: str
    #: The number, from components (..., k) to (...).
    number: Callable[[Array], Array] = _first
    #: Whether zero is the middle of the colours.
    signed: bool = False
    #: Whether it is one over the number: small values are what matters, and those beyond `SPAN` times the least alike.
    inverse: bool = False


def _colour(title: str, field: str, number: Callable[[Array], Array] = _first, signed: bool = False) -> Colour:
    return Colour(title, ROD[field].unit, field, number, signed)


#: Largest value over the least that colours of an inverse number distinguish.
SPAN = 10.0

COLOURS: Mapping[str, Colour] = MappingProxyType(
    {
        "curvature": _colour("curvature", "curvature", _bending),
        "bend_radius": Colour("bend radius", ROD["bend_radius"].unit, "curvature", _bending, inverse=True),
        "torsion": _colour("torsion", "curvature", _third, signed=True),
        "moment": _colour("bending moment", "moment", _bending),
        "torque": _colour("torsional moment", "moment", _third, signed=True),
        "force": _colour("tension", "force", _third, signed=True),
        "strain": _colour("axial strain", "strain", _third, signed=True),
        "energy": Colour("strain energy", "J/m", ""),
        "stress": _colour("stress", "stress"),
        "speed": _colour("speed", "velocities", _size),
        "contact": Colour("contact force", "N/m", "contact"),
    }
)
