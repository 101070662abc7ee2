"""Who runs the small batches of a fit: threads here, or the engines of studies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import numpy as np

from gyrod import _check
from gyrod._check import Array
from gyrod.equations import compile_system
from gyrod.runs.methods import rigid
from gyrod.studies.engines import LOCAL, processors
from gyrod.studies.members import run_block
from gyrod.studies.plan import Plan

#: Runs all members of a plan: outputs by name, (runs, ...), and a sentence for each run, "" unless it failed.
Runner = Callable[[Plan], tuple[dict[str, Array], Sequence[str]]]
#: Seconds of a run from which on it pays to start processes for a batch.
LONG = 1.0


@contextmanager
def batches(engine: object, workers: int | None, plan: Plan) -> Iterator[Runner]:
    """A runner for plans like this one; a cluster stays for all of them."""
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise ValueError(f"workers = {workers!r} must be an integer of at least 1.")
    count = workers or processors()
    if engine == "serial":
        yield _threads(None, 1)
    elif engine == "threads" or (engine == "local" and not _calls_python(plan)):
        with ThreadPoolExecutor(count) as pool:
            yield _threads(pool, count)
    elif engine == "local":
        yield _patient(count)
    elif engine == "processes":
        yield _engine(engine, count)
    elif isinstance(engine, str) and engine != "dask" and ":" not in engine:
        _check.choice("engine", engine, [*LOCAL, "dask", "tcp://address:port"])
    elif not isinstance(engine, str) and not hasattr(engine, "submit"):
        raise ValueError(f"engine = {engine!r} must be a name such as 'threads', an address, or a Dask Client.")
    else:
        from gyrod.studies.clusters import connected

        with connected(engine, workers, 10.0) as client:
            yield _engine(client, workers)


def _calls_python(plan: Plan) -> bool:
    """Whether runs call Python functions while they integrate; making a model by one is short against that."""
    if plan.options.get("events"):
        return True
    row = {name: column[0] for name, column in plan.parameters(0, 1).items()}
    try:
        return compile_system(plan.system(row), hard=rigid(plan.options.get("method"))).python
    except (ValueError, ArithmeticError, LookupError, TypeError):  # its run will report it
        return False


def _threads(pool: ThreadPoolExecutor | None, workers: int) -> Runner:
    """Threads of this process: the core releases the interpreter while it integrates."""

    def run(plan: Plan) -> tuple[dict[str, Array], Sequence[str]]:
        n = min(workers, plan.size)
        ends = [plan.size * i // n for i in range(n + 1)]
        if pool is None or n == 1:
            blocks = [run_block(plan, 0, plan.size)]
        else:
            blocks = list(pool.map(partial(run_block, plan), ends[:-1], ends[1:]))
        outputs = {name: np.concatenate([block.outputs[name] for block in blocks]) for name in plan.shapes}
        return outputs, [error for block in blocks for error in block.errors]

    return run


def _engine(engine: object, workers: int | None) -> Runner:
    """The engines of studies, a run a chunk. Processes are started anew for every batch."""

    def run(plan: Plan) -> tuple[dict[str, Array], Sequence[str]]:
        from gyrod.studies import run_plan

        study = run_plan(plan, engine=engine, workers=workers, chunk=1)
        return {name: np.asarray(study[name]) for name in plan.shapes}, [str(error) for error in study["error"]]

    return run


def _patient(workers: int) -> Runner:
    """For runs that hold the interpreter: this thread, and processes from the first long run on."""
    seconds = 0.0

    def run(plan: Plan) -> tuple[dict[str, Array], Sequence[str]]:
        nonlocal seconds
        if seconds > LONG and workers > 1 and plan.size > 1:
            return _engine("local", workers)(plan)
        block = run_block(plan, 0, plan.size)
        seconds = float(block.seconds.max())
        return block.outputs, block.errors

    return run
