"""Saving and opening results: 1e5 time points of a rod of 100 segments (target: 2 s), what a block costs,
and what it costs to write a run while it goes on.

CPU time, best of several runs; the file goes to a temporary folder, or to the one named as the first argument.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from timing import best  # type: ignore[import-not-found]

import gyrod as gd
from gyrod import storage

ROWS = 100_000


def motion(segments: int, rows: int) -> gd.Motion:
    """A swinging hose, its rows repeated until there are so many."""
    rubber = gd.Material(young=5e6, poisson=0.5, density=1100)
    hose = gd.Rod("hose", 1.0, segments, gd.Circle(radius=5e-3), rubber, start=gd.Hinged())
    made = gd.simulate(gd.System(rods=[hose]), 0.1, rtol=1e-3)
    y = np.ascontiguousarray(made.y[np.arange(rows) % len(made.y)])
    t = np.linspace(0.0, 100.0, rows)
    return gd.Motion(t, y, made.stats, steps=t, _compiled=made.compiled)


def blocks(whole: gd.Motion, file: Path, size: int, frames: int = 1000) -> None:
    """The same file, written as a run writes it."""
    with storage.Recorder(file, whole.compiled, t_end=float(whole.t[-1]), frames=frames) as recorder:
        for k in range(0, len(whole.t), size):
            rows = slice(k, k + size)
            recorder.append(whole.t[rows], whole.y[rows], steps=whole.steps[rows])
        recorder.finish(whole.stats)


def overhead(file: Path, t_end: float = 5.0) -> None:
    """What a run into a file costs more than one in memory that keeps nothing but its rows."""
    system = gd.problems.get("rubber-pendulum").system
    options: dict[str, Any] = {"method": "rodas", "rtol": 1e-3}
    rows = np.linspace(0.0, t_end, round(100 * t_end) + 1)
    gd.simulate(system, 0.01, **options, save=file)  # what is imported once
    plain, _ = best(lambda: gd.simulate(system, t_end, **options, output=rows, dense=False), 3)
    print(f"rubber pendulum in memory {plain:.2f} s (target: less than 20 % of the time outside of the core)")
    for name, output in (("rows every 10 ms", rows), ("every step", None)):
        seconds, _ = best(partial(gd.simulate, system, t_end, **options, output=output, save=file), 3)
        print(f"  into a file, {name:20} {seconds:6.2f} s   {100.0 * (1.0 - plain / seconds):.1f} %")


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        file = Path(folder) / "run.h5"
        whole = motion(100, ROWS)
        print(f"{ROWS} rows of {whole.y.shape[1]} unknowns, {whole.y.nbytes / 1e6:.0f} MB (target: 2 s)")
        ways: dict[str, Callable[[], Any]] = {
            "motion.save": partial(whole.save, file),
            "motion.save, without frames": partial(whole.save, file, frames=0),
            "in blocks of 1000 rows": partial(blocks, whole, file, 1000),
            "in blocks of 100 rows": partial(blocks, whole, file, 100),
        }
        for name, way in ways.items():
            seconds, _ = best(way, 3)
            print(f"  {name:32} {seconds:6.2f} s   {file.stat().st_size / 1e6:7.1f} MB")
        seconds, opened = best(partial(gd.open, file), 5)
        print(f"  {'gd.open':32} {1e3 * seconds:6.1f} ms")
        seconds, _ = best(partial(opened, 12.345), 5)
        print(f"  {'motion(t) at one time':32} {1e3 * seconds:6.2f} ms")
        seconds, rows = best(lambda: gd.open(file).y, 3)
        print(f"  {'all rows':32} {seconds:6.2f} s   {np.array_equal(rows, whole.y)}")
        top = gd.simulate(gd.problems.get("lang-a").system, 10.0, rtol=1e-8)
        seconds, _ = best(partial(blocks, top, file, 10), 3)
        print(f"a block of a heavy top: {1e6 * seconds / (len(top.t) / 10):.0f} us")
        overhead(file)


if __name__ == "__main__":
    main()
