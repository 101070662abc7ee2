"""The compiled core, in the instruction set of this machine.

Two builds of the same source lie side by side: a portable one and one for x86-64-v3 (AVX2, FMA). The environment
variable GYROD_ISA=baseline or GYROD_ISA=v3 overrides the choice.
"""

import importlib
import os

from gyrod import _core_baseline


def _choose() -> str:
    wanted = os.environ.get("GYROD_ISA", "")
    if wanted not in ("", "baseline", "v3"):
        raise ImportError(f"GYROD_ISA = {wanted!r} is unknown; it can be 'baseline' or 'v3'.")
    if wanted == "v3" and not _core_baseline.cpu_has_v3():
        raise ImportError("GYROD_ISA = 'v3', but this processor does not run x86-64-v3 code.")
    return wanted or ("v3" if _core_baseline.cpu_has_v3() else "baseline")


_chosen = importlib.import_module(f"gyrod._core_{_choose()}")
globals().update({name: value for name, value in vars(_chosen).items() if not name.startswith("_")})
