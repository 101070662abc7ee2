"""Quantities over time: energies, bodies, joints, sensors, drift, steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gyrod import rotations
from gyrod._check import Array
from gyrod.look.plots.style import (
    COLOURS,
    Picture,
    Unit,
    cycle,
    hide_rounding,
    legend,
    plain_log,
    thinned,
    thinned_path,
    unit,
)

if TYPE_CHECKING:
    from gyrod.motion import BodyTrack

XYZ = ("x", "y", "z")
#: Times at which joint forces of redundant mechanisms are computed for a picture.
FEW = 400
#: Sensors whose largest values differ by more than this factor have axes of their own.
APART = 50.0


# --- the whole system -------------------------------------------------------------------------------------------------


def energy(p: Picture) -> None:
    """Kinetic, potential and total energy, with rods also the elastic parts; how the total changes."""
    left, right = (p.figure.subplots(), None) if p.single else p.figure.subplots(1, 2, width_ratios=(3, 2))
    e, fine = p.smooth.motion.energy, p.smooth
    parts = {"total": e.total, "kinetic": e.kinetic, "potential": e.potential}
    if p.system.rods:
        parts |= {"extension, shear": e.extension_shear, "bending, torsion": e.bending_torsion}
    scale = unit("J", *parts.values())
    colours = (COLOURS[-1], *COLOURS[:4])
    for (label, values), colour in zip(parts.items(), colours, strict=False):
        fine.line(left, scale.factor * fine.rows(values), label=label, color=colour)
    left.set_ylabel(scale.label("energy"))
    legend(left)
    if right is None:
        return
    total = p.rows(p.motion.energy.total)  # at the times of the motion: between them the error is the interpolation's
    change = total - total[0]
    scale = unit("J", change)
    p.line(right, scale.factor * change, color=COLOURS[-1])
    right.set_ylabel(scale.label("change of the total"))
    p.time_axis(left, right)


def balance(p: Picture) -> None:
    """Where the energy of the rods goes: its change, what damping took, what loads did, and what is left over."""
    p.choose("rods", p.system.rod_names)
    e = p.motion.energy
    residual = p.rows(e.balance)
    taken, work = p.rows(e.dissipated), p.rows(e.work)
    change = residual - taken + work
    left, right = p.figure.subplots(1, 2, width_ratios=(3, 2))
    scale = unit("J", change, taken, work)
    parts = (("change of the rods", change), ("dissipated", taken), ("work on the rods", work))
    for k, (label, values) in enumerate(parts):
        p.line(left, scale.factor * values, label=label, **cycle(k))
    left.set_ylabel(scale.label("energy"))
    legend(left)
    scale = unit("J", residual)
    p.line(right, scale.factor * residual, color=COLOURS[-1], label="balance")
    right.set_ylabel(scale.label("change + dissipated - work"))
    p.time_axis(left, right)


def momentum(p: Picture) -> None:
    """Linear and angular momentum about the origin."""
    p = p.smooth
    axes = p.figure.subplots(1, 2)
    quantities = (
        ("momentum", "kg m/s", p.motion.momentum),
        ("angular momentum", "kg m²/s", p.motion.angular_momentum),
    )
    for ax, (label, si, values) in zip(axes, quantities, strict=True):
        for k, name in enumerate(XYZ):
            p.line(ax, p.rows(values)[:, k], label=name, **cycle(k))
        ax.set_ylabel(f"{label} [{si}]")
    legend(axes[0])
    p.time_axis(*axes)


def drift(p: Picture) -> None:
    """Constraint residuals of the coordinates as integrated, on a logarithmic axis."""
    ax = p.figure.subplots()
    units = {"position": "m or 1", "velocity": "the same per s"}
    shown = False
    for k, label in enumerate(units):
        values = p.rows(getattr(p.motion.drift, label))
        if values.max() > 0.0:
            p.line(ax, np.maximum(values, 1e-17), label=f"{label} [{units[label]}]", **cycle(k))
            shown = True
    ax.set_ylabel("constraint residual [SI]")
    if shown:
        ax.set_yscale("log")
        legend(ax)
    else:
        ax.text(0.5, 0.5, "zero: these unknowns cannot drift", ha="center", va="center", transform=ax.transAxes)
        ax.set_ylim(0.0, 1e-15)
    p.time_axis(ax)


def steps(p: Picture) -> None:
    """Sizes of the accepted steps over time, on a logarithmic axis."""
    ends = np.asarray(p.motion.steps)
    if len(ends) < 2:
        raise ValueError("what = 'steps' is for motions that keep their steps, and this one has none.")
    ax = p.figure.subplots()
    sizes = np.abs(np.diff(ends))
    scale = unit("s", np.median(sizes))
    keep = thinned(ends[1:], sizes)
    x, y = p.clock.factor * ends[1:][keep], scale.factor * sizes[keep]
    ax.plot(np.append(p.clock.factor * ends[0], x), np.append(y[0], y), drawstyle="steps-pre", color=COLOURS[0], lw=0.9)
    ax.set_yscale("log")
    plain_log(ax.yaxis)
    ax.set(
        xlabel=p.time_label,
        ylabel=scale.label("step"),
        xlim=(x.min() if p.along else p.clock.factor * ends[0], x.max()),
    )
    rejected = p.motion.stats.rejected
    p.note(f"{len(sizes)} accepted steps" + (f", {rejected} rejected" if rejected else ""))


# --- bodies -----------------------------------------------------------------------------------------------------------


def _components(
    p: Picture, things: Sequence[tuple[str, Array]], parts: Sequence[str], label: str, scale: Unit, apart: bool = False
) -> None:
    """Lines of one thing by component, or panels of one component each by thing."""
    if len(things) == 1 and not apart:
        ax = p.figure.subplots()
        name, values = things[0]
        for k, part in enumerate(parts):
            p.line(ax, scale.factor * values[:, k], label=part, **cycle(k))
        ax.set_ylabel(scale.label(f"{label} of {name}"))
        legend(ax)
        hide_rounding(ax, float(np.abs(values).max()) * scale.factor)
        p.time_axis(ax)
        return
    p.size(7.2, 1.3 + 1.3 * len(parts))
    axes = p.figure.subplots(len(parts), 1, sharex=True)
    for i, (name, values) in enumerate(things):
        for k, ax in enumerate(axes):
            p.line(ax, scale.factor * values[:, k], label=name, **cycle(i))
    largest = max(float(np.abs(values).max()) for _, values in things)
    for part, ax in zip(parts, axes, strict=True):
        ax.set_ylabel(scale.label(part))
        hide_rounding(ax, scale.factor * largest)
    legend(axes[0], right=len(things) > 4)
    axes[0].set_title(label, loc="right", color="0.3")
    p.time_axis(*axes)
    for ax in axes[:-1]:
        ax.set_xlabel("")


def _of_bodies(
    label: str, si: str, parts: Sequence[str], values: Callable[[BodyTrack], Array]
) -> Callable[[Picture], None]:
    def draw(p: Picture) -> None:
        p = p.smooth
        things = [(name, p.rows(values(p.motion[name]))) for name in p.choose("bodies", p.bodies)]
        # An angle that counts turns would flatten the others.
        _components(p, things, parts, label, unit(si, *(v for _, v in things)), apart=si == "rad")

    return draw


def moving_ends(p: Picture, name: str) -> list[int]:
    """Those ends of a rod that move, 0 and -1; the last one where none does."""
    x = p.rows(p.motion[name].positions)
    size = float(np.ptp(x, axis=(0, 1)).max())
    return [k for k in (0, -1) if np.ptp(x[:, k], axis=0).max() > 1e-9 * size] or [-1]


def points(p: Picture, body: str, rod: str) -> list[tuple[str, Array]]:
    """A quantity of centres of mass and of those ends of rods that move."""
    found = []
    for name in p.choose("bodies and rods", [*p.bodies, *p.system.rod_names]):
        track = p.motion[name]
        if name in p.system.rod_names:
            values = p.rows(getattr(track, rod))
            found += [(f"{name} {'end' if k else 'start'}", values[:, k]) for k in moving_ends(p, name)]
        else:
            found.append((name, p.rows(getattr(track, body))))
    return found


def position(p: Picture) -> None:
    """Positions of centres of mass and of ends of rods."""
    things = points(p.smooth, "position", "positions")
    _components(p.smooth, things, XYZ, "position", unit("m", *(v for _, v in things)))


def velocity(p: Picture) -> None:
    """Velocities of centres of mass and of ends of rods."""
    things = points(p.smooth, "velocity", "velocities")
    _components(p.smooth, things, XYZ, "velocity", unit("m/s", *(v for _, v in things)))


def orientation(p: Picture) -> None:
    """Three angles about axes that are chosen such that no body comes near gimbal lock, if that can be."""
    p = p.smooth
    bodies = {name: p.rows(p.motion[name].quaternion) for name in p.choose("bodies", p.bodies)}
    sequence = best_sequence(np.concatenate(list(bodies.values())))
    things = [(name, np.unwrap(rotations.euler_from_quaternion(q, sequence), axis=0)) for name, q in bodies.items()]
    parts = ["xyz"[int(axis) - 1] + prime for axis, prime in zip(sequence, ("", "'", "''"), strict=True)]
    label = f"angles about {', '.join(parts)}"
    _components(p, things, parts, label, unit("rad", *(v for _, v in things)), apart=True)


def best_sequence(quaternions: Array) -> str:
    """3-2-1 (yaw, pitch, roll) if that stays 15 degrees off gimbal lock, else the sequence that stays farthest."""

    def margin(sequence: str) -> float:
        middle = rotations.euler_from_quaternion(quaternions, sequence)[..., 1]
        return float(np.abs(np.sin(middle) if sequence[0] == sequence[2] else np.cos(middle)).min())

    if margin("321") > np.sin(np.deg2rad(15.0)):
        return "321"
    return max(rotations.SEQUENCES, key=margin)


quaternion = _of_bodies("quaternion", "1", ("w", "x", "y", "z"), lambda b: b.quaternion)
euler = _of_bodies(
    "Euler angles 3-1-3",
    "rad",
    ("φ", "θ", "ψ"),
    lambda b: np.unwrap(np.atleast_2d(b.euler), axis=0).reshape(b.euler.shape),
)
Omega = _of_bodies("angular velocity", "rad/s", ("Ω1", "Ω2", "Ω3"), lambda b: b.Omega)
omega = _of_bodies("angular velocity", "rad/s", ("ωx", "ωy", "ωz"), lambda b: b.omega)


# --- joints and sensors -----------------------------------------------------------------------------------------------


def _joint_labels(p: Picture) -> dict[str, int]:
    """Numbers of the chosen joints by label."""
    known = {j.name or j.label: i for i, j in enumerate(p.system.joints)}
    if not known:
        raise ValueError(f"what = {p.what!r} is for joints, and the system has none.")
    return {label: known[label] for label in p.choose("joints", list(known))}


def _coordinates(p: Picture) -> list[tuple[str, str, list[tuple[str, Array, Array]]]]:
    """Angles and displacements of the chosen joints: name, unit, and label, values, rates of each."""
    angles: list[tuple[str, Array, Array]] = []
    displacements: list[tuple[str, Array, Array]] = []
    chosen = _joint_labels(p)
    for label, i in chosen.items():
        track = p.motion.joint_motions[i]
        q, rates = p.rows(track.coordinates), p.rows(track.rates)
        for k, name in enumerate(track.names):
            text = label if len(track.names) == 1 else f"{label}: {name}"
            (angles if name.startswith("angle") else displacements).append((text, q[:, k], rates[:, k]))
    if not (angles or displacements):
        raise ValueError(
            f"what = {p.what!r} is for joints with coordinates, and {', '.join(map(repr, chosen))} "
            f"{'has' if len(chosen) == 1 else 'have'} none; 'joint forces' draws what joints carry."
        )
    groups = [("angle", "rad", angles), ("displacement", "m", displacements)]
    return [group for group in groups if group[2]]


def joints(p: Picture) -> None:
    """Coordinates of joints: angles, and displacements beside them."""
    p = p.smooth
    groups = _coordinates(p)
    axes = np.atleast_1d(p.figure.subplots(1, len(groups)))
    for ax, (name, si, lines) in zip(axes, groups, strict=True):
        scale = unit(si, *(q for _, q, _ in lines))
        for k, (label, q, _) in enumerate(lines):
            p.line(ax, scale.factor * q, label=label, **cycle(k))
        ax.set_ylabel(scale.label(name))
        legend(ax)
    p.time_axis(*axes)


def phase(p: Picture) -> None:
    """Rates of joint coordinates against the coordinates; a dot marks the start."""
    p = p.smooth
    groups = _coordinates(p)
    axes = np.atleast_1d(p.figure.subplots(1, len(groups)))
    for ax, (name, si, lines) in zip(axes, groups, strict=True):
        scale = unit(si, *(q for _, q, _ in lines))
        speed = Unit(scale.factor, scale.name + "/s")
        for k, (label, q, rate) in enumerate(lines):
            curve = thinned_path(np.stack([scale.factor * q, scale.factor * rate], axis=1))
            ax.plot(*curve.T, label=label, **cycle(k))
            ax.plot(*curve[0], "o", color=cycle(k)["color"])
        ax.set(xlabel=scale.label(name), ylabel=speed.label("rate"))
        legend(ax)


def sizes_or_components(p: Picture, things: Sequence[tuple[str, Array, Array]]) -> None:
    """Forces and moments side by side: by component for one thing, by size for several; zeros are left out."""
    kinds = (("force", "N", 0), ("moment", "N m", 1))
    largest = [max(float(np.abs(thing[k]).max()) for thing in things) for k in (1, 2)]
    shown = [kind for kind, size in zip(kinds, largest, strict=True) if size > 1e-12 * max(largest)] or [kinds[0]]
    axes = np.atleast_1d(p.figure.subplots(1, len(shown)))
    for ax, (kind, si, k) in zip(axes, shown, strict=True):
        values = [(thing[1], thing[2])[k] for thing in things]
        scale = unit(si, *values)
        if len(things) == 1:
            for i, name in enumerate(XYZ):
                p.line(ax, scale.factor * values[0][:, i], label=name, **cycle(i))
            ax.set_ylabel(scale.label(kind))
            p.note(things[0][0])
        else:
            for i, (thing, v) in enumerate(zip(things, values, strict=True)):
                p.line(ax, scale.factor * np.linalg.norm(v, axis=-1), label=thing[0], **cycle(i))
            ax.set_ylabel(scale.label(f"size of the {kind}"))
    legend(axes[-1], right=len(things) > 4)
    p.time_axis(*axes)


def _carried(p: Picture) -> Picture:
    """The picture at times at which what joints carry is worth its cost."""
    p = p.smooth
    mobility = p.motion.compiled.mobility
    if mobility is not None and mobility.redundant and len(p.t) > FEW and "joints" not in vars(p.motion):
        # Forces of least norm cost a decomposition for each row.
        some = p.motion.at_rows(np.linspace(0, len(p.t) - 1, FEW).round().astype(int))
        return replace(p, motion=some)
    return p


def effort(p: Picture) -> None:
    """What drives of joints give: torques, and forces beside them."""
    chosen = {label: i for label, i in _joint_labels(p).items() if p.system.joints[i].driven}
    if not chosen:
        raise ValueError(
            "what = 'effort' is for joints that are led, and none of these is; give drive = ... to one, or draw "
            "'joint forces'."
        )
    p = _carried(p)
    found: dict[str, list[tuple[str, Array]]] = {}
    for label, i in chosen.items():
        found.setdefault(p.system.joints[i].effort_units[0], []).append((label, p.rows(p.motion.joints[i].effort)))
    axes = np.atleast_1d(p.figure.subplots(1, len(found)))
    for ax, (si, lines) in zip(axes, found.items(), strict=True):
        scale = unit(si, *(values for _, values in lines))
        for k, (label, values) in enumerate(lines):
            p.line(ax, scale.factor * values, label=label, **cycle(k))
        ax.set_ylabel(scale.label("effort"))
        legend(ax)
    p.time_axis(*axes)


def joint_forces(p: Picture) -> None:
    """Forces and torques that joints carry: components of one joint, sizes of several."""
    chosen, p = _joint_labels(p), _carried(p)
    tracks = p.motion.joints
    things = [(label, p.rows(tracks[i].force), p.rows(tracks[i].torque)) for label, i in chosen.items()]
    sizes_or_components(p, things)


Panel = tuple[str, str, list[tuple[str, Array]]]


def _sensor_panels(name: str, values: Array, si: str, coordinates: Sequence[str]) -> list[Panel]:
    """What a sensor reads: name, unit and lines; of coordinates with different units one panel each."""
    columns, units = values.reshape(len(values), -1).T, si.split(", ")
    if len(set(units)) > 1:
        labels = [f"{name} {coordinate}" for coordinate in coordinates]
        return [(x, u, [(x, column)]) for x, u, column in zip(labels, units, columns, strict=True)]
    marks = XYZ if len(columns) == 3 else [str(i + 1) for i in range(len(columns))]
    labels = [name] if len(columns) == 1 else [f"{name} {mark}" for mark in marks]
    return [(name, units[0], list(zip(labels, columns, strict=True)))]


def _scales(panels: Sequence[Panel]) -> list[tuple[str, list[Panel]]]:
    """Panels with one unit and about one size together: the small one beside a large one would be a flat line."""
    groups: list[tuple[str, float, list[Panel]]] = []
    place = {id(panel): i for i, panel in enumerate(panels)}
    for panel in sorted(panels, key=lambda x: -_largest(x)):
        size = _largest(panel)
        near = next((g for g in groups if g[0] == panel[1] and g[1] <= APART * (size or g[1])), None)
        if near is None:
            groups.append((panel[1], size, [panel]))
        else:
            near[2].append(panel)
    ordered = [(si, sorted(group, key=lambda x: place[id(x)])) for si, _, group in groups]
    return sorted(ordered, key=lambda x: place[id(x[1][0])])


def _largest(panel: Panel) -> float:
    return max(float(np.abs(values).max(initial=0.0)) for _, values in panel[2])


def sensors(p: Picture) -> None:
    """Named outputs, one panel for each unit and size."""
    p = p.smooth
    known = list(p.motion.sensors.names)
    if not known:
        raise ValueError("what = 'sensors' is for sensors, and the system has none; System(sensors=[...]) takes them.")
    chosen = p.choose("sensors", known, known)
    units = p.motion.sensors.units
    panels = []
    for name in chosen:
        sensor = next(s for s in p.system.sensors if s.name == name)
        joint = getattr(sensor, "joint", None)
        names = () if joint is None else p.system.joint(joint).coordinate_names
        panels += _sensor_panels(name, p.rows(p.motion.sensors[name]), units[name], names)
    groups = _scales(panels)
    p.size(7.2, 1.2 + 1.8 * len(groups))
    axes = np.atleast_1d(p.figure.subplots(len(groups), 1, sharex=True))
    for ax, (si, group) in zip(axes, groups, strict=True):
        lines = [line for _, _, lines in group for line in lines]
        scale = unit(si, *(values for _, values in lines))
        for k, (text, values) in enumerate(lines):
            p.line(ax, scale.factor * values, label=text, **cycle(k))
        ax.set_ylabel(f"[{scale.name}]" if len(group) > 1 else scale.label(group[0][0]))
        if si == "rad":
            hide_rounding(ax, scale.factor)
        legend(ax)
    p.time_axis(*axes)
    for ax in axes[:-1]:
        ax.set_xlabel("")
