"""The manual and the README run: python and console blocks of a page, one after the other, in a folder of their own.

Those of the README stand alone, each with its own imports. Pages whose first block does not import gyrod show fragments
and are left to the tests of what they describe.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shlex
from pathlib import Path

import matplotlib
import pytest

import gyrod as gd
from gyrod import cli
from gyrod.solve.companions import resized

DOCS = Path(__file__).parent.parent / "docs"
#: A block, and what it prints if the page says so.
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```\n+(?:```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
README = DOCS.parent / "README.md"
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in (README, *sorted(DOCS.glob("*.md")))}
PAGES = [name for name, text in TEXTS.items() if (first := BLOCK.search(text)) and "import gyrod" in first[2]]

#: They draw films, compare all methods and run hundreds of simulations, which other tests do in small.
SLOW = ("pictures.md", "compare.md", "studies.md", "many-runs.md")


def run_console(commands):
    """Lines that start with "$ gyrod", inside of this process; "> file" keeps what is printed."""
    for line in commands.splitlines():
        if line.startswith("$ "):
            command, _, file = line[2:].partition(" > ")
            program, *arguments = shlex.split(command)
            assert program == "gyrod", line
            printed = io.StringIO()
            with pytest.raises(SystemExit) as done, contextlib.redirect_stdout(printed):
                cli.main(arguments)
            assert done.value.code == 0, f"{line}\n{printed.getvalue()}"
            if file:
                Path(file).write_text(printed.getvalue(), encoding="utf-8")


@pytest.mark.parametrize("page", [pytest.param(p, marks=[pytest.mark.slow] * (p in SLOW)) for p in PAGES])
def test_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": page}
    for number, (kind, code, expected) in enumerate(BLOCK.findall(TEXTS[page]), 1):
        if kind == "console":
            run_console(code)
            continue
        if page == README.name:
            names = {"__name__": page}
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"{page}, block {number}", "exec"), names)
        if expected:
            assert printed.getvalue().split() == expected.split(), f"{page}, block {number}"


#: Lines that tell what a mesh, a method or a tolerance costs, or the error that it makes: these change with it.
OF_THE_RUN = re.compile(r"elements of degree|evaluations|energy error|\(\d+, ")


#: Pages that print numbers of solved models, but for those of studies and fits, which are numbers of their samples.
PRINTED = (
    "README.md", "control.md", "distances.md", "examples.md", "five-minutes.md", "flip-time.md", "robots.md",
    "routing.md", "statics.md",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("page", PRINTED)
def test_printed_numbers_are_converged(page, tmp_path, monkeypatch):
    """Twice the mesh and a thirtieth of the tolerance print the same, line by line."""

    def finer(solve, changes):
        def solved(system, *args, **options):
            rods = isinstance(system, gd.System) and system.rods
            tighter = {name: change(options.get(name)) for name, change in changes.items() if "step" not in options}
            return solve(resized(system, 2.0) if rods else system, *args, **options | tighter)

        return solved

    def routed(solve=gd.route):
        def solved(*args, **options):
            found = solve(*args, **options)
            return solve(*args, **options | {"segments": 2 * (options.get("segments") or found.rod.mesh.cells)})

        return solved

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gd, "simulate", finer(gd.simulate, {"rtol": lambda rtol: (rtol or 1e-6) / 30.0}))
    monkeypatch.setattr(gd, "route", routed())
    for name in ("equilibrium", "modes", "follow"):
        monkeypatch.setattr(gd, name, finer(getattr(gd, name), {}))
    names, compared = {"__name__": page}, 0
    for kind, code, expected in BLOCK.findall(TEXTS[page]):
        if kind == "console":
            run_console(code)
            continue
        names = {"__name__": page} if page == README.name else names
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)
        lines = zip(expected.splitlines(), printed.getvalue().splitlines(), strict=True) if expected else ()
        for shown, converged in lines:
            if not OF_THE_RUN.search(shown):
                assert shown.split() == converged.split()
                compared += bool(re.search(r"\d", shown))
    assert compared >= 3


def test_most_pages_run():
    assert {"README.md", "five-minutes.md", "index.md", "rods.md", "statics.md", "mechanisms.md"} <= set(PAGES)
    assert "coming-from.md" in PAGES


def test_every_page_is_in_the_contents():
    listed = {
        line for block in re.findall(r"```{toctree}(.*?)```", TEXTS["index.md"], re.DOTALL) for line in block.split()
    }
    assert {name.removesuffix(".md") for name in TEXTS} - {"index", "README"} <= listed


def test_links_lead_somewhere():
    """To a file, and to a heading of a page: Sphinx checks this too, but tests run without it."""
    root = DOCS.parent
    files = [*DOCS.glob("*.md"), root / "README.md", root / "CONTRIBUTING.md"]
    missing = []
    for file in files:
        text = re.sub(r"^(`{3,}).*?^\1$", "", file.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r'\]\(([^)\s]+)\)|^:(?:link|img-top): "?([^"\n]+)', text, re.MULTILINE):
            name, _, heading = next(filter(None, target)).partition("#")
            if ":" in name:
                continue
            page = file if not name else file.parent / (name if "." in name else f"{name}.md")
            headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE) if heading else []
            slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}
            if not page.exists() or (heading and heading not in slugs):
                missing.append(f"{file.name}: {name}#{heading}")
    assert not missing


def test_every_example_has_a_card_and_a_section():
    gallery = runpy.run_path(str(DOCS / "gallery.py"))
    assert gallery["SHOWN"].keys() == gallery["VIEWS"].keys()
    for example in (DOCS.parent / "examples").glob("*.py"):
        picture = f"card_{example.stem}.webp" if example.stem in gallery["SHOWN"] else f"gallery_{example.stem}.png"
        assert f":img-top: images/{picture}\n" in TEXTS["gallery.md"], example.stem
        assert f"{{literalinclude}} ../examples/{example.name}\n" in TEXTS["gallery.md"], example.stem
