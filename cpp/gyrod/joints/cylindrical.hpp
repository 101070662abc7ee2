// Cylindrical: rotation about and displacement along axis 3.
#pragma once

#include "gyrod/joints/type.hpp"

namespace gyrod::joints {

inline constexpr JointType cylindrical{
    .name = "cylindrical",
    .rows = {{RowKind::plane, 0}, {RowKind::plane, 1}, {RowKind::dot, 0, 2}, {RowKind::dot, 1, 2}},
    .motion = {{MotionAxis::turn, 2}, {MotionAxis::slide, 2}},
    .turns = Turns::about,
    .slides = Slides::along,
};

} // namespace gyrod::joints
