"""One name for what was computed: a motion in a file, a study in a folder."""

from __future__ import annotations

import os
from typing import Any

from gyrod import _check
from gyrod._words import suggests
from gyrod.model import System
from gyrod.storage.reading import open_motion


@suggests
def open(file: str | os.PathLike[str], system: System | None = None) -> Any:
    """What is in a result file, a `Motion`, or in the folder of a study, a `Study`; nothing is run.

    Rows of a file are read on access. A file of a model with Python functions needs that ``system``. A file that is
    still being written, or whose run was killed, is read up to its last block (status "unfinished"), and so is a study.
    """
    place = _check.path("file", file)
    if not place.is_dir():
        return open_motion(file, system)
    if system is not None:
        raise ValueError(f"system goes with a result file; {str(place)!r} is a folder, of a study.")
    from gyrod.studies import stored

    return stored(place)
