"""tools/build.py and tools/budgets.py with fake tools: what a person reads when something is missing or fails."""

import ast
import importlib.util
import io
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def load(name):
    spec = importlib.util.spec_from_file_location(f"tools_{name}", ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build, budgets = load("building"), load("budgets")


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def tree(tmp_path):
    """A checkout with what the tool reads, in a folder with a space, and a compiler that accepts everything."""
    root = tmp_path / "a checkout"
    tools = ("tools/build.py", "tools/building.py")
    for name in (*tools, "cpp/cpu.cpp", "CMakeLists.txt", "pyproject.toml", "src/gyrod/_version.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    for name, says in ("c++", ""), ("cmake", "cmake version 3.30.0"), ("ninja", "1.12.0"):
        script(root / "bin" / name, f"echo {says}")
    return root


def run(root, *, extra="plot", **environment):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "GYROD_", "CXX", "PYTHON"))}
    env |= {"PATH": f"{root / 'bin'}:/usr/bin:/bin", "PIP_CONFIG_FILE": os.devnull, **environment}
    command = [sys.executable, str(root / "tools" / "build.py"), extra]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def one_sentence(done, *parts):
    """The last words are one line that names all of this; no traceback, exit status 1."""
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    for part in parts:
        assert part in lines[0]


# --- what is missing -------------------------------------------------------------------------------------------------


def test_no_compiler(tree):
    (tree / "bin" / "c++").unlink()
    one_sentence(run(tree, PATH=str(tree / "bin")), "needs a C++20 compiler, and there is none", "sudo apt install g++")
    one_sentence(run(tree, CXX="g++-99 -m64"), "CXX = 'g++-99' is not a program", "sudo apt install g++")


def test_compiler_without_cpp20(tree):
    old = script(tree / "old", 'test "$1" = --version && echo "g++ (GCC) 4.8.5" && exit 0\nexit 1')
    found = run(tree, CXX=str(old).replace(" ", "\\ "))
    one_sentence(found, f"needs a C++20 compiler, and {old} (g++ (GCC) 4.8.5) is not one", "GCC 11", "CXX=")


def test_compiler_of_this_machine_passes():
    if not any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        pytest.skip("no compiler")
    build.check_compiler()


def test_headers_of_python_are_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(build.sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setenv("CXX", shlex.quote(str(script(tmp_path / "cxx", "exit 0"))))
    with pytest.raises(build.Failure, match=r"The headers of Python 3\.\d+ are missing: .*apt install python3-dev"):
        build.check_compiler()


def test_python_without_venv(tree):
    (tree / "none").mkdir()
    (tree / "none" / "ensurepip.py").write_text("raise ImportError", encoding="utf-8")
    one_sentence(
        run(tree, PYTHONPATH=str(tree / "none")), "cannot make a virtual environment", "apt install python3-venv"
    )


def test_python_too_old(tree, monkeypatch):
    """The file is read by a Python that knows little before it can refuse it."""
    path = ROOT / "tools" / "build.py"
    source = path.read_bytes().decode("ascii")  # 2.7 takes nothing else
    new = ast.JoinedStr | ast.AnnAssign | ast.Starred | ast.FunctionDef | ast.With
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, new)]
    assert {ast.unparse(node) for node in nodes} == {"*sys.version_info", "*sys.argv[1:]"}  # arguments of calls
    monkeypatch.setattr(sys, "version_info", (3, 10, 1, "final", 0))
    monkeypatch.setattr(os, "execv", lambda *_: None)  # a .venv may be there
    with pytest.raises(SystemExit, match=r"needs Python 3\.11 or newer, and this is 3\.10: .*make PYTHON=python3\.12"):
        runpy.run_path(str(path))
    for name in ("python2.7", "python3.6", "python3.9"):
        old = [name, str(tree / "tools" / "build.py"), "plot"]
        if shutil.which(name) and not subprocess.run([name, "-c", ""], check=False).returncode:
            one_sentence(subprocess.run(old, capture_output=True, text=True, check=False), "gyrod needs Python 3.11")


def test_an_index_that_does_not_answer():
    job = build.Packages.__new__(build.Packages)
    job.lines = ["WARNING: Retrying after connection broken by 'NewConnectionError(Failed to establish a connection)'"]
    assert "the package index does not answer: connect to the network" in job.failure()
    assert "PIP_INDEX_URL=" in job.failure()


@pytest.mark.slow
def test_no_network(tree):
    done = run(tree, PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="0")
    one_sentence(done, "the package index does not answer: connect to the network", "PIP_INDEX_URL=")
    said = [line for line in done.stdout.splitlines() if not line.startswith("  ")]  # progress, on a slow machine
    assert said == [f"creating .venv with {build.HERE}", "installing build tools"]


def test_package_that_the_index_does_not_have():
    job = build.Packages.__new__(build.Packages)
    job.lines = ["Collecting vtk>=9.3", "ERROR: No matching distribution found for vtk>=9.3"]
    assert job.status() == "getting vtk"
    assert job.failure().startswith(f"The package index has no vtk>=9.3 for {build.HERE}: ")


# --- the core --------------------------------------------------------------------------------------------------------

PIP_SAYS = """\
Using pip 23.2.1
WARNING: Location 'file:///somewhere/' is ignored: it is neither a file nor a directory.
  *** Configuring CMake...
  -- gyrod: instruction sets v3
  *** Building project with Ninja...
  [0/2] Re-checking globbed directories...
  [1/9] Building CXX object CMakeFiles/gyrod_v3.dir/cpp/gyrod/one.cpp.o
  [2/9] Building CXX object CMakeFiles/gyrod_v3.dir/cpp/gyrod/two.cpp.o
  two.cpp: In function 'int two()':
  two.cpp:3:1: warning: unused variable 'n'
  [3/9] Building CXX object CMakeFiles/gyrod_v3.dir/cpp/gyrod/three.cpp.o
  [4/9] Building CXX object CMakeFiles/gyrod_v3.dir/cpp/gyrod/four.cpp.o
"""
DONE = "  [9/9] Generating _core.pyi\n  *** Installing project into wheel...\nSuccessfully installed gyrod\n"
FAILED = """\
  [5/9] Building CXX object CMakeFiles/gyrod_v3.dir/cpp/gyrod/rod/five.cpp.o
  FAILED: CMakeFiles/gyrod_v3.dir/cpp/gyrod/rod/five.cpp.o
  /usr/bin/c++ -O3 -o five.cpp.o -c cpp/gyrod/rod/five.cpp
  cpp/gyrod/rod/five.cpp: In function 'int five()':
  cpp/gyrod/rod/five.cpp:4:23: error: 'undefined_thing' was not declared in this scope
  ninja: build stopped: subcommand failed.
  *** CMake build failed
  error: subprocess-exited-with-error
ERROR: Failed building editable for gyrod
note: This error originates from a subprocess, and is likely not a problem with pip.
"""
KILLED = FAILED.replace("cpp/gyrod/rod/five.cpp:4:23: error: 'undefined_thing' was not declared in this scope",
                        "c++: fatal error: Killed signal terminated program cc1plus")  # fmt: skip
CMAKE = """\
  *** Configuring CMake...
  CMake Error at CMakeLists.txt:80 (message):
    GYROD_ISAS = 'v9': here it can be auto, all or one of:
    baseline.


  -- Configuring incomplete, errors occurred!
ERROR: Failed building editable for gyrod
"""


def core(text, began=0.0):
    job = build.Core.__new__(build.Core)
    job.lines, job.began, job.done, job.spent = text.splitlines(), began, 0, 0.0
    return job


def test_progress_of_the_core():
    assert core("Using pip 23.2.1\n").status() == "configuring the core"
    assert core("\n".join(PIP_SAYS.splitlines()[:6])).status() == "compiling"
    assert core(PIP_SAYS).status() == "compiling 5 of 9"
    assert core(PIP_SAYS, time.monotonic() - 48).status() == "compiling 5 of 9, about a minute left"
    slow = core(PIP_SAYS, time.monotonic() - 48)
    slow.done, slow.spent = 4, 24.0  # the fifth takes long: what is left does not grow
    assert slow.status() == "compiling 5 of 9, a few seconds left"
    assert core(PIP_SAYS + DONE).status() == "installing the core"
    assert core(PIP_SAYS + DONE).sets() == "v3"
    assert core(PIP_SAYS + DONE).warnings() == PIP_SAYS.replace("\n  ", "\n").splitlines()[8:10]
    words = [build.duration(seconds) for seconds in (4, 33, 48, 80, 130)]
    assert words == ["a few seconds", "about 30 seconds", "about a minute", "about a minute", "about 2 minutes"]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        (FAILED, "cpp/gyrod/rod/five.cpp: In function", "The core does not compile: the compiler's error above is in"),
        (FAILED.replace("FAILED:", "FAILED: [code=1]"), "cpp/gyrod/rod/five.cpp: In", "The core does not compile: "),
        (
            KILLED,
            "cpp/gyrod/rod/five.cpp: In",
            "The compiler was killed at cpp/gyrod/rod/five.cpp, most likely",
        ),
        (CMAKE, "GYROD_ISAS = 'v9': here it can be auto, all or one of: baseline.", "CMake cannot configure the core"),
    ],
)
def test_failure_is_the_compilers(text, first, last):
    lines = core(PIP_SAYS + text).failure().splitlines()
    assert lines[0].startswith(first)
    assert lines[-1].startswith(last)
    assert not re.search("pip|subprocess|ninja|WARNING", "".join(lines))


def installed(tree, says, status):
    """A .venv whose python is a fake: it counts its calls and says what pip said."""
    (tree / "says").write_text(says, encoding="utf-8")
    there = tree / ".venv/lib/python3.11/site-packages/gyrod"
    there.mkdir(parents=True)
    (there / "_core.pyi").write_text("# stub", encoding="utf-8")
    script(tree / ".venv/bin/python", f'echo "$@" >> calls\ncat says\nexit {status}')
    packages = [*build.build_tools(), *build.requirements("plot"), "cmake", "ninja"]
    (tree / ".venv/gyrod.json").write_text(json.dumps({"packages": packages}), encoding="utf-8")


def test_a_failed_build_ends_with_the_compilers_error(tree):
    installed(tree, PIP_SAYS + FAILED, 1)
    done = run(tree)
    assert done.returncode == 1
    assert done.stdout == "compiling the core\n"
    assert done.stderr.splitlines()[-2].endswith("error: 'undefined_thing' was not declared in this scope")
    assert done.stderr.splitlines()[-1].endswith("is in cpp/gyrod/rod/five.cpp; all output is in build/log.txt.")
    assert "WARNING: Location" in (tree / "build" / "log.txt").read_text(encoding="utf-8")


def test_nothing_is_done_twice(tree):
    installed(tree, PIP_SAYS + DONE, 0)
    done = run(tree)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[0] == "compiling the core"
    assert said[2].startswith("two.cpp:3:1: warning:")
    assert re.fullmatch(r"ready after \d+ s, core for v3", said[-1])
    assert (tree / "src/gyrod/_core.pyi").read_text(encoding="utf-8") == "# stub"

    def calls():
        return len((tree / "calls").read_text(encoding="utf-8").splitlines())

    assert calls() == 1
    assert run(tree).stdout == ""
    assert calls() == 1
    for change in (
        lambda: (tree / "cpp" / "deep" / "er").mkdir(parents=True),  # an empty folder is no change
        lambda: (tree / "cpp" / "deep" / "er" / "new.cpp").write_text("int n;", encoding="utf-8"),
        lambda: (tree / "cpp" / "deep" / "er" / "new.cpp").unlink(),
        lambda: (tree / "src/gyrod/_core.pyi").unlink(),
        lambda: (tree / "src/gyrod/new.py").write_text("", encoding="utf-8"),  # an editable package lists its modules
        lambda: (tree / "src/gyrod/new.py").write_text("n = 1\n", encoding="utf-8"),
    ):
        change()
        run(tree)
    assert calls() == 5
    run(tree, GYROD_ISAS="baseline")
    assert calls() == 6


def test_requirements_are_those_of_the_extra():
    plot, dev = build.requirements("plot"), build.requirements("dev")
    assert {"numpy", "matplotlib"} <= {re.split("[<>=]", name)[0] for name in plot}
    assert set(plot) < set(dev)
    assert not [name for name in dev if name.startswith("gyrod")]
    assert [name for name in dev if name.startswith("pytest")]
    assert not [name for name in dev if name.startswith("sphinx")]  # tests do without, make docs installs it


class Stream(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.isatty = lambda: terminal


@pytest.mark.parametrize("terminal", [True, False])
def test_terminal_and_log(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stdout", Stream(terminal))
    screen = build.Screen(every=0.0 if terminal else 3600.0)
    screen.say("first")
    for text in ("compiling 1 of 9", "compiling 1 of 9", "compiling 2 of 9", ""):
        screen.show(text)
    screen.say("ready")
    shown = sys.stdout.getvalue()
    place = "\r\033[K"
    in_place = f"{place}compiling 1 of 9{place}compiling 2 of 9{place}"
    assert shown == f"first\n{in_place if terminal else ''}ready\n"
    if not terminal:  # a line now and then
        screen.every = 0.0
        screen.show("compiling 3 of 9")
        screen.show("compiling 3 of 9")
        assert sys.stdout.getvalue().endswith("ready\n  compiling 3 of 9\n")


# --- budgets ---------------------------------------------------------------------------------------------------------


def test_budgets_are_compared_in_units_of_the_machine(capsys):
    kept = {budgets.REFERENCE: 5.0, "longest unit, CPU s": 20.0, "cold make demo, wall s": 100.0,
            "largest compiler process, GB": 0.6}  # fmt: skip
    slow = {budgets.REFERENCE: 10.0, "longest unit, CPU s": 41.0, "cold make demo, wall s": 205.0,
            "largest compiler process, GB": 0.6}  # fmt: skip
    assert budgets.judge(slow, kept, quiet=True) == []
    assert budgets.judge(slow | {"longest unit, CPU s": 60.0}, kept, quiet=True) == ["longest unit, CPU s"]
    busy = slow | {"cold make demo, wall s": 900.0, "largest compiler process, GB": 0.7}
    assert budgets.judge(busy, kept, quiet=False) == ["largest compiler process, GB"]
    assert "not judged: busy machine" in capsys.readouterr().out
    assert budgets.judge(busy, {}, quiet=True) == []


def test_budgets_record_what_a_compiler_takes(tmp_path):
    work = "import sys; x = bytearray(120_000_000); sum(range(1_000_000)); sys.exit(3)"
    command = [sys.executable, str(ROOT / "tools" / "budgets.py"), "--unit", str(tmp_path / "log")]
    done = subprocess.run([*command, sys.executable, "-c", work, "rod.cpp"], check=False)
    assert done.returncode == 3
    unit = budgets.Unit(*json.loads((tmp_path / "log").read_text(encoding="utf-8")))
    assert unit.source == "rod.cpp"
    assert 0.12 < unit.memory < 0.3
    assert 0.0 < unit.cpu < 60.0
