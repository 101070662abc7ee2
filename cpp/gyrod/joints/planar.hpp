// Planar: displacement in the plane of axes 1 and 2, rotation about its normal, axis 3.
#pragma once

#include "gyrod/joints/type.hpp"

namespace gyrod::joints {

inline constexpr JointType planar{
    .name = "planar",
    .rows = {{RowKind::plane, 2}, {RowKind::dot, 0, 2}, {RowKind::dot, 1, 2}},
    .motion = {{MotionAxis::slide, 0}, {MotionAxis::slide, 1}, {MotionAxis::turn, 2}},
    .turns = Turns::about,
    .slides = Slides::plane,
};

} // namespace gyrod::joints
