// Prismatic: displacement along axis 3, no rotation.
#pragma once

#include "gyrod/joints/type.hpp"

namespace gyrod::joints {

inline constexpr JointType prismatic{
    .name = "prismatic",
    .rows =
        {{RowKind::plane, 0}, {RowKind::plane, 1}, {RowKind::dot, 0, 1}, {RowKind::dot, 1, 2}, {RowKind::dot, 2, 0}},
    .motion = {{MotionAxis::slide, 2}},
    .turns = Turns::none,
    .slides = Slides::along,
    .drive = {{RowKind::slide, 2}},
};

} // namespace gyrod::joints
