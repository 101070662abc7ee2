"""Distances of a rod to a mesh, to solids and to another rod, and an envelope: CPU time, best of several."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gyrod import geometry

Array = NDArray[np.float64]

FRAMES, SEGMENTS, RADIUS = 1000, 20, 5e-3


def torus(n: int = 100, m: int = 50, big: float = 0.2, small: float = 0.05) -> tuple[Array, NDArray[np.int64]]:
    """A mesh of 2 n m triangles."""
    u, v = np.meshgrid(2 * np.pi * np.arange(n) / n, 2 * np.pi * np.arange(m) / m, indexing="ij")
    rho = big + small * np.cos(v)
    points = np.stack([rho * np.cos(u), rho * np.sin(u), small * np.sin(v)], axis=-1).reshape(-1, 3)
    i, j = np.divmod(np.arange(n * m), m)
    a, b, c, d = (((i + di) % n) * m + (j + dj) % m for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1)))
    return points, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def curves(swap: bool = False) -> Array:
    """A cable of about 1 m that waves above the torus."""
    s, t = np.linspace(0, 1, SEGMENTS + 1), np.linspace(0, 1, FRAMES)[:, None]
    parts = [s - 0.5 + 0 * t, 0.2 * np.sin(3 * s + 2 * t) - 0.1 + 0.1 * t, 0.15 + 0.05 * np.cos(5 * s - 4 * t)]
    if swap:
        parts = [parts[1], parts[0], parts[2] + 0.1]
    return geometry.with_radius(geometry.along_grid(s, np.stack(parts, axis=-1)), np.full(SEGMENTS + 1, RADIUS))


def best(work: Callable[[], object], rounds: int = 7) -> float:
    """CPU seconds."""
    found = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return min(found)


def main() -> None:
    """Print a table."""
    cable, other = curves(), curves(swap=True)
    mesh = geometry.mesh(*torus())
    print(f"hierarchy of {len(torus()[1])} triangles: {1e3 * best(lambda: geometry.mesh(*torus()).core, 3):.1f} ms")
    targets = {"mesh": mesh, "ball": geometry.ball(0.1), "cylinder": geometry.cylinder(0.05, 0.2)}
    targets["box"] = geometry.box((0.1, 0.2, 0.05))
    for name, surface in targets.items():
        seconds = best(partial(geometry.closest, surface, cable))
        print(f"distance to a {name}: {1e6 * seconds / FRAMES:.1f} us a frame")
    print(f"distance to a rod: {1e6 * best(lambda: geometry.between_curves(cable, other)) / FRAMES:.1f} us a frame")
    print(f"envelope of {FRAMES} frames at 5 mm: {best(lambda: geometry.sweep([cable], 5e-3), 3):.2f} s")


if __name__ == "__main__":
    main()
