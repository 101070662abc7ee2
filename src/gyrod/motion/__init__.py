"""What moves and rests, over time: rows of a run, tracks of bodies, rods and joints, sensors, energies, errors."""

from gyrod._moved import old_names
from gyrod.motion.clips import Clips, ClipTrack
from gyrod.motion.energy import Energy
from gyrod.motion.joints import JointTrack
from gyrod.motion.motion import Motion, of_rows
from gyrod.motion.parts import (
    Beside,
    Drift,
    EventRecord,
    Midpoints,
    MotionStats,
    SimulationError,
    SimulationInterrupted,
)
from gyrod.motion.rest import Rest
from gyrod.motion.tracks import BodyTrack, RodTrack, bend_radius

old_names(__name__)

__all__ = [
    "Beside",
    "BodyTrack",
    "ClipTrack",
    "Clips",
    "Drift",
    "Energy",
    "EventRecord",
    "JointTrack",
    "Midpoints",
    "Motion",
    "MotionStats",
    "Rest",
    "RodTrack",
    "SimulationError",
    "SimulationInterrupted",
    "bend_radius",
    "of_rows",
]
