"""Locks that vanish with the process that holds them: a signed file beside what is written, locked by the system."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Self
from weakref import WeakSet

if TYPE_CHECKING:
    from io import FileIO
    from typing import IO

    from gyrod._check import Data

try:
    import fcntl
except ImportError:  # Windows: nobody is kept out there
    fcntl = None  # type: ignore[assignment]


class Lock:
    """Holds a lock file, alone or shared, until it is released or the process ends; BlockingIOError names the holder.

    Who holds it alone signs with who it is and a token of its own. ``remove``: the file goes with the lock. What a kill
    leaves behind is a file that nobody holds, and the next one takes it.
    """

    def __init__(self, path: Path, *, shared: bool = False, remove: bool = False) -> None:
        self.path, self.token, self._remove = path.absolute(), secrets.token_hex(8), remove
        while True:
            self._file = open(self.path, "a+b", buffering=0)  # noqa: SIM115 - open for as long as it is held
            if not _locks(self._file, shared):
                self._file.close()
                raise BlockingIOError(owner(path))
            if self._named():
                break
            self._file.close()  # its last holder removed it after it was opened here
        _HELD.add(self)
        try:
            if not shared:
                self._file.truncate(0)
                text = json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "token": self.token})
                self._file.write(text.encode())
        except BaseException:
            self.release()
            raise

    def _named(self) -> bool:
        """Whether the file that is held is the one that others find under its name."""
        return same_file(self.path, self._file.fileno())

    def release(self) -> None:
        """Let the next one in."""
        if self._file.closed:
            return
        if self._remove and self._named():  # while it is held: nobody else can have locked it
            with contextlib.suppress(OSError):
                self.path.unlink()
        if fcntl is not None:  # closing is not enough while a child is between fork and exec
            with contextlib.suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


#: Locks of this process. A fork shares them: its copies are closed, lest it keeps a lock when its parent was killed.
_HELD: WeakSet[Lock] = WeakSet()


def _forget() -> None:
    for lock in _HELD:
        lock._file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def same_file(path: Path, handle: int) -> bool:
    """Whether a name still is that of an open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except OSError:
        return False


def owner(path: Path) -> str:
    """Who signed a lock file, in words."""
    try:
        data: Data = json.loads(path.read_text(encoding="utf-8"))
        return f"process {data['pid']} on {data['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def locked(path: Path) -> bool:
    """Whether somebody holds a lock file alone."""
    try:
        with path.open("r+b") as file:
            return not _locks(file, shared=True)
    except OSError:
        return False


def _locks(file: IO[bytes] | FileIO, shared: bool) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
