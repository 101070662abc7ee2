"""A path of equilibria, its events and its errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from gyrod import _check, look
from gyrod._check import Array
from gyrod.motion import Beside, Motion, MotionStats, Rest, errors
from gyrod.solve.paths.family import Family

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PathEvent:
    """A limit point, where the parameter turns, or a bifurcation, where another branch crosses."""

    #: "limit point" or "bifurcation".
    kind: str
    #: Of the parameter.
    value: float
    #: The equilibrium there.
    rest: Rest = field(repr=False)
    #: The critical mode as an increment of the unknowns (velocities zero), of root mean square 1 over the scales.
    mode: Array = field(repr=False)
    #: Negative eigenvalues of the tangent stiffness before and after.
    unstable: tuple[int, int]
    #: Number of the path's point before it.
    after: int


@dataclass(frozen=True)
class Path:
    """Equilibria along a parameter: ``path.value`` (n,), ``path["hose"].positions`` (n, N+1, 3), ``path.stable`` (n,).

    ``path.rests[k]`` and ``path.at(0.5)`` are single ones.
    """

    #: "time", "load", "gravity" or the name of the function.
    parameter: str
    #: Of the parameter, (n,).
    value: Array
    #: Unknowns, (n, N).
    y: Array
    #: Negative eigenvalues of the tangent stiffness, (n,).
    unstable: NDArray[np.int64]
    #: Newton iterations that each point took, (n,).
    iterations: NDArray[np.int64]
    #: Limit points and bifurcations in the order of the path.
    events: tuple[PathEvent, ...]
    _family: Family = field(repr=False)
    _histories: tuple[tuple[str, Array], ...] = field(repr=False)
    _beside: Beside = field(default=Beside(), repr=False)

    @cached_property
    def error(self) -> errors.ErrorReport:
        """Errors by quantity, the largest along the path; rough ones, unless it was followed with ``error``."""
        return errors.of_path(self)

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Whether the equilibria are stable, (n,)."""
        return np.asarray(self.unstable == 0)

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        found = "stable" if self.stable.all() else f"{int((~self.stable).sum())} of them unstable"
        events = ", ".join(f"{event.kind} at {event.value:.6g}" for event in self.events) or "no events"
        return (
            f"<Path over {self.parameter!r}: {len(self)} points, {self.value[0]:.6g} to {self.value[-1]:.6g}, {found}, "
            f"{events}>"
        )

    def __getstate__(self) -> dict[str, object]:
        """The fields; of a path over a function the systems at its points, since functions rarely go with a pickle."""
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        return state | {"_family": self._family.portable(self.value)}

    @cached_property
    def rests(self) -> Sequence[Rest]:
        """The equilibria one by one; made on access."""
        return Rests(self)

    def at(self, value: float) -> Rest:
        """The equilibrium at a stop, or at another point of the path; the last one where the path has several."""
        number = _check.number("value", value)
        span = float(np.ptp(self.value)) or 1.0
        found = np.flatnonzero(np.abs(self.value - number) <= 1e-12 * max(span, abs(number)))
        if not len(found):
            near = float(self.value[np.argmin(np.abs(self.value - number))])
            raise ValueError(
                f"value = {number:g} is not a point of the path; the nearest is {near:g}. Make it one of the stops."
            )
        return self.rests[int(found[-1])]

    @cached_property
    def motion(self) -> Motion:
        """The points as the times of a motion; not for a path over a function, whose systems differ."""
        compiled = self._family.whole
        if compiled is None:
            raise ValueError(f"the systems along {self.parameter!r} differ; use path[name] and path.rests.")
        stats = MotionStats("follow", compiled.formulation, steps=len(self.value) - 1)
        return Motion(self.value, self.y, stats, steps=self.value, _compiled=compiled)

    def __getitem__(self, name: str) -> Any:
        """A body, a rod or a joint by its name, with the points of the path as first axis."""
        if self._family.whole is not None:
            return self.motion[name]
        return _stacked([rest[name] for rest in self.rests])

    def plot(
        self,
        what: str = "response",
        *,
        names: str | Sequence[str] | None = None,
        file: str | PathLike[str] | None = None,
        figure: Figure | None = None,
        size: tuple[float, float] | None = None,
    ) -> Figure:
        """A matplotlib Figure: displacements against the parameter ("response"), or what a motion draws ("shape")."""
        return look.plot_path(self, what, names=names, file=file, figure=figure, size=size)


class Rests(Sequence[Rest]):
    """The equilibria of a path, made on access."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._made: dict[int, Rest] = {}

    def __len__(self) -> int:
        return len(self._path.value)

    @overload
    def __getitem__(self, index: int) -> Rest: ...
    @overload
    def __getitem__(self, index: slice) -> list[Rest]: ...
    def __getitem__(self, index: int | slice) -> Rest | list[Rest]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        if i not in self._made:
            p = self._path
            method, history = p._histories[i]
            self._made[i] = p._family.rest(float(p.value[i]), p.y[i], int(p.unstable[i]), history, method)
        return self._made[i]


def _stacked(tracks: list[Any]) -> Any:
    """Tracks without a first axis as one that has it."""
    first = tracks[0]
    same = ("start",)  # the sign convention of quaternions
    arrays = [f.name for f in fields(first) if isinstance(getattr(first, f.name), np.ndarray) and f.name not in same]
    return replace(first, **{name: np.stack([getattr(track, name) for track in tracks]) for name in arrays})


class PathError(RuntimeError):
    """A path that cannot continue: ``path`` holds what was reached, ``history`` the last Newton steps over scales."""

    def __init__(self, message: str, path: Path, history: Array) -> None:
        super().__init__(message)
        self.path, self.history = path, history


class PathInterrupted(KeyboardInterrupt):
    """Ctrl-C on the way; ``path`` holds what was reached."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path
