"""Small drawings as SVG: a chart of lines over time, and how points in space are seen."""

from __future__ import annotations

import html as entities
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gyrod._check import Array

#: Size of a chart and its margins: left, right, top, bottom.
WIDTH, HEIGHT = 460.0, 220.0
MARGINS = (54.0, 10.0, 8.0, 30.0)
GREY, PALE, RED = "#8b97a3", "#e6eaef", "#b3261e"


def tag(name: str, inner: str = "", **attributes: object) -> str:
    """An element; underscores of attributes stand for hyphens."""
    given = "".join(f' {key.replace("_", "-")}="{_told(value)}"' for key, value in attributes.items())
    return f"<{name}{given}>{inner}</{name}>" if inner else f"<{name}{given}/>"


def _told(value: object) -> str:
    return f"{value:.1f}" if isinstance(value, float) else entities.escape(str(value))


def text(value: str, x: float, y: float, anchor: str = "start") -> str:
    """A word."""
    return tag("text", entities.escape(value), x=x, y=y, text_anchor=anchor)


def line(points: Array) -> str:
    """The path through points (n, 2), interrupted where one is not finite."""
    found, pen = [], "M"
    for u, v in points.tolist():
        if math.isfinite(v):
            found.append(f"{pen}{u:.1f} {v:.1f}")
            pen = "L"
        else:
            pen = "M"
    return "".join(found)


def drawing(parts: Sequence[str], width: float = WIDTH, height: float = HEIGHT) -> str:
    """The whole of it."""
    return tag("svg", "".join(parts), viewBox=f"0 0 {width:.0f} {height:.0f}", role="img")


def ticks(low: float, high: float, count: int = 5) -> Array:
    """Round numbers between two, at most so many steps."""
    span = high - low
    step = 10.0 ** math.floor(math.log10(span / count))
    step *= next(k for k in (1.0, 2.0, 5.0, 10.0) if span / (k * step) <= count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return np.asarray(step * np.arange(first, last + 1, dtype=float))


@dataclass(frozen=True)
class Axes:
    """Where numbers are in a chart."""

    t: tuple[float, float]
    y: tuple[float, float]

    def x_at(self, t: Array | float) -> Array:
        """To the right."""
        left, right = MARGINS[:2]
        return np.asarray(left + (np.asarray(t) - self.t[0]) / (self.t[1] - self.t[0]) * (WIDTH - left - right))

    def y_at(self, y: Array | float) -> Array:
        """Downwards."""
        top, bottom = MARGINS[2:]
        return np.asarray(
            HEIGHT - bottom - (np.asarray(y) - self.y[0]) / (self.y[1] - self.y[0]) * (HEIGHT - top - bottom)
        )

    def drawn(self) -> list[str]:
        """Lines and numbers."""
        left, right, _, bottom = MARGINS
        floor, parts = HEIGHT - bottom, []
        for y in ticks(*self.y).tolist():
            v = float(self.y_at(y))
            parts += [tag("path", d=f"M{left} {v:.1f}H{WIDTH - right}", stroke=PALE)]
            parts += [text(f"{y:.6g}", left - 6.0, v + 4.0, "end")]
        for t in ticks(*self.t, 6).tolist():
            u = float(self.x_at(t))
            parts += [tag("path", d=f"M{u:.1f} {floor}v4", stroke=GREY), text(f"{t:.6g}", u, floor + 16.0, "middle")]
        parts += [tag("path", d=f"M{left} {floor}H{WIDTH - right}", stroke=GREY)]
        return [*parts, text("t, s", WIDTH - right, HEIGHT - 2.0, "end")]


def chart(lines: Sequence[tuple[str, Array, Array]], limit: float | None = None) -> str:
    """Lines over time, (colour, t, y) each; a limit is dashed. Nothing where no number is finite."""
    finite = [y[np.isfinite(y)] for _, _, y in lines]
    numbers = np.concatenate([*finite, [] if limit is None else [limit]])
    if not len(numbers):
        return ""
    low, high = float(numbers.min()), float(numbers.max())
    if 0.0 < low < 0.6 * high:
        low = 0.0
    pad = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    first, last = min(float(t[0]) for _, t, _ in lines), max(float(t[-1]) for _, t, _ in lines)
    axes = Axes((first, last if last > first else first + 1.0), (low if low == 0.0 else low - pad, high + pad))
    parts = axes.drawn()
    if limit is not None:
        v = float(axes.y_at(limit))
        d = f"M{MARGINS[0]} {v:.1f}H{WIDTH - MARGINS[1]}"
        parts.append(tag("path", d=d, stroke=RED, stroke_dasharray="6 4", stroke_width=1.4))
    for color, t, y in lines:
        points = np.stack([axes.x_at(t), axes.y_at(y)], axis=-1)
        if len(t) == 1 and np.isfinite(y[0]):
            parts.append(tag("circle", cx=0.5 * WIDTH, cy=float(points[0, 1]), r=4, fill=color))
        elif len(t) > 1:
            parts.append(tag("path", d=line(points), fill="none", stroke=color, stroke_width=1.6))
    return drawing(parts)


@dataclass(frozen=True)
class Sight:
    """How space is seen: from an azimuth and an elevation, without perspective, so that points fit into a width."""

    #: Rows: to the right and downwards; the direction of the eye.
    view: Array
    eye: Array
    low: Array
    scale: float
    height: float

    @classmethod
    def of(cls, points: Array, margin: float, azimuth: float = -60.0, elevation: float = 20.0) -> Sight:
        """Of points (n, 3) with a margin in m."""
        a, e = math.radians(azimuth), math.radians(elevation)
        right = np.array([-math.sin(a), math.cos(a), 0.0])
        eye = np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
        view = np.stack([right, -np.cross(eye, right)])
        seen = points @ view.T
        low, high = seen.min(axis=0) - margin, seen.max(axis=0) + margin
        scale = (WIDTH - 20.0) / max(float(high[0] - low[0]), 1.6 * float(high[1] - low[1]), 1e-9)
        middle = np.array([0.5 * (WIDTH / scale - (high[0] - low[0])), 10.0 / scale])
        return cls(view, eye, low - middle, scale, float(scale * (high[1] - low[1])) + 20.0)

    def on(self, points: Array) -> Array:
        """Points (..., 3) on the page, (..., 2)."""
        return np.asarray((points @ self.view.T - self.low) * self.scale)

    def depth(self, points: Array) -> float:
        """How near points are to the eye, on average."""
        return float(np.mean(points @ self.eye))
