"""A gyroscope on a steel cable that hangs from a driven crank: what `make demo` runs.

One model has everything that makes such systems hard: a wire of steel that is 200 times stiffer in tension than what it
carries needs, a rotor that turns fifty times in a second, joints that must not open, and a crank that does work all the
time. The run is written into a file as it proceeds; the balance of energy shows how far it can be trusted.
Run: python examples/gyroscope_on_a_cable.py [folder]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

import gyrod as gd

LENGTH, ARM, SPIN, DURATION = 1.0, 0.2, 300.0, 10.0  # m, m, rad/s, s
STEEL = gd.Material(young=2.1e11, poisson=0.3, density=7850)
STRETCH = 3.85e-5


def crane() -> gd.System:
    """Crank, wire, frame and wheel; the crank starts from rest and reaches 2.5 rad/s within a second."""
    # The wire begins as long as its load stretches it: without that it would ring, at 90 Hz, by 0.03 mm.
    hub, pin = np.array([-0.5 * ARM, 0, 0]), np.array([0.5 * ARM, 0, 0])
    foot = np.array([ARM, 0, -LENGTH * (1.0 + STRETCH)])
    middle = foot - [0, 0, 0.1]
    arm = [
        gd.Box((ARM, 0.02, 0.03)),
        gd.Cylinder(0.03, 0.04, axis=(0, 1, 0), offset=hub),
        gd.Cylinder(0.02, 0.04, axis=(0, 1, 0), offset=pin),
    ]
    ring = [gd.Box((0.01, 0.02, 0.2), offset=(side * 0.095, 0, 0)) for side in (-1, 1)]
    ring += [gd.Box((0.2, 0.02, 0.01), offset=(0, 0, side * 0.095)) for side in (-1, 1)]
    wheel = [gd.Cylinder(0.07, 0.015, axis=(1, 0, 0)), gd.Cylinder(0.006, 0.19, axis=(1, 0, 0))]
    bodies = [
        gd.Body.solid("crank", arm, density=2700, position=-hub, color="steel"),
        gd.Body.solid("frame", ring, density=2700, position=middle, color="blue"),
        gd.Body.solid("wheel", wheel, density=8500, position=middle, angular_velocity=(SPIN, 0, 0), color="gold"),
    ]
    start = bodies[0].position
    wire = gd.Rod(
        "wire", LENGTH, 16, gd.Circle(radius=1e-3), STEEL, prestrain=(0, 0, 0),
        initial=gd.Straight((ARM, 0, 0), foot),
        damping=gd.Damping(extension=1e-2, shear=1e-2, bending=1e-5, torsion=1e-5),
        start=gd.Hinged("crank", at=(ARM, 0, 0) - start), end=gd.Clamped("frame", at=foot - middle),
    )  # fmt: skip
    drive = gd.Expression("2.5*(t - 0.4*(1 - exp(-2.5*t)))")
    joints = [
        gd.Revolute("ground", "crank", at=(0, 0, 0), axis=(0, 1, 0), drive=drive, name="motor"),
        gd.Revolute("frame", "wheel", at=middle, axis=(1, 0, 0), name="bearing"),
    ]
    sensors = [gd.SectionSensor("pull", "wire", at=0.0, quantity="force")]
    return gd.System(bodies, joints, [wire], sensors=sensors)


def balance(motion: gd.Motion) -> dict[str, NDArray[np.float64]]:
    """Energy that came in through the motor, that left by damping, that is there, and what is missing, in J."""
    motor, energy = motion["motor"], motion.energy
    power = motor.torque[:, 1] * motor.rates[:, 0]  # the joint's axis is y
    work = CubicSpline(motion.t, power).antiderivative()(motion.t)
    stored = energy.total - energy.total[0]
    return {
        "work of the motor": work,
        "lost in the wire": energy.dissipated,
        "stored": stored,
        "missing": work - energy.dissipated - stored,
    }


def run(folder: Path, duration: float = DURATION, *, rtol: float = 1e-5, progress: bool = False) -> gd.Motion:
    """From the hanging system, rows every 2 ms into a file."""
    times = np.linspace(0.0, duration, round(500 * duration) + 1)
    return gd.simulate(crane(), duration, rtol=rtol, output=times, save=folder / "gyroscope.h5", progress=progress)


def main(folder: str = "demo") -> None:
    """Run, print the balance, write results, pictures and a page for the browser."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    motion = run(target, progress=sys.stderr.isatty())
    wall = time.perf_counter() - began
    table = balance(motion)
    scale = np.ptp(motion.energy.kinetic)
    print(f"{'t [s]':>6}" + "".join(f"{name + ' [J]':>24}" for name in table))
    for t in np.arange(0.0, DURATION + 0.5, 2.0):
        row = int(np.argmin(np.abs(motion.t - t)))
        print(f"{t:6g}" + "".join(f"{values[row]:24.6f}" for values in table.values()))
    stats = motion.stats
    print(f"missing energy: {np.abs(table['missing']).max() / scale:.1e} of what moves to and fro ({scale:.3g} J)")
    print(f"joints and wire ends open by at most {motion.drift.position.max():.1e} m")
    print(f"pull of the wire at the crank: {motion.sensors['pull'][:, 2].max():.2f} N at most")
    print(f"{stats.method}: {stats.steps} steps, {wall:.2f} s for {DURATION:g} s: {DURATION / wall:.1f} x real time")
    for what in ("energy", "path", "section forces"):
        motion.plot(what, file=target / f"gyroscope_{what.replace(' ', '_')}.png")
    motion.html(target / "gyroscope.html", title="Gyroscope on a steel cable under a driven crank")
    print(f"Results, pictures and the page gyroscope.html to open in a browser: {target.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
