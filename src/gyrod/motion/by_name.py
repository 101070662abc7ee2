"""What a motion holds by name and finds when it is asked for: sensors, clips, contacts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, TypeVar

from gyrod import _check

if TYPE_CHECKING:
    from gyrod.motion.motion import Motion

T = TypeVar("T")


class UnknownName(ValueError, KeyError):
    """A name that nothing goes by: a ValueError, as of other arguments, and a KeyError, for `Mapping.get`."""

    __str__ = Exception.__str__


class ByName(Mapping[str, T], ABC):
    """Members of a system by name, each found once."""

    #: What they are, and how a system gets some.
    what: ClassVar[str]
    remedy: ClassVar[str]

    def __init__(self, motion: Motion, known: Iterable[str]) -> None:
        self._motion, self._known = motion, tuple(known)
        self._found: dict[str, T] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Names, in the order of the system."""
        return self._known

    @abstractmethod
    def _find(self, name: str) -> T:
        """One of them."""

    def __getitem__(self, name: str) -> T:
        """What goes by this name."""
        if name not in self._found:
            if not self._known:
                raise UnknownName(f"name = {name!r}: the system has no {self.what}; give {self.remedy}.")
            try:
                _check.choice("name", name, self._known)
            except ValueError as error:
                raise UnknownName(str(error)) from None
            self._found[name] = self._find(name)
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._known))})"
