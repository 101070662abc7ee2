"""Many runs: ensembles and parameter studies, from one core to a cluster.

plan      which runs: model, design, outputs
members   runs in one thread: from a plan and numbers of runs to a block of results
store     where results are kept, in memory or in a folder (chunks, locks)
engines   who runs which chunk: threads, processes, clusters
results   what a user gets: Study (columns, tables, summary, indices)
fitting   parameters from measured curves: batches of runs, sensitivity, least_squares, and Fit
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod import _check
from gyrod.studies.chunks import MANIFEST
from gyrod.studies.columns import check_names
from gyrod.studies.engines import (
    HEAD_START,
    LOCAL,
    Hand,
    Job,
    OwnHand,
    calls_python,
    check_engine,
    processors,
    run_crew,
    run_serial,
)
from gyrod.studies.errors import StudyError, StudyInterrupted
from gyrod.studies.fit_results import Fit
from gyrod.studies.fitting import fit
from gyrod.studies.locks import Shard
from gyrod.studies.plan import Plan, make_plan
from gyrod.studies.processes import Remote, Unpicklable
from gyrod.studies.progress import StudyProgress, StudyWatcher, Tally, watching
from gyrod.studies.results import Study
from gyrod.studies.store import Folder, Layout, Memory, Store, default_chunk

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gyrod.studies.clusters import Client

__all__ = ["Fit", "Study", "StudyError", "StudyInterrupted", "StudyProgress", "fit", "open_study", "run_plan", "study"]


def study(
    model: object,
    vary: Mapping[str, object],
    outputs: Mapping[str, object],
    t_end: float | None = None,
    *,
    samples: int | None = None,
    sampler: str = "sobol",
    seed: int = 0,
    design: str = "grid",
    engine: object = "local",
    workers: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    chunk: int | None = None,
    shard: str | None = None,
    progress: bool | StudyWatcher = False,
    lanes: int = 1,
    timeout: float = 10.0,
    at_rest: bool = False,
    start: str = "model",
    **run: object,
) -> Study:
    """Run a model many times with different parameters, and keep a few numbers of every run.

    What comes out depends on the first arguments and the seed alone: not on engine, chunks or order, to the last bit. A
    run that fails is a row with its sentence.

    Parameters
    ----------
    model
        A `System`, the path of a model file, or a function of the parameters that returns a System or a `Rest`; at rest
        also a `Route` or the cables of `route_file`, which are laid anew in each run.
    vary
        For fields of the model, as ``"hose.material.young"`` (of a function: its arguments), a list of values or a
        distribution: `Uniform`, `Normal`, `LogUniform`, `LogNormal`, or a frozen one of ``scipy.stats``.
    outputs
        By name, a quantity as ``"hose.positions[-1]"`` (its final value), an output (`Final`, `Maximum`, `Minimum`,
        `Average`, `Crossing`, `History`), or a function of the motion.
    t_end
        Time to simulate; by default ``until`` of the model file.
    samples, sampler, seed
        How often distributions are sampled, and how: "sobol", "latin hypercube", "halton", "random", or "saltelli" for
        Sobol indices.
    design
        Lists of values in all combinations ("grid"), or row by row ("together").
    engine
        "local": threads, or worker processes where Python functions are called during a run; "threads",
        "processes", "serial"; "dask": a cluster of this machine, or the current one; the address of a Dask scheduler;
        a ``dask.distributed.Client``.
    workers
        Number of threads or processes; by default one for each processor.
    folder, resume
        Where results go while the study runs, a file for each chunk: memory does not grow with the number of runs, and
        ``resume=True`` continues where a study was interrupted or killed. Without it they stay in memory.
    chunk
        Runs that a worker does at a time; about a hundred by default.
    shard
        "0/3", "1/3", "2/3": run only this third of the chunks, for job arrays that share a folder.
    progress
        Show a bar; or a function of a `StudyProgress`, which may raise to end the study.
    lanes
        Runs that are integrated together, in the lanes of the processor's vectors.
    timeout
        Seconds to wait for the scheduler of a cluster.
    at_rest
        Take the equilibrium of each model, by `equilibrium`, in place of a motion; there is no ``t_end`` then. Outputs
        are `Final` ones, extremes with ``over="rod"``, and functions of the `Rest`.
    start
        "model": motions start as the model says; "rest": each from the equilibrium of its model.
    run
        Options of `simulate`; with ``at_rest`` those of `equilibrium`.
    """
    plan = make_plan(
        model, vary, outputs, t_end, samples=samples, sampler=sampler, seed=seed, design=design, lanes=lanes,
        at_rest=at_rest, start=start, **run,
    )  # fmt: skip
    return run_plan(
        plan, engine=engine, workers=workers, folder=folder, resume=resume, chunk=chunk, shard=shard,
        progress=progress, timeout=timeout,
    )  # fmt: skip


def open_study(folder: str | os.PathLike[str]) -> Study:
    """The old name of `gyrod.open` for studies."""
    _check.renamed("gd.open_study", "gd.open")
    return stored(folder)


def stored(folder: str | os.PathLike[str]) -> Study:
    """The study in a folder, whether it is finished or not; nothing is run."""
    return Study(Folder.open(folder))


def run_plan(
    plan: Plan,
    *,
    engine: object = "local",
    workers: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    chunk: int | None = None,
    shard: str | None = None,
    progress: bool | StudyWatcher = False,
    timeout: float = 10.0,
) -> Study:
    """Run a plan; arguments as for `study`."""
    check_names(Layout.of(plan))
    share = _shard(shard)
    _check_arguments(plan, workers, folder, resume, chunk, share)
    if not isinstance(progress, (bool, np.bool_)) and not callable(progress):
        raise ValueError(f"progress = {progress!r} must be True, False, or a function of a StudyProgress.")
    timeout = _check.positive("timeout", timeout)
    with ExitStack() as stack:
        client = None
        if not isinstance(engine, str) or engine not in LOCAL:
            client = stack.enter_context(_client(engine, workers, timeout))
        store = _store(plan, folder, resume, chunk, share, _parallel(client, workers, engine))
        if isinstance(store, Folder) and store.lock is not None:
            stack.enter_context(store.lock)
        found = Study(store, plan)
        mine = range(share[0], store.count, share[1]) if share else range(store.count)
        with watching(progress) as watcher:
            tally = Tally(_runs(store, mine), _runs(store, (k for k in mine if store.has(k))), watcher)
            job = Job(plan, store, (k for k in mine if not store.has(k)), tally)
            _run(job, engine, workers, client, found)
            tally.tell(always=True)
            if isinstance(store, Folder):
                store.files.sweep(share or (0, 1))  # of workers that were killed on the way
                store.look()
    return found


def _run(job: Job, engine: Any, workers: int | None, client: Client | None, found: Study) -> None:
    """Run what is to be run; whatever ends it early says how to continue."""
    try:
        if client is not None:
            from gyrod.studies.clusters import run_cluster

            run_cluster(job, client)
        elif (hands := _hands(engine, workers, job)) is None:
            run_serial(job)
        else:
            run_crew(job, hands)
        if _vanished(found):
            raise StudyError
    except StudyError as error:
        told = StudyError(_kept(found) if _vanished(found) else f"{error} {_kept(found)}")
        told.study = found
        raise told from error.__cause__
    except KeyboardInterrupt:
        stopped = StudyInterrupted(f"interrupted; {_kept(found)}")
        stopped.study = found
        raise stopped from None


def _vanished(found: Study) -> bool:
    return isinstance(found._store, Folder) and found._store.files.vanished


def _kept(found: Study) -> str:
    if _vanished(found):
        return (
            f"the folder {str(found.folder)!r} has vanished, or {MANIFEST} in it: nothing more is written. Put it back "
            "and continue with resume=True, or choose another one."
        )
    if isinstance(found._store, Folder):
        found._store.look()  # a worker may have written a chunk and not lived to say so
    kept = f"{found.done} of {found.size} runs are "
    if found.folder is None:
        return f"{kept}in .study of this error."
    return f"{kept}kept in {str(found.folder)!r}; call it again with resume=True to continue."


def _hands(engine: str, workers: int | None, job: Job) -> list[Hand] | None:
    """Who does the work: None for this thread, else one hand for each worker."""
    count = max(1, min(workers or processors(), -(-job.tally.size // job.store.chunk)))
    if engine == "serial":
        return None
    if engine == "processes":
        return [*Remote.crew(job.plan, job.store, count)]
    if engine == "local" and calls_python(job.plan):
        with suppress(Unpicklable):  # then threads, which are slow here, and work
            first = OwnHand(job.plan, HEAD_START)
            return [first, *Remote.crew(job.plan, job.store, count, HEAD_START)]
    return [OwnHand(job.plan) for _ in range(count)]


def _client(engine: object, workers: int | None, timeout: float) -> AbstractContextManager[Client]:
    if isinstance(engine, str):
        check_engine(engine)
    elif not hasattr(engine, "submit"):
        raise ValueError(
            f"engine = {_check.shown(engine)} must be one of {', '.join(map(repr, LOCAL))}, 'dask', the address of a "
            "Dask scheduler, or a Client."
        )
    from gyrod.studies.clusters import connected

    return connected(engine, workers, timeout)


def _parallel(client: Client | None, workers: int | None, engine: object) -> int:
    if client is not None:
        from gyrod.studies.clusters import threads_of

        return threads_of(client) or workers or 1
    return 1 if engine == "serial" else workers or processors()


def _store(
    plan: Plan,
    folder: str | os.PathLike[str] | None,
    resume: bool,
    chunk: int | None,
    shard: Shard | None,
    parallel: int,
) -> Store:
    # Shards must cut alike on different machines.
    default = default_chunk(Layout.of(plan), shard[1] if shard else parallel, plan.lanes)
    if folder is None:
        return Memory(plan, chunk or default)
    return Folder.begin(folder, plan, chunk, default, resume=resume, shard=shard)


def _runs(store: Store, chunks: Iterator[int] | range) -> int:
    return sum(b - a for a, b in (store.span(k) for k in chunks))


def _shard(shard: str | None) -> Shard | None:
    if shard is None:
        return None
    match = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", shard) if isinstance(shard, str) else None
    if match is None or not int(match[1]) < int(match[2]):
        raise ValueError(f"shard = {shard!r} must be 'i/N' with i from 0 to N - 1, such as '0/3', '1/3', '2/3'.")
    return int(match[1]), int(match[2])


def _check_arguments(
    plan: Plan, workers: object, folder: object, resume: object, chunk: int | None, shard: Shard | None
) -> None:
    for name, value in (("workers", workers), ("chunk", chunk)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise ValueError(f"{name} = {value!r} must be an integer of at least 1.")
    if chunk is not None and chunk % plan.lanes:
        raise ValueError(f"chunk = {chunk} must be a multiple of lanes = {plan.lanes}.")
    if folder is None and (resume or shard is not None):
        what = "resume = True" if resume else "shard"
        raise ValueError(f"{what} needs folder, where results of other calls are.")
