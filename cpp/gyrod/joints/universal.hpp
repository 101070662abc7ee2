// Universal: the point stays together; axis 3 of a and axis 1 of b stay perpendicular.
#pragma once

#include "gyrod/joints/type.hpp"

namespace gyrod::joints {

inline constexpr JointType universal{
    .name = "universal",
    .rows = {{RowKind::point, 0}, {RowKind::point, 1}, {RowKind::point, 2}, {RowKind::dot, 2, 0}},
    .motion = {{MotionAxis::turn, 2}, {MotionAxis::turn, 0, true}},
    .turns = Turns::universal,
    .slides = Slides::none,
};

} // namespace gyrod::joints
