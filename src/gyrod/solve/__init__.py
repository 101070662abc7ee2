"""How time moves: simulate. Where it rests: equilibrium, follow, modes, hang. Where it starts: assemble."""

from gyrod.solve.assemble import assemble
from gyrod.solve.follow import Path, PathError, PathEvent, PathInterrupted, follow
from gyrod.solve.hanging import Hanging, hang
from gyrod.solve.methods import METHODS, IntegrationError, Solution, integrate
from gyrod.solve.modal import Modes, modes
from gyrod.solve.simulate import Event, simulate
from gyrod.solve.statics import EquilibriumError, equilibrium

__all__ = [
    "METHODS",
    "EquilibriumError",
    "Event",
    "Hanging",
    "IntegrationError",
    "Modes",
    "Path",
    "PathError",
    "PathEvent",
    "PathInterrupted",
    "Solution",
    "assemble",
    "equilibrium",
    "follow",
    "hang",
    "integrate",
    "modes",
    "simulate",
]
