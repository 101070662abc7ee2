"""Model files: YAML and JSON, one-to-one with the Python model."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check
from gyrod._words import suggests
from gyrod.files.building import ModelFileError, build
from gyrod.files.options import RunOptions
from gyrod.files.reading import MOST_BYTES, ReadingError, compose, decode, plain
from gyrod.files.writing import json_text, to_data, yaml_text
from gyrod.model import System
from gyrod.model.errors import shown

#: Extensions of model files, and the format of each.
FORMATS = {".yaml": "yaml", ".yml": "yaml", ".json": "json"}
_OTHERS = {
    ".urdf": "gd.load reads it as a system",
    ".xml": "gd.load reads it as URDF",
    ".h5": "it may hold results, which gd.open reads",
    ".hdf5": "it may hold results, which gd.open reads",
    ".py": "run it with Python",
}

#: Two escapes of JSON that make one character.
_PAIRS = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds: the system, the options of its run, where it was read from, and its text."""

    system: System
    run: RunOptions
    path: Path | None
    text: str


def load_model(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file, YAML or JSON by its extension.

    Nothing in a file can run code, and its size is limited. Of other files it can name CSV files of samples, in its own
    folder or below.

    Raises
    ------
    ModelFileError
        A `ModelError` that lists all problems with line and column.
    OSError
        The file cannot be read.
    """
    place = _check.path("path", path)
    _format(place)
    raw = bytes_of(place)
    try:
        text = decode(raw)
    except ReadingError as error:
        raise ModelFileError([error.problem], str(path)) from None
    found = loads(text, source=str(path), base=place.parent)
    return ModelFile(found.system, found.run, place, text)


def bytes_of(path: Path) -> bytes:
    """What is in a file, up to the limit; a sentence if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise FileNotFoundError(f"{str(path)!r} does not exist; it should be a model file (.yaml or .json).") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{str(path)!r} is a folder, not a model file.") from None
    except PermissionError:
        raise PermissionError(f"{str(path)!r} cannot be read: permission denied.") from None


@suggests
def load(
    path: str | os.PathLike[str],
    *,
    base: str | None = None,
    gravity: ArrayLike | None = None,
    positions: Mapping[str, float] | None = None,
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
) -> System:
    """Read the system of a model file, YAML or JSON (see :doc:`model-files`), or of a robot, URDF (see :doc:`robots`).

    A `ModelError` lists all problems of the file, of YAML and JSON with line and column. What the file says about a run
    is in ``gyrod.files.load_model(path).run``. A text that begins with "<" is taken for URDF itself.

    Parameters
    ----------
    base
        Of URDF: "fixed" (default) holds the root link to ground, "free" lets it move.
    gravity
        Of URDF: (3,), in space, by default (0, 0, -9.81).
    positions
        Of URDF: start at these angles (rad) and displacements (m) by name of the joint; 0 for the others.
    packages
        Of URDF: folders by name, for meshes at "package://name/..."; without, folders of that name beside or above the
        file.
    """
    if _is_urdf(path):
        from gyrod.files.urdf import BASES, GRAVITY, load_urdf

        return load_urdf(
            path,
            base=BASES[0] if base is None else base,
            gravity=GRAVITY if gravity is None else gravity,
            positions=positions,
            packages=packages,
        )
    for name, value in (("base", base), ("gravity", gravity), ("positions", positions), ("packages", packages)):
        if value is not None:
            raise ValueError(
                f"{name} = {shown(value)} is for URDF; {str(path)!r} is a model file, which says it itself."
            )
    return load_model(path).system


def _is_urdf(path: str | os.PathLike[str]) -> bool:
    if isinstance(path, str) and path.lstrip().startswith("<"):
        return True
    return isinstance(path, str | os.PathLike) and Path(path).suffix.lower() in (".urdf", ".xml")


def loads(text: str, *, source: str = "", base: Path | None = None) -> ModelFile:
    """Read a model from a text, YAML or JSON; ``source`` is what errors call it.

    CSV files of samples are read from the folder ``base``; without one a text must not name any.
    """
    if not isinstance(text, str):
        raise ValueError(f"text must be a str, got {type(text).__name__}; load_model reads files.")
    try:
        root, problems = compose(_joined(text) if text.lstrip()[:1] == "{" else text)
    except ReadingError as error:
        raise ModelFileError([error.problem], source) from None
    system, run = build(plain(root), root, problems, source, base)
    return ModelFile(system, run, None, text)


def from_data(data: Mapping[str, object]) -> System:
    """The system of plain data such as `to_data` returns, checked as a file is."""
    return build(_plain(data), None)[0]


def _plain(value: object) -> object:
    """Data as a file would have them: lists for tuples and arrays, numbers for those of NumPy."""
    if isinstance(value, Mapping):
        return {str(key): _plain(x) for key, x in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(x) for x in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def dumps(system: System, run: RunOptions | None = None, format: str = "yaml") -> str:
    """Text of a model file; ``format`` is "yaml" or "json"."""
    if format not in ("yaml", "json"):
        raise ValueError(f"format = {format!r} is unknown; it can be 'yaml', 'json'.")
    data = to_data(system, run)
    return yaml_text(data) if format == "yaml" else json_text(data)


def save(system: System, path: str | os.PathLike[str], run: RunOptions | None = None) -> None:
    """Write a model file, YAML or JSON by its extension."""
    place = Path(path)
    text = dumps(system, run, _format(place))
    place.write_text(text, encoding="utf-8")


def _format(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        hint = f"; {_OTHERS[suffix]}" if suffix in _OTHERS else ""
        raise ValueError(f"{str(path)!r} is not the name of a model file: it must end in .yaml, .yml or .json{hint}.")
    return FORMATS[suffix]


def _joined(text: str) -> str:
    """JSON with characters beyond 16 bits as such: YAML does not write them as two escapes."""
    return _PAIRS.sub(lambda m: chr(0x10000 + ((int(m[1], 16) & 0x3FF) << 10) + (int(m[2], 16) & 0x3FF)), text)
