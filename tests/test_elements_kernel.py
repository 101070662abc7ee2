"""The compiled kernel of rod elements against dual numbers: a small program compares them, element by element."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
@pytest.mark.parametrize("degree", [2, 3, 4])
def test_forces_rates_and_blocks_are_derivatives(tmp_path, degree):
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    eigen = [p / "cmeel.prefix" / "include" / "eigen3" for p in map(Path, sys.path)]
    eigen = [p for p in [*eigen, Path("/usr/include/eigen3")] if (p / "Eigen").is_dir()]
    if not compiler or not eigen:
        pytest.skip("needs a C++ compiler and Eigen")
    program = tmp_path / "elements"
    source = ROOT / "tests" / "cpp" / "elements.cpp"
    include = [f"-I{ROOT / 'cpp'}", f"-I{eigen[0]}"]
    subprocess.run(
        [compiler, "-std=c++20", "-O0", f"-DDEGREE={degree}", *include, str(source), "-o", str(program)], check=True
    )
    rows = [
        line.split()
        for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    ]
    assert len({tuple(row[:4]) for row in rows}) == 16  # double and lanes; damped, coupled, stretched or not
    for scalar, damped, coupled, stretched, *errors in rows:
        assert max(map(float, errors)) < 1e-12, (scalar, damped, coupled, stretched, errors)
        assert float(errors[2]) > 0.0, "nothing was compared"
