"""What exists: bodies, joints, rods, forces and the system they form; frozen and checked.

Positions and velocities are those of the centre of mass in space, angular velocities of bodies are material; joints
are placed in space at the initial configuration, or in body axes from the centre of mass as the points of forces are.
Along a rod s in [0, 1] is arc length over length; d3 is its tangent, d1 and d2 are the axes of its sections.
"""

from gyrod.model.bodies import Body
from gyrod.model.ends import ENDS, Clamped, End, Free, Guided, Hinged, Pinned
from gyrod.model.errors import ModelError
from gyrod.model.forces import (
    FORCES,
    LOADS,
    BodyState,
    Bushing,
    CForce,
    Drag,
    Force,
    ForceLaw,
    RodLoad,
    SpringDamper,
    Torque,
    UserForce,
)
from gyrod.model.joints import (
    JOINTS,
    Attachment,
    Cylindrical,
    Distance,
    Fixed,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from gyrod.model.rods import CURVATURES, FAMILIES, INERTIAS, MASSES, STRAINS, Rod
from gyrod.model.sections import (
    SECTIONS,
    Circle,
    CrossSection,
    Damping,
    Material,
    Rectangle,
    Ring,
    Section,
    SectionValues,
)
from gyrod.model.shapes import SHAPES, Arc, Bent, Curve, Shape, Straight
from gyrod.model.system import System, Tree

__all__ = [
    "CURVATURES",
    "ENDS",
    "FAMILIES",
    "FORCES",
    "INERTIAS",
    "JOINTS",
    "LOADS",
    "MASSES",
    "SECTIONS",
    "SHAPES",
    "STRAINS",
    "Arc",
    "Attachment",
    "Bent",
    "Body",
    "BodyState",
    "Bushing",
    "CForce",
    "Circle",
    "Clamped",
    "CrossSection",
    "Curve",
    "Cylindrical",
    "Damping",
    "Distance",
    "Drag",
    "End",
    "Fixed",
    "Force",
    "ForceLaw",
    "Free",
    "Guided",
    "Helical",
    "Hinged",
    "Joint",
    "Material",
    "ModelError",
    "Pinned",
    "Planar",
    "Prismatic",
    "Rectangle",
    "Revolute",
    "Ring",
    "Rod",
    "RodLoad",
    "Section",
    "SectionValues",
    "Shape",
    "Spherical",
    "SpringDamper",
    "Straight",
    "System",
    "Torque",
    "Tree",
    "Universal",
    "UserForce",
]
