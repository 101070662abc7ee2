"""The result of a simulation: by-name access, energies, momenta, drift, counters, dense output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import _check
from gyrod._check import Array
from gyrod._moved import old_names
from gyrod._words import listed, suggests
from gyrod.equations import Compiled
from gyrod.equations.rods import held_frames, held_positions
from gyrod.model import System
from gyrod.motion.between import Knots, along, passes_over, sampled
from gyrod.motion.clips import Clips
from gyrod.motion.contacts import Contacts
from gyrod.motion.energy import Energy, Flows, energies, momenta
from gyrod.motion.joints import JointTrack, counted, tracks
from gyrod.motion.parts import Beside, Drift, EventRecord, Midpoints, MotionStats
from gyrod.motion.sensors import Sensors
from gyrod.motion.tracks import BodyTrack, Ends, RodTrack, with_ends

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure
    from scipy.integrate._ivp.ivp import OdeResult

    from gyrod.look.viewer import View
    from gyrod.motion.distances import Distances, To
    from gyrod.motion.envelopes import Envelope
    from gyrod.motion.errors import ErrorReport

old_names(__name__)

#: What the core says of a rod that follows from places and velocities alone.
KINEMATICS = ("positions", "velocities", "quaternions", "vertex_quaternions", "Omega")


@dataclass(frozen=True, eq=False)
class Motion:
    """Bodies and rods over time: ``motion["top"].position``, ``motion["hose"].curvature``, ``motion.energy.total``.

    A single time, from ``motion(0.5)``, has the same fields without the time axis.
    """

    #: Times, (n,).
    t: Array
    #: Unknowns of the formulation at these times, as integrated, (n, N).
    y: Array
    #: Cost, method and formulation.
    stats: MotionStats
    #: "finished", "event", or why the run ended early.
    status: str = "finished"
    #: Ends of all accepted steps, the start first.
    steps: Array = field(default_factory=lambda: np.zeros(0))
    #: Zeros of the event functions in order of time.
    events: tuple[EventRecord, ...] = ()
    #: Middles of constant steps, of "variational" and "energy-momentum"; empty otherwise.
    midpoints: Midpoints = field(default_factory=Midpoints)
    #: Iterations of Newton's method in every step of these methods.
    newton: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    #: What was not kept or done as asked, and why: sentences.
    notes: tuple[str, ...] = ()
    _compiled: Compiled | None = field(default=None, repr=False)
    _dense: Callable[[Array], Array] | None = field(default=None, repr=False)
    #: Times and unknowns of accepted states beside rows that are none, where there is no dense output.
    _accepted: tuple[Array, Array] | None = field(default=None, repr=False)
    #: Time and unknowns of the accepted state behind an end by an event, which is none.
    _beyond: tuple[float, Array] | None = field(default=None, repr=False)
    _projected: bool = field(default=True, repr=False)
    #: Dissipated energy, work and balance where they are known already, as from a file.
    _flows: Callable[[], Flows] | None = field(default=None, repr=False)
    _beside: Beside = field(default=Beside(), repr=False)

    def __getstate__(self) -> dict[str, object]:
        """Everything but what was derived; the dense output of the core as data, which does as well."""
        state = {f.name: self.__dict__[f.name] for f in fields(self) if f.name in self.__dict__}
        if self._dense is not None and getattr(self._dense, "__name__", "") == "evaluate":  # of a run of the core
            state["_dense"] = sampled(self._dense, self.steps, self.stats.method)
        return state | ({} if self._near is None else {"_near": self._near})

    @property
    def compiled(self) -> Compiled:
        """The equations that were integrated."""
        assert self._compiled is not None
        return self._compiled

    @property
    def system(self) -> System:
        """What moves."""
        return self.compiled.system.original

    def __repr__(self) -> str:
        when = f"t = {float(self.t):.6g} s" if self.t.ndim == 0 else "no rows"
        if self.t.ndim and len(self.t):
            when = f"{len(self.t)} rows, t = {self.t[0]:.6g} to {self.t[-1]:.6g} s"
        return f"<Motion of {self._members}: {when}, {self.stats.method or 'no method'}, {self.status}>"

    @property
    def _members(self) -> str:
        """The first names, for a line about it."""
        return listed(self.names if self._compiled is not None else (), 4, str) or "nothing"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bodies and of the rods."""
        return (*self.compiled.system.names, *self.compiled.system.rod_names)

    @cached_property
    def contacts(self) -> Contacts:
        """Contacts by name: ``motion.contacts["floor"].force``."""
        return Contacts(self)

    @cached_property
    def _motions(self) -> tuple[Array, Array, Array, Array]:
        return self.compiled.motions(self.y, self.t)

    @cached_property
    def joints(self) -> tuple[JointTrack, ...]:
        """All joints of a mechanism in the order of the system."""
        return self._joint_tracks()

    @cached_property
    def joint_motions(self) -> tuple[JointTrack, ...]:
        """The joints without what they carry, which costs far more where constraints are redundant."""
        return self.__dict__.get("joints") or self._joint_tracks(loads=False)

    def _joint_tracks(self, loads: bool = True) -> tuple[JointTrack, ...]:
        times, rows = np.atleast_1d(self.t), np.ascontiguousarray(np.atleast_2d(self.y))
        near = self._near if loads else None
        found = tracks(self.compiled, np.ascontiguousarray(times), rows, self._motions, loads)
        if self._dense is not None:
            known = (self._span[0] <= self.steps) & (self.steps <= min(self._span[1], times.max(initial=0.0)))
            counted(self.compiled, self._dense, self.steps[known], times, found)
        if near is not None:
            found = [
                replace(
                    track,
                    force=self._along(row.force, track.force),
                    torque=self._along(row.torque, track.torque),
                    effort=self._along(row.effort, track.effort),
                )
                for track, row in zip(found, near.joints, strict=True)
            ]
        if self.t.ndim == 0:
            parts = ("coordinates", "rates", "quaternion", "force", "torque", "effort")
            found = [replace(track, **{k: getattr(track, k)[0] for k in parts}) for track in found]
        return tuple(found)

    def at_rows(self, rows: slice | NDArray[np.intp]) -> Motion:
        """Some of the rows, without events."""
        some = Motion(
            self.t[rows], self.y[rows], self.stats, self.status, self.steps, _compiled=self._compiled,
            _dense=self._dense, _beyond=self._beyond, _projected=self._projected,
        )  # fmt: skip
        some.__dict__["_near"] = self._near
        return some

    @cached_property
    def sensors(self) -> Sensors:
        """What the sensors of the system read: ``motion.sensors["imu"]``, (n, ...)."""
        return Sensors(self)

    @cached_property
    def clips(self) -> Clips:
        """What clips hold: ``motion.clips["p-clip"].force``, (n, 3)."""
        return Clips(self)

    @cached_property
    def _tracks(self) -> dict[str, BodyTrack]:
        arrays = self._motions
        when = 0 if self.t.ndim == 0 else slice(None)
        starts = [b.orientation for b in self.compiled.system.bodies]
        x, R, v, Omega = (a[when] for a in arrays)
        return {
            n: BodyTrack(x[..., i, :], R[..., i, :, :], v[..., i, :], Omega[..., i, :], starts[i])
            for i, n in enumerate(self.compiled.system.names)
        }

    @property
    def _knots(self) -> Knots | None:
        """States between which forces lie; None where they are those of the rows themselves."""
        if self._accepted is not None:
            t, y = self._accepted
            return Knots(t, lambda some: y[some])
        rows = getattr(self._dense, "knots", None)  # those of a file or a stepper
        if rows is not None or self._dense is None or not passes_over(self.stats.method, self.compiled):
            return rows
        if self._beyond is None:
            return Knots(self.steps, lambda some: self._interpolated(self.steps[some]))
        t, last = np.append(self.steps[:-1], self._beyond[0]), len(self.steps) - 1

        def states(some: NDArray[np.intp]) -> Array:
            y = self._interpolated(self.steps[some])
            y[some == last] = self._beyond[1]  # type: ignore[index]
            return y

        return Knots(t, states)

    def _recorded(self, found: Sequence[tuple[int, float, Array, str]]) -> tuple[EventRecord, ...]:
        """Events with the states there: forces lie between accepted states, as at all times of output."""
        accepted: tuple[Array, Array] | None = None
        if found and passes_over(self.stats.method, self.compiled):
            knots = self._knots or Knots(self.t, lambda some: self.y[some])
            accepted = knots.beside(np.array([t for _, t, _, _ in found])) if len(knots.t) > 1 else None

        def at(t: float, y: Array) -> Motion:
            return Motion(
                np.asarray(t), y, self.stats, _compiled=self._compiled, _accepted=accepted, _projected=self._projected
            )

        return tuple(EventRecord(e, t, at(t, y), name) for e, t, y, name in found)

    @cached_property
    def _near(self) -> Motion | None:
        """The knots beside the times; None where the rows are knots themselves, or stand for themselves."""
        knots, times = self._knots, np.atleast_1d(self.t)
        if knots is None or len(knots.t) < 2 or np.isin(times, knots.t).all():
            return None
        t, y = knots.beside(times)
        return Motion(t, y, self.stats, self.status, _compiled=self._compiled, _projected=self._projected)

    @cached_property
    def _cubic(self) -> bool:
        """Whether the unknowns lie on cubics between rows, which know less than the dense output of a method."""
        return hasattr(self._dense, "flows") and not np.isin(self.t, self._dense.t).all()  # type: ignore[union-attr]

    def _along(self, values: Array, own: Array) -> Array:
        """Values at the times, from those at the knots beside them and from those of these very unknowns.

        Always with the time axis.
        """
        assert self._near is not None
        return along(self._near.t, values, np.atleast_1d(self.t), None if self._cubic else own)

    @cached_property
    def _own_rods(self) -> list[dict[str, Array]]:
        """What the core says about each rod in these very unknowns, always with the time axis."""
        return self.compiled.rod_states(self.t, self.y)

    @cached_property
    def _rods(self) -> list[dict[str, Array]]:
        """What is known about each rod, without the time axis for a single time."""
        found = self._own_rods
        if self._near is not None:
            kept = KINEMATICS if self._cubic else (*KINEMATICS, "measures")
            found = [
                {key: mine[key] if key in kept else self._along(value, mine[key]) for key, value in rod.items()}
                for mine, rod in zip(found, self._near._rods, strict=True)
            ]
        if self.t.ndim:
            return found
        return [{key: value[0] for key, value in rod.items()} for rod in found]

    @cached_property
    def _rod_tracks(self) -> dict[str, RodTrack]:
        tracks, system = {}, self.compiled.system
        ends = ("start_force", "start_moment", "end_force", "end_moment")
        for rod, table, state in zip(system.rods, self.compiled.rods, self._rods, strict=True):
            parts = {key: value for key, value in state.items() if key not in ("measures", "reactions")}
            parts |= {key: state["reactions"][..., 3 * i : 3 * i + 3] for i, key in enumerate(ends)}
            holds = held_positions(rod, system), held_frames(rod, system)
            tracks[rod.name] = RodTrack(**parts, _ends=Ends(rod, *holds, table["K0"]))
        return tracks

    def stress(self, name: str) -> Array:
        """Largest axial stress of a rod's sections at ``mesh.curvatures``, Pa, (n, N+1 or p E + 2).

        Of elements the first and the last one are those of the ends.
        """
        rod, track = self.compiled.system.rod(name), self[name]
        if rod.section is None:
            raise ValueError(f"rod {name!r} has no section, so its stress is not known.")
        F, M, s = track.force, track.moment, rod.mesh.curvatures
        if rod.mesh.degree:
            ends = track._end_sections
            F, M, s = with_ends(ends[0], F), with_ends(ends[1], M), np.concatenate([[0.0], s, [1.0]])
        else:  # forces of segments at the vertices
            F = np.concatenate([F[..., :1, :], 0.5 * (F[..., 1:, :] + F[..., :-1, :]), F[..., -1:, :]], axis=-2)
        return np.asarray(rod.section.stress(F, M, s=s))

    def __getitem__(self, name: str) -> Any:
        """A body (`BodyTrack`), a rod (`RodTrack`), a joint, a clip or a contact by its name, each as its track."""
        part = self._parts.get(name) if isinstance(name, str) else None
        tracks, key = part or self._parts[_check.choice("name", name, list(self._parts))]
        return getattr(self, tracks)[key]

    @cached_property
    def _parts(self) -> dict[str, tuple[str, str | int]]:
        """Where the track of what has a name is, and by what."""
        system = self.compiled.system
        found: dict[str, tuple[str, str | int]] = {name: ("_tracks", name) for name in system.names}
        found |= {name: ("_rod_tracks", name) for name in system.rod_names}
        found |= {joint.name: ("joints", i) for i, joint in enumerate(system.joints) if joint.name is not None}
        found |= {clip.name: ("clips", clip.name) for clip in system.clips if clip.name is not None}
        return found | {x.name: ("contacts", x.name) for x in system.all_contacts if x.name is not None}

    @property
    def _span(self) -> tuple[float, float]:
        """Times between which the dense output knows the motion: all steps, or the rows of a file."""
        return getattr(self._dense, "span", None) or (float(self.steps[0]), float(self.steps[-1]))

    def __call__(self, t: ArrayLike) -> Motion:
        """The motion at other times inside the run, by the dense output of the method, projected."""
        times = _check.array("t", t, ())
        if times.ndim > 1:
            raise ValueError(f"t must be a number or a one-dimensional array, got the shape {times.shape}.")
        if self._dense is None:
            given_up = [note for note in self.notes if "dense output" in note]
            why = " ".join(given_up) or "simulate with dense=True and a method of gyrod or SciPy."
            raise ValueError(f"this motion keeps no dense output; {why}")
        lo, hi = self._span
        if times.size and not (lo <= times.min() and times.max() <= hi):
            raise ValueError(
                f"t reaches from {times.min():g} to {times.max():g}; the motion is known on [{lo:g}, {hi:g}]."
            )
        y = self._interpolated(times.reshape(-1))
        return Motion(
            times, y if times.ndim else y[0], self.stats, self.status, self.steps, _compiled=self._compiled,
            _dense=self._dense, _beyond=self._beyond, _projected=self._projected,
        )  # fmt: skip

    def _interpolated(self, times: Array) -> Array:
        """Unknowns by the dense output, projected, (k, N)."""
        assert self._dense is not None
        y = self._dense(np.ascontiguousarray(times))
        if self._projected:
            y = np.array([self.compiled.core.project(row, t) for t, row in zip(times, y, strict=True)])
        return y.reshape(len(times), self.compiled.size)

    @cached_property
    def _measures(self) -> Array:
        times = np.ascontiguousarray(np.atleast_1d(self.t))
        m = self.compiled.core.measures(times, np.ascontiguousarray(np.atleast_2d(self.y)))
        return np.asarray(m[0] if self.t.ndim == 0 else m)

    @cached_property
    def energy(self) -> Energy:
        """Energies; the potential is that of gravity (zero at the origin), springs, bushings, dead forces, strains."""
        return energies(self)

    @cached_property
    def _rod_measures(self) -> Array:
        """Energies and powers summed over the rods, (n, 9)."""
        return np.asarray(sum((rod["measures"] for rod in self._rods), np.zeros((*self.t.shape, 9))))

    @cached_property
    def _momenta(self) -> tuple[Array, Array]:
        return momenta(self)

    @property
    def momentum(self) -> Array:
        """Linear momentum, (n, 3)."""
        return self._momenta[0]

    @property
    def angular_momentum(self) -> Array:
        """Angular momentum about the origin, space axes, (n, 3)."""
        return self._momenta[1]

    @property
    def drift(self) -> Drift:
        """Constraint residuals of the coordinates as integrated (unit quaternions, orthonormal directors)."""
        return Drift(self._measures[..., 0], self._measures[..., 1])

    def condition(self, step: float | None = None) -> float:
        """Condition number of the matrix of implicit stages, M/h - J at the first time.

        Unknowns are taken in their scales, and rows by their largest number, as an elimination with pivoting sees them.

        ``step``: h in s, the mean step of the run unless it is given. Dense: for small systems.
        """
        compiled, y = self.compiled, np.ascontiguousarray(np.atleast_2d(self.y)[0])
        times = self.steps if len(self.steps) > 1 else np.array([0.0, 1.0])
        h = float(times[-1] - times[0]) / (len(times) - 1) if step is None else _check.positive("step", step)
        if not compiled.core.linearise(float(np.atleast_1d(self.t)[0]), y, 1.0 / h):
            return float("inf")
        inverse = np.array([compiled.core.solve(unit) for unit in np.eye(compiled.size)]).T
        matrix = np.linalg.inv(inverse / compiled.scales()[:, None])
        return float(np.linalg.cond(matrix / np.abs(matrix).max(axis=1)[:, None]))

    @cached_property
    def error(self) -> ErrorReport:
        """Errors by quantity (`ErrorReport`): ``motion.error["hose.start_force"].total``; print it for a table.

        Rough figures, unless the run was made with ``error`` or ``accuracy``.
        """
        from gyrod.motion import errors

        return errors.of_motion(self)

    @suggests
    def distance(self, rod: str, to: To, *, on: str | None = None, radius: float | None = None) -> Distances:
        """Smallest distance of a rod's surface over the motion: ``motion.distance("hose", "arm").smallest``.

        Parameters
        ----------
        rod
            Name of a rod.
        to
            Name of a body, which has a shape, of another rod, of a contact or an obstacle in space; a solid such as
            `Mesh` or `Box`; or a list of them.
        on
            Body in whose axes a solid stands; by default it stands in space.
        radius
            Of rods without a section, or in place of it, m.
        """
        from gyrod.motion.distances import distances

        return distances(self, rod, to, on=on, radius=radius)

    def envelope(self, rods: str | Sequence[str], *, resolution: float, radius: float | None = None) -> Envelope:
        """The volume that rods sweep, as a closed surface; see `gyrod.envelope`, which takes several motions."""
        from gyrod.motion.envelopes import envelope

        return envelope(self, rods, resolution=resolution, radius=radius)

    def report(self, file: str | PathLike[str], **options: Any) -> Path:
        """Write a page for a review: shape, bend radius, twist, forces, distances, limits, errors; return its path.

        ``motion.report("hose.html", rods="hose", to=["arm", gd.Box(...)], clearance=5e-3)``; options are those of
        `gyrod.report`, which takes several motions side by side.
        """
        from gyrod.look.report import report

        return report(self, file, **options)

    @suggests
    def save(self, file: str | PathLike[str], *, frames: int = 1000, dense: bool | None = None) -> None:
        """Write a result file (HDF5): `gyrod.open` reads it, and ParaView shows about ``frames`` of its times.

        ``dense``: whether the dense output of the method goes with it; by default for small systems.
        """
        if self.compiled.rods and self._near is not None and self._cubic:
            raise ValueError(
                "a motion of rods at times between the rows of a file or a stepper cannot be saved: section forces do "
                "not follow from interpolated rows. Save the whole motion, simulate with these times as output, or "
                "export by to_csv, to_npz or to_xarray."
            )
        from gyrod import storage

        storage.save(self, file, frames=frames, dense=dense)

    def to_csv(self, file: str | PathLike[str], names: Sequence[str] | None = None) -> None:
        """Write a table, one row a time, headed by names and units; ``names`` chooses bodies, rods, joints, sensors."""
        from gyrod import storage

        storage.to_csv(self, file, names)

    def to_npz(self, file: str | PathLike[str]) -> None:
        """Write all arrays by name into a NumPy archive."""
        from gyrod import storage

        storage.to_npz(self, file)

    def to_xarray(self) -> xr.Dataset:
        """An xarray Dataset with units; needs the package xarray."""
        from gyrod import storage

        return storage.to_xarray(self)

    def to_ode_result(self) -> OdeResult:
        """What SciPy's ``solve_ivp`` would return: t, y (N, n), sol, t_events, counters."""
        from gyrod import storage

        return storage.to_ode_result(self)

    @property
    def constraint(self) -> Array:
        """Largest residual of all constraints on the level of position, (n,)."""
        return self.drift.position

    @property
    def multipliers(self) -> dict[str, Array]:
        """Multipliers of the internal constraints of the absolute forms: (n, 1) or (n, 6) of a body, (n, Q) a rod."""
        times = np.ascontiguousarray(np.atleast_1d(self.t))
        m = self.compiled.core.multipliers(times, np.ascontiguousarray(np.atleast_2d(self.y)))
        names = self.compiled.system.names
        if self._near is not None and names:
            near = self._near.multipliers
            m = self._along(np.stack([near[name] for name in names], axis=1), m)
        found = {n: np.asarray(m[0, i] if self.t.ndim == 0 else m[:, i]) for i, n in enumerate(names)}
        return found | {n: track.multipliers for n, track in self._rod_tracks.items()}

    @suggests
    def plot(
        self,
        what: str = "energy",
        *,
        names: str | Sequence[str] | None = None,
        file: str | PathLike[str] | None = None,
        figure: Figure | None = None,
        size: tuple[float, float] | None = None,
    ) -> Figure:
        """A matplotlib Figure of energy, path, position, drift, steps, ...; ``file`` saves it as PNG, PDF, SVG, ...

        ``names`` chooses bodies, rods, joints or sensors; ``figure`` is a Figure or SubFigure to draw into; ``size`` is
        in inches.
        """
        from gyrod import look

        return look.plot(self, what, names=names, file=file, figure=figure, size=size)

    @suggests
    def animate(
        self,
        file: str | PathLike[str],
        *,
        fps: float = 30.0,
        speed: float = 1.0,
        size: tuple[int, int] = (640, 480),
        view: str | tuple[float, float] | None = None,
        names: str | Sequence[str] | None = None,
        color: str | None = "moment",
        trail: bool = False,
        contacts: bool = False,
        progress: bool | Callable[[int, int], object] = False,
        **old: str | None,
    ) -> Path:
        """Write a film as MP4 (needs ``gyrod[movie]``) or GIF and return its path.

        Parameters
        ----------
        fps, speed
            Frames a second; seconds of the motion in one second of the film.
        size
            Width and height in pixels, even numbers.
        view
            A plane as "xz" (x to the right, z up), or azimuth and elevation of the eye in degrees; by default the
            plane of a plane motion, (-60, 20) otherwise.
        names
            Bodies and rods that are drawn, by default all.
        color
            What the colour of rods shows: "moment" (bending), "torque" (torsional moment), "force" (tension),
            "curvature", "bend_radius", "torsion" (1/m), "strain" (axial), "energy" (per length), "stress", "speed",
            "contact" (force per length); None for none.
        trail
            Whether bodies and ends of rods leave their paths behind.
        contacts
            Whether arrows show the forces of contacts, the largest one a fifth of the system.
        progress
            True for a bar, or a function of the frames done and of all.
        """
        from gyrod import look

        return look.animate(
            self, file, fps=fps, speed=speed, size=size, view=view, names=names, color=color, trail=trail,
            contacts=contacts, progress=progress, **old,
        )  # fmt: skip

    @suggests
    def html(
        self,
        file: str | PathLike[str],
        *,
        title: str | None = None,
        fps: float = 30.0,
        envelope: Envelope | None = None,
    ) -> Path:
        """Write a page that shows the motion in any browser, without a network; return its path.

        The motion is resampled evenly, with ``fps`` frames a second, but 121 to 601 in all. An ``envelope`` is drawn
        around it.
        """
        from gyrod.look import viewer

        return viewer.html(self, file, title=title, fps=fps, envelope=envelope)

    @suggests
    def view(self, *, port: int = 0, browser: bool = True, block: bool | None = None, title: str | None = None) -> View:
        """Show the motion in a browser, from a server that only this computer reaches, at any free ``port`` (0).

        With ``block`` it runs until Ctrl-C; otherwise it returns the `View`, whose ``close()`` ends it. By default a
        script blocks, and an interactive session does not.
        """
        from gyrod.look import viewer

        return viewer.view(self, port=port, browser=browser, block=block, title=title)


def of_rows(compiled: Compiled, t: Array, y: Array) -> Motion:
    """A motion of rows from a running simulation."""
    return Motion(t, y, MotionStats("", compiled.formulation), _compiled=compiled)
