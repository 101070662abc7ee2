"""Least squares without a model: losses, directions that data do not determine, covariances."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gyrod._check import Array


def _soft_l1(z: Array) -> tuple[Array, Array, Array]:
    root = np.sqrt(1.0 + z)
    return 2.0 * (root - 1.0), 1.0 / root, -0.5 / root**3


def _huber(z: Array) -> tuple[Array, Array, Array]:
    root = np.sqrt(np.maximum(z, 1.0))
    return np.where(z <= 1.0, z, 2.0 * root - 1.0), 1.0 / root, np.where(z <= 1.0, 0.0, -0.5 / root**3)


#: Robust losses ρ of z = r², as SciPy's: ρ, ρ', ρ''.
LOSSES: dict[str, Callable[[Array], tuple[Array, Array, Array]]] = {
    "linear": lambda z: (z, np.ones_like(z), np.zeros_like(z)),
    "soft_l1": _soft_l1,
    "huber": _huber,
    "cauchy": lambda z: (np.log1p(z), 1.0 / (1.0 + z), -1.0 / (1.0 + z) ** 2),
    "arctan": lambda z: (np.arctan(z), 1.0 / (1.0 + z * z), -2.0 * z / (1.0 + z * z) ** 2),
}


def cost(residuals: Array, loss: str) -> float:
    """Half the sum of the losses."""
    return 0.5 * float(LOSSES[loss](residuals * residuals)[0].sum())


def weights(residuals: Array, loss: str) -> Array:
    """What each residual counts, (n,): 1 for plain squares."""
    return LOSSES[loss](residuals * residuals)[1]


def spread(residuals: Array, loss: str, parameters: int) -> float:
    """By how much a robust loss changes the covariance of plain squares with residuals of variance 1.

    With ψ = ρ' r: mean(ψ²) / mean(dψ/dr)², times Huber's correction for few residuals (Robust Statistics, 1981,
    section 7.6).
    """
    if loss == "linear":
        return 1.0
    n, z = len(residuals), residuals * residuals
    _, first, second = LOSSES[loss](z)
    psi, slope = first * residuals, first + 2.0 * z * second
    mean = float(slope.mean())
    if mean <= 0.0 or n <= parameters:
        return np.inf
    correction = 1.0 + parameters / n * float(slope.var()) / mean**2
    return correction**2 * float(psi @ psi) / (n - parameters) / mean**2


def blind(jacobian: Array, noise: float) -> Array:
    """Directions along which nothing changes by more than ``noise``, as columns, (p, k)."""
    _, sizes, rows = np.linalg.svd(jacobian, full_matrices=True)
    sizes = np.concatenate([sizes, np.zeros(len(rows) - len(sizes))])
    floor = max(noise, 1e-12 * float(sizes.max(initial=0.0)))
    return np.asarray(rows[sizes <= floor].T)


def pivots(directions: Array) -> list[int]:
    """One coordinate for each direction; with these held, none of the directions is left."""
    left, chosen = np.array(directions), []
    for _ in range(left.shape[1]):
        k = int(np.argmax(np.linalg.norm(left, axis=1)))
        chosen.append(k)
        row = left[k] / np.linalg.norm(left[k])
        left = left - np.outer(left @ row, row)  # what can still move with coordinate k at rest
    return chosen


def simplest(blind: Array) -> Array:
    """The same directions, each with as few parameters as can be: reduced by columns."""
    left = np.array(blind)
    done: list[int] = []
    for j in range(left.shape[1]):
        sizes = np.abs(left[:, j:]).max(axis=1)
        sizes[done] = 0.0
        k = int(np.argmax(sizes))
        done.append(k)
        best = j + int(np.argmax(np.abs(left[k, j:])))
        left[:, [j, best]] = left[:, [best, j]]
        left[:, j] /= left[k, j]
        for other in range(left.shape[1]):
            if other != j:
                left[:, other] -= left[k, other] * left[:, j]
    return left


def alone(directions: Array) -> list[int]:
    """Coordinates that are a direction of their own."""
    found = []
    for v in np.abs(simplest(directions)).T:
        k = int(np.argmax(v))
        if (np.delete(v, k) < 1e-2 * v[k]).all():
            found.append(k)
    return sorted(found)


def covariance(jacobian: Array, blind_directions: Array) -> Array:
    """(JᵀJ)⁻¹, the covariance of the parameters for residuals of variance 1, (p, p); infinite where data are blind."""
    seen = _complement(blind_directions, jacobian.shape[1])
    half = seen @ np.linalg.inv(np.linalg.qr(jacobian @ seen, mode="r"))
    result = half @ half.T
    lost = np.abs(blind_directions).max(axis=1, initial=0.0) > 1e-2
    result[lost], result[:, lost] = np.nan, np.nan
    result[lost, lost] = np.inf
    return np.asarray(result)


def leverages(jacobian: Array, blind_directions: Array) -> Array:
    """How much of itself each residual explains, (n,); they sum up to the parameters that are determined."""
    Q, _ = np.linalg.qr(jacobian @ _complement(blind_directions, jacobian.shape[1]))
    return np.asarray((Q * Q).sum(axis=1))


def _complement(directions: Array, p: int) -> Array:
    """An orthonormal basis of all that is perpendicular to some orthonormal directions."""
    if not directions.shape[1]:
        return np.eye(p)
    U, _, _ = np.linalg.svd(directions, full_matrices=True)
    return np.asarray(U[:, directions.shape[1] :])
