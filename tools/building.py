"""Set up .venv with what gyrod needs and its compiled core, and report what is going on.

make calls it before each command, by way of tools/build.py. `python3 tools/build.py EXTRA` installs the packages of
that extra of pyproject.toml (plot, dev) while the core compiles, and does nothing where all is up to date; `build.py
wheel` makes a wheel with every instruction set. It runs before anything is installed, so on the standard library
alone. What pip, CMake and the compiler print goes into build/log.txt; a failure ends with the compiler's error, or
with a sentence that says what is missing and how to get it.
"""

import contextlib
import glob
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STATE = VENV / "gyrod.json"  # what is installed, written when it is: without it .venv is made anew
LOG = ROOT / "build" / "log.txt"

HERE = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
PIP = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input"]
WHOLE_LOG = f"all output is in {LOG.relative_to(ROOT)}."


class Failure(Exception):
    """What a person reads instead of a traceback or a log."""


# --- what is shown ---------------------------------------------------------------------------------------------------


class Screen:
    """Lines that stay, and one that changes: on a terminal in place, elsewhere a line now and then."""

    def __init__(self, every: float = 20.0) -> None:
        self.every, self.terminal = every, sys.stdout.isatty()
        self.last, self.shown = time.monotonic(), ""

    def say(self, text: str) -> None:
        """Print a line that stays."""
        print(("\r\033[K" if self.shown and self.terminal else "") + text, flush=True)
        self.last, self.shown = time.monotonic(), ""

    def show(self, text: str) -> None:
        """Replace the line that does not stay."""
        if self.terminal:
            if text != self.shown:
                print("\r\033[K" + text[: shutil.get_terminal_size().columns - 1], end="", flush=True)
                self.shown = text
        elif text not in ("", self.shown) and time.monotonic() - self.last >= self.every:
            self.say("  " + text)
            self.shown = text


def duration(seconds: float) -> str:
    """A rough time in words."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 45:
        return f"about {round(seconds, -1):.0f} seconds"
    return "about a minute" if seconds < 90 else f"about {seconds / 60:.0f} minutes"


# --- what runs -------------------------------------------------------------------------------------------------------


class Job:
    """Commands, one after the other, beside other jobs; their output is in `lines` and in the log."""

    def __init__(self, *commands: list[str], **environment: str) -> None:
        # Byte code of our own .venv is wanted wherever this runs; ninja by itself takes two processes more than cores.
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        env["PATH"] = f"{PYTHON.parent}{os.pathsep}{env.get('PATH', '')}"
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        env.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(cores))
        self.env = {**env, "NINJA_STATUS": "[%f/%t] ", "PYTHONUNBUFFERED": "1", "LC_ALL": "C.UTF-8", **environment}
        self.commands, self.lines = commands, list[str]()
        self.process: subprocess.Popen[str] | None = None
        self.failed = self.stopped = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        LOG.parent.mkdir(exist_ok=True)
        with LOG.open("a", buffering=1, encoding="utf-8") as log:
            for command in self.commands:
                if self.failed or self.stopped:
                    return
                self.process = subprocess.Popen(
                    command, env=self.env, cwd=ROOT, text=True, errors="replace", start_new_session=True,
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                )  # fmt: skip
                log.write(f"\n$ {shlex.join(command)}\n")
                for line in self.process.stdout or ():
                    log.write(line)
                    self.lines.append(line.rstrip())
                self.failed = self.process.wait() != 0

    def stop(self) -> None:
        """End it with all that it started."""
        self.stopped = True
        if self.process and self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGTERM)

    def status(self) -> str:
        """What it is doing, in a few words."""
        raise NotImplementedError

    def failure(self) -> str:
        """Why it failed: the errors among the lines, or the last ones."""
        errors = [line for line in self.lines if re.match(r"\s*error\b", line, re.IGNORECASE)] or self.lines[-15:]
        return "\n".join([*errors, f"The command failed; {WHOLE_LOG}"])


class Packages(Job):
    """Packages from the index, and their byte code where many interpreters will start."""

    def __init__(self, *arguments: str, byte_code: bool, **environment: str) -> None:
        if os.environ.get("PIP_RETRIES") == "0":
            environment["PIP_RETRIES"] = "1"  # pip says that an index does not answer only where it tries again
        commands = [[*PIP, "install", "--no-compile", *arguments]]
        if byte_code:
            # pip would compile the tests of all packages, too, which takes twice the time. Not left to the first
            # import: that may be one that must not write, or a test for which a warning of the compiler is an error.
            skip = "re.compile('/tests?/|/site-packages/(pip|setuptools|mypyc?)/')"
            code = f"import compileall, re; compileall.compile_dir({str(VENV / 'lib')!r}, 20, rx={skip}, quiet=2)"
            commands.append([str(PYTHON), "-W", "ignore", "-c", code])
        super().__init__(*commands, **environment)

    def status(self) -> str:
        """The package it is at."""
        for line in reversed(self.lines):
            if line.startswith("Collecting "):
                return f"getting {re.split('[^A-Za-z0-9_.-]', line.split()[1])[0]}"
            if line.startswith("Installing collected"):
                return "installing packages"
        return "looking for packages"

    def failure(self) -> str:
        """No network, an unknown package, or what pip says."""
        text = "\n".join(self.lines)
        if re.search(r"connection broken by|ConnectionError|Failed to establish|failure in name resolution", text):
            return (
                "Python packages cannot be fetched because the package index does not answer: connect to the network,"
                " or name a mirror (PIP_INDEX_URL=...) or a folder of wheels (PIP_NO_INDEX=1 PIP_FIND_LINKS=...)."
            )
        missing = re.search(r"No matching distribution found for (\S+)", text)
        if missing:
            return (
                f"The package index has no {missing[1]} for {HERE}: look where pip looks (pip config list) and name"
                f" another index with PIP_INDEX_URL=...; {WHOLE_LOG}"
            )
        return super().failure()


class Core(Job):
    """The core, as pip builds it: CMake and ninja, whose lines are counted."""

    STEP = re.compile(r"\s*\[(\d+)/(\d+)\] (?!Re-)")

    def __init__(self, command: str, *arguments: str, **environment: str) -> None:
        self.began, self.done, self.spent = 0.0, 0, 0.0  # when compiling began; units done, and the seconds for them
        options = ["-v", "--no-deps", "--no-build-isolation"]
        super().__init__([*PIP, command, *options, *arguments, str(ROOT)], **environment)

    def status(self) -> str:
        """How far it is and how long it will take."""
        for line in reversed(self.lines):
            step = self.STEP.match(line)
            if "Building project" in line or step:
                self.began = self.began or time.monotonic()
                if not step:
                    return "compiling"
                done, of = map(int, step.groups())
                now = time.monotonic() - self.began
                self.done, self.spent = done, self.spent if done == self.done else now
                each = self.spent / max(done, 1)  # and never less than one more, however long a unit takes
                left = duration(max(each * (of - done) + self.spent - now, each))
                return f"compiling {min(done + 1, of)} of {of}" + f", {left} left" * (done > 2 and now > 5)
            if "Installing project" in line:
                return "installing the core"
        return "configuring the core"

    def sets(self) -> str:
        """Instruction sets that CMake chose."""
        return "".join(line.split("instruction sets ")[1] for line in self.lines if "gyrod: instruction sets " in line)

    def warnings(self) -> list[str]:
        """What the compiler warned of: all lines of such a unit, which stand between two lines of ninja."""
        found, unit = list[str](), list[str]()
        for line in (line.removeprefix("  ") for line in self.lines):
            if self.STEP.match(line) or line.startswith("***"):
                found += unit if any("warning:" in part for part in unit) else []
                unit = []
            else:
                unit.append(line)
        return found

    def failure(self) -> str:
        """The compiler's error, CMake's, or pip's."""
        lines = [line.removeprefix("  ") for line in self.lines]
        for k, line in enumerate(lines):
            failed = re.match(r"FAILED: (?:\[code=\d+\] )?(?:\S*\.dir/)?(\S+?)(?:\.o(?:bj)?)?(?: |$)", line)
            if failed:
                return self._compiler(failed[1], lines[k + 2 :])
            if line.startswith("CMake Error"):
                said = lines[k + 1 :]
                ends = ("-- ", "***", "CMake ", "Call Stack", "error: ", "See also")
                end = next((n for n, text in enumerate(said) if text.startswith(ends)), len(said))
                text = " ".join(" ".join(said[:end]).split()) or line
                return f"{text}\nCMake cannot configure the core; {WHOLE_LOG}"
        return super().failure()

    def _compiler(self, unit: str, after: list[str]) -> str:
        end = next((n for n, line in enumerate(after) if re.match(r"\[\d+/\d+\]|FAILED: |ninja: ", line)), len(after))
        said = after[:end]
        error = next((n for n, line in enumerate(said) if re.search(r"error:|Killed|undefined reference", line)), 0)
        shown = said[max(0, error - 3) : error + 20]  # the lines before say where: "In file included from"
        why = f"The core does not compile: the compiler's error above is in {unit}; {WHOLE_LOG}"
        if any("Killed" in line for line in said):
            why = (
                f"The compiler was killed at {unit}, most likely because memory ran out: CMAKE_BUILD_PARALLEL_LEVEL=1"
                " in the environment compiles one unit at a time."
            )
        return "\n".join([*shown, why])


def run(screen: Screen, *jobs: Job) -> None:
    """Wait for all; stop all when one fails."""
    try:
        while any(job.thread.is_alive() for job in jobs) and not any(job.failed for job in jobs):
            screen.show("; ".join(job.status() for job in jobs if job.thread.is_alive()))
            time.sleep(0.1)
        screen.show("")
        for job in jobs:
            if job.failed:
                raise Failure(job.failure())
    finally:
        for job in jobs:
            job.stop()


# --- what is needed --------------------------------------------------------------------------------------------------


def pyproject() -> dict[str, Any]:
    """The tables of pyproject.toml."""
    import tomllib  # new in 3.11

    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def requirements(extra: str) -> list[str]:
    """What gyrod always needs and what an extra of pyproject.toml adds, with the extras that it names."""
    project = pyproject()["project"]
    found, todo = dict[str, None](), [*project["dependencies"], f"gyrod[{extra}]"]
    while todo:
        name = todo.pop(0)
        own = re.fullmatch(r"gyrod\[(.*)\]", name)
        if own:
            todo += [item for part in own[1].split(",") for item in project["optional-dependencies"][part.strip()]]
        else:
            found[name] = None
    return list(found)


def build_tools() -> list[str]:
    """What builds the core; CMake and ninja only where the system has none, or none that is new enough."""
    tools: list[str] = pyproject()["build-system"]["requires"]
    needed, there = (
        [int(part) for match in re.findall(r"(?:VERSION|version) (\d+)\.(\d+)", text)[:1] for part in match]
        for text in ((ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), output("cmake", "--version"))
    )
    return tools + ["cmake"] * (there < needed) + ["ninja"] * (not output("ninja", "--version"))


def output(*command: str) -> str:
    """What a program prints; nothing if it is missing or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def check_compiler() -> None:
    """A C++20 compiler is there, and so are Python's headers."""
    get = "Debian, Ubuntu: sudo apt install g++; Fedora: sudo dnf install gcc-c++; macOS: xcode-select --install"
    named = shlex.split(os.environ.get("CXX", ""))
    command = named or [name for name in ("c++", "g++", "clang++") if shutil.which(name)][:1]
    if not command or not shutil.which(command[0]):
        what = f"CXX = {named[0]!r} is not a program" if named else "gyrod needs a C++20 compiler, and there is none"
        raise Failure(f"{what}: get one ({get}), or name one with CXX=... in the environment.")
    probe = [*command, "-std=c++20", "-fsyntax-only", "-DGYROD_PROBE", str(ROOT / "cpp" / "cpu.cpp")]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        version = next(iter(output(*command, "--version").splitlines()), "version unknown")
        raise Failure(
            f"gyrod needs a C++20 compiler, and {command[0]} ({version}) is not one: get GCC 11, Clang 14 or newer"
            f" ({get}), and name it with CXX=... in the environment if it has another name."
        )
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        raise Failure(
            f"The headers of {HERE} are missing: get them (Debian, Ubuntu: sudo apt install python3-dev; Fedora: sudo"
            " dnf install python3-devel), or name another Python with make PYTHON=..."
        )


def create() -> tuple[list[str], dict[str, str]]:
    """Make .venv; returns what gets pip into it, by running it from Python's wheel: faster than ensurepip."""
    try:
        import ensurepip
        import venv
    except ImportError:
        raise Failure(
            f"{HERE} cannot make a virtual environment, its package venv is not complete: get it (Debian, Ubuntu: sudo"
            " apt install python3-venv), or name another Python with make PYTHON=..."
        ) from None
    folder = sysconfig.get_config_var("WHEEL_PKG_DIR") or Path(ensurepip.__file__).with_name("_bundled")
    wheel = next(iter(glob.glob(f"{folder}/pip-*.whl")), "")
    venv.create(VENV, clear=True, symlinks=True, with_pip=not wheel)
    # The newest pip takes half the time of Python's, which will do where there is no index.
    return (["--find-links", str(folder), "pip"], {"PYTHONPATH": wheel}) if wheel else ([], {})


def fingerprint() -> str:
    """Of all that decides what is installed: the compiled core, and where an editable package finds its modules."""
    files = [ROOT / "CMakeLists.txt", ROOT / "pyproject.toml", ROOT / "src" / "gyrod" / "_version.py"]
    files += sorted(path for path in (ROOT / "cpp").rglob("*") if path.is_file())
    marks = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files]
    settings = [os.environ.get(name, "") for name in ("GYROD_ISAS", "CXX", "CXXFLAGS")]
    modules = sorted(str(path) for path in (ROOT / "src").rglob("*.py"))
    return hashlib.sha256(json.dumps([marks, settings, modules]).encode()).hexdigest()


# --- commands --------------------------------------------------------------------------------------------------------


def prepare(screen: Screen, extra: str = "") -> None:
    """Bring .venv up to date: build tools, the packages of an extra and, beside them, the core."""
    began, stub = time.monotonic(), ROOT / "src" / "gyrod" / "_core.pyi"
    state = json.loads(STATE.read_text()) if STATE.exists() and PYTHON.exists() else {}
    have, wanted, mark = state.get("packages", []), requirements(extra) if extra else [], fingerprint()
    tools, packages = ([name for name in names if name not in have] for names in (build_tools(), wanted))
    stale = bool(extra) and (state.get("core") != mark or not stub.exists())
    if not tools and not packages and not stale:
        return

    def keep(**news: object) -> None:
        state.update(news)
        STATE.write_text(json.dumps(state))

    if stale:
        check_compiler()
    LOG.unlink(missing_ok=True)
    if tools or not state:
        if not state:
            screen.say(f"creating .venv with {HERE}")
        pip, env = ([], {}) if state else create()
        screen.say("installing build tools")
        run(screen, Packages(*pip, *tools, byte_code=False, **env))
        keep(packages=[*have, *tools])
    todo = ["compiling the core"] * stale + [f"installing {len(packages)} packages"] * bool(packages)
    if todo:
        screen.say(" and ".join(todo))
    core = Core("install", "--editable") if stale else None
    # A demo imports a tenth of the modules, and compiles these by itself.
    run(screen, *filter(None, [core, Packages(*packages, byte_code=extra != "plot") if packages else None]))
    if core:
        # The type checker does not look into the installed half of an editable package.
        shutil.copy(next(VENV.glob("lib/*/site-packages/gyrod/_core.pyi")), stub)
        for line in core.warnings():
            screen.say(line)
        keep(core=mark)
    keep(packages=[*have, *tools, *packages])
    screen.say(f"ready after {time.monotonic() - began:.0f} s" + (f", core for {core.sets()}" if core else ""))


def wheel(screen: Screen) -> None:
    """A wheel with every instruction set, in dist/; each that this processor runs is imported once."""
    prepare(screen)
    check_compiler()
    screen.say("compiling the core for every instruction set")
    core = Core("wheel", "--wheel-dir", str(ROOT / "dist"), GYROD_ISAS="all")
    run(screen, core)
    made = max((ROOT / "dist").glob("gyrod-*.whl"), key=lambda path: path.stat().st_mtime)
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(made).extractall(folder)
        names = core.sets().split(";")
        code = "import _cpu; print(*(__import__('_core_' + n).isa() for n in {} if n != 'v3' or _cpu.has_v3))"
        command = [str(PYTHON), "-c", code.format(names)]
        ran = subprocess.run(command, cwd=Path(folder, "gyrod"), capture_output=True, text=True, check=False)
    if ran.returncode:
        raise Failure(f"{ran.stderr}The wheel {made} does not run.")
    screen.say(f"{made.relative_to(ROOT)}: {' and '.join(names)}; {ran.stdout.strip()} ran here")


def main(command: str) -> None:
    """Entry point: `plot` or `dev`, an extra of pyproject.toml, or `wheel`."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started ends, too
    screen = Screen()
    try:
        wheel(screen) if command == "wheel" else prepare(screen, command)
    except (Failure, KeyboardInterrupt) as stopped:
        screen.show("")
        sys.exit(str(stopped) or "interrupted")
