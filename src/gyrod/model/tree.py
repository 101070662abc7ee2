"""How bodies hang on one another: the spanning forest of a system."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gyrod.model.errors import GROUND
from gyrod.model.joints import Joint

if TYPE_CHECKING:
    from gyrod.model.system import System


@dataclass(frozen=True, eq=False)
class Tree:
    """Spanning forest of a system: how its bodies hang on ground, or on a first free body, by joints."""

    #: Names of the bodies, parents first, in depth-first order.
    order: tuple[str, ...]
    #: For each body the name of the one it hangs on, or "ground"; None for a free root.
    parent: dict[str, str | None]
    #: For each body the joint it hangs on; None for a free root.
    joint: dict[str, Joint | None]
    #: The joints that are not in the forest, in order: each closes a loop, or is a `Distance`.
    cuts: tuple[Joint, ...]


def spanning_forest(system: System) -> Tree:
    """Return the forest: breadth first from ground over the joints, in their order; a `Distance` is never in it."""
    ends: dict[str, list[int]] = {name: [] for name in (GROUND, *system.names)}
    for i, joint in enumerate(system.joints):
        if joint.carries:
            ends[joint.a].append(i)
            ends[joint.b].append(i)
    parent: dict[str, str | None] = {}
    chosen: dict[str, int] = {}
    children: dict[str, list[str]] = {}
    for root in (GROUND, *system.names):
        if root in parent:
            continue
        if root != GROUND:
            parent[root] = None
        queue = deque([root])
        while queue:
            here = queue.popleft()
            for i in ends[here]:
                joint = system.joints[i]
                there = joint.b if joint.a == here else joint.a
                if there == GROUND or there in parent:
                    continue
                parent[there], chosen[there] = here, i
                children.setdefault(here, []).append(there)
                queue.append(there)
    order: list[str] = []
    stack = [*(name for name in reversed(system.names) if parent[name] is None), *reversed(children.get(GROUND, []))]
    while stack:
        name = stack.pop()
        order.append(name)
        stack.extend(reversed(children.get(name, [])))
    taken = set(chosen.values())
    cuts = tuple(joint for i, joint in enumerate(system.joints) if i not in taken)
    joints = {name: system.joints[chosen[name]] if name in chosen else None for name in order}
    return Tree(tuple(order), {name: parent[name] for name in order}, joints, cuts)
