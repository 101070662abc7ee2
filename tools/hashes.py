"""Hashes of the gallery's motions: python tools/hashes.py [name ...] before and after a change that must not alter any.

Equal lines are equal bit for bit, of one build of the core on one processor. The first hash is of the states (times,
rows of unknowns, counts of the run), the second of what is read from them (fields of bodies, rods and joints, sensors,
energies).
"""

from __future__ import annotations

import hashlib
import runpy
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

import gyrod as gd
from gyrod.quantities import BODY, ENERGY, JOINT, MOTION, ROD, Table

ROOT = Path(__file__).resolve().parent.parent
#: Rows of which everything is read: what a joint carries costs as much as a step.
ROWS = 20
COUNTS = ("steps", "rejected", "rhs", "jacobians", "factorizations", "solves", "newton")


def digest(values: Iterable[object]) -> str:
    """Hash of numbers and arrays, their shapes included."""
    found = hashlib.sha256()
    for value in values:
        numbers = np.ascontiguousarray(value)
        found.update(f"{numbers.dtype}{numbers.shape}".encode() + numbers.tobytes())
    return found.hexdigest()[:16]


def states(motion: gd.Motion) -> Iterator[object]:
    """What an integrator gave."""
    yield from (motion.t, motion.y, motion.steps)
    yield from (getattr(motion.stats, name) for name in COUNTS)


def readings(motion: gd.Motion) -> Iterator[object]:
    """What is read from some of its rows, every quantity of every table."""
    if motion.t.ndim:
        motion = motion.at_rows(slice(None, None, max(len(motion.t) // ROWS, 1)))

    def fields(thing: object, table: Table) -> Iterator[object]:
        yield from (getattr(thing, name) for name in table if hasattr(thing, name))

    for name in (*motion.system.names, *motion.system.rod_names):
        yield from fields(motion[name], ROD if name in motion.system.rod_names else BODY)
    for joint in motion.joints:
        yield from fields(joint, {name: field for name, field in JOINT.items() if not field.derived})
    yield from (motion.sensors[name] for name in motion.sensors.names)
    yield from fields(motion.energy, {name: field for name, field in ENERGY.items() if not field.summed})
    yield from fields(motion, MOTION)


def main() -> None:
    """Run what was named, or all."""
    gallery = runpy.run_path(str(ROOT / "docs" / "gallery.py"))["SHOWN"]
    for name in sys.argv[1:] or sorted(gallery):
        shown = gallery[name](runpy.run_path(str(ROOT / "examples" / f"{name}.py")))
        motion = getattr(shown, "motion", shown)
        print(f"{name:24} {digest(states(motion))} {digest(readings(motion))}", flush=True)


if __name__ == "__main__":
    main()
