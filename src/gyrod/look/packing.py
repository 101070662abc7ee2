"""Arrays over time in few bytes, as the viewer's page reads them.

A track is an array (n, w), one row a frame. Neighbouring frames are alike: each column is kept as its differences in
time, these as numbers without sign, low bytes and high bytes apart, and deflate does the rest.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from gyrod._check import AnyArray, Data

#: How a track is kept: 8-byte and 4-byte floats as they are, or levels between its least and largest value.
KINDS = {"f8": np.int64, "f4": np.int32, "fine": np.int16, "coarse": np.int16, "rough": np.int16}
LEVELS = {"fine": 65535, "coarse": 4095, "rough": 1023}


@dataclass(frozen=True)
class Track:
    """An array (n, w) and how it is kept."""

    values: NDArray[np.float64]
    kind: str = "f4"


def track(values: ArrayLike, kind: str = "f4") -> Track:
    """A track of anything whose first axis is time; what is not finite becomes 0."""
    found = np.asarray(values, dtype=float)
    flat = found.reshape(len(found), int(np.prod(found.shape[1:])))
    limit = float(np.finfo(np.float32).max)
    return Track(np.clip(np.nan_to_num(flat, posinf=0.0, neginf=0.0), -limit, limit), kind)


def pack(tracks: Mapping[str, Track]) -> bytes:
    """All tracks in one piece: length of the header in 4 bytes, header in JSON, data; deflated."""
    header: list[Data] = []
    parts: list[bytes] = []
    for name, item in tracks.items():
        bits, span = _bits(item)
        entry: Data = {"name": name, "kind": item.kind, "shape": list(item.values.shape)}
        header.append(entry if span is None else {**entry, "from": span[0], "step": span[1]})
        steps = np.diff(bits, axis=0, prepend=bits[:1] * 0)
        size = 8 * bits.itemsize - 1
        unsigned = (steps << 1) ^ (steps >> size)
        # One column after the other, so that what is alike stands together; then byte by byte.
        by_byte = np.ascontiguousarray(unsigned.T).reshape(-1, 1).view(np.uint8).T
        parts.append(np.ascontiguousarray(by_byte).tobytes())
    text = json.dumps(header, separators=(",", ":")).encode()
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(len(text).to_bytes(4, "little") + text + b"".join(parts)) + packer.flush()


def unpack(data: bytes) -> dict[str, NDArray[np.float64]]:
    """What `pack` has packed, (n, w) each; the page does the same in JavaScript."""
    raw = zlib.decompress(data, -15)
    size = int.from_bytes(raw[:4], "little")
    at, found = 4 + size, {}
    for entry in json.loads(raw[4:at]):
        rows, columns = entry["shape"]
        kind = np.dtype(KINDS[entry["kind"]])
        count = rows * columns
        planes = np.frombuffer(raw, np.uint8, count * kind.itemsize, at).reshape(kind.itemsize, count)
        at += count * kind.itemsize
        unsigned = np.ascontiguousarray(planes.T).view(np.dtype(f"u{kind.itemsize}")).reshape(columns, rows).T
        steps = (unsigned >> np.array(1, unsigned.dtype)).astype(kind) ^ -(unsigned & 1).astype(kind)
        bits = np.cumsum(steps, axis=0, dtype=kind)
        if entry["kind"] in LEVELS:
            found[entry["name"]] = entry["from"] + entry["step"] * bits.view(np.uint16)
        else:
            found[entry["name"]] = np.ascontiguousarray(bits).view(f"f{kind.itemsize}").astype(float)
    return found


def _bits(item: Track) -> tuple[AnyArray, tuple[float, float] | None]:
    """The values as integers of their kind, and the first level and the step between levels."""
    if item.kind not in LEVELS:
        as_float = np.ascontiguousarray(item.values, dtype=f"<{item.kind}")
        return as_float.view(KINDS[item.kind]), None
    lo, hi = (float(f(item.values)) for f in (np.min, np.max)) if item.values.size else (0.0, 0.0)
    step = (hi - lo) / LEVELS[item.kind]
    levels = np.rint((item.values - lo) / step) if step > 0.0 else np.zeros(item.values.shape)
    return levels.astype(np.uint16).view(np.int16), (lo, step)
