"""Rigid bodies: cost of a right-hand side, of the heavy top of Lang 2010, and how it grows with the number of bodies.

CPU time, best of several runs; ratios within one run.
"""

from __future__ import annotations

from functools import partial

from timing import best  # type: ignore[import-not-found]

import gyrod as gd
from gyrod import _core
from gyrod.equations import compile_system


def free_bodies(n: int) -> gd.System:
    bodies = [
        gd.Body(f"b{i}", mass=1.0, inertia=(2.0, 1.5, 1.0), position=(i, 0, 0), angular_velocity=(0.1, 0.2, 3.0))
        for i in range(n)
    ]
    return gd.System(bodies)


def right_hand_sides() -> None:
    print("right-hand side in a compiled loop, ns a body")
    top = gd.problems.get("lang-a").system
    for formulation in gd.FORMULATIONS:
        row = [top, free_bodies(1) if formulation != "euler" else None]
        values = []
        for system in row:
            if system is None:
                continue
            c = compile_system(system, formulation)
            values.append(min(c.core.time_rhs(c.y0, 200_000) for _ in range(9)) * 1e9)
        print(f"  {formulation:24}" + "".join(f"{v:9.1f}" for v in values) + "   (heavy top, free body)")
    one, many = (compile_system(free_bodies(n)) for n in (1, 1000))
    a = min(one.core.time_rhs(one.y0, 200_000) for _ in range(9))
    b = min(many.core.time_rhs(many.y0, 300) for _ in range(9)) / 1000
    print(f"  1000 free bodies: {1e9 * b:.1f} ns a body, {b / a:.2f} times one body alone")


def heavy_top() -> None:
    problem = gd.problems.get("lang-a")
    truth = gd.simulate(problem.system, 60.0, method="dop853", rtol=1e-13, output=[60.0])["top"].quaternion[-1]
    print("heavy top, T = 60 s (Lang 2010, example A): default formulation, CPU and attitude error at the end")
    for method, rtol in (("dop853", 1e-10), ("odex", 1e-10), ("dopri5", 1e-10), ("radau5", 1e-9), ("rodas", 1e-8)):
        run = partial(gd.simulate, problem.system, 60.0, method=method, rtol=rtol, output=[60.0], dense=False)
        seconds, motion = best(run)
        error = float(gd.rotations.distance(motion["top"].quaternion[-1], truth))
        print(f"  {method:8} rtol {rtol:g}{1e3 * seconds:9.2f} ms{error:12.1e} rad{motion.stats.rhs:9d} evaluations")


def main() -> None:
    print(f"core for {_core.isa()}")
    right_hand_sides()
    heavy_top()


if __name__ == "__main__":
    main()
