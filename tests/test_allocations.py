"""No allocation per step: a small program counts what operator new is asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_steps_do_not_allocate(tmp_path):
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    eigen = [p / "cmeel.prefix" / "include" / "eigen3" for p in map(Path, sys.path)]
    eigen = [p for p in [*eigen, Path("/usr/include/eigen3")] if (p / "Eigen").is_dir()]
    if not compiler or not eigen:
        pytest.skip("needs a C++ compiler and Eigen")
    program = tmp_path / "allocations"
    source = ROOT / "tests" / "cpp" / "allocations.cpp"
    command = [compiler, "-std=c++20", "-O1", f"-I{ROOT / 'cpp'}", f"-I{eigen[0]}", str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    rows = [
        line.split()
        for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    ]
    assert len(rows) == 12
    for formulation, method, steps, allocations in rows:
        assert int(steps) > 5, (formulation, method)
        assert int(allocations) == 0, (formulation, method, allocations)
