"""Motions as tables and data sets of others: CSV, NumPy archives, xarray, SciPy's result of ``solve_ivp``."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod import _check
from gyrod._check import Array
from gyrod.model import Rod
from gyrod.model.meshes import apply
from gyrod.motion import Motion, RodTrack
from gyrod.quantities import BODY, DIRECTORS, PLACES, ROD, WXYZ, XYZ, Field, Table, coordinate_unit
from gyrod.storage.checkpoint import beside

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike
    from scipy.integrate._ivp.ivp import OdeResult


#: What a station of a rod has of these.
STATION = {"position": "positions", "velocity": "velocities", "force": "force", "moment": "moment"}
ENERGIES = ("kinetic", "potential", "total")
#: Rows of a table that are turned into text at a time.
BLOCK = 10_000


# --- tables ----------------------------------------------------------------------------------------------------------


def to_csv(motion: Motion, file: str | os.PathLike[str], names: Sequence[str] | None = None) -> None:
    """Write a table with a head of names and units, one row a time, all digits.

    ``names``: bodies, rods, joints, sensors, "energy", or stations of rods as "hose@0.25" (fraction of the length); by
    default everything, of rods both ends.
    """
    heads, columns = ["t [s]"], [np.atleast_1d(motion.t)]
    for head, unit, values in _columns(motion, names):
        heads.append(f"{head} [{unit}]")
        columns.append(np.atleast_1d(values))
    table = np.stack(columns, axis=1)
    target = Path(file)
    with _new(target) as new, new.open("x", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerow(heads)
        for k in range(0, len(table), BLOCK):
            out.writelines(",".join(map(repr, row)) + "\n" for row in table[k : k + BLOCK].tolist())


class _new:
    """A name to write under, which becomes the file when all went well."""

    def __init__(self, target: Path) -> None:
        if target.is_dir():
            raise IsADirectoryError(f"{str(target)!r} is a folder; give the name of a file.")
        if not target.parent.is_dir():
            raise FileNotFoundError(f"{str(target)!r} cannot be written: there is no folder {str(target.parent)!r}.")
        self.target, self.path = target, beside(target)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        if kind is None:
            os.replace(self.path, self.target)
        self.path.unlink(missing_ok=True)


def _columns(motion: Motion, names: Sequence[str] | None) -> Iterator[tuple[str, str, Array]]:
    """Name, unit and values (n,) of each column."""
    system = motion.compiled.system
    joints = _joint_names(motion)
    bodies = [n for n in system.names if n not in system.junction_bodies]
    allowed = [*bodies, *system.rod_names, *joints, *motion.sensors.names, "energy"]
    if isinstance(names, str):
        names = [names]
    for name in allowed if names is None else names:
        rod, at, fraction = str(name).rpartition("@")
        if at and rod in system.rod_names:
            yield from _station(motion, system.rod(rod), fraction)
            continue
        _check.choice("names", name, allowed)
        if name in bodies:
            for x in _given(BODY):
                values = getattr(motion[name], x.name)
                yield from ((f"{name}.{x.name}.{p}", x.unit, values[..., i]) for i, p in enumerate(x.components))
        elif name in system.rod_names:
            for end in ("0", "1"):
                yield from _station(motion, system.rod(name), end)
        elif name in joints:
            track = motion.joint_motions[joints.index(name)]
            for i, coordinate in enumerate(track.names):
                yield f"{name}.{coordinate}", coordinate_unit(coordinate), track.coordinates[..., i]
                yield f"{name}.{coordinate} rate", coordinate_unit(coordinate, rate=True), track.rates[..., i]
            yield from _efforts(motion, joints.index(name))
        elif name == "energy":
            yield from ((f"energy.{part}", "J", getattr(motion.energy, part)) for part in ENERGIES)
        else:
            values = motion.sensors[name].reshape(*motion.t.shape, -1)
            parts = values.shape[-1]
            for i in range(parts):
                yield f"{name}.{i}" if parts > 1 else name, motion.sensors.units[name], values[..., i]


def _given(table: Table) -> list[Field]:
    """Quantities from which the others follow."""
    return [field for field in table.values() if not field.derived]


def _efforts(motion: Motion, joint: int) -> Iterator[tuple[str, str, Array]]:
    """What its drive gives, of a joint that is led; other joints have none, and finding it is work."""
    led = motion.compiled.system.joints[joint]
    if led.driven:
        yield f"{_joint_names(motion)[joint]}.effort", led.effort_units[0], motion.joints[joint].effort


def _joint_names(motion: Motion) -> list[str]:
    return [j.name if j.name is not None else f"joints[{i}]" for i, j in enumerate(motion.compiled.system.joints)]


def _station(motion: Motion, rod: Rod, fraction: str) -> Iterator[tuple[str, str, Array]]:
    """Columns of a rod at a fraction of its length, interpolated as its mesh does."""
    try:
        s = float(fraction)
    except ValueError:
        s = np.nan
    if not 0.0 <= s <= 1.0:
        raise ValueError(f"names: {rod.name}@{fraction} must have a fraction of the length from 0 to 1 behind the @.")
    track: RodTrack = motion[rod.name]
    for quantity, name in STATION.items():
        known = ROD[name]
        values = _at(rod, known.place, getattr(track, name), s)
        heads = [f"{rod.name}@{fraction}.{quantity}.{part}" for part in known.components]
        yield from ((head, known.unit, values[..., i]) for i, head in enumerate(heads))


def _at(rod: Rod, where: str, values: Array, s: float) -> Array:
    """Values (n, 3) at s; on a grid, beyond the first and the last midpoint they stay as they are."""
    mesh = rod.mesh
    if rod.degree is None:
        known = getattr(mesh, where)
        s = float(np.clip(s, known[0], known[-1]))
    find = {"vertices": mesh.vertex_at, "strains": mesh.strain_at, "curvatures": mesh.curvature_at}[where]
    return np.asarray(apply(*find([s]), values)[..., 0, :])


# --- arrays by name --------------------------------------------------------------------------------------------------


def to_npz(motion: Motion, file: str | os.PathLike[str]) -> None:
    """Write t, y, steps and all quantities by name, as "top.position" or "hose.force", into a NumPy archive."""
    system = motion.compiled.system
    found: dict[str, Any] = {"t": motion.t, "y": motion.y, "steps": motion.steps}
    for name in system.names:
        found |= {f"{name}.{quantity}": getattr(motion[name], quantity) for quantity in (x.name for x in _given(BODY))}
    for name in system.rod_names:
        found |= {
            f"{name}.{f.name}": getattr(motion[name], f.name) for f in fields(RodTrack) if not f.name.startswith("_")
        }
    for name, track in zip(_joint_names(motion), motion.joints, strict=True):
        parts = ("coordinates", "rates", "quaternion", "force", "torque", "effort")
        found |= {f"{name}.{part}": getattr(track, part) for part in parts}
    found |= {f"sensors.{name}": motion.sensors[name] for name in motion.sensors.names}
    found |= {f"energy.{part}": getattr(motion.energy, part) for part in ENERGIES}
    found["stats"] = json.dumps(asdict(motion.stats))
    target = Path(file)
    with _new(target) as new, new.open("xb") as out:
        np.savez(out, **found)


def to_xarray(motion: Motion) -> xr.Dataset:
    """An xarray Dataset: bodies along the dimension "body", rods along vertices and segments or points of their own."""
    try:
        import xarray
    except ImportError:
        raise ImportError("to_xarray needs the package xarray: pip install xarray.") from None
    system = motion.compiled.system
    time = ("time",) if motion.t.ndim else ()
    data: dict[str, object] = {}
    coords: dict[str, object] = {
        "time": (time, motion.t, {"units": "s"}),
        "axis": list(XYZ),
        "director": list(DIRECTORS),
    }
    coords["wxyz"] = list(WXYZ)
    last = {XYZ: "axis", DIRECTORS: "director", WXYZ: "wxyz"}
    if system.bodies:
        coords["body"] = list(system.names)
        for x in _given(BODY):
            values = np.stack([getattr(motion[name], x.name) for name in system.names], axis=len(time))
            data[x.name] = ((*time, "body", last[x.components]), values, {"units": x.unit})
    for rod in system.rods:
        for x in _given(ROD):
            along: tuple[str, ...] = ()
            if x.place:
                along = (f"{rod.name}.{PLACES[x.place][rod.degree is not None]}",)
                coords[along[0]] = (along, getattr(rod.mesh, x.place) * rod.length, {"units": "m"})
            values = getattr(motion[rod.name], x.name)
            data[f"{rod.name}.{x.name}"] = ((*time, *along, last[x.components]), values, {"units": x.unit})
    joints = _joint_names(motion)
    for name, track in zip(joints, motion.joint_motions, strict=True):
        for i, coordinate in enumerate(track.names):
            here, rate = coordinate_unit(coordinate), coordinate_unit(coordinate, rate=True)
            data[f"{name}.{coordinate}"] = (time, track.coordinates[..., i], {"units": here})
            data[f"{name}.{coordinate} rate"] = (time, track.rates[..., i], {"units": rate})
        data |= {head: (time, values, {"units": unit}) for head, unit, values in _efforts(motion, joints.index(name))}
    for name in motion.sensors.names:
        values = motion.sensors[name]
        inner = tuple(f"{name}.{k}" for k in range(values.ndim - len(time)))
        data[name] = ((*time, *inner), values, {"units": motion.sensors.units[name]})
    for part in ENERGIES:
        data[f"energy.{part}"] = (time, getattr(motion.energy, part), {"units": "J"})
    stats = {"method": motion.stats.method, "formulation": motion.stats.formulation, "status": motion.status}
    return xarray.Dataset(data, coords, stats)


# --- SciPy -----------------------------------------------------------------------------------------------------------

#: What SciPy says, by the end of a run: finished 0, ended by an event 1, failed -1.
STATUS = {
    "finished": (0, "The solver successfully reached the end of the integration interval."),
    "event": (1, "A termination event occurred."),
}


def to_ode_result(motion: Motion) -> OdeResult:
    """The result that ``scipy.integrate.solve_ivp`` would return for the unknowns of the formulation."""
    from scipy.integrate._ivp.ivp import OdeResult

    status, message = STATUS.get(motion.status, (-1, f"The run ended early: {motion.status}."))
    count = 1 + max((e.event for e in motion.events), default=-1)
    events = [[e for e in motion.events if e.event == k] for k in range(count)]

    def sol(t: ArrayLike) -> Array:
        return np.asarray(motion(t).y.T)

    return OdeResult(
        t=np.atleast_1d(motion.t),
        y=np.atleast_2d(motion.y).T,
        sol=None if motion._dense is None else sol,
        t_events=[np.array([e.t for e in found]) for found in events] or None,
        y_events=[np.array([e.state.y for e in found]).reshape(len(found), -1) for found in events] or None,
        nfev=motion.stats.rhs,
        njev=motion.stats.jacobians,
        nlu=motion.stats.factorizations,
        status=status,
        message=message,
        success=status >= 0,
    )
