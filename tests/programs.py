"""Small C++ programs that tests compile against the core's library and run."""

from __future__ import annotations

import os
import shutil
import subprocess
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


def compiled(program: Path, sources: list[str], *options: str) -> Path:
    """A program of these sources; skips the test where there is no compiler."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        pytest.skip("needs a C++ compiler")
    paths = [f"-I{ROOT / 'cpp'}", *(str(ROOT / source) for source in sources)]
    subprocess.run([compiler, "-std=c++20", *paths, "-o", str(program), *options], check=True)
    return program


def rows(program: Path, sources: list[str], *options: str) -> list[list[str]]:
    """What a program prints, line by line in words."""
    done = subprocess.run([compiled(program, sources, *options)], capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


def linked(program: Path, source: str) -> list[list[str]]:
    """The same of a program that links the core's library in the instruction set that runs."""
    from gyrod import _core

    isa = {"baseline": "baseline", "x86-64-v3": "v3"}[_core.isa()]
    # Headers must see the same set as the library: inline functions are merged by the linker.
    flags = ["-march=x86-64-v3"] if isa == "v3" else []
    return rows(program, [source], "-O1", "-DNDEBUG", "-fcx-limited-range", *flags, str(library(isa)), "-pthread")
