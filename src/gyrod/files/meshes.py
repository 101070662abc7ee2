"""Meshes of triangles from STL and OBJ files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gyrod import _check
from gyrod.model import Mesh, ModelError
from gyrod.model.appearance import LARGEST_MESH
from gyrod.model.errors import shown

Array = NDArray[np.float64]

#: Larger files are refused, in bytes.
LARGEST_FILE = 100_000_000
#: What a file may be, by its ending.
ENDINGS = (".stl", ".obj")

_FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_mesh(path: str | os.PathLike[str], *, scale: float = 1.0) -> Mesh:
    """Read a `Mesh` from an STL file (text or binary) or an OBJ file, all coordinates times ``scale``.

    Such files have no units: ``scale=1e-3`` reads millimetres. Corners at the same place become one vertex; polygons
    become triangles; normals, textures and materials are not read, and neither are files that an OBJ file names.
    """
    factor = _check.positive("scale", scale)
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise ValueError(f"path must be that of an STL or OBJ file, got {shown(path)}.")
    file = Path(path)
    ending = file.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"{file}: its ending must be {' or '.join(ENDINGS)}, got {ending or 'none'!r}.")
    try:
        with file.open("rb") as stream:
            data = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise OSError(f"{file}: it cannot be read ({error.strerror or error}).") from error
    try:
        if len(data) > LARGEST_FILE:
            raise ValueError(f"it is larger than {LARGEST_FILE // 10**6} MB; reduce it in a mesh editor.")
        vertices, faces = _obj(data) if ending == ".obj" else _stl(data)
        return _welded(factor * vertices, faces)
    except ModelError as error:
        raise ModelError(f"{file}: {sentence}" for sentence in error.problems) from error
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def _welded(vertices: Array, faces: NDArray[np.int64]) -> Mesh:
    """The mesh with equal vertices made one, and without triangles that this leaves with two corners."""
    if not len(faces):
        raise ValueError("it holds no triangles.")
    _check.finite("vertices", vertices)
    unique, index = np.unique(vertices + 0.0, axis=0, return_inverse=True)
    welded = index.reshape(-1)[faces]
    whole = (welded[:, 0] != welded[:, 1]) & (welded[:, 1] != welded[:, 2]) & (welded[:, 2] != welded[:, 0])
    if not np.any(whole):
        raise ValueError("it holds no triangles with three different corners.")
    return Mesh(unique, welded[whole])


def _stl(data: bytes) -> tuple[Array, NDArray[np.int64]]:
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else 0
    # Binary files may begin with "solid" too: the length tells them from text.
    if len(data) >= 84 and len(data) == 84 + 50 * count:
        corners = np.frombuffer(data, _FACET, count, 84)["corners"].astype(float).reshape(-1, 3)
    elif data[:512].lstrip().lower().startswith(b"solid"):
        corners = _stl_text(data)
    elif len(data) >= 84 and b"\0" in data[:84]:
        raise ValueError(
            f"a binary STL of {count} triangles takes {84 + 50 * count} bytes, but it has {len(data)}; it is damaged."
        )
    else:
        raise ValueError("it is no STL: a text begins with 'solid', a binary file has 84 bytes before its triangles.")
    if len(corners) > 3 * LARGEST_MESH:
        raise ValueError(f"it has {len(corners) // 3} triangles; at most {LARGEST_MESH} are read.")
    return corners, np.arange(len(corners), dtype=np.int64).reshape(-1, 3)


def _stl_text(data: bytes) -> Array:
    rows = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        words = line.split()
        if words and words[0].lower() == "vertex":
            rows.append(_numbers(number, words[1:], 3))
    if len(rows) % 3:
        raise ValueError(f"it has {len(rows)} corners, which do not make triangles; it is damaged.")
    return np.array(rows, dtype=float).reshape(-1, 3)


def _obj(data: bytes) -> tuple[Array, NDArray[np.int64]]:
    vertices: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if words[0] == "v":
            vertices.append(_numbers(number, words[1:4], 3))
        elif words[0] == "f":
            corners = [_corner(number, word, len(vertices)) for word in words[1:]]
            if len(corners) < 3:
                raise ValueError(f"line {number}: a face needs three corners, got {len(corners)}.")
            faces += [(corners[0], corners[k], corners[k + 1]) for k in range(1, len(corners) - 1)]
        if max(len(vertices), len(faces)) > LARGEST_MESH:
            raise ValueError(f"it has more than {LARGEST_MESH} vertices or triangles; reduce it in a mesh editor.")
    return np.array(vertices, dtype=float).reshape(-1, 3), np.array(faces, dtype=np.int64).reshape(-1, 3)


def _numbers(line: int, words: list[str], count: int) -> list[float]:
    try:
        found = [float(word) for word in words]
    except ValueError:
        found = []
    if len(found) != count:
        raise ValueError(f"line {line}: expected three numbers, got {shown(' '.join(words))}.")
    return found


def _corner(line: int, word: str, known: int) -> int:
    """Number of a vertex from 0 on; OBJ counts from 1, or back from the last one with negative numbers."""
    try:
        given = int(word.split("/")[0])
    except ValueError:
        given = 0
    index = given - 1 if given > 0 else known + given
    if given == 0 or not 0 <= index < known:
        raise ValueError(f"line {line}: {shown(word)} is not a vertex; there are {known} before this line.")
    return index
