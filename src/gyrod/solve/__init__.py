"""How time moves: simulate."""

from gyrod.solve.integrate import METHODS, integrate
from gyrod.solve.simulate import Event, simulate

__all__ = ["METHODS", "Event", "integrate", "simulate"]
