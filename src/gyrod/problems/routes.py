"""Cables between random poses, and random ways to lay them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gyrod import rotations
from gyrod.model import Circle, Clamped, Laid, Material
from gyrod.model.paths import smallest_rotation

#: A hose of 1 m and 10 mm.
LENGTH, HOSE, RUBBER = 1.0, Circle(radius=5e-3), Material(young=5e7, poisson=0.4, density=1200)
SEED = 24


def poses(count: int) -> Iterator[tuple[Clamped, Clamped]]:
    """Pairs of uniform random frames at a distance of LENGTH/(1 + slack), slack 5 to 60 %: always the same ones."""
    rng = np.random.default_rng(SEED)
    for _ in range(count):
        frames, way = rng.standard_normal((2, 4)), rng.standard_normal(3)
        frames /= np.linalg.norm(frames, axis=1)[:, None]
        far = LENGTH / (1.0 + rng.uniform(0.05, 0.6)) * way / np.linalg.norm(way)
        yield Clamped(at=(0, 0, 0), frame=frames[0]), Clamped(at=far, frame=frames[1])


def laid(start: Clamped, end: Clamped, rng: np.random.Generator, pieces: int = 200) -> Laid:
    """A cable of LENGTH that leaves and arrives as it must, bulges to a random side and is wound at random."""
    u = np.linspace(0.0, 1.0, pieces + 1)[:, None]
    tangents = [rotations.matrix_from_quaternion(end_.frame)[:, 2] for end_ in (start, end)]
    slope, side = rng.uniform(0.05, 1.0), rng.standard_normal(3)
    base = (1 + 2 * u) * (1 - u) ** 2 * start.at + u**2 * (3 - 2 * u) * end.at
    base = base + slope * (u * (1 - u) ** 2 * tangents[0] - u**2 * (1 - u) * tangents[1])
    low, high = 0.0, 4.0
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        x = base + middle * 16 * u**2 * (1 - u) ** 2 * side / np.linalg.norm(side)
        pieces_ = np.linalg.norm(np.diff(x, axis=0), axis=1)
        low, high = (middle, high) if pieces_.sum() < LENGTH else (low, middle)
    s = np.append(0.0, np.cumsum(pieces_)) / pieces_.sum()
    t = np.gradient(x, u[:, 0], axis=0)
    t[0], t[-1] = tangents
    t /= np.linalg.norm(t, axis=1)[:, None]
    frames = [start.frame]
    for step in smallest_rotation(t[:-1], t[1:]):
        frames.append(rotations.multiply(step, frames[-1]))
    turn = rotations.multiply(rotations.conjugate(frames[-1]), end.frame)
    angle = 2.0 * np.arctan2(turn[3], turn[0]) + 2.0 * np.pi * rng.integers(-1, 2)
    half, zero = 0.5 * angle * s, np.zeros_like(s)
    wound = rotations.multiply(np.array(frames), np.stack([np.cos(half), zero, zero, np.sin(half)], axis=1))
    s[-1] = 1.0
    return Laid(s, x, wound)
