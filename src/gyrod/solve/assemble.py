"""assemble: a start that its joints allow, next to the one that was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gyrod import _check, rotations
from gyrod._check import Array
from gyrod._words import suggests
from gyrod.equations import mechanisms
from gyrod.equations.bodies import unchecked_core
from gyrod.model import ModelError, System

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Largest turn of a body in one iteration, rad, and largest displacement over the size of the system.
LARGEST = 0.5
ITERATIONS = 200


@suggests
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
    return _Assembly(system).found()


class _Assembly:
    """Bodies on their way to where joints meet: places x, p and velocities v, Omega in the users' axes."""

    def __init__(self, system: System) -> None:
        self.system, self.pairs = system, mechanisms.pairs(system)
        self.core, self.axes, self.moments = unchecked_core(system)
        self.x = np.array([b.position for b in system.bodies])
        self.p = np.array([b.orientation for b in system.bodies])
        self.v = np.array([system.initial_velocities[b.name] for b in system.bodies])
        self.Omega = np.array([b.angular_velocity for b in system.bodies])
        self.masses = np.array([b.mass for b in system.bodies])
        arms = np.abs([a for j in system.joints for a in _arms(system, j)])
        self.size = max(float(np.ptp(self.x, axis=0).max()), float(arms.max()))

    def found(self) -> System:
        """The system there."""
        moved = self._meet()
        raw = self._state()
        g, in_time, _, G = mechanisms.gradient(self.core, 0.0, raw, self.pairs)
        owner = self.core.joint_rows(0.0, raw)[:, 0].astype(int)
        remedy = "Check lengths, points and axes, or start nearer"
        _refuse(self.system, owner, np.abs(g), 1e-9 * max(self.size, 1.0), "m or rad", remedy)
        R = rotations.matrix_from_quaternion(self.p)
        V = self._moving(R, raw, G, in_time, owner)
        bodies = [
            b.with_(position=self.x[i], orientation=self.p[i], velocity=V[i, :3], angular_velocity=R[i].T @ V[i, 3:])
            for i, b in enumerate(self.system.bodies)
        ]
        given = self.system
        attachments = tuple(given.attachment(j) for j in given.joints) if moved else given.attachments
        found = System(
            bodies=bodies, joints=given.joints, rods=given.rods, forces=given.forces, gravity=given.gravity,
            attachments=attachments, sensors=given.sensors,
        )  # fmt: skip
        found.check_consistent()
        return found

    def _meet(self) -> bool:
        """Move bodies until no gap closes any further; whether they had to."""
        moved, best, waited, size = False, np.inf, 0, self.size
        for _ in range(ITERATIONS):
            raw = self._state()
            g, _, _, G = mechanisms.gradient(self.core, 0.0, raw, self.pairs)
            gap = float(np.abs(g).max())
            if gap <= 1e-13 * max(size, 1.0):
                break
            waited = 0 if gap < 0.99 * best else waited + 1
            best = min(best, gap)
            if waited > 20 or (gap < 1e-11 * max(size, 1.0) and waited > 1):
                break
            d = _least(G, self._metric(raw), g).reshape(-1, 6)
            largest = max(float(np.abs(d[:, :3]).max()) / size, float(np.abs(d[:, 3:]).max()))
            d *= min(1.0, LARGEST / max(largest, 1e-300))
            self.x = self.x + d[:, :3]
            self.p = rotations.multiply(rotations.exp(d[:, 3:]), self.p)
            self.p = self.p / np.linalg.norm(self.p, axis=1, keepdims=True)
            moved = True
        return moved

    def _moving(self, R: Array, raw: Array, G: object, in_time: Array, owner: NDArray[np.int_]) -> Array:
        """Velocities and spatial angular velocities that joints and drives allow, (b, 6)."""
        V = np.concatenate([self.v, np.einsum("bij,bj->bi", R, self.Omega)], axis=1)
        rate = G @ V.ravel() + in_time
        if float(np.abs(rate).max()) <= 1e-13 * max(float(np.abs(V).max()), 1e-300):
            return V
        # What was given counts as well: a system that is brought to rest keeps the rounding of it.
        fastest = max(float(np.abs(V).max()), float(np.abs(in_time).max()))
        V = V + _least(G, self._metric(raw), rate).reshape(-1, 6)
        rest, fastest = np.abs(G @ V.ravel() + in_time), max(fastest, float(np.abs(V).max()))
        _refuse(self.system, owner, rest, 1e-8 * fastest, "m/s or rad/s", "Check what drives it and what holds it")
        return V

    def _state(self) -> Array:
        R = rotations.matrix_from_quaternion(self.p)
        return mechanisms.to_principal(self.x, R, self.v, self.Omega, self.axes)

    def _metric(self, raw: Array) -> csr_array:
        """Masses and inertias as a sparse matrix; a point mass or a needle gets a little: it says how far a turn is."""
        import scipy.sparse  # not at import: it takes longer than all the rest

        R = raw[:, 3:12].reshape(-1, 3, 3)
        least = np.maximum(self.moments, 1e-6 * self.masses[:, None] * self.size**2)
        J = R @ (least[:, :, None] * np.swapaxes(R, 1, 2))
        blocks = [m for mass, inertia in zip(self.masses, J, strict=True) for m in (mass * np.eye(3), inertia)]
        return scipy.sparse.block_diag(blocks, format="csc")


def _least(G: csr_array, M: csr_array, gap: Array) -> Array:
    """Smallest change d with G d = -gap; rows may be redundant."""
    import scipy.sparse
    import scipy.sparse.linalg

    inverse = np.asarray(G.power(2) @ (1.0 / M.diagonal()))
    tiny = scipy.sparse.diags(1e-10 * inverse + 1e-300)
    K = scipy.sparse.bmat([[M, G.T], [G, -tiny]], format="csc")
    n = M.shape[0]
    lu = scipy.sparse.linalg.splu(K)
    d = np.zeros(n)
    for _ in range(3):  # takes the regularisation out again
        d += lu.solve(np.concatenate([np.zeros(n), -(gap + G @ d)]))[:n]
    return np.asarray(d)


def _refuse(system: System, owner: NDArray[np.int_], gaps: Array, allowed: float, unit: str, remedy: str) -> None:
    """Raise an error that names the joints with the largest gaps, if those are too large."""
    if float(gaps.max()) <= allowed:
        return
    labels = system.joint_labels
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
