"""Large changes of a parameter, up to its bounds: tried before a fit holds it because small ones change nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gyrod.studies.measured import Parameter

#: Decades at most to either side of a parameter that is searched for by its logarithm, and those without a bound there.
DECADES, UNBOUNDED = 12, 6
#: Parts of the way to a bound, for the others.
FRACTIONS = (0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Reach:
    """What large changes did of a parameter that changes no curve by small ones."""

    #: The value nearest to the guess at which a curve changed; None if none did.
    felt: float | None
    #: Where nothing else changed a curve, in words.
    where: str


def places(p: Parameter, u: float, low: float, high: float) -> list[float]:
    """Coordinates to try beside u, nearest first to either side: factors of ten, or parts of the way to a bound."""
    found = []
    for sign, bound in ((1.0, high), (-1.0, low)):
        room = sign * (bound - u)
        if p.log:
            most = DECADES if math.isfinite(room) else UNBOUNDED
            steps = [j * math.log(10.0) for j in range(1, most + 1)]
            found += [u + sign * h for h in steps if h < room - 1e-6]
            found += [bound] if 1e-6 < room < math.inf else []
        elif 1e-6 < room < math.inf:
            found += [bound if part == 1.0 else u + sign * part * room for part in FRACTIONS]
    return found


def words(p: Parameter, failed: bool) -> str:
    """Where a parameter was tried."""
    lacking = [name for name, bound in (("lower", p.low), ("upper", p.high)) if not math.isfinite(bound)]
    if lacking:
        what = "no bounds were" if len(lacking) > 1 else f"no {lacking[0]} bound was"
        return f"near the guess ({what} given)"
    return "within its bounds" + (", as far as the model runs there," if failed else "")
