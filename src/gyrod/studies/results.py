"""Study: what a user gets of many runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gyrod import _check
from gyrod.model import ModelError
from gyrod.motion import Motion, Rest, SimulationError
from gyrod.motion.errors import ErrorReport
from gyrod.studies import reopening
from gyrod.studies.blocks import STATUSES
from gyrod.studies.columns import Columns, parted
from gyrod.studies.plan import Model, model_of
from gyrod.studies.solving import solved
from gyrod.studies.store import Folder, Store

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from gyrod._check import Data
    from gyrod.studies.design import Column, Design
    from gyrod.studies.indices import SobolIndices
    from gyrod.studies.plan import Described, Plan

#: CPU seconds of a run that is simulated again for the sake of its errors.
SMALL = 1.0


class Study:
    """Many runs of a model: parameters, outputs, status and cost of each.

    ``dataset`` has all of it, ``study["name"]`` one column as an array; ``print(study)`` has the ranges.
    """

    def __init__(self, store: Store, plan: Plan | None = None) -> None:
        self._store = store
        #: What the study is made of; None if it was opened from a folder.
        self.plan = plan

    @cached_property
    def _design(self) -> Design | None:
        return self.plan.design if self.plan is not None else reopening.design_of(self.description)

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self._store, self._design)

    # --- what it is --------------------------------------------------------------------------------------------------

    @property
    def description(self) -> Described:
        """All that identifies the study, in plain types: model, vary, outputs, t_end, run."""
        return self._store.description

    @property
    def folder(self) -> Path | None:
        """Folder of the results; None if they are in memory."""
        return self._store.folder if isinstance(self._store, Folder) else None

    @property
    def size(self) -> int:
        """Number of runs, whether they are there or not."""
        return self._store.layout.size

    @property
    def done(self) -> int:
        """Number of runs that are there, failed ones among them."""
        return self._store.done

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters."""
        return tuple(self._store.layout.parameters)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Outputs."""
        return tuple(self._store.layout.outputs)

    def __len__(self) -> int:
        return self.size

    # --- its runs ----------------------------------------------------------------------------------------------------

    @cached_property
    def dataset(self) -> xr.Dataset:
        """All runs as an xarray.Dataset along "run"; of a folder data are read on access.

        Parameters are coordinates; then the outputs (an entry's axes are called "tip_0", the times of a curve
        "tip_t"), ``status`` ("finished", "event", "failed", "refused", "missing"), ``error``, the time ``t`` at which a
        run ended, its counters and its CPU ``seconds``.
        """
        try:
            import xarray  # noqa: F401
        except ImportError:
            raise ImportError("study.dataset needs xarray; install gyrod with the extra 'study'.") from None
        from gyrod.studies.tables import dataset
        from gyrod.studies.units import units

        found = dataset(self._columns)
        model = self.plan.model if self.plan is not None else Model(reopening.system_of(self.description))
        for name, unit in units(self.description, model.fields, model.example).items():
            found[name].attrs["units"] = unit
        return found

    def __getitem__(self, name: str) -> Column:
        """A column of the table, (size, ...): a parameter, an output, "status", "error", "t", a counter, "seconds".

        "tip[2]" is an entry of one that holds vectors.
        """
        kinds = self._columns.kinds
        whole, index = parted(name, {key: shape for key, (_, shape) in kinds.items()})
        column = self._columns.take(_check.choice("column", whole, kinds), slice(None))
        for i in index:
            column = column[:, i]
        return column

    def __iter__(self) -> Iterator[str]:
        """Names of the columns."""
        return iter(self._columns.kinds)

    def __contains__(self, name: object) -> bool:
        return name in self._columns.kinds

    def parameters(self, run: int) -> dict[str, Any]:
        """Values of one run by name."""
        i = self._run(run)
        found = {name: self._columns.take(name, i) for name in self.names}
        return {name: x.item() if x.ndim == 0 else x for name, x in found.items()}

    @property
    def failed(self) -> dict[int, str]:
        """Sentences of the runs that failed or were refused, by their numbers."""
        found = {}
        for k in self._store.present():
            if (chunk := self._store.sound(k)) is None:
                continue
            block = chunk.block
            for i in np.flatnonzero(block.status >= STATUSES.index("failed")).tolist():
                found[block.start + i] = block.errors[i]
        return found

    def report(
        self,
        file: str | os.PathLike[str],
        runs: Sequence[int] | None = None,
        *,
        names: Sequence[str] | None = None,
        model: object = None,
        **options: Any,
    ) -> Path:
        """Write a page of some runs side by side, which are simulated again.

        By default all that did not fail, at most as many as a page shows. Options are those of `gyrod.report`; runs are
        called by their parameters unless ``names`` are given.
        """
        from gyrod.look.report import MOST, report

        failed = self.failed if runs is None else {}
        chosen = [*islice((run for run in range(self.size) if run not in failed), MOST)] if runs is None else list(runs)
        if not chosen:
            raise ValueError("there is no run to report; .failed says why they failed.")
        motions = [self.motion(run, model=model) for run in chosen]
        called = [self._called(run) for run in chosen] if names is None else names
        return report(motions, file, names=called, **options)

    def _called(self, run: int) -> str:
        """A run by its parameters, as "length = 0.52"."""
        given = self.parameters(run).items()
        parts = [
            f"{name} = {x:.4g}" if isinstance(x, float) else f"{name} = {x}" for name, x in given if np.ndim(x) == 0
        ]
        return ", ".join(parts) or f"run {run}"

    def motion(self, run: int, *, model: object = None, **options: Any) -> Motion | Rest:
        """Simulate one run again, with all its steps; options of `simulate` are added to those of the study.

        Of a study at rest it is the `Rest`, and options are those of `equilibrium`.

        A study that was opened from a folder and whose model holds Python functions needs ``model``.
        """
        values = self.parameters(run)
        source, own, t_end = self._model(model)
        at_rest, start = self.description.get("at_rest", False), self.description.get("start", "model")
        return solved(source.build(values), t_end, {**own, **options}, at_rest=at_rest, start=start)

    def _model(self, model: object) -> tuple[Model, Data, float]:
        if self.plan is not None and model is None:
            return self.plan.model, dict(self.plan.options), self.plan.t_end
        t_end = float(self.description["t_end"])
        own = reopening.options_of(self.description) if self.plan is None else dict(self.plan.options)
        if own is None:
            raise ModelError(
                "this study has Python functions among the options of its runs; call study again, with resume."
            )
        if model is not None:
            return model_of(model)[0], own, t_end
        system = reopening.system_of(self.description)
        if system is None:
            what = "is routed, and its folder does not hold the route"
            if "routed" not in self.description["model"]:
                what = "holds Python functions, which its folder does not"
            raise ModelError(f"the model of this study {what}; give model=.")
        return Model(system=system), own, t_end

    def _run(self, run: int) -> int:
        if isinstance(run, bool) or not isinstance(run, (int, np.integer)) or not -self.size <= run < self.size:
            raise IndexError(f"run = {run!r} must be a number from 0 to {self.size - 1}.")
        return int(run) % self.size

    # --- looking -----------------------------------------------------------------------------------------------------

    def plot(self, what: str = "matrix", **options: Any) -> Figure:
        """A matplotlib Figure: "matrix", "response", "histogram", "map", "curves" or "sobol".

        Parameters
        ----------
        output
            Outputs, or entries of them as "tip[2]"; by default all that the plot can show.
        parameter, by
            What goes to the right, and for "response" and "map" a second one: lines, or upwards.
        names
            Columns of "matrix".
        limits
            Of outputs by name: "response" and "map" draw lines where they have these values.
        file, figure, size
            As for `Motion.plot`.
        """
        old = {name: options.pop(name) for name in ("kind",) if name in options}
        what = _check.old_argument("Study.plot", old, "kind", "what", what)
        if what == "sobol":
            return self.sobol(options.pop("output", None)).plot(**options)
        from gyrod.look.plots.studies import plot

        return plot(self.dataset, what, **{"sampled": reopening.sampled(self.description), **options})

    def sobol(self, output: str | Sequence[str] | None = None, **options: Any) -> SobolIndices:
        """Sobol indices of the outputs, or of some: the share of their variance that comes from each parameter.

        "tip[2]" is an entry of an output.

        The sampler "saltelli" gives first-order and total ones, others the first order by regression; options are
        ``confidence`` (0.95), ``resamples`` (1000) and ``seed`` (0) of the intervals.
        """
        from gyrod.studies.indices import sobol

        names = reopening.sampled(self.description)
        options["lists"] = [name for name in self.names if name not in names]
        return sobol(self.dataset, names, str(self.description.get("sampler")), output, **options)

    @cached_property
    def error(self) -> ErrorReport:
        """Errors of the first run, which is solved again beside a companion."""
        bare = {} if self.description.get("at_rest", False) else {"dense": False}
        return self.motion(0, error="total", **bare).error

    def __str__(self) -> str:
        from gyrod.studies.summary import summary

        return "\n".join([summary(self._store), *self._errors()])

    def _errors(self) -> list[str]:
        """A line on the errors of the first run, where simulating it again is a small matter and its model is here."""
        chunk = self._store.sound(0) if 0 in self._store.present() else None
        if chunk is None or float(chunk.block.seconds[0]) > SMALL or chunk.block.status[0]:
            return []
        try:
            return [f"  errors of run 0: {self.error.line()}"]
        except (ModelError, SimulationError, ValueError):
            return []

    def __repr__(self) -> str:
        where = f" in {str(self.folder)!r}" if self.folder is not None else ""
        return f"<Study of {self.size} runs, {self.done} done{where}>"
