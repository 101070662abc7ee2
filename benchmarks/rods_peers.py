"""The rods of benchmarks/rods.py by other codes, for those of them that are installed.

Each function here builds a model and returns what solves it, so that only the solving is timed. A solver returns (y, z)
of the middle and of the free end at the times asked for, (times, 2, 2).
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from timing import best  # type: ignore[import-not-found]

Array = NDArray[np.float64]
Solve = Callable[[], Array]
Times = Sequence[float]

GRAVITY = 9.81


@dataclass(frozen=True)
class Data:
    """A round rod of 1 m along y, at rest, its start hinged or clamped."""

    young: float
    shear: float
    density: float
    radius: float
    clamped: bool

    @property
    def area(self) -> float:
        return float(np.pi * self.radius**2)

    @property
    def moment(self) -> float:
        return float(np.pi * self.radius**4 / 4.0)


RUBBER = Data(5e6, 5e6 / 3.0, 1100.0, 5e-3, False)
STEEL = Data(2.1e11, 2.1e11 / 2.4, 7850.0, 1e-3, True)


def pyelastica(data: Data, n: int, h: float, times: Times) -> Solve:
    """Position Verlet; a clamp holds the first element, not a point."""
    ea: Any = importlib.import_module("elastica")
    rod = ea.CosseratRod.straight_rod(
        n, np.zeros(3), np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]), 1.0, data.radius, data.density,
        youngs_modulus=data.young, shear_modulus=data.shear,
    )  # fmt: skip
    simulator = type("Simulator", (ea.BaseSystemCollection, ea.Constraints, ea.Forcing), {})()
    simulator.append(rod)
    if data.clamped:
        held = {"constrained_position_idx": (0,), "constrained_director_idx": (0,)}
        simulator.constrain(rod).using(ea.OneEndFixedBC, **held)
    else:
        fixed = np.array([True, True, True])
        simulator.constrain(rod).using(
            ea.GeneralConstraint, constrained_position_idx=(0,), translational_constraint_selector=fixed
        )
    simulator.add_forcing_to(rod).using(ea.GravityForces, acc_gravity=np.array([0.0, 0.0, -GRAVITY]))
    simulator.finalize()

    def solve() -> Array:
        points, t = [], 0.0
        with contextlib.redirect_stdout(io.StringIO()):
            for until in times:
                steps = round((until - t) / h)
                ea.integrate(ea.PositionVerlet(), simulator, until - t, steps, restart_time=t, progress_bar=False)
                points.append(rod.position_collection[1:, [n // 2, n]].T.copy())
                t = until
        return np.array(points)

    return solve


def exudyn(element: str, data: Data, n: int, h: float, times: Times) -> Solve:
    """Trapezoidal rule; in its plane x, y. Times must be multiples of the first."""
    exu: Any = importlib.import_module("exudyn")
    items: Any = importlib.import_module("exudyn.itemInterface")
    beams: Any = importlib.import_module("exudyn.beams")
    mbs = exu.SystemContainer().AddSystem()
    stiffness = {"bendingStiffness": data.young * data.moment, "axialStiffness": data.young * data.area}
    if element == "GE2D":
        template = items.ObjectBeamGeometricallyExact2D(
            massPerLength=data.density * data.area,
            crossSectionInertia=data.density * data.moment,
            shearStiffness=data.shear * data.area,
            **stiffness,
        )
        held = [1, 1, int(data.clamped)]
    else:
        template = items.ObjectANCFCable(massPerLength=data.density * data.area, **stiffness)
        held = [1, 1, 1, 0, int(data.clamped), int(data.clamped)]
    rod = beams.GenerateBeamElementsAlongLine(
        mbs, [0, 0, 0], [1, 0, 0], n, template, gravity=[0, -GRAVITY, 0], groundConstraintsStart=held
    )
    position = exu.OutputVariableType.Position
    sensors = [
        mbs.AddSensor(items.SensorNode(nodeNumber=rod["nodes"][k], storeInternal=True, outputVariableType=position))
        for k in (n // 2, n)
    ]
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.endTime = times[-1]
    settings.timeIntegration.numberOfSteps = round(times[-1] / h)
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.verboseMode = 0
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = times[0]

    def solve() -> Array:
        mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.TrapezoidalIndex2)
        tracks = [mbs.GetSensorStoredData(sensor) for sensor in sensors]
        rows = np.searchsorted(tracks[0][:, 0], np.array(times) - 1e-9)
        return np.stack([track[rows, 1:3] for track in tracks], axis=1)

    return solve


def mujoco(data: Data, n: int, h: float, times: Times) -> Solve:
    """Flex of dimension 1 (discrete elastic rod with springs along its edges), RK4; it does not shear."""
    mj: Any = importlib.import_module("mujoco")
    mass = data.density * data.area
    model = mj.MjModel.from_xml_string(f"""
      <mujoco>
        <option timestep="{h}" integrator="RK4" gravity="0 0 {-GRAVITY}"><flag contact="disable"/></option>
        <worldbody>
          <flexcomp name="rod" type="grid" dim="1" count="{n + 1} 1 1" spacing="{1 / n} 1 1" pos="0.5 0 0"
                    mass="{mass}" radius="{data.radius}">
            <pin id="0"/>
            <edge stiffness="{data.young * data.area * n}"/>
            <elasticity young="{data.young}" shear="{data.shear}"/>
            <contact selfcollide="none"/>
          </flexcomp>
        </worldbody>
      </mujoco>""")
    state = mj.MjData(model)
    bodies = model.flex_vertbodyid
    model.body_mass[bodies[1:]] = mass / n  # its own share, the same for all, makes the end twice as heavy
    model.body_mass[bodies[-1]] /= 2.0
    mj.mj_setConst(model, state)
    mj.mj_resetData(model, state)

    def solve() -> Array:
        points, t = [], 0.0
        for until in times:
            mj.mj_step(model, state, nstep=round((until - t) / h))
            mj.mj_kinematics(model, state)
            mj.mj_flex(model, state)
            points.append(state.flexvert_xpos[[n // 2, n]][:, [0, 2]].copy())
            t = until
        return np.array(points)

    return solve


@dataclass(frozen=True)
class Case:
    """A peer with its grids and steps, and the part of a second that is simulated (scaled to one if it is less)."""

    module: str
    label: str
    build: Callable[..., Solve]
    grids: tuple[tuple[int, float], ...]
    note: str = ""
    part: float = 1.0


PENDULUM = (
    Case("exudyn", "Exudyn GE2D, trapezoidal", partial(exudyn, "GE2D"), ((20, 5e-3), (40, 5e-3))),
    Case("exudyn", "Exudyn ANCF cable 3D, trapezoidal", partial(exudyn, "ANCF"), ((20, 2e-3), (40, 2e-3)), "no shear"),
    Case("mujoco", "MuJoCo flex, RK4", mujoco, ((20, 1e-3), (40, 5e-4)), "no shear"),
    Case("elastica", "PyElastica, Verlet", pyelastica, ((20, 1.25e-4), (40, 1e-4))),
)
STRING = (
    Case("exudyn", "Exudyn GE2D, trapezoidal", partial(exudyn, "GE2D"), ((20, 5e-3), (40, 5e-3))),
    Case("exudyn", "Exudyn ANCF cable 3D, trapezoidal", partial(exudyn, "ANCF"), ((20, 5e-3),), "no shear"),
    Case("elastica", "PyElastica, Verlet", pyelastica, ((20, 3e-7),), "0.01 s measured, scaled to 1 s", 0.01),
)


def measure(case: Case, data: Data, n: int, h: float, times: Times) -> tuple[float, Array]:
    """Least CPU seconds of solving, each time on a model built anew, and the points."""
    repeat = 3
    models = iter([case.build(data, n, h, times if case.part == 1.0 else [case.part]) for _ in range(repeat)])
    seconds, points = best(lambda: next(models)(), repeat)
    return seconds / case.part, points


def table(cases: Sequence[Case], data: Data, times: Times, truth: Array, places: slice) -> None:
    for case in cases:
        if importlib.util.find_spec(case.module) is None:
            print(f"  {case.label:62}not installed")
            continue
        for n, h in case.grids:
            label = f"{case.label}, {n} elements, h {h:g}"
            try:
                seconds, points = measure(case, data, n, h, times)
            except Exception as error:  # another version of the peer; the rest is still measured
                print(f"  {label:62}{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}")
                continue
            error_shown = "-"
            if case.part == 1.0:
                error_shown = f"{np.linalg.norm(points[:, places] - truth, axis=-1).max():.1e} m"
            print(f"  {label:62}{1e3 * seconds:10.1f} ms{error_shown:>12}  {case.note}".rstrip())


def compare(pendulum_times: Times, pendulum_truth: Array, string_times: Times, string_truth: Array) -> None:
    """Truth: (times, 2, 2) of the middle and the end for the pendulum, (times, 2) of the end for the string."""
    print("undamped rubber pendulum by peers, one simulated second, building the model not counted")
    table(PENDULUM, RUBBER, pendulum_times, pendulum_truth, slice(0, 2))
    print("undamped steel string by peers, one simulated second, building the model not counted")
    table(STRING, STEEL, string_times, string_truth[:, None], slice(1, 2))
    print("  not measured: MuJoCo on the steel string")
