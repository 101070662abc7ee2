"""Mechanisms: cost of a right-hand side and of an implicit stage for each link, a long chain, many closed loops.

CPU time, best of several runs; ratios within one run. Peers (Exudyn, MuJoCo) are asked if they are installed.
"""

from __future__ import annotations

import time
from functools import partial
from importlib.util import find_spec

import numpy as np
from timing import best  # type: ignore[import-not-found]

import gyrod as gd
from gyrod import _core
from gyrod.equations import compile_system

WATCHED = (10, 100, 1000)


def right_hand_sides() -> None:
    print("chain on ball joints, ns a link: right-hand side; Jacobian, factorization and solution of a stage")
    for n in (10, 100, 1000, 10000):
        begin = time.process_time()
        c = compile_system(gd.problems.chain(n).system)
        compiled = time.process_time() - begin
        repeat = max(3, 200_000 // n)
        rhs = min(c.core.time_rhs(c.y0, repeat) for _ in range(5)) * 1e9 / n
        stage = np.min([c.core.time_stage(c.y0, max(1, repeat // 50)) for _ in range(3)], axis=0) * 1e9 / n
        print(
            f"  {n:6d} links{rhs:9.1f}" + "".join(f"{x:11.0f}" for x in stage) + f"     (compiled in {compiled:.2f} s)"
        )


def long_chain() -> None:
    n = max(WATCHED)
    problem = gd.problems.chain(n)
    names = [f"link{k - 1}" for k in WATCHED]
    solve = partial(gd.simulate, problem.system, 1.0, output=[1.0], dense=False)
    truth = solve(method="dop853", rtol=1e-10)
    print(f"{n} links for 1 s: CPU, error of links {', '.join(map(str, WATCHED))} in m, from dop853 at 1e-10")
    for k, name in zip(WATCHED, names, strict=True):
        print(f"  link {k:5d} at 1 s: {truth[name].position[-1].round(7)}")
    for method, rtol in (("dopri5", 1e-4), ("dopri5", 1e-6), ("dop853", 1e-6), ("dop853", 1e-8)):
        begin = time.process_time()
        motion = solve(method=method, rtol=rtol)
        seconds = time.process_time() - begin
        errors = [float(np.linalg.norm(motion[m].position[-1] - truth[m].position[-1])) for m in names]
        print(
            f"  {method:8} rtol {rtol:g}{seconds:8.2f} s" + "".join(f"{e:11.1e}" for e in errors)
            + f"{motion.stats.steps:7d} steps{motion.stats.rhs:8d} evaluations"
        )  # fmt: skip


def loops() -> None:
    problem = gd.problems.four_bar(40)
    truth = problem.reference[20.0]["upright0"]["position"]
    print("40 four-bars for 20 s, singular at every half turn: CPU, error of the tip in m")
    for formulation in ("nullspace-quaternion", "nullspace-directors"):
        for method, rtol in (("dopri5", 1e-5), ("dop853", 1e-5), ("dop853", 1e-6), ("dop853", 1e-8)):
            run = partial(
                gd.simulate, problem.system, 20.0, formulation=formulation, method=method, rtol=rtol, dense=False
            )
            try:
                seconds, motion = best(partial(run, output=[20.0]), 3)
            except gd.SimulationError as failure:
                print(f"  {formulation:21} {method:7} rtol {rtol:g}  stops at t = {failure.time:.4g} s")
                continue
            # Trusted is the tip; the middle of the upright is half as far out.
            error = 2.0 * float(np.linalg.norm(motion["upright0"].position[-1] - truth))
            evaluations = f"{motion.stats.rhs:9d} evaluations"
            print(f"  {formulation:21} {method:7} rtol {rtol:g}{1e3 * seconds:9.0f} ms{error:12.1e} m{evaluations}")


def peers() -> None:
    """The chain of 100 links for a second in MuJoCo, if it is there."""
    missing = [name for name in ("exudyn", "mujoco") if find_spec(name) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}")
    if "mujoco" not in missing:
        mujoco_chain(100)


def mujoco_chain(n: int, h: float = 1e-3) -> None:
    import mujoco  # type: ignore[import-not-found]

    body = gd.problems.chain(1).system.bodies[0]
    moments = " ".join(str(float(m)) for m in np.diag(body.inertia))
    text, tail = "", ""
    for i in range(n):
        text += (
            f'<body pos="{0.1 if i else 0} 0 0"><joint type="ball"/>'
            f'<inertial pos="0.05 0 0" mass="{body.mass}" diaginertia="{moments}"/>'
        )
        tail += "</body>"
    option = f'<option timestep="{h}" integrator="RK4" gravity="0 0 -9.81"/>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{option}<worldbody>{text}{tail}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    begin = time.process_time()
    for _ in range(round(1.0 / h)):
        mujoco.mj_step(model, data)
    print(f"  MuJoCo, {n} links, RK4 with h = {h:g}: {time.process_time() - begin:.2f} s for a second")


def main() -> None:
    print(f"core for {_core.isa()}")
    right_hand_sides()
    long_chain()
    loops()
    peers()


if __name__ == "__main__":
    main()
