"""A report of one motion, or of several side by side: one page without network and scripts, which prints well."""

from __future__ import annotations

import html as entities
import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from gyrod import _check
from gyrod._check import Array
from gyrod._version import __version__
from gyrod._words import suggests
from gyrod.look import svg
from gyrod.look.curves import FINE, Curve
from gyrod.look.faces import faces_of, faces_of_solid, faces_of_surface
from gyrod.look.scene import FPS, resampled
from gyrod.model import Rod, Solid
from gyrod.model.errors import shown, unknown
from gyrod.motion import Motion, Rest
from gyrod.motion.clips import named
from gyrod.motion.distances import Distances, To
from gyrod.motion.errors import EstimateError
from gyrod.motion.readings import quantity

#: Colours of variants, in turn.
COLORS = ("#4477aa", "#ee7733", "#009988", "#cc3311", "#aa3377", "#228833", "#33bbee", "#ddaa33")
#: Variants that a page shows at most, times of a picture, and faces of a body that are drawn at most.
MOST, GHOSTS, FACES = 24, 7, 1500
#: Twists in degrees, forces in N and moments in N m below this are left out.
NOTHING = 1e-6

STYLE = """
:root { color-scheme: light; }
body { font: 14px/1.45 system-ui, sans-serif; color: #1d2733; background: #fff; max-width: 1080px; margin: 0 auto;
  padding: 28px 24px; }
h1 { font-size: 24px; margin: 0 0 2px; } h2 { font-size: 17px; margin: 28px 0 8px; border-bottom: 1px solid #d8dee6; }
h3 { font-size: 14px; margin: 0 0 4px; } p { margin: 4px 0; } .quiet { color: #5d6b7a; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 3px 10px; border-bottom: 1px solid #e6eaef; vertical-align: top; }
th:first-child, td:first-child { text-align: left; } thead th { border-bottom: 2px solid #b9c3ce; }
td small { color: #5d6b7a; display: block; } .bad { color: #b3261e; font-weight: 600; } .good { color: #1b6e3c; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(440px, 1fr)); gap: 14px 20px; }
figure { margin: 0; break-inside: avoid; } svg { width: 100%; height: auto; display: block; }
svg text { font: 11px system-ui, sans-serif; fill: #45525f; } pre { font-size: 12px; overflow-x: auto; }
.key span { display: inline-block; margin-right: 14px; } .key i { display: inline-block; width: 14px; height: 4px;
  vertical-align: middle; margin-right: 5px; }
@media print { body { max-width: none; padding: 0; font-size: 11px; } h2 { break-after: avoid; }
  .grid { grid-template-columns: 1fr 1fr; } }
"""


# --- what is shown ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Variant:
    """One motion, and what the page asks of it."""

    name: str
    color: str
    whole: Motion
    #: As it is drawn, with a time axis.
    motion: Motion

    @cached_property
    def t(self) -> Array:
        """Times of the drawing."""
        return np.atleast_1d(self.motion.t)

    def read(self, text: str) -> Array:
        """A quantity over time, smallest and largest along a rod included, (n, ...)."""
        known = quantity(text, self.motion.compiled.system)
        values = replace(known, everywhere=bool(known.place)).read(self.motion)
        return values if self.motion.t.ndim else values[None]

    def error(self, text: str) -> float | None:
        """Error of an extreme, of a field along a rod where it is reached; None where it is not known."""
        try:
            peak = self.whole.error[text].peak
        except EstimateError:
            return None
        if not text.endswith(".bend_radius"):
            return float(np.max(peak))
        values = np.atleast_2d(quantity(text, self.whole.compiled.system).read(self.whole))
        return float(peak[int(np.argmin(values)) % values.shape[-1]])


@dataclass(frozen=True)
class Series:
    """A number over time, of all variants."""

    title: str
    unit: str
    values: Callable[[Variant], Array]
    #: Which extreme matters: "min" or "max".
    worst: str
    #: Of what the error is taken; none of what has none.
    error: Callable[[Variant], float | None]
    limit: float | None = None
    #: Distances of the variants, of what is one.
    distances: Sequence[Distances] = ()
    #: Whether it may be infinite.
    endless: bool = False

    def extreme(self, variant: Variant) -> tuple[float, float]:
        """The extreme and its time."""
        values = self.values(variant)
        k = int(np.nanargmin(values) if self.worst == "min" else np.nanargmax(values))
        return float(values[k]), float(variant.t[k])

    def passed(self, value: float) -> bool:
        """Whether a value is beyond the limit."""
        return self.limit is not None and (value < self.limit if self.worst == "min" else value > self.limit)


def _twist(variant: Variant, name: str) -> Array:
    """Angle by which the last section is twisted against the first, degrees."""
    rod = variant.whole.compiled.system.rod(name)
    K3 = variant.motion[name].curvature[..., 2].reshape(len(variant.t), -1)
    weights = rod.mesh.point_weights if rod.mesh.degree else rod.mesh.weights
    return np.asarray(np.degrees(rod.length * K3 @ weights))


@suggests
def report(
    motions: Motion | Rest | Iterable[Motion | Rest],
    file: str | os.PathLike[str],
    *,
    rods: str | Sequence[str] | None = None,
    to: To = (),
    names: Sequence[str] | None = None,
    clearance: float | None = None,
    radius: float | None = None,
    title: str | None = None,
) -> Path:
    """Write a page about rods in a motion, or in several side by side; return its path.

    Parameters
    ----------
    motions
        A `Motion` or a `Rest`, or several variants with the same rods.
    file
        Ends in .html.
    rods
        Names of rods, by default all.
    to
        What distances are shown to, a list of what `Motion.distance` takes: solids, and names of bodies, rods and
        contacts in space.
    names
        What the variants are called, by default "run 1", "run 2", ...
    clearance
        Distance that is required, m.
    radius
        Of rods without a section, m, for distances.
    title
        Of the page.
    """
    path = Path(file)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"file = {str(file)!r} must end in .html.")
    variants = _variants(motions, names)
    system = variants[0].whole.compiled.system
    chosen = [rods] if isinstance(rods, str) else list(rods if rods is not None else system.rod_names)
    for variant in variants:
        known = variant.whole.compiled.system.rod_names
        for name in chosen:
            if name not in known:
                raise ValueError(unknown("rods", name, known, "rods"))
    if not chosen:
        raise ValueError("the system has no rods, and a report is about rods; write motion.html for a page of bodies.")
    near = [to] if isinstance(to, (str, Solid)) else list(to)
    required = None if clearance is None else _check.positive("clearance", clearance)
    told = title or f"{', '.join(chosen[:3])}{' and more' if len(chosen) > 3 else ''}"
    parts = [_head(told, variants)]
    for name in chosen:
        parts += _of_rod(name, variants, near, required, radius, alone=len(chosen) == 1)
    parts.append(_notes(variants))
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    page = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{_text(told)}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<style>{STYLE}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )
    try:
        path.write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        raise OSError(f"{path}: the report cannot be written ({error.strerror or error}).") from error
    return path


def _variants(motions: Motion | Rest | Iterable[Motion | Rest], names: Sequence[str] | None) -> list[Variant]:
    several = [motions] if isinstance(motions, (Motion, Rest)) else list(motions)
    if not several or not all(isinstance(x, (Motion, Rest)) for x in several):
        raise ValueError(f"motions must be a Motion, a Rest or several of them, got {shown(motions)}.")
    if len(several) > MOST:
        raise ValueError(f"{len(several)} variants are more than a page shows side by side; give at most {MOST}.")
    called = [f"run {k + 1}" for k in range(len(several))] if names is None else [str(x) for x in names]
    if len(called) != len(several):
        raise ValueError(f"names has {len(called)} entries, but there are {len(several)} variants.")
    found = []
    for k, (one, name) in enumerate(zip(several, called, strict=True)):
        motion = one.motion if isinstance(one, Rest) else one
        if not np.size(motion.t):
            raise ValueError(f"{name}: the motion has no rows.")
        found.append(Variant(name, COLORS[k % len(COLORS)], motion, resampled(motion, FPS)))
    return found


# --- parts of the page -----------------------------------------------------------------------------------------------


def _text(value: object) -> str:
    return entities.escape(str(value))


def _head(title: str, variants: Sequence[Variant]) -> str:
    one = variants[0].whole
    span = "at rest" if one.compiled.at_rest else f"{float(np.min(one.t)):g} to {float(np.max(one.t)):g} s"
    key = ""
    if len(variants) > 1:
        items = (f'<span><i style="background:{v.color}"></i>{_text(v.name)}</span>' for v in variants)
        key = f'<p class="key">{"".join(items)}</p>'
    return f'<h1>{_text(title)}</h1><p class="quiet">{span}; gyrod {__version__}</p>{key}'


def _of_rod(
    name: str,
    variants: Sequence[Variant],
    near: list[str | Solid],
    required: float | None,
    radius: float | None,
    alone: bool,
) -> list[str]:
    rod = variants[0].whole.compiled.system.rod(name)
    others = [x for x in near if not (isinstance(x, str) and x == name)]
    found = [[v.whole.distance(name, x, radius=radius) for v in variants] for x in others]
    curves = [*_curves(rod, variants), *(_distance(variants, x, required) for x in found)]
    pictures = (
        _figure(v.name if len(variants) > 1 else "", _picture(v, name, [x[k] for x in found], others))
        for k, v in enumerate(variants)
    )
    charts = (_figure(f"{c.title}, {_scaled(c, variants)[1]}", _chart(c, variants)) for c in curves)
    return [
        "" if alone else f"<h2>{_text(name)}</h2>",
        _table(curves, variants),
        f'<h2>Shape</h2><div class="grid">{"".join(pictures)}</div>',
        f'<h2>Over time</h2><div class="grid">{"".join(charts)}</div>' if any(len(v.t) > 1 for v in variants) else "",
        *(f'<p class="bad">{_text(x)}</p>' for x in dict.fromkeys(x for each in found for d in each for x in d.notes)),
    ]


def _curves(rod: Rod, variants: Sequence[Variant]) -> list[Series]:
    name, limits = rod.name, dict(rod.limits or {})

    def least(v: Variant) -> Array:
        return np.asarray(v.read(f"{name}.bend_radius").reshape(len(v.t), -1).min(axis=1))

    def most(text: str) -> Callable[[Variant], Array]:
        return lambda v: np.asarray(np.abs(v.read(text)).reshape(len(v.t), -1).max(axis=1))

    def error(text: str) -> Callable[[Variant], float | None]:
        return lambda v: v.error(text)

    made = [
        Series("Twist from end to end", "°", lambda v: np.abs(_twist(v, name)), "max", lambda _: None),
        *(
            Series(f"{what.capitalize()} at the {e}", unit, most(f"norm {text}"), "max", error(text))
            for e, what, unit, text in _held(name)
        ),
        *(_of_clip(clip) for clip in named(variants[0].whole.compiled.system) if clip in _on(name, variants)),
    ]
    bend = Series("Smallest bend radius", "m", least, "min", error(f"{name}.bend_radius"), limits.get("bend_radius"))
    first = [replace(bend, endless=True)]
    if rod.section is not None:
        text = f"{name}.stress"
        first.append(Series("Largest stress", "Pa", most(text), "max", error(text), limits.get("stress")))
    return [*first, *(curve for curve in made if any(np.max(curve.values(v)) > NOTHING for v in variants))]


def _on(rod: str, variants: Sequence[Variant]) -> set[str]:
    """Clips that hold a rod in all variants."""
    each = [{n for n, clip in named(v.whole.compiled.system).items() if clip.rod == rod} for v in variants]
    return set.intersection(*each)


def _of_clip(name: str) -> Series:
    """Force of a clip, whose error is not known."""
    what = f"clip {name!r}" if not name.isdigit() else f"clip {name}"
    return Series(
        f"Force of {what}", "N",
        lambda v: np.asarray(np.linalg.norm(v.motion.clips[name].force.reshape(-1, 3), axis=1)), "max", lambda _: None,
    )  # fmt: skip


def _held(name: str) -> list[tuple[str, str, str, str]]:
    pairs = [(e, what) for e in ("start", "end") for what in ("force", "moment")]
    return [(e, what, "N" if what == "force" else "N m", f"{name}.{e}_{what}") for e, what in pairs]


def _distance(variants: Sequence[Variant], found: Sequence[Distances], required: float | None) -> Series:
    """The distance to one thing, of all variants."""
    number = {id(v): k for k, v in enumerate(variants)}

    def values(v: Variant) -> Array:
        whole = np.atleast_1d(found[number[id(v)]].distance)
        return np.interp(v.t, np.atleast_1d(v.whole.t), whole) if v.motion.t.ndim else whole

    def error(v: Variant) -> float | None:
        value = found[number[id(v)]].error
        return value if math.isfinite(value) else None

    return Series(f"Distance to {found[0].to}", "m", values, "min", error, required, found)


def _scaled(curve: Series, variants: Sequence[Variant]) -> tuple[float, str]:
    """Factor and unit in which numbers of a curve are read."""
    sizes = [abs(curve.extreme(v)[0]) for v in variants] + ([] if curve.limit is None else [curve.limit])
    largest = max((x for x in sizes if math.isfinite(x)), default=1.0)
    if curve.unit == "Pa":
        return (1e-6, "MPa") if largest >= 1e5 else (1.0, "Pa")
    if curve.unit == "m" and 0.0 < largest < 1.0:
        return 1e3, "mm"
    return 1.0, curve.unit


def _table(curves: Sequence[Series], variants: Sequence[Variant]) -> str:
    several = len(variants) > 1
    head = "".join(f"<th>{_text(v.name) if several else 'extreme'}</th>" for v in variants)
    rows = []
    for curve in curves:
        factor, unit = _scaled(curve, variants)
        cells = []
        for k, variant in enumerate(variants):
            value, t = curve.extreme(variant)
            if curve.distances:  # between the rows too
                value, t = curve.distances[k].smallest.distance, curve.distances[k].smallest.t
            error = curve.error(variant)
            about = "" if error is None else f" ± {_digits(factor * error, 2)}"
            when = "" if variant.whole.compiled.at_rest else f"at {t:.4g} s"
            mark = "" if curve.limit is None else (" class=bad" if curve.passed(value) else " class=good")
            cells.append(f"<td><span{mark}>{_digits(factor * value)}</span>{about}<small>{when}</small></td>")
        limit = "" if curve.limit is None else ("≥ " if curve.worst == "min" else "≤ ") + _digits(factor * curve.limit)
        rows.append(f"<tr><td>{_text(curve.title)}, {unit}</td><td>{limit}</td>{''.join(cells)}</tr>")
    top = f"<thead><tr><th></th><th>limit</th>{head}</tr></thead>"
    return f"<h2>Summary</h2><table>{top}<tbody>{''.join(rows)}</tbody></table>"


def _digits(value: float, count: int = 4) -> str:
    if not math.isfinite(value):
        return "∞" if value > 0 else "-"
    return f"{value:.{count}g}" if abs(value) < 10**count else f"{value:.0f}"


def _figure(title: str, svg: str) -> str:
    return f"<figure>{f'<h3>{_text(title)}</h3>' if title else ''}{svg}</figure>"


def _notes(variants: Sequence[Variant]) -> str:
    found = ["<h2>Errors, limits and notes</h2>"]
    for v in variants:
        motion = v.whole
        error = motion.error
        told = f"errors are not known: {error.failure}" if error.failure else str(error)
        stats = f"{motion.stats.formulation}, {motion.stats.method or 'no method'}, {motion.status}"
        events = [f"t = {e.t:.6g} s: {e.name}" for e in motion.events if e.name]
        name = f"<h3>{_text(v.name)}</h3>" if len(variants) > 1 else ""
        found.append(f"{name}<p>{_text(stats)}</p><pre>{_text(told)}</pre>")
        found += [f'<p class="bad">{_text(x)}</p>' for x in events] + [f"<p>{_text(x)}</p>" for x in motion.notes]
    return "".join(found)


# --- drawings --------------------------------------------------------------------------------------------------------


def _chart(curve: Series, variants: Sequence[Variant]) -> str:
    """Lines over time, the limit dashed."""
    factor, _ = _scaled(curve, variants)
    lines = [(v.color, v.t, factor * curve.values(v)) for v in variants]
    limit = None if curve.limit is None else factor * curve.limit
    if curve.endless:  # straight rods have an endless bend radius: what matters is near the least
        top = max(4.0 * max(float(np.min(y)) for _, _, y in lines), 2.0 * (limit or 0.0))
        lines = [(color, t, np.where(y > top, np.nan, y)) for color, t, y in lines]
    return svg.chart(lines, limit) or "<p class=quiet>straight all the time</p>"


def _picture(variant: Variant, name: str, distances: Sequence[Distances], near: list[str | Solid]) -> str:
    """The rod at the time that matters most, at some others faintly, and what is near it."""
    rod, t = variant.whole.compiled.system.rod(name), variant.t
    close = min((d.smallest for d in distances), key=lambda a: a.distance, default=None)
    if close is None:
        when = int(np.argmin(variant.read(f"{name}.bend_radius").reshape(len(t), -1).min(axis=1)))
    else:
        when = int(np.argmin(np.abs(t - close.t)))
    x = Curve(rod, FINE).vertices(variant.motion[name].positions).reshape(len(t), -1, 3)
    faces = _solids(variant, when, near, name)
    radius = 0.002 * rod.length if rod.section is None else float(np.mean(rod.section.half_sizes([0.5])))
    small = [face for face, _ in faces if np.ptp(face) < 4.0 * rod.length]
    sight = svg.Sight.of(np.concatenate([x.reshape(-1, 3), *small]), 2.0 * radius)
    parts = []
    for face, color in sorted(faces, key=lambda f: sight.depth(f[0])):
        corners = " ".join(f"{u:.1f},{v:.1f}" for u, v in sight.on(face).tolist())
        parts.append(
            svg.tag("polygon", points=corners, fill=color, fill_opacity=".35", stroke=color, stroke_width=".5")
        )
    wide = max(2.0 * radius * sight.scale, 1.5)
    for i in np.unique(np.linspace(0, len(t) - 1, GHOSTS).astype(int)).tolist():
        d = svg.line(sight.on(x[i]))
        thin = min(wide, 3.0)
        parts.append(svg.tag("path", d=d, fill="none", stroke=svg.GREY, stroke_opacity=".3", stroke_width=thin))
    d = svg.line(sight.on(x[when]))
    ends = {"stroke_linecap": "round", "stroke_linejoin": "round"}
    parts.append(svg.tag("path", d=d, fill="none", stroke=variant.color, stroke_width=wide, **ends))
    if close is not None:
        pair = sight.on(np.stack([close.point, close.other]))
        parts.append(svg.tag("path", d=svg.line(pair), stroke=svg.RED, stroke_width=1.6))
        parts += [svg.tag("circle", cx=u, cy=v, r=3, fill=svg.RED) for u, v in pair.tolist()]
    if not variant.whole.compiled.at_rest:
        parts.append(svg.text(f"t = {t[when]:.4g} s", 6.0, 14.0))
    return svg.drawing(parts, svg.WIDTH, sight.height)


def _solids(variant: Variant, when: int, near: list[str | Solid], name: str) -> list[tuple[Array, str]]:
    """Faces in space, with their colours, of bodies, of solids that distances were asked to, and of other rods."""
    motion, system = variant.motion, variant.whole.compiled.system
    found: list[tuple[Array, str]] = []
    for body in system.bodies:
        if body.shapes and body.name not in system.junction_bodies:
            track = motion[body.name]
            x, R = track.position.reshape(-1, 3)[when], track.matrix.reshape(-1, 3, 3)[when]
            faces = faces_of(body, 0.0)
            found += [(x + f @ R.T, body.color or "#7a8794") for f in faces[:: max(1, len(faces) // FACES)]]
    for solid in (x for x in near if isinstance(x, Solid)):
        faces = faces_of_solid(solid)
        found += [(f, "#7a8794") for f in faces[:: max(1, len(faces) // FACES)]]
    length = system.rod(name).length
    middle = motion[name].positions.reshape(-1, 3).mean(axis=0)
    for contact in system.all_contacts:
        if contact.name in near and not isinstance(contact.b, tuple):
            found += [(f, "#7a8794") for f in faces_of_surface(contact.b, middle, 1.2 * length)]
    for other in (x for x in near if isinstance(x, str) and x in system.rod_names and x != name):
        line = Curve(system.rod(other), FINE).vertices(motion[other].positions).reshape(len(variant.t), -1, 3)[when]
        found += [(line[i : i + 2], "#45525f") for i in range(len(line) - 1)]
    return found
