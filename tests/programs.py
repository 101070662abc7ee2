"""Small C++ programs that tests compile against the core's library and run.

They stay in build/programs, named by what they were made of, so that each is compiled once, whichever process of the
tests comes first, and not again before something changes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def library(isa: str) -> Path:
    """The core's static library of an instruction set, as the build left it; skips the test where there is none."""
    built = (path for path in ROOT.glob(f"build/*/libgyrod_{isa}.a") if not path.parent.name.startswith("sanitize"))
    found = sorted(built, key=lambda path: path.stat().st_mtime)
    if not found:
        pytest.skip("needs the core's library in build/, which an installed wheel does not have")
    return found[-1]


@functools.cache
def _folder() -> Path:
    """Where programs stay; a folder of its own for who may not write there."""
    folder = ROOT / "build" / "programs"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return folder if os.access(folder, os.W_OK) else Path(tempfile.mkdtemp())


@functools.cache
def _headers() -> bytes:
    """A mark of all sources of the core."""
    mark = hashlib.sha256()
    for path in sorted((ROOT / "cpp").rglob("*.?pp")):
        mark.update(path.name.encode() + path.read_bytes())
    return mark.digest()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time, where the system has locks."""
    with path.open("w") as file:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def compiled(source: str, *options: str, parts: tuple[Path, ...] = ()) -> Path:
    """A program of this source and of libraries; skips the test where there is no compiler."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        pytest.skip("needs a C++ compiler")
    command = [compiler, "-std=c++20", f"-I{ROOT / 'cpp'}", str(ROOT / source), *options, *map(str, parts), "-pthread"]
    marks = [*command, *(str(part.stat().st_mtime_ns) for part in parts)]
    name = hashlib.sha256(_headers() + (ROOT / source).read_bytes() + "\n".join(marks).encode()).hexdigest()[:16]
    program = _folder() / f"{Path(source).stem}-{name}"
    with _locked(program.with_suffix(".lock")):
        if not program.exists():
            made = program.with_suffix(f".{os.getpid()}")
            subprocess.run([*command, "-o", str(made)], check=True)
            made.replace(program)
    return program


def rows(source: str, *options: str, parts: tuple[Path, ...] = ()) -> list[list[str]]:
    """What a program prints, line by line in words."""
    done = subprocess.run([compiled(source, *options, parts=parts)], capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


def linked(source: str, optimized: str = "-O1", *options: str) -> list[list[str]]:
    """The same of a program that links the core's library in the instruction set that runs."""
    from gyrod import _core

    isa = {"baseline": "baseline", "x86-64-v3": "v3"}[_core.isa()]
    # Headers must see the same set as the library: inline functions are merged by the linker.
    flags = ["-march=x86-64-v3"] if isa == "v3" else []
    return rows(source, optimized, "-DNDEBUG", "-fcx-limited-range", *flags, *options, parts=(library(isa),))
