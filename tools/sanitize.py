"""The core's C++ programs under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer: make sanitize.

It compiles the core's library with the CMake option GYROD_SANITIZE into build/sanitize, links the programs of tests/cpp
with it, assertions on, and runs them: a read or write outside of an array, a leak, a shift or a conversion that C++
leaves undefined ends a program with a report. A first build takes ten minutes on one core. The same once more with
ThreadSanitizer, into build/sanitize-thread, for the program that has threads: so does what two of them touch at once.
``python tools/sanitize.py thread`` does one of both.
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
FLAGS = (
    "-std=c++20", "-O1", "-g1", "-DDEGREE=3", "-D_GLIBCXX_ASSERTIONS", "-fno-omit-frame-pointer", "-fcx-limited-range",
    "-fno-sanitize-recover=undefined", "-pthread",
)  # fmt: skip
#: Folder of the build, sanitizers and programs.
ROWS = {
    "address": (ROOT / "build" / "sanitize", "address,undefined", "*.cpp"),
    "thread": (ROOT / "build" / "sanitize-thread", "thread", "threads.cpp"),
}


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


def library(folder: Path, sanitizers: str) -> Path:
    """The core's library with sanitizers, for every processor."""
    options = (f"-DGYROD_SANITIZE={sanitizers}", "-DGYROD_ISAS=baseline", f"-DPython_EXECUTABLE={sys.executable}")
    run(tool("cmake"), "-S", ROOT, "-B", folder, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}", *options)
    run(tool("cmake"), "--build", folder, "--target", "gyrod_baseline")
    return folder / "libgyrod_baseline.a"


def failing(folder: Path, sanitizers: str, programs: str) -> list[str]:
    """Build, run the programs, and return which failed."""
    core, failed = library(folder, sanitizers), []
    compiler = os.environ.get("CXX") or tool("c++")
    environment = os.environ | {
        "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_init_order=1", "UBSAN_OPTIONS": "print_stacktrace=1",
    }  # fmt: skip
    for source in sorted((ROOT / "tests" / "cpp").glob(programs)):
        began, program = time.monotonic(), folder / source.stem
        run(compiler, *FLAGS, f"-fsanitize={sanitizers}", f"-I{ROOT / 'cpp'}", source, core, "-o", program)
        done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
        said = f"status {done.returncode}" if done.returncode else "nothing found"
        print(f"{source.name:20s} {sanitizers:18s} {said}, {time.monotonic() - began:.0f} s", flush=True)
        if done.returncode:
            failed.append(source.name)
            print(done.stderr[-6000:])
    return failed


def main(names: list[str]) -> None:
    """All rows, or those that are named."""
    failed = [name for row in names or ROWS for name in failing(*ROWS[row])]
    if failed:
        sys.exit(f"{', '.join(failed)} failed.")


if __name__ == "__main__":
    main(sys.argv[1:])
