"""A tippe top turns over: a ball with its mass below its middle, spun fast, goes over until the heavy side is up.

It slips, and the friction that this makes takes energy, yet lifts its centre of mass. One number stays, whatever the
friction is: that of Jellett (1872), -L·r, of the angular momentum and the place of the contact as seen from the centre
of mass. It says how fast the top spins when it has turned over: slower, in the same sense about the vertical, and
against its own axis. Run: python examples/tippe_top.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gyrod as gd

RADIUS, LOW, MASS = 0.02, 0.006, 0.02  # m, m, kg
#: About the centre of mass, kg m^2.
INERTIA = MASS * RADIUS**2 * np.array([0.36, 0.36, 0.4])
SPIN, TILT, FRICTION, STIFFNESS = 180.0, 5.0, 0.25, 2e5  # rad/s, degrees, -, N/m


def top() -> gd.System:
    """The ball on a table, and a band and a cap that show how it turns; these have next to no mass."""
    turn = gd.rotations.exp((0.0, np.radians(TILT), 0.0))
    axis = gd.rotations.matrix_from_quaternion(turn)[:, 2]
    place = (0.0, 0.0, RADIUS - LOW * axis[2] - MASS * 9.81 / STIFFNESS)
    turned: dict[str, Any] = {"orientation": turn, "angular_velocity": (0, 0, SPIN)}
    middle = (0.0, 0.0, LOW)
    ball = gd.Body("ball", MASS, INERTIA, place, shape=gd.Sphere(RADIUS, offset=middle), color="gold", **turned)
    band = gd.Cylinder(1.005 * RADIUS, 0.1 * RADIUS, axis=(0, 0, 1), offset=middle)
    cap = gd.Sphere(0.6 * RADIUS, offset=(0, 0, LOW + 0.42 * RADIUS))
    paint = gd.Body("paint", 1e-8, 1e-14 * np.ones(3), place, shape=[band, cap], color="red", **turned)
    slips = gd.Friction(FRICTION, sticking=False, slip_speed=1e-3)
    table = gd.Contact("ball", gd.Plane(), stiffness=STIFFNESS, damping=1.0, friction=slips, name="table")
    return gd.System([ball, paint], [gd.Fixed("ball", "paint", at=place)], contacts=[table])


def run(duration: float = 4.0) -> gd.Motion:
    """Until it has turned over."""
    return gd.simulate(top(), duration, rtol=1e-6)


def inclination(motion: gd.Motion) -> NDArray[np.float64]:
    """Angle of its axis from the vertical, degrees."""
    return np.asarray(np.degrees(np.arccos(np.clip(motion["ball"].matrix[:, 2, 2], -1.0, 1.0))))


def jellett(motion: gd.Motion) -> NDArray[np.float64]:
    """-L·r with r = LOW a - RADIUS e_z, from the centre of mass to the contact, J s m."""
    ball = motion["ball"]
    r = LOW * ball.matrix[:, :, 2] - (0.0, 0.0, RADIUS)
    momentum = np.einsum("tij,tj->ti", ball.matrix, INERTIA * ball.Omega)
    return np.asarray(-np.einsum("ti,ti->t", momentum, r))


def final_spin() -> float:
    """About the vertical when it has turned over, rad/s: Jellett's number over what it is there for a spin of one."""
    r = LOW * np.array([np.sin(np.radians(TILT)), 0.0, np.cos(np.radians(TILT))]) - (0.0, 0.0, RADIUS)
    turn = gd.rotations.matrix_from_quaternion(gd.rotations.exp((0.0, np.radians(TILT), 0.0)))
    momentum = turn @ (INERTIA * (turn.T @ (0.0, 0.0, SPIN)))
    return float(-momentum @ r / (INERTIA[2] * (RADIUS + LOW)))


def main(folder: str = "demo") -> None:
    """Print what stays and what does not, and draw how it turns over."""
    from matplotlib.figure import Figure

    motion = run()
    angle, kept, spin = inclination(motion), jellett(motion), motion["ball"].omega[:, 2]
    print(f"inclination: {angle[0]:.1f}° at the start, {angle[-1]:.1f}° after {motion.t[-1]:g} s")
    print(f"Jellett's number: {kept[0]:.6e}, then {kept.min() / kept[0]:.6f} to {kept.max() / kept[0]:.6f} of it")
    print(f"spin about the vertical: {spin[0]:.1f}, then {spin[-1]:.3f} rad/s; by Jellett {final_spin():.3f} rad/s")
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(motion.t, angle, label="inclination [°]")
    left.plot(motion.t, spin, label="spin about the vertical [rad/s]")
    left.axhline(final_spin(), color="k", lw=0.8, ls="--", label="spin by Jellett's number")
    left.set(title="the top turns over", xlabel="t [s]", ylim=(-5.0, 240.0))
    left.legend(frameon=False, fontsize=8)
    energy = motion.energy
    right.plot(motion.t, 1e3 * energy.kinetic, label="kinetic")
    right.plot(motion.t, 1e3 * (energy.potential - energy.potential[0]), label="potential")
    right.plot(motion.t, 1e3 * energy.dissipated, label="lost by friction")
    right.set(title="energy", xlabel="t [s]", ylabel="energy [mJ]")
    right.legend(frameon=False, fontsize=8)
    file = Path(folder) / "tippe_top.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    print(f"Picture: {file.resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
