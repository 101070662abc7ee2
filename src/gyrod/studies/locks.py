"""One driver for each folder, or one for each shard of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from gyrod.storage.locks import Lock, locked, owner
from gyrod.studies.errors import StudyError

#: Which shard of how many, from 0.
Shard = tuple[int, int]


class FolderLock:
    """Holds a folder for one driver, or with a shard (i, n) its share of it; a second one is a `StudyError`.

    A driver of the whole folder locks ``lock``; shards share that one and lock ``lock.i-of-n``. Each writes who it is
    and a word of its own into its file: who can read the word sees the same folder.
    """

    def __init__(self, folder: Path, shard: Shard | None = None) -> None:
        self.folder = folder
        self._held: list[Lock] = []
        try:
            self._lock(folder / "lock", shared=shard is not None)
            if shard is not None:
                self._alone(shard)
                self._lock(folder / _name(shard), shared=False)
        except BaseException:
            self.release()
            raise
        self.file, self.token = self._held[-1].path, self._held[-1].token

    def _lock(self, path: Path, *, shared: bool) -> None:
        try:
            self._held.append(Lock(path, shared=shared))
        except BlockingIOError:
            raise StudyError(
                f"the folder {str(self.folder)!r} is in use by {self._who(path)}; wait until that ends, or end it."
            ) from None

    def _alone(self, shard: Shard) -> None:
        """Shards that count differently would run the same chunks."""
        for path, other in _shards(self.folder):
            if other[1] != shard[1] and locked(path):
                raise StudyError(
                    f"the folder {str(self.folder)!r} is in use by shard {other[0]}/{other[1]} ({owner(path)}); "
                    f"shard {shard[0]}/{shard[1]} counts otherwise."
                )

    def _who(self, path: Path) -> str:
        running = [(p, s) for p, s in _shards(self.folder) if p != path and locked(p)] if path.name == "lock" else []
        if running:
            return ", ".join(f"shard {i}/{n} ({owner(p)})" for p, (i, n) in running)
        return owner(path)

    def release(self) -> None:
        """Let the next one in."""
        for lock in self._held:
            lock.release()
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
