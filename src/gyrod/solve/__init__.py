"""How time moves: simulate. Where it rests: equilibrium, follow, modes, hang. Where it starts: assemble."""

from gyrod.solve.assemble import assemble
from gyrod.solve.follow import follow
from gyrod.solve.hanging import Hanging, hang
from gyrod.solve.methods import METHODS, IntegrationError, Solution, integrate
from gyrod.solve.modal import Modes, modes
from gyrod.solve.ode import Ode, ode
from gyrod.solve.paths.result import Path, PathError, PathEvent, PathInterrupted
from gyrod.solve.refinement import Refinement, RefinementError, refine
from gyrod.solve.simulate import Event, simulate
from gyrod.solve.statics import EquilibriumError, equilibrium
from gyrod.solve.stepper import Stepper, stepper

__all__ = [
    "METHODS",
    "EquilibriumError",
    "Event",
    "Hanging",
    "IntegrationError",
    "Modes",
    "Ode",
    "Path",
    "PathError",
    "PathEvent",
    "PathInterrupted",
    "Refinement",
    "RefinementError",
    "Solution",
    "Stepper",
    "assemble",
    "equilibrium",
    "follow",
    "hang",
    "integrate",
    "modes",
    "ode",
    "refine",
    "simulate",
    "stepper",
]
