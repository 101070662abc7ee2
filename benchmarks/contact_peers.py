"""The cases of benchmarks/contact.py by other codes, for those of them that are installed.

Each function builds a model and returns what solves it, so that only the solving is timed; it returns one number.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi, radians, sin
from typing import Any

import numpy as np
from timing import best  # type: ignore[import-not-found]

G = 9.81
YOUNG, DENSITY, RADIUS, SEGMENTS, HEIGHT, TILT = 5e6, 1100.0, 5e-3, 50, 0.1, 0.2
AREA, MOMENT = pi * RADIUS**2, pi * RADIUS**4 / 4.0
MUJOCO = """
<mujoco>
  <option timestep="{h}" integrator="{integrator}" cone="elliptic" gravity="{gx} 0 {gz}"/>
  <worldbody><geom type="plane" size="10 10 0.1" friction="{mu} 0 0" condim="3"/>{bodies}</worldbody>
</mujoco>"""
FREE = '<body pos="0 0 {z}"><freejoint/><geom mass="1" condim="3" friction="{mu} 0 0" {shape}/></body>'

Solve = Callable[[], float]


def _mujoco(bodies: str, h: float, mu: float, degrees: float = 0.0, integrator: str = "implicitfast") -> Any:
    mj: Any = importlib.import_module("mujoco")
    a = radians(degrees)
    text = MUJOCO.format(h=h, mu=mu, gx=-G * sin(a), gz=-G * cos(a), bodies=bodies, integrator=integrator)
    model = mj.MjModel.from_xml_string(text)
    return mj, model, mj.MjData(model)


def mujoco_rolls(h: float) -> Solve:
    """A ball that slips until it rolls: how far its speed is off 15/7 m/s."""
    mj, model, state = _mujoco(FREE.format(z=0.1, mu=0.2, shape='type="sphere" size="0.1"'), h, 0.2)
    state.qvel[0] = 3.0

    def solve() -> float:
        mj.mj_step(model, state, nstep=round(1.0 / h))
        return float(state.qvel[0] / (15 / 7) - 1.0)

    return solve


def mujoco_creeps(h: float) -> Solve:
    """A block on a slope of 20 degrees, mu = 0.5: m/s by which it creeps over the second of two seconds."""
    mj, model, state = _mujoco(FREE.format(z=1e-3, mu=0.5, shape='type="box" size="0.05 0.05 1e-3"'), h, 0.5, 20.0)

    def solve() -> float:
        mj.mj_step(model, state, nstep=round(1.0 / h))
        x = float(state.qpos[0])
        mj.mj_step(model, state, nstep=round(1.0 / h))
        return x - float(state.qpos[0])

    return solve


def mujoco_falls(h: float) -> Solve:
    """A rubber rod falls on a floor: depth, m."""
    mass = DENSITY * AREA
    rod = f"""
      <flexcomp name="rod" type="grid" dim="1" count="{SEGMENTS + 1} 1 1" spacing="{1 / SEGMENTS} 1 1" mass="{mass}"
                pos="0 0 {HEIGHT + 0.5 * sin(TILT)}" euler="0 {-TILT * 180.0 / pi} 0" radius="{RADIUS}">
        <edge stiffness="{YOUNG * AREA * SEGMENTS}"/>
        <elasticity young="{YOUNG}" shear="{YOUNG / 3.0}" damping="1e-3"/>
        <contact selfcollide="none"/>
      </flexcomp>"""
    mj, model, state = _mujoco(rod, h, 0.4, integrator="RK4")

    def solve() -> float:
        least = np.inf
        for _ in range(round(1.0 / h)):
            mj.mj_step(model, state)
            least = min(least, float(state.flexvert_xpos[:, 2].min()))
        return RADIUS - least

    return solve


def pyelastica_falls(h: float) -> Solve:
    """The same; its contact has a stiffness for each node and damping in place of friction."""
    ea: Any = importlib.import_module("elastica")
    along = np.array([cos(TILT), 0.0, sin(TILT)])
    rod = ea.CosseratRod.straight_rod(
        SEGMENTS, np.array([0.0, 0.0, HEIGHT]), along, np.array([0.0, 1.0, 0.0]), 1.0, RADIUS, DENSITY,
        youngs_modulus=YOUNG, shear_modulus=YOUNG / 3.0,
    )  # fmt: skip
    simulator = type("Simulator", (ea.BaseSystemCollection, ea.Constraints, ea.Forcing, ea.Contact, ea.Damping), {})()
    floor = ea.Plane(np.zeros(3), np.array([0.0, 0.0, 1.0]))
    simulator.append(rod), simulator.append(floor)
    simulator.add_forcing_to(rod).using(ea.GravityForces, acc_gravity=np.array([0.0, 0.0, -G]))
    simulator.dampen(rod).using(ea.AnalyticalLinearDamper, damping_constant=0.1, time_step=h)
    simulator.detect_contact_between(rod, floor).using(ea.RodPlaneContact, k=1e5 / SEGMENTS, nu=0.1)
    simulator.finalize()

    def solve() -> float:
        least, pieces = np.inf, 200
        with contextlib.redirect_stdout(io.StringIO()):
            for i in range(pieces):
                steps = round(1.0 / h / pieces)
                ea.integrate(
                    ea.PositionVerlet(), simulator, 1.0 / pieces, steps, restart_time=i / pieces, progress_bar=False
                )
                least = min(least, float(rod.position_collection[2].min()))
        return RADIUS - least

    return solve


@dataclass(frozen=True)
class Case:
    """A peer, what it solves with a step, and how its number reads."""

    module: str
    label: str
    build: Callable[[float], Solve]
    steps: tuple[float, ...]
    told: str
    scale: float = 1.0


CASES = (
    Case("mujoco", "MuJoCo, a ball slips until it rolls, 1 s", mujoco_rolls, (1e-3, 1e-4), "speed off by {:.1e}"),
    Case("mujoco", "MuJoCo, a block sticks on a slope, 2 s", mujoco_creeps, (1e-3, 1e-4), "creeps {:.1f} um/s", 1e6),
    Case("mujoco", "MuJoCo flex, RK4, a rod falls, 1 s", mujoco_falls, (2.5e-4,), "{:.2f} mm deep", 1e3),
    Case("elastica", "PyElastica, a rod falls, 1 s", pyelastica_falls, (1e-4,), "{:.2f} mm deep", 1e3),
)


def compare(times: int) -> None:
    """CPU time, building the model not counted, and what came out."""
    print("\npeers, CPU time without building the model")
    for case in CASES:
        if importlib.util.find_spec(case.module) is None:
            print(f"{case.label:44}not installed")
            continue
        for h in case.steps:
            try:
                solvers = iter([case.build(h) for _ in range(times)])
                seconds, found = best(lambda solvers=solvers: next(solvers)(), times)
            except Exception as error:  # another version of the peer; the rest is still measured
                print(f"{case.label:44}{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}")
                continue
            print(f"{case.label:44}h {h:<8g}{1e3 * seconds:9.1f} ms   {case.told.format(case.scale * found)}")


if __name__ == "__main__":
    compare(3)
