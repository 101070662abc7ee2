"""The compiled core, in the best installed instruction set that this processor runs.

A build from source has one set, a wheel has a portable one and x86-64-v3 (AVX2, FMA) side by side. The environment
variable GYROD_ISA=baseline or GYROD_ISA=v3 overrides the choice.
"""

import importlib
import os
import sys
from importlib.util import find_spec

from gyrod._command import is_command

SETS = ("v3", "baseline")  # the best first


def _choose() -> str:
    installed = [name for name in SETS if find_spec(f"gyrod._core_{name}")]
    if not installed or not find_spec("gyrod._cpu"):
        raise ImportError("The compiled core of gyrod is missing: pip install . in the source builds it.")
    from gyrod import _cpu

    wanted = os.environ.get("GYROD_ISA", "")
    if wanted not in ("", *SETS):
        raise ImportError(f"GYROD_ISA = {wanted!r} is unknown; it can be 'baseline' or 'v3'.")
    if wanted == "v3" and not _cpu.has_v3:
        raise ImportError("GYROD_ISA = 'v3', but this processor does not run x86-64-v3 code.")
    if wanted and wanted not in installed:
        raise ImportError(
            f"GYROD_ISA = {wanted!r}, but only {installed[0]!r} is installed: "
            "GYROD_ISAS=all pip install . in the source builds both, GYROD_ISAS=all make test in a checkout."
        )
    if wanted:
        return wanted
    for name in installed:
        if name == "baseline" or _cpu.has_v3:
            return name
    raise ImportError(
        "gyrod was compiled for x86-64-v3 (AVX2, FMA), which this processor does not run: "
        "GYROD_ISAS=baseline pip install . in the source builds what it does."
    )


try:
    _chosen = importlib.import_module(f"gyrod._core_{_choose()}")
except ImportError as error:
    if is_command():  # a sentence for its user; where it was raised helps nobody there
        sys.exit(f"gyrod: {error}")
    raise
globals().update({name: value for name, value in vars(_chosen).items() if not name.startswith("_")})
