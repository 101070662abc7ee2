"""gyrod: rigid bodies and geometrically exact rods whose rotations never lock."""

from gyrod import problems, rotations
from gyrod._version import __version__
from gyrod.gyro import (
    Attitude,
    AttitudeStats,
    AttitudeStream,
    SingularRotationError,
    attitude,
    rl2_error,
)

__all__ = [
    "Attitude",
    "AttitudeStats",
    "AttitudeStream",
    "SingularRotationError",
    "__version__",
    "attitude",
    "problems",
    "rl2_error",
    "rotations",
]
