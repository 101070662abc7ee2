"""How wrong a result is: its quantities beside those of companions, the same model on a coarser mesh.

``motion.error["hose.start_force"]`` compares what a run says with what its companions say (`Beside`, made by
`gyrod.solve.companions`), time by time and place by place; without a companion it is a rough figure from what rods turn
in a cell of their mesh and from the tolerance. No order of convergence is assumed: what the difference to a companion
is worth was measured (docs/errors.md), and the constants below are what came of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gyrod import _check
from gyrod._check import Array
from gyrod.model import Clip, ContactSensor, System
from gyrod.model.meshes import Mesh
from gyrod.motion import Beside, Motion
from gyrod.motion.differences import (
    along,
    chosen,
    difference,
    field_of,
    largest,
    largest_turn,
    less,
    places,
    radii,
    read,
    sensor_of,
)
from gyrod.motion.readings import Quantity, quantity

if TYPE_CHECKING:
    from gyrod.solve.modal import Modes
    from gyrod.solve.paths.result import Path, PathEvent

#: Error over the difference to a companion on half the mesh, by what the system is made of, at any time and of
#: extremes: of positions and what follows from them, of forces, moments and curvatures, of the smallest bend radius.
SAFETY = {
    "grid": {"total": (2.0, 1.8, 1.7), "peak": (1.40, 1.09, 1.7)},
    "elements": {"total": (0.7, 1.2, 1.3), "peak": (2.97, 0.98, 1.3)},
    "bodies": {"total": (3.08, 4.30, 4.30), "peak": (3.08, 4.30, 4.30)},
}
#: Which of them.
PLACES, FORCES, RADII = 0, 1, 2
#: The same for a companion on three quarters of the mesh, which is nearer to the run, over that on half of it, or on
#: two of three cells; from which share of the cells on.
NEAR = 0.7
NEARER = {"grid": 2.2, "elements": 5.5, "bodies": 1.0}
#: Error over the difference to a companion on twice the mesh, or of bodies with a tenth of the tolerance: 2 is enough
#: where it has at most half of the error, as any convergence of first order promises. Nothing was fitted.
FINER = 2.0
#: Power of the ratio of tolerances by which errors of bodies differ.
TOLERANCE_POWER = 0.75
#: Share of the difference at any time that the error of an extreme has at least: extremes may agree by chance.
LEAST_PEAK = 0.1
#: Rough relative error a θ^b + c rtol^d, θ the largest turn of a rod in a cell: a, b, c, d by the kind of mesh.
ROUGH = {
    "positions": {"grid": (0.03, 0.5, 3.0, 0.75), "elements": (1e-3, 3.0, 0.01, 0.5), "bodies": (0.0, 1.0, 100.0, 1.0)},
    "forces": {"grid": (0.25, 2.0, 3.0, 0.25), "elements": (3e-3, 3.0, 0.3, 0.25), "bodies": (0.0, 1.0, 0.1, 0.5)},
    "contacts": {"grid": (0.75, 2.0, 9.0, 0.25), "elements": (9e-3, 3.0, 0.9, 0.25), "bodies": (0.0, 1.0, 0.3, 0.5)},
}
#: Fields whose errors are shares of the size of the system, not of their own.
SPACED = ("position", "positions", "distance")
#: Why quantities have no estimate.
WITHOUT = {
    "drift": "it is an error itself, that of the constraints",
    "t": "it is the time",
    "multipliers": "it depends on the mesh",
    "euler": "Euler angles jump where two of their axes meet; take the quaternion",
    "dissipated": "it is summed over the steps of a run, which its companions do not keep",
    "work": "it is summed over the steps of a run, which its companions do not keep",
    "balance": "it is an error itself, that of the energy",
    "count": "it counts points of the mesh",
}
#: Why bodies alone have none at rest.
NO_MESH = "bodies alone have no mesh, and are at rest to rounding: there is nothing to compare with."
#: Why rods have only estimates by companions where they slide.
SLIDES = "a clip slides along a rod, where no mesh ends: there are no rough figures; take error='total'."
#: Fields of rods, joints, clips and contacts that strains decide, or forces over a stiffness; all others are as good as
#: positions.
STRAINED = frozenset(
    {
        "strain", "curvature", "bend_radius", "force", "force_space", "moment", "moment_space", "stress",
        "start_force", "start_moment", "end_force", "end_moment", "torque", "effort", "normal", "friction",
        "gap", "turn",
    }
)  # fmt: skip
#: Difference over the reach of a motion from which on the two have nothing to do with each other; and by how many
#: factors of ten it has grown until then in a chaotic one.
LOST, DECADES = 0.3, 2.0
#: The same from which on tolerances no longer say how much nearer to the truth the run is than its companion.
UNRELATED = 0.5


class EstimateError(ValueError):
    """A quantity, or a whole run, whose error is not known."""


@dataclass(frozen=True, eq=False)
class ErrorEstimate:
    """The error of a quantity, in its unit and of the shape that it has at one time: the largest over the run."""

    quantity: str
    unit: str
    #: Of the value at any time.
    total: Array
    #: Of the largest and the smallest value over the run, whenever they are reached.
    peak: Array
    #: Parts of it by the tolerance and by the mesh; None where they were not separated.
    time: Array | None = None
    mesh: Array | None = None
    #: Whether it is a figure from experience, without a companion.
    rough: bool = False

    def __str__(self) -> str:
        parts = {"total": self.total, "peak": self.peak, "time": self.time, "mesh": self.mesh}
        told = [f"{name} {_digits(np.max(x, initial=0.0))}" for name, x in parts.items() if x is not None]
        return f"error of {self.quantity}{' (rough)' if self.rough else ''} in {self.unit or '1'}: {', '.join(told)}"


@dataclass(frozen=True)
class Row:
    """A line of the table: what is printed of a kind of quantities, with the largest error among them."""

    name: str
    unit: str
    value: float
    total: float
    peak: float
    time: float | None
    mesh: float | None


class ErrorReport:
    """The errors of a result by quantity, ``motion.error["hose.positions[-1]"]``; print it for a short table."""

    def __init__(self, source: OfRows | OfModes, beside: Beside) -> None:
        self._source, self._beside = source, beside

    @property
    def rough(self) -> bool:
        """Whether there is no companion, so that figures are from experience."""
        return self._beside.coarse is None

    @property
    def failure(self) -> str:
        """Why errors are not known; empty if they are."""
        return self._beside.failure or (self._source.unknown if self.rough else "")

    @property
    def chosen(self) -> str:
        """What ``accuracy`` has chosen; empty if it was not given."""
        return self._beside.chosen

    def __getitem__(self, text: str) -> ErrorEstimate:
        if self.failure:
            raise EstimateError(f"the error of {text!r} is not known: {self.failure}")
        return self._source.estimate(text)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The lines of the table."""
        return () if self.failure else tuple(self._source.table())

    @cached_property
    def growth(self) -> float:
        """Rate in 1/s at which the difference to the companion grew until it was as large as the motion; 0 elsewhere.

        What grows with a power of the time, as phases do, does not count.
        """
        return 0.0 if self.failure or self.rough else self._source.growth()[0]

    @property
    def chaos(self) -> str:
        """A sentence on how fast errors grow, where they grow until nothing is left of the motion; empty elsewhere."""
        if not self.growth:
            return ""
        rate, lost = self._source.growth()
        return (
            f"errors grow tenfold every {np.log(10.0) / rate:.2g} s, and from t = {lost:.3g} s on they are as large as "
            "the motion: no mesh and no tolerance makes it right from then on"
        )

    def line(self) -> str:
        """The table in one line."""
        if self.failure:
            return f"not known: {self.failure}"
        told = [f"{row.name} {_digits(row.total if row.name == 'positions' else row.peak)} {row.unit}".rstrip()
                for row in self.rows]  # fmt: skip
        return f"{', '.join(told)}{' (rough)' if self.rough else ''}" + (f"; {self.chaos}" if self.chaos else "")

    def __repr__(self) -> str:
        return f"<ErrorReport: {self.line()}>"

    def __str__(self) -> str:
        if self.failure:
            return f"errors are not known: {self.failure}"
        parts = not self.rough and self._beside.half is not None
        by = f"by a companion with {self._beside.told}"
        lines = [f"errors, {'rough figures from experience' if self.rough else by}"]
        head = ["", "largest", "its error", "at any time", *(["by time", "by mesh"] if parts else [])]
        lines.append(_columns(head))
        for row in self.rows:
            value = f"{'smallest ' if row.name == 'bend radius' else ''}{row.value:.4g} {row.unit}"
            shown = [row.peak, row.total, *([row.time or 0.0, row.mesh or 0.0] if parts else [])]
            lines.append(_columns([row.name, value, *(_digits(x) for x in shown)]))
        return "\n".join([*lines, *(x for x in (self.chaos, self.chosen) if x)])


# --- of motions, rests and paths -------------------------------------------------------------------------------------


class OfRows:
    """Errors of a motion, of a single time, or of several, one for each point of a path whose systems differ."""

    def __init__(self, rows: Motion | tuple[Motion, ...], beside: Beside) -> None:
        self.rows, self.beside = rows, beside
        #: One that names the system and its mesh.
        self.motion: Motion = rows[0] if isinstance(rows, tuple) else rows

    @property
    def unknown(self) -> str:
        """Why there is not even a rough figure."""
        system = self.motion.system
        if any(isinstance(force, Clip) and force.slides for force in system.forces):
            return SLIDES
        if self.motion.compiled.at_rest:
            return "" if system.rods else NO_MESH
        if self.beside.rtol is not None:
            return ""
        return "there are no rough figures without a tolerance, as of constant steps; simulate with error='total'."

    def estimate(self, text: str) -> ErrorEstimate:
        """The error of a quantity."""
        q = quantity(text, self.motion.system)
        why = without(q, self.motion.system)
        if why:
            raise EstimateError(f"{text!r} has no estimate: {why}.")
        q.shape(self.motion)  # says what does not fit
        if field_of(q, self.motion.system) == "gap" and not np.isfinite(read(q, self.rows)).any():
            raise EstimateError(f"{text!r} has no estimate: it is infinite, since nothing comes near enough to touch.")
        return self._rough(q) if self.beside.coarse is None else self._compared(q)

    def _compared(self, q: Quantity) -> ErrorEstimate:
        beside = self.beside
        # Nothing that was integrated is better than rounding.
        integrated = beside.half is None or beside.half is not beside.coarse
        least = float(np.finfo(float).eps) * self._magnitude(q) if integrated else 0.0
        total, peak = (np.maximum(x, least) for x in self._error(q, self.rows, beside.coarse))
        if beside.half is None:
            return ErrorEstimate(q.text, q.unit, total, peak)
        mesh, mesh_peak = self._error(q, self.rows, beside.half)
        time, time_peak = (np.maximum(x, least) for x in self._error(q, beside.half, beside.coarse))
        # Errors of both kinds may cancel in a companion that has both.
        total, peak = np.maximum(total, np.maximum(time, mesh)), np.maximum(peak, np.maximum(time_peak, mesh_peak))
        return ErrorEstimate(q.text, q.unit, total, peak, time, mesh)

    def _magnitude(self, q: Quantity) -> float:
        """The largest value; of bend radii, which are infinite where a rod is straight, the smallest."""
        values = np.abs(read(q, self.rows))
        return largest(values.min(keepdims=True) if q.field == "bend_radius" else values)

    def _error(
        self, q: Quantity, a: Motion | tuple[Motion, ...], b: Motion | tuple[Motion, ...]
    ) -> tuple[Array, Array]:
        """Errors at any time and of extremes, by the difference of two."""
        total, peak = self._apart(q, a, b)
        what, sort = kind(self.motion.system), _sort(q, self.motion.system)
        of_total, of_peak = (
            safety(what, sort, which, self.beside, self._beyond(UNRELATED)) for which in ("total", "peak")
        )
        peak = np.maximum(peak, LEAST_PEAK * total)
        error = of_total * total
        return error, np.minimum(of_peak * peak, error)  # no extreme is further off

    def _apart(
        self, q: Quantity, a: Motion | tuple[Motion, ...], b: Motion | tuple[Motion, ...]
    ) -> tuple[Array, Array]:
        """Largest difference over the common rows, and difference of extremes, at the places that the run has."""
        whole = replace(q, index=(), measure="")
        x, y = self._values(whole, a), self._values(whole, b)
        if q.field == "bend_radius":
            return radii(q, x, y)
        ends = [np.abs(less(f(chosen(q, x), axis=0), f(chosen(q, y), axis=0))) for f in (np.max, np.min)]
        change = chosen(q, difference(q, x, y, self.motion.system))
        finite = np.isfinite(change)
        if not finite.all() and finite.any():  # of gaps, which only one of them has when something comes near or leaves
            change = np.where(finite, change, 0.0)
        largest = np.max(np.abs(change), axis=0)
        return largest, largest if q.dense else np.maximum(*ends)  # companions do not count turns

    def _values(self, q: Quantity, rows: Motion | tuple[Motion, ...]) -> Array:
        """A quantity at the common rows, (n, ...), and at the places of the run's own mesh."""
        common = self.beside.rows
        if rows is self.rows:
            return read(q, rows)[common]
        mesh: Mesh | None = self.motion[q.name].mesh if q.place else None
        return (read(q, rows) if mesh is None else along(q, rows, places(q, mesh)))[: len(common)]

    def _rough(self, q: Quantity) -> ErrorEstimate:
        values, system = read(q, self.rows), self.motion.system
        touching = q.kind == "contact" or isinstance(sensor_of(q, system), ContactSensor)
        if field_of(q, system) in SPACED or (touching and field_of(q, system) == "gap"):
            size, what = self._size, "positions"
        else:
            size, what = largest(np.abs(values)), "forces" if _sort(q, system) else "positions"
        relative = self._relative("contacts" if touching and what == "forces" else what)
        error = np.full(values.shape[1:], relative * size)
        if q.field == "bend_radius":  # of the smallest
            error = relative * values.min(axis=0)
        return ErrorEstimate(q.text, q.unit, error, error, rough=True)

    def _relative(self, what: str) -> float:
        a, b, c, d = ROUGH[what][kind(self.motion.system)]
        rtol = self.beside.rtol
        return float(min(a * self.turn**b + (c * rtol**d if rtol else 0.0), 1.0))

    @cached_property
    def turn(self) -> float:
        """Largest angle by which a rod turns in one of its segments or elements, rad."""
        motions = self.rows if isinstance(self.rows, tuple) else (self.rows,)
        return max((largest_turn(m[name]) for m in motions for name in m.system.rod_names), default=0.0)

    @cached_property
    def _size(self) -> float:
        return float(self.motion.compiled._length())

    def table(self) -> Iterator[Row]:
        """Lines for print."""
        system = self.motion.system
        ends = [f"{n}.{e}_force" for n in system.rod_names for e in ("start", "end")]
        held = [text for text in ends if np.any(read(quantity(text, system), self.rows))]
        places = [f"{n}.position" for n in system.names] + [f"{n}.positions" for n in system.rod_names]
        yield from self._row("positions", places)
        yield from self._row("end forces", held)
        yield from self._row("section forces", [f"{n}.force" for n in system.rod_names])
        yield from self._row("bend radius", [f"{n}.bend_radius" for n in system.rod_names])
        if not system.rods:
            yield from self._row("joint forces", [f"{j.name}.force" for j in system.joints if j.name])

    def _row(self, name: str, texts: list[str]) -> Iterator[Row]:
        """The largest of some quantities of one kind, the smallest bend radius, with its error; and the worst error."""
        found: Row | None = None
        for text in texts:
            bent = text.endswith("bend_radius")
            error = self.estimate(text if bent else f"norm {text}")
            values = read(quantity(error.quantity, self.motion.system), self.rows)
            values = values.min(axis=0) if bent else values.max(axis=0)
            worst = np.unravel_index(np.argmin(values) if bent else np.argmax(error.total), values.shape)
            at = np.unravel_index(np.argmin(values) if bent else np.argmax(values), values.shape)
            value, at = (self._size, worst) if name == "positions" else (float(values[at]), at)
            if not np.isfinite(value):
                continue
            parts = (None if x is None else float(np.asarray(x)[worst]) for x in (error.time, error.mesh))
            row = Row(name, error.unit, value, float(error.total[worst]), float(error.peak[at]), *parts)
            found = row if found is None else _worse(found, row, bent)
        if found is not None:
            yield found

    def growth(self) -> tuple[float, float]:
        """Rate in 1/s at which the difference grows, 0 if it is not chaos, and when it has become as large as all."""
        if not self._beyond(LOST):
            return 0.0, np.inf
        t, apart, reach = self._away
        first, lost = (int(np.argmax(apart > share * LOST * reach)) for share in (10.0**-DECADES, 1.0))
        if lost - first < 4:
            return 0.0, float(t[lost])
        slope = float(np.polyfit(t[first : lost + 1], np.log(apart[first : lost + 1]), 1)[0])
        # As steep in the logarithm as t^6 would be: phases drift with t and t².
        return (slope if slope * t[lost] > 6.0 else 0.0), float(t[lost])

    def _beyond(self, share: float) -> bool:
        """Whether the two motions come further apart than a share of how far points get."""
        if isinstance(self.rows, tuple) or self.motion.t.ndim == 0:
            return False
        t, apart, reach = self._away
        return len(t) >= 10 and bool(apart[-1] > share * reach)

    @cached_property
    def _away(self) -> tuple[Array, Array, float]:
        """Times, largest distance of a point in both motions until then, and how far points get from the start."""
        system, coarse = self.motion.system, self.beside.coarse
        texts = [f"{n}.position" for n in system.names] + [f"{n}.positions" for n in system.rod_names]
        away, reach = np.zeros(len(self.beside.rows)), 0.0
        for q in (quantity(text, system) for text in texts):
            x, y = self._values(q, self.rows), self._values(q, coarse)
            away = np.maximum(away, np.linalg.norm(x - y, axis=-1).reshape(len(x), -1).max(axis=1))
            reach = max(reach, float(np.linalg.norm(x - x[:1], axis=-1).max()))
        return np.atleast_1d(self.motion.t)[self.beside.rows], np.maximum.accumulate(away), reach


class OfPath(OfRows):
    """Errors along a path, and of the values at which its limit points and bifurcations lie: "critical"."""

    def __init__(self, path: Path, rows: tuple[Motion, ...], beside: Beside) -> None:
        super().__init__(rows, beside)
        self.events: tuple[PathEvent, ...] = path.events

    def estimate(self, text: str) -> ErrorEstimate:
        """The error of a quantity; of critical values one by one, infinite where the coarser mesh has none."""
        if text != "critical":
            return super().estimate(text)
        if not self.events:
            raise EstimateError("'critical' has no estimate: the path has no limit point and no bifurcation.")
        values = np.array([event.value for event in self.events])
        if self.beside.coarse is None:
            error = np.abs(values) * self._relative("forces")
            return ErrorEstimate(text, "", error, error, rough=True)
        factor = safety(kind(self.motion.system), FORCES, "total", self.beside)
        error = factor * np.abs(values - self._matched())
        return ErrorEstimate(text, "", error, error, np.zeros_like(error), error)

    def _matched(self) -> Array:
        """The values on the coarser mesh, the first of a kind with the first of its kind; infinite where none is."""
        left = list(self.beside.critical)
        found = []
        for event in self.events:
            same = next((one for one in left if one[0] == event.kind), None)
            found.append(np.inf if same is None else same[1])
            if same is not None:
                left.remove(same)
        return np.array(found)

    def table(self) -> Iterator[Row]:
        """That of all points, and the first critical value."""
        yield from super().table()
        if self.events:
            error = self.estimate("critical")
            parts = (None, None) if error.rough else (0.0, float(error.total[0]))
            yield Row("first critical", "", self.events[0].value, *(float(error.total[0]),) * 2, *parts)


# --- of modes --------------------------------------------------------------------------------------------------------


class OfModes:
    """Errors of frequencies and damping ratios."""

    UNITS: ClassVar = {"frequencies": "Hz", "omega": "rad/s", "damping": ""}

    def __init__(self, modes: Modes, beside: Beside) -> None:
        self.modes, self.beside = modes, beside

    @property
    def unknown(self) -> str:
        """Why there is not even a rough figure."""
        return OfRows(self.modes.rest.motion, self.beside).unknown

    def estimate(self, text: str) -> ErrorEstimate:
        """Of all modes that both meshes have; of those beyond, infinite."""
        values = np.asarray(getattr(self.modes, _check.choice("quantity", text, self.UNITS)))
        if self.beside.coarse is None:
            error = np.abs(values) * OfRows(self.modes.rest.motion, self.beside)._relative("forces")
            return ErrorEstimate(text, self.UNITS[text], error, error, rough=True)
        other = np.asarray(getattr(self.beside.coarse, text))
        error, n = np.full(len(values), np.inf), min(len(values), len(other))
        factor = safety(kind(self.modes.rest.motion.system), FORCES, "total", self.beside)
        error[:n] = factor * np.abs(values[:n] - other[:n])
        return ErrorEstimate(text, self.UNITS[text], error, error, np.zeros_like(error), error)

    def table(self) -> Iterator[Row]:
        """One line."""
        if len(self.modes):
            error = self.estimate("frequencies")
            i = int(np.argmax(error.total))
            parts = (None, None) if error.rough else (0.0, float(error.total[i]))
            yield Row("frequencies", "Hz", float(self.modes.frequencies[i]), *(float(error.total[i]),) * 2, *parts)

    def growth(self) -> tuple[float, float]:
        """None."""
        return 0.0, np.inf


def of_motion(motion: Motion) -> ErrorReport:
    """What `Motion.error` is."""
    return ErrorReport(OfRows(motion, motion._beside), motion._beside)


def of_modes(modes: Modes) -> ErrorReport:
    """What `Modes.error` is."""
    return ErrorReport(OfModes(modes, modes._beside), modes._beside)


def of_path(path: Path) -> ErrorReport:
    """What `Path.error` is: of those points that were solved again, of all where none was looked at."""
    beside: Beside = path._beside
    motions = tuple(path.rests[k].motion for k in (beside.rows.tolist() or range(len(path))))
    beside = replace(beside, rows=np.arange(len(motions)))
    return ErrorReport(OfPath(path, motions, beside), beside)


def safety(what: str, sort: int, which: str, beside: Beside, lost: bool = False) -> float:
    """What a difference to a companion is multiplied by; ``which`` is "total" or "peak".

    Where the two are unrelated, the run may be as far off as they are apart, whatever their tolerances.
    """
    if beside.share > 1.0 or (what == "bodies" and beside.looser < 1.0):
        return FINER
    nearer = NEARER[what] if beside.share > NEAR else 1.0
    looser = beside.looser**-TOLERANCE_POWER if what == "bodies" and not lost else 1.0
    return SAFETY[what][which][sort] * nearer * looser


def kind(system: System) -> str:
    """What the constants depend on: "grid" if any rod has one, "elements", or "bodies" alone."""
    if not system.rods:
        return "bodies"
    return "grid" if any(rod.degree is None for rod in system.rods) else "elements"


def _sort(q: Quantity, system: System) -> int:
    """Whether it is a bend radius, or strains or accelerations decide it."""
    field = field_of(q, system)
    if field == "bend_radius":
        return RADII
    return FORCES if field in STRAINED or field.endswith(("acceleration", "specific force")) else PLACES


def without(q: Quantity, system: System) -> str:
    """Why a quantity has no estimate; empty if it has one."""
    return WITHOUT.get(field_of(q, system)) or WITHOUT.get(q.kind, "")


def _worse(a: Row, b: Row, smallest: bool) -> Row:
    """The worst error of two rows, with the value that stands for both and its own error."""
    of = a if (a.value == b.value and a.peak > b.peak) or (a.value < b.value if smallest else a.value > b.value) else b
    return replace(a if a.total > b.total else b, value=of.value, peak=of.peak)


# --- words -----------------------------------------------------------------------------------------------------------


def _digits(x: float | np.floating) -> str:
    """Two digits: an error has no more."""
    return f"{float(x):.2g}"


def _columns(cells: list[str]) -> str:
    widths = (16, 18, *(12 for _ in cells[2:]))
    return "".join(f"{c:{w}}" if i == 0 else f"{c:>{w}}" for i, (c, w) in enumerate(zip(cells, widths, strict=True)))
