"""What exists: bodies, joints, forces and the system they form; frozen and checked, no numerics.

Positions and velocities are those of the centre of mass in space, angular velocities are material; joints are placed
in space at the initial configuration, points of forces in body axes from the centre of mass.
"""

from gyrod.model.bodies import Body
from gyrod.model.errors import ModelError
from gyrod.model.forces import (
    FORCES,
    BodyState,
    Bushing,
    CForce,
    Force,
    ForceLaw,
    SpringDamper,
    Torque,
    UserForce,
)
from gyrod.model.joints import JOINTS, Joint, Spherical
from gyrod.model.system import System

__all__ = [
    "FORCES",
    "JOINTS",
    "Body",
    "BodyState",
    "Bushing",
    "CForce",
    "Force",
    "ForceLaw",
    "Joint",
    "ModelError",
    "Spherical",
    "SpringDamper",
    "System",
    "Torque",
    "UserForce",
]
