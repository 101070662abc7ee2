"""One body and one rod over time."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gyrod import rotations
from gyrod._check import Array, in_short
from gyrod.model import Rod, refinement
from gyrod.model.meshes import Mesh, apply, apply_frames

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation


@dataclass(frozen=True)
class BodyTrack:
    """One body over time; the time axis comes first and is missing for a single time."""

    #: Of the centre of mass, space axes, (n, 3).
    position: Array
    #: Rotation matrices, columns are the directors, (n, 3, 3).
    matrix: Array
    #: Of the centre of mass, space axes, (n, 3).
    velocity: Array
    #: Material angular velocity (body axes), (n, 3).
    Omega: Array
    #: Sign convention: the first quaternion lies on the side of this one.
    start: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]), repr=False)

    __repr__ = in_short

    @property
    def directors(self) -> Array:
        """(n, 3, 3): ``directors[..., :, k]`` is the director d_(k+1)."""
        return self.matrix

    @cached_property
    def quaternion(self) -> Array:
        """Unit quaternions, continuous in time, (n, 4)."""
        # Raw directors may have drifted: the quaternion is that of the nearest rotation by Spurrier and Klumpp.
        p = rotations.conversions.spurrier_klumpp(self.matrix)
        if p.ndim == 1:
            return p if p @ self.start >= 0.0 else -p
        before = np.concatenate([self.start[None], p[:-1]])
        flips = np.cumprod(np.where(np.sum(p * before, axis=-1) < 0.0, -1.0, 1.0))
        return np.asarray(p * flips[:, None])

    @property
    def rotation_vector(self) -> Array:
        """Rotation vectors of length at most pi, (n, 3)."""
        return rotations.log(self.quaternion)

    @property
    def rotation(self) -> Rotation:
        """The rotations as a SciPy ``Rotation``, of n of them or of a single one."""
        return rotations.to_scipy(self.quaternion)

    @property
    def omega(self) -> Array:
        """Spatial angular velocity (space axes), (n, 3)."""
        return np.asarray((self.matrix @ self.Omega[..., None])[..., 0])

    @property
    def euler(self) -> Array:
        """Euler angles 3-1-3, (n, 3)."""
        return rotations.euler_from_quaternion(self.quaternion, "313")


@dataclass(frozen=True)
class Ends:
    """What is known of the ends of a rod: what is held there, and the curvature at rest where the mesh has it."""

    rod: Rod
    positions: tuple[bool, bool]
    frames: tuple[bool, bool]
    rest: Array

    def sections(self, track: RodTrack) -> tuple[Array, Array, Array]:
        """Section force, moment and curvature of elements at both ends, (..., 2, 3) each.

        Where an end is held they follow from what holds it: the polynomial through Gauss points does not reach there.
        """
        mesh, ends = self.rod.mesh, [0.0, 1.0]
        F = apply(*mesh.strain_at(ends), track.force)
        M, K, K0 = (apply(*mesh.curvature_at(ends), x) for x in (track.moment, track.curvature, self.rest))
        holds = ((track.start_force, track.start_moment), (track.end_force, track.end_moment))
        for e, (force, moment) in enumerate(holds):
            inside = rotations.conjugate(track.vertex_quaternions[..., -e, :])
            if self.positions[e]:
                F[..., e, :] = (2 * e - 1) * rotations.rotate(inside, force)
            if self.frames[e]:
                M[..., e, :] = (2 * e - 1) * rotations.rotate(inside, moment)
                loads = np.concatenate([F[..., e, :], M[..., e, :]], axis=-1)
                bent = loads @ np.linalg.inv(self.rod.stiffness_at([float(e)])[0]).T
                K[..., e, :] = K0[e] + bent[..., 3:]
        return F, M, K


@dataclass(frozen=True)
class RodTrack:
    """One rod over time. The time axis comes first and is missing for a single time.

    Fields live on the points of the mesh, whose fractions of the length are ``mesh.vertices`` (V), ``mesh.frames`` (Q),
    ``mesh.strains`` and ``mesh.curvatures``. On a grid of N segments these are the N + 1 ends of the segments, their N
    midpoints, the midpoints and the ends again; in E elements of degree p they are p E + 1 nodes, the same nodes, and
    p E Gauss points for strains and curvatures alike.
    """

    #: Of the vertices, space axes, (n, V, 3).
    positions: Array
    #: Of the vertices, (n, V, 3).
    velocities: Array
    #: Frames, unit quaternions, (n, Q, 4).
    quaternions: Array
    #: Frames at the vertices: of elements, or between those of the segments beside them; at a clamp its own, (n, V, 4).
    vertex_quaternions: Array
    #: Material angular velocity of the frames, (n, Q, 3).
    Omega: Array
    #: Γ1, Γ2 (shear), Γ3 (extension) at ``mesh.strains``, (n, N or p E, 3).
    strain: Array
    #: K1, K2 (bending), K3 (torsion) at ``mesh.curvatures``, 1/m, (n, N+1 or p E, 3); at an end of a grid without clamp
    #: that of the rest shape.
    curvature: Array
    #: Section force at ``mesh.strains`` in the axes d1, d2, d3, N, (n, N or p E, 3).
    force: Array
    #: Section moment at ``mesh.curvatures`` in the axes d1, d2, d3, N m, (n, N+1 or p E, 3).
    moment: Array
    #: Force and moment in space axes that hold the start and the end; zero where nothing is held, (n, 3) each.
    start_force: Array
    start_moment: Array
    end_force: Array
    end_moment: Array
    #: Multipliers of |p|² = 1 in the absolute form, after (30), (n, Q).
    multipliers: Array
    _ends: Ends = field(repr=False, compare=False)

    __repr__ = in_short

    @property
    def mesh(self) -> Mesh:
        """Where all this lives, in fractions of the length."""
        return self._ends.rod.mesh

    @property
    def directors(self) -> Array:
        """The frames, (n, Q, 3, 3): ``directors[..., :, k]`` is the director d_(k+1)."""
        return self.matrices

    @property
    def matrices(self) -> Array:
        """Rotation matrices of the frames, columns are the directors, (n, Q, 3, 3)."""
        return rotations.matrix_from_quaternion(self.quaternions)

    @property
    def rotation_vectors(self) -> Array:
        """Rotation vectors of the frames, of length at most pi, (n, Q, 3)."""
        return rotations.log(self.quaternions)

    @property
    def omega(self) -> Array:
        """Spatial angular velocity of the frames, (n, Q, 3)."""
        return rotations.rotate(self.quaternions, self.Omega)

    @property
    def force_space(self) -> Array:
        """Section force at ``mesh.strains`` in space axes, (n, N or p E, 3)."""
        return rotations.rotate(self._point_frames if self.mesh.degree else self.quaternions, self.force)

    @property
    def bend_radius(self) -> Array:
        """Radius of curvature at ``mesh.curvatures``, m, (n, N+1 or p E + 2); infinite where the rod is straight.

        Of elements the first and the last one are those of the ends, where a clamp bends a rod most.
        """
        K = self.curvature
        if self.mesh.degree:
            K = with_ends(self._end_sections[2], K)
        return bend_radius(K)

    @property
    def moment_space(self) -> Array:
        """Section moment at ``mesh.curvatures`` in space axes, (n, N+1 or p E, 3)."""
        return rotations.rotate(self._point_frames if self.mesh.degree else self.vertex_quaternions, self.moment)

    @cached_property
    def _end_sections(self) -> tuple[Array, Array, Array]:
        """Section force, moment and curvature of elements at both ends, (n, 2, 3) each."""
        return self._ends.sections(self)

    @cached_property
    def indicator(self) -> Array:
        """Difference of degrees p and p - 1 of each element, m, (n, E): where the largest is, elements are coarse.

        That of the positions, or of the frames times the length of the element.
        """
        mesh = refinement.elements("this rod", self.mesh)
        return refinement.indicator(mesh, self.positions, self.quaternions)

    @cached_property
    def _point_frames(self) -> Array:
        """Frames at the Gauss points of elements, (n, p E, 4)."""
        return apply_frames(*self.mesh.frame_at(self.mesh.strains), self.quaternions)


def bend_radius(curvature: Array) -> Array:
    """Radius of curvature, m, (...), of curvatures (..., 3); infinite where they are zero."""
    bend = np.linalg.norm(curvature[..., :2], axis=-1)
    return np.asarray(np.divide(1.0, bend, out=np.full(bend.shape, np.inf), where=bend > 0.0))


def with_ends(ends: Array, inside: Array) -> Array:
    """Values at both ends, (..., 2, 3), around those between them."""
    return np.concatenate([ends[..., :1, :], inside, ends[..., 1:, :]], axis=-2)
