"""Kernels of the core one by one: CPU ns for a body or segment of a right-hand side, Jacobian, factorisation, solution.

``python benchmarks/kernels.py [WORD ...]`` measures the cases whose names hold all words. With ``--against FOLDER``,
another checkout that is built, both are measured in turns, round by round, and the table has the ratios this / other:
on a machine with other work that is the only way to see 5 %.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import gyrod as gd
from gyrod.equations import compile_system
from gyrod.equations.variational import compile_stepped

#: Seconds that one measurement takes at least, and how many there are of each case.
SHORTEST, ROUNDS = 2e-3, 25
PARTS = ("f", "Jacobian", "factors", "solution")

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100.0)
DAMPING = gd.Damping(shear=0.1, extension=2.0, bending=2e-4, torsion=8e-6)


class Case(NamedTuple):
    """What is measured: a system in a form, and the number of bodies or segments it has."""

    system: Callable[[], gd.System]
    size: int
    form: str = "nullspace-quaternion"
    kind: str = "stage"  # f, Jacobian, factors, solution; "lanes": f of four members; "variational", "run": a step


def cases() -> dict[str, Case]:
    """All cases by name."""
    rod, rubber, problems = gd.problems.lla_rubber, gd.problems.rubber_pendulum, gd.problems
    found: dict[str, Case] = {}
    for n in (20, 100):
        for form in ("nullspace-quaternion", "absolute-quaternion"):
            found[f"rod {n} {form}"] = Case(lambda n=n: rod(segments=n).system, n, form)  # type: ignore[misc]
    for strain in ("kirchhoff", "inextensible"):
        found[f"rod 20 {strain}"] = Case(lambda s=strain: rod(segments=20, strain=s).system, 20)  # type: ignore[misc]
    for p in (2, 3, 4):
        elements = partial(rubber, segments=24 // p, degree=p, damping=DAMPING)
        found[f"elements of degree {p}"] = Case(lambda e=elements: e().system, 24)  # type: ignore[misc]
        found[f"elements of degree {p} in lanes"] = Case(lambda e=elements: e().system, 24, kind="lanes")  # type: ignore[misc]
    found["rod 20 in lanes"] = Case(lambda: rod(segments=20).system, 20, kind="lanes")
    found["rods on bodies"] = Case(hoses, 24)
    for form in ("nullspace-quaternion", "nullspace-directors", "absolute-quaternion", "absolute-directors"):
        found[f"chain 20 {form}"] = Case(lambda: problems.chain(20).system, 20, form)
        found[f"four-bars 10 {form}"] = Case(lambda: problems.four_bar(10).system, 20, form)
        found[f"joint tree {form}"] = Case(joints, 1, form)
    for form in gd.FORMULATIONS:
        found[f"heavy top {form}"] = Case(lambda: problems.get("lang-a").system, 1, form)
    for form in ("quaternion", "directors"):
        found[f"variational chain 20 {form}"] = Case(lambda: problems.chain(20).system, 20, form, "variational")
    for method in ("radau5", "rodas", "dopri5"):
        found[f"{method} of rod 20"] = Case(lambda: rod(segments=20).system, 20, method, "run")
        found[f"{method} of chain 20"] = Case(lambda: problems.chain(20).system, 20, method, "run")
    return found


def joints() -> gd.System:
    return gd.problems.joint_tree().system


def hoses() -> gd.System:
    """A hose between two bodies on springs, and a net of two more."""
    section = gd.Circle(radius=5e-3)
    places = {"a": (0, 0, 0), "b": (1, 0, 0)}
    bodies = [gd.Body(n, mass=0.2, inertia=(2e-4, 3e-4, 4e-4), position=x) for n, x in places.items()]
    ends = (("one", (0, 0, 0), (1, 0, 0), "a", "b"), ("two", (1, 0, 0), (2, 0, 0), "b", "ground"))
    rods = [
        gd.Rod(
            name, section=section, material=RUBBER, segments=12, initial=gd.Straight(at, to), start=gd.Clamped(start),
            end=gd.Clamped(end),
        )
        for name, at, to, start, end in ends
    ]  # fmt: skip
    return gd.System(bodies, [gd.Spherical("ground", "a", at=(-0.1, 0, 0))], rods=rods)


@cache
def prepared(name: str) -> Callable[[int], tuple[float, ...]]:
    """A function that measures a case with that many repetitions, in seconds for one."""
    case = cases()[name]
    system = case.system()
    if case.kind == "variational":
        s = compile_stepped(
            system, 1e-3, coordinates=case.form, sigma="mean", potential="midpoint", conserving=False, reduce=True
        )
        return partial(timed, lambda n: s.core.run(s.start, n, 1e-3 * n, [n], None, False))
    if case.kind == "run":
        step = 2e-5 if case.form == "dopri5" else 1e-3

        def run(n: int) -> Any:
            return gd.simulate(system, step * n, method=case.form, step=step, output=[step * n], dense=False)

        run(1)  # what is imported at the first call is not counted

        def slope(n: int) -> tuple[float]:
            """Setting up is in both and not in the difference."""
            (short,), (long,) = timed(run, 100 * n), timed(run, 300 * n)
            return (1.5 * long - 0.5 * short,)

        return slope
    c = compile_system(system, case.form)
    if case.kind == "lanes":
        return lambda n: (c.core.time_lanes(c.y0, n),)
    try:
        c.core.time_stage(c.y0, 1)
    except (RuntimeError, ValueError):
        return lambda n: (c.core.time_rhs(c.y0, n),)
    return lambda n: (c.core.time_rhs(c.y0, 4 * n), *c.core.time_stage(c.y0, n))


def timed(run: Callable[[int], Any], n: int) -> tuple[float]:
    """Seconds of a step."""
    begin = time.process_time()
    run(n)
    return ((time.process_time() - begin) / n,)


@cache
def repetitions(name: str) -> int:
    n = 1
    while True:
        begin = time.process_time()
        prepared(name)(n)
        spent = time.process_time() - begin
        if spent > 2.0 * SHORTEST:
            return n
        n = max(2 * n, math.ceil(min(n * 2.5 * SHORTEST / max(spent, 1e-6), 50 * n)))


def measure(name: str) -> list[float]:
    """CPU ns of each part for a body or segment, measured once."""
    return [1e9 * x / cases()[name].size for x in prepared(name)(repetitions(name))]


def serve() -> None:
    """Answers names on the standard input, for `Build`."""
    for line in sys.stdin:
        print(json.dumps(measure(line.strip())), flush=True)


class Build:
    """A process that measures the core of a checkout by the interpreter of its .venv, which finds no other core."""

    def __init__(self, folder: Path) -> None:
        python = folder.resolve() / ".venv/bin/python"
        if not python.exists():
            raise SystemExit(f"{folder} is not a built checkout: {python} is missing; run make test there first.")
        self.process = subprocess.Popen(
            [python, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, name: str) -> list[float]:
        pipe, answer = self.process.stdin, self.process.stdout
        assert pipe is not None
        assert answer is not None
        pipe.write(name + "\n")
        pipe.flush()
        return [float(x) for x in json.loads(answer.readline())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--against", type=Path, help="another checkout that is built")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    here = Path(gd.__file__).parents[2]
    builds = [Build(here), Build(given.against)] if given.against else [measure]
    which = ", this core and the other" if given.against else ""
    print(f"CPU ns for a body or segment, best of {given.rounds}{which}")
    print(f"  {'':34}" + "".join(f"{part:>{24 if given.against else 10}}" for part in PARTS))
    for name in cases():
        if not all(word in name for word in given.words):
            continue
        rounds = [[build(name) for build in builds] for _ in range(given.rounds)]
        best = [[min(parts) for parts in zip(*(r[k] for r in rounds), strict=True)] for k in range(len(builds))]
        cells = zip(*best, strict=True)
        if given.against:
            print(f"  {name:34}" + "".join(f"{a:9.0f}{b:9.0f}{a / b:6.2f}" for a, b in cells), flush=True)
        else:
            print(f"  {name:34}" + "".join(f"{a:10.1f}" for (a,) in cells), flush=True)


if __name__ == "__main__":
    main()
