"""Problems by name, made on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeVar

T = TypeVar("T")
#: Links, loops and the like, at most.
MOST = 100_000
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


class Named(Mapping[str, T]):
    """Problems by name, made on first use: importing them costs nothing."""

    def __init__(self, make: Callable[[], Iterable[T]]) -> None:
        self._make = make

    @cached_property
    def _all(self) -> dict[str, T]:
        return {problem.name: problem for problem in self._make()}  # type: ignore[attr-defined]

    def __getitem__(self, name: str) -> T:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)
