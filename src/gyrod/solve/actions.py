"""What events do where they are zero: velocities change, and the run goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from gyrod import _check
from gyrod._check import Array
from gyrod._words import meant
from gyrod.equations import Compiled, ForceError
from gyrod.motion import Motion, MotionStats

if TYPE_CHECKING:
    from gyrod.solve.simulate import Event

#: What an action may say about a body.
PARTS = ("velocity", "angular_velocity")


def refuse_actions(events: Iterable[Event], method: str) -> None:
    """Refuse them with methods whose events are looked for when the run is over."""
    for number, event in enumerate(events):
        if event.action is not None:
            raise ValueError(
                f"events[{number}] has an action, and method = {method!r} cannot change its course; take 'radau5' or "
                "'dop853'."
            )


def acting(
    action: Callable[[float, Motion], Mapping[str, object] | None] | None, compiled: Compiled, number: int
) -> Callable[[float, Array], Array | None] | None:
    """What the core calls at a zero: the state with other velocities, or None."""
    if action is None:
        return None
    if not callable(action):
        raise ValueError(f"events[{number}], action = {_check.shown(action)} must be a function of time and motion.")
    stats = MotionStats("", compiled.formulation)

    def act(t: float, y: Array) -> Array | None:
        try:
            said = action(t, Motion(np.asarray(t), y, stats, _compiled=compiled))
        except Exception as error:
            raise ForceError(
                f"the action of events[{number}] raised {type(error).__name__} at t = {t:g}: {error}"
            ) from error
        if said is None:
            return None
        try:
            return _changed(compiled, t, y, said)
        except ValueError as error:
            raise ForceError(f"the action of events[{number}] at t = {t:g}: {error}") from None

    return act


def _changed(compiled: Compiled, t: float, y: Array, said: object) -> Array:
    """The state with the velocities that an action has named."""
    if not isinstance(said, Mapping):
        raise ValueError(f"it must return velocities by name, or None, got {_check.shown(said)}.")
    system = compiled.system
    bodies = {name: i for i, name in enumerate(system.names)}
    rods = {name: i for i, name in enumerate(system.rod_names)}
    _, _, v, Omega = (part[0] for part in compiled.motions(y, t))
    v, Omega, found, moved = v.copy(), Omega.copy(), np.array(y), False
    for name, value in said.items():
        if name in bodies:
            parts = value if isinstance(value, Mapping) else {"velocity": value}
            for part, vector in parts.items():
                if part not in PARTS:
                    raise ValueError(f"{name!r}: {_check.shown(part)} is unknown.{meant(str(part), PARTS)}")
                (v if part == "velocity" else Omega)[bodies[name]] = _rows(f"{part} of body {name!r}", vector, (3,))
            moved = True
        elif name in rods:
            places = compiled.layouts()[rods[name]].v
            for at, row in zip(places, _rows(f"velocities of rod {name!r}", value, (len(places), 3)), strict=True):
                if at >= 0:
                    found[at : at + 3] = row
        else:
            raise ValueError(f"{_check.shown(name)} is neither a body nor a rod.{meant(str(name), [*bodies, *rods])}")
    return compiled.moving(t, found, v, Omega) if moved else found


def _rows(what: str, value: object, shape: tuple[int, ...]) -> Array:
    try:
        found = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{what} = {_check.shown(value)} must be numbers.") from None
    if found.shape != shape or not np.isfinite(found).all():
        raise ValueError(f"{what} = {_check.shown(value)} must be finite numbers of the shape {shape}.")
    return found
