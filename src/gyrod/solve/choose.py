"""Which method: the given one, or one that suits the system."""

from __future__ import annotations

import numpy as np

from gyrod.equations import Compiled
from gyrod.runs.methods import automatic, for_index


def choose_method(method: str, compiled: Compiled, rtol: float, t_end: float) -> str:
    """The given method, or one chosen by the eigenvalues of the Jacobian at the start against the time scale."""
    if method != "auto":
        return method
    if level := compiled.options.get("level"):
        return for_index(level)[0]
    if any(c.friction is not None or c.damping for c in compiled.system.contacts):
        # Bristles are stiff, and nothing else when they bend: what sticks must come to rest. Among rods without them a
        # step of the other one costs a third.
        sticks = any(c.friction is not None and c.friction.sticking for c in compiled.system.contacts)
        return automatic(stiff=True, tight=rtol < 1e-3 or sticks or not compiled.crossed)
    if compiled.rods:
        # Measured: an implicit method wins unless the fast waves of the rod are to be resolved anyway.
        resolved = rtol <= 1e-7 and max(compiled.rod_spectrum()) * t_end <= 1e5
        return automatic(stiff=not resolved, tight=rtol < 1e-3)
    explicit, stiff = (automatic(stiff=stiff, tight=rtol < 1e-4) for stiff in (False, True))
    sprung = any(np.any(getattr(j, k, 0.0)) for j in compiled.system.joints for k in ("stiffness", "damping"))
    if not compiled.system.forces and not sprung:
        return explicit  # nothing but gravity and spin
    fastest, damping = spectrum(compiled)
    spins = max(float(np.linalg.norm(b.angular_velocity)) for b in compiled.system.bodies)
    scales = compiled.scales()
    slow = max(spins, float(scales[-1]) if compiled.kinds[-1] == "spin" else 1.0)
    # An explicit method resolves oscillations anyway; damping, or an oscillation far beyond everything else, is stiff.
    # A step of a mechanism costs 50 right-hand sides (docs/mechanisms.md): stiffness must be larger to pay.
    damped, swinging = (30.0 if compiled.mechanism is None else 400.0), 1000.0
    return stiff if damping > damped * max(slow, fastest) or fastest > swinging * slow else explicit


def spectrum(compiled: Compiled) -> tuple[float, float]:
    """Largest frequency and largest damping rate of the linearised system at the start."""
    if compiled.size <= 600:
        try:
            jacobian = compiled.core.jacobian(0.0, compiled.y0)
        except ValueError:
            jacobian = np.full(1, np.nan)
        if not np.isfinite(jacobian).all():
            raise ValueError(
                "method = 'auto' cannot choose: the Jacobian at the start is not finite: numbers of the model are "
                "too large or too far apart. Check their units, or name a method."
            )
        eigenvalues = np.linalg.eigvals(jacobian)
        return float(np.abs(eigenvalues.imag).max()), float(max(0.0, -eigenvalues.real.min()))
    # Large systems: power iteration with differences of the right-hand side, no dense matrix.
    y, f = compiled.y0, compiled.core.rhs(0.0, compiled.y0)
    v = np.random.default_rng(0).normal(size=len(y))
    growth, real = 0.0, 0.0
    for _ in range(60):
        v /= np.linalg.norm(v)
        w = (compiled.core.rhs(0.0, y + 1e-7 * v) - f) / 1e-7
        growth, real = float(np.linalg.norm(w)), float(v @ w)
        if growth == 0.0:
            break
        v = w
    return (0.0, growth) if -real > 0.9 * growth else (growth, 0.0)
