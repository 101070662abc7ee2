"""Many runs: threads against one, what a run costs beyond the solver, Dask, memory, lanes, models built one by one.

    python benchmarks/studies.py [--runs 10000] [--only scaling overhead ...] [--json rows.json]

The runs are those of the rubber pendulum: 10 segments, hinged, 1 s by rodas at 1e-3, other stiffness and density in
each. CPU time, best of several; rates are those of the clock, measured in turns with what they are compared with, so
that what else the machine does hits both alike. docs/many-runs.md reckons with these figures.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from timing import best  # type: ignore[import-not-found]

import gyrod as gd
from gyrod.equations import compile_system
from gyrod.studies import run_plan
from gyrod.studies.clusters import connected
from gyrod.studies.plan import Plan, make_plan

VARY = {"hose.material.young": gd.Uniform(4e6, 6e6), "hose.material.density": gd.Uniform(1000.0, 1200.0)}
TIP = {"tip": "hose.positions[-1]"}
RODAS: dict[str, Any] = {"method": "rodas", "rtol": 1e-3}
#: Runs so short that nearly all of their cost is what the study adds.
SHORT = 1e-4
Row = tuple[str, str, float, str]


def pendulum() -> gd.System:
    """The hose."""
    rubber = gd.Material(young=5e6, poisson=0.5, density=1100)
    along_x = gd.Straight((0, 0, 0), (1, 0, 0))
    hose = gd.Rod("hose", 1.0, 10, gd.Circle(radius=5e-3), rubber, start=gd.Hinged(), initial=along_x)
    return gd.System(rods=[hose])


def plan(runs: int, t_end: float = 1.0) -> Plan:
    """So many of its runs."""
    return make_plan(pendulum(), VARY, TIP, t_end, samples=runs, sampler="random", **RODAS)


@contextmanager
def clock(spent: list[float]) -> Iterator[None]:
    """Seconds of the clock, appended."""
    begin = time.perf_counter()
    yield
    spent.append(time.perf_counter() - begin)


# --- one machine -----------------------------------------------------------------------------------------------------


def scaling(runs: int) -> Iterator[Row]:
    """The same runs by one thread and by two, batch by batch in turns."""
    batches = 5
    some = plan(max(runs // batches, 16))
    chunk = max(8, some.size // 50 // 8 * 8)
    run_plan(plan(16), engine="threads", workers=2)
    one: list[float] = []
    two: list[float] = []
    cpu = [0.0, 0.0]
    for _ in range(batches):
        with clock(one):
            found = run_plan(some, engine="serial", chunk=chunk)
        cpu[0] += found["seconds"].sum()
        with clock(two):
            found = run_plan(some, engine="threads", workers=2, chunk=chunk)
        cpu[1] += found["seconds"].sum()
    total = batches * some.size
    yield "RATE1", "runs a second, one thread", total / sum(one), "1/s"
    yield "RATE2", "runs a second, two threads", total / sum(two), "1/s"
    yield "SPEEDUP", f"two threads over one ({total} runs each)", sum(one) / sum(two), ""
    yield "SPEEDUP_BEST", "the same, best of the batches", max(np.divide(one, two)), ""
    yield "SOLVER", "CPU of the solver, one run", 1e3 * cpu[0] / total, "ms"
    yield "SOLVER2", "CPU of the solver, one run of two at a time", 1e3 * cpu[1] / total, "ms"


def beyond(make: Callable[[], gd.Study]) -> float:
    """CPU seconds a run of a study beyond those of its runs."""
    begin = time.process_time()
    study = make()
    spent = time.process_time() - begin
    return float(spent - study["seconds"].sum()) / study.size


def overhead(runs: int) -> Iterator[Row]:
    """What the study adds to a run, in memory and with a folder, and what it costs before the first one."""
    few, some = plan(8), plan(runs)
    run_plan(few, engine="serial")
    fixed = min(beyond(lambda: run_plan(few, engine="serial")) for _ in range(5)) * few.size
    memory = min(beyond(lambda: run_plan(some, engine="serial")) for _ in range(3))
    yield "MADE", "a plan of it, once", 1e3 * best(lambda: plan(runs), 5)[0], "ms"
    yield "ONCE", "a study of 8 runs beyond the solver", 1e3 * fixed, "ms"
    yield "BEYOND", f"a run beyond the solver, {runs} runs (target: 50)", 1e6 * memory, "us"
    yield "BEYOND_MORE", "one run more", 1e6 * (memory * runs - fixed) / (runs - few.size), "us"
    with tempfile.TemporaryDirectory() as top:
        folders: list[dict[str, Any]] = [
            {"engine": "serial", "folder": Path(top) / str(k), "chunk": 96} for k in range(3)
        ]
        spent = [beyond(partial(run_plan, some, **how)) for how in folders]
        yield "BEYOND_FOLDER", "the same with a folder, chunks of 96", 1e6 * min(spent), "us"
        files = sorted((Path(top) / "0").glob("chunks/*/*.npz"))
        sizes = [file.stat().st_size for file in files]
        yield "CHUNK_BYTES", f"a chunk file of {min(96, runs)} runs", max(sizes), "bytes"
        seconds, _ = best(lambda: gd.open(Path(top) / "0"), 5)
        yield "OPEN", f"gd.open, {len(files)} files", 1e6 * seconds / len(files), "us a file"
        seconds, _ = best(lambda: gd.open(Path(top) / "0")["tip"], 5)
        yield "READ", "reading a column, files in the cache of the machine", 1e6 * seconds / len(files), "us a file"


def reading(_: int) -> Iterator[Row]:
    """What big chunk files take, and how fast they are read from the cache of the machine."""
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "study"
        run_plan(plan(20_000, SHORT), folder=folder, chunk=10_000)
        size = sum(file.stat().st_size for file in folder.glob("chunks/*/*.npz"))
        yield "ROW", "bytes of a run, chunks of 10 000", size / 20_000, "bytes"
        seconds, _ = best(lambda: gd.open(folder)["tip"], 7)
        yield "READ_RATE", "runs read in a second, CPU", 20_000 / seconds, "1/s"


def general(runs: int) -> Iterator[Row]:
    """Runs whose models are built one by one: other masses of a top, lengths of a hose by a function."""
    top = gd.Body("top", mass=1.0, inertia=(0.02, 0.02, 0.01), position=(0, 0, 0.2), angular_velocity=(1, 0, 120))
    system = gd.System([top], [gd.Spherical("ground", "top", at=(0, 0, 0))])
    some = make_plan(
        system, {"top.mass": gd.Uniform(0.9, 1.1)}, {"end": "top.position"}, SHORT,
        samples=runs, sampler="random", method="dop853", rtol=1e-6,
    )  # fmt: skip
    yield "GENERAL_BODY", "a short run of a top, all of it", 1e6 * spent(some), "us"
    ends = {"end": "hose.positions[-1]"}
    some = make_plan(hose, {"length": gd.Uniform(0.9, 1.1)}, ends, SHORT, samples=runs, sampler="random", **RODAS)
    yield "GENERAL_ROD", "a short run of a hose of another length, all of it", 1e6 * spent(some), "us"
    yield "TOGETHER", "a short run of the pendulum through the core, all of it", 1e6 * spent(plan(runs, SHORT)), "us"


def hose(length: float) -> gd.System:
    """A hose of another length."""
    rubber = gd.Material(young=5e6, poisson=0.5, density=1100)
    along_x = gd.Straight((0, 0, 0), (length, 0, 0))
    rod = gd.Rod("hose", length, 10, gd.Circle(radius=5e-3), rubber, start=gd.Hinged(), initial=along_x)
    return gd.System(rods=[rod])


def spent(some: Plan) -> float:
    """CPU seconds a run of a study in one thread, all of it."""
    return float(best(lambda: run_plan(some, engine="serial"), 5)[0]) / some.size


# --- a cluster -------------------------------------------------------------------------------------------------------


def dask(runs: int) -> Iterator[Row]:
    """Two workers with one thread each: CPU of driver, scheduler and workers beyond the solver, chunks of 100."""
    runs = max(runs // 200, 2) * 200
    some, small = plan(runs), plan(400, SHORT)
    with connected("dask", 2, 10.0) as client:
        run_plan(small, engine=client, chunk=100)
        begin = cpu(client)
        time.sleep(5.0)
        yield "DASK_IDLE", "an idle cluster of two workers, CPU in a second", 1e3 * (cpu(client) - begin) / 5.0, "ms"
        clocks: list[float] = []
        costs = []
        for _ in range(3):
            begin = cpu(client)
            with clock(clocks):
                study = run_plan(some, engine=client, chunk=100)
            costs.append((cpu(client) - begin - study["seconds"].sum()) / runs)
        yield "DASK", f"a run beyond the solver, {runs} runs (target: 1)", 1e3 * min(costs), "ms"
        yield "DASK_RATE", "runs a second, two workers", runs / min(clocks), "1/s"
        # So short that the scheduler is what is measured: what a chunk costs driver and scheduler, in one process.
        many = plan(20_000, SHORT)
        begin, own = cpu(client), ruling(client)
        study = run_plan(many, engine=client, chunk=100)
        chunks = many.size / 100
        yield "DASK_DRIVER", "driver and scheduler, a chunk", 1e3 * (ruling(client) - own) / chunks, "ms"
        both = cpu(client) - begin - study["seconds"].sum()
        yield "DASK_CHUNK", "driver, scheduler and workers beyond the solver, a chunk", 1e3 * both / chunks, "ms"


def cpu(client: Any) -> float:
    """CPU seconds of this process, of the scheduler and of all workers, so far."""
    return float(ruling(client) + sum(client.run(time.process_time).values()))


def ruling(client: Any) -> float:
    """CPU seconds of this process and of the scheduler, which is another one."""
    return float(time.process_time() + client.run_on_scheduler(time.process_time))


# --- memory ----------------------------------------------------------------------------------------------------------

SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import studies
studies.run_plan(studies.{plan}, folder={target!r}, **{how})
print(studies.peak())
"""


def dense(runs: int) -> Plan:
    """Runs with an output that needs all steps."""
    pull = {"pull": gd.Maximum("norm hose.start_force")}
    return make_plan(pendulum(), VARY, pull, 1.0, samples=runs, sampler="random", **RODAS)


def peak_of(plan: str, **how: Any) -> float:
    """Peak memory of a process that runs a plan into a folder, MB."""
    with tempfile.TemporaryDirectory() as top:
        text = SCRIPT.format(folder=str(Path(__file__).parent), plan=plan, target=str(Path(top) / "study"), how=how)
        told = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True)
    return float(told.stdout)


def peak() -> float:
    """Largest memory of this process so far, MB."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024.0
    except OSError:  # not on Linux, where what is counted begins with that of the parent
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024.0 if sys.platform == "linux" else 1024.0**2)


def memory(_: int) -> Iterator[Row]:
    """Peak memory of a process that runs a study into a folder, and what it holds for each run of a chunk."""
    found = []
    for runs in (1_000, 100_000):
        found.append(peak_of(f"plan({runs}, studies.SHORT)", workers=2))
        yield f"PEAK_{runs}", f"peak memory of {runs} runs", found[-1], "MB"
    yield "PEAK_RATIO", "ratio (target: 1.2)", found[1] / found[0], ""
    small, large = (peak_of("plan(16000, studies.SHORT)", engine="serial", chunk=chunk) for chunk in (96, 16_000))
    yield "HELD", "more for chunks of 16,000 than for those of 96, final values", large - small, "MB"
    small, large = (peak_of("dense(192)", engine="serial", chunk=chunk) for chunk in (8, 192))
    yield "HELD_DENSE", "more for chunks of 192 than for those of 8, dense output", large - small, "MB"


# --- lanes -----------------------------------------------------------------------------------------------------------


def lanes(runs: int) -> Iterator[Row]:
    """Four rods in the lanes of a vector against one after the other."""
    compiled = compile_system(pendulum(), "nullspace-quaternion")
    if not hasattr(compiled.core, "time_lanes"):
        print("  (this core has no lanes)")
        return
    y = np.ascontiguousarray(gd.simulate(pendulum(), 0.3, output=[0.3], dense=False, **RODAS).y[-1])
    pairs = [(compiled.core.time_rhs(y, 20_000), compiled.core.time_lanes(y, 20_000)) for _ in range(15)]
    one, four = np.min(pairs, axis=0)
    yield "RHS", "right-hand side of a rod", 1e6 * one, "us"
    yield "RHS_LANES", "of a rod of four in lanes", 1e6 * four / 4.0, "us"
    yield "LANES", "ratio (target: 0.35)", four / 4.0 / one, ""
    yield "LANES_PAIR", "ratio, median of pairs", float(np.median([b / 4.0 / a for a, b in pairs])), ""
    whole = {}
    for count in (1, 4):
        some = make_plan(
            pendulum(), VARY, TIP, 0.05, samples=max(runs // 10, 40) // 8 * 8, sampler="random", lanes=count,
            method="dopri5", step=5e-5,
        )  # fmt: skip
        whole[count] = spent(some)
    yield "LANES_RUN", "dopri5 of constant step, whole runs, ratio", whole[4] / whole[1], ""


PARTS: dict[str, Callable[[int], Iterator[Row]]] = {
    "scaling": scaling, "overhead": overhead, "reading": reading, "general": general, "dask": dask, "memory": memory,
    "lanes": lanes,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400, help="runs of the pendulum; 10000 for the full figure")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="these parts")
    parser.add_argument("--json", type=Path, help="write the figures there")
    chosen = parser.parse_args()
    figures = {}
    for name in chosen.only:
        print(f"{name}: {PARTS[name].__doc__}")
        for key, what, value, unit in PARTS[name](chosen.runs):
            figures[key] = value
            print(f"  {key:14} {what:58} {value:12.4g} {unit}", flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
