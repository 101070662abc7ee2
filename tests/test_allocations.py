"""No allocation per step: a small program counts what operator new is asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("rods", "mechanisms", "coupled")]


@pytest.mark.parametrize("kind", ["bodies", *SLOW])
def test_steps_do_not_allocate(tmp_path, kind):
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    eigen = [p / "cmeel.prefix" / "include" / "eigen3" for p in map(Path, sys.path)]
    eigen = [p for p in [*eigen, Path("/usr/include/eigen3")] if (p / "Eigen").is_dir()]
    if not compiler or not eigen:
        pytest.skip("needs a C++ compiler and Eigen")
    program = tmp_path / "allocations"
    sources = [ROOT / "tests" / "cpp" / "allocations.cpp"]
    if kind in ("rods", "coupled"):
        sources.append(ROOT / "cpp" / "gyrod" / "rod" / "elements.cpp")
    options = ["-O1"] if kind == "bodies" else ["-O0", f"-D{kind.upper()}"]
    include = [f"-I{ROOT / 'cpp'}", f"-I{eigen[0]}"]
    subprocess.run([compiler, "-std=c++20", *options, *include, *map(str, sources), "-o", str(program)], check=True)
    rows = [
        line.split()
        for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    ]
    assert len(rows) == (6 if kind == "coupled" else 12)
    for formulation, method, steps, allocations in rows:
        assert int(steps) > 5, (formulation, method)
        assert int(allocations) == 0, (formulation, method, allocations)
