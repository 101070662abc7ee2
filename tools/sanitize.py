"""The core's C++ programs under AddressSanitizer and UndefinedBehaviorSanitizer: make sanitize.

It compiles the core's library with the CMake option GYROD_SANITIZE into build/sanitize, links the programs of tests/cpp
with it, assertions on, and runs them: a read or write outside of an array, a leak, a shift or a conversion that C++
leaves undefined ends a program with a report. A first build takes ten minutes on one core.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "sanitize"
FLAGS = (
    "-std=c++20", "-O1", "-g1", "-DDEGREE=3", "-D_GLIBCXX_ASSERTIONS", "-fno-omit-frame-pointer", "-fcx-limited-range",
    "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined",
)  # fmt: skip
#: Programs and what they link besides the library: all of tests/cpp.
PROGRAMS = sorted((ROOT / "tests" / "cpp").glob("*.cpp"))


def tool(name: str) -> str:
    """A program of the virtual environment or of the system."""
    found = shutil.which(name, path=os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")]))
    if not found:
        sys.exit(f"{name} is missing: .venv/bin/pip install {name}")
    return found


def run(*command: str | Path, **options: object) -> None:
    """Run a command that has to succeed."""
    done = subprocess.run([str(part) for part in command], check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"{Path(str(command[0])).name} ended with status {done.returncode}.")


def library() -> Path:
    """The core's library with sanitizers, for every processor."""
    options = ("-DGYROD_SANITIZE=ON", "-DGYROD_ISAS=baseline", f"-DPython_EXECUTABLE={sys.executable}")
    run(tool("cmake"), "-S", ROOT, "-B", BUILD, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}", *options)
    run(tool("cmake"), "--build", BUILD, "--target", "gyrod_baseline")
    return BUILD / "libgyrod_baseline.a"


def main() -> None:
    """Build, run all programs, and say which failed."""
    core, failed = library(), []
    compiler = os.environ.get("CXX") or tool("c++")
    environment = os.environ | {
        "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_init_order=1", "UBSAN_OPTIONS": "print_stacktrace=1",
    }  # fmt: skip
    for source in PROGRAMS:
        began, program = time.monotonic(), BUILD / source.stem
        run(compiler, *FLAGS, f"-I{ROOT / 'cpp'}", source, core, "-o", program)
        done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
        said = f"status {done.returncode}" if done.returncode else "nothing found"
        print(f"{source.name:20s} {said}, {time.monotonic() - began:.0f} s", flush=True)
        if done.returncode:
            failed.append(source.name)
            print(done.stderr[-6000:])
    if failed:
        sys.exit(f"{', '.join(failed)} failed.")


if __name__ == "__main__":
    main()
