"""route: the rest of a cable between two poses, from its length alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check, rotations
from gyrod._check import Array
from gyrod.model import (
    Body,
    Clamped,
    Clip,
    Damping,
    Free,
    Guided,
    Hinged,
    Laid,
    Material,
    ModelError,
    Rod,
    Shape,
    System,
)
from gyrod.model.changes import changed_arguments
from gyrod.model.ends import SIDES, End
from gyrod.model.errors import GROUND, shown, unknown
from gyrod.model.meshes import apply, divided
from gyrod.model.rod_checks import DEFAULT_DEGREE, DEFAULT_ELEMENTS
from gyrod.model.rods import Field
from gyrod.model.sections import CrossSection
from gyrod.motion import Motion, Rest, RodTrack, bend_radius
from gyrod.solve.companions import of_rest, with_errors
from gyrod.solve.route_curves import Start, Station, Weights, starts
from gyrod.solve.statics import RELAXATIONS, EquilibriumError, Statics, failure, neutral, prepare

Ends = tuple[End, End]
Hosts = dict[str, Body | Rod]
X = TypeVar("X")

#: Newton's last step while answers are compared, and of the one that is returned.
ROUGH, TOLERANCE = 1e-8, 1e-11
#: Starts that are tried before it counts as failed.
MOST_STARTS = 16
#: Turn in an element from which on more of them are taken, rad, and most of them then.
SHARP, MOST_ELEMENTS = 1.5, 48
#: Turn in an element from which on a start needs more of them, rad.
STEEP = 2.0
#: Answers that differ by less than this part of the length, and 1 - cos of half an angle, are one.
SAME = 1e-3
#: Gap between a given shape and what holds its ends that is closed, over the length.
GAP = 0.02
#: Axial strain that is told.
STRETCHED = 0.01

_DOWN = np.array([0.0, 0.0, -1.0])


@dataclass(frozen=True, repr=False)
class Route(Rest):
    """A routed cable at rest: a `Rest` with the rod that begins there, and what an engineer asks about it."""

    #: All stable answers that were found, the one with the least energy first.
    answers: tuple[Rest, ...] = ()
    #: What was closed, stretched or left open: sentences.
    notes: tuple[str, ...] = ()
    _ends: Ends = field(default=(Free(), Free()), repr=False)
    #: The clips that were given: forces of a system with the rod.
    clips: tuple[Clip, ...] = ()
    #: The arguments of `route`.
    given: Mapping[str, object] = field(default_factory=dict, repr=False)

    @property
    def rest(self) -> Rest:
        """The equilibrium."""
        return self

    @property
    def _track(self) -> RodTrack:
        return self.motion[self.system.rods[0].name]  # type: ignore[no-any-return]

    @cached_property
    def rod(self) -> Rod:
        """The rod as it lies there, with the ends that were given: it goes into a `System`."""
        return as_it_lies(self, self.system.rods[0], ends=self._ends)

    def with_(self, changes: Mapping[str, object] | None = None, **values: object) -> Route:
        """The cable laid anew with other arguments, or fields of them: ``route.with_({"cable.length": 1.2})``.

        Paths are those of a system, as "cable.material.young", "cable.end.at[0]", "p-clip.at" and "gravity".
        """
        return route(**changed_arguments(self.given, changes, **values))  # type: ignore[arg-type]

    @property
    def turns(self) -> float:
        """Whole twist of the cable in turns, ∫ K3 ds / 2π; answers may differ by whole turns of an end."""
        rod = self.system.rods[0]
        return float(rod.mesh.point_weights @ self._track.curvature[:, 2] * rod.length / (2.0 * np.pi))

    @property
    def bend_radius(self) -> float:
        """Smallest radius of curvature, m: at the ends, at the Gauss points and between them."""
        mesh, track = self._track.mesh, self._track
        points = mesh.strains.reshape(mesh.cells, -1)
        s = points[:, :1] + (points[:, -1:] - points[:, :1]) * np.linspace(0.0, 1.0, 9)
        rows, weights = mesh.curvature_at(s.ravel())
        between = bend_radius(apply(rows, weights, track.curvature))
        return float(min(track.bend_radius.min(), between.min()))

    @property
    def start_force(self) -> Array:
        """Force in space axes that holds the start, N, (3,)."""
        return np.asarray(self._track.start_force)

    @property
    def end_force(self) -> Array:
        """Force in space axes that holds the end, N, (3,)."""
        return np.asarray(self._track.end_force)

    @property
    def start_moment(self) -> Array:
        """Moment in space axes that holds the start, N m, (3,)."""
        return np.asarray(self._track.start_moment)

    @property
    def end_moment(self) -> Array:
        """Moment in space axes that holds the end, N m, (3,)."""
        return np.asarray(self._track.end_moment)

    @property
    def clip_forces(self) -> Array:
        """Forces in space axes by which clips hold the cable, N, in their order along it, (clips, 3)."""
        return np.array([clip.force for clip in self.motion.clips.values()]).reshape(-1, 3)


def as_it_lies(rest: Rest, rod: Rod, segments: int | None = None, ends: Ends | None = None) -> Rod:
    """A rod that has its shape at rest as the initial one."""
    start, end = ends or (rod.start, rod.end)
    changes = {} if segments is None else {"segments": segments}
    return rod.with_(initial=_lying(rest.motion, rod), start=start, end=end, **changes)


def _lying(motion: Motion, rod: Rod) -> Laid:
    """The shape that it has."""
    track = motion[rod.name]
    return Laid(rod.mesh.vertices, track.positions, track.vertex_quaternions)


@with_errors(of_rest)
def route(
    length: float,
    start: End | None = None,
    end: End | None = None,
    *,
    section: CrossSection | None = None,
    material: Material | None = None,
    name: str = "cable",
    stiffness: Field | None = None,
    density_per_length: float | Callable[[float], float] | None = None,
    rotary_inertia: Field | None = None,
    precurvature: Field | None = (0.0, 0.0, 0.0),
    damping: Damping | None = None,
    limits: Mapping[str, float] | None = None,
    strain: str = "cosserat",
    segments: int | None = None,
    degree: int = DEFAULT_DEGREE,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    clips: Sequence[Clip] = (),
    bodies: Sequence[Body | Rod] | System = (),
    guess: Shape | None = None,
    turns: float | None = None,
    starts: int = 2,
    error: str = "rough",
) -> Route:
    """The rest of a cable of a length between two ends, from nothing but their places and frames.

    Parameters
    ----------
    length
        Unstretched, m.
    start, end
        `Clamped` with ``at`` and ``frame`` (d3 along the cable, from start to end), `Hinged` with ``at``, or `Free`;
        on ground, on one of the ``bodies``, or on the end of a rod among them (``Clamped("trunk", at="end")``).
        Functions of time are taken at t = 0.
    section, material, stiffness, density_per_length, rotary_inertia, precurvature, damping, limits, strain
        As of a `Rod`; the cable is straight without load unless it has a ``precurvature``.
    segments, degree
        Elements; by default eight, and more where the cable is bent sharply.
    clips
        What holds it on the way, in space or on bodies: `Clip` with ``point``, and ``frame`` or ``axis``.
    bodies
        Bodies and rods, or the system of them, which ends and clips may name; they stand and lie as at the start.
    guess
        A shape to begin with in place of curves that are looked for, such as a `Curve` through measured points; small
        gaps at its ends are closed, and ``notes`` says so.
    turns
        Twist of the cable in turns that is wanted: the frames fix it up to whole turns, and the one that is nearest
        is taken. None: the answer of the least energy.
    starts
        Curves from which equilibria are looked for; ``route.answers`` has all that are stable.
    error
        As of `equilibrium`: ``route.error`` has "rough" figures, or "total" errors by another mesh.

    The search begins with the curves of the least energy among cubics of the right length, whose frames are carried
    along without twist and turned evenly; a relaxation and Newton's method end in an equilibrium that is stable.

    >>> import gyrod as gd
    >>> hose = gd.route(
    ...     1.2, gd.Clamped(at=(0, 0, 0), frame=(0, 0.5 * 3.1415926, 0)), gd.Clamped(at=(1, 0, 0), frame=(0, 0, 0)),
    ...     section=gd.Circle(radius=5e-3), material=gd.Material(young=5e7, poisson=0.4, density=1200),
    ... )
    >>> hose.stable, 0.1 < hose.bend_radius < 0.3
    (True, True)
    """
    arguments = dict(locals())
    L, g = _check.positive("length", length), _check.array("gravity", gravity, (3,))
    count = _check.whole("starts", starts, 1, 1000)
    wanted = None if turns is None else _check.number("turns", turns)
    given = (start or Free(), end or Free())
    around: tuple[Body | Rod, ...] = (
        (*bodies.bodies, *bodies.rods) if isinstance(bodies, System) else _several("bodies", bodies, (Body, Rod))
    )
    clips = _several("clips", clips, (Clip,))
    asked = {**arguments, "length": L, "clips": clips, "bodies": around}
    hosts = {x.name: x for x in around}
    ends = _on_ground("start", given[0], hosts), _on_ground("end", given[1], hosts)
    held = sorted((_clip_on_ground(clip, name, hosts) for clip in clips), key=lambda clip: clip.at)
    if wanted is not None and any(clip.kind == "fixed" and clip.frame is not None for clip in held):
        raise ValueError(f"turns = {wanted:g} is for cables whose frame only the ends hold; this one has fixed clips.")
    held = _placed(L, ends, held)
    _check_ends(L, ends, held)
    rod = Rod(
        name, L, segments or DEFAULT_ELEMENTS, section, material, stiffness=stiffness, degree=degree,
        density_per_length=density_per_length, rotary_inertia=rotary_inertia, precurvature=precurvature,
        prestrain=(0.0, 0.0, 0.0), damping=damping, limits=limits, strain=strain,
    )._split(clip.at for clip in held if not clip.slides)  # fmt: skip
    search = _Search(rod, ends, held, g, wanted, count, segments is None)
    notes = [] if guess is None else search.begin(_check.kind("guess", guess, Shape))
    first, *others = search.answers()
    best = search.finished(first[1], first[2])
    rests = (best, *(search.rest(y, history) for _, y, history in others))
    told = (*notes, *_notes(best, len(rests)))
    return Route(best.motion, best.unstable, best.method, best.history, best.free, rests, told, given, clips, asked)


class _Search:
    """Equilibria of a cable between two ends and through its clips, from several starts on one mesh."""

    def __init__(
        self,
        rod: Rod,
        ends: Ends,
        clips: Sequence[Clip],
        gravity: Array,
        turns: float | None,
        count: int,
        divides: bool,
    ) -> None:
        self.rod, self.ends, self.clips, self.gravity = rod, ends, clips, gravity
        self.count, self.divides = count, divides
        C, m = rod.stiffness_at([0.5])[0], rod.inertia_at([0.5])[0, 0]
        size = float(np.linalg.norm(gravity))
        down = gravity / size if size > 0.0 else _DOWN
        weights = Weights(min(C[3, 3], C[4, 4]), C[5, 5], float(m) * size, down)
        stations = [_station(0.0, ends[0]), *map(_at_clip, clips), _station(1.0, ends[1])]
        found = starts(stations, rod.length, weights, turns)
        self.starts: Sequence[Start | Shape] = found
        self.statics: Statics | None = None
        #: The same without sliding, if any clip lets it slide: from where it lies then, it finds its places in these.
        self.still: Statics | None = None
        cells, inner = rod.segments, [clip.at for clip in clips if not clip.slides]
        while divides and cells < MOST_ELEMENTS and found[0].turned(divided(inner, cells)) > STEEP:
            cells += DEFAULT_ELEMENTS // 2
        if cells > rod.segments:
            self._divide(cells)

    def begin(self, guess: Shape) -> list[str]:
        """A given shape in place of all starts; what was closed of its gaps."""
        shape, notes = _closed(guess, self.rod, self.ends)
        self.starts = [shape]
        return notes

    def answers(self) -> list[tuple[float, Array, Array]]:
        """Energy, unknowns and history of the stable equilibria that some starts lead to, by their energies."""
        found: list[tuple[float, Array, Array]] = []
        last: Exception | None = None
        for tried, start in enumerate(self.starts):
            if tried >= (self.count if found else MOST_STARTS):
                break
            try:
                answer = self._settle(start)
            except (EquilibriumError, ModelError) as error:  # a shape that the mesh cannot represent is no start
                last = error
                continue
            if answer is not None and self._new(answer[1], [other[1] for other in found]):
                found.append(answer)
        if not found and self.divides and self.rod.segments < MOST_ELEMENTS:
            self._divide(min(2 * self.rod.segments, MOST_ELEMENTS))
            return self.answers()
        if not found and isinstance(last, ModelError) and self.clips:
            raise ValueError(self._sharp()) from last
        if not found:
            raise last or ValueError(f"no stable rest of {self.rod.name!r} was found; try more starts.")
        return sorted(found, key=lambda answer: answer[0])

    def _sharp(self) -> str:
        """The sentence about clips between which it cannot turn as they demand."""
        places = [(0.0, "start"), *((clip.at, clip.label) for clip in self.clips), (1.0, "end")]
        (s, one), (z, other) = min(pairwise(places), key=lambda pair: pair[1][0] - pair[0][0])
        return (
            f"{one} and {other}, {(z - s) * self.rod.length:.3g} m apart along the cable, turn it further than its "
            f"{self.rod.segments} elements can tell; hold it further apart or in directions that differ less, or give "
            "more segments."
        )

    def finished(self, y: Array, history: Array) -> Rest:
        """The rest to all digits, with more elements where it is bent sharply."""
        statics = self.statics
        assert statics is not None
        if self.divides:
            sharpest = _sharpest(statics, y)
            cells = min(int(np.ceil(self.rod.segments * sharpest / SHARP)), MOST_ELEMENTS)
            if sharpest > SHARP and cells > self.rod.segments:
                statics = self._prepared(as_it_lies(self.rest(y, history), statics.compiled.system.rods[0], cells))
                y = statics.y
        status, y, more = statics.newton(y, tolerance=TOLERANCE)
        if status != "converged":
            status, y, more = statics.newton(y, tolerance=TOLERANCE, relaxations=RELAXATIONS)
        history = np.concatenate([history, more])
        if status != "converged":
            raise failure(statics, status, y, 0.0, history, "relaxation")
        loose = not all(end.holds_frame for end in self.ends)
        free = tuple(dict.fromkeys(statics.directions(neutral(statics, y, 0.0), y, 0.0))) if loose else ()
        unstable = statics.unstable(y) if statics is not self.statics else 0  # which was asked for when it was found
        return Rest(statics.motion(y, 0.0), unstable, "relaxation", history, free)

    def rest(self, y: Array, history: Array) -> Rest:
        """A stable answer as it was found."""
        assert self.statics is not None
        return Rest(self.statics.motion(y, 0.0), 0, "relaxation", history)

    def _divide(self, cells: int) -> None:
        held = (clip.at for clip in self.clips if not clip.slides)
        self.rod, self.statics = self.rod.with_(segments=cells)._split(held), None

    def _prepared(self, rod: Rod, *, still: bool = False) -> Statics:
        clips = map(_still, self.clips) if still else self.clips
        return prepare(System(rods=[rod], forces=clips, gravity=self.gravity))

    def _settle(self, start: Start | Shape) -> tuple[float, Array, Array] | None:
        if self.statics is None:
            s = self.rod.mesh.vertices
            rod = self.rod.with_(initial=_laid(start, s, self.rod.length), start=self.ends[0], end=self.ends[1])
            self.statics = self._prepared(rod)
            self.still = self._prepared(rod, still=True) if any(clip.slides for clip in self.clips) else None
        if self.still is not None:
            _, y, _ = self.still.newton(_begun(self.still, start), tolerance=ROUGH, relaxations=RELAXATIONS)
            start = _lying(self.still.motion(y, 0.0), self.still.compiled.system.rods[0])
        statics = self.statics
        y = _begun(statics, start)
        status, y, history = statics.newton(y, tolerance=ROUGH, relaxations=RELAXATIONS)
        if status != "converged":
            raise failure(statics, status, y, 0.0, history, "relaxation")
        if statics.unstable(y) > 0:
            return None
        return float(statics.compiled.rod_measures(np.zeros(1), y[None])[0, :6].sum()), y, history

    def _new(self, y: Array, others: list[Array]) -> bool:
        """Whether an answer is elsewhere, or turned in another way, than all others."""
        assert self.statics is not None
        layout = self.statics.compiled.layouts()[0]
        x = np.array([i for i in layout.x if i >= 0])[:, None] + np.arange(3)
        p = np.array([i for i in layout.p if i >= 0])[:, None] + np.arange(4)
        return all(
            np.abs(y[x] - other[x]).max() > SAME * self.rod.length
            or np.abs(np.sum(y[p] * other[p], axis=1)).min() < 1.0 - SAME
            for other in others
        )


def _laid(start: Start | Shape, s: Array, length: float) -> Laid:
    return Laid(s, *(start.at(s) if isinstance(start, Start) else start.place(s, length)))


def _begun(statics: Statics, start: Start | Shape) -> Array:
    """Unknowns of a rod that lies so."""
    rod = statics.compiled.system.rods[0]
    layout, y, lies = statics.compiled.layouts()[0], np.array(statics.y), _laid(start, rod.mesh.vertices, rod.length)
    for where, rows in ((layout.x, lies.position), (layout.p, lies.orientation)):
        for i, row in zip(where, rows, strict=True):
            if i >= 0:
                y[i : i + len(row)] = row
    return y


def _sharpest(statics: Statics, y: Array) -> float:
    """Largest turn in an element, rad: by its largest curvature."""
    rod = statics.compiled.system.rods[0]
    K = statics.compiled.rod_states(np.zeros(1), y)[0]["curvature"][0]
    K = np.sqrt(np.sum(K * K, axis=-1)).reshape(rod.mesh.cells, -1)
    return float((rod.length * np.diff(rod.mesh.ends) * K.max(axis=1)).max())


# --- what it passes --------------------------------------------------------------------------------------------------


def _several(argument: str, given: object, kinds: tuple[type[X], ...]) -> tuple[X, ...]:
    """Objects of these kinds in a list."""
    found = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    for i, x in enumerate(found):
        if not isinstance(x, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise ValueError(f"{argument}[{i}] must be a {names}, got {shown(x)}.")
    return found


def _on_ground(side: str, end: End, hosts: Hosts) -> End:
    """An end as ground would hold it at t = 0."""
    _check.kind(side, end, End)
    if isinstance(end, Guided):
        raise ValueError(f"{side} = Guided leaves the place open, which routing needs; take Clamped, Hinged or Free.")
    if not end.holds_position:
        return Free()
    host = hosts.get(end.body)
    if end.attached and host is None:
        raise ValueError(unknown(f"{side}.body", end.body, hosts) + " Give it by bodies = [...].")
    if isinstance(host, Rod) and end.at is not None:
        return _on_rod(side, end, host)
    missing = [f for f in ("at", "frame")[: 2 if end.holds_frame else 1] if getattr(end, f) is None]
    if missing:
        raise ValueError(
            f"{side} = {type(end).__name__} has no {' and no '.join(missing)}: routing begins with places and frames "
            "of the ends; give them, as frame=('along', (1, 0, 0)) for the direction e1, or take another end."
        )
    at, frame = end.position_at(0.0), end.frame_at(0.0) if end.holds_frame else None
    if end.attached:
        assert isinstance(host, Body)
        at = host.position + host.matrix @ end.at
        frame = None if frame is None and end.frame is None else rotations.multiply(host.orientation, end.frame)
    return Clamped(at=at, frame=frame) if end.holds_frame else Hinged(at=at)


def _on_rod(side: str, end: End, rod: Rod) -> End:
    """An end on the end of a rod as it lies; without a frame the cable goes on as the rod does."""
    if not isinstance(end.at, str):
        raise ValueError(f"{side}.at = {shown(end.at)} must be 'start' or 'end' of the rod {rod.name!r}.")
    e = SIDES.index(end.at)
    at, own = rod.positions[-e], rod.end_frames[e]
    if not end.holds_frame:
        return Hinged(at=at)
    if end.frame is None and side == SIDES[e]:
        raise ValueError(
            f"{side} = Clamped({rod.name!r}, at={end.at!r}) has no frame, and both cables point away from there "
            "or towards it; give frame, the section in the axes of the other one."
        )
    return Clamped(at=at, frame=own if end.frame is None else rotations.multiply(own, end.frame))


def _clip_on_ground(clip: Clip, name: str, hosts: Hosts) -> Clip:
    """A clip as ground would hold it."""
    if clip.rod != name:
        raise ValueError(f"{clip.label} holds {clip.rod!r}, but the cable is {name!r}; give name = {clip.rod!r}.")
    if not 0.0 < clip.at < 1.0:
        raise ValueError(f"{clip.label}: at = {clip.at:g} is an end of the cable; hold it by start or end.")
    if clip.point is None or isinstance(clip.point, float) or isinstance(hosts.get(clip.to), Rod):
        raise ValueError(f"{clip.label} has no point in space: routing begins with places; give point.")
    if clip.to == GROUND:
        return clip
    if clip.to not in hosts:
        raise ValueError(unknown(f"{clip.label}: to", clip.to, hosts) + " Give it by bodies = [...].")
    body = hosts[clip.to]
    assert isinstance(body, Body)
    frame = None if clip.frame is None else rotations.multiply(body.orientation, clip.frame)
    axis = None if clip.axis is None else body.matrix @ clip.axis
    return clip.with_(to=GROUND, point=body.position + body.matrix @ clip.point, frame=frame, axis=axis)


def _station(s: float, end: End) -> Station:
    if not end.holds_frame:
        return Station(s, end.at)
    return Station(s, end.at, rotations.matrix_from_quaternion(end.frame)[:, 2], end.frame)


def _still(clip: Clip) -> Clip:
    """A clip through which the cable does not slide."""
    kinds = {"ring": "ball", "sleeve": "swivel"}
    return clip.with_(kind=kinds[clip.kind], length=None) if clip.slides else clip


def _at_clip(clip: Clip) -> Station:
    directed, framed = clip.kind in ("fixed", "swivel"), clip.kind == "fixed"
    axis = clip.axis if clip.frame is None else rotations.matrix_from_quaternion(clip.frame)[:, 2]
    return Station(clip.at, clip.point, axis if directed else None, clip.frame if framed else None)


def _placed(length: float, ends: Ends, clips: Sequence[Clip]) -> list[Clip]:
    """Clips, of which rings begin where the cable can reach them: by the distances between what holds it."""
    s = np.array([0.0, *(clip.at for clip in clips), 1.0])
    places = [ends[0].at, *(clip.point for clip in clips), ends[1].at]
    known = [at is not None for at in places]
    apart = [float(np.linalg.norm(b - a)) if a is not None and b is not None else 0.0 for a, b in pairwise(places)]
    way = np.array([0.0, *np.cumsum(apart)])
    held = [i for i, at in enumerate(known) if at and (i in (0, len(s) - 1) or not clips[i - 1].slides)]
    for i, j in pairwise(held):
        if np.any(np.diff(way[i : j + 1]) > length * np.diff(s[i : j + 1])) and way[j] > way[i]:
            s[i : j + 1] = s[i] + (s[j] - s[i]) * (way[i : j + 1] - way[i]) / (way[j] - way[i])
    return [clip.with_(at=float(at)) if clip.slides else clip for clip, at in zip(clips, s[1:-1], strict=True)]


def _check_ends(length: float, ends: Ends, clips: Sequence[Clip]) -> None:
    """Something holds it, and no part of it is too short."""
    if not any(end.holds_position for end in ends) and not clips:
        raise ValueError("start and end are Free: nothing holds the cable; clamp or hinge one of them.")
    held = [(0.0, "start", ends[0].at), *((c.at, c.label, c.point) for c in clips), (1.0, "end", ends[1].at)]
    held = [x for x in held if x[2] is not None]
    short = []
    for (s, what, a), (z, other, b) in pairwise(held):
        if z - s < 1e-6:
            raise ValueError(f"{what} and {other} hold the cable at the same place, s = {s:g}; leave one of them out.")
        d, own = float(np.linalg.norm(b - a)), (z - s) * length
        if d > own * (1.0 + 1e-9):
            short.append(
                f"between {what} and {other} it has {own:.6g} m, {d - own:.3g} m less than their distance {d:.6g} m"
            )
    if short:
        factor = max(float(np.linalg.norm(b - a)) / ((z - s) * length) for (s, _, a), (z, _, b) in pairwise(held))
        raise ValueError(
            f"length = {length:g} is too short: {'; '.join(short)}. It needs more than {factor * length:.6g} m."
        )


def _closed(guess: Shape, rod: Rod, ends: Ends) -> tuple[Shape, list[str]]:
    """A given shape with small gaps at the ends closed."""
    s, notes = np.linspace(0.0, 1.0, 4 * len(rod.mesh.vertices)), []
    x, q = guess.place(s, rod.length)
    for e, side in enumerate(SIDES):
        end = ends[e]
        if not end.holds_position:
            continue
        gap = float(np.linalg.norm(end.at - x[-e]))
        if gap > GAP * rod.length:
            raise ValueError(
                f"guess has its {side} {gap:.3g} m away from at = {shown(end.at)}; gaps of up to "
                f"{GAP * rod.length:.3g} m are closed. Move one of them, or leave guess out."
            )
        share = np.clip(1.0 - 4.0 * np.abs(s - e), 0.0, 1.0)[:, None]
        x = x + share**2 * (end.at - x[-e])
        if gap > 1e-9 * rod.length:
            notes.append(f"a gap of {gap:.3g} m between guess and {side} was closed.")
    # Points say nothing about how the sections are turned about them: as the clamps have it, evenly in between.
    held = [(float(e), end.frame) for e, end in enumerate(ends) if end.holds_frame]
    turns = [rotations.multiply(rotations.conjugate(q[-int(e)]), frame) for e, frame in held]
    angles = np.unwrap([2.0 * np.arctan2(turn[3], turn[0]) for turn in turns])
    half = 0.5 * np.interp(s, [e for e, _ in held], angles) if held else np.zeros(len(s))
    rolled = np.stack([np.cos(half), 0.0 * half, 0.0 * half, np.sin(half)], axis=1)
    return Laid(s, x, rotations.multiply(q, rolled)), notes


def _notes(rest: Rest, others: int) -> Iterator[str]:
    """What an engineer should know about an answer."""
    rod = rest.system.rods[0]
    track = rest[rod.name]
    stretch = float(track.strain[:, 2].max())
    if stretch > STRETCHED:
        yield f"the cable is stretched by {100.0 * stretch:.3g} %: it is too short for what holds it."
    if others > 1:
        yield f"{others} stable answers were found; this one has the least energy, .answers has all."
    if rod.section is not None:
        s = np.linspace(0.0, 1.0, 4 * rod.mesh.cells + 1)
        x = apply(*rod.mesh.vertex_at(s), track.positions)
        thick = 2.0 * float(rod.section.half_sizes([0.5]).max())
        apart = np.sqrt(np.sum((x[:, None] - x) ** 2, axis=-1))
        near = apart < thick + 0.5 * rod.length / (len(s) - 1)
        near &= rod.length * np.abs(s[:, None] - s) > np.pi * thick + rod.length / (len(s) - 1)
        if near.any():
            i, j = np.argwhere(near)[int(np.argmin(apart[near]))]
            yield (
                f"the cable meets itself near s = {s[i]:.2g} and s = {s[j]:.2g}: it is too long, or twisted too far; "
                "nothing keeps it apart there."
            )
