"""Whether this process is the command line, asked while gyrod is still being imported.

Without pathlib, signal and typing, which would be nearly half of what ``import gyrod`` costs.
"""

import os
import sys


def is_command() -> bool:
    """Whether it is ``gyrod ...`` or ``python -m gyrod.cli ...``, and no program that imports gyrod."""
    return os.path.splitext(os.path.basename(sys.argv[0]))[0] == "gyrod" or sys.orig_argv[1:3] == ["-m", "gyrod.cli"]


def importing() -> None:
    """Let Ctrl-C end the command at once while modules are imported, not with a traceback of imports."""
    if not is_command():
        return
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def imported() -> None:
    """From now on Ctrl-C is a KeyboardInterrupt, for which the command has a sentence."""
    import signal

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
