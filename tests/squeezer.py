"""Andrews' squeezing mechanism: seven bodies in a plane, three loops, a spring, a motor (Schiehlen 1990)."""

from __future__ import annotations

import numpy as np

import gyrod as gd

#: Angles at the start, which close the loops: beta, Theta, gamma, Phi, delta, Omega, epsilon.
START = (
    -0.0617138900142764, 0.0, 0.4552798191630704, 0.2226683901658859, 0.4873649795438426, -0.2226683901658859,
    1.2305474445498212,
)  # fmt: skip
#: beta and gamma after 0.03 s, of the test set for IVP solvers.
TRUSTED = (15.81077119629904, 0.04082224013073101)
MASSES = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
MOMENTS = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)


def squeezer():
    def along(length, angle):
        return length * np.array([np.cos(angle), np.sin(angle), 0.0])

    b, th, g, ph, d, om, e = START
    A, B, C = (np.array([x, y, 0.0]) for x, y in ((-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)))
    crank = along(7e-3, b)
    P = crank - along(28e-3, b + th)
    right = -0.5 * np.pi  # sin, -cos
    elbow, wrist = A + along(40e-3, d), A + along(40e-3, e + right)
    D = B + along(20e-3, g) + along(18e-3, g + right)
    places = (
        along(9.2e-4, b), crank - along(11.5e-3, b + th), B + along(18.74e-3, g + right) + along(10.43e-3, g),
        elbow + along(20e-3 - 14.21e-3, ph + d + right), A + along(23.08e-3, d) - along(9.16e-3, d + right),
        wrist + along(20e-3 - 14.21e-3, om + e), A + along(12.28e-3, e + right) - along(4.49e-3, e),
    )  # fmt: skip
    bodies = [
        gd.Body(f"K{i + 1}", m, (J, J, J), position=x)
        for i, (m, J, x) in enumerate(zip(MASSES, MOMENTS, places, strict=True))
    ]
    hinges = (
        ("ground", "K1", 0.0 * A), ("K1", "K2", crank), ("K2", "K3", P), ("K2", "K4", P), ("K2", "K6", P),
        ("ground", "K3", B), ("ground", "K5", A), ("ground", "K7", A), ("K4", "K5", elbow), ("K6", "K7", wrist),
    )  # fmt: skip
    joints = [gd.Revolute(p, q, at=at, axis=(0, 0, 1), name=f"{p}-{q}") for p, q, at in hinges]
    forces = [
        gd.Torque("K1", (0.0, 0.0, 33e-3)),
        gd.SpringDamper("ground", "K3", at_a=C, at_b=D - places[2], stiffness=4530.0, length=77.85e-3),
    ]
    return gd.assemble(gd.System(bodies, joints, forces=forces, gravity=(0.0, 0.0, 0.0)))
