"""Where elements of a rod are too coarse: what they leave out of positions and frames, and how they are divided.

In an element of degree p positions and quaternions are x(ξ) = Σ a_k P_k(ξ), Legendre polynomials P_k, k = 0 to p; what
degree p - 1 would leave out of x is a_p P_p, at most |a_p|.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from gyrod import _check
from gyrod._check import Array
from gyrod.model.meshes import DEGREES, Elements, Mesh, apply, apply_frames, rule
from gyrod.rotations.vectors import norms

if TYPE_CHECKING:
    from gyrod.model.rods import Rod

K = TypeVar("K", bound=np.generic)

Parts = NDArray[np.intp]

#: Most pieces of an element in one go: what is expected of finer ones is not believed further.
MOST_PARTS = 8
#: An element that turns further, in rad, or whose interpolated quaternions have a smaller norm, is near the end of what
#: it can represent, half a turn and 0.5: it is divided.
FARTHEST, SMALLEST = 0.9 * np.pi, 0.6
#: Points in an element at which the initial shape is looked at.
LOOKS = 16


def elements(what: str, mesh: Mesh) -> Elements:
    """The mesh, if it is one of elements."""
    if isinstance(mesh, Elements):
        return mesh
    raise ValueError(
        f"{what} has a staggered grid, of second order, which has no indicator and is not refined by itself; take "
        "discretization = 'elements'."
    )


def indicator(mesh: Elements, positions: Array, quaternions: Array) -> Array:
    """Difference of degrees p and p - 1 in m, (..., E): |a_p| of the positions, or 2 h |a_p| of the quaternions.

    h is the length of the element as it lies. It bounds what is left out from above, and falls like h^p.
    """
    x, q = _last(mesh, positions), _last(mesh, quaternions)
    return np.asarray(np.maximum(x[0], 2.0 * _lengths(mesh, positions) * q[0]))


def expected(mesh: Elements, positions: Array, quaternions: Array) -> Array:
    """Error of positions in m that is expected of degree p, (..., E); it falls like h^(p + 1).

    Of the positions |a_p|²/|a_(p-1)|, the next coefficient if they go on falling as the last two do, and at most |a_p|;
    of the frames what they turn wrong by over the length of the element, at degree p - 1.
    """
    (last, before), (turned, _) = _last(mesh, positions), _last(mesh, quaternions)
    share = np.divide(last, before, out=np.ones_like(last), where=before > last)
    return np.asarray(np.maximum(share * last, 2.0 * _lengths(mesh, positions) * turned))


def expected_at_start(rod: Rod) -> Array:
    """Largest distance in m of the elements from the initial shape, and of their frames over their length, (E,)."""
    mesh = elements(f"Rod {rod.name!r}", rod.mesh)
    inner = (np.arange(LOOKS) + 0.5) / LOOKS
    s = (mesh.ends[:-1, None] + np.diff(mesh.ends)[:, None] * inner).ravel()
    x, q = rod.shape.place(s, rod.length)
    at = mesh.vertex_at(s)
    away = norms(apply(*at, rod.positions) - x)
    between = apply_frames(*at, rod.quaternions)
    turned = 2.0 * np.minimum(norms(between - q), norms(between + q))
    h = np.repeat(rod.length * np.diff(mesh.ends), LOOKS)
    return np.asarray(np.maximum(away, h * turned).reshape(mesh.cells, LOOKS).max(axis=1))


def folded(mesh: Elements, quaternions: Array) -> NDArray[np.bool_]:
    """Elements that turn so far that they must be divided, (..., E)."""
    q = quaternions[..., _nodes(mesh), :]
    inside = np.einsum("ki,...eic->...ekc", mesh.rule.values, q)
    cosines = np.minimum(np.abs(np.sum(q[..., 1:, :] * q[..., :-1, :], axis=-1)), 1.0)
    turns = 2.0 * np.arccos(cosines).sum(axis=-1)
    return np.asarray((np.linalg.norm(inside, axis=-1).min(axis=-1) < SMALLEST) | (turns > FARTHEST))


def parts(error: Array, tolerance: float | Array, order: float) -> Parts:
    """Into how many pieces each element is to be divided for an error that falls like h^order."""
    ratio = np.asarray(error / tolerance)
    found = np.ceil(np.maximum(ratio, 1.0) ** (1.0 / order) * (1.0 - 1e-9))
    return np.asarray(np.clip(found, 1, MOST_PARTS), dtype=np.intp)


def divided(mesh: Mesh, pieces: Parts) -> dict[str, object]:
    """Fields of a rod whose elements are those of a mesh, each in equal pieces."""
    spans = zip(mesh.ends[:-1].tolist(), mesh.ends[1:].tolist(), pieces.tolist(), strict=True)
    ends = np.array([*(a + (b - a) * i / k for a, b, k in spans for i in range(k)), 1.0])
    count = len(ends) - 1
    even = np.arange(count + 1.0) / count
    equal = bool(np.abs(ends - even).max() < 1e-12)
    return {"segments": count if equal else None, "grid": None if equal else ends}


def coarser(rod: Rod, share: float) -> dict[str, object]:
    """Fields of a rod with about that share of its segments or elements; a single element gets a degree less.

    Ends of segments that were given are kept or left out, never moved.
    """
    least, count = (2 if rod.degree is None else 1), rod.segments
    fewer = max(least, math.ceil(share * count))
    if fewer < count:
        if rod.grid is None:
            return {"segments": fewer}
        kept = np.unique(np.round(np.linspace(0, count, fewer + 1)).astype(int))
        return {"segments": None, "grid": np.asarray(rod.grid)[kept]}
    return lower(rod)


def finer(rod: Rod, times: int) -> dict[str, object]:
    """Fields of a rod with that many pieces of each segment or element, those at which something sets in included."""
    return divided(rod.mesh, np.full(rod.mesh.cells, times))


def lower(rod: Rod) -> dict[str, object]:
    """Fields of a rod with the same elements of a degree less."""
    if rod.degree is not None and rod.degree > min(DEGREES):
        return {"degree": rod.degree - 1}
    count = rod.mesh.cells
    cells = f"{count} segments" if rod.degree is None else f"{count} elements of degree {rod.degree}"
    raise ValueError(f"rod {rod.name!r} has {cells}, and nothing coarser to compare it with")


def refined(rod: Rod, tolerance: float, state: object) -> Rod:
    """What `Rod.refine` does."""
    limit = _check.positive("tolerance", tolerance)
    mesh = elements(f"Rod {rod.name!r}", rod.mesh)
    if state is None:
        pieces = parts(expected_at_start(rod), limit, mesh.degree + 1.0)
    else:
        x, q = _of_state(rod, mesh, state)
        pieces = parts(_largest(expected(mesh, x, q)), limit, mesh.degree + 1.0)
        pieces = np.maximum(pieces, np.where(_largest(folded(mesh, q)), 2, 1))
    return rod if pieces.max() == 1 else rod.with_(**divided(mesh, pieces))


def _of_state(rod: Rod, mesh: Elements, state: object) -> tuple[Array, Array]:
    there, x, q = (getattr(state, name, None) for name in ("mesh", "positions", "quaternions"))
    if not isinstance(there, Mesh) or x is None or q is None:
        raise ValueError(
            f"state must be rod {rod.name!r} at rest or over time, such as motion[{rod.name!r}], got "
            f"{type(state).__name__}."
        )
    same = there.degree == mesh.degree and there.cells == mesh.cells and np.abs(there.ends - mesh.ends).max() < 1e-9
    if not same:
        raise ValueError(
            f"state is of a rod with other elements than rod {rod.name!r}: {there.cells} of degree {there.degree} in "
            f"place of {mesh.cells} of degree {mesh.degree}, or elsewhere; take the rod of the same system, such as "
            f"motion.system.rod({rod.name!r})."
        )
    return np.asarray(x), np.asarray(q)


def _largest(values: NDArray[K]) -> NDArray[K]:
    """Over time."""
    return values if values.ndim == 1 else values.max(axis=0)


def _nodes(mesh: Elements) -> NDArray[np.intp]:
    return mesh.nodes_of(np.arange(mesh.cells))


def _lengths(mesh: Elements, positions: Array) -> Array:
    """Lengths of the elements as they lie, by the chords between their nodes, (..., E)."""
    steps = np.linalg.norm(np.diff(positions, axis=-2), axis=-1)
    return np.asarray(steps.reshape(*steps.shape[:-1], mesh.cells, mesh.degree).sum(axis=-1))


def _last(mesh: Elements, field: Array) -> tuple[Array, Array]:
    """|a_p| and |a_(p-1)| of a field of the nodes, (..., E) each."""
    a = np.einsum("ki,...eic->k...ec", _to_legendre(mesh.degree), field[..., _nodes(mesh), :])
    last, before = np.linalg.norm(a, axis=-1)
    return last, before


@cache
def _to_legendre(degree: int) -> Array:
    """From values at the nodes to the coefficients a_p and a_(p-1), (2, p + 1)."""
    values = np.polynomial.legendre.legvander(rule(degree).nodes, degree)
    return np.asarray(np.linalg.inv(values)[[degree, degree - 1]])
