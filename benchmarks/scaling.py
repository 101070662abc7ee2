"""How the cost of an implicit step grows with the system: chains, nets, bodies on springs, lone rods.

RODAS with constant steps, CPU time, without setting up: python benchmarks/scaling.py [chain | springs | net | rod ...]
Sizes may be given as in net:24 or net:6:24 (net:100 is not a default); rest:24 is the net at rest; superlu:24 is what
SciPy's SuperLU needs for one factor and six solutions on the same graph. --figure FILE draws what was measured over the
size, both on logarithmic scales. With --threads 1,2 nets are measured in real time, with each of these numbers of
threads in turns.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from itertools import pairwise

from timing import best  # type: ignore[import-not-found]

import gyrod as gd
from gyrod import _core

RUBBER = gd.Material(young=5e6, poisson=0.45, density=1100.0)
DAMPING = gd.Damping(factor=0.01)


def chain(links: int) -> gd.System:
    """Links hinged to each other, the first one to ground."""
    names = ["ground", *(f"link{k}" for k in range(links))]
    bodies = [gd.Body(name, 1.0, (1e-3, 1e-2, 1e-2), (0.1 * k + 0.05, 0, 0)) for k, name in enumerate(names[1:])]
    joints = [gd.Revolute(a, b, at=(0.1 * k, 0, 0), axis=(0, 1, 0)) for k, (a, b) in enumerate(pairwise(names))]
    return gd.System(bodies=bodies, joints=joints)


def grid(rows: int, columns: int) -> tuple[dict[tuple[int, int], str], list[tuple[tuple[int, int], tuple[int, int]]]]:
    """Names on a grid, and its neighbours."""
    names = {(i, j): f"b{i}-{j}" for i in range(rows) for j in range(columns)}
    return names, [(a, b) for a in names for b in ((a[0] + 1, a[1]), (a[0], a[1] + 1)) if b in names]


def springs(columns: int) -> gd.System:
    """Rows of ten free bodies, springs between neighbours."""
    names, pairs = grid(10, columns)
    bodies = [gd.Body(name, 1.0, (0.1, 0.2, 0.3), (0.1 * i, 0.1 * j, 0)) for (i, j), name in names.items()]
    forces = [gd.SpringDamper(names[a], names[b], stiffness=100.0, length=0.1) for a, b in pairs]
    return gd.System(bodies=bodies, forces=forces)


def net(k: int, strain: str = "cosserat") -> gd.System:
    """k x k free bodies, neighbours joined by rods of six segments."""
    names, pairs = grid(k, k)
    bodies = [gd.Body(name, 0.05, (1e-5, 1e-5, 1e-5), (0.2 * i, 0.2 * j, 0)) for (i, j), name in names.items()]
    rods = [
        gd.Rod(
            f"r{n}", segments=6, section=gd.Circle(radius=5e-3), material=RUBBER, damping=DAMPING,
            initial=gd.Straight((0.2 * a[0], 0.2 * a[1], 0), (0.2 * b[0], 0.2 * b[1], 0)),
            start=gd.Clamped(names[a]), end=gd.Clamped(names[b]), discretization="staggered", strain=strain,
        )
        for n, (a, b) in enumerate(pairs)
    ]  # fmt: skip
    return gd.System(bodies=bodies, rods=rods)


def kirchhoff(k: int) -> gd.System:
    """The net with rods that do not shear."""
    return net(k, "kirchhoff")


def rod(segments: int) -> gd.System:
    """A damped rubber rod."""
    return gd.problems.lla_rubber(segments=segments).system


CASES: dict[str, tuple[Callable[[int], gd.System], Callable[[int], int], tuple[int, ...], str]] = {
    "chain": (chain, lambda n: n, (10, 100, 1000), "link"),
    "springs": (springs, lambda n: 10 * n, (5, 20, 80), "body"),
    "net": (net, lambda k: 12 * k * (k - 1), (3, 6, 12, 24, 40), "segment"),
    "kirchhoff": (kirchhoff, lambda k: 12 * k * (k - 1), (3, 6, 12, 24), "segment"),
    "rod": (rod, lambda n: n, (10, 100, 10_000, 100_000), "segment"),
}


def run(system: gd.System, step: float, steps: int, threads: int = 1) -> gd.Motion:
    """Steps of RODAS without anything that is kept of them."""
    end = step * steps
    return gd.simulate(system, end, method="rodas", step=step, output=[end], dense=False, threads=threads)


LABELS = {
    "chain": "chain of hinges, links", "springs": "springs between free bodies, bodies",
    "net": "net of rods on bodies, segments", "kirchhoff": "net of Kirchhoff rods, segments",
    "rod": "one rod, segments", "superlu": "graph of the net, SuperLU alone",
}  # fmt: skip


def step_of(system: gd.System, step: float, units: int) -> tuple[float, float]:
    """CPU seconds of a step, and of everything before the first."""
    few = max(2, 20_000 // units)
    begin = time.thread_time()
    run(system, step, 1)
    first = time.thread_time() - begin
    repeat = 7 if units < 2000 else 3 if units < 50_000 else 1
    short, long = (best(lambda n=n: run(system, step, n), repeat)[0] for n in (few, 3 * few))
    return (long - short) / (2 * few), first


def shared(size: int, counts: list[int]) -> None:
    """Real and CPU time of steps of a net that threads share, each number of them in turns."""
    sim = {n: gd.stepper(net(size), method="rodas", step=1e-4, threads=n) for n in counts}
    seconds: dict[int, list[tuple[float, float]]] = {n: [] for n in counts}
    for _ in range(6):
        for n in counts:
            real, cpu = time.perf_counter(), time.process_time()
            sim[n].step(2e-4)
            seconds[n].append(((time.perf_counter() - real) / 2, (time.process_time() - cpu) / 2))
    for n, found in seconds.items():
        real, cpu = (min(column) for column in zip(*found[1:], strict=True))
        told = f"{1e3 * real:9.2f} ms a step in real time, {1e3 * cpu:9.2f} ms of CPU"
        print(f"net       {size:7d} {n} threads {told}; {peak():.2f} GB", flush=True)


def peak() -> float:
    """Largest memory of the process so far, GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def superlu(k: int) -> float:
    """CPU seconds of SciPy's SuperLU on the graph of the net with six unknowns a node: one factor, six solutions."""
    import numpy as np
    from scipy import sparse
    from scipy.sparse.linalg import splu

    names, pairs = grid(k, k)
    bodies = {name: i for i, name in enumerate(names)}
    cells = len(bodies) + 6 * np.arange(len(pairs))[:, None] + np.arange(6)
    paths = [[bodies[a], *cells[n], bodies[b]] for n, (a, b) in enumerate(pairs)]
    links = np.array([link for path in paths for link in pairwise(path)])
    nodes = len(bodies) + cells.size
    graph = sparse.coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(nodes, nodes))
    blocks = sparse.kron((graph + graph.T).tobsr(), np.ones((6, 6))).tocsc()
    blocks.data[:] = np.random.default_rng(1).uniform(-1.0, 1.0, blocks.nnz)
    matrix = (blocks + sparse.diags_array(np.full(6 * nodes, 100.0))).tocsc()
    right = np.ones(6 * nodes)

    def work() -> None:
        factors = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        for _ in range(6):
            factors.solve(right)

    return float(best(work, 3 if k < 30 else 1)[0])


def at_rest(k: int) -> tuple[int, float]:
    """Newton steps and CPU seconds of the net under its weight, its edge held."""
    system = net(k)
    edge = [b for b in system.bodies if {round(b.position[0] / 0.2), round(b.position[1] / 0.2)} & {0, k - 1}]
    joints = [gd.Fixed("ground", b.name, at=b.position) for b in edge]
    held = gd.System(bodies=system.bodies, rods=system.rods, joints=joints)
    begin = time.thread_time()
    rest = gd.equilibrium(held)
    return len(rest.history), time.thread_time() - begin


def draw(found: dict[str, list[tuple[int, float]]], file: str) -> None:
    """Milliseconds of a step over the number of units, and what grows with their number."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for name, points in found.items():
        n, seconds = zip(*points, strict=True)
        axes.loglog(n, [1e3 * s for s in seconds], "s--" if name == "superlu" else "o-", label=LABELS[name])
    ends = [
        min(n for points in found.values() for n, _ in points),
        max(n for points in found.values() for n, _ in points),
    ]
    for us in (1.0, 10.0):
        axes.loglog(ends, [1e-3 * us * n for n in ends], ":", color="0.6")
        axes.annotate(
            f"{us:g} µs each", (ends[1], 1e-3 * us * ends[1]), ha="right", va="bottom", color="0.4", fontsize=8
        )
    axes.set(xlabel="links, bodies or segments", ylabel="CPU time of a RODAS step, ms")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(file, dpi=150)


def main(names: list[str]) -> None:
    print(f"core for {_core.isa()}")

    def option(name: str) -> str | None:
        value = names.pop(names.index(name) + 1) if name in names else None
        names[:] = [other for other in names if other != name]
        return value

    file, threads = option("--figure"), option("--threads")
    found: dict[str, list[tuple[int, float]]] = {}
    for name in names or (["net"] if threads else [*CASES, "superlu"]):
        name, *given = name.split(":")
        if threads:
            for size in map(int, given or (24, 40)):
                shared(size, [int(n) for n in threads.split(",")])
            continue
        if name == "rest":
            for size in map(int, given or (6, 12, 24)):
                steps, seconds = at_rest(size)
                print(f"rest      {size:7d} {seconds:9.2f} s, {steps} Newton steps; {peak():.2f} GB", flush=True)
            continue
        if name == "superlu":
            for size in map(int, given or CASES["net"][2]):
                seconds, segments = superlu(size), CASES["net"][1](size)
                found.setdefault(name, []).append((segments, seconds))
                told = f"{1e6 * seconds / segments:9.2f} us a segment, one factor and six solutions by SuperLU"
                print(f"superlu   {size:7d} {told}", flush=True)
            continue
        make, units, sizes, unit = CASES[name]
        for size in map(int, given or sizes):
            begin = time.thread_time()
            system = make(size)
            made = time.thread_time() - begin
            seconds, first = step_of(system, 1e-3 if name in ("chain", "rod") else 1e-4, units(size))
            found.setdefault(name, []).append((units(size), seconds))
            print(
                f"{name:9s} {size:7d} {1e6 * seconds / units(size):9.2f} us a {unit} and step, "
                f"{1e3 * seconds:9.3f} ms a step; model {made:.2f} s, first step {first:.2f} s; {peak():.2f} GB",
                flush=True,
            )
    if file:
        draw(found, file)


if __name__ == "__main__":
    main(sys.argv[1:])
