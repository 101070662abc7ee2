"""How time moves: simulate. Where it starts: assemble."""

from gyrod.solve.assemble import assemble
from gyrod.solve.methods import METHODS, IntegrationError, Solution, integrate
from gyrod.solve.simulate import Event, simulate

__all__ = ["METHODS", "Event", "IntegrationError", "Solution", "assemble", "integrate", "simulate"]
