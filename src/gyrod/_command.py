"""Whether this process is the command line, asked while gyrod is still being imported."""

import signal
import sys
from pathlib import Path


def is_command() -> bool:
    """Whether it is ``gyrod ...`` or ``python -m gyrod.cli ...``, and no program that imports gyrod."""
    return Path(sys.argv[0]).stem == "gyrod" or sys.orig_argv[1:3] == ["-m", "gyrod.cli"]


def importing() -> None:
    """Let Ctrl-C end the command at once while modules are imported, not with a traceback of imports."""
    if is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def imported() -> None:
    """From now on Ctrl-C is a KeyboardInterrupt, for which the command has a sentence."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
