"""What was solved beside a run, in its file: ``/gyrod/beside``, the tolerance, rows of companions and their meshes."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gyrod.equations import compile_system
from gyrod.model import System
from gyrod.motion import Beside, Motion, MotionStats
from gyrod.storage.checkpoint import beside as new_name
from gyrod.storage.layout import fixed, text

if TYPE_CHECKING:
    import h5py

    from gyrod._check import Array, Data
    from gyrod.model import Rod

#: Companions by the names of their fields.
COMPANIONS = ("coarse", "half")
WORDS = ("told", "failure", "chosen")


def keep_beside(file: str | os.PathLike[str], beside: Beside) -> None:
    """Put it into a result file: into a copy, which takes its place when it is whole."""
    import h5py

    path = Path(file)
    copy = new_name(path)
    try:
        shutil.copyfile(path, copy)
        with h5py.File(copy, "r+", locking=False) as opened:
            write(opened["gyrod"], beside)
        os.replace(copy, path)
    finally:
        copy.unlink(missing_ok=True)


def write(group: h5py.Group, beside: Beside) -> None:
    """Into the group ``/gyrod`` of an open file; in place of what was there."""
    if "beside" in group:
        del group["beside"]
    inner = group.create_group("beside")
    inner.attrs["rtol"] = np.nan if beside.rtol is None else beside.rtol
    inner.attrs["share"], inner.attrs["looser"] = beside.share, beside.looser
    for name in WORDS:
        inner.create_dataset(name, data=fixed(getattr(beside, name)))
    inner.create_dataset("rows", data=beside.rows)
    for name in COMPANIONS:
        motion = getattr(beside, name)
        if isinstance(motion, Motion):
            one = inner.create_group(name)
            one.create_dataset("mesh", data=fixed(json.dumps([_mesh(rod) for rod in motion.system.rods])))
            one.create_dataset("t", data=motion.t)
            one.create_dataset("y", data=motion.y)


def _mesh(rod: Rod) -> Data:
    grid = None if rod.grid is None else np.asarray(rod.grid).tolist()
    return {"segments": rod.segments, "grid": grid, "degree": rod.degree}


@dataclass(frozen=True)
class Kept:
    """What a file holds of a `Beside`: what is plain of it, and of each companion its meshes, times and rows."""

    plain: Beside
    companions: dict[str, tuple[list[Data], Array, Array]] = field(default_factory=dict)


def read(group: h5py.Group) -> Kept | None:
    """What `write` wrote; None if there is nothing."""
    if "beside" not in group:
        return None
    inner = group["beside"]
    told, failure, chosen = (text(inner[name][()]) for name in WORDS)
    rtol, share, looser = (float(inner.attrs[name]) for name in ("rtol", "share", "looser"))
    rows = np.asarray(inner["rows"][()], dtype=np.intp)
    found = Beside(
        None if np.isnan(rtol) else rtol, rows, share=share, looser=looser, told=told, failure=failure, chosen=chosen
    )
    there = [(name, inner[name]) for name in COMPANIONS if name in inner]
    return Kept(
        found, {k: (json.loads(text(x["mesh"][()])), np.asarray(x["t"][()]), np.asarray(x["y"][()])) for k, x in there}
    )


def made(kept: Kept, run: Motion) -> Beside:
    """The same with its companions, for the run that they stand beside."""
    motions = {name: _motion(*one, run) for name, one in kept.companions.items()}
    return replace(kept.plain, coarse=motions.get("coarse"), half=motions.get("half"))


def _motion(meshes: list[Data], t: Array, y: Array, run: Motion) -> Motion:
    compiled = run.compiled
    system: System = compiled.system.original
    new = {f"rods[{i}].{name}": value for i, mesh in enumerate(meshes) for name, value in mesh.items()}
    coarse = compile_system(
        system.with_(new) if new else system, compiled.formulation, at_rest=compiled.at_rest, **compiled.options
    )
    if coarse.size != y.shape[-1]:
        raise OSError(f"a companion has {y.shape[-1]} unknowns, and its mesh {coarse.size}")
    return Motion(t, y, MotionStats(run.stats.method, coarse.formulation), _compiled=coarse)
