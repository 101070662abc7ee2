"""What has gone elsewhere, by its old name, as in old pickles; what is no longer imported at once."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

#: Where modules went, and single names of modules that there still are.
MODULES = {
    "gyrod.dense": "gyrod.motion.between",
    "gyrod.error": "gyrod.motion.errors",
    "gyrod.joint_tracks": "gyrod.motion.joints",
    "gyrod.readings": "gyrod.motion.readings",
    "gyrod.rest": "gyrod.motion.rest",
    "gyrod.sensing": "gyrod.motion.sensors",
}
#: Modules that were imported with gyrod, and that programs change by `sys.modules`, as to have blocks of other lengths.
LATER = ("gyrod.solve.recording",)
NAMES = {
    "gyrod.motion": {"_Ends": "gyrod.motion.tracks.Ends"},
    "gyrod.motion.motion": {
        "SimulationError": "gyrod.motion.parts.SimulationError",
        "SimulationInterrupted": "gyrod.motion.parts.SimulationInterrupted",
    },
    "gyrod.solve.follow": {
        "PathEvent": "gyrod.solve.paths.result.PathEvent",
        "_Listed": "gyrod.solve.paths.family.Listed",
        "_Made": "gyrod.solve.paths.family.Made",
        "_Timed": "gyrod.solve.paths.family.Timed",
    },
}


def old_names(module: str) -> None:
    """Let a module know the names that went elsewhere."""

    def __getattr__(name: str) -> object:
        if name not in NAMES[module]:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules[module])
        where, _, new = NAMES[module][name].rpartition(".")
        return getattr(import_module(where), new)

    vars(sys.modules[module])["__getattr__"] = __getattr__


class _Finder:
    """Of modules under their old names: each has the names of the new one."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        """Those of the table."""
        return ModuleSpec(name, self) if name in MODULES else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """As usual."""

    def exec_module(self, module: ModuleType) -> None:
        """Nothing of its own."""
        module.__getattr__ = partial(getattr, import_module(MODULES[module.__name__]))  # type: ignore[method-assign]


class _Later(ModuleType):
    """Stands for a module in `sys.modules`, which is imported when something of it is read or set."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # of which those ask who look at all modules
            raise AttributeError(name)
        return getattr(self._module(), name)

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:
            setattr(self._module(), name, value)

    def _module(self) -> ModuleType:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return import_module(self.__name__)


sys.meta_path.append(_Finder())
sys.modules.update({name: _Later(name) for name in LATER})
