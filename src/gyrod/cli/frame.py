"""What all commands share: options, text or JSON on standard output, sentences for errors, help by purpose."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gyrod.motion.errors import ErrorReport

#: Commands by purpose, in the order of the help.
PURPOSES = {
    "Models": ("new", "check", "schema"),
    "Compute": ("run", "rest", "route", "modes", "compare", "study"),
    "Results": ("info", "plot", "view", "animate", "export"),
    "Trust": ("reproduce", "bench"),
}

Json = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="Write the result as JSON; - for standard output, and nothing else."),
]


def file_argument(metavar: str, help: str) -> object:
    """A path on the line. Whether it can be read is for `readable` to say, in a sentence that says what to do."""
    return typer.Argument(metavar=metavar, help=help, show_default=False, readable=False)


ModelPath = Annotated[Path, file_argument("MODEL", "Model file, YAML or JSON.")]
ResultPath = Annotated[Path, file_argument("RESULT", "Result file (.h5).")]


class Formatter(Protocol):
    """Writes a help; typer keeps the class in different places from release to release."""

    width: int

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """How a command is called."""

    def write_dl(self, rows: Sequence[tuple[str, str]]) -> None:
        """Names and what they are."""

    def section(self, name: str) -> AbstractContextManager[None]:
        """What follows, below a title."""


class Purposes(TyperGroup):
    """The command `gyrod`, whose help lists commands by purpose."""

    def format_commands(self, ctx: Any, formatter: Formatter) -> None:
        """Write one section for each purpose."""
        longest = max(len(name) for name in self.list_commands(ctx))
        for purpose, names in PURPOSES.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            limit = formatter.width - 6 - longest
            rows = [(name.ljust(longest), command.get_short_help_str(limit)) for name, command in found if command]
            if rows:
                with formatter.section(purpose):
                    formatter.write_dl(rows)


app = typer.Typer(
    cls=Purposes, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)


#: What the HDF5 library says about a file that it cannot open.
_RAW = re.compile(r"name = '([^']*)'.*error message = '([^']+)'")


class Problem(ValueError):
    """Something that ends a command with exit code 1 and a sentence."""


class Face:
    """What a command says: text on standard output, or JSON in place of it or in a file."""

    def __init__(self, json_file: str | None = None, *, quiet: bool = False) -> None:
        self.file, self.silent = json_file, quiet or json_file == "-"

    def say(self, text: str = "") -> None:
        """Print a line, unless standard output belongs to JSON."""
        if not self.silent:
            print(text)

    def grid(self, rows: Iterable[Sequence[str]], *, left: int = 1) -> None:
        """Print a table; all columns but the first few are aligned right."""
        if not self.silent:
            for line in aligned(list(rows), left=left):
                print(line)

    def pairs(self, rows: Iterable[tuple[str, str]]) -> None:
        """Print names and values."""
        if not self.silent:
            for line in aligned([list(row) for row in rows], left=2):
                print(line)

    def wrote(self, path: object, what: str = "") -> None:
        """Say which file was written."""
        self.say(f"wrote {path}{what}")

    def give(self, data: object) -> None:
        """Hand out the result as JSON, if it is wanted."""
        if self.file is None:
            return
        text = json.dumps(plain(data), indent=1, allow_nan=False, ensure_ascii=False)
        if self.file == "-":
            print(text)
        else:
            Path(self.file).write_text(text + "\n", encoding="utf-8")
            self.wrote(self.file)


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Rows of cells as lines; the first ``left`` columns flush left, the others right."""
    if not rows:
        return []
    sizes = [max(len(row[i]) for row in rows if i < len(row)) for i in range(max(map(len, rows)))]
    return [
        "  ".join(
            c.ljust(n) if i < left else c.rjust(n) for i, (c, n) in enumerate(zip(row, sizes, strict=False))
        ).rstrip()
        for row in rows
    ]


def plain(value: object) -> Any:
    """Plain JSON: arrays as lists; what is not finite as null."""
    if isinstance(value, dict):
        return {str(key): plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [plain(x) for x in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


def width() -> int:
    """Columns of the terminal; 120 where there is none, unless COLUMNS says otherwise."""
    there = sys.stdout.isatty() or "COLUMNS" in os.environ
    return shutil.get_terminal_size((80, 24)).columns if there else 120


def drawable(file: Path | None, folder: bool = False) -> None:
    """Refuse a picture, or a folder of them, that cannot be drawn before anything is computed for it."""
    if file is not None:
        from gyrod.look.plots.style import require_folder, require_matplotlib

        require_matplotlib()
        if not folder:
            require_folder(file)


def vector(v: Iterable[float], digits: int = 5) -> str:
    """A few numbers in parentheses; what is rounding against the largest is zero."""
    numbers = [float(x) for x in v]
    least = max(1e-12, 1e-12 * max(map(abs, numbers), default=0.0))
    return f"({', '.join(f'{x if abs(x) > least else 0.0:.{digits}g}' for x in numbers)})"


def error_data(report: ErrorReport) -> dict[str, object]:
    """Errors of a result, for JSON."""
    told = {
        row.name: {"value": row.value, "error": row.total, "peak": row.peak, "unit": row.unit} for row in report.rows
    }
    return {"errors": told, "errors_rough": report.rough}


def seconds(value: float) -> str:
    """A time with three digits and a unit that suits it."""
    for unit, size in (("h", 36000.0), ("min", 600.0), ("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / {'h': 3600.0, 'min': 60.0}.get(unit, size):.3g} {unit}"
    return f"{value / 1e-6:.3g} µs" if value >= 1e-6 or value <= 0.0 else f"{value / 1e-9:.3g} ns"


def amount(value: float) -> str:
    """A size of a file."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} bytes"


def names(text: str | None) -> list[str] | None:
    """Names that were given with commas."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def choice(argument: str, value: object, allowed: Iterable[str]) -> str:
    """One of the allowed names, or a sentence; --help does not wait for what the checks import."""
    from gyrod import _check

    return _check.choice(argument, value, allowed)


def readable(path: Path, what: str) -> Path:
    """A file that is there and can be read, or a sentence."""
    if path.is_dir():
        raise Problem(f"{path} is a folder, not {what}.")
    if not path.exists():
        near = sorted(x.name for x in path.parent.glob(f"*{path.suffix or '.yaml'}") if x.is_file())[:5]
        hint = f" In its folder: {', '.join(near)}." if near else ""
        raise Problem(f"{path} does not exist; it should be {what}.{hint}")
    if not os.access(path, os.R_OK):
        raise Problem(f"{path} cannot be read: permission denied.")
    return path


def ending(path: Path, allowed: Sequence[str], what: str) -> str:
    """The ending of a file name, which says what is to be written."""
    suffix = path.suffix.lower()
    if suffix not in allowed:
        given = f"{suffix!r} is not one of them" if suffix else "its name has no ending"
        raise Problem(f"{path}: {what} is written as {' or '.join(allowed)}; {given}.")
    return suffix


def sentence(error: BaseException) -> str:
    """An error as a paragraph for people."""
    text = str(error).strip()
    if isinstance(error, OSError) and error.strerror:
        where = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        return f"{where}{error.strerror[0].lower()}{error.strerror[1:].rstrip('.')}."
    if isinstance(error, OSError) and (raw := _RAW.search(text)):  # of the HDF5 library
        return f"{raw[1]} cannot be opened or written: {raw[2][0].lower()}{raw[2][1:]}."
    return text or type(error).__name__


def complain(text: str) -> None:
    """One paragraph on standard error, in lines that fit a terminal."""
    text = f"gyrod: {text}"
    if sys.stderr.isatty():
        columns = shutil.get_terminal_size((80, 24)).columns
        lines = [
            textwrap.wrap(line, columns, break_on_hyphens=False, break_long_words=False) for line in text.splitlines()
        ]
        text = "\n".join(part for line in lines for part in line)
    print(text, file=sys.stderr)
