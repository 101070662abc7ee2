// Helical: a screw about axis 3.
#pragma once

#include "gyrod/joints/type.hpp"

namespace gyrod::joints {

inline constexpr JointType helical{
    .name = "helical",
    .rows = {{RowKind::plane, 0}, {RowKind::plane, 1}, {RowKind::dot, 0, 2}, {RowKind::dot, 1, 2}, {RowKind::screw}},
    .motion = {{MotionAxis::screw, 2}},
    .turns = Turns::about,
    .slides = Slides::screw,
    .drive = {{RowKind::angle}},
};

} // namespace gyrod::joints
