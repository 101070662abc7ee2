"""What building and starting gyrod cost, measured in a clean clone of HEAD and held against the values last kept.

`make budgets`, or with arguments: --ci runs .ci/run as well, --keep writes tools/budgets.json. Seconds are compared in
multiples of what nanobind's own source takes to compile here, so that another machine is no excuse. Exit status 1 if a
value exceeds the kept one by more than its noise. Wall times want a quiet machine; on a busy one they are only shown.
"""

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tools" / "budgets.json"
REFERENCE = "nanobind's source, CPU s"


class Budget(NamedTuple):
    """What is wanted, by which part a measurement may exceed the kept value, and of what kind it is."""

    wanted: float
    noise: float
    kind: str  # wall and cpu scale with the machine, plain does not


BUDGETS = {
    "cold make demo, wall s": Budget(150, 0.2, "wall"),
    "cold make demo, CPU s": Budget(250, 0.1, "cpu"),
    "cold make demo, times nanobind's source": Budget(50, 0.1, "plain"),
    "compile one set, CPU s": Budget(170, 0.1, "cpu"),
    "largest compiler process, GB": Budget(0.7, 0.05, "plain"),
    "longest unit, CPU s": Budget(27, 0.15, "cpu"),
    "rebuild after touching a rod kernel, wall s": Budget(25, 0.2, "wall"),
    ".ci/run, wall s": Budget(540, 0.2, "wall"),
    "installed extension, MB": Budget(3, 0.02, "plain"),
    "import gyrod, s": Budget(0.20, 0.2, "wall"),
    "gyrod --help, s": Budget(0.30, 0.2, "wall"),
}


class Unit(NamedTuple):
    """One call of the compiler."""

    source: str
    cpu: float
    memory: float  # GB


def record(log: str, command: list[str]) -> int:
    """Run a compiler as CMake's launcher and note what it took."""
    code = subprocess.call(command)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    source = next((part for part in command if part.endswith((".cpp", ".cxx"))), "")
    unit = Unit(source, used.ru_utime + used.ru_stime, used.ru_maxrss / (1e6 if sys.platform == "linux" else 1e9))
    with open(log, "a", encoding="utf-8") as file:
        file.write(json.dumps(unit) + "\n")
    return code


def timed(command: list[str], folder: Path, env: dict[str, str], *, shown: bool = False) -> tuple[float, float]:
    """Wall and CPU seconds of a command and all that it starts; its output only if wanted or if it fails."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    out, error = (None, None) if shown else (subprocess.PIPE, subprocess.STDOUT)
    done = subprocess.run(command, cwd=folder, env=env, stdout=out, stderr=error, text=True, check=False)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{done.stdout or ''}\n{shlex.join(command)} failed in a clean clone of HEAD.")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(folder: Path, *, ci: bool) -> dict[str, float]:
    """The table, in clones below a folder."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", "MAKEFLAGS")}
    env |= {"CCACHE_DISABLE": "1", "GYROD_ISAS": "auto"}
    found: dict[str, float] = {}

    def clone(name: str) -> Path:
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder / name)], check=True)
        return folder / name

    here, log = clone("gyrod"), folder / "units"
    # CMake reads it when it first configures; ccache then stays out.
    env["CMAKE_CXX_COMPILER_LAUNCHER"] = f"{sys.executable};{Path(__file__).resolve()};--unit;{log}"
    wall, cpu = timed(["make", "demo"], here, env, shown=True)
    found["cold make demo, wall s"], found["cold make demo, CPU s"] = wall, cpu

    units = [Unit(*json.loads(line)) for line in log.read_text(encoding="utf-8").splitlines()]
    own = [unit for unit in units if str(here / "cpp") in unit.source or "/together/" in unit.source]
    found["compile one set, CPU s"] = sum(unit.cpu for unit in own)
    found["largest compiler process, GB"] = max(unit.memory for unit in units)
    found["longest unit, CPU s"] = max(unit.cpu for unit in own)
    print("\nunits, CPU s and GB:")
    for unit in sorted(own, key=lambda unit: -unit.cpu):
        print(f"{unit.cpu:7.1f} {unit.memory:5.2f}  {Path(unit.source).relative_to(here)}")

    source = next(here.glob(".venv/lib/*/site-packages/nanobind")) / "src"
    command = [*shlex.split(os.environ.get("CXX", "c++")), "-O2", "-std=c++17", "-fPIC", "-I../include", "-c"]
    command += [f"-I{sysconfig.get_path('include')}", "-I../ext/robin_map/include", "nb_combined.cpp", "-o", os.devnull]
    found[REFERENCE] = min(timed(command, source, env)[1] for _ in range(3))
    found["cold make demo, times nanobind's source"] = cpu / found[REFERENCE]

    installed = next(here.glob(".venv/lib/*/site-packages/gyrod"))
    found["installed extension, MB"] = sum(path.stat().st_size for path in installed.glob("_c*.so")) / 1e6
    for name, call in ("import gyrod, s", ["python", "-c", "import gyrod"]), ("gyrod --help, s", ["gyrod", "--help"]):
        found[name] = min(timed([f"{here}/.venv/bin/{call[0]}", *call[1:]], here, env)[0] for _ in range(10))

    rods = [unit for unit in own if "/rod/" in unit.source]
    Path(max(rods, key=lambda unit: unit.cpu).source).touch()
    rebuild = timed([sys.executable, "tools/build.py", "plot"], here, env)
    found["rebuild after touching a rod kernel, wall s"] = rebuild[0]
    if ci:
        del env["CMAKE_CXX_COMPILER_LAUNCHER"]
        found[".ci/run, wall s"] = timed([".ci/run"], clone("ci"), env, shown=True)[0]
    return found


def judge(found: dict[str, float], kept: dict[str, float], *, quiet: bool) -> list[str]:
    """Print the table; the names that exceed what was kept."""
    speed = found[REFERENCE] / kept.get(REFERENCE, found[REFERENCE])
    worse, rows = [], [["", "kept", "now", "wanted", ""]]
    for name, budget in BUDGETS.items():
        if name not in found:
            continue
        scale = 1.0 if budget.kind == "plain" else speed
        limit = kept.get(name, float("inf")) * scale * (1.0 + budget.noise)
        judged = quiet or budget.kind != "wall"
        if found[name] > limit and judged:
            worse.append(name)
        remark = "" if found[name] <= limit else f"more than {limit:.3g}" if judged else "not judged: busy machine"
        before = f"{kept[name] * scale:.3g}" if name in kept else "-"
        rows.append([name, before, f"{found[name]:.3g}", f"{budget.wanted:g}", remark])
    widths = [max(len(row[k]) for row in rows) for k in range(5)]
    print()
    for row in rows:
        print(" | ".join([row[0].ljust(widths[0]), *(row[k].rjust(widths[k]) for k in (1, 2, 3)), row[4]]).rstrip(" |"))
    print(f"\n{REFERENCE}: {found[REFERENCE]:.2f}; kept values are scaled by {speed:.2f}")
    return worse


def main() -> None:
    """Measure, print, compare, and keep if asked."""
    if sys.argv[1:2] == ["--unit"]:
        sys.exit(record(sys.argv[2], sys.argv[3:]))
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--ci", action="store_true", help="run .ci/run in a clean clone, too")
    parser.add_argument("--keep", action="store_true", help=f"write what was measured into {KEPT.relative_to(ROOT)}")
    given = parser.parse_args()
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"The machine is busy (load {load:.1f}): wall times are shown, not judged.")
    if subprocess.check_output(["git", "status", "--porcelain", "--untracked-files=no"], cwd=ROOT):
        print("Uncommitted changes are not measured: the clone is one of HEAD.")
    with tempfile.TemporaryDirectory(prefix="budgets-") as folder:
        found = measure(Path(folder).resolve(), ci=given.ci)
    worse = judge(found, kept, quiet=load <= 0.5)
    if given.keep:
        rounded = {name: float(f"{value:.3g}") for name, value in (kept | found).items()}
        KEPT.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
    elif worse:
        sys.exit(f"Over budget: {', '.join(worse)}. If the reason is a good one, keep the new values with --keep.")


if __name__ == "__main__":
    main()
