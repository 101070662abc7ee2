"""Set up .venv with what gyrod needs and its compiled core: python3 tools/build.py EXTRA, see tools/building.py.

Every Python since 2.7 reads this file: what is too old is refused in a sentence, or hands over to that of .venv.
"""

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036
    venv = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ".venv")
    python = os.path.join(venv, "bin", "python")
    if os.path.exists(os.path.join(venv, "gyrod.json")) and os.path.exists(python):
        os.execv(python, [python] + sys.argv)  # noqa: RUF005
    sys.exit(
        "gyrod needs Python 3.11 or newer, and this is {}.{}: name another one, as in make PYTHON=python3.12, or get"
        " one (Debian, Ubuntu: sudo apt install python3 python3-venv python3-dev; macOS: brew install python).".format(
            *sys.version_info
        )
    )

import building

if __name__ == "__main__":
    building.main(*sys.argv[1:])
