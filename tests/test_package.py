"""The house itself: imports point left, the public face is documented, the README runs, importing is light."""

from __future__ import annotations

import ast
import importlib
import itertools
import os
import re
import runpy
import subprocess
import sys
import types
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import gyrod as gd
from gyrod import _cpu

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "gyrod"
MODULES = sorted(SOURCE.rglob("*.py"))

# Folder order is data-flow order: a module may import only what stands before it.
BEFORE = "_lazy _words _moved _version _command _cpu _core _check quantities rotations geometry gyro model runs files"
BEFORE += " problems equations motion look storage solve comparison studies"
ROOMS = [*BEFORE.split(), "", "reproduce", "bench", "cli"]  # "" is gyrod/__init__.py
# Methods that hand over to a room on the right import it themselves: (room, the one on its right).
FACADES = {("model", "equations"), ("model", "files"), ("runs", "solve"), ("motion", "look"), ("motion", "storage")}
FACADES |= {("storage", "studies")}
# What type checkers alone import: the classes of what is drawn, estimated or checked, from a room on the right.
TYPED = {("look", "comparison"), ("look", "solve"), ("look", "studies"), ("motion", "solve")}
TYPED |= {("problems", "motion"), ("problems", "solve")}
# Packages whose names are imported when they are first asked for.
LAZY = ("gyrod", "gyrod.files", "gyrod.look")


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def statements(nodes: list[ast.stmt], inside: str = ""):
    """Statements below others, and whether they stand in a "method" or are for "types" only."""
    for node in nodes:
        yield node, inside
        deeper = "types" if types_only(node) else "method" if isinstance(node, ast.FunctionDef) else inside
        for field in ("body", "orelse", "handlers", "finalbody", "cases"):
            yield from statements(getattr(node, field, []), deeper)


def types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


@cache
def imports_of(path: Path) -> list[tuple[str, str, str]]:
    """What a module imports of gyrod: module, name, and whether a "method" takes it or only "types" need it."""
    found = []
    for node, inside in statements(ast.parse(path.read_text(encoding="utf-8")).body):
        if isinstance(node, ast.Import):
            found += [(alias.name, "", inside) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                module = node.module
                if module == "gyrod":  # from gyrod import x: a module or a name of __init__
                    inner = (SOURCE / f"{alias.name}.py").exists() or (SOURCE / alias.name).is_dir()
                    inner = inner or alias.name in ("_core", "_cpu")
                    module = f"gyrod.{alias.name}" if inner else "gyrod"
                found.append((module, alias.name, inside))
    return [(module, *rest) for module, *rest in found if module.split(".")[0] == "gyrod"]


def test_nothing_imports_back_to_the_left():
    wrong = []
    for path in MODULES:
        module = path.relative_to(SOURCE).with_suffix("").parts
        here = "" if module == ("__init__",) else module[0]
        assert here in ROOMS, f"{here} needs a place in ROOMS"
        for name, _, inside in imports_of(path):
            there = room(name)
            assert there in ROOMS, f"{path.name} imports {name}, which is in no room"
            facade = (inside and (here, there) in FACADES) or (inside == "types" and (here, there) in TYPED)
            if not facade and ROOMS.index(there) > ROOMS.index(here):
                wrong.append(f"{path.relative_to(SOURCE)} imports {name}, which lies to its right")
    assert not wrong


def test_modules_lend_no_private_names():
    own = {path.stem for path in SOURCE.glob("_*.py")} | {"_core", "_cpu"}
    lent = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in MODULES
        for _, name, _ in imports_of(path)
        if name.startswith("_") and not name.endswith("__") and name not in own
    ]
    assert not lent


def lines_of(function: ast.FunctionDef) -> int:
    """How long a function is, its docstring apart."""
    first = function.body[0]
    text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    apart = first.end_lineno - first.lineno + 1 if text else 0
    return function.end_lineno - function.lineno + 1 - apart


def test_functions_and_modules_are_short():
    """A function does not take more than a page, nor a module more than ten."""
    texts = {path.relative_to(SOURCE): path.read_text(encoding="utf-8") for path in MODULES}
    long = {str(path): n for path, text in texts.items() if (n := len(text.splitlines())) > 600}
    for path, text in texts.items():
        functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
        long |= {f"{path}: {f.name}": n for f in functions if (n := lines_of(f)) > 60}
    assert not long, "divide them by what they are about"


def test_no_module_puts_anything_into_another():
    """What a room needs from its right it imports in a method; nothing is set from outside, as hooks would be."""
    hooks = []
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "gyrod"
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    owner = target.value if isinstance(target, ast.Attribute) else None
                    if isinstance(owner, ast.Name) and owner.id in imported:
                        hooks.append(f"{path.relative_to(SOURCE)}: {ast.unparse(target)}")
    assert not hooks


def calls(tree: ast.AST, function: str):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
            yield node


def test_facades_are_these():
    found = set()
    for path in MODULES:
        here = path.relative_to(SOURCE).with_suffix("").parts[0]
        for name, *_ in imports_of(path) if here in ROOMS else ():
            if ROOMS.index(room(name)) > ROOMS.index(here):
                found.add((here, room(name)))
    assert found == FACADES | TYPED


#: Annotations with `Any`: attributes by name, arguments that go on to others, manifests, libraries without types. What
#: may be anything is `object`; `Data`, `Keywords` and `AnyArray` of `_check` hold that, and no alias there holds `Any`.
MOST_ANY = 195


def any_names(tree: ast.AST) -> int:
    """How often `Any` stands in a module, its import apart."""
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))


def test_what_is_typed_as_anything_does_not_grow():
    assert any_names(ast.parse("from typing import Any\nx: dict[str, Any] = {}\ndef f(y: Any) -> Any: ...")) == 3
    found = {path: any_names(ast.parse(path.read_text(encoding="utf-8"))) for path in SOURCE.rglob("*.py")}
    most = sorted(found, key=found.get, reverse=True)[:5]
    told = ", ".join(f"{path.relative_to(SOURCE)} {found[path]}" for path in most)
    assert sum(found.values()) <= MOST_ANY, f"name the type, or object for what may be anything; most have {told}"
    aliases = ast.parse((SOURCE / "_check.py").read_text(encoding="utf-8")).body
    assert not any(any_names(node) for node in aliases if isinstance(node, ast.Assign)), "an alias would hide it"


@pytest.mark.parametrize("package", LAZY)
def test_names_that_come_when_asked_for_are_those_that_type_checkers_see(package):
    module = importlib.import_module(package)
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    (table,) = (ast.literal_eval(call.args[1]) for call in calls(tree, "lazy"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    home = {name: (where, name) for where, names in table.items() for name in names.split()}
    for node in block.body:
        where = node.module.removeprefix(package).removeprefix(".")
        for alias in node.names:
            assert home.pop(alias.asname or alias.name) == (where, alias.name)
            assert (alias.asname or alias.name) in module.__all__
    assert all(where == "" for where, _ in home.values()), "a name that type checkers do not see"
    names = {name for where, names in table.items() if where for name in names.split()}
    inner = {path.stem for path in Path(module.__file__).parent.iterdir()}
    assert not names & inner, "a module of that name would hide it as soon as it is imported"
    assert {*module.__all__} <= {*dir(module)}
    assert all(hasattr(module, name) for name in dir(module))
    assert not hasattr(module, "missing")


#: The rooms of the core: each may include those before it, and its own.
CORE_ROOMS = (
    "math",
    "geometry",
    "contact",
    "time",
    "linear",
    "integrate",
    "attitude",
    "joints",
    "rigid",
    "mechanism",
    "rod",
)
CORE_ROOMS += ("assembly",)
CORE = sorted((ROOT / "cpp" / "gyrod").rglob("*.?pp"))


def included(path):
    return re.findall(r'#include "gyrod/([^"]+)"', path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", CORE, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_the_core_is_a_library_whose_rooms_are_in_order(path):
    text = path.read_text(encoding="utf-8")
    assert "nanobind" not in text
    assert "Python.h" not in text
    order = {name: i for i, name in enumerate(CORE_ROOMS)} | {"variational": CORE_ROOMS.index("rod") + 0.5}
    here = path.parent.name
    for name in included(path):
        assert order[name.split("/")[0]] <= order[here], f"{here}/{path.name} includes {name}, which lies to its right"
    others = re.findall(r'#include "(?!gyrod/)', text)
    assert not others, "headers of the core are named from its root"


def test_headers_of_the_core_include_each_other_in_no_circle():
    below = {str(p.relative_to(ROOT / "cpp" / "gyrod")): included(p) for p in CORE}
    done: set[str] = set()

    def visit(name, path=()):
        assert name not in path, " -> ".join([*path, name])
        if name not in done:
            for other in below[name]:
                visit(other, (*path, name))
            done.add(name)

    for name in below:
        visit(name)


PUBLIC = [gd, gd.rotations, gd.problems]


def public_names():
    for module in PUBLIC:
        names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
        for name in names:
            value = getattr(module, name)
            foreign = getattr(value, "__module__", "gyrod").split(".")[0] != "gyrod"
            if foreign or isinstance(value, ModuleType) or name.isupper() or name.startswith("__"):
                continue
            yield name, value


def test_public_names_are_documented():
    words = set(re.findall(r"\w+", (ROOT / "docs" / "api.md").read_text(encoding="utf-8")))
    names = list(public_names())
    assert len(names) > 100
    for name, value in names:
        assert value.__doc__, name
        first = value.__doc__.strip().splitlines()[0].strip()
        assert first.endswith((".", ":", ";")) or len(value.__doc__) > 20, name
        assert name in words, f"{name} is not in docs/api.md"


OPTIONAL = ["scipy", "h5py", "yaml", "pydantic", "matplotlib", "rich", "xarray", "dask", "distributed"]
OPTIONAL += ["gyrod.studies", "gyrod.look.plots"]


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import gyrod", [*OPTIONAL, "numpy", "typer"]),
        ("import gyrod as gd; gd.System, gd.simulate", [*OPTIONAL, "typer", "gyrod.files.models"]),
        ("from gyrod.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass", [*OPTIONAL, "numpy"]),
    ],
    ids=["import", "simulate", "help"],
)
def test_import_is_light(code, heavy):
    code += f"\nimport sys; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_import_takes_little_of_the_standard_library():
    """These modules of the standard library would double its cost."""
    code = "import sys; before = set(sys.modules); import gyrod; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"enum", "pathlib", "re", "signal", "typing"}.intersection(done.stdout.split())


def test_parts_work_that_nobody_imported(tmp_path):
    """A model alone finds what counts its freedoms and what writes it; a pickled motion finds what stores it."""
    code = """
import pickle, sys
from gyrod.model import Body, System
system = System(bodies=[Body("top", mass=1.0, inertia=[1.0, 1.0, 2.0])])
assert "gyrod.equations" not in sys.modules and "gyrod.files.models" not in sys.modules
assert system.mobility().freedoms == 6
system.save("top.yaml")
import gyrod as gd
assert gd.load("top.yaml") == system
with open("motion.pickle", "wb") as file:
    pickle.dump(gd.simulate(system, 0.1), file)
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    code = "import pickle; pickle.load(open('motion.pickle', 'rb')).to_npz('motion.npz')"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    assert (tmp_path / "motion.npz").exists()


INSTALLED = [name for name in ("v3", "baseline") if find_spec(f"gyrod._core_{name}")]  # the best first


@pytest.mark.parametrize("wanted", ["baseline", "v3", "", "sse9"])
def test_instruction_set_is_chosen_at_run_time(wanted):
    code = "from gyrod import _core; print(_core.isa())"
    env = {**os.environ, "GYROD_ISA": wanted}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    runs = [name for name in INSTALLED if name == "baseline" or _cpu.has_v3]
    if wanted in ("", *runs):
        assert done.stdout.strip() == {"v3": "x86-64-v3"}.get(wanted or runs[0], "baseline")
    elif wanted == "sse9":
        assert "GYROD_ISA = 'sse9' is unknown; it can be 'baseline' or 'v3'." in done.stderr
    elif wanted == "v3" and not _cpu.has_v3:
        assert "this processor does not run x86-64-v3 code." in done.stderr
    else:
        assert f"GYROD_ISA = '{wanted}', but only '{INSTALLED[0]}' is installed: GYROD_ISAS=all" in done.stderr


@pytest.mark.parametrize(
    ("installed", "has_v3", "wanted", "expected"),
    [
        ("v3 baseline", True, "", "v3"),
        ("v3 baseline", False, "", "baseline"),
        ("v3 baseline", True, "baseline", "baseline"),
        ("baseline", True, "", "baseline"),
        ("baseline", False, "baseline", "baseline"),
        ("baseline", True, "v3", "GYROD_ISA = 'v3', but only 'baseline' is installed: GYROD_ISAS=all pip install"),
        ("v3", False, "", "gyrod was compiled for x86-64-v3 (AVX2, FMA), which this processor does not run"),
        ("v3", False, "baseline", "GYROD_ISA = 'baseline', but only 'v3' is installed"),
        ("v3 baseline", False, "v3", "GYROD_ISA = 'v3', but this processor does not run x86-64-v3 code."),
        ("", False, "", "The compiled core of gyrod is missing: pip install . in the source builds it."),
    ],
)
def test_choice_of_the_core_with_other_processors_and_builds(installed, has_v3, wanted, expected, monkeypatch):
    """A set that the processor does not run is never loaded: that would end in an illegal instruction."""
    there = [f"gyrod._core_{name}" for name in installed.split()]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name in (*there, "gyrod._cpu"))
    monkeypatch.setattr(importlib, "import_module", lambda name: types.SimpleNamespace(name=name))
    monkeypatch.setattr(_cpu, "has_v3", has_v3)
    monkeypatch.setenv("GYROD_ISA", wanted)
    if " " in expected:
        with pytest.raises(ImportError, match=re.escape(expected)):
            runpy.run_path(str(SOURCE / "_core.py"))
    else:
        assert runpy.run_path(str(SOURCE / "_core.py"))["name"] == f"gyrod._core_{expected}"


def test_documentation_builds_without_warnings(tmp_path):
    pytest.importorskip("furo", reason="the extra docs is not installed: make docs does")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "-q",
        "-b",
        "html",
        "-d",
        str(tmp_path / "trees"),
        "docs",
        str(tmp_path / "html"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "html" / "index.html").exists()


@pytest.mark.parametrize("strength", [1, 2])
def test_spread_keeps_each_value_or_each_pair(strength):
    import conftest

    values = {"method": "abcdef", "form": ("q", "d", ["unhashable"]), "rtol": (1e-4, 1e-8)}
    grid = [dict(zip(values, row, strict=True)) for row in itertools.product(*values.values())]
    tests = [types.SimpleNamespace(callspec=types.SimpleNamespace(params=params)) for params in grid]
    left = conftest.left_over(tests, strength)
    kept = [test.callspec.params for test in tests if test not in left]
    for names in itertools.combinations(values, strength):
        taken = [[params[name] for name in names] for params in kept]
        assert all(list(row) in taken for row in itertools.product(*(values[name] for name in names)))
    assert len(kept) == {1: 6, 2: 18}[strength]
