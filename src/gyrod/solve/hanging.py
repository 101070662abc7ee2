"""hang: a cable between two points at rest, in one line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gyrod import _check
from gyrod._check import Array
from gyrod._words import suggests
from gyrod.model import Clamped, Curve, Hinged, Material, Rod, Straight, System
from gyrod.model.sections import CrossSection
from gyrod.motion import Rest
from gyrod.solve.statics import equilibrium

if TYPE_CHECKING:
    from collections.abc import Callable

    from gyrod.model.rods import Field
    from gyrod.motion import RodTrack

#: Pieces of a plane curve, and the quadrature on each.
PIECES = 200
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(6)

#: Horizontal distance over length below which the first shape is an arc, not a catenary, and the line between vertical.
STEEP = 0.05


@dataclass(frozen=True, repr=False)
class Hanging(Rest):
    """A cable at rest between two points: a `Rest` with its sag and the forces that hold its ends."""

    @property
    def cable(self) -> RodTrack:
        """The cable: positions, section forces, moments."""
        found: RodTrack = self["cable"]
        return found

    @cached_property
    def rod(self) -> Rod:
        """The cable as it lies there, with its ends: it goes into a `System`, as one with a sea bed or a current."""
        from gyrod.solve.routing import as_it_lies  # which knows this module's neighbours

        return as_it_lies(self, self.system.rods[0])

    @cached_property
    def sag(self) -> float:
        """Largest depth below the line between the ends, along gravity, m.

        Of ends about one above the other, the depth below the points that divide the line as the cable's own do.
        """
        mesh, down = self.cable.mesh, np.asarray(self.system.gravity)
        s = mesh.vertices if mesh.degree is None else np.linspace(0.0, 1.0, 20 * mesh.cells + 1)
        x = mesh.interpolate(*mesh.vertex_at(s), self.cable.positions)
        down = down / np.linalg.norm(down)
        chord = x[-1] - x[0]
        flat = chord - (chord @ down) * down
        across = (x - x[0]) @ flat
        steep = np.linalg.norm(flat) < STEEP * self.system.rods[0].length
        share = s if steep else np.clip(across / (flat @ flat), 0.0, 1.0)
        line = x[0] + share[:, None] * chord
        return float(((x - line) @ down).max())

    @property
    def start_force(self) -> Array:
        """Force in space axes that holds the start, N, (3,)."""
        return np.asarray(self.cable.start_force)

    @property
    def end_force(self) -> Array:
        """Force in space axes that holds the end, N, (3,)."""
        return np.asarray(self.cable.end_force)


@suggests
def hang(
    length: float,
    between: tuple[ArrayLike, ArrayLike],
    *,
    section: CrossSection | None = None,
    material: Material | None = None,
    stiffness: Field | None = None,
    density_per_length: float | Callable[[float], float] | None = None,
    rotary_inertia: Field | None = None,
    segments: int = 50,
    degree: int | None = None,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    clamped: bool = False,
    strain: str = "cosserat",
    error: str = "rough",
) -> Hanging:
    """Hang a cable of an unstretched length between two points: its shape, sag and end forces.

    A cable shorter than the distance is stretched. ``clamped`` holds the ends in the direction of the chord. With
    ``degree`` the ``segments`` are elements; ``strain`` as for `Rod`, "inextensible" for a cable that only bends. Ropes
    and chains have ``stiffness``, ``density_per_length`` and ``rotary_inertia``, as a `Rod`, in place of section and
    material. ``error`` as for `equilibrium`.

    >>> import gyrod as gd
    >>> steel = gd.Material(young=2e11, poisson=0.3, density=7850)
    >>> cable = gd.hang(1.1, between=((0, 0, 0), (1, 0, 0)), section=gd.Circle(radius=1e-3), material=steel)
    >>> bool(0.19 < cable.sag < 0.22)
    True
    """
    L = _check.positive("length", length)
    try:
        A, B = (np.asarray(p, dtype=float).reshape(3) for p in between)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"between = {between!r} must be two points of three numbers each.") from None
    g = _check.array("gravity", gravity, (3,))
    if not np.linalg.norm(g) > 0.0:
        raise ValueError("gravity = (0, 0, 0): nothing hangs without weight.")
    if np.array_equal(A, B):
        raise ValueError(f"between: both points are {A.tolist()}; they must differ.")
    end = Clamped if clamped else Hinged
    tight = np.linalg.norm(B - A) * (1.0 + 1e-9) >= L
    if tight and strain == "inextensible":
        raise ValueError(
            f"length = {length!r} is not more than the distance {np.linalg.norm(B - A):.6g} of the points, and "
            "strain = 'inextensible': no tension holds it. Make it longer, or let it extend (strain = 'kirchhoff')."
        )
    cable = Rod(
        "cable", L, segments, section, material, initial=Straight(A, A + L * (B - A) / np.linalg.norm(B - A)),
        precurvature=(0.0, 0.0, 0.0), prestrain=(0.0, 0.0, 0.0), degree=degree, strain=strain,
        stiffness=stiffness, density_per_length=density_per_length, rotary_inertia=rotary_inertia,
    )  # fmt: skip
    weight, extension = (float(x[0]) for x in (cable.inertia_at(0.5)[:, 0], cable.stiffness_at(0.5)[:, 2, 2]))
    softness = 0.0 if strain == "inextensible" else weight / extension
    shape = Straight(A, B) if tight else _slack(L, A, B, g, softness)
    cable = cable.with_(initial=shape, start=end("ground"), end=end("ground"))
    rest = equilibrium(System(rods=[cable], gravity=g), error=error)
    return Hanging(rest.motion, rest.unstable, rest.method, rest.history, rest.free)


def _slack(L: float, A: Array, B: Array, g: Array, softness: float) -> Curve:
    """The catenary of length L between two points, or an arc of a circle where they are one above the other.

    It is longer by what its weight stretches it: a tension to start with is what Newton's method lives on.
    """
    up = -g / np.linalg.norm(g)
    h = float((B - A) @ up)
    across = (B - A) - h * up
    d = float(np.linalg.norm(across))
    if d < STEEP * L:
        chord = B - A
        along = chord / np.linalg.norm(chord)
        side = across / d if d > 1e-9 * L else np.eye(3)[int(np.argmin(np.abs(up)))]
        side = side - (side @ along) * along if d <= 1e-9 * L else -up + (up @ along) * along
        return _planar(_arc(L, float(np.linalg.norm(chord))), A, along, -side / np.linalg.norm(side), L)
    a = _parameter(L, d, h)
    longer = L * (1.0 + softness * float(np.linalg.norm(g)) * float(np.hypot(a, 0.25 * L)))
    return _planar(_catenary(longer, d, h), A, across / d, up, longer)


def _arc(L: float, chord: float) -> Callable[[Array], Array]:
    """Angle of the tangent along an arc of length L over a chord, bulging down."""
    from scipy.optimize import brentq

    half = brentq(lambda x: np.sin(x) / x - chord / L, 1e-9, np.pi - 1e-9)
    return lambda s: half * (2.0 * s - 1.0)


def _parameter(L: float, d: float, h: float) -> float:
    """Horizontal tension over weight per length of the catenary of length L over d and up h."""
    from scipy.optimize import brentq

    wanted = np.sqrt(L * L - h * h) / d
    return float(d / 2.0 / brentq(lambda x: np.sinh(x) / x - wanted, 1e-9, 700.0))


def _catenary(L: float, d: float, h: float) -> Callable[[Array], Array]:
    """Angle of the tangent of that catenary."""
    a = _parameter(L, d, h)
    low = a * np.arctanh(h / L) - 0.5 * d  # where it begins, from its lowest point
    first = np.sinh(low / a)
    return lambda s: np.arctan(first + s * L / a)


def _planar(angle: Callable[[Array], Array], A: Array, along: Array, up: Array, L: float) -> Curve:
    """A plane curve from the angle of its tangent, by Gauss quadrature from the start.

    Samples, not functions: what hangs goes into files and pickles.
    """
    knots = np.linspace(0.0, 1.0, PIECES + 1)
    s = (0.5 * (knots[1:] + knots[:-1]))[:, None] + 0.5 / PIECES * _POINTS
    steps = [(0.5 * L / PIECES * _WEIGHTS * f(angle(s))).sum(axis=1) for f in (np.cos, np.sin)]
    x, y = (np.concatenate([[0.0], np.cumsum(step)])[:, None] for step in steps)
    c, n = np.cos(angle(knots))[:, None], np.sin(angle(knots))[:, None]
    tangent, normal = c * along + n * up, np.broadcast_to(np.cross(along, up), (PIECES + 1, 3))
    return Curve(A + x * along + y * up, np.stack([normal, np.cross(tangent, normal), tangent], axis=-1))
