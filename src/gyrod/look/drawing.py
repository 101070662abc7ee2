"""The drawing of a motion, frame by frame: everything is projected on the picture and painted from back to front."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gyrod import _check, quantities
from gyrod._check import Array
from gyrod.look import props
from gyrod.look.curves import FINE, Curve
from gyrod.look.eye import eye_of
from gyrod.look.faces import faces_of
from gyrod.look.plots.style import COLOURS, SIGNED, SIZES, Unit, unit
from gyrod.look.tracks import coloured_pieces, most
from gyrod.motion import Motion
from gyrod.motion.contacts import where

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.lines import Line2D

#: Directions of light, and the least brightness.
LIGHT, SHADE = np.array([0.3, 0.5, 0.8]), 0.6
#: Width of a rod in pixels at least.
THIN = 3.0
#: Dots per inch of a picture of this width, and between which they stay: letters grow with the picture.
DPI, WIDTH, FINEST, COARSEST = 100.0, 640.0, 75.0, 250.0
#: Inches beside the drawing: labels to the left, labels below, time above, colours to the right.
LEFT, BELOW, ABOVE, COLOUR_BAR = 0.66, 0.5, 0.32, 1.0
ROD, OUTLINE = "#44546A", (0.2, 0.2, 0.2, 1.0)
#: Opacity of bodies without shape.
GLASS = 0.55
#: Colours of obstacles, and of springs and cables.
TOUCH = (0.88, 0.54, 0.12, 1.0)
STONE, WIRE = np.array([0.72, 0.72, 0.72]), (0.35, 0.35, 0.35, 1.0)


@dataclass(frozen=True)
class Actor:
    """A body: faces in its axes (padded to the same number of corners), their normals, colour, poses over time."""

    faces: Array
    normals: Array
    colour: Array
    position: Array
    matrix: Array
    #: Points of joints and of rods on it, which a body without shape is drawn to.
    arms: Array
    #: Bodies without shape are boxes of their inertia, which may hide what there is: they are translucent.
    alpha: float


class Stage:
    """A figure with a motion on it; ``frame(k)`` is the picture of row k, (height, width, 3)."""

    def __init__(
        self,
        motion: Motion,
        size: tuple[int, int],
        view: str | Iterable[float] | None = None,
        names: str | Sequence[str] | None = None,
        color: str | None = "moment",
        trail: bool = False,
        contacts: bool = False,
    ) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.motion, self.system = motion, motion.compiled.system
        chosen = _chosen(motion, names)
        self.curves = {name: Curve(self.system.rod(name), FINE) for name in chosen if name in self.system.rod_names}
        #: Points of the rods as they are drawn, (n, D, 3).
        self.rods = {name: curve.vertices(motion[name].positions) for name, curve in self.curves.items()}
        self.length = self._extent([n for n in chosen if n not in self.rods])
        self.actors = self._actors([n for n in chosen if n not in self.rods])
        self.lines = props.lines(motion) if names is None else []
        self.joints, self.held = self._joint_points(set(chosen)), self._supports()
        #: Points of contact and arrows there, of each row.
        self.touches = _arrows(motion, 0.2 * self.length) if contacts else []
        self.eye = eye_of(view, self._plane())
        self.actors += self._obstacles() if names is None else []
        dots = float(np.clip(DPI * size[0] / WIDTH, FINEST, COARSEST))
        self.figure = Figure(figsize=(size[0] / dots, size[1] / dots), dpi=dots)
        self.canvas: Any = FigureCanvasAgg(self.figure)
        self.paint = self._paint(color)
        self._set_up(color, trail)

    # --- what is there ---

    def _extent(self, bodies: list[str]) -> float:
        """A length of the system, for thicknesses."""
        points = [self.motion[name].position for name in bodies]
        points += [x.reshape(-1, 3) for x in self.rods.values()]
        points += [self.system.attachment(joint).at_a[None] for joint in self.system.joints if joint.a == "ground"]
        every = np.concatenate(points)
        size = float(np.linalg.norm(np.ptp(every, axis=0)))
        for name in bodies:
            corners = np.concatenate(faces_of(self.system.body(name), 0.0))
            size = max(size, float(2.0 * np.linalg.norm(corners, axis=1).max()))
        return size or 1.0

    def _actors(self, bodies: list[str]) -> list[Actor]:
        from matplotlib.colors import to_rgb

        found = []
        for i, name in enumerate(bodies):
            body, track = self.system.body(name), self.motion[name]
            faces = faces_of(body, 0.02 * self.length)
            normals = np.stack([_normal(f) for f in faces])
            arms = np.zeros((0, 3)) if body.shapes else self._hung(name)
            colour = np.array(to_rgb(getattr(body, "color", None) or COLOURS[i % len(COLOURS)]))
            found.append(
                Actor(
                    _padded(faces), normals, colour, track.position, track.matrix, arms, 1.0 if body.shapes else GLASS
                )
            )
        return found

    def _obstacles(self) -> list[Actor]:
        n, every = len(self.motion.t), self._centres()
        middle = 0.5 * (every.min(axis=0) + every.max(axis=0))
        still = np.broadcast_to(np.zeros(3), (n, 3)), np.broadcast_to(np.eye(3), (n, 3, 3))
        return [
            Actor(_padded(faces), np.stack([_normal(f) for f in faces]), STONE, *still, np.zeros((0, 3)), GLASS)
            for faces in props.obstacles(self.system, middle, self.length)
        ]

    def _hung(self, name: str) -> Array:
        points = []
        for joint in self.system.joints:
            place = self.system.attachment(joint)
            points += [at for side, at in ((joint.a, place.at_a), (joint.b, place.at_b)) if side == name]
        points += [end.at for end in self.system.rod_ends.values() if end.host == name]
        return np.array(points).reshape(-1, 3)

    def _joint_points(self, chosen: set[str]) -> Array:
        """Points of joints over time, (n, joints, 3)."""
        n, found = len(self.motion.t), []
        for joint in self.system.joints:
            place = self.system.attachment(joint)
            for side, at in ((joint.b, place.at_b), (joint.a, place.at_a)):
                if side in chosen and side in self.system.names:
                    track = self.motion[side]
                    found.append(track.position + track.matrix @ at)
                    break
        return np.stack(found, axis=1) if found else np.zeros((n, 0, 3))

    def _supports(self) -> Array:
        """Where ground holds joints and ends of rods, at the start, (k, 3)."""
        points = [self.system.attachment(j).at_a for j in self.system.joints if j.a == "ground"]
        points += [self.system.attachment(j).at_b for j in self.system.joints if j.b == "ground"]
        for name, x in self.rods.items():
            ends = self.system.rod(name)
            for k, end in ((0, ends.start), (-1, ends.end)):
                still = np.ptp(x[:, k], axis=0).max() < 1e-9 * self.length
                if still and getattr(end, "body", None) == "ground":
                    points.append(x[0, k])
        return np.array(points).reshape(-1, 3)

    def _plane(self) -> str | None:
        """The coordinate plane in which everything moves and turns."""
        every = self._centres()
        widths = np.ptp(every, axis=0)
        for k, plane in enumerate(("yz", "xz", "xy")):
            turns = [np.abs(a.matrix @ a.matrix[0].T - np.eye(3))[:, :, k].max() for a in self.actors]
            if widths[k] <= 1e-6 * widths.max() and widths.max() > 0.0 and max(turns, default=0.0) < 1e-6:
                return plane
        return None

    def _paint(self, colour: str | None) -> tuple[Unit, Normalize, Colormap] | None:
        """Unit, norm and map of the colours of rods."""
        from matplotlib import colormaps
        from matplotlib.colors import Normalize

        if colour is None or not self.rods:
            return None
        known, numbers = quantities.COLOURS[colour], {name: i for i, name in enumerate(self.system.rod_names)}
        found = {name: coloured_pieces(colour, self.motion, numbers[name], x) for name, x in self.curves.items()}
        every = list(found.values())
        if known.inverse:
            limit = most(every)
            found = {name: np.minimum(v, limit) for name, v in found.items()}
            every = list(found.values())
        low, high = min(float(v.min()) for v in every), max(float(v.max()) for v in every)
        scale = unit("strain" if known.unit == "1" else known.unit, [low, high])
        if known.signed and low < -1e-3 * max(abs(low), abs(high)):
            high = max(abs(low), abs(high))
            low, table = -high, colormaps[SIGNED]
        elif known.inverse:
            table = colormaps[SIZES].reversed()
        else:
            low, table = min(low, 0.0), colormaps[SIZES]
        self.values = {name: scale.factor * v for name, v in found.items()}
        return scale, Normalize(scale.factor * low, scale.factor * (high if high > low else low + 1.0)), table

    # --- the picture ---

    def _set_up(self, colour: str | None, trail: bool) -> None:
        """All that stands still, and artists for what moves."""
        from matplotlib.collections import PolyCollection

        width, height = self.figure.get_size_inches()
        left, below = (LEFT, BELOW) if self.eye.plane else (0.05, 0.05)
        right = COLOUR_BAR if self.paint else 0.15
        room = max(width - left - right, 0.3 * width), max(height - below - ABOVE, 0.3 * height)
        self.edge = (left + room[0]) / width
        self.axes = ax = self.figure.add_axes((left / width, below / height, room[0] / width, room[1] / height))
        self._limits(ax)
        if self.eye.plane:
            scale = unit("m", self.length)
            ax.set(xlabel=scale.label(self.eye.plane[0]), ylabel=scale.label(self.eye.plane[1]))
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(lambda value, _: f"{scale.factor * value:g}")
        else:
            ax.set_axis_off()
            self._floor(ax)
            self._triad()
        if self.paint:
            self._bar(colour or "")
        self.solids: Any = PolyCollection([], animated=True, linewidths=0.4)
        ax.add_collection(self.solids, autolim=False)
        (self.dots,) = ax.plot([], [], "o", ms=4.0, color="0.15", mec="white", mew=0.6, animated=True, clip_on=False)
        fixed = self.eye.flat(self.held)
        ax.plot(*fixed.T, "s", ms=6.0, color="0.55", mec="none", clip_on=False, zorder=1.5)
        self.trails = self._trails(ax) if trail else []
        self.clock = self.figure.text(0.02, 0.98, "", ha="left", va="top", fontsize=10.0, animated=True)
        self.hand = unit("s", self.motion.t[-1])
        shortest = self.hand.factor * max(float(np.diff(self.motion.t).min()), 1e-9)
        self.digits = int(np.clip(np.ceil(-np.log10(shortest)), 0, 4))
        self.canvas.draw()
        self.background = self.canvas.copy_from_bbox(self.figure.bbox)

    def _limits(self, ax: Axes) -> None:
        """Fixed for all times, with equal scales."""
        points = [self.eye.flat(x).reshape(-1, 2) for x in (self.held, *self.lines)]
        points += [self.eye.flat(x).reshape(-1, 2) for x in self.rods.values()]
        for actor in self.actors:
            corners = actor.faces.reshape(-1, 3)
            low, high = corners.min(axis=0), corners.max(axis=0)
            box = np.array([[(low, high)[b][k] for k, b in enumerate(bits)] for bits in np.ndindex(2, 2, 2)])
            moved = actor.position[:, None] + np.einsum("nij,kj->nki", actor.matrix, box)
            points.append(self.eye.flat(moved).reshape(-1, 2))
        every = np.concatenate(points)
        low, high = every.min(axis=0), every.max(axis=0)
        middle, half = 0.5 * (low + high), 0.55 * (high - low) + 0.01 * self.length
        shape = ax.get_position()
        aspect = shape.height * self.figure.bbox.height / (shape.width * self.figure.bbox.width)
        half = np.array([max(half[0], half[1] / aspect), max(half[1], half[0] * aspect)])
        ax.set(xlim=(middle[0] - half[0], middle[0] + half[0]), ylim=(middle[1] - half[1], middle[1] + half[1]))
        ax.set_autoscale_on(False)
        self.pixel = 2.0 * half[0] / (shape.width * self.figure.bbox.width)

    def _centres(self) -> Array:
        """Points of everything over time, (k, 3)."""
        points = [self.held, *(a.position for a in self.actors), *self.rods.values()]
        return np.concatenate([x.reshape(-1, 3) for x in points])

    def _floor(self, ax: Axes) -> None:
        """A grid below everything, with lines at round numbers."""
        from matplotlib.collections import LineCollection

        every = self._centres()
        low, high = every.min(axis=0), every.max(axis=0)
        spacing = _round_number(0.2 * float(max(np.ptp(every, axis=0).max(), 0.5 * self.length)))
        first = np.floor(low[:2] / spacing) - 1.0
        last = np.ceil(high[:2] / spacing) + 1.0
        z = low[2] - 0.05 * self.length
        lines = []
        for k in range(2):
            for at in np.arange(first[k], last[k] + 0.5):
                ends = np.empty((2, 3))
                ends[:, k], ends[:, 1 - k], ends[:, 2] = (
                    spacing * at,
                    spacing * np.array([first[1 - k], last[1 - k]]),
                    z,
                )
                lines.append(self.eye.flat(ends))
        ax.add_collection(LineCollection(lines, colors="0.87", linewidths=0.6, zorder=0.5), autolim=False)
        scale = unit("m", spacing)
        text = f"grid {scale.factor * spacing:g} {scale.name}"
        self.figure.text(self.edge, 0.02, text, ha="right", va="bottom", fontsize=8.0, color="0.4")

    def _triad(self) -> None:
        """The axes x, y, z in the corner."""
        from matplotlib.lines import Line2D

        width, height = self.figure.get_size_inches()
        at, reach = np.array([0.4 / width, 0.4 / height]), 0.25
        for k, name in enumerate("xyz"):
            tip = self.eye.flat(np.eye(3)[k])
            end = at + reach * tip / (width, height)
            colour = COLOURS[(1, 2, 0)[k]]
            self.figure.add_artist(Line2D([at[0], end[0]], [at[1], end[1]], color=colour, linewidth=1.4))
            place = at + 1.35 * reach * tip / (width, height)
            self.figure.text(place[0], place[1], name, ha="center", va="center", fontsize=8.0, color=colour)

    def _bar(self, colour: str) -> None:
        from matplotlib.cm import ScalarMappable

        assert self.paint is not None
        scale, norm, table = self.paint
        width = self.figure.get_size_inches()[0]
        left = self.edge + 0.15 / width
        bar = self.figure.colorbar(
            ScalarMappable(norm, table), cax=self.figure.add_axes((left, 0.2, 0.12 / width, 0.6)),
            extend="max" if quantities.COLOURS[colour].inverse else "neither",
        )  # fmt: skip
        bar.set_label(scale.label(quantities.COLOURS[colour].title))
        bar.outline.set_linewidth(0.4)
        bar.ax.tick_params(labelsize=7.5)

    def _trails(self, ax: Axes) -> list[tuple[Line2D, Array]]:
        curves: list[tuple[Array, tuple[float, ...] | str]] = [(a.position, tuple(a.colour)) for a in self.actors]
        for rod in self.rods.values():
            curves += [(rod[:, k], ROD) for k in (0, -1)]
        found = []
        for x, colour in curves:
            (line,) = ax.plot([], [], color=colour, lw=0.8, alpha=0.6, animated=True)
            found.append((line, self.eye.flat(x)))
        return found

    # --- one frame ---

    def frame(self, k: int) -> NDArray[np.uint8]:
        """The picture of row k, (height, width, 3)."""
        polygons, colours, depths = self._polygons(k)
        order = np.argsort(depths, kind="stable")
        self.solids.set_verts([polygons[i] for i in order])
        self.solids.set_facecolor(colours[order])
        self.solids.set_edgecolor(np.minimum(colours[order] * (1.0, 1.0, 1.0, 1.4), 1.0))
        self.canvas.restore_region(self.background)
        for line, path in self.trails:
            line.set_data(*path[: k + 1].T)
            self.axes.draw_artist(line)
        self.axes.draw_artist(self.solids)
        if self.joints.shape[1]:
            self.dots.set_data(*self.eye.flat(self.joints[k]).T)
            self.axes.draw_artist(self.dots)
        time = self.hand.factor * float(self.motion.t[k])
        self.clock.set_text(f"t = {time:.{self.digits}f} {self.hand.name}")
        self.figure.draw_artist(self.clock)
        return np.ascontiguousarray(np.asarray(self.canvas.buffer_rgba())[..., :3])

    def _polygons(self, k: int) -> tuple[list[Array], Array, Array]:
        """All faces that can be seen, and the pieces of rods as strips: corners, colours, depths."""
        polygons: list[Array] = []
        colours, depths = [], []
        for actor in self.actors:
            x, R = actor.position[k], actor.matrix[k]
            normals = actor.normals @ R.T
            seen = normals @ self.eye.back > 0.0
            corners = x + actor.faces[seen] @ R.T
            polygons += list(self.eye.flat(corners))
            bright = SHADE + (1.0 - SHADE) * np.clip(normals[seen] @ (LIGHT / np.linalg.norm(LIGHT)), 0.0, 1.0)
            colours.append(_rgba(np.clip(bright[:, None] * actor.colour + 0.06, 0.0, 1.0), actor.alpha))
            depths.append(self.eye.depth(corners).mean(axis=1))
            if len(actor.arms):
                tips = x + actor.arms @ R.T
                strips = [_strip(self.eye.flat(np.array([x, tip])), 1.25 * self.pixel) for tip in tips]
                polygons += [strip[0] for strip in strips]
                colours.append(_rgba(np.tile(0.8 * actor.colour, (len(tips), 1))))
                depths.append(self.eye.depth(0.5 * (x + tips)) - 0.05 * self.length)
        for line in self.lines:
            polygons += list(_strip(self.eye.flat(line[k]), 0.8 * self.pixel))
            depths.append(self.eye.depth(0.5 * (line[k, 1:] + line[k, :-1])))
            colours.append(np.tile(WIRE, (line.shape[1] - 1, 1)))
        for name, rod in self.rods.items():
            points = rod[k]
            flat, near = self.eye.flat(points), self.eye.depth(0.5 * (points[1:] + points[:-1]))
            # A dark rim behind: pale colours stand out from the paper.
            behind = 1.01 * float(np.abs(np.diff(near)).max(initial=0.0)) + 1e-3 * self.length
            for wider, back in ((0.9 * self.pixel, behind), (0.0, 0.0)):
                polygons += list(_strip(flat, self._half_width(name) + wider))
                depths.append(near - back)
            colours += [np.tile(OUTLINE, (len(near), 1)), _rgba(self._colours(name, k, len(near)))]
        for at, arrow in zip(*self.touches[k], strict=True) if self.touches else ():
            tip, neck = at + arrow, at + 0.7 * arrow
            flat = self.eye.flat(np.array([at, neck, tip]))
            polygons += [_strip(flat[:2], self.pixel)[0], _head(flat[1], flat[2], 3.5 * self.pixel)]
            depths.append(np.full(2, float(self.eye.depth(tip[None])[0]) + self.length))  # before all else
            colours.append(np.tile(TOUCH, (2, 1)))
        return polygons, np.concatenate(colours), np.concatenate(depths)

    def _half_width(self, name: str) -> float:
        section = self.system.rod(name).section
        true = 0.0 if section is None else float(np.mean(section.half_sizes(np.array([0.0, 0.5, 1.0]))))
        return float(max(true, 0.5 * THIN * self.pixel))

    def _colours(self, name: str, k: int, pieces: int) -> Array:
        from matplotlib.colors import to_rgb

        if self.paint is None:
            return np.tile(np.array(to_rgb(ROD)), (pieces, 1))
        _, norm, table = self.paint
        return np.asarray(table(norm(self.values[name][k])))[:, :3]


def _arrows(motion: Motion, longest: float) -> list[tuple[Array, Array]]:
    """Points of contact and forces, scaled to the largest one, of each row; without those that cannot be seen."""
    found = where(motion)
    most = max((float(np.linalg.norm(F, axis=1).max(initial=0.0)) for _, F in found), default=0.0)
    kept = []
    for x, F in found:
        seen = np.linalg.norm(F, axis=1) > 1e-2 * most
        kept.append((x[seen], F[seen] * (longest / (most or 1.0))))
    return kept


def _head(neck: Array, tip: Array, half: float) -> Array:
    """The head of an arrow on the picture, (4, 2)."""
    along = tip - neck
    side = half * np.array([-along[1], along[0]]) / (float(np.linalg.norm(along)) or 1.0)
    return np.array([neck + side, tip, neck - side, neck])


def _chosen(motion: Motion, names: str | Sequence[str] | None) -> list[str]:
    hidden = motion.compiled.system.junction_bodies
    known = [name for name in motion.names if name not in hidden]
    if names is None:
        return known
    given = [names] if isinstance(names, str) else list(names)
    for name in given:
        _check.choice("names", name, known)
    if not given:
        raise ValueError("names = [] chooses nothing; name bodies or rods, or leave it out.")
    return [name for name in known if name in given]


def _padded(faces: list[Array]) -> Array:
    """Faces with the same number of corners, (faces, corners, 3): the last one is repeated."""
    corners = max(map(len, faces))
    return np.stack([np.concatenate([f, np.repeat(f[-1:], corners - len(f), axis=0)]) for f in faces])


def _rgba(rgb: Array, alpha: float = 1.0) -> Array:
    return np.column_stack([rgb, np.full(len(rgb), alpha)])


def _normal(face: Array) -> Array:
    """Outward normal of a face by Newell's sum, which no corner that is there twice disturbs."""
    normal = np.cross(face, np.roll(face, -1, axis=0)).sum(axis=0)
    size = np.linalg.norm(normal)
    return np.asarray(normal / size if size > 0.0 else normal)


def _strip(points: Array, half: float) -> Array:
    """Quadrilaterals along a line on the picture, (N, 4, 2); they overlap a little, lest there be gaps at bends."""
    along = np.diff(points, axis=0)
    size = np.linalg.norm(along, axis=1, keepdims=True)
    along = np.divide(along, size, out=np.zeros_like(along), where=size > 0.0)
    side = half * np.stack([-along[:, 1], along[:, 0]], axis=1)
    a, b = points[:-1] - 0.4 * half * along, points[1:] + 0.4 * half * along
    return np.stack([a + side, b + side, b - side, a - side], axis=1)


def _round_number(x: float) -> float:
    """1, 2 or 5 times a power of ten, not above x."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(power * max(f for f in (1.0, 2.0, 5.0) if f * power <= x * (1.0 + 1e-9)))
