"""assemble: a start that its joints allow, next to the one that was given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gyrod import _check, rotations
from gyrod.equations import mechanisms, unchecked_core
from gyrod.model import ModelError, System

Array = NDArray[np.float64]

#: Largest turn of a body in one iteration, rad, and largest displacement over the size of the system.
LARGEST = 0.5
ITERATIONS = 200


def assemble(system: System) -> System:
    """Return the system with positions and velocities that all joints allow, nearest to the given ones.

    Positions move as little as possible in the metric of the mass (Lang 2010, eq. (62)); velocities change with the
    least kinetic energy. Joints stay where they sit in their bodies. A system that is consistent comes back as it is.

    Raises
    ------
    ModelError
        If the joints cannot be brought together; it lists the gaps that remain.
    """
    _check.kind("system", system, System)
    try:
        system.check_consistent()
    except ModelError:
        pass
    else:
        return system
    import scipy.sparse  # not at import: it takes longer than all the rest
    import scipy.sparse.linalg

    core, axes, moments = unchecked_core(system)
    pairs = mechanisms.pairs(system)
    x = np.array([b.position for b in system.bodies])
    p = np.array([b.orientation for b in system.bodies])
    v = np.array([system.initial_velocities[b.name] for b in system.bodies])
    Omega = np.array([b.angular_velocity for b in system.bodies])
    size = max(
        float(np.ptp(x, axis=0).max()), float(np.abs([a for j in system.joints for a in _arms(system, j)]).max())
    )
    masses = np.array([b.mass for b in system.bodies])

    def state() -> Array:
        return mechanisms.to_principal(x, rotations.matrix_from_quaternion(p), v, Omega, axes)

    def metric(R: Array) -> Any:
        # A point mass or a needle gets a little inertia: it only says how far a turn is.
        J = R @ (np.maximum(moments, 1e-6 * masses[:, None] * size**2)[:, :, None] * np.swapaxes(R, 1, 2))
        blocks = [m for b in range(len(x)) for m in (masses[b] * np.eye(3), J[b])]
        return scipy.sparse.block_diag(blocks, format="csc")

    def least(G: Any, M: Any, gap: Array) -> Array:
        """Smallest change d with G d = -gap; rows may be redundant."""
        inverse = np.asarray(G.power(2) @ (1.0 / M.diagonal()))
        tiny = scipy.sparse.diags(1e-10 * inverse + 1e-300)
        K = scipy.sparse.bmat([[M, G.T], [G, -tiny]], format="csc")
        n = M.shape[0]
        lu = scipy.sparse.linalg.splu(K)
        d = np.zeros(n)
        for _ in range(3):  # takes the regularisation out again
            d += lu.solve(np.concatenate([np.zeros(n), -(gap + G @ d)]))[:n]
        return np.asarray(d)

    moved, best, waited = False, np.inf, 0
    for _ in range(ITERATIONS):
        raw = state()
        g, _, _, G = mechanisms.gradient(core, 0.0, raw, pairs)
        gap = float(np.abs(g).max())
        if gap <= 1e-13 * max(size, 1.0):
            break
        waited = 0 if gap < 0.99 * best else waited + 1
        best = min(best, gap)
        if waited > 20 or (gap < 1e-11 * max(size, 1.0) and waited > 1):
            break
        d = least(G, metric(raw[:, 3:12].reshape(-1, 3, 3)), g).reshape(-1, 6)
        largest = max(float(np.abs(d[:, :3]).max()) / size, float(np.abs(d[:, 3:]).max()))
        d *= min(1.0, LARGEST / max(largest, 1e-300))
        x = x + d[:, :3]
        p = rotations.multiply(rotations.exp(d[:, 3:]), p)
        p = p / np.linalg.norm(p, axis=1, keepdims=True)
        moved = True
    raw = state()
    g, in_time, _, G = mechanisms.gradient(core, 0.0, raw, pairs)
    owner = core.joint_rows(0.0, raw)[:, 0].astype(int)
    _refuse(
        system, owner, np.abs(g), 1e-9 * max(size, 1.0), "m or rad", "Check lengths, points and axes, or start nearer"
    )
    frames = raw[:, 3:12].reshape(-1, 3, 3)
    R = rotations.matrix_from_quaternion(p)
    omega = np.einsum("bij,bj->bi", R, Omega)
    V = np.concatenate([v, omega], axis=1)
    rate = G @ V.ravel() + in_time
    if float(np.abs(rate).max()) > 1e-13 * max(float(np.abs(V).max()), 1e-300):
        # What was given counts as well: a system that is brought to rest keeps the rounding of it.
        fastest = max(float(np.abs(V).max()), float(np.abs(in_time).max()))
        V = V + least(G, metric(frames), rate).reshape(-1, 6)
        rest, fastest = np.abs(G @ V.ravel() + in_time), max(fastest, float(np.abs(V).max()))
        _refuse(system, owner, rest, 1e-8 * fastest, "m/s or rad/s", "Check what drives it and what holds it")
    bodies = [
        b.with_(position=x[i], orientation=p[i], velocity=V[i, :3], angular_velocity=R[i].T @ V[i, 3:])
        for i, b in enumerate(system.bodies)
    ]
    attachments = tuple(system.attachment(j) for j in system.joints) if moved else system.attachments
    found = System(
        bodies=bodies, joints=system.joints, rods=system.rods, forces=system.forces, gravity=system.gravity,
        attachments=attachments, sensors=system.sensors,
    )  # fmt: skip
    found.check_consistent()
    return found


def _refuse(system: System, owner: Array, gaps: Array, allowed: float, unit: str, remedy: str) -> None:
    """Raise an error that names the joints with the largest gaps, if those are too large."""
    if float(gaps.max()) <= allowed:
        return
    labels = list(system.residuals())
    raise ModelError(
        [
            f"{labels[j]}: it cannot be brought together with the others; a gap of {gaps[owner == j].max():.3g} {unit} "
            f"remains. {remedy}."
            for j in sorted({int(j) for j in owner[gaps > 0.1 * gaps.max()]})
        ]
    )


def _arms(system: System, joint: object) -> list[Array]:
    place = system.attachment(joint)  # type: ignore[arg-type]
    return [place.at_a, place.at_b]
