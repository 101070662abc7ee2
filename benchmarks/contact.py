"""What contact costs: a floor that nothing touches, one on which a rod lies, falls, rests; balls and blocks; and peers.

CPU time, best of several, ratios within one run.
"""

from __future__ import annotations

import argparse
import runpy
import time
from collections.abc import Callable
from functools import partial
from math import cos, pi, sin
from pathlib import Path

import contact_peers  # type: ignore[import-not-found]
import numpy as np

import gyrod as gd
from gyrod._check import Array
from gyrod.equations import compile_system

RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)
CIRCLE = gd.Circle(5e-3)
DAMPING = gd.Damping(bending=5e-3 * pi * 5e-3**4 / 4 * 5e6, torsion=1e-7, shear=1.0, extension=1.0)


def best(work: Callable[[], object], times: int) -> float:
    """Least CPU seconds."""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def rod(height: float, segments: int = 50, tilt: float = 0.0, damping: gd.Damping | None = None) -> gd.Rod:
    """A rubber rod of 1 m above the floor."""
    return gd.Rod(
        "rod", length=1.0, segments=segments, discretization="staggered", section=CIRCLE, material=RUBBER,
        initial=gd.Straight((0, 0, height), (cos(tilt), 0, height + sin(tilt))), damping=damping,
    )  # fmt: skip


def floor(**given: object) -> gd.Contact:
    """A floor for the rod."""
    return gd.Contact("rod", gd.Plane(), **{"stiffness": 1e5, "name": "floor", **given})  # type: ignore[arg-type]


def kernels(times: int) -> None:
    """Right-hand sides and steps with and without a floor."""
    cases = {
        "no floor": (1.0, ()),
        "a floor far below": (1.0, (floor(friction=0.4),)),
        "on it, without friction": (4.99e-3, (floor(),)),
        "on it, with friction": (4.99e-3, (floor(friction=0.4),)),
    }
    base: dict[str, float] = {}
    print(f"{'50 segments':28}{'f, us':>10}{'':>8}{'RODAS step, us':>16}")
    for name, (height, contacts) in cases.items():
        system = gd.System(rods=[rod(height)], contacts=contacts)
        core = compile_system(system)
        f = min(core.core.time_rhs(core.y0, 2000) for _ in range(3 * times))
        h = 1e-5

        def run(system: gd.System = system, h: float = h) -> object:
            return gd.simulate(system, 400 * h, method="rodas", step=h, dense=False)

        def short(system: gd.System = system, h: float = h) -> object:
            return gd.simulate(system, 200 * h, method="rodas", step=h, dense=False)

        step = (best(run, times) - best(short, times)) / 200
        base.setdefault("f", f), base.setdefault("step", step)
        print(f"{name:28}{1e6 * f:10.2f}{f / base['f']:8.2f}{1e6 * step:16.1f}{step / base['step']:8.2f}")


def falls(times: int) -> None:
    """A rod that falls on a floor, 1 s."""
    print(f"\n{'a rod falls, 1 s, 1e-3':36}{'CPU s':>8}{'steps':>8}{'depth, mm':>11}")
    for stiffness in (1e5, 1e6):
        for friction in (None, 0.4):
            contact = floor(stiffness=stiffness, friction=friction, smoothing=10.0 / stiffness)
            system = gd.System(rods=[rod(0.1, tilt=0.2, damping=DAMPING)], contacts=[contact])
            motion = gd.simulate(system, 1.0, rtol=1e-3)

            def work(system: gd.System = system) -> object:
                return gd.simulate(system, 1.0, rtol=1e-3)

            depth = -1e3 * float(motion.contacts["floor"].gap.min())
            told = f"k = {stiffness:.0e}, " + ("no friction" if friction is None else "friction 0.4")
            print(f"{told:36}{best(work, times):8.3f}{motion.stats.steps:8d}{depth:11.3f}")


def rubber(name: str, a: Array, b: Array, segments: int, held: gd.Clamped | None = None) -> gd.Rod:
    """A rubber rod between two points."""
    return gd.Rod(
        name, segments=segments, discretization="staggered", section=CIRCLE, material=RUBBER, damping=DAMPING,
        initial=gd.Straight(a, b), start=held or gd.Free(), end=held or gd.Free(),
    )  # fmt: skip


def heap(count: int, **law: object) -> gd.System:
    """Rods of 0.2 m and ten segments above each other, which fall on the floor."""
    rng, rods = np.random.default_rng(1), []
    for i in range(count):
        a, place = rng.uniform(0, 2 * pi), np.array([*rng.uniform(-0.03, 0.03, 2), 0.01 + 0.015 * i])
        half = 0.1 * np.array([cos(a), sin(a), 0.0])
        rods.append(rubber(f"{i}", place - half, place + half, 10))
    names = [rod.name for rod in rods]
    among = gd.Contact(names, names, name="rods", **law)  # type: ignore[arg-type]
    return gd.System(rods=rods, contacts=[among, gd.Contact(names, gd.Plane(), **law)])  # type: ignore[arg-type]


def among(times: int) -> None:
    """Rods that fall across each other and in a heap, 1 s."""
    across, along = np.array([0.5, 0, 0]), np.array([0, 0.5, 0])
    high = np.array([0, 0, 0.1])
    lower = rubber("lower", -across, across, 50, gd.Clamped("ground"))
    upper = rubber("upper", high - along, high + along, 50)
    print(f"\n{'rods among themselves, 1 s, 1e-3':36}{'CPU s':>8}{'steps':>8}{'depth, mm':>11}")
    for friction in (None, gd.Friction(0.3, sticking=False, slip_speed=1e-2), gd.Friction(0.3)):
        law = {"stiffness": 1e6 if friction is None else 4e6, "damping": 1.0, "friction": friction}
        cross = gd.Contact("upper", "lower", name="rods", **law)  # type: ignore[arg-type]
        cases = {
            "two cross": gd.System(rods=[lower, upper], contacts=[cross]),
            "a heap of ten": heap(10, **law),
            "a heap of thirty": heap(30, **law),
        }
        if friction is not None and friction.sticking:
            del cases["a heap of thirty"]
        for told, system in cases.items():
            motion = gd.simulate(system, 1.0, rtol=1e-3)

            def work(system: gd.System = system) -> object:
                return gd.simulate(system, 1.0, rtol=1e-3)

            depth = -1e3 * float(motion.contacts["rods"].gap.min())
            told += "" if friction is None else ", sticking" if friction.sticking else ", friction"
            cost = best(work, 1 if "thirty" in told else times)
            print(f"{told:36}{cost:8.3f}{motion.stats.steps:8d}{depth:11.3f}")


def search(times: int) -> None:
    """What finding out what touches costs of a step, of 100 rods of ten segments."""
    law = {"stiffness": 1e6, "damping": 1.0}
    start = gd.simulate(heap(100, **law), 0.25, rtol=1e-3, dense=False)
    y = np.ascontiguousarray(start.y[-1])
    with_them = compile_system(heap(100, **law))
    names = [f"{i}" for i in range(100)]
    bare = compile_system(heap(100, **law).with_(contacts=[gd.Contact(names, gd.Plane(), **law)]))  # type: ignore[arg-type]
    costs = [min(core.core.time_rhs(y, 200) for _ in range(times)) for core in (with_them, bare)]
    stats = start.stats
    step, calls = stats.seconds / (stats.steps + stats.rejected), stats.rhs / (stats.steps + stats.rejected)
    share = calls * (costs[0] - costs[1]) / step
    print(f"\n1,000 segments in a heap: step {1e3 * step:.2f} ms, search and forces {100 * share:.1f} % of it")


def knots(times: int) -> None:
    """A knot of 200 segments: at rest, and pulled tight and let go with friction."""
    example = runpy.run_path(str(Path(__file__).parent.parent / "examples" / "overhand_knot.py"))
    cost = best(example["run"], times)
    print(f"a knot of 200 segments at rest, pulled tight and let go: {cost:.2f} s CPU")


def bodies(times: int) -> None:
    """A ball that slips and rolls."""
    ball = gd.Body(
        "ball", mass=1.0, inertia=(4e-3,) * 3, position=(0, 0, 0.1 - 9.81e-7), velocity=(3, 0, 0), shape=gd.Sphere(0.1)
    )
    contact = gd.Contact("ball", gd.Plane(), stiffness=1e7, friction=gd.Friction(0.2, presliding=1e-6))
    system = gd.System(bodies=[ball], contacts=[contact])
    motion = gd.simulate(system, 1.0, rtol=1e-6)
    off = motion["ball"].velocity[-1, 0] / (15 / 7) - 1
    cost = best(lambda: gd.simulate(system, 1.0, rtol=1e-6), times)
    told = f"{1e3 * cost:.1f} ms CPU, {motion.stats.steps} steps, speed off by {off:.1e}"
    print(f"\na ball slips until it rolls, 1 s: {told}")


def balls(times: int) -> None:
    """Balls in layers that fall on a floor and on each other: setting up, and steps."""
    print(f"\n{'balls, all with all':20}{'set up, ms':>12}{'a step, ms':>12}{'of a ball, us':>15}")
    for n in (50, 100, 200, 400):
        rng, side = np.random.default_rng(1), round((n / 4) ** 0.5)
        grid = (np.array([i % side, i // side % side, 0.52 + 1.05 * (i // side**2)]) for i in range(n))
        places = (0.021 * at + 1e-4 * rng.standard_normal(3) for at in grid)
        made = [gd.Body(f"b{i}", 0.03, (1.2e-6,) * 3, x, shape=gd.Sphere(0.01)) for i, x in enumerate(places)]
        contacts = [gd.Contact("all", b, stiffness=1e4, damping=1.0) for b in (gd.Plane(), "all")]
        system = gd.System(made, contacts=contacts)
        made_ready = best(lambda system=system: compile_system(system), times)  # type: ignore[misc]
        run = partial(gd.simulate, system, 0.1, method="rodas", rtol=1e-4)
        stats = run().stats
        step = (best(run, times) - made_ready) / (stats.steps + stats.rejected)
        print(f"{n:20d}{1e3 * made_ready:12.0f}{1e3 * step:12.2f}{1e6 * step / n:15.1f}")


def creeps(times: int) -> None:
    """A block on a slope of 20 degrees that sticks: how far it creeps within the second of two seconds."""
    a = pi / 9
    normal, along = np.array([-sin(a), 0.0, cos(a)]), np.array([cos(a), 0.0, sin(a)])
    turn = gd.rotations.quaternion_from_matrix(np.array([along, [0, 1, 0], normal]).T)
    place = normal * (1e-3 - 9.81 * cos(a) / 4e6)
    block = gd.Body("block", 1.0, (1e-3,) * 3, position=place, orientation=turn, shape=gd.Box((0.1, 0.1, 2e-3)))
    grip = gd.Friction(0.5, presliding=1e-6)
    slope = gd.Contact("block", gd.Plane((0, 0, 0), normal), stiffness=1e6, damping=0.5, friction=grip)
    system = gd.System(bodies=[block], contacts=[slope])
    motion = gd.simulate(system, 2.0)
    crept = abs((motion(1.0)["block"].position - motion["block"].position[-1]) @ along)
    cost = best(lambda: gd.simulate(system, 2.0), times)
    print(f"a block sticks on a slope, 2 s: {1e3 * cost:.1f} ms CPU, creeps by {crept:.1e} m/s")


def rests(times: int) -> None:
    """A heavy cantilever that lies on a floor: closed form of its moment."""
    print(f"\n{'a cantilever lies down, 80 segments':36}{'CPU ms':>8}{'iterations':>12}{'moment off by':>15}")
    for stiffness in (1e3, 1e4, 1e5, 1e6, 1e7, 1e8):
        hangs = gd.Rod(
            "rod", length=5.0, segments=80, discretization="staggered", stiffness=(1e5,) * 3 + (1.0,) * 3,
            density_per_length=1 / 9.81, rotary_inertia=(1e-4,) * 3, initial=gd.Straight((0, 0, 0.5), (5, 0, 0.5)),
            start=gd.Clamped("ground"),
        )  # fmt: skip
        system = gd.System(rods=[hangs], contacts=[floor(stiffness=stiffness)])
        rest = gd.equilibrium(system)
        off = float(np.abs(rest["rod"].start_moment).max()) - 1.0
        cost = best(lambda system=system: gd.equilibrium(system), times)  # type: ignore[misc]
        print(f"{f'k = {stiffness:.0e}':36}{1e3 * cost:8.1f}{len(rest.history):12d}{off:15.1e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    n = parser.parse_args().times
    kernels(n)
    falls(n)
    among(n)
    search(n)
    knots(n)
    bodies(n)
    balls(min(n, 3))
    creeps(n)
    rests(n)
    contact_peers.compare(min(n, 3))
