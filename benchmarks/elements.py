"""Rods of elements: cost of a step beside the staggered grid, CPU time to a given error, orders, and what limits them.

CPU time, best of several runs, ratios within one run. benchmarks/elements_work.py has work against error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from elements_work import PROBLEMS  # type: ignore[import-not-found]
from numpy.typing import NDArray
from timing import best  # type: ignore[import-not-found]

import gyrod as gd
from gyrod import _core, rotations
from gyrod.equations import compile_system

Array = NDArray[np.float64]

MESHES: dict[str, dict[str, Any]] = {
    "grid": {},
    "degree 2": {"degree": 2},
    "degree 3": {"degree": 3},
    "degree 4": {"degree": 4},
}
#: Of one try of rodas: evaluations of the right-hand side, and solutions.
STAGES = 6


def mesh(name: str, nodes: int) -> dict[str, Any]:
    """Options of a rod with about as many nodes."""
    return {**MESHES[name], "segments": max(round(nodes / MESHES[name].get("degree", 1)), 1)}


def slope(errors: list[float], numbers: Any) -> str:
    """Observed orders between successive numbers."""
    pairs = zip(errors, errors[1:], numbers, numbers[1:], strict=False)
    return " ".join(f"{np.log(a / b) / np.log(n / m):5.2f}" for a, b, m, n in pairs)


# --- cost ------------------------------------------------------------------------------------------------------------


def tries() -> None:
    """A try of rodas is a Jacobian, a factorisation, six solutions and six right-hand sides."""
    print("one try of rodas, ns a node, and over that of the grid (target: degree 3 at most 1.5)")
    columns = ("f", "Jacobian", "factors", "solution", "one try", "over grid", "whole step", "over grid")
    print(f"  {'':24}{'nodes':>6}" + "".join(f"{c:>11}" for c in columns))
    damping = gd.Damping(shear=0.1, extension=2.0, bending=2e-4, torsion=8e-6)
    states: dict[str, dict[str, Any]] = {"undamped": {}, "damped": {"damping": damping}}
    for label, options in states.items():
        for nodes in (24, 120):
            grid = None
            for name in MESHES:
                system = gd.problems.rubber_pendulum(**mesh(name, nodes), **options).system
                found = _try(system, nodes)
                grid = grid or found
                f, J, lu, solve, total, step = found
                cells = [f, J, lu, solve, total, total / grid[4], step, step / grid[5]]
                shown = "".join(f"{c:11.2f}" if k in (5, 7) else f"{c:11.0f}" for k, c in enumerate(cells))
                print(f"  {label:12}{name:12}{nodes:6d}{shown}")


def _try(system: gd.System, nodes: int) -> tuple[float, ...]:
    """ns a node: f, Jacobian, factorisation, solution, a try of these, and a whole step of constant length."""
    c = compile_system(system)
    f = min(c.core.time_rhs(c.y0, 40_000 // nodes) for _ in range(15))
    J, lu, solve = np.min([c.core.time_stage(c.y0, 8_000 // nodes) for _ in range(15)], axis=0)
    few, many = (
        best(partial(gd.simulate, system, 1e-4 * k, method="rodas", step=1e-4, output=[1e-4 * k], dense=False), 9)[0]
        for k in (100, 400)
    )
    parts = f, J, lu, solve, J + lu + STAGES * (solve + f), (many - few) / 300
    return tuple(1e9 / nodes * value for value in parts)


def goals() -> None:
    """The two rods with which peers were compared."""
    pendulum, string = PROBLEMS[:2]
    cases = (
        (pendulum, 3e-3, "8 ms", 1e-2, {"grid": (40, 44), "degree 2": (5, 6), "degree 3": (4, 5), "degree 4": (3,)}),
        (string, 5e-4, "15 ms", 1e-3, {"grid": (44, 56), "degree 2": (4, 5), "degree 3": (2, 3), "degree 4": (1, 2)}),
    )
    for problem, limit, target, rtol, meshes in cases:
        print(f"{problem.name}, one simulated second, error <= {limit:g} m (target: {target}), rtol {rtol:g}")
        for name, numbers in meshes.items():
            for number in numbers:
                system = problem.make(number, **MESHES[name])
                seconds, (points, count) = best(partial(problem.solve, system, rtol), 25)
                error = np.linalg.norm(points - problem.truth, axis=1).max()
                good = "ok" if error <= limit else "-"
                print(f"  {name:10}{number:4d}{1e3 * seconds:8.2f} ms{error:10.1e} m   {count} tries   {good}")


def candidates() -> None:
    """Which elements a rod may have that says nothing: errors of six problems and what they cost."""
    print("degree x elements: error over length in 1e-4 at rtol 1e-5, and CPU in ms at 1e-3, of")
    print("  " + ", ".join([*(p.name for p in PROBLEMS), "Test 2"]))
    turned = _turned(segments=24, degree=4)
    for degree, number in ((0, 20), (0, 40), (2, 8), (2, 10), (3, 5), (3, 6), (3, 8), (4, 4), (4, 5)):
        options, cells = {"degree": degree} if degree else {}, []
        for problem in PROBLEMS:
            system = problem.make(number, **options)
            points, _ = problem.solve(system, 1e-5)
            error = np.linalg.norm(points - problem.truth, axis=1).max() / problem.length
            seconds, _ = best(partial(problem.solve, system, 1e-3), 9)
            cells.append(f"{1e4 * error:8.3g} ({1e3 * seconds / (problem.t_end or 1.0):.1f})")
        cells.append(f"{1e4 * np.linalg.norm(_turned(segments=number, **options) - turned, axis=1).max():8.3g}")
        print(f"  {f'{degree} x {number}' if degree else f'grid {number}':8}" + " ".join(cells))


def _turned(**options: Any) -> Array:
    """Eleven points of Test 2 of Lang, Linn, Arnold 2011, 1 m between clamps that turn by half a turn, at its stops."""
    problem = gd.problems.lla_test2(curvature="angle", **options)
    path = gd.follow(problem.system, problem.parameter, problem.stops)
    m, s = problem.system.rods[0].mesh, np.linspace(0.0, 1.0, 11)
    return np.concatenate([m.interpolate(*m.vertex_at(s), path.at(t)["rod"].positions) for t in problem.stops])


def rests() -> None:
    """Equilibria of few nodes; the elastica's error is over its length, that of the bend too."""
    print("equilibria, CPU with compilation (target: 1e-5 of the length with at most 9 nodes; 1 ms)")
    bend = PROBLEMS[4]
    for name, make, truth in (
        ("cantilever", _cantilever, _elastica_end()),
        ("45-degree bend", bend.make, bend.truth[0]),
    ):
        for label, numbers in (("grid", (20, 80)), ("degree 2", (4,)), ("degree 3", (2, 3)), ("degree 4", (1, 2))):
            for number in numbers:
                system = make(number, **MESHES[label])
                seconds, rest = best(partial(gd.equilibrium, system), 25)
                track, rod = rest["rod"], system.rods[0]
                error = np.linalg.norm(track.positions[-1] - truth) / rod.length
                nodes = len(rod.fractions)
                print(
                    f"  {name:16}{label:10}{nodes:4d} nodes{1e3 * seconds:8.2f} ms{error:10.1e}{rest.iterations:4d} it."
                )


def _cantilever(segments: int, **options: Any) -> gd.System:
    """A slender rod clamped at its start, under a force of 4 EI/L² across its end."""
    return gd.problems.elastica(4.0, segments, **options).system


def _elastica_end() -> Array:
    return np.asarray(gd.equilibrium(_cantilever(24, degree=4))["rod"].positions[-1])


# --- orders ----------------------------------------------------------------------------------------------------------

SECTION, RUBBER = gd.Circle(radius=5e-3), gd.problems.RUBBER
EI, GJ = (float(v) for v in np.diag(gd.Rod("rod", 1.0, 2, SECTION, RUBBER).stiffness_at([0.5])[0])[[3, 5]])


def clamped(segments: int, load: dict[str, Any], **options: Any) -> gd.System:
    """The rubber rod of 1 m along y with a load at its end."""
    line = gd.Straight((0, 0, 0), (0, 1, 0))
    rod = gd.Rod("rod", 1.0, segments, SECTION, RUBBER, gd.Clamped(), initial=line, **options)
    return gd.System(rods=[rod], forces=[gd.RodLoad("rod", **load)], gravity=(0, 0, 0))


def orders_at_rest() -> None:
    """Error of the end, in m, for twist of its frame in rad; and in the points between ends of elements."""
    print("orders at rest: error of the end, 2p expected; largest error anywhere, p + 1 expected")
    cases: dict[str, dict[str, Any]] = {
        "half circle": {"moment": (np.pi * EI, 0, 0)},
        "full circle": {"moment": (2.0 * np.pi * EI, 0, 0)},
        "tip load": {"force": (0, 0, -4.0 * EI)},
        "in space": {"force": (2.0 * EI, 0, -4.0 * EI), "moment": (0.0, GJ, 0.0)},
    }
    everywhere = np.linspace(0.0, 1.0, 73)
    for name, load in cases.items():
        truth = _shape(clamped(48, load, degree=4), everywhere)
        for degree, numbers in ((2, (4, 8, 16, 32)), (3, (2, 4, 8, 16)), (4, (2, 4, 8))):
            errors = [
                np.linalg.norm(_shape(clamped(n, load, degree=degree), everywhere) - truth, axis=1) for n in numbers
            ]
            for where, e in (("end", [x[-1] for x in errors]), ("all", [x.max() for x in errors])):
                shown = " ".join(f"{n}: {v:.1e}" for n, v in zip(numbers, e, strict=True))
                print(f"  {name:12}degree {degree} {where:4}{shown:52}{slope(e, numbers)}")


def _shape(system: gd.System, s: Array) -> Array:
    m = system.rods[0].mesh
    path = gd.follow(system, "load", (0.0, 1.0))
    return np.asarray(m.interpolate(*m.vertex_at(s), path.at(1.0)["rod"].positions))


#: A rod of length, density and Young's modulus 1, 0.04 thick: speed of torsion waves and stiffness against torsion.
THICKNESS, SHEAR = 0.04, 1.0 / 2.6
SPEED, BEND = np.sqrt(SHEAR), THICKNESS**2 / 4.0
TWIST = 2.0 * SHEAR * BEND
#: Where and when it is looked at.
WHERE, WHEN = np.arange(1, 37) / 36.0, np.linspace(0.4, 4.0, 10)


def onset(power: int) -> Callable[[float], float]:
    """A load that sets in as sin^m within a time of 1 and is over then; m = 0: at once, and stays."""
    return lambda t: 1.0 if power == 0 else float(np.sin(np.pi * t) ** power) if t < 1.0 else 0.0


def struck(segments: int, power: int, moment: float, force: float, bend: float, **options: Any) -> gd.System:
    """The rod, clamped, straight or bent, with a moment about its axis and a force at its end that set in as sin^m."""
    rod = gd.Rod(
        "rod",
        1.0,
        segments,
        start=gd.Clamped(),
        initial=gd.Bent((bend, 0.0, 0.0), orientation=(1.0, 0.0, 0.0, 0.0)),
        stiffness=(SHEAR * 5 / 6, SHEAR * 5 / 6, 1.0, BEND, BEND, TWIST),
        density_per_length=1.0,
        rotary_inertia=(BEND, BEND, 2.0 * BEND),
        **options,
    )
    f = onset(power)
    # Dead loads: a moment that follows is of order one on the grid.
    about = moment * np.array([0.0, -np.sin(bend), np.cos(bend)])
    across = np.array([0.6 * force, 0.8 * force, 0.0])
    loads = [gd.RodLoad("rod", moment=(lambda t: f(t) * about) if power else about)]
    if force:
        loads.append(gd.RodLoad("rod", force=(lambda t: f(t) * across) if power else across))
    return gd.System(rods=[rod], forces=loads, gravity=(0, 0, 0))


def looked_at(system: gd.System) -> tuple[Array, Array]:
    """Positions and quaternions, (10, 36, ...)."""
    motion = gd.simulate(system, WHEN[-1], method="dop853", rtol=1e-8, atol=1e-10, output=WHEN, dense=False)
    m, track = system.rods[0].mesh, motion["rod"]
    x = m.interpolate(*m.vertex_at(WHERE), track.positions)
    return x, m.interpolate_frames(*m.frame_at(WHERE), track.quaternions)


def between(p: Array, q: Array) -> float:
    """Largest angle between frames, rad."""
    gap = np.minimum(np.linalg.norm(p - q, axis=-1), np.linalg.norm(p + q, axis=-1))
    return float(4.0 * np.arcsin(0.5 * gap.max()))


def twisted(power: int, moment: float) -> Array:
    """Quaternions of the straight rod under the moment alone: two waves to and fro, in closed form."""
    fine = np.linspace(0.0, 1.0, 20001)
    load = np.sin(np.pi * fine) ** power
    impulse = np.concatenate([[0.0], np.cumsum(0.5 * (load[1:] + load[:-1]) * np.diff(fine))])

    def total(t: Array) -> Array:
        return np.maximum(t, 0.0) if power == 0 else np.interp(t, fine, impulse)

    t, s = WHEN[:, None], WHERE[None]
    waves = sum((-1) ** n * (total(t - (2 * n + 1 - s) / SPEED) - total(t - (2 * n + 1 + s) / SPEED)) for n in range(5))
    angle = SPEED / TWIST * moment * np.asarray(waves)
    return np.asarray(rotations.exp(angle[..., None] * np.array([0.0, 0.0, 1.0])))


def onsets() -> None:
    """What a sudden load does to the order: fronts that no degree resolves."""
    numbers, degrees = (8, 16, 32), (2, 3, 4)
    print("torsion by a moment at the end that sets in as sin^m: error of the angle in rad, 8, 16, 32 elements; orders")
    for power in (0, 1, 2, 3, 8):
        truth = twisted(power, 1e-3)
        for degree in degrees:
            errors = [between(looked_at(struck(n, power, 1e-3, 0.0, 0.0, degree=degree))[1], truth) for n in numbers]
            print(f"  m = {power}  degree {degree}  {' '.join(f'{e:.1e}' for e in errors)}   {slope(errors, numbers)}")
    print("bent rod in space, moment and force at the end: error of positions in m and of frames in rad, 36 places")
    for label, power, options in (
        ("at once", 0, {}),
        ("at once, damped", 0, {"damping": struck_damping()}),
        ("sin^2", 2, {}),
        ("sin^8", 8, {}),
    ):
        true = looked_at(struck(48, power, 2e-3, 2e-3, 1.0, degree=4, **options))
        for name, chosen in (("grid", (24, 48, 96)), *((f"degree {p}", numbers) for p in degrees)):
            found = [looked_at(struck(n, power, 2e-3, 2e-3, 1.0, **MESHES[name], **options)) for n in chosen]
            moved = [float(np.linalg.norm(x - true[0], axis=-1).max()) for x, _ in found]
            turned = [between(p, true[1]) for _, p in found]
            for unit, errors in (("m", moved), ("rad", turned)):
                shown = " ".join(f"{n}: {e:.1e}" for n, e in zip(chosen, errors, strict=True))
                print(f"  {label:16}{name:9} {shown} {unit:4}{slope(errors, chosen)}")


def struck_damping() -> gd.Damping:
    """Retardation of all stresses by a time of 2e-3."""
    return gd.Damping(*(1e-3 * c for c in (SHEAR * 5 / 6, 1.0, BEND, TWIST)))


def main() -> None:
    print(f"core for {_core.isa()}")
    tries()
    goals()
    candidates()
    rests()
    orders_at_rest()
    onsets()


if __name__ == "__main__":
    main()
