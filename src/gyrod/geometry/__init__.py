"""Surfaces, curves with a radius, what lies nearest, and what they sweep: arrays in, arrays out."""

from gyrod.geometry.curves import (
    Closest,
    along_grid,
    between_curves,
    closest,
    of_elements,
    placed,
    point_at,
    slope_at,
    with_radius,
)
from gyrod.geometry.surfaces import (
    Nearest,
    Surface,
    ball,
    box,
    capsule,
    cone,
    cylinder,
    mesh,
    open_edges,
    plane,
)
from gyrod.geometry.swept import Swept, TooFine, sweep, volume

__all__ = [
    "Closest",
    "Nearest",
    "Surface",
    "Swept",
    "TooFine",
    "along_grid",
    "ball",
    "between_curves",
    "box",
    "capsule",
    "closest",
    "cone",
    "cylinder",
    "mesh",
    "of_elements",
    "open_edges",
    "placed",
    "plane",
    "point_at",
    "slope_at",
    "sweep",
    "volume",
    "with_radius",
]
