"""Meshes of triangles from and to STL, PLY and OBJ files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gyrod import _check
from gyrod._check import Array
from gyrod._words import suggests
from gyrod.model import Mesh, ModelError
from gyrod.model.appearance import LARGEST_MESH
from gyrod.model.errors import shown

#: Larger files are refused, in bytes.
LARGEST_FILE = 100_000_000
#: What a file may be, by its ending.
ENDINGS = (".stl", ".ply", ".obj")

_FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


@suggests
def read_mesh(path: str | os.PathLike[str], *, scale: float = 1.0) -> Mesh:
    """Read a `Mesh` from an STL or PLY file (text or binary) or an OBJ file, all coordinates times ``scale``.

    Such files have no units: ``scale=1e-3`` reads millimetres. Corners at the same place become one vertex; polygons
    become triangles; normals, textures and materials are not read, and neither are files that an OBJ file names.
    """
    factor = _check.positive("scale", scale)
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise ValueError(f"path must be that of an STL, PLY or OBJ file, got {shown(path)}.")
    file = Path(path)
    ending = file.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(
            f"{file}: its ending must be {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}, got {ending or 'none'!r}."
        )
    try:
        with file.open("rb") as stream:
            data = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise OSError(f"{file}: it cannot be read ({error.strerror or error}).") from error
    try:
        if len(data) > LARGEST_FILE:
            raise ValueError(f"it is larger than {LARGEST_FILE // 10**6} MB; reduce it in a mesh editor.")
        vertices, faces = {".stl": _stl, ".ply": _ply, ".obj": _obj}[ending](data)
        return _welded(factor * vertices, faces)
    except ModelError as error:
        raise ModelError(f"{file}: {sentence}" for sentence in error.problems) from error
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def write_mesh(path: str | os.PathLike[str], vertices: Array, faces: NDArray[np.integer]) -> Path:
    """Write triangles as a binary STL, a binary PLY or an OBJ file, coordinates as they are; return its path."""
    file = Path(path)
    ending = file.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(
            f"{file}: its ending must be {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}, got {ending or 'none'!r}."
        )
    if ending == ".stl":
        facets = np.zeros(len(faces), _FACET)
        facets["corners"] = vertices[faces]
        a, b = (vertices[faces[:, k]] - vertices[faces[:, 0]] for k in (1, 2))
        across = np.cross(a, b)
        size = np.linalg.norm(across, axis=1, keepdims=True)
        facets["normal"] = across / np.where(size > 0.0, size, 1.0)
        data = b"gyrod, lengths in m".ljust(80) + len(faces).to_bytes(4, "little") + facets.tobytes()
    elif ending == ".ply":
        listed = np.zeros(len(faces), np.dtype([("count", "u1"), ("corners", "<i4", 3)]))
        listed["count"], listed["corners"] = 3, faces
        head = (
            f"ply\nformat binary_little_endian 1.0\ncomment lengths in m\nelement vertex {len(vertices)}\n"
            f"property double x\nproperty double y\nproperty double z\nelement face {len(faces)}\n"
            "property list uchar int vertex_indices\nend_header\n"
        )
        data = head.encode() + np.ascontiguousarray(vertices, "<f8").tobytes() + listed.tobytes()
    else:
        lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
        lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces.tolist()]
        data = ("# lengths in m\n" + "\n".join(lines) + "\n").encode()
    try:
        file.write_bytes(data)
    except OSError as error:
        raise OSError(f"{file}: the mesh cannot be written ({error.strerror or error}).") from error
    return file


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
    # Binary files may begin with "solid" too: the length distinguishes them from text.
    if len(data) >= 84 and len(data) == 84 + 50 * count:
        corners = np.frombuffer(data, _FACET, count, 84)["corners"].astype(float).reshape(-1, 3)
    elif data[:512].lstrip().lower().startswith(b"solid"):
        corners = _stl_text(data)
    elif len(data) >= 84 and b"\0" in data[:84]:
        raise ValueError(
            f"a binary STL of {count} triangles takes {84 + 50 * count} bytes, but it has {len(data)}; it is damaged."
        )
    else:
        raise ValueError(
            "it is not an STL: a text begins with 'solid', a binary file has 84 bytes before its triangles."
        )
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


#: Types of numbers in PLY files, as NumPy names them without their order.
_PLY = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4",
    "double": "f8", "float64": "f8",
}  # fmt: skip


def _ply(data: bytes) -> tuple[Array, NDArray[np.int64]]:
    head, mark, rest = data.partition(b"end_header")
    if not head.startswith(b"ply") or not mark:
        raise ValueError("it is not a PLY: one begins with 'ply', and 'end_header' comes before its numbers.")
    rest = rest[2:] if rest.startswith(b"\r\n") else rest[1:]
    order, elements = "", []  # type: str, list[tuple[str, int, list[list[str]]]]
    for line in head.decode("ascii", "replace").splitlines():
        words = line.split()
        if words[:1] == ["format"]:
            order = {"ascii": "a", "binary_little_endian": "<", "binary_big_endian": ">"}.get(words[1], "")
        elif words[:1] == ["element"] and len(words) == 3 and words[2].isdigit():
            elements.append((words[1], int(words[2]), []))
        elif words[:1] == ["property"] and elements:
            elements[-1][2].append(words[1:])
    if not order:
        raise ValueError("its header names no format; it can be ascii, binary_little_endian or binary_big_endian.")
    for name, count, _ in elements:
        if count > LARGEST_MESH:
            raise ValueError(f"it has {count} of {shown(name)}; at most {LARGEST_MESH} are read.")
    try:
        return _ply_elements(rest, order, elements)
    except (KeyError, IndexError, ValueError, OverflowError) as error:
        raise ValueError("its numbers do not fit its header; it is damaged.") from error


def _ply_elements(
    rest: bytes, order: str, elements: list[tuple[str, int, list[list[str]]]]
) -> tuple[Array, NDArray[np.int64]]:
    """Vertices and faces of a PLY file, element by element; lists but those of faces are passed over."""
    vertices, faces, at = np.zeros((0, 3)), [], 0  # type: Array, list[tuple[int, int, int]], int
    lines = rest.decode("ascii", "replace").splitlines() if order == "a" else []
    for name, count, properties in elements:
        listed = [p for p in properties if p[0] == "list"]
        if order == "a":
            rows, lines = [line.split() for line in lines[:count]], lines[count:]
            if len(rows) != count:
                raise ValueError
        if name == "vertex" and not listed:
            names = [p[1] for p in properties]
            where = [names.index(x) for x in "xyz"]
            if order == "a":
                vertices = np.array([[float(row[k]) for k in where] for row in rows]).reshape(-1, 3)
            else:
                kind = np.dtype([(f"{k}", order + _PLY[p[0]]) for k, p in enumerate(properties)])
                table = np.frombuffer(rest, kind, count, at)
                vertices = np.stack([table[f"{k}"].astype(float) for k in where], axis=-1)
                at += count * kind.itemsize
            continue
        for k in range(count):
            words = iter(rows[k]) if order == "a" else None
            for p in properties:
                length = 1
                if p[0] == "list":
                    length = int(next(words)) if words else int(np.frombuffer(rest, order + _PLY[p[1]], 1, at)[0])
                    at += 0 if words else np.dtype(_PLY[p[1]]).itemsize
                if words:
                    values = [float(next(words)) for _ in range(length)]
                else:
                    values = np.frombuffer(rest, order + _PLY[p[-2]], length, at).tolist()
                    at += length * np.dtype(_PLY[p[-2]]).itemsize
                if name == "face" and p[0] == "list" and p[-1] in ("vertex_indices", "vertex_index"):
                    corners = [int(x) for x in values]
                    if min(corners, default=0) < 0 or max(corners, default=0) >= len(vertices):
                        raise ValueError
                    faces += [(corners[0], corners[k], corners[k + 1]) for k in range(1, len(corners) - 1)]
    return vertices, np.array(faces, dtype=np.int64).reshape(-1, 3)


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
