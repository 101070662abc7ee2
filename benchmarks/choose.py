"""Tables of the pages "Choose a formulation" and "Choose a method": python benchmarks/choose.py [formulations|methods].

Everything is measured by `gd.compare`, against a tight reference of its own; CPU times are those of this machine.
"""

from __future__ import annotations

import sys

import gyrod as gd

DEFAULT = "nullspace-quaternion"
#: Simulated time in s, and the system.
Problem = tuple[float, gd.System]


def rigid() -> dict[str, Problem]:
    """Systems that every formulation supports."""
    return {
        "heavy top, 60 s": (60.0, gd.problems.heavy_top().system),
        "slider-crank, 5 s": (5.0, gd.problems.slider_crank().system),
        "chain of 20 links, 2 s": (2.0, gd.problems.chain(20).system),
    }


def damped_box() -> gd.System:
    """A box on a bushing that damps its motion within microseconds."""
    box = gd.Body("box", mass=1.0, inertia=(0.1, 0.2, 0.25), position=(0, 0, 0), velocity=(0.1, 0, 0))
    mount = gd.Bushing("ground", "box", at_a=(0, 0, 0.1), at_b=(0, 0, 0.1), stiffness=1e6, damping=1e5)
    return gd.System([box], forces=[mount])


def flexible() -> dict[str, Problem]:
    """Rods from soft to stiff, and a stiff force."""
    return {
        "heavy top, 60 s": (60.0, gd.problems.heavy_top().system),
        "box on a damper, 1 s": (1.0, damped_box()),
        "rubber hose, 1 s": (1.0, gd.problems.lla_test1(20).system),
        "damped hose, 1 s": (1.0, gd.problems.lla_rubber(segments=20).system),
        "steel string, 0.5 s": (0.5, gd.problems.steel_string(10).system),
    }


def formulations() -> None:
    """Cost, error, energy and drift of each formulation with the same method and tolerance."""
    for projection in ("step", "none"):
        print(f"\nprojection = {projection!r}, dop853, rtol = 1e-8")
        print(
            "| problem | formulation | CPU, ms | evaluations | error | energy | drift |\n|---|---|---|---|---|---|---|"
        )
        for name, (t_end, system) in rigid().items():
            found = gd.compare(system, t_end, methods="dop853", rtols=1e-8, limit=5.0, projection=projection)
            for x in found.trials:
                if x.status == "finished":
                    cells = f"{1e3 * (x.seconds or 0):.1f} | {x.rhs} | {x.error:.0e} | {x.energy:.0e} | {x.drift:.0e}"
                else:
                    cells = f"{x.status}: {x.note} | | | |"
                print(f"| {name} | `{x.formulation}` | {cells} |", flush=True)


def cheapest(found: gd.Comparison, method: str, error: float) -> str:
    """CPU time in ms and tolerance of the cheapest run of a method with at most this error."""
    within = [x for x in found.finished if x.method == method and x.error is not None and x.error <= error]
    if not within:
        stopped = [x for x in found.trials if x.method == method and x.status == "limit"]
        return f"> {1e3 * found.limit:.0f}" if stopped else "-"
    best = min(within, key=lambda x: x.seconds or 0.0)
    how = f"{best.rtol:.0e}" if best.rtol else f"h = {1e3 * (best.step or 0):.2g} ms"
    return f"{1e3 * (best.seconds or 0.0):.0f} ({how})"


def methods(errors: tuple[float, ...] = (1e-2, 1e-4, 1e-6), only: str = "") -> None:
    """CPU time that each method needs for a given error."""
    rtols = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10)
    names = list(gd.METHODS)
    print("| problem | error | " + " | ".join(f"`{m}`" for m in names) + " | `auto` takes |")
    print("|---|---|" + "---|" * (len(names) + 1))
    for name, (t_end, system) in flexible().items():
        if only not in name:
            continue
        # No second method meets a tight tolerance on steel in time; radau5 at 1e-7 and at 1e-8 differ by 9e-9 m.
        truth = gd.simulate(system, t_end, method="radau5", rtol=1e-9) if "steel" in name else None
        found = gd.compare(system, t_end, formulations=DEFAULT, methods=names, rtols=rtols, limit=1.0, reference=truth)
        soon = gd.Event(lambda t, _, end=1e-3 * t_end: t - end, terminal=True)  # type: ignore[misc]
        for error in errors:
            cells = " | ".join(cheapest(found, m, error) for m in names)
            taken = gd.simulate(system, t_end, rtol=0.1 * error, events=[soon]).stats.method
            print(f"| {name} | {error:.0e} | {cells} | `{taken}` |", flush=True)


if __name__ == "__main__":
    for what in sys.argv[1:] or ("formulations", "methods"):
        {"formulations": formulations, "methods": methods}[what]()
