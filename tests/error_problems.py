"""Problems with trusted values for the calibration of error estimates, which `gyrod.motion.errors` promises.

Each problem has three meshes, and motions four tolerances. Trusted values are those of a fine mesh of degree 4 and a
tight tolerance, `data/trusted.npz`; how far they lie from those of a mesh with two thirds of the elements and ten times
the tolerance is kept with them as their doubt. To make them again, about two minutes of CPU time::

    python tests/error_problems.py trusted [problem ...]     # compute the trusted values, or some of them
    python tests/error_problems.py measure cases.json          # all cases: true error, difference to the companions
    python tests/error_problems.py constants cases.json        # what constants lack, and shares
    python tests/error_problems.py table cases.json            # the table of docs/errors.md
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import gyrod as gd
from gyrod import problems
from gyrod.motion import errors, readings

DATA = Path(__file__).parent / "data" / "trusted.npz"
RTOLS = (1e-3, 1e-4, 1e-5, 1e-6)
ROWS = 81
RUBBER = gd.Material(young=5e6, poisson=0.5, density=1100)
STEEL = gd.Material(young=2.1e11, poisson=0.2, density=7850)
SENSORS = (gd.PointSensor("mid", "rod", 0.5), gd.SectionSensor("section", "rod", 0.45))


@dataclass(frozen=True)
class Problem:
    """A model as a function of its mesh, what is done with it, and what is compared."""

    name: str
    make: Callable[..., gd.System]
    #: Meshes from coarse to fine, as options of the rod; and the trusted one.
    meshes: tuple[dict[str, Any], ...]
    trusted: dict[str, Any]
    #: End of the motion; None for an equilibrium, 0 for modes.
    t_end: float | None
    #: Texts of quantities by the kind that the documentation lists.
    quantities: dict[str, tuple[str, ...]]
    from_rest: bool = False
    #: Of the trusted run.
    rtol: float = 1e-9
    rtols: tuple[float, ...] = RTOLS
    options: dict[str, Any] = field(default_factory=dict)

    def cases(self) -> Iterator[tuple[int, float]]:
        """Meshes and tolerances."""
        for i in range(len(self.meshes)):
            for rtol in self.rtols if self.t_end else (0.0,):
                yield i, rtol

    def solve(self, mesh: dict[str, Any], rtol: float = 0.0, error: str = "rough") -> Any:
        """The result on a mesh."""
        system = self.make(**mesh)
        if self.t_end is None:
            return gd.equilibrium(system, error=error)
        if self.t_end == 0.0:
            return gd.modes(system, n=5, error=error)
        start = gd.equilibrium(system) if self.from_rest else system
        times = np.linspace(0.0, self.t_end, ROWS)
        return gd.simulate(start, self.t_end, rtol=rtol, output=times, error=error, **self.options)

    def values(self, result: Any) -> dict[str, np.ndarray]:
        """What is compared, by text, rows first; of the bend radius the smallest."""
        found = {}
        for text in (text for texts in self.quantities.values() for text in texts):
            if text == "frequencies":
                found[text] = result.frequencies[None]
                continue
            motion = getattr(result, "motion", result)
            values = np.asarray(readings.quantity(text, motion.system).read(motion))
            values = values if motion.t.ndim else values[None]
            found[text] = np.array([[values.min()]]) if text.endswith("bend_radius") else values
        return found


def _system(rod: gd.Rod, bodies=(), **more: Any) -> gd.System:
    return gd.System(list(bodies), rods=[rod], sensors=SENSORS, **more)


def _hose(**mesh: Any) -> gd.System:
    bob = gd.Body("bob", mass=0.2, inertia=(1e-4, 1e-4, 1e-4), position=(0, 1.0, -0.05))
    rod = gd.Rod(
        "rod", length=1.0, section=gd.Circle(radius=5e-3), material=RUBBER, damping=gd.Damping(factor=5e-3),
        initial=gd.Straight((0, 0, 0), (0, 1, 0)), start=gd.Clamped("ground"), end=gd.Hinged("bob", at=(0, 0, 0.05)),
        **mesh,
    )  # fmt: skip
    return _system(rod, [bob])


def _driven_cable(**mesh: Any) -> gd.System:
    points = [(0.028, 0.07, 0.574), (-0.072, 0.09, 0.644), (-0.254, 0.12, 1.005), (-0.147, 0.08, 1.406)]
    points.append((-0.007, 0.05, 1.276))
    rod = gd.Rod(
        "rod", section=gd.Circle(radius=8e-3), material=gd.Material(young=2e7, poisson=0.4, density=1300),
        initial=gd.Curve(np.array(points)), precurvature=(0, 0, 0), start=gd.Clamped(), end=gd.Clamped("arm"),
        damping=gd.Damping(factor=0.01), **mesh,
    )  # fmt: skip
    arm = gd.Body("arm", mass=5.0, inertia=(0.1, 0.1, 0.1), position=(0.1, 0.0, 0.9))
    drive = gd.Expression("0.3*ramp(t,0,4)*sin(1.5*t)")
    hinge = gd.Revolute("ground", "arm", at=(0.187, 0, 0.782), axis=(0, 1, 0), drive=drive, name="hinge")
    return _system(rod, [arm], joints=[hinge])


def _cantilever(material: gd.Material, radius: float, start: Any, damping: Any = None, **mesh: Any) -> gd.System:
    rod = gd.Rod(
        "rod", length=1.0, section=gd.Circle(radius=radius), material=material, start=start, damping=damping,
        initial=gd.Straight((0, 0, 0), (0, 1, 0)), **mesh,
    )  # fmt: skip
    return _system(rod)


def _bob(**mesh: Any) -> gd.System:
    bob = gd.Body("bob", mass=0.05, inertia=(1e-5, 1e-5, 1e-5), position=(0, 1.0, 0))
    rod = gd.Rod(
        "rod", length=1.0, section=gd.Circle(radius=8e-3), material=RUBBER, damping=gd.Damping(factor=1e-2),
        initial=gd.Straight((0, 0, 0), (0, 1, 0)), start=gd.Clamped("ground"), end=gd.Clamped("bob"), **mesh,
    )  # fmt: skip
    return _system(rod, [bob])


def _spaghetti(**mesh: Any) -> gd.System:
    rod = gd.Rod(
        "rod", 10.0, initial=gd.Straight((6, 0, 0), (0, 0, 8)), stiffness=(1e4, 1e4, 1e4, 500.0, 500.0, 500.0),
        density_per_length=1.0, rotary_inertia=(10.0, 10.0, 10.0), **mesh,
    )  # fmt: skip

    def pulse(t: float) -> float:
        return min(1.0, t) * max(0.0, 1.0 - t / 2.5)

    load = gd.RodLoad(
        "rod", 0.0, force=lambda t: (8 * pulse(t), 0, 0), moment=lambda t: (0, -40 * pulse(t), -20 * pulse(t))
    )
    return _system(rod, forces=[load], gravity=(0, 0, 0))


def _shaken(**mesh: Any) -> gd.System:
    rod = gd.Rod(
        "rod", 1.0, section=gd.Circle(radius=6e-3), material=gd.Material(young=2e8, poisson=0.4, density=1200),
        initial=gd.Straight((0, 0, 0), (1, 0, 0)), damping=gd.Damping(factor=1e-3),
        start=gd.Clamped(at=gd.ExpressionVector((0, 0, "0.1*sin(4*t)**2"))), **mesh,
    )  # fmt: skip
    return _system(rod)


def _trolley(**mesh: Any) -> gd.System:
    load = gd.Body("load", mass=50.0, inertia=(2.0, 2.0, 2.0), position=(0, 0, -5.3))
    rod = gd.Rod(
        "rod", 5.0, section=gd.Circle(radius=4e-3), material=gd.Material(young=1e11, poisson=0.3, density=7850),
        damping=gd.Damping(extension=20.0, bending=1e-4), initial=gd.Straight((0, 0, 0), (0, 0, -5)),
        start=gd.Hinged(at=gd.ExpressionVector(["2*ramp(t, 0, 4)", "0", "0"])),
        end=gd.Hinged("load", at=(0, 0, 0.3)), **mesh,
    )  # fmt: skip
    return _system(rod, [load])


def _swing(**mesh: Any) -> gd.System:
    rod = gd.Rod(
        "rod", length=1.0, section=gd.Circle(radius=1e-2), material=RUBBER, damping=gd.Damping(factor=2e-3),
        initial=gd.Arc((0, 0, 0), (0, 1, 0), (1, 0, 0), 0.5, 2.0), start=gd.Clamped("ground"), **mesh,
    )  # fmt: skip
    return _system(rod)


def _pushed(**mesh: Any) -> gd.System:
    rod = gd.Rod(
        "rod", length=1.0, section=gd.Circle(radius=2e-3), material=STEEL, start=gd.Clamped("ground"),
        initial=gd.Straight((0, 0, 0), (0, 1, 0)), damping=gd.Damping(factor=1e-4), **mesh,
    )  # fmt: skip

    def force(t: float) -> tuple[float, float, float]:
        grown = np.sin(min(t, 0.5) * np.pi) ** 2
        return 6.0 * grown, 0.0, 2.0 * grown

    push = gd.RodLoad("rod", 1.0, force=force)
    return _system(rod, forces=[push], gravity=(0, 0, 0))


def _coil(**mesh: Any) -> gd.System:
    rod = gd.Rod(
        "rod", 2.0, section=gd.Circle(radius=4e-3), material=gd.Material(young=1e8, poisson=0.4, density=1200),
        initial=gd.Bent((0, 4, 1)), start=gd.Clamped(), **mesh,
    )  # fmt: skip
    return _system(rod)


_STARTERS = Path(gd.__file__).parent / "cli" / "starters"


def _starter(name: str, **_: Any) -> gd.System:
    return gd.load(_STARTERS / f"{name}.yaml")


def _named(name: str, **_: Any) -> gd.System:
    return problems.get(name).system  # type: ignore[no-any-return]


HELD = {"positions": ("rod.positions[-1]", "mid"), "end forces": ("rod.start_force",), "section forces": ("section",),
        "bend radius": ("rod.bend_radius",)}  # fmt: skip
BOTH = HELD | {"end forces": ("rod.start_force", "rod.end_force")}
FREE = {"positions": ("rod.positions[-1]", "mid"), "section forces": ("section",), "bend radius": ("rod.bend_radius",)}
STRING = {"positions": ("rod.positions[-1]", "mid"), "end forces": ("rod.start_force", "rod.end_force")}


def _grid(*segments: int) -> tuple[dict[str, Any], ...]:
    return tuple({"segments": n} for n in segments)


def _elements(degree: int, *segments: int) -> tuple[dict[str, Any], ...]:
    return tuple({"segments": n, "degree": degree} for n in segments)


_RUBBER = partial(_cantilever, RUBBER, 5e-3, gd.Hinged())
_STRING = partial(_cantilever, STEEL, 1e-3, gd.Clamped())
_SOFT = partial(_cantilever, RUBBER, 5e-3, gd.Clamped("ground"), gd.Damping(factor=5e-3))
_FINE = {"degree": 4, "segments": 24}
_NONE = ({},)


def _bodies(name: str, make: Callable[..., gd.System], t_end: float, place: str, force: str) -> Problem:
    kinds = {"positions": (place,)} | ({"joint forces": (force,)} if force else {})
    return Problem(name, make, _NONE, {}, t_end, kinds, rtol=1e-12, rtols=(1e-4, 1e-6, 1e-8))


_FINER = {"degree": 4, "segments": 32}
_FINEST = {"degree": 4, "segments": 64}
_TONES = {"frequencies": ("frequencies",)}
_BODIES = {
    "double pendulum with a spring": (partial(_starter, "pendulum"), 5.0, "lower.position", "shoulder.force"),
    "slider-crank": (partial(_named, "slider-crank"), 2.0, "slider.position", "bearing.force"),
    "driven four-bar": (partial(_starter, "four-bar"), 5.0, "coupler.position", "bearing.force"),
    "heavy top": (partial(_starter, "top"), 2.0, "top.position", ""),
}

PROBLEMS = {
    p.name: p
    for p in (
        Problem("hose with a bob, grid", _hose, _grid(10, 20, 40), _FINER, 2.0, HELD, rtol=1e-8),
        Problem("hose with a bob, p = 3", _hose, _elements(3, 10, 14, 20), _FINER, 2.0, HELD, rtol=1e-8),
        Problem("driven cable, grid", _driven_cable, _grid(10, 20, 40), _FINE, 2.0, BOTH, from_rest=True, rtol=1e-8),
        Problem(
            "driven cable, p = 3", _driven_cable, _elements(3, 4, 8, 14), _FINE, 2.0, BOTH, from_rest=True, rtol=1e-8
        ),
        Problem("rubber pendulum, grid", _RUBBER, _grid(10, 20, 40), _FINER, 0.8, HELD),
        Problem("rubber pendulum, p = 3", _RUBBER, _elements(3, 4, 8, 14), _FINER, 0.8, HELD),
        Problem("steel string, grid", _STRING, _grid(8, 16, 32), _FINE, 0.5, HELD, rtol=1e-7),
        Problem("steel string, p = 2", _STRING, _elements(2, 3, 6, 12), _FINE, 0.5, HELD, rtol=1e-7),
        Problem("flying spaghetti, p = 3", _spaghetti, _elements(3, 4, 8, 14), _FINE, 4.0, FREE),
        Problem("rod with a clamped bob, p = 4", _bob, _elements(4, 3, 5, 8), _FINE, 1.0, BOTH),
        Problem("rod on a shaken clamp, grid", _shaken, _grid(8, 16, 32), _FINE, 1.5, HELD),
        Problem("load under a trolley, grid", _trolley, _grid(10, 20, 40), _FINE, 2.0, STRING, rtol=1e-7),
        Problem("arc that falls, p = 3", _swing, _elements(3, 4, 6, 10), _FINE, 1.0, HELD),
        Problem("arc that falls, grid", _swing, _grid(10, 20, 40), _FINE, 1.0, HELD),
        Problem("pushed steel rod, p = 3", _pushed, _elements(3, 2, 4, 8), _FINE, 0.6, HELD, rtol=1e-8),
        *(_bodies(name, *how) for name, how in _BODIES.items()),
        Problem("hose at rest, grid", _hose, _grid(10, 20, 40), _FINEST, None, HELD),
        Problem("hose at rest, p = 3", _hose, _elements(3, 4, 8, 16), _FINEST, None, HELD),
        Problem("coil at rest, p = 3", _coil, _elements(3, 4, 8, 16), _FINEST, None, HELD),
        Problem("soft cantilever at rest, p = 2", _SOFT, _elements(2, 4, 8, 16), _FINEST, None, HELD),
        Problem("modes of the hose, grid", _hose, _grid(10, 20, 40), _FINEST, 0.0, _TONES),
        Problem("modes of a coil, p = 3", _coil, _elements(3, 4, 8, 16), _FINEST, 0.0, _TONES),
    )
}


# --- problems of other kinds -----------------------------------------------------------------------------------------

SILICONE = gd.Material(young=1e6, poisson=0.49, density=1070)
NYLON = gd.Material(young=3e9, poisson=0.35, density=1400)


def _finger(tension: Any, **mesh: Any) -> gd.System:
    """A tendon through guides pulls it round; elements end at the guides."""
    rod = gd.Rod(
        "rod", 0.3, section=gd.Circle(radius=8e-3), material=SILICONE, start=gd.Clamped(),
        initial=gd.Straight((0, 0, 0), (0, 0, -0.3)), damping=gd.Damping(factor=0.02), **mesh,
    )  # fmt: skip
    return _system(rod, forces=[gd.Tendon("rod", [(k / 4, (6e-3, 2e-3)) for k in range(5)], tension=tension)])


def _kirchhoff(**mesh: Any) -> gd.System:
    """Falls, without extension and shear."""
    rod = gd.Rod(
        "rod", 0.8, section=gd.Circle(radius=4e-3), material=gd.Material(young=2e7, poisson=0.45, density=1200),
        strain="kirchhoff", start=gd.Clamped(), initial=gd.Straight((0, 0, 0), (0.8, 0, 0)),
        damping=gd.Damping(bending=2e-4, torsion=2e-4), **mesh,
    )  # fmt: skip
    return _system(rod)


def _blade(**mesh: Any) -> gd.System:
    """A flat blade on a clamp that is led across both of its axes."""
    rod = gd.Rod(
        "rod", 0.6, section=gd.Rectangle(3e-3, 1e-2), material=NYLON, damping=gd.Damping(factor=2e-3),
        start=gd.Clamped(at=gd.ExpressionVector(("0.05*sin(6*t)**2", "0.03*sin(9*t)**2", "0"))),
        initial=gd.Straight((0, 0, 0), (0, 0, 0.6)), **mesh,
    )  # fmt: skip
    return _system(rod)


def _rope(**mesh: Any) -> gd.System:
    """Both ends led: they swing it to and fro."""
    ends = [gd.Hinged(at=gd.ExpressionVector((f"{x}", "0.08*sin(5*t)**2", "0.04*sin(4*t)**2"))) for x in (0.0, 1.0)]
    rod = gd.Rod(
        "rod", section=gd.Circle(radius=6e-3), material=gd.Material(young=1e7, poisson=0.45, density=1100),
        initial=gd.Arc((0, 0, 0), (0.6, 0, -0.8), (0.8, 0, 0.6), 0.625, 2.0 * np.arcsin(0.8)), precurvature=(0, 0, 0),
        start=ends[0], end=ends[1], damping=gd.Damping(factor=2e-2), **mesh,
    )  # fmt: skip
    return _system(rod)


def _dumbbell(**mesh: Any) -> gd.System:
    """Two free bodies on the ends of a rod, one of which spins."""
    bodies = [
        gd.Body("left", mass=0.3, inertia=(2e-4, 3e-4, 4e-4), position=(0, 0, 0), velocity=(0, 1.0, 0)),
        gd.Body("right", mass=0.2, inertia=(3e-4, 2e-4, 1e-4), position=(0.5, 0, 0)),
    ]
    rod = gd.Rod(
        "rod", 0.5, section=gd.Circle(radius=3e-3), material=gd.Material(young=1e9, poisson=0.4, density=1200),
        initial=gd.Straight((0, 0, 0), (0.5, 0, 0)), start=gd.Clamped("left"), end=gd.Clamped("right"),
        velocity=lambda s: (0.0, (1.0 - s) ** 2 * (1.0 + 2.0 * s), 0.0), damping=gd.Damping(factor=1e-3), **mesh,
    )  # fmt: skip
    return _system(rod, bodies, gravity=(0, 0, 0))


def _arms(**mesh: Any) -> gd.System:
    """Two arms on hinges and a strap between them: a loop that the strap closes."""
    arms = [
        gd.Body(n, mass=1.0, inertia=(0.02, 0.02, 2e-3), position=(x, 0, -0.2)) for n, x in (("a", 0.0), ("b", 0.4))
    ]
    hinges = [
        gd.Revolute("ground", "a", at=(0, 0, 0), axis=(0, 1, 0), name="left", drive=gd.Expression("0.5*sin(4*t)**2")),
        gd.Revolute("ground", "b", at=(0.4, 0, 0), axis=(0, 1, 0), name="right", damping=0.02),
    ]
    rod = gd.Rod(
        "rod", 0.4, section=gd.Rectangle(2e-2, 3e-3), material=gd.Material(young=2e8, poisson=0.4, density=1100),
        initial=gd.Straight((0, 0, -0.4), (0.4, 0, -0.4)), start=gd.Hinged("a", at=(0, 0, -0.2)),
        end=gd.Hinged("b", at=(0, 0, -0.2)), damping=gd.Damping(factor=5e-3), **mesh,
    )  # fmt: skip
    return _system(rod, arms, joints=hinges)


def _draped(**mesh: Any) -> gd.System:
    """Rests on a cylinder, clamped at one end."""
    rod = gd.Rod(
        "rod", 1.0, section=gd.Circle(radius=5e-3), material=RUBBER, start=gd.Clamped(),
        initial=gd.Straight((0, 0, 0), (0, 1, 0)), **mesh,
    )  # fmt: skip
    log = gd.CylinderObstacle((0, 0.2, -0.12), (1, 0, 0), radius=0.1, stiffness=300.0, smoothing=2e-2)
    return _system(rod, forces=[log])


def _bedded(**mesh: Any) -> gd.System:
    """A pipe half on an elastic bed, with a mass on the other half."""
    rod = gd.Rod(
        "rod", 2.0, section=gd.Ring(radius=2e-2, inner=1.6e-2), material=NYLON, start=gd.Hinged(),
        initial=gd.Straight((0, 0, 0), (2, 0, 0)), **mesh,
    )  # fmt: skip
    bed = gd.Foundation("rod", stiffness=(200.0, 200.0, 2e3), span=(0.0, 0.55))
    return _system(rod, forces=[bed, gd.PointMass("rod", 0.8, 0.5)])


FREE_FORCE = {"positions": ("rod.positions[-1]", "mid"), "section forces": ("section",)}

PROBLEMS |= {
    p.name: p
    for p in (
        Problem("finger at rest, p = 3", partial(_finger, 1.0), _elements(3, 1, 4, 8), _FINEST, None, HELD),
        Problem("finger that is pulled, grid", partial(_finger, gd.Expression("ramp(t, 0, 0.3)")), _grid(8, 16, 32),
                _FINE, 0.6, HELD, from_rest=True, rtol=1e-8),
        Problem("Kirchhoff rod that falls, grid", _kirchhoff, _grid(8, 16, 32), {"segments": 144}, 0.6, HELD,
                rtol=1e-8),
        Problem("blade on a led clamp, p = 4", _blade, _elements(4, 1, 2, 4), _FINE, 0.6, HELD, rtol=1e-8),
        Problem("rope with two led ends, p = 3", _rope, _elements(3, 4, 8, 12), _FINER, 0.8, BOTH, from_rest=True,
                rtol=1e-8),
        Problem("rope with two led ends, grid", _rope, _grid(10, 20, 40), _FINER, 0.8, BOTH, from_rest=True,
                rtol=1e-8),
        Problem("dumbbell, p = 2", _dumbbell, _elements(2, 2, 4, 8), _FINE, 0.5, FREE_FORCE, rtol=1e-9),
        Problem("two arms and a strap, grid", _arms, _grid(6, 12, 24), _FINE, 0.8, STRING, rtol=1e-8),
        Problem("rod over a cylinder, grid", _draped, _grid(16, 32, 64), _FINEST, None, HELD),
        Problem("modes of a pipe on a bed, p = 2", _bedded, _elements(2, 2, 4, 8), _FINE, 0.0, _TONES),
        _bodies("Bennett's linkage", partial(_named, "bennett"), 2.0, "rocker.position", "hinge3.force"),
        _bodies("tree of all joints", partial(_named, "joint-tree"), 1.0, "bob.position", "revolute.force"),
    )
}  # fmt: skip


# --- problems on which nothing was chosen ----------------------------------------------------------------------------


def _wound(**mesh: Any) -> gd.System:
    """A flat strip, wound by half a turn at rest, that a moment about its axis winds further."""
    rod = gd.Rod(
        "rod", 0.5, section=gd.Rectangle(8e-3, 2e-3), material=NYLON, start=gd.Clamped(),
        initial=gd.Bent((0, 0, 2.0 * np.pi)), damping=gd.Damping(factor=2e-3), **mesh,
    )  # fmt: skip
    load = gd.RodLoad("rod", 1.0, moment=gd.ExpressionVector(("0.05*sin(8*t)**2", 0, 0)))
    return _system(rod, forces=[load])


def _shaken_cable(**mesh: Any) -> gd.System:
    """Hangs from an end that goes to and fro, with a lamp below."""
    lamp = gd.Body("lamp", mass=0.3, inertia=(1e-3, 1e-3, 1e-3), position=(0, 0, -1.55))
    rod = gd.Rod(
        "rod", 1.5, section=gd.Circle(radius=3e-3), material=gd.Material(young=1e8, poisson=0.4, density=1300),
        initial=gd.Straight((0, 0, 0), (0, 0, -1.5)), damping=gd.Damping(factor=5e-3),
        start=gd.Hinged(at=gd.ExpressionVector(("0.05*sin(3*t)**2", 0, 0))), end=gd.Hinged("lamp", at=(0, 0, 0.05)),
        **mesh,
    )  # fmt: skip
    return _system(rod, [lamp])


def _rotor(**mesh: Any) -> gd.System:
    """A blade on a hub that is spun up."""
    hub = gd.Body("hub", mass=1.0, inertia=(1e-2, 1e-2, 1e-2))
    drive = gd.Expression("6*t**3/(1+t**2)")
    axle = gd.Revolute("ground", "hub", at=(0, 0, 0), axis=(0, 0, 1), drive=drive, name="axle")
    rod = gd.Rod(
        "rod", 0.8, section=gd.Rectangle(2e-2, 4e-3), material=NYLON, start=gd.Clamped("hub", at=(0.1, 0, 0)),
        initial=gd.Straight((0.1, 0, 0), (0.9, 0, 0)), damping=gd.Damping(factor=1e-3), **mesh,
    )  # fmt: skip
    return _system(rod, [hub], joints=[axle])


def _tentacle(**mesh: Any) -> gd.System:
    """Two tendons pull a tapered arm of silicone one after the other."""
    rod = gd.Rod(
        "rod", 0.25, section=gd.Circle(radius=lambda s: 1e-2 * (1.0 - 0.5 * s)), material=SILICONE, start=gd.Clamped(),
        initial=gd.Straight((0, 0, 0), (0, 0, -0.25)), damping=gd.Damping(factor=0.02), **mesh,
    )  # fmt: skip
    tendons = [
        gd.Tendon("rod", guides, tension=gd.Expression(pull))
        for guides, pull in (
            ([(0.0, (6e-3, 0)), (0.5, (4e-3, 0)), (1.0, (3e-3, 0))], "0.6*ramp(t, 0, 0.2)"),
            ([(0.0, (0, 6e-3)), (1.0, (0, 3e-3))], "0.3*ramp(t, 0.2, 0.4)"),
        )
    ]
    return _system(rod, forces=tendons)


def _flail(**mesh: Any) -> gd.System:
    """A bar that falls, with a rubber rod hinged to its end."""
    level = (0.5**0.5, 0, 0.5**0.5, 0)
    bar = gd.Body("bar", mass=0.3, inertia=(4e-3, 4e-3, 1e-5), position=(0.2, 0, 0), orientation=level)
    pivot = gd.Revolute("ground", "bar", at=(0, 0, 0), axis=(0, 1, 0), damping=1e-3, name="pivot")
    rod = gd.Rod(
        "rod", 0.4, section=gd.Circle(radius=6e-3), material=RUBBER, start=gd.Hinged("bar", at=(0, 0, 0.2)),
        initial=gd.Straight((0.4, 0, 0), (0.8, 0, 0)), damping=gd.Damping(factor=5e-3), **mesh,
    )  # fmt: skip
    return _system(rod, [bar], joints=[pivot])


def _shaft(**mesh: Any) -> gd.System:
    """A heavy disk that spins on top of a thin shaft."""
    disk = gd.Body("disk", mass=0.2, inertia=(2e-4, 2e-4, 4e-4), position=(0.01, 0, 0.3), angular_velocity=(0, 0, 60.0))
    rod = gd.Rod(
        "rod", 0.3, section=gd.Circle(radius=3e-3), material=gd.Material(young=3e9, poisson=0.35, density=1400),
        start=gd.Hinged(), end=gd.Hinged("disk", at=(-0.01, 0, 0)), initial=gd.Straight((0, 0, 0), (0, 0, 0.3)),
        damping=gd.Damping(factor=1e-3), **mesh,
    )  # fmt: skip
    return _system(rod, [disk])


def _whip(**mesh: Any) -> gd.System:
    """A tapered whip whose handle is turned to and fro."""
    rod = gd.Rod(
        "rod", 0.8, section=gd.Circle(radius=lambda s: 5e-3 * (1.0 - 0.6 * s)),
        material=gd.Material(young=3e7, poisson=0.45, density=1200), initial=gd.Straight((0, 0, 0), (0, 0, -0.8)),
        start=gd.Clamped(frame=gd.ExpressionVector(("pi + 0.6*sin(5*t)**2", 0, 0))), damping=gd.Damping(factor=5e-3),
        **mesh,
    )  # fmt: skip
    return _system(rod)


def _ring(**mesh: Any) -> gd.System:
    """A ring, clamped at the bottom, that is pressed from above at rest."""
    rod = gd.Rod(
        "rod", initial=gd.Arc((0, 0, 0), (1, 0, 0), (0, 0, 1), 0.1, 2.0 * np.pi), section=gd.Rectangle(1e-2, 3e-3),
        material=gd.Material(young=5e7, poisson=0.4, density=1100), start=gd.Clamped(), end=gd.Clamped(), **mesh,
    )  # fmt: skip
    return _system(rod, forces=[gd.RodLoad("rod", 0.5, force=(0.02, 0, -0.3))])


def _mast(**mesh: Any) -> gd.System:
    """A tapered mast that bends under its own weight at rest."""
    rod = gd.Rod(
        "rod", 1.2, section=gd.Ring(radius=lambda s: 1e-2 * (1.0 - 0.5 * s), inner=lambda s: 7e-3 * (1.0 - 0.5 * s)),
        material=gd.Material(young=5e7, poisson=0.4, density=1200), start=gd.Clamped(),
        initial=gd.Straight((0, 0, 0), (0.96, 0, 0.72)), **mesh,
    )  # fmt: skip
    return _system(rod)


def _sickle(**mesh: Any) -> gd.System:
    """A curved blade with a mass at its tip."""
    rod = gd.Rod(
        "rod", initial=gd.Arc((0, 0, 0), (0, 0, 1), (1, 0, 0), 0.3, 1.8), section=gd.Rectangle(1e-2, 2e-3),
        material=NYLON, start=gd.Clamped(), **mesh,
    )  # fmt: skip
    return _system(rod, forces=[gd.PointMass("rod", 1.0, 5e-3)])


#: Nothing was fitted to these: neither the form of an estimate nor a constant. They were measured once.
BLIND = {
    p.name: p
    for p in (
        Problem("wound strip, p = 3", _wound, _elements(3, 2, 4, 8), _FINE, 0.5, HELD, rtol=1e-8),
        Problem("lamp on a shaken cable, grid", _shaken_cable, _grid(8, 16, 32), _FINE, 1.0, BOTH, rtol=1e-8),
        Problem("rotor blade, p = 3", _rotor, _elements(3, 2, 4, 8), _FINE, 0.8, HELD, rtol=1e-8),
        Problem("rotor blade, grid", _rotor, _grid(8, 16, 32), _FINE, 0.8, HELD, rtol=1e-8),
        Problem("tapered tentacle, p = 3", _tentacle, _elements(3, 4, 8, 12), _FINE, 0.5, HELD, from_rest=True,
                rtol=1e-8),
        Problem("flail, grid", _flail, _grid(8, 16, 32), _FINE, 0.8, HELD, rtol=1e-8),
        Problem("disk on a shaft, p = 2", _shaft, _elements(2, 2, 4, 8), _FINE, 0.2, BOTH, rtol=1e-8),
        Problem("whip, p = 4", _whip, _elements(4, 3, 5, 8), _FINE, 0.7, HELD, from_rest=True, rtol=1e-8),
        Problem("whip, grid", _whip, _grid(10, 20, 40), _FINE, 0.7, HELD, from_rest=True, rtol=1e-8),
        Problem("pressed ring at rest, p = 3", _ring, _elements(3, 4, 8, 16), _FINEST, None, HELD),
        Problem("tapered mast at rest, grid", _mast, _grid(8, 16, 32), _FINEST, None, HELD),
        Problem("modes of a sickle, p = 2", _sickle, _elements(2, 3, 6, 12), _FINE, 0.0, _TONES),
    )
}  # fmt: skip
EVERY = PROBLEMS | BLIND


def coarser(problem: Problem) -> dict[str, Any]:
    """Two thirds of the trusted mesh."""
    return problem.trusted | ({"segments": 2 * problem.trusted["segments"] // 3} if problem.trusted else {})


def readme() -> dict[str, np.ndarray]:
    """What README says of its hose: where the bob rests, frequencies, the largest pull at the clamp."""
    rest = gd.equilibrium(_hose(**_FINEST))
    motion = gd.simulate(_hose(**_FINER), 5.0, rtol=1e-6)
    pull = motion(np.linspace(0.0, 5.0, 20001))["rod"].start_force[:, 2].max()
    values = rest["bob"].position, gd.modes(rest, n=3).frequencies[1:], np.array(pull)
    return {f"readme|{name}": x for name, x in zip(("rest", "frequencies", "pull"), values, strict=True)}


def _keep(known: dict[str, np.ndarray]) -> None:
    """Write the file under another name first: others may be reading it."""
    new = DATA.with_name("new.npz")
    np.savez_compressed(new, **known)
    new.replace(DATA)


def make_trusted(names: list[str]) -> None:
    """Compute trusted values and their doubts."""
    known = dict(np.load(DATA)) if DATA.exists() else {}
    if not names or "readme" in names:
        known |= readme()
        _keep(known)
    for name in [n for n in names if n != "readme"] or ([] if names else list(EVERY)):
        problem, began = EVERY[name], time.process_time()
        fine = problem.values(problem.solve(problem.trusted, problem.rtol))
        less = problem.values(problem.solve(coarser(problem), 10.0 * problem.rtol))
        worst = {}
        for text, values in fine.items():
            doubt = float(np.abs(values - less[text]).max())
            known |= {f"{name}|{text}": values, f"{name}|{text}|doubt": np.array(doubt)}
            worst[text] = doubt / max(float(np.abs(values).max()), 1e-300)
        print(f"{name:36} {time.process_time() - began:6.1f} s", {k: f"{v:.0e}" for k, v in worst.items()}, flush=True)
        _keep(known)


@dataclass(frozen=True)
class Case:
    """One quantity of one run: its true error and what companions say, norms of vectors, the largest over the run."""

    problem: str
    mesh: int
    rtol: float
    kind: str
    text: str
    #: What constants depend on.
    of: str
    size: float
    turn: float
    doubt: float
    #: At any time, and of the extremes: true, by the companion that is coarser in both, with both companions, and by
    #: the finer one.
    true: tuple[float, float]
    total: tuple[float, float]
    parts: tuple[float, float]
    finer: tuple[float, float]


def _norms(values: np.ndarray) -> np.ndarray:
    return np.linalg.norm(values, axis=-1) if values.ndim > 1 else np.abs(values)


def measure(problem: Problem, mesh: int, rtol: float) -> Iterator[Case]:
    """All quantities of one run."""
    data = np.load(DATA)
    results = [problem.solve(problem.meshes[mesh], rtol, error) for error in ("parts", "finer")]
    for result in results:
        if result.error.failure:
            print(f"{problem.name}, mesh {mesh}, rtol {rtol:g}: {result.error.failure}", flush=True)
            return
    result, modal = results[0], problem.t_end == 0.0
    values = problem.values(result)
    motion = result.rest.motion if modal else getattr(result, "motion", result)
    beside = [one.error._beside for one in results]
    reports = [errors.OfRows(motion, one) for one in (replace(beside[0], half=None), *beside)]
    for kind, text in ((kind, text) for kind, texts in problem.quantities.items() for text in texts):
        known, doubt = data[f"{problem.name}|{text}"], float(data[f"{problem.name}|{text}|doubt"])
        size = float(motion.compiled._length()) if kind == "positions" else float(_norms(known).max())
        if kind == "bend radius" or modal:  # the smallest one; frequencies one by one
            true = (float(np.abs(values[text] - known).max()),) * 2
            peaks = [next(row for row in one.error.rows if row.name == kind).peak for one in results]
            found = [(peaks[i],) * 2 for i in (0, 0, 1)]
        else:
            true = (float(_norms(values[text] - known).max()),
                    max(abs(float(f(_norms(values[text])) - f(_norms(known)))) for f in (np.max, np.min)))  # fmt: skip
            found = [(float(e.total), float(e.peak)) for e in (of.estimate(f"norm {text}") for of in reports)]
        turn = reports[0].turn
        yield Case(problem.name, mesh, rtol, kind, text, errors.kind(motion.system), size, turn, doubt, true,
                   *found)  # fmt: skip


def measure_all(file: str, names: list[str]) -> None:
    """All cases into a file, or those of some problems in place of older ones."""
    cases = read(file) if Path(file).exists() else []
    for problem in (EVERY[name] for name in names or EVERY):
        began = time.process_time()
        found = [case for mesh, rtol in problem.cases() for case in measure(problem, mesh, rtol)]
        cases = [case for case in cases if case.problem != problem.name] + found
        print(f"{problem.name:36} {time.process_time() - began:6.1f} s", flush=True)
        Path(file).write_text(json.dumps([asdict(case) for case in cases]))


def read(file: str) -> list[Case]:
    """Cases of a file."""
    pairs = ("true", "total", "parts", "finer")
    found = json.loads(Path(file).read_text())
    return [Case(**{k: tuple(v) if k in pairs else v for k, v in case.items()}) for case in found]


def trusted(case: Case, part: int) -> bool:
    """Whether the true error is known: well above the doubt of the trusted value, and above rounding."""
    return case.true[part] > 3.0 * case.doubt and case.true[part] > 1e-10 * case.size


def ratios(cases: list[Case], part: int = 0, which: str = "total") -> np.ndarray:
    """Estimate over true error; part 1: of extremes, which frequencies and the bend radius are anyway."""
    known = [c for c in cases if trusted(c, part) and not (part and c.kind in ("bend radius", "frequencies"))]
    return np.array([getattr(c, which)[part] / c.true[part] for c in known])


def shares(cases: list[Case], part: int = 0, which: str = "total") -> str:
    """Shares of cases below the estimate, below twice the estimate, and within a factor of ten."""
    r = ratios(cases, part, which)
    if not len(r):
        return "no cases"
    below, twice, near = np.mean(r >= 1.0), np.mean(r >= 0.5), np.mean(r <= 10.0)
    return f"{len(r)} cases, below {below:.3f}, below twice {twice:.3f}, within ten {near:.3f}"


def sort_of(case: Case) -> str:
    """What has a constant of its own."""
    return case.kind if case.kind in ("positions", "bend radius") else "forces"


def constants(file: str) -> None:
    """What `SAFETY` is to be multiplied by for 95 % of `PROBLEMS`, by kind; shares there and on the blind ones."""
    cases = read(file)
    old, blind = ([c for c in cases if c.problem in some] for some in (PROBLEMS, BLIND))
    for part, name in enumerate(("total", "peak")):
        for of, sort in sorted({(c.of, sort_of(c)) for c in old}):
            r = ratios([c for c in old if (c.of, sort_of(c)) == (of, sort)], part)
            if len(r):
                print(f"{name} {of} {sort}: times {1 / np.quantile(r, 0.05):.2f}")
        for label, some in (("first", old), ("blind", blind)):
            for which in ("total", "parts", "finer"):
                print(f"  {name}, {label} problems, error={which!r}: {shares(some, part, which)}")
    for name in EVERY:
        some = [c for c in cases if c.problem == name]
        print(f"{name:36} total {shares(some)}; finer {shares(some, which='finer')}")


def table(file: str) -> None:
    """A row for each problem and kind: the middle mesh and tolerance, and shares over all of its cases."""
    cases = read(file)
    print("| problem | of | true error | `total` | below, within ten | `finer` | below, within ten |")
    print("|---|---|---|---|---|---|---|")
    for name, problem in EVERY.items():
        mesh, rtol = len(problem.meshes) // 2, problem.rtols[1] if problem.t_end else 0.0
        for kind in problem.quantities:
            some = [c for c in cases if (c.problem, c.kind) == (name, kind)]
            one = next((c for c in some if (c.mesh, c.rtol) == (mesh, rtol)), None)
            if one is not None:
                unit = {"positions": "m", "bend radius": "m", "frequencies": "Hz"}.get(kind, "N")
                true = f"{one.true[0]:.1e}" if trusted(one, 0) else f"< {3.0 * one.doubt:.0e}"
                shown = " | ".join(
                    f"{getattr(one, which)[0]:.1e} | {_in_short(some, which)}" for which in ("total", "finer")
                )
                print(f"| {name} | {kind} | {true} {unit} | {shown} |")


def _in_short(cases: list[Case], which: str) -> str:
    r = ratios(cases, which=which)
    return f"{np.mean(r >= 1.0):.0%}, {np.mean(r <= 10.0):.0%}" if len(r) else "-"


COMMANDS = {"constants": constants, "table": table}

if __name__ == "__main__":
    if sys.argv[1] == "trusted":
        make_trusted(sys.argv[2:])
    elif sys.argv[1] == "measure":
        measure_all(sys.argv[2], sys.argv[3:])
    else:
        COMMANDS[sys.argv[1]](sys.argv[2])
