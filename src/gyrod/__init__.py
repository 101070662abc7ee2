"""gyrod: rigid bodies and geometrically exact rods whose rotations never lock."""

from typing import TYPE_CHECKING

from gyrod import _command, _moved  # noqa: F401  (old names of modules, for pickles)

_command.importing()
from gyrod import _core  # noqa: E402, F401  (what does not run on this machine says so now, not at the first call)
from gyrod._lazy import lazy  # noqa: E402
from gyrod._version import __version__  # noqa: E402

if TYPE_CHECKING:  # what type checkers and editors read; what runs is the table below
    from gyrod import files, problems, rotations, solve
    from gyrod.comparison import Comparison, Trial, compare
    from gyrod.equations import ForceError
    from gyrod.files import ModelFileError, load, read_mesh, read_samples, read_urdf
    from gyrod.gyro import (
        Attitude,
        AttitudeStats,
        AttitudeStream,
        SingularRotationError,
        attitude,
        rl2_error,
    )
    from gyrod.look.report import report
    from gyrod.model import (
        Arc,
        Bent,
        Body,
        BodyState,
        Box,
        Bushing,
        Cable,
        CForce,
        Circle,
        Clamped,
        Clip,
        ClipSensor,
        Cone,
        Curve,
        Cylinder,
        CylinderObstacle,
        Cylindrical,
        Damping,
        Distance,
        DistanceSensor,
        Drag,
        Expression,
        ExpressionError,
        ExpressionVector,
        Fixed,
        Force,
        Foundation,
        Free,
        Guided,
        Helical,
        Hinged,
        Input,
        JointSensor,
        Laid,
        Material,
        Mesh,
        ModelError,
        Pinned,
        Planar,
        PlaneObstacle,
        PointMass,
        PointSensor,
        Prismatic,
        Recorded,
        Rectangle,
        Revolute,
        Ring,
        Rod,
        RodLoad,
        RotatingFrame,
        RotationSensor,
        Samples,
        Section,
        SectionSensor,
        Sphere,
        SphereObstacle,
        Spherical,
        SpringDamper,
        Straight,
        System,
        Tendon,
        Torque,
        Universal,
        UserForce,
    )
    from gyrod.motion import (
        BodyTrack,
        Drift,
        Energy,
        EventRecord,
        JointTrack,
        Motion,
        MotionStats,
        Rest,
        RodTrack,
        SimulationError,
        SimulationInterrupted,
    )
    from gyrod.motion.distances import Approach, Distances
    from gyrod.motion.envelopes import Envelope, envelope
    from gyrod.motion.errors import ErrorEstimate, ErrorReport, EstimateError
    from gyrod.runs.formulations import FORMULATIONS, Formulation
    from gyrod.runs.methods import METHODS
    from gyrod.solve.accuracy import AccuracyError
    from gyrod.solve.assemble import assemble
    from gyrod.solve.follow import follow
    from gyrod.solve.hanging import Hanging, hang
    from gyrod.solve.joint_space import Jacobian, MassMatrix, inverse_dynamics, jacobian, mass_matrix
    from gyrod.solve.modal import Modes, modes
    from gyrod.solve.ode import Ode, ode
    from gyrod.solve.paths.result import Path, PathError, PathEvent, PathInterrupted
    from gyrod.solve.progress import Progress
    from gyrod.solve.refinement import Refinement, RefinementError, refine
    from gyrod.solve.routing import Route, route
    from gyrod.solve.simulate import Event, simulate
    from gyrod.solve.statics import EquilibriumError, equilibrium
    from gyrod.solve.stepper import Stepper, stepper
    from gyrod.storage import open
    from gyrod.studies import Fit, Study, StudyError, StudyInterrupted, StudyProgress, fit, open_study, study
    from gyrod.studies.design import LogNormal, LogUniform, Normal, Uniform
    from gyrod.studies.indices import SobolIndices
    from gyrod.studies.outputs import Average, Crossing, Final, History, Maximum, Minimum

else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "": (
                "comparison equations files geometry gyro look model motion problems rotations runs solve storage "
                "studies"
            ),
            "comparison": "Comparison Trial compare",
            "equations": "ForceError",
            "files": "ModelFileError load read_mesh read_samples read_urdf",
            "gyro": "Attitude AttitudeStats AttitudeStream SingularRotationError attitude rl2_error",
            "model": (
                "Arc Bent Body BodyState Box Bushing Cable CForce Circle Clamped Clip ClipSensor Cone Curve Cylinder "
                "CylinderObstacle Cylindrical Damping Distance DistanceSensor Drag Expression ExpressionError "
                "ExpressionVector Fixed Force Foundation Free Guided Helical Hinged Input JointSensor Laid Material "
                "Mesh ModelError Pinned Planar PlaneObstacle PointMass PointSensor Prismatic Recorded Rectangle "
                "Revolute Ring Rod RodLoad RotatingFrame RotationSensor Samples Section SectionSensor Sphere "
                "SphereObstacle Spherical SpringDamper Straight System Tendon Torque Universal UserForce"
            ),
            "motion": (
                "BodyTrack Drift Energy EventRecord JointTrack Motion MotionStats Rest RodTrack SimulationError "
                "SimulationInterrupted"
            ),
            "look.report": "report",
            "motion.distances": "Approach Distances",
            "motion.envelopes": "Envelope envelope",
            "motion.errors": "ErrorEstimate ErrorReport EstimateError",
            "runs.formulations": "FORMULATIONS Formulation",
            "runs.methods": "METHODS",
            "solve.accuracy": "AccuracyError",
            "solve.assemble": "assemble",
            "solve.follow": "follow",
            "solve.paths.result": "Path PathError PathEvent PathInterrupted",
            "solve.hanging": "Hanging hang",
            "solve.joint_space": "Jacobian MassMatrix inverse_dynamics jacobian mass_matrix",
            "solve.modal": "Modes modes",
            "solve.ode": "Ode ode",
            "solve.progress": "Progress",
            "solve.refinement": "Refinement RefinementError refine",
            "solve.routing": "Route route",
            "solve.simulate": "Event simulate",
            "solve.statics": "EquilibriumError equilibrium",
            "solve.stepper": "Stepper stepper",
            "storage": "open",
            "studies": "Fit Study StudyError StudyInterrupted StudyProgress fit open_study study",
            "studies.design": "LogNormal LogUniform Normal Uniform",
            "studies.indices": "SobolIndices",
            "studies.outputs": "Average Crossing Final History Maximum Minimum",
        },
    )

__all__ = [
    "FORMULATIONS",
    "METHODS",
    "AccuracyError",
    "Approach",
    "Arc",
    "Attitude",
    "AttitudeStats",
    "AttitudeStream",
    "Average",
    "Bent",
    "Body",
    "BodyState",
    "BodyTrack",
    "Box",
    "Bushing",
    "CForce",
    "Cable",
    "Circle",
    "Clamped",
    "Clip",
    "ClipSensor",
    "Comparison",
    "Cone",
    "Crossing",
    "Curve",
    "Cylinder",
    "CylinderObstacle",
    "Cylindrical",
    "Damping",
    "Distance",
    "DistanceSensor",
    "Distances",
    "Drag",
    "Drift",
    "Energy",
    "Envelope",
    "EquilibriumError",
    "ErrorEstimate",
    "ErrorReport",
    "EstimateError",
    "Event",
    "EventRecord",
    "Expression",
    "ExpressionError",
    "ExpressionVector",
    "Final",
    "Fit",
    "Fixed",
    "Force",
    "ForceError",
    "Formulation",
    "Foundation",
    "Free",
    "Guided",
    "Hanging",
    "Helical",
    "Hinged",
    "History",
    "Input",
    "Jacobian",
    "JointSensor",
    "JointTrack",
    "Laid",
    "LogNormal",
    "LogUniform",
    "MassMatrix",
    "Material",
    "Maximum",
    "Mesh",
    "Minimum",
    "ModelError",
    "ModelFileError",
    "Modes",
    "Motion",
    "MotionStats",
    "Normal",
    "Ode",
    "Path",
    "PathError",
    "PathEvent",
    "PathInterrupted",
    "Pinned",
    "Planar",
    "PlaneObstacle",
    "PointMass",
    "PointSensor",
    "Prismatic",
    "Progress",
    "Recorded",
    "Rectangle",
    "Refinement",
    "RefinementError",
    "Rest",
    "Revolute",
    "Ring",
    "Rod",
    "RodLoad",
    "RodTrack",
    "RotatingFrame",
    "RotationSensor",
    "Route",
    "Samples",
    "Section",
    "SectionSensor",
    "SimulationError",
    "SimulationInterrupted",
    "SingularRotationError",
    "SobolIndices",
    "Sphere",
    "SphereObstacle",
    "Spherical",
    "SpringDamper",
    "Stepper",
    "Straight",
    "Study",
    "StudyError",
    "StudyInterrupted",
    "StudyProgress",
    "System",
    "Tendon",
    "Torque",
    "Trial",
    "Uniform",
    "Universal",
    "UserForce",
    "__version__",
    "assemble",
    "attitude",
    "compare",
    "envelope",
    "equilibrium",
    "files",
    "fit",
    "follow",
    "hang",
    "inverse_dynamics",
    "jacobian",
    "load",
    "mass_matrix",
    "modes",
    "ode",
    "open",
    "open_study",
    "problems",
    "read_mesh",
    "read_samples",
    "read_urdf",
    "refine",
    "report",
    "rl2_error",
    "rotations",
    "route",
    "simulate",
    "solve",
    "stepper",
    "study",
]
