"""What to tell of the contacts of a run: sentences for ``motion.notes``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from gyrod.equations.bodies import size_of
from gyrod.equations.contacts import too_deep
from gyrod.model.surfaces import Boundary

if TYPE_CHECKING:
    from gyrod._check import Array
    from gyrod.equations import Compiled
    from gyrod.model import System

#: Numbers that are read of a run at a time, and at most of it: a large heap is not looked through.
NUMBERS, MOST = 1 << 20, 1 << 24
#: Depth of a start that is told, over that which is refused; sinking that is told, over what a tolerance resolves.
SHALLOW, UNSEEN = 0.2, 1e-3
#: Radii that a segment of a rod that touches itself may be long.
LONG = 6.0


def notes(compiled: Compiled, t: Array, y: Array, rtol: float) -> tuple[str, ...]:
    """Sentences on stiffness that no tolerance sees, on starts inside of surfaces, and on what has passed through."""
    if not compiled.contacts or not len(t) or compiled.options.get("hard"):
        return ()
    kinds = dict.fromkeys((pair.contact, pair.of) for pair in compiled.touching)
    sinks = {(k, of): _sinks(compiled.system, k, of) for k, of in kinds}
    told = [
        *_coarse(compiled),
        *_unseen(compiled, sinks, rtol),
        *_starts(compiled, sinks, t[:1], y[:1]),
        *_through(compiled, t, y),
    ]
    return tuple(dict.fromkeys(f"{compiled.system.all_contacts[k].label}{sentence}" for k, sentence in told))


def _coarse(compiled: Compiled) -> Iterator[tuple[int, str]]:
    """Of rods that touch themselves: whose segments are long."""
    for two in compiled.crossed:
        rod, radius = compiled.system.rod(two.of), 2.0 * two.allowed
        segment = rod.length / (len(rod.mesh.vertices) - 1)
        if two.of == two.on and segment > LONG * radius:
            yield (
                two.contact,
                f": segments of rod {two.of!r} are {1e3 * segment:.3g} mm long, {segment / radius:.3g} radii, and it "
                f"touches itself from three of them on; loops and strands side by side need {LONG:g} radii at most: at "
                f"least {math.ceil(rod.length / (LONG * radius))} segments.",
            )


def _sinks(system: System, k: int, of: str) -> float:
    """How deep the weight of a rod or body sinks in, m."""
    contact, rod = system.all_contacts[k], system._rod_index.get(of)
    mass = system.body(of).mass if rod is None else float(rod.inertia_at([0.5])[0, 0])
    load = float(np.linalg.norm(system.gravity)) * mass
    return 0.0 if contact.stiffness is None else float((load / contact.stiffness) ** (1.0 / contact.exponent))


def _unseen(compiled: Compiled, sinks: Mapping[tuple[int, str], float], rtol: float) -> Iterator[tuple[int, str]]:
    seen = rtol * size_of(compiled.system)
    for (k, _), depth in sinks.items():
        contact = compiled.system.all_contacts[k]
        if 0.0 < depth < UNSEEN * seen and contact.stiffness is not None:
            enough = contact.stiffness * (depth / seen) ** contact.exponent
            yield (
                k,
                f", stiffness = {contact.stiffness:g}: the weight would sink in by {depth:.1g} m, less than rtol = "
                f"{rtol:g} resolves ({seen:.1g} m); lower stiffness to about {enough:.0e} or tighten rtol.",
            )


def _starts(
    compiled: Compiled, sinks: Mapping[tuple[int, str], float], t: Array, y: Array
) -> Iterator[tuple[int, str]]:
    if not compiled.touching:
        return
    states, _ = compiled.core.contact_states(range(len(compiled.touching)), t, y, False)
    gaps = np.asarray(states)[0, :, 12]
    inside = np.where(gaps < 0.0, gaps, np.inf)
    for k, sentence in too_deep(compiled.touching, inside, SHALLOW, lambda pair: 2.0 * sinks[pair.contact, pair.of]):
        yield k, f": {sentence}"


def _through(compiled: Compiled, t: Array, y: Array) -> Iterator[tuple[int, str]]:
    """Of what touches bodies and solids: whose normals turn round while it is inside."""
    contacts = compiled.system.all_contacts
    solid = [k for k, x in enumerate(compiled.touching) if not isinstance(contacts[x.contact].b, Boundary)]
    row = 14 * sum(len(compiled.touching[k].places) for k in solid)
    if not 0 < row * len(t) < MOST:
        return
    each = max(2, NUMBERS // row)
    done: set[int] = set()
    for begin in range(0, len(t) - 1, each - 1):
        rows = slice(begin, begin + each)
        for k, found in zip(solid, compiled.contact_states(solid, t[rows], y[rows])[0], strict=True):
            pair = compiled.touching[k]
            gap, normal = found[..., 12], found[..., 3:6]
            turned = np.einsum("kni,kni->kn", normal[1:], normal[:-1]) < -0.5
            at = np.argwhere(turned & (np.minimum(gap[1:], gap[:-1]) < 0.0))
            if len(at) and k not in done:
                done.add(k)
                what = f"{pair.of!r} has passed through {'a surface' if pair.on is None else repr(pair.on)}"
                yield (
                    pair.contact,
                    f": at t = {t[begin + at[0, 0] + 1]:.4g}, {what}; raise stiffness, or take smaller steps.",
                )
