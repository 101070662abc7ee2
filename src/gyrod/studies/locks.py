"""One driver for each folder, or one for each shard of it: locks that vanish with the process that holds them."""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
from pathlib import Path
from typing import Any

from gyrod.studies.errors import StudyError

try:
    import fcntl
except ImportError:  # Windows: nobody is kept out there
    fcntl = None  # type: ignore[assignment]

#: Which shard of how many, from 0.
Shard = tuple[int, int]


class FolderLock:
    """Holds a folder for one driver, or with a shard (i, n) its share of it; a second one is a `StudyError`.

    A driver of the whole folder locks ``lock``; shards share that one and lock ``lock.i-of-n``. Each writes who it is
    and a word of its own into its file: who can read the word sees the same folder.
    """

    def __init__(self, folder: Path, shard: Shard | None = None) -> None:
        self.folder, self.token = folder, secrets.token_hex(8)
        self._held: list[int] = []
        try:
            self._lock(folder / "lock", shared=shard is not None)
            self.file = folder / "lock"
            if shard is not None:
                self._alone(shard)
                self.file = folder / _name(shard)
                self._lock(self.file, shared=False)
            self._sign(self._held[-1])
        except BaseException:
            self.release()
            raise

    def _lock(self, path: Path, *, shared: bool) -> None:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self._held.append(file)
        if not _try(file, shared):
            raise StudyError(
                f"the folder {str(self.folder)!r} is in use by {self._who(path)}; wait until that ends, or end it."
            )

    def _alone(self, shard: Shard) -> None:
        """Shards that count differently would run the same chunks."""
        for path, other in _shards(self.folder):
            if other[1] != shard[1] and _locked(path):
                raise StudyError(
                    f"the folder {str(self.folder)!r} is in use by shard {other[0]}/{other[1]} ({_owner(path)}); "
                    f"shard {shard[0]}/{shard[1]} counts otherwise."
                )

    def _sign(self, file: int) -> None:
        text = json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "token": self.token})
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        os.write(file, text.encode())

    def _who(self, path: Path) -> str:
        running = [(p, s) for p, s in _shards(self.folder) if p != path and _locked(p)] if path.name == "lock" else []
        if running:
            return ", ".join(f"shard {i}/{n} ({_owner(p)})" for p, (i, n) in running)
        return _owner(path)

    def release(self) -> None:
        """Let the next one in."""
        for file in self._held:
            os.close(file)
        self._held.clear()

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def sees(file: Path, token: str) -> bool:
    """Whether this machine sees the folder of the driver that holds this lock file with this word in it."""
    try:
        return bool(json.loads(file.read_text(encoding="utf-8")).get("token") == token)
    except (OSError, ValueError, AttributeError):
        return False


def _name(shard: Shard) -> str:
    return f"lock.{shard[0]}-of-{shard[1]}"


def _shards(folder: Path) -> list[tuple[Path, Shard]]:
    found = [(path, re.fullmatch(r"lock\.(\d+)-of-(\d+)", path.name)) for path in sorted(folder.glob("lock.*-of-*"))]
    return [(path, (int(m[1]), int(m[2]))) for path, m in found if m]


def _owner(path: Path) -> str:
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return f"process {data['pid']} on {data['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _locked(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _try(file, True)
    finally:
        os.close(file)


def _try(file: int, shared: bool) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
