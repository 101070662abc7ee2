"""Files that are there whole or not at all, and the checkpoint from which a run continues."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gyrod._check import Data

#: First bytes of a checkpoint; the digit is the version of its layout.
MAGIC = b"gyrodCP1"
#: Length of the text and of the bytes behind it, and the check sum over all that follows it.
HEADER = struct.Struct("<8sQQI")


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that at any moment, after a crash as well, the old or the new one is there, whole."""
    target = Path(path)
    name = beside(target)
    try:
        with name.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    with contextlib.suppress(OSError, AttributeError):  # the new name itself, where folders can be synchronised
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def beside(target: Path) -> Path:
    """A name in the same folder that nobody else has."""
    return target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}")


def checkpoint_path(path: str | os.PathLike[str]) -> Path:
    """Where the checkpoint of a result file lies: beside it, ``run.h5.checkpoint``."""
    return Path(f"{os.fspath(path)}.checkpoint")


def save_checkpoint(path: str | os.PathLike[str], checkpoint: Mapping[str, object]) -> None:
    """Write a checkpoint atomically: plain values (numbers, strings, lists, dictionaries), bytes and arrays by name."""
    plain: dict[str, object] = {}
    blobs: list[bytes] = []
    for name, value in checkpoint.items():
        if isinstance(value, (bytes, bytearray, memoryview)):
            plain[name] = {"bytes": len(bytes(value))}
            blobs.append(bytes(value))
        elif isinstance(value, np.ndarray):
            plain[name] = {"array": [value.dtype.str, list(value.shape)]}
            blobs.append(np.ascontiguousarray(value).tobytes())
        else:
            plain[name] = {"value": value}
    try:
        head = json.dumps(plain).encode()
    except TypeError as error:
        raise ValueError(f"a checkpoint holds plain values, bytes and arrays: {error}.") from None
    body = b"".join(blobs)
    lengths = struct.pack("<QQ", len(head), len(body))
    check = zlib.crc32(body, zlib.crc32(head, zlib.crc32(lengths)))
    write_atomic(path, HEADER.pack(MAGIC, len(head), len(body), check) + head + body)


def load_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What `save_checkpoint` wrote; a damaged or foreign file is an OSError that says so."""
    name = str(os.fspath(path))
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no checkpoint {name!r}; start the run again.") from None
    if len(data) < HEADER.size or not data.startswith(MAGIC[:-1]):
        raise OSError(f"{name!r} is not a checkpoint of gyrod; start the run again.")
    magic, n, m, check = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise OSError(f"the checkpoint {name!r} is of another version of gyrod; start the run again.")
    head, body = data[HEADER.size : HEADER.size + n], data[HEADER.size + n :]
    lengths = struct.pack("<QQ", n, m)
    if len(head) != n or len(body) != m or zlib.crc32(body, zlib.crc32(head, zlib.crc32(lengths))) != check:
        raise OSError(f"the checkpoint {name!r} is damaged (its check sum is wrong); start the run again.")
    found: Data = {}
    at = 0
    for key, entry in json.loads(head).items():
        if "value" in entry:
            found[key] = entry["value"]
        elif "bytes" in entry:
            found[key] = body[at : at + entry["bytes"]]
            at += entry["bytes"]
        else:
            kind, shape = np.dtype(entry["array"][0]), tuple(entry["array"][1])
            size = kind.itemsize * int(np.prod(shape, dtype=np.int64))
            found[key] = np.frombuffer(body[at : at + size], kind).reshape(shape).copy()
            at += size
    return found
