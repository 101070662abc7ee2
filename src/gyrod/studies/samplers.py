"""Samplers: points in the unit cube by their numbers, so that any part of a sample is made without the rest."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod._check import Array

if TYPE_CHECKING:
    from collections.abc import Callable

#: Samples of a Latin hypercube beyond so many are refused: it keeps its permutations.
MOST_PERMUTED = 2**27
#: Bits of a sampled number.
BITS = 52


class Random:
    """Philox, whose counter is the number of the sample."""

    def __init__(self, d: int, _: int, seed: int) -> None:
        self.key, self.d = _key(seed, 0), d

    def __call__(self, start: int, stop: int) -> Array:
        """Samples start to stop, (n, d), each number inside of (0, 1)."""
        return _philox(self.key, self.d, start, stop)


class Latin:
    """Each column puts one sample into each of n equal parts."""

    def __init__(self, d: int, n: int, seed: int) -> None:
        if n > MOST_PERMUTED:
            raise ValueError(
                f"samples = {n} is too many for sampler = 'latin hypercube', which keeps 4 bytes for each sample and "
                f"parameter: at most {MOST_PERMUTED}; take sampler = 'sobol'."
            )
        self.key, self.seed, self.d, self.n = _key(seed, 1), seed, d, n
        self._parts: NDArray[np.uint32] | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_parts": None}

    def __call__(self, start: int, stop: int) -> Array:
        """Samples start to stop, (n, d), each number inside of (0, 1)."""
        if self._parts is None:
            generator = np.random.Generator(np.random.Philox(key=_key(self.seed, 2)))
            parts = np.empty((self.d, self.n), np.uint32)
            for row in parts:
                row[:] = generator.permutation(self.n)
            self._parts = parts
        found = self._parts[:, start:stop].T + _philox(self.key, self.d, start, stop)
        # The largest sum over n may round up to 1.
        return np.asarray(np.minimum(found / self.n, 1.0 - 2.0**-53))


class Sobol:
    """A scrambled Sobol sequence, each point from its number: SciPy's direction numbers, which travel with the plan."""

    def __init__(self, d: int, _: int, seed: int) -> None:
        from scipy.stats import qmc

        most = qmc.Sobol.MAXDIM
        if d > most:
            raise ValueError(f"a Sobol sequence has at most {most} columns, not {d}; take sampler = 'random'.")
        generator = "rng" if "rng" in inspect.signature(qmc.Sobol).parameters else "seed"  # before SciPy 1.15
        engine = qmc.Sobol(d, scramble=True, bits=BITS, **{generator: np.random.default_rng(seed)})
        # SciPy goes from point to point, minutes for the last ones of many; a point is the sum modulo 2 of the
        # directions at the digits of its Gray code.
        self.directions = np.array(engine._sv, dtype=np.uint64)
        self.shift = np.array(engine._shift, dtype=np.uint64)

    def __call__(self, start: int, stop: int) -> Array:
        """Samples start to stop, (n, d), each number inside of (0, 1)."""
        i = np.arange(start, stop, dtype=np.uint64)
        gray = i ^ (i >> np.uint64(1))
        x = np.tile(self.shift, (len(i), 1))
        for bit in range(int(max(stop - 1, 1)).bit_length()):
            x ^= ((gray >> np.uint64(bit)) & np.uint64(1))[:, None] * self.directions[:, bit]
        return _unit(x)


class Halton:
    """The radical inverses of the number of a sample in the first d primes, digits permuted at random (Owen 2017)."""

    def __init__(self, d: int, n: int, seed: int) -> None:
        generator = np.random.Generator(np.random.Philox(key=_key(seed, 3)))
        #: For each column: the permuted digits, (k, p), each with its weight, and what all digits beyond them add.
        self.columns: list[tuple[Array, float]] = []
        for p in _primes(d):
            count = math.ceil(BITS / math.log2(p))
            weights = float(p) ** -np.arange(1.0, count + 1.0)
            digits = np.stack([generator.permutation(p) for _ in range(count)]) * weights[:, None]
            used = next(k for k in range(1, count + 1) if p**k >= n or k == count)
            self.columns.append((digits[:used], float(digits[used:, 0].sum() + 0.5 * weights[-1])))

    def __call__(self, start: int, stop: int) -> Array:
        """Samples start to stop, (n, d), each number inside of (0, 1)."""
        found = np.empty((len(self.columns), stop - start))
        for x, (digits, rest) in zip(found, self.columns, strict=True):
            number = np.arange(start, stop)
            x[:] = rest
            for values in digits:
                number, digit = np.divmod(number, len(values))
                x += values[digit]
        return np.clip(found, 2.0**-53, 1.0 - 2.0**-53).T


class Saltelli:
    """Rows of two samples and their crossings, for Sobol indices; see `gyrod.studies.design`."""

    def __init__(self, d: int, n: int, seed: int) -> None:
        self.d, self.base = d, Sobol(2 * d, n, seed)

    def __call__(self, start: int, stop: int) -> Array:
        """Samples start to stop, (n, d), each number inside of (0, 1)."""
        d, runs = self.d, self.d + 2
        index = np.arange(start, stop)
        first = start // runs
        rows = self.base(first, (stop - 1) // runs + 1)[index // runs - first]
        k = index % runs
        from_b = (k == 1)[:, None] | (np.arange(d) == (k - 2)[:, None])
        return np.where(from_b, rows[:, d:], rows[:, :d])


#: By name: made of the number of columns, of samples and the seed, and called with the first sample and the end.
SAMPLERS: dict[str, Callable[[int, int, int], Callable[[int, int], Array]]] = {
    "random": Random, "sobol": Sobol, "latin hypercube": Latin, "halton": Halton, "saltelli": Saltelli,
}  # fmt: skip


def _key(seed: int, purpose: int) -> NDArray[np.uint64]:
    return np.asarray(np.random.SeedSequence([seed, purpose]).generate_state(2, np.uint64), dtype=np.uint64)


def _philox(key: NDArray[np.uint64], d: int, start: int, stop: int) -> Array:
    """Numbers in (0, 1), (stop - start, d): each row has its own counters."""
    blocks = -(-d // 4)
    words = np.random.Philox(key=key, counter=start * blocks).random_raw((stop - start) * 4 * blocks)
    return _unit(words.reshape(stop - start, 4 * blocks)[:, :d] >> np.uint64(64 - BITS))


def _unit(x: NDArray[np.uint64]) -> Array:
    """Integers of `BITS` bits to the middles of as many parts of (0, 1)."""
    return np.asarray((x + 0.5) * 2.0**-BITS)


def _primes(count: int) -> list[int]:
    found: list[int] = []
    x = 2
    while len(found) < count:
        if all(x % p for p in found if p * p <= x):
            found.append(x)
        x += 1
    return found
