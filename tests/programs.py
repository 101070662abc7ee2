"""Small C++ programs that tests compile against the core's headers and run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def rows(program: Path, sources: list[str], *options: str) -> list[list[str]]:
    """What a program prints, line by line in words; skips the test where there is no compiler or no Eigen."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    eigen = [p / "cmeel.prefix" / "include" / "eigen3" for p in map(Path, sys.path)]
    eigen = [p for p in [*eigen, Path("/usr/include/eigen3")] if (p / "Eigen").is_dir()]
    if not compiler or not eigen:
        pytest.skip("needs a C++ compiler and Eigen")
    paths = [f"-I{ROOT / 'cpp'}", f"-I{eigen[0]}", *(str(ROOT / source) for source in sources)]
    subprocess.run([compiler, "-std=c++20", *options, *paths, "-o", str(program)], check=True)
    told = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return [line.split() for line in told.splitlines()]
