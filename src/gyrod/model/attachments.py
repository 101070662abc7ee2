"""Where ends of rods are held by bodies and by one another, and the junctions that this takes.

An end refers to one host at most, so ends that refer to one another form groups that meet in one point, with at most
one end, or one point between the ends of a rod, that refers to no rod. Within a group, ends that are clamped to one
another are a weld; welds, and ends alone, are hinged to each other. A point between the ends is a weld of what is
before it with what is behind it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from gyrod import rotations
from gyrod._check import Array
from gyrod.model.bodies import Body, massless
from gyrod.model.ends import SIDES, Clamped, End, Free, Hinged
from gyrod.model.errors import GROUND, Description, Problems, frozen, shown, turned, unknown
from gyrod.model.joints import Joint, Spherical, Translational
from gyrod.model.meshes import NEAREST_ENDS
from gyrod.model.rod_checks import LENGTH_SLACK
from gyrod.model.rods import Rod
from gyrod.model.samples import Samples
from gyrod.rotations.vectors import cross, norms

if TYPE_CHECKING:
    from gyrod.model.system import System

#: A rod by its name, and 0 for its start, 1 for its end or n + 1 for the vertex n between them.
Key = tuple[str, int]

#: Angle in rad between two frames that should be the same.
FRAME_SLACK = 1e-6
#: Unknown hosts beyond so many get no suggestion: each is compared with all names.
MOST_HINTS = 20
#: Members that the name of a junction lists.
LONGEST_NAME = 4

_UNIT = frozen([1.0, 0.0, 0.0, 0.0])
_ORIGIN = frozen(np.zeros(3))


@dataclass(frozen=True, eq=False)
class RodEndPlace(Description):
    """Where an end of a rod is held: at a point of the host, and if ``clamped`` with R_section = R_host R(frame).

    The host is "ground", a body or a junction; point and frame are in its axes, from its centre of mass.
    """

    host: str
    #: (3,).
    at: Array
    #: Unit quaternion (4,).
    frame: Array
    clamped: bool


@dataclass(frozen=True, eq=False)
class Junction(Description):
    """A point where ends of rods meet that no body holds; hinged members turn freely, clamped ones with one another."""

    name: str
    #: In space at the start, (3,).
    position: Array
    #: Rod, 0 for its start, 1 for its end or n + 1 for the vertex n between them, and whether it is clamped.
    members: tuple[tuple[str, int, bool], ...]
    #: What a ball joint holds it to: "ground", a body or another junction.
    held_by: str | None = None
    #: Point of that joint in the axes of what holds it, (3,).
    held_at: Array | None = None

    @property
    def turns(self) -> bool:
        """Whether it has a rotation: one with hinged members only has none."""
        return any(clamped for *_, clamped in self.members)


@dataclass(frozen=True, eq=False)
class Holds:
    """All ends that are held by something else than ground by their own word."""

    places: Mapping[Key, RodEndPlace]
    #: Of vertices between the ends that others are joined to, by the rod and the number of the vertex.
    points: Mapping[tuple[str, int], RodEndPlace]
    junctions: tuple[Junction, ...]
    #: What is held by ground through another rod, as the end on ground that does the same.
    on_ground: Mapping[Key, End]


def resolve(system: System, problems: Problems) -> Holds:
    """Find out what holds the ends of all rods; what does not fit is noted."""
    if not any(end.attached for rod in system.rods for end in (rod.start, rod.end)):
        return Holds(MappingProxyType({}), MappingProxyType({}), (), MappingProxyType({}))
    return _Finder(system, problems).find()


def vertex(rod: Rod, place: int) -> int:
    """The number of the vertex that the second part of a `Key` says."""
    return place - 1 if place > 1 else place * (len(rod.fractions) - 1)


def section_inertia(rod: Rod, n: int) -> list[tuple[int, Array]]:
    """Rotary inertia that belongs to the section at a vertex, about d1, d2, d3, (3,), and the frames that have it.

    Of the grid a quarter of that of each segment beside it; of elements that of the node.
    """
    if rod.degree is not None:
        return [(n, rod.lumped_inertia()[n, 1:])]
    beside = [j for j in (n - 1, n) if 0 <= j < len(rod.lengths)]
    return [(j, 0.25 * rod.lengths[j] * rod.inertia_at([rod.midpoints[j]])[0, 1:]) for j in beside]


def junction_parts(system: System) -> tuple[list[Body], list[Joint]]:
    """Bodies of the junctions, and the joints that hold some of them or keep from turning what has no rotation."""
    bodies: list[Body] = []
    joints: list[Joint] = []
    for junction in system.junctions:
        J, v, omega = np.zeros((3, 3)), np.zeros(3), np.zeros(3)
        for name, e, clamped in junction.members:
            rod = system.rod(name)
            n = vertex(rod, e)
            place = system.rod_points[name, n] if e > 1 else system.rod_ends[name, e]
            R, beside = rotations.matrix_from_quaternion(place.frame), section_inertia(rod, n)
            if clamped or not junction.turns:
                J += R * sum(inertia for _, inertia in beside) @ R.T
            if clamped and not omega.any():
                frames = [j for j, _ in beside]
                omega = rotations.rotate(rod.quaternions[frames], rod.spins[frames]).mean(axis=0)
            if junction.held_by is None and not v.any():  # one that is held follows from its joint
                v = rod.velocities[n]
        if not junction.turns:
            J = np.eye(3) * np.trace(J) / 3.0
        bodies.append(massless(junction.name, 0.5 * (J + J.T), junction.position, v, omega))
        if junction.held_by is not None:
            joints.append(Spherical(junction.held_by, junction.name, at_a=junction.held_at, at_b=_ORIGIN))
        elif not junction.turns:
            joints.append(Translational(GROUND, junction.name, at=junction.position))
    return bodies, joints


def check_velocities(problems: Problems, system: System) -> None:
    """Rods that move at the start move with what holds their ends; one without velocity follows it."""
    whole = system.assembled()
    for (name, e), place in whole.rod_ends.items():
        rod, led = whole.rod(name), whole.ground_ends.get((name, e))
        if (led is not None and callable(led.at)) or not rod.velocities.any():
            continue
        wanted = np.zeros(3)
        if place.host != GROUND:
            body = whole.body(place.host)
            spin = cross(body.angular_velocity, place.at)
            wanted = whole.initial_velocities[place.host] + body.matrix @ spin
        v = rod.velocities[-e]
        fastest = max(float(norms(rod.velocities).max()), float(norms(wanted)))
        if math.dist(v, wanted) > LENGTH_SLACK * fastest:
            problems.add(
                f"velocity at the {SIDES[e]} is {shown(v)}, but {place.host!r}, which holds it, moves there with "
                f"{shown(wanted)}; give velocities that agree, or leave that of the rod out.",
                f"Rod {name!r}",
            )


# --- finding ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Anchor:
    """What holds the one end of a group that refers to no rod."""

    host: str
    #: Point in the axes of the host, and in space.
    at: Array
    point: Array
    #: Orientation of the host, and of the end section that it holds.
    orientation: Array
    section: Array
    clamped: bool


@dataclass
class _Finder:
    system: System
    problems: Problems
    places: dict[Key, RodEndPlace] = field(default_factory=dict)
    points: dict[tuple[str, int], RodEndPlace] = field(default_factory=dict)
    junctions: list[Junction] = field(default_factory=list)
    on_ground: dict[Key, End] = field(default_factory=dict)
    #: For each end on a rod the end that it refers to.
    targets: dict[Key, Key] = field(default_factory=dict)
    #: Ends about which there was something to say.
    failed: set[Key] = field(default_factory=set)

    def __post_init__(self) -> None:
        s = self.system
        self.rods = {rod.name: rod for rod in s.rods}
        self.ends = {(rod.name, e): end for rod in s.rods for e, end in enumerate((rod.start, rod.end))}
        self.order = {key: i for i, key in enumerate(self.ends)}
        self.x = {key: self.rods[key[0]].positions[-key[1]] for key in self.ends}
        self.p = {key: self.rods[key[0]].end_frames[key[1]] for key in self.ends}
        self.taken = {m.name for members in (s.bodies, s.joints, s.rods, s.forces) for m in members}

    def find(self) -> Holds:
        names = [GROUND, *self.system._index, *self.rods]
        for key, end in [*self.ends.items()]:
            if not end.attached:
                continue
            if end.body in self.system._index:
                self._on_body(key, end, self.system.body(end.body))
            elif end.body in self.rods:
                self._on_rod(key, end, self.rods[end.body])
            else:
                hint = len(self.failed) < MOST_HINTS
                self._refuse(key, unknown(f"{SIDES[key[1]]}.body", end.body, names, hint=hint))
        members = {*self.targets, *self.targets.values()}
        for group in _classes([key for key in self.ends if key in members], self.targets.items()):
            if self.failed.isdisjoint(group):
                self._group(group)
        order = {key: self.places[key] for key in self.ends if key in self.places}
        points = MappingProxyType(self.points)
        return Holds(MappingProxyType(order), points, tuple(self.junctions), MappingProxyType(self.on_ground))

    def _refuse(self, key: Key, sentence: str) -> None:
        self.failed.add(key)
        self.problems.add(sentence, f"Rod {key[0]!r}")

    def _told(self, key: Key) -> str:
        """An end as the user has written it."""
        end = self.ends[key]
        at = "" if end.at is None else f", at={shown(end.at)}"
        return f"{SIDES[key[1]]} = {type(end).__name__}({end.body!r}{at})"

    def _said(self, key: Key) -> str:
        """A place of a rod in the name of a junction."""
        name, e = key
        return f"{name}.{self.rods[name].fractions[e - 1]:.4g}" if _between(key) else f"{name}.{SIDES[e]}"

    def _place(self, key: Key, anchor: _Anchor, p: Array, clamped: bool) -> None:
        frame = rotations.multiply(rotations.conjugate(anchor.orientation), p)
        place = RodEndPlace(anchor.host, frozen(anchor.at), frozen(frame), clamped)
        if _between(key):
            self.points[key[0], key[1] - 1] = place
        else:
            self.places[key] = place

    # --- one end ---

    def _on_body(self, key: Key, end: End, body: Body) -> None:
        side, R, x, p = SIDES[key[1]], body.matrix, self.x[key], self.p[key]
        if isinstance(end.at, str | float):
            self._refuse(
                key,
                f"{self._told(key)}: {body.name!r} is a body, not a rod; at must be a point in its axes, or left out.",
            )
            return
        local = R.T @ (x - body.position)
        at = local if end.at is None else end.at
        there = body.position + R @ at
        if math.dist(there, x) > LENGTH_SLACK * self.rods[key[0]].length:
            self._refuse(
                key,
                f"{side} = {type(end).__name__} holds at = {shown(at)} in the axes of {body.name!r}, {shown(there)} in "
                f"space, but initial has its {side} at {shown(x)} in space, {shown(local + 0.0)} in the axes of "
                f"{body.name!r}, {math.dist(there, x):.6g} m away; move one of them, or leave at out.",
            )
        if end.frame is not None:
            p = _aligned(rotations.multiply(body.orientation, end.frame), p)
            self._check_frame(key, p)
        anchor = _Anchor(body.name, at, there, body.orientation, p, end.holds_frame)
        self._place(key, anchor, p, end.holds_frame)

    def _on_rod(self, key: Key, end: End, other: Rod) -> None:
        if isinstance(end.at, float):
            self._on_point(key, end.at, other)
            return
        side, x = SIDES[key[1]], self.x[key]
        gaps = {e: math.dist(self.x[other.name, e], x) for e in (0, 1) if (other.name, e) != key}
        slack = LENGTH_SLACK * self.rods[key[0]].length
        if isinstance(end.at, np.ndarray):
            self._refuse(
                key,
                f"{self._told(key)}: {other.name!r} is a rod; at must be 'start', 'end', a fraction of its length, or "
                "left out.",
            )
            return
        near = [e for e, gap in gaps.items() if gap <= slack]
        if end.at is not None:
            near = [SIDES.index(end.at)]
        if near == [key[1]] and other.name == key[0]:
            self._refuse(key, f"{self._told(key)} attaches it to itself; its other end is at = {SIDES[1 - key[1]]!r}.")
        elif len(near) == 2:
            self._refuse(
                key,
                f"{self._told(key)}: both ends of {other.name!r} lie there, at {shown(x)}; say at = 'start' or 'end'.",
            )
        elif not near or gaps[near[0]] > slack:
            places = " and ".join(
                f"its {SIDES[e]} at {shown(self.x[other.name, e])}, {gap:.6g} m away"
                for e, gap in gaps.items()
                if e in near or not near
            )
            self._refuse(
                key,
                f"{self._told(key)}: initial has this {side} at {shown(x)} in space, but {other.name!r} has {places}; "
                f"move one of them{self._nearest(other, x, slack)}.",
            )
        else:
            self.targets[key] = (other.name, near[0])

    def _on_point(self, key: Key, s: float, other: Rod) -> None:
        """An end on a point between the ends of a rod."""
        n, last, x = other.mesh.nearest(s), len(other.fractions) - 1, self.x[key]
        at, there = float(other.fractions[n]), other.positions[n]
        target = (other.name, n + 1 if 0 < n < last else int(n == last))
        if target == key:
            self._refuse(key, f"{self._told(key)} attaches it to itself; give a place that is further away.")
        elif abs(at - s) > NEAREST_ENDS:
            self.failed.add(key)  # the rod could not be divided there, which was said
        elif (gap := math.dist(there, x)) > (slack := LENGTH_SLACK * self.rods[key[0]].length):
            self._refuse(
                key,
                f"{self._told(key)}: initial has this {SIDES[key[1]]} at {shown(x)} in space, but {other.name!r} has "
                f"s = {s:.6g} at {shown(there)}, {gap:.6g} m away; move one of them{self._nearest(other, x, slack)}.",
            )
        else:
            if _between(target) and target not in self.ends:
                self.order[target] = len(self.order)
                self.ends[target], self.x[target], self.p[target] = Free(), there, other.vertex_frame(n)
            self.targets[key] = target

    @staticmethod
    def _nearest(other: Rod, x: Array, slack: float) -> str:
        """What else may be done: to give the place of a rod that lies there, if one does."""
        n = int(np.argmin(norms(other.positions - x)))
        near = 0 < n < len(other.fractions) - 1 and math.dist(other.positions[n], x) <= slack
        return f", or give at = {other.fractions[n]:.6g}, which lies there" if near else ""

    def _check_frame(self, key: Key, p: Array) -> None:
        angle = float(rotations.distance(p, self.p[key]))
        if angle > 0.5 * np.pi:
            end, side = self.ends[key], SIDES[key[1]]
            self._refuse(
                key,
                f"{side} = {type(end).__name__} on {end.body!r} with frame = {shown(end.frame)} holds the section at "
                f"{shown(p)} in space, but initial has {shown(self.p[key])} at its {side}, {turned(angle)} away; "
                "it must be less than a right angle (d3 is the tangent). Turn one of them, or leave frame out.",
            )

    # --- ends that meet ---

    def _group(self, group: list[Key]) -> None:
        sink = next((key for key in group if key not in self.targets), None)
        if sink is not None and self.ends[sink].holds_frame and not self.ends[sink].holds_position:
            key = next(key for key in group if self.targets.get(key) == sink)
            self._refuse(
                key,
                f"{self._told(key)} refers to an end that is Guided, to which nothing can be attached; make that one "
                "Free or Clamped.",
            )
            return
        firm = [(key, self.targets[key]) for key in group if key in self.targets and self.ends[key].holds_frame]
        welds = _classes(group, firm)
        if not self._agree(group, welds):
            return
        anchor = self._anchor(sink) if sink is not None else None
        p: dict[Key, Array] = {}
        for weld in welds:
            root = sink if sink in weld else weld[0]
            assert root is not None
            held = anchor is not None and anchor.clamped and root == sink
            p |= self._frames(weld, root, anchor.section if held and anchor is not None else self.p[root])
        if not self.failed.isdisjoint(group):
            return
        if anchor is None:
            self._meet(welds, p, self.x[group[0]])
        else:
            self._hang(welds, p, anchor, sink)

    def _agree(self, group: list[Key], welds: list[list[Key]]) -> bool:
        """Whether no end is hinged to one that it is clamped to in another way."""
        for key in group:
            target, weld = self.targets.get(key), next(weld for weld in welds if key in weld)
            if target in weld and not self.ends[key].holds_frame:
                other = next(k for k in weld if self.targets.get(k) in weld and self.ends[k].holds_frame)
                self._refuse(
                    key,
                    f"{self._told(key)} contradicts {self._told(other)} of rod {other[0]!r}: one clamps what the other "
                    "hinges; make both the same, or leave one of them out.",
                )
                return False
        return True

    def _anchor(self, sink: Key) -> _Anchor | None:
        end, p = self.ends[sink], self.p[sink]
        if not end.holds_position:
            return None
        if end.attached:
            place, body = self.places[sink], self.system.body(end.body)
            section = rotations.multiply(body.orientation, place.frame)
            point = body.position + body.matrix @ place.at
            return _Anchor(place.host, place.at, point, body.orientation, section, place.clamped)
        at, frame = end.position_at(0.0), end.frame_at(0.0) if end.holds_frame else None
        x = self.x[sink] if at is None else at
        return _Anchor(GROUND, x, x, _UNIT, p if frame is None else _aligned(frame, p), end.holds_frame)

    def _frames(self, weld: list[Key], root: Key, p_root: Array) -> dict[Key, Array]:
        """Sections of a weld in space, from that of its root: what is given counts, the rest is as at the start."""
        edges = [(k, self.targets[k], self.ends[k].frame) for k in weld if self.targets.get(k) in weld]
        edges.sort(key=lambda edge: edge[2] is None)
        near: dict[Key, list[tuple[Key, Array, bool]]] = {key: [] for key in weld}
        rest, leaders = [], _Leaders(weld)
        for key, target, frame in edges:
            if leaders.join(key, target):
                near[target].append((key, frame, True))
                near[key].append((target, frame, False))
            else:
                rest.append((key, target, frame))
        p, stack = {root: p_root}, [root]
        while stack:
            here = stack.pop()
            for there, frame, forward in near[here]:
                if there in p:
                    continue
                if frame is None and np.array_equal(p[here], self.p[here]):
                    p[there] = self.p[there]
                else:
                    turn = frame if forward or frame is None else rotations.conjugate(frame)
                    if turn is None:
                        turn = rotations.multiply(rotations.conjugate(self.p[here]), self.p[there])
                    p[there] = _aligned(rotations.multiply(p[here], turn), self.p[there])
                stack.append(there)
        for key, target, frame in rest:
            angle = 0.0 if frame is None else float(rotations.distance(rotations.multiply(p[target], frame), p[key]))
            if angle > FRAME_SLACK:
                self._refuse(
                    key,
                    f"{self._told(key)} with frame = {shown(frame)} contradicts what the others say about the same "
                    f"sections, by {np.rad2deg(angle):.6g} degrees; leave its frame out.",
                )
        for key in weld:
            self._check_frame(key, p[key])
        return p

    def _hang(self, welds: list[list[Key]], p: dict[Key, Array], anchor: _Anchor, sink: Key | None) -> None:
        """Ends that meet where a body or ground holds one of them."""
        assert sink is not None
        led = anchor.host == GROUND and callable(self.ends[sink].at)
        for weld in welds:
            welded = anchor.clamped and sink in weld
            if len(weld) > 1 and not welded:
                if led:
                    key = next(k for k in weld if self.targets.get(k) in weld)
                    self._refuse(
                        key,
                        f"{self._told(key)} joins rods rigidly at a point that {self._told(sink)} of rod {sink[0]!r} "
                        "leads as a function of time and leaves free to turn, which is not available; make that end "
                        "Clamped, or hinge this one.",
                    )
                    continue
                self._join([(key, True) for key in weld], p, anchor.point, anchor)
                continue
            for key in weld:
                if key == sink:
                    continue
                self._place(key, anchor, p[key], welded)
                if anchor.host == GROUND:
                    self.on_ground[key] = self._as_ground(sink, anchor, p[key], welded)

    def _as_ground(self, sink: Key, anchor: _Anchor, p: Array, clamped: bool) -> End:
        """The end on ground that moves with one that ground holds or leads."""
        end = self.ends[sink]
        at, velocity = (end.at, end.velocity) if callable(end.at) else (anchor.point, None)
        if not clamped:
            return Hinged(GROUND, at, velocity=velocity)
        if not callable(end.frame):
            return Clamped(GROUND, at, p, velocity=velocity)
        first = end.frame_at(0.0)
        assert first is not None
        turn = rotations.multiply(rotations.conjugate(first), p)
        if isinstance(end.frame, Samples):
            return Clamped(GROUND, at, end.frame.turned(turn), velocity=velocity)

        def frame(t: float) -> Array:
            here = end.frame_at(t)
            assert here is not None
            return rotations.multiply(here, turn)

        return Clamped(GROUND, at, frame, velocity=velocity, angular_velocity=end.angular_velocity)

    def _meet(self, welds: list[list[Key]], p: dict[Key, Array], point: Array) -> None:
        """Ends that meet where nothing else holds them."""
        firm = [weld for weld in welds if len(weld) > 1 or _between(weld[0])]
        main = firm[0] if firm else []
        loose = [key for weld in welds if weld not in firm for key in weld]
        first = self._join([*((key, True) for key in main), *((key, False) for key in loose)], p, point, None)
        for weld in firm[1:]:
            self._join([(key, True) for key in weld], p, point, first)

    def _join(
        self, keys: Sequence[tuple[Key, bool]], p: dict[Key, Array], point: Array, held: _Anchor | None
    ) -> _Anchor:
        """Make a junction of ends, and return it as what others may be held by."""
        keys = sorted(keys, key=lambda item: self.order[item[0]])
        name = _free_name(_junction_name([self._said(key) for key, _ in keys]), self.taken)
        self.taken.add(name)
        here = _Anchor(name, _ORIGIN, point, _UNIT, _UNIT, True)
        for key, clamped in keys:
            self._place(key, here, p[key], clamped)
        members = tuple((*key, clamped) for key, clamped in keys)
        by, at = (None, None) if held is None else (held.host, frozen(held.at))
        self.junctions.append(Junction(name, frozen(point), members, by, at))
        return here


class _Leaders:
    """Classes of things that are joined one by one."""

    def __init__(self, members: Iterable[Key]) -> None:
        self.of = {key: key for key in members}

    def find(self, key: Key) -> Key:
        while self.of[key] != key:
            self.of[key] = key = self.of[self.of[key]]
        return key

    def join(self, a: Key, b: Key) -> bool:
        """Whether they were in two classes until now."""
        a, b = self.find(a), self.find(b)
        self.of[b] = a
        return a != b


def _classes(members: Sequence[Key], pairs: Iterable[tuple[Key, Key]]) -> list[list[Key]]:
    """Members that are joined by pairs, each class in the order of the members."""
    leaders = _Leaders(members)
    for a, b in pairs:
        leaders.join(a, b)
    found: dict[Key, list[Key]] = {}
    for key in members:
        found.setdefault(leaders.find(key), []).append(key)
    return list(found.values())


def _aligned(p: Array, near: Array) -> Array:
    """The one of p and -p that is nearer to another quaternion."""
    return np.asarray(-p if p @ near < 0.0 else p)


def _between(key: Key) -> bool:
    """Whether it is a vertex between the ends of a rod."""
    return key[1] > 1


def _junction_name(told: list[str]) -> str:
    if len(told) > LONGEST_NAME:
        told[LONGEST_NAME - 1 :] = [f"{len(told) - LONGEST_NAME + 1} more"]
    return f"joint of {', '.join(told[:-1])} and {told[-1]}"


def _free_name(name: str, taken: set[str | None]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free
