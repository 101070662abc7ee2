"""Model files: YAML and JSON, one-to-one with the Python model."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gyrod import _check
from gyrod.files.building import ModelFileError, build
from gyrod.files.options import RunOptions
from gyrod.files.reading import MOST_BYTES, ReadingError, compose, decode, plain
from gyrod.files.writing import json_text, to_data, yaml_text
from gyrod.model import System

#: Extensions of model files, and the format of each.
FORMATS = {".yaml": "yaml", ".yml": "yaml", ".json": "json"}
_OTHERS = {
    ".urdf": "gd.read_urdf reads it",
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

    Nothing in a file can run code or read other files, and its size is limited.

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
    found = loads(text, source=str(path))
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


def load(path: str | os.PathLike[str]) -> System:
    """Read the system of a model file, YAML or JSON; see :doc:`model-files`.

    A `ModelError` lists all problems of the file with line and column. What the file says about a run is in
    ``gyrod.files.load_model(path).run``.
    """
    return load_model(path).system


def loads(text: str, *, source: str = "") -> ModelFile:
    """Read a model from a text, YAML or JSON; ``source`` is what errors call it."""
    if not isinstance(text, str):
        raise ValueError(f"text must be a str, got {type(text).__name__}; load_model reads files.")
    try:
        root, problems = compose(_joined(text) if text.lstrip()[:1] == "{" else text)
    except ReadingError as error:
        raise ModelFileError([error.problem], source) from None
    system, run = build(plain(root), root, problems, source)
    return ModelFile(system, run, None, text)


def from_data(data: Mapping[str, Any]) -> System:
    """The system of plain data such as `to_data` returns, checked as a file is."""
    return build(_plain(data), None)[0]


def _plain(value: Any) -> Any:
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
