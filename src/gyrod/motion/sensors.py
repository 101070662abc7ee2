"""What sensors read: from rows of a motion, with accelerations from the equations and not by differences.

Between the points of a rod everything is interpolated by its mesh: on the grid linearly, which is of second order in
the length of the segments, as the rod itself, and what is known at midpoints is extrapolated to the ends; in elements
by their polynomials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gyrod import _core, rotations
from gyrod._check import Array
from gyrod.equations import Compiled
from gyrod.equations.coordinates import turns
from gyrod.equations.rods import frame_spin, held_frames, held_positions
from gyrod.model import (
    ClipSensor,
    ContactSensor,
    DistanceSensor,
    JointSensor,
    PointSensor,
    Rod,
    RotationSensor,
    SectionSensor,
)
from gyrod.model.attachments import RodEndPlace
from gyrod.model.errors import GROUND
from gyrod.model.meshes import apply_frames
from gyrod.model.sensors import Place, Sensor
from gyrod.motion import clips, distances
from gyrod.motion.by_name import ByName
from gyrod.motion.joints import kinematics
from gyrod.runs.formulations import FORMULATIONS

if TYPE_CHECKING:
    from gyrod.motion import Motion

#: Where a field of a rod lives: rows and weights of a mesh, as `Mesh.vertex_at`.
Points = Callable[[ArrayLike], tuple[NDArray[np.intp], Array]]


class Sensors(ByName[Array]):
    """The sensors of a motion by name: ``motion.sensors["imu"]`` is (n, ...), without time axis for a single time."""

    what, remedy = "sensors", "System(sensors=[...])"

    def __init__(self, motion: Motion, turns: Mapping[int, Array] | None = None) -> None:
        #: What is added to coordinates of joints, by their number: turns that a single time does not know.
        self._added = turns or {}
        self._sensors = {sensor.name: sensor for sensor in motion.compiled.system.sensors}
        super().__init__(motion, self._sensors)

    @property
    def units(self) -> dict[str, str]:
        """SI units by name, "1" for none."""
        system = self._motion.compiled.system
        return {name: sensor.unit(system) for name, sensor in self._sensors.items()}

    def _find(self, name: str) -> Array:
        value = _read(self.rows, self._sensors[name], self._added)
        if self._motion.t.ndim:
            return value
        single: Array = value[0]
        return single

    def __repr__(self) -> str:
        return f"Sensors({', '.join(f'{name!r} [{unit}]' for name, unit in self.units.items())})"

    @cached_property
    def rows(self) -> Rows:
        """What they are read from."""
        return Rows(self._motion)


class Rows:
    """Rows of a motion, with a time axis always, and what sensors need of them; everything is made on access."""

    def __init__(self, motion: Motion) -> None:
        self.motion = motion
        self.compiled: Compiled = motion.compiled
        self.system = self.compiled.system
        self.t = np.ascontiguousarray(np.atleast_1d(motion.t))
        self.y = np.ascontiguousarray(np.atleast_2d(motion.y))
        self._joints: dict[int, tuple[Array, Array]] = {}

    def body(self, name: str) -> tuple[Array, Array, Array, Array]:
        """Position, matrix, velocity and Omega of a body."""
        i = self.system._number[name]
        x, R, v, Omega = self.motion._motions
        return x[:, i], R[:, i], v[:, i], Omega[:, i]

    def rod(self, name: str) -> dict[str, Array]:
        """What the core says about a rod."""
        found: dict[str, Array] = self.motion._rods[self.system.rod_names.index(name)]
        return found if self.motion.t.ndim else {key: value[None] for key, value in found.items()}

    @cached_property
    def _near(self) -> Rows | None:
        """The knots beside the rows, between which accelerations lie."""
        return None if self.motion._near is None else Rows(self.motion._near)

    @cached_property
    def spin(self) -> Array:
        """Angular velocity of a `RotatingFrame`, (3,)."""
        return frame_spin(self.system)

    @cached_property
    def gravity(self) -> Array:
        """(n, 3)."""
        function = self.system.gravity_function
        if function is None:
            return np.broadcast_to(self.system.gravity, (len(self.t), 3))
        return np.array([np.asarray(function(t), dtype=float) for t in self.t.tolist()])

    @cached_property
    def accelerations(self) -> Array:
        """v' and Omega' of the bodies, (n, b, 6); zero at rest."""
        if self.compiled.at_rest:
            return np.zeros((len(self.t), len(self.system.bodies), 6))
        own = self.compiled.body_accelerations(self.t, self.y)
        return own if self._near is None else np.asarray(self.motion._along(self._near.accelerations, own))

    @cached_property
    def rates(self) -> Array:
        """y' = f(t, y), (n, N); zero at rest."""
        if self.compiled.at_rest:
            return np.zeros_like(self.y)
        own = np.array([self.compiled.core.rhs(t, row) for t, row in zip(self.t.tolist(), self.y, strict=True)])
        return own if self._near is None else np.asarray(self.motion._along(self._near.rates, own))

    def vertex_accelerations(self, name: str) -> Array:
        """Of a rod, (n, V, 3): of its unknowns, and at its ends of what holds them."""
        number = self.system.rod_names.index(name)
        at = np.array(self.compiled.layouts()[number].v, dtype=int)
        free = at >= 0
        found = np.zeros((len(self.t), len(at), 3))
        found[:, free] = self.rates[:, at[free, None] + np.arange(3)]
        for e in (0, 1):
            if not free[-e]:
                found[:, -e] = self._held(name, number, e)
        for n, place in self._points(name).items():
            found[:, n] = self.of_body(place.host, place.at)[2]
        return found

    def _held(self, name: str, number: int, e: int) -> Array:
        """Acceleration of an end that is held, (n, 3)."""
        place = self.system.rod_ends.get((name, e))
        if place is not None and place.host != GROUND:
            return self.of_body(place.host, place.at)[2]
        end: _core.RodEnd = self.compiled.rods[number][("start", "end")[e]]
        if not end.moves or self.compiled.at_rest:
            return np.zeros((len(self.t), 3))
        return np.array([end.motion(t)[6:9] for t in self.t.tolist()])

    def spin_rates(self, name: str) -> Array:
        """Omega' of a rod's frames, (n, Q, 3): of its unknowns, and at clamped ends of elements of what holds them."""
        number = self.system.rod_names.index(name)
        layout = self.compiled.layouts()[number]
        p_at, w_at = np.array(layout.p, dtype=int), np.array(layout.w, dtype=int)
        free = w_at >= 0
        found = np.zeros((len(self.t), len(w_at), 3))
        nq, nv = FORMULATIONS[self.compiled.formulation]
        q, rates = self.y[:, p_at[free, None] + np.arange(nq)], self.rates[:, w_at[free, None] + np.arange(nv)]
        found[:, free] = turns(self.compiled.formulation, q, rates)[1]
        for e in (0, 1):
            if not free[-e]:
                found[:, -e] = self._held_spin(name, number, e)
        for n, place in self._points(name).items() if self.system.rods[number].mesh.degree else ():
            found[:, n] = self._turned(place)
        return found

    def _held_spin(self, name: str, number: int, e: int) -> Array:
        """Omega' of an end whose frame is held, (n, 3)."""
        place = self.system.rod_ends.get((name, e))
        if place is not None and place.host != GROUND:
            return self._turned(place)
        end: _core.RodEnd = self.compiled.rods[number][("start", "end")[e]]
        if not end.moves or self.compiled.at_rest:
            return np.zeros((len(self.t), 3))
        return np.array([end.motion(t)[16:] for t in self.t.tolist()])

    def _points(self, name: str) -> dict[int, RodEndPlace]:
        """Vertices of a rod between its ends that junctions hold."""
        return {n: place for (rod, n), place in self.system.rod_points.items() if rod == name}

    def _turned(self, place: RodEndPlace) -> Array:
        """Omega' of a section that a body holds, (n, 3)."""
        return rotations.rotate(
            rotations.conjugate(place.frame), self.accelerations[:, self.system._number[place.host], 3:]
        )

    def of_body(self, name: str, at: Array | None) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration of a point of a body, (n, 3) each."""
        x, R, v, Omega = self.body(name)
        a = self.accelerations[:, self.system._number[name]]
        if at is None:
            return x, v, a[:, :3]
        turn = np.cross(Omega, at)
        bend = np.cross(a[:, 3:], at) + np.cross(Omega, turn)
        return x + R @ at, v + _apply(R, turn), a[:, :3] + _apply(R, bend)

    def point(self, name: str, at: Any, *, moved: int = 2) -> tuple[Array, ...]:
        """Position, velocity and acceleration of a place, up to the derivative ``moved``, (n, 3) each."""
        if name == GROUND:
            here = np.broadcast_to(np.zeros(3) if at is None else at, (len(self.t), 3))
            return here, np.zeros_like(here), np.zeros_like(here)
        if name in self.system.rod_names:
            rod, state = self.system.rod(name), self.rod(name)
            rows = [state["positions"], state["velocities"]]
            rows += [self.vertex_accelerations(name)] if moved == 2 else []
            return tuple(_at(rod.mesh.vertex_at, at, row) for row in rows)
        if moved == 2:
            return self.of_body(name, at)
        x, R, v, Omega = self.body(name)
        return (x, v) if at is None else (x + R @ at, v + _apply(R, np.cross(Omega, at)))

    def matrix(self, name: str, at: Any) -> Array:
        """Rotation of a body, or of the section of a rod, body to space, (n, 3, 3)."""
        if name in self.system.names:
            return self.body(name)[1]
        return rotations.matrix_from_quaternion(self.section(name, 1.0 if at is None else at))

    def joint(self, number: int) -> tuple[Array, Array]:
        """Coordinates and rates of a joint, (n, k) each, angles in (-pi, pi]."""
        if number not in self._joints:
            self._joints[number] = kinematics(self.compiled, [number], self.motion._motions)
        return self._joints[number]

    def section(self, name: str, s: float) -> Array:
        """Frame of a rod's section, between those of the segments and of the ends, unit quaternions, (n, 4)."""
        rod, state = self.system.rod(name), self.rod(name)
        if rod.mesh.degree:
            places, weights = rod.mesh.frame_at(s)
            return np.asarray(apply_frames(places, weights, state["quaternions"])[:, 0])
        nodes = np.concatenate([[0.0], rod.midpoints, [1.0]])
        i = int(np.clip(np.searchsorted(nodes, s, side="right") - 1, 0, len(nodes) - 2))
        ends = [self._end(rod, state, e) for e in (0, 1)]
        p = np.concatenate([ends[0], state["quaternions"], ends[1]], axis=1)[:, i : i + 2]
        side = np.where(np.sum(p[:, 0] * p[:, 1], axis=-1) < 0.0, -1.0, 1.0)[:, None]
        w = (s - nodes[i]) / (nodes[i + 1] - nodes[i])
        return rotations.normalize((1.0 - w) * p[:, 0] + w * side * p[:, 1])

    def _end(self, rod: Rod, state: dict[str, Array], e: int) -> Array:
        """Frame at an end, (n, 1, 4): of the clamp, or of the last segment bent on as the rod is at rest."""
        if held_frames(rod, self.system)[e]:
            return state["vertex_quaternions"][:, [-e]]
        half = (0.5 if e else -0.5) * rod.lengths[-e] * state["curvature"][:, [-e]]
        return rotations.multiply(state["quaternions"][:, [-e]], rotations.exp(half))


# --- readings --------------------------------------------------------------------------------------------------------


def _read(rows: Rows, sensor: Sensor, turns: Mapping[int, Array]) -> Array:
    if isinstance(sensor, PointSensor):
        return _point(rows, sensor)
    if isinstance(sensor, RotationSensor):
        return _rotation(rows, sensor)
    if isinstance(sensor, JointSensor):
        return _joint(rows, sensor, turns)
    if isinstance(sensor, SectionSensor):
        return _section(rows, sensor)
    if isinstance(sensor, ClipSensor):
        return np.array(np.atleast_1d(getattr(clips.of_rows(rows, sensor.clip), sensor.quantity)))
    if isinstance(sensor, ContactSensor):
        found = np.asarray(getattr(rows.motion.contacts[sensor.contact], sensor.quantity), dtype=float)
        return found if rows.motion.t.ndim else found[None]
    assert isinstance(sensor, DistanceSensor)
    return _distance(rows, sensor)


def _point(rows: Rows, sensor: PointSensor) -> Array:
    order = {"position": 0, "velocity": 1}.get(sensor.quantity, 2)
    found = rows.point(sensor.on, sensor.at, moved=order)
    value = found[order]
    if sensor.quantity == "specific force":
        W = rows.spin
        if W.any():  # the acceleration in space, not in the frame that turns
            value = value + 2.0 * np.cross(W, found[1]) + np.cross(W, np.cross(W, found[0]))
        value = value - rows.gravity
    return _back(rows.matrix(sensor.on, sensor.at), value) if sensor.axes == "body" else np.array(value)


def _rotation(rows: Rows, sensor: RotationSensor) -> Array:
    name, at, quantity = sensor.on, sensor.at, sensor.quantity
    on_body = name in rows.system.names
    s = 1.0 if at is None else at
    if quantity == "quaternion":
        return np.array(_quaternions(rows, name) if on_body else _continuous(rows.section(name, s)))
    if quantity == "matrix":
        return np.array(rows.matrix(name, at))
    if quantity == "angular acceleration":
        if on_body:
            return np.array(rows.accelerations[:, rows.system._number[name], 3:])
        return _at(rows.system.rod(name).mesh.frame_at, s, rows.spin_rates(name))
    Omega = rows.body(name)[3] if on_body else _at(rows.system.rod(name).mesh.frame_at, s, rows.rod(name)["Omega"])
    if quantity == "omega":
        return _apply(rows.matrix(name, at), Omega)
    if quantity == "gyro" and rows.spin.any():
        Omega = Omega + _back(rows.matrix(name, at), np.broadcast_to(rows.spin, Omega.shape))
    return np.array(Omega)


def _joint(rows: Rows, sensor: JointSensor, turns: Mapping[int, Array]) -> Array:
    number = next(i for i, joint in enumerate(rows.system.joints) if joint.name == sensor.joint)
    joint = rows.system.joints[number]
    if sensor.quantity == "rate":
        found = rows.joint(number)[1]
    elif sensor.quantity == "coordinate" and (number in turns or not joint.wraps):
        found = rows.joint(number)[0] + turns.get(number, 0.0)
    else:
        forces = sensor.quantity != "coordinate"
        track = (rows.motion.joints if forces else rows.motion.joint_motions)[number]
        found = np.asarray(getattr(track, sensor.quantity if forces else "coordinates"))
        found = found if rows.motion.t.ndim else found[None]
    if sensor.quantity in ("force", "torque") or found.ndim == 1:
        return np.array(found)
    names = joint.coordinate_names
    if sensor.coordinate is None and len(names) > 1:
        return np.array(found)
    return np.array(found[:, 0 if sensor.coordinate is None else names.index(sensor.coordinate)])


def _section(rows: Rows, sensor: SectionSensor) -> Array:
    rod, value = rows.system.rod(sensor.rod), rows.rod(sensor.rod)[sensor.quantity]
    mesh = rod.mesh
    if rod.degree is not None and _carried(rows, rod, sensor):
        # Gauss points lie inside; what holds an end knows more than a polynomial through them.
        e = int(sensor.at)
        first = 6 * e + (0 if sensor.quantity == "force" else 3)
        carried = (2 * e - 1) * rows.rod(sensor.rod)["reactions"][:, first : first + 3]
        turned = rotations.conjugate(rows.section(sensor.rod, sensor.at))
        return np.asarray(carried if sensor.frame == "space" else rotations.rotate(turned, carried))
    points = mesh.curvature_at if sensor.quantity in ("moment", "curvature") else mesh.strain_at
    found = _at(points, sensor.at, value)
    return found if sensor.frame == "body" else rotations.rotate(rows.section(sensor.rod, sensor.at), found)


def _carried(rows: Rows, rod: Rod, sensor: SectionSensor) -> bool:
    """Whether a sensor is at an end where its quantity is what holds the end."""
    if sensor.at not in (0.0, 1.0) or sensor.quantity not in ("force", "moment"):
        return False
    e = int(sensor.at)
    return (held_frames if sensor.quantity == "moment" else held_positions)(rod, rows.system)[e]


def _distance(rows: Rows, sensor: DistanceSensor) -> Array:
    if (surfaces := sensor.ends(rows.system)) is not None:
        return _gap(rows, sensor, *surfaces)
    a, b = (rows.point(n, at, moved=1) for n, at in ((sensor.a, sensor.at_a), (sensor.b, sensor.at_b)))
    apart = b[0] - a[0]
    length = np.linalg.norm(apart, axis=-1)
    if sensor.quantity == "distance":
        return np.asarray(length)
    speed = np.einsum("ni,ni->n", apart, b[1] - a[1])
    # Points that meet move apart as fast as they move against each other.
    against = np.linalg.norm(b[1] - a[1], axis=-1)
    return np.asarray(np.divide(speed, length, out=against, where=length > 0.0))


def _gap(rows: Rows, sensor: DistanceSensor, one: tuple[str, Place], other: tuple[str, Place]) -> Array:
    system, (name, at) = rows.system, other
    rod = system.rod(one[0])
    near: Sequence[distances.Target]
    if name in system.rod_names:
        near = [distances.OtherRod(name, distances.radii(system.rod(name), sensor.radius))]
    elif at is not None:
        near = distances.of_point(name, name, at)
    else:
        near = distances.of_solids(name, name, sensor.shapes or system.body(name).shapes)
    rates = sensor.quantity == "rate"
    found = distances.gaps(rows, rod, distances.radii(rod, sensor.radius), near, rates=rates)
    return found.rate if rates else found.distance


def _at(points: Points, s: float, value: Array) -> Array:
    """A quantity of a rod at a fraction of its length, as `meshes.apply`."""
    (row, weight), *others = _places(points, s)
    found = weight * value[:, row]
    for row, weight in others:
        found = found + weight * value[:, row]
    return np.asarray(found)


@lru_cache(maxsize=1000)
def _places(points: Points, s: float) -> tuple[tuple[int, float], ...]:
    """Rows and weights of a place; sensors ask for the same ones at every time."""
    rows, weights = points(s)
    return tuple(zip(rows[0].tolist(), weights[0].tolist(), strict=True))


def _quaternions(rows: Rows, name: str) -> Array:
    found = rows.motion[name].quaternion
    return np.asarray(found if rows.motion.t.ndim else found[None])


def _continuous(p: Array) -> Array:
    sides = np.where(np.sum(p[1:] * p[:-1], axis=-1) < 0.0, -1.0, 1.0)
    return np.asarray(p * np.cumprod(np.append(1.0, sides))[:, None])


def _apply(R: Array, x: Array) -> Array:
    return np.asarray((R @ x[..., None])[..., 0])


def _back(R: Array, x: Array) -> Array:
    return np.asarray(np.einsum("nji,nj->ni", R, x))
