"""The command line: gyrod new, check, run, rest, modes, compare, study, plot, view and others; see gyrod --help."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer

from gyrod import __version__, _core
from gyrod._command import imported
from gyrod.cli.frame import app, complain, sentence

__all__ = ["app", "main"]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"gyrod {__version__}, core for {_core.isa()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; anywhere on the line.")
    ] = False,
) -> None:
    """Rigid bodies and geometrically exact rods whose rotations never lock.

    A model from nothing to a moving picture:

        gyrod new > hose.yaml && gyrod run hose.yaml && gyrod view hose.h5
    """


# Each module adds its commands to the app.
from gyrod.cli import comparing, models, papers, results, routing, running, statics, studies  # noqa: E402, F401

#: What is a user's problem and not a defect: reported as a sentence, with exit code 1.
EXPECTED = (ValueError, ArithmeticError, OSError, ImportError, RuntimeError, MemoryError)
#: Base of all usage errors of typer, which keeps it in different places from release to release.
_UsageError: Any = typer.BadParameter.__mro__[2]


@cache
def _command() -> Any:
    return typer.main.get_command(app)


def _run(arguments: Sequence[str]) -> int:
    command = _command()
    try:
        with command.make_context("gyrod", list(arguments)) as context:
            command.invoke(context)
    except typer.Exit as done:
        return int(done.exit_code)
    except _UsageError as error:
        error.show()
        return int(error.exit_code)
    return 0


def _warn(message: Warning | str, category: type[Warning], *_: object) -> None:
    """A warning as a paragraph."""
    complain(f"{'' if issubclass(category, RuntimeWarning) else f'{category.__name__}: '}{message}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: exit code 0; 1 and one paragraph on standard error; 2 for usage; 130 after Ctrl-C."""
    imported()
    warnings.showwarning = _warn  # type: ignore[assignment]
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    try:
        code = _run([argument for argument in given if argument != "--debug"])
        sys.stdout.flush()
    except BrokenPipeError:  # as `gyrod schema | head`: nobody listens any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except KeyboardInterrupt as error:
        text = str(error)
        complain(f"{text or 'interrupted'}{'' if text.endswith('.') else '.'}")
        code = 130
    except Exception as error:
        if debug:
            raise
        code = 1
        known = isinstance(error, EXPECTED)
        text = sentence(error) if known else f"{type(error).__name__}: {error}"
        complain(text if known else f"{text}\nThis is a defect of gyrod; --debug shows where it is.")
    sys.exit(code)
