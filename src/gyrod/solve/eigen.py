"""Eigenvalues of linear maps, and bases of what shares one: the same on every machine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gyrod._check import Array

#: Vectors of a Krylov space, of each wanted one, after which what is found has to do.
WIDEST = 20
#: Applications of a chain before it is known whether it found anything that the others have not; then the space is
#: looked at whenever it has grown by this part: its eigenvalues cost its third power.
LEAST, GROWTH = 4, 0.2
#: Looks at a space that came no closer after which it is as good as rounding lets it be.
PATIENCE = 2
#: Residual from which on a space that does not come closer is as good as rounding lets it be.
STUCK = 1e-4
#: Part of a vector that must be left after it was made orthogonal to others, for it to be so up to rounding.
LITTLE = 0.7
#: Iterations of a space before it is widened or taken as it is.
LOOKS = 12
#: Eigenvalues beyond which no complete groups are looked for.
MOST = 500
#: Relative distance of eigenvalues that count as one.
ALIKE = 1e-6

#: Eigenvalues or vectors, real or complex.
Spectrum = NDArray[np.float64] | NDArray[np.complex128]


def lowest(
    apply: Callable[[Array], Array],
    size: int,
    n: int,
    select: Callable[[Spectrum, Spectrum], tuple[Spectrum, Spectrum]],
    *,
    near: float,
    dense: int,
    tolerance: float = 1e-10,
    each: int = 1,
) -> tuple[Spectrum, Spectrum, list[range]]:
    """Eigenvalues, at least n where there are as many, vectors (rows) and groups of those that share an eigenvalue.

    ``select`` makes eigenvalues and rows in their order from those of the map; within ``near`` they are the same. The
    last group of the first n is complete, so that what it spans is known. The map has ``each`` of them for one.
    """
    k = each * n + 2
    while True:
        values, vectors = largest(apply, size, k, dense=dense, tolerance=tolerance)
        x, rows = select(values, vectors)
        ends = np.flatnonzero(np.abs(np.diff(x)) > ALIKE * np.abs(x[1:]) + near) + 1
        groups = [range(a, b) for a, b in zip([0, *ends], [*ends, len(x)], strict=True) if b > a]
        if len(values) == size or k > MOST or (groups and groups[-1].start >= n):
            for group in groups:
                if len(group) > 1:
                    x[group] = x[group].mean()
            return x, rows, groups
        k *= 2


def largest(
    apply: Callable[[Array], Array], size: int, k: int, *, dense: int, tolerance: float = 1e-10
) -> tuple[Spectrum, Spectrum]:
    """Eigenvalues of largest size and vectors (columns), at least k, of a linear map: all of a small one.

    Of a large one by Arnoldi's method. A chain x, A x, A A x, ... knows one copy of each eigenvalue, and others by its
    rounding only. So further chains are begun, orthogonal to all before, until one finds nothing.
    """
    if size <= max(dense, 3 * k):
        return np.linalg.eig(np.stack([apply(e) for e in np.eye(size)], axis=1))
    rng, most = np.random.default_rng(1), min(size - 1, max(WIDEST * k, 100))
    Q, H = np.empty((most, size)), np.zeros((most, most))
    ends: dict[int, Array] = {}  # parts of A q that lie outside of the space, by the number of q
    x, length, best, idle, before = apply(rng.standard_normal(size)), 0, np.inf, 0, None
    found: tuple[Spectrum, Spectrum] | None = None
    due = max(2 * k, 20)
    for m in range(most):
        for _ in range(0 if length else 2):  # the start of a chain; twice, since little may be left
            x = x - (Q[:m] @ x) @ Q[:m]
        Q[m] = x = x / (np.linalg.norm(x) or 1.0)
        for i, end in ends.items():
            H[m, i] = x @ end
            ends[i] = end - H[m, i] * x
        if length:
            del ends[m - 1]
        x = apply(Q[m])
        for _ in range(4):  # again where little was left, the most where a chain ends in rounding
            whole, h = np.linalg.norm(x), Q[: m + 1] @ x
            H[: m + 1, m] += h
            x = x - h @ Q[: m + 1]
            if np.linalg.norm(x) > LITTLE * whole:
                break
        ends[m], length = x, length + 1
        if m + 1 < min(due, most):
            continue
        due = m + 1 + max(LEAST, int(GROWTH * m))
        values, S = np.linalg.eig(H[: m + 1, : m + 1])
        sizes = np.abs(values)
        order = np.argsort(-sizes)
        # Of a further chain also those that may still overtake one.
        order = order[: k if before is None else np.count_nonzero(sizes > 0.9 * sizes[order[k - 1]])]
        values, S = values[order], S[:, order]
        left = np.stack(list(ends.values()), axis=1) @ S[list(ends)]
        if not np.abs(values).min(initial=1.0) > 0.0:
            break
        error = float((np.linalg.norm(left, axis=0) / np.abs(values)).max())
        idle = 0 if error < 0.5 * best else idle + 1
        if error < best:
            best, found = error, (values, S)
        if best < tolerance or (best < STUCK and idle == PATIENCE):  # rounding of the map may not allow the tolerance
            now = np.abs(values[:k])
            if before is not None and np.allclose(now, before, rtol=1e-3, atol=0.0):
                break
            x, length, best, idle, before = apply(rng.standard_normal(size)), 0, np.inf, 0, now
    if found is None:
        raise ValueError(
            "frequencies cannot be found: beside the stiffness the masses are lost to rounding. Check the units of "
            "densities, masses and stiffnesses."
        )
    values, S = found
    return values, Q[: len(S)].T @ S


def between(apply: Callable[[Array], Array], size: int, low: float, high: float, *, tolerance: float = 1e-6) -> Array:
    """A basis, (k, size), of the eigenvectors of a linear map with real eigenvalues between two, few of them larger.

    By iteration of a space that is widened until smaller ones are in it: of many copies of one eigenvalue, which
    Arnoldi's method finds one by one, all come at once.
    """
    from scipy.linalg import schur

    rng, Q = np.random.default_rng(1), np.empty((0, size))
    while True:
        more = min(max(16, 2 * len(Q)), size) - len(Q)
        Y = np.vstack([Q, rng.standard_normal((more, size))])
        for look in range(LOOKS):
            Q = np.linalg.qr(Y.T)[0].T
            Y = np.stack([apply(q) for q in Q])
            values, S = np.linalg.eig(Q @ Y.T)
            close = np.abs(values) > 0.9 * low  # those that are not yet resolved count as well
            left = np.linalg.norm(Y.T @ S[:, close] - Q.T @ S[:, close] * values[close], axis=0) / np.abs(values[close])
            settled = left.max(initial=0.0) < tolerance
            if len(Q) == size or (look >= LEAST and settled):
                break
        if (settled and np.abs(values).min() < low) or len(Q) >= min(size, MOST):
            # Eigenvectors of equal eigenvalues may be nearly parallel, those of Schur are not.
            _, Z, count = schur(Q @ Y.T, output="complex", sort=lambda x: low < x.real < high)
            return real(Z[:, :count].T @ Q, [range(count)])


def real(rows: Spectrum, groups: list[range]) -> Array:
    """What each group of a real map with real eigenvalues spans: rounding makes conjugate pairs of equal ones."""
    found = np.array(rows.real)
    for group in groups:
        if len(group) > 1:
            both = np.vstack([rows.real[group], rows.imag[group]])
            found[group] = np.linalg.svd(both, full_matrices=False)[2][: len(group)]
    return found


def first_largest(sizes: Array) -> int:
    """The first one of those that are largest up to rounding."""
    return int(np.argmax(sizes > 0.999 * sizes.max()))


def canonical(rows: Spectrum, first: Spectrum) -> tuple[Spectrum, NDArray[np.intp]]:
    """The combinations of rows that do not depend on the basis which the rows are, and the columns that identify them.

    Reduced echelon form: each combination has 1 in a column of its own, where the others have 0. Columns are chosen in
    the order of ``first`` (another reading of the same rows, (k, m)) as far as they say enough, then the largest one of
    the rows, whose index is counted on from those of ``first``. Returns the matrix of the combinations, (k, k).
    """
    # Rows of basis @ rows are orthonormal: the sizes of its columns are the same in any basis.
    basis = np.linalg.inv(np.linalg.qr(rows.T)[1].T)
    columns = basis @ np.hstack([first, rows])
    left, m, chosen = columns.copy(), first.shape[1], np.zeros(len(rows), np.intp)
    for i in range(len(rows)):
        size = np.linalg.norm(left, axis=0)
        enough = np.flatnonzero(size[:m] > 0.1 * size.max())
        chosen[i] = enough[0] if len(enough) else m + first_largest(size[m:])
        u = left[:, chosen[i]] / size[chosen[i]]
        left -= np.outer(u, u.conj() @ left)
    return np.linalg.solve(columns[:, chosen], basis), chosen
