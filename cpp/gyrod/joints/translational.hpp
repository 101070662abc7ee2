// Translational: any displacement, no rotation.
#pragma once

#include "gyrod/joints/type.hpp"

namespace gyrod::joints {

inline constexpr JointType translational{
    .name = "translational",
    .rows = {{RowKind::dot, 0, 1}, {RowKind::dot, 1, 2}, {RowKind::dot, 2, 0}},
    .motion = {{MotionAxis::slide, 0}, {MotionAxis::slide, 1}, {MotionAxis::slide, 2}},
    .turns = Turns::none,
    .slides = Slides::space,
};

} // namespace gyrod::joints
