"""How time moves: simulate."""

from gyrod.solve.methods import METHODS, IntegrationError, Solution, integrate
from gyrod.solve.simulate import Event, simulate

__all__ = ["METHODS", "Event", "IntegrationError", "Solution", "integrate", "simulate"]
