"""gyrod: rigid bodies and geometrically exact rods whose rotations never lock."""

from gyrod import problems, rotations, solve
from gyrod._version import __version__
from gyrod.equations import FORMULATIONS, ForceError
from gyrod.gyro import (
    Attitude,
    AttitudeStats,
    AttitudeStream,
    SingularRotationError,
    attitude,
    rl2_error,
)
from gyrod.model import (
    Body,
    BodyState,
    Bushing,
    CForce,
    Force,
    ModelError,
    Spherical,
    SpringDamper,
    System,
    Torque,
    UserForce,
)
from gyrod.motion import Motion, SimulationError, SimulationInterrupted
from gyrod.solve import METHODS, Event, simulate

__all__ = [
    "FORMULATIONS",
    "METHODS",
    "Attitude",
    "AttitudeStats",
    "AttitudeStream",
    "Body",
    "BodyState",
    "Bushing",
    "CForce",
    "Event",
    "Force",
    "ForceError",
    "ModelError",
    "Motion",
    "SimulationError",
    "SimulationInterrupted",
    "SingularRotationError",
    "Spherical",
    "SpringDamper",
    "System",
    "Torque",
    "UserForce",
    "__version__",
    "attitude",
    "problems",
    "rl2_error",
    "rotations",
    "simulate",
    "solve",
]
