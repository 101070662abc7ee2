"""The tests where results may differ: make test-portable.

It builds the portable instruction set, then runs the whole suite with it and with another kernel of BLAS, and parts of
it with a core that asserts indices and sizes and with what else a machine may have: other kernels, NumPy without its
dispatch, threads, the oldest NumPy and SciPy of pyproject.toml, and as a stranger (not root, a path with a space,
another language and time zone, random order).
Each run is in a copy of the working tree below build/portable, where its output is, too.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "portable"
#: Kernels of OpenBLAS by what a processor must have; the first one differs most from what today's take.
KERNELS = {
    "Prescott": "pni",
    "Nehalem": "sse4_2",
    "Sandybridge": "avx",
    "Haswell": "fma",
    "Zen": "fma",
    "SkylakeX": "avx512f",
}
#: What NumPy's and SciPy's linear algebra decides: equilibria, modes, load paths, loops, fits, documented output.
ALGEBRA = (
    "eigen or statics or follow or joined or on_bodies or between or routing or converged or fit or indices or docs"
)
#: What walks through all of the core.
CORE = (
    "core or members or kirchhoff or on_bodies or joined or between or links or contact or crossings or rings"
    " or variational or energy_momentum or statics or gyro or integrators"
)
NUMERIC, OTHER = ("-m", "numeric and not slow"), ("-m", "not numeric and not slow")
USER = "nobody"
LANGUAGE = "de_DE"


@dataclass(frozen=True)
class Case:
    """A run: its name, what is different, and the tests."""

    name: str
    about: str
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    isa: str = ""
    tree: str = "tree"
    venv: str = "newest"
    stranger: bool = False


def say(text: str) -> None:
    """Print what is going on."""
    print(text, flush=True)


def run(command: list[str], log: Path, **options: object) -> None:
    """Run a command that has to succeed, its output in a file."""
    with log.open("a", encoding="utf-8") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"{Path(command[0]).name} failed; the end of {log.relative_to(ROOT)}:\n{log.read_text()[-3000:]}")


# --- what is needed --------------------------------------------------------------------------------------------------


def requirements(oldest: bool) -> list[str]:
    """What the tests and the build need, by pyproject.toml; NumPy and SciPy in the oldest allowed versions, or any."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]

    def of(names: list[str]) -> Iterator[str]:
        for name in names:
            inner = re.fullmatch(r"gyrod\[(.*)\]", name)
            yield from of([n for extra in inner[1].split(",") for n in extras[extra.strip()]]) if inner else [name]

    found = [
        *project["build-system"]["requires"],
        "cmake",
        "ninja",
        *of(project["project"]["dependencies"] + extras["test"]),
    ]
    if oldest:
        found = [re.sub(r"^(numpy|scipy)>=([\d.]+)$", r"\1==\2.*", name) for name in found]
    return list(dict.fromkeys(found))


def environment(name: str) -> Path:
    """A virtual environment with all of that and without gyrod; its interpreter."""
    folder, wanted = WORK / name, requirements(name == "oldest")
    stamp, key = folder / "stamp", hashlib.sha256("\n".join([sys.version, *wanted]).encode()).hexdigest()
    python = folder / "bin" / "python"
    if not stamp.exists() or stamp.read_text() != key:
        say(f"installing packages, {name}")
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        log = WORK / f"{name}.log"
        run([str(python), "-m", "pip", "--disable-pip-version-check", "install", "-q", *wanted], log)
        stamp.write_text(key)
    return python


#: Cores that are compiled here, by the trees they go into.
CORES = {"portable": "GYROD_ISAS=baseline", "checked": "GYROD_CHECKED=ON"}


def core_of(python: Path, tree: str) -> list[tuple[str, bytes]]:
    """What a tree is run with: a core of its own, or the installed one."""
    if tree not in CORES:
        return native_core()
    say(f"compiling with {CORES[tree]}")
    wheels = WORK / f"{tree}-wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    path = {"PATH": f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    options = ["-C", f"build-dir={WORK / tree}-cmake", "-C", f"cmake.define.{CORES[tree]}"]
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "--no-build-isolation"]
    run([*pip, *options, "-w", str(wheels), str(ROOT)], WORK / "build.log", env=os.environ | path)
    with zipfile.ZipFile(next(wheels.glob("gyrod-*.whl"))) as wheel:
        return [(Path(name).name, wheel.read(name)) for name in wheel.namelist() if compiled(Path(name))]


def compiled(file: Path) -> bool:
    """Whether a file of the package comes from the compiler."""
    return file.parent.name == "gyrod" and file.suffix in (".so", ".pyi")


def native_core() -> list[tuple[str, bytes]]:
    """What is installed for the interpreter that runs this."""
    folder = Path(sysconfig.get_path("platlib")) / "gyrod"
    found = [(file.name, file.read_bytes()) for file in folder.glob("*") if compiled(file)]
    if not found:
        sys.exit(f"there is no compiled core in {folder}; run make test-portable, which builds it.")
    return found


def copy(name: str, core: list[tuple[str, bytes]]) -> Path:
    """The files that git knows or would add, with a compiled core beside its Python."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for file in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / file).is_file():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, folder / file)
    for file, data in core:
        (folder / "src" / "gyrod" / file).write_bytes(data)
    return folder


# --- what the machine has --------------------------------------------------------------------------------------------


def kernels() -> list[str]:
    """Kernels of OpenBLAS that this processor can run."""
    info = Path("/proc/cpuinfo")
    flags = set(re.findall(r"^flags\s*:(.*)$", info.read_text(), re.M)[0].split()) if info.exists() else set()
    return [name for name, needed in KERNELS.items() if needed in flags]


def dispatched(python: Path) -> str:
    """Features of the processor that NumPy would pick code for."""
    code = (
        "from numpy._core._multiarray_umath import __cpu_dispatch__ as d, __cpu_features__ as f\n"
        "print(*(x for x in d if f.get(x)))"
    )
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=False).stdout.strip()


def language() -> dict[str, str]:
    """Another language, compiled here, and another time zone."""
    folder = WORK / "locale"
    folder.mkdir(exist_ok=True)
    if shutil.which("localedef") and not (folder / f"{LANGUAGE}.UTF-8").exists():
        command = ["localedef", "-i", LANGUAGE, "-f", "UTF-8", str(folder / f"{LANGUAGE}.UTF-8")]
        subprocess.run(command, capture_output=True, check=False)
    known = (folder / f"{LANGUAGE}.UTF-8").exists()
    return {"TZ": "Asia/Kathmandu", **({"LOCPATH": str(folder), "LC_ALL": f"{LANGUAGE}.UTF-8"} if known else {})}


def powerless() -> None:
    """Keep root from writing and reading what it has no permission for."""
    libc = ctypes.CDLL(None)
    for capability in range(64):
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP: what a program gets at exec


def stranger(python: Path, folder: Path) -> tuple[dict[str, object], str]:
    """Options of a process that is not root, and who it is."""
    if os.name != "posix" or os.geteuid() != 0:
        return {}, "this user"
    as_user: dict[str, object] = {"user": USER, "group": "nogroup", "extra_groups": []}
    try:
        subprocess.run([python, "-c", "import numpy"], cwd=folder, capture_output=True, check=True, **as_user)  # type: ignore[call-overload]
    except (OSError, LookupError, subprocess.CalledProcessError):
        return {"preexec_fn": powerless}, "root without its powers"  # the interpreter is where others may not read
    for path in [folder, *folder.rglob("*")]:
        shutil.chown(path, USER)
    return as_user, USER


# --- runs ------------------------------------------------------------------------------------------------------------


def cases(python: Path, seed: int) -> Iterator[Case]:
    """What is run, the longest first."""
    found = kernels()
    yield Case("baseline", "portable instruction set", isa="baseline", tree="portable")
    if found:
        yield Case(found[0], f"BLAS kernel {found[0]}, one thread", environment=blas(found[0], 1))
    yield Case("checked", "assertions of the core", (*NUMERIC, "-k", CORE), tree="checked")
    yield Case("oldest", "oldest NumPy and SciPy", NUMERIC, venv="oldest")
    yield Case(
        "stranger", "not root, a path with a space, language, time zone, random order", (*OTHER, f"--shuffle={seed}"),
        language(), tree="a path", stranger=True,
    )  # fmt: skip
    for name in found[1:]:
        yield Case(name, f"BLAS kernel {name}, four threads", (*NUMERIC, "-k", ALGEBRA), blas(name, 4))
    if off := dispatched(python):
        yield Case("dispatch", "NumPy without " + off, NUMERIC, {"NPY_DISABLE_CPU_FEATURES": off})


def blas(kernel: str, threads: int) -> dict[str, str]:
    """Variables that OpenBLAS reads."""
    return {"OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}


def test(case: Case, python: Path, folder: Path, jobs: int) -> tuple[str, int]:
    """Run a case: the last line of pytest and its exit status."""
    log, temporary = WORK / f"{case.name}.txt", folder / "tmp"
    temporary.mkdir(exist_ok=True)
    env = (
        os.environ
        | {"PYTHONPATH": str(folder / "src"), "HOME": str(folder), "TMPDIR": str(temporary)}
        | case.environment
    )
    env.pop("GYROD_ISA", None)
    if case.isa:
        env["GYROD_ISA"] = case.isa
    options, who = stranger(python, folder) if case.stranger else ({}, "")
    if who:
        say(f"  as {who}")
    command = [
        python,
        "-m",
        "pytest",
        "-n",
        str(jobs),
        "--dist",
        "worksteal",
        "-q",
        "-p",
        "no:cacheprovider",
        *case.arguments,
    ]
    with log.open("w", encoding="utf-8") as out:
        done = subprocess.run(
            command, cwd=folder, env=env, stdout=out, stderr=subprocess.STDOUT, check=False, **options
        )  # type: ignore[call-overload]
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    for line in lines:
        if line.startswith(("FAILED", "ERROR")):
            say("  " + line)
    shutil.rmtree(temporary, ignore_errors=True)
    return (lines[-1] if lines else "nothing was printed").strip("= "), done.returncode


def main() -> int:
    """Run the cases and print a table of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("only", nargs="*", help="names of runs; all without")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="tests at a time")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the random order")
    given = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    python = environment("newest")
    chosen = [case for case in cases(python, given.seed) if not given.only or case.name in given.only]
    trees = {name: copy(name, core_of(python, name)) for name in {case.tree for case in chosen}}
    rows = [("prepared", f"{time.monotonic() - started:.0f} s", "", "")]
    status = 0
    for case in chosen:
        say(f"{case.name}: {case.about}")
        began = time.monotonic()
        result, code = test(case, environment(case.venv), trees[case.tree], given.jobs)
        rows.append((case.name, f"{time.monotonic() - began:.0f} s", "passed" if code == 0 else "FAILED", result))
        say(f"  {result}")
        status |= code != 0
    say("")
    for row in [*rows, ("in all", f"{time.monotonic() - started:.0f} s", "FAILED" if status else "passed", "")]:
        say(f"{row[0]:<12}{row[1]:>8}  {row[2]:<8}{row[3]}")
    if status:
        say(f"output is in {WORK.relative_to(ROOT)}/NAME.txt; the random order had --seed {given.seed}.")
    return status


if __name__ == "__main__":
    sys.exit(main())
