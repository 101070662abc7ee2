// Revolute: the point stays together, rotation about axis 3.
#pragma once

#include "gyrod/joints/type.hpp"

namespace gyrod::joints {

inline constexpr JointType revolute{
    .name = "revolute",
    .rows = {{RowKind::point, 0}, {RowKind::point, 1}, {RowKind::point, 2}, {RowKind::dot, 0, 2}, {RowKind::dot, 1, 2}},
    .motion = {{MotionAxis::turn, 2}},
    .turns = Turns::about,
    .slides = Slides::none,
    .drive = {{RowKind::angle}},
};

} // namespace gyrod::joints
