"""Imports on first use: who simulates does not wait for studies."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy(package: str, where: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package.

    ``where`` has names, with spaces, by the module inside the package that holds them; by "" the names of modules.
    """
    home = {name: module for module, names in where.items() for name in names.split()}
    space = vars(sys.modules[package])

    def __getattr__(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        if home[name]:
            space[name] = getattr(import_module(f"{package}.{home[name]}"), name)
        else:
            import_module(f"{package}.{name}")  # which enters it here, too
        return space[name]

    def __dir__() -> list[str]:
        return sorted({*space, *home})

    return __getattr__, __dir__
