"""What a comparison found: trials, the reference they are measured against, and the choice among them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gyrod import _check

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What to sort a comparison by.
ORDERS = ("error", "cost", "energy", "drift", "method", "formulation", "discretization")


@dataclass(frozen=True)
class Trial:
    """One run of a comparison; values are None where there is nothing to report, and ``note`` says why."""

    #: Of methods with constant steps their coordinates, "quaternion" or "directors".
    formulation: str
    method: str
    #: Tolerance, or the constant step in s.
    rtol: float | None = None
    step: float | None = None
    #: "finished", "limit" (of CPU time), "left out" (a coarser run has reached it), "failed", or "refused" (does not
    #: support the system).
    status: str = "finished"
    #: CPU time of the whole call; where the limit was reached about what the whole run would have taken.
    seconds: float | None = None
    steps: int | None = None
    rejected: int | None = None
    rhs: int | None = None
    jacobians: int | None = None
    #: Largest error of a position over the length of the system, and of a rotation in rad, at all compared times.
    position: float | None = None
    rotation: float | None = None
    #: Largest error of the total energy over the largest kinetic energy.
    energy: float | None = None
    #: Largest residual of the constraints on the level of position and of velocity.
    drift: float | None = None
    drift_velocity: float | None = None
    #: Time that was reached.
    t: float = 0.0
    note: str = ""
    #: How the rods were discretised, as "elements:3x8"; empty where none was asked for.
    discretization: str = ""
    #: Number of unknowns of the equations.
    unknowns: int | None = None

    @property
    def family(self) -> str:
        """The discretisation without its number, as "elements of degree 3"."""
        kind, _, number = self.discretization.partition(":")
        degree, times, _ = number.partition("x")
        return f"{kind} of degree {degree}" if times else kind

    @property
    def per_step(self) -> float | None:
        """CPU seconds for each step that was tried, accepted or not."""
        tried = (self.steps or 0) + (self.rejected or 0)
        return None if self.seconds is None or not tried or self.status != "finished" else self.seconds / tried

    @property
    def error(self) -> float | None:
        """The larger one of the errors of position and of rotation."""
        return None if self.position is None else max(self.position, self.rotation or 0.0)

    @property
    def label(self) -> str:
        """Discretisation, method, formulation and tolerance in words."""
        how = f"step = {self.step:.3g} s" if self.step is not None else f"rtol = {self.rtol:g}" if self.rtol else ""
        return ", ".join(x for x in (self.discretization, self.method, self.formulation, how) if x)


@dataclass(frozen=True)
class Reference:
    """The run that the others are measured against, and how far a second one is from it."""

    formulation: str
    method: str
    rtol: float | None
    seconds: float
    #: Difference to an independent run, over the length and in rad: errors below it mean nothing; None: not known.
    error: float | None = None
    #: What that run was.
    check: str = ""
    #: How its rods were discretised; empty: as those of the model.
    discretization: str = ""


@dataclass(frozen=True)
class Comparison:
    """What `compare` found: print it, iterate over its trials, or ask for ``front``, ``best``, ``plot``."""

    t_end: float
    #: Length that errors of positions are measured in, m, and the largest kinetic energy, J.
    length: float
    kinetic: float
    #: CPU seconds that each run was given.
    limit: float
    #: None if no run was exact enough for that.
    reference: Reference | None
    trials: tuple[Trial, ...] = field(repr=False)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    def __len__(self) -> int:
        return len(self.trials)

    @property
    def finished(self) -> tuple[Trial, ...]:
        """The trials that reached the end."""
        return tuple(trial for trial in self.trials if trial.status == "finished")

    @property
    def floor(self) -> float:
        """Error below which trials cannot be distinguished: that of the reference."""
        return 0.0 if self.reference is None or self.reference.error is None else self.reference.error

    def sorted(self, by: str = "error") -> tuple[Trial, ...]:
        """The finished trials by "error", "cost", "energy", "drift", "method", "formulation" or "discretization"."""
        _check.choice("by", by, ORDERS)
        if by == "error":
            return tuple(sorted(self.finished, key=lambda x: (self._seen(x), x.seconds or 0.0)))
        keys: dict[str, Callable[[Trial], float | tuple[str | float, ...]]] = {
            "cost": lambda x: x.seconds or 0.0,
            "energy": lambda x: _or_inf(x.energy),
            "drift": lambda x: _or_inf(x.drift),
            "method": lambda x: (x.method, x.formulation, -_or_inf(x.rtol or x.step)),
            "formulation": lambda x: (x.formulation, x.method, -_or_inf(x.rtol or x.step)),
            "discretization": lambda x: (x.family, x.unknowns or 0, x.method, -_or_inf(x.rtol or x.step)),
        }
        return tuple(sorted(self.finished, key=keys[by]))

    def _seen(self, trial: Trial) -> float:
        """The error as far as the reference shows it."""
        return max(_or_inf(trial.error), self.floor)

    def front(self) -> tuple[Trial, ...]:
        """The trials worth choosing, cheapest first: for each no other is both cheaper and at least as exact."""
        found: list[Trial] = []
        for trial in sorted(self.finished, key=lambda x: (x.seconds or 0.0, self._seen(x))):
            if trial.error is not None and (not found or self._seen(trial) < self._seen(found[-1])):
                found.append(trial)
        return tuple(found)

    def best(self, error: float) -> Trial | None:
        """The cheapest trial with at most this error; None if there is none."""
        error = _check.positive("error", error)
        within = [x for x in self.finished if x.error is not None and self._seen(x) <= error]
        return min(within, key=lambda x: x.seconds or 0.0, default=None)

    def to_json(self, file: str | Path | None = None) -> str:
        """All of it as JSON; ``file`` writes it."""
        front = self.front()
        data = {
            "t_end": self.t_end,
            "length": self.length,
            "kinetic": self.kinetic,
            "limit": self.limit,
            "reference": None if self.reference is None else asdict(self.reference),
            "trials": [
                {**asdict(trial), "error": trial.error, "per_step": trial.per_step, "front": trial in front}
                for trial in self.trials
            ],
        }
        text = json.dumps(_plain(data), indent=1, allow_nan=False)
        if file is not None:
            Path(file).write_text(text + "\n", encoding="utf-8")
        return text

    def table(self, by: str = "error", width: int = 120) -> str:
        """The trials as text of at most so many columns, then what is not supported, each with its reason."""
        from gyrod.look.comparing import table

        return table(self, by, width)

    def plot(self, cost: str = "seconds", *, file: str | Path | None = None) -> Figure:
        """Work against error, a matplotlib Figure; ``cost`` is "seconds", "rhs", "steps" or "unknowns".

        With discretisations one line goes through those of one sort. ``file`` saves it.
        """
        from gyrod.look.comparing import plot

        return plot(self, cost, file)

    def __str__(self) -> str:
        return self.table()


def _or_inf(value: float | None) -> float:
    return math.inf if value is None or math.isnan(value) else value


def _plain(value: object) -> object:
    """JSON has no infinities and no NaN."""
    if isinstance(value, dict):
        return {key: _plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
